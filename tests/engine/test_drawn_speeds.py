"""`SpeedNoise`: ranks whose speed is drawn in each realization.

test_imbalance.py compares random cases with them to the event-driven reference.
"""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from reference.collectives import GOALS
from support.grouped import parametrize_in_groups
from support.instruction_sets import AVAILABLE
from support.scale import crossed

import jitterfly as jf
from jitterfly import _core, imbalance
from jitterfly.case import longest_ticks
from jitterfly.congestion import FatTree
from jitterfly.program import compile_case
from jitterfly.replay import check_size
from jitterfly.theory.recursion import delays_of
from jitterfly.units import to_ticks

FREE = jf.Hockney(alpha="1ns", beta=0)
NETWORK = jf.LogGOPS(L="1us", o="200ns", G="0.1ns", gamma="0.1ns")
SPREAD = jf.Lognormal(median=1, sigma=0.05)
WORK = 10**9  # ticks of a compute phase
OTHERS = [jf.PeriodicNoise("100us", "7us"), jf.StepNoise(jf.Exponential("1us"))]


def starts(noise, ranks=64, realizations=200, **fields):
    """When each rank has computed, shape (realizations, ranks), in ticks."""
    case = jf.Case(ranks, network=fields.pop("network", FREE), algorithm=jf.TreeBarrier(),
                   noise=noise, compute_time="1ms", **fields)  # fmt: skip
    times = [jf.ready_times(case, seed=5, realization=k)[0] for k in range(realizations)]
    return np.rint(np.array(times) * 1e12).astype(np.int64)


def test_factors_have_their_distribution():
    """By DKW's bound and by 5 standard errors: each fails once in 10^6 seeds."""
    factors = starts([jf.SpeedNoise(SPREAD)]) / WORK
    ordered = np.sort(factors.ravel())
    above = 1 - np.arange(ordered.size) / ordered.size
    distance = np.abs(SPREAD.survival(ordered) - above).max() - 1 / ordered.size
    assert distance < np.sqrt(np.log(2e6) / 2 / ordered.size)
    logs = np.log(factors) / 0.05  # standard normal
    assert abs(logs.mean()) < 5 / np.sqrt(logs.size)
    assert abs((logs**2).mean() - 1) < 5 * np.sqrt(2 / logs.size)
    # Ranks and realizations know nothing of each other.
    for one, other in ((logs[:, :-1], logs[:, 1:]), (logs[:-1], logs[1:])):
        assert abs((one * other).mean()) < 5 / np.sqrt(one.size)


def test_some_ranks_are_slow():
    """The others are as the case says; their number is binomial, within 5 standard deviations."""
    found = starts([jf.SpeedNoise(1.5, probability=0.1)])
    assert set(found.ravel()) == {WORK, WORK * 3 // 2}
    assert abs((found > WORK).sum() - 0.1 * found.size) < 5 * np.sqrt(0.09 * found.size)
    rare = starts([jf.SpeedNoise(jf.Bernoulli(0.1, "1.5s"))])
    assert set(rare.ravel()) == {WORK, WORK * 3 // 2}


def test_factors_are_of_nodes_and_multiply():
    noise = [jf.SpeedNoise(SPREAD, shared=8), jf.SpeedNoise(SPREAD)]
    node, own, both, machine = (
        starts(sources, realizations=5) / WORK
        for sources in (noise[:1], noise[1:], noise, [jf.SpeedNoise(SPREAD, shared="machine")])
    )
    blocks = node.reshape(5, 8, 8)
    assert (blocks == blocks[:, :, :1]).all()
    assert len(set(blocks[:, :, 0].ravel())) == 40
    assert (machine == machine[:, :1]).all()
    assert len(set(machine[:, 0])) == 5
    assert len(set(own.ravel())) == own.size
    # The second source has draws of its own.
    assert not np.isclose(both, node * own, rtol=1e-6).any()
    assert np.unique((both / node).round(9)).size == both.size
    given = imbalance.GivenSpeed(1 + np.arange(64) / 64)
    found = starts(noise[1:], realizations=5, speed=given) / WORK
    np.testing.assert_allclose(found, own * (1 + np.arange(64) / 64), rtol=0, atol=2 / WORK)


def test_a_level_of_a_machine_shares_a_factor():
    machine = jf.Hierarchy([(4, FREE), (4, FREE), FREE])
    for shared, width in (("node", 4), ("rack", 16)):
        found = starts([jf.SpeedNoise(SPREAD, shared=shared)], network=machine, realizations=3)
        own = starts([jf.SpeedNoise(SPREAD, shared=width)], realizations=3)
        np.testing.assert_array_equal(found, own)


@pytest.mark.parametrize("ranks", [2, 64])
def test_a_barrier_waits_for_the_slowest(ranks):
    """In each realization, to the tick; and as long as the largest of n draws, on average.

    The mean is within 5 standard errors: once in 10^6 seeds it is not.
    """
    case = jf.Case(ranks, algorithm=jf.DisseminationBarrier(), network=NETWORK,
                   compute_time="1ms", noise=[jf.SpeedNoise(SPREAD)])  # fmt: skip
    alone = jf.simulate(replace(case, noise=[]), 1).ticks[0, 0]
    result = jf.simulate(case, 4000, seed=3)
    assert result.noise_free[0] == alone * 1e-12
    slowest = result.ticks[:, 0] - (alone - WORK)
    for k in range(20):
        start = np.rint(jf.ready_times(case, seed=3, realization=k)[0] * 1e12)
        assert slowest[k] == start.max()
    u = (np.arange(10**6) + 0.5) / 10**6
    expected = SPREAD.quantile(u ** (1 / ranks)).mean()
    error = slowest.std() / WORK / np.sqrt(4000)
    assert abs(slowest.mean() / WORK - expected) < 5 * error


@parametrize_in_groups("kind, ranks", crossed(sorted(GOALS), [1, 2, 6, 8]))
def test_one_factor_for_all_is_a_slower_machine(kind, ranks):
    """A factor without a draw is that factor of gamma and of the compute phase."""
    case = jf.Case(ranks, algorithm=jf.Algorithm.from_dict({"kind": kind}), cycles=2,
                   network=jf.LogGOPS(L="1us", o="200ns", gamma="1ns"), message_bytes=9600,
                   compute_time="1us", noise=OTHERS, observe="spread")  # fmt: skip
    slow = replace(case, noise=[*OTHERS, jf.SpeedNoise(3)])
    twice = replace(case, noise=[*OTHERS, jf.SpeedNoise(1.5), jf.SpeedNoise(2)])
    other = replace(case, network=replace(case.network, gamma="3ns"), compute_time="3us")
    results = [jf.simulate(one, 5, seed=2).ticks for one in (slow, twice, other)]
    np.testing.assert_array_equal(results[0], results[2])
    np.testing.assert_array_equal(results[1], results[2])


@pytest.mark.filterwarnings("ignore::jitterfly.IneffectiveNoiseWarning")
@parametrize_in_groups("kind, ranks", crossed(sorted(GOALS), [1, 6, 8]))
def test_times_without_noise_are_those_of_factors_of_one(kind, ranks):
    """Of all rows, which hold the same ranks."""
    case = jf.Case(ranks, algorithm=jf.Algorithm.from_dict({"kind": kind}), cycles=2,
                   network=NETWORK, message_bytes=9600, compute_time="1us", observe="rounds",
                   noise=[jf.SpeedNoise(1)])  # fmt: skip
    free = jf.simulate(replace(case, noise=[*OTHERS, jf.SpeedNoise(SPREAD)]), 1).noise_free
    np.testing.assert_array_equal(jf.simulate(case, 1).samples[0], free)


def test_one_factor_for_all_with_congestion():
    """Loads of links do not depend on who is slow."""
    traffic = jf.Congestion(FatTree((8, 8), (1, 4)), ratio=0.5, perturbation="rand")
    case = jf.Case(16, algorithm=jf.RecursiveDoublingAllreduce(), message_bytes=9600, cycles=2,
                   network=jf.LogGOPS(L="1us", o="200ns", G="1ns", gamma="1ns"),
                   compute_time="1us", noise=[traffic])  # fmt: skip
    slow = replace(case, noise=[traffic, jf.SpeedNoise(3)])
    other = replace(case, network=replace(case.network, gamma="3ns"), compute_time="3us")
    results = [jf.simulate(one, 5, seed=2).ticks for one in (slow, other)]
    np.testing.assert_array_equal(*results)
    drawn = replace(case, noise=[traffic, jf.SpeedNoise(SPREAD)])
    assert len({*jf.simulate(drawn, 5, seed=2).ticks[:, -1]}) == 5


@pytest.mark.parametrize("isa", AVAILABLE)
@pytest.mark.parametrize("kind", ["butterfly", "ring_allreduce", "binomial_broadcast"])
def test_realizations_are_the_same_however_they_are_run(kind, isa, monkeypatch):
    monkeypatch.setenv("JITTERFLY_ISA", isa)
    case = jf.Case(48, algorithm=jf.Algorithm.from_dict({"kind": kind}), network=NETWORK,
                   message_bytes=1000, compute_time="3us", cycles=2,
                   noise=[*OTHERS, jf.SpeedNoise(SPREAD, shared=4), jf.SpeedNoise(SPREAD)],
                   observe="spread")  # fmt: skip
    whole = jf.simulate(case, 23, seed=7, threads=1).ticks
    np.testing.assert_array_equal(jf.simulate(case, 23, seed=7, threads=3).ticks, whole)
    later = jf.simulate(case, 9, seed=7, first_realization=14, threads=2).ticks
    np.testing.assert_array_equal(later, whole[14:])
    assert len({*whole[:, 0]}) == 23


def test_speeds_take_no_memory_of_each_rank():
    case = jf.Case(4096, algorithm=jf.RingAllreduce(), network=NETWORK, message_bytes=10**6,
                   noise=[jf.StepNoise("1us")])  # fmt: skip
    drawn = replace(case, noise=[*case.noise, jf.SpeedNoise(SPREAD)])
    sizes = [_core.memory(compile_case(one), "cpu", 1, 100) for one in (case, drawn)]
    assert sizes[0] == sizes[1]


def test_a_cause_of_its_own():
    """The delay of a barrier is what the slowest rank takes longer, to the tick."""
    case = jf.Case(32, algorithm=jf.DisseminationBarrier(), network=NETWORK,
                   compute_time="1ms", noise=[jf.SpeedNoise(SPREAD)])  # fmt: skip
    found = jf.explain(case, 50, seed=3)
    assert found.causes == ("noise.0 (speed)", "path")
    for k in range(50):
        start = np.rint(jf.ready_times(case, seed=3, realization=k)[0] * 1e12)
        assert found.ticks[k, 0] == start.max() - WORK
        assert found.longest_rank[k] == start.argmax()
    assert not found.ticks[:, 1].any()
    assert found.rows()[0].mean.low < found.rows()[0].mean.high


def test_combining_is_slow_and_the_rest_of_a_message_is_not():
    """o and L are the network's."""
    network = jf.LogGOPS(L="1us", o="200ns", gamma="1ns")
    case = jf.Case(2, network=network, message_bytes=1000, noise=[jf.SpeedNoise(2.5)],
                   algorithm=jf.BinomialReduce())  # fmt: skip
    assert jf.simulate(case, 1).ticks[0, 0] == 200_000 + 10**6 + 200_000 + 2_500_000


def test_the_longest_time_is_a_bound():
    case = jf.Case(64, algorithm=jf.RabenseifnerAllreduce(), network=NETWORK, cycles=2,
                   message_bytes=10**5, compute_time="1us", observe="completion",
                   noise=[jf.SpeedNoise(jf.Pareto(1, 1.5, longest=1000))])  # fmt: skip
    most = jf.simulate(case, 500).ticks.max()
    assert jf.simulate(replace(case, noise=[]), 1).ticks.max() < most / 5
    assert most < longest_ticks(case)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: jf.SpeedNoise(0), "factor must be a number above 0, up to 1e.06, got 0"),
        (lambda: jf.SpeedNoise(-1.5), "factor must be a number above 0"),
        (lambda: jf.SpeedNoise("fast"), "factor must be a number above 0"),
        (lambda: jf.SpeedNoise(float("nan")), "factor must be a number above 0"),
        (lambda: jf.SpeedNoise(2e6), "factor must be a number above 0, up to 1e.06"),
        (lambda: jf.SpeedNoise(True), "factor must be a number above 0"),
        (lambda: jf.SpeedNoise(jf.Constant(0)), "factor must be drawn above 0 and up to 10.6"),
        (lambda: jf.SpeedNoise(jf.Constant(1.1e6)), r"up to 10\^6, its largest is 1.1e\+06"),
        (lambda: jf.SpeedNoise(1.2, probability=2), "probability must be from 0 to 1"),
        (lambda: jf.SpeedNoise(1.2, shared=-3), "shared must be False"),
        (lambda: jf.Noise.from_dict({"kind": "speed"}), "key 'factor' is missing"),
        (lambda: jf.Noise.from_dict({"kind": "speed", "factor": {"kind": "constant", "value": 1},
                                     "each": "cycle"}), "unknown key 'each'"),
    ],
)  # fmt: skip
def test_what_is_no_factor_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"noise": [jf.SpeedNoise(1.1)] * 9}, "noise must hold at most 8 of SpeedNoise"),
        ({"compute_time": "2s", "noise": [jf.SpeedNoise(10**6)]}, "less than 1.15e.06 s .2.60 ps."),
        ({"compute_time": "10s", "noise": [jf.SpeedNoise(1000)] * 8}, "it may take 1e.25 s"),
        ({"algorithm": jf.Butterfly(exchanges_after=1)}, "or whose ranks combine at different"),
        ({"algorithm": jf.Butterfly(copy_levels="all")}, "or whose ranks combine at different"),
    ],
)
def test_what_does_not_fit_a_case_is_refused(changes, words):
    case = jf.Case(8, network=NETWORK, message_bytes=1000, noise=[jf.SpeedNoise(SPREAD)])
    with pytest.raises(ValueError, match=words):
        replace(case, **changes)


def test_work_that_is_too_long_for_the_arithmetic_is_refused_by_the_engine():
    case = jf.Case(8, network=NETWORK, compute_time="2s", algorithm=jf.RingAllreduce())
    program = compile_case(case)
    with pytest.raises(ValueError, match=r"must take less than 2\^60 ticks"):
        program.add_rank_speed(factor=_core.Delay.constant(10**18))
    butterfly = compile_case(jf.Case(8, network=NETWORK, message_bytes=1000))
    with pytest.raises(ValueError, match="the ranks of an exchange combine at one speed"):
        butterfly.add_rank_speed(factor=_core.Delay.constant(10**12))


@pytest.mark.filterwarnings("ignore::jitterfly.SmallFactorWarning")
@pytest.mark.parametrize("factor", [0.4, 1, 2.0**-40, 999_999.999999, 10**6])
@pytest.mark.parametrize("work", [1e-12, 3e-12, 0.7, 1.000000000001])
def test_the_arithmetic_of_a_factor(factor, work):
    """From the smallest work to the largest product, by exact fractions."""
    case = jf.Case(1, network=FREE, compute_time=work, noise=[jf.SpeedNoise(factor)])
    ticks = to_ticks(factor)
    fixed = ticks * -(-(2**96) // 10**12) >> 64
    expected = (2 * to_ticks(work) * fixed + 2**32) // 2**33
    assert jf.simulate(case, 1).ticks[0, 0] == expected


def test_where_ranks_must_be_alike():
    noise = [jf.SpeedNoise(SPREAD)]
    case = jf.Case(8, network=FREE, noise=noise, compute_time="1us")
    with pytest.raises(ValueError, match="noise of kinds 'arrival' and 'speed' must be left out"):
        check_size(case)
    with pytest.raises(ValueError, match="StepNoise and MessageNoise only"):
        delays_of(case)


def test_a_speed_that_acts_on_nothing_is_told():
    case = jf.Case(8, network=jf.LogGOPS(L="1us", o="200ns"), algorithm=jf.RingAllreduce(),
                   noise=[jf.SpeedNoise(2)])  # fmt: skip
    with pytest.warns(jf.IneffectiveNoiseWarning, match=r"noise.0 \(speed\) can hit nothing"):
        jf.simulate(case, 2)
    # A warning would be an error here.
    jf.simulate(replace(case, compute_time="1us"), 2)
    jf.simulate(replace(case, network=NETWORK), 2)
    jf.simulate(replace(case, noise=[jf.SpeedNoise(1)]), 2)
    budget = jf.RealizationBudget(max=2)
    with pytest.raises(ValueError, match="can hit nothing in any cell"):
        jf.Study("s", case=case, budget=budget).cells()


def test_as_tables_and_as_axes(tmp_path):
    """A source as all others are: in TOML, on an axis, and in a store."""
    file = tmp_path / "speeds.toml"
    file.write_text("""\
name = "speeds"
realizations = {max = 50}
[case]
ranks = 16
compute_time = "1ms"
network = "L=1us,o=200ns,gamma=1ns"
algorithm = {kind = "dissemination_barrier"}
[[case.noise]]
kind = "speed"
factor = {kind = "lognormal", median = 1}
[axes.sigma]
path = "noise.0.factor.sigma"
values = [0.01, 0.1]
[axes.shared]
path = "noise.0.shared"
values = [1, 16]
[observables]
completion = {kind = "completion"}
""")
    study = jf.load_study(file)
    cases = [variant.case for cell in study.cells() for variant in cell.variants]
    for case in cases:
        assert jf.Case.from_dict(case.to_dict()) == case
    assert len({str(case.identity()) for case in cases}) == 4
    store = jf.run_study(study, tmp_path / "out")
    means = store.to_xarray()["estimate"].sel(observable="completion", statistic="mean")
    assert (means.sel(shared=1) > means.sel(shared=16)).all()  # 16 draws or one
    assert (means.sel(sigma=0.1) > means.sel(sigma=0.01)).sel(shared=1)
    again = jf.run_study(study, tmp_path / "out")  # all is there
    np.testing.assert_array_equal(again.to_xarray()["estimate"], store.to_xarray()["estimate"])


def test_as_text():
    source = jf.Case(8, network=NETWORK, noise="kind=speed,factor=1.5,probability=0.25").noise[0]
    assert source == jf.SpeedNoise(1.5, probability=0.25)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a factor is no time that lacks a unit
        assert jf.SpeedNoise(3).factor == jf.Constant(3)
