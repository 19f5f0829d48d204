"""`CompiledSteps`: a cycle's steps as the engine takes them, with the costs of their messages.

Also their timeline. Checks, bounds, timelines and the program of a case all take the same steps,
which are made once. The timeline is that of a machine whose ranks are all alike, so that one rank
stands for all. On a machine of several levels (`Hierarchy`), or with ranks of different `Speed`,
the messages of one step may differ in their costs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .algorithms import Algorithm
from .algorithms.algorithm import checked_steps
from .fields import show_bound
from .hierarchy import Hierarchy
from .imbalance import Speed, check_ranks, factors_of, scaled
from .network import Network
from .steps import (
    ASK,
    COMPUTE,
    COPY,
    ENTER,
    EXCHANGE,
    FINAL,
    FORWARD,
    MESSAGE,
    NOBODY_ASKS,
    OBSERVE,
    OWN,
    OWN_TIME,
    START,
    STARTS_CLOCK,
    Asking,
    Costs,
    MessageCosts,
    Sized,
    Step,
    Switch,
    Xor,
    numbers_per_cycle,
    power_below,
)
from .units import LONGEST_SECONDS, LONGEST_TICKS, TICKS_PER_SECOND

NEVER = -(2**62)
"""In ticks: no message came in yet."""

Entries = tuple[int, ...] | npt.NDArray[np.int64]
"""Distinct entries of a table; in an array where messages of a step differ in size: many."""
_MAX_SIZES = 2**20  # of messages of different sizes, whose costs are computed one by one
_MAX_LINKS = 1024  # classes of links whose messages have costs of their own
_Advance = Callable[[int, int], int]


class Timeline(NamedTuple):
    """A cycle in ticks: `ready` has the ready time after each step; the next starts at `end`.

    `sends`: from when on the rank's link may send again; `receives`: when its last message came in.
    """

    ready: list[int]
    end: int
    sends: int = 0
    receives: int = NEVER


class _RankTimes(NamedTuple):
    """A rank between two messages.

    When its CPU is free, when its link out is, and when the last message had come in.
    """

    busy: int
    sends: int
    receives: int

    def after(self, c: MessageCosts, advance: _Advance) -> _RankTimes:
        """Return the times after every rank has sent one message and received one."""
        start = max(self.busy, self.sends)
        left = advance(start, c.send)
        # The last byte: a message occupies the link for its gap before it is there.
        there = max(left + c.transit, self.receives + c.gap)
        busy = advance(max(left, there), c.receive)
        return _RankTimes(busy, left + c.gap - c.send, there)

    def shifted(self, ticks: int) -> _RankTimes:
        return _RankTimes(*(t + ticks for t in self))


def _after_repeats(
    links: _RankTimes, costs: MessageCosts, count: int, advance: _Advance
) -> _RankTimes:
    """Return the times of a rank after `count` equal messages in a row.

    From some message on each takes as long as the one before: the rest is a product.
    """
    while count:
        count, before, links = count - 1, links, links.after(costs, advance)
        period = links.busy - before.busy
        if links == before.shifted(period):
            return links.shifted(period * count)
    return links


def _end_without_noise(start: int, work: int) -> int:
    return start + work


def is_symmetric(steps: Sequence[Step], ranks: int, forward: int) -> bool:
    """Return whether all ranks act alike in every step; `forward` is the CPU time of a FORWARD.

    On other numbers than powers of two a rank without a partner in a step of the hypercube sits it
    out; of a FORWARD it is then spared the CPU time.
    """
    hypercube = any(step.kind == ENTER or (step.kind == FORWARD and forward) for step in steps)
    return not (hypercube and ranks & (ranks - 1)) and all(
        step.partners is None or step.partners.symmetric(ranks) for step in steps
    )


def symmetric_timeline(
    steps: Sequence[Step],
    costs: Costs,
    work: int,
    forward: int,
    advance: _Advance = _end_without_noise,
    *,
    messages: Sequence[MessageCosts | None] = (),
    asking: Asking = NOBODY_ASKS,
    links: tuple[int, int] = (0, NEVER),
) -> Timeline:
    """Evaluate one cycle when every rank acts in every step, and is delayed alike.

    Steps of the hypercube treat all ranks alike (partners are ``i xor m``), so without noise one
    rank stands for all. A copy then always arrives after the original of the same level, and all
    that is left of it is the CPU time that sending it took. With an `advance` that delays all work
    as much as can be, the result is later than any that the engine can give, whichever ranks act.

    Parameters
    ----------
    messages : sequence of MessageCosts
        For each step, what its messages cost; None, or nothing at all, where it has none.
    links : (int, int)
        From when on a rank may send, and when its last message came in; the cycle begins at 0.
    """
    t = sent = busy = ready = 0
    sends, receives = links
    departed: dict[int, int] = {}  # of half steps
    times = []
    for number, step in enumerate(steps):
        if step.kind == COMPUTE:
            ready = t = advance(t, work)
        elif step.kind == ENTER:
            ready = t
            sent = busy = t if step.flags & FINAL else advance(t, costs.send)
        elif step.kind == EXCHANGE:
            arrival = sent + costs.transit
            if step.flags & ASK:
                waited = busy + asking.patience
                if waited < arrival:
                    busy = advance(waited, asking.ask)
                elif advance is not _end_without_noise:  # another rank may ask up to then
                    busy = max(busy, advance(arrival, asking.ask))
            ready = t = advance(max(busy, arrival), costs.receive + costs.combine)
            sent = busy = ready if step.flags & FINAL else advance(ready, costs.send)
            if step.flags & COPY:
                busy = advance(sent, costs.send * step.copies)
        elif step.kind == FORWARD:  # what comes back is never earlier than what is there
            t = advance(t, forward)
        elif step.kind == MESSAGE:
            cost = messages[number]
            assert cost is not None
            if not step.receives:
                departed[step.place] = t = advance(max(t, sends), cost.send)
                ready, sends = t, t + cost.gap - cost.send
            elif not step.sends:
                receives = max(departed[step.place] + cost.transit, receives + cost.gap)
                ready = t = advance(max(t, receives), cost.receive)
            else:
                links_now = _RankTimes(t, sends, receives)
                done = _after_repeats(links_now, cost, step.repeat, advance)
                (ready, sends, receives), t = done, done.busy
        times.append(ready)
    return Timeline(times, t, sends, receives)


class CostTable(NamedTuple):
    """The distinct costs of MESSAGE steps, and which of them each step of the cycle has.

    `of_step`: of other steps (); more than one where messages of a step differ in size, cross
    different levels of a machine, or share a network card with different numbers of others: see
    `listed_messages` of `CompiledSteps`. There forwards have entries, too, for their ways alone.
    `means`: of a step whose messages differ in size, by its number, the CPU time of a message to
    send and receive, and what of it is the time to combine, on average.
    `loads`: of each entry `Network.load`, 0 without congestion. `combines`: of each entry, what of
    `receive` is the time to combine. `slower`: of each, the part of `transit` by slow links.
    """

    entries: tuple[MessageCosts, ...]
    of_step: tuple[Entries, ...]
    loads: tuple[int, ...]
    combines: tuple[int, ...] = ()
    slower: tuple[int, ...] = ()
    means: Mapping[int, tuple[float, float]] = MappingProxyType({})

    def costs(self) -> list[MessageCosts | None]:
        """The costs of each step; where its messages differ, the highest of each cost."""
        entries = np.array(self.entries, np.int64).reshape(-1, len(MessageCosts._fields))
        highest: dict[tuple[int, ...], MessageCosts] = {}
        found: list[MessageCosts | None] = []
        for own in self.of_step:
            if not len(own):
                found.append(None)
            elif isinstance(own, tuple) and own in highest:
                found.append(highest[own])
            else:
                costs = MessageCosts(*entries[np.asarray(own)].max(axis=0).tolist())
                found.append(costs)
                if isinstance(own, tuple):
                    highest[own] = costs
        return found

    def longest_combining(self) -> list[int]:
        """The longest time in which a message of each step is combined."""
        return _largest(self.combines, self.of_step)

    def largest_loads(self) -> list[int]:
        """The largest load of a message of each step."""
        return _largest(self.loads, self.of_step)

    def used(self, steps: Sequence[int]) -> list[MessageCosts]:
        """The distinct costs of these steps."""
        several = [np.asarray(self.of_step[step], np.int64) for step in steps]
        return [self.entries[i] for i in np.unique(np.concatenate([[], *several])).astype(int)]

    @property
    def differs_within_steps(self) -> bool:
        """Return whether there is a step whose messages have different costs."""
        return any(len(own) > 1 for own in self.of_step)


def _largest(values: tuple[int, ...], of_step: tuple[Entries, ...]) -> list[int]:
    """The largest value among the entries of each step, 0 where there is none."""
    if not any(values):
        return [0] * len(of_step)
    array = np.array(values, np.int64)
    return [
        int(array[own].max())
        if isinstance(own, np.ndarray)
        else max((values[entry] for entry in own), default=0)
        for own in of_step
    ]


class CompiledSteps:
    """The steps of one cycle, the same for each, and the costs of their messages.

    It holds all that a case needs from its algorithm and its network. `routed`: messages share
    links (`Congestion`); `drawn_speeds`: ranks are slower by factors that are known in a
    realization only (`SpeedNoise`); `barrier`: comes before the collective in each cycle.

    Attributes
    ----------
    steps : tuple of Step
        The compute phase, the barrier if there is any, the collective, and a look at its end.
    numbers : int
        How many numbers its messages take.
    table : CostTable
        Of the MESSAGE steps.
    has_hypercube : bool
        Whether there are steps over the hypercube: of the butterfly, or forwards.
    costs : Costs
        Of a message of those; zeros where there is none.
    load : int
        Of a message of those its `Network.load`; 0 where there is none, and without congestion.
    forward : int
        CPU time of a FORWARD, in ticks.
    asking : Asking
        Copies on demand.
    mirrors : list of int
        Redundant copies go to rank xor each of these.
    """

    def __init__(
        self,
        algorithm: Algorithm,
        network: Network,
        ranks: int,
        message_bytes: int,
        routed: bool,
        speed: Speed | None,
        drawn_speeds: bool,
        barrier: Algorithm | None,
        L_factor: Speed | None,
        G_factor: Speed | None,
    ) -> None:
        if isinstance(network, Hierarchy):
            network.check_ranks(ranks)
        factors = None
        if speed is not None or L_factor is not None or G_factor is not None:
            check_ranks(ranks)
        if L_factor is not None or G_factor is not None:
            both = (L_factor, "L_factor"), (G_factor, "G_factor")
            factors = [factors_of(of_rank, ranks, name) for of_rank, name in both]
        self._messages = _Messages(
            network, ranks, message_bytes, routed, speed, drawn_speeds, factors
        )
        collective = checked_steps(algorithm, ranks, message_bytes)
        if self._messages.ways_differ or self._messages.combines_unevenly:
            collective = _as_messages(collective, ranks, message_bytes)
        if barrier is not None:
            synchronizing = checked_steps(barrier, ranks, network.smallest_message)
            collective = _after_barrier(synchronizing, collective)
        self.steps = (Step(COMPUTE), *collective, Step(OBSERVE, label="end"))
        self.numbers = numbers_per_cycle(self.steps)
        self.table = self._messages.cost_table(self.steps)
        # One rank alone has its begin, and no message, whatever its size.
        self.has_hypercube = any(step.kind in (EXCHANGE, FORWARD) for step in self.steps)
        self.costs, self.load = Costs(0, 0, 0, 0), 0
        if self.has_hypercube:
            self.costs = self._messages.costs_of_hypercube()
            ways = [entry.transit for entry in self.table.entries]
            if self._messages.ways_differ:  # each forward has its own: this bounds them
                self.costs = self.costs._replace(transit=max(ways))
            self.load = network.load(message_bytes) if routed else 0
        self.forward = algorithm.forward_ticks()
        self.asking = algorithm.asking(network)
        self.mirrors = algorithm.copied_to

    @cached_property
    def longest_transit(self) -> int:
        """The longest way of a message, of any kind, in ticks; 0 where there is none."""
        ways = [entry.transit for entry in self.table.entries]
        return max([*ways, self.costs.transit])

    @cached_property
    def longest_combining(self) -> int:
        """The longest time in which a message is combined, in ticks."""
        exchanges = any(step.kind == EXCHANGE for step in self.steps)
        return max([*self.table.combines, self.costs.combine if exchanges else 0], default=0)

    @cached_property
    def message_work(self) -> tuple[int, int, int]:
        """The largest CPU time, transit and number of receptions of a rank in MESSAGE steps."""
        work = way = receptions = 0
        for step, cost in zip(self.steps, self.table.costs(), strict=True):
            if cost is not None and step.kind == MESSAGE:
                way = max(way, cost.transit)
                receptions += step.repeat * step.receives
                work += step.repeat * (cost.send * step.sends + cost.receive * step.receives)
        return work, way, receptions

    def listed_messages(self, step: int) -> npt.NDArray[np.int32]:
        """The messages of a step, in the order of their senders; shape (messages, 3).

        Sender, receiver and entry of the table of each. It is made anew each time, as it takes
        memory in proportion to the ranks.
        """
        pairs, classes = self._messages.pairs_and_classes(self.steps[step])
        if isinstance(self.steps[step].partners, Sized):
            entries = self._messages.sized_entries(self.steps[step], classes)
            listed = np.column_stack([pairs, entries])
            return listed[np.argsort(pairs[:, 0])].astype(np.int32)
        own = np.array(self.table.of_step[step])
        place = np.searchsorted(np.unique(classes), classes) if len(own) > 1 else 0 * classes
        entries = own[place]
        listed = np.column_stack([pairs, entries])
        return listed[np.argsort(pairs[:, 0])].astype(np.int32)


class HashedOnce:
    """The arguments of a cached function, whose hash is taken once: a case asks often."""

    def __init__(self, *arguments: Any) -> None:
        self.arguments, self._hash = arguments, hash(arguments)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HashedOnce) and self.arguments == other.arguments


@lru_cache(maxsize=64)
def compile_steps(parts: HashedOnce) -> CompiledSteps:
    """The compiled steps of equal parts of cases, which are made once."""
    return CompiledSteps(*parts.arguments)


def _as_messages(steps: list[Step], ranks: int, message_bytes: int) -> list[Step]:
    """The exchanges of the butterfly as messages that occupy no links: so each has its own cost."""
    made = []
    entered = any(step.kind == ENTER for step in steps)
    for step in steps:
        if entered and (step.kind == FORWARD or step.flags & (COPY | ASK)):
            raise ValueError(
                "exchanges_after must be 0, and copy_levels and on_demand left out, for a "
                "Butterfly on a Hierarchy, with slow links, or whose ranks combine at different "
                "speed; redundant exchanges can follow all other allreduces there, such as "
                "RecursiveDoublingAllreduce"
            )
        if step.kind == ENTER:
            step = Step(OBSERVE, label=step.label, redundancy=step.redundancy)
        elif step.kind == EXCHANGE:
            step = step._replace(
                kind=MESSAGE,
                flags=0,
                partners=Xor(1 << step.round, power_below(ranks)),
                bytes=message_bytes,
                combine=True,
                occupies=False,
            )
        made.append(step)
    return made


def _after_barrier(barrier: list[Step], collective: list[Step]) -> list[Step]:
    """A collective behind a barrier, with the time of each rank since it left that.

    The barrier takes draws behind those of the collective, which meets the same noise without it.
    """
    first = numbers_per_cycle(collective)
    made = [
        step._replace(
            label=step.label and f"barrier, {step.label}", redundancy=None, round=step.round + first
        )
        for step in barrier
        if step.label != START
    ]
    made.append(Step(OBSERVE, flags=STARTS_CLOCK))
    several = sum(step.redundancy is not None for step in collective) > 1
    for step in collective:
        if step.label == START and step.redundancy is not None:  # of one rank
            made.append(step._replace(redundancy=None))
            step = Step(OBSERVE, redundancy=step.redundancy)
        made.append(step)
        if step.redundancy is not None:
            label = f"T={step.redundancy}, {OWN}" if several else OWN
            made.append(Step(OBSERVE, flags=OWN_TIME, label=label))
    return made


def _at_switches(switch: Switch, cost: MessageCosts) -> MessageCosts:
    """Return the costs of a message to, in or from switches: the CPU time of one rank, or none."""
    way = cost.transit + switch.ticks
    if switch.part == "post":
        return MessageCosts(cost.send, 0, way, 0)
    if switch.part == "result":
        return MessageCosts(0, cost.receive, way, 0)
    return MessageCosts(0, 0, 0, 0)


class _Messages:
    """The costs of messages, by their class.

    That is the level that one crosses, its receiver's speed, the factors of the slower of its two
    ends, and how many share a card with it. `factors`: of each rank those on L and on G, shape (2,
    ranks), or None.
    """

    def __init__(
        self,
        network: Network,
        ranks: int,
        message_bytes: int,
        routed: bool,
        speed: Speed | None,
        drawn_speeds: bool,
        factors: list[npt.NDArray[np.float64]] | None = None,
    ) -> None:
        self._networks = network.networks if isinstance(network, Hierarchy) else [network]
        self._network, self._ranks = network, ranks
        self._bytes, self._routed, self._drawn_speeds = message_bytes, routed, drawn_speeds
        self._factors, self._speed_of = np.ones(1), None
        if speed is not None:
            self._factors, self._speed_of = np.unique(speed.of_ranks(ranks), return_inverse=True)
        # Distinct factors of links, ascending, and the place among them of each rank's.
        self._slower = [np.unique(own, return_inverse=True) for own in factors or ()]
        self._links = math.prod(len(distinct) for distinct, _ in self._slower)
        if self._links > _MAX_LINKS:
            raise ValueError(
                f"L_factor and G_factor must have at most {_MAX_LINKS} different pairs of "
                f"factors, got {self._links}: let nodes share one (node_ranks)"
            )
        self._known: dict[tuple[MessageCosts, int, int, int], int] = {}
        self._sizes = np.empty(0, np.int64)  # of messages that differ within steps, ascending
        self._sized = np.empty((2, 0), np.int64)  # their keys, ascending, and entries of the table
        self._cpu_times = np.empty((0, 2))  # of each entry, as `CostTable.means` has them
        # Costs are exact fractions: each is computed once only.
        self._of_level: dict[
            tuple[int, int, int, int], tuple[Costs, npt.NDArray[np.int64], int, int]
        ] = {}

    @property
    def ways_differ(self) -> bool:
        """Return whether messages of one step can take different ways."""
        return isinstance(self._network, Hierarchy) or bool(self._slower)

    @property
    def combines_unevenly(self) -> bool:
        """Return whether ranks can differ in the time in which they combine the vector."""
        if len(self._factors) == 1 and not self._drawn_speeds:
            return False
        return any(network.costs(self._bytes).combine for network in self._networks)

    def costs_of_hypercube(self) -> Costs:
        """The costs of the hypercube's messages, whose receivers all combine at one speed."""
        costs = self._network.costs(self._bytes)
        if self._speed_of is None or len(self._factors) > 1:
            return costs
        return costs._replace(combine=int(scaled(costs.combine, self._factors)[0]))

    def pairs_and_classes(self, step: Step) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The sender and receiver of each message of a step, and its class."""
        ranks = self._ranks
        if step.kind == FORWARD:  # of ranks without a partner to themselves: nothing comes of it
            sender = np.arange(ranks)
            receiver = sender ^ (1 << step.round)
            pairs = np.stack([sender, np.where(receiver < ranks, receiver, sender)], axis=1)
        else:
            assert step.partners is not None
            pairs = step.partners.pair_array(ranks)
        classes = np.zeros(len(pairs), dtype=np.int64)
        if step.switch is not None:
            return pairs, self._classes_at_switches(step.switch, pairs)
        if isinstance(self._network, Hierarchy):
            classes = self._network.levels_between(pairs[:, 0], pairs[:, 1], ranks)
            if self._network.shared_card:
                others = self._network.sharers(pairs[:, 0], pairs[:, 1], ranks) - 1
                classes += len(self._networks) * len(self._factors) * self._links * others
        if self._slower:
            below = len(self._networks) * len(self._factors)
            for distinct, place in self._slower:  # the slower of both ends decides
                slower = np.maximum(place[pairs[:, 0]], place[pairs[:, 1]])
                classes = classes + below * slower
                below *= len(distinct)
        if self._speed_of is not None and step.kind == MESSAGE and step.combine:
            classes = classes + len(self._networks) * self._speed_of[pairs[:, 1]]
        return pairs, classes

    def _classes_at_switches(
        self, switch: Switch, pairs: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Return the classes of messages between ranks and switches, which have one rank's link."""
        classes = np.zeros(len(pairs), dtype=np.int64)
        if switch.part == "combine":
            return classes
        own = pairs[:, 0 if switch.part == "post" else 1]
        levels = self._network.levels if isinstance(self._network, Hierarchy) else self._networks
        level = switch.level % len(levels)
        classes += level
        below = len(self._networks) * len(self._factors)
        for distinct, place in self._slower:
            classes += below * place[own]
            below *= len(distinct)
        if isinstance(self._network, Hierarchy) and self._network.shared_card and level:
            node = self._network.slots(self._ranks)[own] // self._network.spans[0]
            classes += below * (np.bincount(node)[node] - 1)
        return classes

    def _parts_of(self, of_class: int) -> tuple[int, int, int, int]:
        """The parts of a class: level, receiver's speed, link's factors, messages at a card."""
        rest, level = divmod(of_class, len(self._networks))
        rest, factor = divmod(rest, len(self._factors))
        others, link = divmod(rest, self._links)
        return level, factor, link, others + 1

    def cost_table(self, steps: tuple[Step, ...]) -> CostTable:
        """The costs of MESSAGE steps, and on a machine of several levels the ways of forwards."""
        of_step: list[Entries] = []
        means: dict[int, tuple[float, float]] = {}
        own_keys = self._know_sizes(steps)
        for number, step in enumerate(steps):
            if number in own_keys:
                of_step.append(self._distinct_entries(own_keys[number][0]))
                means[number] = self._mean_of_keys(*own_keys[number])
                continue
            forwards = step.kind == FORWARD and self.ways_differ
            if step.kind != MESSAGE and not forwards:
                of_step.append(())
                continue
            present = [0]
            uneven = len(self._networks) > 1 or self._links > 1
            if uneven or (len(self._factors) > 1 and step.combine):
                present = np.unique(self.pairs_and_classes(step)[1]).tolist() or [0]
            own = (
                tuple(map(self._way, present))
                if forwards
                else self._entries(present, step.bytes, step.combine, step.occupies, step.switch)
            )
            of_step.append(own if len(set(own)) > 1 else own[:1])
        known = zip(*self._known, strict=True) if self._known else ((), (), (), ())
        entries, loads, combines, slower = known
        return CostTable(entries, tuple(of_step), loads, combines, slower, means)

    def _entries(
        self,
        classes: list[int],
        size: int,
        combines: bool,
        occupies: bool,
        switch: Switch | None = None,
    ) -> tuple[int, ...]:
        """The entries of a step's messages of these classes and this size."""
        found = []
        for of_class in classes:
            level, factor, link, sharers = self._parts_of(of_class)
            costs, combining, gap, load = self._level_costs(level, size, link, sharers)
            combine = int(combining[factor]) if combines and size else 0
            cost = MessageCosts(
                costs.send, costs.receive + combine, costs.transit, gap if occupies else 0
            )
            slower = self._slower_by(level, size, link, sharers)
            if switch is not None:
                cost = _at_switches(switch, cost)
                slower = 0 if switch.part == "combine" else slower
            found.append(self._place(cost, load, combine, slower))
        return tuple(found)

    def _know_sizes(self, steps: tuple[Step, ...]) -> dict[int, npt.NDArray[np.int64]]:
        """Enter the costs of messages that differ in size; return the keys of such steps.

        Of a step these are the distinct keys of its messages, and how many have each; shape (2,
        keys). Costs of a key are computed once.
        """
        sized = {
            number: step.partners.sizes
            for number, step in enumerate(steps)
            if isinstance(step.partners, Sized)
        }
        if not sized:
            return {}
        distinct = {id(sizes): np.unique(sizes) for sizes in sized.values()}
        self._sizes = np.unique(np.concatenate([*distinct.values()]))
        keys = {n: np.array(np.unique(self._keys(steps[n]), return_counts=True)) for n in sized}
        every = np.unique(np.concatenate([own for own, _ in keys.values()]))
        if len(every) > _MAX_SIZES:
            raise ValueError(
                f"messages have {len(every)} different sizes (on each level of the network), at "
                f"most {show_bound(_MAX_SIZES)} fit: let more of them be alike, or take fewer ranks"
            )
        entries: list[int] = []
        for key in every.tolist():
            rest, size = divmod(key, len(self._sizes))
            of_class, flags = divmod(rest, 4)
            bytes_ = int(self._sizes[size])
            entries += self._entries([of_class], bytes_, bool(flags & 2), bool(flags & 1))
        self._sized = np.array([every, entries])
        costs = [(cost.send + cost.receive, combine) for cost, _, combine, _ in self._known]
        self._cpu_times = np.array(costs, np.float64).reshape(-1, 2)
        return keys

    def _keys(
        self, step: Step, classes: npt.NDArray[np.int64] | None = None
    ) -> npt.NDArray[np.int64]:
        """The key of each message of a step: its class, what it does, and its size."""
        if classes is None:
            classes = self.pairs_and_classes(step)[1]
        flags = 2 * step.combine + step.occupies
        place = np.searchsorted(self._sizes, step.sizes(self._ranks))
        return (4 * classes + flags) * len(self._sizes) + place

    def _entries_of_keys(self, keys: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the entry of the table for each of these keys, which are known."""
        known, entries = self._sized
        return entries[np.searchsorted(known, keys)]

    def _distinct_entries(self, keys: npt.NDArray[np.int64]) -> Entries:
        """Return the entries of these keys, each once."""
        distinct = np.unique(self._entries_of_keys(keys))
        return distinct if len(distinct) > 1 else tuple(distinct.tolist())

    def _mean_of_keys(
        self, keys: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]
    ) -> tuple[float, float]:
        """The mean CPU time of messages, `counts` of which have each key; see `CostTable.means`."""
        times = self._cpu_times[self._entries_of_keys(keys)]
        work, combining = (counts @ times / counts.sum()).tolist()
        return work, combining

    def sized_entries(self, step: Step, classes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The entry of each message of a step whose messages differ in size."""
        return self._entries_of_keys(self._keys(step, classes))

    def _level_costs(
        self, level: int, size: int, link: int, sharers: int
    ) -> tuple[Costs, npt.NDArray[np.int64], int, int]:
        """The costs of a message of a level, its combining at each speed, its gap and its load."""
        if (level, size, link, sharers) not in self._of_level:
            network = self._shared_network(level, link, sharers)
            sent = max(size, network.smallest_message)  # an empty message has an envelope
            costs = network.costs(sent)
            load = network.load(sent) if self._routed else 0
            _check_length(max(*costs, load))
            combines = scaled(costs.combine, self._factors)
            self._of_level[level, size, link, sharers] = costs, combines, network.gap(sent), load
        return self._of_level[level, size, link, sharers]

    def _shared_network(self, level: int, link: int, sharers: int) -> Network:
        network = self._networks[level]
        if self._slower:
            (of_L, _), (of_G, _) = self._slower
            network = network.slower(of_L[link % len(of_L)], of_G[link // len(of_L)])
        return network.slower(1, sharers)  # they share its bandwidth equally

    def _way(self, of_class: int) -> int:
        """The entry of a forward of that class."""
        level, _, link, sharers = self._parts_of(of_class)
        network = self._shared_network(level, link, sharers)
        load = network.load(self._bytes) if self._routed else 0
        slower = self._slower_by(level, self._bytes, link, sharers)
        cost = MessageCosts(0, 0, network.costs(self._bytes).transit, 0)
        return self._place(cost, load, 0, slower)

    def _slower_by(self, level: int, size: int, link: int, sharers: int) -> int:
        """Return by how much longer a message is on its way over its links; 0 if they are fast."""
        if not self._slower:
            return 0
        usual = self._networks[level].slower(1, sharers)
        size = max(size, usual.smallest_message)
        slow = self._shared_network(level, link, sharers)
        return max(slow.costs(size).transit - usual.costs(size).transit, 0)

    def _place(self, cost: MessageCosts, load: int, combine: int, slower: int) -> int:
        """Return the place of costs in the table, where equal ones stand once."""
        _check_length(max(cost))
        return self._known.setdefault((cost, load, combine, slower), len(self._known))


def _check_length(ticks: int) -> None:
    """Raise ValueError for a cost of a message beyond 2^62 ps, which no array of costs holds."""
    if ticks > LONGEST_TICKS:
        raise ValueError(
            f"the simulated time of a case must stay below {LONGEST_SECONDS:.3g} s (2^62 ps), one "
            f"message may take {ticks / TICKS_PER_SECOND:.3g} s: lower message_bytes, counts, or "
            "the times of the network"
        )
