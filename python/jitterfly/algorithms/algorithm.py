"""What every algorithm offers: its steps, from a description."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from typing import Any, ClassVar, Literal

from ..fields import Component, check_integer, shorten
from ..network import Network
from ..steps import NOBODY_ASKS, Asking, Costs, Step
from ..units import LONGEST_TICKS, to_ticks
from .levels import Level, message_levels
from .schedule import forward_steps, rounds_of

MOST_ROUNDS = 30


class Algorithm(Component, ABC):
    """Base of all algorithms.

    `added`: fields that are younger than records on disk.
    """

    added: ClassVar[tuple[str, ...]] = ()

    def identity(self) -> dict[str, Any]:
        """Plain values, without `added` fields that are as they were before: to find records."""
        values = self.to_dict()
        usual = {field.name: field.default for field in fields(self) if field.name in self.added}
        return {k: v for k, v in values.items() if k not in usual or getattr(self, k) != usual[k]}

    @abstractmethod
    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        """The steps of one collective on so many ranks, with a row "start" at its beginning.

        Parameters
        ----------
        ranks : int
            From 1 to 2^30.
        message_bytes : int
            What the algorithm's own documentation says: the vector, or a part of it.

        Raises
        ------
        ValueError
            The description does not fit this number of ranks.
        """

    def message_levels(self, ranks: int) -> list[Level]:
        """The messages of one collective, level by level, as a pattern of congestion.

        Parameters
        ----------
        ranks : int
            From 1 to 2^30.

        Returns
        -------
        list of arrays of shape (messages, 2), uint32
            Sender and receiver. Copies are in the level of the messages that follow them, forwards
            in levels of their own.

        Raises
        ------
        ValueError
            The description does not fit this number of ranks, or copies are made on demand.

        Examples
        --------
        >>> import jitterfly as jf
        >>> [level.tolist() for level in jf.BinomialBroadcast().message_levels(4)]
        [[[0, 2]], [[0, 1], [2, 3]]]
        """
        return message_levels(self.steps(ranks, ranks), ranks, self.copied_to)

    def send_gap(self, ranks: int, costs: Costs) -> int:
        """The shortest time, in ticks, between two sends of a rank that do not wait for the gap."""
        return LONGEST_TICKS  # MESSAGE steps wait

    @property
    def copied_to(self) -> list[int]:
        """Redundant copies inside the collective go to rank xor each of these."""
        return [1]

    def asking(self, network: Network) -> Asking:
        """Copies on demand inside the collective."""
        return NOBODY_ASKS

    def forwards(self, ranks: int) -> int:
        """How many redundant exchanges follow the collective: T counts from 0 to this."""
        return 0

    def forward_ticks(self) -> int:
        """CPU time of one FORWARD step, in ticks."""
        return 0


class Forwarding(Algorithm):
    """Base of algorithms whose result can be passed on after them: `after`, `forward_cost`."""

    after: int | Literal["all"]
    forward_cost: Any  # seconds

    def check_forwards(self) -> None:
        """Raise ValueError unless `after` and `forward_cost` are in range; puts `after` right."""
        object.__setattr__(self, "after", _check_after(self.after))
        to_ticks(self.forward_cost, "forward_cost")
        if self.forward_cost > 0 and self.after == 0:
            raise ValueError("forward_cost must be 0 when after is 0: nothing is forwarded")

    def forwards(self, ranks: int) -> int:
        most = rounds_of(ranks)
        if self.after == "all":
            return most
        if self.after > most:
            raise ValueError(
                f"after must be 'all' or an integer from 0 to {most} (K for 2^K ranks, rounded up)"
                f", got {self.after}"
            )
        return self.after

    def forward_ticks(self) -> int:
        return to_ticks(self.forward_cost, "forward_cost")

    def send_gap(self, ranks: int, costs: Costs) -> int:
        if self.forwards(ranks) >= 2:
            return self.forward_ticks()  # forwards may follow each other at once
        if self.forwards(ranks) == 1:
            return costs.send  # and one the last message
        return LONGEST_TICKS

    def forward_steps(self, ranks: int) -> list[Step]:
        """The redundant exchanges after the collective."""
        return forward_steps(self.forwards(ranks))


def _check_after(after: Any) -> int | Literal["all"]:
    if isinstance(after, str) and after == "all":
        return "all"
    try:
        return check_integer(after, "after", 0, MOST_ROUNDS)
    except ValueError:
        rule = f"after must be 'all' or an integer from 0 to {MOST_ROUNDS} (K for 2^K ranks)"
        raise ValueError(f"{rule}, got {shorten(after)}") from None
