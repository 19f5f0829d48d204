"""How far a run is: cell by cell, and whether each met its targets."""

from __future__ import annotations

import math

from ..observables import Decision, State
from ..store import Store
from .columns import aligned


def show_error(state: State) -> str:
    """The half width that was reached: `1.3 %` of the value, or in the observable's unit."""
    return (
        f"{100 * state.error:.2g} %" if state.target.relative is not None else f"{state.error:.3g}"
    )


def show_target(state: State) -> str:
    """`mean of gain: met, ± 0.9 %`, or why not: `not met, half width 2.65 % of 2 %`."""
    name = f"{state.target.statistic} of {state.target.observable}"
    if state.met:
        return f"{name}: met, ± {show_error(state)}"
    told = state.why.startswith("half width") or not math.isfinite(state.error)
    return f"{name}: not met, {state.why if told else f'± {show_error(state)} ({state.why})'}"


def _state(decision: Decision, complete: bool) -> str:
    if not complete:
        return "runs" if decision.realizations else "waits"
    if not decision.states:
        return "done"
    return "met" if decision.met else "budget spent"


def status(store: Store, *, only_open: bool = False) -> str:
    """A line for each cell: realizations done, of how many at most, and its targets."""
    axes = [axis.name for axis in store.study.axes]
    header = [*axes, "realizations", "at most", "state", "targets"]
    rows, finished, met, total = [], 0, 0, 0
    targets = bool(store.study.targets)
    for place in store.places:
        available, decision = store.available(place), store.decision(place)
        complete = store.complete(place)
        finished += complete
        met += complete and decision.met
        total += available
        if complete and only_open:
            continue
        rows.append(
            [
                *place.labels.values(),
                f"{available:,}",
                f"{place.limit:,}",
                _state(decision, complete),
                "; ".join(map(show_target, decision.states)),
            ]
        )
    if not targets:
        header, rows = header[:-1], [row[:-1] for row in rows]
    count = len(store.places)
    lines = [f"{store.study.title or store.study.name}: {store.path}", ""]
    lines += [aligned(header, rows), ""] if rows else []
    lines.append(f"{finished} of {count} cells finished, {total:,} realizations")
    if targets:
        lines.append(f"{met} of {finished} finished cells met their targets")
    return "\n".join(lines)
