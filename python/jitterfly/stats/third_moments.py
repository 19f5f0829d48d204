"""Exact third moments of integer samples: how many rare events a mean rests on, without samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement, product
from operator import add

import numpy as np
import numpy.typing as npt

from .cross_moments import Moments
from .intervals import RareEvents

Integers = npt.NDArray[np.int64]
_ROWS = 1 << 15  # of a block, which stays in the cache
_DIGIT = 21  # bits: a product of three such digits is below 2^63
_FARTHEST = 2**63  # beyond any sample


@dataclass(frozen=True)
class ThirdMoments:
    """The sums of products of three, of x or of pairs x, y, and the ends of each. Merging is exact.

    Attributes
    ----------
    sums : tuple of int
        Of x^3; of pairs also of x^2 y, x y^2 and y^3.
    low, high : tuple of int
        The smallest and the largest x, and y.
    unequal, nonzero : int
        Pairs of two different numbers; those that are not (0, 0).

    Examples
    --------
    >>> one, other = ThirdMoments.of(np.array([1, 2])), ThirdMoments.of(np.array([-4]))
    >>> one + other
    ThirdMoments(sums=(-55,), low=(-4,), high=(2,), unequal=0, nonzero=0)
    """

    sums: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    unequal: int = 0
    nonzero: int = 0

    @classmethod
    def of(cls, *samples: Integers) -> ThirdMoments:
        """Sum up one array or two, int64 of shape (realizations,)."""
        blocks = [
            _sums_of_products([array[at : at + _ROWS] for array in samples])
            for at in range(0, len(samples[0]), _ROWS)
        ]
        nothing = [0] * (3 * len(samples) - 2)
        which_pairs = [] if len(samples) == 1 else [np.not_equal(*samples), np.logical_or(*samples)]
        return cls(
            tuple(map(sum, zip(nothing, *blocks, strict=True))),
            tuple(int(array.min(initial=_FARTHEST - 1)) for array in samples),
            tuple(int(array.max(initial=-_FARTHEST)) for array in samples),
            *(int(np.count_nonzero(which)) for which in which_pairs),
        )

    def __add__(self, other: ThirdMoments) -> ThirdMoments:
        return ThirdMoments(
            tuple(map(add, self.sums, other.sums)),
            tuple(map(min, self.low, other.low)),
            tuple(map(max, self.high, other.high)),
            self.unequal + other.unequal,
            self.nonzero + other.nonzero,
        )

    def rare_events(
        self, moments: Moments, scale: int = 1, noise_free: float | None = None
    ) -> RareEvents:
        """Return what `RareEvents.of` finds in the samples of ``x / scale``.

        Parameters
        ----------
        moments : Moments
            Of x.
        """
        n, total = moments.count, moments.x
        squares = n * moments.xx - total * total
        cubes = n * n * self.sums[0] - 3 * n * total * moments.xx + 2 * total**3
        [low], [high] = self.low, self.high
        count = _effective_events(n, n * squares**3, cubes**2) if low < high else 0.0
        # Differences of integers: none of their digits cancel.
        found = RareEvents(count, *(abs(total - n * x) / (n * scale) for x in (low, high)))
        moved = 0.0 if noise_free is None or low < high or n < 2 else abs(low / scale - noise_free)
        return found._replace(count=float(n), all_met=moved) if moved else found

    def rare_events_of_ratio(
        self, moments: Moments, quotients: tuple[float, float] | None = None
    ) -> RareEvents:
        """Return what `RareEvents.of_ratio` finds in samples of x and y, whose means have a ratio.

        Parameters
        ----------
        moments : Moments
            Of x and y.
        quotients : (float, float), optional
            The smallest and the largest x / y. With them it is known better how far a single
            realization is from the ratio: else as far as its x and y can be from their means.
        """
        n, x, y = moments.count, moments.x, moments.y
        if not y:
            return RareEvents(0.0, 0.0, 0.0)
        # The events are those of y_sum * x - x_sum * y, of which the mean is 0.
        squares = y * y * moments.xx - 2 * x * y * moments.xy + x * x * moments.yy
        xxx, xxy, xyy, yyy = self.sums
        varied = 0.0
        if squares:
            cubes = y**3 * xxx - 3 * y * y * x * xxy + 3 * y * x * x * xyy - x**3 * yyy
            count = _effective_events(n, squares**3, cubes**2)
            # Not more than the realizations in which this is not 0.
            count = min(count, self.unequal if x == y else self.nonzero)
        else:
            denominator = Moments(n, y, 0, moments.yy, 0, 0)
            count = ThirdMoments((yyy,), self.low[1:], self.high[1:]).rare_events(denominator).count
            varied = abs(x / y) * abs(n / y) * (self.high[1] - self.low[1])
        # How far single realizations are from the means, as parts of the mean of y.
        tops = [(n * end - x) / y for end in (self.low[0], self.high[0])]
        bottoms = [x / y * ((y - n * end) / y) for end in (self.low[1], self.high[1])]
        below = -min(tops) - min(bottoms)
        above = max(tops) + max(bottoms)
        if quotients is not None and self.low[1] >= 0:
            longest = self.high[1] * n / y
            below = min(below, max(x / y - quotients[0], 0.0) * longest)
            above = min(above, max(quotients[1] - x / y, 0.0) * longest)
        return RareEvents(
            count,
            max(below, -min(*tops, *bottoms)),
            max(above, max(*tops, *bottoms)),
            varied,
        )


def _effective_events(count: int, numerator: int, denominator: int) -> float:
    """See `effective_events`: the quotient, `count` at most."""
    return numerator / denominator if numerator < count * denominator else float(count)


def _sums_of_products(samples: list[Integers]) -> list[int]:
    """Sum up the cubes of one array; of two, x^3, x^2 y, x y^2 and y^3.

    A sample is a sum of digits (of its distance from the smallest) and of 1, each times a weight.
    """
    digits: list[npt.NDArray[np.uint64]] = [np.ones(len(samples[0]), np.uint64)]
    weights: list[dict[int, int]] = []  # of each array: by the number of a digit
    for array in samples:
        base = int(array.min())
        distance = array.view(np.uint64) - np.uint64(base % 2**64)  # wraps to the right number
        own = {0: base}
        for shift in range(0, int(distance.max()).bit_length(), _DIGIT):
            own[len(digits)] = 1 << shift
            digits.append((distance >> np.uint64(shift)) & np.uint64((1 << _DIGIT) - 1))
        weights.append(own)

    @cache
    def pair(i: int, j: int) -> npt.NDArray[np.uint64]:
        return digits[i] * digits[j]

    @cache
    def total(i: int, j: int, k: int) -> int:
        products = pair(i, j) * digits[k]
        low = products & np.uint64(2**32 - 1)
        return int(low.sum()) + (int((products >> np.uint64(32)).sum()) << 32)

    def sum_of(*factors: dict[int, int]) -> int:
        return sum(
            a * b * c * total(*sorted((i, j, k)))
            for (i, a), (j, b), (k, c) in product(*(own.items() for own in factors))
        )

    return [sum_of(*factors) for factors in combinations_with_replacement(weights, 3)]
