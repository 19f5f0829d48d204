"""Recursive doubling allreduce as point-to-point messages, for any number of ranks (by a fold)."""

from __future__ import annotations

from ..fields import frozen_dataclass
from ..steps import Step, Xor, power_below
from .algorithm import Forwarded
from .shared_steps import collective, fold_in, fold_out, message


@frozen_dataclass()
class RecursiveDoublingAllreduce(Forwarded, kind="recursive_doubling_allreduce"):
    """Rank i exchanges the whole vector with rank ``i xor 2^r`` in round r, and combines it.

    It is the schedule of `Butterfly`, with messages that occupy the links. Ranks beyond the largest
    power of two P = 2^K send their vector to ``i - P`` first, and get the result at the end (a far
    fold; MPICH folds neighbours: the same messages, other partners).

    `message_bytes` is the vector, n bytes. A rank sends K messages of n bytes; the fold adds two.

    Notes
    -----
    Without noise it takes ``A + (K - 1) max(A, g + (n - 1) G)`` with ``A = 2 o + L + (n - 1) G +
    gamma n`` on a LogGP network and P ranks; see `jitterfly.theory.collective_completion` for the
    fold. It suits short messages (Thakur et al. 2005).

    References
    ----------
    Thakur, Rabenseifner & Gropp, "Optimization of Collective Communication Operations in MPICH",
    IJHPCA 2005.

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> RecursiveDoublingAllreduce().message_levels(4)[0].tolist()
    [[0, 1], [1, 0], [2, 3], [3, 2]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        n, power = message_bytes, power_below(ranks)
        messages = fold_in(ranks, n, combine=True)
        for r in range(power.bit_length() - 1):
            messages.append(message(Xor(1 << r, power), r, n, f"round {r + 1}", combine=True))
        return collective(messages + fold_out(ranks, n)) + self.forward_steps(ranks)
