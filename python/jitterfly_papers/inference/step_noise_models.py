"""Models of a scaling curve: ``latency = K * L + scale * extra(K, p)``.

A model is linear in the latency L of a step and in the scale of the noise. Only the probability p
that a step is hit enters through `extra`, which needs no simulation once it is tabulated.

All of L is paid after a delay. So it is where L is CPU time of a step, 2 o of LogGOPS. Where it is
time on the wire, the message of the partner comes while a rank is delayed, and the rank itself goes
on after its overheads: of several hits on a path, the model makes too much, up to L of each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from jitterfly.distributions import Exponential
from jitterfly.fields import check_choice

from .hit_tables import UNIT, hit_table, interpolated, one_rank_tail, progress_part, simulated_extra

Floats = npt.NDArray[np.float64]

MODELS = ("bernoulli", "exponential", "rare-exponential")
RANKS = ("last", "mean")
MAX_ROUNDS = 20
ASSUMED = (
    "all of L is taken to follow a delay, as CPU time does; where L is mostly time on the wire, "
    "the message has come meanwhile, and"
)
"""What fits and budgets rest on, and say; it ends with what is then different."""
IN_STEP = (
    "each collective is taken to begin on all ranks at once, as after a barrier; of a loop without "
    "one, in which ranks run ahead, delays come out too short and p too large"
)
"""What fits rest on, and say."""
_STEPS_PER_PROBABILITY = 2e8  # steps of a rank simulated at each p, for what is not shipped
_GRID_START = 0.05  # p * ranks where tables begin
_GRID_PER_DECADE = 6


@dataclass(frozen=True)
class Model:
    """The noise per step, and which rank's completion is the latency.

    `scale` is what the scale of the delay is called, `free` whether p is a parameter, and `most`
    the largest delay of a step in units of the scale.
    """

    name: str
    rank: str
    scale: str
    free: bool
    most: float

    def extra(self, rounds: npt.ArrayLike, probability: npt.ArrayLike) -> Floats:
        """The mean delay in units of the scale, shape (probabilities, points).

        Between powers of two linear in log2(ranks).
        """
        return self._over_rounds(self._mean, rounds, np.atleast_1d(probability))

    def error(self, rounds: npt.ArrayLike, probability: float) -> Floats:
        """The standard error of `extra` by the simulation behind it, shape (points,)."""
        found: Floats = self._over_rounds(self._error, rounds, np.array([probability]))[0]
        return found

    def _over_rounds(self, values: Any, rounds: npt.ArrayLike, p: Floats) -> Floats:
        k = np.asarray(rounds, dtype=np.float64)
        low = np.floor(k).astype(int)
        part = k - low
        needed = sorted({*low.tolist(), *np.ceil(k).astype(int).tolist()})
        at = {whole: values(whole, p) for whole in needed}
        columns = [
            (1 - f) * at[a] + (f * at[a + 1] if f > 0 else 0.0)
            for a, f in zip(low.tolist(), part.tolist(), strict=True)
        ]
        return np.stack(columns, axis=-1)

    def _mean(self, rounds: int, p: Floats) -> Floats:
        if rounds == 0:
            return np.zeros(p.shape)
        if self.name == "bernoulli":
            if self.rank == "mean":
                found: Floats = one_rank_tail(p, rounds).sum(axis=-1)
                return found
            return hit_table(rounds).mean(p)
        return simulated_mean(self.name, self.rank, rounds, self.free)[0](p)

    def _error(self, rounds: int, p: Floats) -> Floats:
        if rounds == 0 or (self.name == "bernoulli" and self.rank == "mean"):
            return np.zeros(p.shape)
        if self.name == "bernoulli":
            return hit_table(rounds).error(p)
        mean, relative = simulated_mean(self.name, self.rank, rounds, self.free)
        return relative * mean(p)


def make_model(name: str, rank: str) -> Model:
    """One of MODELS, for one of RANKS.

    Raises
    ------
    ValueError
        Another word.
    """
    check_choice(name, "model", MODELS)
    check_choice(rank, "rank", RANKS)
    if name == "bernoulli":
        return Model(name, rank, "delay", free=True, most=1.0)
    return Model(name, rank, "mean delay of a hit", free=name != "exponential", most=math.inf)


@lru_cache(maxsize=64)
def simulated_mean(name: str, rank: str, rounds: int, free: bool) -> tuple[Any, float]:
    """The mean delay as a function of p, and the largest relative standard error."""
    steps = rounds * 2.0**rounds
    count = int(np.clip(_STEPS_PER_PROBABILITY / (10 if free else 1) / steps, 100, 20_000))
    low = math.log(_GRID_START) - rounds * math.log(2)
    grid = np.exp(np.linspace(low, 0.0, math.ceil(-low / math.log(10) * _GRID_PER_DECADE) + 1))
    grid = grid if free else np.ones(1)
    grid[-1] = 1.0
    means, errors = np.empty(len(grid)), np.empty(len(grid))
    for i, p in enumerate(grid):
        with progress_part(f"{name} delays on 2^{rounds} ranks", i, len(grid)):
            found = simulated_extra(
                2**rounds, Exponential(UNIT), float(p), count, rank=rank, seed=7
            )
        means[i] = found.mean()
        errors[i] = found.std(ddof=1) / math.sqrt(count) / max(means[i], 1e-12)
    if len(grid) == 1:
        return lambda p: np.full(np.shape(p), means[0]), float(errors.max())
    return interpolated(grid, means, 1), float(errors.max())
