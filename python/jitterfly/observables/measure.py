"""Exact integer samples of a cell, and measures of them: sums, differences, ratios of columns."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..backends import core
from ..stats import CrossMoments
from ..unseen_noise import RecordedNoise

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
PICKS = ("only", "smallest numerator", "smallest denominator", "set")
SMALL = 1 << 18  # bytes of a piece that is put together with its neighbours
_FEW = 256  # samples in which columns differ unless they are alike, nearly always
_MAX_COMPARED = 64  # columns
PACKINGS, WIDEST = ("<u1", "<u2", "<u4"), "<u8"
"""Types of what samples are above the smallest one of their column."""


@dataclass(frozen=True)
class Column:
    """A raw column: one observation of one variant, as `observation_names` names it."""

    variant: str
    name: str


class Piece:
    """Raw samples of successive realizations, into which nothing writes.

    Parameters
    ----------
    values : int64 array, shape (realizations, columns)
        Ticks of 1 ps; or, with `base`, how much they are above it: of a type of `PACKINGS`.
    base : int64 array, shape (columns,), optional
    """

    def __init__(self, values: npt.NDArray[Any], base: Integers | None = None) -> None:
        self._held = values, base  # exchanged as one, by another thread
        self._prepared: Callable[[], CrossMoments] | None = None
        self._first: Sequence[int] | None = None

    def __len__(self) -> int:
        return len(self._held[0])

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of realizations and columns."""
        return self._held[0].shape

    @property
    def values(self) -> Integers:
        """The samples in ticks, shape (realizations, columns)."""
        values, base = self._held
        return values if base is None else values + base

    @property
    def nbytes(self) -> int:
        """Bytes that the samples take."""
        return self._held[0].nbytes

    def prepare(
        self, later: Callable[[Callable[[], CrossMoments]], Callable[[], CrossMoments]]
    ) -> None:
        """Let a thread prepare sums and contiguous columns, which will be asked for.

        `later` has a function called in a thread, and returns what waits for its result.
        """
        self._prepared = later(self._prepare)

    def _prepare(self) -> CrossMoments:
        """Sum up, and keep each column in one run: to gather one from rows touches all memory."""
        if self._held[1] is None:
            self._held = _narrow_columns(self._held[0])
        return self._sum_up(range(self.shape[1]))

    def by_columns(self) -> Piece:
        """Return the same samples with each column in one run."""
        values, base = self._held
        return Piece(*_narrow_columns(values)) if base is None else self

    def _sum_up(self, index: Sequence[int]) -> CrossMoments:
        """Sum up some columns, of those that are alike the first."""
        (values, base), first = self._held, self.first_alike()
        read = list(dict.fromkeys(first[i] for i in index))
        moments = CrossMoments.of(values, read, base)
        return moments if len(read) == len(index) else moments.take(
            [read.index(first[i]) for i in index]
        )  # fmt: skip

    def first_alike(self) -> Sequence[int]:
        """The first of the neighbours of each column that are known to have the same samples.

        Beyond some T, more redundancy changes no realization.
        """
        if self._first is None:
            self._first = _first_alike(*self._held)
        return self._first

    def put_linear_form(
        self, index: Sequence[int], coefficients: Sequence[int], constant: int, out: Integers
    ) -> None:
        """Put the sum of some columns, each times its coefficient, and a constant into `out`."""
        if self._prepared is not None:
            self._prepared()
        values, base = self._held
        if base is not None:
            constant += sum(c * int(base[i]) for i, c in zip(index, coefficients, strict=True))
            constant = (constant + 2**63) % 2**64 - 2**63  # as int64 wraps around
        core.linear_form(values, index, coefficients, constant, out)

    def cross_moments(self, index: Sequence[int]) -> CrossMoments:
        """Exact sums and products over some columns."""
        if self._prepared is not None:
            return self._prepared().take(index)
        return self._sum_up(index)

    def between(self, first: int, end: int) -> Piece:
        """Some of the realizations; itself where it is all of them."""
        values, base = self._held
        return self if end - first >= len(self) else Piece(values[first:end], base)


def _first_alike(values: npt.NDArray[Any], base: Integers | None) -> Sequence[int]:
    """Return for each column of samples the first one of those before it that are equal to it.

    Columns that can not be compared quickly are taken for different ones.
    """
    first = list(range(values.shape[1]))
    if base is None or not values.flags.f_contiguous or len(first) > _MAX_COMPARED:
        return first
    for i in first[1:]:
        one, other = values[:, i - 1], values[:, i]
        alike = base[i - 1] == base[i] and np.array_equal(one[:_FEW], other[:_FEW])
        if alike and np.array_equal(one, other):
            first[i] = first[i - 1]
    return first


def _narrow_columns(values: Integers) -> tuple[npt.NDArray[Any], Integers | None]:
    """Return columns less their smallest values, in as few bytes as hold all, and these values.

    Where that takes eight bytes, it is the samples as they are.
    """
    base, packing = narrow_packing(values)
    if packing == WIDEST:
        return values.T.copy().T, None
    packed = np.empty(values.shape, packing, order="F")
    core.pack_offsets(values, base, packed)
    return packed, base


def narrow_packing(values: Integers) -> tuple[Integers, str]:
    """Return the smallest value of each column, and the type that holds what all are above it."""
    base, high = core.column_ends(values)
    # Unsigned, a difference of two int64 is right whatever the signs.
    widest = int((high.view(np.uint64) - base.view(np.uint64)).max(initial=0))
    return base, next(t for t in (*PACKINGS, WIDEST) if widest < 1 << 8 * np.dtype(t).itemsize)


class Ticks:
    """Raw samples of all variants of one cell, of the same realizations. Nothing writes into them.

    Parameters
    ----------
    columns : tuple of Column
    parts : Piece, or int64 array of shape (realizations, columns)
        Ticks of 1 ps, one piece after the other. They stay where they are.
    """

    def __init__(self, columns: tuple[Column, ...], *parts: Piece | Integers) -> None:
        pieces = tuple(part if isinstance(part, Piece) else Piece(part) for part in parts)
        for values in (part for part in parts if not isinstance(part, Piece)):
            if values.dtype != np.int64:
                raise ValueError(f"values must be int64, got {values.dtype}")
        for shape in (piece.shape for piece in pieces):
            if len(shape) != 2 or shape[1] != len(columns):
                raise ValueError(
                    f"values must have shape (realizations, {len(columns)}), got {shape}"
                )
        self.columns = columns
        self.parts = pieces or (Piece(np.empty((0, len(columns)), np.int64)),)

    @classmethod
    def joined(cls, columns: tuple[Column, ...], parts: Iterable[Piece | Integers]) -> Ticks:
        """Join pieces that may be many: neighbours that are small are copied into one."""
        found: list[Piece | Integers] = []
        small: list[Integers] = []
        for part in parts:
            if part.nbytes < SMALL:
                small.append(part.values if isinstance(part, Piece) else part)
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
        arrays = [part.values for part in self.parts]
        return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)

    @cached_property
    def index(self) -> dict[Column, int]:
        """The place of each column."""
        return {column: i for i, column in enumerate(self.columns)}

    def linear_form(self, form: LinearForm) -> Integers:
        """The value of a form in every realization, shape (realizations,)."""
        index = [self.index[column] for _, column in form.terms]
        coefficients = [coefficient for coefficient, _ in form.terms]
        values = np.empty(len(self), np.int64)
        at = 0
        for part in self.parts:
            end = at + len(part)
            part.put_linear_form(index, coefficients, form.constant, values[at:end])
            at = end
        return values

    def cross_moments(self, wanted: Sequence[Column] | None = None) -> CrossMoments:
        """Exact sums and products over some columns; by default over all."""
        index = [self.index[column] for column in (self.columns if wanted is None else wanted)]
        return reduce(add, (part.cross_moments(index) for part in self.parts))

    def by_columns(self) -> Ticks:
        """Return the same samples for who reads each column several times."""
        return Ticks(self.columns, *(part.by_columns() for part in self.parts))

    def first_alike(self) -> dict[Column, Column]:
        """Each column, and the first of those that are known to have the same samples."""
        numbers = self.parts[0].first_alike() if len(self.parts) == 1 else range(len(self.columns))
        return {column: self.columns[i] for column, i in zip(self.columns, numbers, strict=True)}

    def first(self, count: int) -> Ticks:
        """The first `count` realizations; no copy of large parts."""
        starts = np.cumsum([0, *map(len, self.parts)]).tolist()
        parts = [
            part.between(0, max(count - at, 0))
            for at, part in zip(starts, self.parts, strict=False)
        ]
        return Ticks.joined(self.columns, parts)


def _in_one(parts: list[Integers]) -> list[Integers]:
    parts = [part for part in parts if len(part)]
    return [np.concatenate(parts)] if len(parts) > 1 else parts


@dataclass(frozen=True)
class LinearForm:
    """An integer linear form of columns, in ticks: the sum of coefficient * column + constant.

    Examples
    --------
    >>> slow, fast = (LinearForm.of(Column(name, "completion")) for name in ("slow", "fast"))
    >>> (slow - fast).terms[1]
    (-1, Column(variant='fast', name='completion'))
    """

    terms: tuple[tuple[int, Column], ...]
    constant: int = 0

    @classmethod
    def of(cls, column: Column) -> LinearForm:
        """One column."""
        return cls(((1, column),))

    @cached_property
    def _hash(self) -> int:
        return hash((self.terms, self.constant))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[LinearForm], tuple[Any, ...]]:
        return LinearForm, (self.terms, self.constant)  # texts have another hash elsewhere

    def __call__(self, ticks: Ticks) -> Integers:
        """The value in every realization, int64, shape (realizations,)."""
        return ticks.linear_form(self)

    def __sub__(self, other: LinearForm | int) -> LinearForm:
        if isinstance(other, int):
            return LinearForm(self.terms, self.constant - other)
        return LinearForm(
            self.terms + tuple((-c, column) for c, column in other.terms),
            self.constant - other.constant,
        )

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns it is made of, each once."""
        return tuple(dict.fromkeys(column for _, column in self.terms))

    def renamed(self, columns: Mapping[Column, Column]) -> LinearForm:
        """Return the form of other columns, one for each."""
        return LinearForm(tuple((c, columns[column]) for c, column in self.terms), self.constant)

    def vector(self, columns: Sequence[Column]) -> tuple[int, ...]:
        """Return the coefficients over `columns`, then the constant."""
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


class Span(NamedTuple):
    """A part of a run: from `begin` to `end`, as parts of its time without noise.

    That is after cycle `first` (0: the start), up to the end of cycle `last`.
    """

    begin: float
    end: float
    first: int
    last: int

    def joined(self, other: Span) -> Span:
        """Return the least part that holds both."""
        begin, end = min(self.begin, other.begin), max(self.end, other.end)
        return Span(begin, end, min(self.first, other.first), max(self.last, other.last))


@dataclass(frozen=True)
class Measure:
    """A quotient of two forms: ``numerator / denominator``.

    Attributes
    ----------
    name : str
    numerator : LinearForm
    denominator : LinearForm or int
        An int, from 1, scales: 10^12 gives seconds, noise-free ticks a slowdown. A form makes the
        mean a ratio of two means over the same realizations (gain, recovery).
    unit : "s" or ""
    distribution : bool
        Whether a single realization has a value. Without one there are no quantiles.
    lower_bound : float, optional
        What no realization can lie below, in `unit`: the interval of the mean ends there.
    noise_free : float, optional
        The value of a realization that no noise met, in `unit`.
    recorded : RecordedNoise, optional
        The recordings that the run replays whose last rank this is the time of.
    noise_free_time : float
        That time without noise, seconds.
    spans : mapping of str to Span
        By variant: the part of its run in which noise can move the measure; not named: all of it.
    parts : tuple of (LinearForm, int or None)
        Where it is of several times: each that noise can move, and its ticks in a realization
        that no noise met, where these tell that from all others.
    """

    name: str
    numerator: LinearForm
    denominator: LinearForm | int
    unit: str = ""
    distribution: bool = True
    lower_bound: float | None = None
    noise_free: float | None = None
    recorded: RecordedNoise | None = field(default=None, hash=False, repr=False)
    noise_free_time: float = 0.0
    spans: Mapping[str, Span] = field(default_factory=dict, hash=False)
    parts: tuple[tuple[LinearForm, int | None], ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.denominator, LinearForm) and self.denominator < 1:
            raise ValueError(f"denominator must be at least 1, got {self.denominator}")

    @cached_property
    def key(self) -> str:
        """The identity of the measure whatever its name: 16 hex digits."""
        below = self.denominator
        forms = [
            self.numerator.canonical(),
            below.canonical() if isinstance(below, LinearForm) else below,
            self.distribution,
        ]
        return hashlib.sha256(json.dumps(forms).encode()).hexdigest()[:16]

    @property
    def is_ratio(self) -> bool:
        """Return whether the denominator is measured too."""
        return isinstance(self.denominator, LinearForm)

    @property
    def is_paired(self) -> bool:
        """Return whether it is a difference or ratio of two that are measured."""
        signs = {coefficient > 0 for coefficient, _ in self.numerator.terms}
        return self.numerator != self.denominator and (self.is_ratio or len(signs) == 2)

    def difference(self, ticks: Ticks, ratio: float) -> Floats:
        """Return the difference of the two in every realization, in ticks: top - ratio * bottom."""
        top = self.numerator(ticks).astype(np.float64)
        if isinstance(self.denominator, LinearForm):
            top -= ratio * self.denominator(ticks)
        return top

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that it needs."""
        below = self.denominator.columns if isinstance(self.denominator, LinearForm) else ()
        return tuple(dict.fromkeys(self.numerator.columns + below))

    def __call__(self, ticks: Ticks) -> Floats:
        """The value in every realization; 1 where it is 0 / 0, two times that are both nothing."""
        return self.of_forms([form(ticks) for form in self.forms])

    def of_forms(self, forms: Sequence[Integers]) -> Floats:
        """The value in every realization, from that of each of its `forms`."""
        top = forms[0]
        if not isinstance(self.denominator, LinearForm):
            return top / self.denominator
        bottom = forms[1]
        with np.errstate(divide="ignore", invalid="ignore"):
            values = top / bottom
        values[(top == 0) & (bottom == 0)] = 1.0
        return values

    @property
    def forms(self) -> tuple[LinearForm, ...]:
        """The numerator, and a denominator that is measured: what samples are made of."""
        below = self.denominator
        return (self.numerator, below) if isinstance(below, LinearForm) else (self.numerator,)


@dataclass(frozen=True)
class MeasureFamily:
    """One observable in one cell: a measure, or one for each T.

    Attributes
    ----------
    name, unit : str
    members : tuple of Measure
    labels : tuple of int
        The T of each member.
    pick : one of PICKS
        Which member is meant: the only one; the one whose numerator (or denominator) has the
        smallest mean in the data; or "set", the best T itself.
    """

    name: str
    unit: str
    members: tuple[Measure, ...]
    labels: tuple[int, ...] = (0,)
    pick: str = "only"

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
