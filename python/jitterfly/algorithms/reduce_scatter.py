"""Reduce-scatter: recursive halving, butterfly, PAT, Bine, around a ring, pairwise, two parts."""

from __future__ import annotations

import numpy as np

from ..fields import frozen_dataclass
from ..steps import Listed, Shift, Step, Xor, power_below, rounds_of
from .algorithm import Algorithm
from .gather_scatter import LinearScatter
from .reduce import BinomialReduce
from .shared_steps import (
    FOLD_OUT,
    AlgorithmOf,
    block_bytes,
    check_ranks,
    collective,
    fold_in,
    fold_out,
    in_one_row,
    message,
    message_steps,
    numbered,
    pairwise_steps,
    swing_blocks,
    swing_partners,
    swings,
    tree_blocks,
)


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


@frozen_dataclass()
class ButterflyReduceScatter(Algorithm, kind="butterfly_reduce_scatter"):
    """Exchange halves over distances 1, 2, 4, ...; then send each block home, one exchange away.

    In round r rank i sends half of what is left of the vector to ``i xor 2^r``, so that operations
    that do not commute keep their order. It is left with the block whose number has its own bits in
    reverse order, and exchanges it with the rank of that number. Ranks beyond the largest power of
    two P = 2^K send their vector to ``i - P`` first; of P parts the first ones then have two
    blocks, of which one is sent to such a rank before that last exchange (a far fold; Open MPI
    folds neighbours). Every message of a round takes as long as the longest of that round.

    `message_bytes` is the vector that each rank puts in, n bytes, cut into N blocks of n / N
    (rounded up). On P ranks a rank sends K messages, of P/2, P/4, ... 1 blocks, and one of a block.
    Unless n is 0, a block has at least one byte: with fewer bytes than blocks a rank sends more
    than an implementation would. Messages are listed, which takes memory: up to 2^22 ranks, else a
    ValueError when the case is made.

    Notes
    -----
    Without noise it takes ``K alpha + (P - 1)/P n (beta + gamma)`` on Hockney's network and P
    ranks, and ``alpha + n/P beta`` for the last exchange, which there is from four ranks on. It is
    Open MPI's `butterfly`.

    References
    ----------
    Träff, "An Improved Algorithm for (Non-commutative) Reduce-Scatter with an Application",
    EuroPVM/MPI 2005.

    Examples
    --------
    Sender and receiver of the last messages on four ranks:

    >>> ButterflyReduceScatter().message_levels(4)[-1].tolist()
    [[1, 2], [2, 1]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        check_ranks(self, ranks)
        power = power_below(ranks)
        block, rounds, extra = block_bytes(message_bytes, ranks), rounds_of(power), ranks - power
        messages = fold_in(ranks, message_bytes, combine=True)
        for r in range(rounds):
            parts = power >> r + 1
            size = (parts + min(parts, extra)) * block
            label = f"round {r + 1}"
            messages.append(message(Xor(1 << r, power), r, size, label, combine=True))
        home = np.zeros(power, np.int64)  # the rank whose part a rank is left with
        for r in range(rounds):
            home |= (np.arange(power) >> r & 1) << rounds - 1 - r
        if extra:
            # A number reversed twice is itself: the part j is with rank home[j].
            beyond = np.stack([home[:extra], np.arange(power, ranks)], axis=1)
            messages.append(message(Listed(beyond), FOLD_OUT, block, "fold out"))
        pairs = np.stack([np.arange(power), home], axis=1)
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        if len(pairs):
            messages.append(message(Listed(pairs), rounds, block, "exchange of blocks"))
        return collective(messages)


@frozen_dataclass()
class PatReduceScatter(Algorithm, kind="pat_reduce_scatter"):
    """Combine blocks up binomial trees, one to each rank, which are shifted.

    It is `PatAllgather` the other way: over the distances 1, 2, 4, ... rank i sends to ``i - d``
    (modulo N) the blocks of all ranks whose tree goes that way. So the most blocks go to
    neighbours, and the fewest to the farthest ranks.

    `message_bytes` is the vector that each rank puts in, n bytes, cut into N blocks of n / N
    (rounded up). A rank sends K = log2(N) messages, rounded up, of N/2, N/4, ... 1 blocks where N
    is a power of two. Unless n is 0, a block has at least one byte: with fewer bytes than blocks a
    rank sends more than an implementation would.

    Notes
    -----
    Without noise it takes ``K alpha + (N - 1)/N n (beta + gamma)`` on Hockney's network, for every
    N. It is NCCL's `PAT` (parallel aggregated trees) where its buffers hold the blocks of a
    message; longer messages NCCL sends in parts.

    References
    ----------
    Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale",
    arXiv:2506.20252, 2025.

    Examples
    --------
    Bytes of each message on six ranks, where blocks are one byte:

    >>> [step.bytes for step in PatReduceScatter().steps(6, 6) if step.partners]
    [3, 1, 1]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        block = block_bytes(message_bytes, ranks)
        return collective([
            message(Shift(ranks - (1 << r)), r, tree_blocks(ranks, 1 << r) * block,
                    f"round {r + 1}", combine=True)
            for r in range(rounds_of(ranks))
        ])  # fmt: skip


@frozen_dataclass()
class BineReduceScatter(Algorithm, kind="bine_reduce_scatter"):
    """Exchange halves of what is left with partners on both sides, the nearest first.

    It is `BineAllgather` the other way, over the distances 1, -1, 3, -5, 11, ...: a rank sends the
    blocks of its partner, and of all whom that exchanges with later. Ranks beyond the largest power
    of two P = 2^K send their vector to ``i - P`` first, and get their block at the end. Every
    message of a round takes as long as the longest of that round.

    `message_bytes` is the vector that each rank puts in, n bytes, cut into N blocks of n / N
    (rounded up). On P ranks a rank sends K messages, of P/2, P/4, ... 1 blocks; the fold adds two.
    Unless n is 0, a block has at least one byte: with fewer bytes than blocks a rank sends more
    than an implementation would. Messages are listed, which takes memory: up to 2^22 ranks, else a
    ValueError when the case is made.

    Notes
    -----
    Without noise it takes ``K alpha + (P - 1)/P n (beta + gamma)`` on Hockney's network
    and P ranks. Between nodes of 10 of 256 ranks go 0.18 times as many bytes as with
    `RecursiveHalvingReduceScatter`, whose longest messages go farthest, and 0.82 times as many as
    with `ButterflyReduceScatter`.

    References
    ----------
    De Sensi et al., "Bine Trees: Enhancing Collective Operations by Optimizing Communication
    Locality", SC 2025.

    Examples
    --------
    Bytes of each message on eight ranks, where blocks are one byte:

    >>> [step.bytes for step in BineReduceScatter().steps(8, 8) if step.partners]
    [4, 2, 1]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        check_ranks(self, ranks)
        block = block_bytes(message_bytes, ranks)
        messages = fold_in(ranks, message_bytes, combine=True)
        rounds = zip(swing_partners(power_below(ranks)), swing_blocks(ranks), strict=True)
        for r, (partners, blocks) in enumerate(rounds):
            size = blocks * block
            messages.append(message(swings(partners), r, size, f"round {r + 1}", combine=True))
        return collective(messages + fold_out(ranks, block))


@frozen_dataclass()
class NonoverlappingReduceScatter(Algorithm, kind="nonoverlapping_reduce_scatter"):
    """Reduce to rank 0, then scatter the result from there.

    `message_bytes` is the vector that each rank puts in, n bytes, cut into N blocks of n / N
    (rounded up), of which each rank gets one.

    Parameters
    ----------
    reduce, scatter : Algorithm, dict or str
        What is done one after the other. A text is its kind, such as "rabenseifner_reduce".

    Raises
    ------
    ValueError
        A parameter that is no such algorithm, or does not fit the case, when that is made.

    Notes
    -----
    Without noise it takes as long as both together. It is Open MPI's `non-overlapping`, which
    chooses the reduce anew and scatters linearly (Pjesivac-Grbovic et al. 2007).

    Examples
    --------
    Sender and receiver of the messages on three ranks, step by step:

    >>> [step.tolist() for step in NonoverlappingReduceScatter().message_levels(3)]
    [[[1, 0]], [[2, 0]], [[0, 1]], [[0, 2]]]
    """

    reduce: AlgorithmOf = AlgorithmOf("reduce", BinomialReduce())
    scatter: AlgorithmOf = AlgorithmOf("scatter", LinearScatter())

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        block = block_bytes(message_bytes, ranks)
        up = message_steps(self.reduce, "reduce", ranks, message_bytes)
        down = message_steps(self.scatter, "scatter", ranks, block)
        return collective(numbered([in_one_row(up, "reduce"), in_one_row(down, "scatter")]))
