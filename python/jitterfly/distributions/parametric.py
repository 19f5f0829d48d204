"""Distributions by formula: constant, Bernoulli; exponential, gamma, lognormal, Pareto, Weibull.

`Bernoulli` is a constant with a probability. Those after it are continuous. The engine draws from
tables of them (cuda/noise/delay.h), which `Continuous` makes.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..fields import RealField, frozen_dataclass
from ..optional_packages import special
from ..units import OptionalSeconds, ShortSeconds, exact, show_seconds, to_ticks
from . import distribution
from .distribution import (
    RAREST,
    DelayTable,
    Distribution,
    Drawn,
    Floats,
    PositiveTypicalTime,
    Probability,
    TypicalTime,
    as_ticks,
    check_number,
    check_tail,
    levels,
    smooth,
    times,
)


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


class Continuous(Distribution):
    """Base of distributions with a formula, whose times are multiples of a scale.

    A class gives its formulas once: here are tables, quantiles and the check of the tail made of
    them. The tail of some can be cut at `longest`.
    """

    longest: Any = None
    _scale: ClassVar[str] = "scale"  # the name of that field
    _shape: ClassVar[tuple[str, float, float] | None] = None  # a field, its bounds: above, up to

    def __post_init__(self) -> None:
        owner, scale = type(self).__name__, getattr(self, self._scale)
        to_ticks(scale, self._scale, positive=True)
        if self._shape is not None:
            name, low, high = self._shape
            found = check_number(getattr(self, name), name, low, high, owner)
            object.__setattr__(self, name, found)
        if self.longest is None:
            with np.errstate(over="ignore"):
                rarest = self._upper(as_ticks(scale), RAREST)
            check_tail(rarest, owner, longest="longest" in vars(self))  # where it is a field
        elif self.longest <= scale:
            raise ValueError(
                f"longest must be above {self._scale} = {scale} s, got {self.longest} (in {owner})"
            )
        else:
            check_tail(to_ticks(self.longest), owner)

    @abstractmethod
    def _upper(self, scale: float, p: Any) -> Any:
        """The time that is exceeded with probability p, in the unit of `scale`, without a cut."""

    @abstractmethod
    def _lower(self, scale: float, p: Any) -> Any:
        """The time that is not exceeded with probability p, likewise."""

    @abstractmethod
    def _uncut_survival(self, t: Floats) -> Any:
        """P(X > t) for times in seconds, without a cut."""

    def survival(self, t: npt.ArrayLike) -> npt.NDArray[np.float64]:
        array = times(t)
        with np.errstate(divide="ignore", over="ignore"):
            survival: Floats = self._uncut_survival(array)
        return survival if self.longest is None else np.where(array < self.longest, survival, 0.0)

    def quantile(self, q: npt.ArrayLike) -> npt.NDArray[np.float64]:
        found: Floats = self._lower(getattr(self, self._scale), levels(q))
        return found if self.longest is None else np.minimum(found, self.longest)

    def make_table(self) -> DelayTable:
        scale = as_ticks(getattr(self, self._scale))
        most = np.inf if self.longest is None else to_ticks(self.longest)
        return smooth(
            lambda p: np.minimum(self._upper(scale, p), most),
            lambda p: np.minimum(self._lower(scale, p), most),
        )

    def _cut_in_words(self) -> str:
        """The end of a name, which says where the tail is cut."""
        return "" if self.longest is None else f", at most {show_seconds(self.longest)}"


@frozen_dataclass()
class Exponential(Continuous, kind="exponential"):
    """``P(X > t) = exp(-t / mean)``.

    Parameters
    ----------
    mean : float or str
        Seconds, above 0.

    Raises
    ------
    ValueError
        `mean` out of range, or so long that the rarest delay exceeds 13 days.

    Examples
    --------
    >>> x = Exponential(mean="10us")
    >>> round(float(x.quantile(0.5)) * 1e6, 3), x.longest_ticks()
    (6.931, 450545664)
    """

    mean: PositiveTypicalTime
    _scale: ClassVar[str] = "mean"

    @property
    def name(self) -> str:
        return f"exponential, mean {show_seconds(self.mean)}"

    def expected(self) -> float:
        return self.mean

    def _upper(self, scale: float, p: Any) -> Any:
        return -scale * np.log(p)

    def _lower(self, scale: float, p: Any) -> Any:
        return -scale * np.log1p(-p)

    def _uncut_survival(self, t: Floats) -> Any:
        return np.exp(-np.maximum(t, 0) / self.mean)

    def make_residual(self) -> DelayTable:
        return self.integers()  # it has no memory


class ExponentialOrDrawn(Drawn):
    """A field of a dataclass for a distribution, where a time alone is an exponential's mean."""

    _plain = Exponential


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

    shape: RealField
    scale: PositiveTypicalTime
    _shape = ("shape", 0, 1e6)

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
    sigma: RealField
    longest: OptionalSeconds = OptionalSeconds()
    _scale: ClassVar[str] = "median"
    _shape = ("sigma", 0, 100)

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
    shape: RealField
    longest: OptionalSeconds = OptionalSeconds()
    _shape = ("shape", 0, 1000)

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
    shape: RealField
    longest: OptionalSeconds = OptionalSeconds()
    _shape = ("shape", 0.01, 1000)

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
