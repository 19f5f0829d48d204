"""Parsers of the fixed-quantum benchmarks: fixed work (FWQ) and fixed time (FTQ).

**FWQ** prints the time of the same work, again and again. ASC/LLNL's fwq prints cycles of the
time-stamp counter, a line for each quantum; Netgauge's prints its number and whole microseconds.
LLNL's fwq-th and fwq-mpi print the clock rates of all threads (or processes), and a line "Thread N
running on CPUs C" above the cycles of each; on a terminal, fwq-th says before where threads run.
The shortest is what the work takes; the rest of each is noise. Sample 0 is dropped, as LLNL's own
script does.

**FTQ** prints the iterations of work in each quantum of time. Sottile & Minnich's ftq prints a time
(where the quantum began, in ns) and a count; Netgauge's prints the number of the quantum and the
count, older ones the counts alone. The full quantum that did the most, for its length, tells how
long an iteration takes; what the others lack is time that was lost. Where the loop catches up after
a long detour, quanta are empty: one iteration and its clock reading fill them, whose length says
nothing about an iteration.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import PurePath

import numpy as np

from ...fields import first_few, parameter
from ...units import TICKS_PER_SECOND, exact, show_seconds
from ..measurements import QUANTUM_NOTE, Detours, Measured, Ticks
from .columns import (
    check_not_times,
    clock_of,
    comments,
    data_ranges,
    integer_columns,
    line_at,
    line_of_row,
    single_column,
)
from .text import Format, Options, TextFile

_MIN_SAMPLES = 3

_NETGAUGE_FWQ = "Fixed Work Quantum Benchmark"
_FWQ_FILE = re.compile(r"_(\d{1,6})_times\.dat$")
_RUNNING = re.compile(  # fwq-mpi -s prints "Process N" above it, too
    rb"^(?:Process \d{1,7}[ \t]{0,9}\n)?(?:Thread|Process) (\d{1,7}) running on CPUs? "
    rb"(\S{1,255})[ \t]{0,9}(?:\n|\Z)",
    re.M,
)
_SPEEDS = re.compile(rb"^(?:Speed: (?:thread|process) \d.{0,120}(?:\n|\Z))+", re.M)
_MAX_HEAD = 2**22  # bytes, in which all clock rates stand
_SPEED = re.compile(
    rb"^Speed: [a-z]{6,7} (\d{1,7}), .{0,100}\bGHz (\d{1,4}\.\d{1,9})\s{0,9}$", re.M
)


def is_of_threads(head: str) -> bool:
    """Return whether a file's beginning is of LLNL's fwq with threads or processes."""
    return any(sign.search(head.encode()) for sign in (_SPEEDS, _RUNNING))


def _is_fwq(head: str) -> bool:
    """Return whether a text begins like FWQ's: by its title, or by a column of durations."""
    if _NETGAUGE_FWQ in head or re.search(r"^#.{0,80}\bfwq\b", head[:4096], re.I | re.M):
        return True
    if is_of_threads(head):
        return True
    values = single_column(head)
    # Most of them close to the smallest, and a tail above: durations. Counts have it below.
    return len(values) >= 100 and bool(2 * np.median(values) < values.min() + values.max())


def _read_fwq(text: TextFile, options: Options) -> Measured:
    netgauge = _NETGAUGE_FWQ in text.head
    width = 2 if netgauge else 1
    what = "a number and a duration in us" if netgauge else "a duration"
    parts: list[Detours] = []
    work: list[str] = []
    sizes: dict[str, int] = {}
    check_not_times(text, single_column(text.head))
    speeds, threads = _fwq_threads(text)
    extra: list[str] = []
    for thread, cpu, ranges in threads:
        scale, resolution = _fwq_scale(text, options, netgauge, speeds.get(thread))
        # Of numbers with a point the digits behind it count: IBM's osnoise has milliseconds.
        finer = _FINER if any(text.data.find(b".", *ends) >= 0 for ends in ranges) else 1
        scale /= finer
        values = integer_columns(text, ranges, [*[1] * (width - 1), finer], what)[-1]
        if _is_cut_off(text, ranges, values):
            last = text.data.split()[-1][:40].decode("utf-8", "replace")
            extra.append(f"left out, as it is cut off: the last number of the file, {last}")
            values = values[:-1]
        sizes[f"{thread} on CPU {cpu}"] = len(values)
        with text.errors_at(None, f"thread {thread}: " if thread else ""):
            detours, shortest = _beyond_shortest(values, scale, resolution, cpu)
        parts.append(detours)
        work.append(shortest)
    works = first_few(list(dict.fromkeys(work)), 4)
    notes = [
        f"the shortest quantum, {works}, was subtracted from all, as the work itself",
        "sample 0 was dropped",
        f"{QUANTUM_NOTE}; a detour is put at the beginning of its quantum",
        "differences of a few cycles count, too: most short detours do not come from the system, "
        "and can be left out by their duration",
        *extra,
    ]
    if short := [name for name, size in sizes.items() if size < max(sizes.values())]:
        notes.append(
            f"part of the file is missing: thread {first_few(short, 4)} has fewer samples than "
            f"the others, {max(sizes.values()):,}"
        )
    source = {"tool": "Netgauge FWQ" if netgauge else "FWQ", "quantum": work[0]}
    if speeds and not options.given():
        rates = sorted(set(speeds.values()), key=float)
        source["clock"] = f"{first_few([f'{float(rate):g}' for rate in rates], 4)} GHz"
    return Measured(tuple(parts), "fwq", source, tuple(notes))


_FINER = 10**9  # parts of the unit of numbers with a point
_Ranges = list[tuple[int, int]]


def _fwq_threads(text: TextFile) -> tuple[dict[str, str], list[tuple[str, str, _Ranges]]]:
    """Return the clock rates (GHz) of threads, and each one's number, CPU and place of its samples.

    A CPU of "" is not known. Threads may be processes on several nodes: where they name a CPU
    twice, their numbers tell them apart.
    """
    said = _SPEEDS.search(text.data, 0, _MAX_HEAD)
    begin = said.end() if said else 0
    speeds = {
        found[1].decode(): found[2].decode() for found in _SPEED.finditer(said[0] if said else b"")
    }
    heads = list(_RUNNING.finditer(text.data, begin))
    if not heads:
        if said:
            raise text.error(None, "has clock rates of threads, but no samples; it is cut off")
        named = _FWQ_FILE.search(PurePath(text.name).name)
        return speeds, [("", named[1] if named else "", data_ranges(text))]
    numbers = [head[1].decode() for head in heads]
    if len(set(numbers)) < len(numbers):
        again = next(at for at, number in enumerate(numbers) if number in numbers[:at])
        where = line_at(text, heads[again].start())
        raise text.error(where, f"thread {numbers[again]} begins twice; import one run at a time")
    cpus = [head[2].decode("utf-8", "replace") for head in heads]
    if len(set(cpus)) < len(cpus):
        cpus = [f"{cpu} of process {number}" for cpu, number in zip(cpus, numbers, strict=True)]
    ends = [head.start() for head in heads[1:]] + [len(text.data)]
    places: list[_Ranges] = [[(head.end(), end)] for head, end in zip(heads, ends, strict=True)]
    return speeds, list(zip(numbers, cpus, places, strict=True))


def _is_cut_off(text: TextFile, ranges: _Ranges, values: Ticks) -> bool:
    """Return whether the last number of the file lacks its end, and would be the shortest."""
    last = ranges and ranges[-1][1] == len(text.data) and not text.data.endswith(b"\n")
    return bool(last) and len(values) > _MIN_SAMPLES and bool(values[-1] < values[1:-1].min())


def _beyond_shortest(
    values: Ticks, scale: Fraction, resolution: int | None, cpu: str
) -> tuple[Detours, str]:
    """Return what samples take beyond the shortest; and that one, in words."""
    if len(values) <= _MIN_SAMPLES:
        raise ValueError(f"must have more than {_MIN_SAMPLES} samples, got {len(values)}")
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


def _fwq_scale(
    text: TextFile, options: Options, netgauge: bool, speed: str | None
) -> tuple[Fraction, int | None]:
    """Ticks in a number of the file; and the quantum of the clock where that is coarse.

    `speed` is the clock rate in GHz that the file states of the thread.
    """
    if netgauge:
        if options.given():
            raise text.error(None, f"states its unit; leave out {options.given()[0]}")
        return Fraction(TICKS_PER_SECOND, 10**6), TICKS_PER_SECOND // 10**6
    said = comments(text) if speed is None else [(1, f"clock {speed} GHz")]
    scale = clock_of(text, options, said)
    if scale is None:
        raise text.error(
            None,
            "its numbers are cycles (FWQ), and the file does not state the rate of their clock: "
            f"give {parameter('clock_hz')} such as 2.1e9, the rate of the time-stamp counter, or "
            f"{parameter('unit')} ns",
        )
    return scale, None


_NETGAUGE_FTQ = "Fixed Time Quantum Benchmark"
_OCTAVE = re.compile(r"^#.{0,40}(pwelch|octave)", re.M)
_CYCLE = re.compile(r"Compute-Cycle Duration: (\d{1,12}) usec")
_FTQ_FILE = re.compile(r"_(\d{1,6})(_counts)?\.dat$")
_CORE = re.compile(rb"^#\s?(?:thread \d{1,6}, )?core (\d{1,6})\s{0,9}$", re.M)
_GRAIN = 2  # iterations: what is lost less than these may be rounding
_FULL = 0.5  # of the most iterations in a quantum; one with fewer does not tell how long they take


def _is_ftq(head: str) -> bool:
    named = re.search(r"^#.{0,80}\bftq\b", head[:4096], re.IGNORECASE | re.MULTILINE)
    if named or _NETGAUGE_FTQ in head or _OCTAVE.search(head[:8192]):
        return True
    values = single_column(head)
    return len(values) >= 100 and bool(2 * np.median(values) > values.min() + values.max())


def _read_ftq(text: TextFile, options: Options) -> Measured:
    ranges = data_ranges(text)
    if not ranges:
        raise text.error(None, "has no samples")
    first = re.compile(rb"\S").search(text.data, ranges[0][0])
    begin = first.start() if first else ranges[0][0]
    width = len(text.data[begin : begin + 4096].split(b"\n", 1)[0].split())
    if width not in (1, 2):
        raise text.error(line_at(text, ranges[0][0]), f"must have 1 or 2 columns, got {width}")
    netgauge = _NETGAUGE_FTQ in text.head
    scales: list[Fraction | int] = [1] * width
    timed = width == 2 and not netgauge
    if timed:
        if options.quantum is not None:
            raise text.error(
                None,
                f"is FTQ with the time of each quantum: give {parameter('format')} ftq in place "
                f"of {parameter('quantum')}",
            )
        scales[0] = _time_scale(text, options)
    what = "a time and a count" if timed else "a number and a count" if netgauge else "a count"
    parts: list[Detours] = []
    said: list[str] = []
    for cpu, some in _ftq_threads(text, ranges):
        columns = integer_columns(text, some, scales, what)
        counts = columns[-1]
        if len(counts) <= _MIN_SAMPLES:
            where = line_at(text, some[0][0])
            raise text.error(
                where, f"must have more than {_MIN_SAMPLES} samples, got {len(counts)}"
            )
        if timed:
            begins = columns[0] - columns[0][0]
            # Those of empty quanta may be equal, where the clock is coarse.
            risen = np.diff(begins) >= 0
            if not risen.all() or begins[-1] == 0:
                at = int(np.argmin(risen)) + 1
                where = line_of_row(text, some, at)
                raise text.error(where, f"the times must rise; sample {at} (from 0) does not")
            counts = counts[:-1]  # it is not known how long the last one was
        else:
            if not netgauge:
                check_not_times(text, counts)
            ticks = round(_quantum(text, options) * TICKS_PER_SECOND)
            if not 1 <= ticks * len(counts) < 2**61:
                raise text.error(None, "lasts longer than 26 days; is the quantum right?")
            begins = np.arange(len(counts) + 1, dtype=np.int64) * ticks
        if counts.max() == 0:
            raise text.error(None, "has no quantum with a count above 0")
        detours, one = _below_fullest(begins, counts, cpu)
        parts.append(detours)
        said.append(one)
        quantum = show_seconds(float(np.median(np.diff(begins))) / TICKS_PER_SECOND)
    notes = (
        f"the best quantum did an iteration in {first_few(list(dict.fromkeys(said)), 4)}; the "
        "time that others lack counts as lost: a slower clock is noise, and what is in every "
        "quantum is not",
        f"differences below {_GRAIN} iterations are rounding and left out",
        f"{QUANTUM_NOTE}; a detour is put at the beginning of its quantum; whole quanta that were "
        "lost join their neighbours",
    )
    source = {"tool": "Netgauge FTQ" if netgauge else "FTQ", "quantum": quantum}
    return Measured(tuple(parts), "ftq", source, notes)


def _ftq_threads(
    text: TextFile, ranges: list[tuple[int, int]]
) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """The CPU and the rows of each thread; a comment on its core begins another."""
    named = _FTQ_FILE.search(PurePath(text.name).name)
    cpu, end = named[1] if named else "", 0
    rows: list[tuple[int, int]] = []
    for begin, stop in ranges:
        if core := _CORE.search(text.data[end:begin]):
            if rows:
                yield cpu, rows
            cpu, rows = core[1].decode(), []
        rows.append((begin, stop))
        end = stop
    yield cpu, rows


def _below_fullest(begins: Ticks, counts: Ticks, cpu: str) -> tuple[Detours, str]:
    """Time that quanta lack; and how long an iteration takes, in words."""
    lengths = np.diff(begins)
    full = counts >= max(_FULL * counts.max(), 1)
    iteration = float((lengths[full] / counts[full]).min())
    lost = np.clip(np.rint(lengths - counts * iteration), 0, lengths).astype(np.int64)
    kept = lost >= max(1.0, _GRAIN * iteration)
    # What fills a quantum began at the end of the one before, and ends at the start of the next.
    before_full = np.append(kept[1:] & (lost[1:] == lengths[1:]), [False])
    starts = begins[:-1] + np.where(before_full, lengths - lost, 0)
    starts, ends = starts[kept], (starts + lost)[kept]
    first = starts != np.append(-1, ends)[:-1]
    last = np.append(first[1:], [True])[: len(first)]
    detours = Detours(
        starts[first],
        ends[last] - starts[first],
        int(begins[-1]),
        threshold=int(_GRAIN * iteration),
        cpu=cpu,
    )
    return detours, show_seconds(iteration / TICKS_PER_SECOND, 3)


def _time_scale(text: TextFile, options: Options) -> Fraction:
    """Return the ticks in a unit of the times of FTQ."""
    nanoseconds = _OCTAVE.search(text.head[:8192]) is not None
    if nanoseconds and not options.given():
        return Fraction(TICKS_PER_SECOND, 10**9)
    scale = clock_of(text, options, [] if nanoseconds else comments(text))
    if scale is None:
        raise text.error(
            None,
            f"does not state the unit of its times: give {parameter('clock_hz')}, the rate of the "
            f"time-stamp counter, or {parameter('unit')} ns",
        )
    return scale


def _quantum(text: TextFile, options: Options) -> Fraction:
    """Return the length of a quantum in seconds, which the file or an option must give."""
    for name in ("clock_hz", "unit"):
        if getattr(options, name) is not None:
            raise text.error(
                None, f"has no times; leave out {name} and give {parameter('quantum')}"
            )
    said = _CYCLE.search(text.head)
    if options.quantum is not None:
        return exact(options.quantum)
    if said is None:
        raise text.error(
            None,
            f"has counts only: give {parameter('quantum')}, the time in which each was made, such "
            "as 1ms",
        )
    return Fraction(int(said[1]), 10**6)


FORMATS = (
    Format(
        "fwq",
        "fixed work quantum (FWQ): a duration for each quantum",
        ("clock_hz", "unit"),
        sign=_is_fwq,
        read=_read_fwq,
    ),
    Format(
        "ftq",
        "fixed time quantum (FTQ): iterations in each quantum",
        ("clock_hz", "unit", "quantum"),
        sign=_is_ftq,
        read=_read_ftq,
    ),
)
