"""The realizations of one simulation: how many of them are later than a time."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..simulate import Result
from ..slowdown import in_words
from ..units import show_size
from . import style


def draw(result: Result) -> Figure:
    """The share of realizations that is later than a time, a line for each observation.

    Of more observations than there are colours, the first and the last and some between.
    """
    names = result.observations
    chosen = np.unique(np.linspace(0, len(names) - 1, len(style.SERIES)).round().astype(int))
    figure, axes = style.new_figure([2.2], 1)
    handles = [_line(axes[0, 0], result, column, look)
               for column, look in zip(chosen, style.SERIES, strict=False)]  # fmt: skip
    quiet = np.unique(result.noise_free[chosen])
    for time in quiet:
        axes[0, 0].axvline(time, color=style.GREY, linewidth=0.8)
    handles.append(Line2D([], [], color=style.GREY, linewidth=0.8, label="without noise"))
    axes[0, 0].set_yscale("log")
    axes[0, 0].set_ylabel("share of realizations that is later")
    axes[0, 0].set_xlabel("time")
    style.value_axis(axes[0, 0], "s")
    subtitle = [
        f"{len(result.ticks):,} realizations, seed {result.seed}",
        style.left_out(len(chosen), len(names), "observations"),
    ]
    case = result.case
    size = show_size(case.message_bytes)
    title = f"{case.algorithm.kind} of {size} on {case.ranks:,} ranks"
    noise = "; ".join(map(in_words, case.noise)) or "none"
    told = [f"network: {in_words(case.network)}", f"noise: {noise}", *subtitle]
    style.finish(figure, title, told, handles)
    return figure


def _line(axes: Axes, result: Result, column: int, look: style.Look) -> Line2D:
    times = np.sort(result.samples[:, column])
    share = 1 - np.arange(len(times)) / len(times)  # from a sample on: it and all later ones
    (line,) = axes.step(times, share, where="pre", color=look.color, linestyle=look.line,
                        label=result.observations[column])  # fmt: skip
    return line
