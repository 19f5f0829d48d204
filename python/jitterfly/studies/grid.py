"""Grid of a study: cells from the product of its axes (zipped ones are one); hash of a record.

`RealizationBudget`: minimum and maximum number of realizations of a cell.
"""

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
from ..case import (
    Case,
    check_effective,
    warn_of_absent_hosts,
    warn_of_ineffective_speeds,
    warn_of_late_noise,
    warn_of_unused_costs,
)
from ..distributions import Distribution
from ..fields import (
    MAX_REALIZATIONS,
    Converted,
    IntOrTextField,
    Real,
    as_float,
    frozen_dataclass,
    is_number,
    shorten,
)
from ..noise import Noise
from ..observables import Column, MeasureFamily, Observable
from ..progress import counted_progress
from ..schedule import ScheduleCase
from ..syntax import read_count, read_noises, read_size
from ..workload import Workload
from .axes import Axis, AxisValue, Frozen, Variant, get_path, rule_reads, thaw

_FEW = 100  # fewer tell little, and nothing about rare noise


@frozen_dataclass()
class RealizationBudget:
    """The number of realizations per cell: as `rank_rounds` pays for, between `min` and `max`.

    It is the `budget` of a `Study`:
    ``jf.Study("mine", case=case, budget=jf.RealizationBudget(...))``.

    With targets that is the most; the first look is after `min`.

    Parameters
    ----------
    min : int, optional
        From 1; 100 where it is left out, or `max` if that is less.
    max : int
        Up to 2^32.
    rank_rounds : float
        Messages (ranks times rounds) of the dearest variant of a cell, from 1. Infinite: no limit.
    raw_bytes : int
        Per cell: samples are kept raw up to that many bytes, beyond it as histograms.

    Examples
    --------
    >>> RealizationBudget(max=100_000, rank_rounds=1e9).realizations(cost=50_000)
    20000
    """

    min: IntOrTextField = None  # type: ignore[assignment]
    max: IntOrTextField = None  # type: ignore[assignment]
    rank_rounds: Converted[Real, float] = Converted("float", float("inf"))
    raw_bytes: IntOrTextField = IntOrTextField(2**26)

    def __post_init__(self) -> None:
        if self.max is None:
            raise ValueError("realizations lacks the key 'max': how many a cell may have at most")
        high = read_count(self.max, "realizations.max", 1, MAX_REALIZATIONS)
        low = self.min
        low = min(_FEW, high) if low is None else read_count(low, "realizations.min", 1, high)
        rounds = _check_rounds(self.rank_rounds)
        raw = read_size(self.raw_bytes, "realizations.raw_bytes")
        for name, value in (
            ("min", low), ("max", high), ("rank_rounds", rounds), ("raw_bytes", raw),
        ):  # fmt: skip
            object.__setattr__(self, name, value)

    def realizations(self, cost: int) -> int:
        """The number of realizations of a cell of which one costs `cost` rank-rounds."""
        return int(min(self.max, max(self.min, self.rank_rounds / cost)))

    def to_dict(self) -> dict[str, Any]:
        """The table [realizations] of a study; what is a default is left out."""
        table: dict[str, Any] = {"min": self.min, "max": self.max}
        if self.rank_rounds < float("inf"):
            table["rank_rounds"] = self.rank_rounds
        if self.raw_bytes != RealizationBudget.raw_bytes:
            table["raw_bytes"] = self.raw_bytes
        return table


def _check_rounds(value: Any) -> float:
    """Check `rank_rounds` of a study's budget, and return it."""
    rounds = as_float(value) if is_number(value) else 0.0
    beyond = rounds == float("inf") and value != rounds  # such as 10^400
    if not rounds >= 1 or beyond:
        raise ValueError(
            f"realizations.rank_rounds must be a number of at least 1, got {shorten(value)}"
        )
    return rounds


#: Part of every case's hash: a change of the random streams or of the model makes new records, and
#: stores of another version are refused (`store.run_directory`).
STREAM_VERSION = 3


@dataclass(frozen=True)
class VariantCase:
    """The case of one variant in a cell, and what identifies it.

    `label` is the variant's, "" where the study has none. `hash` is 16 hex digits of the case and
    the stream version, whatever file, machine or order of keys. `situation` is those of the case
    whatever is observed of it.
    """

    label: str
    case: Workload
    hash: str
    situation: str

    @classmethod
    def of(cls, label: str, case: Workload) -> VariantCase:
        """Hash a case; its values are read once for both hashes, which takes its time."""
        table = case.identity()
        own = hash_case(table)
        table.pop("observe")
        table.pop("loops", None)  # which T are observed
        return cls(label, case, own, digest(table))


@dataclass(frozen=True)
class Cell:
    """One combination of the axes' values: its cases, one for each variant, see the same noise.

    Attributes
    ----------
    index : int
        In the study's order.
    labels : mapping
        The value on each axis, as text.
    coordinates : mapping
        The same as numbers where they are numbers: times in seconds.
    variants : tuple of VariantCase
        One for each variant.
    cost, work : int
        Rank-rounds of one realization, of the dearest variant and of all variants.
    least, limit : int
        Realizations at the first look, and the most. The same without targets.
    raw_limit : int
        Realizations that are kept raw.
    """

    index: int
    labels: Mapping[str, str]
    coordinates: Mapping[str, float | int | str]
    variants: tuple[VariantCase, ...]
    cost: int
    work: int
    least: int = 1
    limit: int = 1
    raw_limit: int = 0

    @property
    def name(self) -> str:
        """The name for people: `ranks=128, reading=text`."""
        return cell_name(self.labels)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The raw columns of all variants."""
        return tuple(
            Column(variant.label, name)
            for variant in self.variants
            for name in variant.case.observation_names()
        )

    @cached_property
    def cases(self) -> dict[str, Workload]:
        """The cases by variant."""
        return {variant.label: variant.case for variant in self.variants}

    @property
    def of_schedules(self) -> bool:
        """Return whether all its cases are schedules of applications, none a collective."""
        return all(isinstance(variant.case, ScheduleCase) for variant in self.variants)

    @cached_property
    def noisy(self) -> bool:
        """Return whether realizations of any variant can differ."""
        return bool(self._noisy_variants)

    @cached_property
    def _noisy_variants(self) -> frozenset[str]:
        return frozenset(label for label, case in self.cases.items() if any(case.random_sources))

    def varies(self, family: MeasureFamily) -> bool:
        """Return whether realizations of an observable can differ: a variant of it has noise."""
        return any(column.variant in self._noisy_variants for column in family.columns)

    def __repr__(self) -> str:
        variants = "".join(f", {variant.label}" for variant in self.variants if variant.label)
        return f"Cell({self.index}: {self.name}{variants}; {self.limit} realizations at most)"


def cell_name(labels: Mapping[str, str], variant: str = "") -> str:
    """The name of a cell: `ranks=128, reading=text, redundant`."""
    parts = [f"{axis}={label}" for axis, label in labels.items()]
    return ", ".join([*parts, variant] if variant else parts) or "base case"


def hash_case(table: Mapping[str, Any]) -> str:
    """The 16 hex digits that identify a case, given as `Case.identity` has it."""
    return digest([STREAM_VERSION, table])


def digest(value: Any) -> str:
    """The 16 hex digits that identify plain values, whatever the order of keys."""
    text = json.dumps(value, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def build_cells(study: Any) -> tuple[Cell, ...]:
    """Every cell of a study, each case checked.

    Raises
    ------
    ValueError
        A case refuses its values, two cells are the same (the message names
        them), or noise that can hit nothing anywhere.
    """
    variants = study.variants or (Variant("", Frozen()),)
    names = [variant.label for variant in variants]
    observes = _observe_of(study.observables.values(), names)
    asked = [one.variants_of_several_T(names) for one in study.observables.values()]
    several_T = set().union(*asked)
    axes: list[Axis] = [axis for axis in study.axes if not axis.rule]
    axes += order_derived([axis for axis in study.axes if axis.rule])
    named = {axis.name: _numbers_named(axis) for axis in axes if not axis.path}
    cells: list[Cell] = []
    owner: dict[tuple[str, ...], str] = {}
    total = math.prod(len(axis.values) for axis in study.axes)
    products = itertools.product(*(axis.values for axis in study.axes))
    for index, combination in enumerate(counted_progress(products, total, "checking cells")):
        at = {axis.name: value for axis, value in zip(study.axes, combination, strict=True)}
        labels = Frozen({name: value.label for name, value in at.items()})
        cases: list[VariantCase] = []
        for variant in variants:
            table = thaw(study.case)
            settings = [*(value.settings for value in combination), variant.settings]
            paths = [path for part in (table, *settings) for path in part]
            if not any(path.split(".")[0] == "schedule" for path in paths):
                table.setdefault("algorithm", {"kind": Butterfly.kind})
            try:
                for axis in axes:
                    axis.apply(table, at[axis.name])
                variant.apply(table)
                leave_out(table)
                case = _read_case(table, observes.get(variant.label))
                if isinstance(case, Case) and variant.label not in several_T:
                    case = case.loops[-1]
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{error} [at {cell_name(labels, variant.label)}]") from None
            except Exception as error:  # of a class that the user wrote
                if hasattr(error, "add_note"):  # from Python 3.11 on
                    error.add_note(f"[at {cell_name(labels, variant.label)}]")
                raise
            table = case.to_dict()
            cases.append(VariantCase.of(variant.label, case))
            if variant is variants[0]:
                coordinates = Frozen(
                    {
                        axis.name: _coordinate(axis, at[axis.name], table, named.get(axis.name, {}))
                        for axis in study.axes
                    }
                )
        costs = [variant.case.rank_rounds() for variant in cases]
        cell = Cell(index, labels, coordinates, tuple(cases), max(costs), sum(costs))
        _check_variants_differ(cell)
        other = owner.setdefault(tuple(one.hash for one in cases), cell.name)
        if other != cell.name:
            raise ValueError(
                f"the cells {other} and {cell.name} have the same cases (files count by their "
                "content): leave one out"
            )
        cells.append(cell)
    checked = counted_progress(cells, len(cells), "checking noise")
    check_effective(case for cell in checked for case in cell.cases.values())
    warn_of_unused_costs(case for cell in cells for case in cell.cases.values())
    warn_of_absent_hosts(case for cell in cells for case in cell.cases.values())
    checked = counted_progress(cells, len(cells), "looking when noise begins")
    warn_of_late_noise(case for cell in checked for case in cell.cases.values())
    warn_of_ineffective_speeds(case for cell in cells for case in cell.cases.values())
    return tuple(cells)


def _read_case(table: dict[str, Any], observe: str | None) -> Workload:
    """The case of a table, which observes more than the completion if observables ask for that."""
    if "schedule" not in table:
        return Case.from_dict(table if observe is None else table | {"observe": observe})
    if observe is not None:
        raise ValueError(
            "observables: of a schedule a study knows when its last rank is done, and when "
            "its marks are reached, but neither a mean over the ranks nor when they arrive"
        )
    return ScheduleCase.from_dict(table)


def leave_out(table: dict[str, Any]) -> None:
    """Drop the sources of noise that have ``off = true``, and the key `off` of the others.

    So a point of an axis switches a source off, whatever else sets its fields. All others draw what
    they drew with it: sources of a kind are numbered, and the number decides what one draws. So one
    that another of its kind follows stays, without effect.

    Raises
    ------
    ValueError
        `off` is neither true nor false, or it is of a recording that another one follows.
    """
    sources = read_noises(table.get("noise"))
    if not isinstance(sources, list):
        return
    kept: list[Any] = []
    on: set[str] = set()  # kinds of the sources behind
    for number, source in reversed(list(enumerate(sources))):
        kind = source.get("kind") if isinstance(source, dict) else None
        off = source.pop("off", False) if isinstance(source, dict) else False
        if not isinstance(off, bool):
            raise ValueError(f"noise.{number}.off must be true or false, got {shorten(off)}")
        if not off:
            kept.append(source)
            on.update([kind] if isinstance(kind, str) else [])  # what else it is, is an error
        elif isinstance(kind, str) and kind in on:
            kept.append(source | _settings_without_effect(kind, number))
    table["noise"] = kept[::-1]


def _settings_without_effect(kind: str, number: int) -> Mapping[str, Any]:
    """Return the fields that switch noise of a kind off, so that others draw as before."""
    fields = Noise.no_effect_of(kind)
    if not fields:
        raise ValueError(
            f"noise.{number}.off: {kind} noise that follows would draw otherwise without it; let "
            "the source that is switched off stand last of its kind"
        )
    return fields


def _observe_of(observables: Iterable[Observable], variants: list[str]) -> dict[str, str]:
    """The `observe` of variants that are asked for more than the last rank's completion.

    "spread": a mean over the ranks. "arrival": that, and when ranks arrive. "own": that, and own
    times.
    """
    spread: set[str] = set()
    arrival: set[str] = set()
    own: set[str] = set()
    for observable in observables:
        spread |= observable.spread_variants(variants)
        arrival |= observable.arrival_variants(variants)
        own |= observable.own_variants(variants)
    found = dict.fromkeys(spread, "spread") | dict.fromkeys(arrival, "arrival")
    return found | dict.fromkeys(own, "own")


def _check_variants_differ(cell: Cell) -> None:
    """Raise ValueError where two variants of a cell are the same case."""
    seen: dict[str, str] = {}
    for variant in cell.variants:
        if variant.hash in seen:
            raise ValueError(
                f"variants.{seen[variant.hash]} and variants.{variant.label} are the same case "
                f"[at {cell.name}]"
            )
        seen[variant.hash] = variant.label


def _coordinate(
    axis: Axis, value: AxisValue, table: Mapping[str, Any], named: Mapping[str, float | int]
) -> float | int | str:
    """The place of a value on its axis: a number if the axis is one of numbers.

    A time alone that stands for a distribution is a number, and so is one that the case reads as
    something else, such as a list. So is a point that is in `named`.
    """
    if axis.rule and value.value is not None:
        return value.value
    given: Any = value.settings[axis.path] if axis.path else None
    field: Any = get_path(table, axis.path) if axis.path else None
    if not isinstance(given, Mapping):
        field = _number_alone(field)
    numbers: list[float | int] = [one for one in (field, given) if is_number(one)]
    if value.label in named:
        numbers = [named[value.label]]
    return numbers[0] if numbers else value.label


def _number_alone(table: Any) -> Any:
    """The parameter in the table of a distribution that has only one; anything else as it is."""
    if not isinstance(table, Mapping) or table.get("kind") not in Distribution.kinds():
        return table
    values = [value for key, value in table.items() if key != "kind"]
    return values[0] if len(values) == 1 and isinstance(values[0], (int, float)) else table


def _numbers_named(axis: Axis) -> dict[str, float | int]:
    """The number of each point, where all are named by different numbers; else nothing."""
    named = {one.label: _number_named(one.label) for one in axis.values}
    numbers = {label: number for label, number in named.items() if number is not None}
    return numbers if len(set(numbers.values())) == len(named) else {}


def _number_named(label: str) -> float | int | None:
    """The number that a point's name stands for; None for another name."""
    for read in (int, float):
        try:
            number = read(label)
        except ValueError:
            continue
        fits = abs(number) < 2**63 if read is int else math.isfinite(number)  # what exports know
        return number if fits else None
    return None


def order_derived(axes: Sequence[Axis]) -> list[Axis]:
    """Order derived axes so that each comes after those that set what it reads.

    Raises
    ------
    ValueError
        Two axes that read what the other sets.
    """
    left, done = list(axes), []
    while left:
        free = [
            axis
            for axis in left
            if not any(
                rule_reads(axis.rule, axis.by, path)
                for other in left
                if other is not axis
                for path in other.by
            )
        ]
        if not free:
            circular = " and ".join(f"axes.{axis.name}" for axis in left)
            raise ValueError(f"{circular} are derived from each other")
        done += free
        left = [axis for axis in left if axis not in free]
    return done
