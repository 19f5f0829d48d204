"""Columns of numbers: exact parsing, with units and the line of an error, and what becomes of them.

Also where the numbers of a file are, between its comments; the step of the clock that measured
them; detours in their order; bins of histograms.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from ...fields import parameter, shorten
from ...units import TICKS_PER_SECOND, show_seconds
from ..measurements import MAX_TICKS, Detours, Floats, Histogram, Ticks
from .text import Options, TextFile, whole_lines

MAX_COUNT = 2**48
MAX_COLUMNS = 2**15
LATENCY_NOTE = (
    "these are wake-up latencies (how late a timer was), not noise: they have no rate and take no "
    "CPU time"
)
_PIECE = 2**22
#: Below this a float64 product is off by less than half a tick.
_EXACT = float(2**51)
_SPACE = np.zeros(256, dtype=bool)
_SPACE[[9, 10, 11, 12, 32]] = True
_NUMERIC = np.zeros(256, dtype=bool)
_NUMERIC[list(b"0123456789+-.eE")] = True
_NO_INTEGER = np.frombuffer(b".eE+-", dtype=np.uint8)
_LONGEST_NUMBER = 40
_AT_ONCE = 1000  # lines that are looked at together for one that is wrong
UNITS = {"s": 10**12, "ms": 10**9, "us": 10**6, "µs": 10**6, "ns": 1000, "ps": 1}
"""The ticks of each."""
_COMMENT = re.compile(rb"^[ \t]*#[^\n]*(?:\n|\Z)", re.MULTILINE)
_CLOCK = re.compile(
    r"(?:clock|cpu|tsc|freq)[^0-9\n]{0,40}(\d{1,15}(?:\.\d{1,9})?(?:e\d{1,2})?)\s?([kmg]?)hz", re.I
)
_PREFIX = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_MIN_RISING = 20  # numbers in any order rise with a probability of 1 in 20!
_INTEGER = re.compile(r"[ \t]{0,20}[0-9]{1,18}[ \t]{0,20}")
Row = tuple[int, list[str]]
"""Line number, words."""


def integer_columns(
    text: TextFile,
    ranges: Sequence[tuple[int, int]],
    scales: Sequence[Fraction | int],
    what: str,
    separator: bytes = b"",
) -> list[npt.NDArray[np.int64]]:
    """Columns of numbers of at least 0, as integers: the value times its scale, rounded.

    Parameters
    ----------
    text : TextFile
        The file.
    ranges : sequence
        Bytes of it, from one to below another, whole lines. Empty lines count for nothing.
    scales : sequence
        One for each column, such as 1000 for nanoseconds that become ticks.
    what : str
        What a line must hold, for the error message, such as "a start and a duration".
    separator : bytes
        Of one letter; without it, blanks.

    Raises
    ------
    FormatError
        Names the first line that is wrong.
    """
    columns: list[list[npt.NDArray[np.int64]]] = [[] for _ in scales]
    for first, piece in (piece for ends in ranges for piece in _pieces(text.data, *ends)):
        converted = _converted(piece, scales, separator)
        if converted is None:
            raise _error_at_wrong_line(text, first, piece, scales, what, separator)
        for column, values in zip(columns, converted, strict=True):
            column.append(values)
    empty = np.empty(0, dtype=np.int64)
    return [np.concatenate(column) if column else empty for column in columns]


def _converted(
    piece: bytes, scales: Sequence[Fraction | int], separator: bytes
) -> list[npt.NDArray[np.int64]] | None:
    """The columns of whole lines; None where a line is wrong."""
    flat = piece.replace(separator, b" ") if separator else piece
    codes = np.frombuffer(flat, dtype=np.uint8)
    width = len(scales)
    if not _is_regular(codes, piece, separator, width):
        return None
    if not _NUMERIC[codes[~_SPACE[codes]]].all():
        return None
    numbers = flat.split()
    array = np.array(numbers, dtype=f"S{max(map(len, numbers), default=1)}")
    columns = [to_integers(array[k::width], scale) for k, scale in enumerate(scales)]
    good = [column for column in columns if column is not None]
    return good if len(good) == width else None


def to_integers(
    numbers: npt.NDArray[Any], scale: Fraction | int, base: int = 0
) -> npt.NDArray[np.int64] | None:
    """Decimal numbers (an array of bytes) less a base, times a scale, to the nearest integer.

    Halves go to the even one. None where one is not a number, or negative or beyond 2^62 in the
    end.
    """
    try:
        return _to_integers(numbers, scale, base)
    except (ValueError, OverflowError):
        return None


def _to_integers(
    numbers: npt.NDArray[Any], scale: Fraction | int, base: int
) -> npt.NDArray[np.int64]:
    """Return numbers in ASCII, less `base`, times `scale`, rounded; ValueError out of range."""
    if len(numbers) == 0:
        return np.empty(0, dtype=np.int64)
    if numbers.dtype.itemsize > _LONGEST_NUMBER:
        raise ValueError
    if base:
        return np.array([_exact(word, scale, base) for word in numbers.tolist()], dtype=np.int64)
    with np.errstate(over="ignore"):
        scaled = numbers.astype(np.float64) * float(scale)
    # Negated, so that what is not a number fails too.
    if not ((scaled >= 0) & (scaled < MAX_TICKS)).all():
        raise ValueError
    if scaled.max() < _EXACT:
        return np.rint(scaled).astype(np.int64)
    letters = np.ascontiguousarray(numbers).view(np.uint8)
    if isinstance(scale, int) and not np.isin(letters, _NO_INTEGER).any():
        return numbers.astype(np.int64) * scale
    return np.array([_exact(word, scale) for word in numbers.tolist()], dtype=np.int64)


def _exact(word: bytes, scale: Fraction | int, base: int = 0) -> int:
    """Return one number as `_to_integers` does, without a rounding on the way."""
    number = Decimal(word.decode("ascii"))
    if not number.adjusted() < _LONGEST_NUMBER:  # no huge integers from 1e999999
        raise ValueError
    value = round((Fraction(number) - base) * scale)
    if not 0 <= value < MAX_TICKS:
        raise ValueError
    return value


def line_at(text: TextFile, position: int) -> int:
    """The number of the line that holds this byte."""
    return text.data.count(b"\n", 0, position) + 1


def _pieces(data: bytes, begin: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Whole lines, a few megabytes at a time, each with the place of its first byte."""
    while begin < end:
        stop = min(end, begin + _PIECE)
        if stop < end:
            newline = data.find(b"\n", stop, end)
            stop = end if newline < 0 else newline + 1
        yield begin, data[begin:stop]
        begin = stop


def _is_regular(codes: npt.NDArray[np.uint8], piece: bytes, separator: bytes, width: int) -> bool:
    """Return whether every line has `width` words with separators between them, or is empty."""
    space = _SPACE[codes]
    first = np.empty(len(codes), dtype=bool)  # of a word
    first[:1] = ~space[:1]
    first[1:] = ~space[1:] & space[:-1]
    ends = np.flatnonzero(codes == 10)
    if len(ends) == 0 or ends[-1] != len(codes) - 1:
        ends = np.append(ends, len(codes) - 1)
    counts = np.diff(np.cumsum(first)[ends], prepend=0)
    if not ((counts == width) | (counts == 0)).all():
        return False
    if not separator:
        return True
    between = np.cumsum(np.frombuffer(piece, dtype=np.uint8) == separator[0])
    return bool((np.diff(between[ends], prepend=0) == np.where(counts == 0, 0, width - 1)).all())


def _error_at_wrong_line(
    text: TextFile,
    first: int,
    piece: bytes,
    scales: Sequence[Fraction | int],
    what: str,
    separator: bytes,
) -> ValueError:
    """Return the error that names the first line of a piece that is not as it should be."""
    start = line_at(text, first)
    lines = piece.split(b"\n")
    for begin in range(0, len(lines), _AT_ONCE):
        some = lines[begin : begin + _AT_ONCE]
        if _converted(b"\n".join([*some, b""]), scales, separator) is not None:
            continue
        for number, line in enumerate(some, start + begin):
            fields = [word.strip() for word in line.split(separator)] if separator else line.split()
            if not line.strip():
                continue
            good = len(fields) == len(scales) and all(map(_is_number, fields, scales))
            if not good:
                shown = shorten(line.decode("utf-8", "replace"))
                return text.error(number, f"must be {what}, got {shown}")
    return text.error(start, f"must be lines of {what}")


def _is_number(word: bytes, scale: Fraction | int) -> bool:
    numeric = bool(word) and _NUMERIC[list(word)].all()
    return bool(numeric) and to_integers(np.array([word]), scale) is not None


def line_of_row(text: TextFile, ranges: Sequence[tuple[int, int]], row: int) -> int:
    """The number of the line that holds a row of a table, which lies in these ranges of bytes."""
    for begin, end in ranges:
        lines = text.data[begin:end].split(b"\n")
        filled = [number for number, line in enumerate(lines) if line.strip()]
        if row < len(filled):
            return line_at(text, begin) + filled[row]
        row -= len(filled)
    return line_at(text, ranges[-1][1])


def data_ranges(text: TextFile) -> list[tuple[int, int]]:
    """Return where the lines are that are no comments, in bytes."""
    ranges = []
    begin = 0
    for match in _COMMENT.finditer(text.data):
        if text.data[begin : match.start()].strip():
            ranges.append((begin, match.start()))
        begin = match.end()
    if text.data[begin:].strip():
        ranges.append((begin, len(text.data)))
    return ranges


def comments(text: TextFile) -> list[tuple[int, str]]:
    """Comments at the beginning: numbers of their lines, and what follows the #."""
    remarks = [line for line in enumerate(text.head.split("\n"), 1) if line[1].lstrip()[:1] == "#"]
    return [(number, line.lstrip()[1:].strip()) for number, line in remarks]


def clock_of(text: TextFile, options: Options, said: list[tuple[int, str]]) -> Fraction | None:
    """Ticks in a number of the file: from the options, else from a clock rate in a comment."""
    if options.unit is not None and options.unit != "cycles":
        if options.clock_hz is not None:
            raise text.error(
                None,
                f"{parameter('clock_hz')} is for cycles, but {parameter('unit')} is {options.unit}",
            )
        if options.unit not in UNITS:
            rule = f"unit must be one of {', '.join(UNITS)}"
            raise text.error(None, f"{rule}, got {shorten(options.unit)}, or cycles")
        return Fraction(UNITS[options.unit])
    if options.clock_hz is not None:
        return Fraction(TICKS_PER_SECOND) / Fraction(options.clock_hz)
    for number, remark in said:
        clock = _CLOCK.search(remark)
        if clock is not None:
            rate = text.number(number, clock[1], "the clock rate") * _PREFIX[clock[2].lower()]
            if not 1e3 <= rate <= 1e12:
                raise text.error(number, f"the clock rate must be from 1 kHz to 1 THz, got {rate}")
            return Fraction(TICKS_PER_SECOND) / Fraction(rate)
    return None


def single_column(head: str) -> npt.NDArray[np.float64]:
    """The integers of a file that begins with one in each line; else none."""
    lines = [line for line in whole_lines(head) if line.lstrip()[:1] != "#"][:2000]
    if not all(map(_INTEGER.fullmatch, lines)):
        return np.empty(0)
    return np.array([float(line) for line in lines])


def check_not_times(text: TextFile, values: npt.NDArray[Any]) -> None:
    """Raise FormatError where one number in each line rises all the way, as no noise does."""
    if len(values) >= _MIN_RISING and (np.diff(values) > 0).all():
        raise text.error(
            None,
            "has numbers that always rise: they are times (or sorted), not counts or durations of "
            f"quanta; if FTQ wrote two files, give that of the counts, and {parameter('quantum')}",
        )


def number_rows(text: TextFile, rows: list[Row], columns: list[str]) -> npt.NDArray[np.float64]:
    """Numbers from 0, shape (rows, columns).

    Raises
    ------
    FormatError
        Names the first line with too few or too many columns, or with what is no such number.
    """
    for line, numbers in rows:
        if len(numbers) != len(columns):
            raise text.error(line, f"must have {len(columns)} columns, got {len(numbers)}")
    try:
        values = np.array([list(map(float, numbers)) for _, numbers in rows], dtype=np.float64)
    except ValueError:
        values = None
    if values is None or not (np.isfinite(values) & (values >= 0)).all() or b"_" in text.data:
        for line, numbers in rows:
            for name, word in zip(columns, numbers, strict=True):
                if not text.number(line, word, name) >= 0:
                    raise text.error(line, f"{name} must be a number from 0, got {word}")
    if values is None:  # not reached: one of its words is no number
        raise text.error(None, "is not a table of numbers")
    return values.reshape(len(rows), len(columns))


def clock_notes(seconds: npt.NDArray[np.float64], what: str, factor: int = 1) -> list[str]:
    """A note where all times are multiples of a coarse clock's step, divided by `factor`."""
    step = clock_quantum(seconds.ravel())
    if step is None:
        return []
    cause = ""
    if abs(factor * step / _WTIME_QUANTUM - 1) < 0.01:
        cause = ", as MPI_Wtime has with seconds since 1970 in a double"
    return [f"{what} are multiples of {show_seconds(factor * step)}, the step of the clock{cause}"]


_MIN_QUANTUM = 30e-9
"""Seconds; finer clocks are not called coarse."""
_WTIME_QUANTUM = 2.0**-22
"""Seconds, of MPI_Wtime where it returns seconds since 1970 as a double."""

_MIN_EVENTS = 50
_MIN_STEPS = 5  # distinct multiples of the quantum
_NEAR = 0.05  # of a quantum; durations that know no quantum are that near with probability 0.1
_MAX_STEPS = 2**12


def detours_in_order(
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
        notes.append("detours were not in order of time and were sorted")
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
            f"detours that overlapped the one before were merged: {np.count_nonzero(~first)}"
        )
        last = np.append(np.flatnonzero(first)[1:] - 1, len(starts) - 1)
        starts, ends = starts[first], ends[last]
    if length is None:
        if len(starts) == 0:
            raise ValueError("has no detours, and does not state the time observed")
        length = int(ends[-1])
    return Detours(starts, ends - starts, length, **known), notes


def began_late(start: int) -> str:
    """The note on times that do not begin at 0."""
    shown = show_seconds(start / TICKS_PER_SECOND, 9)
    return f"times began at {shown} and were shifted: they count from the first detour"


def clock_quantum(durations: Floats) -> float | None:
    """The step of a coarse clock, in seconds, that all durations (seconds) are multiples of.

    None where they are not, or the step is below 30 ns, or there are too few to tell. They may be
    off by a nanosecond each, as where a tool rounds them to whole ones.
    """
    distinct = np.unique(durations)
    gaps = np.diff(distinct)
    steps = gaps[gaps > _MIN_QUANTUM / 2]
    if len(durations) < _MIN_EVENTS or len(steps) == 0:
        return None
    quantum = float(np.median(steps))
    reach = 8
    while reach <= _MAX_STEPS:  # longer ones fix it more finely, once it is known so far
        near = distinct[distinct < reach * quantum]
        count = np.round(near / quantum)
        if count.any():
            quantum = float((count * near).sum() / (count * count).sum())
        reach *= 4
    if quantum < _MIN_QUANTUM:
        return None
    seen = durations[durations < _MAX_STEPS * quantum]
    count = np.round(seen / quantum)
    off = np.abs(seen - count * quantum)
    regular = len(np.unique(count)) >= _MIN_STEPS and len(seen) >= _MIN_EVENTS
    return quantum if regular and np.mean(off <= _NEAR * quantum) > 0.99 else None


def detours_of_steps(starts: Ticks, durations: Ticks, **known: Any) -> tuple[Detours, list[str]]:
    """Do as `detours_in_order`; where the clock is coarse, with its resolution and a note on it."""
    quantum = clock_quantum(durations / TICKS_PER_SECOND)
    if quantum is None:
        return detours_in_order(starts, durations, **known)
    resolution = round(quantum * TICKS_PER_SECOND)
    detours, notes = detours_in_order(starts, durations, resolution=resolution, **known)
    clock = ""
    if abs(quantum / _WTIME_QUANTUM - 1) < 0.01:
        clock = ", as MPI_Wtime does with seconds since 1970 in a double (2^-22 s)"
    return detours, [
        *notes,
        f"the clock counts in steps of {show_seconds(quantum)}{clock}: all times are multiples "
        "of it, and detours of less than a few steps are missing",
    ]


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
        """Add a row; edges must rise."""
        high = MAX_TICKS // self.unit // 2
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
        return [self.text.integer(line, word, "a count", high=MAX_COUNT) for word in words]

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
        if sum(counts) + overflow >= MAX_TICKS:
            raise self.text.error(None, f"the counts of CPU {cpu} add up to 2^62 or more")
        low = [self.edges[at] * self.unit for at in kept]
        high = [edge + width for edge in low]
        if low and low[0] < lowest < high[0]:
            low[0] = lowest
        return Histogram(low, high, counts, what, observed, cpu, overflow)
