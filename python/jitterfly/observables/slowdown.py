"""`Slowdown`: completion time divided by the noise-free one."""

from __future__ import annotations

from dataclasses import dataclass

from .completion import Completion
from .measure import Measure
from .observable import Chosen


@dataclass(frozen=True)
class Slowdown(Completion, kind="slowdown"):
    """Completion over noise-free completion of the same T and cycle.

    Absent where nothing takes any time without noise (one rank).

    Parameters
    ----------
    variant, T, cycle, rank
        Which completion: see `Select`.
    """

    unit = ""

    def measure(self, name: str, **sides: Chosen) -> Measure | None:
        completion = sides["completion"]
        if completion.quiet == 0:
            return None
        least = 1.0 if completion.noise_only_delays else 0.0
        quiet = 1.0 if completion.tells_met else None
        below = completion.quiet
        return completion.of_this(
            Measure(name, completion.form, below, lower_bound=least, noise_free=quiet)
        )
