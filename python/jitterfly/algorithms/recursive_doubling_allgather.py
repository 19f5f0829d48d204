"""Recursive doubling allgather."""

from __future__ import annotations

from dataclasses import dataclass

from ..steps import Step, Xor, power_below
from .algorithm import Algorithm
from .shared_steps import collective, fold_in, fold_out, message


@dataclass(frozen=True)
class RecursiveDoublingAllgather(Algorithm, kind="recursive_doubling_allgather"):
    """Rank i exchanges all that it holds with rank ``i xor 2^r`` in round r.

    Ranks beyond the largest power of two P = 2^K send their block to ``i - P`` first, and get the N
    - 1 blocks that they lack at the end. Some groups of ranks then hold blocks of such ranks as
    well and others do not: every message of a round takes as long as the longest of that round,
    ``2^r + min(2^r, N - P)`` blocks. So numbers of ranks other than P cost a little more than they
    must. (MPICH takes recursive doubling for powers of two only, and `BruckAllgather` else.)

    `message_bytes` is what one rank contributes, n bytes. On P ranks a rank sends K messages, of 1,
    2, 4, ... blocks of n bytes; the fold adds two (Thakur et al. 2005).

    Notes
    -----
    Without noise it takes ``K alpha + (P - 1) n beta`` on Hockney's network and P ranks.

    References
    ----------
    Thakur, Rabenseifner & Gropp, "Optimization of Collective Communication Operations in MPICH",
    IJHPCA 2005.

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> RecursiveDoublingAllgather().message_levels(4)[0].tolist()
    [[0, 1], [1, 0], [2, 3], [3, 2]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        n, power = message_bytes, power_below(ranks)
        messages = fold_in(ranks, n, combine=False)
        for r in range(power.bit_length() - 1):
            held = (1 << r) + min(1 << r, ranks - power)
            messages.append(message(Xor(1 << r, power), r, held * n, f"round {r + 1}"))
        return collective(messages + fold_out(ranks, (ranks - 1) * n))
