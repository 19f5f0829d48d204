"""Load imbalance: late ranks by a pattern or a draw, and slow ranks."""

import random
from dataclasses import replace

import numpy as np
import pytest
from reference.collectives import GOALS
from reference.uneven import random_uneven_pair
from support.grouped import parametrize_in_groups
from support.instruction_sets import AVAILABLE
from support.kernel_cases import NOISES
from support.message_cases import (
    check_rules,
    message_case,
    noisy_case,
    with_own_times,
    with_uneven_ranks,
    without_exchanges,
)
from support.scale import crossed, of_each_kind, scaled

import jitterfly as jf
from jitterfly import _core, imbalance

NETWORK = jf.LogGOPS(L="1us", o="200ns", G="0.1ns", gamma="0.1ns")
NOISE = [jf.PeriodicNoise("100us", "7us"), jf.StepNoise(jf.Exponential("1us"))]
CASES = [
    (kind, levels, number)
    for kind, levels in crossed(sorted(GOALS), (False, True))
    if kind != "butterfly" or not levels  # whose exchanges all have one price in the reference
    for number in of_each_kind(12)
]


@pytest.mark.filterwarnings("ignore:.*counts nowhere, so the collective takes no time")
@pytest.mark.filterwarnings("ignore::jitterfly.IneffectiveSpeedWarning")
@parametrize_in_groups("kind, levels, number", CASES)
def test_against_event_driven_reference(kind, levels, number):
    """Every ready time of every rank, on flat machines and on those of several levels."""
    rng = random.Random(f"uneven {kind} {levels} {number}")
    case, run, draw = random_uneven_pair(rng, jf, kind, levels=levels)
    rows = run.execute()
    found = np.rint(jf.ready_times(case, seed=draw[0], realization=draw[1]) * 1e12)
    assert len(found) == len(rows)
    for mine, theirs in zip(found, rows, strict=True):
        # Ranks beyond a power of two have no levels of the butterfly.
        took_part = [rank for rank, time in enumerate(theirs) if time is not None]
        np.testing.assert_array_equal(mine[took_part], [theirs[rank] for rank in took_part])


@pytest.mark.parametrize("isa", AVAILABLE)
def test_lanes_are_as_one_realization(isa, monkeypatch):
    """Under every kind of noise: registers of realizations, and one after the other."""
    monkeypatch.setenv("JITTERFLY_ISA", isa)
    for number in range(scaled(60)):
        case = noisy_case(number)
        if case.sources == NOISES["dense"](case.ranks):
            # A tick of 1000 is free: each tick of work is an interval of noise to walk through.
            case = replace(case, costs=replace(case.costs, forward=1000))
        case = with_uneven_ranks(case, number)
        program, first = case.program(_core), min(case.realization, 2**31)
        together = _core.simulate(program, case.seed, first, 9, "max", "cpu", 1, None)
        for k in range(9):
            alone = _core.ready_times(program, case.seed, first + k)
            np.testing.assert_array_equal(together[k], alone.max(axis=1), err_msg=f"case {number}")


@pytest.mark.parametrize("isa", AVAILABLE)
def test_own_times_by_the_rules(isa, monkeypatch):
    monkeypatch.setenv("JITTERFLY_ISA", isa)
    for number in range(scaled(60)):
        case = without_exchanges(message_case(number, "own times", largest=300))
        check_rules(with_own_times(case, random.Random(number), 1000), f"case {number}")


@parametrize_in_groups("kind, ranks", crossed(sorted(GOALS), [1, 6, 32]))
def test_ranks_that_are_alike_after_all(kind, ranks):
    """Nobody is late and nobody slow: the same times, by other ways through the engine."""
    case = jf.Case(ranks, algorithm=jf.Algorithm.from_dict({"kind": kind}), network=NETWORK,
                   noise=NOISE, compute_time="3us", cycles=3, observe="rounds")  # fmt: skip
    expected = jf.simulate(case, 9, seed=3).ticks
    for changes in (
        {"arrival": imbalance.Ramp(0)},
        {"speed": imbalance.SlowRanks(1)},
        {"arrival": imbalance.OneLate(0), "speed": imbalance.DrawnSpeed(0)},
        {"noise": [*NOISE, jf.LateArrival("1ms", probability=0)]},
    ):
        found = jf.simulate(replace(case, **changes), 9, seed=3).ticks
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("ranks", [2, 5, 64, 100])
@pytest.mark.parametrize("rank", [0, -1])
@pytest.mark.parametrize("kind", ["dissemination_barrier", "recursive_doubling_barrier"])
def test_a_late_rank_delays_a_barrier_by_what_it_is_late(kind, ranks, rank):
    """All wait for the last one, from which the barrier takes as long as ever: t + T exactly."""
    case = jf.Case(ranks, algorithm=jf.Algorithm.from_dict({"kind": kind}), network=NETWORK)
    on_time = jf.simulate(case, 1).ticks[0, 0]
    if kind == "recursive_doubling_barrier" and ranks & (ranks - 1):
        rank = ranks - 1  # one of those whose way is the longest: it is folded in and out
    late = imbalance.OneLate("1ms", rank % ranks)
    found = jf.simulate(replace(case, arrival=late), 1).ticks[0, 0]
    assert found == 10**9 + on_time


def test_drawn_arrivals():
    """Means and shares of draws; one for all cycles, or for each; by rank and by node."""
    delay = jf.Exponential("1ms")
    free = jf.Hockney(alpha="1ns", beta=0)
    case = jf.Case(64, network=free, algorithm=jf.TreeBarrier(), noise=[jf.LateArrival(delay)])
    # The start of each rank, with nothing else to wait for.
    starts = np.array([jf.ready_times(case, seed=1, realization=k)[0] for k in range(100)])
    assert starts.mean() == pytest.approx(1e-3, rel=0.05)
    by_node = replace(case, noise=[jf.LateArrival(delay, shared=8)])
    start = jf.ready_times(by_node, seed=1)[0].reshape(8, 8)
    assert (start == start[:, :1]).all()
    assert len(set(start[:, 0])) == 8
    rare = replace(case, noise=[jf.LateArrival(delay, probability=0.1)])
    starts = np.array([jf.ready_times(rare, seed=1, realization=k)[0] for k in range(50)])
    assert (starts > 0).mean() == pytest.approx(0.1, rel=0.15)
    for each, alike in (("cycle", False), ("realization", True)):
        one = jf.Case(1, network=free, cycles=3, noise=[jf.LateArrival(delay, each=each)])
        ends = jf.simulate(one, 20).ticks
        gaps = np.diff(np.column_stack([np.zeros(20, dtype=int), ends]), axis=1)
        assert (gaps == gaps[:, :1]).all() == alike


def test_a_slow_rank_takes_its_factor_in_computing_and_combining():
    network = jf.Hockney(alpha="1us", beta=0, gamma="1ns")
    case = jf.Case(2, network=network, message_bytes=1000, compute_time="10us", noise=[])
    slow = replace(case, speed=imbalance.SlowRanks(1.5, [1]))
    # Rank 1 begins at 15 us, and combines for 1.5 us what rank 0 sent at 10; rank 0 hears at 16.
    np.testing.assert_array_equal(
        np.rint(jf.ready_times(slow)[-1] * 1e9), [15_000 + 1000 + 1000, 15_000 + 1500]
    )


@parametrize_in_groups("kind, ranks", crossed(sorted(GOALS), [2, 6, 8]))
def test_ranks_that_are_all_slow_are_a_slower_machine(kind, ranks):
    """One factor for all is that factor of gamma and of the compute phase."""
    case = jf.Case(ranks, algorithm=jf.Algorithm.from_dict({"kind": kind}), cycles=2,
                   network=jf.LogGOPS(L="1us", o="200ns", gamma="1ns"), message_bytes=9600,
                   compute_time="1us", noise=NOISE)  # fmt: skip
    slow = replace(case, speed=imbalance.GivenSpeed([3] * ranks))
    other = replace(case, network=replace(case.network, gamma="3ns"), compute_time="3us")
    results = [jf.simulate(one, 5, seed=2).ticks for one in (slow, other)]
    np.testing.assert_array_equal(*results)


def test_all_may_be_slow_in_a_butterfly_with_copies():
    network = jf.LogGOPS(L="1us", o="200ns", gamma="1ns")
    algorithm = jf.Butterfly(copy_levels="all", exchanges_after=1)
    case = jf.Case(8, network=network, algorithm=algorithm, message_bytes=9600, noise=NOISE)
    slow = replace(case, speed=imbalance.SlowNodes(2, 8, [0]))
    other = replace(case, network=replace(network, gamma="2ns"))
    results = [jf.simulate(one, 5, seed=2).ticks for one in (slow, other)]
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"noise": [jf.LateArrival("1us")] * 9}, "noise must hold at most 8 of LateArrival"),
        ({"arrival": 3}, "arrival must be an Arrival such as"),
        ({"speed": 1.2}, "speed must be a Speed such as"),
        ({"arrival": imbalance.OneLate("1us", 9)}, "rank must be from 0 to 7, got 9"),
        ({"arrival": imbalance.GivenArrival([0, 1e-6])}, "must have 8 times .ranks. in one row"),
        ({"arrival": imbalance.GivenArrival(np.zeros((3, 8)))}, "or in each of 1 .cycles."),
        ({"speed": imbalance.SlowRanks(2, [8])}, "ranks must be from 0 to 7"),
        ({"speed": imbalance.SlowNodes(2, 4, [2])}, "nodes must be from 0 to 1"),
        ({"speed": imbalance.GivenSpeed([1, 2])}, "one factor for each of the 8 ranks, got 2"),
        ({"speed": imbalance.SlowRanks(2), "algorithm": jf.Butterfly(exchanges_after=1)},
         "or whose ranks combine at different speed"),
    ],
)  # fmt: skip
def test_what_does_not_fit_a_case_is_refused(changes, words):
    case = jf.Case(8, network=NETWORK, message_bytes=1000)
    with pytest.raises(ValueError, match=words):
        replace(case, **changes)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: imbalance.Ramp(-1), "longest"),
        (lambda: imbalance.OneLate("1us", -1), "rank must be an integer from 0"),
        (lambda: imbalance.GivenArrival([[1, 2], [3]]), "times must be times in seconds from 0"),
        (lambda: imbalance.GivenArrival([1, -1]), "got -1 for rank 1 in row 0"),
        (lambda: imbalance.GivenArrival([1, float("nan")]), "got nan for rank 1"),
        (lambda: imbalance.GivenArrival([]), "times must be times"),
        (lambda: imbalance.SlowRanks(0), "factor must be a number above 0"),
        (lambda: imbalance.SlowRanks("fast"), "factor must be a number above 0"),
        (lambda: imbalance.SlowRanks(2, []), "ranks must be a list of integers"),
        (lambda: imbalance.SlowRanks(2, [3, 3]), "ranks must be a list of .* each once"),
        (lambda: imbalance.SlowNodes(2, 0), "node_ranks must be an integer from 1"),
        (lambda: imbalance.DrawnSpeed(3), "sigma must be a number from 0 to 2"),
        (lambda: imbalance.GivenSpeed([[1]]), "factors must be a list of factors"),
        (lambda: jf.LateArrival("1us", each="rank"), "each must be one of"),
        (lambda: jf.LateArrival("1us", probability=2), "probability"),
    ],
)
def test_what_is_no_pattern_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_a_file_of_arrivals(tmp_path):
    file = tmp_path / "late.txt"
    file.write_text("# seconds\n0, 1e-6, 2e-6\n0 0 3e-6  # second cycle\n")
    arrival = imbalance.FileArrival(str(file))
    np.testing.assert_array_equal(arrival.delays(3, 2), [[0, 10**6, 2 * 10**6], [0, 0, 3 * 10**6]])
    given = imbalance.GivenArrival([[0, 1e-6, 2e-6], [0, 0, 3e-6]])
    case = jf.Case(3, network=NETWORK, cycles=2, arrival=arrival)
    np.testing.assert_array_equal(
        jf.ready_times(case), jf.ready_times(replace(case, arrival=given))
    )
    assert jf.Case.from_dict(case.to_dict()) == case
    for text, words in (
        ("1 2\n3\n", "line 2: must hold 2 numbers"),
        ("1 x\n", "line 1: must be numbers"),
        ("\n", "holds no numbers"),
    ):
        other = tmp_path / "wrong.txt"
        other.write_text(text)
        with pytest.raises(ValueError, match=words):
            imbalance.FileArrival(str(other))
    file.write_text("0 0 0\n")
    with pytest.raises(ValueError, match="has changed"):
        imbalance.FileArrival(str(file), arrival.sha256)
    with pytest.raises(ValueError, match="has changed"):
        jf.simulate(case, 1)


def test_given_times_are_rounded_as_all_times_are():
    """By their decimal value: half to even, and to the tick where a float has few digits left."""
    rng = random.Random(8)
    times = [2.5e-12, 0.5e-12, 1.5e-12, 1234567.000000000001, 0.1234567890125, 4.0e5 + 0.7]
    times += [rng.randrange(10**15) / 2 * 1e-12 for _ in range(500)]
    times += [rng.random() * 10 ** rng.randint(-12, 6) for _ in range(500)]
    from jitterfly.units import exact

    expected = [round(exact(time) * 10**12) for time in times]
    found = imbalance.GivenArrival(times).delays(len(times), 1)[0].tolist()
    assert found == expected
    assert found[:3] == [2, 0, 2]


def test_a_speed_that_acts_on_nothing_is_told():
    network = jf.LogGOPS(L="1us", o="200ns")
    case = jf.Case(8, network=network, algorithm=jf.RingAllreduce(), speed=imbalance.SlowRanks(2))
    for ask in (jf.simulate, jf.explain):
        with pytest.warns(jf.IneffectiveSpeedWarning, match="speed .slow_ranks. acts on nothing"):
            ask(case, 2)
    # A warning would be an error here.
    jf.simulate(replace(case, compute_time="1us"), 2)
    jf.simulate(replace(case, network=NETWORK), 2)
    jf.simulate(replace(case, network=NETWORK, algorithm=jf.Butterfly()), 2)
    with pytest.warns(jf.IneffectiveSpeedWarning):
        jf.simulate(replace(case, network=NETWORK, algorithm=jf.RingAllgather()), 2)


def test_a_study_tells_of_a_speed_that_acts_nowhere(tmp_path):
    network = jf.LogGOPS(L="1us", o="200ns")
    case = jf.Case(8, network=network, algorithm=jf.RingAllreduce(), speed=imbalance.SlowRanks(2))
    budget = jf.RealizationBudget(max=2)
    axes = [jf.Axis("compute_time", ["0s", "1us"])]
    assert len(jf.Study("s", case=case, axes=axes, budget=budget).cells()) == 2
    with pytest.warns(jf.IneffectiveSpeedWarning):
        jf.Study("s", case=case, budget=budget).cells()


def test_as_tables_and_as_axes(tmp_path):
    """Patterns are fields of a case as all others are: in TOML, and on an axis."""
    file = tmp_path / "late.toml"
    file.write_text("""\
name = "late"
realizations = {max = 20}
[case]
ranks = 16
cycles = 2
compute_time = "5us"
network = "L=1us,o=200ns,gamma=1ns"
speed = {kind = "slow_ranks", ranks = [3]}
noise = [{kind = "arrival", delay = "2us", probability = 0.5}]
algorithm = {kind = "recursive_doubling_allreduce"}
[axes.arrival]
values = [{kind = "ramp", longest = "10us"}, {kind = "one_late", delay = "1ms", rank = 5}]
[axes.factor]
path = "speed.factor"
values = [1, 2]
[observables]
completion = {kind = "completion"}
""")
    study = jf.load_study(file)
    cases = [variant.case for cell in study.cells() for variant in cell.variants]
    assert {case.arrival.kind for case in cases} == {"ramp", "one_late"}
    assert {case.speed.factor for case in cases} == {1.0, 2.0}
    for case in cases:
        assert jf.Case.from_dict(case.to_dict()) == case
    assert len({str(case.identity()) for case in cases}) == 4
    store = jf.run_study(study, tmp_path / "out")
    means = store.to_xarray()["estimate"].sel(observable="completion", statistic="mean")
    assert means.shape == (2, 2)
    # The late rank holds all up by 1 ms in each cycle, the ramp by 10 us at most.
    assert (means.isel(arrival=1) - means.isel(arrival=0) > 0.9e-3).all()
    again = jf.run_study(study, tmp_path / "out")  # all is there
    np.testing.assert_array_equal(again.to_xarray()["estimate"], store.to_xarray()["estimate"])


def test_the_best_algorithm_changes_with_the_pattern(tmp_path):
    """Faraj et al. 2008: what is best at once is not what is best where ranks are late.

    By paired differences: without intervals that meet, the ring wins at one end of the example
    study, and the tree at the other.
    """
    from jitterfly.studies.toml import shipped_folder

    study = jf.load_study(shipped_folder() / "examples" / "arrivals.toml")
    cells = study.cells()
    tree_minus_ring = []
    for cell in (cells[0], cells[-1]):
        tree, ring = (
            jf.simulate(variant.case, 500, seed=study.seed).column("completion: max")
            for variant in cell.variants
        )
        tree_minus_ring.append(jf.stats.difference(tree, ring))
    assert tree_minus_ring[0].low > 0
    assert tree_minus_ring[1].high < 0


@pytest.mark.parametrize(
    "question",
    [jf.theory.round_time, jf.theory.collective_completion, jf.theory.noise_free_completion],
)
def test_theory_is_of_ranks_that_are_alike(question):
    case = jf.Case(8, network=NETWORK, speed=imbalance.SlowRanks(2), compute_time="1us")
    with pytest.raises(ValueError, match="arrival"):
        question(case)
