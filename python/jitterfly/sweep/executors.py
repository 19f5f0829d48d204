"""Who runs the batches: this process, spawned workers, or the ranks of an MPI job."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

from .. import engine
from ..fields import check_integer, shorten
from . import gpu
from .pool import Pool

MOST_WORKERS = 1024
MPI_COMMAND = "mpiexec -n N python -m mpi4py.futures -m jitterfly run STUDY.toml --workers mpi"
_TOPOLOGY = Path("/sys/devices/system/cpu")


class InProcess(Executor):
    """Runs a call when it is submitted, in this thread: Ctrl-C stops the engine at once."""

    num_workers = 1

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """As every executor's, but the future is done."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def check_workers(workers: str | int | None, backend: str, threads: int | None) -> str | int | None:
    """What `workers` means here: None (this process), "mpi", "gpus", "sockets" or a number.

    Raises:
        ValueError: it is none of these, or can not be had here; the message says why.
    """
    if workers is None:
        return "mpi" if _mpi_world() else None
    if isinstance(workers, str) and workers.isdigit():
        workers = int(workers)
    if not isinstance(workers, str):
        workers = check_integer(workers, "workers", 1, MOST_WORKERS)
    elif workers not in ("gpus", "sockets", "mpi"):
        raise ValueError(
            f"workers must be 'gpus', 'sockets', 'mpi' or a number, got {shorten(workers)}"
        )
    if workers == "mpi" and not _mpi_world():
        raise ValueError(f"workers 'mpi' needs N >= 2 processes started as `{MPI_COMMAND}`")
    if workers == "gpus":
        if backend == "cpu":
            raise ValueError("workers 'gpus' can not be used with backend 'cpu'")
        if threads is not None:
            raise ValueError("threads must be None with workers 'gpus': they are the CPU's")
        if problem := engine.gpu_problem():
            raise ValueError(f"workers 'gpus' can not be used here: {problem}")
    elif workers != "mpi" and backend == "cuda":
        raise ValueError(f"workers {workers!r} are for the CPU; backend 'cuda' needs 'gpus'")
    return workers


def open_executor(workers: str | int | None, threads: int | None) -> Executor:
    """The executor of `workers`, as `check_workers` gave it."""
    if workers is None:
        return InProcess()
    if workers == "mpi":
        from mpi4py.futures import MPIPoolExecutor

        return MPIPoolExecutor(initializer=_leave_signals)
    if workers == "gpus":
        return Pool(gpu.bind, range(len(engine.gpu_devices())))
    groups = sockets() if workers == "sockets" else shares(int(workers))
    return Pool(_stay, [None if threads else group for group in groups])


def backend_of(workers: str | int | None, backend: str) -> str:
    """The backend for the batches: processes of the CPU leave the GPU alone."""
    return "cpu" if workers == "sockets" or isinstance(workers, int) else backend


def depth(executor: Executor) -> int:
    """How many batches to have in flight: one in work and one waiting for each worker."""
    if isinstance(executor, InProcess):
        return 1
    for name in ("num_workers", "_max_workers"):
        number = getattr(executor, name, None)
        if isinstance(number, int) and number > 0:
            return 2 * number
    return 2 * (os.cpu_count() or 1)


def sockets() -> list[list[int]]:
    """The processors that this process may use, by socket."""
    found: dict[int, list[int]] = {}
    for package, _, processor in _processors():
        found.setdefault(package, []).append(processor)
    return list(found.values())


def shares(number: int) -> list[list[int]]:
    """The processors that this process may use, cut into `number` neighbourhoods."""
    own = [processor for _, _, processor in _processors()]
    if number >= len(own):
        return [[own[i % len(own)]] for i in range(number)]
    return [own[i * len(own) // number : (i + 1) * len(own) // number] for i in range(number)]


def _processors() -> list[tuple[int, int, int]]:
    """(socket, core, number) of each; the two threads of a core are neighbours."""
    if hasattr(os, "sched_getaffinity"):
        numbers = sorted(os.sched_getaffinity(0))
    else:
        numbers = list(range(os.cpu_count() or 1))

    def read(processor: int, name: str) -> int:
        try:
            return int((_TOPOLOGY / f"cpu{processor}/topology/{name}").read_text())
        except (OSError, ValueError):
            return 0

    return sorted((read(i, "physical_package_id"), read(i, "core_id"), i) for i in numbers)


def _stay(group: list[int] | None) -> None:
    """Keep this process on a group of processors; the engine takes a thread for each."""
    if group and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, group)


def _leave_signals() -> None:
    """Ctrl-C and SIGTERM, which all ranks get, are for rank 0: it ends the job.

    A launcher kills all ranks as soon as one of them dies of a signal, before rank 0 is in order.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def check_not_copies() -> None:
    """Raise ValueError if a launcher started this program several times, and none knows the others.

    For a program that is run whole, not for one that divides work between ranks by itself.
    """
    number = gpu.world_size() or 1
    if number == 1 or _mpi_world():
        return
    if _under_mpi():
        raise ValueError(
            f"the launcher started {number} processes, and mpi4py sees 1: the MPI library that "
            "mpi4py was built for is not the launcher's"
        )
    raise ValueError(
        f"the launcher started {number} processes, and each of them would run all of it: "
        f"-m mpi4py.futures is missing, as in `{MPI_COMMAND}`"
    )


def _mpi_world() -> bool:
    """Whether this is rank 0 of several processes under `python -m mpi4py.futures`."""
    return _under_mpi() and sys.modules["mpi4py.MPI"].COMM_WORLD.Get_size() > 1


def _under_mpi() -> bool:
    """Whether this is rank 0 under `python -m mpi4py.futures`.

    Nothing is imported to find out: importing mpi4py.MPI would start MPI.
    """
    names = ("mpi4py.futures._core", "mpi4py.futures._lib")  # the latter before mpi4py 4
    return any(getattr(sys.modules.get(name), "SharedPool", None) is not None for name in names)
