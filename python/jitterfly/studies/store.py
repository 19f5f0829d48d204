"""What a run leaves on disk: study, meta data, one record of samples per cell, a summary.

    OUT/study.toml     the study, word for word
    OUT/meta.json      seed, backend, versions, overrides, and the record and hash of every cell
    OUT/samples/*.npz  per cell: ticks (realizations, observations) int64, noise_free, observations
    OUT/summary.csv    per cell and observation: mean with interval, quantiles (seconds)
    OUT/*.png          pictures

A record appears under its name only when it is whole, so a run that is stopped at any moment can
be taken up again by the same command.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..units import from_ticks
from .study import Cell, Study, parse_study

_UNSAFE = re.compile(r"[^A-Za-z0-9=.^-]+")


@dataclass(frozen=True)
class Record:
    """The samples of one cell, read from disk when they are first asked for."""

    cell: Cell
    path: Path

    @cached_property
    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        try:
            with self.path.open("rb") as file, np.load(file, allow_pickle=False) as data:
                return {key: data[key] for key in ("ticks", "noise_free", "observations")}
        except FileNotFoundError:
            raise ValueError(f"{self.path}: missing; run the study again to make it") from None
        except (KeyError, ValueError, EOFError, zipfile.BadZipFile):
            raise ValueError(f"{self.path}: damaged; delete it and run the study again") from None

    @property
    def observations(self) -> list[str]:
        """Names of the columns of `samples`."""
        return [str(name) for name in self._arrays["observations"]]

    @cached_property
    def samples(self) -> npt.NDArray[np.float64]:
        """Seconds, shape (realizations, observations)."""
        return from_ticks(self._arrays["ticks"])

    @cached_property
    def noise_free(self) -> npt.NDArray[np.float64]:
        """Seconds without noise, shape (observations,)."""
        return from_ticks(self._arrays["noise_free"])

    def whole(self, realizations: int) -> bool:
        """Whether the record is there with so many realizations."""
        try:
            return len(self._arrays["ticks"]) == realizations
        except ValueError:
            return False


class Store:
    """The directory of one study's run; `meta` is the content of meta.json."""

    def __init__(self, path: Path, study: Study, meta: Mapping[str, Any]):
        self.path, self.study, self.meta = path, study, dict(meta)
        self.cells = study.cells(self.meta.get("realizations"))

    @cached_property
    def records(self) -> list[Record]:
        """One per cell, in the study's order, whether or not it is on disk."""
        return [Record(cell, self.path / "samples" / _file_name(cell)) for cell in self.cells]

    @classmethod
    def create(cls, path: Path, study: Study, meta: Mapping[str, Any], force: bool) -> Store:
        """Open `path` for a run, making it where needed; it must be empty or hold the same run.

        Raises:
            ValueError: the directory holds another run (unless `force`), or other files.
            OSError: it cannot be written.
        """
        store = cls(path, study, meta)
        identity = {"hashes": [cell.hash for cell in store.cells]}
        identity |= {"counts": [cell.realizations for cell in store.cells]}
        store.meta |= {"study": study.name, "full": study.full, "identity": identity}
        if path.exists() and not path.is_dir():
            raise ValueError(f"--out must be a directory, and {path} is a file")
        if (path / "meta.json").exists():
            old_meta = _read_meta(path)
            different = _differences(old_meta, store.meta)
            if not different:  # cells that are done keep their backend on record
                store.meta["backend"] = old_meta.get("backend")
            if different and not force:
                raise ValueError(
                    f"{path} holds another run ({'; '.join(different)}); "
                    "choose another --out, or --force to replace it"
                )
            if different:
                for old in (path / "samples").glob("*.npz"):
                    old.unlink()
        elif path.exists() and any(path.iterdir()) and not force:
            raise ValueError(
                f"{path} is not empty and holds no run; choose another --out, or --force"
            )
        (path / "samples").mkdir(parents=True, exist_ok=True)
        _write(path / "study.toml", study.text.encode())
        store.write_meta()
        return store

    @classmethod
    def open(cls, path: Path) -> Store:
        """The store of an earlier run."""
        if not (path / "meta.json").is_file():
            raise ValueError(f"{path} holds no run (no meta.json in it)")
        meta = _read_meta(path)
        text = (path / "study.toml").read_text(encoding="utf-8")
        study = parse_study(text, full=meta["full"], where=str(path / "study.toml"))
        store = cls(path, replace(study, seed=meta["seed"]), meta)
        if meta["identity"]["hashes"] != [cell.hash for cell in store.cells]:
            raise ValueError(f"{path}: study.toml was changed after the run; run it again")
        return store

    def write_meta(self) -> None:
        """Bring meta.json up to date."""
        _write(self.path / "meta.json", (json.dumps(self.meta, indent=1) + "\n").encode())

    def write_record(self, record: Record, result: Any) -> None:
        """Put a cell's samples on disk, whole or not at all."""
        ticks = np.rint(np.asarray(result.noise_free) * 1e12).astype(np.int64)
        temporary = record.path.with_suffix(".tmp")
        try:
            with temporary.open("wb") as file:
                np.savez_compressed(
                    file,
                    ticks=result.ticks,
                    noise_free=ticks,
                    observations=np.array(result.observations),
                )
            temporary.replace(record.path)
        finally:
            temporary.unlink(missing_ok=True)

    def write_summary(self, text: str) -> Path:
        """Write summary.csv and return its path."""
        _write(self.path / "summary.csv", text.encode())
        return self.path / "summary.csv"


def _file_name(cell: Cell) -> str:
    words = [f"{axis}={label}" for axis, label in cell.place.items()]
    words += [cell.variant] if cell.variant else []
    readable = _UNSAFE.sub("-", "_".join(words))[:100] or "base"
    return f"{readable}_{cell.hash}.npz"


def _read_meta(path: Path) -> dict[str, Any]:
    try:
        meta = json.loads((path / "meta.json").read_text(encoding="utf-8"))
        kinds = {"identity": dict, "full": bool, "seed": int}
        return {**meta, **{key: kind(meta[key]) for key, kind in kinds.items()}}
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError):
        raise ValueError(f"{path / 'meta.json'} is damaged; run again with --force") from None


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    told = [
        f"{key} {old.get(key)}, not {new.get(key)}"
        for key in ("study", "seed")
        if old.get(key) != new.get(key)
    ]
    if old["identity"].get("hashes") != new["identity"]["hashes"]:
        told.append("other cells")
    elif old["identity"].get("counts") != new["identity"]["counts"]:
        told.append("other numbers of realizations")
    return told


def _write(path: Path, content: bytes) -> None:
    temporary = path.with_name(f"{path.name}.tmp")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)  # noqa: PTH105 (atomic, and so named)
    finally:
        temporary.unlink(missing_ok=True)
