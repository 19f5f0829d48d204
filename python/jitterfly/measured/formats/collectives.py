"""Tables of collectives: what their parsers share, and times of a collective on every rank.

The parsers of OSU's and IMB's logs, `osu` and `imb`, collect rows and say which lines they left
out. The n-way dissemination benchmark of cloud_noise (De Sensi et al., arXiv 2210.15315) writes the
time of each rank, separated by spaces, a line an iteration.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...fields import counted, reads_as_number, shorten
from ..measurements import CollectiveTable, Measured, PerRankSamples
from .columns import MAX_COUNT, Row, clock_notes, number_rows
from .text import Format, Options, TextFile

_MAX_SECONDS = 1e9  # longer times are no measurements
_MAX_NOTES = 3
_MAX_DEFECTS = 0.01  # what IMB takes for rounding
_INTEGERS = ("ranks", "bytes", "iterations")


class Collectives:
    """A collector of rows. A column that any row of an operation lacks is left out."""

    def __init__(self, text: TextFile) -> None:
        self.text = text
        self.rows: dict[str, list[dict[str, float | int]]] = {}

    def add(
        self, line: int, operation: str, names: list[str], words: list[str], **known: int
    ) -> None:
        """A row: words by the names of their columns, times in microseconds."""
        if len(words) != len(names):
            raise self.text.error(line, f"must have {len(names)} columns, got {len(words)}")
        row: dict[str, float | int] = dict(known)
        for name, word in zip(names, words, strict=True):
            if name in _INTEGERS:
                row[name] = self.text.integer(line, word, name, high=MAX_COUNT)
            elif name:
                seconds = self.text.number(line, word, f"{name} (us)") / 1e6
                if not 0 <= seconds <= _MAX_SECONDS:
                    raise self.text.error(line, f"{name} must be a time from 0, got {word[:40]}")
                row[name] = seconds
        self.rows.setdefault(operation, []).append(row)

    def add_table(self, table: LogTable, operation: str, left_out: LeftOut, **known: int) -> None:
        """The good rows of a table whose columns have names."""
        names = ["" if name in ("validation", "defects") else name for name in table.names or ()]
        if "bytes" not in names:
            known["bytes"] = 0
        for line, words in good_rows(self.text, table, left_out):
            self.add(line, operation, names, words, **known)

    def tables(self) -> tuple[CollectiveTable, ...]:
        """One table for each operation."""
        if not self.rows:
            raise self.text.error(len(self.text.lines), "has no row of a collective; it is cut off")
        return tuple(
            CollectiveTable(operation, **_columns(rows)) for operation, rows in self.rows.items()
        )


def _columns(rows: list[dict[str, float | int]]) -> dict[str, Any]:
    """Return the columns that all rows have, as arrays."""
    shared = set.intersection(*(set(row) for row in rows))
    return {
        name: np.array(
            [row[name] for row in rows], dtype=np.int64 if name in _INTEGERS else np.float64
        )
        for name in sorted(shared)
    }


@dataclass
class LogTable:
    """A table in a log: the line of its head, the names of its columns (None: any), its rows."""

    line: int
    names: list[str] | None
    rows: list[Row] = field(default_factory=list)

    def follows(self, words: list[str]) -> bool:
        """Return whether `words` can be the next row, also below other lines."""
        return True


class LeftOut:
    """The reader of rows in a job's log, and of lines that look like rows and are none."""

    def __init__(self, text: TextFile) -> None:
        self.text = text
        self._reasons: list[str] = []
        self._lines: list[tuple[int, str]] = []
        self._below: list[tuple[int, str]] = []  # the last row, which may be the last of all
        self._above, self._expected = "", 0  # the row before, and the line below it or a head

    def begin(self, table: LogTable) -> None:
        """Expect rows below the head of a table."""
        self._above, self._expected = "", table.line + 1

    def read_row(self, line: int, content: str, table: LogTable) -> bool:
        """Take a line below the head of a table, and return whether the table goes on."""
        words = content.split()
        directly = line == self._expected
        if not _is_row(words, table.names, directly):
            self._below.append((line, content))
        elif line == len(self.text.lines) and len(content.rstrip()) < len(self._above):
            self.add(line, content, "it is cut off")
        elif directly or table.follows(words):
            self._lines += self._below  # which stood between rows
            self._below = []
            table.rows.append((line, words))
            self._above, self._expected = content.rstrip(), line + 1
        else:
            self.outside(line, content)
            return False
        return True

    def skip(self, line: int, content: str, why: str) -> None:
        """Leave a row out; the next one may stand directly below it."""
        self.add(line, content, why)
        self._expected += line == self._expected

    def add(self, line: int, content: str, why: str) -> None:
        """Add a row that is not taken."""
        self._reasons.append(f"left out, as {why}: line {line}, {shorten(content.strip())}")

    def end(self) -> None:
        """The table ended before these lines; those of numbers may have been meant for it."""
        self._lines += [line for line in self._below if line[1].lstrip()[:1].isdecimal()]
        self._below = []

    def outside(self, line: int, content: str) -> None:
        """A line that belongs to no table."""
        if all(map(reads_as_number, content.split()[:8])):
            self._lines.append((line, content))

    def check_nothing(self) -> None:
        """Raise FormatError where all rows there are were left out."""
        if notes := self.notes():
            raise self.text.error(None, f"has no row of a collective: {notes[0]}")

    def notes(self) -> list[str]:
        """Say what was left out."""
        notes = self._reasons[:_MAX_NOTES]
        if more := len(self._reasons) - len(notes):
            notes.append(f"left out for similar reasons: {counted(more, 'more line')}")
        if self._lines:
            shown = [f"line {line}, {shorten(one.strip())}" for line, one in sorted(self._lines)]
            more = len(shown) - _MAX_NOTES
            rest = f"; and {counted(more, 'more line')}" if more > 0 else ""
            notes.append(
                f"left out, as they are not rows of a table: {'; '.join(shown[:_MAX_NOTES])}{rest}"
            )
        return notes


def good_rows(text: TextFile, table: LogTable, left_out: LeftOut) -> list[Row]:
    """The rows whose data were those that were sent, where the benchmark looked at them."""
    good = []
    for line, words in table.rows:
        named = dict(zip(table.names or (), words, strict=False))
        defects = named.get("defects", "")  # of IMB
        if named.get("validation", "pass").lower() != "pass":  # of OSU, with -c
            left_out.add(line, text.lines[line - 1], "its validation failed")
        elif re.fullmatch(r"[0-9.]{1,20}", defects) and float(defects) > _MAX_DEFECTS:
            left_out.add(line, text.lines[line - 1], "its data were wrong (defects)")
        else:
            good.append((line, words))
    return good


def _is_row(words: list[str], names: list[str] | None, directly: bool) -> bool:
    """Return whether a line is a row of a table with these columns (None: any).

    It begins with a number. `directly` below another it may be a wrong one, which is an error then.
    """
    numbers = [reads_as_number(word) for word in words]
    if names is None or not numbers[0] or (directly and len(words) == len(names)):
        return numbers[0]
    if len(words) == len(names):
        return all(one or name == "validation" for one, name in zip(numbers, names, strict=True))
    return directly and all(numbers)


_HEAD = re.compile(r"#MessageSize[ \t]+Rank0Time\((s|ms|us|ns)\)")
_UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}


def _read_dissemination(text: TextFile, options: Options) -> Measured:
    """Samples of all ranks, one part for each message size."""
    columns: list[str] = []
    unit = ""
    rows: list[Row] = []
    for line, content in enumerate(text.lines, 1):
        words = content.split()
        if not words:
            continue
        if not columns:
            match = _HEAD.match(content.lstrip())
            if match is None:
                raise text.error(line, "expected the first line: #MessageSize Rank0Time(us) ...")
            unit, columns = match[1], words
            for rank, word in enumerate(words[1:]):
                if word != f"Rank{rank}Time({unit})":
                    raise text.error(line, f"expected Rank{rank}Time({unit}), got {word[:40]!r}")
        elif words != columns:  # runs may have been appended, each with its first line
            rows.append((line, words))
    if not rows:
        raise text.error(len(text.lines), "has no row")
    sizes: dict[int, list[Row]] = {}
    for row in rows:
        size = text.integer(row[0], row[1][0], "MessageSize", high=MAX_COUNT)
        sizes.setdefault(size, []).append(row)
    parts = tuple(_part(text, size, sizes[size], columns, _UNITS[unit]) for size in sorted(sizes))
    notes = [
        "each rank's time begins as it leaves a barrier, not at one moment for all: the spread "
        "between ranks includes that of the barrier"
    ]
    notes += clock_notes(np.concatenate([part.times.ravel() for part in parts]), "times")
    return Measured(parts, "dissemination", {"tool": "n-way dissemination benchmark"}, tuple(notes))


def _part(
    text: TextFile, size: int, rows: list[Row], columns: list[str], unit: float
) -> PerRankSamples:
    times: np.ndarray = number_rows(text, rows, columns)[:, 1:] / unit
    return PerRankSamples("dissemination", size, len(columns) - 1, times)


FORMATS = (
    Format(
        "dissemination",
        "times of a dissemination on every rank",
        sign=lambda head: _HEAD.match(head.lstrip()),
        read=_read_dissemination,
    ),
)
