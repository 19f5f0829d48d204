"""Overflow check: the longest time that one operation of a schedule can take (below 2^62 ps).

The engine keeps no time above 2^62 ps, and the caller refuses results that late. What it adds to a
time before it looks is what one operation takes, so that must be below 2^62 ps as well.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..distributions.distribution import LARGEST
from ..noise import (
    LateArrival,
    MessageNoise,
    Noise,
    PeriodicNoise,
    RenewalNoise,
    SpeedNoise,
    StepNoise,
)
from ..units import LONGEST_SECONDS, LONGEST_TICKS, TICKS_PER_SECOND
from .schedule import Schedule


def check_operations(
    schedule: Schedule,
    noise: Sequence[Noise],
    calculation: int,
    o: int,
    gap: int,
    way: int,
    wire: int,
    cpu: int,
) -> None:
    """Refuse a schedule of which one operation can take 2^62 ps or longer.

    Parameters
    ----------
    schedule : Schedule
    noise : sequence of Noise
    calculation : int
        The longest one, at its rank's speed, in ticks.
    o, gap, way : int
        Of a message, in ticks: CPU time, gap, and the way of its first byte. Of several levels of a
        machine the largest.
    wire, cpu : int
        (n - 1) G and (n - 1) O of the largest message, in ticks.

    Raises
    ------
    ValueError
        Names which, and how long it can take.
    """
    late = sum(_longest_drawn(source) for source in noise if isinstance(source, LateArrival))
    delays = sum(_message_delay(source, way + wire) for source in noise)
    for source in noise:
        calculation = source.longest_slowed(calculation, ever=True)
    if calculation >= LARGEST and any(isinstance(source, SpeedNoise) for source in noise):
        raise ValueError(
            f"a calculation must take less than {LARGEST / TICKS_PER_SECOND:.3g} s (2^60 ps) at "
            f"its drawn speed, one may take {calculation / TICKS_PER_SECOND:.3g} s: lower the "
            "times of calc or the factor of SpeedNoise, or cut the tail of its distribution with "
            "longest"
        )
    longest = {
        "a calculation": longest_of_cpu(noise, calculation),
        "the late start of a rank": late,
    }
    if schedule.messages:
        longest["the overhead of a message"] = longest_of_cpu(noise, o) + gap + wire
        longest["the CPU time of a message's bytes"] = longest_of_cpu(noise, cpu)
        longest["the way of a message"] = way + delays
    name, ticks = max(longest.items(), key=lambda one: one[1])
    if ticks >= LONGEST_TICKS:
        raise ValueError(
            f"the simulated time of a schedule must stay below {LONGEST_SECONDS:.3g} s (2^62 ps), "
            f"and {name} alone may take {ticks / TICKS_PER_SECOND:.3g} s: lower the times of calc, "
            "speed, network or noise, or cut the tail of noise with longest"
        )


def longest_of_cpu(noise: Sequence[Noise], work: int) -> int:
    """How far beyond the begin of `work` ticks the engine can get before it looks at the time."""
    work += sum(_longest_drawn(source) for source in noise if isinstance(source, StepNoise))
    # Beyond 2^62 ps the engine asks sources for no further interval: at most one ends after that.
    beyond = max(map(_longest_interval, noise), default=0)
    # Periodic noise alone it does not ask interval by interval.
    periodic = (one for one in noise if isinstance(one, PeriodicNoise) and one.end is None)
    return work + beyond + sum(source.longest_delay(work) for source in periodic)


def _longest_interval(source: Noise) -> int:
    """An interval and the time before it; of intervals that repeat, two repetitions."""
    if isinstance(source, RenewalNoise):
        return source.gap.longest_ticks() + source.duration.longest_ticks()
    return source.lookahead()


def _message_delay(source: Noise, transit: int) -> int:
    if isinstance(source, MessageNoise):
        return _longest_drawn(source)
    return source.longest_message_delay(transit)


def _longest_drawn(source: StepNoise | MessageNoise | LateArrival) -> int:
    return source.delay.longest_ticks() if source.probability > 0 else 0
