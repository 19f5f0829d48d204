"""The picture of a measurement of noise, whatever it holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..measured import (
    CollectiveTable,
    CpuNoise,
    Detours,
    Histogram,
    Latencies,
    LogGPTable,
    Measured,
    PerRankSamples,
)
from ..units import show_seconds
from . import draw, style

_MOST_COLUMNS, _MOST_PANELS = 4, 12


def draw_measured(measured: Measured, path: Path, facts: dict[str, Any]) -> None:
    """Draw what a file holds into `path`, whose ending decides the format (png, pdf, svg).

    Args:
        facts: from `measured.describe`.

    Raises:
        ValueError: no matplotlib, or an ending that it does not know.
        OSError: the file can not be written.
    """
    draw.check_path(path)
    with draw.drawing():
        draw.save(figure_of(measured, facts), path)


def figure_of(measured: Measured, facts: dict[str, Any]) -> Any:
    """The matplotlib Figure: a column, or a panel, for each part."""
    first = measured.parts[0]
    parts, known = list(measured.parts), list(facts["parts"])
    if isinstance(first, Detours):
        return _detours(measured, parts[:_MOST_COLUMNS], known)
    if isinstance(first, Histogram):
        return _histograms(measured, parts[:_MOST_PANELS], known)
    if isinstance(first, (Latencies, PerRankSamples)):
        return _samples(measured, parts[:_MOST_COLUMNS], known)
    from . import noise_tables

    if isinstance(first, CollectiveTable):
        figure, handles = noise_tables.collectives(parts[:_MOST_PANELS])
    elif isinstance(first, LogGPTable):
        figure, handles = noise_tables.loggp(first)
    elif isinstance(first, CpuNoise):
        figure, handles = noise_tables.shares(parts)
    else:
        raise ValueError(f"there is no picture of {type(first).__name__}")
    style.finish(figure, _title(measured), _subtitle(measured), handles)
    return figure


def _detours(measured: Measured, parts: list[Any], facts: list[dict[str, Any]]) -> Any:
    from . import noise_histogram, noise_periods, noise_timeline

    figure, axes = style.new_figure([1.35, 1.6, 1.35], len(parts), sharex=False, sharey="row")
    limits: list[tuple[float, float]] = [(np.inf, 0.0)] * 3
    for column, (part, found) in enumerate(zip(parts, facts, strict=False)):
        noise_timeline.draw(axes[0, column], part)
        noise_histogram.draw_events(axes[1, column], part.durations / 1e12, found)
        noise_periods.draw(axes[2, column], part, found)
        if len(measured.parts) > 1:
            style.panel_title(axes[0, column], _name(part, column))
        _join(axes, column, limits)
    count = sum(len(part.starts) for part in measured.parts)
    subtitle = [
        f"{count:,} detour{'s' * (count != 1)}",
        *_cut(measured, parts),
        *_subtitle(measured),
    ]
    handles = [*noise_timeline.handles(parts), *noise_histogram.handles("detours")]
    handles += noise_periods.handles()
    style.finish(figure, _title(measured), subtitle, handles)
    return figure


def _histograms(measured: Measured, parts: list[Any], facts: list[dict[str, Any]]) -> Any:
    from . import noise_histogram

    columns = min(len(parts), 2 if len(parts) <= 4 else _MOST_COLUMNS)
    rows = -(-len(parts) // columns)
    height = 2.4 if rows == 1 else 1.7
    figure, axes = style.new_figure([height] * rows, columns, sharex=True, sharey=True)
    flat = list(axes.flat)
    for axis in flat[len(parts) :]:
        axis.set_visible(False)
    what = "detours" if parts[0].what == "detour" else "wake-ups"
    noise_histogram.draw_bins(flat[: len(parts)], parts, facts, what)
    for number, (axis, part) in enumerate(zip(flat, parts, strict=False)):
        if len(parts) > 1:
            style.panel_title(axis, _name(part, number))
        if number % columns:
            axis.set_ylabel("")
        if number + columns < len(parts):
            axis.set_xlabel("")
        axis.tick_params(labelbottom=number + columns >= len(parts))
    total = sum(part.total for part in measured.parts)
    subtitle = [f"{total:,} {what}", *_cut(measured, parts), *_subtitle(measured)]
    style.finish(figure, _title(measured), subtitle, noise_histogram.handles(what))
    return figure


def _samples(measured: Measured, parts: list[Any], facts: list[dict[str, Any]]) -> Any:
    from . import noise_histogram, noise_timeline

    figure, axes = style.new_figure([1.35, 1.7], len(parts), sharex=False, sharey="row")
    limits: list[tuple[float, float]] = [(np.inf, 0.0)] * 2
    for column, (part, found) in enumerate(zip(parts, facts, strict=False)):
        several = isinstance(part, PerRankSamples)
        values = part.times.max(axis=1) if several else part.samples
        name = "slowest rank" if several else "latency"
        noise_timeline.draw_samples(axes[0, column], values, name)
        noise_histogram.draw_events(axes[1, column], values, found, name)
        _join(axes, column, limits)
    what = "iterations" if isinstance(parts[0], PerRankSamples) else "messages"
    subtitle = [f"{sum(found.get('count', 0) for found in facts):,} {what}", *_subtitle(measured)]
    style.finish(figure, _title(measured), subtitle, noise_histogram.handles(what))
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
        if column:
            axis.set_ylabel("")


def _name(part: Any, number: int) -> str:
    words = [f"CPU {part.cpu}" if part.cpu else f"part {number + 1}"]
    if isinstance(part, Detours):
        words.append(f"{len(part.starts):,} in {show_seconds(part.length / 1e12, 3)}")
    elif part.observed is None:
        words.append(f"{part.total:,}")
    else:
        words.append(f"{part.total:,} in {show_seconds(part.observed / 1e12, 3)}")
    return ": ".join(words)


def _title(measured: Measured) -> str:
    source = measured.source
    return source.get("machine") or source.get("nodes") or source.get("file") or measured.format


def _subtitle(measured: Measured) -> list[str]:
    source = measured.source
    kernel = source.get("kernel", "").split(" #")[0]  # without the line of its build
    tool = source.get("tool") or measured.format
    return [source.get(key, "") for key in ("command", "date") if source.get(key) != tool] + [
        tool,
        kernel,
    ]


def _cut(measured: Measured, parts: list[Any]) -> list[str]:
    return [style.left_out(len(parts), len(measured.parts), "parts are shown")]
