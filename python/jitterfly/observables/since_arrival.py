"""`SinceArrival`: time of a collective from the first or last arrival of a rank."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ..fields import check_choice
from .completion import Completion
from .measure import Form, Measure
from .observable import Chosen, in_seconds, variants_named


@dataclass(frozen=True)
class SinceArrival(Completion, kind="since_arrival"):
    """Completion minus when a rank arrives at the same collective, seconds.

    A rank arrives when its compute phase is done: late by what `Case.arrival` and `LateArrival`
    say, by noise, and by what the cycles before took.

    Parameters
    ----------
    variant, T, cycle, rank
        Which completion: see `Select`.
    arrival : "last" or "first"
        Of which rank. From the last one: what the collective takes when all are there, which is
        what an algorithm can be blamed for. From the first one: for how long it holds a rank.

    Notes
    -----
    Faraj, Patarasuk and Yuan (2008), "A study of process arrival patterns for MPI collective
    operations", compare algorithms by such times.

    Examples
    --------
    >>> SinceArrival(arrival="first", cycle=1).to_dict()
    {'kind': 'since_arrival', 'cycle': 1, 'arrival': 'first'}
    """

    arrival: Literal["last", "first"] = "last"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.arrival, "arrival", ("last", "first"))

    def arrival_variants(self, variants: Iterable[str]) -> set[str]:
        return variants_named([self.variant], variants)

    def measure(self, name: str, **sides: Chosen) -> Measure | None:
        completion = sides["completion"]
        if completion.arrivals is None:
            raise ValueError("since_arrival needs a case with observe = 'arrival'")
        column = completion.arrivals[self.arrival == "last"]
        # The mean over ranks may be before the last one arrives.
        least = 0 if self.rank == "last" or self.arrival == "first" else None
        return in_seconds(name, completion.form - Form.of(column), least)
