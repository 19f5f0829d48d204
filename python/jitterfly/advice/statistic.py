"""The statistic that candidates are ranked by: estimates, bounds and paired comparisons of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from .. import stats
from ..fields import shorten
from ..observables import quantile_share
from ..stats import ENOUGH_EVENTS, PairedQuantiles
from ..stats.distributions import binomial_ranks, student_t

Floats = npt.NDArray[np.float64]

_HALVINGS = 20  # of the way from what is told to the estimate


@dataclass(frozen=True)
class Statistic:
    """A mean or a quantile of completion.

    `share` is that of the quantile, None for the mean.

    Student's interval of a mean is widened where it rests on few rare events (`ENOUGH_EVENTS`): by
    the second term of Bernstein's empirical bound (A. Maurer & M. Pontil, COLT 2009) for the range
    that was seen; and where nothing was seen, it has no ends. So means are about as sure as is
    said, and what is too rare to have been seen beside other noise is not known of; quantiles are
    exact (`PairedQuantiles`).

    Examples
    --------
    >>> Statistic.named("p99")
    Statistic(name='p99', share=0.99)
    """

    name: str
    share: float | None

    @classmethod
    def named(cls, name: str) -> Statistic:
        """From "mean", or a quantile such as "p99.9".

        Raises:
            ValueError: another word. The largest of a sample is none: it has no interval.
        """
        share = quantile_share(name) if isinstance(name, str) else None
        if share is None and name != "mean":
            raise ValueError(
                "statistic must be mean or a quantile such as p50, p99 or p99.9 (min and max of a "
                f"sample have no interval, so they tell no winner), got {shorten(name)}"
            )
        return cls(name, share)

    def least(self, error: float) -> int:
        """Realizations from which on a bound that fails with probability `error` has an end."""
        if self.share is None:
            return 2
        # `PairedQuantiles` spends an eighth on each of the two ends.
        return stats.realizations_needed(self.share, 1 - error / 4)

    def estimate(self, x: Floats, error: float) -> stats.Estimate:
        """Of a sample, with its interval; each end fails with probability `error`."""
        confidence = 1 - 2 * error
        if self.share is not None:
            return stats.quantile(x, self.share, confidence)
        value = float(x.mean())
        reach = _half_interval(x, error, float(np.ptp(x)))
        return stats.Estimate(value, value - reach, value + reach, confidence, len(x))

    def upper(self, x: Floats, error: float) -> float:
        """The upper bound of `estimate`; infinite if there is none."""
        if self.share is None:
            return float(self.estimate(x, error).high)
        rank = binomial_ranks(len(x), self.share, 1 - 2 * error)[1]
        return math.inf if rank is None else float(np.partition(x, rank - 1)[rank - 1])

    def above(self, a: Floats, b: Floats, error: float, factor: float = 1.0) -> bool:
        """Whether that of a is told to be above `factor` times that of b (paired)."""
        if self.share is not None:
            return PairedQuantiles(a, b, self.share, error).above(factor)
        difference = a - factor * b
        seen = max(float(np.ptp(a)), factor * float(np.ptp(b)))
        return bool(difference.mean() > _half_interval(difference, error, seen))

    def _below(self, a: Floats, b: Floats, error: float, factor: float) -> bool:
        return self.above(b, a, error, 1 / factor)

    def ratio(self, a: Floats, b: Floats, error: float, within: float = 0.0) -> stats.Estimate:
        """That of a over that of b (paired); each bound fails with probability `error`.

        Both ends are on that side of 1, and of ``1 + within``, that `above` tells. Without this an
        interval could hold 1 although the test tells a difference: few rare events widen both, and
        not alike.
        """
        above: Callable[[float], bool]
        below: Callable[[float], bool]
        if self.share is not None:
            pair = PairedQuantiles(a, b, self.share, error)
            value, low, high = pair.ratio()
            above, below = pair.above, pair.below
        else:
            value, low, high = self._ratio_of_means(a, b, error)
            above = partial(self.above, a, b, error)
            below = partial(self._below, a, b, error)
        if 0 < value < math.inf:
            if not above(1.0):
                low = min(low, 1.0)
            elif low <= 1:
                low = math.exp(_farthest_told(lambda x: above(math.exp(x)), math.log(value)))
            if not below(1.0):
                high = max(high, 1.0)
            elif high >= 1:
                high = math.exp(-_farthest_told(lambda x: below(math.exp(-x)), -math.log(value)))
            if within:
                limit = 1 + within
                high = min(high, limit) if below(limit) else max(high, limit)
        return stats.Estimate(value, low, high, 1 - 2 * error, len(a))

    def _ratio_of_means(self, a: Floats, b: Floats, error: float) -> tuple[float, float, float]:
        found = stats.ratio(a, b, 1 - 2 * error)
        value, low, high = (float(x) for x in (found.value, found.low, found.high))
        below = float(b.mean())
        if below > 0:
            seen = max(float(np.ptp(a)), value * float(np.ptp(b)))
            more = _widening(a - value * b, error, seen) / below
            low, high = low - more, high + more
        return value, low, high

    def difference(self, a: Floats, b: Floats, error: float) -> stats.Estimate:
        """That of a minus that of b (paired), seconds; bounds as those of `ratio`."""
        confidence = 1 - 2 * error
        if self.share is not None:
            pair = PairedQuantiles(a, b, self.share, error)
            value, low, high = pair.difference()
            if low <= 0 and pair.above():
                low = _farthest_told(lambda x: pair.above(1.0, x), value)
            if high >= 0 and pair.below():
                high = -_farthest_told(lambda x: pair.below(1.0, -x), -value)
            return stats.Estimate(value, low, high, confidence, len(a))
        apart = a - b
        value = float(apart.mean())
        reach = _half_interval(apart, error, max(float(np.ptp(a)), float(np.ptp(b))))
        return stats.Estimate(value, value - reach, value + reach, confidence, len(a))


def _farthest_told(told: Callable[[float], bool], value: float) -> float:
    """About the largest number from 0 to `value` that is told; 0 is."""
    known, unknown = 0.0, max(value, 0.0)
    for _ in range(_HALVINGS):
        middle = (known + unknown) / 2
        if told(middle):
            known = middle
        else:
            unknown = middle
    return known


def _half_interval(x: Floats, error: float, seen: float) -> float:
    """Half the length of a mean's interval; `seen` is the range of what it is a difference of."""
    if len(x) < 2:
        return math.inf
    t = student_t(1 - 2 * error, len(x) - 1)
    return t * float(x.std(ddof=1)) / math.sqrt(len(x)) + _widening(x, error, seen)


def _widening(x: Floats, error: float, seen: float) -> float:
    if len(x) < 2 or not seen > 0:
        return math.inf
    if stats.effective_events(x) >= ENOUGH_EVENTS:
        return 0.0
    return 7 * math.log(2 / error) / (3 * (len(x) - 1)) * seen
