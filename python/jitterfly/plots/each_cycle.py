"""Figure `each_cycle`: observables with cycle = "each" along the cycles, a line for each cell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..results import Results
from ..results.figure_axes import evenly
from ..results.figures import kind_of, names_by_cycle, observables
from ..results.main_numbers import MainNumbers
from . import series, style

_MOST_PANELS = 6
_MOST_BANDS = 3  # of more cells, bands over each other are one area
_MOST_MARKED = 100  # cycles; markers and intervals of more would be one bar


def draw_each_cycle(results: Results, observable: str | None = None) -> Figure:
    """A panel for each such observable (and T), below each other; a line for each of some cells."""
    by_cycle = names_by_cycle(observables(results.study), observable)
    names = list(by_cycle)[:_MOST_PANELS]
    known = [cell for cell in results.cells if cell.facts]
    cells = evenly(known, len(style.SERIES))
    labels = [cell.name or results.study.name for cell in cells]
    looks = dict(zip(labels, style.SERIES, strict=False))
    crowded = max(len(by_cycle[name]) for name in names) > _MOST_MARKED
    banded = len(cells) <= _MOST_BANDS and not crowded
    cut = False
    figure, axes = style.new_figure([2.2] * len(names), 1)
    for panel, name in zip(axes[:, 0], names, strict=True):
        cycles = list(by_cycle[name])
        lines = [[cell.facts.get(one) for one in by_cycle[name].values()] for cell in cells]
        for facts, look in zip(lines, looks.values(), strict=True):
            if crowded:
                panel.plot(cycles, _means(facts), **look.stroke, linewidth=1.0)
            elif banded:
                series.draw_series(panel, cycles, facts, look)
            else:
                means = [fact.mean if fact else None for fact in facts]
                series.draw_means(panel, cycles, means, **look.marked, linewidth=1.2, markersize=4)
        last = [fact for facts in lines for fact in facts if fact is not None][-1:]
        # Completions grow along the cycles, which asks for no logarithm; cells may differ by much.
        ends = [means[np.isfinite(means)][-1:] for means in map(_means, lines)]
        style.scale_axes([panel], np.concatenate(ends), last[0].unit if last else "")
        cut |= kind_of(results.study, name) == "cycle_time" and _cut(panel, lines, banded)
        panel.set_ylabel(kind_of(results.study, name).replace("_", " "))
        style.panel_title(panel, name.replace("_", " "))
    axes[-1, 0].set_xlabel("cycle")
    axes[-1, 0].xaxis.get_major_locator().set_params(integer=True)
    what = "mean" if crowded else "mean, 95 % interval"
    handles = [series.line_handle(look, f"{name}: {what}") for name, look in looks.items()]
    handles += series.band_handles(looks) if banded else []
    subtitle = [
        results.counted,
        results.state,
        style.count_left_out(len(cells), len(known), "cells, evenly chosen"),
        style.count_left_out(len(names), len(by_cycle), "observables"),
        "beyond an axis: the first or the last cycle" if cut else "",
    ]
    style.finish(figure, results.title, subtitle, handles)
    return figure


def _means(facts: Sequence[MainNumbers | None]) -> np.ndarray:
    """The means, NaN where there is none."""
    return np.array([np.nan if fact is None else float(fact.mean.value) for fact in facts])


def _cut(panel: Axes, lines: Sequence[Sequence[MainNumbers | None]], banded: bool) -> bool:
    """Give the axis to the cycles between the first and the last, if those lie far from them."""
    there = [[fact for fact in facts if fact is not None] for facts in lines]  # ends of its own
    inner = [fact for facts in there for fact in facts[1:-1]]
    if not inner:
        return False
    shown = [[float(fact.mean.value), *(fact.quantiles or ())] for fact in inner]
    values = np.concatenate(shown if banded else [one[:1] for one in shown])
    low, high = float(values.min()), float(values.max())
    beyond = max(high - low, 0.05 * abs(high))
    outer = np.concatenate([_means([*facts[:1], *facts[-1:]]) for facts in there])
    if not ((outer < low - beyond) | (outer > high + beyond)).any():
        return False
    panel.set_ylim(low - 0.1 * beyond, high + 0.1 * beyond)
    return True
