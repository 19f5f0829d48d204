"""Panels of distributions: an observable per row, a setting per column, cells as lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..analysis import along
from ..analysis.curves import evenly
from ..analysis.results import Panel, Results, Spot
from ..observables import Observed
from . import style

_MOST_ROWS, _MOST_LINES = 4, 6
_LINES = ["-", (0, (5, 1.5)), (0, (1, 1)), "-.", (0, (8, 1.5, 1, 1.5, 1, 1.5)), (0, (2.5, 1.2))]


def draw(
    results: Results,
    observable: str | None,
    line: Callable[[Axes, Observed, dict[str, Any], float], None],
    finish: Callable[[Axes, str, str], None],
    ylabel: str,
    subtitle: str,
) -> Figure:
    """Let `line` draw each cell and `finish` each panel; one legend is below all of them.

    The last argument of `line` is the confidence of intervals that hold with 95 % although the
    data may have decided when to stop.
    """
    everything = results.panels()
    panels = evenly(everything, style.MOST_COLUMNS)
    known = [observable] if observable else _names(results, panels)
    names = known[:_MOST_ROWS]
    figure, axes = style.new_figure([2.1] * len(names), len(panels), sharex="row", sharey=True)
    looks = _looks(results, panels, names)
    for i, name in enumerate(names):
        for j, panel in enumerate(panels):
            _panel(results, axes[i, j], panel, name, line, looks)
            style.panel_title(axes[i, j], panel.label if i == 0 else "")
        for j, panel in enumerate(panels):
            unit = next((s.facts[name].unit for s in panel.known(name)), "")
            finish(axes[i, j], name.replace("_", " "), unit)
        axes[i, 0].set_ylabel(ylabel)
    shown = sum(_value(results, spot) in looks for panel in panels for spot in panel.spots)
    left = [
        style.left_out(len(names), len(known), "observables"),
        style.left_out(len(panels), len(everything), "settings"),
        style.left_out(shown, len(results.spots), "cells"),
    ]
    style.finish(figure, results.title, [subtitle, results.state, *left], _handles(results, looks))
    return figure


def _value(results: Results, spot: Spot) -> Any:
    """Of a cell, on the axis whose values are the lines."""
    return spot.place.coordinates[results.axis] if results.axis else ""


def _looks(results: Results, panels: list[Panel], names: list[str]) -> dict[Any, dict[str, Any]]:
    """The values of the axis that are shown, the same in all panels, and how they are drawn."""
    known = {_value(results, spot) for panel in panels for name in names
             for spot in panel.known(name)}  # fmt: skip
    shown = evenly([value for value in results.along.values if value in known], _MOST_LINES)
    return {
        value: {
            "color": mpl.colormaps["cividis"](0.75 * number / max(len(shown) - 1, 1)),
            "linestyle": _LINES[number % len(_LINES)], "linewidth": 1.5,
        }
        for number, value in enumerate(shown)
    }  # fmt: skip


def _handles(results: Results, looks: dict[Any, dict[str, Any]]) -> list[Any]:
    """Nothing where there is one line only."""
    if not results.axis:
        return []
    title = along.axis_title(results.study, results.axis)
    return [
        Line2D([], [], **look, label=f"{title} = {results.along.plain(value)}")
        for value, look in looks.items()
    ]


def _names(results: Results, panels: list[Panel]) -> list[str]:
    """Observables whose single realizations have a value, the first few."""
    told = []
    for name in results.names:
        spots = [spot for panel in panels for spot in panel.known(name)]
        if not spots or spots[0].facts[name].quantiles is not None:
            told.append(name)
    if not told:
        raise results.study.error("no observable whose single realizations have a value")
    return told


def _panel(
    results: Results, axes: Axes, panel: Panel, name: str, line: Any, looks: dict[Any, Any]
) -> None:
    for spot in panel.known(name):
        look = looks.get(_value(results, spot))
        if look is None:
            continue
        observed = spot.observed(name)
        if observed is None or not observed.has_distribution:
            axis = "observable must be one whose single realizations have a value"
            raise results.study.error(f"{axis}, and {name!r} is not")
        line(axes, observed, dict(look), spot.decision.level())
