"""What a mean of 30 runs is worth: such means beside the interval of all realizations."""

from __future__ import annotations

import numpy as np

from ..results.figures import Thirty, thirty
from ..results.main_numbers import RUNS
from ..results.number_text import interval, show_number
from ..results.results import Results
from ..units import show_seconds
from .collect import picture
from .model import Section, Table

_HEADER = (
    "cell",
    "observable",
    f"{RUNS}-run\nmeans",
    "5–95 % of them",
    "lowest – highest",
    "apart",
    "all reali-\nzations",
    "their mean [95 %]",
)


def few_runs(results: Results) -> Section | None:
    """The section for the cells of a study where such means scatter most; None without such."""
    cells = thirty(results)
    if not cells:
        return None
    title = f"What a mean of {RUNS} runs is worth"
    return Section(
        name="few-runs",
        title=title,
        source=results.study.title,
        pictures=(picture(results, kind="thirty", what=f"Means of {RUNS} runs as dots"),),
        tables=(Table(title, _HEADER, tuple(map(_row, cells))),),
    )


def _row(cell: Thirty) -> tuple[str, ...]:
    def show(value: float) -> str:
        return show_seconds(value, 3) if cell.unit == "s" else show_number(value)

    inner = np.quantile(cell.means, [0.05, 0.95])
    outer = cell.means.min(), cell.means.max()
    return (
        cell.cell,
        cell.observable.replace("_", " "),
        f"{len(cell.means):,}",
        *(" – ".join(show(float(end)) for end in ends) for ends in (inner, outer)),
        f"{cell.apart:.2g}×",
        f"{cell.realizations:,}",
        interval(cell.mean, ".4g", cell.unit),
    )
