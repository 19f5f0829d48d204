"""Executors: who the workers are: this process, processes, MPI ranks (mpi4py); their GPUs, cores.

MPI ranks are workers under ``mpiexec -n N python -m mpi4py.futures -m jitterfly``. Without that
each of them would run the whole study, which `check_not_copies` refuses.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.util
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from .. import backends, launchers
from ..backends import BACKENDS, VISIBLE_DEVICES, backend_named, check_backend
from ..fields import MOST_THREADS, check_choice, check_integer, shorten

# Spawned: a forked one would share the threads and the CUDA context of this process.
_SPAWN = multiprocessing.get_context("spawn")


class WorkerDied(BrokenExecutor):
    """The worker that ran a call ended before the call did; another takes its place.

    `BatchDispatcher` in `sweep/driver.py` runs the batch again, up to three times.
    """


class WorkersBroken(RuntimeError):
    """A worker can not even start."""


class Pool(Executor):
    """A pool of spawned processes, one for each of `setups`, which call ``prepare(setup)`` first.

    A process that dies costs the call that it was at, and no other.
    `concurrent.futures.ProcessPoolExecutor` gives up all its calls, and does not say which of them
    was at fault.
    """

    def __init__(self, prepare: Callable[[Any], object], setups: Sequence[Any]):
        self.num_workers = len(setups)
        self._prepare = prepare
        self._calls: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._processes: dict[int, multiprocessing.process.BaseProcess] = {}
        self._starting = threading.Lock()
        self._joining = threading.Lock()
        self._closed = False
        self._threads = [
            threading.Thread(target=self._feed, args=(number, setup), daemon=True)
            for number, setup in enumerate(setups)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a call, as every executor does."""
        if self._closed:
            raise RuntimeError("this pool is shut down")
        future: Future[Any] = Future()
        self._calls.put((future, (fn, args, kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Shut down, as every executor does."""
        if not self._closed:
            self._closed = True
            if cancel_futures:
                self._cancel()
            for _ in self._threads:
                self._calls.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def kill(self) -> None:
        """Stop at once, whatever the workers are at.

        It waits for the processes, not for the threads: if Ctrl-C interrupted this thread in the
        middle of a method of a future, that future is locked for ever, and its thread waits.
        """
        self._closed = True
        self._cancel()
        with self._starting:
            processes = list(self._processes.values())
        for process in processes:
            process.kill()
        for _ in self._threads:
            self._calls.put(None)
        for process in processes:
            self._join(process)

    def __exit__(self, kind: type[BaseException] | None, error: Any, trace: Any) -> None:
        if kind is None:
            self.shutdown()
        else:
            self.kill()

    def pids(self) -> list[int]:
        """The process ids of the workers that run."""
        return [process.pid for process in self._processes.values() if process.pid]

    def _cancel(self) -> None:
        while True:
            try:
                call = self._calls.get_nowait()
            except queue.Empty:
                return
            if call is not None:
                call[0].cancel()

    def _feed(self, number: int, setup: Any) -> None:
        """Hand calls to worker `number`, one after the other."""
        pipe: Connection | None = None
        while (call := self._calls.get()) is not None:
            future, task = call
            if not future.set_running_or_notify_cancel():
                continue
            try:
                pipe = pipe or self._start(number, setup)
                pipe.send(task)
                good, value = pipe.recv()
            except (EOFError, OSError) as error:  # OSError: in the middle of its answer
                pipe = None
                why = self._reap(number) or str(error)
                future.set_exception(WorkerDied(f"a worker died ({why})"))
            except Exception as error:  # of pickle: the call was not sent
                future.set_exception(error)
            else:
                if good:
                    future.set_result(value)
                else:  # a fresh process next: a device that failed once does so for ever
                    pipe = None
                    self._reap(number)
                    future.set_exception(value)
        if pipe is not None:
            pipe.close()
            self._reap(number)

    def _start(self, number: int, setup: Any) -> Connection:
        ours, theirs = _SPAWN.Pipe()
        with self._starting:
            if self._closed:
                raise EOFError
            process = _SPAWN.Process(
                target=_serve, args=(theirs, self._prepare, setup), daemon=True
            )
            with _without_current_directory():
                process.start()
            self._processes[number] = process
        theirs.close()
        try:
            ours.recv()
        except (EOFError, OSError):
            self._join(process)
            if self._closed or (process.exitcode or 0) < 0:
                raise  # it was killed
            raise WorkersBroken(
                f"a worker can not start ({self._reap(number)}); a script that starts workers "
                'must do it under `if __name__ == "__main__":`'
            ) from None
        return ours

    def _join(self, process: multiprocessing.process.BaseProcess) -> None:
        """Wait until a process has ended.

        One thread at a time: of two that wait for the same process, one is told nothing, and would
        go on while the process still counts as a child.
        """
        with self._joining:
            process.join()

    def _reap(self, number: int) -> str:
        """Wait for the process of worker `number`, and say how it ended; "" where there is none."""
        process = self._processes.get(number)
        if process is None:
            return ""
        self._join(process)  # which `kill` can end as long as it knows the process
        self._processes.pop(number, None)
        code = process.exitcode or 0
        return f"signal {-code}" if code < 0 else f"exit code {code}"


@contextmanager
def _without_current_directory() -> Iterator[None]:
    """Start Python within so that no module comes from the current directory by chance.

    `multiprocessing` starts ``python -c``, which looks there first: for `pickle`, say. What a
    worker finds is on this process's own path, which it gets before it loads anything of a study.
    """
    with _ALONE:
        if sys.version_info >= (3, 11):
            known = os.environ.get(_SAFE_PATH)
            os.environ[_SAFE_PATH] = "1"
        else:  # without that variable; of the options only -I leaves the directory out
            options = multiprocessing.util._args_from_interpreter_flags
            multiprocessing.util._args_from_interpreter_flags = lambda: ["-I", *options()]
        try:
            yield
        finally:
            if sys.version_info < (3, 11):
                multiprocessing.util._args_from_interpreter_flags = options
            elif known is None:
                del os.environ[_SAFE_PATH]
            else:
                os.environ[_SAFE_PATH] = known


_SAFE_PATH = "PYTHONSAFEPATH"
_ALONE = threading.Lock()  # several pools may start workers, and the environment is one

_NOT_LOADED = (
    "a worker can not load what the study has ({}): a class of your own must be in a module that "
    "can be imported, not in a notebook's cell or in what was typed; or give `executor` a "
    "ThreadPoolExecutor"
)


def _serve(pipe: Connection, prepare: Callable[[Any], object], setup: Any) -> None:
    """Run calls until the pipe is closed, or a call fails."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the driver, which ends us
    threading.Thread(target=_leave_with_the_driver, daemon=True).start()
    prepare(setup)
    pipe.send("ready")
    while True:
        try:
            function, args, kwargs = pipe.recv()
        except EOFError:
            return
        except (AttributeError, ImportError) as error:  # of pickle, which names the class
            pipe.send((False, WorkersBroken(_NOT_LOADED.format(error))))
            return
        try:
            pipe.send((True, function(*args, **kwargs)))
        except Exception as error:
            pipe.send((False, error))
            return


def _leave_with_the_driver() -> None:
    """A driver that was killed leaves nobody behind to hold its GPU."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


# With this process's path: `python -c` would look in the current directory first.
_COUNT = (
    "import sys; sys.path[:] = {path!r}; "
    "from jitterfly.backends import core; print(len(core.devices()))"
)


def count_devices() -> int:
    """Count the GPUs that a new process would see: it is asked, so that this one can choose yet."""
    if not backends.gpu_present():
        return 0
    program = _COUNT.format(path=sys.path)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    return int(done.stdout) if done.returncode == 0 else 0


def bind_gpu(
    number: int | None = None, environment: MutableMapping[str, str] | None = None
) -> None:
    """Show CUDA one GPU only: number `number` (modulo how many there are) of those it may see.

    CUDA reads CUDA_VISIBLE_DEVICES at its first call, so a process is bound before that, or never.

    Parameters
    ----------
    number : int, optional
        The local rank by default; where there is none nothing is changed.
    environment : mapping, optional
        `os.environ` by default.
    """
    environment = os.environ if environment is None else environment
    number = launchers.local_rank(environment) if number is None else number
    seen = environment.get(VISIBLE_DEVICES)
    entries = None if seen is None else [entry for entry in seen.split(",") if entry.strip()]
    if not number or (entries is not None and len(entries) < 2):
        return  # nobody to tell apart, or the first, or bound by the launcher
    if entries is None:
        entries = [str(device) for device in range(count_devices())]
    if entries:
        environment[VISIBLE_DEVICES] = entries[number % len(entries)]


MOST_WORKERS = 1024
MPI_COMMAND = "mpiexec -n N python -m mpi4py.futures SCRIPT.py"
_TOPOLOGY = Path("/sys/devices/system/cpu")


class InProcess(Executor):
    """An executor that runs a call as it is submitted, in this thread: Ctrl-C stops the engine."""

    num_workers = 1

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a call as it is submitted, so that its future is done."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def check_workers(
    workers: str | int | None, backend: str, threads: int | None, executor: Executor | None = None
) -> tuple[str | int | None, str]:
    """Turn `workers` into None (this process), "mpi", "gpus", "sockets" or a number.

    The second value is the backend of their batches: processes of the CPU leave the GPU alone.

    Raises
    ------
    ValueError
        It is none of these, or can not be had here, or does not fit the backend, the threads or a
        given `executor`; the message says why.
    """
    backend = backend_named(backend)
    if executor is not None and workers is not None:
        raise ValueError("workers must be None where an executor is given")
    if isinstance(workers, str) and workers.isdigit():
        workers = int(workers)
    if workers is None:
        workers = "mpi" if executor is None and _mpi_world() else None
    elif not isinstance(workers, str):
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
        if problem := backends.gpu_problem():
            raise ValueError(f"workers 'gpus' can not be used here: {problem}")
    of_cpu = workers == "sockets" or isinstance(workers, int)
    if of_cpu and backend == "cuda":
        raise ValueError(f"workers {workers!r} are for the CPU; backend 'cuda' needs 'gpus'")
    if executor is None and workers != "mpi":
        check_backend(backend, threads)
    else:  # elsewhere there may be other devices than here
        check_choice(backend, "backend", BACKENDS)
        if threads is not None:
            check_integer(threads, "threads", 1, MOST_THREADS)
    return workers, "cpu" if of_cpu else backend


def open_executor(workers: str | int | None, threads: int | None) -> Executor:
    """The executor of `workers`, as `check_workers` gave it."""
    if workers is None:
        return InProcess()
    if workers == "mpi":
        from mpi4py.futures import MPIPoolExecutor

        return MPIPoolExecutor(initializer=_leave_signals)
    if workers == "gpus":
        return Pool(bind_gpu, range(len(backends.gpu_devices())))
    groups = sockets() if workers == "sockets" else shares(int(workers))
    return Pool(_stay, [None if threads else group for group in groups])


def depth(executor: Executor) -> int:
    """The number of batches to have in flight: one in work and one waiting for each worker."""
    if isinstance(executor, InProcess):
        return 1
    for name in ("num_workers", "_max_workers"):
        number = getattr(executor, name, None)
        if isinstance(number, int) and number > 0:
            return 2 * number
    return 2 * (os.cpu_count() or 1)


def sockets() -> list[list[int]]:
    """The processors that this process may use, by socket."""
    by_socket: dict[int, list[int]] = {}
    for package, _, processor in _processors():
        by_socket.setdefault(package, []).append(processor)
    return list(by_socket.values())


def shares(number: int) -> list[list[int]]:
    """The processors that this process may use, cut into `number` neighbourhoods."""
    own = [processor for _, _, processor in _processors()]
    if number >= len(own):
        return [[own[i % len(own)]] for i in range(number)]
    return [own[i * len(own) // number : (i + 1) * len(own) // number] for i in range(number)]


def _processors() -> list[tuple[int, int, int]]:
    """The (socket, core, number) of each; the two threads of a core are neighbours."""
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
    """Leave Ctrl-C and SIGTERM, which all ranks get, to rank 0: it ends the job.

    A launcher kills all ranks as soon as one of them dies of a signal, before rank 0 is in order.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def check_not_copies() -> None:
    """Raise ValueError if a launcher started this program several times, and none knows the others.

    For a program that is run whole, not for one that divides work between ranks by itself.
    """
    number = launchers.world_size() or 1
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
    """Return whether this is rank 0 of several processes under `python -m mpi4py.futures`."""
    return _under_mpi() and sys.modules["mpi4py.MPI"].COMM_WORLD.Get_size() > 1


def _under_mpi() -> bool:
    """Return whether this is rank 0 under `python -m mpi4py.futures`.

    Nothing is imported to find out: importing mpi4py.MPI would start MPI.
    """
    names = ("mpi4py.futures._core", "mpi4py.futures._lib")  # the latter before mpi4py 4
    return any(getattr(sys.modules.get(name), "SharedPool", None) is not None for name in names)
