"""What all figures share: settings, colours, the frame of axes, title and legend.

Colours are Okabe and Ito's, told apart by the colour-blind; series also differ in lightness,
marker, line and hatch, so that a grey print reads the same.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..results import CONVENTIONAL, REDUNDANT
from .ticks import lines_of, wrapped

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
ESTIMATED = Look("black", "black", "D", "-", "", 0.0)
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


def panel_title(axes: Axes, label: str) -> None:
    """A text of the study above a panel; no formula, whatever is in it."""
    width = axes.figure.get_figwidth() / axes.get_subplotspec().get_gridspec().ncols
    axes.set_title(wrapped(label, 0.85 * width, 9), fontsize=9, parse_math=False)


def left_out(shown: int, count: int, what: str) -> str:
    """For a subtitle: `6 of 42 cells`; empty where all are shown."""
    return f"{shown:,} of {count:,} {what}" if shown < count else ""


def finish(figure: Figure, title: str, subtitle: Sequence[str], handles: Sequence[Any]) -> None:
    """Title above the axes, one legend below them; what is empty of the subtitle is left out."""
    width, height = figure.get_size_inches()
    columns = max(1, min(3 if width > 9 else 2, len(handles)))
    for handle in handles:
        handle.set_label(wrapped(handle.get_label(), width / columns - 0.65, 8, 3))
    legend = _legend_height([lines_of(handle.get_label()) for handle in handles], columns)
    usual = 0.17 * -(-len(handles) // columns)
    heading = wrapped(title, 0.97 * width, 12, 4)  # bold letters are wider
    lines = textwrap.wrap("; ".join(filter(None, subtitle)), round(14 * width))
    # Lines that most pictures lack do not take from the room of the axes.
    height += 0.17 * (lines_of(heading) - 1) + 0.15 * _title_lines(figure)
    height += legend - usual + 0.15 * max(len(lines) - 2, 0)
    figure.set_size_inches(width, height)
    figure.text(0.5, 1 - 0.1 / height, heading, ha="center", va="top", fontsize=11,
                weight="bold", parse_math=False)  # fmt: skip
    top = 0.17 + 0.17 * lines_of(heading)
    figure.text(0.5, 1 - top / height, "\n".join(lines), ha="center", va="top", fontsize=8.5,
                parse_math=False)  # fmt: skip
    if handles:
        shown = figure.legend(handles=list(handles), loc="lower center", ncols=columns, fontsize=8,
                              handlelength=3)  # fmt: skip
        for text in shown.get_texts():
            text.set_parse_math(False)
    top += 0.06 + 0.15 * len(lines)
    bottom = 0.1 + legend
    figure.tight_layout(rect=(0, bottom / height, 1, 1 - top / height))


def _legend_height(lines: list[int], columns: int) -> float:
    """In inches, of a legend whose entries have so many lines: it is filled column by column."""
    size, larger = divmod(len(lines), columns)
    start, heights = 0, [0.0]
    for column in range(columns):
        end = start + size + (column < larger)
        heights.append(sum(0.055 + 0.135 * count for count in lines[start:end]))
        start = end
    return max(heights)


def _title_lines(figure: Figure) -> int:
    """Lines of panel titles beyond the first, row by row."""
    rows: dict[int, int] = {}
    for axes in figure.axes:
        spec = axes.get_subplotspec()
        if spec is not None and axes.get_visible():
            row = spec.rowspan.start
            rows[row] = max(rows.get(row, 0), lines_of(axes.get_title()) - 1)
    return sum(rows.values())
