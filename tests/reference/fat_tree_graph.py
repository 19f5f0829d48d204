"""Reference of fat trees (XGFT, PGFT) as explicit graphs.

A node of level l is a word of digits x_1 ... x_h: x_i < w_i for i <= l, x_i < m_i above; the digits
of a host are its number's. Cables join nodes of levels l and l + 1 that differ in digit l + 1 only:
p_{l+1} each (Zahavi 2012).
"""

import itertools

import numpy as np


class FatTreeGraph:
    """`nodes` are (level, digits); `edges` are (tail, head, cable), with the places of both nodes.

    `up` holds the edges of a node upwards by parent and cable, `down` those downwards by the digit
    in which the lower node differs and cable; -1 where there is none.
    """

    def __init__(self, m, w, p):
        self.m, self.w, self.p = m, w, p
        self.nodes = [
            (level, digits)
            for level in range(len(m) + 1)
            for digits in itertools.product(*map(range, [*w[:level], *m[level:]]))
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
        hosts = itertools.product(*(range(size) for size in reversed(m)))  # x_1 counts fastest
        self.hosts = np.array([at[0, digits[::-1]] for digits in hosts])

    def walks(self, senders, receivers, keys):
        """The edges of messages, a column for each level upwards, then one downwards; -1: none.

        From node to node, all messages side by side: up by the digits of the key until the receiver
        is below, then down to it.
        """
        node, to, height = self.hosts[senders], self.hosts[receivers], len(self.m)
        ports = []  # of each level: which parent, and by which of its cables
        for parents, cables in zip(self.w, self.p, strict=True):
            keys, parent = np.divmod(keys, parents)
            ports.append((parent, keys % cables))
        steps = []
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
