"""Binomial tree broadcast (bcast)."""

from __future__ import annotations

from dataclasses import dataclass

from ..steps import Step
from .algorithm import Algorithm
from .shared_steps import collective, spread_down


@dataclass(frozen=True)
class BinomialBroadcast(Algorithm, kind="binomial_broadcast"):
    """A rank that has the vector sends it on: from rank 0, over distances ..., 4, 2, 1 (as MPICH).

    `message_bytes` is the vector, n bytes. There are N - 1 messages of n bytes, in log2(N) steps,
    rounded up.

    Notes
    -----
    Without noise, with ``A = 2 o + L + (n - 1) G`` and ``d = max(o, g + (n - 1) G)`` between two
    sends of a rank, it takes ``A + (K - 1) max(A, d)`` on 2^K ranks, and ``A + d + (K - 2) max(A,
    d)`` on N ranks, N below 2^K and above 2^(K-1). It suits short messages (Thakur et al. 2005).

    References
    ----------
    Thakur, Rabenseifner & Gropp, "Optimization of Collective Communication Operations in MPICH",
    IJHPCA 2005.

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> BinomialBroadcast().message_levels(4)[0].tolist()
    [[0, 2]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        return collective(spread_down(ranks, message_bytes))
