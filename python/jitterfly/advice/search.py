"""`advise`: loop over all cells, ranks by message sizes, within a budget of time and realizations.

`advise` is the search in one call.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..backends import backend_named, check_backend
from ..case import check_exposed
from ..collect import ALL, Report, collect
from ..fields import shorten
from ..network import Network
from ..noise import Noise
from ..units import Time
from .answer import DECIDED, REALIZATIONS, Advice
from .question import Question
from .race import Race, fitting_candidates
from .ranking import cell_of_race


@dataclass
class Progress:
    """The state of a search, which `advise` passes to its `progress`.

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
    fitting = (fitting_candidates(question, *cell)[0] for cell in question.cells)
    cases = (one.case for group in fitting for one in group)
    # One rank alone does nothing, under noise or not.
    several = (case for case in cases if case.ranks > 1)
    # Candidates are compared on the same noise: it must hit more than forwards of some of them.
    check_exposed(several, len(question.noise), trailing=False)
    races = [Race(question, ranks, size) for ranks, size in question.cells]
    sizes = question.looks()
    state = Progress(len(races), looks=len(sizes), started=begun)

    def tell(*_: Any) -> None:
        state.elapsed = time.monotonic() - begun
        if progress is not None:
            progress(state)

    def turn(race: Race, report: Report) -> bool | None:
        def tick(more: int) -> None:
            state.simulated += more
            report(0.0)

        number = race.look + 1
        state.look, state.realizations = number + 1, sizes[number]
        if not race.ready:
            race.prepare(report)
            state.prepared += 1
        race.look_at(number, sizes[number], tick, backend=backend, threads=threads)
        state.decided += (decided := race.decided)
        tick(0)
        return True if decided or number + 1 == len(sizes) else None

    _, ended = collect(races, turn, tell, seconds=question.seconds, started=begun, partial=True)
    if all(race.ready and not race.candidates for race in races):  # nothing to choose from anywhere
        name, why = next(iter(races[0].left_out.items()))
        raise ValueError(f"candidates: none fits in any cell; {name}: {why}")
    if ended == ALL or state.decided == len(races):
        ended = DECIDED if state.decided == len(races) else REALIZATIONS
    cells = tuple(cell_of_race(race, question.confidence) for race in races)
    elapsed = time.monotonic() - state.started
    return Advice(question, cells, ended, state.simulated, elapsed)


def advise(
    ranks: int | str | Sequence[int],
    *,
    network: Network | str,
    noise: str | Path | Sequence[Noise | str | Path] = (),
    collective: str = "allreduce",
    message_bytes: int | str | Sequence[int] = 8,
    statistic: str = "mean",
    within: float | str = 0.01,
    confidence: float = 0.95,
    candidates: Sequence[str] | None = None,
    own: Mapping[str, Any] | None = None,
    cycles: int = 1,
    compute_time: Time = 0.0,
    realizations: int | None = None,
    seconds: float | None = None,
    seed: int | str = 0,
    backend: str = "auto",
    threads: int | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Advice:
    """Find which algorithm of a collective to use on a machine with noise.

    All candidates see the same noise, and are compared by paired differences with ever more
    realizations; those that the data tell to be slower than the best one are dropped. With
    `confidence`, all that is said of all cells and candidates holds together, although the data
    decide when to stop. A cell without a winner is said to have none.

    Parameters
    ----------
    ranks : int, str or list of int
        Numbers of ranks, such as ``[64, 1000]``, or text with ranges of powers of two such as
        ``"2^4..2^12"`` or ``"64,1000"``.
    network : Network or str
        What a message costs: `LogGOPS` or `Hockney`; also as text, ``"L=1us,o=200ns"``.
    noise : list of Noise
        As in `Case`, or text; several sources add up. Empty: a quiet machine, whose answer is
        exact.
    collective : str
        "allreduce", "barrier", "broadcast", "reduce", "allgather", "reduce_scatter", "alltoall",
        "gather", "scatter" or "scan".
    message_bytes : int, str or list of int
        Size of the message as in `Case`, bytes; text such as ``"8,1KiB,1MiB"`` or ``"8..1MiB"``.
        The cells are all pairs of `ranks` and `message_bytes`.
    statistic : str
        What is to be small: "mean", or a quantile such as "p99", of the completion of the last
        rank.
    within : float or str
        Candidates whose statistics differ by no more than this share are equal for practical
        purposes: 0.01 or "1%". 0: equal to the tick only.
    confidence : float
        From 0.5 to below 1: of all that is said, together, over candidates, cells and looks.
    candidates : list of str, optional
        Names of `advice.known(collective)` or `own`; the usual ones of the collective where it is
        left out.
    own : dict, optional
        Further candidates by name: an `Algorithm`, or its table.
    cycles : int
        How often the collective is done in a row; the completion of the last time counts. What
        forwards of the result cost is seen from 2 on only: it delays what comes after them.
    compute_time : float or str
        CPU time of a compute phase before each collective, seconds.
    realizations : int, optional
        Of a candidate in a cell, at most; 10,000 where it is left out, or 8 times what a quantile
        takes at least.
    seconds : float, optional
        How long all of it may take, about; no limit where it is left out.
    seed : int
        From 0 to 2^64 - 1: the same seed gives the same answer, as long as `seconds` does not end
        it.
    backend : "auto", "cpu" or "cuda"
        As in `simulate`: the answer does not depend on it.
    threads : int, optional
        Threads of the CPU backend; all processors where it is left out.
    progress : callable, optional
        Called now and then with a `Progress`, in this thread.

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
    started = time.monotonic()
    question = Question(
        ranks,  # type: ignore[arg-type]
        network=network,  # type: ignore[arg-type]
        noise=noise,  # type: ignore[arg-type]
        collective=collective,
        message_bytes=message_bytes,  # type: ignore[arg-type]
        statistic=statistic,
        within=within,  # type: ignore[arg-type]
        confidence=confidence,
        candidates=candidates,
        own={} if own is None else own,
        cycles=cycles,
        compute_time=compute_time,  # type: ignore[arg-type]
        realizations=realizations,
        seconds=seconds,
        seed=seed,  # type: ignore[arg-type]
    )
    return search(question, backend=backend, threads=threads, progress=progress, started=started)
