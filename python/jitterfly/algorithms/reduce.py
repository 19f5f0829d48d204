"""Reduce to rank 0, up a binomial or k-nomial tree."""

from __future__ import annotations

from ..fields import frozen_dataclass
from ..steps import Step
from .algorithm import MOST_ROUNDS, Algorithm
from .shared_steps import Count, collective, gather_up, knomial_steps


@frozen_dataclass()
class BinomialReduce(Algorithm, kind="binomial_reduce"):
    """Vectors are combined towards rank 0, over distances 1, 2, 4, ... (as MPICH).

    `message_bytes` is the vector, n bytes. There are N - 1 messages of n bytes, in K = log2(N)
    steps, rounded up. A rank other than rank 0 has finished when its message is sent (Thakur et al.
    2005).

    Notes
    -----
    Without noise it takes ``A + (K - 1) max(A, g + (n - 1) G)`` on 2^K ranks, with ``A = 2 o + L +
    (n - 1) G + gamma n``. Other numbers of ranks: `jitterfly.theory.collective_completion`.

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> BinomialReduce().message_levels(4)[0].tolist()
    [[1, 0], [3, 2]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        return collective(gather_up(ranks, message_bytes, combine=True))


@frozen_dataclass()
class KnomialReduce(Algorithm, kind="knomial_reduce"):
    """A rank combines the vectors of ``radix - 1`` others in a row: a wider, lower tree.

    It is the tree of `KnomialBroadcast` the other way: multiples i of the radix k receive from ``i
    + 1``, ``i + 2``, ... ``i + k - 1``; then multiples of k^2 from ``i + k``, ``i + 2 k``, ...; and
    so on up to rank 0. A rank takes messages in this order. With radix 2 it is `BinomialReduce`.

    `message_bytes` is the vector, n bytes. There are N - 1 messages of n bytes, in ``(k - 1) K``
    steps with K = log(N) / log(k), rounded up. A rank other than rank 0 has finished when its
    message is sent.

    Parameters
    ----------
    radix : int
        k, from 2. With N or more, all send to rank 0.

    Raises
    ------
    ValueError
        `radix` out of range. More than 2^22 ranks, or more than 2^18 steps, when the case is made.

    Notes
    -----
    Without noise, with ``A = 2 o + L + (n - 1) G + gamma n`` and ``r = max(o + gamma n, g + (n - 1)
    G)`` between two receives of a rank, it takes ``K (A + (k - 2) r)`` on k^K ranks if no message
    waits for a link between levels. Other cases: `jitterfly.theory.collective_completion`.

    References
    ----------
    Thakur, Rabenseifner & Gropp, "Optimization of Collective Communication Operations in MPICH",
    IJHPCA 2005, for radix 2. Karp, Sahay, Santos & Schauser, "Optimal Broadcast and Summation in
    the LogP Model", SPAA 1993, for which shape is best.

    Examples
    --------
    Sender and receiver of the messages on seven ranks, step by step:

    >>> [step.tolist() for step in KnomialReduce(radix=3).message_levels(7)]
    [[[1, 0], [4, 3]], [[2, 0], [5, 3]], [[3, 0]], [[6, 0]]]
    """

    radix: Count = Count(4, least=2, most=2**MOST_ROUNDS)

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        return collective(knomial_steps(self, ranks, self.radix, message_bytes, up=True))
