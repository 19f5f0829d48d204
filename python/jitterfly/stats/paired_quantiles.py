"""Paired comparison of quantiles: exact sign test (McNemar) between order statistics.

Let Q be the q quantile of b. It lies between two order statistics of b (binomial distribution).
If the q quantile of a is at most ``c Q``, then ``P(a <= c Q) >= q >= P(b < Q)``, so of the
realizations with either ``b < Q < a / c`` or ``a / c <= Q <= b`` the first are no more likely than
the others: the sign test (McNemar's) tells whether they are more than chance allows. Where it
does so for every Q between the order statistics, the quantile of a is above c times that of b. No
density is estimated; what both samples have in common is in neither count, which is what pairing
is for. Ties and steps of the distributions only make it more careful.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .. import lazy_special as special
from .critical_values import binomial_ranks, quantile_rank

Floats = npt.NDArray[np.float64]

_PLACE = 0.25  # of the error rate: for where Q lies; the rest is the sign test's
_FINEST = 2.0**-13  # no bound is nearer to the estimate, as a share of it
_FARTHEST = 2.0**10  # nor farther


class PairedQuantiles:
    """Comparisons of the q quantiles of two samples a and b of the same realizations.

    Parameters
    ----------
    a, b : float64 arrays, shape (realizations,)
        Numbers from 0.
    q : float
        Between 0 and 1.
    error : float
        How often one statement of `above` or `below` may be wrong, and each bound of `ratio`.

    Examples
    --------
    >>> b = np.arange(1.0, 1001.0)
    >>> pair = PairedQuantiles(1.5 * b, b, 0.5, 0.025)
    >>> pair.above(1.2), pair.above(1.6), pair.below(1.6)
    (True, False, True)
    >>> [round(bound, 2) for bound in pair.ratio()]
    [1.5, 1.48, 1.52]
    """

    def __init__(self, a: Floats, b: Floats, q: float, error: float):
        self.a, self.b, self.q = a, b, q
        self.error = error

    def above(self, factor: float = 1.0, plus: float = 0.0) -> bool:
        """Return whether the samples show a's quantile above ``factor * that of b + plus``."""
        if self.q < 0.5:
            return self._reference_b.under(self.b, lambda t: (t - plus) / factor)
        return self._reference_a.over(self.a, lambda t: factor * t + plus)

    def below(self, factor: float = 1.0, plus: float = 0.0) -> bool:
        """Return whether the samples show a's quantile below ``factor * that of b + plus``."""
        if self.q < 0.5:
            return self._reference_a.under(self.a, lambda t: factor * t + plus)
        return self._reference_b.over(self.b, lambda t: (t - plus) / factor)

    # The counts are of realizations just inside the quantile, where there are more than outside.

    @cached_property
    def _reference_a(self) -> _ReferenceSample:
        return _ReferenceSample(self.b, self.q, self.error)

    @cached_property
    def _reference_b(self) -> _ReferenceSample:
        return _ReferenceSample(self.a, self.q, self.error)

    @cached_property
    def value(self) -> tuple[float, float]:
        """The quantiles of both samples."""
        at = quantile_rank(len(self.b), self.q) - 1
        return float(np.partition(self.a, at)[at]), float(np.partition(self.b, at)[at])

    def ratio(self) -> tuple[float, float, float]:
        """The ratio of the quantiles, a's over b's: its estimate and both bounds."""
        top, bottom = self.value
        if not bottom > 0:
            return (1.0, 0.0, math.inf) if not top > 0 else (math.inf, 0.0, math.inf)
        value = top / bottom
        if not value > 0:
            return value, 0.0, math.inf
        limit = math.log(_FARTHEST)
        low = _smallest_decided(lambda x: self.above(value * math.exp(-x)), _FINEST, limit)
        high = _smallest_decided(lambda x: self.below(value * math.exp(x)), _FINEST, limit)
        return value, value * math.exp(-low), value * math.exp(high)

    def difference(self) -> tuple[float, float, float]:
        """The difference of the quantiles, a's minus b's: its estimate and both bounds."""
        top, bottom = self.value
        value, step = top - bottom, _FINEST * max(top, bottom)
        if not step > 0:
            return value, -math.inf, math.inf
        limit = _FARTHEST * max(top, bottom)
        low = _smallest_decided(lambda x: self.above(1.0, value - x), step, limit)
        high = _smallest_decided(lambda x: self.below(1.0, value + x), step, limit)
        return value, value - low, value + high


class _ReferenceSample:
    """A sample whose quantile another one's is compared with."""

    def __init__(self, b: Floats, q: float, error: float):
        self.error = (1 - _PLACE) * error
        low, high = binomial_ranks(len(b), q, 1 - _PLACE * error)
        # Between two of its order statistics the counts are worst at one of them.
        self.grid = np.zeros(0)
        if low is not None and high is not None:
            self.grid = np.unique(np.sort(b)[low - 1 : high])
        self.below = np.searchsorted(self.grid, b, side="right")  # b < grid from here on
        self.upto = np.searchsorted(self.grid, b, side="left")  # b <= grid from here on

    def over(self, a: Floats, move: Callable[[Floats], Floats]) -> bool:
        """Return whether the samples show that the quantile of a is above that of b, moved."""
        return self._tells_more(self.below, np.searchsorted(move(self.grid), a, side="left"))

    def under(self, a: Floats, move: Callable[[Floats], Floats]) -> bool:
        """Return whether the samples show that the quantile of a is below that of b, moved."""
        return self._tells_more(np.searchsorted(move(self.grid), a, side="right"), self.upto)

    def _tells_more(self, first: npt.NDArray[np.int64], second: npt.NDArray[np.int64]) -> bool:
        """Return whether at each point more are in `first` alone than in `second` alone."""
        size = len(self.grid)
        if not size:
            return False
        counts = [_count_upto(found, size) for found in (first, second, np.maximum(first, second))]
        hits, misses = counts[0] - counts[2], counts[1] - counts[2]
        if (hits <= misses).any():
            return False
        chances = special.betainc(hits, misses + 1, 0.5)  # P(B >= hits), B of hits + misses
        return bool((chances <= self.error).all())


def _smallest_decided(is_decided: Callable[[float], bool], step: float, far: float) -> float:
    """A distance that is told, at most 5 % above the smallest; infinite if it is beyond `far`."""
    inside = 0.0
    while not is_decided(step):
        inside, step = step, 4 * step
        if step > far:
            return math.inf
    while step - inside > 0.05 * step and inside:
        middle = (inside + step) / 2
        if is_decided(middle):
            step = middle
        else:
            inside = middle
    return step


def _count_upto(first: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
    """Count how many begin at or before each of `size` places."""
    counts: npt.NDArray[np.int64] = np.cumsum(np.bincount(first, minlength=size + 1)[:size])
    return counts
