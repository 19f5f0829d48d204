"""Which engine runs a case: whether it can be used here, and whether its memory is enough."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from . import _core, gpus, memory
from .fields import (
    MOST_REALIZATIONS,
    MOST_SEED,
    MOST_THREADS,
    check_choice,
    check_integer,
    shorten,
)
from .syntax import read_count

BACKENDS = ("auto", "cpu", "cuda")
_ALSO = {"gpu": "cuda"}
_NOT_HERE = "backend 'cuda' can not be used here: "
_BATCH_LOADS = 2**28  # bytes: kBatchLoads of cuda/gpu/batch.h, of two bytes each


class BackendError(ValueError, RuntimeError):
    """The backend that was asked for can not be used here; the message says why."""


def backend_named(backend: str) -> str:
    """The backend that a word means: "gpu" is "cuda"; what is none is left to `check_backend`."""
    return _ALSO.get(backend, backend) if isinstance(backend, str) else backend


def check_backend(backend: str, threads: int | None = None) -> None:
    """Raise if `simulate` could not take these arguments on this machine, whatever the case.

    Parameters
    ----------
    backend : "auto", "cpu" or "cuda"
    threads : int, optional
        Of the CPU backend, from 1 to 1024.

    Raises
    ------
    BackendError
        "cuda" can not be used here; the message says why.
    ValueError
        An argument out of range; threads together with "cuda".
    """
    check_choice(backend, "backend", BACKENDS)
    if threads is not None:
        check_integer(threads, "threads", 1, MOST_THREADS)
        if backend == "cuda":
            raise ValueError("threads must be None with backend 'cuda': they are the CPU's")
    if backend == "cuda" and (problem := gpus.problem()):
        raise BackendError(f"{_NOT_HERE}{problem}")


def takes_gpu(backend: str, threads: int | None) -> bool:
    """Whether this process shall use a GPU, memory permitting; `check_backend` let both through.

    Warns
    -----
    UnusedGPUWarning
        With "auto": there is a GPU, and it can not be used; why, and what mends it.
    """
    if backend != "auto" or threads:
        return backend == "cuda"
    if problem := gpus.problem():
        gpus.warn_of_unused(problem)
    return not problem


def check_run(
    realizations: int,
    seed: int,
    backend: str,
    threads: int | None,
    progress: Callable[[int, int], object] | None,
    first: int,
) -> tuple[int, int, int]:
    """What every `simulate` checks of its arguments; gives realizations, seed and first."""
    realizations = read_count(realizations, "realizations", 1, MOST_REALIZATIONS)
    first = check_integer(first, "first", 0, MOST_REALIZATIONS - realizations)
    seed = read_count(seed, "seed", 0, MOST_SEED)
    check_backend(backend, threads)
    if progress is not None and not callable(progress):
        raise ValueError(f"progress must be None or callable, got {shorten(progress)}")
    return realizations, seed, first


@contextmanager
def reporting(
    progress: Callable[[int, int], object] | None, realizations: int, backend: str
) -> Iterator[Callable[[int], None] | None]:
    """What an engine calls with the realizations done, or None; around its run.

    Raises
    ------
    BackendError
        The GPU's engine failed. Errors of `progress`, which come through the engine, stay theirs.
    """
    theirs: list[Exception] = []

    def report(done: int) -> None:
        try:
            progress(done, realizations)  # type: ignore[misc]
        except Exception as error:
            theirs.append(error)
            raise

    try:
        yield None if progress is None else report
    except RuntimeError as error:
        if backend != "cuda" or error in theirs:
            raise
        raise BackendError(f"backend 'cuda' failed: {error}") from None


def choose_backend(
    program: _core.Program,
    backend: str,
    threads: int,
    realizations: int,
    held: int,
    available: int | None,
) -> str:
    """The engine for a program: "cpu" or "cuda".

    Parameters
    ----------
    program : _core.Program
        What to run.
    backend : "auto", "cpu" or "cuda"
        As `check_backend` let it through.
    threads : int
        0: not given.
    realizations : int
        How many.
    held : int
        Bytes of the results, which are in the machine's memory with either engine.
    available : int, optional
        Bytes that there are of it.

    Warns
    -----
    UnusedGPUWarning
        With "auto": there is a GPU, but it can not be used, or can not run this; why.

    Raises
    ------
    BackendError
        With "cuda": not enough device memory for one batch, or not enough memory of the machine
        for the loads of its messages; or the device fails.
    ValueError
        Not enough memory for the CPU engine.
    """
    if takes_gpu(backend, threads):
        problem = _device_problem(program, realizations, held, available)
        if not problem:
            return "cuda"
        if backend == "cuda":
            raise BackendError(problem)
        gpus.warn_of_cpu(problem.removeprefix(_NOT_HERE))
    needed = held + _core.memory(program, "cpu", threads, realizations)
    memory.check_memory(needed, "the realizations in flight and the results", available)
    return "cpu"


def _device_problem(
    program: _core.Program, realizations: int, held: int, available: int | None
) -> str:
    """Why the device can not run it now; "" if it can."""
    try:
        memory.check_memory(
            held + _host_loads(program, realizations),
            "the results and the loads of messages under congestion, which the host makes",
            available,
        )
        needed = _core.memory(program, "cuda", 0, realizations)
        memory.check_memory(
            needed, "one realization", _core.gpu_memory_available(), "device memory"
        )
    except (RuntimeError, ValueError) as error:
        return f"{_NOT_HERE}{error}"
    return ""


def _host_loads(program: _core.Program, realizations: int) -> int:
    """Bytes of the machine's memory that a batch of the device takes at most, under congestion.

    Its tables, one for each realization, and what every thread makes them with.
    """
    table, maker = program.load_bytes
    if table == 0:
        return 0
    batch = max(1, min(realizations, _BATCH_LOADS // table))
    return batch * table + min(batch, os.cpu_count() or 1) * maker
