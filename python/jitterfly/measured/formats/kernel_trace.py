"""Lines of the kernel's trace file (``cat trace``, ``trace-cmd report``)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..measurements import MOST_TICKS, CpuNoise
from .text import Text

KINDS = ("hardware", "nmi", "irq", "softirq", "thread")
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


def events(text: Text, notes: list[str]) -> Iterator[Event]:
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
    """Of digits before and after the point."""
    return int(seconds) * 10**12 + int(fraction) * 10 ** (12 - len(fraction))


def cpu_noise(
    text: Text,
    line: int,
    *,
    cpu: str,
    periods: int,
    runtime: str,
    noise: str,
    longest: str,
    worst: str | None,
    counts: dict[str, str],
) -> CpuNoise:
    """The columns of a row, times in microseconds."""

    def time(word: str, what: str) -> int:
        high = MOST_TICKS // _MICROSECOND
        return text.integer(line, word, what, high=high) * _MICROSECOND

    values: dict[str, Any] = {
        "runtime": time(runtime, "runtime"),
        "noise": time(noise, "noise"),
        "longest": time(longest, "the longest noise"),
        "worst": None if worst is None else time(worst, "the worst noise"),
        "counts": {
            kind: text.integer(line, word, kind, high=2**48) for kind, word in counts.items()
        },
    }
    try:
        return CpuNoise(**values, periods=periods, cpu=cpu)
    except ValueError as error:
        raise text.error(line, str(error)) from None
