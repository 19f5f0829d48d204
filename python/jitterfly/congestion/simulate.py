"""Run a case of congestion on the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _core, memory
from ..backends import BackendError, backend_named, check_run, reporting, takes_gpu
from ..fields import shorten
from ..gpus import warn_of_cpu
from .case import DELAYS, RULES, CongestionCase
from .program import compile_congestion
from .result import CongestionResult

_BYTES = 8 * 8 + 2 * 8  # of a realization: the engine's words, and what is made of them
_SUM_MAX, _INVERSE, _MESSAGES, _LARGEST, _DROPPED = range(3, 8)
_ONE = 2.0**40  # of the engine's 1 / w
_NO_MEMORY = "cudaErrorMemoryAllocation"  # in the error of an engine that got too little


def simulate_congestion(
    case: CongestionCase,
    realizations: int = 1000,
    seed: int = 0,
    backend: str = "auto",
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    first: int = 0,
    histogram: bool = False,
) -> CongestionResult:
    """Simulate many realizations: placements of the ranks, and traffic.

    Parameters
    ----------
    case : CongestionCase
        What to simulate.
    realizations : int
        How many, from 1; first + realizations is at most 2^32.
    seed : int
        From 0 to 2^64 - 1. Cases with the same seed and network size see the same placements, and
        with the same z the same traffic, so that differences between their samples are paired.
    backend : "auto", "cpu" or "cuda" (also "gpu")
        "auto" takes the GPU if there is one; where its memory is not enough, the CPU, with an
        `UnusedGPUWarning`. The result is the same to the last bit.
    threads : int, optional
        Threads of the CPU backend; None is one for each processor. Given together with "auto",
        the CPU backend is taken. The result does not depend on it.
    progress : callable, optional
        Called now and then as ``progress(done, realizations)``, in this thread.
    first : int
        Number of the first realization.
    histogram : bool
        Also count how many messages, of both patterns, had each congestion w (ORCS' metric
        hist_max_cong). It takes longer: w of every message has to be found.

    Returns
    -------
    CongestionResult

    Raises
    ------
    BackendError
        "cuda" can not be used, or failed; it says why.
    ValueError
        An argument out of range, or not enough memory.
    KeyboardInterrupt
        Ctrl-C, within a fraction of a second.

    Examples
    --------
    >>> from jitterfly.congestion import FatTree
    >>> case = CongestionCase(FatTree.of(144), pattern="bruck", perturbation="bisect_fb")
    >>> simulate_congestion(case, 50, seed=1).samples.min() >= 7
    np.True_
    """
    if not isinstance(case, CongestionCase):
        raise ValueError(f"case must be a CongestionCase, got {shorten(case)}")
    backend = backend_named(backend)
    realizations, seed, first = check_run(realizations, seed, backend, threads, progress, first)
    if not isinstance(histogram, (bool, np.bool_)):
        raise ValueError(f"histogram must be True or False, got {shorten(histogram)}")

    program = compile_congestion(case)
    everything = bool(histogram) or case.rule not in DELAYS

    def run(chosen: str) -> Any:
        in_flight = program.memory(int(threads or 0)) if chosen == "cpu" else 0
        memory.check_memory(
            _BYTES * realizations + in_flight,
            "the results and the realizations in flight",
            memory.available_bytes(),
        )
        with reporting(progress, realizations, chosen) as report:
            return _core.congestion(
                program,
                seed,
                first,
                realizations,
                everything,
                chosen,
                int(threads or 0),
                bool(histogram),
                report,
            )

    chosen = "cuda" if takes_gpu(backend, threads) else "cpu"
    try:
        words, bins = run(chosen)
    except BackendError as error:
        # All that it needs is asked for at its beginning.
        if backend != "auto" or _NO_MEMORY not in str(error):
            raise
        warn_of_cpu(str(error))
        chosen = "cpu"
        words, bins = run(chosen)
    if case.rule == "bandwidth":
        samples = words[:, _INVERSE] / (_ONE * np.maximum(words[:, _MESSAGES], 1))
    else:
        samples = words[:, RULES.index(case.rule)].astype(np.float64)
    return CongestionResult(
        case=case,
        seed=seed,
        first=first,
        backend=chosen,
        samples=samples,
        histogram=bins.astype(np.int64) if histogram else None,
    )
