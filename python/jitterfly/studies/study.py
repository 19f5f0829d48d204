"""A study: a base case, axes over its fields, a budget, and the names of its figure and claims."""

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
from ..fields import MOST_REALIZATIONS, MOST_SEED, check_integer, shorten
from ..program import rank_rounds
from .axes import Axis, Point, check_base, check_paths, read_axis, read_settings
from .casetable import set_path
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
        return _cell_name(self.place, self.variant)

    @property
    def hash(self) -> str:
        """16 hex digits that identify the case, whatever file, machine or order of keys."""
        text = json.dumps([STREAM_VERSION, self.case.to_dict()], sort_keys=True, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Study:
    """What a TOML file in `sweeps/` describes; `text` is that file, word for word.

    `figure` and `claims` are names: who shows results knows which there are. `where` is the file's
    name, for errors.
    """

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
    where: str

    def error(self, what: str) -> ValueError:
        """An error in this study, with the name of its file."""
        return ValueError(f"{self.where}: {what}")

    def cells(self, realizations: int | None = None) -> list[Cell]:
        """Every cell, each case checked; variants at one place share their number of realizations.

        Raises:
            ValueError: a case refuses its values; the message names the file and the cell.
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
                except (ValueError, RecursionError) as error:
                    at = _cell_name(place, variant.label)
                    raise self.error(f"{error} [at {at}]") from None
            # Paired differences need the same realizations on both sides: the dearest one decides.
            cost = max(rank_rounds(case) for _, case in built)
            count = self.budget.realizations(cost) if realizations is None else realizations
            cells += [Cell(place, label, case, count) for label, case in built]
        return cells


def _cell_name(place: Mapping[str, str], variant: str) -> str:
    parts = [f"{axis}={label}" for axis, label in place.items()]
    return ", ".join([*parts, variant] if variant else parts) or "base case"


def _read_budget(data: Any) -> Budget:
    table = Table(data, "realizations")
    low, high = table.take("min", int, 1), table.take("max", int)
    budget = Budget(low, high, table.take_number("rank_rounds", 1, float("inf")))
    table.finish()
    if not 1 <= low <= high <= MOST_REALIZATIONS:
        raise ValueError(
            "realizations needs 1 <= min <= max <= 2^32, "
            f"got min {shorten(low)}, max {shorten(high)}"
        )
    return budget


def parse_study(text: str, *, full: bool = False, where: str = "study") -> Study:
    """The study that a TOML text describes.

    Args:
        full: apply the table `[full]`, which holds the sizes meant for a large machine.
        where: the name of the file, for errors.

    Raises:
        ValueError: TOML syntax (with line), unknown or missing keys, values out of range.
    """
    try:
        data = tomllib.loads(text)
    except ValueError as error:  # tomllib's own, and an integer of thousands of digits
        raise ValueError(f"{where}: not valid TOML: {error}") from None
    except RecursionError:
        raise ValueError(f"{where}: not valid TOML: nested too deeply") from None
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
            where=where,
        )
        table.finish()
        groups = {f"axes.{axis.name}": axis.points for axis in axes} | {"variants": variants}
        check_paths(groups)
        check_base(study.base, groups)
        if not _NAME.fullmatch(study.name):
            raise ValueError(
                f"name must be letters, digits, '_', '.', '-'; got {shorten(study.name)}"
            )
        check_integer(study.seed, "seed", 0, MOST_SEED)
        for claim in study.claims:
            if not isinstance(claim, str):
                raise ValueError(f"claims must be a list of names, got {shorten(claim)} in it")
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
