"""Which algorithm wins where: a map over ranks and message sizes, as tables of tuning are made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from ..advice import Advice, Cell
from ..advice.found import BEST, CLOSE, EQUAL, NOBODY, NOT_RUN, OPEN, PERHAPS, TOO_SLOW
from ..advice.tell import sure
from ..units import show_size
from . import cells, style, ticks

# Okabe and Ito's first; then others of different lightness. Numbers tell them apart, too.
_COLOURS = [look.color for look in style.SERIES[:5]] + [
    "#D55E00", "#F0E442", "#882255", "#44AA99", "#999933", "#332288", "#DDCC77", "#AA4499",
]  # fmt: skip
_NOBODY = "#eeeeee"
_EQUAL_HATCH = ".."


def draw(advice: Advice) -> Figure:
    """The map, and beside it how much slower the runner-up is; of one cell, the intervals."""
    known = [cell for cell in advice.cells if cell.ranking]
    if len(advice.cells) == 1:
        return _one(advice, known[0])
    question = advice.question
    shape = len(question.message_bytes), len(question.ranks)
    width, height = max(3.0, 0.5 * shape[1]), max(0.9, 0.3 * shape[0])
    figure = Figure(figsize=(2 * width + 2.6, height + 1.9))
    axes = figure.subplots(1, 2, squeeze=False)[0]
    names = [one.name for one in question.chosen()]
    grid = np.array(advice.cells, dtype=object).reshape(shape)
    style.panel_title(axes[0], f"the smallest {question.statistic}")
    shown = _winners(axes[0], grid, names, (width / shape[1], height / shape[0]))
    style.panel_title(axes[1], "the next one that does not equal it: times the best")
    _runners_up(axes[1], grid)
    for panel in axes:
        step = -(-shape[1] * 0.5 // width) if shape[1] else 1
        across = range(0, shape[1], max(int(step), 1))
        panel.set_xticks(list(across), [_ranks(question.ranks[i]) for i in across])
        panel.set_yticks(range(shape[0]), [show_size(size) for size in question.message_bytes])
        panel.set_xlabel("ranks")
    axes[0].set_ylabel("message")
    subtitle = [advice.summary(), *sure(advice)]
    style.finish(figure, advice.title(), subtitle, _handles(shown, names, advice.cells))
    return figure


def _ranks(count: int) -> str:
    power = count.bit_length() - 1
    return f"$2^{{{power}}}$" if count == 1 << power and power > 13 else str(count)


def _colour(name: str, names: Sequence[str]) -> str:
    return _COLOURS[names.index(name) % len(_COLOURS)]


def _winners(axes: Axes, grid: Any, names: list[str], size: tuple[float, float]) -> list[str]:
    """Cells in the colour of their best, with its number; the names that occur."""
    rows, columns = grid.shape
    axes.set_xlim(-0.5, columns - 0.5)
    axes.set_ylim(-0.5, rows - 0.5)
    _plain(axes)
    shown = []
    for at, cell in np.ndenumerate(grid):
        colour, hatch, text = _NOBODY, "", ""
        if cell.best:
            colour, text = _colour(cell.best, names), str(names.index(cell.best) + 1)
            hatch = _EQUAL_HATCH if cell.outcome == EQUAL else ""
            shown.append(cell.best)
        elif cell.outcome == OPEN:
            among = sorted(names.index(name) + 1 for name in cell.among)
            hatch, text = cells.HATCH, "·".join(map(str, among))
            text = text if len(text) * 0.07 < size[0] else f"{len(among)} of them"
            shown += cell.among
        else:
            colour, text = "white", "–"
        dark = np.dot(to_rgb(colour), (0.2126, 0.7152, 0.0722)) < 0.45
        ink = "white" if dark else "black"
        edge = (*to_rgb(ink), 0.45)
        corner = (at[1] - 0.5, at[0] - 0.5)
        axes.add_patch(Rectangle(corner, 1, 1, facecolor=colour, edgecolor=edge, hatch=hatch,
                                 linewidth=0))  # fmt: skip
        axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor="white", linewidth=0.8))
        if size[1] >= 0.14:
            axes.text(at[1], at[0], text, ha="center", va="center", color=ink, fontsize=7,
                      bbox={"facecolor": colour, "edgecolor": "none", "pad": 0.6})  # fmt: skip
    return [name for name in names if name in shown]


def _runners_up(axes: Axes, grid: Any) -> None:
    """How many times as long the second takes; hatched where it may be the best, or equals it."""
    ratio = np.full(grid.shape, np.nan)
    unsure = np.zeros(grid.shape, dtype=bool)
    for at, cell in np.ndenumerate(grid):
        second = cell.runner_up
        if second is not None:
            ratio[at] = float(second.ratio.value)
            unsure[at] = second.state in (CLOSE, PERHAPS)
    finite = ratio[np.isfinite(ratio)]
    ratio[np.isinf(ratio)] = finite.max(initial=1.0)
    norm = LogNorm(1.0, max(float(finite.max(initial=1.0)), 1.3))
    cells.draw_map(axes, ratio, norm, hatched=unsure)
    _plain(axes)


def _plain(axes: Axes) -> None:
    axes.grid(visible=False)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _handles(shown: list[str], names: list[str], found: Sequence[Cell]) -> list[Any]:
    handles: list[Any] = [
        Patch(facecolor=_colour(name, names), label=f"{names.index(name) + 1}  {name}")
        for name in shown
    ]
    outcomes = {cell.outcome for cell in found}
    marks = {
        EQUAL: (_EQUAL_HATCH, "white", "dotted: others equal it for practical purposes"),
        OPEN: (cells.HATCH, _NOBODY, "grey: no winner among these"),
    }
    for outcome, (hatch, face, label) in marks.items():
        if outcome in outcomes:
            handles.append(Patch(facecolor=face, edgecolor=style.INK, hatch=hatch, linewidth=0.4,
                                 label=label))  # fmt: skip
    if outcomes & {NOBODY, NOT_RUN}:
        handles.append(Patch(facecolor="white", edgecolor="#bbbbbb", linewidth=0.6,
                             label="no candidate fits, or not run yet"))  # fmt: skip
    return handles


def _one(advice: Advice, cell: Cell) -> Figure:
    """The candidates of one cell: how many times the best, with their intervals."""
    figure = Figure(figsize=(7.0, 0.3 * len(cell.ranking) + 1.8))
    axes = figure.subplots()
    looks = {BEST: style.BLUE, CLOSE: style.GREEN, PERHAPS: style.ORANGE}
    used = {}
    for row, one in enumerate(cell.ranking):
        value, low, high = (float(x) for x in (one.ratio.value, one.ratio.low, one.ratio.high))
        colour = looks.get(one.state, style.GREY)
        used[one.state] = colour
        open_end = not math.isfinite(high)
        axes.plot([low, value if open_end else high], [row, row], color=colour, linewidth=1.6)
        axes.plot([value], [row], ">" if open_end else "D", color=colour,
                  markersize=7 if open_end else 4)  # fmt: skip
    axes.axvline(1.0, color=style.INK, linewidth=0.8)
    axes.set_yticks(range(len(cell.ranking)), [one.name for one in cell.ranking])
    axes.invert_yaxis()
    ticks.value_axis(axes, "")
    axes.set_xlabel(f"{advice.question.statistic}, times the best")
    words = {
        BEST: "the best",
        CLOSE: "equal for practical purposes",
        PERHAPS: "may be the best",
        TOO_SLOW: "slower without noise than the best with it: at least",
    }
    handles = [Line2D([], [], color=colour, marker=">" if state == TOO_SLOW else "D", markersize=5,
                      label=words.get(state, state)) for state, colour in used.items()]  # fmt: skip
    style.finish(figure, advice.title(), sure(advice), handles)
    return figure
