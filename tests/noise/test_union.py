"""Union of busy intervals of several sources, against counting tick by tick."""

import heapq
import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import Costs, PeriodicNoise, RenewalNoise, Stationary, TraceNoise, delays
from reference.cases import EngineCase
from reference.random_noise import INTERVALS, ends, random_source
from reference.realized import RealizedNoise
from reference.timeline import Timeline, advance_tick_by_tick, clipped, merged, union
from support.grouped import parametrize_in_groups
from support.scale import at_most, scaled

from jitterfly import _core


@pytest.mark.parametrize("number", range(scaled(300)))
def test_merged_lists_are_in_order(number):
    """Some of them long, so that many are generated at once, or with much of one instant."""
    rng, lists = random.Random(f"merged {number}"), []
    for _ in range(rng.randint(0, 4)):
        begin, intervals = rng.randint(0, 9), []
        for _ in range(rng.choice([0, 5, 300])):
            intervals.append((begin, begin + rng.randint(0, 3)))
            begin = intervals[-1][1] + rng.choice([0, 0, 1, 3, 40])
        lists.append(intervals)
    assert list(merged(lists)) == list(heapq.merge(*lists))


def busy_at(source, tick, seed, realization, rank, ordinal):
    """Whether a source takes the CPU in this tick: its definition, without any list."""
    if not source.begin <= tick < source.end:
        return False
    match source:
        case PeriodicNoise():
            phase = source.phase(seed, realization, rank, ordinal)
            begun = source.stationary or tick >= phase
            return begun and (tick - phase) % source.period < source.duration
        case TraceNoise():
            offset = source.offset(seed, realization, rank, ordinal)
            place = (tick + offset) % source.length
            return any(begin <= place < end for begin, end in source.pieces)
    for begin, end in source.ever(seed, realization, rank, ordinal):
        if begin > tick:
            return False
        if tick < end:
            return True
    return None


def tick_by_tick(case, compute):
    """`busy(tick)` of rank 0 under all sources of a case that act in one phase of the cycle."""
    known, numbers, sources = {}, {}, []
    for source in case.sources:
        ordinal = numbers[source.role] = numbers.get(source.role, -1) + 1
        if source.in_compute if compute else source.in_communication:
            sources.append((source, ordinal))

    def busy(tick):
        if tick not in known:
            known[tick] = any(
                busy_at(source, tick, case.seed, case.realization, 0, ordinal)
                for source, ordinal in sources
            )
        return known[tick]

    return busy


def one_rank(sources, work, cycles=1, forward=0, **options):
    """A rank that computes for `work` ticks at a time."""
    costs = Costs(work=work, forward=forward)
    return EngineCase(0, costs, cycles=cycles, others=tuple(sources), **options)


def engine(case):
    """When each piece of work is done."""
    return _core.ready_times(case.program(_core), case.seed, case.realization)[1:, 0].tolist()


def engine_busy(case, until, compute=True):
    return _core.busy(case.program(_core), case.seed, case.realization, 0, until, compute).tolist()


def random_union(number):
    """One to six sources of intervals that leave some of the CPU."""
    rng = random.Random(f"union {number}")
    largest, span = rng.choice([(1, 10), (3, 30), (6, 100)])
    sources = []
    for _ in range(rng.randint(1, 6)):
        role = rng.choice(INTERVALS)
        source = random_source(rng, role, 1, largest, span)
        if ends([*sources, source]):
            sources.append(source)
    work, cycles = rng.choice([(1, 40), (rng.randint(0, 9), 20), (span, 2)])
    return one_rank(
        sources, work, cycles, seed=rng.getrandbits(64), realization=rng.getrandbits(32)
    )


@parametrize_in_groups("number", range(at_most(150, 5)))
def test_equals_counting_tick_by_tick(number):
    case = random_union(number)
    noise = RealizedNoise(case.sources, case.seed, case.realization)
    t, expected = 0, []
    busy = tick_by_tick(case, compute=True)
    for cycle in range(case.cycles):
        end = advance_tick_by_tick(busy, t, case.costs.work)
        assert noise.compute(0, t, case.costs.work, cycle) == end
        expected.append(t := end)
    assert engine(case) == expected

    for compute in (True, False):
        busy = tick_by_tick(case, compute)
        lists = noise.timeline(0, compute=compute).until(200)
        for intervals in (lists, engine_busy(case, 200, compute)):
            covered = {tick for begin, end in intervals for tick in range(max(begin, 0), end)}
            assert [tick in covered for tick in range(200)] == [busy(t) for t in range(200)]


@pytest.mark.full_scale
def test_the_unions_are_not_trivial():
    """Sources overlap and touch each other, windows cut intervals in two."""
    overlaps = touches = cuts = 0
    for number in range(150):
        case, lists, numbers = random_union(number), [], {}
        for source in case.sources:
            ordinal = numbers[source.role] = numbers.get(source.role, -1) + 1
            pieces = []
            for begin, end in source.ever(case.seed, case.realization, 0, ordinal):
                if begin > 200:
                    break
                cuts += begin < source.begin < end or begin < source.end < end
                pieces.append((begin, end))
            lists.append(list(clipped(iter(pieces), source.begin, source.end)))
        ticks = [{tick for begin, end in pieces for tick in range(begin, end)} for pieces in lists]
        for i in range(len(lists)):
            for j in range(i):
                overlaps += bool(ticks[i] & ticks[j])
                bounds = {end for _, end in lists[i]} & {begin for begin, _ in lists[j]}
                touches += bool(bounds)
    assert overlaps > 50
    assert touches > 50
    assert cuts > 20


PIECES = st.lists(st.tuples(st.integers(-20, 60), st.integers(0, 9)), max_size=12)


@settings(max_examples=scaled(300))
@given(st.lists(PIECES, max_size=4), st.integers(0, 60), st.integers(0, 60))
def test_the_reference_itself(lists, t, work):
    """Lists of any intervals, empty, touching and overlapping ones among them."""
    lists = [sorted((begin, begin + length) for begin, length in pieces) for pieces in lists]

    def busy(tick):
        return any(begin <= tick < end for pieces in lists for begin, end in pieces)

    assert Timeline(union(lists)).advance(t, work) == advance_tick_by_tick(busy, t, work)
    joined = list(union(lists))
    assert all(here[1] < beyond[0] for here, beyond in pairwise(joined))


# By hand.


def trace(*pieces, length=100, offset=0, **options):
    return TraceNoise(pieces, length, (offset,), **options)


def ends_of_work(sources, *amounts):
    """When work of so many ticks is done that begins at 0."""
    return [engine(one_rank(sources, amount))[0] for amount in amounts]


def test_touching_intervals_are_one():
    sources = [trace((10, 20)), trace((20, 30), (35, 40))]
    assert ends_of_work(sources, 0, 10, 11, 15, 16, 20) == [0, 10, 31, 35, 41, 45]
    assert engine_busy(one_rank(sources, 1), 100) == [[10, 30], [35, 40]]


def test_overlapping_and_nested_intervals():
    sources = [trace((10, 40), (50, 60)), trace((15, 20), (35, 55)), trace((0, 2))]
    assert ends_of_work(sources, 1, 8, 9, 20) == [3, 10, 61, 72]
    assert engine_busy(one_rank(sources, 1), 62) == [[0, 2], [10, 60]]


def test_a_trace_wraps_around():
    """Offset 95 of 100: [90, 100) and [0, 5) of the trace are [-5, 5) and [5, 10)."""
    sources = [trace((0, 5), (90, 100), offset=95)]
    assert ends_of_work(sources, 1, 85, 86) == [11, 95, 111]
    assert ends_of_work([trace((40, 50), offset=40)], 1, 90, 91) == [11, 100, 111]


def test_windows_clip():
    """Busy in [10, 20) of every 50, from 15 to before 62: [15, 20) and [60, 62)."""
    noise = PeriodicNoise(50, 10, phases=(10,), begin=15, end=62)
    assert ends_of_work([noise], 15, 16, 55, 56, 300) == [15, 21, 60, 63, 307]
    assert engine_busy(one_rank([noise], 1), 1000) == [[15, 20], [60, 62]]
    renewal = RenewalNoise(delays.Constant(ticks=10), delays.Constant(ticks=5), begin=12, end=28)
    assert ends_of_work([renewal], 12, 13, 22, 23) == [12, 16, 25, 29]


def test_windows_take_no_part_of_a_trace_away():
    """The trace goes on behind a closed window: its repetitions stay where they are."""
    noise = trace((10, 20), begin=115, end=10**6)
    assert engine_busy(one_rank([noise], 1), 330) == [[115, 120], [210, 220], [310, 320]]


def test_renewal_by_hand():
    gap, duration = delays.Constant(ticks=10), delays.Constant(ticks=5)
    fresh = RenewalNoise(gap, duration)
    assert engine_busy(one_rank([fresh], 1), 41) == [[10, 15], [25, 30], [40, 45]]
    left, rest = delays.Constant(ticks=2), delays.Constant(ticks=3)
    busy = RenewalNoise(gap, duration, Stationary(delays.MOST, left, rest))
    assert engine_busy(one_rank([busy], 1), 30) == [[0, 2], [12, 17], [27, 32]]
    idle = RenewalNoise(gap, duration, Stationary(0, left, rest))
    assert engine_busy(one_rank([idle], 1), 20) == [[3, 8], [18, 23]]


def test_phases_of_the_cycle():
    """Work of the compute phase sees one union, that of the collective another."""
    sources = [trace((0, 5), in_communication=False), trace((3, 9), in_compute=False)]
    case = EngineCase(1, Costs(work=2, send=2), others=tuple(
        TraceNoise(s.pieces, s.length, (0, 0), 1, s.in_compute, s.in_communication)
        for s in sources))  # fmt: skip
    times = _core.ready_times(case.program(_core), 0, 0)
    # Compute until 7, then 2 ticks of sending from 9 on; the message itself takes no time.
    np.testing.assert_array_equal(times[:, 0], [7, 11, 11])
    assert engine_busy(case, 50, compute=True) == [[0, 5]]
    assert engine_busy(case, 50, compute=False) == [[3, 9]]


def test_many_sources_of_a_role_have_draws_of_their_own():
    """Eight periodic sources with one period: eight different phases, as the reference draws."""
    sources = [PeriodicNoise(10**9, 1, stationary=True) for _ in range(8)]
    case = one_rank(sources, 1, seed=7, realization=3)
    begins = [begin for begin, _ in engine_busy(case, 10**9)]
    expected = [s.phase(7, 3, 0, ordinal) for ordinal, s in enumerate(sources)]
    assert begins == sorted(expected)
    assert len(set(begins)) == 8
