"""`Completion`: completion time of a collective: of its last rank, or mean over ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from .measure import Measure
from .observable import Chosen, Cycle, Observable, Rank, Select, Which, in_seconds


@dataclass(frozen=True)
class Completion(Observable, kind="completion"):
    """The time of completion, seconds.

    Parameters
    ----------
    variant, T, cycle, rank
        Which one: see `Select`.

    Examples
    --------
    >>> Completion(T="best").to_dict()
    {'kind': 'completion', 'T': 'best'}
    """

    variant: str = ""
    T: Which = "last"
    cycle: Cycle = "last"
    rank: Rank = "last"

    picks: ClassVar[Mapping[str, str]] = {"completion": "smallest numerator"}

    def __post_init__(self) -> None:
        self.sides()

    def sides(self) -> dict[str, Select]:
        return {"completion": Select(self.variant, self.T, self.cycle, self.rank)}

    def measure(self, name: str, **sides: Chosen) -> Measure | None:
        completion = sides["completion"]
        least = completion.quiet if completion.noise_only_delays else 0
        met = completion.quiet if completion.tells_met else None
        return completion.of_this(in_seconds(name, completion.form, least, met))
