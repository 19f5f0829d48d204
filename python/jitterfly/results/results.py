"""`Results`: estimates of a study, in panels along an axis, or in grids of maps over two.

`Result`, the samples of one case with its `to_xarray`, is in `simulate`; a study's `to_xarray` is
in `store.numbers`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .. import stats
from ..case import Case
from ..fields import counted, first_few, grouped
from ..noise import Congestion
from ..observables import (
    Decision,
    MeasureFamily,
    Observed,
    Target,
    shown_mean,
    undersampled_in_words,
    undersampled_noise,
)
from ..stats import Estimate
from ..store import Store
from ..store.numbers import Numbers
from ..store.run_directory import MANY
from ..studies import Cell, Study, shown_labels
from ..studies.grid import cell_name
from ..units import parse_seconds, show_seconds
from ..workload import Workload
from . import figures


@dataclass(frozen=True)
class CellSummary:
    """Mean with interval; median and 5-95 % range.

    `quantiles` is None for what single realizations do not have (a recovery, the best T). `T` is
    the one that was chosen by the data; with `is_best_T` the observable is the best T itself.

    `unseen` is what the mean may lack, in words: noise that too few realizations met. Its interval
    allows for that.

    Of another statistic that is a target, `mean` is that statistic, and its interval has the
    target's confidence.
    """

    unit: str
    realizations: int
    T: int | None
    mean: Estimate
    quantiles: tuple[float, float, float] | None
    is_best_T: bool = False
    statistic: str = "mean"
    unseen: str = ""

    @classmethod
    def of(
        cls, observed: Observed, mean: Estimate, unseen: str = "", target: Target | None = None
    ) -> CellSummary:
        """Take an observable's, beside an interval of its mean that allows for early looks.

        Of a `target` that is another statistic, `mean` is that statistic, and nothing is beside it.
        """
        statistic, spread = target.statistic if target else "mean", None
        if target is None and observed.has_distribution:
            low, middle, high = (float(observed.quantile(q).value) for q in (0.05, 0.5, 0.95))
            spread = low, middle, high
        unit = "" if statistic == "win probability" else observed.unit
        T, count = observed.T, observed.realizations
        return cls(unit, count, T, mean, spread, observed.is_best_T, statistic, unseen)

    @property
    def is_target(self) -> bool:
        """Return whether only a target needs it: a quantile, or a mean of another confidence."""
        return self.statistic != "mean" or self.mean.confidence != 0.95

    @property
    def half(self) -> float:
        """The longer side of the mean's interval."""
        return self.mean.half_width

    @property
    def relative_half_width(self) -> float:
        """The longer side of the mean's interval over the mean; inf where it is not known."""
        half = self.half
        value = abs(float(self.mean.value))
        return half / value if value > 0 and math.isfinite(half) else math.inf


_MAX_NAMED = 4  # values of one thing that are told


def network_noise(cases: Iterable[Workload]) -> str:
    """Pattern, perturbation, rule, routing, hosts and z of all cases with `Congestion`, or "".

    The rule is that of the engine of collectives: true ready times, "ready".
    """
    sources = [
        (case, noise)
        for case in cases
        if isinstance(case, Case)  # messages of a schedule have no routes
        for noise in case.noise
        if isinstance(noise, Congestion)
    ]
    if not sources:
        return ""
    patterns = _joined(case.algorithm.kind for case, _ in sources)
    others = _joined(noise.perturbation for _, noise in sources)
    routings = _joined(noise.network.routing_name for _, noise in sources)
    hosts = _joined(str(noise.network.hosts) for _, noise in sources)
    ranks = _joined(str(case.ranks) for case, _ in sources)
    return (
        f"network noise: {patterns} against {others}, rule ready, routing {routings}, "
        f"z = {ranks} of {hosts} hosts"
    )


def _joined(values: Iterable[str]) -> str:
    """Return each value once, in a line; only the first few of many."""
    return first_few(list(dict.fromkeys(values)), _MAX_NAMED)


@dataclass(frozen=True, eq=False)
class CellResults:
    """The results of a run in one cell of its study."""

    store: Store
    cell: Cell

    @property
    def name(self) -> str:
        """The name for people: `ranks=128, duration=10 µs`."""
        shown = shown_labels(self.store.study, self.cell)
        return cell_name(dict(zip(self.labels, shown, strict=True)))

    @property
    def labels(self) -> Mapping[str, str]:
        """The value on each axis, as text."""
        return self.cell.labels

    @property
    def coordinates(self) -> Mapping[str, float | int | str]:
        """The values on the axes, as numbers where they are: times in seconds."""
        return self.cell.coordinates

    @property
    def first_case(self) -> Workload:
        """The case of the first variant."""
        return self.cell.variants[0].case

    @cached_property
    def decision(self) -> Decision:
        """The decision on how many realizations count, and whether the targets are met."""
        return self.store.decision(self.cell)

    @cached_property
    def realizations(self) -> int:
        """Realizations that every estimate here is taken from; 0 before the first look."""
        return min(self.decision.realizations, self.stored)

    @cached_property
    def stored(self) -> int:
        """Realizations that are there: a run to finer targets may have left more than count now."""
        return self.store.available(self.cell)

    @cached_property
    def complete(self) -> bool:
        """Return whether this cell is finished: targets met, or budget spent."""
        return self.decision.next is None

    @cached_property
    def unmet(self) -> tuple[str, ...]:
        """Columns of the targets that were missed when the budget was spent, or are open still."""
        if self.decision.look < 0:
            return tuple(target.column for target in self.targets)
        return tuple(state.target.column for state in self.decision.states if not state.met)

    @property
    def targets(self) -> list[Target]:
        """The targets whose observable is here."""
        return [t for t in self.store.study.targets if t.observable in self.families]

    @property
    def ranks(self) -> int:
        """The number of ranks of its cases, which share it."""
        return self.first_case.ranks

    @cached_property
    def families(self) -> Mapping[str, MeasureFamily]:
        """The observables here, by name; one may be missing where there are too few ranks."""
        return self.store.families(self.cell)

    def observed(self, name: str) -> Observed | None:
        """An observable over all realizations; None if the cell lacks it or has no data yet."""
        if name not in self.families or not self.realizations:
            return None
        return self.store.observed(self.cell, name)

    @cached_property
    def summaries(self) -> dict[str, CellSummary]:
        """The main numbers of each observable that has data.

        A target that is no mean with 95 % has numbers of its own, under its `column`.
        """
        if not self.realizations:
            return {}
        data = self.store.data(self.cell, self.decision.realizations)
        level = self.decision.level()
        numbers = {}
        for name, family in self.families.items():
            noisy = self.cell.varies(family)
            observed = Observed(family, data, noisy)
            mean = observed.mean(level)
            unseen = undersampled_noise(observed, self.cell.cases, mean.half_width) if noisy else []
            shown = replace(shown_mean(mean, observed, unseen), confidence=0.95)
            numbers[name] = CellSummary.of(observed, shown, undersampled_in_words(unseen))
            for target in self.targets:
                if target.observable == name != target.column:
                    asked = target.statistic, target.confidence, self.cell.cases
                    estimate = self.decision.shown(observed, *asked)
                    numbers[target.column] = CellSummary.of(observed, estimate, target=target)
        return numbers

    def estimate(
        self, name: str, statistic: str = "mean", confidence: float = 0.95
    ) -> stats.Estimate:
        """A statistic; of a target, with the interval that holds after early stopping."""
        return self.store.estimate(self.cell, name, statistic, confidence)


@dataclass(frozen=True)
class Panel:
    """Cells that differ in one axis only, ascending; `label` tells the other axes."""

    label: str
    labels: Mapping[str, str]
    cells: list[CellResults]

    def is_in(self, settings: Mapping[str, Sequence[str]]) -> bool:
        """Return whether it is at these values of the axes that are named."""
        return all(self.labels[axis] in labels for axis, labels in settings.items())

    def known(self, name: str) -> list[CellResults]:
        """Cells that have data of an observable."""
        return [cell for cell in self.cells if name in cell.summaries]


class Results:
    """The results of a run so far: `cells` in the study's order; it may be unfinished."""

    def __init__(self, store: Store):
        self.store = store
        self.cells = [CellResults(store, cell) for cell in store.cells]

    @property
    def study(self) -> Study:
        """The study that was run."""
        return self.store.study

    @property
    def title(self) -> str:
        """The title of a picture: the study's, or else its name."""
        return self.study.title or self.study.name

    @cached_property
    def names(self) -> list[str]:
        """All observables, in the study's order."""
        return list(dict.fromkeys(name for names in self.names_in_cells for name in names))

    @cached_property
    def names_in_cells(self) -> list[Collection[str]]:
        """The observables of each cell; of many cells as they were written down, which is quick."""
        of_all = len(self.cells) >= MANY and not self.store.is_part
        kept = Numbers.read_cached(self.store.path) if of_all else None
        if kept is None:
            return [cell.families for cell in self.cells]
        names = kept.about["observables"]
        known: dict[tuple[str, ...], tuple[str, ...]] = {}
        found: list[Collection[str]] = []
        for cell, turns in zip(self.cells, kept.arrays["turn"], strict=True):
            order = np.argsort(turns, kind="stable")[np.count_nonzero(turns < 0) :]
            own = tuple(names[i] for i in order.tolist())
            # A cell without realizations has no numbers.
            found.append(known.setdefault(own, own) if own else cell.families)
        return found

    @cached_property
    def columns(self) -> list[str]:
        """The columns of tables and pictures: the observables, each with its targets after it."""
        targets = self.study.targets
        groups = [
            [name, *(t.column for t in targets if t.observable == name)] for name in self.names
        ]
        return list(dict.fromkeys(column for columns in groups for column in columns))

    def most_columns(self, most: int) -> list[str]:
        """Choose at most `most` of `columns`, in their order: targets, then the first ones."""
        wanted = {target.column for target in self.study.targets}
        kept = sorted(self.columns, key=lambda column: column not in wanted)[:most]
        return [column for column in self.columns if column in kept]

    def targets_of(self, name: str) -> list[str]:
        """Columns of an observable's targets that its mean with 95 % does not show."""
        columns = [t.column for t in self.study.targets if t.observable == name != t.column]
        return list(dict.fromkeys(columns))

    @cached_property
    def axis(self) -> str:
        """The axis that curves run along: the ranks, or the longest of numbers ("" without any)."""
        return figures.main_axis(self.study)

    def panels(self, axis: str | None = None) -> list[Panel]:
        """Cells along an axis (`self.axis` if not given), a panel per combination of the others."""
        axis = self.axis if axis is None else axis
        return [
            Panel(label, dict(cells[0].labels), figures.ascending(cells, axis))
            for label, cells in self.groups((axis,)).items()
        ]

    def groups(self, without: tuple[str, ...]) -> dict[str, list[CellResults]]:
        """Cells that differ on these axes alone, by their label."""
        return grouped(self.cells, lambda cell: self.label(cell, without))

    def settings(
        self, most: int, without: tuple[str, ...] = (), axis: str | None = None
    ) -> dict[str, list[str]]:
        """Values of the axes beside `axis` (`self.axis` if not given), see `figures`.

        There are at most `most` combinations of them.
        """
        alone = (self.axis if axis is None else axis, *without)
        labels = {
            one.name: [value.label for value in one.values]
            for one in self.study.axes
            if one.name not in alone
        }
        return figures.thinned(labels, most)

    def label(self, cell: CellResults, without: tuple[str, ...] = ()) -> str:
        """A cell's values on all axes but some, for a title."""
        return ", ".join(
            figures.label_of(self.study, axis, text)
            for axis, text in cell.labels.items()
            if axis not in without
        )

    @cached_property
    def axis_scale(self) -> figures.AxisScale:
        """The scale of all values of `axis`: their positions and texts."""
        if not self.axis:
            return figures.AxisScale([""])
        values = figures.axis_values(self.study)[self.axis]
        return figures.scale_of(self.study, self.axis, values)

    @property
    def counted(self) -> str:
        """The number of realizations, for a caption: `1 realization per cell`."""
        return f"{self.count} realization{'' if self.count == '1' else 's'} per cell"

    @cached_property
    def count(self) -> str:
        """Realizations per cell, for a caption: `250 to 100,000`."""
        counts = [cell.realizations for cell in self.cells]
        low, high = min(counts), max(counts)
        return f"{low:,}" if low == high else f"{low:,} to {high:,}"

    @cached_property
    def state(self) -> str:
        """The remarks for a caption: what is missing, which cells met targets, and more; or ""."""
        remarks = []
        done = sum(cell.complete for cell in self.cells)
        if done < len(self.cells):
            remarks.append(f"UNFINISHED: {done:,} of {counted(len(self.cells), 'cell')} done")
        if self.study.targets:
            met = sum(not cell.unmet for cell in self.cells)
            remarks.append(f"{met:,} of {counted(len(self.cells), 'cell')} met the target")
        return "; ".join(filter(None, [*remarks, self.network_noise]))

    @cached_property
    def network_noise(self) -> str:
        """The notes, for a caption, on networks and other jobs' traffic. May be empty."""
        return network_noise(case for cell in self.cells for case in cell.cell.cases.values())


WIDE = 0.1  # an interval that reaches farther than this share of its mean is called uncertain


@dataclass
class GridMap:
    """Means of one observable over two axes, shape (y, x); NaN where there is nothing.

    `unsure` says where a mean is known to less than ± 10 %, and where a gain's interval holds 1
    (no winner); `unmet` where a target was missed.
    `half_widths` is the longer side of the interval.
    `kind` is "slowdown", "gain", "T" or "other": what colours and marks there are.
    """

    title: str
    kind: str
    values: npt.NDArray[np.float64]
    half_widths: npt.NDArray[np.float64]
    unsure: npt.NDArray[np.bool_]
    unmet: npt.NDArray[np.bool_]
    unit: str = ""

    @classmethod
    def empty(cls, study: Study, name: str, shape: tuple[int, int]) -> GridMap:
        """The map of an observable before anything is known."""
        kinds = {"slowdown": "slowdown", "gain": "gain", "cycle_gain": "gain", "optimal_T": "T"}
        kind = kinds.get(figures.kind_of(study, name), "other")
        title = figures.quantity(study, name) + ": the smallest not told from the best" * (
            kind == "T"
        )
        numbers, marks = np.full(shape, np.nan), np.zeros(shape, dtype=bool)
        return cls(title, kind, numbers, numbers.copy(), marks, marks.copy())

    def put(self, at: tuple[int, int], summary: CellSummary, unmet: bool) -> None:
        """Enter the mean of a cell, with how sure it is, at a place of the map."""
        self.values[at] = float(summary.mean.value)
        self.half_widths[at] = summary.half
        self.unsure[at] = _unsure(summary, self.kind)
        self.unmet[at] = unmet
        self.unit = summary.unit


@dataclass(frozen=True)
class Grid:
    """The maps of observables by their names, and the texts at the ticks of both axes."""

    label: str
    x_texts: list[str]
    y_texts: list[str]
    maps: dict[str, GridMap]


def grids_of_maps(results: Results, x: str, y: str, names: list[str]) -> list[Grid]:
    """Return maps over the axes `x` and `y`: a grid for each combination on the other axes.

    A grid has the map of each observable of `names`.
    """
    study, values = results.study, figures.axis_values(results.study)
    scales = [figures.scale_of(study, axis, sorted(values[axis])) for axis in (x, y)]
    x_texts, y_texts = ([scale.text(value) for value in scale.values] for scale in scales)
    columns, rows = ({value: i for i, value in enumerate(scale.values)} for scale in scales)
    made = []
    for label, cells in results.groups((x, y)).items():
        maps = {name: GridMap.empty(study, name, (len(rows), len(columns))) for name in names}
        for cell in cells:
            at = rows[cell.coordinates[y]], columns[cell.coordinates[x]]
            for name, one in maps.items():
                if name in cell.summaries:
                    one.put(at, cell.summaries[name], name in cell.unmet)
        made.append(Grid(label, x_texts, y_texts, maps))
    for name in names:
        _rescale([grid.maps[name] for grid in made])
    return made


def _rescale(maps: list[GridMap]) -> None:
    """Times in the unit of the longest (of either sign), the same in all maps of an observable."""
    longest = max(np.nanmax(np.abs(one.values), initial=0.0) for one in maps)
    if longest <= 0 or all(one.unit != "s" for one in maps):
        return
    unit = show_seconds(longest).split()[1]
    for one in maps:
        one.values /= parse_seconds(f"1{unit}")
        one.half_widths /= parse_seconds(f"1{unit}")
        one.title += f", {unit}"


def _unsure(summary: CellSummary, kind: str) -> bool:
    """Return whether an interval is wide, or does not show whether it is a gain or a loss."""
    if kind == "T":  # more exchanges than needed do no harm: there is no largest that is best
        return False
    is_one = bool(summary.mean.low <= 1 <= summary.mean.high)
    return summary.relative_half_width > WIDE or (kind == "gain" and is_one)
