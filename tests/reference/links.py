"""Reference of message costs and of a rank's links in and out (queues with gap)."""

from collections.abc import Callable
from dataclasses import dataclass, replace

# Order of the events of one instant, for the machines of a program. The link is asked before.
LINK = (1, 0)
CPU = (1, 1)


@dataclass(frozen=True)
class Network:
    """LogGP in ticks: a message of n bytes takes CPU ``o + O n``, way ``L + (n - less) G``."""

    o: int = 0
    O: int = 0  # noqa: E741
    L: int = 0
    G: int = 0
    g: int = 0
    gamma: int = 0
    less: int = 1  # byte that is not charged; 0 is Hockney's

    def between(self, a, b):
        """All ranks are alike."""
        return self

    def cpu(self, n):
        return self.o + self.O * n

    def transit(self, n):
        return self.L + (n - self.less) * self.G

    def gap(self, n):
        return self.g + (n - self.less) * self.G

    def combine(self, n):
        return self.gamma * n


@dataclass(frozen=True)
class Machine:
    """Nodes of ranks, racks of nodes: the network of a message is that of its two ranks.

    `levels`: (ranks that are together, Network), from the inside; `slots`: of each rank.
    """

    levels: tuple[tuple[int, Network], ...]
    outside: Network
    slots: tuple[int, ...]
    farther: Callable[[int, int], int] | None = None  # latency between two hosts beyond the nearest

    def between(self, a, b):
        for together, network in self.levels:
            if self.slots[a] // together == self.slots[b] // together:
                return network
        if self.farther is None:
            return self.outside
        together = self.levels[-1][0] if self.levels else 1
        more = self.farther(self.slots[a] // together, self.slots[b] // together)
        return replace(self.outside, L=self.outside.L + more)


class SendingLink:
    """Sends of a rank in the order of its program, cycle after cycle."""

    def __init__(self, run):
        self.run = run
        self.free = 0
        self.done = 0  # sends that have begun
        self.waited = 0
        self.waiting = {}

    def ask(self, place, now, begin):
        """Call `begin(t)` when send number `place` may begin, from `now` on."""
        self.waiting[place] = now, begin
        self._go(now)

    def _go(self, now):
        if self.done in self.waiting:
            asked, begin = self.waiting.pop(self.done)
            self.waited += self.free > asked
            self.run.at(max(asked, self.free), 0, CPU, begin)

    def begun(self, now, free):
        self.free = free
        self.done += 1
        self._go(now)


class ReceivingLink:
    """Messages to a rank, passed on to its CPU in the order of its program."""

    def __init__(self, run):
        self.run = run
        self.last = -(2**62)  # when the last message was there
        self.waited = 0
        self.expected = []  # (peer, cycle, number), gap
        self.passed = 0
        self.arrived = {}
        self.ready = {}  # place -> (time, data)
        self.waiting = {}

    def arrive(self, now, key, data):
        assert key not in self.arrived
        self.arrived[key] = data
        self._go(now)

    def _go(self, now):
        if self.passed == len(self.expected):
            return
        key, gap = self.expected[self.passed]
        if key not in self.arrived:
            return
        data, place = self.arrived.pop(key), self.passed
        self.passed += 1
        there = max(now, self.last + gap)  # the last byte is there: it takes the link before
        self.waited += there > now
        self.last = there

        def pass_on(t):
            self.ready[place] = data
            if place in self.waiting:
                self._take(place, t)
            self._go(t)

        self.run.at(there, 0, LINK, pass_on)

    def ask(self, place, now, take):
        """Call `take(t, data)` when message number `place` is there, from `now` on."""
        self.waiting[place] = take
        if place in self.ready:
            self._take(place, now)

    def _take(self, place, now):
        self.waiting.pop(place)(now, self.ready.pop(place))
