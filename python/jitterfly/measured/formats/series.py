"""Files that are columns of numbers and comments: where the numbers are, and their unit."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from ...fields import shorten
from ...units import TICKS_PER_SECOND
from .options import Options
from .text import HEAD_BYTES, Text

UNITS = {"s": 0, "ms": 3, "us": 6, "µs": 6, "ns": 9, "ps": 12}
"""Their powers of ten in a second."""

_COMMENT = re.compile(rb"^[ \t]*#[^\n]*(?:\n|\Z)", re.MULTILINE)
_CLOCK = re.compile(
    r"(?:clock|cpu|tsc|freq)[^0-9\n]{0,40}(\d{1,15}(?:\.\d{1,9})?(?:e\d{1,2})?)\s?([kmg]?)hz", re.I
)
_PREFIX = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_INTEGER = re.compile(r"[ \t]{0,20}[0-9]{1,18}[ \t]{0,20}")


def data_ranges(text: Text) -> list[tuple[int, int]]:
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


def comments(text: Text) -> list[tuple[int, str]]:
    """Comments at the beginning: numbers of their lines, and what follows the #."""
    found = [line for line in enumerate(text.head.split("\n"), 1) if line[1].lstrip()[:1] == "#"]
    return [(number, line.lstrip()[1:].strip()) for number, line in found]


def unit_scale(unit: str) -> Fraction:
    """Ticks in a unit of time.

    Raises:
        ValueError: not one of them.
    """
    if unit not in UNITS:
        raise ValueError(f"unit must be one of {', '.join(UNITS)}, got {shorten(unit)}")
    return Fraction(TICKS_PER_SECOND, 10 ** UNITS[unit])


def clock_of(text: Text, options: Options, said: list[tuple[int, str]]) -> Fraction | None:
    """Ticks in a number of the file: from the options, else from a clock rate in a comment."""
    if options.unit is not None and options.unit != "cycles":
        if options.clock_hz is not None:
            raise text.error(None, f"--clock-hz is for cycles, but --unit is {options.unit}")
        try:
            return unit_scale(options.unit)
        except ValueError as error:
            raise text.error(None, f"{error}, or cycles") from None
    if options.clock_hz is not None:
        return Fraction(TICKS_PER_SECOND) / Fraction(options.clock_hz)
    for number, words in said:
        found = _CLOCK.search(words)
        if found is not None:
            rate = text.number(number, found[1], "the clock rate") * _PREFIX[found[2].lower()]
            if not 1e3 <= rate <= 1e12:
                raise text.error(number, f"the clock rate must be from 1 kHz to 1 THz, got {rate}")
            return Fraction(TICKS_PER_SECOND) / Fraction(rate)
    return None


def single_column(head: str) -> npt.NDArray[np.float64]:
    """The integers of a file that begins with one in each line; else none."""
    lines = head.split("\n")
    if len(head) >= HEAD_BYTES // 4:  # the last one may be cut off
        lines = lines[:-1]
    lines = [line for line in lines if line.strip() and line.lstrip()[:1] != "#"][:2000]
    if not all(map(_INTEGER.fullmatch, lines)):
        return np.empty(0)
    return np.array([float(line) for line in lines])
