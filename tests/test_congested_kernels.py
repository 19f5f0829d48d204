"""Congestion on the kernels, emulated on the CPU, against the CPU backend (see test_kernels.py)."""

import random
from dataclasses import replace

import pytest
from kernel_cases import PROGRAMS, make
from message_cases import MESSAGE_PROGRAMS, make_messages
from reference.congested import Congested
from test_congested import PERTURBATIONS
from test_kernels import ORDERS, REAL_LIMITS, Run, build_once, check

import jitterfly.congestion as jc


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    return build_once(tmp_path_factory)


def congest(case, number):
    """The case on a fat tree with room for others; not for copies on demand."""
    rng = random.Random(f"congested kernels {number}")
    least = max(2, -(-case.ranks // 8))
    tree = jc.FatTree((8, least + rng.randint(0, least)), (1, rng.randint(1, 4)),
                      routing=rng.choice(jc.ROUTINGS))  # fmt: skip
    others = rng.choice([0, tree.hosts - case.ranks])
    hosts = case.ranks + (others if others != 1 else 0)
    source = Congested({}, tree, hosts, rng.choice(PERTURBATIONS))
    load = rng.choice([1_000, 400_000])
    changed = {"costs": replace(case.costs, load=load)}
    if hasattr(case, "jitters"):
        changed |= {"sources": (*case.sources, source),
                    "loads": tuple(load // (1 + i) for i in range(len(case.messages)))}  # fmt: skip
    else:
        changed |= {"others": (*case.others, source)}
    return replace(case, **changed)


def varied(case, number):
    limits = [REAL_LIMITS, (3, 1), (2, 1), (4, 2)][number % 4]
    return Run(congest(case, number), limits=limits, count=1 + number % 4, batch=1 + number % 3,
               order=number % ORDERS, seed=number,
               statistics="all" if number % 3 else "max")  # fmt: skip


# Not "dense": with messages that are delayed by what is no jitter, its intervals are gone through.
SOME = ("none", "fresh", "compute", "fresh, jitter", "renewal", "window", "messages", "everything")


def taken(program):
    return not PROGRAMS[program].get("asked")


@pytest.mark.parametrize("noise", SOME)
def test_programs(kernels, noise):
    sizes = [5, 3, 6, 1, 4, 2]
    check(kernels, [varied(make(program, noise, sizes[number % 6]), number)
                    for number, program in enumerate(filter(taken, PROGRAMS))])  # fmt: skip


# In "trees" a rank receives messages of two rounds with the same draws.
@pytest.mark.parametrize("program", sorted(set(MESSAGE_PROGRAMS) - {"trees"}))
def test_message_programs(kernels, program):
    sizes = [6, 37, 16, 40, 2, 3, 9]
    check(kernels, [varied(make_messages(program, noise, sizes[number % 7]), number)
                    for number, noise in enumerate(SOME)])  # fmt: skip


def test_several_ranks_in_a_thread(kernels):
    runs = [Run(congest(make("butterfly", noise, 11), 7), count=2)
            for noise in ("none", "fresh", "fresh, jitter")]  # fmt: skip
    check(kernels, runs)
