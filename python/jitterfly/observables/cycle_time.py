"""`CycleTime`, `CycleSlowdown`, `CycleGain`: what a cycle takes by itself, one or on average."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ..case import MAX_CYCLES
from ..fields import counted
from ..units import TICKS_PER_SECOND
from ..workload import Workload
from .measure import LinearForm, Measure
from .observable import CompletionColumn, Cycle, Observable, Rank, Select, check_number

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
