"""Lognormal distribution, by median and sigma."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .. import special
from ..fields import frozen_dataclass
from ..units import OptionalSeconds, show_seconds, to_ticks
from . import distribution
from .distribution import (
    Distribution,
    PositiveTypicalTime,
    as_ticks,
    check_cut,
    check_number,
    cut,
    cut_in_words,
    levels,
    times,
)


@frozen_dataclass()
class Lognormal(Distribution, kind="lognormal"):
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

    def __post_init__(self) -> None:
        to_ticks(self.median, "median", positive=True)
        object.__setattr__(self, "sigma", check_number(self.sigma, "sigma", 0, 100, "Lognormal"))
        check_cut(self.longest, self.median, "median", "Lognormal",
                  lambda: as_ticks(self.median)
                  * np.exp(-self.sigma * special.ndtri(distribution.RAREST)))  # fmt: skip

    @property
    def name(self) -> str:
        text = f"lognormal, median {show_seconds(self.median)}, sigma {self.sigma:g}"
        return text + cut_in_words(self.longest)

    def expected(self) -> float:
        mean = self.median * np.exp(self.sigma**2 / 2)
        if self.longest is None:
            return float(mean)
        z = np.log(self.longest / self.median) / self.sigma
        return float(mean * special.ndtr(z - self.sigma) + self.longest * special.ndtr(-z))

    def survival(self, t: npt.ArrayLike) -> npt.NDArray[np.float64]:
        array = times(t)
        with np.errstate(divide="ignore"):
            z = np.log(np.maximum(array, 0) / self.median) / self.sigma
        free = special.ndtr(-z)
        return free if self.longest is None else np.where(array < self.longest, free, 0.0)

    def quantile(self, q: npt.ArrayLike) -> npt.NDArray[np.float64]:
        free = self.median * np.exp(self.sigma * special.ndtri(levels(q)))
        return np.minimum(free, np.inf if self.longest is None else self.longest)

    def make_table(self) -> distribution.DelayTable:
        median, sigma = as_ticks(self.median), self.sigma
        return distribution.smooth(
            lambda s: cut(median * np.exp(-sigma * special.ndtri(s)), self.longest),
            lambda p: cut(median * np.exp(sigma * special.ndtri(p)), self.longest),
        )
