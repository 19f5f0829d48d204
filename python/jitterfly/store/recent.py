"""What stays in memory of a store's samples."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ..observables import PlaceData
from ..observables.measure import Integers

_MOST_BYTES = 2**26  # that nobody has looked at yet, of all places
# Of what was looked at: places, bytes of samples. What is made early of them is as much again.
_KEPT, _KEPT_BYTES = 16, 2**27


def too_much(kept: Collection[PlaceData]) -> bool:
    """Whether that is more than there shall be in memory."""
    sizes = [data.ticks.nbytes for data in kept if data.ticks]
    return sum(sizes) > _KEPT_BYTES or len(kept) > _KEPT


class Recent:
    """What this process added and nobody has looked at yet, so that it is not read again.

    The arrays themselves, by place. Beyond some memory the place that was first is given up; its
    samples are in its file.
    """

    def __init__(self) -> None:
        self._parts: dict[int, dict[int, Integers]] = {}  # by place, by first realization
        self._bytes = 0

    def add(self, place: int, first: int, values: Integers) -> None:
        """The samples from realization `first` on; nobody may write into `values` afterwards."""
        self._drop(place, first)
        self._parts.setdefault(place, {})[first] = values
        self._bytes += values.nbytes
        while self._bytes > _MOST_BYTES:
            oldest = next(iter(self._parts))
            for number in list(self._parts[oldest]):
                self._drop(oldest, number)

    def pieces(
        self, place: int, first: int, end: int
    ) -> Iterator[tuple[int, int, Integers | None]]:
        """Realizations `first` ... `end` - 1 in order: from, to, and the samples or None."""
        here = first
        for start, values in sorted(self._parts.get(place, {}).items(), key=lambda part: part[0]):
            low, high = max(start, here), min(start + len(values), end)
            if low < high:
                if here < low:
                    yield here, low, None
                whole = high - low == len(values)  # of which more may be known than of a view
                yield low, high, values if whole else values[low - start : high - start]
                here = high
        if here < end:
            yield here, end, None

    def forget(self, place: int, end: int) -> None:
        """The samples before realization `end`: who asked for them has them."""
        for first, values in list(self._parts.get(place, {}).items()):
            if first + len(values) <= end:
                self._drop(place, first)

    def _drop(self, place: int, first: int) -> None:
        parts = self._parts.get(place, {})
        if first in parts:
            self._bytes -= parts.pop(first).nbytes
            if not parts:
                del self._parts[place]
