"""Figure `curves`: any study along a numeric axis, means with intervals, medians, spread.

The module `series` draws each of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..fields import grouped
from ..results import Panel, Results, figure_axes, figures
from ..results.figure_axes import axis_title, evenly
from ..results.main_numbers import MainNumbers
from . import series, style
from .style import wrapped

MOST_LINES = 6
_FEW_PANELS = 4


@dataclass(frozen=True)
class CurvePanel:
    """One panel: lines by name, each with what is known at every position (None: nothing)."""

    title: str
    x: figure_axes.AxisScale
    lines: dict[str, list[MainNumbers | None]]


@dataclass(frozen=True)
class Curves:
    """Rows of panels; `names` tells the rows, `units` their units, `note` what was left out."""

    names: list[str]
    units: list[str]
    rows: list[list[CurvePanel]]
    note: str


def curves(results: Results, names: list[str], most_columns: int) -> Curves:
    """Arrange observables along the study's main axis.

    The lines of a panel are the observables of one kind, or, where there are two more axes (or
    one of many values), the values of one of those. Where panels of several kinds have a line for
    each variant, a variant is one line in all of them.
    """
    panels = results.panels()
    others = _other_axes(results)
    by = ""  # the axis whose values are the lines
    if len(others) > 1 or (others and len(panels) > _FEW_PANELS):
        fitting = [axis for axis in others if len(others[axis]) <= MOST_LINES]
        by = min(fitting, key=lambda axis: len(others[axis]), default="")
    alone = {name.replace("_", " "): [name] for name in names}
    groups = alone if by else _by_kind(results, names)
    columns = _columns(results, panels, by)
    settings = results.settings(most_columns, (by,))
    shown = [(title, column) for title, column in columns if column[0].is_in(settings)]
    notes = [f"{len(shown)} of {len(columns)} settings"] if len(columns) > len(shown) else []
    notes += filter(None, [figure_axes.axis_values_left_out(results.study, settings)])
    rows = []
    for group in groups.values():
        picked = _picked(results, group)
        if len(picked) < len(group):
            notes.append(f"{len(picked)} of {len(group)} observables of a kind")
        labels = _labels(results, picked, of_variants=len(groups) > 1)
        rows.append([_cell(results, title, column, labels, by) for title, column in shown])
    units = [_unit(row) for row in rows]
    return Curves(list(groups), units, rows, "; ".join(dict.fromkeys(notes)))


def _picked(results: Results, group: list[str]) -> list[str]:
    """Pick as many observables as a panel can show, targets among them."""
    wanted = {target.column for target in results.study.targets}
    targets = evenly([name for name in group if name in wanted], MOST_LINES)
    others = [name for name in group if name not in wanted]
    room = MOST_LINES - len(targets)
    kept = {*targets, *(evenly(others, room) if room > 1 else others[:room])}
    return [name for name in group if name in kept]


def _labels(results: Results, names: list[str], *, of_variants: bool) -> dict[str, str]:
    """The label of each observable's line: its variant, where no other has the same one."""
    variants = [figures.variant_of(results.study, name) for name in names]
    if of_variants and all(variants) and len(set(variants)) == len(variants):
        return dict(zip(names, variants, strict=True))
    return {name: name.replace("_", " ") for name in names}


def _other_axes(results: Results) -> dict[str, list[object]]:
    values = figure_axes.axis_values(results.study)
    return {a: v for a, v in values.items() if a != results.axis and len(v) > 1}


def _by_kind(results: Results, names: list[str]) -> dict[str, list[str]]:
    groups = grouped(names, lambda name: figures.kind_of(results.study, name) or name)
    return {kind.replace("_", " "): group for kind, group in groups.items()}


def _columns(results: Results, panels: list[Panel], by: str) -> list[tuple[str, list[Panel]]]:
    """Group the panels that differ in the axis `by` only: a group is a column."""
    without = (results.axis, by) if by else (results.axis,)
    return list(grouped(panels, lambda panel: results.label(panel.cells[0], without)).items())


def _cell(
    results: Results, title: str, panels: list[Panel], labels: dict[str, str], by: str
) -> CurvePanel:
    cells = panels[0].cells
    axis = results.axis
    values = [cell.coordinates[axis] for cell in cells] if axis else [""]
    lines = {}
    for panel in panels:
        for name, label in labels.items():
            if by:
                label = figure_axes.label_of(results.study, by, panel.labels[by])
            lines[label] = [cell.facts.get(name) for cell in panel.cells]
    return CurvePanel(title, figure_axes.scale_of(results.study, axis, values), lines)


def _unit(row: list[CurvePanel]) -> str:
    known = (f for cell in row for line in cell.lines.values() for f in line if f is not None)
    return next((facts.unit for facts in known), "")


_MOST_BANDS = 2  # over each other in a panel
_BAR = 2.6  # points, of a range among others
_SPREAD = 0.75  # of the distance of two ticks, that ranges side by side take
_APART = 8.0  # points, between two of them at most: they belong to one tick


def draw_curves(results: Results, observable: str | None = None) -> Figure:
    """A row for each kind of observable, a column for each setting of the other axes."""
    names = figures.shown_names(results.study, observable) if observable else results.columns
    shown = curves(results, names, style.MOST_COLUMNS)
    crowded = any(_banded(cell) > _MOST_BANDS for row in shown.rows for cell in row)
    columns = len(shown.rows[0])
    height = 1.9 if len(shown.rows) == 1 else 1.4
    figure, axes = style.new_figure([height] * len(shown.rows), columns)
    title = axis_title(results.study, results.axis) if results.axis else ""
    looks: dict[str, style.Look] = {}
    for i, row in enumerate(shown.rows):
        for j, cell in enumerate(row):
            _panel(axes[i, j], cell, looks, crowded)
            if i == 0:
                style.panel_title(axes[i, j], cell.title)
            if i == len(shown.rows) - 1:
                style.place_axis(axes[i, j], cell.x, title)
        _scale(list(axes[i]), row, shown.units[i])
        axes[i, 0].set_ylabel(wrapped(shown.names[i], 1.6 * height, 9, 2), parse_math=False)
    subtitle = [results.counted, results.state, shown.note]
    style.finish(figure, results.title, subtitle, _handles(shown, looks, crowded))
    return figure


def _banded(cell: CurvePanel) -> int:
    """The lines of a panel that have a range of realizations around them."""
    return sum(any(f is not None and f.quantiles for f in line) for line in cell.lines.values())


def _handles(shown: Curves, looks: dict[str, style.Look], crowded: bool) -> list[Any]:
    """The legend of the lines: those of a best T have no 95 % intervals, but sets of T."""
    known = [(name, f) for row in shown.rows for cell in row for name, line in cell.lines.items()
             for f in line if f is not None]  # fmt: skip
    sets = {name for name, f in known if f.is_set}
    means = {name for name, f in known if not f.is_set}
    banded = {name for name, f in known if f.quantiles}
    ranges = {name: series.of_interval([f for n, f in known if n == name]) for name in looks}
    picked = [{n: look for n, look in looks.items() if n in of} for of in (means, banded, sets)]
    if crowded:
        handles = [series.line_handle(look, name) for name, look in picked[0].items()]
        drawn = [f for n, f in known if n in picked[0]]
        handles += series.range_handles(series.of_interval(drawn, named=False))
    else:
        handles = [
            series.line_handle(look, f"{name}: {ranges[name]}") for name, look in picked[0].items()
        ]
        handles += series.band_handles(picked[1])
    for name, look in picked[2].items():
        handles.append(series.line_handle(look, f"{name}: smallest T not told from the best; bar: "
                                               "to the largest"))  # fmt: skip
    return handles


def _panel(axes: Axes, cell: CurvePanel, looks: dict[str, style.Look], crowded: bool) -> None:
    for number, (name, facts) in enumerate(cell.lines.items()):
        if name not in looks:
            looks[name] = style.SERIES[len(looks) % len(style.SERIES)]
        x = np.array(cell.x.positions, dtype=float)
        step = float(np.diff(np.unique(x)).min()) if len(x) > 1 else 1.0
        bar = None
        is_set = any(f is not None and f.is_set for f in facts)
        if crowded:  # ranges side by side: bands over each other are one area
            step = max(step, float(np.ptp(x)) / (2 * len(x)))  # where a few are close together
            points = 72 * style.inches_across(axes)
            bar = min(_BAR, 0.5 * points / (len(x) * len(cell.lines)))
            apart = min(_SPREAD * step / len(cell.lines), _APART * float(np.ptp(x) or 1) / points)
            x = x + apart * (number + 0.5 - 0.5 * len(cell.lines))
        elif is_set and len(cell.lines) > 1:  # whole numbers often fall onto each other
            x = x + looks[name].shift * step
        if is_set:
            axes.yaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        series.draw_series(axes, x, facts, looks[name], bar=bar)


def _scale(row: list[Axes], cells: list[CurvePanel], unit: str) -> None:
    """Make the axis logarithmic where the values of a row span much."""
    facts = [f for cell in cells for line in cell.lines.values() for f in line if f is not None]
    if any(f.is_set for f in facts):
        return
    values = [v for f in facts for v in (float(f.mean.value), *(f.quantiles or ()))]
    style.scale_axes(row, values, unit)
