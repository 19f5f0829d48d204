"""Random programs of message steps, and their recurrence rank by rank.

The recurrence is written from the rules of a message step alone; of noise it knows periodic sources
with given phases. Exchanges, copies inside a butterfly and all other noise are for comparisons of
one way through the engine with another.
"""

from dataclasses import dataclass, field, fields

import numpy as np

from .cases import COMPUTE, COPY, ENTER, EXCHANGE, FINAL, FORWARD, OBSERVE
from .delays import core_delay
from .event_driven import Costs
from .noise import Source

MESSAGE = 5
SENDS_ONLY, RECEIVES_ONLY = 16, 32  # flags of half steps; the last partner number is their place
STARTS_CLOCK, OWN_TIME = 64, 128  # flags of OBSERVE
SHIFT, XOR, TREE, RANGE, LISTED = range(5)
NOWHERE = -(2**63)


def pairs(partners, ranks):
    """(sender, receiver) of all messages of a step."""
    kind, a, b, c = partners
    if kind == SHIFT:
        return [(i, (i + a) % ranks) for i in range(ranks)] if a else []
    if kind == XOR:
        return [(i, i ^ a) for i in range(b)]
    if kind == TREE:
        lower = [i for i in range(0, ranks, 2 * a) if i + a < b]
        return [(i, i + a) if c else (i + a, i) for i in lower]
    return [(i, i + c) for i in range(a, b)]


@dataclass(frozen=True)
class MessageCase:
    """A program by its steps, as 11 numbers each, and all that one realization depends on.

    `messages`: send, receive, transit and gap of each cost entry. `jitters`: (cost entry, source).
    `listed`: sender, receiver and cost entry of the messages of steps that list them. Of compute
    steps partners are 1 for a work, 2 for a delay of each rank, added, and where these begin in
    `rank_times`. `rank_delays`: a delay, ranks that share it, whether it is drawn once, and
    whether it acts on each rank. `combines`: of each cost entry, what of `receive` is the time to
    combine; `rank_speeds`: a factor, as a delay, ranks that share it, whether it acts on each,
    and for how long it holds.
    """

    ranks: int
    program_steps: tuple[tuple[int, ...], ...]
    messages: tuple[tuple[int, int, int, int], ...] = ()
    costs: Costs = Costs(0, 0, 0, 0, 0, 0)
    sources: tuple[Source, ...] = ()
    jitters: tuple[tuple[int, Source], ...] = ()
    seed: int = 0
    realization: int = 0
    one_rank: bool = False
    loads: tuple[int, ...] = ()  # on a link, of each cost entry
    listed: tuple[tuple[int, int, int], ...] = ()
    rank_times: tuple[int, ...] = ()
    rank_delays: tuple[tuple[object, int, bool, tuple[bool, ...]], ...] = ()
    combines: tuple[int, ...] = ()
    rank_speeds: tuple[tuple[object, int, tuple[bool, ...], int], ...] = ()
    log2_ranks: int = field(init=False)
    mirrors = (1,)  # of copies

    def __post_init__(self):
        object.__setattr__(self, "log2_ranks", self.ranks.bit_length() - 1)

    @property
    def rows(self):
        return range(1 + max((step[4] for step in self.program_steps), default=-1))

    def steps(self):
        return np.array(self.program_steps, dtype=np.int32).reshape(-1, 11)

    def list(self):
        return np.array(self.listed, dtype=np.int32).reshape(-1, 3)

    def sent(self, partners, cost):
        """Sender, receiver and cost entry of all messages of a step."""
        kind, begin, end, _ = partners
        if kind == LISTED:
            return self.listed[begin:end]
        return [(a, b, cost) for a, b in pairs(partners, self.ranks)]

    def add_noise(self, core, program):
        for source in self.sources:
            source.apply(core, program)
        for delay, node_ranks, once, hosts in self.rank_delays:
            program.add_rank_delay(delay=core_delay(core, delay), node_ranks=node_ranks, once=once,
                                   hosts=np.array(hosts))  # fmt: skip
        for factor, node_ranks, hosts, holds in self.rank_speeds:
            program.add_rank_speed(factor=core_delay(core, factor), node_ranks=node_ranks,
                                   hosts=np.array(hosts), holds=holds)  # fmt: skip
        for cost, source in self.jitters:
            source.apply(core, program, cost=cost)

    def program(self, core):
        costs = {each.name: getattr(self.costs, each.name) for each in fields(Costs)}
        own = np.array(self.rank_times, dtype=np.int64)
        messages = np.array(self.messages, dtype=np.int64).reshape(-1, 4)
        program = core.Program(log2_ranks=self.log2_ranks, ranks=self.ranks, steps=self.steps(),
                               rows=len(self.rows), messages=messages, one_rank=self.one_rank,
                               loads=list(self.loads), listed=self.list(),
                               rank_times=own, combines=list(self.combines),
                               **costs)  # fmt: skip
        self.add_noise(core, program)
        return program


class Steps:
    """Makes the steps of a program, with rows in their order, and draws 64 to a cycle."""

    def __init__(self, ranks):
        self.ranks, self.levels = ranks, ranks.bit_length() - 1
        self.made, self.rows, self.cycle = [], 0, 0

    def add(self, kind, number=0, flags=0, draw=0, row=False, partners=(0, 0, 0, 0), cost=0,
            repeat=1):  # fmt: skip
        at = self.rows if row else -1
        self.rows += row
        self.made.append((kind, number, flags, 64 * self.cycle + draw, at, *partners, cost, repeat))

    def message(self, partners, cost, draw=0, row=False, repeat=1):
        self.add(MESSAGE, draw, 0, 0, row, partners, cost, repeat)

    def butterfly(self, row=False, within=()):
        self.add(ENTER, flags=0 if self.levels else FINAL, row=row)
        for number in range(self.levels):
            final = number + 1 == self.levels
            flags = FINAL if final else COPY if number + 1 in within else 0
            self.add(EXCHANGE, number, flags, number, row)

    def forwards(self, count, row=False):
        for m in range(min(count, (self.ranks - 1).bit_length())):
            self.add(FORWARD, m, 0, m, row)


def random_partners(rng, ranks):
    """Any partner map that these ranks can have."""
    levels = ranks.bit_length() - 1
    kind = rng.choice([SHIFT, XOR, TREE, RANGE] if ranks > 1 else [SHIFT, TREE])
    if kind == SHIFT:
        distance = rng.choice([1, ranks - 1, 1 << rng.randint(0, levels), rng.randrange(ranks)])
        return SHIFT, distance % ranks, 0, 0
    if kind == XOR:
        below = 1 << rng.choice([levels, rng.randint(1, levels)])
        return XOR, rng.choice([1 << rng.randrange(below.bit_length() - 1),
                                rng.randrange(1, below)]), below, 0  # fmt: skip
    if kind == TREE:
        below = rng.choice([ranks, rng.randint(0, ranks)])
        return TREE, 1 << rng.randint(0, levels), below, rng.randrange(2)
    low, high = sorted((rng.randint(0, ranks), rng.randint(0, ranks)))
    distance = rng.choice([d for d in (rng.randint(-low, ranks - high), 1, -1) if d] or [1])
    if low + distance < 0 or high + distance > ranks:
        return RANGE, 0, ranks - 1, 1
    return RANGE, low, high, distance


def random_steps(rng, ranks, entries):
    """A program of any steps in any order that the engine takes."""
    steps = Steps(ranks)
    seen = rng.choice([0, 0.3, 1])
    for steps.cycle in range(rng.randint(1, 3)):
        for _ in range(rng.randint(1, 6)):
            row = rng.random() < seen
            what = rng.choice(["message"] * 5 + ["compute", "observe", "butterfly", "forwards"])
            if what == "message":
                repeat = rng.choice([1, 1, 2, rng.randint(1, 7)])
                steps.message(random_partners(rng, ranks), rng.randrange(entries),
                              rng.randrange(50), row, repeat)  # fmt: skip
            elif what == "compute":
                steps.add(COMPUTE, row=row)
            elif what == "observe":
                steps.add(OBSERVE, row=row)
            elif what == "butterfly":
                some = [m for m in range(1, steps.levels) if rng.random() < 0.5]
                steps.butterfly(row, rng.choice([(), (), some, range(1, steps.levels)]))
            else:
                steps.forwards(rng.randint(1, 4), row)
    steps.add(OBSERVE, row=True)
    return tuple(steps.made)


class MessageRun:
    """One realization of a case without exchanges: `rows` as `_core.ready_times` gives them.

    `phases`: of the one periodic source, if there is any.
    """

    def __init__(self, case, noise=None, phases=None):
        self.case, self.noise, self.phases = case, noise, phases
        n = case.ranks
        self.busy, self.sent, self.out = ([0] * n for _ in range(3))
        self.departed = {}  # of half steps, by place
        self.into = [-(2**61)] * n
        self.rows = np.full((len(case.rows), n), NOWHERE, dtype=np.int64)
        for step in case.program_steps:
            self.do(step)
            if step[2] & STARTS_CLOCK:
                self.clocks = list(self.sent)
            if step[4] >= 0:
                since = self.clocks if step[2] & OWN_TIME else [0] * n
                self.rows[step[4]] = [a - b for a, b in zip(self.sent, since, strict=True)]

    def advance(self, rank, t, work, compute=False):
        """The end of so much work that begins at t, interval by interval."""
        noise = self.noise
        if work == 0 or noise is None:
            return t + work
        if not (noise.in_compute if compute else noise.in_communication):
            return t + work
        k = (t - self.phases[rank]) // noise.period
        while True:
            begin = self.phases[rank] + k * noise.period
            end = begin + noise.duration
            k += 1
            if end <= t or (k <= 0 and not noise.stationary):
                continue
            if t + work <= begin:
                return t + work
            work -= max(begin - t, 0)
            t = end

    def do(self, step):
        kind, number, flags, _, _, *partners, cost, repeat = step
        costs = self.case.costs
        everyone = range(self.case.ranks)
        if kind == COMPUTE:
            own, work, delay, _ = partners
            times = self.case.rank_times
            for i in everyone:
                late = times[delay + i] if own & 2 else 0
                length = times[work + i] if own & 1 else costs.work
                self.busy[i] = self.advance(i, self.busy[i] + late, length, True)
            self.sent = list(self.busy)
        elif kind == FORWARD:
            self.forward(number)
        elif kind == MESSAGE:
            sent = self.case.sent(partners, cost)
            for _ in range(repeat):
                if flags & RECEIVES_ONLY:
                    self.receive(self.departed.pop(partners[3]))
                elif flags & SENDS_ONLY:
                    self.departed[partners[3]] = self.send(sent)
                else:
                    self.receive(self.send(sent))
            self.sent = list(self.busy)

    def forward(self, number):
        costs, ranks = self.case.costs, self.case.ranks
        joined = [i for i in range(ranks) if i ^ 1 << number < ranks]
        left = {i: self.advance(i, self.busy[i], costs.forward) for i in joined}
        if costs.forward == 0:
            left = {i: self.sent[i] for i in joined}
        for i in joined:
            at = left[i ^ 1 << number] + costs.transit
            sooner = at < self.sent[i]
            self.sent[i] = at if sooner else self.sent[i]
            self.busy[i] = at if sooner else left[i]

    def send(self, sent):
        """When each of these messages arrives, by its receiver, and its cost entry."""
        arrivals = {}
        for sender, receiver, cost in sent:
            send, _, transit, gap = self.case.messages[cost]
            start = max(self.busy[sender], self.out[sender])
            left = self.advance(sender, start, send)
            self.out[sender] = left + gap - send
            self.busy[sender] = left
            arrivals[receiver] = left + transit, cost
        return arrivals

    def receive(self, arrivals):
        for receiver, (arrival, cost) in arrivals.items():
            _, receive, _, gap = self.case.messages[cost]
            at = max(arrival, self.into[receiver] + gap)
            self.into[receiver] = at
            self.busy[receiver] = self.advance(receiver, max(self.busy[receiver], at), receive)
