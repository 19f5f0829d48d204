"""Records without a store.json: whose they are is in each of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..studies.study import Study
from .records import RAW, read_head

RECORDS = "records"


def has_records(path: Path) -> bool:
    """Whether a directory holds records, whatever else is gone."""
    return any((path / RECORDS).glob("*.jfr"))


def check_orphans(path: Path, study: Study) -> None:
    """Raise ValueError where the first records of the files are not of this study and seed.

    Each later one is compared when it is read (see `RecordFile`).
    """
    found: set[str] = set()
    for file in sorted((path / RECORDS).glob("*.jfr")):
        head = _first(file)
        if head is None:
            continue  # damaged: whoever reads the file says so
        if head.get("seed") != study.seed:
            raise _other(path, f"seed {head.get('seed')}, not {study.seed}")
        if head.get("kind") == RAW:
            found.add(head.get("id", ""))
    ours = {cell.hash for place in study.places() for cell in place.cells}
    if found and not found & ours:
        raise _other(path, "cells that this study does not have")


def _other(path: Path, what: str) -> ValueError:
    return ValueError(
        f"{path} holds records of another run ({what}); choose another --out, or --force to "
        "replace it"
    )


def _first(file: Path) -> dict[str, Any] | None:
    with file.open("rb") as opened:
        head = read_head(opened, 0, opened.seek(0, 2))
    return None if isinstance(head, str) else head[0]
