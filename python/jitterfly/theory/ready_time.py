"""Ready times as distributions: of one rank, and bounds of the last one's."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from ..fields import check_numbers, shorten
from ..units import TICKS_PER_SECOND
from .delays import Floats


@dataclass(frozen=True)
class ReadyTime:
    """The distribution of a ready time, or bounds of it.

    Attributes
    ----------
    which : "one rank" or "last rank"
        Whose time it is: any one rank's (all have the same), or the completion.
    rounds : int
        K, for 2^K ranks.
    exact : bool
        Whether lower and upper bounds are equal. For one rank they differ by the grid alone.
    """

    which: str
    rounds: int
    exact: bool
    _offset: int = field(repr=False)
    _early: tuple[Any, ...] = field(repr=False)  # laws that the time is not before
    _late: Any = field(repr=False)  # a law that it is not after

    def survival_bounds(self, t: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Lower and upper bound of P(time > t), for t in seconds, any shape."""
        at = _ticks(t) - self._offset
        low = reduce(np.maximum, (law.survival(at)[0] for law in self._early))
        return low, np.maximum(self._late.survival(at)[1], low)

    def cdf_bounds(self, t: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Lower and upper bound of P(time <= t), for t in seconds, any shape."""
        at = _ticks(t) - self._offset
        high = reduce(np.minimum, (law.cdf(at)[1] for law in self._early))
        return np.minimum(self._late.cdf(at)[0], high), high

    def quantile_bounds(self, q: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Bounds of the smallest t with P(time <= t) >= q, in seconds, for q in [0, 1)."""
        return self.isf_bounds(1 - _shares(q, "q"))

    def isf_bounds(self, share: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Bounds of the smallest t with P(time > t) <= share, in seconds: for far tails."""
        share = _shares(share, "share")
        low = reduce(np.maximum, (law.exceeded(share)[0] for law in self._early))
        return self._seconds(low), self._seconds(np.maximum(self._late.exceeded(share)[1], low))

    def mean_bounds(self) -> tuple[float, float]:
        """Bounds of the mean, in seconds."""
        low = max(law.mean()[0] for law in self._early)
        high = self._late.mean()[1]
        return float(self._seconds(low)), float(self._seconds(max(high, low)))

    def _seconds(self, ticks: Any) -> Any:
        return (ticks + float(self._offset)) / TICKS_PER_SECOND


class OneRank(ReadyTime):
    """When any one rank has the result, never when the last one has it.

    Bounds are of the same law, on a grid rounded down and up; a value is the middle of both, which
    is an order more accurate than they are.
    """

    def survival(self, t: npt.ArrayLike) -> Floats:
        """P(time > t), for t in seconds, any shape."""
        survival: Floats = self._late.middle(_ticks(t) - self._offset)
        return survival

    def cdf(self, t: npt.ArrayLike) -> Floats:
        """P(time <= t), for t in seconds, any shape."""
        return self.cdf_bounds(t)[0] if self.exact else 1 - self.survival(t)

    def quantile(self, q: npt.ArrayLike) -> Floats:
        """The smallest t with P(time <= t) >= q, in seconds, for q in [0, 1)."""
        return self.isf(1 - _shares(q, "q"))

    def isf(self, share: npt.ArrayLike) -> Floats:
        """The smallest t with P(time > t) <= share, in seconds: for far tails."""
        found: Floats = self._seconds(self._late.exceeded_middle(_shares(share, "share")))
        return found

    def mean(self) -> float:
        """Seconds."""
        return sum(self.mean_bounds()) / 2

    @cached_property
    def gap(self) -> float:
        """The largest distance between the bounds of the distribution function; 0: exact."""
        return float(np.max(self._late.high - self._late.low)) if not self.exact else 0.0


class LastRank(ReadyTime):
    """Bounds of the completion. There is no closed form; simulation has the value."""


def _ticks(t: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Whole ticks that have passed at t; a number of ticks is that, whatever its last bit."""
    seconds = check_numbers(t, "t must be times in seconds")
    return np.floor(seconds * float(TICKS_PER_SECOND) + 0.25).astype(np.int64)


def _shares(values: npt.ArrayLike, name: str) -> Floats:
    rule = f"{name} must be from 0 to below 1" if name == "q" else f"{name} must be in (0, 1]"
    shares = check_numbers(values, rule).astype(float)
    good = (shares >= 0) & (shares < 1) if name == "q" else (shares > 0) & (shares <= 1)
    if not good.all():
        raise ValueError(f"{rule}, got {shorten(values)}")
    return shares
