"""`OrderCheck`: whether the order in which competing operations are executed matters.

A few realizations are executed twice, in the order without noise and as operations arrive.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..backends import core
from ..imbalance import Speed
from ..noise import Noise
from ..progress import each
from ..units import TICKS_PER_SECOND, show_seconds
from .compile import CompiledSchedule
from .schedule import Schedule

FEWEST_CHECKS, MOST_CHECKS = 5, 50
_CHECKED_OPERATIONS = 2**22  # in all, about two seconds on one core
_MUCH_OF_ADDED = 0.1  # of what noise adds: a difference that a user has to know first
_MUCH_OF_MEAN = 0.01  # of the run time: likewise, whatever noise adds


class OrderCheck(NamedTuple):
    """Some realizations once more, in the order of arrival: the first, and the longest.

    Times are in seconds. A difference is positive where the order of arrival ends later.

    Attributes
    ----------
    realizations : int
        How many are executed twice.
    same : int
        In how many of them every operation has the same times.
    first : int
        How many of them are the first, which are a fair sample; the others are the longest.
    mean_difference, mean_added : float
        Of the first: how much later they end as operations arrive, and what noise adds to them in
        the order without noise.
    longest_difference, longest_added : float
        The same of the longest, which show what rare noise does; 0 where there are none.
    largest_difference : float
        Of all of them, without its sign.
    """

    realizations: int
    same: int
    first: int
    mean_difference: float
    mean_added: float
    longest_difference: float
    longest_added: float
    largest_difference: float

    def matters(self, mean: float) -> bool:
        """Whether it changes what noise adds, or the run time, whose mean is given, by much."""
        return any(
            abs(difference) > min(_MUCH_OF_ADDED * abs(added), _MUCH_OF_MEAN * mean)
            for difference, added in (
                (self.mean_difference, self.mean_added),
                (self.longest_difference, self.longest_added),
            )
        )

    def warning(self, mean: float, advice: str) -> list[str]:
        """A line where the order matters, which ends in what to do.

        `mean`: the mean run time in the order without noise, seconds.
        """
        if not self.matters(mean):
            return []
        told = (
            f"the order of competing operations matters here: the first {self.first} realizations "
            f"take {_added(self.mean_added)} more than the run time without noise in the order "
            f"that is executed, and {_added(self.mean_added + self.mean_difference)} more as "
            "operations arrive"
        )
        if self.first < self.realizations:
            told += (
                f" (the {self.realizations - self.first} longest {_added(self.longest_added)} "
                f"and {_added(self.longest_added + self.longest_difference)})"
            )
        return [f"{told}; {advice}"]

    def in_words(self, realizations: int) -> str:
        """What was checked of so many realizations, and what came out."""
        told = (
            f"in {self.same} of {self.realizations} realizations, the longest among them, all "
            "times are the same in the order of arrival"
        )
        if self.same == self.realizations == realizations:
            return told
        if self.same == self.realizations:
            return f"{told}; up to {1 - 0.05 ** (1 / self.first):.0%} of all may differ (95 %)"
        added = self.mean_added
        share = f", {self.mean_difference / added:+.1%} of what noise adds" if added > 0 else ""
        return (
            f"{told}; by that the run time of the first {self.first} differs by "
            f"{_signed(self.mean_difference)} on average{share}, of all "
            f"{show_seconds(self.largest_difference)} at most (`order` arrival takes it)"
        )


def usual_checks(operations: int) -> int:
    """How many realizations are checked where nobody says it: more of a short schedule."""
    return min(max(_CHECKED_OPERATIONS // max(operations, 1), FEWEST_CHECKS), MOST_CHECKS)


def different_realizations(realizations: int, sources: Sequence[Noise], speed: Speed | None) -> int:
    """How many are worth two orders: without noise one, with equally fast ranks besides none."""
    return realizations if sources else int(speed is not None)


def realizations_to_check(ticks: npt.NDArray[np.int64], count: int) -> tuple[list[int], int]:
    """Which realizations are executed in two orders, and how many of them are the first.

    The first are a fair sample. The longest of the others show what rare noise does, which that
    sample misses.
    """
    first = count if count == len(ticks) else count - count // 2
    longest = first + np.argsort(-ticks[first:], kind="stable")[: count - first]
    return [*range(first), *sorted(longest.tolist())], first


def check_order(
    schedule: Schedule, compiled: CompiledSchedule, seed: int, chosen: Sequence[int], first: int
) -> OrderCheck | None:
    """The realizations with these numbers in two orders, of which so many are the first."""
    if not chosen:
        return None
    same, differences, added = 0, np.zeros(len(chosen)), np.zeros(len(chosen))
    for i in each(range(len(chosen)), len(chosen), "executing realizations in two orders"):
        fixed, free = (
            core.operation_times(schedule._mapped, *compiled, seed, chosen[i], arrival_order)
            for arrival_order in (False, True)
        )
        same += bool(np.array_equal(fixed, free))
        ends = [int(times[:, 1].max(initial=0)) for times in (fixed, free)]
        differences[i] = (ends[1] - ends[0]) / TICKS_PER_SECOND
        added[i] = (ends[0] - compiled.plan.completion) / TICKS_PER_SECOND
    fair, others = slice(first), slice(first, None)
    return OrderCheck(
        len(chosen), same, first, _mean(differences[fair]), _mean(added[fair]),
        _mean(differences[others]), _mean(added[others]), float(np.abs(differences).max()),
    )  # fmt: skip


def bytes_to_check(schedule: Schedule, sources: int) -> int:
    """Memory at least that the check of a realization takes: 32 of an operation for its times."""
    return arrival_bytes(schedule, sources) + 32 * schedule.operations


def arrival_bytes(schedule: Schedule, sources: int) -> int:
    """Memory at least that one realization takes in the order of arrival; 32: state of a source."""
    each = schedule.ranks * (schedule.cpus + schedule.nics)
    return waiting_bytes(schedule) + 16 * each + 32 * sources * schedule.ranks


def waiting_bytes(schedule: Schedule) -> int:
    """Memory of what each operation waits for."""
    return 12 * schedule.operations + schedule.operations // 8


def _mean(values: npt.NDArray[np.float64]) -> float:
    return float(values.mean()) if values.size else 0.0


def _added(seconds: float) -> str:
    return f"{'-' if seconds < 0 else ''}{show_seconds(abs(seconds))}"


def _signed(seconds: float) -> str:
    return _added(seconds) if seconds < 0 else f"+{_added(seconds)}"
