"""What pictures of theory show, and the marks that they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FormatStrFormatter, NullLocator

from . import style

Floats = npt.NDArray[np.float64]
US = 1e6


@dataclass(frozen=True)
class Points:
    """Simulated values with their 95 % intervals."""

    at: Floats
    value: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class Ends:
    """How late one rank and the last are: P(later than t); times in seconds."""

    noise: str
    at: str
    times: Floats
    one: Floats  # exact
    last_low: Floats
    last_high: Floats
    seen_one: Points
    seen_last: Points
    steps: bool = False
    wide: bool = False  # a heavy tail: a logarithmic axis


@dataclass(frozen=True)
class Growth:
    """The largest of N draws in units of its scale: mean against N, and distribution at one N."""

    noise: str
    counts: Floats
    mean: Floats
    seen: Points
    shares: Floats
    tail: Floats  # exceeded with that probability
    seen_tail: Points


@dataclass(frozen=True)
class Limits:
    """HM18's barrier against the probability of a delay, and LogGP against ranks; in seconds."""

    p: Floats
    one: Floats
    last_low: Floats
    last_high: Floats
    seen: Points
    levels: Sequence[tuple[str, float]]
    ranks: Floats
    gaps: Sequence[tuple[str, Floats]]
    seen_free: Points


ONE, LAST, *REST = style.SERIES
_BARS: dict[str, Any] = {"linestyle": "none", "markersize": 4, "elinewidth": 1.1, "zorder": 5}


def dots(axes: Axes, seen: Points, look: style.Look, scale: float = 1.0) -> None:
    bars = np.maximum([seen.value - seen.low, seen.high - seen.value], 0.0) * scale
    axes.errorbar(seen.at, seen.value * scale, yerr=bars, color=look.dark, marker=look.marker,
                  markerfacecolor=look.color, **_BARS)  # fmt: skip


def plain(axis: Axis, at: Sequence[float]) -> None:
    """Numbers as they are written, on a logarithmic axis of few decades."""
    axis.set_major_locator(FixedLocator(list(at)))
    axis.set_major_formatter(FormatStrFormatter("%g"))
    axis.set_minor_locator(NullLocator())


def dot_handle(look: style.Look, label: str) -> Line2D:
    return Line2D([], [], color=look.dark, marker=look.marker, markerfacecolor=look.color,
                  markersize=4, linestyle="none", label=label)  # fmt: skip


def line_handle(look: style.Look, label: str) -> Line2D:
    return Line2D([], [], color=look.color, linestyle=look.line, linewidth=1.7, label=label)


def last_handles() -> list[Any]:
    """What the area and the dots of the last rank mean."""
    return [
        Patch(facecolor=style.GREY, alpha=0.25, label="last rank: between these, rigorously"),
        dot_handle(LAST, "last rank: simulated, 95 % interval"),
    ]
