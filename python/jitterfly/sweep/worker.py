"""What a worker does: one batch, that is some realizations of all cells of one place."""

from __future__ import annotations

import functools
import os
import time
from dataclasses import dataclass

import numpy as np

from ..engine import BackendError, takes_gpu
from ..info import processors
from ..observables.measure import Measure, Ticks
from ..observables.summary import Summary
from ..simulate import simulate_checked as simulate
from ..studies.grid import Place
from . import gpu


@dataclass(frozen=True)
class Batch:
    """Realizations `first` to `first + count - 1` of a place.

    With `measures` it is a summary that is wanted, else the raw samples.
    """

    place: Place
    seed: int
    first: int
    count: int
    measures: tuple[Measure, ...] | None
    backend: str = "auto"
    threads: int | None = None


@dataclass(frozen=True)
class BatchResult:
    """Ticks or their summary; the engines that were used, and for how many seconds."""

    ticks: Ticks | None
    summary: Summary | None
    backends: tuple[str, ...]
    engine_seconds: float
    seconds: float


def run_batch(batch: Batch) -> BatchResult:
    """Simulate a batch; what comes out depends on nothing but realizations and seed."""
    started = time.perf_counter()
    backend, threads = _engine(batch.backend, batch.threads)
    place = batch.place
    engine, parts, backends = 0.0, [], []
    for cell in place.cells:
        before = time.perf_counter()
        try:
            result = simulate(
                cell.case,
                realizations=batch.count,
                seed=batch.seed,
                first=batch.first,
                backend=backend,
                threads=threads,
            )
        except ValueError as error:
            kind = BackendError if isinstance(error, BackendError) else ValueError
            raise kind(f"{cell.variant}: {error}" if cell.variant else str(error)) from None
        engine += time.perf_counter() - before
        parts.append(result.ticks)
        backends.append(result.backend)
    values = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
    if values.shape[1] != len(place.columns):
        raise RuntimeError(
            f"{place.name}: {values.shape[1]} columns instead of {len(place.columns)}"
        )
    ticks: Ticks | None = Ticks(place.columns, values)
    summary = None
    if batch.measures is not None:
        ticks, summary = None, Summary.of(ticks, batch.measures)
    used = tuple(sorted(set(backends)))
    return BatchResult(ticks, summary, used, engine, time.perf_counter() - started)


@functools.cache
def _engine(backend: str, threads: int | None) -> tuple[str, int | None]:
    """Backend and threads in this process, which is bound to its GPU first."""
    if backend == "cpu":
        return "cpu", threads or _share()
    gpu.bind()
    return (backend, None) if takes_gpu(backend, threads) else ("cpu", threads or _share())


def _share() -> int | None:
    """Threads of one of several processes that a launcher started here without binding them."""
    size = gpu.local_size()
    if not size or size == 1:
        return None
    wanted = os.environ.get("SLURM_CPUS_PER_TASK", "")
    share = int(wanted) if wanted.isdigit() else -(-(os.cpu_count() or 1) // size)
    return max(1, min(processors(), share))
