"""The search over all cells: each look at all of them that are undecided, then the next look."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..engine import backend_named, check_backend
from ..exposure import check_exposed
from ..fields import shorten
from .advice import DECIDED, REALIZATIONS, SECONDS, STOPPED, Advice
from .entrants import entrants
from .found import cell_of
from .question import Question
from .race import Race


@dataclass
class Progress:
    """How far a search is: what `advise` tells its `progress`.

    Attributes
    ----------
    cells, prepared, decided : int
        All; those whose candidates' noise-free times are known; those that are decided.
    look, looks : int
        Number of the look from 1, and how many there are at most.
    realizations : int
        Of a candidate at this look.
    simulated : int
        Realizations so far, of all candidates in all cells.
    elapsed : float
        Seconds since it was asked.
    """

    cells: int
    prepared: int = 0
    decided: int = 0
    look: int = 0
    looks: int = 0
    realizations: int = 0
    simulated: int = 0
    elapsed: float = 0.0
    started: float = field(default_factory=time.monotonic)


class _OutOfTime(Exception):
    """The seconds are spent."""


def search(
    question: Question,
    *,
    backend: str = "auto",
    threads: int | None = None,
    progress: Callable[[Progress], object] | None = None,
    started: float | None = None,
) -> Advice:
    """See `advise`; `started` is the `time.monotonic()` that the seconds count from (now)."""
    if not isinstance(question, Question):
        raise ValueError(f"question must be a Question, got {shorten(question)}")
    backend = backend_named(backend)
    check_backend(backend, threads)
    if progress is not None and not callable(progress):
        raise ValueError(f"progress must be None or callable, got {shorten(progress)}")
    begun = time.monotonic() if started is None else started
    fitting = (entrants(question, *cell)[0] for cell in question.cells)
    cases = (one.case for group in fitting for one in group)
    # One rank alone does nothing, under noise or not.
    several = (case for case in cases if case.ranks > 1)
    # Candidates are compared on the same noise: it must hit more than forwards of some of them.
    check_exposed(several, len(question.noise), trailing=False)
    races = [Race(question, ranks, size) for ranks, size in question.cells]
    sizes = question.looks()
    state = Progress(len(races), looks=len(sizes), started=begun)
    tell = progress or (lambda _: None)

    def tick(more: int) -> None:
        state.simulated += more
        state.elapsed = time.monotonic() - state.started
        tell(state)
        if question.seconds is not None and state.elapsed > question.seconds:
            raise _OutOfTime

    ended, decided = REALIZATIONS, dict.fromkeys(races, False)
    try:
        for number, size in enumerate(sizes):
            state.look, state.realizations = number + 1, size
            for race in races:
                if not race.ready:
                    race.prepare(lambda _: tick(0))
                    state.prepared += 1
                race.look_at(number, size, tick, backend=backend, threads=threads)
                decided[race] = race.decided
                state.decided = sum(decided.values())
                tick(0)
            if state.decided == len(races):
                break
    except _OutOfTime:
        ended = SECONDS
    except KeyboardInterrupt:
        ended = STOPPED
    _check_some(races)
    if all(decided.values()):
        ended = DECIDED
    cells = tuple(cell_of(race, question.confidence) for race in races)
    elapsed = time.monotonic() - state.started
    return Advice(question, cells, ended, state.simulated, elapsed)


def _check_some(races: Sequence[Race]) -> None:
    """Raise ValueError if there is nothing to choose from anywhere."""
    if any(race.entrants or not race.ready for race in races):
        return
    name, why = next(iter(races[0].left_out.items()))
    raise ValueError(f"candidates: none fits in any cell; {name}: {why}")
