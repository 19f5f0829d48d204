"""Figures of theory against simulation: distribution bounds, extremes of N, saturation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import (
    FixedLocator,
    FormatStrFormatter,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)

from jitterfly.plots import style

from ..report.theory_figure_data import Ends, Growth, Limits, Points


def draw_ends(found: Sequence[Ends], title: str, subtitle: Sequence[str]) -> Figure:
    """A panel for each noise, a row for where it acts."""
    noises = list(dict.fromkeys(one.noise for one in found))
    places = list(dict.fromkeys(one.at for one in found))
    figure, grid = style.new_figure([2.1] * len(places), len(noises), sharex=False)
    for one in found:
        axes = grid[places.index(one.at)][noises.index(one.noise)]
        _draw_end(axes, one)
        if one.at == places[0]:
            style.panel_title(axes, one.noise)
        else:
            axes.set_xlabel("time")
    for row, place in enumerate(places):
        grid[row][0].set_ylabel(f"share of realizations later\n(noise at the {place})")
    handles = [
        line_handle(ONE, "one rank: exact (recursion)"),
        dot_handle(ONE, "one rank: simulated, 95 % interval"),
        *last_handles(),
    ]
    style.finish(figure, title, subtitle, handles)
    return figure


def _draw_end(axes: Axes, one: Ends) -> None:
    how: dict[str, Any] = {"drawstyle": "steps-post"} if one.steps else {}
    axes.fill_between(one.times, np.maximum(one.last_low, 1e-12), one.last_high,
                      color=style.GREY, alpha=0.25, linewidth=0,
                      step="post" if one.steps else None)  # fmt: skip
    axes.plot(one.times, one.one, color=ONE.color, linestyle=ONE.line, linewidth=1.7, **how)
    dots(axes, one.seen_one, ONE)
    dots(axes, one.seen_last, LAST)
    axes.set_yscale("log")
    axes.set_ylim(1e-6, 1.8)
    axes.yaxis.set_major_locator(LogLocator(numticks=5))
    axes.yaxis.set_minor_locator(NullLocator())
    shown = one.times[np.maximum(one.last_high, one.one) > 1e-6]
    first = one.times[np.argmax(one.one < 1 - 1e-4)]
    axes.set_xlim((0.85 if one.wide else 0.93) * first, shown[-1])
    if one.wide:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator())
    else:
        axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(style.InUnit("s"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def draw_growth(found: Sequence[Growth], count: str, title: str, subtitle: Sequence[str]) -> Figure:
    """Draw means against N on the left, distributions at one N on the right."""
    figure, grid = style.new_figure([2.6], 2, sharex=False, sharey=False)
    left, right = grid[0]
    handles: list[Any] = []
    for one, look in zip(found, style.SERIES, strict=False):
        left.plot(one.counts, one.mean, color=look.color, linestyle=look.line, linewidth=1.6)
        dots(left, one.seen, look)
        right.plot(one.tail, one.shares, color=look.color, linestyle=look.line, linewidth=1.6)
        dots(right, one.seen_tail, look)
        handles += [line_handle(look, f"{one.noise}: exact")]
    handles.append(Line2D([], [], color=style.INK, marker="o", markersize=4, linestyle="none",
                          label="simulated, 95 % interval (markers differ by noise)"))  # fmt: skip
    left.set_xscale("log", base=2)
    left.set_yscale("log")
    left.set_xlabel("N")
    left.set_ylabel("mean of the largest of N, in units of its scale")
    right.set_xscale("log")
    right.set_yscale("log")
    right.set_ylim(3e-5, 1.5)
    right.set_xlim(left=0.3)
    plain(right.xaxis, (0.3, 0.5, 1, 2, 3, 5, 10, 20, 30))
    right.set_xlabel(f"largest of {count}, over its mean")
    right.set_ylabel("share of realizations later")
    style.finish(figure, title, subtitle, handles)
    return figure


def draw_limits(found: Limits, title: str, subtitle: Sequence[str]) -> Figure:
    """Draw completion against p with its saturation, and noise-free LogGP times against ranks."""
    figure, grid = style.new_figure([2.8], 2, sharex=False, sharey=False)
    left, right = grid[0]
    left.fill_between(found.p, found.last_low * US, found.last_high * US, color=style.GREY,
                      alpha=0.25, linewidth=0)  # fmt: skip
    left.plot(found.p, found.one * US, color=ONE.color, linestyle=ONE.line, linewidth=1.7)
    dots(left, found.seen, LAST, US)
    low = found.one.min()
    for name, value in found.levels:
        left.axhline(value * US, color=style.INK, linewidth=0.9, linestyle=(0, (4, 2)))
        right_side = value <= low  # where the curves have left it
        left.annotate(name, (0.98 if right_side else 0.02, value * US),
                      xycoords=left.get_yaxis_transform(), xytext=(0, 2.5), fontsize=7.5,
                      textcoords="offset points", ha="right" if right_side else "left")  # fmt: skip
    left.set_xscale("log")
    left.set_yscale("log")
    left.set_xlabel("probability of a delay at each step")
    left.set_ylabel("mean completion, µs")
    plain(left.yaxis, (30, 40, 60, 80, 100, 150, 200, 300, 400, 600, 800))
    handles = [
        line_handle(ONE, "one rank: exact"),
        *last_handles(),
    ]
    for (name, values), look in zip(found.gaps, REST, strict=False):
        right.plot(found.ranks, values * US, color=look.color, linestyle=look.line, linewidth=1.6)
        handles.append(line_handle(look, f"LogGP without noise, {name}"))
    dots(right, found.seen_free, REST[0], US)
    handles.append(dot_handle(REST[0], "LogGP without noise: the engine"))
    right.set_xscale("log", base=2)
    right.set_xlabel("ranks")
    right.set_ylabel("completion without noise, µs")
    right.set_ylim(bottom=0)
    style.finish(figure, title, subtitle, handles)
    return figure


US = 1e6


ONE, LAST, *REST = style.SERIES
_BARS: dict[str, Any] = {"linestyle": "none", "markersize": 4, "elinewidth": 1.1, "zorder": 5}


def dots(axes: Axes, seen: Points, look: style.Look, scale: float = 1.0) -> None:
    bars = np.maximum([seen.value - seen.low, seen.high - seen.value], 0.0) * scale
    axes.errorbar(seen.at, seen.value * scale, yerr=bars, color=look.dark, marker=look.marker,
                  markerfacecolor=look.color, **_BARS)  # fmt: skip


def plain(axis: Axis, at: Sequence[float]) -> None:
    """Write numbers as they are on a logarithmic axis of few decades."""
    axis.set_major_locator(FixedLocator(list(at)))
    axis.set_major_formatter(FormatStrFormatter("%g"))
    axis.set_minor_locator(NullLocator())


def dot_handle(look: style.Look, label: str) -> Line2D:
    return Line2D([], [], color=look.dark, marker=look.marker, markerfacecolor=look.color,
                  markersize=4, linestyle="none", label=label)  # fmt: skip


def line_handle(look: style.Look, label: str) -> Line2D:
    return Line2D([], [], color=look.color, linestyle=look.line, linewidth=1.7, label=label)


def last_handles() -> list[Any]:
    """The legend of the area and the dots of the last rank."""
    return [
        Patch(facecolor=style.GREY, alpha=0.25, label="last rank: between these, rigorously"),
        dot_handle(LAST, "last rank: simulated, 95 % interval"),
    ]
