"""The grid of a study: a place for each combination of its axes' values, a cell per variant."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..algorithms import Butterfly
from ..case import Case
from ..exposure import check_exposed, delays
from ..observables import Column, Observable
from ..program import observation_names, rank_rounds
from ..progress import each
from . import derived
from .axes import Axis, AxisValue, Variant
from .case_fields import Frozen, get_path, thaw

#: Part of every cell's hash: a change of the random streams or of the model makes new cells.
STREAM_VERSION = 3


@dataclass(frozen=True)
class Cell:
    """One case of a study: its variant ("" where there are none), and what identifies it.

    `hash` is 16 hex digits of the case and the stream version, whatever file, machine or order of
    keys.
    """

    variant: str
    case: Case
    hash: str


@dataclass(frozen=True)
class Place:
    """The cells at one place on the axes, which see the same noise.

    Attributes
    ----------
    index : int
        In the study's order.
    labels : mapping
        The value on each axis, as text.
    coordinates : mapping
        The same as numbers where they are numbers: times in seconds.
    cells : tuple of Cell
        One for each variant.
    cost, work : int
        Rank-rounds of one realization, of the dearest cell and of all cells.
    least, limit : int
        Realizations at the first look, and the most. The same without targets.
    raw_limit : int
        Realizations that are kept raw.
    """

    index: int
    labels: Mapping[str, str]
    coordinates: Mapping[str, float | int | str]
    cells: tuple[Cell, ...]
    cost: int
    work: int
    least: int = 1
    limit: int = 1
    raw_limit: int = 0

    @property
    def name(self) -> str:
        """For people: `ranks=128, reading=text`."""
        return place_name(self.labels)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The raw columns of all cells."""
        return tuple(
            Column(cell.variant, name)
            for cell in self.cells
            for name in observation_names(cell.case)
        )

    @cached_property
    def cases(self) -> dict[str, Case]:
        """The cases by variant."""
        return {cell.variant: cell.case for cell in self.cells}

    @property
    def noisy(self) -> bool:
        """Whether any cell has noise that can delay anything in it."""
        return any(delays(noise, cell.case) for cell in self.cells for noise in cell.case.noise)

    def __repr__(self) -> str:
        variants = "".join(f", {cell.variant}" for cell in self.cells if cell.variant)
        return f"Place({self.index}: {self.name}{variants}; {self.limit} realizations at most)"


def place_name(labels: Mapping[str, str], variant: str = "") -> str:
    """`ranks=128, reading=text, redundant`."""
    parts = [f"{axis}={label}" for axis, label in labels.items()]
    return ", ".join([*parts, variant] if variant else parts) or "base case"


def hash_case(table: Mapping[str, Any]) -> str:
    """16 hex digits that identify a case, given as `Case.identity` has it."""
    text = json.dumps([STREAM_VERSION, table], sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def build_places(study: Any) -> tuple[Place, ...]:
    """Every place of a study, each case checked.

    Raises:
        ValueError: a case refuses its values, two cells are the same (the message names the
            cell), or noise that can hit nothing anywhere.
    """
    variants = study.variants or (Variant("", Frozen()),)
    spread = _spread_variants(study.observables.values(), [variant.label for variant in variants])
    axes: list[Axis] = [axis for axis in study.axes if not axis.rule]
    axes += order_derived([axis for axis in study.axes if axis.rule])
    places: list[Place] = []
    owner: dict[tuple[str, ...], str] = {}
    total = math.prod(len(axis.points) for axis in study.axes)
    products = itertools.product(*(axis.points for axis in study.axes))
    for index, points in enumerate(each(products, total, "checking cells")):
        at = {axis.name: point for axis, point in zip(study.axes, points, strict=True)}
        labels = Frozen({name: point.label for name, point in at.items()})
        cells: list[Cell] = []
        for variant in variants:
            table = thaw(study.case)
            table.setdefault("algorithm", {"kind": Butterfly.kind})
            try:
                for axis in axes:
                    axis.apply(table, at[axis.name])
                variant.apply(table)
                if variant.label in spread:
                    table["observe"] = "spread"
                case = Case.from_dict(table)
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{error} [at {place_name(labels, variant.label)}]") from None
            table = case.to_dict()
            cells.append(Cell(variant.label, case, hash_case(case.identity())))
            if variant is variants[0]:
                spots = Frozen(
                    {axis.name: _coordinate(axis, at[axis.name], table) for axis in study.axes}
                )
        place = Place(index, labels, spots, tuple(cells), *_costs(cells))
        _check_twice(place)
        other = owner.setdefault(tuple(cell.hash for cell in cells), place.name)
        if other != place.name:
            raise ValueError(
                f"the places {other} and {place.name} have the same cases: leave one out"
            )
        places.append(place)
    checked = each(places, len(places), "checking noise")
    check_exposed(case for place in checked for case in place.cases.values())
    return tuple(places)


def _costs(cells: Sequence[Cell]) -> tuple[int, int]:
    costs = [rank_rounds(cell.case) for cell in cells]
    return max(costs), sum(costs)


def _spread_variants(observables: Iterable[Observable], variants: list[str]) -> set[str]:
    """Variants whose mean over the ranks is asked for: they observe "spread"."""
    found: set[str] = set()
    for observable in observables:
        found |= observable.spread_variants(variants)
    return found


def _check_twice(place: Place) -> None:
    seen: dict[str, str] = {}
    for cell in place.cells:
        if cell.hash in seen:
            raise ValueError(
                f"variants.{seen[cell.hash]} and variants.{cell.variant} are the same case "
                f"[at {place.name}]"
            )
        seen[cell.hash] = cell.variant


def _coordinate(axis: Axis, point: AxisValue, table: Mapping[str, Any]) -> float | int | str:
    """Where a point is on its axis: a number if the axis is one of numbers."""
    if axis.rule and point.value is not None:
        return point.value
    value = get_path(table, axis.path) if axis.path else None
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if number else point.label


def order_derived(axes: Sequence[Axis]) -> list[Axis]:
    """Derived axes so that each comes after those that set what it reads.

    Raises:
        ValueError: two axes that read what the other sets.
    """
    left, done = list(axes), []
    while left:
        free = [
            axis
            for axis in left
            if not any(
                derived.reads(axis.rule, axis.by, path)
                for other in left
                if other is not axis
                for path in other.by
            )
        ]
        if not free:
            told = " and ".join(f"axes.{axis.name}" for axis in left)
            raise ValueError(f"{told} are derived from each other")
        done += free
        left = [axis for axis in left if axis not in free]
    return done
