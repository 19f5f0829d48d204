"""CS14 Fig. 9: overhead over the noiseless case after each cycle, and what redundancy recovers."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..results import Results
from ..results.figures import named
from ..results.text_table import show_ranks
from . import overhead, series, style

# Below the series: it shows where it leaves them, left of the first cycle.
_FIT: dict[str, Any] = {"color": style.INK, "linewidth": 1.0, "linestyle": (0, (4, 2))}


def draw(results: Results, observable: str | None = None) -> Figure:
    """One column per panel, at its largest number of ranks; a line carries the fit back to 0."""
    study = results.study
    shown = dict(zip(overhead.NAMES, named(study, "overhead"), strict=False))
    recovery = named(study, "recovery")[0]
    panels = results.panels("ranks")[: style.MOST_COLUMNS]
    figure, axes = style.new_figure([2.2, 1.3], len(panels))
    targets = series.Targets(results)
    for column, panel in enumerate(panels):
        top, bottom = axes[:, column]
        cell = panel.cells[-1]
        cycles = list(range(1, cell.first_case.cycles + 1))
        x = [float(cycle) for cycle in cycles]
        for name, of in shown.items():
            facts = [cell.facts.get(f"{of}, cycle {cycle}") for cycle in cycles]
            series.draw_series(top, x, facts, style.LOOKS[name])
            for cycle in cycles:
                targets.draw(top, [cycle], f"{of}, cycle {cycle}", [cell], style.LOOKS[name])
            if None not in facts:
                means = [float(f.mean.value) for f in facts if f]
                slope, intercept = np.polyfit(x[1:], means[1:], 1)
                ends = np.array([0.0, 2.0])
                top.plot(ends, slope * ends + intercept, **_FIT, zorder=2)
        style.panel_title(top, panel.label)
        shares = [cell.facts.get(f"{recovery}, cycle {cycle}") for cycle in cycles]
        overhead.draw_recovery(bottom, x, [share.mean if share else None for share in shares])
        bottom.set_xlim(0, len(x) + 0.5)
        bottom.set_xlabel("cycles")
        bottom.xaxis.get_major_locator().set_params(integer=True)
    overhead.label_axes(axes)
    ranks = show_ranks(panels[0].cells[-1].ranks)
    text = overhead.subtitle(results, len(panels), f"{ranks} ranks, ")
    handles = overhead.legend_handles(bounded=False)
    fit = Line2D([], [], **_FIT, label="line through cycles 2 ..., back to 0")
    text.append(targets.left_out)
    style.finish(figure, results.title, text, [*handles, *targets.handles, fit])
    return figure
