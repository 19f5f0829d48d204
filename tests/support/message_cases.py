"""Programs of message steps, random and named (ring, trees, windows), for tests of engines."""

import itertools
import random
from dataclasses import replace

import numpy as np
from reference import Costs, PeriodicNoise
from reference.cases import COMPUTE, ENTER, EXCHANGE, FINAL, OBSERVE, random_cost
from reference.collectives import random_options
from reference.messages import (
    LISTED,
    MESSAGE,
    OWN_TIME,
    RANGE,
    RECEIVES_ONLY,
    SENDS_ONLY,
    SHIFT,
    STARTS_CLOCK,
    TREE,
    XOR,
    MessageCase,
    MessageRun,
    Steps,
    random_steps,
)
from reference.random_noise import random_delay, random_hosts, random_nodes

import jitterfly as jf
from jitterfly import _core
from jitterfly.program import _engine_steps as engine_steps
from support.kernel_cases import ALL_NOISES, COSTS, NOISES, any_noise

COUNTED = (
    "pairwise_alltoallv", "linear_alltoallv", "ring_allgatherv", "bruck_allgatherv",
    "neighbor_exchange_allgatherv", "ring_reduce_scatterv", "recursive_halving_reduce_scatterv",
)  # fmt: skip
"""Collectives whose messages differ in size within a step."""
_ROW = 4  # of a step's numbers
_MAX_MEETINGS = 2000  # of work and intervals, where the engine goes from one to the next
# Links that are occupied for longer than CPUs, and not at all.
COST_ENTRIES = ((900, 1900, 1_000_000, 3000), (900, 1100, 1_000_000, 0))


def ring(steps):
    steps.message((SHIFT, 1 % steps.ranks, 0, 0), 0, row=True, repeat=min(2 * steps.ranks, 9))


def dissemination(steps):
    for r in range((steps.ranks - 1).bit_length()):
        steps.message((SHIFT, 1 << r, 0, 0), 1, r, row=r % 3 == 0)


def recursive_doubling(steps):
    for r in range(steps.levels):
        steps.message((XOR, 1 << r, 1 << steps.levels, 0), 1, r)


def trees(steps):
    strides = [1 << r for r in range((steps.ranks - 1).bit_length())]
    for down, order in ((0, strides), (1, strides[::-1])):
        for number, stride in enumerate(order):
            steps.message((TREE, stride, steps.ranks, down), 0, number, row=stride == 4)


def fold(steps, within=()):
    """A butterfly with the usual fold, and forwards to all ranks."""
    size = 1 << steps.levels
    extras = steps.ranks - size
    if extras:
        steps.message((RANGE, size, steps.ranks, -size), 1, 62)
    steps.butterfly(steps.cycle == 0, within)
    if extras:
        steps.message((RANGE, 0, extras, size), 1, 63, row=True)
    steps.forwards(3, row=True)


MESSAGE_PROGRAMS = {
    "ring": ring,
    "dissemination": dissemination,
    "recursive doubling": recursive_doubling,
    "trees": trees,
    "fold": fold,
    "fold, copies": lambda steps: fold(steps, range(1, steps.levels)),
    "fold, some copies": lambda steps: fold(steps, (2, 3, 6)),
}


def make_messages(program, noise, ranks, **changes):
    """Two cycles of the program of that name."""
    sources = ALL_NOISES[noise](1 << (ranks - 1).bit_length())
    sources = tuple(fitted(source, ranks) for source in sources)
    jitters = [
        (cost, source if source.role == "jitter" else replace(source, way=COST_ENTRIES[cost][2]))
        for cost in (0, 1)
        for source in sources
        if source.role == "jitter" or getattr(source, "way", None) is not None
    ]
    steps = Steps(ranks)
    for steps.cycle in range(2):
        steps.add(0)
        MESSAGE_PROGRAMS[program](steps)
    steps.add(4, row=True)
    case = MessageCase(ranks, tuple(steps.made), COST_ENTRIES, COSTS, sources, tuple(jitters),
                       seed=2**63 + 5)  # fmt: skip
    return replace(case, **changes)


def with_counts(kind, noise, ranks, **changes):
    """A collective whose messages differ in size, and of which some are empty, on so many ranks."""
    rng = random.Random(f"{kind} {ranks}")
    counts = [[rng.choice([0, 1, 40]) for _ in range(ranks)] for _ in range(ranks)]
    table = {"kind": kind, "counts": counts if "alltoall" in kind else counts[0]}
    network = jf.LogGOPS(L="1us", o="1ns", g="2ns", G="0.1ns", O="10ps", gamma="20ps")
    case = jf.Case(ranks, algorithm=jf.Algorithm.from_dict(table), network=network, message_bytes=8)
    return _of_public_case(case, noise, **changes)


def of_nccl(number, noise, **changes):
    """NCCL's trees and its switches that combine, whose messages have costs of one rank or none."""
    near = jf.LogGOPS(L="300ps", o="1ns", g="2ns", G="0.1ns", gamma="20ps")
    nodes = jf.Hierarchy([(2, near), jf.LogGOPS(L="1us", o="1ns", g="2ns", G="0.1ns")])
    tree = jf.NcclTreeAllreduce(chunk_bytes=3, channels=3, node_ranks=2)
    made = [
        tree,
        jf.InNetworkAllreduce(switch_time="7ps"),
        jf.InNetworkAllreduce(2),
        jf.InNetworkAllreduce(2, intra_node="direct", inter_node="tree", chunk_bytes=2),
        jf.InNetworkAllreduce(2, intra_node="chain"),
        jf.InNetworkReduceScatter(switch_time="7ps"),
        jf.InNetworkAllgather(chunk_bytes=2),
    ]
    ranks, which = 4 + 2 * (number % 4), number % len(made)
    network = near if which > 4 else nodes  # all ranks of these are at one switch
    case = jf.Case(ranks, algorithm=made[which], network=network, message_bytes=8)
    return _of_public_case(case, noise, **changes)


def of_algorithm(number, kind, noise, **changes):
    """A collective of any kind that sends messages, with random parameters, on a few ranks."""
    rng = random.Random(f"{kind} {number}")
    ranks, size = 3 + number % 9, 8
    network = jf.LogGOPS(L="1us", o="1ns", g="2ns", G="0.1ns", gamma="20ps")
    table = {"kind": kind} | random_options(rng, kind, ranks, size)
    algorithm = jf.Algorithm.from_dict(table)
    case = jf.Case(ranks, algorithm=algorithm, network=network, message_bytes=size)
    return _of_public_case(case, noise, **changes)


def _of_public_case(case, noise, **changes):
    """The program of a case, in the tests' own words, under noise of the tests."""
    ranks = case.ranks
    steps, listed = engine_steps(case.compiled_steps)
    steps[:, _ROW] = -1
    steps[-1, _ROW] = 0
    entries = tuple(map(tuple, case.compiled_steps.table.entries))
    made = make_messages("ring", noise, ranks)
    jitters = [
        (cost, source if source.role == "jitter" else replace(source, way=entries[cost][2]))
        for cost in range(len(entries))
        for source in made.sources
        if source.role == "jitter" or getattr(source, "way", None) is not None
    ]
    return replace(
        made, program_steps=tuple(map(tuple, steps.tolist())), messages=entries,
        listed=() if listed is None else tuple(map(tuple, listed.tolist())), jitters=tuple(jitters),
        combines=case.compiled_steps.table.combines, **changes)  # fmt: skip


def fitted(source, ranks):
    """Phases, offsets and hosts of so many ranks, and nodes of no more."""
    if source.node_ranks > ranks:
        source = replace(source, node_ranks=ranks)
    bursts = getattr(source, "bursts", None)
    if bursts is not None and bursts.node_ranks > ranks:
        source = replace(source, bursts=replace(bursts, node_ranks=ranks))
    for name in ("phases", "offsets", "hosts"):
        values = getattr(source, name, None)
        if values is not None:
            source = replace(source, **{name: values[:ranks]})
    return source


def random_costs(rng, largest):
    """Costs of entries, some of which occupy links for longer than CPUs."""
    entries = [tuple(random_cost(rng, largest) for _ in range(4)) for _ in range(rng.randint(1, 4))]
    return entries if rng.random() < 0.6 else [(*entry[:3], 0) for entry in entries]


def any_ranks(rng, number):
    if number < 140:
        return 1 + number % 70
    return rng.choice([rng.randint(70, 5000), rng.randint(1, 9), 1 << rng.randint(6, 12)])


def explicit_noise(rng, ranks, largest):
    if rng.random() < 0.15:
        return None
    noise = any_noise(rng, ranks)
    period = rng.choice([noise.period, rng.randint(2, 30 * largest + 60)])
    return replace(noise, period=period, duration=min(noise.duration, period - 1), node_ranks=1,
                   phases=tuple(rng.randrange(period) for _ in range(ranks)))  # fmt: skip


def message_case(number, family="any", largest=10**6):
    """Any program of any steps, under no noise or one periodic source."""
    rng = random.Random(f"messages {family} {number}")
    ranks, largest = any_ranks(rng, number), rng.choice([3, 100, largest])
    messages = random_costs(rng, largest)
    costs = Costs(*(random_cost(rng, largest) for _ in range(5)), rng.choice([0, 0, 2, largest]))
    return MessageCase(
        ranks,
        random_steps(rng, ranks, len(messages)),
        tuple(messages),
        costs,
        sources=tuple(noise for noise in (explicit_noise(rng, ranks, largest),) if noise),
        seed=rng.getrandbits(64),
        realization=rng.randrange(2**32 - 10),
    )


def noisy_case(number):
    """The same under every kind of noise."""
    rng = random.Random(f"noise {number}")
    case = message_case(number, "noise")
    names = list(NOISES)
    sources = NOISES[names[number % len(names)]](1 << (case.ranks - 1).bit_length())
    sources = [fitted(source, case.ranks) for source in sources]
    jitters = [(cost, source) for cost in range(len(case.messages))
               for source in sources if source.role == "jitter" and rng.random() < 0.8]  # fmt: skip
    entries = tuple(
        (COSTS.send, COSTS.receive, COSTS.transit, gap) for gap in (0, 300, 10**6, 5000)
    )
    if number % 3:
        case = replace(case, messages=entries[: len(case.messages)])
    return replace(case, sources=tuple(sources), jitters=tuple(jitters))


def without_exchanges(case):
    """The same case without a hypercube, and with rows whose numbers have no gaps."""
    steps = [s for s in case.program_steps if s[0] not in (ENTER, EXCHANGE)]
    rows = {row: i for i, row in enumerate(sorted({s[4] for s in steps} - {-1}))} | {-1: -1}
    return replace(case, program_steps=tuple((*s[:4], rows[s[4]], *s[5:]) for s in steps))


def check_rules(case, label):
    """The engine's times of a case without exchanges are those of the rules of a message."""
    noise = case.sources[0] if case.sources else None
    expected = MessageRun(case, noise, noise and noise.phases).rows
    found = _core.ready_times(case.program(_core), case.seed, case.realization)
    np.testing.assert_array_equal(found, expected, err_msg=label)


def with_own_times(case, rng, largest=10**6):
    """The same case, whose ranks differ in their compute phases and in when they begin them."""
    steps, times = [], []
    for step in case.program_steps:
        if step[0] == COMPUTE:
            own, begin = rng.randrange(4), len(times)
            times += [rng.choice([0, rng.randint(0, largest)]) for _ in range(2 * case.ranks)]
            step = (*step[:5], own, begin, begin + case.ranks, *step[8:])
        steps.append(step)
    return replace(case, program_steps=tuple(steps), rank_times=tuple(times))


def mixed(rng, sends, receives):
    """Both lists in their order, where no message is received before it is sent."""
    made, waiting, sends, receives = [], set(), list(sends), list(receives)
    while sends or receives:
        if sends and (rng.random() < 0.6 or receives[0][8] not in waiting):
            waiting.add(sends[0][8])
            made.append(sends.pop(0))
        else:
            made.append(receives.pop(0))
    return made


def with_windows(case, rng, width=None):
    """The same case, where ranks send several messages before they receive them, in any order.

    As many as `width`, else some.
    """
    steps = []
    for step in case.program_steps:
        if step[0] != MESSAGE or case.ranks == 1:
            steps.append(step)
            continue
        kind, number, flags, draw, row = step[:5]
        count = width or rng.choice([1, 2, 3, rng.randint(1, 9)])
        places = rng.sample(range(count + 2), count)
        halves = []
        for place in places:
            partners = SHIFT, rng.randrange(1, case.ranks), 0
            if rng.random() < 0.3:
                partners = XOR, rng.randrange(1, 1 << case.log2_ranks), 1 << case.log2_ranks
            halves.append((number + place, *partners, place, rng.randrange(len(case.messages))))
        sends = [(kind, half[0], flags | SENDS_ONLY, draw, -1, *half[1:], 1) for half in halves]
        rng.shuffle(halves)
        receives = [
            (kind, half[0], flags | RECEIVES_ONLY, draw, -1, *half[1:], 1) for half in halves
        ]
        receives[-1] = (*receives[-1][:4], row, *receives[-1][5:])
        steps += mixed(rng, sends, receives)
    return replace(case, program_steps=tuple(steps))


def with_clocks(case, rng):
    """The same case, in which the clocks of ranks start here and there, and are looked at."""
    made, inside, running, row = [], False, False, len(case.rows)
    for step in case.program_steps:
        made.append(step)
        if step[0] in (ENTER, EXCHANGE):
            inside = not step[2] & FINAL
        if inside or rng.random() < 0.4:
            continue
        looks = running and rng.random() < 0.7
        number = row if looks or rng.random() < 0.3 else -1
        row += number >= 0
        flag = OWN_TIME if looks else STARTS_CLOCK
        made.append((OBSERVE, 0, flag, step[3] // 64 * 64, number, 0, 0, 0, 0, 0, 1))
        running = True
    return replace(case, program_steps=tuple(made))


def random_hosts_of(case, count):
    """Whether each of so many sources acts on each rank: the first one on all."""
    rng = random.Random(f"hosts of {case.ranks} ranks, {case.seed}")
    return [(True,) * case.ranks] + [random_hosts(rng, case.ranks) for _ in range(count - 1)]


def with_rank_delays(case, rng, largest=10**6):
    """The same case, whose ranks begin late by draws."""
    delays = tuple(
        (random_delay(rng, largest), random_nodes(rng, case.ranks), rng.random() < 0.5, hosts)
        for hosts in random_hosts_of(case, rng.randint(1, 3))
    )
    return replace(case, rank_delays=delays)


def with_rank_speeds(case, rng):
    """The same case, whose ranks compute and combine slower, or faster, by draws.

    Ranks of an exchange, unlike those of a message, combine alike.
    """
    if any(step[0] == EXCHANGE for step in case.program_steps):
        case = replace(case, costs=replace(case.costs, combine=0))
    combines = tuple(rng.choice([0, receive, rng.randint(0, receive)])
                     for _, receive, _, _ in case.messages)  # fmt: skip
    holds = itertools.cycle([0, 1_000_000, 2**13])
    speeds = tuple((random_delay(rng, 3 * 10**12), random_nodes(rng, case.ranks), hosts, held)
                   for hosts, held in zip(random_hosts_of(case, rng.randint(1, 3)), holds,
                                          strict=False))  # fmt: skip
    # Among drawn speeds noise is a list of sources, which goes from interval to interval: where one
    # leaves a tick between two, microseconds of work would meet millions.
    sources = tuple(map(_with_gaps, case.sources))
    gaps = [one.period - one.duration for one in sources if isinstance(one, PeriodicNoise)]
    work = min([case.costs.work, *(_MAX_MEETINGS * gap for gap in gaps)])
    case = replace(case, costs=replace(case.costs, work=work), sources=sources)
    return replace(case, combines=combines, rank_speeds=speeds)


def with_uneven_ranks(case, number):
    """The same case, whose ranks differ in their times and begin late; if odd, also in speed."""
    rng = random.Random(number)
    case = with_rank_delays(with_own_times(case, rng), rng)
    return with_rank_speeds(case, rng) if number % 2 else case


def _with_gaps(source):
    """Periodic noise that leaves a fiftieth of its period, or more; other noise as it is."""
    if not isinstance(source, PeriodicNoise):
        return source
    return replace(source, duration=min(source.duration, source.period - source.period // 50))


def as_lists(case, rng, *, own_costs=False):
    """The same case with all messages listed; each with a cost of its own, if asked.

    A rank that would send to itself sends nothing.
    """
    listed, steps, halves = [], [], {}
    for step in case.program_steps:
        if step[0] == MESSAGE and step[2] & RECEIVES_ONLY:
            steps.append((*step[:5], *halves[step[8]], *step[8:]))
            continue
        if step[0] == MESSAGE:
            cost, repeat = step[9:]
            sent = sorted(m for m in case.sent(step[5:9], cost) if m[0] != m[1])
            if own_costs:
                sent = [(a, b, rng.randrange(len(case.messages))) for a, b, _ in sent]
            begin = len(listed)
            listed += sent
            place = step[8] if step[2] & SENDS_ONLY else 0
            halves[place] = LISTED, begin, len(listed)
            step = (*step[:5], *halves[place], place, cost, repeat)
        steps.append(step)
    return replace(case, program_steps=tuple(steps), listed=tuple(listed))
