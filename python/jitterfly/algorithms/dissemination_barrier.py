"""Dissemination barrier."""

from __future__ import annotations

from dataclasses import dataclass

from ..steps import Shift, Step, rounds_of
from .algorithm import Algorithm
from .schedule import collective, message


@dataclass(frozen=True)
class DisseminationBarrier(Algorithm, kind="dissemination_barrier"):
    """Round r: rank i tells rank ``i + 2^r`` (modulo N) that it, and all it heard of, is there.

    `message_bytes` is the size of its messages. log2(N) messages a rank, rounded up; no fold.

    Notes
    -----
    Noise-free, LogGP: ``A + (K - 1) max(A, g + (n - 1) G)``, ``A = 2 o + L + (n - 1) G``. Hensgen,
    Finkel & Manber, "Two Algorithms for Barrier Synchronization" (IJPP 1988). MPICH's barrier.
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        return collective(
            [
                message(Shift(1 << r), r, message_bytes, f"round {r + 1}")
                for r in range(rounds_of(ranks))
            ]
        )
