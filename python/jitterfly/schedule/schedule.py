"""`Schedule`: a schedule read from GOAL text or LogGOPSim's binary file."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..backends import core
from ..files import compression, open_input, replacing

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
    `read` makes one, and so does a `ScheduleBuilder`.

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
            raise ValueError(_no_room(path, str(error))) from None
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
    """A schedule of what its file would hold; `path` is where the labels of a text stand."""
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
        raise ValueError(_no_room(path, error.strerror or str(error))) from None


def _no_room(path: Path, why: str) -> str:
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
