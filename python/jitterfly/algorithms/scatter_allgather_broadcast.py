"""Broadcast of long vectors: scatter, then allgather around a ring."""

from __future__ import annotations

from dataclasses import dataclass

from ..steps import BinomialTree, Range, Shift, Step, rounds_of
from .algorithm import Algorithm
from .schedule import block_bytes, collective, message


@dataclass(frozen=True)
class ScatterAllgatherBroadcast(Algorithm, kind="scatter_allgather_broadcast"):
    """Rank 0 scatters the vector along a binomial tree; a ring then gathers it on all ranks.

    In the tree a rank hands on the blocks of all ranks below its partner: over distance s that is
    s blocks, or as many as there are ranks left (a step of its own, of the one pair that it is).

    `message_bytes` is the vector, n bytes, cut into N blocks of n / N (rounded up). log2(N) steps,
    rounded up, and N - 1 of one block.

    Notes
    -----
    Noise-free, Hockney, 2^K ranks: ``(K + N - 1) alpha + 2 (N - 1)/N n beta`` ; in detail
    `jitterfly.theory.collective_completion`. Barnett, Gupta, Payne, Shuler, van de Geijn & Watts,
    "Building a High-Performance Collective Communication Library" (SHPCC 1994); MPICH's broadcast
    of long messages: Thakur, Rabenseifner & Gropp (IJHPCA 2005).
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        block = block_bytes(message_bytes, ranks)
        messages, rounds = scatter_down(ranks, block), rounds_of(ranks)
        if ranks > 1:
            ring = message(Shift(1), rounds, block, "allgather", repeat=ranks - 1)
            messages.append(ring)
        return collective(messages)


def scatter_down(ranks: int, block: int) -> list[Step]:
    """A binomial scatter from rank 0: over stride s go the blocks of s ranks, or of those left."""
    rounds, steps = rounds_of(ranks), []
    for r in range(rounds):
        stride = 1 << (rounds - 1 - r)
        cut = ranks // (2 * stride) * (2 * stride)  # the subtree from here on is not whole
        left = ranks - cut - stride
        label, short = f"scatter {r + 1}", 0 < left < stride
        if cut:
            whole = BinomialTree(stride, cut, down=True)
            steps.append(message(whole, r, stride * block, "" if short else label))
        if short:  # the same draws: no rank is in both
            steps.append(message(Range(cut, cut + 1, stride), r, left * block, label))
    return steps
