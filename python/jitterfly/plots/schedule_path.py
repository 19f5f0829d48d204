"""Heat map of a schedule's critical path: share of realizations for each rank and time.

The path itself is followed in cuda/schedule/critical_path.cpp.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from ..schedule import ScheduleExplanation
from ..units import from_ticks
from . import style

_TIME_BINS, _RANK_BINS = 480, 256
_NOISE = "#AAAAAA"


def draw(found: ScheduleExplanation) -> Figure:
    """Draw ranks over the time without noise, colored by share; right of it their part of the path.

    Where several operations lie in a cell, the largest share counts.
    """
    figure = Figure(figsize=(9.2, 4.6))
    axes = figure.subplots(1, 2, sharey=True, gridspec_kw={"width_ratios": [3, 1]})
    _draw_map(figure, axes[0], found)
    handles = _draw_ranks(axes[1], found)
    style.finish(figure, found.title(), found.subtitle(), handles)
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


def _draw_ranks(panel: Axes, found: ScheduleExplanation) -> list[Patch]:
    """Draw the mean time of the path on each rank, or neighbouring ones, and its part of noise."""
    ranks = len(found.by_rank)
    parts = np.array_split(np.arange(ranks), min(_RANK_BINS, ranks))
    begins = np.array([part[0] for part in parts]) - 0.5
    heights = np.array([len(part) for part in parts])
    noise, all_of_it = (
        np.array([float(from_ticks(values[part].mean())) for part in parts])
        for values in (found.rank_path_noise, found.rank_path_time)
    )
    look = style.SERIES[0]
    panel.barh(begins, all_of_it - noise, heights, align="edge", color=look.color, linewidth=0)
    panel.barh(begins, noise, heights, all_of_it - noise, align="edge", color=_NOISE, hatch="//",
               linewidth=0, edgecolor="white")  # fmt: skip
    panel.set_xlabel("mean time on the path")
    style.value_axis(panel, "s", linear=True)
    return [
        Patch(facecolor=look.color, label="of ranks: time on the critical path"),
        Patch(facecolor=_NOISE, hatch="//", edgecolor="white", label="of ranks: of it noise"),
    ]
