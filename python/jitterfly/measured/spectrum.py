"""The periodogram of detours: how strongly they gather at each frequency.

Bartlett's periodogram of a point process (M. S. Bartlett, "The spectral analysis of point
processes", J. R. Stat. Soc. B 25, 1963): the squared modulus of the sum of exp(-2 pi i f t) over
the starts t. Scaled as here it is 1 in the mean for Poisson arrivals; a train of n strictly
periodic events among N has a line of n^2 / N (2/3 of it through the window) at its frequency and
at every multiple of that.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.fft import next_fast_len, rfft
from scipy.special import gammaincc, gammainccinv

from ..units import TICKS_PER_SECOND
from .data import Detours

HIGHEST = 10_000.0  # Hz; ticks of operating systems have 100 to 1,000
SAMPLES = (
    4  # bins for a cycle of the highest frequency: what is folded onto it is weak, see `power`
)
PADDING = 2  # so that a line between two bins loses 6 % at most
_MOST_BINS = 2**20  # of one segment: 26 s at 10 kHz, so lines of 0.04 Hz
_MOST_SEGMENTS = 16  # those of longer measurements are spread over the time
_LEAST_CYCLES = 5  # in a segment: what is slower is a trend
_BLOCK = 512  # bins that share one continuum

Floats = npt.NDArray[np.float64]


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


def periodogram(starts: Floats, length: float, highest: float = HIGHEST) -> Periodogram:
    """The periodogram of events, of any number: time n log n.

    Parameters
    ----------
    starts : float64 seconds, shape (events,)
        In [0, length).
    length : float
        Seconds observed.
    highest : float
        Hz.

    Returns
    -------
    Periodogram
        Empty where the time observed holds too few cycles of the highest frequency.
    """
    rate = SAMPLES * highest
    parts = max(1, -(-int(length * rate) // _MOST_BINS))
    bins = int(length * rate) // parts
    used = np.unique(np.linspace(0, parts - 1, min(parts, _MOST_SEGMENTS)).astype(np.int64))
    segments = len(used)
    width = rate / max(bins, 1)
    if len(starts) < 2 or _LEAST_CYCLES * width >= highest:
        return Periodogram(np.empty(0), np.empty(0), segments, width)
    size = next_fast_len(PADDING * bins, real=True)
    first, last = int(np.ceil(_LEAST_CYCLES * width * size / rate)), int(highest * size / rate)
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
    blocks = max(len(power) // _BLOCK, 1)
    edges = np.linspace(0, len(power), blocks + 1).astype(int)
    # Fewer frequencies in a block where it is the first: a trend falls steeply there.
    edges = np.unique(np.concatenate(([0, edges[1] // 16, edges[1] // 4], edges)))
    level = np.array([np.median(power[a:b]) for a, b in pairwise(edges)])
    found: Floats = np.repeat(np.maximum(level / usual, 1.0), np.diff(edges))
    return found


def power_at(starts: Floats, begin: float, length: float, frequency: Floats) -> Floats:
    """Power at any frequencies from the events of one stretch of time themselves: no bins.

    Args:
        starts: seconds, sorted; those in [begin, begin + length) count.
        frequency: Hz, shape (n,); time and memory grow with n times the events.
    """
    inside = starts[np.searchsorted(starts, begin) : np.searchsorted(starts, begin + length)]
    weights = 0.5 - 0.5 * np.cos(2 * np.pi * (inside - begin) / length)
    waves = np.exp(-2j * np.pi * np.outer(frequency, inside - begin))
    found: Floats = np.abs(waves @ weights) ** 2 / max(float((weights**2).sum()), 1e-300)
    return found
