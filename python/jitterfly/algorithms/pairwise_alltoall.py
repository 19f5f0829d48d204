"""Pairwise exchange all-to-all (alltoall)."""

from __future__ import annotations

from dataclasses import dataclass

from ..steps import Step
from .algorithm import Algorithm
from .shared_steps import collective, pairwise_steps


@dataclass(frozen=True)
class PairwiseAlltoall(Algorithm, kind="pairwise_alltoall"):
    """Rank i sends its block for rank ``i + d`` (modulo N) in step d, and receives from ``i - d``.

    `message_bytes` is a block, that of one rank for one other: n bytes. A rank sends N - 1 messages
    of n bytes, each to another rank; the step ends when it has received.

    There are as many steps as other ranks, which take memory: up to 2^18 + 1 ranks, else a
    ValueError when the case is made.

    Notes
    -----
    Without noise it takes ``A + (N - 2) max(A, g + (n - 1) G)``, ``A = 2 o + L + (n - 1) G``, on a
    LogGP network. It sends each block once, which suits long messages (Thakur et al. 2005). It is
    Open MPI's `pairwise`; MPICH pairs i with ``i xor d`` on powers of two.

    References
    ----------
    Thakur, Rabenseifner & Gropp, "Optimization of Collective Communication Operations in MPICH",
    IJHPCA 2005.

    Examples
    --------
    Sender and receiver of the messages on three ranks, step by step:

    >>> [step.tolist() for step in PairwiseAlltoall().message_levels(3)]
    [[[0, 1], [1, 2], [2, 0]], [[0, 2], [1, 0], [2, 1]]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        return collective(pairwise_steps(self, ranks, message_bytes))
