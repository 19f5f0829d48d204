"""Which algorithm to use: candidates compared on the same noise, over ranks and message sizes.

`candidates` says who takes part, `race` decides one cell, `search` goes through all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..network import Network
from ..noise import Noise
from ..units import Time
from .advice import Advice
from .candidates import COLLECTIVES, Candidate, known, register
from .found import Cell, Ranked
from .question import Question
from .search import Progress, search

__all__ = [
    "COLLECTIVES",
    "Advice",
    "Candidate",
    "Cell",
    "Progress",
    "Question",
    "Ranked",
    "advise",
    "known",
    "register",
    "search",
]


def advise(
    ranks: int | str | Sequence[int],
    *,
    network: Network,
    noise: Sequence[Noise] = (),
    collective: str = "allreduce",
    message_bytes: int | str | Sequence[int] = 8,
    statistic: str = "mean",
    within: float | str = 0.01,
    confidence: float = 0.95,
    candidates: Sequence[str] | None = None,
    own: Mapping[str, Any] | None = None,
    cycles: int = 1,
    work: Time = 0.0,
    realizations: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    backend: str = "auto",
    threads: int | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Advice:
    """Which algorithm of a collective to use on a machine with noise.

    All candidates see the same noise, and are compared by paired differences with ever more
    realizations; those that the data tell to be slower than the best one are dropped. With
    `confidence`, all that is said of all cells and candidates holds together, although the data
    decide when to stop. A cell without a winner is said to have none.

    Parameters
    ----------
    ranks, network, noise, collective, message_bytes, statistic, within, confidence, candidates, \
own, cycles, work, realizations, seconds, seed
        See `Question`.
    backend, threads
        As in `simulate`.
    progress : callable, optional
        Called now and then with a `Progress`.

    Returns
    -------
    Advice
        Also after Ctrl-C, or when `seconds` are over: what is known by then.

    Raises
    ------
    ValueError
        Names the field and its range; or no candidate fits anywhere; or a source of noise can hit
        nothing in any candidate.

    Examples
    --------
    >>> import jitterfly as jf
    >>> machine = jf.LogGOPS(L="1us", o="0.1us", G="1ns", gamma="0.1ns")
    >>> noise = [jf.PeriodicNoise(period="1ms", duration="10us", start="stationary")]
    >>> found = jf.advise([64, 256], network=machine, noise=noise,
    ...                   candidates=["butterfly", "butterfly_after_1"])
    >>> found.summary()
    'a winner in 2 of 2 cells (100 %) (best: butterfly_after_1 2)'
    >>> print(f"{found.cell(256, 8).ranking[1].ratio:.2f}")
    1.33 [1.21, 1.46]
    """
    started = time.monotonic()
    question = Question(
        ranks,  # type: ignore[arg-type]
        network=network,
        noise=noise,
        collective=collective,
        message_bytes=message_bytes,  # type: ignore[arg-type]
        statistic=statistic,
        within=within,  # type: ignore[arg-type]
        confidence=confidence,
        candidates=candidates,
        own={} if own is None else own,
        cycles=cycles,
        work=work,  # type: ignore[arg-type]
        realizations=realizations,
        seconds=seconds,
        seed=seed,
    )
    return search(question, backend=backend, threads=threads, progress=progress, started=started)
