"""The algorithm, if any, that a tuning file names in each cell, and for which ranks and sizes.

Where it names none, the library keeps its own choice. `TuningFormat` is what formats share.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

from ...answer import SECONDS, show
from ...fields import parameter
from ...units import show_seconds, show_size
from ..question import Question, setting_in_words
from ..race import SAME_PROGRAM
from ..ranking import AdviceCell, RankedCandidate

MIN_CHOICE = 2
"""Algorithms of the library that make a comparison."""
_OF_ALL_RANKS = ("allgather", "alltoall", "gather", "scatter")
"""Collectives of which libraries count the blocks of all ranks."""


class Decided(Protocol):
    """The part of an answer that tuning files are made of: `Advice` has it."""

    @property
    def question(self) -> Question:
        """The question that was asked."""

    @property
    def cells(self) -> tuple[AdviceCell, ...]:
        """The answers, along the ranks first."""


@dataclass(frozen=True)
class TuningChoice:
    """The line of a tuning file about one cell of an answer.

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


def _choose(
    question: Question, cell: AdviceCell, called: Mapping[str, str], library: str
) -> TuningChoice:
    """The choice for a cell; `called` and `library` as of `TuningTable`.

    It is an algorithm where at least two that the library has were compared, and the answer tells
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
    if sum(map(len, having.values())) < MIN_CHOICE:
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
    shown = show_seconds(float(value.value)) if value.low == value.high else show(value, SECONDS)
    return f"{outcome}, {question.statistic} {shown}"


def _at_most(cell: AdviceCell, one: RankedCandidate, other: RankedCandidate) -> float:
    """Return how many times as long as another candidate one takes at most; infinite if not known.

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


class SizeRange(NamedTuple):
    """The choice for a range of message sizes, in bytes as the library counts them.

    Attributes
    ----------
    first, last : int
        Both belong to it. `last` is None where the library knows no size of such a message.
    choice : TuningChoice
    """

    first: int
    last: int | None
    choice: TuningChoice


def _of_all_sizes(choices: tuple[TuningChoice, ...]) -> tuple[TuningChoice, ...]:
    """Choices of a barrier, whose messages are empty to a library: one rule for all of them.

    So there is none for numbers of ranks at which sizes differ.
    """
    called: dict[int, set[str]] = {}
    for choice in choices:
        called.setdefault(choice.ranks, set()).add(choice.called)
    decided, undecided = (
        f"the best one {what} of the barrier's messages"
        for what in ("depends on the size", "is not decided at every size")
    )
    return tuple(
        choice
        if len(called[choice.ranks]) == 1
        else replace(
            choice,
            candidate="",
            called="",
            reason=undecided if "" in called[choice.ranks] else decided,
        )
        for choice in choices
    )


class TuningTable:
    """The choices of an answer.

    Parameters
    ----------
    advice : Advice
    called : mapping
        What the library calls the candidates that it has.
    library : str
        Its name in sentences.

    Attributes
    ----------
    question : Question
    collective : str
    choices : tuple of TuningChoice
        In the order of the answer's cells.
    """

    def __init__(self, advice: Decided, called: Mapping[str, str], library: str):
        self.question: Question = advice.question
        self._library, self._candidates = library, list(called)
        self.collective = self.question.collective
        choices = tuple(_choose(advice.question, cell, called, library) for cell in advice.cells)
        self.choices = _of_all_sizes(choices) if self.collective == "barrier" else choices

    def ranges(self, ranks: int) -> list[SizeRange]:
        """The ranges of message sizes on `ranks` ranks, ascending and without gaps.

        A choice holds up to the next size that was asked for; beyond the last one nothing is known.
        """
        choices = [choice for choice in self.choices if choice.ranks == ranks]
        if self.collective == "barrier":
            return [SizeRange(0, None, choices[0])]  # alike at all sizes
        times = ranks if self.collective in _OF_ALL_RANKS else 1
        sizes = [choice.message_bytes * times for choice in choices]
        lasts = [size - 1 for size in sizes[1:]] + sizes[-1:]
        return [SizeRange(*row) for row in zip(sizes, lasts, choices, strict=True)]

    def last_ranks(self, ranks: int) -> int:
        """The last number of ranks for which the choices of `ranks` ranks hold."""
        return min((one - 1 for one in self.question.ranks if one > ranks), default=ranks)

    def comments(self) -> list[str]:
        """Return what stands behind the choices: the question, and a line for each cell."""
        question = self.question
        text = [
            f"{question.collective}: smallest {question.statistic}, within "
            f"{100 * question.within:.10g} %, confidence {100 * question.confidence:.10g} %, seed "
            f"{question.seed}",
            *setting_in_words(question),
        ]
        text += [
            f"{choice.ranks:,} ranks, {show_size(choice.message_bytes)}: {choice.comment()}"
            for choice in sorted(self.choices, key=lambda one: (one.ranks, one.message_bytes))
        ]
        if way := self.way_to_decide():
            text.append(way)
        return text

    def way_to_decide(self) -> str:
        """Say how to decide the cells that are not decided; "" where all are."""
        if all(choice.called for choice in self.choices):
            return ""
        others = [one.name for one in self.question.chosen() if one.name not in self._candidates]
        if not others:
            more, larger = parameter("realizations"), parameter("within")
            return f"More cells are decided with more {more}, or a larger {larger}."
        return (
            f"{', '.join(others)}: {self._library} does not have them, and a comparison with them "
            "may end before its own algorithms are told apart. To compare these alone give "
            f"jitterfly advise the {parameter('candidates')} {','.join(self._candidates)}"
        )


class TuningFormat:
    """A format of tuning files; what the `settings` are, each has for itself.

    Attributes
    ----------
    NAME, TITLE, LIBRARY, SUFFIX : str
        What it is called, which versions read it, whose it is, and how its names end.
    CALLED : str
        The library's name in sentences and in `Candidate.called`.
    COMMENTS_INSIDE : bool
        Whether the file has room for comments; else they go into a second one.
    OPTIONS : tuple of str
        What it must be told besides, as arguments of `write_tuning`.
    """

    NAME: ClassVar[str]
    TITLE: ClassVar[str]
    LIBRARY: ClassVar[str]
    CALLED: ClassVar[str]
    SUFFIX: ClassVar[str]
    COMMENTS_INSIDE: ClassVar[bool] = True
    OPTIONS: ClassVar[tuple[str, ...]] = ()

    def settings(self, name: str) -> Any:
        """Return what follows from the options; `name` is the file's. Raises ValueError."""

    def supports(self, collective: str, called: str, settings: Any) -> bool:
        """Return whether the library has an algorithm.

        `settings` may be None: whether any version has it, or, of no name, whether files can choose
        for the collective at all.
        """
        raise NotImplementedError

    def check_sizes(self, question: Question, settings: Any) -> None:
        """Raise ValueError where the answer to a question can not be written."""

    def usage_lines(self, path: Path) -> list[str]:
        """Say how to have the library read the file."""
        raise NotImplementedError

    def notes(self, settings: Any) -> list[str]:
        """Say for which ranks and sizes the choices hold, and what stands elsewhere."""
        raise NotImplementedError

    def write(self, tables: Sequence[TuningTable], comments: Sequence[str], settings: Any) -> str:
        """The text of the file."""
        raise NotImplementedError
