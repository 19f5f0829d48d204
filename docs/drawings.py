"""The drawings of the model page, made when it is built."""

from __future__ import annotations

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
    axes.text(1.26, 2.42, "rank 2 is held by noise", ha="center", fontsize=8, color=ACCENT)
    axes.annotate(
        "", xy=(2.02, 0), xytext=(2.02, 1),
        arrowprops={"arrowstyle": "->", "color": ACCENT, "lw": 1.4, "ls": "--",
                    "connectionstyle": "arc3,rad=0.3", "shrinkA": 3, "shrinkB": 3},
    )  # fmt: skip
    axes.text(2.2, 0.6, "copy", fontsize=8, color=ACCENT, va="center")
    axes.text(2.43, 0, "late original", fontsize=8, color=SECOND, va="center")
    axes.set_xlim(-0.75, 3)
    _heads(axes, ["round 0", "round 1"])
    plt.savefig(path, bbox_inches="tight")
    plt.close()


def advance(path: str) -> None:
    """Work that overlaps noise is delayed; noise within a wait is absorbed."""
    _, axes = plt.subplots(figsize=(7, 2), dpi=150)
    axes.set(xlim=(0, 14), ylim=(-0.9, 3.1))
    axes.axis("off")
    noise = [(2, 3), (6.5, 7.5), (11, 12)]
    for begin, end in noise:
        axes.axvspan(begin, end, ymin=0.2, ymax=0.98, color=ACCENT, alpha=0.25, lw=0)
    for pieces, height, text in (
        ([(1, 2), (3, 5)], 1.9, "work of 3 that begins at 1: done at 5"),
        ([(8.5, 10)], 0.5, "awaits a message until 8.5: noise at 6.5 costs nothing"),
    ):
        for begin, end in pieces:
            axes.plot([begin, end], [height, height], color=SECOND, lw=7, solid_capstyle="butt")
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        axes.text(pieces[0][0], height + 0.5, text, fontsize=8, va="center", color=INK, bbox=box)
    axes.annotate("", xy=(14, 0), xytext=(0, 0), arrowprops={"arrowstyle": "->", "color": INK})
    axes.text(7, -0.6, "time; shaded: noise takes the CPU", fontsize=8, ha="center", color=INK)
    plt.savefig(path, bbox_inches="tight")
    plt.close()


def house(path: str) -> None:
    """Packages and data flow."""
    python = [
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
    for place, ((x, y), (name, text)) in enumerate(zip(spots, python, strict=True)):
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
