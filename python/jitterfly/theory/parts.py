"""What one draw of noise adds: a distribution that occurs with a probability, in whole ticks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..units import TICKS_PER_SECOND, to_ticks

Floats = npt.NDArray[np.float64]
Ticks = npt.NDArray[np.int64]


class Delay(Protocol):
    """What the theory needs of a distribution of delays; those of `jitterfly` have it."""

    def survival(self, t: Any) -> Any:
        """P(delay > t), for t in seconds, any shape."""

    def quantile(self, q: Any) -> Any:
        """The smallest t in seconds with P(delay <= t) >= q."""

    def expected(self) -> float:
        """Mean, seconds; infinite where there is none."""

    def longest_ticks(self) -> int:
        """The longest delay that is ever drawn, in ticks."""


@dataclass(frozen=True)
class Part:
    """A delay X that is `delay` with `probability` and 0 otherwise, rounded to whole ticks."""

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
        """Values in ticks and their probabilities, where X has at most two; else None."""
        kind = getattr(self.delay, "kind", "")
        if kind == "fixed":
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


Parts = Sequence[Part]
