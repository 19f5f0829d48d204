"""Cells of a study as the claims speak of them: by ranks and by a ratio of times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..results.number_text import interval, show_ranks
from ..results.results import Results, Spot
from ..results.study_axes import axis_title, number_axes
from ..stats import Estimate

Region = Callable[[int, float], bool]  # by ranks and ratio


class Cell(NamedTuple):
    """One cell: its ranks, its place on the other axis of numbers (0 without one), an estimate."""

    ranks: int
    ratio: float
    spot: Spot
    found: Estimate

    def at(self, name: str) -> str:
        """Where it is, for people: `2^14 ranks, T_comm / D = 0.01`."""
        ranks = f"{show_ranks(self.ranks)} ranks"
        return f"{ranks}, {name} = {self.ratio:g}" if name else ranks

    def told(self, name: str) -> str:
        """Its value, and where it is."""
        return f"{interval(self.found)} at {self.at(name)}"


class Block(NamedTuple):
    """The cells that differ in ranks and in one more axis of numbers, whose title is `name`."""

    where: str
    name: str
    spots: list[Spot]
    axis: str

    def chosen(self, observable: str, which: Region | None = None) -> list[tuple[Spot, float]]:
        """The spots of a region that have data of an observable, and their ratios."""
        known = [
            (spot, float(spot.place.coordinates[self.axis]) if self.axis else 0.0)
            for spot in self.spots
            if observable in spot.facts
        ]
        return [(s, ratio) for s, ratio in known if which is None or which(s.ranks, ratio)]

    def cells(self, observable: str, which: Region | None = None) -> list[Cell]:
        """The cells of a region, with means whose intervals hold together with 95 %."""
        chosen = self.chosen(observable, which)
        level = 1 - 0.05 / max(len(chosen), 1)  # Bonferroni
        return [
            Cell(s.ranks, ratio, s, s.estimate(observable, confidence=level)) for s, ratio in chosen
        ]


def blocks(results: Results) -> list[Block]:
    """A block for each place on the axes that are neither ranks nor a ratio of times."""
    study = results.study
    derived = [axis.name for axis in study.axes if axis.rule]
    ratio = next((axis for axis in number_axes(study) if axis in derived), "")
    groups: dict[str, list[Spot]] = {}
    for spot in results.spots:
        label = results.label(spot, without=("ranks", ratio))
        groups.setdefault(label, []).append(spot)
    name = axis_title(study, ratio) if ratio else ""
    return [Block(label, name, spots, ratio) for label, spots in groups.items()]


def largest(cells: Sequence[Cell]) -> Cell:
    """The cell of the largest value."""
    return max(cells, key=lambda cell: float(cell.found.value))


def smallest(cells: Sequence[Cell]) -> Cell:
    """The cell of the smallest value."""
    return min(cells, key=lambda cell: float(cell.found.value))
