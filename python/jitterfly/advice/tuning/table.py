"""Ranges of ranks and message sizes for which each choice in a tuning file holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from ...units import show_size
from ..question import Question, setting_in_words
from .choices import Decided, TuningChoice, choose

_OF_ALL_RANKS = ("allgather", "alltoall", "gather", "scatter")
"""Collectives of which libraries count the blocks of all ranks."""


class SizeRange(NamedTuple):
    """What is chosen for message sizes, in bytes as the library counts them.

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
        choices = tuple(choose(advice.question, cell, called, library) for cell in advice.cells)
        self.choices = _of_all_sizes(choices) if self.collective == "barrier" else choices

    def ranges(self, ranks: int) -> list[SizeRange]:
        """The ranges of message sizes on so many ranks, ascending and without gaps.

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
        """The last number of ranks for which the choices of so many ranks hold."""
        return min((one - 1 for one in self.question.ranks if one > ranks), default=ranks)

    def comments(self) -> list[str]:
        """What stands behind the choices: the question, and a line for each cell."""
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
        """How cells are decided that are not; "" where all are."""
        if all(choice.called for choice in self.choices):
            return ""
        others = [one.name for one in self.question.chosen() if one.name not in self._candidates]
        if not others:
            return "More cells are decided with more `realizations`, or a larger `within`."
        return (
            f"{', '.join(others)}: {self._library} does not have them, and a comparison with them "
            "may end before its own algorithms are told apart. To compare these alone give "
            f"jitterfly advise the `candidates` {','.join(self._candidates)}"
        )
