"""Raw samples of a place, and what is measured there: integer forms of columns, their quotients."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
import numpy.typing as npt

from ..stats import early
from ..stats.cross_moments import Gram

Integers = npt.NDArray[np.int64]

SMALL = 1 << 18  # bytes of a piece that is put together with its neighbours


@dataclass(frozen=True)
class Column:
    """A raw column: one observation of one variant, as `observation_names` names it."""

    variant: str
    name: str


class Ticks:
    """Raw samples of all cells of one place, of the same realizations. Nothing writes into them.

    Parameters
    ----------
    columns : tuple of Column
    parts : int64 arrays, shape (realizations, columns)
        Ticks of 1 ps, one piece after the other. They stay where they are: memory that is touched
        for the first time costs more than to gather a column from pieces.
    """

    def __init__(self, columns: tuple[Column, ...], *parts: Integers) -> None:
        for values in parts:
            if values.ndim != 2 or values.shape[1] != len(columns):
                raise ValueError(
                    f"values must have shape (realizations, {len(columns)}), got {values.shape}"
                )
            if values.dtype != np.int64:
                raise ValueError(f"values must be int64, got {values.dtype}")
        self.columns = columns
        self.parts = parts or (np.empty((0, len(columns)), np.int64),)

    @classmethod
    def joined(cls, columns: tuple[Column, ...], parts: Iterable[Integers]) -> Ticks:
        """Of pieces that may be many: neighbours that are small are copied into one."""
        found: list[Integers] = []
        small: list[Integers] = []
        for part in parts:
            if part.nbytes < SMALL:
                small.append(part)
            else:
                found += [*_in_one(small), part]
                small = []
        return cls(columns, *found, *_in_one(small))

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    @property
    def nbytes(self) -> int:
        """Bytes of the samples."""
        return sum(part.nbytes for part in self.parts)

    @property
    def values(self) -> Integers:
        """All in one array, shape (realizations, columns): a copy where there are several parts."""
        return self.parts[0] if len(self.parts) == 1 else np.concatenate(self.parts)

    @cached_property
    def index(self) -> dict[Column, int]:
        """Where each column is."""
        return {column: i for i, column in enumerate(self.columns)}

    def column(self, column: Column) -> Integers:
        """One column, shape (realizations,): a copy, to work in."""
        at = self.index[column]

        def of(part: Integers) -> Integers:
            known = early.begun(part)
            return part[:, at] if known is None else known.columns[at]

        return np.concatenate([of(part) for part in self.parts])

    def gram(self, wanted: Sequence[Column] | None = None) -> Gram:
        """Exact sums and products over some columns; by default over all."""
        index = [self.index[column] for column in (self.columns if wanted is None else wanted)]
        everything = len(index) == len(self.columns)  # whatever the order: no copy of all samples

        def of(part: Integers) -> Gram:
            known = early.begun(part)
            if known is not None:
                return known.gram.take(index)
            return Gram.of(part).take(index) if everything else Gram.of(part[:, index])

        return reduce(add, map(of, self.parts))

    def first(self, count: int) -> Ticks:
        """The first `count` realizations; no copy of large parts."""
        starts = np.cumsum([0, *map(len, self.parts)]).tolist()
        parts = [
            part if at + len(part) <= count else part[: max(count - at, 0)]
            for at, part in zip(starts, self.parts, strict=False)
        ]
        return Ticks.joined(self.columns, parts)


def _in_one(parts: list[Integers]) -> list[Integers]:
    parts = [part for part in parts if len(part)]
    return [np.concatenate(parts)] if len(parts) > 1 else parts


Floats = npt.NDArray[np.float64]

PICKS = ("only", "smallest numerator", "smallest denominator", "set")


@dataclass(frozen=True)
class Form:
    """An integer linear form of columns, in ticks: the sum of coefficient * column + constant.

    Examples
    --------
    >>> slow, fast = Form.of(Column("slow", "completion")), Form.of(Column("fast", "completion"))
    >>> (slow - fast).terms[1]
    (-1, Column(variant='fast', name='completion'))
    """

    terms: tuple[tuple[int, Column], ...]
    constant: int = 0

    @classmethod
    def of(cls, column: Column) -> Form:
        """One column."""
        return cls(((1, column),))

    def __call__(self, ticks: Ticks) -> Integers:
        """The value in every realization, int64, shape (realizations,)."""
        if not self.terms:
            return np.full(len(ticks), self.constant, dtype=np.int64)
        (coefficient, column), *others = self.terms
        total = ticks.column(column)
        if coefficient != 1:
            total *= coefficient
        for coefficient, column in others:
            part = ticks.column(column)
            if coefficient == 1:
                total += part
            elif coefficient == -1:
                total -= part
            else:
                total += coefficient * part
        if self.constant:
            total += self.constant
        return total

    def __sub__(self, other: Form | int) -> Form:
        if isinstance(other, int):
            return Form(self.terms, self.constant - other)
        return Form(
            self.terms + tuple((-c, column) for c, column in other.terms),
            self.constant - other.constant,
        )

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns it is made of, each once."""
        return tuple(dict.fromkeys(column for _, column in self.terms))

    def vector(self, columns: Sequence[Column]) -> tuple[int, ...]:
        """Its coefficients over `columns`, then the constant."""
        sums = dict.fromkeys(columns, 0)
        for coefficient, column in self.terms:
            sums[column] += coefficient
        return (*sums.values(), self.constant)

    def canonical(self) -> list[Any]:
        """Plain values that are the same for equal forms, however they are written."""
        coefficients = self.vector(self.columns)[:-1]
        terms = zip(coefficients, self.columns, strict=True)
        named = sorted((column.variant, column.name, c) for c, column in terms if c)
        return [*map(list, named), self.constant]


@dataclass(frozen=True)
class Measure:
    """A quotient of two forms: ``numerator / denominator``.

    Attributes
    ----------
    name : str
    numerator : Form
    denominator : Form or int
        An int, from 1, scales: 10^12 gives seconds, noise-free ticks a slowdown. A form makes the
        mean a ratio of two means over the same realizations (gain, recovery).
    unit : "s" or ""
    distribution : bool
        Whether a single realization has a value. Without one there are no quantiles.
    """

    name: str
    numerator: Form
    denominator: Form | int
    unit: str = ""
    distribution: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.denominator, Form) and self.denominator < 1:
            raise ValueError(f"denominator must be at least 1, got {self.denominator}")

    @cached_property
    def key(self) -> str:
        """What identifies it whatever its name: 16 hex digits."""
        below = self.denominator
        forms = [
            self.numerator.canonical(),
            below.canonical() if isinstance(below, Form) else below,
            self.distribution,
        ]
        return hashlib.sha256(json.dumps(forms).encode()).hexdigest()[:16]

    @property
    def is_ratio(self) -> bool:
        """Whether the denominator is measured too."""
        return isinstance(self.denominator, Form)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that it needs."""
        below = self.denominator.columns if isinstance(self.denominator, Form) else ()
        return tuple(dict.fromkeys(self.numerator.columns + below))

    def __call__(self, ticks: Ticks) -> Floats:
        """The value in every realization; 1 where it is 0 / 0, two times that are both nothing."""
        top = self.numerator(ticks).astype(np.float64)
        if not isinstance(self.denominator, Form):
            top /= self.denominator
            return top
        bottom = self.denominator(ticks)
        with np.errstate(divide="ignore", invalid="ignore"):
            values = top / bottom
        values[(top == 0) & (bottom == 0)] = 1.0
        return values


@dataclass(frozen=True)
class Family:
    """One observable at one place: a measure, or one for each T.

    Attributes
    ----------
    name, unit : str
    members : tuple of Measure
    labels : tuple of int
        The T of each member.
    pick : one of PICKS
        Which member is meant: the only one; the one whose numerator (or denominator) has the
        smallest mean in the data; or "set", the best T itself.
    floor : float, optional
        A value, in `unit`, that theory sets as a bound.
    """

    name: str
    unit: str
    members: tuple[Measure, ...]
    labels: tuple[int, ...] = (0,)
    pick: str = "only"
    floor: float | None = None

    def __post_init__(self) -> None:
        if self.pick not in PICKS:
            raise ValueError(f"pick must be one of {', '.join(PICKS)}, got {self.pick!r}")
        if not self.members or len(self.members) != len(self.labels):
            raise ValueError(f"{self.name}: as many labels as members, and at least one")
        if self.pick == "only" and len(self.members) != 1:
            raise ValueError(f"{self.name}: pick 'only' needs one member, got {len(self.members)}")

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns that its members need."""
        return tuple(dict.fromkeys(c for member in self.members for c in member.columns))
