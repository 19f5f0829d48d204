"""Roofline plot of a benchmark, and rates against ranks.

In the roofline, the operational intensity is the rank-rounds of a realization over the bytes of its
state written and read once: what a program that keeps nothing in a cache between passes can not
undercut. A point above a roof lives in a cache further in.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from jitterfly.fields import grouped
from jitterfly.plots.draw import FORMATS, MISSING

from .measure import CPU, CUDA, KINDS, PROGRAMS

try:
    from matplotlib import rc_context
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter

    from jitterfly.plots.style import GREY, RC, SERIES
except ImportError as error:
    raise ValueError(f"picture: {MISSING}") from error


def check_format(path: Path) -> None:
    """Raise ValueError if the file's name does not say a format of pictures."""
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"picture must end in .png, .pdf or .svg, got {path.name!r}")


def draw(result: dict[str, Any], path: Path) -> None:
    """Write the picture of a result of `run`; the file's name says in which format.

    Raises
    ------
    ValueError
        There is nothing to draw: every case was left out.
    """
    rows = _first_way(result["rows"])
    if not rows:
        raise ValueError("picture: every case was left out, there is nothing to draw")
    program = PROGRAMS[result["plan"]["programs"][0]]
    noises = [KINDS[key] for key in result["plan"]["noises"]]
    noise = "periodic" if "periodic" in noises else noises[0]
    capacity = result["capacity"]["gpu" if rows[0]["name"] == CUDA else "core"]
    with rc_context(RC):
        figure = Figure(figsize=(14, 5.6))
        axes = figure.subplots(1, 3)
        by_program = _grouped(rows, "program", "noise", noise)
        _roofline(axes[0], by_program, capacity["levels"] if capacity else [])
        axes[0].set_title(f"Roofline, {noise}")
        _rates(axes[1], by_program)
        axes[1].set_title(f"Programs, {noise}")
        _rates(axes[2], _grouped(rows, "noise", "program", program))
        axes[2].set_title(f"Noise, {program}")
        machine = result["machine"]
        where = (capacity["device"] if capacity else "GPU") if rows[0]["name"] == CUDA else (
            f"one core of {machine['cpu']}, {machine['build']['instruction_set']}")  # fmt: skip
        figure.suptitle(f"jitterfly: {where}; {result['date'][:10]}", fontsize=11,
                        weight="bold", parse_math=False)  # fmt: skip
        figure.tight_layout(rect=(0, 0, 1, 0.97))
        figure.savefig(path)


def _first_way(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The GPU's rows if there are any, else those of one core."""
    card = [row for row in rows if row["name"] == CUDA]
    return card or [row for row in rows if row["name"] == CPU and row["threads"] == 1]


def _grouped(
    rows: list[dict[str, Any]], by: str, fixed: str, value: str
) -> dict[str, list[dict[str, Any]]]:
    shown = [row for row in rows if row[fixed] == value]
    shown.sort(key=lambda row: int(row["ranks"]))
    return grouped(shown, lambda row: str(row[by]))


def _roofline(
    axes: Axes, groups: dict[str, list[dict[str, Any]]], levels: list[dict[str, Any]]
) -> None:
    points = [_point(row) for rows in groups.values() for row in rows]
    low, high = min(x for x, _ in points) / 2, max(x for x, _ in points) * 4
    tops = [y for _, y in points]
    for (name, rows), look in zip(groups.items(), SERIES, strict=False):
        xs, ys = zip(*map(_point, rows), strict=True)
        axes.plot(xs, ys, look.marker, ls="-", lw=0.6, color=look.color, ms=5, label=name)
        # The roof of instructions is that of the largest case: its noise is drawn once for all.
        counted = [row["limit"]["instructions"] for row in rows if row["limit"]]
        if counted and counted[-1]:
            roof = counted[-1]["rank_rounds_per_second"]
            tops.append(roof)
            axes.axhline(roof, color=look.dark, ls=look.line, lw=1.2,
                         label=f"{name}: {counted[-1]['all']:.3g} instructions")  # fmt: skip
    for row in next(iter(groups.values())):
        x, y = _point(row)
        axes.annotate(_power(row["ranks"]), (x, y), (0, -13), textcoords="offset points",
                      ha="center", fontsize=7,
                      bbox={"fc": "white", "ec": "none", "pad": 0.2, "alpha": 0.8})  # fmt: skip
    axes.set(xscale="log", yscale="log", xlim=(low, high),
             ylim=(min(tops) / 2, max(tops) * 3))  # fmt: skip
    for number, level in enumerate(levels):
        rate = max(level["read"], level["copy"])
        axes.plot((low, high), (low * rate, high * rate), color=GREY, lw=1.2,
                  ls=("-", "--", ":")[number % 3],
                  label=f"{level['name']}: {rate / 1e9:.3g} GB/s")  # fmt: skip
    axes.set_xlabel("operational intensity (rank-rounds per byte)")
    axes.set_ylabel("rank-rounds/s")
    _decades(axes)
    _below(axes)


def _point(row: dict[str, Any]) -> tuple[float, float]:
    moved = 2 * row["bytes_per_rank"] * row["ranks"]
    return row["rank_rounds_per_realization"] / moved, row["rank_rounds_per_second"]["median"]


def _rates(axes: Axes, groups: dict[str, list[dict[str, Any]]]) -> None:
    limited = False
    for (name, rows), look in zip(groups.items(), SERIES, strict=False):
        ranks = [row["ranks"] for row in rows]
        rates = [row["rank_rounds_per_second"] for row in rows]
        middle = [rate["median"] for rate in rates]
        errors = [[m - r["min"] for m, r in zip(middle, rates, strict=True)],
                  [r["max"] - m for m, r in zip(middle, rates, strict=True)]]  # fmt: skip
        axes.errorbar(ranks, middle, errors, marker=look.marker, color=look.color, ms=5, lw=1.4,
                      capsize=2, label=name)  # fmt: skip
        limits = [(row["ranks"], row["limit"]["rank_rounds_per_second"]) for row in rows
                if row["limit"] and row["limit"]["rank_rounds_per_second"]]  # fmt: skip
        if limits:
            axes.plot(*zip(*limits, strict=True), color=look.dark, lw=1.2, ls=(0, (4, 2)))
            limited = True
    if limited:
        axes.plot([], [], color=GREY, lw=1.2, ls=(0, (4, 2)), label="limit of each")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    shown = sorted({row["ranks"] for rows in groups.values() for row in rows})
    axes.xaxis.set_major_locator(FixedLocator(shown[:: -(-len(shown) // 8)]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda ranks, _: _power(int(ranks))))
    axes.minorticks_off()
    _decades(axes)
    axes.set_xlabel("ranks")
    axes.set_ylabel("rank-rounds/s")
    _below(axes)


def _decades(axes: Axes) -> None:
    """Labels at 1, 2 and 5 times a power of ten, or at the powers where there are many."""
    low, high = axes.get_ylim()
    few = high / low < 1e3
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
    axes.yaxis.set_major_formatter(FuncFormatter(_scientific))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _scientific(value: float, _: object) -> str:
    exponent = math.floor(math.log10(value) + 1e-9)
    digit = round(value / 10**exponent)
    return f"$10^{{{exponent}}}$" if digit == 1 else rf"${digit}\cdot10^{{{exponent}}}$"


def _below(axes: Axes) -> None:
    """The legend outside, where it hides nothing."""
    axes.legend(fontsize=7.5, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2)


def _power(ranks: int) -> str:
    return f"$2^{{{ranks.bit_length() - 1}}}$"
