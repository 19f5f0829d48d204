"""The axes of a study: which fields of the base case take which values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..fields import shorten
from .casetable import leaves
from .schema import Table


@dataclass(frozen=True)
class Point:
    """One value of an axis: its label and the fields it sets, by path."""

    label: str
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class Axis:
    """A named, ordered list of points; the cells of a study are the product of its axes.

    In TOML, exactly one of:
        log2 = [2, 18]                          powers of two, first and last exponent
        values = [...]                          any values
        zip = {"noise.0.period" = [...], ...}   several fields that change together
        points.NAME = {"noise.0.period" = ...}  named settings
    `log2` and `values` set the field `path`, which is the axis's name where it is left out.
    """

    name: str
    points: tuple[Point, ...]


def read_settings(value: Any, where: str) -> dict[str, Any]:
    """Fields by path; paths are written as quoted keys, so that nothing is split by TOML."""
    if not isinstance(value, Mapping):
        raise ValueError(f'{where} must be a table of "path" = value, got {shorten(value)}')
    return dict(value)


def _zip_points(columns: Any, where: str) -> tuple[Point, ...]:
    columns = read_settings(columns, where)
    if not columns or not all(isinstance(column, list) for column in columns.values()):
        raise ValueError(f"{where} must hold at least one list of values")
    lengths = {path: len(column) for path, column in columns.items()}
    if len(set(lengths.values())) != 1:
        told = ", ".join(f"{path}: {length}" for path, length in lengths.items())
        raise ValueError(f"{where} must hold lists of one length, got {told}")
    rows = zip(*columns.values(), strict=True)
    return tuple(
        Point(", ".join(str(v) for v in row), dict(zip(columns, row, strict=True))) for row in rows
    )


def _log2_values(bounds: list[Any], where: str) -> list[int]:
    whole = [b for b in bounds if isinstance(b, int) and not isinstance(b, bool)]
    if len(bounds) != 2 or len(whole) != 2 or not 0 <= whole[0] <= whole[1] <= 30:
        raise ValueError(f"{where}.log2 must be [first, last] with 0 <= first <= last <= 30")
    return [1 << exponent for exponent in range(whole[0], whole[1] + 1)]


def read_axis(name: str, data: Any) -> Axis:
    """The axis `name` of a study's TOML."""
    where = f"axes.{name}"
    table = Table(data, where)
    kinds = [kind for kind in ("log2", "values", "zip", "points") if kind in table.data]
    if len(kinds) > 1:
        raise ValueError(f"{where} must have one of log2, values, zip, points; got {kinds}")
    log2 = table.take("log2", list, None)
    values = table.take("values", list, None)
    columns = table.take("zip", dict, None)
    named = table.take("points", dict, None)
    path = table.take("path", str, name) if log2 is not None or values is not None else name
    if not kinds:
        table.asked.add("path")
    table.finish()
    if not kinds:
        raise ValueError(f"{where} must have one of log2, values, zip, points; got none")
    if columns is not None:
        points = _zip_points(columns, f"{where}.zip")
    elif named is not None:
        points = tuple(
            Point(label, read_settings(settings, f"{where}.points.{label}"))
            for label, settings in named.items()
        )
    else:
        values = _log2_values(log2, where) if log2 is not None else values
        points = tuple(Point(str(value), {path: value}) for value in values)
    if not points:
        raise ValueError(f"{where} is empty: give it at least one value")
    labels = [point.label for point in points]
    twice = {label for label in labels if labels.count(label) > 1}
    if twice:
        raise ValueError(f"{where} has the value {shorten(sorted(twice)[0])} twice")
    return Axis(name, points)


def check_paths(groups: Mapping[str, tuple[Point, ...]]) -> None:
    """Raise if a field is set by two groups of points (axes, variants): one would be lost."""
    owner: dict[str, str] = {}
    for name, points in groups.items():
        for path in {path for point in points for path in point.settings}:
            for other, whose in owner.items():
                nested = path.startswith(f"{other}.") or other.startswith(f"{path}.")
                if (path == other or nested) and whose != name:
                    raise ValueError(f"{name} and {whose} both set the field {path!r}")
            owner[path] = name


def check_base(base: Mapping[str, Any], groups: Mapping[str, tuple[Point, ...]]) -> None:
    """Raise if every point of a group sets a field of the base case: its value would be unused."""
    for leaf in leaves(base):
        parts = leaf.split(".")
        above = {".".join(parts[:depth]) for depth in range(1, len(parts) + 1)}
        for name, points in groups.items():
            if points and all(above & point.settings.keys() for point in points):
                raise ValueError(f"case: {leaf!r} is set by all of {name}, so leave it out")
