"""What every noise source offers: it checks itself against a case and enters engine programs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..fields import Component, shorten


class Exposed(NamedTuple):
    """What noise can hit in one cycle, in ticks of a rank.

    CPU work of the compute phase and of the collective, and the way of a message (0: there is
    none).
    """

    compute: int
    communication: int
    transit: int


class Noise(Component, ABC):
    """Base of all noise sources."""

    @abstractmethod
    def apply(self, program: Any, ranks: int, transit: int) -> None:
        """Put this noise into an engine program (``_core.Program``)."""

    def check(self, ranks: int, transit: int) -> None:
        """Raise ValueError if it does not fit so many ranks, or messages of `transit` ticks."""

    @abstractmethod
    def misses(self, exposed: Exposed) -> str:
        """Why it can hit nothing, and what would change that; "" where it can."""

    def longest_delay(self, work: int) -> int:
        """A bound, in ticks, on the delay of `work` ticks of CPU work."""
        return 0

    def lookahead(self) -> int:
        """How far beyond the time reached so far the engine may look, in ticks."""
        return 0

    def longest_message_delay(self, transit: int) -> int:
        """A bound, in ticks, on the delay of a message that takes `transit` ticks."""
        return 0


def check_sources(values: Any) -> tuple[Noise, ...]:
    """The noise of a case: any number of sources, but one of a kind."""
    rule = "noise must be a list of sources such as PeriodicNoise(...)"
    if isinstance(values, (str, bytes, Mapping)):
        raise ValueError(f"{rule}, got {shorten(values)}")
    try:
        sources = tuple(values)
    except TypeError:  # nothing to go through
        raise ValueError(f"{rule}, got {shorten(values)}") from None
    kinds: list[str] = []
    for source in sources:
        if not isinstance(source, Noise):
            raise ValueError(f"{rule}, got {shorten(source)}")
        if source.kind in kinds:
            name = type(source).__name__
            raise ValueError(f"noise must hold at most one {name} in this version")
        kinds.append(source.kind)
    return sources
