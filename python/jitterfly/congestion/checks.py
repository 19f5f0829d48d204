"""Checks of a case's fields."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ..fields import shorten
from .patterns import PATTERNS


def check_ratio(value: Any) -> float:
    """A number from 0 to 1."""
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(
        value, bool
    )
    if not number or not (math.isfinite(value) and 0 <= value <= 1):
        raise ValueError(f"ratio must be a number from 0 to 1, got {shorten(value)}")
    return float(value)


def check_levels(value: Any, z: int) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Levels of messages as tuples, so that the case can be compared."""
    rule = f"pattern must be one of {PATTERNS}, or for each level a list of [sender, receiver]"
    if isinstance(value, (bytes, dict)):
        raise ValueError(f"{rule}, got {shorten(value)}")
    try:
        levels = [np.asarray(level) for level in value]
    except (TypeError, ValueError):
        raise ValueError(f"{rule}, got {shorten(value)}") from None
    for number, level in enumerate(levels):
        if level.size == 0:
            continue
        if level.ndim != 2 or level.shape[1] != 2 or level.dtype.kind not in "iu":
            raise ValueError(f"{rule}; level {number} is {shorten(value[number])}")
        if level.min() < 0 or level.max() >= z or (level[:, 0] == level[:, 1]).any():
            raise ValueError(
                f"pattern level {number}: senders and receivers must be two different ranks from "
                f"0 to {z - 1} (z = {z})"
            )
    if sum(level.size for level in levels) == 0:
        raise ValueError(f"{rule}, and at least one message, got {shorten(value)}")
    return tuple(_tuples(level) for level in levels)


def _tuples(level: npt.NDArray[Any]) -> tuple[tuple[int, int], ...]:
    return tuple((int(a), int(b)) for a, b in level.reshape(-1, 2))
