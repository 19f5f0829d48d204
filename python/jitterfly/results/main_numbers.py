"""Mean, median, the 5-95 % band (computed here), means of 30 runs and targets of an observable."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..observables import Family, Form, Measure, Observed, Target
from ..result_table import value_low_high
from ..stats import Estimate
from ..units import TICKS_PER_SECOND

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


Samples = Callable[[], "npt.NDArray[np.float64] | None"]


def half_of(estimate: Estimate) -> float:
    """The longer side of an interval."""
    value, low, high = map(float, value_low_high(estimate))
    return max(high - value, value - low)


@dataclass(frozen=True)
class MainNumbers:
    """Mean with interval; median and 5-95 % range; a 30-run mean with the range of such means.

    `quantiles` and `few` are None for what single realizations do not have (a recovery, the best
    T), and `few` where no samples are kept. `T` is the one that was chosen by the data; with
    `is_set` the observable is the best T itself. `bound` is the largest recovery that any
    redundancy can reach, where theory knows it.

    `unseen` is what the mean may lack, in words: noise that too few realizations met.

    Of another statistic that is a target, `mean` is that statistic, and its interval has the
    target's confidence.
    """

    name: str
    unit: str
    realizations: int
    exact: bool
    T: int | None
    mean: Estimate
    quantiles: tuple[float, float, float] | None
    is_set: bool = False
    bound: float | None = None
    samples: Samples = field(default=lambda: None, repr=False, compare=False)
    statistic: str = "mean"
    unseen: str = ""

    @cached_property
    def few(self) -> Estimate | None:
        """A 30-run mean with the range of such means: read again when it is first asked for."""
        samples = self.samples()
        return None if samples is None else few_run_mean(samples)

    @property
    def is_target(self) -> bool:
        """Return whether only a target needs it: a quantile, or a mean of another confidence."""
        return self.statistic != "mean" or self.mean.confidence != 0.95

    @property
    def half(self) -> float:
        """The longer side of the mean's interval."""
        return half_of(self.mean)

    @property
    def relative(self) -> float:
        """The longer side of the mean's interval over the mean; inf where it is not known."""
        half = self.half
        value = abs(float(self.mean.value))
        return half / value if value > 0 and math.isfinite(half) else math.inf


def facts_of(observed: Observed, mean: Estimate, samples: Samples, unseen: str = "") -> MainNumbers:
    """The numbers of an observable, beside an interval of its mean that allows for early looks.

    Parameters
    ----------
    samples : Samples
        Reads those of single realizations again; it must not hold them.
    """
    return MainNumbers(
        observed.name,
        observed.unit,
        observed.realizations,
        observed.exact,
        observed.T,
        mean,
        _quantiles(observed),
        observed.is_set,
        _bound(observed),
        samples,
        unseen=unseen,
    )


def facts_of_target(observed: Observed, target: Target, estimate: Estimate) -> MainNumbers:
    """A statistic that is a target, as an observable of its own: `Target.column` is its name."""
    return MainNumbers(
        target.column,
        "" if target.statistic == "win probability" else observed.unit,
        observed.realizations,
        observed.exact,
        observed.T,
        estimate,
        None,
        observed.is_set,
        statistic=target.statistic,
    )


def _quantiles(observed: Observed) -> tuple[float, float, float] | None:
    if not observed.has_distribution:
        return None
    low, middle, high = (float(observed.quantile(q).value) for q in (0.05, 0.5, 0.95))
    return low, middle, high


def _bound(observed: Observed) -> float | None:
    """Bound what can be recovered where a mean completion is bounded below; None elsewhere."""
    floor, measure = observed.family.floor, observed.measure
    if floor is None or not isinstance(measure.denominator, Form):
        return None
    # A recovery is (redundant - conventional) / (noiseless - conventional).
    conventional = next(column for factor, column in measure.denominator.terms if factor < 0)
    late = _mean(observed, Form.of(conventional))
    lost = -_mean(observed, measure.denominator)
    return (late - floor) / lost if lost > 0 else None


def _mean(observed: Observed, form: Form) -> float:
    family = Family("", "s", (Measure("", form, TICKS_PER_SECOND, "s"),))
    return float(Observed(family, observed.data).mean().value)
