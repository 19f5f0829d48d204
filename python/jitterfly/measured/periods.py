"""Spectral analysis of detours: periodogram, dominant periods such as timer ticks.

The periodogram of the detours says how strongly they gather at each frequency. Its lines are
traced to their fundamentals, and each detour is assigned to the period that it keeps to.

It is Bartlett's periodogram of a point process (M. S. Bartlett, "The spectral analysis of point
processes", J. R. Stat. Soc. B 25, 1963): the squared modulus of the sum of exp(-2 pi i f t) over
the starts t. Scaled as here it is 1 in the mean for Poisson arrivals; a train of n strictly
periodic events among N has a line of n^2 / N (2/3 of it through the window) at its frequency and
at every multiple of that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.fft import next_fast_len, rfft
from scipy.special import gammaincc, gammainccinv

from ..units import TICKS_PER_SECOND
from .measurements import Detours

_HIGHEST = 10_000.0  # Hz; ticks of operating systems have 100 to 1,000
# Bins for a cycle of the highest frequency: what is folded onto it is weak, see `power`.
SAMPLES = 4
PADDING = 2  # so that a line between two bins loses 6 % at most
_MOST_BINS = 2**20  # of one segment: 26 s at 10 kHz, so lines of 0.04 Hz
_MOST_SEGMENTS = 16  # those of longer measurements are spread over the time
_LEAST_CYCLES = 5  # in a segment: what is slower is a trend
_CONTINUUM_BINS = 512  # bins that share one continuum

Floats = npt.NDArray[np.float64]
_MOST_DIVISORS = 64
_LEAST_POWER = 0.1  # of one harmonic, that others have: several events may share a period
_HARMONIC_SHARE = 0.5  # of the strongest: all harmonics of what is strictly periodic are as strong
_EXACT_EVENTS = 10_000  # events for an exact power
_WEAKEST_SHARE = 0.03  # of the strongest: what is weaker may be clearer when that is taken out
_COMB_BY_CHANCE = 1e-6
_PEAK_ERROR = 0.2  # of a step of frequency: how well a parabola tells a peak
_BINS_OF_A_LINE = 3  # bins around a line, which belong to it
LEAST_OCCUPIED = 0.02  # what misses more of its periods is rather a coincidence
_SELDOM = 0.1  # of what the most regular of a period does: left for slower periods to explain
_PHASE_BINS = 200  # of the phase, in which a train has to stand out
_MOST_STEP = 1 / 3  # of a period: spread over more, a train is no less usual than what is random
_STEP_BINS = 8  # of a step of a grid, at most: a train's edges have to stand out as well
LEAST_FOR_PERIODS = 20
_LEAST_SHARE = 0.005  # what explains less of the events is not dominant,
_LEAST_TIME = 0.05  # unless it explains so much of their time
_LOOKS = (1.0, 0.5, 0.1)  # at the longest of what is left, which take so much of its time
_SAME_FREQUENCY = 0.01  # relative, of frequencies
_FAR_LONGER = 10  # times all but 5 % of a period's: what lasts so long is only there by its phase
_GAP = 2  # times the longest of the others, at least
_LEAST_ALONE = 0.1  # of the steps of a grid are without random detours, at least
_ONE_PERIOD = 1e-3  # relative: two timers of the same period, whose clocks differ a little


@dataclass(frozen=True, eq=False)
class Periodogram:
    """Power over frequency.

    Parameters
    ----------
    frequency : float64 Hz, shape (n,)
        Rising, equally spaced, up to the highest.
    power : float64, shape (n,)
        Mean over `segments` of the time observed, each `1 / width` long; 1 where arrivals are
        random, also where they come in bursts (the continuum is divided out).
    segments : int
        How many.
    width : float
        Hz between two frequencies that are told apart.
    """

    frequency: Floats
    power: Floats
    segments: int
    width: float

    def false_alarm(self, power: float, trials: int | None = None) -> float:
        """The probability that random arrivals reach a power at any of `trials` frequencies.

        Bonferroni's bound over all frequencies unless told otherwise. Arrivals are Poisson, so the
        power at one frequency has a gamma distribution of shape `segments` and mean 1.
        """
        count = len(self.frequency) if trials is None else trials
        return min(1.0, count * float(gammaincc(self.segments, self.segments * power)))

    def threshold(self, false_alarm: float) -> float:
        """The power that has this false-alarm probability over all frequencies."""
        local = false_alarm / max(len(self.frequency), 1)
        return float(gammainccinv(self.segments, local)) / self.segments


def seconds_of(detours: Detours) -> tuple[Floats, float]:
    """Starts and length in seconds."""
    return detours.starts / float(TICKS_PER_SECOND), detours.length / float(TICKS_PER_SECOND)


def periodogram(starts: Floats, length: float) -> Periodogram:
    """The periodogram of events up to `_HIGHEST`, of any number: time n log n.

    Parameters
    ----------
    starts : float64 seconds, shape (events,)
        In [0, length).
    length : float
        Seconds observed.

    Returns
    -------
    Periodogram
        Empty where the time observed holds too few cycles of the highest frequency.
    """
    rate = SAMPLES * _HIGHEST
    parts = max(1, -(-int(length * rate) // _MOST_BINS))
    bins = int(length * rate) // parts
    used = np.unique(np.linspace(0, parts - 1, min(parts, _MOST_SEGMENTS)).astype(np.int64))
    segments = len(used)
    width = rate / max(bins, 1)
    if len(starts) < 2 or _LEAST_CYCLES * width >= _HIGHEST:
        return Periodogram(np.empty(0), np.empty(0), segments, width)
    size = next_fast_len(PADDING * bins, real=True)
    first, last = int(np.ceil(_LEAST_CYCLES * width * size / rate)), int(_HIGHEST * size / rate)
    window = np.hanning(bins)
    places = (starts * rate).astype(np.int64)
    edges = np.searchsorted(places, np.concatenate((used, used + 1)) * bins).reshape(2, -1)
    total = np.zeros(last + 1 - first)
    for k, begin, end in zip(used, *edges, strict=True):
        counts = np.bincount(places[begin:end] - k * bins, minlength=bins)
        # Single precision is 1e-7 of the strongest line, and twice as fast.
        series = ((counts - counts.mean()) * window).astype(np.float32)
        total += np.abs(rfft(series, size)[first : last + 1]) ** 2
    # Of Poisson arrivals the variance of a bin is its mean.
    total /= max(int((edges[1] - edges[0]).sum()), 1) / bins * float((window**2).sum())
    frequency = np.arange(first, last + 1) * (rate / size)
    return Periodogram(frequency, total / _continuum(total, segments), segments, width)


def _continuum(power: Floats, segments: int) -> Floats:
    """The level between lines, from medians of blocks; never below that of Poisson arrivals.

    Arrivals in bursts lie above it everywhere, and a slowly varying rate does at low frequencies;
    neither is a period.
    """
    usual = float(gammainccinv(segments, 0.5)) / segments
    blocks = max(len(power) // _CONTINUUM_BINS, 1)
    edges = np.linspace(0, len(power), blocks + 1).astype(int)
    # Fewer frequencies in a block where it is the first: a trend falls steeply there.
    edges = np.unique(np.concatenate(([0, edges[1] // 16, edges[1] // 4], edges)))
    level = np.array([np.median(power[a:b]) for a, b in pairwise(edges)])
    found: Floats = np.repeat(np.maximum(level / usual, 1.0), np.diff(edges))
    return found


def power_at(starts: Floats, begin: float, length: float, frequency: Floats) -> Floats:
    """Power at any frequencies from the events of one stretch of time themselves: no bins.

    Parameters
    ----------
    starts : Floats
        Seconds, sorted; those in [begin, begin + length) count.
    frequency : Floats
        Hz, shape (n,); time and memory grow with n times the events.
    """
    inside = starts[np.searchsorted(starts, begin) : np.searchsorted(starts, begin + length)]
    weights = 0.5 - 0.5 * np.cos(2 * np.pi * (inside - begin) / length)
    waves = np.exp(-2j * np.pi * np.outer(frequency, inside - begin))
    found: Floats = np.abs(waves @ weights) ** 2 / max(float((weights**2).sum()), 1e-300)
    return found


@dataclass(frozen=True)
class SpectralLine:
    """A fundamental: Hz, the Hz by which it may be off, power of its strongest harmonic."""

    frequency: float
    width: float
    power: float
    false_alarm: float


class LineSearch:
    """A search for lines, the strongest first; what was found is hidden with all its harmonics.

    Above `fastest` (Hz) none is looked for: on a grid of starts others are folded there.
    """

    def __init__(self, spectrum: Periodogram, starts: Floats, length: float, fastest: float):
        self.spectrum, self.starts, self.length = spectrum, starts, length
        self.slow = int(np.searchsorted(spectrum.frequency, fastest, "right"))
        self.open = np.ones(len(spectrum.frequency), dtype=bool)
        frequency = spectrum.frequency
        self.step = float(frequency[1] - frequency[0]) if len(frequency) > 1 else 1.0

    def find(self, false_alarm: float, most: int) -> list[SpectralLine]:
        """Fundamentals of lines that random arrivals have with at most this probability."""
        found: list[SpectralLine] = []
        power = self.spectrum.power[: self.slow]
        limit = self.spectrum.threshold(false_alarm) if len(power) else np.inf
        for _ in range(10 * most):  # some may be no lines
            seen = np.where(self.open[: self.slow], power, 0.0)
            highest = float(seen.max(initial=0.0))
            if len(found) == most or highest <= max(
                limit, _WEAKEST_SHARE * float(power.max(initial=0))
            ):
                break
            top = int((seen >= max(_HARMONIC_SHARE * highest, limit)).argmax())
            top += int(seen[top : top + 2 * _BINS_OF_A_LINE].argmax())
            if not self._is_real(top):
                self.open[max(top - _BINS_OF_A_LINE, 0) : top + _BINS_OF_A_LINE + 1] = False
                continue
            frequency, order = self._fundamental(top)
            line = SpectralLine(
                *self._sharpened(frequency, order, self._skirt(top, limit)),
                float(power[top]),
                self.spectrum.false_alarm(float(power[top])),
            )
            found.append(line)
            self.hide(line)
        return found

    def hide(self, line: SpectralLine) -> None:
        """Take a line and its harmonics out of what is looked at."""
        if not len(self.open):
            return
        first = float(self.spectrum.frequency[0])
        orders = np.arange(1, int(self.spectrum.frequency[-1] / line.frequency + 1.5))
        for order in orders:
            half = max(order * line.width, (_BINS_OF_A_LINE + 1) * self.step)
            low = int((order * line.frequency - half - first) / self.step)
            high = int((order * line.frequency + half - first) / self.step) + 1
            self.open[max(low, 0) : max(high + 1, 0)] = False

    def _at(self, frequency: float, tolerance: float) -> tuple[int, float]:
        """Place and power of the highest point near a frequency that is not hidden."""
        middle = (frequency - float(self.spectrum.frequency[0])) / self.step
        half = tolerance / self.step + 1
        low, high = max(int(np.floor(middle - half)), 0), int(np.ceil(middle + half)) + 1
        seen = np.where(self.open[low:high], self.spectrum.power[low:high], 0.0)
        if high <= 0 or not len(seen):
            return 0, 0.0
        return low + int(seen.argmax()), float(seen.max())

    def _peak(self, at: int) -> float:
        """The frequency of a local maximum, between bins: a parabola through the logarithms."""
        if not 0 < at < len(self.open) - 1:
            return float(self.spectrum.frequency[at])
        a, b, c = np.log(np.maximum(self.spectrum.power[at - 1 : at + 2], 1e-300))
        curve = a - 2 * b + c
        shift = 0.5 * (a - c) / curve if curve < 0 else 0.0
        return float(self.spectrum.frequency[at] + np.clip(shift, -0.5, 0.5) * self.step)

    def _is_real(self, at: int) -> bool:
        """Return whether the events themselves have the line, which may be folded in the bins."""
        spectrum = self.spectrum
        part = min(1.0 / spectrum.width, self.length)
        begins = np.arange(max(int(self.length / part), 1)) * part
        held = np.diff(np.searchsorted(self.starts, [*begins, begins[-1] + part]))
        begin, most = float(begins[int(held.argmax())]), int(held.max())
        # Of many events a stretch is enough; its lines are weaker and broader.
        stretch = min(1.0, _EXACT_EVENTS / max(most, 1))
        near = self._peak(at) + np.linspace(-1, 1, 9) / (stretch * part)
        exact = float(power_at(self.starts, begin, stretch * part, near).max())
        return exact > max(0.2 * float(spectrum.power[at]) * stretch, 3.0)

    def _fundamental(self, at: int) -> tuple[float, int]:
        """The lowest frequency whose harmonics hold this one, and which harmonic this one is."""
        frequency = self._peak(at)
        for k in range(_MOST_DIVISORS, 1, -1):
            if frequency / k >= self.spectrum.frequency[0] and self._is_comb(at, frequency / k, k):
                return frequency / k, k
        return frequency, 1

    def _is_comb(self, at: int, frequency: float, k: int) -> bool:
        """Return whether the multiples of a frequency are lines, not only every k-th of them.

        More than half have to be: trains of 250 and of 100 Hz are none of 50 Hz, although some of
        its multiples are lines.
        """
        first = float(self.spectrum.frequency[0])
        orders = [n for n in range(1, 3 * k) if n % k]
        # Multiples that belong to another train say nothing.
        places = [round((n * frequency - first) / self.step) for n in orders]
        orders = [n for n, place in zip(orders, places, strict=True)
                  if 0 <= place < len(self.open) and self.open[place]]  # fmt: skip
        if not orders:
            return False
        powers = [self._at(n * frequency, 0.5 * self.step * n / k)[1] for n in orders]
        middle = float(np.quantile(powers, 0.4))
        # The probability that so many of them are as strong by chance: (n choose n/2) < 2^n.
        chance = min(1.0, 20 * self.spectrum.false_alarm(middle, 1))
        rare = chance ** (len(orders) / 2) < _COMB_BY_CHANCE
        return rare and middle >= _LEAST_POWER * float(self.spectrum.power[at])

    def _skirt(self, at: int, limit: float) -> float:
        """Hz from a line to where it has fallen to what is not one: it is broad if it wanders."""
        low = self.spectrum.power < 0.25 * limit
        reach = max(int(0.02 * self.spectrum.frequency[at] / self.step), 2 * _BINS_OF_A_LINE)
        right = low[at : at + reach + 1]
        left = low[max(at - reach, 0) : at + 1][::-1]
        ends = [int(side.argmax()) if side.any() else len(side) for side in (right, left)]
        return max(ends) * self.step

    def _sharpened(self, frequency: float, order: int, skirt: float) -> tuple[float, float]:
        """A fundamental's frequency from its highest clear harmonic, and its width.

        The n-th harmonic tells it n times as precisely.
        """
        off = _PEAK_ERROR * self.step / order
        width = max(skirt / order, off)
        if skirt > 4 * _BINS_OF_A_LINE * self.step:  # a broad line has no sharper ones
            return frequency, width
        least = 0.02 * self._at(frequency * order, self.step)[1]
        n = order
        while 2 * n * frequency < self.spectrum.frequency[-1]:
            n *= 2
            place, power = self._at(n * frequency, n * off)
            around = self.spectrum.power[max(place - 1, 0) : place + 2]
            if power < max(least, 20.0) or power < around.max():  # not there, or another's
                break
            frequency = self._peak(place) / n
            off = _PEAK_ERROR * self.step / n
        return frequency, width


class Trains:
    """The period to which each detour keeps: the one that is kept most regularly."""

    def __init__(self, starts: Floats, length: float, grid: float = 0.0):
        self.starts, self.length, self.grid = starts, length, grid
        self.within = np.random.default_rng(0).random(len(starts))  # places in steps of the grid
        self.of = np.full(len(starts), -1)  # the number of its train
        self.regular = np.zeros(len(starts))  # events for each period that went by, near its phase
        self.chance = np.zeros(len(starts))  # the part of those that would be there anyway

    def add(
        self,
        frequency: float,
        number: int,
        seldom: bool = False,
        among: npt.NDArray[np.bool_] | bool = True,
    ) -> None:
        """Fold the detours onto one period; those that stand out belong to it.

        First those that are left, which others would hide; then those that keep to this period
        more regularly than to that which has them.

        Parameters
        ----------
        number : int
            Of the train.
        seldom : bool
            Only what is left, also where it comes in few of the periods.
        among : bool, shape (events,), optional
            Only these.
        """
        for free in [self.of < 0] if seldom else [self.of < 0, self.of < number]:
            inside, regular, chance = self._fold(np.flatnonzero(free & among), frequency)
            if not len(inside) or (regular.max() < LEAST_OCCUPIED and not seldom):
                continue
            least = 0.0 if seldom else _SELDOM * regular.max()
            better = regular > np.maximum(1.05 * self.regular[inside], least)
            chosen = inside[better]
            self.of[chosen] = number
            self.regular[chosen], self.chance[chosen] = regular[better], chance[better]

    def drop_far_longer(self, number: int, durations: npt.NDArray[np.int64]) -> None:
        """Take out of a train what lasts far longer than nearly all of it, with none in between.

        A daemon whose period is a multiple of the tick's keeps to the tick's phase. A long tail of
        the train's own durations has no such gap.
        """
        mine = np.flatnonzero(self.of == number)
        lasting = durations[mine]
        far = lasting > _FAR_LONGER * np.quantile(lasting, 0.95) if len(mine) else lasting > 0
        if far.any() and lasting[far].min() > _GAP * lasting[~far].max():
            self.of[mine[far]], self.regular[mine[far]] = -1, 0.0

    def _fold(self, among: npt.NDArray[np.int64], frequency: float) -> tuple[Any, Floats, Floats]:
        """Find which of some detours stand out at a phase; how regularly, how many by chance."""
        # Where in its step of a grid a detour was is not known: it is put anywhere in it. Phases
        # would be steps of the grid otherwise, each crowded beside the empty ones between them.
        step = self.grid * frequency
        if step > _MOST_STEP:
            step = 0.0
        phase = (self.starts[among] * frequency + step * self.within[among]) % 1.0
        most = min(_PHASE_BINS, _STEP_BINS / max(step, 1e-9))
        bins = int(np.clip(len(phase) // 10, min(20, most), most))
        place = np.minimum((phase * bins).astype(int), bins - 1)
        counts = np.bincount(place, minlength=bins)
        usual = float(np.median(counts))
        # 5 standard deviations of a Poisson count; a bin or two of 200 by chance in 1e4 folds.
        clear = counts > usual + 5 * np.sqrt(max(usual, 1.0))
        # An edge of a bin may cut a train in two: neighbours that hold a part of it belong to it.
        near = np.roll(clear, 1) | np.roll(clear, -1)
        clear |= near & (counts > usual + 2 * np.sqrt(max(usual, 1.0)))
        # Adjacent bins are one cluster, around the circle as well.
        begins = clear & ~np.roll(clear, 1)
        cluster = np.where(clear, (np.cumsum(begins) - 1) % max(int(begins.sum()), 1), 0)
        size = np.bincount(cluster[clear], weights=counts[clear], minlength=1)
        random = np.bincount(cluster[clear], weights=np.full(int(clear.sum()), usual), minlength=1)
        # What comes in the train's own step of a grid is one detour with it.
        alone = max(1.0 - usual * bins * step / (self.length * frequency), _LEAST_ALONE)
        events = np.minimum((size - random) / alone, size)
        regular = np.minimum(events / (self.length * frequency), 1.0)
        inside = clear[place]
        mine = cluster[place[inside]]
        return among[inside], regular[mine], (1.0 - events / np.maximum(size, 1))[mine]


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
        several periods counts for the one that is kept most regularly. What a tick sets off, such
        as a softirq at the same distance after each, keeps to its period, too; what lasts over 10
        times as long as 95 % of them does not.
    share : float
        Of all detours. Where several come in each period (`occupied`), it is that many times the
        share of the ticks themselves.
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
    grid: float | None = None,
) -> tuple[Period, ...]:
    """Find the periods that most detours keep to.

    Lines of the periodogram are traced to their fundamentals; then detours that keep to one of
    them are taken out, and what is left is looked at again, so that a daemon that comes once a
    second is found behind a thousand ticks. At last the longest of what is left are looked at by
    themselves: all of them show no line of a daemon among many short detours at random.

    Frequencies are looked for up to 10 kHz. The slowest has five cycles in the time observed (in
    the 26 s that are looked at at once).

    Parameters
    ----------
    detours : Detours
        From 20 detours on; fewer have no period.
    most : int
        How many to report.
    false_alarm : float
        Probability to report anything from random (Poisson) arrivals; an upper bound.
    grid : float, optional
        Seconds: a tool put all starts on a grid of about so much. Periods of less than two steps
        are not looked for, and a detour may have been anywhere in its step. Without it, a common
        divisor of the starts' distances, such as whole milliseconds, is taken for a grid.

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
    lines: list[SpectralLine] = []
    step = grid or _grid_of(detours)
    trains = Trains(starts, length, step)
    fastest = 0.5 / step if step else _HIGHEST
    looked_at = 0
    for part in _LOOKS:
        while len(lines) < 2 * most:
            left = trains.of < 0
            long = detours.durations >= _shortest_of(detours.durations[left], part)
            count = int((left & long).sum())
            if count < LEAST_FOR_PERIODS or count == looked_at:
                break
            spectrum = periodogram(starts[left & long], length)
            search = LineSearch(spectrum, starts[left & long], length, fastest)
            for line in lines:
                search.hide(line)
            # Half of the error for the first look, half of that for the second, ...
            false_alarm /= 2
            new = search.find(false_alarm, 2 * most - len(lines))
            if not new:
                looked_at = count
                break
            for line in new:
                trains.add(line.frequency, len(lines), among=long)
                trains.drop_far_longer(len(lines), detours.durations)
                lines.append(line)
    for i, line in enumerate(lines):  # what comes now and then, but only with a tick
        if (trains.of == i).any():
            trains.add(line.frequency, i, seldom=True)
            trains.drop_far_longer(i, detours.durations)
    found = [_period(detours, trains, i, line) for i, line in enumerate(lines)]
    kept: list[Period] = []
    for period in sorted(found, key=lambda period: -period.events):
        dominant = max(period.share / _LEAST_SHARE, period.time_share / _LEAST_TIME) >= 1
        dominant &= period.occupied >= LEAST_OCCUPIED
        # A period that wanders has a broad line, whose rest may look like another.
        rest = any(
            abs(period.frequency / other.frequency - 1) < _SAME_FREQUENCY
            and period.events < other.events / 5
            for other in kept
        )
        same = [
            i
            for i, other in enumerate(kept)
            if abs(period.frequency / other.frequency - 1) < _ONE_PERIOD
        ]
        if dominant and not rest and same:
            kept[same[0]] = _together(kept[same[0]], period)
        elif dominant and not rest:
            kept.append(period)
    kept.sort(key=lambda period: -period.events)
    return tuple(kept[:most])


def _grid_of(detours: Detours) -> float:
    """Seconds of the grid on which all starts lie, such as whole milliseconds; 0 without one.

    Trains alone have few of the distances that a grid has room for, random arrivals on it most of
    the short ones. Where more than half of its moments are taken, they are a tick's.
    """
    gaps = np.diff(detours.starts)
    step = int(np.gcd.reduce(gaps))
    if not step or 2 * len(detours.starts) * step > detours.length:
        return 0.0
    short = gaps[gaps <= np.median(gaps)]
    return step / TICKS_PER_SECOND if 2 * len(np.unique(short)) * step > short.max() else 0.0


def _shortest_of(durations: npt.NDArray[np.int64], part: float) -> float:
    """Half of the duration from which on detours take so much of the time of all of them.

    Half, so that a daemon that varies is not cut in two.
    """
    falling = np.sort(durations)[::-1]
    above = np.cumsum(falling, dtype=np.float64)
    return float(falling[np.searchsorted(above, part * above[-1])]) / 2 if len(above) else 0.0


def _together(one: Period, other: Period) -> Period:
    """Two lines of one period; the frequency is that of the one with more events."""
    return replace(
        one,
        events=one.events + other.events,
        share=one.share + other.share,
        time_share=one.time_share + other.time_share,
        occupied=one.occupied + other.occupied,
        false_alarm=min(one.false_alarm, other.false_alarm),
    )


def _period(detours: Detours, trains: Trains, number: int, line: SpectralLine) -> Period:
    """Return what belongs to the line of this number."""
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
