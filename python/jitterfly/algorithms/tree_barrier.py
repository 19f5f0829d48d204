"""Tree barrier."""

from __future__ import annotations

from dataclasses import dataclass

from ..steps import Step, rounds_of
from .algorithm import Algorithm
from .schedule import collective, gather_up, spread_down


@dataclass(frozen=True)
class TreeBarrier(Algorithm, kind="tree_barrier"):
    """All ranks report to rank 0 along a binomial tree, which tells all along the same tree.

    `message_bytes` is the size of its messages. 2 K steps, K = log2(N) rounded up; 2 (N - 1)
    messages in all.

    Notes
    -----
    Noise-free, Hockney, 2^K ranks: ``2 K (alpha + beta n)``; see
    `jitterfly.theory.collective_completion` for the rest. Open MPI's `barrier_intra_tree` has the
    same shape.
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        up = gather_up(ranks, message_bytes, combine=False)
        return collective(up + spread_down(ranks, message_bytes, first=rounds_of(ranks)))
