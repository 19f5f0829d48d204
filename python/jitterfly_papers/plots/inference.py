"""Figures of `fit` (scaling curve with fitted noise) and `budget` (allowed noise)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import NullLocator

from jitterfly.plots import style
from jitterfly.units import show_seconds

from ..inference import Budget, BudgetQuestion, Fit, limit_in_words
from ..inference.budget import ALWAYS, AT_MOST
from ..inference.fit import NO_FIT, shown_amount

_SMOOTH = 8  # points between powers of two


def draw_fit(fit: Fit) -> Figure:
    """Draw measured and fitted latency; beside them, where both are estimated, p against D."""
    both = not fit.probability.fixed and not fit.delay.fixed and fit.verdict != NO_FIT
    figure, axes = style.new_figure([2.4], 2 if both else 1, sharex=False, sharey=False)
    handles = _latencies(axes[0, 0], fit)
    if both:
        handles += _region(axes[0, 1], fit)
    title = f"{fit.curve.name or 'curve'}: {fit.verdict}"
    style.finish(figure, title, [_parameters(fit)], handles)
    return figure


def _parameters(fit: Fit) -> str:
    parts = [
        f"L = {shown_amount(fit.step.value, 's')}",
        f"D = {shown_amount(fit.delay.value, 's')}",
    ]
    if fit.model.free:
        parts.append(f"p = {shown_amount(fit.probability.value, '')}")
    return f"{fit.model.name}, {fit.model.rank} rank: {', '.join(parts)}"


def _latencies(axes: Axes, fit: Fit) -> list[Line2D]:
    curve, rounds = fit.curve, fit.curve.rounds
    low, high = max(math.floor(rounds.min()) - 1, 1), math.ceil(rounds.max())
    high = max(high, low + 1)
    k = np.linspace(low, high, (high - low) * _SMOOTH + 1)
    model, measured = style.SERIES[:2]
    axes.plot(k, fit.latency(k), color=model.color, linewidth=1.8)
    axes.plot(k, k * fit.step.value, color=style.GREY, linestyle=":")
    handles = [
        _line(model.color, "-", "model"),
        _line(style.GREY, ":", "without noise: K L"),
    ]
    if math.isfinite(fit.model.most):
        every_step_hit = k * (fit.step.value + fit.delay.value)
        top = 4 * max(float(curve.latency.max()), float(fit.latency(k).max()))
        if every_step_hit.min() < top:  # far above the curve it would only flatten it
            shown = np.where(every_step_hit < top, every_step_hit, np.nan)
            axes.plot(k, shown, color=style.GREY, linestyle="-.")
            handles.append(_line(style.GREY, "-.", "every step hit: K (L + D)"))
    if curve.low is not None and curve.high is not None:
        axes.vlines(rounds, curve.low, curve.high, color=style.GREY, linewidth=0.7)
        handles.append(_line(style.GREY, "-", "smallest to largest measured", 0.7))
    axes.errorbar(rounds, curve.latency, None if curve.error is None else 2 * curve.error,
                  fmt="o", color=measured.dark, markersize=4.5, capsize=2)  # fmt: skip
    bars = "" if curve.error is None else ", ± 2 standard errors"
    handles.append(Line2D([], [], color=measured.dark, marker="o", linestyle="",
                          label=f"measured{bars}"))  # fmt: skip
    _rank_axis(axes, low, high)
    if style.wants_log(np.concatenate([curve.latency, fit.latency(k)])):
        style.log_axis(axes, "s")
    else:
        axes.set_ylim(bottom=0)
        style.unit_axis(axes, "s")
    axes.set_ylabel("latency")
    return handles


def _rank_axis(axes: Axes, low: int, high: int) -> None:
    every = max(1, math.ceil((high - low + 1) / 9))
    at = list(range(low, high + 1, every))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(at, [f"$2^{{{k}}}$" for k in at])
    axes.set_xlabel("ranks")


def _region(axes: Axes, fit: Fit) -> list[Any]:
    p, least, most = fit.region
    inside = np.isfinite(least) & np.isfinite(most)
    if not inside.any():
        axes.set_visible(False)
        return []
    floor = 1e-3 * float(np.nanmax(most[inside])) if not fit.delay.value else 0.01 * min(
        fit.delay.value, float(np.nanmin(most[inside])))  # fmt: skip
    look = style.SERIES[2]
    axes.fill_between(p[inside], np.maximum(least[inside], floor), most[inside],
                      color=look.color, alpha=0.35, linewidth=0.8)  # fmt: skip
    axes.plot(p[inside], most[inside], color=look.color, linewidth=1.0)
    if fit.delay.value > 0:
        axes.plot([fit.probability.value], [fit.delay.value], marker="*", markersize=11,
                  color=look.dark)  # fmt: skip
    style.log_axis(axes, "", "x")
    style.log_axis(axes, "s")
    axes.set_xlabel("p, probability of a hit")
    axes.set_ylabel(f"D, {fit.model.scale}")
    label = f"{100 * fit.confidence:g} % intervals of D, for each p" if fit.intervals else (
        "all that fit as well to 0.1 %")  # fmt: skip
    return [
        Patch(color=look.color, alpha=0.35, label=label),
        Line2D([], [], color=look.dark, marker="*", markersize=9, linestyle="", label="best"),
    ]


def _line(color: str, line: Any, label: str, width: float = 1.6) -> Line2D:
    return Line2D([], [], color=color, linestyle=line, linewidth=width, label=label)


_FLOOR = 1e-12  # below all that is shown


def draw_budget(found: Budget, curves: Sequence[Sequence[Budget]]) -> Figure:
    """A line for each curve, shaded where the limit is kept, and the answer that was asked for."""
    figure, axes = style.new_figure([2.6], 1)
    panel = axes[0, 0]
    handles: list[Any] = []
    for curve, look in zip(curves, style.SERIES, strict=False):
        _draw_curve(panel, curve, look)
        label = f"{curve[0].question.rank} rank: at most this p, with its interval"
        handles.append(Line2D([], [], **look.stroke, linewidth=1.8, label=label))
    question = found.question
    if found.state == AT_MOST:
        p = found.probability
        panel.errorbar([float(question.delay)], [p.value], [[p.value - p.low], [p.high - p.value]],
                       fmt="*", color=style.INK, markersize=10, capsize=3)  # fmt: skip
        at = f"p = {p.value:.3g} at D = {show_seconds(float(question.delay), 3)}"
        handles.append(Line2D([], [], color=style.INK, marker="*", linestyle="", markersize=9,
                              label=at))  # fmt: skip
    style.log_axis(panel, "s", "x")
    panel.set_yscale("log")
    panel.set_xlabel("D, delay of a step that is hit")
    panel.set_ylabel("p, probability of a hit")
    shown = [one.probability.value for curve in curves for one in curve if one.state == AT_MOST]
    panel.set_ylim(0.5 * min(shown, default=0.1), 1.3)
    asked = limit_in_words(question)
    subtitle = [f"L = {show_seconds(float(question.step), 4)} a step, K L = "
                f"{show_seconds(question.quiet, 4)} without noise",
                "below a line the limit is kept; left of its end for every p"]  # fmt: skip
    style.finish(figure, f"Noise that keeps {asked}", subtitle, handles)
    return figure


def _draw_curve(axes: Axes, curve: Sequence[Budget], look: style.Look) -> None:
    known = [one for one in curve if one.state == AT_MOST]
    if not known:
        return
    delay = np.array([float(one.question.delay) for one in known])
    p = np.array([one.probability[:3] for one in known])
    any_p = [float(one.question.delay) for one in curve if one.state == ALWAYS]
    if any_p:  # the line comes down from p = 1 where every step hit is just allowed
        delay = np.concatenate([[limit_of_any(known[0].question)], delay])
        p = np.concatenate([np.ones((1, 3)), p])
    axes.fill_between(delay, p[:, 0], _FLOOR, color=look.color, alpha=0.08, linewidth=0)
    axes.fill_between(delay, p[:, 1], p[:, 2], color=look.color, alpha=0.4, linewidth=0)
    axes.plot(delay, p[:, 0], color=look.color, linestyle=look.line, linewidth=1.6)


def limit_of_any(question: BudgetQuestion) -> float:
    """The longest D that every step may have, seconds."""
    return (float(question.latency) - question.quiet) / question.rounds
