"""How often a time comes up: counts of single realizations in bins, as HM18's Fig. 3."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..observables import Observed
from ..observables.summary import histogram_scale
from ..results import Results
from . import distribution, style

_BINS = 120


def draw(results: Results, observable: str | None = None) -> Figure:
    """A row for each observable, a column for each setting, an outline for each cell.

    Counts are on a logarithmic axis, so that what happens once in all realizations is seen. So are
    the values where the largest is more than eight times the smallest.
    """
    subtitle = f"{_BINS} bins from the least to the largest of each cell, {results.counted}"
    return distribution.draw_panels(results, observable, _line, _finish, "realizations", subtitle)


def _line(axes: Axes, observed: Observed, look: dict[str, Any], _confidence: float) -> None:
    if observed.exact:
        values, counts = observed.samples, None
    else:
        histogram = observed.data.histogram(observed.measure)
        values, counts = histogram.middles() / histogram_scale(observed.measure), histogram.counts
    low, high = float(values.min()), float(values.max())
    if low > 0 and high > 8 * low:
        edges = np.geomspace(low, high * (1 + 1e-9), _BINS + 1)
        axes.set_xscale("log")
    else:
        edges = np.linspace(low, high if high > low else low + 1e-12, _BINS + 1)
    found, _ = np.histogram(values, edges, weights=counts)
    axes.stairs(found, edges, **look)


def _finish(axes: Axes, name: str, unit: str) -> None:
    axes.set_xlabel(name, parse_math=False)
    if axes.get_xscale() == "log":
        style.log_axis(axes, unit, "x")
    else:
        style.value_axis(axes, unit)
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.7)
