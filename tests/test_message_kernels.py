"""The message kernel, emulated on the CPU, against the CPU backend (see test_kernels.py)."""

from dataclasses import replace

import pytest
from kernel_cases import NOISES
from message_cases import MESSAGE_PROGRAMS, make_messages, message_case, noisy_case
from test_kernels import (
    BLOCKS,
    CHOSEN,
    LAUNCHES,
    ORDERS,
    REAL_LIMITS,
    Run,
    build_once,
    check,
)


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    return build_once(tmp_path_factory)


def varied(case, number):
    """A run whose limits, batches, order of threads and way of running go with a number."""
    limits = [REAL_LIMITS, (3, 1), (2, 1), (4, 2)][number % 4]
    return Run(case, limits=limits, count=1 + number % 7, batch=1 + number % 5,
               order=number % ORDERS, seed=number, statistics="all" if number % 3 else "max",
               one_rank=case.one_rank, way=[LAUNCHES, BLOCKS][number % 2],
               rounds=[0, 1, 7][number % 3])  # fmt: skip


@pytest.mark.parametrize("program", MESSAGE_PROGRAMS)
def test_programs(kernels, program):
    sizes = [6, 37, 1, 16, 40, 2, 3, 9]
    check(kernels, [varied(make_messages(program, noise, sizes[number % 8]), number)
                    for number, noise in enumerate(NOISES)])  # fmt: skip


@pytest.mark.parametrize("family", [message_case, noisy_case], ids=["periodic", "every noise"])
def test_random_programs(kernels, family):
    check(kernels, [varied(family(number), number) for number in range(60)])


@pytest.mark.parametrize("ranks", [512, 700, 1500])
def test_several_ranks_in_a_thread(kernels, ranks):
    check(kernels, [Run(make_messages(program, noise, ranks), order=number % ORDERS)
                    for number, (program, noise) in enumerate([
                        ("ring", "fresh"), ("dissemination", "fresh, jitter"),
                        ("trees", "stationary"), ("fold", "none")])])  # fmt: skip


def test_one_rank(kernels):
    cases = [replace(make_messages(program, "fresh", 11), one_rank=True)
             for program in MESSAGE_PROGRAMS]  # fmt: skip
    check(kernels, [Run(case, statistics="max", one_rank=True, count=2) for case in cases])


def test_what_does_not_fit_shared_memory(kernels):
    """Then the ranks are in global memory, as they are where there are several passes."""
    check(kernels, [Run(make_messages("trees", "fresh", 14_000), count=1),
                    Run(make_messages("recursive doubling", "none", 15_001), count=1)])  # fmt: skip
