"""Rows that several parsers share: histogram bins, tables of collectives, trace events."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...fields import counted, shorten
from ...units import TICKS_PER_SECOND, show_seconds
from ..measurements import MOST_TICKS, CollectiveTable, CpuNoise, Detours, Floats, Histogram, Ticks
from .text import TextFile

MOST_COUNT = 2**48
MOST_COLUMNS = 2**15


LATENCY_NOTE = (
    "wake-up latencies (how late a timer was), not noise: they have no rate and take no CPU time"
)


class Bins:
    """A collector of the rows of a histogram with `columns` counts each.

    Parameters
    ----------
    text : TextFile
        For errors.
    columns : int
        Counts in a row.
    unit : int
        Ticks of 1 in the edges.
    """

    def __init__(self, text: TextFile, columns: int, unit: int) -> None:
        self.text = text
        self.columns = columns
        self.unit = unit
        self.edges: list[int] = []
        self.lines: list[int] = []
        self.rows: list[list[int]] = []

    def add(self, line: int, words: list[str]) -> None:
        """A row. Edges must rise."""
        high = MOST_TICKS // self.unit // 2
        edge = self.text.integer(line, words[0], "the lower edge of a bin", high=high)
        if self.edges and edge <= self.edges[-1]:
            raise self.text.error(line, f"bins must rise, got {edge} after {self.edges[-1]}")
        self.rows.append(self.counts(line, words[1:]))
        self.edges.append(edge)
        self.lines.append(line)

    def counts(self, line: int, words: list[str]) -> list[int]:
        """One count for each column."""
        if len(words) != self.columns:
            raise self.text.error(line, f"must have {self.columns} counts, got {len(words)}")
        return [self.text.integer(line, word, "a count", high=MOST_COUNT) for word in words]

    def width(self, given: int | None) -> int:
        """Width of a bin in ticks: as given, else the greatest that all edges are multiples of."""
        if given is None:
            return (math.gcd(*self.edges) or 1) * self.unit
        for line, edge in zip(self.lines, self.edges, strict=True):
            if edge * self.unit % given:
                raise self.text.error(line, f"bin {edge} is not a multiple of the width given")
        return given

    def histogram(
        self,
        column: int,
        width: int,
        *,
        overflow: int = 0,
        what: str,
        cpu: str,
        observed: int | None = None,
        lowest: int = 0,
    ) -> Histogram:
        """The histogram of a column: its filled bins, and the last row, which ends the range.

        `lowest` ticks is where the first filled bin begins, if inside it.
        """
        last = len(self.rows) - 1
        kept = [at for at, row in enumerate(self.rows) if row[column] > 0 or at == last]
        counts = [self.rows[at][column] for at in kept]
        if sum(counts) + overflow >= MOST_TICKS:
            raise self.text.error(None, f"the counts of CPU {cpu} add up to 2^62 or more")
        low = [self.edges[at] * self.unit for at in kept]
        high = [edge + width for edge in low]
        if low and low[0] < lowest < high[0]:
            low[0] = lowest
        return Histogram(low, high, counts, what, observed, cpu, overflow)


MOST_TIME = 1e9
"""Seconds: longer times are no measurements."""
_INTEGERS = ("ranks", "bytes", "iterations")


class Collectives:
    """A collector of rows. A column that any row of an operation lacks is left out."""

    def __init__(self, text: TextFile) -> None:
        self.text = text
        self.rows: dict[str, list[dict[str, float | int]]] = {}

    def add(
        self, line: int, operation: str, names: list[str], words: list[str], **known: int
    ) -> None:
        """A row: words by the names of their columns, times in microseconds."""
        if len(words) != len(names):
            raise self.text.error(line, f"must have {len(names)} columns, got {len(words)}")
        row: dict[str, float | int] = dict(known)
        for name, word in zip(names, words, strict=True):
            if name in _INTEGERS:
                row[name] = self.text.integer(line, word, name, high=MOST_COUNT)
            elif name:
                seconds = self.text.number(line, word, f"{name} (us)") / 1e6
                if not 0 <= seconds <= MOST_TIME:
                    raise self.text.error(line, f"{name} must be a time from 0, got {word[:40]}")
                row[name] = seconds
        self.rows.setdefault(operation, []).append(row)

    def tables(self) -> tuple[CollectiveTable, ...]:
        """One table for each operation."""
        if not self.rows:
            raise self.text.error(len(self.text.lines), "has no row of a collective; it is cut off")
        return tuple(
            CollectiveTable(operation, **_columns(rows)) for operation, rows in self.rows.items()
        )


def _columns(rows: list[dict[str, float | int]]) -> dict[str, Any]:
    shared = set.intersection(*(set(row) for row in rows))
    return {
        name: np.array(
            [row[name] for row in rows], dtype=np.int64 if name in _INTEGERS else np.float64
        )
        for name in sorted(shared)
    }


class LeftOut:
    """Lines of a job's log that look like rows of a table, or stand between them, and are none."""

    def __init__(self, text: TextFile) -> None:
        self.text = text
        self._reasons: list[str] = []
        self._lines: list[tuple[int, str]] = []
        self._below: list[tuple[int, str]] = []  # the last row, which may be the last of all

    def add(self, line: int, content: str, why: str) -> None:
        """A row that is not taken."""
        self._reasons.append(f"left out, as {why}: line {line}, {shorten(content.strip())}")

    def inside(self, line: int, content: str) -> None:
        """A line below the head of a table."""
        self._below.append((line, content))

    def go_on(self) -> None:
        """A row follows: the lines above it stood between rows."""
        self._lines += self._below
        self._below = []

    def end(self) -> None:
        """The table ended before these lines; those of numbers may have been meant for it."""
        self._lines += [line for line in self._below if line[1].lstrip()[:1].isdecimal()]
        self._below = []

    def outside(self, line: int, content: str) -> None:
        """A line that belongs to no table."""
        if all(map(_is_number, content.split()[:8])):
            self._lines.append((line, content))

    def check_nothing(self) -> None:
        """Raise FormatError where all rows there are were left out."""
        if notes := self.notes():
            raise self.text.error(None, f"has no row of a collective: {notes[0]}")

    def notes(self) -> list[str]:
        """Say what was left out."""
        notes = self._reasons[:_MOST_NOTES]
        if more := len(self._reasons) - len(notes):
            notes.append(f"left out for such reasons: {counted(more, 'more line')}")
        if self._lines:
            shown = [f"line {line}, {shorten(one.strip())}" for line, one in sorted(self._lines)]
            more = len(shown) - _MOST_NOTES
            rest = f"; and {counted(more, 'more line')}" if more > 0 else ""
            notes.append(
                f"left out, as no rows of the tables: {'; '.join(shown[:_MOST_NOTES])}{rest}"
            )
        return notes


def is_row(words: list[str], names: list[str] | None, directly: bool) -> bool:
    """Return whether a line is a row of a table with these columns (None: any).

    It begins with a number. `directly` below another it may be a wrong one, which is an error then.
    """
    numbers = [_is_number(word) for word in words]
    if names is None or not numbers[0] or (directly and len(words) == len(names)):
        return numbers[0]
    if len(words) == len(names):
        return all(one or name == "validation" for one, name in zip(numbers, names, strict=True))
    return directly and all(numbers)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


_MOST_NOTES = 3
_KINDS = ("hardware", "nmi", "irq", "softirq", "thread")
"""Interferences, in the order of the tracer's columns."""

_MICROSECOND = 10**6  # ticks

# TASK-PID, [CPU], flags (not in every report), seconds since boot, what happened.
_LINE = re.compile(
    r"-[0-9]{1,9} .{0,24}?\[([0-9]{1,6})\] +(?:([^ ]{1,16}) +)?([0-9]{1,12})\.([0-9]{6}|[0-9]{9}): "
)
_LOST = re.compile(r"CPU:[0-9]+ \[LOST ([0-9]+) EVENTS\]")
_BUFFER = re.compile(r"# entries-in-buffer/entries-written: ([0-9]{1,18})/([0-9]{1,18})\b")


@dataclass(frozen=True)
class Event:
    """A line: its number, the CPU, ticks since boot, and what follows the time stamp."""

    line: int
    cpu: int
    time: int
    what: str


def is_trace(head: str) -> bool:
    """Return whether a file that begins so is a trace of ftrace, of whatever events."""
    return _LINE.search(head) is not None


def events(text: TextFile, notes: list[str]) -> Iterator[Event]:
    """All lines that are events. Appends a note where the kernel lost some."""
    lost, kept = 0, None
    for line, content in enumerate(text.lines, 1):
        if match := _LINE.search(content):
            time = ticks(match[3], match[4])
            yield Event(line, int(match[1]), time, content[match.end() :].strip())
        elif content.startswith("# entries-in-buffer") and (match := _BUFFER.match(content)):
            kept = match
        elif match := _LOST.match(content):
            lost += int(match[1][:18])
    if kept and int(kept[1]) < int(kept[2]):
        notes.append(f"the buffer kept the last {kept[1]} of {kept[2]} events")
    if lost:
        notes.append(f"the kernel lost {lost} events, and so does this trace")


def ticks(seconds: str, fraction: str) -> int:
    """Make ticks of the digits before and after the point."""
    return int(seconds) * TICKS_PER_SECOND + int(fraction) * 10 ** (12 - len(fraction))


def cpu_noise(
    text: TextFile, line: int, cpu: str, periods: int, times: list[str], counts: list[str]
) -> CpuNoise:
    """The columns of a row: `times` in microseconds are runtime, noise, longest, worst."""
    names = ("runtime", "noise", "the longest noise", "the worst noise")
    runtime, noise, longest, worst = (
        text.integer(line, word, name, high=MOST_TICKS // _MICROSECOND) * _MICROSECOND
        for name, word in zip(names, times, strict=True)
    )
    interferences = {
        kind: text.integer(line, word, kind, high=MOST_COUNT)
        for kind, word in zip(_KINDS, counts, strict=False)
    }
    with text.errors_at(line):
        return CpuNoise(runtime, noise, longest, periods, worst, interferences, cpu)


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
        notes.append(began_late(int(starts[0])))
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


def began_late(start: int) -> str:
    """The note on times that do not begin at 0."""
    shown = show_seconds(start / TICKS_PER_SECOND, 9)
    return f"times began at {shown}; they count from the first detour now"


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


def in_steps(starts: Ticks, durations: Ticks, **known: Any) -> tuple[Detours, list[str]]:
    """Do as `in_order`; where the clock is coarse, with its resolution and a note on it."""
    quantum = clock_quantum(durations / TICKS_PER_SECOND)
    if quantum is None:
        return in_order(starts, durations, **known)
    resolution = round(quantum * TICKS_PER_SECOND)
    detours, notes = in_order(starts, durations, resolution=resolution, **known)
    clock = ""
    if abs(quantum / WTIME_QUANTUM - 1) < 0.01:
        clock = ", as MPI_Wtime does with seconds since 1970 in a double (2^-22 s)"
    return detours, [
        *notes,
        f"the clock counts in steps of {show_seconds(quantum)}{clock}: all times are multiples "
        "of it, and detours of less than a few steps are missing",
    ]
