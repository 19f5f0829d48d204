"""Parsers of sysjitter: raw files with the interruptions of each thread, and its report.

A raw file has a line for each interruption. The time is that of its end, counted from the start of
the run; the last column is how long it was, the iteration of the loop included. With ``--sort`` the
lines are in the order of duration, and lack the delta.

The report, which it prints without ``--raw``, has a row for each quantity and a column for each
core: how many interruptions, their sum, the longest. Of their distribution it has some quantiles.
"""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import PurePath

import numpy as np

from ...units import TICKS_PER_SECOND
from ..measurements import MAX_TICKS, CpuNoise, Measured
from .columns import MAX_COUNT, comments, data_ranges, detours_in_order, integer_columns
from .text import Format, Options, TextFile

_NS = TICKS_PER_SECOND // 10**9
_MAX_NS = MAX_TICKS // _NS
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


_CORES = re.compile(r"^core_i:[ \t]+\d", re.MULTILINE)
_ROW = re.compile(r"[a-z][a-z0-9_]{1,20}(?:\((?:ns|s|%)\))?:")
_NEEDED = ("runtime(ns)", "int_n", "int_max(ns)", "int_total(ns)")


def _read_report(text: TextFile, options: Options) -> Measured:
    """Read a report, which has sums of each core."""
    rows: dict[str, tuple[int, list[str]]] = {}
    for line, content in enumerate(text.lines, 1):
        words = content.split()
        if not words or not _ROW.fullmatch(words[0]) or not (rows or words[0] == "core_i:"):
            continue
        name = words[0][:-1]
        if name in rows:
            raise text.error(line, f"has a second row {name}; import one report at a time")
        rows[name] = line, words[1:]
        cores = len(rows["core_i"][1])
        if len(words) - 1 != cores:
            raise text.error(
                line, f"must have a number for each core, {cores}, got {len(words) - 1}"
            )
    for name in _NEEDED:
        if name not in rows:
            raise text.error(len(text.lines), f"ends before `{name}:`; it is cut off")
    parts = []
    for at, core in enumerate(rows["core_i"][1]):
        cpu = str(text.integer(rows["core_i"][0], core, "core_i", high=2**20))
        runtime, count, longest, total = (
            text.integer(line, words[at], name, high=MAX_COUNT if name == "int_n" else _MAX_NS)
            for name, (line, words) in ((name, rows[name]) for name in _NEEDED)
        )
        with text.errors_at(rows["int_total(ns)"][0], f"core {cpu}: "):
            times = runtime * _NS, total * _NS, longest * _NS
            parts.append(CpuNoise(*times, periods=1, cpu=cpu, events=count))
    notes = [
        "sums over a run have a share, a rate and a longest detour, no distribution of durations: "
        "the raw files of sysjitter have the single ones",
        "the iteration of the loop that was hit is part of each duration",
    ]
    if "threshold(ns)" in rows:
        shown = ", ".join(dict.fromkeys(word[:20] for word in rows["threshold(ns)"][1][:8]))
        notes.append(f"interruptions below {shown} ns were not recorded")
    return Measured(tuple(parts), "sysjitter_report", {"tool": "sysjitter"}, tuple(notes))


FORMATS = (
    Format(
        "sysjitter_report",
        "the report of sysjitter",
        sign=_CORES.search,
        read=_read_report,
    ),
    Format(
        "sysjitter",
        "sysjitter raw file (interruptions of one thread)",
        sign=lambda head: "# cpu_mhz:" in head[:2000] and "# n_interruptions:" in head[:2000],
        read=_read,
    ),
)
