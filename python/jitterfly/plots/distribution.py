"""Distribution plots: empirical cumulative distribution (ECDF), histogram, tail (CCDF).

Each is ``draw_KIND(results, observable)`` for a kind of figure that a study may ask for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator, PercentFormatter

from ..observables import Observed
from ..observables.summary import histogram_scale
from ..results import CellResults, Panel, Results, figures
from ..results.figures import evenly
from . import style

Floats = npt.NDArray[np.float64]

#: The quantiles that are named at a tail; p99.99 is the end of the longest picture.
NAMED = {"p50": 0.5, "p90": 0.1, "p99": 1e-2, "p99.9": 1e-3, "p99.99": 1e-4}
_STEPS = 400
_PER_DECADE = 16


def steps(observed: Observed) -> tuple[Floats, Floats]:
    """The values and the share of realizations at or below each, as a step function from 0 to 1."""
    count = min(observed.realizations, _STEPS)
    at = np.arange(1, count + 1) / count
    values = [float(observed.quantile(float(share)).value) for share in at[:-1]]
    values.append(observed.maximum())
    return np.array([values[0], *values]), np.array([0.0, *at])


def tail(observed: Observed, confidence: float = 0.95) -> tuple[Floats, Floats, Floats, Floats]:
    """The upper half of a distribution, to p99.99 or as far as the sample goes.

    Shares of the realizations, the values that they are above, and both ends of these quantiles'
    intervals: order statistics, infinite where the sample is too small for them.
    """
    count = observed.realizations
    decades = np.arange(np.log10(0.5), -4 - 1e-9, -1 / _PER_DECADE)
    share = np.unique(np.concatenate([10.0**decades, list(NAMED.values())]))[::-1]
    share = share[share >= min(1 / count, 0.5)]
    found = [observed.quantile(float(q), confidence) for q in 1 - share]
    value, low, high = (
        np.array([float(getattr(e, name)) for e in found]) for name in ("value", "low", "high")
    )
    return share, value, low, high


_MAX_ROWS, _MAX_LINES = 4, 6
_LINES = ["-", (0, (5, 1.5)), (0, (1, 1)), "-.", (0, (8, 1.5, 1, 1.5, 1, 1.5)), (0, (2.5, 1.2))]


def draw_panels(
    results: Results,
    observable: str | None,
    line: Callable[[Axes, Observed, dict[str, Any], float], None],
    finish: Callable[[Axes, str, str], None],
    ylabel: str,
    subtitle: str,
) -> Figure:
    """Let `line` draw each cell and `finish` each panel; one legend is below all of them.

    The last argument of `line` is the confidence of intervals that hold with 95 % although the
    data may have decided when to stop.
    """
    everything = results.panels()
    settings = results.settings(style.MAX_COLUMNS)
    panels = [panel for panel in everything if panel.is_in(settings)]
    known = (
        figures.shown_names(results.study, observable)
        if observable
        else _with_distribution(results, panels)
    )
    names = known[:_MAX_ROWS]
    figure, axes = style.new_figure([2.1] * len(names), len(panels), sharex="row", sharey=True)
    looks = _line_styles(results, panels, names)
    for i, name in enumerate(names):
        for j, panel in enumerate(panels):
            _draw_panel(results, axes[i, j], panel, name, line, looks)
            style.panel_title(axes[i, j], panel.label if i == 0 else "")
        for j, panel in enumerate(panels):
            unit = next((s.summaries[name].unit for s in panel.known(name)), "")
            finish(axes[i, j], figures.quantity(results.study, name), unit)
        axes[i, 0].set_ylabel(ylabel)
    shown = sum(_value(results, cell) in looks for panel in panels for cell in panel.cells)
    left = [
        style.observables_left_out(names, known),
        style.count_left_out(len(panels), len(everything), "settings"),
        figures.axis_values_left_out(results.study, settings),
        style.count_left_out(shown, len(results.cells), "cells"),
    ]
    style.finish(figure, results.title, [subtitle, results.state, *left])
    return figure


def _value(results: Results, cell: CellResults) -> Any:
    """The value of a cell on the axis whose values are the lines."""
    return cell.coordinates[results.axis] if results.axis else ""


def _line_styles(
    results: Results, panels: list[Panel], names: list[str]
) -> dict[Any, dict[str, Any]]:
    """The values of the axis that are shown, the same in all panels, and how they are drawn."""
    known = {_value(results, cell) for panel in panels for name in names
             for cell in panel.known(name)}  # fmt: skip
    title = figures.axis_title(results.study, results.axis) if results.axis else ""
    shown = evenly([value for value in results.axis_scale.values if value in known], _MAX_LINES)
    return {
        value: {
            "color": mpl.colormaps["cividis"](0.75 * number / max(len(shown) - 1, 1)),
            "linestyle": _LINES[number % len(_LINES)], "linewidth": 1.5,
            "label": f"{title} = {results.axis_scale.plain(value)}" if title else "",
        }
        for number, value in enumerate(shown)
    }  # fmt: skip


def _with_distribution(results: Results, panels: list[Panel]) -> list[str]:
    """The observables whose single realizations have a value, the first few."""
    names = []
    for name in results.names:
        cells = [cell for panel in panels for cell in panel.known(name)]
        if not cells or cells[0].summaries[name].quantiles is not None:
            names.append(name)
    if not names:
        raise results.study.error("no observable whose single realizations have a value")
    return names


def _draw_panel(
    results: Results, axes: Axes, panel: Panel, name: str, line: Any, looks: dict[Any, Any]
) -> None:
    """Draw the distribution of each cell of a panel, by the function `line`."""
    for cell in panel.known(name):
        look = looks.get(_value(results, cell))
        if look is None:
            continue
        observed = cell.observed(name)
        if observed is None or not observed.has_distribution:
            axis = "observable must be one whose single realizations have a value"
            raise results.study.error(f"{axis}, and {name!r} is not")
        line(axes, observed, dict(look), cell.decision.level())


def draw_distribution(results: Results, observable: str | None = None) -> Figure:
    """A row for each observable, a column for each setting, a line for each cell."""
    subtitle = f"cumulative distribution, {results.counted}"
    return draw_panels(
        results, observable, _cumulative_line, _cumulative_axes, "share at or below", subtitle
    )


def _cumulative_line(
    axes: Axes, observed: Observed, look: dict[str, Any], _confidence: float
) -> None:
    values, shares = steps(observed)
    axes.step(values, shares, where="post", **look)


def _cumulative_axes(axes: Axes, name: str, unit: str) -> None:
    axes.set_xlabel(name, parse_math=False)
    style.value_axis(axes, unit)
    axes.set_ylim(-0.02, 1.02)
    axes.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1])
    axes.yaxis.set_major_formatter(PercentFormatter(1, 0, " %"))


_BINS = 120


def draw_histogram(results: Results, observable: str | None = None) -> Figure:
    """A row for each observable, a column for each setting, an outline for each cell.

    Counts are on a logarithmic axis, so that what happens once in all realizations is seen. So are
    the values where the largest is more than eight times the smallest.
    """
    subtitle = f"{_BINS} bins from the least to the largest of each cell, {results.counted}"
    return draw_panels(
        results, observable, _histogram_line, _histogram_axes, "realizations", subtitle
    )


def _histogram_line(
    axes: Axes, observed: Observed, look: dict[str, Any], _confidence: float
) -> None:
    """Draw the outline of a histogram, of samples or of the buckets that are kept."""
    samples = observed.samples if observed.exact else None
    counts = None
    if samples is not None:
        values = samples
    else:
        histogram = observed.data.histogram(observed.measure)
        values, counts = histogram.middles() / histogram_scale(observed.measure), histogram.counts
    low, high = float(values.min()), float(values.max())
    if style.wants_log([low, high]):
        edges = np.geomspace(low, high * (1 + 1e-9), _BINS + 1)
        axes.set_xscale("log")
    else:
        edges = np.linspace(low, high if high > low else low + 1e-12, _BINS + 1)
    found, _ = np.histogram(values, edges, weights=counts)
    axes.stairs(found, edges, **look)


def _histogram_axes(axes: Axes, name: str, unit: str) -> None:
    """Scale the axes of histograms: times along, counts in powers of ten up."""
    axes.set_xlabel(name, parse_math=False)
    if axes.get_xscale() == "log":
        style.log_axis(axes, unit, "x")
    else:
        style.value_axis(axes, unit)
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.7)


def draw_tail(results: Results, observable: str | None = None) -> Figure:
    """A row for each observable, a column for each setting, a line with a band for each cell.

    Bands are 95 % intervals between order statistics. Where the sample is too small for one, the
    line goes on, thin and without.
    """
    subtitle = f"{results.counted}; bands: 95 % intervals; thin: too few realizations for one"
    return draw_panels(
        results, observable, _tail_line, _tail_axes, "share of realizations above", subtitle
    )


def _tail_line(axes: Axes, observed: Observed, look: dict[str, Any], confidence: float) -> None:
    """Draw a tail with its band; as a thin line where realizations are too few for an interval."""
    share, value, low, high = tail(observed, confidence)
    known = np.isfinite(low) & np.isfinite(high)
    axes.plot(value[known], share[known], drawstyle="steps-post", **look)
    axes.fill_betweenx(share[known], low[known], high[known],
                       color=look["color"], alpha=0.25, linewidth=0, step="pre")  # fmt: skip
    too_few = ~known
    if known.any() and too_few.any():  # so that the thin line begins where the thick one ends
        too_few[np.flatnonzero(known)[-1]] = True
    axes.plot(value[too_few], share[too_few], color=look["color"], linewidth=0.6,
              drawstyle="steps-post")  # fmt: skip


def _tail_axes(axes: Axes, name: str, unit: str) -> None:
    """Scale the axes of tails: times along, shares in powers of ten up, down to those of a line."""
    axes.set_xlabel(name, parse_math=False)
    style.value_axis(axes, unit)
    axes.set_yscale("log")
    panels = axes.get_shared_y_axes().get_siblings(axes)  # with one axis, as far as any line goes
    shares = [share for panel in panels for line in panel.lines for share in line.get_ydata()]
    axes.set_ylim(0.7 * min(shares, default=0.5), 0.6)
    axes.yaxis.set_major_locator(FixedLocator(list(NAMED.values())))
    axes.yaxis.set_minor_locator(NullLocator())
    names = {share: f"{share:.4g} ({name})" for name, share in NAMED.items()}
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: names.get(y, "")))
