"""A fat tree as the graph of its nodes and edges, with lists of destinations, as a file has it."""

from __future__ import annotations

import math
from collections.abc import Callable

from .trees import FatTree

Edge = tuple[int, int, bool, list[int]]
"""Tail, head, whether it forwards to all hosts, else the hosts that it forwards to, ascending."""


def tree_graph(tree: FatTree) -> tuple[list[str], list[Edge]]:
    """The names of all nodes, hosts first, and the edges of each node in turn.

    Raises
    ------
    ValueError
        The routing is not by destination, as a list of destinations needs it.

    Examples
    --------
    >>> names, edges = tree_graph(FatTree((2, 2), (1, 2)))
    >>> names
    ['H0', 'H1', 'H2', 'H3', 'S1.0.0', 'S1.1.0', 'S2.0.0', 'S2.0.1']
    >>> edges[0], edges[4]
    ((0, 4, True, []), (4, 0, False, [0]))
    """
    if tree.routing != "d-mod-k":
        raise ValueError(
            f"routing must be 'd-mod-k' for lists of destinations, got {tree.routing!r}"
        )
    hosts, height = tree.hosts, len(tree.m)
    below = [math.prod(tree.m[:level]) for level in range(height + 1)]
    trees = [math.prod(tree.w[:level]) for level in range(height + 1)]
    first = [0]  # node of each level
    for level in range(height + 1):
        first.append(first[-1] + hosts // below[level] * trees[level])

    def node(level: int, block: int, copy: int) -> int:
        return first[level] + block * trees[level] + copy

    names, edges = [f"H{host}" for host in range(hosts)], []
    for level in range(height + 1):
        for block in range(hosts // below[level]):
            for copy in range(trees[level]):
                if level:
                    names.append(f"S{level}.{block}.{copy}")
                edges += _edges(tree, (level, block, copy), below, trees, node)
    return names, edges


def _edges(
    tree: FatTree,
    at: tuple[int, int, int],
    below: list[int],
    trees: list[int],
    node: Callable[[int, int, int], int],
) -> list[Edge]:
    level, block, copy = at
    cables = tree.p or ()
    edges: list[Edge] = []
    inside = range(block * below[level], (block + 1) * below[level])
    if level:  # down
        child = trees[level - 1]
        for number in range(tree.m[level - 1]):
            low = inside.start + number * below[level - 1]
            there = range(low, low + below[level - 1])
            for cable in range(cables[level - 1]):
                reach = [d for d in there if d // trees[level] % cables[level - 1] == cable]
                to = node(level - 1, there.start // below[level - 1], copy % child)
                edges.append((node(*at), to, False, reach))
    if level < len(tree.m):  # up
        others = [d for d in range(tree.hosts) if d not in inside]
        for number in range(tree.w[level]):
            here = [d for d in others if d // trees[level] % tree.w[level] == number]
            to = node(level + 1, block // tree.m[level], copy + number * trees[level])
            for cable in range(cables[level]):
                reach = [d for d in here if d // trees[level + 1] % cables[level] == cable]
                only = level == 0 and tree.w[0] * cables[0] == 1
                edges.append((node(*at), to, only, [] if only else reach))
    return edges
