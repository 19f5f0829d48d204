"""What a fit gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .curve import Curve
from .model import Model

Floats = npt.NDArray[np.float64]

FITS, NO_FIT, NOT_TESTED = "fit", "no fit", "not tested"
_NOTHING = 1e-6  # of the latency: less noise is none


class Bounds(NamedTuple):
    """An estimate and its interval; `fixed` where it was given, and not estimated."""

    value: float
    low: float
    high: float
    fixed: bool = False


@dataclass(frozen=True, eq=False)
class Fit:
    """What explains a curve best.

    Attributes
    ----------
    verdict : "fit", "no fit" or "not tested"
        Whether the model explains the curve; not tested: as many parameters as points.
    step, scale, probability, load : Bounds
        Latency of a step and scale of the noise (Bernoulli: the duration of a hit), seconds;
        probability of a hit; probability * scale, the mean delay of a step.
    predicted : float array, shape (points,)
        Seconds.
    misfit : float
        Root mean square of measured / predicted - 1.
    chi2, freedom, chance : float, int, float
        Weighted sum of squares, points minus parameters, and how often chance alone gives more;
        `chance` is NaN without errors, and an upper bound without freedom.
    region : float array, shape (3, probabilities)
        p, and the least and the largest scale that belong to it, NaN where p fits none.
    """

    curve: Curve
    model: Model
    confidence: float
    verdict: str
    step: Bounds
    scale: Bounds
    probability: Bounds
    load: Bounds
    predicted: Floats
    misfit: float
    chi2: float
    freedom: int
    chance: float
    region: Floats

    def latency(self, rounds: npt.ArrayLike) -> Floats:
        """The model's latency at any log2(ranks), seconds."""
        extra = self.model.extra(rounds, self.probability.value)[0]
        found: Floats = np.asarray(rounds) * self.step.value + self.scale.value * extra
        return found

    @property
    def intervals(self) -> bool:
        """Whether the bounds are confidence intervals."""
        return self.verdict != NO_FIT and (self.freedom > 0 or self.curve.error is not None)

    @property
    def quiet(self) -> bool:
        """Whether the best fit has no noise, so that its p means nothing."""
        noise = self.predicted - self.curve.rounds * self.step.value
        return bool((noise < _NOTHING * self.predicted).all())
