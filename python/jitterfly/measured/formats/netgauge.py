"""Parsers of Netgauge: its selfish detour benchmark, one-one latencies, and LogGP parameters.

**Selfish detour**, and LogGOPSim's noise files: lines of `start<TAB>duration` in nanoseconds below
a header of comments. A detour is an iteration of the loop that took longer than the threshold, a
percentage of the shortest iteration, which is subtracted from the duration. Sources: Hoefler,
Schneider & Lumsdaine 2010; ptrn_noise.c of Netgauge; Noise.hpp of LogGOPSim.

**One-one**: half the round-trip time of each repetition of a ping-pong of single messages.

**LogGP** (`-x loggp`), by message size, in microseconds: size, n, PRTT(1,0,s), PRTT(n,0,s),
PRTT(n,PRTT(1,0,s),s), L, o_s, o_r, g, G, residual. PRTT(n,d,s) is the time of a parametrized round
trip: n messages of s bytes, d apart.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from ...units import TICKS_PER_SECOND, show_seconds
from ..measurements import Detours, Latencies, LogGPTable, Measured
from .columns import (
    MAX_COUNT,
    Row,
    clock_notes,
    detours_of_steps,
    integer_columns,
    line_of_row,
    number_rows,
)
from .text import Format, Options, TextFile, whole_lines

_BARE = re.compile(r" {0,9}\d{1,18}(\.\d{0,9})? {0,9}\t[ \t]{0,9}\d{1,18}(\.\d{0,9})?\s{0,9}")
_BARE_LINES = 50
_COMMENT = re.compile(rb"^#[^\n]*", re.MULTILINE)
_KEY = re.compile(
    r"# ?(Benchmark Method|Compute-Cycle Duration|Number of Cycles/Detours|Sysname|Nodename"
    r"|Release|Version|Machine|Selfish Benchmark|Minimal cycle length \[ns\]"
    r"|Number of iterations \(recorded\+unrecorded\)|Threshold: \[% minimal cycle length\]"
    r"|Threshold \[ns\]|CPU overhead due to noise|Measurement period)\s*:?\s*(.*)"
)
_TRAILERS = ("CPU overhead due to noise", "Measurement period")
_SOURCE = {
    "Benchmark Method": "method",
    "Nodename": "machine",
    "Release": "kernel",
    "Version": "kernel_build",
}
_NS = TICKS_PER_SECOND // 10**9
_MAX_RUNS = 1000
_LONGEST = 200  # letters of a header's value
_ROW = "a start and a duration in ns"


@dataclass
class _Run:
    header: dict[str, tuple[int, str]] = field(default_factory=dict)
    rows: list[tuple[int, int]] = field(default_factory=list)  # bytes


def _is_selfish(head: str) -> bool:
    """Return whether a text begins like Selfish's: by its title, or by lines of rising times."""
    if "selfish duration [ns]" in head or "# Selfish Benchmark" in head:
        return True
    lines = [line for line in whole_lines(head) if line[:1] != "#"][:_BARE_LINES]
    if len(lines) < 2 or not all(map(_BARE.fullmatch, lines)):
        return False
    starts = [float(line.split("\t")[0]) for line in lines]
    return all(one < other for one, other in pairwise(starts))


def _read_selfish(text: TextFile, options: Options) -> Measured:
    runs = _split(text)
    parts: list[Detours] = []
    notes: list[str] = []
    for run in runs:
        for detours, said in _detours(text, run):
            parts.append(detours)
            notes += [note for note in said if note not in notes]
    if not parts:
        raise text.error(None, "has no detours")
    if len(parts) > 1:
        notes.insert(0, f"the file has {len(parts)} runs, each with its own time; each is a part")
    header = runs[0].header
    if "Number of Cycles/Detours" in header:
        notes.append(
            "a run begins and ends with a detour, after a fixed number: its length is random"
        )
    source = {"tool": "Netgauge selfish detour" if header else "list of start, duration in ns"}
    source |= {
        name: header[key][1] for key, name in _SOURCE.items() if header.get(key, ("", ""))[1]
    }
    machines = {run.header["Nodename"][1] for run in runs if "Nodename" in run.header}
    if len(machines) > 1:
        rest = " and others" if len(machines) > 8 else ""
        notes.append(f"runs of different machines: {', '.join(sorted(machines)[:8])}{rest}")
    return Measured(tuple(parts), "netgauge", source, tuple(notes))


def _split(text: TextFile) -> list[_Run]:
    """Split a file into runs: a header and the lines below it, up to the next header."""
    runs = [_Run()]
    begin = counted = 0
    line = 1
    for match in _COMMENT.finditer(text.data):
        if text.data[begin : match.start()].strip():
            runs[-1].rows.append((begin, match.start()))
        begin = min(match.end() + 1, len(text.data))
        found = _KEY.match(match[0].decode("utf-8", "replace"))
        if found is None:
            continue
        if runs[-1].rows and found[1] not in _TRAILERS:
            runs.append(_Run())
        line += text.data.count(b"\n", counted, match.start())
        counted = match.start()
        runs[-1].header[found[1]] = (line, found[2].strip()[:_LONGEST])
    if text.data[begin:].strip():
        runs[-1].rows.append((begin, len(text.data)))
    return [run for run in runs if run.rows]


def _detours(text: TextFile, run: _Run) -> list[tuple[Detours, list[str]]]:
    """Return the detours of a run with notes: several where the time goes back in between."""
    starts, durations = integer_columns(text, run.rows, [_NS, _NS], _ROW)
    back = np.flatnonzero(starts[1:] < starts[:-1]) + 1
    if len(back) > _MAX_RUNS:
        raise text.error(
            line_of_row(text, run.rows, int(back[0])),
            f"time goes back, here and {len(back) - 1} times more: the lines must be in the order "
            "of time",
        )
    threshold = _threshold(text, run)
    found = []
    for begin, end in zip([0, *back], [*back, len(starts)], strict=True):
        try:
            detours, notes = detours_of_steps(
                starts[begin:end], durations[begin:end], threshold=threshold
            )
        except ValueError as error:
            raise text.error(line_of_row(text, run.rows, int(begin)), str(error)) from None
        if threshold:
            shown = show_seconds(threshold / TICKS_PER_SECOND, 3)
            notes.append(f"detours shorter than {shown} were not recorded (the tool's threshold)")
        found.append((detours, notes))
    if len(found) == 1:
        found[0][1].extend(_note_on_period(text, run, found[0][0]))
    return found


def _threshold(text: TextFile, run: _Run) -> int | None:
    """Return the threshold in ticks: as from durations, the shortest iteration is subtracted."""
    shortest = _number_in_header(text, run, "Minimal cycle length [ns]")
    percent = _number_in_header(text, run, "Threshold: [% minimal cycle length]")
    limit = _number_in_header(text, run, "Threshold [ns]")
    if shortest is None:
        return None
    if limit is None and percent is not None:
        limit = shortest * percent / 100
    return None if limit is None else max(0, round((limit - shortest) * _NS))


def _note_on_period(text: TextFile, run: _Run, detours: Detours) -> list[str]:
    """Return a note where the detours span another time than the file says was measured."""
    seconds = _number_in_header(text, run, "Measurement period")
    length = detours.length / TICKS_PER_SECOND
    if seconds is None or abs(seconds - length) <= 0.01 + 0.01 * seconds:
        return []
    return [
        f"the file says that it measured for {seconds:g} s, but its detours span {length:.4g} s: "
        "part of it is missing"
    ]


def _number_in_header(text: TextFile, run: _Run, key: str) -> float | None:
    """Return the number of a key in a run's header; None where it is not there."""
    if key not in run.header:
        return None
    line, words = run.header[key]
    value = text.number(line, (words.split() or [""])[0], key)
    if not 0 <= value < 1e12:
        raise text.error(line, f"{key} must be from 0 to 1e12, got {words}")
    return value


def _rows_below_comments(text: TextFile) -> Iterator[tuple[Row, int]]:
    """The rows of numbers, each with the message size that it begins with."""
    sizes: dict[str, int] = {}
    for line, content in enumerate(text.lines, 1):
        words = content.split()
        if not words or words[0].startswith("#"):
            continue
        if words[0] not in sizes:
            sizes[words[0]] = text.integer(line, words[0], "size", high=MAX_COUNT)
        yield (line, words), sizes[words[0]]
    if not sizes:
        raise text.error(len(text.lines), "has no row")


def _read_latency(text: TextFile, options: Options) -> Measured:
    """Samples, one part for each message size."""
    rows: dict[int, list[Row]] = {}
    for row, size in _rows_below_comments(text):
        rows.setdefault(size, []).append(row)
    parts = tuple(
        Latencies(number_rows(text, rows[size], ["size", "rtt"])[:, 1] / 1e6, size)
        for size in sorted(rows)
    )
    notes = [
        "a sample is half of a round trip: the mean of two messages, with the work of both CPUs"
    ]
    notes += clock_notes(np.concatenate([part.samples for part in parts]), "round trips", 2)
    return Measured(parts, "netgauge_latency", {"tool": "Netgauge one-one"}, tuple(notes))


_LOGGP_COLUMNS = ["size", "n", "PRTT(1,0,s)", "PRTT(n,0,s)", "PRTT(n,PRTT(1,0,s),s)", "L", "o_s",
                  "o_r"]  # fmt: skip
_FITS = ["g", "G", "lsqu(g,G)"]
_MAX_FIT = 1e15  # microseconds


def _read_loggp(text: TextFile, options: Options) -> Measured:
    """Return the one table of LogGP parameters."""
    rows: list[Row] = []
    sizes: list[int] = []
    fits: list[list[float]] = []
    for (line, words), size in _rows_below_comments(text):
        if len(words) != 11:
            raise text.error(line, f"must have 11 columns, got {len(words)}")
        if sizes and size <= sizes[-1]:
            raise text.error(line, f"sizes must rise, got {size} after {sizes[-1]}")
        sizes.append(size)
        rows.append((line, words[:8]))
        fits.append([_fit(text, line, *pair) for pair in zip(_FITS, words[8:], strict=True)])
    values = number_rows(text, rows, _LOGGP_COLUMNS) / 1e6
    gap, gap_per_byte, _ = np.array(fits).T / 1e6
    latency, send_overhead, receive_overhead = values[:, 5:].T
    part = LogGPTable(np.array(sizes), latency, send_overhead, receive_overhead, gap, gap_per_byte)
    notes = (
        "L is half the round trip of the smallest message, overheads of the CPU included",
        "g and G are least-squares fits over all sizes up to that of the row",
    )
    return Measured((part,), "netgauge_loggp", {"tool": "Netgauge loggp"}, notes)


def _fit(text: TextFile, line: int, name: str, word: str) -> float:
    """A number, or NaN where there were too few sizes for a fit."""
    if word.lstrip("+-").startswith("nan"):
        return math.nan
    value = text.number(line, word, name)
    if abs(value) > _MAX_FIT:
        raise text.error(line, f"{name} must be below 1e15, got {word[:40]}")
    return value


FORMATS = (
    Format(
        "netgauge_latency",
        "Netgauge one-one latencies",
        sign=re.compile(r"\s*#size[ \t]+rtt[ \t]*$", re.MULTILINE).match,
        read=_read_latency,
    ),
    Format(
        "netgauge_loggp",
        "Netgauge LogGP parameters",
        sign=lambda head: head.lstrip().startswith("# size n PRTT(1,0,s) PRTT(n,0,s)"),
        read=_read_loggp,
    ),
    Format(
        "netgauge",
        "Netgauge selfish-detour trace (start, duration)",
        sign=_is_selfish,
        read=_read_selfish,
    ),
)
