"""Each observable (slowdown, overhead, gain, recovery, ...) measures what it says; TOML."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import jitterfly as jf
from jitterfly import theory
from jitterfly.observables import (
    CellData,
    Completion,
    CycleSlowdown,
    CycleTime,
    Gain,
    LinearForm,
    Observable,
    Observed,
    OptimalT,
    Overhead,
    Recovery,
    Select,
    SinceArrival,
    Slowdown,
    Ticks,
)
from jitterfly.program import row_labels
from jitterfly.studies import Axis, RealizationBudget, Study, parse_study

HOCKNEY = jf.Hockney("100ns", "1ns", 1e-10)
LOGGOPS = jf.LogGOPS(L="1us", o="10ns", G="1ns")
PERIODIC = jf.PeriodicNoise("100us", "10us")
JITTER = jf.NetworkJitter("100us", "10us")
RUNS = 40


def redundant_study(**observables):
    """MS12: every T of one pass."""
    case = jf.Case(
        8,
        network=HOCKNEY,
        noise=[PERIODIC, JITTER],
        algorithm=jf.Butterfly(exchanges_after="all"),
        cycles=2,
    )
    axes = [Axis("ranks", [2, 8])]
    return Study(
        "after", case=case, axes=axes, observables=observables, budget=RealizationBudget(max=RUNS)
    )


def cs14_study(*, start="fresh", cycles=3, **observables):
    """CS14: three variants."""
    noise = [jf.PeriodicNoise("100us", "10us", start=start)]
    case = jf.Case(16, network=LOGGOPS, noise=noise, cycles=cycles)
    variants = {
        "noiseless": {"noise.0.during": "compute"},
        "conventional": {},
        "redundant": {"algorithm.copy_levels": "all"},
    }
    return Study(
        "within",
        case=case,
        variants=variants,
        observables=observables,
        budget=RealizationBudget(max=RUNS),
    )


def ticks_of(cell, seed=3):
    """The raw columns of a cell, as a run makes them."""
    parts = [jf.simulate(variant.case, RUNS, seed=seed).ticks for variant in cell.variants]
    return Ticks(cell.columns, np.concatenate(parts, axis=1))


def seconds_of(cell, variant, name, seed=3):
    return jf.simulate(cell.cases[variant], RUNS, seed=seed).column(name)


# --- what each kind measures


def test_completion_and_slowdown_of_a_T_and_a_cycle():
    study = redundant_study(
        late=Completion(), first=Completion(T=1, cycle=1), slow=Slowdown(T=0, cycle=1)
    )
    cell = study.cells()[1]
    families, ticks = study.families(cell), ticks_of(cell)
    for name, column in (("late", "cycle 2, T=3"), ("first", "cycle 1, T=1")):
        (measure,) = families[name].members
        assert (families[name].unit, families[name].pick) == ("s", "only")
        np.testing.assert_array_equal(measure(ticks), seconds_of(cell, "", column))
    (measure,) = families["slow"].members
    wanted = seconds_of(cell, "", "cycle 1, T=0") / theory.noise_free_completion(cell.cases[""])
    np.testing.assert_allclose(measure(ticks), wanted, rtol=1e-15)
    assert families["slow"].unit == ""


def test_overhead_over_noise_free_and_over_a_variant():
    study = cs14_study(
        own=Overhead("redundant", cycle=2), over=Overhead("redundant", over="noiseless", cycle=2)
    )
    (cell,) = study.cells()
    families, ticks = study.families(cell), ticks_of(cell)
    found = seconds_of(cell, "redundant", "cycle 2")
    quiet = jf.simulate(cell.cases["redundant"], 1).noise_free[1]
    np.testing.assert_allclose(families["own"].members[0](ticks), found - quiet, atol=1e-15)
    over = found - seconds_of(cell, "noiseless", "cycle 2")
    np.testing.assert_allclose(families["over"].members[0](ticks), over, atol=1e-15)
    assert families["over"].unit == "s"


def test_gain_is_over_divided_by_of():
    study = cs14_study(gain=Gain(of="redundant", over="conventional"))
    (cell,) = study.cells()
    (measure,) = study.families(cell)["gain"].members
    wanted = seconds_of(cell, "conventional", "cycle 3") / seconds_of(cell, "redundant", "cycle 3")
    np.testing.assert_allclose(measure(ticks_of(cell)), wanted, rtol=1e-15)
    assert measure.distribution


def test_recovery_is_the_share_of_the_overhead():
    study = cs14_study(recovery=Recovery(), absolute=Recovery(noiseless="noise-free"))
    (cell,) = study.cells()
    ticks = ticks_of(cell)
    noiseless, conventional, redundant = (
        seconds_of(cell, variant, "cycle 3") for variant in cell.cases
    )
    quiet = jf.simulate(cell.cases["conventional"], 1).noise_free[2]
    for name, base in (("recovery", noiseless), ("absolute", quiet)):
        (measure,) = study.families(cell)[name].members
        means = [form(ticks).mean() for form in (measure.numerator, measure.denominator)]
        wanted = (conventional - redundant).mean() / (conventional - base).mean()
        assert means[0] / means[1] == pytest.approx(wanted, rel=1e-12)
        assert not measure.distribution


# --- T and cycle


def test_best_has_one_member_for_each_T_from_1():
    study = redundant_study(
        best=Completion(T="best"),
        gain=Gain(of={"T": "best"}, over={"T": 0}),
        loss=Gain(of={"T": 0}, over={"T": "best"}),
        share=Recovery(
            conventional={"T": 0}, redundant={"T": "best"}, noiseless="noise-free", cycle=1
        ),
        T=OptimalT(),
    )
    families = study.families(study.cells()[1])
    assert {name: family.pick for name, family in families.items()} == {
        "best": "smallest numerator",
        "gain": "smallest denominator",
        "loss": "smallest numerator",
        "share": "smallest numerator",
        "T": "set",
    }
    assert all(family.labels == (1, 2, 3) for family in families.values())
    assert families["gain"].members[2].denominator.columns[0].name == "cycle 2, T=3"
    assert families["share"].members[0].numerator.terms == (
        (1, LinearForm.of(study.cells()[1].columns[1]).terms[0][1]),
        (-1, study.cells()[1].columns[0]),
    )
    # What is asked for several times is measured once: 3 completions, 3 + 3 quotients, 3 shares.
    assert len(study.measures(study.cells()[1])) == 12


def test_each_is_an_observable_for_each():
    study = redundant_study(
        t=Completion(T="each"),
        c=Completion(T=0, cycle="each"),
        both=Slowdown(T="each", cycle="each"),
        gain=Gain(of={"T": "each"}, over={"T": 0}, cycle="each"),
    )
    small, large = (set(study.families(cell)) for cell in study.cells())
    assert {name for name in large if name[0] in "tc"} == {
        "t, T=0", "t, T=1", "t, T=2", "t, T=3", "c, cycle 1", "c, cycle 2",
    }  # fmt: skip
    both = itertools.product(range(4), (1, 2))
    assert {name for name in large if name[0] == "b"} == {
        f"both, T={t}, cycle {c}" for t, c in both
    }
    assert {name for name in small if name[0] == "t"} == {"t, T=0", "t, T=1"}
    assert "gain, T=2, cycle 1" in large - small
    gain = study.families(study.cells()[1])["gain, T=2, cycle 1"].members[0]
    assert [column.name for column in gain.columns] == ["cycle 1, T=0", "cycle 1, T=2"]


def test_each_on_both_sides_goes_together():
    study = cs14_study(gain=Gain(of="redundant", over="noiseless", cycle="each"))
    (cell,) = study.cells()
    for cycle, (name, family) in enumerate(study.families(cell).items(), start=1):
        assert name == f"gain, cycle {cycle}"
        assert {column.name for column in family.columns} == {f"cycle {cycle}"}


def test_a_place_may_lack_an_observable():
    study = redundant_study(far=Completion(T=3), near=Completion(T=1), best=Slowdown(T="best"))
    assert [set(study.families(cell)) for cell in study.cells()] == [
        {"near", "best"}, {"far", "near", "best"},
    ]  # fmt: skip
    case = jf.Case(1, network=HOCKNEY)
    alone = Study(
        "alone", case=case, axes=[Axis("ranks", [1, 2])], budget=RealizationBudget(max=1)
    )  # one rank takes no time, so it has no slowdown
    assert [list(alone.families(cell)) for cell in alone.cells()] == [
        ["completion"], ["completion", "slowdown"],
    ]  # fmt: skip
    Study(
        "one", case=case, budget=RealizationBudget(max=1)
    )  # nothing that was asked for is missing


# --- the mean over ranks


def test_mean_rank_switches_the_variant_to_spread():
    study = cs14_study(
        mean=Completion("redundant", rank="mean"),
        last=Completion("redundant"),
        gain=Gain(of={"variant": "redundant", "rank": "last"}, over="conventional"),
    )
    (cell,) = study.cells()
    assert {name: case.observe for name, case in cell.cases.items()} == {
        "noiseless": "completion", "conventional": "completion", "redundant": "spread",
    }  # fmt: skip
    ticks, families = ticks_of(cell), study.families(cell)
    times = np.array(
        [jf.ready_times(cell.cases["redundant"], 3, i)[-1] for i in range(RUNS)]
    )  # of the end of the last cycle
    np.testing.assert_array_equal(families["last"].members[0](ticks), times.max(axis=1))
    np.testing.assert_allclose(
        families["mean"].members[0](ticks), times.mean(axis=1), rtol=0, atol=0.51e-12
    )
    assert families["gain"].columns[1].name == "cycle 3: max"
    alone = redundant_study(mean=Overhead(rank="mean", cycle=1))
    assert alone.cells()[0].variants[0].case.observe == "spread"
    (column,) = alone.families(alone.cells()[0])["mean"].columns
    assert column.name == "cycle 1: mean"  # no other T is read, so that none is simulated


def test_spread_without_noise_is_the_closed_form():
    case = jf.Case(64, network=LOGGOPS, cycles=2, compute_time="3us", observe="spread")
    result = jf.simulate(case, 2)
    wanted = np.repeat([theory.noise_free_completion(case, cycle) for cycle in (1, 2)], 3)
    np.testing.assert_array_equal(result.samples, [wanted, wanted])
    np.testing.assert_array_equal(result.noise_free, wanted)


@pytest.mark.gpu
@pytest.mark.parametrize("ranks", [4, 2**15])
def test_spread_is_the_same_on_the_gpu(ranks):
    algorithm = jf.Butterfly(exchanges_after=2, copy_levels="all")
    case = jf.Case(
        ranks, algorithm=algorithm, network=LOGGOPS, noise=[PERIODIC], cycles=2, observe="spread"
    )
    cpu, gpu = (jf.simulate(case, 9, seed=1, backend=backend) for backend in ("cpu", "cuda"))
    np.testing.assert_array_equal(cpu.ticks, gpu.ticks)


# --- cycles by themselves


@pytest.mark.parametrize("rank", ["last", "mean"])
@pytest.mark.parametrize("algorithm", [jf.Butterfly(exchanges_after="all"), jf.RingAllreduce()])
def test_times_of_cycles_are_differences_of_completions(algorithm, rank):
    """A cycle begins when the one before is done with all its exchanges."""
    case = jf.Case(6, network=LOGGOPS, algorithm=algorithm, noise=[PERIODIC, JITTER], cycles=4,
                   compute_time="90us")  # fmt: skip
    chosen = {"1": 1, "3": 3, "last": "last", "each": "each", "mean": "mean"}
    observables = {f"time {name}": CycleTime(cycle=cycle, rank=rank)
                   for name, cycle in chosen.items()}  # fmt: skip
    observables |= {f"slow {name}": CycleSlowdown(cycle=cycle, rank=rank)
                    for name, cycle in chosen.items()}  # fmt: skip
    study = Study("cycles", case=case, observables=observables, budget=RealizationBudget(max=RUNS))
    (cell,) = study.cells()
    (seen,) = cell.cases.values()
    columns = [row.name for row in seen.completions() if row.T == seen.completions()[-1].T]
    if rank == "mean":
        columns = [f"{name}: mean" for name in columns]
    result = jf.simulate(seen, RUNS, seed=3)
    ends = np.column_stack([result.column(name) for name in columns])
    quiet = result.noise_free[[result.observations.index(name) for name in columns]]
    times, alone = np.diff(ends, prepend=0), np.diff(quiet, prepend=0)
    families, ticks = study.families(cell), ticks_of(cell)
    wanted = {"1": 0, "3": 2, "last": 3} | {
        f"each, cycle {cycle}": cycle - 1 for cycle in range(1, 5)
    }
    for name, index in wanted.items():
        (time,), (slow,) = families[f"time {name}"].members, families[f"slow {name}"].members
        np.testing.assert_allclose(time(ticks), times[:, index], atol=1e-13)
        np.testing.assert_allclose(slow(ticks), times[:, index] / alone[index], rtol=1e-8)
    middle, middle_alone = times[:, 1:3].mean(axis=1), alone[1:3].mean()
    np.testing.assert_allclose(families["time mean"].members[0](ticks), middle, atol=1e-13)
    found = families["slow mean"].members[0](ticks)
    np.testing.assert_allclose(found, middle / middle_alone, rtol=1e-8)
    assert families["time mean"].members[0].lower_bound is None  # a cycle may catch up


@pytest.mark.parametrize("cycle", [1, 2, "mean", "each"])
def test_the_gain_of_a_cycle(cycle):
    """Of paired realizations; the time of a cycle alone, where `Gain` has all until then."""
    gain = jf.CycleGain("redundant", "conventional", cycle=cycle)
    names = {"of": "redundant", "over": "conventional"}
    times = {side: CycleTime(name, cycle=cycle) for side, name in names.items()}
    study = cs14_study(cycles=4, gain=gain, **times)
    (cell,) = study.cells()
    families, ticks = study.families(cell), ticks_of(cell)
    for end in [f", cycle {n}" for n in (1, 2, 3, 4)] if cycle == "each" else [""]:
        (measure,) = families[f"gain{end}"].members
        of, over = (families[f"{side}{end}"].members[0](ticks) for side in names)
        np.testing.assert_allclose(measure(ticks), over / of, rtol=1e-9)
        observed = Observed(families[f"gain{end}"], CellData(ticks))
        mean, wins = (observed.statistic(name, 0.95).value for name in ("mean", "win probability"))
        assert float(mean) == pytest.approx(over.mean() / of.mean())
        assert float(wins) == pytest.approx((over > of).mean() + (over == of).mean() / 2)


def test_gains_of_cycles_that_there_are_not():
    with pytest.raises(ValueError, match="of and over must be different"):
        jf.CycleGain("redundant", "redundant")
    with pytest.raises(ValueError, match=r"leaves out the first and the last .*there are 2 cycles"):
        cs14_study(cycles=2, gain=jf.CycleGain("redundant", "conventional"))


def test_cycles_that_there_are_not():
    with pytest.raises(ValueError, match=r"leaves out the first and the last .*there are 2 cycles"):
        redundant_study(time=CycleTime())
    with pytest.raises(ValueError, match="cycle = 3: cycles is up to 2"):
        redundant_study(time=CycleTime(cycle=3))
    with pytest.raises(ValueError, match="or one of 'last', 'each', 'mean'; got 'all'"):
        CycleTime(cycle="all")
    with pytest.raises(ValueError, match="rank must be one of 'last', 'mean', got 'first'"):
        CycleSlowdown(rank="first")


# --- since the arrival


@pytest.mark.parametrize("ranks", [1, 4, 6])
@pytest.mark.parametrize(
    "algorithm",
    [jf.Butterfly(exchanges_after="all"), jf.RingAllreduce(exchanges_after="all"),
     jf.TreeBarrier()],
    ids=lambda algorithm: algorithm.kind,
)  # fmt: skip
@pytest.mark.parametrize("cycles", [1, 3])
def test_times_since_the_first_and_the_last_arrival(ranks, algorithm, cycles):
    """Against the ready times of every rank.

    Without noise of the CPU a rank arrives so much after the end of the cycle before as it did
    after time 0: what it is late by is drawn once.
    """
    late = jf.LateArrival(jf.Exponential("50us"), each="realization")
    ramp = jf.imbalance.Ramp("70us")
    noise = [JITTER, late] if ranks > 1 else [late]
    case = jf.Case(ranks, network=LOGGOPS, algorithm=algorithm, noise=noise, arrival=ramp,
                   cycles=cycles, compute_time="90us")  # fmt: skip
    observables = {
        f"{which} {cycle}": jf.SinceArrival(arrival=which, T="each", cycle=cycle)
        for which in ("first", "last")
        for cycle in range(1, cycles + 1)
    }
    study = Study("since", case=case, observables=observables, budget=RealizationBudget(max=RUNS))
    (cell,) = study.cells()
    assert cell.cases[""].observe == "arrival"
    families, ticks = study.families(cell), ticks_of(cell)
    assert len(set(cell.columns)) == ticks.values.shape[1]
    for T in sorted({row.T for row in case.completions()}):
        own = case
        if T or algorithm.kind != "tree_barrier":  # T exchanges in every cycle
            own = replace(case, algorithm=replace(algorithm, exchanges_after=T))
        labels = row_labels(own)
        times = np.array([jf.ready_times(own, 3, i) for i in range(RUNS)])
        # Levels of the butterfly lack some ranks, and are not looked at.
        times = np.rint(np.nan_to_num(times, nan=-1) * 1e12).astype(np.int64)
        before = np.zeros((RUNS, ranks), dtype=np.int64)
        for cycle in range(1, cycles + 1):
            begins = before + times[:, 0]
            prefix = f"cycle {cycle}, " if cycles > 1 else ""
            before = times[:, labels.index(f"{prefix}end")]
            done = next(s.label for s in case.compiled_steps.steps if s.redundancy == T)
            ends = begins if done == "start" else times[:, labels.index(f"{prefix}{done}")]
            for which, arrives in (("first", begins.min(axis=1)), ("last", begins.max(axis=1))):
                (measure,) = families[f"{which} {cycle}, T={T}"].members
                expected = ends.max(axis=1) - arrives
                np.testing.assert_array_equal(np.rint(measure(ticks) * 1e12), expected)


def test_the_last_arrival_is_no_fault_of_the_collective():
    """One rank that is late by t: the barrier takes as long as ever from then on."""
    case = jf.Case(16, network=LOGGOPS, algorithm=jf.DisseminationBarrier())
    on_time = jf.simulate(case, 1).samples[0, 0]
    late = jf.Case.from_dict(
        case.to_dict() | {"arrival": {"kind": "one_late", "delay": "1ms", "rank": 5}}
    )
    study = Study("late", case=late, budget=RealizationBudget(max=2), observables={
        "last": jf.SinceArrival(), "first": jf.SinceArrival(arrival="first")})  # fmt: skip
    (cell,) = study.cells()
    ticks, families = ticks_of(cell), study.families(cell)
    np.testing.assert_allclose(families["last"].members[0](ticks), on_time, rtol=1e-12)
    np.testing.assert_allclose(families["first"].members[0](ticks), on_time + 1e-3, rtol=1e-12)


def test_arrivals_and_means_over_ranks_are_asked_for_together():
    study = cs14_study(mean=Completion("redundant", rank="mean"),
                       since=jf.SinceArrival("redundant", arrival="first", rank="mean"),
                       last=Completion("conventional"))  # fmt: skip
    (cell,) = study.cells()
    assert [case.observe for case in cell.cases.values()] == ["completion", "completion", "arrival"]
    ticks, families = ticks_of(cell), study.families(cell)
    result = jf.simulate(cell.cases["redundant"], RUNS, seed=3)
    first = result.column("cycle 3, start: min")
    mean = families["mean"].members[0](ticks)
    np.testing.assert_array_equal(mean, result.column("cycle 3: mean"))
    np.testing.assert_allclose(families["since"].members[0](ticks), mean - first, atol=1e-15)


@pytest.mark.parametrize("ranks", [1, 8])
@pytest.mark.parametrize("after", [0, 2])
def test_arrivals_have_their_place_in_xarray(ranks, after):
    pytest.importorskip("xarray")
    algorithm = jf.Butterfly(exchanges_after=after if ranks > 1 else 0)
    case = jf.Case(ranks, network=LOGGOPS, algorithm=algorithm, observe="arrival", cycles=2,
                   noise=[PERIODIC], compute_time="90us")  # fmt: skip
    result = jf.simulate(case, 3)
    found = result.to_xarray()["ready_time"]
    assert found.dims == (
        *("realization", "cycle"), *(("T",) if after and ranks > 1 else ()), "step", "over_ranks",
    )  # fmt: skip
    for T in range(case.algorithm.exchanges_after + 1):
        of_T = found.sel(T=T) if "T" in found.dims else found
        name = f"cycle 2, T={T}" if "T" in found.dims else "cycle 2"
        np.testing.assert_array_equal(
            of_T.sel(cycle=2, step="start", over_ranks="min"), result.column(f"{name}, start: min")
        )
        np.testing.assert_array_equal(
            of_T.sel(cycle=2, step="end", over_ranks="mean"), result.column(f"{name}: mean")
        )


# --- the clock of benchmarks


@pytest.mark.parametrize("after", [0, 2])
@pytest.mark.parametrize("cycles", [1, 3])
def test_own_times_since_the_barrier(after, cycles):
    """Against the ready times of every rank, beside completions and arrivals of the same case."""
    case = jf.Case(12, network=LOGGOPS, algorithm=jf.RingAllreduce(exchanges_after=after),
                   noise=[PERIODIC, JITTER], cycles=cycles, compute_time="20us",
                   barrier="dissemination_barrier")  # fmt: skip
    observables = {what: jf.OwnTime(T="each", cycle="each", over_ranks=what)
                   for what in ("max", "min", "mean")}  # fmt: skip
    observables |= {"end": Completion(), "since": jf.SinceArrival(arrival="last")}
    study = Study("own", case=case, observables=observables, budget=RealizationBudget(max=RUNS))
    (cell,) = study.cells()
    assert cell.cases[""].observe == "own"
    families, ticks = study.families(cell), ticks_of(cell)
    for T in range(after + 1):
        loop = replace(case, algorithm=jf.RingAllreduce(exchanges_after=T if cycles > 1 else after))
        labels = row_labels(loop)
        times = np.array([jf.ready_times(loop, 3, i) for i in range(RUNS)])
        several = ", ".join([f"T={T}"] if loop.algorithm.exchanges_after else [])
        for cycle in range(1, cycles + 1):
            parts = [f"cycle {cycle}"] if cycles > 1 else []
            row = ", ".join([*parts, *([several] if several else []), "own"])
            own = times[:, labels.index(row)]
            name = ", ".join([f"T={T}", f"cycle {cycle}"])
            for what in ("max", "min", "mean"):
                (measure,) = families[f"{what}, {name}"].members
                expected = getattr(own, what)(axis=1)
                np.testing.assert_allclose(measure(ticks), expected, rtol=0, atol=1e-12)
    assert set(families) >= {"end", "since"}
    with pytest.raises(ValueError, match="give barrier, such as 'dissemination_barrier'"):
        Study("none", case=replace(case, barrier=None), observables={"own": jf.OwnTime()},
              budget=RealizationBudget(max=2)).cells()  # fmt: skip
    with pytest.raises(ValueError, match="over_ranks must be one of 'max', 'min', 'mean'"):
        jf.OwnTime(over_ranks="last")


@pytest.mark.parametrize("after", [0, 2])
@pytest.mark.parametrize("cycles", [1, 2])
def test_own_times_have_their_place_in_xarray(after, cycles):
    pytest.importorskip("xarray")
    algorithm = jf.Butterfly(exchanges_after=after)
    case = jf.Case(8, network=LOGGOPS, algorithm=algorithm, observe="own", cycles=cycles,
                   noise=[PERIODIC], compute_time="90us", barrier="tree_barrier")  # fmt: skip
    result = jf.simulate(case, 3)
    found = result.to_xarray()["ready_time"].sel(cycle=cycles)
    for T in range(after + 1):
        name = ", ".join(
            ([f"cycle {cycles}"] if cycles > 1 else []) + ([f"T={T}"] if after else [])
        )
        name, end, own = name or "completion", "end", "own"
        of_T = found.sel(T=T) if "T" in found.dims else found
        if after and cycles == 1:
            end, own = f"T={T}", f"T={T}, own"
        column = "own" if name == "completion" else f"{name}, own"
        for step, of in ((end, name), (own, column)):
            for what in ("max", "min", "mean"):
                np.testing.assert_array_equal(
                    of_T.sel(step=step, over_ranks=what), result.column(f"{of}: {what}")
                )


# --- as tables


@pytest.mark.parametrize(
    "observable",
    [
        Completion(),
        Completion("a", T="each", cycle=2, rank="mean"),
        Slowdown(T="best"),
        Overhead("a", over="b"),
        Overhead("a", T=3, over="b"),
        Overhead(T="best", over={"T": 0}),
        Gain(of={"T": "best"}, over={"T": 0}),
        Gain(of="a", over={"variant": "b", "cycle": 1, "rank": "mean"}, cycle="each"),
        Recovery(),
        Recovery("a", {"variant": "b", "T": "best"}, "noise-free", cycle=2, rank="mean"),
        OptimalT("a", cycle=1),
        jf.SinceArrival("a", arrival="first", cycle=2, rank="mean"),
        jf.OwnTime("a", T="each", cycle=2, over_ranks="min"),
        CycleTime("a", cycle=2, rank="mean"),
        CycleSlowdown(cycle="each"),
        jf.CycleGain("a", "b", cycle=3),
    ],
    ids=str,
)
def test_tables_read_back(observable):
    table = observable.to_dict()
    assert Observable.from_dict(table) == observable
    assert hash(Observable.from_dict(table)) == hash(observable)


def test_tables_are_short():
    assert Completion().to_dict() == {"kind": "completion"}
    assert Gain(of=Select("a"), over="b").to_dict() == {"kind": "gain", "of": "a", "over": "b"}
    assert Recovery(cycle="each").to_dict() == {
        "kind": "recovery",
        "conventional": "conventional",
        "redundant": "redundant",
        "noiseless": "noiseless",
        "cycle": "each",
    }


def test_in_toml():
    text = redundant_study().to_toml().partition("[observables")[0]
    text += "[observables]\ngain = { kind = 'gain', of = { T = 'best' }, over = { T = 0 } }\n"
    gain = Gain(of={"T": "best"}, over={"T": 0})
    assert parse_study(text).observables == {"gain": gain}
    assert parse_study(text) == redundant_study(gain=gain)


@pytest.mark.parametrize("within", [None, "all"])
def test_what_noise_only_delays_has_a_lower_bound(within):
    """Time without noise, slowdown 1, overhead 0; none where copies can make it earlier."""
    case = jf.Case(16, network=LOGGOPS, noise=[PERIODIC], cycles=2,
                   algorithm=jf.Butterfly(copy_levels=within))  # fmt: skip
    observables = {
        "late": Completion(cycle=1),
        "mean": Completion(rank="mean"),
        "slow": Slowdown(),
        "over": Overhead(),
        "both": Overhead(cycle=2, over={"cycle": 1}),
        "since": SinceArrival(),
        "first": SinceArrival(arrival="first", rank="mean"),
        "middle": SinceArrival(rank="mean"),
        "gain": Gain(of={"cycle": 1}, over={"cycle": 2}),
    }
    study = Study("s", case=case, observables=observables, budget=RealizationBudget(max=RUNS))
    (cell,) = study.cells()
    (seen,) = cell.cases.values()
    quiet = dict(zip(seen.observation_names(), jf.simulate(seen, 1).noise_free, strict=True))
    found = {
        name: observable.resolve(name, cell.cases)[0].members[0].lower_bound
        for name, observable in observables.items()
    }
    earlier = {"late": 0.0, "mean": 0.0, "slow": 0.0, "over": None}
    bounds = {"late": quiet["cycle 1: max"], "mean": quiet["cycle 2: mean"], "slow": 1.0,
              "over": 0.0}  # fmt: skip
    others = {"both": None, "since": 0.0, "first": 0.0, "middle": None, "gain": None}
    assert found == (earlier if within else bounds) | others
