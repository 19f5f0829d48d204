"""A schedule under noise: how many of its realizations take longer than a time."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..schedule import ScheduleResult
from ..slowdown import in_words
from . import style


def draw(result: ScheduleResult) -> Figure:
    """The share of realizations that takes longer; above it as slowdown."""
    figure, axes = style.new_figure([2.2], 1)
    panel, look = axes[0, 0], style.SERIES[0]
    times = np.sort(result.samples)
    share = 1 - np.arange(len(times)) / len(times)  # from a sample on: it and all later ones
    (line,) = panel.step(times, share, where="pre", color=look.color, linestyle=look.line,
                         label="with noise")  # fmt: skip
    mean = panel.axvline(times.mean(), color=look.color, linewidth=0.8, linestyle=":")
    panel.axvline(result.noise_free, color=style.GREY, linewidth=0.8)
    panel.set_yscale("log")
    panel.set_ylabel("share of realizations\nthat takes longer")
    panel.set_xlabel("run time")
    style.value_axis(panel, "s")
    handles = [
        line,
        Line2D([], [], color=mean.get_color(), linewidth=0.8, linestyle=":", label="mean"),
        Line2D([], [], color=style.GREY, linewidth=0.8, label="without noise"),
    ]
    noise = "; ".join(map(in_words, result.noise)) or "none"
    told = [
        f"network: {in_words(result.network)}",
        f"noise: {noise}",
        f"{len(times):,} realizations, seed {result.seed}; slowdown {result.slowdown():.4g}",
    ]
    style.finish(figure, f"{result.schedule.name}: {result.schedule.summary()}", told, handles)
    return figure
