"""A case as a table of plain values (TOML), and paths into it such as `noise.0.duration`."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from ..case import Case


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
                raise ValueError(f"path {path!r}: {where} is a list of {count}, no entry {part!r}")
            key: Any = int(part)
        elif isinstance(here, dict):
            key = part
            if not last:
                here.setdefault(key, {})
        else:
            raise ValueError(f"path {path!r}: {where} is a plain value and has no fields")
        if last:
            here[key] = copy.deepcopy(value)
        else:
            here = here[key]
    return table


def rank_rounds(case: Case) -> int:
    """Rounds of one realization times ranks: the unit in which budgets are stated."""
    rounds = case.ranks.bit_length() - 1
    return case.ranks * case.cycles * max(rounds + case.algorithm.forwards(rounds), 1)
