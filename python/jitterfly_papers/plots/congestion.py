"""Figures of congestion (HSL09): slowdown against ratio and size, box plots, link loads."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import NullLocator

from jitterfly.congestion import CongestionCase, FatTree, congestion_realization
from jitterfly.fields import grouped
from jitterfly.plots import style

from ..hsl09_settings import FigurePoint

_COLUMNS = 3
_BAND = (0.05, 0.95)
_RATIO = "perturbing ranks / all; below: z, the collective's"
_network: Callable[[FigurePoint], str] = attrgetter("setting.network")
_pattern: Callable[[FigurePoint], str] = attrgetter("case.pattern")
_routing: Callable[[FigurePoint], str] = attrgetter("case.network.routing_name")
_rule: Callable[[FigurePoint], str] = attrgetter("case.rule")
_BARS: dict[str, Any] = {"markersize": 4, "linewidth": 1.3, "elinewidth": 1.4, "capsize": 2}


def draw_ratio(points: Sequence[FigurePoint], title: str, claimed: tuple[float, float]) -> Figure:
    """A panel for each network and routing, a series for each rule; z stands below the ratio."""
    panels = grouped(points, lambda point: f"{_network(point)}, {_routing(point)}")
    if len(panels) == len(grouped(points, _network)):  # each has one routing
        panels = grouped(points, _network)
    figure, grid = _grid(len(panels))
    for axes, (name, inside) in zip(grid, panels.items(), strict=False):
        style.panel_title(axes, name)
        _claimed(axes, claimed)
        rules = grouped(inside, _rule)
        for number, (rule, line) in enumerate(rules.items()):
            at = np.array([point.case.ratio for point in line])
            look = style.SERIES[_labels(points, _rule).index(rule)]
            _series(axes, at + 0.008 * (number - len(rules) // 2), line, look, band=number == 0)
        line = next(iter(rules.values()))
        axes.set_xticks([point.case.ratio for point in line],
                        [f"{point.case.ratio:g}\n{point.case.z}" for point in line])  # fmt: skip
        axes.set_xlabel(_RATIO)
    subtitle = [_pattern_text(points), f"routing {_named(points, _routing)}", _count(points)]
    style.finish(figure, title, subtitle, _handles(_labels(points, _rule), "rule ", claimed))
    return figure


def draw_size(points: Sequence[FigurePoint], title: str, claimed: tuple[float, float]) -> Figure:
    """A panel for each rule (and pattern), a series for each routing, against all ranks."""
    patterns = grouped(points, _pattern)
    panels = grouped(points, lambda point: f"{_pattern(point)}, rule {point.case.rule}")
    figure, grid = _grid(len(panels))
    for axes, (name, inside) in zip(grid, panels.items(), strict=False):
        style.panel_title(axes, name if len(patterns) > 1 else name.partition(", ")[2])
        _claimed(axes, claimed)
        middle = (len(grouped(inside, _routing)) - 1) / 2
        for number, (routing, line) in enumerate(grouped(inside, _routing).items()):
            at = np.array([point.case.ranks for point in line], dtype=float)
            look = style.SERIES[_labels(points, _routing).index(routing)]
            _series(axes, at * 1.04 ** (number - middle), line, look, band=number == 0)
        axes.set_xscale("log", base=2)
        axes.xaxis.set_minor_locator(NullLocator())
        line = next(iter(grouped(inside, _routing).values()))
        axes.set_xticks([point.case.ranks for point in line],
                        [f"{p.case.ranks}\n{p.case.z}" for p in line], fontsize=6.5)  # fmt: skip
        axes.set_xlabel("ranks; below: z, those of the collective")
    subtitle = [_pattern_text(points), f"ratio {points[0].case.ratio:g}", _count(points)]
    style.finish(figure, title, subtitle, _handles(_labels(points, _routing), "routing ", claimed))
    return figure


def draw_boxes(points: Sequence[FigurePoint], title: str) -> Figure:
    """Draw HSL09's slide 7: box plots over realizations, a panel for each network."""
    rule = points[0].case.rule
    points = [point for point in points if point.case.rule == rule]
    panels = grouped(points, _network)
    figure, grid = _grid(len(panels), 3.0)
    for axes, (name, line) in zip(grid, panels.items(), strict=False):
        style.panel_title(axes, name)
        boxes = []
        for point in line:
            low, q1, middle, q3, high = np.quantile(
                point.realizations, (0.05, 0.25, 0.5, 0.75, 0.95)
            )
            boxes.append({"whislo": low, "q1": q1, "med": middle, "q3": q3, "whishi": high})
        at = np.arange(len(line))
        axes.bxp(boxes, positions=at, showfliers=False, widths=0.55, patch_artist=True,
                 boxprops={"facecolor": "#cfe3f1", "edgecolor": style.INK, "linewidth": 0.8},
                 medianprops={"color": style.BLUE, "linewidth": 1.6})  # fmt: skip
        _points(axes, at, line, style.SERIES[1])
        axes.axhline(100, color=style.GREY, linewidth=0.8)
        axes.set_xticks(at, [f"{point.case.ratio:g}\n{point.case.z}" for point in line])
        axes.set_xlabel(_RATIO)
    subtitle = [_pattern_text(points), f"rule {rule}, routing {_named(points, _routing)}",
                _count(points)]  # fmt: skip
    handles = [
        Patch(facecolor="#cfe3f1", edgecolor=style.INK,
              label="realizations: quartiles, median, 5–95 %"),
        _legend_line(style.SERIES[1], "slowdown (of means), 95 % interval"),
    ]  # fmt: skip
    style.finish(figure, title, subtitle, handles)
    return figure


def _grid(count: int, height: float = 2.4) -> tuple[Figure, list[Axes]]:
    columns = min(_COLUMNS, count)
    figure, grid = style.new_figure([height] * -(-count // columns), columns, sharex=False,
                                    sharey=True)  # fmt: skip
    axes = list(grid.flat)
    style.hide(axes[count:])
    for row in grid:
        row[0].set_ylabel("slowdown in %\n(100: none)")
    return figure, axes[:count]


def _series(axes: Axes, at: Any, line: Sequence[FigurePoint], look: style.Look, band: bool) -> None:
    if band:  # only one: they overlap
        ends = np.array([np.quantile(point.realizations, _BAND) for point in line]).T
        axes.fill_between(at, *ends, color=look.color, alpha=0.18, linewidth=0)
    means = [float(point.slowdown.value) for point in line]
    axes.plot(at, means, **look.stroke, linewidth=1.3)
    _points(axes, at, line, look)


def _points(axes: Axes, at: Any, line: Sequence[FigurePoint], look: style.Look) -> None:
    found = [point.slowdown for point in line]
    values = [float(one.value) for one in found]
    axes.errorbar(at, values, style.error_bar_lengths(found), color=look.dark, marker=look.marker,
                  linestyle="none", markerfacecolor=look.color, zorder=5, **_BARS)  # fmt: skip


def _claimed(axes: Axes, claimed: tuple[float, float]) -> None:
    for value in claimed:
        axes.axhline(value, color=style.GREY, linewidth=0.9, linestyle=(0, (4, 2)))


def _handles(names: list[str], what: str, claimed: tuple[float, float]) -> list[Any]:
    lines = [
        _legend_line(look, what + name) for name, look in zip(names, style.SERIES, strict=False)
    ]
    return [
        *lines,
        Patch(facecolor=style.SERIES[0].color, alpha=0.18,
              label=f"5–95 % of the realizations, {what}{names[0]}"),
        Line2D([], [], color=style.GREY, linestyle=(0, (4, 2)),
               label=f"published range of the axis, {claimed[0]:g}–{claimed[1]:g} %"),
    ]  # fmt: skip


def _legend_line(look: style.Look, label: str) -> Line2D:
    return Line2D([], [], **look.marked, markeredgecolor=look.dark, markersize=4, label=label)


def _labels(points: Sequence[FigurePoint], of: Callable[[FigurePoint], str]) -> list[str]:
    return list(grouped(points, of))


def _named(points: Sequence[FigurePoint], of: Callable[[FigurePoint], str]) -> str:
    return ", ".join(grouped(points, of))


def _pattern_text(points: Sequence[FigurePoint]) -> str:
    return f"{_named(points, _pattern)} against {_named(points, attrgetter('case.perturbation'))}"


def _count(points: Sequence[FigurePoint]) -> str:
    counts = sorted({len(point.perturbed.samples) for point in points})
    return f"{' and '.join(f'{count:,}' for count in counts)} realizations, bars 95 %"


_MAX_HOSTS = 64
_COLOURS = ("#dddddd", "#56B4E9", style.ORANGE, "#D55E00")  # 0, 1, 2, 3 and more messages
Loads = list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]


def loads(case: CongestionCase, level: int, realization: int = 0, seed: int = 0) -> Loads:
    """Count the messages on each link at a level of the pattern, of both patterns.

    Parameters
    ----------
    case : CongestionCase
        On a `FatTree` with routing "d-mod-k" or "s-mod-k" (the keys of others are the engine's).
    level : int
        Of the pattern, from 0.
    realization, seed : int
        As `congestion_realization`'s.

    Returns
    -------
    list of (up, down)
        For each level of links from the hosts on: int64 arrays, numbered as `FatTree.routes` does.

    Raises
    ------
    ValueError
        A case or level that does not fit.
    """
    tree = case.network
    if not isinstance(tree, FatTree) or tree.routing not in ("d-mod-k", "s-mod-k"):
        raise ValueError("loads need a FatTree with routing 'd-mod-k' or 's-mod-k'")
    found = congestion_realization(case, realization, seed)
    if not 0 <= level < len(found.levels):
        raise ValueError(f"level must be from 0 to {len(found.levels) - 1}, got {level}")
    ends = found.host_of_rank[found.levels[level].pairs]
    keys = ends[:, 1 if tree.routing == "d-mod-k" else 0]
    edges = tree.routes(ends[:, 0], ends[:, 1], keys).ravel()
    counts = np.bincount(edges[edges < tree.edges].astype(np.int64), minlength=tree.edges)
    result, begin = [], 0
    for size in tree.links():
        result.append((counts[begin : begin + size], counts[begin + size : begin + 2 * size]))
        begin += 2 * size
    return result


def draw_loads(case: CongestionCase, level: int, realization: int = 0, seed: int = 0) -> Figure:
    """The tree twice: what goes up, and what goes down; numbers where links are shared."""
    found = loads(case, level, realization, seed)
    tree = case.network
    assert isinstance(tree, FatTree)
    if tree.hosts > _MAX_HOSTS:
        raise ValueError(f"a drawing needs a tree of at most {_MAX_HOSTS} hosts")
    one = congestion_realization(case, realization, seed)
    own = set(one.host_of_rank[: case.z].tolist())
    figure, axes = style.new_figure([2.6, 2.6], 1, sharex=True, sharey=True)
    width = max(6.4, 0.42 * tree.hosts)
    figure.set_size_inches(width, figure.get_figheight())
    for row, (panel, name) in enumerate(zip(axes[:, 0], ("up", "down"), strict=True)):
        style.panel_title(panel, f"{name}: largest load {max(int(p[row].max()) for p in found)}")
        _tree(panel, tree, [pair[row] for pair in found], own)
    messages = one.levels[level]
    subtitle = [
        f"level {level} of {case.pattern} among {case.z} ranks: {messages.own} messages, "
        f"{len(messages.pairs) - messages.own} of {case.perturbation}",
        f"{tree.hosts} hosts, routing {tree.routing}, realization {realization}, seed {seed}",
    ]
    names = ("no message", "1", "2", "3 or more")
    there = {min(int(n), 3) for pair in found for part in pair for n in part}
    handles: list[Any] = [
        Line2D([], [], color=_COLOURS[n], linewidth=2.5, label=names[n]) for n in sorted(there)
    ]
    handles += [
        Line2D([], [], color=style.INK, marker="o", linestyle="none", markersize=4.5,
               label="host of the collective"),
        Line2D([], [], color="white", markeredgecolor=style.INK, marker="o", linestyle="none",
               markersize=4.5, label="other host"),
    ]  # fmt: skip
    style.finish(figure, "Messages on the links of a fat tree", subtitle, handles)
    return figure


def _tree(axes: Axes, tree: FatTree, loads: list[npt.NDArray[np.int64]], own: set[int]) -> None:
    """Draw level by level from the hosts; nodes (H, T) stand over the hosts below H, by T."""
    for level, load in enumerate(loads):
        share = math.prod(tree.w[: level + 1]) * (tree.p or (1,) * len(tree.m))[level]
        above = math.prod(tree.w[: level + 1])
        number = np.arange(len(load))
        block, tier = number // share, number % share // (share // above)
        x = _position(tree, level, block, tier % math.prod(tree.w[:level]))
        top = _position(tree, level + 1, block // tree.m[level], tier)
        ends = np.stack([np.stack([x, np.full(len(x), level)], 1),
                         np.stack([top, np.full(len(x), level + 1)], 1)], 1)  # fmt: skip
        order = np.argsort(load, kind="stable")  # the loaded ones on top
        axes.add_collection(LineCollection(
            list(ends[order]), colors=[_COLOURS[min(n, 3)] for n in load[order]],
            linewidths=[0.6 + 0.9 * min(n, 4) for n in load[order]]))  # fmt: skip
        for at in np.flatnonzero(load > 1):
            anchor_x, anchor_y = 0.7 * ends[at][0] + 0.3 * ends[at][1]
            axes.text(anchor_x, anchor_y, str(load[at]), fontsize=7, ha="center", va="center",
                      zorder=6,
                      bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4})  # fmt: skip
        axes.plot(top, np.full(len(top), level + 1), "s", color=style.INK, markersize=6, zorder=5)
    for host in range(tree.hosts):
        colour = style.INK if host in own else "white"
        axes.plot([host + 0.5], [0], "o", color=colour, markeredgecolor=style.INK, markersize=5,
                  zorder=5)  # fmt: skip
    axes.set_yticks(range(len(tree.m) + 1), ["hosts", *map(str, range(1, len(tree.m) + 1))])
    axes.set_xticks([])
    axes.set_ylabel("level")
    axes.grid(False)
    axes.set_ylim(-0.25, len(tree.m) + 0.25)


def _position(tree: FatTree, level: int, block: Any, tier: Any) -> Any:
    below, side = math.prod(tree.m[:level]), math.prod(tree.w[:level])
    return (block + (tier + 0.5) / side) * below
