"""One run at a time in a directory."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK = ".lock"
UNKNOWN = "not known"
# File systems of clusters are often mounted without locks.
_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)
_TRIES, _PAUSE = 4, 0.05  # `holder` has the lock for a moment


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the directory `path`, which is made where needed, as its only writer.

    The file stays: taking it away would let two others in at once. It says who holds it. Where the
    file system knows no locks there is none; each record is checked when it is read (see `Bundle`).

    Raises:
        ValueError: another process holds it.
        OSError: the directory can not be written.
    """
    path.mkdir(parents=True, exist_ok=True)
    with (path / LOCK).open("a") as file:
        for left in reversed(range(_TRIES)):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not left:
                    who = _who(path)
                    raise ValueError(
                        f"another run is writing into {path}{who and f' ({who})'}: wait for it or "
                        "stop it"
                    ) from None
                time.sleep(_PAUSE)
            except OSError as error:
                if error.errno not in _NO_LOCKS:
                    raise
                break
        file.truncate(0)
        file.write(f"pid {os.getpid()} on {socket.gethostname()}\n")
        file.flush()
        yield


def holder(path: Path) -> str | None:
    """Who writes into the directory `path`: `pid 12 on host`; None where no run does.

    "" where it is not known who. `UNKNOWN` where it is not known whether a run does: the file
    system has no locks, or the file can not be read.
    """
    try:
        with (path / LOCK).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _who(path)
    except FileNotFoundError:  # no run has begun here
        return None
    except OSError:
        return UNKNOWN
    return None


def _who(path: Path) -> str:
    try:
        return (path / LOCK).read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return ""
