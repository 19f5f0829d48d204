"""Bernoulli distribution: a fixed delay with probability p, else none (HM18; AGV05, section 5)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from ..fields import frozen_dataclass
from ..units import ShortSeconds, exact, show_seconds, to_ticks
from . import distribution
from .distribution import Distribution, Probability, check_tail, levels, times


@frozen_dataclass()
class Bernoulli(Distribution, kind="bernoulli"):
    """A `duration` with a probability, else 0.

    Parameters
    ----------
    probability : float or str
        From 0 to 1.
    duration : float or str
        Seconds, from 0.

    Raises
    ------
    ValueError
        A parameter out of range.

    Examples
    --------
    >>> Bernoulli(probability=0.001, duration="14us").expected()
    1.4e-08
    """

    probability: Probability
    duration: ShortSeconds

    def __post_init__(self) -> None:
        check_tail(to_ticks(self.duration, "duration"), "Bernoulli")

    @property
    def name(self) -> str:
        return f"{show_seconds(self.duration)} with probability {self.probability:g}"

    def expected(self) -> float:
        return self.probability * self.duration

    def survival(self, t: npt.ArrayLike) -> npt.NDArray[np.float64]:
        array = times(t)
        return np.where(array < 0, 1.0, np.where(array < self.duration, self.probability, 0.0))

    def quantile(self, q: npt.ArrayLike) -> npt.NDArray[np.float64]:
        return np.where(levels(q) > 1 - self.probability, self.duration, 0.0)

    def chance(self) -> Fraction:
        return exact(self.probability)

    def make_table(self) -> distribution.DelayTable:
        return distribution.constant(to_ticks(self.duration)).with_chance(self.chance())
