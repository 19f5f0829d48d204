"""Binomial reduce."""

from __future__ import annotations

from dataclasses import dataclass

from ..steps import Step
from .algorithm import Algorithm
from .schedule import collective, gather_up


@dataclass(frozen=True)
class BinomialReduce(Algorithm, kind="binomial_reduce"):
    """Vectors are combined towards rank 0, over distances 1, 2, 4, ... (as MPICH).

    `message_bytes` is the vector, n bytes. N - 1 messages of n bytes, in K = log2(N) steps, rounded
    up. Other ranks are done when theirs is sent.

    Notes
    -----
    Noise-free, 2^K ranks, with ``A = 2 o + L + (n - 1) G + gamma n``: ``A + (K - 1) max(A, g +
    (n - 1) G)``. Other numbers: `jitterfly.theory.collective_completion`. Thakur, Rabenseifner &
    Gropp (IJHPCA 2005).
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        return collective(gather_up(ranks, message_bytes, combine=True))
