"""The statistics of an observable, by their names."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

from ..fields import shorten

STATISTICS = (
    "mean", "standard error", "min", "p5", "p50", "p95", "p99", "p99.9", "p99.99", "max",
)  # fmt: skip
"""What is shown unless something else is asked for."""

_WORDS = ("mean", "standard error", "min", "max", "win probability")
_QUANTILE = re.compile(r"p([0-9]{1,2}(?:\.[0-9]{1,8})?)")


@lru_cache(maxsize=256)
def quantile_share(name: str) -> float | None:
    """The share of a quantile's name; None if it is none.

    Examples
    --------
    >>> quantile_share("p99.9"), quantile_share("mean")
    (0.999, None)
    """
    match = _QUANTILE.fullmatch(name)
    share = float(Fraction(match[1]) / 100) if match else 0.0
    return share if 0 < share < 1 else None


def check_statistic(name: str, where: str) -> str:
    """Raise unless it is the name of a statistic."""
    if isinstance(name, str) and (name in _WORDS or quantile_share(name) is not None):
        return name
    raise ValueError(
        f"{where} must be one of {', '.join(_WORDS)}, or a quantile such as p50 or p99.9, "
        f"got {shorten(name)}"
    )
