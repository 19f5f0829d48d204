"""Run a study: every cell through the engine, its samples to disk, then summary and picture."""

from __future__ import annotations

import platform
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from ..plots import draw as plot
from ..simulate import simulate
from ..version import __version__
from . import report
from .casetable import rank_rounds
from .progress import Progress
from .results import check_figure
from .store import Store
from .study import STREAM_VERSION, Study


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
) -> Store:
    """Run what is not done yet of a study into the directory `out`.

    Args:
        realizations: per cell, instead of the study's budget.
        seed: instead of the study's.
        force: replace another run that is in `out`.
        stream: where progress goes; stderr by default.

    Returns:
        The store, with every cell, summary.csv and, where matplotlib is installed, the picture.

    Raises:
        ValueError: a bad study, or `out` holds another run; before anything is simulated.
        OSError: `out` can not be written.
        Stopped: Ctrl-C. Finished cells are on disk; the same call goes on from there.
    """
    if seed is not None:
        study = replace(study, seed=seed)
    check_figure(study)
    meta: dict[str, Any] = {"seed": study.seed, "realizations": realizations}
    meta |= {"versions": versions(), "backend": None, "finished": False}
    store = Store.create(out, study, meta, force)
    _check_writable(out)
    records = store.records
    work = [rank_rounds(r.cell.case) * r.cell.realizations for r in records]
    done = 0
    try:
        with Progress(len(records), float(sum(work)), stream) as progress:
            for record, cost in zip(records, work, strict=True):
                if record.whole(record.cell.realizations):
                    progress.skip(cost)
                else:
                    _run_cell(store, record, backend, threads, progress)
                done += 1
        store.write_summary(report.summary(store))
        if plot.can_draw():
            plot.draw(store)
    except KeyboardInterrupt:
        raise Stopped(
            f"{done} of {len(records)} cells are kept in {out}; the same command goes on from there"
        ) from None
    store.meta |= {"finished": True}
    store.write_meta()
    return store


def _run_cell(
    store: Store, record: Any, backend: str, threads: int | None, progress: Progress
) -> None:
    cell = record.cell
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
        raise ValueError(f"{error} [at {cell.name}]") from None
    step(cell.realizations, cell.realizations)
    store.write_record(record, result)
    store.meta["backend"] = result.backend
    progress.finish_cell()


def _check_writable(out: Path) -> None:
    """Fail before the long run rather than after it."""
    with tempfile.TemporaryFile(dir=out / "samples") as file:
        file.write(bytes(4096))
