"""By what a collective is delayed, from the quickest realizations to the slowest."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ..explain import PATH, Explanation
from ..units import from_ticks
from . import style

_BINS = 20


def draw(found: Explanation) -> Figure:
    """Bars of equally many realizations, by delay; each is cut by the mean delay of each cause."""
    figure, axes = style.new_figure([2.6], 1)
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
    panel.set_xlabel("realizations, by their delay (%)")
    panel.set_ylabel("delay on the critical path")
    style.unit_axis(panel, "s")
    style.finish(figure, found.title(), found.notes(), handles)
    return figure


def _in_words(found: Explanation, cause: str, number: int) -> str:
    share = found.rows()[number].share
    name = "the path itself" if cause == PATH else cause
    return name if np.isnan(share) else f"{name}: {share:.0%}"
