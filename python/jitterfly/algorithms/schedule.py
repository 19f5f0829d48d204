"""Pieces that schedules of messages have in common."""

from __future__ import annotations

from ..steps import MESSAGE, OBSERVE, BinomialTree, Partners, Range, Step, power_below, rounds_of

FOLD_IN, FOLD_OUT = 62, 63
"""Draws of the messages from and to the ranks beyond a power of two: out of the way of the rounds'
(at most 60), so that these see the same noise in every algorithm."""


def block_bytes(message_bytes: int, blocks: int) -> int:
    """Size of a block of a vector that is cut into so many, rounded up."""
    return -(-message_bytes // blocks)


def message(
    partners: Partners,
    draw: int,
    size: int,
    label: str,
    *,
    combine: bool = False,
    repeat: int = 1,
    occupies: bool = True,
) -> Step:
    """A step in which messages of `size` bytes are sent."""
    return Step(MESSAGE, draw, 0, label, None, partners, size, combine, repeat, occupies)


def collective(messages: list[Step]) -> list[Step]:
    """With the row "start" before them; the last one completes the collective."""
    start = Step(OBSERVE, label="start")
    if not messages:
        return [start._replace(redundancy=0)]
    return [start, *messages[:-1], messages[-1]._replace(redundancy=0)]


def fold_in(ranks: int, size: int, *, combine: bool, occupies: bool = True) -> list[Step]:
    """Ranks beyond the largest power of two P send to ``i - P``; nothing where there are none."""
    power = power_below(ranks)
    if power == ranks:
        return []
    partners = Range(power, ranks, -power)
    return [message(partners, FOLD_IN, size, "fold in", combine=combine, occupies=occupies)]


def fold_out(ranks: int, size: int, *, occupies: bool = True) -> list[Step]:
    """And at the end they are sent what they lack."""
    power = power_below(ranks)
    if power == ranks:
        return []
    return [message(Range(0, ranks - power, power), FOLD_OUT, size, "fold out", occupies=occupies)]


def gather_up(ranks: int, size: int, *, combine: bool, first: int = 0) -> list[Step]:
    """A binomial tree towards rank 0: strides 1, 2, 4, ... (as MPICH)."""
    return [
        message(
            BinomialTree(1 << r, ranks, down=False), first + r, size, f"up {r + 1}", combine=combine
        )
        for r in range(rounds_of(ranks))
    ]


def spread_down(ranks: int, size: int, *, first: int = 0) -> list[Step]:
    """A binomial tree from rank 0: strides ..., 4, 2, 1 (as MPICH)."""
    rounds = rounds_of(ranks)
    return [
        message(
            BinomialTree(1 << (rounds - 1 - r), ranks, down=True), first + r, size, f"down {r + 1}"
        )
        for r in range(rounds)
    ]
