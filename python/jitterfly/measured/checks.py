"""What the data classes of measurements share: equality, and checks of their fields."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from ..fields import check_integer, check_numbers, shorten

MOST_TICKS = 2**62
"""Times of measurements stay below this, as all times (about 53 days)."""

Ticks = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Compared:
    """Equal where all fields are, arrays element by element."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(
            _same(getattr(self, part.name), getattr(other, part.name))
            for part in dataclasses.fields(self)  # type: ignore[arg-type]
        )

    __hash__ = None  # type: ignore[assignment]


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.shape == other.shape and bool(np.array_equal(one, other))
    return type(one) is type(other) and bool(one == other)


def set_ticks(owner: Any, name: str) -> Ticks:
    """Make a field a frozen array of int64, from 0 to below 2^62."""
    rule = f"{name} must be a list of integers from 0 to below 2^62"
    array = check_numbers(getattr(owner, name), rule)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(f"{rule}, got {shorten(getattr(owner, name))}")
    check_each((array >= 0) & (array < MOST_TICKS), rule, array)
    return freeze(owner, name, array.astype(np.int64))


def set_seconds(owner: Any, name: str, dimensions: int) -> Floats:
    """Make a field a frozen array of finite float64 from 0."""
    rule = f"{name} must be times in seconds, finite and from 0, of {dimensions} dimension(s)"
    array = check_numbers(getattr(owner, name), rule).astype(np.float64)
    if array.ndim != dimensions or not (np.isfinite(array) & (array >= 0)).all():
        raise ValueError(f"{rule}, got {shorten(getattr(owner, name))}")
    return freeze(owner, name, array)


def freeze(owner: Any, name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Set a field of a frozen dataclass to an array that nobody changes."""
    array.setflags(write=False)
    object.__setattr__(owner, name, array)
    return array


def set_integer(owner: Any, name: str, low: int, *, optional: bool = False) -> None:
    """Make a field an int, from `low` to 2^62; or None where that is allowed."""
    value = getattr(owner, name)
    if value is not None or not optional:
        object.__setattr__(owner, name, check_integer(value, name, low, MOST_TICKS))


def check_each(good: npt.NDArray[np.bool_], rule: str, values: npt.NDArray[Any]) -> None:
    """Raise ValueError with the first of `values` that is not good."""
    if not good.all():
        at = int(np.argmin(good)) + len(values) - len(good)
        raise ValueError(f"{rule}, got {values[at]} at index {at}")
