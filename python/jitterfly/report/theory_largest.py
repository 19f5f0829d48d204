"""Simulation beside theory: the largest of N draws, and what limits a collective."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .. import theory
from ..case import Case
from ..network import Hockney, LogGOPS
from ..noise import Bernoulli, Exponential, Pareto, PeriodicNoise, StepNoise
from ..plots.theory_parts import Floats, Growth, Limits, Points
from ..simulate import simulate
from ..stats import Estimate, mean
from .theory_data import SEED, Agreement, Sizes, agreement, later, machine

_SCALE = 1e-5  # seconds, of every delay


def growth(sizes: Sizes, told: Callable[[str], None]) -> tuple[list[Growth], list[Agreement]]:
    """The largest of N draws: a compute phase, then a collective that takes no time (AGV05)."""
    delays: dict[str, Any] = {
        "exponential": Exponential(_SCALE),
        "Pareto, shape 3": Pareto(_SCALE, 3),
        "Bernoulli, p = 0.001": Bernoulli(0.001, _SCALE),
        "residual of periodic noise, D / P = 0.01": theory.Residual(100 * _SCALE, _SCALE),
    }
    found, checks = [], []
    for name, delay in delays.items():
        told(f"the largest of N: {name}")
        steps = np.arange(0, sizes.rounds + 1, 2)
        samples = [_largest(delay, int(rounds), sizes.largest) for rounds in steps]
        law = theory.Largest(1 << int(steps[-1]), delay)
        checks.append(agreement(f"largest of {law.count:,}: {name}", law, samples[-1]))
        counts = 2.0 ** np.arange(sizes.rounds + 1)
        means = np.array([theory.Largest(int(n), delay).mean() for n in counts])
        shares, tail = np.geomspace(3e-5, 0.999, 200), later(samples[-1])
        found.append(
            Growth(
                name,
                counts,
                means / _SCALE,
                _points(2.0**steps, map(mean, samples), _SCALE),
                shares,
                law.isf(shares) / law.mean(),
                dataclasses.replace(tail, at=tail.at / law.mean()),
            )
        )
    return found, checks


def _largest(delay: Any, rounds: int, count: int) -> Floats:
    noise: Any
    if isinstance(delay, theory.Residual):
        noise = PeriodicNoise(delay.period, delay.duration, start="stationary", during="compute")
    else:
        noise = StepNoise(delay, during="compute")
    work = 1e-12  # a tick: without any there is no compute phase
    case = Case(2**rounds, network=Hockney(0, 0), noise=[noise], work=work)
    samples: Floats = simulate(case, count, SEED + 2).samples[:, 0] - work
    return samples


def limits(sizes: Sizes, told: Callable[[str], None]) -> Limits:
    """HM18's barrier on 4096 ranks for every p, its end; and LogGP without noise."""
    told("HM18's saturation, LogGP without noise")
    p = np.geomspace(1e-6, 1.0, 61)
    models = [theory.StepModel(12, "3.45us", Bernoulli(float(x), "14us")) for x in p]
    one = np.array([theory.one_rank(model).mean() for model in models])
    last = np.array([theory.last_rank(model).mean_bounds() for model in models])
    noises = (StepNoise("14us", probability=float(x), during="communication") for x in p[::6])
    cases = [machine(12, noise) for noise in noises]
    seen = [mean(simulate(case, sizes.last // 4, SEED + 3).samples[:, 0]) for case in cases]
    levels = [
        ("no noise: K L", 12 * 3.45e-6),
        ("K (L + D): the latest that such delays can be", theory.saturation(models[0])),
        ("HM18 measured: 671 µs, tuned 94 µs", 671e-6),
    ]
    ranks = 2.0 ** np.arange(0, 15)
    networks = [
        (f"g = {g} µs" if g else "g = 0", LogGOPS(L="1us", o="0.5us", g=f"{g}us"))
        for g in (0, 3, 6)
    ]
    gaps = [
        (name, np.array([theory.loggp_completion(network, int(n)) for n in ranks]))
        for name, network in networks
    ]
    free = [Case(int(n), network=networks[0][1], message_bytes=1) for n in ranks]
    times = np.array([simulate(case, 1).samples[0, 0] for case in free])
    return Limits(
        p=p,
        one=one,
        last_low=last[:, 0],
        last_high=last[:, 1],
        seen=_points(p[::6], seen, 1.0),
        levels=levels,
        ranks=ranks,
        gaps=gaps,
        seen_free=Points(ranks, times, times, times),
    )


def _points(at: Floats, means: Iterable[Estimate], scale: float) -> Points:
    values = np.array([(e.value, e.low, e.high) for e in means], dtype=float).T / scale
    return Points(at, *values)
