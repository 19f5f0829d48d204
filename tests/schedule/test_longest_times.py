"""Overflow of schedules: times beyond 2^62 ps (53 days) are refused."""

import random
import warnings

import numpy as np
import pytest
from reference import delays
from reference.noise import MessageDelay, PeriodicNoise, RenewalNoise, StepDelay
from reference.schedules import ArrivalOrder, Costs, InOrder, as_text, random_schedule
from support.grouped import parametrize_in_groups
from support.instruction_sets import check_instruction_sets
from support.scale import scaled

import jitterfly as jf
from jitterfly import _core
from jitterfly.schedule.compile import compile_schedule

LATEST = 2**62
TICKS_OF_DAY = 86_400 * 10**12
BEYOND = r"the simulated time exceeded 4\.61e\+06 s \(2\^62 ps\)"


def recording(start, duration, length):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jf.LongTimeWarning)  # it is meant
        return jf.TraceNoise(starts=[start], durations=[duration], length=length)


HEAVY = {
    "periodic, 70 %": [jf.PeriodicNoise("1e5s", "7e4s")],
    "periodic, 90 %": [jf.PeriodicNoise("1e5s", "9e4s", start="stationary")],
    "renewal": [jf.RenewalNoise("2e4s", "8e4s")],
    "trace": [recording(1e4, 8e4, "1e5s")],
    "steps": [jf.StepNoise("9e5s")],
    "steps, of a heavy tail": [jf.StepNoise(jf.Pareto(scale="5e5s", shape=2.5, longest="1e6s"))],
    "two": [
        jf.PeriodicNoise("1e5s", "4e4s"),
        recording(0.0, 5e4, "1.1e5s"),
    ],
    "intervals and steps": [jf.PeriodicNoise("1e5s", "4e4s"), jf.StepNoise("5e5s")],
}


def chain(count, ns):
    """So many calculations, one after the other: as times wrap, they come back below 2^62."""
    lines = [f"l{i}: calc {ns}" for i in range(count)]
    lines += [f"l{i} requires l{i - 1}" for i in range(1, count)]
    return "\n".join(lines)


def written(text, folder):
    path = folder / "long.goal"
    path.write_text(text)
    return jf.Schedule.read(path)


@pytest.mark.parametrize("order", ["noise-free", "arrival"])
@pytest.mark.parametrize("kind", HEAVY)
def test_calculations(kind, order, tmp_path, monkeypatch):
    """20 to 43 days without noise: times that wrap end anywhere, also below those."""
    for count in range(18, 37, 3):
        schedule = written(f"num_ranks 1\nrank 0 {{\n{chain(count, 10**14)}\n}}", tmp_path)

        def run(_, schedule=schedule):
            with pytest.raises(ValueError, match=rf"{BEYOND} in 9 of 9 realizations"):
                jf.simulate_schedule(schedule, "L=1us,o=0", HEAVY[kind], 9, order=order)
            return [np.zeros(1)]

        check_instruction_sets(run, None, monkeypatch)


@pytest.mark.parametrize("order", ["noise-free", "arrival"])
@pytest.mark.parametrize("count", range(6, 26, 3))
def test_messages(count, order, tmp_path):
    """Sent there and back, each of them 10 days late."""
    there, back = "send 1b to {} tag {}", "recv 1b from {} tag {}"
    ranks = []
    for rank in range(2):
        kinds = [there if i % 2 == rank else back for i in range(count)]
        lines = [f"l{i}: {kind.format(1 - rank, i)}" for i, kind in enumerate(kinds)]
        lines += [f"l{i} requires l{i - 1}" for i in range(1, count)]
        ranks.append(f"rank {rank} {{\n" + "\n".join(lines) + "\n}")
    schedule = written("num_ranks 2\n" + "\n".join(ranks), tmp_path)
    noise = jf.MessageNoise("9e5s")
    with pytest.raises(ValueError, match=rf"{BEYOND} in 9 of 9 realizations"):
        jf.simulate_schedule(schedule, "L=1us,o=1us", noise, 9, order=order)


def test_one_operation_alone(tmp_path):
    """What no time could be added to is refused before the run."""
    calc = written(f"num_ranks 1\nrank 0 {{\n{chain(2, 2 * 10**15)}\n}}", tmp_path)
    assert jf.simulate_schedule(calc, "L=1us,o=0", realizations=1).noise_free == 4e6
    two = written("num_ranks 2\nrank 0 {\nsend 9b to 1\n}\nrank 1 {\nrecv 9b from 0\n}", tmp_path)
    many = [jf.LateArrival("1e6s")] * 5
    for schedule, network, noise, what in (
        (calc, "L=1us,o=0", jf.PeriodicNoise("1ms", "0.99ms"), "a calculation"),
        (calc, "L=1us,o=0", [jf.StepNoise("1e6s")] * 3, "a calculation"),
        (calc, "L=1us,o=0", many, "the late start of a rank"),
        (two, "L=1us,o=1us", [jf.StepNoise("1e6s")] * 5, "the overhead of a message"),
        (two, "L=1us,o=1us", [jf.MessageNoise("1e6s")] * 5, "the way of a message"),
        (two, "L=1us,o=1us,O=1e6s", (), "the CPU time of a message's bytes"),
        (two, "L=1us,o=1us,G=1e6s", (), "the overhead of a message"),
    ):
        with pytest.raises(ValueError, match=f"must stay below .*2\\^62 ps.*and {what} alone may"):
            jf.simulate_schedule(schedule, network, noise)


def drawn(rng, most):
    """A time up to `most` days, as it is written and as it is meant."""
    ticks = round(TICKS_OF_DAY * most * rng.choice([0.001, 0.1, rng.random()])) // 10**6 * 10**6
    return f"{ticks // 10**6}us", delays.Constant(ticks=ticks)


def random_noise(rng):
    during = rng.choice(["all", "compute"])
    phases = {"in_compute": True, "in_communication": during == "all"}
    match rng.choice(["periodic", "renewal", "step", "message"]):
        case "periodic":
            period, duration = rng.choice([(10**17, 9 * 10**16), (10**16, 10**15)])
            times = f"{period // 10**6}us", f"{duration // 10**6}us"
            source = jf.PeriodicNoise(*times, during=during)
            return source, PeriodicNoise(period, duration, **phases)
        case "renewal":
            (gap, gap_meant), (busy, busy_meant) = drawn(rng, 1), drawn(rng, 3)
            return (jf.RenewalNoise(jf.Constant(gap), jf.Constant(busy), during=during),
                    RenewalNoise(gap_meant, busy_meant, **phases))  # fmt: skip
        case "step":
            delay, meant = drawn(rng, 4)
            return jf.StepNoise(delay, during=during), StepDelay(meant, **phases)
        case _:
            delay, meant = drawn(rng, 4)
            return jf.MessageNoise(delay), MessageDelay(meant)


@pytest.mark.filterwarnings("ignore::jitterfly.LongTimeWarning")
@parametrize_in_groups("number", range(scaled(300)))
def test_against_the_reference(number, tmp_path):
    """Integers without a limit: below 2^62 the times are the same, beyond it they are refused."""
    rng = random.Random(f"long {number}")
    ranks = random_schedule(rng, rng.choice([1, 2, 5]), rng.randint(1, 40),
                            work=rng.choice([10**12, 4 * 10**14]))  # fmt: skip
    costs = Costs(L=10**6, o=10**6, g=rng.choice([0, 10**9]), G=rng.choice([0, 10**12]))
    network = jf.LogGOPS("1us", "1us", g=costs.g * 1e-12, G=costs.G * 1e-12)
    noise, meant = zip(*(random_noise(rng) for _ in range(rng.choice([1, 1, 2]))), strict=True)
    quiet = ArrivalOrder(ranks, costs)
    try:
        last = quiet.execute()
    except AssertionError:
        return
    schedule = written(as_text(ranks), tmp_path)
    seed, realization = rng.getrandbits(64), rng.getrandbits(31)
    try:
        compiled = compile_schedule(schedule, network, noise)
    except ValueError as error:
        assert "2^62 ps" in str(error)  # noqa: PT017
        return
    assert last < LATEST
    runs = (InOrder(quiet, meant, seed, realization),
            ArrivalOrder(ranks, costs, meant, seed, realization,
                         matched=quiet.matched))  # fmt: skip
    for run, arrival_order in zip(runs, (False, True), strict=True):
        expected = run.execute()
        simulated = _core.simulate_schedule(
            *compiled, seed, realization, 1, arrival_order=arrival_order
        )
        assert simulated[0, 0] == min(expected, LATEST)
        if expected >= LATEST:
            with pytest.raises(ValueError, match=r"the simulated time exceeded 2\^62 ps"):
                _core.operation_times(*compiled, seed, realization, arrival_order)
