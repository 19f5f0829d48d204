"""Choice of backend, cpu or cuda: GPU and driver detection; no GPU memory: error, or the CPU.

This is the one module that imports the compiled `_core`; the others take it from here. It knows
whether this process can use a GPU; where there is one that it can not use, what mends that; and
whether the memory of a backend is enough for a program. `info` says all that is known of the
machine, the build and its devices.

While the engine runs, the caller's thread looks for Ctrl-C: `make_poll` in
bindings/binding_helpers.h, called by cuda/cpu/thread_pool.cpp, cuda/gpu/run.cuh and
cuda/congestion/run.cuh.
"""

from __future__ import annotations

import ctypes
import functools
import multiprocessing
import os
import platform
import re
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from . import _core, resources
from .fields import (
    MAX_REALIZATIONS,
    MAX_SEED,
    MAX_THREADS,
    Int,
    IntOrText,
    check_choice,
    check_integer,
    parameter,
    shorten,
    stacklevel_of_user,
)
from .progress import EVERY_LINE, SOON, ProgressLine, realizations_done, telling
from .resources import NO_GPU, VISIBLE_DEVICES, task
from .syntax import read_count
from .units import show_bytes
from .version import __version__

core = _core
"""The compiled module: its programs, and what runs them."""
_DEVICES = Path("/dev")
_GPU_FILE = re.compile("nvidia[0-9]")
# The oldest driver for each major version of CUDA; it serves all its minor versions.
_OLDEST_DRIVER = {12: 525, 13: 580}
_FETCHED = 13  # what pip fetches: CUDA_FROM_PYPI in python/build_backend/jitterfly_build.py
_FORKED = (
    "CUDA was started before this process was forked, and can not be used after a fork: start "
    "processes with 'spawn' or 'forkserver', or use the GPU only in the children"
)


class UnusedGPUWarning(RuntimeWarning):
    """A warning that backend "auto" takes the CPU beside a GPU; it says why, and what mends it.

    The results are the same; the time that they take is not. Where the GPU can not be used at all,
    a process says so once. `CUDA_VISIBLE_DEVICES=""` and `backend="cpu"` ask for the CPU: then
    nothing is said.
    """


class _Thread(threading.local):
    """The state of a thread that runs the batches of an engine (`bind_engine_thread`)."""

    device: int | None = None
    stop: threading.Event | None = None
    leaves = False  # to others what its GPU can not run


_thread = _Thread()


class _Process:
    """The state of CUDA in this process."""

    asked = False  # the driver was asked once, so that it answers at once
    started = False  # CUDA runs in this process
    forked = False  # CUDA ran in the parent when this process was forked
    warned: set[str] = set()  # noqa: RUF012 # the only instance is the class


def _after_fork() -> None:
    _Process.forked = _Process.forked or _Process.started


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def gpu_present(devices: Path | None = None, environment: Mapping[str, str] | None = None) -> bool:
    """Return whether the NVIDIA driver offers this process a GPU, without a start of CUDA.

    No GPU is offered where `CUDA_VISIBLE_DEVICES` hides all, or where the device files may not be
    opened, as in a job of a batch system that has not asked for a GPU.
    """
    devices = _DEVICES if devices is None else devices
    visible = (os.environ if environment is None else environment).get(VISIBLE_DEVICES)
    if visible is not None and visible.split(",")[0].strip() in NO_GPU:
        return False
    if any(os.access(file, os.R_OK | os.W_OK) for file in _gpu_files(devices)):
        return True
    # Windows' Linux has this file for every GPU, of whatever make.
    return (devices / "dxg").exists() and driver_version() is not None


def _gpu_files(devices: Path) -> list[str]:
    """The driver's files, one for each GPU. Every simulation asks, and a glob takes longer."""
    try:
        with os.scandir(devices) as entries:
            return [entry.path for entry in entries if _GPU_FILE.match(entry.name)]
    except OSError:
        return []


@functools.cache
def driver_version() -> tuple[int, int] | None:
    """The newest CUDA that the installed driver supports, (12, 2) for 12.2; None: no driver."""
    version = ctypes.c_int()
    try:
        if ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version)):
            return None
    except (OSError, AttributeError):
        return None
    return version.value // 1000, version.value % 1000 // 10


def gpu_problem() -> str:
    """Say why this process can not use a GPU, and what mends it where there is one; "" if it can.

    The first call starts CUDA. Where this build has no machine code for the GPU, the driver
    compiles it then, for some seconds; Ctrl-C is heard.
    """
    if _Process.forked:
        return _FORKED
    status = _cuda_status()
    if not status:
        _Process.started = True
        return ""
    return _with_remedy(status)


def _with_remedy(status: str) -> str:
    mend = gpu_remedy(status, core.build_info(), driver_version()) if gpu_present() else ""
    return f"{status}; {mend}" if mend else status


def count_devices() -> int:
    """Count the GPUs that CUDA shows this process, without the start of one."""
    if _Process.forked or not gpu_present():
        return 0
    count = core.device_count()
    _Process.started = _Process.started or count > 0
    return count


def device_problems(numbers: Sequence[int]) -> list[str]:
    """Say of each of these GPUs why this process can not use it; "" if it can.

    CUDA starts on all of them at the same time. Ctrl-C is heard.
    """
    statuses: dict[int, str] = {}

    def ask(number: int) -> None:
        try:
            core.use_device(number)
            statuses[number] = core.cuda_status()
        except RuntimeError as error:
            statuses[number] = f"no usable GPU: {error}"

    # Not those of an executor, for which Python waits at Ctrl-C.
    asking = [threading.Thread(target=ask, args=(number,), daemon=True) for number in numbers]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    return [_with_remedy(statuses[number]) if statuses[number] else "" for number in numbers]


def bind_engine_thread(device: int | None, stop: threading.Event, leaves: bool) -> None:
    """Bind this thread to a GPU, where one is given; what it runs ends when `stop` is set.

    Where it `leaves` to others what its GPU fails at, "auto" does not take the CPU for that.
    """
    if device is not None:
        try:
            core.use_device(device)
        except RuntimeError as error:
            raise DeviceFailed(f"{_NOT_HERE}{error}") from None
    _thread.device, _thread.stop, _thread.leaves = device, stop, leaves


def device_of_thread() -> int | None:
    """The GPU that `bind_engine_thread` gave this thread; None: the process's own, the first."""
    return _thread.device


def is_engine_thread() -> bool:
    """Return whether this thread runs an engine; then other threads do the statistics."""
    return _thread.stop is not None


def gpu_devices() -> list[dict[str, Any]]:
    """The facts on each GPU that this process can use."""
    return [] if gpu_problem() else [dict(device) for device in core.devices()]


# With this process's path: `python -c` would look in the current directory first.
_ASK = (
    "import json, sys; sys.path[:] = {path!r}; from jitterfly import backends; "
    "print(json.dumps([backends.gpu_problem(), len(backends.core.devices())]))"
)


def ask_devices() -> tuple[str, int]:
    """Ask a new process why it can use no GPU, "" if it can, and how many it sees.

    A process that starts CUDA holds a GPU. Where the administrator allows one process on each
    (compute mode EXCLUSIVE_PROCESS), none could follow: who only hands out work does not start it.
    """
    import json
    import subprocess

    if not gpu_present():  # so that there is nothing to hold
        return gpu_problem(), len(gpu_devices())
    program = _ASK.format(path=sys.path)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        return f"a process that looks for GPUs fails: {last[0]}", 0
    problem, count = json.loads(done.stdout)
    return str(problem), int(count)


def _cuda_status() -> str:
    """Ask `core.cuda_status`, in another thread where it may take long, so that Ctrl-C is heard."""
    in_main = threading.current_thread() is threading.main_thread()
    if _Process.asked or not in_main or not gpu_present():
        _Process.asked = True
        return core.cuda_status()
    statuses: list[str] = []
    asking = threading.Thread(target=lambda: statuses.append(core.cuda_status()), daemon=True)
    asking.start()
    asking.join()
    _Process.asked = True
    return statuses[0]


def gpu_remedy(status: str, build: Mapping[str, str], driver: tuple[int, int] | None) -> str:
    """Say what would let this process use the GPU that is there; "" where that is not known.

    Parameters
    ----------
    status : str
        Why it can not: `core.cuda_status()`.
    build : mapping
        What this build has: `core.build_info()`.
    driver : tuple, optional
        As `driver_version` gives it.
    """
    if driver is None:
        return (
            "the driver's library libcuda.so.1 can not be loaded: install the NVIDIA driver, or "
            "start the container with it (--gpus all, --nv)"
        )
    oldest = min(_OLDEST_DRIVER)
    if driver[0] < oldest:
        return f"the driver supports CUDA {_show_version(driver)} only: {_update_driver(oldest)}"
    if not build["cuda"]:
        return _reinstall_for(driver, "=OFF" in build["cuda_note"])
    supported, code = _show_version(driver), re.search(r"cudaError\w+", status)
    built = int(build["cuda"].split(".")[0])
    code_for = f"this build has code for {build['cuda_architectures']}"
    capability = re.search(r"compute capability (\d+)\.(\d+)", status)
    wanted = "".join(capability.groups()) if capability else "release"
    architectures = f"reinstall jitterfly with JITTERFLY_CUDA_ARCHITECTURES={wanted}"
    return {
        "cudaErrorInsufficientDriver": f"the driver supports CUDA {supported}, and this build "
        f"was made with CUDA {build['cuda']}: {_update_driver(built)}, or {_reinstall_for(driver)}",
        "cudaErrorUnsupportedPtxVersion": f"{code_for}, where 'virtual' is PTX of CUDA "
        f"{build['cuda']}, which this driver (CUDA {supported}) is too old to compile: "
        f"{architectures}, or update the driver",
        "cudaErrorNoKernelImageForDevice": f"{code_for}: {architectures}",
        "cudaErrorNoDevice": f"see what nvidia-smi says, and {VISIBLE_DEVICES}",
        "cudaErrorInitializationError": "if CUDA was started before this process was forked, start "
        "processes with 'spawn'; else see what nvidia-smi says",
        "cudaErrorDevicesUnavailable": "another process may have it for itself: see nvidia-smi",
        "cudaErrorSystemDriverMismatch": "the driver was updated while it ran: restart the machine",
    }.get(code[0] if code else "", "")


def _show_version(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def _update_driver(major: int) -> str:
    oldest = _OLDEST_DRIVER.get(major)
    return "update the driver" + (f" to {oldest} or newer" if oldest else "")


def _reinstall_for(driver: tuple[int, int], without_off: bool = False) -> str:
    """Say how to install for this machine: pip fetches a compiler for new drivers only."""
    advice = "reinstall jitterfly on this machine"
    if without_off:
        advice += " without JITTERFLY_CUDA=OFF"
    if driver[0] < _FETCHED:
        advice += f" with nvcc of CUDA {driver[0]} in PATH"
    return advice


def warn_of_unused(why: str) -> None:
    """Warn once that "auto" takes the CPU, if there is a GPU; `why` is `gpu_problem()`."""
    if why not in _Process.warned and gpu_present():
        warn_of_cpu(why)
        _Process.warned.add(why)


def warn_of_cpu(why: str) -> None:
    """Warn that "auto" takes the CPU although there is a GPU; shown at the user's line."""
    message = f"backend 'auto' takes the CPU: {why.removeprefix('no usable GPU: ')}"
    warnings.warn(message, UnusedGPUWarning, stacklevel=stacklevel_of_user())


BACKENDS = ("auto", "cpu", "cuda")
_ALSO = {"gpu": "cuda"}
_NOT_HERE = "backend 'cuda' can not be used here: "
_BATCH_LOADS = 2**28  # bytes: kBatchLoads of cuda/gpu/batch_memory.h, of two bytes each
_ROOM = 0.8  # of a GPU's memory, as available_memory() of cuda/gpu/engine.cu


class BackendError(ValueError, RuntimeError):
    """The backend that was asked for can not be used here; the message says why."""


class DeviceFailed(BackendError):
    """A GPU failed."""


class DeviceFull(DeviceFailed):
    """A GPU has not the memory for a batch, and another one may have it."""


def backend_named(backend: str) -> str:
    """The backend that a word names: "gpu" is "cuda". `check_backend` refuses other words."""
    return _ALSO.get(backend, backend) if isinstance(backend, str) else backend


def check_backend(backend: str, threads: Int | None = None) -> None:
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
    check_threads(backend, threads)
    if backend == "cuda" and (problem := gpu_problem()):
        kind = BackendError if device_of_thread() is None else DeviceFailed
        raise kind(f"{_NOT_HERE}{problem}")


def check_threads(backend: str, threads: Int | None) -> None:
    """Raise ValueError if these are no threads of the CPU backend, or "cuda" is to run."""
    if threads is not None:
        check_integer(threads, "threads", 1, MAX_THREADS)
        if backend == "cuda":
            gpu = parameter("backend", "cuda")
            raise ValueError(f"leave out {parameter('threads')} with {gpu}: threads are the CPU's")


def takes_gpu(backend: str, threads: Int | None) -> bool:
    """Return whether to use a GPU, memory permitting; `check_backend` let both through.

    Warns
    -----
    UnusedGPUWarning
        With "auto": there is a GPU, and it can not be used; why, and what mends it.

    Raises
    ------
    DeviceFailed
        Likewise in a thread that leaves its work to others then (`bind_engine_thread`).
    """
    if backend != "auto" or threads:
        return backend == "cuda"
    if problem := gpu_problem():
        if _thread.leaves:
            raise DeviceFailed(f"{_NOT_HERE}{problem}")
        warn_of_unused(problem)
    return not problem


def check_run_arguments(
    realizations: IntOrText,
    seed: IntOrText,
    backend: str,
    threads: Int | None,
    progress: Callable[[int, int], object] | None,
    first_realization: Int,
) -> tuple[int, int, int]:
    """Check the arguments that every `simulate` has.

    Returns
    -------
    realizations, seed, first_realization : int
    """
    realizations = read_count(realizations, "realizations", 1, MAX_REALIZATIONS)
    name, most = "first_realization", MAX_REALIZATIONS - realizations
    first_realization = check_integer(first_realization, name, 0, most)
    seed = read_count(seed, "seed", 0, MAX_SEED)
    check_backend(backend, threads)
    check_progress(progress)
    return realizations, seed, first_realization


def check_progress(progress: Any) -> Any:
    """Return a `progress`, which is None or can be called; ValueError for others."""
    if progress is not None and not callable(progress):
        raise ValueError(f"progress must be None or callable, got {shorten(progress)}")
    return progress


def check_draw(seed: Int, realization: Int) -> tuple[int, int]:
    """Check seed and number of the one realization that is looked into."""
    return (
        check_integer(seed, "seed", 0, MAX_SEED),
        check_integer(realization, "realization", 0, MAX_REALIZATIONS - 1),
    )


@contextmanager
def progress_of_call(
    name: str,
    progress: Callable[..., object] | None,
    say: Callable[..., tuple[str, float]] = realizations_done,
) -> Iterator[Callable[..., object] | None]:
    """Give a call of Python its `progress`, or without one what shows it on standard error.

    Nothing is shown before 10 s, and nothing where other progress would be beside it: in a command,
    in a call within another one, in a thread or process that a program works in, and in all
    processes of a parallel job but its first.

    Parameters
    ----------
    name : str
        The function, which the lines begin with.
    say : callable
        ``say(seconds since the call, *arguments of progress)`` returns a text and the share that is
        done.
    """
    worker = threading.current_thread() is not threading.main_thread()
    worker = worker or multiprocessing.parent_process() is not None
    if progress is not None or telling.get() is not None or worker:
        yield progress
        return
    begun, lines = time.monotonic(), list[ProgressLine]()

    def show(*state: Any, every: float | None = None, say: Any = say) -> None:
        elapsed = time.monotonic() - begun
        if elapsed < EVERY_LINE:
            return
        if not lines and not (task() or (0, 1))[0]:
            lines.append(ProgressLine(None, quiet=EVERY_LINE, begun=begun))
        for line in lines:
            if line.due(every):
                text, share = say(elapsed, *state)
                line.show(f"jitterfly.{name}: {text}", share)

    def tell(text: str) -> None:  # of `counted_progress`, which comes now and then alone
        show(every=SOON, say=lambda _: (text, 0.0))

    token = telling.set(tell)
    try:
        yield show
    finally:
        telling.reset(token)
        for line in lines:
            line.close()


@contextmanager
def reporting(
    progress: Callable[[int, int], object] | None, realizations: int, backend: str
) -> Iterator[Callable[[int], None] | None]:
    """Give the function that an engine calls with the realizations done, or None, around its run.

    Raises
    ------
    DeviceFailed
        The GPU's engine failed. Errors of `progress`, which come through the engine, stay theirs.
    KeyboardInterrupt
        In a thread of `bind_engine_thread` that is to stop. Python tells the main thread alone of
        Ctrl-C.
    """
    theirs: list[Exception] = []
    stop = _thread.stop

    def report(done: int) -> None:
        if stop is not None and stop.is_set():
            raise KeyboardInterrupt
        if progress is None:
            return
        try:
            progress(done, realizations)
        except Exception as error:
            theirs.append(error)
            raise

    try:
        yield None if progress is None and stop is None else report
    except RuntimeError as error:
        if backend != "cuda" or error in theirs:
            raise
        raise DeviceFailed(f"backend 'cuda' failed: {error}") from None


def choose_backend(
    program: core.Program,
    backend: str,
    threads: int,
    realizations: int,
    held: int,
    available: int | None,
) -> str:
    """The engine for a program: "cpu" or "cuda".

    Parameters
    ----------
    program : core.Program
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
        try:
            _check_device(program, realizations, held, available)
            return "cuda"
        except BackendError as error:
            if backend == "cuda" or (_thread.leaves and isinstance(error, DeviceFailed)):
                raise
            warn_of_cpu(str(error).removeprefix(_NOT_HERE))
    needed = held + core.memory(program, "cpu", threads, realizations)
    resources.check_memory(needed, "the realizations in flight and the results", available)
    return "cpu"


def _check_device(
    program: core.Program, realizations: int, held: int, available: int | None
) -> None:
    """Raise BackendError if the device can not run the program now."""
    try:
        resources.check_memory(
            held + _host_loads(program, realizations),
            "the results and the loads of messages under congestion, which the host makes",
            available,
        )
    except (RuntimeError, ValueError) as error:
        raise BackendError(f"{_NOT_HERE}{error}") from None
    check_device_memory(lambda: core.memory(program, "cuda", 0, realizations))


def check_device_memory(needed: Callable[[], int]) -> None:
    """Raise BackendError if the device has less memory than needed, or does not answer."""
    size = 0
    try:
        available = core.gpu_memory_available()
        size = needed()
        resources.check_memory(size, "one realization", available, "device memory")
    except RuntimeError as error:
        raise DeviceFailed(f"{_NOT_HERE}{error}") from None
    except ValueError as error:
        largest = max((device["memory"] for device in core.devices()), default=0)
        kind = DeviceFull if 0 < size <= _ROOM * largest else BackendError
        raise kind(f"{_NOT_HERE}{error}") from None


def _host_loads(program: core.Program, realizations: int) -> int:
    """The bytes of the machine's memory that a batch of the device takes at most, under congestion.

    Its tables, one for each realization, and what every thread makes them with.
    """
    table, maker = program.load_bytes
    if table == 0:
        return 0
    batch = max(1, min(realizations, _BATCH_LOADS // table))
    return batch * table + min(batch, core.hardware_threads()) * maker


def info() -> dict[str, Any]:
    """Return versions, build, processors, memory and devices, as plain values.

    Returns
    -------
    dict
        "jitterfly", "python", "numpy", "platform": text. "processors": int. "memory": bytes
        available, or None. "build": of the engine. "cuda": "" when usable, else why not, and what
        mends it where there is a GPU.
        "devices": one dict for each GPU.

    Notes
    -----
    In "build", "instruction_sets" are those that the CPU engine was built for, "instruction_set"
    is the one in use here: the best that the processor has, or what JITTERFLY_ISA names.
    """
    return {
        "jitterfly": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "platform": platform.platform(),
        "processors": core.hardware_threads(),
        "memory": resources.available_memory(),
        "build": dict(core.build_info()),
        "cuda": gpu_problem(),
        "devices": gpu_devices(),
    }


def info_lines() -> list[str]:
    """Return what `info` says for people, one line each."""
    found = info()
    available = found["memory"]
    lines = [f"{key}: {found[key]}" for key in ("jitterfly", "python", "numpy", "platform")]
    lines.append(f"processors: {found['processors']}")
    lines.append(f"memory available: {'unknown' if available is None else show_bytes(available)}")
    build = found["build"]
    lines.append(f"instruction set in use: {build.pop('instruction_set')}")
    threads = build.pop("threads")
    lines.append(f"threads by default: {threads}")
    lines += [f"build {key}: {value or 'none'}" for key, value in build.items()]
    lines.append(f"cuda: {found['cuda'] or 'usable'}")
    for number, device in enumerate(found["devices"]):
        words = [show_bytes(v) if k == "memory" else f"{k} {v}" for k, v in device.items()
                 if k != "name"]  # fmt: skip
        lines.append(f"device {number}: {device.get('name', '?')}, {', '.join(words)}")
    return lines
