"""Ratio of means of paired samples with Fieller interval; share of overhead recovered."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ..fields import check_numbers
from .critical_values import student_t
from .cross_moments import Moments, spread
from .intervals import Estimate, RareEvents, check_confidence, check_samples


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
    check_confidence(confidence)
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
    check_confidence(confidence)
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
