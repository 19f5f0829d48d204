"""What claims and pictures need beyond the statistics of one cell."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .. import stats
from ..stats import Estimate

RUNS = 30  # MS12 and CS14 average that many runs per cell
_RESAMPLES = 2000


def of_independent(top: Estimate, bottom: Estimate) -> Estimate:
    """Ratio of two estimates from different cells, their errors added as if independent.

    Cells that share their noise (common random numbers) tend to err alike, which makes the true
    interval of a ratio narrower. Infinite where one of them can not be told from 0.
    """
    count = min(top.realizations, bottom.realizations)
    if any(e.low <= 0 <= e.high for e in (top, bottom)):
        value = float(top.value) / float(bottom.value) if bottom.value else np.nan
        return Estimate(value, -np.inf, np.inf, top.confidence, count)
    value = float(top.value) / float(bottom.value)
    parts = [float(e.high - e.low) / 2 / float(e.value) for e in (top, bottom)]
    half = abs(value) * float(np.hypot(*parts))
    return Estimate(value, value - half, value + half, top.confidence, count)


def few_run_mean(samples: npt.NDArray[np.float64], runs: int = RUNS) -> Estimate:
    """A mean of `runs` realizations, as the sources report, with the 5-95 % range of such means.

    The value is the mean of the first `runs` realizations: one experiment, not an average of
    experiments. For the range, `runs` of the samples are drawn again and again, since at large
    ranks there are only a few separate groups; the draws are fixed, so that a picture drawn twice
    is the same. NaN with fewer samples than `runs`.
    """
    if len(samples) < runs:
        return Estimate(np.nan, np.nan, np.nan, 0.9, len(samples))
    low, high = np.quantile(_few_run_means(samples, runs), [0.05, 0.95])
    return Estimate(float(samples[:runs].mean()), float(low), float(high), 0.9, runs)


def _few_run_means(samples: npt.NDArray[np.float64], runs: int) -> npt.NDArray[np.float64]:
    rows = np.random.default_rng(0).integers(len(samples), size=(_RESAMPLES, runs))
    means: npt.NDArray[np.float64] = samples[rows].mean(axis=1)
    return means


def separate_means(samples: npt.NDArray[np.float64], runs: int = RUNS) -> npt.NDArray[np.float64]:
    """Means of `runs` realizations each, no realization in two of them: experiments repeated."""
    return np.asarray(stats.thirty_run_means(samples, runs))
