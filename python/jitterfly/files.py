"""Files that appear under their name whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

#: The ending of names that are not meant to stay.
TEMPORARY = ".tmp"


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
        what = error.strerror or str(error)
        raise OSError(error.errno, what, str(path)) from None
    finally:
        with suppress(OSError):  # the directory is gone or closed to us: said above, if it matters
            temporary.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes) -> None:
    """Write a small file at once."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)
