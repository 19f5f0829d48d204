"""Heat maps over two axes, as MS12's figures: ranks across, T_comm / D or D / P upwards."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from ..analysis.along import axis_title, number_axes
from ..analysis.curves import evenly
from ..analysis.maps import WIDE, Grid, grids
from ..analysis.results import Results
from ..analysis.show import short
from . import style

_COLOURS = "cividis"  # one ramp of lightness: the same order in a grey print
_HATCH = "////"


def draw(results: Results, observable: str | None = None) -> Figure:
    """One observable: a map per place on the other axes. Several: also a row of maps for each."""
    names = [observable] if observable else results.names[:6]
    x, y = number_axes(results.study)[:2]
    blocks = grids(results, x, y, names)
    shown = evenly(blocks, style.MOST_COLUMNS)
    columns = len(shown)
    if columns == 1 and len(names) > 1:  # two maps side by side
        cells = [(i // 2, i % 2, shown[0], name) for i, name in enumerate(names)]
        rows, columns = -(-len(names) // 2), 2
    else:
        cells = [(i, j, block, name) for i, name in enumerate(names)
                 for j, block in enumerate(shown)]  # fmt: skip
        rows = len(names)
    height = 0.75 + 0.235 * len(shown[0].y)
    wide = max(4.0, 0.27 * len(shown[0].x) + 1.3)
    figure = Figure(figsize=(wide * columns + 0.3, height * rows + 1.1))
    axes = figure.subplots(rows, columns, squeeze=False)
    for i, j, block, name in cells:
        norm = _norm([other.values[name] for other in shown], block.kinds[name])
        _panel(axes[i, j], block, name, norm, block.label)
        axes[i, j].set_xlabel(axis_title(results.study, x), parse_math=False)
        axes[i, j].set_ylabel(axis_title(results.study, y), parse_math=False)
    for rest in axes.ravel()[len(cells) :]:
        rest.set_visible(False)
    subtitle = f"{results.count} realizations per cell"
    for more in (results.state, _left_out(len(blocks))):
        subtitle += f"; {more}" if more else ""
    style.finish(figure, results.title, subtitle, _handles(shown, names))
    return figure


def _left_out(count: int) -> str:
    most = style.MOST_COLUMNS
    return f"{most} of {count} settings" if count > most else ""


def _panel(axes: Axes, grid: Grid, name: str, norm: Normalize, label: str) -> None:
    title = grid.titles[name]
    style.panel_title(axes, f"{title}, {label}" if label else title)
    draw_map(axes, grid.values[name], norm, hatched=grid.unsure[name], marked=grid.unmet[name])
    positions = list(range(len(grid.x)))[:: -(-len(grid.x) // 9)]
    axes.set_xticks(positions, [grid.x_texts[i] for i in positions])
    axes.set_yticks(range(len(grid.y)), grid.y_texts)
    bar = axes.figure.colorbar(
        mpl.cm.ScalarMappable(norm, _COLOURS), ax=axes, pad=0.015, fraction=0.05
    )
    bar.outline.set_visible(False)
    if isinstance(norm, LogNorm):
        ticks = [t for t in _ticks(norm) if norm.vmin * 0.999 <= t <= norm.vmax * 1.001]
        bar.locator = FixedLocator(ticks)
        bar.formatter = FuncFormatter(lambda v, _: f"{v:g}")
        bar.update_ticks()
        bar.ax.yaxis.set_minor_locator(NullLocator())


def _ticks(norm: Normalize) -> list[float]:
    decades = np.arange(np.floor(np.log10(norm.vmin)), np.ceil(np.log10(norm.vmax)) + 1)
    subs = (1, 2, 5) if norm.vmax / norm.vmin < 3000 else (1,)
    subs = (1, 1.5, 2, 3, 5, 7) if norm.vmax / norm.vmin < 8 else subs
    subs = [1 + 0.1 * i for i in range(90)] if norm.vmax / norm.vmin < 2 else subs
    return [sub * 10.0**decade for decade in decades for sub in subs]


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


def draw_map(
    axes: Axes, values: Any, norm: Normalize, *, hatched: Any = None, marked: Any = None
) -> None:
    """Cells in colour with their numbers; NaN stays blank.

    Args:
        values: shape (y, x), the first row at the bottom.
        hatched, marked: bool, same shape: too uncertain to be told; target not met.
    """
    values = np.asarray(values, dtype=float)
    colours = mpl.colormaps[_COLOURS]
    axes.imshow(np.ma.masked_invalid(values), norm=norm, cmap=colours, origin="lower",
                aspect="auto", interpolation="nearest")  # fmt: skip
    axes.grid(visible=False)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    for (row, column), value in np.ndenumerate(values):
        if not np.isfinite(value):
            continue
        red, green, blue, _ = colours(norm(value))
        dark = 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.45
        ink = "white" if dark else "black"
        if hatched is not None and hatched[row, column]:
            axes.add_patch(
                Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, hatch=_HATCH, linewidth=0,
                          edgecolor=(*mpl.colors.to_rgb(ink), 0.55))
            )  # fmt: skip
        if marked is not None and marked[row, column]:
            axes.plot(column + 0.36, row + 0.34, ".", color=ink, markersize=2.6)
        around = withStroke(linewidth=1.6, foreground=(red, green, blue))  # keeps hatches off
        axes.text(column, row - 0.03, short(value), ha="center", va="center", fontsize=6,
                  color=ink, path_effects=[around])  # fmt: skip


def _handles(shown: list[Grid], names: list[str]) -> list[Any]:
    handles: list[Any] = []
    if any(grid.unsure[name].any() for grid in shown for name in names):
        text = f"uncertain: interval wider than ± {100 * WIDE:.0f} %, or a gain that may be 1"
        handles.append(Patch(facecolor="white", edgecolor=style.INK, hatch=_HATCH, linewidth=0.4,
                             label=text))  # fmt: skip
    if any(grid.unmet[name].any() for grid in shown for name in names):
        handles.append(Line2D([], [], color=style.INK, marker=".", markersize=3, linestyle="none",
                              label="target of precision not met"))  # fmt: skip
    if any(np.isnan(grid.values[name]).any() for grid in shown for name in names):
        handles.append(Patch(facecolor="white", edgecolor="#bbbbbb", linewidth=0.6,
                             label="not run yet, or not there"))  # fmt: skip
    return handles
