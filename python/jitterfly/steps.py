"""The steps that an algorithm is made of, and what their messages cost.

An algorithm is a list of steps; the engine evaluates any list. Steps over the hypercube (the
model's §4) are those of the butterfly with its redundant exchanges; in a MESSAGE step ranks send
each other messages by a partner map (`partners`). The numbers here are those of ``cuda/program.h``.
"""

from __future__ import annotations

from typing import NamedTuple

from .partners import Partners

COMPUTE, ENTER, EXCHANGE, FORWARD, OBSERVE, MESSAGE = range(6)
"""Kinds of steps: compute phase, entry into the collective with the first send, original exchange
(with the redundant copy inside the butterfly), forward after the butterfly, look at the result,
messages by a partner map."""

COPY = 1
"""Flag of EXCHANGE round r: redundant copies of level r + 1 go to the mirrors."""
FINAL = 2
"""Flag of ENTER and EXCHANGE: the last level, nothing is sent from here."""

ASK = 8
"""Flag of EXCHANGE round r: who waits too long asks the mirror ``i xor 1`` for a copy."""

DRAWS_PER_CYCLE = 64
"""Message draws are numbered ``64 * cycle + round``; programs of more rounds take the next
multiple of 64 that holds them."""


class Step(NamedTuple):
    """One step of one cycle.

    `label` names the ready times after it ("" when they are no row of their own);
    `redundancy` is T when this step completes the collective with T redundant exchanges.

    `copies`: how many copies each rank sends after an EXCHANGE with COPY.

    Of a MESSAGE step: who sends to whom, bytes of each message, whether the receiver combines, how
    often in a row it is done, and whether a message occupies the links of its two ranks (else
    its gap is 0). `round` is then the number of its draws within the cycle, the first of `repeat`.
    """

    kind: int
    round: int = 0
    flags: int = 0
    label: str = ""
    redundancy: int | None = None
    partners: Partners | None = None
    bytes: int = 0
    combine: bool = False
    repeat: int = 1
    occupies: bool = True
    copies: int = 0


class Asking(NamedTuple):
    """Copies on demand, in ticks: how long a rank waits, CPU to ask, and way of the question."""

    patience: int = 0
    ask: int = 0
    request: int = 0


NOBODY_ASKS = Asking()


class Costs(NamedTuple):
    """What one message costs, in ticks: CPU to send and to receive, way, CPU to combine."""

    send: int
    receive: int
    transit: int
    combine: int


class MessageCosts(NamedTuple):
    """What a message of a MESSAGE step costs, in ticks.

    CPU to send; CPU to receive, with combining; way; and how long it occupies a link.
    """

    send: int
    receive: int
    transit: int
    gap: int


def draws_per_cycle(steps: list[Step]) -> int:
    """How many numbers of draws a cycle of these steps takes, a multiple of 64."""
    used = max((s.round + s.repeat for s in steps if s.kind == MESSAGE), default=0)
    return DRAWS_PER_CYCLE * max(-(-used // DRAWS_PER_CYCLE), 1)
