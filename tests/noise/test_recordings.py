"""Trace noise with `part = "each"`: ranks replay recordings of their own; CPU, kernels, studies."""

import pickle
import random
import warnings
from dataclasses import replace

import numpy as np
import pytest
from reference import PeriodicNoise, TracesNoise
from support.emulated_kernels import Run, build_once, check
from support.instruction_sets import AVAILABLE
from support.kernel_cases import PROGRAMS, make
from support.message_cases import MESSAGE_PROGRAMS, make_messages

import jitterfly as jf
from jitterfly import _core
from jitterfly.measured import Detours, Measured, noisefile
from jitterfly.measured.measurements import LOAD_NOTE

NETWORK = jf.LogGOPS(L="1us", o="0.2us", gamma="0.1ns")


def recording(rng, length):
    """Sorted intervals with time between them, and how long that was."""
    if rng.random() < 0.2:  # a CPU that nothing interrupts
        return (), length
    ends = sorted(rng.sample(range(1, length), 2 * rng.randint(1, 6)))
    return tuple(zip(ends[::2], ends[1::2], strict=True)), length


def recordings(number, ranks):
    """One to four of them, of lengths that differ, and which one each rank replays."""
    rng = random.Random(f"recordings {number}")
    lengths = [
        rng.choice([40_000, 5_000_000, 9_999_991, 30_000_000]) for _ in range(1 + number % 4)
    ]
    together = tuple(recording(rng, length) for length in lengths)
    of_ranks = tuple(rng.randrange(len(lengths)) for _ in range(ranks))
    window = rng.choice([{}, {"begin": 1_000_000, "end": 12_000_000}])
    node_ranks = min(rng.choice([1, 2, 3, 4, 6]), ranks)
    return TracesNoise(together, of_ranks, node_ranks=node_ranks, **window)


def results(case, isa, monkeypatch):
    monkeypatch.setenv("JITTERFLY_ISA", isa)
    program = case.program(_core)
    times = _core.ready_times(program, case.seed, case.realization)
    return times, _core.simulate(program, case.seed, case.realization, 3, "all", "cpu", 2)


@pytest.mark.parametrize("program", PROGRAMS)
def test_engine_equals_the_reference(program, monkeypatch):
    for number, log2_ranks in enumerate((0, 1, 2, 3, 5)):
        case = make(program, "none", log2_ranks)
        sources = (recordings(number, case.ranks), PeriodicNoise(9_000_000, 400_000, True))
        case = replace(case, others=sources[: 1 + number % 2])
        expected = np.array(case.reference().rows, dtype=np.int64)[case.rows]
        for isa in AVAILABLE:
            found, _ = results(case, isa, monkeypatch)
            np.testing.assert_array_equal(found, expected, err_msg=f"{isa}, 2^{log2_ranks}")


@pytest.mark.parametrize("program", MESSAGE_PROGRAMS)
def test_all_instruction_sets_agree(program, monkeypatch):
    for number, ranks in enumerate((1, 2, 5, 17, 45, 600)):
        case = replace(make_messages(program, "none", ranks), sources=(recordings(number, ranks),))
        plain = results(case, "plain", monkeypatch)
        for isa in AVAILABLE[1:]:
            for found, wanted in zip(results(case, isa, monkeypatch), plain, strict=True):
                np.testing.assert_array_equal(found, wanted, err_msg=f"{isa}, {ranks} ranks")


@pytest.mark.slow
def test_kernels(tmp_path_factory):
    kernels = build_once(tmp_path_factory)
    runs = []
    for number, program in enumerate(PROGRAMS):
        case = make(program, "none", (3, 5, 1, 4)[number % 4])
        runs.append(Run(replace(case, others=(recordings(number, case.ranks),)), count=3))
    for number, program in enumerate(MESSAGE_PROGRAMS):
        case = make_messages(program, "none", (6, 17, 2, 33)[number % 4])
        runs.append(Run(replace(case, sources=(recordings(number, case.ranks),)), count=3))
    check(kernels, runs)


@pytest.mark.gpu
@pytest.mark.parametrize("log2_ranks", [3, 9, 12, 16])
def test_on_a_device(log2_ranks):
    case = make("butterfly", "none", log2_ranks)
    program = replace(case, others=(recordings(3, case.ranks),)).program(_core)
    found, wanted = (_core.simulate(program, 7, 0, 20, "all", backend, 0)
                     for backend in ("cuda", "cpu"))  # fmt: skip
    np.testing.assert_array_equal(found, wanted)


# --- what users see


@pytest.fixture
def three(tmp_path):
    """A file of three recordings of lengths that differ."""
    parts = tuple(
        Detours([10**7 * k, 5 * 10**7], [3 * 10**6 * k, 10**6], 10**8 * k, cpu=str(k))
        for k in (1, 2, 3)
    )
    noisefile.write(Measured(parts, "test"), tmp_path / "three.noise")
    return str(tmp_path / "three.noise")


def intervals(noise, rank):
    case = jf.Case(8, network=NETWORK, noise=[noise])
    return jf.noise_intervals(case, rank, "2ms", seed=5, realization=4)


@pytest.mark.parametrize("ranks_per_part", [None, 1, 2, 3])
def test_each_rank_replays_the_part_of_its_node(three, ranks_per_part):
    """As if all replayed that one: what is drawn for a rank does not depend on others' parts."""
    noise = jf.TraceNoise(file=three, part="each", ranks_per_part=ranks_per_part)
    for rank in range(8):
        alone = jf.TraceNoise(file=three, part=rank // (ranks_per_part or 1) % 3)
        np.testing.assert_array_equal(intervals(noise, rank), intervals(alone, rank))


def test_of_one_part_each_is_that_one(tmp_path):
    noisefile.write(Measured((Detours([10], [5], 100),), "test"), tmp_path / "one.noise")
    file = str(tmp_path / "one.noise")
    each, one = (jf.Case(8, network=NETWORK, noise=[jf.TraceNoise(file=file, part=part)])
                 for part in ("each", None))  # fmt: skip
    np.testing.assert_array_equal(jf.simulate(each, 50).ticks, jf.simulate(one, 50).ticks)


def test_share_and_longest_delay_are_of_all_parts(three):
    each = jf.TraceNoise(file=three, part="each")
    parts = [jf.TraceNoise(file=three, part=part) for part in range(3)]
    assert each.share() == pytest.approx(np.mean([part.share() for part in parts]))
    assert each.longest_delay(10**6) == max(part.longest_delay(10**6) for part in parts)
    assert each.lookahead() == max(part.lookahead() for part in parts)


def test_the_busiest_part_must_leave_the_cpu_time(tmp_path):
    """Its rank would never end, whatever the mean of all parts is."""
    length = 10**10
    parts = Detours([0], [9 * 10**9], length), Detours([0], [10**7], length)
    noisefile.write(Measured(parts, "test"), tmp_path / "busy.noise")
    each = jf.TraceNoise(file=str(tmp_path / "busy.noise"), part="each")
    assert each.share() == pytest.approx(0.4505)
    assert each.largest_share() == pytest.approx(0.9)
    other = jf.PeriodicNoise("10ms", "4.5ms", start="stationary")
    with pytest.raises(ValueError, match=r"they take 0\.9 \+ 0\.45 of the compute phase"):
        jf.Case(2, network=NETWORK, noise=[each, other])
    other = jf.PeriodicNoise("10ms", "0.5ms", start="stationary")
    assert jf.Case(2, network=NETWORK, noise=[each, other]).noise == (each, other)


def test_in_a_study(three, tmp_path):
    noise = {"kind": "trace", "file": three, "part": "each", "ranks_per_part": 2}
    table = {"ranks": 8, "network": NETWORK.to_dict(), "compute_time": "1ms", "noise": [noise]}
    study = jf.Study("x", case=table, budget=jf.RealizationBudget(max=20))
    store = jf.run_study(study, tmp_path / "out")
    noise = store.cells[0].variants[0].case.noise[0]
    assert (noise.part, noise.ranks_per_part) == ("each", 2)
    assert jf.Case.from_dict(store.cells[0].variants[0].case.to_dict()).noise == (noise,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"part": "all"}, "part must be an integer from 0 to 2"),
        ({}, "has 3 parts .* or part = 'each'"),
        ({"part": "each", "offset": "1us"}, "offset must be left out with part = 'each'"),
        ({"part": 0, "ranks_per_part": 2}, "ranks_per_part is for part = 'each'"),
        ({"part": "each", "ranks_per_part": 0}, "ranks_per_part must be an integer from 1"),
    ],
)
def test_errors(three, options, message):
    with pytest.raises(ValueError, match=message):
        jf.TraceNoise(file=three, **options)
    with pytest.raises(ValueError, match="part must be left out without a file"):
        jf.TraceNoise(starts=[0.0], durations=[1e-6], length="1ms", part="each")


def test_ranks_of_a_part_without_detours_are_never_interrupted(tmp_path, monkeypatch):
    """As an isolated CPU of a cluster: the others replay their recordings as before."""
    busy, quiet = Detours([10**7], [3 * 10**6], 10**8), Detours([], [], 7 * 10**7)
    noisefile.write(Measured((busy, quiet), "test"), tmp_path / "quiet.noise")
    file = str(tmp_path / "quiet.noise")
    each, one = (jf.TraceNoise(file=file, part=part) for part in ("each", 0))
    assert each.share() == one.share() / 2
    assert each.longest_delay(10**6) == one.longest_delay(10**6)
    for rank in range(8):
        expected = intervals(one, rank) if rank % 2 == 0 else np.empty((0, 2))
        np.testing.assert_array_equal(intervals(each, rank), expected)
    for isa in AVAILABLE:
        monkeypatch.setenv("JITTERFLY_ISA", isa)
        ready = [
            jf.ready_times(jf.Case(64, network=NETWORK, compute_time="1ms", noise=noise), seed=1)[0]
            for noise in ([each], [one], [])
        ]
        np.testing.assert_array_equal(ready[0][0::2], ready[1][0::2])
        np.testing.assert_array_equal(ready[0][1::2], ready[2][1::2])
        assert (ready[1] > ready[2]).all()


def test_parts_that_are_all_without_detours(tmp_path):
    quiet = Detours([], [], 100)
    noisefile.write(Measured((quiet, quiet), "test"), tmp_path / "quiet.noise")
    with pytest.raises(ValueError, match=r"quiet\.noise: there is no interval in any part"):
        jf.TraceNoise(file=str(tmp_path / "quiet.noise"), part="each")


def test_parts_that_no_rank_replays_are_said(three):
    """Two CPUs of two nodes and ranks_per_part = 2: the second node would be left out."""
    noise = jf.TraceNoise(file=three, part="each", ranks_per_part=2)
    case = jf.Case(4, network=NETWORK, noise=[noise])
    words = "4 ranks with ranks_per_part = 2 replay 2 of its 3 parts"
    with pytest.warns(jf.IneffectiveNoiseWarning, match=words):
        jf.simulate(case, 10)
    assert any(words in note for note in jf.slowdown(noise, [2, 4], realizations=10).notes())
    jf.simulate(jf.Case(5, network=NETWORK, noise=[noise]), 10)
    assert not any("parts" in note for note in jf.slowdown(noise, 5, realizations=10).notes())


@pytest.mark.parametrize(
    ("node", "options", "fits"),
    [(2, {}, False), (3, {}, True), (6, {}, True), (2, {"ranks_per_part": 2}, True),
     (1, {"shared": 4}, False), (1, {"shared": 3}, True), (8, {}, True)],
)  # fmt: skip
def test_parts_that_do_not_fit_the_nodes_are_said(three, node, options, fits):
    """Eight ranks: a file with a core more than nodes have ranks wanders through the nodes."""
    noise = jf.TraceNoise(file=three, part="each", **options)
    one = replace(NETWORK, gamma=0)
    network = one if node == 1 else jf.Hierarchy([(node, one), one])
    app = jf.ScheduleBuilder(8)
    app.calc("1ms")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jf.ScarceRecordingWarning)
        of_schedule = jf.simulate_schedule(app.build(), network, noise, 1).doubts
    for told in (jf.Case(8, network=network, noise=[noise]).doubts(), of_schedule):
        wanders = any("each node meets a part on another of its ranks" in line for line in told)
        assert wanders != fits


@pytest.mark.filterwarnings("default::jitterfly.ScarceRecordingWarning")
def test_a_recording_that_is_short_for_the_question_is_told(tmp_path):
    """16 s of CPU time from a recording of 8 s; a few detours; the load of a busy machine."""

    def file(name, detours, *notes):
        starts = np.arange(detours) * (8 * 10**12 // detours)
        part = Detours(starts, np.full(detours, 10**6), 8 * 10**12)
        noisefile.write(Measured((part,), "test", {}, notes), tmp_path / name)
        return str(tmp_path / name)

    def told(noise, ranks, **options):
        case = jf.Case(ranks, network=NETWORK, noise=[noise], compute_time="1ms", **options)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            jf.simulate(case, 2)
            explained = jf.explain(case, 2)
        both = [str(one.message) for one in seen if one.category is jf.ScarceRecordingWarning]
        told = both[: len(both) // 2]
        assert both == told * 2
        assert [note for note in explained.notes() if note in told] == told
        table = jf.slowdown(noise, ranks, network=NETWORK, compute_time="1ms", realizations=2,
                            **options)  # fmt: skip
        assert [note for note in table.notes() if note in told] == told
        return told

    many, few = file("many.noise", 4000), file("few.noise", 8)
    assert told(jf.TraceNoise(file=many), 256) == []
    (text,) = told(jf.TraceNoise(file=many), 2**14)
    assert text.startswith("many.noise: the recording (8 s, 4,000 detours) is short beside the 16.")
    assert text.endswith("record longer or on more CPUs")
    assert told(jf.TraceNoise(file=many, shared=64), 2**14) == []
    assert len(told(jf.TraceNoise(file=many), 256, cycles=64)) == 1
    (text,) = told(jf.TraceNoise(file=few), 4)
    assert "few.noise: the recording (8 s, 8 detours) has few detours" in text
    note = f"CPU 3: 700 times {LOAD_NOTE}, for about 9% of the time; on an idle machine ..."
    busy = file("busy.noise", 4000, note, f"CPU 4: 2 times {LOAD_NOTE}; on an idle machine ...")
    assert told(jf.TraceNoise(file=busy), 4) == [f"busy.noise: {note}"]


@pytest.mark.filterwarnings("default::jitterfly.ScarceRecordingWarning")
def test_few_long_detours_of_many_are_told(tmp_path):
    """1,000 of 10 us and a few of 10 ms in 10 s: the short ones do not make the mean sure."""

    def told(long, ranks=64, **options):
        durations = np.full(1000, 10**7)
        durations[: 30 * long : 30] = 10**10
        part = Detours(np.arange(1000) * 10**10 * 2, durations, 20 * 10**12)
        path = tmp_path / f"{long}.noise"
        noisefile.write(Measured((part,), "test"), path)
        return [
            note
            for note in jf.slowdown(
                str(path), ranks, network=NETWORK, realizations=2, **options
            ).notes()
            if "the recording" in note
        ]

    assert told(3) == [
        "3.noise: the recording (20 s, 1,000 detours) has few long detours: its longest detours "
        "decide (a mean delay rests on about 3 of them, whose rate is uncertain by ± 58 % or more, "
        "which intervals allow for), and longer ones may be missing; about 200 s would do: "
        "record longer or on more CPUs"
    ]
    assert "on about 29 of them, whose rate is uncertain by ± 19 %" in told(29)[0]
    assert told(31) == []  # the short ones count for hardly anything
    assert told(0) == []
    # Where work is long, short ones delay both ranks alike: the long one alone makes a difference.
    assert "on about 1 of them" in told(1, 2)[0]
    assert "on about 1 of them" in told(1, 2, compute_time="500ms")[0]


def test_the_core_refuses_what_is_no_recording():
    program = make("butterfly", "none", 2).program(_core)
    good = (np.array([1]), np.array([2]), 10)
    for given, of_ranks, message in [
        ([], [0] * 4, "need a recording"),
        ([good], [0] * 3, "one entry per rank"),
        ([good], [0, 0, 0, 1], "one of those given"),
        ([good, (np.array([], int), np.array([], int), 0)], [0] * 4, "shorter than 2.60 ticks"),
        ([good, (np.array([1]), np.array([1]), 10)], [0] * 4, "must be disjoint"),
    ]:
        with pytest.raises(ValueError, match=message):
            program.add_traces(recordings=given, of_ranks=np.array(of_ranks, np.int32))


def test_the_core_keeps_a_program_when_it_refuses_a_source():
    """Nothing of a refused source is in it, nor the number that its draws would have had."""
    delay = _core.Delay.samples(values=np.array([10**6, 0]))
    factor = _core.Delay.constant(value=2 * 10**12)
    starts, ends = np.array([1]), np.array([10**5])
    traces = {"recordings": [(starts, ends, 10**6)], "of_ranks": np.zeros(4, np.int32)}
    sources = {
        "periodic": {"period": 10**6, "duration": 10**5, "stationary": False},
        "renewal": {"gap": delay, "duration": delay},
        "trace": {"starts": starts, "ends": ends, "length": 10**6},
        "traces": traces,
        "step": {"delay": delay, "at_send": False},
        "message": {"delay": delay},
        "jitter": {"duration": 10**5, "survival": np.array([2**62], np.uint64)},
        "rank_delay": {"delay": delay},
        "rank_speed": {"factor": factor},
    }
    case = make_messages("ring", "none", 4)
    refused, program = case.program(_core), case.program(_core)
    for role, options in sources.items():
        with pytest.raises(ValueError, match="node_ranks must be from 1"):
            getattr(refused, f"add_{role}")(**options, node_ranks=5)
        for one in (refused, program):
            getattr(one, f"add_{role}")(**options)
        for realization in range(3):
            times = [_core.ready_times(one, 5, realization) for one in (refused, program)]
            np.testing.assert_array_equal(*times)


@pytest.mark.parametrize("resample", [None, 3])
def test_lists_become_ticks_once(resample):
    """A million detours take seconds, and every estimate of a study asks for them."""
    noise = jf.TraceNoise(
        starts=np.arange(1000) * 1e-3, durations=np.full(1000, 1e-5), length=1, resample=resample
    )
    (one,), (other,) = noise.replayed(), noise.replayed()
    assert one is other
    whole = pickle.dumps(noise)
    assert len(whole) < 2.2 * noise.starts.nbytes
    (again,) = pickle.loads(whole).replayed()
    np.testing.assert_array_equal(again.starts, one.starts)
    assert pickle.loads(whole) == noise
    (longer,) = replace(noise, length=2, resample=None).replayed()
    assert longer.length == 2 * 10**12
