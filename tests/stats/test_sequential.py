"""Early stopping: looks at the data, alpha spending, resumed runs decide the same."""

import itertools
import math

import numpy as np
import pytest

from jitterfly.observables import (
    CellData,
    Column,
    LinearForm,
    Measure,
    MeasureFamily,
    Target,
    Ticks,
    decide,
)
from jitterfly.observables.targets import ENOUGH_EVENTS
from jitterfly.stats import sequential

COLUMNS = (Column("", "a"), Column("", "b"))
A, B = map(LinearForm.of, COLUMNS)
FAMILIES = {
    "completion": MeasureFamily("completion", "s", (Measure("completion", A, 10**12, "s"),)),
    "gain": MeasureFamily("gain", "", (Measure("gain", A, B),)),
}
LIMIT = 200_000


def ticks(seed=0, count=LIMIT):
    rng = np.random.default_rng(seed)
    b = rng.exponential(1e6, count) + 1e7
    return Ticks(COLUMNS, np.rint([b + rng.exponential(5e6, count), b]).T.astype(np.int64))


RAW = ticks()


def decided(targets, available=LIMIT, least=100, limit=LIMIT, raw=RAW, **more):
    targets = [Target.parse(text) for text in targets]
    return decide(
        targets, FAMILIES, lambda n: CellData(raw.first(n)), available, least, limit, **more
    )


def looks(targets, **more):
    """The sizes of all looks, as one who resumes at each of them sees them."""
    sizes, decision = [], decided(targets, 0, **more)
    while decision.next is not None:
        sizes.append(decision.next)
        decision = decided(targets, decision.next, **more)
        assert decision.realizations == sizes[-1]
    return sizes, decision


def test_shares_are_no_more_than_all():
    assert sum(sequential.share(k) for k in range(60)) == pytest.approx(1, abs=1e-12)
    assert all(sequential.share(k) > 0 for k in range(60))


def test_grid():
    assert [sequential.grid_up(n) for n in (0, 1, 17, 31, 32, 33, 62, 63, 64, 65)] == [
        1, 1, 17, 31, 32, 34, 62, 64, 64, 68,
    ]  # fmt: skip
    sizes = [sequential.grid_up(n) for n in range(1, 5000)]
    for n, size in enumerate(sizes, 1):
        assert size >= n
        assert size == sequential.grid_up(size)
        assert size - n < max(n / 16, 1)
    assert sequential.grid_up(2**32 - 1) == 2**32
    for k in range(5, 30):
        assert len({sequential.grid_up(n) for n in np.linspace(2**k, 2 ** (k + 1) - 1, 500)}) == 17


def test_a_pilot_spends_nothing():
    look = sequential.first_look(1000, LIMIT)
    assert (look.realizations, look.decides, look.share) == (512, False, 0.88)
    look = sequential.next_look(look, 10**5, True, 1000, LIMIT)
    assert (look.decides, look.share) == (False, 0.88)
    assert look.realizations == sequential.grid_up(64 * 512)  # not further at once
    look = sequential.next_look(look, 10**5, True, 1000, LIMIT)
    assert (look.decides, look.share) == (True, 0.88)
    assert look.realizations == sequential.grid_up(10**5)
    look = sequential.next_look(look, 1.1 * 10**5, True, 1000, LIMIT)
    assert (look.decides, look.share) == (True, 0.1)
    assert look.realizations == sequential.grid_up(1.25 * sequential.grid_up(10**5))


def test_not_below_least():
    look = sequential.first_look(1000, LIMIT)
    look = sequential.next_look(look, 3, True, 1000, LIMIT)
    assert (look.realizations, look.decides) == (sequential.grid_up(1000), True)


def test_the_limit_has_all_that_is_left():
    look = sequential.first_look(1000, 512)
    assert (look.realizations, look.decides, look.share, look.last) == (512, True, 1.0, True)
    look = sequential.first_look(1000, 5000)
    look = sequential.next_look(look, 2000, True, 1000, 5000)
    look = sequential.next_look(look, 10**9, False, 1000, 5000)
    assert (look.realizations, look.decides, look.last) == (5000, True, True)
    assert look.share == pytest.approx(0.12)


TARGETS = [
    ["mean of completion ± 1 %"],
    ["mean of gain ± 0.5 % at 99 %"],
    ["p99 of completion ± 2 %"],
    ["mean of completion ± 1us", "p50 of gain ± 1 %"],
    ["win probability of gain ± 0.001"],
]


@pytest.mark.parametrize("targets", TARGETS)
def test_stops_when_met(targets):
    sizes, decision = looks(targets)
    assert decision.met
    assert decision.look == len(sizes) - 1
    assert decision.realizations < LIMIT
    assert repr(decision) == repr(decided(targets))  # whatever more there is
    assert sizes == sorted(set(map(sequential.grid_up, sizes)))
    for state in decision.states:
        goal = state.target.relative or state.target.absolute
        assert (state.met, state.why) == (True, "")
        assert state.error <= goal
        assert state.estimate.confidence == state.target.confidence
        half = max(
            state.estimate.high - state.estimate.value, state.estimate.value - state.estimate.low
        )
        shown = half / state.estimate.value if state.target.relative else half
        assert state.error == pytest.approx(shown)


@pytest.mark.parametrize("targets", TARGETS)
def test_between_looks_nothing_is_decided(targets):
    sizes, _ = looks(targets)
    for _, after in itertools.pairwise(sizes):
        decision = decided(targets, after - 1)
        assert (decision.realizations, decision.next, decision.met) == (after - 1, after, False)


def test_before_the_first_look():
    decision = decided(TARGETS[0], 7)
    assert (decision.look, decision.realizations, decision.states) == (-1, 7, ())
    assert decision.next == 50
    assert not decision.met


def test_the_budget_ends():
    decision = decided(["mean of completion ± 0.01 %"], limit=3000)
    assert (decision.realizations, decision.next, decision.met) == (3000, None, False)
    (state,) = decision.states
    assert state.why.startswith("± ")
    assert state.error > 0.0001


def test_too_few_for_a_quantile():
    decision = decided(["p99.99 of completion ± 50 %"], limit=3000)
    assert not decision.met
    assert decision.states[0].error == math.inf
    assert decision.states[0].why == "too few realizations for an interval of p99.99"


def test_without_targets_one_look():
    assert decided([], 0, limit=500).next == 500
    assert decided([], 499, limit=500).realizations == 499
    decision = decided([], 9999, limit=500)
    assert (decision.look, decision.realizations, decision.next) == (0, 500, None)
    assert decision.met


def test_between_two_looks_all_that_is_there_counts():
    """A run was stopped there: its numbers are of all of it, and only the next look decides."""
    targets = ["mean of completion ± 0.1 %", "p99 of gain ± 5 %"]
    sizes, _ = looks(targets)
    assert len(sizes) > 2
    for before, after in itertools.pairwise(sizes):
        there = (before + after) // 2
        decision, at = decided(targets, there), decided(targets, before)
        assert (decision.look, decision.realizations, decision.next) == (at.look, there, after)
        assert decision.share == decided(targets, after).share  # which has not been spent yet
        estimate = decision.states[0].estimate
        assert estimate.realizations == there
        values = RAW.values[:there, 0] / 1e12
        assert estimate.value == pytest.approx(values.mean(), rel=1e-12)
        half = 1.96 * values.std(ddof=1) / math.sqrt(there)
        assert 0.99 * half < estimate.high - estimate.value < 2 * half
        assert not any(state.met for state in decision.states)
        assert decision.states[0].error < at.states[0].error
    easy = ["mean of completion ± 20 %"]
    assert looks(easy, least=1000)[0][:2] == [512, 1024]
    state = decided(easy, 700, least=1000).states[0]
    assert (state.met, state.why) == (False, "decided at 1,024 realizations")


def test_a_target_that_the_place_does_not_have():
    both = decided(["mean of completion ± 1 %", "mean of nothing ± 1 %"])
    assert repr(both) == repr(decided(["mean of completion ± 1 %"]))
    none = decided(["mean of nothing ± 1 %"], least=100)
    assert (none.realizations, none.next, none.states) == (100, None, ())


def rare(probability, seed=0):
    values = np.full((LIMIT, 2), 10**7, dtype=np.int64)
    values[:, 0] += 10**4 * (np.random.default_rng(seed).random(LIMIT) < probability)
    return Ticks(COLUMNS, values)


def test_no_mean_of_a_few_events():
    # One in 2000 realizations is 0.1 % slower: narrow at once, and not to be believed.
    for target in ("mean of completion ± 1 %", "mean of gain ± 1 %"):
        decision = decided([target], raw=rare(1 / 2000))
        assert decision.met
        assert decision.realizations * (1 / 2000) > 0.7 * ENOUGH_EVENTS
        short = decided([target], raw=rare(1 / 2000), limit=10_000)
        assert not short.met
        assert "rare events" in short.states[0].why


def test_nothing_ever_happens():
    quiet = rare(0)
    noisy = decided(["mean of completion ± 1 %"], raw=quiet)
    assert (noisy.realizations, noisy.met) == (LIMIT, False)
    silent = decided(["mean of completion ± 1 %"], raw=quiet, noisy=False)
    assert (silent.realizations, silent.met) == (100, True)
    # Quantiles hold for any distribution.
    assert decided(["p50 of completion ± 1 %"], raw=quiet).met
