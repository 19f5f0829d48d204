"""Map of the best algorithm over ranks and message sizes."""

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

from ..advice import Advice, AdviceCell, setting_in_words
from ..advice.ranking import (
    ALONE,
    BEST,
    CLOSE,
    EQUAL,
    NEAR,
    NOBODY,
    NOT_RUN,
    OPEN,
    PERHAPS,
    SLOWER,
    TOO_SLOW,
)
from ..answer import SECONDS, show
from ..units import show_seconds, show_size
from . import maps, style

# Okabe and Ito's first; then others of different lightness. Numbers tell them apart, too.
_COLOURS = [look.color for look in style.SERIES[:5]] + [
    "#D55E00", "#F0E442", "#882255", "#44AA99", "#999933", "#332288", "#DDCC77", "#AA4499",
]  # fmt: skip
_NO_WINNER = "white"
_HATCHES = {EQUAL: "..", NEAR: "oo", ALONE: "++"}
_RAMP = "viridis"  # no grey in it, nor in the colours above: grey would mean two things
_ROOM = 0.14  # inches, of a row with texts
_SHORT, _CLOSE = 10.0, 1.1  # ratios from, and up to, which there are fewer digits, and more
_MARKS = {NOBODY: "×", NOT_RUN: "–"}


_STATES = {  # colour and meaning
    BEST: (style.BLUE, "the best"),
    CLOSE: (style.GREEN, "equal for practical purposes"),
    PERHAPS: (style.ORANGE, "may be the best"),
    SLOWER: ("#D55E00", "slower"),
    TOO_SLOW: (style.GREY, "at least: slower without noise than another with it, not simulated"),
}


def draw(advice: Advice) -> Figure:
    """The map, and beside it how much slower the runner-up is; of one cell, the intervals."""
    known = [cell for cell in advice.cells if cell.ranking]
    if not known:
        raise ValueError("nothing to draw: no cell has a ranking yet")
    if len(advice.cells) == 1:
        return _draw_cell(advice, known[0])
    question = advice.question
    shape = len(question.message_bytes), len(question.ranks)
    # Few cells are large, and so are their texts: a page shows the picture smaller than it is.
    wide, high = max(0.5, 3.0 / shape[1]), max(0.3, min(0.5, 1.5 / shape[0]))
    width, height = max(3.0, wide * shape[1]), max(0.9, high * shape[0])
    font = 9.0 if wide >= 0.8 and high >= 0.4 else 7.0
    figure = Figure(figsize=(2 * width + 3.1, height + 2.3))
    axes = figure.subplots(1, 2, squeeze=False)[0]
    names = [one.name for one in question.chosen()]
    grid = np.array(advice.cells, dtype=object).reshape(shape)
    style.panel_title(axes[0], f"the smallest {question.statistic}")
    shown = _winners(axes[0], grid, names, (width / shape[1], height / shape[0]), font)
    style.panel_title(axes[1], f"the next slower one's {question.statistic}: times the smallest")
    marks = _runners_up(axes[1], grid, height, font if height / shape[0] >= _ROOM else 0.0)
    for panel in axes:
        step = -(-shape[1] * 0.5 // width) if shape[1] else 1
        across = range(0, shape[1], max(int(step), 1))
        panel.set_xticks(list(across), [_ranks(question.ranks[i]) for i in across])
        panel.set_yticks(range(shape[0]), [show_size(size) for size in question.message_bytes])
        panel.set_xlabel("ranks")
    axes[0].set_ylabel("message")
    subtitle = [*setting_in_words(question), *advice.subtitle()]
    style.finish(figure, advice.title(), subtitle, _handles(shown, names, advice.cells) + marks)
    return figure


def _ranks(count: int) -> str:
    """Return ranks for a tick: as a power of two where they are many."""
    power = count.bit_length() - 1
    return f"$2^{{{power}}}$" if count == 1 << power and power > 13 else f"{count:,}"


def _colour(name: str, names: Sequence[str]) -> str:
    """Return the colour of an algorithm, by its place among `names`."""
    return _COLOURS[names.index(name) % len(_COLOURS)]


def _winners(
    axes: Axes, grid: Any, names: list[str], size: tuple[float, float], font: float
) -> list[str]:
    """Draw cells in the colour of their best, with its number; return the names that occur."""
    rows, columns = grid.shape
    axes.set_xlim(-0.5, columns - 0.5)
    axes.set_ylim(-0.5, rows - 0.5)
    style.bare(axes)
    shown = []
    for at, cell in np.ndenumerate(grid):
        colour, hatch, text = _NO_WINNER, "", ""
        if cell.best:
            colour, text = _colour(cell.best, names), str(names.index(cell.best) + 1)
            hatch = _HATCHES.get(cell.outcome, "")
            shown.append(cell.best)
        elif cell.outcome == OPEN:
            among = sorted(names.index(name) + 1 for name in cell.among)
            hatch, text = maps.HATCH, "·".join(map(str, among))
            text = text if len(text) * 0.01 * font < size[0] else f"{len(among)} of them"
            shown += cell.among
        else:
            text = _MARKS[cell.outcome]
        ink = "white" if style.is_dark(to_rgb(colour)) else "black"
        edge = (*to_rgb(ink), 0.45)
        corner = (at[1] - 0.5, at[0] - 0.5)
        axes.add_patch(Rectangle(corner, 1, 1, facecolor=colour, edgecolor=edge, hatch=hatch,
                                 linewidth=0))  # fmt: skip
        line = "white" if colour != _NO_WINNER else "#dddddd"
        axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=line, linewidth=0.8))
        if size[1] >= _ROOM:
            axes.text(at[1], at[0], text, ha="center", va="center", color=ink, fontsize=font,
                      bbox={"facecolor": colour, "edgecolor": "none", "pad": 0.6})  # fmt: skip
    return [name for name in names if name in shown]


def _runners_up(axes: Axes, grid: Any, height: float, font: float) -> list[Any]:
    """Draw how many times as long the second takes, with a colour bar; return the legend.

    `font`: of the numbers; 0 leaves them out.
    """
    ratio = np.full(grid.shape, np.nan)
    unsure = np.zeros(grid.shape, dtype=bool)
    bound = np.zeros(grid.shape, dtype=bool)
    for at, cell in np.ndenumerate(grid):
        second = cell.runner_up
        if second is not None and second.versus == cell.ranking[0].name:  # else it is of another
            bound[at] = second.is_bound
            ratio[at] = float(second.ratio.low if bound[at] else second.ratio.value)
            unsure[at] = second.state in (CLOSE, PERHAPS)
    finite = ratio[np.isfinite(ratio)]
    ratio[np.isinf(ratio)] = finite.max(initial=1.0)
    norm = LogNorm(1.0, max(float(finite.max(initial=1.0)), 1.3))
    values = [_number(x, norm) for x in np.nan_to_num(ratio).flat]
    texts = np.array([f"> {x}" if more else x for x, more in zip(values, bound.flat, strict=True)])
    texts = texts.reshape(ratio.shape)
    maps.draw_map(axes, ratio, norm, hatched=unsure, texts=texts, colours=_RAMP, numbers=font > 0,
                  font=max(font - 1, 6.0))  # fmt: skip
    if finite.max(initial=1.0) > 1:  # else there is nothing to tell apart
        maps.colour_bar(axes, norm, height, colours=_RAMP)
    style.bare(axes)
    marks: list[Any] = []
    if np.isnan(ratio).any():
        label = "white, right: the next one is not compared with the first"
        marks.append(maps.blank_patch(label))
    if unsure.any():
        marks.append(maps.hatched_patch("hatched, right: it may be the best, or equals it"))
    if bound.any():
        marks.append(_legend_letter(">", "at least: a bound, it was not simulated"))
    return marks


def _number(ratio: float, norm: LogNorm) -> str:
    """A ratio with as many digits as show by how much it differs from 1."""
    if ratio >= _SHORT:
        return maps.shown(ratio, norm)
    return f"{ratio:.{4 if ratio < _CLOSE else 3}g}"


def _handles(shown: list[str], names: list[str], found: Sequence[AdviceCell]) -> list[Any]:
    """Return the legend: the algorithms that are shown, and the marks of outcomes."""
    handles: list[Any] = [
        Patch(facecolor=_colour(name, names), label=f"{names.index(name) + 1}  {name}")
        for name in shown
    ]
    outcomes = {cell.outcome for cell in found}
    words = {
        EQUAL: maps.hatched_patch("dotted: others equal it for practical purposes",
                                  _HATCHES[EQUAL]),
        NEAR: maps.hatched_patch("circles: at most the tolerance slower than any", _HATCHES[NEAR]),
        ALONE: maps.hatched_patch("crosses: compared with none", _HATCHES[ALONE]),
        OPEN: maps.hatched_patch("hatched, left: no winner among these"),
        NOBODY: _legend_letter(_MARKS[NOBODY], "no candidate fits"),
        NOT_RUN: _legend_letter(_MARKS[NOT_RUN], "nothing known yet"),
    }  # fmt: skip
    return handles + [handle for outcome, handle in words.items() if outcome in outcomes]


def _legend_letter(letter: str, label: str) -> Line2D:
    return Line2D([], [], linestyle="", marker=f"${letter}$", color=style.INK, markersize=5,
                  label=label)  # fmt: skip


def _draw_cell(advice: Advice, cell: AdviceCell) -> Figure:
    """The candidates of one cell: how many times the first, with their intervals."""
    first = cell.ranking[0].name
    double = any(one.versus not in ("", first) for one in cell.ranking)  # rows of two lines
    figure = Figure(figsize=(7.0, (0.42 if double else 0.3) * len(cell.ranking) + 1.8))
    axes = figure.subplots()
    used, labels = {}, []
    endless: list[tuple[int, float, bool, dict[str, Any]]] = []  # row, from where, to the right?
    for row, one in enumerate(cell.ranking):
        value, low, high = (float(x) for x in (one.ratio.value, one.ratio.low, one.ratio.high))
        colour = _STATES[one.state][0]
        used[one.state] = colour
        labels.append(one.name if one.versus in ("", first) else f"{one.name}\n(to {one.versus})")
        if one.is_bound:
            axes.plot([low], [row], ">", color=colour, markersize=7, fillstyle="none")
            endless.append((row, low, True, {"color": colour, "linestyle": ":", "linewidth": 1}))
            continue
        ends = [low if low > 0 else value, high if math.isfinite(high) else value]
        axes.plot(ends, [row, row], color=colour, linewidth=1.6)
        axes.plot([value], [row], "D", color=colour, markersize=4)
        for right, end in ((False, low > 0), (True, math.isfinite(high))):
            if not end:
                arrow = {"color": colour, "linewidth": 1.6, "marker": "<>"[right], "markersize": 7}
                endless.append((row, value, right, arrow))
    axes.axvline(1.0, color=style.INK, linewidth=0.8)
    axes.set_yticks(range(len(cell.ranking)), labels)
    axes.invert_yaxis()
    style.value_axis(axes, "")
    # What has no end goes to that of the axis, which the others set.
    limits = axes.get_xlim()
    for row, begin, right, look in endless:
        axes.plot([begin, limits[right]], [row, row], markevery=[1], clip_on=False, **look)
    axes.set_xlim(limits)
    statistic = advice.question.statistic
    axes.set_xlabel(f"{statistic}, times that of {first}", parse_math=False)
    handles = [_state_handle(state) for state in _STATES if state in used]
    if any(one.ratio.too_small and not one.is_bound for one in cell.ranking):
        handles.append(Line2D([], [], color=style.INK, marker=">", markersize=6,
                              label="arrow: no end is known there"))  # fmt: skip
    fastest = f"{show(cell.ranking[0].value, SECONDS)}, "
    noise_free = show_seconds(cell.ranking[0].noise_free, 4)
    times = f"{first}: {statistic} {fastest}without noise {noise_free}"
    style.finish(
        figure,
        advice.title(),
        [*setting_in_words(advice.question), times, *advice.subtitle()],
        handles,
    )
    return figure


def _state_handle(state: str) -> Line2D:
    """Return the entry of a state in the legend."""
    colour, label = _STATES[state]
    bound = state == TOO_SLOW
    return Line2D([], [], color=colour, marker=">" if bound else "D", markersize=6 if bound else 4,
                  fillstyle="none" if bound else "full", linestyle="" if bound else "-",
                  label=label)  # fmt: skip
