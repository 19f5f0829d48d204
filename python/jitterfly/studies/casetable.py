"""A case as a table of plain values (TOML), and paths into it such as `noise.0.duration`."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from ..fields import shorten


def set_path(table: Mapping[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy of `table` with the field at the dotted `path` set; list entries go by their number.

    The last part of the path may be new in its table (a default is being replaced); whether such a
    field exists is for the case to say.

    Raises:
        ValueError: the path leads through a plain value, or to an entry that a list lacks.
    """
    table = copy.deepcopy(dict(table))
    parts = path.split(".")
    here: Any = table
    for depth, part in enumerate(parts):
        last = depth == len(parts) - 1
        where = ".".join(parts[:depth]) or "case"
        if isinstance(here, list):
            if not part.isdigit() or int(part) >= len(here):
                count = len(here)
                raise ValueError(
                    f"path {shorten(path)}: {where} is a list of {count}, no entry {shorten(part)}"
                )
            key: Any = int(part)
        elif isinstance(here, dict):
            key = part
            if not last:
                here.setdefault(key, {})
        else:
            raise ValueError(f"path {shorten(path)}: {where} is a plain value and has no fields")
        if last:
            here[key] = copy.deepcopy(value)
        else:
            here = here[key]
    return table


def leaves(table: Any, path: str = "") -> Iterator[str]:
    """The paths of all plain values (and empty tables) in a table."""
    if isinstance(table, Mapping) and table:
        parts: Any = table.items()
    elif isinstance(table, list) and any(isinstance(entry, Mapping) for entry in table):
        parts = enumerate(table)
    else:
        yield path
        return
    for key, value in parts:
        yield from leaves(value, f"{path}.{key}" if path else str(key))
