"""What is read off the samples of a study: means, ratios and differences, each with an interval."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .. import stats
from .show import show

Samples = npt.NDArray[np.float64]

RUNS = 30  # MS12 and CS14 average that many runs per cell
_RESAMPLES = 2000


class Estimate(NamedTuple):
    """A value with its 95 % confidence interval."""

    value: float
    low: float
    high: float

    def scaled(self, factor: float) -> Estimate:
        """In another unit; `factor` > 0."""
        return Estimate(self.value * factor, self.low * factor, self.high * factor)

    def __format__(self, spec: str) -> str:
        spec = spec or ".3g"
        value, low, high = (show(number, spec) for number in self)
        return f"{value} [{low}, {high}]"


def _estimate(found: stats.Estimate) -> Estimate:
    return Estimate(float(found.value), float(found.low), float(found.high))


def mean(samples: Samples) -> Estimate:
    """Mean over realizations; a single realization has an unbounded interval."""
    return _estimate(stats.mean(samples))


def ratio(top: Samples, bottom: Samples) -> Estimate:
    """Ratio of two means over the same realizations, so that the pairing counts (Fieller).

    NaN when the mean below the line is 0; unbounded when it can not be told from 0.
    """
    return _estimate(stats.ratio(top, bottom))


def of_independent(top: Estimate, bottom: Estimate) -> Estimate:
    """Ratio of two estimates from different cells, their errors added as if independent.

    Cells share their noise (common random numbers), which makes errors alike: the true interval of
    a ratio is narrower, if anything.
    """
    value = top.value / bottom.value
    parts = [(e.high - e.low) / 2 / e.value for e in (top, bottom)]
    half = abs(value) * float(np.hypot(*parts))
    return Estimate(value, value - half, value + half)


def quantiles(samples: Samples) -> tuple[float, float, float]:
    """The 5, 50 and 95 % quantiles."""
    low, middle, high = stats.quantiles(samples)
    return float(low.value), float(middle.value), float(high.value)


def few_run_mean(samples: Samples, runs: int = RUNS) -> Estimate:
    """A mean of `runs` realizations, as the sources report, with the 5-95 % range of such means.

    The value is the mean of the first `runs` realizations: one experiment, not an average of
    experiments. For the range, `runs` of the samples are drawn again and again, since at large
    ranks there are only a few separate groups; the draws are fixed, so that a picture drawn twice
    is the same. NaN with fewer samples than `runs`.
    """
    if len(samples) < runs:
        return Estimate(np.nan, np.nan, np.nan)
    rows = np.random.default_rng(0).integers(len(samples), size=(_RESAMPLES, runs))
    low, high = np.quantile(samples[rows].mean(axis=1), [0.05, 0.95])
    return Estimate(float(samples[:runs].mean()), float(low), float(high))


class BestRedundancy(NamedTuple):
    """The number of redundant exchanges T with the smallest mean, and the smallest T as good.

    `best` is what MS12 evaluates ("the execution time of the proposed method"). `enough` is the
    smallest T whose mean can not be told from it (paired, 95 %).
    """

    best: int
    enough: int


def best_redundancy(samples: Samples) -> BestRedundancy:
    """From samples of shape (realizations, T + 1), columns T = 0 ... K; T = 0 takes no part."""
    if len(samples) < 2:
        best = int(samples[0, 1:].argmin()) + 1
        return BestRedundancy(best, best)
    found = stats.smallest_t(samples)
    return BestRedundancy(found.best_T, found.T)


def line_fit(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> tuple[float, float, float]:
    """Slope, intercept and the largest distance from the line, of a least-squares line."""
    slope, intercept = np.polyfit(x, y, 1)
    away = np.abs(y - (slope * x + intercept)).max()
    return float(slope), float(intercept), float(away)
