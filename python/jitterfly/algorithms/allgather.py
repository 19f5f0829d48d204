"""Allgather (allgatherv): recursive doubling, Bruck's, PAT, Bine, rings, in parts, in nodes."""

from __future__ import annotations

import numpy as np

from ..fields import frozen_dataclass
from ..steps import MAX_WINDOW, Listed, Shift, Step, power_below, rounds_of
from .algorithm import MAX_ROUNDS, Algorithm, Irregular
from .broadcast import BinomialBroadcast
from .gather_scatter import BinomialGather, LinearGatherv
from .shared_steps import (
    MAX_PAIRED_RANKS,
    MAX_RADIX,
    AlgorithmOf,
    Count,
    SegmentBytes,
    all_sent_first,
    block_bytes,
    bytes_of_counts,
    check_ranks,
    check_segments,
    check_step_count,
    circulant_rounds,
    collective,
    doubling_steps,
    fold_in,
    fold_out,
    in_one_row,
    leaders_of,
    message,
    message_steps,
    nodes_of,
    numbered,
    shifts_at_once,
    stage,
    swing_blocks,
    swing_partners,
    swings,
    tree_blocks,
)


@frozen_dataclass()
class RecursiveDoublingAllgather(Algorithm, kind="recursive_doubling_allgather"):
    """Rank i exchanges all that it holds with rank ``i xor 2^r`` in round r.

    Ranks beyond the largest power of two P = 2^K send their block to ``i - P`` first, and get the N
    - 1 blocks that they lack at the end. Some groups of ranks then hold blocks of such ranks as
    well and others do not: every message of a round takes as long as the longest of that round,
    ``2^r + min(2^r, N - P)`` blocks. So numbers of ranks other than P cost a little more than they
    must. (MPICH takes recursive doubling for powers of two only, and `BruckAllgather` else.)

    `message_bytes` is what one rank contributes, n bytes. On P ranks a rank sends K messages, of 1,
    2, 4, ... blocks of n bytes; the fold adds two (Thakur et al. 2005).

    Notes
    -----
    Without noise it takes ``K alpha + (P - 1) n beta`` on Hockney's network and P ranks.

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> RecursiveDoublingAllgather().message_levels(4)[0].tolist()
    [[0, 1], [1, 0], [2, 3], [3, 2]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        return collective(doubling_steps(ranks, message_bytes))


@frozen_dataclass()
class BruckAllgather(Algorithm, kind="bruck_allgather"):
    """Rank i sends all that it holds to rank ``i - 2^r`` (modulo N) in round r.

    In the last round it sends only what that rank still lacks. With `radix` k it sends the ``k^r``
    blocks that it holds in round r to ranks ``i - k^r``, ``i - 2 k^r``, ..., one after the other,
    without waiting, and then receives from as many.

    `message_bytes` is what one rank contributes, n bytes. A rank sends K = log2(N) messages,
    rounded up, of 1, 2, 4, ... blocks of n bytes, the last of ``N - 2^(K-1)``; there is no fold.
    The time to sort the blocks in memory at the end is not counted.

    Parameters
    ----------
    radix : int
        k, from 2 to 256.

    Raises
    ------
    ValueError
        `radix` out of range.

    Notes
    -----
    Without noise it takes ``K alpha + (N - 1) n beta`` on Hockney's network, for every N (Bruck et
    al. 1997). MPICH takes it for short messages where the number of ranks is not a power of two.
    With a radix it is its `k_brucks`, of 2 unless `MPIR_CVAR_ALLGATHER_BRUCKS_KVAL` is set, and
    `bruck-k-fanout` of Open MPI's development branch.

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> BruckAllgather().message_levels(4)[0].tolist()
    [[0, 3], [1, 0], [2, 1], [3, 2]]
    """

    added = ("radix",)

    radix: Count = Count(2, least=2, most=MAX_RADIX)

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        def size(stride: int, times: int) -> int:
            return min(stride, ranks - times * stride) * message_bytes

        return collective(shifts_at_once(ranks, self.radix, size, back=True))


@frozen_dataclass()
class RingAllgather(Algorithm, kind="ring_allgather"):
    """Rank i sends to rank i + 1 the block that it received last, N - 1 times.

    `message_bytes` is what one rank contributes, n bytes. A rank sends N - 1 messages of n bytes.

    Notes
    -----
    Without noise it takes ``A + (N - 2) max(A, g + (n - 1) G)``, with A the time of one message.
    Partners are neighbours, which suits long messages (Thakur et al. 2005).

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> RingAllgather().message_levels(4)[0].tolist()
    [[0, 1], [1, 2], [2, 3], [3, 0]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        ring = message(Shift(1), 0, message_bytes, "ring", repeat=max(ranks - 1, 1))
        return collective([ring] if ranks > 1 else [])


@frozen_dataclass()
class NeighborExchangeAllgather(Algorithm, kind="neighbor_exchange_allgather"):
    """Exchange blocks with the rank on one side and with the one on the other side, in turn.

    First even ranks exchange their block with rank ``i + 1``. Then pairs of blocks go on: even
    ranks exchange with rank ``i - 1``, then with ``i + 1`` again, and so on (modulo N); a rank
    sends the pair that it received last, and first the one that it has made. On odd numbers of
    ranks it is `RingAllgather`, as in Open MPI.

    `message_bytes` is what one rank contributes, n bytes. A rank sends N / 2 messages, the first of
    n bytes, all others of 2 n. Messages are listed and there are N / 2 steps, which takes memory:
    up to 2^19 ranks if they are even, else a ValueError when the case is made.

    Notes
    -----
    Without noise it takes ``N/2 alpha + (N - 1) n beta`` on Hockney's network and even N: half of
    the messages of a ring, to neighbours as well. It is Open MPI's `neighbor`.

    References
    ----------
    Chen, Zhang, Zhang & Yuan, "Performance evaluation of Allgather algorithms on terascale Linux
    cluster with Fast Ethernet", HPC-Asia 2005.

    Examples
    --------
    Sender and receiver of the messages on four ranks, step by step:

    >>> [step.tolist() for step in NeighborExchangeAllgather().message_levels(4)]
    [[[0, 1], [1, 0], [2, 3], [3, 2]], [[0, 3], [1, 2], [2, 1], [3, 0]]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        if ranks % 2:
            return RingAllgather().steps(ranks, message_bytes)
        check_step_count(self, ranks // 2, "ranks must be fewer")
        sides = _sides(ranks)
        steps = [
            message(sides[r % 2], r, (2 if r else 1) * message_bytes, "") for r in range(ranks // 2)
        ]
        return collective(in_one_row(steps, "neighbor exchange"))


def _sides(ranks: int) -> list[Listed]:
    """The messages to neighbours on even numbers of ranks: of even ranks to i + 1, to i - 1."""
    rank = np.arange(ranks)
    right, left = (rank + 1) % ranks, (rank - 1) % ranks
    return [
        Listed(np.stack([rank, np.where(rank % 2 == turn, right, left)], axis=1)) for turn in (0, 1)
    ]


@frozen_dataclass()
class RingAllgatherv(Irregular, kind="ring_allgatherv"):
    """Send to rank i + 1 the block that was received last, N - 1 times; blocks differ in size.

    It is `RingAllgather` with a count for each rank: in step s rank i sends the block of rank ``i -
    s`` (modulo N). The largest block goes around, and holds up one rank after the other.

    `message_bytes` is one element, as MPI's datatype: a block has a count of them. An empty block
    is sent, as Open MPI does, and costs as much as the smallest message that the network knows.
    Messages are listed, which takes memory: up to 8192 ranks, else a ValueError when the case is
    made.

    Notes
    -----
    It is Open MPI's `ring`. MPICH's `ring` skips empty blocks, and sends those of more than 32 KiB
    in parts. With equal counts it takes as long as `RingAllgather`.

    Examples
    --------
    Bytes that ranks 0, 1 and 2 send, step by step:

    >>> steps = RingAllgatherv([1, 2, 3]).steps(3, 8)
    >>> [step.sizes(3).tolist() for step in steps if step.partners]
    [[8, 16, 24], [24, 8, 16]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        check_ranks(self, ranks, MAX_PAIRED_RANKS)
        sizes = bytes_of_counts(self.counts.of_ranks(ranks), message_bytes)
        steps = [message(Shift(1), s, np.roll(sizes, s), "") for s in range(ranks - 1)]
        return collective(in_one_row(steps, "ring"))


@frozen_dataclass()
class BruckAllgatherv(Irregular, kind="bruck_allgatherv"):
    """Send all that is held to rank ``i - 2^r`` (modulo N) in round r; blocks differ in size.

    It is `BruckAllgather` with a count for each rank: in round r rank i sends the blocks of ranks
    i, i + 1, ..., 2^r of them, and in the last one those that are still lacking.

    `message_bytes` is one element, as MPI's datatype: a block has a count of them. A message
    without bytes is sent, as both libraries do unless all counts are 0, and costs as much as the
    smallest that the network knows. Messages are listed, which takes memory: up to 2^22 ranks, else
    a ValueError when the case is made.

    Notes
    -----
    It is Open MPI's `bruck` and MPICH's `brucks` (Bruck et al. 1997). With equal counts it takes as
    long as `BruckAllgather`.

    Examples
    --------
    Bytes that ranks 0, 1 and 2 send, step by step:

    >>> steps = BruckAllgatherv([1, 2, 3]).steps(3, 8)
    >>> [step.sizes(3).tolist() for step in steps if step.partners]
    [[8, 16, 24], [8, 16, 24]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        check_ranks(self, ranks)
        sizes = bytes_of_counts(self.counts.of_ranks(ranks), message_bytes)
        before = np.concatenate([[0], np.cumsum(np.tile(sizes, 2))])  # of the ranks before each
        steps = []
        for r in range(rounds_of(ranks)):
            blocks = min(1 << r, ranks - (1 << r))
            held = before[blocks : blocks + ranks] - before[:ranks]
            steps.append(message(Shift(ranks - (1 << r)), r, held, f"round {r + 1}"))
        return collective(steps)


@frozen_dataclass()
class NeighborExchangeAllgatherv(Irregular, kind="neighbor_exchange_allgatherv"):
    """Exchange blocks of different sizes with the rank on one side and on the other, in turn.

    It is `NeighborExchangeAllgather` with a count for each rank; on odd numbers of ranks it is
    `RingAllgatherv`, as in Open MPI.

    `message_bytes` is one element, as MPI's datatype: a block has a count of them. A message
    without bytes is sent, as Open MPI does, and costs as much as the smallest that the network
    knows. Messages are listed, which takes memory: up to 8192 ranks, else a ValueError when the
    case is made.

    Notes
    -----
    It is Open MPI's `neighbor`. With equal counts it takes as long as `NeighborExchangeAllgather`.

    Examples
    --------
    Bytes that ranks 0 to 3 send, step by step:

    >>> steps = NeighborExchangeAllgatherv([1, 2, 3, 4]).steps(4, 8)
    >>> [step.sizes(4).tolist() for step in steps if step.partners]
    [[8, 16, 24, 32], [24, 24, 56, 56]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        if ranks % 2:
            return RingAllgatherv(self.counts).steps(ranks, message_bytes)
        check_ranks(self, ranks, MAX_PAIRED_RANKS)
        sizes = bytes_of_counts(self.counts.of_ranks(ranks), message_bytes)
        rank, sides = np.arange(ranks), _sides(ranks)
        of_pairs = sizes.reshape(-1, 2).sum(axis=1)
        steps = [message(sides[0], 0, sizes, "")]
        held = rank // 2  # the pair of blocks that a rank has made, or received last
        for r in range(1, ranks // 2):
            steps.append(message(sides[r % 2], r, of_pairs[held], ""))
            held = held[sides[r % 2].messages[:, 1]]  # of the rank that it exchanges with
        return collective(in_one_row(steps, "neighbor exchange"))


@frozen_dataclass()
class LinearAllgatherv(Irregular, kind="linear_allgatherv"):
    """Gather blocks of different sizes to rank 0, one after the other, and broadcast all of them.

    `message_bytes` is one element, as MPI's datatype: a block has a count of them. An empty block
    is not sent to rank 0.

    Parameters
    ----------
    broadcast : Algorithm, dict or str
        Of all blocks together. A text is its kind, such as "chain_broadcast".

    Notes
    -----
    It is Open MPI's `default`, which chooses the broadcast anew.

    Examples
    --------
    Sender and receiver of the messages on three ranks, step by step:

    >>> [step.tolist() for step in LinearAllgatherv([1, 2, 3]).message_levels(3)]
    [[[1, 0]], [[2, 0]], [[0, 2]], [[0, 1]]]
    """

    broadcast: AlgorithmOf = AlgorithmOf("broadcast", BinomialBroadcast())

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        up = message_steps(LinearGatherv(self.counts), "gather", ranks, message_bytes)
        total = int(self.counts.of_ranks(ranks).sum()) * message_bytes
        down = message_steps(self.broadcast, "broadcast", ranks, total) if total else []
        return collective(numbered([in_one_row(up, "gather"), in_one_row(down, "broadcast")]))


@frozen_dataclass()
class PatAllgather(Algorithm, kind="pat_allgather"):
    """Send blocks down binomial trees, one from each rank, shifted against each other.

    Over the distances ..., 4, 2, 1 rank i sends to ``i + d`` (modulo N) all blocks whose tree goes
    that way: its own, and those that came over multiples of 2 d, if they are for fewer than N ranks
    on. So the fewest blocks go to the farthest ranks, against `BruckAllgather`, whose last messages
    are the longest and go farthest.

    `message_bytes` is what one rank contributes, n bytes. A rank sends K = log2(N) messages,
    rounded up, of 1, 2, 4, ... blocks where N is a power of two.

    Notes
    -----
    Without noise it takes ``K alpha + (N - 1) n beta`` on Hockney's network, for every N. It is
    NCCL's `PAT` (parallel aggregated trees) where its buffers hold the blocks of a message; longer
    messages NCCL sends in parts.

    References
    ----------
    Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale",
    arXiv:2506.20252, 2025.

    Examples
    --------
    Distance and bytes of each message on six ranks, where blocks are one byte:

    >>> [(step.partners.distance, step.bytes) for step in PatAllgather().steps(6, 1)[1:]]
    [(4, 1), (2, 1), (1, 3)]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        distances = [1 << r for r in reversed(range(rounds_of(ranks)))]
        return collective([
            message(Shift(d), r, tree_blocks(ranks, d) * message_bytes, f"round {r + 1}")
            for r, d in enumerate(distances)
        ])  # fmt: skip


@frozen_dataclass()
class SparbitAllgather(Algorithm, kind="sparbit_allgather"):
    """Send each block down a binomial tree from its rank, in messages of its own.

    It has the trees of `PatAllgather`, over the distances ..., 4, 2, 1. What a rank sends over one
    of them are blocks that do not lie side by side in memory: it sends each by itself, one after
    the other, without waiting, and then receives as many. So no block is copied.

    `message_bytes` is what one rank contributes, n bytes. A rank sends N - 1 messages of n bytes,
    in log2(N) rounds, rounded up; from 1024 messages of a round on it receives before it sends on.
    There are as many steps, which take memory: up to 2^17 + 1 ranks, else a ValueError when the
    case is made.

    Notes
    -----
    A rank takes the messages of a round in a fixed order. Where links and memory do not matter, it
    takes as many latencies as `PatAllgather`, and more CPU time. It is Open MPI's `sparbit`.

    References
    ----------
    Loch & Koslovski, "Sparbit: a new logarithmic-cost and data locality-aware MPI Allgather
    algorithm", SBAC-PAD 2021.

    Examples
    --------
    Distance of each message on six ranks, in the order in which they are sent:

    >>> steps = SparbitAllgather().steps(6, 1)
    >>> [step.partners.distance for step in steps if step.partners and step.sends]
    [4, 2, 1, 1, 1]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        check_step_count(self, 2 * (ranks - 1), "ranks must be fewer")
        steps: list[Step] = []
        draw = 0
        for r, d in enumerate(1 << r for r in reversed(range(rounds_of(ranks)))):
            blocks = [
                message(Shift(d), draw + turn, message_bytes, "")
                for turn in range(tree_blocks(ranks, d))
            ]
            draw += len(blocks)
            at_once = [
                step
                for first in range(0, len(blocks), MAX_WINDOW)
                for step in all_sent_first(blocks[first : first + MAX_WINDOW])
            ]
            steps += in_one_row(at_once, f"round {r + 1}")
        return collective(steps)


@frozen_dataclass()
class GatherBroadcastAllgather(Algorithm, kind="gather_broadcast_allgather"):
    """Gather all blocks at rank 0, then broadcast them from there.

    `message_bytes` is what one rank contributes, n bytes: N n bytes are broadcast.

    Parameters
    ----------
    gather, broadcast : Algorithm, dict or str
        What is done one after the other. A text is its kind, such as "linear_gather".

    Raises
    ------
    ValueError
        A parameter that is no such algorithm, or does not fit the case, when that is made.

    Notes
    -----
    Without noise it takes as long as both together. It is Open MPI's `linear`, which chooses both
    parts anew (Pjesivac-Grbovic et al. 2007).

    Examples
    --------
    Sender and receiver of the messages on three ranks, step by step:

    >>> [step.tolist() for step in GatherBroadcastAllgather().message_levels(3)]
    [[[1, 0]], [[2, 0]], [[0, 2]], [[0, 1]]]
    """

    gather: AlgorithmOf = AlgorithmOf("gather", BinomialGather())
    broadcast: AlgorithmOf = AlgorithmOf("broadcast", BinomialBroadcast())

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        up = message_steps(self.gather, "gather", ranks, message_bytes)
        down = message_steps(self.broadcast, "broadcast", ranks, ranks * message_bytes)
        return collective(numbered([in_one_row(up, "gather"), in_one_row(down, "broadcast")]))


@frozen_dataclass()
class CirculantAllgather(Algorithm, kind="circulant_allgather"):
    """Broadcast every rank's block over the same circulant graph, shifted to begin at that rank.

    In a round rank i sends to ``i + d`` (modulo N) a segment of each block that, from the block's
    rank, `CirculantBroadcast` would send there, in one message.

    `message_bytes` is what one rank contributes, n bytes, cut into S segments of n / S bytes
    (rounded up), as few as have at most `segment_bytes`. There are S + q - 1 rounds, q = log2(N),
    rounded up, of up to N - 1 segments.

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
    Without noise it takes ``q alpha + (N - 1) n beta`` on Hockney's network and one segment, for
    every N: it is then `BruckAllgather` with distances that halve N. It is `circ_graph` of MPICH's
    development branch, which sends each segment by itself.

    References
    ----------
    Träff, "Optimal Broadcast Schedules in Logarithmic Time with Applications to Broadcast,
    All-Broadcast, Reduction and All-Reduction", ACM Transactions on Parallel Computing 2025.

    Examples
    --------
    Distance and bytes of each message on six ranks, where blocks are one byte:

    >>> [(step.partners.distance, step.bytes) for step in CirculantAllgather().steps(6, 1)[1:]]
    [(1, 1), (2, 1), (3, 3)]
    """

    segment_bytes: SegmentBytes = SegmentBytes()

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        segments = check_segments(self, ranks, message_bytes, self.segment_bytes)
        size = block_bytes(message_bytes, segments)
        steps = [
            message(Shift(distance), t, int(np.count_nonzero(receives)) * size, "")
            for t, (distance, receives) in enumerate(circulant_rounds(ranks, segments))
        ]
        return collective(in_one_row(steps, "circulant graph"))


@frozen_dataclass()
class BineAllgather(Algorithm, kind="bine_allgather"):
    """Exchange all that is held with partners on both sides, the farthest first.

    Even ranks exchange with rank ``i + d``, odd ones with ``i - d`` (modulo P), over the distances
    ..., 11, -5, 3, -1, 1 of `BineBroadcast`. Ranks beyond the largest power of two P = 2^K send
    their block to ``i - P`` first, and get the N - 1 blocks that they lack at the end. Every
    message of a round takes as long as the longest of that round.

    `message_bytes` is what one rank contributes, n bytes. On P ranks a rank sends K messages, of 1,
    2, 4, ... blocks of n bytes, the fewest farthest; the fold adds two. Messages are listed, which
    takes memory: up to 2^22 ranks, else a ValueError when the case is made.

    Notes
    -----
    Without noise it takes ``K alpha + (P - 1) n beta`` on Hockney's network and P
    ranks. Between nodes of 10 of 256 ranks go 0.18 times as many bytes as with
    `RecursiveDoublingAllgather`, whose longest messages go farthest, and 0.66 times as many as with
    `PatAllgather`. Copies in memory that bring blocks in order are not counted.

    References
    ----------
    De Sensi et al., "Bine Trees: Enhancing Collective Operations by Optimizing Communication
    Locality", SC 2025.

    Examples
    --------
    Sender and receiver of the messages on four ranks, step by step:

    >>> [step.tolist() for step in BineAllgather().message_levels(4)]
    [[[0, 3], [1, 2], [2, 1], [3, 0]], [[0, 1], [1, 0], [2, 3], [3, 2]]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        check_ranks(self, ranks)
        n, messages = message_bytes, fold_in(ranks, message_bytes, combine=False)
        rounds = zip(swing_partners(power_below(ranks)), swing_blocks(ranks), strict=True)
        for r, (partners, blocks) in enumerate(reversed(list(rounds))):
            messages.append(message(swings(partners), r, blocks * n, f"round {r + 1}"))
        return collective(messages + fold_out(ranks, (ranks - 1) * n))


@frozen_dataclass()
class HierarchicalAllgather(Algorithm, kind="hierarchical_allgather"):
    """Gather within each node, allgather between their first ranks, broadcast within each node.

    `message_bytes` is what one rank contributes, n bytes: a block between nodes has that of all
    ranks of one, and in the end all N n bytes are broadcast.

    Parameters
    ----------
    node_ranks : int
        Ranks of a node, which are consecutive. On a `Hierarchy` with block placement give those of
        its first level: the network is not looked at. The last node may have fewer; between nodes
        its blocks then take as long as those of a whole one.
    gather, inter_node, broadcast : Algorithm, dict or str
        The gather within nodes, the allgather between their first ranks, the broadcast within
        nodes. A text is its kind, such as "ring_allgather".

    Raises
    ------
    ValueError
        A parameter out of range; more than 2^22 ranks when the case is made.

    Notes
    -----
    Open MPI's component han does this on nodes of equal sizes, with the algorithms that tuned
    chooses.

    References
    ----------
    Luo et al., "HAN: a Hierarchical AutotuNed Collective Communication Framework", IEEE Cluster
    2020.

    Examples
    --------
    Sender and receiver of the messages on two nodes of two ranks:

    >>> [step.tolist() for step in HierarchicalAllgather(2).message_levels(4)]
    [[[1, 0], [3, 2]], [[0, 2], [2, 0]], [[0, 1], [2, 3]]]
    """

    node_ranks: Count = Count(8, least=1, most=2**MAX_ROUNDS)
    gather: AlgorithmOf = AlgorithmOf("gather", BinomialGather())
    inter_node: AlgorithmOf = AlgorithmOf("allgather", RecursiveDoublingAllgather())
    broadcast: AlgorithmOf = AlgorithmOf("broadcast", BinomialBroadcast())

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        check_ranks(self, ranks)
        n, width = message_bytes, min(self.node_ranks, ranks)
        nodes, leaders = nodes_of(ranks, width), leaders_of(ranks, width)
        stages = [
            stage(self.gather, "gather", "gather", n, nodes),
            stage(self.inter_node, "inter_node", "inter-node", width * n, leaders),
            stage(self.broadcast, "broadcast", "broadcast", ranks * n, nodes),
        ]
        return collective(numbered(stages))
