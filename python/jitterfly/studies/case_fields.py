"""A case as nested tables (TOML), and paths into it such as `noise.0.duration`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

import numpy as np

from ..fields import Component, shorten


class Frozen(dict):  # type: ignore[type-arg]
    """A dict that nobody changes."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("a study can not be changed: make another one")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return Frozen, (dict(self),)


def freeze(value: Any, where: str, *, short: bool = False) -> Any:
    """A value of our own that nobody changes, made of what TOML knows.

    Components become tables, where `short` without fields that have their defaults, numpy's numbers
    and arrays Python's, lists tuples.

    Raises
    ------
    ValueError
        What TOML has no word for, such as None; the message begins with `where`.
    """
    if isinstance(value, (bool, int, float, str)):
        return value.item() if isinstance(value, np.generic) else value
    if isinstance(value, Component):
        value = value.short_dict() if short else value.to_dict()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
        return freeze(value, where, short=short)
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise ValueError(f"{where} must have names as keys, got {shorten(value)}")
        entries = value.items()
        return Frozen({key: freeze(one, f"{where}.{key}", short=short) for key, one in entries})
    if isinstance(value, (list, tuple, range)):
        return tuple(freeze(one, f"{where}.{i}", short=short) for i, one in enumerate(value))
    points = value is None and where.startswith("axes.")
    raise ValueError(
        f"{where} must be a number, text, true or false, a list or a table, got {shorten(value)}"
        + "; to leave a field as it is, give points= with an empty table" * points
    )


def thaw(value: Any) -> Any:
    """A copy that may be changed: dicts and lists."""
    if isinstance(value, Mapping):
        return {key: thaw(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [thaw(entry) for entry in value]
    return value


def put(table: dict[str, Any], path: str, value: Any) -> None:
    """Set the field at the dotted `path`; list entries go by their number.

    The last part of the path may be new in its table (a default is being replaced); whether such a
    field exists is for the case to say.

    Raises
    ------
    ValueError
        The path leads through a plain value, or to an entry that a list lacks.
    """
    parts = path.split(".")
    here: Any = table
    for depth, part in enumerate(parts):
        last = depth == len(parts) - 1
        if isinstance(here, list):
            if not (part.isdecimal() and part.isascii()) or int(part) >= len(here):
                where = ".".join(parts[:depth])
                raise ValueError(
                    f"path {shorten(path)}: {where} is a list of {len(here)}, "
                    f"no entry {shorten(part)}"
                )
            key: Any = int(part)
        elif isinstance(here, dict):
            key = part
            if not last:
                here.setdefault(key, {})
        else:
            where = ".".join(parts[:depth])
            raise ValueError(f"path {shorten(path)}: {where} is a plain value and has no fields")
        if last:
            here[key] = thaw(value)
        else:
            here = here[key]


def get_path(table: Any, path: str) -> Any:
    """The value at the dotted `path`; None where there is nothing."""
    for part in path.split("."):
        if isinstance(table, Mapping):
            table = table.get(part)
        elif isinstance(table, (list, tuple)) and part.isdecimal() and int(part) < len(table):
            table = table[int(part)]
        else:
            return None
    return table


def leaves(table: Any, path: str = "") -> Iterator[str]:
    """The paths of all plain values (and empty tables) in a table."""
    if isinstance(table, Mapping) and table:
        parts: Any = table.items()
    elif isinstance(table, (list, tuple)) and any(isinstance(entry, Mapping) for entry in table):
        parts = enumerate(table)
    else:
        yield path
        return
    for key, value in parts:
        yield from leaves(value, f"{path}.{key}" if path else str(key))


def without(table: Any, paths: set[str], path: str = "") -> Any:
    """A frozen copy without the fields at `paths`; what becomes empty goes, but no list entry."""
    if isinstance(table, Mapping):
        kept = {}
        for key, value in table.items():
            here = f"{path}.{key}" if path else str(key)
            if here not in paths:
                remaining = without(value, paths, here)
                if remaining != {} or value == {}:
                    kept[key] = remaining
        return Frozen(kept)
    if isinstance(table, (list, tuple)):
        return tuple(
            Frozen() if f"{path}.{i}" in paths else without(value, paths, f"{path}.{i}")
            for i, value in enumerate(table)
        )
    return table
