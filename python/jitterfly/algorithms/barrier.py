"""Barrier: dissemination, recursive doubling, and up and down a tree."""

from __future__ import annotations

from ..fields import frozen_dataclass
from ..steps import Shift, Step, Xor, power_below, rounds_of
from .algorithm import Algorithm
from .shared_steps import collective, fold_in, fold_out, gather_up, message, spread_down


@frozen_dataclass()
class DisseminationBarrier(Algorithm, kind="dissemination_barrier"):
    """Rank i sends to rank ``i + 2^r`` (modulo N), in round r, which ranks are there.

    `message_bytes` is the size of its messages. A rank sends log2(N) messages, rounded up; there is
    no fold. It is MPICH's barrier (Hensgen et al. 1988).

    Notes
    -----
    Without noise it takes ``A + (K - 1) max(A, g + (n - 1) G)``, ``A = 2 o + L + (n - 1) G``, on a
    LogGP network.

    References
    ----------
    Hensgen, Finkel & Manber, "Two Algorithms for Barrier Synchronization", IJPP 1988.

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> DisseminationBarrier().message_levels(4)[0].tolist()
    [[0, 1], [1, 2], [2, 3], [3, 0]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        return collective(
            [
                message(Shift(1 << r), r, message_bytes, f"round {r + 1}")
                for r in range(rounds_of(ranks))
            ]
        )


@frozen_dataclass()
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


@frozen_dataclass()
class TreeBarrier(Algorithm, kind="tree_barrier"):
    """Ranks send to rank 0 along a binomial tree that they are there; an answer goes back.

    `message_bytes` is the size of its messages. There are 2 K steps, K = log2(N) rounded up, and 2
    (N - 1) messages in all. Open MPI's `barrier_intra_tree` has the same shape.

    Notes
    -----
    Without noise it takes ``2 K (alpha + beta n)`` on Hockney's network and 2^K ranks; see
    `jitterfly.theory.collective_completion` for the rest.

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> TreeBarrier().message_levels(4)[0].tolist()
    [[1, 0], [3, 2]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        up = gather_up(ranks, message_bytes, combine=False)
        return collective(up + spread_down(ranks, message_bytes, first=rounds_of(ranks)))
