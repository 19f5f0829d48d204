"""Reference of application schedules by LogGOPSim's rules, event by event, in ticks.

`ArrivalOrder` lets CPUs take what comes first. `InOrder` is told in which order each CPU and each
way in and out is used, and which message a receive takes, by a run of `ArrivalOrder` without noise;
it goes round the ranks until all is done. They share the costs and the noise, and no time.
"""

import heapq
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from .realized import RealizedNoise

KINDS = {"send": 0, "recv": 1, "calc": 2}  # order of those that become free together


@dataclass
class Operation:
    """`size`: bytes, or ns of a calculation. `needs`, `starts`: numbers of operations of its rank
    that must be done, or have begun.
    """

    kind: str
    size: int
    peer: int = 0
    tag: int = 0
    cpu: int = 0
    nic: int = 0
    needs: list = field(default_factory=list)
    starts: list = field(default_factory=list)


@dataclass(frozen=True)
class Costs:
    """LogGOPS in ticks; `S` in bytes."""

    L: int
    o: int = 0
    g: int = 0
    G: int = 0
    O: int = 0  # noqa: E741
    S: int = 2**64

    def gap(self, n):
        return self.g + max(n - 1, 0) * self.G

    def wire(self, n):
        return max(n - 1, 0) * self.G

    def cpu(self, n):
        return max(n - 1, 0) * self.O


@dataclass(frozen=True)
class Machine:
    """Levels of a machine: the costs of each, and the slots that a part of each but the last spans.

    `slots`: of each rank. `factors`: on each rank's calculations, in units of 2^-32; None: 1.
    """

    levels: list
    spans: list = field(default_factory=list)
    slots: list | None = None
    factors: list | None = None

    def between(self, sender, receiver):
        level = 0
        for span in self.spans:
            level += self.slots[sender] // span != self.slots[receiver] // span
        return self.levels[level]

    def work(self, rank, ticks):
        """To the nearest tick."""
        return ticks if self.factors is None else (ticks * self.factors[rank] + 2**31) >> 32


def as_text(ranks):
    """The schedule as GOAL."""
    lines = [f"num_ranks {len(ranks)}"]
    for rank, operations in enumerate(ranks):
        lines.append(f"rank {rank} {{")
        for i, op in enumerate(operations):
            if op.kind == "calc":
                lines.append(f"l{i}: calc {op.size} cpu {op.cpu}")
            else:
                towards = "to" if op.kind == "send" else "from"
                lines.append(f"l{i}: {op.kind} {op.size}b {towards} {op.peer} tag {op.tag} "
                             f"cpu {op.cpu} nic {op.nic}")  # fmt: skip
        for i, op in enumerate(operations):
            lines += [f"l{i} requires l{before}" for before in op.needs]
            lines += [f"l{i} irequires l{before}" for before in op.starts]
        lines.append("}")
    return "\n".join(lines) + "\n"


class Rules:
    """What an operation takes, in one realization."""

    def __init__(self, ranks, machine, sources=(), seed=0, realization=0):
        """machine: a `Machine`, or the `Costs` of its only level."""
        self.ranks = ranks
        self.machine = Machine([machine]) if isinstance(machine, Costs) else machine
        self.noise = RealizedNoise(sources, seed, realization, lambda operation, _: operation)
        self.begin, self.end = {}, {}  # of operations; of a receive: of taking its message

    def calculate(self, rank, i, t):
        self.begin[rank, i] = t
        work = self.machine.work(rank, 1000 * self.ranks[rank][i].size)
        self.end[rank, i] = self.noise.compute(rank, t, work, i)
        return self.end[rank, i]

    def message(self, sender, i):
        """The costs of a send, and its bytes."""
        send = self.ranks[sender][i]
        return self.machine.between(sender, send.peer), send.size

    def needs_rendezvous(self, sender, i):
        costs, n = self.message(sender, i)
        return n > costs.S

    def send_off(self, rank, i, t):
        """When the CPU is free, the way out is free, and the first byte has left."""
        costs, n = self.message(rank, i)
        left = self.noise.send(rank, t, costs.o, i, 0)
        self.begin[rank, i] = t
        self.end[rank, i] = self.noise.pass_on(rank, left, costs.cpu(n))
        return self.end[rank, i], left - costs.o + costs.gap(n), left

    def arrival(self, rank, receive, sender, i, left):
        costs, n = self.message(sender, i)
        transit = costs.L + costs.wire(n)
        late = self.noise.transit_delay(left, "original", rank, receive, 0, transit)
        return left + costs.L + late

    def take(self, rank, receive, sender, i, t):
        """When the CPU and the way in are free."""
        costs, n = self.message(sender, i)
        begun = self.noise.receive(rank, t, costs.o, receive, 0)
        done = max(self.noise.pass_on(rank, begun, costs.cpu(n)), begun + costs.wire(n))
        return done, t + costs.gap(n)

    def note_take(self, rank, receive, begin, end):
        self.begin[rank, receive], self.end[rank, receive] = begin, end


class ArrivalOrder(Rules):
    """After `execute()`: `begin` and `end`; and what `InOrder` is told.

    `matched`: without noise None, else (sender, send) -> receive, of a run without noise.
    """

    def __init__(self, ranks, machine, sources=(), seed=0, realization=0, matched=None):
        super().__init__(ranks, machine, sources, seed, realization)
        self.known = matched
        self.matched, self.heap, self.count = {}, [], 0
        self.cpu, self.out, self.into = defaultdict(int), defaultdict(int), defaultdict(int)
        cpus = {0, *(op.cpu for operations in ranks for op in operations)}
        for rank in range(len(ranks)):
            late = self.noise.late(rank, 0)
            self.cpu.update(((rank, cpu), late) for cpu in cpus)
        self.left = {}
        self.ready = defaultdict(int)
        self.dependents = defaultdict(list)
        self.queues = defaultdict(list)  # of what waits for its other half
        self.used = defaultdict(list)  # of a CPU, a way out, a way in: what used it, in order
        self.posted_after = {}
        self.freed_at_once = 0  # operations of a rank, at most
        for rank, operations in enumerate(ranks):
            for i, op in enumerate(operations):
                self.left[rank, i] = len(op.needs) + len(op.starts)
                for before in op.needs:
                    self.dependents["done", rank, before].append(i)
                for before in op.starts:
                    self.dependents["begun", rank, before].append(i)

    def execute(self):
        for rank in range(len(self.ranks)):
            free = [i for i in range(len(self.ranks[rank])) if not self.left[rank, i]]
            self.set_free([(rank, i) for i in free])
        while self.heap:
            time, order, (what, *about) = heapq.heappop(self.heap)
            self.set_free(getattr(self, what)(time, order, *about))
        assert not any(self.left.values()), "operations wait for each other"
        assert not any(self.queues.values()), "a message or a receive is left"
        return max(self.cpu.values())

    def push(self, time, *event, order=None):
        if order is None:
            order = self.count
            self.count += 1
        heapq.heappush(self.heap, (time, order, event))

    def set_free(self, freed):
        of_ranks = Counter(rank for rank, _ in freed)
        self.freed_at_once = max([self.freed_at_once, *of_ranks.values()])
        freed.sort(key=lambda one: (one[0], KINDS[self.ranks[one[0]][one[1]].kind]))
        for rank, i in freed:
            op = self.ranks[rank][i]
            if op.kind == "recv":
                self.posted_after[rank, i] = len(self.used["cpu", rank, op.cpu])
            self.push(max(self.ready[rank, i], self.cpu[rank, op.cpu]), op.kind, rank, i)

    def release(self, how, rank, i, time):
        freed = []
        for later in self.dependents[how, rank, i]:
            self.ready[rank, later] = max(self.ready[rank, later], time)
            self.left[rank, later] -= 1
            if not self.left[rank, later]:
                freed.append((rank, later))
        return freed

    def calc(self, time, order, rank, i):
        where = rank, self.ranks[rank][i].cpu
        if self.cpu[where] > time:
            self.push(self.cpu[where], "calc", rank, i, order=order)
            return []
        self.cpu[where] = self.calculate(rank, i, time)
        self.used[("cpu", *where)].append(("calc", rank, i))
        return self.release("begun", rank, i, time) + self.release("done", rank, i, self.cpu[where])

    def send(self, time, order, rank, i):
        op = self.ranks[rank][i]
        where, way = (rank, op.cpu), (rank, op.nic)
        free = max(self.cpu[where], self.out[way])
        if free > time:
            self.push(free, "send", rank, i, order=order)
            return []
        self.cpu[where], self.out[way], left = self.send_off(rank, i, time)
        self.used[("cpu", *where)].append(("send", rank, i))
        self.used[("out", *way)].append(("send", rank, i))
        receive = 0 if self.known is None else self.known[rank, i]
        self.push(self.arrival(op.peer, receive, rank, i, left), "arrive", op.peer, rank, i)
        freed = self.release("begun", rank, i, time)
        if not self.needs_rendezvous(rank, i):
            freed += self.release("done", rank, i, self.cpu[where])
        return freed

    def arrive(self, time, order, rank, sender, i):
        op = self.ranks[sender][i]
        where, way = (rank, op.cpu), (rank, op.nic)
        free = max(self.cpu[where], self.into[way])
        if free > time:
            self.push(free, "arrive", rank, sender, i, order=order)
            return []
        receive = 0 if self.known is None else self.known[sender, i]
        self.cpu[where], self.into[way] = self.take(rank, receive, sender, i, time)
        self.used[("cpu", *where)].append(("take", sender, i))
        self.used[("in", *way)].append(("take", sender, i))
        taken = sender, i, time, self.cpu[where]
        posted = self.other_half("posted", sender, rank, op.tag, receive)
        if posted is None:
            self.queues[self.channel("taken", sender, rank, op.tag, receive)].append(taken)
            return []
        return self.both(rank, *posted, *taken)

    def recv(self, time, order, rank, i):
        op = self.ranks[rank][i]
        freed = self.release("begun", rank, i, time)
        taken = self.other_half("taken", op.peer, rank, op.tag, i)
        if taken is None:
            self.queues[self.channel("posted", op.peer, rank, op.tag, i)].append((i, time))
            return freed
        return freed + self.both(rank, i, time, *taken)

    def channel(self, half, sender, rank, tag, receive):
        return (half, rank, sender, tag) if self.known is None else (half, rank, receive)

    def other_half(self, half, sender, rank, tag, receive):
        queue = self.queues[self.channel(half, sender, rank, tag, receive)]
        return queue.pop(0) if queue else None

    def both(self, rank, receive, posted, sender, send, begin, end):
        self.matched[sender, send] = receive
        self.note_take(rank, receive, begin, end)
        freed = []
        if self.needs_rendezvous(sender, send):
            freed = self.release("done", sender, send, max(posted, begin))
        return freed + self.release("done", rank, receive, max(posted, end))


class InOrder(Rules):
    """Every CPU, way out and way in keeps the order that it has in `quiet`, executed before."""

    def __init__(self, quiet, sources=(), seed=0, realization=0):
        super().__init__(quiet.ranks, quiet.machine, sources, seed, realization)
        self.quiet = quiet
        self.begun, self.done = {}, {}  # when others may go on
        self.left, self.taken = {}, {}  # of messages, by (sender, send)
        self.free_out, self.free_in = defaultdict(int), defaultdict(int)
        # Of a CPU after each thing that it has done.
        cpus = {("cpu", rank, op.cpu) for rank, ops in enumerate(self.ranks) for op in ops}
        cpus |= {key for key in quiet.used if key[0] == "cpu"}
        self.clocks = {key: [self.noise.late(key[1], 0)] for key in cpus}
        self.sender_of = {(self.ranks[s][i].peer, r): (s, i) for (s, i), r in quiet.matched.items()}

    def execute(self):
        waiting = {key: list(used) for key, used in self.quiet.used.items()}
        posts = set(self.quiet.posted_after)
        while any(waiting.values()) or posts:
            before = sum(map(len, waiting.values())) + len(posts)
            for key in [key for key in waiting if key[0] == "cpu"]:
                while waiting[key] and self.try_one(key, waiting[key][0], waiting):
                    pass
            posts = {post for post in posts if not self.try_post(*post)}
            assert sum(map(len, waiting.values())) + len(posts) < before, "nothing can go on"
        # A rank that is late is not done before it is there, also one that has no operations.
        idle = [self.noise.late(rank, 0) for rank in range(len(self.ranks))]
        return max([*idle, *(clocks[-1] for clocks in self.clocks.values())], default=0)

    def required(self, rank, i):
        """When what it requires is done and begun; None: not known yet."""
        op = self.ranks[rank][i]
        times = [self.when_done(rank, j) for j in op.needs]
        times += [self.begun.get((rank, j)) for j in op.starts]
        return None if None in times else max(times, default=0)

    def when_done(self, rank, i):
        op = self.ranks[rank][i]
        if op.kind == "recv":
            message = self.sender_of[rank, i]
            halves = self.begun.get((rank, i)), self.taken.get(message, (None, None))[1]
        elif op.kind == "send" and self.needs_rendezvous(rank, i):
            receive = op.peer, self.quiet.matched[rank, i]
            halves = self.begun.get(receive), self.taken.get((rank, i), (None, None))[0]
        else:
            halves = (self.done.get((rank, i)),)
        return None if None in halves else max(halves)

    def try_post(self, rank, i):
        clocks = self.clocks["cpu", rank, self.ranks[rank][i].cpu]
        place, required = self.quiet.posted_after[rank, i], self.required(rank, i)
        if required is None or len(clocks) <= place:
            return False
        self.begun[rank, i] = max(required, clocks[place])
        return True

    def try_one(self, key, what, waiting):
        kind, rank, i = what
        op = self.ranks[rank][i]
        if kind == "take":
            return self.try_take(key, what, waiting)
        required = self.required(rank, i)
        way = "out", rank, op.nic
        if required is None or (kind == "send" and waiting[way][0] != what):
            return False
        at = max(required, self.clocks[key][-1])
        if kind == "calc":
            end = self.calculate(rank, i, at)
        else:
            at = max(at, self.free_out[way])
            end, self.free_out[way], self.left[rank, i] = self.send_off(rank, i, at)
            waiting[way].pop(0)
        self.begun[rank, i], self.done[rank, i] = at, end
        self.clocks[key].append(end)
        waiting[key].pop(0)
        return True

    def try_take(self, key, what, waiting):
        _, sender, i = what
        op = self.ranks[sender][i]
        rank, receive, way = key[1], self.quiet.matched[sender, i], ("in", key[1], op.nic)
        if (sender, i) not in self.left or waiting[way][0] != what:
            return False
        there = self.arrival(rank, receive, sender, i, self.left[sender, i])
        at = max(there, self.clocks[key][-1], self.free_in[way])
        end, self.free_in[way] = self.take(rank, receive, sender, i, at)
        self.taken[sender, i] = at, end
        self.note_take(rank, receive, at, end)
        self.clocks[key].append(end)
        waiting[key].pop(0)
        waiting[way].pop(0)
        return True


def random_schedule(rng, ranks, operations, cpus=1, nics=1, largest=3000, work=2000):
    """Operations in random places that can be executed: made one after the other.

    An operation requires some of those that were made before it on its rank; messages are received
    in the order in which they are sent, for each pair and tag.
    """
    made = [[] for _ in range(ranks)]

    def add(rank, op):
        count = len(made[rank])
        near = range(max(0, count - rng.choice([1, 3, 10])), count)
        for before in near:
            how = rng.random()
            if how < 0.45:
                op.needs.append(before)
            elif how < 0.55:
                op.starts.append(before)
        made[rank].append(op)

    pending = []  # messages that are sent, whose receive is not made yet
    for _ in range(operations):
        rank, cpu, nic = rng.randrange(ranks), rng.randrange(cpus), rng.randrange(nics)
        if ranks == 1 or rng.random() < 0.4:
            add(rank, Operation("calc", rng.choice([0, 1, rng.randint(0, work)]), cpu=cpu))
        else:
            size = rng.choice([1, 8, rng.randint(0, largest)])
            peer = rng.choice([r for r in range(ranks) if r != rank])
            tag = rng.choice([0, 0, 1])
            add(rank, Operation("send", size, peer, tag, cpu, nic))
            pending.append((rank, peer, tag, size))
        while pending and rng.random() < 0.5:
            # The oldest of its channel, so that receives are in the order of the sends.
            sender, peer, tag, size = rng.choice(pending)
            first = next(m for m in pending if m[:3] == (sender, peer, tag))
            pending.remove(first)
            add(peer, Operation("recv", first[3], sender, tag, rng.randrange(cpus),
                                rng.randrange(nics)))  # fmt: skip
    for sender, peer, tag, size in pending:
        add(peer, Operation("recv", size, sender, tag, rng.randrange(cpus), rng.randrange(nics)))
    return made
