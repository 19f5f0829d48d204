"""How single realizations are distributed: the share at or below each value, cell by cell."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from ..analysis.results import Results
from ..analysis.tails import steps
from ..observables import Observed
from . import spread, ticks


def draw(results: Results, observable: str | None = None) -> Figure:
    """A row for each observable, a column for each setting, a line for each cell."""
    subtitle = f"cumulative distribution, {results.counted}"
    return spread.draw(results, observable, _line, _finish, "share at or below", subtitle)


def _line(axes: Axes, observed: Observed, look: dict[str, Any], _confidence: float) -> None:
    values, shares = steps(observed)
    axes.step(values, shares, where="post", **look)


def _finish(axes: Axes, name: str, unit: str) -> None:
    axes.set_xlabel(name, parse_math=False)
    ticks.value_axis(axes, unit)
    axes.set_ylim(-0.02, 1.02)
    axes.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1])
    axes.yaxis.set_major_formatter(PercentFormatter(1, 0, " %"))
