"""Raw samples of a place, in as many pieces as they came in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add

import numpy as np
import numpy.typing as npt

from ..stats import early
from ..stats.gram import Gram

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
                found += [*_one(small), part]
                small = []
        return cls(columns, *found, *_one(small))

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


def _one(parts: list[Integers]) -> list[Integers]:
    parts = [part for part in parts if len(part)]
    return [np.concatenate(parts)] if len(parts) > 1 else parts
