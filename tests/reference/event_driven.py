"""Reference of conventional and redundant butterfly allreduce (CS14, MS12), event by event.

CS14 Algorithm 1 (conventional) and Algorithm 2 (redundant exchanges inside the butterfly, here for
any set of levels), MS12's forwards after the butterfly, and CS14's compute-communicate cycles.

A heap of events drives one state machine per rank and cycle (collective.py). Events of one instant
are ordered by `rank in time`: messages arrive, then ranks take original messages, then ranks take
copies (those at a lower level first), then final data is held and forwarded, stage by stage.
"""

import heapq
from dataclasses import dataclass
from random import Random

from .collective import Collective
from .philox import MIRROR_STEPS
from .realized import RealizedNoise


@dataclass(frozen=True)
class Costs:
    """CPU time of a send, a receive, a combination, a forward; transit of a message (ticks).

    Copies on demand: a rank that waited for `patience` asks, which costs CPU time; the question
    takes `request` to the mirror. `load`: how long each other message on a link of its route holds
    a message up.
    """

    send: int = 0
    receive: int = 0
    transit: int = 0
    combine: int = 0
    work: int = 0
    forward: int = 0
    patience: int = 0
    ask: int = 0
    request: int = 0
    load: int = 0


class ButterflyRun:
    """One realization. `within`: levels with redundant copies, to rank xor each of the `mirrors` in
    turn; `asked`: levels with copies on demand; `after`: forward steps (MS12's T).

    `rows` holds, after `execute()`, the ready times: rows[row][rank] in ticks, the rows in the
    order start, then per cycle: levels 1 ... K, forward steps 1 ... T, end of the cycle.
    With `order` (a seed) events of one instant that nothing orders are executed in random order.
    """

    def __init__(self, log2_ranks, costs, *, within=(), after=0, cycles=1, sources=(), seed=0,
                 realization=0, order=None, mirrors=(1,), asked=()):  # fmt: skip
        self.levels = log2_ranks
        self.ranks = 1 << log2_ranks
        self.costs = costs
        self.within = frozenset(within)
        self.mirrors = mirrors
        self.asked = frozenset(asked)
        self.after = after
        self.cycles = cycles
        self.noise = RealizedNoise(sources, seed, realization)
        self.everyone = frozenset(range(self.ranks))
        self.arrivals = ()  # per cycle, or once for all: how late each rank is
        self.factors = None  # exact, of each rank's own work
        self._random = Random(order) if order is not None else None
        self._heap = []
        self._sequence = 0
        self._machines = {}
        self.final_row = log2_ranks  # of a cycle's rows: T = 0
        self.rows_per_cycle = log2_ranks + after + 1
        self.rows = [[None] * self.ranks for _ in range(1 + cycles * self.rows_per_cycle)]
        self.copies_taken = 0
        self.levels_skipped = 0
        self.questions_asked = 0

    # What the state machines use.

    def at(self, time, cycle, order, action):
        """Execute `action(time)` at `time`; `order` sorts the events of one instant."""
        self._sequence += 1
        shuffle = self._random.random() if self._random else 0
        event = (time, cycle, order, shuffle, self._sequence, action)
        heapq.heappush(self._heap, event)

    def arrival(self, sent, message, sender, receiver, cycle, number, mirror=0):
        """When an "original", "copy" or "forward" that left its sender's CPU at `sent` is there.

        `mirror`: which of several sent the copy, from 0. Draws are those of later steps.
        """
        number += MIRROR_STEPS * mirror
        delay = self.noise.transit_delay(sent, message, receiver, cycle, number)
        return sent + self.costs.transit + delay

    def machine(self, rank, cycle):
        """The state machine of a rank in a cycle; messages may come before the rank enters."""
        if (rank, cycle) not in self._machines:
            self._machines[rank, cycle] = Collective(self, rank, cycle)
        return self._machines[rank, cycle]

    def record(self, row, rank, time):
        assert self.rows[row][rank] is None, "a ready time was reached twice"
        self.rows[row][rank] = time

    def start_cycle(self, rank, cycle, t):
        if cycle < self.cycles:
            t += self.late(rank, cycle) + self.noise.late(rank, cycle)
            entry = self.noise.compute(rank, t, self.usual(rank, self.costs.work), cycle)
            self.machine(rank, cycle).enter_at(entry)

    # Ranks that are not alike.

    def late(self, rank, cycle):
        """For how long a rank idles before its compute phase, whatever the noise."""
        if not self.arrivals:
            return 0
        return self.arrivals[cycle if len(self.arrivals) > 1 else 0][rank]

    def usual(self, rank, work):
        """CPU time of work of its own, all but what the network takes, before speeds are drawn."""
        return work if self.factors is None else round(work * self.factors[rank])

    def slowed(self, rank, work, t):
        """The same in this realization, of work that begins at t."""
        return self.noise.slowed(rank, self.usual(rank, work), t)

    # What a test uses.

    def execute(self):
        """Run to the end; returns `rows`."""
        for rank in range(self.ranks):
            self.start_cycle(rank, 0, 0)
        now = 0
        while self._heap:
            time, _, _, _, _, action = heapq.heappop(self._heap)
            assert time >= now, "an event reached back in time"
            now = time
            action(time)
        for row in self.rows:
            assert None not in row, "a rank never reached a ready time: deadlock"
        return self.rows

    def completions(self):
        """Maximum over the ranks of the data held after T = 0 ... after forwards, per cycle."""
        final = []
        for cycle in range(self.cycles):
            first = cycle * self.rows_per_cycle + self.levels  # row of level K; of d[0] when K = 0
            if self.levels == 0:
                first = (cycle + 1) * self.rows_per_cycle  # nothing is exchanged: the cycle's end
            final += [max(self.rows[first + step]) for step in range(self.after + 1)]
        return final
