"""Directory of a run: refusal of another or edited study (`force`), lock (flock), cached files.

Beside its records a run writes down what need not be computed again. All of it follows from the
records, and may be deleted. It counts as long as these, the study and the versions are those that
it was made of; else it is made again from the records. Such a file is a line of JSON
(`fingerprint`, `time`, check sum of the rest), and the rest.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ..files import open_input, open_own, read_whole, remove_temporaries, write_whole
from ..find_noise_files import COPIES, STORED_STUDY, digest_of
from ..studies import Study
from .metadata import META, changed_fields, differences, joined, read_meta, versions
from .record_format import RAW, read_head

LOCK = ".lock"
UNKNOWN = "not known"
# File systems of clusters are often mounted without locks.
_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)
_LOCK_BYTES = 4096
_TRIES, _PAUSE = 4, 0.05  # `holder` has the lock for a moment


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the directory `path`, which is made where needed, as its only writer.

    The file stays: taking it away would let two others in at once. It says who holds it. Where the
    file system knows no locks there is none; each record is checked when it is
    read (see `RecordFile`).

    Raises
    ------
    ValueError
        Another process holds it.
    OSError
        The directory can not be made, or not be written.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"the directory of the run can not be made ({error.strerror})"
        raise OSError(error.errno, what, str(path)) from None
    try:
        file = open_own(path / LOCK, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        if not (path / META).is_file():
            raise
        what = f"{error.strerror}; `jitterfly plot {path}` and Store.open only read what is there"
        raise OSError(error.errno, what, error.filename) from None
    with os.fdopen(file, "r+") as opened:
        for left in reversed(range(_TRIES)):
            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not left:
                    who = _lock_holder(path)
                    raise ValueError(
                        f"another run is writing into {path}{who and f' ({who})'}: wait for it or "
                        "stop it"
                    ) from None
                time.sleep(_PAUSE)
            except OSError as error:
                if error.errno not in _NO_LOCKS:
                    raise
                break
        opened.truncate(0)
        opened.write(f"pid {os.getpid()} on {socket.gethostname()}\n")
        opened.flush()
        yield


def holder(path: Path) -> str | None:
    """Name who writes into the directory `path`: `pid 12 on host`; None where no run does.

    "" where it is not known who. `UNKNOWN` where it is not known whether a run does: the file
    system has no locks, or the file can not be read.
    """
    try:
        with open_input(path / LOCK) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _lock_holder(path)
    except FileNotFoundError:  # no run has begun here
        return None
    except (OSError, ValueError):
        return UNKNOWN
    return None


def _lock_holder(path: Path) -> str:
    try:
        return read_whole(path / LOCK, _LOCK_BYTES).decode().strip()
    except (OSError, ValueError):
        return ""


RECORDS = "records"


def has_records(path: Path) -> bool:
    """Return whether a directory holds records, whatever else is gone."""
    return any((path / RECORDS).glob("*.jfr"))


def shared_files(path: Path) -> list[Path]:
    """The files of records of a directory that many cells share; see `Store.bundle`."""
    return sorted(file for file in (path / RECORDS).glob("*.jfr") if len(file.stem) == 2)


def check_orphans(path: Path, study: Study) -> None:
    """Raise ValueError where the records are not of this study and seed.

    Of each file the first record is looked at. In files that cells share, cells of the study are
    looked for until one is found. Each record is compared when it is read (see `RecordFile`).
    """
    identities: set[str] = set()
    for file in sorted((path / RECORDS).glob("*.jfr")):
        head = next(_heads(file), None)
        if head is None:
            continue  # damaged, which is said when the file is read
        if head.get("seed") != study.seed:
            raise _other_run_error(path, f"seed {head.get('seed')}, not {study.seed}")
        if head.get("kind") == RAW:
            identities.add(head.get("id", ""))
    ours = {variant.hash for cell in study.cells() for variant in cell.variants}
    if identities and not identities & ours and not _holds_any(path, ours):
        raise _other_run_error(path, "cells that this study does not have")


def _holds_any(path: Path, codes: set[str]) -> bool:
    """Return whether there is a record of one of these cells in a file that cells share."""
    for file in shared_files(path):
        wanted = {code for code in codes if code.startswith(file.stem)}
        if wanted and any(head.get("id") in wanted for head in _heads(file)):
            return True
    return False


def _other_run_error(path: Path, what: str) -> ValueError:
    return ValueError(
        f"{path} holds records of another run ({what}); choose another `out`, or `force` to "
        "replace it"
    )


def _heads(file: Path) -> Iterator[dict[str, Any]]:
    """The headers of the records up to the first damaged one."""
    with open_input(file) as opened:
        at, end = 0, opened.seek(0, 2)
        while not isinstance(head := read_head(opened, at, end), str):
            header, body, size, _ = head
            yield header
            at = body + size


SHARDS = "shard-*-of-*"


def shards_in(path: Path) -> list[Path]:
    """List what is called as a shard in a directory, by number."""
    return sorted(path.glob(SHARDS), key=lambda shard: (len(shard.name), shard.name))


def started_shards(path: Path) -> list[Path]:
    """List those of `shards_in` that hold a run."""
    return [shard for shard in shards_in(path) if (shard / META).is_file()]


# What a run writes down beside its records; see `Cached`.
PROGRESS, NUMBERS = "progress.json", "numbers.npz"
_OLD_META = "meta.json"  # of format 1


def check_directory(path: Path, force: bool) -> None:
    """Raise ValueError if `path` is no directory for a run."""
    if path.exists() and not path.is_dir():
        raise ValueError(f"`out` must be a directory, and {path} is a file")
    if force or not path.exists() or any((path / name).exists() for name in (META, LOCK)):
        return
    if (path / _OLD_META).exists():
        raise ValueError(
            f"{path} was written by another version of jitterfly; "
            "choose another `out`, or `force` to replace it"
        )
    if has_records(path):
        return  # of a run whose store.json is gone: `resume_or_clear` compares them
    shards = set(shards_in(path))
    if any(entry not in shards for entry in path.iterdir()):
        raise ValueError(f"{path} is not empty and holds no run; choose another `out`, or `force`")


def resume_or_clear(
    path: Path, study: Study, meta: Mapping[str, Any], force: bool
) -> dict[str, Any]:
    """Compare with the run that is in `path`, and clear it away where it must be.

    Returns
    -------
    dict[str, Any]
        `meta`, with what is kept of the earlier run.

    Raises
    ------
    ValueError
        Another study is there, unless `force`.
    """
    records = path / RECORDS
    remove_temporaries(path)
    try:
        if not (path / META).exists():
            check_orphans(path, study)
            return dict(meta)
        old = read_meta(path, "; choose another `out`, or `force` to replace it")
        different = differences(old, meta)
        if different:
            fields = changed_fields(path, old, study)
            different += [fields] if fields else []
            raise ValueError(
                f"{path} holds another run ({'; '.join(different)}); "
                "choose another `out`, or `force` to replace it"
            )
        return joined(old, meta)
    except ValueError:
        if not force:
            raise
    for record in records.glob("*.jfr"):
        record.unlink()
    for name in (PROGRESS, NUMBERS):
        (path / name).unlink(missing_ok=True)
    return dict(meta)


MANY = 1000  # cells, whose records take longer to read than anybody likes to wait
_FORMAT = 4


class Cached(NamedTuple):
    """The content that was written down, what it is of, and when (seconds since 1970)."""

    content: bytes
    study: str
    fingerprint: str
    time: float


def study_of(path: Path) -> str:
    """Hash of the study in the directory `path`, as it is run, and of the versions here.

    Raises
    ------
    ValueError
        There is none, or store.json is damaged.
    OSError
        A file can not be read.
    """
    meta: dict[str, Any] = read_meta(path)
    meta.pop("backend")  # becomes known while the run goes on
    parts = [_FORMAT, meta, versions(), read_whole(path / STORED_STUDY).hex()]
    parts += [[file.name, digest_of(file)] for file in sorted((path / COPIES).glob("*"))]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def fingerprint_of(path: Path) -> str:
    """Hash of the study in the directory `path` and of which records are there.

    Records only grow, so names and sizes say whether they are the same. Times of change do not
    count: a directory that was copied, or unpacked from an archive, has others.
    """
    files = [[file.name, file.stat().st_size] for file in sorted((path / RECORDS).glob("*.jfr"))]
    backend = read_meta(path)["backend"]
    text = json.dumps([study_of(path), backend, files])
    return hashlib.sha256(text.encode()).hexdigest()


def write_cached(file: Path, content: bytes, fingerprint: str) -> None:
    """Write `content` down as what follows from the records that had that fingerprint.

    It must be from before they were read: what came to them since then is not in `content`.
    """
    head = {
        "fingerprint": fingerprint,
        "study": study_of(file.parent),
        "time": time.time(),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    write_whole(file, json.dumps(head).encode() + b"\n" + content, sync=False)


def read_cached(file: Path) -> Cached | None:
    """Read what is in `file`, of whatever records; None where there is nothing that is whole."""
    try:
        line, _, content = read_whole(file).partition(b"\n")
        head = json.loads(line)
        if head["sha256"] != hashlib.sha256(content).hexdigest():
            return None
        return Cached(content, str(head["study"]), str(head["fingerprint"]), float(head["time"]))
    except (OSError, KeyError, TypeError, ValueError, RecursionError):
        return None


def valid_content(file: Path) -> bytes | None:
    """The content of `file`, if it follows from the records beside it as they are now."""
    if not (file.parent / META).is_file():
        return None
    cached = read_cached(file)
    if cached is None or cached.fingerprint != fingerprint_of(file.parent):
        return None
    return cached.content
