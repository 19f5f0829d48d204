"""Scan and exscan (prefix reduction): recursive doubling, along a chain, hierarchical."""

from __future__ import annotations

import numpy as np

from ..fields import frozen_dataclass
from ..steps import Listed, PairArray, Partners, Range, Step, Xor, power_below, rounds_of
from .algorithm import MAX_ROUNDS, Algorithm
from .broadcast import BinomialBroadcast
from .shared_steps import (
    AlgorithmOf,
    Count,
    check_ranks,
    check_step_count,
    collective,
    in_one_row,
    leaders_of,
    message,
    nodes_of,
    numbered,
    stage,
)


@frozen_dataclass()
class RecursiveDoublingScan(Algorithm, kind="recursive_doubling_scan"):
    """Rank i exchanges what its group has combined with ``i xor 1, 2, 4, ...``, where there is one.

    Each rank combines what comes with that of its group, which it sends on, and what comes from a
    lower rank with its result. `message_bytes` is the vector, n bytes. There are log2(N) rounds,
    rounded up. It is what MPICH takes for MPI_Scan on one node.

    To combine a message takes n gamma, also where a rank combines it with both. Numbers of ranks
    that are no powers of two take memory: up to 2^22 ranks, else a ValueError when the case is
    made.

    Notes
    -----
    Without noise it takes ``K (2 o + L + (n - 1) G + gamma n)``, K = log2(N) rounded up, where
    messages do not wait for links.

    References
    ----------
    Sanders & Träff, "Parallel prefix (scan) algorithms for MPI", EuroPVM/MPI 2006.

    Examples
    --------
    Sender and receiver of the messages on three ranks, step by step:

    >>> [step.tolist() for step in RecursiveDoublingScan().message_levels(3)]
    [[[0, 1], [1, 0]], [[0, 2], [2, 0]]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        return _by_doubling(self, ranks, message_bytes)


@frozen_dataclass()
class RecursiveDoublingExscan(Algorithm, kind="recursive_doubling_exscan"):
    """Rank i exchanges as in `RecursiveDoublingScan`, and leaves out its own vector in its result.

    What comes first from a lower rank is its result, with which it combines what comes from others
    of these. Rank 0 gets nothing. `message_bytes` is the vector, n bytes. It is what MPICH takes
    for MPI_Exscan, and one of Open MPI's two.

    To combine a message takes n gamma, also where a rank combines it with both. Numbers of ranks
    that are no powers of two take memory: up to 2^22 ranks, else a ValueError when the case is
    made.

    Notes
    -----
    Without noise it takes as long as `RecursiveDoublingScan`.

    References
    ----------
    Sanders & Träff, "Parallel prefix (scan) algorithms for MPI", EuroPVM/MPI 2006.

    Examples
    --------
    Sender and receiver of the messages on three ranks, step by step:

    >>> [step.tolist() for step in RecursiveDoublingExscan().message_levels(3)]
    [[[0, 1], [1, 0]], [[0, 2], [2, 0]]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        return _by_doubling(self, ranks, message_bytes)


def _by_doubling(algorithm: Algorithm, ranks: int, message_bytes: int) -> list[Step]:
    """The steps in which rank i exchanges what its group has combined with ``i xor 1, 2, ...``."""
    if power_below(ranks) != ranks:
        check_ranks(algorithm, ranks)
    return collective([
        message(_partners(1 << r, ranks), r, message_bytes, f"round {r + 1}", combine=True)
        for r in range(rounds_of(ranks))
    ])  # fmt: skip


def _partners(mask: int, ranks: int) -> Partners:
    """Exchanges with ``i xor mask`` among all ranks that have such a partner."""
    if power_below(ranks) == ranks:
        return Xor(mask, ranks)
    senders = np.arange(ranks)
    pairs = np.stack([senders, senders ^ mask], axis=1)
    return Listed(pairs[pairs[:, 1] < ranks])


@frozen_dataclass()
class LinearScan(Algorithm, kind="linear_scan"):
    """A rank combines what it receives with its own vector, and sends the result to the next rank.

    `message_bytes` is the vector, n bytes. There are N - 1 messages of it, each after the one
    before. It is Open MPI's `linear`.

    There are as many steps as other ranks, which take memory: up to 2^18 + 1 ranks, else a
    ValueError when the case is made.

    Notes
    -----
    Without noise it takes N - 1 times the time of one message, ``2 o + L + (n - 1) G + gamma n``.

    Examples
    --------
    Sender and receiver of the messages on three ranks, step by step:

    >>> [step.tolist() for step in LinearScan().message_levels(3)]
    [[[0, 1]], [[1, 2]]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        return _along_a_chain(self, ranks, message_bytes)


@frozen_dataclass()
class LinearExscan(Algorithm, kind="linear_exscan"):
    """A rank's result is what it receives; it sends that on, combined with its own vector.

    `message_bytes` is the vector, n bytes. There are N - 1 messages of it, each after the one
    before. The last rank combines nothing. It is Open MPI's `linear`.

    There are as many steps as other ranks, which take memory: up to 2^18 + 1 ranks, else a
    ValueError when the case is made.

    Notes
    -----
    Without noise it takes ``gamma n`` less than `LinearScan`.

    Examples
    --------
    Sender and receiver of the messages on three ranks, step by step:

    >>> [step.tolist() for step in LinearExscan().message_levels(3)]
    [[[0, 1]], [[1, 2]]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        steps = _along_a_chain(self, ranks, message_bytes)
        return [*steps[:-1], steps[-1]._replace(combine=False)]


def _along_a_chain(algorithm: Algorithm, ranks: int, message_bytes: int) -> list[Step]:
    """The steps in which each rank combines what it receives with its vector, and sends it on."""
    check_step_count(algorithm, ranks - 1, "ranks must be fewer")
    steps = [
        message(Range(r, r + 1, 1), r, message_bytes, "", combine=True) for r in range(ranks - 1)
    ]
    return collective(in_one_row(steps, "chain"))


@frozen_dataclass()
class HierarchicalScan(Algorithm, kind="hierarchical_scan"):
    """Scan within nodes and between them; then a node gets what all nodes before it have combined.

    The last rank of each node, which has what the node combines, sends that to the first, for the
    scan between first ranks. These send the result to the next node's, which broadcasts it within
    its node; there every rank combines it with its own.

    `message_bytes` is the vector, n bytes.

    Parameters
    ----------
    node_ranks : int
        Ranks of a node, which are consecutive; the last node may have fewer. On a `Hierarchy` with
        block placement give those of its first level: the network is not looked at.
    intra_node, inter_node, broadcast : Algorithm, dict or str
        The scans within nodes and between their first ranks, and the broadcast within nodes. A text
        is its kind, such as "linear_scan".

    Raises
    ------
    ValueError
        A parameter out of range; more than 2^22 ranks when the case is made.

    Notes
    -----
    It is MPICH's `smp`. There a rank combines what is broadcast after it has sent it on, here
    before that; and MPICH broadcasts 4 bytes first, which say whether there is anything to combine.

    Examples
    --------
    Sender and receiver of the messages on two nodes of two ranks:

    >>> [step.tolist() for step in HierarchicalScan(2).message_levels(4)]
    [[[0, 1], [1, 0], [2, 3], [3, 2]], [[1, 0], [3, 2]], [[0, 2], [2, 0]], [[0, 2]], [[2, 3]]]
    """

    node_ranks: Count = Count(8, least=1, most=2**MAX_ROUNDS)
    intra_node: AlgorithmOf = AlgorithmOf("scan", RecursiveDoublingScan())
    inter_node: AlgorithmOf = AlgorithmOf("scan", RecursiveDoublingScan())
    broadcast: AlgorithmOf = AlgorithmOf("broadcast", BinomialBroadcast())

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        check_ranks(self, ranks)
        n, width = message_bytes, min(self.node_ranks, ranks)
        nodes, leaders = nodes_of(ranks, width), leaders_of(ranks, width)
        first = leaders[0][0]
        last = np.append(first[1:], ranks) - 1
        to_first = np.stack([last, first], axis=1)[last > first]
        to_next = np.stack([first[:-1], first[1:]], axis=1)
        later = [group[group[:, 0] > 0] for group in nodes]  # all nodes but the first
        down = stage(self.broadcast, "broadcast", "broadcast", n, [g for g in later if len(g)])
        stages = [
            stage(self.intra_node, "intra_node", "intra-node", n, nodes),
            _at_once(to_first, n, "last to first"),
            stage(self.inter_node, "inter_node", "inter-node", n, leaders),
            _at_once(to_next, n, "to the next", combine=True),
            [step._replace(combine=True) for step in down],
        ]
        return collective(numbered(stages))


def _at_once(pairs: PairArray, size: int, label: str, *, combine: bool = False) -> list[Step]:
    """Messages of one step; none where there are no pairs."""
    return [message(Listed(pairs), 0, size, label, combine=combine)] if len(pairs) else []
