"""Files that are whole: replaced at once, or extended by all of a block or by nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

#: The ending of names that are not meant to stay.
TEMPORARY = ".tmp"


def check_replaceable(path: Path) -> None:
    """Raise ValueError where a new file must not take the place of what is there: of a device."""
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} must be a file, it is a directory, a device or a pipe")


def check_ends(path: Path) -> None:
    """Raise ValueError for what can be read without an end, such as /dev/zero."""
    if path.is_char_device() or path.is_block_device():
        raise ValueError(f"{path} must be a file, it is a device")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A name beside `path` to write to; it becomes `path` when the block ends without an error.

    The name holds the process's number, so that two processes never write into one file.

    Raises:
        OSError: whatever went wrong, with `path` in it (a full disk names no file by itself).
    """
    temporary = path.with_name(f"{path.name}.{os.getpid()}{TEMPORARY}")
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise naming(error, path) from None
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
            raise naming(error, path) from None


def append_whole(path: Path, content: bytes | bytearray | memoryview, at: int) -> None:
    """Make `content` the end of a file, from byte `at` on; what was behind `at` is cut off.

    One call of the system writes it, so a process that is killed leaves all of it, or a part that
    a check sum tells. After any error the file ends at `at`, as before.

    Raises:
        OSError: with `path` in it, such as a full disk.
    """
    new = not path.exists()
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise naming(error, path) from None
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
            raise naming(error, path) from None
        raise
    finally:
        os.close(file)


def naming(error: OSError, path: Path) -> OSError:
    """The same error with the name of a file in it."""
    return OSError(error.errno, error.strerror or str(error), str(path))
