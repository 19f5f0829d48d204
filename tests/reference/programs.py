"""Reference of any collective of textbook.py, event by event, with the data of messages.

Ranks are processes that go through their list of sends and receives; the links of a rank are
queues of their own. A heap of events drives all (event_driven.py), so nothing can reach back in
time, and a message that never comes is a deadlock.

A send begins when the CPU is free and the sender's link is: `gap` after the send before it began.
The receiver's link takes messages in the order of the rank's program: each is there, with its last
byte, no earlier than its own `gap` after the one before it was. The CPU receives when it has come
to that message and the message is there.
"""

import copy
import heapq
from functools import cached_property

from . import textbook
from .collective import Collective
from .event_driven import ButterflyRun, Costs
from .links import CPU, LINK, Network, ReceivingLink, SendingLink
from .philox import MIRROR_STEPS
from .realized import RealizedNoise


def owner(block):
    """Whose a block of an allgather is, which may be a segment of one: (rank, segment)."""
    return block[0] if isinstance(block, tuple) else block


class Process(Collective):
    """One rank in one cycle: its program, and what it holds."""

    def __init__(self, run, rank, cycle):
        super().__init__(run, rank, cycle)
        self.ops = run.programs[rank]
        self.held = dict(run.inputs(rank))
        self.next_op = 0
        sends, receives = run.counts[rank]
        self.places = [cycle * sends, cycle * receives]

    def _enter(self, now):
        if self.cycle == 0:
            self.run.record(0, self.rank, now)
        self._go_on(now)

    def _go_on(self, now):
        """The CPU is free: on with the program."""
        run, links = self.run, self.run.links[self.rank]
        while self.next_op < len(self.ops):
            op = self.ops[self.next_op]
            self.next_op += 1
            if isinstance(op, textbook.Send):
                place, self.places[0] = self.places[0], self.places[0] + 1
                links[0].ask(place, now, lambda t, op=op: self._send(op, t))
                return
            if isinstance(op, textbook.Receive):
                place, self.places[1] = self.places[1], self.places[1] + 1
                links[1].ask(place, now, lambda t, data, op=op: self._receive(op, t, data))
                return
            if isinstance(op, str):
                run.record(run.row(self.cycle, op), self.rank, now)
            else:  # the butterfly
                if self.rank < run.power:
                    self.level, self.busy = 0, now
                    self.data = {0: self.held[0]}
                    if run.levels:
                        self._send_original(0)
                        self._look(now)
                        return
        assert run.promised(self), "the collective does not give what it promises"
        if run.after and run.goal == "allreduce":
            assert all(held == run.everyone for held in self.held.values())
        run.at(now, self.cycle, (4, 0, 0), lambda t: self._hold(0, t, t, run.everyone))

    def _send(self, op, now):
        run = self.run
        for block in op.blocks:
            assert block in self.held, "a message carries what its sender does not hold"
        cpu, transit, gap = run.prices(op, run.network.between(self.rank, op.peer))
        left = run.noise.send(self.rank, now, cpu, self.cycle, op.number)
        late = run.noise.transit_delay(
            left, "original", op.peer, self.cycle, op.number, transit=transit
        )
        data = {block: self.held[block] for block in op.blocks}
        key = self.rank, self.cycle, op.number
        there = run.links[op.peer][1]
        run.at(left + transit + late, 0, LINK, lambda t: there.arrive(t, key, data))
        run.links[self.rank][0].begun(now, left + gap - cpu)
        run.at(left, 0, CPU, self._go_on)

    def _receive(self, op, now, data):
        run = self.run
        for block, ranks in data.items():
            mine = self.held.get(block, frozenset())
            if op.how == "combine":
                assert block in self.held
                assert mine.isdisjoint(ranks), "an input would be combined twice"
            elif op.how == "put together":
                assert not mine, "an input would be combined twice"
            elif op.how in ("take", "put together again"):
                assert mine <= ranks, "a message replaces data by less"
            self.held[block] = mine | ranks
        network = run.network.between(op.peer, self.rank)
        work = run.prices(op, network)[0]
        if op.combines:
            work += run.slowed(self.rank, network.combine(op.bytes), now)
        done = run.noise.receive(self.rank, now, work, self.cycle, op.number)
        run.at(done, 0, CPU, self._go_on)

    # The butterfly inside: levels of the largest power of two of ranks.

    def _reach(self, level, data, ready):
        block = self.rank >> level << level
        inputs = frozenset().union(*(self.run.folded(r) for r in range(block, block + 2**level)))
        assert data == inputs, "wrong inputs combined"
        self.level = level
        self.data[level] = data
        self.run.record(self.run.row(self.cycle, f"level {level}"), self.rank, ready)

    def _finish_butterfly(self, ready):
        self.held[0] = self.data[self.run.levels]
        self.run.at(ready, self.cycle, CPU, self._go_on)


class ProgramRun(ButterflyRun):
    """One realization of a collective on any number of ranks.

    `kind`: a function of textbook.py. `rows` as `ButterflyRun` has them, with None where a rank is
    in no step of that row; `labels` names those of one cycle. `sources`, `arrivals` and `factors`
    may be changed before it is executed.
    """

    def __init__(self, kind, ranks, network, message_bytes, *, goal, within=(), after=0, cycles=1,
                 work=0, forward=0, sources=(), seed=0, realization=0, options=None):  # fmt: skip
        n, self.sources = message_bytes, sources
        self.message_bytes = n
        self.power, levels = textbook.largest_power(ranks)
        far = network.between(0, ranks - 1)  # the hypercube has one price
        costs = Costs(far.cpu(n), far.cpu(n), far.transit(n), far.combine(n), work, forward)
        super().__init__(levels, costs, within=within, after=after, cycles=cycles)
        self.ranks, self.network, self.goal = ranks, network, goal
        self.everyone = frozenset(range(ranks))
        self._draw = seed, realization
        self._textbook = getattr(textbook, kind), options or {}

    def with_forwards(self, after):
        """The same realization, not executed yet, with so many forwards."""
        other = copy.copy(self)
        other.after, other._heap = after, []
        return other

    def _prepare(self):
        """What it takes to execute, and no random case whose run is not wanted."""
        ranks, network, after, cycles = self.ranks, self.network, self.after, self.cycles
        rounds, options = self._textbook
        self.labels, self.programs = [], []
        for rank in range(ranks):
            labels, ops = self._program(rounds(rank, ranks, self.message_bytes, **options))
            self.programs.append(ops)
            self.labels = labels
        self.noise = RealizedNoise(self.sources, *self._draw)
        self._machines = {}
        self.links = [(SendingLink(self), ReceivingLink(self)) for _ in range(ranks)]
        for rank, ops in enumerate(self.programs):
            gaps = [(op, self.prices(op, network.between(op.peer, rank))[2])
                    for op in ops if isinstance(op, textbook.Receive)]  # fmt: skip
            self.links[rank][1].expected = [
                ((op.peer, cycle, op.number), gap) for cycle in range(cycles) for op, gap in gaps
            ]
        self.final_row = len(self.labels)
        self.rows_per_cycle = len(self.labels) + after + 1
        self.rows = [[None] * ranks for _ in range(1 + cycles * self.rows_per_cycle)]

    def _program(self, rounds):
        labels, ops = [], []
        for label, mine in rounds:
            ops += mine
            if label == textbook.HYPERCUBE:
                ops.append(None)
                labels += [f"level {level}" for level in range(1, self.levels + 1)]
            else:
                ops.append(label)
                labels.append(label)
        return labels, ops

    def row(self, cycle, label):
        return 1 + cycle * self.rows_per_cycle + self.labels.index(label)

    def machine(self, rank, cycle):
        if (rank, cycle) not in self._machines:
            self._machines[rank, cycle] = Process(self, rank, cycle)
        return self._machines[rank, cycle]

    def arrival(self, sent, message, sender, receiver, cycle, number, mirror=0):
        if isinstance(self.network, Network):
            return super().arrival(sent, message, sender, receiver, cycle, number, mirror)
        transit = self.network.between(sender, receiver).transit(self.message_bytes)
        number += MIRROR_STEPS * mirror
        late = self.noise.transit_delay(sent, message, receiver, cycle, number, transit=transit)
        return sent + transit + late

    def prices(self, op, net):
        n = max(op.bytes, net.less)  # an empty message is an envelope
        return net.cpu(n), net.transit(n), net.gap(n) if op.occupies else 0

    @cached_property
    def counts(self):
        """How many messages each rank sends and receives in a cycle."""
        return [
            [sum(isinstance(op, kind) for op in ops) for kind in (textbook.Send, textbook.Receive)]
            for ops in self.programs
        ]

    @cached_property
    def blocks(self):
        """All that are sent."""
        return {b for ops in self.programs for op in ops if isinstance(op, textbook.Send)
                for b in op.blocks} or {0}  # fmt: skip

    @cached_property
    def empty(self):
        """The blocks without any element, which need not be sent."""
        counts = self._textbook[1].get("counts", [])
        if self.goal == "alltoall":
            counts = [count for row in counts for count in row]
        return {b for b, count in enumerate(counts) if not count}

    def inputs(self, rank):
        """Blocks that a rank holds at the start."""
        blocks = self.blocks
        if self.goal == "broadcast":
            return dict.fromkeys(blocks, frozenset([0])) if rank == 0 else {}
        if self.goal == "scatter":  # of what rank 0 has, block b is for rank b
            return dict.fromkeys(range(self.ranks), frozenset([0])) if rank == 0 else {}
        if self.goal == "allgather":
            return {b: frozenset([rank]) for b in self.contributed if owner(b) == rank}
        if self.goal in ("gather", "scan", "exscan"):
            return {rank: frozenset([rank])}
        if self.goal == "alltoall":  # block a N + b is from rank a for rank b
            mine = range(rank * self.ranks, (rank + 1) * self.ranks)
            return dict.fromkeys(mine, frozenset([rank]))
        return dict.fromkeys(blocks, frozenset([rank]))

    @property
    def contributed(self):
        """The blocks of an allgather: one of each rank, or (rank, segment)."""
        segments = {b[1] for b in self.blocks if isinstance(b, tuple)}
        ranks = range(self.ranks)
        return [(rank, s) for rank in ranks for s in segments] if segments else list(ranks)

    def folded(self, rank):
        """Whose input a rank has when it enters the butterfly."""
        return frozenset(r for r in (rank, rank + self.power) if r < self.ranks)

    def promised(self, process):
        """Whether a rank has the result."""
        held, rank, empty = process.held, process.rank, self.empty
        if self.goal == "allgather" or (self.goal == "gather" and rank == 0):
            full = {block: ranks for block, ranks in held.items() if block not in empty}
            every = self.contributed if self.goal == "allgather" else range(self.ranks)
            return full == {b: frozenset([owner(b)]) for b in every if b not in empty}
        match self.goal:
            case "allreduce" | "barrier":
                return all(held[b] == self.everyone for b in held)
            case "reduce":
                return rank != 0 or all(held[b] == self.everyone for b in held)
            case "broadcast":
                blocks = self.inputs(0)
                return held == blocks
            case "gather":
                return True
            case "scatter":
                return rank in empty or held[rank] == frozenset([0])
            case "scan" | "exscan":  # a rank may have those of higher ranks as well
                before = range(rank + (self.goal == "scan"))
                return all(held[b] == frozenset([b]) for b in before)
            case "alltoall":
                mine = range(rank, self.ranks**2, self.ranks)
                sent = [b for b in mine if b not in empty]
                return all(held[b] == frozenset([b // self.ranks]) for b in sent)
            case "reduce_scatter":
                if rank in empty:
                    return True
                if self.ranks == 1:
                    return held[0] == self.everyone
                # In stages, a block of the last one is each of all those before.
                mine = [b for b in held if (b[-1] if isinstance(b, tuple) else b) == rank]
                return mine != [] and all(held[b] == self.everyone for b in mine)

    def execute(self):
        self._prepare()
        for rank in range(self.ranks):
            self.start_cycle(rank, 0, 0)
        now = 0
        while self._heap:
            time, _, _, _, _, action = heapq.heappop(self._heap)
            assert time >= now, "an event reached back in time"
            now = time
            action(time)
        ends = [""] * (self.rows_per_cycle - len(self.labels))
        labels = ["", *(self.labels + ends) * self.cycles]
        for label, row in zip(labels, self.rows, strict=True):
            present = self.power if label.startswith("level") else self.ranks
            assert None not in row[:present], "a rank never came to the end: deadlock"
        assert not any(link.arrived or link.waiting for _, link in self.links)
        return self.rows
