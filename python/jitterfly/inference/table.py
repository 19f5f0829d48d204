"""The mean and distribution of the hits on the last rank's worst path, over p: simulated once.

The number of hits M of Bernoulli noise depends on p and the number of ranks alone, so one table
serves every latency and every duration. It is shipped; ``python -m jitterfly.inference.table``
makes it again (a quarter of an hour on two cores). All p of a size see the same noise, so the
means rise with p; between them, and below them, the interpolation keeps to what is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..noise import Fixed
from .hits import any_hit
from .simulated import UNIT, extra, part_of

Floats = npt.NDArray[np.float64]

SHIPPED = Path(__file__).with_name("hits.npz")
MOST_ROUNDS = 14  # of what is shipped
_SEED = 2018
_LEAST = 0.05  # p * ranks where a table begins; below, two hits on one path are rare: p^2
_PER_DECADE = 12


@dataclass(frozen=True, eq=False)
class Table:
    """Counts of M = 0 ... rounds at each p, shape (probabilities, rounds + 1)."""

    rounds: int
    probabilities: Floats
    counts: npt.NDArray[np.int64]
    _curves: dict[int, Callable[[Floats], Floats]] = field(default_factory=dict, repr=False)

    @property
    def realizations(self) -> int:
        """At each p."""
        return int(self.counts[0].sum())

    def mean(self, probability: npt.ArrayLike) -> Floats:
        """``E[M]``, of the shape of `probability`."""
        p = np.asarray(probability, dtype=np.float64)
        return any_hit(p, self.rounds) + self._more(p)

    def error(self, probability: npt.ArrayLike) -> Floats:
        """Standard error of `mean`; what is exact has none."""
        beyond = np.maximum(np.arange(self.rounds + 1.0) - 1, 0)
        share = self.counts / self.realizations
        variance = np.maximum(share @ beyond**2 - (share @ beyond) ** 2, 0)
        at = np.log(np.maximum(probability, 1e-300))
        found: Floats = np.interp(
            at, np.log(self.probabilities), np.sqrt(variance / self.realizations), left=0.0
        )
        return found

    def above(self, hits: int, probability: npt.ArrayLike) -> Floats:
        """``P(M > hits)``."""
        p = np.asarray(probability, dtype=np.float64)
        if hits >= self.rounds:
            return np.zeros(p.shape)
        return any_hit(p, self.rounds) if hits <= 0 else self._curve(hits)(p)

    def _more(self, p: Floats) -> Floats:
        """``E[(M - 1)+]``."""
        return np.zeros(p.shape) if self.rounds < 2 else self._curve(0)(p)

    def _curve(self, hits: int) -> Callable[[Floats], Floats]:
        """``P(M > hits)``, or ``E[(M - 1)+]`` for no hits: see `through`."""
        if hits not in self._curves:
            steps = np.arange(self.rounds + 1)
            part = np.maximum(steps - 1, 0) if hits == 0 else steps > hits
            values = self.counts @ part / self.realizations
            self._curves[hits] = through(self.probabilities, values, max(hits + 1, 2))
        return self._curves[hits]


def through(grid: Floats, values: Floats, power: int) -> Callable[[Floats], Floats]:
    """Through the positive values, in logarithms; below the first of them as p^power."""
    from scipy.interpolate import PchipInterpolator

    start = int(np.argmax(values > 0))
    x, y = np.log(grid[start:]), np.log(values[start:])
    inside = PchipInterpolator(x, y)

    def curve(p: Floats) -> Floats:
        at = np.log(np.maximum(p, 1e-300))
        below = power * np.minimum(at - x[0], 0.0)
        found: Floats = np.exp(inside(np.maximum(at, x[0])) + below)
        return found

    return curve


def make(rounds: int, realizations: int, per_decade: int = _PER_DECADE) -> Table:
    """Simulate a table."""
    low = _LEAST * 2.0**-rounds
    points = max(2, math.ceil(-math.log10(low) * per_decade) + 1)
    grid = np.exp(np.linspace(math.log(low), 0.0, points))
    grid[-1] = 1.0
    counts = np.empty((points, rounds + 1), dtype=np.int64)
    for i, p in enumerate(grid):
        with part_of(f"table of hits for 2^{rounds} ranks", i, points):
            hits = extra(2**rounds, Fixed(UNIT), float(p), realizations, seed=_SEED)
        counts[i] = np.bincount(np.rint(hits).astype(int), minlength=rounds + 1)
    return Table(rounds, grid, counts)


@lru_cache(maxsize=1)
def _shipped() -> dict[int, Table]:
    with np.load(SHIPPED) as file:
        return {
            k: Table(k, file[f"probabilities{k}"], file[f"counts{k}"].astype(np.int64))
            for k in range(1, MOST_ROUNDS + 1)
        }


@lru_cache(maxsize=32)
def table(rounds: int) -> Table:
    """For 2^rounds ranks: shipped, or coarser and made now, which takes seconds to minutes."""
    if is_shipped(rounds):
        return _shipped()[rounds]
    return make(rounds, max(100, int(3e8 / (rounds * 2.0**rounds))), per_decade=6)


def is_shipped(rounds: int) -> bool:
    """Whether `table` answers at once; else it takes half a minute (2^15 ranks) to minutes."""
    return rounds <= MOST_ROUNDS


def write(path: Path = SHIPPED, most: int = MOST_ROUNDS, budget: float = 2e8) -> None:
    """Make all tables: `budget` steps of a rank at each p, or 20,000 realizations."""
    arrays = {}
    for rounds in range(1, most + 1):
        one = make(rounds, int(min(20_000, budget / (rounds * 2.0**rounds))))
        arrays[f"probabilities{rounds}"] = one.probabilities
        arrays[f"counts{rounds}"] = one.counts.astype(np.uint16)
        print(f"2^{rounds} ranks: {len(one.probabilities)} p, {one.realizations} realizations")
    np.savez_compressed(path, **arrays)


if __name__ == "__main__":
    write()
