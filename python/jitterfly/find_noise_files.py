"""The files that a case names (noise, schedules, tables), and the check of their SHA-256.

What identifies a case is the content (its SHA-256), not the name: a study that is resumed, merged
or moved sees the same noise, or stops. The format of such a file is in `measured.noisefile`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import shlex
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from multiprocessing import parent_process
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .fields import (
    Component,
    Converted,
    as_integer,
    check_integer,
    naming_other_options,
    option_of,
    shorten,
)
from .files import read_whole

if TYPE_CHECKING:
    from .measured import Measured


class UntrustedNoiseWarning(UserWarning):
    """A file of measured noise says that it is not to be trusted."""


STORED_STUDY, COPIES = "study.toml", "files"
"""In a store's directory: its study, and the folder with copies of the files that it names."""

_Folders = tuple[Path, Path | None]
_FOLDERS: ContextVar[_Folders] = ContextVar("folders", default=(Path(), None))


class FileName(str):
    """A file as the user named it, which also knows where it was found.

    A noise source that is made again elsewhere, changed a little, then keeps its file.
    """

    __slots__ = ("path",)
    path: Path

    def __new__(cls, name: str, path: Path) -> FileName:
        made = super().__new__(cls, name)
        made.path = path
        return made

    def __reduce__(self) -> tuple[type[FileName], tuple[str, Path]]:
        return FileName, (str(self), self.path)


class FileField(Converted[str | Path, FileName]):
    """A required field of a dataclass that takes the path of a file."""

    def __init__(self) -> None:
        super().__init__("str | Path")


@contextmanager
def files_from(folder: Path, copies: Path | None = None) -> Iterator[None]:
    """Make names of files relative to `folder` within it; `copies` holds some (`copy_name`)."""
    token = _FOLDERS.set((folder, copies))
    try:
        yield
    finally:
        _FOLDERS.reset(token)


def current_folders() -> _Folders:
    """The folders that `files_from` set last."""
    return _FOLDERS.get()


def copy_name(file: str) -> str:
    """The name of a copy of the file that a study calls `file`: ``alps-0f3c9a1b.out``."""
    path = Path(file)
    return f"{path.stem}-{hashlib.sha256(file.encode()).hexdigest()[:8]}{path.suffix}"


def files_of(part: Any) -> dict[str, Path]:
    """The files that a noise source, or a distribution, reads: by name, where they are."""
    file = getattr(part, "file", None)
    files = {str(file): file.path} if isinstance(file, FileName) else {}
    files |= getattr(part, "read_files", {})
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, Component):
                files |= files_of(one)
    return files


def find(file: Any, sha256: Any) -> tuple[FileName, str]:
    """The name of a file with its place, and the SHA-256 of its content as 64 hex digits.

    Raises
    ------
    ValueError
        It can not be read, or `sha256` is given and is another.
    """
    file = os.fspath(file) if isinstance(file, os.PathLike) else file
    if not isinstance(file, str) or not file or "\0" in file:
        raise ValueError(f"file must be the path of a file, got {shorten(file)}")
    if sha256 is not None and not (isinstance(sha256, str) and len(sha256) == 64):
        raise ValueError(f"sha256 must be the 64 hex digits of a SHA-256, got {shorten(sha256)}")
    path = _locate(file)
    if not path.exists() and isinstance(file, FileName):
        path = file.path
    digest = _check_content(path, file, sha256)
    return FileName(file, path), digest


def _locate(file: str) -> Path:
    folder, copies = _FOLDERS.get()
    if copies is not None and (copies / copy_name(file)).is_file():
        return (copies / copy_name(file)).absolute()
    return (folder / Path(file).expanduser()).absolute()


def _check_content(path: Path, file: str, expected: str | None) -> str:
    try:
        digest = digest_of(path)
    except OSError as error:
        raise ValueError(
            f"file: {file} can not be read ({error.strerror}; looked for at {path})"
        ) from None
    if expected is not None and digest != expected:
        raise ValueError(f"file: {file} has changed: its sha256 is {digest}, it must be {expected}")
    return digest


def digest_of(path: Path) -> str:
    """The SHA-256 of a file's content, 64 hex digits; a file that has changed is read again."""
    status = path.stat()
    return _digest(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=1024)  # while a run goes on, it is asked for again and again
def _digest(path: Path, changed: int, size: int) -> str:
    return hashlib.sha256(read_whole(path)).hexdigest()


def warn_of_distrust(measured: Measured, name: str) -> None:
    """Warn where a recording says that its numbers are not those of the machine's noise."""
    if "untrusted" in measured.source and parent_process() is None:  # workers repeat nothing
        text = f"{name} is not to be trusted: {measured.source['untrusted']}"
        warnings.warn(text, UntrustedNoiseWarning, stacklevel=2)


@lru_cache(maxsize=16)
def read(path: Path, sha256: str) -> Measured:
    """Read a file with this content.

    Raises
    ------
    FormatError
        It is malformed, or needs what a study can not say: how a file is read.
    """
    from .measured import FormatError, load  # only noise from files needs all formats
    from .measured.formats import OtherTool

    _check_content(path, str(path), sha256)
    try:
        with naming_other_options() as needed:
            measured = load(path)
        warn_of_distrust(measured, path.name)
        return measured
    except FormatError as error:
        command = "jitterfly noise import"
        known = isinstance(error, OtherTool) or command in error.what
        if error.line is not None or not needed or known:
            raise
        way = f"to `{command} {shlex.quote(str(path))}`, which makes a noise file of it"
        raise FormatError(error.file, None, f"{error.what}; {way}") from None


def choose(
    measured: Measured, part: Any, file: str, *, all_parts: bool = False, each: bool = False
) -> list[Any]:
    """Choose parts of a measurement: one, or all of them where the caller allows it.

    `each` is whether a caller knows "each", for the message alone.

    Raises
    ------
    ValueError
        There are several and `part` is None, or it is none of them.
    """
    parts = list(measured.parts)
    if part is None and len(parts) == 1:
        return parts
    if all_parts and isinstance(part, str) and part == "all":
        return parts
    named = [getattr(recording, "cpu", "") for recording in parts]
    listed = ", ".join(f"{i}: CPU {cpu}" for i, cpu in enumerate(named[:8]) if cpu)
    listed = f" ({listed}{', ...' if len(parts) > 8 else ''})" if listed else ""
    way = " or part = 'all'" if all_parts else ""
    way += " or part = 'each'" if each else ""
    if part is None:
        option = option_of("noise") if each else None
        way += "" if option is None else f" ({option} {file},part=each)"
        raise ValueError(
            f"file: {file} has {len(parts)} parts{listed}; choose one with part = 0 to "
            f"{len(parts) - 1}{way}"
        )
    if len(parts) == 1 and as_integer(part) != 0:
        raise ValueError(f"part must be left out: {file} has one part alone, got {shorten(part)}")
    return [parts[check_integer(part, "part", 0, len(parts) - 1)]]
