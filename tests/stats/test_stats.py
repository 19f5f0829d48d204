"""Student's t, quantile intervals, Clopper-Pearson, Fieller, win probability: coverage, pairing.

Tests that draw have a fixed seed. Each bound on a count of misses is its 1 - 1e-6 quantile, so a
correct program fails one of them for one seed in a million.
"""

import math
import re

import numpy as np
import pytest
import scipy.stats
from support.scale import scaled

from jitterfly import stats
from jitterfly.stats.intervals import binomial_ranks, clopper_pearson, student_t

FALSE_ALARM = 1e-6


def most_misses(draws, rate):
    return scipy.stats.binom.isf(FALSE_ALARM, draws, rate)


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 9, 29, 30, 199, 200, 1000, 10**7, 2**32])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
def test_student(freedom, confidence):
    expected = scipy.stats.t.ppf(0.5 + confidence / 2, freedom)
    assert student_t(confidence, freedom) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("count", [1, 5, 30, 72, 1000, 10**6, 2**31 - 1])
@pytest.mark.parametrize("q", [0.001, 0.05, 0.5, 0.95, 0.999])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_order_statistics(count, q, confidence):
    tail = (1 - confidence) / 2
    low, high = binomial_ranks(count, q, confidence)
    below = scipy.stats.binom(count, q)
    # The largest rank that lies above the quantile with at most `tail`, the smallest that lies
    # below it with at most `tail`.
    assert low is None or below.cdf(low - 1) <= tail
    assert below.cdf(low or 0) > tail
    assert high is None or below.sf(high - 1) <= tail
    assert below.sf((high or count + 1) - 2) > tail


def test_order_statistics_of_as_many_as_there_may_be():
    low, high = binomial_ranks(2**32, 0.99, 0.95)
    away = 1.96 * math.sqrt(2**32 * 0.99 * 0.01)
    assert low == pytest.approx(2**32 * 0.99 - away, abs=5)
    assert high == pytest.approx(2**32 * 0.99 + away, abs=5)


@pytest.mark.parametrize(("hits", "count"), [(0, 10), (3, 10), (10, 10), (1, 10**6), (0, 0)])
@pytest.mark.parametrize("confidence", [0.9, 0.9999])
def test_clopper_pearson(hits, count, confidence):
    found = clopper_pearson(hits, count, confidence)
    if not count:
        assert found == (0, 1)
        return
    expected = scipy.stats.binomtest(hits, count).proportion_ci(confidence, "exact")
    assert found == pytest.approx((expected.low, expected.high), rel=1e-9)


def test_mean():
    estimate = stats.mean([1.0, 2.0, 4.0, 9.0], 0.9)
    low, high = scipy.stats.t.interval(0.9, 3, 4.0, scipy.stats.sem([1, 2, 4, 9]))
    assert (estimate.value, estimate.realizations, estimate.confidence) == (4.0, 4, 0.9)
    assert (estimate.low, estimate.high) == pytest.approx((low, high))
    assert stats.standard_error([1, 2, 4, 9]) == pytest.approx(scipy.stats.sem([1, 2, 4, 9]))


def test_shapes():
    samples = np.random.default_rng(0).random((50, 3))
    estimate = stats.mean(samples)
    assert estimate.value.shape == estimate.low.shape == estimate.high.shape == (3,)
    for estimate in stats.quantiles(samples, [0.01, 0.5]):
        assert estimate.value.shape == estimate.low.shape == estimate.high.shape == (3,)
    column = stats.quantile(samples[:, 1], 0.5)
    assert (column.low, column.high) == (estimate.low[1], estimate.high[1])


def test_single_numbers_are_floats():
    samples = [1.0, 2.0, 4.0]
    for estimate in (
        stats.mean(samples),
        stats.mean([1.0]),
        stats.quantile(samples, 0.5),
        stats.difference(samples, samples),
        stats.ratio(samples, samples),
        stats.recovery(samples, [1.0, 1.0, 2.0], 0.5),
    ):
        assert {type(x) for x in (estimate.value, estimate.low, estimate.high)} == {float}
    assert type(stats.standard_error(samples)) is float


@pytest.mark.parametrize("unit", [1.0, 1e-12])
def test_rounding_is_no_difference(unit):
    """In seconds as in picoseconds: one hit that both met is one rare event, of unknown size."""
    hit = np.where(np.arange(30) == 7, 37_123_456.0, 0.0)
    a, b = (unit * (8_123_000 + hit), unit * (13_042_500 + hit))
    found = stats.difference(a, b)
    assert found.value == pytest.approx(-4_919_500 * unit)
    assert found.high - found.value > 37e6 * unit / 3
    assert found.value - found.low > 37e6 * unit / 3
    assert found.events == pytest.approx(1, rel=0.2)
    assert stats.difference(a, a + unit).value == pytest.approx(-unit)
    quiet = stats.difference(unit * np.full(30, 3.3), unit * np.full(30, 1.1))
    assert (quiet.low, quiet.high) == (-np.inf, np.inf)


def test_the_last_digits_of_times_are_no_events():
    """Times between two completions in seconds, and two programs in proportion."""
    before = np.random.default_rng(1).exponential(1e-3, 30)
    cycle = (before + 105.6e-6) - before
    assert 0 < np.ptp(cycle) < 1e-18
    found = stats.mean(cycle)
    assert (found.low, found.high, found.events) == (-np.inf, np.inf, 0)
    assert stats.mean(cycle, noisy=False).high == pytest.approx(105.6e-6)
    bounded = stats.mean(cycle, lower_bound=cycle.min() * (1 + 1e-15))
    assert bounded.value == pytest.approx(105.6e-6)
    ratio = stats.ratio(0.9 * cycle[::-1], cycle)
    assert (ratio.low, ratio.high) == (-np.inf, np.inf)
    difference = stats.difference(cycle, cycle[::-1] + 1e-6)
    assert (difference.low, difference.high) == (-np.inf, np.inf)
    met = stats.mean(cycle, noise_free=105.6e-6)
    assert (met.low, met.high) == (-np.inf, np.inf)
    apart = np.zeros(1000)
    apart[[3, 500]] = 1, -1
    assert stats.difference(10 + apart, np.full(1000, 10.0)).skewed
    hit = 1e-5 + np.where(np.arange(30) == 7, 37e-6, 0.0)
    one, other = stats.ratio(1.1 * hit, hit), stats.ratio(2 * hit, hit)
    assert one.high - 1.1 == pytest.approx(0.55 * (other.high - 2), rel=1e-6)
    assert one.high > 1.5


def test_estimates_as_text():
    assert str(stats.mean([1.0, 2.0, 3.0])) == "2 [-0.4841, 4.484]"
    assert f"{stats.mean([1.0, 2.0, 3.0]):.2f}" == "2.00 [-0.48, 4.48]"
    assert str(stats.mean([[1.0, 2.0]])) == "1 [-inf, inf], 2 [-inf, inf]"
    assert str(stats.mean(np.zeros((2, 100)))).endswith("0 [-inf, inf], ...")
    assert str(stats.mean(np.zeros((2, 100)), noisy=False)).endswith("0 [0, 0], ...")


def test_difference_is_paired():
    shared = np.random.default_rng(4).exponential(1.0, 50)
    estimate = stats.difference(shared + 0.25, shared)
    # What is too rare for 50 realizations may have been met by one side alone.
    unmet = np.ptp(shared) * (1 - 0.025 ** (1 / 50))
    few = stats.intervals.rare_event_margin(stats.effective_events(shared), 50, 0.95)
    reach = few * max(shared.max() - shared.mean(), shared.mean() - shared.min())
    assert estimate.value == pytest.approx(0.25)
    assert estimate.high - 0.25 == pytest.approx(reach + unmet)
    assert 0.25 - estimate.low == pytest.approx(reach + unmet)
    columns = np.stack([shared, 2 * shared], axis=1)
    assert stats.difference(columns, columns / 2).value.shape == (2,)


def drawn_ratio(rng):
    """The interval of a ratio of 2, from 200 realizations."""
    bottom = 5 + rng.exponential(1.0, 200)
    return 2, stats.ratio(2 * bottom + rng.normal(0.0, 1.0, 200), bottom, 0.9)


def drawn_recovery(rng):
    """That of a recovery of 0.4."""
    noiseless = 10 + rng.exponential(1.0, 200)
    conventional = noiseless + rng.normal(4.0, 1.0, 200)
    redundant = conventional - rng.normal(1.6, 0.5, 200)
    return 0.4, stats.recovery(conventional, redundant, noiseless, 0.9)


@pytest.mark.parametrize("drawn", [drawn_ratio, drawn_recovery])
def test_quotients_cover(drawn):
    draws, rng = scaled(1000), np.random.default_rng(14)
    misses = 0
    for _ in range(draws):
        true, estimate = drawn(rng)
        misses += not estimate.low <= true <= estimate.high
        assert estimate.low < estimate.value < estimate.high
    assert misses <= most_misses(draws, 0.1)
    assert draws - misses <= most_misses(draws, 0.9)


def test_ratio_of_little():
    one = stats.ratio([3.0], [2.0])
    assert (one.value, one.low, one.high) == (1.5, -math.inf, math.inf)
    unclear = stats.ratio([1.0, 2.0], [1.0, -1.0])
    assert math.isnan(unclear.value)
    assert unclear.too_small


def test_one_realization():
    assert stats.mean([3.0]).too_small
    assert stats.quantile([3.0], 0.5).too_small
    assert stats.quantile([3.0], 0.5).value == 3.0


@pytest.mark.parametrize("q", [0.05, 0.5, 0.95, 0.999])
def test_too_small(q):
    needed = stats.realizations_needed(q)
    samples = np.arange(needed, dtype=float)
    assert not stats.quantile(samples, q).too_small
    estimate = stats.quantile(samples[:-1], q)
    assert estimate.too_small
    # Only the end that is missing is infinite.
    assert math.isinf(estimate.high) == (q >= 0.5)
    assert math.isinf(estimate.low) == (q <= 0.5)


@pytest.mark.parametrize("q", [0.05, 0.5, 0.95])
def test_quantiles_cover(q):
    draws, confidence = 2000, 0.9
    samples = np.random.default_rng(11).pareto(1.5, size=(100, draws))
    estimate = stats.quantile(samples, q, confidence)
    true = scipy.stats.lomax(1.5).ppf(q)
    misses = np.count_nonzero((estimate.low > true) | (true > estimate.high))
    assert misses <= most_misses(draws, 1 - confidence)
    assert misses > 0


def test_means_cover():
    draws, confidence = 2000, 0.9
    estimate = stats.mean(np.random.default_rng(12).normal(5, 2, size=(20, draws)), confidence)
    misses = np.count_nonzero((estimate.low > 5) | (estimate.high < 5))
    assert misses <= most_misses(draws, 1 - confidence)
    assert draws - misses <= most_misses(draws, confidence)


def test_recovery_is_paired():
    # The share is nearly the same in every realization, so it is known, however much they vary.
    random = np.random.default_rng(1)
    overhead = random.exponential(1.0, 50)
    share = 0.25 + 1e-4 * random.standard_normal(50)
    estimate = stats.recovery(3 + overhead, 3 + (1 - share) * overhead, 3.0)
    few = stats.intervals.rare_event_margin(stats.effective_events(overhead), 50, 0.95)
    assert estimate.value == pytest.approx(0.25, abs=1e-4)
    assert estimate.high - 0.25 < 1e-4 + 0.75 * few * np.ptp(overhead) / overhead.mean()
    # Where no realization told them apart, it is as sure as what both share, not exact.
    same = stats.recovery(3 + overhead, 3 + 0.75 * overhead, 3.0)
    assert same.low < 0.24 < 0.26 < same.high


def test_recovery_without_overhead():
    nothing = np.ones(10)
    estimate = stats.recovery(nothing, nothing, nothing)
    assert estimate.too_small
    assert math.isnan(estimate.value)
    noise = np.random.default_rng(2).normal(0, 1, 10)
    unclear = stats.recovery(nothing + noise, nothing, nothing)
    assert (unclear.low, unclear.high) == (-math.inf, math.inf)


@pytest.mark.parametrize(
    "shares",
    [
        (0.5, 0, 0.5),
        (0.9, 0, 0.1),
        (0.6, 0.2, 0.2),
        (0.3, 0.7, 0),
        (0.05, 0.9, 0.05),
        (0, 0.9, 0.1),
    ],
)
@pytest.mark.parametrize("count", [20, 500])
def test_win_probability_covers(shares, count):
    draws, confidence = scaled(1000), 0.9
    true = shares[0] + shares[1] / 2
    misses = 0
    for wins, ties, losses in np.random.default_rng(15).multinomial(count, shares, draws).tolist():
        estimate = stats.win_probability(wins, ties, losses, confidence)
        misses += not estimate.low <= true <= estimate.high
        assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
    assert misses <= most_misses(draws, 1 - confidence)


@pytest.mark.parametrize("counts", [(-1, 0, 3), (1.5, 0, 3), (1, 0, "3"), (True, 0, 3)])
def test_win_probability_is_of_counts(counts):
    with pytest.raises(
        ValueError, match=r"^(wins|losses) must be an integer from 0 to 2\^62, got "
    ):
        stats.win_probability(*counts)
    assert stats.win_probability(np.int64(3), 1, 2).low == stats.win_probability(3, 1, 2).low


def test_win_probability_is_symmetric():
    one, other = stats.win_probability(70, 20, 10), stats.win_probability(10, 20, 70)
    assert (one.low, one.value) == pytest.approx((1 - other.high, 1 - other.value))
    assert one.high == pytest.approx(1 - other.low)
    # Newcombe's and Tango's intervals of 60 / 100 +- about 13 / 100, as a probability
    assert (one.low, one.high) == pytest.approx((0.723, 0.857), abs=0.003)


@pytest.mark.parametrize(("wins", "ties", "losses"), [(5, 0, 0), (5, 10**6, 0), (8, 30, 1)])
def test_no_winner_without_a_sign_test(wins, ties, losses):
    # The exact sign test of 5 : 0 has p = 0.06, that of 6 : 0 0.03, of 8 : 1 0.04.
    told = stats.win_probability(wins, ties, losses).low > 0.5
    assert told == (scipy.stats.binomtest(wins, wins + losses).pvalue < 0.05)
    assert stats.win_probability(6, ties, 0).low > 0.5
    assert math.isnan(stats.win_probability(0, 0, 0).value)


def test_confidence_set_covers():
    # Equal means: the first one is as good a best as any, and has to be in the set.
    draws, confidence = scaled(1000), 0.9
    rng = np.random.default_rng(16)
    misses = 0
    forms = np.hstack([np.eye(5, dtype=int), np.zeros((5, 1), dtype=int)]).tolist()
    for _ in range(draws):
        values = (rng.normal(0, 1, (100, 1)) + rng.normal(0, 1, (100, 5))) * 1e6
        cross_moments = stats.CrossMoments.of(np.rint(values).astype(np.int64))
        found = stats.confidence_set(cross_moments, forms, confidence)
        misses += 0 not in found.members
        assert found.best in found.members
    assert misses <= most_misses(draws, 1 - confidence)
    assert misses > 0


@pytest.mark.parametrize("count", [2, 20, 400])
def test_fewest_exchanges_is_the_smallest_of_the_confidence_set(count):
    forms = [[0, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 1, 0]]
    for seed in range(20):
        values = np.random.default_rng(seed).exponential([4e6, 2.2e6, 2.1e6, 2e6], (count, 4))
        values = np.rint(values).astype(np.int64)
        found = stats.confidence_set(stats.CrossMoments.of(values), forms)
        smallest = stats.fewest_exchanges(values)
        assert (smallest.T, smallest.best_T) == (found.members[0] + 1, found.best + 1)


def test_ratio_of_nearly_nothing():
    # A spread of 1e-9 of the mean: the interval is told to all its digits.
    rng = np.random.default_rng(17)
    x, y = 1 + 1e-9 * rng.normal(size=(2, 100))
    found, difference = stats.ratio(x, y), stats.difference(x, y)
    assert found.high - found.low == pytest.approx(difference.high - difference.low, rel=1e-3)


@pytest.mark.parametrize("events", [1, 5, 40])
def test_effective_events(events):
    samples = np.zeros(10_000)
    samples[:events] = 3.0
    assert stats.effective_events(samples) == pytest.approx(events, rel=0.02)
    assert stats.effective_events(1e-30 * samples) == pytest.approx(events, rel=0.02)
    counted = stats.effective_events(np.array([0.0, 3.0]), np.array([10_000 - events, events]))
    assert counted == pytest.approx(stats.effective_events(samples))
    assert stats.effective_events(np.full(5, 7.0)) == 0
    assert stats.effective_events(np.array([1.0, 2.0])) == 2


def columns(*differences, count=400):
    """Samples whose column T lies `differences[T]` above the last, on average."""
    rng = np.random.default_rng(3)
    base = rng.exponential(1.0, count)
    steps = [base + d * rng.exponential(1.0, count) for d in differences]
    return np.stack(steps, axis=1)


def test_fewest_exchanges():
    found = stats.fewest_exchanges(columns(3.0, 1.0, 0.5, 0.0, 0.0, 0.0))
    assert found.T == 3  # equal ones are not distinguishable, and the smallest of them is told
    assert found.mean == found.best_mean
    assert (found.realizations, found.confidence) == (400, 0.95)


def test_fewest_exchanges_does_not_follow_a_rare_event():
    samples = columns(3.0, 0.0, 0.0)
    samples[17, 1] += 0.01  # one realization alone does not tell T = 1 from T = 2
    found = stats.fewest_exchanges(samples)
    assert (found.T, found.best_T) == (1, 2)
    assert found.mean > found.best_mean


def test_fewest_exchanges_is_paired():
    # A difference far below the scatter of the completions, but the same in every realization.
    found = stats.fewest_exchanges(columns(1.0, 1e-3, 0.0))
    assert found.T == 2


def test_fewest_exchanges_from_0():
    samples = columns(0.0, 0.0, 0.0)
    assert stats.fewest_exchanges(samples).T == 1
    assert stats.fewest_exchanges(samples, first=0).T == 0


def test_what_the_input_adds_to_an_interval():
    """Ends at the root of the sum of squares; Student's t of as many replicates as there are."""
    known = stats.Estimate(10.0, 9.0, 12.0, 0.9, 1000)
    replicates = [8.0, 10.0, 12.0, 11.0, 9.0]
    variance = np.var(replicates, ddof=1)
    t = scipy.stats.t.ppf(0.95, 4)
    for within in (0.0, 1.0):
        found = stats.with_input_uncertainty(known, replicates, within)
        assert (found.value, found.confidence, found.realizations) == (10.0, 0.9, 1000)
        reach = t * math.sqrt(variance - within)
        assert found.low == pytest.approx(10 - math.hypot(1, reach))
        assert found.high == pytest.approx(10 + math.hypot(2, reach))
    # What realizations alone explain adds nothing; an end that is not known stays so.
    same = stats.with_input_uncertainty(known, replicates, 3.0)
    assert (same.low, same.high) == (9.0, 12.0)
    unknown = stats.Estimate(10.0, -math.inf, math.inf, 0.9, 1000)
    assert stats.with_input_uncertainty(unknown, replicates).too_small


@pytest.mark.parametrize(
    ("replicates", "within", "told"),
    [
        ([9.0], 0.0, "replicates must be 2 or more numbers"),
        ([[1.0, 2.0], [3.0, 4.0]], 0.0, "replicates must be 2 or more numbers"),
        ([], 0.0, "replicates must hold at least 1"),
        ([9.0, math.nan], 0.0, "replicates must be finite"),
        ([9.0, 8.0], -1.0, "within must be a variance from 0, got -1.0"),
        ([9.0, 8.0], "1us", "within must be a variance from 0, got '1us'"),
    ],
)
def test_what_is_no_replicate(replicates, within, told):
    with pytest.raises(ValueError, match=re.escape(told)):
        stats.with_input_uncertainty(stats.Estimate(10.0, 9.0, 12.0, 0.9, 9), replicates, within)


def test_thirty_run_means():
    samples = np.arange(95.0)
    assert stats.thirty_run_means(samples).tolist() == [14.5, 44.5, 74.5]
    assert stats.thirty_run_means(np.zeros((60, 4))).shape == (2, 4)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: stats.mean([]), "samples must hold at least 1 realizations, got 0"),
        (lambda: stats.mean(3.0), "samples must be an array of numbers"),
        (lambda: stats.mean(["a"]), "samples must be an array of numbers"),
        (lambda: stats.mean(None), "samples must be an array of numbers"),
        (lambda: stats.mean([[0], [1, 2]]), "samples must be an array of numbers, got [[0], [1"),
        (lambda: stats.ratio([1, 2], [1, 2, 3]), "numerator and denominator must be paired"),
        (lambda: stats.ratio(np.ones((2, 2)), np.ones((2, 2))), "numerator and denominator must"),
        (lambda: stats.ratio([1, 2], [1, 2], 2), "confidence must be above 0"),
        (lambda: stats.difference([1, 2], [1]), "minuend and subtrahend must be paired"),
        (lambda: stats.mean([True]), "samples must be an array of numbers"),
        (lambda: stats.mean([1.0, math.nan]), "samples must be finite"),
        (lambda: stats.mean([1.0, 2.0], 95), "confidence must be above 0 and below 1, got 95"),
        (lambda: stats.mean([1.0, 2.0], math.nan), "confidence must be above 0 and below 1"),
        (lambda: stats.standard_error([1.0]), "samples must hold at least 2"),
        (lambda: stats.quantile([1.0], 1.0), "q must be between 0 and 1, got 1.0"),
        (lambda: stats.quantile([1.0], "x"), "q must be between 0 and 1, got 'x'"),
        (lambda: stats.realizations_needed(0.0), "q must be between 0 and 1"),
        (lambda: stats.realizations_needed(0.5, 1.0), "confidence must be above 0 and below 1"),
        (
            lambda: stats.fewest_exchanges([1.0, 2.0]),
            "samples must have shape (realizations, T + 1)",
        ),
        (lambda: stats.fewest_exchanges(np.zeros((3, 1))), "samples must have shape"),
        (lambda: stats.fewest_exchanges(np.zeros((1, 3))), "samples must hold at least 2"),
        (
            lambda: stats.fewest_exchanges(np.zeros((3, 3)), first=3),
            "first must be an integer from 0",
        ),
        (lambda: stats.recovery([1, 2], [1, 2, 3], 0.0), "conventional, redundant and noiseless"),
        (lambda: stats.recovery([1], [1], 0.0), "conventional must hold at least 2"),
        (lambda: stats.thirty_run_means(np.zeros(29)), "samples must hold at least 30"),
        (lambda: stats.thirty_run_means(np.zeros(9), 0), "runs must be an integer from 1"),
    ],
)
def test_refused(call, text):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        call()
    assert str(caught.value).startswith(text)
