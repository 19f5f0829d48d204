"""Cells of a study for claims: whether a whole block holds (simultaneous intervals); order."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from jitterfly.answer import show
from jitterfly.results import CellResults, Results
from jitterfly.results.figures import axis_title, number_axes, show_ranks
from jitterfly.stats import Estimate

from ..cell_values import ratio
from .claim import OURS, SAMPLING, WORDS, Finding, exceeds

Region = Callable[[int, float], bool]  # by ranks and ratio


class JudgedCell(NamedTuple):
    """A cell: its ranks, its value on the other axis of numbers (0 without one), an estimate.

    `of_all`: the interval of the estimate is not the cell's, but that of the largest or smallest of
    all cells.
    """

    ranks: int
    ratio: float
    cell: CellResults
    found: Estimate
    of_all: bool = False

    def at(self, name: str) -> str:
        """The place of the cell, for people: `2^14 ranks, T_comm / D = 0.01`."""
        ranks = f"{show_ranks(self.ranks)} ranks"
        return f"{ranks}, {name} = {self.ratio:g}" if name else ranks

    def in_words(self, name: str) -> str:
        """The value of the cell, and where it is."""
        if not self.of_all:
            return f"{show(self.found)} at {self.at(name)}"
        value, ends = show(self.found).split(" ", 1)
        return f"{value} at {self.at(name)}, of all cells {ends}"


class Block(NamedTuple):
    """The cells that differ in ranks and in one more axis of numbers, whose title is `name`."""

    where: str
    name: str
    cells: list[CellResults]
    axis: str

    def chosen(
        self, observable: str, which: Region | None = None
    ) -> list[tuple[CellResults, float]]:
        """The cells of a region that have data of an observable, and their ratios."""
        known = [
            (cell, float(cell.coordinates[self.axis]) if self.axis else 0.0)
            for cell in self.cells
            if observable in cell.summaries
        ]
        return [(s, ratio) for s, ratio in known if which is None or which(s.ranks, ratio)]

    def judged(self, observable: str, which: Region | None = None) -> list[JudgedCell]:
        """The cells of a region, with means whose intervals hold together with 95 %."""
        chosen = self.chosen(observable, which)
        level = 1 - 0.05 / max(len(chosen), 1)  # Bonferroni
        return [
            JudgedCell(s.ranks, ratio, s, s.estimate(observable, confidence=level))
            for s, ratio in chosen
        ]


def blocks(results: Results) -> list[Block]:
    """A block for each combination on the axes that are neither ranks nor a ratio of times."""
    study = results.study
    derived = [axis.name for axis in study.axes if axis.rule]
    ratio = next((axis for axis in number_axes(study) if axis in derived), "")
    name = axis_title(study, ratio) if ratio else ""
    groups = results.groups(("ranks", ratio))
    return [Block(label, name, cells, ratio) for label, cells in groups.items()]


def largest(cells: Sequence[JudgedCell]) -> JudgedCell:
    """The cell of the largest value, with the interval of the largest of all.

    The intervals of the cells hold together, so the largest true value is at least the largest low
    end and at most the largest high end. A cell that met too little noise to have an interval may
    be the largest one: then nothing is known of the high end.
    """
    return _extreme(cells, max)


def smallest(cells: Sequence[JudgedCell]) -> JudgedCell:
    """The cell of the smallest value, with the interval of the smallest of all; see `largest`."""
    return _extreme(cells, min)


def _extreme(cells: Sequence[JudgedCell], pick: Callable[..., Any]) -> JudgedCell:
    cell = pick(cells, key=lambda cell: float(cell.found.value))
    low, high = (pick(float(getattr(c.found, end)) for c in cells) for end in ("low", "high"))
    of_all = (low, high) != (float(cell.found.low), float(cell.found.high))
    return cell._replace(found=replace(cell.found, low=low, high=high), of_all=of_all)


CLOSE = 0.05  # of the smallest mean; the T of the very smallest is decided by noise


def needed(cell: CellResults, name: str) -> Estimate:
    """The smallest T whose mean is within 5 % of the smallest mean, and which T it may be.

    The smallest T that can not be told from the best grows with the number of realizations, so it
    can not be compared between cells; this one can. The interval is from the first T that may be
    so close to the first one that certainly is (Fieller, 95 % each).

    Parameters
    ----------
    cell : CellResults
    name : str
        An observable of kind `optimal_T`.

    Raises
    ------
    ValueError
        The cell has no data of it.
    """
    observed = cell.observed(name)
    if observed is None:
        raise ValueError(f"{name} has no data at {cell.name}")
    family = observed.family
    best = family.labels.index(observed.T)
    bottom = family.members[best].numerator
    value = low = high = float(family.labels[best])
    for T, member in reversed(list(zip(family.labels, family.members, strict=True))[:best]):
        over = ratio(cell, member.numerator, bottom)
        if over.value <= 1 + CLOSE:
            value = float(T)
        if over.low <= 1 + CLOSE:
            low = float(T)
        if over.high <= 1 + CLOSE:
            high = float(T)
        if over.low > 1 + CLOSE:  # means can only fall with T: no smaller one is close
            break
    return Estimate(value, low, high, 0.95, observed.realizations)


WITHIN = f"the smallest T within {100 * CLOSE:.0f} % of the best"
_ALIKE = 0.75  # at least three of four pairs that are told apart
_ENOUGH = 0.25  # of all pairs have to be told apart, else nothing is decided

Pair = tuple[Estimate, Estimate, Estimate, Estimate]


def ordered(where: str, part: str, pairs: Sequence[Pair], words: str) -> Finding:
    """Judge whether two quantities order cells alike; a pair is ``(x, x', y, y')`` of two cells."""
    return _shares(where, part, concordance(pairs), words)


def rising(
    block: Block,
    best: str,
    part: str,
    same: Callable[[JudgedCell], float],
    along: Callable[[JudgedCell], float],
    words: str,
    region: Region | None = None,
) -> Finding:
    """Judge whether the T that is needed rises with `along`, among cells that agree in `same`.

    Parameters
    ----------
    block : Block
    best : str
        An observable of kind `optimal_T`.
    part : str
        The part of the claim that is judged.
    same, along : callable
        Of a cell: what pairs have in common, and along what they are ordered.
    words : str
        How pairs are ordered where the claim holds, such as "more for more ranks".
    region : callable, optional
        Which cells count; all by default.
    """
    cells = [
        JudgedCell(cell.ranks, ratio, cell, needed(cell, best))
        for cell, ratio in block.chosen(best, region)
    ]
    order = sorted(cells, key=along)
    pairs = [
        (a.found, b.found)
        for a, b in itertools.combinations(order, 2)
        if same(a) == same(b) and along(a) < along(b)
    ]
    rises = [exceeds(b, a) for a, b in pairs]
    counts = rises.count(True), rises.count(False), rises.count(None)
    return _shares(block.where, part, counts, words)


def concordance(pairs: Sequence[Pair]) -> tuple[int, int, int]:
    """Count pairs of cells by their order in two quantities: alike, opposite, not told apart.

    A pair counts when the intervals of x and x', and those of y and y', do not meet.
    """
    orders = [(exceeds(x, other_x), exceeds(y, other_y)) for x, other_x, y, other_y in pairs]
    told = [x == y for x, y in orders if None not in (x, y)]
    return told.count(True), told.count(False), len(orders) - len(told)


def _shares(where: str, part: str, counts: tuple[int, int, int], words: str) -> Finding:
    """Judge a share of pairs: above three quarters, a limit of ours, it holds; up to half, not."""
    alike, opposite, rest = counts
    apart = alike + opposite
    enough = apart > 0 and apart >= _ENOUGH * (apart + rest)
    share = alike / apart if apart else 0.0
    holds = share >= _ALIKE if enough else None
    half = enough and share <= 0.5
    percent = f"{100 * share:.0f} % " if apart else ""
    return Finding(
        where,
        part,
        holds,
        f"{percent}of pairs of cells {words}, {alike:,} of {apart:,} that are told apart; {rest:,} "
        "are not",
        "more than half of the pairs" if half else f"at least {100 * _ALIKE:.0f} % of the pairs",
        WORDS if half else OURS,
        "" if enough else SAMPLING,
    )
