"""Q-Q plot: simulated against measured quantiles."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..compare_measured import UNKNOWN, Agreement, AgreementRow
from ..stats import Estimate
from . import style


def draw(found: Agreement) -> Figure:
    """Draw quantiles of both, on and off the line where they are equal; of a table the ratios."""
    figure, axes = style.new_figure([2.6], 1)
    rows = _ratios if found.measured is None else _quantiles
    handles = rows(axes[0, 0], found)
    style.finish(figure, found.title(), found.subtitle(), handles)
    return figure


def _quantiles(panel: Axes, found: Agreement) -> list[Line2D]:
    assert found.measured is not None
    assert found.simulated is not None
    count = min(len(found.measured), len(found.simulated), 1000)
    levels = (np.arange(count) + 0.5) / count
    measured, simulated = (np.quantile(side, levels) for side in (found.measured, found.simulated))
    look, other = style.SERIES[:2]
    ends = [min(measured[0], simulated[0]), max(measured[-1], simulated[-1])]
    panel.plot(ends, ends, color=style.GREY, linestyle=":")
    panel.plot(measured, simulated, color=look.color, linestyle="", marker=".", markersize=3)
    for row in found.rows:
        if row.what == "mean":
            continue
        x, y = _ends(row.measured), _ends(row.simulated)
        if not np.isfinite([x, y]).all():  # too few samples for an interval
            continue
        panel.errorbar([x[1]], [y[1]], [[y[1] - y[0]], [y[2] - y[1]]],
                       [[x[1] - x[0]], [x[2] - x[1]]], color=other.color, marker=other.marker,
                       markersize=4, capsize=2)  # fmt: skip
        panel.annotate(row.what, (x[1], y[1]), (5, -9), textcoords="offset points", fontsize=8)
    if style.wants_log(ends):
        style.log_axis(panel, "s")
        style.log_axis(panel, "s", "x")
    else:
        style.unit_axis(panel, "s")
        panel.xaxis.set_major_formatter(style.InUnit("s"))
    panel.set_xlabel("measured")
    panel.set_ylabel("simulated")
    return [
        Line2D([], [], color=look.color, marker=".", linestyle="", label="quantiles of both"),
        Line2D([], [], color=other.color, marker=other.marker, label="with their intervals"),
        Line2D([], [], color=style.GREY, linestyle=":", label="equal"),
    ]


def _ends(estimate: Estimate) -> tuple[float, float, float]:
    return float(estimate.low), float(estimate.value), float(estimate.high)


def _ratios(panel: Axes, found: Agreement) -> list[Line2D]:
    """A row of the table after the other; simulated over measured, 1 in it unless told apart."""
    names = list(dict.fromkeys(row.what for row in found.rows))
    keys = list(dict.fromkeys((row.ranks, row.bytes) for row in found.rows))
    handles = []
    for name, look in zip(names, style.SERIES, strict=False):
        rows = [row for row in found.rows if row.what == name and row.measured.value > 0]
        at = [keys.index((row.ranks, row.bytes)) for row in rows]
        values = np.array([row.ratio for row in rows])
        ends = np.array([_ratio_ends(row) for row in rows]).reshape(-1, 2).T
        for place, x in enumerate(at):  # as the table shows an end that is not known
            for end, below in ((ends[0, place], True), (ends[1, place], False)):
                if not np.isfinite(end):
                    panel.annotate("?", (x, values[place]), (0, -5 if below else 5),
                                   textcoords="offset points", fontsize=8, color=look.color,
                                   ha="center", va="top" if below else "bottom")  # fmt: skip
        ends = np.where(np.isfinite(ends), [values - ends[0], ends[1] - values], 0.0)
        panel.errorbar(at, values, ends, color=look.color, marker=look.marker, linestyle="",
                       markersize=4, capsize=2)  # fmt: skip
        handles.append(Line2D([], [], **look.marked | {"linestyle": ""}, label=name))
    panel.axhline(1, color=style.GREY, linewidth=0.8)
    ratios = [row.ratio for row in found.rows if 0 < row.ratio < np.inf]
    if ratios and max(ratios) > 8 * min(ratios):
        style.log_axis(panel)
    every = max(1, -(-len(keys) // 8))
    panel.set_xticks(range(0, len(keys), every))
    panel.set_xticklabels([f"{ranks:,}; {size:,} B" for ranks, size in keys[::every]], rotation=20)
    panel.set_xlabel("ranks; bytes")
    panel.set_ylabel("simulated over measured")
    if any(row.verdict == UNKNOWN for row in found.rows):
        title = "nothing is told apart: over how many iterations is not known"
    else:
        title = f"{sum(row.apart for row in found.rows)} of {len(found.rows)} are told apart"
    panel.set_title(title, fontsize=9)
    return handles


def _ratio_ends(row: AgreementRow) -> tuple[float, float]:
    """The least and the largest ratio of the two intervals; infinite where there is no bound."""
    measured = row.measured
    low, high = float(measured.low), float(measured.high)
    if row.verdict == UNKNOWN:  # then only the simulated one has an interval
        low = high = float(measured.value)
    return (float(row.simulated.low) / high if np.isfinite(high) else -np.inf,
            float(row.simulated.high) / low if low > 0 else np.inf)  # fmt: skip
