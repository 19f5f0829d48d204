"""Engine under lists of noise sources against the event-driven reference, to the tick."""

import functools
import random
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from reference import noise_cases, wide_draws
from reference.cases import EngineCase
from reference.delays import core_delay
from reference.event_driven import Costs
from reference.noise import MAX, MIN, Intervals, TraceNoise
from reference.random_noise import ROLES, random_delay
from reference.realized import RealizedNoise
from support.grouped import parametrize_in_groups
from support.scale import at_most, scaled

from jitterfly import _core

FAMILIES = {
    "any": (noise_cases.any_case, 200),
    "ties": (noise_cases.tie_case, 150),
    "copies": (noise_cases.copy_case, 120),
    "instant": (noise_cases.zero_transit_case, 120),
    "dense": (noise_cases.dense_case, 120),
    "long work": (noise_cases.long_work_case, 120),
    "recorded work": (noise_cases.recorded_work_case, 200),
    "delays": (noise_cases.delay_case, 120),
    "nodes": (noise_cases.node_case, 120),
    "hosts": (noise_cases.host_case, 200),
    "weather": (noise_cases.weather_case, 200),
    "bursts": (noise_cases.burst_case, 80),
}
CASES = [
    (family, number)
    for family, (_, count) in FAMILIES.items()
    for number in range(at_most(count, 4))
]


@functools.cache
def make(family, number):
    return FAMILIES[family][0](random.Random(f"noise, {family} {number}"))


@functools.cache
def executed(family, number):
    """What the reference makes of a case, and what it met: several tests ask for the same run."""
    run = make(family, number).reference()
    return SimpleNamespace(rows=run.rows, seen=Counter(run.noise.seen),
                           copies_taken=run.copies_taken,
                           levels_skipped=run.levels_skipped)  # fmt: skip


@parametrize_in_groups("family, number", CASES)
def test_engine_equals_reference(family, number):
    case = make(family, number)
    expected = np.array(executed(family, number).rows, dtype=np.int64)[case.rows]
    program = case.program(_core)
    times = _core.ready_times(program, case.seed, case.realization)
    np.testing.assert_array_equal(times, expected)

    run = program, case.seed, case.realization, 1
    largest = _core.simulate(*run, "max", "cpu", 1, None)
    np.testing.assert_array_equal(largest, expected.max(axis=1)[None])
    high, low, upper, lower = _core.simulate(*run, "all", "cpu", 1, None)[0].T
    np.testing.assert_array_equal(high, expected.max(axis=1))
    np.testing.assert_array_equal(low, expected.min(axis=1))
    np.testing.assert_array_equal(upper * 2**32 + lower, expected.sum(axis=1))


@pytest.mark.parametrize("number", range(scaled(60)))
def test_work_under_a_recording_equals_the_walk(number):
    """To the last times that are delayed, 2^62 ticks, and over hundreds of repetitions."""
    rng = random.Random(f"recorded work {number}")
    scale = 2 ** rng.choice([0, 20, 40, 48])
    pieces, length = noise_cases.random_recording(rng, scale)
    idle = length - sum(end - begin for begin, end in pieces)
    last = 2**62 // length * idle // 3
    work = min(last, rng.choice([1, idle, 2 * idle, rng.randint(1, 300 * idle)]))
    noise = TraceNoise(pieces, length, offsets=(rng.randrange(length),))
    case = EngineCase(0, Costs(work=work), cycles=3, others=(noise,))
    expected = np.array(case.reference().rows, dtype=np.int64)
    program = case.program(_core)
    np.testing.assert_array_equal(_core.ready_times(program, 1, 0), expected)
    largest = _core.simulate(program, 1, 0, 9, "max", "cpu", 1, None)
    np.testing.assert_array_equal(largest, [expected.max(axis=1)] * 9)


@pytest.mark.full_scale
@pytest.mark.parametrize("family", FAMILIES)
def test_the_cases_are_not_trivial(family):
    """In 60 cases of a family, everything that its sources can do is done many times."""
    seen, copies, skipped, roles, most = Counter(), 0, 0, Counter(), Counter()
    for number in range(60):
        case = make(family, number)
        run = executed(family, number)
        seen += run.seen
        copies += run.copies_taken
        skipped += run.levels_skipped
        here = Counter(source.role for source in case.sources)
        roles += here
        most |= here
    delayed = [seen[what] for what in ("compute", "receive", "send", "message")]
    assert min(delayed) > 100
    if family != "delays":
        assert seen["interrupted"] > 3000
        wanted = noise_cases.LISTED if family in ("dense", "long work", "recorded work") else ROLES
        assert min(roles[role] for role in wanted) > 10, roles
    assert seen["outside"] > 100  # delays that a window kept out
    if family in ("any", "ties", "instant"):
        assert min(most.values()) >= 2
    if family in ("ties", "copies", "instant", "delays"):
        assert copies > 80
        assert skipped > (20 if family in ("copies", "delays") else 0)


@pytest.mark.full_scale
@pytest.mark.parametrize("family", ["any", "ties"])
def test_windows_matter(family):
    """Taking the windows away changes the result of many cases."""
    changed = 0
    for number in range(60):
        case = make(family, number)
        open_ended = [replace(source, begin=MIN, end=MAX) for source in case.sources]
        limited = [s for s in case.sources if (s.begin, s.end) != (MIN, MAX)]
        if not limited or not noise_cases.ends(open_ended):
            continue
        wide = replace(case, periodic=None, jitter=None, others=tuple(open_ended))
        changed += wide.reference().rows != executed(family, number).rows
    assert changed > 15


@pytest.mark.parametrize("number", range(scaled(40)))
def test_reference_does_not_depend_on_the_order_of_simultaneous_events(number):
    family = ["ties", "instant", "copies", "delays"][number % 4]
    case, rows = make(family, number), executed(family, number).rows
    assert all(case.reference(order=seed).rows == rows for seed in (1, 2))


@pytest.mark.parametrize("family", ["any", "ties", "dense", "copies"])
def test_busy_intervals_equal_the_reference(family):
    """`_core.busy` is the union of all sources, in either phase of the cycle."""
    rng, compared = random.Random(f"busy {family}"), 0
    numbers = at_most(60, 3)
    for number in range(numbers):
        case = make(family, number)
        if not any(isinstance(source, Intervals) for source in case.sources):
            continue
        program = case.program(_core)
        noise = RealizedNoise(case.sources, case.seed, case.realization)
        rank, until = rng.randrange(case.ranks), rng.randint(1, 3000)
        for compute in (False, True):
            found = _core.busy(program, case.seed, case.realization, rank, until, compute)
            expected = noise.timeline(rank, compute=compute).until(until)
            assert tidied(found, until) == expected
            compared += len(expected)
    assert compared > 15 * numbers


def tidied(intervals, until):
    """In [0, until), with intervals that touch joined."""
    joined = []
    for begin, end in intervals.tolist():
        begin, end = max(begin, 0), min(end, until)
        assert not joined or begin >= joined[-1][1]
        if joined and begin == joined[-1][1]:
            joined[-1] = joined[-1][0], end
        elif begin < end:
            joined.append((begin, end))
    return joined


@pytest.mark.parametrize("number", range(scaled(60)))
def test_tables_of_the_cases(number):
    """The tables themselves, at random uniforms and the corners of the 64 bits."""
    rng = random.Random(f"table {number}")
    delay = random_delay(rng, rng.choice([1, 7, 1000, 2**40]))
    uniforms = [rng.getrandbits(64) >> rng.choice([0, 0, 1, 5, 40]) for _ in range(200)]
    uniforms += [0, 1, 63, 64, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1]
    uniforms += [2**52 - 1, 2**52, 2**64 - 2**52 - 1, 2**64 - 2**52]  # where the tails end
    uniforms += [u for u in (delay.last - 1, delay.last, delay.last + 1) if u < 2**64]
    expected = [delay(u) for u in uniforms]
    uniforms = np.array(uniforms, dtype=np.uint64)
    assert core_delay(_core, delay).apply(uniforms).tolist() == expected
    assert wide_draws.apply(delay, uniforms).tolist() == expected
