"""Parser of traces of the Linux kernel's timerlat tracer: timer interrupt and thread latency.

Two lines an activation, one in the timer's interrupt, one in the thread that it woke (three where
the thread returns to user space).
"""

from __future__ import annotations

import re
from collections import Counter

from ..measurements import MOST_TICKS, Histogram, Measured
from .rows import LATENCY_NOTE, events
from .text import Options, TextFile

NAME = "timerlat_trace"
TITLE = "trace of the kernel's timerlat tracer"
OPTIONS = ()

_TICKS = 1000  # in a nanosecond
_LATENCY = re.compile(r"#[0-9]+ +context +(irq|thread|user-ret) +timer_latency +([0-9]{1,19}) ns")
_HEAD = re.compile(
    r"^# tracer: timerlat[ \t]{0,40}$|context {1,20}(?:irq|thread|user-ret) {1,20}timer_latency ",
    re.M,
)
_ORDER = ("irq", "thread", "user-ret")


def recognise(head: str) -> bool:
    """Recognise the format by the tracer's header or one of its lines."""
    return _HEAD.search(head) is not None


def read(text: TextFile, options: Options) -> Measured:
    """Latencies of each CPU and context, such as "3 thread"; one bin a nanosecond."""
    notes = [f"{LATENCY_NOTE}; latencies of threads include those of the interrupts that woke them"]
    counts: dict[tuple[int, int], Counter[int]] = {}
    noise = 0
    for event in events(text, notes):
        match = _LATENCY.fullmatch(event.what)
        if match is None and "timer_latency" in event.what:
            raise text.error(event.line, f"is no line of timerlat: {event.what[:60]!r}")
        if match is None:
            noise += "_noise: " in event.what or event.what.startswith("sample_threshold: ")
            continue
        latency = text.integer(event.line, match[2], "timer_latency", high=MOST_TICKS // 2000)
        key = event.cpu, _ORDER.index(match[1])
        counts.setdefault(key, Counter())[latency] += 1
    if not counts:
        raise text.error(len(text.lines), "has no latency of a timer")
    if noise:
        notes.append(f"osnoise events were left out ({noise}); `format` osnoise_trace reads them")
    parts = []
    for key in sorted(counts):
        found = sorted(counts[key].items())
        low = [latency * _TICKS for latency, _ in found]
        high = [edge + _TICKS for edge in low]
        cpu = f"{key[0]} {_ORDER[key[1]]}"
        parts.append(Histogram(low, high, [count for _, count in found], "latency", cpu=cpu))
    return Measured(tuple(parts), NAME, {"tool": "timerlat tracer"}, tuple(notes))
