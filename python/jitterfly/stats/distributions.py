"""Quantiles of Student's t and of the binomial distribution, for confidence intervals."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np

_EXPANDED = 200  # from here on the expansion below is exact to 1e-9


@lru_cache(maxsize=256)
def student_t(confidence: float, freedom: int) -> float:
    """The t with ``P(|T| <= t) = confidence``, T of Student's distribution.

    Examples
    --------
    >>> round(student_t(0.95, 2), 4), round(student_t(0.95, 29), 4), round(student_t(0.99, 1), 3)
    (4.3027, 2.0452, 63.657)
    """
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    if freedom >= _EXPANDED:  # Abramowitz & Stegun 26.7.5
        terms = (
            z,
            (z**3 + z) / 4,
            (5 * z**5 + 16 * z**3 + 3 * z) / 96,
            (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        )
        return float(sum(term / freedom**i for i, term in enumerate(terms)))
    low, high = 0.0, math.pi / 2  # theta, with t = sqrt(freedom) tan(theta)
    for _ in range(100):
        middle = (low + high) / 2
        if _inside(middle, freedom) < confidence:
            low = middle
        else:
            high = middle
    return math.sqrt(freedom) * math.tan(low)


def _inside(theta: float, freedom: int) -> float:
    """P(|T| <= sqrt(freedom) tan(theta)); Abramowitz & Stegun 26.7.3 and 26.7.4."""
    sine, cosine = math.sin(theta), math.cos(theta)
    if freedom % 2:
        term, total = cosine, 0.0
        for k in range(3, freedom + 1, 2):
            total += term
            term *= cosine * cosine * (k - 1) / k
        return 2 / math.pi * (theta + sine * total)
    term, total = 1.0, 0.0
    for k in range(2, freedom + 1, 2):
        total += term
        term *= cosine * cosine * (k - 1) / k
    return sine * total


@lru_cache(maxsize=256)
def binomial_ranks(count: int, q: float, confidence: float) -> tuple[int | None, int | None]:
    """Which order statistics (1 = smallest) of `count` samples enclose the q quantile.

    Each misses with a probability of at most (1 - confidence) / 2; None where none does.
    """
    tail = (1 - confidence) / 2
    # The binomial probabilities around the mode, by their ratios; beyond 12 standard deviations
    # (and 60 counts) nothing is left that a float could tell.
    spread = int(12 * math.sqrt(count * q * (1 - q))) + 60
    mode = min(int((count + 1) * q), count)
    start, stop = max(mode - spread, 0), min(mode + spread, count)
    k = np.arange(start, stop, dtype=np.float64)
    logs = np.concatenate(([0.0], np.cumsum(np.log((count - k) / (k + 1) * (q / (1 - q))))))
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    # Sample `rank` lies above the quantile when fewer than `rank` samples are at or below it.
    below = np.cumsum(weights)  # P(B <= start + i)
    above = np.cumsum(weights[::-1])[::-1]  # P(B >= start + i)
    low = start + int(np.count_nonzero(below <= tail))
    high = start + int(np.count_nonzero(above > tail))
    return (low if low >= 1 else None), (high if high <= count else None)


def realizations_needed(q: float, confidence: float = 0.95) -> int:
    """How many realizations give the interval of the q quantile two ends.

    Examples
    --------
    >>> realizations_needed(0.5), realizations_needed(0.95)
    (6, 72)
    """
    if not 0 < q < 1:
        raise ValueError(f"q must be between 0 and 1, got {q}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be above 0 and below 1, got {confidence}")
    return math.ceil(math.log((1 - confidence) / 2) / math.log(max(q, 1 - q)) - 1e-9)
