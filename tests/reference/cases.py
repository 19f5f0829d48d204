"""Random butterfly cases, and each as a program of the engine."""

from dataclasses import dataclass, fields, replace

import numpy as np

from .event_driven import ButterflyRun, Costs
from .noise import Jitter, PeriodicNoise, Source

# The numbers of cuda/core/program.h, written again on purpose: they are the engine's interface.
COMPUTE, ENTER, EXCHANGE, FORWARD, OBSERVE = range(5)
COPY, FINAL, ASK = 1, 2, 8


@dataclass(frozen=True)
class EngineCase:
    """Everything that one realization depends on.

    `periodic` and `jitter` are the first two of the `sources`, `others` follow. `hidden`: rows that
    are not observed.
    """

    log2_ranks: int
    costs: Costs
    within: tuple[int, ...] = ()
    after: int = 0
    cycles: int = 1
    periodic: PeriodicNoise | None = None
    jitter: Jitter | None = None
    seed: int = 0
    realization: int = 0
    hidden: frozenset[int] = frozenset()
    others: tuple[Source, ...] = ()
    mirrors: tuple[int, ...] = (1,)
    asked: tuple[int, ...] = ()
    messages = listed = loads = rank_times = combines = ()  # of message steps: there are none

    @property
    def ranks(self):
        return 1 << self.log2_ranks

    @property
    def sources(self):
        """All sources of noise, in their order."""
        first = (source for source in (self.periodic, self.jitter) if source)
        return (*first, *self.others)

    @property
    def rows(self):
        """Indices, among all rows of the reference, of those that the engine observes."""
        count = 1 + self.cycles * (self.log2_ranks + self.after + 1)
        return [row for row in range(count) if row not in self.hidden]

    def reference(self, order=None):
        """The executed reference."""
        run = ButterflyRun(self.log2_ranks, self.costs, within=self.within, after=self.after,
                           cycles=self.cycles, sources=self.sources, seed=self.seed,
                           realization=self.realization, order=order, mirrors=self.mirrors,
                           asked=self.asked)  # fmt: skip
        run.execute()
        return run

    def steps(self):
        """The program as the engine takes it: kind, round, flags, draw, row; no messages."""
        numbers = {row: number for number, row in enumerate(self.rows)}
        steps, row = [], 0

        def step(kind, number=0, flags=0, draw=0, row=None):
            steps.append((kind, number, flags, draw, numbers.get(row, -1), 0, 0, 0, 0, 0, 1))

        for cycle in range(self.cycles):
            step(COMPUTE, draw=64 * cycle)
            flags = 0 if self.log2_ranks else FINAL
            step(ENTER, flags=flags, draw=64 * cycle, row=0 if cycle == 0 else None)
            for level in range(1, self.log2_ranks + 1):
                row += 1
                flags = COPY if level in self.within else 0
                flags |= ASK if level in self.asked else 0
                flags |= FINAL if level == self.log2_ranks else 0
                step(EXCHANGE, level - 1, flags, 64 * cycle + level - 1, row)
            for m in range(1, self.after + 1):
                row += 1
                step(FORWARD, m - 1, 0, 64 * cycle + m - 1, row)
            row += 1
            step(OBSERVE, row=row)
        return np.array(steps, dtype=np.int32)

    def program(self, core):
        """The case as a `jitterfly._core.Program`."""
        costs = {field.name: getattr(self.costs, field.name) for field in fields(Costs)}
        program = core.Program(
            log2_ranks=self.log2_ranks, steps=self.steps(), rows=len(self.rows),
            mirrors=list(self.mirrors), **costs)  # fmt: skip
        self.add_noise(core, program)
        return program

    def add_noise(self, core, program):
        """Put the sources into a program."""
        for source in self.sources:
            source.apply(core, program)


def random_cost(rng, largest):
    return rng.choice([0, rng.randint(0, 3), rng.randint(0, largest)])


def random_periodic(rng, ranks, largest):
    """From periods of two ticks to a few intervals in a run; durations up to period - 1."""
    period = rng.choice([rng.randint(2, 8), rng.randint(2, 60), rng.randint(60, 40 * largest + 60)])
    duration = rng.choice([rng.randint(1, period - 1), period - 1, max(1, period // 20)])
    phases = None
    node_ranks = rng.choice([1, 1, 1, min(2, ranks), rng.choice([1, ranks]), ranks])
    if rng.random() < 0.25:
        phases, node_ranks = tuple(rng.randrange(period) for _ in range(ranks)), 1
    during = rng.choice([(True, True), (True, True), (True, False), (False, True)])
    return PeriodicNoise(period, duration, rng.random() < 0.5, node_ranks, phases, *during)


def random_jitter(rng, largest):
    thresholds = sorted((rng.getrandbits(64) for _ in range(rng.randint(1, 4))), reverse=True)
    return Jitter(rng.randint(1, 2 * largest), tuple(thresholds))


def random_case(rng, largest_log2=8):
    """A case of a few ticks to some thousands of everything; ties in time are frequent."""
    log2_ranks = rng.choice([*range(largest_log2 + 1), 3, 4, 5, 5])
    largest = rng.choice([3, 10, 100, 1000])
    costs = Costs(*(random_cost(rng, largest) for _ in range(6)))
    some = tuple(level for level in range(1, log2_ranks) if rng.random() < 0.5)
    case = EngineCase(
        log2_ranks,
        replace(costs, work=costs.work * rng.choice([1, 10])),
        within=rng.choice([(), some, some, tuple(range(1, log2_ranks))]),
        after=rng.choice([0, rng.randint(0, log2_ranks), log2_ranks]),
        cycles=rng.randint(1, 3),
        periodic=random_periodic(rng, 1 << log2_ranks, largest) if rng.random() < 0.9 else None,
        jitter=random_jitter(rng, largest) if rng.random() < 0.4 else None,
        seed=rng.getrandbits(64),
        realization=rng.getrandbits(32),
    )
    if rng.random() < 0.3:
        hidden = frozenset(row for row in case.rows[:-1] if rng.random() < 0.5)
        case = replace(case, hidden=hidden)
    return case


def redundant_case(rng, largest_log2=7):
    """Cheap messages and rare long noise, so that many copies are adopted and levels skipped."""
    case = random_case(rng)
    log2_ranks = rng.randint(3, largest_log2)
    period = rng.randint(500, 5000)
    noise = PeriodicNoise(period, rng.randint(period // 50, period // 3), rng.random() < 0.5)
    small = [rng.randint(0, 5) for _ in range(4)]
    return replace(
        case,
        log2_ranks=log2_ranks,
        costs=Costs(small[0], small[1], rng.randint(1, 100), *small[2:], rng.randint(0, 3)),
        within=tuple(level for level in range(1, log2_ranks) if rng.random() < 0.6),
        after=rng.randint(0, log2_ranks),
        periodic=noise,
        hidden=frozenset(),
    )


def mirrors_case(rng):
    """Copies to any ranks that hold the same data, at some levels or all."""
    case = redundant_case(rng) if rng.random() < 0.7 else instant_case(rng)
    masks = rng.sample(range(1, 1 << min(case.log2_ranks, 4)), rng.randint(1, 4))
    return replace(case, mirrors=tuple(masks))


def asking_case(rng):
    """Copies on demand, where they often come first."""
    case = redundant_case(rng) if rng.random() < 0.7 else instant_case(rng)
    asked = tuple(level for level in range(1, case.log2_ranks + 1) if rng.random() < 0.7)
    patience = rng.choice([0, rng.randint(0, 20), rng.randint(0, 200)])
    costs = replace(case.costs, patience=patience, ask=rng.randint(0, 4),
                    request=rng.choice([0, rng.randint(0, 60)]))  # fmt: skip
    return replace(case, costs=costs, within=(), asked=asked)


def instant_case(rng):
    """Messages that take no time, some of them jitter: whole chains of events in one instant."""
    case = random_case(rng)
    log2_ranks = rng.randint(3, 6)
    period = rng.randint(3, 40)
    costs = [rng.choice([0, 0, 1]), rng.choice([0, 0, 1]), 0, rng.randint(0, 2)]
    thresholds = tuple(sorted((rng.getrandbits(64), rng.getrandbits(64)), reverse=True))
    return replace(
        case,
        log2_ranks=log2_ranks,
        costs=Costs(*costs, work=rng.choice([0, 3, 7])),
        within=tuple(level for level in range(1, log2_ranks) if rng.random() < 0.6),
        after=rng.choice([0, log2_ranks]),
        periodic=PeriodicNoise(period, rng.randint(1, period - 1), rng.random() < 0.5),
        jitter=Jitter(rng.randint(1, 3), thresholds),
        hidden=frozenset(),
    )
