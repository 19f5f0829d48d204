"""Building blocks for algorithms of your own (steps, messages, partners), and `check_collective`.

The guide "An algorithm of your own" shows how they fit together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..fields import as_integer, check_choice, check_integer, first_few
from ..steps import (
    EXCHANGE,
    MESSAGE,
    BinomialTree,
    Listed,
    Pairs,
    Range,
    Shift,
    Step,
    Xor,
    power_below,
)
from .algorithm import COLLECTIVES, Algorithm, checked_steps
from .shared_steps import all_sent_first, block_bytes, collective, message, segments_of

__all__ = [
    "Algorithm",
    "BinomialTree",
    "Listed",
    "Range",
    "Shift",
    "Step",
    "Xor",
    "all_sent_first",
    "block_bytes",
    "check_collective",
    "collective",
    "message",
    "segments_of",
]

_MAX_RANKS = 2**12  # a set of ranks for each rank takes memory
_SHOWN = 5
# Not scans: their ranks pass on what they got of the ranks before them without their own sum.
_ADDED_ONCE = ("allreduce", "reduce", "reduce_scatter")


def check_collective(
    algorithm: Algorithm,
    ranks: int | Iterable[int] = range(1, 34),
    collective: str = "allreduce",
    message_bytes: int = 4096,
) -> None:
    """Check that what each rank contributes reaches all ranks that need it, and is added once.

    A message carries all that its sender has at that time. So this finds a rank that is left out
    and a message that is sent too early. It does not see which part of a vector a message holds.
    Of an allreduce, reduce or reduce_scatter in which all messages that are combined have the whole
    vector, it also finds what is added twice.

    Parameters
    ----------
    algorithm : Algorithm
    ranks : int or list of int
        Up to 4096. By default all numbers from 1 to 33.
    collective : str
        "allreduce", "barrier", "allgather", "alltoall" and "reduce_scatter": each rank ends with
        something from every rank. "broadcast" and "scatter": from rank 0. "reduce" and "gather":
        rank 0 from every rank. "scan": each rank from those up to itself; "exscan": from those
        before it.
    message_bytes : int

    Raises
    ------
    ValueError
        Names a rank and those of which it has nothing at the end, or what it adds more than once;
        or the rank that a step makes send, or receive, more than one message.

    Examples
    --------
    >>> import jitterfly as jf
    >>> check_collective(jf.RingAllreduce())
    >>> check_collective(jf.TreeBarrier(), 4, "broadcast")
    >>> check_collective(jf.BinomialBroadcast(), 2)
    Traceback (most recent call last):
        ...
    ValueError: BinomialBroadcast is no allreduce on 2 ranks: rank 0 ends without that of rank 1
    """
    check_choice(collective, "collective", COLLECTIVES)
    for one in ranks if isinstance(ranks, Iterable) and as_integer(ranks) is None else [ranks]:
        count = check_integer(one, "ranks", 1, _MAX_RANKS)
        steps = checked_steps(algorithm, count, message_bytes)
        once = collective in _ADDED_ONCE and _combines_whole_vectors(steps, count, message_bytes)
        for rank, (has, twice) in enumerate(_spread(steps, count)):
            if rank and collective in ("reduce", "gather"):
                break
            sources = {"broadcast": 1, "scatter": 1, "scan": rank + 1, "exscan": rank}.get(
                collective, count
            )
            wanted = (1 << sources) - 1
            for wrong, what in (
                (wanted & ~has, "ends without that of"),
                (wanted & twice if once else 0, "has added more than once that of"),
            ):
                if wrong:
                    names = [str(other) for other in range(count) if wrong >> other & 1]
                    raise ValueError(
                        f"{type(algorithm).__name__} is no {collective} on {count} ranks: "
                        f"rank {rank} {what} rank {first_few(names, _SHOWN)}"
                    )


def _combines_whole_vectors(steps: Sequence[Step], ranks: int, message_bytes: int) -> bool:
    """Return whether no message that is combined holds a part of the vector."""
    return all(
        step.kind != MESSAGE or not step.combine or (step.sizes(ranks) == message_bytes).all()
        for step in steps
    )


def _spread(steps: Sequence[Step], ranks: int) -> list[tuple[int, int]]:
    """The ranks from which each rank has something at the end, and those that it added twice.

    Both are integers with a bit for each rank. What is not combined takes the place of what the
    receiver had of the same ranks, as the sum does that a tree sends down.
    """
    has = [(1 << rank, 0) for rank in range(ranks)]
    # what ranks had when they sent, by the place of the half step
    sent: dict[int, list[tuple[int, int]]] = {}
    for step in steps:
        for pairs in _messages(step, ranks):
            if step.sends:
                sent[step.place] = list(has)
            if step.receives:
                before = sent.pop(step.place)
                adds = step.kind == EXCHANGE or step.combine
                for sender, receiver in pairs:
                    (new, new_twice), (old, old_twice) = before[sender], has[receiver]
                    kept = old_twice | (new & old) if adds else old_twice & ~new
                    has[receiver] = old | new, kept | new_twice
    return has


def _messages(step: Step, ranks: int) -> Iterator[Pairs]:
    """The sender and receiver of the messages of a step, each time that it is done.

    Redundant messages are left out: a collective must do without them.
    """
    if step.kind == MESSAGE and step.partners is not None:
        for _ in range(step.repeat):
            yield step.partners.pairs(ranks)
    elif step.kind == EXCHANGE:
        yield Xor(1 << step.round, power_below(ranks)).pairs(ranks)
