"""The candidates of one cell as cases, and their realizations: all of the same noise."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..case import Case
from ..program import completions
from ..quiet import Poll, quiet_ticks
from ..simulate import simulate_checked
from ..steps import ASK, COPY, FORWARD, NOBODY_ASKS, Step
from ..units import from_ticks
from .candidates import Candidate
from .question import Question
from .statistic import Floats


@dataclass
class Entrant:
    """A candidate of a cell.

    Attributes
    ----------
    name : str
    case : Case
    quiet : float
        Completion without noise, seconds; NaN until `listen`.
    never_early : bool
        See `Candidate`.
    samples : float64 array, shape (realizations,)
        Completions of the realizations from 0 on, seconds.
    dropped : int
        Number of the look at which it was dropped; -1 while it is not.
    slower_than : str
        The entrant that it was told to be slower than at that look.
    unseen : bool
        Whether it was dropped because it takes longer without noise than another one with it.
    """

    name: str
    case: Case
    quiet: float = math.nan
    never_early: bool = False
    samples: Floats = field(default_factory=lambda: np.zeros(0))
    dropped: int = -1
    slower_than: str = ""
    unseen: bool = False

    def listen(self, poll: Poll | None = None) -> None:
        """Find out how long it takes without noise: minutes, on very many ranks."""
        self.quiet = float(from_ticks(quiet_ticks(self.case, poll)[-1]))


def entrants(question: Question, ranks: int, size: int) -> tuple[list[Entrant], dict[str, str]]:
    """The candidates that fit a cell, and why the others do not, by name; nothing is simulated."""
    found: list[Entrant] = []
    left_out: dict[str, str] = {}
    programs: dict[Any, str] = {}
    for candidate in question.chosen():
        if candidate.against_noise and not question.noise and question.candidates is None:
            left_out[candidate.name] = "there is no noise that it could help against"
            continue
        try:
            case = _case(question, candidate, ranks, size)
            program = _program(case)
        except ValueError as error:
            left_out[candidate.name] = str(error)
            continue
        if program in programs:
            left_out[candidate.name] = f"the same program as {programs[program]} here"
            continue
        programs[program] = candidate.name
        found.append(Entrant(candidate.name, case, never_early=candidate.never_early))
    return found, left_out


def _case(question: Question, candidate: Candidate, ranks: int, size: int) -> Case:
    algorithm = candidate.make(ranks, question.network, size)
    return Case(
        ranks=ranks,
        algorithm=algorithm,
        network=question.network,
        noise=question.noise,
        message_bytes=size,
        cycles=question.cycles,
        work=question.work,
    )


def _program(case: Case) -> tuple[Any, ...]:
    """What is equal where programs are: steps, and what forwards, copies and questions add."""
    steps: Sequence[Step] = case.cycle_steps()
    algorithm = case.algorithm
    forward = algorithm.forward_ticks() if any(step.kind == FORWARD for step in steps) else 0
    copied = [step.round + 1 for step in steps if step.flags & COPY]  # to mirrors below 2^level
    masks = [mask for mask in algorithm.copied_to if mask < 1 << max(copied, default=0)]
    asks = any(step.flags & ASK for step in steps)
    asking = algorithm.asking(case.network) if asks else NOBODY_ASKS
    return tuple(steps), forward, tuple(masks), asking


def extend(
    group: Sequence[Entrant],
    count: int,
    seed: int,
    progress: Callable[[int, int], object] | None = None,
    **engine: Any,
) -> int:
    """Give those of a group (see `groups`) `count` realizations; how many were simulated."""
    short = [one for one in group if len(one.samples) < count]
    if not short:
        return 0
    first = min(len(one.samples) for one in short)
    widest = max(group, key=lambda one: _redundancy(one.case))
    result = simulate_checked(
        widest.case, count - first, seed, first=first, progress=progress, **engine
    )
    columns = {row.T: i for i, row in enumerate(completions(widest.case))}
    for one in short:
        ticks = result.ticks[len(one.samples) - first :, columns[_redundancy(one.case)]]
        one.samples = np.concatenate([one.samples, from_ticks(ticks)])
    return count - first


def groups(found: Sequence[Entrant]) -> list[list[Entrant]]:
    """Entrants that one simulation serves: they differ in the number of forwards alone."""
    made: dict[Any, list[Entrant]] = {}
    for one in sorted(found, key=lambda one: _redundancy(one.case) == 0):
        algorithm: Any = one.case.algorithm
        key: Any = id(one)
        # With several cycles the forwards of one delay the next.
        if one.case.cycles == 1 and hasattr(algorithm, "after"):
            plain = type(algorithm), *_besides_forwards(algorithm)
            key = plain, algorithm.forward_ticks()
            if _redundancy(one.case) == 0:  # whatever a forward costs
                key = next((k for k in made if isinstance(k, tuple) and k[0] == plain), key)
        made.setdefault(key, []).append(one)
    return list(made.values())


def _besides_forwards(algorithm: Any) -> list[Any]:
    fields = [field.name for field in dataclasses.fields(algorithm)]
    return [getattr(algorithm, name) for name in fields if name not in ("after", "forward_cost")]


def _redundancy(case: Case) -> int:
    return completions(case)[-1].T
