"""File input and output: atomic writes (temporary file, fsync, rename), whole appends, read limits.

An append that fails, as on a full disk, is taken back (`append_whole`).

What is read or replaced is a regular file. A named pipe would block for ever, a device such as
/dev/zero has no end, and neither may be replaced by a file. What is written is never reached
through a symbolic link: a file that another one made of it would be changed.

Files that a case names (noise, schedules, tables) are identified by their content (SHA-256), not by
the name: a study that is resumed, merged or moved sees the same noise, or stops.
"""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import io
import math
import os
import re
import secrets
import shutil
import socket
import stat
import tempfile
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from .fields import Component, Converted, parameter, shorten
from .units import show_size

_COMPRESSED = {b"\x1f\x8b": "gzip", b"\xfd7zXZ": "xz", b"BZh": "bzip2", b"PK\x03\x04": "zip"}
#: Names that are not meant to stay: .NAME.HOST.PID.RANDOM.jf-tmp
_TEMPORARY = re.compile(r"\..+\.(?P<host>[^.]+)\.(?P<pid>[0-9]+)\.[0-9a-f]{16}\.jf-tmp", re.DOTALL)
_OLD = 24 * 3600  # seconds without a write, after which any temporary file is taken for left behind

#: Bytes of a text that people write, such as a study. Longer ones are refused.
MAX_TEXT = 2**24
#: Bytes of a measurement, or of what a program wrote. Longer ones are refused.
MAX_BYTES = 2**30


def check_replaceable(path: Path) -> None:
    """Raise ValueError where a new file must not take the place of what is there: of a device."""
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} must be a file, it is {_kind_of_file(path.stat().st_mode)}")


def check_output(path: Path) -> None:
    """Raise ValueError where no file can be written: before the work, not after.

    A device stays what it is; the directory has to be there, and to take a new file.
    """
    check_replaceable(path)
    if not path.parent.is_dir():
        raise ValueError(f"{path}: the directory {path.parent} does not exist")
    check_writable(path.parent, str(path))


def check_new(path: Path, force: bool, way: str = "") -> None:
    """Raise ValueError where a file can not be written, or is there and not to be replaced."""
    check_output(path)
    if path.exists() and not force:
        raise ValueError(f"{path} exists; {parameter('force')} replaces it{way}")


def check_writable(folder: Path, name: str) -> None:
    """Raise ValueError where a directory takes no new file, which is for `name`."""
    try:
        tempfile.TemporaryFile(dir=folder).close()  # has no name: nothing of it is ever seen
    except OSError as error:
        raise ValueError(
            f"{name} can not be written: {folder} takes no new files ({error.strerror})"
        ) from None


def make_directory(path: Path, name: str) -> None:
    """Make the directory of results that `name` asks for, where it is not there yet.

    Raises
    ------
    ValueError
        It is a file, can not be made, or takes no files.
    """
    if path.exists() and not path.is_dir():
        raise ValueError(f"{name} must be a directory, and {path} is a file")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"{name} {path} can not be made ({error.strerror})") from None
    check_writable(path, f"{name} {path}")


def is_open_already(path: Path) -> bool:
    """Return whether a name is of a file that was open when this process began, as /dev/stdin."""
    return re.fullmatch(r"/dev/std(in|out|err)|(/dev|/proc/self)/fd/[0-9]+", str(path)) is not None


def open_input(path: Path, *, pipe: bool = False) -> BinaryIO:
    """Open a file to read its bytes.

    Parameters
    ----------
    path : Path
    pipe : bool
        Accept a pipe that this process was started with, too: /dev/stdin, or what a shell makes of
        ``<(command)``. It can be read only once.

    Raises
    ------
    ValueError
        A device, a socket or a pipe. It is not opened: that may block for ever.
    OSError
        It can not be read, or is a directory.
    """
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        piped = stat.S_ISFIFO(mode)
        if not (pipe and piped and is_open_already(path)):
            way = "; write what comes out of it to a file first" if piped else ""
            raise ValueError(f"{path} must be a file, it is {_kind_of_file(mode)}{way}")
    return path.open("rb")


def read_whole(path: Path, most: int = MAX_BYTES, *, pipe: bool = False) -> bytes:
    """The content of a file of at most `most` bytes; otherwise as `open_input`."""
    with open_input(path, pipe=pipe) as file:
        long = os.fstat(file.fileno()).st_size > most
        content = b"" if long else file.read(most + 1)  # which may be more than it says
    if long or len(content) > most:
        raise ValueError(f"{path} must be at most {show_size(most)} long, and is longer")
    return content


def digests(paths: Iterable[Path]) -> dict[str, str]:
    """Return the SHA-256 of files by their paths; a pipe, which is read only once, has none."""
    found = {}
    for path in filter(Path.is_file, paths):
        digest = hashlib.sha256()
        with open_input(path) as file:  # in pieces: a schedule may be larger than the memory
            while piece := file.read(2**20):
                digest.update(piece)
        found[str(path)] = digest.hexdigest()
    return found


def compression(content: bytes) -> str:
    """Say what to do with a compressed file, which its first bytes show; "" for another file.

    Examples
    --------
    >>> compression(bytes([0x1F, 0x8B, 8]))
    'is compressed with gzip; unpack it first'
    """
    tools = [tool for magic, tool in _COMPRESSED.items() if content.startswith(magic)]
    return f"is compressed with {tools[0]}; unpack it first" if tools else ""


def read_text(path: str | Path, *, pipe: bool = False) -> str:
    """A text in UTF-8 of at most 16 MiB, with line ends of one letter; else as `open_input`.

    A byte-order mark at its beginning, as some editors write it, is left out.
    """
    content = read_whole(Path(path), MAX_TEXT, pipe=pipe)
    if compressed := compression(content):
        raise ValueError(f"{path}: {compressed}")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path}: not a text file in UTF-8") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _kind_of_file(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a directory"
    if stat.S_ISFIFO(mode):
        return "a pipe"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"


_HOST = re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname())[:64] or "host"
_NEW = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_ours: set[str] = set()  # temporary names that this process uses
_cleaned: set[Path] = set()  # folders in which this process has looked for those of killed ones


@contextmanager
def replacing(path: Path, *, folder: bool = False) -> Iterator[Path]:
    """A name beside `path` to write to; it becomes `path` when the block ends without an error.

    There is an empty file of that name (of a `folder` nothing), which nobody else writes into: the
    name has the host, the process and random digits. What killed processes left of such names goes.

    Raises
    ------
    ValueError
        What is there is no file.
    OSError
        Whatever went wrong, with `path` in it (a full disk names no file by itself).
    """
    if not folder:
        check_replaceable(path)
    with _naming(path), _temporary(path, folder) as temporary:
        yield temporary
        (_replace_folder if folder else Path.replace)(temporary, path)


@contextmanager
def _temporary(path: Path, folder: bool = False) -> Iterator[Path]:
    """A temporary name beside `path`, with an empty file; it goes away in the end."""
    remove_temporaries(path.parent)
    name = f".{path.name[:32]}.{_HOST}.{os.getpid()}.{secrets.token_hex(8)}.jf-tmp"
    temporary = path.with_name(name)
    _ours.add(name)
    try:
        if not folder:
            os.close(os.open(temporary, os.O_WRONLY | _NEW, 0o666))
        yield temporary
    finally:
        _remove(temporary)
        _ours.discard(name)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise with_path(error, path) from None


def _replace_folder(new: Path, path: Path) -> None:
    """Put a folder in place of another one, which is moved away first: both at once can not be."""
    with _temporary(path, folder=True) as old:
        if os.path.lexists(path):
            path.rename(old)
        try:
            new.rename(path)
        except OSError:
            if os.path.lexists(old):
                old.rename(path)
            raise


def remove_temporaries(folder: Path) -> None:
    """Remove what killed processes left in a folder, by their names; once for each folder."""
    if folder in _cleaned:
        return
    _cleaned.add(folder)
    with suppress(OSError):
        for path in folder.iterdir():
            if (found := _TEMPORARY.fullmatch(path.name)) and _is_left(path, found):
                _remove(path)


def _is_left(path: Path, name: re.Match[str]) -> bool:
    """Return whether no process writes to a temporary file any more."""
    if path.name in _ours:
        return False
    try:
        if time.time() - path.lstat().st_mtime > _OLD:
            return True
        if name["host"] != _HOST:
            return False  # of whose processes nothing is known here
        pid = int(name["pid"])
        if pid != os.getpid():
            os.kill(pid, 0)
        return pid == os.getpid()  # of an earlier process: this one knows its own
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):  # it is gone; or the process is another user's
        return False


def _remove(path: Path) -> None:
    with suppress(OSError):  # the folder is gone or closed to us
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes, *, sync: bool = True) -> None:
    """Write a small file at once; without `sync` leave it to the caller to call `synchronize`."""
    with replacing(path) as temporary:
        _fill(temporary, content, sync)


def write_together(files: Mapping[Path, bytes], obsolete: Sequence[Path] = ()) -> None:
    """Write small files, and remove those that are `obsolete`.

    They take their places in their order. Before the first one does, the others and what is
    obsolete go away: a kill in between leaves no file beside one of another content.
    """
    gone = [*list(files)[1:], *obsolete]
    for path in (*files, *obsolete):
        check_replaceable(path)
    with ExitStack() as stack:
        temporary = {}
        for path, content in files.items():
            with _naming(path):
                temporary[path] = stack.enter_context(_temporary(path))
                _fill(temporary[path], content, True)
        for path in gone:
            with _naming(path):
                path.unlink(missing_ok=True)
        for path, new in temporary.items():
            with _naming(path):
                new.replace(path)


def _fill(path: Path, content: bytes, sync: bool) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        if sync:
            os.fsync(file.fileno())  # else a power cut may keep the new name and lose what is in it


def synchronize(paths: Sequence[Path]) -> None:
    """Write files through to the disk (fsync): milliseconds each, more on a busy disk."""
    for path in paths:
        try:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(file)
            finally:
                os.close(file)
        except OSError as error:
            raise with_path(error, path) from None


def append_whole(path: Path, content: bytes | bytearray | memoryview, at: int) -> None:
    """Make `content` the end of a file, from byte `at` on; what was behind `at` is cut off.

    One call of the system writes it, so a process that is killed leaves all of it, or a part that
    a check sum tells. After any error the file ends at `at`, as before.

    Raises
    ------
    OSError
        With `path` in it, such as a full disk, or a symbolic link.
    """
    new = not path.exists()
    file = open_own(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    try:
        if os.fstat(file).st_size > at:
            os.ftruncate(file, at)
        rest = memoryview(content)
        while rest:  # short only at 2 GiB, on a signal, or just before the disk is full
            rest = rest[os.write(file, rest) :]
    except BaseException as error:
        with suppress(OSError):
            os.ftruncate(file, at)
            if new:
                path.unlink()
        if isinstance(error, OSError):
            raise with_path(error, path) from None
        raise
    finally:
        os.close(file)


def open_own(path: Path, flags: int) -> int:
    """Open a file that no user puts there, such as a lock: it must be a file by itself.

    Raises
    ------
    OSError
        With `path` in it: it is a symbolic link, a pipe or a device, or can not be opened.
    """
    with _naming(path):
        try:
            # A pipe is not waited for, as it must not be one.
            file = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
        except OSError as error:
            if error.errno == errno.ELOOP:
                error.strerror = "it is a symbolic link; put a file there"
            raise
        if not stat.S_ISREG(mode := os.fstat(file).st_mode):
            os.close(file)
            raise OSError(errno.EINVAL, f"it must be a file, it is {_kind_of_file(mode)}")
    return file


def read_npz(content: bytes, most: int) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a .npz file, of at most `most` bytes together; none of objects.

    NumPy allocates what a header asks for, and unpacks all there is, before it looks further.

    Raises
    ------
    ValueError
        It is damaged, or holds more.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            known = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others unpack without a limit
            if any(one.compress_type not in known for one in members):
                raise ValueError("it is packed in another way")
            if sum(one.file_size for one in members) > most:
                raise ValueError(f"it must hold at most {show_size(most)}")
            return {one.filename.removesuffix(".npy"): _read_array(archive, one)
                    for one in members}  # fmt: skip
    except Exception as error:  # a dozen classes, of zipfile, zlib, ast and numpy
        raise ValueError(f"no .npz file ({error})") from None


def _read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> npt.NDArray[Any]:
    """Read one array of an archive, of numbers alone: no pickled objects."""
    with archive.open(member) as file:
        content = io.BytesIO(file.read(member.file_size))
    readers = {1: np.lib.format.read_array_header_1_0, 2: np.lib.format.read_array_header_2_0}
    shape, in_columns, kind = readers[np.lib.format.read_magic(content)[0]](content)
    at = content.tell()
    if kind.hasobject or math.prod(shape) * kind.itemsize != len(content.getvalue()) - at:
        raise ValueError(f"{member.filename} is of another size")
    values = np.frombuffer(content.getvalue(), kind, offset=at).copy()
    return values.reshape(shape, order="F" if in_columns else "C")


def with_path(error: OSError, path: Path) -> OSError:
    """Return an error with the name of a file added."""
    return OSError(error.errno, error.strerror or str(error), str(path))


# --- files that a case names


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


def find_file(file: Any, sha256: Any) -> tuple[FileName, str]:
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
    digest = check_content(path, file, sha256)
    return FileName(file, path), digest


def _locate(file: str) -> Path:
    """Return where a file is: its copy, where there is one, or in the folder of `files_from`."""
    folder, copies = _FOLDERS.get()
    if copies is not None and (copies / copy_name(file)).is_file():
        return (copies / copy_name(file)).absolute()
    return (folder / Path(file).expanduser()).absolute()


def check_content(path: Path, file: str, expected: str | None) -> str:
    """Return the SHA-256 of a file that a user calls `file`; raise ValueError if it is another."""
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
