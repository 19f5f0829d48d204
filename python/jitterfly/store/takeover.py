"""What a run finds in a directory: nothing, the same study, or a reason not to write there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..files import TEMPORARY
from ..studies.study import Study
from .lock import LOCK
from .meta import META, differences, joined, read_meta
from .orphans import RECORDS, check_orphans, has_records

__all__ = ["NUMBERS", "PROGRESS", "RECORDS", "SHARDS", "check_directory", "take_over"]

SHARDS = "shard-*-of-*"
# What a run writes down beside its records; see `kept`.
PROGRESS, NUMBERS = "progress.json", "numbers.npz"
_OLD_META = "meta.json"  # of format 1


def check_directory(path: Path, force: bool) -> None:
    """Raise ValueError if `path` is no directory for a run."""
    if path.exists() and not path.is_dir():
        raise ValueError(f"--out must be a directory, and {path} is a file")
    if force or not path.exists() or any((path / name).exists() for name in (META, LOCK)):
        return
    if (path / _OLD_META).exists():
        raise ValueError(
            f"{path} was written by another version of jitterfly; "
            "choose another --out, or --force to replace it"
        )
    if has_records(path):
        return  # of a run whose store.json is gone: `take_over` compares them
    shards = set(path.glob(SHARDS))
    if any(entry not in shards for entry in path.iterdir()):
        raise ValueError(f"{path} is not empty and holds no run; choose another --out, or --force")


def take_over(path: Path, study: Study, meta: Mapping[str, Any], force: bool) -> dict[str, Any]:
    """Compare with the run that is in `path`, and clear it away where it must be.

    Returns:
        `meta`, with what is kept of the earlier run.

    Raises:
        ValueError: another study is there, unless `force`.
    """
    records = path / RECORDS
    for left in (*path.glob(f"*{TEMPORARY}"), *records.glob(f"*{TEMPORARY}")):
        left.unlink()  # of a run that was killed
    try:
        if not (path / META).exists():
            check_orphans(path, study)
            return dict(meta)
        old = read_meta(path)
        different = differences(old, meta)
        if different:
            raise ValueError(
                f"{path} holds another run ({'; '.join(different)}); "
                "choose another --out, or --force to replace it"
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
