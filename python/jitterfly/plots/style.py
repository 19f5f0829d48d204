"""What all figures share: settings, colours, the frame of axes, title and legend.

Colours are Okabe and Ito's, told apart by the colour-blind; series also differ in lightness,
marker, line and hatch, so that a grey print reads the same.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from ..analysis.along import Along
from ..analysis.results import CONVENTIONAL, REDUNDANT
from ..units import show_seconds

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#E69F00", "#009E73", "#555555"
INK = "#222222"
MOST_COLUMNS = 6  # panels side by side

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
    "svg.hashsalt": "jitterfly",  # the same picture is the same file
}


@dataclass(frozen=True)
class Look:
    """How one series is drawn; `shift` (in ticks) moves its 30-run marks off the others'.

    `dark` is for the median, which runs inside the band of the same colour.
    """

    color: str
    dark: str
    marker: str
    line: Any
    hatch: str
    shift: float


_CONVENTIONAL = Look(BLUE, "#00456D", "o", "-", "", -0.16)
_REDUNDANT = Look(ORANGE, "#7A5400", "s", "--", "////", 0.16)
LOOKS = {CONVENTIONAL: _CONVENTIONAL, REDUNDANT: _REDUNDANT}
SERIES = [
    _CONVENTIONAL,
    _REDUNDANT,
    Look(GREEN, "#005C43", "^", ":", "\\\\\\\\", 0.0),
    Look("#CC79A7", "#7D3A5F", "v", "-.", "....", 0.08),
    Look("#56B4E9", "#1F6E99", "D", (0, (6, 1, 1, 1, 1, 1)), "||||", -0.08),
    Look("#333333", "#000000", "X", (0, (1, 0.8)), "xxxx", 0.22),
]


def new_figure(rows: list[float], columns: int, **options: Any) -> tuple[Figure, Any]:
    """A figure of rows (relative heights) and columns of axes that share their x axis."""
    figure = Figure(figsize=(max(3.6 * columns + 0.8, 6.4), 1.6 * sum(rows) + 1.5))
    options = {"sharex": True, "sharey": "row"} | options
    axes = figure.subplots(
        len(rows), columns, squeeze=False, gridspec_kw={"height_ratios": rows}, **options
    )
    return figure, axes


def place_axis(axes: Axes, along: Along, name: str) -> None:
    """The x axis: ticks where the values of a study's axis are."""
    positions, texts = along.ticks
    axes.xaxis.set_major_locator(FixedLocator(positions))
    axes.xaxis.set_minor_locator(NullLocator())
    known = dict(zip(positions, texts, strict=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: known.get(x, "")))
    axes.set_xlabel(name, parse_math=False)
    if along.scale == "text":
        axes.set_xlim(-0.5, len(positions) - 0.5)
        for label in axes.get_xticklabels():
            label.set(rotation=20, ha="right", parse_math=False)


def log_axis(axes: Axes, unit: str = "", which: str = "y") -> None:
    """A logarithmic axis whose ticks are plain numbers, or times."""
    axis = axes.yaxis if which == "y" else axes.xaxis
    (axes.set_yscale if which == "y" else axes.set_xscale)("log")
    low, high = axes.get_ylim() if which == "y" else axes.get_xlim()
    span = high / low if low > 0 else np.inf
    subs = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0) if span < 8 else (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(subs=subs if span < 3000 else (1.0,), numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _: in_unit(value, unit)))
    axis.set_minor_locator(NullLocator())


def unit_axis(axes: Axes, unit: str) -> None:
    """A linear y axis in an observable's unit."""
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: in_unit(value, unit)))


def value_axis(axes: Axes, unit: str) -> None:
    """An x axis of values: logarithmic where they are positive and span more than a factor of 8."""
    values = np.concatenate([line.get_xdata(orig=False) for line in axes.lines] or [np.ones(1)])
    values = np.asarray(values, dtype=float)
    values = values[np.isfinite(values)]
    if len(values) and values.min() > 0 and values.max() / values.min() > 8:
        log_axis(axes, unit, "x")
    else:
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: in_unit(value, unit)))


def in_unit(value: float, unit: str) -> str:
    """A number at a tick: a time with its unit."""
    return show_seconds(value, 3) if unit == "s" else f"{value:g}"


def panel_title(axes: Axes, label: str) -> None:
    """A text of the study above a panel; no formula, whatever is in it."""
    axes.set_title(label, fontsize=9, parse_math=False)


def finish(figure: Figure, title: str, subtitle: str, handles: Sequence[Any]) -> None:
    """Title above the axes, one legend below them."""
    width, height = figure.get_size_inches()
    columns = 3 if width > 9 else 2
    rows = -(-len(handles) // columns)
    size = min(11.0, 130 * width / max(len(title), 1))  # a bold letter is about 0.65 em wide
    figure.text(0.5, 1 - 0.1 / height, title, ha="center", va="top", fontsize=size,
                weight="bold", parse_math=False)  # fmt: skip
    lines = textwrap.wrap(subtitle, round(14 * width))
    figure.text(0.5, 1 - 0.34 / height, "\n".join(lines), ha="center", va="top", fontsize=8.5,
                parse_math=False)  # fmt: skip
    if handles:
        figure.legend(handles=list(handles), loc="lower center", ncols=columns, fontsize=8,
                      handlelength=3)  # fmt: skip
    top = 0.4 + 0.15 * len(lines)
    figure.tight_layout(rect=(0, (0.1 + 0.17 * rows) / height, 1, 1 - top / height))
