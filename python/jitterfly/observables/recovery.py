"""`Recovery`: share of the overhead that redundancy takes away (CS14)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from .measure import Form, Measure
from .observable import NOISE_FREE, Chosen, Cycle, Observable, Rank, Select, read_side


@dataclass(frozen=True)
class Recovery(Observable, kind="recovery"):
    """``(conventional - redundant) / (conventional - noiseless)``, of means (Chen & Suda).

    Where `theory.completion_bound` applies to the conventional case, no redundancy brings its mean
    below that.

    Parameters
    ----------
    conventional, redundant, noiseless : str or table
        A variant, or a table of variant, T, cycle, rank as `Select` has it. `noiseless` may be
        "noise-free": noise in no phase at all.
    cycle, rank
        Of all three, where they do not say it themselves: see `Select`.
    """

    conventional: Any = "conventional"
    redundant: Any = "redundant"
    noiseless: Any = "noiseless"
    cycle: Cycle = "last"
    rank: Rank = "last"

    unit = ""
    distribution = False
    picks: ClassVar[Mapping[str, str]] = {"redundant": "smallest numerator"}

    def __post_init__(self) -> None:
        Select(cycle=self.cycle, rank=self.rank)
        for side in ("conventional", "redundant", "noiseless"):
            read = read_side(getattr(self, side), side, quiet=side == "noiseless")
            object.__setattr__(self, side, read)
        self.check_best()

    def sides(self) -> dict[str, Select]:
        given = {side: getattr(self, side) for side in ("conventional", "redundant", "noiseless")}
        return {
            side: select.within(self.cycle, self.rank)
            for side, select in given.items()
            if select != NOISE_FREE
        }

    def measure(self, name: str, **sides: Chosen) -> Measure | None:
        conventional, redundant = sides["conventional"].form, sides["redundant"].form
        if "noiseless" in sides:
            quiet = sides["noiseless"].form
        else:
            quiet = Form((), sides["conventional"].quiet)
        # Both differences negative, so that the best redundant one has the smallest numerator.
        above, below = redundant - conventional, quiet - conventional
        return Measure(name, above, below, distribution=False)
