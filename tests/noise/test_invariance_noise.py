"""Reproducibility under lists of noise sources: threads, batches, instruction sets."""

import random
from dataclasses import replace

import numpy as np
import pytest
from reference import (
    Costs,
    Jitter,
    MessageDelay,
    OnOff,
    PeriodicNoise,
    RenewalNoise,
    Stationary,
    StepDelay,
    TraceNoise,
    Weather,
    delays,
)
from reference.cases import EngineCase
from reference.noise_cases import any_case, delay_case
from reference.recurrences import Recurrences
from reference.wide import BeyondHorizonError
from support.grouped import parametrize_in_groups
from support.invariance import (
    check_compilations,
    check_statistics,
    check_threads_and_batches,
    ready_times,
    statistics,
)
from support.message_cases import fitted
from support.scale import crossed, scaled, some

import jitterfly as jf
from jitterfly import _core

COSTS = Costs(send=1000, receive=1000, transit=1_000_000, combine=800, work=3_000_000)
ALL = tuple(range(1, 30))

RARE = delays.Samples(values=(900_000, 300_000, 20_000)).with_last(2**64 // 50)
SPREAD = delays.Pieces(edges=(0, 2**54, 2**60), top=(10**7, 10**6, 4000), drop=(9 * 10**6, 9, 3000))
GAP = delays.Pieces(edges=(0, 2**62), top=(3 * 10**7, 8 * 10**6), drop=(10**7, 7 * 10**6))
BUSY = delays.Samples(values=(2_000_000, 500_000, 400_000, 10_000))
PERIODIC = PeriodicNoise(10**7, 10**6)
RENEWAL = RenewalNoise(GAP, BUSY)
STATIONARY = RenewalNoise(GAP, BUSY, Stationary(2**60, BUSY, GAP))
TRACE = TraceNoise(((0, 40_000), (2_000_000, 2_700_000), (8_999_000, 9_000_000)), 9_000_000)
RECEIVE = StepDelay(RARE)
SEND = StepDelay(SPREAD, at_send=True)
MESSAGE = MessageDelay(RARE)
JITTER = Jitter(500_000, (2**61, 2**58, 2**54))
# One whose values fit the engine's short words, and one that is too long for them.
SMOOTH, LONG = (
    delays.Smooth(words=tuple(int(word) for word in x.integers().arrays[0]))
    for x in (jf.Exponential("1us"), jf.Pareto("1ms", 1.5, longest="1000s"))
)
# Of 256 draws one falls among the many pieces, of which an entry of the engine's guide has eight.
CROWDED = delays.Pieces(
    edges=(0, *(2**63 + 2**50 * k + 12345 for k in range(64))),
    top=(10**6, *(10**5 - 1000 * k for k in range(64))),
    drop=(9 * 10**5, *[900] * 64),
)
OPEN = {"begin": 2_500_000, "end": 9_000_000}

BURSTS = OnOff(GAP, BUSY, Stationary(2**62, BUSY, GAP), node_ranks=2**16)
EVERY_THIRD = tuple(rank % 3 == 0 for rank in range(2**16))  # of the largest case here

NOISES = {
    "several periods": (PERIODIC, PeriodicNoise(3_300_000, 200_000, True), PERIODIC),
    "renewal": (RENEWAL,),
    "stationary renewal": (STATIONARY, RENEWAL),
    "trace": (TRACE, replace(TRACE, in_compute=False)),
    "received": (RECEIVE,),
    "sent": (SEND, replace(SEND, in_compute=False)),
    "smooth": (StepDelay(SMOOTH), StepDelay(LONG.with_last(2**63), at_send=True)),
    "thinned": (StepDelay(SMOOTH.with_last(2**64 // 3)), StepDelay(LONG), StepDelay(CROWDED)),
    "messages": (MESSAGE, MESSAGE, JITTER, JITTER),
    "windows": tuple(replace(s, **OPEN) for s in (PERIODIC, RENEWAL, TRACE, RECEIVE, SEND)),
    "window of messages": (replace(MESSAGE, **OPEN), replace(JITTER, **OPEN)),
    "one window": (replace(PERIODIC, **OPEN),),
    "nodes": (replace(STATIONARY, node_ranks=4), replace(TRACE, node_ranks=2),
              replace(SEND, node_ranks=8), replace(PERIODIC, node_ranks=2**30)),
    "nodes of any size": (replace(STATIONARY, node_ranks=3), replace(TRACE, node_ranks=48),
                          replace(SEND, node_ranks=5), replace(RECEIVE, node_ranks=6),
                          replace(JITTER, node_ranks=12), replace(MESSAGE, node_ranks=7),
                          replace(PERIODIC, node_ranks=1000)),
    "hosts": tuple(replace(s, hosts=EVERY_THIRD) for s in
                   (STATIONARY, TRACE, SEND, RECEIVE, JITTER, MESSAGE, PERIODIC)),
    "one on some hosts": (replace(PERIODIC, hosts=EVERY_THIRD),),
    "bursts": tuple(replace(s, bursts=BURSTS) for s in (PERIODIC, RENEWAL, TRACE, STATIONARY)),
    "one in bursts": (replace(PERIODIC, bursts=replace(BURSTS, node_ranks=3)),),
    "weather": (Weather(SMOOTH, node_ranks=2**30), MESSAGE, Weather(SMOOTH, node_ranks=3)),
    "spells": (Weather(SMOOTH, node_ranks=2, holds=2 * 10**6), MESSAGE,
               replace(MESSAGE, links=2**63, holds=10**6), replace(MESSAGE, links=2**61)),
    "everything": (SEND, RENEWAL, JITTER, PERIODIC, RECEIVE, TRACE, replace(MESSAGE, node_ranks=2)),
}  # fmt: skip
PROGRAMS = {
    "conventional": {"after": 2, "cycles": 2},
    "redundant": {"within": ALL, "cycles": 2},
    "sparse": {"within": (2, 3, 6, 10), "after": 1, "costs": replace(COSTS, forward=2000)},
}
BOTH = [(noise, program) for noise in NOISES for program in PROGRAMS]


def make(noise, program, log2_ranks, **changes):
    options = {"costs": COSTS, "seed": 5, **PROGRAMS[program], **changes}
    options["within"] = tuple(m for m in options.get("within", ()) if m < log2_ranks)
    options["after"] = min(options.get("after", 0), log2_ranks)
    sources = tuple(fitted(source, 1 << log2_ranks) for source in NOISES[noise])
    return EngineCase(log2_ranks, others=sources, **options)


SMALL = [
    (*both, bits, count) for both in BOTH for bits, count in [(0, 37), (1, 37), (3, 37), (6, 19)]
]
BEYOND_A_TILE = [(noise, "sparse", 15, 3) for noise in NOISES]


@parametrize_in_groups("noise, program, log2_ranks, count", some(SMALL, 8) + some(BEYOND_A_TILE, 1))
def test_threads_and_batches(noise, program, log2_ranks, count):
    case = make(noise, program, log2_ranks)
    whole = check_threads_and_batches(case, count)
    assert log2_ranks < 3 or len(np.unique(whole[:, :, 0], axis=0)) > 2  # realizations differ


@parametrize_in_groups(
    "noise, program, log2_ranks",
    some([(*both, bits) for both in BOTH for bits in (2, 8)], 8)
    + some([row[:3] for row in BEYOND_A_TILE], 1),
)
def test_instruction_sets(noise, program, log2_ranks, monkeypatch):
    check_compilations(make(noise, program, log2_ranks), 2, monkeypatch)


@pytest.mark.parametrize("noise", some(NOISES, 3))
def test_statistics_are_those_of_the_ready_times(noise):
    check_statistics(make(noise, "sparse", 15, realization=2))


@pytest.mark.parametrize("number", range(scaled(40)))
def test_recurrences_equal_the_reference(number):
    """So that the tests of large machines stand on the event-driven execution."""
    rng = random.Random(f"recurrence, noise {number}")
    case = (any_case if number % 3 else delay_case)(rng)
    case = replace(case, hidden=frozenset())
    if number % 2:
        levels = tuple(range(1, case.log2_ranks))
        quiet = tuple(s for s in case.others if s.role not in ("jitter", "message"))
        case = replace(case, within=levels, jitter=None, others=quiet)
    else:
        case = replace(case, within=())
    rows = np.array(case.reference().rows)
    np.testing.assert_array_equal(recurrences(case, int(rows.max())), rows)


def recurrences(case, latest):
    """The rows, from intervals up to a little after `latest`, or as far as it takes."""
    horizon = latest + latest // 8 + 100
    while True:
        try:
            return Recurrences(case, horizon=horizon).rows()
        except BeyondHorizonError:  # in what is worked out but not chosen
            horizon *= 2


def has_recurrence(noise, program):
    delayed = any(source.role in ("jitter", "message") for source in NOISES[noise])
    return program == "conventional" or (program == "redundant" and not delayed)


@pytest.mark.parametrize(
    ("noise", "program", "log2_ranks"),
    [
        *some([(*both, 14) for both in BOTH if has_recurrence(*both)], 1),
        pytest.param("everything", "conventional", 16, marks=pytest.mark.full_scale),
        pytest.param("windows", "redundant", 16, marks=pytest.mark.full_scale),
    ],
)
def test_large_machines_equal_the_recurrences(noise, program, log2_ranks):
    """Beyond the tile that the engine works on at a time."""
    case = make(noise, program, log2_ranks, realization=1, cycles=1 if log2_ranks > 14 else 2)
    found = ready_times(case)
    rows = recurrences(case, int(found.max()))
    np.testing.assert_array_equal(found, rows)
    np.testing.assert_array_equal(statistics(case, 2, 2, which="max")[1], rows.max(axis=1))


@pytest.mark.parametrize(
    ("noise", "within"),
    crossed(["messages", "window of messages", "everything"], [ALL[:7], (2, 3, 6), (1, 5)]),
)
def test_first_ranks_of_a_large_machine_are_a_small_machine(noise, within):
    """Up to level 8, 2^8 ranks hear of nobody else; ranks skip levels, so no recurrence."""
    small = make(noise, "sparse", 8, within=within, after=0, realization=3)
    large = replace(small, log2_ranks=15)
    expected = np.array(small.reference().rows)[:9]
    np.testing.assert_array_equal(ready_times(large)[:9, :256], expected)


@pytest.mark.parametrize("noise", NOISES)
def test_every_source_does_something(noise):
    """Each source of each list changes the result: none is lost on the way."""
    case = make(noise, "sparse", 8)
    whole = ready_times(case)
    for i in range(len(case.others)):
        without = replace(case, others=case.others[:i] + case.others[i + 1 :])
        assert not np.array_equal(ready_times(without), whole)


@pytest.mark.parametrize("noise", sorted(set(NOISES) - {"nodes"}))  # its nodes grow with the size
def test_draws_do_not_depend_on_the_machine(noise):
    """Common random numbers: a rank sees the same noise whatever the algorithm and the size."""
    small, large = make(noise, "conventional", 3), make(noise, "sparse", 5, cycles=3)
    for rank in range(8):
        for compute in (True, False):
            options = case_busy(small, rank, compute), case_busy(large, rank, compute)
            np.testing.assert_array_equal(*options)


def case_busy(case, rank, compute):
    return _core.busy(case.program(_core), case.seed, 3, rank, 10**8, compute)


def test_the_order_of_sources_of_other_roles_does_not_matter():
    """Sources are numbered within their role, so only the order inside a role counts."""
    case = make("everything", "sparse", 6)
    times = ready_times(case)
    for seed in range(5):
        first = list(case.others)
        random.Random(seed).shuffle(first)
        steps = iter(source for source in case.others if source.role == "step")
        kept = tuple(next(steps) if source.role == "step" else source for source in first)
        np.testing.assert_array_equal(ready_times(replace(case, others=kept)), times)
