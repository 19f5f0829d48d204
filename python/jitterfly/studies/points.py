"""Points: the values of an axis, and variants, as the fields of a case that they set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..fields import shorten
from .casetable import Frozen, freeze, put


@dataclass(frozen=True)
class Point:
    """One value of an axis, or a variant: its label and the fields it sets, by path.

    `value` is the number of a derived axis.
    """

    label: str
    settings: Mapping[str, Any]
    value: float | None = None

    def apply(self, table: dict[str, Any]) -> None:
        """Set its fields in the table of a case."""
        for path, value in self.settings.items():
            put(table, path, value)


def check_path(path: Any, where: str) -> str:
    """A dotted path."""
    if not isinstance(path, str) or not all(path.split(".")):
        raise ValueError(f"{where} must be a path such as 'noise.0.duration', got {shorten(path)}")
    return path


def read_settings(value: Any, where: str) -> Frozen:
    """Fields by path; paths are written as quoted keys, so that nothing is split by TOML."""
    if not isinstance(value, Mapping):
        raise ValueError(f'{where} must be a table of "path" = value, got {shorten(value)}')
    for path in value:
        check_path(path, where)
    return Frozen({path: freeze(entry, f"{where}.{path}") for path, entry in value.items()})


def listed(values: Any, where: str) -> list[Any]:
    """The entries of a list, an array, a range; not of text or of a table."""
    if isinstance(values, (str, bytes, Mapping)):
        raise ValueError(f"{where} must be a list, got {shorten(values)}")
    try:
        return list(values)
    except TypeError:  # nothing to go through
        raise ValueError(f"{where} must be a list, got {shorten(values)}") from None


def label_of(value: Any) -> str:
    """What a value is called: a table by its kind and fields."""
    if isinstance(value, Mapping):
        rest = " ".join(f"{key} {label_of(entry)}" for key, entry in value.items() if key != "kind")
        return " ".join(str(part) for part in (value.get("kind", ""), rest) if part)
    if isinstance(value, tuple):
        return f"[{' '.join(map(label_of, value))}]"
    return str(value)


def named_points(points: Any, where: str) -> list[Point]:
    if not isinstance(points, Mapping):
        raise ValueError(f"{where} must be a table of names, got {shorten(points)}")
    return [Point(str(k), read_settings(v, f"{where}.{k}")) for k, v in points.items()]


def zip_points(columns: Any, where: str) -> list[Point]:
    if not isinstance(columns, Mapping) or not columns:
        raise ValueError(f'{where} must be a table of "path" = list, got {shorten(columns)}')
    lists = {check_path(path, where): listed(v, f"{where}.{path}") for path, v in columns.items()}
    if len({len(column) for column in lists.values()}) != 1:
        told = ", ".join(f"{path}: {len(column)}" for path, column in lists.items())
        raise ValueError(f"{where} must hold lists of one length, got {told}")
    rows = [freeze(row, where) for row in zip(*lists.values(), strict=True)]
    return [
        Point(", ".join(map(label_of, row)), Frozen(zip(lists, row, strict=True))) for row in rows
    ]


def log2_values(bounds: Any, where: str) -> list[int]:
    bounds = listed(bounds, f"{where}.log2")
    whole = [b for b in bounds if isinstance(b, (int, np.integer)) and not isinstance(b, bool)]
    if len(bounds) != 2 or len(whole) != 2 or not 0 <= whole[0] <= whole[1] <= 30:
        raise ValueError(
            f"{where}.log2 must be [first, last] with 0 <= first <= last <= 30, "
            f"got {shorten(bounds)}"
        )
    return [1 << int(exponent) for exponent in range(whole[0], whole[1] + 1)]
