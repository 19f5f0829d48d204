"""CUDA backend on a real GPU: bit for bit as on the CPU; memory, batches, missing device.

Without one: an error that says why.
"""

import dataclasses
import random

import numpy as np
import pytest
from reference import PeriodicNoise, noise_cases
from reference.messages import SHIFT, XOR, MessageCase, Steps
from support.emulated_schedules import random_schedule_runs
from support.kernel_cases import ALL_NOISES, NOISES, PROGRAMS, delays_messages, make
from support.lean_cases import LIMIT32, at_the_edge, kernel, random_lean_case
from support.message_cases import (
    MESSAGE_PROGRAMS,
    as_lists,
    make_messages,
    message_case,
    noisy_case,
    with_uneven_ranks,
)

import jitterfly as jf
from jitterfly import _core
from jitterfly.goal_export import goal_schedule

no_device = pytest.mark.skipif(bool(_core.devices()), reason="there is a CUDA device")


def simulate(case, backend, count, statistics="all", first=None, progress=None):
    first = case.realization if first is None else first
    program = case.program(_core)
    return _core.simulate(program, case.seed, first, count, statistics, backend, 0, progress)


def check(case, count):
    expected = simulate(case, "cpu", count)
    np.testing.assert_array_equal(simulate(case, "cuda", count), expected)
    np.testing.assert_array_equal(simulate(case, "cuda", count, "max"), expected[:, :, 0])


def slow(program, noise):
    """Copies at every level, and messages that overtake each other.

    Then one segment goes over nearly the whole machine.
    """
    return delays_messages(noise) and PROGRAMS[program].get("within", ()) == range(1, 30)


@pytest.mark.gpu
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("log2_ranks", [*range(15), 16])
def test_every_program_and_noise(program, log2_ranks):
    """Blocks that hold many machines, a block for each, and tiles; odd numbers of them."""
    count = 301 if log2_ranks < 7 else 13 if log2_ranks < 12 else 3 if log2_ranks < 14 else 1
    for noise in ALL_NOISES:
        if not (slow(program, noise) and log2_ranks > 14):
            check(make(program, noise, log2_ranks), count)


@pytest.mark.gpu
@pytest.mark.parametrize("program", MESSAGE_PROGRAMS)
@pytest.mark.parametrize("ranks", [1, 2, 3, 6, 17, 32, 100, 513, 4096, 5000, 20_000])
def test_messages(program, ranks):
    """In shared memory and in global memory, alone and between tiles."""
    count = 301 if ranks < 200 else 13 if ranks < 5000 else 2
    for noise in ALL_NOISES:
        check(make_messages(program, noise, ranks), count)


@pytest.mark.gpu
@pytest.mark.parametrize("family", [message_case, noisy_case], ids=["periodic", "every noise"])
def test_steps_that_list_their_messages(family):
    for number in range(60):
        listed = as_lists(family(number), random.Random(number), own_costs=True)
        check(listed, 1 + number % 4 * 13)


@pytest.mark.gpu
@pytest.mark.parametrize("family", [message_case, noisy_case], ids=["periodic", "every noise"])
def test_ranks_that_are_not_alike(family):
    for number in range(60):
        check(with_uneven_ranks(family(number), number), 1 + number % 4 * 13)


@pytest.mark.gpu
@pytest.mark.parametrize("family", [message_case, noisy_case], ids=["periodic", "every noise"])
def test_random_messages(family):
    for number in range(200):
        check(family(number), 1 + number % 4 * 13)


@pytest.mark.gpu
@pytest.mark.parametrize(
    "algorithm",
    [
        jf.Butterfly(copy_levels="all", exchanges_after=2),
        jf.Butterfly(copy_levels="all", mirrors=[1, 2]),
        jf.Butterfly(exchanges_after="all"),
        jf.RabenseifnerAllreduce(),
        jf.ReduceBroadcastAllreduce(),
    ],
    ids=repr,
)
@pytest.mark.parametrize("ranks", [16, 200, 1024])
def test_congestion(algorithm, ranks):
    """Tables of loads that the host makes, for several batches; messages of several costs."""
    if isinstance(algorithm, jf.Butterfly) and algorithm.copy_levels:
        ranks = 1 << ranks.bit_length() - 1
    tree = jf.congestion.FatTree((12, 12, 8), (1, 12, 12), routing="random")
    noise = [jf.PeriodicNoise("1ms", "25us"), jf.Congestion(tree, ratio=0.1)]
    case = jf.Case(ranks, algorithm=algorithm, network=jf.LogGOPS(L="1us", o="50ns", G="1ns"),
                   message_bytes=5000, cycles=2, compute_time="10us", noise=noise)  # fmt: skip
    count = 700 if ranks < 1024 else 60
    results = [jf.simulate(case, count, seed=3, backend=backend) for backend in ("cpu", "cuda")]
    np.testing.assert_array_equal(results[1].ticks, results[0].ticks)


@pytest.mark.gpu
def test_messages_in_several_launches():
    """A pass that is cut: cuda/gpu/message_pass.h, kMessageLaunch; progress is heard in between."""
    steps = Steps(70_000)
    steps.message((SHIFT, 1, 0, 0), 0, repeat=20_000)
    steps.message((SHIFT, 3, 0, 0), 0, row=True, repeat=20_000)
    steps.message((XOR, 1, 2**16, 0), 0, row=True, repeat=3)
    case = MessageCase(70_000, tuple(steps.made), ((900, 900, 10**6, 3000),),
                       sources=(PeriodicNoise(10**8, 10**6),), seed=4)  # fmt: skip
    told = []
    found = simulate(case, "cuda", 1, progress=told.append)
    assert len(told) > 2
    np.testing.assert_array_equal(found, simulate(case, "cpu", 1))


@pytest.mark.gpu
@pytest.mark.parametrize(("noise", "cursors"), [("fresh", 0), ("trace", 1)])
def test_memory_of_messages(noise, cursors):
    for name in MESSAGE_PROGRAMS:
        program = make_messages(name, noise, 200_000).program(_core)
        most = (64 + 32 * cursors) * 200_000 + 2**17
        assert 0 < _core.memory(program, "cuda", 0, 1) <= most


LARGE = [(program, "fresh") for program in PROGRAMS]
LARGE += [("butterfly", noise) for noise in NOISES if noise != "fresh"]
LARGE += [("after", "fresh, jitter"), ("sparse set", "fresh, jitter"), ("forward cost", "nodes"),
          ("full set", "phases"), ("both", "stationary"), ("cycles", "compute"),
          ("after", "messages"), ("sparse set", "trace, nodes"), ("forward cost", "renewal"),
          ("full set", "receive"), ("both", "renewal, stationary"), ("cycles", "two periodic"),
          ("everything", "everything")]  # fmt: skip


@pytest.mark.gpu
@pytest.mark.parametrize("log2_ranks", [15, 17, 18, 19, 20])
@pytest.mark.parametrize(("program", "noise"), LARGE)
def test_large_machines(program, noise, log2_ranks):
    check(make(program, noise, log2_ranks), 1)


@pytest.mark.gpu
@pytest.mark.parametrize("family", ["any", "tie", "copy", "zero_transit", "dense", "delay"])
def test_random_lists_of_noise(family):
    draw = getattr(noise_cases, f"{family}_case")
    for number in range(60):
        case = draw(random.Random(f"gpu {family} {number}"))
        case = dataclasses.replace(case, realization=min(case.realization, 2**32 - 40))
        check(case, 1 + number % 4 * 13)


@pytest.mark.gpu
@pytest.mark.parametrize("largest", [9, 12, 16])
def test_the_lean_kernels(largest):
    """Times of 32 bits and of 64, and what they do not take."""
    used = set()
    for number in range(100):
        case = random_lean_case(random.Random(f"gpu lean {largest} {number}"), largest)
        used.add(kernel(case))
        check(case, 1 + number % 7 * (2 if case.log2_ranks > 12 else 40))
    assert used == {0, 1, 2}


@pytest.mark.gpu
@pytest.mark.parametrize("noise", ["fresh", "stationary", "nodes", "phases", "none"])
@pytest.mark.parametrize("log2_ranks", [12, 13, 14, 16, 23, 24])
@pytest.mark.parametrize("scale", [1, 10**4])
def test_large_machines_of_the_lean_kernels(log2_ranks, noise, scale):
    if noise == "phases" and log2_ranks > 16:
        return  # takes long to hand over
    case = make("butterfly", noise, log2_ranks)
    costs = dataclasses.asdict(case.costs)
    costs = dataclasses.replace(case.costs, **{name: scale * t for name, t in costs.items()})
    others = [
        dataclasses.replace(source, period=scale * source.period, duration=scale * source.duration,
                            phases=source.phases and tuple(scale * t for t in source.phases))
        for source in case.others
    ]  # fmt: skip
    case = dataclasses.replace(case, costs=costs, periodic=others[0] if others else None, others=())
    assert kernel(case) == (2 if scale == 1 else 1)
    check(case, 1 if log2_ranks > 20 else 5)


@pytest.mark.gpu
def test_the_last_times_of_32_bits():
    rng = random.Random("gpu edge")
    for number in range(40):
        case, missing = at_the_edge(rng, LIMIT32, number % 2)
        noise = dataclasses.replace(case.periodic, in_compute=False)
        costs = dataclasses.replace(case.costs, work=missing)
        case = dataclasses.replace(case, periodic=noise, costs=costs)
        assert kernel(case) == 2 - number % 2
        check(case, 100)


@pytest.mark.gpu
def test_a_segment_of_nearly_the_whole_machine():
    check(make("full set", "fresh, jitter", 16), 2)
    check(make("full set", "messages", 15), 2)
    for noise in ("fresh", "trace"):
        check(make("sparse set", noise, 18, within=(17,)), 1)


@pytest.mark.gpu
@pytest.mark.parametrize("noise", ["fresh", "everything"])
@pytest.mark.parametrize(("log2_ranks", "count"), [(0, 300_000), (2, 1_000_001), (8, 100_003)])
def test_many_realizations(log2_ranks, count, noise):
    case = make("butterfly", noise, log2_ranks, realization=2**32 - count)
    found = simulate(case, "cuda", count, "max")
    np.testing.assert_array_equal(found, simulate(case, "cpu", count, "max"))


@pytest.mark.gpu
@pytest.mark.parametrize("log2_ranks", [0, 4, 9, 13])
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("noise", ["fresh, jitter", "everything"])
def test_calls_can_be_split(program, log2_ranks, noise):
    case = make(program, noise, log2_ranks)
    whole = simulate(case, "cuda", 12)
    for cut in (1, 5):
        parts = [simulate(case, "cuda", cut), simulate(case, "cuda", 12 - cut, first=cut)]
        np.testing.assert_array_equal(np.concatenate(parts), whole)


@pytest.mark.gpu
def test_batches_and_progress():
    """More work than one batch: progress is told, and Ctrl-C heard, after each."""
    case = make("butterfly", "fresh", 14)
    count = 80_000  # cuda/gpu/batch_memory.h: 2^34 rank-steps are a batch
    done = []
    whole = simulate(case, "cuda", count, "max", progress=done.append)
    assert len(done) > 1
    assert done == sorted(done)
    assert done[-1] == count
    cut = count // 3
    parts = [(0, cut), (cut, count - cut)]
    parts = [simulate(case, "cuda", n, "max", first=first) for first, n in parts]
    np.testing.assert_array_equal(np.concatenate(parts), whole)

    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(case, "cuda", count, "max", progress=stop)
    np.testing.assert_array_equal(simulate(case, "cuda", 5, "max"), whole[:5])


@pytest.mark.gpu
def test_batches_under_general_noise():
    """Cursors that an earlier batch left behind are of no use to the next, and do no harm."""
    for name, log2_ranks, count in (("butterfly", 14, 10_000), ("full set", 6, 1_000_000)):
        case = make(name, "two periodic", log2_ranks)
        done = []
        found = simulate(case, "cuda", count, "max", progress=done.append)
        assert len(done) > 1
        np.testing.assert_array_equal(found, simulate(case, "cpu", count, "max"))


@pytest.mark.gpu
@pytest.mark.parametrize(("noise", "cursors"), [("fresh", 0), ("trace", 1), ("two periodic", 2)])
def test_memory_in_flight(noise, cursors):
    for name in ("butterfly", "full set", "sparse set", "forward cost"):
        program = make(name, noise, 18).program(_core)
        assert 0 < _core.memory(program, "cuda", 0, 1) <= (24 + 32 * cursors) * 2**18 + 2**17
    device = _core.devices()[0]["memory"]
    small = make("butterfly", noise, 3).program(_core)
    assert _core.memory(small, "cuda", 0, 2**32 - 1) < device


EXPONENTIAL, PARETO = jf.Exponential("20us"), jf.Pareto("5us", 2.5)
HISTOGRAM = jf.Empirical(low=[0, "1us", "5us"], high=["1us", "2us", "90us"], count=[90, 8, 2])
SAMPLES = jf.Empirical(samples=["1us", "1us", "3us", "50us"])
PUBLIC_NOISES = {
    "none": [],
    "fresh": [jf.PeriodicNoise(1e-3, 1e-4)],
    "stationary": [jf.PeriodicNoise(1e-3, 1e-4, start="stationary")],
    "machine": [jf.PeriodicNoise(1e-3, 1e-4, shared="machine")],
    "nodes": [jf.PeriodicNoise(1e-3, 1e-4, shared=16)],
    "phases": [jf.PeriodicNoise(1e-3, 1e-4, phases=np.linspace(0, 9.9e-4, 256))],
    "compute": [jf.PeriodicNoise(1e-3, 1e-4, during="compute")],
    "communication": [jf.PeriodicNoise(1e-3, 1e-4, during="communication")],
    "jitter": [jf.NetworkJitter(1e-4, 1e-5)],
    "jitter, communication": [jf.NetworkJitter(1e-4, 1e-5, during="communication")],
    "both": [jf.PeriodicNoise(1e-3, 1e-4), jf.NetworkJitter(1e-4, 1e-5)],
    "window": [jf.PeriodicNoise(1e-4, 1e-5, begin="10us", end="40us")],
    "renewal": [jf.RenewalNoise("100us", PARETO), jf.RenewalNoise(SAMPLES, "100ns", shared=4)],
    "equilibrium": [
        jf.RenewalNoise(jf.Gamma(shape=2, scale="50us"), EXPONENTIAL, start="stationary")
    ],
    "trace": [
        jf.TraceNoise(starts=[1e-5, 6e-5], durations=[1e-6, 2e-5], length="100us"),
        jf.TraceNoise(starts=[0], durations=[1e-6], length="1ms", offset=1e-5),
    ],
    "Bernoulli": [jf.StepNoise(jf.Bernoulli(0.01, "14us"))],
    "steps": [
        jf.StepNoise(d, probability=0.1, at=at)
        for d in (EXPONENTIAL, PARETO, HISTOGRAM)
        for at in ("receive", "send")
    ],
    "a step of each phase": [
        jf.StepNoise(jf.Lognormal("1us", 1), during="compute"),
        jf.StepNoise(SAMPLES, during="communication", shared=8),
    ],
    "messages": [jf.MessageNoise(EXPONENTIAL, probability=0.05), jf.MessageNoise(SAMPLES)],
    "messages of a window": [jf.MessageNoise(HISTOGRAM, shared="machine", begin="12us")],
    "a list": [
        jf.PeriodicNoise(1e-3, 1e-4),
        jf.RenewalNoise("1ms", HISTOGRAM),
        jf.StepNoise(PARETO, probability=0.01),
        jf.NetworkJitter(1e-4, 1e-5),
        jf.MessageNoise(jf.Bernoulli(0.01, "3us")),
    ],
}
ALGORITHMS = {
    "butterfly": jf.Butterfly(),
    "after": jf.Butterfly(exchanges_after=8),
    "forward cost": jf.Butterfly(exchanges_after=3, forward_cost=1e-7),
    "all": jf.Butterfly(copy_levels="all"),
    "some": jf.Butterfly(copy_levels=[2, 5], exchanges_after=1),
}


def public(algorithm, noise, **changes):
    network = jf.LogGOPS(L=1e-6, o=1e-7, gamma=1e-9)
    options = {"ranks": 256, "network": network, "cycles": 2, "compute_time": 1e-5, **changes}
    return jf.Case(algorithm=ALGORITHMS[algorithm], noise=PUBLIC_NOISES[noise], **options)


@pytest.mark.gpu
@pytest.mark.parametrize("observe", ["completion", "rounds", "rank 0"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("noise", PUBLIC_NOISES)
def test_public_interface(algorithm, noise, observe):
    case = public(algorithm, noise, observe=observe)
    results = {b: jf.simulate(case, 50, seed=3, backend=b) for b in ("cuda", "cpu", "auto")}
    assert [result.backend for result in results.values()] == ["cuda", "cpu", "cuda"]
    for result in results.values():
        np.testing.assert_array_equal(result.ticks, results["cpu"].ticks)
        np.testing.assert_array_equal(result.samples, results["cpu"].samples)
    halves = [jf.simulate(case, n, seed=3, backend="cuda", first_realization=first).ticks
              for first, n in [(0, 20), (20, 30)]]  # fmt: skip
    np.testing.assert_array_equal(np.concatenate(halves), results["cuda"].ticks)


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore::jitterfly.LongTimeWarning")
@pytest.mark.parametrize("count", [1, 13, 1000])
def test_schedules(count, tmp_path):
    """Of every kind, under every noise, with marks."""
    for run in random_schedule_runs(tmp_path, 100, count):
        compiled = run.case.compiled(run.marks)
        run.come_late(_core, compiled.program)
        first = min(run.case.realization, 2**32 - count)
        found = [_core.simulate_schedule(*compiled, run.case.seed, first, count, backend=backend)
                 for backend in ("cpu", "cuda")]  # fmt: skip
        np.testing.assert_array_equal(*found)


@pytest.mark.gpu
def test_a_long_schedule(tmp_path):
    """Several launches; from the package."""
    case = jf.Case(64, algorithm=jf.RecursiveDoublingAllreduce(), network="L=1us,o=200ns,g=500ns",
                   message_bytes=8, compute_time="100us", cycles=100)  # fmt: skip
    path = tmp_path / "app.goal"
    path.write_text(goal_schedule(case).text)
    noise = [jf.PeriodicNoise("1ms", "25us"), jf.NetworkJitter("1ms", "10us")]
    told = []
    found = [
        jf.simulate_schedule(
            path, "L=1us,o=200ns,g=500ns", noise, 5000, seed=3, backend=backend, order_checks=0,
            progress=lambda done, _: told.append(done),
        )
        for backend in ("cpu", "cuda")
    ]  # fmt: skip
    np.testing.assert_array_equal(found[1].ticks, found[0].ticks)
    np.testing.assert_array_equal(found[1].last_rank, found[0].last_rank)
    assert told[-1] == 5000


@pytest.mark.gpu
def test_device_is_described():
    assert _core.cuda_status() == ""
    for number, device in enumerate(_core.devices()):
        assert device["index"] == number
        assert device["name"]
        assert device["multiprocessors"] > 0
        assert device["memory"] > 0
        assert device["shared_memory_per_block"] >= 32 * 1024  # what the tile kernel takes


@no_device
def test_cuda_without_a_device_says_why():
    why = _core.cuda_status()
    assert why.startswith(("no usable GPU: ", "no CUDA in this build: "))
    case = public("butterfly", "fresh")
    with pytest.raises(ValueError, match="backend 'cuda' can not be used here") as error:
        jf.simulate(case, 1, backend="cuda")
    assert isinstance(error.value, RuntimeError)
    assert why in str(error.value)
    engine_case = make("butterfly", "fresh", 3)
    with pytest.raises(RuntimeError) as error:
        simulate(engine_case, "cuda", 1)
    assert why in str(error.value)
    with pytest.raises(RuntimeError) as error:
        _core.memory(engine_case.program(_core), "cuda")
    assert why in str(error.value)


@no_device
def test_auto_falls_back_to_the_cpu():
    case = public("butterfly", "fresh")
    found = jf.simulate(case, 20, seed=4)
    assert found.backend == "cpu"
    np.testing.assert_array_equal(found.ticks, jf.simulate(case, 20, seed=4, backend="cpu").ticks)


@no_device
def test_threads_are_not_for_cuda():
    case = dataclasses.replace(public("butterfly", "fresh"), cycles=1)
    with pytest.raises(ValueError, match="threads"):
        jf.simulate(case, 1, backend="cuda", threads=2)
