"""Redundant copies that overtake: panels (cuda/cpu/panels.h) against plain sweeps, rank by rank.

A rank skips levels where a copy overtakes what it waits for. Panels guess that none does, note
those that do, and give up where there are too many; each of these happens in the cases here.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from reference import Jitter, MessageDelay, PeriodicNoise, StepDelay
from reference.cases import EngineCase
from support.instruction_sets import check_instruction_sets
from support.kernel_cases import COSTS, PIECES, SAMPLES, everything
from support.scale import scaled, some

from jitterfly import _core

NOISE = PeriodicNoise(period=10**9, duration=10**7)
NEAR = 8  # levels that the first panels make: of 2^8 ranks (kDrawnBits)


@dataclass(frozen=True)
class Skips:
    """Of one cycle, from the ready times: two levels that are ready at once came with one copy."""

    count: int  # copies that brought more than one level
    beyond: int  # ranks that skipped the last level of the first panels

    @classmethod
    def of(cls, case):
        levels = rows(case)[1 : case.log2_ranks + 1]
        same = levels[1:] == levels[:-1]
        last = same & ~np.vstack([same[1:], np.zeros_like(same[:1])])
        return cls(int(last.sum()), int(same[NEAR - 1].sum()) if len(same) >= NEAR else 0)


def rows(case):
    return _core.ready_times(case.program(_core), case.seed, case.realization)


def dense(log2_ranks, jitter, seed, noise=NOISE):
    within = tuple(range(1, log2_ranks))
    return EngineCase(log2_ranks, COSTS, within, periodic=noise, jitter=jitter, seed=seed)


def rarely(probability):
    """Late by many rounds."""
    return Jitter(10_000_000, (int(2**64 * probability),))


RARE = [dense(k, rarely(0.01), seed) for k in (9, 11, 12) for seed in range(4)]
OFTEN = [dense(k, rarely(0.1), seed) for k in (4, 5, 8, 9, 11) for seed in range(4)]


def sparse(log2_ranks, seed):
    """Copies at every other level, of messages of which many are late."""
    jitter = Jitter(10_000_000, tuple(2**62 >> i // 2 for i in range(8)))
    return EngineCase(log2_ranks, COSTS, range(2, log2_ranks, 2), jitter=jitter, seed=seed)


# Copies at few levels: segments of steps in the middle of the butterfly, of ranks in a row, of one
# panel or of several, of ranks that are not.
LEVELS = [(3,), (2, 5), (8, 10), (6, 11), (9, 12), (4, 5, 9, 12)]


def at_levels(levels, seed):
    # Often enough that ranks skip levels without jitter.
    noise = PeriodicNoise(period=10**8, duration=10**7)
    return EngineCase(13, COSTS, levels, periodic=noise, seed=seed)


# Mirrors of the same lane or not, of the same register or not, the farthest that panels have, and
# one beyond.
MIRRORS = [(2,), (1, 2), (8,), (1, 3, 12), (15, 4, 2, 1), (16,)]


def to_mirrors(mirrors, log2_ranks, jitter=None, within=None):
    noise = PeriodicNoise(period=10**9, duration=10**7)
    within = range(1, log2_ranks) if within is None else within
    return EngineCase(log2_ranks, COSTS, within, periodic=noise, jitter=jitter, mirrors=mirrors)


# None of which needs the time: panels have them drawn beforehand.
DELAYS = (
    StepDelay(SAMPLES.with_last(2**58)),
    StepDelay(PIECES.with_last(2**60), at_send=True),
    MessageDelay(SAMPLES.with_last(2**61)),
)

# The first two in one panel, which leaves its ranks in memory before the segment is given up.
FULL = [sparse(9, 3), sparse(9, 32), *(sparse(11, seed) for seed in range(3))]


def hidden(case):
    """Only the last row is observed."""
    return replace(case, hidden=frozenset(case.rows[:-1]))


def results(case):
    run = case.program(_core), case.seed, case.realization, 2
    found = [_core.simulate(*run, which, "cpu", 1, None) for which in ("max", "all")]
    return [*found, rows(case)]


def check(case, monkeypatch):
    """Every instruction set against whole sweeps, which the plain engine does."""
    for one in (case, hidden(case)):
        check_instruction_sets(results, one, monkeypatch)


@pytest.mark.parametrize("number", some(range(len(RARE)), 4))
def test_few_copies_overtake(number, monkeypatch):
    check(RARE[number], monkeypatch)


@pytest.mark.parametrize("number", some(range(len(OFTEN)), 6))
def test_many_copies_overtake(number, monkeypatch):
    check(OFTEN[number], monkeypatch)


@pytest.mark.parametrize("number", some(range(len(FULL)), 2))
def test_too_many_copies_overtake(number, monkeypatch):
    check(FULL[number], monkeypatch)


@pytest.mark.parametrize("levels", some(LEVELS, 3))
@pytest.mark.parametrize("seed", range(scaled(2)))
def test_copies_at_few_levels(levels, seed, monkeypatch):
    check(at_levels(levels, seed), monkeypatch)


@pytest.mark.parametrize(
    ("mirrors", "log2_ranks"),
    some([(mirrors, log2_ranks) for mirrors in MIRRORS for log2_ranks in (5, 8, 10)], 4),
)
def test_any_mirrors(mirrors, log2_ranks, monkeypatch):
    case = to_mirrors(mirrors, log2_ranks)
    check(case, monkeypatch)
    check(replace(case, jitter=rarely(0.01)), monkeypatch)
    check(to_mirrors(mirrors, log2_ranks, rarely(0.1), (2, log2_ranks - 1)), monkeypatch)
    if log2_ranks < 10:  # sweeps under general noise are slow
        check(replace(case, periodic=None, others=everything(case.ranks)), monkeypatch)


@pytest.mark.parametrize("mirrors", [(1, 4, 8), (1, 8, 12), (1, 2, 4)])
def test_copies_that_are_taken_back(mirrors, monkeypatch):
    """Of ranks that skipped a level, in an earlier panel, with a copy that is not sent then."""
    jitter = Jitter(10_000_000, tuple(2**64 // k for k in (10, 30, 100)))
    for seed in range(scaled(10)):
        case = EngineCase(10, COSTS, (9,), jitter=jitter, mirrors=mirrors, seed=seed)
        check(hidden(case), monkeypatch)


@pytest.mark.parametrize("jitter", [None, rarely(0.1)])
def test_cycles_of_mirrors(jitter, monkeypatch):
    case = to_mirrors((1, 3, 12), 9, jitter)
    check(replace(case, cycles=3), monkeypatch)


@pytest.mark.parametrize("levels", [range(1, 9), (8,), (3, 8)])
@pytest.mark.parametrize("mirrors", [(1,), (2, 1)])
def test_delays_of_steps_in_several_panels(levels, mirrors, monkeypatch):
    """A rank that skips levels only pays the delay of the last one: its copies may become later."""
    for seed in range(scaled(3)):
        case = EngineCase(9, COSTS, levels, mirrors=mirrors, others=DELAYS, seed=seed)
        check(hidden(case), monkeypatch)


@pytest.mark.parametrize(
    ("log2_ranks", "draw"),
    some([(log2_ranks, draw) for log2_ranks in (4, 6, 9, 10) for draw in range(4)], 4),
)
def test_cycles_and_any_noise(log2_ranks, draw, monkeypatch):
    """Later cycles begin at any number of a block of draws."""
    case = replace(dense(log2_ranks, rarely(0.1), draw), cycles=2, realization=draw)
    steps_of = EngineCase.steps

    def renumbered(case):
        steps = np.array(steps_of(case))
        steps[:, 3] += draw
        return steps

    monkeypatch.setattr(EngineCase, "steps", renumbered)
    check(case, monkeypatch)
    if log2_ranks < 10:  # sweeps under general noise are slow
        check(replace(case, periodic=None, jitter=None, others=everything(case.ranks)), monkeypatch)


def test_the_cases_are_what_they_are_for():
    """Each way is taken: no copy overtakes, some do, over more than one panel, and too many."""
    rare, often = [Skips.of(case) for case in RARE], [Skips.of(case) for case in OFTEN]
    assert sum(skips.count == 0 for skips in rare) > 2
    assert sum(skips.count > 0 for skips in rare) > 2
    assert sum(skips.count > case.ranks / 50 for skips, case in zip(often, OFTEN, strict=True)) > 10
    assert sum(skips.beyond > 0 for skips in often) > 2
    assert all(Skips.of(at_levels(levels, 0)).count > 50 for levels in LEVELS)
    mirrored = [Skips.of(to_mirrors(mirrors, 10, rarely(0.1), (2, 9))) for mirrors in MIRRORS]
    assert all(skips.count > 10 for skips in mirrored)
    # Between neighbours panels hold half as many as there are ranks (PanelGroups::capacity).
    assert all(Skips.of(case).count > case.ranks / 2 for case in FULL)
