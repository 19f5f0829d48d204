"""Exponential distribution: memoryless gaps, as of Poisson arrivals."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..fields import frozen_dataclass
from ..units import show_seconds, to_ticks
from . import distribution
from .distribution import (
    Distribution,
    Drawn,
    PositiveTypicalTime,
    as_ticks,
    check_tail,
    levels,
    times,
)


@frozen_dataclass()
class Exponential(Distribution, kind="exponential"):
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

    def __post_init__(self) -> None:
        to_ticks(self.mean, "mean", positive=True)
        check_tail(-as_ticks(self.mean) * np.log(distribution.RAREST), "Exponential")

    @property
    def name(self) -> str:
        return f"exponential, mean {show_seconds(self.mean)}"

    def expected(self) -> float:
        return self.mean

    def survival(self, t: npt.ArrayLike) -> npt.NDArray[np.float64]:
        return np.exp(-np.maximum(times(t), 0) / self.mean)

    def quantile(self, q: npt.ArrayLike) -> npt.NDArray[np.float64]:
        return -self.mean * np.log1p(-levels(q))

    def make_table(self) -> distribution.DelayTable:
        mean = as_ticks(self.mean)
        return distribution.smooth(lambda s: -mean * np.log(s), lambda p: -mean * np.log1p(-p))

    def make_residual(self) -> distribution.DelayTable:
        return self.integers()  # it has no memory


class ExponentialOrDrawn(Drawn):
    """A field of a dataclass for a distribution, where a time alone is an exponential's mean."""

    _plain = Exponential
