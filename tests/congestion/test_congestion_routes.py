"""Routing on fat trees: closed form against a walk of the graph; properties of d-mod-k."""

from functools import cache
from math import prod

import numpy as np
import pytest
from bench.peer_library import GraphWalk
from reference import congestion as plain
from reference.fat_tree_graph import FatTreeGraph
from support.scale import at_most, full_scale, some

import jitterfly.congestion as jc
from jitterfly.congestion.topology import NAMED

NO_EDGE = 2**32 - 1
MESSAGES = at_most(100_000, 4000)
PARALLEL = {
    "parallel": ([4, 3, 4], [1, 3, 2], [1, 2, 2]),
    "two ports": ([3, 4], [2, 2], [2, 3]),
    "half": ([12, 12], [1, 6], [1, 1]),
}


def numbered(tree, m, w, p):
    """The number that `FatTree.routes` documents, of an edge of the reference."""
    below = [int(np.prod(m[:i])) for i in range(len(m))]
    trees = [int(np.prod(w[: i + 1])) for i in range(len(w))]
    sizes = [tree.hosts // b * t * c for b, t, c in zip(below, trees, p, strict=True)]
    first = np.cumsum([0, *(s for size in sizes for s in (size, size))])

    @cache  # many messages take the same edge
    def number(edge):
        level, block, _, copy, cable, way = edge
        begin = first[2 * level + (way == "down")]
        return int(begin + (block * trees[level] + copy) * p[level] + cable)

    return number


def messages(hosts, seed):
    """10^5 between different hosts, half of them with their destination as key."""
    random = np.random.default_rng(seed)
    s = random.integers(hosts, size=MESSAGES)
    d = (s + random.integers(1, hosts, size=MESSAGES)) % hosts
    keys = random.integers(2**20, size=MESSAGES)
    keys[: MESSAGES // 2] = d[: MESSAGES // 2]
    return s, d, keys


TREES = {str(n): (list(m), list(w), [1] * len(m)) for n, (m, w) in NAMED.items()} | PARALLEL


@pytest.mark.parametrize("name", TREES)
def test_closed_form_is_a_walk(name):
    """Of the reference's walk, node by node, 10^5 random messages with random keys."""
    m, w, p = TREES[name]
    tree, reference = jc.FatTree(m, w, p), plain.Tree(m, w, p)
    s, d, keys = messages(tree.hosts, 1)
    number = numbered(tree, m, w, p)
    expected = np.full((MESSAGES, 2 * len(m)), NO_EDGE)
    for row, *message in zip(expected, s.tolist(), d.tolist(), keys.tolist(), strict=True):
        edges = [number(edge) for edge in reference.route(*message)]
        row[: len(edges)] = edges
    found = tree.routes(s, d, keys)
    assert (np.sort(found) == np.sort(expected)).all()
    assert found[found != NO_EDGE].max() < tree.edges


@pytest.mark.parametrize("name", [full_scale(name) if name == "20736" else name for name in TREES])
def test_closed_form_is_a_walk_of_the_graph(name):
    """Built of nodes and edges from its definition; every edge of it has a number of its own."""
    m, w, p = TREES[name]
    tree, graph = jc.FatTree(m, w, p), FatTreeGraph(m, w, p)
    assert len(graph.nodes) == tree.hosts + tree.switches
    numbers = _numbers(tree, graph)
    assert sorted(numbers.tolist()) == list(range(tree.edges))
    s, d, keys = messages(tree.hosts, 4)
    walked = graph.walks(s, d, keys)
    assert (walked >= 0).any(axis=1).all()
    expected = np.where(walked >= 0, numbers[walked], NO_EDGE)
    assert (np.sort(tree.routes(s, d, keys)) == np.sort(expected)).all()


def _numbers(tree, graph):
    """As `FatTree.routes` documents them: up and down by turns, level by level from the hosts."""
    tails, heads, cables = np.array(graph.edges).T
    down = graph.levels[tails] > graph.levels[heads]
    low, high = np.where(down, heads, tails), np.where(down, tails, heads)
    numbers, begin = np.full(len(tails), -1), 0
    for level, several in enumerate(tree.p):
        here = graph.levels[low] == level
        digits, above = graph.digits[low[here]].T, graph.digits[high[here]].T
        block = sum(x * prod(tree.m[level:i]) for i, x in enumerate(digits) if i >= level)
        copy = sum(x * prod(tree.w[:i]) for i, x in enumerate(above) if i <= level)
        trees = prod(tree.w[: level + 1])
        size = tree.hosts // prod(tree.m[:level]) * trees * several
        numbers[here] = begin + size * down[here] + (block * trees + copy) * several + cables[here]
        begin += 2 * size
    return numbers


@pytest.mark.parametrize("name", some(["144", "1152", "parallel", "two ports", "half"], 3))
def test_closed_form_is_a_walk_along_tables(name):
    """Of the graph with lists of destinations, by the benchmark's peer."""
    m, w, p = TREES[name]
    tree, graph = jc.FatTree(m, w, p), FatTreeGraph(m, w, p)
    edges = graph.tables()
    assert len(edges) == tree.edges
    if name == "two ports":  # a host takes the first edge that has its destination
        assert not any(any_ for _, _, any_, _ in edges)
    walk = GraphWalk(len(graph.nodes), edges)
    random = np.random.default_rng(2)
    levels = [random.integers(tree.hosts, size=(2000, 2)) for _ in range(5)]
    levels = [level[level[:, 0] != level[:, 1]] for level in levels]
    for level, w in zip(levels, jc.route_messages(tree, levels), strict=True):
        routes = [walk.route(int(a), int(b)) for a, b in level]
        loads = np.bincount(np.concatenate(routes), minlength=len(edges))
        assert w.tolist() == [loads[route].max() for route in routes]


@pytest.mark.parametrize(("hosts", "step"), [(144, 1), (1152, 1), (1728, 1), (3456, 7),
                                             (20736, 997)])  # fmt: skip
def test_shifts_do_not_collide_under_d_mod_k(hosts, step):
    tree, everyone = jc.FatTree.of(hosts), np.arange(hosts)
    shifts = some(range(1, hosts, step), 6)
    for first in range(0, len(shifts), 50):
        levels = [
            np.stack([everyone, (everyone + shift) % hosts], axis=1)
            for shift in shifts[first : first + 50]
        ]
        assert all((w == 1).all() for w in jc.route_messages(tree, levels))


def test_shifts_collide_with_half_the_parents():
    tree, everyone = jc.FatTree((12, 12), (1, 6)), np.arange(144)
    (w,) = jc.route_messages(tree, [np.stack([everyone, (everyone + 12) % 144], axis=1)])
    assert (w == 2).all()


@pytest.mark.parametrize("hosts", [144, 1152, 3456, 20736])
def test_permutations_contend_on_up_links_only(hosts):
    tree, random = jc.FatTree.of(hosts), np.random.default_rng(3)
    to = random.permutation(hosts)
    routes = tree.routes(np.arange(hosts), to, to)
    loads = np.bincount(routes[routes != NO_EDGE], minlength=tree.edges)
    blocks = np.split(loads, 2 * len(tree.m))  # as many links at every level of these trees
    assert all((block <= 1).all() for block in blocks[1::2])
    assert max(block.max() for block in blocks[::2]) > 1
    used = to != np.arange(hosts)
    pairs = np.stack([np.arange(hosts), to], axis=1)[used]
    (w,) = jc.route_messages(tree, [pairs])  # counts only where it must
    expected = [loads[r[r != NO_EDGE]].max() for r in routes[used]]
    assert w.tolist() == expected


@pytest.mark.parametrize("routing", ["hash", "random"])
def test_drawn_keys_use_parents_evenly(routing):
    """Chi-square over the 144 top switches that 3455 messages take; false alarms: 1e-4."""
    from scipy.stats import chi2

    tree = jc.FatTree.of(3456, routing=routing)
    random = plain.Tree(tree.m, tree.w, None, routing, 0)
    keys = [random.key(0, d, 11, 5, 3, d) for d in range(1, 3456)]
    counts = np.bincount(np.array(keys) % 144, minlength=144)
    expected = len(keys) / 144
    assert ((counts - expected) ** 2 / expected).sum() < chi2.isf(1e-4, 143)
