"""Recorded intervals: what is accepted, and how they become ticks."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..fields import check_numbers, shorten
from ..units import TICKS_PER_SECOND, to_ticks
from . import files
from .distributions.tables import LARGEST

_WAYS = "one of file, (starts, durations and length) and trace"


class Trace(NamedTuple):
    """Sorted intervals [start, end) with time between them, in ticks, and the length of it all."""

    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    length: int

    def busy(self) -> int:
        """Ticks in intervals."""
        return int((self.ends - self.starts).sum())

    def share(self) -> float:
        """Part of the time in intervals."""
        return self.busy() / self.length


def check_ways(given: Any, trace: Any) -> None:
    """Raise ValueError unless intervals are given in one way, with the options of that."""
    from ..measured import Detours

    lists = [name for name in ("starts", "durations", "length") if getattr(given, name) is not None]
    there = ["file"] * (given.file is not None) + ["trace"] * (trace is not None) + lists
    if there not in (["file"], ["trace"], ["starts", "durations", "length"]):
        raise ValueError(f"TraceNoise must be given {_WAYS}, got {' and '.join(there) or 'none'}")
    if trace is not None and not isinstance(trace, Detours):
        raise ValueError(f"trace must be a Detours, got {shorten(trace)}")
    if given.file is None:
        for name in ("part", "sha256", "ranks_per_part"):
            if getattr(given, name) is not None:
                raise ValueError(f"{name} must be left out without a file (in TraceNoise)")


def frozen(values: Any, name: str) -> npt.NDArray[np.float64]:
    """A list of times as an array of our own, that nobody changes."""
    rule = f"{name} must be an array of times in seconds, from 0"
    array = check_numbers(values, rule).astype(np.float64)
    if array.ndim != 1 or not ((array >= 0) & (array <= LARGEST / TICKS_PER_SECOND)).all():
        raise ValueError(f"{rule}, got {shorten(values)}")
    array.setflags(write=False)
    return array


def of_lists(
    starts: npt.NDArray[np.float64], durations: npt.NDArray[np.float64], length: float | None
) -> Trace:
    """The intervals that the user gave, in seconds."""
    if len(starts) != len(durations):
        raise ValueError(
            f"durations must be as many as starts, {len(starts)}, got {len(durations)}"
        )
    begins = np.rint(starts * TICKS_PER_SECOND).astype(np.int64)
    ends = begins + np.rint(durations * TICKS_PER_SECOND).astype(np.int64)
    bad = begins[1:] < ends[:-1]
    if bad.any():
        at = int(np.argmax(bad)) + 1
        raise ValueError(
            f"starts must be sorted, and intervals must not overlap, got {starts[at]} s at index "
            f"{at}, before the end of the one before it"
        )
    return joined(begins, ends, to_ticks(length or 0.0), "TraceNoise")


@lru_cache(maxsize=32)
def of_file(path: Path, sha256: str, part: Any, file: str) -> tuple[Trace, ...]:
    """The detours in a part of a file, or in each of its parts, of which some may have none."""
    from ..measured import Detours

    measured = files.read(path, sha256)
    each = isinstance(part, str) and part == "each"
    chosen = list(measured.parts) if each else files.choose(measured, part, file, each=True)
    traces = []
    for number, one in enumerate(chosen):
        if not isinstance(one, Detours):
            what = type(one).__name__
            advice = "; Empirical(file=...) takes it" if what == "Histogram" else ""
            raise ValueError(
                f"file: {file} must hold detours in order of time, it holds {what}{advice}"
            )
        where = f"file: {file}, part {number}" if each else f"file: {file}"
        ends = one.starts + one.durations
        if each and not one.durations.any():  # a CPU that nothing interrupted
            traces.append(Trace(one.starts[:0], ends[:0], one.length))
        else:
            traces.append(joined(one.starts, ends, one.length, where))
    if not any(len(trace.starts) for trace in traces):
        raise ValueError(f"file: {file}: there is no interval in any part: leave the noise out")
    return tuple(traces)


def joined(
    starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64], length: int, where: str
) -> Trace:
    """Sorted intervals as a trace: none is empty, and touching ones are one.

    Raises:
        ValueError: there is none, the last one ends after the trace, or there is no time between.
    """
    there = ends > starts
    starts, ends = starts[there], ends[there]
    if not len(starts):
        raise ValueError(f"{where}: there is no interval in the trace: leave the noise out")
    if not ends[-1] <= length < LARGEST:
        raise ValueError(
            f"length must be from the end of the last interval, {ends[-1] / TICKS_PER_SECOND} s, "
            f"to {LARGEST / TICKS_PER_SECOND:.3g} s, got {length / TICKS_PER_SECOND} s"
        )
    apart = starts[1:] > ends[:-1]
    begins = np.ascontiguousarray(starts[np.concatenate([[True], apart])])
    stops = np.ascontiguousarray(ends[np.concatenate([apart, [True]])])
    trace = Trace(begins, stops, length)
    if trace.busy() >= length:
        raise ValueError(f"{where}: the trace must leave the CPU some time")
    return trace
