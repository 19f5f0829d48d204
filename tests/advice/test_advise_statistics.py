"""Error rates of `advise`: coverage of intervals, wrong eliminations, rare events, ties.

Samples are made here, so that the truth is known. Seeds are fixed; a check of a rate fails a
correct program with probability `reference.chance.FALSE_ALARM`.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from reference.chance import FALSE_ALARM
from scipy import stats
from support.scale import at_most, crossed, scaled, some

import jitterfly as jf
from jitterfly.advice import Advice, Question
from jitterfly.advice.answer import cells_lines
from jitterfly.advice.question import Statistic
from jitterfly.advice.race import CandidateRuns, Race
from jitterfly.advice.ranking import cell_of_race
from jitterfly.answer import SECONDS, show
from jitterfly.stats import Estimate, PairedQuantiles

TRIALS = at_most(400, 20)


def most(error, trials=TRIALS):
    """So many of the trials may go wrong at an error rate."""
    return stats.binom.isf(FALSE_ALARM, trials, error)


def correlated(rng, count, rho=0.9):
    """Two paired uniforms."""
    x, y = rng.standard_normal((2, count))
    return stats.norm.cdf(x), stats.norm.cdf(rho * x + math.sqrt(1 - rho * rho) * y)


# --- quantiles, paired


@pytest.mark.parametrize("rho", [0.0, 0.95])
@pytest.mark.parametrize(
    ("q", "count"), some([(0.1, 300), (0.5, 300), (0.9, 300), (0.99, 1500)], 2)
)
def test_ratio_of_quantiles_covers(q, count, rho):
    """Two shapes whose q quantiles are equal, times 1.25: each end misses at most so often."""
    error, wrong = 0.05, np.zeros(3, dtype=int)
    rng = np.random.default_rng(int(1000 * q) + int(10 * rho))
    for _ in range(TRIALS):
        u, v = correlated(rng, count, rho)
        b = stats.expon.ppf(u) / stats.expon.ppf(q) + 1
        a = 1.25 * (stats.gamma.ppf(v, 3) / stats.gamma.ppf(q, 3) + 1)
        pair = PairedQuantiles(a, b, q, error)
        value, low, high = pair.ratio()
        assert low <= value <= high
        wrong += [low > 1.25, high < 1.25, pair.above(1.25)]
    assert (wrong <= most(error)).all()


def test_steps_and_ties_of_distributions():
    """Whole numbers of hits, as under rare noise: equal distributions are told apart rarely."""
    rng = np.random.default_rng(5)
    wrong = 0
    for _ in range(TRIALS):
        common = rng.poisson(1.0, 500)
        a, b = (1.0 + common + rng.poisson(0.3, 500) for _ in range(2))
        wrong += PairedQuantiles(a, b, 0.9, 0.05).above()
    assert wrong <= most(0.05)


def test_difference_of_quantiles():
    rng = np.random.default_rng(6)
    wrong = np.zeros(2, dtype=int)
    for _ in range(TRIALS):
        u, v = correlated(rng, 300)
        b, a = stats.expon.ppf(u), stats.expon.ppf(v) + 0.5
        value, low, high = PairedQuantiles(a, b, 0.5, 0.05).difference()
        assert low <= value <= high
        wrong += [low > 0.5, high < 0.5]
    assert (wrong <= most(0.05)).all()


def test_pairing_counts():
    """What both have in common does not blur the comparison."""
    rng = np.random.default_rng(7)
    common, other = rng.exponential(1.0, (2, 4000))
    small = rng.exponential(0.02, 4000)
    paired = PairedQuantiles(1 + common + small, 1 + common, 0.9, 0.025).ratio()
    apart = PairedQuantiles(1 + other + small, 1 + common, 0.9, 0.025).ratio()
    assert paired[2] - paired[1] < 0.5 * (apart[2] - apart[1])


@pytest.mark.parametrize("q", [0.2, 0.5, 0.95])
def test_mirrored(q):
    """a above c b is b below a / c, told by the same test."""
    rng = np.random.default_rng(8)
    b = rng.exponential(1.0, 1000) + 1
    a = 1.1 * b + rng.exponential(0.1, 1000)
    for c in (0.9, 1.0, 1.05, 1.2, 1.4):
        one, other = PairedQuantiles(a, b, q, 0.01), PairedQuantiles(b, a, q, 0.01)
        assert one.above(c) == other.below(1 / c)
        assert not (one.above(c) and one.below(c))


def test_too_few_for_a_tail():
    statistic = Statistic.named("p99")
    least = statistic.least(0.025)
    x = np.random.default_rng(9).exponential(1.0, least)
    assert not PairedQuantiles(2 * x[:-1], x[:-1], 0.99, 0.025).above()
    assert math.isinf(statistic.ratio(2 * x[:-1], x[:-1], 0.025).high)
    assert len(PairedQuantiles(2 * x, x, 0.99, 0.025)._reference_a.grid)


# --- means


def test_mean_of_rare_events_is_not_believed():
    """Nothing was hit yet: 32 equal pairs tell nothing, 10 times slower or not."""
    mean = Statistic.named("mean")
    quiet, slow = np.full(32, 1.0), np.full(32, 10.0)
    assert not mean.above(slow, quiet, 0.01)
    assert math.isinf(mean.upper(quiet, 0.01))
    hit = quiet.copy()
    hit[3] = 1.5
    assert mean.above(slow, hit, 0.01)  # far beyond what one event more could do
    assert not mean.above(hit + 0.1, hit, 0.01)
    assert mean.above(np.tile(hit, 100) + 0.1, np.tile(hit, 100), 0.01)


@pytest.mark.parametrize("chance", [1e-3, 1e-2, 0.2])
def test_means_under_rare_events(chance):
    """One is quicker but for a rare event that makes their means equal: told apart rarely."""
    mean, error = Statistic.named("mean"), 0.05
    rng = np.random.default_rng(round(1e4 * chance))
    for count in (8, 32, 256, 2048):
        wrong = np.zeros(2, dtype=int)
        for _ in range(TRIALS):
            a = np.full(count, 1.1)
            b = 1.0 + 0.1 / chance * (rng.random(count) < chance)
            wrong += [mean.above(a, b, error), mean.above(b, a, error)]
        assert (wrong <= most(error)).all(), count


TICK = jf.PeriodicNoise("1ms", "10us", start="stationary")
BESIDE_A_TICK = {
    "ranks": 64,
    "message_bytes": "64KiB",
    "candidates": ["recursive_doubling", "ring"],
    "network": jf.LogGOPS(L="1us", o="200ns", G="1ns", gamma="0.2ns"),
}


@pytest.mark.parametrize(
    ("delay", "chance", "realizations", "winners"),
    [("100ms", 3e-7, 2000, 0), ("10ms", 3e-6, 2000, 0), ("1ms", 3e-5, 10_000, 0.8)],
)
def test_rare_noise_that_a_sample_does_not_show(delay, chance, realizations, winners):
    """The ring, with 21 times as many messages, is the slower one by the step delays alone.

    They add 64 x 126 x 3e-7 x 100 ms = 242 us to the ring's 345 us, 11.5 us to the other's 492 us.
    Of 32 realizations hardly any meets one: the ring was the winner of 92 in 100.
    """
    noise = [TICK, jf.StepNoise(delay=delay, probability=chance)]
    found = []
    for seed in range(at_most(40, 2)):
        advice = jf.advise(noise=noise, seed=seed, realizations=realizations, **BESIDE_A_TICK)
        (cell,) = advice.cells
        found.append(cell.best)
        if not winners:
            assert "hits as long as those of noise.1 (step) are expected" in cell.rare_noise
            assert any(cell.rare_noise in note for note in advice.notes())
            (ring,) = (one for one in cell.ranking if one.name == "ring")
            assert ring.value.high > 550e-6
    assert "ring" not in found
    assert found.count("recursive_doubling") >= winners * len(found)


@pytest.mark.parametrize("name", ["max", "min", "p100", "p0", "win probability", 3, None])
def test_statistics_without_interval(name):
    with pytest.raises(ValueError, match="statistic must be mean or a quantile such as p50"):
        Statistic.named(name)


# --- a race: many candidates, many looks


class Drawn(Race):
    """A race whose completions are drawn here: each of its own distribution, partly in common."""

    def __init__(self, question, draws):
        self.draws = draws
        super().__init__(question, 4, 8)
        self.prepare()
        self.candidates = [CandidateRuns(f"c{i}", one.case, 0.0, False) for i, one in
                         enumerate(self.candidates * len(draws))][: len(draws)]  # fmt: skip
        self.exact = False


@pytest.fixture
def drawn(monkeypatch):
    def extend(group, count, *_):
        for one in group:
            one.samples = race.draws[int(one.name[1:])][:count]
        return count

    race = None

    def make(draws, statistic="mean", within=0.0):
        nonlocal race
        network = jf.Hockney("1us", 0, "1ns")
        question = Question(4, network=network, noise=[jf.PeriodicNoise("1ms", "1us")],
                            statistic=statistic, candidates=["butterfly"], within=within,
                            own={f"o{i}": jf.Butterfly() for i in range(len(draws) - 1)},
                            realizations=len(draws[0]))  # fmt: skip
        race = Drawn(question, draws)
        for number, size in enumerate(question.looks()):
            race.look_at(number, size, lambda _: None)
        return race

    monkeypatch.setattr("jitterfly.advice.race.simulate_more", extend)
    monkeypatch.setattr(
        "jitterfly.advice.race.sharing_simulations", lambda found: [[one] for one in found]
    )
    return make


@pytest.mark.parametrize("statistic", ["mean", "p90"])
def test_equal_candidates_have_no_winner(drawn, statistic):
    """Six equal ones, all looks: in at most 5 % of the races any of them is dropped."""
    rng = np.random.default_rng(11)
    wrong = 0
    for trial in range(TRIALS):
        common = rng.exponential(1.0, 1024)
        race = drawn([1 + common + rng.exponential(0.5, 1024) for _ in range(6)], statistic)
        wrong += len(race.left) < 6
        if len(race.left) == 6 and trial < 3:
            assert cell_of_race(race, 0.95).outcome == "no winner"
    assert wrong <= most(0.05)


def test_what_never_differed_equals_only_where_enough_realizations_say_so():
    """A share of them in which both differ may have been missed, by all that they vary."""
    statistic, times = Statistic.named("mean"), 1 + np.random.default_rng(3).exponential(1.0, 8192)
    for count, told in [(32, False), (256, False), (8192, True)]:
        few = times[:count]
        found = statistic.ratio(few, few, 0.01, 0.01)
        assert statistic.above(few, few, 0.01, 1 / 1.01) is told
        assert (found.low >= 1 / 1.01 and found.high <= 1.01) is told
        assert found.low == pytest.approx(2 - found.high, abs=0.01)


def test_best_is_kept_and_intervals_hold(drawn):
    """Different means: the best is dropped, or any interval to it misses, in at most 5 %."""
    rng = np.random.default_rng(12)
    means = np.array([2.5, 2.0, 2.06, 3.0, 2.1])
    wrong = found = 0
    for _ in range(TRIALS):
        common = rng.exponential(1.0, 4096)
        own = rng.exponential(1.0, (5, 4096)) * (means - 1.5)[:, None]
        cell = cell_of_race(drawn(list(0.5 + common + own)), 0.95)
        found += cell.outcome == "winner"
        true = {f"c{i}": mean for i, mean in enumerate(means)}
        held = [true[cell.ranking[0].name] / 2.0 <= cell.at_most]
        for one in cell.ranking[1:]:
            mine, other = true[one.name], true[one.versus]
            held.append(one.ratio.low <= mine / other <= one.ratio.high)
            held.append(one.difference.low <= mine - other <= one.difference.high)
        wrong += "c1" not in cell.among or not all(held)
    assert wrong <= most(0.05)
    assert found > 0.5 * TRIALS  # it does find it


def test_a_difference_of_nothing_has_the_unit_of_its_ends():
    found = Estimate(0.0, -1.134e-7, 1.134e-7, 0.95, 100)
    assert show(found, SECONDS) == "0 [-113.4, 113.4] ns"


def test_tolerance(drawn):
    """2 % apart: told apart, or equal within 5 %, whichever was asked; never `no winner`."""
    rng = np.random.default_rng(13)
    common = rng.exponential(0.2, 8192)
    draws = [1 + common + rng.exponential(s, 8192) for s in (0.1, 0.126)]
    assert cell_of_race(drawn(draws), 0.95).outcome == "winner"
    cell = cell_of_race(drawn(draws, within=0.05), 0.95)
    assert cell.outcome == "near best"  # the second may be more than 5 % slower
    assert 1 < cell.at_most <= 1.05 + 1e-9


def rare(rng, count, scale, chance):
    return scale * rng.exponential(1.0, count) * (rng.random(count) < chance)


@pytest.mark.parametrize(("within", "statistic"), crossed([0.02, 0.0], ["mean", "p90"]))
def test_states_agree_with_the_intervals_shown(drawn, statistic, within):
    """Whoever is slower has intervals above 1 and 0; whoever may be the best has them around.

    With noise that is rare, which widens intervals, and with leaders that change from look to look.
    """
    rng = np.random.default_rng(14)
    seen = dict.fromkeys(("best", "equal", "perhaps", "slower"), 0)
    trials = scaled(60, least=20)
    for trial in range(trials):
        count = int(rng.choice([128, 256, 1024]))
        common = rare(rng, count, 1.0, 0.2)
        scales = rng.choice([1.0, 1.005, 1.05, 1.5, 8.0], 6)
        if trial % 2:
            scales = np.array([1.0, 1.3, 1.3, 1.5, 2.0, 8.0])
        draws = [
            x * (1 + common + rare(rng, count, 0.3, rng.choice([0.02, 0.3, 1]))) for x in scales
        ]
        cell = cell_of_race(drawn(draws, statistic, within), 0.95)
        first = cell.ranking[0]
        for one in cell.ranking:
            seen[one.state] += 1
            ratio = float(one.ratio.low), float(one.ratio.high)
            apart = float(one.difference.low), float(one.difference.high)
            if one.state == "slower":
                assert ratio[0] > 1
                assert apart[0] > 0
                assert one.versus not in ("", one.name)
            elif one.state == "perhaps" and one is not first:
                assert ratio[0] <= 1 <= ratio[1]
                assert apart[0] <= 0 <= apart[1]
                assert one.versus == first.name
            elif one.state == "equal":
                assert ratio[1] <= (1 + within) * (1 + 1e-12)
        assert first.versus == ""
        assert cell.at_most <= 1 + within or cell.outcome not in ("equal", "near best")
        others = [one.state for one in cell.ranking[1:]]
        assert ("perhaps" in others) == (cell.outcome in ("near best", "no winner"))
    assert min(seen["perhaps"], seen["slower"], seen["best"]) > trials // 20
    assert (seen["equal"] > 0) == (within > 0)


def test_slower_than_one_that_does_not_lead_any_more(drawn):
    """a is told to be slower than b at the first look; later c leads, from which a is not told."""
    rng = np.random.default_rng(17)
    b = 1 + 0.1 * rng.random(1024)
    a = 1.2 * b
    early = np.arange(1024) < 32
    c = np.where(early, 0.55 + 1.2 * rng.random(1024), 0.9 + 0.2 * rng.random(1024))
    cell = cell_of_race(drawn([a, b, c]), 0.95)
    last = next(one for one in cell.ranking if one.name == "c0")
    assert last.state == "slower"
    assert float(last.ratio.low) > 1
    assert float(last.difference.low) > 0
    assert (last.versus, last.told_at, last.look) == ("c1", 32, 1)
    assert float(last.ratio.value) == pytest.approx(1.2)
    assert [one.name for one in cell.ranking] == ["c2", "c1", "c0"]


def test_nobody_stands_before_the_one_that_it_is_slower_than(drawn):
    """b's estimate, of more realizations, is above that of a, which was told to be slower."""
    rng = np.random.default_rng(17)
    early = np.arange(1024) < 32
    b = np.where(early, 1 + 0.1 * rng.random(1024), 3 + 0.1 * rng.random(1024))
    c = np.where(early, 0.55 + 1.2 * rng.random(1024), 0.9 + 0.2 * rng.random(1024))
    race = drawn([1.2 * b, b, c])
    cell = cell_of_race(race, 0.95)
    assert [(one.name, one.versus) for one in cell.ranking] == [
        ("c2", ""),
        ("c1", "c2"),
        ("c0", "c1"),
    ]
    assert float(cell.ranking[1].value.value) > float(cell.ranking[2].value.value)


def test_times_the_best_is_said_of_the_best_only(drawn):
    """The ratio of a runner-up to a third one is named so in the table, and not in the picture."""
    rng = np.random.default_rng(17)
    race = drawn([2 + rng.random(1024), 1 + rng.random(1024)])
    cell = cell_of_race(race, 0.95)
    first, second = cell.ranking
    other = replace(cell, ranks=8, ranking=(first, replace(second, versus="c7")))
    question = Question([4, 8], network=jf.Hockney("1us", 0, "1ns"), candidates=["butterfly"],
                        own={"c0": jf.Butterfly(), "c1": jf.Butterfly()})  # fmt: skip
    found = Advice(question, (cell, other), "decided", 0, 0.0)
    one, two = cells_lines(found)[1:3]
    assert "(to " not in one
    assert two.endswith("] (to c7)")
    pytest.importorskip("matplotlib")
    from jitterfly.plots.advice import draw

    figure = draw(found)
    (image,) = figure.axes[1].images
    assert list(image.get_array().mask[0]) == [False, True]


def test_nothing_is_clipped(drawn):
    """Of two that may be the best, the interval of their ratio goes below 1, and below 0."""
    rng = np.random.default_rng(15)
    draws = [1 + rng.exponential(1.0, 256) for _ in range(2)]
    first, second = cell_of_race(drawn(draws), 0.95).ranking
    assert (first.state, second.state) == ("perhaps", "perhaps")
    assert float(second.ratio.low) < 1 < float(second.ratio.high)
    assert float(second.difference.low) < 0 < float(second.difference.high)


def test_algorithms_that_noise_delays_alike():
    """The slowest of many slow ranks delays every realization as much; it is told who is faster."""
    noise = jf.SpeedNoise(1.05, probability=0.5)
    names = ["ring", "recursive_doubling"]
    given = {"network": "L=1us,o=200ns,G=1ns", "message_bytes": 2**16, "compute_time": "1ms",
             "candidates": names, "realizations": 64}  # fmt: skip
    (cell,) = jf.advise(64, noise=noise, **given).cells
    best = cell.ranking[0]
    assert (cell.outcome, best.name) == ("winner", "ring")
    assert best.value.low < 1.05e-3 + best.noise_free - 1e-3 < best.value.high
    # Where noise met nobody, nothing is known of what it does.
    rare = jf.StepNoise("1s", probability=1e-15)
    (cell,) = jf.advise(64, noise=rare, **given).cells
    assert math.isinf(cell.ranking[0].value.high)
    assert cell.outcome != "winner"
