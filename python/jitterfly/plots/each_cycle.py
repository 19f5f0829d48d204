"""Figure `each_cycle`: observables with cycle = "each" along the cycles, a line for each cell."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from ..results import Results
from ..results.figures import kind_of, names_by_cycle, observables
from . import series, style

_MOST_PANELS = 6
_MOST_BANDS = 3  # of more cells, bands over each other are one area
_MOST_MARKED = 50  # cycles; markers of more would be one line


def draw_each_cycle(results: Results, observable: str | None = None) -> Figure:
    """A panel for each such observable (and T), below each other; a line for each of some cells."""
    by_cycle = names_by_cycle(observables(results.study), observable)
    names = list(by_cycle)[:_MOST_PANELS]
    known = [cell for cell in results.cells if cell.facts]
    places = np.linspace(0, len(known) - 1, len(style.SERIES)).round().astype(int)
    cells = [known[i] for i in np.unique(places)]
    looks = dict(
        zip([cell.name or results.study.name for cell in cells], style.SERIES, strict=False)
    )
    banded = len(cells) <= _MOST_BANDS
    figure, axes = style.new_figure([2.2] * len(names), 1)
    for panel, name in zip(axes[:, 0], names, strict=True):
        cycles = by_cycle[name]
        marked = len(cycles) <= _MOST_MARKED
        last = []
        for cell, look in zip(cells, looks.values(), strict=True):
            facts = [cell.facts.get(one) for one in cycles.values()]
            last += [fact for fact in facts if fact is not None][-1:]
            if banded:
                series.draw_series(panel, list(cycles), facts, look, few=False)
            else:
                means = [fact.mean if fact else None for fact in facts]
                line = look.marked if marked else look.stroke
                series.draw_means(panel, list(cycles), means, **line, linewidth=1.2, markersize=4)
        # Completions grow along the cycles, which asks for no logarithm; cells may differ by much.
        style.scale_axes([panel], [float(fact.mean.value) for fact in last],
                         last[0].unit if last else "")  # fmt: skip
        panel.set_ylabel(kind_of(results.study, name).replace("_", " "))
        style.panel_title(panel, name.replace("_", " "))
    axes[-1, 0].set_xlabel("cycle")
    axes[-1, 0].xaxis.get_major_locator().set_params(integer=True)
    handles = [series.line_handle(look, f"{name}: mean, 95 % interval")
               for name, look in looks.items()]  # fmt: skip
    handles += series.band_handles(looks) if banded else []
    left = [
        style.left_out(len(cells), len(known), "cells"),
        style.left_out(len(names), len(by_cycle), "observables"),
    ]
    style.finish(figure, results.title, [results.counted, results.state, *left], handles)
    return figure
