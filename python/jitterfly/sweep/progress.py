"""Progress of a run: a bar on a terminal, else a line now and then."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, TextIO

from .batches import CellRun, worst

_EVERY_BAR = 0.1
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
    """Counts cells, realizations and work.

    The time left goes by work (rank-rounds), or by cells where that is longer: small cells take
    time for more than their work.

    The variants of a cell are looked at together. Use as a
    context manager. `stream` is stderr, so that what is printed as a result stays clean.
    """

    def __init__(self, runs: Sequence[CellRun], stream: TextIO | None = None):
        self.stream = stream or sys.stderr
        self.runs = runs
        self.cells = len(runs)
        self.cells_done = sum(run.done for run in runs)
        self.nothing_to_do = self.cells_done == self.cells
        self.shown = 0.0  # of the bar, which never goes back where the data ask for more
        self.realizations = 0
        self.work_done = 0.0
        self.left = {run.cell.index: run.expected() * run.cell.work for run in runs}
        self.work_left = float(sum(self.left.values()))
        self.done_in_cell = dict.fromkeys(self.left, 0.0)  # realizations
        self.share = dict.fromkeys(self.left, 0.0)  # of what each cell takes, as is known so far
        self.cells_worth = 0.0  # done now: the sum of these shares
        self.cells_asked = self.cells - self.cells_done
        self.finished = {run.cell.index for run in runs if run.done}
        self.started = self.last = time.monotonic()
        self.bar: Any = None
        if self.stream.isatty():
            try:
                from tqdm import tqdm
            except ImportError:
                pass
            else:
                self.bar = tqdm(
                    total=1.0,
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
            self._draw()
            self.bar.close()
        elif kind is None:
            self._line()

    def step(self, run: CellRun, realizations: int) -> None:
        """So many more realizations of a cell are stored."""
        cell = run.cell
        self.realizations += realizations * len(cell.variants)
        self.work_done += float(realizations) * cell.work
        expected = run.expected()
        left = expected * cell.work
        self.work_left += left - self.left[cell.index]
        self.left[cell.index] = left
        self.done_in_cell[cell.index] += realizations
        done = self.done_in_cell[cell.index]
        share = done / (done + expected) if done else 0.0
        self.cells_worth += share - self.share[cell.index]
        self.share[cell.index] = share
        if run.done and cell.index not in self.finished:
            self.finished.add(cell.index)
            self.cells_done += 1
        now = time.monotonic()
        if now - self.last >= (_EVERY if self.bar is None else _EVERY_BAR):
            self.last = now
            self._line() if self.bar is None else self._draw()

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    def text(self) -> str:
        """Cells done, time left, realizations per second: a narrow terminal cuts the end off."""
        if self.nothing_to_do:
            return f"{self.cells_done}/{self.cells} cells, nothing to do"
        elapsed = max(self.elapsed, 1e-9)
        if self.work_done > 0 and self.cells_done < self.cells:
            when = f"{show_time(elapsed * (1 / max(self._part(), 1e-9) - 1))} left"
        else:
            when = show_time(elapsed)
        rate = show_rate(self.realizations / elapsed)
        told = f"{self.cells_done}/{self.cells} cells, {when}, {rate} realizations/s"
        far = worst(self.runs)
        return told if far is None else f"{told}, {_show_worst(*far)}"

    def _part(self) -> float:
        """Part of all that is done: of the work, or of the cells where that is less."""
        work = self.work_done / max(self.work_done + max(self.work_left, 0.0), 1e-9)
        return min(work, self.cells_worth / max(self.cells_asked, 1))

    def _draw(self) -> None:
        self.shown = max(self.shown, min(self._part(), 0.999))
        self.bar.n = 1.0 if self.cells_done == self.cells else self.shown
        self.bar.set_description_str(self.text())

    def _line(self) -> None:
        print(self.text(), file=self.stream, flush=True)


def _show_worst(error: float, what: str) -> str:
    size = f"{100 * error:.2g} %" if math.isfinite(error) else "not known yet"
    return f"worst error {size} ({what})"
