"""Scan (prefix reduction): recursive doubling, and along a chain of all ranks."""

from __future__ import annotations

import numpy as np

from ..fields import frozen_dataclass
from ..steps import Listed, Partners, Range, Step, Xor, power_below, rounds_of
from .algorithm import Algorithm
from .shared_steps import check_ranks, check_step_count, collective, in_one_row, message


@frozen_dataclass()
class RecursiveDoublingScan(Algorithm, kind="recursive_doubling_scan"):
    """Rank i exchanges what its group has combined with ``i xor 1, 2, 4, ...``, where there is one.

    Each rank combines what comes with that of its group, which it sends on, and what comes from a
    lower rank with its result. `message_bytes` is the vector, n bytes. There are log2(N) rounds,
    rounded up. It is what MPICH and Open MPI take for MPI_Scan and MPI_Exscan.

    To combine a message takes n gamma, also where a rank combines it with both. Numbers of ranks
    that are no powers of two take memory: up to 2^22 ranks, else a ValueError when the case is
    made.

    Notes
    -----
    Without noise it takes ``K (2 o + L + (n - 1) G + gamma n)``, K = log2(N) rounded up, where
    messages do not wait for links.

    References
    ----------
    Sanders & Träff, "Parallel prefix (scan) algorithms for MPI", EuroPVM/MPI 2006.

    Examples
    --------
    Sender and receiver of the messages on three ranks, step by step:

    >>> [step.tolist() for step in RecursiveDoublingScan().message_levels(3)]
    [[[0, 1], [1, 0]], [[0, 2], [2, 0]]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        if power_below(ranks) != ranks:
            check_ranks(self, ranks)
        return collective([
            message(_partners(1 << r, ranks), r, message_bytes, f"round {r + 1}", combine=True)
            for r in range(rounds_of(ranks))
        ])  # fmt: skip


def _partners(mask: int, ranks: int) -> Partners:
    """Exchanges with ``i xor mask`` among all ranks that have such a partner."""
    if power_below(ranks) == ranks:
        return Xor(mask, ranks)
    senders = np.arange(ranks)
    pairs = np.stack([senders, senders ^ mask], axis=1)
    return Listed(pairs[pairs[:, 1] < ranks])


@frozen_dataclass()
class LinearScan(Algorithm, kind="linear_scan"):
    """A rank combines what it receives with its own vector, and sends the result to the next rank.

    `message_bytes` is the vector, n bytes. There are N - 1 messages of it, each after the one
    before. It is Open MPI's `linear`, of MPI_Scan and MPI_Exscan alike.

    There are as many steps as other ranks, which take memory: up to 2^18 + 1 ranks, else a
    ValueError when the case is made.

    Notes
    -----
    Without noise it takes N - 1 times the time of one message, ``2 o + L + (n - 1) G + gamma n``.

    Examples
    --------
    Sender and receiver of the messages on three ranks, step by step:

    >>> [step.tolist() for step in LinearScan().message_levels(3)]
    [[[0, 1]], [[1, 2]]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        check_step_count(self, ranks - 1, "ranks must be fewer")
        steps = [
            message(Range(r, r + 1, 1), r, message_bytes, "", combine=True)
            for r in range(ranks - 1)
        ]
        return collective(in_one_row(steps, "chain"))
