"""Parser of ReproMPI (Hunold & Carpen-Amarie): the time of every repetition, or a summary of them.

Its raw output has a row for each repetition: the time of the slowest process by the clock of each
(`local` run times), or from the first start to the last end by a synchronized clock (`global`).
With ``-v`` a row is of one process, with its start and end. The summary has the mean and other
statistics of each size. Comments (``#@``) say the number of processes and the size of a datatype.
"""

from __future__ import annotations

import re

import numpy as np

from ...fields import StoredText, counted, first_few, parameter, shorten
from ..measurements import CollectiveTable, Floats, Measured, PerRankSamples
from .columns import MAX_COUNT
from .text import Format, Options, TextFile

_HEAD = re.compile(
    r"^[ \t]{0,60}(?:process[ \t]{1,60})?test[ \t]{1,60}(?:nrep[ \t]{1,20})?"
    r"(?:count|msize_bytes)[ \t]",
    re.M,
)
_ABOUT = re.compile(r"#@(\w{1,40})=(.{0,200})")
_MAX_SECONDS = 1e9
_SUMMARY = {"mean_sec": "mean", "median_sec": "p50"}
_Key = tuple[str, int]
"""Operation and bytes."""


class _File:
    """The rows of a file below its only head, and what its comments say."""

    def __init__(self, text: TextFile, options: Options) -> None:
        self.text = text
        self.about: dict[str, str] = {}
        self.names: list[str] = []
        self.rows: list[tuple[int, dict[str, str]]] = []
        self.left_out: list[str] = []
        for line, content in enumerate(text.lines, 1):
            words = content.split()
            if match := _ABOUT.match(content):
                key, value = match[1], match[2].strip()
                if self.about.setdefault(key, value) != value and key == "nprocs":
                    raise text.error(line, "a second run begins; import one at a time")
            elif _HEAD.match(content):
                if self.names and words != self.names:
                    raise text.error(line, "a second table begins; import one at a time")
                self.names = words
            elif self.names and words and not content.lstrip().startswith("#"):
                self._row(line, content, words)
        if not self.names:
            raise text.error(None, "has no line of columns: test, nrep, count, runtime_sec")
        self.ranks = options.ranks or text.integer(
            None, self.about.get("nprocs", "0"), "nprocs", high=2**30
        )
        self.bytes_of_one = 1
        if "count" in self.names and "datatype_size_bytes" in self.about:
            said = self.about["datatype_size_bytes"]
            self.bytes_of_one = text.integer(None, said, "datatype_size_bytes", 1, 2**40)

    def _row(self, line: int, content: str, words: list[str]) -> None:
        """Keep a line as a row, or note why it is left out; the last one may be cut off."""
        last = line == len(self.text.lines)  # without an end of the line
        if len(words) == len(self.names) and not last:
            row = dict(zip(self.names, words, strict=True))
            if row.get("errorcode", "0") == "0":
                self.rows.append((line, row))
                return
            why = "its error code is not 0"
        else:
            why = "it is cut off, or no row"
        self.left_out.append(f"left out, as {why}: line {line}, {shorten(content.strip())}")

    def check_columns(self, *needed: str) -> None:
        """Raise FormatError for columns that are needed and not there."""
        if missing := [name for name in needed if name not in self.names]:
            raise self.text.error(
                None, f"has no column {', '.join(missing)}, only {first_few(self.names, 8)}"
            )

    def key(self, line: int, row: dict[str, str]) -> _Key:
        column = "count" if "count" in row else "msize_bytes"
        size = self.text.integer(line, row[column], column, high=MAX_COUNT)
        operation = row["test"].removeprefix("MPI_").lower()  # "allreduce" of MPI_Allreduce
        return operation, size * self.bytes_of_one

    def seconds(self, line: int, row: dict[str, str], column: str) -> float:
        value = self.text.number(line, row[column], column)
        if not 0 <= value <= _MAX_SECONDS:
            raise self.text.error(
                line, f"{column} must be a time from 0, got {shorten(row[column])}"
            )
        return value

    def notes(self) -> list[str]:
        notes = self.left_out[:3]
        if more := len(self.left_out) - len(notes):
            notes.append(f"left out for similar reasons: {counted(more, 'more line')}")
        if "count" in self.names and "datatype_size_bytes" not in self.about:
            notes.append(
                "the file does not state the size of a datatype: counts are taken as bytes"
            )
        return notes


def _read(text: TextFile, options: Options) -> Measured:
    """Samples of each operation and size, or the table of a summary."""
    file = _File(text, options)
    source = {"tool": "ReproMPI"}
    for key, name in (("reproMPIcommitSHA1", "version"), ("runtime_type", "clock")):
        if value := file.about.get(key, "")[:60].strip():
            source[name] = value
    if not file.rows:
        what = file.left_out[0] if file.left_out else "it is cut off"
        raise text.error(None, f"has no row of a collective: {what}")
    if "total_nrep" in file.names:
        return _summary(file, source)
    if not file.ranks:
        raise text.error(
            None,
            "does not state the number of processes (#@nprocs=): give "
            f"{parameter('ranks')} to noise import",
        )
    if "process" in file.names:
        parts, notes = _of_each_process(file)
    else:
        parts, notes = _of_slowest(file)
    return Measured(tuple(parts), "reprompi", source, (*notes, *file.notes()))


def _of_slowest(file: _File) -> tuple[list[PerRankSamples], list[str]]:
    """Return the run times of the slowest process, and notes on the clock."""
    file.check_columns("runtime_sec")
    times: dict[_Key, list[float]] = {}
    for line, row in file.rows:
        key = file.key(line, row)
        times.setdefault(key, []).append(file.seconds(line, row, "runtime_sec"))
    parts = [
        PerRankSamples(operation, size, file.ranks, np.array(values)[:, None], slowest=True)
        for (operation, size), values in times.items()
    ]
    clock = file.about.get("runtime_type", "") or file.about.get("clocktype", "")  # before 2021
    by = "from the first start to the last end, by a synchronized clock"
    if "global" not in clock:
        by = "by the clock of each" + (
            "" if clock else " (or by a synchronized one: it is not said)"
        )
    return parts, [f"a time is that of the slowest process, {by}"]


def _of_each_process(file: _File) -> tuple[list[PerRankSamples], list[str]]:
    """Run times of each process by its own clock: from its start to its end."""
    file.check_columns("nrep", "loc_tstart_sec", "loc_tend_sec")
    times: dict[_Key, dict[int, dict[int, float]]] = {}
    for line, row in file.rows:
        process = file.text.integer(line, row["process"], "process", high=file.ranks - 1)
        repetition = file.text.integer(line, row["nrep"], "nrep", high=MAX_COUNT)
        start, end = (file.seconds(line, row, f"loc_t{name}_sec") for name in ("start", "end"))
        if end < start:
            raise file.text.error(line, "must end after its start")
        here = times.setdefault(file.key(line, row), {}).setdefault(repetition, {})
        if process in here:
            raise file.text.error(line, f"a second time of process {process} in one repetition")
        here[process] = end - start
    parts, missing = [], 0
    for (operation, size), found in times.items():
        whole = [each for _, each in sorted(found.items()) if len(each) == file.ranks]
        missing += len(found) - len(whole)
        if whole:
            each_rank: Floats = np.array(
                [[each[rank] for rank in range(file.ranks)] for each in whole]
            )
            parts.append(PerRankSamples(operation, size, file.ranks, each_rank))
    if not parts:
        raise file.text.error(None, f"has no repetition with all of {file.ranks} processes")
    notes = ["times are those of each process by its own clock, from its start to its end"]
    if missing:
        notes.append(f"left out, as they lack processes: {counted(missing, 'repetition')}")
    return parts, notes


def _summary(file: _File, source: dict[str, str]) -> Measured:
    """Read a summary: a table of statistics for each operation."""
    file.check_columns("valid_nrep")
    names = {column: name for column, name in _SUMMARY.items() if column in file.names}
    if "mean_sec" not in names:
        raise file.text.error(
            None, "has no column mean_sec: have ReproMPI print the mean in its summary"
        )
    tables: dict[str, list[tuple[int, int, dict[str, float]]]] = {}
    for line, row in file.rows:
        operation, size = file.key(line, row)
        valid = file.text.integer(line, row["valid_nrep"], "valid_nrep", high=MAX_COUNT)
        values = {name: file.seconds(line, row, column) for column, name in names.items()}
        tables.setdefault(operation, []).append((size, valid, values))
    parts = []
    for operation, rows in tables.items():
        columns: dict[str, Floats] = {
            name: np.array([values[name] for _, _, values in rows]) for name in names.values()
        }
        sizes = np.array([size for size, _, _ in rows], dtype=np.int64)
        repeated = np.array([valid for _, valid, _ in rows], dtype=np.int64)
        ranks = np.full(len(rows), file.ranks, dtype=np.int64)
        parts.append(CollectiveTable(operation, ranks, sizes, iterations=repeated, **columns))
    notes = ["the mean is over repetitions, of the time of the slowest process"]
    if not file.ranks:
        notes.append(StoredText(
            "the file does not state the number of ranks; as a number it is 0 (give ", "ranks", ")"
        ))  # fmt: skip
    return Measured(tuple(parts), "reprompi", source, (*notes, *file.notes()))


FORMATS = (Format("reprompi", "ReproMPI", ("ranks",), sign=_HEAD.search, read=_read),)
