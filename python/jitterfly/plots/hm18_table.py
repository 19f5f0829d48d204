"""HM18's table beside the model: completion against p, and the numbers that it should explain."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..claims.hm18 import TABLE
from ..results import Results
from ..units import show_seconds
from . import series, style

_LINES = {"estimate": "-", "baseline": ":", "optimized": "--"}


def draw(results: Results, observable: str | None = None) -> Figure:
    """Means with intervals and bands along p; a level for each number of the table."""
    names = [observable] if observable else results.names
    figure, axes = style.new_figure([3.2], 1)
    targets = series.Targets(results)
    panel = axes[0, 0]
    looks = dict(zip(names, style.SERIES, strict=False))
    cells = results.panels("probability")[0].cells
    x = np.array([float(cell.coordinates["probability"]) for cell in cells])
    for name, look in looks.items():
        series.draw_series(panel, x, [cell.facts.get(name) for cell in cells], look, few=False)
        targets.draw(panel, list(x), name, cells, look)
    handles: list[Any] = series.legend_handles(looks, bands=False, few=False)
    handles += [*series.band_handles(looks), *targets.handles]
    for look, (what, numbers) in zip(style.SERIES[2:], TABLE.items(), strict=False):
        for kind, seconds in numbers.items():
            panel.axhline(seconds, color=look.dark, linestyle=_LINES[kind], linewidth=1.1)
            handles.append(Line2D([], [], color=look.dark, linestyle=_LINES[kind],
                                  label=f"{what}, {kind}: {show_seconds(seconds, 3)}"))  # fmt: skip
    style.log_axis(panel, "", "x")
    style.log_axis(panel, "s")
    panel.set_xlabel("p, probability that a step takes 14 µs more")
    panel.set_ylabel("completion")
    levels = "levels: HM18's numbers; where a curve crosses one, that p explains it"
    subtitle = [results.counted, results.state, levels, targets.left_out]
    style.finish(figure, results.title, subtitle, handles)
    return figure
