"""Noise never makes a realization earlier, where `noise_only_delays` says so.

The intervals of means rest on it (`lower_bound`), and `advise`, which does not simulate what takes
longer without noise than another algorithm with it.
"""

import random
from collections import Counter

import pytest
from reference.collectives import GOALS
from reference.uneven import random_uneven_pair
from support.scale import at_most

import jitterfly as jf

KINDS = sorted(GOALS)
NETWORK = jf.LogGOPS(L="1us", o="200ns", G="0.1ns")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_random_cases_are_never_earlier(kind):
    """All kinds of noise, machines, arrivals and speeds; every observation, not the last alone."""
    met = Counter()
    for number in range(at_most(60, 24)):
        levels = kind != "butterfly" and number % 2 == 1
        rng = random.Random(f"never earlier {kind} {number}")
        case, _, (seed, _) = random_uneven_pair(rng, jf, kind, levels=levels)
        bounded = case.noise_only_delays()
        met[bounded] += 1
        if bounded:
            found = jf.simulate(case, 64, seed=seed, threads=1).ticks
            assert (found >= case.noise_free_observations()).all()
    assert met[True] >= 2


@pytest.mark.parametrize("ranks", [8, 13])
def test_forwards_of_all_numbers_are_never_earlier(ranks):
    """A minimum of times, with a fold and over cycles."""
    noise = [jf.PeriodicNoise("20us", "5us"), jf.MessageNoise(jf.Exponential("2us"), 0.3)]
    algorithm = jf.Butterfly(exchanges_after="all", forward_cost="1us")
    case = jf.Case(ranks, network=NETWORK, noise=noise, algorithm=algorithm, cycles=3,
                   compute_time="10us")  # fmt: skip
    assert case.noise_only_delays()
    assert (jf.simulate(case, 500).ticks >= case.noise_free_observations()).all()


@pytest.mark.parametrize("options", [{"copy_levels": "all"}, {"on_demand": "all"}])
def test_copies_inside_can_be_earlier(options):
    case = jf.Case(16, network=NETWORK, algorithm=jf.Butterfly(**options),
                   noise=[jf.StepNoise("5us", 0.1)])  # fmt: skip
    assert not case.noise_only_delays()


@pytest.mark.parametrize(
    ("factor", "hastens"),
    [
        (1, False),
        (1.25, False),
        (0.75, True),
        (jf.Constant(2), False),
        (jf.Lognormal(median=1, sigma=0.05), True),
        (jf.Lognormal(median=10, sigma=0.05), False),
        (jf.Empirical([1.0, 1.5, 3.0]), False),
        (jf.Empirical([0.0, 1.5]), False),  # 0 stands for a factor of 1
        (jf.Empirical([0.9, 1.5]), True),
        (jf.Pareto(scale=1.25, shape=6), False),
        (jf.Pareto(scale=0.9, shape=6), True),
    ],
    ids=str,
)
def test_drawn_speeds_can_be_faster(factor, hastens):
    noise = jf.SpeedNoise(factor, shared="machine")
    case = jf.Case(16, network=NETWORK, noise=[noise], compute_time="1ms")
    assert noise.hastens == hastens
    assert case.noise_only_delays() == (not hastens)
    found = jf.simulate(case, 300)
    assert (found.samples.min() < found.noise_free[0]) == hastens


def test_a_speed_that_nobody_draws_makes_nobody_faster():
    assert not jf.SpeedNoise(0.5, probability=0.0).hastens
    assert not jf.StepNoise("1us", 0.5).hastens
