"""`LateArrival`: random late arrival of ranks at a collective (process arrival pattern)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from ..distributions.constant import ConstantOrDrawn
from ..distributions.distribution import Probability
from ..fields import check_choice, frozen_dataclass
from .source import DelayNoise, ExpectedWork, Hits, MaxWork, Shared


@frozen_dataclass()
class LateArrival(DelayNoise, kind="arrival"):
    """Each rank idles for a drawn time before each collective.

    The delay comes before the compute phase of the cycle, if there is one. It is no CPU time: noise
    of the CPU does not lengthen it. Arrivals that are the same in every realization are no noise,
    but the case's (`Case.arrival`).

    Parameters
    ----------
    delay : Distribution, float or str
        How late a rank is; seconds alone are the same for all.
    shared : False, "machine", "node", "rack", "level N", another name of a level, or int
        Which ranks share their draws: none, all, or nodes of so many consecutive ranks (the last
        one may have fewer).
    probability : float or str
        That a rank is late at all, from 0 to 1.
    each : "cycle" or "realization"
        What has draws of its own. With "realization" a rank is late by the same time in all cycles.

    Raises
    ------
    ValueError
        A parameter out of range; size of nodes when the case is made.

    Notes
    -----
    Faraj, Patarasuk, Yuan, "A Study of Process Arrival Patterns for MPI Collective Operations",
    International Journal of Parallel Programming 36, 2008.

    Examples
    --------
    >>> import jitterfly as jf
    >>> noise = [LateArrival(jf.Exponential("100us"), shared=8)]
    >>> case = jf.Case(64, network=jf.Hockney(alpha="1us", beta=0), noise=noise)
    >>> jf.simulate(case, realizations=10).samples.min() > 6e-6
    np.True_
    """

    most: ClassVar[int] = 8

    delay: ConstantOrDrawn
    shared: Shared = False
    probability: Probability = Probability(1.0)
    each: Literal["cycle", "realization"] = "cycle"

    def __post_init__(self) -> None:
        self.check_fields()
        check_choice(self.each, "each", ("cycle", "realization"))

    def apply(self, program: Any, ranks: int, transit: int, transits: Sequence[int] = ()) -> None:
        program.add_rank_delay(
            delay=self.table().delay(),
            **self.engine_fields(ranks),
            once=self.each == "realization",
        )

    @property
    def draws_each(self) -> tuple[str, ...]:
        return ("cycle",) if self.each == "cycle" else ()

    def why_ineffective(self, work: MaxWork) -> str:
        return ""

    def expected_hits(self, work: ExpectedWork) -> Hits:
        groups = work.groups(self.shared)
        if self.each == "cycle":
            return Hits.of_draws(groups * work.cycles, self.table())
        once = Hits.of_draws(groups, self.table())
        return Hits(once.number, once.delay * work.cycles, once=True)

    def longest_arrival(self) -> int:
        return self.likely_ticks()
