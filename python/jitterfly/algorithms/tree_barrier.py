"""Tree barrier: gather up a tree, release down it."""

from __future__ import annotations

from dataclasses import dataclass

from ..steps import Step, rounds_of
from .algorithm import Algorithm
from .shared_steps import collective, gather_up, spread_down


@dataclass(frozen=True)
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
