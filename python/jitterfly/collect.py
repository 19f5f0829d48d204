"""`collect`: simulate cells in turns until each has its answer; time limit, Ctrl-C, progress.

The loop of the questions that one process answers: `slowdown`, `noise_limit` and `advise`. The
cells of a study are run by `sweep.driver`: workers simulate them, and a store keeps them.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

ALL, SECONDS, STOPPED = "all", "seconds", "stopped"
"""Why it ended: each cell has its answer; the time is over; Ctrl-C."""
Report = Callable[[float], object]
"""Called in a turn with the part of the cell that is done; it ends the turn when time is over."""


class _WithRanks(Protocol):
    @property
    def ranks(self) -> int: ...


Cell = TypeVar("Cell", bound=_WithRanks)
Answer = TypeVar("Answer")


class _OutOfTime(Exception):
    """The time is over."""


def collect(
    cells: Sequence[Cell],
    turn: Callable[[Cell, Report], Answer | None],
    progress: Callable[[float, int, int], object] | None = None,
    *,
    seconds: float | None = None,
    started: float | None = None,
    partial: bool = False,
) -> tuple[list[Answer], str]:
    """Give each cell a turn, and those without an answer another one; return answers and the end.

    Parameters
    ----------
    turn : callable
        Simulates more of a cell. It returns the answer, or None where that takes another turn.
    progress : callable, optional
        Called before each turn and at each report as ``progress(done, cells, ranks)``; `done` holds
        the part of the present cell.
    seconds, started : float, optional
        How long it may take from the `time.monotonic()` `started` (now) on; turns end at a report.
    partial : bool
        Whether cells are worth something without an answer. Else Ctrl-C before the first one raises
        KeyboardInterrupt.
    """
    begun = time.monotonic() if started is None else started
    answers: list[Answer] = []
    waiting = deque(cells)

    def report(part: float) -> None:
        if progress is not None:
            progress(len(answers) + part, len(cells), cell.ranks)
        if seconds is not None and time.monotonic() - begun > seconds:
            raise _OutOfTime

    try:
        while waiting:
            cell = waiting.popleft()
            report(0.0)
            if (answer := turn(cell, report)) is None:
                waiting.append(cell)
            else:
                answers.append(answer)
    except _OutOfTime:
        return answers, SECONDS
    except KeyboardInterrupt:
        if not answers and not partial:
            raise
        return answers, STOPPED
    return answers, ALL
