"""What a user may have to say about a file, where it does not say so itself."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from ...fields import check_choice, check_integer, shorten


@dataclass(frozen=True)
class Options:
    """Each is None unless given. A format lists those it takes in its `OPTIONS`.

    Parameters
    ----------
    clock_hz : float, optional
        Cycles of the time-stamp counter in a second, above 0.
    unit : str, optional
        Unit of times without one: "s", "ms", "us", "ns", "ps", or "cycles" (with clock_hz).
    quantum : float, optional
        Seconds, length of a quantum (FTQ).
    runtime, period : float, optional
        Seconds: how long an osnoise thread looks for noise in each period.
    threshold : float, optional
        Seconds: shorter noise was not recorded.
    width : float, optional
        Seconds, width of the bins of a histogram.
    ranks : int, optional
        Of a collective.
    events : str, optional
        Which events of a trace are the detours: "samples" or "sources".
    """

    clock_hz: float | None = None
    unit: str | None = None
    quantum: float | None = None
    runtime: float | None = None
    period: float | None = None
    threshold: float | None = None
    width: float | None = None
    ranks: int | None = None
    events: str | None = None

    def __post_init__(self) -> None:
        for name in ("clock_hz", "quantum", "runtime", "period", "threshold", "width"):
            value = getattr(self, name)
            if value is not None and not 0 < value < 1e15:
                raise ValueError(f"{name} must be above 0, got {shorten(value)}")
        if self.ranks is not None:
            check_integer(self.ranks, "ranks", 1, 2**30)
        if self.events is not None:
            check_choice(self.events, "events", ("samples", "sources"))

    def given(self) -> tuple[str, ...]:
        """Names of the options that are not None."""
        fields = (field.name for field in dataclasses.fields(self))
        return tuple(name for name in fields if getattr(self, name) is not None)
