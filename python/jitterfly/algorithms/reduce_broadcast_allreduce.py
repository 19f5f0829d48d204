"""Allreduce as a reduce to rank 0 and a broadcast from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..steps import Step
from ..units import Seconds
from .algorithm import Forwarding
from .schedule import collective, gather_up, rounds_of, spread_down


@dataclass(frozen=True)
class ReduceBroadcastAllreduce(Forwarding, kind="reduce_broadcast_allreduce"):
    """`BinomialReduce` to rank 0, then `BinomialBroadcast` from there.

    `message_bytes` is the vector, n bytes; every message has n bytes. 2 K steps, K = log2(N)
    rounded up, 2 (N - 1) messages in all.

    Parameters
    ----------
    after : int or "all"
        Redundant exchanges of the result after it, as of `Butterfly`: with ``i xor 2^(m - 1)``
        among all ranks, 0 to ``log2(ranks)`` rounded up. "all" is the most there are.
    forward_cost : float or str
        CPU time of each redundant exchange, seconds. Needs `after` above 0.

    Raises
    ------
    ValueError
        A parameter out of range; `after` beyond its range when the case is made.

    Notes
    -----
    Noise-free the sum of both, see there: about twice the time of recursive doubling, with far
    fewer messages in all. What MPI libraries did first, and still do for operations on several
    machines: Thakur, Rabenseifner & Gropp (IJHPCA 2005).
    """

    after: int | Literal["all"] = 0
    forward_cost: Seconds = Seconds(0.0)

    def __post_init__(self) -> None:
        self.check_forwards()

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        up = gather_up(ranks, message_bytes, combine=True)
        down = spread_down(ranks, message_bytes, first=rounds_of(ranks))
        return collective(up + down) + self.forward_steps(ranks)
