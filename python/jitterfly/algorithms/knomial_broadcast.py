"""K-nomial tree broadcast (bcast)."""

from __future__ import annotations

from ..fields import frozen_dataclass
from ..steps import Step
from .algorithm import MOST_ROUNDS, Algorithm
from .shared_steps import Count, collective, knomial_steps


@frozen_dataclass()
class KnomialBroadcast(Algorithm, kind="knomial_broadcast"):
    """A rank that has the vector sends it to ``radix - 1`` others in a row: a wider, lower tree.

    In the last level of K, rounded up, the ranks i that are multiples of the radix k send to ``i +
    1``, ``i + 2``, ... ``i + k - 1``; in the level before, multiples of k^2 send to ``i + k``, ``i
    + 2 k``, ...; and so on, the root first. With radix 2 it is `BinomialBroadcast`.

    `message_bytes` is the vector, n bytes. There are N - 1 messages of n bytes, in ``(k - 1) K``
    steps with K = log(N) / log(k), rounded up.

    Parameters
    ----------
    radix : int
        k, from 2. With N or more, rank 0 sends to all.

    Raises
    ------
    ValueError
        `radix` out of range. More than 2^22 ranks, or more than 2^18 steps, when the case is made.

    Notes
    -----
    Without noise, with ``A = 2 o + L + (n - 1) G`` and ``d = max(o, g + (n - 1) G)`` between two
    sends of a rank, it takes ``A + (K - 1) max(A, d) + K (k - 2) d`` on k^K ranks. A higher radix
    pays where a message takes far longer than a rank needs between two sends. It is Open MPI's
    `knomial`, of radix 4 by default, and MPICH's tree of type `knomial_1`.

    References
    ----------
    Thakur, Rabenseifner & Gropp, "Optimization of Collective Communication Operations in MPICH",
    IJHPCA 2005, for radix 2. Karp, Sahay, Santos & Schauser, "Optimal Broadcast and Summation in
    the LogP Model", SPAA 1993, for which shape is best.

    Examples
    --------
    Sender and receiver of the messages on seven ranks, step by step:

    >>> [step.tolist() for step in KnomialBroadcast(radix=3).message_levels(7)]
    [[[0, 3]], [[0, 6]], [[0, 1], [3, 4]], [[0, 2], [3, 5]]]
    """

    radix: Count = Count(4, least=2, most=2**MOST_ROUNDS)

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        return collective(knomial_steps(self, ranks, self.radix, message_bytes, up=False))
