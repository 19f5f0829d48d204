"""Any study along an axis of numbers: means with intervals, medians and 5-95 % bands."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..analysis.along import axis_title
from ..analysis.curves import Cell, curves
from ..analysis.results import Results
from . import series, style


def draw(results: Results, observable: str | None = None) -> Figure:
    """A row for each kind of observable, a column for each setting of the other axes."""
    names = [observable] if observable else results.names
    found = curves(results, names, style.MOST_COLUMNS)
    columns = len(found.rows[0])
    height = 1.9 if len(found.rows) == 1 else 1.4
    figure, axes = style.new_figure([height] * len(found.rows), columns)
    title = axis_title(results.study, results.axis) if results.axis else ""
    looks: dict[str, style.Look] = {}
    for i, row in enumerate(found.rows):
        for j, cell in enumerate(row):
            _panel(axes[i, j], cell, looks)
            if i == 0:
                style.panel_title(axes[i, j], cell.title)
            if i == len(found.rows) - 1:
                style.place_axis(axes[i, j], cell.x, title)
        _scale(list(axes[i]), row, found.units[i])
        axes[i, 0].set_ylabel(found.names[i], parse_math=False)
    subtitle = f"{results.count} realizations per cell"
    for more in (results.state, found.note):
        subtitle += f"; {more}" if more else ""
    banded = any(f is not None and f.quantiles for row in found.rows for cell in row
                 for line in cell.lines.values() for f in line)  # fmt: skip
    handles = series.legend_handles(looks, bands=banded, few=False)
    style.finish(figure, results.title, subtitle, handles)
    return figure


def _panel(axes: Axes, cell: Cell, looks: dict[str, style.Look]) -> None:
    for name, facts in cell.lines.items():
        if name not in looks:
            looks[name] = style.SERIES[len(looks) % len(style.SERIES)]
        series.draw_series(axes, cell.x.positions, facts, looks[name], few=False)


def _scale(row: list[Axes], cells: list[Cell], unit: str) -> None:
    """Logarithmic where values are positive and span more than a factor of 8."""
    facts = [f for cell in cells for line in cell.lines.values() for f in line if f is not None]
    values = np.array([v for f in facts for v in (float(f.mean.value), *(f.quantiles or ()))])
    values = values[np.isfinite(values)]
    if len(values) and values.min() > 0 and values.max() / values.min() > 8:
        for axes in row:
            style.log_axis(axes, unit)
    else:
        style.unit_axis(row[0], unit)
