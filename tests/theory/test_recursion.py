"""Engine against theory: recursion of one rank, bounds of the last rank, extremes of N.

The theory: docs/model.md, "What theory says". False alarms: reference/chance.py; with several
levels from the same draws, for each level.
"""

import os
from dataclasses import replace
from math import log, sqrt

import numpy as np
import pytest
from reference.chance import FALSE_ALARM, check_counts, check_mean
from support import scale
from support.scale import crossed, scaled, some

import jitterfly as jf
from jitterfly import _core
from jitterfly.program import compile_case
from jitterfly.theory import Largest, last_rank, one_rank

DELAYS = {
    "bernoulli": jf.Bernoulli(0.02, "14us"),
    "exponential": jf.Exponential("5us"),
    "pareto": jf.Pareto("1us", 2),
    "pareto, thin": jf.Pareto("3us", 1.8),
    "lognormal": jf.Lognormal("2us", 1.5),
    "gamma": jf.Gamma(shape=0.3, scale="10us"),
}
PAPERS = ["bernoulli", "exponential", "pareto"]
# All of a round on the CPU: HM18's and AGV05's machine, where a rank waits L for its own data too.
ON_CPU = jf.Hockney(0, 0, gamma="3.45us")
TICK = 1e-12


def machine(rounds, *noise, **options):
    options = {"network": ON_CPU, "message_bytes": 1, **options}
    return jf.Case(2**rounds, noise=noise, **options)


def step(name, at="receive", **options):
    probability = 0.03 if "thin" in name else 1.0
    options = {"during": "communication", "probability": probability, **options}
    return jf.StepNoise(DELAYS[name], at=at, **options)


def check(samples, law):
    # Times are whole ticks, and what tables round of a delay is some ticks.
    check_between(
        samples,
        lambda t: law.cdf_bounds(t - 100 * TICK)[0],
        lambda t: law.cdf_bounds(t + 100 * TICK)[1],
    )


def check_between(samples, low, high):
    """Dvoretzky, Kiefer & Wolfowitz: the distance to a distribution function with bounds."""
    values, counts = np.unique(samples, return_counts=True)
    upto = np.cumsum(counts) / len(samples)
    reach = sqrt(log(2 / FALSE_ALARM) / (2 * len(samples)))
    assert (upto < high(values) + reach).all()
    assert (upto - counts / len(samples) > low(values) - reach).all()


def seen_at_levels(case, seed, count):
    """Ready times of each level, independent ones: ranks of different blocks share no input."""
    levels = [[] for _ in range(case.log2_ranks)]
    for realization in range(count):
        times = jf.ready_times(case, seed, realization)[1:-1]
        for level, row in enumerate(times, 1):
            levels[level - 1].append(row[realization % 2**level :: 2**level])
    return [np.concatenate(rows) for rows in levels]


@pytest.mark.parametrize(("at", "name"), crossed(["receive", "send"], some(DELAYS, 2)))
def test_one_rank(name, at):
    """K = 1 to 10 from the blocks of one machine: from 50,000 to 100 independent times."""
    case = machine(10, step(name, at))
    for level, samples in enumerate(seen_at_levels(case, 11, 100), 1):
        if level in (1, 3, 6, 10):
            check(samples, one_rank(replace(case, ranks=2**level), points=2**10))


def everything():
    """Delays at sends, receives and of messages, two of a kind, a compute phase, and a transit."""
    return machine(
        7,
        step("bernoulli", "send", during="all"),
        step("exponential", "receive", during="all"),
        step("gamma", "receive"),
        step("pareto, thin", "send", during="compute"),
        jf.MessageNoise(DELAYS["lognormal"], probability=0.5),
        network=jf.LogGOPS(L="2us", o="0.3us", G="1ns", gamma="1ns"),
        message_bytes=100,
        compute_time="20us",
    )


def test_one_rank_under_everything_at_once():
    case = everything()
    for level, samples in enumerate(seen_at_levels(case, 12, 200), 1):
        if level in ((1, 3, 7) if scale.FULL else (3,)):
            check(samples, one_rank(replace(case, ranks=2**level), points=2**10))


@pytest.mark.parametrize("rounds", [1, 4])
@pytest.mark.parametrize(("at", "name"), crossed(["receive", "send"], PAPERS))
def test_one_rank_a_million_times(rounds, name, at):
    check_rank_0(rounds, name, at, scaled(1_000_000))


@pytest.mark.parametrize(("at", "name"), crossed(["receive", "send"], some(PAPERS, 2)))
def test_one_rank_of_many(name, at):
    check_rank_0(13, name, at, scaled(1000, least=250))


@pytest.mark.skipif(
    not (_core.devices() or os.environ.get("JITTERFLY_LONG_TESTS")),
    reason="takes minutes without a GPU: set JITTERFLY_LONG_TESTS",
)
@pytest.mark.parametrize("name", PAPERS)
@pytest.mark.parametrize("at", ["receive", "send"])
def test_one_rank_of_many_a_million_times(name, at):
    """K = 1 to 13: the levels that rank 0 of 2^13 reaches are what smaller machines end with."""
    case = machine(13, step(name, at), observe="rank 0")
    backend = "cuda" if _core.devices() else "cpu"
    program = compile_case(case, every_row=True)
    ticks = _core.simulate(program, 13, 0, 1_000_000, "max", backend)
    for level in range(1, 14):
        check(ticks[:, level] * TICK, one_rank(replace(case, ranks=2**level), points=2**14))


def check_rank_0(rounds, name, at, count, points=2**11):
    """Rank 0 of `count` realizations."""
    case = machine(rounds, step(name, at), observe="rank 0")
    check(jf.simulate(case, count, seed=13).samples[:, 0], one_rank(case, points))


def test_without_work_there_is_no_compute_phase():
    noise = step("exponential", during="all")
    for work in (0, TICK):
        case = machine(3, noise, compute_time=work, observe="rank 0")
        check(jf.simulate(case, 20_000, seed=1).samples[:, 0], one_rank(case, 2**10))


def test_rank_0_is_that_of_ready_times():
    case = machine(5, step("pareto"), observe="rank 0")
    seen = jf.simulate(case, 4, seed=3).samples[:, 0]
    np.testing.assert_array_equal(seen, [jf.ready_times(case, 3, i)[-1, 0] for i in range(4)])


LAST = [everything()] + [
    machine(8, step(name, at), network=network)
    for name in PAPERS
    for at in ("receive", "send")
    for network in (ON_CPU, jf.Hockney("3us", 0, gamma="0.4us"))
]


@pytest.mark.parametrize("case", some(LAST, 3))
def test_the_last_rank_is_between_its_bounds(case):
    samples = jf.simulate(case, scaled(10_000, least=2000), seed=14).samples[:, 0]
    check(samples, last_rank(case, points=2**9 if scale.FULL else 2**8))


def test_bounds_of_rare_delays_are_close():
    """One delay makes many ranks late: P(any is late) is near K N p, and not N^2 p."""
    case = machine(12, jf.StepNoise("14us", probability=1e-7, during="communication"))
    last = last_rank(case)
    any_late = last.survival_bounds(12 * 3.45e-6)
    exact = -np.expm1(12 * 2**12 * np.log1p(-1e-7))
    assert any_late == pytest.approx((exact, 12 * 2**12 * 1e-7), rel=1e-3)
    hit = int((jf.simulate(case, 4000, seed=5).samples[:, 0] > 12.5 * 3.45e-6).sum())
    check_counts(np.array([hit, 4000 - hit]), [exact, 1 - exact])


def test_saturation():
    """HM18: at most K (L + D), and all of it where every step is hit."""
    case = machine(12, jf.StepNoise("14us", probability=1.0, during="communication"))
    most = jf.theory.saturation(case)
    assert most == pytest.approx(12 * 17.45e-6)
    assert (jf.simulate(case, 2).samples == most).all()
    rare = replace(case, noise=[replace(case.noise[0], probability=0.3)])
    assert jf.simulate(rare, 200, seed=2).samples.max() <= most


def phases_only(rounds, name):
    """AGV05's setting: one compute phase (of a tick), then a collective that takes no time."""
    noise = step(name, during="compute")
    return machine(rounds, noise, network=jf.Hockney(0, 0), compute_time=TICK)


def check_largest(rounds, name, count, seed):
    samples = jf.simulate(phases_only(rounds, name), count, seed=seed).samples[:, 0] - TICK
    largest = Largest(2**rounds, DELAYS[name])
    # Tables of smooth distributions are within 1e-4 of the delay.
    check_between(
        samples,
        lambda t: largest.cdf(t * (1 - 1e-4) - TICK),
        lambda t: largest.cdf(t * (1 + 1e-4) + TICK),
    )
    # The far tail: the largest of all draws of all realizations.
    of_all = Largest(count * 2**rounds, DELAYS[name])
    assert of_all.cdf(samples.max() * (1 + 1e-4) + TICK) > FALSE_ALARM / 2
    assert of_all.survival(samples.max() * (1 - 1e-4) - TICK) > FALSE_ALARM / 2
    return samples, largest


@pytest.mark.parametrize("name", ["bernoulli", "exponential", "pareto", "gamma", "lognormal"])
def test_the_largest_of_many_phases(name):
    check_largest(10, name, 2000, seed=15)


@pytest.mark.parametrize("name", ["exponential", "pareto"])
def test_the_largest_of_millions_of_phases(name):
    check_largest(16, name, 100, seed=15)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["exponential", "pareto"])
def test_the_largest_of_a_billion_phases(name):
    """1000 realizations of 2^20 ranks: the largest of 10^9 draws."""
    samples, largest = check_largest(20, name, 1000, seed=16)
    if name == "exponential":  # no draw is beyond 45 means
        check_mean(samples, largest.mean(), 0, 45 * DELAYS[name].mean)


def test_means_of_largest_phases():
    """mu H_N, within 4.9 standard errors, along N."""
    for rounds in (0, 3, 9):
        samples = jf.simulate(phases_only(rounds, "exponential"), 10_000, seed=17).samples[:, 0]
        expected = jf.theory.largest_exponential(2**rounds, "5us")
        assert abs(samples.mean() - expected) < 4.9 * samples.std() / sqrt(len(samples))
