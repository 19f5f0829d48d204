"""What a run leaves on disk: study, meta data, one record of samples per cell, a summary.

    OUT/study.toml     the study, word for word
    OUT/meta.json      seed, backend, versions, overrides, and the record and hash of every cell
    OUT/samples/*.npz  per cell: ticks (realizations, observations) int64, noise_free, observations,
                       seed and hash of the cell
    OUT/summary.csv    per cell and observation: mean with interval, quantiles (seconds)
    OUT/*.png          pictures
    OUT/.lock          held by the run that writes

A record appears under its name only when it is whole, so a run that is stopped at any moment can
be taken up again by the same command.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..files import TEMPORARY, write_whole
from .lock import LOCK, locked
from .record import Record, record_name
from .study import Cell, Study, parse_study


class Store:
    """The directory of one study's run; `meta` is the content of meta.json."""

    def __init__(self, path: Path, study: Study, meta: Mapping[str, Any]):
        self.path, self.study, self.meta = path, study, dict(meta)
        self.cells = study.cells(self.meta.get("realizations"))

    def record(self, cell: Cell) -> Record:
        """The record of a cell, whether or not it is on disk."""
        return Record(cell, self.study.seed, self.path / "samples" / record_name(cell))

    @property
    def records(self) -> list[Record]:
        """One per cell, in the study's order; nothing of them is read yet."""
        return [self.record(cell) for cell in self.cells]

    @classmethod
    @contextmanager
    def create(
        cls, path: Path, study: Study, meta: Mapping[str, Any], force: bool
    ) -> Iterator[Store]:
        """Open `path` for a run and hold it: it must be empty or hold the same run.

        Raises:
            ValueError: another run is writing there; the directory holds another run (unless
                `force`), or other files.
            OSError: it can not be written.
        """
        store = cls(path, study, meta)
        identity = {"hashes": [cell.hash for cell in store.cells]}
        identity |= {"counts": [cell.realizations for cell in store.cells]}
        store.meta |= {"study": study.name, "full": study.full, "identity": identity}
        if path.exists() and not path.is_dir():
            raise ValueError(f"--out must be a directory, and {path} is a file")
        ours = any((path / name).exists() for name in ("meta.json", LOCK))
        if not ours and path.exists() and any(path.iterdir()) and not force:
            raise ValueError(
                f"{path} is not empty and holds no run; choose another --out, or --force"
            )
        with locked(path):
            store._take_over(force)
            (path / "samples").mkdir(exist_ok=True)
            write_whole(path / "study.toml", study.text.encode())
            store.write_meta()
            yield store

    def _take_over(self, force: bool) -> None:
        """Compare with the run that is there, and clear it away where it must be."""
        samples = self.path / "samples"
        for left in samples.glob(f"*{TEMPORARY}"):  # of a run that was killed
            left.unlink()
        if not (self.path / "meta.json").exists():
            return
        try:
            old = _read_meta(self.path)
            different = _differences(old, self.meta)
        except ValueError:
            if not force:
                raise
            old, different = {}, ["its meta.json is damaged"]
        if not different:  # cells that are done keep their backend on record
            self.meta["backend"] = old.get("backend")
        elif not force:
            raise ValueError(
                f"{self.path} holds another run ({'; '.join(different)}); "
                "choose another --out, or --force to replace it"
            )
        else:
            for record in samples.glob("*.npz"):
                record.unlink()

    @classmethod
    def open(cls, path: Path) -> Store:
        """The store of an earlier run, to read."""
        if not (path / "meta.json").is_file():
            raise ValueError(f"{path} holds no run (no meta.json in it)")
        meta = _read_meta(path)
        file = path / "study.toml"
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"{file}: not a text file in UTF-8") from None
        study = replace(parse_study(text, full=meta["full"], where=str(file)), seed=meta["seed"])
        store = cls(path, study, meta)
        if meta["identity"].get("hashes") != [cell.hash for cell in store.cells]:
            raise ValueError(f"{path}: study.toml was changed after the run; run it again")
        return store

    def write_meta(self) -> None:
        """Bring meta.json up to date."""
        write_whole(self.path / "meta.json", (json.dumps(self.meta, indent=1) + "\n").encode())

    def write_summary(self, text: str) -> None:
        """Write summary.csv."""
        write_whole(self.path / "summary.csv", text.encode())


def _read_meta(path: Path) -> dict[str, Any]:
    """meta.json, with the types that are relied on."""
    try:
        meta = json.loads((path / "meta.json").read_text(encoding="utf-8"))
        kinds = {"identity": dict, "full": bool, "seed": int}
        good = all(type(meta[key]) is kind for key, kind in kinds.items())
        count = meta["realizations"]
        good = good and (count is None or (type(count) is int and count > 0))
    except (KeyError, TypeError, ValueError, RecursionError):  # ValueError: JSON and UTF-8 as well
        good = False
    if not good:
        raise ValueError(f"{path / 'meta.json'} is damaged; run again with --force")
    return meta


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
