"""`explain`: causes along the critical path add up to the delay; waiting time of ranks."""

import json
import random
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from reference.collectives import GOALS
from reference.uneven import random_uneven_pair
from support.paths import EXAMPLES
from support.scale import crossed, of_each_kind, scaled

import jitterfly as jf
from jitterfly import imbalance
from jitterfly.explain import _ROLES, _bytes_of_rank, names_of
from jitterfly.measured import Detours, Measured, noisefile

NETWORK = jf.LogGOPS(L="1us", o="200ns", G="0.1ns", gamma="0.1ns")


def test_every_source_has_a_role():
    """Those that can be explained are in one role each, by which the engine numbers them."""
    for kind, source in jf.Noise._kinds.items():
        assert sum(issubclass(source, role) for role in _ROLES) == (kind != "congestion"), kind


def test_sources_of_one_kind_are_told_apart():
    """By as much of them as it takes: the file, the period, or the duration as well."""
    files = [jf.TraceNoise(str(EXAMPLES / name)) for name in ("vm.noise", "vm.noise")]
    tick, daemon, longer = (jf.PeriodicNoise(*times, start="stationary") for times in
                            (("1ms", "9us"), ("1s", "9us"), ("1s", "1ms")))  # fmt: skip
    assert names_of([files[0], tick]) == ["noise.0 (trace)", "noise.1 (periodic)"]
    assert names_of(files) == ["noise.0 (trace)", "noise.1 (trace)"]
    case = jf.Case(8, network=NETWORK, noise=[tick, jf.RenewalNoise("1s", "1ms"), daemon, longer])
    found = jf.explain(case, 20, threads=1)
    assert found.causes[:-1] == (
        "noise.0 (periodic, period = 1 ms)",
        "noise.1 (renewal)",
        "noise.2 (periodic, period = 1 s, duration = 9 µs)",
        "noise.3 (periodic, period = 1 s, duration = 1 ms)",
    )
    assert [row.cause for row in found.rows()] == list(found.causes)


def test_recordings_are_told_apart_by_their_files(tmp_path):
    for name in ("before", "after"):
        part = Detours([10**9], [10**6], 10**12)
        noisefile.write(Measured((part,), name), tmp_path / f"{name}.noise")
    noise = [jf.TraceNoise(str(tmp_path / f"{name}.noise")) for name in ("before", "after")]
    names = ["noise.0 (trace, file = before.noise)", "noise.1 (trace, file = after.noise)"]
    assert names_of(noise) == names
    given = [jf.TraceNoise(starts=[1, 2, end], durations=[1e-3] * 3, length=9) for end in (3, 4)]
    assert names_of(given) == [
        f"noise.{i} (trace, starts = 3 numbers from 1 to {end})" for i, end in enumerate((3, 4))
    ]


def explainable(case):
    """Without copies inside, and with as many sources of noise as are told apart."""
    case = replace(case, noise=case.noise[:12])
    algorithm = case.algorithm
    if isinstance(algorithm, jf.Butterfly):
        case = replace(case, algorithm=replace(algorithm, copy_levels=None))
    return case


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("kind", "levels"),
    [(kind, levels) for kind, levels in crossed(sorted(GOALS), (False, True))
     if kind != "butterfly" or not levels],
)  # fmt: skip
def test_causes_add_up_to_the_engine_s_times(kind, levels):
    """In every realization, to the tick: for any noise, network, arrival and speed."""
    for number in of_each_kind(12):
        rng = random.Random(f"explain {kind} {levels} {number}")
        case = explainable(random_uneven_pair(rng, jf, kind, levels=levels)[0])
        case = replace(case, observe="completion")
        seed = rng.getrandbits(60)
        found = jf.explain(case, 3, seed, threads=1)
        result = jf.simulate(case, 3, seed, backend="cpu")
        np.testing.assert_array_equal(found.completion, result.ticks[:, -1], err_msg=str(number))
        np.testing.assert_array_equal(found.ticks.sum(axis=1), found.delay)
        alone = replace(case, noise=[], arrival=None, speed=None)
        assert found.on_time == jf.simulate(alone, 1, backend="cpu").ticks[0, -1]
        # A rank may be faster by a draw, but nothing else takes less than no time.
        own = [i for i, cause in enumerate(found.causes)
               if cause != "path" and "speed" not in cause]  # fmt: skip
        assert ("speed" in found.causes) == (case.speed is not None)
        assert (found.ticks[:, own] >= 0).all()
        np.testing.assert_array_equal(found.path_ticks.sum(axis=1), found.ticks[:, -1])
        one = jf.explain(case, 1, seed, threads=1)
        ends = np.rint(jf.ready_times(case, seed)[-1] * 1e12)
        np.testing.assert_array_equal(one.by_rank.sum(axis=1), ends, err_msg=str(number))
        alone_ends = np.rint(jf.ready_times(alone)[-1] * 1e12)
        np.testing.assert_array_equal(one.by_rank_on_time.sum(axis=1), alone_ends)
        parts = [0, 1, 3, 4] if case.draws_speeds else range(5)
        assert (one.by_rank[:, parts] >= 0).all()
        assert (one.by_rank[:, -1] <= 0).all()
        if not getattr(case.algorithm, "exchanges_after", 0):
            assert not one.by_rank[:, -1].any()


@pytest.mark.parametrize("kind", sorted(set(GOALS) - {"butterfly"}))
def test_time_of_ranks_by_another_account(kind):
    """What each rank works, is held by, and waits for, message by message in the reference.

    On a network without gaps, where ranks arrive late and differ in their speed: then a wait is
    the time from when the CPU is free to the arrival of the message, and for others up to when that
    has left.
    """
    for number in range(scaled(20)):
        rng = random.Random(f"ranks {kind} {number}")
        case = waiting_case(rng, kind)
        found = jf.explain(case, 1, number, threads=1)
        expected = rank_times(case, number)
        np.testing.assert_array_equal(found.by_rank[:, :5], expected, err_msg=str(number))


def waiting_case(rng, kind):
    ranks = rng.randint(1, 40)
    delay = jf.LateArrival(jf.Exponential("3us"), each="realization")
    speed = imbalance.GivenSpeed([rng.choice([1, 1.5, 4]) for _ in range(ranks)])
    network = replace(NETWORK, G=0)  # no message occupies a link for longer than the CPU
    return jf.Case(ranks, network=network, noise=[delay], message_bytes=1000, speed=speed,
                   algorithm=jf.Algorithm.from_dict({"kind": kind}), compute_time="2us",
                   arrival=imbalance.Ramp(f"{rng.randint(0, 9)}us"))  # fmt: skip


def rank_times(case, seed):
    """Late, work, noise, waits for others and for messages of each rank: shape (ranks, 5)."""
    compiled, ranks = case.compiled_steps, case.ranks
    start = np.rint(jf.ready_times(case, seed)[0] * 1e12).astype(np.int64)
    works = case.rank_work()
    found = np.zeros((ranks, 5), dtype=np.int64)
    found[:, 0], found[:, 1] = start - works, works
    busy, departed = start.copy(), {}
    for number, step in enumerate(compiled.steps):
        if step.partners is None:
            continue
        if len(compiled.table.of_step[number]) == 1:
            pairs = step.partners.pair_array(ranks)
            listed = np.column_stack(
                [pairs, np.full(len(pairs), compiled.table.of_step[number][0])]
            )
        else:
            listed = compiled.listed_messages(number)
        for _ in range(step.repeat):
            if step.sends:
                for sender, _, entry in listed.tolist():
                    busy[sender] += compiled.table.entries[entry].send
                    found[sender, 1] += compiled.table.entries[entry].send
                departed[step.place] = busy.copy()
            if step.receives:
                left, before = departed.pop(step.place), busy.copy()
                for sender, receiver, entry in listed.tolist():
                    cost, free = compiled.table.entries[entry], before[receiver]
                    there = left[sender] + cost.transit
                    found[receiver, 3] += max(left[sender] - free, 0)
                    found[receiver, 4] += max(there - free, 0) - max(left[sender] - free, 0)
                    busy[receiver] = max(free, there) + cost.receive
                    found[receiver, 1] += cost.receive
    return found


def test_without_noise_nothing_is_delayed():
    case = jf.Case(37, network=NETWORK, algorithm=jf.RingAllreduce())
    found = jf.explain(case, 2)
    assert found.causes == ("path",)
    assert not found.ticks.any()
    assert (found.longest_rank == -1).all()


def test_nothing_is_to_blame_where_nothing_was_delayed():
    """Rare noise: realizations that it missed count for no cause, and all missed for none."""
    case = jf.Case(37, network=NETWORK, algorithm=jf.RingAllreduce())
    found = jf.explain(case, 2)
    assert np.isnan([row.largest for row in [*found.rows(), *found.path_rows()]]).all()
    assert found.lines()[1].split()[-1] == "-"
    noise = jf.LateArrival("1ms", probability=0.001)
    rare = jf.explain(replace(case, noise=[noise]), 200, seed=1)
    late, path = rare.rows()
    hit = (rare.ticks[:, 0] > 0).mean()
    assert 0 < hit < 0.5
    assert (late.largest, path.largest) == (hit, 0)


def test_noise_that_no_realization_met_is_no_certainty():
    """Without a hit its mean has no interval; what never acts is certain."""
    noise = [jf.StepNoise("1us", probability=p) for p in (1e-7, 0.02, 0.0)]
    case = jf.Case(16, network=NETWORK, algorithm=jf.Butterfly(), noise=noise)
    found = jf.explain(case, 40, seed=1)
    never, often, silent, _ = found.rows()
    assert not found.ticks[:, 0].any()
    assert (never.mean.value, never.mean.low, never.mean.high) == (0, -np.inf, np.inf)
    assert 0 < often.mean.low < often.mean.high < np.inf
    assert (silent.mean.low, silent.mean.high) == (0, 0)
    assert "[?, ?]" in next(line for line in found.lines() if line.startswith("noise.0"))


def test_what_is_given_is_no_certainty_beside_what_is_drawn():
    """What is on the path depends on both; alone it is the same in each realization."""
    given = jf.PeriodicNoise("1ms", "1us", phases=np.linspace(0, 1e-3, 16, endpoint=False))
    case = jf.Case(16, network=NETWORK, algorithm=jf.Butterfly(), noise=[given], cycles=50)
    [alone, _] = jf.explain(case, 20).rows()
    assert alone.mean.low == alone.mean.value == alone.mean.high
    drawn = jf.StepNoise("10us", probability=1e-2)
    [beside, *_] = jf.explain(replace(case, noise=[given, drawn]), 20).rows()
    assert beside.mean.low < beside.mean.value < beside.mean.high


@pytest.mark.parametrize(
    ("given", "cycles", "most"),
    [
        ({"arrival": imbalance.OneLate("1ms", 7)}, 1, 1e-3),
        ({"arrival": imbalance.OneLate("20us", 7)}, 5, 1e-4),
        ({"arrival": imbalance.GivenArrival([[0] * 15 + [1e-3 * k] for k in (1, 2, 3)])}, 3, 6e-3),
        ({"speed": imbalance.SlowRanks(1.5, [3]), "compute_time": "1ms"}, 4, 2e-3),
    ],
)
def test_what_is_given_adds_no_more_than_that(given, cycles, most):
    """Few realizations leave open how often it is on the path, not how long it is."""
    noise = [jf.PeriodicNoise("1ms", "10us")]
    case = jf.Case(16, network=NETWORK, noise=noise, cycles=cycles, **given)
    found = jf.explain(case, 20)
    mean = found.rows()[0].mean
    assert found.ticks[:, 0].max() <= most * 1e12
    assert 0 < mean.low < mean.value <= mean.high <= most * (1 + 1e-12)
    cause = found.causes[0]
    assert [note for note in found.notes() if note.startswith(f"{cause}: given; the interval is")]
    assert not any(": given; " in note for note in jf.explain(replace(case, noise=[]), 2).notes())


def test_a_late_rank_is_to_blame():
    case = jf.Case(64, network=NETWORK, algorithm=jf.DisseminationBarrier(),
                   arrival=imbalance.OneLate("1ms", rank=7))  # fmt: skip
    found = jf.explain(case, 3)
    assert found.causes == ("arrival", "path")
    np.testing.assert_array_equal(found.ticks, [[10**9, 0]] * 3)
    assert [row.share for row in found.rows()] == [1, 0]
    assert found.culprits() == [(7, 1.0)]
    assert "arrival: one_late, delay = 1 ms, rank = 7" in found.notes()
    assert "hits rank 7 (100.0%) most often" in " ".join(found.notes())


def test_few_ranks_have_culprits_too():
    noise = jf.PeriodicNoise("1s", "100us", phases=[0.5, 0.0])
    case = jf.Case(2, network=NETWORK, noise=[noise], algorithm=jf.DisseminationBarrier())
    assert "hits rank 1 (100.0%)" in " ".join(jf.explain(case, 2).notes())


def test_a_rank_that_is_hit_once_does_not_stand_out():
    """Of few realizations each has a rank of its own."""
    case = jf.Case(4096, network=NETWORK, noise=[jf.StepNoise(jf.Exponential("1us"))],
                   algorithm=jf.DisseminationBarrier())  # fmt: skip
    found = jf.explain(case, 3)
    assert [share for _, share in found.culprits()] == [1 / 3] * 3
    assert "no rank stands out" in " ".join(found.notes())


SLOW = range(32, 40)
LEVELS = "8: L=300ns,o=100ns; L=1us,o=200ns"
OFTEN = jf.PeriodicNoise("1ms", "25us", start="stationary")


@pytest.mark.parametrize(("network", "speed", "hit", "slowest"), [
    (NETWORK, imbalance.SlowNodes(1.2, 8, [4]), "ranks 32 to 39, a node,", "ranks 32 to 39"),
    (LEVELS, imbalance.SlowRanks(1.2, SLOW), "ranks 32 to 39, a node,", "ranks 32 to 39"),
    (NETWORK, imbalance.SlowRanks(1.2, SLOW), "ranks 32 to 39, of one speed,", "ranks 32 to 39"),
    (NETWORK, imbalance.SlowRanks(1.2, range(0, 64, 8)), "ranks 0, 8, 16, 24 and 4 more, of one "
     "speed,", "ranks 0, 8, 16, 24 and 4 more"),
])  # fmt: skip
def test_a_slow_node_stands_out_though_none_of_its_ranks_does(network, speed, hit, slowest):
    """Each of its ranks is hit in an eighth of the realizations, about; with more ranks in less."""
    case = jf.Case(64, network=network, compute_time="1ms", speed=speed, noise=[OFTEN])
    found = jf.explain(case, 100, seed=3)
    assert found.culprits()[0][1] < 0.5
    share = np.isin(found.longest_rank, np.flatnonzero(speed.of_ranks(64) > 1)).mean()
    assert share > 0.9
    told = " ".join(found.notes())
    assert f"the longest single delay on the path hits {hit} in {share:.1%} of the" in told
    assert f"the slowest by what is given: {slowest}, where work takes 1.2 times as long" in told
    assert f"hits {hit}" in " ".join(found.subtitle())


def test_nodes_that_are_hit_alike_do_not_stand_out():
    """Noise that is shared by the ranks of each node, and fast ranks: neither is to blame."""
    shared = jf.PeriodicNoise("10ms", "2ms", start="stationary", shared=8)
    found = jf.explain(jf.Case(128, network=NETWORK, noise=[shared]), 200)
    assert "no rank stands out" in " ".join(found.notes())
    fast = jf.Case(64, network=NETWORK, noise=[OFTEN], compute_time="1ms",
                   speed=imbalance.SlowRanks(0.999, SLOW))  # fmt: skip
    told = " ".join(jf.explain(fast, 200).notes())
    assert "no rank stands out" in told
    assert "the slowest" not in told


def test_a_slow_rank_is_named_with_its_factor():
    case = jf.Case(64, network=NETWORK, compute_time="1ms", noise=[OFTEN],
                   speed=imbalance.SlowRanks(1.5, [3]))  # fmt: skip
    told = " ".join(jf.explain(case, 100).notes())
    assert "hits rank 3 (" in told
    assert "the slowest by what is given: rank 3, where work takes 1.5 times as long" in told


def test_what_is_observed_does_not_matter():
    case = jf.Case(
        8, network=NETWORK, noise=[jf.StepNoise("1us")], algorithm=jf.BinomialBroadcast()
    )
    expected = jf.explain(case, 3)
    for observe in ("rank 0", "spread", "rounds"):
        found = jf.explain(replace(case, observe=observe), 3)
        assert found.on_time == expected.on_time
        np.testing.assert_array_equal(found.ticks, expected.ticks)


def test_a_slow_rank_is_a_cause():
    """Of its compute phase; the path itself is as it is on time."""
    case = jf.Case(64, network=NETWORK, compute_time="1ms", algorithm=jf.DisseminationBarrier(),
                   speed=imbalance.SlowRanks(1.5, [3]))  # fmt: skip
    found = jf.explain(case, 2)
    assert found.causes == ("speed", "path")
    np.testing.assert_array_equal(found.ticks, [[5 * 10**8, 0]] * 2)
    assert found.path_parts == ("compute", "message CPU", "combining", "on the way")
    assert not found.path_ticks.any()


@pytest.mark.filterwarnings("ignore::jitterfly.IneffectiveSpeedWarning")
@pytest.mark.parametrize(("work", "low", "high"), [("1ms", 480e-6, 520e-6), (0, 0, 0)])
def test_a_given_delay_has_an_interval(work, low, high):
    """The same in all realizations: it met all of them, though noise is drawn, or can meet none."""
    case = jf.Case(64, network=NETWORK, compute_time=work, algorithm=jf.DisseminationBarrier(),
                   noise=[jf.StepNoise("1us", 0.1)],
                   speed=imbalance.SlowRanks(1.5, [3]))  # fmt: skip
    speed, *_ = jf.explain(case, 100).rows()
    assert speed.mean.value == pytest.approx((low + high) / 2)
    assert low <= speed.mean.low <= speed.mean.value <= speed.mean.high <= high


def test_the_path_is_split_into_what_it_is_made_of():
    """A rank that combines slowly; and a path by other levels of the machine."""
    case = jf.Case(2, network=jf.Hockney("1us", 0, gamma="1ns"), message_bytes=1000,
                   algorithm=jf.RecursiveDoublingAllreduce())  # fmt: skip
    slow = jf.explain(replace(case, speed=imbalance.SlowRanks(3, [1])), 1)
    np.testing.assert_array_equal(slow.path_ticks, [[0, 0, 2 * 10**6, 0]])
    # Rank 0 is late by what a message of the slow level takes and more: the path begins there.
    machine = jf.Hierarchy([(2, jf.LogGOPS(L="1us", o="200ns")), jf.LogGOPS(L="5us", o="300ns")])
    tree = jf.Case(3, network=machine, algorithm=jf.BinomialReduce())
    found = jf.explain(replace(tree, arrival=imbalance.OneLate("20us", 1)), 1)
    # Without delay rank 2's message over 5 us is the path, with it rank 1's: then rank 0 receives.
    assert found.causes == ("arrival", "path")
    assert found.ticks[0, 0] == 20 * 10**6
    np.testing.assert_array_equal(found.path_ticks.sum(), found.ticks[0, 1])
    assert found.path_ticks[0, 3] == -4 * 10**6


def test_what_others_caused_of_a_wait():
    """One late rank: all others wait for it, and it waits for nobody."""
    case = jf.Case(4, network=NETWORK, algorithm=jf.DisseminationBarrier(),
                   arrival=imbalance.OneLate("1ms", rank=2))  # fmt: skip
    found = jf.explain(case, 2)
    rows = found.rank_rows()
    assert [row.rank for row in rows] == [0, 1, 2, 3]
    assert rows[2].late == pytest.approx(1e-3)
    assert rows[2].waits_for_others == 0
    assert all(row.waits_for_others > 0.99e-3 for row in rows if row.rank != 2)
    assert all(row.waits_for_others_on_time == 0 for row in rows)
    assert all(row.end > rows[2].end > 1e-3 for row in rows if row.rank != 2)
    assert len(found.rank_lines()) == 8
    many = jf.explain(replace(case, ranks=64), 2)
    assert len(many.rank_rows(3)) == 6
    assert many.rank_rows(3)[0].rank == 2
    assert many.rank_lines()[2].split()[0] == "2"  # the one that others wait for
    assert found.ranks_to_csv().count("\n") == 5


def test_ranks_that_are_early_have_no_share():
    """Faster than the case says: there is no delay that a share could be of."""
    case = jf.Case(4, network=NETWORK, compute_time="10us", algorithm=jf.TreeBarrier(),
                   speed=imbalance.GivenSpeed([0.5] * 4))  # fmt: skip
    found = jf.explain(case, 2)
    assert found.delay.tolist() == [-5 * 10**6] * 2
    assert np.isnan(found.rows()[0].share)
    # `on_time` is neither with the given speeds nor with noise.
    assert "15.6 µs on time, and on average 5 µs less" in found.title()
    assert "%" not in " ".join(found.lines()[1].split()[:-1]).replace("95 %", "")


@pytest.mark.parametrize(("delay", "units"), [("10ns", ["µs"]), ("1ps", ["ps", "µs"])])
def test_one_unit_in_title_and_tables(delay, units):
    """A delay of 50 ns stands beside 8.4 µs in µs; one of some ps would be 0.000005."""
    noise = jf.StepNoise(jf.Exponential(delay), probability=0.1)
    found = jf.explain(jf.Case(64, network=NETWORK, noise=[noise]), 100)
    title = found.title()
    shown = set(re.findall(r"\b(?:ns|µs|ps|ms)\b", title + "\n" + "\n".join(found.lines())))
    assert sorted(shown) == units
    ranks = re.findall(r", (\S+)", found.rank_table().texts()[0][1])
    assert ranks == ["µs"]
    mean = found.rows()[0].mean
    one = re.search(r"a mean delay of (\S+) (\S+)$", title)
    scale = {"µs": 1e6, "ps": 1e12}[one[2]]
    assert float(one[1]) == pytest.approx(scale * mean.value, rel=1e-3)
    assert f"mean delay, {one[2]}" in found.lines()[0]


def test_each_source_has_its_own():
    """One source at a time hits, each by what it is."""
    sources = [
        jf.PeriodicNoise("1ms", "25us", phases=[0.0]),
        jf.StepNoise("2us"),
        jf.MessageNoise("3us"),
        jf.LateArrival("4us"),
    ]
    case = jf.Case(1, network=NETWORK, noise=[sources[0]], compute_time="10us")
    found = jf.explain(case, 1)
    np.testing.assert_array_equal(found.ticks, [[25 * 10**6, 0]])
    assert (found.longest[0], found.longest_rank[0], found.longest_cause[0]) == (25 * 10**6, 0, 0)
    two = jf.Case(2, network=NETWORK, noise=sources[1:], algorithm=jf.DisseminationBarrier())
    found = jf.explain(two, 1)
    # One round: a step is taken, a message is on its way, ranks begin late; by so much each.
    np.testing.assert_array_equal(found.ticks, [[2 * 10**6, 3 * 10**6, 4 * 10**6, 0]])
    assert found.causes == ("noise.0 (step)", "noise.1 (message)", "noise.2 (arrival)", "path")


def test_the_rank_with_a_straggler_s_noise_is_named():
    """Rank 5 alone has noise: whatever is delayed, it is by that."""
    phases = np.where(np.arange(16) == 5, 0.0, 0.999)
    noise = jf.PeriodicNoise("1s", "100us", phases=phases)
    case = jf.Case(16, network=NETWORK, noise=[noise], algorithm=jf.RecursiveDoublingAllreduce())
    found = jf.explain(case, 4)
    assert found.culprits() == [(5, 1.0)]
    assert "rank 5 (100.0%)" in " ".join(found.notes())


def test_each_of_many_sources_is_told_from_the_others():
    """Sources that never act stand around the one that does, in any order."""
    rng = random.Random(5)
    acting = [jf.PeriodicNoise("100us", "7us"), jf.RenewalNoise("90us", "9us"),
              jf.StepNoise("1us"), jf.MessageNoise("2us"), jf.NetworkJitter("1us", "3us"),
              jf.LateArrival("5us")]  # fmt: skip
    silent = [jf.PeriodicNoise("1ms", "1us", begin="1000s"), jf.StepNoise("1us", probability=0),
              jf.MessageNoise("1us", probability=0), jf.LateArrival("1us", probability=0),
              jf.NetworkJitter("1us", "1us", begin="1000s")]  # fmt: skip
    for one in acting:
        sources = [one, *silent]
        rng.shuffle(sources)
        case = jf.Case(24, network=NETWORK, noise=sources, compute_time="50us", cycles=2,
                       algorithm=jf.RecursiveDoublingAllreduce())  # fmt: skip
        found = jf.explain(case, 20, seed=1)
        delayed = {found.causes[i] for i in np.flatnonzero(found.ticks.any(axis=0))} - {"path"}
        assert delayed == {names_of(sources)[sources.index(one)]}


def test_threads_and_pieces_do_not_matter():
    noise = [jf.StepNoise(jf.Exponential("5us")), jf.NetworkJitter("20us", "3us")]
    case = jf.Case(100, network=NETWORK, noise=noise, algorithm=jf.TreeBarrier(), cycles=2)
    one, two = (jf.explain(case, 50, seed=4, threads=threads) for threads in (1, 2))
    np.testing.assert_array_equal(one.ticks, two.ticks)
    np.testing.assert_array_equal(one.longest_rank, two.longest_rank)


def test_tables_and_picture(tmp_path):
    noise = [jf.PeriodicNoise("1ms", "25us", start="stationary"),
             jf.LateArrival(jf.Exponential("20us"), probability=0.01)]  # fmt: skip
    found = jf.explain(jf.Case(64, network=NETWORK, noise=noise), 200, seed=1)
    rows = found.rows()
    assert sum(row.share for row in rows) == pytest.approx(1)
    delayed = (found.ticks.max(axis=1) > 0).mean()
    assert 0.9 < delayed < 1
    assert sum(row.largest for row in rows) == pytest.approx(delayed)
    parts = [row for row in found.path_rows() if row.mean.value]
    assert len(found.lines()) == 1 + len(rows) + len(parts)
    assert sum(row.mean.value for row in parts) == pytest.approx(rows[-1].mean.value)
    assert len(found.rank_lines()) == 2 + 8 + 2
    *_, mean, part = found.rank_lines()
    assert mean.startswith("all ranks, mean  ")
    all_ranks, completion = found.all_ranks(), found.completion.mean() * 1e-12
    every = [row._asdict() for row in found.rank_rows()]
    for name, value in all_ranks.items():
        assert value == pytest.approx(np.mean([row[name] for row in every]), abs=1e-12)
    assert part.split()[:2] == ["of", "the"]
    columns = ("late", "noise", "waits_for_others", "waits_for_messages")
    assert part.split()[3:7] == [f"{all_ranks[name] / completion:.1%}" for name in columns]
    assert found.to_csv().count("\n") == 1 + len(rows)
    lines = len(found.lines()) + len(found.rank_lines()) - 1  # whose heading has two lines
    assert found._repr_html_().count("<tr>") == lines
    assert max(map(len, found.rank_lines())) <= 80
    assert repr(found).startswith("Explanation(200 realizations; most by noise.")
    pytest.importorskip("matplotlib")
    assert "of ranks: means" in " ".join(found.notes())
    assert found.subtitle()[:4] == found.notes()[:4] == [
        "butterfly, 8 B",
        "network: loggops, L = 1 µs, o = 200 ns, G = 100 ps, gamma = 100 ps",
        "noise.0: periodic, period = 1 ms, duration = 25 µs, start = stationary",
        "noise.1: arrival, delay = exponential, mean 20 µs, probability = 0.01",
    ]  # fmt: skip
    assert "of ranks: means" not in " ".join(found.subtitle())  # which explains the table
    figure = found.plot(tmp_path / "causes.png")
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend[0] == f"{rows[0].cause}: {rows[0].share:.1%}"
    assert figure.axes[0].dataLim.y1 < figure.axes[0].get_ylim()[1]
    assert (tmp_path / "causes.png").stat().st_size > 10_000


WINDOWED = jf.Case(257, network=NETWORK, algorithm=jf.LinearAlltoall(window=256))
PEAK = """
import json
import sys
import jitterfly as jf
from pathlib import Path
def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
case = jf.Case.from_dict(json.loads(sys.argv[1]))
jf.simulate(case, 2, backend="cpu", threads=1)
jf.explain(jf.Case(2, network=case.network), 2, threads=1)  # loads its modules
before = peak()
jf.explain(case, 2, threads=1)
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not tell the peak")
def test_memory_is_asked_for_as_it_is_taken():
    """A window of messages has a path for each that a rank has sent and not received yet."""
    asked = WINDOWED.ranks * _bytes_of_rank(WINDOWED)
    code = [sys.executable, "-c", PEAK, json.dumps(WINDOWED.to_dict())]
    taken = int(subprocess.run(code, check=True, capture_output=True, text=True).stdout)
    assert asked / 2 < taken < asked + 2**20


def test_too_little_memory_is_told_before_it_is_taken(monkeypatch):
    monkeypatch.setattr("jitterfly.resources.available_memory", lambda: 2**23)
    with pytest.raises(ValueError, match=r"memory for the critical paths of 257 ranks: needs 1"):
        jf.explain(WINDOWED, 2, threads=1)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"algorithm": jf.Butterfly(copy_levels="all")}, "copy_levels and on_demand"),
        ({"noise": [jf.StepNoise("1us")] * 13}, "at most 12 noise sources"),
    ],
)
def test_what_can_not_be_explained(changes, words):
    case = replace(jf.Case(16, network=NETWORK), **changes)
    with pytest.raises(ValueError, match=words):
        jf.explain(case, 2)


def test_it_can_be_stopped():
    case = jf.Case(2**12, network=NETWORK, noise=[jf.StepNoise("1us")])

    def stop(done, count):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        jf.explain(case, 10**6, progress=stop)
