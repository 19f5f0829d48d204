"""Recursive doubling scan (prefix reduction)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..steps import Listed, Partners, Step, Xor, power_below, rounds_of
from .algorithm import Algorithm
from .shared_steps import check_ranks, collective, message


@dataclass(frozen=True)
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
