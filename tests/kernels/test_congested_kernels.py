"""GPU kernels with congestion of a collective's messages, emulated, against the CPU backend."""

from dataclasses import replace

import pytest
from reference.messages import MESSAGE
from support.emulated_congestion import (
    CONGESTED_NOISES,
    can_be_congested,
    congest,
    varied_congested,
)
from support.emulated_kernels import Run, build_once, check
from support.kernel_cases import PROGRAMS, make
from support.message_cases import MESSAGE_PROGRAMS, make_messages
from support.scale import some


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    return build_once(tmp_path_factory)


@pytest.mark.parametrize("noise", CONGESTED_NOISES)
def test_programs(kernels, noise):
    sizes = [5, 3, 6, 1, 4, 2]
    programs = some(enumerate(filter(can_be_congested, PROGRAMS)), 4)
    check(kernels, [varied_congested(make(program, noise, sizes[number % 6]), number)
                    for number, program in programs])  # fmt: skip


# In "trees" a rank receives messages of two rounds with the same draws.
@pytest.mark.parametrize("program", sorted(set(MESSAGE_PROGRAMS) - {"trees"}))
def test_message_programs(kernels, program):
    sizes = [6, 37, 16, 40, 2, 3, 9]
    check(kernels, [varied_congested(make_messages(program, noise, sizes[number % 7]), number)
                    for number, noise in some(enumerate(CONGESTED_NOISES), 3)])  # fmt: skip


def test_several_ranks_in_a_thread(kernels):
    runs = [Run(congest(make("butterfly", noise, 11), 7), count=2)
            for noise in ("none", "fresh", "fresh, jitter")]  # fmt: skip
    check(kernels, runs)


def test_late_rounds(kernels):
    """The rows of rounds from 64 on are in planes of their own."""
    runs = []
    for number, noise in some(enumerate(CONGESTED_NOISES), 3):
        case = make_messages("dissemination", noise, 37)
        steps = [(step[0], 21 * step[1], *step[2:]) if step[0] == MESSAGE else step
                 for step in case.program_steps]  # fmt: skip
        runs.append(varied_congested(replace(case, program_steps=tuple(steps)), number))
    check(kernels, runs)
