"""Engine against closed forms: no noise (Hockney, LogGOPS), and synchronized noise."""

import numpy as np
import pytest
from reference.timeline import Timeline, periodic_intervals

import jitterfly as jf
from jitterfly.simulate import noise_phases

NS = 1e-9


def completions(case, realization=0):
    return jf.simulate(case, 1, first_realization=realization, backend="cpu").samples[0]


@pytest.mark.parametrize("log2_ranks", [0, 1, 2, 7, 12, 16])
@pytest.mark.parametrize("message_bytes", [0, 8, 10**6])
def test_hockney_without_noise(log2_ranks, message_bytes):
    """MS12: K (alpha + beta n + gamma n), whatever T."""
    alpha, beta, gamma = 1e-6, 1e-9, 1e-10
    case = jf.Case(2**log2_ranks, algorithm=jf.Butterfly(exchanges_after=log2_ranks),
                   network=jf.Hockney(alpha, beta, gamma), message_bytes=message_bytes)  # fmt: skip
    expected = log2_ranks * (alpha + beta * message_bytes + gamma * message_bytes)
    result = jf.simulate(case, 3)
    assert result.samples.shape == (3, log2_ranks + 1)
    np.testing.assert_allclose(result.samples, expected, rtol=1e-14)
    np.testing.assert_allclose(result.noise_free, expected, rtol=1e-14)


@pytest.mark.parametrize("within", [None, "all", [2, 3]])
@pytest.mark.parametrize("cycles", [1, 3])
def test_loggops_without_noise(cycles, within):
    """CS14: K (o_s + transit + o_r + gamma n) for a collective; cycles add up."""
    log2_ranks, n, work = 10, 16, 5e-6
    network = jf.LogGOPS(L=1e-6, o=2e-9, G=1e-9, O=1e-10, gamma=1e-10)
    case = jf.Case(2**log2_ranks, algorithm=jf.Butterfly(copy_levels=within), network=network,
                   message_bytes=n, cycles=cycles, compute_time=work)  # fmt: skip
    overhead = 2e-9 + 1e-10 * n
    collective = log2_ranks * (2 * overhead + 1e-6 + (n - 1) * 1e-9 + 1e-10 * n)
    expected = [(cycle + 1) * (work + collective) for cycle in range(cycles)]
    np.testing.assert_allclose(completions(case), expected, rtol=1e-14)
    np.testing.assert_allclose(jf.simulate(case, 1).noise_free, expected, rtol=1e-14)


def test_one_rank_computes_only():
    case = jf.Case(1, network=jf.LogGOPS(L=1e-6, o=1e-6), cycles=3, compute_time=2e-6)
    np.testing.assert_allclose(completions(case), [2e-6, 4e-6, 6e-6], rtol=1e-14)


@pytest.mark.parametrize("start", ["fresh", "stationary"])
def test_synchronized_noise_is_one_rank_s_noise(start):
    """All ranks are held together: the machine is one rank that walks through all its work."""
    period, duration, log2_ranks, cycles = 10_000, 3_000, 6, 4
    noise = jf.PeriodicNoise(period * NS, duration * NS, start=start, shared="machine")
    case = jf.Case(
        2**log2_ranks,
        network=jf.LogGOPS(L=100 * NS, o=10 * NS, gamma=5 * NS),
        noise=[noise],
        message_bytes=1,
        compute_time=7_777 * NS,
        cycles=cycles,
    )
    for realization in range(20):
        phase = round(noise_phases(case, 0, realization)[0] * 1e12)
        intervals = periodic_intervals(period * 1000, duration * 1000, phase, start == "stationary")
        timeline, t, expected = Timeline(intervals), 0, []
        for _ in range(cycles):
            t = timeline.advance(t, 7_777_000)
            for _ in range(log2_ranks):
                t = timeline.advance(t, 10_000) + 100_000
                t = timeline.advance(t, 15_000)
            expected.append(t)
        ticks = jf.simulate(case, 1, first_realization=realization).ticks[0]
        np.testing.assert_array_equal(ticks, expected)
