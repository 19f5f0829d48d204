"""How far a run is: cell by cell, and whether each met its targets."""

from __future__ import annotations

import math

from ..observables import Decision, State
from ..store import Store
from ..studies import Place
from .columns import WIDTH, with_sentences
from .show import interval


def show_error(state: State) -> str:
    """The half width that was reached: `1.3 %` of the value, or in the observable's unit."""
    return (
        f"{100 * state.error:.2g} %" if state.target.relative is not None else f"{state.error:.3g}"
    )


def show_target(state: State, unit: str = "") -> str:
    """`p99 of gain: met, ± 0.9 %: 1.3 [1.29, 1.31]`, or `not met, half width 2.65 % of 2 %: ...`.

    Args:
        unit: of the observable.
    """
    unit = "" if state.target.statistic == "win probability" else unit
    name = f"{state.target.statistic} of {state.target.observable}"
    value = interval(state.estimate, ".4g", unit)
    if state.met:
        return f"{name}: met, ± {show_error(state)}: {value}"
    told = state.why.startswith("half width") or not math.isfinite(state.error)
    why = state.why if told else f"± {show_error(state)} ({state.why})"
    return f"{name}: not met, {why}: {value}"


def _state(decision: Decision, complete: bool) -> str:
    if not complete:
        return "runs" if decision.realizations else "waits"
    if not decision.states:
        return "done"
    return "met" if decision.met else "budget spent"


def _targets(store: Store, place: Place, decision: Decision) -> list[str]:
    if not decision.states:
        return []
    families = store.families(place)
    return [show_target(one, families[one.target.observable].unit) for one in decision.states]


def status(
    store: Store, *, only_open: bool = False, width: int = WIDTH, most: int | None = None
) -> str:
    """A line for each cell: realizations done, of how many at most, and its targets.

    Args:
        only_open: leave out what is finished.
        width: letters of a line.
        most: cells that are shown; None shows all. How many are left out is said.
    """
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
                "\n".join(_targets(store, place, decision)),
            ]
        )
    if not targets:
        header, rows = header[:-1], [row[:-1] for row in rows]
    count = len(store.places)
    lines = [f"{store.study.title or store.study.name}: {store.path}", ""]
    lines += [with_sentences(header, rows, width, most), ""] if rows else []
    lines.append(f"{finished} of {count} cells finished, {total:,} realizations")
    if targets:
        lines.append(f"{met} of {finished} finished cells met their targets")
    return "\n".join(lines)
