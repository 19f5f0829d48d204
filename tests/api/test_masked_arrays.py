"""Masked arrays (numpy.ma), as netCDF4 returns them: a masked value never counts as a number."""

import numpy as np
import pytest

import jitterfly as jf
import jitterfly.congestion as jc
from jitterfly import imbalance, measured, stats, theory
from jitterfly.algorithms.own import Listed

NETWORK = jf.LogGOPS(L="1us", o="100ns")
CASE = jf.Case(4, network=NETWORK, noise=[jf.StepNoise("1us", probability=0.5)])
TIMES, RANKS, SHARES = [1e-6, 2e-6, 3e-6, 4e-6], [0, 1, 2, 3], [0.1, 0.2, 0.3, 0.4]
PAIRS = [[0, 1], [1, 2], [2, 3], [3, 0]]
ONES = np.ones(4)
LARGEST, RESIDUAL = theory.Largest(10, jf.Exponential("1us")), theory.Residual("10us", "1us")

READERS = {
    "mean samples": (stats.mean, TIMES),
    "mean lower_bound": (lambda x: stats.mean(np.ones((2, 4)), lower_bound=x), TIMES),
    "mean noise_free": (lambda x: stats.mean(np.ones((2, 4)), noise_free=x), TIMES),
    "quantile samples": (lambda x: stats.quantile(x, 0.5), TIMES),
    "quantiles q": (lambda x: stats.quantiles(TIMES, x), SHARES),
    "standard_error samples": (stats.standard_error, TIMES),
    "effective_events values": (stats.effective_events, TIMES),
    "thirty_run_means samples": (lambda x: stats.thirty_run_means(x, 2), TIMES),
    "ratio numerator": (lambda x: stats.ratio(x, ONES), TIMES),
    "ratio denominator": (lambda x: stats.ratio(ONES, x), TIMES),
    "recovery noiseless": (lambda x: stats.recovery(2 * ONES, ONES, x), TIMES),
    "difference minuend": (lambda x: stats.difference(x, ONES), TIMES),
    "difference subtrahend": (lambda x: stats.difference(ONES, x), TIMES),
    "uncertainty replicates": (
        lambda x: stats.with_input_uncertainty(stats.mean(TIMES), x), TIMES),
    "Histogram values": (stats.Histogram.of, RANKS),
    "CrossMoments values": (stats.CrossMoments.of, PAIRS),
    "periodic phases": (lambda x: jf.PeriodicNoise("1s", "1us", phases=x), TIMES),
    "trace starts": (
        lambda x: jf.TraceNoise(starts=x, durations=[1e-7] * 4, length="1s"), TIMES),
    "trace durations": (
        lambda x: jf.TraceNoise(starts=RANKS, durations=x, length="10s"), TIMES),
    "trace offset": (
        lambda x: jf.TraceNoise(starts=[0.0], durations=[1e-7], length="1s", offset=x), TIMES),
    "empirical samples": (lambda x: jf.Empirical(samples=x), TIMES),
    "empirical count": (
        lambda x: jf.Empirical(low=RANKS, high=[1, 2, 3, 4], count=x), [1, 2, 3, 4]),
    "exponential t": (jf.Exponential("1us").survival, TIMES),
    "exponential q": (jf.Exponential("1us").quantile, SHARES),
    "largest t": (LARGEST.survival, TIMES),
    "largest t of cdf": (LARGEST.cdf, TIMES),
    "largest shares": (LARGEST.isf, SHARES),
    "largest shares of quantile": (LARGEST.quantile, SHARES),
    "residual t": (RESIDUAL.survival, TIMES),
    "residual shares": (RESIDUAL.quantile, SHARES),
    "arrival times": (imbalance.GivenArrival, TIMES),
    "speed factors": (imbalance.GivenSpeed, [1, 1.1, 1.2, 1.3]),
    "compare_measured measured": (
        lambda x: jf.compare_measured(x, CASE, unit="s", realizations=50), TIMES),
    "detours starts": (lambda x: measured.Detours(x, [1] * 4, 10), RANKS),
    "own messages": (Listed, PAIRS),
    "congestion pattern": (lambda x: jc.CongestionCase(jc.FatTree.of(144), pattern=[x]), PAIRS),
}  # fmt: skip


@pytest.mark.parametrize("reader", READERS)
def test_masked_values_are_refused_by_name(reader):
    read, values = READERS[reader]
    masked = np.ma.array(values, mask=np.zeros(np.shape(values)))
    masked[-1] = np.ma.masked
    name = reader.split()[1]
    count = np.ma.count_masked(masked)
    said = rf"^{name}\b.*, got {count} masked values?: leave masked values out with \.compressed"
    with pytest.raises(ValueError, match=said):
        read(masked)


@pytest.mark.parametrize("reader", READERS)
def test_a_mask_that_hides_nothing_is_none(reader):
    read, values = READERS[reader]
    for mask in (False, np.zeros(np.shape(values), bool)):
        read(np.ma.array(values, mask=mask))


@pytest.mark.parametrize(
    "read",
    [
        lambda x: jf.PeriodicNoise(x, "1us"),
        lambda x: jf.Hockney(x, 0),
        lambda x: jf.Case(x, network=NETWORK),
        lambda x: jf.StepNoise("1us", probability=x),
        lambda x: jf.SpeedNoise(x),
        lambda x: jf.simulate(CASE, 2, seed=x),
        lambda x: stats.mean([1.0, x, 2.0]),
        lambda x: jf.Empirical(samples=[1e-6, x]),
        lambda x: jf.Mixture(np.ma.array([1, 2], mask=[0, 1]), [jf.Exponential("1us")] * 2),
        lambda x: jf.Axis("ranks", np.ma.array([1, 2], mask=[0, 1])),
        lambda x: jf.slowdown(CASE.noise, np.ma.array([2, 4], mask=[0, 1]), network=NETWORK),
        lambda x: jf.advise(np.ma.array([2, 4], mask=[0, 1]), network=NETWORK),
        lambda x: jc.FatTree(np.ma.array([2, 2], mask=[0, 1]), (1, 2)),
        lambda x: jf.Hierarchy([(2, NETWORK), NETWORK], np.ma.array([0, 1], mask=[0, 1])),
    ],
)
def test_a_masked_value_is_no_number(read):
    """Also where it is alone; else it would be 0, or the value behind the mask."""
    for alone in (np.ma.masked, np.ma.array(5, mask=True)):
        with pytest.raises(ValueError, match=r"masked|None|--"):
            read(alone)


def test_the_mean_of_what_is_left():
    values = np.ma.array([1, 2, 3, 1e9], mask=[0, 0, 0, 1])
    assert stats.mean(values.compressed()).value == 2
