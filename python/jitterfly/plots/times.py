"""Times against ranks, as MS12's Figs. 12 and 21 and CS14's Fig. 8 have them."""

from __future__ import annotations

from matplotlib.figure import Figure

from ..results import Results
from ..results.figures import named
from ..results.study_axes import AxisScale
from . import series, style


def draw(results: Results, observable: str | None = None) -> Figure:
    """One column per panel: the mean completion of each scheme, with 5-95 % ranges."""
    names = named(results.study, "completion")[: len(style.SERIES)]
    looks = dict(zip(names, style.SERIES, strict=False))
    panels = results.panels("ranks")
    shown = panels[: style.MOST_COLUMNS]
    figure, axes = style.new_figure([2.6], len(shown), sharey=False)
    for column, panel in enumerate(shown):
        one = axes[0, column]
        along = AxisScale([cell.ranks for cell in panel.cells])
        for name, look in looks.items():
            facts = [cell.last(name) for cell in panel.cells]
            series.draw_series(one, along.positions, facts, look)
        style.panel_title(one, panel.label)
        style.place_axis(one, along, "ranks")
    axes[0, 0].set_ylabel("time")
    for one in axes[0]:  # settings of other lengths of noise have times of their own
        low, high = one.dataLim.intervaly
        if low < 0.5 * high:  # else the compute phases would hide the differences
            one.set_ylim(bottom=0)
        style.unit_axis(one, "s")
    subtitle = [
        results.counted, results.state, style.left_out(len(shown), len(panels), "settings"),
    ]  # fmt: skip
    handles = series.legend_handles({name.replace("_", " "): look for name, look in looks.items()})
    style.finish(figure, f"{results.title}: times", subtitle, handles)
    return figure
