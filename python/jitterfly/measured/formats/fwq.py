"""Parser of FWQ, fixed work quantum: time of the same work, again and again.

ASC/LLNL's fwq prints cycles of the time-stamp counter, a line for each quantum; Netgauge's prints
its number and whole microseconds. LLNL's fwq with threads prints the clock rate, and a line "Thread
N running on CPUs C" above the cycles of each. The shortest is what the work takes; the rest of each
is noise. Sample 0 is dropped, as LLNL's own script does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import zip_longest
from pathlib import PurePath

import numpy as np
import numpy.typing as npt

from ...fields import first_few
from ...units import TICKS_PER_SECOND, show_seconds
from ..measurements import Detours, Measured
from .columns import (
    check_not_times,
    clock_of,
    comments,
    data_ranges,
    integer_columns,
    single_column,
)
from .text import Options, TextFile

NAME = "fwq"
TITLE = "fixed work quantum (FWQ): a duration for each quantum"
OPTIONS = ("clock_hz", "unit")

_NETGAUGE = "Fixed Work Quantum Benchmark"
_THREAD = re.compile(r"_(\d{1,6})_times\.dat$")
_RUNNING = re.compile(rb"^Thread (\d{1,6}) running on CPUs? (\S{1,20})[ \t]{0,9}\n", re.M)
_SPEED = re.compile(r"^Speed: thread (\d{1,6}), .{0,80}\bGHz (\d{1,4}\.\d{1,9})\s{0,9}$", re.M)
_LEAST = 3


def recognise(head: str) -> bool:
    if _NETGAUGE in head or re.search(r"^#.{0,80}\bfwq\b", head[:4096], re.I | re.M):
        return True
    if _RUNNING.search(head.encode()):
        return True
    values = single_column(head)
    # Most of them close to the smallest, and a tail above: durations. Counts have it below.
    return len(values) >= 100 and bool(2 * np.median(values) < values.min() + values.max())


def read(text: TextFile, options: Options) -> Measured:
    netgauge = _NETGAUGE in text.head
    width = 2 if netgauge else 1
    what = "a number and a duration in us" if netgauge else "a duration"
    parts: list[Detours] = []
    work: list[str] = []
    check_not_times(text, single_column(text.head))
    for thread, cpu, ranges in _threads(text):
        scale, resolution = _scale(text, options, netgauge, thread)
        values = integer_columns(text, ranges, [1] * width, what)[-1]
        with text.errors_at(None):
            detours, shortest = _detours(values, scale, resolution, cpu)
        parts.append(detours)
        work.append(shortest)
    works = first_few(list(dict.fromkeys(work)), 4)
    notes = [
        f"the shortest quantum, {works}, was subtracted from all: it is taken for the work itself",
        "sample 0 was dropped",
        "where in its quantum a detour was is not known (it is put at the beginning), and several "
        "in one are one; periods below two quanta are not looked for",
        "differences of a few cycles are in it, too: most short ones are not the system's",
    ]
    source = {"tool": "Netgauge FWQ" if netgauge else "FWQ", "quantum": work[0]}
    return Measured(tuple(parts), NAME, source, tuple(notes))


def _threads(text: TextFile) -> Iterator[tuple[str, str, list[tuple[int, int]]]]:
    """Yield for each thread its number, its CPU ("" if not known), and where its samples are."""
    heads = list(_RUNNING.finditer(text.data))
    if not heads:
        named = _THREAD.search(PurePath(text.name).name)
        yield "", named[1] if named else "", data_ranges(text)
    for head, after in zip_longest(heads, heads[1:]):
        end = after.start() if after else len(text.data)
        yield head[1].decode(), head[2].decode(), [(head.end(), end)]


def _detours(
    values: npt.NDArray[np.int64], scale: Fraction, resolution: int | None, cpu: str
) -> tuple[Detours, str]:
    """Return what samples take beyond the shortest; and that one, in words."""
    if len(values) <= _LEAST:
        raise ValueError(f"must have more than {_LEAST} samples, got {len(values)}")
    values = values[1:]
    shortest = int(values.min())
    if shortest == 0:
        raise ValueError("has a sample of 0: work that takes no time")
    # Floats rise with what they round, so that detours stay apart.
    begins = np.concatenate(([0], np.cumsum(values, dtype=np.float64))) * float(scale)
    if begins[-1] >= 2**61:
        raise ValueError("lasts longer than 26 days; are the clock and the unit right?")
    ends = begins[:-1] + (values - shortest) * float(scale)
    starts, stops = np.rint(begins[:-1]).astype(np.int64), np.rint(ends).astype(np.int64)
    lost = stops > starts
    detours = Detours(
        starts[lost],
        (stops - starts)[lost],
        int(np.rint(begins[-1])),
        resolution=resolution,
        cpu=cpu,
    )
    return detours, show_seconds(shortest * float(scale) / TICKS_PER_SECOND)


def _scale(
    text: TextFile, options: Options, netgauge: bool, thread: str
) -> tuple[Fraction, int | None]:
    """Ticks in a number of the file; and the quantum of the clock where that is coarse."""
    if netgauge:
        if options.given():
            raise text.error(None, f"says its unit itself; leave out {options.given()[0]}")
        return Fraction(TICKS_PER_SECOND, 10**6), TICKS_PER_SECOND // 10**6
    speeds = {found[1]: found[2] for found in _SPEED.finditer(text.head)}
    said = [(1, f"clock {speeds[thread]} GHz")] if thread in speeds else comments(text)
    scale = clock_of(text, options, said)
    if scale is None:
        raise text.error(
            None,
            "its numbers are cycles (FWQ), and the rate of their clock is not in the file: give "
            "`clock_hz` such as 2.1e9, the rate of the time-stamp counter, or `unit` ns",
        )
    return scale, None
