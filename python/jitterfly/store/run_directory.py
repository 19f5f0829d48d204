"""Directory of a run: `store.json`, study, lock (flock), refusal of another study, cached files.

`store.json` holds format, seed and versions, by which an edited study is compared before it is
gone on with. The hash by which a case's records are found is another one: `hash_case` of
`studies.grid`.

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
import platform
import socket
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..fields import MAX_SEED, counted, is_number, parameter, shorten
from ..files import (
    COPIES,
    STORED_STUDY,
    copy_name,
    digest_of,
    files_from,
    files_of,
    open_input,
    open_own,
    read_text,
    read_whole,
    remove_temporaries,
    write_whole,
)
from ..observables import Target
from ..studies import (
    STREAM_VERSION,
    BaseReplaced,
    RealizationBudget,
    Study,
    field_unit,
    parse_study,
)
from ..studies.axes import get_path, leaves
from ..version import __version__
from ..workload import Workload
from .records import RAW, read_head

FORMAT = 2
SHARED_FORMAT = 3  # cells share files of records, which programs that know format 2 do not find
_FORMATS = (FORMAT, SHARED_FORMAT)
META = "store.json"
_TYPES = {
    "format": int,
    "stream": int,
    "study": str,
    "seed": int,
    "full": bool,
    "budget": dict,
    "targets": list,
    "cells": list,
    "versions": dict,
    "backend": list,
}


def versions() -> dict[str, str]:
    """Versions of what the numbers depend on."""
    return {
        "jitterfly": __version__,
        "stream": str(STREAM_VERSION),
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def describe(study: Study) -> dict[str, Any]:
    """Return what store.json says of a study before anything has run."""
    return {
        "format": FORMAT,
        "stream": STREAM_VERSION,
        "study": study.name,
        "seed": study.seed,
        "full": study.full,
        "budget": study.budget.to_dict(),
        "targets": [str(target) for target in study.targets],
        "cells": sorted(situations(study)),
        "versions": versions(),
        "backend": [],
    }


def situations(study: Study) -> set[str]:
    """Hashes of the cases of a study's cells, whatever is observed of them."""
    return {variant.situation for cell in study.cells() for variant in cell.variants}


def read_meta(path: Path, way_out: str = "") -> dict[str, Any]:
    """store.json of the directory `path`, with the types that are relied on.

    `way_out` ends the error about another version.

    Raises
    ------
    ValueError
        It is damaged, or of another version.
    """
    file = path / META
    try:
        meta = json.loads(read_whole(file))
        version = meta["format"]
        good = type(version) is int
        if version in _FORMATS:
            good = good and all(type(meta[k]) is kind for k, kind in _TYPES.items())
            good = good and 0 <= meta["seed"] <= MAX_SEED
    except (KeyError, TypeError, ValueError, RecursionError):  # ValueError: JSON and UTF-8 as well
        good = False
    if not good:
        raise ValueError(
            f"{file} is damaged; delete it and run the same study again: the records are kept, "
            "and the run goes on from them"
        )
    for key, ours in (("format", _FORMATS), ("stream", (STREAM_VERSION,))):
        if meta[key] not in ours:
            written = meta.get("versions")
            version = written.get("jitterfly") if isinstance(written, dict) else None
            raise ValueError(
                f"{path} was written by another version of jitterfly ({key} {meta[key]}, "
                f"here it is {' or '.join(map(str, ours))}); "
                f"{f'jitterfly {version}' if version else 'that version'} can read it{way_out}"
            )
    return dict(meta)


def write_meta(path: Path, meta: Mapping[str, Any]) -> list[Path]:
    """Bring store.json up to date. Returns what is still to be synchronized."""
    return _write(path / META, (json.dumps(meta, indent=1) + "\n").encode())


def write_study(path: Path, study: Study) -> list[Path]:
    """Put the study beside its records, as it is run, with copies of the files it names.

    Returns what is still to be synchronized.
    """
    named: dict[str, Path] = {}
    for cell in study.cells():
        for variant in cell.variants:
            named |= files_of(variant.case)
    new = []
    for file, source in named.items():
        copy, content = path / COPIES / copy_name(file), read_whole(source)
        if not copy.exists() or read_whole(copy) != content:
            copy.parent.mkdir(exist_ok=True)
            new += _write(copy, content)
    return new + _write(path / STORED_STUDY, study.text.encode())


def _write(path: Path, content: bytes) -> list[Path]:
    """Write a file, and wait for the disk if it replaces one: else a power cut harms nothing."""
    there = path.exists()
    write_whole(path, content, sync=there)
    return [] if there else [path]


def read_study(path: Path, meta: Mapping[str, Any]) -> Study:
    """study.toml of the directory `path`, with the seed, budget and targets of the run."""
    file = path / STORED_STUDY
    text = read_text(file)
    with files_from(path.absolute(), path.absolute() / COPIES), warnings.catch_warnings():
        warnings.simplefilter("ignore", BaseReplaced)  # it was said when the study was run
        try:
            study = parse_study(text, where=str(file))
        except ValueError as error:
            if "kind must be one of" not in str(error):
                raise
            raise ValueError(
                f"{error}; a class of your own is known after its module is imported: in Python, "
                "import it and call Store.open"
            ) from None
    try:
        study = replace(
            study,
            seed=meta["seed"],
            budget=RealizationBudget(**meta["budget"]),
            targets=tuple(Target.parse(target) for target in meta["targets"]),
        )
    except (TypeError, ValueError) as error:
        raise ValueError(f"{file} and {META} do not fit ({error}); run the study again") from None
    if not situations(study) <= set(meta["cells"]):
        own = f", or {what}" if (what := _own_classes(study)) else ""
        raise ValueError(f"{file} is not what was run last{own}; run it again")
    return study


def _own_classes(study: Study) -> str:
    """Say that the user's own classes in a study may have changed since it was run; else ""."""
    cases = [variant.case for cell in study.cells() for variant in cell.variants]
    names = sorted({type(one).__name__ for case in cases for one in case.own_parts()})
    return f"{' or '.join(names)}, of your own, does something else than then" if names else ""


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """List why the run that `old` describes can not be gone on with as `new`; empty if it can."""
    reasons = [
        f"{key} {old[key]}, not {new[key]}" for key in ("study", "seed") if old[key] != new[key]
    ]
    before, now = set(old["cells"]), set(new["cells"])
    if not (before <= now or now <= before):
        reasons.append(f"{counted(len(before - now), 'stored case')} that this study does not have")
    return reasons


_PAIRS = 64  # of cells, that are compared


def changed_fields(path: Path, old: Mapping[str, Any], study: Study) -> str:
    """Say which fields of the run in `path` and of a study differ, how, and in which cells.

    Cells at the same values of the axes are compared; "" where none are, or no field differs.
    """
    try:
        before = read_study(path, old)
    except (OSError, ValueError):
        return f"perhaps {own}" if (own := _own_classes(study)) else ""
    there = {(cell.name, one.label): one for cell in before.cells() for one in cell.variants}
    both = [
        (cell.name, there[cell.name, one.label].case, one.case)
        for cell in study.cells()
        for one in cell.variants
        if (cell.name, one.label) in there
    ][:_PAIRS]
    if not both:
        return _cells_left_out(before, old, study)
    tables = [[_leaves(case.to_dict()) for case in pair] for _, *pair in both]
    where, parts = "in all cells ", []
    for name in dict.fromkeys(key for pair in tables for one in pair for key in one):
        if all(pair[0].get(name) != pair[1].get(name) for pair in tables):
            parts.append(_change(name, tables[0], both[0][1:]))
    if not parts:  # such as a schedule on an axis, of which one file has changed
        where = ""
        for (cell, *cases), pair in zip(both, tables, strict=True):
            for name in dict.fromkeys([*pair[0], *pair[1]]):
                if pair[0].get(name) != pair[1].get(name):
                    parts.append(f"{_change(name, pair, cases)} [at {cell}]")
        parts = list(dict.fromkeys(parts))  # variants of a cell have changed alike
    more = f", and {len(parts) - _MAX_FIELDS} more fields" if len(parts) > _MAX_FIELDS else ""
    if not parts:
        return _cells_left_out(before, old, study)
    return where + ", ".join(parts[:_MAX_FIELDS]) + more


def _cells_left_out(before: Study, old: Mapping[str, Any], study: Study) -> str:
    """Say why a study that lacks a stored case, and has others, is refused; else ""."""
    stored, now = set(old["cells"]), situations(study)
    if stored <= now or now <= stored:
        return ""
    gone = [
        ", ".join(filter(None, [cell.name, one.label]))
        for cell in before.cells()
        for one in cell.variants
        if one.situation not in now
    ]
    such = f"such as {gone[0]}; " if gone else ""
    return f"{such}a study may have more cases than are stored, or fewer, not both"


_MAX_FIELDS = 4


def _change(name: str, pair: Sequence[Mapping[str, Any]], cases: Sequence[Workload]) -> str:
    """`noise.0.period was 0.001 s, is 0.002 s`."""
    values = [one.get(name) for one in pair]
    unit = next(filter(None, (field_unit(case, name) for case in cases)), "")
    was, is_now = (shorten(x) + f" {unit}" * (unit != "" and is_number(x)) for x in values)
    return f"{name} was {was}, is {is_now}"


def _leaves(table: Any) -> dict[str, Any]:
    return {path: get_path(table, path) for path in leaves(table)}


def joined(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """`new`, with the cells and backends of `old` kept."""
    together = {key: sorted({*old[key], *new[key]}) for key in ("cells", "backend")}
    return {**new, **together}


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
        f"{path} holds records of another run ({what}); choose another {parameter('out')}, or "
        f"{parameter('force')} to replace it"
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
    """List the shards that hold a run."""
    return [shard for shard in shards_in(path) if (shard / META).is_file()]


# What a run writes down beside its records; see `Cached`.
PROGRESS, NUMBERS = "progress.json", "numbers.npz"


def check_directory(path: Path, force: bool) -> None:
    """Raise ValueError if `path` is no directory for a run."""
    if path.exists() and not path.is_dir():
        raise ValueError(f"{parameter('out')} must be a directory, and {path} is a file")
    if force or not path.exists() or any((path / name).exists() for name in (META, LOCK)):
        return
    if has_records(path):
        return  # of a run whose store.json is gone: `resume_or_clear` compares them
    shards = set(shards_in(path))
    if any(entry not in shards for entry in path.iterdir()):
        raise ValueError(
            f"{path} is not empty and holds no run; choose another {parameter('out')}, or "
            f"{parameter('force')}"
        )


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
        old = read_meta(
            path, f"; choose another {parameter('out')}, or {parameter('force')} to replace it"
        )
        different = differences(old, meta)
        if different:
            fields = changed_fields(path, old, study)
            different += [fields] if fields else []
            raise ValueError(
                f"{path} holds another run ({'; '.join(different)}); "
                f"choose another {parameter('out')}, or {parameter('force')} to replace it"
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
