"""Distributions of single realizations: their steps, and their tails with bands."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .. import stats
from ..observables import Observed

Floats = npt.NDArray[np.float64]

#: The quantiles that are named at a tail; p99.99 is the end of every picture.
NAMED = {"p50": 0.5, "p90": 0.1, "p99": 1e-2, "p99.9": 1e-3, "p99.99": 1e-4}
_STEPS = 400
_PER_DECADE = 16


@dataclass(frozen=True)
class Tail:
    """Quantiles far up: `share` of the realizations is above `value`.

    `low` and `high` are order statistics, infinite where the sample is too small for them;
    `reach` names the last quantile of NAMED that has both.
    """

    share: Floats
    value: Floats
    low: Floats
    high: Floats
    realizations: int
    reach: str


def steps(observed: Observed) -> tuple[Floats, Floats]:
    """Values and the share of realizations at or below each, as a step function from 0 to 1."""
    count = min(observed.realizations, _STEPS)
    at = np.arange(1, count + 1) / count
    values = [float(observed.quantile(float(share)).value) for share in at[:-1]]
    values.append(observed.maximum())
    return np.array([values[0], *values]), np.array([0.0, *at])


def tail(observed: Observed, confidence: float = 0.95) -> Tail:
    """The upper half of a distribution, to p99.99 or as far as the sample goes."""
    count = observed.realizations
    decades = np.arange(np.log10(0.5), -4 - 1e-9, -1 / _PER_DECADE)
    share = np.unique(np.concatenate([10.0**decades, list(NAMED.values())]))[::-1]
    share = share[share >= min(1 / count, 0.5)]
    found = [observed.quantile(float(q), confidence) for q in 1 - share]
    value, low, high = (
        np.array([float(getattr(e, name)) for e in found]) for name in ("value", "low", "high")
    )
    needed = {name: stats.realizations_needed(1 - s, confidence) for name, s in NAMED.items()}
    known = [name for name, least in needed.items() if least <= count]
    return Tail(share, value, low, high, count, known[-1] if known else "")
