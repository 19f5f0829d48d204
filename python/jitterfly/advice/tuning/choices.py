"""Which algorithm a tuning file names in each cell, or that the library keeps its own choice."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from ...result_table import show_time
from ...units import show_seconds
from ..question import Question
from ..race import SAME_PROGRAM
from ..ranking import AdviceCell, RankedCandidate

LEAST_CHOICE = 2
"""Algorithms of the library that make a comparison."""


class Decided(Protocol):
    """What tuning files are made of: `Advice` has it."""

    @property
    def question(self) -> Question:
        """What was asked."""

    @property
    def cells(self) -> tuple[AdviceCell, ...]:
        """What was found, along the ranks first."""


@dataclass(frozen=True)
class TuningChoice:
    """What a tuning file says about one cell of an answer.

    Attributes
    ----------
    ranks, message_bytes : int
        Of the cell.
    candidate : str
        "" where the library is left to choose.
    called : str
        What the library calls it, such as "4 ring"; "" where the library is left to choose.
    reason : str
        In words: the outcome, or why nothing is chosen.
    """

    ranks: int
    message_bytes: int
    candidate: str
    called: str
    reason: str

    def comment(self) -> str:
        """Candidate and reason, for a comment."""
        return f"{self.candidate or 'default'}: {self.reason}"


def choose(
    question: Question, cell: AdviceCell, called: Mapping[str, str], library: str
) -> TuningChoice:
    """The choice for a cell.

    Parameters
    ----------
    question : Question
    cell : AdviceCell
    called : mapping
        What the library calls the candidates that it has, by their names here.
    library : str
        Its name in sentences.

    Returns
    -------
    TuningChoice
        An algorithm where at least two that the library has were compared, and the answer tells
        that one of these is the best, or at most by the tolerance `within` slower than any of them.
        That may be so in a cell that has no winner among all candidates.
    """
    place = cell.ranks, cell.message_bytes
    ranked = [candidate for candidate in cell.ranking if candidate.name in called]
    if not cell.ranking:
        return TuningChoice(*place, "", "", cell.outcome)
    same = [name for name in called if cell.left_out.get(name, "").startswith(SAME_PROGRAM)]
    if len(ranked) + len(same) < LEAST_CHOICE or not ranked:
        reason = f"fewer than two algorithms of {library} were compared"
        return TuningChoice(*place, "", "", reason)
    if cell.best in called:
        reason = _reason(question, ranked[0], cell.outcome)
        return TuningChoice(*place, cell.best, called[cell.best], reason)
    for one in ranked:
        times = [_at_most(cell, one, other) for other in ranked if other is not one]
        if max(times, default=1.0) <= 1 + question.within:
            reason = _reason(question, one, f"best of those that {library} has")
            return TuningChoice(*place, one.name, called[one.name], reason)
    reason = f"not decided among {', '.join(one.name for one in ranked)}"
    if cell.best:
        reason += f"; best of all is {cell.best}, which {library} does not have"
    return TuningChoice(*place, "", "", reason)


def _reason(question: Question, chosen: RankedCandidate, outcome: str) -> str:
    """The outcome, with the statistic of the candidate that is chosen."""
    value = chosen.value
    shown = show_seconds(float(value.value)) if value.low == value.high else show_time(value)
    return f"{outcome}, {question.statistic} {shown}"


def _at_most(cell: AdviceCell, one: RankedCandidate, other: RankedCandidate) -> float:
    """How many times as long as another candidate one takes at most; infinite if not known.

    Each candidate's ratio to another one is known with both ends, and all intervals of an answer
    hold together, so that quotients of ratios to the same candidate are bounds, too.
    """
    mine, others = _ratios(cell, one), _ratios(cell, other)
    bounds = [
        mine[name][1] / others[name][0] for name in mine if name in others and others[name][0] > 0
    ]
    return min((bound for bound in bounds if not math.isnan(bound)), default=math.inf)


def _ratios(cell: AdviceCell, candidate: RankedCandidate) -> dict[str, tuple[float, float]]:
    """Bounds of its time over that of each candidate that it is compared with, directly or not."""
    by_name = {one.name: one for one in cell.ranking}
    low = high = 1.0
    found = {candidate.name: (low, high)}
    while candidate.versus and candidate.versus not in found:
        ratio = candidate.ratio
        low, high = low * float(ratio.low), high * float(ratio.high)
        found[candidate.versus] = (low, high)
        candidate = by_name[candidate.versus]
    return found
