"""The values that the papers read of cells: schemes, means of few runs, bounds, ratios."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from jitterfly import theory
from jitterfly.case import Case
from jitterfly.observables import LinearForm, Measure, MeasureFamily, Observed, Recovery
from jitterfly.results import CellResults
from jitterfly.results.results import CellSummary
from jitterfly.stats import Estimate
from jitterfly.studies import Study
from jitterfly.units import TICKS_PER_SECOND

CONVENTIONAL, REDUNDANT = "conventional", "redundant"


def named(study: Study, kind: str) -> list[str]:
    """Names of the observables of a kind, in the study's order."""
    return [name for name, observable in study.observables.items() if observable.kind == kind]


def last(cell: CellResults, name: str) -> CellSummary | None:
    """An observable after the last cycle, whether there is one for each cycle or not."""
    cycles = cell.first_case.cycles
    return cell.summaries.get(name) or cell.summaries.get(f"{name}, cycle {cycles}")


def ratio(cell: CellResults, top: LinearForm, bottom: LinearForm | int) -> Estimate:
    """Ratio of the means of two sums of observations in a cell; it allows for early looks.

    Raises
    ------
    ValueError
        There are no data.
    """
    if not cell.realizations:
        raise ValueError(f"{cell.name} has no data yet")
    family = MeasureFamily("", "", (Measure("", top, bottom, distribution=False),))
    data = cell.store.data(cell.cell, cell.realizations)
    observed = Observed(family, data, cell.cell.varies(family))
    return replace(observed.mean(cell.decision.level()), confidence=0.95)


def recovery_bound(cell: CellResults, name: str) -> float | None:
    """The largest recovery that any redundancy can reach; None where no theory says it."""
    observable, observed = cell.store.study.observables[name], cell.observed(name)
    assert isinstance(observable, Recovery)
    sides = observable.sides()
    case = cell.cell.cases[sides["conventional"].variant_of(cell.cell.cases, "conventional")]
    of_last = all(side.rank != "mean" for side in sides.values())
    if observed is None or not of_last or not isinstance(case, Case):
        return None
    try:
        earliest = theory.completion_bound(case)
    except ValueError:
        return None
    below = observed.measure.denominator  # noiseless - conventional
    assert isinstance(below, LinearForm)
    means = dict(zip(below.columns, observed.mean_ticks(below.columns), strict=True))
    late = next(means[column] for factor, column in below.terms if factor < 0)
    lost = -sum(factor * means[column] for factor, column in below.terms) - below.constant
    return (late - earliest * TICKS_PER_SECOND) / lost if lost > 0 else None


RUNS = 30  # MS12 and CS14 average that many runs per cell
_RESAMPLES = 2000


def few_run_mean(samples: npt.NDArray[np.float64], runs: int = RUNS) -> Estimate:
    """A mean of `runs` realizations, as the sources report, with the 5-95 % range of such means.

    The value is the mean of the first `runs` realizations: one experiment, not an average of
    experiments. For the range, `runs` of the samples are drawn again and again, since at large
    ranks there are only a few separate groups; the draws are fixed, so that a picture drawn twice
    is the same. NaN with fewer samples than `runs`.
    """
    if len(samples) < runs:
        return Estimate(np.nan, np.nan, np.nan, 0.9, len(samples))
    rows = np.random.default_rng(0).integers(len(samples), size=(_RESAMPLES, runs))
    low, high = np.quantile(samples[rows].mean(axis=1), [0.05, 0.95])
    return Estimate(float(samples[:runs].mean()), float(low), float(high), 0.9, runs)


def few_runs_of(cell: CellResults, name: str) -> Estimate | None:
    """`few_run_mean` of an observable; None where no samples are kept, or have no value each."""
    observed = cell.observed(name) or cell.observed(f"{name}, cycle {cell.first_case.cycles}")
    samples = None if observed is None else observed.samples
    return None if samples is None else few_run_mean(samples)
