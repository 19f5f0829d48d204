"""Data of theory beside simulation, for the figures of `plots.theory`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Points:
    """The simulated values with their 95 % intervals."""

    at: Floats
    value: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class Ends:
    """The lateness of one rank and of the last: P(later than t); times in seconds."""

    noise: str
    at: str
    times: Floats
    one: Floats  # exact
    last_low: Floats
    last_high: Floats
    seen_one: Points
    seen_last: Points
    steps: bool = False
    wide: bool = False  # a heavy tail: a logarithmic axis


@dataclass(frozen=True)
class Growth:
    """The largest of N draws in units of its scale: mean against N, and distribution at one N."""

    noise: str
    counts: Floats
    mean: Floats
    seen: Points
    shares: Floats
    tail: Floats  # exceeded with that probability
    seen_tail: Points


@dataclass(frozen=True)
class Limits:
    """HM18's barrier against the probability of a delay, and LogGP against ranks; in seconds."""

    p: Floats
    one: Floats
    last_low: Floats
    last_high: Floats
    seen: Points
    levels: Sequence[tuple[str, float]]
    ranks: Floats
    gaps: Sequence[tuple[str, Floats]]
    seen_free: Points
