"""Distribution of the number of hits on the worst path of a butterfly: simulated table `hits.npz`.

Every step of every rank is hit with probability p, independently (HM18, AGV05). `M` is the number
of hits on the worst path, so a completion is ``K * L + D * M``: of one rank (its inputs form a tree
with disjoint branches), or of the last rank, which is later and has no closed form (docs/model.md,
"What theory says").

The distribution of M on the last rank depends on p and the number of ranks alone, so one table of
simulated counts serves every latency and every duration. It is shipped;
``python -m jitterfly.inference.hit_tables`` makes it again (a quarter of an hour on two cores). All
p of a size see the same noise, so the means rise with p; between them, and below them, the
interpolation keeps to what is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jitterfly.algorithms import Butterfly
from jitterfly.case import Case
from jitterfly.distributions import Constant, Distribution
from jitterfly.network import Hockney
from jitterfly.noise import StepNoise
from jitterfly.simulate import simulate
from jitterfly.units import TICKS_PER_SECOND

Floats = npt.NDArray[np.float64]

Progress = Callable[[str, float, float], object]
"""Called with what is simulated, how much of it is done, and how much there is of it."""
_watched: ContextVar[Progress | None] = ContextVar("watched", default=None)
_SEARCH_EVALUATIONS = 10  # values of p that a search takes
UNIT = 1e-6  # seconds: 10^6 ticks, so that shapes are resolved to 10^-6
_COLUMN = {"last": 0, "mean": 2}  # of the spread: latest, earliest, mean
SHIPPED = Path(__file__).with_name("hits.npz")
SHIPPED_ROUNDS = 14  # of what is shipped
_SEED = 2018
_TABLE_START = 0.05  # p * ranks where a table begins; below, two hits on one path are rare: p^2
_TABLE_PER_DECADE = 12


def one_rank_tail(probability: npt.ArrayLike, rounds: int) -> Floats:
    """``P(M > m)`` of one rank, m = 0 ... rounds, shape (..., rounds + 1).

    ``F_{l+1}(m) = (1 - p) F_l(m)^2 + p F_l(m - 1)^2``, written for 1 - F so that small p keep all
    their digits.

    Examples
    --------
    >>> one_rank_tail(0.5, 2)  # P(M = 0) = 1 / 8, P(M = 2) = 3 / 8
    array([0.875, 0.375, 0.   ])
    """
    p = np.asarray(probability, dtype=np.float64)[..., None]
    above = np.zeros((*p.shape[:-1], rounds + 1))
    for _ in range(rounds):
        either = above * (2 - above)  # of the rank and its partner
        one_hit_less = np.concatenate([np.ones_like(p), either[..., :-1]], axis=-1)
        above = (1 - p) * either + p * one_hit_less
    return above


def any_hit(probability: npt.ArrayLike, rounds: int) -> Floats:
    """``P(M >= 1)`` of the last rank: one of the ``rounds * 2^rounds`` steps is hit."""
    p = np.asarray(probability, dtype=np.float64)
    with np.errstate(divide="ignore"):
        found: Floats = -np.expm1(rounds * 2.0**rounds * np.log1p(-p))
    return found


def pairs_of_steps(rounds: int) -> float:
    """The pairs of steps on one path: one of round r is on paths of 2^(s - r) steps of round s.

    ``p^2`` times that is the mean number of pairs that are hit, an upper bound on ``P(M >= 2)`` of
    the last rank, and close to it where hits are rare.
    """
    return 2.0**rounds * sum((rounds - gap) * 2.0**gap for gap in range(1, rounds))


@contextmanager
def watching(progress: Progress | None) -> Iterator[None]:
    """Tell `progress` how far each simulation of the block is: tables and fits are made of many."""
    token = _watched.set(progress)
    try:
        yield
    finally:
        _watched.reset(token)


def progress_part(name: str, done: int, parts: int) -> AbstractContextManager[None]:
    """Watch, as `watching`, the simulation of a block that is one part of something larger."""
    outer = _watched.get()

    def inside(_: str, here: float, of_here: float) -> None:
        if outer is not None:
            outer(name, done + here / of_here, parts)

    return watching(None if outer is None else inside)


class SearchProgress:
    """A reporter of the simulations of a search over p as parts of about ten.

    `what` stands before the report, to tell the search from another one.
    """

    def __init__(self, what: str = "") -> None:
        self.what, self.done = what, 0

    def __call__(self, realizations: int) -> AbstractContextManager[None]:
        """The simulation of the block is that of one p, with so many realizations."""
        self.done += 1
        name = f"{self.what}{realizations:,} realizations at each of about {_SEARCH_EVALUATIONS} p"
        return progress_part(name, self.done - 1, max(_SEARCH_EVALUATIONS, self.done))


def simulated_extra(
    ranks: int,
    delay: Distribution,
    probability: float,
    realizations: int,
    *,
    rank: str = "last",
    seed: int = 1,
    first_realization: int = 0,
) -> npt.NDArray[np.float64]:
    """The time beyond the noise-free one, in units of the scale of `delay`, shape (realizations,).

    Parameters
    ----------
    ranks : int
        A power of two.
    delay : Distribution
        Of one hit, its scale `UNIT`; or of measured delays, in whose microseconds the result is.
    probability : float
        That a step is hit, from 0 to 1.
    rank : "last" or "mean"
    """
    if probability == 0 or ranks == 1:
        return np.zeros(realizations)
    case = Case(
        ranks,
        algorithm=Butterfly(),
        network=Hockney(0.0, 0.0),
        noise=[StepNoise(delay, probability=probability, during="communication")],
        observe="completion" if rank == "last" else "spread",
    )
    progress, name = _watched.get(), f"{realizations:,} realizations at p = {probability:.3g}"
    report = None if progress is None else partial(progress, name)
    if report is not None:
        report(0, realizations)
    result = simulate(
        case, realizations, seed=seed, first_realization=first_realization, progress=report
    )
    ticks: npt.NDArray[np.float64] = result.ticks[:, _COLUMN[rank]] / (UNIT * TICKS_PER_SECOND)
    return ticks


@dataclass(frozen=True, eq=False)
class HitTable:
    """The counts of M = 0 ... rounds at each p, shape (probabilities, rounds + 1)."""

    rounds: int
    probabilities: Floats
    counts: npt.NDArray[np.int64]
    _curves: dict[int, Callable[[Floats], Floats]] = field(default_factory=dict, repr=False)

    @property
    def realizations(self) -> int:
        """The number of realizations at each p."""
        return int(self.counts[0].sum())

    def mean(self, probability: npt.ArrayLike) -> Floats:
        """``E[M]``, of the shape of `probability`."""
        p = np.asarray(probability, dtype=np.float64)
        return any_hit(p, self.rounds) + (0.0 if self.rounds < 2 else self._curve(0)(p))

    def error(self, probability: npt.ArrayLike) -> Floats:
        """The standard error of `mean`; what is exact has none."""
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

    def _curve(self, hits: int) -> Callable[[Floats], Floats]:
        """``P(M > hits)``, or ``E[(M - 1)+]`` for no hits: see `interpolated`."""
        if hits not in self._curves:
            steps = np.arange(self.rounds + 1)
            part = np.maximum(steps - 1, 0) if hits == 0 else steps > hits
            values = self.counts @ part / self.realizations
            self._curves[hits] = interpolated(self.probabilities, values, max(hits + 1, 2))
        return self._curves[hits]


def interpolated(grid: Floats, values: Floats, power: int) -> Callable[[Floats], Floats]:
    """Interpolate the positive values, in logarithms; below the first of them as p^power."""
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


def simulate_hit_table(
    rounds: int, realizations: int, per_decade: int = _TABLE_PER_DECADE
) -> HitTable:
    """Simulate a table."""
    low = _TABLE_START * 2.0**-rounds
    points = max(2, math.ceil(-math.log10(low) * per_decade) + 1)
    grid = np.exp(np.linspace(math.log(low), 0.0, points))
    grid[-1] = 1.0
    counts = np.empty((points, rounds + 1), dtype=np.int64)
    for i, p in enumerate(grid):
        with progress_part(f"table of hits for 2^{rounds} ranks", i, points):
            hits = simulated_extra(2**rounds, Constant(UNIT), float(p), realizations, seed=_SEED)
        counts[i] = np.bincount(np.rint(hits).astype(int), minlength=rounds + 1)
    return HitTable(rounds, grid, counts)


@lru_cache(maxsize=1)
def _shipped() -> dict[int, HitTable]:
    with np.load(SHIPPED) as file:
        return {
            k: HitTable(k, file[f"probabilities{k}"], file[f"counts{k}"].astype(np.int64))
            for k in range(1, SHIPPED_ROUNDS + 1)
        }


@lru_cache(maxsize=32)
def hit_table(rounds: int) -> HitTable:
    """The table of 2^rounds ranks: shipped, or coarser and made now, in seconds to minutes."""
    if is_shipped(rounds):
        return _shipped()[rounds]
    return simulate_hit_table(rounds, max(100, int(3e8 / (rounds * 2.0**rounds))), per_decade=6)


def is_shipped(rounds: int) -> bool:
    """Return whether `hit_table` answers at once, not after half a minute (2^15 ranks) or more."""
    return rounds <= SHIPPED_ROUNDS


def write_shipped_tables() -> None:
    """Make all tables: 2e8 steps of a rank at each p, or 20,000 realizations."""
    arrays: dict[str, Any] = {}
    for rounds in range(1, SHIPPED_ROUNDS + 1):
        one = simulate_hit_table(rounds, int(min(20_000, 2e8 / (rounds * 2.0**rounds))))
        arrays[f"probabilities{rounds}"] = one.probabilities
        arrays[f"counts{rounds}"] = one.counts.astype(np.uint16)
        print(f"2^{rounds} ranks: {len(one.probabilities)} p, {one.realizations} realizations")
    np.savez_compressed(SHIPPED, **arrays)


if __name__ == "__main__":
    write_shipped_tables()
