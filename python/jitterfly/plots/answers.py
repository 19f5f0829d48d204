"""Pictures of answers: `slowdown`, its limit, `explain`, `compare_measured`, `predict`, schedules.

A schedule has the tail of its run times, the times of its iterations, a heat map of its critical
path, which is followed in cuda/schedule/critical_path.cpp.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import (
    FixedLocator,
    LogFormatter,
    MaxNLocator,
    NullLocator,
    StrMethodFormatter,
)

from ..answer import SECONDS, show
from ..explain import PATH, DelayByCause, RankRow, show_share
from ..fields import counted
from ..results.figures import evenly
from ..simulate import Result
from ..slowdown import SlowdownTable, given_in_words, part_in_words, repetition
from ..stats import Estimate
from ..units import from_ticks, show_seconds, show_size
from . import style
from .curves import draw_means, is_open

if TYPE_CHECKING:
    from ..compare_measured import Agreement
    from ..noise_limit import NoiseLimitTable
    from ..predict import InferredNoise, Prediction
    from ..results.compare import Comparison
    from ..schedule import ScheduleExplanation, ScheduleResult

_AROUND = 1.3  # times the largest value is the end of a logarithmic axis
_ROOM = 0.04  # of the axis, on either side
_MAX_TICKS = 12
_MAX_BINS = 100
_BARS = "#9ecae1"


def draw_table(found: SlowdownTable) -> Figure:
    """Completion (mean with its interval, quantiles, without noise), and below it the slowdown.

    The quantiles are p50, p99 and, where rows have it, p99.9. One number of ranks has, beside the
    same, the distribution of its realizations.
    """
    if len(found.rows) == 1:
        return _draw_realizations(found)
    figure, axes = style.new_figure([2.2, 1.2], 1, sharey=False)
    top, bottom = axes[:, 0]
    ranks = [row.ranks for row in found.rows]
    mean, median, tail, rare = style.SERIES[:4]
    quantiles: dict[str, tuple[style.Look, list[Estimate | None]]] = {
        "median": (median, [row.p50 for row in found.rows]),
        "p99": (tail, [row.p99 for row in found.rows]),
        "p99.9": (rare, [row.p999 for row in found.rows]),
    }
    drawn = list[Estimate]()
    for label, (look, several) in quantiles.items():
        known = {row: one for row, one in zip(ranks, several, strict=True) if one is not None}
        if known:
            values = [float(one.value) for one in known.values()]
            top.plot(list(known), values, **look.marked, markersize=4, label=label)
        drawn += known.values()
    top.plot(ranks, [row.noise_free for row in found.rows], color=style.GREY, linestyle=":",
             label="without noise")  # fmt: skip
    for row in found.rows:
        for one, look in ((row.p50, median), (row.p99, tail), (row.p999, rare)):
            if one is not None and not math.isfinite(one.high):
                ring = {"label": "no upper end is known"} if math.isfinite(one.low) else {}
                style.mark_no_interval(top, row.ranks, float(one.value), color=look.color,
                                       clip_on=False, **ring)  # fmt: skip
    for panel, name, label in ((top, "mean", "mean, with its interval"), (bottom, "slowdown", "")):
        draw_means(panel, ranks, [getattr(row, name) for row in found.rows], color=mean.color,
                   marker=mean.marker, markersize=4, capsize=2, label=label)  # fmt: skip
        panel.set_xscale("log")
    bottom.axhline(1, color=style.GREY, linewidth=0.8)
    ends = [end for row in found.rows
            for end in (row.noise_free, row.mean.value, row.mean.low, row.mean.high)]  # fmt: skip
    ends += [one.value for one in drawn]
    times = [float(end) for end in ends if math.isfinite(end)]
    low, high = min(times), max(times)
    if style.wants_log(times):
        top.set_ylim(low / _AROUND, high * _AROUND)
        style.log_axis(top, "s")
    else:  # from 0 where times differ by much, else around them
        room = 0.1 * (high - low) or 0.1 * high or 1e-6
        top.set_ylim(0 if high > style.LOG_FROM / 2 * low else max(low - room, 0), high + room)
        style.unit_axis(top, "s")
    top.set_ylabel("completion")
    bottom.set_ylabel("mean / without noise")
    bottom.set_xlabel("ranks")
    _mark_ranks(bottom, ranks)
    arrows = any(map(is_open, (row.mean for row in found.rows)))
    told = [*found.subtitle(), "arrows: no end is known" if arrows else ""]
    style.finish(figure, found.title(), told)
    return figure


def _draw_realizations(found: SlowdownTable) -> Figure:
    """A histogram of the completions; above it mean, median, p99 and p99.9 with their intervals."""
    (row,) = found.rows
    times, noise_free = found.samples, row.noise_free
    named = {"mean": row.mean, "median": row.p50, "p99": row.p99}
    if row.p999 is not None:
        named["p99.9"] = row.p999
    ends = [float(end) for one in named.values() for end in (one.low, one.high)]
    least, most = float(times.min()), float(times.max())
    low, high = min(noise_free, least), max([noise_free, most, *filter(math.isfinite, ends)])
    logarithmic = style.wants_log([low, high])
    if logarithmic:
        room = (high / low) ** _ROOM
        left, right, width = low / room, high * room, least * (room - 1)
    else:
        room = _ROOM * (high - low or high or 1e-6)  # all alike, or no time at all
        left, right, width = low - room, high + room, room
    edges = _edges(times, logarithmic, width)
    figure, axes = style.new_figure([0.8, 2.2], 1, sharey=False)
    marks, panel = axes[:, 0]
    counts, _ = np.histogram(times, edges)
    panel.stairs(counts, edges, fill=True, color=_BARS, label="realizations")
    for place, ((name, one), look) in enumerate(zip(named.items(), style.SERIES, strict=False)):
        _draw_interval(marks, -place, one, (left, right), look)
        panel.axvline(float(one.value), **look.stroke, linewidth=1.2,
                      label=f"{name} {show(one, SECONDS)}")  # fmt: skip
    for axis, label in ((panel, f"without noise {show_seconds(noise_free)}"), (marks, "")):
        axis.axvline(
            noise_free, color=style.GREY, linewidth=1.5, linestyle=(0, (1, 1)), label=label
        )
    marks.set_yticks([-place for place in range(len(named))], list(named))
    marks.set_ylim(-len(named) + 0.4, 0.6)
    marks.grid(visible=False, axis="y")
    panel.set_yscale("log")
    panel.set_ylim(bottom=0.7)
    panel.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    panel.yaxis.set_minor_formatter(LogFormatter())  # within a decade, plain as well
    panel.set_ylabel("realizations")
    panel.set_xlabel("completion")
    panel.set_xlim(left, right)
    if logarithmic:
        style.log_axis(panel, "s", "x")
    else:
        style.value_axis(panel, "s", linear=True)
    told = [
        f"slowdown (mean) {show(row.slowdown)}",
        *found.subtitle(),
        f"bars and brackets: {100 * row.mean.confidence:g} % intervals",
        "arrows: no end is known" if any(not math.isfinite(end) for end in ends) else "",
    ]
    where = f" on {counted(row.ranks, 'rank')}"
    style.finish(figure, found.title(where), told)
    return figure


def _edges(times: npt.NDArray[np.float64], logarithmic: bool, width: float) -> Any:
    """The edges of the bars; `width` is that of the axis around one that stands alone."""
    least, most = float(times.min()), float(times.max())
    if least == most:  # all alike: one bar, in whose middle the lines are
        return least + 0.2 * width * np.array([-0.5, 0.5])
    bins = int(np.clip(math.sqrt(len(times)), 10, _MAX_BINS))  # as many as an eye distinguishes
    edges = (np.geomspace if logarithmic else np.linspace)(least, most, bins + 1)
    edges[[0, -1]] = least, most  # geomspace may round them
    return edges


def _draw_interval(
    axes: Axes, place: float, one: Estimate, ends: tuple[float, float], look: style.Look
) -> None:
    """Draw a value with its interval in its row; an arrow where an end is not known."""
    left, right = ends
    value = float(one.value)
    # One beyond the axis ends there.
    away = [[value - max(end, left) if end < value else end - value] if math.isfinite(end)
            else [0.0] for end in (float(one.low), float(one.high))]  # fmt: skip
    axes.errorbar([value], [place], xerr=away, color=look.color, marker=look.marker,
                  markersize=4, capsize=3)  # fmt: skip
    for end, edge in ((one.low, left), (one.high, right)):
        if not math.isfinite(end):
            axes.annotate("", (edge, place), (value, place), arrowprops={
                "arrowstyle": "->", "color": look.color, "linestyle": (0, (3, 2)),
                "shrinkA": 0, "shrinkB": 0})  # fmt: skip


def draw_limits(found: NoiseLimitTable) -> Figure:
    """The largest duration, or smallest period, over ranks, with its interval."""
    rows = found.drawn
    if not rows:
        raise ValueError("nothing to draw: no number of ranks has a value")
    figure, axes = style.new_figure([2.2], 1, sharey=False)
    panel, look = axes[0, 0], style.SERIES[0]
    ranks, values = [row.ranks for row in rows], [float(row.value.value) for row in rows]
    # An end that is not known leaves the axis.
    ends = [
        (value - np.nan_to_num(low), (10 * value if math.isnan(high) else high) - value)
        for value, low, high in (row.value for row in rows)
    ]
    panel.errorbar(ranks, values, np.array(ends).T, color=look.color, marker=look.marker,
                   markersize=4, capsize=2)  # fmt: skip
    panel.set_xscale("log")
    panel.set_ylim(min(values) / 2, 2 * max(values))
    style.log_axis(panel, "s")
    panel.set_ylabel(found.column)
    panel.set_xlabel("ranks")
    _mark_ranks(panel, ranks)
    said = [f"on {row.ranks:,} ranks: {found.cell(row)}" for row in found.rows
            if row not in rows]  # fmt: skip
    style.finish(figure, found.title(), [*found.subtitle(), *said])
    return figure


def _mark_ranks(panel: Axes, ranks: list[int]) -> None:
    """Mark the numbers of ranks that were simulated, or some of them, from the last one on."""
    shown = ranks[:: -math.ceil(len(ranks) / _MAX_TICKS)]
    panel.xaxis.set_major_locator(FixedLocator(shown))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.set_xticklabels([f"{count:,}" for count in shown])


def draw_samples(result: Result) -> Figure:
    """The share of realizations that takes longer than a time, a line for each observation.

    Of more observations than there are colours, the maxima over the ranks, or the first and the
    last and some between.
    """
    names = result.observations
    columns: Sequence[int] = range(len(names))
    if len(names) > len(style.SERIES):
        columns = [i for i in columns if names[i].endswith(": max")] or columns
    chosen = evenly(columns, len(style.SERIES))
    figure, axes = style.new_figure([2.2], 1)
    for column, look in zip(chosen, style.SERIES, strict=False):
        style.draw_later_share(axes[0, 0], result.samples[:, column], look, names[column])
    for time in np.unique(result.noise_free[chosen]):
        axes[0, 0].axvline(time, color=style.GREY, linewidth=0.8, label="without noise")
    axes[0, 0].set_yscale("log")
    axes[0, 0].set_ylabel("share of realizations that takes longer")
    axes[0, 0].set_xlabel("time")
    style.value_axis(axes[0, 0], "s")
    subtitle = [
        f"{len(result.ticks):,} realizations, seed {result.seed}",
        style.count_left_out(len(chosen), len(names), "observations"),
    ]
    case = result.case
    size = show_size(case.message_bytes)
    title = f"{case.algorithm.kind} of {size} on {case.ranks:,} ranks{repetition(case)}"
    noise = "; ".join(map(part_in_words, case.noise)) or "none"
    details = [*given_in_words(case), f"noise: {noise}", *subtitle]
    style.finish(figure, title, details)
    return figure


_BINS = 20
_OF_RANKS = {
    "late": ("arrives late", "#F5CE80", "//"),
    "noise": ("noise of its CPU", "#AAAAAA", ""),
    "waits_for_others": ("waits for others", "#8FBBD9", ""),
    "waits_for_messages": ("waits for messages", "#80CEB9", "\\\\"),
}
"""What is shown of a rank's time: field, words, color (none of a cause) and hatch."""


def draw_causes(found: DelayByCause) -> Figure:
    """Draw bars of equally many realizations, by delay, each cut by the mean delay of each cause.

    Below, the mean time of each rank, or of neighbouring ones, that it did not work.
    """
    figure, axes = style.new_figure([2.6, 1.4], 1, sharex=False)
    panel = axes[0, 0]
    order = np.argsort(found.delay, kind="stable")
    parts = np.array_split(order, min(_BINS, len(order)))
    ends = 100 * np.cumsum([len(part) for part in parts]) / len(order)
    begins = np.concatenate([[0.0], ends[:-1]])
    means = np.array([from_ticks(found.ticks[part].mean(axis=0)) for part in parts])
    above, below = np.zeros(len(parts)), np.zeros(len(parts))
    for i, cause in enumerate(found.causes):
        values = means[:, i]
        look = style.SERIES[i % len(style.SERIES)]
        color, hatch = (style.GREY, "") if cause == PATH else (look.color, look.hatch)
        foot = np.where(values >= 0, above, below)
        panel.bar(begins, values, ends - begins, foot, align="edge", color=color, linewidth=0.4,
                  edgecolor="white", hatch=hatch, label=_in_words(found, cause, i))  # fmt: skip
        above, below = above + np.maximum(values, 0), below + np.minimum(values, 0)
    middle = (begins + ends) / 2
    delays = [float(from_ticks(found.delay[part].mean())) for part in parts]
    panel.plot(middle, delays, color=style.INK, marker=".", markersize=4, linewidth=0.8)
    panel.axhline(0, color=style.INK, linewidth=0.8)
    panel.set_xlim(0, 100)
    panel.set_ylim(top=1.05 * max(above.max(), *delays) or None)  # also where a cause adds nothing
    panel.set_xlabel("realizations, by their delay (%)")
    panel.set_ylabel("delay on the critical path")
    style.unit_axis(panel, "s")
    _draw_ranks(axes[1, 0], found)
    style.finish(figure, found.title(), found.subtitle())
    return figure


def _draw_ranks(panel: Axes, found: DelayByCause) -> None:
    """Draw times of ranks on top of each other, up to 256 bars."""
    begins, widths, means = style.parts_of_ranks(found.by_rank)
    foot = np.zeros(len(begins))
    for name, (words, color, hatch) in _OF_RANKS.items():
        values = from_ticks(means[:, RankRow._fields.index(name) - 1])
        if not values.any():
            continue
        if name == "waits_for_messages":
            words = f"waits for {found.waits_for_rest}"
        panel.bar(begins, values, widths, foot, align="edge", color=color, hatch=hatch,
                  linewidth=0, edgecolor="white", label=f"of ranks: {words}")  # fmt: skip
        foot += values
    panel.set_xlim(-0.5, len(found.by_rank) - 0.5)
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    panel.set_xlabel("rank")
    panel.set_ylabel(found.time_of_ranks)
    style.unit_axis(panel, "s")


def _in_words(found: DelayByCause, cause: str, number: int) -> str:
    """Return a cause with its share of the delay, for the legend."""
    share = found.rows()[number].share
    name = "the path itself" if cause == PATH else cause
    return name if np.isnan(share) else f"{name}: {show_share(share)}"


def draw_agreement(found: Agreement) -> Figure:
    """Draw quantiles of both, on and off the line where they are equal; of a table the ratios."""
    figure, axes = style.new_figure([2.6], 1)
    rows = _ratios if found.measured is None else _quantiles
    rows(axes[0, 0], found)
    style.finish(figure, found.title(), found.subtitle())
    return figure


_LABEL = np.array([22.0, 10.0])  # width and height of "p25" in points, with some room


def _name_points(panel: Axes, points: Mapping[str, tuple[float, float]]) -> None:
    """Write names below points; those of points that are too near to each other share a place."""
    panel.autoscale_view()
    scale = 72 / panel.figure.dpi
    named: list[tuple[list[str], npt.NDArray[np.float64], tuple[float, float]]] = []
    for name, point in points.items():
        place = np.asarray(panel.transData.transform(point)) * scale
        if named and (abs(place - named[-1][1]) < _LABEL).all():
            named[-1][0].append(name)
        else:
            named.append(([name], place, point))
    for names, _, point in named:
        panel.annotate(", ".join(names), point, (5, -9), textcoords="offset points", fontsize=8)


def _quantiles(panel: Axes, found: Agreement) -> None:
    """Draw simulated over measured quantiles, with the line on which they are equal."""
    assert found.measured is not None
    assert found.simulated is not None
    count = min(len(found.measured), len(found.simulated), 1000)
    levels = (np.arange(count) + 0.5) / count
    measured, simulated = (np.quantile(side, levels) for side in (found.measured, found.simulated))
    look, other = style.SERIES[:2]
    ends = [min(measured[0], simulated[0]), max(measured[-1], simulated[-1])]
    panel.plot(ends, ends, color=style.GREY, linestyle=":", label="equal")
    panel.plot(measured, simulated, color=look.color, linestyle="", marker=".", markersize=3,
               label="quantiles of both")  # fmt: skip
    points: dict[str, tuple[float, float]] = {}
    for row in found.rows:
        if row.what == "mean":
            continue
        x, y = _low_value_high(row.measured), _low_value_high(row.simulated)
        if not np.isfinite([x, y]).all():  # too few samples for an interval
            continue
        panel.errorbar([x[1]], [y[1]], [[y[1] - y[0]], [y[2] - y[1]]],
                       [[x[1] - x[0]], [x[2] - x[1]]], color=other.color, marker=other.marker,
                       markersize=4, capsize=2, label="with their intervals")  # fmt: skip
        points[row.what] = x[1], y[1]
    if style.wants_log(ends):
        style.log_axis(panel, "s")
        style.log_axis(panel, "s", "x")
    else:
        style.unit_axis(panel, "s")
        panel.xaxis.set_major_formatter(style.InUnit("s"))
    _name_points(panel, points)
    panel.set_xlabel("measured")
    panel.set_ylabel("simulated")


def _low_value_high(estimate: Estimate) -> tuple[float, float, float]:
    return float(estimate.low), float(estimate.value), float(estimate.high)


def _ratios(panel: Axes, found: Agreement) -> None:
    """Draw simulated over measured of each row; the interval holds 1 unless they differ."""
    from ..compare_measured import UNKNOWN  # loaded by whoever has such a table

    names = list(dict.fromkeys(row.what for row in found.rows))
    keys = list(dict.fromkeys((row.ranks, row.bytes) for row in found.rows))
    for name, look in zip(names, style.SERIES, strict=False):
        rows = [row for row in found.rows if row.what == name and row.measured.value > 0]
        at = [keys.index((row.ranks, row.bytes)) for row in rows]
        ratios = np.array([(row.ratio, row.ratio_low, row.ratio_high) for row in rows])
        _ratio_points(panel, at, ratios.reshape(-1, 3), look, name)
    labels = [f"{ranks:,}; {size:,} B" for ranks, size in keys]
    _ratio_axes(panel, [row.ratio for row in found.rows], labels)
    panel.set_xlabel("ranks; bytes")
    panel.set_ylabel("simulated over measured")
    if any(row.verdict == UNKNOWN for row in found.rows):
        title = "nothing is told apart: over how many iterations is not known"
    elif len(found.rows) == 1:
        title = f"simulated is {found.rows[0].verdict}"
    else:
        title = f"{sum(row.apart for row in found.rows)} of {len(found.rows)} are told apart"
    panel.set_title(title, fontsize=9)


def draw_comparison(found: Comparison) -> Figure:
    """Draw B over A with its interval in each cell; the interval holds 1 unless one is faster."""
    figure, axes = style.new_figure([2.6], 1)
    panel = axes[0, 0]
    ratios = np.array([[*map(float, row.ratio)] for row in found.rows])
    _ratio_points(panel, list(range(len(ratios))), ratios, style.SERIES[0], "")
    _ratio_axes(panel, ratios[:, 0].tolist(), ["; ".join(row.labels) for row in found.rows])
    panel.set_xlabel("; ".join(found.axes))
    panel.set_ylabel("mean of B over mean of A")
    faster = [sum(row.winner == side for row in found.rows) for side in "AB"]
    told = [f"A = {found.a}", f"B = {found.b}",
            f"A is faster in {faster[0]} of {counted(len(found.rows), 'cell')}, B in {faster[1]}",
            f"{100 * found.confidence:g} % intervals, of all together"]  # fmt: skip
    style.finish(figure, f"B over A: {found.observable}", told)
    return figure


def _ratio_points(
    panel: Axes, at: Sequence[int], ratios: npt.NDArray[np.float64], look: style.Look, name: str
) -> None:
    """Draw values with their ends (columns); ends that are not known as the table shows them."""
    values, ends = ratios[:, 0], ratios[:, 1:].T
    for place, x in enumerate(at):  # as the table shows an end that is not known
        for end, below in ((ends[0, place], True), (ends[1, place], False)):
            if not np.isfinite(end):
                panel.annotate("?", (x, values[place]), (0, -5 if below else 5),
                               textcoords="offset points", fontsize=8, color=look.color,
                               ha="center", va="top" if below else "bottom")  # fmt: skip
    ends = np.where(np.isfinite(ends), [values - ends[0], ends[1] - values], 0.0)
    panel.errorbar(at, values, ends, color=look.color, marker=look.marker, linestyle="",
                   markersize=4, capsize=2, label=name)  # fmt: skip


def _ratio_axes(panel: Axes, ratios: Sequence[float], labels: Sequence[str]) -> None:
    """Name places on the axis, or some of them, and mark where both are equal."""
    panel.axhline(1, color=style.GREY, linewidth=0.8)
    known = [ratio for ratio in ratios if 0 < ratio < np.inf]
    if known and max(known) > 8 * min(known):
        style.log_axis(panel)
    shown = style.some_places(len(labels), -(-len(labels) // 8))
    panel.set_xticks(shown, [labels[i] for i in shown], rotation=20 if len(shown) > 3 else 0)


def draw_inferred(found: InferredNoise) -> Figure:
    """Draw the share of iterations that takes longer: measured, and under the inferred noise."""
    figure, axes = style.new_figure([2.2], 1)
    panel, base = axes[0, 0], found.hits.base
    measured, simulated = style.SERIES[:2]
    style.draw_later_share(panel, found.hits.times, measured, "measured")
    later = found.simulated + base.time
    style.draw_later_share(panel, later, simulated, "base time and inferred noise")
    end = base.time + base.reach
    panel.axvline(end, color=style.GREY, linewidth=0.8, label="the base's spread ends")
    _later_axes(panel, "time")
    style.finish(figure, found.title(), found.subtitle())
    return figure


def draw_prediction(found: Prediction) -> Figure:
    """Draw the share of iterations that takes longer: measured, predicted, and measured there."""
    figure, axes = style.new_figure([2.4], 1)
    panel, measured, looks = axes[0, 0], style.SERIES[0], style.SERIES[1:]
    shift = found.inferred.hits.base.time if found.excess_alone else 0.0
    label = f"measured, {found.question.ranks:,} ranks"
    style.draw_later_share(panel, found.inferred.hits.times - shift, measured, label)
    least = 0.5 / len(found.inferred.hits.times)  # of a share, for a logarithmic axis
    chosen = evenly(found.predicted, len(looks))
    for one, look in zip(chosen, looks, strict=False):
        label = f"predicted, {one.ranks:,} ranks"
        # The last share is 0 as no longer hit was measured, not as there is none: the curve ends.
        shares = np.maximum(1 - one.shares, least)
        shares[-1] = shares[-2:][0]
        panel.step(one.times, shares, where="post", color=look.color, label=label)
        panel.plot(one.times[-1], shares[-1], marker=">", linestyle="none", color=look.color,
                   label="beyond the longest hit that was measured: not known"
                   if one is chosen[-1] else None)  # fmt: skip
        ends = (np.maximum(1 - end, least) for end in (one.high, one.low))
        panel.fill_between(one.times, *ends, step="post", color=look.color, alpha=0.2,
                           linewidth=0)  # fmt: skip
        if one.there is not None:
            shift = one.there.base.time if found.excess_alone else 0.0
            beside = looks[1] if len(chosen) == 1 else replace(look, color=look.dark, line=":")
            label = f"measured, {one.ranks:,} ranks"
            style.draw_later_share(panel, one.there.times - shift, beside, label)
    _later_axes(panel, "time beyond the base time" if found.excess_alone else "time")
    left = len(found.predicted) - len(chosen)
    more = [f"{counted(left, 'number')} of ranks more in the table"] if left else []
    style.finish(figure, found.title(), [*found.subtitle(), *more])
    return figure


def _later_axes(panel: Axes, along: str) -> None:
    """Make the axes of a share of iterations that takes longer than a time."""
    panel.set_yscale("log")
    panel.set_ylabel("share of iterations that takes longer")
    panel.set_xlabel(along)
    style.value_axis(panel, "s")


def draw_schedule(result: ScheduleResult) -> Figure:
    """Draw the share of realizations that takes longer; below it the time between marks."""
    from ..schedule.result import machine_in_words

    rows = [2.2, 1.8] if result.marks else [2.2]
    figure, axes = style.new_figure(rows, 1, sharex=False)
    panel, look, samples = axes[0, 0], style.SERIES[0], result.samples
    style.draw_later_share(panel, samples, look, "with noise")
    panel.axvline(samples.mean(), color=look.color, linewidth=0.8, linestyle=":", label="mean")
    panel.axvline(result.noise_free, color=style.GREY, linewidth=0.8, label="without noise")
    panel.set_yscale("log")
    panel.set_ylabel("share of realizations\nthat takes longer")
    panel.set_xlabel("run time")
    style.value_axis(panel, "s")
    if result.marks:
        _draw_iterations(axes[1, 0], result)
    noise = "; ".join(map(part_in_words, result.noise)) or "none"
    slowdown = f"slowdown {result.slowdown():.4g}"
    if result.order_matters:
        slowdown += " (in the order of arrival it is another one)"
    told = [
        *machine_in_words(result.network, result.speed),
        f"noise: {noise}",
        f"{len(samples):,} realizations, seed {result.seed}; {slowdown}",
    ]
    style.finish(figure, f"{result.schedule.name}: {result.schedule.summary()}", told)
    return figure


def _draw_iterations(panel: Axes, result: ScheduleResult) -> None:
    """Draw the time before each mark: mean, the middle 90 % of realizations, and without noise."""
    times = from_ticks(result.iteration_ticks)
    edges = np.arange(len(result.marks) + 1) + 0.5  # all marks are as wide, the outer ones too
    low, high = np.quantile(times, (0.05, 0.95), axis=0)

    def stairs(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.append(values, values[-1])

    look = style.SERIES[0]
    panel.fill_between(
        edges, stairs(low), stairs(high), step="post", color=look.color, alpha=0.25, linewidth=0,
        label="time before a mark: 5-95 % of realizations",
    )  # fmt: skip
    panel.step(edges, stairs(times.mean(axis=0)), where="post", color=look.color, label="its mean")
    noise_free = np.diff(from_ticks(result.mark_ticks_noise_free), prepend=0.0)
    panel.step(edges, stairs(noise_free), where="post", color=style.GREY, linewidth=0.8)
    panel.set_xlim(edges[0], edges[-1])
    numbers = tuple(str(i + 1) for i in range(len(result.marks)))
    if result.marks == numbers:
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
        panel.set_xlabel("mark")
    else:
        style.name_axis(panel, result.marks, "mark")
    panel.set_ylabel("time since the\nmark before it")
    style.unit_axis(panel, "s")


_TIME_BINS, _RANK_BINS = 480, 256
_NOISE = "#AAAAAA"


def draw_critical_path(found: ScheduleExplanation) -> Figure:
    """Draw ranks over the time without noise, colored by share; right of it their part of the path.

    Where several operations lie in a cell, the largest share counts.
    """
    figure = Figure(figsize=(9.2, 4.6))
    axes = figure.subplots(1, 2, sharey=True, gridspec_kw={"width_ratios": [3, 1]})
    _draw_path_over_time(figure, axes[0], found)
    _draw_path_on_ranks(axes[1], found)
    style.finish(figure, found.title(), found.subtitle())
    return figure


def _draw_path_over_time(figure: Figure, panel: Axes, found: ScheduleExplanation) -> None:
    """Draw a map of ranks over time: on how many realizations' critical path they are."""
    ranks = len(found.by_rank)
    cells = np.full((min(ranks, _RANK_BINS), _TIME_BINS), np.nan)
    there = np.flatnonzero(found.on_path)
    shares = found.on_path[there] / len(found.ticks)
    begins = np.array(found.schedule._mapped.begins, dtype=np.int64)
    rows = (np.searchsorted(begins, there, side="right") - 1) * len(cells) // ranks
    times = from_ticks(found.noise_free_times()[there])
    end = float(from_ticks(found.on_time)) or 1.0
    first, last = (_time_bins(times[:, k], end) for k in (0, 1))
    order = np.argsort(shares, kind="stable")  # of several the largest is drawn last
    columns = zip(rows[order], first[order], last[order], shares[order], strict=True)
    for row, begin, until, share in columns:
        cells[row, begin : until + 1] = share
    image = panel.imshow(
        cells, aspect="auto", origin="lower", cmap="viridis_r", vmin=0,
        vmax=shares.max(initial=0) or 1,
        interpolation="nearest", extent=(0, end, -0.5, ranks - 0.5),
    )  # fmt: skip
    panel.grid(False)
    letters = max(len(str(ranks)) - 4, 0)  # beyond what has room beside the bar in any case
    bar = figure.colorbar(image, ax=panel, location="left", pad=0.12 + 0.014 * letters)
    bar.set_label("share of realizations\non whose critical path it is")
    panel.yaxis.set_major_locator(MaxNLocator(integer=True))
    panel.set_ylabel("rank")
    panel.set_xlabel("time without noise")
    style.value_axis(panel, "s", linear=True)


def _time_bins(times: npt.NDArray[np.float64], end: float) -> npt.NDArray[np.int64]:
    """Return the bin of each time, of `_TIME_BINS` up to `end`."""
    return np.minimum(times / end * _TIME_BINS, _TIME_BINS - 1).astype(np.int64)


def _draw_path_on_ranks(panel: Axes, found: ScheduleExplanation) -> None:
    """Draw the mean time of the path on each rank, or neighbouring ones, and its part of noise."""
    both = np.stack([found.rank_path_noise, found.rank_path_time], axis=1)
    begins, heights, means = style.parts_of_ranks(both, _RANK_BINS)
    noise, all_of_it = from_ticks(means).T
    look = style.SERIES[0]
    panel.barh(begins, all_of_it - noise, heights, align="edge", color=look.color, linewidth=0,
               label="of ranks: time on the critical path")  # fmt: skip
    panel.barh(begins, noise, heights, all_of_it - noise, align="edge", color=_NOISE, hatch="//",
               linewidth=0, edgecolor="white", label="of ranks: of it noise")  # fmt: skip
    panel.set_xlabel("mean time on the path")
    style.value_axis(panel, "s", linear=True)
