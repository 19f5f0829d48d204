"""Allreduce as a reduce to rank 0 and a broadcast from it."""

from __future__ import annotations

from ..fields import frozen_dataclass
from ..steps import Step, rounds_of
from .algorithm import Forwarded
from .shared_steps import collective, gather_up, spread_down


@frozen_dataclass()
class ReduceBroadcastAllreduce(Forwarded, kind="reduce_broadcast_allreduce"):
    """`BinomialReduce` to rank 0, then `BinomialBroadcast` from there.

    `message_bytes` is the vector, n bytes; every message has n bytes. There are 2 K steps, K =
    log2(N) rounded up, and 2 (N - 1) messages in all.

    Notes
    -----
    Without noise it takes as long as both together: about twice the time of recursive doubling,
    with far fewer messages in all. MPI libraries did this first, and still do for operations on
    several machines (Thakur et al. 2005).

    References
    ----------
    Thakur, Rabenseifner & Gropp, "Optimization of Collective Communication Operations in MPICH",
    IJHPCA 2005.

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> ReduceBroadcastAllreduce().message_levels(4)[0].tolist()
    [[1, 0], [3, 2]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        up = gather_up(ranks, message_bytes, combine=True)
        down = spread_down(ranks, message_bytes, first=rounds_of(ranks))
        return collective(up + down) + self.forward_steps(ranks)
