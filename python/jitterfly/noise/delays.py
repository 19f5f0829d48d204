"""Delays that are drawn: of each step (`StepNoise`), of each message, and late arrival of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from ..distributions.distribution import Probability
from ..distributions.parametric import ConstantOrDrawn
from ..fields import check_choice, frozen_dataclass, parameter
from ..units import OptionalSeconds, Seconds
from .source import DelayNoise, ExpectedWork, Hits, HostsField, MaxWork, Shared, WindowNoise


@frozen_dataclass()
class StepNoise(DelayNoise, WindowNoise, kind="step"):
    """The CPU work of each step takes longer by an independent draw.

    A step is taking a message that brings a level, or sending the original message of a round; and
    the compute phase of a cycle, if there is one (`compute_time` above 0). A step of the collective
    is delayed even where it costs no time otherwise. In a schedule (`simulate_schedule`) the steps
    are each ``calc`` of more than 0 ns, and each message that is taken, or sent. Messages alone are
    delayed with ``during="communication"``.

    Parameters
    ----------
    delay : Distribution, float or str
        How much longer; seconds alone are a constant delay.
    probability : float or str
        That a step is delayed at all, from 0 to 1.
    at : "receive" or "send"
        Which steps of a round: taking a message (the original, or a copy that is adopted), or
        sending the original. Copies and forwards are sent without a delay of their own. The
        compute phase (of a schedule: each ``calc``) is delayed in either case.
    shared : False, "machine", "node", "rack", "level N", another name of a level, or int
        Which ranks share their draws: none, all, or nodes of so many consecutive ranks (the last
        one may have fewer).
    during : "all", "compute" or "communication"
        The phase of the cycle whose steps are delayed.
    begin, end : float or str
        Only steps whose work begins from `begin` to before `end` are delayed, seconds; all without
        them.
    hosts : imbalance.Hosts, optional
        The hosts that it acts on, all without it: ``imbalance.OnNodes([17], node_ranks=8)``,
        `OnRanks`, or `OnShare`. Draws stay as they are without it.

    Raises
    ------
    ValueError
        A parameter out of range; size of nodes when the case is made.

    Notes
    -----
    Horikoshi et al., "Scaling Collectives on Large Clusters of Intel Architecture Processors"
    (IXPUG 2018): 14 µs with a small probability in each step. Agarwal, Garg, Vishnoi, "The Impact
    of Noise on the Scaling of Collectives" (HiPC 2005).

    Examples
    --------
    The model of HM18: 12 steps of 3.45 µs.

    >>> import jitterfly as jf
    >>> noise = StepNoise(delay="14us", probability=0.001)
    >>> case = jf.Case(4096, network=jf.Hockney(alpha="3.45us", beta=0), noise=[noise])
    >>> jf.simulate(case, realizations=10).samples.max() <= 12 * (3.45e-6 + 14e-6)
    np.True_
    """

    delay: ConstantOrDrawn
    probability: Probability = Probability(1.0)
    at: Literal["receive", "send"] = "receive"
    shared: Shared = False
    during: Literal["all", "compute", "communication"] = "all"
    begin: Seconds = Seconds(0.0)
    end: OptionalSeconds = OptionalSeconds()
    hosts: HostsField = HostsField()

    def __post_init__(self) -> None:
        check_choice(self.at, "at", ("receive", "send"))
        self.check_fields()

    def apply(self, program: Any, ranks: int, transit: int, transits: Sequence[int] = ()) -> None:
        # Also where nothing is ever delayed: the draws of the sources after it stay the same.
        program.add_step(
            delay=self.table().delay(), at_send=self.at == "send", **self.engine_fields(ranks)
        )

    @property
    def draws_each(self) -> tuple[str, ...]:
        return {"compute": ("cycle",), "communication": ("message",)}.get(
            self.during, ("cycle", "message")
        )

    def why_ineffective(self, work: MaxWork) -> str:
        communication = work.exchanges and self.during != "compute"
        if communication or (work.compute and self.during != "communication"):
            return ""
        if self.during == "compute":
            time = parameter("compute_time")
            return f"during = 'compute', and there is no compute phase; give {time}"
        return "no messages are exchanged; take more ranks"

    def expected_hits(self, work: ExpectedWork) -> Hits | None:
        if self.begin or self.end is not None:
            return None  # when a step begins differs between ranks
        groups = work.groups(self.shared)
        draws = work.message_draws(groups) if self.during != "compute" else 0.0
        if self.during != "communication" and work.compute:
            draws += groups * work.cycles * work.phases
        return Hits.of_draws(draws, self.table())

    def longest_step_delay(self) -> int:
        return self.likely_ticks()


@frozen_dataclass()
class MessageNoise(DelayNoise, WindowNoise, kind="message"):
    """The way of each message, original, copy or forward, takes longer by an independent draw.

    Parameters
    ----------
    delay : Distribution, float or str
        How much longer; seconds alone are a constant delay.
    probability : float or str
        That a message is delayed at all, from 0 to 1.
    shared : False, "machine", "node", "rack", "level N", another name of a level, or int
        Which receivers share the draw of a round: none, all, or nodes of so many consecutive ranks
        (the last one may have fewer).
    during : "all" or "communication"
        Both give the same, as for `NetworkJitter`.
    begin, end : float or str
        Only messages that leave their sender's CPU from `begin` to before `end` are delayed,
        seconds; all without them.
    hosts : imbalance.Hosts, optional
        The hosts whose messages it delays, those of the receivers; all without it:
        ``imbalance.OnNodes([17], node_ranks=8)``, `OnRanks`, or `OnShare`.

    Raises
    ------
    ValueError
        A parameter out of range; size of nodes when the case is made.

    Examples
    --------
    >>> from jitterfly import Exponential
    >>> MessageNoise(delay=Exponential("1us"), probability=0.01).delay.name
    'exponential, mean 1 µs'
    """

    of_messages: ClassVar[bool] = True

    delay: ConstantOrDrawn
    probability: Probability = Probability(1.0)
    shared: Shared = False
    during: Literal["all", "communication"] = "all"
    begin: Seconds = Seconds(0.0)
    end: OptionalSeconds = OptionalSeconds()
    hosts: HostsField = HostsField()

    def __post_init__(self) -> None:
        self.check_fields()

    def apply(self, program: Any, ranks: int, transit: int, transits: Sequence[int] = ()) -> None:
        program.add_message(delay=self.table().delay(), **self.engine_fields(ranks))

    def why_ineffective(self, work: MaxWork) -> str:
        return "" if work.exchanges else "no messages are exchanged; take more ranks"

    def expected_hits(self, work: ExpectedWork) -> Hits | None:
        if self.begin or self.end is not None:
            return None  # when a message leaves differs between ranks
        groups = work.groups(self.shared)
        return Hits.of_draws(work.message_draws(groups), self.table())

    def longest_message_delay(self, transit: int) -> int:
        return self.likely_ticks()


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
    hosts : imbalance.Hosts, optional
        The hosts that it acts on, all without it: ``imbalance.OnNodes([17], node_ranks=8)``,
        `OnRanks`, or `OnShare`. Draws stay as they are without it.

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
    hosts: HostsField = HostsField()

    def __post_init__(self) -> None:
        self.check_fields()
        check_choice(self.each, "each", ("cycle", "realization"))

    def apply(self, program: Any, ranks: int, transit: int, transits: Sequence[int] = ()) -> None:
        program.add_rank_delay(
            delay=self.table().delay(), **self.engine_fields(ranks), once=self.each == "realization"
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
