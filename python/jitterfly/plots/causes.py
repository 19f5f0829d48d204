"""Stacked plot of causes of delay along the critical path, and waiting time by rank."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from ..explain import PATH, DelayByCause, RankRow, show_share
from ..units import from_ticks
from . import style

_BINS = 20
_RANK_BINS = 256
_OF_RANKS = {
    "late": ("arrives late", "#F5CE80", "//"),
    "noise": ("noise of its CPU", "#AAAAAA", ""),
    "waits_for_others": ("waits for others", "#8FBBD9", ""),
    "waits_for_messages": ("waits for messages", "#80CEB9", ".."),
}
"""What is shown of a rank's time: field, words, color (none of a cause) and hatch."""


def draw(found: DelayByCause) -> Figure:
    """Draw bars of equally many realizations, by delay, each cut by the mean delay of each cause.

    Below, the mean time of each rank, or of neighbouring ones, that it did not work.
    """
    figure, axes = style.new_figure([2.6, 1.4], 1, sharex=False)
    panel = axes[0, 0]
    order = np.argsort(found.delay, kind="stable")
    parts = np.array_split(order, min(_BINS, len(order)))
    ends = 100 * np.cumsum([len(part) for part in parts]) / len(order)
    begins = np.concatenate([[0.0], ends[:-1]])
    means = np.array([from_ticks(found.ticks[part].mean(axis=0)) for part in parts])
    above, below = np.zeros(len(parts)), np.zeros(len(parts))
    handles = []
    for i, cause in enumerate(found.causes):
        values = means[:, i]
        look = style.SERIES[i % len(style.SERIES)]
        color = style.GREY if cause == PATH else look.color
        foot = np.where(values >= 0, above, below)
        panel.bar(begins, values, ends - begins, foot, align="edge", color=color, linewidth=0.4,
                  edgecolor="white", hatch="" if cause == PATH else look.hatch)  # fmt: skip
        above, below = above + np.maximum(values, 0), below + np.minimum(values, 0)
        handles.append(Patch(facecolor=color, label=_in_words(found, cause, i),
                             hatch="" if cause == PATH else look.hatch))  # fmt: skip
    middle = (begins + ends) / 2
    delays = [float(from_ticks(found.delay[part].mean())) for part in parts]
    panel.plot(middle, delays, color=style.INK, marker=".", markersize=4, linewidth=0.8)
    panel.axhline(0, color=style.INK, linewidth=0.8)
    panel.set_xlim(0, 100)
    panel.set_ylim(top=1.05 * max(above.max(), *delays) or None)  # also where a cause adds nothing
    panel.set_xlabel("realizations, by their delay (%)")
    panel.set_ylabel("delay on the critical path")
    style.unit_axis(panel, "s")
    handles += _draw_ranks(axes[1, 0], found)
    style.finish(figure, found.title(), found.subtitle(), handles)
    return figure


def _draw_ranks(panel: Axes, found: DelayByCause) -> list[Patch]:
    """Draw times of ranks on top of each other, up to 256 bars; return handles of the legend."""
    parts = np.array_split(np.arange(len(found.by_rank)), min(_RANK_BINS, len(found.by_rank)))
    begins = np.array([part[0] for part in parts]) - 0.5
    widths = np.array([len(part) for part in parts])
    foot, handles = np.zeros(len(parts)), []
    for name, (words, color, hatch) in _OF_RANKS.items():
        column = found.by_rank[:, RankRow._fields.index(name) - 1]
        if not column.any():
            continue
        values = np.array([from_ticks(column[part].mean()) for part in parts])
        panel.bar(begins, values, widths, foot, align="edge", color=color, hatch=hatch,
                  linewidth=0, edgecolor="white")  # fmt: skip
        foot += values
        if name == "waits_for_messages":
            words = f"waits for {found.waits_for_rest}"
        handles.append(Patch(facecolor=color, hatch=hatch, edgecolor="white",
                             label=f"of ranks: {words}"))  # fmt: skip
    panel.set_xlim(-0.5, len(found.by_rank) - 0.5)
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    panel.set_xlabel("rank")
    panel.set_ylabel(found.time_of_ranks)
    style.unit_axis(panel, "s")
    return handles


def _in_words(found: DelayByCause, cause: str, number: int) -> str:
    share = found.rows()[number].share
    name = "the path itself" if cause == PATH else cause
    return name if np.isnan(share) else f"{name}: {show_share(share)}"
