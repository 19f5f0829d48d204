"""Networks that noise goes over: of tables, and of files that their content identifies."""

from __future__ import annotations

from collections.abc import Mapping
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
        for key, file, sha256 in zip(("file", "tables"), named, expected, strict=True):
            if file is not None:
                table[key] = str(files.find(file, sha256)[0])
            elif sha256 is not None:
                raise ValueError(f"network: {key} is missing, whose sha256 is given")
        network: Topology = Topology.from_dict(table, "network")
        object.__setattr__(network, "named", tuple(named))  # where they lie is not what they are
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


def files_of_network(network: Topology) -> list[tuple[str, Path, str]]:
    """Of each file of a map its name, where it is, and its SHA-256."""
    paths = [getattr(network, name, None) for name in ("file", "tables")]
    named = getattr(network, "named", paths)
    return [
        (str(name), *files.find(str(path), None))
        for name, path in zip(named, paths, strict=True)
        if path is not None
    ]
