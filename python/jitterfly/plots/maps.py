"""Heat maps over two axes of a study, as in MS12: colour bar, numbers, marks.

`draw_map` draws the cells of any heat map: colours, numbers and marks.
"""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from ..results import Results
from ..results.figures import axis_title, evenly, number_axes, shown_names
from ..results.results import WIDE, Grid, grids_of_maps
from ..results.tables import short
from ..studies import Study
from . import style
from .style import wrapped

COLOURS = "cividis"  # one ramp of lightness: the same order in a grey print
HATCH = "////"
_NARROW = 0.3  # colours that span less are of values that are nearly constant: the title says so
_MIN_SPAN = 0.01


def draw_map(
    axes: Axes,
    values: Any,
    norm: Normalize,
    *,
    hatched: Any = None,
    marked: Any = None,
    numbers: bool = True,
    texts: Any = None,
    colours: str = COLOURS,
    font: float = 6.0,
) -> None:
    """Draw cells in colour, with their numbers unless they are too small; NaN stays blank.

    Parameters
    ----------
    values : Any
        Shape (y, x), the first row at the bottom.
    hatched, marked : array of bool
        Same shape: too uncertain to be told; target not met.
    texts : Any
        Same shape: in place of the numbers themselves.
    colours : str
        Name of the ramp.
    font : float
        Size of the numbers.
    """
    values = np.asarray(values, dtype=float)
    none = np.zeros(values.shape, dtype=bool)
    hatched, marked = (none if some is None else some for some in (hatched, marked))
    ramp = mpl.colormaps[colours]
    colour = np.ma.masked_invalid(values)
    axes.imshow(colour, norm=norm, cmap=ramp, origin="lower",
                aspect="auto", interpolation="nearest")  # fmt: skip
    style.bare(axes)
    shades = ramp(norm(colour))
    shades = np.where(shades[..., 3:] > 0, shades[..., :3], 1.0)  # what has no colour is white
    dark = style.is_dark(shades)
    known = np.isfinite(values)
    for ink, where in (("white", known & dark), ("black", known & ~dark)):
        _hatch(axes, where & hatched, ink)
        row, column = np.nonzero(where & marked)
        axes.plot(column + 0.36, row + 0.34, ".", color=ink, markersize=2.6 if numbers else 0.8)
        for at in zip(*np.nonzero(where), strict=True) if numbers else ():
            text = shown(values[at], norm) if texts is None else texts[at]
            number = axes.text(at[1], at[0] - 0.03, text, ha="center", va="center", fontsize=font,
                               color=ink)  # fmt: skip
            number.set_in_layout(False)  # it is inside, and to measure each takes long
            if hatched[at]:  # keeps the hatches off; it is drawn as a path, which takes long, too
                around = withStroke(linewidth=1.6, foreground=shades[at])
                number.set_path_effects([around])


def shown(value: float, norm: Normalize) -> str:
    """A value in its cell: one digit more near 1, and where all are within a factor of two."""
    narrow = isinstance(norm, LogNorm) and float(norm.vmax or 0) < 2 * float(norm.vmin or 0)
    return f"{value:.3g}" if narrow or 0.95 <= value < 2 else short(value)


def colour_bar(axes: Axes, norm: Normalize, height: float, *, colours: str = COLOURS) -> None:
    """Draw a colour bar beside a map of this many inches."""
    figure = axes.figure
    bar = figure.colorbar(
        mpl.cm.ScalarMappable(norm, colours),
        ax=axes,
        pad=0.015,
        fraction=0.05,
        aspect=max(20.0, height / 0.14),
    )
    bar.outline.set_visible(False)
    if isinstance(norm, LogNorm):
        low, high = (float(end or 1.0) for end in (norm.vmin, norm.vmax))
        bar.locator = FixedLocator(style.bar_ticks(low, high, 0.9 * height))
    else:  # of T, whole numbers; so are others where there are enough of them
        bar.locator = MaxNLocator(max(1, min(int(height / 0.25), 8)), integer=True)
    digits = 4 if _span(norm) < _NARROW else 3
    bar.formatter = FuncFormatter(lambda v, _: f"{v:.{digits}g}")
    bar.update_ticks()
    bar.ax.yaxis.set_minor_locator(NullLocator())
    bar.ax.tick_params(labelsize=8)


def _hatch(axes: Axes, where: Any, ink: str) -> None:
    """Hatch cells, all in one patch."""
    cells = np.argwhere(where)[:, None, ::-1]  # x, y
    if not len(cells):
        return
    corners = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5)])
    path = Path.make_compound_path_from_polys(cells + corners)
    edge = (*mpl.colors.to_rgb(ink), 0.55)
    axes.add_patch(PathPatch(path, fill=False, hatch=HATCH, linewidth=0, edgecolor=edge))


_MAX_ROWS = 6
_HIGHEST, _WIDEST = 9.4, 10.8  # inches of a map: 40 cells with their numbers
_ALL_HIGH = 30.0  # of all maps above each other


def draw_maps(results: Results, observable: str | None = None) -> Figure:
    """Draw a map per combination of the other axes; of several observables, a row for each."""
    known = shown_names(results.study, observable) if observable else results.columns
    names = known[:_MAX_ROWS] if observable else results.most_columns(_MAX_ROWS)
    x, y = map_axes(results.study)
    blocks = grids_of_maps(results, x, y, names)
    shown = evenly(blocks, style.MAX_COLUMNS)
    columns = len(shown)
    if columns == 1 and len(names) > 1:  # two maps side by side
        drawn = [(i // 2, i % 2, shown[0], name) for i, name in enumerate(names)]
        rows, columns = -(-len(names) // 2), 2
    else:
        drawn = [(i, j, block, name) for i, name in enumerate(names)
                 for j, block in enumerate(shown)]  # fmt: skip
        rows = len(names)
    # However many cells there are, a picture stays one that can be looked at.
    height = min(0.235 * len(shown[0].y_texts), _HIGHEST, _ALL_HIGH / rows)
    width = min(max(2.7, 0.27 * len(shown[0].x_texts)), _WIDEST)
    size = style.size_of((width + 1.3) * columns + 0.3, (height + 0.75) * rows + 1.1)
    width, height = (
        max((size[0] - 0.3) / columns - 1.3, 0.3),
        max((size[1] - 1.1) / rows - 0.75, 0.3),
    )
    figure = Figure(figsize=size)
    axes = figure.subplots(rows, columns, squeeze=False)
    titles = [wrapped(axis_title(results.study, axis), inches, 9, 2)
              for axis, inches in ((x, width), (y, max(height + 0.5, 1.2)))]  # fmt: skip
    for i, j, block, name in drawn:
        norm = _norm([other.maps[name].values for other in shown], block.maps[name].kind)
        _panel(axes[i, j], block, name, norm, (width, height))
        axes[i, j].set_xlabel(titles[0], parse_math=False)
        axes[i, j].set_ylabel(titles[1], parse_math=False)
    style.hide(axes.ravel()[len(drawn) :])
    subtitle = [
        results.counted, results.state, style.observables_left_out(names, known),
        style.count_left_out(len(shown), len(blocks), "settings"),
    ]  # fmt: skip
    style.finish(figure, results.title, subtitle, _handles(shown, names))
    return figure


def map_axes(study: Study) -> tuple[str, str]:
    """The axis across and the axis upwards: a ratio of times across, as in MS12; else the ranks."""
    first, second = number_axes(study)[:2]
    ratios = [axis.name for axis in study.axes if axis.rule]
    return (second, first) if second in ratios else (first, second)


def _panel(axes: Axes, grid: Grid, name: str, norm: Normalize, size: tuple[float, float]) -> None:
    """Draw a map of this many inches, with its colour bar."""
    one = grid.maps[name]
    title = f"{one.title}, {grid.label}" if grid.label else one.title
    if _span(norm) < _NARROW:
        title += f" (colours span {100 * _span(norm):.2g} %)"
    style.panel_title(axes, title)
    width, height = size
    numbers = height / len(grid.y_texts) >= 0.13 and width / len(grid.x_texts) >= 0.2
    draw_map(axes, one.values, norm, hatched=one.unsure, marked=one.unmet, numbers=numbers)
    place_ticks(axes, grid, size)
    colour_bar(axes, norm, height)


def place_ticks(axes: Axes, grid: Grid, size: tuple[float, float]) -> None:
    """Write as many of the values as have room beside a map of this many inches."""
    width, height = size
    letters = max(2 if "^" in text else len(text) for text in grid.x_texts)
    across = _every_nth(len(grid.x_texts), min(9, width / (0.075 * letters + 0.12)))
    up = _every_nth(len(grid.y_texts), height / 0.17)
    axes.set_xticks(across, [grid.x_texts[i] for i in across])
    axes.set_yticks(up, [grid.y_texts[i] for i in up])


def _every_nth(count: int, most: float) -> list[int]:
    """Choose every n-th of `count` positions: at most `most` of them, and at most 40."""
    return list(range(0, count, -(-count // max(1, min(int(most), 40)))))


def _span(norm: Normalize) -> float:
    """The share by which the last colour's value exceeds the first one's; infinite for T from 0."""
    low, high = float(norm.vmin or 0), float(norm.vmax or 0)
    return high / low - 1 if isinstance(norm, LogNorm) else np.inf


def _norm(values: list[np.ndarray], kind: str) -> Normalize:
    """The colours shared by all maps of one observable; ratios start at 1.

    They are linear, and their ends hold 0, for T and where a value is at or below 0.
    """
    known = np.concatenate([one[np.isfinite(one)] for one in values])
    low, high = (known.min(), known.max()) if len(known) else (1.0, 10.0)
    if kind == "T" or low <= 0:
        low, high = min(low, 0), max(high, 0)
        return Normalize(low, high if high > low else 1)
    if kind in ("slowdown", "gain"):
        low = min(low, 1.0)
    return LogNorm(low, max(high, (1 + _MIN_SPAN) * low))


def _handles(shown: list[Grid], names: list[str]) -> list[Any]:
    """Return the legend of the marks that stand in any of the maps."""
    handles: list[Any] = []
    maps = [grid.maps[name] for grid in shown for name in names]
    if any(one.unsure.any() for one in maps):
        text = f"uncertain: interval wider than ± {100 * WIDE:.0f} %, or a gain that may be 1"
        handles.append(hatched_patch(text))
    if any(one.unmet.any() for one in maps):
        handles.append(Line2D([], [], color=style.INK, marker=".", markersize=3, linestyle="none",
                              label="target of precision not met"))  # fmt: skip
    if any(np.isnan(one.values).any() for one in maps):
        handles.append(blank_patch("not run yet, or not there"))
    return handles


def hatched_patch(label: str, hatch: str = HATCH) -> Patch:
    """The entry of hatched cells in a legend."""
    return Patch(facecolor="white", edgecolor=style.INK, hatch=hatch, linewidth=0.4, label=label)


def blank_patch(label: str) -> Patch:
    """The entry of cells without a colour in a legend."""
    return Patch(facecolor="white", edgecolor="#bbbbbb", linewidth=0.6, label=label)
