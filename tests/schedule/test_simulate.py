"""`simulate_schedule`: rules by hand, LogGOPS costs, order checks, errors, command."""

import json
import math
import random
import re
import time
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from reference.public_noise import random_sources
from reference.schedules import as_text, random_schedule
from support.grouped import parametrize_in_groups
from support.instruction_sets import check_instruction_sets
from support.scale import scaled

import jitterfly as jf
from jitterfly import _core, progress
from jitterfly.cli import main
from jitterfly.goal_export import goal_schedule
from jitterfly.schedule import OrderCheck
from jitterfly.schedule.compile import CompiledSchedule, compile_schedule
from jitterfly.schedule.order import compare_orders, realizations_to_check

FREE = "L=1us,o=0"


def schedule_of(text, folder, name="app.goal"):
    path = folder / name
    path.write_text(text)
    return jf.Schedule.read(path)


def ns(text, network, folder):
    found = jf.simulate_schedule(schedule_of(text, folder), network, realizations=1)
    assert found.ticks[0] == round(found.noise_free * 1e12)
    return found.ticks[0] / 1000


TWO = "num_ranks 2\nrank 0 {{\n{}\n}}\nrank 1 {{\n{}\n}}\n"


@pytest.mark.parametrize(
    ("one", "other", "network", "expected"),
    [
        # o on both sides and L between.
        ("send 1b to 1", "recv 1b from 0", "L=1us,o=100ns", 1200),
        # One of 0 bytes is as one of 1 byte (LogGOPSim charges -1 further bytes).
        ("send 0b to 1", "recv 0b from 0", "L=1us,o=100ns,G=1ns,O=2ns", 1200),
        # Of 1000 bytes, 999 come later: 1 ns each.
        ("send 1000b to 1", "recv 1000b from 0", "L=1us,o=100ns,G=1ns", 2199),
        # The sender's CPU copies for 1998 ns, and the receiver's while the bytes come.
        ("send 1000b to 1", "recv 1000b from 0", "L=1us,o=100ns,G=1ns,O=2ns", 3198),
        # The second message waits for the gap of the first one.
        ("send 1b to 1\nsend 1b to 1", "recv 1b from 0\nrecv 1b from 0", "L=1us,o=100ns,g=1us",
         2200),
        # A message that comes during a calculation is taken after it, before the next one.
        ("send 1b to 1", "a: calc 5000\nb: calc 5000\nb requires a\nrecv 1b from 0",
         "L=1us,o=100ns", 10_100),
        # A calculation after a send; with rendezvous it waits for the receive, which is late.
        ("a: send 8b to 1\nb: calc 10000\nb requires a", "c: calc 3000\nd: recv 8b from 0\n"
         "d requires c", "L=1us,o=100ns,S=8", 10_100),
        ("a: send 8b to 1\nb: calc 10000\nb requires a", "c: calc 3000\nd: recv 8b from 0\n"
         "d requires c", "L=1us,o=100ns,S=7", 13_000),
        # `irequires`: on another CPU it begins with the first one, not after it.
        ("a: calc 500\nb: calc 400 cpu 1\nb requires a", "", FREE, 900),
        ("a: calc 500\nb: calc 600 cpu 1\nb irequires a", "", FREE, 600),
        ("", "", FREE, 0),
    ],
)  # fmt: skip
def test_by_hand(one, other, network, expected, tmp_path):
    assert ns(TWO.format(one, other), network, tmp_path) == expected


def test_what_comes_first_is_taken_first(tmp_path):
    """As LogGOPSim, and other than `simulate`: see test_an_early_message_waits_for_a_late_one."""
    network = jf.LogGOPS(L="1us", o=0, g="0.6us")
    case = jf.Case(5, algorithm=jf.BinomialReduce(), network=network, message_bytes=1)
    assert ns(goal_schedule(case).text, network, tmp_path) == 2200


KINDS = ["recursive_doubling_allreduce", "ring_allreduce", "binomial_broadcast", "bruck_alltoall"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_collective_s_schedule_under_noise(kind, tmp_path):
    """What both programs simulate alike: messages that cost no CPU, noise of compute phases.

    And in the order of arrival: else messages of later steps can hold up those of earlier ones.
    """
    rng = random.Random(f"collective {kind}")
    for _ in range(scaled(30)):
        noise = [jf.PeriodicNoise("50us", "7us", start=rng.choice(["fresh", "stationary"]))]
        case = jf.Case(rng.randint(1, 20), algorithm=jf.Algorithm.from_dict({"kind": kind}),
                       network=jf.LogGOPS(L="1us", o=0), message_bytes=rng.choice([1, 100]),
                       compute_time="20us", cycles=rng.randint(1, 3), noise=noise)  # fmt: skip
        schedule = schedule_of(goal_schedule(case).text, tmp_path)
        found = jf.simulate_schedule(
            schedule, case.network, noise, 20, seed=3, order="arrival", threads=2
        )
        np.testing.assert_array_equal(found.ticks, jf.simulate(case, 20, seed=3).ticks[:, -1])


MACHINE = jf.Hierarchy([(2, jf.LogGOPS("0.3us", 0)), (2, jf.LogGOPS("0.7us", 0), "board"),
                        jf.LogGOPS("1us", 0)], placement="block")  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_collective_s_schedule_on_a_machine_of_levels(kind, tmp_path):
    """With ranks that differ in their speed, and draws that a level shares."""
    rng = random.Random(f"collective on levels {kind}")
    noise = [
        jf.PeriodicNoise("50us", "7us", shared="board"),
        jf.SpeedNoise(jf.Lognormal(1, 0.2), shared=rng.choice([False, "node"])),
    ]
    case = jf.Case(13, algorithm=jf.Algorithm.from_dict({"kind": kind}), network=MACHINE,
                   message_bytes=100, compute_time="20us", cycles=3, noise=noise,
                   speed=jf.imbalance.SlowRanks(1.25, [2, 7]))  # fmt: skip
    schedule = schedule_of(
        goal_schedule(replace(case, network=FREE, noise=[], speed=None)).text, tmp_path
    )
    found = jf.simulate_schedule(
        schedule, MACHINE, noise, 20, seed=3, order="arrival", speed=case.speed
    )
    np.testing.assert_array_equal(found.ticks, jf.simulate(case, 20, seed=3).ticks[:, -1])
    quiet = jf.simulate(replace(case, noise=[]), 1)
    assert round(found.noise_free * 1e12) == quiet.ticks[0, -1]


@pytest.mark.parametrize("count", [16, 17, 100])
def test_operations_that_become_free_at_once_keep_their_order(count, tmp_path):
    """Sends first, then calculations, each as they stand in the schedule, however many."""
    lines = [f"calc {10 + i}" if i % 3 else f"send {1 + i}b to 1" for i in range(count)]
    text = TWO.format("\n".join(lines), "\n".join(
        f"recv {1 + i}b from 0" for i in range(0, count, 3)))  # fmt: skip
    compiled = compile_schedule(schedule_of(text, tmp_path), jf.LogGOPS("1us", "1us"), ())
    begins = _core.operation_times(*compiled, 0, 0)[:count, 0]
    sends, others = begins[::3], np.delete(begins, np.s_[::3])
    assert sends.tolist() == [10**6 * i for i in range(len(sends))]
    assert others[0] == 10**6 * len(sends)
    assert np.diff(others).tolist() == [1000 * (10 + i) for i in range(count) if i % 3][:-1]


REPLY = """num_ranks 4
rank 0 {
a: send 8b to 1
c: recv 8b from 1 tag 1
b: send 8b to 1
b requires c
}
rank 1 {
x: recv 8b from 2
y: recv 8b from 3
r: recv 8b from 0
r requires x
s: send 8b to 0 tag 1
s requires r
t: recv 8b from 0
t requires y
}
rank 2 {
a: calc 1000
b: send 8b to 1
b requires a
}
rank 3 {
a: calc 2000
b: send 8b to 1
b requires a
}
"""


@pytest.mark.parametrize("order", ["noise-free", "arrival"])
@pytest.mark.parametrize(
    "slow",
    [{"speed": jf.imbalance.GivenSpeed([1, 1, 5, 1])},
     {"noise": jf.SpeedNoise(5, probability=0.5)},
     {"noise": jf.LateArrival("4us", probability=0.5)},
     {"noise": jf.StepNoise("4us", during="compute", probability=0.5)},
     {"noise": jf.PeriodicNoise("6us", "4us")}],
)  # fmt: skip
def test_receives_keep_their_messages_however_slow_ranks_are(order, slow, tmp_path):
    """Matched anew, t takes what r waits for, where rank 2 is slow: no message would be sent."""
    run = {"realizations": 20, "order": order, "order_checks": 20} | slow
    found = jf.simulate_schedule(schedule_of(REPLY, tmp_path), FREE, **run)
    if "speed" in slow:  # x comes at 6 us, r has its message, b is sent at 7 us
        assert found.noise_free == pytest.approx(8e-6)
        assert set(found.ticks) == {8 * 10**6}
    assert found.ticks.max() >= 7 * 10**6


def test_a_slow_rank_of_a_ring_does_not_slow_its_messages():
    """It sends, then takes what has come meanwhile; in the order of arrival it is the other way."""
    building = jf.ScheduleBuilder(16)
    building.collective("ring_allreduce", "25MB", after=building.calc("10ms"))
    app = building.build()
    network, slow = "L=3us,o=1us,G=25GB/s", jf.imbalance.SlowRanks(1.05, ranks=[13])
    even = jf.simulate_schedule(app, network, realizations=1)
    found = jf.simulate_schedule(app, network, realizations=10, speed=slow)
    assert even.noise_free < found.noise_free <= even.noise_free + 0.5e-3 + 1e-9
    arrival = jf.simulate_schedule(app, network, realizations=1, speed=slow, order="arrival")
    assert arrival.noise_free > found.noise_free + 0.5e-3
    np.testing.assert_array_equal(arrival.samples, arrival.noise_free)
    assert found.order_check.largest_difference == pytest.approx(
        arrival.noise_free - found.noise_free, rel=1e-9
    )
    explained = jf.explain_schedule(app, network, [], 1, speed=slow)
    assert explained.order_check == found.order_check
    for notes in (found.notes(), explained.notes()):
        assert any("the order of competing operations matters here" in note for note in notes)
        assert not any("noise adds" in note for note in notes)
    unchecked = jf.simulate_schedule(app, network, realizations=1, speed=slow, order_checks=0)
    assert any("was not checked" in note for note in unchecked.notes())


def test_one_level_is_the_network_alone(tmp_path):
    schedule = schedule_of(APP, tmp_path)
    levels = [(4, "L=1us,o=200ns,S=100"), "L=1us,o=200ns,S=100"]
    for machine in (jf.Hierarchy(levels), jf.Hierarchy(levels[1:])):
        found = jf.simulate_schedule(schedule, machine, NOISE, 30)
        same = jf.simulate_schedule(schedule, "L=1us,o=200ns,S=100", NOISE, 30)
        np.testing.assert_array_equal(found.ticks, same.ticks)


LEVELS = """num_ranks 3
rank 0 {
send 1b to 1
send 1b to 2
}
rank 1 {
calc 2000
recv 1b from 0
}
rank 2 {
recv 1b from 0
}
"""


def test_levels_and_slow_ranks_by_hand(tmp_path):
    schedule = schedule_of(LEVELS, tmp_path)
    machine = "2: L=100ns,o=10ns; L=5us,o=20ns"
    # Rank 2, on another node: the send within the node, and o + L + o.
    assert jf.simulate_schedule(schedule, machine).noise_free == 5.05e-6
    # Rank 1 takes its message, for 10 ns, after its calculation.
    slow = jf.simulate_schedule(schedule, machine, speed=jf.imbalance.SlowRanks(3, 1))
    assert slow.noise_free == 6.01e-6
    assert "speed of the ranks: slow_ranks, factor = 3.0, ranks = [1]" in slow.notes()
    assert jf.explain_schedule(schedule, machine, speed=slow.speed).on_time == 6_010_000
    found = jf.explain_schedule(schedule, machine, [jf.SpeedNoise(3)], 4)
    assert found.on_time == 5_050_000
    assert found.completion.tolist() == 4 * [6_010_000]
    assert found.ticks.tolist() == 4 * [[4_000_000, 960_000 - 4_000_000]]
    drawn = jf.simulate_schedule(schedule, machine, [jf.SpeedNoise(3)], 4)
    assert drawn.title().endswith("under noise: speed, factor = 3")


def test_speeds_and_levels_that_can_not_be(tmp_path):
    schedule = schedule_of(LEVELS, tmp_path)
    machine = jf.Hierarchy([(2, "L=100ns,o=10ns"), "L=5us,o=20ns"])
    for network, options, message in (
        (machine, {"speed": jf.imbalance.SlowRanks(2, 3)}, "speed: ranks must be from 0 to 2"),
        (machine, {"speed": 1.2}, "speed must be a Speed"),
        (machine, {"speed": jf.imbalance.GivenSpeed([1, 2])}, "one factor for each of the 3 ranks"),
        (replace(machine, placement=[0, 1]), {}, "one slot for each of the 3 ranks"),
        (jf.Hierarchy([FREE], placement=[0, 1]), {}, "one slot for each of the 3 ranks"),
        (jf.Hierarchy([(2, jf.Hockney("1us", 0)), FREE]), {}, "or a Hierarchy of them"),
        (jf.Hierarchy([(2, "L=1us,o=0,gamma=1ns"), FREE]), {}, "gamma must be left out"),
        (machine, {"noise": "kind=speed,factor=2,shared=rack"}, r"noise\[0\]: shared must be one"),
        (machine, {"noise": "kind=speed,factor=1e6", "speed": jf.imbalance.SlowRanks(1e6, 1)},
         "a calculation must take less than 1.15e\\+06 s .2.60 ps. at its drawn speed"),
        (machine, {"speed": jf.imbalance.SlowRanks(1e6, 1), "noise": 6 * ["kind=speed,factor=10"]},
         "at its drawn speed"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            jf.simulate_schedule(schedule, network, **options)


def test_speeds_that_act_on_nothing_are_told(tmp_path):
    schedule, idle = schedule_of(LEVELS, tmp_path), schedule_of(
        TWO.format("calc 0\nsend 1b to 1", "recv 1b from 0"), tmp_path, "idle.goal"
    )  # fmt: skip
    slow = jf.imbalance.SlowRanks
    for one, speed, why in (
        (idle, slow(2), "the schedule calculates nothing"),
        (schedule, slow(2, [0, 2]), "the ranks whose factor is not 1 calculate nothing"),
        (schedule, slow(1, 1), "the factor of every rank is 1"),
    ):
        with pytest.warns(jf.IneffectiveSpeedWarning, match=f"speed .slow_ranks. .*: {why}"):
            jf.simulate_schedule(one, FREE, speed=speed)
    with pytest.warns(jf.IneffectiveNoiseWarning, match="noise.1 .speed. can hit nothing"):
        jf.simulate_schedule(idle, FREE, [jf.StepNoise("1us"), jf.SpeedNoise(2)])


def test_factors_are_rounded_to_32_bits(tmp_path):
    """A second of work is right to 120 ps; a case multiplies exactly."""
    text = "num_ranks 1\nrank 0 {\ncalc 1000000000\n}\n"
    speed = jf.imbalance.GivenSpeed("1.2")
    found = jf.simulate_schedule(schedule_of(text, tmp_path), FREE, speed=speed, realizations=1)
    assert found.ticks[0] == (10**12 * round(1.2 * 2**32) + 2**31) >> 32
    assert abs(int(found.ticks[0]) - 12 * 10**11) <= 120


def test_fast_ranks_are_a_gain(tmp_path):
    schedule = schedule_of("num_ranks 1\nrank 0 {\ncalc 5000\n}\n", tmp_path)
    found = jf.explain_schedule(schedule, FREE, [jf.SpeedNoise(0.5)], 4)
    assert found.ticks.tolist() == 4 * [[-2_500_000, 0]]
    assert found.kind_rows()[0].share.value == 1
    assert any(note.startswith("no single delay by noise") for note in found.notes())


def test_long_lists_are_told_shortly(tmp_path):
    text = "num_ranks 20\n" + "".join(f"rank {i} {{\ncalc 1000\n}}\n" for i in range(20))
    speed = jf.imbalance.GivenSpeed([1 + i / 10 for i in range(20)])
    found = jf.simulate_schedule(schedule_of(text, tmp_path), FREE, speed=speed, realizations=2)
    assert "speed of the ranks: given, factors = 20 numbers from 1 to 2.9" in found.notes()


def program_under(rng, folder):
    """A schedule's plan, under any noise; None where the schedule can not be executed."""
    ranks = rng.choice([2, 4, 7, 8])
    operations = random_schedule(rng, ranks, rng.randint(1, 80), rng.choice([1, 1, 2]))
    network = jf.LogGOPS(L="1us", o=rng.choice(["0us", "0.2us"]), g=rng.choice(["0us", "0.5us"]),
                         G="0.1ns", S=rng.choice([None, None, 100]))  # fmt: skip
    noise, _ = random_sources(rng, jf, ranks, 1_300_000)
    schedule = schedule_of(as_text(operations), folder)
    try:
        return compile_schedule(schedule, network, noise)
    except ValueError:
        return None


@parametrize_in_groups("number", range(scaled(200)))
def test_instruction_sets_and_threads(number, tmp_path, monkeypatch):
    """Lanes hold realizations: all of them are those that one alone gives."""
    rng = random.Random(f"lanes {number}")
    made = program_under(rng, tmp_path)
    if made is None:
        return
    compiled, seed = made, rng.getrandbits(64)
    first, count = rng.randrange(2**31), rng.randint(1, 40)

    def results(_):
        for threads in (1, 3):
            yield _core.simulate_schedule(*compiled, seed, first, count, threads)

    check_instruction_sets(lambda case: list(results(case)), None, monkeypatch)
    monkeypatch.setenv("JITTERFLY_ISA", "plain")
    alone = [_core.simulate_schedule(*compiled, seed, first + i, 1)[0] for i in range(count)]
    np.testing.assert_array_equal(next(results(None)), alone)


APP = goal_schedule(
    jf.Case(8, network="L=1us,o=200ns", compute_time="100us", cycles=5, message_bytes=8,
            algorithm=jf.RecursiveDoublingAllreduce())
).text  # fmt: skip
NOISE = jf.PeriodicNoise("1ms", "25us", start="stationary")


def test_answer(tmp_path):
    calls = []
    found = jf.simulate_schedule(
        schedule_of(APP, tmp_path), "L=1us,o=200ns", NOISE, 200, seed=5,
        progress=lambda *now: calls.append(now), order_checks=3,
    )  # fmt: skip
    assert calls[-1] == (200, 200)
    assert found.samples.shape == found.last_rank.shape == (200,)
    np.testing.assert_allclose(found.samples * 1e12, found.ticks)
    assert float(found.mean().value) == pytest.approx(found.samples.mean())
    slowdown = found.slowdown()
    assert slowdown.value == pytest.approx(found.samples.mean() / found.noise_free)
    assert slowdown.low < slowdown.value < slowdown.high
    assert found.noise_share() == pytest.approx(0.025)
    alone = 0.025 / 0.975
    assert found.amplification().value == pytest.approx((slowdown.value - 1) / alone)
    assert found.order_check.realizations == 3
    assert 0 <= found.order_check.same <= 3
    rows = found.to_csv().splitlines()
    assert len(rows) == 201
    assert rows[1].split(",")[0] == "0"
    # A part of it is the same.
    part = jf.simulate_schedule(tmp_path / "app.goal", "L=1us,o=200ns", NOISE, 50, seed=5,
                                first_realization=100, threads=2)  # fmt: skip
    np.testing.assert_array_equal(part.ticks, found.ticks[100:150])
    np.testing.assert_array_equal(part.last_rank, found.last_rank[100:150])
    text = "\n".join(found.report())
    assert "app.goal: 8 ranks, 280 operations, 120 messages" in text
    assert "noise amplification" in text
    assert "competing operations keep the order" in found._repr_html_()
    pytest.importorskip("pandas")
    assert found.to_pandas()["run_time_s"].tolist() == found.samples.tolist()


def test_one_rank_amplifies_nothing(tmp_path):
    """Work of a second on one rank takes what the noise takes: amplification 1."""
    schedule = schedule_of("num_ranks 1\nrank 0 {\ncalc 1000000000\n}", tmp_path)
    found = jf.simulate_schedule(schedule, "L=1us,o=200ns", NOISE, 100)
    assert found.amplification().value == pytest.approx(1, abs=0.002)
    assert found.order_check.same == found.order_check.realizations == 50
    twice = jf.simulate_schedule(schedule, "L=1us,o=0", [NOISE, jf.PeriodicNoise("2ms", "30us")], 9)
    assert twice.noise_share() == pytest.approx(1 - 0.975 * 0.985)


@pytest.mark.parametrize(
    ("noise", "why"),
    [
        ([], "no noise"),
        ([jf.StepNoise("1us")], "no share"),
        ([jf.PeriodicNoise("1ms", "1us", during="compute")], "some work only"),
        ([jf.PeriodicNoise("1ms", "1us", end="1ms")], "some time only"),
    ],
)
def test_where_amplification_is_not_defined(noise, why, tmp_path):
    found = jf.simulate_schedule(schedule_of(APP, tmp_path), "L=1us,o=200ns", noise, 20)
    assert found.noise_share() is None, why
    assert found.amplification() is None
    assert (found.order_check is None) == (not noise)
    assert "amplification" not in "\n".join(found.lines())


def test_amplification_of_a_run_that_met_no_noise(tmp_path):
    schedule = schedule_of("num_ranks 1\nrank 0 {\ncalc 1000\n}", tmp_path)
    rare = jf.PeriodicNoise("1s", "1ms")
    found = jf.simulate_schedule(schedule, "L=1us,o=200ns", rare, 50, seed=1)
    assert set(found.ticks) == {1_000_000}
    amplified = found.amplification()
    assert (amplified.low, amplified.high) == (-math.inf, math.inf)
    text = "\n".join([*found.lines(), *found.notes()])
    assert "noise amplification     can not be told: no realization met any noise" in text
    assert (
        "in the long run; this one takes 1 µs, less than the 1 s from one interval of noise to the "
        "next, so amplification, which compares with that, says little"
    ) in text
    assert "no realization was delayed: a mean that rests on no event has no interval" in text
    for phases in (None, [0]):
        late = jf.PeriodicNoise("1us", "100ns", begin="1us", phases=phases)
        over = jf.simulate_schedule(schedule, "L=1us,o=200ns", late, 50).notes()
        assert any(
            note.startswith("all is over when the noise begins, so that it can") for note in over
        )
        assert not any(note.startswith("no realization was delayed") for note in over)


def test_amplification_of_a_run_that_is_shorter_than_the_noise_s_period(tmp_path):
    """Some realizations are hit: a wide interval, and a note; longer runs have none."""
    schedule = schedule_of("num_ranks 1\nrank 0 {\ncalc 100000\n}", tmp_path)
    found = jf.simulate_schedule(schedule, "L=1us,o=200ns", jf.PeriodicNoise("1ms", "25us"), 300)
    amplified = found.amplification()
    assert amplified.low < 1 < amplified.high
    assert "can not be told" not in "\n".join(found.lines())
    assert "says little" in "\n".join(found.notes())
    often = jf.PeriodicNoise("50us", "1us")
    longer = jf.simulate_schedule(schedule, "L=1us,o=200ns", often, 20)
    assert "in the long run" not in "\n".join(longer.notes())
    both = jf.simulate_schedule(schedule, "L=1us,o=200ns", [often, jf.PeriodicNoise("1ms", "1us")],
                                20)  # fmt: skip
    assert "less than the 1 ms from one interval" in "\n".join(both.notes())


def test_amplification_of_a_schedule_that_takes_no_time(tmp_path):
    schedule = schedule_of("num_ranks 1\nrank 0 {\ncalc 0\n}", tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jf.IneffectiveNoiseWarning)
        found = jf.simulate_schedule(schedule, "L=1us,o=200ns", jf.PeriodicNoise("1ms", "1us"), 20)
    assert "noise amplification     can not be told: the schedule takes no time" in found.lines()


def test_the_check_of_the_order_shows_how_far_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "FIRST", 0)
    monkeypatch.setattr(progress, "EVERY", 0)
    told = []
    with progress.progress_to(told.append):
        jf.simulate_schedule(schedule_of(APP, tmp_path), "L=1us,o=200ns", NOISE, 20, order_checks=2)
    assert told[:2] == [f"executing realizations in two orders: {done} of 2" for done in (0, 1)]


def test_the_order_is_told(tmp_path):
    """Rank 0 takes messages of two ranks that noise delays: sometimes the other comes first."""
    text = """num_ranks 3
rank 0 {
a: recv 1b from 1
b: recv 1b from 2
c: calc 100
c requires a
d: send 1b to 1
d requires c
}
rank 1 {
a: calc 1000
b: send 1b to 0
b requires a
recv 1b from 0
}
rank 2 {
a: calc 1001
b: send 1b to 0
b requires a
}
"""
    noise = jf.StepNoise(jf.Exponential("1us"), at="send")
    schedule = schedule_of(text, tmp_path)
    found = jf.simulate_schedule(schedule, "L=1us,o=500ns", noise, 100, order_checks=100)
    check = found.order_check
    assert 10 < check.same < 90
    assert check.largest_difference > 0
    assert f"{check.same} of them keep all times" in found.notes()[-1]
    assert "changes the run time of the first" in found.notes()[-1]
    free = jf.simulate_schedule(schedule, "L=1us,o=500ns", noise, 100, order="arrival")
    assert free.order_check is None
    assert free.notes()[-1] == "competing operations are executed in the order of arrival"
    difference = free.samples - found.samples
    assert np.mean(difference) == pytest.approx(check.mean_difference)
    assert np.abs(difference).max() == pytest.approx(check.largest_difference)
    part = jf.simulate_schedule(schedule, "L=1us,o=500ns", noise, 20, first_realization=70,
                                order="arrival", threads=3)  # fmt: skip
    np.testing.assert_array_equal(part.ticks, free.ticks[70:90])
    np.testing.assert_array_equal(part.last_rank, free.last_rank[70:90])


INCAST = "num_ranks 9\nrank 0 {\n" + "".join(
    f"a{i}: recv 8b from {i}\n" for i in range(1, 9)
) + "}\n" + "".join(
    f"rank {i} {{\na: calc {1000 * i}\nb: send 8b to 0\nb requires a\n}}\n" for i in range(1, 9)
)  # fmt: skip


def test_the_longest_realizations_are_checked(tmp_path):
    """Rare noise is in few realizations, and in those the order changes: 5 ms, of 8 messages."""
    schedule = schedule_of(INCAST, tmp_path)
    noise = jf.StepNoise("5ms", probability=0.003)
    found = jf.simulate_schedule(schedule, "L=1us,o=1us", noise, 300)
    check = found.order_check
    assert (check.realizations, check.first) == (50, 25)
    assert 25 <= check.same < 50
    assert check.longest_added > 1e-3
    assert 0 < abs(check.longest_difference) < 0.01 * check.longest_added
    assert not any("matters here" in note for note in found.notes())
    five = jf.simulate_schedule(schedule, "L=1us,o=1us", noise, 300, order_checks=5).order_check
    assert (five.realizations, five.first) == (5, 3)
    most = jf.simulate_schedule(schedule, "L=1us,o=1us", noise, 300, order_checks=300)
    free = jf.simulate_schedule(schedule, "L=1us,o=1us", noise, 300, order="arrival")
    all_of_them = most.order_check
    assert (all_of_them.first, all_of_them.longest_added) == (300, 0)
    assert all_of_them.mean_added == pytest.approx(most.samples.mean() - most.noise_free)
    assert all_of_them.mean_difference == pytest.approx((free.samples - most.samples).mean())
    # Where the sample shows nothing, it says how much it can have missed.
    one = schedule_of("num_ranks 1\nrank 0 {\ncalc 1000\n}", tmp_path, "one.goal")
    notes = jf.simulate_schedule(one, FREE, "period=1us,duration=10ns", 200).notes()
    assert "up to 11% of all may differ (95 %)" in notes[-1]


def test_the_longest_are_not_shorter_for_having_been_chosen(tmp_path):
    """In the order of arrival others are the longest, and nearly as long: that is told."""
    schedule, noise = schedule_of(INCAST, tmp_path), jf.StepNoise(jf.Exponential("2us"))
    found = jf.simulate_schedule(schedule, "L=1us,o=1us", noise, 2000, order_checks=200)
    free = jf.simulate_schedule(schedule, "L=1us,o=1us", noise, 2000, order="arrival")
    check = found.order_check
    fixed, free = (run.samples[check.first :] for run in (found, free))
    longest = np.argsort(-fixed)[: check.realizations - check.first]
    of_the_same = (free - fixed)[longest].mean()
    of_the_longest = np.sort(free)[-len(longest) :].mean() - fixed[longest].mean()
    assert of_the_same < 1.3 * of_the_longest < 0
    assert check.longest_difference == pytest.approx(of_the_longest, rel=0.2)


def test_given_speeds_change_the_order_without_noise_too(tmp_path):
    """By how much is told apart from what noise adds in either order."""
    schedule = schedule_of(TWO_MESSAGES.replace("10001000", "10040000"), tmp_path)
    case = schedule, "L=1us,o=200ns", "period=1ms,duration=5us"
    slow = jf.imbalance.SlowRanks(1.01, ranks=[1])
    found, free = (jf.simulate_schedule(*case, 200, speed=slow, order=order, order_checks=200)
                   for order in ("noise-free", "arrival"))  # fmt: skip
    check = found.order_check
    apart = free.noise_free - found.noise_free
    assert check.noise_free_difference == pytest.approx(apart, abs=1e-12) != 0
    adds = [run.samples.mean() - run.noise_free for run in (found, free)]
    noisy = check.mean_difference - check.noise_free_difference
    assert noisy == pytest.approx(adds[1] - adds[0], abs=1e-12)
    told = found.notes()[-1] if not check.matters(found.samples.mean()) else found.notes()[0]
    assert "the order of arrival changes the run time without noise by -" in told
    even = jf.simulate_schedule(*case, 200)
    assert even.order_check.noise_free_difference == 0


TWO_MESSAGES = """num_ranks 3
rank 0 {
recv 1b from 1
b: recv 1b from 2
c: calc 100000
c requires b
}
rank 1 {
a: calc 10000000
b: send 1b to 0
b requires a
}
rank 2 {
a: calc 10001000
b: send 1b to 0
b requires a
}
"""


def test_the_order_is_held_against_what_noise_adds(tmp_path):
    """A late first message holds up the second: 30 us of 10 ms, but most of what noise does."""
    schedule = schedule_of(TWO_MESSAGES, tmp_path)
    noise = jf.StepNoise("30us", at="send", probability=0.2)
    found = jf.simulate_schedule(schedule, "L=1us,o=200ns", noise, 200)
    check, mean = found.order_check, found.samples.mean()
    assert check.mean_difference < -0.3 * check.mean_added
    assert abs(check.mean_difference) < 0.001 * mean
    assert check.matters(mean)
    [told] = [note for note in found.notes() if "matters here" in note]
    assert f"noise adds {check.mean_added * 1e6:.4g} µs to the first 25 realizations" in told
    explained = jf.explain_schedule(schedule, "L=1us,o=200ns", noise, 200)
    assert explained.order_check == check
    assert "what is explained is the order without noise" in explained.notes()[0]


@pytest.mark.parametrize(
    ("noise", "order", "matters"),
    [
        (jf.RenewalNoise("5ms", "50us"), "noise-free", True),
        (jf.RenewalNoise("5ms", "50us"), "arrival", False),
        (jf.PeriodicNoise("3ms", "50us", start="stationary"), "noise-free", False),
    ],
)
def test_where_the_order_matters_the_slowdown_says_so(noise, order, matters, tmp_path):
    schedule = schedule_of(TWO_MESSAGES, tmp_path)
    found = jf.simulate_schedule(schedule, "L=1us,o=200ns", noise, 200, order=order)
    rows = [row for row in found.lines() if row.endswith("] (see the note on order)")]
    assert found.order_matters == matters
    assert [row.split("  ")[0] for row in rows] == [
        "slowdown (mean)", "noise amplification"
    ] * matters  # fmt: skip
    pytest.importorskip("matplotlib")
    told = " ".join(text.get_text() for text in found.plot().texts).split()
    assert ("(in the order of arrival it is another one)" in " ".join(told)) == matters


@pytest.mark.parametrize(
    ("difference", "added", "matters"),
    [(0, 0, False), (2e-6, 1e-5, True), (-2e-6, 1e-5, True), (5e-7, 1e-5, False),
     (2e-3, 0.1, True), (1e-9, 0, True)],
)  # fmt: skip
def test_which_differences_matter(difference, added, matters):
    """More than a tenth of what noise adds, or than a hundredth of the mean, which is 0.1 s."""
    none = OrderCheck(4, 4, 2, 0, 0, 0, 0, 0)
    first = none._replace(mean_difference=difference, mean_added=added)
    longest = none._replace(longest_difference=difference, longest_added=added)
    assert [one.matters(0.1) for one in (first, longest)] == [matters, matters]
    assert bool(first.warning(0.1, "do this")) == matters
    # What speeds do without noise is no part of what noise adds; without longest ones these are 0.
    speeds = OrderCheck(4, 4, 4, difference - 1e-4, added, 0, 0, 0, -1e-4)
    assert speeds.matters(0.1) == matters


def test_jitter_of_a_long_message_is_refused_at_once(tmp_path):
    """4 GB are 40 million periods on their way, whose table it made before it looked."""
    text = TWO.format("send 4000000000b to 1", "recv 4000000000b from 0")
    jitter, began = jf.NetworkJitter("1us", "100ns"), time.process_time()
    with pytest.raises(ValueError, match=r"period must be at least 0\.04 s \(1/1000 of the time"):
        jf.simulate_schedule(schedule_of(text, tmp_path), "L=1us,o=0,G=10ns", jitter, 10)
    assert time.process_time() - began < 5


def test_the_note_on_order_has_what_matters_alone():
    """11.81 against 11.78 us is no reason to take another order; the longest or speeds may be."""
    first = OrderCheck(50, 10, 25, -0.03e-6, 11.81e-6, 0, 0, 1e-6)
    assert first.warning(100e-6, "do this") == []
    longest = first._replace(longest_difference=-9e-6, longest_added=40e-6)
    [told] = longest.warning(1e-3, "do this")
    assert "11.81" not in told
    assert "noise adds 40 µs to the longest (25) of those checked" in told
    assert "31 µs in the order of arrival" in told
    assert (longest.matters(1e-3), longest.changes_mean(1e-3)) == (True, False)
    speeds = first._replace(mean_difference=4.97e-6, longest_difference=5e-6,
                            noise_free_difference=5e-6)  # fmt: skip
    [told] = speeds.warning(100e-6, "do this")
    assert "11.81" not in told
    assert "the order of arrival changes the run time without noise by +5 µs" in told
    assert speeds.changes_mean(100e-6)
    assert speeds.warning(1e-3, "do this") == []  # half a per cent of the run time


@pytest.mark.parametrize("factor", [0, 0.5, 1, 2])
def test_an_order_in_which_noise_does_another_share(factor, monkeypatch):
    """All of that is an effect of the order, and nothing of having chosen the longest."""
    noise = np.random.default_rng(1).exponential(10**6, 400).astype(np.int64)

    def times(_, __, ___, number, on_arrival):
        return np.array([[0, int(noise[number] * (factor if on_arrival else 1))]])

    monkeypatch.setattr("jitterfly.schedule.order.core.operation_times", times)
    monkeypatch.setattr("jitterfly.schedule.order.counted_progress", lambda numbers, *_: numbers)
    chosen, first = realizations_to_check(noise, 50)
    compiled = CompiledSchedule(SimpleNamespace(completion=0), None)
    check = compare_orders(None, None, None, compiled, 1, chosen, first, noise)
    assert check.longest_difference == pytest.approx((factor - 1) * check.longest_added, rel=1e-6)


def test_memory_is_looked_at_before_the_run(tmp_path, monkeypatch, capsys):
    """What is missing for the order check is a note; for the rest an error, before any work."""
    text = "num_ranks 1\nrank 0 {\n" + "calc 1\n" * 20000 + "}"
    schedule = schedule_of(text, tmp_path)
    noise = jf.StepNoise("1us")
    calls = []

    def run(free, **options):
        monkeypatch.setattr(jf.resources, "available_memory", lambda: free)
        return jf.simulate_schedule(
            schedule, FREE, noise, 20, progress=lambda *now: calls.append(now), **options
        )

    for free, options, what in (
        (700_000, {}, "the order of 20,000 operations"),
        (850_000, {"order": "arrival", "threads": 8}, "the realizations in flight"),
    ):
        with pytest.raises(ValueError, match=f"not enough memory for {what}"):
            run(free, **options)
    assert not calls
    found = run(850_000)
    assert len(found.ticks) == 20
    assert found.order_check is None
    assert "not checked (`order_checks`), which takes 86" in found.notes()[-1]
    assert run(850_000, order="arrival", threads=1).order_check is None
    empty = "".join(f"rank {i} {{\n}}\n" for i in range(1, 3000))
    text_of_many = "num_ranks 3000\nrank 0 {\ncalc 1 cpu 255\n}\n" + empty
    many = schedule_of(text_of_many, tmp_path, "many.goal")
    with pytest.raises(ValueError, match="not enough memory for the order of 1 operations"):
        jf.simulate_schedule(many, FREE, noise, 20)
    words = ["run", "-q", str(tmp_path / "app.goal"), "--noise", "kind=step,delay=1us"]
    assert main([*words, "--realizations", "9"]) == 0
    assert "was not checked (--order-checks), which takes" in capsys.readouterr().out


def test_order_checks_of_the_command(tmp_path, capsys):
    (tmp_path / "app.goal").write_text(APP)
    words = ["run", "-q", str(tmp_path / "app.goal"), "--noise", "period=1ms,duration=25us",
             "--realizations", "9", "--json", "--order-checks"]  # fmt: skip
    for count in (0, 7):
        assert main([*words, str(count)]) == 0
        check = json.loads(capsys.readouterr().out)["order_check"]
        assert (check or {"realizations": 0})["realizations"] == count
    assert main([*words, "3", "--order", "arrival"]) == 2
    assert "--order-checks is for --order noise-free" in capsys.readouterr().err


LONELY = TWO.format("calc 1000", "calc 1000")
MESSAGE = TWO.format("send 8b to 1", "recv 8b from 0")


@pytest.mark.parametrize(
    ("text", "noise", "why"),
    [
        (LONELY, jf.MessageNoise("1us"), "(message) can hit nothing, .*: no messages are"),
        (LONELY, jf.NetworkJitter("1us", "1us"), "(jitter) can hit nothing, .* no time"),
        (LONELY, jf.PeriodicNoise("3us", "1us", during="communication"),
         "(periodic) can hit nothing, .*: the CPU does no work in the communication phase"),
        (LONELY, jf.PeriodicNoise("3us", "1us"), None),
        (LONELY, jf.StepNoise("1us"), None),
        (MESSAGE, jf.PeriodicNoise("3us", "1us"), "(periodic) can hit nothing, .* does no work"),
        (MESSAGE, jf.StepNoise("1us", during="compute"), "(step) can hit nothing"),
        (MESSAGE.replace("send", "calc 0\nsend"), jf.StepNoise("1us", during="compute"),
         "(step) can hit nothing"),
        (MESSAGE, jf.MessageNoise("1us"), None),
        (MESSAGE, jf.NetworkJitter("1us", "1us"), None),
        (MESSAGE, jf.LateArrival("1us"), None),
    ],
)  # fmt: skip
def test_noise_without_effect_is_told(text, noise, why, tmp_path):
    """And only where it is without effect."""
    schedule = schedule_of(text, tmp_path)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found = jf.simulate_schedule(schedule, FREE, noise, 50)
    told = [str(one.message) for one in seen if one.category is jf.IneffectiveNoiseWarning]
    assert len(told) == (why is not None)
    assert (found.ticks == found.noise_free * 1e12).all() == (why is not None)
    if why is not None:
        assert re.match("noise.0 " + why.replace("(", "\\(").replace(")", "\\)"), told[0])
        assert "give" not in told[0]  # what a case would have in place of a schedule


@pytest.mark.parametrize("order", ["noise-free", "arrival"])
@pytest.mark.parametrize(("during", "expected"), [
    ("all", (10.001, 0, 11.2)), ("compute", (10.001, 0, 1.2)), ("communication", (0.001, 0, 11.2)),
])  # fmt: skip
def test_steps_are_calculations_and_messages(order, during, expected, tmp_path):
    """As docs/noise.md says: `calc 0` is no step; a case's compute phase is one as well."""
    texts = ["num_ranks 1\nrank 0 {\ncalc 1\n}\n", "num_ranks 1\nrank 0 {\ncalc 0\n}\n", MESSAGE]
    for text, us in zip(texts, expected, strict=True):
        for at in ("receive", "send"):
            noise = jf.StepNoise("10us", during=during, at=at)
            schedule = schedule_of(text, tmp_path)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", jf.IneffectiveNoiseWarning)
                found = jf.simulate_schedule(schedule, "L=1us,o=100ns", noise, 2, order=order)
            assert found.ticks.tolist() == 2 * [round(us * 10**6)]
    if during == "all":
        noise = [jf.StepNoise("10us")]
        for compute, us in (("1us", 10 + 1 + 11.2), (0, 11.2)):
            case = jf.Case(2, network="L=1us,o=100ns", algorithm=jf.BinomialBroadcast(),
                           message_bytes=1, compute_time=compute, noise=noise)  # fmt: skip
            assert jf.simulate(case, 1).ticks[0, -1] == round(us * 10**6)


def test_tables_are_written_as_well(tmp_path):
    """Where a path is given, as pictures are."""
    found = jf.simulate_schedule(
        schedule_of(MESSAGE, tmp_path), "L=1us,o=100ns", NOISE, 5, marks=write_marks(tmp_path)
    )
    explained = jf.explain_schedule(found.schedule, "L=1us,o=100ns", NOISE, 5)
    for method in (found.to_csv, found.marks_to_csv, explained.to_csv, explained.ranks_to_csv,
                   explained.operations_to_csv, explained.critical_path().to_csv):  # fmt: skip
        text = method(tmp_path / "a.csv")
        assert text == method() == (tmp_path / "a.csv").read_text()
        assert text.count("\n") > 1


def write_marks(folder):
    (folder / "marks.txt").write_text("all 1 #0\n")
    return folder / "marks.txt"


def test_a_late_rank_is_late_once(tmp_path):
    schedule = schedule_of(APP, tmp_path)
    late = [
        jf.simulate_schedule(schedule, FREE, jf.LateArrival(jf.Exponential("1us"), each=each), 9)
        for each in ("cycle", "realization")
    ]
    np.testing.assert_array_equal(late[0].ticks, late[1].ticks)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TWO.format("send 8b to 1", ""), "line 3: rank 0 sends to 1, tag 0, and no receive takes"),
        (TWO.format("", "recv 8b from 0 tag 4"), "line 6: rank 1 receives from 0, tag 4, and no m"),
        (TWO.format("send 8b to 1 tag 1", "recv 8b from 0 tag 2"), "line 6: rank 1 receives from"),
        (TWO.format("a: calc 1\nb: calc 1\na requires b\nb requires a", ""), "line 3: rank 0 calc"),
        (TWO.format("a: recv 8b from 1\nb: send 8b to 1\nb requires a",
                    "a: recv 8b from 0\nb: send 8b to 0\nb requires a"),
         "line 3: rank 0 receives from 1, tag 0, and no message is sent for it"),
    ],
)  # fmt: skip
def test_what_can_not_be_executed(text, message, tmp_path):
    with pytest.raises(ValueError, match=re.escape(f"app.goal, {message}")):
        ns(text, FREE, tmp_path)


def test_what_is_refused(tmp_path):
    schedule = schedule_of(APP, tmp_path)
    for options, message in (
        ({"network": jf.Hockney("1us", 0)}, "network must be LogGOPS"),
        ({"network": "L=1us,o=0,gamma=1ns"}, "network: gamma must be left out for a schedule"),
        ({"realizations": 0}, "realizations must be an integer from 1"),
        ({"order": "any"}, "order must be"),
        ({"order_checks": -1}, "order_checks must be an integer from 0"),
        ({"threads": 0}, "threads must be an integer from 1"),
        ({"noise": [jf.Congestion(jf.congestion.FatTree.of(144))]}, "no Congestion"),
        (
            {"noise": "period=1ms,duration=1us,shared=node"},
            r"noise\[0\]: shared = 'node' is a level of a Hierarchy; .* or the ranks per node",
        ),
        (
            {"noise": [jf.StepNoise("1us"), jf.StepNoise("1us", shared="level 2")]},
            r"noise\[1\]: shared = 'level 2' is a level of a Hierarchy",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            jf.simulate_schedule(schedule, **{"network": FREE} | options)
    long = schedule_of(f"num_ranks 1\nrank 0 {{\ncalc {2**52}\ncalc {2**52}\n}}", tmp_path)
    with pytest.raises(ValueError, match="takes more than 2\\^62 ps"):
        jf.simulate_schedule(long, FREE)


# --- The command.


def test_command(tmp_path, capsys):
    path, noise, picture = tmp_path / "app.goal", "period=1ms,duration=25us", tmp_path / "a.svg"
    path.write_text(APP)
    assert main(["run", str(path), "--noise", noise, "--realizations", "50"]) == 0
    told = capsys.readouterr()
    assert told.out.startswith("app.goal: 8 ranks, 280 operations, 120 messages, under noise: per")
    assert "network: loggops, L = 1 µs, o = 200 ns, G = 100 ps (none was given" in told.err
    words = ["run", str(path), "--noise", noise, "--realizations", "50", "--seed", "3", "--json"]
    assert main([*words, "--network", "L=1us,o=200ns,S=4"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = jf.simulate_schedule(path, "L=1us,o=200ns,S=4", noise, 50, seed=3)
    assert found["samples"] == expected.samples.tolist()
    assert found["slowdown"]["value"] == expected.slowdown().value
    assert found["schedule"]["messages"] == 120
    assert (found["order"], found["order_check"]) == ("noise-free", expected.order_check._asdict())
    pytest.importorskip("matplotlib")
    assert main([*words, "--picture", str(picture)]) == 0
    assert json.loads(capsys.readouterr().out)["written"] == [str(picture)]
    assert picture.stat().st_size > 5000


@pytest.mark.parametrize("command", ["run", "explain"])
def test_command_on_a_machine_of_nodes(command, tmp_path, capsys):
    path, network = tmp_path / "app.goal", "4: L=300ns,o=100ns; L=1us,o=200ns"
    path.write_text(APP)
    words = [command, "-q", str(path), "--network", network, "--noise",
             "period=1ms,duration=25us,shared=node", "--realizations", "20", "--seed", "3",
             "--speed", "kind=slow_ranks,factor=1.5,ranks=2 5"]  # fmt: skip
    assert main(words) == 0
    told = capsys.readouterr().out
    assert "speed of the ranks: slow_ranks, factor = 1.5, ranks = [2, 5]" in told
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["speed"] == {"kind": "slow_ranks", "factor": 1.5, "ranks": [2, 5]}
    noise = jf.PeriodicNoise("1ms", "25us", shared="node")
    expected = jf.simulate_schedule(path, network, noise, 20, seed=3,
                                    speed=jf.imbalance.SlowRanks(1.5, [2, 5]))  # fmt: skip
    quiet = found["noise_free" if command == "run" else "on_time"]
    assert quiet == pytest.approx(expected.noise_free)
    if command == "run":
        assert found["samples"] == expected.samples.tolist()


def test_a_schedule_is_known_by_its_content(tmp_path, capsys):
    path = tmp_path / "trace"
    path.write_text(f"// made by hand\n/* of a\n case */ {APP}")
    assert main(["run", "-q", str(path), "--realizations", "2"]) == 0
    assert "run time without noise" in capsys.readouterr().out
    jf.Schedule.read(path).write(tmp_path / "kept")
    assert main(["run", "-q", str(tmp_path / "kept"), "--realizations", "2"]) == 0
    assert "280 operations" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "mean of gain +- 1 %"], "--target is for a study, and"),
        (["--out", "x"], "--out is for a study"),
        (["--dry-run"], "--dry-run is for a study"),
        (["--on-error", "finish"], "--on-error is for a study"),
        (["--backend", "cuda", "--order", "arrival"],
         "--order must be 'noise-free' with backend 'cuda'"),
        (["--network", "kind=hockney,alpha=1us,beta=0"], "network must be LogGOPS"),
        (["--noise", "nothing.noise"], "nothing.noise can not be read"),
        (["--realizations", "0"], "--realizations must be an integer from 1"),
        (["--speed", "kind=slow_ranks,factor=2,ranks=8"], "speed: ranks must be from 0 to 7"),
        (["--speed", "kind=fast_ranks,factor=2"], "--speed"),
    ],
)  # fmt: skip
def test_options_that_do_not_fit(options, message, tmp_path, capsys):
    path = tmp_path / "app.goal"
    path.write_text(APP)
    assert main(["run", str(path), *options]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert message in error


@pytest.mark.skipif(bool(_core.devices()), reason="there is a CUDA device")
def test_without_a_gpu_the_cpu_answers_and_cuda_is_an_error(tmp_path, capsys):
    path = tmp_path / "app.goal"
    path.write_text(APP)
    noise, network = jf.PeriodicNoise("1ms", "25us"), "L=1us,o=200ns"
    kept = [jf.simulate_schedule(path, network, noise, 20, backend=backend).ticks
            for backend in ("auto", "cpu")]  # fmt: skip
    np.testing.assert_array_equal(*kept)
    with pytest.raises(jf.BackendError, match="backend 'cuda' can not be used here"):
        jf.simulate_schedule(path, network, noise, 20, backend="gpu")
    assert main(["run", "-q", str(path), "--backend", "cuda"]) == 2
    assert "--backend 'cuda' can not be used here" in capsys.readouterr().err
    compiled = compile_schedule(jf.Schedule.read(path), jf.LogGOPS(L="1us", o=0), [])
    for asked in (
        lambda: _core.simulate_schedule(*compiled, 0, 0, 1, backend="cuda"),
        lambda: _core.schedule_memory(*compiled, 1, backend="cuda"),
    ):
        with pytest.raises(RuntimeError, match=re.escape(_core.cuda_status())):
            asked()
    with pytest.raises(ValueError, match="order of arrival is found on the CPU"):
        _core.simulate_schedule(*compiled, 0, 0, 1, arrival_order=True, backend="cuda")


def test_options_of_a_schedule_for_a_study(capsys):
    assert main(["run", "ms12_alpha", "--noise", "period=1ms,duration=1us"]) == 2
    assert "--noise is for a schedule (APP.goal)" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["num_ranks 1\nrank 0 {\n}\n", "num_ranks 1\nrank 0 {\ncalc 0\n}\n"]
)
def test_a_schedule_that_takes_no_time(text, tmp_path, capsys):
    """There is nothing to which its run time could be compared."""
    path, picture = tmp_path / "app.goal", tmp_path / "a.svg"
    path.write_text(text)
    words = ["run", "-q", str(path), "--noise", "period=1ms,duration=25us", "--realizations", "9"]
    assert main(words) == 0
    rows = capsys.readouterr().out.splitlines()
    assert [row for row in rows if row.startswith("slowdown")] == [
        "slowdown (mean)         ? [?, ?]"
    ]
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["noise_free"] == 0
    assert found["samples"] == [0] * 9
    assert found["slowdown"]["value"] is None
    pytest.importorskip("matplotlib")
    assert main([*words, "--picture", str(picture)]) == 0
    assert picture.stat().st_size > 5000


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"SLURM_STEP_NUM_TASKS": "4"}, "the launcher started 4 processes, and each of them would"),
        ({"OMPI_COMM_WORLD_SIZE": "3"}, "`env -u OMPI_COMM_WORLD_SIZE jitterfly run ...`"),
        ({"SLURM_ARRAY_TASK_ID": "2", "SLURM_ARRAY_TASK_COUNT": "8"}, "one of 8 tasks of a Slurm"),
    ],
)
def test_copies_of_a_launcher_are_refused(environment, message, tmp_path, capsys, monkeypatch):
    """Each of them would simulate all of it, and print it."""
    path = tmp_path / "app.goal"
    path.write_text(APP)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    words = ["run", str(path), "--realizations", "2"]
    assert main(words) == 2
    assert message in capsys.readouterr().err.splitlines()[-1]
    for name in environment:
        monkeypatch.setenv(name, "1")
    assert main(words) == 0
