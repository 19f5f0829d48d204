"""Reference of fat trees (XGFT, PGFT) as explicit graphs, with tables of destinations.

A node of level l is a word of digits x_1 ... x_h: x_i < w_i for i <= l, x_i < m_i above; the digits
of a host are its number's. Cables join nodes of levels l and l + 1 that differ in digit l + 1 only:
p_{l+1} each (Zahavi 2012).
"""

import itertools

import numpy as np


class FatTreeGraph:
    """`nodes` are (level, digits); `edges` are (tail, head, cable), with the places of both nodes.

    `up` holds the edges of a node upwards by parent and cable, `down` those downwards by the digit
    in which the lower node differs and cable; -1 where there is none. Nodes are in the order of
    their levels, then x_1 counts fastest: a host's place is its number.
    """

    def __init__(self, m, w, p):
        self.m, self.w, self.p = m, w, p
        self.nodes = [
            (level, digits[::-1])
            for level in range(len(m) + 1)
            for digits in itertools.product(*map(range, [*w[:level], *m[level:]][::-1]))
        ]
        at = {node: place for place, node in enumerate(self.nodes)}
        self.edges = []
        self.up = np.full((len(self.nodes), max(w), max(p)), -1)
        self.down = np.full((len(self.nodes), max(m), max(p)), -1)
        for low, (level, digits) in enumerate(self.nodes):
            if level == len(m):
                continue
            for u in range(w[level]):
                high = at[level + 1, (*digits[:level], u, *digits[level + 1 :])]
                for cable in range(p[level]):
                    self.up[low, u, cable] = len(self.edges)
                    self.down[high, digits[level], cable] = len(self.edges) + 1
                    self.edges += [(low, high, cable), (high, low, cable)]
        self.levels = np.array([level for level, _ in self.nodes])
        self.digits = np.array([digits for _, digits in self.nodes])
        self.heads = np.array([head for _, head, _ in self.edges])

    def ports(self, keys):
        """Of each level: to which parent the keys lead from there, and by which of its cables."""
        ports = []
        for parents, cables in zip(self.w, self.p, strict=True):
            keys, parent = np.divmod(keys, parents)
            ports.append((parent, keys % cables))
        return ports

    def walks(self, senders, receivers, keys):
        """The edges of messages, a column for each level upwards, then one downwards; -1: none.

        From node to node, all messages side by side: up by the digits of the key until the receiver
        is below, then down to it.
        """
        node, to, height = senders, receivers, len(self.m)
        ports, steps = self.ports(keys), []
        for level, (parent, cable) in enumerate(ports):
            apart = (self.digits[node, level:] != self.digits[to, level:]).any(axis=1)
            steps.append(np.where(apart, self.up[node, parent, cable], -1))
            node = np.where(apart, self.heads[steps[-1]], node)
        for level in reversed(range(height)):
            above = self.levels[node] > level
            there = self.down[node, self.digits[to, level], ports[level][1]]
            steps.append(np.where(above, there, -1))
            node = np.where(above, self.heads[steps[-1]], node)
        assert (node == to).all()
        return np.stack(steps, axis=1)

    def tables(self):
        """Of d-mod-k: (tail, head, whether to all hosts, else the hosts in order), tail by tail.

        Those downwards come first. A host's only edge is to all.
        """
        hosts = np.arange((self.levels == 0).sum())
        ports, edges = self.ports(hosts), []
        for node, (level, digits) in enumerate(self.nodes):
            below = (self.digits[hosts, level:] == digits[level:]).all(axis=1)
            way = []
            if level:
                way += [
                    (self.down[node, x, cable],
                     below & (self.digits[hosts, level - 1] == x) & (ports[level - 1][1] == cable))
                    for x, cable in np.ndindex(self.m[level - 1], self.p[level - 1])
                ]  # fmt: skip
            if level < len(self.m):
                way += [
                    (self.up[node, u, cable],
                     ~below & (ports[level][0] == u) & (ports[level][1] == cable))
                    for u, cable in np.ndindex(self.w[level], self.p[level])
                ]  # fmt: skip
            only = level == 0 and len(way) == 1
            for edge, there in way:
                to = [] if only else hosts[there].tolist()
                edges.append((node, int(self.heads[edge]), only, to))
        return edges
