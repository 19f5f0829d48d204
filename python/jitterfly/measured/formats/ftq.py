"""Parser of FTQ, fixed time quantum: iterations of work in each quantum of time.

Lines of a time (where the quantum began, in ns) and a count, as Sottile & Minnich's ftq prints
them; Netgauge's prints the number of the quantum and the count, older ones the counts alone. The
full quantum that did the most, for its length, tells how long an iteration takes; what the others
lack is time that was lost. Where the loop catches up after a long detour, quanta are empty: one
iteration and its clock reading fill them, whose length says nothing about an iteration.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import PurePath

import numpy as np

from ...fields import first_few
from ...units import TICKS_PER_SECOND, exact, show_seconds
from ..measurements import Detours, Measured, Ticks
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
from .text import Options, TextFile

NAME = "ftq"
TITLE = "fixed time quantum (FTQ): iterations in each quantum"
OPTIONS = ("clock_hz", "unit", "quantum")

_NETGAUGE = "Fixed Time Quantum Benchmark"
_OCTAVE = re.compile(r"^#.{0,40}(pwelch|octave)", re.M)
_CYCLE = re.compile(r"Compute-Cycle Duration: (\d{1,12}) usec")
_THREAD = re.compile(r"_(\d{1,6})(_counts)?\.dat$")
_CORE = re.compile(rb"^#\s?(?:thread \d{1,6}, )?core (\d{1,6})\s{0,9}$", re.M)
_LEAST = 3
_GRAIN = 2  # iterations: what is lost less than these may be rounding
_FULL = 0.5  # of the most iterations in a quantum; one with fewer does not tell how long they take


def recognise(head: str) -> bool:
    named = re.search(r"^#.{0,80}\bftq\b", head[:4096], re.IGNORECASE | re.MULTILINE)
    if named or _NETGAUGE in head or _OCTAVE.search(head[:8192]):
        return True
    values = single_column(head)
    return len(values) >= 100 and bool(2 * np.median(values) > values.min() + values.max())


def read(text: TextFile, options: Options) -> Measured:
    ranges = data_ranges(text)
    if not ranges:
        raise text.error(None, "has no samples")
    first = re.compile(rb"\S").search(text.data, ranges[0][0])
    begin = first.start() if first else ranges[0][0]
    width = len(text.data[begin : begin + 4096].split(b"\n", 1)[0].split())
    if width not in (1, 2):
        raise text.error(line_at(text, ranges[0][0]), f"must have 1 or 2 columns, got {width}")
    netgauge = _NETGAUGE in text.head
    scales: list[Fraction | int] = [1] * width
    timed = width == 2 and not netgauge
    if timed:
        if options.quantum is not None:
            raise text.error(
                None,
                "is FTQ with the time of each quantum: give `format` ftq in place of `quantum`",
            )
        scales[0] = _time_scale(text, options)
    what = "a time and a count" if timed else "a number and a count" if netgauge else "a count"
    parts: list[Detours] = []
    said: list[str] = []
    for cpu, some in _threads(text, ranges):
        columns = integer_columns(text, some, scales, what)
        counts = columns[-1]
        if len(counts) <= _LEAST:
            where = line_at(text, some[0][0])
            raise text.error(where, f"must have more than {_LEAST} samples, got {len(counts)}")
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
        detours, one = _detours(begins, counts, cpu)
        parts.append(detours)
        said.append(one)
        quantum = show_seconds(float(np.median(np.diff(begins))) / TICKS_PER_SECOND)
    notes = (
        f"the best quantum did an iteration in {first_few(list(dict.fromkeys(said)), 4)}; what "
        "others lack is taken for lost, so a "
        "clock that slows down counts as noise, and what is in every quantum does not",
        f"less than {_GRAIN} iterations is rounding, and left out",
        "where in its quantum time was lost is not known (it is put at the beginning), and several "
        "detours in one are one; whole quanta that were lost are one with their neighbours; "
        "periods below two quanta are not looked for",
    )
    source = {"tool": "Netgauge FTQ" if netgauge else "FTQ", "quantum": quantum}
    return Measured(tuple(parts), NAME, source, notes)


def _threads(
    text: TextFile, ranges: list[tuple[int, int]]
) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """The CPU and the rows of each thread; a comment on its core begins another."""
    named = _THREAD.search(PurePath(text.name).name)
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


def _detours(begins: Ticks, counts: Ticks, cpu: str) -> tuple[Detours, str]:
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
    nanoseconds = _OCTAVE.search(text.head[:8192]) is not None
    if nanoseconds and not options.given():
        return Fraction(TICKS_PER_SECOND, 10**9)
    scale = clock_of(text, options, [] if nanoseconds else comments(text))
    if scale is None:
        raise text.error(
            None,
            "does not say the unit of its times: give `clock_hz`, the rate of the time-stamp "
            "counter, or `unit` ns",
        )
    return scale


def _quantum(text: TextFile, options: Options) -> Fraction:
    for name in ("clock_hz", "unit"):
        if getattr(options, name) is not None:
            raise text.error(None, f"has no times; leave out {name} and give `quantum`")
    said = _CYCLE.search(text.head)
    if options.quantum is not None:
        return exact(options.quantum)
    if said is None:
        raise text.error(
            None, "has counts only: give `quantum`, how long each was measured, such as 1ms"
        )
    return Fraction(int(said[1]), 10**6)
