"""Hierarchical allreduce: trees or rings within nodes (intra-node), any allreduce between them."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..fields import Converted, check_choice, check_integer, frozen_dataclass
from ..steps import Listed, PairArray, Step, rounds_of
from .algorithm import MOST_ROUNDS, Algorithm
from .allreduce import RecursiveDoublingAllreduce
from .shared_steps import (
    AlgorithmOf,
    block_bytes,
    check_ranks,
    collective,
    in_groups,
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
        most = 2**MOST_ROUNDS
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
        """The steps of `inter_node` on so many ranks, done by the leaders of as many nodes."""
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
