"""Parser of sysjitter's raw files: interruptions of each thread.

The time is that of its end, counted from the start of the run; the last column is how long it was,
the iteration of the loop included. With ``--sort`` the lines are in the order of duration, and
lack the delta.
"""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import PurePath

import numpy as np

from ...units import TICKS_PER_SECOND
from ..measurements import Measured
from .columns import comments, data_ranges, detours_in_order, integer_columns
from .text import Format, Options, TextFile

_NS = TICKS_PER_SECOND // 10**9
_KEY = re.compile(r"(cpu_mhz|threshold|n_interruptions|total_runtime): (\S{1,40})( cycles)?")
_THREAD = re.compile(r"\.(\d{1,6})$")


def _read(text: TextFile, options: Options) -> Measured:
    said: dict[str, float] = {}
    for line, words in comments(text):
        found = _KEY.match(words)
        if found and (found[1] != "total_runtime" or found[3]):
            value = text.number(line, found[2].removesuffix("ns"), found[1])
            if not 0 <= value < 1e18:
                raise text.error(line, f"{found[1]} must be from 0 to 1e18, got {found[2]}")
            said[found[1]] = value
    if not said.get("cpu_mhz"):
        raise text.error(None, "must say '# cpu_mhz: ' with a number above 0")
    ranges = data_ranges(text)
    if not ranges:
        raise text.error(
            None, "has no interruptions, and sysjitter does not say then how long it ran"
        )
    by_duration = "delta" not in text.head[:2000]
    width = 3 if by_duration else 4
    what = f"{width} columns: time in ns, {'' if by_duration else 'delta, '}cycles, ns"
    columns = integer_columns(text, ranges, [_NS] + [1] * (width - 2) + [_NS], what)
    ends, durations = columns[0], columns[-1]
    starts = np.maximum(ends - durations, 0)
    length = int(ends.max())
    if "total_runtime" in said:  # truncated times may end a nanosecond later
        clock = Fraction(TICKS_PER_SECOND) / (Fraction(said["cpu_mhz"]) * 10**6)
        length = max(length, round(Fraction(said["total_runtime"]) * clock))
    notes = [
        "the iteration of the loop that was hit is part of each duration",
        "the clock rate is a whole number of MHz, so times may be off by a part in a thousand",
    ]
    if by_duration:
        notes.append("the file is sorted by duration; the detours are in the order of time again")
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], ends[order]
    with text.errors_at(None):
        threshold = round(said["threshold"] * _NS) if "threshold" in said else None
        detours, more = detours_in_order(starts, ends - starts, length=length, threshold=threshold)
    if said.get("n_interruptions", len(ends)) != len(ends):
        more.append(
            f"the file says that it has {said['n_interruptions']:.0f} interruptions, but it has "
            f"{len(ends)}: part of it is missing"
        )
    source = {"tool": "sysjitter", "clock": f"{said['cpu_mhz']:g} MHz"}
    thread = _THREAD.search(PurePath(text.name).name)
    if thread:
        source["thread"] = thread[1]
    return Measured((detours,), "sysjitter", source, tuple(notes + more))


FORMATS = (
    Format(
        "sysjitter",
        "sysjitter raw file (interruptions of one thread)",
        sign=lambda head: "# cpu_mhz:" in head[:2000] and "# n_interruptions:" in head[:2000],
        read=_read,
    ),
)
