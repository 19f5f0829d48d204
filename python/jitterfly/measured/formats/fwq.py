"""Parser of FWQ, fixed work quantum: time of the same work, again and again.

ASC/LLNL's fwq prints cycles of the time-stamp counter, a line for each quantum; Netgauge's prints
its number and whole microseconds. The shortest is what the work takes; the rest of each is noise.
Sample 0 is dropped, as LLNL's own script does.
"""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import PurePath

import numpy as np

from ...units import TICKS_PER_SECOND, show_seconds
from ..measurements import Detours, Measured
from .columns import clock_of, comments, data_ranges, integer_columns, single_column
from .text import Options, TextFile

NAME = "fwq"
TITLE = "fixed work quantum (FWQ): a duration for each quantum"
OPTIONS = ("clock_hz", "unit")

_NETGAUGE = "Fixed Work Quantum Benchmark"
_THREAD = re.compile(r"_(\d{1,6})_times\.dat$")
_LEAST = 3


def recognise(head: str) -> bool:
    if _NETGAUGE in head or re.search(r"^#.{0,80}\bfwq\b", head[:4096], re.I | re.M):
        return True
    values = single_column(head)
    # Most of them close to the smallest, and a tail above: durations. Counts have it below.
    return len(values) >= 100 and bool(2 * np.median(values) < values.min() + values.max())


def read(text: TextFile, options: Options) -> Measured:
    netgauge = _NETGAUGE in text.head
    scale, resolution = _scale(text, options, netgauge)
    width = 2 if netgauge else 1
    what = "a number and a duration in us" if netgauge else "a duration"
    values = integer_columns(text, data_ranges(text), [1] * width, what)[-1]
    if len(values) <= _LEAST:
        raise text.error(None, f"must have more than {_LEAST} samples, got {len(values)}")
    values = values[1:]
    shortest = int(values.min())
    if shortest == 0:
        raise text.error(None, "has a sample of 0: work that takes no time")
    # Floats rise with what they round, so that detours stay apart.
    begins = np.concatenate(([0], np.cumsum(values, dtype=np.float64))) * float(scale)
    if begins[-1] >= 2**61:
        raise text.error(None, "lasts longer than 26 days; are the clock and the unit right?")
    ends = begins[:-1] + (values - shortest) * float(scale)
    starts, stops = np.rint(begins[:-1]).astype(np.int64), np.rint(ends).astype(np.int64)
    lost = stops > starts
    thread = _THREAD.search(PurePath(text.name).name)
    detours = Detours(
        starts[lost],
        (stops - starts)[lost],
        int(np.rint(begins[-1])),
        resolution=resolution,
        cpu=thread[1] if thread else "",
    )
    work = show_seconds(shortest * float(scale) / TICKS_PER_SECOND)
    notes = [
        f"the shortest quantum, {work}, was subtracted from all: it is taken for the work itself",
        "sample 0 was dropped",
        "where in its quantum a detour was is not known (it is put at the beginning), and several "
        "in one are one; periods below two quanta are not looked for",
        "differences of a few cycles are in it, too: most short ones are not the system's",
    ]
    source = {"tool": "Netgauge FWQ" if netgauge else "FWQ", "quantum": work}
    return Measured((detours,), NAME, source, tuple(notes))


def _scale(text: TextFile, options: Options, netgauge: bool) -> tuple[Fraction, int | None]:
    """Ticks in a number of the file; and the quantum of the clock where that is coarse."""
    if netgauge:
        if options.given():
            raise text.error(None, f"says its unit itself; leave out {options.given()[0]}")
        return Fraction(TICKS_PER_SECOND, 10**6), TICKS_PER_SECOND // 10**6
    scale = clock_of(text, options, comments(text))
    if scale is None:
        raise text.error(
            None,
            "its numbers are cycles (FWQ), and the rate of their clock is not in the file: give "
            "`clock_hz` such as 2.1e9, the rate of the time-stamp counter, or `unit` ns",
        )
    return scale, None
