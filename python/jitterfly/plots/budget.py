"""How much noise keeps a limit: the largest p over the length of a delay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..inference import Budget, BudgetQuestion, limit_in_words
from ..inference.budget import ALWAYS, AT_MOST
from ..units import show_seconds
from . import style

_FLOOR = 1e-12  # below all that is shown


def draw(found: Budget, curves: Sequence[Sequence[Budget]]) -> Figure:
    """A line for each curve, shaded where the limit is kept, and the answer that was asked for."""
    figure, axes = style.new_figure([2.6], 1)
    panel = axes[0, 0]
    handles: list[Any] = []
    for curve, look in zip(curves, style.SERIES, strict=False):
        _curve(panel, curve, look)
        handles.append(Line2D([], [], color=look.color, linestyle=look.line, linewidth=1.8,
                              label=f"{curve[0].question.rank} rank: at most this p, with its "
                              "interval"))  # fmt: skip
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


def _curve(axes: Axes, curve: Sequence[Budget], look: style.Look) -> None:
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
