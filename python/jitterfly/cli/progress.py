"""What a command is doing, on standard error, where it takes longer than a moment."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, TextIO

from ..sweep.progress import show_time
from .output import progress_stream

QUIET = 2.0  # seconds in which nothing is said: what is quick needs no progress
SOON = 1.0  # seconds between lines of different phases
EVERY = 10.0  # seconds between lines of a phase where there is no terminal
_EVERY_BAR = 0.1


class Phases:
    """A line for each phase and one now and then; on a terminal a bar (with tqdm).

    Called with the name of the phase, how much of it is done, and how much there is of it (0:
    nobody knows); with the name alone when a phase begins. Use as a context manager. `stream` is
    stderr, so that what is printed as a result stays clean; `begun` is the `time.monotonic()` at
    which the command began (now).
    """

    def __init__(self, stream: TextIO | None = None, begun: float | None = None) -> None:
        self.stream = stream or progress_stream()
        self.begun = time.monotonic()
        self.started = self.last = self.begun if begun is None else begun
        self.name = self.told = ""
        self.bar: Any = None

    def __enter__(self) -> Phases:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()

    def __call__(self, name: str, done: float = 0.0, total: float = 0.0) -> None:
        now = time.monotonic()
        if name != self.name:
            self._close()
            self.name, self.begun = name, now
        if now - self.started < QUIET:
            return
        if self.stream.isatty():
            self._draw(now, done, total)
        elif now - self.last >= (EVERY if name == self.told else SOON):
            self.told, self.last = name, now
            print(f"{name}{self._how_far(now, done, total)}", file=self.stream, flush=True)

    def _how_far(self, now: float, done: float, total: float) -> str:
        """Share and time left, once enough is done to tell."""
        if not 0 < done < total:
            return ""
        left = (now - self.begun) * (total - done) / done
        return f": {100 * done / total:.0f} %, {show_time(left)} left"

    def _draw(self, now: float, done: float, total: float) -> None:
        if self.bar is None:
            try:
                from tqdm import tqdm
            except ImportError:
                if now - self.last >= _EVERY_BAR or self.told != self.name:
                    self.told, self.last = self.name, now
                    text = f"{self.name}{self._how_far(now, done, total)}"
                    print(f"\r\033[K{text}", end="", file=self.stream, flush=True)
                return
            self.told = ""
            self.bar = tqdm(total=1.0, file=self.stream, leave=False,
                            bar_format="{percentage:3.0f}%|{bar}| {desc}")  # fmt: skip
        elif now - self.last < _EVERY_BAR:
            return
        self.last = now
        self.bar.n = done / total if total else 0.0
        self.bar.set_description_str(f"{self.name}{self._how_far(now, done, total)}")

    def _close(self) -> None:
        """Take the bar, or the line, away."""
        if self.bar is not None:
            self.bar.close()
            self.bar = None
        elif self.told and self.stream.isatty():
            print("\r\033[K", end="", file=self.stream, flush=True)
            self.told = ""
