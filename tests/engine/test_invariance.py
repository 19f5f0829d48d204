"""Reproducibility: results do not depend on threads, batches or instruction set; seeds differ."""

import random
from dataclasses import replace

import numpy as np
import pytest
from reference import Costs, Jitter, PeriodicNoise
from reference.cases import EngineCase, random_case
from reference.recurrences import Recurrences
from support.invariance import (
    check_compilations,
    check_statistics,
    check_threads_and_batches,
    ready_times,
    statistics,
)
from support.scale import full_scale, scaled, some

import jitterfly as jf
from jitterfly import _core
from jitterfly.simulate import noise_phases

COSTS = Costs(send=1000, receive=1000, transit=1_000_000, combine=800, work=3_000_000)
NOISE = PeriodicNoise(period=10**7, duration=10**6)
JITTER = Jitter(duration=500_000, survival=(2**61, 2**58, 2**54))
ALL = tuple(range(1, 30))

PROGRAMS = {
    "conventional": {"after": 3, "cycles": 2, "jitter": JITTER},
    "redundant": {"within": ALL, "cycles": 2},
    "redundant, jitter": {"within": ALL, "after": 2, "jitter": JITTER},
    "sparse": {"within": (2, 3, 6, 10), "after": 1, "cycles": 2, "jitter": JITTER},
    "forward cost": {"after": 4, "cycles": 2, "costs": replace(COSTS, forward=2000)},
    "compute noise": {"cycles": 3, "periodic": replace(NOISE, in_communication=False)},
    "nodes": {"periodic": replace(NOISE, node_ranks=4, stationary=True), "within": ALL},
    "nodes of 3": {"periodic": replace(NOISE, node_ranks=3), "within": ALL, "jitter": JITTER},
    "quiet": {"periodic": None, "within": (1,)},
}
WITH_RECURRENCE = sorted(set(PROGRAMS) - {"redundant, jitter", "sparse", "nodes of 3", "quiet"})


def make(name, log2_ranks, **changes):
    options = {"costs": COSTS, "periodic": NOISE, "seed": 5, **PROGRAMS[name], **changes}
    options["within"] = tuple(m for m in options.get("within", ()) if m < log2_ranks)
    options["after"] = min(options.get("after", 0), log2_ranks)
    if options["periodic"]:
        nodes = min(options["periodic"].node_ranks, 1 << log2_ranks)
        options["periodic"] = replace(options["periodic"], node_ranks=nodes)
    return EngineCase(log2_ranks, **options)


@pytest.mark.parametrize("log2_ranks", some([0, 1, 2, 3, 5, 9], 3))
@pytest.mark.parametrize("name", PROGRAMS)
def test_threads_and_batches(name, log2_ranks):
    check_threads_and_batches(make(name, log2_ranks), 37)


@pytest.mark.parametrize("name", some(PROGRAMS, 2))
def test_threads_and_batches_beyond_a_tile(name):
    check_threads_and_batches(make(name, 15), 3)


@pytest.mark.parametrize(
    ("name", "log2_ranks"),
    some([(name, log2_ranks) for name in PROGRAMS for log2_ranks in (2, 9, 15)], 8),
)
def test_instruction_sets(name, log2_ranks, monkeypatch):
    check_compilations(make(name, log2_ranks), 3, monkeypatch)


@pytest.mark.parametrize("name", some(PROGRAMS, 4))
def test_statistics_are_those_of_the_ready_times(name):
    check_statistics(make(name, 15, realization=2))


@pytest.mark.parametrize("number", range(scaled(40)))
def test_recurrences_equal_the_reference(number):
    """So that the next test stands on the event-driven execution."""
    case = random_case(random.Random(f"recurrence {number}"), 6)
    full = number % 2 == 0
    levels = tuple(range(1, case.log2_ranks)) if full else ()
    jitter = None if full else case.jitter
    case = replace(case, within=levels, jitter=jitter, hidden=frozenset())
    np.testing.assert_array_equal(recurrence(case).rows(), case.reference().rows)


def recurrence(case):
    if (noise := case.periodic) is None:
        return Recurrences(case)
    phases = [noise.phase(case.seed, case.realization, i) for i in range(case.ranks)]
    return Recurrences(case, np.array(phases))


@pytest.mark.parametrize(
    ("name", "log2_ranks"),
    [
        *some([(name, 15) for name in WITH_RECURRENCE], 2),
        *(full_scale(name, 18) for name in ("conventional", "redundant", "forward cost")),
        full_scale("redundant", 20),
    ],
)
def test_large_machines_equal_the_recurrences(name, log2_ranks):
    case = make(name, log2_ranks, realization=1)
    case = replace(case, cycles=1) if log2_ranks > 18 else case
    phases = _core.phases(case.program(_core), case.seed, case.realization)
    rows = Recurrences(case, phases).rows()
    np.testing.assert_array_equal(ready_times(case), rows)
    for threads in (1, 2):
        largest = statistics(case, 2, threads, which="max")[1]
        np.testing.assert_array_equal(largest, rows.max(axis=1))


@pytest.mark.parametrize("log2_ranks", some([15, 18], 1))
@pytest.mark.parametrize("within", [ALL[:7], (2, 3, 6), (1, 5)])
def test_first_ranks_of_a_large_machine_are_a_small_machine(within, log2_ranks):
    """Up to level 8, 2^8 ranks hear of nobody else; with jitter there is no recurrence."""
    small = make("sparse", 8, within=within, cycles=1, after=0, realization=3)
    large = replace(small, log2_ranks=log2_ranks)
    expected = np.array(small.reference().rows)[:9]
    np.testing.assert_array_equal(ready_times(large)[:9, :256], expected)


def public(**changes):
    noise = jf.PeriodicNoise(1e-3, changes.pop("duration", 1e-5))
    options = {"algorithm": jf.Butterfly(), "noise": [noise, jf.NetworkJitter(1e-4, 1e-6)]}
    network = jf.Hockney(alpha=1e-6, beta=1e-9, gamma=1e-10)
    return jf.Case(**{"ranks": 64, "network": network, "compute_time": 1e-5, **options, **changes})


def test_seeds_differ():
    columns = [jf.simulate(public(), 50, seed=seed).samples for seed in (0, 1, 2**32, 2**64 - 1)]
    for i, column in enumerate(columns):
        for other in columns[:i]:
            assert not np.array_equal(column, other)
    np.testing.assert_array_equal(jf.simulate(public(), 50, seed=1).samples, columns[1])


def test_phases_do_not_depend_on_the_case():
    """Common random numbers: two settings with one seed see the same noise."""
    phases = noise_phases(public(), seed=3, realization=8)
    changes = [
        {"duration": 5e-4},
        {"algorithm": jf.Butterfly(exchanges_after=2, copy_levels="all")},
        {"cycles": 3},
        {"ranks": 1024},
        {"network": jf.LogGOPS(L=1e-6, o=1e-9)},
    ]
    for change in changes:
        found = noise_phases(public(**change), seed=3, realization=8)
        np.testing.assert_array_equal(found[:64], phases)
    assert not np.array_equal(noise_phases(public(), seed=3, realization=9), phases)


def test_more_of_an_algorithm_leaves_the_rest_as_it_was():
    """T = 2 of a run up to T = 6 is T = 2 of a run up to 2; so are the first cycles."""
    long = jf.simulate(public(algorithm=jf.Butterfly(exchanges_after=6)), 200, seed=4)
    short = jf.simulate(public(algorithm=jf.Butterfly(exchanges_after=2)), 200, seed=4)
    np.testing.assert_array_equal(long.ticks[:, :3], short.ticks)
    assert (np.diff(long.ticks) <= 0).all()  # f can only fall with T
    cycles = jf.simulate(public(cycles=4), 200, seed=4).ticks
    np.testing.assert_array_equal(cycles[:, :2], jf.simulate(public(cycles=2), 200, seed=4).ticks)


@pytest.mark.parametrize("within", ["all", [1, 3], [5]])
def test_copies_that_cost_nothing_never_harm(within):
    """Hockney's sends are free, so that a copy can only make a rank earlier."""
    for realization in range(20):
        times = [jf.ready_times(public(algorithm=jf.Butterfly(copy_levels=levels)), 6, realization)
                 for levels in (None, within)]  # fmt: skip
        assert (times[1] <= times[0]).all()
