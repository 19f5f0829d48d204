"""Recursive doubling barrier."""

from __future__ import annotations

from dataclasses import dataclass

from ..steps import Step, Xor, power_below
from .algorithm import Algorithm
from .shared_steps import collective, fold_in, fold_out, message


@dataclass(frozen=True)
class RecursiveDoublingBarrier(Algorithm, kind="recursive_doubling_barrier"):
    """Ranks i and ``i xor 2^r`` exchange in round r which ranks are there.

    Ranks beyond the largest power of two P = 2^K send to ``i - P`` first and get a message at the
    end (a far fold; Open MPI's `barrier_intra_recursivedoubling` folds as far).

    `message_bytes` is the size of its messages. A rank sends K messages; the fold adds two.

    Notes
    -----
    Without noise it takes ``A + (K - 1) max(A, g + (n - 1) G)``, ``A = 2 o + L + (n - 1) G``, on a
    LogGP network and P ranks.

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> RecursiveDoublingBarrier().message_levels(4)[0].tolist()
    [[0, 1], [1, 0], [2, 3], [3, 2]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        n, power = message_bytes, power_below(ranks)
        messages = fold_in(ranks, n, combine=False)
        for r in range(power.bit_length() - 1):
            messages.append(message(Xor(1 << r, power), r, n, f"round {r + 1}"))
        return collective(messages + fold_out(ranks, n))
