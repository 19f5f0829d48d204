"""Any distribution of times, between two that are known: every rounding goes down, or up."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .mesh import Mesh
from .parts import Floats, Part


@dataclass(frozen=True)
class Bracket:
    """A time T with V <= T <= W for two times on the nodes of a mesh.

    `low` and `high` are P(V > node) and P(W > node), each accurate in relative terms; W may be
    beyond the last node. Transforms are allowed for; what other rounding does to the bounds is of
    the order of 1e-12 of themselves.
    """

    mesh: Mesh
    low: Floats
    high: Floats

    exact = False

    @classmethod
    def at(cls, mesh: Mesh) -> Bracket:
        """Time 0."""
        nothing = np.zeros(len(mesh.nodes))
        return cls(mesh, nothing, nothing)

    @classmethod
    def of(cls, mesh: Mesh, part: Part) -> Bracket:
        """One delay: each node has what the real delay has there."""
        high = part.survival(mesh.nodes)
        low = np.append(part.survival(mesh.nodes[1:] - 1), 0.0)  # P(X >= next node)
        return cls(mesh, low, high)

    def plus(self, other: Bracket) -> Bracket:
        """The sum of two independent times."""
        return self._both(
            _sum(self.mesh, self.low, other.low, up=False),
            _sum(self.mesh, self.high, other.high, up=True),
        )

    def later(self, ticks: int) -> Bracket:
        """T + ticks."""
        if ticks == 0:
            return self
        nodes = self.mesh.nodes
        up = np.searchsorted(nodes, nodes - ticks, side="right") - 1
        high = np.where(up < 0, 1.0, self.high[np.maximum(up, 0)])
        # Rounded down, V + ticks > node means V + ticks >= the next node.
        down = np.searchsorted(nodes, nodes[1:] - ticks, side="left") - 1
        low = np.where(down < 0, 1.0, self.low[np.maximum(down, 0)])
        return self._both(np.append(low, 0.0), high)

    def maximum(self, other: Bracket) -> Bracket:
        """The later of two independent times."""
        return self._both(
            self.low + other.low * (1 - self.low), self.high + other.high * (1 - self.high)
        )

    def largest_of(self, count: int) -> Bracket:
        """The latest of `count` independent times."""
        return self._both(_largest(self.low, count), _largest(self.high, count))

    def _both(self, low: Floats, high: Floats) -> Bracket:
        return Bracket(self.mesh, np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0))

    def survival(self, ticks: Any) -> tuple[Floats, Floats]:
        """Bounds of P(T > ticks)."""
        index = np.searchsorted(self.mesh.nodes, ticks, side="right") - 1
        before, index = index < 0, np.maximum(index, 0)
        return np.where(before, 1.0, self.low[index]), np.where(before, 1.0, self.high[index])

    def middle(self, ticks: Any) -> Floats:
        """P(T > ticks) without the first-order error of the bounds, which are of both signs."""
        between = np.interp(ticks, *self._middles)
        low, high = self.survival(ticks)
        return np.clip(between, low, high)

    def exceeded_middle(self, share: Any) -> Floats:
        """The t, in ticks, with P(T > t) = share, likewise."""
        at, survival = self._middles
        between = np.interp(-np.asarray(share, dtype=float), -survival, at)
        low, high = self.exceeded(share)
        return np.clip(between, low, high)

    @cached_property
    def _middles(self) -> tuple[Floats, Floats]:
        """V and W step at nodes; on average they are right half way between two."""
        nodes = self.mesh.nodes.astype(float)
        return (nodes[1:] + nodes[:-1]) / 2, ((self.low + self.high) / 2)[:-1]

    def cdf(self, ticks: Any) -> tuple[Floats, Floats]:
        """Bounds of P(T <= ticks)."""
        low, high = self.survival(ticks)
        return 1 - high, 1 - low

    def exceeded(self, share: Any) -> tuple[Floats, Floats]:
        """Bounds of the smallest t with P(T > t) <= share, in ticks."""
        return self._first(self.low, share), self._first(self.high, share)

    def _first(self, side: Floats, share: Any) -> Floats:
        nodes = self.mesh.nodes
        index = np.searchsorted(-side, -np.asarray(share, dtype=float))
        return nodes[np.minimum(index, len(nodes) - 1)].astype(float)

    def mean(self) -> tuple[float, float]:
        """Bounds of the mean, in ticks."""
        gaps = np.diff(self.mesh.nodes).astype(float)
        beyond = max(self.mesh.most - int(self.mesh.nodes[-1]), 0) * self.high[-1]
        return float(gaps @ self.low[:-1]), float(gaps @ self.high[:-1] + beyond)


def _sum(mesh: Mesh, a: Floats, b: Floats, *, up: bool) -> Floats:
    """P(A + B > node). What is 0 is kept apart: it may be nearly all, and drown the rest."""
    both, beyond = mesh.sum(_positive(a), _positive(b), up=up)
    beyond += a[0] * b[-1] + a[-1] * (b[0] - b[-1])  # of one of them already
    later = np.cumsum(np.append(beyond, both[:0:-1]))[::-1]
    return (1 - a[0]) * b + (1 - b[0]) * a + later


def _positive(survival: Floats) -> Floats:
    """Probabilities of the nodes above 0."""
    return np.append(0.0, survival[:-1] - survival[1:])


def _largest(survival: Floats, count: int) -> Floats:
    with np.errstate(divide="ignore"):
        return -np.expm1(count * np.log1p(-survival))
