"""Measured quantiles beside those that a smaller machine predicts, a panel for each machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from jitterfly.plots import style
from jitterfly.units import show_size

from ..machines import QUANTILE, Row, machine_in_words, run_of


def draw_quantiles(rows: Sequence[Row]) -> Figure:
    """Draw predicted over measured quantiles, a line a run, of those with the most iterations."""
    rows = [row for row in rows if row.what.startswith(QUANTILE)]
    most = max(row.iterations for row in rows)
    fewer = len({run_of(row) for row in rows if row.iterations < most})
    rows = [row for row in rows if row.iterations == most]
    machines = list(dict.fromkeys(row.machine for row in rows))
    sizes = sorted({row.message_bytes for row in rows})
    algorithms = list(dict.fromkeys(row.algorithm for row in rows))
    figure, grid = style.new_figure([2.6], len(machines))
    for axes, machine in zip(grid[0], machines, strict=True):
        of_machine = [row for row in rows if row.machine == machine]
        ranks = min(r.ranks for r in of_machine), max(r.to for r in of_machine)
        style.panel_title(axes, f"{machine_in_words(machine)}, {ranks[0]:,} to {ranks[1]:,} ranks")
        axes.axhline(1.0, color=style.GREY, linewidth=0.8)
        for key in dict.fromkeys(map(run_of, of_machine)):
            run = [row for row in of_machine if run_of(row) == key]
            later = [1 - float(row.what.removeprefix(QUANTILE)) for row in run]
            shade = (sizes.index(run[0].message_bytes) + 1) / len(sizes)
            color = style.SERIES[algorithms.index(run[0].algorithm)].color
            axes.plot(later, [r.ratio for r in run], color=color, alpha=0.25 + 0.75 * shade,
                      linewidth=0.9 + shade)  # fmt: skip
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(1.0, 1e-3)
        axes.set_ylim(0.5, 2.0)
        ticks = [0.5, 0.75, 1.0, 1.5, 2.0]
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        axes.set_xlabel("share of iterations that take longer")
    grid[0][0].set_ylabel("time, predicted over measured")
    handles: list[Any] = [
        _line(style.SERIES[i].color, name.replace("_", " ")) for i, name in enumerate(algorithms)
    ]
    text = f"thin and pale: {show_size(sizes[0])}; thick: {show_size(sizes[-1])}"
    outside = sum(not 0.5 <= row.ratio <= 2.0 for row in rows)
    beyond = f"{outside:,} of {len(rows):,} quantiles are beyond the axis" if outside else ""
    left = f"runs of {most:,} iterations" + (f"; {fewer} with fewer are left out" if fewer else "")
    style.finish(
        figure, "Allreduce on more ranks, predicted over measured", [left, text, beyond], handles
    )
    return figure


def _line(color: Any, label: str) -> Any:
    return Line2D([], [], color=color, linewidth=1.7, label=label)
