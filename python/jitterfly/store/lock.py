"""One run at a time in a directory."""

from __future__ import annotations

import errno
import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK = ".lock"
# File systems of clusters are often mounted without locks.
_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the directory `path`, which is made where needed, as its only writer.

    The file stays: taking it away would let two others in at once. Where the file system knows no
    locks there is none; records are checked one by one whoever wrote them (see `RecordFile`).

    Raises:
        ValueError: another process holds it.
        OSError: the directory can not be written.
    """
    path.mkdir(parents=True, exist_ok=True)
    with (path / LOCK).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"another run is writing into {path}: wait for it or stop it"
            ) from None
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
        yield
