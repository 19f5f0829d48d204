"""What one published point is a draw of: means of 30 runs next to the mean of all realizations."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..results import Results
from ..results.figures import LEAST_MEANS, FewRunMeans, few_runs
from ..results.main_numbers import RUNS
from . import style
from .style import wrapped

_MOST_DOTS = 2000


def draw(results: Results, observable: str | None = None) -> Figure:
    """A strip for each cell: a dot for each 30-run mean, and below them our interval."""
    cells = few_runs(results, observable)
    if not cells:
        least = LEAST_MEANS * RUNS
        raise results.study.error(f"figure 'few_runs' needs cells with {least} samples or more")
    high = 1.45 if any("\n" in _text(cell) for cell in cells) else 0.85
    figure = Figure(figsize=(7.6, high * len(cells) + 1.8))
    axes = figure.subplots()
    for row, cell in enumerate(reversed(cells)):
        _strip(axes, row, cell)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_ylim(-0.35, len(cells) - 0.1)
    if len({cell.unit for cell in cells}) == 1:
        style.value_axis(axes, cells[0].unit)
    axes.set_xlabel("mean")
    handles = [
        Line2D([], [], color=style.BLUE, marker="o", markersize=3, linestyle="none",
               label=f"a mean of {RUNS} runs, as published"),
        Line2D([], [], color="black", marker="D", markersize=4, linewidth=2,
               label="mean of all realizations, 95 % interval"),
    ]  # fmt: skip
    count = len({cell.cell for cell in cells})
    left = style.left_out(count, len(results.cells), "cells, where these means scatter most")
    text = [left, f"on the right: the largest of the {RUNS}-run means over the smallest"]
    style.finish(figure, results.title, text, handles)
    return figure


def _strip(axes: Axes, row: int, cell: FewRunMeans) -> None:
    means = cell.means[:_MOST_DOTS]
    # Dots are spread out in turn, not at random: the same picture every time.
    offsets = 0.06 + 0.42 * ((np.arange(len(means)) * 0.6180339887) % 1.0)
    axes.plot(means, row + offsets, "o", color=style.BLUE, markersize=2.2, alpha=0.55,
              markeredgewidth=0)  # fmt: skip
    mean = cell.mean
    axes.errorbar(
        [float(mean.value)], [row - 0.12], xerr=[[float(mean.value - mean.low)],
        [float(mean.high - mean.value)]], color="black", marker="D", markersize=4, elinewidth=2,
        capsize=3,
    )  # fmt: skip
    across = axes.get_yaxis_transform()
    axes.text(
        0.0,
        row + 0.595,
        _text(cell),
        transform=across,
        fontsize=7.5,
        va="center",
        parse_math=False,
    )
    axes.text(1.0, row + 0.27, f"{cell.apart:.2g}×", transform=across, fontsize=9, va="center")
    axes.axhline(row - 0.3, color="#dddddd", linewidth=0.6)


def _text(cell: FewRunMeans) -> str:
    name = cell.observable.replace("_", " ")
    text = f"{name}, {cell.cell}: {len(cell.means):,} means of {RUNS} runs, "
    text += f"{cell.realizations:,} in all"
    return wrapped(text, 6.8, 7.5, 2)
