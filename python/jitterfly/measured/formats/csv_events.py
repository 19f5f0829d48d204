"""Parser of CSV tables of detours: start and duration (or end), with or without a header.

The separator is a comma, semicolon, tab or blank. Units stand in the header, as in `start_ns`,
`duration (us)` or `end[ms]`, or come from the option `unit`. A column `cpu` tells runs apart;
others are left alone. How long was observed is in no column: the option `length` says it. Without
it all CPUs, whose times are of one clock, count as observed to the end of the last detour of all.
With `cpus`, CPUs of which there is no row were observed, too, and had no noise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, pairwise

import numpy as np

from ...fields import StoredText, parameter, shorten
from ...units import TICKS_PER_SECOND, show_seconds
from ..measurements import MAX_TICKS, Detours, Measured, Ticks
from .columns import UNITS, began_late, clock_of, detours_of_steps, to_integers
from .text import Format, Options, TextFile, whole_lines

_AT_ONCE = 100_000
_MAX_CPUS = 4096
_LONGEST_NAME = 40
_LATE = float(2**61)  # ticks
_DAY = 86_400 * TICKS_PER_SECOND
# Digits of ASCII alone: others do not fit an array of bytes.
_NUMBER = re.compile(r"\d{1,25}(?:[.,]\d{0,12})?(?:[eE][+-]?\d{1,3})?", re.ASCII)
_COLUMN_NAMES = {
    "start": ("start", "begin", "t", "time", "timestamp", "ts", "at", "offset", "onset"),
    "duration": ("duration", "dur", "length", "detour", "noise", "width"),
    "end": ("end", "stop", "finish"),
    "cpu": ("cpu", "core", "processor"),
}
_COLUMN = re.compile(r"([a-z]{1,20})(?:[ _]?time)?[ _]?[\[(/]? ?(s|ms|us|µs|ns|ps|cycles)?[\])]?")
_SEPARATORS = (";", "\t", ",", None)
_LINES_LOOKED_AT = 50
_MIN_EQUIDISTANT = 10  # rows


def may_be_ftq(head: str) -> bool:
    """Return whether a file is two unnamed columns with equidistant starts, as of quanta."""
    layout = _layout_of(head)
    if layout is None or layout.header:
        return False
    lines = [line for line in whole_lines(head) if line[:1] != "#"][:_LINES_LOOKED_AT]
    starts = [_cells_of(line, layout.separator)[0].replace(",", ".") for line in lines]
    gaps = np.diff(np.array(starts, dtype=float))
    near = np.abs(gaps / np.median(gaps) - 1) < 0.1
    return len(starts) >= _MIN_EQUIDISTANT and bool(near.mean() > 0.9)


def _read(text: TextFile, options: Options) -> Measured:
    layout = _layout_of(text.head)
    if layout is None:
        raise text.error(
            None,
            "must be a table with the columns start and duration, named in its first line, or "
            "with two columns of numbers",
        )
    scales = {
        name: _ticks_per_unit(text, options, layout, name) for name in ("start", "duration", "end")
    }
    base = _base(text, layout, scales["start"])
    values, cpus = _columns(text, layout, scales, base)
    starts = values["start"]
    if "duration" in layout.columns:
        durations = values["duration"]
    else:
        durations = values["end"] - starts
        if (durations < 0).any():
            raise text.error(None, f"end is before start in row {int(np.argmax(durations < 0))}")
    parts: list[Detours] = []
    notes = (
        ["times since long ago, such as 1970, were shifted: they count from the first detour"]
        if base
        else []
    )
    length = _length(text, options)
    if len(starts) == 0 and length is None:
        raise text.error(
            None,
            f"has no detours: if there were none, give {parameter('length')}, the time observed",
        )
    if base and len(starts):
        starts = starts - starts.min()
    if length is not None and len(starts) and (latest := int((starts + durations).max())) > length:
        raise text.error(
            None,
            f"{parameter('length')} is {show_seconds(length / TICKS_PER_SECOND)}, and a detour "
            f"ends at {show_seconds(latest / TICKS_PER_SECOND)}",
        )
    starts, observed = _observed_time(starts, durations, length, notes)
    cells = np.array(cpus if "cpu" in layout.columns else [""] * len(starts), dtype=str)
    names, which = np.unique(cells, return_inverse=True)
    if len(names) > _MAX_CPUS:
        raise text.error(None, f"must have {_MAX_CPUS} CPUs at most, got {len(names)}")
    order = np.argsort(which, kind="stable")
    ends = np.cumsum(np.bincount(which, minlength=len(names)))
    # A split has one piece at least, also where no row names a CPU.
    rows = dict(zip(names.tolist(), np.split(order, ends[:-1]), strict=False))
    for cpu in _observed(text, options, layout, list(rows)):
        mine = rows.get(cpu, order[:0])
        with text.errors_at(None):
            part, said = detours_of_steps(starts[mine], durations[mine], length=observed, cpu=cpu)
        notes += [f"CPU {cpu}: {note}" if cpu else note for note in said]
        parts.append(part)
    if length is None:
        if all(int(part.durations.sum()) >= part.length for part in parts):
            raise text.error(None, "does not state the time observed, and has no time without "
                             f"noise: give {parameter('length')}, such as 10s")  # fmt: skip
        notes.append(StoredText("the file does not state the time observed, which is assumed to "
                                "end with the last detour; ", "length", " sets it"))  # fmt: skip
    return Measured(tuple(parts), "csv", {"tool": "table of detours"}, tuple(notes))


def _observed_time(
    starts: Ticks, durations: Ticks, length: int | None, notes: list[str]
) -> tuple[Ticks, int | None]:
    """Starts, and ticks observed on every CPU: up to the end of the last detour of all.

    Times that began long after 0 count from the first. None where nothing lasts.
    """
    lasting = durations > 0
    if length is not None or not lasting.any():
        return starts, length
    first, end = int(starts[lasting].min()), int((starts + durations).max())
    if first > end - first:
        notes.append(began_late(first))
        starts, end = np.maximum(starts - first, 0), end - first
    return starts, end


def _length(text: TextFile, options: Options) -> int | None:
    """Ticks that were observed, where `length` says it."""
    if options.length is None:
        return None
    length = round(options.length * TICKS_PER_SECOND)
    if length > MAX_TICKS:
        raise text.error(None, f"{parameter('length')} must be 2^62 ps (53 days) at most, got "
                         f"{show_seconds(options.length)}")  # fmt: skip
    return length


def _observed(text: TextFile, options: Options, layout: _Layout, named: list[str]) -> list[str]:
    """The CPUs that were observed: those named in rows, or as many as `cpus` says."""
    if options.cpus is None:
        return named or [""]
    if options.length is None:
        raise text.error(
            None,
            f"{parameter('cpus')} needs {parameter('length')}, the time for which each was "
            "observed",
        )
    observed = [str(number) for number in range(options.cpus)]
    if others := sorted(set(named) - set(observed)):
        what = f"rows of CPU {shorten(others[0])}" if "cpu" in layout.columns else "no column cpu"
        raise text.error(
            None, f"has {what}, and {parameter('cpus')} says CPUs 0 to {options.cpus - 1}"
        )
    return observed


def _ticks_per_unit(text: TextFile, options: Options, layout: _Layout, name: str) -> Fraction:
    """Return the ticks in a unit of a column, as its name or the options say; 0 without it."""
    if name not in layout.columns:
        return Fraction(0)
    unit = layout.units.get(name)
    if unit is not None and options.unit not in (None, unit):
        raise text.error(
            None, f"gives its {name} in {unit}, but {parameter('unit')} is {options.unit}"
        )
    if unit == "cycles" and options.clock_hz is None:
        raise text.error(None, f"its {name} is in cycles; give {parameter('clock_hz')}, their rate")
    chosen = unit or options.unit
    if chosen is None and options.clock_hz is None:
        raise text.error(
            None,
            f"does not state the unit of its {name}: give {parameter('unit')} ({', '.join(UNITS)} "
            f"or cycles), or name the column {name}_ns",
        )
    clock = None if unit not in (None, "cycles") else options.clock_hz
    if chosen == "cycles" and clock is None:
        raise text.error(
            None, f"{parameter('unit')} cycles needs {parameter('clock_hz')}, their rate"
        )
    scale = clock_of(text, Options(unit=chosen, clock_hz=clock), [])
    assert scale is not None
    return scale


def _rows(text: TextFile, layout: _Layout) -> Iterator[tuple[int, list[str]]]:
    """Line numbers and the words of the lines that hold numbers."""
    header = layout.header
    for number, line in enumerate(text.lines, 1):
        if not line.strip() or line[:1] == "#":
            continue
        if header:
            header = False
            continue
        words = _cells_of(line, layout.separator)
        if len(words) != layout.width:
            raise text.error(
                number, f"must have {layout.width} columns, got {len(words)}: {shorten(line)}"
            )
        yield number, words


def _base(text: TextFile, layout: _Layout, scale: Fraction) -> int:
    """A time a day before the first, where times are too large to be counted from 0; else 0."""
    first = next(_rows(text, layout), None)
    word = first[1][layout.columns["start"]].replace(",", ".") if first else ""
    if not _NUMBER.fullmatch(word) or "e" in word.lower() or float(word) * float(scale) < _LATE:
        return 0
    return int(word.partition(".")[0]) - int(_DAY / scale)


def _columns(
    text: TextFile, layout: _Layout, scales: dict[str, Fraction], base: int
) -> tuple[dict[str, Ticks], list[str]]:
    """Columns of times in ticks, and the names of CPUs where there is such a column."""
    wanted = [name for name in ("start", "duration", "end") if name in layout.columns]
    pieces: dict[str, list[Ticks]] = {name: [] for name in wanted}
    cpus: list[str] = []
    every = _rows(text, layout)
    while rows := list(islice(every, _AT_ONCE)):
        for name in wanted:
            words = [(number, row[layout.columns[name]]) for number, row in rows]
            since = 0 if name == "duration" else base
            pieces[name].append(_read_times(text, name, words, scales[name], since))
        if "cpu" in layout.columns:
            cpus.extend(_read_cpu(text, number, row[layout.columns["cpu"]]) for number, row in rows)
    empty = np.empty(0, dtype=np.int64)
    return {name: np.concatenate([empty, *pieces[name]]) for name in wanted}, cpus


def _read_cpu(text: TextFile, line: int, word: str) -> str:
    """Return the name of a CPU, without quotes."""
    name = word.strip("\"'")
    if not 0 < len(name) <= _LONGEST_NAME:
        raise text.error(line, f"must have the name of a CPU, got {shorten(word)}")
    return name


def _read_times(
    text: TextFile, name: str, rows: list[tuple[int, str]], scale: Fraction, base: int
) -> Ticks:
    """Return a column of times in ticks since `base`; an error names the line."""

    def ticks(words: list[str]) -> Ticks | None:
        good = all(map(_NUMBER.fullmatch, words))
        return to_integers(np.array(words, dtype=bytes), scale, base) if good else None

    words = [word.replace(",", ".") for _, word in rows]
    if (found := ticks(words)) is not None:
        return found
    for (number, _), word in zip(rows, words, strict=True):
        if ticks([word]) is None:
            raise text.error(
                number, f"{name} must be a time from 0 to 2^62 ps (53 days), got {shorten(word)}"
            )
    raise text.error(None, f"{name} must be times")


@dataclass(frozen=True)
class _Layout:
    """The places of the columns, their units, and what separates them."""

    separator: str | None
    header: bool
    columns: dict[str, int]
    units: dict[str, str | None]
    width: int


def _layout_of(head: str) -> _Layout | None:
    """The layout of a table, from its beginning; None if it is not a table of detours.

    Where columns are named and some rows have more or fewer, the error of reading says which.
    """
    lines = [line for line in whole_lines(head) if line[:1] != "#"][:_LINES_LOOKED_AT]
    if not lines or len(lines[0]) > 4096:
        return None
    uneven: _Layout | None = None
    for separator in _SEPARATORS:
        words = _cells_of(lines[0], separator)
        if len(words) < 2:
            continue
        columns: dict[str, int] = {}
        units: dict[str, str | None] = {}
        for at, word in enumerate(words):
            found = _COLUMN.fullmatch(word.strip("\"' ").lower())
            name = next(
                (key for key, names in _COLUMN_NAMES.items() if found and found[1] in names), ""
            )
            if found and name and name not in columns:
                columns[name], units[name] = at, found[2]
        named = "start" in columns and ("duration" in columns or "end" in columns)
        below = {len(_cells_of(line, separator)) for line in lines[1:]}
        if named and not any(map(_NUMBER.fullmatch, words)):
            layout = _Layout(separator, True, columns, units, len(words))
            if below <= {len(words)}:
                return layout
            uneven = uneven or layout
        rows = [_cells_of(line, separator) for line in lines]
        if all(len(row) == 2 and all(map(_NUMBER.fullmatch, row)) for row in rows):
            starts = [float(row[0].replace(",", ".")) for row in rows]
            if len(rows) > 1 and all(one < other for one, other in pairwise(starts)):
                return _Layout(separator, False, {"start": 0, "duration": 1}, {}, 2)
    return uneven


def _cells_of(line: str, separator: str | None) -> list[str]:
    """The words of a line; a separator of None stands for blanks."""
    return [word.strip() for word in line.split(separator)]


FORMATS = (
    Format(
        "csv",
        "table of detours (columns start and duration)",
        ("unit", "clock_hz", "length", "cpus"),
        sign=_layout_of,
        read=_read,
    ),
)
