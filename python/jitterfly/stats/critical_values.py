"""Critical values: Student's t, normal, Clopper-Pearson; order statistics that enclose a quantile.

For confidence intervals of means, quantiles and shares.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import lru_cache

import numpy as np

from ..fields import is_number, shorten
from ..optional_packages import special


def normal(confidence: float) -> float:
    """The z with ``P(|Z| <= z) = confidence``, Z of the normal distribution.

    Examples
    --------
    >>> round(normal(0.95), 4)
    1.96
    """
    return -float(special.ndtri((1 - confidence) / 2))


@lru_cache(maxsize=1024)
def student_t(confidence: float, freedom: int) -> float:
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
    if not isinstance(q, (int, float, np.floating)) or not 0 < q < 1:
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
    tail = (1 - confidence) / 2
    low = special.betaincinv(hits, count - hits + 1, tail) if hits > 0 else 0.0
    high = 1 - special.betaincinv(count - hits, hits + 1, tail) if hits < count else 1.0
    return float(low), float(high)


def realizations_needed(q: float, confidence: float = 0.95) -> int:
    """Return how many realizations give the interval of the q quantile two ends.

    Examples
    --------
    >>> realizations_needed(0.5), realizations_needed(0.95)
    (6, 72)
    """
    check_share(q)
    if not is_number(confidence) or not 0 < confidence < 1:
        raise ValueError(f"confidence must be above 0 and below 1, got {shorten(confidence)}")
    return math.ceil(math.log((1 - confidence) / 2) / math.log(max(q, 1 - q)) - 1e-9)
