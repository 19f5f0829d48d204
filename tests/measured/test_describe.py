"""Statistics of measured noise: quantiles, binomial and bootstrap intervals, their coverage."""

import numpy as np
import pytest
from reference.chance import FALSE_ALARM
from scipy import stats
from support.scale import scaled

from jitterfly.measured import (
    CollectiveTable,
    Detours,
    Histogram,
    Latencies,
    Measured,
    PerRankSamples,
)
from jitterfly.measured.description import (
    comparison_table,
    describe,
    describe_part,
    description_lines,
    mean_interval,
    rank_interval,
    share_interval,
    weighted_mean_interval,
)
from jitterfly.stats import realizations_needed
from jitterfly.stats.intervals import quantile_rank

US, MS, S = 10**6, 10**9, 10**12


def detours(durations, gap=MS, **known):
    durations = np.asarray(durations, dtype=np.int64)
    starts = np.arange(len(durations)) * gap
    return Detours(starts, durations, max(1, len(durations)) * gap, **known)


def quantile(facts, q):
    return next(found for found in facts["quantiles"] if found["q"] == q)


def text(part):
    return "\n".join(description_lines(Measured((part,), "x")))


def test_of_known_detours():
    facts = describe_part(detours(np.arange(1, 1001) * US), periods=False)
    assert facts["count"] == 1000
    assert facts["seconds"] == 1.0
    assert facts["rate"] == 1000.0
    assert facts["share"] == pytest.approx(0.5005)
    assert facts["mean"] == pytest.approx(500.5e-6)
    for q, value, events in [(0.5, 500e-6, 501), (0.9, 900e-6, 101), (0.99, 990e-6, 11)]:
        found = quantile(facts, q)
        assert (found["value"], found["events"]) == (pytest.approx(value), events)
        assert found["interval"][0] < value < found["interval"][1]
    assert facts["largest"] == pytest.approx(1e-3)
    assert facts["largest_events"] == 1


def test_several_detours_in_each_period():
    """Then their share is more than that of the ticks."""
    starts = np.arange(1000) * 4 * MS
    each = np.sort(np.concatenate([starts, starts + 20 * US, starts + 90 * US]))
    part = Detours(each, np.full(3000, US), 4 * S)
    assert "(250 Hz): 100.0% of the detours (3 in each period), 100.0% of their time" in text(part)
    assert "in no period" not in text(part)


def test_time_in_no_period_is_told():
    """A tick has 4 of 5 detours and a tenth of the time: the others are looked at by themselves."""
    rng = np.random.default_rng(1)
    tick = np.arange(500) * 4 * MS
    others = rng.choice(tick, 125, replace=False) + rng.integers(MS, 3 * MS, 125)
    starts = np.sort(np.concatenate([tick, others]))
    told = text(Detours(starts, np.where(np.isin(starts, others), 100 * US, US), 2 * S))
    assert "in no period: 8" in told  # some are near the phase of the tick by chance
    assert "`shortest` of noise import leaves out short detours" in told


def test_a_rare_source_on_a_grid_is_told():
    """A daemon that waits for a timer: its gaps are whole periods of that, 20 to 43."""
    rng = np.random.default_rng(1)
    starts = 32 * MS * np.cumsum(rng.integers(20, 44, 400))
    told = text(Detours(starts, np.full(400, 100 * US), int(starts[-1]) + S))
    assert "period 32 ms" in told
    assert "a source above has no detour in most of its periods" in told


def test_idle_cpus_are_one_line():
    parts = [detours([US] * 30, cpu="0"), detours([2 * US] * 30, cpu="9")]
    parts += [Detours(np.array([]), np.array([]), S, cpu=str(cpu)) for cpu in [*range(1, 9), 12]]
    lines = description_lines(Measured(tuple(parts), "x"))
    assert "9 CPUs without a detour: 1-8,12; 1 s each" in lines
    assert sum("mean" in line for line in lines) == 2  # those that have some are told in full
    assert not any("CPU 3" in line or " 0 detours" in line for line in lines)
    nodes = [Detours(np.array([]), np.array([]), n * S, cpu=f"n{n}:0") for n in (1, 2)]
    (line,) = description_lines(Measured(tuple(nodes), "x"))
    assert line == "2 CPUs without a detour: n1:0 to n2:0; 1 s to 2 s each"
    (line,) = description_lines(Measured((nodes[0],), "x"))
    assert line == "CPU n1:0: 0 detours in 1 s"


def test_a_quantile_beyond_the_events_is_unknown():
    facts = describe_part(detours(np.arange(1, 1001) * US), periods=False)
    assert quantile(facts, 0.999)["value"] is None
    assert "p99.9  unknown: 1,000 events of the 3,688 that it needs" in text(
        detours(np.arange(1, 1001) * US)
    )
    assert quantile(describe_part(detours(np.arange(1, 3689)), periods=False), 0.999)["value"]


@pytest.mark.parametrize("q", [0.5, 0.9, 0.99, 0.999])
def test_events_needed(q):
    """The fewest with which all are below the quantile with a probability of 2.5 % at most."""
    needed = realizations_needed(q)
    assert q**needed <= 0.025 < q ** (needed - 1)
    for events in (needed, needed - 1):
        facts = describe_part(detours(np.arange(1, events + 1)), periods=False)
        assert (quantile(facts, q)["value"] is not None) == (events == needed)


def test_ties_count_as_events_at_or_above():
    facts = describe_part(detours([5] * 600 + [9] * 400), periods=False)
    assert quantile(facts, 0.5)["events"] == 1000
    assert quantile(facts, 0.9)["events"] == 400
    assert quantile(facts, 0.9)["interval"] == [9e-12, 9e-12]


@pytest.mark.parametrize(("q", "total"), [(0.5, 101), (0.9, 1000), (0.99, 400), (0.5, 7)])
def test_intervals_of_quantiles_are_those_of_all_resamples(q, total):
    """P(rank of the resample's quantile <= j) = P(Bin(n, j / n) >= r), summed here by hand."""
    rank = quantile_rank(total, q)
    shares = np.arange(1, total + 1) / total
    below = stats.binom.sf(rank - 1, total, shares)
    low, high = rank_interval(q, total)
    assert low == 1 + np.argmax(below >= 0.025 - 1e-12)
    assert high == 1 + np.argmax(below >= 0.975 - 1e-12)


def test_intervals_of_quantiles_cover():
    """1000 experiments of 400 events: a binomial with p >= 0.93 (the bootstrap's own error is
    below 2 % here) has a count that small with probability FALSE_ALARM.
    """
    rng = np.random.default_rng(7)
    low, high = rank_interval(0.9, 400)
    sample = np.sort(rng.random((1000, 400)), axis=1)
    covered = np.count_nonzero((sample[:, low - 1] <= 0.9) & (sample[:, high - 1] >= 0.9))
    assert covered >= stats.binom.ppf(FALSE_ALARM, 1000, 0.93)


@pytest.mark.parametrize("total", [50, 2000, 20_000])
def test_interval_of_the_mean_is_the_bootstrap(total):
    """Against drawing everything: 1000 resamples leave each bound an error of a few percent.

    The bounds are order statistics of 1000 draws of a nearly normal variable: their standard error
    is 0.085 standard errors of the mean (a sample quantile at 2.5 %), here and there. 0.6 is 5 of
    both, so that a false alarm has a probability of 1e-6 a bound.
    """
    rng = np.random.default_rng(3)
    values = rng.pareto(3.5, total)
    found = mean_interval(values)
    means = [values[rng.integers(total, size=total)].mean() for _ in range(1000)]
    error = values.std() / np.sqrt(total)
    np.testing.assert_allclose(found, np.quantile(means, [0.025, 0.975]), atol=0.6 * error)
    assert mean_interval(values) == found  # the seed is fixed
    distinct, counts = np.unique(np.round(values, 2), return_counts=True)
    weighted = weighted_mean_interval(distinct, counts)
    np.testing.assert_allclose(weighted, found, atol=0.6 * error + 0.005)


def poisson(rng, count, durations):
    """A recording of 10 s with about so many detours at random, with exponential gaps."""
    number = 2 * count + 50
    lengths = durations(rng, number).astype(np.int64)
    ends = np.cumsum(rng.exponential(10 * S / count, number).astype(np.int64) + lengths)
    kept = ends < 10 * S
    return Detours((ends - lengths)[kept], lengths[kept], 10 * S)


@pytest.mark.parametrize("count", [60, 400])
@pytest.mark.parametrize(
    "durations",
    [
        lambda rng, count: np.full(count, 25 * US),
        lambda rng, count: rng.normal(25 * US, 2.5 * US, count),
        lambda rng, count: rng.exponential(25 * US, count),
    ],
    ids=["constant", "narrow", "exponential"],
)
def test_the_share_of_the_cpu_covers(count, durations):
    """Of 300 recordings (30 at a small scale) 93 % hold the share, of 95 %: the number is binomial.

    Student's interval of 30 blocks, each with few events, is good to 2 %. With the number of
    detours taken for known, none of those of constant detours did, and 78 % of exponential ones.
    """
    rng = np.random.default_rng(12)
    recordings = scaled(300, least=60)
    truth = 25 * US / (10 * S / count + 25 * US)
    held = 0
    for _ in range(recordings):
        low, high = share_interval(poisson(rng, count, durations))
        held += low <= truth <= high
    assert held >= stats.binom.ppf(FALSE_ALARM, recordings, 0.93)


def test_the_share_of_periodic_noise_is_surer():
    """Its number of detours is hardly random; where blocks are periods it is not at all."""
    rng = np.random.default_rng(13)
    for period in (1000 * MS // 41, 10 * MS):
        starts = np.arange(period // 3, 10 * S, period)
        facts = describe_part(Detours(starts, np.full(len(starts), 25 * US), 10 * S))
        low, high = facts["share_interval"]
        assert low <= facts["share"] <= high
        at_random = share_interval(poisson(rng, len(starts), lambda _, n: np.full(n, 25 * US)))
        assert high - low < 0.3 * (at_random[1] - at_random[0])
    blocks = Detours(np.arange(30) * S, np.full(30, US), 30 * S)
    assert share_interval(blocks) == (pytest.approx(1e-6), pytest.approx(1e-6))
    # One long detour may not come again, or be one of many.
    low, high = share_interval(Detours(np.array([S]), np.array([S]), 10 * S))
    assert low == 0
    assert 0.3 < high <= 1


def test_the_share_of_a_histogram_knows_that_the_number_of_events_is_random():
    part = Histogram([0, 10 * US], [US, 11 * US], [0, 400], observed=10 * S)
    low, high = describe_part(part)["share_interval"]
    # 400 give or take 20, of 10 to 11 us.
    assert low == pytest.approx((400 - 1.96 * 20) * 10e-6 / 10, rel=0.02)
    assert high == pytest.approx((400 + 1.96 * 20) * 11e-6 / 10, rel=0.02)
    assert "the number of events is assumed to be Poisson" in text(part)


def test_a_mean_of_few_long_events_is_told():
    few = detours([US] * 997 + [900 * US] * 3)
    assert describe_part(few)["mean_events"] == pytest.approx(3, rel=0.05)
    told = text(few)
    assert "rests on about 3 long events, so the interval is too narrow" in told
    assert "from the time lost in each of 30 blocks of the recording" in told
    bins = Histogram([0, 900 * US], [2 * US, 901 * US], [997, 1], observed=S)
    assert "rests on about 1 long event, so the interval is too narrow" in text(bins)
    shorter = detours([5 * US] * 999 + [US])
    for sure in (detours([25 * US] * 400), detours(np.arange(1, 401) * US), shorter):
        assert "long event" not in text(sure)


def test_a_number_is_in_the_unit_in_which_it_reads_well():
    """Half of the detours last 240 ns, the others up to 80 ms: neither is a number of the other."""
    part = detours([240_000] * 510 + [50_000_000_000] * 511 + [80_000_000_000], gap=S)
    assert "p50    50 ms" in text(part)
    short = detours([240_000] * 511 + [50_000_000_000] * 400 + [80_000_000_000], gap=S)
    told = text(short)
    assert "p50    240 ns " in told
    assert "[240, " in told
    assert "p90    50 ms " in told
    assert "max    80 ms " in told
    head, row = comparison_table([describe_part(short, periods=False)])
    assert head[3:] == ["mean, ms", "p50, ns", "p99, ms", "max, ms"]
    assert row[4] == "240"


def test_detour_histogram():
    part = Histogram([0, US, 5 * US], [US, 2 * US, 6 * US], [500, 450, 50], observed=S)
    facts = describe_part(part)
    assert facts["rate"] == 1000
    assert facts["mean"] == pytest.approx((500 * 0.5 + 450 * 1.5 + 50 * 5.5) / 1000 * 1e-6)
    assert facts["share"] == pytest.approx(facts["mean"] * 1000)
    # Where in a bin an event was is not known: half a microsecond to either side.
    low, high = facts["mean_interval"]
    assert low < facts["mean"] - 0.5e-6
    assert high > facts["mean"] + 0.5e-6
    found = quantile(facts, 0.9)
    assert found["value"] == [pytest.approx(1e-6), pytest.approx(2e-6)]
    assert found["events"] == 500
    assert facts["largest"] == [pytest.approx(5e-6), pytest.approx(6e-6)]
    assert "rate 1000 /s" in text(part)


def test_overflow_has_no_upper_edge():
    part = Histogram([0], [US], [900], observed=S, overflow=100)
    facts = describe_part(part)
    assert "mean" not in facts
    assert facts["largest"] == [pytest.approx(1e-6), np.inf]
    found = quantile(facts, 0.99)
    assert found["value"] == [pytest.approx(1e-6), np.inf]
    assert found["events"] == 100
    assert ">= 1 µs" in text(part)
    assert "100 events beyond the last bin" in text(part)


def test_latencies_of_wake_ups_have_no_rate():
    part = Histogram([0, US], [US, 2 * US], [500, 500], "latency", observed=S)
    facts = describe_part(part)
    assert not {"rate", "share", "seconds"} & set(facts)
    assert "wake-up latencies" in text(part)
    assert "share" not in text(part)


@pytest.mark.parametrize(
    "part",
    [
        Detours([], [], 5),
        Histogram([], [], [], observed=S),
        Histogram([0], [5], [0], "latency"),
        Histogram([], [], [], overflow=3),
        detours([7]),
        Latencies([1e-6] * 30, 8),
        Latencies([], 8),
        PerRankSamples("barrier", 0, 2, np.ones((40, 2))),
        CollectiveTable("allreduce", [2, 4], [8, 8], [1e-6, 2e-6], p99=[2e-6, 3e-6]),
    ],
)
def test_everything_can_be_described(part):
    assert description_lines(Measured((part,), "x"))
    lines = description_lines(Measured((part,) * 9, "x"))
    assert len(lines) >= 9 or lines == ["9 parts without a detour" + lines[0][24:]]


def test_one_row_is_no_rows():
    one = CollectiveTable("barrier", [4], [0], [3.5e-6])
    assert description_lines(Measured((one,), "x"))[0] == "barrier: 1 row"


def test_one_event_has_no_interval():
    assert "1 detour in" in text(detours([7 * US]))
    assert "too few events for an interval" in text(detours([7 * US]))
    assert "p50    unknown: 1 event of the 6 that it needs" in text(detours([7 * US]))


def test_periods_of_a_tick():
    rng = np.random.default_rng(5)
    part = Detours(np.arange(5000) * 4 * MS + rng.integers(0, US, 5000), [US] * 5000, 20 * S)
    found = describe(Measured((part,), "x"))["parts"][0]["periods"]
    assert found[0]["seconds"] == pytest.approx(4e-3, rel=1e-3)
    assert "period 4 ms (250 Hz)" in text(part)


def test_facts_are_plain():
    """They can be written as JSON."""
    import json

    parts = (detours(np.arange(1, 100) * US, threshold=5, resolution=7, cpu="3"),)
    assert json.loads(json.dumps(describe(Measured(parts, "x", {"tool": "t"}, ("n",)))))
