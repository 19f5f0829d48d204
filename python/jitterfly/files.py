"""File input and output: atomic writes (temporary file, fsync, rename), whole appends, read limits.

An append that fails, as on a full disk, is taken back (`append_whole`).

What is read or replaced is a regular file. A named pipe would block for ever, a device such as
/dev/zero has no end, and neither may be replaced by a file.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from .units import show_size

_COMPRESSED = {b"\x1f\x8b": "gzip", b"\xfd7zXZ": "xz", b"BZh": "bzip2", b"PK\x03\x04": "zip"}
#: The ending of names that are not meant to stay.
TEMPORARY = ".tmp"

#: Bytes of a text that people write, such as a study. Longer ones are refused.
MOST_TEXT = 2**24
#: Bytes of a measurement, or of what a program wrote. Longer ones are refused.
MOST_BYTES = 2**30


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
    """Whether a name is that of a file which this process was started with, such as /dev/stdin."""
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


def read_whole(path: Path, most: int = MOST_BYTES, *, pipe: bool = False) -> bytes:
    """The content of a file of at most `most` bytes; otherwise as `open_input`."""
    with open_input(path, pipe=pipe) as file:
        long = os.fstat(file.fileno()).st_size > most
        content = b"" if long else file.read(most + 1)  # which may be more than it says
    if long or len(content) > most:
        raise ValueError(f"{path} must be at most {show_size(most)} long, and is longer")
    return content


def compression(content: bytes) -> str:
    """What to say of a file that begins so, where it is compressed; else "".

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
    content = read_whole(Path(path), MOST_TEXT, pipe=pipe)
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


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A name beside `path` to write to; it becomes `path` when the block ends without an error.

    The name holds the process's number, so that two processes never write into one file.

    Raises
    ------
    ValueError
        What is there is no file.
    OSError
        Whatever went wrong, with `path` in it (a full disk names no file by itself).
    """
    check_replaceable(path)
    temporary = path.with_name(f"{path.name}.{os.getpid()}{TEMPORARY}")
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise with_path(error, path) from None
    finally:
        with suppress(OSError):  # the directory is gone or closed to us: said above, if it matters
            temporary.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes, *, sync: bool = True) -> None:
    """Write a small file at once; without `sync` leave it to the caller to call `synchronize`."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(content)
        file.flush()
        if sync:
            os.fsync(file.fileno())  # else a power cut may keep the new name and lose what is in it


def synchronize(paths: Sequence[Path]) -> None:
    """Return when files would outlive a power cut: milliseconds each, more on a busy disk."""
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
        With `path` in it, such as a full disk.
    """
    new = not path.exists()
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise with_path(error, path) from None
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


def with_path(error: OSError, path: Path) -> OSError:
    """The same error with the name of a file in it."""
    return OSError(error.errno, error.strerror or str(error), str(path))
