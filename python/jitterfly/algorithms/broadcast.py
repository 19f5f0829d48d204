"""Broadcast (bcast): trees, pipelines, scatter and allgather; hierarchical, between nodes first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from ..fields import check_choice, frozen_dataclass
from ..steps import Listed, Range, Shift, Step, power_below, rounds_of
from .algorithm import MAX_ROUNDS, Algorithm
from .shared_steps import (
    AlgorithmOf,
    Count,
    Level,
    SegmentBytes,
    bine_tree,
    block_bytes,
    blocks_over_tree,
    check_ranks,
    check_step_count,
    circulant_segments,
    collective,
    doubling_steps,
    fold_out,
    in_one_row,
    knomial_steps,
    message,
    message_steps,
    node_stages,
    numbered,
    pipelined,
    segments_of,
    spread_down,
    tree_levels,
)


@frozen_dataclass()
class BinomialBroadcast(Algorithm, kind="binomial_broadcast"):
    """A rank that has the vector sends it on: from rank 0, over distances ..., 4, 2, 1 (as MPICH).

    `message_bytes` is the vector, n bytes. There are N - 1 messages of n bytes, in log2(N) steps,
    rounded up.

    Notes
    -----
    Without noise, with ``A = 2 o + L + (n - 1) G`` and ``d = max(o, g + (n - 1) G)`` between two
    sends of a rank, it takes ``A + (K - 1) max(A, d)`` on 2^K ranks, and ``A + d + (K - 2) max(A,
    d)`` on N ranks, N below 2^K and above 2^(K-1). It suits short messages (Thakur et al. 2005).

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> BinomialBroadcast().message_levels(4)[0].tolist()
    [[0, 2]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        return collective(spread_down(ranks, message_bytes))


@frozen_dataclass()
class BineBroadcast(Algorithm, kind="bine_broadcast"):
    """Send the vector down a binomial tree whose children are on both sides, and so nearer.

    In the round of distance d a rank that has the vector sends it to ``i + d``, if i is even, or
    else to ``i - d`` (modulo P). The distances are ..., 11, -5, 3, -1, 1: ``(1 - (-2)^m) / 3`` for
    m = K, ... 1, which in base -2 are m ones. Ranks beyond the largest power of two P = 2^K get the
    vector from ``i - P`` at the end.

    `message_bytes` is the vector, n bytes. There are N - 1 messages of n bytes, in K steps, and one
    for the ranks beyond. Messages are listed, which takes memory: up to 2^22 ranks, else a
    ValueError when the case is made.

    Notes
    -----
    Without noise it takes as long as `BinomialBroadcast` on 2^K ranks that are alike. A
    child is at most about P/3 ranks away (modulo P), against P/2 there. Of 256 ranks in nodes of
    10, 0.85 times as many messages go between nodes; in nodes of 16, each of which the binomial
    tree enters once, 2.6 times as many.

    References
    ----------
    De Sensi et al., "Bine Trees: Enhancing Collective Operations by Optimizing Communication
    Locality", SC 2025.

    Examples
    --------
    Sender and receiver of the messages on eight ranks, step by step:

    >>> [step.tolist() for step in BineBroadcast().message_levels(8)]
    [[[0, 3]], [[0, 7], [3, 4]], [[0, 1], [3, 2], [7, 6], [4, 5]]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        check_ranks(self, ranks)
        n = message_bytes
        tree = [
            message(Listed(edges), r, n, f"down {r + 1}")
            for r, edges in enumerate(bine_tree(power_below(ranks)))
        ]
        return collective(tree + fold_out(ranks, n))


@frozen_dataclass()
class KnomialBroadcast(Algorithm, kind="knomial_broadcast"):
    """A rank that has the vector sends it to ``radix - 1`` others in a row: a wider, lower tree.

    In the last level of K, rounded up, the ranks i that are multiples of the radix k send to ``i +
    1``, ``i + 2``, ... ``i + k - 1``; in the level before, multiples of k^2 send to ``i + k``, ``i
    + 2 k``, ...; and so on, the root first. With radix 2 it is `BinomialBroadcast`.

    `message_bytes` is the vector, n bytes. There are N - 1 messages of n bytes, in ``(k - 1) K``
    steps with K = log(N) / log(k), rounded up.

    Parameters
    ----------
    radix : int
        k, from 2. With N or more, rank 0 sends to all.

    Raises
    ------
    ValueError
        `radix` out of range. More than 2^22 ranks, or more than 2^18 steps, when the case is made.

    Notes
    -----
    Without noise, with ``A = 2 o + L + (n - 1) G`` and ``d = max(o, g + (n - 1) G)`` between two
    sends of a rank, it takes ``A + (K - 1) max(A, d) + K (k - 2) d`` on k^K ranks. A higher radix
    pays where a message takes far longer than a rank needs between two sends. It is Open MPI's
    `knomial`, of radix 4 by default, and MPICH's tree of type `knomial_1`.

    References
    ----------
    Thakur, Rabenseifner & Gropp, "Optimization of Collective Communication Operations in MPICH",
    IJHPCA 2005, for radix 2. Karp, Sahay, Santos & Schauser, "Optimal Broadcast and Summation in
    the LogP Model", SPAA 1993, for which shape is best.

    Examples
    --------
    Sender and receiver of the messages on seven ranks, step by step:

    >>> [step.tolist() for step in KnomialBroadcast(radix=3).message_levels(7)]
    [[[0, 3]], [[0, 6]], [[0, 1], [3, 4]], [[0, 2], [3, 5]]]
    """

    radix: Count = Count(4, least=2, most=2**MAX_ROUNDS)

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        return collective(knomial_steps(self, ranks, self.radix, message_bytes, up=False))


@frozen_dataclass()
class BinaryTreeBroadcast(Algorithm, kind="binary_tree_broadcast"):
    """Rank i sends each segment of the vector to ranks 2 i + 1 and 2 i + 2.

    With ``numbering="levels"`` the children of rank i in a level of d ranks are ``i + d`` and ``i +
    2 d``, as in `BinaryTreeReduce`.

    `message_bytes` is the vector, n bytes, cut into S segments of n / S bytes (rounded up), as few
    as have at most `segment_bytes`. A rank sends a segment to both before it receives the next:
    there are at most ``2 (log2(N) + S)`` steps.

    Parameters
    ----------
    segment_bytes : int or str
        The most bytes of a segment, from 1; text such as ``"8KiB"`` is read. With n or more, whole
        vectors are sent.
    numbering : str
        "heap" or "levels": which ranks are below which.

    Raises
    ------
    ValueError
        A parameter out of range; more than 2^22 ranks, or about 2^17 segments, when the case is
        made.

    Notes
    -----
    On a quiet machine each further segment takes as long as two sends and a receive, or as the link
    needs for two. So it is between `BinomialBroadcast`, for short vectors, and `ChainBroadcast`,
    for long ones on few ranks. With "levels" it is Open MPI's `binary_tree` (Pjesivac-Grbovic et
    al. 2007).

    Examples
    --------
    Sender and receiver of two segments on four ranks, step by step:

    >>> tree = BinaryTreeBroadcast(segment_bytes="4KiB")
    >>> [step.partners.pairs(4) for step in tree.steps(4, 8192) if step.partners]
    [[(0, 1)], [(0, 2), (1, 3)], [(0, 1)], [(0, 2), (1, 3)]]
    """

    added = ("numbering",)

    segment_bytes: SegmentBytes = SegmentBytes()
    numbering: Literal["heap", "levels"] = "heap"

    def __post_init__(self) -> None:
        check_choice(self.numbering, "numbering", ("heap", "levels"))

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        check_ranks(self, ranks)
        segments = segments_of(message_bytes, self.segment_bytes)
        check_step_count(self, 2 * segments, "segment_bytes must be larger")
        if ranks == 1:
            return collective([])
        # A rank that receives a segment in step t sends it in steps t + 1 and t + 2.
        received, parent = np.full(ranks, -1), np.zeros(ranks, np.int64)
        for child, above, turn in self.levels(ranks):
            received[child], parent[child] = received[above] + turn, above
        child = np.arange(1, ranks)
        parent = parent[1:]
        edges, size = np.stack([parent, child], axis=1), block_bytes(message_bytes, segments)
        return collective(pipelined(edges, received[1:], segments, 0, size, "binary tree"))

    def levels(self, ranks: int) -> Iterator[Level]:
        """The levels of the tree from the root down, with the turn of each child, 1 or 2."""
        for child, above, _ in tree_levels(ranks):
            if self.numbering == "heap":
                yield child, (child - 1) // 2, 2 - child % 2
            else:
                yield child, above, 1 + (child - child[0]) // (child[0] // 2 + 1)


@frozen_dataclass()
class SplitBinaryTreeBroadcast(Algorithm, kind="split_binary_tree_broadcast"):
    """Half of the vector goes down each half of a binary tree; then pairs of ranks exchange halves.

    The tree is that of `BinaryTreeBroadcast` numbered by levels: odd ranks are below rank 1 and get
    the first half, even ones below rank 2 get the second. Then ranks 1 and 2, 3 and 4, ... exchange
    what they have; where N is even, rank 0 sends the second half to rank N - 1.

    `message_bytes` is the vector, n bytes. Each half is cut into S segments of n / (2 S) bytes
    (rounded up), as few as have at most `segment_bytes`. A rank sends a segment to both children
    before it receives the next, and at the end one message of n / 2.

    Parameters
    ----------
    segment_bytes : int or str
        The most bytes of a segment, from 1; text such as ``"8KiB"`` is read. With n / 2 or more,
        whole halves are sent.

    Raises
    ------
    ValueError
        `segment_bytes` out of range; more than 2^22 ranks, or about 2^17 segments, when the case is
        made.

    Notes
    -----
    On a quiet machine each further segment takes as long as two sends and a receive, or as the link
    needs for two, of half as many bytes in all as in `BinaryTreeBroadcast`. It is Open MPI's
    `split_binary_tree` (Pjesivac-Grbovic et al. 2007).

    Examples
    --------
    Sender and receiver of the messages on four ranks, step by step:

    >>> tree = SplitBinaryTreeBroadcast(segment_bytes="4KiB")
    >>> [step.partners.pairs(4) for step in tree.steps(4, 8192) if step.partners]
    [[(0, 1)], [(0, 2), (1, 3)], [(1, 2), (2, 1), (0, 3)]]
    """

    segment_bytes: SegmentBytes = SegmentBytes()

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        check_ranks(self, ranks)
        half = block_bytes(message_bytes, 2)
        segments = segments_of(half, self.segment_bytes)
        check_step_count(self, 2 * segments, "segment_bytes must be larger")
        tree = BinaryTreeBroadcast(self.segment_bytes, "levels")
        steps = message_steps(tree, "segment_bytes", ranks, half)
        if ranks == 1:
            return collective(steps)
        left = np.arange(1, ranks - 1, 2)
        pairs = [np.stack([left, left + 1], axis=1), np.stack([left + 1, left], axis=1)]
        if ranks % 2 == 0:
            pairs.append(np.array([[0, ranks - 1]]))
        exchange = Listed(np.concatenate(pairs))
        return collective([*steps, message(exchange, steps[-1].round + 1, half, "exchange")])


@frozen_dataclass()
class ChainBroadcast(Algorithm, kind="chain_broadcast"):
    """Rank i sends each segment of the vector on to rank i + 1 before it receives the next.

    `message_bytes` is the vector, n bytes, cut into S segments of n / S bytes (rounded up), as few
    as have at most `segment_bytes`. Rank N - 1 sends nothing, every other rank S messages of a
    segment. There are N + S - 2 steps.

    Parameters
    ----------
    segment_bytes : int or str
        The most bytes of a segment, from 1; text such as ``"8KiB"`` is read. With n or more, whole
        vectors are sent.

    Raises
    ------
    ValueError
        `segment_bytes` out of range; more than 2^18 steps when the case is made.

    Notes
    -----
    Without noise it takes ``(N - 1) A + (S - 1) max(2 o, g + (b - 1) G)`` on a LogGP network and
    more than two ranks, with b bytes of a segment and ``A = 2 o + L + (b - 1) G``. It suits long
    vectors on few ranks: the last rank has a vector in little more time than it takes to send it
    once. It is Open MPI's `pipeline` (Pjesivac-Grbovic et al. 2007).

    Examples
    --------
    Sender and receiver of two segments on three ranks, step by step:

    >>> chain = ChainBroadcast(segment_bytes="4KiB")
    >>> [step.partners.pairs(3) for step in chain.steps(3, 8192) if step.partners]
    [[(0, 1)], [(0, 1), (1, 2)], [(1, 2)]]
    """

    segment_bytes: SegmentBytes = SegmentBytes()

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        segments = segments_of(message_bytes, self.segment_bytes)
        count = ranks + segments - 2 if ranks > 1 else 0
        check_step_count(self, count, "ranks must be fewer, or segment_bytes larger,")
        size = block_bytes(message_bytes, segments)
        messages = []
        for t in range(count):  # rank i sends segment t - i
            chain = Range(max(t - segments + 1, 0), min(t + 1, ranks - 1), 1)
            messages.append(message(chain, t, size, "chain" if t == count - 1 else ""))
        return collective(messages)


@frozen_dataclass()
class CirculantBroadcast(Algorithm, kind="circulant_broadcast"):
    """Send a segment to every rank in each round, over 1, ... about N/4, N/2 ranks in turn.

    The distances of q = log2(N) rounds, rounded up, are N halved and rounded up: of 17 ranks they
    are 1, 2, 3, 5 and 9, and again. Rank 0 sends segment 0, 1, 2, ... A rank sends in each round
    what its receiver lacks, so that all segments arrive once, on any number of ranks.

    `message_bytes` is the vector, n bytes, cut into S segments of n / S bytes (rounded up), as few
    as have at most `segment_bytes`. There are S + q - 1 rounds.

    Parameters
    ----------
    segment_bytes : int or str
        The most bytes of a segment, from 1; text such as ``"8KiB"`` is read. With n or more, whole
        vectors are sent.

    Raises
    ------
    ValueError
        `segment_bytes` out of range; more than 2^17 ranks, or more than 2^18 steps, when the case
        is made.

    Notes
    -----
    It takes the fewest rounds that there can be, where a rank sends one message and receives one in
    a round. Here a rank has received in one round before it sends in the next; it is `circ_graph`
    of MPICH's development branch, where it goes on with what it has.

    References
    ----------
    Träff, "Optimal Broadcast Schedules in Logarithmic Time with Applications to Broadcast,
    All-Broadcast, Reduction and All-Reduction", ACM Transactions on Parallel Computing 2025.

    Examples
    --------
    Sender and receiver of two segments on three ranks, step by step:

    >>> steps = CirculantBroadcast(segment_bytes="4KiB").steps(3, 8192)
    >>> [step.partners.pairs(3) for step in steps if step.partners]
    [[(0, 2)], [(0, 1)], [(2, 1), (0, 2)]]
    """

    segment_bytes: SegmentBytes = SegmentBytes()

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        pairs, size = circulant_segments(self, ranks, message_bytes, self.segment_bytes)
        steps = [message(Listed(edges), t, size, "") for t, edges in enumerate(pairs)]
        return collective(in_one_row(steps, "circulant graph"))


@frozen_dataclass()
class ScatterAllgatherBroadcast(Algorithm, kind="scatter_allgather_broadcast"):
    """Rank 0 scatters the vector along a binomial tree; then all ranks gather it, around a ring.

    With ``allgather="recursive_doubling"`` they gather it as in `RecursiveDoublingAllgather`.

    In the tree a rank sends on the blocks of all ranks below its partner: over distance s that is s
    blocks, or as many as there are ranks left (a step of its own, of that one pair).

    `message_bytes` is the vector, n bytes, cut into N blocks of n / N (rounded up). There are
    log2(N) steps, rounded up, and N - 1 of one block. Unless n is 0, a block has at least one byte:
    with fewer bytes than blocks a rank sends more than an implementation would.

    Parameters
    ----------
    allgather : str
        "ring" or "recursive_doubling".

    Raises
    ------
    ValueError
        `allgather` is neither.

    Notes
    -----
    Without noise it takes ``(K + N - 1) alpha + 2 (N - 1)/N n beta`` on Hockney's network and 2^K
    ranks (Barnett et al. 1994), or ``2 K alpha`` and as many bytes by recursive doubling; in detail
    `jitterfly.theory.collective_completion`. It is MPICH's broadcast of long messages around a
    ring, and by recursive doubling of medium ones on powers of two of ranks (Thakur et al. 2005).

    References
    ----------
    Barnett, Gupta, Payne, Shuler, van de Geijn & Watts, "Building a High-Performance Collective
    Communication Library", SHPCC 1994.

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> ScatterAllgatherBroadcast().message_levels(4)[0].tolist()
    [[0, 2]]
    """

    added = ("allgather",)

    allgather: Literal["ring", "recursive_doubling"] = "ring"

    def __post_init__(self) -> None:
        check_choice(self.allgather, "allgather", ("ring", "recursive_doubling"))

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        block = block_bytes(message_bytes, ranks)
        messages, rounds = blocks_over_tree(ranks, block, down=True), rounds_of(ranks)
        if self.allgather == "recursive_doubling":
            messages += doubling_steps(ranks, block, rounds)
        elif ranks > 1:
            ring = message(Shift(1), rounds, block, "allgather", repeat=ranks - 1)
            messages.append(ring)
        return collective(messages)


@frozen_dataclass()
class HierarchicalBroadcast(Algorithm, kind="hierarchical_broadcast"):
    """Broadcast to the first rank of each node, and then within all nodes.

    `message_bytes` is the vector, n bytes. `inter_node` brings it from rank 0 to the leaders, the
    first ranks of all nodes, and `intra_node` from them to the other ranks of their nodes.

    Parameters
    ----------
    node_ranks : int
        Ranks of a node, which are consecutive; the last node may have fewer. On a `Hierarchy` with
        block placement give those of its first level: the network is not looked at.
    intra_node, inter_node : Algorithm, dict or str
        The broadcasts within nodes and between them. A text is its kind, such as
        "chain_broadcast".

    Raises
    ------
    ValueError
        A parameter out of range; more than 2^22 ranks when the case is made.

    Notes
    -----
    It is what MPICH composes, with shared memory within nodes, and Open MPI's component han does
    with vectors of up to 64 KiB; longer ones go through it in segments.

    References
    ----------
    Luo et al., "HAN: a Hierarchical AutotuNed Collective Communication Framework", IEEE Cluster
    2020.

    Examples
    --------
    Sender and receiver of the messages on two nodes of two ranks:

    >>> [step.tolist() for step in HierarchicalBroadcast(2).message_levels(4)]
    [[[0, 2]], [[0, 1], [2, 3]]]
    """

    node_ranks: Count = Count(8, least=1, most=2**MAX_ROUNDS)
    intra_node: AlgorithmOf = AlgorithmOf("broadcast", BinomialBroadcast())
    inter_node: AlgorithmOf = AlgorithmOf("broadcast", BinomialBroadcast())

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        within, between = node_stages(self, ranks, message_bytes, message_bytes)
        return collective(numbered([between, within]))
