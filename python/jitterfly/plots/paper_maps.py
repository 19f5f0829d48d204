"""MS12's maps of slowdown in the range of the paper's own axes, and clipped where it clips them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ..claims.ms12 import AXES_FIG13, AXIS_FIG8, CLIP_LEVELS
from ..results import CellResults, Results
from ..results.figures import Grid, grids, named
from ..results.study_axes import axis_title, evenly
from . import style
from .maps import HATCH, colour_bar, draw_map, map_axes, place_ticks


class _Range(NamedTuple):
    """What one of the paper's maps shows, from `low` to `high`."""

    what: str
    low: float
    high: float


def draw(results: Results, observable: str | None = None) -> Figure:
    """A column for each setting; a row for the axis, and where the paper clips, one for that."""
    name = observable or named(results.study, "slowdown")[0]
    x, y = map_axes(results.study)
    blocks = evenly(grids(results, x, y, [name]), style.MOST_COLUMNS)
    first = {results.label(cell, without=(x, y)): cell for cell in reversed(results.cells)}
    rows = [_ranges(first[block.label], results.study.claims) for block in blocks]
    count = max(map(len, rows))
    height, width = 0.235 * len(blocks[0].y), max(2.7, 0.27 * len(blocks[0].x))
    size = (width + 1.3) * len(blocks) + 0.3, (height + 0.75) * count + 1.1
    figure = Figure(figsize=size)
    axes = figure.subplots(count, len(blocks), squeeze=False)
    beyond = False
    for column, (block, ranges) in enumerate(zip(blocks, rows, strict=True)):
        for row, shown in enumerate(ranges):
            one = axes[row, column]
            beyond |= _panel(one, block, name, shown, (width, height))
            one.set_xlabel(axis_title(results.study, x), parse_math=False)
            one.set_ylabel(axis_title(results.study, y), parse_math=False)
        for rest in axes[len(ranges) :, column]:
            rest.set_visible(False)
    handles = []
    if beyond:
        handles.append(Patch(facecolor="white", edgecolor=style.INK, hatch=HATCH,
                             linewidth=0.4, label="beyond the paper's range"))  # fmt: skip
    title = f"{results.title}: slowdown in the range of the paper's figures"
    style.finish(figure, title, [results.counted, results.state], handles)
    return figure


def _ranges(cell: CellResults, claims: tuple[str, ...]) -> list[_Range]:
    if "M3" in claims:
        return [_Range("Fig. 8", 0.0, AXIS_FIG8)]
    period = float(cell.first_case.noise[0].period)  # type: ignore[attr-defined]
    short = math.isclose(period, 1e-3)
    ends = [table[p] for table in (AXES_FIG13, CLIP_LEVELS) for p in table
            if math.isclose(p, period)]  # fmt: skip
    names = ("Fig. 13", "Fig. 14") if short else ("Fig. 17", "Fig. 18")
    lows = (1.0, 1.0) if short else (0.0, 1.0)
    return [_Range(*each) for each in zip(names, lows, ends, strict=True)]


def _panel(axes: Axes, grid: Grid, name: str, shown: _Range, size: tuple[float, float]) -> bool:
    """A map of so many inches; whether any of its values are beyond the range."""
    label = f", {grid.label}" if grid.label else ""
    style.panel_title(axes, f"{shown.what}: {shown.low:g} to {shown.high:g}{label}")
    norm = Normalize(shown.low, shown.high, clip=True)
    values = grid.values[name]
    over = np.nan_to_num(values) > shown.high
    draw_map(axes, values, norm, hatched=over)
    place_ticks(axes, grid, size)
    colour_bar(axes, norm, size[1])
    return bool(over.any())
