"""Constant (deterministic) distribution: always the same time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..fields import frozen_dataclass
from ..units import show_seconds, to_ticks
from . import distribution
from .distribution import Distribution, Drawn, TypicalTime, check_tail, levels, times


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
