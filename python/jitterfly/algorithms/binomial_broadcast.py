"""Binomial broadcast."""

from __future__ import annotations

from dataclasses import dataclass

from ..steps import Step
from .algorithm import Algorithm
from .schedule import collective, spread_down


@dataclass(frozen=True)
class BinomialBroadcast(Algorithm, kind="binomial_broadcast"):
    """A rank that has the vector sends it on: from rank 0, over distances ..., 4, 2, 1 (as MPICH).

    `message_bytes` is the vector, n bytes. N - 1 messages of n bytes, in log2(N) steps, rounded up.

    Notes
    -----
    Noise-free, with ``A = 2 o + L + (n - 1) G`` and ``d = max(o, g + (n - 1) G)`` between two sends
    of a rank: ``A + (K - 1) max(A, d)`` for 2^K ranks, ``A + d + (K - 2) max(A, d)`` for N below
    2^K and above 2^(K-1). Best for short messages: Thakur, Rabenseifner & Gropp (IJHPCA 2005).
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        return collective(spread_down(ranks, message_bytes))
