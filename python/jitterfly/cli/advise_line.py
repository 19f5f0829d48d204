"""How far `jitterfly advise` is, on standard error."""

from __future__ import annotations

import time
from typing import Any

from .output import progress_stream

_FIRST = 2.0  # seconds until the first line where there is no terminal
_EVERY = {True: 0.2, False: 10.0}  # seconds between lines: on a terminal, elsewhere


class Line:
    """Progress on standard error: a line that changes, or one now and then."""

    def __init__(self) -> None:
        self.stream = progress_stream()
        self.terminal = self.stream.isatty()
        self.last = time.monotonic() - (0.0 if self.terminal else _EVERY[False] - _FIRST)
        self.drawn = False

    def __call__(self, state: Any) -> None:
        now = time.monotonic()
        if now - self.last < _EVERY[self.terminal]:
            return
        self.last = now
        text = (
            f"{state.decided}/{state.cells} cells decided, look {state.look} of at most "
            f"{state.looks} ({state.realizations:,} realizations), {state.elapsed:.0f} s"
        )
        if state.prepared < state.cells:
            text = f"noise-free times of {state.prepared}/{state.cells} cells, {text}"
        if self.terminal:
            print(f"\r\033[K{text}", end="", file=self.stream, flush=True)
            self.drawn = True
        else:
            print(text, file=self.stream, flush=True)

    def end(self) -> None:
        """Take the line away."""
        if self.drawn:
            print("\r\033[K", end="", file=self.stream, flush=True)
