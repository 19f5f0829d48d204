"""Linear gather (basic_linear): every rank sends to the root."""

from __future__ import annotations

from dataclasses import dataclass

from ..steps import Step
from .algorithm import Algorithm
from .shared_steps import collective, linear_steps


@dataclass(frozen=True)
class LinearGather(Algorithm, kind="linear_gather"):
    """Every rank sends to rank 0, which receives from rank 1, 2, 3, ... in this order.

    `message_bytes` is what each rank puts in, n bytes. There are N - 1 messages. A rank other than
    rank 0 has finished when its message is sent. It is Open MPI's `basic_linear`.

    There are as many steps as other ranks, which take memory: up to 2^18 + 1 ranks, else a
    ValueError when the case is made.

    Notes
    -----
    Without noise it takes ``2 o + L + (n - 1) G + (N - 2) max(o, g + (n - 1) G)``, with the o of a
    message of n bytes: the messages come at once, and rank 0 takes one after the other.

    Examples
    --------
    Sender and receiver of the messages on three ranks, step by step:

    >>> [step.tolist() for step in LinearGather().message_levels(3)]
    [[[1, 0]], [[2, 0]]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        return collective(linear_steps(self, ranks, message_bytes, to_root=True))
