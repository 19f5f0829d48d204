"""Figures of a schedule under noise: tail of run times, times of iterations."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from ..schedule import ScheduleResult
from ..schedule.result import machine_in_words
from ..slowdown import part_in_words
from ..units import from_ticks
from . import style


def draw(result: ScheduleResult) -> Figure:
    """The share of realizations that takes longer; below it the time between marks."""
    rows = [2.2, 1.8] if result.marks else [2.2]
    figure, axes = style.new_figure(rows, 1, sharex=False)
    panel, look, samples = axes[0, 0], style.SERIES[0], result.samples
    line = style.draw_later_share(panel, samples, look, "with noise")
    mean = panel.axvline(samples.mean(), color=look.color, linewidth=0.8, linestyle=":")
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
    if result.marks:
        handles += _draw_iterations(axes[1, 0], result)
    noise = "; ".join(map(part_in_words, result.noise)) or "none"
    slowdown = f"slowdown {result.slowdown():.4g}"
    if result.order_matters:
        slowdown += " (in the order of arrival it is another one)"
    told = [
        *machine_in_words(result.network, result.speed),
        f"noise: {noise}",
        f"{len(samples):,} realizations, seed {result.seed}; {slowdown}",
    ]
    style.finish(figure, f"{result.schedule.name}: {result.schedule.summary()}", told, handles)
    return figure


def _draw_iterations(panel: Axes, result: ScheduleResult) -> list[Any]:
    """The time before each mark: mean, the middle 90 % of realizations, and without noise."""
    times = from_ticks(result.iteration_ticks)
    edges = np.arange(len(result.marks) + 1) + 0.5  # all marks are as wide, the outer ones too
    low, high = np.quantile(times, (0.05, 0.95), axis=0)

    def stairs(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.append(values, values[-1])

    look = style.SERIES[0]
    band = panel.fill_between(
        edges, stairs(low), stairs(high), step="post", color=look.color, alpha=0.25, linewidth=0,
        label="time before a mark: 5-95 % of realizations",
    )  # fmt: skip
    (mean,) = panel.step(edges, stairs(times.mean(axis=0)), where="post", color=look.color,
                         label="its mean")  # fmt: skip
    quiet = np.diff(from_ticks(result.mark_ticks_noise_free), prepend=0.0)
    panel.step(edges, stairs(quiet), where="post", color=style.GREY, linewidth=0.8)  # fmt: skip
    panel.set_xlim(edges[0], edges[-1])
    numbers = tuple(str(i + 1) for i in range(len(result.marks)))
    if result.marks == numbers:
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
        panel.set_xlabel("mark")
    else:
        style.name_axis(panel, result.marks, "mark")
    panel.set_ylabel("time since the\nmark before it")
    style.unit_axis(panel, "s")
    return [band, mean]
