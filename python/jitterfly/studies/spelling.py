"""Keys of a case's table that no case knows: what seems to be missing may be misspelled."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from ..algorithms import Algorithm
from ..case import Case
from ..fields import Component, check_keys
from ..network import Network
from ..noise import Noise


def check_spelling(table: Mapping[str, Any]) -> None:
    """Raise ValueError for an unknown key, whatever else the table lacks."""
    check_keys(table, [field.name for field in dataclasses.fields(Case)], "case")
    noise = table.get("noise")
    sources = enumerate(noise if isinstance(noise, (list, tuple)) else ())
    parts: list[tuple[type[Component], str, Any]] = [
        (Algorithm, "algorithm", table.get("algorithm")),
        (Network, "network", table.get("network")),
        *((Noise, f"noise[{i}]", source) for i, source in sources),
    ]
    for family, where, part in parts:
        kind = part.get("kind") if isinstance(part, Mapping) else None
        if isinstance(kind, str) and kind in family._kinds:
            names = [field.name for field in dataclasses.fields(family._kinds[kind])]
            check_keys(part, ["kind", *names], where)
