"""`jitterfly status`: progress of a run, cell by cell, and whether targets are met."""

from __future__ import annotations

import math

from ..answer import show
from ..fields import counted, first_few
from ..observables import TargetState
from ..store import Store
from ..store.cell_progress import CellProgress, RunProgress
from ..store.merge import missing_shards
from ..store.run_directory import UNKNOWN
from ..units import show_seconds
from .text_table import WIDTH, with_sentences


def show_error(state: TargetState) -> str:
    """The half width that was reached: `1.3 %` of the value, or in the observable's unit."""
    if state.target.relative is not None:
        return f"{100 * state.error:.2g} %"
    return show_seconds(state.error, digits=3) if state.target.unit else f"{state.error:.3g}"


def show_target(state: TargetState, unit: str) -> str:
    """`p99 of gain: met, ± 0.9 %: 1.3 [1.29, 1.31]`, or `not met, ± 2.65 %, 2 % wanted: ...`.

    Parameters
    ----------
    unit : str
        Of the observable.
    """
    unit = "" if state.target.statistic == "win probability" else unit
    name = f"{state.target.statistic} of {state.target.observable}"
    value = show(state.estimate, unit, 4)
    if state.met:
        return f"{name}: met, ± {show_error(state)}: {value}"
    says_error = state.why.startswith("±") or not math.isfinite(state.error)
    why = state.why if says_error else f"± {show_error(state)} ({state.why})"
    return f"{name}: not met, {why}: {value}"


def _state(cell: CellProgress) -> str:
    if not cell.complete:
        return "runs" if cell.looked else "waits"
    if not cell.decision.states:
        return "done"
    return "met" if cell.decision.met else "budget spent"


def _activity(progress: RunProgress) -> str:
    """Say whether a run is going on, and how old the numbers shown are."""
    if progress.holder is None and progress.age is not None:
        return f"as of {progress.age:.0f} s before the run was stopped; no run is going on"
    if progress.holder is None:
        return "no run is going on"
    if progress.holder == UNKNOWN:
        return "whether a run is going on is not known here (no locks, or .lock can not be read)"
    going = f"a run is going on{progress.holder and f' ({progress.holder})'}"
    return going if progress.age is None else f"as of {progress.age:.0f} s ago; {going}"


def _shard_lines(progress: RunProgress) -> list[str]:
    """A line for each shard, and which are missing."""
    lines = [""]
    for shard in progress.shards:
        finished = counted(shard.finished, "cell")
        total = counted(shard.realizations, "realization")
        lines.append(f"{shard.path.name}: {finished} finished, {total}; {_activity(shard)}")
    missing = missing_shards([shard.path for shard in progress.shards])
    if missing:
        lines.append(f"not there: {first_few(missing, 5)}")
    lines.append(f"when all are finished: jitterfly merge {progress.path}")
    return lines


def status(
    run: Store | RunProgress,
    *,
    only_open: bool = False,
    width: int = WIDTH,
    most: int | None = None,
) -> str:
    """A line for each cell: realizations done, of how many at most, and its targets.

    Of shards that are not merged also a line for each of them.

    Parameters
    ----------
    only_open : bool
        Leave out what is finished.
    width : int
        Letters of a line.
    most : int, optional
        Cells that are shown; None shows all. How many are left out is said.
    """
    progress = RunProgress.of(run) if isinstance(run, Store) else run
    header = [*progress.axes, "realizations", "at most", "state", "targets"]
    rows, targets = [], bool(progress.targets)
    for cell in progress.cells:
        if cell.complete and only_open:
            continue
        rows.append(
            [
                *cell.labels,
                f"{cell.available:,}",
                f"{cell.limit:,}",
                _state(cell),
                "\n".join(map(show_target, cell.decision.states, cell.units)),
            ]
        )
    if not targets:
        header, rows = header[:-1], [row[:-1] for row in rows]
    count = len(progress.cells)
    lines = [f"{progress.title}: {progress.path}", ""]
    lines += [with_sentences(header, rows, width, most), ""] if rows else []
    finished = progress.finished
    lines.append(
        f"{finished:,} of {counted(count, 'cell')} finished, {progress.realizations:,} realizations"
    )
    if targets:
        met = sum(cell.decision.met for cell in progress.cells)
        lines.append(f"{met:,} of {counted(finished, 'finished cell')} met their targets")
    lines += _shard_lines(progress) if progress.shards else [_activity(progress)]
    if progress.shards_hold_more:
        lines.append(
            f"shards in it have gone on since they were joined: jitterfly merge {progress.path}"
        )
    return "\n".join(lines)
