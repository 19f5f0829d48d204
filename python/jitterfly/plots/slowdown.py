"""What a noise does to a collective: over numbers of ranks, and in single realizations."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from ..simulate import Result
from ..slowdown import SlowdownTable, in_words
from ..units import show_size
from . import style

_MOST_TICKS = 12


def draw_table(found: SlowdownTable) -> Figure:
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


def draw_samples(result: Result) -> Figure:
    """The share of realizations that is later than a time, a line for each observation.

    Of more observations than there are colours, the first and the last and some between.
    """
    names = result.observations
    chosen = np.unique(np.linspace(0, len(names) - 1, len(style.SERIES)).round().astype(int))
    figure, axes = style.new_figure([2.2], 1)
    handles = [_later_share(axes[0, 0], result, column, look)
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
    details = [f"network: {in_words(case.network)}", f"noise: {noise}", *subtitle]
    style.finish(figure, title, details, handles)
    return figure


def _later_share(axes: Axes, result: Result, column: int, look: style.Look) -> Line2D:
    times = np.sort(result.samples[:, column])
    share = 1 - np.arange(len(times)) / len(times)  # from a sample on: it and all later ones
    (line,) = axes.step(times, share, where="pre", color=look.color, linestyle=look.line,
                        label=result.observations[column])  # fmt: skip
    return line
