"""Which completion an observable is about."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from ..algorithms import MOST_ROUNDS
from ..case import MOST_CYCLES, Case
from ..fields import check_choice, check_integer, check_keys, did_you_mean, shorten
from ..program import completions
from ..quiet import quiet_observations
from .measure import Form
from .ticks import Column

NOISE_FREE = "noise-free"

Which = int | Literal["last", "best", "each"]
Cycle = int | Literal["last", "each"]
Rank = Literal["last", "mean"]


@dataclass(frozen=True)
class Chosen:
    """One completion of a cell: its column, and its value without noise in ticks."""

    T: int
    cycle: int
    column: Column
    quiet: int

    @property
    def form(self) -> Form:
        """Its samples."""
        return Form.of(self.column)


@dataclass(frozen=True)
class Select:
    """Which completion of a place is meant.

    Parameters
    ----------
    variant : str
        The variant's name; may be left out where there is only one.
    T : int, "last", "best" or "each"
        Redundant exchanges after the butterfly. "last": all that the case does. "best": the
        T >= 1 with the smallest mean, as Matsumoto & Suda 2012 define the proposed method. "each":
        an observable for each T.
    cycle : int, "last" or "each"
        From 1. None: that of the observable.
    rank : "last" or "mean"
        Completion of the last rank, or the mean over the ranks. None: that of the observable.
    """

    variant: str = ""
    T: Which = "last"
    cycle: Cycle | None = None
    rank: Rank | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.variant, str):
            raise ValueError(f"variant must be a name, got {shorten(self.variant)}")
        _check_number(self.T, "T", 0, MOST_ROUNDS, ("last", "best", "each"))
        if self.cycle is not None:
            _check_number(self.cycle, "cycle", 1, MOST_CYCLES, ("last", "each"))
        if self.rank is not None:
            check_choice(self.rank, "rank", ("last", "mean"))

    @classmethod
    def read(cls, value: Any, where: str) -> Select:
        """From the name of a variant, or a table."""
        if isinstance(value, Select):
            return value
        if isinstance(value, str):
            return cls(value)
        try:
            check_keys(value, [field.name for field in dataclasses.fields(cls)], where)
            return cls(**value)
        except ValueError as error:
            told = str(error)
            raise ValueError(told if told.startswith(where) else f"{where}.{told}") from None

    def plain(self) -> str | dict[str, Any]:
        """As `read` takes it."""
        table = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        }
        return self.variant if set(table) == {"variant"} else table

    def within(self, cycle: Cycle, rank: Rank) -> Select:
        """With what it leaves to the observable filled in."""
        return dataclasses.replace(
            self,
            cycle=cycle if self.cycle is None else self.cycle,
            rank=rank if self.rank is None else self.rank,
        )

    def variant_of(self, cells: Mapping[str, Case], where: str) -> str:
        """The name of its variant among `cells`."""
        if self.variant in cells:
            return self.variant
        if not self.variant and len(cells) == 1:
            return next(iter(cells))
        if not self.variant:
            raise ValueError(f"{where}: variant is missing; the study has {', '.join(cells)}")
        if list(cells) == [""]:
            hint = did_you_mean(self.variant, [NOISE_FREE])
            raise ValueError(
                f"{where}: the study has no variants, got variant {self.variant!r}{hint}"
            )
        check_choice(self.variant, f"{where}: variant", list(cells))
        raise AssertionError("not reached")

    def found(self, variant: str, case: Case) -> list[Chosen]:
        """What it can mean in the cell `case`: several with "best" and "each", else one at most."""
        rows, cycles = _rows(case), case.cycles
        last_T = max(row[0] for row in rows)
        mean = self.rank == "mean"
        if mean and case.observe != "spread":
            raise ValueError("rank 'mean' needs a case with observe = 'spread'")
        found = []
        for T, cycle, name, *quiet in rows:
            wanted = {"last": last_T == T, "best": T >= 1, "each": True}
            if not (T == self.T if isinstance(self.T, int) else wanted[self.T]):
                continue
            if self.cycle != "each" and cycle != (cycles if self.cycle == "last" else self.cycle):
                continue
            if case.observe == "spread":
                name = f"{name}: {'mean' if mean else 'max'}"
            found.append(Chosen(T, cycle, Column(variant, name), quiet[mean]))
        return found


@lru_cache(maxsize=16)  # the observables of a place ask one after the other
def _rows(case: Case) -> tuple[tuple[int, int, str, int, int], ...]:
    """T, cycle, name and noise-free ticks, latest and mean rank, of each completion of a case."""
    quiet = quiet_observations(case).tolist()
    spread = case.observe == "spread"
    latest, mean = (quiet[0::3], quiet[2::3]) if spread else (quiet, quiet)
    rows = zip(completions(case), latest, mean, strict=True)
    return tuple((row.T, row.cycle, row.name, last, middle) for row, last, middle in rows)


def _check_number(value: Any, name: str, low: int, high: int, words: tuple[str, ...]) -> None:
    if isinstance(value, str) and value in words:
        return
    try:
        check_integer(value, name, low, high)
    except ValueError:
        told = ", ".join(map(repr, words))
        rule = f"{name} must be an integer from {low} to {high}, or one of {told}"
        raise ValueError(f"{rule}; got {shorten(value)}") from None
