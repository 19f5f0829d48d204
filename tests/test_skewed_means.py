"""Means of skewed samples: how often their intervals cover, and that they say so.

Seeds are fixed. Each bound is five standard deviations away, so that of all bounds together a
right program fails with less than 1 in 100,000 seeds.
"""

import math

import numpy as np
import pytest

from jitterfly import stats
from jitterfly.advice import statistic
from jitterfly.observables.targets import LEAST_EVENTS

DRAWS = 4000
SAMPLES = {  # of a shape, with its mean; expected coverage of 30 samples
    "exponential": (lambda rng, shape: rng.exponential(1.0, shape), 1.0, 0.92),
    "lognormal": (lambda rng, shape: rng.lognormal(0.0, 1.0, shape), math.exp(0.5), 0.885),
    "wide lognormal": (lambda rng, shape: rng.lognormal(0.0, 1.5, shape), math.exp(1.125), 0.79),
    "rare": (lambda rng, shape: 1 + 100.0 * (rng.random(shape) < 0.05), 6.0, 0.79),
}


def drawn(name, count):
    draw, mean, _ = SAMPLES[name]
    estimate = stats.mean(draw(np.random.default_rng(5), (count, DRAWS)))
    covered = (estimate.low <= mean) & (mean <= estimate.high)
    marked = (estimate.events > 0) & (estimate.events < min(stats.ENOUGH_EVENTS, count))
    return covered, marked, estimate


def reach(share):
    return 5 * math.sqrt(share * (1 - share) / DRAWS)


@pytest.mark.parametrize("name", SAMPLES)
def test_thirty_skewed_samples_say_so(name):
    """Less than 95 % are covered. All but a few are marked, but where nothing rare was seen."""
    covered, marked, estimate = drawn(name, 30)
    expected = SAMPLES[name][2]
    assert abs(covered.mean() - expected) < reach(expected) + 0.005
    seen = estimate.events > 0  # of 0.95^30 = 21 % of samples no event was seen
    assert abs(seen.mean() - (1 - 0.95**30 if name == "rare" else 1)) < reach(0.21)
    assert marked[seen].mean() > (0.72 if name == "exponential" else 0.92)
    assert estimate.skewed
    assert "(skewed: rests on about " in str(estimate)


@pytest.mark.parametrize(("name", "count"), [("exponential", 1000), ("rare", 3000)])
def test_enough_events_cover(name, count):
    covered, marked, _ = drawn(name, count)
    assert marked.mean() < 0.01
    assert abs(covered.mean() - 0.95) < reach(0.95)


def test_what_is_not_skewed_is_not_marked():
    """Of 30 normal samples 2 % are marked: some seem to be skewed."""
    estimate = stats.mean(np.random.default_rng(6).normal(5, 1, (30, DRAWS)))
    assert np.mean(estimate.events < 30) < 0.02 + reach(0.02)
    for few in ([1.0, 2.0, 3.0], [1.0], [2.0] * 50):
        assert not stats.mean(few).skewed
        assert "skewed" not in str(stats.mean(few))
    assert not stats.quantile(np.arange(30.0) ** 4, 0.5).skewed


def test_events_are_those_of_studies():
    """The same count, column by column, and the same rule."""
    x = np.random.default_rng(7).lognormal(0, 1, (100, 3, 2))
    events = stats.mean(x).events
    each = [[stats.effective_events(x[:, i, j]) for j in range(2)] for i in range(3)]
    np.testing.assert_allclose(events, each, rtol=1e-12)
    assert stats.mean(x[:, 0, 0]).events == pytest.approx(events[0, 0], rel=1e-12)
    assert LEAST_EVENTS == statistic.ENOUGH_EVENTS == stats.ENOUGH_EVENTS == 30


def test_paired_differences_say_so_too():
    slow = 1 + np.r_[np.zeros(29), 50.0]
    assert stats.difference(slow, np.ones(30)).skewed
