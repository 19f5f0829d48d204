"""Figures as the papers MS12, CS14 and HM18 print them.

Each is ``draw_KIND(results, observable)`` for a kind of figure that a study may ask for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from jitterfly.plots import curves, style
from jitterfly.plots.maps import colour_bar, draw_map, hatched_patch, map_axes, place_ticks
from jitterfly.plots.style import wrapped
from jitterfly.results import CellResults, Panel, Results, figures
from jitterfly.results.figures import AxisScale, axis_title, evenly, show_ranks, shown_names
from jitterfly.results.results import CellSummary, Grid, grids_of_maps
from jitterfly.stats import Estimate
from jitterfly.units import show_seconds

from ..cell_values import (
    CONVENTIONAL,
    REDUNDANT,
    RUNS,
    few_runs_of,
    last,
    named,
    recovery_bound,
)
from ..claims import hm18
from ..claims.ms12 import AXES_FIG13, AXIS_FIG8, CLIP_LEVELS
from ..figures import MIN_MEANS, FewRunMeans, few_runs

# --- what several of them draw

_CONVENTIONAL, _REDUNDANT = style.SERIES[:2]
_LOOKS = {CONVENTIONAL: _CONVENTIONAL, REDUNDANT: _REDUNDANT}
_COMPARED = style.Look("black", "black", "D", "-", "", 0.0)
_ESTIMATE: dict[str, Any] = {"color": "black", "marker": "D", "markersize": 3, "linewidth": 1.2}
_TARGET: dict[str, Any] = {
    "marker": "*",
    "markersize": 6,
    "linewidth": 1.1,
    "linestyle": (0, (3, 2)),
}


def _draw_estimates(axes: Axes, x: Sequence[float], estimates: Sequence[Estimate | None]) -> None:
    """Draw values with their 95 % intervals, in black: what compares two algorithms."""
    curves.draw_means(axes, x, estimates, **_ESTIMATE, elinewidth=1.2, capsize=2)


class _Targets:
    """A study's targets that are no observable's mean, drawn beside that mean.

    `handles` say what was drawn so far, `not_shown` what has no place in the figure.
    """

    def __init__(self, results: Results) -> None:
        self._results = results
        self._drawn: dict[str, Any] = {}

    def draw(
        self,
        axes: Axes,
        x: Sequence[float],
        name: str,
        cells: Sequence[CellResults],
        look: style.Look,
    ) -> None:
        """Draw the targets of the observable `name` at cells, each with its interval."""
        for column in self._results.targets_of(name):
            summaries = [cell.summaries.get(column) for cell in cells]
            known = [f for f in summaries if f is not None and np.isfinite(f.mean.value)]
            if not known or known[0].statistic == "win probability":  # it has another axis
                continue
            means = [None if f is None else f.mean for f in summaries]
            curves.draw_means(axes, x, means, color=look.dark, **_TARGET, elinewidth=1.1, zorder=4,
                              **curves.CAPS)  # fmt: skip
            label = f"{column.replace('_', ' ')}: {curves.of_interval(known)}"
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


def _draw_scheme(
    axes: Axes, x: Sequence[float], cells: Sequence[tuple[CellResults, str]], look: style.Look
) -> None:
    """Draw observables of cells: as other figures do, and means of few runs with their ranges."""
    curves.draw_series(axes, x, [last(cell, name) for cell, name in cells], look)
    means = [few_runs_of(cell, name) for cell, name in cells]
    kept = [(at + look.shift, few) for at, few in zip(x, means, strict=True) if few]
    if not kept:
        return
    at = [place for place, _ in kept]
    # The one 30-run mean that is shown may lie outside the range of most others.
    axes.vlines(
        at, [float(few.low) for _, few in kept], [float(few.high) for _, few in kept],
        color=style.INK, linewidth=0.7, zorder=3,
    )  # fmt: skip
    axes.plot(
        at, [float(few.value) for _, few in kept], linestyle="none", marker=look.marker,
        markersize=3.6, markerfacecolor="white", markeredgecolor=style.INK, markeredgewidth=0.7,
        zorder=5,
    )  # fmt: skip


def _legend_handles(
    looks: dict[str, style.Look], *, bands: bool = True, few_runs: bool = True
) -> list[Any]:
    """The legend of the marks of `_draw_scheme`, series by curves."""
    handles = [
        curves.line_handle(look, f"{name}: mean, 95 % interval") for name, look in looks.items()
    ]
    if bands:
        handles += curves.band_handles(looks)
    if few_runs:
        handles.append(
            Line2D([], [], color=style.INK, marker="o", markersize=3.6, linewidth=0.7,
                   markerfacecolor="white",
                   label=f"a {RUNS}-run mean, and the 5–95 % range of such means")
        )  # fmt: skip
    return handles


# --- MS12, Fig. 12 and 21: slowdown against ranks


def draw_slowdown(results: Results, observable: str | None = None) -> Figure:
    """Draw a column per panel: slowdown (top), gain (middle), redundant exchanges T (bottom)."""
    study = results.study
    shown = dict(zip((CONVENTIONAL, REDUNDANT), named(study, "slowdown"), strict=False))
    gain, best = named(study, "gain")[0], named(study, "optimal_T")[0]
    panels, left = _columns(results)
    figure, axes = style.new_figure([2.4, 1.2, 0.9], len(panels))
    targets = _Targets(results)
    for column, panel in enumerate(panels):
        top, middle, bottom = axes[:, column]
        along = AxisScale([cell.ranks for cell in panel.cells])
        x = along.positions

        def summaries(name: str, panel: object = panel) -> list[CellSummary | None]:
            return [cell.summaries.get(name) for cell in panel.cells]  # type: ignore[attr-defined]

        for name, of in shown.items():
            _draw_scheme(top, x, [(cell, of) for cell in panel.cells], _LOOKS[name])
            targets.draw(top, x, of, panel.cells, _LOOKS[name])
        style.panel_title(top, panel.label)
        _draw_estimates(middle, x, [f.mean if f else None for f in summaries(gain)])
        targets.draw(middle, x, gain, panel.cells, _COMPARED)
        middle.axhline(1, color=style.GREY, linewidth=0.8)
        _draw_redundancy(bottom, x, summaries(best), summaries(shown[REDUNDANT]))
        style.place_axis(bottom, along, "ranks")
    axes[0, 0].set_ylabel("completion / noise-free")
    axes[1, 0].set_ylabel("gain: mean conv. /\nmean redundant")
    axes[2, 0].set_ylabel("redundant\nexchanges T")
    for row in axes[:2]:
        for one in row:
            style.log_axis(one)
    subtitle = [
        results.counted, "redundant: the T with the smallest mean", results.state,
        targets.not_shown, left,
    ]  # fmt: skip
    handles = _legend_handles({name: _LOOKS[name] for name in shown})
    handles += targets.handles
    style.finish(figure, results.title, subtitle, handles)
    return figure


def _columns(results: Results) -> tuple[list[Panel], str]:
    """The panels along ranks that are shown, and for a subtitle how many are left out."""
    panels = results.panels("ranks")
    settings = results.settings(style.MAX_COLUMNS, axis="ranks")
    # An axis of schedules has other names for them.
    shown = [
        replace(panel, cells=sorted(panel.cells, key=lambda cell: cell.ranks))
        for panel in panels
        if panel.is_in(settings)
    ]
    left = [
        style.count_left_out(len(shown), len(panels), "settings"),
        figures.axis_values_left_out(results.study, settings),
    ]
    return shown, "; ".join(filter(None, left))


def _draw_redundancy(
    axes: Axes,
    x: Sequence[float],
    sets: Sequence[CellSummary | None],
    redundant: Sequence[CellSummary | None],
) -> None:
    """Draw the smallest T that is not worse than the best, and the one with the smallest mean."""
    known = [
        (at, float(f.mean.value), r.T)
        for at, f, r in zip(x, sets, redundant, strict=True)
        if f and r
    ]
    if not known:
        return
    at, enough, best = zip(*known, strict=True)
    axes.vlines(at, enough, best, color=style.GREY, linewidth=1)
    axes.plot(at, best, "_", color=style.GREY, markersize=6, label="smallest mean")
    axes.plot(at, enough, "s", color=style.ORANGE, markeredgecolor="black", markeredgewidth=0.5,
              markersize=4, label="smallest T not told from it")  # fmt: skip
    axes.set_ylim(0, max(best) * 1.45 + 1)
    axes.legend(loc="upper left", fontsize=7, ncols=2, handletextpad=0.2, columnspacing=1,
                borderaxespad=0.1)  # fmt: skip


# --- MS12 and CS14: times against ranks


def draw_times(results: Results, observable: str | None = None) -> Figure:
    """Draw a column per panel: the mean completion of each scheme, with 5-95 % ranges."""
    names = named(results.study, "completion")[: len(style.SERIES)]
    looks = dict(zip(names, style.SERIES, strict=False))
    shown, left = _columns(results)
    figure, axes = style.new_figure([2.6], len(shown), sharey=False)
    for column, panel in enumerate(shown):
        one = axes[0, column]
        along = AxisScale([cell.ranks for cell in panel.cells])
        for name, look in looks.items():
            _draw_scheme(one, along.positions, [(cell, name) for cell in panel.cells], look)
        style.panel_title(one, panel.label)
        style.place_axis(one, along, "ranks")
    axes[0, 0].set_ylabel("time")
    for one in axes[0]:  # settings of other lengths of noise have times of their own
        low, high = one.dataLim.intervaly
        if low < 0.5 * high:  # else the compute phases would hide the differences
            one.set_ylim(bottom=0)
        style.unit_axis(one, "s")
    subtitle = [results.counted, results.state, left]
    handles = _legend_handles({name.replace("_", " "): look for name, look in looks.items()})
    style.finish(figure, f"{results.title}: times", subtitle, handles)
    return figure


# --- MS12, Fig. 8, 13, 14, 17 and 18: maps in the range of the paper's own axes, and clipped
# where it clips them


class _PaperRange(NamedTuple):
    """A quantity that one of the paper's maps shows, from `low` to `high`."""

    what: str
    low: float
    high: float


def draw_paper_maps(results: Results, observable: str | None = None) -> Figure:
    """A column for each setting; a row for the axis, and where the paper clips, one for that."""
    name = observable or named(results.study, "slowdown")[0]
    x, y = map_axes(results.study)
    blocks = evenly(grids_of_maps(results, x, y, [name]), style.MAX_COLUMNS)
    first = {results.label(cell, without=(x, y)): cell for cell in reversed(results.cells)}
    rows = [_paper_ranges(first[block.label], results.study.claims) for block in blocks]
    count = max(map(len, rows))
    height, width = 0.235 * len(blocks[0].y_texts), max(2.7, 0.27 * len(blocks[0].x_texts))
    size = (width + 1.3) * len(blocks) + 0.3, (height + 0.75) * count + 1.1
    figure = Figure(figsize=size)
    axes = figure.subplots(count, len(blocks), squeeze=False)
    beyond = False
    for column, (block, ranges) in enumerate(zip(blocks, rows, strict=True)):
        for row, shown in enumerate(ranges):
            one = axes[row, column]
            beyond |= _draw_paper_map(one, block, name, shown, (width, height))
            one.set_xlabel(axis_title(results.study, x), parse_math=False)
            one.set_ylabel(axis_title(results.study, y), parse_math=False)
        style.hide(axes[len(ranges) :, column])
    handles = [hatched_patch("beyond the paper's range")] if beyond else []
    title = f"{results.title}: slowdown in the range of the paper's figures"
    style.finish(figure, title, [results.counted, results.state], handles)
    return figure


def _paper_ranges(cell: CellResults, claims: Sequence[str]) -> list[_PaperRange]:
    if "M3" in claims:
        return [_PaperRange("Fig. 8", 0.0, AXIS_FIG8)]
    period = float(cell.first_case.noise[0].period)  # type: ignore[attr-defined]
    short = math.isclose(period, 1e-3)
    ends = [table[p] for table in (AXES_FIG13, CLIP_LEVELS) for p in table
            if math.isclose(p, period)]  # fmt: skip
    names = ("Fig. 13", "Fig. 14") if short else ("Fig. 17", "Fig. 18")
    lows = (1.0, 1.0) if short else (0.0, 1.0)
    return [_PaperRange(*each) for each in zip(names, lows, ends, strict=True)]


def _draw_paper_map(
    axes: Axes, grid: Grid, name: str, shown: _PaperRange, size: tuple[float, float]
) -> bool:
    """A map of so many inches; whether any of its values are beyond the range."""
    label = f", {grid.label}" if grid.label else ""
    style.panel_title(axes, f"{shown.what}: {shown.low:g} to {shown.high:g}{label}")
    norm = Normalize(shown.low, shown.high, clip=True)
    values = grid.maps[name].values
    over = np.nan_to_num(values) > shown.high
    draw_map(axes, values, norm, hatched=over)
    place_ticks(axes, grid, size)
    colour_bar(axes, norm, size[1])
    return bool(over.any())


# --- CS14, Fig. 8: overhead over the noiseless case against ranks, and what redundancy recovers

_SCHEMES = (CONVENTIONAL, REDUNDANT)
_CLAIMED: dict[str, Any] = {"color": style.GREEN, "linewidth": 1.2, "linestyle": "-."}
_BOUND: dict[str, Any] = {"color": style.GREY, "linewidth": 1.2, "linestyle": (0, (1, 1))}


def draw_overhead(results: Results, observable: str | None = None) -> Figure:
    """Draw CS14's Fig. 8, a column per panel: overhead after the last cycle, recovery below it."""
    study = results.study
    shown = dict(zip(_SCHEMES, named(study, "overhead"), strict=False))
    recovery = named(study, "recovery")[0]
    panels, left = _columns(results)
    figure, axes = style.new_figure([2.2, 1.3], len(panels))
    bounded, targets = False, _Targets(results)
    for column, panel in enumerate(panels):
        top, bottom = axes[:, column]
        along = AxisScale([cell.ranks for cell in panel.cells])
        x = along.positions
        for name, of in shown.items():
            _draw_scheme(top, x, [(cell, of) for cell in panel.cells], _LOOKS[name])
            targets.draw(top, x, of, panel.cells, _LOOKS[name])
        style.panel_title(top, panel.label)
        shares = [last(cell, recovery) for cell in panel.cells]
        _draw_recovery(bottom, x, [share.mean if share else None for share in shares])
        bounds = [
            recovery_bound(cell, recovery) if recovery in cell.summaries else None
            for cell in panel.cells
        ]
        if any(bound is not None for bound in bounds):
            bounded = True
            bottom.plot(x, [np.nan if b is None else b for b in bounds], **_BOUND)
        style.place_axis(bottom, along, "ranks")
    _label_overhead(axes)
    cycles = results.cells[0].first_case.cycles
    text = _counted(results, f"{cycles} cycle{'s' if cycles > 1 else ''}")
    handles = [*_overhead_handles(bounded), *targets.handles]
    style.finish(figure, results.title, [text, results.state, left, targets.not_shown], handles)
    return figure


def _draw_recovery(axes: Axes, x: Sequence[float], shares: Sequence[Estimate | None]) -> None:
    """Draw the recovery with its interval, where it has one, beside CS14's 0.4."""
    axes.axhline(0.4, **_CLAIMED)
    kept = [share if share and not share.too_small else None for share in shares]
    _draw_estimates(axes, x, kept)
    axes.set_ylim(-0.1, 1.05)


def _overhead_handles(bounded: bool) -> list[Any]:
    """The legend of the marks, those of the recovery panel included."""
    handles = _legend_handles({name: _LOOKS[name] for name in _SCHEMES})
    handles.append(Line2D([], [], label="recovery, 95 % interval", **_ESTIMATE))
    handles.append(Line2D([], [], label="CS14's recovery of about 0.4", **_CLAIMED))
    if bounded:
        handles.append(Line2D([], [], label="bound that no redundancy can pass", **_BOUND))
    return handles


def _label_overhead(axes: np.ndarray) -> None:
    """Label the y axes with names and units."""
    axes[0, 0].set_ylabel("overhead over noiseless")
    axes[0, 0].set_ylim(bottom=0)
    axes[0, 0].yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    style.unit_axis(axes[0, 0], "s")
    axes[1, 0].set_ylabel("recovery\n(share of overhead)")


def _counted(results: Results, where: str) -> str:
    """Say how many realizations are behind the figure."""
    return f"{where}, {results.counted}, the same noise for every algorithm"


# --- CS14, Fig. 9: overhead after each cycle

# Below the series: it shows where it leaves them, left of the first cycle.
_FIT: dict[str, Any] = {"color": style.INK, "linewidth": 1.0, "linestyle": (0, (4, 2))}


def draw_cycles(results: Results, observable: str | None = None) -> Figure:
    """Draw a column per panel, at its largest number of ranks; a line carries the fit back to 0."""
    study = results.study
    shown = dict(zip(_SCHEMES, named(study, "overhead"), strict=False))
    recovery = named(study, "recovery")[0]
    panels, left = _columns(results)
    figure, axes = style.new_figure([2.2, 1.3], len(panels))
    targets = _Targets(results)
    for column, panel in enumerate(panels):
        top, bottom = axes[:, column]
        cell = panel.cells[-1]
        cycles = list(range(1, cell.first_case.cycles + 1))
        x = [float(cycle) for cycle in cycles]
        for name, of in shown.items():
            names = [f"{of}, cycle {cycle}" for cycle in cycles]
            summaries = [cell.summaries.get(one) for one in names]
            _draw_scheme(top, x, [(cell, one) for one in names], _LOOKS[name])
            for cycle in cycles:
                targets.draw(top, [cycle], f"{of}, cycle {cycle}", [cell], _LOOKS[name])
            if None not in summaries:
                means = [float(f.mean.value) for f in summaries if f]
                slope, intercept = np.polyfit(x[1:], means[1:], 1)
                ends = np.array([0.0, 2.0])
                top.plot(ends, slope * ends + intercept, **_FIT, zorder=2)
        style.panel_title(top, panel.label)
        shares = [cell.summaries.get(f"{recovery}, cycle {cycle}") for cycle in cycles]
        _draw_recovery(bottom, x, [share.mean if share else None for share in shares])
        bottom.set_xlim(0, len(x) + 0.5)
        bottom.set_xlabel("cycles")
        bottom.xaxis.get_major_locator().set_params(integer=True)
    _label_overhead(axes)
    ranks = show_ranks(panels[0].cells[-1].ranks)
    text = _counted(results, f"{ranks} ranks")
    handles = _overhead_handles(bounded=False)
    fit = Line2D([], [], **_FIT, label="line through cycles 2 ..., back to 0")
    subtitle = [text, results.state, left, targets.not_shown]
    style.finish(figure, results.title, subtitle, [*handles, *targets.handles, fit])
    return figure


# --- HM18: completion against p, and the numbers of its table that p should explain

_TABLE_LINES: dict[str, Any] = {"estimate": "-", "baseline": ":", "optimized": "--"}


def draw_hm18_table(results: Results, observable: str | None = None) -> Figure:
    """Draw means with intervals and bands along p; a level for each number of the table."""
    names = shown_names(results.study, observable) if observable else results.names
    figure, axes = style.new_figure([3.2], 1)
    targets = _Targets(results)
    panel = axes[0, 0]
    looks = dict(zip(names, style.SERIES, strict=False))
    cells = results.panels("probability")[0].cells
    x = np.array([float(cell.coordinates["probability"]) for cell in cells])
    for name, look in looks.items():
        curves.draw_series(panel, x, [cell.summaries.get(name) for cell in cells], look)
        targets.draw(panel, list(x), name, cells, look)
    handles: list[Any] = _legend_handles(looks, bands=False, few_runs=False)
    handles += [*curves.band_handles(looks), *targets.handles]
    for look, (what, numbers) in zip(style.SERIES[2:], hm18.TABLE.items(), strict=False):
        for kind, seconds in numbers.items():
            panel.axhline(seconds, color=look.dark, linestyle=_TABLE_LINES[kind], linewidth=1.1)
            handles.append(Line2D([], [], color=look.dark, linestyle=_TABLE_LINES[kind],
                                  label=f"{what}, {kind}: {show_seconds(seconds, 3)}"))  # fmt: skip
    style.log_axis(panel, "", "x")
    style.log_axis(panel, "s")
    panel.set_xlabel("p, probability that a step takes 14 µs more")
    panel.set_ylabel("completion")
    levels = "levels: HM18's numbers; where a curve crosses one, that p explains it"
    subtitle = [results.counted, results.state, levels, targets.not_shown]
    style.finish(figure, results.title, subtitle, handles)
    return figure


# --- 30 runs: what one published point is a draw of

_MAX_DOTS = 2000


def draw_few_runs(results: Results, observable: str | None = None) -> Figure:
    """A strip for each cell: a dot for each 30-run mean, and below them our interval."""
    cells = few_runs(results, observable)
    if not cells:
        least = MIN_MEANS * RUNS
        raise results.study.error(f"figure 'few_runs' needs cells with {least} samples or more")
    high = 1.45 if any("\n" in _strip_text(cell) for cell in cells) else 0.85
    figure = Figure(figsize=(7.6, high * len(cells) + 1.8))
    axes = figure.subplots()
    for row, cell in enumerate(reversed(cells)):
        _draw_strip(axes, row, cell)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_ylim(-0.35, len(cells) - 0.1)
    if len({cell.unit for cell in cells}) == 1:
        style.value_axis(axes, cells[0].unit)
    axes.set_xlabel("mean")
    handles = [
        Line2D([], [], color=style.BLUE, marker="o", markersize=3, linestyle="none",
               label=f"a mean of {RUNS} runs{', as published' * bool(results.study.claims)}"),
        Line2D([], [], color="black", marker="D", markersize=4, linewidth=2,
               label="mean of all realizations, 95 % interval"),
    ]  # fmt: skip
    count = len({cell.cell for cell in cells})
    where = "cells, where these means scatter most"
    if results.axis:
        title = axis_title(results.study, results.axis)
        where += f": one for an observable and a value of {title}"
    shown = [cell.observable for cell in cells]
    text = [
        style.count_left_out(count, len(results.cells), where),
        "" if observable else style.observables_left_out(list(dict.fromkeys(shown)), results.names),
        f"on the right: the largest of the {RUNS}-run means over the smallest",
    ]
    style.finish(figure, results.title, text, handles)
    return figure


def _draw_strip(axes: Axes, row: int, cell: FewRunMeans) -> None:
    means = cell.means[:_MAX_DOTS]
    # Dots are spread out in turn, not at random: the same picture every time.
    offsets = 0.06 + 0.42 * ((np.arange(len(means)) * 0.6180339887) % 1.0)
    axes.plot(means, row + offsets, "o", color=style.BLUE, markersize=2.2, alpha=0.55,
              markeredgewidth=0)  # fmt: skip
    axes.errorbar([float(cell.mean.value)], [row - 0.12], xerr=style.error_bar_lengths([cell.mean]),
                  color="black", marker="D", markersize=4, elinewidth=2, capsize=3)  # fmt: skip
    across = axes.get_yaxis_transform()
    axes.text(
        0.0,
        row + 0.595,
        _strip_text(cell),
        transform=across,
        fontsize=7.5,
        va="center",
        parse_math=False,
    )
    apart = f"{cell.apart:.2f}" if cell.apart < 10 else f"{cell.apart:.3g}"
    axes.text(1.0, row + 0.27, f"{apart}×", transform=across, fontsize=9, va="center")
    axes.axhline(row - 0.3, color="#dddddd", linewidth=0.6)


def _strip_text(cell: FewRunMeans) -> str:
    name = cell.observable.replace("_", " ")
    text = f"{name}, {cell.cell}: {len(cell.means):,} means of {RUNS} runs, "
    text += f"{cell.realizations:,} in all"
    return wrapped(text, 6.8, 7.5, 2)
