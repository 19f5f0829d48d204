"""Base class `Observable`: which completion times it reads, of which variants, and its measure.

A kind is a class that says which completions it reads and which measure they make.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal

from ..algorithms.algorithm import MAX_ROUNDS
from ..case import MAX_CYCLES
from ..fields import (
    Component,
    check_choice,
    check_integer,
    check_keys,
    did_you_mean,
    grouped,
    shorten,
)
from ..noise import TraceNoise
from ..program import OVER_RANKS, own_name, start_name
from ..program import STATISTICS as RANK_STATISTICS
from ..units import TICKS_PER_SECOND
from ..unseen_noise import RecordedNoise
from ..workload import CompletionRow, Workload
from .measure import Column, LinearForm, Measure, MeasureFamily, Span
from .statistics import quantile_share

NOISE_FREE = "noise-free"
OF_A_CYCLE = re.compile("(?P<observable>.*), cycle (?P<cycle>[0-9]+)")
"""The name that `Observable.resolve` makes of an observable of each cycle."""

Which = int | Literal["last", "best", "each"]
Cycle = int | Literal["last", "each"]
Rank = Literal["last", "mean"]


@dataclass(frozen=True)
class CompletionColumn:
    """One completion of a case: its column, and its value without noise in ticks.

    `ends`: of all cycles of the case, the column of the completion that the next one waits for, and
    its value without noise. `arrivals`: the columns of the first and of the last rank's arrival at
    the collective of that cycle, where the case observes them. `own`: the columns of the ranks' own
    times, by what they are over the ranks. `noise_only_delays`: no realization is below
    `noise_free`. `tells_met`: a realization that noise did not meet, and no other, takes
    `noise_free`. `is_drawn`: realizations can differ. `recorded`: the recordings that the case
    replays.
    """

    T: int
    cycle: int
    column: Column
    noise_free: int
    ends: tuple[tuple[Column, int], ...]
    arrivals: tuple[Column, Column] | None = None
    own: Mapping[str, Column] | None = None
    noise_only_delays: bool = False
    tells_met: bool = False
    is_drawn: bool = False
    recorded: RecordedNoise | None = None

    def with_recordings(self, measure: Measure) -> Measure:
        """Add the recordings of the case's noise to a measure that is linear in this time."""
        noise_free = self.noise_free / TICKS_PER_SECOND
        return dataclasses.replace(measure, recorded=self.recorded, noise_free_time=noise_free)

    @property
    def form(self) -> LinearForm:
        """Return the form of its samples."""
        return LinearForm.of(self.column)

    def span(self, first: int, last: int) -> Span:
        """Return the part of the run after cycle `first` (0: the start), up to cycle `last`."""
        begin, end = (self.ends[cycle - 1][1] if cycle else 0 for cycle in (first, last))
        whole = self.ends[-1][1]
        shares = (begin / whole, end / whole) if end > begin else (0.0, 1.0)
        return Span(*shares, first, last)


@dataclass(frozen=True)
class Select:
    """A selection of a completion in a cell: variant, T, cycle and rank.

    Parameters
    ----------
    variant : str
        The variant's name; may be left out where there is only one.
    T : int, "last", "best" or "each"
        Redundant exchanges after the butterfly, in every cycle. "last": all that the case does.
        "best": the T >= 1 with the smallest mean, as Matsumoto & Suda 2012 define the proposed
        method. "each": an observable for each T. With several cycles each T is simulated by itself,
        unless all observables of a variant read the last one.
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
        check_number(self.T, "T", 0, MAX_ROUNDS, ("last", "best", "each"))
        if self.cycle is not None:
            check_number(self.cycle, "cycle", 1, MAX_CYCLES, ("last", "each"))
        if self.rank is not None:
            check_choice(self.rank, "rank", ("last", "mean"))

    @classmethod
    def read(cls, value: Any, where: str) -> Select:
        """Make a selection of the name of a variant, or of a table."""
        if isinstance(value, Select):
            return value
        if isinstance(value, str):
            return cls(value)
        try:
            check_keys(value, [field.name for field in dataclasses.fields(cls)], where)
            return cls(**value)
        except ValueError as error:
            what = str(error)
            raise ValueError(what if what.startswith(where) else f"{where}.{what}") from None

    def plain(self) -> str | dict[str, Any]:
        """Return the selection as `read` takes it."""
        table = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        }
        return self.variant if set(table) == {"variant"} else table

    def within(self, cycle: Cycle, rank: Rank) -> Select:
        """Return the selection with the observable's cycle and rank where it has none."""
        return dataclasses.replace(
            self,
            cycle=cycle if self.cycle is None else self.cycle,
            rank=rank if self.rank is None else self.rank,
        )

    def variant_of(self, cases: Mapping[str, Workload], where: str) -> str:
        """The name of its variant among `cases`, which are by variant."""
        if self.variant in cases:
            return self.variant
        if not self.variant and len(cases) == 1:
            return next(iter(cases))
        if not self.variant:
            raise ValueError(f"{where}: variant is missing; the study has {', '.join(cases)}")
        if list(cases) == [""]:
            hint = did_you_mean(self.variant, [NOISE_FREE])
            raise ValueError(
                f"{where}: the study has no variants, got variant {self.variant!r}{hint}"
            )
        return check_choice(self.variant, f"{where}: variant", list(cases))

    def completions_in(self, variant: str, case: Workload) -> list[CompletionColumn]:
        """Return the completions that it selects: at most one without "best" or "each"."""
        rows, cycles = _completions_of(case), case.cycles
        last_T = max(row.T for row, *_ in rows)
        mean = self.rank == "mean"
        over_ranks = case.observe in OVER_RANKS
        bounded, met = case.noise_only_delays(), case.has_one_random_source
        drawn = any(case.random_sources)
        replays = any(isinstance(one, TraceNoise) for one in case.noise)
        recorded = RecordedNoise.of_case(case) if replays else None
        if mean and not over_ranks:
            raise ValueError("rank 'mean' needs a case with observe = 'spread'")

        def column_of(name: str) -> Column:
            return Column(variant, f"{name}: {'mean' if mean else 'max'}" if over_ranks else name)

        def ends_of(T: int) -> tuple[tuple[Column, int], ...]:
            return tuple(
                (column_of(row.name), noise_free[mean]) for row, *noise_free in rows if row.T == T
            )

        last_ends = ends_of(last_T)
        chosen = []
        for row, *noise_free in rows:
            name, T, cycle = row
            wanted = {"last": last_T == T, "best": T >= 1, "each": True}
            if not (T == self.T if isinstance(self.T, int) else wanted[self.T]):
                continue
            if self.cycle != "each" and cycle != (cycles if self.cycle == "last" else self.cycle):
                continue
            arrivals = own = None
            if case.observe in ("arrival", "own"):
                start = start_name(case, row)
                arrivals = Column(variant, f"{start}: min"), Column(variant, f"{start}: max")
            if case.observe == "own":
                mine = own_name(case, row)
                own = {what: Column(variant, f"{mine}: {what}") for what in RANK_STATISTICS}
            column = column_of(name)
            # Each T is a loop of its own, where there are several cycles.
            ends = last_ends if cycles == 1 or last_T == T else ends_of(T)
            known = arrivals, own, bounded, met, drawn, recorded
            chosen.append(CompletionColumn(T, cycle, column, noise_free[mean], ends, *known))
        return chosen


@lru_cache(maxsize=16)  # the observables of a cell ask one after the other
def _completions_of(case: Workload) -> tuple[tuple[CompletionRow, int, int], ...]:
    """Each completion of a case, and its noise-free ticks, latest and mean rank."""
    noise_free = dict(
        zip(case.observation_names(), case.noise_free_observations().tolist(), strict=True)
    )
    ends = (": max", ": mean") if case.observe in OVER_RANKS else ("", "")
    latest, mean = ([noise_free[row.name + end] for row in case.completions()] for end in ends)
    return tuple(zip(case.completions(), latest, mean, strict=True))


def check_number(value: Any, name: str, low: int, high: int, words: tuple[str, ...]) -> None:
    """Raise ValueError unless it is an integer in the range or one of the words."""
    if isinstance(value, str) and value in words:
        return
    try:
        check_integer(value, name, low, high)
    except ValueError:
        others = ", ".join(map(repr, words))
        rule = f"{name} must be an integer from {low} to {high}, or one of {others}"
        raise ValueError(f"{rule}; got {shorten(value)}") from None


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

    goes_to = "It is one of the `observables` of a `Study`"
    example = 'jf.Study("mine", case=case, observables={{"mine": {}}})'

    unit: ClassVar[str] = "s"
    distribution: ClassVar[bool] = True
    compares: ClassVar[bool] = False
    #: For each side that T = "best" may be asked of: how the best is known (`MeasureFamily.pick`).
    picks: ClassVar[Mapping[str, str]] = {}
    cycle: Cycle | Literal["mean"]  # a field of every kind

    @abstractmethod
    def sides(self) -> dict[str, Select]:
        """The completions that it reads, by what they are in it."""

    @abstractmethod
    def measure(self, name: str, **sides: CompletionColumn) -> Measure | None:
        """Return the measure, given a completion for each side; None if the cell has none."""

    def why_none(self, cases: Mapping[str, Workload]) -> str:
        """Say why these cases (by variant), which have what it reads, have no measure."""
        return "it takes 0 s without noise"

    def resolve(self, name: str, cases: Mapping[str, Workload]) -> tuple[MeasureFamily, ...]:
        """Return what it is in a cell with these cases (by variant).

        With "each" there are several, ``"NAME, T=3"``, ``"NAME, cycle 2"``; none where the cases
        lack the T or the cycle.

        Raises
        ------
        ValueError
            A variant that the study lacks.
        """
        where = f"observables.{name}"
        sides = self.sides()
        variants = {  # a kind with one side has its fields at the top
            side: select.variant_of(cases, where if side == "completion" else f"{where}.{side}")
            for side, select in sides.items()
        }
        by_side = {
            side: select.completions_in(variants[side], cases[variants[side]])
            for side, select in sides.items()
        }
        groups = {side: _by_T_and_cycle(by_side[side], select) for side, select in sides.items()}
        families = []
        for T, cycle in itertools.product(
            _common_values(by_side, sides, "T"), _common_values(by_side, sides, "cycle")
        ):
            choice = {
                side: groups[side].get(_group_of(select, T, cycle), [])
                for side, select in sides.items()
            }
            parts = [name]
            parts += [] if T is None else [f"T={T}"]
            parts += [] if cycle is None else [f"cycle {cycle}"]
            family = self._family(", ".join(parts), choice)
            families += [family] if family else []
        return tuple(families)

    def _family(
        self, name: str, choice: Mapping[str, list[CompletionColumn]]
    ) -> MeasureFamily | None:
        """Make the measure of a cell, or one for each T if the best T is asked for."""
        if not all(choice.values()):
            return None
        best = next((side for side, select in self.sides().items() if select.T == "best"), None)
        first = {side: chosen[0] for side, chosen in choice.items()}
        if best is None:
            only = self._measured(name, first)
            T = next(iter(first.values())).T
            return MeasureFamily(name, self.unit, (only,), (T,), "only") if only else None
        made = [(c.T, self._measured(f"{name}, T={c.T}", {**first, best: c})) for c in choice[best]]
        members = tuple(measure for _, measure in made if measure)
        if not members:
            return None
        labels = tuple(T for T, measure in made if measure)
        return MeasureFamily(name, self.unit, members, labels, self.picks[best])

    def _measured(self, name: str, sides: Mapping[str, CompletionColumn]) -> Measure | None:
        """Return `measure` with its parts, and the span of each variant's run that it reads."""
        measure = self.measure(name, **sides)
        spans: dict[str, Span] = {}
        for chosen in sides.values():
            variant, span = chosen.column.variant, chosen.span(*self.read_cycles(chosen))
            spans[variant] = span.joined(spans.get(variant, span))
        if measure is None:
            return None
        return dataclasses.replace(measure, spans=spans, parts=_parts_of(measure, sides.values()))

    def read_cycles(self, chosen: CompletionColumn) -> tuple[int, int]:
        """Return before which cycle the time that it reads begins, and with which one it ends."""
        return 0, chosen.cycle

    def check_best(self) -> None:
        """Raise ValueError if T = "best" is asked of a side where it has no meaning, or of two."""
        asked = [side for side, select in self.sides().items() if select.T == "best"]
        for side in asked:
            if side not in self.picks:
                raise ValueError(f"{side}.T must not be 'best'")
        if len(asked) > 1:
            raise ValueError(f"T must not be 'best' in both {' and '.join(asked)}")

    def spread_variants(self, variants: Iterable[str]) -> set[str]:
        """The variants of which it reads more than the latest rank: these observe "spread".

        They have the columns "NAME: min" and "NAME: mean" beside "NAME: max". `variants` are the
        names of all.
        """
        mean = [select.variant for select in self.sides().values() if select.rank == "mean"]
        return variants_named(mean, variants)

    def variants_of_several_T(self, variants: Iterable[str]) -> set[str]:
        """The variants of which it reads other T than the last; `variants` are the names of all."""
        several = [select.variant for select in self.sides().values() if select.T != "last"]
        return variants_named(several, variants)

    def arrival_variants(self, variants: Iterable[str]) -> set[str]:
        """The variants whose arrivals it reads; `variants` are the names of all."""
        return set()

    def own_variants(self, variants: Iterable[str]) -> set[str]:
        """The variants whose ranks' own times it reads; `variants` are the names of all."""
        return set()

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


def in_seconds(
    name: str, form: LinearForm, lower_bound: int | None = None, noise_free: int | None = None
) -> Measure:
    """Make the measure of a time in seconds; `lower_bound` and `noise_free` are in ticks."""
    least, time = (None if x is None else x / TICKS_PER_SECOND for x in (lower_bound, noise_free))
    return Measure(name, form, TICKS_PER_SECOND, "s", lower_bound=least, noise_free=time)


def _parts_of(
    measure: Measure, sides: Collection[CompletionColumn]
) -> tuple[tuple[LinearForm, int | None], ...]:
    """Split a measure by variant: the terms of each, and their noise-free value if known."""
    noise_free = {column: ticks for chosen in sides
             for column, ticks in ((chosen.column, chosen.noise_free), *chosen.ends)
             if chosen.tells_met}  # fmt: skip
    drawn = {chosen.column.variant for chosen in sides if chosen.is_drawn}
    parts, count = [], 0
    for form in (measure.numerator, measure.denominator):
        terms = form.terms if isinstance(form, LinearForm) else ()
        for variant, own in grouped(terms, lambda term: term[1].variant).items():
            count += 1
            if variant in drawn:
                known = all(column in noise_free for _, column in own)
                met = sum(times * noise_free[column] for times, column in own) if known else None
                parts.append((LinearForm(tuple(own)), met))
    return tuple(parts) if count > 1 else ()


def read_side(value: Any, name: str, *, noise_free: bool = False) -> Select | str:
    """A field that takes a variant or a table; with `noise_free` also "noise-free"."""
    if noise_free and value == NOISE_FREE:
        return NOISE_FREE
    if not isinstance(value, (str, Mapping, Select)):
        also = f", {NOISE_FREE!r}" if noise_free else ""
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


def variants_named(chosen: Iterable[str], variants: Iterable[str]) -> set[str]:
    """Names of variants; "" is the only one."""
    only = list(variants)
    return {only[0] if not variant and len(only) == 1 else variant for variant in chosen}


def _group_of(select: Select, T: int | None, cycle: int | None) -> tuple[int | None, int | None]:
    """Return the T and the cycle, each only where "each" makes an observable of every one."""
    return (T if select.T == "each" else None, cycle if select.cycle == "each" else None)


def _by_T_and_cycle(
    found: Iterable[CompletionColumn], select: Select
) -> dict[tuple[int | None, int | None], list[CompletionColumn]]:
    """Group completions by T and by cycle; None where `select` does not ask for each of them."""
    return grouped(found, lambda one: _group_of(select, one.T, one.cycle))


def _common_values(
    by_side: Mapping[str, list[CompletionColumn]], sides: Mapping[str, Select], what: str
) -> list[int | None]:
    """The values of T (or cycle) that all sides have which ask for each; [None] without such."""
    sets = [
        {getattr(completion, what) for completion in by_side[side]}
        for side, select in sides.items()
        if getattr(select, what) == "each"
    ]
    return sorted(set.intersection(*sets)) if sets else [None]
