"""What is periodic in detours: timer ticks, daemons, whatever comes at equal distances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .data import Detours
from .lines import Line, Lines
from .spectrum import HIGHEST, periodogram, seconds_of
from .trains import LEAST_OCCUPIED, Trains

LEAST_EVENTS = 20
_LEAST_SHARE = 0.005  # what explains less of the events is not dominant
_NEAR = 0.01  # relative, of frequencies

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Period:
    """Detours that come at equal distances.

    Parameters
    ----------
    frequency : float
        Hz, of the fundamental: a tick at 250 Hz has lines at 500, 750, ... Hz as well.
    seconds : float
        1 / frequency.
    events : int
        Detours that keep to this period, beyond those that do so by chance. A detour that fits
        several periods counts for the one that is kept most regularly.
    share : float
        Of all detours.
    time_share : float
        Of the time that detours take.
    occupied : float
        Detours of this period for each period that went by: 1 for a tick that never fails, more
        where several come in each.
    false_alarm : float
        Upper bound of the probability that random (Poisson) arrivals have such a line at any
        frequency that was looked at.
    """

    frequency: float
    seconds: float
    events: int
    share: float
    time_share: float
    occupied: float
    false_alarm: float


def dominant_periods(
    detours: Detours,
    *,
    most: int = 5,
    false_alarm: float = 1e-3,
    highest: float = HIGHEST,
) -> tuple[Period, ...]:
    """Find the periods that most detours keep to.

    Lines of the periodogram are traced to their fundamentals; then detours that keep to one of
    them are taken out, and what is left is looked at again, so that a daemon that comes once a
    second is found behind a thousand ticks.

    Parameters
    ----------
    detours : Detours
        From 20 detours on; fewer have no period.
    most : int
        How many to report.
    false_alarm : float
        Probability to report anything from random (Poisson) arrivals; an upper bound.
    highest : float
        Hz; the slowest has five cycles in the time observed (in the 26 s that are looked at at
        once).

    Returns
    -------
    tuple of Period
        The one with most events first.

    Examples
    --------
    >>> import numpy as np
    >>> ticks = np.arange(1000) * 4_000_000_000  # every 4 ms
    >>> found = dominant_periods(Detours(ticks, np.full(1000, 10**6), length=4 * 10**12))
    >>> [round(period.frequency, 3) for period in found]
    [250.0]
    """
    starts, length = seconds_of(detours)
    left = np.ones(len(starts), dtype=bool)
    lines: list[Line] = []
    trains = Trains(starts, length)
    while left.sum() >= LEAST_EVENTS and len(lines) < 2 * most:
        spectrum = Lines(periodogram(starts[left], length, highest), starts[left], length)
        for line in lines:
            spectrum.hide(line)
        # Half of the error for the first look, half of that for the second, ...
        false_alarm /= 2
        new = spectrum.find(false_alarm, 2 * most - len(lines))
        if not new:
            break
        for line in new:
            trains.add(line.frequency, len(lines))
            lines.append(line)
        left = trains.of < 0
    for i, line in enumerate(lines):  # what comes now and then, but only with a tick
        if (trains.of == i).any():
            trains.add(line.frequency, i, seldom=True)
    found = [_period(detours, trains, i, line) for i, line in enumerate(lines)]
    kept: list[Period] = []
    for period in sorted(found, key=lambda period: -period.events):
        dominant = period.share >= _LEAST_SHARE and period.occupied >= LEAST_OCCUPIED
        # A period that wanders has a broad line, whose rest may look like another.
        rest = any(
            abs(period.frequency / other.frequency - 1) < _NEAR and period.events < other.events / 5
            for other in kept
        )
        if dominant and not rest:
            kept.append(period)
    return tuple(kept[:most])


def _period(detours: Detours, trains: Trains, number: int, line: Line) -> Period:
    """What belongs to the line of this number."""
    mine = trains.of == number
    weight = 1.0 - trains.chance[mine]
    events = round(float(weight.sum()))
    durations = detours.durations.astype(np.float64)
    # Those that are there by chance last as long as the others.
    rest = durations[trains.of < 0]
    chance = float(trains.chance[mine].sum()) * (float(rest.mean()) if len(rest) else 0.0)
    taken = max(float(durations[mine].sum()) - chance, 0.0)
    return Period(
        frequency=line.frequency,
        seconds=1.0 / line.frequency,
        events=events,
        share=events / len(trains.starts),
        time_share=taken / max(float(durations.sum()), 1e-300),
        occupied=events / (trains.length * line.frequency),
        false_alarm=line.false_alarm,
    )
