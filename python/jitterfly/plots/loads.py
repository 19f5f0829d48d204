"""A small fat tree with the messages of one level on its links."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..congestion import CongestionCase, FatTree, congestion_realization
from . import style

_MOST_HOSTS = 64
_COLOURS = ("#dddddd", "#56B4E9", style.ORANGE, "#D55E00")  # 0, 1, 2, 3 and more messages
Loads = list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]


def loads(case: CongestionCase, level: int, realization: int = 0, seed: int = 0) -> Loads:
    """Messages on each link at a level of the pattern, of both patterns.

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
    for size in links(tree):
        result.append((counts[begin : begin + size], counts[begin + size : begin + 2 * size]))
        begin += 2 * size
    return result


def links(tree: FatTree) -> list[int]:
    """Cables above each level of nodes, from the hosts on."""
    cables = tree.p or (1,) * len(tree.m)
    return [
        tree.hosts // math.prod(tree.m[:level]) * math.prod(tree.w[: level + 1]) * cables[level]
        for level in range(len(tree.m))
    ]


def draw_loads(case: CongestionCase, level: int, realization: int = 0, seed: int = 0) -> Figure:
    """The tree twice: what goes up, and what goes down; numbers where links are shared."""
    found = loads(case, level, realization, seed)
    tree = case.network
    assert isinstance(tree, FatTree)
    if tree.hosts > _MOST_HOSTS:
        raise ValueError(f"a drawing needs a tree of at most {_MOST_HOSTS} hosts")
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
    """Level by level from the hosts; nodes (H, T) stand over the hosts below H, T side by side."""
    for level, load in enumerate(loads):
        share = math.prod(tree.w[: level + 1]) * (tree.p or (1,) * len(tree.m))[level]
        above = math.prod(tree.w[: level + 1])
        number = np.arange(len(load))
        block, tier = number // share, number % share // (share // above)
        x = _place(tree, level, block, tier % math.prod(tree.w[:level]))
        top = _place(tree, level + 1, block // tree.m[level], tier)
        ends = np.stack([np.stack([x, np.full(len(x), level)], 1),
                         np.stack([top, np.full(len(x), level + 1)], 1)], 1)  # fmt: skip
        order = np.argsort(load, kind="stable")  # the loaded ones on top
        axes.add_collection(LineCollection(
            ends[order], colors=[_COLOURS[min(n, 3)] for n in load[order]],
            linewidths=[0.6 + 0.9 * min(n, 4) for n in load[order]]))  # fmt: skip
        for at in np.flatnonzero(load > 1):
            spot = 0.7 * ends[at][0] + 0.3 * ends[at][1]
            axes.text(*spot, str(load[at]), fontsize=7, ha="center", va="center", zorder=6,
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


def _place(tree: FatTree, level: int, block: Any, tier: Any) -> Any:
    below, side = math.prod(tree.m[:level]), math.prod(tree.w[:level])
    return (block + (tier + 0.5) / side) * below
