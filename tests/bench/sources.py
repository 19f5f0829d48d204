"""Benchmark of each noise source: CPU time per rank-round, beside periodic noise.

Each measurement comes between two of periodic noise: a machine that others use too changes its
speed between one second and the next. Congestion is not among them: what it takes is routing, which
congestion.py measures beside a walk of the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from jitterfly.case import Case
from jitterfly.distributions import (
    Bernoulli,
    Empirical,
    Exponential,
    Gamma,
    Lognormal,
    Mixture,
    Pareto,
    Weibull,
)
from jitterfly.network import Hockney, LogGOPS
from jitterfly.noise import (
    LateArrival,
    MessageNoise,
    NetworkJitter,
    NetworkWeather,
    Noise,
    PeriodicNoise,
    RenewalNoise,
    SpeedNoise,
    StepNoise,
    TraceNoise,
)

from .beside import (
    INTERVAL,
    ComparedContestant,
    compared_engine,
    interval,
    ratios,
    table_head,
)
from .measure import spread

PERIODIC = "periodic"
_RARE = Bernoulli(0.001, "14us")
_DETOURS = [1e-3 * (k + 0.98 * (0.618034 * k % 1)) for k in range(1000)]  # one in each ms


def _binned(counts: np.ndarray, width: float) -> Noise:
    """A histogram from 0 on, with bins of one width."""
    edges = width * np.arange(len(counts) + 1)
    return StepNoise(Empirical(low=edges[:-1], high=edges[1:], count=counts))


SOURCES: dict[str, list[Noise]] = {
    "none": [],
    PERIODIC: [PeriodicNoise("1ms", "10us")],
    "periodic in a window": [PeriodicNoise("1ms", "10us", end="1000s")],
    "periodic, jitter": [PeriodicNoise("1ms", "10us"), NetworkJitter("1ms", "10us")],
    "periodic, renewal": [PeriodicNoise("1ms", "10us"), RenewalNoise("9.9ms", "100us")],
    "renewal": [RenewalNoise("990us", "10us")],
    "renewal, Pareto": [RenewalNoise("990us", Pareto("5us", 2))],
    "trace": [TraceNoise(starts=_DETOURS, durations=[1e-5] * len(_DETOURS), length="1s")],
    "step, Bernoulli": [StepNoise(_RARE)],
    "send, Bernoulli": [StepNoise(_RARE, at="send")],
    "step, exponential": [StepNoise(Exponential("100ns"))],
    "step, Pareto": [StepNoise(Pareto("50ns", 2))],
    "step, lognormal": [StepNoise(Lognormal("50ns", 1))],
    "step, gamma": [StepNoise(Gamma(shape=2, scale="50ns"))],
    "step, Weibull": [StepNoise(Weibull("50ns", 0.5))],
    "step, mixture": [StepNoise(Mixture([9, 1], [Exponential("50ns"), Pareto("100ns", 2)]))],
    "step, 1000 samples": [StepNoise(Empirical(samples=1e-10 * np.arange(1, 2000, 2)))],
    "step, 100000 samples": [StepNoise(Empirical(samples=1e-12 * np.arange(1, 200_000, 2)))],
    "step, 99 bins": [_binned(100 - np.arange(99), 3e-9)],
    "step, 1000 bins": [_binned(1 + 10**6 // (1 + np.arange(1000)) ** 2, 1e-8)],
    "message, exponential": [MessageNoise(Exponential("100ns"))],
    "message, Bernoulli": [MessageNoise(_RARE)],
    "weather": [NetworkWeather(Exponential("100ns"))],
    "arrival": [LateArrival(Exponential("100ns"))],
    "speed": [SpeedNoise(Lognormal(1, 0.05))],
}  # fmt: skip
"""One or two of each kind. Intervals take 1 % of the CPU, steps and messages 100 ns on average; or
rarely 14 us (Horikoshi et al. 2018)."""


def programs(ranks: int, noise: Sequence[Noise]) -> dict[str, Case]:
    """Conventional butterflies in which a round has one piece of CPU work, and two."""
    case = partial(Case, ranks, noise=noise)
    return {
        "Hockney": case(network=Hockney(1e-6, 1e-9, 1e-10)),
        "LogGOPS": case(network=LogGOPS(L=1e-6, o=1e-9, G=1e-9, gamma=1e-10)),
    }


def contestants(
    ranks: int, name: str, backend: str, threads: int | None
) -> list[ComparedContestant]:
    """The engine on every program under every source, each beside the periodic one."""
    found = [
        compared_engine(name, program, source, case, backend, threads)
        for source, noise in SOURCES.items()
        for program, case in programs(ranks, noise).items()
    ]
    periodic = {c.program: c for c in found if c.noise == PERIODIC}
    for contestant in found:
        if contestant.noise != PERIODIC:
            contestant.beside = periodic[contestant.program]
    return found


def costs(contestant: ComparedContestant) -> list[float]:
    """Nanoseconds per rank-round, one for each repeat.

    CPU time, which other programs on the machine lengthen little; of a GPU the time by the clock.
    """
    count = contestant.rank_rounds * contestant.realizations
    return [1e9 * s / count for s in contestant.times()]


def compared(measured: Sequence[ComparedContestant]) -> list[dict[str, Any]]:
    """Each source's cost, and its ratio to the periodic one of the same program beside it."""
    rows = []
    for c in measured:
        rows.append({
            "name": c.name,
            "program": c.program,
            "noise": c.noise,
            "threads": c.threads,
            "realizations": c.realizations,
            "nanoseconds_per_rank_round": spread(costs(c)),
            "times_periodic": ratios(c.times_beside()),
        })  # fmt: skip
    return rows


def table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Lines of text: a source a line, its cost on each program."""
    lines = []
    for name in dict.fromkeys(row["name"] for row in rows):
        mine = {(row["noise"], row["program"]): row for row in rows if row["name"] == name}
        columns = list(dict.fromkeys(program for _, program in mine))
        what = f"ns per rank-round of a butterfly, and times periodic {INTERVAL}"
        lines.append(f"{table_head(name)}, {what}")
        lines.append(f"{'noise':<22}" + "".join(f"{column:<34}" for column in columns).rstrip())
        for source in dict.fromkeys(noise for noise, _ in mine):
            cells = [_cell(mine[source, column]) for column in columns]
            lines.append(f"{source:<22}" + "".join(f"{cell:<34}" for cell in cells).rstrip())
    return lines


def _cell(row: dict[str, Any]) -> str:
    cost, times = row["nanoseconds_per_rank_round"]["median"], row["times_periodic"]
    return f"{cost:8.3f} {times['median']:8.2f}{interval(times)}"
