"""Noise behind a collective's own times: base time, hits, bursts, and rates of detours by duration.

A collective whose iterations were timed one by one is a detector of noise. Most iterations take the
base time, with some spread. One that a detour hit takes longer. Where hits on the critical path are
rare, an iteration is delayed by the longest of them, so that the number of hits longer than x has
the Poisson distribution of mean ``-ln P(excess <= x)``. `Hits` has that number. What detours these
are, `predict.infer_noise` asks the engine: it simulates the collective under a guess, compares, and
corrects the guess.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..stats.intervals import clopper_pearson_ends
from ..stats.measured_times import MIN_EFFECTIVE, Series, autocorrelation_time
from ..units import TICKS_PER_SECOND
from .measurements import MAX_TICKS, Histogram

Floats = npt.NDArray[np.float64]
BURSTS = 0.2
"""A correlation of neighbouring exceedances from which on iterations are no independent samples."""
_TAIL = 0.01  # of the deviations below the base, which may be outliers
_REACH = 2.0  # times the largest deviation below the base is the largest above it
_STEP = 1.12  # between the numbers of hits at two edges
_MAX_BINS = 200
_LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 0.99, 0.997, 0.999)
"""Quantiles beyond which iterations may come in bursts."""
_FEW = 5  # iterations do not show bursts
_SMOOTHED = (0.05, 0.6)  # of the logarithm of the number of hits: corrections are alike within

_DRAWS = 200  # of the numbers of hits
_ENDS = (0.16, 0.5, 0.84)  # the median, and a standard error to either side


class Base(NamedTuple):
    """The time of iterations that no noise hit.

    Attributes
    ----------
    time : float
        Their median, seconds.
    reach : float
        How far above it they may lie, seconds: up to there an excess is the base's own spread.
    """

    time: float
    reach: float


def split_base(times: Floats, known: float | None = None) -> Base:
    """Return the base time and its spread, of the times of many iterations.

    Noise makes an iteration longer, never shorter. So what lies below the most frequent time (the
    half-sample mode) is the base's own spread. It is taken to reach twice as far to the other side.
    With `known`, the base is this time, without any spread.

    Parameters
    ----------
    times : float64 array, shape (n,)
        Seconds.
    known : float, optional
        Seconds.

    Notes
    -----
    T. Robertson, J. D. Cryer, *An iterative procedure for estimating the mode*, J. Am. Stat. Assoc.
    69, 1974.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> times = rng.normal(20.0, 0.5, 5000) + np.where(rng.random(5000) < 0.02, 30.0, 0.0)
    >>> found = split_base(times)
    >>> round(found.time), 1 < found.reach < 5
    (20, True)
    """
    if known is not None:
        return Base(known, 0.0)
    rising = np.sort(times)
    mode = half_sample_mode(rising)
    below = rising[rising < mode]
    spread = mode - float(np.quantile(below, _TAIL)) if len(below) else 0.0
    body = rising[rising <= mode + _REACH * spread]
    middle = float(np.median(body))
    return Base(middle, mode + _REACH * spread - middle if spread > 0 else 0.0)


def half_sample_mode(rising: Floats) -> float:
    """Return the most frequent value of ascending samples: the half that is densest, repeatedly."""
    while len(rising) > 3:
        half = (len(rising) + 1) // 2
        widths = rising[half - 1 :] - rising[: len(rising) - half + 1]
        at = np.flatnonzero(widths == widths.min())
        first = int(at[len(at) // 2])
        rising = rising[first : first + half]
    return float(np.median(rising))


class Bursts(NamedTuple):
    """The correlation, over time, of which iterations noise hit.

    Attributes
    ----------
    correlation : float
        The correlation of neighbouring iterations, each 1 if noise hit it and else 0. An iteration
        is hit if it exceeds a bound; the largest correlation over several bounds is taken.
    length : float
        The longest autocorrelation time of hits: the iterations that are worth one independent one.
    base_length : float
        The autocorrelation time of iterations that are not hit, whose base time may drift.
    """

    correlation: float
    length: float
    base_length: float

    @property
    def dependent(self) -> bool:
        """Return whether hits are too correlated to be taken for those of independent noise."""
        return self.correlation >= BURSTS


@dataclass(frozen=True)
class Hits:
    """The mean number of hits of an iteration, beyond any time.

    Parameters
    ----------
    times : float64 array, shape (n,)
        In the order of measurement, seconds.
    base : Base
    parts : tuple of Hits
        The runs that these are the times of, where there are several.
    """

    times: Floats
    base: Base
    parts: tuple[Hits, ...] = ()
    series: Series = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "series", Series(np.asarray(self.times)))

    @property
    def excess_in_order(self) -> Floats:
        """The excess over the base time, in the order of measurement, seconds."""
        return np.asarray(self.times) - self.base.time

    @cached_property
    def excess(self) -> Floats:
        """The excess over the base time, ascending, seconds."""
        return np.asarray(self.series.ascending - self.base.time)

    @property
    def count(self) -> int:
        """The number of iterations."""
        return len(self.times)

    @cached_property
    def exceeding(self) -> int:
        """The number of iterations that took longer than the base's spread explains."""
        return int(np.count_nonzero(self.excess > self.least))

    @property
    def base_error(self) -> float:
        """The standard error of the base time, a median of the iterations not hit, seconds."""
        if not self.base.reach:  # given, or without any spread
            return 0.0
        spread = self.excess[self.excess <= self.least]
        count = len(spread)
        half = math.sqrt(count * self.bursts.base_length) / 2  # in places of the ascending times
        low, high = max(int(count / 2 - half), 0), min(int(count / 2 + half), count - 1)
        return float(spread[high] - spread[low]) / 2

    @property
    def least(self) -> float:
        """The excess beyond which an iteration was hit, seconds: no spread, and no rounding."""
        return max(self.base.reach, 1e-9 * self.base.time, 0.5 / TICKS_PER_SECOND)

    def number(self, excess: npt.ArrayLike) -> Floats:
        """Return the mean number of hits per iteration that delay by more than some times.

        Parameters
        ----------
        excess : array, shape (m,)
            Seconds.
        """
        return mean_hits(self.excess, np.asarray(excess, dtype=np.float64))

    def number_band(self, excess: npt.ArrayLike, confidence: float) -> tuple[Floats, Floats]:
        """Return the ends of intervals of `number`: minus the logarithm of those of a share.

        The share of iterations without such a hit is Clopper and Pearson's, of effective samples.
        """
        at = np.asarray(excess, dtype=np.float64)
        inside = np.searchsorted(self.excess, at, side="right") / self.count
        independent = self.effective(at)
        low, high = clopper_pearson_ends(inside * independent, independent, confidence)
        with np.errstate(divide="ignore"):
            return -np.log(high), -np.log(low)

    def effective(self, excess: npt.ArrayLike = 0.0) -> Floats:
        """Return how many independent iterations they are worth, as to which exceed some times."""
        if self.parts:
            return np.asarray(sum(part.effective(excess) for part in self.parts))
        lengths = np.interp(np.asarray(excess), *self._lengths)
        return np.asarray(np.maximum(self.count / lengths, 1.0))

    @property
    def too_few(self) -> bool:
        """Return whether iterations depend on each other too long for intervals."""
        least = float(self.effective(max(self.base.reach, float(self.excess[0]))))
        return least < min(MIN_EFFECTIVE, self.count)

    @cached_property
    def _lengths(self) -> tuple[Floats, Floats]:
        """Excesses, ascending, and the autocorrelation time of whether iterations exceed each."""
        levels = np.unique([self.base.reach, *np.quantile(self.excess, _LEVELS)])
        if self.series.is_sorted:
            return levels, np.ones(len(levels))
        excess = self.excess_in_order
        return levels, np.array([autocorrelation_time(excess > level) for level in levels])

    @cached_property
    def bursts(self) -> Bursts:
        """The bursts of hits, of times in the order of measurement."""
        if self.series.is_sorted:
            return Bursts(0.0, 1.0, 1.0)
        levels, lengths = self._lengths
        excess = self.excess_in_order
        correlation = 0.0
        for level in levels[levels >= self.base.reach]:
            hit = excess > level
            if _FEW <= np.count_nonzero(hit) <= len(hit) - _FEW:
                correlation = max(correlation, float(np.corrcoef(hit[1:], hit[:-1])[0, 1]))
        beyond = levels >= self.base.reach
        base = lengths[~beyond].max(initial=1.0)
        return Bursts(correlation, float(lengths[beyond].max(initial=1.0)), float(base))

    @cached_property
    def bins(self) -> tuple[Floats, Floats]:
        """Excesses beyond the base's spread in bins ``[low, high)``, ascending, seconds.

        From the low edge of one to that of the next the number of hits falls by about an eighth.
        Between the bins are no excesses.
        """
        ticks = np.rint(self.excess * TICKS_PER_SECOND)
        values = np.unique(ticks[ticks > self.least * TICKS_PER_SECOND])
        at_least = self.count - np.searchsorted(ticks, values)
        number = -np.log(np.maximum(1 - at_least / self.count, 0.5 / self.count))
        chosen, last = [0], number[0]
        step = max(_STEP, (number[0] / number[-1]) ** (1 / _MAX_BINS))
        atom = np.append(number[1:], 0.0) * step <= number  # many iterations take exactly this time
        for i in range(1, len(values)):
            if number[i] * step <= last or atom[i]:
                chosen.append(i)
                last = number[i]
        last_of_bin = np.append(np.array(chosen[1:], dtype=np.int64), len(values)) - 1
        low, high = values[chosen], values[last_of_bin] + 1
        return low / TICKS_PER_SECOND, high / TICKS_PER_SECOND

    @property
    def before(self) -> Floats:
        """The times that all excesses of a bin, and of those after it, lie beyond, seconds."""
        return self.bins[0] - 0.5 / TICKS_PER_SECOND


def pooled(runs: Sequence[Hits]) -> Hits:
    """Return the excesses of several runs as those of one, whose base time is 0.

    Hits are looked for beyond the widest spread of all.
    """
    if len(runs) == 1:
        return runs[0]
    excess = [run.excess_in_order for run in runs]
    reach = max(run.base.reach for run in runs)
    return Hits(np.concatenate(excess), Base(0.0, reach), tuple(runs))


def mean_hits(rising: Floats, excess: Floats) -> Floats:
    """Return ``-ln P(X <= excess)`` of ascending samples of X; half a sample stands for none."""
    inside = np.searchsorted(rising, excess, side="right")
    return np.asarray(-np.log(np.maximum(inside, 0.5) / len(rising)))


@dataclass(frozen=True)
class DetourRates:
    """Detours by their duration: how often each rank has one that lasts longer.

    Parameters
    ----------
    low, high : float64 array, shape (bins,)
        Bins of durations, ascending, seconds; within one they are uniform.
    rates : float64 array, shape (bins,)
        Per second of a rank's idle CPU, of detours that last as long as each low edge or longer.
    """

    low: Floats
    high: Floats
    rates: Floats

    def beyond(self, duration: npt.ArrayLike) -> Floats:
        """Return the rate of detours that last longer than some times, per second."""
        edges = np.stack([self.low, self.high], axis=1).ravel()
        rates = np.stack([self.rates, np.append(self.rates[1:], 0.0)], axis=1).ravel()
        return np.interp(np.asarray(duration), edges, rates)

    def histogram(self, events: int) -> Histogram:
        """Return the durations as a histogram of `events` events, with the time they take to come.

        The counts are whole: each edge has the nearest number of events beyond it.
        """
        total = float(self.rates[0])
        most = MAX_TICKS / TICKS_PER_SECOND / 4  # of all durations, and of the time to come
        events = int(min(max(events, 1), most * total, most / float(self.high[-1])))
        beyond = np.rint(self.rates / total * events).astype(np.int64)
        beyond[-1] = max(beyond[-1], 1)
        beyond = np.maximum.accumulate(beyond[::-1])[::-1]
        low, high = (
            np.rint(ends * TICKS_PER_SECOND).astype(np.int64) for ends in (self.low, self.high)
        )
        counts = -np.diff(beyond, append=0)
        middle = (low + high - 1) / 2
        number = int(beyond[0])
        observed = number / total * TICKS_PER_SECOND + float(counts @ middle)
        there = counts > 0
        return Histogram(low[there], high[there], counts[there], observed=round(observed))


def first_guess(
    bins: tuple[Floats, Floats], number: Floats, ranks: float, exposed: float, stationary: bool
) -> DetourRates:
    """Return the rates for which `ranks` ranks have `number` hits in a time, without absorption.

    From a fresh start a hit is a detour that begins within the time `exposed`: the number of hits
    beyond x is ``ranks * exposed * rate(x)``. On a running machine detours are under way at the
    start as well. What is left of them exceeds x at the rate ``int_x rate(u) du`` (Cox, Renewal
    Theory, 1962, chapter 5), so that the equation is solved from the longest duration down.
    """
    if not stationary:
        return DetourRates(*bins, np.minimum.accumulate(number / (ranks * exposed)))
    rates = np.zeros(len(number))
    widths, left, beyond = np.diff(bins[0], append=bins[1][-1]), 0.0, 0.0
    for i in range(len(number) - 1, -1, -1):
        half = widths[i] / 2
        rate = max((number[i] / ranks - left - half * beyond) / (exposed + half), beyond)
        left += half * (rate + beyond)
        rates[i] = beyond = rate
    return DetourRates(*bins, rates)


def magnified(
    hits: Hits, ranks: float, exposed: float, durations: Floats, seed: int
) -> tuple[Floats, Floats]:
    """Return how many times larger the error of a stationary rate is than that of its hits' number.

    The equation of `first_guess` is differentiated: what is left of long detours is most of the
    hits, and the rate beyond a duration is how steeply their number falls there. So the numbers of
    hits in the bins are drawn again (the bootstrap), and the equation is solved for each draw.

    Returns
    -------
    below, above : float64 array, shape (durations,)
        1 or more: the distance from the median of the logarithm of the rate to one standard error
        below and above, over that of the number of hits. Infinite where draws have no such hits.
    """
    rng = np.random.default_rng(seed)
    beyond = hits.count - np.searchsorted(hits.excess, hits.before, side="right")
    worth = float(hits.effective(hits.least)) / hits.count  # of one iteration
    drawn = rng.poisson(-np.diff(beyond, append=0) * worth, (_DRAWS, len(beyond))) / worth
    rates, numbers = [], []
    for counts in drawn:
        longer = np.cumsum(counts[::-1])[::-1] / hits.count
        number = -np.log(np.maximum(1 - longer, 0.5 / hits.count))
        rates.append(first_guess(hits.bins, number, ranks, exposed, True).beyond(durations))
        numbers.append(np.interp(durations, hits.bins[0], number))
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = [
            np.diff(np.quantile(np.log(one), _ENDS, axis=0, method="inverted_cdf"), axis=0)
            for one in (rates, numbers)
        ]
        below, above = np.nan_to_num(ends[0] / ends[1], nan=np.inf, posinf=np.inf)
    return np.maximum(below, 1.0), np.maximum(above, 1.0)


def averaged(rates: Sequence[DetourRates]) -> DetourRates:
    """Return the geometric mean of rates in the same bins."""
    with np.errstate(divide="ignore"):
        logs = np.log([one.rates for one in rates])
    return DetourRates(rates[0].low, rates[0].high, np.exp(logs.mean(axis=0)))


def corrected(guess: DetourRates, measured: Floats, simulated: Floats, count: int) -> DetourRates:
    """Return rates that bring the number of hits at each edge closer to the measured one.

    Parameters
    ----------
    measured, simulated : float64 array, shape (bins,)
        Mean numbers of hits beyond each edge.
    count : int
        Of simulated iterations: the ratio of few hits is chance, so that it is that of its
        neighbours.
    """
    ratio = np.log(np.maximum(measured, 0.5 / count) / np.maximum(simulated, 0.5 / count))
    weights = count * -np.expm1(-np.minimum(measured, simulated)) + 1e-3
    weights *= np.exp(-np.maximum(measured, simulated))  # what is always exceeded tells nothing
    place = np.log(np.maximum(measured, 0.5 / count))
    # The fewer hits, the farther its neighbours: the logarithm of few is off by 1 / sqrt(few).
    width = np.clip(2 / np.sqrt(weights + 1e-9), *_SMOOTHED)[:, None]
    near = np.exp(-0.5 * ((place[:, None] - place) / width) ** 2) * (weights + 1e-9)
    smooth = near @ ratio / near.sum(axis=1)
    rates = guess.rates * np.exp(np.clip(smooth, -2.0, 2.0))
    return DetourRates(guess.low, guess.high, np.maximum.accumulate(rates[::-1])[::-1])
