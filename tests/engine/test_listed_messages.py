"""Steps with listed messages, against the same messages by partner maps and by the rules."""

import random
from dataclasses import replace

import numpy as np
import pytest
from reference.messages import LISTED, MESSAGE, MessageCase, Steps
from support.instruction_sets import AVAILABLE
from support.kernel_cases import COSTS
from support.message_cases import (
    as_lists,
    check_rules,
    message_case,
    noisy_case,
    without_exchanges,
)

from jitterfly import _core


def results(case):
    """All statistics and every ready time, with a register of realizations and some more."""
    program, first = case.program(_core), min(case.realization, 2**31)
    return (
        _core.simulate(program, case.seed, first, 9, "all", "cpu", 1, None),
        _core.ready_times(program, case.seed, case.realization),
    )


@pytest.mark.parametrize("isa", AVAILABLE)
@pytest.mark.parametrize("family", [message_case, noisy_case], ids=["periodic", "every noise"])
def test_a_list_is_as_good_as_a_map(family, isa, monkeypatch):
    """Any noise, network delays and congestion aside: the same messages, the same times."""
    monkeypatch.setenv("JITTERFLY_ISA", isa)
    for number in range(60):
        case = family(number)
        listed = as_lists(case, random.Random(number))
        for mine, theirs in zip(results(listed), results(case), strict=True):
            np.testing.assert_array_equal(mine, theirs, err_msg=f"case {number}")


@pytest.mark.parametrize("isa", AVAILABLE)
def test_messages_of_a_step_with_different_costs(isa, monkeypatch):
    monkeypatch.setenv("JITTERFLY_ISA", isa)
    for number in range(60):
        rng = random.Random(f"own {number}")
        case = without_exchanges(message_case(number, "rules", largest=300))
        check_rules(as_lists(case, rng, own_costs=True), f"case {number}")


def case_of(ranks, listed, **changes):
    steps = Steps(ranks)
    steps.add(MESSAGE, row=True, partners=(LISTED, 0, len(listed), 0))
    case = MessageCase(ranks, tuple(steps.made), ((1, 2, 3, 0),), COSTS, listed=tuple(listed))
    return replace(case, **changes)


@pytest.mark.parametrize(
    ("listed", "words"),
    [
        ([(0, 1, 0), (0, 2, 0)], "in the order of their senders, one of each"),
        ([(1, 2, 0), (0, 1, 0)], "in the order of their senders, one of each"),
        ([(0, 2, 0), (1, 2, 0)], "must not receive twice"),
        ([(0, 3, 0)], "ranks must lie in"),
        ([(-1, 1, 0)], "ranks must lie in"),
        ([(1, 1, 0)], "no rank sends to itself"),
        ([(0, 1, 1)], "cost is not an entry"),
        ([(0, 1, -1)], "cost is not an entry"),
    ],
)
def test_lists_that_are_refused(listed, words):
    with pytest.raises(ValueError, match=words):
        case_of(3, listed).program(_core)


def test_a_list_ends_with_the_messages_there_are():
    steps = Steps(3)
    steps.add(MESSAGE, row=True, partners=(LISTED, 0, 2, 0))
    with pytest.raises(ValueError, match="begin <= end <= listed messages"):
        case_of(3, [(0, 1, 0)], program_steps=tuple(steps.made)).program(_core)


def test_an_empty_list_is_a_step_without_messages():
    np.testing.assert_array_equal(_core.ready_times(case_of(3, []).program(_core), 0, 0), [[0] * 3])
