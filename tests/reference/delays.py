"""Reference of delay distributions as functions of a 64-bit uniform, in Python integers.

Written from the definition of the tables, not from the engine: every quantity below is exact. Small
uniforms are the rare, long delays. `last` is the largest uniform that gives any delay at all;
uniforms up to it are stretched to all 64 bits before a table is asked.

The low half of a uniform counts only where it can decide: at an edge, and in the tails, which are
the TAIL lowest and highest values of the high half. Elsewhere tables are asked at the high half.
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from functools import cached_property
from operator import neg

import numpy as np

TWO_64 = 1 << 64
MOST = TWO_64 - 1
TAIL = 1 << 20
SPLITS = 64  # cells between two powers of two, and below 64
CELLS = 58 * SPLITS  # of one side: below 64, and for each of the powers 2^6 ... 2^62


def fraction64(part, whole):
    """About ``part / whole * 2^64`` for part < whole < 2^64, the way the engine rounds it."""
    shift = 64 - whole.bit_length()
    inverse = min((1 << 127) // (whole << shift), MOST)
    return 2 * ((part << shift) * inverse >> 64)


def scale64(a, b):
    return a * b >> 64


def entries_above(u, survival):
    """How many entries of `survival`, which do not rise, are above u."""
    return bisect_left(survival, -u, key=neg)


def cell_edge(cell):
    """The smallest number of a cell of a side; cell number CELLS: the end, 2^63."""
    if cell < SPLITS:
        return cell
    power, step = divmod(cell - SPLITS, SPLITS)
    return (SPLITS + step) << power


def cell_of(y):
    """The cell that holds y < 2^63, and how far into it y is, in units of 2^-64."""
    power = max(y.bit_length() - 7, 0)  # the cell is 2^power wide
    cell = y if y < SPLITS else power * SPLITS + (y >> power)
    begin = cell_edge(cell)
    return cell, (y - begin << 64) >> power


@dataclass(frozen=True)
class Delay:
    """Base: `value(v)` is the delay at the stretched uniform v."""

    last: int = MOST

    def __call__(self, u):
        """The delay in ticks, for a uniform from 0 to 2^64 - 1."""
        if u > self.last:
            return 0
        if self.last == MOST:
            return self.value(self.looked_at(u))
        high, whole = u >> 32, self.last + 1
        most = self.last >> 32
        if TAIL <= high < most - most // (1 << 12) - 1:
            return self.value(self.looked_at(fraction64(high << 32, whole) >> 32 << 32))
        return self.value(fraction64(u, whole))

    def looked_at(self, u):
        """What a delay that always happens makes of its uniform: all of it."""
        return u

    def with_last(self, last):
        return replace(self, last=last)

    @property
    def largest(self):
        """The longest delay: that of the uniform 0."""
        return self(0)


@dataclass(frozen=True)
class Constant(Delay):
    ticks: int = 0

    def value(self, v):
        return self.ticks


@dataclass(frozen=True)
class Smooth(Delay):
    """Nodes at `cell_edge` of the survival function (tail), then of the distribution (body)."""

    words: tuple[int, ...] = ()

    def looked_at(self, u):
        """Outside the tails: rounded towards the nearer end."""
        if u < TWO_64 // 2:
            return u >> 32 << 32 if u >> 32 >= TAIL else u
        return MOST - self.looked_at(MOST - u)

    def value(self, v):
        tail = v < TWO_64 // 2
        cell, within = cell_of(v if tail else MOST - v)
        node = cell if tail else CELLS + 1 + cell
        here, beyond = self.words[node], self.words[node + 1]
        return here + ((beyond - here) * (within >> 33) >> 31)


@dataclass(frozen=True)
class Samples(Delay):
    """Equally likely values, from the longest to the shortest."""

    values: tuple[int, ...] = ()

    def value(self, v):
        return self.values[scale64(v, len(self.values))]


@dataclass(frozen=True)
class Pieces(Delay):
    """Piecewise linear: from top[c] at edges[c] down by drop[c] towards the next edge."""

    edges: tuple[int, ...] = ()
    top: tuple[int, ...] = ()
    drop: tuple[int, ...] = ()

    def looked_at(self, u):
        """Outside the tails: rounded down."""
        return u >> 32 << 32 if TAIL <= u >> 32 < (1 << 32) - TAIL else u

    def value(self, v):
        at_zero, slope = self.lines[bisect_right(self.edges, v) - 1]
        return at_zero - scale64(v, slope)

    @cached_property
    def lines(self):
        """Of each piece: what it would be at 0, and how steeply it falls."""
        lines = []
        for begin, end, top, drop in zip(
            self.edges, (*self.edges[1:], TWO_64), self.top, self.drop, strict=True
        ):
            slope = min(drop * TWO_64 // (end - begin), TWO_64 - 1)
            lines.append((top + scale64(begin, slope), slope))
        return lines


@dataclass(frozen=True)
class Counts(Delay):
    """As many times `ticks` as there are entries of `survival` above the uniform."""

    ticks: int = 0
    survival: tuple[int, ...] = ()

    def value(self, v):
        return self.ticks * entries_above(v, self.survival)


def last_of(probability):
    """The largest uniform with a delay, for a probability (a Fraction) above 0."""
    return min(max(-(-probability.numerator * TWO_64 // probability.denominator) - 1, 0), MOST)


def core_delay(core, delay):
    """A delay of py as a `_core.Delay`."""
    tables = core.Delay
    match delay:
        case Constant():
            table = tables.constant(value=delay.ticks)
        case Smooth():
            table = tables.smooth(words=np.array(delay.words, dtype=np.uint64))
        case Samples():
            table = tables.samples(values=np.array(delay.values, dtype=np.int64))
        case Pieces():
            table = tables.pieces(edges=np.array(delay.edges, dtype=np.uint64),
                                  top=np.array(delay.top, dtype=np.int64),
                                  drop=np.array(delay.drop, dtype=np.int64))  # fmt: skip
        case Counts():
            survival = np.array(delay.survival, dtype=np.uint64)
            table = tables.counts(value=delay.ticks, survival=survival)
        case _:
            raise TypeError(delay)
    return table if delay.last == MOST else table.with_last(delay.last)
