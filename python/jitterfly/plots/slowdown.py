"""MS12 Fig. 12 and 21: slowdown of conventional and redundant scheme, and the gain."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from ..analysis.results import CONVENTIONAL, REDUNDANT, Panel, Results
from . import style


def draw(results: Results) -> Figure:
    """One column per panel: slowdown (top), gain (middle), redundant exchanges T (bottom)."""
    figure, axes = style.new_figure([2.4, 1.2, 0.9], len(results.panels))
    for column, panel in enumerate(results.panels):
        top, middle, bottom = axes[:, column]
        x = np.log2(panel.ranks)
        for name in (CONVENTIONAL, REDUNDANT):
            style.draw_series(top, x, [place.slowdown[name] for place in panel.places], name)
        top.set_yscale("log")
        top.set_title(panel.label, fontsize=9, parse_math=False)
        _gain(middle, x, panel)
        _redundancy(bottom, x, panel)
        style.ranks_axis(bottom, x)
        bottom.set_xlabel("ranks")
    axes[0, 0].set_ylabel("completion / noise-free")
    axes[1, 0].set_ylabel("gain: mean conv. /\nmean redundant")
    axes[2, 0].set_ylabel("redundant\nexchanges T")
    for log in (axes[0, 0], axes[1, 0]):
        low, high = log.get_ylim()
        subs = (1.0, 2.0, 5.0) if high / low > 8 else (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
        log.yaxis.set_major_locator(LogLocator(subs=subs, numticks=99))
        log.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
        log.yaxis.set_minor_locator(NullLocator())
    subtitle = f"{results.count} realizations per cell; redundant: the T with the smallest mean"
    handles = style.legend_handles([CONVENTIONAL, REDUNDANT])
    style.finish(figure, results.study.title, subtitle, handles)
    return figure


def _gain(axes: Axes, x: np.ndarray, panel: Panel) -> None:
    style.draw_estimates(axes, x, [place.gain for place in panel.places])
    axes.axhline(1, color=style.GREY, linewidth=0.8)
    axes.set_yscale("log")


def _redundancy(axes: Axes, x: np.ndarray, panel: Panel) -> None:
    best = [place.redundancy.best for place in panel.places]
    enough = [place.redundancy.enough for place in panel.places]
    axes.vlines(x, enough, best, color=style.GREY, linewidth=1)
    axes.plot(x, best, "_", color=style.GREY, markersize=6, label="smallest mean")
    axes.plot(x, enough, "s", color=style.ORANGE, markeredgecolor="black", markeredgewidth=0.5,
              markersize=4, label="smallest T not told from it")  # fmt: skip
    axes.set_ylim(0, max(best) * 1.45 + 1)
    axes.legend(loc="upper left", fontsize=7, ncols=2, handletextpad=0.2, columnspacing=1,
                borderaxespad=0.1)  # fmt: skip
