"""Mergeable histogram: quantiles without the samples, as fine as their spread; bounded error."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..backends import core
from ..fields import refuse_masked

_DIGITS = 11  # binary digits of a sample's size that are kept at least: cuda/statistics/buckets.cpp
_MAGIC = b"JFH2"
_HEAD = struct.Struct("<4sBBBIqq")

Integers = npt.NDArray[np.int64]


class OrderStatistic(NamedTuple):
    """The values between which one of the sorted samples lies; `middle` stands for it."""

    low: int
    middle: float
    high: int


@dataclass(frozen=True, eq=False)
class Histogram:
    """Counts of int64 samples in buckets that are as narrow as their number allows.

    At level k a bucket is 2^k wide; where that is more than a 2^10th of the octave of its samples,
    it is as wide as this (as in HdrHistogram). The level is the smallest at which no more than 2^13
    buckets hold any sample, or the largest. So samples of few different values are kept exactly,
    and those that lie close together far from 0, to a small part of their spread. The buckets of a
    level lie inside those of the next, and more samples never fill fewer of them. For that reason
    the level depends on the samples alone, and not on how they were merged.

    Samples whose size is below 2^11 are kept exactly, any other to within `RELATIVE_ERROR`
    (the middle of its bucket). Smallest and largest are exact.

    Attributes
    ----------
    starts : int64 array
        Ascending: of each bucket that holds any, the value that is nearest to 0.
    counts : int64 array
    level : int
    min, max : int
        0 where there are no samples.

    Examples
    --------
    >>> h = Histogram.of(np.array([3, -5, 3])) + Histogram.of(np.array([10**9]))
    >>> h.count, h.min, h.max, h.order_statistic(2), h.order_statistic(4).middle
    (4, -5, 1000000000, OrderStatistic(low=3, middle=3.0, high=3), 1000000000.0)
    """

    RELATIVE_ERROR = 2.0**-_DIGITS
    HEAD_BYTES = _HEAD.size

    starts: Integers
    counts: Integers
    level: int
    min: int
    max: int

    @classmethod
    def of(cls, values: Integers) -> Histogram:
        """Count int64 samples, shape (realizations,)."""
        refuse_masked(values, "values must be int64")
        if values.ndim != 1 or values.dtype != np.int64:
            raise ValueError(f"values must be int64 of one dimension, got {values.dtype}")
        return cls(*core.count_buckets(values))

    @property
    def count(self) -> int:
        """Samples."""
        return int(self.counts.sum())

    def __add__(self, other: Histogram) -> Histogram:
        return Histogram(*core.merge_buckets(self._parts, other._parts))

    @property
    def _parts(self) -> tuple[Integers, Integers, int, int, int]:
        return self.starts, self.counts, self.level, self.min, self.max

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Histogram) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]

    def order_statistic(self, rank: int) -> OrderStatistic:
        """The sample of that rank, 1 being the smallest.

        Raises
        ------
        ValueError
            `rank` not from 1 to the number of samples.
        """
        count = self.count
        if not 1 <= rank <= count:
            raise ValueError(f"rank must be an integer from 1 to {count}, got {rank}")
        if rank in (1, count):
            exact = self.min if rank == 1 else self.max
            return OrderStatistic(exact, float(exact), exact)
        at = int(np.searchsorted(np.cumsum(self.counts), rank))
        start, width = int(self.starts[at]), 1 << int(self._shifts()[at])
        low, high = (start, start + width - 1) if start >= 0 else (start - width + 1, start)
        low, high = max(low, self.min), min(high, self.max)
        return OrderStatistic(low, (low + high) / 2, high)

    def middles(self) -> npt.NDArray[np.float64]:
        """The value reported for each bucket."""
        half = (2.0 ** self._shifts() - 1) / 2
        middle = self.starts + np.where(self.starts < 0, -half, half)
        return np.clip(middle, self.min, self.max)

    def _shifts(self) -> Integers:
        """The logarithm of each bucket's width."""
        sizes = np.abs(self.starts).view(np.uint64)  # also of -2^63
        return np.minimum(_dropped_digits(sizes), self.level)

    def to_bytes(self) -> bytes:
        """Level, how many buckets, min, max, starts, counts: in the fewest bytes that hold each."""
        starts, counts = _pack(self.starts - self.starts[:1]), _pack(self.counts)
        sizes = starts.itemsize, counts.itemsize
        head = (self.level, *sizes, len(self.counts), self.min, self.max)
        first = self.starts[:1].astype("<i8").tobytes()
        return _HEAD.pack(_MAGIC, *head) + first + starts.tobytes() + counts.tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Histogram:
        """Read what `to_bytes` made."""
        magic, level, *sizes, size, low, high = _HEAD.unpack_from(data)
        at = _HEAD.size
        if magic != _MAGIC or len(data) != at + bool(size) * 8 + sum(sizes) * size:
            raise ValueError(f"not the bytes of a Histogram of {size} buckets")
        first = np.frombuffer(data, "<i8", bool(size), at)
        at += first.nbytes
        starts = first + np.frombuffer(data, f"<u{sizes[0]}", size, at).astype(np.int64)
        at += sizes[0] * size
        counts = np.frombuffer(data, f"<u{sizes[1]}", size, at).astype(np.int64)
        return cls(starts, counts, level, low, high)


def _dropped_digits(size: npt.NDArray[np.uint64]) -> Integers:
    """Count the binary digits of a size beyond `_DIGITS`."""
    # A float64 holds the number of digits in its exponent. Bits that it could not hold are cleared
    # first: rounding up might change the octave.
    kept = np.where(size >> np.uint64(53), size & ~np.uint64(2047), size)
    return np.maximum((kept.astype(np.float64).view(np.int64) >> 52) - 1022 - _DIGITS, 0)


def _pack(values: Integers) -> npt.NDArray[np.uint64]:
    """Numbers from 0 in the fewest bytes that hold all of them, also differences beyond 2^63."""
    unsigned = values.view(np.uint64)
    largest = int(unsigned.max(initial=0))
    kind = next(kind for kind in ("<u1", "<u2", "<u4", "<u8") if largest < 256 ** int(kind[2]))
    return unsigned.astype(kind)
