"""What is periodic: the periodogram of detours, with the periods that were found."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from ..measured import Detours
from ..measured.periods import LEAST_FOR_PERIODS, periodogram, seconds_of
from ..units import show_seconds
from . import style, ticks

_COLUMNS = 700  # of the picture, each with the highest power of its frequencies
_FALSE_ALARM = 1e-3


def draw(axes: Axes, detours: Detours, facts: dict[str, Any]) -> None:
    """Power over frequency, both logarithmic: 1 is what random arrivals have."""
    found = periodogram(*seconds_of(detours))
    axes.set_xlabel("frequency (Hz)")
    axes.set_ylabel("power")
    if not len(found.frequency) or len(detours.starts) < LEAST_FOR_PERIODS:
        axes.text(0.5, 0.5, "too short, or too few detours", transform=axes.transAxes,
                  ha="center", color=style.GREY)  # fmt: skip
        return
    edges = np.unique(
        np.searchsorted(
            found.frequency,
            np.geomspace(found.frequency[0], found.frequency[-1], _COLUMNS + 1)[:-1],
        )
    )
    highest = np.maximum.reduceat(found.power, edges)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.plot(found.frequency[edges], highest, color=style.BLUE, linewidth=0.7)
    limit = found.threshold(_FALSE_ALARM)
    axes.axhline(limit, color=style.GREY, linewidth=0.9, linestyle="--")
    top = max(float(highest.max()), 2 * limit)
    periods = facts.get("periods", [])
    axes.set_ylim(0.5, top * 4.0 ** (1 + len(periods)))
    axes.set_xlim(found.frequency[0], found.frequency[-1])
    ticks.log_axis(axes, "", "x")
    for number, period in enumerate(periods):
        _mark(axes, period, top * 4.0 ** (0.8 + number))


def _mark(axes: Axes, period: dict[str, Any], height: float) -> None:
    frequency = period["frequency"]
    axes.plot([frequency, frequency], [0.5, height], color=style.ORANGE, linewidth=1, zorder=0.9)
    axes.plot([frequency], [height], "v", color=style.ORANGE, markersize=4)
    low, high = np.log(axes.get_xlim())
    left = (np.log(frequency) - low) / (high - low) < 0.5
    text = f"{frequency:.4g} Hz ({show_seconds(period['seconds'], 3)}): {period['share']:.1%}"
    axes.annotate(text, (frequency, height), xytext=(5 if left else -5, 0), va="center",
                  ha="left" if left else "right", textcoords="offset points", fontsize=7.5,
                  color=style.INK, zorder=3,
                  bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0})  # fmt: skip


def handles() -> list[Any]:
    """What the marks mean."""
    return [
        Line2D([], [], color=style.ORANGE, linewidth=1, marker="v", markersize=4,
               label="period, with its part of the detours"),
        Line2D([], [], color=style.GREY, linewidth=0.9, linestyle="--",
               label=f"random arrivals exceed it anywhere: {_FALSE_ALARM:.1%}"),
    ]  # fmt: skip
