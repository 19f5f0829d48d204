"""Mergeable log-linear histogram (HdrHistogram): quantiles without the samples, bounded error."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_BITS = 10  # 2^10 buckets per octave
_LINEAR = 1 << _BITS  # below this a bucket is a number
_SHIFT = 52 - _BITS  # bits of a float64's mantissa that are dropped
_FIRST = (1023 + _BITS - 1) << _BITS  # float64's biased exponent, so that buckets go on at _LINEAR


class OrderStatistic(NamedTuple):
    """Between which values one of the sorted samples lies; `middle` is told for it."""

    low: int
    middle: float
    high: int


@dataclass(frozen=True, eq=False)
class Histogram:
    """Counts of int64 samples in log-linear buckets: 2^10 of equal width in every octave.

    Samples whose size is below 2^11 are kept exactly, any other to within `RELATIVE_ERROR`
    (the middle of its bucket). Smallest and largest are exact.

    Attributes
    ----------
    buckets : int32 array
        Ascending numbers of the buckets that hold any; negative ones hold negative samples.
    counts : int64 array
    min, max : int
        0 where there are no samples.

    Examples
    --------
    >>> h = Histogram.of(np.array([3, -5, 3])) + Histogram.of(np.array([10**9]))
    >>> h.count, h.min, h.max, h.order_statistic(2), h.order_statistic(4).middle
    (4, -5, 1000000000, OrderStatistic(low=3, middle=3.0, high=3), 1000000000.0)
    """

    RELATIVE_ERROR = 2.0**-11

    buckets: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int64]
    min: int
    max: int

    @classmethod
    def of(cls, values: npt.NDArray[np.int64]) -> Histogram:
        """Of int64 samples, shape (realizations,)."""
        if values.ndim != 1 or values.dtype != np.int64:
            raise ValueError(f"values must be int64 of one dimension, got {values.dtype}")
        if not len(values):
            return cls(np.zeros(0, np.int32), np.zeros(0, np.int64), 0, 0)
        numbers = _bucket(values)
        first = int(numbers.min())
        counts = np.bincount(numbers - first)  # at most 2^17 of them
        (filled,) = np.nonzero(counts)
        return cls(
            (filled + first).astype(np.int32),
            counts[filled].astype(np.int64),
            int(values.min()),
            int(values.max()),
        )

    @property
    def count(self) -> int:
        """Samples."""
        return int(self.counts.sum())

    def __add__(self, other: Histogram) -> Histogram:
        if not len(self.counts) or not len(other.counts):
            return self if len(self.counts) else other
        buckets, at = np.unique(np.concatenate([self.buckets, other.buckets]), return_inverse=True)
        counts = np.zeros(len(buckets), dtype=np.int64)
        np.add.at(counts, at, np.concatenate([self.counts, other.counts]))
        return Histogram(buckets, counts, min(self.min, other.min), max(self.max, other.max))

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
        low, high = _edges(int(self.buckets[at]))
        low, high = max(low, self.min), min(high, self.max)
        return OrderStatistic(low, (low + high) / 2, high)

    def middles(self) -> npt.NDArray[np.float64]:
        """The value reported for each bucket."""
        number = np.abs(self.buckets.astype(np.int64))
        shift = np.maximum((number >> _BITS) - 1, 0)
        # As in `_edges`, of sizes up to 2^63.
        low = (number - (shift << _BITS)).astype(np.uint64) << shift.astype(np.uint64)
        high = low + ((np.uint64(1) << shift.astype(np.uint64)) - np.uint64(1))
        middle = np.stack([low, high]).astype(np.float64).mean(axis=0)
        return np.clip(np.where(self.buckets < 0, -middle, middle), self.min, self.max)

    def to_bytes(self) -> bytes:
        """Little-endian: how many buckets, min, max, buckets, counts."""
        head = struct.pack("<Iqq", len(self.buckets), self.min, self.max)
        return head + self.buckets.astype("<i4").tobytes() + self.counts.astype("<i8").tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Histogram:
        """What `to_bytes` made."""
        size, low, high = struct.unpack_from("<Iqq", data)
        start = struct.calcsize("<Iqq")
        if len(data) != start + 12 * size:
            raise ValueError(f"not the bytes of a Histogram of {size} buckets")
        buckets = np.frombuffer(data, "<i4", size, start).astype(np.int32)
        counts = np.frombuffer(data, "<i8", size, start + 4 * size).astype(np.int64)
        return cls(buckets, counts, low, high)


def _bucket(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The number of each sample's bucket: of its size, with its sign."""
    size = np.abs(values).view(np.uint64)  # also of -2^63
    # A float64 is its exponent and the digits after the leading one, which is what we count by.
    # Bits that it could not hold are cleared first: rounding up might change the octave.
    kept = np.where(size >> np.uint64(53), size & ~np.uint64(2047), size)
    numbers = (kept.astype(np.float64).view(np.int64) >> _SHIFT) - _FIRST
    numbers = np.where(size < _LINEAR, size.view(np.int64), numbers)
    return np.where(values < 0, -numbers, numbers)


def _edges(bucket: int) -> tuple[int, int]:
    """The smallest and the largest sample of a bucket."""
    number = abs(bucket)
    shift = max((number >> _BITS) - 1, 0)
    low = (number - (shift << _BITS)) << shift
    high = low + (1 << shift) - 1
    return (low, high) if bucket >= 0 else (-high, -low)
