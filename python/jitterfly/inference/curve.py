"""A measured scaling curve: ranks and latency."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

import numpy as np
import numpy.typing as npt

from .. import given
from ..fields import Dataclass, check_numbers, frozen_dataclass, shorten
from ..given import FloatArray, Given, IntegerArray
from ..units import LONGEST_SECONDS
from .model import MOST_ROUNDS

Floats = npt.NDArray[np.float64]
_MOST_RANKS = 2**MOST_ROUNDS


@frozen_dataclass(eq=False)
class Curve(Dataclass):
    """Latency of a collective against ranks, one number of ranks after the other.

    Parameters
    ----------
    ranks : int array, shape (points,)
        From 2 to 2^20. Rounds are log2(ranks); between powers of two a model is interpolated.
    latency : float array, shape (points,)
        Seconds, above 0.
    error : float array, optional
        Standard error of each latency, seconds, above 0.
    low, high : float array, optional
        Smallest and largest that were measured, seconds: drawn, not fitted.
    name : str
        What it is the curve of.
    notes : tuple of str
        What to know before the numbers are believed.

    Raises
    ------
    ValueError
        Names the field and the point that is out of range.

    Examples
    --------
    >>> Curve([2, 4, 8], [3.45e-6, 6.9e-6, 10.35e-6]).rounds
    array([1., 2., 3.])
    """

    ranks: IntegerArray
    latency: FloatArray
    error: Given[given.Floats | None, Floats | None] = Given("array of float | None", None)
    low: Given[given.Floats | None, Floats | None] = Given("array of float | None", None)
    high: Given[given.Floats | None, Floats | None] = Given("array of float | None", None)
    name: str = ""
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        raw = check_numbers(self.ranks, f"ranks must be integers from 2 to {_MOST_RANKS}")
        ranks = np.asarray(raw, dtype=np.int64)
        if ranks.ndim != 1 or len(ranks) == 0 or (ranks != raw).any():
            raise ValueError(f"ranks must be a list of integers, got {shorten(self.ranks)}")
        if ranks.min() < 2 or ranks.max() > _MOST_RANKS:
            wrong = int(ranks[(ranks < 2) | (ranks > _MOST_RANKS)][0])
            raise ValueError(f"ranks must be from 2 to 2^{MOST_ROUNDS} = {_MOST_RANKS}, "
                             f"got {wrong}")  # fmt: skip
        order = np.argsort(ranks, kind="stable")
        object.__setattr__(self, "ranks", ranks[order])
        if (np.diff(self.ranks) == 0).any():
            twice = int(self.ranks[1:][np.diff(self.ranks) == 0][0])
            raise ValueError(f"ranks must differ from point to point, got {twice} twice")
        for name in ("latency", "error", "low", "high"):
            values = getattr(self, name)
            if values is not None:
                kept = _check_times(values, name, len(ranks), zero=name in ("low", "high"))
                object.__setattr__(self, name, kept[order])
        object.__setattr__(self, "notes", tuple(self.notes))

    @property
    def rounds(self) -> Floats:
        """``log2(ranks)``, a whole number for powers of two."""
        return np.log2(self.ranks)

    def __len__(self) -> int:
        return len(self.ranks)


def _check_times(values: npt.ArrayLike, name: str, count: int, *, zero: bool) -> Floats:
    rule = f"{name} must be {count} times {'from' if zero else 'above'} 0, one for each of ranks"
    times = np.asarray(check_numbers(values, rule), dtype=np.float64)
    if times.shape != (count,):
        raise ValueError(f"{rule}, got {shorten(values)}")
    bad = ~((times >= 0 if zero else times > 0) & (times <= LONGEST_SECONDS))
    if bad.any():
        raise ValueError(f"{rule}, got {times[bad][0]}")
    return times


def joined(curves: Sequence[Curve]) -> Curve:
    """One curve from several that are parts of it, such as one file for each number of ranks.

    What some of them lack (errors, extremes) the whole lacks.

    Raises
    ------
    ValueError
        Two have the same number of ranks.
    """
    if len(curves) == 1:
        return curves[0]

    def all_of(name: str) -> Floats | None:
        parts = [getattr(curve, name) for curve in curves]
        return None if any(part is None for part in parts) else np.concatenate(parts)

    return Curve(
        np.concatenate([curve.ranks for curve in curves]),
        np.concatenate([curve.latency for curve in curves]),
        *(all_of(name) for name in ("error", "low", "high")),
        name=_common(curve.name for curve in curves),
        notes=tuple(dict.fromkeys(note for curve in curves for note in curve.notes)),
    )


def _common(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(name for name in names if name))
