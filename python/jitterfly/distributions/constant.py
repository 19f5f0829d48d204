"""Constant (deterministic) distribution, and a constant with a probability (Bernoulli)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from ..fields import frozen_dataclass
from ..units import ShortSeconds, exact, show_seconds, to_ticks
from . import distribution
from .distribution import Distribution, Drawn, Probability, TypicalTime, check_tail, levels, times


@frozen_dataclass()
class Constant(Distribution, kind="constant"):
    """The same time, always.

    Parameters
    ----------
    value : float or str
        Seconds, from 0.

    Raises
    ------
    ValueError
        `value` is no time, or beyond what the engine can hold.

    Examples
    --------
    >>> Constant("10us").expected(), Constant("10us").survival([9e-6, 10e-6])
    (1e-05, array([1., 0.]))
    """

    value: TypicalTime

    def __post_init__(self) -> None:
        check_tail(to_ticks(self.value, "value"), "Constant")

    @property
    def name(self) -> str:
        return show_seconds(self.value)

    def expected(self) -> float:
        return self.value

    def survival(self, t: npt.ArrayLike) -> npt.NDArray[np.float64]:
        return (times(t) < self.value).astype(np.float64)

    def quantile(self, q: npt.ArrayLike) -> npt.NDArray[np.float64]:
        return np.full(levels(q).shape, self.value)

    def make_table(self) -> distribution.DelayTable:
        return distribution.constant(to_ticks(self.value))

    def make_residual(self) -> distribution.DelayTable:
        return distribution.bins([0], [to_ticks(self.value)], [1])  # uniform


class ConstantOrDrawn(Drawn):
    """A field of a dataclass for a distribution, where a time alone stands for itself."""

    _plain = Constant
    _short = True


@frozen_dataclass()
class Bernoulli(Distribution, kind="bernoulli"):
    """A `duration` with a probability, else 0 (HM18; AGV05, section 5).

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
