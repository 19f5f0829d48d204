"""Spawned worker processes as an executor; one that dies costs the call it was at, no other.

`concurrent.futures.ProcessPoolExecutor` gives all its calls up when one worker dies, and does not
say whose fault it was.
"""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from multiprocessing.connection import Connection, wait
from typing import Any

# Spawned: a forked one would share the threads and the CUDA context of this process.
_SPAWN = multiprocessing.get_context("spawn")


class WorkerDied(BrokenExecutor):
    """The worker that ran a call ended before the call did; another takes its place."""


class WorkersBroken(RuntimeError):
    """A worker can not even start."""


class Pool(Executor):
    """One process for each of `setups`, called in it as ``prepare(setup)`` at its start."""

    def __init__(self, prepare: Callable[[Any], object], setups: Sequence[Any]):
        self.num_workers = len(setups)
        self._prepare = prepare
        self._calls: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._processes: dict[int, multiprocessing.process.BaseProcess] = {}
        self._starting = threading.Lock()
        self._closed = False
        self._threads = [
            threading.Thread(target=self._feed, args=(number, setup), daemon=True)
            for number, setup in enumerate(setups)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """As every executor's."""
        if self._closed:
            raise RuntimeError("this pool is shut down")
        future: Future[Any] = Future()
        self._calls.put((future, (fn, args, kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """As every executor's."""
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
        """Stop at once, whatever the workers are at."""
        self._closed = True
        self._cancel()
        with self._starting:
            for process in self._processes.values():
                process.kill()
        for _ in self._threads:
            self._calls.put(None)

    def __exit__(self, kind: type[BaseException] | None, error: Any, trace: Any) -> None:
        if kind is not None:
            self.kill()
        self.shutdown()

    def pids(self) -> list[int]:
        """Of the workers that run."""
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
            process.start()
            self._processes[number] = process
        theirs.close()
        try:
            ours.recv()
        except (EOFError, OSError):
            process.join()
            if self._closed or (process.exitcode or 0) < 0:
                raise  # it was killed
            raise WorkersBroken(
                f"a worker can not start ({self._reap(number)}); a script that starts workers "
                'must do it under `if __name__ == "__main__":`'
            ) from None
        return ours

    def _reap(self, number: int) -> str:
        """How the process of worker `number` ended; "" where there is none."""
        process = self._processes.pop(number, None)
        if process is None:
            return ""
        process.join()
        code = process.exitcode or 0
        return f"signal {-code}" if code < 0 else f"exit code {code}"


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
    """A driver that was killed leaves nobody behind to hold its GPU."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
