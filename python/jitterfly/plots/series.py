"""A line of a plot: 5-95 % band, error bars, median; its legend.

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
from ..results.main_numbers import MainNumbers
from ..stats import Estimate
from .style import GREY, INK, Look, error_bar_lengths, mark_no_interval

MEDIAN: dict[str, Any] = {"linewidth": 1.3, "linestyle": (0, (1, 1.2))}
_PALE = 0.4
_ALONE = 8.0  # points, the bar of a single position
_OVER = 4.5  # a median stands over the line of means, which may run along it
CAPS: dict[str, Any] = {"capsize": 3.2, "capthick": 1.0}  # wider than a marker that hides them
_MIDDLE: dict[str, Any] = {"linestyle": "none", "marker": "_"}


def draw_series(
    axes: Axes,
    x: FloatsLike,
    facts: Sequence[MainNumbers | None],
    look: Look,
    bar: float | None = None,
) -> None:
    """Draw the 5-95 % band, median, and mean with 95 % interval.

    Parameters
    ----------
    x : float array
        Positions.
    facts : Sequence[MainNumbers | None]
        What is known at each position; None leaves a gap.
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
        markersize=4, elinewidth=1.7, zorder=4, **CAPS,
    )  # fmt: skip


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


def of_interval(facts: Sequence[MainNumbers], *, named: bool = True) -> str:
    """Say what lines of these show: `mean, 95 % interval`, `mean or p99, 95 % interval`.

    `named`: the line has a name, which says the statistic of a target.
    """
    statistics = dict.fromkeys(f.statistic for f in facts if not (named and f.is_target))
    levels = dict.fromkeys(f"{100 * f.mean.confidence:.6g}" for f in facts)
    arrow = " (arrow: too few for an end)" if any(is_open(f.mean) for f in facts) else ""
    interval = " or ".join(levels) + " % interval" + arrow
    return ", ".join(filter(None, [" or ".join(statistics), interval]))


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
