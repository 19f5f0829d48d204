"""Detours from what tools print: sorted, disjoint, and the quantum of a coarse clock."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...units import TICKS_PER_SECOND, show_seconds
from ..measurements import Detours, Floats, Ticks

LEAST_QUANTUM = 30e-9
"""Seconds; finer clocks are not called coarse."""
WTIME_QUANTUM = 2.0**-22
"""Seconds, of MPI_Wtime where it returns seconds since 1970 as a double."""

_LEAST_EVENTS = 50
_LEAST_STEPS = 5  # distinct multiples of the quantum
_NEAR = 0.05  # of a quantum; durations that know no quantum are that near with probability 0.1
_MOST_STEPS = 2**12


def in_order(
    starts: Ticks, durations: Ticks, *, length: int | None = None, **known: Any
) -> tuple[Detours, list[str]]:
    """Detours in any order, with overlaps, as a run; and notes on what had to be changed.

    Parameters
    ----------
    starts, durations : int64 ticks, shape (detours,)
        From 0 and below 2^62.
    length : int, optional
        Ticks observed; without it, up to the end of the last detour.
    **known
        threshold, resolution, cpu: see `Detours`.

    Raises
    ------
    ValueError
        No detours and no length, or times beyond 2^62 ticks.
    """
    notes = []
    kept = durations > 0
    if not kept.all():
        notes.append(f"detours of no duration were left out: {np.count_nonzero(~kept)}")
        starts, durations = starts[kept], durations[kept]
    if (starts[1:] < starts[:-1]).any():
        notes.append("detours were not in the order of their times; they were sorted")
        order = np.argsort(starts, kind="stable")
        starts, durations = starts[order], durations[order]
    if len(starts) and length is None and starts[0] > starts[-1] + durations[-1] - starts[0]:
        notes.append(
            f"times began at {show_seconds(starts[0] / TICKS_PER_SECOND, 9)}; "
            "they count from the first detour now"
        )
        starts = starts - starts[0]
    ends = np.maximum.accumulate(starts + durations)
    first = np.ones(len(starts), dtype=bool)
    first[1:] = starts[1:] >= ends[:-1]
    if not first.all():
        notes.append(
            f"detours that overlapped the one before, and were merged: {np.count_nonzero(~first)}"
        )
        last = np.append(np.flatnonzero(first)[1:] - 1, len(starts) - 1)
        starts, ends = starts[first], ends[last]
    if length is None:
        if len(starts) == 0:
            raise ValueError("has no detours, and does not say how long was observed")
        length = int(ends[-1])
    return Detours(starts, ends - starts, length, **known), notes


def clock_quantum(durations: Floats) -> float | None:
    """The step of a coarse clock, in seconds, that all durations (seconds) are multiples of.

    None where they are not, or the step is below 30 ns, or there are too few to tell. They may be
    off by a nanosecond each, as where a tool rounds them to whole ones.
    """
    distinct = np.unique(durations)
    gaps = np.diff(distinct)
    steps = gaps[gaps > LEAST_QUANTUM / 2]
    if len(durations) < _LEAST_EVENTS or len(steps) == 0:
        return None
    quantum = float(np.median(steps))
    reach = 8
    while reach <= _MOST_STEPS:  # longer ones fix it more finely, once it is known so far
        near = distinct[distinct < reach * quantum]
        count = np.round(near / quantum)
        if count.any():
            quantum = float((count * near).sum() / (count * count).sum())
        reach *= 4
    if quantum < LEAST_QUANTUM:
        return None
    seen = durations[durations < _MOST_STEPS * quantum]
    count = np.round(seen / quantum)
    off = np.abs(seen - count * quantum)
    regular = len(np.unique(count)) >= _LEAST_STEPS and len(seen) >= _LEAST_EVENTS
    return quantum if regular and np.mean(off <= _NEAR * quantum) > 0.99 else None


def quantum_note(quantum: float) -> str:
    """What a coarse clock means for the numbers."""
    clock = ""
    if abs(quantum / WTIME_QUANTUM - 1) < 0.01:
        clock = ", as MPI_Wtime does with seconds since 1970 in a double (2^-22 s)"
    return (
        f"the clock counts in steps of {show_seconds(quantum)}{clock}: all times are multiples "
        "of it, and detours of less than a few steps are missing"
    )
