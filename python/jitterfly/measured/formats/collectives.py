"""Tables of collectives: what their parsers share, and times of a collective on every rank.

The parsers of OSU's and IMB's logs, `osu` and `imb`, collect rows and say which lines they left
out. The n-way dissemination benchmark of cloud_noise (De Sensi et al., arXiv 2210.15315) writes the
time of each rank, separated by spaces, a line an iteration.

nccl-tests and rccl-tests print a row for each size, with times out of place and in place. Sizes are
those of the whole buffer. Older versions do not name their program, such as all_reduce_perf; a
job's log has its command, else sizes, counts and bandwidths tell which collective it may be.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...fields import StoredText, counted, reads_as_number, shorten
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
        """Add a row: words by the names of their columns, times in microseconds."""
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
        """Add the good rows of a table whose columns have names."""
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
    """The reader of rows in a job's log; it counts the lines that only look like rows."""

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
        """End the table; numbers in lines below it may have been meant for it."""
        self._lines += [line for line in self._below if line[1].lstrip()[:1].isdecimal()]
        self._below = []

    def outside(self, line: int, content: str) -> None:
        """Note a line that belongs to no table, if it is one of numbers."""
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


_PERFS = {"all_reduce": "allreduce", "all_gather": "allgather", "reduce_scatter": "reduce_scatter",
          "alltoall": "alltoall", "alltoallv": "", "broadcast": "broadcast", "reduce": "reduce",
          "gather": "gather", "scatter": "scatter", "sendrecv": "", "hypercube": ""}  # fmt: skip
"""Programs of nccl-tests, without their _perf: the collective that each times, "" for others."""
_PERF = re.compile(rf"(?:^|[\s/])({'|'.join(_PERFS)})_perf(?:_mpi)?(?=\s|$)")
_NCCL_TABLE = re.compile(
    r"^#[ \t]{1,40}size[ \t]{1,40}count[ \t]{1,40}type[ \t].{0,80}\btime[ \t]{1,40}algbw[ \t]{1,40}"
    r"busbw\b.{0,80}$",
    re.MULTILINE,
)
_NCCL_START = re.compile(r"#[ \t]{0,9}nThreads?:? \d{1,9} n[Gg]pus:? \d")
_NCCL_NUMBER = re.compile(r"\b((?:warmup |agg )?iters): ?(\d{1,9})\b")
_NCCL_RANK = re.compile(r"#[ \t]{1,40}Rank[ \t]{1,9}(\d{1,9})[ \t].{0,40}\bPid\b")
_NCCL_UNITS = re.compile(r"#[ \t]{1,60}\(B\)[ \t]{1,40}\(elements\)[ \t]{1,80}\(us\)[ \t]")
_BYTES_OF_TYPE = {
    1: ("int8", "uint8", "char", "fp8_e4m3", "fp8_e5m2", "f8e4m3", "f8e5m2"),
    2: ("half", "bfloat16", "float16"),
    4: ("int32", "uint32", "int", "float"),
    8: ("int64", "uint64", "double"),
}
_SAME = 0.05  # by so much a ratio of two bandwidths may be off, as they are rounded


@dataclass
class _Run(LogTable):
    """A run of one program of nccl-tests; `program` "" where the log does not name it."""

    program: str = ""
    ranks: int = 0
    iterations: int = 0
    aggregated: int = 1
    has_units: bool = False


def _nccl_runs(text: TextFile, left_out: LeftOut) -> list[_Run]:
    """All runs, in their order; rows that are cut off go to `left_out`."""
    found: list[_Run] = []
    program, run = "", _Run(0, None)
    ranks: set[int] = set()
    for line, content in enumerate(text.lines, 1):
        words = content.split()
        named = _PERF.search(content[:4000])
        if _NCCL_START.match(content):
            run = _Run(line, None, program=program)
            program, ranks = "", set()
            numbers = dict(_NCCL_NUMBER.findall(content))
            run.iterations = int(numbers.get("iters", 0))
            run.aggregated = int(numbers.get("agg iters", 1)) or 1
        elif match := _NCCL_RANK.match(content):
            ranks.add(int(match[1]))
        elif _NCCL_TABLE.match(content):
            if run.names is not None:
                raise text.error(
                    line,
                    "a second table begins without a line `# nThread` above: several processes "
                    "wrote at once, as those of a build without MPI do",
                )
            run.names, run.line = words[1:], line
            run.ranks = len(ranks) if ranks == set(range(len(ranks))) else 0
            found.append(run)
        elif _NCCL_UNITS.match(content):
            run.has_units = True
        elif named and "concluded" in content:
            run.program = run.program or named[1]
        elif named and run.line and run.names is None:
            run.program = named[1]
        elif named:  # what follows is another run
            program, run = named[1], _Run(0, None)
        elif words and words[0].isdecimal() and run.names is not None:
            if len(words) == len(run.names):
                run.rows.append((line, words))
            elif len(words) > 1:
                left_out.add(line, content, "it is cut off, or no row")
    return found


def _read_nccl(text: TextFile, options: Options) -> Measured:
    """A table for each collective, with the out-of-place times of all its runs."""
    left_out = LeftOut(text)
    found = Collectives(text)
    notes: list[str] = []
    others: list[str] = []
    for run in _nccl_runs(text, left_out):
        ranks = options.ranks or run.ranks
        if not run.has_units:
            raise text.error(run.line, "has no line of units with (us) below its columns")
        if "time" not in (run.names or ()):
            others.append(f"line {run.line}: it has no column `time` (-C reports CPU time)")
            continue
        if ranks == 1:
            others.append(f"line {run.line}: of one rank alone (a build without MPI?)")
            continue
        if run.rows and not run.program:
            operation = _collective_of_columns(text, run, ranks)
            notes.append(
                f"the log does not name the program above line {run.line}: by its columns it is "
                f"{operation}{' (sendrecv may print the same)' * (operation == 'allreduce')}"
            )
        else:
            operation = _PERFS.get(run.program, "")
        if not operation:
            others.append(f"line {run.line}: {run.program or 'a table without rows'}")
            continue
        _add_nccl_rows(found, run, operation, ranks, left_out)
        if run.aggregated > 1:
            notes.append(
                f"{run.aggregated} operations were launched together (-m): a time is a part of "
                "theirs, and less than that of one alone"
            )
    if others:
        notes.append(f"left out, other tests: {'; '.join(others[:_MAX_NOTES])}")
    if not found.rows:
        left_out.check_nothing()
        if others:
            raise text.error(None, f"has no times of a collective: {'; '.join(others[:3])}")
    if not options.ranks and any(row["ranks"] == 0 for rows in found.rows.values() for row in rows):
        notes.append(StoredText(
            "the file does not list its ranks, whose number is 0 here (give ", "ranks", ")"
        ))  # fmt: skip
    notes = [
        "times are out of place, the mean over iterations that follow each other without a "
        "barrier, and over ranks unless -a was given: no single iteration, no spread",
        *dict.fromkeys(notes),
        *left_out.notes(),
    ]
    return Measured(found.tables(), "nccl", {"tool": "nccl-tests or rccl-tests"}, tuple(notes))


def _add_nccl_rows(
    found: Collectives, run: _Run, operation: str, ranks: int, left_out: LeftOut
) -> None:
    """Add the good rows of a run, whose sizes become those of each rank's block."""
    text, names = found.text, run.names or []
    wrong = next((at for at, name in enumerate(names) if name in ("#wrong", "error")), None)
    time = names.index("time")
    for line, words in run.rows:
        size = text.integer(line, words[0], "size", high=MAX_COUNT)
        if operation != "reduce_scatter":
            size = text.integer(line, words[1], "count", high=MAX_COUNT) * _element(
                text, line, words
            )
        said = words[wrong] if wrong is not None else "0"
        bad = reads_as_number(said) and float(said) > 0 and names[wrong or 0] == "#wrong"
        if bad:
            left_out.add(line, text.lines[line - 1], "its data were wrong (#wrong)")
        elif not size:
            left_out.add(line, text.lines[line - 1], "it moves no data")
        else:
            known = {"ranks": ranks, "bytes": size}
            if run.iterations:
                known["iterations"] = run.iterations * run.aggregated
            found.add(line, operation, ["mean"], [words[time]], **known)


def _element(text: TextFile, line: int, words: list[str]) -> int:
    """The bytes of one element of a row's type."""
    for size, names in _BYTES_OF_TYPE.items():
        if words[2] in names:
            return size
    raise text.error(line, f"has a type that is not known, {shorten(words[2])}")


def _collective_of_columns(text: TextFile, run: _Run, ranks: int) -> str:
    """The collective of a table without a name, inferred from sizes, counts, roots and bandwidths.

    Sizes are those of the whole buffer: N times a count where each rank has its own part.
    """
    names = run.names or []
    row = dict(zip(names, run.rows[0][1], strict=False))
    rooted = row.get("root", "-1") != "-1"
    reduces = row.get("redop", "none") != "none"
    sizes = [
        (int(size), text.integer(at, count, "count", high=MAX_COUNT) * _element(text, at, words))
        for at, words in run.rows
        for size, count in [words[:2]]
        if int(size)
    ]
    whole = bool(sizes) and all(size == count for size, count in sizes)
    parts = bool(sizes and ranks) and all(size == count * ranks for size, count in sizes)
    if whole and not parts and rooted:
        return "reduce" if reduces else "broadcast"
    if whole and not parts and reduces:
        ratio = 2 * (ranks - 1) / ranks if ranks else 0.0
        bandwidths = (
            [words[names.index(key)] for key in ("algbw", "busbw")] for _, words in run.rows
        )
        fast = [(float(alg), float(bus)) for alg, bus in bandwidths
                if reads_as_number(alg) and reads_as_number(bus) and float(alg) >= 1]  # fmt: skip
        if not ratio or all(abs(bus / alg / ratio - 1) < _SAME for alg, bus in fast):
            return "allreduce"
    if parts and not whole and reduces and not rooted:
        return "reduce_scatter"
    raise text.error(
        run.line,
        "does not name its program, and its columns may be those of several collectives: put a "
        "line with its name above, such as `all_gather_perf`, as the command of a job's log has it",
    )


FORMATS = (
    Format(
        "dissemination",
        "times of a dissemination on every rank",
        sign=lambda head: _HEAD.match(head.lstrip()),
        read=_read_dissemination,
    ),
    Format(
        "nccl",
        "nccl-tests and rccl-tests",
        ("ranks",),
        sign=_NCCL_TABLE.search,
        read=_read_nccl,
    ),
)
