"""What a run writes down beside its records, so that it need not be computed again.

All of it follows from the records, and may be deleted. It counts as long as these, the study and
the versions are those that it was made of; else it is made again from the records.

A file is a line of JSON (`fingerprint`, `time`, check sum of the rest), and the rest.
"""

from __future__ import annotations

import hashlib
import json
import time
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from ..files import write_whole
from .directory import RECORDS
from .metadata import FILES, META, STUDY, read_meta, versions

MANY = 1000  # cells, whose records take longer to read than anybody likes to wait
_FORMAT = 2


class Cached(NamedTuple):
    """What was written down, of what, and when (seconds since 1970)."""

    content: bytes
    study: str
    fingerprint: str
    time: float


def study_of(path: Path) -> str:
    """Hash of the study in the directory `path`, as it is run, and of the versions here.

    Raises:
        ValueError: there is none, or store.json is damaged.
        OSError: a file can not be read.
    """
    meta: dict[str, Any] = read_meta(path)
    meta.pop("backend")  # becomes known while the run goes on
    parts = [_FORMAT, meta, versions(), (path / STUDY).read_bytes().hex()]
    parts += [[file.name, _content(file)] for file in sorted((path / FILES).glob("*"))]
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


def _content(file: Path) -> str:
    """Hash of the content of a file that the study names."""
    status = file.stat()
    return _hashed(file, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=256)
def _hashed(file: Path, size: int, changed: int) -> str:
    """While a run goes on, it is asked for again and again."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


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
    """What is in `file`, of whatever records; None where there is nothing that is whole."""
    try:
        line, _, content = file.read_bytes().partition(b"\n")
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
