"""Ring allgather."""

from __future__ import annotations

from dataclasses import dataclass

from ..steps import Shift, Step
from .algorithm import Algorithm
from .shared_steps import collective, message


@dataclass(frozen=True)
class RingAllgather(Algorithm, kind="ring_allgather"):
    """Rank i sends to rank i + 1 the block that it received last, N - 1 times.

    `message_bytes` is what one rank contributes, n bytes. A rank sends N - 1 messages of n bytes.

    Notes
    -----
    Without noise it takes ``A + (N - 2) max(A, g + (n - 1) G)``, with A the time of one message.
    Partners are neighbours, which suits long messages (Thakur et al. 2005).

    References
    ----------
    Thakur, Rabenseifner & Gropp, "Optimization of Collective Communication Operations in MPICH",
    IJHPCA 2005.

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> RingAllgather().message_levels(4)[0].tolist()
    [[0, 1], [1, 2], [2, 3], [3, 0]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        ring = message(Shift(1), 0, message_bytes, "ring", repeat=max(ranks - 1, 1))
        return collective([ring] if ranks > 1 else [])
