"""How long events were: a histogram, and how many the tail rests on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.transforms import ScaledTranslation

from ..measured import Histogram
from ..units import TICKS_PER_SECOND, show_seconds
from . import style, ticks

_BINS_A_DECADE, _MOST_BINS = 16, 120
_WIDE = 30.0  # last bin over first: a logarithmic axis
_THIN = 0.003  # of the axis
_LOWEST = 0.6  # of the axis of events
_ROW = 11.0  # points, of a line of text above the curve
_NAMED = {0.5: "p50", 0.99: "p99", 0.999: "p99.9"}

Floats = npt.NDArray[np.float64]


def draw_events(axes: Axes, values: Floats, facts: dict[str, Any], name: str = "duration") -> None:
    """Single events in seconds: bins of equal ratio, and how many are at least as long.

    Args:
        values: any order; shape (events,).
        facts: from `describe`: quantiles that have enough events behind them.
        name: of the x axis.
    """
    values = np.sort(values[values > 0])
    axes.set_xlabel(name)
    axes.set_ylabel("events")
    if len(values) == 0:
        axes.text(0.5, 0.5, "none", transform=axes.transAxes, ha="center", color=style.GREY)
        return
    low, high = values[0] / 1.02, values[-1] * 1.02
    decades = np.log10(high / low)
    edges = np.geomspace(low, high, int(np.clip(decades * _BINS_A_DECADE, 10, _MOST_BINS)) + 1)
    axes.stairs(np.histogram(values, edges)[0], edges, fill=True, color=style.BLUE, alpha=0.35,
                baseline=0.3)  # fmt: skip
    keep = _thinned(len(values))
    axes.step(np.append(low, values[keep]), np.append(len(values), len(values) - keep),
              where="pre", color=style.ORANGE, linewidth=1.4)  # fmt: skip
    axes.set_yscale("log")
    axes.set_ylim(_LOWEST, _highest(axes, max(len(values), 6)))
    axes.set_xlim(low, high)
    axes.set_xscale("log")
    ticks.log_axis(axes, "s", "x")
    _mark(axes, facts["quantiles"])


def draw_bins(
    panels: Sequence[Axes], parts: Sequence[Histogram], facts: Sequence[dict[str, Any]], what: str
) -> None:
    """Histograms as they were counted, on common axes."""
    spans = [np.flatnonzero(part.counts) for part in parts]
    lows = [part.low[span[0]] / TICKS_PER_SECOND for part, span in zip(parts, spans, strict=True)
            if len(span)]  # fmt: skip
    highs = [part.high[span[-1]] / TICKS_PER_SECOND for part, span in zip(parts, spans, strict=True)
             if len(span)]  # fmt: skip
    low, high = min(lows, default=0.0), max(highs, default=1e-6)
    wide = low > 0 and high / low > _WIDE
    for axes, part, found in zip(panels, parts, facts, strict=False):
        axes.set_yscale("log")
        axes.set_ylim(_LOWEST, _highest(axes, max(6, *(other.total for other in parts))))
        axes.set_xlim(*((low / 1.1, high * 1.1) if wide else (low - 0.02 * (high - low), high)))
        axes.set_xlabel("duration" if what == "detours" else "latency")
        axes.set_ylabel("events")
        if wide:
            axes.set_xscale("log")
            ticks.log_axis(axes, "s", "x")
        else:
            ticks.value_axis(axes, "s")
        if not part.total:
            axes.text(0.5, 0.5, "none", transform=axes.transAxes, ha="center", color=style.GREY)
            continue
        width = (part.high - part.low) / TICKS_PER_SECOND
        thin = width.max() < _THIN * (high - low)  # single values rather than bins
        axes.bar(part.low / TICKS_PER_SECOND, part.counts, width, align="edge", color=style.BLUE,
                 alpha=0.35, linewidth=1.5 * thin, edgecolor=style.BLUE)  # fmt: skip
        above = part.overflow + np.append(np.cumsum(part.counts[::-1])[::-1], 0)
        x = np.stack([part.low, part.high], axis=1).ravel() / TICKS_PER_SECOND
        y = np.stack([above[:-1], above[1:]], axis=1).ravel()
        last = int(np.flatnonzero(y)[-1])  # its level goes on to the next edge
        x = np.concatenate(([axes.get_xlim()[0]], x[: last + 2]))
        y = np.concatenate(([part.total], y[: last + 1], y[last : last + 1]))[: len(x)]
        axes.step(x, y, where="post", color=style.ORANGE, linewidth=1.4)
        _mark(axes, found["quantiles"])
        if part.overflow:
            axes.annotate(f"{part.overflow:,} beyond", (1, 0.06), xycoords="axes fraction",
                          ha="right", fontsize=7.5, color=style.INK)  # fmt: skip


def handles(what: str) -> list[Any]:
    """What the marks mean."""
    return [
        Patch(color=style.BLUE, alpha=0.35, label=f"{what} in a bin"),
        Line2D([], [], color=style.ORANGE, linewidth=1.4, label=f"{what} at least as long"),
    ]


def _highest(axes: Axes, events: int) -> float:
    """The upper end of a logarithmic axis that has room for the marks above so many events."""
    height = axes.get_position().height * axes.figure.get_figheight() * 72
    share = min(1.2 * (len(_NAMED) + 0.5) * _ROW / height, 0.6)
    return float(events * (events / _LOWEST) ** (share / (1 - share)))


def _mark(axes: Axes, quantiles: Sequence[dict[str, Any]]) -> None:
    """Quantiles on the line, and above it the number of events that they rest on."""
    places: dict[
        float, tuple[tuple[str, ...], str, int]
    ] = {}  # of a coarse histogram, several are in one bin
    for quantile in quantiles:
        if quantile["q"] in _NAMED and quantile["value"] is not None:
            known = quantile["value"]
            value, sign = (known, "") if isinstance(known, float) else (known[0], "≥ ")
            if not value:  # at least 0 says nothing
                continue
            names, _, _ = places.get(value, ((), "", 0))
            places[value] = (*names, _NAMED[quantile["q"]]), sign, quantile["events"]
    for row, (value, (names, sign, events)) in enumerate(sorted(places.items())):
        text = f"{', '.join(names)} {sign}{show_seconds(value, 3)}: {events:,} events"
        axes.plot([value], [events], "o", color=style.INK, markersize=3, zorder=5)
        left, right = axes.get_window_extent().intervalx
        start = axes.transData.transform((value, 1))[0] < (left + right) / 2  # where there is room
        down = ScaledTranslation(0, -(row + 0.5) * _ROW / 72, axes.figure.dpi_scale_trans)
        axes.annotate(
            text, (value, events), xytext=(value, 1), textcoords=axes.get_xaxis_transform() + down,
            ha="left" if start else "right", va="center", fontsize=7.5, color=style.INK, zorder=6,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
            arrowprops={"arrowstyle": "-", "color": style.GREY, "linewidth": 0.6, "shrinkA": 0,
                        "shrinkB": 0, "relpos": (0 if start else 1, 0.5)},
        )  # fmt: skip


def _thinned(count: int) -> npt.NDArray[np.int64]:
    """Which of sorted events a line needs: all of the tail, few of the body."""
    if count <= 4000:
        return np.arange(count)
    above = np.unique(np.geomspace(1, count, 3000).astype(np.int64))
    return np.sort(count - above)
