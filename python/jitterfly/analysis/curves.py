"""Any study as curves along an axis of numbers: which panels, which lines in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from . import along, figures
from .facts import Facts
from .results import Panel, Results

MOST_LINES = 6
_FEW_PANELS = 4
_T = TypeVar("_T")


@dataclass(frozen=True)
class Cell:
    """One panel: lines by name, each with what is known at every position (None: nothing)."""

    title: str
    x: along.Along
    lines: dict[str, list[Facts | None]]


@dataclass(frozen=True)
class Curves:
    """Rows of panels; `names` tells the rows, `units` their units, `note` what was left out."""

    names: list[str]
    units: list[str]
    rows: list[list[Cell]]
    note: str


def curves(results: Results, names: list[str], most_columns: int) -> Curves:
    """Arrange observables along the study's main axis.

    The lines of a panel are the observables of one kind, or, where there are two more axes (or
    one of many values), the values of one of those.
    """
    panels = results.panels()
    others = _others(results)
    by = ""  # the axis whose values are the lines
    if len(others) > 1 or (others and len(panels) > _FEW_PANELS):
        fitting = [axis for axis in others if len(others[axis]) <= MOST_LINES]
        by = min(fitting, key=lambda axis: len(others[axis]), default="")
    alone = {name.replace("_", " "): [name] for name in names}
    groups = alone if by else _by_kind(results, names)
    columns = _columns(results, panels, by)
    shown = evenly(columns, most_columns)
    notes = [f"{len(shown)} of {len(columns)} settings"] if len(columns) > len(shown) else []
    rows = []
    for group in groups.values():
        picked = _picked(results, group)
        if len(picked) < len(group):
            notes.append(f"{len(picked)} of {len(group)} observables of a kind")
        rows.append([_cell(results, title, column, picked, by) for title, column in shown])
    units = [_unit(row) for row in rows]
    return Curves(list(groups), units, rows, "; ".join(dict.fromkeys(notes)))


def evenly(items: Sequence[_T], most: int) -> list[_T]:
    """At most so many of them, the first and the last among them."""
    if len(items) <= most:
        return list(items)
    return [items[round(i * (len(items) - 1) / (most - 1))] for i in range(most)]


def _picked(results: Results, group: list[str]) -> list[str]:
    """As many as a panel can show, targets among them."""
    wanted = {target.column for target in results.study.targets}
    targets = evenly([name for name in group if name in wanted], MOST_LINES)
    others = [name for name in group if name not in wanted]
    room = MOST_LINES - len(targets)
    kept = {*targets, *(evenly(others, room) if room > 1 else others[:room])}
    return [name for name in group if name in kept]


def _others(results: Results) -> dict[str, list[object]]:
    values = along.axis_values(results.study)
    return {a: v for a, v in values.items() if a != results.axis and len(v) > 1}


def _by_kind(results: Results, names: list[str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(figures.kind_of(results.study, name) or name, []).append(name)
    return {kind.replace("_", " "): group for kind, group in groups.items()}


def _columns(results: Results, panels: list[Panel], by: str) -> list[tuple[str, list[Panel]]]:
    """Panels that differ in the axis `by` only share a column."""
    columns: dict[str, list[Panel]] = {}
    for panel in panels:
        without = (results.axis, by) if by else (results.axis,)
        columns.setdefault(results.label(panel.spots[0], without), []).append(panel)
    return list(columns.items())


def _cell(results: Results, title: str, panels: list[Panel], names: list[str], by: str) -> Cell:
    spots = panels[0].spots
    axis = results.axis
    values = [spot.place.coordinates[axis] for spot in spots] if axis else [""]
    lines = {}
    for panel in panels:
        for name in names:
            label = name.replace("_", " ")
            if by:
                label = along.label_of(results.study, by, panel.labels[by])
            lines[label] = [spot.facts.get(name) for spot in panel.spots]
    return Cell(title, along.Along(values, results.along.unit), lines)


def _unit(row: list[Cell]) -> str:
    known = (f for cell in row for line in cell.lines.values() for f in line if f is not None)
    return next((facts.unit for facts in known), "")
