"""The kinds of study: what each needs of its cells so that it can be tabled and drawn.

A kind is a name in FIGURES, a module of that name in `plots/`, and a table in `report.py`.
"""

from __future__ import annotations

from ..fields import check_choice
from ..studies.study import Cell, Study
from .results import CONVENTIONAL, NOISELESS, REDUNDANT

FIGURES = ("slowdown", "overhead", "cycles")


def check_figure(study: Study) -> None:
    """Raise if the study's figure is not known, or its cells are not what the figure needs.

    `slowdown` needs every T of MS12 from one pass; `overhead` and `cycles` need CS14's three cases.

    Raises:
        ValueError: with the name of the file.
    """
    cells = study.cells()
    try:
        check_choice(study.figure, "figure", FIGURES)
        if len({axis.name for axis in study.axes} - {"ranks"}) > 1:
            raise ValueError("a figure can show `ranks` and one more axis")
        if any(cell.case.observe != "completion" for cell in cells):
            raise ValueError(f"figure {study.figure!r} needs cases that observe 'completion'")
        needs = _slowdown_needs if study.figure == "slowdown" else _overhead_needs
        needs(study, cells)
    except ValueError as error:
        raise study.error(str(error)) from None


def _slowdown_needs(study: Study, cells: list[Cell]) -> None:
    cases = [cell.case for cell in cells]
    good = all(c.algorithm.forwards(c.log2_ranks) > 0 and c.cycles == 1 for c in cases)
    if not good or study.variants:
        raise ValueError(
            "figure 'slowdown' needs cases of one cycle with algorithm.after from 1 to K, "
            "and no variants"
        )


def _overhead_needs(study: Study, cells: list[Cell]) -> None:
    names = {variant.label for variant in study.variants}
    needed = {NOISELESS, CONVENTIONAL, REDUNDANT}
    if names != needed or any(c.case.algorithm.forwards(c.case.log2_ranks) for c in cells):
        raise ValueError(
            f"figure {study.figure!r} needs the variants {', '.join(sorted(needed))}, "
            "and algorithm.after 0"
        )
    if study.figure == "cycles" and any(c.case.cycles < 3 for c in cells):
        raise ValueError("figure 'cycles' needs cases of at least 3 cycles")
