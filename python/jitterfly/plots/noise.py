"""Figures of measured noise: timeline, histogram, periodogram, LogGP parameters."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations, product
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.patches import Patch
from matplotlib.transforms import ScaledTranslation

from ..fields import counted
from ..measured.description import grid_of
from ..measured.measurements import (
    CollectiveTable,
    CpuNoise,
    Detours,
    Histogram,
    Latencies,
    LatencySummary,
    LogGPTable,
    Measured,
    PerRankSamples,
)
from ..measured.periods import MIN_FOR_PERIODS, periodogram, seconds_of
from ..units import TICKS_PER_SECOND, show_seconds
from . import draw, style

Floats = npt.NDArray[np.float64]

_MAX_COLUMNS, _MAX_PANELS = 4, 12


def draw_measured(measured: Measured, path: Path, facts: dict[str, Any]) -> None:
    """Draw what a file holds into `path`, whose ending decides the format (png, pdf, svg).

    Parameters
    ----------
    facts : dict[str, Any]
        From `measured.describe`.

    Raises
    ------
    ValueError
        No matplotlib, or an ending that it does not know.
    OSError
        The file can not be written.
    """
    draw.check_path(path)
    with draw.drawing():
        draw.save(figure_of_measured(measured, facts), path)


def figure_of_measured(measured: Measured, facts: dict[str, Any]) -> Any:
    """The matplotlib Figure: a column, or a panel, for each part."""
    first = measured.parts[0]
    parts: list[Any] = list(measured.parts)
    known = list(facts["parts"])
    if isinstance(first, Detours):
        return _detours(measured, parts[:_MAX_COLUMNS], known)
    if isinstance(first, Histogram):
        return _histograms(measured, parts[:_MAX_PANELS], known)
    if isinstance(first, (Latencies, PerRankSamples)):
        return _samples(measured, parts[:_MAX_COLUMNS], known)
    if isinstance(first, CollectiveTable):
        figure = collectives(parts[:_MAX_PANELS])
    elif isinstance(first, LogGPTable):
        figure = loggp(first)
    elif isinstance(first, CpuNoise):
        figure = shares(parts)
    elif isinstance(first, LatencySummary):
        figure = longest_latencies(parts)
    else:
        raise ValueError(f"there is no picture of {type(first).__name__}")
    style.finish(figure, _title(measured), _subtitle(measured))
    return figure


def _detours(measured: Measured, parts: list[Any], facts: list[dict[str, Any]]) -> Any:
    """Draw for each CPU the timeline of its detours, their durations, and a periodogram."""
    figure, axes = style.new_figure([1.35, 1.6, 1.35], len(parts), sharex=False, sharey="row")
    limits: list[tuple[float, float]] = [(np.inf, 0.0)] * 3
    for column, (part, part_facts) in enumerate(zip(parts, facts, strict=False)):
        draw_timeline(axes[0, column], part)
        draw_events(axes[1, column], part.durations / TICKS_PER_SECOND, part_facts, "detours")
        draw_periodogram(axes[2, column], part, part_facts, grid_of(measured, part))
        if len(measured.parts) > 1:
            style.panel_title(axes[0, column], _part_title(part, column))
        _join(axes, column, limits)
    count = sum(len(part.starts) for part in measured.parts if isinstance(part, Detours))
    subtitle = [
        counted(count, "detour"),
        *_cut(measured, parts),
        *_subtitle(measured),
    ]
    many = any(len(part.starts) > _MAX_POINTS for part in parts)
    handles = [Patch(color=_COLOURS(0.6), label="many detours (lighter: one)")] * many
    style.finish(figure, _title(measured), subtitle, handles)
    return figure


def _histograms(measured: Measured, parts: list[Any], facts: list[dict[str, Any]]) -> Any:
    """Draw the histogram of each part."""
    columns = min(len(parts), 2 if len(parts) <= 4 else _MAX_COLUMNS)
    rows = -(-len(parts) // columns)
    height = 2.4 if rows == 1 else 1.7
    figure, axes = style.new_figure([height] * rows, columns, sharex=True, sharey=True)
    flat = list(axes.flat)
    style.hide(flat[len(parts) :])
    what = "detours" if parts[0].what == "detour" else "wake-ups"
    draw_bins(flat[: len(parts)], parts, facts, what)
    for number, (axis, part) in enumerate(zip(flat, parts, strict=False)):
        if len(parts) > 1:
            style.panel_title(axis, _part_title(part, number))
        if number % columns:
            axis.set_ylabel("")
        if number + columns < len(parts):
            axis.set_xlabel("")
        axis.tick_params(labelbottom=number + columns >= len(parts))
    total = sum(part.total for part in measured.parts if isinstance(part, Histogram))
    subtitle = [f"{total:,} {what}", *_cut(measured, parts), *_subtitle(measured)]
    style.finish(figure, _title(measured), subtitle)
    return figure


def _samples(measured: Measured, parts: list[Any], facts: list[dict[str, Any]]) -> Any:
    """Draw the samples of each part in their order, and below them their distribution."""
    figure, axes = style.new_figure([1.35, 1.7], len(parts), sharex=False, sharey="row")
    limits: list[tuple[float, float]] = [(np.inf, 0.0)] * 2
    what = "iterations" if isinstance(parts[0], PerRankSamples) else "messages"
    for column, (part, part_facts) in enumerate(zip(parts, facts, strict=False)):
        several = isinstance(part, PerRankSamples)
        values = part.times.max(axis=1) if several else part.samples
        name = "slowest rank" if several else "latency"
        draw_samples(axes[0, column], values, name)
        draw_events(axes[1, column], values, part_facts, what, name)
        _join(axes, column, limits)
    subtitle = [
        f"{sum(part_facts.get('count', 0) for part_facts in facts):,} {what}",
        *_subtitle(measured),
    ]
    style.finish(figure, _title(measured), subtitle)
    return figure


def _join(axes: Any, column: int, limits: list[tuple[float, float]]) -> None:
    """Let a row's common y axis hold all of its panels so far."""
    for row, (low, high) in enumerate(limits):
        axis = axes[row, column]
        bottom, top = axis.get_ylim()
        if axis.get_yscale() == "log":  # a panel without events has no scale
            limits[row] = min(low, bottom), max(high, top)
        if np.isfinite(limits[row][0]):
            axis.set_ylim(*limits[row])
            if row == 0:  # its ticks are of the range of all panels
                style.log_axis(axis, "s")
        if column:
            axis.set_ylabel("")


def _part_title(part: Any, number: int) -> str:
    """Return the CPU of a part, and how many events it has in which time."""
    parts = [f"CPU {part.cpu}" if part.cpu else f"part {number + 1}"]
    if isinstance(part, Detours):
        parts.append(f"{len(part.starts):,} in {show_seconds(part.length / TICKS_PER_SECOND, 3)}")
    elif part.observed is None:
        parts.append(f"{part.total:,}")
    else:
        parts.append(f"{part.total:,} in {show_seconds(part.observed / TICKS_PER_SECOND, 3)}")
    return ": ".join(parts)


def _title(measured: Measured) -> str:
    """Return the machine that was measured, or the file."""
    source = measured.source
    return source.get("machine") or source.get("nodes") or source.get("file") or measured.format


def _subtitle(measured: Measured) -> list[str]:
    """Return what recorded it, when, and whether it is to be trusted, in lines."""
    source = measured.source
    kernel = source.get("kernel", "").split(" #")[0]  # without the line of its build
    tool = source.get("tool") or measured.format
    distrust = ""
    if "untrusted" in source:  # reasons of each CPU; the text output has all
        distrust = textwrap.shorten(
            f"not to be trusted: {source['untrusted']}", 200, placeholder=" ..."
        )
    return [
        distrust,
        *(source.get(key, "") for key in ("command", "date") if source.get(key) != tool),
        tool,
        kernel,
    ]


def _cut(measured: Measured, parts: list[Any]) -> list[str]:
    return [style.count_left_out(len(parts), len(measured.parts), "parts are shown")]


def _say_none(axes: Axes, why: str = "none") -> None:
    """Leave a panel empty, without numbers on its axes, which would be those of another panel."""
    axes.text(0.5, 0.5, why, transform=axes.transAxes, ha="center", color=style.GREY)
    axes.tick_params(bottom=False, labelbottom=False)
    if len(axes.get_shared_y_axes().get_siblings(axes)) == 1:  # else they are its neighbours', too
        axes.tick_params(left=False, labelleft=False)
    axes.grid(visible=False)


_FEW_POINTS = 100  # up to this many they are large
_EDGE = 0.01  # of the time that was observed
_MAX_POINTS = 5_000  # beyond that, where they are dense is counted
_GRID = (500, 130)  # cells, each a dot of the picture or two
_COLOURS = mpl.colormaps["viridis_r"]
_LONGEST = 200  # up to this many of them are drawn as points in any case


def draw_timeline(axes: Axes, detours: Detours) -> None:
    """Draw duration (logarithmic) over start; a million take as long as a thousand."""
    starts = detours.starts / float(TICKS_PER_SECOND)
    _cloud(axes, starts, detours.durations / float(TICKS_PER_SECOND))
    if detours.threshold and len(starts):
        axes.axhline(detours.threshold / TICKS_PER_SECOND, color=style.GREY, linewidth=0.8,
                     linestyle=":", label="shorter ones were not recorded")  # fmt: skip
        low, high = axes.get_ylim()
        axes.set_ylim(min(low, detours.threshold / TICKS_PER_SECOND / 1.3), high)  # it is seen
    length = detours.length / TICKS_PER_SECOND
    axes.set_xlim(-_EDGE * length, (1 + _EDGE) * length)  # an event at either end is whole
    style.value_axis(axes, "s", linear=True)
    axes.set_xlabel("start")
    axes.set_ylabel("duration")


def draw_samples(axes: Axes, values: Floats, name: str) -> None:
    """Draw any times in their order."""
    _cloud(axes, np.arange(len(values), dtype=np.float64), values)
    axes.set_xlim(0, max(len(values), 1))
    axes.set_xlabel("number")
    axes.set_ylabel(name)


def _cloud(axes: Axes, x: Floats, y: Floats) -> None:
    """Draw events over time: points, or where they are very many a map of their number."""
    good = y > 0
    x, y = x[good], y[good]
    look: dict[str, Any] = {"color": style.BLUE, "linewidth": 0, "rasterized": True}
    if len(y) == 0:
        _say_none(axes)
        return
    axes.set_yscale("log")
    low, high = float(y.min()), float(y.max())
    axes.set_ylim(low / 1.3, high * 1.5)
    if len(y) > _MAX_POINTS:
        edges = (
            np.linspace(0, x[-1] * (1 + 1e-9), _GRID[0] + 1),
            np.geomspace(low / 1.3, high * 1.5, _GRID[1] + 1),
        )
        counts = np.histogram2d(x, y, bins=edges)[0].T
        axes.pcolormesh(*edges, np.ma.masked_equal(counts, 0), cmap=_COLOURS, rasterized=True,
                        norm=LogNorm(0.3, max(counts.max(), 10)))  # fmt: skip
        # Of equally long ones all or none: some of them would look like a cluster.
        longest = y > np.partition(y, -_LONGEST - 1)[-_LONGEST - 1]
        x, y = x[longest], y[longest]
        look |= {"color": style.INK, "label": f"one of the longest (up to {_LONGEST})"}
    axes.plot(x, y, ".", markersize=2.2 if len(y) > _FEW_POINTS else 6, clip_on=False, **look)
    style.log_axis(axes, "s")


_BINS_A_DECADE, _MAX_BINS = 16, 120
_WIDE = 30.0  # last bin over first: a logarithmic axis
_THIN = 0.003  # of the axis
_LOWEST = 0.6  # of the axis of events
_ROW = 11.0  # points, of a line of text above the curve
_LETTER = 4.2  # points, of one in it
_NAMED = {0.5: "p50", 0.99: "p99", 0.999: "p99.9"}


def draw_events(
    axes: Axes, values: Floats, facts: dict[str, Any], what: str, name: str = "duration"
) -> None:
    """Draw single events in seconds: bins of equal ratio, and how many are at least as long.

    Parameters
    ----------
    values : Floats
        Any order; shape (events,).
    facts : dict[str, Any]
        From `describe`: quantiles that have enough events behind them.
    what : str
        The name of the events.
    name : str
        Of the x axis.
    """
    values = np.sort(values[values > 0])
    axes.set_xlabel(name)
    axes.set_ylabel("events")
    if len(values) == 0:
        _say_none(axes)
        return
    low, high = values[0] / 1.02, values[-1] * 1.02
    decades = np.log10(high / low)
    edges = np.geomspace(low, high, int(np.clip(decades * _BINS_A_DECADE, 10, _MAX_BINS)) + 1)
    axes.stairs(np.histogram(values, edges)[0], edges, fill=True, color=style.BLUE, alpha=0.35,
                baseline=0.3, label=f"{what} in a bin")  # fmt: skip
    keep = _thinned(len(values))
    axes.step(np.append(low, values[keep]), np.append(len(values), len(values) - keep),
              where="pre", color=style.ORANGE, linewidth=1.4,
              label=f"{what} at least as long")  # fmt: skip
    axes.set_yscale("log")
    axes.set_ylim(_LOWEST, _highest(axes, max(len(values), 6)))
    axes.set_xlim(low, high)
    axes.set_xscale("log")
    style.log_axis(axes, "s", "x")
    _mark_quantiles(axes, facts["quantiles"])


def draw_bins(
    panels: Sequence[Axes], parts: Sequence[Histogram], facts: Sequence[dict[str, Any]], what: str
) -> None:
    """Draw histograms as they were counted, on common axes."""
    spans = [np.flatnonzero(part.counts) for part in parts]
    lows = [part.low[span[0]] / TICKS_PER_SECOND for part, span in zip(parts, spans, strict=True)
            if len(span)]  # fmt: skip
    highs = [part.high[span[-1]] / TICKS_PER_SECOND for part, span in zip(parts, spans, strict=True)
             if len(span)]  # fmt: skip
    low, high = min(lows, default=0.0), max(highs, default=1e-6)
    wide = low > 0 and high / low > _WIDE
    for axes, part, part_facts in zip(panels, parts, facts, strict=False):
        axes.set_yscale("log")
        axes.set_ylim(_LOWEST, _highest(axes, max(6, *(other.total for other in parts))))
        axes.set_xlim(*((low / 1.1, high * 1.1) if wide else (low - 0.02 * (high - low), high)))
        axes.set_xlabel("duration" if what == "detours" else "latency")
        axes.set_ylabel("events")
        if wide:
            axes.set_xscale("log")
            style.log_axis(axes, "s", "x")
        else:
            style.value_axis(axes, "s")
        if not part.total:
            axes.text(0.5, 0.5, "none", transform=axes.transAxes, ha="center", color=style.GREY)
            continue
        width = (part.high - part.low) / TICKS_PER_SECOND
        thin = width.max() < _THIN * (high - low)  # single values rather than bins
        axes.bar(part.low / TICKS_PER_SECOND, part.counts, width, align="edge", color=style.BLUE,
                 alpha=0.35, linewidth=1.5 * thin, edgecolor=style.BLUE,
                 label=f"{what} in a bin")  # fmt: skip
        above = part.overflow + np.append(np.cumsum(part.counts[::-1])[::-1], 0)
        x = np.stack([part.low, part.high], axis=1).ravel() / TICKS_PER_SECOND
        y = np.stack([above[:-1], above[1:]], axis=1).ravel()
        last = int(np.flatnonzero(y)[-1])  # its level goes on to the next edge
        x = np.concatenate(([axes.get_xlim()[0]], x[: last + 2]))
        y = np.concatenate(([part.total], y[: last + 1], y[last : last + 1]))[: len(x)]
        axes.step(x, y, where="post", color=style.ORANGE, linewidth=1.4,
                  label=f"{what} at least as long")  # fmt: skip
        _mark_quantiles(axes, part_facts["quantiles"])
        if part.overflow:
            axes.annotate(f"{part.overflow:,} beyond", (1, 0.06), xycoords="axes fraction",
                          ha="right", fontsize=7.5, color=style.INK)  # fmt: skip


def _highest(axes: Axes, events: int) -> float:
    """The upper end of a logarithmic axis that has room for the marks above this many events."""
    height = axes.get_position().height * style.figure_holding(axes).get_figheight() * 72
    share = min(1.2 * (len(_NAMED) + 0.5) * _ROW / height, 0.6)
    return float(events * (events / _LOWEST) ** (share / (1 - share)))


def _mark_quantiles(axes: Axes, quantiles: Sequence[dict[str, Any]]) -> None:
    """Mark quantiles on the line, and above it the number of events that they rest on."""
    # A bin of a coarse histogram may hold several.
    places: dict[float, tuple[tuple[str, ...], str, int]] = {}
    for quantile in quantiles:
        if quantile["q"] in _NAMED and quantile["value"] is not None:
            known = quantile["value"]
            value, sign = (known, "") if isinstance(known, float) else (known[0], "≥ ")
            if not value:  # at least 0 says nothing
                continue
            names, _, _ = places.get(value, ((), "", 0))
            places[value] = (*names, _NAMED[quantile["q"]]), sign, quantile["events"]
    marks = [
        (value, events, f"{', '.join(names)} {sign}{show_seconds(value, 3)}: {events:,} events")
        for value, (names, sign, events) in sorted(places.items())
    ]
    rows = _label_rows(axes, [value for value, _, _ in marks], [text for _, _, text in marks])
    for (value, events, text), (row, start) in zip(marks, rows, strict=True):
        axes.plot([value], [events], "o", color=style.INK, markersize=3, zorder=5)
        down = ScaledTranslation(0, -(row + 0.5) * _ROW / 72, axes.figure.dpi_scale_trans)
        axes.annotate(
            text, (value, events), xytext=(value, 1), textcoords=axes.get_xaxis_transform() + down,
            ha="left" if start else "right", va="center", fontsize=7.5, color=style.INK, zorder=6,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
            arrowprops={"arrowstyle": "-", "color": style.GREY, "linewidth": 0.6, "shrinkA": 0,
                        "shrinkB": 0, "relpos": (0 if start else 1, 0.5)},
        )  # fmt: skip


def _label_rows(
    axes: Axes, values: Sequence[float], texts: Sequence[str]
) -> list[tuple[int, bool]]:
    """Choose a row from the top for each label, and whether its text begins at its line.

    So that no text lies over the line that leads to another one, nor beyond the axes.
    """
    left, right = axes.get_window_extent().intervalx
    at = [(axes.transData.transform((value, 1))[0] - left) / (right - left) for value in values]
    wide = [_LETTER * len(text) / 72 / style.inches_across(axes) for text in texts]
    sides = [place < 0.5 for place in at]  # where there is more room

    def faults(rows: Sequence[int], begins: Sequence[bool]) -> tuple[int, int]:
        spans = [(x, x + w) if begin else (x - w, x)
                 for x, w, begin in zip(at, wide, begins, strict=True)]  # fmt: skip
        over = sum(
            low < at[other] < high and rows[other] < row
            for (low, high), row in zip(spans, rows, strict=True)
            for other in range(len(at))
        )
        beyond = sum(low < 0 or high > 1 for low, high in spans)
        moved = sum(begin != side for begin, side in zip(begins, sides, strict=True))
        return over + beyond, moved

    choices = product(permutations(range(len(at))), product((True, False), repeat=len(at)))
    rows, begins = min(choices, key=lambda choice: faults(*choice))
    return list(zip(rows, begins, strict=True))


def _thinned(count: int) -> npt.NDArray[np.int64]:
    """The sorted events that a line needs: all of the tail, few of the body."""
    if count <= 4000:
        return np.arange(count)
    above = np.unique(np.geomspace(1, count, 3000).astype(np.int64))
    return np.sort(count - above)


_AROUND = 0.005  # of a frequency, on either side: there its peak is
_COLUMNS = 700  # of the picture, each with the highest power of its frequencies
_FALSE_ALARM = 1e-3


def draw_periodogram(
    axes: Axes, detours: Detours, facts: dict[str, Any], grid: float | None = None
) -> None:
    """Draw power over frequency, both logarithmic: 1 is what random arrivals have.

    Detours that are known to the quantum only, of `grid` seconds, have lines of the quanta
    themselves: it ends at half of their rate, as the periods do that are looked for.
    """
    spectrum = periodogram(*seconds_of(detours))
    axes.set_xlabel("frequency (Hz)")
    axes.set_ylabel("power")
    if grid is not None:
        axes.set_xlabel("frequency (Hz), up to half of that of the quanta")
        kept = spectrum.frequency <= 0.5 / grid
        spectrum = replace(spectrum, frequency=spectrum.frequency[kept], power=spectrum.power[kept])
    if not len(spectrum.frequency) or len(detours.starts) < MIN_FOR_PERIODS:
        _say_none(axes, "too short, or too few detours")
        return
    edges = np.unique(
        np.searchsorted(
            spectrum.frequency,
            np.geomspace(spectrum.frequency[0], spectrum.frequency[-1], _COLUMNS + 1)[:-1],
        )
    )
    highest = np.maximum.reduceat(spectrum.power, edges)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.plot(spectrum.frequency[edges], highest, color=style.BLUE, linewidth=0.7)
    limit = spectrum.threshold(_FALSE_ALARM)
    axes.axhline(limit, color=style.GREY, linewidth=0.9, linestyle="--",
                 label=f"random arrivals exceed it anywhere: {_FALSE_ALARM:.1%}")  # fmt: skip
    top = max(float(highest.max()), 2 * limit)
    periods = facts.get("periods", [])
    axes.set_ylim(0.5, top * 4.0 ** (1 + len(periods)))
    axes.set_xlim(spectrum.frequency[0], spectrum.frequency[-1])
    style.log_axis(axes, "", "x")
    length = detours.length / TICKS_PER_SECOND
    for number, period in enumerate(periods):
        around = max(2 / (length * period["frequency"]), _AROUND)
        near = np.abs(spectrum.frequency / period["frequency"] - 1) < around
        has_peak = bool(near.any() and spectrum.power[near].max() > limit)
        _mark_period(axes, period, top * 4.0 ** (0.8 + number), has_peak)


def _mark_period(axes: Axes, period: dict[str, Any], height: float, has_peak: bool) -> None:
    """Mark a period that was found: in this periodogram, or in that of some detours alone."""
    frequency = period["frequency"]
    look: dict[str, Any] = {"label": "period, with its part of the detours"}
    if not has_peak:
        look = {"label": "period of some detours alone: no peak of all of them",
                "linestyle": ":", "fillstyle": "none"}  # fmt: skip
    axes.plot([frequency, frequency], [0.5, height], color=style.ORANGE, linewidth=1, zorder=0.9,
              marker="v", markersize=4, markevery=[1], **look)  # fmt: skip
    low, high = np.log(axes.get_xlim())
    left = (np.log(frequency) - low) / (high - low) < 0.5
    text = f"{frequency:.4g} Hz ({show_seconds(period['seconds'], 3)}): {period['share']:.1%}"
    axes.annotate(text, (frequency, height), xytext=(5 if left else -5, 0), va="center",
                  ha="left" if left else "right", textcoords="offset points", fontsize=7.5,
                  color=style.INK, zorder=3,
                  bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0})  # fmt: skip


_LINES = ("p99", "p90", "mean", "p50")


def collectives(parts: Sequence[CollectiveTable]) -> Any:
    """Draw latency over ranks, or over bytes where all have the same ranks; a panel for each."""
    columns = min(len(parts), _MAX_COLUMNS)
    rows = -(-len(parts) // columns)
    figure, axes = style.new_figure([2.4] * rows, columns, sharex=False, sharey=False)
    for axis, part in zip(axes.flat, parts, strict=False):
        by_ranks = len(np.unique(part.ranks)) > 1
        x = part.ranks if by_ranks else part.bytes
        others = part.bytes if by_ranks else part.ranks
        known = sorted(set(others.tolist()))
        unit = "bytes" if by_ranks else "ranks"
        # 0 ranks: the file does not say how many.
        is_one_size = len(known) == 1 and (by_ranks or known[0] > 0)
        style.panel_title(axis, part.operation + (f", {known[0]} {unit}" if is_one_size else ""))
        for other in known:
            rows_ = np.flatnonzero(others == other)
            rows_ = rows_[np.argsort(x[rows_], kind="stable")]
            _draw_collective(axis, part, rows_, x)
            if len(known) > 1:
                axis.annotate(f"{other} {unit}", (x[rows_[-1]], part.mean[rows_[-1]]), ha="right",
                              xytext=(0, 4), textcoords="offset points", fontsize=7.5)  # fmt: skip
        least = max(int(x[x > 0].min(initial=x.max(initial=1))), 1)
        if x.max(initial=0) >= (4 if by_ranks else 8) * least:
            axis.set_xscale("symlog" if (x == 0).any() else "log", base=2)
        places = np.unique(x)
        if len(places) <= 5:
            axis.set_xticks(places, [f"{place:,}" for place in places])
            axis.minorticks_off()
        axis.set_xlabel("ranks" if by_ranks else "bytes")
        axis.set_ylabel("latency")
        style.log_axis(axis, "s")
    style.hide(list(axes.flat)[len(parts) :])
    return figure


def _draw_collective(axis: Any, part: CollectiveTable, rows: Any, x: Any) -> None:
    """Draw mean and percentiles of a collective over the message size, as far as they are known."""
    if part.min is not None and part.max is not None:
        axis.fill_between(x[rows], part.min[rows], part.max[rows], color=style.BLUE, alpha=0.15,
                          linewidth=0, label="smallest to largest")  # fmt: skip
    for look, name in zip(style.SERIES, _LINES, strict=False):
        values = getattr(part, name)
        if values is None:
            continue
        axis.plot(x[rows], values[rows], markersize=3.5, linewidth=1.2, label=name, **look.marked)


def loggp(table: LogGPTable) -> Any:
    """Draw overheads and latency over bytes, and the gaps that were fitted."""
    figure, axes = style.new_figure([2.2], 2, sharex=True, sharey=False)
    columns = {"latency": "L", "send_overhead": "o_s", "receive_overhead": "o_r", "gap": "g"}
    for look, (name, label) in zip(style.SERIES, columns.items(), strict=False):
        axes[0, 0].plot(table.bytes, getattr(table, name), linewidth=1.2, label=label,
                        **look.stroke)  # fmt: skip
    axes[0, 1].plot(table.bytes, table.gap_per_byte, color=style.INK, linewidth=1.2)
    axes[0, 0].set_ylabel("time")
    axes[0, 1].set_ylabel("G, for each byte")
    for axis in axes[0]:
        axis.set_xscale("log", base=2)
        axis.set_xlabel("bytes")
        style.unit_axis(axis, "s")
    return figure


def longest_latencies(parts: Sequence[LatencySummary]) -> Any:
    """Draw the longest latency of each CPU as a bar, with a mark at the mean."""
    figure, axes = style.new_figure([2.2], 1)
    axis = axes[0, 0]
    places = np.arange(len(parts))
    longest, means = (
        np.array([getattr(part, name) for part in parts]) / TICKS_PER_SECOND
        for name in ("longest", "mean")
    )
    axis.bar(places, longest, color=style.BLUE, alpha=0.6, label="longest")
    axis.plot(places, means, "_", color=style.INK, markersize=12, label="mean")
    if len(parts) <= 32:
        axis.set_xticks(places, [part.cpu or str(i + 1) for i, part in enumerate(parts)])
    axis.set_xlabel("CPU")
    axis.set_ylabel("latency")
    style.unit_axis(axis, "s")
    axis.legend()
    return figure


def shares(parts: Sequence[CpuNoise]) -> Any:
    """Draw the part of the time that noise took, for each CPU."""
    figure, axes = style.new_figure([2.2], 1)
    axis = axes[0, 0]
    places = np.arange(len(parts))
    axis.bar(places, [100 * part.share for part in parts], color=style.BLUE, alpha=0.6)
    if len(parts) <= 32:
        axis.set_xticks(places, [part.cpu or str(i + 1) for i, part in enumerate(parts)])
    axis.set_xlabel("CPU")
    axis.set_ylabel("share of the time (%)")
    return figure
