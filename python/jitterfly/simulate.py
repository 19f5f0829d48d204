"""Run a case on the engine."""

from __future__ import annotations

from collections.abc import Callable

from . import memory
from .case import Case, check_case
from .engine import (
    BackendError,
    backend_named,
    check_backend,
    check_run,
    choose_backend,
    core,
    reporting,
)
from .exposure import warn_of_misses
from .fields import MOST_REALIZATIONS, MOST_SEED, MOST_THREADS
from .program import compile_case, observation_names, ranks_of_rows, row_count
from .quiet import quiet_observations
from .realization import check_times, no_memory, noise_intervals, noise_phases, ready_times
from .result import Result, max_min_mean
from .units import from_ticks

__all__ = [
    "MOST_REALIZATIONS",
    "MOST_SEED",
    "MOST_THREADS",
    "BackendError",
    "check_backend",
    "noise_intervals",
    "noise_phases",
    "ready_times",
    "simulate",
]


def simulate(
    case: Case,
    realizations: int = 1000,
    seed: int = 0,
    backend: str = "auto",
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    first: int = 0,
) -> Result:
    """Simulate many realizations of a case.

    Parameters
    ----------
    case : Case
        What to simulate.
    realizations : int
        How many, from 1; first + realizations is at most 2^32.
    seed : int
        From 0 to 2^64 - 1. Two cases with the same seed see the same noise, so that differences
        between their samples are paired.
    backend : "auto", "cpu" or "cuda" (also "gpu")
        "auto" takes the GPU if there is one with enough memory; where the memory is not enough, the
        CPU, with an `UnusedGPUWarning`. The result is the same to the last bit.
    threads : int, optional
        Threads of the CPU backend; None is one for each processor. Given together with "auto",
        the CPU backend is taken. The result does not depend on it.
    progress : callable, optional
        Called now and then as ``progress(done, realizations)``, in this thread.
    first : int
        Number of the first realization: a simulation may be cut into pieces at will.

    Returns
    -------
    Result

    Raises
    ------
    BackendError
        "cuda" can not be used, or failed; it says why. A `ValueError` and a `RuntimeError`.
    ValueError
        An argument out of range, or not enough memory; with the numbers. Also if a time reached
        2^62 ps (53 days) after all, under noise with a heavy tail.
    KeyboardInterrupt
        Ctrl-C, within a fraction of a second.

    Warns
    -----
    IneffectiveNoiseWarning
        A source of `case.noise` can hit nothing, such as `PeriodicNoise` where the CPU has nothing
        to do: the times are those without it. Studies and `advise` raise ValueError where that is
        so in all of their cells.
    UnusedGPUWarning
        With "auto": there is a GPU that can not be used, or has not enough memory. It says why and
        what mends it; where the GPU can not be used at all, it is given once a process.

    Examples
    --------
    >>> import jitterfly as jf
    >>> case = jf.Case(
    ...     ranks=256,
    ...     algorithm=jf.Butterfly(after=8),
    ...     network=jf.Hockney(alpha="100ns", beta="1ns", gamma=1e-10),
    ...     noise=[jf.PeriodicNoise(period="1ms", duration="10us")],
    ... )
    >>> result = jf.simulate(case, realizations=100, seed=7)
    >>> result.samples.shape, result.observations[0], result.noise_free[0]
    ((100, 9), 'T=0', np.float64(8.704e-07))
    """
    warn_of_misses(check_case(case))
    return simulate_checked(case, realizations, seed, backend, threads, progress, first)


def simulate_checked(
    case: Case,
    realizations: int,
    seed: int,
    backend: str = "auto",
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    first: int = 0,
) -> Result:
    """As `simulate`, for who has asked of all its cases together what their noise can hit."""
    backend = backend_named(backend)
    realizations, seed, first = check_run(realizations, seed, backend, threads, progress, first)
    spread = case.observe in ("spread", "rounds")
    # Ticks and seconds; with spread, three of each, and the engine's four. And names of columns.
    words = 4 + 3 + 3 if spread else 2
    held = row_count(case, every_row=case.observe == "rounds") * (
        realizations * 8 * words + 128 * words
    )
    available = memory.available_bytes()
    memory.check_memory(held, f"the results of {realizations} realizations", available)
    program = compile_case(case)
    threads = int(threads or 0)
    chosen = choose_backend(program, backend, threads, realizations, held, available)
    statistics = "all" if spread else "max"
    try:
        with reporting(progress, realizations, chosen) as report:
            raw = core.simulate(
                program, seed, first, realizations, statistics, chosen, threads, report
            )
    except MemoryError:
        raise no_memory(f"{case.ranks} ranks x {realizations} realizations") from None
    check_times(raw[..., 0] if spread else raw)
    return Result(
        case=case,
        seed=seed,
        first=first,
        backend=chosen,
        observations=observation_names(case),
        ticks=max_min_mean(raw, ranks_of_rows(case)) if spread else raw,
        noise_free=from_ticks(quiet_observations(case)),
    )
