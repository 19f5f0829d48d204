"""Figures of lines: `curves`, `family` and `each_cycle` of a study; lines with their intervals.

`curves` has means with intervals, medians and spread along a numeric axis, `family` a line for each
value of the other axes, `each_cycle` one along the cycles. Which quantiles a band has:
`results.results`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from ..fields import Array, grouped
from ..results import Panel, Results, figures
from ..results.figures import axis_title, evenly, kind_of, names_by_cycle, observables, shown_names
from ..results.results import CellSummary
from ..stats import Estimate
from . import style
from .style import GREY, INK, Look, error_bar_lengths, mark_no_interval, wrapped

MEDIAN: dict[str, Any] = {"linewidth": 1.3, "linestyle": (0, (1, 1.2))}
_PALE = 0.4
_ALONE = 8.0  # points, the bar of a single position
_OVER = 4.5  # a median stands over the line of means, which may run along it
CAPS: dict[str, Any] = {"capsize": 3.2, "capthick": 1.0}  # wider than a marker that hides them
_MIDDLE: dict[str, Any] = {"linestyle": "none", "marker": "_"}


def draw_series(
    axes: Axes,
    x: Sequence[float] | Array,
    summaries: Sequence[CellSummary | None],
    look: Look,
    bar: float | None = None,
    joined: bool = True,
) -> None:
    """Draw the 5-95 % band, median, and mean with 95 % interval.

    Parameters
    ----------
    x : float array
        Positions.
    summaries : Sequence[CellSummary | None]
        What is known at each position; None leaves a gap.
    bar : float, optional
        Points; the 5-95 % range is a pale bar as wide at each position, not a band.
    joined : bool
        Join the means by a line: not those of things with names.
    """
    x = np.asarray(x, dtype=float)
    bar = _ALONE if bar is None and len(x) == 1 else bar  # a band needs two positions
    bands = np.array(
        [f.quantiles if f is not None and f.quantiles else (np.nan,) * 3 for f in summaries]
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
    marked = look.marked if joined else look.marked | {"linestyle": "none"}
    draw_means(
        axes, x, [f.mean if f is not None else None for f in summaries], **marked,
        linewidth=1.7, markersize=4, elinewidth=1.7, zorder=4, **CAPS,
    )  # fmt: skip


def draw_means(
    axes: Axes, x: Sequence[float] | Array, means: Sequence[Estimate | None], **options: Any
) -> None:
    """Draw values joined by a line, with error bars; a ring around one that has no ends.

    An arrow stands for the end that is not known where the other one is.
    """
    values = [np.nan if e is None else float(e.value) for e in means]
    axes.errorbar(x, values, yerr=error_bar_lengths(means), **options)
    rings = []
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
            rings.append((at, float(estimate.value)))
    if rings:
        mark_no_interval(axes, *zip(*rings, strict=True), color=options.get("color"))


def is_open(estimate: Estimate) -> bool:
    """Return whether one end of the interval is known, and the other is not."""
    return bool(np.isfinite(estimate.low) != np.isfinite(estimate.high))


def of_interval(summaries: Sequence[CellSummary], *, named: bool = True) -> str:
    """Say what lines of these show: `mean, 95 % interval`, `mean or p99, 95 % interval`.

    `named`: the line has a name, which says the statistic of a target.
    """
    statistics = dict.fromkeys(f.statistic for f in summaries if not (named and f.is_target))
    levels = dict.fromkeys(f"{100 * f.mean.confidence:.6g}" for f in summaries)
    arrow = " (arrow: too few for an end)" if any(is_open(f.mean) for f in summaries) else ""
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


def line_handle(look: Look, label: str, joined: bool = True) -> Any:
    """A series; also one of whole numbers, whose bars are sets."""
    marked = look.marked if joined else look.marked | {"linestyle": "none"}
    return Line2D([], [], **marked, linewidth=1.7, markersize=4, label=label)


MAX_LINES = 6
_FEW_PANELS = 4


@dataclass(frozen=True)
class CurvePanel:
    """One panel: lines by name, each with what is known at every position (None: nothing)."""

    title: str
    x: figures.AxisScale
    lines: dict[str, list[CellSummary | None]]

    @property
    def named(self) -> bool:
        """Return whether it is over several names: between them there is nothing to join."""
        return self.x.scale == "text" and len(self.x.values) > 1


@dataclass(frozen=True)
class Curves:
    """Rows of panels; `names` tells the rows, `units` their units, `note` what was left out."""

    names: list[str]
    units: list[str]
    rows: list[list[CurvePanel]]
    note: str


def curves(results: Results, names: list[str], most_columns: int) -> Curves:
    """Arrange observables along the study's main axis.

    The lines of a panel are the observables of one kind, or, where there are two more axes (or
    one of many values), the values of one of those. Where panels of several kinds have a line for
    each variant, a variant is one line in all of them.
    """
    panels = results.panels()
    axes = figures.axis_values(results.study)
    others = {axis: v for axis, v in axes.items() if axis != results.axis and len(v) > 1}
    by = ""  # the axis whose values are the lines
    if len(others) > 1 or (others and len(panels) > _FEW_PANELS):
        fitting = [axis for axis in others if len(others[axis]) <= MAX_LINES]
        by = min(fitting, key=lambda axis: len(others[axis]), default="")
    alone = {figures.quantity(results.study, name): [name] for name in names}
    groups = alone if by else _by_kind(results, names)
    columns = _columns(results, panels, by)
    settings = results.settings(most_columns, (by,))
    shown = [(title, column) for title, column in columns if column[0].is_in(settings)]
    notes = [f"{len(shown)} of {len(columns)} settings"] if len(columns) > len(shown) else []
    notes += filter(None, [figures.axis_values_left_out(results.study, settings)])
    rows = []
    for group in groups.values():
        picked = _picked(results, group)
        if len(picked) < len(group):
            notes.append(f"{len(picked)} of {len(group)} observables of a kind")
        labels = _labels(results, picked, of_variants=len(groups) > 1)
        rows.append([_curve_panel(results, title, column, labels, by) for title, column in shown])
    units = [_unit(row) for row in rows]
    return Curves(list(groups), units, rows, "; ".join(dict.fromkeys(notes)))


def _picked(results: Results, group: list[str]) -> list[str]:
    """Pick as many observables as a panel can show, targets among them."""
    wanted = {target.column for target in results.study.targets}
    targets = evenly([name for name in group if name in wanted], MAX_LINES)
    others = [name for name in group if name not in wanted]
    room = MAX_LINES - len(targets)
    kept = {*targets, *(evenly(others, room) if room > 1 else others[:room])}
    return [name for name in group if name in kept]


def _labels(results: Results, names: list[str], *, of_variants: bool) -> dict[str, str]:
    """The label of each observable's line: its variant, where no other has the same one."""
    variants = [figures.variant_of(results.study, name) for name in names]
    if of_variants and all(variants) and len(set(variants)) == len(variants):
        return dict(zip(names, variants, strict=True))
    return {name: name.replace("_", " ") for name in names}


def _by_kind(results: Results, names: list[str]) -> dict[str, list[str]]:
    """Return the names of observables by their kind, each of which has a row of panels."""
    groups = grouped(names, lambda name: figures.kind_of(results.study, name) or name)
    return {kind.replace("_", " "): group for kind, group in groups.items()}


def _columns(results: Results, panels: list[Panel], by: str) -> list[tuple[str, list[Panel]]]:
    """Group the panels that differ in the axis `by` only: a group is a column."""
    without = (results.axis, by) if by else (results.axis,)
    return list(grouped(panels, lambda panel: results.label(panel.cells[0], without)).items())


def _curve_panel(
    results: Results, title: str, panels: list[Panel], labels: dict[str, str], by: str
) -> CurvePanel:
    """Return the curves of one panel; `by` is the axis whose values are lines, if any."""
    cells = panels[0].cells
    axis = results.axis
    values = [cell.coordinates[axis] for cell in cells] if axis else [""]
    lines = {}
    for panel in panels:
        for name, label in labels.items():
            if by:
                label = figures.label_of(results.study, by, panel.labels[by])
            lines[label] = [cell.summaries.get(name) for cell in panel.cells]
    return CurvePanel(title, figures.scale_of(results.study, axis, values), lines)


def _unit(row: list[CurvePanel]) -> str:
    known = (f for cell in row for line in cell.lines.values() for f in line if f is not None)
    return next((summary.unit for summary in known), "")


_MAX_BANDS = 2  # over each other in a panel
_BAR = 2.6  # points, of a range among others
_WIDE_BAR = 12.0  # points, of one over a name
_SPREAD = 0.75  # of the distance of two ticks, that ranges side by side take
_APART = 8.0  # points, between two of them at most: they belong to one tick


def draw_curves(results: Results, observable: str | None = None) -> Figure:
    """A row for each kind of observable, a column for each setting of the other axes."""
    names = figures.shown_names(results.study, observable) if observable else results.columns
    shown = curves(results, names, style.MAX_COLUMNS)
    crowded = any(_banded(cell) > _MAX_BANDS or cell.named for row in shown.rows for cell in row)
    columns = len(shown.rows[0])
    height = 1.9 if len(shown.rows) == 1 else 1.4
    figure, axes = style.new_figure([height] * len(shown.rows), columns)
    title = axis_title(results.study, results.axis) if results.axis else ""
    looks: dict[str, style.Look] = {}
    for i, row in enumerate(shown.rows):
        for j, cell in enumerate(row):
            _draw_curves(axes[i, j], cell, looks, crowded)
            if i == 0:
                style.panel_title(axes[i, j], cell.title)
            if i == len(shown.rows) - 1:
                style.place_axis(axes[i, j], cell.x, title)
        _scale(list(axes[i]), row, shown.units[i])
        axes[i, 0].set_ylabel(wrapped(shown.names[i], 1.6 * height, 9, 2), parse_math=False)
    subtitle = [results.counted, results.state, shown.note]
    style.finish(figure, results.title, subtitle, _handles(shown, looks, crowded))
    return figure


def _banded(cell: CurvePanel) -> int:
    """The lines of a panel that have a range of realizations around them."""
    return sum(any(f is not None and f.quantiles for f in line) for line in cell.lines.values())


def _handles(shown: Curves, looks: dict[str, style.Look], crowded: bool) -> list[Any]:
    """The legend of the lines: those of a best T have no 95 % intervals, but sets of T."""
    known = [(name, f) for row in shown.rows for cell in row for name, line in cell.lines.items()
             for f in line if f is not None]  # fmt: skip
    sets = {name for name, f in known if f.is_best_T}
    means = {name for name, f in known if not f.is_best_T}
    banded = {name for name, f in known if f.quantiles}
    ranges = {name: of_interval([f for n, f in known if n == name]) for name in looks}
    picked = [{n: look for n, look in looks.items() if n in of} for of in (means, banded, sets)]
    if crowded:
        joined = not any(cell.named for row in shown.rows for cell in row)
        handles = [line_handle(look, name, joined) for name, look in picked[0].items()]
        drawn = [f for n, f in known if n in picked[0]]
        handles += range_handles(of_interval(drawn, named=False))
    else:
        handles = [line_handle(look, f"{name}: {ranges[name]}") for name, look in picked[0].items()]
        handles += band_handles(picked[1])
    text = "smallest T not told from the best; bar: to the largest"
    if crowded and len(picked[2]) > 1 and picked[2].keys() <= picked[0].keys():  # named above
        handles.append(Line2D([], [], color=GREY, marker="o", markersize=4, linewidth=1.7,
                              label=f"best T: {text}"))  # fmt: skip
    else:
        handles += [line_handle(look, f"{name}: {text}") for name, look in picked[2].items()]
    return handles


def _draw_curves(axes: Axes, cell: CurvePanel, looks: dict[str, style.Look], crowded: bool) -> None:
    """Draw the curves of a panel, side by side where bands would cover each other."""
    for number, (name, summaries) in enumerate(cell.lines.items()):
        if name not in looks:
            looks[name] = style.SERIES[len(looks) % len(style.SERIES)]
        x = np.array(cell.x.positions, dtype=float)
        step = float(np.diff(np.unique(x)).min()) if len(x) > 1 else 1.0
        bar = None
        is_best_T = any(f is not None and f.is_best_T for f in summaries)
        if crowded:  # ranges side by side: bands over each other are one area
            step = max(step, float(np.ptp(x)) / (2 * len(x)))  # where a few are close together
            points = 72 * style.inches_across(axes)
            widest, farthest = (_WIDE_BAR, 3 * _APART) if cell.named else (_BAR, _APART)
            bar = min(widest, 0.5 * points / (len(x) * len(cell.lines)))
            apart = min(_SPREAD * step / len(cell.lines), farthest * float(np.ptp(x) or 1) / points)
            x = x + apart * (number + 0.5 - 0.5 * len(cell.lines))
        elif is_best_T and len(cell.lines) > 1:  # whole numbers often fall onto each other
            x = x + looks[name].shift * step
        if is_best_T:
            axes.yaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        draw_series(axes, x, summaries, looks[name], bar, joined=not cell.named)


def _scale(row: list[Axes], cells: list[CurvePanel], unit: str) -> None:
    """Make the axis logarithmic where the values of a row span much."""
    summaries = [f for cell in cells for line in cell.lines.values() for f in line if f is not None]
    if any(f.is_best_T for f in summaries):
        return
    values = [v for f in summaries for v in (float(f.mean.value), *(f.quantiles or ()))]
    style.scale_axes(row, values, unit)


MAX_FAMILY = 12
"""Lines of a family: a legend of more has no room, and no eye tells so many colours apart."""
_MARKERS = "os^vDXP*<>"
_DARK, _LIGHT = 0.0, 0.85  # of the colour map: its end is too light for a line


def draw_family(results: Results, observable: str | None = None) -> Figure:
    """A panel for each observable; those of one unit in a row, and on one scale."""
    names = shown_names(results.study, observable) if observable else results.columns
    rows = _by_unit(results, names)
    columns = max(len(row) for _, row in rows)
    height = 2.6 if len(rows) == 1 else 1.9
    figure, axes = style.new_figure([height] * len(rows), columns)
    everything, settings = results.panels(), results.settings(MAX_FAMILY)
    panels = [panel for panel in everything if panel.is_in(settings)]
    colors = colormaps["plasma"](np.linspace(_DARK, _LIGHT, max(len(panels), 2)))
    looks = [(color, _MARKERS[i % len(_MARKERS)]) for i, color in enumerate(colors)]
    for i, (unit, row) in enumerate(rows):
        for j, name in enumerate(row):
            for one, look in zip(panels, looks, strict=False):
                _draw_family_member(axes[i, j], results, one, name, look)
            style.panel_title(axes[i, j], name.replace("_", " "))
            style.place_axis(
                axes[i, j], results.axis_scale, axis_title(results.study, results.axis)
            )
            axes[i, j].tick_params(labelbottom=True)
        style.hide(axes[i, len(row) :])
        values = [
            float(cell.summaries[name].mean.value)
            for name in row
            for panel in panels
            for cell in panel.known(name)
        ]
        style.scale_axes(list(axes[i, : len(row)]), values, unit)
        axes[i, 0].set_ylabel(wrapped(_axis_label(results, row), 1.5 * height, 9))
    note = "bars: 95 % intervals"
    if any(is_open(f.mean) for cell in results.cells for f in cell.summaries.values()):
        note += "; arrows: too few realizations for an end"
    shown = [f for _, row in rows for name in row for f in _numbers_of(results, name)]
    band = Patch(color=style.GREY, alpha=0.3, linewidth=0, label="5–95 % of realizations")
    handles = [band] * any(f.quantiles for f in shown)
    left_out = [
        style.count_left_out(len(panels), len(everything), "settings"),
        figures.axis_values_left_out(results.study, settings),
    ]
    subtitle = [results.counted, *left_out, results.state, note]
    style.finish(figure, results.title, subtitle, handles)
    return figure


def _by_unit(results: Results, names: list[str]) -> list[tuple[str, list[str]]]:
    """The units and the names of what has them; what has no unit is with its kind alone."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name in names:
        known = _numbers_of(results, name)
        unit = known[0].unit if known else ""
        key = unit, "" if unit else kind_of(results.study, name)
        shown = groups.setdefault(key, [])
        shown.append(name)
    return [
        (unit, group[at : at + style.MAX_COLUMNS])
        for (unit, _), group in groups.items()
        for at in range(0, len(group), style.MAX_COLUMNS)
    ]


def _numbers_of(results: Results, name: str) -> list[CellSummary]:
    """The main numbers of an observable, in all cells that have it."""
    return [cell.summaries[name] for cell in results.cells if name in cell.summaries]


def _axis_label(results: Results, row: list[str]) -> str:
    """The label of a row's axis."""
    known = [f for name in row for f in _numbers_of(results, name)]
    if known and known[0].is_best_T:
        return "smallest T not told from the best"
    kinds = {kind_of(results.study, name).replace("_", " ") for name in row}
    what = f"mean {kinds.pop()}".rstrip() if len(kinds) == 1 else "mean"
    targets = {f.is_target for f in known}
    if targets == {True}:
        return row[0].replace("_", " ") if len(row) == 1 else "the targets named"
    return f"{what}, or the target named" if True in targets else what


def _draw_family_member(axes: Axes, results: Results, panel: Panel, name: str, look: Any) -> None:
    """Draw the means of a panel's cells with intervals, and the range from 5 to 95 %."""
    color, marker = look
    cells = panel.known(name)
    if not cells:
        return
    position = dict(zip(results.axis_scale.values, results.axis_scale.positions, strict=True))
    x = [position[cell.coordinates[results.axis]] for cell in cells]
    summaries = [cell.summaries[name] for cell in cells]
    draw_means(axes, x, [f.mean for f in summaries], color=color, marker=marker, markersize=3.5,
               linewidth=1.4, capsize=1.5, label=panel.label,
               linestyle="none" if results.axis_scale.scale == "text" else "-")  # fmt: skip
    if all(f.quantiles for f in summaries):
        low, _, high = np.array([f.quantiles for f in summaries]).T
        axes.fill_between(x, low, high, color=color, alpha=0.15, linewidth=0)


_MAX_PANELS = 6
_MAX_BANDED_CELLS = 3  # of more cells, bands over each other are one area
_MAX_MARKED = 100  # cycles; markers and intervals of more would be one bar


def draw_each_cycle(results: Results, observable: str | None = None) -> Figure:
    """A panel for each such observable (and T), below each other; a line for each of some cells."""
    by_cycle = names_by_cycle(observables(results.study), observable)
    names = list(by_cycle)[:_MAX_PANELS]
    known = [cell for cell in results.cells if cell.summaries]
    cells = evenly(known, len(style.SERIES))
    labels = [cell.name or results.study.name for cell in cells]
    looks = dict(zip(labels, style.SERIES, strict=False))
    crowded = max(len(by_cycle[name]) for name in names) > _MAX_MARKED
    banded = len(cells) <= _MAX_BANDED_CELLS and not crowded
    cut = False
    figure, axes = style.new_figure([2.2] * len(names), 1)
    for panel, name in zip(axes[:, 0], names, strict=True):
        cycles = list(by_cycle[name])
        lines = [[cell.summaries.get(one) for one in by_cycle[name].values()] for cell in cells]
        for summaries, look in zip(lines, looks.values(), strict=True):
            if crowded:
                panel.plot(cycles, _means(summaries), **look.stroke, linewidth=1.0)
            elif banded:
                draw_series(panel, cycles, summaries, look)
            else:
                means = [summary.mean if summary else None for summary in summaries]
                draw_means(panel, cycles, means, **look.marked, linewidth=1.2, markersize=4)
        last = [summary for summaries in lines for summary in summaries if summary is not None][-1:]
        # Completions grow along the cycles, which asks for no logarithm; cells may differ by much.
        ends = [means[np.isfinite(means)][-1:] for means in map(_means, lines)]
        style.scale_axes([panel], np.concatenate(ends), last[0].unit if last else "")
        if kind_of(results.study, name) == "cycle_time":
            cut |= _show_inner_cycles(panel, lines, banded)
        panel.set_ylabel(kind_of(results.study, name).replace("_", " "))
        style.panel_title(panel, name.replace("_", " "))
    axes[-1, 0].set_xlabel("cycle")
    axes[-1, 0].xaxis.get_major_locator().set_params(integer=True)
    what = "mean" if crowded else "mean, 95 % interval"
    handles = [line_handle(look, f"{name}: {what}") for name, look in looks.items()]
    handles += band_handles(looks) if banded else []
    subtitle = [
        results.counted,
        results.state,
        style.count_left_out(len(cells), len(known), "cells, evenly chosen"),
        style.count_left_out(len(names), len(by_cycle), "observables"),
        "beyond an axis: the first or the last cycle" if cut else "",
    ]
    style.finish(figure, results.title, subtitle, handles)
    return figure


def _means(summaries: Sequence[CellSummary | None]) -> np.ndarray:
    """The means; NaN for a missing one."""
    return np.array(
        [np.nan if summary is None else float(summary.mean.value) for summary in summaries]
    )


def _show_inner_cycles(
    panel: Axes, lines: Sequence[Sequence[CellSummary | None]], banded: bool
) -> bool:
    """Give the axis to the cycles between the first and the last, if those lie far from them."""
    # Each line has a first and a last cycle of its own.
    there = [[summary for summary in summaries if summary is not None] for summaries in lines]
    inner = [summary for summaries in there for summary in summaries[1:-1]]
    if not inner:
        return False
    shown = [[float(summary.mean.value), *(summary.quantiles or ())] for summary in inner]
    values = np.concatenate(shown if banded else [one[:1] for one in shown])
    low, high = float(values.min()), float(values.max())
    beyond = max(high - low, 0.05 * abs(high))
    outer = np.concatenate([_means([*summaries[:1], *summaries[-1:]]) for summaries in there])
    if not ((outer < low - beyond) | (outer > high + beyond)).any():
        return False
    panel.set_ylim(low - 0.1 * beyond, high + 0.1 * beyond)
    return True
