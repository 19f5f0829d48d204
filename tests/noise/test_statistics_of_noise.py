"""Statistical tests of periodic phases (uniform, independent) and Poisson network jitter.

See reference/chance.py for false alarms.
"""

from math import exp, factorial, sqrt

import numpy as np
import pytest
from reference.chance import TWO_SIDED, check_counts, check_distribution
from scipy import stats
from support.scale import scaled

import jitterfly as jf
from jitterfly.simulate import noise_phases


def uniform(x):
    return np.clip(x / 1e-3, 0, 1)  # the period is 1 ms throughout


def case(ranks, noise, **options):
    options = {"network": jf.LogGOPS(L=1e-6, o=1e-9, gamma=1e-10), "message_bytes": 1, **options}
    return jf.Case(ranks, noise=[noise], **options)


def test_phases_are_uniform_over_ranks_and_realizations():
    noise = jf.PeriodicNoise(1e-3, 1e-5)
    phases = noise_phases(case(2**18, noise), seed=1, realization=0)
    check_distribution(phases, uniform)
    several = case(64, noise)
    count = scaled(1000)
    phases = np.array([noise_phases(several, 2, realization) for realization in range(count)])
    check_distribution(phases.ravel(), uniform)
    check_distribution(phases.max(axis=1), lambda x: uniform(x) ** 64)


def test_phases_are_independent():
    """Correlations of neighbours in rank, realization and seed vanish."""
    several = case(256, jf.PeriodicNoise(1e-3, 1e-5))
    phases = np.array([[noise_phases(several, seed, realization) for realization in range(50)]
                       for seed in range(10)])  # fmt: skip
    unit = phases / 1e-3 * sqrt(12) - sqrt(3)  # mean 0, variance 1
    for axis in range(3):
        moved = np.moveaxis(unit, axis, 0)
        products = moved[1:] * moved[:-1]
        assert abs(products.mean()) < TWO_SIDED / sqrt(products.size)


@pytest.mark.parametrize("nodes", [4, "machine"])
def test_a_node_has_one_phase(nodes):
    several = case(64, jf.PeriodicNoise(1e-3, 1e-5, shared=nodes))
    count = scaled(2000)
    phases = np.array([noise_phases(several, 3, realization) for realization in range(count)])
    per_node = phases.reshape(count, -1, 4 if nodes == 4 else 64)
    assert (per_node == per_node[:, :, :1]).all()
    check_distribution(per_node[:, :, 0].ravel(), uniform)


@pytest.mark.parametrize("mean", [0.01, 0.7, 4.0])
def test_jitter_is_poisson(mean):
    """MS12's events per message: Poisson(transit / period) of them, for originals and forwards."""
    transit, delay, count = 1e-6, 1e-3, 10_000
    jitter = jf.NetworkJitter(transit / mean, delay)
    one_round = case(2, jitter, network=jf.Hockney(transit, 0), observe="rounds")
    result = jf.simulate(one_round, count, seed=4)
    probabilities = [exp(-mean) * mean**k / factorial(k) for k in range(40)]
    both = [result.column(f"level 1: {which}") for which in ("max", "min")]  # the two messages
    events = np.rint((np.concatenate(both) - transit) / delay).astype(int)
    check_counts(np.bincount(events, minlength=40), probabilities)


def test_jitter_of_forwards():
    """Two ranks, T = 1: the later one is done after min(its own events, first + the forward's)."""
    mean, transit, delay = 0.7, 1e-6, 1e-3
    jitter = jf.NetworkJitter(transit / mean, delay)
    saved = case(
        2, jitter, network=jf.Hockney(transit, 0), algorithm=jf.Butterfly(exchanges_after=1)
    )
    events = np.rint(jf.simulate(saved, 20_000, seed=5).column("T=1") / delay).astype(int)
    poisson = stats.poisson.pmf(np.arange(20), mean)
    expected = np.zeros(20)
    for (own, other, forward), _ in np.ndenumerate(np.zeros((20, 20, 20))):
        first, second = min(own, other), max(own, other)
        expected[min(second, first + forward)] += poisson[own] * poisson[other] * poisson[forward]
    check_counts(np.bincount(events, minlength=20), expected)
