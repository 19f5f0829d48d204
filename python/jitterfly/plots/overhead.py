"""CS14 Fig. 8: overhead over the noiseless case against ranks, and what redundancy recovers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from ..results import CONVENTIONAL, REDUNDANT, Results
from ..results.figures import named
from ..results.study_axes import AxisScale
from ..stats import Estimate
from . import series, style

NAMES = (CONVENTIONAL, REDUNDANT)
_CLAIMED = {"color": style.GREEN, "linewidth": 1.2, "linestyle": "-."}
_BOUND = {"color": style.GREY, "linewidth": 1.2, "linestyle": (0, (1, 1))}


def draw(results: Results, observable: str | None = None) -> Figure:
    """One column per panel: overhead after the last cycle (top), recovery (bottom)."""
    study = results.study
    shown = dict(zip(NAMES, named(study, "overhead"), strict=False))
    recovery = named(study, "recovery")[0]
    panels = results.panels("ranks")[: style.MOST_COLUMNS]
    figure, axes = style.new_figure([2.2, 1.3], len(panels))
    bounded, targets = False, series.Targets(results)
    for column, panel in enumerate(panels):
        top, bottom = axes[:, column]
        along = AxisScale([cell.ranks for cell in panel.cells])
        x = along.positions
        for name, of in shown.items():
            facts = [cell.last(of) for cell in panel.cells]
            series.draw_series(top, x, facts, style.LOOKS[name])
            targets.draw(top, x, of, panel.cells, style.LOOKS[name])
        style.panel_title(top, panel.label)
        shares = [cell.last(recovery) for cell in panel.cells]
        draw_recovery(bottom, x, [share.mean if share else None for share in shares])
        bounds = [share.bound if share else None for share in shares]
        if any(bound is not None for bound in bounds):
            bounded = True
            bottom.plot(x, [np.nan if b is None else b for b in bounds], **_BOUND)
        style.place_axis(bottom, along, "ranks")
    label_axes(axes)
    cycles = results.cells[0].first_case.cycles
    text = subtitle(results, len(panels), f"{cycles} cycle{'s' if cycles > 1 else ''}, ")
    handles = [*legend_handles(bounded), *targets.handles]
    style.finish(figure, results.title, [*text, targets.left_out], handles)
    return figure


def draw_recovery(axes: Axes, x: Sequence[float], shares: Sequence[Estimate | None]) -> None:
    """Recovery with its interval, where it has one, beside CS14's 0.4."""
    axes.axhline(0.4, **_CLAIMED)
    kept = [share if share and not share.too_small else None for share in shares]
    series.draw_estimates(axes, x, kept)
    axes.set_ylim(-0.1, 1.05)


def legend_handles(bounded: bool) -> list[Any]:
    """What the marks mean, those of the recovery panel included."""
    handles = series.legend_handles({name: style.LOOKS[name] for name in NAMES})
    handles.append(Line2D([], [], label="recovery, 95 % interval", **series.ESTIMATE))
    handles.append(Line2D([], [], label="CS14's recovery of about 0.4", **_CLAIMED))
    if bounded:
        handles.append(Line2D([], [], label="bound that no redundancy can pass", **_BOUND))
    return handles


def label_axes(axes: np.ndarray) -> None:
    """Names and units of the y axes."""
    axes[0, 0].set_ylabel("overhead over noiseless")
    axes[0, 0].set_ylim(bottom=0)
    axes[0, 0].yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    style.unit_axis(axes[0, 0], "s")
    axes[1, 0].set_ylabel("recovery\n(share of overhead)")


def subtitle(results: Results, shown: int, start: str) -> list[str]:
    """How many realizations are behind the figure, and what of the study it shows."""
    text = f"{start}{results.counted}, the same noise for every algorithm"
    left = style.left_out(shown, len(results.panels("ranks")), "settings")
    return [text, results.state, left]
