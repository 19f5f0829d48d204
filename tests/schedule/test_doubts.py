"""Recordings that are short for the CPU time of a schedule; receives that are short."""

import json
import random
import warnings

import numpy as np
import pytest
from support.grouped import parametrize_in_groups
from support.scale import scaled
from support.schedule_cases import OPTIONS, Case

import jitterfly as jf
from jitterfly.cli import main
from jitterfly.measured import Detours, Measured, noisefile
from jitterfly.schedule.compile import compile_schedule

TWO = """num_ranks 2
rank 0 {
a: calc 500000
b: send 101b to 1
b requires a
}
rank 1 {
a: calc 300000
b: recv 101b from 0
}
"""


@pytest.fixture
def two(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.goal").write_text(TWO)
    return jf.Schedule.read("two.goal")


def cpu_time(schedule, network, speed=None):
    """Of all ranks together, in seconds: of calculations, and of messages."""
    plan = compile_schedule(schedule, network, (), speed=speed).plan
    return tuple(ticks * 1e-12 for ticks in plan.cpu_time)


def test_cpu_time(two):
    found = cpu_time(two, jf.LogGOPS("1us", "200ns", O="1ns"))
    assert found == pytest.approx((800e-6, 2 * (200e-9 + 100e-9)))
    slow = cpu_time(two, jf.LogGOPS("1us", 0), jf.imbalance.SlowRanks(2, ranks=1))
    assert slow == pytest.approx((1100e-6, 0))


@pytest.mark.filterwarnings("ignore::jitterfly.ShortReceiveWarning")  # messages overtake others
@pytest.mark.filterwarnings("ignore::jitterfly.IneffectiveSpeedWarning")
@parametrize_in_groups(
    "kind, number", [(kind, number) for kind in OPTIONS for number in range(scaled(40))]
)
def test_cpu_time_is_that_of_all_paths(kind, number, tmp_path):
    """Where messages have CPU time of their own, on one level or several."""
    rng = random.Random(f"CPU time {kind} {number}")
    case = Case(rng, tmp_path, **OPTIONS[kind])
    if case.quiet() is None:
        return
    found = jf.explain_schedule(case.schedule, case.network, (), 1, speed=case.speed)
    work = found.by_rank_on_time[:, 1].sum() * 1e-12
    assert sum(cpu_time(case.schedule, case.network, case.speed)) == pytest.approx(work, rel=1e-12)


def recording(path, detours):
    starts = np.arange(detours) * (8 * 10**9 // detours)  # in 8 ms
    part = Detours(starts, np.full(detours, 10**5), 8 * 10**9)
    noisefile.write(Measured((part,), "test", {}, ()), path)
    return str(path)


@pytest.mark.filterwarnings("default::jitterfly.ScarceRecordingWarning")
def test_a_recording_that_is_short_for_the_schedule_is_told(two, tmp_path, capsys):
    """0.8 ms of CPU time are a tenth of 8 ms; half of them are not."""
    many, few = recording(tmp_path / "many.noise", 4000), recording(tmp_path / "few.noise", 8)

    def told(noise, **options):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            found = jf.simulate_schedule(two, "L=1us,o=200ns", noise, 5, **options)
            explained = jf.explain_schedule(two, "L=1us,o=200ns", noise, 5, **options)
        text = [str(one.message) for one in seen if one.category is jf.ScarceRecordingWarning]
        assert text == [*found.doubts, *explained.doubts]
        for note in text:
            assert note in found.notes()
            assert note in explained.notes()
        return list(found.doubts)

    (text,) = told(jf.TraceNoise(file=many))
    assert text.startswith("many.noise: the recording (8 ms, 4,000 detours) is short beside the ")
    assert "800 µs of CPU time that a realization takes from it" in text
    assert told(jf.TraceNoise(file=many, shared="machine")) == []
    assert told(jf.TraceNoise(file=many, during="communication")) == []
    slow = jf.imbalance.SlowRanks(8, ranks=0)
    (text,) = told(jf.TraceNoise(file=many, shared="machine"), speed=slow)
    assert "2.15 ms" in text
    (text,) = told(jf.TraceNoise(file=few, shared="machine"))
    assert "has few detours" in text
    assert told(jf.PeriodicNoise("1ms", "1us")) == []

    for command in ("run", "explain"):
        words = [command, "two.goal", "--noise", many, "--network", "L=1us,o=200ns"]
        assert main([*words, "--realizations", "5"]) == 0
        shown = capsys.readouterr()
        assert shown.out.count("is short beside the 800 µs of CPU time") == 1
        assert "short beside" not in shown.err
        assert main([*words, "--realizations", "5", "--json"]) == 0
        assert "short beside" in json.loads(capsys.readouterr().out)["doubts"][0]


def test_short_receives_are_told_once(tmp_path, monkeypatch):
    """A longer receive is usual: MPI's are as long as their buffers."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "short.goal").write_text(
        "num_ranks 2\nrank 0 {\na: send 80000b to 1\nb: send 8b to 1\nc: send 80000b to 1 tag 3\n"
        "recv 9b from 1 tag 4\n} rank 1 {\nrecv 80000b from 0\nrecv 9b from 0\n"
        "recv 8b from 0 tag 3\nsend 10b to 0 tag 4\n}\n"
    )
    schedule = jf.Schedule.read("short.goal")
    with pytest.warns(jf.ShortReceiveWarning) as seen:
        found = jf.simulate_schedule(schedule, "L=1us,o=0", realizations=2)
    assert [str(one.message) for one in seen] == [
        "short.goal: 2 receives have fewer bytes than the message to take: the first is that of "
        "rank 0, line 6, recv 9b from 1, for a message of 10 bytes; a message counts with the "
        "bytes of its send"
    ]
    schedule.write("short.jfs")
    with pytest.warns(jf.ShortReceiveWarning, match=r"rank 0, (line 6|number 3), recv 9b"):
        again = jf.explain_schedule("short.jfs", "L=1us,o=0", realizations=2)
    np.testing.assert_array_equal(again.completion, found.ticks)
    text = (tmp_path / "short.goal").read_text()
    for old, new in (
        ("recv 9b from 1", "recv 11b from 1"),
        ("recv 8b from 0", "recv 80001b from 0"),
    ):
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "long.goal").write_text(text)
    jf.simulate_schedule("long.goal", "L=1us,o=0", realizations=2)  # warnings are errors
