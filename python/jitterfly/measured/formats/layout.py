"""Where the columns of a table of detours are, and their units."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from .text import HEAD_BYTES

NUMBER = re.compile(r"\d{1,25}(?:[.,]\d{0,12})?(?:[eE][+-]?\d{1,3})?")
_NAMES = {
    "start": ("start", "begin", "t", "time", "timestamp", "ts", "at", "offset", "onset"),
    "duration": ("duration", "dur", "length", "detour", "noise", "width"),
    "end": ("end", "stop", "finish"),
    "cpu": ("cpu", "core", "processor"),
}
_COLUMN = re.compile(r"([a-z]{1,20})(?:[ _]?time)?[ _]?[\[(/]? ?(s|ms|us|µs|ns|ps|cycles)?[\])]?")
_SEPARATORS = (";", "\t", ",", None)
_LINES = 50


@dataclass(frozen=True)
class Layout:
    """Where the columns are, of what unit, and what separates them."""

    separator: str | None
    header: bool
    columns: dict[str, int]
    units: dict[str, str | None]
    width: int


def layout_of(head: str) -> Layout | None:
    """The layout of a table that begins so; None where it is no table of detours."""
    lines = head.split("\n")
    if len(head) >= HEAD_BYTES // 4:  # the last one may be cut off
        lines = lines[:-1]
    lines = [line for line in lines if line.strip() and line[:1] != "#"][:_LINES]
    if not lines or len(lines[0]) > 4096:
        return None
    for separator in _SEPARATORS:
        words = words_of(lines[0], separator)
        if len(words) < 2:
            continue
        columns: dict[str, int] = {}
        units: dict[str, str | None] = {}
        for at, word in enumerate(words):
            found = _COLUMN.fullmatch(word.strip("\"' ").lower())
            name = next((key for key, names in _NAMES.items() if found and found[1] in names), "")
            if found and name and name not in columns:
                columns[name], units[name] = at, found[2]
        named = "start" in columns and ("duration" in columns or "end" in columns)
        below = {len(words_of(line, separator)) for line in lines[1:]}
        if named and below <= {len(words)} and not any(map(NUMBER.fullmatch, words)):
            return Layout(separator, True, columns, units, len(words))
        rows = [words_of(line, separator) for line in lines]
        if all(len(row) == 2 and all(map(NUMBER.fullmatch, row)) for row in rows):
            starts = [float(row[0].replace(",", ".")) for row in rows]
            if len(rows) > 1 and all(one < other for one, other in pairwise(starts)):
                return Layout(separator, False, {"start": 0, "duration": 1}, {}, 2)
    return None


def words_of(line: str, separator: str | None) -> list[str]:
    """The words of a line; a separator of None stands for blanks."""
    return [word.strip() for word in line.split(separator)]
