"""Reference of network congestion: placement, traffic, routing, message by message.

Trees are walked node by node; networks from files edge by edge, as ORCS does it.
"""

import math
from collections import Counter, defaultdict
from fractions import Fraction

from .philox import MASK32, pair64

PLACEMENT, TRAFFIC, CYCLES, ROUTE, DESTINATION = range(0x1000, 0x1005)


def _wide(purpose, level):
    """The purpose, whose upper half has what of a level's number goes beyond 32 bits; the rest."""
    return purpose | level >> 32 << 16, level & MASK32


def order(seed, purpose, stream, realization, n):
    """The numbers below n by their keys."""
    return sorted(range(n), key=lambda i: (pair64(seed, purpose, stream, realization, i), i))


def _weights(n):
    """Share of derangements among the permutations of m things, m < n, times 2^40."""
    counts = [1, 0]
    while len(counts) < n:
        m = len(counts)
        counts.append((m - 1) * (counts[-1] + counts[-2]))
    return [round(Fraction(count, math.factorial(m)) * 2**40) for m, count in enumerate(counts[:n])]


def derangement(seed, level, realization, n):
    """Pairs of a permutation without fixed points: a random order, cut into cycles."""
    things = order(seed, *_wide(TRAFFIC, level), realization, n)
    pairs, begin, draw = [], 0, 0
    while begin < n:
        left = n - begin
        weights = _weights(left - 1)
        x = pair64(seed, *_wide(CYCLES, level), realization, draw) * sum(weights) >> 64
        others = 0
        while x >= weights[others]:
            x -= weights[others]
            others += 1
        cycle = things[begin : begin + left - others]
        pairs += zip(cycle, cycle[1:] + cycle[:1], strict=True)
        begin, draw = begin + len(cycle), draw + 1
    return pairs


def traffic(kind, seed, level, realization, n):
    """Pairs of the perturbing pattern among n ranks."""
    if kind == "none" or n < 2:
        return []
    if kind == "rand":
        return derangement(seed, level, realization, n)
    things = order(seed, *_wide(TRAFFIC, 0 if kind == "bisect_fb" else level), realization, n)
    pairs = list(zip(things[::2], things[1::2], strict=False))
    return pairs if kind == "bisect" else [p for a, b in pairs for p in ((a, b), (b, a))]


def pattern(name, z):
    """Levels of pairs, written from the definitions of ORCS."""
    levels, logs = [], (z - 1).bit_length()
    if name == "tree":
        levels = [[(i, i + 2**k) for i in range(2**k) if i + 2**k < z] for k in range(logs)]
    if name == "reduce":
        levels = [[(dst, src) for src, dst in level] for level in reversed(pattern("tree", z))]
    if name == "bruck":
        levels = [[(i, (i + 2**k) % z) for i in range(z)] for k in range(logs)]
    if name == "recdbl":
        q = 2 ** (z.bit_length() - 1)
        low = [[i for i in range(q) if not i >> k & 1] for k in range(q.bit_length() - 1)]
        both = [[((i, i + 2**k), (i + 2**k, i)) for i in some] for k, some in enumerate(low)]
        levels = [[pair for pairs in level for pair in pairs] for level in both]
        levels += [[(i, i + q) for i in range(z - q)]] if z > q else []
    if name == "ring":
        levels = [[(i, (i + 1) % z)] for i in range(z)]
    if name == "gather":
        levels = [[(i, 0) for i in range(1, z)]]
    if name == "scatter":
        levels = [[(0, i) for i in range(1, z)]]
    if name == "none":
        levels = [[]]
    return levels


class Tree:
    """A PGFT, walked from node to node; an edge is named by its ends and its cable."""

    def __init__(self, m, w, p=None, routing="d-mod-k", salt=0):
        self.m, self.w, self.p = m, w, p or [1] * len(m)
        self.routing, self.salt = routing, salt
        self.hosts = math.prod(m)
        # Hosts below a node of each level, and trees that it stands in.
        self.below = [math.prod(m[:level]) for level in range(len(m) + 1)]
        self.trees = [math.prod(w[:level]) for level in range(len(w) + 1)]
        self.modulus = math.lcm(*(math.prod(w[: i + 1]) * c for i, c in enumerate(self.p)))

    def key(self, s, d, seed, realization, level, stream):
        if self.routing == "d-mod-k":
            return d
        if self.routing == "s-mod-k":
            return s
        if self.routing == "hash":
            return pair64(self.salt, DESTINATION, d, 0, 0) * self.modulus >> 64
        purpose, low = _wide(ROUTE, level)
        return pair64(seed, purpose, stream, realization, 2 * low) * self.modulus >> 64

    def route(self, s, d, key):
        """Edges: (level, block, copy of the lower node, copy of the upper, cable, direction)."""
        level, block, copy, edges = 0, s, 0, []
        while not self.holds(level, block, d):
            u = key // self.trees[level] % self.w[level]
            above = copy + u * self.trees[level]
            cable = key // self.trees[level + 1] % self.p[level]
            edges.append((level, block, copy, above, cable, "up"))
            level, block, copy = level + 1, block // self.m[level], above
        while level > 0:
            level -= 1
            block = d // self.below[level]
            below = copy % self.trees[level]
            cable = key // self.trees[level + 1] % self.p[level]
            edges.append((level, block, below, copy, cable, "down"))
            copy = below
        return edges

    def holds(self, level, block, d):
        return d // self.below[level] == block


class Graph:
    """Edges (tail, head, reach): the first whose reach (None: all) holds the destination."""

    def __init__(self, hosts, edges):
        self.hosts, self.out = hosts, defaultdict(list)
        for number, (tail, head, reach) in enumerate(edges):
            self.out[tail].append((number, head, reach))

    def key(self, *_):
        return 0

    def route(self, s, d, _):
        node, edges, seen = s, [], {s}
        while node != d:
            number, node = next((n, h) for n, h, r in self.out[node] if r is None or d in r)
            edges.append(number)
            if node in seen:
                return []
            seen.add(node)
        return edges


def realization(network, ranks, z, levels, perturbation, seed, number, numbers=None):
    """Hosts of ranks, and for each level pairs, how many are the collective's, and w of each.

    `numbers`: under which levels draw; without it from 0 on.
    """
    hosts = order(seed, PLACEMENT, 0, number, network.hosts)
    found = []
    for level, own in zip(numbers or range(len(levels)), levels, strict=True):
        others = traffic(perturbation, seed, level, number, ranks - z)
        pairs = own + [(a + z, b + z) for a, b in others]
        routes = []
        for i, (a, b) in enumerate(pairs):
            s, d = hosts[a], hosts[b]
            stream = i if i < len(own) else s | 1 << 31
            routes.append(network.route(s, d, network.key(s, d, seed, number, level, stream)))
        loads = Counter(edge for route in routes for edge in route)
        w = [max((loads[edge] for edge in route), default=0) for route in routes]
        found.append((pairs, len(own), w))
    return hosts, found


def results(found, z):
    """The engine's words: orcs, orcs1, ready, sum_max, inverse, messages, largest, dropped."""
    before, ready, chain = {}, [0] * z, 0
    orcs = 0
    for level, (pairs, own, w) in enumerate(found):
        now, then = {}, list(ready)
        for (a, b), c in list(zip(pairs, w, strict=True))[:own]:
            now[b] = max(now.get(b, 0), c + before.get(a, 0))
            ready[b] = max(ready[b], then[a] + c)
            if (a, b) == (2**level - 1, 2 ** (level + 1) - 1):
                chain += c
        orcs, before = max(orcs, *now.values(), 0, 0), now
    every = [c for _, _, w in found for c in w]
    return [
        orcs,
        chain,
        max(ready, default=0),
        sum(max(w, default=0) for _, _, w in found),
        sum(2**40 // c for c in every if c),
        sum(c > 0 for c in every),
        max(every, default=0),
        sum(c == 0 for c in every),
    ]
