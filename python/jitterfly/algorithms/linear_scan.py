"""Linear scan (prefix reduction): along a chain of all ranks."""

from __future__ import annotations

from dataclasses import dataclass

from ..steps import Range, Step
from .algorithm import Algorithm
from .shared_steps import check_step_count, collective, in_one_row, message


@dataclass(frozen=True)
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
