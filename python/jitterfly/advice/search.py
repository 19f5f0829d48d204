"""`advise`: loop over all cells, ranks by message sizes, within a budget of time and realizations.

`advise` is the search in one call.
"""

from __future__ import annotations

import time
from typing import Any

from ..case import check_effective
from ..collect import ALL, Report, collect
from ..fields import FieldError
from ..question import call_of
from .answer import DECIDED, REALIZATIONS, Advice
from .question import Progress, Question
from .race import Race, fitting_candidates
from .ranking import cell_of_race


def search(question: Question, *, started: float | None = None) -> Advice:
    """Find which algorithm of a collective to use on a machine with noise.

    All candidates see the same noise, and are compared by paired differences with ever more
    realizations; those that the data tell to be slower than the best one are dropped. With
    `confidence`, all that is said of all cells and candidates holds together, although the data
    decide when to stop. A cell without a winner is said to have none.

    Returns
    -------
    Advice
        Also after Ctrl-C, or when `seconds` are over: what is known by then.

    Raises
    ------
    ValueError
        Names the field and its range; or no candidate fits anywhere; or a source of noise can hit
        nothing in any candidate.
    BackendError
        "cuda" can not be used, or failed; it says why. Also a `ValueError`.

    Examples
    --------
    >>> import jitterfly as jf
    >>> machine = jf.LogGOPS(L="1us", o="0.1us", G="1ns", gamma="0.1ns")
    >>> noise = [jf.PeriodicNoise(period="1ms", duration="10us", start="stationary")]
    >>> found = jf.advise([64, 256], network=machine, noise=noise,
    ...                   candidates=["butterfly", "butterfly_after_1"])
    >>> [(cell.outcome, cell.best) for cell in found.cells]
    [('near best', 'butterfly_after_1'), ('winner', 'butterfly_after_1')]
    >>> print(f"{found.cell(256, 8).ranking[1].ratio:.2f}")
    1.33 [1.21, 1.46]
    """
    # `started` is the time.monotonic() that `seconds` count from.
    begun = time.monotonic() if started is None else started
    fitting = (fitting_candidates(question, *cell)[0] for cell in question.cells)
    cases = (one.case for group in fitting for one in group)
    # One rank alone does nothing, under noise or not.
    several = (case for case in cases if case.ranks > 1)
    # Candidates are compared on the same noise: it must hit more than forwards of some of them.
    check_effective(several, len(question.noise), trailing=False)
    races = [Race(question, ranks, size) for ranks, size in question.cells]
    sizes = question.looks()
    state = Progress(len(races), looks=len(sizes), started=begun)

    def tell(*_: Any) -> None:
        state.elapsed = time.monotonic() - begun
        if question.progress is not None:
            question.progress(state)

    def turn(race: Race, report: Report) -> bool | None:
        def tick(more: int) -> None:
            state.simulated += more
            report(0.0)

        number = race.look + 1
        state.look, state.realizations = number + 1, sizes[number]
        if not race.ready:
            race.prepare(report)
            state.prepared += 1
        how = {"backend": question.backend, "threads": question.threads}
        race.look_at(number, sizes[number], tick, **how)
        state.decided += (decided := race.decided)
        tick(0)
        return True if decided or number + 1 == len(sizes) else None

    _, ended = collect(races, turn, tell, seconds=question.seconds, started=begun, partial=True)
    if all(race.ready and not race.candidates for race in races):  # nothing to choose from anywhere
        name, why = next(iter(races[0].left_out.items()))
        raise FieldError("candidates", f": none fits in any cell; {name}: {why}")
    if ended == ALL or state.decided == len(races):
        ended = DECIDED if state.decided == len(races) else REALIZATIONS
    cells = tuple(cell_of_race(race, question.confidence) for race in races)
    elapsed = time.monotonic() - state.started
    return Advice(question, cells, ended, state.simulated, elapsed)


advise = call_of(Question, search, "advise")
