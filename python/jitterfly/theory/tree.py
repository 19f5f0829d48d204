"""The recursion over levels for one rank, over any kind of law."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .bracket import Bracket
from .lattice import Lattice
from .mesh import Mesh
from .parts import Floats, Part, Ticks

Law = Any  # a Lattice or a Bracket: both have the same methods
_PER_SCALE = 16  # typical delays that the first block of a mesh holds


@dataclass(frozen=True)
class Draws:
    """The independent delays of one collective of K rounds, each a list of parts that add up.

    `start`: before the first send. `send`: at each of the K sends, of the sender's CPU.
    `message`: of each message under way. `receive`: at each of the K receives. `transit`, in
    ticks: what only the partner's data needs; all that both need is left out here.
    """

    rounds: int
    transit: int = 0
    start: Sequence[Part] = field(default=())
    send: Sequence[Part] = field(default=())
    message: Sequence[Part] = field(default=())
    receive: Sequence[Part] = field(default=())

    @property
    def parts(self) -> list[Part]:
        """All of them."""
        return [*self.start, *self.send, *self.message, *self.receive]

    def at_level(self, level: int) -> list[Part]:
        """What a rank's CPU draws between its data of a level and its send from there."""
        got = self.start if level == 0 else self.receive
        return [*got, *(self.send if level < self.rounds else ())]

    @property
    def longest(self) -> int:
        """A bound of any time, in ticks."""
        each = (*self.send, *self.message, *self.receive)
        once = sum(part.longest for part in self.start)
        return once + self.rounds * (self.transit + sum(part.longest for part in each))


class Tree:
    """Laws of ready times; V_l is the time when a rank's send of level l has left its CPU.

    ``V_l = max(V_{l-1} of the rank, V_{l-1} of the partner + message + transit) + draws of l``.
    Before level l the blocks of 2^(l-1) ranks of the two are disjoint, so the two are independent
    and have the same law: F of the maximum is a product, F of the sum a convolution.
    """

    def __init__(self, draws: Draws, points: int | None):
        """Exact where every part has two values (OverflowError: too many in sum); else `points`."""
        self.draws = draws
        self._mesh = None if points is None else _mesh(draws, points)
        self._delays: dict[int, Law] = {}
        self.arrived: list[Law] = [self.zero]
        self.left: list[Law] = []
        self.under_way: list[Law] = []  # V_l and the delay of a message
        for level in range(draws.rounds + 1):
            if level:
                self.under_way.append(self.add(self.left[-1], draws.message))
                late = self.under_way[-1].later(draws.transit)
                self.arrived.append(self.left[-1].maximum(late))
            self.left.append(self.add(self.arrived[level], draws.at_level(level)))

    @property
    def zero(self) -> Law:
        """Time 0."""
        return Lattice.at() if self._mesh is None else Bracket.at(self._mesh)

    @property
    def one(self) -> Law:
        """When one rank has the result."""
        return self.left[-1]

    @property
    def ends(self) -> Ticks:
        """Where the law of one rank has its steps, or the mesh its nodes."""
        ticks: Ticks = self.one.values if self._mesh is None else self._mesh.nodes
        return ticks

    def floor(self, ticks: Ticks) -> Ticks:
        """The last times up to these that may occur: nodes of the mesh, if there is one."""
        if self._mesh is None:
            return ticks
        nodes = self._mesh.nodes
        index = np.searchsorted(nodes, ticks, side="right") - 1
        return np.where(index < 0, ticks, nodes[np.maximum(index, 0)])

    def bounded(self, survival: Floats) -> Law:
        """The law with these bounds of P(T > t) at `ends`."""
        if self._mesh is None:
            return Lattice.of(self.ends, survival)
        return Bracket(self._mesh, np.zeros_like(survival), survival)

    def add(self, law: Law, parts: Sequence[Part]) -> Law:
        """The sum with one draw of each of the parts."""
        for part in parts:
            law = law.plus(part if self._mesh is None else self._delay(part))
        return law

    def sum(self, one: Law, other: Law) -> Law:
        """The sum of two independent times."""
        return one.plus(other) if self._mesh is not None else one.convolve(other)

    def _delay(self, part: Part) -> Law:
        if id(part) not in self._delays:
            self._delays[id(part)] = Bracket.of(self._mesh, part)  # type: ignore[arg-type]
        return self._delays[id(part)]


def tree(draws: Draws, points: int) -> Tree:
    """Exact where that is possible, else on a mesh of so many points."""
    if all(part.atoms for part in draws.parts):
        try:
            return Tree(draws, None)
        except OverflowError:
            pass
    return Tree(draws, points)


def _mesh(draws: Draws, points: int) -> Mesh:
    """A mesh that resolves the smallest of the parts and reaches beyond every possible time."""
    scale = min(part.typical for part in draws.parts if part.longest)
    step = max(1, scale * _PER_SCALE // points)
    even = (s for s in range(step, step // 2, -1) if draws.transit % s == 0)  # no rounding of it
    return Mesh.to(draws.longest, next(even, step), points)
