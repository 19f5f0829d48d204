"""Intervals of measured times: of series that depend on each other, of printed benchmark results.

Intervals of a mean and of quantiles suppose independent samples. Times that were measured one after
the other may depend on each other: a daemon that runs for a second delays all that fall into it. A
`Series` counts as its effective number of independent ones (autocorrelation).

Benchmarks (OSU, IMB) print a mean, but not how much its iterations spread. If they are like samples
that are at hand (of a simulation), these tell how far the number may be off by chance.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..optional_packages import special
from .intervals import (
    Estimate,
    Floats,
    RareEvents,
    binomial_ranks,
    effective_events,
    mean,
    quantile,
    quantile_rank,
    rare_event_margin,
    student_t,
)

_KNOWN_BY = 10  # rare events in samples that tell a variance
MIN_EFFECTIVE = 20
"""Dependent samples that are worth fewer have no intervals: how few, they do not show either."""
_MIN_SAMPLES = 16
_MAX_SAMPLES = (
    2**20
)  # of a longer series, the first ones: their transform is quick and fits into memory
_LAGS = 8  # the longest lag is this part of the series
_TELL_WARM_UP = 30  # samples
_WINDOW = 5  # autocorrelation times, whose autocorrelations are summed
_SIGNIFICANT = 4.0  # standard deviations of a sum of autocorrelations of independent samples


def autocorrelation_time(series: npt.ArrayLike) -> float:
    """``1 + 2 (r_1 + r_2 + ...)``, r the autocorrelations: the samples that are worth one.

    Autocorrelations that could be chance count as none.

    Parameters
    ----------
    series : float64 array, shape (n,)
        In the order of time.

    Returns
    -------
    float
        From 1 to n.

    Notes
    -----
    The sum of m autocorrelations has the standard deviation sqrt(m / n) where samples are
    independent, and t times as much where t is the autocorrelation time. The first m = 1, 2, 4, ...
    up to n / 8 are summed: those whose sum is above 4 standard deviations, and from there on all
    within 5 autocorrelation times (A. Sokal, *Monte Carlo methods in statistical mechanics*, 1997,
    section 3). The mean of the series is estimated; for this, each autocorrelation is too small by
    the autocorrelation time over n (M. B. Priestley, *Spectral analysis and time series*, 1981,
    5.3.3), which is corrected.

    Examples
    --------
    >>> drawn = np.random.default_rng(1).normal(size=2000)
    >>> autocorrelation_time(drawn), 8 < autocorrelation_time(np.repeat(drawn, 10)) < 16
    (1.0, True)
    """
    values = np.asarray(series, dtype=np.float64)[:_MAX_SAMPLES]
    count = len(values)
    if count < _MIN_SAMPLES or values.min() == values.max():
        return 1.0
    away = values - values.mean()
    away /= np.abs(away).max()  # no overflow, no underflow
    size = 1 << (2 * count - 1).bit_length()  # zeros behind, so that the end does not meet the head
    products = np.fft.irfft(np.square(np.abs(np.fft.rfft(away, size))), size)
    sums = np.cumsum(products[1 : count // _LAGS + 1] / products[0])
    longest, lags, summed, before = 1.0, 1, 0, 0.0
    while lags <= len(sums):
        total, more = float(sums[lags - 1]), lags - summed
        # Of independent samples, each autocorrelation is -1 / count on average.
        excess = total - before + more * longest / count
        window_is_open = 0 < summed < _WINDOW * longest
        if window_is_open or excess > _SIGNIFICANT * longest * math.sqrt(more / count):
            longest = max(longest, (1 + 2 * total) / (1 - 2 * (lags - total) / count))
            summed, before = lags, total
        lags *= 2
    return min(longest, float(count))


class Series:
    """Samples in the order of time; intervals that allow for their autocorrelation.

    The interval is that of fewer independent samples with the same distribution: their number over
    the longest of some autocorrelation times. These are that of the ranks, which no tail hides, and
    for a mean that of the samples, for a quantile that of whether samples are at or below it. This
    is an approximation, for the number is an estimate, too. Where it is below `MIN_EFFECTIVE`,
    there are no bounds. Samples that ascend or descend were sorted, which does not show how they
    depend on each other: they are taken as independent.

    Attributes
    ----------
    ascending : float64 array, shape (n,)
    is_sorted : bool
        Whether they were in order before.

    Examples
    --------
    >>> series = Series(np.repeat(np.random.default_rng(1).normal(size=200), 10))
    >>> 100 < series.effective() < 300, series.mean(0.95).realizations == int(series.effective())
    (True, True)
    >>> Series(series.ascending).effective()
    2000.0
    """

    def __init__(self, samples: Floats) -> None:
        steps = np.diff(samples)
        self.is_sorted = bool((steps >= 0).all() or (steps <= 0).all())
        self.ascending: Floats = np.sort(samples)
        self.samples = samples
        self._times: dict[float, float] = {}

    @cached_property
    def warm_up(self) -> int:
        """The number of first samples in a row that are the longest, and above twice the median.

        One in 500 of the others may be longer. Of fewer than 30 samples, and of sorted ones, it is
        not told.
        """
        count = len(self.samples)
        if self.is_sorted or count < _TELL_WARM_UP:
            return 0
        shortest = np.minimum.accumulate(self.samples[: count // 2])
        longest = self.ascending[::-1][max(count // 500, 1) - 1 :]
        alike = shortest >= np.maximum(longest[: len(shortest)], 2 * self._value(0.5))
        return int(alike.nonzero()[0].max(initial=-1)) + 1

    def effective(self, q: float | None = None) -> float:
        """Return how many independent samples it is worth for quantile `q`, or for the mean."""
        count = float(len(self.samples))
        if self.is_sorted:
            return count
        key = math.nan if q is None else q
        if key not in self._times:
            series = self.samples if q is None else self.samples <= self._value(q)
            time = autocorrelation_time(series)
            self._times[key] = max(time, self._time_of_ranks)
        return max(count / self._times[key], 1.0)

    @cached_property
    def _time_of_ranks(self) -> float:
        _, at, counts = np.unique(self.samples, return_inverse=True, return_counts=True)
        return autocorrelation_time((np.cumsum(counts) - counts / 2)[at])

    def _value(self, q: float) -> float:
        return float(self.ascending[quantile_rank(len(self.ascending), q) - 1])

    def mean(self, confidence: float) -> Estimate:
        """Mean and its interval, as `stats.mean`; `realizations` are the independent ones."""
        x, independent = self.ascending, self.effective()
        if independent == len(x):
            return mean(x, confidence)
        count, center = math.floor(independent), x.mean()
        if too_few(independent, len(x)):
            return Estimate(center, -math.inf, math.inf, confidence, count)
        # The samples spread around their own mean, which is as uncertain as that of so few.
        reach = student_t(confidence, count - 1) * x.std() / math.sqrt(count - 1)
        student = Estimate(center, center - reach, center + reach, confidence, count)
        events = RareEvents.of(x, center)
        return events._replace(count=events.count * count / len(x)).widen(student)

    def quantile(self, q: float, confidence: float) -> Estimate:
        """A quantile and its interval, as `stats.quantile`, of independent samples' shares."""
        x, independent = self.ascending, self.effective(q)
        if independent == len(x):
            return quantile(x, q, confidence)
        count, low, high = math.floor(independent), -math.inf, math.inf
        if not too_few(independent, len(x)):
            first, last = binomial_ranks(count, q, confidence)
            low = low if first is None else x[(first - 1) * len(x) // count]
            high = high if last is None else x[-(-last * len(x) // count) - 1]
        return Estimate(self._value(q), low, high, confidence, count)


def too_few(independent: float, count: int) -> bool:
    """Return whether `count` samples depend on each other too long to have intervals."""
    return independent < min(MIN_EFFECTIVE, count)


def reported_mean(value: float, iterations: int, like: Floats, confidence: float) -> Estimate:
    """Return a mean that a benchmark printed, with the interval that its iterations leave it.

    The iterations are not known, only how many there were. They are taken to be independent, and
    to spread as the samples `like` do.

    Student's interval with the samples' standard deviation. Where the iterations have few rare
    events, a mean that met one of them too many is far off: so the interval is wider, at the other
    end than that of a mean of samples. It is so by `rare_event_margin` where the samples have
    hardly met such events, and by a seventh of it from 9 events in the samples on.

    Notes
    -----
    That margin is for a sample whose own spread stands for the true one. For a variance that is
    known Bennett's inequality has the term ``log(1 / a) / (3 n)`` in place of
    ``7 log(2 / a) / (3 (n - 1))``, which a seventh of it exceeds (Maurer & Pontil, theorems 3 and 4
    of the paper that `rare_event_margin` names). The more events the samples met, the better they
    tell the variance. The proportion ``1 - events / 10`` is ours. Of tables of 20 means of 100
    iterations, beside 2000 samples of which 1 to 16 met a delay (fixed, exponential, or lognormal
    with sigma = 1), at most 6 in 100 more are told apart wrongly than with the whole margin; with a
    seventh alone it would be 11.

    Examples
    --------
    >>> import numpy as np
    >>> like = np.random.default_rng(1).normal(50.0, 2.0, size=10_000)
    >>> print(reported_mean(50.0, 400, like, 0.95))
    50 [49.8, 50.2]
    """
    center, count = like.mean(), len(like)
    reach = student_t(confidence, count - 1) * like.std(ddof=1) / math.sqrt(iterations)
    events = effective_events(like)
    margin = float(rare_event_margin(events * iterations / count, iterations, confidence))
    if not math.isfinite(margin):  # samples that are all the same do not tell what is rare
        return Estimate(value, -math.inf, math.inf, confidence, iterations)
    margin *= max(1 - events / _KNOWN_BY, 1 / 7)
    below = reach + margin * (like.max() - center)
    above = reach + margin * (center - like.min())
    return Estimate(value, value - below, value + above, confidence, iterations)


def reported_quantile(
    value: float, iterations: int, q: float, like: Floats, confidence: float
) -> Estimate:
    """A quantile of `iterations` independent iterations with the distribution of the samples.

    How many iterations fall below a quantile is binomial, whatever the distribution. So it is known
    between which quantiles of its distribution a quantile of iterations lies, and the samples tell
    between which order statistics these are. The interval and that of the samples' quantile leave
    each other out where the reported one lies beyond these.

    Parameters
    ----------
    like : float64 array, shape (n,)
        Ascending.

    Examples
    --------
    >>> import numpy as np
    >>> like = np.sort(np.random.default_rng(1).normal(50.0, 2.0, size=10_000))
    >>> print(reported_quantile(50.0, 400, 0.5, like, 0.95))
    50 [49.74, 50.27]
    """
    samples = quantile(like, q, confidence)
    rank = quantile_rank(iterations, q)
    tail = (1 - confidence) / 2
    # Benchmarks differ in which of two or three neighbours they print.
    lower, upper = max(rank - 1, 1), min(rank + 1, iterations)
    least = float(special.betaincinv(lower, iterations - lower + 1, tail))
    most = float(special.betaincinv(upper, iterations - upper + 1, 1 - tail))
    first = binomial_ranks(len(like), least, confidence)[0] if least > 0 else None
    last = binomial_ranks(len(like), most, confidence)[1] if most < 1 else None
    low = -math.inf if last is None else value - (like[last - 1] - float(samples.high))
    high = math.inf if first is None else value + (float(samples.low) - like[first - 1])
    return Estimate(value, low, high, confidence, iterations)
