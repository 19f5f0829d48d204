"""`Gain`: speedup of one algorithm over another, on the same noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from .measure import Measure
from .observable import Chosen, Cycle, Observable, Rank, Select, read_side


@dataclass(frozen=True)
class Gain(Observable, kind="gain"):
    """``mean(over) / mean(of)``: above 1, `of` is faster than `over`.

    Its mean is this ratio of means. Its median and other quantiles are those of the quotients of
    single realizations, and can lie far from it where few realizations are slow.

    Parameters
    ----------
    of, over : str or table
        A variant, or a table of variant, T, cycle, rank as `Select` has it.
    cycle, rank
        Of both, where they do not say it themselves: see `Select`.

    Examples
    --------
    >>> Gain(of={"T": "best"}, over={"T": 0}).to_dict()
    {'kind': 'gain', 'of': {'T': 'best'}, 'over': {'T': 0}}
    """

    of: Any
    over: Any
    cycle: Cycle = "last"
    rank: Rank = "last"

    unit = ""
    compares = True
    picks: ClassVar[Mapping[str, str]] = {
        "of": "smallest denominator",
        "over": "smallest numerator",
    }

    def __post_init__(self) -> None:
        Select(cycle=self.cycle, rank=self.rank)
        for side in ("of", "over"):
            object.__setattr__(self, side, read_side(getattr(self, side), side))
        self.check_best()
        if self.of == self.over:
            raise ValueError("of and over must be different, else the gain is 1")

    def sides(self) -> dict[str, Select]:
        return {side: getattr(self, side).within(self.cycle, self.rank) for side in ("of", "over")}

    def measure(self, name: str, **sides: Chosen) -> Measure | None:
        return Measure(name, sides["over"].form, sides["of"].form)
