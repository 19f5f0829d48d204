"""The butterfly of one cycle as a loop over events, with any set of redundant copies."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Protocol

from ..case import Case
from ..steps import Costs

ORIGINAL, COPY, FORWARD = "original", "copy", "forward"
COMPUTE, RECEIVE, SEND, PASS_ON = "compute", "receive", "send", "pass on"


@dataclass
class Message:
    """A message; `level` is what its receiver has after taking it, `used` whether it was taken.

    Ticks of 1 ps: `sent` when it left the sender's CPU, `arrival` when the receiver may take it.
    """

    kind: str
    level: int
    source: int
    target: int
    sent: int
    arrival: int
    used: bool = False


class Machine(Protocol):
    """What the loop needs to know: costs, noise and the way of a message."""

    case: Case
    costs: Costs
    messages: list[Message]

    def work(
        self, rank: int, time: int, work: int, step: str = PASS_ON, cycle: int = 0, level: int = 1
    ) -> int:
        """When the `work` of a step is done on a rank that starts it at `time`.

        `level`: what the message brings that is taken or sent.
        """

    def send(
        self, kind: str, cycle: int, level: int, source: int, target: int, sent: int
    ) -> Message:
        """Put a message on its way."""


class Collective:
    """The butterfly that ranks enter at the times `start`: the rules of the model's §4."""

    def __init__(self, machine: Machine, cycle: int, start: list[int]):
        self.machine, self.cycle = machine, cycle
        self.rounds = machine.case.log2_ranks
        self.copied = set(machine.case.algorithm.levels(machine.case.ranks))
        self.ready = [start, *([0] * len(start) for _ in range(self.rounds))]
        self.level = [0] * len(start)
        self.busy = list(start)
        self.inbox: list[list[Message]] = [[] for _ in start]
        self.events: list[tuple[int, int, int]] = []  # time, number of message or -1, rank
        if self.rounds:
            for rank in range(len(start)):
                self._send_original(rank, start[rank], 1)

    def _send_original(self, rank: int, time: int, level: int) -> None:
        work = self.machine.costs.send
        self.busy[rank] = self.machine.work(rank, time, work, SEND, self.cycle, level)
        self._send(ORIGINAL, level, rank, rank ^ (1 << (level - 1)))
        heapq.heappush(self.events, (self.busy[rank], -1, rank))

    def _send(self, kind: str, level: int, source: int, target: int) -> None:
        message = self.machine.send(kind, self.cycle, level, source, target, self.busy[source])
        number = len(self.machine.messages) - 1
        heapq.heappush(self.events, (message.arrival, number, target))

    def run(self) -> list[list[int]]:
        """Ready times, one list per level 0 ... K."""
        while self.events:
            now = self.events[0][0]
            self._arrivals(now)
            # At one instant: originals before copies, then the lower current level.
            while choices := [c for i in range(len(self.busy)) if (c := self._choice(i, now))]:
                _, _, rank, message = min(choices, key=lambda c: c[:3])
                self._take(rank, message, now)
                self._arrivals(now)
        return self.ready

    def _arrivals(self, now: int) -> None:
        while self.events and self.events[0][0] == now:
            _, number, rank = heapq.heappop(self.events)
            if number >= 0:
                self.inbox[rank].append(self.machine.messages[number])

    def _choice(self, rank: int, now: int) -> tuple[bool, int, int, Message] | None:
        """What a free rank takes: the earliest; ties: the original, then the lower level."""
        level = self.level[rank]
        if self.busy[rank] > now or not self.inbox[rank]:
            return None
        self.inbox[rank] = [m for m in self.inbox[rank] if m.level > level]
        usable = [m for m in self.inbox[rank] if m.kind == COPY or m.level == level + 1]
        if not usable:
            return None
        best = min(usable, key=lambda m: (m.arrival, m.kind == COPY, m.level))
        return best.kind == COPY, level, rank, best

    def _take(self, rank: int, message: Message, now: int) -> None:
        message.used = True
        costs = self.machine.costs
        before, level = self.level[rank], message.level
        work = costs.receive + (0 if message.kind == COPY else costs.combine)
        done = self.machine.work(rank, now, work, RECEIVE, self.cycle, level)
        self.level[rank], self.busy[rank] = level, done
        for passed in range(before + 1, level + 1):
            self.ready[passed][rank] = done
        if message.kind == COPY:
            for passed in range(before + 1, level + 1):
                self._send_original(rank, self.busy[rank], passed + 1)
        elif level < self.rounds:
            self._send_original(rank, done, level + 1)
            if level in self.copied:
                self.busy[rank] = self.machine.work(rank, self.busy[rank], costs.send)
                self._send(COPY, level, rank, rank ^ 1)
                heapq.heappush(self.events, (self.busy[rank], -1, rank))
