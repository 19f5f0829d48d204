"""Noise sources in cases and studies: options, files, identity (hash), pictures, errors."""

import hashlib
import pickle
import shutil
from dataclasses import replace

import numpy as np
import pytest
from support.scale import scaled

import jitterfly as jf
from jitterfly.case import longest_ticks
from jitterfly.files import copy_name
from jitterfly.measured import Detours, Histogram, Measured, noisefile
from jitterfly.measured.load import load_named
from jitterfly.noise import trace
from jitterfly.replay import Replay
from jitterfly.simulate import noise_phases

NETWORK = jf.LogGOPS(L="1us", o="10ns", gamma="1ns")
TRACE = {"starts": [1e-5, 4e-5], "durations": [1e-6, 2e-6], "length": 1e-4}
SOURCES = [
    jf.PeriodicNoise("1ms", "10us", begin="1us", end="2s"),
    jf.RenewalNoise("300us", jf.Exponential("5us"), start="stationary", shared=4),
    jf.RenewalNoise(jf.Gamma(shape=3, scale="1us"), jf.Pareto("1us", 3), during="compute"),
    jf.TraceNoise(**TRACE),
    jf.TraceNoise(**TRACE, offset=np.linspace(0, 9e-5, 16), during="communication"),
    jf.StepNoise("14us", 0.1),
    jf.StepNoise(jf.Lognormal("1us", 1), at="send", shared="machine", begin="1us"),
    jf.MessageNoise(jf.Bernoulli(0.5, "1us"), 0.5, shared=2),
    jf.NetworkJitter("100us", "3us", end="1s", shared=16),
    jf.StepNoise(jf.Empirical(samples=["1us", 0, 0]), during="compute"),
]


def case(*noise, **options):
    return jf.Case(16, noise=noise, **{"network": NETWORK} | options)


def check(make, *parts):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the parts are what is matched)
        make()
    for part in parts:
        assert part in str(caught.value), str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("source", SOURCES)
def test_values(source):
    one = case(source)
    again = jf.Case.from_dict(one.to_dict())
    assert again == one
    assert hash(again) == hash(one)
    assert again.identity() == one.identity()
    assert pickle.loads(pickle.dumps(one)) == one
    assert replace(source) == source
    assert eval(repr(source.kind)) in jf.Noise._kinds
    same = jf.simulate(again, 20, seed=3).ticks
    assert np.array_equal(jf.simulate(one, 20, seed=3).ticks, same)


@pytest.mark.parametrize("source", SOURCES)
def test_intervals_have_a_share_and_bounds(source):
    """A case rests on them, and `Noise` says 0 for sources that have no intervals."""
    one = case(replace(source, begin=0), compute_time="1ms")
    if len(jf.noise_intervals(one, 0, "10ms")):
        bounds = [source.share(), source.longest_delay(10**9), source.lookahead()]
        assert min(*bounds, source.intervals_in(10**12)) > 0


def test_identity_leaves_out_what_was_always_so():
    """Cells of studies that ran before there were windows and scopes keep their hash."""
    periodic = jf.PeriodicNoise("1ms", "10us").identity()
    assert periodic == {"kind": "periodic", "period": 1e-3, "duration": 1e-5, "start": "fresh",
                        "shared": False, "during": "all"}  # fmt: skip
    jitter = jf.NetworkJitter("1ms", "10us").identity()
    assert jitter == {"kind": "jitter", "period": 1e-3, "duration": 1e-5, "during": "all"}
    assert jf.PeriodicNoise("1ms", "10us", begin="1us").identity()["begin"] == 1e-6
    assert jf.NetworkJitter("1ms", "10us", shared=1).identity()["shared"] == 1


@pytest.mark.parametrize(
    "algorithm",
    [
        jf.Butterfly(),
        jf.Butterfly(copy_levels="all", exchanges_after=3),
        jf.Butterfly(copy_levels=[2], exchanges_after=4),
    ],
)
def test_replay_is_what_the_engine_does(algorithm):
    """`Replay` raises if a ready time of its messages differs from the engine's by one tick."""
    for source in SOURCES:
        one = case(source, algorithm=algorithm, compute_time="100us", cycles=2)
        for realization in range(scaled(4)):
            Replay(one, 5, realization)
    together = case(*SOURCES, algorithm=algorithm, compute_time="10us", cycles=3)
    for realization in range(scaled(10, 3)):
        Replay(together, 6, realization)


def test_picture(tmp_path):
    from jitterfly.plots.trace import draw

    one = case(*SOURCES, compute_time="100us", cycles=2, algorithm=jf.Butterfly(copy_levels="all"))
    assert draw(one, tmp_path / "all.png", seed=1).line.startswith("completion ")
    for during in ("all", "compute", "communication"):
        noise = jf.RenewalNoise("20us", "1us", during=during)
        replay = Replay(case(noise, compute_time="100us"), 1, 0)
        from jitterfly.plots.trace import _figure

        labels = [text.get_text() for text in _figure(replay).legends[0].get_texts()]
        assert ("noise" if during == "all" else f"noise (during {during} only)") in labels
    dense = jf.RenewalNoise("10ns", "1ns")
    check(
        lambda: draw(case(dense, compute_time="100us"), tmp_path / "x.png"), "at most 20000 noise"
    )


def test_many_sources_draw_the_same_whatever_stands_beside_them():
    """Draws are numbered within a kind: a probability of 0 keeps the number of its source."""
    first, second = jf.StepNoise("1us", 0.0), jf.StepNoise(jf.Exponential("1us"))
    whole = case(jf.StepNoise("0.5us", 0.7), second)
    some = case(first, second)
    other = case(jf.MessageNoise("1us", 0.0), first, second)
    assert np.array_equal(jf.simulate(some, 50).ticks, jf.simulate(other, 50).ticks)
    assert not np.array_equal(jf.simulate(some, 50).ticks, jf.simulate(case(second), 50).ticks)
    assert (jf.simulate(whole, 50).ticks >= jf.simulate(some, 50).ticks).all()


# --- what is refused


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda **o: jf.PeriodicNoise("1ms", "1us", **o), "PeriodicNoise"),
        (lambda **o: jf.RenewalNoise("1ms", "1us", **o), "RenewalNoise"),
        (lambda **o: jf.TraceNoise(**TRACE, **o), "TraceNoise"),
        (lambda **o: jf.StepNoise("1us", **o), "StepNoise"),
        (lambda **o: jf.MessageNoise("1us", **o), "MessageNoise"),
        (lambda **o: jf.NetworkJitter("1ms", "1us", **o), "NetworkJitter"),
    ],
)
def test_common_options(make, part):
    check(lambda: make(begin=-1), "begin must be a time from 0", part)
    check(lambda: make(end=0), "end must be a time above 0", part)
    check(lambda: make(end="junk"), "end must be a time above 0", part)
    check(lambda: make(begin="2us", end="2us"), "end must be above begin = 2e-06 s, got 2e-06")
    check(lambda: make(during="later"), "during must be one of 'all'")
    for value in (True, 0, -3, "2 nodes", "level 0", None, 1.5):
        check(lambda value=value: make(shared=value), "shared must be False, 'machine' or")
    check(lambda: case(make(shared="nodes")), "shared = 'nodes' is a level of a Hierarchy",
          "on a network of one level it must be False, 'machine' or")  # fmt: skip
    for value in (3, 16, 48):
        assert case(make(begin="1us", end="1ms", shared=value))
    if part in ("MessageNoise", "NetworkJitter"):
        check(lambda: make(during="compute"), f"'communication' for {part}, got 'compute'")


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda: jf.StepNoise("1us", at="both"), ["at must be one of 'receive', 'send'"]),
        (lambda: jf.RenewalNoise(0, "1us"), ["gap must be above 0, got 0"]),
        (lambda: jf.RenewalNoise(jf.Constant(0), "1us"), ["gap must have a mean above 0"]),
        (lambda: jf.RenewalNoise(jf.Bernoulli(0, "1s"), "1us"), ["gap must have a mean above 0"]),
        (lambda: jf.RenewalNoise("1us", "1us", "first"), ["start must be one of 'fresh'"]),
        (lambda: case(jf.RenewalNoise("1ps", 0), compute_time=1),
         ["gap and duration must be longer", "a rank has an interval every 9.61e-13 s"]),
        (lambda: jf.TraceNoise(), ["one of file, (starts, durations and length) and trace, got"]),
        (lambda: jf.TraceNoise(starts=[0], durations=[1]), ["got starts and durations"]),
        (lambda: jf.TraceNoise(**TRACE, file="x"), ["got file and starts and durations and len"]),
        (lambda: jf.TraceNoise(**TRACE, part=1), ["part must be left out without a file"]),
        (lambda: jf.TraceNoise(trace=3), ["trace must be a Detours, got 3"]),
        (lambda: jf.TraceNoise(**TRACE | {"starts": [0]}), ["as many as starts, 1, got 2"]),
        (lambda: jf.TraceNoise(**TRACE | {"starts": [4e-5, 1e-5]}), ["starts must be sorted"]),
        (lambda: jf.TraceNoise(**TRACE | {"starts": [1e-5, 1.05e-5]}), ["overlap", "index 1"]),
        (lambda: jf.TraceNoise(**TRACE | {"starts": [-1, 0]}), ["starts must be an array of"]),
        (lambda: jf.TraceNoise(**TRACE | {"length": 4.1e-5}), ["length must be from the end"]),
        (lambda: jf.TraceNoise(starts=[], durations=[], length=1), ["there is no interval"]),
        (lambda: jf.TraceNoise(starts=[0], durations=[1], length=1), ["must leave the CPU some"]),
        (lambda: jf.TraceNoise(**TRACE, offset=1e-4), ["offset must be 'random'", "got 0.0001"]),
        (lambda: jf.TraceNoise(**TRACE, offset="rand"), ["offset must be 'random'", "got 'rand'"]),
        (lambda: jf.TraceNoise(**TRACE, offset=[0, 1]), ["from 0 to below length", "for rank 1"]),
        (lambda: jf.TraceNoise(**TRACE, offset=0, shared=2), ["shared must be False when offset"]),
        (lambda: case(jf.TraceNoise(**TRACE, offset=[0, 0])), ["offset must have shape (16,)"]),
        (lambda: case(jf.StepNoise("1e6s", during="all"), cycles=10), ["simulated time"]),
    ],
)  # fmt: skip
def test_bad_sources(make, parts):
    check(make, *parts)


def test_infinite_means():
    heavy = jf.Pareto("1ps", 0.9, longest="1s")
    assert np.isfinite(heavy.expected())
    jf.RenewalNoise("1ms", heavy, start="stationary")


def test_all_of_the_cpu():
    half = jf.PeriodicNoise("1ms", "0.5ms")
    less = jf.PeriodicNoise("1ms", "0.49ms")
    case(half, less)
    check(lambda: case(half, half), "less than all of the CPU", "0.5 + 0.5 of the compute phase")
    case(replace(half, during="compute"), replace(half, during="communication"))
    most = jf.TraceNoise(starts=[0], durations=[9e-5], length=1e-4)
    often = jf.RenewalNoise("1us", "9us")
    check(lambda: case(most, often), "they take 0.9 + 0.9 of the")
    case(most)
    case(often)


def test_times_beyond_2_to_the_62():
    """Where a tail is heavier than what is likely: an error, not a wrong number."""
    heavy = jf.StepNoise(jf.Pareto("1us", 1.65), during="compute")
    one = jf.Case(2**10, network=NETWORK, noise=[heavy], cycles=20, compute_time="1us")
    assert longest_ticks(one) < 2**62
    jf.simulate(one, 5)
    from jitterfly.simulate import check_times

    check_times(np.full((3, 2), 2**62 - 1))
    values = np.array([[1, 2], [2**62, 1], [3, 2**63 - 1]])
    check(lambda: check_times(values), "exceeded 4.61e+06 s (2^62 ps) in 2 of 3 realizations")


def test_phases_and_intervals_of_one_of_several():
    periodic = jf.PeriodicNoise("1ms", "1us")
    several = case(periodic, jf.StepNoise("1us"), periodic)
    check(lambda: noise_phases(several), "source must say which PeriodicNoise", "0 or 2")
    check(lambda: noise_phases(several, source=1), "source must be that of a PeriodicNoise")
    check(lambda: noise_phases(several, source=3), "source must be an integer from 0 to 2")
    assert np.array_equal(noise_phases(several, source=0), noise_phases(case(periodic)))
    for name, value in {
        "rank": 16,
        "until": -1,
        "seed": -1,
        "realization": -1,
        "phase": "x",
    }.items():
        options = {"rank": 0, "until": 1} | {name: value}
        check(lambda o=options: jf.noise_intervals(several, **o), f"{name} must be")
    assert jf.noise_intervals(case(), 0, 1).shape == (0, 2)


SHORT = jf.TraceNoise(starts=[0], durations=[1e-12], length=4e-12)


@pytest.mark.parametrize(
    ("noise", "named"),
    [
        ([SHORT], "noise.0 (trace) has about 3.33e+14 intervals in the 1000 s of CPU work"),
        ([replace(SHORT, during="compute")], "of a rank (compute)"),
        ([jf.PeriodicNoise("1ms", "1us"), SHORT], "noise.1 (trace)"),
        ([jf.PeriodicNoise("5ps", "1ps"), jf.PeriodicNoise("4ps", "1ps")], "noise.0 (periodic)"),
        ([jf.PeriodicNoise("1ms", "1us"), jf.PeriodicNoise("4ps", "1ps"), SHORT], "noise.2"),
    ],
)
def test_work_that_meets_too_many_intervals_is_refused(noise, named):
    """It would go through them for hours. Renewals have a check of their own."""
    check(lambda: case(*noise, compute_time=1000), named)
    building = jf.ScheduleBuilder(2)
    building.calc("1000s")
    check(lambda: jf.simulate_schedule(building.build(), "L=1us,o=0", noise, 1), named)


@pytest.mark.parametrize(
    "noise",
    [
        [jf.PeriodicNoise("4ps", "1ps")],
        [jf.PeriodicNoise("4ps", "1ps"), jf.PeriodicNoise("1s", "1us"), jf.StepNoise("1us")],
        [replace(SHORT, end="1us")],
        [replace(SHORT, during="communication")],
    ],
)
def test_intervals_that_are_not_gone_through_may_be_many(noise):
    """Those of the densest periodic source, outside of a window, or of another phase."""
    assert jf.simulate(case(*noise, compute_time=1000), 1).samples.min() >= 1000


def test_more_intervals_than_fit():
    check(lambda: jf.noise_intervals(case(jf.PeriodicNoise("1ns", "1ps")), 0, 1e6), "not enough me")
    renewal = jf.RenewalNoise("1us", "1us")
    check(lambda: jf.noise_intervals(case(renewal), 0, 1e6), "gap and duration must be longer")
    short = jf.noise_intervals(case(replace(renewal, end="1ms")), 0, 1e6)
    assert 400 < len(short) < 600


def test_windows_that_are_never_reached_cost_nothing():
    """Renewals are not walked through up to a window, also where a forward leads back in time."""
    late = jf.RenewalNoise("1us", "1us", begin=1e6)
    options = {
        "algorithm": jf.Butterfly(exchanges_after=1),
        "network": NETWORK,
        "cycles": 2,
        "compute_time": "1us",
    }
    with_it, without = (jf.Case(4, noise=noise, **options) for noise in ([late], []))
    with pytest.warns(jf.IneffectiveNoiseWarning, match="all is over when the noise begins"):
        times = jf.ready_times(with_it)
    assert np.array_equal(times, jf.ready_times(without))
    assert jf.noise_intervals(case(late), 0, 1).shape == (0, 2)


# --- what noise can hit


def study_of(*noise, **options):
    table = {"network": NETWORK, "noise": list(noise)} | options
    return jf.Study(
        "x", case=table, axes=[jf.Axis("ranks", [1, 4])], budget=jf.RealizationBudget(max=4)
    )


def test_noise_that_hits_nothing():
    quiet = {"network": jf.Hockney("1us", 0)}
    for noise in (jf.RenewalNoise("1ms", "1us"), jf.TraceNoise(**TRACE)):
        check(
            lambda n=noise: study_of(n, **quiet), "can hit nothing in any cell", "give network.ga"
        )
        study_of(noise)
    study_of(jf.StepNoise("1us"), **quiet)  # taking a message is a step even if it costs nothing
    study_of(jf.MessageNoise("1us"), **quiet)
    compute = jf.StepNoise("1us", during="compute")
    check(lambda: study_of(compute, **quiet), "can hit nothing in any cell", "give `compute_time`")
    study_of(compute, compute_time="1us", **quiet)
    for noise in (jf.StepNoise("1us", during="communication"), jf.MessageNoise("1us")):
        alone = {"network": NETWORK, "noise": [noise], "ranks": 1}
        check(
            lambda t=alone: jf.Study("x", case=t, budget=jf.RealizationBudget(max=1)),
            "take more ranks",
        )


def test_derived_axes_over_other_sources():
    def noise_of(rule, by, value, *noise):
        axis = jf.Axis.derived(rule, by=by, values=[value])
        table = {"ranks": 4, "network": NETWORK, "noise": list(noise), "compute_time": "10us"}
        study = jf.Study("x", case=table, axes=[axis], budget=jf.RealizationBudget(max=1))
        return study.cells()[0].variants[0].case.noise

    renewal = {"kind": "renewal", "gap": "1ms"}
    assert noise_of("D / P", "noise.0.duration", 0.01, renewal)[0].duration == jf.Constant("10us")
    step = {"kind": "step", "probability": 0.1}
    assert noise_of("D / W", "noise.0.delay", 0.5, step)[0].delay == jf.Constant("5us")
    fixed = {"kind": "step", "delay": {"kind": "constant", "value": "2us"}}
    table = {"ranks": 4, "network": NETWORK, "noise": [fixed]}
    axis = jf.Axis.derived("W / D", by="compute_time", values=[3])
    study = jf.Study("x", case=table, axes=[axis], budget=jf.RealizationBudget(max=1))
    assert study.cells()[0].variants[0].case.compute_time == pytest.approx(6e-6)
    two = [jf.PeriodicNoise("1ms", "1us"), jf.PeriodicNoise("2ms", "1us")]
    table = {"ranks": 4, "network": NETWORK, "noise": two}
    check(
        lambda: jf.Study("x", case=table, axes=[axis], budget=jf.RealizationBudget(max=1)),
        "which of the sources is meant, noise.0.duration or noise.1.duration",
    )


# --- files


def detours(offset=0, cpu="0"):
    starts = np.arange(50) * 10**6 + offset
    return Detours(starts, np.arange(1, 51) * 1000, length=10**8, cpu=cpu)


def write(path, *parts):
    noisefile.write(Measured(parts, "test"), path)
    return str(path)


def test_traces_from_files(tmp_path):
    file = write(tmp_path / "one.noise", detours())
    noise = jf.TraceNoise(file=file)
    given = jf.TraceNoise(trace=detours())
    assert noise.share() == given.share() == pytest.approx(detours().share)
    assert noise.sha256 == hashlib.sha256((tmp_path / "one.noise").read_bytes()).hexdigest()
    same = jf.simulate(case(given, compute_time="1ms"), 50).ticks
    assert np.array_equal(jf.simulate(case(noise, compute_time="1ms"), 50).ticks, same)
    assert replace(noise, shared=4).sha256 == noise.sha256
    assert jf.TraceNoise(file=file, part=0).share() == noise.share()
    check(lambda: jf.TraceNoise(file=file, part=7), "part must be left out", "has one part alone")


def test_parts_of_files(tmp_path):
    file = write(tmp_path / "two.noise", detours(cpu="3"), detours(7, cpu="5"))
    check(lambda: jf.TraceNoise(file=file), "has 2 parts (0: CPU 3, 1: CPU 5)", "part = 0 to 1")
    check(lambda: jf.TraceNoise(file=file, part=2), "part must be an integer from 0 to 1, got 2")
    check(lambda: jf.TraceNoise(file=file, part="all"), "part must be an integer from 0 to 1")
    check(lambda: jf.Empirical(file=file), "has 2 parts", "or part = 'all'")
    assert jf.TraceNoise(file=file, part=1).replayed()[0].starts[0] == 7
    one, both = jf.Empirical(file=file, part=0), jf.Empirical(file=file, part="all")
    assert one.expected() == both.expected() == pytest.approx(25.5e-9)
    assert len(both.integers().arrays[0]) == 100


def histogram(**options):
    low = np.array([0, 10, 30]) * 10**6
    return Histogram(low, low + 10**7, [5, 0, 3], **options)


def test_histograms_from_files(tmp_path):
    file = write(tmp_path / "h.noise", histogram(observed=10**12))
    x = jf.Empirical(file=file)
    y = jf.Empirical(low=[0, 3e-5], high=[1e-5, 4e-5], count=[5, 3])
    assert [a.tolist() for a in x.integers().arrays] == [a.tolist() for a in y.integers().arrays]
    check(lambda: jf.TraceNoise(file=file), "must hold detours in order", "Empirical(file=...) tak")
    check(lambda: jf.Empirical(file=file, longest=1), "has no events above its last bin")
    late = write(tmp_path / "l.noise", histogram(what="latency"))
    check(lambda: jf.Empirical(file=late), "latencies of wake-ups", "not for how long")
    both = write(tmp_path / "b.noise", histogram(what="latency"), histogram(what="latency"))
    for part in (None, 0, "each"):  # at once, and no advice that fails later
        check(lambda part=part: jf.TraceNoise(file=both, part=part), "which no noise source takes")
    beyond = write(tmp_path / "o.noise", histogram(overflow=2))
    check(lambda: jf.Empirical(file=beyond), "has 2 events above its last bin, 4e-05 s: give lon")
    check(lambda: jf.Empirical(file=beyond, longest="30us"), "give longest")
    cut = jf.Empirical(file=beyond, longest="60us")
    assert cut.survival([4e-5, 5e-5, 6e-5]) == pytest.approx([0.2, 0.1, 0])
    several = write(tmp_path / "s.noise", histogram(cpu="1"), histogram(cpu="2"))
    check(lambda: jf.TraceNoise(file=several), "duration=empirical(file=", "s.noise,part=all)")
    whole = jf.Empirical(file=several, part="all")
    assert [a.tolist() for a in whole.integers().arrays] == [
        a.tolist() for a in x.integers().arrays
    ]


def test_file_that_changes(tmp_path):
    file = write(tmp_path / "one.noise", detours())
    noise = jf.TraceNoise(file=file)
    before = noise.sha256
    write(tmp_path / "one.noise", detours(5))
    check(lambda: jf.TraceNoise(file=file, sha256=before), "has changed: its sha256 is ", before)
    assert jf.TraceNoise(file=file).sha256 != before
    (tmp_path / "one.noise").unlink()
    check(lambda: jf.TraceNoise(file=file), "can not be read (No such file")
    (tmp_path / "bad.noise").write_text("# jitterfly noise 1\n# junk\n")
    check(lambda: jf.TraceNoise(file=str(tmp_path / "bad.noise")), "bad.noise, line 2")


def test_identity_is_the_content(tmp_path):
    one = write(tmp_path / "one.noise", detours())
    (tmp_path / "x").mkdir()
    copy = write(tmp_path / "x" / "copy.noise", detours())
    other = write(tmp_path / "other.noise", detours(1))
    found = [case(jf.TraceNoise(file=file)).identity() for file in (one, copy, other)]
    assert found[0] == found[1] != found[2]
    assert "file" not in found[0]["noise"][0]
    nested = [case(jf.StepNoise(jf.Empirical(file=f))).identity() for f in (one, copy, other)]
    assert nested[0] == nested[1] != nested[2]


STUDY = """
name = "measured"
[realizations]
max = 30
[case]
ranks = 8
compute_time = "1ms"
network = {kind = "loggops", L = "1us", o = "10ns"}
[[case.noise]]
kind = "trace"
file = "data/one.noise"
[[case.noise]]
kind = "step"
delay = {kind = "empirical", file = "data/one.noise"}
[axes.p]
path = "noise.1.probability"
values = [0.0, 0.5]
"""


def test_studies_keep_their_files(tmp_path, monkeypatch):
    """Relative to the study; copied beside the records, so that results go on without it."""
    home, away = tmp_path / "home", tmp_path / "away"
    (home / "data").mkdir(parents=True)
    away.mkdir()
    write(home / "data" / "one.noise", detours())
    (home / "study.toml").write_text(STUDY)
    monkeypatch.chdir(away)
    out = tmp_path / "out"
    store = jf.run_study(home / "study.toml", out)
    copy = out / "files" / copy_name("data/one.noise")
    assert copy.read_bytes() == (home / "data" / "one.noise").read_bytes()
    assert jf.Store.open(out).available(store.cells[0]) == 30

    # Extended by the same study, then without its file, and from somewhere else.
    jf.run_study(home / "study.toml", out, realizations=40)
    study = jf.load_study(home / "study.toml")
    table = {key: value for key, value in study.case.items() if key != "ranks"}
    larger = replace(study, case=table, axes=[jf.Axis("ranks", [2, 4])])
    assert larger.cells()[0].variants[0].case.noise[0].share() > 0
    shutil.move(out, away / "moved")
    shutil.rmtree(home)
    moved = jf.Store.open("moved")
    assert [cell.name for cell in moved.cells] == [cell.name for cell in store.cells]
    jf.run_study(moved.study, "moved", realizations=50)
    assert jf.Store.open("moved").available(moved.cells[1]) == 50
    merged = jf.merge(tmp_path / "merged", [away / "moved"])
    assert merged.available(merged.cells[1]) == 50
    assert (tmp_path / "merged" / "files" / copy.name).is_file()
    shutil.rmtree(away / "moved")
    assert jf.Store.open(tmp_path / "merged").available(merged.cells[0]) == 50


def test_another_content_is_another_run(tmp_path):
    (tmp_path / "data").mkdir()
    write(tmp_path / "data" / "one.noise", detours())
    table = {"ranks": 4, "network": NETWORK, "compute_time": "1ms"}
    table["noise"] = [{"kind": "trace", "file": str(tmp_path / "data" / "one.noise")}]
    study = jf.Study("x", case=table, budget=jf.RealizationBudget(max=3))
    jf.run_study(study, tmp_path / "out")
    write(tmp_path / "data" / "one.noise", detours(3))
    again = jf.Study("x", case=table, budget=jf.RealizationBudget(max=3))
    check(lambda: jf.run_study(again, tmp_path / "out"), "holds another run (1 stored case ")
    # The first one is still what it was, here; a process that has to read the file anew refuses.
    first = study.cells()[0].variants[0].case
    jf.simulate(first, 1)
    load_named.cache_clear()
    trace._recordings_of_file.cache_clear()
    check(lambda: jf.simulate(first, 1), "has changed: its sha256 is", "must be")
