"""Ring reduce-scatter."""

from __future__ import annotations

from dataclasses import dataclass

from ..steps import Shift, Step
from .algorithm import Algorithm
from .shared_steps import block_bytes, collective, message


@dataclass(frozen=True)
class RingReduceScatter(Algorithm, kind="ring_reduce_scatter"):
    """Rank i sends the block that it combined last to rank i + 1, N - 1 times.

    In step s rank i sends block ``i - s - 1`` (modulo N) and combines what it receives; at the end
    it holds block i of the result. It is the first half of `RingAllreduce`.

    `message_bytes` is the vector that each rank puts in, n bytes, cut into N blocks of n / N
    (rounded up). A rank sends N - 1 messages of a block. Unless n is 0, a block has at least one
    byte: with fewer bytes than blocks a rank sends more than an implementation would.

    Notes
    -----
    Without noise it takes ``A + (N - 2) max(A, g + (b - 1) G)`` for blocks of b bytes, with A the
    time of one message. Partners are neighbours, and no rank sends more than it must: it suits
    long vectors. It is Open MPI's and NCCL's `ring`, for commutative operations.

    References
    ----------
    Patarasuk & Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC
    2009.

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> RingReduceScatter().message_levels(4)[0].tolist()
    [[0, 1], [1, 2], [2, 3], [3, 0]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        block, rest = block_bytes(message_bytes, ranks), ranks - 1
        ring = [message(Shift(1), 0, block, "ring", combine=True, repeat=rest)] if rest else []
        return collective(ring)
