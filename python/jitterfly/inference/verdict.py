"""Whether a fit explains its curve."""

from __future__ import annotations

import math

from ..stats.distributions import special
from .curve import Curve
from .found import FITS, NO_FIT, NOT_TESTED

SIGNIFICANCE = 1e-3
"""A curve with errors is not explained where chance alone misses it as far this rarely."""
TOLERANCE = 0.1
"""A curve without errors is not explained where the misfit is more than this share (rms)."""


def chance(least: float, freedom: int, curve: Curve) -> float:
    """How often chance alone gives a larger chi2; NaN without errors.

    As many parameters as points leave a misfit only where the model cannot come near. Of the points
    alone chi2 has as many degrees of freedom as there are points: an upper bound there.
    """
    if curve.error is None:
        return math.nan
    return float(special().chdtrc(freedom if freedom > 0 else len(curve), least))


def verdict(curve: Curve, freedom: int, misfit: float, chance: float) -> str:
    """One of FITS, NO_FIT, NOT_TESTED; `misfit` decides where no errors are given."""
    fails = misfit > TOLERANCE if curve.error is None else chance < SIGNIFICANCE
    if fails:
        return NO_FIT
    return FITS if freedom > 0 else NOT_TESTED
