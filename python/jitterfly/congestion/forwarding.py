"""Forwarding tables of any network: which link a node takes to each host; routing loops."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from .. import memory
from ..fields import shorten

NO_EDGE = 2**32 - 1
_AT_ONCE = 2**20  # routes
Nodes = npt.NDArray[np.intp]


@dataclass
class ParsedNetwork:
    """A network as a parser found it. Nodes are the hosts and then the switches.

    `reach` of an edge: numbers of the hosts to which it forwards, None for all. A node takes the
    first of its edges, in this order, that reaches the destination. `lines`: of each node, where
    the file first names it.
    """

    file: str
    hosts: list[str]
    switches: list[str]
    lines: list[int]
    tails: list[int] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    reach: list[Collection[int] | None] = field(default_factory=list)

    @property
    def nodes(self) -> int:
        return len(self.hosts) + len(self.switches)

    def name(self, node: int) -> str:
        count = len(self.hosts)
        return self.hosts[node] if node < count else self.switches[node - count]


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
    memory.check_memory(
        16 * links.nodes * count, f"{links.file}: forwarding tables", memory.available_bytes()
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
