"""Background writer: a thread that appends records while the caller goes on; Ctrl-C meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any


class BackgroundWriter:
    """Does one thing after the other, in order; while `on`, in a thread of its own.

    One at most is not done yet, so that what waits is one record. What goes wrong with it is
    raised by the next call, by `wait`, or at the end of `on`.
    """

    def __init__(self) -> None:
        self._thread: ThreadPoolExecutor | None = None
        self._last: Future[object] | None = None

    def __call__(self, job: Callable[[], object]) -> None:
        """Do `job` when all before it is done."""
        self.wait()
        if self._thread is None:
            job()
        else:
            self._last = self._thread.submit(job)

    def wait(self) -> None:
        """Until everything is done."""
        if self._last is not None:
            error = self._last.exception()  # Ctrl-C leaves it to be waited for again
            self._last = None
            if error is not None:
                raise error

    @property
    def submit(self) -> Callable[..., Future[Any]] | None:
        """Has a call made after all before it, whose failure is the caller's; None while not on."""
        return None if self._thread is None else self._thread.submit

    @contextmanager
    def on(self) -> Iterator[None]:
        """Within, callers do not wait; at the end everything is done."""
        try:
            with ThreadPoolExecutor(1, "jitterfly-store") as self._thread:
                yield  # leaving it waits, so that Ctrl-C does not hide what went wrong
        finally:
            self._thread = None
            self.wait()
