"""Gamma distribution, with the Erlang distribution (sums of exponential times)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .. import special
from ..fields import frozen_dataclass
from ..units import show_seconds, to_ticks
from . import distribution
from .distribution import (
    Distribution,
    PositiveTypicalTime,
    as_ticks,
    check_number,
    check_tail,
    levels,
    times,
)


@frozen_dataclass(kw_only=True)
class Gamma(Distribution, kind="gamma"):
    """Density proportional to ``t**(shape - 1) * exp(-t / scale)``.

    Its parameters are given by name.

    Parameters
    ----------
    shape : float
        Above 0, up to 10^6; 1 is exponential.
    scale : float or str
        Seconds, above 0.

    Raises
    ------
    ValueError
        A parameter out of range, or so large that the rarest delay exceeds 13 days.

    Examples
    --------
    >>> Gamma(shape=2, scale="5us").expected()
    1e-05
    """

    shape: float
    scale: PositiveTypicalTime

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", check_number(self.shape, "shape", 0, 1e6, "Gamma"))
        to_ticks(self.scale, "scale", positive=True)
        check_tail(
            as_ticks(self.scale) * special.gammainccinv(self.shape, distribution.RAREST), "Gamma"
        )

    @property
    def name(self) -> str:
        return f"gamma, shape {self.shape:g}, scale {show_seconds(self.scale)}"

    def expected(self) -> float:
        return self.shape * self.scale

    def survival(self, t: npt.ArrayLike) -> npt.NDArray[np.float64]:
        return np.asarray(special.gammaincc(self.shape, np.maximum(times(t), 0) / self.scale))

    def quantile(self, q: npt.ArrayLike) -> npt.NDArray[np.float64]:
        return np.asarray(self.scale * special.gammaincinv(self.shape, levels(q)))

    def make_table(self) -> distribution.DelayTable:
        scale, shape = as_ticks(self.scale), self.shape
        return distribution.smooth(
            lambda s: scale * special.gammainccinv(shape, s),
            lambda p: scale * special.gammaincinv(shape, p),
        )
