"""What must end soon, whatever else the process has to do: for the fuzzers."""

import time
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")
MAX_SECONDS = 1.0  # of processor time, for one input


class Finding(Exception):
    """What a parser must not do."""


def in_time(read: Callable[[], Value]) -> Value:
    """What `read` gives.

    It is called once more where it took long: a process that has done thousands of other tests may
    search its whole memory for garbage within a call of milliseconds.

    Raises
    ------
    Finding
        It took more than MAX_SECONDS both times.
    """
    for _ in range(2):
        started = time.process_time()
        value = read()
        took = time.process_time() - started
        if took <= MAX_SECONDS:
            return value
    raise Finding(f"took {took:.1f} s")
