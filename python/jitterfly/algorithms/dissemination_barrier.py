"""Dissemination barrier."""

from __future__ import annotations

from dataclasses import dataclass

from ..steps import Shift, Step, rounds_of
from .algorithm import Algorithm
from .shared_steps import collective, message


@dataclass(frozen=True)
class DisseminationBarrier(Algorithm, kind="dissemination_barrier"):
    """Rank i sends to rank ``i + 2^r`` (modulo N), in round r, which ranks are there.

    `message_bytes` is the size of its messages. A rank sends log2(N) messages, rounded up; there is
    no fold. It is MPICH's barrier (Hensgen et al. 1988).

    Notes
    -----
    Without noise it takes ``A + (K - 1) max(A, g + (n - 1) G)``, ``A = 2 o + L + (n - 1) G``, on a
    LogGP network.

    References
    ----------
    Hensgen, Finkel & Manber, "Two Algorithms for Barrier Synchronization", IJPP 1988.

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> DisseminationBarrier().message_levels(4)[0].tolist()
    [[0, 1], [1, 2], [2, 3], [3, 0]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        return collective(
            [
                message(Shift(1 << r), r, message_bytes, f"round {r + 1}")
                for r in range(rounds_of(ranks))
            ]
        )
