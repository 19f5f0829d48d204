"""One cycle of a case, lowered: its steps, what their messages cost in ticks, and its timeline.

Checks, bounds, timelines and the program of a case all take the same cycle, which is made once.
The timeline is that of a machine whose ranks are all alike, so that one rank stands for all. On a
machine of several levels (`Hierarchy`) the messages of one step may differ in their costs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .algorithms import Algorithm
from .hierarchy import Hierarchy
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
    Asking,
    Costs,
    MessageCosts,
    Step,
    Xor,
    draws_per_cycle,
    power_below,
)

NEVER = -(2**62)
"""In ticks: no message came in yet."""

_Advance = Callable[[int, int], int]


class Timeline(NamedTuple):
    """One cycle in ticks: `ready` has the ready time after each step; the next starts at `end`.

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
        """One message sent and one received by every rank."""
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
    """`count` messages in a row. From some message on each takes as long as the one before."""
    while count:
        count, before, links = count - 1, links, links.after(costs, advance)
        period = links.busy - before.busy
        if links == before.shifted(period):
            return links.shifted(period * count)
    return links


def _undelayed(start: int, work: int) -> int:
    return start + work


def is_symmetric(steps: Sequence[Step], ranks: int, forward: int) -> bool:
    """Whether all ranks act alike in every step; `forward` is the CPU time of a FORWARD.

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
    advance: _Advance = _undelayed,
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
                elif advance is not _undelayed:  # another rank may ask up to then
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
            done = _after_repeats(_RankTimes(t, sends, receives), cost, step.repeat, advance)
            (ready, sends, receives), t = done, done.busy
        times.append(ready)
    return Timeline(times, t, sends, receives)


class CostTable(NamedTuple):
    """Distinct costs of MESSAGE steps, and which of them each step of the cycle has.

    `of_step`: of other steps (); more than one where messages of a step cross different levels of a
    machine, see `Cycle.listed_messages`. There forwards have entries, too, for their ways alone.
    `loads`: of each entry `Network.load`, 0 without congestion.
    """

    entries: tuple[MessageCosts, ...]
    of_step: tuple[tuple[int, ...], ...]
    loads: tuple[int, ...]

    def costs(self) -> list[MessageCosts | None]:
        """For each step; where its messages differ, the highest of each cost."""
        return [
            MessageCosts(*np.array([self.entries[i] for i in own]).max(axis=0).tolist())
            if own
            else None
            for own in self.of_step
        ]

    def load(self, step: int) -> int:
        """The largest load of a message of that step."""
        return max((self.loads[entry] for entry in self.of_step[step]), default=0)

    @property
    def differs_within_steps(self) -> bool:
        """Whether there is a step whose messages have different costs."""
        return any(len(own) > 1 for own in self.of_step)


class Cycle:
    """The steps of one cycle, the same for each, and the costs of their messages.

    All that a case asks of its algorithm and its network: who has the cycle needs neither.

    Attributes
    ----------
    steps : tuple of Step
        The compute phase, the collective, and a look at its end.
    draws : int
        How many numbers of draws a cycle takes.
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
        self, algorithm: Algorithm, network: Network, ranks: int, message_bytes: int, routed: bool
    ) -> None:
        if isinstance(network, Hierarchy):
            network.check_ranks(ranks)
        collective = algorithm.steps(ranks, message_bytes)
        if isinstance(network, Hierarchy):
            collective = _as_messages(collective, ranks, message_bytes)
        self.steps = (Step(COMPUTE), *collective, Step(OBSERVE, label="end"))
        self.draws = draws_per_cycle(self.steps)
        self._network, self._ranks = network, ranks
        self.table = _cost_table(self.steps, network, ranks, message_bytes, routed)
        self.has_hypercube = any(step.kind in (ENTER, EXCHANGE, FORWARD) for step in self.steps)
        self.costs, self.load = Costs(0, 0, 0, 0), 0
        if self.has_hypercube:
            self.costs = network.costs(message_bytes)
            ways = [entry.transit for entry in self.table.entries]
            if isinstance(network, Hierarchy):  # each forward has its own: this bounds them
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

    def listed_messages(self, step: int) -> npt.NDArray[np.int32]:
        """The messages of a step, in the order of their senders; shape (messages, 3).

        Sender, receiver and entry of the table of each. It is made anew each time, as it takes
        memory in proportion to the ranks.
        """
        pairs, levels = _pairs_and_levels(self.steps[step], self._network, self._ranks)
        own = np.array(self.table.of_step[step])
        entries = own[np.searchsorted(np.unique(levels), levels) if len(own) > 1 else 0 * levels]
        listed = np.column_stack([pairs, entries])
        return listed[np.argsort(pairs[:, 0])].astype(np.int32)


@lru_cache(maxsize=64)
def lower_cycle(
    algorithm: Algorithm, network: Network, ranks: int, message_bytes: int, routed: bool
) -> Cycle:
    """The cycle of a case with these fields; `routed`: messages share links (`Congestion`)."""
    return Cycle(algorithm, network, ranks, message_bytes, routed)


def _as_messages(steps: list[Step], ranks: int, message_bytes: int) -> list[Step]:
    """The exchanges of the butterfly as messages that occupy no links: so each has its own cost."""
    made = []
    entered = any(step.kind == ENTER for step in steps)
    for step in steps:
        if entered and (step.kind == FORWARD or step.flags & (COPY | ASK)):
            raise ValueError(
                "exchanges_after must be 0, and copy_levels and on_demand left out, for a "
                "Butterfly on a Hierarchy; redundant exchanges can follow all other allreduces "
                "there, such as RecursiveDoublingAllreduce"
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


def _pairs_and_levels(
    step: Step, network: Network, ranks: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Sender and receiver of each message of a step, and the level of the machine it crosses."""
    if step.kind == FORWARD:  # of ranks without a partner to themselves: nothing comes of it
        sender = np.arange(ranks)
        receiver = sender ^ (1 << step.round)
        pairs = np.stack([sender, np.where(receiver < ranks, receiver, sender)], axis=1)
    else:
        assert step.partners is not None
        pairs = step.partners.pair_array(ranks)
    if not isinstance(network, Hierarchy):
        return pairs, np.zeros(len(pairs), dtype=np.int64)
    return pairs, network.levels_between(pairs[:, 0], pairs[:, 1], ranks)


def _cost_table(
    steps: tuple[Step, ...], network: Network, ranks: int, message_bytes: int, routed: bool
) -> CostTable:
    """Costs of MESSAGE steps, and on a machine of several levels the ways of forwards."""
    known: dict[tuple[MessageCosts, int], int] = {}
    # Costs are exact fractions: each is computed once only.
    places: dict[tuple[Network, int, bool, bool], int] = {}

    def entry(network: Network, step: Step) -> int:
        kind = network, step.bytes, bool(step.combine), bool(step.occupies)
        if kind not in places:
            send, receive, transit, combine = network.costs(step.bytes)
            gap = network.gap(step.bytes) if step.occupies else 0
            cost = MessageCosts(send, receive + (combine if step.combine else 0), transit, gap)
            load = network.load(step.bytes) if routed else 0
            places[kind] = known.setdefault((cost, load), len(known))
        return places[kind]

    def way(network: Network) -> int:
        load = network.load(message_bytes) if routed else 0
        cost = MessageCosts(0, 0, network.costs(message_bytes).transit, 0)
        return known.setdefault((cost, load), len(known))

    of_step: list[tuple[int, ...]] = []
    for step in steps:
        if isinstance(network, Hierarchy) and step.kind in (MESSAGE, FORWARD):
            crossed = np.unique(_pairs_and_levels(step, network, ranks)[1]).tolist() or [0]
            networks = [network.networks[level] for level in crossed]
            own = tuple(entry(n, step) if step.kind == MESSAGE else way(n) for n in networks)
            of_step.append(own if len(set(own)) > 1 else own[:1])
        elif step.kind == MESSAGE:
            of_step.append((entry(network, step),))
        else:
            of_step.append(())
    entries, loads = zip(*known, strict=True) if known else ((), ())
    return CostTable(entries, tuple(of_step), loads)
