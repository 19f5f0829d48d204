"""What a fit gives back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import notebook
from .curve import Curve
from .model import Model

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]

FITS, NO_FIT, NOT_TESTED = "fit", "no fit", "not tested"
_NOTHING = 1e-6  # of the latency: less noise is none


class Bounds(NamedTuple):
    """An estimate and its interval; `fixed` where it was given, and not estimated."""

    value: float
    low: float
    high: float
    fixed: bool = False


@dataclass(frozen=True, eq=False, repr=False)
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

    def __repr__(self) -> str:
        from .words import parameters

        told = ", ".join(" ".join(line.split()) for line in parameters(self))
        return f"Fit({self.verdict!r}: {told}; {len(self.curve)} points)"

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each parameter: step, scale, probability, load; seconds.

        Columns are parameter, value, low, high (NaN where the model does not fit), and given.

        Raises
        ------
        ValueError
            pandas is not installed.
        """
        columns = ("parameter", "value", "low", "high", "given")
        rows = []
        for name in ("step", "scale", "probability", "load"):
            bounds: Bounds = getattr(self, name)
            ends = (bounds.low, bounds.high) if self.intervals else (np.nan, np.nan)
            row = (name, bounds.value, *ends, bounds.fixed)
            rows.append(dict(zip(columns, row, strict=True)))
        return notebook.data_frame(rows, columns)

    def plot(self, path: str | Path | None = None) -> Figure:
        """The curve and what fits it; written to `path`, too, where it is given.

        Raises
        ------
        ValueError
            matplotlib is not installed, or does not know the ending of `path`.
        """
        return notebook.picture("fit", self, path=path)

    def _repr_html_(self) -> str:
        from .words import report

        return notebook.text(report(self))

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
