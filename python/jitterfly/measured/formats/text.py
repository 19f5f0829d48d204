"""Text of a file with line numbers, import options, `Format` and `FormatError`, for all parsers."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ...fields import check_choice, check_integer, shorten
from ...files import MAX_BYTES, compression, open_input
from ..measurements import Measured
from .other_tools import why_not_read

HEAD_BYTES = 2**16
"""A format is recognised by this many bytes at the beginning."""


class FormatError(ValueError):
    """A file that cannot be read: ``FILE, line 17: what``, or ``FILE: what`` for all of it."""

    def __init__(self, file: str, line: int | None, what: str) -> None:
        super().__init__(f"{file}{'' if line is None else f', line {line}'}: {what}")
        self.file = file
        self.line = line
        self.what = what


class UnknownFormat(FormatError):
    """A file that is of no format that is read; `binary` where it is not even text."""

    def __init__(self, file: str, what: str, binary: bool = False) -> None:
        super().__init__(file, None, what)
        self.binary = binary


class OtherTool(FormatError):
    """A file that is known for what it is, and not read: no other reading of it makes sense."""


# What stands in front of each line of a job's log: labels of Open MPI (--tag-output, also with
# --timestamp-output), MPICH (-prepend-rank) and Slurm (--label), then dates of a CI's log, of a
# system's. The group is the process, where a label has one.
_LABELS = (
    rb"(?:[^\n<>\[]{0,80}(?:(\[[^\]\n]{1,60}\])[^\n<>]{0,60})?)<std(?:out|err|diag)>:[ ]?",
    rb"\[(?:rank )?([0-9]{1,8})\][ ]",
    rb"(?:>[ ]?){1,4}()",
    rb"[ ]{0,8}([0-9]{1,8}):[ ]?",
    rb"\[?[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?"
    rb"(?:Z|[+-][0-9]{2}:?[0-9]{2})?\]?:?()(?: [0-9]{2}[OE][+ ]?)?[ ]?",
    rb"[A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2} (\S{1,60} \S{1,60}):[ ]",
    rb"\[?[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?\]?()[ ]",
)
_LABELLED = 0.75  # of the lines at the beginning have the label, where there is one
_LABELLED_AT_ONCE = 200  # lines
_MAX_PIECES, _MIN_ROWS, _WIDEST_IN_MAIL = 4, 3, 100  # of lines that a mail program broke
_LABELLED_TITLE = rb"[ \t]{0,8}#[ \t]{1,4}(?:OSU [A-Z]|Benchmarking [A-Z])"


@dataclass(frozen=True)
class Options:
    """Each is None unless given. A format lists those it takes in its `OPTIONS`.

    Parameters
    ----------
    clock_hz : float, optional
        Cycles of the time-stamp counter in a second, above 0.
    unit : str, optional
        Unit of times without one: "s", "ms", "us", "ns", "ps", or "cycles" (with clock_hz).
    quantum : float, optional
        Seconds, length of a quantum (FTQ).
    runtime, period : float, optional
        Seconds: how long a thread (of osnoise, hwlatdetect) looks for noise in each period.
    threshold : float, optional
        Seconds: shorter noise was not recorded.
    width : float, optional
        Seconds, width of the bins of a histogram.
    ranks : int, optional
        Of a collective.
    events : str, optional
        Which events of a trace are the detours: "samples" or "sources".
    length : float, optional
        Seconds observed, where a file does not say it.
    cpus : int, optional
        CPUs that were observed, 0 to cpus - 1: those of which there is no detour had none.
    """

    clock_hz: float | None = None
    unit: str | None = None
    quantum: float | None = None
    runtime: float | None = None
    period: float | None = None
    threshold: float | None = None
    width: float | None = None
    ranks: int | None = None
    events: str | None = None
    length: float | None = None
    cpus: int | None = None

    def __post_init__(self) -> None:
        for name in ("clock_hz", "quantum", "runtime", "period", "threshold", "width", "length"):
            value = getattr(self, name)
            if value is not None and not 0 < value < 1e15:
                raise ValueError(f"{name} must be above 0, got {shorten(value)}")
        if self.ranks is not None:
            check_integer(self.ranks, "ranks", 1, 2**30)
        if self.cpus is not None:
            check_integer(self.cpus, "cpus", 1, 4096)
        if self.events is not None:
            check_choice(self.events, "events", ("samples", "sources"))

    def given(self) -> tuple[str, ...]:
        """Names of the options that are not None."""
        fields = (field.name for field in dataclasses.fields(self))
        return tuple(name for name in fields if getattr(self, name) is not None)


class TextFile:
    """A text file: its bytes with line ends of one letter, its lines, errors that name them.

    Lines count from 1, as in an editor. `name` is what messages call the file.
    """

    def __init__(self, name: str, content: bytes) -> None:
        self.name = name
        self.sha256 = hashlib.sha256(content).hexdigest()
        if compressed := compression(content):
            raise self.error(None, compressed)
        if content.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise self.error(None, "is text in UTF-16; save it as UTF-8")
        zero = content.find(b"\0")
        if zero >= 0:
            self.check_not_of_another_tool(content[:HEAD_BYTES].decode("latin-1"))
            raise UnknownFormat(name, f"is not text: byte {zero} is 0", binary=True)
        content = content.removeprefix(b"\xef\xbb\xbf")
        if b"\r" in content:
            content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self.data = _without_labels(content)

    @cached_property
    def head(self) -> str:
        """The beginning, by which a format is recognised."""
        return self.data[:HEAD_BYTES].decode("utf-8", "replace")

    @cached_property
    def lines(self) -> list[str]:
        """All lines without their ends: line n is ``lines[n - 1]``. Costly where it is large."""
        return self.data.decode("utf-8", "replace").split("\n")

    def error(self, line: int | None, what: str) -> FormatError:
        """An error to raise; `line` None for the file as a whole."""
        return FormatError(self.name, line, what)

    def check_not_of_another_tool(self, head: str | None = None) -> None:
        """Raise OtherTool where the file begins as one that a known tool writes, and none reads."""
        if why := why_not_read(self.head if head is None else head, self.name):
            raise OtherTool(self.name, None, why)

    def without_labels(self, recognise: Callable[[str], object], nested: int = 2) -> TextFile:
        """Remove what a launcher or a log put in front of each line, or both of them.

        Parameters
        ----------
        recognise : callable
            Whether a file that begins so is of a known tool: without it, no label is removed.
        nested : int
            How many labels may stand in front of each other.

        Returns
        -------
        TextFile
            With as many lines: those of other processes are empty. This file, if there is no label.

        Raises
        ------
        FormatError
            Several processes have written what is recognised.
        """
        for label in _LABELS:
            pattern = re.compile(rb"^" + label, re.MULTILINE)
            processes = self._labelled_processes(pattern)
            if processes is None:
                continue
            # A large file is changed only once its beginning has shown what it is.
            beginning = self._with(self.data[:HEAD_BYTES])
            if len(processes) < 2:
                bare = beginning._with(pattern.sub(b"", beginning.data))
                inner = bare.without_labels(recognise, nested - 1) if nested > 1 else bare
                if inner is bare and not recognise(bare.head):
                    continue
                whole = self._with(pattern.sub(b"", self.data))
                return whole if inner is bare else whole.without_labels(recognise, nested - 1)
            known = [
                one for one in processes if recognise(beginning._of_process(pattern, one).head)
            ]
            if len(known) == 1:
                return self._of_process(pattern, known[0])
            if known:
                names = ", ".join(process.decode("utf-8", "replace") for process in known[:4])
                raise self.error(
                    None,
                    f"has the output of several processes ({names}{', ...' * (len(known) > 4)}), "
                    "each with a label in front of its lines: give the lines of one of them",
                )
        return self

    def _labelled_processes(self, label: re.Pattern[bytes]) -> list[bytes] | None:
        """Return the processes that a label names, in order; None: too few lines have the label."""
        lines = [line for line in self.head.encode().split(b"\n") if line.strip()]
        lines = lines[:_LABELLED_AT_ONCE]
        matches = [match for line in lines if (match := label.match(line))]
        if not matches or len(matches) < _LABELLED * len(lines):
            return None
        return list(dict.fromkeys(match[1] for match in matches if match[1]))

    def _of_process(self, label: re.Pattern[bytes], process: bytes) -> TextFile:
        """The lines of one process, without its label; the others are empty."""
        lines = []
        for line in self.data.split(b"\n"):
            match = label.match(line)
            lines.append(line[match.end() :] if match and match[1] == process else b"")
        return self._with(b"\n".join(lines))

    def _with(self, data: bytes) -> TextFile:
        """The same file, with other data."""
        other = copy.copy(self)
        for name in ("head", "lines"):
            other.__dict__.pop(name, None)
        other.data = data
        return other

    def broken_lines(self) -> str:
        """Say, for an error, that long lines may be in pieces, as in a mail; "" if none look so.

        They do where lines of a table have by turns as many words as the pieces of a line have.
        """
        lines = [line for line in whole_lines(self.head) if line.lstrip()[:1] not in ("#", "-")]
        counts = [len(line.split()) for line in lines]
        for pieces in range(2, _MAX_PIECES + 1):
            rows = _MIN_ROWS * pieces
            for at in range(len(counts) - rows + 1):
                first, some = counts[at : at + pieces], counts[at : at + rows]
                short = max(map(len, lines[at : at + rows])) <= _WIDEST_IN_MAIL
                if short and len(set(first)) > 1 and some == first * _MIN_ROWS:
                    return (
                        "; its lines look broken in pieces, as mail programs do it: give the file "
                        "with whole lines, as the tool printed them"
                    )
        return ""

    @contextmanager
    def errors_at(self, line: int | None, where: str = "") -> Iterator[None]:
        """Say of a `ValueError` that it is of this line, and where else it is."""
        try:
            yield
        except ValueError as error:
            raise self.error(line, f"{where}{error}") from None

    def number(self, line: int, word: str, what: str) -> float:
        """A finite float, or an error that names the line, what it should be, and what it is."""
        try:
            value = float(word)
        except ValueError:
            value = float("nan")
        if not abs(value) < float("inf") or "_" in word:
            raise self.error(line, f"{what} must be a number, got {shorten(word)}")
        return value

    def integer(
        self, line: int | None, word: str, what: str, low: int = 0, high: int = 2**62
    ) -> int:
        """An integer in a range, or an error that names the line."""
        try:
            value = int(word) if len(word) <= 40 and "_" not in word else None
        except ValueError:
            value = None
        if value is None or not low <= value <= high:
            raise self.error(line, f"{what} must be an integer from {low}, got {shorten(word)}")
        return value


@dataclass(frozen=True)
class Format:
    """A format of files with measurements.

    Parameters
    ----------
    name : str
        As `format` and noise files have it.
    title : str
        What it is, for people.
    options : tuple of str
        The fields of `Options` that it takes; others are errors.
    sign : callable
        Whether a file that begins so (up to 64 KiB of text) is of this format. Cheap, never raises.
    read : callable
        The measurement. Raises FormatError (`text.error(line, what)`), and no other error.
    """

    name: str
    title: str
    options: tuple[str, ...] = ()
    sign: Callable[[str], object] = field(kw_only=True)
    read: Callable[[TextFile, Options], Measured] = field(kw_only=True)

    def recognise(self, head: str) -> bool:
        """Return whether a file's beginning is of this format."""
        return bool(self.sign(head))


def _without_labels(content: bytes) -> bytes:
    """The lines of a benchmark's job without what a launcher put in front of each."""
    head = content[:HEAD_BYTES]
    for label in _LABELS:
        if re.search(rb"^" + label + _LABELLED_TITLE, head, re.MULTILINE):
            return re.sub(rb"^" + label, b"", content, flags=re.MULTILINE)
    return content


def whole_lines(head: str) -> list[str]:
    """Lines of a beginning that are not blank, without a last one that may be cut off."""
    lines = head.split("\n")
    return [line for line in lines[: -1 if len(head) >= HEAD_BYTES // 4 else None] if line.strip()]


def open_text(path: str | Path) -> TextFile:
    """Read a file; also a pipe that this process was started with, such as /dev/stdin.

    Raises
    ------
    FormatError
        Longer than 1 GiB, compressed, or not text.
    ValueError
        No file: a device, a pipe with a name.
    OSError
        It cannot be read.
    """
    path = Path(path)
    with open_input(path, pipe=True) as file:
        first = file.read(HEAD_BYTES)
        TextFile(str(path), first)  # what is not text is not read to its end
        content = first + file.read(MAX_BYTES + 1 - len(first))
    if len(content) > MAX_BYTES:
        raise FormatError(str(path), None, "is longer than 1 GiB; import a part of it")
    return TextFile(str(path), content)
