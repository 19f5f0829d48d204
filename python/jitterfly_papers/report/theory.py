"""`jitterfly theory`: HTML page of closed forms and bounds against the engine."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from dataclasses import dataclass
from math import log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

from jitterfly import theory
from jitterfly.case import Case
from jitterfly.distributions import Bernoulli, Distribution, Exponential, Pareto
from jitterfly.files import read_text, write_whole
from jitterfly.network import Hockney, LogGOPS
from jitterfly.noise import PeriodicNoise, StepNoise
from jitterfly.plots import draw
from jitterfly.progress import Tell
from jitterfly.report import Facts, Picture, Table, width
from jitterfly.simulate import simulate
from jitterfly.stats import Estimate, mean
from jitterfly.units import show_seconds
from jitterfly.version import __version__

from .html_page import page
from .report_content import Report, Section
from .theory_figure_data import Ends, Floats, Growth, Limits, Points

SEED = 4
ROUNDS = 13
LEVEL = 1e-3
"""Probability that one exact agreement would be called none."""
_DEEPEST = 1e-7  # of the tails that are drawn


@dataclass(frozen=True)
class Sizes:
    """The realizations for one rank, for the last, and for the largest of up to 2^`rounds` draws.

    And nodes of the grid for each doubling of time.
    """

    one: int
    last: int
    largest: int
    rounds: int
    points: int = 2**13


QUICK = Sizes(one=4000, last=4000, largest=2000, rounds=12)
FULL = Sizes(one=200_000, last=200_000, largest=10_000, rounds=18)


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


def simulate_ends(sizes: Sizes, tell: Tell) -> tuple[list[Ends], list[list[str]]]:
    """Simulate one rank and the last after 13 rounds, for each noise, at receive and at send."""
    ends, checks = [], []
    for at in ("receive", "send"):
        for name, delay in _noises():
            tell(f"one rank and the last: {name}, at the {at}")
            noise = StepNoise(delay, at=at, during="communication")  # type: ignore[arg-type]
            case = machine(ROUNDS, noise)
            one_rank = theory.one_rank(case, sizes.points)
            last_rank = theory.last_rank(case, sizes.points)
            # Ranks of one realization share inputs: only one of them is taken.
            only = dataclasses.replace(case, observe="rank 0")
            ready = simulate(only, sizes.one, SEED).samples[:, 0]
            latest = simulate(case, sizes.last, SEED + 1).samples[:, 0]
            ends.append(_ends(name, at, one_rank, last_rank, ready, latest))
            checks.append(agreement(f"{name}, at the {at}", one_rank, ready))
    return ends, checks


def _ends(
    name: str,
    at: str,
    one_rank: theory.OneRank,
    last_rank: theory.LastRank,
    ready: Floats,
    latest: Floats,
) -> Ends:
    end = float(last_rank.isf_bounds(_DEEPEST)[1])
    wide = "Pareto" in name
    first = float(one_rank.isf(1.0))
    times = np.geomspace(max(first, 1e-9), end, 600) if wide else np.linspace(0, end, 600)
    if one_rank.exact:
        times = np.unique(np.append(times, np.concatenate([ready, latest])))
    low, high = last_rank.survival_bounds(times)
    return Ends(
        name, at, times, one_rank.survival(times), low, high, later(ready), later(latest),
        steps=one_rank.exact, wide=wide,
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


def agreement(what: str, law: Any, samples: Floats) -> list[str]:
    """A row of the table: the distance of a sample to the distribution that theory gives."""
    values, counts = np.unique(samples, return_counts=True)
    upto = np.cumsum(counts) / len(samples)
    tick = 1e-12
    after = np.abs(upto - law.cdf(values)).max()
    before = np.abs(upto - counts / len(samples) - law.cdf(values - tick)).max()
    allowed = sqrt(log(2 / LEVEL) / (2 * len(samples)))
    estimate = mean(samples)
    value, low, high = (
        show_seconds(float(x), 5) for x in (estimate.value, estimate.low, estimate.high)
    )
    return [
        what,
        f"{len(samples):,}",
        f"{max(after, before):.4f}",
        f"{allowed:.4f}",
        f"{value} [{low}, {high}]",
        show_seconds(law.mean(), 5),
    ]


_SCALE = 1e-5  # seconds, of every delay


def simulate_growth(sizes: Sizes, tell: Tell) -> tuple[list[Growth], list[list[str]]]:
    """The largest of N draws: a compute phase, then a collective that takes no time (AGV05)."""
    delays: dict[str, Any] = {
        "exponential": Exponential(_SCALE),
        "Pareto, shape 3": Pareto(_SCALE, 3),
        "Bernoulli, p = 0.001": Bernoulli(0.001, _SCALE),
        "residual of periodic noise, D / P = 0.01": theory.Residual(100 * _SCALE, _SCALE),
    }
    growth, checks = [], []
    for name, delay in delays.items():
        tell(f"the largest of N: {name}")
        steps = np.arange(0, sizes.rounds + 1, 2)
        samples = [_largest(delay, int(rounds), sizes.largest) for rounds in steps]
        law = theory.Largest(1 << int(steps[-1]), delay)
        checks.append(agreement(f"largest of {law.count:,}: {name}", law, samples[-1]))
        counts = np.power(2.0, np.arange(sizes.rounds + 1))
        means = np.array([theory.Largest(int(n), delay).mean() for n in counts])
        shares, tail = np.geomspace(3e-5, 0.999, 200), later(samples[-1])
        growth.append(
            Growth(
                name,
                counts,
                means / _SCALE,
                _points(np.power(2.0, steps), map(mean, samples), _SCALE),
                shares,
                law.isf(shares) / law.mean(),
                dataclasses.replace(tail, at=tail.at / law.mean()),
            )
        )
    return growth, checks


def _largest(delay: Any, rounds: int, count: int) -> Floats:
    noise: Any
    if isinstance(delay, theory.Residual):
        noise = PeriodicNoise(delay.period, delay.duration, start="stationary", during="compute")
    else:
        noise = StepNoise(delay, during="compute")
    work = 1e-12  # a tick: without any there is no compute phase
    case = Case(2**rounds, network=Hockney(0, 0), noise=[noise], compute_time=work)
    samples: Floats = simulate(case, count, SEED + 2).samples[:, 0] - work
    return samples


def simulate_limits(sizes: Sizes, tell: Tell) -> Limits:
    """Simulate HM18's barrier on 4096 ranks for every p, its end; and LogGP without noise."""
    tell("HM18's saturation, LogGP without noise")
    p = np.geomspace(1e-6, 1.0, 61)
    models = [theory.StepModel(12, "3.45us", Bernoulli(float(x), "14us")) for x in p]
    one_rank = np.array([theory.one_rank(model).mean() for model in models])
    last = np.array([theory.last_rank(model).mean_bounds() for model in models])
    noises = (StepNoise("14us", probability=float(x), during="communication") for x in p[::6])
    cases = [machine(12, noise) for noise in noises]
    seen = [mean(simulate(case, sizes.last // 4, SEED + 3).samples[:, 0]) for case in cases]
    levels = [
        ("no noise: K L", 12 * 3.45e-6),
        ("K (L + D): the latest that such delays can be", theory.saturation(models[0])),
        ("HM18 measured: 671 µs, tuned 94 µs", 671e-6),
    ]
    ranks = np.power(2.0, np.arange(0, 15))
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
        one=one_rank,
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


PAGE = "theory.html"
_NUMBERS = "numbers.json"
_HEADER = (
    "setting",
    "realizations",
    "distance",
    f"exceeded with\nprobability {LEVEL:g}",
    "simulated mean [95 %]",
    "exact mean",
)
_TITLE = "Theory beside simulation"
_INTRODUCTION = (
    "What is known without simulation: exact distributions and bounds, drawn as lines and areas, "
    "and what the engine gives for the same settings, drawn as dots with intervals."
)
_NOTES = (
    "One rank: its inputs form a binary tree whose branches share no rank, so the distribution of "
    "its ready time follows level by level: F(t) becomes (f * F^2)(t - L) for a delay after the "
    "receive, and [(f * F)(t - L)]^2 for one before the send. For Bernoulli delays this is exact "
    "arithmetic on multiples of D; for others it is between two distributions, one rounded down "
    "and one up. The last rank is a maximum of dependent times and has no such form. It is not "
    "later than the latest of as many independent ranks, nor than the mean number of delays that "
    "could make it so late allows; and not earlier than the largest delay of a level on top of one "
    "rank's arrival there.",
    "The distance is the largest one between the distribution functions of sample and theory "
    "(Kolmogorov and Smirnov's); the number beside it holds for any distribution and sample size "
    "(Dvoretzky, Kiefer and Wolfowitz).",
    "HM18: Horikoshi et al., Scaling Collectives on Large Clusters of Intel Architecture "
    "Processors, IXPUG 2018. AGV05: Agarwal, Garg & Vishnoi, The Impact of Noise on the Scaling of "
    "Collectives: A Theoretical Approach, HiPC 2005. LogGP: Alexandrov et al., SPAA 1995.",
)
_PICTURES = {
    "ends": ("One rank and the last of 8,192", "Share of realizations later than a time"),
    "growth": ("The largest of N draws", "Mean of the largest of N against N, and its tail"),
    "limits": ("What limits a collective", "Completion against the probability of a delay"),
}


def section(out: Path, *, quick: bool, tell: Tell) -> Section:
    """The section on theory; its pictures and numbers are kept in `out`/theory and made once.

    Parameters
    ----------
    out : path
        The directory of the report.
    quick : bool
        Whether sizes are for half a minute on two cores; else for a GPU.
    tell : callable
        Gets a line of text that says what is done next.
    """
    folder = out / "theory"
    rows = _earlier_rows(folder, quick)
    if rows is None:
        folder.mkdir(parents=True, exist_ok=True)
        # Of other sizes: they must not stand beside pictures of these if this is killed.
        (folder / _NUMBERS).unlink(missing_ok=True)
        rows = _make(folder, QUICK if quick else FULL, tell)
        kept = {"key": _key(quick), "rows": rows}
        write_whole(folder / _NUMBERS, (json.dumps(kept, indent=1) + "\n").encode())
    table = Table("Distances between simulation and theory", _HEADER, tuple(map(tuple, rows)))
    pictures = tuple(_picture(folder, name) for name in _PICTURES)
    return Section("theory", "Theory", "HM18, AGV05, LogGP", (), pictures, (table,), (), _NOTES)


def write(out: Path, *, quick: bool, tell: Tell) -> Path:
    """The section as a page of its own, `out`/theory.html."""
    if not draw.can_draw():
        raise ValueError(draw.MISSING)
    facts: Facts = (("version", __version__), ("seed", str(SEED)))
    facts += (("sizes", "quick" if quick else "full"),)
    only_section = section(out, quick=quick, tell=tell)
    report = Report(_TITLE, facts, (only_section,), introduction=_INTRODUCTION)
    write_whole(out / PAGE, page(report).encode())
    return out / PAGE


def _key(quick: bool) -> str:
    return f"{__version__} {SEED} {QUICK if quick else FULL}"


def _earlier_rows(folder: Path, quick: bool) -> list[list[str]] | None:
    """The rows of an earlier call with the same sizes; None where there is none."""
    try:
        kept = json.loads(read_text(folder / _NUMBERS))
        whole = all((folder / f"{name}.svg").is_file() for name in _PICTURES)
        return list(kept["rows"]) if whole and kept["key"] == _key(quick) else None
    except (OSError, ValueError, TypeError, KeyError, RecursionError):  # none, or damaged
        return None


def _make(folder: Path, sizes: Sizes, tell: Tell) -> list[list[str]]:
    from ..plots import theory as plots

    ends, checks = simulate_ends(sizes, tell)
    growth, more = simulate_growth(sizes, tell)
    limits = simulate_limits(sizes, tell)
    settings = f"{sizes.one:,} realizations of one rank, {sizes.last:,} of the last"
    count = f"{1 << sizes.rounds - sizes.rounds % 2:,}"
    drawn = ["one compute phase, then a collective that takes no time", f"{sizes.largest:,} each"]
    sides = [
        "left: 4096 ranks, 3.45 µs a round, 14 µs with a probability (HM18)",
        "right: L = 1 µs, o = 0.5 µs, without noise",
    ]
    tell("pictures")
    with draw.drawing():
        title = "One rank and the last of 8,192"
        figure = plots.draw_ends(ends, title, ["3.45 µs a round on the CPU", settings])
        draw.save(figure, folder / "ends.svg")
        figure = plots.draw_growth(growth, count, "The largest of N independent draws", drawn)
        draw.save(figure, folder / "growth.svg")
        figure = plots.draw_limits(limits, "What limits a collective", sides)
        draw.save(figure, folder / "limits.svg")
    return [*checks, *more]


def _picture(folder: Path, name: str) -> Picture:
    path = folder / f"{name}.svg"
    title, alt = _PICTURES[name]
    alt = f"{title}. {alt}: dots of simulation on lines and in areas of theory."
    return Picture(path.read_bytes(), "image/svg+xml", alt, width=width(path))
