"""Weibull distribution: lifetimes, gaps between failures, stretched exponential tail."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import lazy_special as special
from ..fields import frozen_dataclass
from ..units import OptionalSeconds, show_seconds, to_ticks
from .distribution import Continuous, Floats, PositiveTypicalTime, check_number


@frozen_dataclass()
class Weibull(Continuous, kind="weibull"):
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
        self._check_tail()

    @property
    def name(self) -> str:
        text = f"Weibull, scale {show_seconds(self.scale)}, shape {self.shape:g}"
        return text + self._cut_in_words()

    def expected(self) -> float:
        mean = self.scale * special.gamma(1 + 1 / self.shape)
        if self.longest is None:
            return float(mean)
        # The integral of the survival function up to the cut is an incomplete gamma function.
        with np.errstate(over="ignore"):
            at_cut = np.power(self.longest / self.scale, self.shape)
        return float(mean * special.gammainc(1 / self.shape, at_cut))

    def _upper(self, scale: float, p: Any) -> Any:
        return scale * np.power(-np.log(p), 1 / self.shape)

    def _lower(self, scale: float, p: Any) -> Any:
        return scale * np.power(-np.log1p(-p), 1 / self.shape)

    def _uncut_survival(self, t: Floats) -> Any:
        return np.exp(-np.power(np.maximum(t, 0) / self.scale, self.shape))
