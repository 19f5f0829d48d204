"""Convolution of nonnegative arrays that keeps small results accurate in relative terms."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .parts import Floats

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
        return np.convolve(a, b) * (1 + _side(up) * (short + 1) * _EPSILON)
    size = 1 << max(len(a), len(b)).bit_length() - 1
    size = max(size // _PIECES, _SMALLEST)
    left, right = _transforms(a, size), _transforms(b, size)
    products = np.zeros((len(left) + len(right) - 1, size + 1), dtype=complex)
    for i, piece in enumerate(left):
        products[i : i + len(right)] += piece * right
    blocks = np.fft.irfft(products, 2 * size, axis=1)
    sizes = np.convolve(_norms(a, size), _norms(b, size))[:, None]
    blocks += _side(up) * _ERROR * np.log2(2 * size) * sizes
    blocks = np.maximum(blocks, 0.0)
    out = np.zeros((len(blocks) + 1, size))
    out[:-1] += blocks[:, :size]
    out[1:] += blocks[:, size:]
    return out.ravel()[: len(a) + len(b) - 1]


def _side(up: bool | None) -> int:
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
