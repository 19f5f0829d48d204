"""MS12 Fig. 12 and 21: slowdown of conventional and redundant scheme, and the gain."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..results import CONVENTIONAL, REDUNDANT, Results
from ..results.figures import named
from ..results.main_numbers import MainNumbers
from ..results.study_axes import AxisScale
from . import series, style


def draw(results: Results, observable: str | None = None) -> Figure:
    """One column per panel: slowdown (top), gain (middle), redundant exchanges T (bottom)."""
    study = results.study
    shown = dict(zip((CONVENTIONAL, REDUNDANT), named(study, "slowdown"), strict=False))
    gain, best = named(study, "gain")[0], named(study, "optimal_T")[0]
    panels = results.panels("ranks")[: style.MOST_COLUMNS]
    figure, axes = style.new_figure([2.4, 1.2, 0.9], len(panels))
    targets = series.Targets(results)
    for column, panel in enumerate(panels):
        top, middle, bottom = axes[:, column]
        along = AxisScale([cell.ranks for cell in panel.cells])
        x = along.positions

        def facts(name: str, panel: object = panel) -> list[MainNumbers | None]:
            return [cell.facts.get(name) for cell in panel.cells]  # type: ignore[attr-defined]

        for name, of in shown.items():
            series.draw_series(top, x, facts(of), style.LOOKS[name])
            targets.draw(top, x, of, panel.cells, style.LOOKS[name])
        style.panel_title(top, panel.label)
        series.draw_estimates(middle, x, [f.mean if f else None for f in facts(gain)])
        targets.draw(middle, x, gain, panel.cells, style.ESTIMATED)
        middle.axhline(1, color=style.GREY, linewidth=0.8)
        _redundancy(bottom, x, facts(best), facts(shown[REDUNDANT]))
        style.place_axis(bottom, along, "ranks")
    axes[0, 0].set_ylabel("completion / noise-free")
    axes[1, 0].set_ylabel("gain: mean conv. /\nmean redundant")
    axes[2, 0].set_ylabel("redundant\nexchanges T")
    for row in axes[:2]:
        for one in row:
            style.log_axis(one)
    subtitle = [
        results.counted, "redundant: the T with the smallest mean", results.state,
        targets.left_out,
        style.left_out(len(panels), len(results.panels("ranks")), "settings"),
    ]  # fmt: skip
    handles = series.legend_handles({name: style.LOOKS[name] for name in shown})
    handles += targets.handles
    style.finish(figure, results.title, subtitle, handles)
    return figure


def _redundancy(
    axes: Axes,
    x: Sequence[float],
    sets: Sequence[MainNumbers | None],
    redundant: Sequence[MainNumbers | None],
) -> None:
    """The smallest T that can not be told from the best, up to the one with the smallest mean."""
    known = [
        (at, float(f.mean.value), r.T)
        for at, f, r in zip(x, sets, redundant, strict=True)
        if f and r
    ]
    if not known:
        return
    at, enough, best = zip(*known, strict=True)
    axes.vlines(at, enough, best, color=style.GREY, linewidth=1)
    axes.plot(at, best, "_", color=style.GREY, markersize=6, label="smallest mean")
    axes.plot(at, enough, "s", color=style.ORANGE, markeredgecolor="black", markeredgewidth=0.5,
              markersize=4, label="smallest T not told from it")  # fmt: skip
    axes.set_ylim(0, max(best) * 1.45 + 1)
    axes.legend(loc="upper left", fontsize=7, ncols=2, handletextpad=0.2, columnspacing=1,
                borderaxespad=0.1)  # fmt: skip
