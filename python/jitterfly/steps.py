"""The steps that an algorithm is made of, and what they cost on a machine without noise.

An algorithm is a list of steps over the hypercube (the model's §4); the engine evaluates any list.
The numbers here are those of ``cuda/steps.h``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

COMPUTE, ENTER, EXCHANGE, FORWARD, OBSERVE = range(5)
"""Kinds of steps: compute phase, entry into the collective with the first send, original exchange
(with the redundant copy inside the butterfly), forward after the butterfly, look at the result."""

COPY = 1
"""Flag of EXCHANGE round r: redundant copies of level r + 1 go to the mirror ``i xor 1``."""
FINAL = 2
"""Flag of ENTER and EXCHANGE: the last level, nothing is sent from here."""

DRAWS_PER_CYCLE = 64
"""Message draws are numbered ``64 * cycle + round``."""


class Step(NamedTuple):
    """One step of one cycle.

    `label` names the ready times after it ("" when they are no row of their own);
    `redundancy` is T when this step completes the collective with T redundant exchanges.
    """

    kind: int
    round: int = 0
    flags: int = 0
    label: str = ""
    redundancy: int | None = None


class Costs(NamedTuple):
    """What one message costs, in ticks: CPU to send and to receive, way, CPU to combine."""

    send: int
    receive: int
    transit: int
    combine: int


class Timeline(NamedTuple):
    """One cycle of a machine whose ranks are all alike, in ticks.

    `ready` has the ready time after each step; the next cycle starts at `end`.
    """

    ready: list[int]
    end: int


def _undelayed(start: int, work: int) -> int:
    return start + work


def symmetric_timeline(
    steps: Sequence[Step],
    costs: Costs,
    work: int,
    forward: int,
    advance: Callable[[int, int], int] = _undelayed,
) -> Timeline:
    """Evaluate one cycle when every rank is delayed alike.

    Steps treat all ranks alike (partners are ``i xor m``), so without noise one rank stands for
    all. A copy then always arrives after the original of the same level, and all that is left of
    it is the CPU time that sending it took. With an `advance` that delays all work as much as can
    be, the result is later than any that the engine can give.
    """
    t = sent = busy = ready = 0
    times = []
    for step in steps:
        if step.kind == COMPUTE:
            t = advance(t, work)
        elif step.kind == ENTER:
            ready = t
            sent = busy = t if step.flags & FINAL else advance(t, costs.send)
        elif step.kind == EXCHANGE:
            arrival = sent + costs.transit
            ready = t = advance(max(busy, arrival), costs.receive + costs.combine)
            sent = busy = ready if step.flags & FINAL else advance(ready, costs.send)
            if step.flags & COPY:
                busy = advance(sent, costs.send)
        elif step.kind == FORWARD:  # what comes back is never earlier than what is there
            t = advance(t, forward)
        times.append(ready)
    return Timeline(times, t)
