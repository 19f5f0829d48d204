"""Bootstrap over events: how far statistics of measured events may be off.

Events are drawn with replacement, each by itself: no blocks, so that events are taken for
independent of each other. Quantiles need no drawing: the rank that a quantile of a resample has
among the events is binomial (Efron 1979; Maritz & Jarrett 1978).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, ndtri

from ..stats.distributions import quantile_rank, realizations_needed

LEVEL = 0.95
RESAMPLES = 1000
SEED = 20100711
LEAST_EVENTS = 20
"""Below so many the bootstrap of a mean says little."""

Floats = npt.NDArray[np.float64]
_MOST_EXACT = 10**9  # events
_DRAWN = 2000  # largest values: a mean's tail is theirs


def rank_interval(q: float, total: int, level: float = LEVEL) -> tuple[int, int]:
    """Ranks (from 1) between which the q quantile of a resample lies with probability `level`.

    Examples
    --------
    >>> rank_interval(0.5, 101)
    (41, 61)
    """
    rank = quantile_rank(total, q)
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    if total < _MOST_EXACT:
        shares = betaincinv(rank, total - rank + 1, tails)
    else:  # where betaincinv fails, its normal limit is exact enough
        shares = q + ndtri(tails) * math.sqrt(q * (1 - q) / total)
    low, high = np.clip(np.ceil(shares * total), 1, total).astype(int)
    return int(low), int(high)


def is_carried(q: float, total: int, level: float = LEVEL) -> bool:
    """Whether so many events bound their q quantile from above at this level.

    They do not where all of them may lie below it, with a probability above (1 - level) / 2.
    For q from 1/2.
    """
    return total >= realizations_needed(q, level)


def mean_interval(values: Floats, level: float = LEVEL) -> tuple[float, float]:
    """Interval of the mean, by the percentiles of its bootstrap distribution.

    The 2000 largest values are drawn; what is below them is bounded by them, and the sum of so many
    is taken for normal.
    """
    values = np.sort(np.asarray(values, dtype=np.float64))
    total = len(values)
    rng = np.random.default_rng(SEED)
    top, rest = values[-_DRAWN:], values[:-_DRAWN]
    drawn = rng.binomial(total, len(top) / total, RESAMPLES)
    sums = np.array([top[rng.integers(len(top), size=count)].sum() for count in drawn])
    if len(rest):
        left = total - drawn
        sums += rng.normal(left * rest.mean(), np.sqrt(left) * rest.std())
    return _percentiles(sums / total, level)


def weighted_mean_interval(
    values: Floats, counts: npt.NDArray[np.int64], level: float = LEVEL
) -> tuple[float, float]:
    """The same for values that come so often each."""
    total = int(counts.sum())
    values, counts = values[counts > 0], counts[counts > 0]
    rng = np.random.default_rng(SEED)
    shares = counts / total
    means = [rng.multinomial(total, shares) @ values / total for _ in range(RESAMPLES)]
    return _percentiles(np.array(means), level)


def _percentiles(means: Floats, level: float) -> tuple[float, float]:
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
