"""Exponential distribution: memoryless gaps, as of Poisson arrivals.

Its formulas; the engine draws from tables of them (cuda/noise/delay.h).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..fields import frozen_dataclass
from ..units import show_seconds, to_ticks
from .distribution import Continuous, DelayTable, Drawn, Floats, PositiveTypicalTime


@frozen_dataclass()
class Exponential(Continuous, kind="exponential"):
    """``P(X > t) = exp(-t / mean)``.

    Parameters
    ----------
    mean : float or str
        Seconds, above 0.

    Raises
    ------
    ValueError
        `mean` out of range, or so long that the rarest delay exceeds 13 days.

    Examples
    --------
    >>> x = Exponential(mean="10us")
    >>> round(float(x.quantile(0.5)) * 1e6, 3), x.longest_ticks()
    (6.931, 450545664)
    """

    mean: PositiveTypicalTime
    _scale: ClassVar[str] = "mean"

    def __post_init__(self) -> None:
        to_ticks(self.mean, "mean", positive=True)
        self._check_tail()

    @property
    def name(self) -> str:
        return f"exponential, mean {show_seconds(self.mean)}"

    def expected(self) -> float:
        return self.mean

    def _upper(self, scale: float, p: Any) -> Any:
        return -scale * np.log(p)

    def _lower(self, scale: float, p: Any) -> Any:
        return -scale * np.log1p(-p)

    def _uncut_survival(self, t: Floats) -> Any:
        return np.exp(-np.maximum(t, 0) / self.mean)

    def make_residual(self) -> DelayTable:
        return self.integers()  # it has no memory


class ExponentialOrDrawn(Drawn):
    """A field of a dataclass for a distribution, where a time alone is an exponential's mean."""

    _plain = Exponential
