"""One realization in detail: ready times, and the noise that was drawn for it."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from . import memory
from .case import Case, check_case
from .engine import core
from .exposure import warn_of_misses
from .fields import MOST_REALIZATIONS, MOST_SEED, check_choice, check_integer
from .noise import Congestion
from .noise.source import engine_window
from .program import compile_case, row_count
from .units import LONGEST_SECONDS, LONGEST_TICKS, Time, from_ticks, parse_seconds, to_ticks

_ABSENT = np.iinfo(np.int64).min  # the engine's mark of a rank that is not in a step


def ready_times(case: Case, seed: int = 0, realization: int = 0) -> npt.NDArray[np.float64]:
    """The ready time of every rank in every round of one realization.

    Parameters
    ----------
    case : Case
        What to simulate.
    seed, realization : int
        As in `simulate`: realization `first` + i of that seed is its row i.

    Returns
    -------
    float64 array, shape (rows, ranks)
        Seconds. Row 0 is the start of the first collective, then one row for each level, forward
        step and end of cycle, as named by `row_labels`; the last one is the completion. NaN for
        ranks beyond the largest power of two in rows of the butterfly's levels: it is among the
        others.

    Raises
    ------
    ValueError
        `seed` not from 0 to 2^64 - 1, `realization` not from 0 to 2^32 - 1, not enough memory.

    Warns
    -----
    IneffectiveNoiseWarning
        As `simulate`.

    Examples
    --------
    >>> import jitterfly as jf
    >>> jf.ready_times(jf.Case(2, network=jf.Hockney("1us", 0)))
    array([[0.e+00, 0.e+00],
           [1.e-06, 1.e-06],
           [1.e-06, 1.e-06]])
    """
    warn_of_misses(check_case(case))
    seed = check_integer(seed, "seed", 0, MOST_SEED)
    realization = check_integer(realization, "realization", 0, MOST_REALIZATIONS - 1)
    needed = case.ranks * (row_count(case, every_row=True) * 16 + 24)
    memory.check_memory(needed, f"all ready times of {case.ranks} ranks", memory.available_bytes())
    program = compile_case(case, every_row=True)
    try:
        raw = core.ready_times(program, seed, realization)
    except MemoryError:
        raise no_memory(f"all ready times of {case.ranks} ranks") from None
    check_times(raw[None])
    return np.where(raw == _ABSENT, np.nan, from_ticks(raw))


def noise_phases(
    case: Case, seed: int = 0, realization: int = 0, source: int | None = None
) -> npt.NDArray[np.float64]:
    """The phases of periodic noise in one realization, to check us with another program.

    Parameters
    ----------
    case : Case
        With a `PeriodicNoise`.
    seed, realization : int
        As in `ready_times`.
    source : int, optional
        Where the source is in ``case.noise``, from 0; needed if there are several `PeriodicNoise`.

    Returns
    -------
    float64 array, shape (ranks,)
        Seconds, each in [0, period).

    Raises
    ------
    ValueError
        The case has no `PeriodicNoise`, or `source` is none of them; `seed` or `realization` out of
        range.
    """
    check_case(case)
    seed = check_integer(seed, "seed", 0, MOST_SEED)
    realization = check_integer(realization, "realization", 0, MOST_REALIZATIONS - 1)
    number = _periodic_number(case, source)
    memory.check_memory(
        case.ranks * 16, f"the phases of {case.ranks} ranks", memory.available_bytes()
    )
    try:
        return from_ticks(core.phases(compile_case(case), seed, realization, number))
    except MemoryError:
        raise no_memory(f"the phases of {case.ranks} ranks") from None


def _periodic_number(case: Case, source: int | None) -> int:
    """Which of the periodic sources a source of the case is, from 0."""
    places = [i for i, noise in enumerate(case.noise) if noise.kind == "periodic"]
    if not places:
        raise ValueError("noise must hold a PeriodicNoise: without it there are no phases")
    if source is None and len(places) == 1:
        return 0
    told = " or ".join(map(str, places))
    if source is None:
        raise ValueError(f"source must say which PeriodicNoise of noise is meant: {told}")
    if check_integer(source, "source", 0, len(case.noise) - 1) not in places:
        raise ValueError(f"source must be that of a PeriodicNoise, {told}, got {source}")
    return places.index(source)


def noise_intervals(
    case: Case,
    rank: int,
    until: Time,
    seed: int = 0,
    realization: int = 0,
    phase: Literal["communication", "compute"] = "communication",
) -> npt.NDArray[np.float64]:
    """When noise takes the CPU of a rank in one realization, to check us with another program.

    Parameters
    ----------
    case : Case
        With `PeriodicNoise`, `RenewalNoise` or `TraceNoise`; other sources, such as `Congestion`,
        have no intervals.
    rank : int
        From 0.
    until : float or str
        Seconds. Each interval that begins before this is given whole, to its own end.
    seed, realization : int
        As in `ready_times`.
    phase : "communication" or "compute"
        The phase of the cycle: sources may act in one of them only.

    Returns
    -------
    float64 array, shape (intervals, 2)
        Begin and end in seconds, sorted: the union of what all sources take, from time 0 on. As
        the intervals of sources that overlap or touch are one, there is idle time between any two
        rows, and after the last one.

    Raises
    ------
    ValueError
        An argument out of range, or more intervals than there is memory for.

    Examples
    --------
    >>> import jitterfly as jf
    >>> noise = [jf.PeriodicNoise(period="1ms", duration="10us", phases=[0, 5e-4])]
    >>> case = jf.Case(2, network=jf.Hockney("1us", 0, gamma="1ns"), noise=noise)
    >>> jf.noise_intervals(case, rank=1, until="2ms")
    array([[0.0005 , 0.00051],
           [0.0015 , 0.00151]])
    """
    check_case(case)
    rank = check_integer(rank, "rank", 0, case.ranks - 1)
    end = to_ticks(parse_seconds(until, "until"), "until")
    seed = check_integer(seed, "seed", 0, MOST_SEED)
    realization = check_integer(realization, "realization", 0, MOST_REALIZATIONS - 1)
    check_choice(phase, "phase", ("communication", "compute"))
    program, horizon = compile_case(case), end
    while True:
        _check_intervals(case, horizon)
        found = core.busy(program, seed, realization, rank, horizon, phase == "compute")
        found = found[found[:, 0] < end]
        if not len(found) or found[-1, 1] < horizon or horizon == LONGEST_TICKS:
            break
        # The engine does not look beyond the horizon for what goes on when the last one ends.
        last = int(found[-1, 1])
        horizon = min(last + (last - end) + 1, LONGEST_TICKS)
    return from_ticks(np.maximum(found, 0))  # what is there at time 0 may have begun before


def _check_intervals(case: Case, until: int) -> None:
    """Raise ValueError for more intervals up to `until` than sources or memory can hold."""
    count = 0.0
    for noise in case.noise:
        if isinstance(noise, Congestion):  # of messages, at any time
            continue
        window = engine_window(noise.begin, noise.end)  # type: ignore[attr-defined]
        last = min(until, window["end"])
        noise.check_length(last)
        count += noise.intervals_in(max(last - max(window["begin"], 0), 0))
    what = f"about {count:.3g} intervals"
    memory.check_memory(int(48 * count), what, memory.available_bytes())


def check_times(ticks: npt.NDArray[np.int64]) -> None:
    """Raise ValueError for times that the engine could not hold; axis 0: realizations."""
    if ticks.max(initial=0) < LONGEST_TICKS:
        return
    beyond = (ticks >= LONGEST_TICKS).reshape(len(ticks), -1).any(axis=1)
    raise ValueError(
        f"the simulated time exceeded {LONGEST_SECONDS:.3g} s (2^62 ps) in "
        f"{int(beyond.sum())} of {len(ticks)} realizations: noise has too heavy a tail, or "
        "takes too much of the CPU; cut the tail with longest, or lower work and cycles"
    )


def no_memory(what: str) -> ValueError:
    """The error for what does not fit into memory."""
    return ValueError(f"not enough memory for {what}")
