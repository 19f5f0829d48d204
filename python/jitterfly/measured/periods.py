"""Dominant periods of detours, such as timer ticks, from the lines of a periodogram.

The periodogram shows how strongly detours gather at each frequency. A line in it is traced to its
fundamental, and each detour is assigned to the period that it keeps to.

The periodogram is Bartlett's of a point process (M. S. Bartlett, "The spectral analysis of point
processes", J. R. Stat. Soc. B 25, 1963): the squared modulus of the sum of exp(-2 pi i f t) over
the starts t. Scaled as here, its mean is 1 for Poisson arrivals; a train of n strictly periodic
events among N has a line of n^2 / N (2/3 of it through the window) at its frequency and at every
multiple of that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.fft import next_fast_len, rfft
from scipy.special import gammaincc, gammainccinv

from ..units import TICKS_PER_SECOND
from .measurements import Detours

MIN_FOR_PERIODS = 20
"""Detours; fewer have no period."""

# The periodogram
_HIGHEST = 10_000.0  # Hz; ticks of operating systems have 100 to 1,000
_SAMPLES = 4  # bins for a cycle of the highest frequency
_PADDING = 2  # so that a line between two bins loses 6 % at most
_MAX_BINS = 2**20  # of one segment: 26 s at 10 kHz, so lines of 0.04 Hz
_MAX_SEGMENTS = 16  # those of longer measurements are spread over the time
_MIN_CYCLES = 5  # in a segment: what is slower is a trend
_CONTINUUM_BINS = 512  # bins that share one continuum

# Lines
_LINE_BINS = 3  # bins on each side of a line that belong to it
_HARMONIC_SHARE = 0.5  # of the strongest line: all harmonics of a strict train are as strong
_WEAKEST_SHARE = 0.03  # of the strongest: what is weaker may be clearer when that is taken out
_EXACT_EVENTS = 10_000  # of which the power is computed without bins
_MAX_DIVISOR = 64
_MIN_HARMONIC = 0.1  # of one harmonic, that others have: several events may share a period
_COMB_BY_CHANCE = 1e-6
_PEAK_ERROR = 0.2  # of a step of frequency: how well a parabola locates a peak

# Trains
_MIN_OCCUPIED = 0.02  # a train that misses more of its periods is rather a coincidence
_SELDOM = 0.1  # of what the most regular of a period does: left for slower periods to explain
_PHASE_BINS = 200  # of the phase, in which a train has to stand out
_MAX_STEP = 1 / 3  # of a period: spread over more, a train is no less usual than what is random
_STEP_BINS = 8  # of a step of a grid, at most: a train's edges have to stand out as well
_MIN_ALONE = 0.1  # of the steps of a grid are without random detours, at least
_FAR_LONGER = 10  # times all but 5 % of a period's: what lasts so long is only there by its phase
_GAP = 2  # times the longest of the others, at least

# Periods that are reported
_LOOKS = (1.0, 0.5, 0.1)  # at the longest of what is left, which take so much of its time
_MIN_SHARE = 0.005  # what explains less of the events is not dominant,
_MIN_TIME_SHARE = 0.05  # unless it explains so much of their time
_SAME_FREQUENCY = 0.01  # relative: the rest of a period that wanders
_SAME_PERIOD = 1e-3  # relative: two timers of the same period, whose clocks differ a little

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Periodogram:
    """Power over frequency.

    Parameters
    ----------
    frequency : float64 Hz, shape (n,)
        Rising, equally spaced, up to the highest.
    power : float64, shape (n,)
        Mean over `segments` of the time observed; 1 where arrivals are random, also where they come
        in bursts (the continuum is divided out).
    segments : int
        How many.
    segment : float
        Seconds of each.
    """

    frequency: Floats
    power: Floats
    segments: int
    segment: float

    def false_alarm(self, power: float, trials: int | None = None) -> float:
        """The probability that random arrivals reach a power at any of `trials` frequencies.

        Bonferroni's bound, over all frequencies by default. Arrivals are Poisson, so the power at
        one frequency has a gamma distribution of shape `segments` and mean 1.
        """
        count = len(self.frequency) if trials is None else trials
        return min(1.0, count * float(gammaincc(self.segments, self.segments * power)))

    def threshold(self, false_alarm: float) -> float:
        """The power that has this false-alarm probability over all frequencies."""
        local = false_alarm / max(len(self.frequency), 1)
        return float(gammainccinv(self.segments, local)) / self.segments


def seconds_of(detours: Detours) -> tuple[Floats, float]:
    """The starts and the length in seconds."""
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
    rate = _SAMPLES * _HIGHEST
    parts = max(1, -(-int(length * rate) // _MAX_BINS))
    bins = int(length * rate) // parts
    used = np.unique(np.linspace(0, parts - 1, min(parts, _MAX_SEGMENTS)).astype(np.int64))
    slowest = _MIN_CYCLES * rate / max(bins, 1)
    if len(starts) < 2 or slowest >= _HIGHEST:
        return Periodogram(np.empty(0), np.empty(0), len(used), bins / rate)
    size = next_fast_len(_PADDING * bins, real=True)
    first, last = int(np.ceil(slowest * size / rate)), int(_HIGHEST * size / rate)
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
    return Periodogram(frequency, total / _continuum(total, len(used)), len(used), bins / rate)


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
    return np.repeat(np.maximum(level / usual, 1.0), np.diff(edges))


def power_at(starts: Floats, begin: float, length: float, frequency: Floats) -> Floats:
    """Power at any frequencies (Hz) from the events in [begin, begin + length): no bins."""
    inside = starts[np.searchsorted(starts, begin) : np.searchsorted(starts, begin + length)]
    weights = 0.5 - 0.5 * np.cos(2 * np.pi * (inside - begin) / length)
    waves = np.exp(-2j * np.pi * np.outer(frequency, inside - begin))
    return np.asarray(np.abs(waves @ weights) ** 2 / max(float((weights**2).sum()), 1e-300))


@dataclass(frozen=True)
class SpectralLine:
    """A fundamental: Hz, the Hz by which it may be off, power of its strongest harmonic."""

    frequency: float
    width: float
    power: float
    false_alarm: float


class LineSearch:
    """A search for the lines of a periodogram, the strongest first.

    Parameters
    ----------
    starts, length, spectrum
        Of the events, as of `periodogram`.
    fastest : float
        Hz, above which no line is looked for: on a grid of starts others are folded there.
    threshold : float
        The least power of a line.
    """

    def __init__(
        self, starts: Floats, length: float, spectrum: Periodogram, fastest: float, threshold: float
    ):
        self.starts, self.length, self.spectrum = starts, length, spectrum
        self.power = spectrum.power.copy()  # 0 where it is hidden
        self.slow = int(np.searchsorted(spectrum.frequency, fastest, "right"))
        self.threshold = threshold
        self.limit = max(threshold, _WEAKEST_SHARE * float(self.power[: self.slow].max(initial=0)))
        self.first, self.step = 1.0, 1.0
        if len(self.power) > 1:
            self.first, second = map(float, spectrum.frequency[:2])
            self.step = second - self.first

    def strongest(self, most: int) -> list[SpectralLine]:
        """The fundamentals of the strongest lines; each is hidden with all its harmonics."""
        found: list[SpectralLine] = []
        power = self.power[: self.slow]
        while len(found) < most and (highest := power.max(initial=0.0)) > self.limit:
            top = int((power >= max(_HARMONIC_SHARE * highest, self.threshold)).argmax())
            top += int(power[top : top + 2 * _LINE_BINS].argmax())
            if not self._is_real(top):
                power[max(top - _LINE_BINS, 0) : top + _LINE_BINS + 1] = 0.0
                continue
            order = next((k for k in range(_MAX_DIVISOR, 1, -1) if self._is_comb(top, k)), 1)
            strength = float(power[top])
            alarm = self.spectrum.false_alarm(strength)
            found.append(SpectralLine(*self._fundamental(top, order), strength, alarm))
            self.hide(found[-1])
        return found

    def hide(self, line: SpectralLine) -> None:
        """Take a line and its harmonics out of what is looked at."""
        for order in range(1, int(_HIGHEST / line.frequency + 1.5)):
            half = max(order * line.width, (_LINE_BINS + 1) * self.step)
            low = int((order * line.frequency - half - self.first) / self.step)
            high = int((order * line.frequency + half - self.first) / self.step) + 2
            self.power[max(low, 0) : max(high, 0)] = 0.0

    def _is_real(self, at: int) -> bool:
        """Return whether the events themselves have the line, which may be folded in the bins."""
        segment = self.spectrum.segment
        begins = np.arange(max(int(self.length / segment), 1)) * segment
        held = np.diff(np.searchsorted(self.starts, [*begins, begins[-1] + segment]))
        # Of many events a stretch is enough; its lines are weaker and broader.
        share = min(1.0, _EXACT_EVENTS / max(int(held.max()), 1))
        near = self._peak(at) + np.linspace(-1, 1, 9) / (share * segment)
        exact = power_at(self.starts, float(begins[held.argmax()]), share * segment, near)
        return float(exact.max()) > max(0.2 * float(self.spectrum.power[at]) * share, 3.0)

    def _near(self, frequency: float, tolerance: float) -> int:
        """The place of the highest power that is not hidden within a tolerance."""
        middle = (frequency - self.first) / self.step
        half = tolerance / self.step + 1
        low = min(max(int(np.floor(middle - half)), 0), len(self.power) - 1)
        return low + int(self.power[low : max(int(np.ceil(middle + half)), low) + 1].argmax())

    def _peak(self, at: int) -> float:
        """The frequency of a local maximum, between bins: a parabola through the logarithms."""
        shift = 0.0
        if 0 < at < len(self.power) - 1:
            a, b, c = np.log(np.maximum(self.spectrum.power[at - 1 : at + 2], 1e-300))
            curve = a - 2 * b + c
            shift = float(np.clip(0.5 * (a - c) / curve, -0.5, 0.5)) if curve < 0 else 0.0
        return float(self.spectrum.frequency[at]) + shift * self.step

    def _is_comb(self, at: int, k: int) -> bool:
        """Return whether a line is the k-th of a comb, and not only every k-th of that is a line.

        More than half have to be: trains of 250 and of 100 Hz are none of 50 Hz, although some of
        its multiples are lines.
        """
        frequency = self._peak(at) / k
        if frequency < self.first:
            return False
        # Multiples that belong to another train, which is hidden, say nothing.
        places = {n: round((n * frequency - self.first) / self.step)
                  for n in range(1, 3 * k) if n % k}  # fmt: skip
        orders = [n for n, place in places.items() if place < len(self.power) and self.power[place]]
        if not orders:
            return False
        powers = [self.power[self._near(n * frequency, 0.5 * self.step * n / k)] for n in orders]
        middle = float(np.quantile(powers, 0.4))
        # The probability that so many of them are as strong by chance: (n choose n/2) < 2^n.
        chance = min(1.0, 20 * self.spectrum.false_alarm(middle, 1))
        rare = chance ** (len(orders) / 2) < _COMB_BY_CHANCE
        return rare and middle >= _MIN_HARMONIC * float(self.power[at])

    def _fundamental(self, at: int, order: int) -> tuple[float, float]:
        """Return the frequency and the width of the fundamental of the line `at`, in Hz.

        The line is its harmonic `order`. Frequencies of harmonics 2, 4, 8, ... times as high tell
        the fundamental as many times as precisely, as far as they are clear. A line that wanders is
        broad (its power is above that of no line), and its harmonics are broader.
        """
        weak = self.spectrum.power < 0.25 * self.threshold
        reach = max(int(0.02 * self.spectrum.frequency[at] / self.step), 2 * _LINE_BINS)
        sides = weak[at : at + reach + 1], weak[max(at - reach, 0) : at + 1][::-1]
        half_width = max(int(side.argmax()) if side.any() else len(side) for side in sides)
        frequency, error = self._peak(at) / order, _PEAK_ERROR * self.step / order
        width = max(half_width * self.step / order, error)
        min_power = max(0.02 * float(self.power[at]), 20.0)
        n = 2 * order
        while half_width <= 4 * _LINE_BINS and n * frequency < self.spectrum.frequency[-1]:
            place = self._near(n * frequency, n * error)
            around = self.spectrum.power[max(place - 1, 0) : place + 2]
            if not max(min_power, around.max()) <= self.power[place]:  # not there, or another's
                break
            frequency, error = self._peak(place) / n, _PEAK_ERROR * self.step / n
            n *= 2
        return frequency, width


class Trains:
    """The period to which each detour keeps: the one that is kept most regularly."""

    def __init__(self, detours: Detours, grid: float):
        self.starts, self.length = seconds_of(detours)
        self.durations = detours.durations
        self.grid = grid
        count = len(self.starts)
        self.within = np.random.default_rng(0).random(count)  # places in steps of the grid
        self.of = np.full(count, -1)  # the number of its train
        self.regular = np.zeros(count)  # events for each period that went by, near its phase
        self.chance = np.zeros(count)  # the part of those that would be there anyway

    def add(
        self, line: SpectralLine, number: int, among: Mask | bool = True, seldom: bool = False
    ) -> None:
        """Fold the detours onto a period; those that stand out belong to it.

        First those that are left, which others would hide; then those that keep to this period
        more regularly than to that which has them.

        Parameters
        ----------
        number : int
            Of the train.
        among : bool, shape (events,), optional
            Only these.
        seldom : bool
            Only what is left, also where it comes in few of the periods.
        """
        for free in [self.of < 0] if seldom else [self.of < 0, self.of < number]:
            inside, regular, chance = self._fold(np.flatnonzero(free & among), line.frequency)
            highest = float(regular.max(initial=0.0))
            if highest < _MIN_OCCUPIED and not seldom:
                continue
            least = 0.0 if seldom else _SELDOM * highest
            better = regular > np.maximum(1.05 * self.regular[inside], least)
            chosen = inside[better]
            self.of[chosen] = number
            self.regular[chosen], self.chance[chosen] = regular[better], chance[better]
        mine = np.flatnonzero(self.of == number)
        if not len(mine):
            return
        # A daemon whose period is a multiple of the tick's keeps to the tick's phase: it lasts far
        # longer than nearly all of it, with none in between, as in a long tail of one distribution.
        lasting = self.durations[mine]
        far = lasting > _FAR_LONGER * np.quantile(lasting, 0.95)
        if far.any() and lasting[far].min() > _GAP * lasting[~far].max():
            self.of[mine[far]], self.regular[mine[far]] = -1, 0.0

    def _fold(
        self, among: npt.NDArray[np.int64], frequency: float
    ) -> tuple[npt.NDArray[np.int64], Floats, Floats]:
        """Find which of some detours stand out at a phase; how regularly, how many by chance."""
        # Where in its step of a grid a detour was is not known: it is put anywhere in it. Phases
        # would be steps of the grid otherwise, each crowded beside the empty ones between them.
        step = self.grid * frequency
        if step > _MAX_STEP:
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
        random = usual * np.bincount(cluster[clear], minlength=1)
        # What comes in the train's own step of a grid is one detour with it.
        alone = max(1.0 - usual * bins * step / (self.length * frequency), _MIN_ALONE)
        events = np.minimum((size - random) / alone, size)
        regular = np.minimum(events / (self.length * frequency), 1.0)
        inside = clear[place]
        mine = cluster[place[inside]]
        return among[inside], regular[mine], (1.0 - events / np.maximum(size, 1))[mine]

    def period(self, number: int, line: SpectralLine) -> Period:
        """The period, and the events that belong to the train of this number."""
        mine = self.of == number
        events = round(float((1.0 - self.chance[mine]).sum()))
        durations = self.durations.astype(np.float64)
        # Those that are there by chance last as long as the others.
        rest = durations[self.of < 0]
        chance = float(self.chance[mine].sum()) * (float(rest.mean()) if len(rest) else 0.0)
        taken = max(float(durations[mine].sum()) - chance, 0.0)
        return Period(
            frequency=line.frequency,
            seconds=1.0 / line.frequency,
            events=events,
            share=events / len(self.starts),
            time_share=taken / max(float(durations.sum()), 1e-300),
            occupied=events / (self.length * line.frequency),
            false_alarm=line.false_alarm,
        )


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
    detours: Detours, *, most: int = 5, false_alarm: float = 1e-3, grid: float | None = None
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
    step = grid or _grid_of(detours)
    fastest = 0.5 / step if step else _HIGHEST
    trains = Trains(detours, step)
    lines: list[SpectralLine] = []
    looked_at = 0
    for part in _LOOKS:
        while len(lines) < 2 * most:
            left = trains.of < 0
            long = detours.durations >= _shortest_of(detours.durations[left], part)
            count = int((left & long).sum())
            if count < MIN_FOR_PERIODS or count == looked_at:
                break
            # Half of the error for the first look, half of that for the second, ...
            false_alarm /= 2
            spectrum = periodogram(starts[left & long], length)
            threshold = spectrum.threshold(false_alarm) if len(spectrum.power) else np.inf
            search = LineSearch(starts[left & long], length, spectrum, fastest, threshold)
            for line in lines:
                search.hide(line)
            new = search.strongest(2 * most - len(lines))
            for number, line in enumerate(new, len(lines)):
                trains.add(line, number, among=long)
            lines += new
            if not new:
                looked_at = count
                break
    for number, line in enumerate(lines):  # what comes now and then, but only with a tick
        if (trains.of == number).any():
            trains.add(line, number, seldom=True)
    periods = [trains.period(number, line) for number, line in enumerate(lines)]
    kept: list[Period] = []
    for period in sorted(periods, key=lambda period: -period.events):
        apart = [abs(period.frequency / other.frequency - 1) for other in kept]
        wanders = any(
            ratio < _SAME_FREQUENCY and period.events < other.events / 5
            for ratio, other in zip(apart, kept, strict=True)
        )
        dominant = period.share >= _MIN_SHARE or period.time_share >= _MIN_TIME_SHARE
        if not dominant or period.occupied < _MIN_OCCUPIED or wanders:
            continue
        same = next((i for i, ratio in enumerate(apart) if ratio < _SAME_PERIOD), None)
        if same is None:
            kept.append(period)
        else:
            kept[same] = _together(kept[same], period)
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
    """Half of the shortest duration of the longest detours that take `part` of all their time.

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
