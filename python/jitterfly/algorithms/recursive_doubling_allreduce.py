"""Recursive doubling allreduce, message by message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..partners import Xor
from ..steps import Step
from ..units import Seconds
from .algorithm import Forwarding
from .schedule import collective, fold_in, fold_out, message, power_below


@dataclass(frozen=True)
class RecursiveDoublingAllreduce(Forwarding, kind="recursive_doubling_allreduce"):
    """Round r exchanges the whole vector with rank ``i xor 2^r`` and combines it.

    The schedule of `Butterfly`, with messages that occupy the links. Ranks beyond the largest
    power of two P = 2^K send their vector to ``i - P`` first, and are sent the result at the end
    (a far fold; MPICH folds neighbours: the same messages, other partners).

    `message_bytes` is the vector, n bytes. K messages of n bytes a rank, two more with the fold.

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
    Noise-free, LogGP, P ranks: ``A + (K - 1) max(A, g + (n - 1) G)`` with ``A = 2 o + L +
    (n - 1) G + gamma n``; see `jitterfly.theory.collective_completion` for the fold. Best for short
    messages: Thakur, Rabenseifner & Gropp, "Optimization of Collective Communication Operations in
    MPICH" (IJHPCA 2005).
    """

    after: int | Literal["all"] = 0
    forward_cost: Seconds = Seconds(0.0)

    def __post_init__(self) -> None:
        self.check_forwards()

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        n, power = message_bytes, power_below(ranks)
        messages = fold_in(ranks, n, combine=True)
        for r in range(power.bit_length() - 1):
            messages.append(message(Xor(1 << r, power), r, n, f"round {r + 1}", combine=True))
        return collective(messages + fold_out(ranks, n)) + self.forward_steps(ranks)
