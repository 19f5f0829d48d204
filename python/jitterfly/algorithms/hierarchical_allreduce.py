"""Hierarchical allreduce: trees or rings in nodes, any between them; and in-network collectives."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..fields import Converted, check_choice, check_integer, frozen_dataclass
from ..steps import Listed, PairArray, Partners, Shift, Step, Switch, rounds_of
from ..units import ShortSeconds, to_ticks
from .algorithm import MAX_LISTED_RANKS, MAX_ROUNDS, Algorithm
from .allreduce import NcclTreeAllreduce, RecursiveDoublingAllreduce
from .shared_steps import (
    AlgorithmOf,
    Count,
    SegmentBytes,
    all_sent_first,
    block_bytes,
    check_ranks,
    collective,
    in_groups,
    in_one_row,
    message,
    message_steps,
    numbered,
)


@frozen_dataclass()
class HierarchicalAllreduce(Algorithm, kind="hierarchical_allreduce"):
    """Reduce within each node, allreduce between nodes, spread the result within each node.

    `message_bytes` is the vector, n bytes. With ``intra_node="tree"`` it goes up a binomial tree of
    a node's m ranks to the node's leader and down again, in log2(m) steps each, rounded up. With
    several leaders, each has a part of the vector: the parts go up one after the other, cross the
    machine side by side, and go down one after the other.

    With ``intra_node="ring"`` the m ranks of a node reduce-scatter the vector around a ring, in m -
    1 steps with blocks of n / m bytes, and allgather it around the ring in the end. So each rank
    leads a block.

    Parameters
    ----------
    node_ranks : int
        Ranks of a node, which are consecutive. On a `Hierarchy` with block placement give those of
        its first level: the network is not looked at. The last node may have fewer, unless they
        form rings.
    leaders : int
        Leaders of a node, each for a part of ``n / leaders`` bytes, rounded up: the first ranks of
        the node. From 1 to the ranks of the smallest node; 1 with ``intra_node="ring"``, where all
        lead.
    intra_node : str
        How the ranks of a node combine: "tree" or "ring".
    inter_node : Algorithm, dict or str
        The allreduce of the leaders: those with the same number in their nodes take part in one.
        A text is its kind, such as "ring_allreduce". It can be hierarchical itself: its nodes are
        then groups of nodes. It makes no redundant exchanges.

    Raises
    ------
    ValueError
        A parameter out of range; `leaders` beyond those of the last node, rings in nodes of
        different sizes, or more than 2^22 ranks, when the case is made.

    Notes
    -----
    Open MPI's component han and MPICH's two-level algorithms have the shape of trees. Only one rank
    of a node sends between nodes at a time, or `leaders` of them. With one leader and recursive
    doubling between nodes it is no faster on a flat network than recursive doubling alone. Rings
    within and between nodes suit the long vectors of training: a link between nodes carries each
    rank's share only, and the ring between nodes is m times shorter than one of all ranks.

    References
    ----------
    Luo et al., "HAN: a Hierarchical AutotuNed Collective Communication Framework", IEEE Cluster
    2020. Bayatpour et al., "Scalable Reduction Collectives with Data Partitioning-based
    Multi-Leader Design", SC 2017. Cho et al., "BlueConnect: Decomposing All-Reduce for Deep
    Learning on Heterogeneous Network Hierarchy", MLSys 2019.

    Examples
    --------
    Sender and receiver of the messages on two nodes of two ranks:

    >>> [level.tolist() for level in HierarchicalAllreduce(2).message_levels(4)]
    [[[1, 0], [3, 2]], [[0, 2], [2, 0]], [[0, 1], [2, 3]]]
    >>> rings = HierarchicalAllreduce(2, intra_node="ring", inter_node="ring_allreduce")
    >>> [level.tolist() for level in rings.message_levels(4)][:2]
    [[[0, 1], [1, 0], [2, 3], [3, 2]], [[0, 2], [2, 0], [1, 3], [3, 1]]]
    """

    added = ("intra_node", "inter_node")

    node_ranks: Converted[int, int] = Converted("int", 8)
    leaders: Converted[int, int] = Converted("int", 1)
    intra_node: Literal["tree", "ring"] = "tree"
    inter_node: AlgorithmOf = AlgorithmOf(
        "allreduce", RecursiveDoublingAllreduce(), "RingAllreduce"
    )

    def __post_init__(self) -> None:
        most = 2**MAX_ROUNDS
        put = object.__setattr__
        put(self, "node_ranks", check_integer(self.node_ranks, "node_ranks", 1, most))
        check_choice(self.intra_node, "intra_node", ("tree", "ring"))
        put(self, "leaders", check_integer(self.leaders, "leaders", 1, self.node_ranks))
        if self.intra_node == "ring" and self.leaders != 1:
            raise ValueError(
                "leaders must be 1 with intra_node = 'ring', in which every rank leads a block, "
                f"got {self.leaders}"
            )

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        check_ranks(self, ranks)
        width, ring = min(self.node_ranks, ranks), self.intra_node == "ring"
        smallest = ranks % width or width
        if ring and smallest < width:
            raise ValueError(
                "ranks must be a multiple of node_ranks where intra_node is 'ring': a block of a "
                f"smaller node would be another one, got {ranks} ranks, {width} in a node"
            )
        if self.leaders > smallest:
            raise ValueError(
                f"leaders must be from 1 to {smallest}, the ranks of the smallest node here "
                f"({ranks} ranks, {width} in a node), got {self.leaders}"
            )
        leaders = width if ring else self.leaders
        size = block_bytes(message_bytes, leaders)
        if ring:
            up, down = _rings(ranks, width, size)
        else:
            up, down = _trees(ranks, width, leaders, size)
        across = self._across(-(-ranks // width), width, leaders, size)
        return collective(numbered([up, across, down]))

    def _across(self, nodes: int, width: int, leaders: int, size: int) -> list[Step]:
        """The steps of `inter_node` among the leaders of the nodes."""
        try:
            inside = message_steps(self.inter_node, "inter_node", nodes, size)
        except ValueError as error:
            raise ValueError(f"inter_node, whose ranks are the {nodes} nodes: {error}") from None
        members = np.arange(leaders)[:, np.newaxis] + width * np.arange(nodes)
        steps = in_groups(inside, members)
        if self.inter_node == RecursiveDoublingAllreduce():
            return steps
        # Else a label could be that of one of the steps within nodes.
        return [
            step._replace(label=f"inter-node {step.label}") if step.label else step
            for step in steps
        ]


def _trees(ranks: int, width: int, leaders: int, size: int) -> tuple[list[Step], list[Step]]:
    """The steps up to the leaders of all nodes, for one leader after the other; and down again."""
    up: list[Step] = []
    down: list[Step] = []
    for leader in range(leaders):
        part = f", part {leader + 1}" if leaders > 1 else ""
        trees = [_tree_level(ranks, width, leader, 1 << r) for r in range(rounds_of(width))]
        for r, tree in enumerate(trees, 1):
            up.append(message(Listed(tree), len(up), size, f"up {r}{part}", combine=True))
        for r, tree in enumerate(trees[::-1], 1):
            down.append(message(Listed(tree[:, ::-1]), len(down), size, f"down {r}{part}"))
    return up, down


def _tree_level(ranks: int, width: int, leader: int, stride: int) -> PairArray:
    """A step up the binomial trees of all nodes, whose root is rank `leader` of its node.

    Places in a tree count from the root, around the node.
    """
    rank = np.arange(ranks)
    first = rank - rank % width
    size = np.minimum(width, ranks - first)
    place = (rank - first - leader) % size
    sends = place % (2 * stride) == stride
    to = first + (place - stride + leader) % size
    return np.stack([rank[sends], to[sends]], axis=1)


def _rings(ranks: int, width: int, size: int) -> tuple[list[Step], list[Step]]:
    """Reduce-scatter and allgather around the ring of each node: in the end rank i leads block
    ``i + 1`` (modulo `width`), as in `RingAllreduce`.
    """
    if width == 1:
        return [], []
    rank = np.arange(ranks)
    first = rank - rank % width
    ring = Listed(np.stack([rank, first + (rank - first + 1) % width], axis=1))
    turns = width - 1
    up = message(ring, 0, size, "intra-node reduce-scatter", combine=True, repeat=turns)
    return [up], [message(ring, 0, size, "intra-node allgather", repeat=turns)]


@frozen_dataclass()
class InNetworkAllreduce(Algorithm, kind="in_network_allreduce"):
    """Let switches combine: NCCL's CollNetDirect, CollNetChain, NVLS and NVLSTree.

    Where switches combine, a rank posts its data, and waits. The switches have the result when the
    data of the last rank of a group has come, and pass it to all of the group. The messages of a
    rank to the switches and back have the costs of the network, as if the switch were a rank that
    takes no CPU time: only what the ranks themselves do meets noise of the CPU, and both ways meet
    jitter. They wait for no link.

    Of m ranks in each of M nodes, rank j has part j of the vector between nodes. First the ranks of
    a node reduce-scatter it: through NVSwitch ("nvls"), each sends its parts to all others at once
    ("direct"), or around chains ("chain"). Then ranks j of all nodes allreduce part j: in the
    switches of the network ("sharp"), or over `NcclTreeAllreduce` ("tree"). Then the parts are
    gathered within nodes, the way back.

    `message_bytes` is the vector, n bytes, cut into m parts (rounded up). Data stream through
    switches: the last chunk comes down when the last one is there, so that down the way is that of
    a chunk. Where NVSwitch gathers the parts, each rank is given the whole vector: up the way is
    that of a chunk, the first one, and down that of n bytes.

    Parameters
    ----------
    node_ranks : int
        m, consecutive ranks; on a `Hierarchy` with block placement those of its first level. All
        nodes have as many.
    intra_node : str
        "nvls", "direct" or "chain": within nodes, at the costs of the first level.
    inter_node : str
        "sharp" or "tree": between nodes, at those of the outermost level.
    radix : int
        Ports of a switch between nodes that lead down: M nodes take log M / log radix levels of
        switches, rounded up. There is one level within a node.
    switch_time : float or str
        What each level of switches adds to the way up and to the way down, seconds.
    chunk_bytes : int or str
        The most bytes of a chunk, from 1; text such as ``"8KiB"`` is read.

    Raises
    ------
    ValueError
        A parameter out of range; a last node with fewer ranks, more than 2^22 ranks, or ranks of
        several nodes at an NVSwitch, when the case is made. A case refuses noise of each message or
        step, since what switches do is no step of a rank: `MessageNoise`, `Congestion`,
        `NetworkWeather` with ``delay``, and `StepNoise` except ``during="compute"``; and the
        `distances` of a `Hierarchy` with "sharp" between nodes.

    Notes
    -----
    Without noise, one rank in a node takes ``2 o + 2 L + (n + c - 2) G`` and 2 `switch_time` of
    each level, with c bytes of a chunk: the time hardly grows with the ranks (Graham et al. 2016).
    Noise before the posts makes it later by the delay of the latest rank, which is the least that
    it adds to any allreduce.

    NCCL's CollNetDirect is "direct" and "sharp", CollNetChain "chain" and "sharp", NVLS "nvls" and
    "sharp" or on one node, NVLSTree "nvls" and "tree". The stages follow each other here, where
    NCCL overlaps them: so long vectors may take longer within nodes and on several. On one node
    NVLS takes ``4 o + 4 L + 2 (n + c - 2) G``, of both ways within it.

    References
    ----------
    Graham et al., "Scalable Hierarchical Aggregation Protocol (SHArP): A Hardware Architecture for
    Efficient Data Reduction", COMHPC 2016. NCCL 2.30.7, src/graph/connect.cc and its kernels.

    Examples
    --------
    The time hardly depends on the ranks:

    >>> import jitterfly as jf
    >>> network = jf.LogGOPS(L="1us", o="200ns")
    >>> for ranks in (2, 1024):
    ...     case = jf.Case(ranks, network=network, algorithm=InNetworkAllreduce())
    ...     print(jf.simulate(case, realizations=1).noise_free[0])
    2.4e-06
    2.4e-06
    """

    node_ranks: Count = Count(1, 1, MAX_LISTED_RANKS)
    intra_node: Literal["nvls", "direct", "chain"] = "nvls"
    inter_node: Literal["sharp", "tree"] = "sharp"
    radix: Count = Count(32, 2, 2**16)
    switch_time: ShortSeconds = ShortSeconds(0.0)
    chunk_bytes: SegmentBytes = SegmentBytes(2**17)

    def __post_init__(self) -> None:
        check_choice(self.intra_node, "intra_node", ("nvls", "direct", "chain"))
        check_choice(self.inter_node, "inter_node", ("sharp", "tree"))
        to_ticks(self.switch_time, "switch_time")

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        check_ranks(self, ranks)
        width = min(self.node_ranks, ranks)
        nodes = -(-ranks // width)
        if ranks % width:
            raise ValueError(
                "ranks must be a multiple of node_ranks, as each rank of a node has a part, got "
                f"{ranks} ranks, {width} in a node"
            )
        part = block_bytes(message_bytes, width)
        chunk = min(part, self.chunk_bytes)
        by_node = np.arange(ranks).reshape(nodes, width)
        reduced, gathered = self._in_nodes(by_node, message_bytes, part, chunk)
        between: list[Step] = []
        if nodes > 1 and self.inter_node == "sharp":
            levels = next(h for h in range(1, MAX_ROUNDS + 1) if self.radix**h >= nodes)
            ticks = levels * to_ticks(self.switch_time)
            between = _through_switches(by_node.T, part, chunk, -1, ticks)
        elif nodes > 1:
            tree = NcclTreeAllreduce(chunk_bytes=self.chunk_bytes)
            between = in_groups(message_steps(tree, "inter_node", nodes, part), by_node.T)
        stages = {"reduce-scatter": reduced, "between nodes": between, "allgather": gathered}
        named = [in_one_row(steps, name) for name, steps in stages.items()]
        return collective(numbered(named))

    def _in_nodes(
        self, groups: PairArray, size: int, part: int, chunk: int
    ) -> tuple[list[Step], list[Step]]:
        """The steps within all nodes: the reduce-scatter, and the allgather."""
        width = groups.shape[1]
        if width == 1:
            return [], []
        if self.intra_node == "nvls":
            ticks = to_ticks(self.switch_time)
            return (
                _through_switches(groups, size, chunk, 0, ticks),
                _through_switches(groups, chunk, size, 0, ticks),
            )
        shifted = [_shifted(groups, d) for d in range(1, width)]
        if self.intra_node == "chain":  # part j ends at rank j, and begins there
            turns = width - 1
            up = message(_shifted(groups, turns), 0, part, "", combine=True, repeat=turns)
            return [up], [message(shifted[0], 0, part, "", repeat=turns)]
        up_steps, down = (
            all_sent_first(
                [message(pairs, d, part, "", combine=up) for d, pairs in enumerate(shifted)]
            )
            for up in (True, False)
        )
        return up_steps, down


@frozen_dataclass()
class InNetworkReduceScatter(Algorithm, kind="in_network_reduce_scatter"):
    """Let the switch of a node combine, from which each rank takes its block: NCCL's NVLS.

    A rank posts its vector, and waits. The switch has the blocks when the data of the last rank
    have come. It is the first half of `InNetworkAllreduce` on one node, and as that: the switch
    takes no CPU time, and its messages wait for no link.

    `message_bytes` is the vector, n bytes, of which each of N ranks gets n / N (rounded up). All
    ranks are at one switch: on a `Hierarchy` they are those of one node, at the costs of its first
    level; on a network of one level any number of ranks may be.

    Parameters
    ----------
    switch_time : float or str
        What the switch adds to the way up and to the way down, seconds.
    chunk_bytes : int or str
        The most bytes of a chunk, from 1; text such as ``"8KiB"`` is read.

    Raises
    ------
    ValueError
        A parameter out of range; more than 2^22 ranks, or ranks of several nodes, when the case is
        made. A case refuses noise of each message or step, as with `InNetworkAllreduce`.

    Notes
    -----
    Without noise it takes ``2 o + 2 L + (n + c - 2) G`` and 2 `switch_time`, with c bytes of a
    chunk: all vectors go up, and the last chunk comes down. NCCL's tuning model finds a ring faster
    on 8 H100.

    References
    ----------
    NCCL 2.30.7, the kernel of `ncclFuncReduceScatter` with NVLS, and src/graph/tuning.cc.

    Examples
    --------
    >>> import jitterfly as jf
    >>> network = jf.LogGOPS(L="1us", o="200ns", G="3ps")
    >>> scatter = InNetworkReduceScatter(chunk_bytes="1KiB")
    >>> case = jf.Case(8, network=network, algorithm=scatter, message_bytes="1MiB")
    >>> print(jf.simulate(case, realizations=1).noise_free[0])
    5.548794e-06
    """

    switch_time: ShortSeconds = ShortSeconds(0.0)
    chunk_bytes: SegmentBytes = SegmentBytes(2**17)

    def __post_init__(self) -> None:
        to_ticks(self.switch_time, "switch_time")

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        chunk = min(block_bytes(message_bytes, ranks), self.chunk_bytes)
        return _at_one_switch(self, ranks, message_bytes, chunk)


@frozen_dataclass()
class InNetworkAllgather(Algorithm, kind="in_network_allgather"):
    """Let the switch of a node pass each rank's block to all: NCCL's NVLS.

    A rank posts its block, and is given those of all ranks when the last one has posted. It is the
    second half of `InNetworkAllreduce` on one node, and as that: the switch takes no CPU time, and
    its messages wait for no link.

    `message_bytes` is what one rank contributes, n bytes, of which each of N ranks gets N n. All
    ranks are at one switch: on a `Hierarchy` they are those of one node, at the costs of its first
    level; on a network of one level any number of ranks may be.

    Parameters
    ----------
    switch_time : float or str
        What the switch adds to the way up and to the way down, seconds.
    chunk_bytes : int or str
        The most bytes of a chunk, from 1; text such as ``"8KiB"`` is read.

    Raises
    ------
    ValueError
        A parameter out of range; more than 2^22 ranks, or ranks of several nodes, when the case is
        made. A case refuses noise of each message or step, as with `InNetworkAllreduce`.

    Notes
    -----
    Without noise it takes ``2 o + 2 L + (N n + c - 2) G`` and 2 `switch_time`, with c bytes of a
    chunk: the first chunk goes up, and all blocks come down. NCCL's tuning model finds a ring
    faster on 8 H100.

    References
    ----------
    NCCL 2.30.7, the kernel of `ncclFuncAllGather` with NVLS, and src/graph/tuning.cc.

    Examples
    --------
    >>> import jitterfly as jf
    >>> network = jf.LogGOPS(L="1us", o="200ns", G="3ps")
    >>> gather = InNetworkAllgather(chunk_bytes="1KiB")
    >>> case = jf.Case(8, network=network, algorithm=gather, message_bytes="128KiB")
    >>> print(jf.simulate(case, realizations=1).noise_free[0])
    5.548794e-06
    """

    switch_time: ShortSeconds = ShortSeconds(0.0)
    chunk_bytes: SegmentBytes = SegmentBytes(2**17)

    def __post_init__(self) -> None:
        to_ticks(self.switch_time, "switch_time")

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        chunk = min(message_bytes, self.chunk_bytes)
        return _at_one_switch(self, ranks, chunk, ranks * message_bytes)


def _at_one_switch(
    algorithm: InNetworkReduceScatter | InNetworkAllgather, ranks: int, up: int, down: int
) -> list[Step]:
    """The steps of ranks that all post `up` bytes to one switch, and then are given `down`."""
    check_ranks(algorithm, ranks)
    if ranks == 1:
        return collective([])
    ticks = to_ticks(algorithm.switch_time)
    steps = _through_switches(np.arange(ranks)[np.newaxis], up, down, 0, ticks)
    return collective(in_one_row(steps, "nvls"))


def _through_switches(groups: PairArray, up: int, down: int, level: int, ticks: int) -> list[Step]:
    """The steps of groups whose ranks post `up` bytes, and then are given `down`.

    The last chunk comes down after all of a vector, or all of it after the first chunk that goes
    up: the other bytes stream at the same time. `ticks`: what all switches on a way add to it.
    """
    # The post of each rank arrives at a port; then all ports of a group learn the latest one.
    ports = [_shifted(groups, 1 << r) for r in range(rounds_of(groups.shape[1]))]
    parts = [("post", ports[0], up), *(("combine", one, up) for one in ports)]
    return [
        message(pairs, draw, size, "", occupies=False)._replace(switch=Switch(part, level, ticks))
        for draw, (part, pairs, size) in enumerate([*parts, ("result", ports[0], down)])
    ]


def _shifted(groups: PairArray, distance: int) -> Partners:
    """The messages of each rank of a group to that `distance` further on, around the group."""
    if len(groups) == 1:
        return Shift(distance % groups.shape[1])
    return Listed(np.stack([groups, np.roll(groups, -distance, axis=1)], axis=2).reshape(-1, 2))
