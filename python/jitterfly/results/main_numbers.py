"""Mean, median, the 5-95 % band (computed here) and targets of an observable."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..observables import Observed, Target
from ..stats import Estimate


def half_of(estimate: Estimate) -> float:
    """The longer side of an interval."""
    value, low, high = map(float, estimate)
    return max(high - value, value - low)


@dataclass(frozen=True)
class MainNumbers:
    """Mean with interval; median and 5-95 % range.

    `quantiles` is None for what single realizations do not have (a recovery, the best T). `T` is
    the one that was chosen by the data; with `is_set` the observable is the best T itself.

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
    statistic: str = "mean"
    unseen: str = ""

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


def facts_of(observed: Observed, mean: Estimate, unseen: str = "") -> MainNumbers:
    """The numbers of an observable, beside an interval of its mean that allows for early looks."""
    return MainNumbers(
        observed.name,
        observed.unit,
        observed.realizations,
        observed.exact,
        observed.T,
        mean,
        _quantiles(observed),
        observed.is_set,
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
