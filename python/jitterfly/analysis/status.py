"""How far a run is: cell by cell, and whether each met its targets."""

from __future__ import annotations

import math

from ..observables import State
from ..store import Store
from ..store.standing import Cell, Reached, Standing
from .columns import aligned


def show_error(state: State | Reached) -> str:
    """The half width that was reached: `1.3 %` of the value, or in the observable's unit."""
    return (
        f"{100 * state.error:.2g} %" if state.target.relative is not None else f"{state.error:.3g}"
    )


def show_target(state: State | Reached) -> str:
    """`mean of gain: met, ± 0.9 %`, or why not: `not met, half width 2.65 % of 2 %`."""
    name = f"{state.target.statistic} of {state.target.observable}"
    if state.met:
        return f"{name}: met, ± {show_error(state)}"
    told = state.why.startswith("half width") or not math.isfinite(state.error)
    return f"{name}: not met, {state.why if told else f'± {show_error(state)} ({state.why})'}"


def _met(cell: Cell) -> bool:
    return cell.complete and all(state.met for state in cell.states)


def _state(cell: Cell) -> str:
    if not cell.complete:
        return "runs" if cell.looked else "waits"
    if not cell.states:
        return "done"
    return "met" if _met(cell) else "budget spent"


def _activity(found: Standing) -> str:
    """Whether a run is going on, and how old that is what is shown."""
    if found.holder is None:
        return "no run is going on"
    going = f"a run is going on{found.holder and f' ({found.holder})'}"
    return going if found.age is None else f"as of {found.age:.0f} s ago; {going}"


def status(run: Store | Standing, *, only_open: bool = False) -> str:
    """A line for each cell: realizations done, of how many at most, and its targets."""
    found = Standing.of(run) if isinstance(run, Store) else run
    header = [*found.axes, "realizations", "at most", "state", "targets"]
    rows, finished, met, total = [], 0, 0, 0
    targets = bool(found.targets)
    for cell in found.cells:
        finished += cell.complete
        met += _met(cell)
        total += cell.available
        if cell.complete and only_open:
            continue
        rows.append(
            [
                *cell.labels,
                f"{cell.available:,}",
                f"{cell.limit:,}",
                _state(cell),
                "; ".join(map(show_target, cell.states)),
            ]
        )
    if not targets:
        header, rows = header[:-1], [row[:-1] for row in rows]
    count = len(found.cells)
    lines = [f"{found.title}: {found.path}", ""]
    lines += [aligned(header, rows), ""] if rows else []
    lines.append(f"{finished} of {count} cells finished, {total:,} realizations")
    if targets:
        lines.append(f"{met} of {finished} finished cells met their targets")
    lines.append(_activity(found))
    return "\n".join(lines)
