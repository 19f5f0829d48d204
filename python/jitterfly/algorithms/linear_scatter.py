"""Linear scatter (basic_linear): the root sends to every rank."""

from __future__ import annotations

from dataclasses import dataclass

from ..steps import Step
from .algorithm import Algorithm
from .shared_steps import collective, linear_steps


@dataclass(frozen=True)
class LinearScatter(Algorithm, kind="linear_scatter"):
    """Rank 0 sends to rank 1, 2, 3, ... in this order.

    `message_bytes` is what each rank gets, n bytes. There are N - 1 messages, of which one may
    wait for the link that the one before it occupies. It is Open MPI's `basic_linear`.

    There are as many steps as other ranks, which take memory: up to 2^18 + 1 ranks, else a
    ValueError when the case is made.

    Notes
    -----
    Without noise it takes ``2 o + L + (n - 1) G + (N - 2) max(o, g + (n - 1) G)``, with the o of a
    message of n bytes.

    Examples
    --------
    Sender and receiver of the messages on three ranks, step by step:

    >>> [step.tolist() for step in LinearScatter().message_levels(3)]
    [[[0, 1]], [[0, 2]]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        return collective(linear_steps(self, ranks, message_bytes, to_root=False))
