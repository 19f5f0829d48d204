"""Bruck's allgather."""

from __future__ import annotations

from dataclasses import dataclass

from ..steps import Shift, Step, rounds_of
from .algorithm import Algorithm
from .schedule import collective, message


@dataclass(frozen=True)
class BruckAllgather(Algorithm, kind="bruck_allgather"):
    """Round r: rank i sends all that it holds to rank ``i - 2^r`` (modulo N); the last one, what is
    still lacking there.

    `message_bytes` is what one rank contributes, n bytes. K = log2(N) messages a rank, rounded up,
    of 1, 2, 4, ... blocks of n bytes, the last of ``N - 2^(K-1)``; no fold. Sorting the blocks in
    memory at the end is not charged.

    Notes
    -----
    Noise-free, Hockney: ``K alpha + (N - 1) n beta``, for every N. Bruck, Ho, Kipnis, Upfal &
    Weathersby, "Efficient Algorithms for All-to-All Communications in Multiport Message-Passing
    Systems" (IEEE TPDS 1997). MPICH's for short messages on other numbers than powers of two.
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        messages = []
        for r in range(rounds_of(ranks)):
            size = min(1 << r, ranks - (1 << r)) * message_bytes
            messages.append(message(Shift(ranks - (1 << r)), r, size, f"round {r + 1}"))
        return collective(messages)
