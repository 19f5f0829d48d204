"""A fat tree as a graph, built from its definition, and a walk of it.

A node of level l is a word of digits x_1 ... x_h: x_i < w_i for i <= l, x_i < m_i above; the digits
of a host are its number's. Cables join nodes of levels l and l + 1 that differ in digit l + 1 only:
p_{l+1} each (Zahavi 2012).
"""

import itertools


class FatTreeGraph:
    """`neighbours` of a node (level, digits): those to which a cable leads, up and down.

    An edge is (tail, head, cable).
    """

    def __init__(self, m, w, p):
        self.m, self.w, self.p = m, w, p
        self.neighbours, self.edges = {}, []
        for level in range(len(m) + 1):
            limits = [*w[:level], *m[level:]]
            for digits in itertools.product(*map(range, limits)):
                self.neighbours[level, digits] = {}
        for level, digits in list(self.neighbours):
            if level == len(m):
                continue
            low = level, digits
            for u in range(w[level]):
                high = level + 1, (*digits[:level], u, *digits[level + 1 :])
                self.neighbours[low]["up", u] = high
                self.neighbours[high]["down", digits[level]] = low
                for cable in range(p[level]):
                    self.edges += [(low, high, cable), (high, low, cable)]

    def digits(self, host):
        """The digits of a host, x_1 first."""
        found = []
        for size in self.m:
            host, digit = divmod(host, size)
            found.append(digit)
        return tuple(found)

    def walk(self, s, d, key):
        """From node to node: up by the digits of the key until d is below, then down to it."""
        node, to, edges = (0, self.digits(s)), self.digits(d), []
        ports = []  # of each level: which parent, and by which of its cables
        for parents, cables in zip(self.w, self.p, strict=True):
            key, parent = divmod(key, parents)
            ports.append((parent, key % cables))
        while node[1][node[0] :] != to[node[0] :]:
            level = node[0]
            parent, cable = ports[level]
            following = self.neighbours[node]["up", parent]
            edges.append((node, following, cable))
            node = following
        while node[0] > 0:
            level = node[0] - 1
            following = self.neighbours[node]["down", to[level]]
            edges.append((node, following, ports[level][1]))
            node = following
        assert node == (0, to)
        return edges
