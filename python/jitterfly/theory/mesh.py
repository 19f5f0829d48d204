"""A grid of times whose spacing doubles with every doubling of time, and sums on it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..units import LONGEST_TICKS
from .convolve import convolve
from .parts import Floats, Ticks


@dataclass(frozen=True)
class Mesh:
    """Nodes ``j * step`` for j below `points`, then `blocks` more blocks of points / 2 nodes.

    Block b has the nodes ``j * step * 2^b``, points / 2 <= j < points: heavy tails are resolved
    to a relative 2 / points over any range. Times are whole ticks.
    """

    step: int
    points: int
    blocks: int
    most: int

    @classmethod
    def to(cls, most: int, step: int, points: int) -> Mesh:
        """The mesh for times up to `most` ticks; what is beyond 2^62 is only known to be there."""
        blocks = 1 + max(0, (2 * most // (step * points)).bit_length())
        room = LONGEST_TICKS // (step * points)
        return cls(step, points, max(0, min(blocks, room.bit_length() - 1)), most)

    @cached_property
    def nodes(self) -> Ticks:
        """All nodes, rising, in ticks."""
        half = self.points // 2
        upper = np.arange(half, self.points, dtype=np.int64)
        parts = [upper * self.step << b for b in range(1, self.blocks + 1)]
        first = np.arange(self.points, dtype=np.int64) * self.step
        return np.concatenate([first, *parts])

    def sum(self, a: Floats, b: Floats, *, up: bool) -> tuple[Floats, float]:
        """Probabilities at the nodes, and beyond, of the sum of two independent times.

        Times between nodes are rounded, up or down; so are those beyond the last one.

        Each block of one meets all that is not above it of the other, on the spacing of that
        block: what is lost there is small against the larger of the two.
        """
        n, half = self.points, self.points // 2
        total_a, total_b = a[:n], b[:n]
        found = convolve(total_a, total_b, up)
        result = [found[:n]]
        carry = _coarser(found[n:], up)
        for block in range(1, self.blocks + 1):
            at = slice(n + (block - 1) * half, n + block * half)
            below_a, below_b = _coarser(total_a, up), _coarser(total_b, up)
            total_a, total_b = _above(below_a, a[at], half), _above(below_b, b[at], half)
            found = np.zeros(n + half + 2)  # of the nodes from `half` on
            found[: len(carry)] += carry
            for one, other in ((a[at], total_b), (b[at], below_a)):
                if one.any():
                    product = convolve(one, other, up)
                    found[: len(product)] += product
            result.append(found[:half])
            carry = _coarser(found[half:], up)
        beyond = float(carry.sum())
        if not up:
            result[-1][-1] += beyond
            beyond = 0.0
        return np.concatenate(result), beyond


def _coarser(values: Floats, up: bool) -> Floats:
    """Probabilities at 0, 1, 2, ... on every second node, by rounding."""
    padded = np.concatenate([np.zeros(1 if up else 0), values])
    if len(padded) % 2:
        padded = np.append(padded, 0.0)
    pairs: Floats = padded.reshape(-1, 2).sum(axis=1)
    return pairs


def _above(below: Floats, block: Floats, half: int) -> Floats:
    total = np.zeros(2 * half)
    total[: len(below)] = below
    total[half:] += block
    return total
