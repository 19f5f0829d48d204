"""`CycleTime`, `CycleSlowdown`: what a cycle takes by itself, or a cycle on average."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ..case import MOST_CYCLES, AnyCase
from ..fields import counted
from ..units import TICKS_PER_SECOND
from .measure import Form, Measure
from .observable import Chosen, Cycle, Observable, Rank, Select, check_number

_LEAST_CYCLES = 3  # of which a mean leaves out two


@dataclass(frozen=True)
class CycleTime(Observable, kind="cycle_time"):
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

    def __post_init__(self) -> None:
        check_number(self.cycle, "cycle", 1, MOST_CYCLES, ("last", "each", "mean"))
        self.sides()

    def sides(self) -> dict[str, Select]:
        cycle = "last" if self.cycle == "mean" else self.cycle
        return {"completion": Select(self.variant, cycle=cycle, rank=self.rank)}

    def cycles_in(self, cases: Mapping[str, AnyCase]) -> int:
        """How many cycles its case has, of these (by variant)."""
        return cases[self.sides()["completion"].variant_of(cases, "variant")].cycles

    def why_none(self, cases: Mapping[str, AnyCase]) -> str:
        cycles = self.cycles_in(cases)
        if self.cycle == "mean" and cycles < _LEAST_CYCLES:
            return (
                f"the mean leaves out the first and the last cycle, and there "
                f"{'is' if cycles == 1 else 'are'} {counted(cycles, 'cycle')} (a schedule's run is "
                "divided by marks)"
            )
        if self.cycle == "last":
            return "the last cycle takes 0 s without noise, as after a mark that ends the run"
        return "it takes 0 s without noise"

    def measure(self, name: str, **sides: Chosen) -> Measure | None:
        found = self._form(sides["completion"])
        if found is None:
            return None
        form, cycles, _ = found
        return Measure(name, form, cycles * TICKS_PER_SECOND, "s")

    def _form(self, completion: Chosen) -> tuple[Form, int, int] | None:
        """The time of some cycles in a row, how many they are, and their ticks without noise."""
        if self.cycle == "mean":
            first, last = 1, len(completion.ends) - 1
        else:
            first, last = completion.cycle - 1, completion.cycle
        if last <= first:
            return None
        end, quiet = completion.ends[last - 1]
        form = Form.of(end)
        if first:
            before, quiet_before = completion.ends[first - 1]
            form, quiet = form - Form.of(before), quiet - quiet_before
        return (form, last - first, quiet) if quiet > 0 else None


@dataclass(frozen=True)
class CycleSlowdown(CycleTime, kind="cycle_slowdown"):
    """The time of a cycle over that of the same one without noise.

    Parameters
    ----------
    variant, cycle, rank
        Which time: see `CycleTime`.
    """

    unit = ""

    def measure(self, name: str, **sides: Chosen) -> Measure | None:
        found = self._form(sides["completion"])
        return None if found is None else Measure(name, found[0], found[2])
