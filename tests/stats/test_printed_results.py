"""Means and quantiles that were printed without their samples: by how much chance can move them."""

import numpy as np
import pytest
from support.scale import scaled, some

from jitterfly import stats
from jitterfly.answer import SECONDS, SHARE, show, show_interval, show_time
from jitterfly.stats.intervals import effective_events, quantile_rank, rare_event_margin, student_t
from jitterfly.stats.measured_times import reported_mean, reported_quantile

RNG = np.random.default_rng(17)
DRAWS = {
    "normal": lambda count: 50 + RNG.normal(size=count),
    "lognormal": lambda count: np.exp(1.5 * RNG.normal(size=count)),
    "rare": lambda count: 10 + RNG.exponential(size=count) + 40 * (RNG.random(count) < 0.02),
    "few values": lambda count: RNG.integers(1, 4, size=count).astype(float),
}


@pytest.mark.parametrize("kind", list(DRAWS))
@pytest.mark.parametrize(("iterations", "samples"),
                         some([(1000, 2000), (100, 10_000), (5000, 10_000)], 2))  # fmt: skip
def test_the_same_distribution_is_not_told_apart(kind, iterations, samples):
    """In 95 % at least of each; of 40 more than 7 are told apart with 0.2 % chance then."""
    count, apart = scaled(400), np.zeros(3)
    for _ in range(count):
        measured, like = (np.sort(DRAWS[kind](size)) for size in (iterations, samples))
        pairs = [(reported_mean(measured.mean(), iterations, like, 0.975), stats.mean(like, 0.975))]
        for q in (0.5, 0.99):
            value = measured[quantile_rank(iterations, q) - 1]
            pairs.append((reported_quantile(value, iterations, q, like, 0.975),
                          stats.quantile(like, q, 0.975)))  # fmt: skip
        apart += [one.low > other.high or one.high < other.low for one, other in pairs]
    assert (apart <= 0.05 * count + 3 * np.sqrt(0.05 * 0.95 * count)).all()


def test_what_differs_is_told_apart():
    """By five standard errors of the mean, and by twice the binomial range of the quantile."""
    like = np.sort(50 + np.random.default_rng(1).normal(size=20_000))
    for value, low, high in ((50.25, True, False), (49.75, False, True)):
        mean = reported_mean(value, 1000, like, 0.99)
        assert (mean.low > stats.mean(like, 0.99).high) == low
        assert (mean.high < stats.mean(like, 0.99).low) == high
        median = reported_quantile(value, 1000, 0.5, like, 0.99)
        assert (median.low > stats.quantile(like, 0.5, 0.99).high) == low
        assert (median.high < stats.quantile(like, 0.5, 0.99).low) == high


@pytest.mark.parametrize(("met", "share"), [(1, 0.9), (5, 0.5), (20, 1 / 7)])
def test_rare_events_that_samples_hardly_met_may_be_larger(met, share):
    """Of a delay that samples met often enough they tell the spread: then a seventh is enough."""
    like = np.zeros(2000)
    like[-met:] = 200.0
    found, events = reported_mean(1.0, 100, like, 0.95), effective_events(like)
    reach = student_t(0.95, 1999) * like.std(ddof=1) / 10
    margin = rare_event_margin(events / 20, 100, 0.95) * (200 - like.mean())
    assert 1.0 - found.low - reach == pytest.approx(share * margin, rel=0.01)


def test_what_is_not_known():
    same = np.ones(100)  # of which nothing tells what is rare
    mean = reported_mean(1.0, 1000, same, 0.95)
    assert (mean.low, mean.high) == (-np.inf, np.inf)
    few = reported_quantile(5.0, 30, 0.99, np.arange(100.0), 0.95)  # the largest of 30
    assert few.low == -np.inf
    for iterations in (1, 2):
        for found in (reported_mean(1.0, iterations, np.arange(9.0), 0.95),
                      reported_quantile(1.0, iterations, 0.5, np.arange(9.0), 0.95)):  # fmt: skip
            assert found.low <= 1.0 <= found.high


def estimate(value, low, high):
    return stats.Estimate(value, low, high, 0.95, 100)


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((3.39871, 3.39842, 3.39903), "3.3987 [3.3984, 3.399]"),
        ((33.44, 32.8, 34.08), "33.44 [32.8, 34.08]"),
        ((3.39871, 3.39842, np.inf), "3.3987 [3.3984, ?]"),
        ((5.0, 5.0, 5.0), "5 [5, 5]"),  # certain
        ((1.0, 1.0 - 1e-9, 1.0 + 1e-9), "1 [0.999999999, 1.000000001]"),
        ((1.0, 1.0 - 1e-15, 1.0), "1 [1, 1]"),  # what differs is rounding
    ],
)
def test_an_interval_has_the_digits_that_show_its_width(numbers, text):
    one, micro = estimate(*numbers), estimate(*(1e-6 * number for number in numbers))
    assert show_time(micro, "µs") == text
    assert show(micro, SECONDS) == f"{text} µs"
    assert show_interval(numbers, 4) == text
    assert format(one) == text.replace("?", "inf")
    if np.isfinite(numbers).all():
        assert show(one, digits=4) == text


def test_a_share_has_the_digits_that_show_its_interval():
    assert show(estimate(0.9951, 0.99488, 0.99529), SHARE) == "99.51% [99.49%, 99.53%]"
    assert show(estimate(0.995, 0.95, 1.0), SHARE) == "99.5% [95.0%, 100.0%]"
