"""Intervals that allow for a recording of noise being a sample: another one would give others.

The one place where what a recording is known to lack enters a number: `RecordedNoise.allow`. How
large it is, each source says (`noise.recorded_delays`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from .noise import Noise, TraceNoise
from .noise.recorded_delays import UNSEEN, SamplingError
from .stats import Estimate
from .stats.intervals import allowing_for_recording
from .units import TICKS_PER_SECOND, show_seconds
from .workload import RankWork, Workload


class RecordedNoise(NamedTuple):
    """The recordings that a case replays, and the work that they act on.

    Attributes
    ----------
    sources : tuple of TraceNoise
        Without those that are made up, or replayed from given places.
    work : RankWork or None
        None without recordings.
    alone : bool
        Whether there is no other noise.
    """

    sources: tuple[TraceNoise, ...] = ()
    work: RankWork | None = None
    alone: bool = True

    @classmethod
    def of(cls, noise: Iterable[Noise], work: RankWork) -> RecordedNoise:
        """Find them among the noise of ranks that work so long."""
        every = tuple(noise)
        found = tuple(
            one
            for one in every
            if isinstance(one, TraceNoise) and one.is_sample() and work.met(one) > 0
        )
        return cls(found, work, len(found) == len(every))

    @classmethod
    def of_case(cls, case: Workload) -> RecordedNoise:
        """Find those of a case."""
        if not any(isinstance(one, TraceNoise) for one in case.noise):
            return cls()
        return cls.of(case.placed_noise, case.work_per_cycle())

    def in_words(self) -> list[str]:
        """A line on what intervals allow for, and on what no recording tells; none without one."""
        if not self.sources:
            return []
        seconds = min(
            sum(part.length for part in one.replayed()) / TICKS_PER_SECOND for one in self.sources
        )
        rarest = show_seconds(seconds / UNSEEN, 2)
        return [
            "the intervals allow for what another recording of the same machine would hold, as far "
            f"as this one tells; noise that comes less often than every {rarest} may be missing "
            "from it"
        ]

    def error(self, confidence: float, share: float | None = None) -> SamplingError | None:
        """Return that of the mean completion, or of a quantile; None without recordings."""
        if self.work is None or not self.sources:
            return None
        errors = []
        for one in self.sources:
            cycles = self.work.cycles
            delays = one.recorded_delays(self.work.met(one), cycles)
            ranks = one.independent_ranks(self.work.ranks)
            if share is not None:
                errors.append(delays.quantile_error(share, ranks, confidence))
                continue
            phases = {self.work._replace(compute=0.0).met(one), self.work.met(one)}
            others = [one.recorded_delays(time, cycles) for time in sorted(phases)[:-1] if time > 0]
            errors.append(delays.mean_error(ranks, confidence, others))
        return SamplingError(
            min(one.events for one in errors),
            *(sum(column) for column in zip(*(one[1:] for one in errors), strict=True)),
        )

    def allow(self, estimate: Estimate, noise_free: float, share: float | None = None) -> Estimate:
        """Widen the interval of a mean completion, or of a quantile (`share`), to the machine's.

        Both ends move away from the value, by the root of the sum of squares of their distance and
        of what is due to the recording. Seconds.
        """
        error = self.error(float(estimate.confidence), share)
        if error is None:
            return estimate
        # The recording tells by which factor delays may differ, and the simulation how long they
        # are: ranks do not wait for each other at once. Other noise is no part of that.
        excess = max(float(estimate.value) - noise_free, 0.0)
        scale = 1.0
        if error.delay > 0 and (share is None or self.work is None or self.work.cycles == 1):
            scale = excess / error.delay if self.alone else min(1.0, excess / error.delay)
        below = min(scale * error.below, excess)
        above = error.above if math.isinf(error.above) else scale * error.above
        return allowing_for_recording(estimate, below, above)
