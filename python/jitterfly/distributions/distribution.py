"""What every distribution offers: a table for the engine, and its functions for people."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..engine import core
from ..fields import Component, check_numbers, shorten
from ..units import TICKS_PER_SECOND, Time, exact, from_ticks, show_seconds, to_ticks, warn_of_long
from . import tables
from .tables import residual

_LIKELY = 2.0**-40


class Distribution(Component, ABC):
    """Base of all distributions of a time, in seconds from 0."""

    @property
    @abstractmethod
    def name(self) -> str:
        """For people, such as "exponential, mean 10 µs"."""

    @abstractmethod
    def expected(self) -> float:
        """Mean, seconds; infinite where there is none."""

    @abstractmethod
    def survival(self, t: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """P(X > t) for times in seconds, any shape."""

    @abstractmethod
    def quantile(self, q: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The smallest time t in seconds with P(X <= t) >= q, for q from 0 to below 1."""

    @abstractmethod
    def make_table(self) -> tables.DelayTable:
        """The table, in integers; `integers` keeps it."""

    def chance(self) -> Fraction:
        """Probability that there is anything at all to draw."""
        return Fraction(1)

    def integers(self) -> tables.DelayTable:
        """The table, made once for all equal distributions."""
        return _integers(self)

    def table(self) -> core.Delay:
        """The table in the engine, which all its draws come from."""
        return _delay(self)

    def residual(self) -> tables.DelayTable:
        """What is left of it at a random moment inside."""
        return _residual(self)

    def make_residual(self) -> tables.DelayTable:
        """The table of that; `residual` keeps it."""
        return residual(self.integers())

    def mean_ticks(self) -> float:
        """Mean of what is drawn, in ticks: that of the table."""
        return _mean(self)

    def longest_ticks(self) -> int:
        """The longest time that is ever drawn: that of survival 2^-65."""
        return self.integers().largest

    def likely_ticks(self) -> int:
        """A time that is hardly ever exceeded: once in 10^12 draws."""
        return _likely(self)

    def __str__(self) -> str:
        return self.name


# Cells of a study have the same few distributions.
@lru_cache(maxsize=256)
def _integers(distribution: Distribution) -> tables.DelayTable:
    return distribution.make_table()


@lru_cache(maxsize=256)
def _delay(distribution: Distribution) -> core.Delay:
    return distribution.integers().delay()


@lru_cache(maxsize=256)
def _mean(distribution: Distribution) -> float:
    return distribution.integers().mean()


@lru_cache(maxsize=256)
def _likely(distribution: Distribution) -> int:
    table = distribution.integers()
    return min(table.at(_LIKELY), table.largest)


@lru_cache(maxsize=256)
def _residual(distribution: Distribution) -> tables.DelayTable:
    return distribution.make_residual()


def as_ticks(seconds: float) -> float:
    """Seconds in ticks, not rounded to whole ones."""
    return float(exact(seconds) * TICKS_PER_SECOND)


def times(t: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Times in seconds as an array; ValueError for what is none."""
    return check_numbers(t, "t must be times in seconds").astype(np.float64)


def levels(q: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Levels of quantiles as an array."""
    rule = "q must be from 0 to below 1"
    array = check_numbers(q, rule).astype(np.float64)
    if not ((array >= 0) & (array < 1)).all():
        raise ValueError(f"{rule}, got {shorten(q)}")
    return array


def check_number(value: Any, name: str, low: float, high: float, owner: str) -> float:
    """A finite number above `low`, up to `high`."""
    good = isinstance(value, (int, float, np.integer, np.floating))
    good = good and not isinstance(value, (bool, np.bool_))
    if not good or not low < value <= high:
        rule = f"{name} must be a number above {low:g}, up to {high:g}"
        raise ValueError(f"{rule}, got {shorten(value)} (in {owner})")
    return float(value)


def check_probability(value: Any, owner: str) -> float:
    """A probability, from 0 to 1."""
    good = isinstance(value, (int, float, np.integer, np.floating))
    good = good and not isinstance(value, (bool, np.bool_))
    if not good or not 0 <= value <= 1:
        raise ValueError(f"probability must be from 0 to 1, got {shorten(value)} (in {owner})")
    return float(value)


def check_tail(ticks: float, owner: str, *, longest: bool = False) -> None:
    """Raise ValueError if the rarest delay is too long for a table; `longest` could cut it."""
    if not ticks < tables.LARGEST:
        most = show_seconds(float(from_ticks(tables.LARGEST)))
        advice = "; give longest, at which its tail is cut" if longest else ""
        raise ValueError(
            f"the rarest delay (of probability 2^-64) must be below {most}, "
            f"got {ticks / TICKS_PER_SECOND:.3g} s{advice} (in {owner})"
        )


def check_longest(longest: float | None, least: float, name: str, owner: str) -> None:
    """Raise ValueError unless the end of a tail, if there is one, lies above `least`."""
    if longest is not None:
        if longest <= least:
            raise ValueError(
                f"longest must be above {name} = {least} s, got {longest} (in {owner})"
            )
        check_tail(to_ticks(longest), owner)


def cut(ticks: npt.NDArray[np.float64], longest: float | None) -> npt.NDArray[np.float64]:
    """Delays with a tail that ends at `longest` seconds."""
    return ticks if longest is None else np.minimum(ticks, to_ticks(longest))


def read_distribution(
    value: Distribution | Time | Mapping[str, Any], name: str, plain: type[Distribution]
) -> Distribution:
    """A distribution, also from a table, or from a time that stands for `plain`."""
    if isinstance(value, Distribution):
        return value
    if isinstance(value, Mapping):
        return Distribution.from_dict(value, name)
    try:
        return plain(value)  # type: ignore[call-arg]
    except ValueError:
        raise ValueError(
            f"{name} must be a time in seconds, or a distribution such as Exponential(mean='10us'),"
            f" got {shorten(value)}"
        ) from None


class Drawn:
    """A field of a dataclass that takes a `Distribution`, its table or a time, and holds the first.

    A subclass says which distribution a time alone stands for.
    """

    _plain: ClassVar[type[Distribution]]
    _short: ClassVar[bool] = False  # as in `ShortSeconds`, for a time alone

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name
        self._owner = owner.__name__
        # What help() shows for a parameter: what may be passed.
        owner.__annotations__[name] = "Distribution | float | str"
        self.__doc__ = "A Distribution."

    def __get__(self, instance: object | None, owner: type | None = None) -> Distribution:
        if instance is None:  # this is how dataclass asks whether there is a default
            raise AttributeError(self._name)
        value: Distribution = instance.__dict__[self._name]
        return value

    def __set__(self, instance: object, value: Distribution | Time | Mapping[str, Any]) -> None:
        try:
            instance.__dict__[self._name] = read_distribution(value, self._name, self._plain)
        except ValueError as error:
            raise ValueError(f"{error} (in {self._owner})") from None
        if self._short and not isinstance(value, (Distribution, Mapping)):
            warn_of_long(value, f"{self._name} of {self._owner}")
