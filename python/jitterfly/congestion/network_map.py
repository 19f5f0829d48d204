"""`NetworkMap`: any network (dragonfly, torus, ...) read from a DOT or InfiniBand file.

It is routed by the tables that `forwarding` makes.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import warnings
import zlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..backends import core
from ..fields import shorten
from ..files import read_whole
from . import dot, infiniband
from .forwarding import NO_EDGE, ParsedNetwork, forwarding, node_in_loop, unused_edges
from .topology import Topology

_MOST_BYTES = 2**28


class _Read(Topology):
    """The attributes that a map reads from its files: no fields, since the files define them."""

    paths: tuple[Path, ...]
    sha256: tuple[str, ...]
    _links: ParsedNetwork
    _table: npt.NDArray[np.uint32]
    _dropped: int


@dataclass(frozen=True)
class NetworkMap(_Read, kind="map"):
    """A network read from a file, with the routes of its forwarding tables.

    Parameters
    ----------
    file : str or path
        A digraph as ORCS reads it (each edge's ``comment`` lists the hosts that it forwards to),
        or the output of ``ibnetdiscover``; also gzipped.
    tables : str or path, optional
        With ``ibnetdiscover``: forwarding tables as ``ibroute``, ``dump_lfts.sh``, ``dump_fts`` or
        OpenSM print them, for every switch.

    Raises
    ------
    ValueError
        A malformed file, with its line; a host that can not be reached.
    OSError
        A file that can not be read.

    Warns
    -----
    RuntimeWarning
        Routes that lead into a loop, with its line: they are dropped, their messages have w = 0.
        Edges for all hosts behind another of the same node, which takes the first.
    """

    file: str | Path
    tables: str | Path | None = None

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        put("file", _path(self.file, "file"))
        if self.tables is not None:
            put("tables", _path(self.tables, "tables"))
        paths = [Path(path) for path in (self.file, self.tables) if path is not None]
        network, *tables = [(read_text(path), str(path)) for path in paths]
        links = parse_links(*network, *tables)
        table, dropped = forwarding(links)
        put("paths", tuple(path.absolute() for path in paths))
        put("sha256", tuple(hashlib.sha256(read_whole(path)).hexdigest() for path in paths))
        put("_links", links)
        put("_table", table)
        put("_dropped", len(dropped))
        if dropped:
            loop = node_in_loop(links, *dropped[0])
            source, destination = (shorten(links.hosts[number]) for number in dropped[0])
            warnings.warn(
                f"{self.file}, line {links.lines[loop]}: {len(dropped)} of "
                f"{self.hosts * (self.hosts - 1)} routes lead into a loop and are dropped, such as "
                f"{source} -> {destination} at {shorten(links.name(loop))}",
                RuntimeWarning,
                stacklevel=3,
            )
        if unused := unused_edges(links):
            ends = (links.tails[unused[0]], links.heads[unused[0]])
            tail, head = (shorten(links.name(end)) for end in ends)
            warnings.warn(
                f"{self.file}: the edge {tail} -> {head} is for all hosts, as one before it is, "
                f"and so it is never used ({len(unused)} such edges); name the hosts of each",
                RuntimeWarning,
                stacklevel=3,
            )

    @classmethod
    def read(cls, path: str | Path, tables: str | Path | None = None) -> NetworkMap:
        """The network in a file."""
        return cls(path, tables)

    @property
    def host_names(self) -> tuple[str, ...]:
        """The names of the hosts in their order: of a digraph alphabetical, else as in the file."""
        return tuple(self._links.hosts)

    @property
    def switch_names(self) -> tuple[str, ...]:
        return tuple(self._links.switches)

    @property
    def hosts(self) -> int:
        return len(self._links.hosts)

    @property
    def switches(self) -> int:
        return len(self._links.switches)

    @property
    def edges(self) -> int:
        """The number of directed links."""
        return len(self._links.heads)

    @property
    def dropped(self) -> int:
        """The number of routes, of all from a host to another, that lead into a loop."""
        return self._dropped

    @property
    def routing_name(self) -> str:
        return "tables"

    def edge_name(self, edge: int) -> str:
        """The name of an edge for people: what it joins."""
        links = self._links
        return f"{links.name(links.tails[edge])} -> {links.name(links.heads[edge])}"

    def route(self, source: int, destination: int) -> list[int]:
        """The edges from host to host; none if the route was dropped."""
        node, edges = source, []
        while node != destination and self._table[node, destination] != NO_EDGE:
            edges.append(int(self._table[node, destination]))
            node = int(self._links.heads[edges[-1]])
        return edges

    def give(self, program: core.CongestionProgram, whole: bool = False) -> None:
        heads = np.asarray(self._links.heads, np.uint32)
        program.set_table(self.hosts + self.switches, self._table, heads)

    def to_dict(self) -> dict[str, Any]:
        values = {"kind": self.kind, "file": self.file, "tables": self.tables}
        return {key: value for key, value in values.items() if value is not None}


def parse_links(text: str, name: str, tables: tuple[str, str] | None = None) -> ParsedNetwork:
    """The network in a text, and its tables' text and name; `name` is for messages.

    Raises
    ------
    ValueError
        It is neither a digraph nor the output of ibnetdiscover, or malformed; with its line.
    """
    if dot.looks_like(text):
        if tables is not None:
            raise ValueError(f"tables must be left out: the digraph {name} has its own")
        return dot.parse(text, name)
    if infiniband.looks_like(text):
        if tables is None:
            raise ValueError(
                f"{name} is the output of ibnetdiscover, which has no routes: give tables, "
                "such as those of dump_lfts.sh"
            )
        return infiniband.parse(text, name, *tables)
    raise ValueError(f"{name} is neither a Graphviz digraph nor the output of ibnetdiscover")


def read_text(file: Path) -> str:
    """The text of a file of at most 256 MiB, unpacked."""
    data = read_whole(file, _MOST_BYTES)
    if data[:2] == b"\x1f\x8b":
        try:
            with gzip.open(io.BytesIO(data)) as packed:
                data = packed.read(_MOST_BYTES + 1)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{file}: damaged gzip file: {error}") from None
    if len(data) > _MOST_BYTES:
        raise ValueError(f"{file}: larger than 256 MiB, unpacked")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{file}, line {line}: not text (byte {error.start})") from None


def _path(value: Any, name: str) -> str:
    if not isinstance(value, (str, Path)) or not str(value):
        raise ValueError(f"{name} must be the path of a file, got {value!r}")
    return str(value)
