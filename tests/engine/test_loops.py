"""Several cycles: a column T is the loop that makes T redundant exchanges in every cycle."""

import random
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
from reference.collectives import GOALS, random_options
from reference.public_noise import random_sources

import jitterfly as jf
import jitterfly.congestion as jc
from jitterfly.backends import core
from jitterfly.imbalance import OneLate, Ramp, SlowRanks
from jitterfly.program import row_labels
from jitterfly.store.cell_progress import run_progress
from jitterfly.studies.grid import hash_case

FORWARDING = sorted(
    kind for kind, goal in GOALS.items() if goal == "allreduce" and kind != "hierarchical_allreduce"
)


def random_network(rng):
    """Without a gap between messages, which redundant exchanges do not wait for."""
    times = [rng.choice([0, rng.randint(1, 10**6)]) * 1e-12 for _ in range(3)]
    if rng.random() < 0.3:
        return jf.Hockney(1e-9 + times[0], rng.choice([0, 1e-12]), rng.choice([0, 1e-12]))
    return jf.LogGOPS(
        L=times[0], o=times[1], G=rng.choice([0, 1e-12]), gamma=rng.choice([0, 1e-12])
    )


def random_loop(rng):
    """A case of 2 to 30 cycles with redundant exchanges: anything that a case can have."""
    kind = rng.choice(FORWARDING)
    ranks = rng.randint(2, rng.choice([4, 9, 33]))
    size = rng.choice([1, 8, rng.randint(1, 5000)])
    most = (ranks - 1).bit_length()
    options = random_options(rng, kind, ranks, size)
    network, routed = random_network(rng), False
    levels = kind != "butterfly" and rng.random() < 0.3
    if levels:
        sizes = rng.choice([[2], [3, 2]])
        network = jf.Hierarchy([*((n, random_network(rng)) for n in sizes), network])
    even = kind == "butterfly"
    if kind == "butterfly":
        options |= rng.choice([{}, {"copy_levels": "all"}, {"on_demand": "all", "patience": 1e-7}])
    else:
        routed = not levels and rng.random() < 0.2
    transit = max(network.costs(size).transit, 1) if not levels else 10**6
    noise, _ = random_sources(rng, jf, ranks, transit)
    if rng.random() < 0.4:
        each = rng.choice(["realization", "cycle"])
        noise.append(jf.LateArrival(jf.Exponential("1us"), probability=0.5, each=each))
    if not even and rng.random() < 0.3:
        noise.append(jf.SpeedNoise(jf.Lognormal(median=1, sigma=0.2)))
    if routed and getattr(network, "beta", getattr(network, "G", 0)):
        noise.append(jf.Congestion(jc.FatTree.of(144), ratio=0.5))
    arrival = rng.choice([None, Ramp("1us"), OneLate("2us", rank=0)])
    speed = None if even else rng.choice([None, SlowRanks(1.5, ranks=[1])])
    after = rng.choice(["all", rng.randint(1, most)])
    cost = rng.choice([0, 12_345, 400_000]) * 1e-12
    algorithm = {"kind": kind, "exchanges_after": after, "forward_cost": cost} | options
    return jf.Case(
        ranks, algorithm=jf.Algorithm.from_dict(algorithm), network=network, noise=noise,
        message_bytes=size, cycles=rng.randint(2, 30), arrival=arrival, speed=speed,
        compute_time=rng.choice([0, 1e-12, 7.000123e-6]),
        observe=rng.choice(["completion", "spread", "arrival", "rank 0"]),
    )  # fmt: skip


def with_exchanges(case, T):
    """The case that makes `T` exchanges in every cycle."""
    cost = case.algorithm.forward_cost if T else 0
    return replace(case, algorithm=replace(case.algorithm, exchanges_after=T, forward_cost=cost))


def completions_by_rank(case, seed, realization):
    """When each rank has the result of each cycle of the case's one program, in ticks."""
    times = jf.ready_times(case, seed, realization)
    ends = [i for i, name in enumerate(row_labels(case)) if name.endswith("end")]
    return np.rint(times[ends] * 1e12).astype(np.int64)


def statistics(times, observe):
    """What is observed of a row: of each name's end the value, the mean to a tick."""
    if observe in ("completion", "rank 0"):
        return {"": times.max() if observe == "completion" else times[0]}
    mean = (2 * sum(map(int, times)) + len(times)) // (2 * len(times))
    return {": max": times.max(), ": min": times.min(), ": mean": mean}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("number", range(40))
def test_a_column_is_a_program_of_its_own(number):
    """To the tick, in every cycle, whatever the algorithm, the network and the noise."""
    rng, case = random.Random(f"loops {number}"), None
    while case is None:
        with suppress(ValueError):  # such as a case that may take too long
            case = random_loop(rng)
    seed, first = rng.getrandbits(64), rng.getrandbits(30)
    found = jf.simulate(case, 2, seed=seed, first_realization=first)
    names = found.observations
    free = np.rint(found.noise_free * 1e12).astype(np.int64)
    rows, numbers = case.completions(), range(case.algorithm.forwards(case.ranks) + 1)
    assert [(row.cycle, row.T) for row in rows] == [
        (cycle, T) for cycle in range(1, case.cycles + 1) for T in numbers
    ]
    for T in numbers:
        own = with_exchanges(case, T)
        runs = [completions_by_rank(own, seed, first + i) for i in range(2)]
        runs.append(completions_by_rank(replace(own, noise=[]), 0, 0))
        for row in (row for row in rows if row.T == T):
            for times, ticks in zip(runs, [*found.ticks, free], strict=True):
                for end, value in statistics(times[row.cycle - 1], case.observe).items():
                    assert ticks[names.index(row.name + end)] == value


FORWARDS = jf.Butterfly(exchanges_after=6, forward_cost="200ns")
RARE = jf.PeriodicNoise("100ms", "25us", start="stationary")
LOOP = jf.Case(64, algorithm=FORWARDS, network=jf.LogGOPS(L="1us", o="200ns", G="0.1ns"),
               noise=[RARE], cycles=20, compute_time="1us")  # fmt: skip


@pytest.mark.parametrize(
    ("ranks", "most", "count", "gain", "width"),
    [(64, 6, 2000, 0.894, 0.001), (1024, 10, 300, 0.936, 0.008)],
)
def test_exchanges_that_cost_more_than_they_bring_are_no_gain(ranks, most, count, gain, width):
    """Of a conventional loop, whose cycles before have no exchanges to pay for either.

    Against that the gain was 1.001 and 1.007 where T = 0 had the cycles before of T = 6 and 10. The
    half width is that of many more realizations, and at 1024 ranks the interval's of so few.
    """
    algorithm = replace(FORWARDS, exchanges_after=most)
    samples = jf.simulate(replace(LOOP, ranks=ranks, algorithm=algorithm), count, seed=1)
    conventional, redundant = (samples.column(f"cycle 20, T={T}") for T in (0, most))
    found = jf.stats.ratio(conventional, redundant)
    assert abs(found.value - gain) < width
    assert found.high < 1


def arrivals_of(case, T):
    """Columns by name without T, of a case that observes arrivals."""
    found = jf.simulate(case, 5, seed=3)
    names = [name.replace(f"T={T}, ", "").replace(f", T={T}", "") for name in found.observations]
    return dict(zip(names, found.ticks.T, strict=True))


@pytest.mark.parametrize("T", [0, 2, 6])
def test_ranks_of_each_T_arrive_at_times_of_their_own(T):
    case = replace(LOOP, observe="arrival", cycles=3)
    of_T, own = arrivals_of(case, T), arrivals_of(with_exchanges(case, T), T)
    names = [f"cycle {cycle}{what}: {over}" for cycle in (1, 2, 3) for what in (", start", "")
             for over in ("max", "min", "mean")]  # fmt: skip
    assert set(names) <= set(own)
    for name in names:
        np.testing.assert_array_equal(of_T[name], own[name])


def test_rows_are_those_of_one_loop():
    """Of all exchanges, with every row that it has."""
    case = replace(LOOP, observe="rounds", cycles=2)
    ticks = jf.simulate(case, 3, seed=2).ticks
    times = np.array([jf.ready_times(case, 2, i).max(axis=1) for i in range(3)])
    np.testing.assert_array_equal(ticks[:, ::3], np.rint(times * 1e12).astype(np.int64))


def test_cycles_and_T_in_xarray():
    pytest.importorskip("xarray")
    case = replace(LOOP, cycles=3)
    found = jf.simulate(case, 4).to_xarray()
    assert dict(found.sizes) == {"realization": 4, "cycle": 3, "T": 7}
    own = jf.simulate(with_exchanges(case, 4), 4)
    column, free = (
        own.column("cycle 2, T=4"),
        own.noise_free[own.observations.index("cycle 2, T=4")],
    )
    np.testing.assert_array_equal(found.completion.sel(cycle=2, T=4), column)
    assert found.noise_free.sel(cycle=2, T=4) == free


def study_of(case, variants=None, **observables):
    return jf.Study("loops", case=case, variants=variants or {}, observables=observables,
                    budget=jf.RealizationBudget(max=200))  # fmt: skip


def test_a_study_compares_loops():
    """What reads columns T gives what variants with so many exchanges give."""
    variants = {f"T{T}": {"algorithm.exchanges_after": T} for T in range(1, 7)}
    plain = {"algorithm": {"kind": "butterfly"}}
    every = study_of(
        LOOP,
        slow=jf.Slowdown(T="each"), gain=jf.Gain(of={"T": "best"}, over={"T": 0}),
        fewest=jf.OptimalT(), cycle_5=jf.Completion(T=0, cycle=5),
    ).run()  # fmt: skip
    own = study_of(
        LOOP, {"T0": plain, **variants},
        **{f"slow{T}": jf.Slowdown(f"T{T}") for T in range(7)},
        **{f"gain{T}": jf.Gain(of=f"T{T}", over="T0") for T in range(1, 7)},
        cycle_5=jf.Completion("T0", cycle=5),
    ).run()  # fmt: skip

    def ends(estimate):
        return estimate.value, estimate.low, estimate.high

    def of_loops(name):
        return ends(every.estimate(every.cells[0], name, "mean"))

    def of_variants(name):
        return pytest.approx(ends(own.estimate(own.cells[0], name, "mean")), rel=1e-12)

    for T in range(7):
        assert of_loops(f"slow, T={T}") == of_variants(f"slow{T}")
    assert of_loops("gain") == of_variants("gain1")  # the fewest cost least
    assert of_loops("gain")[0] < 1
    assert of_loops("fewest")[0] == 1
    assert of_loops("cycle_5") == of_variants("cycle_5")


def test_one_loop_is_simulated_where_nothing_reads_another(monkeypatch):
    """And its records are no others' than those of all loops, nor those of before."""
    alone, last = study_of(LOOP, mean=jf.Completion()), study_of(LOOP, mean=jf.Completion(T=6))
    (one,), (every,) = alone.cells(), last.cells()
    assert [column.name for column in one.columns] == [f"cycle {n}" for n in range(1, 21)]
    assert len(every.columns) == 20 * 7
    assert one.work == 20 * 64 * 12
    assert every.work == 20 * 64 * sum(range(6, 13))
    case = one.cases[""]
    assert case.to_dict() == LOOP.to_dict()
    ticks = {
        observed.cases[""].loops: jf.simulate(observed.cases[""], 3).ticks
        for observed in (one, every)
    }
    np.testing.assert_array_equal(*(found[:, -1] for found in ticks.values()))
    before = hash_case({k: v for k, v in LOOP.identity().items() if k != "loops"})
    assert len({before, one.variants[0].hash, every.variants[0].hash}) == 3


@pytest.mark.parametrize(
    "changes",
    [{"cycles": 1}, {"algorithm": jf.Butterfly()}, {"algorithm": jf.RingAllreduce()},
     {"observe": "rounds"}, {"ranks": 1, "algorithm": jf.Butterfly(exchanges_after="all")}],
    ids=str,
)  # fmt: skip
def test_records_of_what_was_right_are_found(changes):
    assert "loops" not in replace(LOOP, **changes).identity()
    assert len(replace(LOOP, **changes).loops) == 1


def test_progress_goes_on_through_all_loops():
    seen = []
    jf.simulate(LOOP, 200, progress=lambda *numbers: seen.append(numbers))
    done = [number for number, _ in seen]
    assert done == sorted(done)
    assert seen[-1] == (200, 200)


@pytest.mark.parametrize(
    ("ask", "programs"),
    [
        (partial(jf.slowdown, RARE, 64, algorithm=FORWARDS), 1),
        (partial(jf.advise, 64, network=LOOP.network, noise=[RARE],
                 candidates=["butterfly", "butterfly_after_4"]), 2),
    ],
    ids=["slowdown", "advise"],
)  # fmt: skip
def test_what_reads_the_last_T_simulates_no_other(monkeypatch, ask, programs):
    run, counts = core.simulate, Counter()

    def counted(*given):
        counts[given[2:4]] += 1  # the first realization and how many
        return run(*given)

    monkeypatch.setattr(core, "simulate", counted)
    ask(cycles=3, realizations=100)
    assert set(counts.values()) == {programs}


def test_steps_that_complete_it_more_than_once_without_being_forwards(monkeypatch):
    """Of an own algorithm nothing says how it would make fewer: its last T alone is observed."""
    monkeypatch.setattr(jf.Algorithm, "_kinds", dict(jf.Algorithm._kinds))

    class OwnForwards(jf.Algorithm, kind="own_forwards"):
        def steps(self, ranks, message_bytes):
            return jf.RingAllreduce(exchanges_after=2).steps(ranks, message_bytes)

        def forwards(self, ranks):
            return 2

    own = dataclass(frozen=True)(OwnForwards)()
    case = replace(LOOP, algorithm=own, cycles=2)
    found = jf.simulate(case, 4)
    assert found.observations == ["cycle 1", "cycle 2"]
    ring = replace(case, algorithm=jf.RingAllreduce(exchanges_after=2))
    np.testing.assert_array_equal(found.ticks, jf.simulate(ring.loops[-1], 4).ticks)


def run_loops(out, *observables):
    """A run of one cycle and of three, and how many realizations it simulated of each."""
    named = {f"at_{number}": observable for number, observable in enumerate(observables)}
    axes = [jf.Axis("cycles", [1, 3])]
    budget = jf.RealizationBudget(max=60)
    study = jf.Study("loops", case=LOOP, axes=axes, observables=named, budget=budget)
    run, counts = core.simulate, Counter()

    def counted(program, seed, first, count, *more):
        counts[program.rows] += count
        return run(program, seed, first, count, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core, "simulate", counted)
        store = study.run(out)
    return store, counts


def test_a_run_goes_on_with_other_T(tmp_path):
    """In the same directory: of one cycle there are all T already."""
    _, counts = run_loops(tmp_path / "out", jf.Completion())
    assert counts == {7: 60, 3: 60}  # rows: T = 0 ... 6 of one cycle, one T of three
    store, counts = run_loops(tmp_path / "out", jf.Completion(), jf.Completion(T=0))
    assert counts == {3: 7 * 60}
    found = jf.simulate(replace(LOOP, cycles=3), 60, seed=store.study.seed)
    for name, T in (("at_0", 6), ("at_1", 0)):
        samples = store.observed(store.cell(cycles=3), name).samples
        np.testing.assert_array_equal(samples, found.column(f"cycle 3, T={T}"))


def test_records_of_before_are_not_taken(tmp_path, monkeypatch):
    """Where all T were of one program: what they say of several cycles is simulated anew."""
    identity = jf.Case.identity
    with monkeypatch.context() as patch:
        before = lambda case: {k: v for k, v in identity(case).items() if k != "loops"}  # noqa: E731
        patch.setattr(jf.Case, "identity", before)
        patch.setattr("jitterfly.store.run_directory._FORMAT", 3)
        run_loops(tmp_path / "out", jf.Completion(T=0))
    opened = jf.Store.open(tmp_path / "out")
    cells = run_progress(tmp_path / "out").cells
    assert [cell.available for cell in cells] == [60, 0]
    assert [opened.available(cell) for cell in opened.cells] == [60, 0]
    _, counts = run_loops(tmp_path / "out", jf.Completion(T=0))
    assert counts == {3: 7 * 60}
