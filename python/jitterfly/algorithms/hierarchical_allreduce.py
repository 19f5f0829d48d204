"""Hierarchical allreduce: within nodes, and between the leaders of nodes."""

from __future__ import annotations

import numpy as np

from ..fields import Given, check_integer, frozen_dataclass
from ..steps import Listed, PairArray, Range, Step, Xor, power_below, rounds_of
from .algorithm import MOST_ROUNDS, Algorithm, block_bytes, check_ranks, collective, message


@frozen_dataclass()
class HierarchicalAllreduce(Algorithm, kind="hierarchical_allreduce"):
    """Reduce within each node, allreduce between the nodes' leaders, broadcast within each node.

    `message_bytes` is the vector, n bytes. Within a node of m ranks the vector goes up a binomial
    tree to the leader and down again, in log2(m) steps each, rounded up; leaders exchange it by
    recursive doubling, as `RecursiveDoublingAllreduce`. With several leaders in a node, each has a
    part of the vector: the parts go up one after the other, cross the machine side by side, and go
    down one after the other.

    Parameters
    ----------
    node_ranks : int
        Ranks of a node, which are consecutive: those of the first level of a `Hierarchy` with
        block placement. The last node may have fewer.
    leaders : int
        Leaders of a node, each for a part of ``n / leaders`` bytes, rounded up: the first ranks of
        the node. From 1 to the ranks of the smallest node.

    Raises
    ------
    ValueError
        A parameter out of range; `leaders` beyond those of the last node, or more than 2^22 ranks,
        when the case is made.

    Notes
    -----
    Open MPI's component han and MPICH's two-level algorithms have this shape. Only one rank of a
    node sends between nodes at a time, or `leaders` of them; on a flat network it is no faster than
    recursive doubling.

    References
    ----------
    Luo et al., "HAN: a Hierarchical AutotuNed Collective Communication Framework", IEEE Cluster
    2020. Bayatpour et al., "Scalable Reduction Collectives with Data Partitioning-based
    Multi-Leader Design", SC 2017.

    Examples
    --------
    Sender and receiver of the messages on two nodes of two ranks:

    >>> [level.tolist() for level in HierarchicalAllreduce(2).message_levels(4)]
    [[[1, 0], [3, 2]], [[0, 2], [2, 0]], [[0, 1], [2, 3]]]
    """

    node_ranks: Given[int, int] = Given("int", 8)
    leaders: Given[int, int] = Given("int", 1)

    def __post_init__(self) -> None:
        most = 2**MOST_ROUNDS
        put = object.__setattr__
        put(self, "node_ranks", check_integer(self.node_ranks, "node_ranks", 1, most))
        put(self, "leaders", check_integer(self.leaders, "leaders", 1, self.node_ranks))

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        check_ranks(self, ranks)
        width = min(self.node_ranks, ranks)
        smallest = ranks % width or width
        if self.leaders > smallest:
            raise ValueError(
                f"leaders must be from 1 to {smallest}, the ranks of the smallest node here "
                f"({ranks} ranks, {width} in a node), got {self.leaders}"
            )
        up, down = [], []
        for leader in range(self.leaders):
            part = f", part {leader + 1}" if self.leaders > 1 else ""
            trees = [_within_nodes(ranks, width, leader, 1 << r) for r in range(rounds_of(width))]
            up += [(tree, f"up {r}{part}", True) for r, tree in enumerate(trees, 1)]
            trees = [tree[:, ::-1] for tree in trees[::-1]]
            down += [(tree, f"down {r}{part}", False) for r, tree in enumerate(trees, 1)]
        across = []
        for nodes, label, combine in _recursive_doubling(-(-ranks // width)):
            pairs = [nodes * width + leader for leader in range(self.leaders)]
            across.append((np.concatenate(pairs), label, combine))
        n = block_bytes(message_bytes, self.leaders)
        return collective(
            [
                message(Listed(pairs), draw, n, label, combine=combine)
                for draw, (pairs, label, combine) in enumerate([*up, *across, *down])
            ]
        )


def _within_nodes(ranks: int, width: int, leader: int, stride: int) -> PairArray:
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


def _recursive_doubling(nodes: int) -> list[tuple[PairArray, str, bool]]:
    """Sending and receiving node of each message, step by step; and whether they combine."""
    power = power_below(nodes)
    steps = [
        (Xor(1 << r, power).pair_array(nodes), f"round {r + 1}", True)
        for r in range(power.bit_length() - 1)
    ]
    if nodes > power:
        fold = Range(power, nodes, -power).pair_array(nodes)
        steps = [(fold, "fold in", True), *steps, (fold[:, ::-1], "fold out", False)]
    return steps
