"""When detours came and how long they were: the first look at a trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..measured import Detours
from ..units import TICKS_PER_SECOND
from . import style, ticks

_MOST_POINTS = 5_000  # beyond that, where they are dense is counted
_GRID = (500, 130)  # cells, each a dot of the picture or two
_COLOURS = mpl.colormaps["viridis_r"]
_LONGEST = 200  # of them are drawn as points in any case

Floats = npt.NDArray[np.float64]


def draw(axes: Axes, detours: Detours) -> None:
    """Duration (logarithmic) over start; a million take as long as a thousand."""
    starts = detours.starts / float(TICKS_PER_SECOND)
    _cloud(axes, starts, detours.durations / float(TICKS_PER_SECOND))
    if detours.threshold and len(starts):
        axes.axhline(detours.threshold / TICKS_PER_SECOND, color=style.GREY, linewidth=0.8,
                     linestyle=":")  # fmt: skip
        low, high = axes.get_ylim()
        axes.set_ylim(min(low, detours.threshold / TICKS_PER_SECOND / 1.3), high)  # it is seen
    axes.set_xlim(0, detours.length / TICKS_PER_SECOND)
    ticks.value_axis(axes, "s", linear=True)
    axes.set_xlabel("start")
    axes.set_ylabel("duration")


def handles(parts: Sequence[Detours]) -> list[Any]:
    """What the marks mean, of those that are there."""
    found = []
    if any(len(part.starts) > _MOST_POINTS for part in parts):
        found.append(Patch(color=_COLOURS(0.6), label="many detours (lighter: one)"))
        found.append(Line2D([], [], color=style.INK, linewidth=0, marker=".", markersize=4,
                            label=f"one of the {_LONGEST} longest"))  # fmt: skip
    if any(part.threshold for part in parts):
        found.append(Line2D([], [], color=style.GREY, linewidth=0.8, linestyle=":",
                            label="shorter ones were not recorded"))  # fmt: skip
    return found


def draw_samples(axes: Axes, values: Floats, name: str) -> None:
    """Any times in their order."""
    _cloud(axes, np.arange(len(values), dtype=np.float64), values)
    axes.set_xlim(0, max(len(values), 1))
    axes.set_xlabel("number")
    axes.set_ylabel(name)


def _cloud(axes: Axes, x: Floats, y: Floats) -> None:
    good = y > 0
    x, y = x[good], y[good]
    look: dict[str, Any] = {"color": style.BLUE, "linewidth": 0, "rasterized": True}
    if len(y) == 0:
        axes.text(0.5, 0.5, "none", transform=axes.transAxes, ha="center", color=style.GREY)
        return
    axes.set_yscale("log")
    low, high = float(y.min()), float(y.max())
    axes.set_ylim(low / 1.3, high * 1.5)
    if len(y) > _MOST_POINTS:
        edges = (
            np.linspace(0, x[-1] * (1 + 1e-9), _GRID[0] + 1),
            np.geomspace(low / 1.3, high * 1.5, _GRID[1] + 1),
        )
        counts = np.histogram2d(x, y, bins=edges)[0].T
        axes.pcolormesh(*edges, np.ma.masked_equal(counts, 0), cmap=_COLOURS, rasterized=True,
                        norm=LogNorm(0.3, max(counts.max(), 10)))  # fmt: skip
        longest = np.argpartition(y, -_LONGEST)[-_LONGEST:]
        x, y = x[longest], y[longest]
        look |= {"color": style.INK}
    axes.plot(x, y, ".", markersize=2.2, **look)
    ticks.log_axis(axes, "s")
