"""Barrier: dissemination, recursive doubling, trees, linear, double ring, hierarchical."""

from __future__ import annotations

from typing import Literal

from ..fields import check_choice, frozen_dataclass
from ..steps import Range, Step, Xor, power_below, rounds_of
from .algorithm import MAX_ROUNDS, Algorithm
from .broadcast import BinomialBroadcast
from .shared_steps import (
    MAX_RADIX,
    AlgorithmOf,
    Count,
    check_step_count,
    collective,
    fold_in,
    fold_out,
    gather_up,
    in_one_row,
    linear_steps,
    message,
    node_stages,
    nodes_of,
    numbered,
    shifts_at_once,
    spread_down,
    stage,
)


@frozen_dataclass()
class DisseminationBarrier(Algorithm, kind="dissemination_barrier"):
    """Rank i sends to rank ``i + 2^r`` (modulo N), in round r, which ranks are there.

    With `radix` k it sends to ranks ``i + k^r``, ``i + 2 k^r``, ..., one after the other, without
    waiting, and then receives from as many.

    `message_bytes` is the size of its messages. A rank sends log2(N) messages, rounded up; there is
    no fold. It is MPICH's barrier (Hensgen et al. 1988).

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
    Without noise it takes ``A + (K - 1) max(A, g + (n - 1) G)``, ``A = 2 o + L + (n - 1) G``, on a
    LogGP network. With a radix it is MPICH's `k_dissemination`, of 2 unless
    `MPIR_CVAR_BARRIER_DISSEM_KVAL` is set; in its last round MPICH also sends over distances of N
    and more, to ranks that it has told before.

    References
    ----------
    Hensgen, Finkel & Manber, "Two Algorithms for Barrier Synchronization", IJPP 1988.

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> DisseminationBarrier().message_levels(4)[0].tolist()
    [[0, 1], [1, 2], [2, 3], [3, 0]]
    """

    added = ("radix",)

    radix: Count = Count(2, least=2, most=MAX_RADIX)

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        return collective(shifts_at_once(ranks, self.radix, lambda *_: message_bytes))


@frozen_dataclass()
class RecursiveDoublingBarrier(Algorithm, kind="recursive_doubling_barrier"):
    """Ranks i and ``i xor 2^r`` exchange in round r which ranks are there.

    Ranks beyond the largest power of two P = 2^K send to ``i - P`` first and get a message at the
    end (a far fold; Open MPI's `barrier_intra_recursivedoubling` folds as far).

    `message_bytes` is the size of its messages. A rank sends K messages; the fold adds two.

    Notes
    -----
    Without noise it takes ``A + (K - 1) max(A, g + (n - 1) G)``, ``A = 2 o + L + (n - 1) G``, on a
    LogGP network and P ranks.

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> RecursiveDoublingBarrier().message_levels(4)[0].tolist()
    [[0, 1], [1, 0], [2, 3], [3, 2]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        n, power = message_bytes, power_below(ranks)
        messages = fold_in(ranks, n, combine=False)
        for r in range(power.bit_length() - 1):
            messages.append(message(Xor(1 << r, power), r, n, f"round {r + 1}"))
        return collective(messages + fold_out(ranks, n))


@frozen_dataclass()
class TreeBarrier(Algorithm, kind="tree_barrier"):
    """Ranks send to rank 0 along a binomial tree that they are there; an answer goes back.

    `message_bytes` is the size of its messages. There are 2 K steps, K = log2(N) rounded up, and 2
    (N - 1) messages in all. Open MPI's `barrier_intra_tree` has the same shape.

    Notes
    -----
    Without noise it takes ``2 K (alpha + beta n)`` on Hockney's network and 2^K ranks; see
    `jitterfly.theory.collective_completion` for the rest.

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> TreeBarrier().message_levels(4)[0].tolist()
    [[1, 0], [3, 2]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        up = gather_up(ranks, message_bytes, combine=False)
        return collective(up + spread_down(ranks, message_bytes, first=rounds_of(ranks)))


@frozen_dataclass()
class LinearBarrier(Algorithm, kind="linear_barrier"):
    """Send from every rank to rank 0, and then from there to all.

    Rank 0 receives from rank 1, 2, 3, ... in this order, and answers in the same one.
    `message_bytes` is the size of its messages, of which there are 2 (N - 1). It is Open MPI's
    `linear`.

    There are twice as many steps as other ranks, which take memory: up to 2^17 + 1 ranks, else a
    ValueError when the case is made.

    Notes
    -----
    Without noise it takes ``2 (2 o + L + (n - 1) G) + 2 (N - 2) max(o, g + (n - 1) G)`` on a LogGP
    network.

    Examples
    --------
    Sender and receiver of the messages on three ranks, step by step:

    >>> [step.tolist() for step in LinearBarrier().message_levels(3)]
    [[[1, 0]], [[2, 0]], [[0, 1]], [[0, 2]]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        check_step_count(self, 2 * (ranks - 1), "ranks must be fewer")
        up, down = (
            linear_steps(self, ranks, message_bytes, to_root=to_root) for to_root in (True, False)
        )
        return collective(numbered([in_one_row(up, "up"), in_one_row(down, "down")]))


@frozen_dataclass()
class DoubleRingBarrier(Algorithm, kind="double_ring_barrier"):
    """Send a message twice around the ring of all ranks, from rank to rank.

    The first time it says that all ranks before are there, the second time that all are.
    `message_bytes` is its size; there are 2 N messages, each after the one before. It is Open MPI's
    `double_ring`.

    There are as many steps as messages, which take memory: up to 2^17 ranks, else a ValueError when
    the case is made.

    Notes
    -----
    Without noise it takes 2 N times the time of one message, ``2 o + L + (n - 1) G``.

    Examples
    --------
    Sender and receiver of the messages on two ranks, step by step:

    >>> [step.tolist() for step in DoubleRingBarrier().message_levels(2)]
    [[[0, 1]], [[1, 0]], [[0, 1]], [[1, 0]]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        check_step_count(self, 2 * ranks, "ranks must be fewer")
        if ranks == 1:
            return collective([])
        edges = [Range(r, r + 1, 1) for r in range(ranks - 1)]
        edges.append(Range(ranks - 1, ranks, 1 - ranks))
        laps = [
            [message(edge, r, message_bytes, "") for r, edge in enumerate(edges)] for _ in range(2)
        ]
        laps = [in_one_row(lap, f"lap {number}") for number, lap in enumerate(laps, 1)]
        return collective(numbered(laps))


@frozen_dataclass()
class HierarchicalBarrier(Algorithm, kind="hierarchical_barrier"):
    """A barrier within each node, one between their first ranks, and a message to the others.

    `message_bytes` is the size of all messages. In the end a binomial tree within each node tells
    its ranks that all nodes are there, or a second barrier does.

    Parameters
    ----------
    node_ranks : int
        Ranks of a node, which are consecutive; the last node may have fewer. On a `Hierarchy` with
        block placement give those of its first level: the network is not looked at.
    intra_node, inter_node : Algorithm, dict or str
        The barriers within nodes and between their first ranks. A text is its kind, such as
        "linear_barrier".
    release : str
        "broadcast" or "barrier": what ends it within nodes.

    Raises
    ------
    ValueError
        A parameter out of range; more than 2^22 ranks when the case is made.

    Notes
    -----
    It is what MPICH composes, with shared memory within nodes; and with a second barrier what Open
    MPI's component han does.

    References
    ----------
    Luo et al., "HAN: a Hierarchical AutotuNed Collective Communication Framework", IEEE Cluster
    2020.

    Examples
    --------
    Sender and receiver of the messages on two nodes of two ranks:

    >>> [step.tolist() for step in HierarchicalBarrier(2).message_levels(4)][2:]
    [[[0, 2], [2, 0]], [[0, 1], [2, 3]]]
    """

    node_ranks: Count = Count(8, least=1, most=2**MAX_ROUNDS)
    intra_node: AlgorithmOf = AlgorithmOf("barrier", TreeBarrier())
    inter_node: AlgorithmOf = AlgorithmOf("barrier", DisseminationBarrier())
    release: Literal["broadcast", "barrier"] = "broadcast"

    def __post_init__(self) -> None:
        check_choice(self.release, "release", ("broadcast", "barrier"))

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        stages = node_stages(self, ranks, message_bytes, message_bytes)
        last = BinomialBroadcast() if self.release == "broadcast" else self.intra_node
        nodes = nodes_of(ranks, self.node_ranks)
        release = stage(last, "intra_node", "release", message_bytes, nodes)
        return collective(numbered([*stages, release]))
