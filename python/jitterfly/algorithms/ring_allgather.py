"""Ring allgather."""

from __future__ import annotations

from dataclasses import dataclass

from ..steps import Shift, Step
from .algorithm import Algorithm
from .schedule import collective, message


@dataclass(frozen=True)
class RingAllgather(Algorithm, kind="ring_allgather"):
    """Rank i passes on to rank i + 1 the block that it received last, N - 1 times.

    `message_bytes` is what one rank contributes, n bytes. N - 1 messages of n bytes a rank.

    Notes
    -----
    Noise-free, with A the time of one message: ``A + (N - 2) max(A, g + (n - 1) G)``. Its partners
    are neighbours, which suits long messages: Thakur, Rabenseifner & Gropp (IJHPCA 2005).
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        ring = message(Shift(1), 0, message_bytes, "ring", repeat=max(ranks - 1, 1))
        return collective([ring] if ranks > 1 else [])
