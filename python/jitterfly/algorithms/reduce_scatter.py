"""Reduce-scatter: recursive halving, around a ring, and pairwise exchange."""

from __future__ import annotations

from ..fields import frozen_dataclass
from ..steps import Shift, Step, Xor, power_below
from .algorithm import Algorithm
from .shared_steps import block_bytes, collective, fold_in, fold_out, message, pairwise_steps


@frozen_dataclass()
class RecursiveHalvingReduceScatter(Algorithm, kind="recursive_halving_reduce_scatter"):
    """Ranks send, in each round, the half of the vector that the other half of their group needs.

    The distances are P/2, P/4, ... 1 (as MPICH): at the end each rank holds its block of the
    result. Ranks beyond the largest power of two P = 2^K send their vector to ``i - P`` first,
    which also reduces their block and sends it to them at the end (a far fold; MPICH folds
    neighbours). Halves then hold unequal numbers of blocks: every message of a round takes as long
    as the longest of that round, ``d + min(d, N - P)`` blocks over distance d.

    `message_bytes` is the vector that each rank puts in, n bytes, cut into N blocks of n / N
    (rounded up). On P ranks a rank sends K messages, of P/2, P/4, ... 1 blocks; the fold adds two.
    Unless n is 0, a block has at least one byte: with fewer bytes than blocks a rank sends more
    than an implementation would.

    Notes
    -----
    Without noise it takes ``K alpha + (P - 1)/P n (beta + gamma)`` on Hockney's network and P
    ranks. It is for commutative operations (Thakur et al. 2005).

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> RecursiveHalvingReduceScatter().message_levels(4)[0].tolist()
    [[0, 2], [1, 3], [2, 0], [3, 1]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        power = power_below(ranks)
        block, rounds = block_bytes(message_bytes, ranks), power.bit_length() - 1
        messages = fold_in(ranks, message_bytes, combine=True)
        for r in range(rounds):
            mask = power >> r + 1
            size = (mask + min(mask, ranks - power)) * block
            messages.append(message(Xor(mask, power), r, size, f"round {r + 1}", combine=True))
        return collective(messages + fold_out(ranks, block))


@frozen_dataclass()
class RingReduceScatter(Algorithm, kind="ring_reduce_scatter"):
    """Rank i sends the block that it combined last to rank i + 1, N - 1 times.

    In step s rank i sends block ``i - s - 1`` (modulo N) and combines what it receives; at the end
    it holds block i of the result. It is the first half of `RingAllreduce`.

    `message_bytes` is the vector that each rank puts in, n bytes, cut into N blocks of n / N
    (rounded up). A rank sends N - 1 messages of a block. Unless n is 0, a block has at least one
    byte: with fewer bytes than blocks a rank sends more than an implementation would.

    Notes
    -----
    Without noise it takes ``A + (N - 2) max(A, g + (b - 1) G)`` for blocks of b bytes, with A the
    time of one message. Partners are neighbours, and no rank sends more than it must: it suits
    long vectors (Patarasuk & Yuan 2009). It is Open MPI's and NCCL's `ring`, for commutative
    operations.

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> RingReduceScatter().message_levels(4)[0].tolist()
    [[0, 1], [1, 2], [2, 3], [3, 0]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        block, rest = block_bytes(message_bytes, ranks), ranks - 1
        ring = [message(Shift(1), 0, block, "ring", combine=True, repeat=rest)] if rest else []
        return collective(ring)


@frozen_dataclass()
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

    Examples
    --------
    Sender and receiver of the messages on three ranks, step by step:

    >>> [step.tolist() for step in PairwiseReduceScatter().message_levels(3)]
    [[[0, 1], [1, 2], [2, 0]], [[0, 2], [1, 0], [2, 1]]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        block = block_bytes(message_bytes, ranks)
        return collective(pairwise_steps(self, ranks, block, combine=True))
