"""Paired comparisons: differences, ratios with Fieller's interval, wins, best sets, quantiles.

Both sides are of the same realizations; `recovery` is the share of an overhead that is recovered.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..fields import check_integer, check_numbers
from ..optional_packages import special
from .cross_moments import CrossMoments, Moments, spread
from .intervals import (
    Estimate,
    RareEvents,
    binomial_ranks,
    check_confidence,
    check_samples,
    clopper_pearson,
    mean,
    normal,
    quantile_rank,
    standard_error,
    student_t,
    without_rounding,
)


def difference(
    minuend: npt.ArrayLike, subtrahend: npt.ArrayLike, confidence: float = 0.95
) -> Estimate:
    """Mean of ``minuend - subtrahend`` over the same realizations, so that the pairing counts.

    Parameters
    ----------
    minuend, subtrahend : array, shape (realizations, ...), the same
        Finite numbers.
    confidence : float
        Between 0 and 1.

    Returns
    -------
    Estimate
        Of shape (...), Student's interval of the differences. Where few realizations differ from
        the others, it is wider, as that of `mean`, by how far any moved one of the two: what was
        met by both may be met by one alone. So it is where none differs; if both sides are all the
        same, too, it is infinite.

    Examples
    --------
    >>> print(difference([5.0, 7.0, 6.0], [3.0, 4.0, 4.0]))
    2.333 [0.8991, 3.768]
    """
    a = check_samples(minuend, "minuend", 1)
    b = check_samples(subtrahend, "subtrahend", 1)
    if a.shape != b.shape:
        raise ValueError(f"minuend and subtrahend must be paired, got shapes {a.shape}, {b.shape}")
    found = apart(a, b)
    student = mean(found, confidence, noisy=False)
    return RareEvents.of_difference(a, b, found).widen(student)


def apart(a: Floats, b: Floats) -> Floats:
    """Return ``a - b``, all the same where they differ by the rounding of both alone.

    Of shape (realizations, ...). Seconds of two programs that the same noise delays by as much
    have differences that are the same but for the last digits, which tell nothing.
    """
    size = np.maximum(np.abs(a).max(axis=0), np.abs(b).max(axis=0))
    return without_rounding(a - b, size)


@dataclass(frozen=True)
class FewestExchanges:
    """The smallest T that is not distinguishable from the best one (see `fewest_exchanges`)."""

    T: int
    mean: float
    best_T: int
    best_mean: float
    confidence: float
    realizations: int


def fewest_exchanges(
    samples: npt.ArrayLike, confidence: float = 0.95, first: int = 1
) -> FewestExchanges:
    """The smallest T whose mean is not distinguishable from the smallest mean.

    Completion can only fall with T, so the T of the smallest mean is decided by noise. Here T is
    the smallest one that paired differences do not tell from the best: the smallest member of
    its confidence set (`confidence_set`).

    Parameters
    ----------
    samples : array, shape (realizations, number of T)
        Column T holds completions with T redundant exchanges, of the same realizations.
    confidence : float
        Of all paired comparisons together, between 0 and 1.
    first : int
        The smallest T to consider. Matsumoto & Suda 2012 call the best of T >= 1 "the proposed
        method"; 0 includes the butterfly itself.

    Examples
    --------
    >>> fewest_exchanges([[9.0, 4.0, 4.0], [9.0, 5.0, 5.0], [8.0, 6.0, 5.9]]).T
    1
    """
    x = check_samples(samples, "samples", 2)
    confidence = check_confidence(confidence)
    if x.ndim != 2 or x.shape[1] < 2:
        raise ValueError(f"samples must have shape (realizations, T + 1), T >= 1, got {x.shape}")
    first = check_integer(first, "first", 0, x.shape[1] - 1)
    means = x.mean(axis=0)
    best = first + int(np.argmin(means[first:]))
    reach = comparison_t(x.shape[1] - first, len(x), confidence)
    for t in range(first, best + 1):
        difference = apart(x[:, t], x[:, best])
        if difference.mean() <= max(reach * float(standard_error(difference)), 0.0):
            break
    return FewestExchanges(t, float(means[t]), best, float(means[best]), confidence, len(x))


@dataclass(frozen=True)
class ConfidenceSet:
    """The forms whose mean can not be distinguished from the smallest one.

    Attributes
    ----------
    best : int
        Number of the form with the smallest mean; of equal ones the first.
    members : tuple of int
        Ascending; `best` is one of them.
    confidence : float
        At least this is the probability that the form of the smallest true mean is a member.
    realizations : int
    """

    best: int
    members: tuple[int, ...]
    confidence: float
    realizations: int


def confidence_set(
    cross_moments: CrossMoments, forms: Sequence[Sequence[int]], confidence: float = 0.95
) -> ConfidenceSet:
    """Find, of integer linear forms of columns, those whose mean may be the smallest.

    Each is compared with the best one by paired differences, one-sided, the error rate divided
    by the number of comparisons (S. S. Gupta's subset selection, with Bonferroni's bound).

    Parameters
    ----------
    cross_moments : CrossMoments
        Of the columns.
    forms : sequence of sequences of int
        The coefficients of each form, then its constant.
    confidence : float
        Between 0 and 1.
    """
    n = cross_moments.count
    totals = [cross_moments.moments(form).x for form in forms]
    best = totals.index(min(totals))
    reach = comparison_t(len(forms), n, confidence)
    members = []
    for i, form in enumerate(forms):
        found = cross_moments.moments([a - b for a, b in zip(form, forms[best], strict=True)])
        # The sum of the differences against `reach` standard errors of it.
        width = math.sqrt(spread(n, found.x, found.xx) / (n - 1)) if n > 1 else math.inf
        if found.x == 0 or found.x <= reach * width:
            members.append(i)
    return ConfidenceSet(best, tuple(members), confidence, n)


def comparison_t(forms: int, count: int, confidence: float) -> float:
    """Return the number of standard errors beyond which a form differs from the best of `forms`."""
    if count < 2:
        return math.inf
    return student_t(1 - 2 * (1 - confidence) / max(forms - 1, 1), count - 1)


def win_probability(wins: int, ties: int, losses: int, confidence: float = 0.95) -> Estimate:
    """P(win) + P(tie) / 2.

    The interval is Tango's score interval of P(win) - P(loss), widened where Clopper and Pearson's
    of P(win | no tie) asks for it: so without ties it never covers less than it says, and it
    leaves out 1/2 only where the exact sign test tells a winner.

    Parameters
    ----------
    wins, ties, losses : int
        Realizations.
    confidence : float
        Between 0 and 1.

    Notes
    -----
    T. Tango, *Equivalence test and confidence interval for the difference in proportions for the
    paired-sample design*, Statistics in Medicine 17, 1998.

    Examples
    --------
    >>> print(win_probability(9, 0, 1))
    0.9 [0.555, 0.9975]
    >>> print(win_probability(3, 97, 0))  # no winner
    0.515 [0.4938, 0.5426]
    """
    confidence = check_confidence(confidence)
    for name, number in (("wins", wins), ("ties", ties), ("losses", losses)):
        check_integer(number, name, 0, 2**62)
    decided, count = wins + losses, wins + ties + losses
    if not count:
        return Estimate(math.nan, -math.inf, math.inf, confidence, 0)
    reach = normal(confidence)
    ends = [(1 + p) / 2 for p in _score_interval(wins, losses, count, reach)]
    part = decided / count
    ends += [0.5 + part * (p - 0.5) for p in clopper_pearson(wins, decided, confidence)]
    if not wins or not losses:  # one of them is all that there is to know
        side = 0.5 if wins else -0.5
        ends += [0.5 + side * p for p in clopper_pearson(decided, count, confidence)]
    value = 0.5 + (wins - losses) / (2 * count)
    return Estimate(value, min(ends), max(ends), confidence, count)


def _score_interval(wins: int, losses: int, count: int, reach: float) -> tuple[float, float]:
    """Return the ends of Tango's score interval of the share of wins less that of losses.

    It holds the differences that lie within `reach` standard errors, each under that difference.
    """
    found = (wins - losses) / count

    def too_far(difference: float) -> bool:
        # The probability of a loss that is the likeliest, given the difference (Tango, eq. 14).
        b = (2 * count - wins + losses) * difference - wins - losses
        c = -losses * difference * (1 - difference)
        loss = (math.sqrt(max(b * b - 8 * count * c, 0.0)) - b) / (4 * count)
        variance = max(2 * loss + difference * (1 - difference), 0.0) / count
        return abs(found - difference) > reach * math.sqrt(variance)

    return _end_of_interval(too_far, found, -1.0), _end_of_interval(too_far, found, 1.0)


def _end_of_interval(too_far: Callable[[float], bool], inside: float, outside: float) -> float:
    """Bisect for the end of an interval, from a point inside to one that may not be."""
    if not too_far(outside):
        return outside
    for _ in range(60):
        middle = (inside + outside) / 2
        if too_far(middle):
            outside = middle
        else:
            inside = middle
    return outside


Floats = npt.NDArray[np.float64]

_PLACE = 0.25  # of the error rate: for where Q lies; the rest is the sign test's
_FINEST = 2.0**-13  # no bound is nearer to the estimate, as a share of it
_FARTHEST = 2.0**10  # nor farther


class PairedQuantiles:
    """Comparisons of the q quantiles of two samples a and b of the same realizations.

    Parameters
    ----------
    a, b : float64 arrays, shape (realizations,)
        Numbers from 0.
    q : float
        Between 0 and 1.
    error : float
        How often one statement of `above` or `below` may be wrong, and each bound of `ratio`.

    Notes
    -----
    Let Q be the q quantile of b. It lies between two order statistics of b (binomial distribution).
    If the q quantile of a is at most ``c Q``, then ``P(a <= c Q) >= q >= P(b < Q)``, so of the
    realizations with either ``b < Q < a / c`` or ``a / c <= Q <= b`` the first are no more likely
    than the others: the sign test (McNemar's) tells whether they are more than chance allows. Where
    it does so for every Q between the order statistics, the quantile of a is above c times that of
    b. No density is estimated; what both samples have in common is in neither count, which is what
    pairing is for. Ties and steps of the distributions only make it more careful.

    Examples
    --------
    >>> b = np.arange(1.0, 1001.0)
    >>> pair = PairedQuantiles(1.5 * b, b, 0.5, 0.025)
    >>> pair.above(1.2), pair.above(1.6), pair.below(1.6)
    (True, False, True)
    >>> [round(bound, 2) for bound in pair.ratio()]
    [1.5, 1.48, 1.52]
    """

    def __init__(self, a: Floats, b: Floats, q: float, error: float):
        self.a, self.b, self.q = a, b, q
        self.error = error

    def above(self, factor: float = 1.0, plus: float = 0.0) -> bool:
        """Return whether the samples show a's quantile above ``factor * that of b + plus``."""
        # Realizations just inside of the quantile are counted, as there are more than outside.
        if self.q < 0.5:
            return self._reference_b.under(self.b, lambda t: (t - plus) / factor)
        return self._reference_a.over(self.a, lambda t: factor * t + plus)

    def below(self, factor: float = 1.0, plus: float = 0.0) -> bool:
        """Return whether the samples show a's quantile below ``factor * that of b + plus``."""
        if self.q < 0.5:
            return self._reference_a.under(self.a, lambda t: factor * t + plus)
        return self._reference_b.over(self.b, lambda t: (t - plus) / factor)

    @cached_property
    def _reference_a(self) -> _ReferenceSample:
        return _ReferenceSample(self.b, self.q, self.error)

    @cached_property
    def _reference_b(self) -> _ReferenceSample:
        return _ReferenceSample(self.a, self.q, self.error)

    @cached_property
    def value(self) -> tuple[float, float]:
        """The quantiles of both samples."""
        at = quantile_rank(len(self.b), self.q) - 1
        return float(np.partition(self.a, at)[at]), float(np.partition(self.b, at)[at])

    def ratio(self) -> tuple[float, float, float]:
        """The ratio of the quantiles, a's over b's: its estimate and both bounds."""
        top, bottom = self.value
        if not bottom > 0:
            return (1.0, 0.0, math.inf) if not top > 0 else (math.inf, 0.0, math.inf)
        value = top / bottom
        if not value > 0:
            return value, 0.0, math.inf
        limit = math.log(_FARTHEST)
        low = _smallest_decided(lambda x: self.above(value * math.exp(-x)), _FINEST, limit)
        high = _smallest_decided(lambda x: self.below(value * math.exp(x)), _FINEST, limit)
        return value, value * math.exp(-low), value * math.exp(high)

    def difference(self) -> tuple[float, float, float]:
        """The difference of the quantiles, a's minus b's: its estimate and both bounds."""
        top, bottom = self.value
        value, step = top - bottom, _FINEST * max(top, bottom)
        if not step > 0:
            return value, -math.inf, math.inf
        limit = _FARTHEST * max(top, bottom)
        low = _smallest_decided(lambda x: self.above(1.0, value - x), step, limit)
        high = _smallest_decided(lambda x: self.below(1.0, value + x), step, limit)
        return value, value - low, value + high


class _ReferenceSample:
    """A sample whose quantile another one's is compared with."""

    def __init__(self, b: Floats, q: float, error: float):
        self.error = (1 - _PLACE) * error
        low, high = binomial_ranks(len(b), q, 1 - _PLACE * error)
        # Between two of its order statistics the counts are worst at one of them.
        self.grid = np.zeros(0)
        if low is not None and high is not None:
            self.grid = np.unique(np.sort(b)[low - 1 : high])
        self.below = np.searchsorted(self.grid, b, side="right")  # b < grid from here on
        self.upto = np.searchsorted(self.grid, b, side="left")  # b <= grid from here on

    def over(self, a: Floats, move: Callable[[Floats], Floats]) -> bool:
        """Return whether the samples show that the quantile of a is above that of b, moved."""
        return self._tells_more(self.below, np.searchsorted(move(self.grid), a, side="left"))

    def under(self, a: Floats, move: Callable[[Floats], Floats]) -> bool:
        """Return whether the samples show that the quantile of a is below that of b, moved."""
        return self._tells_more(np.searchsorted(move(self.grid), a, side="right"), self.upto)

    def _tells_more(self, first: npt.NDArray[np.int64], second: npt.NDArray[np.int64]) -> bool:
        """Return whether at each point more are in `first` alone than in `second` alone."""
        size = len(self.grid)
        if not size:
            return False
        counts = [_count_upto(found, size) for found in (first, second, np.maximum(first, second))]
        hits, misses = counts[0] - counts[2], counts[1] - counts[2]
        if (hits <= misses).any():
            return False
        chances = special.betainc(hits, misses + 1, 0.5)  # P(B >= hits), B of hits + misses
        return bool((chances <= self.error).all())


def _smallest_decided(is_decided: Callable[[float], bool], finest: float, farthest: float) -> float:
    """Search for the smallest distance that is decided, from `finest` on, to 5 % above it.

    A distance beyond a decided one must be decided, too. Infinite if none up to `farthest` is.
    """
    undecided, decided = 0.0, finest
    while not is_decided(decided):
        undecided, decided = decided, 4 * decided
        if decided > farthest:
            return math.inf
    while decided - undecided > 0.05 * decided and undecided:
        middle = (undecided + decided) / 2
        if is_decided(middle):
            decided = middle
        else:
            undecided = middle
    return decided


def _count_upto(first: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
    """Count how many begin at or before each of `size` places."""
    counts: npt.NDArray[np.int64] = np.cumsum(np.bincount(first, minlength=size + 1)[:size])
    return counts


def ratio(
    numerator: npt.ArrayLike,
    denominator: npt.ArrayLike,
    confidence: float = 0.95,
    *,
    noisy: bool = True,
) -> Estimate:
    """Ratio of two means over the same realizations, with Fieller's interval.

    Parameters
    ----------
    numerator, denominator : array, shape (realizations,)
        Finite numbers.
    confidence : float
        Between 0 and 1.
    noisy : bool
        Whether realizations can differ.

    Returns
    -------
    Estimate
        Of floats. Infinite bounds: one realization, both samples all the same, or a denominator
        whose mean can not be told from 0. NaN: its mean is 0. Where few rare events decide the
        ratio, the interval is wider, as that of a `mean`. Where the two sides have the same ratio
        in every realization, its ends are those of the share in which they may not (Clopper &
        Pearson), if they then differ by as much as they vary.

    Notes
    -----
    E. C. Fieller, *Some problems in interval estimation*, J. R. Stat. Soc. B 16, 1954.

    Examples
    --------
    >>> print(ratio([2.0, 3.0, 2.0], [4.0, 6.0, 5.0]))
    0.4667 [0.289, 0.6225]
    """
    found = fieller_ratio(numerator, denominator, confidence)
    if not noisy or found.realizations < 2 or not math.isfinite(float(found.value)):
        return found
    top, bottom = (np.asarray(side, dtype=np.float64) for side in (numerator, denominator))
    return RareEvents.of_ratio(top, bottom, float(found.value)).widen(found)


def fieller_ratio(
    numerator: npt.ArrayLike, denominator: npt.ArrayLike, confidence: float = 0.95
) -> Estimate:
    """Estimate as `ratio`, with Fieller's interval as it is, however few events it rests on."""
    top = check_samples(numerator, "numerator", 1)
    bottom = check_samples(denominator, "denominator", 1)
    confidence = check_confidence(confidence)
    if top.ndim != 1 or top.shape != bottom.shape:
        raise ValueError(
            "numerator and denominator must be paired, one number for each realization, "
            f"got shapes {top.shape}, {bottom.shape}"
        )
    low, high, count = -math.inf, math.inf, len(top)
    below = float(bottom.mean())
    value = float(top.mean()) / below if below else math.nan
    if count > 1 and below:
        covariance = np.cov(top, bottom) / count
        low, high = fieller(
            value,
            below,
            float((top - value * bottom).var(ddof=1)) / count,
            float(covariance[0, 1]),
            float(covariance[1, 1]),
            student_t(confidence, count - 1),
        )
    return Estimate(value, low, high, confidence, count)


def recovery(
    conventional: npt.ArrayLike,
    redundant: npt.ArrayLike,
    noiseless: npt.ArrayLike,
    confidence: float = 0.95,
) -> Estimate:
    """The share of the overhead that redundancy takes away, of paired samples.

    ``(conventional - redundant) / (conventional - noiseless)``, a ratio of means, with Fieller's
    interval of paired differences.

    Parameters
    ----------
    conventional, redundant : array, shape (realizations,)
        Completions of the same realizations.
    noiseless : array, shape (realizations,), or float
        Chen & Suda: with noise in the compute phase only. Or one number.
    confidence : float
        Between 0 and 1.

    Returns
    -------
    Estimate
        Of floats. Infinite bounds: the overhead is not distinguishable from 0.

    Examples
    --------
    >>> estimate = recovery([5.0, 7.0, 6.0], [3.0, 4.0, 4.0], 1.0)
    >>> round(estimate.value, 3), round(estimate.low, 3)
    (0.467, 0.289)
    """
    c = check_samples(conventional, "conventional", 2)
    r = check_samples(redundant, "redundant", 2)
    noiseless = check_numbers(noiseless, "noiseless must be an array of numbers, or a number")
    if noiseless.ndim == 0:
        noiseless = np.full(c.shape, noiseless)
    n = check_samples(noiseless, "noiseless", 2)
    if c.ndim != 1 or r.shape != c.shape or n.shape != c.shape:
        raise ValueError(
            "conventional, redundant and noiseless must be paired, one number for each "
            f"realization, got shapes {c.shape}, {r.shape}, {n.shape}"
        )
    return ratio(c - r, c - n, confidence)


def ratio_of(moments: Moments, confidence: float = 0.95) -> Estimate:
    """Mean of x over mean of y, with Fieller's interval (see `ratio`)."""
    confidence = check_confidence(confidence)
    n = moments.count
    value = moments.x / moments.y if moments.y else math.nan
    low, high = -math.inf, math.inf
    if n > 1 and moments.y:
        share = 1 / (n * n * (n - 1))
        low, high = fieller(
            value,
            moments.y / n,
            _residual_spread(moments) * share,
            (n * moments.xy - moments.x * moments.y) * share,
            spread(n, moments.y, moments.yy) * share,
            student_t(confidence, n - 1),
        )
    return Estimate(value, low, high, confidence, n)


def ratio_error_of(moments: Moments) -> float:
    """Standard error of the ratio, to first order; NaN where there is none."""
    n = moments.count
    if n < 2 or not moments.y:
        return math.nan
    return math.sqrt(_residual_spread(moments) / (n * n * (n - 1))) / abs(moments.y / n)


def fieller(
    ratio: float,
    below: float,
    residual: float,
    covariance: float,
    variance: float,
    t: float,
) -> tuple[float, float]:
    """Interval of a ratio of means: those r with ``(a - r b)^2 <= t^2 var(a - r b)``.

    Parameters
    ----------
    ratio, below : float
        a / b and b, the mean below the line.
    residual, covariance, variance : float
        Of the means: the variance of ``a - ratio * b``, the covariance of a and b, the variance
        of b. In terms of the distance of r from `ratio` nothing cancels.
    t : float
        How many standard errors.
    """
    square = below * below - t * t * variance
    if not square > 0:
        return -math.inf, math.inf
    middle = t * t * (ratio * variance - covariance)
    root = math.sqrt(middle * middle + square * t * t * residual)
    return ratio + (middle - root) / square, ratio + (middle + root) / square


def _residual_spread(moments: Moments) -> float:
    """`spread` of ``x - value * y``, whose mean is 0; exact until the last division."""
    x, y = moments.x, moments.y
    squares = y * y * moments.xx - 2 * x * y * moments.xy + x * x * moments.yy
    return moments.count * squares / (y * y)
