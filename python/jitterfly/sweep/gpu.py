"""Which GPU a worker takes: the one it is bound to, else by its number on the machine.

CUDA reads CUDA_VISIBLE_DEVICES at its first call, so a process is bound before that, or never.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, MutableMapping

from .. import engine
from ..engine import VISIBLE_DEVICES

# Number of a process on its machine, as launchers tell it: Open MPI, Intel MPI and MPICH,
# MVAPICH, Cray PALS, torchrun, Slurm.
_LOCAL_RANK = (
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "MPI_LOCALRANKID",
    "MV2_COMM_WORLD_LOCAL_RANK",
    "PMI_LOCAL_RANK",
    "PALS_LOCAL_RANKID",
    "LOCAL_RANK",
    "SLURM_LOCALID",
)
_LOCAL_SIZE = (
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "MPI_LOCALNRANKS",
    "MV2_COMM_WORLD_LOCAL_SIZE",
    "PMI_LOCAL_SIZE",
    "PALS_LOCAL_SIZE",
    "LOCAL_WORLD_SIZE",
)
# How many it started in all. Not SLURM_NTASKS, which a batch script has, too: there one process
# runs for all of the job.
_WORLD_SIZE = (
    "OMPI_COMM_WORLD_SIZE",
    "PMI_SIZE",
    "MV2_COMM_WORLD_SIZE",
    "SLURM_STEP_NUM_TASKS",
)
_COUNT = "from jitterfly.engine import core; print(len(core.devices()))"


def local_rank(environment: Mapping[str, str] | None = None) -> int | None:
    """The number of this process on its machine; None where no launcher tells it."""
    return _first(_LOCAL_RANK, os.environ if environment is None else environment)


def local_size(environment: Mapping[str, str] | None = None) -> int | None:
    """How many processes the launcher started on this machine; None where it does not say."""
    environment = os.environ if environment is None else environment
    found = _first(_LOCAL_SIZE, environment)
    if found is None and "SLURM_LOCALID" in environment:  # "4" or, over several nodes, "4(x2)"
        tasks = environment.get("SLURM_STEP_TASKS_PER_NODE", "").split("(")[0].split(",")[0]
        found = int(tasks) if tasks.isdigit() else None
    return found


def world_size(environment: Mapping[str, str] | None = None) -> int | None:
    """How many processes the launcher started on all machines; None where it does not say."""
    return _first(_WORLD_SIZE, os.environ if environment is None else environment)


def world_variables(environment: Mapping[str, str] | None = None) -> list[str]:
    """The variables in which the launcher says so."""
    environment = os.environ if environment is None else environment
    return [name for name in _WORLD_SIZE if name in environment]


def count_devices() -> int:
    """GPUs that a new process would see; asked of one, so that this one stays free to choose."""
    if not engine.gpu_present():
        return 0
    done = subprocess.run([sys.executable, "-c", _COUNT], capture_output=True, text=True)
    return int(done.stdout) if done.returncode == 0 else 0


def bind(number: int | None = None, environment: MutableMapping[str, str] | None = None) -> None:
    """Show CUDA one GPU only: number `number` (modulo how many there are) of those it may see.

    Parameters
    ----------
    number : int, optional
        The local rank by default; where there is none nothing is changed.
    environment : mapping, optional
        `os.environ` by default.
    """
    environment = os.environ if environment is None else environment
    number = local_rank(environment) if number is None else number
    seen = environment.get(VISIBLE_DEVICES)
    entries = None if seen is None else [entry for entry in seen.split(",") if entry.strip()]
    if not number or (entries is not None and len(entries) < 2):
        return  # nobody to tell apart, or the first, or bound by the launcher
    if entries is None:
        entries = [str(device) for device in range(count_devices())]
    if entries:
        environment[VISIBLE_DEVICES] = entries[number % len(entries)]


def _first(names: tuple[str, ...], environment: Mapping[str, str]) -> int | None:
    for name in names:
        if environment.get(name, "").isdigit():
            return int(environment[name])
    return None
