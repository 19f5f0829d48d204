"""Progress bar and progress lines on standard error, with the estimated time left.

`ProgressLine` is the one printer of progress: a bar on a terminal, lines elsewhere. A long call of
Python has one by `backends.progress_of_call`, a command has its own. Both ask with `progress_to`
for the lines of `counted_progress` and `timed_phase`, inside the library.
"""

from __future__ import annotations

import io
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TextIO, TypeVar

from .fields import visible

Item = TypeVar("Item")
Tell = Callable[[str], object]
Line = TypeVar("Line", bound="ProgressLine")

QUIET = 2.0  # seconds in which nothing is said: what is quick needs no progress
SOON = 1.0  # seconds between lines of different phases
EVERY_LINE, EVERY_BAR = 10.0, 0.1  # seconds between lines, and between two states of a bar


class Nowhere(io.TextIOBase):
    """A stream that drops what is written."""

    def write(self, text: str) -> int:
        """Drop the text."""
        return len(text)


class ProgressLine:
    """The progress of some work: a bar of tqdm on a terminal, elsewhere a line now and then.

    Without tqdm a terminal shows one line that changes. Use as a context manager.

    Parameters
    ----------
    stream : text stream, optional
        Usually standard error, so that what is printed as a result stays clean. None: standard
        error, where nobody asked for progress; the first error of the stream ends the line, and
        nothing else.
    quiet : float
        Seconds in which nothing is said.
    keep : bool
        Whether the last state stays: the bar, or one more line. Else a terminal is as before.
    begun : float, optional
        The `time.monotonic()` at which the work began; now if not given.
    """

    def __init__(
        self,
        stream: TextIO | None,
        *,
        quiet: float = 0.0,
        keep: bool = False,
        begun: float | None = None,
    ) -> None:
        self.asked = stream is not None
        stream = sys.stderr if stream is None else stream
        self.given_up = stream is None
        self.stream: Any = getattr(stream, "with_controls", stream)
        self.keep = keep
        self.begun = time.monotonic() if begun is None else begun
        self.first = self.begun + quiet
        self.last = -math.inf if quiet else self.begun
        self.terminal = False
        with self._outlasting():
            self.terminal = getattr(stream, "isatty", bool)()  # a logger's stream may have none
        self.bar: Any = None
        self.drawn = False  # a line that changes

    @contextmanager
    def _outlasting(self) -> Iterator[None]:
        """Give the line up where its stream fails and nobody asked: the work goes on to its end.

        The stream may lack a method or be None, be closed, have no reader, or be on a full disk.
        """
        try:
            yield
        except (AttributeError, ValueError, OSError):
            if self.asked:
                raise
            self.given_up = True

    def due(self, every: float | None = None) -> bool:
        """Return whether it is time to show something; lines come `every` seconds, usually 10."""
        now, lines = time.monotonic(), EVERY_LINE if every is None else every
        lines = EVERY_BAR if self.terminal else lines
        return not self.given_up and now >= self.first and now - self.last >= lines

    def show(self, text: str, share: float = 0.0) -> None:
        """Show what is done now, whether it is due or not; `share` is the part of all that is."""
        self.last = time.monotonic()
        if not self.given_up:
            with self._outlasting():
                self._print(visible(text), share)

    def _print(self, text: str, share: float) -> None:
        if not self.terminal:
            print(text, file=self.stream, flush=True)
        elif self.bar is not None or self._begin_bar():
            self.bar.n = share
            self.bar.set_description_str(text)
        else:
            self.drawn = True
            print(f"\r\033[K{text}", end="", file=self.stream, flush=True)

    def _begin_bar(self) -> bool:
        """Begin the bar; False without tqdm."""
        try:
            from tqdm import tqdm
        except ImportError:
            return False
        form = "{percentage:3.0f}%|{bar}| {desc}"
        size = _size_options(self.stream)
        self.bar = tqdm(total=1.0, file=self.stream, leave=self.keep, bar_format=form, **size)
        return True

    def close(self) -> None:
        """Take the bar, or the line, away; or leave it there (`keep`)."""
        bar, drawn = self.bar, self.drawn
        self.bar, self.drawn = None, False
        with self._outlasting():
            if bar is not None:
                bar.close()
            elif drawn:
                print("\n" if self.keep else "\r\033[K", end="", file=self.stream, flush=True)

    def __enter__(self: Line) -> Line:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close()


class Phases(ProgressLine):
    """The progress of work in phases: a line for each phase and one now and then, or a bar.

    Called with the name of the phase, how much of it is done, how much there is of it (0: nobody
    knows), and the part that is worked at; with the name alone when a phase begins. `begun` is the
    `time.monotonic()` at which the command began (now).
    """

    def __init__(self, stream: TextIO, begun: float | None = None) -> None:
        super().__init__(stream, quiet=QUIET, begun=begun)
        self.phase_begun = time.monotonic()
        self.name = self.shown = ""

    def __call__(self, name: str, done: float = 0.0, total: float = 0.0, part: str = "") -> None:
        """Show, if it is time, how much of a phase is done."""
        now = time.monotonic()
        if name != self.name:
            self.close()
            self.name, self.phase_begun = name, now
        text = f"{name}{part}"
        new = text != self.shown
        if self.due() or (new and now >= self.first and (self.terminal or now - self.last >= SOON)):
            self.shown = text
            self.show(f"{text}{self._time_left(now, done, total)}", done / total if total else 0.0)

    def _time_left(self, now: float, done: float, total: float) -> str:
        """The share and time left, once enough is done to say."""
        if not 0 < done < total:
            return ""
        left = (now - self.phase_begun) * (total - done) / done
        return f": {100 * done / total:.0f} %, {show_duration(left)} left"


def _size_options(stream: TextIO) -> dict[str, Any]:
    """Return the options of tqdm for the size of a terminal.

    Some terminals (`script`, serial lines) report size 0, which tqdm can not use.
    """
    try:
        known = all(os.get_terminal_size(stream.fileno()))
    except (OSError, ValueError):
        known = False
    return {"dynamic_ncols": True} if known else {"ncols": 80, "nrows": 24, "dynamic_ncols": False}


def show_duration(seconds: float) -> str:
    """Show a duration: `42 s`, `3 min 05 s`, `2 h 10 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def show_rate(rate: float) -> str:
    """Show three digits at most: `870`, `12.3k`, `4.5M`."""
    for limit, scale, unit in ((1e3, 1.0, ""), (1e6, 1e3, "k"), (1e9, 1e6, "M")):
        if rate < limit:
            return f"{rate / scale:.3g}{unit}"
    return f"{rate / 1e9:.3g}G"


FIRST, EVERY = 0.5, 10.0  # seconds before the first line, and between lines
MANY = 10_000  # items take long: the first line comes at once
LONG = 1.0  # what can not be counted takes long from here on
telling: ContextVar[Tell | None] = ContextVar("tell", default=None)


@contextmanager
def progress_to(tell: Tell) -> Iterator[None]:
    """Call `tell` with each line of progress within the block."""
    token = telling.set(tell)
    try:
        yield
    finally:
        telling.reset(token)


def counted_progress(items: Iterable[Item], total: int, doing: str) -> Iterator[Item]:
    """The items, of which there are `total`; where it takes long, how many are done is shown.

    Lines are `checking cells: 120 of 500`, and at the end `checking cells: 500 of 500 in 2.1 s`.
    """
    tell = telling.get()
    if tell is None:
        yield from items
        return
    started = time.monotonic()
    following = started + (FIRST if total < MANY else 0.0)
    shown = False
    for done, item in enumerate(items):
        now = time.monotonic()
        if now >= following:
            tell(f"{doing}: {done:,} of {total:,}")
            following, shown = now + EVERY, True
        yield item
    took = time.monotonic() - started
    if shown or took >= FIRST:
        tell(f"{doing}: {total:,} of {total:,} in {took:.1f} s")


@contextmanager
def timed_phase(doing: str) -> Iterator[None]:
    """Tell of work that can not be counted once it takes long, and at its end with its time."""
    tell = telling.get()
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


def share_done(done: float, total: float, elapsed: float, counted: str) -> tuple[str, float]:
    """Say how many of all are done, and how much time is left; return that and the share."""
    share = done / total if total else 0.0
    return f"{done:,.0f} of {total:,.0f} {counted}{time_left(elapsed, share)}", share


def part_of_progress(
    progress: Callable[[int, int], object] | None, before: int, each: int, total: int
) -> Callable[[int, int], object] | None:
    """Return the progress of one simulation of several: a realization adds `each` to `before`."""
    if progress is None:
        return None
    return lambda done, _: progress(min(before + done * each, total), total)


def time_left(elapsed: float, share: float) -> str:
    """Say how much time is left; "" where nothing is done."""
    return f", {show_duration(elapsed * (1 / share - 1))} left" if share else ""


def realizations_done(elapsed: float, done: int, total: int) -> tuple[str, float]:
    """Say how many realizations are done, and how much time is left."""
    return share_done(done, total, elapsed, "realizations")
