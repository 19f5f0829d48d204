"""What every algorithm offers: its steps, from a description."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ..fields import Component
from ..steps import Costs, Step

MOST_ROUNDS = 30


class Algorithm(Component, ABC):
    """Base of all algorithms."""

    @abstractmethod
    def steps(self, log2_ranks: int) -> list[Step]:
        """The steps of one collective on ``2**log2_ranks`` ranks, beginning with ENTER.

        Raises
        ------
        ValueError
            The description does not fit this number of ranks.
        """

    @abstractmethod
    def send_gap(self, log2_ranks: int, costs: Costs) -> int:
        """The shortest time, in ticks, from the start of a rank's send to its next one's start."""

    def forwards(self, log2_ranks: int) -> int:
        """How many redundant exchanges follow the collective: T counts from 0 to this."""
        return 0

    def forward_ticks(self) -> int:
        """CPU time of one FORWARD step, in ticks."""
        return 0
