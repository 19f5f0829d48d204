"""Rank, size, local rank of a process from variables of srun and mpirun (SLURM_PROCID, PMI_RANK).

A process may have the variables of several launchers, since `mpirun` in a Slurm job hands those of
Slurm on: an MPI launcher comes before Slurm. Nothing is sent here: `sweep.executors` runs over MPI
ranks, and `sweep.driver` gathers their results.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple


class _Variables(NamedTuple):
    """The names of the variables of one launcher; "" where it has none."""

    rank: str  # of all processes
    size: str
    local_rank: str  # of those on the same machine
    local_size: str


_LAUNCHERS = (
    _Variables(  # Open MPI
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_LOCAL_SIZE",
    ),
    _Variables("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),  # MPICH, Intel MPI
    _Variables("PMI_RANK", "PMI_SIZE", "PMI_LOCAL_RANK", "PMI_LOCAL_SIZE"),
    _Variables(  # MVAPICH
        "MV2_COMM_WORLD_RANK",
        "MV2_COMM_WORLD_SIZE",
        "MV2_COMM_WORLD_LOCAL_RANK",
        "MV2_COMM_WORLD_LOCAL_SIZE",
    ),
    _Variables("", "", "PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE"),  # Cray PALS
    _Variables("", "", "LOCAL_RANK", "LOCAL_WORLD_SIZE"),  # torchrun
    # Not SLURM_NTASKS, which a batch script has, too: there one process runs for all of the job.
    _Variables("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""),
)


def task(environment: Mapping[str, str] | None = None) -> tuple[int, int] | None:
    """The rank of this process in a parallel job step, and how many processes there are.

    None where it is the only one. Slurm's batch script counts as one, whatever its job has.

    Examples
    --------
    >>> task({"SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "16"})
    (3, 16)
    >>> task({"SLURM_PROCID": "0", "SLURM_NTASKS": "16"}) is None
    True
    """
    for launcher in _LAUNCHERS:
        ranks = list(_numbers(environment, launcher.rank, launcher.size))
        if len(ranks) == 2 and ranks[0] < ranks[1] > 1:
            return ranks[0], ranks[1]
    return None


def world_size(environment: Mapping[str, str] | None = None) -> int | None:
    """The number of processes that the launcher started on all machines; None if it is not said."""
    return next(_numbers(environment, *(launcher.size for launcher in _LAUNCHERS)), None)


def world_variables() -> list[str]:
    """The variables in which a launcher says how many processes it started."""
    names = dict.fromkeys(launcher.size for launcher in _LAUNCHERS)
    return [name for name in names if name in os.environ]


def local_rank(environment: Mapping[str, str] | None = None) -> int | None:
    """The number of this process on its machine; None where no launcher tells it."""
    return next(_numbers(environment, *(launcher.local_rank for launcher in _LAUNCHERS)), None)


def local_size(environment: Mapping[str, str] | None = None) -> int | None:
    """The number of processes that the launcher started on this machine; None if it is not said."""
    size = next(_numbers(environment, *(launcher.local_size for launcher in _LAUNCHERS)), None)
    environment = os.environ if environment is None else environment
    if size is None and "SLURM_LOCALID" in environment:  # "4" or, over several nodes, "4(x2)"
        tasks = environment.get("SLURM_STEP_TASKS_PER_NODE", "").split("(")[0].split(",")[0]
        size = int(tasks) if tasks.isdigit() else None
    return size


def _numbers(environment: Mapping[str, str] | None, *names: str) -> Iterator[int]:
    """The whole numbers among the values of some variables, in the order of `names`."""
    environment = os.environ if environment is None else environment
    for name in names:
        text = environment.get(name, "")
        if text.isascii() and text.isdigit():
            yield int(text)
