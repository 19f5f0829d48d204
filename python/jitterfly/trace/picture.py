"""Picture of one realization, as CS14's Fig. 1-4: ranks, noise, messages, adopted copies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..case import Case
from ..plots import draw as plot
from ..simulate import simulate_checked
from ..units import from_ticks, show_seconds
from .events import COPY, FORWARD
from .limits import check_intervals, check_size, noise_free
from .marks import DELAYED, draw_bars, draw_messages, legend, phases_drawn
from .replay import Replay

_SEARCHED = 1000


def worst_realization(case: Case, seed: int) -> int:
    """The one of the first 1000 realizations that ends last."""
    result = simulate_checked(case, _SEARCHED, seed)  # `draw` says what hits nothing
    return int(result.ticks[:, -1].argmax())


def draw(case: Case, path: Path, *, seed: int = 0, realization: int = 0) -> str:
    """Draw one realization and return its summary in a line or two.

    Raises:
        ValueError: too much for a picture (`check_size`), no matplotlib, or no picture format.
    """
    plot.check_path(path)
    check_size(case)
    replay = Replay(case, seed, realization)
    check_intervals(case, int(replay.ready[-1].max()))
    with plot.drawing(**{"axes.grid": False}):
        plot.save(_figure(replay), path)
    return _summary(replay)


def _summary(replay: Replay) -> str:
    copies = [m for m in replay.messages if m.kind == COPY]
    forwards = [m for m in replay.messages if m.kind == FORWARD]
    parts = [f"completion {show_seconds(_seconds(replay.ready[-1].max()), 6)}"]
    parts.append(f"noise-free {show_seconds(_seconds(noise_free(replay.case)), 6)}")
    if copies:
        parts.append(f"{sum(m.used for m in copies)} of {len(copies)} copies adopted")
    if forwards:
        parts.append(f"{sum(m.used for m in forwards)} of {len(forwards)} forwards used")
    return ", ".join(parts)


def _seconds(ticks: Any) -> float:
    return float(from_ticks(ticks))


def _figure(replay: Replay) -> Any:
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    from ..plots import style

    case = replay.case
    end = max(int(replay.ready[-1].max()), 1)
    scale, unit = _unit(end)
    height = min(2.2 + 0.3 * case.ranks, 24)
    figure = Figure(figsize=(10, height))
    axes = figure.subplots()
    axes.hlines(range(case.ranks), 0, end * scale, color="#bbbbbb", linewidth=0.6, zorder=1)
    thick = 0.62
    draw_bars(axes, replay.compute, scale, thick * 0.55, facecolor="#cfe8dd", zorder=1.5)
    draw_bars(axes, _noise(replay, end), scale, thick, facecolor="#777777", edgecolor="#333333",
               linewidth=0.4, zorder=2)  # fmt: skip
    draw_bars(axes, replay.delayed, scale, thick * 0.8, facecolor=DELAYED, zorder=2.2)
    draw_messages(axes, replay.messages, scale)
    marks = replay.ready[:-1]
    spots = np.tile(np.arange(case.ranks), (len(marks), 1))
    axes.plot(marks.ravel() * scale, spots.ravel(), "|", color="black", markersize=5, zorder=5)
    axes.plot(replay.ready[-1] * scale, range(case.ranks), "D", color="black", markersize=3.5,
              zorder=6, clip_on=False)  # fmt: skip
    quiet = noise_free(case) * scale
    axes.axvline(quiet, color=style.GREEN, linewidth=1, linestyle="-.", zorder=0.5)
    axes.set_xlim(0, end * scale * 1.02)
    axes.set_ylim(case.ranks - 0.4, -0.6)  # rank 0 on top, as in CS14
    axes.yaxis.set_major_locator(MaxNLocator(17, integer=True, steps=[1, 2, 4, 8, 10]))
    axes.set_xlabel(f"time ({unit})")
    axes.set_ylabel("rank")
    title = f"{case.ranks} ranks, seed {replay.seed}, realization {replay.realization}"
    axes.set_title(f"{title}\n{_summary(replay)}", fontsize=9.5)
    handles = legend(replay)
    figure.legend(handles=handles, loc="lower center", ncols=4, fontsize=8, handlelength=2.6)
    figure.tight_layout(rect=(0, (0.1 + 0.17 * -(-len(handles) // 4)) / height, 1, 1))
    return figure


def _unit(ticks: int) -> tuple[float, str]:
    for power, unit in ((12, "s"), (9, "ms"), (6, "µs"), (3, "ns")):
        if ticks >= 10**power:
            return 10.0**-power, unit
    return 1.0, "ps"


def _noise(replay: Replay, end: int) -> list[tuple[int, int, int]]:
    """(rank, begin, end) of every noise interval from 0 to `end`, cut to it."""
    return [
        (rank, max(begin, 0), min(stop, end))
        for rank in range(replay.case.ranks)
        for computing in phases_drawn(replay.case)
        for begin, stop in replay.noise.intervals(rank, end, computing=computing)
    ]
