"""Progress of a run: cells, realizations and time left."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import TextIO

from ..progress import ProgressLine, show_rate, show_time
from .batches import CellRun, worst


class Progress(ProgressLine):
    """Counts cells, realizations and work.

    The time left goes by work (rank-rounds), or by cells where that is longer: small cells take
    time for more than their work.

    The variants of a cell are looked at together. `stream` is stderr if not given.
    """

    def __init__(self, runs: Sequence[CellRun], stream: TextIO | None = None):
        super().__init__(stream or sys.stderr, keep=True)
        self.runs = runs
        self.cells = len(runs)
        self.cells_done = sum(run.done for run in runs)
        self.nothing_to_do = self.cells_done == self.cells
        self.shown = 0.0  # share of the bar, which never goes back where the data ask for more
        self.realizations = 0
        self.work_done = 0.0
        self.left = {run.cell.index: run.expected() * run.cell.work for run in runs}
        self.work_left = float(sum(self.left.values()))
        self.done_in_cell = dict.fromkeys(self.left, 0.0)  # realizations
        self.share = dict.fromkeys(self.left, 0.0)  # of what each cell takes, as is known so far
        self.cells_worth = 0.0  # done now: the sum of these shares
        self.cells_asked = self.cells - self.cells_done
        self.finished = {run.cell.index for run in runs if run.done}

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.terminal or kind is None:
            self._show()
        self.close()

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
        if self.due():
            self._show()

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.begun

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

    def _show(self) -> None:
        self.shown = max(self.shown, min(self._part(), 0.999))
        self.show(self.text(), 1.0 if self.cells_done == self.cells else self.shown)


def _show_worst(error: float, what: str) -> str:
    size = f"{100 * error:.2g} %" if math.isfinite(error) else "not known yet"
    return f"worst error {size} ({what})"
