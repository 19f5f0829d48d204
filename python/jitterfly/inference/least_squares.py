"""Least squares of a scaling curve (weighted, non-negative): its misfit, minimised.

For each p the misfit ``sum w (y - L k - D m)^2`` is a quadratic form in the latency L and the scale
D, given by its sums; everything here is closed form and applies to many p at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
_FLAT = 1e-12  # a curvature below this share of its largest possible value is rounding


class Sums(NamedTuple):
    """Weighted sums over the points: kk (one number), km, mm, ky (one number), my, yy (one)."""

    kk: Floats
    km: Floats
    mm: Floats
    ky: Floats
    my: Floats
    yy: Floats

    @classmethod
    def of(cls, weight: Floats, k: Floats, m: Floats, y: Floats) -> Sums:
        """`m` of shape (probabilities, points), the others (points,)."""
        one = np.ones(len(m))
        return cls(
            (weight * k * k).sum() * one, m @ (weight * k), m**2 @ weight,
            (weight * k * y).sum() * one, m @ (weight * y), (weight * y * y).sum() * one,
        )  # fmt: skip

    def misfit(self, step: Floats, scale: Floats) -> Floats:
        """The weighted sum of squares at L = step, D = scale."""
        found = self.yy - 2 * step * self.ky - 2 * scale * self.my
        found = found + step**2 * self.kk + 2 * step * scale * self.km + scale**2 * self.mm
        return np.maximum(found, 0.0)

    def swapped(self) -> Sums:
        """With L and D exchanged."""
        return Sums(self.mm, self.km, self.kk, self.my, self.ky, self.yy)


def best_parameters(
    sums: Sums, step: float | None, scale: float | None
) -> tuple[Floats, Floats, Floats]:
    """L, D and the misfit where it is smallest, for each p; what is given stays."""
    one = np.ones_like(sums.kk)
    if step is not None and scale is not None:
        return _with_misfit(sums, step * one, scale * one)
    if step is not None:
        return _with_misfit(sums, step * one, _one_parameter(sums.mm, sums.my - sums.km * step))
    if scale is not None:
        return _with_misfit(sums, _one_parameter(sums.kk, sums.ky - sums.km * scale), scale * one)
    edges = [
        _with_misfit(sums, _one_parameter(sums.kk, sums.ky), 0 * one),
        _with_misfit(sums, 0 * one, _one_parameter(sums.mm, sums.my)),
    ]
    determinant = sums.kk * sums.mm - sums.km**2
    solid = determinant > _FLAT * sums.kk * sums.mm
    safe = np.where(solid, determinant, 1.0)
    free_step = (sums.ky * sums.mm - sums.km * sums.my) / safe
    free_scale = (sums.kk * sums.my - sums.km * sums.ky) / safe
    inside = solid & (free_step >= 0) & (free_scale >= 0)
    middle = _with_misfit(sums, np.where(inside, free_step, 0), np.where(inside, free_scale, 0))
    choices = [np.stack(parts) for parts in zip(middle, *edges, strict=True)]
    choices[2][0] = np.where(inside, choices[2][0], np.inf)
    pick = choices[2].argmin(axis=0)[None]
    found = [np.take_along_axis(part, pick, axis=0)[0] for part in choices]
    return found[0], found[1], found[2]


def scales_within(sums: Sums, limit: float, step: float | None) -> tuple[Floats, Floats]:
    """The least and the largest D >= 0 that some L >= 0 brings to a misfit of at most `limit`.

    NaN where there is none, inf where D has no upper end.
    """
    if step is not None:
        residual = sums.yy - 2 * step * sums.ky + step**2 * sums.kk - limit
        return _roots(sums.mm, sums.my - sums.km * step, residual, sums.mm, 0.0, np.inf)
    # L = (ky - km D) / kk as long as that is not negative, from there on 0.
    turn = np.where(sums.km > 0, sums.ky / np.where(sums.km > 0, sums.km, 1), np.inf)
    free = _roots(
        sums.mm - sums.km**2 / sums.kk, sums.my - sums.km * sums.ky / sums.kk,
        sums.yy - sums.ky**2 / sums.kk - limit, sums.mm, 0.0, turn,
    )  # fmt: skip
    none = _roots(sums.mm, sums.my, sums.yy - limit, sums.mm, turn, np.inf)
    return np.fmin(free[0], none[0]), np.fmax(free[1], none[1])


def _with_misfit(sums: Sums, step: Floats, scale: Floats) -> tuple[Floats, Floats, Floats]:
    return step, scale, sums.misfit(step, scale)


def _one_parameter(square: Floats, product: Floats) -> Floats:
    return np.maximum(np.divide(product, square, out=np.zeros_like(square), where=square > 0), 0)


def _roots(
    a: Floats, b: Floats, c: Floats, size: Floats, low: float | Floats, high: float | Floats
) -> tuple[Floats, Floats]:
    """The ends of ``a x^2 - 2 b x + c <= 0`` in [low, high]; `size`: what a could be at most."""
    bent = a > _FLAT * size
    safe = np.where(bent, a, 1.0)
    under = b**2 - a * c
    reach = np.sqrt(np.maximum(under, 0.0))
    start = np.where(bent, (b - reach) / safe, -np.inf)
    end = np.where(bent, (b + reach) / safe, np.inf)
    there = np.where(bent, under >= 0, c <= 0)
    start, end = np.maximum(start, low), np.minimum(end, high)
    there = there & (start <= end)
    return np.where(there, start, np.nan), np.where(there, end, np.nan)
