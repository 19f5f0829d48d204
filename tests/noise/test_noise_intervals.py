"""`noise_intervals`: the union of all sources' busy intervals on a rank."""

import numpy as np
import pytest
from support.scale import scaled

import jitterfly as jf
import jitterfly.congestion as jc

NETWORK = jf.LogGOPS("1us", "1us", G="1ns")
LENGTH = 3000  # ticks of the timeline that is filled in by hand


def one_rank(*noise):
    return jf.Case(1, network=NETWORK, noise=noise)


def trace(start, end, length="1ms"):
    """One interval, at the same times on every rank; in microseconds."""
    starts, durations = [start * 1e-6], [(end - start) * 1e-6]
    return jf.TraceNoise(starts=starts, durations=durations, length=length, offset=0.0)


def test_the_last_interval_is_whole():
    """Away from 0 to 15 us by two sources, of which the first ends at 10 us."""
    case = one_rank(trace(0, 10), trace(5, 15))
    for until in ("1us", "6us", "10us", "11us", "15us", "20us"):
        assert jf.noise_intervals(case, 0, until).tolist() == [[0, 15e-6]]
    touching = one_rank(trace(0, 10), trace(10, 15))
    assert jf.noise_intervals(touching, 0, "6us").tolist() == [[0, 15e-6]]
    apart = one_rank(trace(0, 10), trace(11, 15))
    assert jf.noise_intervals(apart, 0, "11us").tolist() == [[0, 10e-6]]
    assert jf.noise_intervals(apart, 0, "11.000001us").tolist() == [[0, 10e-6], [11e-6, 15e-6]]


def union(periodic, until):
    """By hand: a tick is taken or not. Rows of those that begin before `until`."""
    taken = np.zeros(LENGTH + 1, dtype=bool)
    for period, duration, phase, start in periodic:
        first = phase if start == "fresh" else phase - period
        for begin in range(first, LENGTH, period):
            taken[max(begin, 0) : max(begin + duration, 0)] = True
    taken[-1] = False
    edges = np.flatnonzero(np.diff(np.concatenate([[False], taken]).astype(int)))
    rows = edges.reshape(-1, 2)
    return rows[rows[:, 0] < until].tolist()


@pytest.mark.parametrize("seed", range(scaled(40)))
def test_union_by_hand(seed):
    rng = np.random.default_rng(seed)
    periodic = []
    for _ in range(rng.integers(1, 5)):
        period = int(rng.integers(8, 200))
        duration = int(rng.integers(1, max(period // 4, 2)))
        start = str(rng.choice(["fresh", "stationary"]))
        periodic.append((period, duration, int(rng.integers(period)), start))
    noise = [
        jf.PeriodicNoise(p * 1e-12, d * 1e-12, phases=[phase * 1e-12], start=start)
        for p, d, phase, start in periodic
    ]
    case = one_rank(*noise)
    for until in map(int, rng.integers(0, LENGTH // 2, 20)):
        found = jf.noise_intervals(case, 0, until * 1e-12)
        assert np.rint(found * 1e12).astype(int).tolist() == union(periodic, until)


@pytest.mark.parametrize("phase", ["communication", "compute"])
def test_congestion_takes_no_cpu(phase):
    """Beside it the CPU's noise is as it is without."""
    periodic = jf.PeriodicNoise("1ms", "10us", during="communication", start="stationary")
    congestion = jf.Congestion(jc.FatTree([4, 4], [1, 4]))

    def found(*noise):
        case = jf.Case(8, network=NETWORK, noise=noise, message_bytes=1000)
        return jf.noise_intervals(case, 3, "5ms", seed=4, realization=2, phase=phase)

    assert found(congestion).shape == (0, 2)
    assert np.array_equal(found(congestion, periodic), found(periodic))
    assert len(found(congestion, periodic)) == (5 if phase == "communication" else 0)
