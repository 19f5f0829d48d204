"""Butterfly engine against the event-driven reference: every ready time, to the picosecond."""

import functools
import random
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from reference.cases import (
    asking_case,
    instant_case,
    mirrors_case,
    random_case,
    redundant_case,
)
from reference.noise_cases import with_nodes
from reference.public import random_pair
from support.grouped import parametrize_in_groups
from support.scale import at_most, scaled, some

import jitterfly as jf
from jitterfly import _core
from jitterfly.program import row_labels


def any_case(number):
    return random_case(random.Random(f"exact {number}"))


def tie_case(number):
    """Costs of 0 and 1 tick: many events of one instant."""
    rng = random.Random(f"ties {number}")
    case = random_case(rng, 6)
    costs = type(case.costs)(*(rng.randint(0, 1) for _ in range(6)))
    levels = tuple(level for level in range(1, case.log2_ranks) if rng.random() < 0.7)
    return replace(case, costs=costs, within=levels)


def copy_case(number):
    return redundant_case(random.Random(f"copies {number}"))


def zero_transit_case(number):
    return instant_case(random.Random(f"instant {number}"))


def mirror_case(number):
    return mirrors_case(random.Random(f"mirrors {number}"))


def demand_case(number):
    return asking_case(random.Random(f"demand {number}"))


def node_case(number):
    rng = random.Random(f"nodes {number}")
    return with_nodes(rng, rng.choice([random_case, redundant_case, asking_case])(rng))


FAMILIES = {
    "any": (any_case, 260),
    "ties": (tie_case, 80),
    "copies": (copy_case, 80),
    "instant": (zero_transit_case, 150),
    "mirrors": (mirror_case, 120),
    "demand": (demand_case, 120),
    "nodes": (node_case, 80),
}
CASES = [
    (family, number)
    for family, (_, count) in FAMILIES.items()
    for number in range(at_most(count, 3))
]


@functools.cache
def executed(family, number):
    """What the reference makes of a case, and what it met: several tests ask for the same run."""
    run = FAMILIES[family][0](number).reference()
    names = ("rows", "copies_taken", "levels_skipped", "questions_asked")
    return SimpleNamespace(**{name: getattr(run, name) for name in names})


@parametrize_in_groups("family, number", CASES)
def test_engine_equals_reference(family, number):
    case = FAMILIES[family][0](number)
    expected = np.array(executed(family, number).rows, dtype=np.int64)[case.rows]
    program = case.program(_core)
    times = _core.ready_times(program, case.seed, case.realization)
    np.testing.assert_array_equal(times, expected)

    run = program, case.seed, case.realization, 1
    largest = _core.simulate(*run, "max", "cpu", 1, None)
    np.testing.assert_array_equal(largest, expected.max(axis=1)[None])
    statistics = _core.simulate(*run, "all", "cpu", 1, None)
    assert statistics.shape == (1, len(expected), 4)
    high, low, upper, lower = statistics[0].T
    np.testing.assert_array_equal(high, expected.max(axis=1))
    np.testing.assert_array_equal(low, expected.min(axis=1))
    np.testing.assert_array_equal(upper * 2**32 + lower, expected.sum(axis=1))


@pytest.mark.full_scale
def test_the_cases_are_not_trivial():
    """Copies must be adopted, levels skipped and original messages used, many times each."""
    taken = skipped = 0
    for number in range(FAMILIES["copies"][1]):
        run = executed("copies", number)
        taken += run.copies_taken
        skipped += run.levels_skipped
    assert taken > 1000
    assert skipped > 200


@pytest.mark.full_scale
def test_several_mirrors_and_copies_on_demand_are_used():
    half = range(FAMILIES["mirrors"][1] // 2)  # is enough to know of all
    mirrors = [executed("mirrors", number) for number in half]
    assert sum(run.copies_taken for run in mirrors) > 1000
    assert sum(run.levels_skipped for run in mirrors) > 200
    asking = [executed("demand", number) for number in range(FAMILIES["demand"][1] // 4)]
    assert sum(run.questions_asked for run in asking) > 2000
    assert sum(run.copies_taken for run in asking) > 500


@pytest.mark.parametrize("number", range(scaled(40)))
def test_reference_does_not_depend_on_the_order_of_simultaneous_events(number):
    family = ["ties", "instant", "mirrors", "demand"][number % 4]
    case, rows = FAMILIES[family][0](number), executed(family, number).rows
    assert all(case.reference(order=seed).rows == rows for seed in (1, 2))


SEEN = {}  # what the runs of these cases met: they are executed once


def executed_public(number):
    """A case as a user writes it, the exact one, and its run."""
    case, exact = random_pair(random.Random(f"public {number}"), jf)
    run = exact.reference()
    SEEN[number] = Counter(run.noise.seen)
    return case, exact, run


@parametrize_in_groups("number", some(range(180), 8))
def test_public_interface_equals_reference(number):
    """The same through `Case`: networks, noise and algorithms as a user writes them."""
    case, exact, run = executed_public(number)
    expected = np.array(run.rows, dtype=np.int64)
    times = jf.ready_times(case, seed=exact.seed, realization=exact.realization)
    np.testing.assert_array_equal(np.rint(times * 1e12).astype(np.int64), expected)

    result = jf.simulate(
        case, 1, seed=exact.seed, backend="cpu", first_realization=exact.realization
    )
    found = dict(zip(result.observations, result.samples[0], strict=True))
    if case.observe == "completion":
        ticks = [round(value * 1e12) for value in found.values()]
        assert ticks == completions(exact, run)
        assert list(found) == completion_names(case.cycles, exact.after)
    else:
        for label, row in zip(row_labels(case), expected, strict=True):
            assert round(found[f"{label}: max"] * 1e12) == row.max()
            assert round(found[f"{label}: min"] * 1e12) == row.min()
            assert found[f"{label}: mean"] == pytest.approx(row.mean() * 1e-12, abs=0.51e-12)
        assert len(found) == 3 * len(expected)


@pytest.mark.full_scale
def test_the_public_cases_are_not_trivial():
    """Every role in many cases, several times in some, and all of them delay something."""
    cases, most, seen = Counter(), Counter(), Counter()
    for number in range(180):
        _, exact = random_pair(random.Random(f"public {number}"), jf)
        roles = Counter(source.role for source in exact.sources)
        cases += Counter(roles.keys())
        most |= roles
        if number < 60:  # what a third of the cases does so often, all do
            if number not in SEEN:
                executed_public(number)
            seen += SEEN[number]
    assert len(cases) == 6
    assert min(cases.values()) > 20
    assert min(most.values()) == 2
    assert min(seen[what] for what in ("compute", "receive", "send", "message")) > 300
    assert min(seen["interrupted"], seen["outside"]) > 300


def completions(exact, run):
    """Of each cycle, the last rank's time with T = 0 ... after, given the run of all exchanges.

    With several cycles each T is a run of its own, which makes T exchanges in every cycle.
    """
    if exact.cycles == 1:
        return run.completions()
    loops = [replace(exact, after=T).reference() for T in range(exact.after)] + [run]
    columns = [loop.completions()[T :: T + 1] for T, loop in enumerate(loops)]  # each loop's last T
    return [time for cycle in zip(*columns, strict=True) for time in cycle]


def completion_names(cycles, after):
    names = []
    for cycle in range(1, cycles + 1):
        for redundancy in range(after + 1):
            parts = [f"cycle {cycle}"] if cycles > 1 else []
            parts += [f"T={redundancy}"] if after else []
            names.append(", ".join(parts) or "completion")
    return names
