"""Line plot (figure `family`): one line for each value of a study's other axes, 5-95 % bands."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..results import Panel, Results
from ..results.figure_axes import axis_title
from ..results.figures import kind_of, shown_names
from ..results.main_numbers import MainNumbers
from . import series, style
from .style import wrapped

_MARKERS = "os^vDXP*<>"
_DARK, _LIGHT = 0.0, 0.85  # of the colour map: its end is too light for a line


def draw_family(results: Results, observable: str | None = None) -> Figure:
    """A panel for each observable; those of one unit in a row, and on one scale."""
    names = shown_names(results.study, observable) if observable else results.columns
    rows = _by_unit(results, names)
    columns = max(len(row) for _, row in rows)
    height = 2.6 if len(rows) == 1 else 1.9
    figure, axes = style.new_figure([height] * len(rows), columns)
    panels = results.panels()
    colors = colormaps["plasma"](np.linspace(_DARK, _LIGHT, max(len(panels), 2)))
    looks = [(color, _MARKERS[i % len(_MARKERS)]) for i, color in enumerate(colors)]
    for i, (unit, row) in enumerate(rows):
        for j, name in enumerate(row):
            for one, look in zip(panels, looks, strict=False):
                _line(axes[i, j], results, one, name, look)
            style.panel_title(axes[i, j], name.replace("_", " "))
            style.place_axis(axes[i, j], results.along, axis_title(results.study, results.axis))
            axes[i, j].tick_params(labelbottom=True)
        style.hide(axes[i, len(row) :])
        values = [float(f.mean.value) for name in row for f in _numbers_of(results, name)]
        style.scale_axes(list(axes[i, : len(row)]), values, unit)
        axes[i, 0].set_ylabel(wrapped(_axis_label(results, row), 1.5 * height, 9))
    note = "bars: 95 % intervals"
    if any(series.is_open(f.mean) for cell in results.cells for f in cell.facts.values()):
        note += "; arrows: too few realizations for an end"
    shown = [f for _, row in rows for name in row for f in _numbers_of(results, name)]
    handles = _handles(panels, looks, any(f.quantiles for f in shown))
    style.finish(figure, results.title, [results.counted, results.state, note], handles)
    return figure


def _by_unit(results: Results, names: list[str]) -> list[tuple[str, list[str]]]:
    """The units and the names of what has them; what has no unit is with its kind alone."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name in names:
        known = _numbers_of(results, name)
        unit = known[0].unit if known else ""
        key = unit, "" if unit else kind_of(results.study, name)
        shown = groups.setdefault(key, [])
        shown.append(name)
    return [
        (unit, group[at : at + style.MOST_COLUMNS])
        for (unit, _), group in groups.items()
        for at in range(0, len(group), style.MOST_COLUMNS)
    ]


def _numbers_of(results: Results, name: str) -> list[MainNumbers]:
    """The main numbers of an observable, in all cells that have it."""
    return [cell.facts[name] for cell in results.cells if name in cell.facts]


def _axis_label(results: Results, row: list[str]) -> str:
    """The label of a row's axis."""
    known = [f for name in row for f in _numbers_of(results, name)]
    if known and known[0].is_set:
        return "smallest T not told from the best"
    plain = all(kind_of(results.study, name) == "completion" for name in row)
    what = "mean completion" if plain else "mean"
    targets = {f.is_target for f in known}
    if targets == {True}:
        return row[0].replace("_", " ") if len(row) == 1 else "the targets named"
    return f"{what}, or the target named" if True in targets else what


def _handles(panels: list[Panel], looks: list[Any], banded: bool) -> list[Any]:
    """The legend of lines by their settings; a single line needs no name beside its panel's."""
    named = [(one.label, look) for one, look in zip(panels, looks, strict=False) if one.label]
    handles: list[Any] = [
        Line2D([], [], color=color, marker=marker, markersize=4, linewidth=1.6, label=label)
        for label, (color, marker) in named
    ]
    if banded:
        label = "5–95 % of realizations"
        handles.append(Patch(color=style.GREY, alpha=0.3, linewidth=0, label=label))
    return handles


def _line(axes: Axes, results: Results, panel: Panel, name: str, look: Any) -> None:
    color, marker = look
    cells = panel.known(name)
    if not cells:
        return
    position = dict(zip(results.along.values, results.along.positions, strict=True))
    x = [position[cell.coordinates[results.axis]] for cell in cells]
    facts = [cell.facts[name] for cell in cells]
    series.draw_means(axes, x, [f.mean for f in facts], color=color, marker=marker, markersize=3.5,
                      linewidth=1.4, capsize=1.5)  # fmt: skip
    if all(f.quantiles for f in facts):
        low, _, high = np.array([f.quantiles for f in facts]).T
        axes.fill_between(x, low, high, color=color, alpha=0.15, linewidth=0)
