"""Recursive doubling allgather."""

from __future__ import annotations

from dataclasses import dataclass

from ..steps import Step, Xor, power_below
from .algorithm import Algorithm
from .schedule import collective, fold_in, fold_out, message


@dataclass(frozen=True)
class RecursiveDoublingAllgather(Algorithm, kind="recursive_doubling_allgather"):
    """Round r exchanges all that is held with rank ``i xor 2^r``.

    Ranks beyond the largest power of two P = 2^K send their block to ``i - P`` first, and are sent
    the N - 1 that they lack at the end. Some groups of ranks then hold blocks of such ranks too
    and others do not: every message of a round is taken as long as the longest of that round,
    ``2^r + min(2^r, N - P)`` blocks, so that other numbers than P cost a little more than they
    must. (MPICH takes recursive doubling for powers of two only, and `BruckAllgather` else.)

    `message_bytes` is what one rank contributes, n bytes. K messages a rank, of 1, 2, 4, ...
    blocks of n bytes on P ranks; two more with the fold.

    Notes
    -----
    Noise-free, Hockney, P ranks: ``K alpha + (P - 1) n beta``. Thakur, Rabenseifner & Gropp
    (IJHPCA 2005).
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        n, power = message_bytes, power_below(ranks)
        messages = fold_in(ranks, n, combine=False)
        for r in range(power.bit_length() - 1):
            held = (1 << r) + min(1 << r, ranks - power)
            messages.append(message(Xor(1 << r, power), r, held * n, f"round {r + 1}"))
        return collective(messages + fold_out(ranks, (ranks - 1) * n))
