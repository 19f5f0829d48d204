"""`RenewalNoise`: detours with random gaps and durations (renewal process), stationary start."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from ..distributions.parametric import ConstantOrDrawn, Exponential, ExponentialOrDrawn
from ..fields import check_choice, frozen_dataclass
from ..units import TICKS_PER_SECOND, OptionalSeconds, Seconds
from .source import (
    BurstsField,
    ExpectedWork,
    Hits,
    HostsField,
    IntervalNoise,
    Shared,
    busy_threshold,
    found_at_random,
)

_MAX_INTERVALS = 2**31  # of a rank: their draws are numbered


@frozen_dataclass()
class RenewalNoise(IntervalNoise, kind="renewal"):
    """Interruptions of the CPU: idle for a gap, busy for a duration, and so on, all drawn anew.

    Work stands still inside the busy intervals; waiting absorbs them. What they can hit: see
    `PeriodicNoise`.

    Parameters
    ----------
    gap : Distribution, float or str
        From the end of an interval to the begin of the next. Seconds alone are the mean of
        exponential gaps: then interruptions are a Poisson process of the idle time.
    duration : Distribution, float or str
        Of an interval; seconds alone are a constant duration.
    start : "fresh" or "stationary"
        "fresh": idle at time 0, and the first interval begins after a whole gap. "stationary": as
        found at a random moment, inside an interval with probability E[duration] / (E[duration] +
        E[gap]), and what is left of it (or of the gap) has its equilibrium distribution.
    shared : False, "machine", "node", "rack", "level N", another name of a level, or int
        Which ranks share their intervals: none, all, or nodes of this many consecutive ranks (the
        last one may have fewer).
    during : "all", "compute" or "communication"
        The phase of the cycle whose CPU work is exposed.
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
        A parameter out of range, gaps of 0, or a stationary start with an infinite mean; size of
        nodes, and more than 2^31 intervals of a rank, when the case is made.

    Notes
    -----
    Cox, Renewal Theory (1962), ch. 5 and 7: equilibrium and alternating renewal processes.

    Examples
    --------
    >>> from jitterfly import Pareto
    >>> noise = RenewalNoise(gap="1ms", duration=Pareto(scale="5us", shape=2))
    >>> noise.gap, round(noise.share(), 4)
    (Exponential(mean=0.001), 0.0099)
    """

    no_effect: ClassVar[Mapping[str, Any]] = {"duration": 0.0}

    gap: ExponentialOrDrawn
    duration: ConstantOrDrawn
    start: Literal["fresh", "stationary"] = "fresh"
    shared: Shared = False
    during: Literal["all", "compute", "communication"] = "all"
    begin: Seconds = Seconds(0.0)
    end: OptionalSeconds = OptionalSeconds()
    hosts: HostsField = HostsField()
    bursts: BurstsField = BurstsField()

    def __post_init__(self) -> None:
        check_choice(self.start, "start", ("fresh", "stationary"))
        self.check_fields()
        if self.gap.longest_ticks() == 0 or self.gap.expected() == 0:
            raise ValueError("gap must have a mean above 0, else the CPU is never idle")
        if self.start == "stationary":
            for name in ("gap", "duration"):
                if not math.isfinite(getattr(self, name).expected()):
                    raise ValueError(
                        f"{name} must have a finite mean where start is 'stationary': give longest"
                    )

    def check_length(self, longest: int) -> None:
        super().check_length(longest)
        if self.intervals_in(longest) > _MAX_INTERVALS / 2:
            every = (self.gap.mean_ticks() + self.duration.mean_ticks()) / TICKS_PER_SECOND
            raise ValueError(
                "gap and duration must be longer: the case may last "
                f"{longest / TICKS_PER_SECOND:.3g} s, and a rank has an interval every "
                f"{every:.3g} s (in RenewalNoise)"
            )

    def apply(self, program: Any, ranks: int, transit: int, transits: Sequence[int] = ()) -> None:
        program.add_renewal(
            gap=self.gap.table(),
            duration=self.duration.table(),
            stationary=self.stationary(),
            **self.engine_fields(ranks),
        )

    def stationary(self) -> tuple[int, Any, Any] | None:
        """The engine's start: 2^64 P(busy at 0), the rest of an interval, the rest of a gap."""
        return None if self.start == "fresh" else found_at_random(self.duration, self.gap)

    def busy_threshold(self) -> int:
        """``2**64 * P(busy at time 0)``, of the means of the tables."""
        return busy_threshold(self.duration, self.gap)

    def share(self) -> float:
        busy, idle = self.duration.expected(), self.gap.expected()
        return 1.0 if math.isinf(busy) else busy / (busy + idle)

    def intervals_in(self, ticks: int) -> float:
        return ticks / (self.gap.mean_ticks() + self.duration.mean_ticks())

    def expected_hits(self, work: ExpectedWork) -> Hits:
        gap, duration = self.gap.mean_ticks(), self.duration.mean_ticks()
        stationary = self.start == "stationary"
        groups = work.groups(self.shared)

        def intervals(before: float) -> float:
            time = work.time_to_hit(self, before, underway=stationary)
            number = time / (gap + duration)
            if stationary:
                return groups * number
            # The renewal function lies above both (Cox, ch. 4); of exponential gaps it is a line.
            first = 1 - float(self.gap.survival(time / TICKS_PER_SECOND))
            memory = not isinstance(self.gap, Exponential)
            return groups * max(first, number - memory)

        hits = Hits.of_draws(intervals(duration), self.duration.integers())
        return hits.under_way(intervals, duration, self._mean_left())

    def _mean_left(self) -> float:
        """The ticks left of an interval that is under way, in the mean; 0 where none lasts."""
        return self.duration.residual().mean() if self.duration.mean_ticks() > 0 else 0.0

    def longest_delay(self, work: int) -> int:
        if work == 0 or self.duration.longest_ticks() == 0:
            return 0
        hits = work / self.gap.mean_ticks()
        many = hits + 8 * math.sqrt(hits) + 30  # once in 10^12 times, of a Poisson number
        return int(many * self.duration.mean_ticks()) + 2 * self.duration.likely_ticks()

    def duration_at_start(self) -> float:
        # Half of it is left.
        return 2 * self._mean_left() / TICKS_PER_SECOND if self.start == "stationary" else 0.0

    def lookahead(self) -> int:
        own = self.gap.likely_ticks() + self.duration.likely_ticks()
        return own + self.bursts_lookahead()
