"""Delays that are drawn: of each step (`StepNoise`), of messages, lost ones, arrival, weather."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from ..backends import core
from ..distributions import Distribution
from ..distributions.distribution import LARGEST, TWO_64, DelayTable, Probability, thinned
from ..distributions.parametric import Constant, ConstantOrDrawn
from ..fields import Converted, check_choice, frozen_dataclass, is_number, parameter, shorten
from ..syntax import share_of_text
from ..units import (
    TICKS_PER_SECOND,
    OptionalSeconds,
    Seconds,
    from_ticks,
    show_seconds,
    show_ticks,
    to_ticks,
)
from .source import (
    AVERAGED,
    TOO_SLOW,
    DelayNoise,
    ExpectedWork,
    GroupNoise,
    Hits,
    HoldsField,
    HostsField,
    MaxWork,
    Noise,
    Shared,
    WindowNoise,
    spells,
)

LARGEST_PART = 10**6
_PARTS = TICKS_PER_SECOND  # in a table that many ticks stand for a part of 1


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
        Which ranks share their draws: none, all, or nodes of this many consecutive ranks (the last
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


class _Share(Probability):
    """A field of a dataclass for a share, which is shown in percent."""

    def in_words(self, value: float) -> str:
        return f"{100 * value:.6g} %"


@frozen_dataclass()
class MessageNoise(DelayNoise, WindowNoise, kind="message"):
    """The way of each message, original, copy or forward, takes longer by an independent draw.

    A lost message is one that comes later by the timeout after which it is sent again. Losses that
    stay with a link are those to some `links` only, which a draw chooses anew each realization, and
    perhaps anew after some time (`holds`).

    Parameters
    ----------
    delay : Distribution, float or str
        How much longer; seconds alone are a constant delay.
    probability : float or str
        That a message is delayed at all, from 0 to 1.
    links : float or str
        Share of the receivers whose messages are delayed with that probability, from 0 to 1; those
        to the others are not.
    holds : float or str, optional
        For how long that choice of links holds, 10 ns or longer; without it for the realization.
    shared : False, "machine", "node", "rack", "level N", another name of a level, or int
        Which receivers share the draw of a round, and are one of the `links`: none, all, or nodes
        of this many consecutive ranks (the last one may have fewer).
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
        A parameter out of range; size of nodes when the case is made; `holds` where all are links.

    Notes
    -----
    Time is cut into spells as long as `holds`, and the first one began at a random moment. In each
    of them a link is lossy with the probability `links`, whatever it was before. E. N. Gilbert,
    "Capacity of a Burst-Noise Channel", Bell System Technical Journal 39, 1960, has two states,
    too, and a probability of a change.

    Examples
    --------
    >>> from jitterfly import Exponential
    >>> MessageNoise(delay=Exponential("1us"), probability=0.01).delay.name
    'exponential, mean 1 µs'

    One link in 1,000 loses one message in 100, for 10 s; each comes 4 ms later:

    >>> MessageNoise("4ms", 0.01, links=0.001, holds="10s").holds
    10.0
    """

    of_messages: ClassVar[bool] = True
    added: ClassVar[Mapping[str, Any]] = {**Noise.added, "links": 1.0}

    delay: ConstantOrDrawn
    probability: Probability = Probability(1.0)
    shared: Shared = False
    during: Literal["all", "communication"] = "all"
    begin: Seconds = Seconds(0.0)
    end: OptionalSeconds = OptionalSeconds()
    hosts: HostsField = HostsField()
    links: _Share = _Share(1.0)
    holds: HoldsField = HoldsField()

    def __post_init__(self) -> None:
        self.check_fields()
        if self.holds is not None and self.links == 1:
            raise ValueError("holds must come with links below 1, for it says how long they stay")

    def table(self) -> DelayTable:
        """The delay of a message to one of the links, as integers."""
        return thinned(self.delay, self.probability if self.links else 0.0)

    @property
    def random(self) -> bool:
        return self.links < 1 or super().random

    def part_of_groups(self, ranks: int) -> float:
        return self.links * super().part_of_groups(ranks)

    def engine_fields(self, ranks: int) -> dict[str, Any]:
        fields = super().engine_fields(ranks)
        if self.lossy:
            fields["links"] = self.links_threshold()
            fields["holds"] = to_ticks(self.holds or 0.0)
        return fields

    @property
    def lossy(self) -> bool:
        """Return whether messages to some links alone are delayed."""
        return 0 < self.links < 1

    def links_threshold(self) -> int:
        """The share of links as the engine takes it, 2^64 times."""
        return max(int(self.links * TWO_64), 1)

    def apply(self, program: Any, ranks: int, transit: int, transits: Sequence[int] = ()) -> None:
        program.add_message(delay=self.table().delay(), **self.engine_fields(ranks))

    def why_ineffective(self, work: MaxWork) -> str:
        return "" if work.exchanges else "no messages are exchanged; take more ranks"

    def expected_hits(self, work: ExpectedWork) -> Hits | None:
        if self.begin or self.end is not None:
            return None  # when a message leaves differs between ranks
        groups = work.groups(self.shared)
        hits = Hits.of_draws(work.message_draws(groups), self.table())
        if not self.lossy or not hits.number:
            return hits
        # Those to one link come together: they are one, as long as it stays as it is.
        links = groups * spells(self.holds, work)
        lost = hits.number / links
        any_lost = -math.expm1(-lost)
        return Hits(links * any_lost, hits.delay * lost / any_lost, once=self.holds is None)

    def longest_message_delay(self, transit: int) -> int:
        return self.likely_ticks() if self.links else 0


class _DelayOrNone(ConstantOrDrawn):
    """A field for a delay that may be left out."""

    def __init__(self) -> None:
        Converted.__init__(self, "Distribution | float | str | None", None)  # type: ignore[arg-type]

    def __set__(self, instance: object, value: Any) -> None:
        if value is None:
            instance.__dict__[self._name] = None
        else:
            super().__set__(instance, value)


class _PartOrNone(_DelayOrNone):
    """The same of a part of a time, where a number stands for itself."""

    unit = ""
    _short = False

    def __set__(self, instance: object, value: Any) -> None:
        if value is not None and not isinstance(value, (Distribution, Mapping)):
            part = share_of_text(value) if isinstance(value, str) else value
            if not (is_number(part) and 0 < part <= LARGEST_PART):
                raise ValueError(
                    f"{self._name} must be a part above 0, up to 10^6, such as 0.2 or 20%, got "
                    f"{shorten(value)} (in {self._owner})"
                )
            value = float(part)
        super().__set__(instance, value)

    def in_words(self, value: Distribution) -> str:
        part = f"{100 * value.value:,.6g} %" if isinstance(value, Constant) else ""
        return part or super().in_words(value)


@frozen_dataclass()
class NetworkWeather(GroupNoise, kind="weather"):
    """A network that is slower by one draw for all messages of a realization.

    Other jobs load a network for longer than a collective takes: it is slower in one run than in
    another, and equally slow for all messages of a run. The network of a case is that of fair
    weather. For how long a message occupies the links of its ranks stays as it is. With `holds` the
    weather changes within a run: there is a new draw after each such time.

    Parameters
    ----------
    delay : Distribution, float or str, optional
        How much longer each message takes, seconds.
    longer : Distribution, float or str, optional
        In its place: how much longer, as a part of the time that a message is on its way without
        noise, L + (n - 1) G of `LogGOPS`: 0.2, or "20%". In a distribution one second stands for 1:
        ``Lognormal(median=0.5, sigma=1)``. Up to 10^6.
    probability : float or str
        That there is weather at all, from 0 to 1; else that of the network.
    shared : "machine", False, "node", "rack", "level N", another name of a level, or int
        Which receivers have the same weather: all, each its own, or nodes of this many consecutive
        ranks.
    hosts : imbalance.Hosts, optional
        The hosts that messages take longer to; all without it.
    holds : float or str, optional
        For how long a draw holds, 10 ns or longer; without it for the realization.

    Raises
    ------
    ValueError
        Not one of delay and longer; a parameter out of range; when the case is made, size of nodes,
        or a message that may take 2^60 ps (13 days) longer.

    Notes
    -----
    Messages within a node take longer, too, and so do copies and forwards. Requests of copies on
    demand do not, as for `MessageNoise`.

    Time is cut into spells as long as `holds`; the first one began at a random moment, so that
    no moment of a run is special. A message has the weather of the spell in which
    it leaves its sender's CPU. Draws of two spells are independent. Weather that changes fast and
    slowly is several sources. A message whose way is longer than `holds` does not average over
    several draws of `longer`: a `UnseenChangeWarning`, or a note above the numbers, says so.

    Examples
    --------
    A message is on its way for 1 µs, and so do six rounds in turn:

    >>> import jitterfly as jf
    >>> noise = [NetworkWeather(longer=jf.Exponential(0.5))]
    >>> case = jf.Case(64, network=jf.Hockney(alpha="1us", beta=0), noise=noise)
    >>> result = jf.simulate(case, realizations=2000, seed=1)
    >>> bool(8.5e-6 < result.samples.mean() < 9.5e-6)
    True
    """

    most: ClassVar[int] = 8
    no_effect: ClassVar[Mapping[str, Any]] = {"probability": 0.0}

    delay: _DelayOrNone = _DelayOrNone()
    longer: _PartOrNone = _PartOrNone()
    probability: Probability = Probability(1.0)
    shared: Shared = "machine"
    hosts: HostsField = HostsField()
    holds: HoldsField = HoldsField()

    def __post_init__(self) -> None:
        self.check_fields()
        if (self.delay is None) == (self.longer is None):
            raise ValueError(
                "delay or longer must be given, and one of them only (in NetworkWeather)"
            )

    @property
    def _drawn(self) -> Distribution:
        drawn = self.longer if self.delay is None else self.delay
        assert drawn is not None
        return drawn

    def table(self) -> DelayTable:
        """The delay, or the part in 10^-12, as integers."""
        return thinned(self._drawn, self.probability)

    def check(self, ranks: int, transit: int) -> None:
        super().check(ranks, transit)
        if self.longer is not None and transit * self.longer.longest_ticks() >= LARGEST * _PARTS:
            raise ValueError(
                "longer must leave each message less than 13 days (2^60 ps) longer, one takes "
                f"{show_ticks(transit)}: cut the tail with longest (in NetworkWeather)"
            )

    def apply(self, program: Any, ranks: int, transit: int, transits: Sequence[int] = ()) -> None:
        delay, fields = self.table().delay(), self.engine_fields(ranks)
        fields["holds"] = to_ticks(self.holds or 0.0)
        if self.longer is None:
            program.add_weather(delay=delay, **fields)
            return
        for cost, way in enumerate((transit, *transits), -1):
            # A message that takes no time takes none longer.
            part = delay if way else core.Delay.constant(0)
            program.add_weather(delay=part, way=way or 1, cost=cost, **fields)

    def of_way(self, drawn: int, transit: int) -> int:
        """Return what a draw adds to a message that is on its way for `transit` ticks."""
        if self.longer is None:
            return drawn
        # As cuda/noise/factor.h: a fixed-point number, and the product to the nearest tick.
        factor = drawn * -(-(2**96) // _PARTS) >> 64
        return (transit * factor + 2**31) >> 32

    @property
    def random(self) -> bool:
        return self.probability < 1 or not isinstance(self._drawn, Constant)

    def why_ineffective(self, work: MaxWork) -> str:
        if not work.exchanges:
            return "no messages are exchanged; take more ranks"
        if self.longer is not None and not work.transit:
            return "messages take no time; give the network's latency"
        return ""

    def expected_hits(self, work: ExpectedWork) -> Hits | None:
        """The weathers of a realization; each delays all messages on a path, one in each round."""
        once = Hits.of_draws(work.groups(self.shared), self.table())
        times = 0.0
        for _, repeated, transit in work.rounds:
            if self.longer is not None and transit is None:
                return None
            times += repeated * (1.0 if self.longer is None else (transit or 0) / _PARTS)
        spelled = spells(self.holds, work)
        each = once.delay * work.cycles * times / spelled
        return Hits(once.number * spelled, each, once=self.holds is None)

    def unseen_change(self, work: MaxWork) -> str:
        # A `delay` is of a message as a whole, whatever its way; `longer` is of all of the way.
        drawn = self.longer is not None and self.random and self.probability > 0
        if self.holds is None or not drawn or work.transit <= to_ticks(self.holds):
            return ""
        return (
            f"{TOO_SLOW}: holds = {show_seconds(self.holds)} is shorter than the way of a message, "
            f"which takes up to {show_seconds(float(from_ticks(work.transit)))} and keeps the "
            f"weather in which it leaves; {AVERAGED}"
        )

    def longest_message_delay(self, transit: int) -> int:
        return self._added(self._drawn.likely_ticks(), transit)

    def longest_ever(self, transit: int) -> int:
        """The longest delay of a message that takes `transit` ticks, which is never exceeded."""
        return self._added(self._drawn.longest_ticks(), transit)

    def _added(self, drawn: int, transit: int) -> int:
        if self.probability == 0:
            return 0
        return drawn if self.longer is None else -(-transit * drawn // _PARTS)


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
        Which ranks share their draws: none, all, or nodes of this many consecutive ranks (the last
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
