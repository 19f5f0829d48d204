"""Binomial tree reduce."""

from __future__ import annotations

from dataclasses import dataclass

from ..steps import Step
from .algorithm import Algorithm
from .shared_steps import collective, gather_up


@dataclass(frozen=True)
class BinomialReduce(Algorithm, kind="binomial_reduce"):
    """Vectors are combined towards rank 0, over distances 1, 2, 4, ... (as MPICH).

    `message_bytes` is the vector, n bytes. There are N - 1 messages of n bytes, in K = log2(N)
    steps, rounded up. A rank other than rank 0 has finished when its message is sent (Thakur et al.
    2005).

    Notes
    -----
    Without noise it takes ``A + (K - 1) max(A, g + (n - 1) G)`` on 2^K ranks, with ``A = 2 o + L +
    (n - 1) G + gamma n``. Other numbers of ranks: `jitterfly.theory.collective_completion`.

    References
    ----------
    Thakur, Rabenseifner & Gropp, "Optimization of Collective Communication Operations in MPICH",
    IJHPCA 2005.

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> BinomialReduce().message_levels(4)[0].tolist()
    [[1, 0], [3, 2]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        return collective(gather_up(ranks, message_bytes, combine=True))
