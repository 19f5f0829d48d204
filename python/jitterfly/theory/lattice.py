"""Times with few possible values, exactly: distribution functions on the values, as logarithms.

Sums of Bernoulli delays and of fixed times lie on the lattice ``m D + j c``. Both tails keep their
relative accuracy, however small: neither 1 - F nor F is ever made from the other where it is the
smaller one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .parts import Floats, Part, Ticks

MOST_VALUES = 50_000
_HALF = -np.log(2.0)
_TINY = -600.0  # logarithms below: 1 - exp(x) is 1


def _complement(log: Floats) -> Floats:
    """log(1 - exp(x)) for x <= 0."""
    with np.errstate(divide="ignore"):
        near = np.log(-np.expm1(np.maximum(log, -1.0)))
        return np.where(log > -1.0, near, np.log1p(-np.exp(log)))


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
        index = np.searchsorted(self.values, ticks, side="right") - 1
        before = index < 0
        index = np.maximum(index, 0)
        return (
            np.where(before, -np.inf, self.log_cdf[index]),
            np.where(before, 0.0, self.log_survival[index]),
        )

    def later(self, ticks: int) -> Lattice:
        """T + ticks."""
        return Lattice(self.values + ticks, self.log_cdf, self.log_survival)

    def plus(self, part: Part) -> Lattice:
        """T + X for an independent X of at most two values."""
        atoms = part.atoms
        if atoms is None:
            raise ValueError("a lattice takes delays of at most two values")
        values = np.unique(np.concatenate([self.values + shift for shift in atoms[0]]))
        if len(values) > MOST_VALUES:
            raise OverflowError(f"more than {MOST_VALUES} values")
        cdf = survival = np.full(len(values), -np.inf)
        for shift, chance in zip(*atoms, strict=True):
            below, above = self._at(values - shift)
            cdf = np.logaddexp(cdf, below + np.log(chance))
            survival = np.logaddexp(survival, above + np.log(chance))
        return _settled(values, cdf, survival)

    def maximum(self, other: Lattice) -> Lattice:
        """The later of two independent times: F1 F2, and 1 - F1 F2 = S1 + F1 S2."""
        values = np.union1d(self.values, other.values)
        (f1, s1), (f2, s2) = self._at(values), other._at(values)
        kept = f1 + f2 > -np.inf
        with np.errstate(invalid="ignore"):
            survival = np.logaddexp(s1, f1 + s2)
        return _settled(values[kept], (f1 + f2)[kept], survival[kept])

    def convolve(self, other: Lattice) -> Lattice:
        """The sum of two independent times."""
        values = np.unique(np.add.outer(self.values, other.values))
        if len(values) > MOST_VALUES:
            raise OverflowError(f"more than {MOST_VALUES} values")
        cdf = survival = np.full(len(values), -np.inf)
        for shift, log in zip(self.values, self._log_masses(), strict=True):
            if log > -np.inf:
                below, above = other._at(values - shift)
                cdf = np.logaddexp(cdf, below + log)
                survival = np.logaddexp(survival, above + log)
        return _settled(values, cdf, survival)

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
        return _settled(self.values, cdf, np.minimum(survival, 0.0))

    def survival(self, ticks: Any) -> tuple[Floats, Floats]:
        """Bounds of P(T > ticks); here they are equal."""
        exact = np.exp(self._at(np.asarray(ticks, dtype=np.int64))[1])
        return exact, exact

    def middle(self, ticks: Any) -> Floats:
        """P(T > ticks)."""
        return self.survival(ticks)[0]

    def cdf(self, ticks: Any) -> tuple[Floats, Floats]:
        """Bounds of P(T <= ticks); here they are equal."""
        exact = np.exp(self._at(np.asarray(ticks, dtype=np.int64))[0])
        return exact, exact

    def exceeded(self, share: Any) -> tuple[Floats, Floats]:
        """Bounds of the smallest t with P(T > t) <= share, in ticks; here they are equal."""
        with np.errstate(divide="ignore"):
            log = np.log(np.asarray(share, dtype=float))
        index = np.searchsorted(-self.log_survival, -log, side="left")
        exact = self.values[np.minimum(index, len(self.values) - 1)].astype(float)
        return exact, exact

    def exceeded_middle(self, share: Any) -> Floats:
        """The smallest t with P(T > t) <= share, in ticks."""
        return self.exceeded(share)[0]

    def mean(self) -> tuple[float, float]:
        """Bounds of the mean, in ticks; here they are equal."""
        gaps = np.diff(self.values).astype(float)
        exact = float(self.values[0]) + float(np.sum(gaps * np.exp(self.log_survival[:-1])))
        return exact, exact


def _settled(values: Ticks, cdf: Floats, survival: Floats) -> Lattice:
    """The larger of the two is made from the smaller one, which is the accurate one."""
    cdf, survival = np.minimum(cdf, 0.0), np.minimum(survival, 0.0)
    upper = survival < _HALF
    cdf = np.where(upper, _complement(survival), cdf)
    survival = np.where(upper, survival, _complement(cdf))
    return Lattice(values, cdf, survival)
