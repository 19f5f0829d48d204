"""`NetworkMap`: any network (dragonfly, torus, ...) read from a DOT or InfiniBand file.

It is routed by forwarding tables, which say which link a node takes to each host; routes that lead
into a loop are dropped.
"""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import resources
from ..backends import core
from ..fields import shorten
from ..files import read_whole
from .map_files import ParsedNetwork, parse_links, read_text
from .topology import Topology


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


def _path(value: Any, name: str) -> str:
    if not isinstance(value, (str, Path)) or not str(value):
        raise ValueError(f"{name} must be the path of a file, got {value!r}")
    return str(value)


NO_EDGE = 2**32 - 1
_AT_ONCE = 2**20  # routes
Nodes = npt.NDArray[np.intp]


def forwarding(links: ParsedNetwork) -> tuple[npt.NDArray[np.uint32], list[tuple[int, int]]]:
    """The edge that each node takes to each host, and the routes between hosts that never end.

    Returns
    -------
    table : uint32 array, shape (nodes, hosts)
        `NO_EDGE` at the host itself and where the way leads into a loop.
    dropped : list of (source, destination)
        Routes that lead into a loop.

    Raises
    ------
    ValueError
        There are fewer than two hosts; or on the way from a host to another there is a node that
        has no edge to it.
    """
    count = len(links.hosts)
    if count < 2:
        raise ValueError(
            f"{links.file}, line {links.lines[0]}: at least two hosts are needed, there is one"
        )
    resources.check_memory(
        16 * links.nodes * count, f"{links.file}: forwarding tables", resources.available_memory()
    )
    table = np.full((links.nodes, count), NO_EDGE, np.uint32)
    for edge in reversed(range(len(links.tails))):
        reach = links.reach[edge]
        if reach is None:
            table[links.tails[edge]] = edge
        elif reach:
            table[links.tails[edge], np.fromiter(reach, np.intp, len(reach))] = edge
    table[np.arange(count), np.arange(count)] = NO_EDGE

    heads = np.append(np.asarray(links.heads, np.intp), -1)
    dropped: list[tuple[int, int]] = []
    block = max(1, _AT_ONCE // count)
    for first in range(0, count, block):
        dropped += _walk(links, table, heads, np.arange(first, min(first + block, count)))
    for destination in {b for _, b in dropped}:
        _cut_loops(table[:, destination], heads, destination)
    return table, dropped


def unused_edges(links: ParsedNetwork) -> list[int]:
    """The edges for all hosts of a node that has an earlier one: they are never used."""
    for_all: set[int] = set()
    found = []
    for edge, (tail, reach) in enumerate(zip(links.tails, links.reach, strict=True)):
        if reach is None and tail in for_all:
            found.append(edge)
        elif reach is None:
            for_all.add(tail)
    return found


def node_in_loop(links: ParsedNetwork, source: int, destination: int) -> int:
    """A node to which a route that never ends comes again and again."""
    node, seen = source, set[int]()
    while node not in seen:
        seen.add(node)
        node = next(
            head
            for tail, head, reach in zip(links.tails, links.heads, links.reach, strict=True)
            if tail == node and (reach is None or destination in reach)
        )
    return node


def _walk(
    links: ParsedNetwork, table: npt.NDArray[np.uint32], heads: Nodes, destinations: Nodes
) -> list[tuple[int, int]]:
    """Walk all routes to some hosts, a step at a time; return those that never end.

    What is on its way after as many steps as there are nodes goes in a circle.
    """
    at, to = (x.ravel() for x in np.meshgrid(np.arange(len(links.hosts)), destinations))
    start = at
    for _ in range(links.nodes + 1):
        on = at != to
        at, to, start = at[on], to[on], start[on]
        if not len(at):
            return []
        edge = table[at, to]
        stuck = np.flatnonzero(edge == NO_EDGE)
        if len(stuck):
            node, destination, source = (int(x[stuck[0]]) for x in (at, to, start))
            here, wanted, sender = (shorten(links.name(n)) for n in (node, destination, source))
            raise ValueError(
                f"{links.file}, line {links.lines[node]}: {here} has no edge to {wanted}, on the "
                f"way from {sender}"
            )
        at = heads[edge]
    return [(int(a), int(b)) for a, b in zip(start, to, strict=True)]


def _cut_loops(edges: npt.NDArray[np.uint32], heads: Nodes, to: int) -> None:
    """Take out, in place, the edges of all nodes from which the way does not end at `to`."""
    ends = np.zeros(len(edges), bool)
    ends[to] = True
    has = edges != NO_EDGE
    following = np.where(has, heads[np.where(has, edges, 0)], 0)
    while True:
        more = has & ends[following] & ~ends
        if not more.any():
            break
        ends |= more
    edges[~ends] = NO_EDGE
