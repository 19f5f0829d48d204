"""The marks of a picture of one realization, and their legend."""

from __future__ import annotations

from typing import Any

from ..case import Case
from .events import COPY, FORWARD, ORIGINAL, Message
from .replay import Replay

DELAYED = "#B07AA1"


def _interrupting(case: Case) -> list[Any]:
    """The sources that have intervals."""
    return [noise for noise in case.noise if noise.share() > 0]


def phases_drawn(case: Case) -> list[bool]:
    """In which phases of the cycle the intervals are to be drawn: computing, or not, or both."""
    during = {noise.during for noise in _interrupting(case)}
    if during <= {"all"} or during == {"communication"}:
        return [False] if during else []
    return [True] if during == {"compute"} else [True, False]


def look_of(message: Message) -> dict[str, Any]:
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


def draw_bars(
    axes: Any, bars: list[tuple[int, int, int]], scale: float, height: float, **look: Any
) -> None:
    """Bars of (rank, begin, end): one collection for each rank, as there may be thousands."""
    by_rank: dict[int, list[tuple[float, float]]] = {}
    for rank, begin, stop in bars:
        by_rank.setdefault(rank, []).append((begin * scale, (stop - begin) * scale))
    for rank, spans in by_rank.items():
        axes.broken_barh(spans, (rank - height / 2, height), **look)


def draw_messages(axes: Any, messages: list[Message], scale: float) -> None:
    """Lines from sender to receiver: one collection for each kind."""
    from matplotlib.collections import LineCollection

    lines: dict[tuple[str, bool], list[list[tuple[float, int]]]] = {}
    for m in messages:
        ends = [(m.sent * scale, m.source), (m.arrival * scale, m.target)]
        lines.setdefault((m.kind, m.used), []).append(ends)
    for (kind, used), ends_of_all in lines.items():
        look = look_of(Message(kind, 1, 0, 0, 0, 0, used))
        axes.add_collection(LineCollection(ends_of_all, capstyle="round", **look))


def legend(replay: Replay) -> list[Any]:
    """What the marks in the picture of this replay mean."""
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
            look = look_of(Message(key[0], 1, 0, 0, 0, 0, key[1]))
            handles.append(Line2D([], [], label=label, **look))
    during = {noise.during for noise in _interrupting(replay.case)}
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
    dot = {"color": "black", "marker": "D", "markersize": 3.5, "linestyle": "none"}
    handles.append(Line2D([], [], label="complete", **dot))
    handles.append(Line2D([], [], color="#009E73", linestyle="-.", label="noise-free completion"))
    return handles
