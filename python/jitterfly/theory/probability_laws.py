"""Probability laws of delays and times: exact on a lattice, or between two bounds; convolution.

Sums of Bernoulli delays and of constant times lie on the lattice ``m D + j c`` (`Lattice`); any
other time is kept between two that are known, every rounding going down or up (`Bracket`). Both
have the same methods. Both tails keep their relative accuracy, however small: neither 1 - F nor F
is ever made from the other where it is the smaller one.

The spacing of the mesh doubles with every doubling of time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..fields import is_number, shorten
from ..units import LONGEST_TICKS, TICKS_PER_SECOND, to_ticks

Floats = npt.NDArray[np.float64]
Ticks = npt.NDArray[np.int64]


def check_probability(value: float) -> None:
    """Raise ValueError unless it is from 0 to 1."""
    if not is_number(value) or not 0 <= value <= 1:
        raise ValueError(f"probability must be from 0 to 1, got {shorten(value)}")


@dataclass(frozen=True)
class RandomDelay:
    """The delay that one draw of noise adds, in whole ticks.

    A delay X that is `delay` with `probability`, and 0 otherwise.
    """

    delay: Any
    probability: float = 1.0

    def survival(self, ticks: Any) -> Floats:
        """P(X > ticks), for whole numbers of ticks from -1."""
        at = np.asarray(ticks, dtype=np.int64)
        # Half way between two ticks: no rounding of t decides on which side of an atom it is.
        beyond = self.delay.survival((np.maximum(at, 0) + 0.5) / TICKS_PER_SECOND)
        return np.where(at < 0, 1.0, np.where(at < self.longest, self.probability * beyond, 0.0))

    @property
    def longest(self) -> int:
        """The longest X, in ticks."""
        return int(self.delay.longest_ticks()) if self.probability > 0 else 0

    @property
    def typical(self) -> int:
        """The size of a delay where there is one, in ticks from 1: what a grid has to resolve."""
        middle = float(np.asarray(self.delay.quantile(0.5)))
        seconds = (
            middle if middle > 0 else min(self.delay.expected(), self.longest / TICKS_PER_SECOND)
        )
        return max(1, min(round(seconds * TICKS_PER_SECOND), self.longest))

    @property
    def atoms(self) -> tuple[Ticks, Floats] | None:
        """The values in ticks and their probabilities, where X has at most two; else None."""
        kind = getattr(self.delay, "kind", "")
        if kind == "constant":
            value, chance = to_ticks(self.delay.value), self.probability
        elif kind == "bernoulli":
            value = to_ticks(self.delay.duration)
            chance = self.probability * self.delay.probability
        else:
            return None
        values, chances = np.array([0, value], dtype=np.int64), np.array([1 - chance, chance])
        kept = chances > 0
        if value == 0 or kept.sum() < 2:
            only = value if kept[1] else 0
            return np.array([only], dtype=np.int64), np.ones(1)
        return values, chances


_PIECES = 32  # of the longer array
_SMALLEST = 128  # entries below which the direct sum is as fast
_EPSILON = 2.0**-52
_ERROR = 4 * _EPSILON  # of a transform, for each doubling and of the product of norms (Higham 2002)


def convolve(a: Floats, b: Floats, up: bool | None = None) -> Floats:
    """The full convolution of two nonnegative arrays.

    With `up`, not below what it is in exact arithmetic; with `up` False, not above.

    A fast Fourier transform of the whole would err by 1e-16 of the largest result, which drowns
    the far tail. So both are cut into pieces: a product of two pieces errs only in proportion to
    those two, and pieces whose products meet are added before they are transformed back.
    """
    if min(len(a), len(b)) <= _SMALLEST:
        short = min(len(a), len(b))
        return np.convolve(a, b) * (1 + _rounding_sign(up) * (short + 1) * _EPSILON)
    size = 1 << max(len(a), len(b)).bit_length() - 1
    size = max(size // _PIECES, _SMALLEST)
    left, right = _row_transforms(a, size), _row_transforms(b, size)
    products = np.zeros((len(left) + len(right) - 1, size + 1), dtype=complex)
    for i, piece in enumerate(left):
        products[i : i + len(right)] += piece * right
    blocks = np.fft.irfft(products, 2 * size, axis=1)
    sizes = np.convolve(_row_norms(a, size), _row_norms(b, size))[:, None]
    blocks += _rounding_sign(up) * _ERROR * np.log2(2 * size) * sizes
    blocks = np.maximum(blocks, 0.0)
    out = np.zeros((len(blocks) + 1, size))
    out[:-1] += blocks[:, :size]
    out[1:] += blocks[:, size:]
    return out.ravel()[: len(a) + len(b) - 1]


def _rounding_sign(up: bool | None) -> int:
    return 0 if up is None else 1 if up else -1


def _in_rows(values: Floats, size: int) -> Floats:
    """Return values in rows of `size`, the last one filled up by zeros."""
    padded = np.zeros(-(-len(values) // size) * size)
    padded[: len(values)] = values
    return padded.reshape(-1, size)


def _row_transforms(values: Floats, size: int) -> npt.NDArray[np.complex128]:
    """Return the Fourier transform of each row of `size` values, padded to twice that."""
    return np.fft.rfft(_in_rows(values, size), 2 * size, axis=1)


def _row_norms(values: Floats, size: int) -> Floats:
    """Return the Euclidean norm of each row of `size` values."""
    norms: Floats = np.linalg.norm(_in_rows(values, size), axis=1)
    return norms


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

    def law_of_sum(self, a: Floats, b: Floats, *, up: bool) -> tuple[Floats, float]:
        """The law of the sum of two independent times, whose laws on the mesh are `a` and `b`.

        A law is the probabilities at the nodes. The sum has one beyond the last node, too, which
        is the second value. Times between nodes are rounded, up or down; so are those beyond the
        last one.

        Each block of one time meets all that is not above it of the other, on the spacing of that
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
            total_a, total_b = (
                _with_upper_half(below_a, a[at], half),
                _with_upper_half(below_b, b[at], half),
            )
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
    """The probabilities at 0, 1, 2, ... on every second node, by rounding."""
    padded = np.concatenate([np.zeros(1 if up else 0), values])
    if len(padded) % 2:
        padded = np.append(padded, 0.0)
    pairs: Floats = padded.reshape(-1, 2).sum(axis=1)
    return pairs


def _with_upper_half(below: Floats, block: Floats, half: int) -> Floats:
    """Return the probabilities on a block's spacing: those below it, and its own."""
    total = np.zeros(2 * half)
    total[: len(below)] = below
    total[half:] += block
    return total


MAX_VALUES = 50_000
_HALF = -np.log(2.0)
_TINY = -600.0  # logarithms below: 1 - exp(x) is 1


@dataclass(frozen=True)
class Lattice:
    """A time of few values: `values` rising, in ticks; log P(T <= value) and log P(T > value)."""

    values: Ticks
    log_cdf: Floats
    log_survival: Floats

    exact = True

    @classmethod
    def at(cls, tick: int = 0) -> Lattice:
        """A time that is known."""
        return cls(np.array([tick], dtype=np.int64), np.zeros(1), np.full(1, -np.inf))

    @classmethod
    def of(cls, values: Ticks, survival: Floats) -> Lattice:
        """A time of these values, of which P(T > value) is known."""
        with np.errstate(divide="ignore"):
            log = np.log(survival)
        return cls(values, _complement(log), log)

    def _at(self, ticks: Any) -> tuple[Floats, Floats]:
        """Return log P(T <= ticks) and log P(T > ticks)."""
        index = np.searchsorted(self.values, ticks, side="right") - 1
        before = index < 0
        index = np.maximum(index, 0)
        return (
            np.where(before, -np.inf, self.log_cdf[index]),
            np.where(before, 0.0, self.log_survival[index]),
        )

    def later(self, ticks: int) -> Lattice:
        """The law of T + ticks."""
        return Lattice(self.values + ticks, self.log_cdf, self.log_survival)

    def plus(self, part: RandomDelay) -> Lattice:
        """The law of T + X for an independent X of at most two values."""
        atoms = part.atoms
        if atoms is None:
            raise ValueError("a lattice takes delays of at most two values")
        return self._shifted(atoms[0], np.log(atoms[1]))

    def maximum(self, other: Lattice) -> Lattice:
        """The later of two independent times: F1 F2, and 1 - F1 F2 = S1 + F1 S2."""
        values = np.union1d(self.values, other.values)
        (f1, s1), (f2, s2) = self._at(values), other._at(values)
        kept = f1 + f2 > -np.inf
        with np.errstate(invalid="ignore"):
            survival = np.logaddexp(s1, f1 + s2)
        return _settled_lattice(values[kept], (f1 + f2)[kept], survival[kept])

    def convolve(self, other: Lattice) -> Lattice:
        """The sum of two independent times."""
        return other._shifted(self.values, self._log_masses())

    def _shifted(self, shifts: Ticks, logs: Floats) -> Lattice:
        """The law of T later by one of these times, each with the logarithm of its probability.

        Raises
        ------
        OverflowError
            It has too many values.
        """
        values = np.unique(np.add.outer(self.values, shifts))
        if len(values) > MAX_VALUES:
            raise OverflowError(f"more than {MAX_VALUES} values")
        cdf = survival = np.full(len(values), -np.inf)
        for shift, log in zip(shifts, logs, strict=True):
            if log > -np.inf:
                below, above = self._at(values - shift)
                cdf = np.logaddexp(cdf, below + log)
                survival = np.logaddexp(survival, above + log)
        return _settled_lattice(values, cdf, survival)

    def _log_masses(self) -> Floats:
        """log P(T = value), from whichever of F and 1 - F is the smaller there."""
        below = np.exp(np.append(-np.inf, self.log_cdf))
        above = np.exp(np.append(0.0, self.log_survival))
        masses = np.where(below[1:] < 0.5, np.diff(below), -np.diff(above))
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(masses, 0.0))

    def largest_of(self, count: int) -> Lattice:
        """The latest of `count` independent times."""
        with np.errstate(invalid="ignore"):
            cdf = count * self.log_cdf
        few = np.where(self.log_survival < _TINY, self.log_survival + np.log(count), 0.0)
        survival = np.where(self.log_survival < _TINY, few, _complement(cdf))
        return _settled_lattice(self.values, cdf, np.minimum(survival, 0.0))

    def survival(self, ticks: Any) -> tuple[Floats, Floats]:
        """The bounds of P(T > ticks); here they are equal."""
        exact = np.exp(self._at(np.asarray(ticks, dtype=np.int64))[1])
        return exact, exact

    def middle(self, ticks: Any) -> Floats:
        """P(T > ticks)."""
        return self.survival(ticks)[0]

    def cdf(self, ticks: Any) -> tuple[Floats, Floats]:
        """The bounds of P(T <= ticks); here they are equal."""
        exact = np.exp(self._at(np.asarray(ticks, dtype=np.int64))[0])
        return exact, exact

    def exceeded(self, share: Any) -> tuple[Floats, Floats]:
        """The bounds of the smallest t with P(T > t) <= share, in ticks; here they are equal."""
        with np.errstate(divide="ignore"):
            log = np.log(np.asarray(share, dtype=float))
        index = np.searchsorted(-self.log_survival, -log, side="left")
        exact = self.values[np.minimum(index, len(self.values) - 1)].astype(float)
        return exact, exact

    def exceeded_middle(self, share: Any) -> Floats:
        """The smallest t with P(T > t) <= share, in ticks."""
        return self.exceeded(share)[0]

    def mean(self) -> tuple[float, float]:
        """The bounds of the mean, in ticks; here they are equal."""
        gaps = np.diff(self.values).astype(float)
        exact = float(self.values[0]) + float(np.sum(gaps * np.exp(self.log_survival[:-1])))
        return exact, exact


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
        """The law of time 0."""
        nothing = np.zeros(len(mesh.nodes))
        return cls(mesh, nothing, nothing)

    @classmethod
    def of(cls, mesh: Mesh, part: RandomDelay) -> Bracket:
        """The law of one delay: each node has what the real delay has there."""
        high = part.survival(mesh.nodes)
        low = np.append(part.survival(mesh.nodes[1:] - 1), 0.0)  # P(X >= next node)
        return cls(mesh, low, high)

    def plus(self, other: Bracket) -> Bracket:
        """The sum of two independent times."""
        return self._with_bounds(
            _survival_of_sum(self.mesh, self.low, other.low, up=False),
            _survival_of_sum(self.mesh, self.high, other.high, up=True),
        )

    def later(self, ticks: int) -> Bracket:
        """The law of T + ticks."""
        if ticks == 0:
            return self
        nodes = self.mesh.nodes
        up = np.searchsorted(nodes, nodes - ticks, side="right") - 1
        high = np.where(up < 0, 1.0, self.high[np.maximum(up, 0)])
        # Rounded down, V + ticks > node means V + ticks >= the next node.
        down = np.searchsorted(nodes, nodes[1:] - ticks, side="left") - 1
        low = np.where(down < 0, 1.0, self.low[np.maximum(down, 0)])
        return self._with_bounds(np.append(low, 0.0), high)

    def maximum(self, other: Bracket) -> Bracket:
        """The later of two independent times."""
        return self._with_bounds(
            self.low + other.low * (1 - self.low), self.high + other.high * (1 - self.high)
        )

    def largest_of(self, count: int) -> Bracket:
        """The latest of `count` independent times."""
        return self._with_bounds(
            _survival_of_largest(self.low, count), _survival_of_largest(self.high, count)
        )

    def _with_bounds(self, low: Floats, high: Floats) -> Bracket:
        return Bracket(self.mesh, np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0))

    def survival(self, ticks: Any) -> tuple[Floats, Floats]:
        """The bounds of P(T > ticks)."""
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
        """The bounds of P(T <= ticks)."""
        low, high = self.survival(ticks)
        return 1 - high, 1 - low

    def exceeded(self, share: Any) -> tuple[Floats, Floats]:
        """The bounds of the smallest t with P(T > t) <= share, in ticks."""
        return self._first_exceeded(self.low, share), self._first_exceeded(self.high, share)

    def _first_exceeded(self, side: Floats, share: Any) -> Floats:
        """Return the first node beyond which one side of the bounds is at most the share."""
        nodes = self.mesh.nodes
        index = np.searchsorted(-side, -np.asarray(share, dtype=float))
        return nodes[np.minimum(index, len(nodes) - 1)].astype(float)

    def mean(self) -> tuple[float, float]:
        """The bounds of the mean, in ticks."""
        gaps = np.diff(self.mesh.nodes).astype(float)
        beyond = max(self.mesh.most - int(self.mesh.nodes[-1]), 0) * self.high[-1]
        return float(gaps @ self.low[:-1]), float(gaps @ self.high[:-1] + beyond)


def _complement(log: Floats) -> Floats:
    """log(1 - exp(x)) for x <= 0."""
    with np.errstate(divide="ignore"):
        near = np.log(-np.expm1(np.maximum(log, -1.0)))
        return np.where(log > -1.0, near, np.log1p(-np.exp(log)))


def _settled_lattice(values: Ticks, cdf: Floats, survival: Floats) -> Lattice:
    """The larger of the two is made from the smaller one, which is the accurate one."""
    cdf, survival = np.minimum(cdf, 0.0), np.minimum(survival, 0.0)
    upper = survival < _HALF
    cdf = np.where(upper, _complement(survival), cdf)
    survival = np.where(upper, survival, _complement(cdf))
    return Lattice(values, cdf, survival)


def _survival_of_sum(mesh: Mesh, a: Floats, b: Floats, *, up: bool) -> Floats:
    """P(A + B > node). What is 0 is kept apart: it may be nearly all, and drown the rest."""
    both, beyond = mesh.law_of_sum(_above_zero(a), _above_zero(b), up=up)
    beyond += a[0] * b[-1] + a[-1] * (b[0] - b[-1])  # of one of them already
    later = np.cumsum(np.append(beyond, both[:0:-1]))[::-1]
    return (1 - a[0]) * b + (1 - b[0]) * a + later


def _above_zero(survival: Floats) -> Floats:
    """The probabilities of the nodes above 0."""
    return np.append(0.0, survival[:-1] - survival[1:])


def _survival_of_largest(survival: Floats, count: int) -> Floats:
    """Return P(largest of `count` > t) from P(one > t)."""
    with np.errstate(divide="ignore"):
        return -np.expm1(count * np.log1p(-survival))
