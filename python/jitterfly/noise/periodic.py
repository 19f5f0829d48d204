"""`PeriodicNoise`: interruptions shorter than their period (timer tick); start, phases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from ..fields import Array, Converted, EqualByFields, FloatsLike, check_choice, frozen_dataclass
from ..units import (
    OptionalSeconds,
    PositiveSeconds,
    Seconds,
    ShortSeconds,
    array_to_ticks,
    show_seconds,
    to_ticks,
)
from .source import (
    BurstsField,
    ExpectedWork,
    Hits,
    HostsField,
    IntervalNoise,
    Shared,
    check_times_of_ranks,
    node_ranks,
)


@frozen_dataclass(eq=False)
class PeriodicNoise(EqualByFields, IntervalNoise, kind="periodic"):
    """Periodic interruptions of the CPU: busy in ``[phase + k * period, + duration)``.

    Work stands still inside these half-open intervals; waiting absorbs them. They can hit only what
    takes CPU time: overheads, combining, compute phases. Where messages take none (Hockney with
    gamma = 0, LogGOPS with o = 0) and there is no `compute_time`, they hit nothing, and `simulate`
    warns.

    Parameters
    ----------
    period : float or str
        Seconds, above 0.
    duration : float or str
        Seconds, from 0 and shorter than `period`.
    start : "fresh" or "stationary"
        "fresh": k >= 0 only, so that no rank is inside an interval at time 0 (Matsumoto & Suda
        2012). "stationary": all integers k.
    shared : False, "machine", "node", "rack", "level N", another name of a level, or int
        Which ranks share a phase: none, all, or nodes of this many consecutive ranks (the last one
        may have fewer).
    phases : array of float, shape (ranks,), optional
        The phases themselves, in seconds, each in [0, period). Without it they are drawn,
        uniform and independent.
    during : "all", "compute" or "communication"
        The phase of the cycle whose CPU work is exposed. "compute" alone is Chen & Suda's
        noiseless case.
    begin, end : float or str
        Intervals are cut to the time from `begin` to before `end`, seconds; all of it without them.
    hosts : imbalance.Hosts, optional
        The hosts that it acts on, all without it: ``imbalance.OnNodes([17], node_ranks=8)``,
        `OnRanks`, or `OnShare`. Draws stay as they are without it.
    bursts : OnOff, optional
        On and off by turns: ``OnOff(on="1s", off="9s")``. Its intervals are cut to the times for
        which it is on.

    Raises
    ------
    ValueError
        A parameter out of range; shape of `phases` and size of nodes when the case is made.

    Examples
    --------
    >>> PeriodicNoise(period="1ms", duration="10us").duration
    1e-05
    """

    added: ClassVar[Mapping[str, Any]] = {"begin": 0.0}
    no_effect: ClassVar[Mapping[str, Any]] = {"duration": 0.0}
    skips_periods: ClassVar[bool] = True

    period: PositiveSeconds
    duration: ShortSeconds
    start: Literal["fresh", "stationary"] = "fresh"
    shared: Shared = False
    phases: Converted[FloatsLike | None, Array | None] = Converted("array of float | None", None)
    during: Literal["all", "compute", "communication"] = "all"
    begin: Seconds = Seconds(0.0)
    end: OptionalSeconds = OptionalSeconds()
    hosts: HostsField = HostsField()
    bursts: BurstsField = BurstsField()

    def __post_init__(self) -> None:
        period = to_ticks(self.period, "period", positive=True)
        if to_ticks(self.duration, "duration") >= period:
            raise ValueError(
                f"duration must be shorter than period = {show_seconds(self.period)}, "
                f"got {show_seconds(self.duration)} (in PeriodicNoise)"
            )
        check_choice(self.start, "start", ("fresh", "stationary"))
        self.check_fields()
        if self.phases is not None:
            if self.shared is not False:
                raise ValueError("shared must be False when phases are given")
            phases = check_times_of_ranks(self.phases, "phases", "period", self.period)
            object.__setattr__(self, "phases", phases)

    def check(self, ranks: int, transit: int) -> None:
        super().check(ranks, transit)
        if self.phases is not None and self.phases.shape != (ranks,):
            raise ValueError(
                f"phases must have shape ({ranks},), one for each rank, got {self.phases.shape}"
            )

    def node_ranks(self, ranks: int) -> int:
        """The number of consecutive ranks that share a phase."""
        return node_ranks(self.shared, ranks)

    def apply(self, program: Any, ranks: int, transit: int, transits: Sequence[int] = ()) -> None:
        program.add_periodic(
            period=to_ticks(self.period),
            duration=to_ticks(self.duration),
            stationary=self.start == "stationary",
            phases=None if self.phases is None else array_to_ticks(self.phases),
            **self.engine_fields(ranks),
        )

    @property
    def random(self) -> bool:
        return self.phases is None

    def share(self) -> float:
        return to_ticks(self.duration) / to_ticks(self.period)

    def intervals_in(self, ticks: int) -> float:
        return ticks / to_ticks(self.period) if self.duration else 0.0

    def expected_hits(self, work: ExpectedWork) -> Hits:
        period, duration = to_ticks(self.period), to_ticks(self.duration)
        time = work.time_to_hit(self, duration, underway=self.start == "stationary")
        return Hits(work.groups(self.shared) * time / period, float(duration))

    def longest_delay(self, work: int) -> int:
        if work == 0:
            return 0
        period, duration = to_ticks(self.period), to_ticks(self.duration)
        return duration * (2 + work // (period - duration))

    def duration_at_start(self) -> float:
        return self.duration if self.start == "stationary" else 0.0

    def lookahead(self) -> int:
        return 2 * to_ticks(self.period) + self.bursts_lookahead()
