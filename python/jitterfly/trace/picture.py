"""Picture of one realization, as CS14's Fig. 1-4: ranks, noise, messages, adopted copies."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np

from ..case import Case
from ..plots import draw as plot
from ..simulate import simulate
from ..units import TICKS_PER_SECOND, from_ticks, show_seconds, to_ticks
from .events import COPY, FORWARD, ORIGINAL, Message
from .replay import Replay

MOST_RANKS = 128
_SEARCHED = 1000


def worst_realization(case: Case, seed: int) -> int:
    """The one of the first 1000 realizations that ends last."""
    return int(simulate(case, realizations=_SEARCHED, seed=seed).ticks[:, -1].argmax())


def draw(case: Case, path: Path, *, seed: int = 0, realization: int = 0) -> str:
    """Draw one realization and return its summary in a line or two.

    Raises:
        ValueError: more than 128 ranks, no matplotlib, or no picture format.
    """
    if case.ranks > MOST_RANKS:
        raise ValueError(f"ranks must be from 1 to {MOST_RANKS} for a trace, got {case.ranks}")
    if not plot.can_draw():
        raise ValueError(plot.MISSING)
    plot.check_format(path)
    replay = Replay(case, seed, realization)
    plot.save(_figure(replay), path)
    return _summary(replay)


def _summary(replay: Replay) -> str:
    copies = [m for m in replay.messages if m.kind == COPY]
    forwards = [m for m in replay.messages if m.kind == FORWARD]
    parts = [f"completion {show_seconds(_seconds(replay.ready[-1].max()), 6)}"]
    parts.append(f"noise-free {show_seconds(_noise_free(replay.case), 6)}")
    if copies:
        parts.append(f"{sum(m.used for m in copies)} of {len(copies)} copies adopted")
    if forwards:
        parts.append(f"{sum(m.used for m in forwards)} of {len(forwards)} forwards used")
    return ", ".join(parts)


def _seconds(ticks: Any) -> float:
    return float(from_ticks(ticks))


def _noise_free(case: Case) -> float:
    line = case.quiet_timeline()
    return _seconds((case.cycles - 1) * line.end + line.ready[-1])


def _figure(replay: Replay) -> Any:
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    from ..plots import style

    mpl.rcParams.update(style.RC | {"axes.grid": False})
    case = replay.case
    end = max(int(replay.ready[-1].max()), 1)
    scale, unit = _unit(end)
    height = min(2.2 + 0.3 * case.ranks, 24)
    figure = Figure(figsize=(10, height))
    axes = figure.subplots()
    axes.hlines(range(case.ranks), 0, end * scale, color="#bbbbbb", linewidth=0.6, zorder=1)
    thick = 0.62
    for rank, begin, stop in replay.compute:
        axes.barh(rank, (stop - begin) * scale, left=begin * scale, height=thick * 0.55,
                  color="#cfe8dd", edgecolor="none", zorder=1.5)  # fmt: skip
    for rank, begin, stop in _noise(replay, end):
        axes.barh(rank, (stop - begin) * scale, left=begin * scale, height=thick, color="#777777",
                  edgecolor="#333333", linewidth=0.4, zorder=2)  # fmt: skip
    for message in replay.messages:
        _draw_message(axes, message, scale)
    marks = replay.ready[:-1]
    spots = np.tile(np.arange(case.ranks), (len(marks), 1))
    axes.plot(marks.ravel() * scale, spots.ravel(), "|", color="black", markersize=5, zorder=5)
    axes.plot(replay.ready[-1] * scale, range(case.ranks), "D", color="black", markersize=3.5,
              zorder=6, clip_on=False)  # fmt: skip
    quiet = _noise_free(case) * TICKS_PER_SECOND * scale
    axes.axvline(quiet, color=style.GREEN, linewidth=1, linestyle="-.", zorder=0.5)
    axes.set_xlim(0, end * scale * 1.02)
    axes.set_ylim(case.ranks - 0.4, -0.6)  # rank 0 on top, as in CS14
    axes.yaxis.set_major_locator(MaxNLocator(17, integer=True, steps=[1, 2, 4, 8, 10]))
    axes.set_xlabel(f"time ({unit})")
    axes.set_ylabel("rank")
    title = f"{case.ranks} ranks, seed {replay.seed}, realization {replay.realization}"
    axes.set_title(f"{title}\n{_summary(replay)}", fontsize=9.5)
    handles = _legend(replay)
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
    noise = replay.periodic
    if noise is None or replay.phases is None or not to_ticks(noise.duration):
        return []
    period, duration = to_ticks(noise.period), to_ticks(noise.duration)
    bars = []
    for rank, phase in enumerate(int(p) for p in replay.phases):
        first = -1 if noise.start == "stationary" else 0
        for k in itertools.count(first):
            begin, stop = phase + k * period, phase + k * period + duration
            if begin >= end:
                break
            if stop > 0:
                bars.append((rank, max(begin, 0), min(stop, end)))
    return bars


def _look(message: Message) -> dict[str, Any]:
    """Originals in grey; adopted copies and used forwards stand out; what was dropped fades."""
    if message.kind == ORIGINAL:
        if message.used:
            return {"color": "#888888", "linewidth": 0.6, "linestyle": "-", "zorder": 3}
        return {"color": "#888888", "linewidth": 0.6, "linestyle": (0, (1, 3)), "zorder": 3}
    if message.used:
        color = "#D55E00" if message.kind == COPY else "#0072B2"
        return {"color": color, "linewidth": 2.0, "linestyle": "-", "zorder": 4}
    color = "#E9B48F" if message.kind == COPY else "#9CC3DC"
    return {"color": color, "linewidth": 0.6, "linestyle": "--", "zorder": 2.5}


def _draw_message(axes: Any, message: Message, scale: float) -> None:
    times = [message.sent * scale, message.arrival * scale]
    axes.plot(times, [message.source, message.target], solid_capstyle="round", **_look(message))


def _legend(replay: Replay) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    names = {
        (ORIGINAL, True): "original message",
        (ORIGINAL, False): "original, not needed",
        (COPY, True): "redundant copy, adopted",
        (COPY, False): "redundant copy, not needed",
        (FORWARD, True): "forward, used",
        (FORWARD, False): "forward, not needed",
    }
    there = {(m.kind, m.used) for m in replay.messages}
    handles: list[Any] = []
    for key, label in names.items():
        if key in there:
            look = _look(Message(key[0], 1, 0, 0, 0, 0, key[1]))
            handles.append(Line2D([], [], label=label, **look))
    if replay.periodic is not None:
        during = replay.periodic.during
        label = "noise" if during == "all" else f"noise (during {during} only)"
        handles.append(Patch(facecolor="#777777", edgecolor="#333333", label=label))
    if replay.compute:
        handles.append(Patch(facecolor="#cfe8dd", label="compute phase"))
    handles.append(Line2D([], [], color="black", marker="|", linestyle="none", label="level ready"))
    dot = {"color": "black", "marker": "D", "markersize": 3.5, "linestyle": "none"}
    handles.append(Line2D([], [], label="complete", **dot))
    handles.append(Line2D([], [], color="#009E73", linestyle="-.", label="noise-free completion"))
    return handles
