"""`OptimalT`: the best number of redundant exchanges after the butterfly (T of MS12)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from .measure import Measure
from .observable import Chosen, Cycle, Observable, Rank, Select, in_seconds


@dataclass(frozen=True)
class OptimalT(Observable, kind="optimal_T"):
    """The smallest T >= 1 whose mean completion can not be told from the smallest.

    Its interval is the set of all T that can not be told from the best.

    Parameters
    ----------
    variant, cycle, rank
        Of which completion: see `Select`.
    """

    variant: str = ""
    cycle: Cycle = "last"
    rank: Rank = "last"

    unit = ""
    distribution = False
    picks: ClassVar[Mapping[str, str]] = {"completion": "set"}

    def __post_init__(self) -> None:
        self.sides()

    def sides(self) -> dict[str, Select]:
        return {"completion": Select(self.variant, "best", self.cycle, self.rank)}

    def check_target(self, name: str) -> None:
        raise ValueError(
            f"{name} ({self.kind}) can have no target: a set of whole numbers has no width; give "
            "one to a completion or a gain"
        )

    def measure(self, name: str, **sides: Chosen) -> Measure | None:
        return in_seconds(name, sides["completion"].form)
