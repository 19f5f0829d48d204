"""Reference of all noise sources, drawn rank by rank and message by message.

CPU noise is busy intervals (PeriodicNoise, RenewalNoise, TraceNoise) and delays of single steps
(StepDelay); network noise is delays of messages (Jitter, MessageDelay). A source acts in its
window [begin, end) only, and where `hosts` are given, whether it acts on each rank, on these.
`node_ranks` consecutive ranks share the draws. `ordinal` counts the
sources of the same role in the list of a case. Delays are those of delays.py.

`apply` hands a source to the engine (`jitterfly._core.Program`), which numbers the sources of a
role in the order in which they come.
"""

from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import count

import numpy as np

from . import delays, philox
from .delays import Delay, core_delay
from .timeline import clipped, overlaps, periodic_intervals

MIN, MAX = -(2**63), 2**63 - 1  # of a 64-bit tick: no window


def optional_ticks(values):
    return None if values is None else np.array(values, dtype=np.int64)


class Source:
    """Base of all sources."""

    node_ranks: int
    begin: int
    end: int
    hosts: tuple[bool, ...] | None = None
    holds: int = 0  # for how long a draw does; 0: for the whole realization

    def key(self, rank):
        """The stream of a rank's draws."""
        return rank // self.node_ranks

    def spell(self, t, phase):
        """The number of the draw that holds at t; `phase`: the uniform of the one at time 0."""
        return (t + (phase * self.holds >> 64)) // self.holds if self.holds else 0

    def acts_on(self, rank):
        return self.hosts is None or self.hosts[rank]

    def acts_at(self, t, rank):
        return self.begin <= t < self.end and self.acts_on(rank)

    def scope(self):
        """Where and when it acts, as the engine takes it."""
        names = ("node_ranks", "begin", "end", "in_compute", "in_communication")
        found = {name: getattr(self, name) for name in names if hasattr(self, name)}
        if self.holds:
            found["holds"] = self.holds
        return found | ({} if self.hosts is None else {"hosts": np.array(self.hosts)})


def alternating(uniform, start_uniform, gap, duration, stationary):
    """Intervals of a duration after gaps, each drawn by its number; `start_uniform`: the start."""
    if stationary is None:
        begin = gap(uniform(0))
        end = begin + duration(uniform(1))
    elif start_uniform(0) < stationary.share:
        begin, end = 0, stationary.busy(start_uniform(1))
    else:
        begin = stationary.idle(start_uniform(1))
        end = begin + duration(uniform(1))
    for k in count(1):
        yield begin, end
        begin = end + gap(uniform(2 * k))
        end = begin + duration(uniform(2 * k + 1))


@dataclass(frozen=True)
class OnOff:
    """A source is on for a time, off for a time, and so on; `start`: how it is found at time 0."""

    on: Delay
    off: Delay
    start: "Stationary"
    node_ranks: int = 1

    def times(self, seed, realization, rank, ordinal):
        """When the source is on. `ordinal`: among the sources that are on and off by turns."""

        def draws(purpose):
            return philox.Pairs(seed, purpose + ordinal, rank // self.node_ranks, realization)

        return alternating(draws(philox.BURSTS), draws(philox.BURSTS_START), self.off, self.on,
                           self.start)  # fmt: skip

    def fields(self, core):
        found = self.start
        start = found.share, core_delay(core, found.busy), core_delay(core, found.idle)
        return core_delay(core, self.on), core_delay(core, self.off), start, self.node_ranks


class Intervals(Source):
    """Base of the sources of busy intervals; `ever` yields them without window and bursts."""

    bursts: OnOff | None = None

    def scope(self, core):
        bursts = {} if self.bursts is None else {"bursts": self.bursts.fields(core)}
        return super().scope() | bursts

    def intervals(self, seed, realization, rank, ordinal=0, of_bursts=0):
        """Busy intervals [begin, end) of a rank, disjoint, in order of time."""
        if not self.acts_on(rank):
            return iter(())
        ever = self.ever(seed, realization, rank, ordinal)
        # Without a window, too: noise that leaves no time free ends with the 64 bits of ticks.
        found = clipped(ever, self.begin, self.end)
        if self.bursts is None:
            return found
        return overlaps(found, self.bursts.times(seed, realization, rank, of_bursts))


@dataclass(frozen=True)
class PeriodicNoise(Intervals):
    """Busy in [phase + k period, + duration). `phases` (ticks, one a rank): not drawn but given."""

    period: int
    duration: int
    stationary: bool = False
    node_ranks: int = 1
    phases: tuple[int, ...] | None = None
    in_compute: bool = True
    in_communication: bool = True
    begin: int = MIN
    end: int = MAX
    hosts: tuple[bool, ...] | None = None
    bursts: OnOff | None = None

    role = "periodic"

    def phase(self, seed, realization, rank, ordinal=0):
        if self.phases is not None:
            return self.phases[rank]
        purpose = philox.ordinal(philox.PERIODIC_PHASE, philox.MORE_PHASES, ordinal)
        return philox.only_uniform64(seed, purpose, self.key(rank), realization) * self.period >> 64

    def ever(self, seed, realization, rank, ordinal):
        phase = self.phase(seed, realization, rank, ordinal)
        return periodic_intervals(self.period, self.duration, phase, self.stationary)

    def apply(self, core, program):
        program.add_periodic(period=self.period, duration=self.duration,
                             stationary=self.stationary, phases=optional_ticks(self.phases),
                             **self.scope(core))  # fmt: skip


@dataclass(frozen=True)
class Stationary:
    """How a stationary renewal process is found at time 0.

    Busy with probability share / 2^64, with so much of the interval left; else so much of the gap.
    """

    share: int
    busy: Delay
    idle: Delay


@dataclass(frozen=True)
class RenewalNoise(Intervals):
    """Idle for a `gap`, busy for a `duration`, and so on, all of them independent draws."""

    gap: Delay
    duration: Delay
    stationary: Stationary | None = None
    node_ranks: int = 1
    in_compute: bool = True
    in_communication: bool = True
    begin: int = MIN
    end: int = MAX
    hosts: tuple[bool, ...] | None = None
    bursts: OnOff | None = None

    role = "renewal"

    def ever(self, seed, realization, rank, ordinal):
        def draws(purpose):
            return philox.Pairs(seed, purpose + ordinal, self.key(rank), realization)

        return alternating(draws(philox.RENEWAL), draws(philox.RENEWAL_START), self.gap,
                           self.duration, self.stationary)  # fmt: skip

    def apply(self, core, program):
        start = self.stationary
        if start is not None:
            start = start.share, core_delay(core, start.busy), core_delay(core, start.idle)
        program.add_renewal(gap=core_delay(core, self.gap),
                            duration=core_delay(core, self.duration), stationary=start,
                            **self.scope(core))  # fmt: skip


@dataclass(frozen=True)
class TraceNoise(Intervals):
    """Busy where a trace of `length` ticks, repeated for ever, is busy from an offset on.

    `pieces`: the trace's busy intervals. `offsets`: ticks, one a rank; without it they are drawn.
    """

    pieces: tuple[tuple[int, int], ...]
    length: int
    offsets: tuple[int, ...] | None = None
    node_ranks: int = 1
    in_compute: bool = True
    in_communication: bool = True
    begin: int = MIN
    end: int = MAX
    hosts: tuple[bool, ...] | None = None
    bursts: OnOff | None = None

    role = "trace"

    def offset(self, seed, realization, rank, ordinal=0):
        if self.offsets is not None:
            return self.offsets[rank]
        purpose = philox.TRACE_OFFSET + ordinal
        return philox.only_uniform64(seed, purpose, self.key(rank), realization) * self.length >> 64

    def ever(self, seed, realization, rank, ordinal):
        first = -self.offset(seed, realization, rank, ordinal)
        for repetition in count(-1):
            origin = first + repetition * self.length
            for begin, end in self.pieces:
                yield origin + begin, origin + end

    def apply(self, core, program):
        program.add_trace(*starts_and_ends(self.pieces), length=self.length,
                          offsets=optional_ticks(self.offsets), **self.scope(core))  # fmt: skip


def starts_and_ends(pieces):
    return np.array(pieces, dtype=np.int64).reshape(-1, 2).T.copy()


@dataclass(frozen=True)
class TracesNoise(Intervals):
    """As `TraceNoise`, where rank i replays ``recordings[of_ranks[i]]``: (pieces, length)."""

    recordings: tuple[tuple[tuple[tuple[int, int], ...], int], ...]
    of_ranks: tuple[int, ...]
    node_ranks: int = 1
    in_compute: bool = True
    in_communication: bool = True
    begin: int = MIN
    end: int = MAX
    hosts: tuple[bool, ...] | None = None
    bursts: OnOff | None = None

    role = "trace"

    def ever(self, seed, realization, rank, ordinal):
        pieces, length = self.recordings[self.of_ranks[rank]]
        if not pieces:
            return
        purpose = philox.TRACE_OFFSET + ordinal
        drawn = philox.only_uniform64(seed, purpose, self.key(rank), realization)
        for repetition in count(-1):
            origin = repetition * length - (drawn * length >> 64)
            for begin, end in pieces:
                yield origin + begin, origin + end

    def apply(self, core, program):
        recordings = [(*starts_and_ends(pieces), length) for pieces, length in self.recordings]
        of_ranks = np.array(self.of_ranks, dtype=np.int32)
        program.add_traces(recordings=recordings, of_ranks=of_ranks, **self.scope(core))


@dataclass(frozen=True)
class StepDelay(Source):
    """Lengthens the CPU work of steps: of each message taken, or of each original sent.

    The work of the compute phase is lengthened in either case.
    """

    delay: Delay
    at_send: bool = False
    node_ranks: int = 1
    in_compute: bool = True
    in_communication: bool = True
    begin: int = MIN
    end: int = MAX
    hosts: tuple[bool, ...] | None = None

    role = "step"

    def purpose(self, step):
        """Where the draws for "compute", "receive" or "send" come from; None: not delayed."""
        if step == "compute":
            return philox.STEP_COMPUTE if self.in_compute else None
        if not self.in_communication or self.at_send != (step == "send"):
            return None
        return philox.STEP_SEND if self.at_send else philox.STEP_RECEIVE

    def apply(self, core, program):
        delay = core_delay(core, self.delay)
        program.add_step(delay=delay, at_send=self.at_send, **self.scope())


@dataclass(frozen=True)
class RankDelay(Source):
    """A rank idles before its compute phase; `once`: for the same time in all cycles."""

    delay: Delay
    node_ranks: int = 1
    once: bool = False
    hosts: tuple[bool, ...] | None = None

    role = "arrival"


@dataclass(frozen=True)
class RankSpeed(Source):
    """Makes what a rank computes and combines longer by a factor, the same in all cycles.

    `factor` is a table of times, in which 10^12 ticks are 1, and so are 0. Where it `holds` for a
    time only, work takes the factor of its begin.
    """

    factor: Delay
    node_ranks: int = 1
    hosts: tuple[bool, ...] | None = None
    holds: int = 0

    role = "speed"

    def slowed(self, u, work):
        """In units of 2^-32 the factor is a whole number, rounded down; the work to the nearest."""
        ticks = self.factor(u)
        factor = ticks * -(-(2**96) // 10**12) >> 64 if ticks else 2**32
        whole, rest = divmod(work * factor, 2**32)
        return whole + (rest >= 2**31)


@dataclass(frozen=True)
class Jitter(Source):
    """Network jitter: each event lengthens a message by `duration`.

    survival[k] = 2^64 P(more than k events), so that a 64-bit uniform u means as many events as
    there are entries above u. `survival` is that of messages of one length; with the mean time
    between events, `period`, that of all others is known too.
    """

    duration: int
    survival: tuple[int, ...]
    node_ranks: int = 1
    begin: int = MIN
    end: int = MAX
    period: int | None = None
    hosts: tuple[bool, ...] | None = None

    role = "jitter"

    def purpose(self, message, ordinal):
        return philox.ordinal(philox.JITTER[message], philox.MORE_JITTER[message], ordinal)

    def delay(self, u):
        return self.duration * delays.entries_above(u, self.survival)

    def on_the_way(self, transit, u):
        """The same for a message that takes `transit` ticks otherwise."""
        return self.duration * delays.entries_above(u, _survival(transit, self.period))

    def apply(self, core, program, **cost):
        survival = np.array(self.survival, dtype=np.uint64)
        program.add_jitter(duration=self.duration, survival=survival, **self.scope(), **cost)


@dataclass(frozen=True)
class MessageDelay(Source):
    """Lengthens the way of each message by a draw of its own.

    With `links`, 2^64 times a share, only of those to links that a draw makes lossy.
    """

    delay: Delay
    node_ranks: int = 1
    begin: int = MIN
    end: int = MAX
    hosts: tuple[bool, ...] | None = None
    links: int = 0
    holds: int = 0

    role = "message"

    def purpose(self, message, ordinal):
        return philox.MESSAGE[message] + ordinal

    def apply(self, core, program):
        links = {"links": self.links} if self.links else {}
        program.add_message(delay=core_delay(core, self.delay), **self.scope(), **links)


@dataclass(frozen=True)
class Weather(Source):
    """Lengthens the way of each message by one draw of a realization, or of a spell of it.

    It is a delay, or a part of that way.

    `way`: how long messages are on it, if they all are alike, and `delay` draws a part: 10^12 ticks
    are all of it. `parted`: the same, where messages say how long they are on it.
    """

    delay: Delay
    way: int | None = None
    parted: bool = False
    node_ranks: int = 1
    begin: int = MIN
    end: int = MAX
    hosts: tuple[bool, ...] | None = None
    holds: int = 0

    role = "weather"

    def late(self, u, transit):
        ticks, way = self.delay(u), self.way
        if self.parted and transit is not None:
            way = transit
        if way is None:
            return ticks
        whole, rest = divmod(way * (ticks * -(-(2**96) // 10**12) >> 64), 2**32)
        return whole + (rest >= 2**31)

    def apply(self, core, program, **cost):
        way = {} if self.way is None else {"way": self.way}
        program.add_weather(delay=core_delay(core, self.delay), **self.scope(), **way, **cost)


@lru_cache(maxsize=1000)
def _survival(transit, period):
    return poisson_survival(Fraction(transit, period))


@lru_cache(maxsize=1000)
def poisson_survival(mean):
    """Thresholds 2^64 P(more than k events), k = 0, 1, ... while not 0, of an exact mean."""
    with localcontext() as context:
        context.prec = 80
        mean = Decimal(mean.numerator) / Decimal(mean.denominator)
        probability = (-mean).exp()  # of k events
        survival = 1 - probability
        thresholds = []
        while threshold := round(survival * 2**64):
            thresholds.append(min(threshold, 2**64 - 1))
            probability *= mean / len(thresholds)
            survival -= probability
        return tuple(thresholds)
