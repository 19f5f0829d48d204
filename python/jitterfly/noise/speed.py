"""`SpeedNoise`: random speed of ranks (slow nodes), drawn once a realization or again and again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..distributions import Distribution
from ..distributions.distribution import DelayTable, Drawn, Probability, check_number, thinned
from ..distributions.parametric import Constant
from ..fields import frozen_dataclass, parameter
from ..units import TICKS_PER_SECOND, Time, from_ticks, show_seconds, to_ticks, warn_of_small_factor
from .source import (
    AVERAGED,
    TOO_SLOW,
    ExpectedWork,
    GroupNoise,
    Hits,
    HoldsField,
    HostsField,
    MaxWork,
    Shared,
    spells,
)

LARGEST_FACTOR = 10**6


class _Factor(Drawn):
    """A field of a dataclass for the distribution of a factor; a number alone is constant."""

    unit = ""
    _plain = Constant

    def __set__(self, instance: object, value: Distribution | Time | Mapping[str, Any]) -> None:
        if not isinstance(value, (Distribution, Mapping)):
            value = check_number(value, "factor", 0, LARGEST_FACTOR, "SpeedNoise")
        super().__set__(instance, value)

    def in_words(self, value: Distribution) -> str:
        return f"{value.value:g}" if isinstance(value, Constant) else super().in_words(value)


@frozen_dataclass()
class SpeedNoise(GroupNoise, kind="speed"):
    """Each rank is slower, or faster, by a drawn factor; a realization has draws of its own.

    The factor is one of the CPU time of compute phases and of combining, in a schedule of its
    `calc`. It is as that of `Case.speed`, which is the same in every realization. Within a
    realization it is the same in all cycles, or with `holds` that of a clock speed that wanders:
    there is a new draw after each such time. Where a case has both, or several sources, their
    factors are multiplied.

    Parameters
    ----------
    factor : Distribution or float
        2 takes twice as long. In a distribution one second stands for a factor of 1:
        ``Lognormal(median=1, sigma=0.05)``. Where there is nothing to draw (`probability`, or a
        draw of 0) it is 1. Up to 10^6.
    probability : float or str
        That a rank has a factor at all, from 0 to 1.
    shared : False, "machine", "node", "rack", "level N", another name of a level, or int
        Which ranks share a factor: none, all, or nodes of this many consecutive ranks (the last one
        may have fewer).
    hosts : imbalance.Hosts, optional
        The hosts that it acts on, all without it: ``imbalance.OnNodes([17], node_ranks=8)``,
        `OnRanks`, or `OnShare`. Draws stay as they are without it.
    holds : float or str, optional
        For how long a draw holds, 10 ns or longer; without it for the realization.

    Raises
    ------
    ValueError
        A parameter out of range; when the case is made, size of nodes, or work of a rank that may
        take 2^60 ps (13 days) or longer at a time. Ranks of a `Butterfly` that combine at different
        speed can not send what is redundant.

    Notes
    -----
    Processors of one model differ in their speed under a limit of power: Inadomi et al., "Analyzing
    and Mitigating the Impact of Manufacturing Variability in Power-Constrained Supercomputing"
    (SC '15).

    Time is cut into spells as long as `holds`; the first one of a rank began at a random moment.
    Work takes the factor of the spell in which it begins, to its end. Draws of two spells are
    independent. So a compute phase that is longer than `holds` does not average over several
    factors, as it would on a machine, and the slowest rank is too slow: a `UnseenChangeWarning`, or
    a note above the numbers, says so. It is no error, as a phase may be meant to have one factor.

    Examples
    --------
    >>> import jitterfly as jf
    >>> noise = [SpeedNoise(jf.Lognormal(median=1, sigma=0.05), shared=8)]
    >>> network = jf.LogGOPS(L="1us", o="200ns")
    >>> case = jf.Case(64, network=network, noise=noise, compute_time="1ms")
    >>> jf.simulate(case, realizations=10).samples.max() > 1e-3
    np.True_
    """

    most: ClassVar[int] = 8
    no_effect: ClassVar[Mapping[str, Any]] = {"probability": 0.0}

    factor: _Factor
    probability: Probability = Probability(1.0)
    shared: Shared = False
    hosts: HostsField = HostsField()
    holds: HoldsField = HoldsField()

    def __post_init__(self) -> None:
        self.check_fields()
        largest = self.factor.longest_ticks()
        if not 0 < largest <= LARGEST_FACTOR * TICKS_PER_SECOND:
            raise ValueError(
                f"factor must be drawn above 0 and up to 10^6, its largest is "
                f"{largest / TICKS_PER_SECOND:.3g} (in SpeedNoise)"
            )
        median = 1 - float(self.factor.chance()) / 2  # of the draws that are no 0
        warn_of_small_factor(float(self.factor.quantile(median)), "SpeedNoise")

    def table(self) -> DelayTable:
        """The table of the factor in parts of 10^12; 0, of a rank that is not hit, is read as 1."""
        return thinned(self.factor, self.probability)

    def apply(self, program: Any, ranks: int, transit: int, transits: Sequence[int] = ()) -> None:
        # Also where all factors are 1: the draws of the sources after it stay the same.
        program.add_rank_speed(
            factor=self.table().delay(),
            holds=to_ticks(self.holds or 0.0),
            **self.engine_fields(ranks),
        )

    @property
    def random(self) -> bool:
        return self.probability < 1 or not isinstance(self.factor, Constant)

    def why_ineffective(self, work: MaxWork) -> str:
        if work.compute or work.combining:
            return ""
        return (
            "no rank computes or combines anything that takes CPU time; give "
            f"{parameter('compute_time')} or network.gamma"
        )

    def expected_hits(self, work: ExpectedWork) -> Hits | None:
        """The slow ranks in a realization, or groups of them, and what each works longer.

        None where a rank may be faster: what it saves is no hit.
        """
        if self.hastens:
            return None
        # A factor stands in the table as a delay of that many seconds.
        slow = Hits.of_draws(work.groups(self.shared), self.table())
        factor = slow.delay / TICKS_PER_SECOND
        delay = max(factor - 1, 0.0) * (work.compute + work.combining)
        spelled = spells(self.holds, work)
        return Hits(slow.number * spelled, delay / spelled, once=self.holds is None)

    def unseen_change(self, work: MaxWork) -> str:
        longest, drawn = max(work.compute, work.combining), self.random and self.probability > 0
        if self.holds is None or not drawn or longest <= to_ticks(self.holds):
            return ""
        up_to = show_seconds(float(from_ticks(longest)))
        return (
            f"{TOO_SLOW}: holds = {show_seconds(self.holds)} is shorter than a piece of work, "
            f"which takes up to {up_to} and keeps the factor that it begins with; {AVERAGED}"
        )

    @property
    def slows(self) -> bool:
        return self.probability > 0 and self.factor != Constant(1)

    @property
    def hastens(self) -> bool:
        return self.probability > 0 and self.factor.integers().smallest < TICKS_PER_SECOND

    def longest_slowed(self, work: int, *, ever: bool = False) -> int:
        if self.probability == 0:
            return work
        factor = self.factor.longest_ticks() if ever else self.factor.likely_ticks()
        return max(work, -(-work * factor // TICKS_PER_SECOND))
