"""Exact third moments: against Python's integers, merging, and the rare events that they tell."""

import numpy as np
import pytest

from jitterfly.stats import CrossMoments, ThirdMoments, effective_events
from jitterfly.stats.intervals import RareEvents


def samples(bits, count=1000, seed=0):
    """Of that many binary digits and a sign."""
    rng = np.random.default_rng([seed, bits])
    return rng.integers(-(2**63), 2**63 - 1, count) >> (63 - bits)


@pytest.mark.parametrize("bits", [0, 3, 20, 21, 42, 62, 63])
def test_sums_are_exact(bits):
    x, y = samples(bits), samples(bits, seed=1)
    pairs = list(zip(x.tolist(), y.tolist(), strict=True))
    cubes = [sum(a ** (3 - i) * b**i for a, b in pairs) for i in range(4)]
    ends = [tuple(int(f(one)) for one in (x, y)) for f in (np.min, np.max)]
    counts = sum(a != b for a, b in pairs), sum(a != 0 or b != 0 for a, b in pairs)
    assert ThirdMoments.of(x, y) == ThirdMoments(tuple(cubes), *ends, *counts)
    assert ThirdMoments.of(x) == ThirdMoments((cubes[0],), ends[0][:1], ends[1][:1])


def test_merged_in_any_order():
    x, y = samples(50, 100_000), samples(30, 100_000)
    cuts = [0, 1, 70, 40_000]
    parts = [
        ThirdMoments.of(*pair) for pair in zip(np.split(x, cuts), np.split(y, cuts), strict=True)
    ]
    rng = np.random.default_rng(1)
    for _ in range(5):
        rng.shuffle(parts)
        assert sum(parts[1:], parts[0]) == ThirdMoments.of(x, y)


def drawn(shape, count, seed=0):
    """4 s and something, in ticks."""
    rng = np.random.default_rng(seed)
    base = 4 * 10**12
    bulk = {
        "normal": rng.normal(0, 10**6, count),
        "exponential": rng.exponential(10**7, count),
        "rare": (rng.random(count) < 0.004) * 10**9 + rng.normal(0, 10**5, count),
        "two points": np.where(np.arange(count) < 5, 10**8, 0.0),
    }[shape]
    return np.rint(base + bulk).astype(np.int64)


SHAPES = ["normal", "exponential", "rare", "two points"]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scale", [1, 10**12])
def test_rare_events_are_those_of_the_samples(shape, scale):
    x = drawn(shape, 3000)
    moments = CrossMoments.of(x[:, None]).moments([1, 0])
    found = ThirdMoments.of(x).rare_events(moments, scale)
    # Of what is left above the smallest one: with all its digits, a float64 has few for the spread.
    known = RareEvents.of((x - x.min()) / scale, (x - x.min()).mean() / scale)
    assert found.count == pytest.approx(float(known.count), rel=1e-9)
    assert (found.below, found.above) == pytest.approx((known.below, known.above), rel=1e-9)


def test_events_of_what_is_all_the_same():
    x = np.full(100, 4 * 10**12)
    moments = CrossMoments.of(x[:, None]).moments([1, 0])
    third = ThirdMoments.of(x)
    assert third.rare_events(moments, 10**12) == (0.0, 0.0, 0.0, 0.0)
    assert third.rare_events(moments, 10**12, noise_free=4.0) == (0.0, 0.0, 0.0, 0.0)
    assert third.rare_events(moments, 10**12, noise_free=3.0) == (100.0, 0.0, 0.0, 1.0)
    one = CrossMoments.of(x[:1, None]).moments([1, 0])
    assert ThirdMoments.of(x[:1]).rare_events(one, 1, noise_free=3.0).count == 0


def ratio_of(x, y, *, quotients):
    """What third moments tell, and what the samples tell."""
    moments = CrossMoments.of(np.stack([x, y], axis=1)).moments([1, 0, 0], [0, 1, 0])
    ends = (float((x / y).min()), float((x / y).max())) if quotients else None
    found = ThirdMoments.of(x, y).rare_events_of_ratio(moments, ends)
    return found, RareEvents.of_ratio(x.astype(float), y.astype(float), x.mean() / y.mean())


@pytest.mark.parametrize("quotients", [True, False])
@pytest.mark.parametrize("below", ["normal", "rare"])
@pytest.mark.parametrize("above", SHAPES)
def test_rare_events_of_a_ratio_are_those_of_the_samples(above, below, quotients):
    x, y = drawn(above, 3000), drawn(below, 3000, 1)
    for found, known in (ratio_of(x, y, quotients=quotients), ratio_of(-x, -y, quotients=False)):
        assert found.count == pytest.approx(float(known.count), rel=0.01)
        # Never nearer than the samples show, and farther only where both sides vary.
        assert known.below <= found.below * (1 + 1e-6) <= 2 * known.below
        assert known.above <= found.above * (1 + 1e-6) <= 2 * known.above


@pytest.mark.parametrize("shape", SHAPES)
def test_two_sides_that_hardly_differ(shape):
    x = drawn(shape, 3000)
    found, known = ratio_of(x, x, quotients=True)  # as sure as what they share
    assert found.count == pytest.approx(effective_events((x - x.min()).astype(float)), rel=1e-9)
    assert found.all_met == pytest.approx(known.all_met)
    y = x.copy()
    y[:4] += [1000, -1000, 500, -500]  # the means are the same, and four realizations differ
    assert ratio_of(y, x, quotients=True)[0].count == 4
    y[4] += 10**7
    found, known = ratio_of(y, x, quotients=True)
    assert found.count == pytest.approx(float(known.count), rel=0.01)


def test_few_hits_that_have_both_signs():
    """Of a recovery: where nothing was hit, both sides are 0."""
    hit = np.arange(3000) < 12
    x, y = 10**7 * hit * (np.arange(3000) % 2), 10**7 * hit
    found, known = ratio_of(x, y, quotients=False)
    assert found.count == known.count == 12


def test_a_ratio_over_nothing():
    moments = CrossMoments.of(np.array([[1, 0], [2, 0]])).moments([1, 0, 0], [0, 1, 0])
    third = ThirdMoments.of(np.array([1, 2]), np.array([0, 0]))
    assert third.rare_events_of_ratio(moments) == (0.0, 0.0, 0.0, 0.0)
