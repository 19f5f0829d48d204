"""A grid of times whose spacing doubles with every doubling of time, and sums of times on it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..units import LONGEST_TICKS
from .delays import Floats, Ticks

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
    left, right = _transforms(a, size), _transforms(b, size)
    products = np.zeros((len(left) + len(right) - 1, size + 1), dtype=complex)
    for i, piece in enumerate(left):
        products[i : i + len(right)] += piece * right
    blocks = np.fft.irfft(products, 2 * size, axis=1)
    sizes = np.convolve(_norms(a, size), _norms(b, size))[:, None]
    blocks += _rounding_sign(up) * _ERROR * np.log2(2 * size) * sizes
    blocks = np.maximum(blocks, 0.0)
    out = np.zeros((len(blocks) + 1, size))
    out[:-1] += blocks[:, :size]
    out[1:] += blocks[:, size:]
    return out.ravel()[: len(a) + len(b) - 1]


def _rounding_sign(up: bool | None) -> int:
    return 0 if up is None else 1 if up else -1


def _pieces(values: Floats, size: int) -> Floats:
    padded = np.zeros(-(-len(values) // size) * size)
    padded[: len(values)] = values
    return padded.reshape(-1, size)


def _transforms(values: Floats, size: int) -> npt.NDArray[np.complex128]:
    return np.fft.rfft(_pieces(values, size), 2 * size, axis=1)


def _norms(values: Floats, size: int) -> Floats:
    norms: Floats = np.linalg.norm(_pieces(values, size), axis=1)
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
    """Probabilities at 0, 1, 2, ... on every second node, by rounding."""
    padded = np.concatenate([np.zeros(1 if up else 0), values])
    if len(padded) % 2:
        padded = np.append(padded, 0.0)
    pairs: Floats = padded.reshape(-1, 2).sum(axis=1)
    return pairs


def _with_upper_half(below: Floats, block: Floats, half: int) -> Floats:
    total = np.zeros(2 * half)
    total[: len(below)] = below
    total[half:] += block
    return total
