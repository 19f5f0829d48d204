"""Interval of the shift between two samples, from the order of their differences alone.

Hodges & Lehmann, *Estimates of location based on rank tests*, Ann. Math. Statist. 34, 1963; exact
distribution of the statistic: Mann & Whitney, Ann. Math. Statist. 18, 1947.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

import numpy as np


@lru_cache
def order_rank(n: int, m: int, alpha: float) -> int:
    """How many of the n * m ordered differences lie outside the interval at either end.

    The largest k with P(U < k) <= alpha / 2, where U is Mann and Whitney's statistic under no
    shift; 0: the samples are too small for the confidence.
    """
    if n + m > 50:  # the normal limit will do, and the exact way takes long
        spread = math.sqrt(n * m * (n + m + 1) / 12)
        z = statistics.NormalDist().inv_cdf(alpha / 2)
        return max(math.floor(n * m / 2 + z * spread - 0.5), 0)
    # ways[u]: choices of n from n + m places with statistic u, by a Gaussian binomial coefficient.
    ways = [1] + [0] * (n * m)
    for j in range(1, n + 1):
        for u in range(n * m, m + j - 1, -1):
            ways[u] -= ways[u - m - j]
        for u in range(j, n * m + 1):
            ways[u] += ways[u - j]
    most = alpha / 2 * math.comb(n + m, n)
    return sum(below <= most for below in accumulate(ways))


def shift(before: Sequence[float], after: Sequence[float], alpha: float) -> tuple[float, ...]:
    """Estimate and interval of the shift from one sample to another; infinite if too small."""
    differences = np.sort(np.subtract.outer(np.asarray(after), np.asarray(before)).ravel())
    k = order_rank(len(before), len(after), alpha)
    if k == 0:
        return float(np.median(differences)), -math.inf, math.inf
    return float(np.median(differences)), float(differences[k - 1]), float(differences[-k])
