"""Means and ratios of means from exact sums of integers."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .distributions import student_t
from .estimates import Estimate, check_confidence


@dataclass(frozen=True)
class Moments:
    """Sums over `count` realizations of two integers x and y: exact, as Python integers."""

    count: int
    x: int
    y: int
    xx: int
    yy: int
    xy: int


def mean_of(moments: Moments, confidence: float = 0.95, scale: int = 1) -> Estimate:
    """Mean of ``x / scale`` with Student's interval.

    Examples
    --------
    >>> print(mean_of(Moments(3, 6, 0, 14, 0, 0)))  # of 1, 2 and 3
    2 [-0.4841, 4.484]
    """
    check_confidence(confidence)
    n = moments.count
    value = moments.x / (n * scale)
    reach = math.inf
    if n > 1:
        reach = student_t(confidence, n - 1) * standard_error_of(moments, scale)
    return Estimate(value, value - reach, value + reach, confidence, n)


def standard_error_of(moments: Moments, scale: int = 1) -> float:
    """Standard error of the mean of ``x / scale``; NaN for one realization."""
    n = moments.count
    if n < 2:
        return math.nan
    return math.sqrt(spread(n, moments.x, moments.xx) / (n * n * (n - 1))) / scale


def spread(n: int, total: int, squares: int) -> int:
    """n^2 times the mean square deviation: exact, no digits cancel."""
    return n * squares - total * total


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
            _residual(moments) * share,
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
    return math.sqrt(_residual(moments) / (n * n * (n - 1))) / abs(moments.y / n)


def _residual(moments: Moments) -> float:
    """`spread` of ``x - value * y``, whose mean is 0; exact until the last division."""
    x, y = moments.x, moments.y
    squares = y * y * moments.xx - 2 * x * y * moments.xy + x * x * moments.yy
    return moments.count * squares / (y * y)


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
