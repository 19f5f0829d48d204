"""Bruck's allgather."""

from __future__ import annotations

from dataclasses import dataclass

from ..steps import Shift, Step, rounds_of
from .algorithm import Algorithm
from .shared_steps import collective, message


@dataclass(frozen=True)
class BruckAllgather(Algorithm, kind="bruck_allgather"):
    """Rank i sends all that it holds to rank ``i - 2^r`` (modulo N) in round r.

    In the last round it sends only what that rank still lacks. `message_bytes` is what one rank
    contributes, n bytes. A rank sends K = log2(N) messages, rounded up, of 1, 2, 4, ... blocks of n
    bytes, the last of ``N - 2^(K-1)``; there is no fold. The time to sort the blocks in memory at
    the end is not counted.

    Notes
    -----
    Without noise it takes ``K alpha + (N - 1) n beta`` on Hockney's network, for every N (Bruck et
    al. 1997). MPICH takes it for short messages where the number of ranks is not a power of two.

    References
    ----------
    Bruck, Ho, Kipnis, Upfal & Weathersby, "Efficient Algorithms for All-to-All Communications in
    Multiport Message-Passing Systems", IEEE TPDS 1997.

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> BruckAllgather().message_levels(4)[0].tolist()
    [[0, 3], [1, 0], [2, 1], [3, 2]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        messages = []
        for r in range(rounds_of(ranks)):
            size = min(1 << r, ranks - (1 << r)) * message_bytes
            messages.append(message(Shift(ranks - (1 << r)), r, size, f"round {r + 1}"))
        return collective(messages)
