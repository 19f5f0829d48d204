"""Several rounds of messages at once (fast CPU engine), against the plain engine."""

import random

import pytest
from reference import Costs, PeriodicNoise
from reference.messages import RANGE, SHIFT, XOR, MessageCase, Steps
from support.instruction_sets import check_instruction_sets
from support.kernel_cases import COSTS, RENEWAL
from support.scale import some

from jitterfly import _core

NOISES = {
    "none": (),
    "fresh": (PeriodicNoise(20_000, 900),),
    "stationary": (PeriodicNoise(20_000, 900, stationary=True),),
    "rare": (PeriodicNoise(10**6, 900),),
    "renewal": (RENEWAL,),
}
"""Met in nearly every turn by some rank of a register; or by few."""


def doubled(ranks):
    """Distances of the dissemination, and of Bruck's allgather."""
    up = [1 << r for r in range((ranks - 1).bit_length())]
    return [up, [ranks - a for a in up]]


def shifts(rng, ranks):
    """These, some of them not from the start, others in between, and steps of a ring."""
    for order in doubled(ranks) * 2:
        start = rng.choice([0, 0, 1, 3]) % max(len(order), 1)
        yield from ((SHIFT, a % ranks, 0, 0) for a in order[start:])
        yield SHIFT, rng.randrange(ranks), 0, 0
        yield from [(SHIFT, 1 % ranks, 0, 0)] * rng.randint(2, 9)


def exchanges(rng, ranks):
    """Up and down, and any masks, with the fold of the ranks beyond a power of two."""
    power = 1 << ranks.bit_length() - 1
    masks = [1 << r for r in range(power.bit_length() - 1)]
    if ranks > power:
        yield RANGE, power, ranks, -power
    for order in (masks, masks[::-1], rng.sample(masks, len(masks)), masks[1:]):
        yield from ((XOR, mask, power, 0) for mask in order)
    if power > 1:
        yield from ((XOR, rng.randrange(1, power), power, 0) for _ in range(4))
    if ranks > power:
        yield RANGE, 0, ranks - power, power


def program(seed, partners, ranks, sources, entries, work):
    """Two cycles of these steps, between which nobody looks; entries in any order."""
    rng = random.Random(seed)
    steps = Steps(ranks)
    for steps.cycle in range(2):
        steps.add(0)
        for number, to in enumerate(partners(rng, ranks)):
            steps.message(to, rng.randrange(len(entries)), number, row=rng.random() < 0.03)
        steps.add(4, row=True)
    costs = Costs(*(work if name == "work" else getattr(COSTS, name) for name in vars(COSTS)))
    return MessageCase(ranks, tuple(steps.made), entries, costs, sources, (), 3, 1)


def disseminations(rng, ranks):
    """From the start, as nothing comes between; then from any distance on."""
    for start in (0, 0, rng.randrange(1, 9)):
        yield from ((SHIFT, 1 << r, 0, 0) for r in range(start, (ranks - 1).bit_length()))
        yield RANGE, 0, ranks // 2, ranks // 2


SIZES = [1, 2, 5, 8, 13, 16, 24, 40, 64, 96, 100, 192, 700, 1000, 1024, 1536, 3072, 4096, 5000]
"""Ranks; and where they are more than eight chunks of registers of four or of eight."""
MANY = [4100, 4608, 7168, 8192, 9216, 12_289, 16_384]


def results(case):
    run = case.program(_core), case.seed, case.realization
    return _core.ready_times(*run), _core.simulate(*run, 2, "all", "cpu", 1, None)


@pytest.mark.parametrize(
    ("partners", "ranks"),
    [(partners, ranks) for partners in (shifts, exchanges) for ranks in some(SIZES, 4)]
    + [(disseminations, ranks) for ranks in some(MANY, 1)],
)
def test_as_the_plain_way(partners, ranks, monkeypatch):
    busy, idle = ((40, 90, 1000, 0), (0, 70, 1200, 0)), ((0, 0, 1000, 0), (0, 0, 700, 0))
    linked, fast = ((40, 90, 1000, 300), (0, 70, 200, 500)), ((0, 8, 900, 80), (0, 8, 900, 80))
    pairs = [(number, name, entries) for number, name in enumerate(NOISES)
             for entries in (busy, idle, linked, fast)]  # fmt: skip
    for number, name, entries in some(pairs, 7):
        work = 5000 * (number % 2)
        case = program(f"{ranks} {name}", partners, ranks, NOISES[name], entries, work)
        check_instruction_sets(results, case, monkeypatch, f", {name}, {entries}")
