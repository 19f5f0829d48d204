"""Delays as integer tables: the inverse survival function, for the engine to draw from.

A 64-bit uniform decides, small ones being the rare, long delays; tails are dense down to 2^-64 (the
model's §6). Values are rounded to 24 significant bits before they become ticks: then the last bit
of a library's log or gamma function decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, compress, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..engine import core

TWO_64 = 2**64
MOST = TWO_64 - 1
LARGEST = 2**60
"""Delays in a table stay below so many ticks (13 days), so that a sum of some is still a time."""
RAREST = 2.0**-65
"""The survival probability that stands for the longest delay: half a step of the uniform."""
CELLS = 58 * 64
"""Cells of a smooth table on either side of the median: 64 for each power of two."""

Floats = npt.NDArray[np.float64]
Line = tuple[Floats, Floats]
"""A survival function as a line: falling times in ticks, and the rising P(X > time)."""


@dataclass(frozen=True, eq=False)
class DelayTable:
    """One of the kinds of table that `core.Delay` knows, and the arrays it is made from.

    kind and arrays: "constant" (value), "smooth" (words), "samples" (values), "pieces" (edges, top,
    drop). `last` is the largest uniform with any delay; from 2^64 - 1 down.
    """

    kind: str
    arrays: tuple[Any, ...]
    last: int = MOST

    @property
    def largest(self) -> int:
        """The longest delay, in ticks."""
        if self.kind == "constant":
            return int(self.arrays[0])
        return int(self.arrays[1 if self.kind == "pieces" else 0][0])

    def delay(self) -> core.Delay:
        """The table in the engine, made once."""
        return self._delay

    @cached_property
    def _delay(self) -> core.Delay:
        made = getattr(core.Delay, self.kind)(*self.arrays)
        return made if self.last == MOST else made.with_last(self.last)

    def with_chance(self, chance: Fraction) -> DelayTable:
        """A delay with this probability only, from 0 to 1; else none."""
        if chance == 0:
            return constant(0)
        return replace(self, last=last_uniform(chance))

    def line(self) -> Line:
        """The survival function that the table has, down to time 0."""
        times, above = _LINES[self.kind](*self.arrays)
        chance = (self.last + 1) / TWO_64
        times, above = np.append(times, 0.0), np.append(above, 1.0)
        return np.asarray(times, dtype=np.float64), above * chance

    def mean(self) -> float:
        """Mean of the table, in ticks."""
        return float(areas(self.line()).sum())

    def at(self, survival: float) -> int:
        """About the delay that is exceeded with this probability, in ticks: it may be longer."""
        times, above = self.line()
        return int(times[max(np.searchsorted(above, survival) - 1, 0)])


def last_uniform(chance: Fraction) -> int:
    """The largest uniform below `chance` (above 0) of all."""
    steps = -(-chance.numerator * TWO_64 // chance.denominator)
    return min(max(steps - 1, 0), MOST)


def constant(ticks: int) -> DelayTable:
    """Always the same delay."""
    return DelayTable("constant", (ticks,))


def node_probabilities() -> Floats:
    """Probability of each node of a smooth table, counted from its end: 2^-65 ... 1/2."""
    cell = np.arange(CELLS + 1)
    power = np.maximum(cell // 64 - 1, 0)
    edge = np.ldexp((cell - 64 * power).astype(np.float64), power)
    return np.ldexp(np.maximum(edge, 0.5), -64)


def smooth(upper: Callable[[Floats], Floats], lower: Callable[[Floats], Floats]) -> DelayTable:
    """A table of a continuous distribution.

    Parameters
    ----------
    upper, lower : functions of an array of probabilities
        Delay in ticks that is exceeded with such a probability, and that is not.

    Notes
    -----
    Between nodes it is linear in the uniform; they lie so dense that the relative error of a delay
    is h^2 x^2 |Q''| / (8 Q) with h = 1/64 (Q(x): inverse of either function): below 7e-5 for the
    exponential distribution, and for Pareto's with shape 1. Beyond 2^-58 from an end nodes are
    sparser.
    """
    probabilities = node_probabilities()
    with np.errstate(over="ignore", under="ignore"):
        tail, body = round_ticks(upper(probabilities)), round_ticks(lower(probabilities))
    # Both are monotone but for errors of the last bit.
    tail = np.maximum.accumulate(tail[::-1])[::-1]
    body = np.minimum(np.maximum.accumulate(body), tail[-1])
    body[-1] = tail[-1]
    return DelayTable("smooth", (np.concatenate([tail, body]).astype(np.uint64),))


def samples(values: npt.NDArray[np.int64]) -> DelayTable:
    """A table of equally likely delays, in ticks."""
    return DelayTable("samples", (np.sort(values)[::-1].copy(),))


def bins(low: list[int], high: list[int], counts: list[int]) -> DelayTable:
    """A table of a histogram: rising bins in ticks, uniform inside each.

    Bins that are drawn less than once in 2^40 are left out where their edges meet.
    """
    kept = [entry for entry in zip(low, high, counts, strict=True) if entry[2]][::-1]
    until = list(accumulate(count for _, _, count in kept))
    edges = [0, *(_rounded_edge(above * TWO_64 // until[-1]) for above in until[:-1])]
    wide = [a < b for a, b in pairwise([*edges, TWO_64])]
    bottom, top = (np.array(list(compress(ends, wide)), dtype=np.int64)
                   for ends in list(zip(*kept, strict=True))[:2])  # fmt: skip
    return DelayTable(
        "pieces", (np.array(list(compress(edges, wide)), np.uint64), top, top - bottom)
    )


def _rounded_edge(edge: int) -> int:
    # Part of what a seed means. In the tail edges stay exact.
    return edge if edge < 2**52 else edge >> 24 << 24


def round_ticks(ticks: Floats) -> npt.NDArray[np.int64]:
    """Round to 24 significant bits, then to whole ticks."""
    fraction, exponent = np.frexp(ticks)
    return np.rint(np.ldexp(np.rint(fraction * 2**24), exponent - 24)).astype(np.int64)


def areas(line: Line) -> Floats:
    """Area below each stretch of a survival function; their sum is the mean."""
    times, above = line
    return (times[:-1] - times[1:]) * (above[:-1] + above[1:]) / 2


def _constant_line(ticks: int) -> Line:
    return np.array([ticks, ticks]), np.array([0.0, 1.0])


def _smooth_line(words: npt.NDArray[np.uint64]) -> Line:
    tail, body = words[: CELLS + 1], words[CELLS + 1 :]
    edges = node_probabilities()
    edges[0] = 0.0
    return np.concatenate([tail, body[-2::-1]]), np.concatenate([edges, 1 - edges[-2::-1]])


def _samples_line(values: npt.NDArray[np.int64]) -> Line:
    steps = np.arange(len(values) + 1) / len(values)
    return np.repeat(values, 2), np.repeat(steps, 2)[1:-1]


def _pieces_line(edges: Any, top: Any, drop: Any) -> Line:
    steps = np.append(np.ldexp(edges.astype(np.float64), -64), 1.0)
    return np.stack([top, top - drop], axis=1).ravel(), np.repeat(steps, 2)[1:-1]


_LINES: dict[str, Callable[..., Line]] = {
    "constant": _constant_line,
    "smooth": _smooth_line,
    "samples": _samples_line,
    "pieces": _pieces_line,
}


def residual(table: DelayTable) -> DelayTable:
    """The table of what is left of a delay with a positive mean.

    The survival function of a table is a line of straight stretches, so its integral is exact.
    """
    times, above = table.line()
    ascending = times[::-1], above[::-1]
    return smooth(
        lambda p: _time_at_area((times, above), p, -1.0),
        lambda p: _time_at_area(ascending, p, 1.0),
    )


def _time_at_area(line: Line, probabilities: Floats, sign: float) -> Floats:
    """Where the area below a survival function, from the line's start on, has such a part of all.

    Summed from its small end, so that the area is exact there.
    """
    times, above = line
    parts = np.abs(areas(line))
    upto = np.concatenate([[0.0], np.cumsum(parts)])
    area = probabilities * upto[-1]
    at = np.clip(np.searchsorted(upto, area, side="right") - 1, 0, len(parts) - 1)
    rest = np.clip(area - upto[at], 0, parts[at])
    width = np.abs(times[at + 1] - times[at])
    slope = np.divide(above[at + 1] - above[at], width, out=np.zeros_like(area), where=width > 0)
    # rest = above * x + slope * x^2 / 2, in the form that does not cancel.
    root = above[at] + np.sqrt(np.maximum(above[at] ** 2 + 2 * slope * rest, 0))
    x = np.divide(2 * rest, root, out=np.zeros_like(area), where=root > 0)
    return np.asarray(times[at] + sign * np.minimum(x, width))
