"""Base of all observables: from its description to what is measured at each place.

A kind is one file that says which completions it reads and which measure they make.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from ..case import Case
from ..fields import Component, shorten
from .measure import Family, Form, Measure
from .names import quantile_share
from .select import NOISE_FREE, Chosen, Select

SECOND = 10**12  # ticks


class Observable(Component, ABC):
    """Base of all observables.

    Attributes
    ----------
    unit : "s" or ""
    distribution : bool
        Whether a single realization has a value, so that there are quantiles.
    compares : bool
        Whether there is a win probability.
    """

    unit: ClassVar[str] = "s"
    distribution: ClassVar[bool] = True
    compares: ClassVar[bool] = False
    #: For each side that T = "best" may be asked of: how the best is known (see `Family.pick`).
    picks: ClassVar[Mapping[str, str]] = {}

    @abstractmethod
    def sides(self) -> dict[str, Select]:
        """The completions that it reads, by what they are in it."""

    @abstractmethod
    def measure(self, name: str, **sides: Chosen) -> Measure | None:
        """What is measured, given one completion for each side; None if there is no such value."""

    def floor(self, cases: Mapping[str, Case]) -> float | None:
        """A bound that theory sets; `cases` by side."""
        return None

    def resolve(self, name: str, cells: Mapping[str, Case]) -> tuple[Family, ...]:
        """What it is at a place with these cells (by variant).

        With "each" there are several, ``"NAME, T=3"``, ``"NAME, cycle 2"``; none where the cells
        lack the T or the cycle.

        Raises
        ------
        ValueError
            A variant that the study lacks.
        """
        where = f"observables.{name}"
        sides = self.sides()
        variants = {
            side: select.variant_of(cells, _field(where, side)) for side, select in sides.items()
        }
        found = {
            side: select.found(variants[side], cells[variants[side]])
            for side, select in sides.items()
        }
        floor = self.floor({side: cells[variant] for side, variant in variants.items()})
        families = []
        for T in _common(
            found, [side for side, select in sides.items() if select.T == "each"], "T"
        ):
            by_cycle = [side for side, select in sides.items() if select.cycle == "each"]
            for cycle in _common(found, by_cycle, "cycle"):
                choice = {
                    side: [
                        completion
                        for completion in found[side]
                        if (select.T != "each" or completion.T == T)
                        and (select.cycle != "each" or completion.cycle == cycle)
                    ]
                    for side, select in sides.items()
                }
                parts = [name]
                parts += [] if T is None else [f"T={T}"]
                parts += [] if cycle is None else [f"cycle {cycle}"]
                family = self._family(", ".join(parts), choice, floor)
                families += [family] if family else []
        return tuple(families)

    def _family(
        self, name: str, choice: Mapping[str, list[Chosen]], floor: float | None
    ) -> Family | None:
        if not all(choice.values()):
            return None
        best = self._best()
        first = {side: chosen[0] for side, chosen in choice.items()}
        if best is None:
            only = self.measure(name, **first)
            T = next(iter(first.values())).T
            return only and Family(name, self.unit, (only,), (T,), "only", floor)
        made = [(c.T, self.measure(f"{name}, T={c.T}", **{**first, best: c})) for c in choice[best]]
        members = tuple(measure for _, measure in made if measure)
        if not members:
            return None
        labels = tuple(T for T, measure in made if measure)
        return Family(name, self.unit, members, labels, self.picks[best], floor)

    def _best(self) -> str | None:
        """The side that asks for the best T."""
        return next((side for side, select in self.sides().items() if select.T == "best"), None)

    def check_best(self) -> None:
        """Raise ValueError if T = "best" is asked of a side where it has no meaning, or of two."""
        asked = [side for side, select in self.sides().items() if select.T == "best"]
        for side in asked:
            if side not in self.picks:
                raise ValueError(f"{side}.T must not be 'best'")
        if len(asked) > 1:
            raise ValueError(f"T must not be 'best' in both {' and '.join(asked)}")

    def spread_variants(self, cells: Iterable[str]) -> set[str]:
        """The variants whose mean over ranks it reads; `cells` are the names of all."""
        only = list(cells)
        mean = [select.variant for select in self.sides().values() if select.rank == "mean"]
        return {only[0] if not variant and len(only) == 1 else variant for variant in mean}

    def check_statistic(self, statistic: str, name: str) -> None:
        """Raise ValueError if it has no such statistic."""
        if not self.distribution and (
            quantile_share(statistic) is not None or statistic in ("min", "max")
        ):
            raise ValueError(
                f"{name} has no {statistic}: {self.kind} is a value of all realizations together, "
                "and has a mean only"
            )
        if statistic == "win probability" and not self.compares:
            raise ValueError(f"{name} has no win probability: {self.kind} compares nothing")

    def check_target(self, name: str) -> None:
        """Raise ValueError if nothing of it has a width that a target could ask for."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values (for TOML and JSON), with `kind`; what is a default is left out."""
        table: dict[str, Any] = {"kind": self.kind}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value != field.default:
                table[field.name] = value.plain() if isinstance(value, Select) else value
        return table


def in_seconds(name: str, form: Form) -> Measure:
    """A time."""
    return Measure(name, form, SECOND, "s")


def read_side(value: Any, name: str, *, quiet: bool = False) -> Select | str:
    """A field that takes a variant or a table; with `quiet` also "noise-free"."""
    if quiet and value == NOISE_FREE:
        return NOISE_FREE
    if not isinstance(value, (str, Mapping, Select)):
        also = f", {NOISE_FREE!r}" if quiet else ""
        raise ValueError(
            f"{name} must be the name of a variant{also} or a table of variant, T, cycle, rank, "
            f"got {shorten(value)}"
        )
    return Select.read(value, name)


def read_observable(name: str, value: Any) -> Observable:
    """The observable `name` of a study: an object, or its table."""
    if isinstance(value, Observable):
        return value
    if isinstance(value, Component) or not isinstance(value, Mapping):
        raise ValueError(
            f"observables.{name} must be an observable or a table, got {shorten(value)}"
        )
    return Observable.from_dict(value, f"observables.{name}")


def _field(where: str, side: str) -> str:
    """The name of a side for errors; a kind with one side has its fields at the top."""
    return ".".join(part for part in (where, side if side != "completion" else "") if part)


def _common(found: Mapping[str, list[Chosen]], sides: list[str], what: str) -> list[int | None]:
    """The values of T (or cycle) that all `sides` have; [None] without sides."""
    if not sides:
        return [None]
    sets = [{getattr(completion, what) for completion in found[side]} for side in sides]
    return sorted(set.intersection(*sets))
