"""Series along an axis: bands, medians, means with intervals, 30-run means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..analysis.facts import Facts
from ..analysis.measures import RUNS
from ..stats import Estimate
from .style import GREY, INK, Look

MEDIAN: dict[str, Any] = {"linewidth": 1.3, "linestyle": (0, (1, 1.2))}
ESTIMATE: dict[str, Any] = {"color": "black", "marker": "D", "markersize": 3, "linewidth": 1.2}


def draw_series(
    axes: Axes, x: Sequence[float], facts: Sequence[Facts | None], look: Look, few: bool = True
) -> None:
    """5-95 % band, median, mean with its 95 % interval, and a 30-run mean with its range.

    Args:
        x: positions.
        facts: what is known at each position; None leaves a gap.
        few: whether 30-run means are drawn.
    """
    x = np.asarray(x, dtype=float)
    bands = np.array(
        [f.quantiles if f is not None and f.quantiles else (np.nan,) * 3 for f in facts]
    )
    if np.isfinite(bands).any():
        low, middle, high = bands.T
        axes.fill_between(
            x, low, high, facecolor=look.color, alpha=0.22, hatch=look.hatch, edgecolor=look.color,
            linewidth=0, zorder=1,
        )  # fmt: skip
        axes.plot(x, middle, color=look.dark, **MEDIAN, zorder=3)
    draw_means(
        axes, x, [f.mean if f is not None else None for f in facts], color=look.color,
        linestyle=look.line, linewidth=1.7, marker=look.marker, markersize=4, elinewidth=1.7,
        zorder=4,
    )  # fmt: skip
    if few:
        _draw_few(axes, x, facts, look)


def draw_means(
    axes: Axes, x: Sequence[float], means: Sequence[Estimate | None], **options: Any
) -> None:
    """Values joined by a line, with error bars; over the whole height where one has no end."""
    values = [np.nan if e is None else float(e.value) for e in means]
    reach = [
        (0.0, 0.0)
        if e is None or e.too_small
        else (float(e.value - e.low), float(e.high - e.value))
        for e in means
    ]
    bars = np.nan_to_num(np.maximum(np.array(reach).T, 0.0))
    axes.errorbar(x, values, yerr=bars, **options)
    for at, estimate in zip(x, means, strict=True):
        if estimate is not None and estimate.too_small:
            axes.plot([at, at], [0, 1], transform=axes.get_xaxis_transform(), linewidth=0.8,
                      color=options.get("color"), linestyle=(0, (2, 2)))  # fmt: skip


def draw_estimates(axes: Axes, x: Sequence[float], estimates: Sequence[Estimate | None]) -> None:
    """Values with their 95 % intervals, in black: what compares two algorithms."""
    draw_means(axes, x, estimates, **ESTIMATE, elinewidth=1.2, capsize=2)


def _draw_few(axes: Axes, x: Any, facts: Sequence[Facts | None], look: Look) -> None:
    kept = [(at, f.few) for at, f in zip(x, facts, strict=True) if f is not None and f.few]
    if not kept:
        return
    at = np.array([position for position, _ in kept]) + look.shift
    # The one 30-run mean that is shown may lie outside the range of most others.
    axes.vlines(
        at, [float(few.low) for _, few in kept], [float(few.high) for _, few in kept], color=INK,
        linewidth=0.7, zorder=3,
    )  # fmt: skip
    axes.plot(
        at, [float(few.value) for _, few in kept], linestyle="none", marker=look.marker,
        markersize=3.6, markerfacecolor="white", markeredgecolor=INK, markeredgewidth=0.7, zorder=5,
    )  # fmt: skip


def legend_handles(looks: dict[str, Look], *, bands: bool = True, few: bool = True) -> list[Any]:
    """What the marks of `draw_series` mean, series by series."""
    handles: list[Any] = [
        Line2D([], [], color=look.color, linestyle=look.line, marker=look.marker, linewidth=1.7,
               markersize=4, label=f"{name}: mean, 95 % interval")
        for name, look in looks.items()
    ]  # fmt: skip
    if bands:
        handles += band_handles(looks)
    if few:
        handles.append(
            Line2D([], [], color=INK, marker="o", markersize=3.6, linewidth=0.7,
                   markerfacecolor="white",
                   label=f"a {RUNS}-run mean, and the 5–95 % range of such means")
        )  # fmt: skip
    return handles


def band_handles(looks: dict[str, Look]) -> list[Any]:
    """The bands of these series, and the median inside."""
    handles: list[Any] = [
        Patch(facecolor=(*mpl.colors.to_rgb(look.color), 0.22), hatch=look.hatch,
              edgecolor=look.color, linewidth=0, label=f"{name}: 5–95 % of realizations")
        for name, look in looks.items()
    ]  # fmt: skip
    return handles + [Line2D([], [], color=GREY, label="median", **MEDIAN)] * bool(looks)


def set_handle(look: Look, label: str) -> Any:
    """A series of whole numbers whose bars are sets."""
    return Line2D([], [], color=look.color, linestyle=look.line, marker=look.marker, linewidth=1.7,
                  markersize=4, label=label)  # fmt: skip
