"""Recursive halving reduce-scatter."""

from __future__ import annotations

from dataclasses import dataclass

from ..steps import Step, Xor, power_below
from .algorithm import Algorithm
from .shared_steps import block_bytes, collective, fold_in, fold_out, message


@dataclass(frozen=True)
class RecursiveHalvingReduceScatter(Algorithm, kind="recursive_halving_reduce_scatter"):
    """Ranks send, in each round, the half of the vector that the other half of their group needs.

    The distances are P/2, P/4, ... 1 (as MPICH): at the end each rank holds its block of the
    result. Ranks beyond the largest power of two P = 2^K send their vector to ``i - P`` first,
    which also reduces their block and sends it to them at the end (a far fold; MPICH folds
    neighbours). Halves then hold unequal numbers of blocks: every message of a round takes as long
    as the longest of that round, ``d + min(d, N - P)`` blocks over distance d.

    `message_bytes` is the vector that each rank puts in, n bytes, cut into N blocks of n / N
    (rounded up). On P ranks a rank sends K messages, of P/2, P/4, ... 1 blocks; the fold adds two.
    Unless n is 0, a block has at least one byte: with fewer bytes than blocks a rank sends more
    than an implementation would.

    Notes
    -----
    Without noise it takes ``K alpha + (P - 1)/P n (beta + gamma)`` on Hockney's network and P
    ranks. It is for commutative operations (Thakur et al. 2005).

    References
    ----------
    Thakur, Rabenseifner & Gropp, "Optimization of Collective Communication Operations in MPICH",
    IJHPCA 2005.

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> RecursiveHalvingReduceScatter().message_levels(4)[0].tolist()
    [[0, 2], [1, 3], [2, 0], [3, 1]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        power = power_below(ranks)
        block, rounds = block_bytes(message_bytes, ranks), power.bit_length() - 1
        messages = fold_in(ranks, message_bytes, combine=True)
        for r in range(rounds):
            mask = power >> r + 1
            size = (mask + min(mask, ranks - power)) * block
            messages.append(message(Xor(mask, power), r, size, f"round {r + 1}", combine=True))
        return collective(messages + fold_out(ranks, block))
