"""Background writer: a thread that appends records while the caller goes on; Ctrl-C meanwhile."""

from __future__ import annotations

import _thread
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Call(Generic[T]):
    """A call that another thread executes, and what comes of it.

    A `concurrent.futures.Future` would do, but for Ctrl-C: in the middle of one of its methods it
    leaves the future locked for ever, and the thread that has the result waits for that lock. This
    lock is one that only the caller ever waits for.
    """

    def __init__(self, function: Callable[[], T]) -> None:
        self._function: Callable[[], T] | None = function
        self._executing = threading.Lock()
        self._executing.acquire()
        self._done = False
        self._value: T
        self.error: BaseException | None = None

    def execute(self) -> None:
        """Execute the function, in the other thread."""
        assert self._function is not None
        try:
            self._value = self._function()
        except BaseException as error:
            self.error = error
        self._function = None  # it may hold a record, for which there is no more use
        self._done = True
        self._executing.release()

    def wait(self) -> None:
        """Wait until it is executed. After Ctrl-C it can be waited for again."""
        if not self._done:
            with self._executing:
                pass

    def result(self) -> T:
        """Return what the function returned, once it has; raise what it raised."""
        self.wait()
        if self.error is not None:
            raise self.error
        return self._value


class BackgroundWriter:
    """A writer that does one thing after the other; while `on`, in a thread of its own.

    One at most is not done yet, so that what waits is one record. What goes wrong with it is
    raised by the next call, by `wait`, or at the end of `on`.
    """

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[Call[Any] | None] | None = None
        self._last: Call[object] | None = None

    def __call__(self, job: Callable[[], object]) -> None:
        """Do `job` when all before it is done."""
        self.wait()
        if self.is_on:
            self._last = self._submit(job)
        else:
            job()

    def wait(self) -> None:
        """Wait until everything is done."""
        if self._last is not None:
            self._last.wait()
            error, self._last = self._last.error, None
            if error is not None:
                raise error

    @property
    def is_on(self) -> bool:
        """Return whether there is a thread for what is to be done."""
        return self._calls is not None

    def later(self, function: Callable[[], T]) -> Callable[[], T]:
        """Have `function` called after all before it, while `on`.

        What is returned waits for its result, and raises what it raised.
        """
        return self._submit(function).result

    def _submit(self, function: Callable[[], T]) -> Call[T]:
        assert self._calls is not None
        call = Call(function)
        self._calls.put(call)
        return call

    @contextmanager
    def on(self) -> Iterator[None]:
        """Within, callers do not wait; at the end everything is done."""
        calls: queue.SimpleQueue[Call[Any] | None] = queue.SimpleQueue()
        thread = Call(lambda: _execute(calls))
        # `threading.Thread` has the same trouble with Ctrl-C as futures have, when it starts.
        _thread.start_new_thread(thread.execute, ())
        self._calls = calls
        try:
            yield
        finally:  # it waits, so that Ctrl-C does not hide what went wrong
            self._calls = None
            calls.put(None)
            thread.wait()
            self.wait()


def _execute(calls: queue.SimpleQueue[Call[Any] | None]) -> None:
    while (call := calls.get()) is not None:
        call.execute()
