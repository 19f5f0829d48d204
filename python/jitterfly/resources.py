"""The resources of a process: memory under its control groups, GPUs and ranks by its launcher.

An allocation that the machine can not hold is an error before it is made.

The launcher (srun, mpirun) says rank, size, local rank and GPUs in variables. A process may have
those of several launchers, since `mpirun` in a Slurm job hands those of Slurm on: an MPI launcher
comes before Slurm. Nothing is sent here: `executors` runs over MPI ranks, and `sweep.driver`
gathers their results.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import NamedTuple

from .units import show_bytes

_ROOT = Path("/")
_NO_LIMIT = 2**60  # version 1 of control groups has no word for it: its largest number of pages


def available_memory(root: Path = _ROOT) -> int | None:
    """The memory this process may still take, in bytes; None where the system does not say.

    The least of what the machine has to spare and what is left of the control groups (version 1
    or 2) that the process belongs to.
    """
    found = [_left_of_machine(root), *_left_of_control_groups(root)]
    known = [value for value in found if value is not None]
    return min(known) if known else None


def peak_memory() -> int:
    """Return the most memory this process has had so far, in bytes.

    Linux counts a parent's peak for `ru_maxrss` of a program that the parent started, so the
    process's own status is read where there is one.
    """
    for line in (_read_file("/proc/self/status") or "").splitlines():
        words = line.split()
        if len(words) >= 2 and words[0] == "VmHWM:" and words[1].isdigit():
            return int(words[1]) * 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def check_memory(needed: int, what: str, available: int | None, place: str = "memory") -> None:
    """Raise ValueError when more is needed than available; the message has both numbers."""
    if available is not None and needed > available:
        raise ValueError(
            f"not enough {place} for {what}: needs {show_bytes(needed)}, "
            f"available {show_bytes(available)}"
        )


@contextmanager
def check_allocation(what: str) -> Iterator[None]:
    """Raise ValueError if an allocation of `what` fails within it."""
    try:
        yield
    except MemoryError:
        raise ValueError(f"not enough memory for {what}") from None


def _read_file(path: str) -> str | None:
    try:
        with FileIO(path) as file:
            return file.readall().decode("ascii", errors="replace")
    except OSError:
        return None


def _left_of_machine(root: Path) -> int | None:
    """Return the bytes that Linux calls available; of other systems all there are, or None."""
    for line in (_read_file(f"{root}/proc/meminfo") or "").splitlines():
        words = line.split()
        if len(words) >= 2 and words[0] == "MemAvailable:" and words[1].isdigit():
            return int(words[1]) * 1024
    try:  # not Linux: what is free is not known, what is there is
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _left_of_control_groups(root: Path) -> list[int | None]:
    """Return the bytes left under the limit of each control group of this process."""
    limits: list[int | None] = []
    for line in (_read_file(f"{root}/proc/self/cgroup") or "").splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if controllers == "":
            base, files = "sys/fs/cgroup", ("memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            base = "sys/fs/cgroup/memory"
            files = ("memory.limit_in_bytes", "memory.usage_in_bytes")
        else:
            continue
        # A parent's limit holds as well; inside a container the own path may not be visible.
        # Text, since every simulation asks: with objects for the paths it takes twice as long.
        names = [name for name in path.split("/") if name]
        for depth in range(len(names), -1, -1):
            limits.append(_left_of_group("/".join([f"{root}/{base}", *names[:depth]]), *files))
    return limits


def _left_of_group(folder: str, limit_file: str, usage_file: str) -> int | None:
    """Return the bytes left in one control group; None without a limit."""
    limit = (_read_file(f"{folder}/{limit_file}") or "").strip()
    if not limit.isdigit() or int(limit) >= _NO_LIMIT:
        return None  # "max" in version 2; what is used need not be read then, which takes longest
    usage = (_read_file(f"{folder}/{usage_file}") or "").strip()
    if not usage.isdigit():
        return None
    # Cache can be given up for us.
    stat = dict(
        line.split()
        for line in (_read_file(f"{folder}/memory.stat") or "").splitlines()
        if " " in line
    )
    cache = int(stat.get("inactive_file", stat.get("total_inactive_file", "0")))
    return max(int(limit) - int(usage) + cache, 0)


VISIBLE_DEVICES = "CUDA_VISIBLE_DEVICES"
NO_GPU = ("", "-1", "NoDevFiles")  # what hides all GPUs, where it comes first in VISIBLE_DEVICES


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
    """The number of this process on its machine; None if no launcher sets it."""
    return next(_numbers(environment, *(launcher.local_rank for launcher in _LAUNCHERS)), None)


def local_size(environment: Mapping[str, str] | None = None) -> int | None:
    """The number of processes that the launcher started on this machine; None if it is not said."""
    size = next(_numbers(environment, *(launcher.local_size for launcher in _LAUNCHERS)), None)
    environment = os.environ if environment is None else environment
    if size is None and "SLURM_LOCALID" in environment:  # "4" or, over several nodes, "4(x2)"
        tasks = environment.get("SLURM_STEP_TASKS_PER_NODE", "").split("(")[0].split(",")[0]
        size = int(tasks) if tasks.isdigit() else None
    return size


def gpus_per_task(environment: Mapping[str, str] | None = None) -> int | None:
    """The number of GPUs that srun bound each of its tasks to; None where it bound none.

    In a process that an MPI launcher started within such a job, the variables say nothing of it.

    Examples
    --------
    >>> gpus_per_task({"SLURM_LOCALID": "1", "SLURM_GPUS_PER_TASK": "h100:4"})
    4
    >>> gpus_per_task({"OMPI_COMM_WORLD_LOCAL_RANK": "1", "SLURM_GPUS_PER_TASK": "4"}) is None
    True
    """
    environment = os.environ if environment is None else environment
    of_others = (launcher.local_rank for launcher in _LAUNCHERS[:-1])
    if "SLURM_LOCALID" not in environment or any(name in environment for name in of_others):
        return None
    wanted = environment.get("SLURM_GPUS_PER_TASK", "")
    for entry in environment.get("SLURM_TRES_PER_TASK", "").split(","):
        if entry.startswith("gres/gpu"):  # gres/gpu=4, gres/gpu:h100=4
            wanted = wanted or entry
    number = wanted.replace("=", ":").rpartition(":")[2]
    return int(number) if number.isascii() and number.isdigit() else None


def listed_devices(environment: Mapping[str, str] | None = None) -> list[str] | None:
    """The entries of CUDA_VISIBLE_DEVICES before the first that names no device; None if unset.

    Examples
    --------
    >>> listed_devices({"CUDA_VISIBLE_DEVICES": "0, 2,-1,3"})
    ['0', '2']
    """
    seen = (os.environ if environment is None else environment).get(VISIBLE_DEVICES)
    if seen is None:
        return None
    entries: list[str] = []
    for entry in seen.split(","):
        name = entry.strip()
        if name in NO_GPU or name.startswith("-"):  # CUDA reads no further
            break
        entries.append(name)
    return entries


def own_devices(
    count: Callable[[], int], environment: Mapping[str, str] | None = None
) -> list[str]:
    """The devices that are for this process, as entries of CUDA_VISIBLE_DEVICES.

    Those that it sees, divided by the processes that a launcher started on this machine: of four
    devices and two processes the first takes 0 and 2, the second 1 and 3. Where there are more
    processes than devices, some share one. A process of `srun --gpus-per-task` has its own already.
    Slices of a GPU (MIG) are told apart only where they are listed: CUDA shows a process one.

    Parameters
    ----------
    count : callable
        Says how many devices there are, where CUDA_VISIBLE_DEVICES does not list them.
    environment : mapping, optional
        `os.environ` by default.
    """
    names = listed_devices(environment)
    if names is None:
        names = [str(number) for number in range(count())]
    rank, size = local_rank(environment), local_size(environment)
    if len(names) < 2 or rank is None or gpus_per_task(environment) == len(names):
        return names
    if size is None:  # of a batch script, which is alone, this is 0
        return names[rank % len(names) :][:1] if rank else names
    return names[rank::size] if size <= len(names) else [names[rank % len(names)]]


def bind_device(
    count: Callable[[], int], environment: MutableMapping[str, str] | None = None
) -> None:
    """Show CUDA in this process the first of its own devices only, if a launcher started several.

    CUDA reads CUDA_VISIBLE_DEVICES at its first call: a process is bound before that, or never. The
    parameters are those of `own_devices`.
    """
    environment = os.environ if environment is None else environment
    names = listed_devices(environment)
    if not local_rank(environment) or (names is not None and len(names) < 2):
        return  # the first one is taken anyhow
    if own := own_devices(count, environment):
        show_device(own[0], environment)


def show_device(name: str, environment: MutableMapping[str, str] | None = None) -> None:
    """Show CUDA in this process one device only; whoever binds it later finds nothing to choose."""
    (os.environ if environment is None else environment)[VISIBLE_DEVICES] = name


def _numbers(environment: Mapping[str, str] | None, *names: str) -> Iterator[int]:
    """The whole numbers among the values of some variables, in the order of `names`."""
    environment = os.environ if environment is None else environment
    for name in names:
        text = environment.get(name, "")
        if text.isascii() and text.isdigit():
            yield int(text)
