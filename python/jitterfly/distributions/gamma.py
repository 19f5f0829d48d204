"""Gamma distribution, with the Erlang distribution (sums of exponential times)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import lazy_special as special
from ..fields import frozen_dataclass
from ..units import show_seconds, to_ticks
from .distribution import Continuous, Floats, PositiveTypicalTime, check_number


@frozen_dataclass(kw_only=True)
class Gamma(Continuous, kind="gamma"):
    """A density proportional to ``t**(shape - 1) * exp(-t / scale)``.

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
        self._check_tail()

    @property
    def name(self) -> str:
        return f"gamma, shape {self.shape:g}, scale {show_seconds(self.scale)}"

    def expected(self) -> float:
        return self.shape * self.scale

    def _upper(self, scale: float, p: Any) -> Any:
        return scale * special.gammainccinv(self.shape, p)

    def _lower(self, scale: float, p: Any) -> Any:
        return np.asarray(scale * special.gammaincinv(self.shape, p))

    def _uncut_survival(self, t: Floats) -> Any:
        return np.asarray(special.gammaincc(self.shape, np.maximum(t, 0) / self.scale))
