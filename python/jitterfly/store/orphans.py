"""Records without a store.json: whose they are is in each of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..studies.study import Study
from .records import RAW, read_head

RECORDS = "records"


def has_records(path: Path) -> bool:
    """Whether a directory holds records, whatever else is gone."""
    return any((path / RECORDS).glob("*.jfr"))


def shared_files(path: Path) -> list[Path]:
    """The files of records of a directory that many cells share; see `Store.bundle`."""
    return sorted(file for file in (path / RECORDS).glob("*.jfr") if len(file.stem) == 2)


def check_orphans(path: Path, study: Study) -> None:
    """Raise ValueError where the records are not of this study and seed.

    Of each file the first record is looked at. In files that cells share, cells of the study are
    looked for until one is found. Each record is compared when it is read (see `Bundle`).
    """
    found: set[str] = set()
    for file in sorted((path / RECORDS).glob("*.jfr")):
        head = _first(file)
        if head is None:
            continue  # damaged, which is said when the file is read
        if head.get("seed") != study.seed:
            raise _other(path, f"seed {head.get('seed')}, not {study.seed}")
        if head.get("kind") == RAW:
            found.add(head.get("id", ""))
    ours = {cell.hash for place in study.places() for cell in place.cells}
    if found and not found & ours and not _holds_any(path, ours):
        raise _other(path, "cells that this study does not have")


def _holds_any(path: Path, codes: set[str]) -> bool:
    """Whether there is a record of one of these cells in a file that cells share."""
    for file in shared_files(path):
        wanted = {code for code in codes if code.startswith(file.stem)}
        if wanted and any(head.get("id") in wanted for head in _heads(file)):
            return True
    return False


def _other(path: Path, what: str) -> ValueError:
    return ValueError(
        f"{path} holds records of another run ({what}); choose another --out, or --force to "
        "replace it"
    )


def _first(file: Path) -> dict[str, Any] | None:
    return next(_heads(file), None)


def _heads(file: Path) -> Iterator[dict[str, Any]]:
    """The headers of the records up to the first damaged one."""
    with file.open("rb") as opened:
        at, end = 0, opened.seek(0, 2)
        while not isinstance(found := read_head(opened, at, end), str):
            header, body, size, _ = found
            yield header
            at = body + size
