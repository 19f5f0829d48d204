"""A study: a base case, axes over its fields, a budget, a figure and the claims it bears on."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..case import Case
from .axes import Axis, Point, check_paths, read_axis, read_settings
from .casetable import rank_rounds, set_path
from .schema import Table, merge

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: Part of every cell's hash: a change of the random streams or of the model makes new cells.
STREAM_VERSION = 1
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@dataclass(frozen=True)
class Budget:
    """Realizations per cell: as many as `rank_rounds` pays for, between `min` and `max`."""

    min: int
    max: int
    rank_rounds: float

    def realizations(self, cost: int) -> int:
        """Realizations of a cell of which one costs `cost` rank-rounds."""
        return int(min(self.max, max(self.min, self.rank_rounds / cost)))


@dataclass(frozen=True)
class Cell:
    """One case of a study: its place on the axes, and its variant ("" where there are none)."""

    place: Mapping[str, str]
    variant: str
    case: Case
    realizations: int

    @property
    def name(self) -> str:
        """For people: `ranks=128, reading=text, redundant`."""
        parts = [f"{axis}={label}" for axis, label in self.place.items()]
        return ", ".join([*parts, self.variant] if self.variant else parts) or "base case"

    @property
    def hash(self) -> str:
        """16 hex digits that identify the case, whatever file, machine or order of keys."""
        text = json.dumps([STREAM_VERSION, self.case.to_dict()], sort_keys=True, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Study:
    """What a TOML file in `sweeps/` describes; `text` is that file, word for word."""

    name: str
    title: str
    source: str
    figure: str
    claims: tuple[str, ...]
    seed: int
    budget: Budget
    base: Mapping[str, Any]
    axes: tuple[Axis, ...]
    variants: tuple[Point, ...]
    full: bool
    text: str

    def cells(self, realizations: int | None = None) -> list[Cell]:
        """Every cell, each case checked; variants at one place share their number of realizations.

        Raises:
            ValueError: a case refuses its values; the message names the cell.
        """
        cells = []
        for points in itertools.product(*(axis.points for axis in self.axes)):
            labels = [point.label for point in points]
            place = dict(zip((axis.name for axis in self.axes), labels, strict=True))
            built = []
            for variant in self.variants or (Point("", {}),):
                table = dict(self.base)
                try:
                    for point in (*points, variant):
                        for path, value in point.settings.items():
                            table = set_path(table, path, value)
                    built.append((variant.label, Case.from_dict(table)))
                except ValueError as error:
                    at = [f"{axis}={label}" for axis, label in place.items()]
                    at += [variant.label] if variant.label else []
                    raise ValueError(f"{error} [at {', '.join(at) or 'base case'}]") from None
            # Paired differences need the same realizations on both sides: the dearest one decides.
            cost = max(rank_rounds(case) for _, case in built)
            count = self.budget.realizations(cost) if realizations is None else realizations
            cells += [Cell(place, label, case, count) for label, case in built]
        return cells


def _read_budget(data: Any) -> Budget:
    table = Table(data, "realizations")
    low, high = table.take("min", int, 1), table.take("max", int)
    budget = Budget(low, high, table.take_number("rank_rounds", 1, float("inf")))
    table.finish()
    if not 1 <= low <= high < 2**32:
        raise ValueError(f"realizations needs 1 <= min <= max < 2^32, got min {low}, max {high}")
    return budget


def parse_study(text: str, *, full: bool = False, where: str = "study") -> Study:
    """The study that a TOML text describes.

    Args:
        full: apply the table `[full]`, which holds the sizes meant for a large machine.
        where: the name of the file, for errors.

    Raises:
        ValueError: TOML syntax (with line), unknown or missing keys, values out of range.
    """
    from ..claims import CLAIMS
    from ..plots import FIGURES

    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{where}: not valid TOML: {error}") from None
    try:
        override = data.pop("full", None)
        if full and override is None:
            raise ValueError("this study has no [full] table, so --full would change nothing")
        if override is not None:
            merged = merge(data, Table(override, "full").data, "full")
            data = merged if full else data
        table = Table(data, "the study")
        axes = tuple(read_axis(name, axis) for name, axis in table.take("axes", dict, {}).items())
        variants = tuple(
            Point(name, read_settings(settings, f"variants.{name}"))
            for name, settings in table.take("variants", dict, {}).items()
        )
        study = Study(
            name=table.take("name", str),
            title=table.take("title", str),
            source=table.take("source", str, ""),
            figure=table.take("figure", str),
            claims=tuple(table.take("claims", list, [])),
            seed=table.take("seed", int, 0),
            budget=_read_budget(table.take("realizations", dict)),
            base=table.take("case", dict),
            axes=axes,
            variants=variants,
            full=full,
            text=text,
        )
        table.finish()
        check_paths({f"axes.{a.name}": a.points for a in axes} | {"variants": variants})
        if not _NAME.fullmatch(study.name):
            raise ValueError(f"name must be letters, digits, '_', '.', '-'; got {study.name!r}")
        if not 0 <= study.seed < 2**64:
            raise ValueError(f"seed must be from 0 to 2^64 - 1, got {study.seed}")
        if study.figure not in FIGURES:
            raise ValueError(f"figure must be one of {', '.join(FIGURES)}; got {study.figure!r}")
        for claim in study.claims:
            if claim not in CLAIMS:
                raise ValueError(f"claims must be among {', '.join(CLAIMS)}; got {claim!r}")
            if study.figure not in CLAIMS[claim].figures:
                kinds = " or ".join(CLAIMS[claim].figures)
                raise ValueError(f"claims: {claim} is about figure {kinds}, not {study.figure!r}")
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    return study


def load_study(path: str | Path, *, full: bool = False) -> Study:
    """The study in a TOML file; `OSError` when it cannot be read, else as `parse_study`."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{path}: not a text file in UTF-8") from None
    return parse_study(text, full=full, where=str(path))
