"""CS14 Fig. 8: overhead over the noiseless case against ranks, and what redundancy recovers."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from ..analysis.measures import Estimate
from ..analysis.results import CONVENTIONAL, REDUNDANT, Results
from ..units import show_seconds
from . import style

NAMES = [CONVENTIONAL, REDUNDANT]
_CLAIMED = {"color": style.GREEN, "linewidth": 1.2, "linestyle": "-."}
_BOUND = {"color": style.GREY, "linewidth": 1.2, "linestyle": (0, (1, 1))}


def draw(results: Results) -> Figure:
    """One column per panel: overhead after the last cycle (top), recovery (bottom)."""
    figure, axes = style.new_figure([2.2, 1.3], len(results.panels))
    bounded = False
    for column, panel in enumerate(results.panels):
        top, bottom = axes[:, column]
        x = np.log2(panel.ranks)
        for name in NAMES:
            style.draw_series(top, x, [p.overhead[name][:, -1] for p in panel.places], name)
        top.set_title(panel.label, fontsize=9, parse_math=False)
        draw_recovery(bottom, x, [place.recovery() for place in panel.places])
        bounds = [place.recoverable for place in panel.places]
        if None not in bounds:
            bounded = True
            bottom.plot(x, bounds, **_BOUND)
        style.ranks_axis(bottom, x)
        bottom.set_xlabel("ranks")
    label_axes(axes)
    cycles = results.panels[0].places[0].overhead[CONVENTIONAL].shape[1]
    text = f"{cycles} cycle{'s' if cycles > 1 else ''}, {subtitle(results)}"
    style.finish(figure, results.study.title, text, legend_handles(bounded))
    return figure


def draw_recovery(axes: Axes, x: np.ndarray, shares: list[Estimate]) -> None:
    """Recovery with its interval, where it has one, beside CS14's 0.4."""
    kept = [i for i, share in enumerate(shares) if np.isfinite(share.low)]
    axes.axhline(0.4, **_CLAIMED)
    style.draw_estimates(axes, x[kept], [shares[i] for i in kept])
    axes.set_ylim(-0.1, 1.05)


def legend_handles(bounded: bool) -> list[Any]:
    """What the marks mean, those of the recovery panel included."""
    handles = style.legend_handles(NAMES)
    handles.append(Line2D([], [], label="recovery, 95 % interval", **style.ESTIMATE))
    handles.append(Line2D([], [], label="CS14's recovery of about 0.4", **_CLAIMED))
    if bounded:
        handles.append(Line2D([], [], label="bound that no redundancy can pass", **_BOUND))
    return handles


def label_axes(axes: np.ndarray) -> None:
    """Names and units of the y axes."""
    axes[0, 0].set_ylabel("overhead over noiseless")
    axes[0, 0].set_ylim(bottom=0)
    axes[0, 0].yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    axes[0, 0].yaxis.set_major_formatter(FuncFormatter(lambda y, _: show_seconds(y, 3)))
    axes[1, 0].set_ylabel("recovery\n(share of overhead)")


def subtitle(results: Results) -> str:
    """How many realizations are behind the figure."""
    return f"{results.count} realizations per cell, the same noise for every algorithm"
