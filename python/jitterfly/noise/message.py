"""`MessageNoise`: random delay of each message in the network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from ..distributions.constant import ConstantOrDrawn
from ..distributions.distribution import Probability
from ..fields import frozen_dataclass
from ..units import OptionalSeconds, Seconds
from .source import DelayNoise, ExpectedWork, Hits, MaxWork, Shared, WindowNoise


@frozen_dataclass()
class MessageNoise(DelayNoise, WindowNoise, kind="message"):
    """The way of each message, original, copy or forward, takes longer by an independent draw.

    Parameters
    ----------
    delay : Distribution, float or str
        How much longer; seconds alone are a constant delay.
    probability : float or str
        That a message is delayed at all, from 0 to 1.
    shared : False, "machine", "node", "rack", "level N", another name of a level, or int
        Which receivers share the draw of a round: none, all, or nodes of so many consecutive ranks
        (the last one may have fewer).
    during : "all" or "communication"
        Both give the same, as for `NetworkJitter`.
    begin, end : float or str
        Only messages that leave their sender's CPU from `begin` to before `end` are delayed,
        seconds; all without them.

    Raises
    ------
    ValueError
        A parameter out of range; size of nodes when the case is made.

    Examples
    --------
    >>> from jitterfly import Exponential
    >>> MessageNoise(delay=Exponential("1us"), probability=0.01).delay.name
    'exponential, mean 1 µs'
    """

    of_messages: ClassVar[bool] = True

    delay: ConstantOrDrawn
    probability: Probability = Probability(1.0)
    shared: Shared = False
    during: Literal["all", "communication"] = "all"
    begin: Seconds = Seconds(0.0)
    end: OptionalSeconds = OptionalSeconds()

    def __post_init__(self) -> None:
        self.check_fields()

    def apply(self, program: Any, ranks: int, transit: int, transits: Sequence[int] = ()) -> None:
        program.add_message(delay=self.table().delay(), **self.engine_fields(ranks))

    def why_ineffective(self, work: MaxWork) -> str:
        return "" if work.exchanges else "no messages are exchanged; take more ranks"

    def expected_hits(self, work: ExpectedWork) -> Hits | None:
        if self.begin or self.end is not None:
            return None  # when a message leaves differs between ranks
        groups = work.groups(self.shared)
        return Hits.of_draws(work.message_draws(groups), self.table())

    def longest_message_delay(self, transit: int) -> int:
        return self.likely_ticks()
