"""Base class `Noise`: expected hits of a source, draws that nodes share, windows, checks.

And what sources have in common: which ranks share the draws of one, when it acts, and times that
the user gives for every rank.
"""

from __future__ import annotations

import math
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ..distributions import Distribution, Empirical
from ..distributions.distribution import TWO_64, DelayTable, thinned
from ..distributions.parametric import Bernoulli, Constant, ExponentialOrDrawn
from ..fields import (
    Component,
    Converted,
    IntOrText,
    check_choice,
    check_integer,
    check_numbers,
    frozen_dataclass,
    parameter,
    shorten,
)
from ..imbalance import Hosts
from ..syntax import read_noise, read_part
from ..units import TICKS_PER_SECOND, OptionalSeconds, Time, array_to_ticks, show_ticks, to_ticks

MAX_OF_A_KIND = 256
NO_HOSTS = "hosts has drawn none"
MAX_BURSTS = 2**30  # of a rank: their draws are numbered
# Of work, or a message, that is longer than its draw holds. One draw in place of a mean of several
# has the same mean, and varies more: so the later of two is later.
TOO_SLOW = "the slowest is too slow, and the true slowdown smaller"
AVERAGED = "on a machine its changes average out"

Shared = IntOrText | bool
"""False: each rank has its own draws; "machine"; a level of a `Hierarchy`, by its name or as
"level N"; or this many consecutive ranks share them."""


class MaxWork(NamedTuple):
    """The work that noise can hit in one cycle of a rank; times in ticks.

    Attributes
    ----------
    compute : int
        CPU work of the compute phase.
    communication : int
        CPU work of the collective.
    transit : int
        How long a message is on its way; 0 where there is none.
    exchanges : int
        How many messages the rank takes, without those of forwards.
    remedy : str
        What would give the collective CPU work, for warnings that it has none.
    combining : int
        The longest time in which a message is combined.
    """

    compute: int
    communication: int
    transit: int
    exchanges: int = 0
    remedy: str = ""
    combining: int = 0


class ExpectedWork(NamedTuple):
    """A summary of what noise meets in one realization of a case; times in ticks.

    Attributes
    ----------
    ranks, cycles : int
    duration : float
        How long the realization lasts, on average.
    compute : float
        CPU time of a rank's compute phases, on average over the ranks.
    work : float
        CPU time of a rank's messages, on average over the ranks.
    stretches : float
        Into how many stretches waiting may cut that work, on average over the ranks.
    rounds : tuple of (int, float, int or None)
        Of each step of a cycle that has messages: messages sent (and taken) at a time, how often in
        a row, and their way. None: their ways differ.
    combining : float
        Time of a rank to combine, at most.
    phases : float
        Compute phases of a rank in a cycle, on average over the ranks.
    """

    ranks: int
    cycles: int
    duration: float
    compute: float
    work: float
    stretches: float
    rounds: tuple[tuple[int, float, int | None], ...]
    combining: float = 0.0
    phases: float = 1.0

    def groups(self, shared: Shared) -> int:
        """The number of groups of ranks that have draws of their own."""
        return -(-self.ranks // node_ranks(shared, self.ranks))

    def message_draws(self, groups: int) -> float:
        """The number of draws of all messages, if `groups` groups of receivers have their own."""
        return self.cycles * float(sum(min(groups, n) * times for n, times, _ in self.rounds))

    def time_to_hit(self, source: Any, interval: float, *, underway: bool) -> float:
        """The mean length of time in which one interval begins that hits work of a group.

        Parameters
        ----------
        source : Noise
            With `shared`, `during`, `begin` and `end`.
        interval : float
            How long one is. It hits work that it begins in, or up to so long before. Those that
            are under way when work begins are long ones: see `Hits.under_way`.
        underway : bool
            Whether one may be under way at the start.
        """
        sharing = node_ranks(source.shared, self.ranks)
        work = stretches = start = 0.0
        limit = self.duration
        if source.during != "communication":
            work, stretches = self.compute, self.cycles * self.phases if self.compute else 0.0
        elif self.compute:
            limit = max(self.duration - self.compute, 0.0)
            start = self.compute / (self.cycles * self.phases)
        if source.during != "compute":
            work += sharing * self.work
            stretches += sharing * self.stretches
        begin = to_ticks(source.begin)
        end = self.duration if source.end is None else min(to_ticks(source.end), self.duration)
        limit = min(limit, end - begin)
        if limit <= 0:
            return 0.0
        before = interval if underway else min(interval, max(start, begin))
        return min(limit, work + max(stretches - 1, 0.0) * interval) + before


class Hits(NamedTuple):
    """The expected hits of a source in a realization, and how long one delays, in ticks.

    Where several ranks share a draw it is one hit. `delay` is the mean over the hits. Of intervals
    whose durations vary it is longer than the mean duration: see `under_way`.
    `once`: it is drawn once in a realization, and a hit delays all of its cycles.
    """

    number: float
    delay: float
    once: bool = False

    def in_part(self, share: float) -> Hits:
        """The hits within a part of the run, or what they delay in it."""
        if self.once:
            return self._replace(delay=share * self.delay)
        return self._replace(number=share * self.number)

    @classmethod
    def of_draws(cls, draws: float, table: DelayTable) -> Hits:
        """Make hits of `draws` draws of a delay, some of which are 0."""
        chance = table.positive()
        return cls(draws * chance, table.mean() / chance if chance else 0.0)

    def under_way(self, intervals: Callable[[float], float], mean: float, left: float) -> Hits:
        """Return the hits with the delay of intervals that can be under way when work begins.

        Long intervals are under way more often than they begin. Of a duration D, what is left of
        one that is under way lasts E[D^2] / (2 E[D]) on average (Cox, Renewal Theory, ch. 5), which
        is more than E[D] where D varies by more than its mean.

        Parameters
        ----------
        intervals : callable
            How many intervals may hit, of how long before work begins they may (`time_to_hit`).
        mean, left : float
            E[D], and E[D^2] / (2 E[D]), in ticks.
        """
        if left <= mean or not self.number:
            return self
        return self._replace(delay=intervals(left) * mean / self.number)

    @property
    def most(self) -> float:
        """The sum of all delays: about what they add to the mean completion at most.

        A path from the start to the last rank is at one rank at a time, so that a hit delays it by
        no more than it lasts, also where ranks share it. "About": a delay may push work into
        another source's intervals.
        """
        return self.number * self.delay


_RATE = (
    "100 a second are kind=periodic,period=10ms, or at random "
    "kind=renewal,gap=exponential(mean=10ms)"
)


class Noise(Component, ABC):
    """Base of all noise sources; of those of intervals by way of `IntervalNoise`.

    `added`: fields that are younger than records on disk, with their values as it was before.
    `most`: how many of its kind a case may have. `no_effect`: fields with which one draws as
    before and changes nothing; none where there are no such. What methods `longest_...` give in
    ticks are upper bounds, exceeded once in 10^12 times at most.
    """

    goes_to = "It is the `noise` of `Case` and of all questions, alone or in a list"
    example = "jf.slowdown({}, ranks=64)"

    added: ClassVar[Mapping[str, Any]] = {"begin": 0.0, "shared": False}
    most: ClassVar[int] = MAX_OF_A_KIND
    no_effect: ClassVar[Mapping[str, Any]] = {}
    other_words: ClassVar[Mapping[str, str]] = dict.fromkeys(("rate", "frequency"), _RATE)

    @classmethod
    def no_effect_of(cls, kind: str) -> Mapping[str, Any]:
        """The `no_effect` of a kind; empty for an unknown kind."""
        member = cls._kinds.get(kind)
        return member.no_effect if member else {}  # type: ignore[attr-defined]

    @abstractmethod
    def apply(self, program: Any, ranks: int, transit: int, transits: Sequence[int] = ()) -> None:
        """Put this noise into an engine program (``core.Program``).

        `transit`: ticks that a message of the butterfly, or a forward, is on its way; `transits`:
        the same for each entry of the program's table of messages.
        """

    def check(self, ranks: int, transit: int) -> None:
        """Raise ValueError if it does not fit the ranks, or messages of up to `transit` ticks."""

    def check_length(self, longest: int) -> None:
        """Raise ValueError if it does not fit a case that may last for `longest` ticks."""

    @abstractmethod
    def why_ineffective(self, work: MaxWork) -> str:
        """Say why this noise can hit nothing, and what would change that; "" where it can."""

    def unused_part(self, ranks: int) -> str:
        """Say which part of the source no rank uses, such as recordings that none replays."""
        return ""

    def acts_on_any(self, ranks: int) -> bool:
        """Return whether it acts on any of the ranks: `hosts` may have drawn none of them."""
        return True

    def can_delay(self, work: MaxWork, ranks: int) -> bool:
        """Return whether it can delay any of the work on any of the ranks."""
        if not self.acts_on_any(ranks):
            return False
        return self.longest_effect(work) > 0 and not self.why_ineffective(work)

    def part_of_groups(self, ranks: int) -> float:
        """The share of groups that it acts on; a group is the ranks that share draws.

        Of one that is on and off by turns also the part of the time for which it is on.
        """
        return 1.0

    @property
    def random(self) -> bool:
        """Return whether anything of it is drawn, so that realizations differ."""
        return True

    @property
    def draws_each(self) -> tuple[str, ...]:
        """The things that have draws of their own: each "message", "cycle", or round of messages
        ("load").
        """
        return ()

    def share(self) -> float:
        """The part of the time for which its intervals take the CPU, where they act, on average."""
        return 0.0

    def largest_share(self) -> float:
        """The `share` of the rank that has least time; others may have more."""
        return self.share()

    def intervals_in(self, ticks: int) -> float:
        """The approximate number of intervals in a time of `ticks`."""
        return 0.0

    def expected_hits(self, work: ExpectedWork) -> Hits | None:
        """The approximate hits in a realization; None where no simple formula gives them.

        As if it acted on all hosts: of some hosts it is the `part_of_groups` of them.
        """
        return None

    def longest_delay(self, work: int) -> int:
        """The longest delay of `work` ticks of CPU work by intervals, in ticks."""
        return 0

    def longest_step_delay(self) -> int:
        """The most ticks that are added to the work of a step."""
        return 0

    def longest_arrival(self) -> int:
        """The most ticks by which a rank may begin a cycle late."""
        return 0

    def duration_at_start(self) -> float:
        """Return how long an interval under way at the start lasts, seconds; 0: there is none.

        A recording gives its longest interval. Drawn durations D give the mean of those under way,
        E[D^2] / E[D]: long ones are more often.
        """
        return 0.0

    def doubts(self, ranks: int, work: float, cycles: int = 1) -> list[str]:
        """List, in words, what a user must know of a recording before trusting its tail.

        `work` is for how many seconds of CPU time a rank meets it in a cycle.
        """
        return []

    def unseen_change(self, work: MaxWork) -> str:
        """Say of what piece of that work a draw that changes is taken once; "" where of none."""
        return ""

    @property
    def slows(self) -> bool:
        """Return whether this noise changes how fast ranks compute and combine."""
        return False

    @property
    def hastens(self) -> bool:
        """Return whether anything can take less time with this noise than without it."""
        return False

    def longest_slowed(self, work: int, *, ever: bool = False) -> int:
        """The longest time for a rank to compute or combine `work` ticks at its usual speed.

        With `ever` the bound is never exceeded.
        """
        return work

    def lookahead(self) -> int:
        """The ticks by which the engine may look beyond the time reached so far."""
        return 0

    def longest_message_delay(self, transit: int) -> int:
        """The longest delay of a message that takes `transit` ticks, in ticks."""
        return 0

    def longest_wait(self, load: int) -> int:
        """The longest wait of a message for others that each need a link for `load` ticks."""
        return 0

    def longest_effect(self, work: MaxWork) -> int:
        """The longest delay of anything in that work, in ticks; at least 1 if it changes speeds."""
        return max(
            self.longest_delay(1),
            self.longest_arrival(),
            self.longest_step_delay(),
            self.longest_message_delay(work.transit or 1),
            self.longest_wait(1),
            int(self.slows),
        )

    def identity(self) -> dict[str, Any]:
        """The plain values that decide the results."""
        values: dict[str, Any] = content_of(self.to_dict())
        for name, default in self.added.items():
            if name in values and values[name] == default:
                del values[name]
        return values


_Part = TypeVar("_Part", bound=Component)


class PartField(Converted[_Part | Mapping[str, Any] | None, _Part | None]):
    """A field of a dataclass for a part of a source, such as its hosts, or a table of it; or None.

    Subclasses say what it is: its base class, and how one is written.
    """

    base: ClassVar[type[Component]]
    example: ClassVar[str]

    def __init__(self) -> None:
        super().__init__(f"{self.base.__name__} | None", None)

    def __set__(self, instance: object, value: _Part | Mapping[str, Any] | str | None) -> None:
        part: Any = value
        if isinstance(value, str) and value.rstrip().endswith(")"):  # as on a command line
            value = read_part(value, self._name)
        if isinstance(value, Mapping):
            part = self.base.from_dict(value, self._name)
        elif value is not None and not isinstance(value, self.base):
            raise ValueError(
                f"{self._name} must be {self.example}, got {shorten(value)} "
                f"(in {type(instance).__name__})"
            )
        super().__set__(instance, part)


class HostsField(PartField[Hosts]):
    """A field of a dataclass for the `Hosts` that a source is limited to; None: it acts on all."""

    base = Hosts
    example = "Hosts such as imbalance.OnNodes([17]), as text nodes(nodes=17)"


_SHORTEST_HOLD = 10_000  # ticks: the engine numbers the draws (cuda/noise/spells.h)


class HoldsField(OptionalSeconds):
    """A field of a dataclass for how long a draw holds, seconds; None: for the realization."""

    def __set__(self, instance: object, value: Time | None) -> None:
        super().__set__(instance, value)
        seconds = instance.__dict__[self._name]
        if seconds is not None and to_ticks(seconds) < _SHORTEST_HOLD:
            raise ValueError(
                f"{self._name} must be 10 ns or longer, got {shorten(value)} (in {self._owner})"
            )


def spells(holds: float | None, work: ExpectedWork) -> float:
    """Return in how many spells, each with a draw of its own, a realization lies on average."""
    return 1.0 if holds is None else 1.0 + work.duration / to_ticks(holds)


NoiseOrText = str | Path | Noise | Sequence[Noise | str | Path]
"""What is taken where noise is asked for: one source or several, each of which may be text."""


class GroupNoise(Noise):
    """Base of sources whose draws groups of ranks may share.

    `shared` and `hosts` are fields of each kind.
    """

    shared: Shared
    hosts: Any  # Hosts, or None

    def check_fields(self) -> None:
        """Check the fields that kinds have in common, when one is made."""
        object.__setattr__(self, "shared", check_shared(self.shared))

    def check(self, ranks: int, transit: int) -> None:
        self.acts_on(ranks)

    def acts_on_any(self, ranks: int) -> bool:
        acts = self.acts_on(ranks)
        return acts is None or bool(acts.any())

    def acts_on(self, ranks: int) -> npt.NDArray[np.bool_] | None:
        """Return a flag for each rank, shape (ranks,): does it act there? None: on all."""
        if self.hosts is None:
            return None
        try:
            return _acts_on(self.hosts, ranks)
        except ValueError as error:
            raise ValueError(f"noise: {error}") from None

    def groups_acted_on(self, ranks: int) -> int:
        """The number of groups that it acts on; a group is the ranks that share draws."""
        width = node_ranks(self.shared, ranks)
        acts = self.acts_on(ranks)
        if acts is None:
            return -(-ranks // width)
        return len(np.unique(np.flatnonzero(acts) // width))

    def part_of_groups(self, ranks: int) -> float:
        return self.groups_acted_on(ranks) / -(-ranks // node_ranks(self.shared, ranks))

    def unused_part(self, ranks: int) -> str:
        if self.acts_on_any(ranks):
            return ""
        return f"{NO_HOSTS} of the {ranks} ranks, so it is without effect"

    def engine_fields(self, ranks: int) -> dict[str, Any]:
        """The fields as the engine takes them."""
        fields: dict[str, Any] = {"node_ranks": node_ranks(self.shared, ranks)}
        if self.hosts is not None:
            fields["hosts"] = self.acts_on(ranks)
        return fields


class DelayNoise(GroupNoise):
    """Base of sources that draw a delay, which is there with a probability only.

    `delay` and `probability` are fields of each kind.
    """

    delay: Any  # a distribution
    probability: Any
    no_effect: ClassVar[Mapping[str, Any]] = {"probability": 0.0}

    def table(self) -> DelayTable:
        """The delay, as integers."""
        return thinned(self.delay, self.probability)

    @property
    def random(self) -> bool:
        return self.probability < 1 or not isinstance(self.delay, Constant)

    def likely_ticks(self) -> int:
        """A delay that is hardly ever exceeded: once in 10^12 draws."""
        return 0 if self.probability == 0 else self.delay.likely_ticks()


class WindowNoise(GroupNoise):
    """Base of sources that act in a window of time, perhaps in a phase of the cycle alone.

    `during`, `begin` and `end` are fields of each kind. `of_messages`: what it delays are messages
    on their way, which there are in one phase only.
    """

    during: Any
    begin: Any  # seconds
    end: Any  # seconds, or None
    of_messages: ClassVar[bool] = False

    def check_fields(self) -> None:
        phases = ["all", "compute", "communication"]
        if self.of_messages:
            if isinstance(self.during, str) and self.during == "compute":
                raise ValueError(
                    f"during must be 'all' or 'communication' for {type(self).__name__}, got "
                    "'compute': no messages are sent in the compute phase"
                )
            phases.remove("compute")
        check_choice(self.during, "during", phases)
        to_ticks(self.begin, "begin")
        if self.end is not None and to_ticks(self.end) <= to_ticks(self.begin):
            raise ValueError(f"end must be above begin = {self.begin} s, got {self.end}")
        super().check_fields()

    @property
    def draws_each(self) -> tuple[str, ...]:
        return ("message",) if self.of_messages else ()

    def engine_fields(self, ranks: int) -> dict[str, Any]:
        fields = super().engine_fields(ranks) | engine_window(self.begin, self.end)
        if not self.of_messages:
            fields["in_compute"] = self.during != "communication"
            fields["in_communication"] = self.during != "compute"
        return fields


def busy_threshold(busy: Distribution, idle: Distribution) -> int:
    """``2**64 * P(busy at time 0)`` of an alternating process, of the means of its tables."""
    lasts, between = busy.mean_ticks(), idle.mean_ticks()
    # 24 significant bits, as in tables: the order of a sum of floats decides nothing.
    scaled, power = math.frexp(lasts / (lasts + between))
    return min(round(scaled * 2**24) * TWO_64 >> (24 - power), TWO_64 - 1)


def found_at_random(busy: Distribution, idle: Distribution) -> tuple[int, Any, Any]:
    """The engine's start of an alternating process that is found at a random moment.

    2^64 P(busy), what is left of a busy time, and of an idle one: Cox, Renewal Theory, ch. 5.
    """
    # A duration of 0 is never met, so what would be left of it does not matter.
    met = busy if busy.mean_ticks() > 0 else idle
    return busy_threshold(busy, idle), met.residual().delay(), idle.residual().delay()


class Bursts(Component, ABC):
    """Base of what turns a source of intervals on and off."""

    goes_to = "It is the `bursts` of a source of interruptions"
    example = 'jf.PeriodicNoise("1ms", "10us", bursts={})'

    shared: Any

    @abstractmethod
    def on_share(self) -> float:
        """The part of the time for which the source is on, on average."""

    @abstractmethod
    def engine_fields(self, ranks: int) -> tuple[Any, ...]:
        """Times on, times off, their start and ranks that share them, as the engine takes them."""

    @abstractmethod
    def mean_cycle(self) -> float:
        """The mean length of a time on and a time off together, in ticks."""

    @abstractmethod
    def lookahead(self) -> int:
        """The ticks that a time on and a time off last together, exceeded once in 10^12 times."""


@frozen_dataclass()
class OnOff(Bursts, kind="onoff"):
    """A source that is on and off by turns, for times that are drawn: a two-state process.

    Its intervals are cut to the times for which it is on. The start is stationary: time 0 is a
    random moment, in a time on with the probability E[on] / (E[on] + E[off]).

    Parameters
    ----------
    on, off : Distribution, float or str
        How long it is on, and off; seconds alone are the mean of exponential times.
    shared : "machine", False or int
        Which ranks are on at the same times: all, each its own, or nodes of this many consecutive
        ranks.

    Raises
    ------
    ValueError
        A parameter out of range, a mean that is 0 or infinite, or times off that are drawn from
        single values.

    Notes
    -----
    With exponential times it is the modulation of an interrupted Poisson process: Fischer,
    Meier-Hellstern, "The Markov-modulated Poisson process (MMPP) cookbook", Performance Evaluation
    18, 1993.

    Examples
    --------
    >>> OnOff(on="1s", off="9s").on_share()
    0.1
    """

    on: ExponentialOrDrawn
    off: ExponentialOrDrawn
    shared: Shared = "machine"

    def __post_init__(self) -> None:
        shared = check_shared(self.shared, "shared of bursts", levels=False)
        object.__setattr__(self, "shared", shared)
        for name in ("on", "off"):
            mean = getattr(self, name).expected()
            if not (getattr(self, name).mean_ticks() > 0 and math.isfinite(mean)):
                raise ValueError(f"{name} of bursts must have a finite mean above 0")
        if isinstance(self.off, (Constant, Bernoulli, Empirical)):
            # Times of few values may never meet a source that is as regular: a search without end.
            raise ValueError(
                "off of bursts must be drawn from a curve such as exponential, not from single "
                f"times, got {shorten(self.off)}"
            )

    def on_share(self) -> float:
        on, off = self.on.expected(), self.off.expected()
        return on / (on + off)

    def engine_fields(self, ranks: int) -> tuple[Any, ...]:
        start = found_at_random(self.on, self.off)
        return self.on.table(), self.off.table(), start, node_ranks(self.shared, ranks)

    def mean_cycle(self) -> float:
        return self.on.mean_ticks() + self.off.mean_ticks()

    def lookahead(self) -> int:
        return self.on.likely_ticks() + self.off.likely_ticks()


class BurstsField(PartField[Bursts]):
    """A field of a dataclass for what turns a source on and off; None: it is always on."""

    base = Bursts
    example = "an OnOff such as OnOff(on='1s', off='9s'), as text onoff(on=1s,off=9s)"


class IntervalNoise(WindowNoise):
    """Base of sources of intervals in which the CPU is away.

    `bursts` is a field of each kind.

    Checks of a case rest on what they say of their intervals. So each has to say it.
    `skips_periods`: the engine need not go through all of them one by one.
    """

    skips_periods: ClassVar[bool] = False
    bursts: Any  # Bursts, or None

    def engine_fields(self, ranks: int) -> dict[str, Any]:
        fields = super().engine_fields(ranks)
        if self.bursts is not None:
            fields["bursts"] = self.bursts.engine_fields(ranks)
        return fields

    def check_length(self, longest: int) -> None:
        if self.bursts is not None and longest / self.bursts.mean_cycle() > MAX_BURSTS:
            raise ValueError(
                f"bursts must be longer: the case may last {show_ticks(longest)}, and on and off "
                f"take {self.bursts.mean_cycle() / TICKS_PER_SECOND:.3g} s together "
                f"(in {type(self).__name__})"
            )

    def bursts_lookahead(self) -> int:
        """The ticks by which the engine may look ahead for an interval in a time on."""
        return 0 if self.bursts is None else 4 * self.bursts.lookahead()

    def part_of_groups(self, ranks: int) -> float:
        on = 1.0 if self.bursts is None else self.bursts.on_share()
        return on * super().part_of_groups(ranks)

    def why_ineffective(self, work: MaxWork) -> str:
        time = parameter("compute_time")
        if self.during == "compute":
            none = f"during = 'compute', and there is no compute phase; give {time}"
            return "" if work.compute else none
        if work.communication or (work.compute and self.during == "all"):
            return ""
        if self.during == "all":
            return f"the CPU does no work; give {work.remedy} or {time}"
        return f"the CPU does no work in the communication phase; give {work.remedy}"

    @abstractmethod
    def share(self) -> float: ...

    @abstractmethod
    def intervals_in(self, ticks: int) -> float: ...

    def intervals_of_work(self, ticks: int) -> float:
        """The approximate number of intervals that work of `ticks` meets within the window."""
        if self.end is not None:
            ticks = min(ticks, to_ticks(self.end) - to_ticks(self.begin))
        return self.intervals_in(ticks)

    @abstractmethod
    def expected_hits(self, work: ExpectedWork) -> Hits | None: ...

    @abstractmethod
    def longest_delay(self, work: int) -> int: ...

    @abstractmethod
    def duration_at_start(self) -> float: ...

    @abstractmethod
    def lookahead(self) -> int: ...


@lru_cache(maxsize=16)
def _acts_on(hosts: Hosts, ranks: int) -> npt.NDArray[np.bool_]:
    """Return whether each rank is of the hosts; kept, as every estimate asks."""
    found = hosts.acts_on(ranks)
    found.setflags(write=False)
    return found


def content_of(value: Any) -> Any:
    """A table without the names of files, which their content identifies."""
    if isinstance(value, Mapping):
        named = "sha256" in value
        return {k: content_of(v) for k, v in value.items() if not (named and k == "file")}
    if isinstance(value, list) and any(isinstance(one, Mapping) for one in value):
        return [content_of(one) for one in value]
    return value


def name_in_case(place: int, kind: str) -> str:
    """A source in messages and tables, by its place in ``case.noise``: `noise.1 (step)`."""
    return f"noise.{place} ({kind})"


def check_sources(values: Any) -> tuple[Noise, ...]:
    """Check the noise of a case, any number of sources of any kinds, and return the sources.

    Raises
    ------
    ValueError
        Something else is among them, or they leave the CPU no time.
    """
    rule = "noise must be a list of sources such as PeriodicNoise(...)"
    if isinstance(values, (str, os.PathLike, Noise)):
        values = [values]
    if isinstance(values, (bytes, Mapping)):
        raise ValueError(f"{rule}, got {shorten(values)}")
    try:
        sources = tuple(values)
    except TypeError:  # nothing to go through
        raise ValueError(f"{rule}, got {shorten(values)}") from None
    kinds: dict[str, int] = {}
    sources = tuple(
        Noise.from_dict(read_noise(source, f"noise[{i}]"), f"noise[{i}]")
        if isinstance(source, (str, os.PathLike))
        else source
        for i, source in enumerate(sources)
    )
    for source in sources:
        if not isinstance(source, Noise):
            raise ValueError(f"{rule}, got {shorten(source)}")
        kinds[source.kind] = kinds.get(source.kind, 0) + 1
        if kinds[source.kind] > source.most:
            name = type(source).__name__
            raise ValueError(f"noise must hold at most {source.most} of {name}")
    _check_share(sources)
    return sources


def _check_share(sources: Sequence[Noise]) -> None:
    """Raise ValueError if intervals may take all of the CPU, so that no work would ever end."""
    for phase in ("compute", "communication"):
        acting = [
            s.largest_share() for s in sources if getattr(s, "during", "all") in ("all", phase)
        ]
        shares = [share for share in acting if share > 0]
        if len(shares) > 1 and sum(shares) >= 1:
            told = " + ".join(f"{share:.3g}" for share in shares)
            raise ValueError(
                f"noise: its sources must take less than all of the CPU together, they take {told} "
                f"of the {phase} phase"
            )


def longest_work(sources: Sequence[Noise], work: int) -> int:
    """The longest time of `work` ticks of CPU work under all sources, if they are independent."""
    total = work + sum(source.longest_step_delay() for source in sources)
    for source in sources:
        total += source.longest_delay(total)
    return total


MAX_WALKED = 2**30  # intervals of a rank: about 10 s


def check_walks(sources: Sequence[Noise], compute: int, communication: int) -> None:
    """Raise ValueError where a rank's work meets so many intervals that the run would hardly end.

    The engine goes through them one by one. But it skips whole periods of a periodic source in
    which no interval of another one begins: that with the shortest period costs nothing. (Those
    that are numbered, and gone through while a rank waits, `check_length` counts.) On a CPU it
    passes many intervals of a recording at once, too, but not where it explains each of them.

    Parameters
    ----------
    sources : sequence of Noise
    compute, communication : int
        CPU work of a rank in a realization, in ticks.
    """
    for phase, own in (("compute", compute), ("communication", communication)):
        acting = [
            (place, source)
            for place, source in enumerate(sources)
            if isinstance(source, IntervalNoise) and source.during in ("all", phase)
        ]
        work = longest_work([source for _, source in acting], own)
        counts = {place: source.intervals_of_work(work) for place, source in acting}
        periodic = [
            place for place, source in acting if source.skips_periods and source.bursts is None
        ]
        if periodic:
            del counts[max(periodic, key=lambda place: counts[place])]
        for place, count in counts.items():
            if count > MAX_WALKED:
                raise ValueError(
                    f"noise: {name_in_case(place, sources[place].kind)} has about {count:.3g} "
                    f"intervals in the {show_ticks(own)} of CPU work of a rank ({phase}), and at "
                    f"most {MAX_WALKED:.3g} can be gone through: lower the work (compute_time, "
                    "cycles, or calc of a schedule), or give fewer or longer intervals"
                )


_LEVEL = re.compile(r"level ?[1-7]|(?!level ?\d)[A-Za-z][A-Za-z0-9_-]{0,39}")

EVER = {"begin": -(2**63), "end": 2**63 - 1}


def check_shared(value: Any, name: str = "shared", *, levels: bool = True) -> Shared:
    """Check for False, "machine", what may be the name of a level, or a number of ranks."""
    words = _LEVEL if levels else re.compile("machine")
    if value is False or (isinstance(value, str) and words.fullmatch(value)):
        return value  # type: ignore[no-any-return]
    rule = f"{name} must be False, 'machine' or the ranks per node, from 1 to 2^30"
    try:
        return check_integer(value, name, 1, 2**30)
    except ValueError:
        also = " (on a Hierarchy also the name of a level, such as 'node', or 'level N')"
        raise ValueError(f"{rule}, got {shorten(value)}{also if levels else ''}") from None


def names_level(shared: Any) -> bool:
    """Return whether a source's `shared` names a level of a machine."""
    return isinstance(shared, str) and shared != "machine"


def node_ranks(shared: Shared, ranks: int) -> int:
    """The number of consecutive ranks that share the draws.

    The last node may have fewer, and fewer ranks than a node has are one node.
    """
    if names_level(shared):
        raise ValueError(
            f"shared must be False, 'machine' or the ranks per node here, got {shorten(shared)}: "
            "how many ranks a level has is known of a Case alone, whose placed_noise has them"
        )
    return ranks if shared == "machine" else min(int(shared or 1), ranks)


def engine_window(begin: float, end: float | None) -> dict[str, int]:
    """The window in ticks, as the engine takes it: without limits where none were given."""
    given = {"begin": to_ticks(begin)} if begin else {}
    return EVER | given | ({} if end is None else {"end": to_ticks(end)})


def check_times_of_ranks(
    values: Any, name: str, below: str, limit: float
) -> npt.NDArray[np.float64]:
    """Check times in seconds, each from 0 to below `limit`, and make a read-only array of them."""
    rule = f"{name} must be an array of times from 0 to below {below} = {limit} s, one per rank"
    raw = check_numbers(values, rule)
    if raw.ndim != 1:
        raise ValueError(f"{rule}, got {shorten(values)}")
    times = raw.astype(np.float64)  # a copy
    bad = ~((times >= 0) & (times < limit))
    bad |= array_to_ticks(np.where(bad, 0.0, times)) >= to_ticks(limit)
    if bad.any():
        rank = int(np.argmax(bad))
        raise ValueError(f"{rule}, got {times[rank]} for rank {rank}")
    times.setflags(write=False)
    return times
