"""Which GPUs a process takes, by launcher, local rank and CUDA_VISIBLE_DEVICES; no GPU needed."""

import dataclasses
import functools
import json
import os
import re
import signal
import threading
import time
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, wait
from unittest.mock import ANY

import numpy as np
import pytest
from support import sweep_cases
from support.fake_devices import FakeDevices

import jitterfly as jf
from jitterfly import backends, executors, resources
from jitterfly.cli import main
from jitterfly.sweep import CellsFailed, Stopped, driver, run

FOUR = "0,1,2,3"
SRUN = {"SLURM_LOCALID": "1", "SLURM_STEP_TASKS_PER_NODE": "2"}
OPEN_MPI = {"OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}
MIG = "MIG-a,MIG-b,MIG-c"

LAUNCHERS = {
    # The devices of the process, on a machine of four; see docs/tutorials/slurm.md.
    "none": ({}, "0 1 2 3"),
    "a list": ({"CUDA_VISIBLE_DEVICES": "2,0"}, "2 0"),
    "a list with spaces and an end": ({"CUDA_VISIBLE_DEVICES": "2, 0,-1,1"}, "2 0"),
    "none visible": ({"CUDA_VISIBLE_DEVICES": ""}, ""),
    "uuids": ({"CUDA_VISIBLE_DEVICES": "GPU-a,GPU-b"}, "GPU-a GPU-b"),
    "slices": ({"CUDA_VISIBLE_DEVICES": MIG}, "MIG-a MIG-b MIG-c"),
    "a batch script": ({"SLURM_LOCALID": "0", "CUDA_VISIBLE_DEVICES": FOUR}, "0 1 2 3"),
    "srun": (SRUN, "1 3"),
    "srun, a list": (SRUN | {"CUDA_VISIBLE_DEVICES": "4,5,6,7"}, "5 7"),
    "srun --gpus-per-task=4": (
        SRUN | {"SLURM_GPUS_PER_TASK": "4", "CUDA_VISIBLE_DEVICES": "4,5,6,7"},
        "4 5 6 7",
    ),
    "srun --tres-per-task": (
        SRUN | {"SLURM_TRES_PER_TASK": "cpu=8,gres/gpu:h100=4", "CUDA_VISIBLE_DEVICES": "4,5,6,7"},
        "4 5 6 7",
    ),
    "srun --gpus-per-task=1": (
        SRUN | {"SLURM_GPUS_PER_TASK": "1", "CUDA_VISIBLE_DEVICES": "1"},
        "1",
    ),
    "srun of slices": (SRUN | {"CUDA_VISIBLE_DEVICES": MIG}, "MIG-b"),
    "srun, more tasks than devices": (
        {"SLURM_LOCALID": "5", "SLURM_STEP_TASKS_PER_NODE": "8(x2)"},
        "1",
    ),
    "mpiexec of Open MPI": (OPEN_MPI, "1 3"),
    "mpiexec in a job of --gpus-per-task": (
        OPEN_MPI | SRUN | {"SLURM_GPUS_PER_TASK": "4", "CUDA_VISIBLE_DEVICES": FOUR},
        "1 3",
    ),
    "mpiexec of MPICH, rank 0": ({"MPI_LOCALRANKID": "0", "MPI_LOCALNRANKS": "4"}, "0"),
    "mpiexec, of unknown size": ({"MV2_COMM_WORLD_LOCAL_RANK": "3"}, "3"),
    "PALS": ({"PALS_LOCAL_RANKID": "3", "PALS_LOCAL_SIZE": "4"}, "3"),
    "torchrun": ({"LOCAL_RANK": "2", "LOCAL_WORLD_SIZE": "4"}, "2"),
    "torchrun of slices": (
        {"LOCAL_RANK": "2", "LOCAL_WORLD_SIZE": "4", "CUDA_VISIBLE_DEVICES": MIG},
        "MIG-c",
    ),
}


@pytest.fixture
def four(monkeypatch):
    """A machine of four devices, of which CUDA shows those that are listed, and one slice."""

    def ask():
        listed = resources.listed_devices()
        slices = listed is not None and any(name.startswith("MIG") for name in listed)
        return "", 4 if listed is None else 1 if slices else len(listed)

    monkeypatch.setattr(executors, "ask_devices", ask)


def environ(monkeypatch, environment):
    """Set these variables only."""
    for name in [*os.environ]:
        if name.startswith(("SLURM_", "OMPI_", "PMI_", "MPI_", "MV2_", "PALS_", "LOCAL_", "CUDA_")):
            monkeypatch.delenv(name)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_the_devices_of_a_process(monkeypatch, four, launcher):
    environment, own = LAUNCHERS[launcher]
    environ(monkeypatch, environment)
    assert " ".join(resources.own_devices(lambda: 4)) == own


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_one_engine_takes_the_first_of_them(monkeypatch, four, launcher):
    environment, own = LAUNCHERS[launcher]
    resources.bind_device(lambda: 4, bound := dict(environment))
    names = resources.listed_devices(bound)
    taken = [str(number) for number in range(4)] if names is None else names
    assert taken[:1] == own.split()[:1]
    resources.bind_device(lambda: 4, again := dict(bound))
    assert again == bound


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_worker_for_each_of_them(monkeypatch, four, launcher):
    """And what a worker inherits from its launcher binds it to no other."""
    environment, own = LAUNCHERS[launcher]
    environ(monkeypatch, environment)
    if not own:
        with pytest.raises(ValueError, match="workers 'gpus' can not be used here: no usable GPU"):
            executors.check_workers("gpus", "auto", None)
        return
    workers = executors.check_workers("gpus", "auto", None)
    assert workers.devices == tuple(own.split())
    taken = []
    for name in workers.devices:
        resources.show_device(name, worker := dict(environment))
        resources.bind_device(lambda: 4, worker)
        taken += resources.listed_devices(worker)
    assert taken == own.split()


def test_several_workers_for_each(monkeypatch, four):
    """As under NVIDIA's MPS."""
    environ(monkeypatch, {"CUDA_VISIBLE_DEVICES": "2,0"})
    workers = executors.check_workers("5", "gpu", None)
    assert (workers.backend, workers.devices) == ("cuda", ("2", "0", "2", "0", "2"))


def test_processes_are_bound_to_their_devices(monkeypatch, four):
    environ(monkeypatch, SRUN | {"SLURM_GPUS_PER_TASK": "2", "CUDA_VISIBLE_DEVICES": "6,7"})
    with executors.check_workers("gpus", "auto", None).start() as pool:
        found = [pool.submit(os.getenv, "CUDA_VISIBLE_DEVICES") for _ in range(8)]
        assert {future.result() for future in found} <= {"6", "7"}


def test_who_hands_out_work_leaves_cuda_alone(tmp_path, monkeypatch):
    """Otherwise it would hold a GPU, of which a worker may need to be the only process."""

    def started(*_):
        raise AssertionError("CUDA was started")

    monkeypatch.setattr(backends, "gpu_present", lambda *_: True)
    monkeypatch.setattr(backends, "gpu_problem", started)
    problem, count = backends.ask_devices()
    assert (problem != "", count) == (not backends.core.devices(), len(backends.core.devices()))
    monkeypatch.setattr(executors, "ask_devices", lambda: ("", 2))
    run(sweep_cases.study(sweep_cases.PLAIN), tmp_path / "out", workers="gpus")


def test_a_process_that_fails_to_look_for_devices(monkeypatch):
    monkeypatch.setattr(backends, "gpu_present", lambda *_: True)
    monkeypatch.setattr(backends, "_ASK", "exit('no such {path}')".replace("{path}", "luck"))
    assert backends.ask_devices() == ("a process that looks for GPUs fails: no such luck", 0)


# --- One process, and a thread for each device.


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "out"
    run(sweep_cases.study(), path)
    return sweep_cases.contents(path)


@pytest.fixture
def cards(monkeypatch, tmp_path):
    """Three devices, and no launcher."""
    environ(monkeypatch, {})
    (tmp_path / "dev").mkdir()
    executors.engine_of_process.cache_clear()
    yield FakeDevices(3).install(monkeypatch, tmp_path / "dev")
    executors.engine_of_process.cache_clear()


def run_here(tmp_path, **options):
    """Run the study with targets; all that it leaves."""
    run(sweep_cases.study(), tmp_path / "out", batch_seconds=0.01, **options)
    return sweep_cases.contents(tmp_path / "out")


@pytest.mark.parametrize("backend", ["auto", "cuda"])
def test_all_devices_and_one_make_the_same(tmp_path, cards, whole, backend):
    assert run_here(tmp_path, backend=backend) == whole
    assert sorted(cards.ran) == [0, 1, 2]
    assert min(cards.ran.values()) > 1


@pytest.mark.parametrize(
    ("devices", "ran"),
    [
        ("all", [0, 1, 2]),
        ("0,2", [0, 2]),
        ([1], [1]),
        (np.array([2, 0]), [0, 2]),
        (np.int64(1), [1]),
        (2, [2]),
        (None, [0]),
    ],
)
def test_the_devices_that_are_asked_for(tmp_path, cards, whole, devices, ran):
    """And no other is touched: it may be another user's."""
    assert run_here(tmp_path, devices=devices) == whole
    assert sorted(cards.ran) == ran
    assert cards.started == set(ran)


@pytest.mark.parametrize("of", [(driver.Summary, "of"), (driver.CellRun, "look")])
def test_a_device_is_at_the_next_batch_meanwhile(tmp_path, cards, whole, monkeypatch, of):
    """While statistics of the last one are made, and while it is decided what comes next."""
    cards.count = 1
    owner, name = of
    changed = threading.Condition()
    begun, stored, waited = [], [], []

    def noting(function, what):
        def noted(*arguments, **options):
            with changed:
                what.append(1)
                changed.notify_all()
            return function(*arguments, **options)

        return noted

    def waiting(function):
        def waits(*arguments):
            with changed:
                before = len(begun if name == "of" else stored)
                if before and not any(waited):  # nothing may be left to begin, now and then
                    waited.append(changed.wait_for(lambda: len(begun) > before, 2))
            return function(*arguments)

        return waits

    monkeypatch.setattr(driver, "run_batch", noting(driver.run_batch, begun))
    monkeypatch.setattr(driver.CellRun, "put", noting(driver.CellRun.put, stored))
    watched = waiting(getattr(owner, name))
    monkeypatch.setattr(owner, name, staticmethod(watched) if name == "of" else watched)
    assert run_here(tmp_path) == whole
    assert any(waited)


@pytest.mark.parametrize("end", ["shutdown", "later", "cancelling", "kill"])
def test_no_call_is_forgotten(cards, end):
    """Whatever ends the pool: what was begun is finished, or told to be over."""
    pool = executors.EnginePool([0])
    begun, go_on = threading.Event(), threading.Event()

    def rest():
        begun.set()
        go_on.wait(30)
        return 7

    futures = [pool.submit(executors.Unfinished, rest) for _ in range(6)]
    begun.wait(30)
    if end == "kill":
        threading.Timer(0.05, go_on.set).start()
        pool.kill()
    else:
        if end != "later":
            go_on.set()
        pool.shutdown(wait=end != "later", cancel_futures=end == "cancelling")
        go_on.set()
    done, waiting = wait(futures, 30)
    assert not waiting
    results = [f.result() for f in done if not f.cancelled() and f.exception() is None]
    assert results.count(7) == len(results)
    assert len(results) == 6 if end in ("shutdown", "later") else results


def test_statistics_that_fail(tmp_path, cards, monkeypatch):
    """Not in the thread of the device, and told as an error of the engine would be."""

    def of(*_):
        raise ValueError("no such statistic")

    monkeypatch.setattr(driver.Summary, "of", of)
    with pytest.raises(CellsFailed, match="no such statistic"):
        run_here(tmp_path, on_error="finish")


def test_the_cpu_runs_in_this_thread(tmp_path, monkeypatch):
    """It takes all processors; and a run of seconds starts no threads for others."""
    threads = set()
    realize = jf.Case.realize

    def noted(*arguments, **options):
        threads.add(threading.current_thread())
        return realize(*arguments, **options)

    monkeypatch.setattr(jf.Case, "realize", noted)
    run_here(tmp_path, backend="cpu")
    assert threads == {threading.main_thread()}


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_the_threads_of_a_process(monkeypatch, tmp_path, launcher):
    """The same devices as its workers would have, by their numbers among those that CUDA shows."""
    environment, own = LAUNCHERS[launcher]
    environ(monkeypatch, environment)
    listed = resources.listed_devices()
    slices = listed is not None and any(name.startswith("MIG") for name in listed)
    count = 4 if listed is None else 1 if slices else len(listed)
    cards = FakeDevices(count).install(monkeypatch, tmp_path)
    workers = executors.check_workers(None, "auto", None, devices="all")
    if slices:
        assert resources.listed_devices()[:1] == own.split()[:1]
        own = resources.listed_devices()[0]
    listed = resources.listed_devices()
    names = [str(number) for number in range(count)] if listed is None else listed
    assert [names[number] for number in workers.devices or range(min(count, 1))] == own.split()
    assert cards.started == set(workers.devices)


def test_a_device_that_fails_leaves_its_batches_to_others(tmp_path, cards, whole):
    cards.failing = {1}
    with pytest.warns(backends.UnusedGPUWarning, match="GPU 1 is not used any more in this run: "):
        assert run_here(tmp_path) == whole
    assert cards.ran[1] == 1
    assert min(cards.ran[0], cards.ran[2]) > 1


@pytest.mark.filterwarnings("ignore::jitterfly.backends.UnusedGPUWarning")
def test_devices_that_all_fail(tmp_path, cards):
    cards.failing = {0, 1, 2}
    told = "backend 'cuda' failed: an illegal .* encountered. See nvidia-smi, 3 times in a row"
    with pytest.raises(CellsFailed, match=told):
        run_here(tmp_path, on_error="finish")


@pytest.mark.parametrize("backend", ["auto", "cuda"])
def test_a_device_without_memory_leaves_its_batches_to_others(tmp_path, cards, whole, backend):
    """Neither does it draw the same batch until that has failed, nor take the CPU beside them."""
    cards.full = {0, 2}
    told = "GPU [02] is not used any more in this run: .* not enough device memory"
    with pytest.warns(backends.UnusedGPUWarning, match=told) as warned:
        assert run_here(tmp_path, backend=backend) == whole
    assert not [one for one in warned if "takes the CPU" in str(one.message)]
    assert set(cards.ran) == {1}


@pytest.mark.parametrize("backend", ["auto", "cuda"])
def test_a_device_that_is_lost_after_the_start(tmp_path, cards, whole, backend):
    cards.problems[1] = "no usable GPU: lost (cudaErrorDevicesUnavailable)"
    with executors.EnginePool([0, 1, 2]) as pool:
        with pytest.warns(backends.UnusedGPUWarning, match="GPU 1 is not used any more .*: lost"):
            assert run_here(tmp_path, backend=backend, executor=pool) == whole
        assert pool.num_workers == 2
    assert sorted(cards.ran) == [0, 2]


@pytest.mark.filterwarnings("ignore::jitterfly.backends.UnusedGPUWarning")
def test_devices_without_memory(tmp_path, cards, whole):
    """However many there are: a batch that waits for memory has not failed."""
    cards.count, cards.full = 6, set(range(6))
    assert run_here(tmp_path) == whole
    assert not cards.ran
    with pytest.raises(ValueError, match=r"not enough device memory .*, 3 times in a row \["):
        run_here(tmp_path / "cuda", backend="cuda")


@pytest.mark.filterwarnings("ignore::jitterfly.backends.UnusedGPUWarning")
def test_a_case_that_no_device_has_the_memory_for(tmp_path, cards, whole):
    """That is no fault of a device."""
    cards.full, cards.memory = {0}, 1000
    with executors.EnginePool([0, 1, 2]) as pool:
        run(sweep_cases.study(sweep_cases.PLAIN), tmp_path / "out", executor=pool)
        assert pool.num_workers == 3
    assert not cards.ran


def test_a_warning_that_is_an_error(tmp_path, cards):
    """As with `python -W error`: it ends the run, and does not keep it waiting."""
    cards.failing = {1}
    with warnings.catch_warnings():
        warnings.simplefilter("error", backends.UnusedGPUWarning)
        with pytest.raises(backends.UnusedGPUWarning, match="GPU 1 is not used any more"):
            run_here(tmp_path)


class Ranks(ThreadPoolExecutor):
    """The other ranks of an MPI job, which are slower than a device that fails."""

    def __init__(self, device):
        super().__init__(3, initializer=device)

    def submit(self, function, *arguments):
        def slow():
            time.sleep(0.02)
            return function(*arguments)

        return super().submit(slow)


@pytest.mark.parametrize("backend", ["auto", "cuda"])
@pytest.mark.parametrize("fault", ["failing", "full"])
def test_rank_zero_whose_device_fails(tmp_path, cards, whole, fault, backend):
    setattr(cards, fault, {0})
    own = executors.EnginePool([0])
    with executors.WithRankZero(Ranks(lambda: cards.use(1)), own) as executor:
        assert executors.depth(executor) == 8
        with pytest.warns(backends.UnusedGPUWarning, match="GPU 0 is not used any more in this"):
            assert run_here(tmp_path, executor=executor, backend=backend) == whole
        assert (own.num_workers, executors.depth(executor)) == (0, 6)
    assert cards.ran[0] == (fault == "failing")


@pytest.mark.parametrize(
    ("environment", "count", "own"),
    [
        ({"SLURM_GPUS_PER_TASK": "1", "CUDA_VISIBLE_DEVICES": "0"}, 1, (0,)),
        ({"SLURM_GPUS_PER_TASK": "2", "CUDA_VISIBLE_DEVICES": "0,1"}, 2, (0, 1)),
        ({"CUDA_VISIBLE_DEVICES": "0"}, 1, ()),
        ({}, 4, (0,)),
        ({}, 6, (0, 4, 5)),
    ],
)
def test_the_devices_of_rank_zero(monkeypatch, tmp_path, environment, count, own):
    srun = {"SLURM_LOCALID": "0", "SLURM_STEP_TASKS_PER_NODE": "4"}
    environ(monkeypatch, srun | environment)
    FakeDevices(count).install(monkeypatch, tmp_path)
    monkeypatch.setattr(executors, "_mpi_world", lambda: True)
    assert executors.check_workers("mpi", "auto", None, devices="all").devices == own


def test_ctrl_c_while_the_driver_is_asked(cards):
    cards.waits = threading.Event()
    pressing = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    pressing.start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        backends.device_problems([0, 1, 2])
    assert time.monotonic() - started < 30
    cards.waits.set()
    pressing.join()


def test_a_device_that_another_process_has(tmp_path, cards, whole):
    cards.problems[0] = "no usable GPU: busy (cudaErrorDevicesUnavailable)"
    with pytest.warns(backends.UnusedGPUWarning, match="GPU 0 is not used: no usable GPU: busy"):
        assert run_here(tmp_path) == whole
    assert sorted(cards.ran) == [1, 2]
    with pytest.raises(backends.BackendError, match="GPU 0 can not be used here: no usable GPU"):
        run_here(tmp_path, devices=[1, 0])


def test_no_device_can_be_used(tmp_path, cards, whole):
    cards.problems = dict.fromkeys(range(3), "no usable GPU: busy (cudaErrorDevicesUnavailable)")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", backends.UnusedGPUWarning)
        assert run_here(tmp_path) == whole
    assert not cards.ran
    with pytest.raises(backends.BackendError, match="backend 'cuda' can not be used here: no us"):
        run_here(tmp_path, backend="cuda")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"devices": "0,3"}, "devices must be below 3, the number of GPUs, got 3"),
        ({"devices": "x"}, "devices must be 'all' or different numbers of GPUs such as 0,2, got"),
        ({"devices": ""}, "devices must be 'all' or different"),
        ({"devices": []}, "devices must be 'all' or different"),
        ({"devices": [1, 1]}, "devices must be 'all' or different"),
        ({"devices": [-1]}, "devices must be 'all' or different"),
        ({"devices": 0.5}, "devices must be 'all' or different"),
        ({"devices": "\u00b2"}, "devices must be 'all' or different"),  # a digit that is no number
        ({"devices": "9" * 5000}, "devices must be 'all' or different"),
        ({"devices": np.array([])}, "devices must be 'all' or different"),
        ({"devices": np.array([[0, 1]])}, "devices must be 'all' or different"),
        ({"devices": "0", "threads": 2}, "leave out `threads` with `devices`: threads are the"),
        ({"devices": "0", "backend": "cpu"}, "devices must be 'all' with the CPU, MPI or an exec"),
        ({"devices": "0", "workers": "sockets"}, "devices must be 'all' with the CPU, MPI or an"),
        ({"devices": "0", "workers": 2}, "devices must be 'all' with the CPU, MPI or an executor"),
    ],
)
def test_devices_that_can_not_be_had(tmp_path, cards, options, message):
    with pytest.raises(ValueError, match=message):
        run_here(tmp_path, **options)
    assert not (tmp_path / "out").exists()


def test_devices_where_there_are_none(tmp_path, monkeypatch):
    monkeypatch.setattr(backends, "_DEVICES", tmp_path)
    if not backends.gpu_problem():
        pytest.skip("this process has started CUDA")
    with pytest.raises(backends.BackendError, match="devices can not be used here: no "):
        run_here(tmp_path, devices=[0])


def test_workers_on_some_of_the_devices(monkeypatch, four):
    environ(monkeypatch, {"CUDA_VISIBLE_DEVICES": "7,6,5"})
    workers = executors.check_workers("gpus", "auto", None, devices="0,2")
    assert workers.devices == ("7", "5")
    with pytest.raises(ValueError, match="devices must be below 3, the number of GPUs, got 3"):
        executors.check_workers("gpus", "auto", None, devices=[3])


@pytest.mark.timing
def test_ctrl_c_stops_all_devices(tmp_path, cards):
    """At once, although each thread is in the middle of a batch that takes minutes."""
    text = sweep_cases.changed(sweep_cases.PLAIN, ("[2, 8, 32, 64]", "[1048576, 2097152, 4194304]"))
    text = text.replace("max = 3000", "max = 3_000_000").replace('"all"', "2")
    pressed = []

    def press():
        while sorted(cards.ran) != [0, 1, 2]:
            time.sleep(0.001)
        time.sleep(0.2)
        pressed.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    pressing = threading.Thread(target=press)
    pressing.start()
    with pytest.raises(Stopped, match="the same command goes on from there"):
        run(sweep_cases.study(text), tmp_path / "out", batch_seconds=600)
    assert time.monotonic() - pressed[0] < 8
    pressing.join()
    assert sum(cards.ran.values()) == 3
    assert not [thread for thread in threading.enumerate() if "_feed" in thread.name]


def test_the_command(tmp_path, cards, blank_pictures, capsys):
    (tmp_path / "plain.toml").write_text(sweep_cases.PLAIN)
    command = ["run", str(tmp_path / "plain.toml"), "--out", str(tmp_path / "out")]
    assert main([*command, "--devices", "1,3"]) == 2
    assert "--devices must be below 3, the number of GPUs, got 3" in capsys.readouterr().err
    for given, rule in [
        (["--devices", "1", "--threads", "2"], "error: leave out --threads with --devices: threa"),
        (["--workers", "gpus", "--threads", "2"], "leave out --threads with --workers gpus: thr"),
        (["--workers", "gpus", "--backend", "cpu"], "--workers 'gpus' can not be used with "
         "--backend cpu"),
        (["--workers", "sockets", "--backend", "cuda"], "--workers 'sockets' are for the CPU; "
         "--backend cuda needs 'gpus'"),
    ]:  # fmt: skip
        assert main([*command, *given]) == 2
        assert rule in capsys.readouterr().err
    assert main([*command, "--devices", "1,2"]) == 0
    assert set(cards.ran) <= {1, 2}
    assert cards.started == {1, 2}


def test_a_schedule_is_of_one_device(tmp_path, capsys):
    (tmp_path / "app.goal").write_text("num_ranks 1\nrank 0 {\na: calc 10\n}\n")
    command = ["run", str(tmp_path / "app.goal"), "--realizations", "2"]
    for devices in ("all", "0,1"):
        assert main([*command, "--devices", devices]) == 2
        assert "error: --devices is for a study, and " in capsys.readouterr().err
    assert main(command) == 0


def test_a_forecast_is_of_one_device(tmp_path, cards, capsys):
    (tmp_path / "plain.toml").write_text(sweep_cases.PLAIN)
    command = ["run", str(tmp_path / "plain.toml"), "--dry-run", "--backend"]
    assert main([*command, "cuda"]) == 0
    assert re.search("^time .* on one GPU, from the start", capsys.readouterr().out, re.M)
    assert main([*command, "cpu"]) == 0
    assert re.search("^time .* in one process, from the start", capsys.readouterr().out, re.M)
    assert main([*command, "cuda", "--devices", "all"]) == 0
    assert main([*command, "cuda", "--devices", "0,2"]) == 2
    told = "--devices is for a run: --dry-run tells the time on one GPU"
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("launcher", "backend", "seen"),
    [
        ("srun, a list", "auto", "5"),
        ("srun, a list", "cpu", "4,5,6,7"),
        ("srun --gpus-per-task=4", "cuda", "4"),
        ("torchrun of slices", "cuda", "MIG-c"),
        ("a list", "auto", "2,0"),
    ],
)
def test_a_question_takes_the_first_of_its_devices(monkeypatch, cards, launcher, backend, seen):
    environ(monkeypatch, LAUNCHERS[launcher][0])
    question = ["slowdown", "--ranks", "4", "--noise", "period=1ms,duration=10us"]
    assert main([*question, "--realizations", "20", "--backend", backend]) == 0
    assert os.environ["CUDA_VISIBLE_DEVICES"] == seen


# --- One case, whose realizations devices divide.

NOISE = "period=100us,duration=3us"
CASE = jf.Case(8, network="L=1us,o=200ns", noise=[jf.PeriodicNoise("100us", "3us")])
QUESTIONS = {
    "simulate": lambda **how: jf.simulate(CASE, 101, 7, first_realization=5, **how).ticks.tolist(),
    "spread": lambda **how: jf.simulate(
        dataclasses.replace(CASE, observe="spread"), 20, 7, **how
    ).ticks.tolist(),
    "slowdown": lambda **how: jf.slowdown(NOISE, [4, 8], realizations=100, **how).to_csv(),
    "noise_limit": lambda **how: jf.noise_limit(
        "period=1ms,duration=max,start=stationary", 8, at_most=1.5, realizations=200, **how
    ).to_csv(),
    "advise": lambda **how: jf.advise(
        8, network="L=1us,o=200ns", noise=[CASE.noise[0]], realizations=200, **how
    ).to_csv(),
    "compare_measured": lambda **how: jf.compare_measured(
        np.linspace(5e-6, 9e-6, 30), CASE, realizations=50, **how
    ).to_csv(),
    "infer_noise": lambda **how: jf.infer_noise(
        SIMULATED, 8, network="L=1us,o=200ns", realizations=500, **how
    ).to_csv(),
}
SIMULATED = jf.simulate(CASE, 300, 3, "cpu").samples[:, -1]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", QUESTIONS)
def test_devices_divide_the_realizations_of_a_question(cards, name):
    """With the same bits as the CPU, whose answer is of no device."""
    ask = QUESTIONS[name]
    alone = ask(backend="cpu")
    assert not cards.ran
    cards.together = threading.Barrier(2)
    assert ask(devices="0,2") == alone
    assert sorted(cards.ran) == [0, 2]
    cards.together = threading.Barrier(3)
    assert ask(devices="all", backend="cuda") == alone
    assert sorted(cards.ran) == [0, 1, 2]
    assert cards.ran[0] == cards.ran[2] > cards.ran[1]


@pytest.mark.parametrize("count", [1, 2, 3, 100])
def test_the_share_of_a_device(cards, count):
    told = []
    cards.together = threading.Barrier(min(count, 3))
    found = jf.simulate(CASE, count, 7, devices="all", progress=lambda *done: told.append(done))
    assert (found.ticks == jf.simulate(CASE, count, 7, "cpu").ticks).all()
    assert cards.ran == Counter(range(min(count, 3)))
    done, of = zip(*told, strict=True)
    assert sorted(done) == list(done)
    assert (done[-1], set(of)) == (count, {count})


def test_a_device_that_fails_leaves_its_share_to_others(cards):
    cards.failing, cards.together = {1}, threading.Barrier(3)
    with pytest.warns(backends.UnusedGPUWarning, match="GPU 1 is not used any more in this run: "):
        found = jf.simulate(CASE, 30, 7, devices="all")
    assert (found.ticks == jf.simulate(CASE, 30, 7, "cpu").ticks).all()
    cards.failing = {0, 1, 2}
    with (
        pytest.warns(backends.UnusedGPUWarning),
        pytest.raises(backends.BackendError, match="backend 'cuda' failed: an illegal memory"),
    ):
        jf.simulate(CASE, 30, 7, devices="all")


@pytest.mark.filterwarnings("ignore::jitterfly.backends.UnusedGPUWarning")
@pytest.mark.parametrize("count", [1, 2, 30])
@pytest.mark.parametrize("fault", ["failing", "full"])
@pytest.mark.parametrize("left", [0, 4])
def test_one_device_that_is_left_takes_all_shares(cards, count, fault, left):
    """However many others fail at a share, and although it had none itself."""
    cards.count = 5
    setattr(cards, fault, set(range(5)) - {left})
    found = jf.simulate(CASE, count, 7, "cuda", devices="all")
    assert (found.ticks == jf.simulate(CASE, count, 7, "cpu").ticks).all()
    assert cards.ran[left] >= 1
    assert max(cards.ran[number] for number in range(5) if number != left) <= 1


@pytest.mark.filterwarnings("ignore::jitterfly.backends.UnusedGPUWarning")
@pytest.mark.parametrize("count", [1, 30])
def test_a_share_at_which_all_devices_fail(cards, count):
    cards.count, cards.failing = 5, set(range(5))
    with pytest.raises(backends.DeviceFailed):
        jf.simulate(CASE, count, 7, devices="all")
    assert sorted(cards.ran) == list(range(5))
    assert sorted(cards.ran.values())[:4] == [1] * 4


def test_a_device_that_fails_is_tried_once_in_a_question(cards):
    cards.failing, cards.together = {1}, threading.Barrier(3)
    with pytest.warns(backends.UnusedGPUWarning, match="GPU 1 is not used any more in this run: "):
        found = jf.slowdown(NOISE, [2, 4, 8], realizations=60, devices="all")
    assert found.to_csv() == jf.slowdown(NOISE, [2, 4, 8], realizations=60, backend="cpu").to_csv()
    assert cards.ran[1] == 1
    assert min(cards.ran[0], cards.ran[2]) > 1


def test_a_device_that_fails_is_tried_once_for_all_rows_of_a_table(cards, tmp_path):
    table = tmp_path / "osu.txt"
    table.write_text("# OSU MPI Allreduce Latency Test v7.2\n# Size  Avg Latency(us)\n"
                     "8  6.0\n64  6.1\n512  6.4\n")  # fmt: skip
    ask = functools.partial(jf.compare_measured, table, CASE, realizations=60, ranks=8)
    cards.failing, cards.together = {1}, threading.Barrier(3)
    with pytest.warns(backends.UnusedGPUWarning, match="GPU 1 is not used any more") as told:
        found = ask(devices="all")
    assert sum("GPU 1" in str(one.message) for one in told) == cards.ran[1] == 1
    assert min(cards.ran[0], cards.ran[2]) >= len({row.bytes for row in found.rows}) == 3
    assert found.to_csv() == ask(backend="cpu").to_csv()


@pytest.mark.timing
def test_who_stops_waiting_stops_the_devices(cards):
    """As Ctrl-C does, or a limit of seconds: by an error of `progress`."""

    def progress(done, count):
        raise KeyboardInterrupt

    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        jf.simulate(dataclasses.replace(CASE, ranks=2**17), 10**6, 7, devices="all",
                    progress=progress)  # fmt: skip
    assert time.monotonic() - started < 8
    assert not [thread for thread in threading.enumerate() if "_feed" in thread.name]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"devices": "0,3"}, "devices must be below 3, the number of GPUs, got 3"),
        ({"devices": []}, r"devices must be 'all' or different numbers .* 0,2, got \[\]"),
        ({"devices": 0, "backend": "cpu"}, "leave out `devices` with `backend` = cpu"),
        ({"devices": "all", "backend": "cpu"}, "leave out `devices` with `backend` = cpu"),
        ({"devices": 0, "threads": 2}, "leave out `threads` with `devices`: threads are the CPU's"),
        ({"devices": "all", "threads": 2}, "leave out `threads` with `devices`: threads are the"),
        (
            {"devices": 0, "backend": "tpu"},
            "backend must be one of 'auto', 'cpu', 'cuda', got",
        ),
    ],
)
@pytest.mark.parametrize("name", ["simulate", "slowdown", "advise"])
def test_devices_that_a_question_can_not_have(cards, name, how, message):
    with pytest.raises(ValueError, match=message):
        QUESTIONS[name](**how)


def test_a_question_without_the_memory_for_its_results(cards, monkeypatch):
    """Devices would each have it for their shares."""
    monkeypatch.setattr("jitterfly.resources.available_memory", lambda: 2**20)
    with pytest.raises(ValueError, match="not enough memory for the results of 100000 real"):
        jf.simulate(CASE, 100_000, devices="all")


def test_commands_that_devices_answer(cards, capsys):
    command = ["slowdown", "--noise", NOISE, "--ranks", "4", "--realizations", "50", "--json"]
    assert main([*command, "--backend", "cpu"]) == 0
    alone = json.loads(capsys.readouterr().out)
    cards.together = threading.Barrier(2)
    assert main([*command, "--devices", "0,2"]) == 0
    assert json.loads(capsys.readouterr().out) == alone | {"command_line": ANY}
    assert cards.ran == {0: 1, 2: 1}
    for given, told in [
        (["--devices", "all", "--backend", "cpu"], "leave out --devices with --backend cpu"),
        (["--devices", "all", "--threads", "2"], "leave out --threads with --devices: threads "),
    ]:
        assert main([*command, *given]) == 2
        assert told in capsys.readouterr().err
    assert main([*command, "--devices", "0,0"]) == 2
    told = "--devices must be 'all' or different numbers of GPUs such as 0,2, got '0,0'"
    assert told in capsys.readouterr().err
