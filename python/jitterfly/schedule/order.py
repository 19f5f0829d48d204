"""`OrderCheck`: whether the order in which competing operations are executed matters.

A few realizations are executed twice, in the order without noise and as operations arrive.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..backends import core
from ..fields import counted, parameter
from ..hierarchy import Hierarchy
from ..imbalance import Speed
from ..network import LogGOPS
from ..noise import Noise
from ..progress import counted_progress
from ..units import TICKS_PER_SECOND, show_seconds
from .compile import CompiledSchedule, compile_program, costs_of_levels
from .schedule import Schedule

MIN_CHECKS, MAX_CHECKS = 5, 50
_CHECKED_OPERATIONS = 2**22  # in all, about two seconds on one core
_MUCH_OF_ADDED = 0.1  # of what noise adds: a difference that a user has to know first
_MUCH_OF_MEAN = 0.01  # of the run time: likewise, whatever noise adds
_TICK = 1 / TICKS_PER_SECOND


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
        The same of the longest, which show what rare noise does; 0 where there are none. They are
        the longest in the order without noise, and would be shorter in another one by that alone:
        the difference is without that part, as far as the first tell it.
    largest_difference : float
        Of all of them, without its sign.
    noise_free_difference : float
        How much later the run without noise ends as operations arrive: given speeds of the ranks
        make other operations arrive first, too. Part of all differences.
    """

    realizations: int
    same: int
    first: int
    mean_difference: float
    mean_added: float
    longest_difference: float
    longest_added: float
    largest_difference: float
    noise_free_difference: float = 0.0

    def matters(self, mean: float) -> bool:
        """Return whether the order changes much beside what noise adds, or beside the `mean`."""
        return any((self.changes_mean(mean), self._changes_longest(mean)))

    def changes_mean(self, mean: float) -> bool:
        """Return whether the order changes means by much, not only the longest realizations."""
        return self._speeds_matter(mean) or self._noise_matters(
            self.mean_difference, self.mean_added, mean
        )

    def _changes_longest(self, mean: float) -> bool:
        """Return whether noise makes the longest realization differ between the orders."""
        return self.first < self.realizations and self._noise_matters(
            self.longest_difference, self.longest_added, mean
        )

    def _noise_matters(self, difference: float, added: float, mean: float) -> bool:
        """Return whether noise makes times differ between the orders by more than a little."""
        by_noise = abs(difference - self.noise_free_difference)
        return by_noise > min(max(_MUCH_OF_ADDED * abs(added), _TICK), _MUCH_OF_MEAN * mean)

    def _speeds_matter(self, mean: float) -> bool:
        return abs(self.noise_free_difference) > _MUCH_OF_MEAN * mean

    def warning(self, mean: float, advice: str) -> list[str]:
        """A line where the order matters, which says for what, and ends in what to do.

        `mean`: the mean run time in the order without noise, seconds.
        """
        parts = []
        if self._noise_matters(self.mean_difference, self.mean_added, mean):
            parts.append(
                self._in_both_orders(self._the_first(), self.mean_added, self.mean_difference)
            )
        if self._changes_longest(mean):
            longest = f"the longest ({self.realizations - self.first}) of those checked"
            parts.append(self._in_both_orders(longest, self.longest_added, self.longest_difference))
        if self._speeds_matter(mean):
            parts.append(self._of_speeds())
        if not parts:
            return []
        return [f"the order of competing operations matters here: {'; '.join(parts)}; {advice}"]

    def _in_both_orders(self, which: str, added: float, difference: float) -> str:
        """Say how much noise adds in the order that is executed, and in that of arrival."""
        arrived = added + difference - self.noise_free_difference
        return (
            f"noise adds {show_seconds(added)} to {which} in the order that was simulated, and "
            f"{show_seconds(arrived)} in the order of arrival"
        )

    def _the_first(self) -> str:
        return f"the first {self.first} realizations" if self.first > 1 else "the first realization"

    def _of_speeds(self) -> str:
        return (
            "with the speeds of the ranks, the order of arrival changes the run time without noise "
            f"by {_signed(self.noise_free_difference)}"
        )

    def in_words(self, realizations: int) -> str:
        """Say what was checked of `realizations` realizations, and what came out."""
        count = counted(self.realizations, "realization")
        text = (
            f"{count}, the longest among them, {'was' if self.realizations == 1 else 'were'} also "
            f"simulated in the order of arrival ({parameter('order')} arrival)"
        )
        if self.same == self.realizations:
            text += ": no time differs"
            if self.same == realizations:
                return text
            return f"{text}; up to {1 - 0.05 ** (1 / self.first):.0%} of all may differ (95 %)"
        added = self.mean_added
        noisy = self.mean_difference - self.noise_free_difference
        share = f" ({noisy / added:+.1%} of what noise adds)" if added > 0 else ""
        parts = [self._of_speeds()] if self.noise_free_difference else []
        if not parts or abs(noisy) > _TICK:
            parts.insert(0, f"that order changes the run time of {self._the_first()} by "
                         f"{_signed(noisy)} on average{share}")  # fmt: skip
        same = f"{self.same} of them keep{'s' * (self.same == 1)} all times"
        most = f"the largest change is {show_seconds(self.largest_difference)}"
        return "; ".join([text, same, *parts, most])


def usual_checks(operations: int) -> int:
    """Return how many realizations are checked by default: more of a short schedule."""
    return min(max(_CHECKED_OPERATIONS // max(operations, 1), MIN_CHECKS), MAX_CHECKS)


def different_realizations(realizations: int, sources: Sequence[Noise], speed: Speed | None) -> int:
    """Count realizations worth two orders: all with noise, else one if speeds differ, else none."""
    return realizations if sources else int(speed is not None)


def realizations_to_check(ticks: npt.NDArray[np.int64], count: int) -> tuple[list[int], int]:
    """Return which realizations to execute in two orders, and how many of them are the first.

    The first are a fair sample. The longest of the others show what rare noise does, which that
    sample misses.
    """
    first = count if count == len(ticks) else count - count // 2
    longest = first + np.argsort(-ticks[first:], kind="stable")[: count - first]
    return [*range(first), *sorted(longest.tolist())], first


def compare_orders(
    schedule: Schedule,
    network: LogGOPS | Hierarchy,
    speed: Speed | None,
    compiled: CompiledSchedule,
    seed: int,
    chosen: Sequence[int],
    first: int,
    ticks: npt.NDArray[np.int64],
    *,
    are_longest: bool = False,
) -> OrderCheck | None:
    """Simulate realizations in two orders and compare them; `first`: how many are the first ones.

    `ticks`: of all realizations in the order without noise; `are_longest`: the first, too, were
    chosen for their time.
    """
    if not chosen:
        return None
    noise_free = on_arrival = int(compiled.plan.completion)
    if speed is not None:
        levels = costs_of_levels(schedule, network)
        program = compile_program(schedule, network, levels, (), speed)
        on_arrival = _last(core.operation_times(compiled.plan, program, 0, 0, True))
    same, differences, added = 0, np.zeros(len(chosen)), np.zeros(len(chosen))
    for i in counted_progress(
        range(len(chosen)), len(chosen), "executing realizations in two orders"
    ):
        fixed, free = (
            core.operation_times(*compiled, seed, chosen[i], arrival_order)
            for arrival_order in (False, True)
        )
        same += bool(np.array_equal(fixed, free))
        differences[i] = (_last(free) - _last(fixed)) / TICKS_PER_SECOND
        added[i] = (_last(fixed) - noise_free) / TICKS_PER_SECOND
    fair, others = slice(first), slice(first, None)
    # A time has a part that is the same in both orders, perhaps times a factor, and one of its own.
    # The longest ones of one order are long by their own part, too, of which another knows nothing.
    own, of_all = 0.0, float(np.var(ticks / TICKS_PER_SECOND))
    if first > 1 and of_all > 0:
        spread = np.std(added[fair] + differences[fair]) - np.std(added[fair])
        own = min(max(float(np.var(differences[fair]) - spread**2) / 2 / of_all, 0.0), 1.0)
    excess = added - (float(ticks.mean()) - noise_free) / TICKS_PER_SECOND
    unchosen = differences + own * excess
    of_first = unchosen if are_longest else differences
    return OrderCheck(
        len(chosen), same, first, _mean(of_first[fair]), _mean(added[fair]),
        _mean(unchosen[others]), _mean(added[others]), float(np.abs(differences).max()),
        (on_arrival - noise_free) / TICKS_PER_SECOND,
    )  # fmt: skip


def _last(times: npt.NDArray[np.int64]) -> int:
    """Return when the last operation ends."""
    return int(times[:, 1].max(initial=0))


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


def _signed(seconds: float) -> str:
    return f"{'' if seconds < 0 else '+'}{show_seconds(seconds)}"
