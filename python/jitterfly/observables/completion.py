"""Observables: `Completion`, `Slowdown`, `Overhead`, `Gain`, `Recovery`; `CycleTime` of a cycle.

Also `SinceArrival`, `OwnTime` and `OptimalT`; and `CycleSlowdown` and `CycleGain`, of the time that
a cycle takes by itself, one or on average.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple

from ..case import MAX_CYCLES
from ..fields import check_choice, counted
from ..units import TICKS_PER_SECOND
from ..workload import Workload
from .measure import LinearForm, Measure
from .observable import (
    NOISE_FREE,
    CompletionColumn,
    Cycle,
    Observable,
    Rank,
    Select,
    Which,
    check_number,
    in_seconds,
    read_side,
    variants_named,
)


@dataclass(frozen=True)
class Completion(Observable, kind="completion"):
    """The time of completion, seconds.

    Parameters
    ----------
    variant, T, cycle, rank
        Which one: see `Select`.

    Examples
    --------
    >>> Completion(T="best").to_dict()
    {'kind': 'completion', 'T': 'best'}
    """

    variant: str = ""
    T: Which = "last"
    cycle: Cycle = "last"
    rank: Rank = "last"

    picks: ClassVar[Mapping[str, str]] = {"completion": "smallest numerator"}

    def __post_init__(self) -> None:
        self.sides()

    def sides(self) -> dict[str, Select]:
        return {"completion": Select(self.variant, self.T, self.cycle, self.rank)}

    def measure(self, name: str, **sides: CompletionColumn) -> Measure | None:
        completion = sides["completion"]
        least = completion.noise_free if completion.noise_only_delays else 0
        met = completion.noise_free if completion.tells_met else None
        return completion.with_recordings(in_seconds(name, completion.form, least, met))


@dataclass(frozen=True)
class Slowdown(Completion, kind="slowdown"):
    """Completion over noise-free completion of the same T and cycle.

    Absent where nothing takes any time without noise (one rank).

    Parameters
    ----------
    variant, T, cycle, rank
        Which completion: see `Select`.
    """

    unit = ""

    def measure(self, name: str, **sides: CompletionColumn) -> Measure | None:
        completion = sides["completion"]
        if completion.noise_free == 0:
            return None
        least = 1.0 if completion.noise_only_delays else 0.0
        noise_free = 1.0 if completion.tells_met else None
        below = completion.noise_free
        return completion.with_recordings(
            Measure(name, completion.form, below, lower_bound=least, noise_free=noise_free)
        )


@dataclass(frozen=True)
class Overhead(Completion, kind="overhead"):
    """Completion minus another completion of the same realization, seconds.

    Parameters
    ----------
    variant, T, cycle, rank
        Which completion: see `Select`.
    over : "noise-free", str or table
        Minus what: the noise-free completion of the same T and cycle; a variant, with the same T
        and cycle; or a table as `Select` has it.

    Examples
    --------
    >>> Overhead("redundant", over="noiseless").to_dict()
    {'kind': 'overhead', 'variant': 'redundant', 'over': 'noiseless'}
    """

    over: str | Select = NOISE_FREE

    def __post_init__(self) -> None:
        if self.over != NOISE_FREE:
            same = "last" if self.T == "best" else self.T
            over = read_side(self.over, "over", noise_free=True)
            if isinstance(self.over, str) and isinstance(over, Select):
                over = replace(over, T=same)
            object.__setattr__(self, "over", over)
        self.check_best()

    def sides(self) -> dict[str, Select]:
        sides = super().sides()
        if isinstance(self.over, Select):
            sides["over"] = self.over.within(self.cycle, self.rank)
        return sides

    def measure(self, name: str, **sides: CompletionColumn) -> Measure | None:
        completion, over = sides["completion"], sides.get("over")
        if over:  # either of two completions may be the earlier one
            return in_seconds(name, completion.form - over.form)
        least = 0 if completion.noise_only_delays else None
        met = 0 if completion.tells_met else None
        form = completion.form - completion.noise_free
        return completion.with_recordings(in_seconds(name, form, least, met))


@dataclass(frozen=True)
class SinceArrival(Completion, kind="since_arrival"):
    """Completion minus when a rank arrives at the same collective, seconds.

    A rank arrives when its compute phase is done, and it is out of the barrier if there is one:
    late by what `Case.arrival` and `LateArrival` say, by noise, and by what the cycles before took.

    Parameters
    ----------
    variant, T, cycle, rank
        Which completion: see `Select`.
    arrival : "last" or "first"
        Of which rank. From the last one: what the collective takes when all are there, which is
        what an algorithm can be blamed for. From the first one: for how long it holds a rank.

    Notes
    -----
    Faraj, Patarasuk and Yuan (2008), "A study of process arrival patterns for MPI collective
    operations", compare algorithms by such times.

    Examples
    --------
    >>> SinceArrival(arrival="first", cycle=1).to_dict()
    {'kind': 'since_arrival', 'cycle': 1, 'arrival': 'first'}
    """

    arrival: Literal["last", "first"] = "last"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.arrival, "arrival", ("last", "first"))

    def arrival_variants(self, variants: Iterable[str]) -> set[str]:
        return variants_named([self.variant], variants)

    def measure(self, name: str, **sides: CompletionColumn) -> Measure | None:
        completion = sides["completion"]
        if completion.arrivals is None:
            raise ValueError("since_arrival needs a case with observe = 'arrival'")
        column = completion.arrivals[self.arrival == "last"]
        # The mean over ranks may be before the last one arrives.
        least = 0 if self.rank == "last" or self.arrival == "first" else None
        return in_seconds(name, completion.form - LinearForm.of(column), least)


@dataclass(frozen=True)
class OwnTime(Observable, kind="own_time"):
    """The time from when a rank leaves the barrier until it has the result, seconds.

    It is what benchmarks of collectives print: each rank starts its clock when it comes out of a
    barrier (`Case.barrier`), at another moment than the others, and stops it by itself.

    Parameters
    ----------
    variant, T, cycle
        Of which collective: see `Select`.
    over_ranks : "max", "min" or "mean"
        The time of the rank that takes the longest or shortest, or the mean over the ranks.

    Notes
    -----
    A rank that leaves the barrier late finds messages of others waiting, so that its own time may
    be shorter than without noise.

    Examples
    --------
    >>> OwnTime(over_ranks="mean").to_dict()
    {'kind': 'own_time', 'over_ranks': 'mean'}
    """

    variant: str = ""
    T: Which = "last"
    cycle: Cycle = "last"
    over_ranks: Literal["max", "min", "mean"] = "max"

    picks: ClassVar[Mapping[str, str]] = {"completion": "smallest numerator"}

    def __post_init__(self) -> None:
        check_choice(self.over_ranks, "over_ranks", ("max", "min", "mean"))
        self.sides()

    def sides(self) -> dict[str, Select]:
        return {"completion": Select(self.variant, self.T, self.cycle, "last")}

    def own_variants(self, variants: Iterable[str]) -> set[str]:
        return variants_named([self.variant], variants)

    def read_cycles(self, chosen: CompletionColumn) -> tuple[int, int]:
        return chosen.cycle - 1, chosen.cycle

    def measure(self, name: str, **sides: CompletionColumn) -> Measure | None:
        own = sides["completion"].own
        if own is None:
            raise ValueError("own_time needs a case with observe = 'own', and a barrier")
        return in_seconds(name, LinearForm.of(own[self.over_ranks]), 0)


@dataclass(frozen=True)
class Gain(Observable, kind="gain"):
    """``mean(over) / mean(of)``: above 1, `of` is faster than `over`.

    Its mean is this ratio of means. Its median and other quantiles are those of the quotients of
    single realizations, and can lie far from it where few realizations are slow.

    Parameters
    ----------
    of, over : str or table
        A variant, or a table of variant, T, cycle, rank as `Select` has it.
    cycle, rank
        Of both, where they do not say it themselves: see `Select`.

    Examples
    --------
    >>> Gain(of={"T": "best"}, over={"T": 0}).to_dict()
    {'kind': 'gain', 'of': {'T': 'best'}, 'over': {'T': 0}}
    """

    of: Any
    over: Any
    cycle: Cycle = "last"
    rank: Rank = "last"

    unit = ""
    compares = True
    picks: ClassVar[Mapping[str, str]] = {
        "of": "smallest denominator",
        "over": "smallest numerator",
    }

    def __post_init__(self) -> None:
        Select(cycle=self.cycle, rank=self.rank)
        for side in ("of", "over"):
            object.__setattr__(self, side, read_side(getattr(self, side), side))
        self.check_best()
        if self.of == self.over:
            raise ValueError("of and over must be different, else the gain is 1")

    def sides(self) -> dict[str, Select]:
        return {side: getattr(self, side).within(self.cycle, self.rank) for side in ("of", "over")}

    def measure(self, name: str, **sides: CompletionColumn) -> Measure | None:
        return Measure(name, sides["over"].form, sides["of"].form)


@dataclass(frozen=True)
class Recovery(Observable, kind="recovery"):
    """``(conventional - redundant) / (conventional - noiseless)``, of means (Chen & Suda).

    Where `theory.completion_bound` applies to the conventional case, no redundancy brings its mean
    below that.

    Parameters
    ----------
    conventional, redundant, noiseless : str or table
        A variant, or a table of variant, T, cycle, rank as `Select` has it. `noiseless` may be
        "noise-free": noise in no phase at all.
    cycle, rank
        Of all three, where they do not say it themselves: see `Select`.
    """

    conventional: Any = "conventional"
    redundant: Any = "redundant"
    noiseless: Any = "noiseless"
    cycle: Cycle = "last"
    rank: Rank = "last"

    unit = ""
    distribution = False
    picks: ClassVar[Mapping[str, str]] = {"redundant": "smallest numerator"}

    def __post_init__(self) -> None:
        Select(cycle=self.cycle, rank=self.rank)
        for side in ("conventional", "redundant", "noiseless"):
            read = read_side(getattr(self, side), side, noise_free=side == "noiseless")
            object.__setattr__(self, side, read)
        self.check_best()

    def sides(self) -> dict[str, Select]:
        given = {side: getattr(self, side) for side in ("conventional", "redundant", "noiseless")}
        return {
            side: select.within(self.cycle, self.rank)
            for side, select in given.items()
            if select != NOISE_FREE
        }

    def measure(self, name: str, **sides: CompletionColumn) -> Measure | None:
        conventional, redundant = sides["conventional"].form, sides["redundant"].form
        if "noiseless" in sides:
            noise_free = sides["noiseless"].form
        else:
            noise_free = LinearForm((), sides["conventional"].noise_free)
        # Both differences negative, so that the best redundant one has the smallest numerator.
        above, below = redundant - conventional, noise_free - conventional
        return Measure(name, above, below, distribution=False)


@dataclass(frozen=True)
class OptimalT(Observable, kind="optimal_T"):
    """The smallest T >= 1 whose mean completion can not be distinguished from the smallest.

    Its interval is the set of all T that can not be distinguished from the best.

    Parameters
    ----------
    variant, cycle, rank
        Of which completion: see `Select`.
    """

    variant: str = ""
    cycle: Cycle = "last"
    rank: Rank = "last"

    unit = ""
    distribution = False
    picks: ClassVar[Mapping[str, str]] = {"completion": "set"}

    def __post_init__(self) -> None:
        self.sides()

    def sides(self) -> dict[str, Select]:
        return {"completion": Select(self.variant, "best", self.cycle, self.rank)}

    def check_target(self, name: str) -> None:
        raise ValueError(
            f"{name} ({self.kind}) can have no target: a set of whole numbers has no width; give "
            "one to a completion or a gain"
        )

    def measure(self, name: str, **sides: CompletionColumn) -> Measure | None:
        return in_seconds(name, sides["completion"].form)


MIN_CYCLES = 3  # of which a mean leaves out two


class CyclesTime(NamedTuple):
    """The time of cycles in a row: in ticks, how many they are, and their ticks without noise."""

    form: LinearForm
    cycles: int
    noise_free: int


class OfCycles(Observable):
    """Base of what reads the time of cycles without those before: one, each, or their mean."""

    rank: Rank

    def __post_init__(self) -> None:
        check_number(self.cycle, "cycle", 1, MAX_CYCLES, ("last", "each", "mean"))
        self.sides()

    def _side(self, variant: str) -> Select:
        return Select(variant, cycle="last" if self.cycle == "mean" else self.cycle, rank=self.rank)

    def cycle_counts(self, cases: Mapping[str, Workload]) -> list[int]:
        """Return how many cycles the cases that it reads have: each count once, ascending."""
        sides = self.sides().values()
        return sorted({cases[side.variant_of(cases, "variant")].cycles for side in sides})

    def why_none(self, cases: Mapping[str, Workload]) -> str:
        least, *others = self.cycle_counts(cases)
        if self.cycle == "mean" and least < MIN_CYCLES:
            return (
                f"the mean leaves out the first and the last cycle, and there "
                f"{'is' if least == 1 else 'are'} {counted(least, 'cycle')} (a schedule's run is "
                "divided by marks)"
            )
        if self.cycle == "mean" and others:
            return (
                f"the mean needs as many cycles of both, and one has {counted(least, 'cycle')}, "
                f"the other {others[0]:,}"
            )
        if self.cycle == "last":
            return "the last cycle takes 0 s without noise, as after a mark that ends the run"
        return "it takes 0 s without noise"

    def read_cycles(self, chosen: CompletionColumn) -> tuple[int, int]:
        if self.cycle == "mean":
            return 1, len(chosen.ends) - 1
        return chosen.cycle - 1, chosen.cycle

    def _time(self, completion: CompletionColumn) -> CyclesTime | None:
        """The time of these cycles; None if there are none, or they take no time without noise."""
        first, last = self.read_cycles(completion)
        if last <= first:
            return None
        (column, end), begin = completion.ends[last - 1], 0
        form = LinearForm.of(column)
        if first:
            before, begin = completion.ends[first - 1]
            form -= LinearForm.of(before)
        if end <= begin:
            return None
        return CyclesTime(form, last - first, end - begin)


@dataclass(frozen=True)
class CycleTime(OfCycles, kind="cycle_time"):
    """The time from the completion of a cycle to that of the next one, seconds.

    A cycle of a collective is a compute phase and the collective. Those of a schedule end at its
    marks (`ScheduleCase`), and the last one with the run. Absent where a case lacks the cycle, or
    the cycle takes no time without noise.

    Parameters
    ----------
    variant
        Which case: see `Select`.
    cycle : int, "last", "each" or "mean"
        From 1: the first one begins at time 0. "mean": the mean, in each realization, over all but
        the first and the last one, such as the time of an iteration without what comes before and
        after them all. It needs at least three cycles. Quantiles are those of this mean; those of a
        single cycle are those of ``cycle=k``.
    rank : "last" or "mean"
        From when the last rank has completed to when the last rank has completed (which may be
        another one); or the mean over the ranks.

    Notes
    -----
    A delay that a cycle takes over from the one before is the time of that one. So a single cycle
    may take less time than without noise, and one of a schedule less than none where noise makes
    two marks change places.

    Examples
    --------
    >>> CycleTime(cycle="each").to_dict()
    {'kind': 'cycle_time', 'cycle': 'each'}
    """

    variant: str = ""
    cycle: Cycle | Literal["mean"] = "mean"
    rank: Rank = "last"

    def sides(self) -> dict[str, Select]:
        return {"completion": self._side(self.variant)}

    def measure(self, name: str, **sides: CompletionColumn) -> Measure | None:
        time = self._time(sides["completion"])
        if time is None:
            return None
        return Measure(name, time.form, time.cycles * TICKS_PER_SECOND, "s")


@dataclass(frozen=True)
class CycleSlowdown(CycleTime, kind="cycle_slowdown"):
    """The time of a cycle over that of the same one without noise.

    Parameters
    ----------
    variant, cycle, rank
        Which time: see `CycleTime`.
    """

    unit = ""

    def measure(self, name: str, **sides: CompletionColumn) -> Measure | None:
        time = self._time(sides["completion"])
        return None if time is None else Measure(name, time.form, time.noise_free)


@dataclass(frozen=True)
class CycleGain(OfCycles, kind="cycle_gain"):
    """``mean(over) / mean(of)`` of the time of a cycle: above 1, `of` is faster than `over`.

    As `Gain`, which is of whole completions: the mean is this ratio of means, quantiles are those
    of the quotients of single realizations.

    Parameters
    ----------
    of, over : str
        Variants, on the same noise. With ``cycle="mean"`` both must have the same number of cycles.
    cycle, rank
        Which times: see `CycleTime`.
    """

    of: str
    over: str
    cycle: Cycle | Literal["mean"] = "mean"
    rank: Rank = "last"

    unit = ""
    compares = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.of == self.over:
            raise ValueError("of and over must be different, else the gain is 1")

    def sides(self) -> dict[str, Select]:
        return {"of": self._side(self.of), "over": self._side(self.over)}

    def measure(self, name: str, **sides: CompletionColumn) -> Measure | None:
        of, over = self._time(sides["of"]), self._time(sides["over"])
        if of is None or over is None or of.cycles != over.cycles:
            return None
        return Measure(name, over.form, of.form)
