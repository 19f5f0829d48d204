"""What all figures share: colours, marks and the series drawn from samples.

Colours are Okabe and Ito's, told apart by the colour-blind; the two algorithms also differ in
lightness, marker, line and hatch, so that a grey print reads the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from ..analysis import measures
from ..analysis.results import CONVENTIONAL, NOISELESS, REDUNDANT

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#E69F00", "#009E73", "#555555"
MEDIAN: dict[str, Any] = {"linewidth": 1.3, "linestyle": (0, (1, 1.2))}
ESTIMATE: dict[str, Any] = {"color": "black", "marker": "D", "markersize": 3, "linewidth": 1.2}

RC = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "hatch.linewidth": 0.5,
    "legend.frameon": False,
    "savefig.dpi": 160,
}


@dataclass(frozen=True)
class Look:
    """How one algorithm is drawn; `shift` moves its 30-run marks off the other's.

    `dark` is for the median, which runs inside the band of the same colour.
    """

    color: str
    dark: str
    marker: str
    line: str
    hatch: str
    shift: float


LOOKS = {
    CONVENTIONAL: Look(BLUE, "#00456D", "o", "-", "", -0.16),
    REDUNDANT: Look(ORANGE, "#7A5400", "s", "--", "////", 0.16),
    NOISELESS: Look(GREEN, "#005C43", "^", ":", "", 0.0),
}


def new_figure(rows: list[float], columns: int, **options: Any) -> tuple[Figure, Any]:
    """A figure of rows (relative heights) and columns of axes that share their x axis."""
    figure = Figure(figsize=(max(3.6 * columns + 0.8, 6.4), 1.6 * sum(rows) + 1.5))
    axes = figure.subplots(
        len(rows),
        columns,
        sharex=True,
        sharey="row",
        squeeze=False,
        gridspec_kw={"height_ratios": rows},
        **options,
    )
    return figure, axes


def draw_series(axes: Axes, x: np.ndarray, columns: list[np.ndarray], name: str) -> None:
    """5-95 % band, median, mean with its 95 % interval, and a 30-run mean with its range.

    Args:
        x: positions, shape (points,).
        columns: samples at each position.
    """
    look = LOOKS[name]
    low, middle, high = np.array([measures.quantiles(column) for column in columns]).T
    axes.fill_between(
        x, low, high, facecolor=look.color, alpha=0.22, hatch=look.hatch, edgecolor=look.color,
        linewidth=0, zorder=1,
    )  # fmt: skip
    axes.plot(x, middle, color=look.dark, **MEDIAN, zorder=3)
    means = [measures.mean(column) for column in columns]
    axes.errorbar(
        x,
        [m.value for m in means],
        yerr=_bars(means),
        color=look.color,
        linestyle=look.line,
        linewidth=1.7,
        marker=look.marker,
        markersize=4,
        elinewidth=1.7,
        zorder=4,
    )
    few = [measures.few_run_mean(column) for column in columns]
    # The one 30-run mean that is shown may lie outside the range of most others.
    axes.vlines(
        x + look.shift, [f.low for f in few], [f.high for f in few], color="#222222",
        linewidth=0.7, zorder=3,
    )  # fmt: skip
    axes.plot(
        x + look.shift,
        [f.value for f in few],
        linestyle="none",
        marker=look.marker,
        markersize=3.6,
        markerfacecolor="white",
        markeredgecolor="#222222",
        markeredgewidth=0.7,
        zorder=5,
    )


def draw_estimates(axes: Axes, x: np.ndarray, estimates: list[measures.Estimate]) -> None:
    """Values with their 95 % intervals, in black: what compares the two algorithms."""
    axes.errorbar(x, [e.value for e in estimates], yerr=_bars(estimates), **ESTIMATE,
                  elinewidth=1.2, capsize=2)  # fmt: skip


def _bars(estimates: list[measures.Estimate]) -> np.ndarray:
    down = [e.value - e.low for e in estimates]
    up = [e.high - e.value for e in estimates]
    return np.nan_to_num(np.array([down, up]), posinf=0.0)


def ranks_axis(axes: Axes, exponents: np.ndarray) -> None:
    """Ticks 2^k, not more than about nine."""
    step = -(-len(exponents) // 9)
    axes.xaxis.set_major_locator(FixedLocator(list(exponents[::step])))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda k, _: f"$2^{{{round(k)}}}$"))


def legend_handles(names: list[str]) -> list[Any]:
    """What the marks of `draw_series` mean, algorithm by algorithm."""
    handles: list[Any] = []
    for name in names:
        look = LOOKS[name]
        handles.append(
            Line2D([], [], color=look.color, linestyle=look.line, marker=look.marker, linewidth=1.7,
                   markersize=4, label=f"{name}: mean, 95 % interval")
        )  # fmt: skip
    for name in names:
        look = LOOKS[name]
        face = (*mpl.colors.to_rgb(look.color), 0.22)
        handles.append(
            Patch(facecolor=face, hatch=look.hatch, edgecolor=look.color, linewidth=0,
                  label=f"{name}: 5–95 % of realizations")
        )  # fmt: skip
    handles.append(Line2D([], [], color=GREY, label="median", **MEDIAN))
    handles.append(
        Line2D([], [], color="#222222", marker="o", markersize=3.6, linewidth=0.7,
               markerfacecolor="white",
               label=f"a {measures.RUNS}-run mean, and the 5–95 % range of such means")
    )  # fmt: skip
    return handles


def finish(figure: Figure, title: str, subtitle: str, handles: list[Any]) -> None:
    """Title above the axes, one legend below them."""
    width, height = figure.get_size_inches()
    columns = 3 if width > 9 else 2
    rows = -(-len(handles) // columns)
    figure.text(0.5, 1 - 0.1 / height, title, ha="center", va="top", fontsize=11,
                weight="bold", parse_math=False)  # fmt: skip
    figure.text(0.5, 1 - 0.34 / height, subtitle, ha="center", va="top", fontsize=8.5)
    figure.legend(handles=handles, loc="lower center", ncols=columns, fontsize=8, handlelength=3)
    figure.tight_layout(rect=(0, (0.1 + 0.17 * rows) / height, 1, 1 - 0.5 / height))
