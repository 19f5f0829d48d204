"""Exact parsing of columns of numbers, with units and the line of an error.

Also where the numbers of a file are, between its comments, and of what unit they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from ...fields import shorten
from ...units import TICKS_PER_SECOND, show_seconds
from ..measurements import MOST_TICKS
from .rows import WTIME_QUANTUM, clock_quantum
from .text import Options, TextFile, whole_lines

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
UNITS = {"s": 0, "ms": 3, "us": 6, "µs": 6, "ns": 9, "ps": 12}
"""Their powers of ten in a second."""
_COMMENT = re.compile(rb"^[ \t]*#[^\n]*(?:\n|\Z)", re.MULTILINE)
_CLOCK = re.compile(
    r"(?:clock|cpu|tsc|freq)[^0-9\n]{0,40}(\d{1,15}(?:\.\d{1,9})?(?:e\d{1,2})?)\s?([kmg]?)hz", re.I
)
_PREFIX = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_LEAST_RISING = 20  # numbers in any order rise with a probability of 1 in 20!
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
            raise _locate(text, first, piece, scales, what, separator)
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
    if len(numbers) == 0:
        return np.empty(0, dtype=np.int64)
    if numbers.dtype.itemsize > _LONGEST_NUMBER:
        raise ValueError
    if base:
        return np.array([_exact(word, scale, base) for word in numbers.tolist()], dtype=np.int64)
    with np.errstate(over="ignore"):
        scaled = numbers.astype(np.float64) * float(scale)
    # Negated, so that what is not a number fails too.
    if not ((scaled >= 0) & (scaled < MOST_TICKS)).all():
        raise ValueError
    if scaled.max() < _EXACT:
        return np.rint(scaled).astype(np.int64)
    letters = np.ascontiguousarray(numbers).view(np.uint8)
    if isinstance(scale, int) and not np.isin(letters, _NO_INTEGER).any():
        return numbers.astype(np.int64) * scale
    return np.array([_exact(word, scale) for word in numbers.tolist()], dtype=np.int64)


def _exact(word: bytes, scale: Fraction | int, base: int = 0) -> int:
    number = Decimal(word.decode("ascii"))
    if not number.adjusted() < _LONGEST_NUMBER:  # no huge integers from 1e999999
        raise ValueError
    value = round((Fraction(number) - base) * scale)
    if not 0 <= value < MOST_TICKS:
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
    """Return whether every line has so many words, and separators between them, or is empty."""
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


def _locate(
    text: TextFile,
    first: int,
    piece: bytes,
    scales: Sequence[Fraction | int],
    what: str,
    separator: bytes,
) -> ValueError:
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
    """Bytes of the lines that are not comments."""
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
            raise text.error(None, f"`clock_hz` is for cycles, but `unit` is {options.unit}")
        if options.unit not in UNITS:
            rule = f"unit must be one of {', '.join(UNITS)}"
            raise text.error(None, f"{rule}, got {shorten(options.unit)}, or cycles")
        return Fraction(TICKS_PER_SECOND, 10 ** UNITS[options.unit])
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
    if len(values) >= _LEAST_RISING and (np.diff(values) > 0).all():
        raise text.error(
            None,
            "has numbers that rise all the way: they are times (or sorted), no counts or durations "
            "of quanta; where FTQ wrote two files, give that of the counts, and `quantum`",
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
    if abs(factor * step / WTIME_QUANTUM - 1) < 0.01:
        cause = ", as MPI_Wtime has with seconds since 1970 in a double"
    return [f"{what} are multiples of {show_seconds(factor * step)}, the step of the clock{cause}"]
