"""Which GPUs a process takes, by launcher, local rank and CUDA_VISIBLE_DEVICES; no GPU needed."""

import os

import pytest
from support import sweep_cases

from jitterfly import backends, launchers
from jitterfly.sweep import executors, run

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
        listed = launchers.listed_devices()
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
    assert " ".join(launchers.own_devices(lambda: 4)) == own


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_one_engine_takes_the_first_of_them(monkeypatch, four, launcher):
    environment, own = LAUNCHERS[launcher]
    launchers.bind_device(lambda: 4, bound := dict(environment))
    names = launchers.listed_devices(bound)
    taken = [str(number) for number in range(4)] if names is None else names
    assert taken[:1] == own.split()[:1]
    launchers.bind_device(lambda: 4, again := dict(bound))
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
        launchers.show_device(name, worker := dict(environment))
        launchers.bind_device(lambda: 4, worker)
        taken += launchers.listed_devices(worker)
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
