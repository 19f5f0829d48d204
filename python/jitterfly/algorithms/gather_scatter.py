"""Gather to rank 0 and scatter from it: over a binomial tree, or linear (basic_linear)."""

from __future__ import annotations

from ..fields import frozen_dataclass
from ..steps import Step
from .algorithm import Algorithm
from .shared_steps import blocks_over_tree, collective, linear_steps


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
    """Every rank sends to rank 0, which receives from rank 1, 2, 3, ... in this order.

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
