"""Progress of a run: a bar on a terminal, else a line now and then."""

from __future__ import annotations

import os
import sys
import time
from types import TracebackType
from typing import Any, TextIO

_EVERY = 10.0  # seconds between lines where there is no terminal


def show_time(seconds: float) -> str:
    """`42 s`, `3 min 05 s`, `2 h 10 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def show_rate(rate: float) -> str:
    """Three digits at most: `870`, `12.3k`, `4.5M`."""
    for limit, scale, unit in ((1e3, 1.0, ""), (1e6, 1e3, "k"), (1e9, 1e6, "M")):
        if rate < limit:
            return f"{rate / scale:.3g}{unit}"
    return f"{rate / 1e9:.3g}G"


def _size(stream: TextIO) -> dict[str, Any]:
    """What tqdm needs to know; some terminals (`script`, serial lines) report size 0."""
    try:
        known = all(os.get_terminal_size(stream.fileno()))
    except (OSError, ValueError):
        known = False
    return {"dynamic_ncols": True} if known else {"ncols": 80, "nrows": 24, "dynamic_ncols": False}


class Progress:
    """Counts cells, realizations and work; work (rank-rounds) decides the time left.

    Use as a context manager. `stream` is stderr, so that what is printed as a result stays clean.
    """

    def __init__(self, cells: int, work: float, stream: TextIO | None = None):
        self.stream = stream or sys.stderr
        self.cells, self.work = cells, max(work, 1.0)
        self.cells_done = 0
        self.realizations = 0
        self.work_done = 0.0
        self.started = self.last = time.monotonic()
        self.bar: Any = None
        if self.stream.isatty():
            try:
                from tqdm import tqdm
            except ImportError:
                pass
            else:
                self.bar = tqdm(
                    total=self.work,
                    file=self.stream,
                    leave=True,
                    bar_format="{percentage:3.0f}%|{bar}| {desc}",
                    **_size(self.stream),
                )

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.bar is not None:
            self.bar.set_description_str(self.text())
            self.bar.close()
        elif kind is None:
            self._line()

    def skip(self, work: float) -> None:
        """A cell that was done before: no work is left of it."""
        self.cells_done += 1
        self.work -= work
        if self.bar is not None:
            self.bar.total = max(self.work, 1.0)

    def step(self, realizations: int, work: float) -> None:
        """So many more realizations are done."""
        self.realizations += realizations
        self.work_done += work
        if self.bar is not None:
            self.bar.set_description_str(self.text(), refresh=False)
            self.bar.update(work)
        elif time.monotonic() - self.last >= _EVERY:
            self._line()

    def finish_cell(self) -> None:
        """One more cell is done and stored."""
        self.cells_done += 1

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    def text(self) -> str:
        """Cells done, time left, realizations per second: a narrow terminal cuts the end off."""
        elapsed = max(self.elapsed, 1e-9)
        if 0 < self.work_done < self.work * (1 - 1e-9):
            left = elapsed * (self.work - self.work_done) / self.work_done
            when = f"{show_time(left)} left"
        else:
            when = show_time(elapsed)
        rate = show_rate(self.realizations / elapsed)
        return f"{self.cells_done}/{self.cells} cells, {when}, {rate} realizations/s"

    def _line(self) -> None:
        self.last = time.monotonic()
        print(self.text(), file=self.stream, flush=True)
