"""Figures of the papers: what each needs of a study, and the data of some; means of 30 runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from jitterfly import stats
from jitterfly.results import CellResults, Results, figures
from jitterfly.results.figures import FigureKind, figure_kind, shown_names
from jitterfly.stats import Estimate
from jitterfly.studies import Study

from .cell_values import RUNS, few_runs_of, named

_PLOTS = "jitterfly_papers.plots.papers"
_RANGES = {"M3", "M5"}  # claims that have ranges of maps

#: Of figures that show observables of certain kinds, how many they need of each.
_OBSERVABLES = {
    "slowdown": {"slowdown": 2, "gain": 1, "optimal_T": 1},
    "overhead": {"overhead": 2, "recovery": 1},
    "cycles": {"overhead": 2, "recovery": 1},
    "times": {"completion": 1},
    "paper_maps": {"slowdown": 1},
}


def _check_observables(figure: str, study: Study) -> None:
    """Raise ValueError if the study has not the observables of a figure."""
    wanted = _OBSERVABLES[figure]
    missing = [kind for kind, count in wanted.items() if len(named(study, kind)) < count]
    if missing:
        needs = ", ".join(f"{count} of kind {kind!r}" for kind, count in wanted.items())
        raise ValueError(f"figure {figure!r} needs the observables: {needs}; too few {missing[0]}")


def _check_ranks(figure: str, study: Study) -> None:
    _check_observables(figure, study)
    if "ranks" not in [axis.name for axis in study.axes]:
        raise ValueError(f"figure {figure!r} needs an axis 'ranks'")


def _check_cycles(study: Study) -> None:
    _check_observables("cycles", study)
    each = [study.observables[n] for kind in _OBSERVABLES["cycles"] for n in named(study, kind)]
    cycles = min(variant.case.cycles for cell in study.cells() for variant in cell.variants)
    if any(one.cycle != "each" for one in each) or cycles < 3:  # type: ignore[attr-defined]
        raise ValueError("figure 'cycles' needs cycle = \"each\", and cases of at least 3 cycles")


def _check_paper_maps(study: Study) -> None:
    numbers = figures.number_axes(study)
    if len(numbers) < 2:
        raise ValueError(
            "figure 'paper_maps' needs two axes of at least two numbers each, "
            f"got {', '.join(numbers) or 'none'}; 'curves' needs one"
        )
    _check_observables("paper_maps", study)
    if not _RANGES & set(study.claims):
        raise ValueError("figure 'paper_maps' needs a claim M3 or M5: it is in their ranges")


def _check_hm18_table(study: Study) -> None:
    if [axis.name for axis in study.axes] != ["probability"]:
        raise ValueError("figure 'hm18_table' needs one axis, 'probability'")


def _check_nothing(study: Study) -> None:
    """Raise nothing: every study will do."""


SLOWDOWN = FigureKind(_PLOTS, partial(_check_ranks, "slowdown"))
OVERHEAD = FigureKind(_PLOTS, partial(_check_ranks, "overhead"))
TIMES = FigureKind(_PLOTS, partial(_check_ranks, "times"))
CYCLES = FigureKind(_PLOTS, _check_cycles)
PAPER_MAPS = FigureKind(_PLOTS, _check_paper_maps)
HM18_TABLE = FigureKind(_PLOTS, _check_hm18_table, of_one=True)
FEW_RUNS = FigureKind(_PLOTS, _check_nothing, of_one=True)


def published_figures(study: Study) -> list[str]:
    """The kinds of figures, beside a study's own, that have the axes of the paper."""
    kinds = []
    if figure_kind(study) in ("slowdown", "overhead") and named(study, "completion"):
        kinds.append("times")
    if _RANGES & set(study.claims):
        kinds.append("paper_maps")
    return kinds


MIN_MEANS = 20  # so many separate 30-run means show a spread
MAX_CELLS = 6


@dataclass(frozen=True)
class FewRunMeans:
    """A cell: all separate 30-run means there, and the mean of all realizations.

    `apart` is how far two of those means lie apart: the larger over the smaller.
    """

    cell: str
    observable: str
    unit: str
    realizations: int
    mean: Estimate
    means: npt.NDArray[np.float64]

    @property
    def apart(self) -> float:
        """The ratio of two experiments, one lucky and one unlucky."""
        low = float(self.means.min())
        return float(self.means.max()) / low if low > 0 else np.inf


def few_runs(
    results: Results, observable: str | None = None, most: int = MAX_CELLS
) -> list[FewRunMeans]:
    """The cells where 30-run means scatter most, in the study's order.

    Without `observable`: the conventional and the redundant scheme's slowdown (or the first two
    observables), half of the cells each. Cells with fewer than 600 kept samples are left out.
    """
    names = (named(results.study, "slowdown") or results.names)[:2]
    if observable:
        names = shown_names(results.study, observable)
    chosen_means = []
    for name in names:
        known = [
            (few, number)
            for number, cell in enumerate(results.cells)
            if name in cell.summaries
            and (few := few_runs_of(cell, name))
            and min(cell.realizations, cell.cell.raw_limit) >= MIN_MEANS * RUNS
        ]
        widest = sorted(
            ((float(few.high / few.low), number) for few, number in known if few.low > 0),
            reverse=True,
        )
        # One cell for each value on the main axis: others there look alike.
        at = {number: _position(results, number) for _, number in widest}
        first = {at[number]: number for _, number in reversed(widest)}
        chosen = sorted(first.values(), key=[number for _, number in widest].index)
        count = max(1, most // len(names))
        chosen_means += [
            _few_run_means(results, results.cells[i], name) for i in sorted(chosen[:count])
        ]
    return chosen_means


def _position(results: Results, number: int) -> object:
    coordinates = results.cells[number].coordinates
    return coordinates[results.axis] if results.axis else number


def _few_run_means(results: Results, cell: CellResults, name: str) -> FewRunMeans:
    observed = cell.observed(name)
    if observed is None or observed.samples is None:
        raise results.study.error(f"no samples of {name!r} are kept at {cell.name}")
    means = np.asarray(stats.thirty_run_means(observed.samples, RUNS))
    label = results.label(cell)
    summary = cell.summaries[name]
    return FewRunMeans(label, name, summary.unit, summary.realizations, summary.mean, means)
