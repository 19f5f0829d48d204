"""Bruck's all-to-all (alltoall)."""

from __future__ import annotations

from dataclasses import dataclass

from ..steps import Shift, Step, rounds_of
from .algorithm import Algorithm
from .shared_steps import collective, message


@dataclass(frozen=True)
class BruckAlltoall(Algorithm, kind="bruck_alltoall"):
    """Rank i sends to ``i + 2^r`` (modulo N), in round r, all blocks that have such a way to go.

    A block for the rank at distance d goes over the distances 2^r whose bits d has; on its way it
    is in the messages of other ranks. The time to sort the blocks in memory before and after is not
    counted.

    `message_bytes` is a block, that of one rank for one other: n bytes. A rank sends log2(N)
    messages, rounded up: that of round r has n bytes for each d from 1 to N - 1 with bit r, which
    are N/2 where N is a power of two.

    Notes
    -----
    Without noise it takes ``K (alpha + N/2 n beta)`` on Hockney's network and 2^K ranks. It sends
    few messages, and each block log2(N) / 2 times on average, which suits short messages (Bruck et
    al. 1997; Thakur et al. 2005).

    References
    ----------
    Bruck, Ho, Kipnis, Upfal & Weathersby, "Efficient Algorithms for All-to-All Communications in
    Multiport Message-Passing Systems", IEEE TPDS 1997.

    Thakur, Rabenseifner & Gropp, "Optimization of Collective Communication Operations in MPICH",
    IJHPCA 2005.

    Examples
    --------
    Bytes of each message on six ranks, where blocks are one byte:

    >>> [step.bytes for step in BruckAlltoall().steps(6, 1) if step.partners]
    [3, 2, 2]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        messages = []
        for r in range(rounds_of(ranks)):
            size = blocks_with_bit(ranks, r) * message_bytes
            messages.append(message(Shift(1 << r), r, size, f"round {r + 1}"))
        return collective(messages)


def blocks_with_bit(ranks: int, bit: int) -> int:
    """Count the distances below `ranks` that have this bit."""
    whole, left = divmod(ranks, 2 << bit)
    return (whole << bit) + max(left - (1 << bit), 0)
