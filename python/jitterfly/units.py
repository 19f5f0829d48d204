"""Units: parsing and printing of times ("20us"), rounding to ticks of a picosecond; bytes.

A time may be written as a number of seconds or as a string with a unit. It is turned into ticks
through its decimal value (the digits that Python prints for it), never through binary fractions,
so that ``1e-7 + 8 * 1e-9`` seconds are 108,000 ticks on every machine.
"""

from __future__ import annotations

import math
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from .fields import (
    NO_DEFAULT,
    Converted,
    RealOrText,
    as_float,
    is_number,
    refuse_masked,
    shorten,
    stacklevel_of_user,
)

TICKS_PER_SECOND = 10**12
LONGEST_TICKS = 2**62  # half of int64: one addition of two times can not overflow
LONGEST_SECONDS = LONGEST_TICKS / TICKS_PER_SECOND

Time = RealOrText
"""What is accepted where a time is asked for: seconds, or a string such as ``"10us"``."""

EXPONENTS = {"s": 0, "ms": -3, "us": -6, "µs": -6, "μs": -6, "ns": -9, "ps": -12}
_SECONDS = {unit: Fraction(10) ** power for unit, power in EXPONENTS.items()}
_SECONDS |= {"min": Fraction(60), "h": Fraction(3600)}  # read, and not printed
_TEXT = re.compile(
    r"\s*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?)\s*"
    rf"({'|'.join(_SECONDS)})?\s*"
)
_UNITS = "s, ms, us, µs, ns, ps, min, h"
_LONGEST_TEXT = 1000  # characters; Python refuses to read integers of more than 4300 digits

BYTES = {
    "B": 1,
    **{f"{letter}B": 10 ** (3 * i) for i, letter in enumerate("kMGTP", 1)},
    **{f"{letter}iB": 2 ** (10 * i) for i, letter in enumerate("KMGTP", 1)},
}
"""Units of sizes: kB is 1000 bytes, KiB 1024."""


def parse_seconds(value: Time, name: str = "time", *, positive: bool = False) -> float:
    """Read a time.

    Parameters
    ----------
    value : float or str
        Seconds, or a number with a unit: s (the default), ms, us, µs, ns, ps, min, h.
    name : str
        What the time is, for the error message.
    positive : bool
        Refuse 0.

    Returns
    -------
    float
        Seconds, from 0 to 2^62 ps (about 53 days).

    Raises
    ------
    ValueError
        Not a time, not finite, negative, or too long.

    Examples
    --------
    >>> parse_seconds("10us"), parse_seconds("0.01 ms"), parse_seconds("1e-5")
    (1e-05, 1e-05, 1e-05)
    >>> parse_seconds("5min"), parse_seconds("1.5 h")
    (300.0, 5400.0)
    """
    if type(value) is float and 0 < value <= LONGEST_SECONDS:  # as in most of many cases
        return value
    rule = f"{name} must be a time {'above 0' if positive else 'from 0'} to {LONGEST_SECONDS:.3g} s"
    shown = shorten(value)
    if getattr(value, "ndim", 1) == 0:  # an array, also of xarray
        refuse_masked(value, rule)
        value = np.asarray(value)[()]  # type: ignore[assignment]
    if isinstance(value, str):
        match = _TEXT.fullmatch(value) if len(value) <= _LONGEST_TEXT else None
        if match is None:
            hint = _period_of(value)
            raise ValueError(f"{rule}, a number or text with a unit ({_UNITS}), got {shown}{hint}")
        seconds = as_float(Fraction(match[1]) * _SECONDS[match[2] or "s"])
    elif not is_number(value):
        drawn = isinstance(value, Mapping) or hasattr(value, "survival")
        not_drawn = "; it is not drawn here" * drawn
        raise ValueError(f"{rule}, a number or text with a unit ({_UNITS}){not_drawn}, got {shown}")
    else:
        seconds = as_float(value)
    if not 0 <= seconds <= LONGEST_SECONDS or (positive and seconds == 0):
        raise ValueError(f"{rule}, got {shown}")
    return seconds + 0.0  # -0.0 becomes 0.0


_FREQUENCY = re.compile(r"\s*([0-9]{1,15}(?:\.[0-9]{1,15})?)\s*([kMG]?)Hz\s*", re.IGNORECASE)


def _period_of(text: str) -> str:
    """Say what to write instead of a frequency, for an error message; "" for any other text."""
    found = _FREQUENCY.fullmatch(text[:_LONGEST_TEXT])
    if found is None or not float(found[1]):
        return ""
    hertz = float(found[1]) * {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}[found[2].lower()]
    return f", which is a period of {show_seconds(1 / hertz)}"


class LongTimeWarning(UserWarning):
    """A bare number makes a latency, overhead, delay, duration or measured time of 1 s or more."""


_LONG = 1.0  # seconds


def warn_of_long(value: Any, name: str, way: str = "") -> bool:
    """Warn where a time that is short as a rule is 1 s or more for want of a unit.

    Text with a unit gives no warning.

    Parameters
    ----------
    value : float or str
        As `parse_seconds` accepted it.
    name : str
        What the time is.
    way : str
        How to give a unit, where it is not just written behind the number.

    Returns
    -------
    bool
        Whether there was something to warn of.
    """
    if not is_long_number(value):
        return False
    text = value.strip() if isinstance(value, str) else f"{as_float(value):g}"
    way = way or f"give it one, such as '{text}us', or '{text}s' if that is meant"
    warnings.warn(
        f"{name} is {show_seconds(parse_seconds(value))}, as a number without a unit is in "
        f"seconds: {way}",
        LongTimeWarning,
        stacklevel=stacklevel_of_user(),
    )
    return True


def is_long_number(value: Any) -> bool:
    """Return whether a time, as `parse_seconds` accepted it, is 1 s or more and has no unit."""
    if not isinstance(value, str):
        return as_float(value) >= _LONG
    match = _TEXT.fullmatch(value)
    return match is not None and not match[2] and parse_seconds(value) >= _LONG


class SmallFactorWarning(UserWarning):
    """A factor on the time of ranks makes them much faster, as where 5 % is written for 1.05."""


_SMALL = 0.5


def warn_of_small_factor(factor: float, owner: str) -> None:
    """Warn where ranks would take less than half the time: 0.05 may be meant as 5 % more."""
    if 0 < factor < _SMALL:
        warnings.warn(
            f"factor of {owner} is {factor:g}, so that ranks take {factor:g} of the time and are "
            f"{1 / factor:.3g} times faster: {100 * factor:.3g} % slower is {1 + factor:g}",
            SmallFactorWarning,
            stacklevel=stacklevel_of_user(),
        )


@lru_cache(maxsize=1024)  # a study asks for the same few in each of its cells
def exact(seconds: float) -> Fraction:
    """The decimal value of a float, as Python prints it, as an exact fraction."""
    return Fraction(repr(float(seconds)))


def to_ticks(seconds: float | Fraction, name: str = "time", *, positive: bool = False) -> int:
    """Round a time to the nearest tick of 1 ps (half to even).

    Parameters
    ----------
    seconds : float or Fraction
        From 0.
    name : str
        What the time is, for the error message.
    positive : bool
        Whether 0 is refused where the time is given, for the error message.

    Raises
    ------
    ValueError
        A positive time that would become 0 ticks, and so have no effect.

    Examples
    --------
    >>> to_ticks(exact(1e-7) + 8 * exact(1e-9))
    108000
    """
    value = seconds if isinstance(seconds, Fraction) else exact(seconds)
    # As round(value * TICKS_PER_SECOND), which takes several times as long.
    ticks, rest = divmod(value.numerator * TICKS_PER_SECOND, value.denominator)
    twice = 2 * rest
    if twice > value.denominator or (twice == value.denominator and ticks % 2):
        ticks += 1
    if ticks == 0 and value > 0:
        raise ValueError(
            f"{name} must be {'' if positive else '0 or '}more than 0.5 ps "
            f"(times are kept in ticks of 1 ps), got {float(value):.3g} s"
        )
    return ticks


def array_to_ticks(seconds: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Apply `to_ticks` to each of many times from 0; one may become 0 ticks.

    Examples
    --------
    >>> array_to_ticks(np.array([1e-7, 2.5e-12, 1234567.000000000001])).tolist()
    [100000, 2, 1234567000000000000]
    """
    product = seconds * float(TICKS_PER_SECOND)
    ticks = np.rint(product).astype(np.int64)
    # A float is off its decimal value by half a unit in the last place, and so is the product.
    near = np.abs(np.abs(product - np.trunc(product)) - 0.5)
    close = near <= product * 2.0**-50
    # Every tenth one of a minute's recording is so close. Decimals of enough digits are as exact as
    # fractions, and take a tenth of their time.
    product_of = Context(prec=40).multiply
    ticks[close] = [
        round(product_of(Decimal(repr(one)), TICKS_PER_SECOND)) for one in seconds[close].tolist()
    ]
    return ticks


def from_ticks(ticks: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Convert ticks to seconds: the nearest float64, any shape."""
    return np.asarray(ticks, dtype=np.int64) / float(TICKS_PER_SECOND)


def show_seconds(seconds: float, digits: int = 4) -> str:
    """A time for people, e.g. in a table or on an axis.

    Examples
    --------
    >>> show_seconds(1.08e-07), show_seconds(0.0), show_seconds(12.5)
    ('108 ns', '0 s', '12.5 s')
    """
    if not math.isfinite(seconds) or seconds == 0:
        return f"{seconds:.{digits}g} s"
    for unit in ("s", "ms", "µs", "ns"):
        scale = 10.0 ** -EXPONENTS[unit]
        if abs(seconds) * scale >= 1 - 10.0**-digits:
            shown = f"{seconds * scale:.{digits}g}"
            if "e" in shown and abs(seconds) < 1e6:  # 160, which 2 digits write as 1.6e+02
                shown = f"{float(shown):.0f}"
            return f"{shown} {unit}"
    return f"{seconds * 1e12:.{digits}g} ps"


def exact_text(seconds: float) -> str:
    """A time as an option takes it, with all of its digits.

    Examples
    --------
    >>> exact_text(1.4e-05), exact_text(0.104312345678), exact_text(0.0)
    ('14us', '104.312345678ms', '0s')
    """
    unit = show_seconds(seconds).split()[1]
    number = Decimal(repr(seconds)).scaleb(-EXPONENTS[unit])
    return f"{number.normalize():f}{unit.replace('µ', 'u')}"


def common_unit(times: Iterable[float], otherwise: str = "s") -> str:
    """Return a unit for some times together: the largest of theirs in which half are 0.5 or more.

    Parameters
    ----------
    times : iterable of float
        Seconds. Those that are 0, or not known, do not count.
    otherwise : str
        The unit where there are no others.

    Examples
    --------
    >>> common_unit([4e-7, 3e-6, 2e-3, 0.0]), common_unit([9.5e-7, 2.6e-5]), common_unit([])
    ('µs', 'µs', 's')
    """
    known = [time for time in times if math.isfinite(time) and time]
    if not known:
        return otherwise
    return show_seconds(min(2 * _middle(known), max(map(abs, known)))).split()[1]


def column_units(columns: Sequence[Sequence[float]]) -> list[str]:
    """Return the unit of each column of times, seconds: one for the table, as far as that reads.

    It is the unit of most columns. A column has its own where its middle value would be 10,000 or
    more, or below 0.01.

    Examples
    --------
    >>> column_units([[8e-6, 9e-6], [2e-5, 4e-4], [3e-10, 0.0], []])
    ['µs', 'µs', 'ps', 'µs']
    """
    own = [common_unit(column, "") for column in columns]
    votes = Counter(unit for unit in own if unit)
    together = common_unit(time for column in columns for time in column)
    shared = max(votes, key=lambda unit: (votes[unit], unit == together), default=together)
    middles = [_middle(column) * 10.0 ** -EXPONENTS[shared] for column in columns]
    return [
        shared if not middle or 0.01 <= middle < 10_000 else unit
        for unit, middle in zip(own, middles, strict=True)
    ]


def _middle(times: Iterable[float]) -> float:
    """Return the middle one of the sizes of some times; 0 where none is known and above 0."""
    sizes = sorted(abs(time) for time in times if math.isfinite(time) and time)
    return sizes[len(sizes) // 2] if sizes else 0.0


def show_ticks(ticks: int) -> str:
    """A time to its last tick, for messages about a limit.

    Examples
    --------
    >>> show_ticks(100_000), show_ticks(1_000_000_499), show_ticks(0)
    ('100 ns', '1.000000499 ms', '0 s')
    """
    for unit in ("s", "ms", "µs", "ns", "ps"):
        one = 10 ** (12 + EXPONENTS[unit])
        if ticks >= one or unit == "ps":
            whole, rest = divmod(ticks, one)
            digits = f"{rest / one:.12f}".rstrip("0")[1:] if rest else ""
            return f"{whole}{digits} {unit}" if ticks else "0 s"
    raise AssertionError("not reached")


def show_bytes(count: int) -> str:
    """A number of bytes for people.

    Examples
    --------
    >>> show_bytes(24 * 2**30), show_bytes(100)
    ('24.0 GiB', '100 B')
    """
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.1f} {unit}" if unit != "B" else f"{count} B"
        size /= 1024
    return f"{size:.1f} TiB"


def show_size(count: int) -> str:
    """Show bytes for people, exactly.

    Examples
    --------
    >>> show_size(1024), show_size(3 * 2**20), show_size(1000), show_size(12)
    ('1 KiB', '3 MiB', '1 kB', '12 B')
    """
    for unit in sorted(BYTES, key=lambda unit: -BYTES[unit]):
        if count and count % BYTES[unit] == 0:
            return f"{count // BYTES[unit]:,} {unit}"
    return f"{count:,} B"


class Seconds(Converted[Time, float]):
    """A field of a dataclass that takes a `Time` and holds seconds as a float.

    A descriptor, so that a type checker knows both: what may be passed, and what is read.

    Parameters
    ----------
    default : float or str, optional
        Without it the field is required. In a class it is then declared by its type alone, see
        `fields.frozen_dataclass`.
    """

    _positive = False
    _short = False

    def __init__(self, default: Time = NO_DEFAULT) -> None:
        super().__init__("float | str", default)

    def __set_name__(self, owner: type, name: str) -> None:
        super().__set_name__(owner, name)
        self.__doc__ = "Seconds, as float."
        if self._default is not NO_DEFAULT:
            self._default = parse_seconds(self._default, name)

    def __set__(self, instance: object, value: Time) -> None:
        try:
            instance.__dict__[self._name] = parse_seconds(
                value, self._name, positive=self._positive
            )
        except ValueError as error:
            raise ValueError(f"{error} (in {type(instance).__name__})") from None
        if self._short:
            warn_of_long(value, f"{self._name} of {type(instance).__name__}")

    def in_words(self, value: float) -> str:
        return show_seconds(value)


class PositiveSeconds(Seconds):
    """A `Seconds` above 0."""

    _positive = True


class ShortSeconds(Seconds):
    """A `Seconds` of what is far below 1 s as a rule.

    A bare number of 1 or more gives a `LongTimeWarning`.
    """

    _short = True


class OptionalSeconds(Converted[Time | None, float | None]):
    """A field of a dataclass that takes a `Time` above 0 or None, and holds seconds or None."""

    def __init__(self) -> None:
        super().__init__("float | str | None", None)

    def __set_name__(self, owner: type, name: str) -> None:
        super().__set_name__(owner, name)
        self._owner = owner.__name__
        self.__doc__ = "Seconds, as float, or None."

    def __set__(self, instance: object, value: Time | None) -> None:
        try:
            seconds = None if value is None else parse_seconds(value, self._name, positive=True)
            if seconds is not None:
                to_ticks(seconds, self._name, positive=True)
        except ValueError as error:
            raise ValueError(f"{error} (in {self._owner})") from None
        instance.__dict__[self._name] = seconds

    def in_words(self, value: float | None) -> str:
        return "" if value is None else show_seconds(value)
