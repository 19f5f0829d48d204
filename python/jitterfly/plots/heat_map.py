"""The cells of a heat map: colours, numbers and marks."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from ..results.number_text import short
from . import ticks

COLOURS = "cividis"  # one ramp of lightness: the same order in a grey print
HATCH = "////"


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
) -> None:
    """Cells in colour, with their numbers unless they are too small; NaN stays blank.

    Args:
        values: shape (y, x), the first row at the bottom.
        hatched, marked: bool, same shape: too uncertain to be told; target not met.
        texts: same shape: in place of the numbers themselves.
        colours: name of the ramp.
    """
    values = np.asarray(values, dtype=float)
    none = np.zeros(values.shape, dtype=bool)
    hatched, marked = (none if some is None else some for some in (hatched, marked))
    ramp = mpl.colormaps[colours]
    axes.imshow(np.ma.masked_invalid(values), norm=norm, cmap=ramp, origin="lower",
                aspect="auto", interpolation="nearest")  # fmt: skip
    axes.grid(visible=False)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    shades = ramp(norm(np.nan_to_num(values)))[..., :3]
    dark = shades @ (0.2126, 0.7152, 0.0722) < 0.45
    known = np.isfinite(values)
    for ink, where in (("white", known & dark), ("black", known & ~dark)):
        _hatch(axes, where & hatched, ink)
        row, column = np.nonzero(where & marked)
        axes.plot(column + 0.36, row + 0.34, ".", color=ink, markersize=2.6 if numbers else 0.8)
        for at in zip(*np.nonzero(where), strict=True) if numbers else ():
            around = withStroke(linewidth=1.6, foreground=shades[at])  # keeps hatches off
            text = shown(values[at], norm) if texts is None else texts[at]
            axes.text(at[1], at[0] - 0.03, text, ha="center", va="center", fontsize=6,
                      color=ink, path_effects=[around])  # fmt: skip


def shown(value: float, norm: Normalize) -> str:
    """A value in its cell: one digit more where all are within a factor of two."""
    narrow = isinstance(norm, LogNorm) and float(norm.vmax or 0) < 2 * float(norm.vmin or 0)
    return f"{value:.3g}" if narrow else short(value)


def colour_bar(axes: Axes, norm: Normalize, height: float, *, colours: str = COLOURS) -> None:
    """What the colours of a map of so many inches mean, beside it."""
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
        bar.locator = FixedLocator(ticks.bar_ticks(low, high, 0.9 * height))
    else:  # of T, whole numbers
        bar.locator = MaxNLocator(max(1, min(int(height / 0.25), 8)), integer=True)
    bar.formatter = FuncFormatter(lambda v, _: f"{v:.3g}")
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
