"""A study along an axis, a line for each value of the others: means with 5-95 % bands."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..analysis.along import axis_title
from ..analysis.results import Panel, Results
from . import style, ticks
from .words import wrapped

_MARKERS = "os^vDXP*<>"
_DARK, _LIGHT = 0.0, 0.85  # of the colour map: its end is too light for a line


def draw(results: Results, observable: str | None = None) -> Figure:
    """A panel for each observable, on one scale."""
    names = [observable] if observable else results.names
    figure, axes = style.new_figure([2.6], len(names), sharey=True)
    panels = results.panels()
    colors = colormaps["plasma"](np.linspace(_DARK, _LIGHT, max(len(panels), 2)))
    looks = [(color, _MARKERS[i % len(_MARKERS)]) for i, color in enumerate(colors)]
    units = set()
    for panel, name in zip(axes[0], names, strict=True):
        for one, look in zip(panels, looks, strict=False):
            units |= _line(panel, results, one, name, look)
        style.panel_title(panel, name)
        ticks.place_axis(panel, results.along, axis_title(results.study, results.axis))
    unit = units.pop() if len(units) == 1 else ""
    for panel in axes[0]:
        _scale(panel, unit)
    handles: list[Any] = [
        Line2D([], [], color=color, marker=marker, markersize=4, linewidth=1.6, label=one.label)
        for one, (color, marker) in zip(panels, looks, strict=False)
    ]
    handles.append(Patch(color=style.GREY, alpha=0.3, linewidth=0, label="5-95 % of realizations"))
    axes[0, 0].set_ylabel(wrapped("mean completion" if unit == "s" else "mean", 4.0, 9))
    note = "the bars of the means (95 % intervals) are mostly smaller than the marks"
    style.finish(figure, results.title, [results.counted, results.state, note], handles)
    return figure


def _line(axes: Axes, results: Results, panel: Panel, name: str, look: Any) -> set[str]:
    color, marker = look
    spots = panel.known(name)
    if not spots:
        return set()
    position = dict(zip(results.along.values, results.along.positions, strict=True))
    x = [position[spot.place.coordinates[results.axis]] for spot in spots]
    facts = [spot.facts[name] for spot in spots]
    mean = np.array([[float(f.mean.value), float(f.mean.low), float(f.mean.high)] for f in facts])
    reach = np.abs(mean[:, 1:].T - mean[:, 0])
    reach[~np.isfinite(reach)] = 0.0
    axes.errorbar(x, mean[:, 0], reach, color=color, marker=marker, markersize=3.5,
                  linewidth=1.4, capsize=1.5)  # fmt: skip
    if all(f.quantiles for f in facts):
        low, _, high = np.array([f.quantiles for f in facts]).T
        axes.fill_between(x, low, high, color=color, alpha=0.15, linewidth=0)
    return {f.unit for f in facts}


def _scale(axes: Axes, unit: str) -> None:
    values = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in axes.lines])
    values = values[np.isfinite(values)]
    if len(values) and values.min() > 0 and values.max() > 8 * values.min():
        ticks.log_axis(axes, unit)
    else:
        ticks.unit_axis(axes, unit)
