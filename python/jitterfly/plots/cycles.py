"""CS14 Fig. 9: overhead over the noiseless case after each cycle, and what redundancy recovers."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..analysis import measures
from ..analysis.results import Results
from . import overhead, style

# Below the series: it shows where it leaves them, left of the first cycle.
_FIT: dict[str, Any] = {"color": "#222222", "linewidth": 1.0, "linestyle": (0, (4, 2))}


def draw(results: Results) -> Figure:
    """One column per panel, at its largest number of ranks; a line carries the fit back to 0."""
    figure, axes = style.new_figure([2.2, 1.3], len(results.panels))
    for column, panel in enumerate(results.panels):
        top, bottom = axes[:, column]
        place = panel.places[-1]
        for name in overhead.NAMES:
            samples = place.overhead[name]
            x = np.arange(1, samples.shape[1] + 1, dtype=float)
            style.draw_series(top, x, list(samples.T), name)
            slope, intercept, _ = measures.line_fit(x[1:], samples.mean(axis=0)[1:])
            ends = np.array([0.0, 2.0])
            top.plot(ends, slope * ends + intercept, **_FIT, zorder=2)
        top.set_title(panel.label, fontsize=9, parse_math=False)
        overhead.draw_recovery(bottom, x, [place.recovery(cycle) for cycle in range(len(x))])
        bottom.set_xlim(0, len(x) + 0.5)
        bottom.set_xlabel("cycles")
        bottom.xaxis.get_major_locator().set_params(integer=True)
    overhead.label_axes(axes)
    exponent = results.panels[0].places[-1].ranks.bit_length() - 1
    text = f"$2^{{{exponent}}}$ ranks, {overhead.subtitle(results)}"
    handles = overhead.legend_handles(bounded=False)
    fit = Line2D([], [], **_FIT, label="line through cycles 2 ..., back to 0")
    style.finish(figure, results.study.title, text, [*handles, fit])
    return figure
