"""The CUDA backend on a device: every bit as on the CPU. Without one: an error that says why."""

import dataclasses

import numpy as np
import pytest
from kernel_cases import NOISES, PROGRAMS, make

import jitterfly as jf
from jitterfly import _core

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
    """Copies at every level under jitter: one segment goes over nearly the whole machine."""
    return "jitter" in noise and PROGRAMS[program].get("within", ()) == range(1, 30)


@pytest.mark.gpu
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("log2_ranks", [*range(15), 16])
def test_every_program_and_noise(program, log2_ranks):
    """Blocks that hold many machines, a block for each, and tiles; odd numbers of them."""
    count = 301 if log2_ranks < 7 else 13 if log2_ranks < 12 else 3 if log2_ranks < 14 else 1
    for noise in NOISES:
        if not (slow(program, noise) and log2_ranks > 14):
            check(make(program, noise, log2_ranks), count)


LARGE = [(program, "fresh") for program in PROGRAMS]
LARGE += [("butterfly", noise) for noise in NOISES if noise != "fresh"]
LARGE += [("after", "fresh, jitter"), ("sparse set", "fresh, jitter"), ("forward cost", "nodes"),
          ("full set", "phases"), ("both", "stationary"), ("cycles", "compute")]  # fmt: skip


@pytest.mark.gpu
@pytest.mark.parametrize("log2_ranks", [15, 17, 18, 19, 20])
@pytest.mark.parametrize(("program", "noise"), LARGE)
def test_large_machines(program, noise, log2_ranks):
    check(make(program, noise, log2_ranks), 1)


@pytest.mark.gpu
def test_a_segment_of_nearly_the_whole_machine():
    check(make("full set", "fresh, jitter", 16), 2)
    check(make("sparse set", "fresh", 18, within=(17,)), 1)


@pytest.mark.gpu
@pytest.mark.parametrize(("log2_ranks", "count"), [(0, 300_000), (2, 1_000_001), (8, 100_003)])
def test_many_realizations(log2_ranks, count):
    case = make("butterfly", "fresh", log2_ranks, realization=2**32 - count)
    found = simulate(case, "cuda", count, "max")
    np.testing.assert_array_equal(found, simulate(case, "cpu", count, "max"))


@pytest.mark.gpu
@pytest.mark.parametrize("log2_ranks", [0, 4, 9, 13])
@pytest.mark.parametrize("program", PROGRAMS)
def test_calls_can_be_split(program, log2_ranks):
    case = make(program, "fresh, jitter", log2_ranks)
    whole = simulate(case, "cuda", 12)
    for cut in (1, 5):
        parts = [simulate(case, "cuda", cut), simulate(case, "cuda", 12 - cut, first=cut)]
        np.testing.assert_array_equal(np.concatenate(parts), whole)


@pytest.mark.gpu
def test_batches_and_progress():
    """More work than one batch: progress is told, and Ctrl-C heard, after each."""
    case = make("butterfly", "fresh", 14)
    count = 80_000  # cuda/gpu/batch.h: 2^34 rank-steps are a batch
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
def test_memory_in_flight():
    for name in ("butterfly", "full set", "sparse set", "forward cost"):
        program = make(name, "fresh", 18).program(_core)
        assert 0 < _core.memory(program, "cuda", 0, 1) <= 24 * 2**18 + 2**16
    device = _core.devices()[0]["memory"]
    small = make("butterfly", "fresh", 3).program(_core)
    assert _core.memory(small, "cuda", 0, 2**32 - 1) < device


PUBLIC_NOISES = {
    "none": [],
    "fresh": [jf.PeriodicNoise(1e-3, 1e-4)],
    "stationary": [jf.PeriodicNoise(1e-3, 1e-4, start="stationary")],
    "machine": [jf.PeriodicNoise(1e-3, 1e-4, synchronized="machine")],
    "nodes": [jf.PeriodicNoise(1e-3, 1e-4, synchronized=16)],
    "phases": [jf.PeriodicNoise(1e-3, 1e-4, phases=np.linspace(0, 9.9e-4, 256))],
    "compute": [jf.PeriodicNoise(1e-3, 1e-4, during="compute")],
    "communication": [jf.PeriodicNoise(1e-3, 1e-4, during="communication")],
    "jitter": [jf.NetworkJitter(1e-4, 1e-5)],
    "jitter, communication": [jf.NetworkJitter(1e-4, 1e-5, during="communication")],
    "both": [jf.PeriodicNoise(1e-3, 1e-4), jf.NetworkJitter(1e-4, 1e-5)],
}
ALGORITHMS = {
    "butterfly": jf.Butterfly(),
    "after": jf.Butterfly(after=8),
    "forward cost": jf.Butterfly(after=3, forward_cost=1e-7),
    "all": jf.Butterfly(within="all"),
    "some": jf.Butterfly(within=[2, 5], after=1),
}


def public(algorithm, noise, **changes):
    network = jf.LogGOPS(L=1e-6, o=1e-7, gamma=1e-9)
    options = {"ranks": 256, "network": network, "cycles": 2, "work": 1e-5, **changes}
    return jf.Case(algorithm=ALGORITHMS[algorithm], noise=PUBLIC_NOISES[noise], **options)


@pytest.mark.gpu
@pytest.mark.parametrize("observe", ["completion", "rounds"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("noise", PUBLIC_NOISES)
def test_public_interface(algorithm, noise, observe):
    case = public(algorithm, noise, observe=observe)
    results = {b: jf.simulate(case, 50, seed=3, backend=b) for b in ("cuda", "cpu", "auto")}
    assert [result.backend for result in results.values()] == ["cuda", "cpu", "cuda"]
    for result in results.values():
        np.testing.assert_array_equal(result.ticks, results["cpu"].ticks)
        np.testing.assert_array_equal(result.samples, results["cpu"].samples)
    halves = [jf.simulate(case, n, seed=3, backend="cuda", first=first).ticks
              for first, n in [(0, 20), (20, 30)]]  # fmt: skip
    np.testing.assert_array_equal(np.concatenate(halves), results["cuda"].ticks)


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
