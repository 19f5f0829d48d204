"""Columns of numbers from text: exact to the tick, in pieces, with the line of what is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from ...fields import shorten
from ..checks import MOST_TICKS
from .text import Text

_PIECE = 2**22
#: Below this a float64 product is off by less than half a tick.
_EXACT = float(2**51)
_SPACE = np.zeros(256, dtype=bool)
_SPACE[[9, 10, 11, 12, 32]] = True
_NUMERIC = np.zeros(256, dtype=bool)
_NUMERIC[list(b"0123456789+-.eE")] = True
_NO_INTEGER = np.frombuffer(b".eE+-", dtype=np.uint8)
_LONGEST = 40


def table(
    text: Text,
    begin: int,
    end: int,
    scales: Sequence[Fraction | int],
    what: str,
    separator: bytes = b"",
) -> list[npt.NDArray[np.int64]]:
    """Columns of numbers of at least 0, as integers: the value times its scale, rounded.

    Parameters
    ----------
    text : Text
        The file.
    begin, end : int
        Bytes of it, whole lines. Empty lines count for nothing.
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
    for first, piece in _pieces(text.data, begin, end):
        flat = piece.replace(separator, b" ") if separator else piece
        codes = np.frombuffer(flat, dtype=np.uint8)
        words = flat.split()
        width = len(scales)
        if _is_regular(codes, piece, separator, width) and _NUMERIC[codes[~_SPACE[codes]]].all():
            array = np.array(words, dtype=f"S{max(map(len, words), default=1)}")
            try:
                found = [to_integers(array[k::width], scale) for k, scale in enumerate(scales)]
            except (ValueError, OverflowError):
                pass
            else:
                for column, values in zip(columns, found, strict=True):
                    column.append(values)
                continue
        raise _locate(text, first, piece, scales, what, separator)
    empty = np.empty(0, dtype=np.int64)
    return [np.concatenate(column) if column else empty for column in columns]


def to_integers(
    words: npt.NDArray[Any], scale: Fraction | int, base: int = 0
) -> npt.NDArray[np.int64]:
    """Decimal numbers (an array of bytes) less a base, times a scale, to the nearest integer.

    Halves go to the even one.

    Raises:
        ValueError: one is not a number, or negative or beyond 2^62 in the end.
    """
    if len(words) == 0:
        return np.empty(0, dtype=np.int64)
    if words.dtype.itemsize > _LONGEST:
        raise ValueError
    if base:
        return np.array([_exact(word, scale, base) for word in words.tolist()], dtype=np.int64)
    with np.errstate(over="ignore"):
        scaled = words.astype(np.float64) * float(scale)
    # Negated, so that what is not a number fails too.
    if not ((scaled >= 0) & (scaled < MOST_TICKS)).all():
        raise ValueError
    if scaled.max() < _EXACT:
        return np.rint(scaled).astype(np.int64)
    letters = np.ascontiguousarray(words).view(np.uint8)
    if isinstance(scale, int) and not np.isin(letters, _NO_INTEGER).any():
        return words.astype(np.int64) * scale
    return np.array([_exact(word, scale) for word in words.tolist()], dtype=np.int64)


def _exact(word: bytes, scale: Fraction | int, base: int = 0) -> int:
    number = Decimal(word.decode("ascii"))
    if not number.adjusted() < _LONGEST:  # no huge integers from 1e999999
        raise ValueError
    value = round((Fraction(number) - base) * scale)
    if not 0 <= value < MOST_TICKS:
        raise ValueError
    return value


def line_at(text: Text, position: int) -> int:
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
    """Whether every line has so many words, and separators between them, or is empty."""
    space = _SPACE[codes]
    first = np.empty(len(codes), dtype=bool)  # of a word
    first[:1] = ~space[:1]
    first[1:] = ~space[1:] & space[:-1]
    ends = np.flatnonzero(codes == 10)
    if len(ends) == 0 or ends[-1] != len(codes) - 1:
        ends = np.append(ends, len(codes) - 1)
    words = np.diff(np.cumsum(first)[ends], prepend=0)
    if not ((words == width) | (words == 0)).all():
        return False
    if not separator:
        return True
    between = np.cumsum(np.frombuffer(piece, dtype=np.uint8) == separator[0])
    return bool((np.diff(between[ends], prepend=0) == np.where(words == 0, 0, width - 1)).all())


def _locate(
    text: Text,
    first: int,
    piece: bytes,
    scales: Sequence[Fraction | int],
    what: str,
    separator: bytes,
) -> ValueError:
    start = line_at(text, first)
    for offset, line in enumerate(piece.split(b"\n")):
        words = [word.strip() for word in line.split(separator)] if separator else line.split()
        if not line.strip():
            continue
        good = len(words) == len(scales) and all(map(_is_number, words, scales))
        if not good:
            shown = shorten(line.decode("utf-8", "replace"))
            return text.error(start + offset, f"must be {what}, got {shown}")
    return text.error(start, f"must be lines of {what}")


def _is_number(word: bytes, scale: Fraction | int) -> bool:
    if not word or not _NUMERIC[list(word)].all():
        return False
    try:
        to_integers(np.array([word]), scale)
    except (ValueError, OverflowError):
        return False
    return True


def line_of_row(text: Text, ranges: Sequence[tuple[int, int]], row: int) -> int:
    """The number of the line that holds a row of a table, which lies in these ranges of bytes."""
    for begin, end in ranges:
        lines = text.data[begin:end].split(b"\n")
        filled = [number for number, line in enumerate(lines) if line.strip()]
        if row < len(filled):
            return line_at(text, begin) + filled[row]
        row -= len(filled)
    return line_at(text, ranges[-1][1])
