"""Ratios to something else that was measured beside, their intervals, and how they are shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from jitterfly.bench.measure import spread
from jitterfly.stats import quantile

CONFIDENCE = 0.99
"""Of the interval of each median."""
INTERVAL = f"({CONFIDENCE:.0%} interval of the median)"
"""What the numbers in brackets are."""


def ratios(values: Sequence[float]) -> dict[str, float | None]:
    """As `spread`, with the interval of the median from `low` to `high`.

    Their order alone gives it: noise of a machine has no known shape. None where there are too few.
    """
    median = quantile(values, 0.5, CONFIDENCE)
    ends = {"low": float(median.low), "high": float(median.high)}
    return {**spread(values), **{k: v if math.isfinite(v) else None for k, v in ends.items()}}


def interval(ratio: dict[str, Any]) -> str:
    """That of the median, for people; nothing where there were too few repeats."""
    if ratio.get("low") is None or ratio["high"] is None:
        return ""
    return f" ({ratio['low']:.2f} to {ratio['high']:.2f})"


def table_head(name: str) -> str:
    """What a contestant's rows are measured in, for the first line of its table."""
    time = "CPU time of one thread" if name.endswith("cpu") else "time"
    return f"{name}: {time}"
