"""Reduce-scatter, also with counts: recursive halving, butterfly, PAT, Bine, ring, pairwise."""

from __future__ import annotations

import numpy as np

from ..fields import frozen_dataclass
from ..steps import Listed, PairArray, Shift, Step, Xor, power_below, rounds_of
from .algorithm import Algorithm, Irregular
from .gather_scatter import LinearScatter
from .reduce import BinomialReduce
from .shared_steps import (
    FOLD_IN,
    FOLD_OUT,
    MAX_PAIRED_RANKS,
    AlgorithmOf,
    block_bytes,
    bytes_of_counts,
    check_ranks,
    collective,
    fold_in,
    fold_out,
    in_one_row,
    message,
    message_steps,
    numbered,
    pairwise_steps,
    sized_messages,
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
class RingReduceScatterv(Irregular, kind="ring_reduce_scatterv"):
    """Send to rank i + 1 the block that was combined last, N - 1 times; blocks differ in size.

    It is `RingReduceScatter` with a count for each rank: in step s rank i sends the block of rank
    ``i - s - 1`` (modulo N).

    `message_bytes` is one element, as MPI's datatype: a block has a count of them. An empty block
    is sent, as Open MPI does, and costs as much as the smallest message that the network knows.
    Messages are listed, which takes memory: up to 8192 ranks, else a ValueError when the case is
    made.

    Notes
    -----
    It is Open MPI's `ring` for MPI_Reduce_scatter, of commutative operations. With equal counts it
    takes as long as `RingReduceScatter`.

    Examples
    --------
    Bytes that ranks 0, 1 and 2 send, step by step:

    >>> steps = RingReduceScatterv([1, 2, 3]).steps(3, 8)
    >>> [step.sizes(3).tolist() for step in steps if step.partners]
    [[24, 8, 16], [16, 24, 8]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        check_ranks(self, ranks, MAX_PAIRED_RANKS)
        sizes = bytes_of_counts(self.counts.of_ranks(ranks), message_bytes)
        steps = [
            message(Shift(1), s, np.roll(sizes, s + 1), "", combine=True) for s in range(ranks - 1)
        ]
        return collective(in_one_row(steps, "ring"))


@frozen_dataclass()
class PairwiseReduceScatterv(Irregular, kind="pairwise_reduce_scatterv"):
    """Send to rank ``i + d`` (modulo N), in step d, its block, and combine that of ``i - d``.

    It is `PairwiseReduceScatter` with a count for each rank, so that a rank receives N - 1 messages
    of its own size: one with a large block is the last.

    `message_bytes` is one element, as MPI's datatype: a block has a count of them. An empty block
    is sent, as MPICH does, and costs as much as the smallest message that the network knows.
    Messages are listed, which takes memory: up to 8192 ranks, else a ValueError when the case is
    made.

    Notes
    -----
    It is MPICH's `pairwise` for MPI_Reduce_scatter, of commutative operations (Thakur et al. 2005).
    With equal counts it takes as long as `PairwiseReduceScatter`.

    Examples
    --------
    Bytes that ranks 0, 1 and 2 send, step by step:

    >>> steps = PairwiseReduceScatterv([1, 2, 3]).steps(3, 8)
    >>> [step.sizes(3).tolist() for step in steps if step.partners]
    [[16, 24, 8], [24, 8, 16]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        check_ranks(self, ranks, MAX_PAIRED_RANKS)
        sizes = bytes_of_counts(self.counts.of_ranks(ranks), message_bytes)
        steps = [
            message(Shift(d), d - 1, np.roll(sizes, -d), "", combine=True) for d in range(1, ranks)
        ]
        return collective(in_one_row(steps, "pairwise"))


@frozen_dataclass()
class RecursiveHalvingReduceScatterv(Irregular, kind="recursive_halving_reduce_scatterv"):
    """Send, in each round, the blocks that the other half of a group needs; they differ in size.

    It is `RecursiveHalvingReduceScatter` with a count for each rank, and each message has the bytes
    of its own blocks. Beyond the largest power of two P neighbours fold, as in both libraries: of
    the first 2 (N - P) ranks, even ones send their vector to ``i + 1`` and get their block at the
    end.

    `message_bytes` is one element, as MPI's datatype: a block has a count of them. A message
    without bytes is not sent. Messages are listed, which takes memory: up to 2^22 ranks, else a
    ValueError when the case is made.

    Notes
    -----
    It is MPICH's and Open MPI's `recursive_halving` for MPI_Reduce_scatter, of commutative
    operations (Thakur et al. 2005). With equal counts and 2^K ranks it takes as long as
    `RecursiveHalvingReduceScatter`.

    Examples
    --------
    Bytes that ranks 0 to 3 send, step by step:

    >>> steps = RecursiveHalvingReduceScatterv([1, 2, 3, 4]).steps(4, 8)
    >>> [step.sizes(4).tolist() for step in steps if step.partners]
    [[56, 56, 24, 24], [16, 8, 32, 24]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        check_ranks(self, ranks)
        sizes = bytes_of_counts(self.counts.of_ranks(ranks), message_bytes)
        power = power_below(ranks)
        folded = 2 * (ranks - power)
        even = np.arange(0, folded, 2)
        # The ranks that stay, and the bytes of the blocks that each of them is to hold.
        stays = np.concatenate([even + 1, np.arange(folded, ranks)])
        own = np.concatenate([sizes[:folded].reshape(-1, 2).sum(axis=1), sizes[folded:]])

        def sized(pairs: list[PairArray], draw: int, each: PairArray, label: str) -> None:
            partners = Listed(np.stack(pairs, axis=1))
            combine = draw != FOLD_OUT
            for step in sized_messages(
                partners, ranks, draw, each, skip_empty=True, combine=combine
            ):
                steps.append(step._replace(label=label))

        steps: list[Step] = []
        if folded:
            whole = np.full(len(even), sizes.sum())
            sized([even, even + 1], FOLD_IN, whole, "fold in")
        place = np.arange(power)
        for r in range(rounds_of(power)):
            mask = power >> r + 1
            of_groups = own.reshape(-1, mask).sum(axis=1)
            sends = of_groups[(place ^ mask) // mask]
            sized([stays, stays[place ^ mask]], r, sends, f"round {r + 1}")
        if folded:
            sized([even + 1, even], FOLD_OUT, sizes[even], "fold out")
        return collective(steps)


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
    blocks of its partner, and of every rank that the partner reaches in later rounds. Ranks beyond
    the largest power of two P = 2^K send their vector to ``i - P`` first, and get their block at
    the end. Every message of a round takes as long as the longest of that round.

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
