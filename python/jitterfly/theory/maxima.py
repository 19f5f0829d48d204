"""Means of the largest of N draws: one compute phase, then an instantaneous collective (AGV05).

N goes up to 2^62, so nothing here subtracts numbers that are nearly equal.
"""

from __future__ import annotations

import math

import numpy as np

from .. import special
from ..fields import check_integer, shorten
from ..units import Time, parse_seconds

MOST_DRAWS = 2**62


def largest_exponential(count: int, mean: Time) -> float:
    """Mean of the largest of `count` exponential delays, seconds: ``mean * H_count``.

    Parameters
    ----------
    count : int
        N, from 1; H_N = 1 + 1/2 + ... + 1/N.
    mean : float or str
        Seconds.

    Examples
    --------
    >>> largest_exponential(2, "1s")
    1.5
    """
    count = check_integer(count, "count", 1, MOST_DRAWS)
    return float(parse_seconds(mean, "mean") * (special.digamma(count + 1.0) + np.euler_gamma))


def largest_pareto(count: int, scale: Time, shape: float) -> float:
    """Mean of the largest of `count` Pareto delays, seconds.

    ``scale * Gamma(1 - 1/shape) * N! / Gamma(N + 1 - 1/shape)``; infinite for a shape up to 1.

    Parameters
    ----------
    count : int
        N, from 1.
    scale : float or str
        Smallest delay, seconds.
    shape : float
        P(delay > t) = (scale / t)^shape.

    Examples
    --------
    >>> round(largest_pareto(1, "1s", 3.0), 12)
    1.5
    """
    count = check_integer(count, "count", 1, MOST_DRAWS)
    least = parse_seconds(scale, "scale")
    if not shape > 0:
        raise ValueError(f"shape must be above 0, got {shorten(shape)}")
    if shape <= 1:
        return math.inf
    part = 1.0 / shape
    # poch(z, m) = Gamma(z + m) / Gamma(z): the two logarithms alone would cancel for large N.
    return float(least * special.gamma(1 - part) * special.poch(count + 1.0 - part, part))


def largest_bernoulli(count: int, probability: float, duration: Time) -> float:
    """Mean of the largest of `count` Bernoulli delays, seconds: ``D (1 - (1 - p)^N)``.

    Examples
    --------
    >>> largest_bernoulli(2, 0.5, "4s")
    3.0
    """
    count = check_integer(count, "count", 1, MOST_DRAWS)
    if not 0 <= probability <= 1:
        raise ValueError(f"probability must be from 0 to 1, got {shorten(probability)}")
    if probability == 1:
        return parse_seconds(duration, "duration")
    return -parse_seconds(duration, "duration") * math.expm1(count * math.log1p(-probability))


def largest_residual(count: int, period: Time, duration: Time) -> float:
    """Mean of the largest residual noise that `count` independent processors are in.

    With stationary periodic noise a processor is inside an interval with probability q =
    duration / period, anywhere in it alike. The mean of the largest residual is
    ``duration * (1 - (1 - (1 - q)**(count + 1)) / (q * (count + 1)))`` (the setting of Agarwal,
    Garg & Vishnoi 2005).

    Parameters
    ----------
    count : int
        From 1.
    period, duration : float or str
        Seconds, duration < period.

    Returns
    -------
    float
        Seconds.

    Examples
    --------
    >>> round(largest_residual(1, 1.0, 0.5), 12)  # q * duration / 2
    0.125
    """
    count = check_integer(count, "count", 1, MOST_DRAWS)
    p = parse_seconds(period, "period", positive=True)
    d = parse_seconds(duration, "duration")
    if d >= p:
        raise ValueError(f"duration must be shorter than period = {p} s, got {d}")
    q = d / p
    n = count + 1
    if q * n < 1e-3:  # the terms cancel: the series of 1 - (1 - (1 - q)^n) / (q n)
        x = q * count
        return d * (x / 2 - x * q * (count - 1) / 6 + x * q * q * (count - 1) * (count - 2) / 24)
    return d * (1 + math.expm1(n * math.log1p(-q)) / (q * n))
