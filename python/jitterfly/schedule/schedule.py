"""`Schedule`: a schedule read from GOAL text or LogGOPSim's binary file; its marks.

Marks are operations that end an iteration (time step) of the application. GOAL has none. A mark is
a set of operations, of one rank or of several; it is reached when the last of them is done. Marks
are in a file, or are the operations with a tag that the program gave the messages of its
iterations.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..backends import core
from ..fields import shorten
from ..files import compression, open_input, read_whole, replacing
from ..units import from_ticks, show_seconds

KINDS = {"send": 1, "recv": 2, "calc": 3}
"""The engine's numbers of the kinds of operations, by GOAL's words."""
_LINE = re.compile(r"line (?P<line>[0-9]+): (?P<what>.*)", re.DOTALL)
_BEGINNINGS = (b"JFGOAL", (4223).to_bytes(8, "little"), (2342).to_bytes(8, "little"))
_COMMENTS = re.compile(rb"(?:\s|//[^\n]*\n|/\*.*?\*/)*", re.DOTALL)


class Marks(NamedTuple):
    """The names of marks in their order, and of each operation the number of its mark."""

    names: tuple[str, ...]
    of: npt.NDArray[np.uint32]


class Schedule:
    r"""The operations of an application's ranks, and what they wait for.

    A rank calculates (``calc``), sends (``send``) and receives (``recv``), on one or several CPUs.
    An operation may require that others are done (``requires``) or have begun (``irequires``).
    `read` makes one, and so does a `ScheduleBuilder`. It is the `schedule` of `simulate_schedule`
    and of `explain_schedule`: ``jf.simulate_schedule(schedule, "L=1us,o=200ns")``.

    Attributes
    ----------
    name : str
        The file's name.
    ranks, cpus, nics : int
        How many ranks there are, and how many CPUs and network interfaces of each are named.
    operations, calculations, messages : int
        How many there are in all ranks together.
    message_sizes : int64 array
        The sizes of messages in bytes, each once, in ascending order.
    marks : Marks or None
        Ends of iterations that a `ScheduleBuilder` was told of: GOAL has none.

    Examples
    --------
    >>> import jitterfly as jf
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> text = "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}"
    >>> with TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "two.goal").write_text(text)
    ...     jf.Schedule.read(Path(folder) / "two.goal")
    Schedule('two.goal': 2 ranks, 2 operations, 1 message)
    """

    def __init__(self, name: str, mapped: core.Schedule, path: Path | None = None) -> None:
        self.name = name
        self.marks: Marks | None = None
        self._mapped = mapped
        self._path = path  # of a text: where its labels stand

    @classmethod
    def read(cls, path: str | Path) -> Schedule:
        """Read GOAL text, LogGOPSim's binary, or what `write` has written.

        The schedule is translated into a temporary file (in ``TMPDIR``), which is mapped: no more
        than the largest rank is in memory meanwhile.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        Schedule

        Raises
        ------
        ValueError
            It can not be read, or is malformed: the message names the line of a text. A receive
            from any source or with any tag is refused. The temporary file can not be written.

        Notes
        -----
        GOAL: Hoefler, Siebert & Lumsdaine, ICPP 2009. The text is what LogGOPSim's ``txt2bin``
        takes, and the binary what it makes. Sizes are bytes, times of ``calc`` are ns. A rank that
        sends to itself is refused.
        """
        path = Path(path)
        try:
            with open_input(path) as given, _temporary_file(path) as file:
                begin = given.read(8)
                if compressed := compression(begin):
                    raise ValueError(f"{path}: {compressed}")
                text = not begin.startswith(_BEGINNINGS)
                mapped = core.read_schedule(str(path), file.fileno())
                return cls(path.name, mapped, path.absolute() if text else None)
        except OSError as error:
            raise ValueError(f"{path} can not be read ({error.strerror})") from None
        except core.NotWritten as error:
            raise ValueError(_no_temporary_file(path, str(error))) from None
        except (ValueError, RuntimeError) as error:
            known = str(error).startswith(str(path))
            raise ValueError(str(error) if known else in_file(path, error)) from None

    def write(self, path: str | Path) -> None:
        """Write the translated schedule: `read` takes it without translating it again.

        Its marks are not in the file: `ScheduleBuilder.write` has a file for them.

        Raises
        ------
        ValueError
            The file can not be written.
        """
        path = Path(path)
        try:
            with replacing(path) as temporary, temporary.open("w+b") as file:
                self._mapped.write(file.fileno())
        except (OSError, RuntimeError) as error:
            raise ValueError(f"{path}: {getattr(error, 'strerror', error)}") from None

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what pickle and copies take: the text as `write` writes it.

        A result carries its schedule. Where many results are sent to other processes, `to_xarray`
        of them is smaller.
        """
        with _temporary_file(Path(self.name)) as file:
            self._mapped.write(file.fileno())
            file.seek(0)
            return schedule_of, (self.name, [file.read()], self._path, self.marks)

    def __repr__(self) -> str:
        return f"Schedule({self.name!r}: {self.summary()})"

    def summary(self) -> str:
        """Say how large it is."""
        counts = [(self.ranks, "rank"), (self.operations, "operation"), (self.messages, "message")]
        return ", ".join(f"{n:,} {what}{'' if n == 1 else 's'}" for n, what in counts)

    @property
    def ranks(self) -> int:
        return self._mapped.ranks

    @property
    def cpus(self) -> int:
        return self._mapped.cpus

    @property
    def nics(self) -> int:
        return self._mapped.nics

    @property
    def operations(self) -> int:
        return self._mapped.operations

    @property
    def calculations(self) -> int:
        return self._mapped.operations - self._mapped.sends - self._mapped.receives

    @property
    def messages(self) -> int:
        return self._mapped.sends

    @property
    def message_sizes(self) -> npt.NDArray[np.int64]:
        return np.array(self._mapped.sizes, dtype=np.int64)


def schedule_of(
    name: str, parts: Iterable[bytes], path: Path | None = None, marks: Marks | None = None
) -> Schedule:
    """Make a schedule of what its file would hold; `path` is the file of a text with labels."""
    with _temporary_file(Path(name)) as file:
        file.writelines(parts)
        file.flush()
        schedule = Schedule.read(f"/proc/self/fd/{file.fileno()}")
    schedule.name, schedule._path, schedule.marks = name, path, marks
    return schedule


def _temporary_file(path: Path) -> IO[bytes]:
    try:
        return tempfile.TemporaryFile()
    except OSError as error:
        raise ValueError(_no_temporary_file(path, error.strerror or str(error))) from None


def _no_temporary_file(path: Path, why: str) -> str:
    """Return the message of an error: the translated schedule can not be written down."""
    try:
        folder = tempfile.gettempdir()
    except OSError:  # no folder can be written, which is why
        folder = "TMPDIR, /tmp or the current folder"
    return (
        f"{path}: the schedule is translated into a temporary file, which can not be written in "
        f"{folder} ({why}): set TMPDIR to a folder with room for about 32 bytes for each operation"
    )


def in_file(path: str | Path, error: Exception) -> str:
    """Say what is wrong with a schedule, with the name of its file before the line."""
    found = _LINE.fullmatch(str(error))
    return f"{path}, line {found['line']}: {found['what']}" if found else f"{path}: {error}"


def looks_like_schedule(path: Path) -> bool:
    """Return whether a file is a schedule, by its name or by how it begins."""
    if path.suffix == ".goal" or Path(path.stem).suffix == ".goal":  # app.goal.gz: `read` says so
        return True
    try:
        with open_input(path) as file:
            begin = file.read(4096)
    except (OSError, ValueError):  # there is none: who reads it says so
        return False
    return begin.startswith(_BEGINNINGS) or _COMMENTS.sub(b"", begin, count=1).startswith(
        b"num_ranks"
    )


NO_MARK = 2**32 - 1
NO_MARKS = Marks((), np.zeros(0, dtype=np.uint32))
MAX_MARKS = 100_000
_KIND, _TAG = 0, 3  # columns of operations_of
_PATTERN = re.compile(r" *[a-z]+ *=[^,=]*(, *[a-z]+ *=[^,=]*)*")
_STATEMENT = re.compile(
    r"\brank\s+(?P<rank>[0-9]+)\s*\{"
    r"|(?:\b(?P<label>\w+)\s*:\s*)?\b(?P<kind>calc|send|recv)\s+(?=[0-9])"
)


def read_marks(schedule: Schedule, text: str | Path) -> Marks:
    """The marks of a schedule: of a file of lines ``NAME RANK LABEL``, or by tag.

    Parameters
    ----------
    schedule : Schedule
    text : str or Path
        A file. Or a pattern, "tag=7": the operations of each rank with this tag, one after the
        other, each of them the end of an iteration; "tag=7,every=2": each second of them;
        "tag=7,kind=recv": of receives alone.

    Raises
    ------
    ValueError
        What is wrong, with the line of the file.
    """
    if not isinstance(text, (str, Path)):
        raise ValueError(f"marks must be a file, or text such as 'tag=7', got {shorten(text)}")
    if is_pattern(text):
        return _by_tag(schedule, str(text))
    return _from_file(schedule, Path(text))


def is_pattern(text: str | Path) -> bool:
    """Return whether a text is a pattern such as "tag=7" and no file."""
    return isinstance(text, str) and _PATTERN.fullmatch(text) is not None


def check_marks(names: Sequence[str], reached: Sequence[int]) -> None:
    """Raise ValueError where marks stand in another order than they are reached without noise.

    The time since the mark before would be below 0.
    """
    for i in range(1, len(names)):
        if reached[i] < reached[i - 1]:
            before, after = (show_seconds(float(from_ticks(reached[j]))) for j in (i - 1, i))
            raise ValueError(
                f"marks: {names[i]} is reached at {after} without noise, and {names[i - 1]}, which "
                f"stands before it, at {before}: give marks in the order in which they are reached"
            )


def _by_tag(schedule: Schedule, text: str) -> Marks:
    """Return the marks of a pattern such as "tag=7,every=2": they are numbered in their order."""
    pairs = (part.split("=") for part in text.split(","))
    given = {key.strip(): value.strip() for key, value in pairs}
    if "tag" not in given or not set(given) <= {"tag", "every", "kind"}:
        raise ValueError(f"marks: {shorten(text)} must have tag, and may have every and kind")
    tag, every = (
        _read_count(given["tag"], "tag", 0),
        _read_count(given.get("every", "1"), "every", 1),
    )
    kind = given.get("kind")
    if kind not in (None, "send", "recv"):
        raise ValueError(f"marks: kind must be send or recv, got {shorten(kind)}")
    of = np.full(schedule.operations, NO_MARK, dtype=np.uint32)
    counts: dict[int, int] = {}
    for rank, begin in enumerate(schedule._mapped.begins[: schedule.ranks]):
        operations = schedule._mapped.operations_of(rank)
        kinds = operations[:, _KIND]
        wanted = kinds != KINDS["calc"] if kind is None else kinds == KINDS[kind]
        there = np.flatnonzero(wanted & (operations[:, _TAG] == tag))
        if not len(there):
            continue
        counts.setdefault(len(there), rank)
        if len(counts) > 1:
            (one, first), (other, second) = counts.items()
            raise ValueError(
                f"marks: rank {first} has {one:,} operations with tag {tag}, rank {second} has "
                f"{other:,}: they must have as many, or marks stand in a file"
            )
        of[begin + there] = np.arange(len(there)) // every
    if not counts:
        raise ValueError(f"marks: no operation of {schedule.name} has tag {tag}")
    (count,) = counts
    if count % every:
        raise ValueError(f"marks: ranks have {count:,} operations with tag {tag}, which is no "
                         f"multiple of every = {every:,}")  # fmt: skip
    _check_mark_count(count // every)
    return Marks(tuple(str(i + 1) for i in range(count // every)), of)


def _read_count(text: str, name: str, least: int) -> int:
    """Return the integer in a text, at least `least`; anything else is a ValueError."""
    if not re.fullmatch("[0-9]{1,10}", text) or int(text) < least:
        raise ValueError(f"marks: {name} must be an integer of at least {least}, "
                         f"got {shorten(text)}")  # fmt: skip
    return int(text)


def _from_file(schedule: Schedule, path: Path) -> Marks:
    """Return the marks of a file, each line of which is a name, a rank, and a label or #number."""
    try:
        lines = read_whole(path).decode().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        what = getattr(error, "strerror", None) or error
        raise ValueError(f"marks: {path} can not be read ({what})") from None
    rows = []
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        where = f"{path}, line {number}"
        if len(words) != 3 or not re.fullmatch("[0-9]{1,9}", words[1]):
            raise ValueError(f"{where}: expected NAME RANK LABEL, got {shorten(line)}")
        if int(words[1]) >= schedule.ranks:
            raise ValueError(f"{where}: there is no rank {words[1]}, ranks are 0 to "
                             f"{schedule.ranks - 1:,}")  # fmt: skip
        rows.append((where, words[0], int(words[1]), words[2]))
    if not rows:
        raise ValueError(f"{path}: there are no marks")
    named = {rank for _, _, rank, label in rows if not label.startswith("#")}
    labels = _labels(schedule, named) if named else {}
    names: dict[str, int] = {}
    of = np.full(schedule.operations, NO_MARK, dtype=np.uint32)
    ends = schedule._mapped.begins[1:]
    for where, name, rank, label in rows:
        begin = schedule._mapped.begins[rank]
        if label.startswith("#"):
            digits = label[1:]
            place = int(digits) if re.fullmatch("[0-9]{1,10}", digits) else -1
            if not 0 <= place < ends[rank] - begin:
                raise ValueError(f"{where}: rank {rank} has {ends[rank] - begin:,} operations, "
                                 f"counted from #0; got {shorten(label)}")  # fmt: skip
        elif (rank, label) in labels:
            place = labels[rank, label]
        else:
            raise ValueError(f"{where}: rank {rank} has no operation {shorten(label)}")
        if of[begin + place] != NO_MARK:
            raise ValueError(f"{where}: the operation has a mark already")
        of[begin + place] = names.setdefault(name, len(names))
    _check_mark_count(len(names))
    return Marks(tuple(names), of)


def _check_mark_count(count: int) -> None:
    if count > MAX_MARKS:
        raise ValueError(f"marks: there are {count:,}, at most {MAX_MARKS:,} can be kept")


def _labels(schedule: Schedule, ranks: set[int]) -> dict[tuple[int, str], int]:
    """The number of each labelled operation of some ranks, from the text."""
    if schedule._path is None:
        raise ValueError(f"marks: {schedule.name} is no text and has no labels: name operations "
                         "by their number in their rank, from #0")  # fmt: skip
    found: dict[tuple[int, str], int] = {}
    rank, count = -1, 0
    for line in _lines_without_comments(schedule._path):
        for match in _STATEMENT.finditer(line):
            if match["rank"] is not None:
                rank, count = int(match["rank"]), 0
                continue
            if match["label"] is not None and rank in ranks:
                found[rank, match["label"]] = count
            count += 1
    return found


def _lines_without_comments(path: Path) -> Iterator[str]:
    """Yield the lines of a schedule in text without its comments, for the labels in it."""
    inside = False
    try:
        with open_input(path) as file:
            for raw in file:
                line, kept = raw.decode(errors="replace"), ""
                while line:
                    if inside:
                        _, closed, line = line.partition("*/")
                        inside = not closed
                        continue
                    begin = re.search(r"//|/\*", line)
                    kept += line[: begin.start()] if begin else line
                    inside = begin is not None and begin[0] == "/*"
                    line = line[begin.end() :] if inside and begin else ""
                yield kept
    except OSError as error:
        raise ValueError(f"marks: {path} can not be read again for its labels "
                         f"({error.strerror})") from None  # fmt: skip
