"""Scatter-allgather broadcast (van de Geijn's, bcast) of long vectors: scatter, ring allgather."""

from __future__ import annotations

from dataclasses import dataclass

from ..steps import Shift, Step, rounds_of
from .algorithm import Algorithm
from .shared_steps import block_bytes, blocks_over_tree, collective, message


@dataclass(frozen=True)
class ScatterAllgatherBroadcast(Algorithm, kind="scatter_allgather_broadcast"):
    """Rank 0 scatters the vector along a binomial tree; a ring then gathers it on all ranks.

    In the tree a rank sends on the blocks of all ranks below its partner: over distance s that is s
    blocks, or as many as there are ranks left (a step of its own, of that one pair).

    `message_bytes` is the vector, n bytes, cut into N blocks of n / N (rounded up). There are
    log2(N) steps, rounded up, and N - 1 of one block. Unless n is 0, a block has at least one byte:
    with fewer bytes than blocks a rank sends more than an implementation would.

    Notes
    -----
    Without noise it takes ``(K + N - 1) alpha + 2 (N - 1)/N n beta`` on Hockney's network and 2^K
    ranks (Barnett et al. 1994); in detail `jitterfly.theory.collective_completion`. It is MPICH's
    broadcast of long messages (Thakur et al. 2005).

    References
    ----------
    Barnett, Gupta, Payne, Shuler, van de Geijn & Watts, "Building a High-Performance Collective
    Communication Library", SHPCC 1994.

    Thakur, Rabenseifner & Gropp, "Optimization of Collective Communication Operations in MPICH",
    IJHPCA 2005.

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> ScatterAllgatherBroadcast().message_levels(4)[0].tolist()
    [[0, 2]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        block = block_bytes(message_bytes, ranks)
        messages, rounds = blocks_over_tree(ranks, block, down=True), rounds_of(ranks)
        if ranks > 1:
            ring = message(Shift(1), rounds, block, "allgather", repeat=ranks - 1)
            messages.append(ring)
        return collective(messages)
