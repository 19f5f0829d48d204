"""Networks that noise goes over: of tables, and of files that their content identifies."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..congestion import NetworkMap, Topology
from ..fields import shorten
from . import files


def read_network(value: Any) -> Topology:
    """A network as it is, or made of its table.

    Raises:
        ValueError: it is neither, its file can not be read or has changed, or has lost routes.
    """
    if isinstance(value, Mapping):
        table = dict(value)
        if table.get("kind") != NetworkMap.kind:
            return Topology.from_dict(table, "network")
        expected = [table.pop(key, None) for key in ("sha256", "tables_sha256")]
        named = [table.get("file"), table.get("tables")]
        content = []
        for key, file, sha256 in zip(("file", "tables"), named, expected, strict=True):
            if file is not None:
                path, found = files.find(file, sha256)
                table[key] = str(path)
                content.append(found)
            elif sha256 is not None:
                raise ValueError(f"network: {key} is missing, whose sha256 is given")
        if table.keys() - {"kind", "file", "tables"}:  # says which it does not know
            return Topology.from_dict(table, "network")
        network: Topology = _map(tuple(table.items()), tuple(named), tuple(content))
    elif isinstance(value, Topology):
        network = value
    else:
        raise ValueError(
            f"network must be a Topology such as FatTree(...), or its table, got {shorten(value)}"
        )
    if getattr(network, "dropped", 0):
        raise ValueError(
            f"network: {getattr(network, 'dropped', 0)} routes of this map lead into a loop; its "
            "messages would never arrive"
        )
    return network


@lru_cache(maxsize=8)  # every cell of a study has the same one
def _map(table: tuple[Any, ...], named: tuple[Any, ...], content: tuple[str, ...]) -> Topology:
    network = NetworkMap.from_dict(dict(table), "network")
    if network.sha256 != content:
        raise ValueError(f"network: {named[0]} changed while it was read; try again")
    object.__setattr__(network, "named", named)  # where they lie is not what they are
    return network


def files_of_network(network: Topology) -> list[tuple[str, Path, str]]:
    """Of each file of a map its name, where it is, and its SHA-256."""
    if not isinstance(network, NetworkMap):
        return []
    named = [name for name in getattr(network, "named", (network.file, network.tables)) if name]
    return list(zip(map(str, named), network.paths, network.sha256, strict=True))
