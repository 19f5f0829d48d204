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
    if not cell.ranking:
        return TuningChoice(*place, "", "", cell.outcome)
    # The library's candidates, by the one of the ranking whose program they are.
    first = {SAME_PROGRAM.format(one.name): one.name for one in cell.ranking}
    having: dict[str, list[str]] = {one.name: [] for one in cell.ranking}
    for name in called:
        if name in having:
            having[name].insert(0, name)
        elif (why := cell.left_out.get(name, "")) in first:
            having[first[why]].append(name)
    ranked = [one for one in cell.ranking if having[one.name]]
    if sum(map(len, having.values())) < LEAST_CHOICE:
        reason = f"fewer than two algorithms of {library} were compared"
        return TuningChoice(*place, "", "", reason)
    for one in ranked:
        name = having[one.name][0]
        if one.name == cell.best:
            return TuningChoice(*place, name, called[name], _reason(question, one, cell.outcome))
        times = [_at_most(cell, one, other) for other in ranked if other is not one]
        if max(times, default=1.0) <= 1 + question.within:
            reason = _reason(question, one, f"best of those that {library} has")
            return TuningChoice(*place, name, called[name], reason)
    reason = f"not decided among {', '.join(having[one.name][0] for one in ranked)}"
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
