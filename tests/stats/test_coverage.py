"""Coverage of 95 % intervals in 1000 simulated studies (small: 50), also under early stopping.

Truth is a closed form, or a run of the engine 70,000 times as long as a study. Seeds are fixed. A
count of hits has to lie between the two-sided 99.9 % limits of its binomial distribution, so each
fails a correct program for one seed in a thousand. Where the data decide when to stop, the limits
are those of 95 % all the same, though the intervals hold the truth a little more often (in 95.6 to
96.1 % of 10,000 studies), as later looks may not be needed: that makes it one seed in fifty.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from support.scale import at_most, full_scale, scaled

import jitterfly as jf
from jitterfly.observables import (
    CellData,
    Column,
    LinearForm,
    Measure,
    MeasureFamily,
    Observed,
    Target,
    Ticks,
    decide,
)
from jitterfly.stats.intervals import binomial_ranks

pytestmark = pytest.mark.slow
STUDIES = at_most(1000, 50)
FALSE_ALARM = 1e-3
LIMIT = 10**6
AT_ONCE = 1000


def check_hits(hits, level=0.95):
    """`hits` of STUDIES intervals are what the level says."""
    expected = scipy.stats.binom(STUDIES, level)
    assert expected.ppf(FALSE_ALARM / 2) <= hits <= expected.isf(FALSE_ALARM / 2)


def family(name, above, below=None):
    """Seconds of a column, or a gain: the ratio of two."""
    under = 10**12 if below is None else LinearForm.of(below)
    return MeasureFamily(name, "", (Measure(name, LinearForm.of(above), under),))


class Samples:
    """A study's realizations, drawn as they are asked for."""

    def __init__(self, columns, draw):
        self.columns, self.draw = columns, draw
        self.values = np.zeros((0, len(columns)), np.int64)

    def __call__(self, count):
        """The first `count`, `draw(first, how many)` giving more."""
        have = len(self.values)
        if have < count:
            more = max(count - have, AT_ONCE)
            self.values = np.concatenate([self.values, self.draw(have, more)])
        return CellData(Ticks(self.columns, self.values[:count]))


def hits_at_stops(truth, families, columns, draws, least):
    """How often the interval at the stop holds the truth, by target; a stop of its own for each."""
    tallies = dict.fromkeys(truth, 0)
    for draw in draws:
        samples = Samples(columns, draw)
        for text in truth:
            decision = decide([Target.parse(text)], families, samples, LIMIT, least, LIMIT)
            assert decision.met
            (state,) = decision.states
            tallies[text] += state.estimate.low <= truth[text] <= state.estimate.high
    return tallies


# --- the engine


def engine_case(algorithm):
    return jf.Case(
        ranks=16,
        algorithm=algorithm,
        network=jf.Hockney("1us", 0, "1us"),
        noise=[jf.PeriodicNoise(period="50us", duration="10us")],
        message_bytes=1,
    )


CASES = [engine_case(jf.Butterfly(exchanges_after=2)), engine_case(jf.Butterfly(copy_levels="all"))]
COLUMNS = (*(Column("after", f"T={T}") for T in range(3)), Column("within", "completion"))
ENGINE = {
    "completion": family("completion", COLUMNS[0]),
    "gain": family("gain", COLUMNS[0], COLUMNS[2]),
    "contest": family("contest", COLUMNS[3], COLUMNS[1]),
}
# Of 2 * 10^8 realizations with seed 2^63, the standard error below it. Of the studies' intervals
# half the width is 400 times that, or more.
TRUTH = {
    ("mean", "completion"): (22.03843e-6, 0.00041e-6),
    ("p50", "completion"): (22.1709e-6, 0.0009e-6),
    ("p99", "completion"): (35.9531e-6, 0.0013e-6),
    ("mean", "gain"): (2.10649, 0.00005),
    ("win probability", "contest"): (0.84848, 0.00002),
}
FIXED = 2860  # where order statistics are hardly conservative


def simulate(seed, first, count):
    results = [
        jf.simulate(case, count, seed=seed, first_realization=first, threads=1) for case in CASES
    ]
    return np.concatenate([result.ticks for result in results], axis=1)


def test_truth_is_reproduced():
    count = scaled(10**6)
    data = CellData(Ticks(COLUMNS, simulate(2**63, 2**31, count)))
    for (statistic, name), (value, error) in TRUTH.items():
        found = Observed(ENGINE[name], data).statistic(statistic)
        wide = 2.5 * (found.high - found.low)  # 10 standard errors
        assert abs(found.value - value) < wide / 2 + 5 * error


def test_engine():
    tallies = dict.fromkeys(TRUTH, 0)
    for seed in range(STUDIES):
        data = CellData(Ticks(COLUMNS, simulate(seed, 0, FIXED)))
        for (statistic, name), (value, _) in TRUTH.items():
            found = Observed(ENGINE[name], data).statistic(statistic)
            tallies[statistic, name] += found.low <= value <= found.high
    for (statistic, _), hits in tallies.items():
        level = 0.95
        if statistic in ("p50", "p99"):  # a pair of order statistics is at a level of its own
            q = float(statistic[1:]) / 100
            low, high = binomial_ranks(FIXED, q, 0.95)
            level = np.ptp(scipy.stats.binom(FIXED, q).cdf([low - 1, high - 1]))
            assert 0.95 <= level < 0.953
        check_hits(hits, level)


@pytest.mark.full_scale
def test_engine_with_sequential_stopping():
    truth = {
        "mean of completion ± 1.5 %": TRUTH["mean", "completion"][0],
        "p50 of completion ± 4 %": TRUTH["p50", "completion"][0],
        "p99 of completion ± 4 %": TRUTH["p99", "completion"][0],
        "mean of gain ± 2.5 %": TRUTH["mean", "gain"][0],
        "win probability of contest ± 0.02": TRUTH["win probability", "contest"][0],
    }

    def draws():
        for seed in range(STUDIES):
            yield lambda first, count, seed=seed: simulate(seed, first, count)

    for hits in hits_at_stops(truth, ENGINE, COLUMNS, draws(), least=100).values():
        check_hits(hits)


# --- known distributions, skewed

X, Y = Column("x", "completion"), Column("y", "completion")
KNOWN = {"x": family("x", X), "ratio": family("ratio", X, Y)}


def known(draw, seed):
    """`draw(generator, count)` in microseconds; two columns of int64 ticks."""

    def drawn(first, count):
        values = draw(np.random.default_rng([seed, first]), count)
        return np.rint(np.stack(values, axis=1) * 1e6).astype(np.int64)

    return drawn


def exponential(rng, count):
    y = 5 + rng.exponential(5.0, count)
    return 2 * y + rng.exponential(10.0, count), y


def lognormal(rng, count):
    y = np.exp(rng.normal(0.0, 0.5, count))
    return 10 * np.exp(rng.normal(0.0, 1.0, count)), y


def rare(rng, count):
    """One realization in 50 is hit, by 5 times the quiet time on average."""
    hit = rng.random(count) < 0.02
    return 10 + hit * rng.exponential(50.0, count), 10 + hit * rng.exponential(20.0, count)


P99 = scipy.stats.norm.ppf(0.99)


@pytest.mark.parametrize(
    ("draw", "truth", "least"),
    [
        (
            exponential,
            {"mean of x ± 3 %": 30e-6, "mean of ratio ± 3 %": 3.0},
            100,
        ),
        full_scale(
            lognormal,
            {
                "mean of x ± 6 %": 10e-6 * math.exp(0.5),
                "p50 of x ± 8 %": 10e-6,
                "p99 of x ± 20 %": 10e-6 * math.exp(P99),
                "mean of ratio ± 6 %": 10 * math.exp(0.5 - 0.125),
            },
            100,
        ),
        (rare, {"mean of x ± 2 %": 11e-6, "mean of ratio ± 2 %": 11 / 10.4}, 500),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_known_distributions_with_sequential_stopping(draw, truth, least):
    draws = (known(draw, seed) for seed in range(STUDIES))
    for hits in hits_at_stops(truth, KNOWN, (X, Y), draws, least).values():
        check_hits(hits)
