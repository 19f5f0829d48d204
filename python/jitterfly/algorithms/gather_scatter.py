"""Gather to rank 0, scatter from it (gatherv, scatterv): binomial, Bine, linear, hierarchical."""

from __future__ import annotations

from ..fields import frozen_dataclass
from ..steps import Step
from .algorithm import MAX_ROUNDS, Algorithm, Irregular
from .shared_steps import (
    AlgorithmOf,
    Count,
    bine_blocks,
    blocks_over_tree,
    bytes_of_counts,
    check_ranks,
    collective,
    fold_in,
    fold_out,
    linear_steps,
    node_stages,
    numbered,
)


@frozen_dataclass()
class BinomialGather(Algorithm, kind="binomial_gather"):
    """All that a rank and those below it put in goes to rank 0, over distances 1, 2, 4, ...

    `message_bytes` is what each rank puts in, n bytes. There are log2(N) steps, rounded up, in
    which s blocks of n bytes go over distance s, or as many as there are ranks left. A rank other
    than rank 0 has finished when its message is sent. It is MPICH's gather.

    Notes
    -----
    Without noise it takes ``K alpha + (N - 1) n beta`` on Hockney's network and 2^K ranks
    (Chan et al. 2007); in detail `jitterfly.theory.collective_completion`.

    Examples
    --------
    Sender and receiver of the messages on three ranks, step by step:

    >>> [step.tolist() for step in BinomialGather().message_levels(3)]
    [[[1, 0]], [[2, 0]]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        return collective(blocks_over_tree(ranks, message_bytes, down=False))


@frozen_dataclass()
class LinearGather(Algorithm, kind="linear_gather"):
    """Send from every rank to rank 0, which receives from rank 1, 2, 3, ... in this order.

    `message_bytes` is what each rank puts in, n bytes. There are N - 1 messages. A rank other than
    rank 0 has finished when its message is sent. It is Open MPI's `basic_linear`.

    There are as many steps as other ranks, which take memory: up to 2^18 + 1 ranks, else a
    ValueError when the case is made.

    Notes
    -----
    Without noise it takes ``2 o + L + (n - 1) G + (N - 2) max(o, g + (n - 1) G)``, with the o of a
    message of n bytes: the messages come at once, and rank 0 takes one after the other.

    Examples
    --------
    Sender and receiver of the messages on three ranks, step by step:

    >>> [step.tolist() for step in LinearGather().message_levels(3)]
    [[[1, 0]], [[2, 0]]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        return collective(linear_steps(self, ranks, message_bytes, to_root=True))


@frozen_dataclass()
class BinomialScatter(Algorithm, kind="binomial_scatter"):
    """Rank 0 sends what a rank and those below it get to that rank, which sends it on.

    `message_bytes` is what each rank gets, n bytes. There are log2(N) steps, rounded up, over
    distances ..., 4, 2, 1; s blocks of n bytes go over distance s, or as many as there are ranks
    left. It is MPICH's scatter.

    Notes
    -----
    Without noise it takes ``K alpha + (N - 1) n beta`` on Hockney's network and 2^K ranks
    (Chan et al. 2007); in detail `jitterfly.theory.collective_completion`.

    Examples
    --------
    Sender and receiver of the messages on three ranks, step by step:

    >>> [step.tolist() for step in BinomialScatter().message_levels(3)]
    [[[0, 2]], [[0, 1]]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        return collective(blocks_over_tree(ranks, message_bytes, down=True))


@frozen_dataclass()
class LinearScatter(Algorithm, kind="linear_scatter"):
    """Rank 0 sends to rank 1, 2, 3, ... in this order.

    `message_bytes` is what each rank gets, n bytes. There are N - 1 messages, of which one may
    wait for the link that the one before it occupies. It is Open MPI's `basic_linear`.

    There are as many steps as other ranks, which take memory: up to 2^18 + 1 ranks, else a
    ValueError when the case is made.

    Notes
    -----
    Without noise it takes ``2 o + L + (n - 1) G + (N - 2) max(o, g + (n - 1) G)``, with the o of a
    message of n bytes.

    Examples
    --------
    Sender and receiver of the messages on three ranks, step by step:

    >>> [step.tolist() for step in LinearScatter().message_levels(3)]
    [[[0, 1]], [[0, 2]]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        return collective(linear_steps(self, ranks, message_bytes, to_root=False))


@frozen_dataclass()
class BineGather(Algorithm, kind="bine_gather"):
    """All blocks from below go up a binomial tree whose children are on both sides, and so nearer.

    It is the tree of `BineReduce`. Ranks beyond the largest power of two P = 2^K send their block
    to ``i - P`` first. Every message of a round takes as long as the longest of that round.

    `message_bytes` is what each rank puts in, n bytes. On P ranks there are K steps, of 1, 2, 4,
    ... blocks. A rank other than rank 0 has finished when its message is sent.
    Messages are listed, which takes memory: up to 2^22 ranks, else a ValueError when the case is
    made.

    Notes
    -----
    Without noise it takes ``K alpha + (P - 1) n beta`` on Hockney's network and P
    ranks, as `BinomialGather`. Between nodes of 10 of 256 ranks go 0.94 times as many bytes,
    between nodes of 16 1.06 times as many.

    References
    ----------
    De Sensi et al., "Bine Trees: Enhancing Collective Operations by Optimizing Communication
    Locality", SC 2025.

    Examples
    --------
    Sender and receiver of the messages on four ranks, step by step:

    >>> [step.tolist() for step in BineGather().message_levels(4)]
    [[[1, 0], [2, 3]], [[3, 0]]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        check_ranks(self, ranks)
        n = message_bytes
        return collective(fold_in(ranks, n, combine=False) + bine_blocks(ranks, n))


@frozen_dataclass()
class BineScatter(Algorithm, kind="bine_scatter"):
    """All blocks for those below go down a binomial tree whose children are on both sides.

    It is `BineGather` the other way: ranks beyond the largest power of two P = 2^K get their block
    from ``i - P`` at the end. Every message of a round takes as long as the longest of that round.

    `message_bytes` is what each rank gets, n bytes. On P ranks there are K steps, of P/2, P/4, ...
    1 blocks. Messages are listed, which takes memory: up to 2^22 ranks, else a ValueError when the
    case is made.

    Notes
    -----
    Without noise it takes ``K alpha + (P - 1) n beta`` on Hockney's network and P
    ranks, as `BinomialScatter`. Between nodes go as many bytes as of `BineGather`.

    References
    ----------
    De Sensi et al., "Bine Trees: Enhancing Collective Operations by Optimizing Communication
    Locality", SC 2025.

    Examples
    --------
    Sender and receiver of the messages on four ranks, step by step:

    >>> [step.tolist() for step in BineScatter().message_levels(4)]
    [[[0, 3]], [[0, 1], [3, 2]]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        check_ranks(self, ranks)
        n = message_bytes
        return collective(bine_blocks(ranks, n, down=True) + fold_out(ranks, n))


@frozen_dataclass()
class LinearGatherv(Irregular, kind="linear_gatherv"):
    """Send as much as each rank has to rank 0, which receives from rank 1, 2, 3, ... in this order.

    It is `LinearGather` with a count for each rank. `message_bytes` is one element, as MPI's
    datatype: a message has a count of them. An empty one is not sent. There are as many steps as
    other ranks, which take memory: up to 2^18 + 1 ranks, else a ValueError when the case is made.

    Notes
    -----
    It is Open MPI's `basic_linear` and MPICH's `linear`, which skip empty messages.

    Examples
    --------
    >>> [step.bytes for step in LinearGatherv([9, 2, 3]).steps(3, 8) if step.partners]
    [16, 24]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        sizes = bytes_of_counts(self.counts.of_ranks(ranks), message_bytes)
        return collective(linear_steps(self, ranks, sizes, to_root=True))


@frozen_dataclass()
class LinearScatterv(Irregular, kind="linear_scatterv"):
    """Send as much as each rank gets from rank 0, to rank 1, 2, 3, ... in this order.

    It is `LinearScatter` with a count for each rank. `message_bytes` is one element, as MPI's
    datatype: a message has a count of them. An empty one is not sent. There are as many steps as
    other ranks, which take memory: up to 2^18 + 1 ranks, else a ValueError when the case is made.

    Notes
    -----
    It is Open MPI's `basic_linear` and MPICH's `linear`, which skip empty messages.

    Examples
    --------
    >>> [step.bytes for step in LinearScatterv([9, 0, 3]).steps(3, 8) if step.partners]
    [24]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        sizes = bytes_of_counts(self.counts.of_ranks(ranks), message_bytes)
        return collective(linear_steps(self, ranks, sizes, to_root=False))


@frozen_dataclass()
class HierarchicalGather(Algorithm, kind="hierarchical_gather"):
    """Gather within each node to its first rank, and then between these to rank 0.

    `message_bytes` is what each rank puts in, n bytes: a block between nodes has that of all ranks
    of one.

    Parameters
    ----------
    node_ranks : int
        Ranks of a node, which are consecutive. On a `Hierarchy` with block placement give those of
        its first level: the network is not looked at. The last node may have fewer; between nodes
        its blocks then take as long as those of a whole one.
    intra_node, inter_node : Algorithm, dict or str
        The gathers within nodes and between their first ranks. A text is its kind, such as
        "linear_gather".

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

    >>> [step.tolist() for step in HierarchicalGather(2).message_levels(4)]
    [[[1, 0], [3, 2]], [[2, 0]]]
    """

    node_ranks: Count = Count(8, least=1, most=2**MAX_ROUNDS)
    intra_node: AlgorithmOf = AlgorithmOf("gather", BinomialGather())
    inter_node: AlgorithmOf = AlgorithmOf("gather", BinomialGather())

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        node_bytes = min(self.node_ranks, ranks) * message_bytes
        within, between = node_stages(self, ranks, message_bytes, node_bytes)
        return collective(numbered([within, between]))


@frozen_dataclass()
class HierarchicalScatter(Algorithm, kind="hierarchical_scatter"):
    """Scatter to the first rank of each node, and then within all nodes.

    `message_bytes` is what each rank gets, n bytes: a block between nodes has that of all ranks of
    one.

    Parameters
    ----------
    node_ranks : int
        Ranks of a node, which are consecutive. On a `Hierarchy` with block placement give those of
        its first level: the network is not looked at. The last node may have fewer; between nodes
        its blocks then take as long as those of a whole one.
    intra_node, inter_node : Algorithm, dict or str
        The scatters within nodes and between their first ranks. A text is its kind, such as
        "linear_scatter".

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

    >>> [step.tolist() for step in HierarchicalScatter(2).message_levels(4)]
    [[[0, 2]], [[0, 1], [2, 3]]]
    """

    node_ranks: Count = Count(8, least=1, most=2**MAX_ROUNDS)
    intra_node: AlgorithmOf = AlgorithmOf("scatter", BinomialScatter())
    inter_node: AlgorithmOf = AlgorithmOf("scatter", BinomialScatter())

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        node_bytes = min(self.node_ranks, ranks) * message_bytes
        within, between = node_stages(self, ranks, message_bytes, node_bytes)
        return collective(numbered([between, within]))
