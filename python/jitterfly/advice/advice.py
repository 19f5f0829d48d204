"""All that was found: cells over ranks and message sizes, as a table, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import notebook
from ..stats import Estimate
from ..units import show_size
from .found import EQUAL, NEAR, NOBODY, NOT_RUN, OPEN, WINNER, Cell, Ranked
from .question import Question

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

DECIDED, REALIZATIONS, SECONDS, STOPPED = "decided", "realizations", "seconds", "stopped"
"""Why it ended: everything is known; the budget in realizations, or in seconds; Ctrl-C."""

COLUMNS = (
    "collective", "ranks", "message_bytes", "outcome", "candidate", "place", "state", "known_from",
    "statistic", "value_s", "low_s", "high_s", "noise_free_s", "slowdown", "slowdown_low",
    "slowdown_high", "versus", "ratio", "ratio_low", "ratio_high", "difference_s",
    "difference_low_s", "difference_high_s", "faster", "realizations", "look", "told_at",
    "confidence", "seed", "reason",
)  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Advice:
    """What `advise` found.

    Attributes
    ----------
    question : Question
    cells : tuple of Cell
        Along the ranks first, then along the message sizes.
    ended : str
        "decided", "realizations", "seconds" or "stopped" (Ctrl-C).
    simulated : int
        Realizations of all candidates in all cells.
    elapsed : float
        Seconds that it took.
    """

    question: Question
    cells: tuple[Cell, ...]
    ended: str
    simulated: int
    elapsed: float

    def __repr__(self) -> str:
        return f"Advice({self.summary()!r}, cells={len(self.cells)}, ended={self.ended!r})"

    @cached_property
    def _by_place(self) -> dict[tuple[int, int], Cell]:
        return {(cell.ranks, cell.message_bytes): cell for cell in self.cells}

    def cell(self, ranks: int, message_bytes: int) -> Cell:
        """The cell of so many ranks and bytes; `ValueError` if it was not asked for."""
        found = self._by_place.get((ranks, message_bytes))
        if found is None:
            question = self.question
            raise ValueError(
                f"ranks must be one of {', '.join(map(str, question.ranks))} and message_bytes one "
                f"of {', '.join(map(str, question.message_bytes))}, got {ranks} and {message_bytes}"
            )
        return found

    def summary(self) -> str:
        """One line: what was decided, for which share of the cells."""
        count = len(self.cells)
        outcomes = Counter(cell.outcome for cell in self.cells)
        names = Counter(cell.best for cell in self.cells if cell.best)
        told = {
            WINNER: "a winner",
            EQUAL: f"several equal {self._tolerance()}",
            NEAR: f"one at most {100 * self.question.within:.10g} % slower than any",
            OPEN: "no winner",
            NOT_RUN: "nothing known yet",
            NOBODY: "no candidate fits",
        }
        parts = [
            f"{words} in {_share(outcomes[outcome], count)}"
            for outcome, words in told.items()
            if outcomes[outcome]
        ]
        best = ", ".join(f"{name} {number}" for name, number in names.most_common())
        return "; ".join(parts) + (f" (best: {best})" if best else "")

    def _tolerance(self) -> str:
        within = self.question.within
        return f"within {100 * within:.10g} %" if within else "to the tick"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; times in seconds."""
        question = self.question
        return {
            **question.to_dict(),
            "looks": question.looks(),
            "ended": self.ended,
            "simulated": self.simulated,
            "elapsed_s": self.elapsed,
            "summary": self.summary(),
            "cells": [_cell(cell) for cell in self.cells],
        }

    def to_json(self) -> str:
        """`to_dict` as text."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n"

    def to_csv(self) -> str:
        """A line for each candidate of each cell; those left out with the reason."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        question = self.question
        for cell in self.cells:
            start = (question.collective, cell.ranks, cell.message_bytes, cell.outcome)
            end = (question.confidence, question.seed)
            for place, one in enumerate(cell.ranking, 1):
                parts = (one.value, one.slowdown, one.ratio, one.difference)
                value, slowdown, ratio, apart = (list(_plain(part).values()) for part in parts)
                writer.writerow([*start, one.name, place, one.state, _known_from(one),
                                 question.statistic, *value, one.noise_free, *slowdown, one.versus,
                                 *ratio, *apart, _plain(one.faster)["value"], one.realizations,
                                 one.look, one.told_at, *end, ""])  # fmt: skip
            for name, quiet in cell.noise_free.items():
                if not cell.ranking:
                    writer.writerow([*start, name, "", cell.outcome, "", question.statistic,
                                     *[""] * 3, quiet, *[""] * 11, 0, 0, 0, *end, ""])  # fmt: skip
            for name, why in cell.left_out.items():
                writer.writerow([*start, name, "", "left out", "", question.statistic, *[""] * 15,
                                 0, 0, 0, *end, why])  # fmt: skip
        return text.getvalue()

    def to_pandas(self) -> pandas.DataFrame:
        """The table of `to_csv`: a row for each candidate of each cell; times in seconds.

        Raises
        ------
        ValueError
            pandas is not installed.
        """
        return notebook.from_csv(self.to_csv())

    def plot(self, path: str | Path | None = None) -> Figure:
        """A map of which algorithm wins where; of one cell, the candidates' intervals.

        Parameters
        ----------
        path : str or Path, optional
            Where the picture is written, too.

        Raises
        ------
        ValueError
            matplotlib is not installed, or does not know the ending of `path`; nothing is known
            of any cell.
        """
        if not any(cell.ranking for cell in self.cells):
            raise ValueError("nothing to draw: no cell has a ranking yet")
        return notebook.picture("advice", self, path=path)

    def _repr_html_(self) -> str:
        from .tell import lines

        return notebook.text(lines(self))

    def title(self) -> str:
        """What was asked."""
        question = self.question
        ranks = f"{question.ranks[0]:,}"
        if len(question.ranks) > 1:
            ranks += f" to {question.ranks[-1]:,}"
        sizes = show_size(question.message_bytes[0])
        if len(question.message_bytes) > 1:
            sizes += f" to {show_size(question.message_bytes[-1])}"
        what = question.collective.replace("_", "-")
        return f"{what} on {ranks} ranks, {sizes}: which algorithm has the smallest " + (
            question.statistic
        )


def _share(part: int, count: int) -> str:
    return f"{part} of {count} cells ({100 * part / count:.3g} %)" if count > 1 else "this cell"


def _cell(cell: Cell) -> dict[str, Any]:
    return {
        "ranks": cell.ranks,
        "message_bytes": cell.message_bytes,
        "outcome": cell.outcome,
        "best": cell.best or None,
        "at_most_times_the_best": cell.at_most if math.isfinite(cell.at_most) else None,
        "among": list(cell.among),
        "realizations": cell.realizations,
        "noise_free_s": cell.noise_free,
        "ranking": [
            {
                "name": one.name,
                "state": one.state,
                "known_from": _known_from(one),
                "statistic_s": _plain(one.value),
                "noise_free_s": one.noise_free,
                "slowdown": _plain(one.slowdown),
                "versus": one.versus or None,
                "ratio": _plain(one.ratio),
                "difference_s": _plain(one.difference),
                "faster": _plain(one.faster),
                "realizations": one.realizations,
                "look": one.look,
                "told_at": one.told_at,
            }
            for one in cell.ranking
        ],
        "left_out": cell.left_out,
    }


def _known_from(one: Ranked) -> str:
    """What stands behind the numbers of a candidate."""
    if one.is_bound:
        return "bound"
    return "simulated" if one.realizations else "noise-free time"


def _plain(estimate: Estimate) -> dict[str, Any]:
    """An estimate for JSON: what is unknown or has no end is None."""
    return {
        name: float(number) if math.isfinite(number) else None
        for name, number in (
            ("value", float(estimate.value)),
            ("low", float(estimate.low)),
            ("high", float(estimate.high)),
        )
    }
