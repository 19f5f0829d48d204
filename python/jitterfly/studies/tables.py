"""Strict reading of TOML tables: a key that nobody asks for is an error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..fields import check_keys, shorten

STUDY = "the study"
"""Where the top of the file is."""
_REQUIRED = object()
_NAMES = {str: "a string", int: "an integer", dict: "a table", list: "a list"}


class Table:
    """One TOML table under its name in the file (`where`), for errors that name the field."""

    def __init__(self, data: Mapping[str, Any], where: str):
        if not isinstance(data, Mapping):
            raise ValueError(f"{where} must be a table, got {shorten(data)}")
        self.data = dict(data)
        self.where = where
        self.asked: set[str] = set()

    def take(self, key: str, kind: type, default: Any = _REQUIRED) -> Any:
        """The value of `key`, which must be of type `kind` (a bool is no integer here)."""
        self.asked.add(key)
        if key not in self.data:
            if default is _REQUIRED:
                raise ValueError(f"{self.where} lacks the key {key!r}")
            return default
        value = self.data[key]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            name = key if self.where == STUDY else f"{self.where}.{key}"
            raise ValueError(f"{name} must be {_NAMES[kind]}, got {shorten(value)}")
        return value

    def finish(self) -> None:
        """Raise if the table holds a key that was never asked for."""
        check_keys(self.data, sorted(self.asked), self.where)


def merge(base: Mapping[str, Any], over: Mapping[str, Any], where: str) -> dict[str, Any]:
    """`base` with the values of `over` in place of its own, table by table.

    A key that `base` lacks is an error: an override that overrides nothing is a misspelling.
    """
    check_keys(over, list(base), where)
    merged = dict(base)
    for key, value in over.items():
        both = isinstance(value, Mapping) and isinstance(base[key], Mapping)
        merged[key] = merge(base[key], value, f"{where}.{key}") if both else value
    return merged
