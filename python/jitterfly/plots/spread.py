"""Panels of distributions: an observable per row, a setting per column, cells as lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..analysis import along
from ..analysis.curves import evenly
from ..analysis.results import Panel, Results
from ..observables import Observed
from . import style
from .words import wrapped

_MOST_ROWS, _MOST_LINES = 4, 6
_LINES = ["-", (0, (5, 1.5)), (0, (1, 1)), "-.", (0, (8, 1.5, 1, 1.5, 1, 1.5)), (0, (2.5, 1.2))]


def draw(
    results: Results,
    observable: str | None,
    line: Callable[[Axes, Observed, str, dict[str, Any], float], None],
    finish: Callable[[Axes, str, str], None],
    ylabel: str,
    subtitle: str,
    columns: int,
) -> Figure:
    """Let `line` draw each cell and `finish` each panel; legends have so many `columns`.

    The last argument of `line` is the confidence of intervals that hold with 95 % although the
    data may have decided when to stop.
    """
    everything = results.panels()
    panels = evenly(everything, style.MOST_COLUMNS)
    known = [observable] if observable else _names(results, panels)
    names = known[:_MOST_ROWS]
    figure, axes = style.new_figure([2.1] * len(names), len(panels), sharex="row", sharey=True)
    for i, name in enumerate(names):
        for j, panel in enumerate(panels):
            _panel(results, axes[i, j], panel, name, line, columns)
            style.panel_title(axes[i, j], panel.label if i == 0 else "")
        for j, panel in enumerate(panels):
            unit = next((s.facts[name].unit for s in panel.known(name)), "")
            finish(axes[i, j], name.replace("_", " "), unit)
        axes[i, 0].set_ylabel(ylabel)
    shown = sum(min(len(panel.spots), _MOST_LINES) for panel in panels)
    left = [
        style.left_out(len(names), len(known), "observables"),
        style.left_out(len(panels), len(everything), "settings"),
        style.left_out(shown, len(results.spots), "cells"),
    ]
    style.finish(figure, results.title, [subtitle, results.state, *left], [])
    return figure


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


def _panel(results: Results, axes: Axes, panel: Panel, name: str, line: Any, columns: int) -> None:
    spots = evenly(panel.known(name), _MOST_LINES)
    for number, spot in enumerate(spots):
        observed = spot.observed(name)
        if observed is None or not observed.has_distribution:
            axis = "observable must be one whose single realizations have a value"
            raise results.study.error(f"{axis}, and {name!r} is not")
        shade = 0.75 * number / max(len(spots) - 1, 1)
        look = {
            "color": mpl.colormaps["cividis"](shade), "linestyle": _LINES[number % len(_LINES)],
            "linewidth": 1.5,
        }  # fmt: skip
        line(axes, observed, _label(results, spot), look, spot.decision.level())
    if spots:
        title = along.axis_title(results.study, results.axis) if results.axis else None
        # Panels leave room below their lines.
        legend = axes.legend(fontsize=7, title=title, title_fontsize=7, handlelength=2.6,
                             labelspacing=0.25, borderaxespad=0.1, loc="lower center",
                             ncols=columns, columnspacing=1.2)  # fmt: skip
        legend.get_title().set_parse_math(False)
        for text in legend.get_texts() if results.axis and results.along.scale == "text" else ():
            text.set_parse_math(False)


def _label(results: Results, spot: Any) -> str:
    if not results.axis:
        return "all"
    value = spot.place.coordinates[results.axis]
    text = results.along.text(value)
    return wrapped(text, 2.2, 7, 2) if results.along.scale == "text" else text
