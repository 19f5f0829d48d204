"""What a study of HM18's barrier has: p, L and D of a cell, and the p that takes a given time."""

from __future__ import annotations

import math
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..results.results import Spot


def probability(spot: Spot) -> float:
    """That a step is delayed."""
    return float(spot.place.coordinates["probability"])


def step_and_delay(spot: Spot) -> tuple[float, float]:
    """L and D of the study's case, seconds."""
    case = spot.place.cells[0].case
    delays = [source.delay.longest_ticks() for source in case.noise if source.kind == "step"]
    return sum(case.costs) * 1e-12, max(delays, default=0) * 1e-12


def root(spots: list[Spot], name: str, end: str, seconds: float) -> float | None:
    """The p at which a curve through the means, or an end of their intervals, takes so long."""
    p = np.log([max(probability(spot), 1e-12) for spot in spots])
    y = np.array([float(getattr(spot.facts[name].mean, end)) for spot in spots])
    y = np.maximum.accumulate(y) + 1e-15 * np.arange(len(y))
    if not y[0] <= seconds <= y[-1]:
        return None
    curve = import_module("scipy.interpolate").PchipInterpolator(p, y - seconds)
    roots = curve.roots(extrapolate=False)
    return math.exp(float(roots[0])) if len(roots) else None
