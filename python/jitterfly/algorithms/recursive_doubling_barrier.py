"""Recursive doubling barrier."""

from __future__ import annotations

from dataclasses import dataclass

from ..steps import Step, Xor, power_below
from .algorithm import Algorithm
from .schedule import collective, fold_in, fold_out, message


@dataclass(frozen=True)
class RecursiveDoublingBarrier(Algorithm, kind="recursive_doubling_barrier"):
    """Round r: ranks i and ``i xor 2^r`` tell each other which ranks they know to be there.

    Ranks beyond the largest power of two P = 2^K tell ``i - P`` first and are told at the end (a
    far fold; Open MPI's `barrier_intra_recursivedoubling` folds as far).

    `message_bytes` is the size of its messages. K messages a rank, two more with the fold.

    Notes
    -----
    Noise-free, LogGP, P ranks: ``A + (K - 1) max(A, g + (n - 1) G)``, ``A = 2 o + L + (n - 1) G``.
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        n, power = message_bytes, power_below(ranks)
        messages = fold_in(ranks, n, combine=False)
        for r in range(power.bit_length() - 1):
            messages.append(message(Xor(1 << r, power), r, n, f"round {r + 1}"))
        return collective(messages + fold_out(ranks, n))
