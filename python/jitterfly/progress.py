"""Signs of life: work that takes more than a moment says how far it is, where that is asked for.

A program asks for it with `telling`; without it nothing is said.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Item = TypeVar("Item")
Tell = Callable[[str], object]

FIRST, EVERY = 0.5, 10.0  # seconds before the first line, and between lines
MANY = 10_000  # items take long: the first line comes at once
LONG = 1.0  # what can not be counted takes long from here on
_tell: ContextVar[Tell | None] = ContextVar("tell", default=None)


@contextmanager
def telling(tell: Tell) -> Iterator[None]:
    """Within, `tell` is called with each line."""
    token = _tell.set(tell)
    try:
        yield
    finally:
        _tell.reset(token)


def each(items: Iterable[Item], total: int, doing: str) -> Iterator[Item]:
    """The items, of which there are `total`; where it takes long, how many are done is told.

    Lines are `checking cells: 120 of 500`, and at the end `checking cells: 500 of 500 in 2.1 s`.
    """
    tell = _tell.get()
    if tell is None:
        yield from items
        return
    started = time.monotonic()
    following = started + (FIRST if total < MANY else 0.0)
    told = False
    for done, item in enumerate(items):
        now = time.monotonic()
        if now >= following:
            tell(f"{doing}: {done:,} of {total:,}")
            following, told = now + EVERY, True
        yield item
    took = time.monotonic() - started
    if told or took >= FIRST:
        tell(f"{doing}: {total:,} of {total:,} in {took:.1f} s")


@contextmanager
def phase(doing: str) -> Iterator[None]:
    """Work that can not be counted: told once it takes long, and at its end with its time."""
    tell = _tell.get()
    if tell is None:
        yield
        return
    started = time.monotonic()
    timer = threading.Timer(LONG, tell, [f"{doing} ..."])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
    if (took := time.monotonic() - started) >= LONG:
        tell(f"{doing}: {took:.1f} s")
