"""Public Python API: `simulate`, results, shapes, names, backend choice, GPU memory, import."""

import inspect
import json
import pickle
import subprocess
import sys
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import jitterfly as jf
from jitterfly import _core
from jitterfly.backends import info_lines
from jitterfly.program import row_labels
from jitterfly.simulate import noise_phases
from jitterfly.units import from_ticks

HOCKNEY = jf.Hockney(alpha="100ns", beta="1ns", gamma=1e-10)
LOGGOPS = jf.LogGOPS(L="1us", o="1ns", G="1ns", gamma=1e-10)
PERIODIC = jf.PeriodicNoise(period="1ms", duration="10us")


def example(**changes):
    """The case of the README."""
    options = {
        "ranks": 64,
        "algorithm": jf.Butterfly(exchanges_after=6),
        "network": HOCKNEY,
        "noise": [PERIODIC, jf.NetworkJitter(period=1e-3, duration=1e-5)],
    }
    return jf.Case(**options | changes)


def test_result():
    result = jf.simulate(example(), realizations=20, seed=7, backend="cpu")
    assert result.samples.shape == result.ticks.shape == (20, 7)
    assert (result.samples.dtype, result.ticks.dtype) == (np.float64, np.int64)
    assert (result.samples == from_ticks(result.ticks)).all()
    assert result.observations == [f"T={t}" for t in range(7)]
    assert (result.seed, result.first_realization, result.backend) == (7, 0, "cpu")
    assert result.case == example()
    assert (result.samples >= result.noise_free).all()
    assert (np.diff(result.ticks, axis=1) <= 0).all()  # more forwards are never later
    assert (result.column("T=3") == result.samples[:, 3]).all()
    with pytest.raises(ValueError, match="observation must be one of 'T=0', 'T=1'"):
        result.column("T=9")


@pytest.mark.parametrize(
    ("after", "cycles", "names"),
    [
        (0, 1, ["completion"]),
        (1, 1, ["T=0", "T=1"]),
        (0, 2, ["cycle 1", "cycle 2"]),
        (1, 2, ["cycle 1, T=0", "cycle 1, T=1", "cycle 2, T=0", "cycle 2, T=1"]),
        ("all", 1, ["T=0", "T=1", "T=2"]),
    ],
)
def test_completion_names(after, cycles, names):
    case = example(ranks=4, algorithm=jf.Butterfly(exchanges_after=after), cycles=cycles)
    result = jf.simulate(case, 3)
    assert result.observations == names
    assert result.ticks.shape == (3, len(names))
    assert result.noise_free.shape == (len(names),)


def test_row_labels():
    algorithm = jf.Butterfly(exchanges_after=1)
    assert row_labels(example(ranks=1, algorithm=jf.Butterfly())) == ["start", "end"]
    assert row_labels(example(ranks=4, algorithm=algorithm, cycles=2)) == [
        "start",
        *("cycle 1, level 1", "cycle 1, level 2", "cycle 1, forward 1", "cycle 1, end"),
        *("cycle 2, level 1", "cycle 2, level 2", "cycle 2, forward 1", "cycle 2, end"),
    ]


@pytest.mark.parametrize("ranks", [1, 2, 32])
@pytest.mark.parametrize("cycles", [1, 3])
@pytest.mark.parametrize("within", [None, "all"])
def test_views_agree(ranks, cycles, within):
    """Completions, rounds and ready times are views of the same realizations."""
    cost = "3ns" if ranks > 1 and within is None else 0
    algorithm = jf.Butterfly(exchanges_after="all", copy_levels=within, forward_cost=cost)
    noise = [jf.PeriodicNoise("100us", "10us"), jf.NetworkJitter("100us", "10us")]
    case = example(ranks=ranks, algorithm=algorithm, network=LOGGOPS, noise=noise, cycles=cycles,
                   compute_time="90us")  # fmt: skip
    labels = row_labels(case)
    times = np.array([jf.ready_times(case, 5, first) for first in range(4)])
    assert times.shape == (4, len(labels), ranks)

    def assert_spread(observe, names, times):
        """The latest, the earliest and the mean of the times of some rows."""
        seen = jf.simulate(replace(case, observe=observe), 4, seed=5)
        kinds = ("max", "min", "mean")
        assert seen.observations == [f"{name}: {kind}" for name in names for kind in kinds]
        assert seen.observations == seen.case.observation_names()
        samples = seen.samples.reshape(4, len(names), 3)
        np.testing.assert_array_equal(samples[:, :, 0], times.max(axis=2))
        np.testing.assert_array_equal(samples[:, :, 1], times.min(axis=2))
        np.testing.assert_allclose(samples[:, :, 2], times.mean(axis=2), rtol=0, atol=0.51e-12)
        return seen

    assert_spread("rounds", labels, times)
    rows = case.completions()
    wanted = np.stack([_times(row, case) for row in rows], axis=1)
    spread = assert_spread("spread", [row.name for row in rows], wanted)
    last = jf.simulate(case, 4, seed=5)
    np.testing.assert_array_equal(spread.ticks[:, ::3], last.ticks)
    np.testing.assert_array_equal(spread.noise_free, np.repeat(last.noise_free, 3))


def _times(row, case):
    """Of the case that makes so many redundant exchanges in every cycle; shape (4, ranks)."""
    cost = case.algorithm.forward_cost if row.T else 0
    algorithm = replace(case.algorithm, exchanges_after=row.T, forward_cost=cost)
    own = replace(case, algorithm=algorithm)
    label = row_labels(own).index(_label(row, case))
    return np.array([jf.ready_times(own, 5, first)[label] for first in range(4)])


def _label(row, case):
    """Of the step that completes a collective with T redundant exchanges."""
    if case.ranks == 1:  # nothing is exchanged: complete at the start of the collective
        return "start" if row.cycle == 1 else f"cycle {row.cycle}, end"
    last = f"level {case.log2_ranks}" if row.T == 0 else f"forward {row.T}"
    return f"cycle {row.cycle}, {last}" if case.cycles > 1 else last


@pytest.mark.parametrize("within", [None, [2]])
def test_rank_0_alone(within):
    case = example(
        ranks=256, algorithm=jf.Butterfly(exchanges_after=2, copy_levels=within), cycles=2
    )
    one = replace(case, observe="rank 0")
    times = jf.ready_times(case, 5, 1)
    np.testing.assert_array_equal(jf.ready_times(one, 5, 1), times)
    seen = jf.simulate(one, 3, seed=5)
    assert seen.observations == jf.simulate(case, 3, seed=5).observations
    assert len(seen.noise_free) == len(seen.observations)
    labels = row_labels(case)
    rows = {"T=0": "level 8", "T=1": "forward 1", "T=2": "forward 2"}
    for name in seen.observations:
        cycle, T = name.split(", ")
        expected = times[labels.index(f"{cycle}, {rows[T]}"), 0]
        assert seen.column(name)[1] == expected


def test_end_is_the_last_forward():
    times = jf.ready_times(example(), seed=3)
    np.testing.assert_array_equal(times[-1], times[-2])
    assert (times[0] == 0).all()


CASES = {
    "one rank": example(ranks=1, algorithm=jf.Butterfly()),
    "after": example(),
    "within": example(algorithm=jf.Butterfly(copy_levels="all"), network=LOGGOPS, message_bytes=1),
    "sparse": example(algorithm=jf.Butterfly(copy_levels=[2, 5]), network=LOGGOPS),
    "slow sends": example(
        algorithm=jf.Butterfly(copy_levels=[1, 3], exchanges_after=2),
        network=jf.LogGOPS("1ns", "1us", gamma="7ns"),
    ),
    "forward cost": example(algorithm=jf.Butterfly(exchanges_after=3, forward_cost="1us")),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("observe", ["completion", "rounds"])
def test_noise_free(name, observe):
    """Without noise the engine gives `Result.noise_free`, which is worked out in Python."""
    case = replace(CASES[name], cycles=3, compute_time="5us", observe=observe)
    result = jf.simulate(replace(case, noise=[]), 2)
    np.testing.assert_array_equal(result.samples, [result.noise_free] * 2)
    np.testing.assert_array_equal(jf.simulate(case, 1).noise_free, result.noise_free)


@pytest.mark.parametrize("name", ["one rank", "after", "within", "sparse"])
def test_closed_form(name):
    case = replace(CASES[name], cycles=3, compute_time="5us", noise=[])
    result = jf.simulate(case, 1)
    per_cycle = len(result.noise_free) // 3
    for cycle in (1, 2, 3):
        expected = jf.theory.noise_free_completion(case, cycle)
        np.testing.assert_array_equal(result.noise_free[(cycle - 1) * per_cycle :][:1], expected)


@pytest.mark.parametrize("name", ["slow sends", "forward cost"])
def test_no_closed_form(name):
    with pytest.raises(ValueError, match="for this closed form"):
        jf.theory.noise_free_completion(replace(CASES[name], cycles=3), 2)


def test_papers_noise_free_values():
    case = example(ranks=2**10, noise=[], algorithm=jf.Butterfly(exchanges_after=10))
    alpha, beta, gamma, n = 1e-7, 1e-9, 1e-10, 8
    expected = 10 * (alpha + beta * n + gamma * n)  # Matsumoto & Suda 2012, any T
    assert jf.simulate(case, 1).noise_free == pytest.approx([expected] * 11, rel=1e-12)
    case = example(ranks=2**10, noise=[], algorithm=jf.Butterfly(), network=LOGGOPS)
    case = replace(case, message_bytes=1)
    expected = 10 * (1e-9 + 1e-6 + 1e-9 + 1e-10)  # Chen & Suda
    assert jf.simulate(case, 1).noise_free == pytest.approx([expected], rel=1e-12)


def test_phases_reproduce_a_realization():
    """Phases that were drawn, given back as explicit ones, give the same times."""
    case = example(noise=[replace(PERIODIC, start="stationary")], network=LOGGOPS)
    phases = noise_phases(case, seed=9, realization=4)
    assert phases.shape == (64,)
    assert ((phases >= 0) & (phases < 1e-3)).all()
    explicit = replace(case, noise=[replace(case.noise[0], phases=phases)])
    np.testing.assert_array_equal(noise_phases(explicit, seed=1), phases)
    again = jf.ready_times(explicit, seed=1, realization=0)
    np.testing.assert_array_equal(again, jf.ready_times(case, seed=9, realization=4))


@pytest.mark.parametrize(("shared", "different"), [(False, 64), ("machine", 1), (16, 4)])
def test_synchronized_phases(shared, different):
    case = example(noise=[replace(PERIODIC, shared=shared)])
    phases = noise_phases(case, seed=2)
    assert len(np.unique(phases)) == different
    assert (phases.reshape(different, -1) == phases.reshape(different, -1)[:, :1]).all()


def test_noise_does_not_depend_on_the_case():
    """Common random numbers: another algorithm or network sees the same phases."""
    few = noise_phases(example(), seed=2, realization=3)
    many = example(ranks=256, algorithm=jf.Butterfly(copy_levels="all"), network=LOGGOPS)
    np.testing.assert_array_equal(noise_phases(many, 2, 3)[:64], few)


def test_pieces_make_the_whole():
    whole = jf.simulate(example(), 15, seed=1)
    pieces = (
        jf.simulate(example(), 10, seed=1),
        jf.simulate(example(), 5, seed=1, first_realization=10),
    )
    np.testing.assert_array_equal(whole.ticks, np.concatenate([p.ticks for p in pieces]))


def test_unused_freedom():
    """No noise is left of a duration of 0, nor of jitter on messages that take no time."""
    nothing = [jf.PeriodicNoise(1e-3, 0), jf.NetworkJitter(1e-3, 0)]
    result = jf.simulate(example(noise=nothing), 5)
    assert (result.samples == result.noise_free).all()
    instant = example(network=jf.Hockney(0, 0), noise=[jf.NetworkJitter(1e-3, 1e-5)])
    assert (jf.simulate(instant, 5).samples == 0).all()


def test_noise_in_the_compute_phase_only():
    case = example(noise=[replace(PERIODIC, during="compute")], compute_time="2ms")
    result = jf.simulate(case, 5)
    times = jf.ready_times(case)
    assert (times[0] > 2e-3).all()
    no_work = jf.simulate(replace(case, compute_time=0), 5)
    assert (no_work.samples == no_work.noise_free).all()
    assert (result.samples > result.noise_free).all()


def test_bound_holds():
    """Completion stays above the bound that no redundancy can beat: z > -5 over 2000 draws."""
    noise = replace(PERIODIC, start="stationary")
    for within in (None, "all"):
        case = example(
            ranks=256, noise=[noise], network=LOGGOPS, algorithm=jf.Butterfly(copy_levels=within)
        )
        samples = jf.simulate(case, 2000, seed=3).samples[:, 0]
        bound = jf.theory.completion_bound(case)
        assert bound > jf.theory.noise_free_completion(case)
        assert samples.mean() - bound > -5 * jf.stats.standard_error(samples)


@pytest.mark.parametrize("count", [1, 2, 1000])
@pytest.mark.parametrize("share", [1e-9, 1e-6, 9e-4, 0.01, 0.5])
def test_largest_residual(count, share):
    """Against the integral of 1 - P(residual <= x)^count."""
    x = (np.arange(200_000) + 0.5) / 200_000
    expected = share * np.mean(-np.expm1(count * np.log1p(-share * (1 - x))))
    assert jf.theory.largest_residual(count, 1, share) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"cycles": 2}, "cycles must be 1"),
        ({"compute_time": 1e-6}, "compute_time must be 0"),
        ({"ranks": 1}, "ranks must be at least 2"),
        ({"network": HOCKNEY}, "the network's send cost must be above 0"),
        ({"noise": []}, "noise must hold a PeriodicNoise"),
        ({"noise": [PERIODIC]}, "start must be 'stationary'"),
    ],
)
def test_bound_does_not_apply(changes, text):
    noise = [replace(PERIODIC, start="stationary")]
    case = example(algorithm=jf.Butterfly(), network=LOGGOPS, noise=noise)
    jf.theory.completion_bound(case)
    with pytest.raises(ValueError, match=f"^{text} for this bound to apply$"):
        jf.theory.completion_bound(replace(case, **changes))


@pytest.mark.parametrize("name", CASES)
def test_dicts(name):
    case = replace(CASES[name], compute_time="5us")
    text = json.dumps(case.to_dict(), allow_nan=False)
    again = jf.Case.from_dict(json.loads(text))
    assert again == case
    assert hash(again) == hash(case)
    assert pickle.loads(pickle.dumps(case)) == case


def test_dict_of_phases():
    noise = replace(PERIODIC, phases=np.linspace(0, 9e-4, 64))
    case = example(noise=[noise])
    assert jf.Case.from_dict(json.loads(json.dumps(case.to_dict()))) == case
    assert case != example(noise=[PERIODIC])
    assert case != example(noise=[replace(noise, phases=noise.phases[::-1])])


def test_phases_are_a_copy():
    phases = np.zeros(64)
    noise = replace(PERIODIC, phases=phases)
    phases[0] = 5
    assert noise.phases[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        noise.phases[0] = 1


def test_times_as_text():
    assert jf.Hockney(alpha="100 ns", beta="1e-9") == jf.Hockney(alpha=1e-7, beta=1e-9)
    assert example(compute_time="0.01 ms").compute_time == 1e-5


def test_progress():
    calls = []
    thread = threading.get_ident()

    def progress(done, total):
        assert threading.get_ident() == thread
        calls.append((done, total))

    jf.simulate(example(), 5000, progress=progress)
    done = [d for d, _ in calls]
    assert done == sorted(done)
    assert calls[-1] == (5000, 5000)


def test_progress_may_stop():
    class StopError(Exception):
        pass

    def progress(done, total):
        raise StopError

    with pytest.raises(StopError):
        jf.simulate(example(), 5000, progress=progress)


def test_the_interpreter_goes_on():
    """The GIL is released: another thread counts while the engine works."""
    ticks = 0
    stop = threading.Event()

    def count():
        nonlocal ticks
        while not stop.wait(0.001):
            ticks += 1

    counter = threading.Thread(target=count)
    counter.start()
    begin = time.monotonic()
    while time.monotonic() - begin < 0.2:
        jf.simulate(example(ranks=1024), 2000, threads=1)
    stop.set()
    counter.join()
    assert ticks >= 5


def test_cuda_without_a_device():
    reason = _core.cuda_status()
    if not reason:
        pytest.skip("there is a device")
    with pytest.raises(jf.BackendError) as caught:
        jf.simulate(example(), backend="cuda")
    assert reason in str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, RuntimeError)
    assert jf.simulate(example(), 1, backend="auto").backend == "cpu"


@pytest.fixture
def device(monkeypatch):
    """A device that is none: what it says of its memory, and which engine is asked to run."""
    state = SimpleNamespace(needed=2**30, available=2**31, error=None, backends=[])
    engine = _core.simulate, _core.memory

    def simulate(*arguments):
        state.backends.append(arguments[5])
        if state.error and arguments[5] == "cuda":
            raise state.error
        return engine[0](*arguments[:5], "cpu", *arguments[6:])

    def memory(program, backend, threads, count):
        return state.needed if backend == "cuda" else engine[1](program, backend, threads, count)

    monkeypatch.setattr(_core, "cuda_status", lambda: "")
    monkeypatch.setattr(_core, "gpu_memory_available", lambda: state.available, raising=False)
    monkeypatch.setattr(_core, "memory", memory)
    monkeypatch.setattr(_core, "simulate", simulate)
    return state


@pytest.mark.parametrize("backend", ["auto", "cuda"])
def test_device_memory_is_enough(device, backend):
    assert jf.simulate(example(), 1, backend=backend).backend == "cuda"
    assert device.backends == ["cuda"]


def test_device_memory_is_not_enough(device):
    device.available = 2**29
    told = "^backend 'auto' takes the CPU: not enough device memory for one realization: needs 1.0"
    with pytest.warns(RuntimeWarning, match=told) as warned:
        result = jf.simulate(example(), 1, backend="auto")
    assert result.backend == "cpu"
    assert warned[0].filename == __file__
    with pytest.raises(jf.BackendError) as caught:
        jf.simulate(example(), 1, backend="cuda")
    for part in ("not enough device memory", "needs 1.0 GiB, available 512.0 MiB"):
        assert part in str(caught.value)
    assert device.backends == ["cpu"]


def test_device_fails(device):
    device.error = RuntimeError("cudaMalloc: out of memory (cudaErrorMemoryAllocation)")
    for backend in ("auto", "cuda"):
        with pytest.raises(jf.BackendError, match=r"^backend 'cuda' failed: cudaMalloc: out of"):
            jf.simulate(example(), 1, backend=backend)


def test_errors_of_progress_are_not_the_devices(device):
    def progress(done, total):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match=r"^mine$") as caught:
        jf.simulate(example(), 1, backend="cuda", progress=progress)
    assert type(caught.value) is RuntimeError


def test_threads_choose_the_cpu():
    assert jf.simulate(example(), 1, threads=1).backend == "cpu"


def test_info():
    found = jf.info()
    assert set(found) >= {"jitterfly", "python", "numpy", "build", "cuda", "devices", "memory"}
    assert found["cuda"] == _core.cuda_status()
    text = "\n".join(info_lines())
    assert jf.__version__ in text
    assert (found["cuda"] or "usable") in text
    build = found["build"]
    assert f"instruction set in use: {build['instruction_set']}\n" in text
    assert f"build instruction_sets: {build['instruction_sets']}\n" in text


def test_info_shows_why_there_is_no_gpu(monkeypatch):
    reason = "no usable GPU: no NVIDIA driver found"
    monkeypatch.setattr(_core, "cuda_status", lambda: reason)
    monkeypatch.setattr(_core, "devices", list)
    assert jf.info()["cuda"] == reason
    assert f"cuda: {reason}" in info_lines()


def test_result_as_text():
    many = example(noise=[replace(PERIODIC, phases=np.zeros(64))], compute_time="1us")
    text = repr(jf.simulate(many, 2000, seed=7, backend="cpu"))
    assert len(text) < 500
    for part in (
        "Result(Case(ranks=64, algorithm=Butterfly(exchanges_after=6), network=Hockney(alpha=1e-07",
        "noise=[PeriodicNoise(period=0.001, ",
        "compute_time=1e-06), realizations=2000, first_realization=0, ",
        "observations=7 ('T=0' ... 'T=6')",
        "seed=7",
        "backend='cpu')",
    ):
        assert part in text
    one = repr(jf.simulate(example(algorithm=jf.Butterfly()), 3))
    assert "observations=1 ('completion')" in one


def test_help_says_what_a_time_may_be():
    for kind in (jf.Case, jf.Hockney, jf.LogGOPS, jf.PeriodicNoise, jf.Butterfly):
        signature = str(inspect.signature(kind))
        assert "float | str" in signature
        assert "Seconds" not in signature


def test_everything_public_is_there():
    for name in jf.__all__:
        assert hasattr(jf, name)


@pytest.mark.full_scale
def test_import_is_quick():
    """What few need and takes long is loaded when it is asked for."""
    loaded = (
        "import sys, jitterfly as jf; jf.simulate, jf.slowdown, jf.advise, jf.run_study, jf.stats; "
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    found = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True,
                           check=True).stdout.split()  # fmt: skip
    assert "numpy" in found
    assert not {"scipy", "matplotlib", "xarray", "pandas"} & set(found)
