"""Executors: what the workers are (this process, processes, MPI ranks by mpi4py), and their cores.

MPI ranks are workers under ``mpiexec -n N python -m mpi4py.futures -m jitterfly``. Without that
each of them would run the whole study, which `check_not_copies` refuses.
"""

from __future__ import annotations

import contextvars
import functools
import itertools
import math
import multiprocessing
import multiprocessing.util
import os
import queue
import signal
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from . import resources
from .backends import (
    BACKENDS,
    BackendError,
    DeviceFailed,
    DeviceFull,
    UnusedGPUWarning,
    ask_devices,
    backend_named,
    bind_engine_thread,
    check_backend,
    core,
    count_devices,
    device_problems,
    gpu_problem,
    takes_gpu,
)
from .fields import (
    MAX_THREADS,
    Int,
    IntOrText,
    check_choice,
    check_integer,
    option_of,
    parameter,
    shorten,
    stacklevel_of_user,
)
from .resources import (
    bind_device,
    gpus_per_task,
    listed_devices,
    local_size,
    own_devices,
    show_device,
)
from .syntax import read_devices

# Spawned: a forked one would share the threads and the CUDA context of this process.
_SPAWN = multiprocessing.get_context("spawn")


class WorkerDied(BrokenExecutor):
    """The worker that ran a call ended before the call did; another takes its place.

    `BatchDispatcher` in `sweep/driver.py` runs the batch again, up to three times.
    """


class WorkersBroken(RuntimeError):
    """A worker can not even start, or not load what it is to run."""


class _Pool(Executor):
    """A queue of calls, and a thread for each of `setups` that serves them: the base of pools."""

    def __init__(self, setups: Sequence[Any]):
        self.num_workers = len(setups)
        self._calls: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._closed = False
        self._threads = [
            threading.Thread(target=self._feed, args=(number, setup), daemon=True)
            for number, setup in enumerate(setups)
        ]
        for thread in self._threads:
            thread.start()

    def _feed(self, number: int, setup: Any) -> None:
        """Serve calls until None comes instead of one."""
        raise NotImplementedError

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
            self.join()

    def join(self, seconds: float | None = None) -> None:
        """Wait until the threads have ended, so long for each at most."""
        for thread in self._threads:
            thread.join(seconds)

    def kill(self) -> None:
        """Stop at once, whatever the workers are at."""
        self._closed = True
        self._cancel()
        self._end_calls()
        for _ in self._threads:
            self._calls.put(None)

    def _end_calls(self) -> None:
        """End the calls that the workers are at."""
        raise NotImplementedError

    def __exit__(self, kind: type[BaseException] | None, error: Any, trace: Any) -> None:
        if kind is None:
            self.shutdown()
        else:
            self.kill()

    def _cancel(self) -> None:
        for future, _ in self._taken():
            future.cancel()

    def _taken(self) -> Iterator[tuple[Future[Any], Any]]:
        """Take the calls that wait, one after the other."""
        while True:
            try:
                call = self._calls.get_nowait()
            except queue.Empty:
                return
            if call is not None:
                yield call


class Pool(_Pool):
    """A pool of spawned processes, one for each of `setups`, which call ``prepare(setup)`` first.

    A process that dies costs the call that it was at, and no other.
    `concurrent.futures.ProcessPoolExecutor` gives up all its calls, and does not say which of them
    was at fault.
    """

    def __init__(self, prepare: Callable[[Any], object], setups: Sequence[Any]):
        self._prepare = prepare
        self._processes: dict[int, multiprocessing.process.BaseProcess] = {}
        self._starting = threading.Lock()
        self._joining = threading.Lock()
        super().__init__(setups)

    def kill(self) -> None:
        """Stop at once, whatever the workers are at.

        It waits for the processes, not for the threads: if Ctrl-C interrupted this thread in the
        middle of a method of a future, that future is locked for ever, and its thread waits.
        """
        super().kill()
        for process in self._killed:
            self._join(process)

    def _end_calls(self) -> None:
        with self._starting:
            self._killed = list(self._processes.values())
        for process in self._killed:
            process.kill()

    def pids(self) -> list[int]:
        """The process ids of the workers that run."""
        return [process.pid for process in self._processes.values() if process.pid]

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
        try:
            pipe.send((True, function(*args, **kwargs)))
        except Exception as error:
            pipe.send((False, error))
            return


def _leave_with_the_driver() -> None:
    """End this worker when its driver is killed, so that it does not hold the GPU."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


MAX_WORKERS = 1024
_TOPOLOGY = Path("/sys/devices/system/cpu")


class InProcess(Executor):
    """An executor that runs a call as it is submitted, in this thread: Ctrl-C stops the engine.

    It is for the CPU, whose engine takes all processors: beside it, statistics would only make it
    slower.
    """

    num_workers = 1

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a call as it is submitted, so that its future is done."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@dataclass(frozen=True)
class Unfinished:
    """The result of a call whose rest, `finish`, needs no engine: its thread goes on."""

    finish: Callable[[], Any]


class _StatisticsThreads(_Pool):
    """A pool of threads that make the statistics of what engines simulated.

    Every future gets its result.
    """

    def __init__(self, number: int):
        super().__init__([None] * number)

    def _end_calls(self) -> None:
        """Leave the calls alone, which end by themselves, soon."""

    def _cancel(self) -> None:
        for future, _ in self._taken():
            future.set_exception(KeyboardInterrupt())  # as of an engine that is stopped

    def finish(self, future: Future[Any], rest: Unfinished) -> None:
        """Let the future have the result of the whole call."""
        if self._closed:
            future.set_exception(KeyboardInterrupt())
        else:
            self._calls.put((future, rest))

    def _feed(self, number: int, setup: Any) -> None:
        """Make statistics until None comes instead of a call; all threads are alike."""
        while (call := self._calls.get()) is not None:
            future, rest = call
            try:
                result = rest.finish()
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)


class EnginePool(_Pool):
    """A pool of threads of this process, one for each GPU: its number, or None.

    None is the one that the process takes by itself. While a GPU is at a batch, its thread has
    released the interpreter: statistics of the batches before it are made and stored, and it is
    decided what comes next. A GPU that fails, or has not the memory for a call, gets no more calls,
    unless it is the last one: others may do better. `least` engines stay, whatever happens.

    Parameters
    ----------
    spare : sequence of int
        GPUs that take the place of those that fail, one after the other.
    again : bool
        Whether the others run the call at which a GPU failed, without an error that its caller
        sees.
    """

    def __init__(
        self, engines: Sequence[int | None], spare: Sequence[int] = (), again: bool = False
    ):
        self.least = 1
        self._spare, self._again = deque(spare), again
        self._stop = threading.Event()
        self._retiring = threading.Lock()
        self._serving = len(engines)
        self.retired: set[int | None] = set()
        self._statistics = _StatisticsThreads(_STATISTICS_THREADS * len(engines))
        super().__init__(engines)

    @property
    def depth(self) -> int:
        """The number of calls to have under way: one in work, one waiting, others to finish."""
        return (2 + _STATISTICS_THREADS) * self.num_workers

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Shut down, as every executor does."""
        super().shutdown(wait, cancel_futures=cancel_futures)
        if wait:
            self._statistics.shutdown()

    def kill(self) -> None:
        """Stop as soon as the engines look for it, within a fraction of a second."""
        super().kill()
        self.join(_STOPS)  # not for ever: see `Pool.kill`
        self._statistics.kill()
        self._statistics.join(_STOPS)

    def _end_calls(self) -> None:
        self._stop.set()

    def _feed(self, number: int, setup: int | None) -> None:
        """Run calls on the engine `setup`; the last thread to end leaves no more to finish."""
        try:
            self._serve(setup)
        finally:
            with self._retiring:
                self._serving -= 1
                last = self._serving == 0
            if last:
                self._statistics.shutdown(wait=False)

    def _serve(self, setup: int | None) -> None:
        """Run calls, one after the other."""
        retired: DeviceFailed | None = None
        while (call := self._calls.get()) is not None:
            future, (function, args, kwargs) = call
            if not (future.running() or future.set_running_or_notify_cancel()):
                continue
            if retired:  # the last one: what still comes here is for others than these GPUs
                future.set_exception(retired)
                continue
            leaves = self.num_workers > self.least or bool(self._spare)
            why: BaseException
            try:
                bind_engine_thread(setup, self._stop, leaves)
                result = function(*args, **kwargs)
            except BaseException as error:  # also of one that is stopped
                why = error
            else:
                if isinstance(result, Unfinished):
                    self._statistics.finish(future, result)
                else:
                    future.set_result(result)
                continue
            following = self._retire(setup) if isinstance(why, DeviceFailed) else None
            if following is not None:
                message = f"GPU {setup} is not used any more in this run: {why}"
                if following:
                    (setup,) = following
                elif isinstance(why, DeviceFailed):
                    retired = why
                try:
                    warnings.warn(message, UnusedGPUWarning, stacklevel=1)
                except UnusedGPUWarning as error:  # python -W error
                    why = error
            # Where memory is missing the call is not to blame: that does not count as an attempt.
            others = leaves and self.num_workers and not self._closed
            if others and isinstance(why, DeviceFailed if self._again else DeviceFull):
                self._calls.put(call)
            else:
                future.set_exception(why)
            if retired and self.num_workers:
                return

    def _retire(self, setup: int | None) -> Sequence[int] | None:
        """Return the GPU that takes the place of one that failed, if any; None: that one stays."""
        with self._retiring:
            if self._spare:
                following = [self._spare.popleft()]
            elif self.num_workers > self.least:
                following = []
                self.num_workers -= 1
            else:
                return None
            self.retired.add(setup)
        return following


def run_on_devices(
    devices: Sequence[int],
    call: Callable[[int, int, Callable[[int, int], object]], Any],
    count: int,
    progress: Callable[[int, int], object] | None = None,
) -> tuple[list[Any], set[int | None]]:
    """Divide `count` realizations among GPUs.

    Parameters
    ----------
    call : callable
        ``call(first, number, progress)`` for the share of a GPU, in a thread of that.
    progress : callable, optional
        Called as ``progress(done, count)``, in this thread.

    Returns
    -------
    tuple
        What the calls return, in the order of the realizations; the GPUs that failed meanwhile, or
        lacked memory.

    Raises
    ------
    DeviceFailed
        The last GPU failed, three times at the same share. The share of any other that fails is
        taken by those that are left, also by those that had none.
    """
    cuts = [count * i // len(devices) for i in range(len(devices) + 1)]
    shares = [(first, end - first) for first, end in itertools.pairwise(cuts) if end > first]
    news: queue.SimpleQueue[tuple[int, int | Future[Any]]] = queue.SimpleQueue()
    results, done, failures = dict[int, Any](), [0] * len(shares), [0] * len(shares)

    with EnginePool(devices[: len(shares)], devices[len(shares) :], again=True) as pool:

        def begin(number: int) -> None:
            def report(part: int, _: int) -> None:
                news.put((number, part))

            # With what this thread calls the options of a command.
            run = contextvars.copy_context().run
            future = pool.submit(run, call, *shares[number], report)
            future.add_done_callback(lambda future: news.put((number, future)))

        for number in range(len(shares)):
            begin(number)
        while len(results) < len(shares):
            number, what = news.get()
            if isinstance(what, int):
                done[number] = what
                if progress is not None:
                    progress(sum(done), count)
                continue
            try:
                results[number] = what.result()
            except DeviceFailed:
                failures[number] += 1
                if failures[number] >= ATTEMPTS:
                    raise
                begin(number)
    return [results[number] for number in range(len(shares))], pool.retired


ATTEMPTS = 3
"""How often something is tried whose worker dies or whose device fails."""


class WithRankZero(Executor):
    """The other ranks of an MPI job, and the GPUs of rank 0, which would be idle otherwise."""

    def __init__(self, ranks: Executor, own: EnginePool):
        self._parts = ranks, own
        own.least = 0  # where all of them fail, the ranks go on
        self._running = [0, 0]
        self._counting = threading.Lock()

    @property
    def num_workers(self) -> int:
        """The number of workers, which is less after a GPU has failed."""
        return sum(self._workers())

    def _workers(self) -> list[int]:
        counts = map(number_of_workers, self._parts)
        return [1 if count is None else count for count in counts]

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a call to the part that has fewer for each of its workers."""
        with self._counting:
            counts = zip(self._running, self._workers(), strict=True)
            loads = [running / workers if workers else math.inf for running, workers in counts]
            part = loads.index(min(loads))
            self._running[part] += 1
        future = self._parts[part].submit(fn, *args, **kwargs)
        future.add_done_callback(lambda _: self._ended(part))
        return future

    def _ended(self, part: int) -> None:
        with self._counting:
            self._running[part] -= 1

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Shut down, as every executor does."""
        for part in self._parts:
            part.shutdown(wait, cancel_futures=cancel_futures)

    def __exit__(self, *raised: Any) -> None:
        for part in reversed(self._parts):
            part.__exit__(*raised)


_STATISTICS_THREADS = 2  # threads for each engine
_STOPS = 10.0  # seconds, of which a launch takes a part of one


@dataclass(frozen=True)
class Workers:
    """The workers of a run, as `check_workers` lets them through.

    `kind` is None (this process), "mpi", "gpus", "sockets" or a number. `backend` and `threads` are
    those of their batches. `devices` are the GPUs of a worker each, as CUDA_VISIBLE_DEVICES has
    them, or as CUDA numbers them for the threads of this process; empty where no worker is bound.
    """

    kind: str | int | None
    backend: str
    threads: Int | None
    devices: tuple[str, ...] | tuple[int, ...] = ()

    def start(self) -> Executor:
        """Start them; their executor is closed by the caller."""
        if self.kind is None:
            if pool := self._threads():
                return pool
            backend, _ = engine_of_process(self.backend, self.threads)
            return InProcess() if backend == "cpu" else EnginePool([None])
        if self.kind == "mpi":
            from mpi4py.futures import MPIPoolExecutor

            ranks = MPIPoolExecutor(initializer=_leave_signals)
            return WithRankZero(ranks, own) if (own := self._threads()) else ranks
        if self.devices:
            return Pool(show_device, self.devices)
        return Pool(_stay, [None if self.threads else group for group in _groups(self.kind)])

    def _threads(self) -> EnginePool | None:
        return EnginePool([int(name) for name in self.devices]) if self.devices else None


@functools.cache
def engine_of_process(backend: str, threads: Int | None) -> tuple[str, Int | None]:
    """The backend and threads in this process, which is bound to its GPU first."""
    if backend == "cpu":
        return "cpu", threads or _share()
    bind_device(lambda: ask_devices()[1])
    return (backend, None) if takes_gpu(backend, threads) else ("cpu", threads or _share())


def _share() -> int | None:
    """The threads of one of several processes that a launcher started here without binding them."""
    size = resources.local_size()
    if not size or size == 1:
        return None
    wanted = os.environ.get("SLURM_CPUS_PER_TASK", "")
    of_all = min(os.cpu_count() or 1, core.control_group_threads() or MAX_THREADS)
    share = int(wanted) if wanted.isdigit() else -(-of_all // size)
    return max(1, min(core.hardware_threads(), share))


def check_workers(
    workers: IntOrText | None,
    backend: str,
    threads: Int | None,
    executor: Executor | None = None,
    devices: IntOrText | Sequence[Int] | None = None,
) -> Workers:
    """Check who is to run the batches, and how.

    This process does not start CUDA where others use the GPUs: it would hold one.

    Parameters
    ----------
    devices : str, int or list of int, optional
        The GPUs: "all", or numbers of those that CUDA shows. None: the first is enough for this
        process.

    Raises
    ------
    BackendError
        A GPU that is asked for can not be used here.
    ValueError
        `workers` is not one of the kinds, or can not be had here, or does not fit the backend, the
        threads, the devices or a given `executor`; the message says why.
    """
    backend = backend_named(backend)
    numbers = read_devices(devices, "devices")
    if executor is not None and workers is not None:
        raise ValueError("workers must be None where an executor is given")
    if isinstance(workers, str) and workers.isdigit():
        workers = int(workers)
    if workers is None:
        workers = "mpi" if executor is None and _mpi_world() else None
    elif not isinstance(workers, str):
        workers = check_integer(workers, "workers", 1, MAX_WORKERS)
    elif workers not in ("gpus", "sockets", "mpi"):
        raise ValueError(
            f"workers must be 'gpus', 'sockets', 'mpi' or a number, got {shorten(workers)}"
        )
    if workers == "mpi" and not _mpi_world():
        raise ValueError(f"workers 'mpi' needs N >= 2 processes started as `{_mpi_command()}`")
    if workers == "gpus" and backend == "cpu":
        raise ValueError(f"workers 'gpus' can not be used with {parameter('backend', 'cpu')}")
    if workers == "sockets" and backend == "cuda":
        gpu = parameter("backend", "cuda")
        raise ValueError(f"workers 'sockets' are for the CPU; {gpu} needs 'gpus'")
    check_choice(backend, "backend", BACKENDS)
    bound = workers == "gpus" or (isinstance(workers, int) and backend == "cuda")
    if threads is not None and (bound or numbers):
        what = parameter("workers", workers) if bound else parameter("devices")
        raise ValueError(_without_threads(what))
    if workers is not None and bound:
        return Workers(workers, backend, None, _devices_of(workers, numbers or ()))
    if numbers and (workers is not None or executor is not None or backend == "cpu"):
        raise ValueError(
            "devices must be 'all' with the CPU, MPI or an executor: others choose their GPUs"
        )
    if isinstance(workers, int) or workers == "sockets":  # they leave the GPU alone
        check_backend("cpu", threads)
        return Workers(workers, "cpu", threads or _limited(len(_groups(workers))))
    if executor is not None or workers == "mpi":  # elsewhere there may be other devices than here
        if threads is not None:
            check_integer(threads, "threads", 1, MAX_THREADS)
        of_gpus = workers == "mpi" and devices is not None and backend != "cpu" and threads is None
        return Workers(workers, backend, threads, _devices_of_rank_zero() if of_gpus else ())
    if not numbers and (backend == "cpu" or threads is not None):
        devices = None  # "all", as a command has it unless told otherwise, is none then
    return Workers(None, backend, threads, devices_of_process(backend, threads, devices))


def devices_of_process(
    backend: str, threads: Int | None, devices: IntOrText | Sequence[Int] | None
) -> tuple[int, ...]:
    """Check what this process computes with; the GPUs that a thread each uses.

    There are none where it takes the first, or the CPU. Arguments and errors as `check_workers`;
    "all" is an error with the CPU, too.
    """
    numbers = read_devices(devices, "devices")
    if numbers is not None and backend == "cpu":
        raise ValueError(f"leave out {parameter('devices')} with {parameter('backend', 'cpu')}")
    if numbers is not None and threads is not None:
        raise ValueError(_without_threads(parameter("devices")))
    here = () if numbers is None else _devices_here(numbers)
    if not here:
        check_backend(backend, threads)
    return here


def _without_threads(what: str) -> str:
    """Return the error of threads that are given together with `what`."""
    return f"leave out {parameter('threads')} with {what}: threads are the CPU's"


def _devices_of(workers: str | int, numbers: tuple[int, ...]) -> tuple[str, ...]:
    """The GPU of each worker: one each, or the same ones again if workers are more than GPUs."""
    problem, count = ask_devices()
    if problem or not count:
        raise ValueError(f"workers {workers!r} can not be used here: {problem or 'no usable GPU'}")
    devices = own_devices(lambda: count)
    if numbers:
        names = listed_devices() or [str(number) for number in range(count)]
        _check_there(numbers, len(names))
        devices = [names[number] for number in numbers]
    number = workers if isinstance(workers, int) else len(devices)
    return tuple(devices[i % len(devices)] for i in range(number))


def _devices_here(numbers: tuple[int, ...]) -> tuple[int, ...]:
    """The GPUs of the threads of this process; none where it takes the first, or the CPU."""
    names = listed_devices()
    if names is not None and any(name.startswith("MIG") for name in names):
        bind_device(lambda: 0)  # before CUDA, which shows a process one slice
        names = listed_devices()
    count = count_devices()
    if numbers:
        if not count and (problem := gpu_problem()):
            raise BackendError(f"devices can not be used here: {problem}")
        _check_there(numbers, count)
        for number, problem in zip(numbers, device_problems(numbers), strict=True):
            if problem:
                raise BackendError(f"GPU {number} can not be used here: {problem}")
        return numbers
    names = [str(number) for number in range(count)] if names is None else names[:count]
    own = tuple(names.index(name) for name in own_devices(lambda: count) if name in names)
    if own in ((), (0,)):
        return ()
    return _usable(own)


def _usable(numbers: tuple[int, ...]) -> tuple[int, ...]:
    """Return the GPUs that can be used, of some.

    Warns
    -----
    UnusedGPUWarning
        One can not, and others can.
    """
    problems = dict(zip(numbers, device_problems(numbers), strict=True))
    usable = tuple(number for number in numbers if not problems[number])
    for number in numbers if usable else ():
        if problems[number]:
            message = f"GPU {number} is not used: {problems[number]}"
            warnings.warn(message, UnusedGPUWarning, stacklevel=stacklevel_of_user())
    return usable


def _devices_of_rank_zero() -> tuple[int, ...]:
    """The GPUs that no other rank of this machine takes; none where there are more ranks than GPUs.

    Each other rank takes one, that with its local rank, unless srun bound it to its own.
    """
    size, count = local_size(), count_devices()
    names = listed_devices() or []
    slices = any(name.startswith("MIG") for name in names)  # of which CUDA shows this process one
    there = len(names) if slices else count
    bound = gpus_per_task() == there  # then the others see theirs, and not this one's
    if not size or not count or (size > there and not bound):
        return ()
    return _usable(tuple(i for i in range(count) if bound or not 0 < i < size))


def _check_there(numbers: Sequence[int], count: int) -> None:
    """Raise ValueError where the machine has fewer GPUs."""
    if max(numbers) >= count:
        raise ValueError(f"devices must be below {count}, the number of GPUs, got {max(numbers)}")


def _groups(workers: str | int) -> list[list[int]]:
    """The processors of each worker."""
    return sockets() if workers == "sockets" else shares(int(workers))


def _limited(workers: int) -> int | None:
    """The threads of each of some workers where a control group, as of a container, limits all.

    None where it does not: then a worker takes a thread for each of its processors.
    """
    limit = core.control_group_threads()
    return max(1, limit // workers) if limit and limit < len(_processors()) else None


def depth(executor: Executor) -> int:
    """The number of batches to have in flight: one in work and one waiting for each worker.

    That of a Dask executor changes as workers come and go. `BrokenExecutor` where it is closed.
    """
    if isinstance(executor, InProcess):
        return 1
    if isinstance(executor, EnginePool):
        return executor.depth
    if number := number_of_workers(executor):
        return 2 * number
    client: Any = getattr(executor, "_client", None)  # Dask's, which asks the scheduler
    if getattr(client, "status", "") == "closed":  # what was in flight may never be told so
        raise BrokenExecutor("its client is closed")
    if hasattr(client, "nthreads"):
        with suppress(Exception):  # of a client that lost the scheduler, and looks for it
            return 2 * sum(client.nthreads().values()) or _UNKNOWN
    return _UNKNOWN


_UNKNOWN = 2 * (os.cpu_count() or 1)


def number_of_workers(executor: Executor) -> int | None:
    """The number of workers that an executor says it has; None where it says none."""
    numbers = (getattr(executor, name, None) for name in ("num_workers", "_max_workers"))
    return next((number for number in numbers if isinstance(number, int)), None)


def worker_died(error: Exception) -> bool:
    """Return whether an error of a call says that its worker died: ours, or Dask's.

    Dask by itself gives a call to another worker when one dies. After some (`KilledWorker`, with
    the setting `distributed.scheduler.allowed-failures`) it gives up, and also what only waited for
    these workers.
    """
    return isinstance(error, WorkerDied) or _is_of_dask(error)


def why_lost(error: Exception) -> str:
    """Say why a call was lost: of a text of Dask, which names pages to read, the first sentence."""
    text = str(error)
    return text.partition(". ")[0] if _is_of_dask(error) else text


def _is_of_dask(error: Exception) -> bool:
    return type(error).__name__ == "KilledWorker"


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
    number = resources.world_size() or 1
    if number == 1 or _mpi_world():
        return
    if _under_mpi():
        raise ValueError(
            f"the launcher started {number} processes, and mpi4py sees 1: the MPI library that "
            "mpi4py was built for is not the launcher's"
        )
    raise ValueError(
        f"the launcher started {number} processes, and each of them would run all of it: "
        f"-m mpi4py.futures is missing, as in `{_mpi_command()}`"
    )


def _mpi_command() -> str:
    workers = option_of("workers")
    program = f"-m jitterfly run STUDY.toml {workers} mpi" if workers else "SCRIPT.py"
    return f"mpiexec -n N python -m mpi4py.futures {program}"


def _mpi_world() -> bool:
    """Return whether this is rank 0 of several processes under `python -m mpi4py.futures`."""
    return _under_mpi() and sys.modules["mpi4py.MPI"].COMM_WORLD.Get_size() > 1


def _under_mpi() -> bool:
    """Return whether this is rank 0 under `python -m mpi4py.futures`.

    Nothing is imported to find out: importing mpi4py.MPI would start MPI.
    """
    names = ("mpi4py.futures._core", "mpi4py.futures._lib")  # the latter before mpi4py 4
    return any(getattr(sys.modules.get(name), "SharedPool", None) is not None for name in names)
