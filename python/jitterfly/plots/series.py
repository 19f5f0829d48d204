"""A line of a plot: 5-95 % band, error bars, median, thin bars of 30 runs; its legend.

Which quantiles the band has: `results.main_numbers`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..fields import FloatsLike
from ..results import CellResults, Results
from ..results.main_numbers import RUNS, MainNumbers
from ..stats import Estimate
from .style import GREY, INK, Look, error_bar_lengths, mark_no_interval

MEDIAN: dict[str, Any] = {"linewidth": 1.3, "linestyle": (0, (1, 1.2))}
_PALE = 0.4
_ALONE = 8.0  # points, the bar of a single position
_OVER = 4.5  # a median stands over the line of means, which may run along it
_CAPS: dict[str, Any] = {"capsize": 3.2, "capthick": 1.0}  # wider than a marker that hides them
_MIDDLE: dict[str, Any] = {"linestyle": "none", "marker": "_"}
_TARGET: dict[str, Any] = {
    "marker": "*",
    "markersize": 6,
    "linewidth": 1.1,
    "linestyle": (0, (3, 2)),
}
ESTIMATE: dict[str, Any] = {"color": "black", "marker": "D", "markersize": 3, "linewidth": 1.2}


def draw_series(
    axes: Axes,
    x: FloatsLike,
    facts: Sequence[MainNumbers | None],
    look: Look,
    few_runs: bool = True,
    bar: float | None = None,
) -> None:
    """Draw the 5-95 % band, median, mean with 95 % interval, and a 30-run mean with its range.

    Parameters
    ----------
    x : float array
        Positions.
    facts : Sequence[MainNumbers | None]
        What is known at each position; None leaves a gap.
    few_runs : bool
        Whether 30-run means are drawn.
    bar : float, optional
        Points; the 5-95 % range is a pale bar as wide at each position, not a band.
    """
    x = np.asarray(x, dtype=float)
    bar = _ALONE if bar is None and len(x) == 1 else bar  # a band needs two positions
    bands = np.array(
        [f.quantiles if f is not None and f.quantiles else (np.nan,) * 3 for f in facts]
    )
    if np.isfinite(bands).any():
        low, middle, high = bands.T
        if bar is None:
            axes.fill_between(
                x, low, high, facecolor=look.color, alpha=0.22, hatch=look.hatch,
                edgecolor=look.color, linewidth=0, zorder=1,
            )  # fmt: skip
            axes.plot(x, middle, color=look.dark, **MEDIAN, zorder=_OVER)
        else:
            axes.vlines(x, low, high, color=look.color, alpha=_PALE, linewidth=bar, zorder=2)
            axes.plot(
                x, middle, color=look.dark, **_MIDDLE, markersize=3.5 + 1.5 * bar, zorder=_OVER
            )
    draw_means(
        axes, x, [f.mean if f is not None else None for f in facts], **look.marked, linewidth=1.7,
        markersize=4, elinewidth=1.7, zorder=4, **({} if few_runs else _CAPS),
    )  # fmt: skip
    if few_runs:
        _draw_few_runs(axes, x, facts, look)


def draw_means(axes: Axes, x: FloatsLike, means: Sequence[Estimate | None], **options: Any) -> None:
    """Draw values joined by a line, with error bars; a ring around one that has no ends.

    An arrow stands for the end that is not known where the other one is.
    """
    values = [np.nan if e is None else float(e.value) for e in means]
    axes.errorbar(x, values, yerr=error_bar_lengths(means), **options)
    for at, estimate in zip(x, means, strict=True):
        if estimate is None or not estimate.too_small:
            continue
        if is_open(estimate):  # one end is known
            up = np.isfinite(estimate.low)
            axes.annotate("", (at, estimate.value), xytext=(0, 13 if up else -13),
                          textcoords="offset points", annotation_clip=True,
                          arrowprops={"arrowstyle": "<-", "color": options.get("color"),
                                      "linewidth": 0.9, "shrinkA": 0, "shrinkB": 0})  # fmt: skip
        elif np.isfinite(estimate.value):
            mark_no_interval(axes, at, float(estimate.value), color=options.get("color"))


def is_open(estimate: Estimate) -> bool:
    """Return whether one end of the interval is known, and the other is not."""
    return bool(np.isfinite(estimate.low) != np.isfinite(estimate.high))


def draw_estimates(axes: Axes, x: Sequence[float], estimates: Sequence[Estimate | None]) -> None:
    """Draw values with their 95 % intervals, in black: what compares two algorithms."""
    draw_means(axes, x, estimates, **ESTIMATE, elinewidth=1.2, capsize=2)


class Targets:
    """A study's targets that are no observable's mean, drawn beside that mean.

    `handles` say what was drawn so far, `not_shown` what has no place in the figure.
    """

    def __init__(self, results: Results) -> None:
        self._results = results
        self._drawn: dict[str, Any] = {}

    def draw(
        self, axes: Axes, x: Sequence[float], name: str, cells: Sequence[CellResults], look: Look
    ) -> None:
        """Draw the targets of the observable `name` at cells, each with its interval."""
        for column in self._results.targets_of(name):
            facts = [cell.facts.get(column) for cell in cells]
            known = [f for f in facts if f is not None and np.isfinite(f.mean.value)]
            if not known or known[0].statistic == "win probability":  # it has another axis
                continue
            means = [None if f is None else f.mean for f in facts]
            draw_means(axes, x, means, color=look.dark, **_TARGET, elinewidth=1.1, zorder=4,
                       **_CAPS)  # fmt: skip
            label = f"{column.replace('_', ' ')}: {of_interval(known)}"
            self._drawn[column] = Line2D([], [], color=look.dark, **_TARGET, label=label)

    @property
    def handles(self) -> list[Any]:
        """The entries of the targets in a legend."""
        return list(self._drawn.values())

    @property
    def not_shown(self) -> str:
        """The targets that are not drawn, for a subtitle; empty where all are."""
        others = [
            t.column
            for t in self._results.study.targets
            if t.column != t.observable and t.column not in self._drawn
        ]
        return f"not in this figure: {', '.join(dict.fromkeys(others))}" if others else ""


def of_interval(facts: Sequence[MainNumbers], *, named: bool = True) -> str:
    """Say what lines of these show: `mean, 95 % interval`, `mean or p99, 95 % interval`.

    `named`: the line has a name, which says the statistic of a target.
    """
    statistics = dict.fromkeys(f.statistic for f in facts if not (named and f.is_target))
    levels = dict.fromkeys(f"{100 * f.mean.confidence:.6g}" for f in facts)
    arrow = " (arrow: too few for an end)" if any(is_open(f.mean) for f in facts) else ""
    interval = " or ".join(levels) + " % interval" + arrow
    return ", ".join(filter(None, [" or ".join(statistics), interval]))


def _draw_few_runs(axes: Axes, x: Any, facts: Sequence[MainNumbers | None], look: Look) -> None:
    kept = [(at, f.few) for at, f in zip(x, facts, strict=True) if f is not None and f.few]
    if not kept:
        return
    at = np.array([position for position, _ in kept]) + look.shift
    # The one 30-run mean that is shown may lie outside the range of most others.
    axes.vlines(
        at, [float(few.low) for _, few in kept], [float(few.high) for _, few in kept], color=INK,
        linewidth=0.7, zorder=3,
    )  # fmt: skip
    axes.plot(
        at, [float(few.value) for _, few in kept], linestyle="none", marker=look.marker,
        markersize=3.6, markerfacecolor="white", markeredgecolor=INK, markeredgewidth=0.7, zorder=5,
    )  # fmt: skip


def legend_handles(
    looks: dict[str, Look], *, bands: bool = True, few_runs: bool = True
) -> list[Any]:
    """The legend of the marks of `draw_series`, series by series."""
    handles = [line_handle(look, f"{name}: mean, 95 % interval") for name, look in looks.items()]
    if bands:
        handles += band_handles(looks)
    if few_runs:
        handles.append(
            Line2D([], [], color=INK, marker="o", markersize=3.6, linewidth=0.7,
                   markerfacecolor="white",
                   label=f"a {RUNS}-run mean, and the 5–95 % range of such means")
        )  # fmt: skip
    return handles


def band_handles(looks: dict[str, Look]) -> list[Any]:
    """The bands of these series, and the median inside."""
    handles: list[Any] = [
        Patch(facecolor=(*mpl.colors.to_rgb(look.color), 0.22), hatch=look.hatch,
              edgecolor=look.color, linewidth=0, label=f"{name}: 5–95 % of realizations")
        for name, look in looks.items()
    ]  # fmt: skip
    return handles + [Line2D([], [], color=GREY, label="median", **MEDIAN)] * bool(looks)


def range_handles(interval: str) -> list[Any]:
    """The legend of the bars where they are not bands, for all series alike."""
    return [
        Line2D([], [], color=GREY, marker="o", markersize=4, linewidth=1.7, label=interval),
        Patch(facecolor=GREY, alpha=_PALE, linewidth=0,
              label="pale bar: 5–95 % of realizations"),
        Line2D([], [], color=INK, **_MIDDLE, markersize=6, label="median"),
    ]  # fmt: skip


def line_handle(look: Look, label: str) -> Any:
    """A series; also one of whole numbers, whose bars are sets."""
    return Line2D([], [], **look.marked, linewidth=1.7, markersize=4, label=label)
