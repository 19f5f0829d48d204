"""Pareto distribution: heavy tail, power law (AGV05, section 4)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..fields import frozen_dataclass
from ..units import OptionalSeconds, show_seconds, to_ticks
from .distribution import Continuous, Floats, PositiveTypicalTime, check_number, levels


@frozen_dataclass()
class Pareto(Continuous, kind="pareto"):
    """``P(X > t) = (scale / t)**shape`` for t from `scale` on.

    Parameters
    ----------
    scale : float or str
        The shortest time, seconds, above 0.
    shape : float
        Above 0, up to 1000; up to 1 there is no mean without `longest`.
    longest : float or str, optional
        Longer times are cut to this, seconds, above `scale`. Needed where the tail would be longer
        than any time that is simulated: below a shape of about 1.6 for a scale of 1 µs.

    Raises
    ------
    ValueError
        A parameter out of range, or `longest` is needed.

    Examples
    --------
    >>> Pareto(scale="1us", shape=2).expected()
    2e-06
    >>> Pareto(scale="1us", shape=1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: the rarest delay (of probability 2^-64) must be below 1.153e+06 s, got ...
    """

    scale: PositiveTypicalTime
    shape: float
    longest: OptionalSeconds = OptionalSeconds()

    def __post_init__(self) -> None:
        to_ticks(self.scale, "scale", positive=True)
        shape = check_number(self.shape, "shape", 0, 1000, "Pareto")
        object.__setattr__(self, "shape", shape)
        self._check_tail()

    @property
    def name(self) -> str:
        text = f"Pareto, from {show_seconds(self.scale)}, shape {self.shape:g}"
        return text + self._cut_in_words()

    def expected(self) -> float:
        a, least = self.shape, self.scale
        if self.longest is None:
            return least * a / (a - 1) if a > 1 else np.inf
        # scale * (1 + integral of x^-a from 1 to longest / scale)
        log_ratio = np.log(self.longest / least)
        integral = log_ratio if a == 1 else np.expm1((1 - a) * log_ratio) / (1 - a)
        return float(least * (1 + integral))

    def _upper(self, scale: float, p: Any) -> Any:
        return scale * np.power(p, -1 / self.shape)

    def _lower(self, scale: float, p: Any) -> Any:
        return scale * np.exp(-1 / self.shape * np.log1p(-p))

    def _uncut_survival(self, t: Floats) -> Any:
        return np.power(self.scale / np.maximum(t, self.scale), self.shape)

    def quantile(self, q: npt.ArrayLike) -> npt.NDArray[np.float64]:
        # Divided by the shape: the table, whose last bits stay as they are, multiplies.
        free = self.scale * np.exp(-np.log1p(-levels(q)) / self.shape)
        return np.minimum(free, np.inf if self.longest is None else self.longest)
