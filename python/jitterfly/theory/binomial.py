"""Closed forms of collectives over binomial trees; see `collectives`."""

from __future__ import annotations

from ..algorithms.schedule import block_bytes, rounds_of
from ..case import Case
from .links import Waits, message


def down(case: Case) -> int:
    """Broadcast."""
    one, rounds = message(case, case.message_bytes), rounds_of(case.ranks)
    longer = max(one.time, one.spacing)
    if case.ranks == 1 << rounds:
        return one.time + (rounds - 1) * longer
    return one.time + one.spacing + (rounds - 2) * longer


def up(case: Case, combine: bool = True) -> int:
    """Reduce."""
    one = message(case, case.message_bytes, combine=combine)

    def last(size: int) -> int:
        """When the root of a tree of so many ranks has everything."""
        top = rounds_of(size)
        if size == 1 << top:
            return one.time + (top - 1) * max(one.time, one.gap) if top else 0
        lower = last(1 << (top - 1))  # all but the last child, which has a smaller tree
        arrival = last(size - (1 << (top - 1))) + one.send + one.way
        return max(lower, arrival, lower - one.receive + one.gap) + one.receive

    return last(case.ranks)


def up_and_down(case: Case, combine: bool) -> int:
    """A reduce, and a broadcast of the result."""
    there = message(case, case.message_bytes, combine=combine)
    back = message(case, case.message_bytes)
    if there.gap > there.time + back.send + back.way:
        raise Waits
    return up(case, combine) + down(case)


def scatter_allgather(case: Case) -> int:
    """Broadcast of a long vector."""
    block = block_bytes(case.message_bytes, case.ranks)

    def scatter(size: int) -> int:
        """When the last rank of a subtree may send again."""
        now = latest = 0
        for r in reversed(range(rounds_of(size))):
            below = min(1 << r, size - (1 << r))
            part = message(case, below * block)
            latest = max(latest, now + part.time + scatter(below))
            now += part.spacing
        return max(now, latest)

    one = message(case, block)
    if one.gap > one.time:
        raise Waits
    return scatter(case.ranks) + (case.ranks - 1) * one.time
