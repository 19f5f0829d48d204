"""Samples in the order of time: how many independent ones they are worth, and their intervals."""

import numpy as np
import pytest
from support.scale import scaled, some

from jitterfly import stats
from jitterfly.stats.measured_times import MIN_EFFECTIVE, Series, autocorrelation_time


def correlated(rng, count, lag_one):
    """Standard normal samples of an autoregression, shape (count,)."""
    drawn = rng.normal(size=count + 2000) * np.sqrt(1 - lag_one**2)
    values = np.empty_like(drawn)
    last = 0.0
    for i, new in enumerate(drawn.tolist()):
        last = lag_one * last + new
        values[i] = last
    return values[2000:]


@pytest.mark.parametrize("lag_one", [0.3, 0.5, 0.9])
def test_the_time_of_an_autoregression(lag_one):
    """(1 + r) / (1 - r). Medians of 9 are off by a third once in 10^4 at most."""
    rng = np.random.default_rng(4)
    known = (1 + lag_one) / (1 - lag_one)
    found = np.median([autocorrelation_time(correlated(rng, 3000, lag_one)) for _ in range(9)])
    assert known / 1.5 < found < known * 1.5


def test_the_time_by_hand():
    """Each sample ten times: 1 + 2 (0.9 + 0.8 + ... + 0.1) = 10."""
    drawn = np.random.default_rng(2).normal(size=4000)
    assert autocorrelation_time(np.repeat(drawn, 10)) == pytest.approx(10, rel=0.2)
    assert autocorrelation_time(np.tile([1.0, 2.0], 500)) == 1.0  # they alternate
    assert autocorrelation_time(np.ones(1000)) == 1.0
    assert autocorrelation_time(np.arange(15.0)) == 1.0  # too few to see
    assert autocorrelation_time(drawn * 1e-300) == autocorrelation_time(drawn)


@pytest.mark.parametrize("kind", ["normal", "pareto", "rare"])
def test_independent_samples_stay_so(kind):
    """Their intervals are those of `stats`, but for 1 in 15 series at most (here 30 of 300)."""
    rng = np.random.default_rng(6)
    draw = {"normal": lambda: rng.normal(size=500), "pareto": lambda: rng.pareto(1.5, size=500),
            "rare": lambda: np.where(rng.random(500) < 0.02, 5.0, 1.0)}[kind]  # fmt: skip
    changed, count = 0, scaled(300)
    for _ in range(count):
        samples = draw()
        series = Series(samples)
        pairs = [(series.mean(0.95), stats.mean(np.sort(samples)))]
        pairs += [(series.quantile(q, 0.95), stats.quantile(samples, q)) for q in (0.5, 0.95)]
        changed += any(
            (one.low, one.value, one.high) != (two.low, two.value, two.high) for one, two in pairs
        )
    assert changed <= max(count / 10, 5)


@pytest.mark.parametrize("lag_one", some([0.5, 0.9, 0.95], 2))
@pytest.mark.parametrize("form", ["normal", "lognormal"])
def test_intervals_of_dependent_samples(lag_one, form):
    """They hold the true value in 95 %; of 30 fewer than 25 hold it with 0.3 % chance."""
    rng, count = np.random.default_rng(11), scaled(300)
    change = {"normal": lambda x: x, "lognormal": np.exp}[form]
    truth = {"normal": [0.0, 0.0, 1.2816], "lognormal": [np.exp(0.5), 1.0, np.exp(1.2816)]}[form]
    held, narrow = np.zeros(3), 0
    for _ in range(count):
        samples = change(correlated(rng, 2000, lag_one))
        series = Series(samples)
        found = [series.mean(0.95), series.quantile(0.5, 0.95), series.quantile(0.9, 0.95)]
        held += [one.low <= true <= one.high for one, true in zip(found, truth, strict=True)]
        plain = stats.mean(samples)
        narrow += plain.low <= truth[0] <= plain.high
    assert (held >= 0.95 * count - 3 * np.sqrt(0.05 * 0.95 * count)).all()
    assert narrow < 0.85 * count  # as independent samples they would cover less


def test_too_few_have_no_intervals():
    samples = correlated(np.random.default_rng(3), 400, 0.98)
    series = Series(samples)
    assert series.effective() < MIN_EFFECTIVE
    for found in (series.mean(0.95), series.quantile(0.5, 0.95)):
        assert (found.low, found.high) == (-np.inf, np.inf)
    assert series.mean(0.95).value == pytest.approx(samples.mean())


def test_sorted_samples_count_as_independent():
    samples = np.sort(np.random.default_rng(3).normal(size=400))
    for one in (samples, samples[::-1].copy()):
        series = Series(one)
        assert series.is_sorted
        assert series.effective() == series.effective(0.5) == 400


def test_warm_up_is_of_the_first_alone():
    """A long first sample of many; none of few, of sorted ones, or that is below twice the median.

    Of independent samples one series in 200 begins with the longest of its 200.
    """
    rng = np.random.default_rng(1)
    usual = 1 + rng.exponential(size=999)
    for first, count in (([50.0], 1), ([40.0, 60.0], 2), ([], 0), ([1.5], 0), ([1.5, 90.0], 0)):
        assert Series(np.append(first, usual[usual < 7])).warm_up == count
    assert Series(np.append([50.0], usual[:20])).warm_up == 0
    assert Series(np.sort(np.append([50.0], usual))[::-1]).warm_up == 0
    assert Series(np.append([1.99], np.tile([0.99, 1.0, 1.01], 50))).warm_up == 0
    drawn = rng.lognormal(sigma=2, size=(2000, 200))
    found = sum(Series(one).warm_up > 0 for one in drawn)
    assert found <= 24  # 10 are due; more once in 10^4 runs
