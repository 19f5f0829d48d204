"""The time of a machine whose ranks are all alike, so that one rank stands for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from .steps import (
    ASK,
    COMPUTE,
    COPY,
    ENTER,
    EXCHANGE,
    FINAL,
    FORWARD,
    MESSAGE,
    NOBODY_ASKS,
    Asking,
    Costs,
    MessageCosts,
    Step,
)

NEVER = -(2**62)
"""In ticks: no message came in yet."""

_Advance = Callable[[int, int], int]


class Timeline(NamedTuple):
    """One cycle in ticks: `ready` has the ready time after each step; the next starts at `end`.

    `sends`: from when on the rank's link may send again; `receives`: when its last message came in.
    """

    ready: list[int]
    end: int
    sends: int = 0
    receives: int = NEVER


class _RankTimes(NamedTuple):
    """A rank between two messages.

    When its CPU is free, when its link out is, and when the last message had come in.
    """

    busy: int
    sends: int
    receives: int

    def after(self, c: MessageCosts, advance: _Advance) -> _RankTimes:
        """One message sent and one received by every rank."""
        start = max(self.busy, self.sends)
        left = advance(start, c.send)
        # The last byte: a message occupies the link for its gap before it is there.
        there = max(left + c.transit, self.receives + c.gap)
        busy = advance(max(left, there), c.receive)
        return _RankTimes(busy, left + c.gap - c.send, there)

    def shifted(self, ticks: int) -> _RankTimes:
        return _RankTimes(*(t + ticks for t in self))


def _after_repeats(
    links: _RankTimes, costs: MessageCosts, count: int, advance: _Advance
) -> _RankTimes:
    """`count` messages in a row. From some message on each takes as long as the one before."""
    while count:
        count, before, links = count - 1, links, links.after(costs, advance)
        period = links.busy - before.busy
        if links == before.shifted(period):
            return links.shifted(period * count)
    return links


def _undelayed(start: int, work: int) -> int:
    return start + work


def is_symmetric(steps: Sequence[Step], ranks: int, forward: int) -> bool:
    """Whether all ranks act alike in every step; `forward` is the CPU time of a FORWARD.

    On other numbers than powers of two a rank without a partner in a step of the hypercube sits it
    out; of a FORWARD it is then spared the CPU time.
    """
    hypercube = any(step.kind == ENTER or (step.kind == FORWARD and forward) for step in steps)
    return not (hypercube and ranks & (ranks - 1)) and all(
        step.partners is None or step.partners.symmetric(ranks) for step in steps
    )


def symmetric_timeline(
    steps: Sequence[Step],
    costs: Costs,
    work: int,
    forward: int,
    advance: _Advance = _undelayed,
    *,
    messages: Sequence[MessageCosts | None] = (),
    asking: Asking = NOBODY_ASKS,
    links: tuple[int, int] = (0, NEVER),
) -> Timeline:
    """Evaluate one cycle when every rank acts in every step, and is delayed alike.

    Steps of the hypercube treat all ranks alike (partners are ``i xor m``), so without noise one
    rank stands for all. A copy then always arrives after the original of the same level, and all
    that is left of it is the CPU time that sending it took. With an `advance` that delays all work
    as much as can be, the result is later than any that the engine can give, whichever ranks act.

    Parameters
    ----------
    messages : sequence of MessageCosts
        For each step, what its messages cost; None, or nothing at all, where it has none.
    links : (int, int)
        From when on a rank may send, and when its last message came in; the cycle begins at 0.
    """
    t = sent = busy = ready = 0
    sends, receives = links
    times = []
    for number, step in enumerate(steps):
        if step.kind == COMPUTE:
            ready = t = advance(t, work)
        elif step.kind == ENTER:
            ready = t
            sent = busy = t if step.flags & FINAL else advance(t, costs.send)
        elif step.kind == EXCHANGE:
            arrival = sent + costs.transit
            if step.flags & ASK:
                waited = busy + asking.patience
                if waited < arrival:
                    busy = advance(waited, asking.ask)
                elif advance is not _undelayed:  # another rank may ask up to then
                    busy = max(busy, advance(arrival, asking.ask))
            ready = t = advance(max(busy, arrival), costs.receive + costs.combine)
            sent = busy = ready if step.flags & FINAL else advance(ready, costs.send)
            if step.flags & COPY:
                busy = advance(sent, costs.send * step.copies)
        elif step.kind == FORWARD:  # what comes back is never earlier than what is there
            t = advance(t, forward)
        elif step.kind == MESSAGE:
            cost = messages[number]
            assert cost is not None
            done = _after_repeats(_RankTimes(t, sends, receives), cost, step.repeat, advance)
            (ready, sends, receives), t = done, done.busy
        times.append(ready)
    return Timeline(times, t, sends, receives)
