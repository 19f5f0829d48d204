"""Lognormal distribution, by median and sigma."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .. import lazy_special as special
from ..fields import frozen_dataclass
from ..units import OptionalSeconds, show_seconds, to_ticks
from .distribution import Continuous, Floats, PositiveTypicalTime, check_number


@frozen_dataclass()
class Lognormal(Continuous, kind="lognormal"):
    """``log(X / median)`` is normal with mean 0 and standard deviation `sigma`.

    Parameters
    ----------
    median : float or str
        Seconds, above 0.
    sigma : float
        Above 0, up to 100.
    longest : float or str, optional
        Longer times are cut to this, seconds, above `median`.

    Raises
    ------
    ValueError
        A parameter out of range, or `longest` is needed, as the tail is too long.

    Examples
    --------
    >>> round(Lognormal(median="10us", sigma=1).expected() * 1e6, 4)
    16.4872
    """

    median: PositiveTypicalTime
    sigma: float
    longest: OptionalSeconds = OptionalSeconds()
    _scale: ClassVar[str] = "median"

    def __post_init__(self) -> None:
        to_ticks(self.median, "median", positive=True)
        object.__setattr__(self, "sigma", check_number(self.sigma, "sigma", 0, 100, "Lognormal"))
        self._check_tail()

    @property
    def name(self) -> str:
        text = f"lognormal, median {show_seconds(self.median)}, sigma {self.sigma:g}"
        return text + self._cut_in_words()

    def expected(self) -> float:
        mean = self.median * np.exp(self.sigma**2 / 2)
        if self.longest is None:
            return float(mean)
        z = np.log(self.longest / self.median) / self.sigma
        return float(mean * special.ndtr(z - self.sigma) + self.longest * special.ndtr(-z))

    def _upper(self, scale: float, p: Any) -> Any:
        return scale * np.exp(-self.sigma * special.ndtri(p))

    def _lower(self, scale: float, p: Any) -> Any:
        return scale * np.exp(self.sigma * special.ndtri(p))

    def _uncut_survival(self, t: Floats) -> Any:
        return special.ndtr(-(np.log(np.maximum(t, 0) / self.median) / self.sigma))
