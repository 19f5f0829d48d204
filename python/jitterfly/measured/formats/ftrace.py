"""Parsers of traces (ftrace) of the Linux kernel's osnoise and timerlat tracers.

The osnoise tracer prints a line a period: sums for a CPU. Its tracepoints say when each noise began
and how long it took: ``sample_threshold`` as the busy loop saw it, the other four by their source.
Durations of sources are net: an interrupt's time is taken out of the thread it interrupted.

The timerlat tracer prints two lines an activation, one in the timer's interrupt, one in the thread
that it woke (three where the thread returns to user space).

The hwlat tracer prints a line for each of its windows in which it saw gaps that the hardware or
firmware made. `perf script` prints the tracepoints with another beginning of the line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from ...fields import StoredText, counted, parameter
from ...units import TICKS_PER_SECOND, to_ticks
from ..measurements import MAX_TICKS, CpuNoise, Detours, Histogram, Measured
from .columns import LATENCY_NOTE
from .rtla import cpu_noise
from .text import Format, Options, TextFile

# TASK-PID, [CPU], flags (not in every report), seconds since boot, what happened.
_LINE = re.compile(
    r"-[0-9]{1,9} .{0,24}?\[([0-9]{1,6})\] +(?:([^ ]{1,16}) +)?([0-9]{1,12})\.([0-9]{6}|[0-9]{9}): "
)
_PERF = re.compile(  # of perf script: the task's name, PID or PID/TID
    r"[ \t]{0,20}\S.{0,40}? [0-9]{1,9}(?:/[0-9]{1,9})? {1,9}\[([0-9]{1,6})\] {1,9}()"
    r"([0-9]{1,12})\.([0-9]{6}|[0-9]{9}): {1,40}"
)
_PERF_LINES = re.compile("^" + _PERF.pattern, re.M)
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
    """Return whether a file's beginning is that of a trace of ftrace, of any events."""
    return _LINE.search(head) is not None or _PERF_LINES.search(head) is not None


def events(text: TextFile, notes: list[str]) -> Iterator[Event]:
    """All lines that are events. Appends a note where the kernel lost some."""
    lost, kept = 0, None
    for line, content in enumerate(text.lines, 1):
        if match := _LINE.search(content) or _PERF.match(content):
            time = ticks(match[3], match[4])
            yield Event(line, int(match[1]), time, content[match.end() :].strip())
        elif content.startswith("# entries-in-buffer") and (match := _BUFFER.match(content)):
            kept = match
        elif match := _LOST.match(content):
            lost += int(match[1][:18])
    if kept and int(kept[1]) < int(kept[2]):
        notes.append(f"the buffer kept the last {kept[1]} of {kept[2]} events")
    if lost:
        notes.append(f"the kernel lost {lost} events, which this trace lacks")


def ticks(seconds: str, fraction: str) -> int:
    """Make ticks of the digits before and after the point."""
    return int(seconds) * TICKS_PER_SECOND + int(fraction) * 10 ** (12 - len(fraction))


_NOISE = re.compile(
    r"(?:osnoise:)?(irq|softirq|thread|nmi|sample)_(?:noise|threshold): "
    r"(?:.* )?start ([0-9]{1,12})\.([0-9]{9}),? duration ([0-9]{1,19}) ns\b"
)
_IS_NOISE = re.compile(r"(?:osnoise:)?(?:(?:irq|softirq|thread|nmi)_noise|sample_threshold):")
_PERIOD = re.compile(r"[0-9]+ +[0-9]+ +[0-9]{1,3}\.[0-9]{5} +[0-9]+(?: +[0-9]+){2,5}")
_OSNOISE = re.compile(
    r"^# tracer: osnoise[ \t]{0,40}$|\] .{0,40}: {1,20}(?:osnoise:)?"
    r"(?:(?:irq|softirq|thread|nmi)_noise|sample_threshold): ",
    re.MULTILINE,
)

Spans = list[list[int]]
"""Start, end and net duration of each, in ticks: since boot, since boot, in all."""


def _is_osnoise(head: str) -> bool:
    """Recognise the tracer's header or a tracepoint; a trace of timerlat may hold these, too."""
    return "timer_latency" not in head and _OSNOISE.search(head) is not None


def _read_osnoise(text: TextFile, options: Options) -> Measured:
    """Detours for each CPU; where there are no tracepoints, the sums of its periods."""
    noise = _Noise(text)
    periods: dict[int, list[CpuNoise]] = {}
    notes: list[str] = []
    others = 0
    for event in events(text, notes):
        if _IS_NOISE.match(event.what):
            noise.add(event)
        elif _PERIOD.fullmatch(event.what):
            periods.setdefault(event.cpu, []).append(_read_period(text, event))
        else:
            others += 1
    if others:
        notes.append(f"left out: {counted(others, 'event')} of other kinds")
    source = {"tool": "osnoise tracer"}
    if noise.samples or noise.sources:
        return Measured(noise.parts(options, notes), "osnoise_trace", source, tuple(notes))
    if options.given():
        raise text.error(None, f"sums of periods do not take {parameter(options.given()[0])}")
    if not periods:
        raise text.error(len(text.lines), "has no noise and no period of the osnoise tracer")
    notes.append("sums over periods have a share and a longest noise, no distribution of durations")
    parts = tuple(_sum_of_periods(text, periods[cpu]) for cpu in sorted(periods))
    return Measured(parts, "osnoise_trace", source, tuple(notes))


class _Noise:
    """Noise so far, by CPU."""

    def __init__(self, text: TextFile) -> None:
        self.text = text
        self.samples: dict[int, Spans] = {}
        self.sources: dict[int, Spans] = {}
        self.first = 0
        self.last = -1

    def add(self, event: Event) -> None:
        match = _NOISE.match(event.what)
        if match is None:
            what = "must have `start SECONDS.NANOSECONDS duration NANOSECONDS ns`"
            raise self.text.error(event.line, f"{what}, got {event.what[:60]!r}")
        start, duration = ticks(match[2], match[3]), int(match[4]) * 1000
        self.first = min(self.first, start) if self.last >= 0 else start
        self.last = max(self.last, event.time, start + duration)
        if self.last - self.first >= MAX_TICKS:
            raise self.text.error(event.line, "lies 2^62 ps (53 days) or more from other events")
        if duration == 0:
            return
        if match[1] == "sample":
            self.samples.setdefault(event.cpu, []).append([start, start + duration, duration])
        else:
            _nest(self.sources.setdefault(event.cpu, []), start, duration)

    def parts(self, options: Options, notes: list[str]) -> tuple[Detours, ...]:
        use = options.events or ("samples" if self.samples else "sources")
        found = self.samples if use == "samples" else self.sources
        if not found:
            raise self.text.error(
                None, f"has no events that last: {parameter('events')} {use} finds none"
            )
        notes += _NOTES[use]
        if use == "samples" and options.threshold is None:
            notes.append(
                "noise below the threshold is missing (5 µs by default, 1 µs in newer kernels)"
            )
        threshold = None if options.threshold is None else to_ticks(options.threshold)
        unions = {cpu: _merge_overlapping(found[cpu]) for cpu in sorted(found)}
        last = max(self.last, *(spans[-1][1] for spans in unions.values()))
        parts = []
        for cpu, spans in unions.items():
            starts = [start - self.first for start, _, _ in spans]
            durations = [end - start for start, end, _ in spans]
            length = last - self.first
            with self.text.errors_at(None, f"noise of CPU {cpu}: "):
                parts.append(Detours(starts, durations, length, threshold, cpu=str(cpu)))
        return tuple(parts)


_NOTES = {
    "samples": [
        "detours are samples above a threshold (sample_threshold), as a busy loop saw them"
    ],
    "sources": [
        "detours are the sources of noise that the kernel knows, each with those that interrupted "
        "it; they contain neither entry and exit of the kernel nor hardware noise"
    ],
}


def _nest(spans: Spans, start: int, net: int) -> None:
    """Append a source that just ended.

    Those that ended since it began had interrupted it, and the kernel has taken their time out of
    it: it ended that much later. One may have begun before it, if the clock was read in between.
    """
    first = start
    while spans and spans[-1][1] > start:
        inner = spans.pop()
        net += inner[2]
        first = min(first, inner[0])
    spans.append([first, start + net, net])


def _merge_overlapping(spans: Spans) -> Spans:
    """Return the spans in their order, those that overlap or touch made one."""
    merged: Spans = []
    for start, end, net in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end, net])
    return merged


def _read_period(text: TextFile, event: Event) -> CpuNoise:
    """Return what the tracer says of one period: run time, noise, and counts by cause."""
    words = event.what.split()
    # Runtime, noise, the longest noise, and the noise of the worst period, which is this one.
    times = [words[0], words[1], words[3], words[1]]
    return cpu_noise(text, event.line, str(event.cpu), 1, times, words[4:])


def _sum_of_periods(text: TextFile, rows: list[CpuNoise]) -> CpuNoise:
    """Return the sum of the periods of one CPU."""
    try:
        return CpuNoise(
            runtime=sum(row.runtime for row in rows),
            noise=sum(row.noise for row in rows),
            longest=max(row.longest for row in rows),
            periods=len(rows),
            worst=max(row.noise for row in rows),
            counts={kind: sum(row.counts[kind] for row in rows) for kind in rows[0].counts},
            cpu=rows[0].cpu,
        )
    except (ValueError, KeyError) as error:
        raise text.error(None, f"the periods of CPU {rows[0].cpu}: {error}") from None


_TICKS = 1000  # in a nanosecond
_LATENCY = re.compile(r"#[0-9]+ +context +(irq|thread|user-ret) +timer_latency +([0-9]{1,19}) ns")
_TIMERLAT = re.compile(
    r"^# tracer: timerlat[ \t]{0,40}$|context {1,20}(?:irq|thread|user-ret) {1,20}timer_latency ",
    re.M,
)
_ORDER = ("irq", "thread", "user-ret")


def _read_timerlat(text: TextFile, options: Options) -> Measured:
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
        latency = text.integer(event.line, match[2], "timer_latency", high=MAX_TICKS // 2000)
        key = event.cpu, _ORDER.index(match[1])
        counts.setdefault(key, Counter())[latency] += 1
    if not counts:
        raise text.error(len(text.lines), "has no latency of a timer")
    if noise:
        what = counted(noise, "osnoise event")
        notes.append(StoredText(f"left out: {what}; ", "format", " osnoise_trace reads them"))
    parts = []
    for key in sorted(counts):
        found = sorted(counts[key].items())
        low = [latency * _TICKS for latency, _ in found]
        high = [edge + _TICKS for edge in low]
        cpu = f"{key[0]} {_ORDER[key[1]]}"
        parts.append(Histogram(low, high, [count for _, count in found], "latency", cpu=cpu))
    return Measured(tuple(parts), "timerlat_trace", {"tool": "timerlat tracer"}, tuple(notes))


_GAP = re.compile(
    r"#[0-9]{1,18} +inner/outer\(us\): +([0-9]{1,9})/([0-9]{1,9}) +ts:[0-9]{1,12}\.[0-9]{9}"
    r"(?: +count:([0-9]{1,9}))?(?: +nmi-(?:total|count):[0-9]{1,12})*"
)
_HWLAT = re.compile(r"^# tracer: hwlat[ \t]{0,40}$|\binner/outer\(us\): ", re.M)
_WINDOW, _WIDTH = 1.0, 0.5  # seconds, of the tracer unless they were changed


def _read_hwlat(text: TextFile, options: Options) -> Measured:
    """The longest gap of each window, of all CPUs together: the tracer goes from one to another."""
    period = options.period or _WINDOW
    runtime = options.runtime or min(_WIDTH, period)
    if runtime > period:
        rule = f"must be at most {parameter('period')} (1 s unless given)"
        raise text.error(None, f"{parameter('runtime')} {rule}")
    notes: list[str] = []
    gaps: Counter[int] = Counter()
    exceeding = 0
    for event in events(text, notes):
        if match := _GAP.fullmatch(event.what):
            gaps[max(int(match[1]), int(match[2]))] += 1
            exceeding += int(match[3] or 1)
        elif "inner/outer" in event.what:
            raise text.error(event.line, f"is no line of hwlat: {event.what[:60]!r}")
    if not gaps:
        raise text.error(None, "has no gap of the hwlat tracer")
    observed = None
    if options.length is None:
        notes.append(StoredText(
            "a trace does not say for how long the tracer looked: with ", "length",
            ", the time traced, rates are known"
        ))  # fmt: skip
    else:
        observed = round(to_ticks(options.length) * runtime / period)
        if not 0 < observed < MAX_TICKS:
            raise text.error(None, f"{parameter('length')} is out of range")
        notes.append(
            f"the tracer is taken to have looked for {runtime / period:.3g} of the time; rates are "
            "for that time"
        )
    several = exceeding - sum(gaps.values())
    notes += [
        "it reports the longest gap of a window: others of the same window are missing"
        + (f" ({several} of {exceeding})" if several > 0 else ""),
        "gaps are whole microseconds, rounded down",
    ]
    low = [gap * 1000 * _TICKS for gap in sorted(gaps)]
    high = [edge + 1000 * _TICKS for edge in low]
    with text.errors_at(None):
        part = Histogram(low, high, [gaps[gap] for gap in sorted(gaps)], "detour", observed)
    return Measured((part,), "hwlat_trace", {"tool": "hwlat tracer"}, tuple(notes))


FORMATS = (
    Format(
        "hwlat_trace",
        "trace of the kernel's hwlat tracer",
        ("length", "runtime", "period"),
        sign=_HWLAT.search,
        read=_read_hwlat,
    ),
    Format(
        "timerlat_trace",
        "trace of the kernel's timerlat tracer",
        sign=_TIMERLAT.search,
        read=_read_timerlat,
    ),
    Format(
        "osnoise_trace",
        "trace of the kernel's osnoise tracer or tracepoints (irq_noise, thread_noise)",
        ("events", "threshold"),
        sign=_is_osnoise,
        read=_read_osnoise,
    ),
)
