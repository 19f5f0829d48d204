"""Confidence intervals: mean (t; wider for rare events), quantile (order statistics); caveats.

The interval of a mean is wider where few events decide it (`RareEvents`). Noise that the sample did
not meet at all is not seen here: `expected_hits` asks the case for it. Those of a study's
observables are in `observables.statistics`. A quantile (percentile) such as p99 of too few samples
has an interval without an end. Which order statistics enclose it: `binomial_ranks`. At the end are
the critical values: Student's t, normal, Clopper-Pearson.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from ..fields import check_integer, check_numbers, is_number, refuse_masked, shorten
from ..optional_packages import special

ENOUGH_EVENTS = 30
"""A mean that rests on fewer rare events has a wider interval: Cochran's 25, and a margin."""
Floats = npt.NDArray[np.float64]
_SHOWN = 5  # of an array of estimates
# Of times in seconds: what differs by less are their last digits, no data. So it is of times
# between two of them (np.diff), while these are some thousand times as long as those at most.
_ROUNDING = 2.0**-40
RARE_NOISE, RECORDING = "rare_noise", "recording"
"""Codes of caveats: noise that too few realizations met; a recording that is one of many."""


_MAX_DIGITS = 6  # of a number with a narrow interval
_EXACT = 13  # digits: what differs behind these are roundings


def interval_digits(numbers: Iterable[float], least: int) -> int:
    """Return how many digits, or `least`, show that the ends of an interval differ.

    Up to 6, or more where the ends would be the same, unless that is rounding: no sample is
    certain.

    Examples
    --------
    >>> interval_digits([3.39871, 3.39842, 3.39903], 4), interval_digits([3.4, 3.0, 3.9], 4)
    (5, 4)
    """
    known = sorted(number for number in numbers if math.isfinite(number))
    width = known[-1] - known[0] if known else 0.0
    if not width:
        return least
    needed = math.floor(math.log10(max(map(abs, known)))) + 1 - math.floor(math.log10(width))
    low, high = (f"{end:.{_MAX_DIGITS}g}" for end in (known[0], known[-1]))
    most = _MAX_DIGITS if low != high or needed > _EXACT else needed
    return max(least, min(needed, most))


class Caveat(NamedTuple):
    """A reason why the truth may lie farther away; the interval of the estimate allows for it.

    Attributes
    ----------
    code : str
        `RARE_NOISE` or `RECORDING`.
    below, above : float
        How far from the value the true one may lie for this reason, on either side.
    """

    code: str
    below: float
    above: float


@dataclass(frozen=True, eq=False)
class Estimate:
    """A value with its confidence interval.

    `value`, `low` and `high` are floats where a realization is one number, else arrays of the
    shape of a realization. Where the sample is too small for a bound, or all of it is the same so
    that it does not tell what is rare, the bound is infinite: it is not known. A format
    applies to all three: ``f"{estimate:.2f}"`` is such as ``"0.47 [0.29, 0.64]"``.

    `events` is known of a `mean` alone: how many rare events it rests on (`effective_events`).
    `caveats` are what else it may lack: the interval allows for each of them.

    Examples
    --------
    >>> print(mean([1.0, 2.0, 3.0]))
    2 [-0.4841, 4.484]
    >>> print(mean([1.0] * 29 + [31.0]))
    2 [-0.3848, 13.89] (skewed: rests on about 1 rare event)
    >>> print(mean([1.0] * 30))
    1 [-inf, inf]
    """

    value: float | Floats
    low: float | Floats
    high: float | Floats
    confidence: float
    realizations: int
    events: float | Floats | None = None
    caveats: tuple[Caveat, ...] = ()

    def __post_init__(self) -> None:
        for name in ("value", "low", "high"):
            object.__setattr__(self, name, plain(getattr(self, name)))
        if self.events is not None:
            object.__setattr__(self, "events", plain(self.events))

    def __iter__(self) -> Iterator[Any]:
        """Iterate over value, low and high."""
        return iter((self.value, self.low, self.high))

    def __format__(self, spec: str) -> str:
        rows = np.stack([np.ravel(x) for x in (self.value, self.low, self.high)], axis=1)
        words = []
        for v, low, high in rows[:_SHOWN].tolist():
            one = spec or f".{interval_digits((v, low, high), 4)}g"
            words.append(f"{v:{one}} [{low:{one}}, {high:{one}}]")
        return ", ".join(words + ["..."] * (len(rows) > _SHOWN))

    def __str__(self) -> str:
        """Return ``format(estimate)``, and whether the sample was too skewed for the interval."""
        if not self.skewed:
            return format(self, "")
        events = np.asarray(self.events)
        least = round(float(events[events > 0].min()))
        return f"{format(self, '')} (skewed: rests on about {least} rare event{'s' * (least != 1)})"

    @property
    def skewed(self) -> bool:
        """Return whether a `mean` rests on so few rare events that its interval is wider, anywhere.

        On fewer than 30 (`ENOUGH_EVENTS`), and than there are realizations: the rule by which
        studies do not believe a mean.
        """
        if self.events is None:
            return False
        events = np.asarray(self.events)
        few = np.minimum(ENOUGH_EVENTS, self.realizations)
        return bool(((events > 0) & (events < few)).any())

    @property
    def too_small(self) -> bool:
        """Return whether the sample does not give an interval with two ends, anywhere."""
        return not bool(np.isfinite(self.low).all() and np.isfinite(self.high).all())

    @property
    def half_width(self) -> float:
        """The longer side of the interval of one number."""
        value, low, high = map(float, self)
        return max(high - value, value - low)

    def lacking(self, most: float, below: float = 0.0) -> Estimate:
        """Return the estimate of a mean that may lack up to `most` of noise that is too rare.

        No error of sampling, but a bound: the upper end is higher by it. Of a difference or ratio,
        which such noise may also make smaller, the lower end is lower by `below`.

        Examples
        --------
        >>> found = Estimate(2.0, 1.0, 3.0, 0.95, 100).lacking(4.0)
        >>> print(found, found.lacking(1.0).lacks)
        2 [1, 7] 5.0
        """
        if not most and not below:
            return self
        # Of what it may lack already, the ends allow for both.
        known = [one for one in self.caveats if one.code == RARE_NOISE]
        caveat = Caveat(RARE_NOISE, below + sum(one.below for one in known), most + self.lacks)
        return self.widened(self.low - below, self.high + most, caveat)

    def widened(self, low: float | Floats, high: float | Floats, caveat: Caveat) -> Estimate:
        """Return the estimate with ends that allow for a caveat; of two of a code the larger."""
        both = {one.code: one for one in self.caveats}
        if caveat.code in both:
            known = both[caveat.code]
            caveat = Caveat(known.code, max(known.below, caveat.below),
                            max(known.above, caveat.above))  # fmt: skip
        both[caveat.code] = caveat
        return replace(self, low=low, high=high, caveats=tuple(both.values()))

    @property
    def lacks(self) -> float:
        """The part that it may lack of noise that is too rare for its realizations."""
        return sum(one.above for one in self.caveats if one.code == RARE_NOISE)

    def bounded(
        self, lower_bound: npt.ArrayLike | None, upper_bound: npt.ArrayLike = np.inf
    ) -> Estimate:
        """The interval without what lies beyond bounds that the true value is known to keep.

        It holds the true value exactly where the whole interval does, so that it covers as often.
        An end that is not known stays infinite. None bounds nothing.

        Examples
        --------
        >>> print(mean([1.0] * 39 + [9.0]).bounded(1.0))
        1.2 [1, 3.576] (skewed: rests on about 1 rare event)
        """
        # The mean of samples that all lie at a bound may be rounded to beyond it.
        least = np.minimum(-np.inf if lower_bound is None else lower_bound, self.value)
        low = np.where(np.isfinite(self.low), np.maximum(self.low, least), self.low)
        most = np.maximum(upper_bound, self.value)
        high = np.where(np.isfinite(self.high), np.minimum(self.high, most), self.high)
        return replace(self, low=low, high=high)


def in_order(quantiles: Iterable[Estimate]) -> list[Estimate]:
    """Widen the intervals of quantiles, from the lowest on, so that their ends ascend as well.

    If a quantile may be so high, those above it may, too. What widens intervals one by one (another
    recording, dependent samples) does not see that.

    Examples
    --------
    >>> low, high = Estimate(2.0, 1.0, 9.0, 0.95, 100), Estimate(3.0, 0.5, 4.0, 0.95, 100)
    >>> print(*in_order([low, high]))
    2 [0.5, 9] 3 [0.5, 9]
    """
    found = list(quantiles)
    highs = np.maximum.accumulate([float(one.high) for one in found])
    lows = np.minimum.accumulate([float(one.low) for one in found[::-1]])[::-1]
    ends = zip(found, lows.tolist(), highs.tolist(), strict=True)
    return [replace(one, low=low, high=high) for one, low, high in ends]


def mean(
    samples: npt.ArrayLike,
    confidence: float = 0.95,
    *,
    noisy: bool = True,
    lower_bound: npt.ArrayLike | None = None,
    noise_free: npt.ArrayLike | None = None,
) -> Estimate:
    """Mean and its interval.

    Parameters
    ----------
    samples : array, shape (realizations, ...)
        Finite numbers.
    confidence : float
        Between 0 and 1.
    noisy : bool
        Whether realizations can differ. If they can not, such as without noise, samples that are
        all the same are their mean for certain.
    lower_bound : array, shape (...), optional
        What no realization can lie below, such as the time without noise where noise only adds to
        it. The interval does not reach below it, and covers as often (`Estimate.bounded`).
    noise_free : array, shape (...), optional
        The value of a realization that no noise met, where one source alone acts. Samples that are
        all the same, but not this, were all met by it, as those that wait for the slowest of many
        slow ranks.

    Returns
    -------
    Estimate
        Of shape (...). Student's interval covers as often as is said where the mean is near
        normal. Where few rare events decide it (`Estimate.skewed`), it would cover less: 95 % are
        79 % for 30 samples that are hit with 5 %. So it is made wider on the side where rare events
        lie, by `rare_event_margin`; see there for delays with long tails. One realization has no
        interval, and neither has a sample that is all the same: what is too rare to be in it may be
        large. Its ends are infinite. But if all of it was met by noise (`noise_free`), its ends are
        those of the share that is met (Clopper & Pearson), if what is not met, or met twice,
        differs by as much.

    Raises
    ------
    ValueError
        An argument out of range; a sample below `lower_bound`, by more than its last digits.

    Notes
    -----
    Samples that differ by less than 2^-40 of their size are taken as all the same.

    What is too rare to have been seen beside other, more frequent noise is not known of. Targets of
    studies and `slowdown` ask the case for it.

    Examples
    --------
    >>> estimate = mean([1.0, 2.0, 3.0])
    >>> estimate.value, round(estimate.high, 3)
    (2.0, 4.484)
    """
    x = check_samples(samples, "samples", 1)
    confidence = check_confidence(confidence)
    if lower_bound is not None:
        bound = _of_columns(lower_bound, "lower_bound", x)
        if not (x >= bound - _ROUNDING * np.abs(bound)).all():
            raise ValueError(
                f"lower_bound must not be above any sample, got {shorten(lower_bound)}, and "
                f"samples from {x.min():.6g}"
            )
        x = np.maximum(x, bound)
    x = without_rounding(x)
    # Rounding may carry it out of what was drawn; samples that are all the same are their mean.
    least, most = x.min(axis=0), x.max(axis=0)
    center = np.clip(x.mean(axis=0), least, most)
    reach = half_width(x, confidence)
    if len(x) > 1:
        reach = np.where(least == most, 0.0, reach)
    student = Estimate(center, center - reach, center + reach, confidence, len(x))
    if noise_free is not None:
        noise_free = _of_columns(noise_free, "noise_free", x)
    found = RareEvents.of(x, center, noise_free=noise_free).widen(student) if noisy else student
    return found.bounded(lower_bound)


class RareEvents(NamedTuple):
    """The rare events that an estimate rests on, as samples show them; of floats, or of arrays.

    Attributes
    ----------
    count : float
        How many, as `effective_events`; 0 where the samples are all the same, and may be those that
        no noise met.
    below, above : float
        How far the farthest samples move the estimate, each if it were all of them.
    all_met : float
        Of samples that are all the same, and all met by noise: how far it moved them. Of two sides
        that never differed: how far noise moved both.
    """

    count: Any
    below: Any
    above: Any
    all_met: Any = 0.0

    @classmethod
    def of(
        cls,
        values: Floats,
        mean: Any,
        counts: npt.NDArray[np.int64] | None = None,
        noise_free: Any = None,
    ) -> RareEvents:
        """Return rare events of samples, shape (realizations, ...), or of values with `counts`."""
        low, high = values.min(axis=0), values.max(axis=0)
        count = events_of_columns(values, counts)
        found = cls(count, mean - low, high - mean)
        if noise_free is None or len(values) < 2:
            return found
        moved = np.where(low == high, np.abs(low - noise_free), 0.0)
        moved = np.where(moved > _ROUNDING * np.abs(low), moved, 0.0)
        return found._replace(count=np.where(moved > 0, len(values), count), all_met=moved)

    @classmethod
    def of_difference(cls, minuend: Floats, subtrahend: Floats, differences: Floats) -> RareEvents:
        """Return rare events of paired differences, shape (realizations, ...).

        As `of_ratio`: what was seen on both sides, or on one, may be met on either of them alone,
        and where two sides never differed, they are as sure as what they share.
        """
        sides = (minuend, 1), (subtrahend, -1), (differences, 1)
        ends = [
            sign * (end - side.mean(axis=0))
            for side, sign in sides
            for end in (side.min(axis=0), side.max(axis=0))
        ]
        are_same = np.ptp(differences, axis=0) == 0
        common = without_rounding(subtrahend)
        shared = np.where(are_same, np.ptp(common, axis=0), 0.0)
        count = events_of_columns(np.where(are_same, common, differences))
        differing = np.count_nonzero(differences, axis=0)
        count = np.where(are_same, count, np.minimum(count, np.maximum(differing, 1)))
        return cls(count, -np.minimum.reduce(ends), np.maximum.reduce(ends), shared)

    @classmethod
    def of_ratio(cls, top: Floats, bottom: Floats, ratio: float) -> RareEvents:
        """Return rare events of paired samples, shape (realizations,), whose means have this ratio.

        The interval of the ratio depends on the residuals ``top - ratio * bottom``: the events are
        theirs, at most as many as residuals that are not 0, since few of both signs have no skew.
        Where all are 0, the events are those that both sides share, and a realization that has a
        residual is taken to have one as large as all that they varied. A hit that was seen on one
        side alone may come on the other alone: the ends are those of both.
        """
        size = float(bottom.mean())
        if not size:
            return cls(0.0, 0.0, 0.0)
        residuals = top - ratio * bottom
        rounding = _ROUNDING * max(abs(float(top.min())), abs(float(top.max())))
        residuals[np.abs(residuals) <= rounding] = 0.0  # the last digits are no data
        differing = int(np.count_nonzero(residuals))
        if differing:
            count, varied = np.minimum(events_of_columns(residuals), differing), 0.0
        else:
            shared = without_rounding(bottom)
            count, varied = events_of_columns(shared), abs(ratio / size) * float(np.ptp(shared))
        sign = math.copysign(1.0, size)
        # Each side's ends, rather than all of it: large samples take their time.
        sides = ((top, top.mean(), sign), (bottom, size, -sign * ratio), (residuals, 0.0, sign))
        ends = [
            factor * (float(end) - float(mean))
            for side, mean, factor in sides
            for end in (side.min(), side.max())
        ]
        return cls(count, -min(ends) / abs(size), max(ends) / abs(size), varied)

    def widen(self, estimate: Estimate) -> Estimate:
        """Student's or Fieller's interval, with `rare_event_margin` on each side."""
        n = estimate.realizations
        margin = rare_event_margin(self.count, n, estimate.confidence)
        # Such a share of all realizations none of n is of, with that confidence.
        unmet = self.all_met * (1 - ((1 - estimate.confidence) / 2) ** (1 / n))
        return replace(
            estimate,
            low=estimate.low - _scaled(margin, self.below) - unmet,
            high=estimate.high + _scaled(margin, self.above) + unmet,
            events=self.count,
        )


def with_input_uncertainty(
    estimate: Estimate, replicates: npt.ArrayLike, within: float = 0.0
) -> Estimate:
    """An interval that allows for what the simulation was given, too, such as a recording of noise.

    Parameters
    ----------
    estimate : Estimate
        Under the input as it is.
    replicates : array of float, shape (replicates,)
        The same under other inputs that could have been, at least two: resampled recordings.
    within : float
        Variance of one replicate that is due to its own realizations. What the replicates vary more
        than that comes from the input.

    Raises
    ------
    ValueError
        Fewer than two replicates, or something else than finite numbers; `within` is negative.

    Notes
    -----
    Each end of the interval moves away from the value: the distance becomes the root of the sum of
    its square and that of t s, where s is the standard deviation that comes from the input, and t
    Student's for the replicates. The bootstrap of the input: Barton, Nelson & Xie, "Quantifying
    Input Uncertainty via Simulation Confidence Intervals", INFORMS Journal on Computing 26 (2014).

    Examples
    --------
    >>> known = Estimate(10.0, 9.0, 11.0, 0.95, 1000)
    >>> print(with_input_uncertainty(known, [9.0, 10.0, 11.0, 10.0]))
    10 [7.216, 12.78]
    """
    others = check_samples(replicates, "replicates", 1)
    if others.ndim != 1 or len(others) < 2:
        raise ValueError(f"replicates must be 2 or more numbers, got shape {others.shape}")
    if not (is_number(within) and 0 <= within < math.inf):
        raise ValueError(f"within must be a variance from 0, got {shorten(within)}")
    between = max(float(others.var(ddof=1)) - within, 0.0)
    reach = student_t(estimate.confidence, len(others) - 1) * math.sqrt(between)
    return allowing_for_recording(estimate, reach, reach)


def allowing_for_recording(estimate: Estimate, below: float, above: float) -> Estimate:
    """Return an estimate whose ends allow for errors that have nothing to do with its own.

    Both ends move away from the value, by the root of the sum of squares of their distance and of
    the error on that side.
    """
    value, low, high = map(float, estimate)
    ends = value - math.hypot(value - low, below), value + math.hypot(high - value, above)
    return estimate.widened(*ends, Caveat(RECORDING, below, above))


def changed(estimate: Estimate, change: Callable[[float], float]) -> Estimate:
    """An estimate of one number, with its value, both ends and its caveats changed alike."""
    old = float(estimate.value)
    value, low, high = (change(float(end)) for end in estimate)
    caveats = tuple(
        Caveat(one.code, value - change(old - one.below), change(old + one.above) - value)
        for one in estimate.caveats
    )
    return replace(estimate, value=value, low=low, high=high, caveats=caveats)


def _scaled(margin: Any, distance: Any) -> Any:
    """Return margin times distance; infinite for an infinite margin, even if the distance is 0."""
    finite = np.isfinite(margin)
    return np.where(finite, np.where(finite, margin, 0.0) * distance, np.inf)


def rare_event_margin(events: npt.ArrayLike, count: int, confidence: float) -> Any:
    """Return how much wider a mean's interval is, as a part of the farthest sample's distance.

    The second term of Bernstein's empirical bound, ``7 log(2 / a) / (3 (count - 1))`` for an end
    that fails with probability a, where nothing but one event was seen; less where more were, in
    proportion, until `ENOUGH_EVENTS` or all realizations are events. Infinite where none was seen.

    Parameters
    ----------
    events : array of float, shape (...)
        `effective_events` of the samples.
    count : int
        Realizations.
    confidence : float
        Of the interval with both ends.

    Returns
    -------
    float64 array, shape (...)

    Notes
    -----
    A. Maurer, M. Pontil, *Empirical Bernstein bounds and sample variance penalization*, COLT 2009,
    theorem 4. The proportion is ours: with it 40 to 1000 realizations that are hit with 0.1 to 30 %
    cover with 94.9 % or more, for delays that are fixed, uniform, exponential, or lognormal with
    sigma = 1. With longer tails they cover less often, as the longest delays are missing from a
    sample: lognormal with sigma = 1.5 down to 88 %, with sigma = 2 down to 75 %.

    Examples
    --------
    >>> [round(float(rare_event_margin(k, 1000, 0.95)), 5) for k in (0, 1, 15, 30)]
    [inf, 0.00989, 0.00512, 0.0]
    """
    seen = np.asarray(events, dtype=np.float64)
    if count < 2:
        return np.full(seen.shape, np.inf)
    enough = min(ENOUGH_EVENTS, count)
    bernstein = 7 * math.log(4 / (1 - confidence)) / (3 * (count - 1))
    return np.where(seen > 0, bernstein * np.maximum(1 - seen / enough, 0.0), np.inf)


def of_largest(estimate: Estimate, x: Floats, chosen_by: Floats, share: float) -> Estimate:
    """The mean of realizations that are the largest of a sample, with an interval for that.

    Another sample has another threshold, so that their mean varies by more than they do. With the
    part `share` of all, the variance is ``(Var(x) + (1 - share) (mean - m)^2) / count``, where m is
    the mean of x at the threshold, here of the tenth (at least one) that is closest to it.

    Parameters
    ----------
    estimate : Estimate
        `mean` of `x`, which takes the threshold as given.
    x, chosen_by : float array, shape (count,)
        Of the largest, and that of which they are the largest.
    share : float
        In (0, 1].

    Notes
    -----
    B. J. Manistre, G. H. Hancock, *Variance of the CTE estimator*, North American Actuarial Journal
    9(2), 2005, for x itself; for another x by the same influence function.

    Examples
    --------
    >>> tail = np.arange(1.0, 41.0)
    >>> print(mean(tail), "->", of_largest(mean(tail), tail, tail, 0.05))
    20.5 [16.76, 24.24] -> 20.5 [13.76, 27.24]
    """
    closest = np.argsort(chosen_by, kind="stable")[: max(1, len(x) // 10)]
    above = float(x.mean() - x[closest].mean())
    variance = float(x.var(ddof=1)) if len(x) > 1 else 0.0
    if not variance or not above:
        return estimate
    wider = math.sqrt(1 + (1 - share) * above**2 / variance)
    value, low, high = map(float, estimate)
    return replace(estimate, low=value - wider * (value - low), high=value + wider * (high - value))


def standard_error(samples: npt.ArrayLike) -> float | Floats:
    """Standard error of the mean of samples of shape (realizations, ...), at least 2 of them."""
    x = check_samples(samples, "samples", 2)
    return plain(x.std(axis=0, ddof=1) / math.sqrt(len(x)))


@overload
def quantiles(samples: npt.ArrayLike, q: float, confidence: float = 0.95) -> Estimate: ...


@overload
def quantiles(
    samples: npt.ArrayLike, q: Iterable[float] = (0.05, 0.5, 0.95), confidence: float = 0.95
) -> list[Estimate]: ...


def quantiles(
    samples: npt.ArrayLike, q: float | Iterable[float] = (0.05, 0.5, 0.95), confidence: float = 0.95
) -> Estimate | list[Estimate]:
    """Quantiles and their intervals, whatever the distribution.

    The interval of a quantile lies between two order statistics of the samples, chosen by the
    binomial distribution of how many samples fall below the quantile.

    Parameters
    ----------
    samples : array, shape (realizations, ...)
        Finite numbers.
    q : float or list of float
        Each between 0 and 1. The estimate is the sample that leaves a share q at or below it, as
        NumPy's ``method="inverted_cdf"`` has it.
    confidence : float
        Between 0 and 1; the interval covers with at least this probability.

    Returns
    -------
    Estimate or list of Estimate
        One for each q, or the one of a single number; of shape (...). A bound that so few
        realizations can not give is infinite (`Estimate.too_small`); `realizations_needed` tells
        how many it takes.

    Examples
    --------
    >>> from jitterfly import stats
    >>> low, median = stats.quantiles(range(1, 101), [0.01, 0.5])
    >>> median.low, median.value, median.high
    (40.0, 50.0, 61.0)
    >>> low.too_small, low.low, stats.realizations_needed(0.01)
    (True, -inf, 368)
    >>> stats.quantiles(range(1, 101), 0.5).value
    50.0
    """
    x = np.sort(check_samples(samples, "samples", 1), axis=0)
    confidence = check_confidence(confidence)
    refuse_masked(q, "q must be above 0 and below 1")
    if getattr(q, "ndim", 1) == 0:  # an array, also of xarray
        q = np.asarray(q).item()
    if isinstance(q, Iterable) and not isinstance(q, str):
        return [_quantile(x, share, confidence) for share in q]
    return _quantile(x, q, confidence)


def quantile(samples: npt.ArrayLike, q: float, confidence: float = 0.95) -> Estimate:
    """One quantile and its interval, as `quantiles`.

    Parameters
    ----------
    samples : array, shape (realizations, ...)
        Finite numbers.
    q : float
        Between 0 and 1: 0.99 is p99.
    confidence : float
        Between 0 and 1.

    Returns
    -------
    Estimate
        Of shape (...), in the unit of the samples. An end that so few realizations do not have is
        infinite.

    Raises
    ------
    ValueError
        An argument out of range.

    Examples
    --------
    >>> print(quantile([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.5))
    3 [1, 6]
    """
    return quantiles(samples, q, confidence)


def thirty_run_means(samples: npt.ArrayLike, runs: int = 30) -> Floats:
    """Means of successive groups of 30 realizations: what one published point is a draw of.

    Returns
    -------
    float64 array, shape (realizations // runs, ...)
        Its spread is the scatter of a 30-run mean. Realizations left over are not used.

    Raises
    ------
    ValueError
        Fewer than `runs` samples.
    """
    runs = check_integer(runs, "runs", 1, 2**32)
    x = check_samples(samples, "samples", runs)
    groups = len(x) // runs
    means: Floats = x[: groups * runs].reshape(groups, runs, *x.shape[1:]).mean(axis=1)
    return means


def effective_events(
    values: npt.NDArray[np.float64], counts: npt.NDArray[np.int64] | None = None
) -> float:
    """Return how many equally large rare events would make the mean as skewed as it is.

    Student's interval of a mean needs a sum that is near normal. Of a rare event that k of n
    realizations had, the skewness of the mean is 1 / sqrt(k); so this is n over the squared
    skewness of the samples, n at most. W. G. Cochran (*Sampling techniques*, 1977, 2.15) asks for
    more than 25.

    Parameters
    ----------
    values : float64 array
    counts : int64 array, optional
        How often each value was found; once without it.

    Returns
    -------
    float
        0 where all values are the same: nothing has happened yet.

    Examples
    --------
    >>> samples = np.zeros(1000)
    >>> samples[:10] = 5.0
    >>> round(effective_events(samples), 1)
    10.3
    """
    return float(events_of_columns(check_samples(values, "values", 0), counts))


def events_of_columns(
    values: npt.NDArray[np.float64], counts: npt.NDArray[np.int64] | None = None
) -> Any:
    """The `effective_events` of each column of shape (realizations, ...); shape (...)."""
    total = len(values) if counts is None else int(counts.sum())
    if total < 2:
        return np.zeros(values.shape[1:])
    away = values - np.average(values, axis=0, weights=counts)
    high, low = away.max(axis=0), away.min(axis=0)
    largest, varies = np.maximum(high, -low), high > low
    away /= np.where(varies, largest, 1.0)  # no overflow, no underflow
    if counts is None and away.ndim == 1:
        # No second array: memory that the system has to clear takes longer than the sums. And not
        # np.dot: OpenBLAS takes threads for it, which spin on after it.
        second = np.einsum("i,i->", away, away) / total
        third = np.einsum("i,i,i->", away, away, away) / total
    else:
        squares = away * away
        second = np.average(squares, axis=0, weights=counts)
        third = np.average(squares * away, axis=0, weights=counts)
    skewed = third**2 > second**3
    few = total * second**3 / np.where(skewed, third**2, 1.0)
    return np.where(varies, np.where(skewed, few, total), 0.0)


def without_rounding(x: Floats, size: Any = 0.0) -> Floats:
    """Return samples, shape (realizations, ...), all the same where their range is rounding.

    The last digits of times of their size, or of `size`, would count as events, and make the mean
    exact.
    """
    low, high = x.min(axis=0), x.max(axis=0)
    largest = np.maximum(np.maximum(-low, high), size)
    are_same = high - low <= _ROUNDING * largest
    return np.where(are_same, x[:1], x) if are_same.any() else x


def half_width(x: Floats, confidence: float) -> Any:
    """Half the length of the interval of a mean."""
    if len(x) < 2:
        return np.full(x.shape[1:], np.inf)
    return student_t(confidence, len(x) - 1) * standard_error(x)


def plain(value: Any) -> float | Floats:
    """A float where there is one number, else an array."""
    return float(value) if np.ndim(value) == 0 else np.asarray(value, dtype=np.float64)


def check_samples(samples: npt.ArrayLike, name: str, least: int) -> Floats:
    """Check `least` or more finite numbers, and return them as an array of floats."""
    rule = f"{name} must be an array of numbers"
    x = check_numbers(samples, rule)
    if x.ndim < 1:
        raise ValueError(f"{rule}, got {shorten(samples)}")
    if len(x) < least:
        raise ValueError(f"{name} must hold at least {least} realizations, got {len(x)}")
    if not np.isfinite(x).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity among them")
    return x.astype(np.float64, copy=False)


def _of_columns(value: npt.ArrayLike, name: str, samples: Floats) -> npt.NDArray[Any]:
    """A number, or one for each column of the samples."""
    rule = f"{name} must be None, a number, or numbers of shape {samples.shape[1:]}"
    numbers = check_numbers(value, rule)
    if numbers.ndim and numbers.shape != samples.shape[1:]:
        raise ValueError(f"{rule}, got {shorten(value)}")
    return numbers


def check_confidence(confidence: Any, name: str = "confidence") -> float:
    """Return a confidence, or another share of that `name`, as a float; it is within 0 and 1."""
    if not is_number(confidence) or not 0 < confidence < 1:
        percent = is_number(confidence) and 1 < confidence < 100
        hint = f"; {confidence:g} % is {confidence / 100:g}" if percent else ""
        raise ValueError(f"{name} must be above 0 and below 1, got {shorten(confidence)}{hint}")
    return float(confidence)


def _quantile(x: Floats, q: float, confidence: float) -> Estimate:
    """Estimate the quantile of sorted samples."""
    check_share(q)
    unlimited = np.full(x.shape[1:], np.inf)
    low, high = binomial_ranks(len(x), float(q), confidence)
    return Estimate(
        x[quantile_rank(len(x), q) - 1],
        -unlimited if low is None else x[low - 1],
        unlimited if high is None else x[high - 1],
        confidence,
        len(x),
    )


def normal(confidence: float) -> float:
    """The z with ``P(|Z| <= z) = confidence``, Z of the normal distribution.

    Examples
    --------
    >>> round(normal(0.95), 4)
    1.96
    """
    return -float(special.ndtri((1 - confidence) / 2))


@lru_cache(maxsize=1024)
def student_t(confidence: float, freedom: float) -> float:
    """The t with ``P(|T| <= t) = confidence``, T of Student's distribution.

    Examples
    --------
    >>> round(student_t(0.95, 2), 4), round(student_t(0.95, 29), 4), round(student_t(0.99, 1), 3)
    (4.3027, 2.0452, 63.657)
    """
    return -float(special.stdtrit(freedom, (1 - confidence) / 2))


@lru_cache(maxsize=1024)
def binomial_ranks(count: int, q: float, confidence: float) -> tuple[int | None, int | None]:
    """Return which order statistics (1 = smallest) of `count` samples enclose the q quantile.

    Each misses with a probability of at most (1 - confidence) / 2; None where none does.
    """
    check_share(q)
    tail = (1 - confidence) / 2
    # Sample `rank` lies above the quantile when fewer than `rank` samples are at or below it.
    ranks = range(count)
    low = bisect_left(ranks, True, key=lambda k: _binomial_cdf(k, count, q) > tail)
    high = bisect_left(ranks, True, key=lambda k: _more_than(k, count, q) <= tail) + 1
    return (low if low >= 1 else None), (high if high <= count else None)


def _binomial_cdf(k: int, count: int, q: float) -> float:
    """P(B <= k), B of the binomial distribution (scipy's own takes counts below 2^31 only)."""
    return float(special.betainc(count - k, k + 1, 1 - q)) if k < count else 1.0


def _more_than(k: int, count: int, q: float) -> float:
    """P(B > k)."""
    return float(special.betainc(k + 1, count - k, q)) if k < count else 0.0


def check_share(q: float) -> None:
    """Raise unless it is between 0 and 1."""
    if not is_number(q) or not 0 < q < 1:
        raise ValueError(f"q must be between 0 and 1, got {shorten(q)}")


def quantile_rank(count: int, q: float) -> int:
    """Return the rank that estimates the q quantile: the first with a share q at or below it."""
    # 1e-9 absorbs the rounding of the product
    return min(max(math.ceil(count * q - 1e-9), 1), count)


def clopper_pearson(hits: int, count: int, confidence: float) -> tuple[float, float]:
    """Interval of a probability from `hits` in `count` trials, which never covers less.

    C. J. Clopper, E. S. Pearson, *The use of confidence or fiducial limits illustrated in the case
    of the binomial*, Biometrika 26, 1934.

    Examples
    --------
    >>> [round(p, 4) for p in clopper_pearson(0, 10, 0.95)]
    [0.0, 0.3085]
    """
    low, high = clopper_pearson_ends(np.asarray(hits), count, confidence)
    return float(low), float(high)


def clopper_pearson_ends(
    hits: npt.NDArray[Any], count: npt.ArrayLike, confidence: float
) -> tuple[Floats, Floats]:
    """Return the ends of `clopper_pearson` of arrays of hits, which need not be whole."""
    tail, misses = (1 - confidence) / 2, count - hits
    low = special.betaincinv(np.maximum(hits, 1e-9), misses + 1, tail)
    high = 1 - special.betaincinv(np.maximum(misses, 1e-9), hits + 1, tail)
    return np.where(hits > 0, low, 0.0), np.where(misses > 0, high, 1.0)


def realizations_needed(q: float, confidence: float = 0.95) -> int:
    """Return how many realizations give the interval of the q quantile two ends.

    Examples
    --------
    >>> realizations_needed(0.5), realizations_needed(0.95)
    (6, 72)
    """
    check_share(q)
    confidence = check_confidence(confidence)
    return math.ceil(math.log((1 - confidence) / 2) / math.log(max(q, 1 - q)) - 1e-9)
