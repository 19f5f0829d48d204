"""Times that the user gives for every rank."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..fields import check_numbers, shorten
from ..units import TICKS_PER_SECOND, to_ticks


def check_times_of_ranks(
    values: Any, name: str, below: str, limit: float
) -> npt.NDArray[np.float64]:
    """An array of times in seconds, each from 0 to below `limit`, that nobody changes."""
    rule = f"{name} must be an array of times from 0 to below {below} = {limit} s, one per rank"
    raw = check_numbers(values, rule)
    if raw.ndim != 1:
        raise ValueError(f"{rule}, got {shorten(values)}")
    times = raw.astype(np.float64)  # a copy of our own
    bad = ~((times >= 0) & (times < limit))
    bad |= ticks_of_ranks(np.where(bad, 0.0, times)) >= to_ticks(limit)
    if bad.any():
        rank = int(np.argmax(bad))
        raise ValueError(f"{rule}, got {times[rank]} for rank {rank}")
    times.setflags(write=False)
    return times


def ticks_of_ranks(times: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Seconds to ticks."""
    return np.rint(times * TICKS_PER_SECOND).astype(np.int64)
