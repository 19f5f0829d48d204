"""Simulation beside theory: one rank and the last one; how far samples are from exact laws."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from math import log, sqrt
from typing import Any

import numpy as np
from scipy import special

from .. import theory
from ..case import Case
from ..network import Hockney
from ..noise import Bernoulli, Distribution, Exponential, Pareto, StepNoise
from ..plots.theory_parts import Ends, Floats, Points
from ..simulate import simulate
from ..stats import mean

SEED = 4
ROUNDS = 13
LEVEL = 1e-3
"""Probability that one exact agreement would be called none."""
_DEEPEST = 1e-7  # of the tails that are drawn


@dataclass(frozen=True)
class Sizes:
    """Realizations for one rank, for the last, and for the largest of up to 2^`rounds` draws.

    And nodes of the grid for each doubling of time.
    """

    one: int
    last: int
    largest: int
    rounds: int
    points: int = 2**13


QUICK = Sizes(one=4000, last=4000, largest=2000, rounds=12)
FULL = Sizes(one=200_000, last=200_000, largest=10_000, rounds=18)


@dataclass(frozen=True)
class Agreement:
    """The distance of a sample to the distribution function that theory gives."""

    what: str
    realizations: int
    distance: float
    allowed: float
    simulated: tuple[float, float, float]  # mean and its 95 % interval, seconds
    exact: float


def _noises() -> list[tuple[str, Distribution]]:
    return [
        ("Bernoulli: 14 µs, p = 0.01", Bernoulli(0.01, "14us")),
        ("exponential, mean 5 µs", Exponential("5us")),
        ("Pareto from 1 µs, shape 3", Pareto("1us", 3)),
    ]


def machine(rounds: int, *noise: Any) -> Case:
    """HM18's barrier: 3.45 µs a round, all of it on the CPU, so that both data wait for it."""
    network = Hockney(0, 0, gamma="3.45us")
    return Case(2**rounds, network=network, noise=noise, message_bytes=1)


def ends(sizes: Sizes, told: Callable[[str], None]) -> tuple[list[Ends], list[Agreement]]:
    """One rank and the last one after 13 rounds, for each noise, at the receive and at the send."""
    found, checks = [], []
    for at in ("receive", "send"):
        for name, delay in _noises():
            told(f"one rank and the last: {name}, at the {at}")
            noise = StepNoise(delay, at=at, during="communication")  # type: ignore[arg-type]
            case = machine(ROUNDS, noise)
            one, last = (law(case, sizes.points) for law in (theory.one_rank, theory.last_rank))
            # Ranks of one realization share inputs: only one of them is taken.
            only = dataclasses.replace(case, observe="rank 0")
            ready = simulate(only, sizes.one, SEED).samples[:, 0]
            latest = simulate(case, sizes.last, SEED + 1).samples[:, 0]
            found.append(_ends(name, at, one, last, ready, latest))
            checks.append(agreement(f"{name}, at the {at}", one, ready))
    return found, checks


def _ends(
    name: str, at: str, one: theory.OneRank, last: theory.LastRank, ready: Floats, latest: Floats
) -> Ends:
    end = float(last.isf_bounds(_DEEPEST)[1])
    wide = "Pareto" in name
    first = float(one.isf(1.0))
    times = np.geomspace(max(first, 1e-9), end, 600) if wide else np.linspace(0, end, 600)
    if one.exact:
        times = np.unique(np.append(times, np.concatenate([ready, latest])))
    low, high = last.survival_bounds(times)
    return Ends(
        name, at, times, one.survival(times), low, high, later(ready), later(latest),
        steps=one.exact, wide=wide,
    )  # fmt: skip


def later(samples: Floats) -> Points:
    """P(later than t) at some of the samples, with Clopper and Pearson's intervals."""
    count = len(samples)
    ordered = np.sort(samples)
    shares = np.geomspace(0.9, 5 / count, 10)
    at = np.unique(ordered[np.minimum((1 - shares) * count, count - 1).astype(int)])
    number = count - np.searchsorted(ordered, at, side="right")
    at, number = at[number > 0], number[number > 0].astype(float)
    low = special.betaincinv(number, count - number + 1, 0.025)
    high = np.where(
        number < count, special.betaincinv(number + 1, np.maximum(count - number, 1), 0.975), 1.0
    )
    return Points(at, number / count, low, high)


def agreement(what: str, law: Any, samples: Floats) -> Agreement:
    """A sample beside its law."""
    values, counts = np.unique(samples, return_counts=True)
    upto = np.cumsum(counts) / len(samples)
    tick = 1e-12
    after = np.abs(upto - law.cdf(values)).max()
    before = np.abs(upto - counts / len(samples) - law.cdf(values - tick)).max()
    found = mean(samples)
    return Agreement(
        what,
        len(samples),
        float(max(after, before)),
        sqrt(log(2 / LEVEL) / (2 * len(samples))),
        (float(found.value), float(found.low), float(found.high)),
        law.mean(),
    )
