"""Noise arithmetic `advance` (end of work under busy intervals) against plain timelines."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.timeline import Timeline, advance_tick_by_tick, periodic_intervals
from support.scale import scaled

from jitterfly._core import advance_periodic


@st.composite
def noises(draw, longest=1000):
    """(period, duration, stationary, phase), short and nearly full periods among them."""
    period = draw(st.integers(2, longest))
    duration = draw(st.integers(1, period - 1) | st.sampled_from([1, period - 1]))
    phase = draw(st.integers(0, period - 1) | st.sampled_from([0, period - 1]))
    return period, duration, draw(st.booleans()), phase


def walk(noise, t, work):
    period, duration, stationary, phase = noise
    return Timeline(periodic_intervals(period, duration, phase, stationary)).advance(t, work)


@given(noises(longest=12), st.integers(0, 60), st.integers(0, 60))
def test_equals_counting_tick_by_tick(noise, t, work):
    period, duration, stationary, phase = noise

    def busy(tick):
        begun = stationary or tick >= phase
        return begun and (tick - phase) % period < duration

    expected = advance_tick_by_tick(busy, t, work)
    assert advance_periodic(*noise, t, work) == expected
    assert walk(noise, t, work) == expected  # the reference is held to the definition, too


@settings(max_examples=scaled(300))
@given(noises(), st.data())
def test_equals_the_walk(noise, data):
    period, duration, _, phase = noise
    edges = [phase + k * period + d for k in range(4) for d in (-1, 0, duration, duration + 1)]
    t = data.draw(st.integers(0, 50 * period) | st.sampled_from([e for e in edges if e >= 0]))
    free = period - duration
    work = data.draw(st.integers(0, 50 * free) | st.sampled_from([0, 1, free, 2 * free]))
    assert advance_periodic(*noise, t, work) == walk(noise, t, work)


@given(noises(), st.integers(0, 20_000), st.integers(0, 20_000), st.integers(0, 20_000))
def test_work_adds_up(noise, t, first, second):
    pause = advance_periodic(*noise, t, first)
    assert advance_periodic(*noise, pause, second) == advance_periodic(*noise, t, first + second)


@given(noises(), st.integers(0, 20_000), st.integers(0, 2_000), st.integers(0, 5_000))
def test_monotone(noise, t, later, work):
    end = advance_periodic(*noise, t, work)
    assert end >= t + work
    assert advance_periodic(*noise, t + later, work) >= end
    assert advance_periodic(*noise, t, work + later) >= end + later


@settings(max_examples=scaled(300))
@given(noises(longest=2**41), st.data())
def test_long_times(noise, data):
    """Times up to 2^61 ticks: noise repeats, so the walk is made in the first periods."""
    period, duration, _, phase = noise
    t = phase + data.draw(st.integers(0, period))
    free = period - duration
    work = data.draw(st.integers(0, 3 * free))
    shift = data.draw(st.integers(0, 2**60 // period)) * period
    assert advance_periodic(*noise, t + shift, work) == walk(noise, t, work) + shift
    if work:  # whole periods of work cost whole periods of time
        periods = data.draw(st.integers(0, 2**60 // period))
        expected = walk(noise, t, work) + periods * period
        assert advance_periodic(*noise, t, work + periods * free) == expected


@pytest.mark.parametrize("stationary", [False, True])
def test_half_open_intervals(stationary):
    noise = 100, 10, stationary, 30  # busy in [30, 40), [130, 140) ...
    assert advance_periodic(*noise, 20, 10) == 30  # work ends where noise begins: not delayed
    assert advance_periodic(*noise, 20, 11) == 41
    assert advance_periodic(*noise, 30, 0) == 30  # no work, no delay, even inside
    assert advance_periodic(*noise, 30, 1) == 41
    assert advance_periodic(*noise, 39, 1) == 41
    assert advance_periodic(*noise, 40, 1) == 41
    assert advance_periodic(*noise, 40, 90) == 130
    assert advance_periodic(*noise, 40, 91) == 141


def test_fresh_and_stationary_differ_before_the_first_phase():
    period, duration, phase = 100, 30, 80  # stationary: also busy in [-20, 10)
    assert advance_periodic(period, duration, False, phase, 0, 5) == 5
    assert advance_periodic(period, duration, True, phase, 0, 5) == 15
    assert advance_periodic(period, duration, True, phase, 10, 5) == 15


@given(noises(longest=200).filter(lambda noise: 2 * noise[1] <= noise[0]), st.integers(1, 1000))
def test_compute_phase_split(noise, work):
    """One compute phase from a common start, over all phases (CS14 section 3.3).

    With P' = P - D >= D, q = floor(W / P'), r = W - q P' and the phase uniform on [0, P), a rank is
    done at W + q D, or one D later with probability r / P. A fresh start adds a third outcome that
    the paper's short intervals (D <= r, or q = 0) do not have: no interval before the phase, so a
    phase of P' + r or more saves one D, with probability (D - r) / P.
    """
    period, duration, _, _ = noise
    quotient, rest = divmod(work, period - duration)
    delays = [advance_periodic(period, duration, False, phase, 0, work) - work
              for phase in range(period)]  # fmt: skip
    later = rest
    sooner = max(duration - rest, 0) if quotient else 0
    counts = {quotient + 1: later, quotient: period - later - sooner, quotient - 1: sooner}
    for intervals, count in counts.items():
        assert delays.count(intervals * duration) == count


def test_compute_phase_split_of_the_paper():
    """CS14's parameters, in units of 1 us: P = 10 ms, D = 0.1 ms, W = 6.66667 ms."""
    period, duration, work = 10_000, 100, 6_667
    ends = [advance_periodic(period, duration, False, phase, 0, work) for phase in range(period)]
    assert ends.count(work) == period - work
    assert ends.count(work + duration) == work
