"""Recursive doubling allreduce, message by message."""

from __future__ import annotations

from ..fields import frozen_dataclass
from ..steps import Step, Xor, power_below
from .algorithm import Forwarded
from .schedule import collective, fold_in, fold_out, message


@frozen_dataclass()
class RecursiveDoublingAllreduce(Forwarded, kind="recursive_doubling_allreduce"):
    """Round r exchanges the whole vector with rank ``i xor 2^r`` and combines it.

    The schedule of `Butterfly`, with messages that occupy the links. Ranks beyond the largest
    power of two P = 2^K send their vector to ``i - P`` first, and are sent the result at the end
    (a far fold; MPICH folds neighbours: the same messages, other partners).

    `message_bytes` is the vector, n bytes. K messages of n bytes a rank, two more with the fold.

    Notes
    -----
    Noise-free, LogGP, P ranks: ``A + (K - 1) max(A, g + (n - 1) G)`` with ``A = 2 o + L +
    (n - 1) G + gamma n``; see `jitterfly.theory.collective_completion` for the fold. Best for short
    messages: Thakur, Rabenseifner & Gropp, "Optimization of Collective Communication Operations in
    MPICH" (IJHPCA 2005).
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        n, power = message_bytes, power_below(ranks)
        messages = fold_in(ranks, n, combine=True)
        for r in range(power.bit_length() - 1):
            messages.append(message(Xor(1 << r, power), r, n, f"round {r + 1}", combine=True))
        return collective(messages + fold_out(ranks, n)) + self.forward_steps(ranks)
