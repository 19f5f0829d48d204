"""Names of earlier versions (deprecations): errors that name the new one; reading of old stores.

Everything that was renamed stands in the tables at the top. An old name is an error in a program
and in a TOML file. Where data of an earlier version are read (a store, an earlier answer), old
names are taken for the new ones.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

SINCE = "0.2"

# By the place in a case, or in the question of `advise`: # is any entry of a list, * any name.
_PLACES = {
    "work": "compute_time",
    "work_s": "compute_time_s",
    "algorithm.after": "exchanges_after",
    "algorithm.within": "copy_levels",
    "noise.#.synchronized": "shared",
    "own.*.after": "exchanges_after",
    "own.*.within": "copy_levels",
}
# The kinds of distributions, which are fields of noise.
_KINDS = {"fixed": "constant"}
# The kinds of figures.
_FIGURES = {"thirty": "few_runs"}
#: A cell, in the keys of stored summaries.
STORED_CELL = "place"
# Arguments and attributes: those of cases above, and those of functions.
_FIELDS = {
    **{place.rpartition(".")[2]: new for place, new in _PLACES.items()},
    "first": "first_realization",
    "gram": "cross_moments",
}
# The other way round, for the hash of a case; of noise also by its kind.
_STORED_PLACES = {
    "compute_time": "work",
    "algorithm.exchanges_after": "after",
    "algorithm.copy_levels": "within",
    "noise.#.shared of periodic": "synchronized",
}
_STORED_KINDS = {new: old for old, new in _KINDS.items()}
# Of modules; with the module where others have, or had, another thing of that name.
_NAMES = {
    "Fixed": "Constant",
    "Budget": "RealizationBudget",
    "Place": "Cell",
    "PlacesFailed": "CellsFailed",
    "jitterfly.congestion.slowdown": "slowdown_percent",
    "jitterfly.stats.smallest_t": "fewest_exchanges",
    "jitterfly.stats.SmallestT": "FewestExchanges",
    "jitterfly.stats.Gram": "CrossMoments",
}
# Attributes of studies, stores and fits.
_ATTRIBUTES = {"places": "cells", "points": "values", "scale": "delay"}
# What left `jitterfly` itself, and where it is.
_MOVED = {
    "noise_phases": "jitterfly.simulate",
    "row_labels": "jitterfly.program",
    "show_seconds": "jitterfly.units",
}
_F = TypeVar("_F", bound=Callable[..., Any])
_C = TypeVar("_C", bound=type[Any])


def no_attribute(module: str, name: str) -> AttributeError:
    """The error of a module that lacks a name, which says what it is called now."""
    text = f"module {module!r} has no attribute {name!r}"
    new = _NAMES.get(f"{module}.{name}") or _NAMES.get(name)
    if new:
        text += f": renamed to {new!r} in {SINCE}"
    elif module == "jitterfly" and name in _MOVED:
        text += f": moved in {SINCE}, from {_MOVED[name]} import {name}"
    return AttributeError(text, name=name)


def dir_and_getattr(
    module: str, public: Sequence[str]
) -> tuple[Callable[[], list[str]], Callable[[str], Any]]:
    """`__dir__` and `__getattr__` of a module that shows its public names only."""

    def getattr_(name: str) -> Any:
        raise no_attribute(module, name)

    return lambda: sorted(public), getattr_


def renamed_key(key: Any, allowed: Collection[str]) -> str:
    """What a key of TOML is called now, as the end of an error; "" where it was not renamed."""
    new = _FIELDS.get(key) if isinstance(key, str) else None
    return f"`{key}` is called `{new}` since {SINCE}" if new in allowed else ""


def renamed_kind(kind: Any, allowed: Collection[str]) -> str:
    """As `renamed_key`, for a kind."""
    new = _KINDS.get(kind) if isinstance(kind, str) else None
    return f"kind `{kind}` is called `{new}` since {SINCE}" if new in allowed else ""


def figure_from_study(kind: str) -> str:
    """The kind of figure that a study names, perhaps by the name of an earlier version."""
    return _FIGURES.get(kind, kind)


def renamed_option(option: str, allowed: Collection[str]) -> str:
    """As `renamed_key`, for an option of the command line."""
    new = "--" + _FIELDS.get(option.removeprefix("--").replace("-", "_"), "").replace("_", "-")
    return f"; {option} is called {new} since {SINCE}" if new in allowed else ""


def check_arguments(name: str, given: Iterable[str], known: Collection[str]) -> None:
    """Raise TypeError for an argument that a function or class knows under another name."""
    for argument in given:
        new = _FIELDS.get(argument)
        if new in known and argument not in known:
            raise TypeError(f"{name}() has no argument {argument!r}: renamed to {new!r} in {SINCE}")


def names_old_arguments(function: _F) -> _F:
    """A decorator of functions that had an argument under another name."""
    code = function.__code__
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    @functools.wraps(function)
    def checked(*args: Any, **options: Any) -> Any:
        check_arguments(function.__name__, options, known)
        return function(*args, **options)

    return checked  # type: ignore[return-value]


def name_old_fields(cls: type[Any]) -> None:
    """Let a dataclass say what an old field is called, as an argument and as an attribute."""
    known = {field.name for field in dataclasses.fields(cls)}
    old = {name: new for name, new in _FIELDS.items() if new in known and name not in known}
    if not old:
        return
    make = cls.__init__

    @functools.wraps(make)
    def checked(self: Any, *args: Any, **options: Any) -> None:
        check_arguments(cls.__name__, options, known)
        make(self, *args, **options)

    cls.__init__ = checked
    _name_old(cls, old)


def names_old_attributes(cls: _C) -> _C:
    """A decorator of classes that had an attribute under another name."""
    known = {*vars(cls), *vars(cls).get("__annotations__", ())}
    old = {name: new for name, new in _ATTRIBUTES.items() if new in known}
    _name_old(cls, old)
    return cls


def _name_old(cls: type[Any], old: Mapping[str, str]) -> None:
    """Let the error of a class that lacks an attribute say what the old name is called now."""

    def missing(self: Any, name: str) -> Any:
        text = f"{cls.__name__!r} object has no attribute {name!r}"
        text += f": renamed to {old[name]!r} in {SINCE}" if name in old else ""
        raise AttributeError(text, name=name, obj=self)

    cls.__getattr__ = missing


def from_stored(table: Mapping[str, Any]) -> dict[str, Any]:
    """A case, or a question of `advise`, that may have been stored under old names."""
    renamed: dict[str, Any] = _renamed(table, (), _PLACES, _KINDS)
    return renamed


def to_stored(table: Mapping[str, Any]) -> dict[str, Any]:
    """A case under the names by which the first version stored it: those its hash is made of."""
    renamed: dict[str, Any] = _renamed(table, (), _STORED_PLACES, _STORED_KINDS)
    return renamed


def study_from_stored(table: Mapping[str, Any]) -> dict[str, Any]:
    """The table of a study that may have been stored under old names."""
    study = dict(table)
    if isinstance(study.get("case"), Mapping):
        study["case"] = from_stored(study["case"])
    if isinstance(study.get("variants"), Mapping):
        study["variants"] = _renamed_settings(study["variants"])
    if isinstance(study.get("axes"), Mapping):
        study["axes"] = {name: _renamed_axis(name, axis) for name, axis in study["axes"].items()}
    if isinstance(study.get("full"), Mapping):
        study["full"] = study_from_stored(study["full"])
    return study


def _renamed_axis(name: str, axis: Any) -> Any:
    if not isinstance(axis, Mapping):
        return axis
    renamed = dict(axis)
    path = renamed.get("path", name)
    if isinstance(path, str) and (new := _new_path(path)) != path:
        renamed["path"] = new
    if "values" in renamed:
        renamed["values"] = _renamed_values(renamed["values"], path)
    if isinstance(renamed.get("zip"), Mapping):
        zipped = renamed["zip"].items()
        renamed["zip"] = {_new_path(path): _renamed_values(each, path) for path, each in zipped}
    if "points" in renamed:
        renamed["points"] = _renamed_settings(renamed["points"])
    if "by" in renamed:
        by = renamed["by"]
        renamed["by"] = _new_path(by) if isinstance(by, str) else [*map(_new_path, by)]
    return renamed


def _renamed_settings(points: Any) -> Any:
    """Fields by path, of each point of an axis or of each variant."""
    if not isinstance(points, Mapping):
        return points
    return {name: _renamed(one, (), _PLACES, _KINDS) for name, one in points.items()}


def _renamed_values(values: Any, path: Any) -> Any:
    """The values of the field at `path`."""
    if not isinstance(values, list) or not isinstance(path, str):
        return values
    return [_renamed(value, tuple(path.split(".")), _PLACES, _KINDS) for value in values]


def _new_path(path: Any) -> Any:
    return next(iter(_renamed({path: None}, (), _PLACES, _KINDS))) if path else path


def _renamed(
    value: Any, path: tuple[str, ...], places: Mapping[str, str], kinds: Mapping[str, str]
) -> Any:
    """A copy of what is at `path`, with other names of its fields and kinds."""
    if isinstance(value, Mapping):
        renamed = {}
        for key, entry in value.items():
            parts = str(key).split(".")  # one, but for the settings of a variant
            here = (*path, *parts)
            pattern = _path_pattern(here)
            new = places.get(pattern) or places.get(f"{pattern} of {value.get('kind')}")
            name = key if new is None else ".".join([*parts[:-1], new])
            renamed[name] = _renamed(entry, here, places, kinds)
        return renamed
    if isinstance(value, (list, tuple)):
        return [_renamed(entry, (*path, "0"), places, kinds) for entry in value]
    if isinstance(value, str) and path[:1] == ("noise",) and path[-1] == "kind" and len(path) > 3:
        return kinds.get(value, value)
    return value


def _path_pattern(path: Sequence[str]) -> str:
    """The path with # for the number of an entry, and * for the name of a user's candidate."""
    parts = ["#" if part.isdigit() else part for part in path]
    return ".".join(["own", "*", *parts[2:]] if parts[0] == "own" else parts)
