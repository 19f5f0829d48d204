"""Warnings of a schedule: recordings that are short beside its CPU time, and short receives."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from ..backends import core
from ..case import doubts_of, place_noise
from ..fields import stacklevel_of_user
from ..hierarchy import Hierarchy
from ..network import LogGOPS
from ..noise import Noise
from .schedule import Schedule


class ShortReceiveWarning(UserWarning):
    """A receive of a schedule has fewer bytes than the message that it takes."""


def doubts(
    schedule: Schedule,
    network: LogGOPS | Hierarchy,
    noise: Sequence[Noise],
    plan: core.SchedulePlan,
) -> tuple[str, ...]:
    """What measured noise leaves open, in words: see `TraceNoise.doubts` and `misfit`."""
    placed = place_noise(tuple(noise), network, schedule.ranks)
    times = zip(("compute", "communication"), plan.cpu_time, strict=True)
    work = {phase: ticks / schedule.ranks for phase, ticks in times}
    return tuple(doubts_of(placed, network, schedule.ranks, work))


def warn_of_short_receives(schedule: Schedule, plan: core.SchedulePlan) -> None:
    """Warn once of all receives that have fewer bytes than the messages that they take.

    Longer ones are usual: MPI's are as long as their buffers.
    """
    count, rank, number, sent = plan.short_receives
    if not count:
        return
    _, size, source, _, _, _, line = map(int, schedule._mapped.operation(rank, number))
    where = f"line {line:,}" if line else f"number {number:,}"
    several = "1 receive has" if count == 1 else f"{count:,} receives have"
    warnings.warn(
        f"{schedule.name}: {several} fewer bytes than the message to take: the first is that of "
        f"rank {rank:,}, {where}, recv {size:,}b from {source:,}, for a message of {sent:,} bytes; "
        "a message counts with the bytes of its send",
        ShortReceiveWarning,
        stacklevel=stacklevel_of_user(),
    )
