"""Ticks of all figures: texts with as many digits as tell them apart, as many as there is room."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, Formatter, LogLocator, MaxNLocator, NullLocator

from ..analysis.along import Along
from ..units import show_seconds
from .words import wrapped

_LETTER = 0.075  # inches, of a tick's text


class InUnit(Formatter):
    """Numbers, or times with their unit, with the digits that their distances need."""

    def __init__(self, unit: str):
        self.unit = unit

    def __call__(self, value: float, pos: int | None = None) -> str:
        """The text at a tick of its own."""
        return in_unit(value, self.unit)

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """The texts at ticks, which have to differ."""
        return [in_unit(value, self.unit, values) for value in values]


def in_unit(value: float, unit: str, among: Sequence[float] = ()) -> str:
    """A number at a tick `among` others: a time with its unit."""
    ticks = np.unique(np.asarray(among, dtype=float))
    step = float(np.diff(ticks).min()) if len(ticks) > 1 else 0.0
    if abs(value) < 1e-6 * step:
        value = 0.0
    least = 3 if unit == "s" else 6
    digits = next((d for d in range(least, 12) if _tells(ticks, d, step)), 12)
    return show_seconds(value, digits) if unit == "s" else f"{value:.{digits}g}"


def _tells(ticks: np.ndarray, digits: int, step: float) -> bool:
    """Whether rounding to so many digits moves no tick by a noticeable part of a step."""
    return all(abs(float(f"{t:.{digits}g}") - t) <= 0.05 * step for t in ticks) or not step


def place_axis(axes: Axes, along: Along, name: str) -> None:
    """The x axis: ticks where the values of a study's axis are."""
    positions, texts = along.ticks
    text = along.scale == "text"
    axes.xaxis.set_major_locator(FixedLocator(positions))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(positions, [wrapped(t, 2.0, 9, 2) for t in texts] if text else texts)
    axes.set_xlabel(name, parse_math=False)
    if text:
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
    locator = LogLocator(subs=subs if span < 3000 else (1.0,), numticks=12)
    # Between neighbours of those there is little of a logarithm to be seen.
    axis.set_major_locator(locator if span > 2.5 else MaxNLocator(5))
    axis.set_major_formatter(InUnit(unit))
    axis.set_minor_locator(NullLocator())


def unit_axis(axes: Axes, unit: str) -> None:
    """A linear y axis in an observable's unit."""
    axes.yaxis.set_major_formatter(InUnit(unit))


def value_axis(axes: Axes, unit: str, *, linear: bool = False) -> None:
    """An x axis of values: logarithmic where they are positive and span more than a factor of 8.

    `linear`: never, as for a point in time.
    """
    values = np.concatenate([line.get_xdata(orig=False) for line in axes.lines] or [np.ones(1)])
    values = np.asarray(values, dtype=float)
    values = values[np.isfinite(values)]
    if not linear and len(values) and values.min() > 0 and values.max() / values.min() > 8:
        log_axis(axes, unit, "x")
        return
    low, high = axes.get_xlim()
    width = axes.get_position().width * axes.figure.get_figwidth()
    for count in (6, 5, 4, 3, 2, 1):
        locator = MaxNLocator(count, min_n_ticks=1)
        ticks = [t for t in locator.tick_values(low, high) if low <= t <= high]
        texts = [in_unit(t, unit, ticks) for t in ticks]
        if sum(len(text) + 2 for text in texts) * _LETTER <= width:
            break
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(InUnit(unit))


def bar_ticks(low: float, high: float, height: float) -> list[float]:
    """Of a logarithmic colour bar of so many inches: as many round numbers as have room."""
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
