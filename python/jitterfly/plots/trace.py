"""Gantt chart (timeline) of one realization: ranks, noise, messages, as in CS14."""

from __future__ import annotations

from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..case import Case
from ..fields import grouped
from ..replay import (
    COPY,
    FORWARD,
    ORIGINAL,
    Message,
    Replay,
    check_intervals,
    check_size,
    noise_free,
)
from ..simulate import simulate_checked
from ..units import from_ticks, show_seconds
from . import draw as plot

DELAYED = "#B07AA1"


def _sources_of_intervals(case: Case) -> list[Any]:
    """The sources that have intervals."""
    return [noise for noise in case.noise if noise.share() > 0]


def _phases_drawn(case: Case) -> list[bool]:
    """The phases of the cycle in which the intervals are drawn: computing, or not, or both."""
    during = {noise.during for noise in _sources_of_intervals(case)}
    if during <= {"all"} or during == {"communication"}:
        return [False] if during else []
    return [True] if during == {"compute"} else [True, False]


def _line_style(color: str, linewidth: float, linestyle: Any, zorder: float) -> dict[str, Any]:
    return {"color": color, "linewidth": linewidth, "linestyle": linestyle, "zorder": zorder}


_MESSAGES = {
    (ORIGINAL, True): ("original message", _line_style("#888888", 0.6, "-", 3)),
    (ORIGINAL, False): ("original, not needed", _line_style("#888888", 0.6, (0, (1, 3)), 3)),
    (COPY, True): ("redundant copy, adopted", _line_style("#D55E00", 2.0, "-", 4)),
    (COPY, False): ("redundant copy, not needed", _line_style("#E9B48F", 0.6, "--", 2.5)),
    (FORWARD, True): ("forward, used", _line_style("#0072B2", 2.0, "-", 4)),
    (FORWARD, False): ("forward, not needed", _line_style("#9CC3DC", 0.6, "--", 2.5)),
}
"""What messages are called, by their kind and whether they were of use, and how they are drawn.

Originals in grey; adopted copies and used forwards stand out; what was dropped fades.
"""


def _draw_bars(
    axes: Any, bars: list[tuple[int, int, int]], scale: float, height: float, **look: Any
) -> None:
    """Draw bars of (rank, begin, end): one collection for each rank, as there may be thousands."""
    for rank, of_rank in grouped(bars, itemgetter(0)).items():
        spans = [(begin * scale, (stop - begin) * scale) for _, begin, stop in of_rank]
        axes.broken_barh(spans, (rank - height / 2, height), **look)


def _draw_messages(axes: Any, messages: list[Message], scale: float) -> None:
    """Draw lines from sender to receiver: one collection for each kind."""
    from matplotlib.collections import LineCollection

    for key, alike in grouped(messages, lambda m: (m.kind, m.used)).items():
        _, look = _MESSAGES[key]
        lines = [[(m.sent * scale, m.source), (m.arrival * scale, m.target)] for m in alike]
        axes.add_collection(LineCollection(lines, capstyle="round", **look))


def _legend(replay: Replay) -> list[Any]:
    """The legend of the marks in the picture of this replay."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    there = {(m.kind, m.used) for m in replay.messages}
    handles: list[Any] = [
        Line2D([], [], label=label, **look)
        for key, (label, look) in _MESSAGES.items()
        if key in there
    ]
    during = {noise.during for noise in _sources_of_intervals(replay.case)}
    if during:
        label = "noise (some in one phase only)"
        if len(during) == 1:
            label = "noise" if during == {"all"} else f"noise (during {during.pop()} only)"
        handles.append(Patch(facecolor="#777777", edgecolor="#333333", label=label))
    if replay.delayed:
        handles.append(Patch(facecolor=DELAYED, label="step delay"))
    if replay.compute:
        handles.append(Patch(facecolor="#cfe8dd", label="compute phase"))
    handles.append(Line2D([], [], color="black", marker="|", linestyle="none", label="level ready"))
    dot: dict[str, Any] = {"color": "black", "marker": "D", "markersize": 3.5, "linestyle": "none"}
    handles.append(Line2D([], [], label="complete", **dot))
    handles.append(Line2D([], [], color="#009E73", linestyle="-.", label="noise-free completion"))
    return handles


_SEARCHED = 1000  # realizations


def worst_realization(case: Case, seed: int) -> int:
    """The one of the first 1000 realizations that ends last."""
    result = simulate_checked(case.loops[-1], _SEARCHED, seed)  # `draw` says what hits nothing
    return int(result.ticks[:, -1].argmax())


class Summary(NamedTuple):
    """The numbers of a picture: seconds, and how many redundant messages were of use."""

    completion: float
    noise_free: float
    copies: int
    copies_adopted: int
    forwards: int
    forwards_used: int

    @property
    def line(self) -> str:
        """Return the summary in a line; copies and forwards only if the case has any."""
        parts = [f"completion {show_seconds(self.completion, 6)}"]
        parts.append(f"noise-free {show_seconds(self.noise_free, 6)}")
        if self.copies:
            parts.append(f"{self.copies_adopted} of {self.copies} copies adopted")
        if self.forwards:
            parts.append(f"{self.forwards_used} of {self.forwards} forwards used")
        return ", ".join(parts)


def chosen_in_words(realization: int, *, slowest: bool) -> str:
    """Return which realization it is; `slowest`: chosen by `worst_realization`."""
    return f"realization {realization}" + f", the slowest of {_SEARCHED:,}" * slowest


def draw(
    case: Case, path: Path, *, seed: int = 0, realization: int = 0, slowest: bool = False
) -> Summary:
    """Draw one realization and return what it shows in numbers.

    `slowest`: the title says that it is the one of `worst_realization`.

    Raises
    ------
    ValueError
        Too much for a picture (`check_size`), no matplotlib, or no picture format.
    """
    plot.check_path(path)
    check_size(case)
    replay = Replay(case, seed, realization)
    check_intervals(case, int(replay.ready[-1].max()))
    with plot.drawing(**{"axes.grid": False}):
        plot.save(_figure(replay, slowest=slowest), path)
    return _summary(replay)


def _summary(replay: Replay) -> Summary:
    """Return the times of a replay, and how many copies and forwards were used."""
    copies = [m for m in replay.messages if m.kind == COPY]
    forwards = [m for m in replay.messages if m.kind == FORWARD]
    return Summary(
        completion=_seconds(replay.ready[-1].max()),
        noise_free=_seconds(noise_free(replay.case)),
        copies=len(copies),
        copies_adopted=sum(m.used for m in copies),
        forwards=len(forwards),
        forwards_used=sum(m.used for m in forwards),
    )


def _seconds(ticks: Any) -> float:
    return float(from_ticks(ticks))


def _figure(replay: Replay, *, slowest: bool = False) -> Any:
    """Draw the replay: ranks, their work and noise over time, messages between them."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    from . import style

    case = replay.case
    end = max(int(replay.ready[-1].max()), 1)
    scale, unit = _unit(end)
    height = min(2.2 + 0.3 * case.ranks, 24)
    figure = Figure(figsize=(10, height))
    axes = figure.subplots()
    axes.hlines(range(case.ranks), 0, end * scale, color="#bbbbbb", linewidth=0.6, zorder=1)
    bar = 0.62  # height of a bar of noise; ranks are 1 apart
    _draw_bars(axes, replay.compute, scale, bar * 0.55, facecolor="#cfe8dd", zorder=1.5)
    _draw_bars(axes, _noise(replay, end), scale, bar, facecolor="#777777", edgecolor="#333333",
               linewidth=0.4, zorder=2)  # fmt: skip
    _draw_bars(axes, replay.delayed, scale, bar * 0.8, facecolor=DELAYED, zorder=2.2)
    _draw_messages(axes, replay.messages, scale)
    marks = replay.ready[:-1]
    rank_of_mark = np.tile(np.arange(case.ranks), (len(marks), 1))
    axes.plot(
        marks.ravel() * scale, rank_of_mark.ravel(), "|", color="black", markersize=5, zorder=5
    )
    axes.plot(replay.ready[-1] * scale, range(case.ranks), "D", color="black", markersize=3.5,
              zorder=6, clip_on=False)  # fmt: skip
    without_noise = noise_free(case) * scale
    axes.axvline(without_noise, color=style.GREEN, linewidth=1, linestyle="-.", zorder=0.5)
    axes.set_xlim(0, end * scale * 1.02)
    axes.set_ylim(case.ranks - 0.4, -0.6)  # rank 0 on top, as in CS14
    axes.yaxis.set_major_locator(MaxNLocator(17, integer=True, steps=[1, 2, 4, 8, 10]))
    axes.set_xlabel(f"time ({unit})")
    axes.set_ylabel("rank")
    which = chosen_in_words(replay.realization, slowest=slowest)
    title = f"{case.ranks} ranks, seed {replay.seed}, {which}"
    axes.set_title(f"{title}\n{_summary(replay).line}", fontsize=9.5)
    handles = _legend(replay)
    figure.legend(handles=handles, loc="lower center", ncols=4, fontsize=8, handlelength=2.6)
    figure.tight_layout(rect=(0, (0.1 + 0.17 * -(-len(handles) // 4)) / height, 1, 1))
    return figure


def _unit(ticks: int) -> tuple[float, str]:
    """Return by what to multiply ticks for an axis up to these, and its unit."""
    for power, unit in ((12, "s"), (9, "ms"), (6, "µs"), (3, "ns")):
        if ticks >= 10**power:
            return 10.0**-power, unit
    return 1.0, "ps"


def _noise(replay: Replay, end: int) -> list[tuple[int, int, int]]:
    """The (rank, begin, end) of every noise interval from 0 to `end`, cut to it."""
    return [
        (rank, max(begin, 0), min(stop, end))
        for rank in range(replay.case.ranks)
        for computing in _phases_drawn(replay.case)
        for begin, stop in replay.noise.intervals(rank, end, computing=computing)
    ]
