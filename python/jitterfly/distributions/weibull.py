"""Weibull distribution: lifetimes, gaps between failures, stretched exponential tail."""

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
class Weibull(Distribution, kind="weibull"):
    """``P(X > t) = exp(-(t / scale)**shape)``.

    As gaps of `RenewalNoise` it has events in bursts for a shape below 1, and more evenly spaced
    ones than the exponential distribution for a shape above 1.

    Parameters
    ----------
    scale : float or str
        Exceeded with probability 1/e, seconds, above 0.
    shape : float
        Above 0.01, up to 1000; 1 is exponential.
    longest : float or str, optional
        Longer times are cut to this, seconds, above `scale`. Needed where the tail would be longer
        than any time that is simulated: below a shape of about 0.14 for a scale of 1 µs.

    Raises
    ------
    ValueError
        A parameter out of range, or `longest` is needed.

    Examples
    --------
    >>> Weibull(scale="10us", shape=0.5).expected()
    2e-05
    """

    scale: PositiveTypicalTime
    shape: float
    longest: OptionalSeconds = OptionalSeconds()

    def __post_init__(self) -> None:
        to_ticks(self.scale, "scale", positive=True)
        shape = check_number(self.shape, "shape", 0.01, 1000, "Weibull")
        object.__setattr__(self, "shape", shape)
        check_cut(self.longest, self.scale, "scale", "Weibull",
                  lambda: as_ticks(self.scale)
                  * np.power(-np.log(distribution.RAREST), 1 / shape))  # fmt: skip

    @property
    def name(self) -> str:
        text = f"Weibull, scale {show_seconds(self.scale)}, shape {self.shape:g}"
        return text + cut_in_words(self.longest)

    def expected(self) -> float:
        mean = self.scale * special.gamma(1 + 1 / self.shape)
        if self.longest is None:
            return float(mean)
        # The integral of the survival function up to the cut is an incomplete gamma function.
        with np.errstate(over="ignore"):
            at_cut = np.power(self.longest / self.scale, self.shape)
        return float(mean * special.gammainc(1 / self.shape, at_cut))

    def survival(self, t: npt.ArrayLike) -> npt.NDArray[np.float64]:
        array = times(t)
        with np.errstate(over="ignore"):
            free = np.exp(-np.power(np.maximum(array, 0) / self.scale, self.shape))
        return free if self.longest is None else np.where(array < self.longest, free, 0.0)

    def quantile(self, q: npt.ArrayLike) -> npt.NDArray[np.float64]:
        free = self.scale * np.power(-np.log1p(-levels(q)), 1 / self.shape)
        return np.minimum(free, np.inf if self.longest is None else self.longest)

    def make_table(self) -> distribution.DelayTable:
        scale, power = as_ticks(self.scale), 1 / self.shape
        return distribution.smooth(
            lambda s: cut(scale * np.power(-np.log(s), power), self.longest),
            lambda p: cut(scale * np.power(-np.log1p(-p), power), self.longest),
        )
