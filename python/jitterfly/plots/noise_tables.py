"""Tables of measurements: collectives by ranks or bytes, LogGP parameters, shares of CPUs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..measured import CollectiveTable, CpuNoise, LogGPTable
from . import style, ticks

_LINES = ("p99", "p90", "mean", "p50")
_MOST_COLUMNS = 4


def collectives(parts: Sequence[CollectiveTable]) -> tuple[Any, list[Any]]:
    """Latency over ranks, or over bytes where all are of one number of ranks; a panel for each."""
    columns = min(len(parts), _MOST_COLUMNS)
    rows = -(-len(parts) // columns)
    figure, axes = style.new_figure([2.4] * rows, columns, sharex=False, sharey=False)
    handles: dict[str, Any] = {}
    for axis, part in zip(axes.flat, parts, strict=False):
        by_ranks = len(np.unique(part.ranks)) > 1
        x = part.ranks if by_ranks else part.bytes
        others = part.bytes if by_ranks else part.ranks
        known = sorted(set(others.tolist()))
        unit = "bytes" if by_ranks else "ranks"
        # 0 ranks: the file does not say how many.
        told = len(known) == 1 and (by_ranks or known[0] > 0)
        style.panel_title(axis, part.operation + (f", {known[0]} {unit}" if told else ""))
        for other in known:
            rows_ = np.flatnonzero(others == other)
            rows_ = rows_[np.argsort(x[rows_], kind="stable")]
            _table(axis, part, rows_, x, handles)
            if len(known) > 1:
                axis.annotate(f"{other} {unit}", (x[rows_[-1]], part.mean[rows_[-1]]), ha="right",
                              xytext=(0, 4), textcoords="offset points", fontsize=7.5)  # fmt: skip
        if x.max(initial=0) > 8 * max(int(x[x > 0].min(initial=1)), 1):
            axis.set_xscale("symlog" if (x == 0).any() else "log", base=2)
        places = np.unique(x)
        if len(places) <= 5:
            axis.set_xticks(places, [f"{place}" for place in places])
            axis.minorticks_off()
        axis.set_xlabel("ranks" if by_ranks else "bytes")
        axis.set_ylabel("latency")
        ticks.log_axis(axis, "s")
    for axis in list(axes.flat)[len(parts) :]:
        axis.set_visible(False)
    return figure, list(handles.values())


def _table(axis: Any, part: CollectiveTable, rows: Any, x: Any, handles: dict[str, Any]) -> None:
    if part.min is not None and part.max is not None:
        axis.fill_between(x[rows], part.min[rows], part.max[rows], color=style.BLUE, alpha=0.15,
                          linewidth=0)  # fmt: skip
        handles["band"] = Patch(color=style.BLUE, alpha=0.15, label="smallest to largest")
    for look, name in zip(style.SERIES, _LINES, strict=False):
        values = getattr(part, name)
        if values is None:
            continue
        shown = {"color": look.color, "marker": look.marker, "linestyle": look.line}
        axis.plot(x[rows], values[rows], markersize=3.5, linewidth=1.2, **shown)
        handles[name] = Line2D([], [], markersize=3.5, label=name, **shown)


def loggp(table: LogGPTable) -> tuple[Any, list[Any]]:
    """Overheads and latency over bytes, and the gaps that were fitted."""
    figure, axes = style.new_figure([2.2], 2, sharex=True, sharey=False)
    handles = []
    columns = {"latency": "L", "send_overhead": "o_s", "receive_overhead": "o_r", "gap": "g"}
    for look, (name, label) in zip(style.SERIES, columns.items(), strict=False):
        shown = {"color": look.color, "linestyle": look.line}
        axes[0, 0].plot(table.bytes, getattr(table, name), linewidth=1.2, **shown)
        handles.append(Line2D([], [], label=label, **shown))
    axes[0, 1].plot(table.bytes, table.gap_per_byte, color=style.INK, linewidth=1.2)
    axes[0, 0].set_ylabel("time")
    axes[0, 1].set_ylabel("G, for each byte")
    for axis in axes[0]:
        axis.set_xscale("log", base=2)
        axis.set_xlabel("bytes")
        ticks.unit_axis(axis, "s")
    return figure, handles


def shares(parts: Sequence[CpuNoise]) -> tuple[Any, list[Any]]:
    """Part of the time that noise took, for each CPU."""
    figure, axes = style.new_figure([2.2], 1)
    axis = axes[0, 0]
    places = np.arange(len(parts))
    axis.bar(places, [100 * part.share for part in parts], color=style.BLUE, alpha=0.6)
    if len(parts) <= 32:
        axis.set_xticks(places, [part.cpu or str(i + 1) for i, part in enumerate(parts)])
    axis.set_xlabel("CPU")
    axis.set_ylabel("share of the time (%)")
    return figure, []
