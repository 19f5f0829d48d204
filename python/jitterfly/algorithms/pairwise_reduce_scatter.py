"""Pairwise exchange reduce-scatter."""

from __future__ import annotations

from dataclasses import dataclass

from ..steps import Step
from .algorithm import Algorithm
from .shared_steps import block_bytes, collective, pairwise_steps


@dataclass(frozen=True)
class PairwiseReduceScatter(Algorithm, kind="pairwise_reduce_scatter"):
    """Rank i sends, in step d, its block for rank ``i + d`` (modulo N), and combines ``i - d``'s.

    `message_bytes` is the vector that each rank puts in, n bytes, cut into N blocks of n / N
    (rounded up). A rank sends N - 1 messages of a block, each to another rank. Unless n is 0, a
    block has at least one byte: with fewer bytes than blocks a rank sends more than an
    implementation would.

    There are as many steps as other ranks, which take memory: up to 2^18 + 1 ranks, else a
    ValueError when the case is made.

    Notes
    -----
    Without noise it takes ``A + (N - 2) max(A, g + (b - 1) G)`` for blocks of b bytes, with A the
    time of one message, as a ring does; but what a rank sends does not depend on what it received.
    It is MPICH's `pairwise`, which it takes for long vectors and commutative operations (Thakur et
    al. 2005).

    References
    ----------
    Thakur, Rabenseifner & Gropp, "Optimization of Collective Communication Operations in MPICH",
    IJHPCA 2005.

    Examples
    --------
    Sender and receiver of the messages on three ranks, step by step:

    >>> [step.tolist() for step in PairwiseReduceScatter().message_levels(3)]
    [[[0, 1], [1, 2], [2, 0]], [[0, 2], [1, 0], [2, 1]]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        block = block_bytes(message_bytes, ranks)
        return collective(pairwise_steps(self, ranks, block, combine=True))
