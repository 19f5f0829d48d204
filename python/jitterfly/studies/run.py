"""Run a study: every cell through the engine, its samples to disk."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from ..backends import check_backend
from ..program import rank_rounds
from ..simulate import simulate
from ..version import __version__
from .progress import Progress
from .store import Store
from .study import STREAM_VERSION, Cell, Study


class Stopped(KeyboardInterrupt):
    """Ctrl-C during a run; the message says what was kept."""


def versions() -> dict[str, str]:
    """Versions of what the numbers depend on."""
    return {
        "jitterfly": __version__,
        "stream": str(STREAM_VERSION),
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def run(
    study: Study,
    out: Path,
    *,
    realizations: int | None = None,
    seed: int | None = None,
    backend: str = "auto",
    threads: int | None = None,
    force: bool = False,
    stream: TextIO | None = None,
    finish: Callable[[Store], object] | None = None,
) -> Store:
    """Run what is not done yet of a study into the directory `out`.

    Args:
        realizations: per cell, instead of the study's budget.
        seed: instead of the study's.
        backend, threads: as in `simulate`.
        force: replace another run that is in `out`.
        stream: where progress goes; stderr by default.
        finish: called when every cell is there, while no other run may write into `out`.

    Raises:
        ValueError: a bad study or a bad argument, before `out` is made; `out` holds another run,
            before anything is simulated.
        OSError: `out` can not be written.
        Stopped: Ctrl-C. Finished cells are on disk; the same call goes on from there.
    """
    if seed is not None:
        study = replace(study, seed=seed)
    check_backend(backend, threads)
    meta: dict[str, Any] = {"seed": study.seed, "realizations": realizations}
    meta |= {"versions": versions(), "backend": None, "finished": False}
    done = total = 0
    try:
        with Store.create(out, study, meta, force) as store:
            total = len(store.cells)
            work = [rank_rounds(cell.case) * cell.realizations for cell in store.cells]
            with Progress(total, float(sum(work)), stream) as progress:
                for cell, cost in zip(store.cells, work, strict=True):
                    if store.record(cell).whole():
                        progress.skip(cost)
                    else:
                        _run_cell(store, cell, backend, threads, progress)
                    done += 1
            if finish is not None:
                finish(store)
            store.meta |= {"finished": True}
            store.write_meta()
    except KeyboardInterrupt:
        raise Stopped(
            f"{done} of {total} cells are kept in {out}; the same command goes on from there"
        ) from None
    return store


def _run_cell(
    store: Store, cell: Cell, backend: str, threads: int | None, progress: Progress
) -> None:
    cost = rank_rounds(cell.case)
    seen = 0

    def step(done: int, _total: int) -> None:
        nonlocal seen
        progress.step(done - seen, float(done - seen) * cost)
        seen = done

    try:
        result = simulate(
            cell.case,
            realizations=cell.realizations,
            seed=store.study.seed,
            backend=backend,
            threads=threads,
            progress=step,
        )
    except ValueError as error:
        raise store.study.error(f"{error} [at {cell.name}]") from None
    step(cell.realizations, cell.realizations)
    store.record(cell).write(result)
    store.meta["backend"] = result.backend
    progress.finish_cell()
