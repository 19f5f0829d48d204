"""Drawings of the model and of the package layers, for the pages that show them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

import matplotlib.pyplot as plt

INK, ACCENT, SECOND, PALE = "#333333", "#c1440e", "#1f6f8b", "#dddddd"
Step = tuple[float, int, float, int]


def _canvas(ranks: int, columns: int, width: float = 6.5) -> plt.Axes:
    _, axes = plt.subplots(figsize=(width, 0.36 * ranks + 0.7), dpi=150)
    axes.set(xlim=(-0.75, columns - 0.5), ylim=(ranks - 0.4, -1.0))
    axes.axis("off")
    for rank in range(ranks):
        axes.text(-0.3, rank, f"rank {rank}", ha="right", va="center", fontsize=8, color=INK)
        axes.plot([0, columns - 1], [rank, rank], color=PALE, lw=1, zorder=0)
    for column in range(columns):
        axes.plot([column] * ranks, range(ranks), "o", ms=4, color=INK)
    return axes


def _arrows(axes: plt.Axes, steps: Iterable[Step], color: str, style: str = "-") -> None:
    for column, source, after, target in steps:
        axes.annotate(
            "", xy=(after, target), xytext=(column, source),
            arrowprops={"arrowstyle": "->", "color": color, "lw": 1.1, "ls": style,
                        "shrinkA": 3, "shrinkB": 3},
        )  # fmt: skip


def _rounds(first: int, rounds: Iterable[int], ranks: int) -> list[Step]:
    return [
        (first + place, rank, first + place + 1, rank ^ (1 << bit))
        for place, bit in enumerate(rounds)
        for rank in range(ranks)
    ]


def _heads(axes: plt.Axes, texts: list[str], first: int = 0) -> None:
    for place, text in enumerate(texts):
        axes.text(first + place + 0.5, -0.6, text, ha="center", fontsize=8, color=INK)


def butterfly(path: str) -> None:
    """Three rounds of 8 ranks."""
    axes = _canvas(8, 4)
    _arrows(axes, _rounds(0, range(3), 8), SECOND)
    _heads(axes, ["round 0: i xor 1", "round 1: i xor 2", "round 2: i xor 4"])
    plt.savefig(path, bbox_inches="tight")
    plt.close()


def forwards(path: str) -> None:
    """The same, then T = 2 redundant exchanges of the result."""
    axes = _canvas(8, 6, 8)
    _arrows(axes, _rounds(0, range(3), 8), SECOND)
    _arrows(axes, _rounds(3, range(2), 8), ACCENT, "--")
    _heads(axes, ["round 0", "round 1", "round 2", "forward 1", "forward 2"])
    plt.savefig(path, bbox_inches="tight")
    plt.close()


def copies(path: str) -> None:
    """A round of 4 ranks: a copy from the mirror arrives before the original message."""
    axes = _canvas(4, 3, 6)
    late = (1, 2, 2, 0)  # the message of rank 2 leaves after the noise
    _arrows(axes, [step for step in _rounds(0, range(2), 4) if step != late], SECOND)
    _arrows(axes, [(1.5, 2, 2.4, 0)], SECOND)
    axes.plot([1.02, 1.5], [2, 2], color=ACCENT, lw=6, alpha=0.5, solid_capstyle="butt")
    axes.annotate(
        "rank 2 is held by noise", xy=(1.26, 2.08), xytext=(1.26, 3.55), ha="center", fontsize=8,
        color=ACCENT, arrowprops={"arrowstyle": "-", "color": ACCENT, "lw": 0.6},
    )  # fmt: skip
    axes.annotate(
        "", xy=(2.02, 0), xytext=(2.02, 1),
        arrowprops={"arrowstyle": "->", "color": ACCENT, "lw": 1.4, "ls": "--",
                    "connectionstyle": "arc3,rad=0.3", "shrinkA": 3, "shrinkB": 3},
    )  # fmt: skip
    axes.text(2.2, 0.6, "copy", fontsize=8, color=ACCENT, va="center")
    axes.text(2.43, 0, "late original", fontsize=8, color=SECOND, va="center")
    axes.set(xlim=(-0.75, 3), ylim=(3.8, -1.0))
    _heads(axes, ["round 0", "round 1"])
    plt.savefig(path, bbox_inches="tight")
    plt.close()


def advance(path: str) -> None:
    """Work that overlaps noise is delayed; noise within a wait is absorbed."""
    _, axes = plt.subplots(figsize=(7, 2.2), dpi=150)
    axes.set(xlim=(-0.2, 12.4), ylim=(-1.3, 4.2))
    axes.axis("off")
    for begin, end in [(2, 3), (6.5, 7.5), (11, 12)]:
        axes.fill_between([begin, end], 0, 4, color=ACCENT, alpha=0.25, lw=0)
    for pieces, wait, height, text in (
        ([(1, 2), (3, 5)], None, 2.3, "begins at 1, needs 3: done at 5"),
        ([(8.5, 10)], (5.5, 8.5), 0.7, "waits until 8.5, needs 1.5: done at 10"),
    ):
        for begin, end in pieces:
            axes.plot([begin, end], [height, height], color=SECOND, lw=7, solid_capstyle="butt")
        if wait is not None:
            axes.plot(wait, [height, height], color=SECOND, lw=1, ls=":")
        begin = pieces[0][0] if wait is None else wait[0]
        axes.text(begin, height + 0.65, text, fontsize=8, va="center", color=INK)
    axes.annotate("", xy=(12.4, 0), xytext=(0, 0), arrowprops={"arrowstyle": "->", "color": INK})
    for time in range(0, 13):
        axes.plot([time, time], [0, -0.12], color=INK, lw=0.8)
        if time % 2 == 0:
            axes.text(time, -0.55, str(time), fontsize=7, ha="center", va="center", color=INK)
    axes.text(6.2, -1.15, "time", fontsize=8, ha="center", va="center", color=INK)
    plt.savefig(path, bbox_inches="tight")
    plt.close()


def flow(path: str) -> None:
    """What data goes through, from a study to a picture."""
    places = [
        ("studies", "a study: case, axes,\nobservables, targets"),
        ("case", "ranks, algorithms,\nnetwork, noise"),
        ("program", "steps and noise\nas tables"),
        ("engine", "cuda/: the same steps\non CPU and GPU"),
        ("observables", "what is observed\nof the samples"),
        ("stats", "estimates and\nintervals"),
        ("store", "records on disk"),
        ("plots, report", "tables and pictures"),
    ]
    _, axes = plt.subplots(figsize=(8, 3), dpi=150)
    axes.set(xlim=(-0.1, 4.1), ylim=(-0.2, 2.2))
    axes.axis("off")
    spots = [(i, 1.2) for i in range(4)] + [(3 - i, 0) for i in range(4)]
    for place, ((x, y), (name, text)) in enumerate(zip(spots, places, strict=True)):
        colour = "#f6e3da" if name == "engine" else "#e4eef2"
        axes.add_patch(plt.Rectangle((x, y), 0.82, 0.8, fc=colour, ec=INK, lw=0.8))
        axes.text(x + 0.41, y + 0.58, name, ha="center", fontsize=9, weight="bold", color=INK)
        axes.text(x + 0.41, y + 0.25, text, ha="center", va="center", fontsize=7, color=INK)
        if place + 1 < len(spots):
            u, v = spots[place + 1]
            begin = (x + 0.82, y + 0.4) if u > x else (x, y + 0.4) if u < x else (x + 0.41, y)
            end = (u, v + 0.4) if u > x else (u + 0.82, v + 0.4) if u < x else (u + 0.41, v + 0.8)
            axes.annotate("", xy=end, xytext=begin, arrowprops={"arrowstyle": "->", "color": INK})
    plt.savefig(path, bbox_inches="tight")
    plt.close()


# The packages, from the highest on: what a floor is about, and what stands on it. A package
# imports none of a higher floor; a test compares this with the imports.
FLOORS = (
    ("the command line", "cli __main__"),
    ("tables and pictures", "results plots replay report"),
    ("larger questions", "compare_measured predict advice"),
    ("studies, run and kept", "studies sweep store"),
    ("what is observed, what is known", "observables theory"),
    ("questions about one situation", "question slowdown noise_limit explain schedule"),
    ("from a case to samples", "simulate faster_algorithm unseen_noise goal_export collect"),
    ("one situation", "case program workload algorithms network hierarchy imbalance noise "
     "distributions congestion measured steps compiled_steps"),
    ("estimates and intervals", "stats optional_packages answer"),
    ("the engine, as Python calls it", "backends executors"),
    ("values and files", "fields extensions units syntax files progress resources "
     "interrupts_while_loading version"),
)  # fmt: skip


def house(path: str) -> None:
    """The packages on their floors, above the engine."""
    rows = [(title, textwrap.wrap(names, 46)) for title, names in FLOORS]
    heights = [0.34 + 0.22 * len(lines) for _, lines in rows]
    cellar = 0.62
    total = sum(heights) + cellar + 0.75
    _, axes = plt.subplots(figsize=(7.5, total), dpi=150)
    axes.set(xlim=(-0.2, 7.7), ylim=(0, total))
    axes.axis("off")
    y = total - 0.75
    axes.add_patch(plt.Polygon([(-0.15, y), (3.75, total), (7.65, y)], fc=PALE, ec=INK, lw=0.8))
    axes.text(3.75, y + 0.22, "jitterfly", ha="center", fontsize=10, weight="bold", color=INK)
    for (title, lines), height in zip(rows, heights, strict=True):
        y -= height
        axes.add_patch(plt.Rectangle((0, y), 7.5, height, fc="#e4eef2", ec=INK, lw=0.8))
        axes.text(0.12, y + height / 2, title, va="center", fontsize=8, color=INK)
        axes.text(2.85, y + height / 2, "\n".join(lines), va="center", fontsize=7.5, color=INK,
                  family="monospace", linespacing=1.5)  # fmt: skip
    y -= cellar
    axes.add_patch(plt.Rectangle((0, y), 7.5, cellar, fc="#f6e3da", ec=INK, lw=0.8))
    middle, folders = y + cellar / 2, "bindings (_core)\ncuda/core noise cpu gpu congestion ..."
    axes.text(0.12, middle, "the engine: C++ and CUDA", va="center", fontsize=8, color=INK)
    axes.text(2.85, middle, folders, va="center", fontsize=7.5, color=INK, family="monospace",
              linespacing=1.5)  # fmt: skip
    plt.savefig(path, bbox_inches="tight")
    plt.close()
