"""Exact moments: sums and cross products of integer samples, mergeable in any order.

Sums of disjoint sets of realizations are merged in any order, and give the same numbers. Third
moments say how many rare events a mean rests on, without samples.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement, product
from operator import add
from typing import Any

import numpy as np
import numpy.typing as npt

from ..backends import core
from ..fields import refuse_masked
from .intervals import Estimate, RareEvents, check_confidence, student_t

Integers = npt.NDArray[np.int64]
_DIGIT = 32  # bits of the digits whose products `core` sums up
_WORD = 24  # bytes of a stored integer: 2^63 * 2^63 * 2^32 fits


@dataclass(frozen=True)
class Moments:
    """Sums over `count` realizations of two integers x and y: exact, as Python integers."""

    count: int
    x: int
    y: int
    xx: int
    yy: int
    xy: int


@dataclass(frozen=True, eq=False)
class CrossMoments:
    """The number of samples, their sums and their sums of products, as Python integers.

    Attributes
    ----------
    count : int
        Realizations.
    sums : object array, shape (columns,)
    products : object array, shape (columns, columns)
        Symmetric.

    Examples
    --------
    >>> one = CrossMoments.of(np.array([[1, 2], [3, 4]]))
    >>> other = CrossMoments.of(np.array([[5, -6]]))
    >>> (one + other).sums.tolist(), (one + other).products.tolist()
    ([9, 0], [[35, -16], [-16, 56]])
    """

    count: int
    sums: npt.NDArray[Any]
    products: npt.NDArray[Any]

    @classmethod
    def of(
        cls,
        values: npt.NDArray[Any],
        columns: Sequence[int] | None = None,
        base: Integers | None = None,
    ) -> CrossMoments:
        """Sum up int64 samples, shape (realizations, columns); of all columns, or of some.

        With `base`, of each column, the samples are how much they are above it, in unsigned
        integers of up to 4 bytes.
        """
        refuse_masked(values, "values must be int64")
        if values.ndim != 2 or (base is None and values.dtype != np.int64):
            raise ValueError(
                f"values must be int64 of shape (realizations, columns), "
                f"got {values.dtype} of shape {values.shape}"
            )
        chosen = list(range(values.shape[1]) if columns is None else columns)
        count, width = len(values), len(chosen)
        if not count or not width:
            return cls(count, _zeros(width), _zeros(width, width))
        found = core.cross_moments(values, chosen)
        # What is left above the smallest value takes few bits: sums of its digits.
        digits = found["digits"]
        totals, squares = _zeros(digits * width), _zeros(digits * width, digits * width)
        totals[:] = found["sums"]
        rows, others = _triangle(digits * width)
        squares[rows, others] = squares[others, rows] = found["products"]
        weights = [1 << (_DIGIT * i) for i in range(digits)]
        sums = sum(w * one for w, one in zip(weights, np.split(totals, digits), strict=True))
        parts = squares.reshape(digits, width, digits, width)
        products = sum(
            weights[i] * weights[j] * parts[i, :, j] for i in range(digits) for j in range(digits)
        )
        least = found["base"].astype(object)
        if base is not None:
            least = least + base[chosen].astype(object)
        outer = np.outer(least, sums)
        products = products + outer + outer.T + count * np.outer(least, least)
        return cls(count, sums + count * least, products)

    def __add__(self, other: CrossMoments) -> CrossMoments:
        return CrossMoments(
            self.count + other.count, self.sums + other.sums, self.products + other.products
        )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, CrossMoments)
            and self.count == other.count
            and self.sums.tolist() == other.sums.tolist()
            and self.products.tolist() == other.products.tolist()
        )

    __hash__ = None  # type: ignore[assignment]

    def take(self, columns: Sequence[int]) -> CrossMoments:
        """Return the moments of some of the columns, by their numbers."""
        at = np.array(columns, dtype=np.intp)
        return CrossMoments(self.count, self.sums[at], self.products[np.ix_(at, at)])

    def total(self, x: Sequence[int]) -> int:
        """The exact sum of an integer linear form, as `Moments.x`; see `moments`."""
        columns = sum(int(c) * int(self.sums[i]) for i, c in enumerate(x[:-1]) if c)
        return columns + self.count * int(x[-1])

    def moments(self, x: Sequence[int], y: Sequence[int] | None = None) -> Moments:
        """Exact moments of two integer linear forms of the columns.

        Parameters
        ----------
        x, y : sequence of int
            The coefficient of each column, then a constant. Without `y`: 1 - 1 = 0.
        """
        if y is None:
            y = (0,) * len(x)
        n = self.count
        a, p = int(x[-1]), [(i, int(c)) for i, c in enumerate(x[:-1]) if c]
        b, q = int(y[-1]), [(i, int(c)) for i, c in enumerate(y[:-1]) if c]

        def product(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> int:
            return int(sum(c * d * self.products[i, j] for i, c in one for j, d in other))

        sx, sy = self.total(x), self.total(y)
        return Moments(
            count=n,
            x=sx,
            y=sy,
            xx=product(p, p) + 2 * a * sx - n * a * a,
            yy=product(q, q) + 2 * b * sy - n * b * b,
            xy=product(p, q) + a * sy + b * sx - n * a * b,
        )

    def to_bytes(self) -> bytes:
        """The upper triangle, as integers of 24 bytes, after the count and the columns."""
        columns = len(self.sums)
        numbers = [*self.sums, *self.products[_triangle(columns)]]
        words = (int(number).to_bytes(_WORD, "little", signed=True) for number in numbers)
        return struct.pack("<QI", self.count, columns) + b"".join(words)

    @classmethod
    def from_bytes(cls, data: bytes) -> CrossMoments:
        """Read what `to_bytes` made."""
        count, columns = struct.unpack_from("<QI", data)
        numbers = [
            int.from_bytes(data[i : i + _WORD], "little", signed=True)
            for i in range(12, len(data), _WORD)
        ]
        if len(numbers) != columns + columns * (columns + 1) // 2:
            raise ValueError(f"not the bytes of a CrossMoments of {columns} columns")
        sums, products = _zeros(columns), _zeros(columns, columns)
        sums[:] = numbers[:columns]
        rows, others = _triangle(columns)
        products[rows, others] = numbers[columns:]
        products[others, rows] = numbers[columns:]
        return cls(count, sums, products)


def mean_of(moments: Moments, confidence: float = 0.95, scale: int = 1) -> Estimate:
    """Mean of ``x / scale`` with Student's interval.

    Examples
    --------
    >>> print(mean_of(Moments(3, 6, 0, 14, 0, 0)))  # of 1, 2 and 3
    2 [-0.4841, 4.484]
    """
    confidence = check_confidence(confidence)
    n = moments.count
    value = moments.x / (n * scale)
    reach = math.inf
    if n > 1:
        reach = student_t(confidence, n - 1) * standard_error_of(moments, scale)
    return Estimate(value, value - reach, value + reach, confidence, n)


def standard_error_of(moments: Moments, scale: int = 1) -> float:
    """Standard error of the mean of ``x / scale``; NaN for one realization."""
    n = moments.count
    if n < 2:
        return math.nan
    return math.sqrt(spread(n, moments.x, moments.xx) / (n * n * (n - 1))) / scale


def spread(n: int, total: int, squares: int) -> int:
    """n^2 times the mean square deviation: exact, no digits cancel."""
    return n * squares - total * total


@lru_cache(maxsize=64)
def _triangle(columns: int) -> tuple[Integers, Integers]:
    """Return where the upper triangle is; kept, for it takes longer than what is done with it."""
    rows, others = np.triu_indices(columns)
    return rows, others


def _zeros(*shape: int) -> npt.NDArray[Any]:
    return np.full(shape, 0, dtype=object)


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
    def of(cls, *samples: Integers, alone: Sequence[ThirdMoments] = ()) -> ThirdMoments:
        """Sum up one array or two, int64 of shape (realizations,).

        `alone`: of each of two, where they are known.
        """
        count, several = len(samples[0]), len(samples)
        found = core.third_moments(samples)
        digits = found["digits"] * several
        given = [*found["sums"], *found["products"], *found["triples"]]
        total = dict(zip(_products_of_digits(digits, several), given, strict=True))

        def above(*of: int) -> int:
            """Return the sum of products of what samples are above the smallest of theirs."""
            if digits == several:
                return int(total[tuple(sorted(of))])
            places = product(*(range(number, digits, several) for number in of))
            return sum(
                total[tuple(sorted(place))] << _DIGIT * sum(i // several for i in place)
                for place in places
            )

        def sum_of(i: int, j: int) -> int:
            """Return the sum of x^2 y, where x is sample i and y sample j."""
            x, y = found["low"][i], found["low"][j]
            constant = count * x * x * y + 2 * x * y * above(i) + x * x * above(j)
            return constant + y * above(i, i) + 2 * x * above(i, j) + above(i, i, j)

        sums: tuple[int, ...]
        if several == 1:
            sums = (sum_of(0, 0),)
        else:
            first, last = alone or map(cls.of, samples)
            sums = (*first.sums, sum_of(0, 1), sum_of(1, 0), *last.sums)
        unequal = found["less"] + found["more"]
        return cls(sums, tuple(found["low"]), tuple(found["high"]), unequal, found["nonzero"])

    @property
    def numbers(self) -> list[Any]:
        """Its attributes in order, as `ThirdMoments` takes them."""
        return [self.sums, self.low, self.high, self.unequal, self.nonzero]

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


@lru_cache(maxsize=8)
def _products_of_digits(digits: int, several: int) -> list[tuple[int, ...]]:
    """The digits whose products `core.third_moments` sums up, in its order: one, two and three.

    Digit i is of sample i % several; three of the same one of two are not summed up.
    """
    return [
        places
        for size in (1, 2, 3)
        for places in combinations_with_replacement(range(digits), size)
        if size < 3 or several == 1 or len({i % several for i in places}) > 1
    ]


def _effective_events(count: int, numerator: int, denominator: int) -> float:
    """See `effective_events`: the quotient, `count` at most."""
    return numerator / denominator if numerator < count * denominator else float(count)
