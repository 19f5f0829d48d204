"""Reduce to rank 0: trees, Rabenseifner's, pipelines; hierarchical, within nodes first."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..fields import frozen_dataclass, shorten
from ..steps import Listed, Range, Step, power_below
from .algorithm import MAX_ROUNDS, Algorithm
from .shared_steps import (
    AlgorithmOf,
    Count,
    Level,
    SegmentBytes,
    bine_tree,
    block_bytes,
    check_ranks,
    check_step_count,
    circulant_segments,
    collective,
    fold_in,
    gather_up,
    halving_steps,
    in_one_row,
    knomial_steps,
    message,
    node_stages,
    numbered,
    pipelined,
    segments_of,
    tree_levels,
)


@frozen_dataclass()
class BinomialReduce(Algorithm, kind="binomial_reduce"):
    """Combine vectors towards rank 0, over distances 1, 2, 4, ... (as MPICH).

    `message_bytes` is the vector, n bytes. There are N - 1 messages of n bytes, in K = log2(N)
    steps, rounded up. A rank other than rank 0 has finished when its message is sent (Thakur et al.
    2005).

    Notes
    -----
    Without noise it takes ``A + (K - 1) max(A, g + (n - 1) G)`` on 2^K ranks, with ``A = 2 o + L +
    (n - 1) G + gamma n``. Other numbers of ranks: `jitterfly.theory.collective_completion`.

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> BinomialReduce().message_levels(4)[0].tolist()
    [[1, 0], [3, 2]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        return collective(gather_up(ranks, message_bytes, combine=True))


@frozen_dataclass()
class BineReduce(Algorithm, kind="bine_reduce"):
    """Combine vectors up a binomial tree whose children are on both sides, and so nearer.

    It is the tree of `BineBroadcast` the other way, over distances 1, -1, 3, -5, 11, ... Ranks
    beyond the largest power of two P = 2^K send their vector to ``i - P`` first.

    `message_bytes` is the vector, n bytes. There are N - 1 messages of n bytes, in K steps, and one
    for the ranks beyond. A rank other than rank 0 has finished when its message is sent.
    Messages are listed, which takes memory: up to 2^22 ranks, else a ValueError when the case is
    made.

    Notes
    -----
    Without noise it takes as long as `BinomialReduce` on 2^K ranks that are alike.
    Between nodes go as many messages as of `BineBroadcast`.

    References
    ----------
    De Sensi et al., "Bine Trees: Enhancing Collective Operations by Optimizing Communication
    Locality", SC 2025.

    Examples
    --------
    Sender and receiver of the messages on four ranks, step by step:

    >>> [step.tolist() for step in BineReduce().message_levels(4)]
    [[[1, 0], [2, 3]], [[3, 0]]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        check_ranks(self, ranks)
        n = message_bytes
        steps = fold_in(ranks, n, combine=True)
        for r, edges in enumerate(reversed(bine_tree(power_below(ranks)))):
            steps.append(message(Listed(edges[:, ::-1]), r, n, f"up {r + 1}", combine=True))
        return collective(steps)


@frozen_dataclass()
class KnomialReduce(Algorithm, kind="knomial_reduce"):
    """A rank combines the vectors of ``radix - 1`` others in a row: a wider, lower tree.

    It is the tree of `KnomialBroadcast` the other way: multiples i of the radix k receive from ``i
    + 1``, ``i + 2``, ... ``i + k - 1``; then multiples of k^2 from ``i + k``, ``i + 2 k``, ...; and
    so on up to rank 0. A rank takes messages in this order. With radix 2 it is `BinomialReduce`.

    `message_bytes` is the vector, n bytes. There are N - 1 messages of n bytes, in ``(k - 1) K``
    steps with K = log(N) / log(k), rounded up. A rank other than rank 0 has finished when its
    message is sent.

    Parameters
    ----------
    radix : int
        k, from 2. With N or more, all send to rank 0.

    Raises
    ------
    ValueError
        `radix` out of range. More than 2^22 ranks, or more than 2^18 steps, when the case is made.

    Notes
    -----
    Without noise, with ``A = 2 o + L + (n - 1) G + gamma n`` and ``r = max(o + gamma n, g + (n - 1)
    G)`` between two receives of a rank, it takes ``K (A + (k - 2) r)`` on k^K ranks if no message
    waits for a link between levels. Other cases: `jitterfly.theory.collective_completion`.

    References
    ----------
    Thakur, Rabenseifner & Gropp, "Optimization of Collective Communication Operations in MPICH",
    IJHPCA 2005, for radix 2. Karp, Sahay, Santos & Schauser, "Optimal Broadcast and Summation in
    the LogP Model", SPAA 1993, for which shape is best.

    Examples
    --------
    Sender and receiver of the messages on seven ranks, step by step:

    >>> [step.tolist() for step in KnomialReduce(radix=3).message_levels(7)]
    [[[1, 0], [4, 3]], [[2, 0], [5, 3]], [[3, 0]], [[6, 0]]]
    """

    radix: Count = Count(4, least=2, most=2**MAX_ROUNDS)

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        return collective(knomial_steps(self, ranks, self.radix, message_bytes, up=True))


@frozen_dataclass()
class RabenseifnerReduce(Algorithm, kind="rabenseifner_reduce"):
    """Reduce and scatter the vector by halves; gather the blocks of the result at rank 0.

    Round r of the first half exchanges half of what is left with ``i xor 2^r``, as in
    `RabenseifnerAllreduce`. Then blocks go to rank 0 over distances P/2, P/4, ... 1: over distance
    d ranks d to 2 d - 1 send all blocks that they hold. Ranks beyond the largest power of two
    P = 2^K send their vector to ``i - P`` first (a far fold; MPICH and Open MPI fold neighbours).

    `message_bytes` is the vector, n bytes, cut into P blocks of n / P (rounded up). Rank 0 sends K
    messages, of P/2, P/4, ... 1 blocks, and receives as many twice; any other rank has finished
    when it has sent what it gathered. Unless n is 0, a block has at least one byte: with fewer
    bytes than blocks a rank sends more than an implementation would.

    Notes
    -----
    Without noise it takes ``2 K alpha + 2 (P - 1)/P n beta + (P - 1)/P n gamma`` on Hockney's
    network and P ranks. It suits long vectors on many ranks: MPICH takes it for those, as
    `reduce_scatter_gather` (Thakur et al. 2005).

    References
    ----------
    Rabenseifner, "Optimization of Collective Reduction Operations", ICCS 2004.

    Examples
    --------
    Sender and receiver of the messages on four ranks that gather the result:

    >>> [step.tolist() for step in RabenseifnerReduce().message_levels(4)][2:]
    [[[2, 0], [3, 1]], [[1, 0]]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        n, power = message_bytes, power_below(ranks)
        block, rounds = block_bytes(n, power), power.bit_length() - 1
        messages = fold_in(ranks, n, combine=True) + halving_steps(power, block)
        for r in range(rounds):
            distance = power >> r + 1
            senders = Range(distance, 2 * distance, -distance)
            messages.append(message(senders, rounds + r, block << r, f"gather {r + 1}"))
        return collective(messages)


@frozen_dataclass()
class ChainReduce(Algorithm, kind="chain_reduce"):
    """Combine each segment from rank i + 1 with that of rank i, and send it to rank i - 1.

    It is `ChainBroadcast` the other way: rank N - 1 begins, rank 0 has the result. A rank sends a
    segment before it receives the next.

    `message_bytes` is the vector, n bytes, cut into S segments of n / S bytes (rounded up), as few
    as have at most `segment_bytes`. Every rank but rank 0 sends S messages of a segment. There are
    N + S - 2 steps.

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
    Without noise it takes ``(N - 1) A + (S - 1) max(2 o + gamma b, g + (b - 1) G)`` on a LogGP
    network and more than two ranks, with b bytes of a segment and ``A = 2 o + L + (b - 1) G + gamma
    b``. It suits long vectors on few ranks. It is Open MPI's `pipeline`, and its `chain` where that
    has one branch (Pjesivac-Grbovic et al. 2007).

    Examples
    --------
    Sender and receiver of two segments on three ranks, step by step:

    >>> chain = ChainReduce(segment_bytes="4KiB")
    >>> [step.partners.pairs(3) for step in chain.steps(3, 8192) if step.partners]
    [[(2, 1)], [(1, 0), (2, 1)], [(1, 0)]]
    """

    segment_bytes: SegmentBytes = SegmentBytes()

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        segments = segments_of(message_bytes, self.segment_bytes)
        count = ranks + segments - 2 if ranks > 1 else 0
        check_step_count(self, count, "ranks must be fewer, or segment_bytes larger,")
        size, steps = block_bytes(message_bytes, segments), []
        for t in range(count):  # rank i sends segment t - (N - 1 - i)
            chain = Range(max(ranks - 1 - t, 1), min(ranks - 1 - t + segments, ranks), -1)
            steps.append(message(chain, t, size, "", combine=True))
        return collective(in_one_row(steps, "chain"))


@frozen_dataclass()
class CirculantReduce(Algorithm, kind="circulant_reduce"):
    """Send a segment from every rank in each round, over about N/2, N/4, ... 1 ranks in turn.

    It is `CirculantBroadcast` the other way: in the last round rank 0 has combined segment 0.

    `message_bytes` is the vector, n bytes, cut into S segments of n / S bytes (rounded up), as few
    as have at most `segment_bytes`. There are S + q - 1 rounds, q = log2(N), rounded up. A rank
    other than rank 0 has finished when its last message is sent.

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
    a round. It is `circ_graph` of MPICH's development branch, for operations that commute.

    References
    ----------
    Träff, "Optimal Broadcast Schedules in Logarithmic Time with Applications to Broadcast,
    All-Broadcast, Reduction and All-Reduction", ACM Transactions on Parallel Computing 2025.

    Examples
    --------
    Sender and receiver of two segments on three ranks, step by step:

    >>> steps = CirculantReduce(segment_bytes="4KiB").steps(3, 8192)
    >>> [step.partners.pairs(3) for step in steps if step.partners]
    [[(1, 2), (2, 0)], [(1, 0)], [(2, 0)]]
    """

    segment_bytes: SegmentBytes = SegmentBytes()

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        pairs, size = circulant_segments(self, ranks, message_bytes, self.segment_bytes)
        steps = [
            message(Listed(edges[:, ::-1]), t, size, "", combine=True)
            for t, edges in enumerate(reversed(pairs))
        ]
        return collective(in_one_row(steps, "circulant graph"))


@frozen_dataclass()
class BinaryTreeReduce(Algorithm, kind="binary_tree_reduce"):
    """Combine the vectors of a rank's two children with its own, and send that to its parent.

    Of the tree's levels, with 1, 2, 4, ... ranks in the order of their numbers, the children of
    rank i in one of d ranks are ``i + d`` and ``i + 2 d``. With `in_order` a subtree has
    consecutive ranks instead, of which the last is its root and the upper half of the others its
    first child's, so that operations that do not commute keep their order; rank N - 1 sends the
    result to rank 0.

    `message_bytes` is the vector, n bytes, cut into S segments of n / S bytes (rounded up), as few
    as have at most `segment_bytes`. A rank receives a segment from one child and then from the
    other, and sends it on before it receives the next: at most ``2 (log2(N) + S)`` steps.

    Parameters
    ----------
    segment_bytes : int or str
        The most bytes of a segment, from 1; text such as ``"8KiB"`` is read. With n or more, whole
        vectors are sent.
    in_order : bool
        Whether vectors are combined in the order of ranks.

    Raises
    ------
    ValueError
        `segment_bytes` or `in_order` out of range; more than 2^22 ranks, or about 2^17 segments,
        when the case is made.

    Notes
    -----
    On a quiet machine each further segment takes as long as two receives and a send, or as the link
    needs for two. So it is between `BinomialReduce`, for short vectors, and `ChainReduce`, for long
    ones on few ranks. It is Open MPI's `binary`, and its `in-order_binary` (Pjesivac-Grbovic et al.
    2007).

    Examples
    --------
    Sender and receiver of the messages on five ranks, step by step:

    >>> [step.tolist() for step in BinaryTreeReduce().message_levels(5)]
    [[[3, 1]], [[1, 0], [4, 2]], [[2, 0]]]
    >>> [step.tolist() for step in BinaryTreeReduce(in_order=True).message_levels(5)]
    [[[2, 3]], [[0, 1], [3, 4]], [[1, 4]], [[4, 0]]]
    """

    segment_bytes: SegmentBytes = SegmentBytes()
    in_order: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.in_order, bool):
            raise ValueError(f"in_order must be true or false, got {shorten(self.in_order)}")

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        check_ranks(self, ranks)
        segments = segments_of(message_bytes, self.segment_bytes)
        check_step_count(self, 2 * segments, "segment_bytes must be larger")
        if ranks == 1:
            return collective([])
        # Counted back from the end, a rank sends in step down[i], and receives right before that.
        down, parent = np.zeros(ranks, np.int64), np.zeros(ranks, np.int64)
        for child, above, before in self.levels(ranks):
            down[child], parent[child] = down[above] + before, above
        child = np.delete(np.arange(ranks), ranks - 1 if self.in_order else 0)
        edges, size = np.stack([child, parent[child]], axis=1), block_bytes(message_bytes, segments)
        first = down.max() - down[child]
        steps = pipelined(edges, first, segments, 0, size, "binary tree", combine=True)
        if self.in_order:
            root, draw = Range(ranks - 1, ranks, 1 - ranks), int(down.max()) + 2 * segments - 2
            steps.append(message(root, draw, message_bytes, "to rank 0"))
        return collective(steps)

    def levels(self, ranks: int) -> Iterator[Level]:
        """The levels of the tree from the root down; 2: a child that sends before another one."""
        return _in_order_levels(ranks) if self.in_order else tree_levels(ranks)


def _in_order_levels(ranks: int) -> Iterator[Level]:
    """The levels of a tree whose subtrees are consecutive ranks, of which the last is the root."""
    begin, size = np.zeros(1, np.int64), np.full(1, ranks)
    while (size > 1).any():
        begin, size = begin[size > 1], size[size > 1]
        below, root = size // 2, begin + size - 1
        two = size > 2
        # The first child has the upper ranks; of two ranks it is the lower one.
        starts = np.concatenate([np.where(two, begin + below, begin), begin[two]])
        sizes = np.concatenate([np.where(two, size - below - 1, 1), below[two]])
        before = np.concatenate([np.where(two, 2, 1), np.ones_like(size[two])])
        yield starts + sizes - 1, np.concatenate([root, root[two]]), before
        begin, size = starts, sizes


@frozen_dataclass()
class HierarchicalReduce(Algorithm, kind="hierarchical_reduce"):
    """Reduce within each node to its first rank, and then between these to rank 0.

    `message_bytes` is the vector, n bytes. It is `HierarchicalBroadcast` the other way.

    Parameters
    ----------
    node_ranks : int
        Ranks of a node, which are consecutive; the last node may have fewer. On a `Hierarchy` with
        block placement give those of its first level: the network is not looked at.
    intra_node, inter_node : Algorithm, dict or str
        The reductions within nodes and between their first ranks. A text is its kind, such as
        "rabenseifner_reduce".

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

    >>> [step.tolist() for step in HierarchicalReduce(2).message_levels(4)]
    [[[1, 0], [3, 2]], [[2, 0]]]
    """

    node_ranks: Count = Count(8, least=1, most=2**MAX_ROUNDS)
    intra_node: AlgorithmOf = AlgorithmOf("reduce", BinomialReduce())
    inter_node: AlgorithmOf = AlgorithmOf("reduce", BinomialReduce())

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        within, between = node_stages(self, ranks, message_bytes, message_bytes)
        return collective(numbered([within, between]))
