"""`Distribution`: quantile tables for inverse transform sampling; residual life (stationary).

Delays are drawn from integer tables of the inverse survival function. A 64-bit uniform decides,
small ones being the rare, long delays; tails are dense down to 2^-64 (docs/noise.md,
"Distributions"). Values are rounded to 24 significant bits before they become ticks: then the last
bit of a library's log or gamma function decides nothing. How one is added: see `__init__.py`.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache, wraps
from itertools import accumulate, compress, pairwise
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from ..backends import core
from ..fields import (
    NO_DEFAULT,
    Component,
    Converted,
    RealOrText,
    check_numbers,
    is_number,
    is_of_a_user,
    refuse_masked,
    shorten,
    summary,
)
from ..syntax import share_of_text
from ..units import (
    LONGEST_SECONDS,
    TICKS_PER_SECOND,
    Seconds,
    Time,
    exact,
    from_ticks,
    is_long_number,
    parse_seconds,
    show_seconds,
    warn_of_long,
)

TWO_64 = 2**64
LARGEST_UNIFORM = TWO_64 - 1
LARGEST = 2**60
"""Delays in a table stay below this many ticks (13 days), so that a sum of some is still a time."""
RAREST = 2.0**-65
"""The survival probability that stands for the longest delay: half a step of the uniform."""
_NODE_ERROR = 1e-6
"""Relative, of a delay: a class's functions may fall by so much where they have to rise."""
_HEAVIEST = 100.0
"""How many times the mean of its table a finite mean may be."""
CELLS = 58 * 64
"""Cells of a smooth table on either side of the median: 64 for each power of two."""

Floats = npt.NDArray[np.float64]
Line = tuple[Floats, Floats]
"""A survival function as a line: falling times in ticks, and the rising P(X > time)."""


@dataclass(frozen=True, eq=False)
class DelayTable:
    """A table of a kind that `core.Delay` knows, and the arrays it is made from.

    kind and arrays: "constant" (value), "smooth" (words), "samples" (values), "pieces" (edges, top,
    drop). `last` is the largest uniform with any delay; from 2^64 - 1 down.
    """

    kind: str
    arrays: tuple[Any, ...]
    last: int = LARGEST_UNIFORM

    @property
    def largest(self) -> int:
        """The longest delay, in ticks."""
        if self.kind == "constant":
            return int(self.arrays[0])
        return int(self.arrays[1 if self.kind == "pieces" else 0][0])

    @property
    def smallest(self) -> int:
        """The shortest delay above 0, in ticks; 0 if delays can be arbitrarily short."""
        first = self.arrays[0]
        if self.kind == "constant":
            return int(first)
        if self.kind == "samples":
            return int(first[first > 0].min(initial=self.largest))
        if self.kind == "pieces":
            return int((self.arrays[1] - self.arrays[2]).min())
        return int(first[CELLS + 1])  # where the lower half begins

    def delay(self) -> core.Delay:
        """The table in the engine, made once."""
        return self._delay

    @cached_property
    def _delay(self) -> core.Delay:
        made = getattr(core.Delay, self.kind)(*self.arrays)
        return made if self.last == LARGEST_UNIFORM else made.with_last(self.last)

    def with_chance(self, chance: Fraction) -> DelayTable:
        """A delay with this probability only, from 0 to 1; else none."""
        if chance == 0:
            return constant(0)
        return replace(self, last=last_uniform(chance))

    def line(self) -> Line:
        """The survival function that the table has, down to time 0."""
        times, above = _LINES[self.kind](*self.arrays)
        chance = (self.last + 1) / TWO_64
        times, above = np.append(times, 0.0), np.append(above, 1.0)
        return np.asarray(times, dtype=np.float64), above * chance

    def digest(self) -> str:
        """The hexadecimal digits that identify what is drawn."""
        found = hashlib.sha256(f"{self.kind} {self.last}".encode())
        for array in self.arrays:
            found.update(np.asarray(array).tobytes())
        return found.hexdigest()[:16]

    def mean(self) -> float:
        """The mean of the table, in ticks."""
        return float(areas(self.line()).sum())

    def positive(self) -> float:
        """The share of draws that delay at all."""
        chance = (self.last + 1) / TWO_64
        if self.kind == "samples":
            chance *= float((self.arrays[0] > 0).mean())
        elif self.kind == "pieces":
            edges, top, _ = self.arrays
            widths = np.diff(np.append(edges.astype(np.float64), float(TWO_64)))
            chance *= float(widths[top > 0].sum() / TWO_64)
        return chance if self.largest > 0 else 0.0

    def at(self, survival: float) -> int:
        """The delay that is exceeded with about this probability, in ticks: it may be longer."""
        times, above = self.line()
        return int(times[max(int(np.searchsorted(above, survival)) - 1, 0)])


def last_uniform(chance: Fraction) -> int:
    """The largest uniform below `chance` (above 0) of all."""
    steps = -(-chance.numerator * TWO_64 // chance.denominator)
    return min(max(steps - 1, 0), LARGEST_UNIFORM)


def constant(ticks: int) -> DelayTable:
    """The table of a delay that is always the same."""
    return DelayTable("constant", (ticks,))


def node_probabilities() -> Floats:
    """The probability of each node of a smooth table, counted from its end: 2^-65 ... 1/2."""
    cell = np.arange(CELLS + 1)
    power = np.maximum(cell // 64 - 1, 0)
    edge = np.ldexp((cell - 64 * power).astype(np.float64), power)
    return np.ldexp(np.maximum(edge, 0.5), -64)


def smooth(upper: Callable[[Floats], Floats], lower: Callable[[Floats], Floats]) -> DelayTable:
    """A table of a continuous distribution.

    Parameters
    ----------
    upper, lower : functions of an array of probabilities
        Delay in ticks that is exceeded with such a probability, and that is not.

    Raises
    ------
    ValueError
        Delays that are not from 0 to below 13 days, or that fall from the shortest on.

    Notes
    -----
    Between nodes it is linear in the uniform; they lie so dense that the relative error of a delay
    is h^2 x^2 |Q''| / (8 Q) with h = 1/64 (Q(x): inverse of either function): below 7e-5 for the
    exponential distribution, and for Pareto's with shape 1. Beyond 2^-58 from an end nodes are
    sparser.
    """
    probabilities = node_probabilities()
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        above, below = upper(probabilities), lower(probabilities)
    _check_nodes(np.concatenate([below, above[::-1]]))
    tail, body = round_ticks(above), round_ticks(below)
    # Both are monotone but for errors of the last bit.
    tail = np.maximum.accumulate(tail[::-1])[::-1]
    body = np.minimum(np.maximum.accumulate(body), tail[-1])
    body[-1] = tail[-1]
    return DelayTable("smooth", (np.concatenate([tail, body]).astype(np.uint64),))


def _check_nodes(delays: Floats) -> None:
    """Raise ValueError for what can be no delays from the shortest to the longest."""
    if not ((delays >= 0) & (delays < LARGEST)).all():
        limit = show_seconds(float(from_ticks(LARGEST)))
        raise ValueError(f"its table must have delays from 0 to below {limit}, and no NaN")
    longest = np.maximum.accumulate(delays)  # of this one and those before
    at = int((longest - delays).argmax())
    if longest[at] - delays[at] > 1 + _NODE_ERROR * longest[at]:
        before, after = (show_seconds(x / TICKS_PER_SECOND) for x in (longest[at], delays[at]))
        raise ValueError(
            "its table must have delays that rise from the shortest to the longest, got "
            f"{after} after {before}: are bounds, or the two functions, swapped?"
        )


def samples(values: npt.NDArray[np.int64]) -> DelayTable:
    """A table of equally likely delays, in ticks."""
    return DelayTable("samples", (np.sort(values)[::-1].copy(),))


def bins(low: list[int], high: list[int], counts: list[int]) -> DelayTable:
    """A table of a histogram: rising bins in ticks, uniform inside each.

    Bins that are drawn less than once in 2^40 are left out where their edges meet.
    """
    kept = [entry for entry in zip(low, high, counts, strict=True) if entry[2]][::-1]
    until = list(accumulate(count for _, _, count in kept))
    edges = [0, *(_rounded_edge(above * TWO_64 // until[-1]) for above in until[:-1])]
    wide = [a < b for a, b in pairwise([*edges, TWO_64])]
    bottom, top = (np.array(list(compress(ends, wide)), dtype=np.int64)
                   for ends in list(zip(*kept, strict=True))[:2])  # fmt: skip
    return DelayTable(
        "pieces", (np.array(list(compress(edges, wide)), np.uint64), top, top - bottom)
    )


def _rounded_edge(edge: int) -> int:
    """Return an edge as float64 keeps it: the upper bits alone where it is large."""
    # Part of what a seed means. In the tail edges stay exact.
    return edge if edge < 2**52 else edge >> 24 << 24


def round_ticks(ticks: Floats) -> npt.NDArray[np.int64]:
    """Round to 24 significant bits, then to whole ticks."""
    fraction, exponent = np.frexp(ticks)
    return np.rint(np.ldexp(np.rint(fraction * 2**24), exponent - 24)).astype(np.int64)


def areas(line: Line) -> Floats:
    """The area below each stretch of a survival function; their sum is the mean."""
    times, above = line
    return (times[:-1] - times[1:]) * (above[:-1] + above[1:]) / 2


def _smooth_line(words: npt.NDArray[np.uint64]) -> Line:
    """Return the points of the distribution function of a smooth table (`smooth`)."""
    tail, body = words[: CELLS + 1], words[CELLS + 1 :]
    edges = node_probabilities()
    edges[0] = 0.0
    return np.concatenate([tail, body[-2::-1]]), np.concatenate([edges, 1 - edges[-2::-1]])


def _samples_line(values: npt.NDArray[np.int64]) -> Line:
    """Return the points of the steps of samples, all equally likely."""
    steps = np.arange(len(values) + 1) / len(values)
    return np.repeat(values, 2), np.repeat(steps, 2)[1:-1]


def _pieces_line(edges: Any, top: Any, drop: Any) -> Line:
    """Return the points of the distribution function of a table of pieces."""
    steps = np.append(np.ldexp(edges.astype(np.float64), -64), 1.0)
    return np.stack([top, top - drop], axis=1).ravel(), np.repeat(steps, 2)[1:-1]


_LINES: dict[str, Callable[..., Line]] = {
    "constant": lambda ticks: (np.array([ticks, ticks]), np.array([0.0, 1.0])),
    "smooth": _smooth_line,
    "samples": _samples_line,
    "pieces": _pieces_line,
}


def residual(table: DelayTable) -> DelayTable:
    """The table of what is left of a delay with a positive mean.

    The survival function of a table is a line of straight stretches, so its integral is exact.
    """
    times, above = table.line()
    ascending = times[::-1], above[::-1]
    return smooth(
        lambda p: _time_at_area((times, above), p, -1.0), lambda p: _time_at_area(ascending, p, 1.0)
    )


def _time_at_area(line: Line, probabilities: Floats, sign: float) -> Floats:
    """The times at which the area below a survival function reaches these shares of the whole.

    Summed from its small end, so that the area is exact there.
    """
    times, above = line
    parts = np.abs(areas(line))
    upto = np.concatenate([[0.0], np.cumsum(parts)])
    area = probabilities * upto[-1]
    at = np.clip(np.searchsorted(upto, area, side="right") - 1, 0, len(parts) - 1)
    excess = np.clip(area - upto[at], 0, parts[at])
    width = np.abs(times[at + 1] - times[at])
    slope = np.divide(above[at + 1] - above[at], width, out=np.zeros_like(area), where=width > 0)
    # excess = above * x + slope * x^2 / 2, in the form that does not cancel.
    root = above[at] + np.sqrt(np.maximum(above[at] ** 2 + 2 * slope * excess, 0))
    x = np.divide(2 * excess, root, out=np.zeros_like(area), where=root > 0)
    return np.asarray(times[at] + sign * np.minimum(x, width))


_LIKELY = 2.0**-40
_R = TypeVar("_R")


def _kept(method: Callable[[Any], _R]) -> Callable[[Any], _R]:
    """A method whose result is made once for all equal distributions: cells have the same few."""
    kept = lru_cache(maxsize=256)(method)

    @wraps(method)  # a function: the reference and type checkers would not know a cache as a method
    def once(self: Any) -> _R:
        return kept(self)

    return once


class Distribution(Component, ABC):
    """Base of all distributions of a time, in seconds from 0."""

    goes_to = "It is what a source of noise draws: its `gap`, `duration`, `delay` or `factor`"
    example = "jf.StepNoise(delay={})"

    @property
    @abstractmethod
    def name(self) -> str:
        """The name for people, such as "exponential, mean 10 µs"."""

    @abstractmethod
    def expected(self) -> float:
        """The mean, seconds; infinite where there is none."""

    @abstractmethod
    def survival(self, t: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """P(X > t) for times in seconds, any shape."""

    @abstractmethod
    def quantile(self, q: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The smallest time t in seconds with P(X <= t) >= q, for q from 0 to below 1."""

    @abstractmethod
    def make_table(self) -> DelayTable:
        """The table, in integers; `integers` keeps it."""

    @classmethod
    def from_dict(cls, table: Mapping[str, Any], where: str | None = None) -> Any:
        """Make a distribution of a table, and of tables among its fields."""
        if isinstance(table, Mapping):
            place = where or cls.__name__.lower()
            table = {
                key: _read_distributions(value, f"{place}.{key}") for key, value in table.items()
            }
        return super().from_dict(table, where)

    def chance(self) -> Fraction:
        """The probability that there is anything at all to draw."""
        return Fraction(1)

    @_kept
    def integers(self) -> DelayTable:
        """The table, made once for all equal distributions."""
        try:
            made = self.make_table()
            if is_of_a_user(self):
                _check_table(made, self)
        except ValueError as error:
            owner = f" (in {type(self).__name__})"
            raise ValueError(f"{str(error).removesuffix(owner)}{owner}") from None
        return made

    def table(self) -> core.Delay:
        """The table in the engine, which all its draws come from."""
        return self.integers().delay()

    @_kept
    def residual(self) -> DelayTable:
        """The distribution of what is left of a time at a random moment inside it."""
        return self.make_residual()

    def make_residual(self) -> DelayTable:
        """The table of that; `residual` keeps it."""
        return residual(self.integers())

    @_kept
    def mean_ticks(self) -> float:
        """The mean of what is drawn, in ticks: that of the table."""
        return self.integers().mean()

    def longest_ticks(self) -> int:
        """The longest time that is ever drawn: that of survival 2^-65."""
        return self.integers().largest

    @_kept
    def likely_ticks(self) -> int:
        """A time that is hardly ever exceeded: once in 10^12 draws."""
        table = self.integers()
        return min(table.at(_LIKELY), table.largest)

    def warn_of_long(self) -> None:
        """Warn where it draws short times, and one of its own is long for want of a unit."""
        field, value = vars(self).get("_long_number", ("", 0.0))
        warn_of_long(value, f"{field} of {type(self).__name__}")

    def __str__(self) -> str:
        return self.name


_CHECKED = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
_OTHER_UNIT = 100.0  # times as long, or as short


def _check_table(table: DelayTable, own: Distribution) -> None:
    """Raise ValueError where a table is not of the distribution that a class's functions describe.

    It finds other units, swapped functions and wrong parameters, not small errors.
    """
    try:
        seconds = np.asarray(own.quantile(_CHECKED), dtype=np.float64)
        beyond = np.asarray(own.survival(seconds * 1.01), dtype=np.float64)
        told = float(own.expected()) * TICKS_PER_SECOND
        if seconds.shape != _CHECKED.shape or beyond.shape != _CHECKED.shape:
            raise ValueError(f"they gave shapes {seconds.shape} and {beyond.shape}")
    except Exception as error:
        raise ValueError(
            f"quantile and survival must take arrays, and expected give seconds: {error}"
        ) from error
    times, above = table.line()
    for q, ticks, longer in zip(_CHECKED, seconds * TICKS_PER_SECOND, beyond, strict=True):
        # What the table has around this quantile, in 4 % of all draws.
        least = times[min(int(np.searchsorted(above, 1 - q + 0.02, side="right")), len(times) - 1)]
        most = times[max(int(np.searchsorted(above, 1 - q - 0.02)) - 1, 0)]
        if not 0.99 * least - 1 <= ticks <= 1.01 * most + 1:
            wanted, *found = (show_seconds(x / TICKS_PER_SECOND, 3) for x in (ticks, least, most))
            unit = not least / _OTHER_UNIT <= ticks <= most * _OTHER_UNIT
            raise ValueError(
                f"quantile({q:g}) is {wanted}, and make_table has {' to '.join(found)} there"
                + ": a table is in ticks (1 ps), the other functions are in seconds" * unit
            )
        if not longer <= 1 - q + 0.02:
            raise ValueError(
                f"survival is {longer:.3g} beyond quantile({q:g}), where {1 - q:g} of all draws "
                "are left at most: survival(t) is P(X > t)"
            )
    mean = table.mean()
    # A table ends where one draw in 2^65 is left, so the mean of a heavy tail is less than told.
    if not mean <= 1.05 * told + 1 or mean + 1 < told / _HEAVIEST < math.inf:
        found = [show_seconds(one / TICKS_PER_SECOND, 3) for one in (mean, told)]
        raise ValueError(f"the mean of make_table is {found[0]}, and expected() is {found[1]}")


def _read_distributions(value: Any, where: str) -> Any:
    """Read the distributions in a field of another one, from their tables."""
    if isinstance(value, Mapping) and "kind" in value:
        return Distribution.from_dict(value, where)
    if isinstance(value, (list, tuple)) and any(isinstance(one, Mapping) for one in value):
        return tuple(_read_distributions(one, f"{where}.{i}") for i, one in enumerate(value))
    return value


def thinned(delay: Distribution, probability: float) -> DelayTable:
    """The table of a delay that is there with a probability only."""
    chance = delay.chance() * exact(probability)
    return delay.integers() if chance == delay.chance() else delay.integers().with_chance(chance)


def as_ticks(seconds: float) -> float:
    """Convert seconds to ticks, not rounded to whole ones."""
    return float(exact(seconds) * TICKS_PER_SECOND)


def times(t: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Convert times in seconds to an array; ValueError for other values."""
    return check_numbers(t, "t must be times in seconds").astype(np.float64)


def levels(q: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Convert levels of quantiles to an array."""
    rule = "q must be from 0 to below 1"
    array = check_numbers(q, rule).astype(np.float64)
    if not ((array >= 0) & (array < 1)).all():
        raise ValueError(f"{rule}, got {shorten(q)}")
    return array


def as_list(values: Any, rule: str, most: int) -> list[Any]:
    """A list of 1 to `most` values, also of an array or a column; else ValueError with `rule`."""
    if hasattr(values, "__array__"):
        refuse_masked(values, rule)
        values = np.asarray(values)
    good = isinstance(values, (list, tuple, range)) or getattr(values, "ndim", 0) == 1
    if not good or not 1 <= len(values) <= most:
        raise ValueError(f"{rule}, got {shorten(values)}")
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def check_number(value: Any, name: str, low: float, high: float, owner: str) -> float:
    """Check a number above `low`, up to `high`, and return it; errors name the class `owner`."""
    if not is_number(value) or not low < value <= high:
        rule = f"{name} must be a number above {low:g}, up to {high:g}"
        raise ValueError(f"{rule}, got {shorten(value)} (in {owner})")
    return float(value)


def check_probability(value: Any, owner: str, name: str = "probability") -> float:
    """Check a probability from 0 to 1, also as text such as ``"1%"``, and return it."""
    given = value
    if isinstance(value, str):
        value = share_of_text(value)
    if not is_number(value) or not 0 <= value <= 1:
        raise ValueError(
            f"{name} must be from 0 to 1, such as 0.01 or 1%, got {shorten(given)} (in {owner})"
        )
    return float(value)


class Probability(Converted[RealOrText, float]):
    """A field of a dataclass that takes a probability, also as text, and holds a float."""

    def __init__(self, default: float = NO_DEFAULT) -> None:
        super().__init__("float | str", default)

    def __set__(self, instance: object, value: RealOrText) -> None:
        owner = type(instance).__name__
        super().__set__(instance, check_probability(value, owner, self._name))


class TypicalTime(Seconds):
    """A field of a distribution: how long what is drawn is, as a rule.

    A long one without a unit is kept, as `Drawn` has to know it.
    """

    def __set__(self, instance: object, value: Time) -> None:
        super().__set__(instance, value)
        if is_long_number(value):
            keep_number(instance, self._name, value)


class PositiveTypicalTime(TypicalTime):
    """A `TypicalTime` above 0."""

    _positive = True


def keep_number(distribution: object, field: str, value: Time) -> None:
    """Remember a value without a unit: `warn_of_long` warns of it, if short times are drawn."""
    vars(distribution)["_long_number"] = (field, value)


_TAIL = "the rarest delay (of probability 2^-64)"


def check_tail(ticks: float, owner: str, *, longest: bool = False) -> None:
    """Raise ValueError if the rarest delay is too long for a table; `longest` could cut it."""
    if not ticks < LARGEST:
        limit = show_seconds(float(from_ticks(LARGEST)))
        advice = "; give longest, at which its tail is cut" if longest else ""
        raise ValueError(
            f"{_TAIL} must be below {limit}, "
            f"got {ticks / TICKS_PER_SECOND:.3g} s{advice} (in {owner})"
        )


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
    except ValueError as error:
        shown = shorten(value)
        if _TAIL in str(error):  # it is a time, and this distribution of it has too long a tail
            why = str(error).partition(" (in ")[0]
            raise ValueError(
                f"{name} is too long for {plain.__name__}: {why}, of {shown}"
            ) from None
        if _is_zero(value):  # which a constant may be
            raise ValueError(f"{name} must be above 0, got {shown}") from None
        raise ValueError(
            f"{name} must be a time in seconds, or a distribution such as Exponential(mean='10us'),"
            f" got {shown}{_range_of(value)}"
        ) from None


def _is_zero(value: Any) -> bool:
    """Return whether a value is a time of 0."""
    try:
        return parse_seconds(value, "") == 0
    except ValueError:
        return False


def _range_of(value: Any) -> str:
    """Say which times are possible, for an error on a time beyond them; else ""."""
    try:
        parse_seconds(value, "")
    except ValueError as error:
        if "a number or text with a unit" not in str(error):
            return f"; times are from 0 to {LONGEST_SECONDS:.3g} s"
    return ""


def _without_unit(value: Distribution) -> str:
    """The distribution of a number, where one second stands for 1, as `name` has that of a time."""
    names = [one.name for one in fields(value)] if is_dataclass(value) else []
    given = {name: one for name in names if (one := getattr(value, name)) is not None}
    if not given or not all(isinstance(one, (int, float)) for one in given.values()):
        return summary(value)  # what is made of others, or a user's own
    return ", ".join([value.kind, *(f"{name} {one:g}" for name, one in given.items())])


class Drawn(Converted["Distribution | Time | Mapping[str, Any]", "Distribution"]):
    """A field of a dataclass that takes a `Distribution`, its table or a time, and holds the first.

    A subclass says which distribution a time alone stands for.
    """

    unit: ClassVar[str] = "s"
    _plain: ClassVar[type[Distribution]]
    _short: ClassVar[bool] = False  # as in `ShortSeconds`, for a time alone

    def __init__(self) -> None:
        super().__init__("Distribution | float | str")

    def in_words(self, value: Distribution) -> str:
        """The distribution that the field holds, for people, in the unit of the field.

        Examples
        --------
        >>> from jitterfly.noise import SpeedNoise
        >>> from jitterfly import Exponential
        >>> SpeedNoise.__dict__["factor"].in_words(Exponential(mean=2))
        'exponential, mean 2'
        """
        return value.name if self.unit else _without_unit(value)

    def __set_name__(self, owner: type, name: str) -> None:
        super().__set_name__(owner, name)
        self._owner = owner.__name__
        self.__doc__ = "A Distribution."

    def __set__(self, instance: object, value: Distribution | Time | Mapping[str, Any]) -> None:
        try:
            instance.__dict__[self._name] = read_distribution(value, self._name, self._plain)
        except ValueError as error:
            raise ValueError(f"{error} (in {self._owner})") from None
        if not self._short:
            return
        if isinstance(value, (Distribution, Mapping)):
            self.__get__(instance).warn_of_long()
        else:
            warn_of_long(value, f"{self._name} of {self._owner}")
