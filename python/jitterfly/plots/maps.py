"""Heat maps over two axes, as MS12's figures: ranks across, T_comm / D or D / P upwards."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..results import Results
from ..results.figures import WIDE, Grid, grids
from ..results.study_axes import axis_title, evenly, number_axes
from . import heat_map, style
from .ticks import wrapped

_MOST_ROWS = 6
_HIGHEST, _WIDEST = 9.4, 10.8  # inches of a map: 40 cells with their numbers
_ALL_HIGH = 30.0  # of all maps above each other


def draw(results: Results, observable: str | None = None) -> Figure:
    """One observable: a map per combination of the other axes. Several: also a row for each."""
    known = [observable] if observable else results.columns
    names = known[:_MOST_ROWS]
    x, y = number_axes(results.study)[:2]
    blocks = grids(results, x, y, names)
    shown = evenly(blocks, style.MOST_COLUMNS)
    columns = len(shown)
    if columns == 1 and len(names) > 1:  # two maps side by side
        drawn = [(i // 2, i % 2, shown[0], name) for i, name in enumerate(names)]
        rows, columns = -(-len(names) // 2), 2
    else:
        drawn = [(i, j, block, name) for i, name in enumerate(names)
                 for j, block in enumerate(shown)]  # fmt: skip
        rows = len(names)
    # However many cells there are, a picture stays one that can be looked at.
    height = min(0.235 * len(shown[0].y), _HIGHEST, _ALL_HIGH / rows)
    width = min(max(2.7, 0.27 * len(shown[0].x)), _WIDEST)
    figure = Figure(figsize=((width + 1.3) * columns + 0.3, (height + 0.75) * rows + 1.1))
    axes = figure.subplots(rows, columns, squeeze=False)
    titles = [wrapped(axis_title(results.study, axis), inches, 9, 2)
              for axis, inches in ((x, width), (y, max(height + 0.5, 1.2)))]  # fmt: skip
    for i, j, block, name in drawn:
        norm = _norm([other.values[name] for other in shown], block.kinds[name])
        _panel(axes[i, j], block, name, norm, (width, height))
        axes[i, j].set_xlabel(titles[0], parse_math=False)
        axes[i, j].set_ylabel(titles[1], parse_math=False)
    for rest in axes.ravel()[len(drawn) :]:
        rest.set_visible(False)
    subtitle = [
        results.counted, results.state, style.left_out(len(names), len(known), "observables"),
        style.left_out(len(shown), len(blocks), "settings"),
    ]  # fmt: skip
    style.finish(figure, results.title, subtitle, _handles(shown, names))
    return figure


def _panel(axes: Axes, grid: Grid, name: str, norm: Normalize, size: tuple[float, float]) -> None:
    """A map of so many inches, with its colour bar."""
    title = grid.titles[name]
    style.panel_title(axes, f"{title}, {grid.label}" if grid.label else title)
    width, height = size
    numbers = height / len(grid.y) >= 0.13 and width / len(grid.x) >= 0.2
    hatched, marked = grid.unsure[name], grid.unmet[name]
    heat_map.draw_map(
        axes, grid.values[name], norm, hatched=hatched, marked=marked, numbers=numbers
    )
    letters = max(2 if "^" in text else len(text) for text in grid.x_texts)
    across = _some(len(grid.x), min(9, width / (0.075 * letters + 0.12)))
    up = _some(len(grid.y), height / 0.17)
    axes.set_xticks(across, [grid.x_texts[i] for i in across])
    axes.set_yticks(up, [grid.y_texts[i] for i in up])
    heat_map.colour_bar(axes, norm, height)


def _some(count: int, most: float) -> list[int]:
    """Every so many of `count` positions, so that there are at most `most` (and 40)."""
    return list(range(0, count, -(-count // max(1, min(int(most), 40)))))


def _norm(values: list[np.ndarray], kind: str) -> Normalize:
    """Colours shared by all maps of one observable; ratios start at 1."""
    known = np.concatenate([one[np.isfinite(one)] for one in values])
    if kind == "T":
        return Normalize(0, max(known, default=1))
    known = known[known > 0]
    low, high = (known.min(), known.max()) if len(known) else (1.0, 10.0)
    if kind in ("slowdown", "gain"):
        low = min(low, 1.0)
    return LogNorm(low, max(high, 1.3 * low))


def _handles(shown: list[Grid], names: list[str]) -> list[Any]:
    handles: list[Any] = []
    if any(grid.unsure[name].any() for grid in shown for name in names):
        text = f"uncertain: interval wider than ± {100 * WIDE:.0f} %, or a gain that may be 1"
        handles.append(Patch(facecolor="white", edgecolor=style.INK, hatch=heat_map.HATCH,
                             linewidth=0.4, label=text))  # fmt: skip
    if any(grid.unmet[name].any() for grid in shown for name in names):
        handles.append(Line2D([], [], color=style.INK, marker=".", markersize=3, linestyle="none",
                              label="target of precision not met"))  # fmt: skip
    if any(np.isnan(grid.values[name]).any() for grid in shown for name in names):
        handles.append(Patch(facecolor="white", edgecolor="#bbbbbb", linewidth=0.6,
                             label="not run yet, or not there"))  # fmt: skip
    return handles
