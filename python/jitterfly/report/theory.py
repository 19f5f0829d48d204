"""The page on theory: what is known without simulation, and how the engine agrees with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..files import write_whole
from ..info import __version__
from ..plots import draw
from ..units import show_seconds
from . import theory_data as data
from . import theory_largest as largest
from .collect import width
from .model import Picture, Report, Section, Table
from .page import page

PAGE = "theory.html"
_NUMBERS = "numbers.json"
_HEADER = (
    "setting",
    "realizations",
    "distance",
    f"exceeded with\nprobability {data.LEVEL:g}",
    "simulated mean [95 %]",
    "exact mean",
)
_TITLE = "Theory beside simulation"
_INTRODUCTION = (
    "What is known without simulation: exact distributions and bounds, drawn as lines and areas, "
    "and what the engine gives for the same settings, drawn as dots with intervals."
)
_NOTES = (
    "One rank: its inputs form a binary tree whose branches share no rank, so the distribution of "
    "its ready time follows level by level: F(t) becomes (f * F^2)(t - L) for a delay after the "
    "receive, and [(f * F)(t - L)]^2 for one before the send. For Bernoulli delays this is exact "
    "arithmetic on multiples of D; for others it is between two distributions, one rounded down "
    "and one up. The last rank is a maximum of dependent times and has no such form. It is not "
    "later than the latest of as many independent ranks, nor than the mean number of delays that "
    "could make it so late allows; and not earlier than the largest delay of a level on top of one "
    "rank's arrival there.",
    "The distance is the largest one between the distribution functions of sample and theory "
    "(Kolmogorov and Smirnov's); the number beside it holds for any distribution and sample size "
    "(Dvoretzky, Kiefer and Wolfowitz).",
    "HM18: Horikoshi et al., Scaling Collectives on Large Clusters of Intel Architecture "
    "Processors, IXPUG 2018. AGV05: Agarwal, Garg & Vishnoi, The Impact of Noise on the Scaling of "
    "Collectives: A Theoretical Approach, HiPC 2005. LogGP: Alexandrov et al., SPAA 1995.",
)
_PICTURES = {
    "ends": ("One rank and the last of 8,192", "Share of realizations later than a time"),
    "growth": ("The largest of N draws", "Mean of the largest of N against N, and its tail"),
    "limits": ("What limits a collective", "Completion against the probability of a delay"),
}


Told = Callable[[str], None]


def _say_nothing(_: str) -> None:
    pass


def section(out: Path, *, quick: bool, told: Told = _say_nothing) -> Section:
    """The section on theory; its pictures and numbers are kept in `out`/theory and made once.

    Args:
        quick: sizes for half a minute on two cores; else for a GPU.
        told: is called with what is done next.
    """
    folder = out / "theory"
    rows = _kept(folder, quick)
    if rows is None:
        folder.mkdir(parents=True, exist_ok=True)
        rows = _make(folder, data.QUICK if quick else data.FULL, told)
        kept = {"key": _key(quick), "rows": rows}
        write_whole(folder / _NUMBERS, (json.dumps(kept, indent=1) + "\n").encode())
    table = Table("Distances between simulation and theory", _HEADER, tuple(map(tuple, rows)))
    pictures = tuple(_picture(folder, name) for name in _PICTURES)
    return Section("theory", "Theory", "HM18, AGV05, LogGP", (), pictures, (table,), (), _NOTES)


def write(out: Path, *, quick: bool, told: Told = _say_nothing) -> Path:
    """The section as a page of its own, `out`/theory.html."""
    if not draw.can_draw():
        raise ValueError(draw.MISSING)
    facts = (("version", __version__), ("seed", str(data.SEED)))
    facts += (("sizes", "quick" if quick else "full"),)
    found = section(out, quick=quick, told=told)
    report = Report(_TITLE, facts, (found,), introduction=_INTRODUCTION)
    write_whole(out / PAGE, page(report).encode())
    return out / PAGE


def _key(quick: bool) -> str:
    return f"{__version__} {data.SEED} {data.QUICK if quick else data.FULL}"


def _kept(folder: Path, quick: bool) -> list[list[str]] | None:
    """The rows of an earlier call with the same sizes; None where there is none."""
    try:
        kept = json.loads((folder / _NUMBERS).read_text(encoding="utf-8"))
        whole = all((folder / f"{name}.svg").is_file() for name in _PICTURES)
        return list(kept["rows"]) if whole and kept["key"] == _key(quick) else None
    except (OSError, ValueError, TypeError, KeyError):  # not there, or damaged: made anew
        return None


def _make(folder: Path, sizes: data.Sizes, told: Told) -> list[list[str]]:
    from ..plots import theory as plots

    ends, checks = data.ends(sizes, told)
    growth, more = largest.growth(sizes, told)
    limits = largest.limits(sizes, told)
    settings = f"{sizes.one:,} realizations of one rank, {sizes.last:,} of the last"
    drawn: dict[str, Callable[[], Any]] = {
        "ends": lambda: plots.draw_ends(
            ends, "One rank and the last of 8,192", ["3.45 µs a round on the CPU", settings]
        ),
        "growth": lambda: plots.draw_growth(
            growth,
            f"{1 << sizes.rounds - sizes.rounds % 2:,}",
            "The largest of N independent draws",
            ["one compute phase, then a collective that takes no time", f"{sizes.largest:,} each"],
        ),
        "limits": lambda: plots.draw_limits(
            limits,
            "What limits a collective",
            [
                "left: 4096 ranks, 3.45 µs a round, 14 µs with a probability (HM18)",
                "right: L = 1 µs, o = 0.5 µs, without noise",
            ],
        ),
    }
    told("pictures")
    with draw.drawing():
        for name, make in drawn.items():
            draw.save(make(), folder / f"{name}.svg")
    return [_row(check) for check in (*checks, *more)]


def _row(check: data.Agreement) -> list[str]:
    value, low, high = (show_seconds(x, 5) for x in check.simulated)
    return [
        check.what,
        f"{check.realizations:,}",
        f"{check.distance:.4f}",
        f"{check.allowed:.4f}",
        f"{value} [{low}, {high}]",
        show_seconds(check.exact, 5),
    ]


def _picture(folder: Path, name: str) -> Picture:
    path = folder / f"{name}.svg"
    title, alt = _PICTURES[name]
    alt = f"{title}. {alt}: dots of simulation on lines and in areas of theory."
    return Picture(path.read_bytes(), "image/svg+xml", alt, width=width(path))
