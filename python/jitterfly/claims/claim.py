"""The form of a claim."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .finding import Finding

if TYPE_CHECKING:
    from ..studies import Study


@dataclass(frozen=True)
class Claim:
    """A claim: where it stands, what it says, and how a study's results bear on it.

    Of a claim about networks, `check` takes points of `congestion.study` instead (`of_study` is
    False), and there are neither observables nor axes.

    `needs` are the kinds of observables that a study must have, how many of each; `axes` the axes;
    `cycles`, of how many cycles at least, where the overhead after each of them is needed.
    """

    source: str
    text: str
    needs: tuple[str, ...]
    axes: tuple[str, ...]
    check: Callable[[Any], list[Finding]]
    cycles: int = 0
    of_study: bool = True

    def missing(self, study: Study) -> str:
        """What a study lacks to speak to it, or nothing."""
        if not self.of_study:
            return "placements in a network, not a study: see `jitterfly network study`"
        kinds = [observable.kind for observable in study.observables.values()]
        for kind in self.needs:
            count = self.needs.count(kind)
            if kinds.count(kind) < count:
                return f"{count} observable{'s' * (count > 1)} of kind {kind!r}"
        names = [axis.name for axis in study.axes] + [axis.rule for axis in study.axes]
        lacking = [axis for axis in self.axes if axis not in names]
        if lacking:
            return f"an axis {lacking[0]!r}"
        return self._missing_cycles(study) if self.cycles else ""

    def _missing_cycles(self, study: Study) -> str:
        overheads = [one for one in study.observables.values() if one.kind == "overhead"]
        if any(one.cycle != "each" for one in overheads):
            return 'overheads with cycle = "each"'
        cases = (cell.case for place in study.places() for cell in place.cells)
        few = min(case.cycles for case in cases) < self.cycles
        return f"cases of at least {self.cycles} cycles" if few else ""
