"""`Overhead`: completion time minus the noise-free one, or minus another algorithm's."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .completion import Completion
from .measure import Measure
from .observable import NOISE_FREE, Chosen, Select, in_seconds, read_side


@dataclass(frozen=True)
class Overhead(Completion, kind="overhead"):
    """Completion minus another completion of the same realization, seconds.

    Parameters
    ----------
    variant, T, cycle, rank
        Which completion: see `Select`.
    over : "noise-free", str or table
        Minus what: the noise-free completion of the same T and cycle; a variant, with the same T
        and cycle; or a table as `Select` has it.

    Examples
    --------
    >>> Overhead("redundant", over="noiseless").to_dict()
    {'kind': 'overhead', 'variant': 'redundant', 'over': 'noiseless'}
    """

    over: str | Select = NOISE_FREE

    def __post_init__(self) -> None:
        if self.over != NOISE_FREE:
            same = "last" if self.T == "best" else self.T
            over = read_side(self.over, "over", quiet=True)
            if isinstance(self.over, str) and isinstance(over, Select):
                over = replace(over, T=same)
            object.__setattr__(self, "over", over)
        self.check_best()

    def sides(self) -> dict[str, Select]:
        sides = super().sides()
        if isinstance(self.over, Select):
            sides["over"] = self.over.within(self.cycle, self.rank)
        return sides

    def measure(self, name: str, **sides: Chosen) -> Measure | None:
        completion, over = sides["completion"], sides.get("over")
        if over:  # either of two completions may be the earlier one
            return in_seconds(name, completion.form - over.form)
        least = 0 if completion.noise_only_delays else None
        met = 0 if completion.tells_met else None
        form = completion.form - completion.quiet
        return completion.of_this(in_seconds(name, form, least, met))
