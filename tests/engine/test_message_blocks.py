"""Cache blocking of trees on the CPU, against the plain engine."""

import random
from dataclasses import replace
from itertools import product

import pytest
from reference import Costs, PeriodicNoise
from reference.messages import SHIFT, TREE, MessageCase, Steps
from support.instruction_sets import check_instruction_sets
from support.kernel_cases import ALL_NOISES, COSTS
from support.message_cases import fitted
from support.scale import crossed, scaled, some

from jitterfly import _core

PERIODIC = {
    "none": (),
    "fresh": (PeriodicNoise(20_000, 900),),
    "stationary": (PeriodicNoise(20_000, 900, stationary=True),),
    "rare": (PeriodicNoise(10**6, 900),),
    "long": (PeriodicNoise(2**33, 10**6),),
}
"""Met in every block, or in few; the last one's period is more than 32 bits."""

ENTRIES = {
    "busy": ((40, 90, 1000, 0), (30, 70, 1200, 0)),
    "receivers busy": ((0, 90, 1000, 80), (0, 0, 1000, 80)),
    "idle": ((0, 0, 1000, 300), (0, 0, 700, 0)),
    "links": ((40, 90, 1000, 300), (20, 70, 200, 90)),
    "links, not for long": ((40, 90, 1000, 300), (20, 70, 400, 350)),
    "links for long": ((40, 90, 100, 2500), (20, 70, 200, 5000)),
}
"""Costs of messages up and down: send, receive, transit, gap."""


def tree(steps, down, row=(), swapped=False):
    strides = [1 << r for r in range((steps.ranks - 1).bit_length())]
    for number, stride in enumerate(strides[::-1] if down else strides):
        to = TREE, stride, steps.ranks, int(down)
        steps.message(to, int(down != swapped), 32 * down + number, row=stride in row)


def reduce(steps):
    tree(steps, False)


def broadcast(steps):
    tree(steps, True)


def both(steps):
    tree(steps, False)
    tree(steps, True)


def down_and_up(steps):
    tree(steps, True)
    tree(steps, False)


def looked_at(steps):
    """Before, within, between and after blocks."""
    steps.add(4, row=True)
    tree(steps, False, row=(4,))
    tree(steps, True, row=(32, 64))


def looked_at_between(steps):
    tree(steps, False, row=(32, 128))
    tree(steps, True, row=(64, 1))


def up_to_some(steps):
    """A tree over fewer ranks, and one step twice."""
    below = max(steps.ranks * 3 // 4, 1)
    for number in range((below - 1).bit_length()):
        steps.message((TREE, 1 << number, below, 0), 0, number, repeat=1 + number % 2)


def with_a_ring(steps):
    """Links and CPUs are as the trees leave them."""
    tree(steps, False)
    steps.message((SHIFT, 1 % steps.ranks, 0, 0), 0, 40)
    tree(steps, True)
    steps.message((SHIFT, 1 % steps.ranks, 0, 0), 0, 41)


def forwarded(steps):
    both(steps)
    steps.forwards(3, row=True)


def then_a_butterfly(steps):
    """In a pass of its own, which finds all ranks' times in memory."""
    tree(steps, False)
    steps.butterfly()


def then_a_butterfly_of_few(steps):
    """After one step between blocks."""
    steps.message((TREE, 64, steps.ranks, 1), 1, 0)
    steps.butterfly()


PROGRAMS = [reduce, broadcast, both, down_and_up, looked_at, looked_at_between, up_to_some,
            with_a_ring, forwarded, then_a_butterfly, then_a_butterfly_of_few]  # fmt: skip
SIZES = [*range(1, 41), 63, 64, 65, 100, 127, 128, 130, 191, 192, 255, 256, 257, 448, 500, 512,
         1000, 1024, 1537, 4096]  # fmt: skip


def case_of(steps, entries, sources, work=0, **costs):
    changed = {**vars(COSTS), "work": work, **costs}
    jitters = [(cost, source) for cost in (0, 1) for source in sources if source.role == "jitter"]
    return MessageCase(steps.ranks, tuple(steps.made), entries, Costs(**changed), sources,
                       tuple(jitters), 3, 1)  # fmt: skip


def case(program, ranks, entries, sources, work=0, cycles=1, **costs):
    steps = Steps(ranks)
    for steps.cycle in range(cycles):
        steps.add(0)
        program(steps)
        steps.add(4, row=True)
    return case_of(steps, entries, sources, work, **costs)


def results(case):
    """Every rank's times; the maxima alone and all statistics of three realizations, one after the
    other in the same memory.
    """
    program = case.program(_core)
    run = program, case.seed, case.realization
    found = [_core.simulate(*run, 3, which, "cpu", 1, None) for which in ("max", "all")]
    return [_core.ready_times(*run), *found]


def check(case, monkeypatch, label):
    check_instruction_sets(results, case, monkeypatch, f", {label}")


@pytest.mark.parametrize(("program", "entries"), crossed(PROGRAMS, ENTRIES))
def test_as_the_plain_way(program, entries, monkeypatch):
    for noise, ranks in some(product(PERIODIC, SIZES), 10):
        one = case(program, ranks, ENTRIES[entries], PERIODIC[noise])
        check(one, monkeypatch, f"{noise}, {ranks} ranks")


@pytest.mark.parametrize("program", PROGRAMS)
def test_cycles(program, monkeypatch):
    choices = product(PERIODIC, (5, 64, 300, 512), (0, 5000), (0, 50))
    for noise, ranks, work, forward in some(choices, 20):
        one = case(program, ranks, ENTRIES["links"], PERIODIC[noise], work, 2, forward=forward)
        check(one, monkeypatch, f"{noise}, {ranks} ranks, {work}, {forward}")


@pytest.mark.parametrize("noise", ALL_NOISES)
def test_every_noise(noise, monkeypatch):
    """Shared, windowed, explicit, of one phase only, several at once, or of messages."""
    for ranks in some((200, 256, 300), 2):
        sources = ALL_NOISES[noise](1 << (ranks - 1).bit_length())
        sources = tuple(fitted(source, ranks) for source in sources)
        for program in (reduce, broadcast, both):
            one = case(program, ranks, ENTRIES["links"], sources, 500)
            check(one, monkeypatch, f"{program.__name__}, {ranks} ranks")
            one = case(program, ranks, ENTRIES["idle"], sources)
            check(one, monkeypatch, f"{program.__name__}, {ranks} ranks, idle")


@pytest.mark.parametrize("program", PROGRAMS)
def test_one_rank(program, monkeypatch):
    for ranks in (200, 256, 300):
        one = case(program, ranks, ENTRIES["links"], PERIODIC["fresh"])
        check(replace(one, one_rank=True), monkeypatch, f"{ranks} ranks")


def test_any_costs_and_noise(monkeypatch):
    """Costs that differ from step to step, noise in every block or in few, often or for long."""
    rng = random.Random("trees")
    for number in range(scaled(60)):
        period = rng.choice((50, 3000, 20_000, 10**6, 2**33))
        noise = PeriodicNoise(period, rng.randrange(1, period), stationary=rng.random() < 0.5)
        entries = tuple(tuple(rng.choice((0, rng.randrange(3000))) for _ in range(4))
                        for _ in range(4))  # fmt: skip
        steps = Steps(rng.choice((64, 200, 256, 300, 512, 1000, 1537, 4096)))
        steps.add(0)
        strides = [1 << r for r in range((steps.ranks - 1).bit_length())]
        for down in rng.choice(((0,), (1,), (0, 1))):
            for k, stride in enumerate(strides[::-1] if down else strides):
                to = TREE, stride, steps.ranks, down
                steps.message(to, rng.randrange(len(entries)), 32 * down + k)
        steps.add(4, row=True)
        one = case_of(steps, entries, (noise,))
        check(one, monkeypatch, f"number {number}")


def test_any_cycles(monkeypatch):
    """Ranks that come from another tree: in columns of blocks, and what is beyond them."""
    rng = random.Random("cycles")
    long = (0, 90, 100, 30_000), (20, 0, 200, 9_000)  # later messages wait, for what is on the link
    for number in range(scaled(80)):
        period = rng.choice((3000, 20_000, 20_000, 10**6, 2**33))
        noise = PeriodicNoise(period, rng.choice((1, period // 20, period - 1)),
                              stationary=rng.random() < 0.3, in_compute=rng.random() < 0.8,
                              in_communication=rng.random() < 0.8)  # fmt: skip
        entries = rng.choice(
            [*ENTRIES.values(), ((0, 0, 900, 0), (60, 0, 500, 2000)), long, long, long]
        )
        steps = Steps(rng.choice((256, 300, 512, 1000, 1088, 1537, 2100)))
        downs, far = rng.choice(((0,), (1,), (0, 1), (0, 1), (1, 0))), rng.random() < 0.5
        swap = rng.random() < 0.5  # what messages cost, from cycle to cycle
        for steps.cycle in range(rng.randrange(2, 5)):
            steps.add(0)
            for down in downs:
                tree(steps, bool(down), (64, 256) if far else (), swap and steps.cycle % 2 == 1)
            steps.add(4, row=True)
        one = case_of(steps, entries, (noise,), rng.choice((0, 0, 700, 25_000)))
        one = replace(one, one_rank=rng.random() < 0.15)
        check(one, monkeypatch, f"number {number}, {steps.ranks} ranks")


@pytest.mark.parametrize("program", [both, down_and_up, broadcast])
def test_noise_that_has_begun(program, monkeypatch):
    """Many are in the middle of it when they are sent to: it holds them, or only what they send."""
    rng = random.Random(f"begun {program.__name__}")
    alone = (0, 90, 900, 0), (40, 0, 1000, 300)
    for number in range(scaled(40)):
        period = rng.choice((9000, 60_000, 10**6, 2**33))
        noise = PeriodicNoise(period, rng.choice((period // 50, period // 5, period // 2)),
                              stationary=rng.random() < 0.7)  # fmt: skip
        entries = rng.choice((*ENTRIES.values(), alone))
        ranks, cycles = rng.choice((256, 300, 1000, 1537)), rng.randrange(1, 6)
        work = rng.choice((0, 0, 700, 300_000))
        one = case(program, ranks, entries, (noise,), work, cycles)
        check(one, monkeypatch, f"number {number}, {ranks} ranks, {noise}")


@pytest.mark.parametrize("way", [(1, 0), (0, 1), (1, 0, 1), (0, 1, 0)])
@pytest.mark.parametrize("row", [False, True])
def test_work_after_the_last_tree(way, row, monkeypatch):
    """Then only first ranks do something: others may be the last, as they were when they worked."""
    for entries, costs in ENTRIES.items():
        for ranks in (256, 512, 1000):
            steps = Steps(ranks)
            for number, down in enumerate(way):
                tree(steps, bool(down))
                steps.cycle = number
            steps.add(0)
            steps.message((TREE, 64, ranks, 0), 0, 64, row=row)
            steps.add(4, row=True)
            noise = PeriodicNoise(10**6, 3 * 10**5, in_communication=ranks != 512)
            one = case_of(steps, costs, (noise,), 5000)
            check(one, monkeypatch, f"{entries}, {ranks} ranks")


@pytest.mark.parametrize("down", [False, True])
def test_many_cycles_one_way(down, monkeypatch):
    """More of them than are done at once, some of which are looked at; the last one is short."""
    rng = random.Random(f"one way {down}")
    for number in range(scaled(32)):
        noise = rng.choice((*PERIODIC.values(), (PeriodicNoise(60_000, 3000),)))
        entries = rng.choice([*ENTRIES.values()])
        steps = Steps(rng.choice((256, 300, 319, 319, 511, 600, 1088, 1537)))
        if rng.random() < 0.1:
            steps.add(4, row=True)
        swap = rng.random() < 0.5
        for steps.cycle in range(rng.randrange(8, 25)):
            steps.add(0)
            tree(steps, down, (64,) if number % 4 == 0 else (), swap and steps.cycle % 3 == 1)
            for _ in range(rng.randrange(3)):
                steps.add(4, row=True)
        one = case_of(steps, entries, noise)
        one = replace(one, one_rank=rng.random() < 0.15)
        check(one, monkeypatch, f"number {number}, {steps.ranks} ranks")


@pytest.mark.parametrize("long", [0, 9])
@pytest.mark.parametrize("stride", [1, 2, 4, 8, 64])
def test_link_out_from_cycle_to_cycle(stride, long, monkeypatch):
    """All wait for who sends up while its message of the cycle before still keeps its link.

    Of one cycle, or of the last one of those that are done at once.
    """
    entries = (40, 90, 1000, 0), (40, 90, 100_000, 90_000), (40, 90, 50_000, 0)
    steps = Steps(600)
    for steps.cycle in range(14):
        steps.add(0)
        for number in range(scaled(10)):
            entry = 1 + (steps.cycle > long) - (steps.cycle < long) if 1 << number == stride else 0
            steps.message((TREE, 1 << number, steps.ranks, 0), entry, number)
        steps.add(4, row=True)
    for noise, sources in PERIODIC.items():
        check(case_of(steps, entries, sources), monkeypatch, noise)


@pytest.mark.parametrize("cycles", [1, 3, 10, 21])
def test_first_ranks_are_last(cycles, monkeypatch):
    """Of blocks: after the others they send to each other once more, at other costs."""
    steps = Steps(300)
    for steps.cycle in range(cycles):
        steps.add(0)
        tree(steps, True)
        steps.message((TREE, 64, steps.ranks, 1), 0, 50)
        if steps.cycle % 5 == 4 or steps.cycle == cycles - 1:
            steps.add(4, row=True)
    for costly in ((40, 90, 9000, 0), (0, 0, 9000, 0)):
        entries = costly, (30, 70, 1200, 0)
        check(case_of(steps, entries, PERIODIC["fresh"]), monkeypatch, f"{costly}")


def down_between_first(steps):
    for number in range(6, (steps.ranks - 1).bit_length())[::-1]:
        steps.message((TREE, 1 << number, steps.ranks, 1), 0, 70 + number)


def observed_while_down(steps):
    down_between_first(steps)
    steps.add(4, row=True)
    for number in range(6):
        steps.message((TREE, 32 >> number, steps.ranks, 1), 1, number)


def looked_at_while_down(steps):
    tree(steps, True, row=(64,))


def twice_between_first(steps):
    down_between_first(steps)
    tree(steps, True)


def up_within_blocks(steps):
    for number in range(6):
        steps.message((TREE, 1 << number, steps.ranks, 0), 0, 90 + number)
    tree(steps, True)


def up_twice_between_first(steps):
    """Who has sent sends again."""
    tree(steps, False)
    for number in range(6, (steps.ranks - 1).bit_length()):
        steps.message((TREE, 1 << number, steps.ranks, 0), 1, 110 + number)


def up_and_down_within_blocks(steps):
    """Who has sent to another block sends within its own."""
    tree(steps, False)
    for number in range(6):
        steps.message((TREE, 32 >> number, steps.ranks, 1), 1, 120 + number)


@pytest.mark.parametrize(
    "program",
    [observed_while_down, looked_at_while_down, twice_between_first, up_within_blocks,
     up_twice_between_first, up_and_down_within_blocks],
)  # fmt: skip
def test_first_ranks_not_idle(program, monkeypatch):
    """Or asked when they are free, which is not when they may send."""
    all_entries, sizes = ("busy", "links", "links for long"), (256, 511, 512, 1000, 4096, 4097)
    for entries, noise, ranks in some(product(all_entries, PERIODIC, sizes), 25):
        one = case(program, ranks, ENTRIES[entries], PERIODIC[noise])
        check(one, monkeypatch, f"{entries}, {noise}, {ranks} ranks")


@pytest.mark.parametrize("ranks", [1000, 4096])
def test_first_ranks_send_once_more(ranks, monkeypatch):
    """All wait for a message that waits for the one before it from the same rank."""
    entries = (40, 90, 1000, 0), (20, 70, 200, 50_000), (40, 90, 100_000, 0)
    steps = Steps(ranks)
    steps.add(0)
    for number in range(9):
        steps.message((TREE, 1 << number, ranks, 0), int(number == 6), number)
    steps.message((TREE, 64, ranks, 0), 2, 9)
    steps.add(4, row=True)
    for noise, sources in PERIODIC.items():
        check(case_of(steps, entries, sources), monkeypatch, noise)


def test_what_odd_ranks_receive_last(monkeypatch):
    """Nobody comes after them: how long they may be late depends on what that one message costs."""
    rng = random.Random("odd")
    for number in range(scaled(40)):
        entries = tuple((0, 0 if k == 1 else rng.randrange(4000), 500, 0) for k in range(2))
        for own in (0, 1, 5000):
            steps = Steps(rng.choice((512, 1000, 4096)))
            steps.add(0)
            for k in range((steps.ranks - 1).bit_length())[::-1]:
                steps.message((TREE, 1 << k, steps.ranks, 1), 2 if k == 0 else k % 2, k)
            steps.add(4, row=True)
            noise = (PeriodicNoise(10**6, rng.choice((900, 9000)), stationary=number % 2 == 0),)
            one = case_of(steps, (*entries, (0, own, 500, 0)), noise)
            check(one, monkeypatch, f"number {number}, {steps.ranks} ranks, {own}")


DAY = 86_400 * 10**12
PERIODS = [2**18 - 1, 2**18, 10**6, 2**32 - 1, 2**40, DAY, 2**60]
"""Of noise of which a part of a draw tells enough, and, first and last, of which it does not."""


@pytest.mark.parametrize("period", PERIODS)
def test_few_ranks_meet_noise(period, monkeypatch):
    """Which they are, and which can make the last one later, is told from a part of their draws."""
    rng = random.Random(f"few {period}")
    for number in range(scaled(40)):
        duration = max(1, period // rng.choice((20, 100, 400, 3000, 10**6)))
        far = max(1, duration // rng.choice((1, 3, 10, 30)))  # a message's transit
        steps = Steps(rng.choice((300, 512, 1000, 3072, 4096)))
        steps.add(0)
        rng.choice((broadcast, broadcast, broadcast, reduce, both))(steps)
        steps.add(4, row=True)
        entries = tuple((rng.choice((0, 1, far // 9)), rng.choice((0, 1, 1, far // 3)), far,
                         rng.choice((0, 0, 2 * far))) for _ in range(2))  # fmt: skip
        noise = PeriodicNoise(period, duration, stationary=rng.random() < 0.4)
        one = case_of(steps, entries, (noise,))
        check(replace(one, realization=number), monkeypatch, f"number {number}")


@pytest.mark.parametrize("period", PERIODS[1:])
@pytest.mark.parametrize("program", [reduce, broadcast])
def test_where_noise_begins_to_matter(period, program, monkeypatch):
    """And ends to: everything takes a few of the parts of a period that draws are told apart by."""
    rng = random.Random(f"edges {period}")
    part = period / 2**16
    for number in range(scaled(60)):
        most = rng.choice((5, 60))
        entries = tuple(tuple(int(part * rng.choice((0, rng.uniform(0, most)))) for _ in range(4))
                        for _ in range(2))  # fmt: skip
        if number % 2 == 0:  # next to no work: noise meets nobody but by chance
            entries = tuple((0, 1, transit, gap) for _, _, transit, gap in entries)
        steps = Steps(1024)
        steps.add(0)
        program(steps)
        steps.add(4, row=True)
        noise = PeriodicNoise(period, max(1, int(part * rng.choice((0, rng.uniform(0, 60))))),
                              stationary=number % 4 == 0)  # fmt: skip
        one = case_of(steps, entries, (noise,))
        run = one.program(_core), number, 0, 200, "max", "cpu", 1, None
        check_instruction_sets(lambda run: [_core.simulate(*run)], run, monkeypatch,
                               f", number {number}")  # fmt: skip


def test_first_ranks_that_have_not_been_idle(monkeypatch):
    """They send to each other in any order, and are looked at, before a tree that goes down."""
    rng = random.Random("not idle")
    for number in range(scaled(60)):
        noise = rng.choice((*PERIODIC.values(), (PeriodicNoise(60_000, 3000),)))
        entries = rng.choice([*ENTRIES.values(), ((0, 90, 100, 30_000), (20, 0, 200, 9_000))])
        steps = Steps(rng.choice((300, 600, 2100, 3072, 4096, 4500)))
        strides = [1 << r for r in range((steps.ranks - 1).bit_length())]
        steps.add(0)
        for k in range(rng.choice((0, 0, 0, 1, 2, 3))):
            to = TREE, rng.choice(strides[6:]), steps.ranks, int(rng.random() < 0.8)
            steps.message(to, rng.randrange(2), k, row=rng.random() < 0.2)
            if rng.random() < 0.3:
                steps.add(4, row=True)
        tree(steps, True, rng.choice(((), (), (), (64,), (256,))), rng.random() < 0.5)
        steps.add(4, row=True)
        one = case_of(steps, entries, noise)
        check(one, monkeypatch, f"number {number}, {steps.ranks} ranks")


@pytest.mark.parametrize("program", [reduce, broadcast, both])
def test_more_ranks_than_are_kept(program, monkeypatch):
    """What a draw begins with is kept of 65536 ranks; of others it is found each time."""
    for cycles in (1, 3):
        one = case(program, 140_000, ENTRIES["links"], PERIODIC["fresh"], cycles=cycles)
        check(one, monkeypatch, f"{cycles} cycles")
