"""Ratios near a limit: how sure it is on which side they are, and more repeats where it is not."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence

from ..stats import quantile
from .measure import Contestant, measure, spread

CONFIDENCE = 0.99
"""Of the interval of each median."""
NEAR = 0.2
"""With too few repeats for an interval, what differs by more from a limit counts as clear."""
MORE = 8
"""So many times as often as all others, at most, is measured again what is near a limit."""


def ratios(values: Sequence[float]) -> dict[str, float | None]:
    """As `spread`, with the interval of the median from `low` to `high`.

    Their order alone gives it: noise of a machine has no known shape. None where there are too few.
    """
    median = quantile(values, 0.5, CONFIDENCE)
    ends = {"low": float(median.low), "high": float(median.high)}
    return {**spread(values), **{k: v if math.isfinite(v) else None for k, v in ends.items()}}


def _unclear(values: Sequence[float], limit: float) -> bool:
    median = quantile(values, 0.5, CONFIDENCE)
    if median.too_small:
        return abs(statistics.median(values) / limit - 1) < NEAR
    return bool(median.low <= limit < median.high)


def measure_near(
    contestants: Sequence[Contestant],
    limit: float,
    times: Callable[[Contestant], Sequence[float]],
    repeats: int,
    what: str,
    tell: Callable[[str], object],
) -> None:
    """Time those some more that may be on either side of a limit of what they take over others.

    On a busy machine a few repeats leave it open on which side those are. As long as the interval
    of the median covers the limit, they are measured again, all of them in turn. `times` gives what
    is limited, one for each repeat.
    """
    beside = [c for c in contestants if c.beside]
    for _ in range(MORE):
        near = [c for c in beside if _unclear(times(c), limit)]
        if not near:
            return
        measure(near, repeats, f"{what} near the limit", tell)
