"""Coverage of means of skewed samples and rare events, and warnings of too few events.

Seeds are fixed. Each bound is five standard deviations away, so that of all bounds together a
right program fails with less than 1 in 100,000 seeds.
"""

import math

import numpy as np
import pytest
from support.scale import crossed, full_scale, some

import jitterfly as jf
from jitterfly import stats
from jitterfly.advice import question
from jitterfly.observables import (
    CellData,
    Column,
    LinearForm,
    Measure,
    MeasureFamily,
    Observed,
    Ticks,
)
from jitterfly.observables.targets import ENOUGH_EVENTS

DRAWS = 4000
SAMPLES = {  # of a shape, with its mean; Student's interval covers 92, 88, 79 and 79 % of 30
    "exponential": (lambda rng, shape: rng.exponential(1.0, shape), 1.0),
    "lognormal": (lambda rng, shape: rng.lognormal(0.0, 1.0, shape), math.exp(0.5)),
    "wide lognormal": (lambda rng, shape: rng.lognormal(0.0, 1.5, shape), math.exp(1.125)),
    "rare": (lambda rng, shape: 1 + 100.0 * (rng.random(shape) < 0.05), 6.0),
}
DELAYS = {  # of a shape, with its mean
    "fixed": (lambda rng, shape: np.ones(shape), 1.0),
    "uniform": (lambda rng, shape: rng.random(shape), 0.5),
    "exponential": (lambda rng, shape: rng.exponential(1.0, shape), 1.0),
    "lognormal": (lambda rng, shape: rng.lognormal(0.0, 1.0, shape), math.exp(0.5)),
}
CHANCES = (1e-3, 3e-3, 1e-2, 3e-2, 0.05, 0.1, 0.2, 0.3)


def drawn(name, count):
    draw, mean = SAMPLES[name]
    estimate = stats.mean(draw(np.random.default_rng(5), (count, DRAWS)))
    covered = (estimate.low <= mean) & (mean <= estimate.high)
    marked = (estimate.events > 0) & (estimate.events < min(stats.ENOUGH_EVENTS, count))
    return covered, marked, estimate


def delayed(delay, chance, seed):
    """1500 samples of 40 realizations from 10 on, which were hit, and the true mean."""
    draw, mean = DELAYS[delay]
    rng = np.random.default_rng(seed)
    shape = 40, 1500
    hit = rng.random(shape) < chance
    return 10 + np.where(hit, draw(rng, shape), 0.0), hit, 10 + chance * mean


def reach(share):
    return 5 * math.sqrt(share * (1 - share) / DRAWS)


@pytest.mark.parametrize("name", SAMPLES)
def test_thirty_skewed_samples_cover_and_say_so(name):
    """All but a few are marked, but where nothing rare was seen."""
    covered, marked, estimate = drawn(name, 30)
    assert covered.mean() > 0.95 - reach(0.95)
    seen = estimate.events > 0  # of 0.95^30 = 21 % of samples no event was seen
    assert abs(seen.mean() - (1 - 0.95**30 if name == "rare" else 1)) < reach(0.21)
    assert marked[seen].mean() > (0.72 if name == "exponential" else 0.92)
    assert estimate.skewed
    assert "(skewed: rests on about " in str(estimate)


@pytest.mark.parametrize(("name", "count"), [("exponential", 1000), full_scale("rare", 3000)])
def test_enough_events_cover(name, count):
    covered, marked, _ = drawn(name, count)
    assert marked.mean() < 0.01
    assert abs(covered.mean() - 0.95) < reach(0.95)


def test_what_is_not_skewed_is_not_marked():
    """Of 30 normal samples 2 % are marked: some seem to be skewed."""
    estimate = stats.mean(np.random.default_rng(6).normal(5, 1, (30, DRAWS)))
    assert np.mean(estimate.events < 30) < 0.02 + reach(0.02)
    assert (estimate.low <= 5).mean() > 0.975 - reach(0.025)
    assert estimate.high.mean() - 5 < 1.03 * 2.045 / math.sqrt(30)  # about Student's
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
    assert ENOUGH_EVENTS == stats.ENOUGH_EVENTS == 30
    margin = stats.intervals.rare_event_margin(events[0, 0], 100, 0.95)
    assert margin > 0
    assert question._widening(x[:, 0, 0], 0.025, 2.0) == pytest.approx(2 * margin, rel=1e-12)


def test_paired_differences_say_so_too():
    slow = 1 + np.r_[np.zeros(29), 50.0]
    assert stats.difference(slow, np.ones(30)).skewed


@pytest.mark.parametrize("count", [30, 100])
def test_paired_differences_of_rarely_hit_programs(count):
    """A hit moves both sides, now and then one by more. With Student's interval of the differences
    and what they show of rare events, 30 realizations covered 61 %.
    """
    noise = jf.RenewalNoise(gap="10ms", duration=jf.Lognormal(median="20us", sigma=1))
    network = jf.LogGOPS(L="1us", o="200ns", G="0.1ns", gamma="0.05ns")
    kinds = jf.algorithms.RecursiveDoublingAllreduce(), jf.algorithms.RabenseifnerAllreduce()
    one, other = (
        jf.simulate(jf.Case(32, algorithm=algorithm, network=network, noise=[noise],
                            message_bytes=4096), realizations=60_000).samples[:, 0]
        for algorithm in kinds
    )  # fmt: skip
    groups = one.reshape(-1, count).T, other.reshape(-1, count).T
    found, truth = stats.difference(*groups), (one - other).mean()
    covered = (found.low <= truth) & (truth <= found.high)
    assert covered.mean() > 0.95 - 5 * math.sqrt(0.95 * 0.05 / covered.size)
    assert np.isfinite(found.high).mean() > 0.3


@pytest.mark.parametrize(("chance", "delay"), crossed(some(CHANCES, 3), some(DELAYS, 2)))
def test_few_realizations_and_rare_noise(delay, chance):
    """Of 40 realizations: an interval covers with 93 % at least, or it has no ends.

    Where there are ends, too, as far as there are enough of them to tell.
    """
    x, hit, truth = delayed(delay, chance, 11)
    for statistics_of in (stats.mean, _as_ranked):
        estimate = statistics_of(x)
        unknown = np.isinf(estimate.low) & np.isinf(estimate.high)
        assert np.array_equal(unknown, ~hit.any(axis=0))
        covered = (estimate.low <= truth) & (truth <= estimate.high)
        assert covered[unknown].all()
        assert covered.mean() > 0.93
        known = np.count_nonzero(~unknown)
        if known > 400:
            assert covered[~unknown].mean() > 0.93 - 5 * math.sqrt(0.93 * 0.07 / known)


@pytest.mark.parametrize(("chance", "delay"), crossed(some(CHANCES, 3), some(DELAYS, 2)))
def test_a_bound_takes_what_is_impossible_and_no_coverage(delay, chance):
    """Noise only adds to 10: no interval reaches below, and each covers where it did before."""
    x, _, truth = delayed(delay, chance, 12)
    for statistics_of in (stats.mean, _as_ranked):
        whole, bounded = statistics_of(x), statistics_of(x, lower_bound=10.0)
        known = np.isfinite(whole.low)
        assert np.array_equal(known, np.isfinite(bounded.low))  # nothing seen: still not known
        assert np.isinf(bounded.high[~known]).all()
        assert (bounded.low[known] >= 10).all()
        assert np.array_equal(bounded.low[known], np.maximum(whole.low[known], 10))
        assert np.array_equal(bounded.value, whole.value)
        assert np.array_equal(bounded.high, whole.high)
        assert (whole.low[known] < 10).mean() > (0.5 if chance < 0.1 else 0)
        covers = [(one.low <= truth) & (truth <= one.high) for one in (whole, bounded)]
        assert np.array_equal(*covers)
        assert covers[1].mean() > 0.95 - 5 * math.sqrt(0.95 * 0.05 / x.shape[1])


def test_bounds_of_columns_and_of_what_has_no_error():
    x = np.array([[1.0, 5.0], [1.0, 5.0], [1.0, 9.0], [4.0, 7.0]])
    found = stats.mean(x, lower_bound=[1.0, 5.0])
    assert np.array_equal(found.low, [1.0, 5.0])
    assert found.events is not None
    same = stats.mean([0.1] * 3, noisy=False, lower_bound=0.1)  # 0.1 * 3 / 3 is above 0.1
    assert same.low <= same.value <= same.high
    alone = stats.mean([3.0], lower_bound=1.0)  # one realization has no interval
    assert (alone.low, alone.high) == (-math.inf, math.inf)
    assert stats.mean([3.0, 4.0]).bounded(None).low < 3 - 3
    with pytest.raises(ValueError, match="lower_bound must not be above any sample, got 2"):
        stats.mean([1.0, 3.0], lower_bound=2.0)
    with pytest.raises(
        ValueError, match=r"lower_bound must be None, a number, or numbers of shape \(\), got 'x'"
    ):
        stats.mean([1.0, 3.0], lower_bound="x")


@pytest.mark.parametrize("count", [2, 10, 40])
@pytest.mark.parametrize("chance", [0.5, 0.9, 0.99, 0.999])
def test_samples_that_are_all_met_by_noise(chance, count):
    """They are the same as those that no noise met, but for the noise-free value."""
    rng = np.random.default_rng(11)
    x = np.where(rng.random((count, 4000)) < chance, 14.0, 10.0)
    found = stats.mean(x, noise_free=10.0)
    truth = 10 + 4 * chance
    assert ((found.low <= truth) & (truth <= found.high)).mean() > 0.95 - 5 * 0.0035
    met, unmet = (x == 14).all(axis=0), (x == 10).all(axis=0)
    assert np.array_equal(found.low == -np.inf, unmet)
    reach = 4 * (1 - 0.025 ** (1 / count))
    assert np.allclose(found.high[met], 14 + reach)
    assert np.allclose(found.low[met], 14 - reach)
    assert (np.asarray(found.events)[met] == count).all()
    rest = ~met & ~unmet
    plain = stats.mean(x)
    for end in ("low", "high"):
        assert np.array_equal(getattr(found, end)[rest], getattr(plain, end)[rest])


def test_all_met_of_columns_and_of_one_realization():
    found = stats.mean([[1.0, 5.0], [1.0, 5.0]], noise_free=[1.0, 3.0])
    assert np.array_equal(np.isfinite(found.low), [False, True])
    assert stats.mean([5.0], noise_free=3.0).too_small
    assert not stats.mean([5.0, 5.0], lower_bound=3.0, noise_free=3.0).skewed
    with pytest.raises(
        ValueError, match=r"noise_free must be None, a number, or numbers of shape \(\), got 'x'"
    ):
        stats.mean([1.0, 3.0], noise_free="x")


@pytest.mark.parametrize("kind", ["completion", full_scale("slowdown"), "overhead"])
def test_a_study_of_ranks_that_always_wait(kind):
    """A target is met where the slowest rank delays every realization as much."""
    slow = jf.SpeedNoise(1.05, probability=0.5)
    case = jf.Case(64, network="L=1us,o=200ns", noise=slow, compute_time="1ms")
    study = jf.Study("waits", case=case, axes=[jf.Axis("ranks", [64, 128])],
                     observables={"x": {"kind": kind}}, targets=["mean of x ± 1 %"],
                     budget=jf.RealizationBudget(min=32, max=5000))  # fmt: skip
    store = study.run()
    found = store.to_xarray()
    assert found["met"].all()
    assert (found["realizations"] < 5000).all()
    mean = found.sel(statistic="mean")
    assert ((mean["low"] < mean["estimate"]) & (mean["estimate"] < mean["high"])).all()


FIXED = [jf.StepNoise("1us"), jf.SpeedNoise(1.1), jf.PeriodicNoise("1ms", "50us", phases=[0, 0])]


@pytest.mark.parametrize("fixed", FIXED, ids=lambda noise: noise.kind)
def test_noise_that_is_not_drawn_hides_no_rare_noise(fixed):
    """It moves every realization, so that all differ from the noise-free one; none need be met."""
    rare = jf.StepNoise("1ms", probability=1e-12)
    given = {"network": "L=1us,o=200ns", "compute_time": "1ms"}
    (row,) = jf.slowdown([fixed, rare], 2, realizations=100, **given).rows
    assert row.mean.value > row.noise_free
    assert row.mean.too_small
    study = jf.Study("rare", case=jf.Case(2, noise=[fixed, rare], **given), axes=[],
                     observables={"x": {"kind": "completion"}}, targets=["mean of x ± 1 %"],
                     budget=jf.RealizationBudget(min=32, max=200))  # fmt: skip
    assert not study.run().to_xarray()["met"].any()
    names = ["ring", "recursive_doubling"]
    (cell,) = jf.advise(2, noise=[fixed, rare], candidates=names, realizations=64, **given).cells
    assert math.isinf(cell.ranking[0].value.high)


def _as_ranked(x, lower_bound=None):
    """The intervals by which algorithms are ranked, of the first samples."""
    ranked = question.Statistic.named("mean")
    found = [ranked.estimate(column, 0.025, lower_bound) for column in x.T]
    ends = [[getattr(one, end) for one in found] for end in ("value", "low", "high")]
    return stats.Estimate(*map(np.array, ends), 0.95, len(x))


@pytest.mark.parametrize(
    ("form", "chance"),
    crossed(["slowdown", "gain", "difference"], some([1e-3, 1e-2, 0.05, 0.3], 2)),
)
def test_few_realizations_of_observables(form, chance):
    """What studies show of 40 realizations of one rank, whose compute phase is delayed or not."""
    work, delay, draws = 10**7, 4 * 10**7, 300
    noise = jf.StepNoise(delay=delay * 1e-12, probability=chance)
    network = jf.Hockney("1us", 0.0, 0.0)
    case = jf.Case(1, network=network, noise=[noise], compute_time=work * 1e-12)
    late = np.rint(jf.simulate(case, 40 * draws, seed=3).samples * 1e12).astype(np.int64)
    names = [Column("noisy", "completion"), Column("other", "completion")]
    noisy, other = map(LinearForm.of, names)
    measure, truth = {
        "slowdown": (Measure("slowdown", noisy, work, lower_bound=1.0), 1 + chance * delay / work),
        "gain": (Measure("gain", noisy, other), 1 + chance * delay / work),
        "difference": (Measure("difference", noisy - other, work), chance * delay / work),
    }[form]
    covered, unknown = 0, 0
    for few in late.reshape(draws, 40):
        ticks = Ticks(tuple(names), np.stack([few, np.full(40, work)], axis=1))
        found = Observed(MeasureFamily(form, "", (measure,)), CellData(ticks)).mean()
        assert (found.low == -math.inf) == (found.high == math.inf) == bool((few == work).all())
        unknown += found.too_small
        assert found.too_small or found.low >= (measure.lower_bound or -math.inf)
        covered += found.low <= truth <= found.high
    assert covered / draws > 0.95 - 5 * math.sqrt(0.95 * 0.05 / draws)
    missed = (1 - chance) ** 40
    assert abs(unknown / draws - missed) < 5 * math.sqrt(missed * (1 - missed) / draws) + 1e-9


@pytest.mark.parametrize("count", [30, 100, 300])
def test_recovery_of_few_hits(count):
    """Redundancy takes 97 to 100 % of a hit away, but nothing of one in 30.

    The few hits of a sample do not show it, and their residuals have both signs. A right program
    covers with 97 % and more.
    """
    rng, draws = np.random.default_rng(13), 400
    truth = 1 - (1 / 30 + 29 / 30 * 0.015)
    covered = 0
    for _ in range(draws):
        hit = rng.random(count) < 0.0675
        left = np.where(rng.random(count) < 1 / 30, 1.0, rng.uniform(0, 0.03, count))
        found = stats.recovery(5 + hit, 5 + hit * left, 5.0)
        assert found.events is None or found.events < np.count_nonzero(hit) + 0.2
        covered += found.low <= truth <= found.high
    assert covered / draws > 0.97 - 5 * math.sqrt(0.97 * 0.03 / draws)


def test_a_recovery_needs_no_samples():
    """The rare events behind it follow from exact sums, however few samples a study keeps."""
    case = jf.Case(16, algorithm=jf.Butterfly(exchanges_after=1), network="L=1us,o=200ns",
                   noise=jf.PeriodicNoise("20us", "2us"))  # fmt: skip
    recovery = jf.observables.Recovery({"T": 0}, {"T": 1}, "noise-free")
    met = []
    for raw_bytes in (0, 4096, 2**26):
        budget = jf.RealizationBudget(min=32, max=20_000, raw_bytes=raw_bytes)
        study = jf.Study("recovery", case=case, axes=[], budget=budget,
                         observables={"x": recovery}, targets=["mean of x ± 5 %"])  # fmt: skip
        store = study.run()
        (cell,) = store.cells
        decision = store.decision(cell)
        met.append((decision.met, decision.realizations, repr(store.estimate(cell, "x", "mean"))))
    assert met[0][0]
    assert met[0] == met[1] == met[2]


@pytest.mark.parametrize(("chance", "count"), crossed([1e-3, 1e-2], [40, 500]))
def test_sides_that_hardly_differ(count, chance):
    """Where no realization of a sample does, the ratio is not 1 for certain.

    A right program covers with 97 % and more.
    """
    rng, draws = np.random.default_rng(3), 400
    covered = 0
    for _ in range(draws):
        x = 10 + rng.uniform(0, 1, count)
        differs = rng.random(count) < chance
        found = stats.ratio(x + differs, x)
        assert found.low < found.value < found.high
        covered += found.low <= 1 + chance / 10.5 <= found.high
    assert covered / draws > 0.97 - 5 * math.sqrt(0.97 * 0.03 / draws)
    x = np.array([5.0, 7.0, 6.0])
    assert not math.isfinite(stats.ratio([2.0] * 3, [2.0] * 3).high)
    assert stats.ratio(x, x, noisy=False).high == 1
    recovered = stats.recovery(x, [3.0, 4.0, 4.0], [3.0, 4.0, 4.0])
    assert recovered.low < recovered.value == 1 < recovered.high


def test_what_can_not_differ_is_certain():
    """Without noise, or with phases that are given, a mean is known whatever the samples."""
    x = np.full(40, 3.0)
    assert stats.mean(x).too_small
    assert stats.ratio(x, x).too_small
    for found in (stats.mean(x, noisy=False), stats.ratio(3 * x, x, noisy=False)):
        assert (found.low, found.value, found.high) == (3.0, 3.0, 3.0)
    given = jf.PeriodicNoise(period="1ms", duration="10us", phases=np.zeros(4))
    drawn = jf.PeriodicNoise(period="1ms", duration="10us")
    assert not given.random
    assert drawn.random
    assert not jf.StepNoise(delay="1us").random
    assert jf.StepNoise(delay="1us", probability=0.5).random
    assert jf.StepNoise(delay=jf.distributions.Exponential("1us")).random


def test_samples_that_are_all_the_same_are_their_mean():
    """The mean of 2000 times of 8.4 us was rounded: a slowdown of 1 was 0.9999999999999998."""
    times = np.arange(1, 2000) * 1.4007e-6
    assert (np.full((2000, len(times)), times).mean(axis=0) != times).any()
    found = jf.stats.mean(np.full((2000, len(times)), times), noisy=False)
    for end in found:
        np.testing.assert_array_equal(end, times)
    few = jf.stats.mean([0.1] * 7, noise_free=0.1)
    assert (few.value, few.too_small) == (0.1, True)
