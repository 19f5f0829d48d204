"""Engine against theory: network jitter, residual noise, what redundancy cannot repair.

False alarms: reference/chance.py.
"""

from math import sqrt

import numpy as np
import pytest
from reference.chance import ONE_SIDED, check_counts, check_distribution, check_mean
from scipy import stats
from support.scale import scaled

import jitterfly as jf
from jitterfly.simulate import noise_phases


def case(ranks, noise, **options):
    options = {"network": jf.LogGOPS(L=1e-6, o=1e-9, gamma=1e-10), "message_bytes": 1, **options}
    return jf.Case(ranks, noise=[noise], **options)


def test_one_rank_under_jitter():
    """The branches below a rank are disjoint, so its own ready time has an exact distribution.

    For jitter of the message: F_{l+1}(t) = F_l(t) (f_X * F_l)(t - c).
    """
    log2_ranks, transit, delay, mean, count = 5, 10, 7, 0.5, scaled(3000)
    tick = 1e-12
    jitter = jf.NetworkJitter(transit / mean * tick, delay * tick)
    network = jf.Hockney(transit * tick, 0)
    machine = case(2**log2_ranks, jitter, network=network)
    size = 400  # ticks
    late = np.zeros(size)
    for events in range(40):
        late[transit + delay * events] = stats.poisson.pmf(events, mean)
    cumulative = np.ones(size)
    for _ in range(log2_ranks):
        cumulative = cumulative * np.convolve(late, cumulative)[:size]
    ends = np.array([jf.ready_times(machine, 6, i)[-1] for i in range(count)]) / tick
    for rank in (0, 21):
        counts = np.bincount(np.rint(ends[:, rank]).astype(int), minlength=size)
        check_counts(counts, np.diff(cumulative, prepend=0.0))


def residual_bound(ranks, period, duration):
    """Mean of the largest residual at entry (periodic and stationary noise)."""
    q = duration / period
    return duration * (1 - (1 - (1 - q) ** (ranks + 1)) / (q * (ranks + 1)))


@pytest.mark.parametrize("ranks", [1, 16, 1024])
@pytest.mark.parametrize("q", [0.001, 0.1, 0.6])
def test_largest_residual_of_periodic_noise(ranks, q):
    """One tick of work at time 0: a rank is late by what is left of the interval it is in."""
    period, tick, count = 1e-3, 1e-12, 20_000
    noise = jf.PeriodicNoise(period, q * period, start="stationary", during="compute")
    machine = case(ranks, noise, network=jf.Hockney(0, 0), compute_time=tick)
    residuals = jf.simulate(machine, count, seed=7).samples[:, 0] - tick
    check_mean(residuals, residual_bound(ranks, period, q * period), 0, q * period)
    # P(residual <= x) = 1 - q + x / P for each rank.
    cdf = lambda x: np.where(x < 0, 0, 1 - q + np.minimum(x / period, q)) ** ranks  # noqa: E731
    check_distribution(residuals, cdf, grain=2 * ranks * tick / period)


@pytest.mark.parametrize("within", [None, "all", [2, 5]])
def test_what_no_redundancy_can_repair(within):
    """A rank held before its first send delays all: the largest residual at entry is a bound.

    It holds in each realization; the mean follows.
    """
    period, duration, ranks, count = 1e-2, 1e-3, 64, 4000
    noise = jf.PeriodicNoise(period, duration, start="stationary")
    machine = case(ranks, noise, algorithm=jf.Butterfly(copy_levels=within))
    result = jf.simulate(machine, count, seed=8)
    late = result.samples[:, 0] - result.noise_free[0]
    for realization in range(scaled(500)):
        phases = noise_phases(machine, 8, realization)
        residuals = np.maximum(phases + duration - period, 0)
        assert late[realization] > residuals.max() - 1e-12
    spread = ONE_SIDED * late.std() / sqrt(count)
    assert late.mean() > residual_bound(ranks, period, duration) - spread


def test_fresh_start_has_no_residual():
    """Nobody is inside an interval at time 0, so a short first phase is rarely delayed (CS14)."""
    period, duration, work, ranks, count = 1e-3, 1e-4, 1e-5, 8, 20_000
    means = {}
    for start in ("fresh", "stationary"):
        noise = jf.PeriodicNoise(period, duration, start=start, during="compute")
        machine = case(ranks, noise, network=jf.Hockney(0, 0), compute_time=work)
        late = jf.simulate(machine, count, seed=9).samples[:, 0] - work
        means[start] = late.mean()
        if start == "fresh":  # late by D if any phase is below W
            hit = int((late > duration / 2).sum())
            expected = 1 - (1 - work / period) ** ranks
            check_counts(np.array([hit, count - hit]), [expected, 1 - expected])
    assert means["fresh"] < means["stationary"] / 2
