"""Allreduce as a reduce to rank 0 and a broadcast from it."""

from __future__ import annotations

from ..fields import frozen_dataclass
from ..steps import Step, rounds_of
from .algorithm import Forwarded
from .schedule import collective, gather_up, spread_down


@frozen_dataclass()
class ReduceBroadcastAllreduce(Forwarded, kind="reduce_broadcast_allreduce"):
    """`BinomialReduce` to rank 0, then `BinomialBroadcast` from there.

    `message_bytes` is the vector, n bytes; every message has n bytes. 2 K steps, K = log2(N)
    rounded up, 2 (N - 1) messages in all.

    Notes
    -----
    Noise-free the sum of both, see there: about twice the time of recursive doubling, with far
    fewer messages in all. What MPI libraries did first, and still do for operations on several
    machines: Thakur, Rabenseifner & Gropp (IJHPCA 2005).
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        up = gather_up(ranks, message_bytes, combine=True)
        down = spread_down(ranks, message_bytes, first=rounds_of(ranks))
        return collective(up + down) + self.forward_steps(ranks)
