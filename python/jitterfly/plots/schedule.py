"""Figures of a schedule: tail of run times, times of iterations; heat map of its critical path.

The path itself is followed in cuda/schedule/critical_path.cpp.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..schedule import ScheduleExplanation, ScheduleResult
from ..schedule.result import machine_in_words
from ..slowdown import part_in_words
from ..units import from_ticks
from . import style


def draw(result: ScheduleResult) -> Figure:
    """The share of realizations that takes longer; below it the time between marks."""
    rows = [2.2, 1.8] if result.marks else [2.2]
    figure, axes = style.new_figure(rows, 1, sharex=False)
    panel, look, samples = axes[0, 0], style.SERIES[0], result.samples
    style.draw_later_share(panel, samples, look, "with noise")
    panel.axvline(samples.mean(), color=look.color, linewidth=0.8, linestyle=":", label="mean")
    panel.axvline(result.noise_free, color=style.GREY, linewidth=0.8, label="without noise")
    panel.set_yscale("log")
    panel.set_ylabel("share of realizations\nthat takes longer")
    panel.set_xlabel("run time")
    style.value_axis(panel, "s")
    if result.marks:
        _draw_iterations(axes[1, 0], result)
    noise = "; ".join(map(part_in_words, result.noise)) or "none"
    slowdown = f"slowdown {result.slowdown():.4g}"
    if result.order_matters:
        slowdown += " (in the order of arrival it is another one)"
    told = [
        *machine_in_words(result.network, result.speed),
        f"noise: {noise}",
        f"{len(samples):,} realizations, seed {result.seed}; {slowdown}",
    ]
    style.finish(figure, f"{result.schedule.name}: {result.schedule.summary()}", told)
    return figure


def _draw_iterations(panel: Axes, result: ScheduleResult) -> None:
    """Draw the time before each mark: mean, the middle 90 % of realizations, and without noise."""
    times = from_ticks(result.iteration_ticks)
    edges = np.arange(len(result.marks) + 1) + 0.5  # all marks are as wide, the outer ones too
    low, high = np.quantile(times, (0.05, 0.95), axis=0)

    def stairs(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.append(values, values[-1])

    look = style.SERIES[0]
    panel.fill_between(
        edges, stairs(low), stairs(high), step="post", color=look.color, alpha=0.25, linewidth=0,
        label="time before a mark: 5-95 % of realizations",
    )  # fmt: skip
    panel.step(edges, stairs(times.mean(axis=0)), where="post", color=look.color, label="its mean")
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


_TIME_BINS, _RANK_BINS = 480, 256
_NOISE = "#AAAAAA"


def draw_critical_path(found: ScheduleExplanation) -> Figure:
    """Draw ranks over the time without noise, colored by share; right of it their part of the path.

    Where several operations lie in a cell, the largest share counts.
    """
    figure = Figure(figsize=(9.2, 4.6))
    axes = figure.subplots(1, 2, sharey=True, gridspec_kw={"width_ratios": [3, 1]})
    _draw_map(figure, axes[0], found)
    _draw_ranks(axes[1], found)
    style.finish(figure, found.title(), found.subtitle())
    return figure


def _draw_map(figure: Figure, panel: Axes, found: ScheduleExplanation) -> None:
    ranks = len(found.by_rank)
    cells = np.full((min(ranks, _RANK_BINS), _TIME_BINS), np.nan)
    there = np.flatnonzero(found.on_path)
    shares = found.on_path[there] / len(found.ticks)
    begins = np.array(found.schedule._mapped.begins, dtype=np.int64)
    rows = (np.searchsorted(begins, there, side="right") - 1) * len(cells) // ranks
    times = from_ticks(found.noise_free_times()[there])
    end = float(from_ticks(found.on_time)) or 1.0
    first, last = (_bins(times[:, k], end) for k in (0, 1))
    order = np.argsort(shares, kind="stable")  # of several the largest is drawn last
    columns = zip(rows[order], first[order], last[order], shares[order], strict=True)
    for row, begin, until, share in columns:
        cells[row, begin : until + 1] = share
    image = panel.imshow(
        cells, aspect="auto", origin="lower", cmap="viridis_r", vmin=0,
        vmax=shares.max(initial=0) or 1,
        interpolation="nearest", extent=(0, end, -0.5, ranks - 0.5),
    )  # fmt: skip
    panel.grid(False)
    letters = max(len(str(ranks)) - 4, 0)  # beyond what has room beside the bar in any case
    bar = figure.colorbar(image, ax=panel, location="left", pad=0.12 + 0.014 * letters)
    bar.set_label("share of realizations\non whose critical path it is")
    panel.yaxis.set_major_locator(MaxNLocator(integer=True))
    panel.set_ylabel("rank")
    panel.set_xlabel("time without noise")
    style.value_axis(panel, "s", linear=True)


def _bins(times: npt.NDArray[np.float64], end: float) -> npt.NDArray[np.int64]:
    return np.minimum(times / end * _TIME_BINS, _TIME_BINS - 1).astype(np.int64)


def _draw_ranks(panel: Axes, found: ScheduleExplanation) -> None:
    """Draw the mean time of the path on each rank, or neighbouring ones, and its part of noise."""
    both = np.stack([found.rank_path_noise, found.rank_path_time], axis=1)
    begins, heights, means = style.parts_of_ranks(both, _RANK_BINS)
    noise, all_of_it = from_ticks(means).T
    look = style.SERIES[0]
    panel.barh(begins, all_of_it - noise, heights, align="edge", color=look.color, linewidth=0,
               label="of ranks: time on the critical path")  # fmt: skip
    panel.barh(begins, noise, heights, all_of_it - noise, align="edge", color=_NOISE, hatch="//",
               linewidth=0, edgecolor="white", label="of ranks: of it noise")  # fmt: skip
    panel.set_xlabel("mean time on the path")
    style.value_axis(panel, "s", linear=True)
