"""What a noise does to a collective, against the number of ranks."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from ..slowdown import SlowdownTable
from . import style

_MOST_TICKS = 12


def draw(found: SlowdownTable) -> Figure:
    """Completion (mean with its interval, p50, p99, without noise), and below it the slowdown."""
    figure, axes = style.new_figure([2.2, 1.2], 1, sharey=False)
    top, bottom = axes[:, 0]
    ranks = [row.ranks for row in found.rows]
    mean, median, tail = style.SERIES[:3]
    alone = "_" if len(ranks) == 1 else ""  # of which no line shows anything
    top.plot(ranks, [row.noise_free for row in found.rows], color=style.GREY, linestyle=":",
             marker=alone, markersize=14)  # fmt: skip
    top.plot(ranks, [row.p50.value for row in found.rows], color=median.color, marker=median.marker,
             linestyle=median.line, markersize=4)  # fmt: skip
    top.plot(ranks, [row.p99.value for row in found.rows], color=tail.color, marker=tail.marker,
             linestyle=tail.line, markersize=4)  # fmt: skip
    for panel, name in ((top, "mean"), (bottom, "slowdown")):
        values = [getattr(row, name) for row in found.rows]
        ends = np.array([(one.value - one.low, one.high - one.value) for one in values]).T
        ends = np.where(np.isfinite(ends), ends, 0.0)  # what has none, notes name
        panel.errorbar(ranks, [one.value for one in values], ends, color=mean.color,
                       marker=mean.marker, markersize=4, capsize=2)  # fmt: skip
        panel.set_xscale("log")
        if alone:
            panel.set_xlim(ranks[0] / 2, ranks[0] * 2)  # in the middle
    bottom.axhline(1, color=style.GREY, linewidth=0.8)
    times = [row.p99.value for row in found.rows] + [row.noise_free for row in found.rows]
    if min(times) > 0 and max(times) > 8 * min(times):
        style.log_axis(top, "s")
    else:
        top.set_ylim(bottom=0)
        style.unit_axis(top, "s")
    top.set_ylabel("completion")
    bottom.set_ylabel("mean / without noise")
    bottom.set_xlabel("ranks")
    shown = ranks[:: -(-len(ranks) // _MOST_TICKS)]
    bottom.xaxis.set_major_locator(FixedLocator(shown))
    bottom.xaxis.set_minor_locator(NullLocator())
    bottom.set_xticklabels([str(count) for count in shown])
    handles = [
        Line2D([], [], color=mean.color, marker=mean.marker, label="mean, with its interval"),
        Line2D([], [], color=median.color, marker=median.marker, linestyle=median.line,
               label="median"),
        Line2D([], [], color=tail.color, marker=tail.marker, linestyle=tail.line, label="p99"),
        Line2D([], [], color=style.GREY, linestyle=":", marker=alone, label="without noise"),
    ]  # fmt: skip
    style.finish(figure, found.title(), found.notes(), handles)
    return figure
