"""Reference of one realization's noise: what happens to a rank's work and to a message."""

from collections import Counter, defaultdict

from . import philox
from .noise import Intervals
from .timeline import Timeline, union


class RealizedNoise:
    """Any number of sources, drawn for one seed and realization.

    `seen` counts what the noise did: steps and messages delayed, work interrupted, and delays that
    a window or the hosts kept out. `numbered`: the number of a draw, of its cycle and its number
    there.
    """

    def __init__(self, sources, seed, realization, numbered=philox.draw_of_step):
        self._draw = seed, realization
        self._numbered = numbered
        self._timelines = {}  # by rank and whether it is the compute phase
        self._unions = {}  # the same, by rank and numbers of sources
        self.seen = Counter()
        self._of_role = defaultdict(list)  # sources with their ordinals
        self._intervals = []  # those of them that have any, with the ordinals of their bursts
        self._bursts = 0
        self._lossy = {}  # numbers among sources of lossy links, by the ordinal
        for source in sources:
            self.add(source)

    def add(self, source):
        """One more source, behind the others of its role."""
        same = self._of_role[source.role]
        same.append((source, len(same)))
        if source.role == "message" and source.links:
            self._lossy[len(same) - 1] = len(self._lossy)
        if isinstance(source, Intervals):
            self._intervals.append((*same[-1], self._bursts))
            self._bursts += source.bursts is not None

    def late(self, rank, cycle):
        """For how long a rank idles before its compute phase."""
        total = 0
        for source, ordinal in self._of_role["arrival"]:
            of = 0 if source.once else cycle
            u = self._uniform(source, philox.RANK_DELAY + ordinal, rank, of, 0)
            total += source.delay(u) if source.acts_on(rank) else 0
        return total

    def compute(self, rank, t, work, cycle):
        """When the compute phase's work is done that begins at t; no work, no phase."""
        if work == 0:
            return t
        return self._work(rank, t, self.slowed(rank, work, t), "compute", cycle, 0)

    def slowed(self, rank, work, t):
        """How long a rank takes to compute or combine what usually takes `work`, begun at t."""
        for source, ordinal in self._of_role["speed"]:
            u = self._of_spell(source, ordinal, philox.RANK_SPEED, philox.SPEED_SPELLS, rank, t)
            work = source.slowed(u, work) if source.acts_on(rank) else work
        return work

    def receive(self, rank, t, work, cycle, number):
        """The same for taking a message of round `number`, an original or an adopted copy."""
        return self._work(rank, t, work, "receive", cycle, number)

    def send(self, rank, t, work, cycle, number):
        """The same for sending the original message of a round."""
        return self._work(rank, t, work, "send", cycle, number)

    def pass_on(self, rank, t, work):
        """The same for sending a copy or forwarding: busy intervals alone."""
        return self._advance(rank, t, work, compute=False)

    def transit_delay(self, sent, message, receiver, cycle, number, transit=None):
        """Of an "original", "copy" or "forward" that left its sender's CPU at `sent`.

        `transit`: of this message, where messages differ.
        """
        total = 0
        for source, ordinal in (*self._of_role["jitter"], *self._of_role["message"]):
            u = self._uniform(source, source.purpose(message, ordinal), receiver, cycle, number)
            on_the_way = source.role == "jitter" and transit is not None
            late = source.on_the_way(transit, u) if on_the_way else source.delay(u)
            if late and source.role == "message" and source.links:
                u = self._of_spell(source, self._lossy[ordinal], philox.LOSSY_LINKS,
                                   philox.LOSSY_SPELLS, receiver, sent)  # fmt: skip
                late = late if u < source.links else 0
            total += self._in_window(source, receiver, sent, late, "message")
        for source, ordinal in self._of_role["weather"]:
            u = self._of_spell(source, ordinal, philox.WEATHER, philox.WEATHER_SPELLS, receiver,
                               sent)  # fmt: skip
            total += self._in_window(source, receiver, sent, source.late(u, transit), "message")
        for source, _ in self._of_role["congestion"]:
            late = source.late(message, receiver, cycle, number)
            self.seen["held up"] += late > 0
            total += late
        return total

    def timeline(self, rank, *, compute):
        """The union of all busy intervals of a rank in one phase of the cycle."""
        if (found := self._timelines.get((rank, compute))) is None:
            chosen = tuple(
                number
                for number, (source, _, _) in enumerate(self._intervals)
                if (source.in_compute if compute else source.in_communication)
            )
            found = self._timelines[rank, compute] = self._of_sources(rank, chosen)
        return found

    def _of_sources(self, rank, chosen):
        """That of the sources with these numbers, once where both phases have the same."""
        if (rank, chosen) not in self._unions:
            lists = []
            for source, ordinal, of_bursts in (self._intervals[number] for number in chosen):
                lists.append(source.intervals(*self._draw, rank, ordinal, of_bursts))
            self._unions[rank, chosen] = Timeline(union(lists))
        return self._unions[rank, chosen]

    def _work(self, rank, t, work, step, cycle, number):
        for source, ordinal in self._of_role["step"]:
            if (purpose := source.purpose(step)) is not None:
                u = self._uniform(source, purpose + ordinal, rank, cycle, number)
                work += self._in_window(source, rank, t, source.delay(u), step)
        return self._advance(rank, t, work, compute=step == "compute")

    def _advance(self, rank, t, work, *, compute):
        if not work or not self._intervals:
            return t + work
        end = self.timeline(rank, compute=compute).advance(t, work)
        if end > t + work:
            self.seen["interrupted"] += 1
        return end

    def _of_spell(self, source, ordinal, purpose, phase_purpose, rank, t):
        """The draw that holds at t, of the only ones of the realization."""
        (seed, realization), key = self._draw, source.key(rank)
        phase = philox.uniform64(seed, phase_purpose + ordinal, key, realization, 0)
        spell = source.spell(t, phase)
        return philox.uniform64(seed, purpose + ordinal, key, realization, spell)

    def _uniform(self, source, purpose, rank, cycle, number):
        seed, realization = self._draw
        draw = self._numbered(cycle, number)
        return philox.uniform64(seed, purpose, source.key(rank), realization, draw)

    def _in_window(self, source, rank, t, delay, what):
        acts = source.acts_at(t, rank)
        if delay:
            self.seen[what if acts else "outside"] += 1
        return delay if acts else 0
