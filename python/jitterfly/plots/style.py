"""Style of all figures: colours, line styles, markers, legend, ticks, units, matplotlib settings.

Colours are Okabe and Ito's, told apart by the colour-blind; series also differ in lightness,
marker, line and hatch, so that a grey print reads the same.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import Formatter, LogLocator, MaxNLocator, NullLocator

from ..answer import FIRST, show_time
from ..fields import first_few, parameter, shorten
from ..results.figures import AxisScale
from ..stats import Estimate
from ..units import common_unit, show_seconds

LOG_FROM = 8
"""Positive values that span more than this factor have a logarithmic axis."""
_DECADES = 10_000 * 1.001  # from the smallest tick to the largest
_WIDE = "WF"  # East Asian characters that are as wide as two letters


def wrapped(text: str, inches: float, size: float, most: int = 6) -> str:
    r"""A text in lines of this many inches at a size of font, `most` of them: then it is cut.

    Examples
    --------
    >>> wrapped("one two three", 0.6, 10)
    'one two\nthree'
    >>> wrapped("for a time of 25 us", 1.3, 10)
    'for a time of\n25 us'
    >>> wrapped("ring_allreduce", 0.8, 10)
    'ring_\nallreduce'
    """
    letters = inches * 72 / (0.56 * size)
    wide = sum(unicodedata.east_asian_width(letter) in _WIDE for letter in text)
    letters *= len(text) / (len(text) + wide) if text else 1
    return "\n".join(_lines(text, max(round(letters), 6), max_lines=most, placeholder=" …"))


_UNIT = re.compile(r"(?<=[0-9]) (?=(?:[mnpuµ]?s|[kMGT]?i?B|%)(?!\w))")
_SIGN = re.compile(r" (?=[=±] )|(?<= [=±]) ")
_GLUE = "\N{NO-BREAK SPACE}"


def _lines(text: str, letters: int, **options: Any) -> list[str]:
    """Cut a text to lines of this many letters: a number keeps its unit, and its name if that fits.

    A word that is longer is broken after a `_`, if it has one.
    """
    units = _UNIT.sub(_GLUE, text)
    choices = (_SIGN.sub(_GLUE, units), units, text)
    glued = next((one for one in choices if max(map(len, one.split(" "))) <= letters), text)
    words = (w.replace("_", "_ ") if len(w) > letters else w for w in glued.split(" "))
    lines = textwrap.wrap(" ".join(words), letters, **options)
    return [line.replace("_ ", "_").replace(_GLUE, " ") for line in lines]


def lines_of(text: str) -> int:
    """Count the lines of a text."""
    return text.count("\n") + 1


_LETTER = 0.075  # inches, of a tick's text
_LINE = 0.16  # inches, the height of one
_LONG_NAME, _MAX_NAMES = 24, 100


class InUnit(Formatter):
    """A formatter of numbers, or times with a unit, with the digits that their distances need."""

    def __init__(self, unit: str):
        self.unit = unit

    def __call__(self, value: float, pos: int | None = None) -> str:
        """The text at a tick of its own."""
        return in_unit(value, self.unit)

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """The texts at ticks, which have to differ."""
        return [in_unit(value, self.unit, values) for value in values]


def in_unit(value: float, unit: str, among: Sequence[float] = ()) -> str:
    """A number at a tick `among` others: a time with its unit, the same for all of them.

    Where they span more than `_DECADES`, as on a logarithmic axis, each time has its own.
    """
    ticks = np.unique(np.asarray(among, dtype=float))
    step = float(np.diff(ticks).min()) if len(ticks) > 1 else 0.0
    if abs(value) < 1e-6 * step:
        value = 0.0
    least = 3 if unit == "s" else 6
    digits = next((d for d in range(least, 12) if _is_precise(ticks, d, step)), 12)
    if unit != "s":
        return f"{value:,.{digits}g}"
    sizes = np.abs(ticks[np.isfinite(ticks) & (ticks != 0.0) & (np.abs(ticks) >= 1e-6 * step)])
    if not len(sizes) or sizes.max() > _DECADES * sizes.min():
        return show_seconds(value, digits)
    shared = common_unit(sizes)
    return f"{show_time(value, shared, digits)} {shared}"


def _is_precise(ticks: np.ndarray, digits: int, step: float) -> bool:
    """Return whether rounding to `digits` digits moves no tick by a noticeable part of a step."""
    return all(abs(float(f"{t:.{digits}g}") - t) <= 0.05 * step for t in ticks) or not step


def is_dark(colours: npt.ArrayLike) -> Any:
    """Return whether a colour (red, green, blue last) is so dark that text on it must be white."""
    return np.asarray(colours) @ (0.2126, 0.7152, 0.0722) < 0.45


def bare(axes: Axes) -> None:
    """Take grid, ticks and frame from a panel whose cells have edges of their own."""
    axes.grid(visible=False)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def figure_holding(axes: Axes) -> Figure:
    """The figure that a panel lies in; we draw no subfigures."""
    return cast(Figure, axes.figure)


def inches_across(axes: Axes) -> float:
    """The width of a panel."""
    return float(axes.get_position().width * figure_holding(axes).get_figwidth())


def place_axis(axes: Axes, along: AxisScale, name: str) -> None:
    """Set the ticks of the x axis where the values of a study's axis are, as many as have room."""
    positions, texts = along.ticks
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(name, parse_math=False)
    width = inches_across(axes)
    if along.scale == "text":
        _place_texts(axes, positions, texts, width)
        return
    # Matplotlib leaves 5 % free on each side.
    inches = width / 1.1 / (max(positions) - min(positions) or 1.0)
    widths = [(2 if "^" in text else len(text)) * _LETTER for text in texts]  # exponents are small
    shown = _apart([inches * p for p in positions], widths)
    axes.set_xticks([positions[i] for i in shown], [texts[i] for i in shown])


def some_places(count: int, every: int) -> list[int]:
    """Return every so many of `count` places, and the last one in place of the one before it."""
    return [*range(0, count, every)[:-1], count - 1]


def name_axis(axes: Axes, names: Sequence[str], what: str) -> None:
    """Name the x axis `what`, and its ticks at 1, 2, ...: as many names as have room."""
    axes.set_xlabel(what, parse_math=False)
    axes.xaxis.set_minor_locator(NullLocator())
    short = [name if len(name) <= _LONG_NAME else f"{name[: _LONG_NAME - 1]}…" for name in names]
    inches = inches_across(axes) / len(names)
    every = max(1, len(names) // _MAX_NAMES)  # what has no room in any case is not looked at
    places = some_places(len(names), every)
    widths = [len(short[i]) * _LETTER for i in places]
    shown = [places[i] for i in _apart([inches * i for i in places], widths)]
    axes.set_xticks([i + 1 for i in shown], [short[i] for i in shown])
    for label in axes.get_xticklabels():
        label.set_parse_math(False)


def _apart(at: Sequence[float], widths: Sequence[float]) -> list[int]:
    """Choose the texts that can stand in a line: the first, the last, and others that have room."""
    last = len(at) - 1
    shown = [0]
    for i in range(1, last + 1):
        ends = [shown[-1], *([last] if i < last else [])]
        if all(abs(at[i] - at[j]) >= (widths[i] + widths[j]) / 2 + _LETTER for j in ends):
            shown.append(i)
    return shown if last in shown or not last else [*shown[:-1], last]


def _place_texts(
    axes: Axes, positions: Sequence[float], texts: Sequence[str], width: float
) -> None:
    """Write texts as ticks: straight where they have room, else in lines that slant, or upright."""
    room = width / len(positions)
    lines = [wrapped(text, max(room - 0.1, 0.5), 9, 2) for text in texts]
    longest = max(len(line) for text in lines for line in text.split("\n")) * _LETTER
    if longest <= room - 0.05 and all("…" not in text for text in lines):
        slant = 0
    else:
        lines = [wrapped(text, 2.0, 9, 2) for text in texts]
        high = max(lines_of(text) for text in lines)
        # At an angle, as many lines of text have room between ticks that are `room` inches apart.
        slant = next((a for a in (20, 40, 60) if room * np.sin(np.radians(a)) / _LINE >= high), 90)
        if slant == 90:
            lines = [wrapped(text, 2.0, 9, 1) for text in texts]
    shown = some_places(len(positions), int(-(-_LINE // room)) if slant == 90 else 1)
    axes.set_xticks([positions[i] for i in shown], [lines[i] for i in shown])
    axes.set_xlim(-0.5, len(positions) - 0.5)
    for label in axes.get_xticklabels():
        label.set(rotation=slant, parse_math=False, ha="center" if slant in (0, 90) else "right",
                  rotation_mode="default" if slant in (0, 90) else "anchor")  # fmt: skip


def log_axis(axes: Axes, unit: str = "", which: str = "y") -> None:
    """Make an axis logarithmic, with ticks that are plain numbers, or times."""
    axis = axes.yaxis if which == "y" else axes.xaxis
    (axes.set_yscale if which == "y" else axes.set_xscale)("log")
    low, high = axes.get_ylim() if which == "y" else axes.get_xlim()
    span = high / low if low > 0 else np.inf
    subs = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0) if span < 8 else (1.0, 2.0, 5.0)
    locator = LogLocator(subs=subs if span < 3000 else (1.0,), numticks=12)
    if which == "x" and np.isfinite(span):
        choices = [LogLocator(subs=some, numticks=12) for some in ((1.0, 2.0, 5.0), (1.0, 3.0))]
        choices += [LogLocator(subs=(1.0,), numticks=count) for count in (12, 6, 4, 3, 2)]
        width = inches_across(axes) / np.log(span)
        fitting = (one for one in (locator, *choices) if _fits(one, low, high, unit, width))
        locator = next(fitting, choices[-1])
    # Between neighbours of those there is little of a logarithm to be seen.
    axis.set_major_locator(locator if span > 2.5 else MaxNLocator(5))
    axis.set_major_formatter(InUnit(unit))
    axis.set_minor_locator(NullLocator())


def _fits(locator: LogLocator, low: float, high: float, unit: str, width: float) -> bool:
    """Return whether the texts of a locator's ticks have room, at `width` inches a factor of e."""
    shown = [tick for tick in locator.tick_values(low, high) if low <= tick <= high]
    widths = [len(in_unit(tick, unit, shown)) * _LETTER for tick in shown]
    at = [width * float(np.log(tick)) for tick in shown]
    return _apart(at, widths) == list(range(len(shown))) if shown else False


def unit_axis(axes: Axes, unit: str) -> None:
    """Show the ticks of a linear y axis in an observable's unit."""
    axes.yaxis.set_major_formatter(InUnit(unit))


def wants_log(values: npt.ArrayLike) -> bool:
    """Return whether values need a logarithmic axis: positive, they span more than `LOG_FROM`."""
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    return bool(len(known)) and 0 < LOG_FROM * known.min() < known.max()


def scale_axes(axes: Sequence[Axes], values: npt.ArrayLike, unit: str) -> None:
    """Scale the y axes of panels of a row alike: logarithmic where the row's values span much."""
    if wants_log(values):
        for one in axes:
            log_axis(one, unit)
    else:
        unit_axis(axes[0], unit)


def parts_of_ranks(values: npt.NDArray[Any], most: int = 256) -> tuple[npt.NDArray[Any], ...]:
    """The places and widths of bars of neighbouring ranks, and the mean values of each."""
    parts = np.array_split(np.arange(len(values)), min(most, len(values)))
    begins = np.array([part[0] for part in parts]) - 0.5
    widths = np.array([len(part) for part in parts])
    return begins, widths, np.array([values[part].mean(axis=0) for part in parts])


def hide(axes: Iterable[Axes]) -> None:
    """Hide panels that nothing is drawn into."""
    for one in axes:
        one.set_visible(False)


def error_bar_lengths(estimates: Iterable[Estimate | None]) -> npt.NDArray[np.float64]:
    """The lengths of error bars down and up, shape (2, n); 0 for an end that is not known."""
    away = [
        (0.0, 0.0) if e is None else (float(e.value - e.low), float(e.high - e.value))
        for e in estimates
    ]
    return np.nan_to_num(np.maximum(np.array(away).T, 0.0), posinf=0.0)


def draw_later_share(axes: Axes, samples: npt.ArrayLike, look: Look, label: str) -> None:
    """Draw the share of realizations that takes longer than a time."""
    times = np.sort(samples)
    share = 1 - np.arange(len(times)) / len(times)  # from a sample on: it and all later ones
    axes.step(times, share, where="pre", label=label, **look.stroke)


def value_axis(axes: Axes, unit: str, *, linear: bool = False) -> None:
    """Scale the x axis of values, logarithmic where they span much (`wants_log`).

    `linear`: never, as for a point in time.
    """
    panels = axes.get_shared_x_axes().get_siblings(axes)  # they have one scale
    drawn = [line.get_xdata(orig=False) for panel in panels for line in panel.lines]
    values = np.concatenate(drawn or [np.ones(1)])
    if not linear and wants_log(values):
        log_axis(axes, unit, "x")
        return
    low, high = axes.get_xlim()
    width = inches_across(axes)
    for count in (6, 5, 4, 3, 2, 1):
        locator = MaxNLocator(count, min_n_ticks=1)
        ticks = [t for t in locator.tick_values(low, high) if low <= t <= high]
        texts = [in_unit(t, unit, ticks) for t in ticks]
        if sum(len(text) + 2 for text in texts) * _LETTER <= width:
            break
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(InUnit(unit))


def bar_ticks(low: float, high: float, height: float) -> list[float]:
    """The ticks of a logarithmic colour bar of this many inches: as many round numbers as fit."""
    decades = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    fine = [1 + 0.1 * i for i in range(90)]
    choices = [fine, (1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)]
    inch = height / np.log10(high / low)
    # Where there is room for many, numbers that are as round as a factor of 10, or of 2, allows.
    start = 0 if high / low < 2 else 1 if high / low < 8 else 2
    for subs in choices[start:]:
        ticks = np.array([sub * decade for decade in decades for sub in subs])
        ticks = ticks[(ticks >= low * 0.999) & (ticks <= high * 1.001)]
        if len(ticks) > 1 and np.diff(np.log10(ticks)).min() * inch >= 0.16:
            return [float(tick) for tick in ticks]
    ticks = decades[(decades >= low * 0.999) & (decades <= high * 1.001)]
    if len(ticks) > 2:
        every = int(np.ceil(0.16 / inch))
        return [float(tick) for tick in ticks[::every]]
    return [low, high]


BLUE, ORANGE, GREEN, GREY = "#0072B2", "#E69F00", "#009E73", "#555555"
INK = "#222222"
MAX_COLUMNS = 6  # panels side by side

RC: dict[Any, Any] = {
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
    "pdf.fonttype": 42,  # TrueType: publishers refuse matplotlib's own choice, Type 3
    "ps.fonttype": 42,
    "svg.hashsalt": "jitterfly",  # the same picture is the same file
}


@dataclass(frozen=True)
class Look:
    """The look of one series; `shift` (in ticks) moves its marks off the others' where these meet.

    `dark` is for the median, which runs inside the band of the same colour.
    """

    color: str
    dark: str
    marker: str
    line: Any
    hatch: str
    shift: float

    @property
    def stroke(self) -> dict[str, Any]:
        """The options of a line without markers."""
        return {"color": self.color, "linestyle": self.line}

    @property
    def marked(self) -> dict[str, Any]:
        """The options of a line with markers."""
        return {**self.stroke, "marker": self.marker}


SERIES = [
    Look(BLUE, "#00456D", "o", "-", "", -0.16),
    Look(ORANGE, "#7A5400", "s", "--", "////", 0.16),
    Look(GREEN, "#005C43", "^", ":", "\\\\\\\\", 0.0),
    Look("#CC79A7", "#7D3A5F", "v", "-.", "....", 0.08),
    Look("#56B4E9", "#1F6E99", "D", (0, (6, 1, 1, 1, 1, 1)), "||||", -0.08),
    Look("#333333", "#000000", "X", (0, (1, 0.8)), "xxxx", 0.22),
]


_WIDEST = 13.0  # inches, of panels side by side
_PANEL = 1.2, 0.65  # inches, of the least panel with its ticks


@dataclass(frozen=True)
class FigureOptions:
    """The size (inches) and title that a user asked for in place of a figure's own."""

    size: tuple[float, float] | None = None
    title: str | None = None


_OPTIONS: ContextVar[FigureOptions] = ContextVar(
    "figure options",
    default=FigureOptions(),  # noqa: B039 (it never changes)
)


@contextmanager
def figure_options(size: Any = None, title: str | None = None) -> Iterator[None]:
    """Draw with these `FigureOptions` within the block; ValueError for what is no size."""
    size = None if size is None else check_size(size)
    token = _OPTIONS.set(FigureOptions(size, title))
    try:
        yield
    finally:
        _OPTIONS.reset(token)


def check_size(size: Any) -> tuple[float, float]:
    """Check width and height in inches."""
    rule = f"{parameter('figsize')} must be width and height in inches, such as (7, 4), up to 100"
    try:
        width, height = map(float, size)
    except (TypeError, ValueError):
        raise ValueError(f"{rule}, got {shorten(size)}") from None
    if not (0 < width <= 100 and 0 < height <= 100):
        raise ValueError(f"{rule}, got {shorten(size)}")
    return width, height


def size_of(width: float, height: float) -> tuple[float, float]:
    """The size that was asked for, or this one."""
    return _OPTIONS.get().size or (width, height)


def new_figure(rows: list[float], columns: int, **options: Any) -> tuple[Figure, Any]:
    """A figure of rows (relative heights) and columns of axes that share their x axis."""
    width = min(max(3.6 * columns + 0.8, 6.4), max(_WIDEST, _PANEL[0] * columns + 0.8))
    figure = Figure(figsize=size_of(width, 1.6 * sum(rows) + 1.5))
    sharing: dict[str, Any] = {"sharex": True, "sharey": "row"} | options
    axes = figure.subplots(
        len(rows), columns, squeeze=False, gridspec_kw={"height_ratios": rows}, **sharing
    )
    return figure, axes


def panel_title(axes: Axes, label: str) -> None:
    """Write a text of the study above a panel; no formula, whatever is in it."""
    width = figure_holding(axes).get_figwidth() / axes.get_subplotspec().get_gridspec().ncols  # type: ignore[union-attr]
    axes.set_title(wrapped(label, 0.85 * width, 9), fontsize=9, parse_math=False)


_NO_INTERVAL: dict[str, Any] = {
    "marker": "o",
    "markersize": 9,
    "fillstyle": "none",
    "linestyle": "none",
    "label": "no interval is known",
}


def mark_no_interval(axes: Axes, x: npt.ArrayLike, y: npt.ArrayLike, **options: Any) -> None:
    """Draw a ring around values of which no interval is known; `finish` says so in the legend."""
    axes.plot(x, y, **{**_NO_INTERVAL, **options})


def count_left_out(shown: int, count: int, what: str) -> str:
    """The count in a subtitle: `6 of 42 cells`; empty where all are shown."""
    return f"{shown:,} of {count:,} {what}" if shown < count else ""


_MAX_NAMED = 4  # observables that are left out


def observables_left_out(shown: Sequence[str], known: Sequence[str]) -> str:
    """The count in a subtitle: `6 of 7 observables (left out: over)`; empty where all are shown."""
    gone = [name.replace("_", " ") for name in known if name not in shown]
    named = f" (left out: {first_few(gone, _MAX_NAMED)})" if gone else ""
    return count_left_out(len(shown), len(known), "observables") + named


_TITLE_SIZES = (11, 10, 9)
MAX_ABOVE = 2
"""Lines of text above a picture; the others stand below it."""


def _above_and_below(
    told: Sequence[str], room: int, letters: int, caution: bool
) -> tuple[list[str], list[str]]:
    """The lines of the first texts, as many as have room, and those of the others.

    A caution, which is the first one, stands above with its beginning in any case.
    """
    count = len(told)
    while count and len(_lines("; ".join(told[:count]), letters)) > room:
        count -= 1
    above, below = ("; ".join(part) for part in (told[:count], told[count:]))
    first = above if count or not caution else told[0]
    lines = _lines(first, letters, max_lines=max(room, 1), placeholder=" …") if first else []
    return lines, _lines(below, letters)


def finish(
    figure: Figure, title: str, subtitle: Sequence[str], handles: Sequence[Any] = ()
) -> None:
    """Put the title above the axes and one legend below them; empty subtitles are left out.

    The legend has `handles`, then what was drawn with a label, in panels without their own legend.
    Of title and subtitle `MAX_ABOVE` lines stand above, a caution's first one among them; what has
    no room there is below the legend.
    """
    asked = _OPTIONS.get()
    width, height = asked.size or figure.get_size_inches()
    drawn: dict[str, Any] = {}
    for axes in (one for one in figure.axes if one.get_legend() is None):
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            drawn.setdefault(label, handle)
    if _NO_INTERVAL["label"] in drawn:
        drawn[_NO_INTERVAL["label"]] = Line2D([], [], color=GREY, **_NO_INTERVAL)
    handles = [*handles, *drawn.values()]
    title = title if asked.title is None else asked.title
    columns = max(1, min(3 if width > 9 else 2 if width > 5 else 1, len(handles)))
    for handle in handles:
        handle.set_label(wrapped(handle.get_label(), width / columns - 0.65, 8, 3))
    legend = _legend_height([lines_of(handle.get_label()) for handle in handles], columns)
    usual = 0.17 * -(-len(handles) // columns)
    told = sorted(filter(None, subtitle), key=lambda one: getattr(one, "place", "") != FIRST)
    caution = bool(told) and getattr(told[0], "place", "") == FIRST
    for size in _TITLE_SIZES:  # a smaller one before it is cut
        heading = wrapped(title, 0.97 * width, size + 1, MAX_ABOVE - caution)  # bold is wider
        if not heading.endswith("…"):
            break
    if heading.endswith("…") and not title.endswith("…"):
        told.insert(int(caution), title)
    above, below = _above_and_below(told, MAX_ABOVE - lines_of(heading), round(14 * width), caution)
    # Lines that most pictures lack do not take from the room of the axes.
    if asked.size is None:
        height += 0.17 * (lines_of(heading) - 1) + 0.15 * _title_lines(figure)
        height += legend - usual + 0.15 * len(below)
    figure.set_size_inches(width, height)
    figure.text(0.5, 1 - 0.1 / height, heading, ha="center", va="top", fontsize=size,
                weight="bold", parse_math=False)  # fmt: skip
    top = 0.17 + 0.17 * lines_of(heading)
    figure.text(0.5, 1 - top / height, "\n".join(above), ha="center", va="top", fontsize=8.5,
                parse_math=False)  # fmt: skip
    foot = 0.06 * bool(below) + 0.15 * len(below)
    if below:
        figure.text(0.5, 0.05 / height, "\n".join(below), ha="center", va="bottom", fontsize=8.5,
                    parse_math=False)  # fmt: skip
    if handles:
        shown = figure.legend(handles=list(handles), loc="lower center", ncols=columns, fontsize=8,
                              handlelength=3, bbox_to_anchor=(0.5, foot / height))  # fmt: skip
        for text in shown.get_texts():
            text.set_parse_math(False)
    top += 0.06 + 0.15 * len(above)
    bottom = 0.1 + legend + foot
    if asked.size is not None:
        _check_room(figure, top + bottom)
    figure.tight_layout(rect=(0, bottom / height, 1, 1 - top / height))
    figure.set_layout_engine(None)  # a place holder is left: it makes `savefig` draw twice


def _check_room(figure: Figure, taken: float) -> None:
    """Raise ValueError where a size that was asked for has no room for the panels."""
    specs = [axes.get_subplotspec() for axes in figure.axes if axes.get_visible()]
    shapes = [spec.get_gridspec().get_geometry() for spec in specs if spec is not None]
    rows, columns = (max((shape[i] for shape in shapes), default=1) for i in (0, 1))
    width, height = figure.get_size_inches()
    least = _PANEL[0] * columns + 0.6, _PANEL[1] * rows + 0.4 + taken
    if width < least[0] or height < least[1]:
        raise ValueError(
            f"{parameter('figsize')} must be at least {least[0]:.1f} x {least[1]:.1f} inches for "
            f"{rows} x {columns} panels, title and legend, got {width:g} x {height:g}; a single "
            f"{parameter('observable')} takes less"
        )


def _legend_height(lines: list[int], columns: int) -> float:
    """The height in inches of a legend, filled column by column, of entries of this many lines."""
    size, larger = divmod(len(lines), columns)
    start, heights = 0, [0.0]
    for column in range(columns):
        end = start + size + (column < larger)
        heights.append(sum(0.055 + 0.135 * count for count in lines[start:end]))
        start = end
    return max(heights)


def _title_lines(figure: Figure) -> int:
    """The number of lines of panel titles beyond the first, summed over rows."""
    rows: dict[int, int] = {}
    for axes in figure.axes:
        spec = axes.get_subplotspec()
        if spec is not None and axes.get_visible():
            row = spec.rowspan.start
            rows[row] = max(rows.get(row, 0), lines_of(axes.get_title()) - 1)
    return sum(rows.values())
