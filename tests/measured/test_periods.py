"""Spectral analysis of detours: known periods are found, rate of false alarms.

False-alarm rate: `dominant_periods` promises at most ALARM for random arrivals, by Bonferroni's
bound over all frequencies. With 400 fixed seeds at ALARM = 1 %, more than 14 false alarms have a
probability below 1e-4 (binomial), were the seeds chosen blindly.
"""

import numpy as np
import pytest
from scipy import stats
from support.scale import at_most, crossed, full_scale, scaled, some

from jitterfly.measured import Detours, periods
from jitterfly.measured.periods import dominant_periods, periodogram, power_at, seconds_of

SECOND = 10**12
ALARM = 0.01


def detours(seconds, length, duration=2e-6):
    """Detours at these times; where they would overlap, the earlier is shorter."""
    starts = np.unique(np.round(np.sort(seconds) * SECOND).astype(np.int64))
    starts = starts[(starts >= 0) & (starts < length * SECOND)]
    durations = np.full(len(starts), round(duration * SECOND))
    ends = np.minimum(starts + durations, np.append(starts[1:], round(length * SECOND)))
    return Detours(starts, ends - starts, length=round(length * SECOND))


def of_lengths(seconds, lengths, length):
    """Detours of lengths of their own."""
    order = np.argsort(seconds)
    starts = np.round(seconds[order] * SECOND).astype(np.int64)
    ends = starts + np.round(lengths[order] * SECOND).astype(np.int64)
    ends = np.minimum(ends, np.append(starts[1:], round(length * SECOND)))
    return Detours(starts, ends - starts, length=round(length * SECOND))


def train(period, length, phase=0.3):
    return np.arange(phase * period, length, period)


def frequencies(found):
    return [round(period.frequency, 2) for period in found]


def test_a_tick_in_random_arrivals():
    random = np.random.default_rng(1).uniform(0, 10, 5000)
    (found,) = dominant_periods(detours(np.concatenate([train(0.004, 10), random]), 10))
    assert found.frequency == pytest.approx(250, rel=1e-6)
    assert found.seconds == pytest.approx(0.004, rel=1e-6)
    # Of 2500; of the random ones some hundred lie at its phase, which the count leaves out.
    assert found.events == pytest.approx(2500, abs=40)
    assert found.share == pytest.approx(1 / 3, abs=0.01)
    assert found.occupied == pytest.approx(1, abs=0.02)
    assert found.false_alarm < 1e-100


@pytest.mark.parametrize("events", [50, 1000])
def test_random_arrivals_have_no_period(events):
    alarms = 0
    recordings = scaled(200)
    for seed in range(recordings):
        starts = np.random.default_rng([events, seed]).uniform(0, 2, events)
        alarms += bool(dominant_periods(detours(starts, 2, 1e-9), false_alarm=ALARM))
    assert alarms <= stats.binom.isf(1e-4, recordings, ALARM)


def test_random_arrivals_of_any_length_have_no_period():
    """Among heavy-tailed ones the longest are looked at by themselves, too."""
    alarms = 0
    recordings = scaled(100)
    for seed in range(recordings):
        random = np.random.default_rng([3, seed])
        long = random.lognormal(0, 2, 300) if seed % 2 else 1 + random.pareto(1.2, 300)
        found = of_lengths(random.uniform(0, 2, 300), 1e-6 * long, 2)
        alarms += bool(dominant_periods(found, false_alarm=ALARM))
    assert alarms <= stats.binom.isf(1e-4, recordings, ALARM)


@pytest.mark.parametrize("random", [full_scale(0), 6000])
def test_few_long_detours_have_a_period(random):
    """60 of 200 µs, in 21 or 16 % of the time, among 15,000 ticks and short ones at random."""
    rng = np.random.default_rng(7)
    ticks, daemon = train(0.004, 60), train(1.0, 60)
    starts = np.concatenate([ticks, daemon, rng.uniform(0, 60, random)])
    lengths = [3e-6] * len(ticks) + [2e-4] * 60 + list(rng.lognormal(np.log(3e-6), 0.5, random))
    found = dominant_periods(of_lengths(starts, np.array(lengths), 60))
    assert frequencies(found) == [250, 1]
    assert found[1].share == pytest.approx(60 / (15060 + random), rel=0.05)
    assert found[1].time_share == pytest.approx(0.16 if random else 0.21, abs=0.01)
    assert found[1].occupied == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize(("period", "own"), [(10, False), full_scale(9.99737, False), (0.5, True)])
def test_a_daemon_at_multiples_of_the_tick_is_not_the_tick(period, own):
    """It keeps to a phase of the tick's period, but lasts a thousand times longer."""
    ticks, daemon = train(0.001, 60), 3.0007 + train(period, 56, 0)
    after = ticks - daemon[np.maximum(np.searchsorted(daemon, ticks) - 1, 0)]
    ticks = ticks[(after < 0) | (after > 0.02)]
    starts = np.concatenate([ticks, daemon])
    lengths = np.array([5e-6] * len(ticks) + [0.02] * len(daemon))
    tick, *others = dominant_periods(of_lengths(starts, lengths, 60))
    assert tick.seconds == pytest.approx(0.001)
    assert tick.time_share == pytest.approx(5e-6 * len(ticks) / lengths.sum(), rel=1e-3)
    assert [round(other.seconds, 6) for other in others] == [period] * own


def test_a_long_tail_of_a_tick_is_the_tick():
    """Durations up to hundreds of times the median, of one distribution."""
    rng = np.random.default_rng(11)
    lengths = np.minimum(rng.lognormal(np.log(3e-6), 1.2, 60_000), 5e-4)
    assert lengths.max() > 10 * np.quantile(lengths, 0.95)
    (tick,) = dominant_periods(of_lengths(train(0.001, 60), lengths, 60))
    assert tick.time_share == pytest.approx(1, abs=1e-9)


def test_bursts_are_no_period():
    """Interrupts that come in groups raise the power at all frequencies."""
    random = np.random.default_rng(2)
    first = random.uniform(0, 20, 1500)
    starts = np.concatenate([first + random.exponential(2e-4, 1500) * k for k in range(4)])
    assert dominant_periods(detours(starts, 20, 1e-7)) == ()


def test_a_rate_that_changes_slowly_is_no_period():
    random = np.random.default_rng(3)
    starts = np.concatenate([random.uniform(0, 20, 2000), random.uniform(7, 9, 6000)])
    assert dominant_periods(detours(starts, 20, 1e-9)) == ()


def test_jitter_around_a_tick():
    """Each event is late by chance, but the next one does not wait for it."""
    random = np.random.default_rng(4)
    late = random.normal(0, 2e-4, 2500)
    (found,) = dominant_periods(detours(train(0.004, 10)[:2500] + late, 10))
    assert found.frequency == pytest.approx(250, rel=1e-4)
    assert found.share > 0.95


def test_a_period_that_wanders():
    """Each event waits for the one before, so the line is broad."""
    random = np.random.default_rng(5)
    (found,) = dominant_periods(detours(np.cumsum(random.normal(0.004, 4e-5, 2500)), 10))
    assert found.frequency == pytest.approx(250, rel=2e-3)
    assert found.share > 0.5


@pytest.mark.parametrize("other", [full_scale(71.7), 100, full_scale(333.3), 10])
def test_two_trains(other):
    """Each event counts once; 100 Hz has every fifth line of 250 Hz, and is still found."""
    both = np.concatenate([train(0.004, 20), train(1 / other, 20, 0.17)])
    found = dominant_periods(detours(both, 20, 1e-6))
    assert sorted(frequencies(found)) == sorted([250, other])
    assert sum(period.events for period in found) == pytest.approx(20 * (250 + other), rel=0.02)
    by_events = [period.events for period in found]
    assert by_events == sorted(by_events, reverse=True)


def test_a_rare_train_behind_a_frequent_one():
    """200 among 20,000, whose lines do not stand out before the ticks are taken out."""
    both = np.concatenate([train(0.001, 20), train(0.1, 20, 0.0173)])
    assert frequencies(dominant_periods(detours(both, 20, 1e-6))) == [1000, 10]


def fixed_work(every, quanta, seed, longer=1):
    """FWQ: quanta of 1 ms, 50 µs more in every so many, 5 µs more in a tenth; and the grid."""
    lost = 5e-6 * (np.random.default_rng(seed).random(quanta) < 0.1)
    lost[7::every] += 5e-5
    starts = 1e-3 * np.arange(quanta) + longer * (np.cumsum(lost) - lost)
    found = of_lengths(starts[lost > 0], lost[lost > 0], starts[-1] + 2e-3)
    return found, 1e-3 / (1 - found.share)


def whole_milliseconds(every, quanta, seed):
    """A table whose starts are whole milliseconds, which nobody says."""
    return fixed_work(every, quanta, seed, longer=0)[0], None


RECORDINGS = crossed([fixed_work, whole_milliseconds], [(4, 5000), (20, 10000), (50, 5000)])


@pytest.mark.parametrize(("recording", "sizes"), RECORDINGS)
def test_random_detours_on_a_grid_are_not_the_ticks(recording, sizes):
    """Starts are known to a quantum: phases of a period are few, and each of them is crowded."""
    for seed in range(scaled(3)):
        found, grid = recording(*sizes, seed)
        is_tick = found.durations > 4 * 10**7
        (tick,) = dominant_periods(found, grid=grid)
        true = np.diff(found.starts[is_tick]).mean() / SECOND
        assert tick.seconds == pytest.approx(true, rel=1e-3)
        assert tick.share == pytest.approx(is_tick.mean(), abs=0.05)
        of_ticks = found.durations[is_tick].sum() / found.durations.sum()
        assert tick.time_share == pytest.approx(of_ticks, abs=0.05)


@pytest.mark.parametrize("share", [0.02, 0.1])
def test_a_grid_is_no_period(share):
    for seed in range(scaled(5)):
        taken = np.flatnonzero(np.random.default_rng(seed).random(5000) < share)
        assert dominant_periods(detours(taken * 1e-3, 5)) == ()


def test_several_events_share_a_period():
    """A tick, its softirq, and something 0.3 ms later: one period, three events in each."""
    starts = np.concatenate([train(0.004, 20) + late for late in (0, 12e-6, 3e-4)])
    (found,) = dominant_periods(detours(starts, 20, 1e-6))
    assert found.frequency == pytest.approx(250, rel=1e-6)
    assert found.occupied == pytest.approx(3, abs=0.01)
    assert found.share == pytest.approx(1, abs=0.01)


def test_the_strongest_line_may_be_a_harmonic():
    """Two events in a third of the period: the third harmonic is four times as strong."""
    twice = np.concatenate([train(0.1, 20), train(0.1, 20) + 0.034])
    random = np.random.default_rng(1).uniform(0, 20, 400)
    assert frequencies(dominant_periods(detours(np.append(twice, random), 20, 1e-6))) == [10]


@pytest.mark.parametrize(("frequent", "rare"), [(586.35, 12.24), full_scale(997.3, 9.1)])
def test_harmonics_that_the_bins_fold_hide_no_rare_train(frequent, rare):
    """A multiple of the frequent train beyond the highest frequency has lines at others."""
    both = np.concatenate([train(1 / frequent, 20), train(1 / rare, 20, 0.7)])
    assert frequencies(dominant_periods(detours(both, 20, 1e-6))) == [frequent, rare]


def test_two_lines_of_one_period_are_one(monkeypatch):
    """Of clocks that differ by 1e-4, both of 10 ms as they are printed."""
    length = at_most(200, 100)
    both = np.concatenate([train(0.01, length), train(1 / 99.99, length, 0.7)])
    both = detours(both, length, 1e-6)
    lines = [periods.SpectralLine(hz, 0.01, 900.0, 1e-9) for hz in (100.0, 99.99)]
    monkeypatch.setattr(periods.LineSearch, "strongest", lambda *_: lines)
    (found,) = dominant_periods(both)
    assert (found.events, found.frequency) == (pytest.approx(200 * length, rel=0.05), 100.0)
    assert found.share == pytest.approx(1, abs=0.05)
    assert found.occupied == pytest.approx(2, abs=0.1)
    monkeypatch.setattr(periods, "_SAME_PERIOD", 0.0)
    assert len(dominant_periods(both)) == 2


def test_the_fundamental_of_slow_and_fast_ticks():
    for frequency in some((2.0, 60.0, 997.0, 4000.0), 2):
        (found,) = dominant_periods(detours(train(1 / frequency, 30), 30, 1e-6))
        assert found.frequency == pytest.approx(frequency, rel=1e-4), frequency


def test_faster_than_what_is_looked_at():
    """30.03 kHz is folded to other frequencies by the bins, and reported at none."""
    assert dominant_periods(detours(train(1 / 30030, 2), 2, 1e-7)) == ()


def test_share_of_the_time():
    """One in ten is a tick, but ticks are longer."""
    ticks = detours(train(0.01, 10), 10, 1e-4)
    random = np.random.default_rng(6).uniform(0, 10, 9000)
    near = ticks.starts[np.rint(random / 0.01 - 0.3).astype(int).clip(0, 999)]
    gap = np.abs(random * SECOND - (near + 5 * 10**7))
    random = np.round(np.sort(random[gap > 10**8]) * SECOND).astype(np.int64)
    random = random[np.append(np.diff(random) > 10**6, True)]
    starts = np.concatenate([ticks.starts, random])
    durations = np.concatenate([ticks.durations, np.full(len(random), 10**6)])
    order = np.argsort(starts)
    (found,) = dominant_periods(Detours(starts[order], durations[order], length=10 * SECOND))
    assert found.share == pytest.approx(1000 / len(starts), abs=0.01)
    exact = ticks.durations.sum() / durations.sum()
    assert found.time_share == pytest.approx(exact, abs=0.02)


@pytest.mark.parametrize("events", [0, 1, 2, 19])
def test_too_few(events):
    assert dominant_periods(detours(train(0.01, 1)[:events], 1)) == ()


def test_too_short():
    assert dominant_periods(detours(train(1e-6, 1e-4), 1e-4, 1e-7)) == ()


def test_at_most_so_many():
    trains = [train(1 / f, 10, f % 1) for f in (53.1, 71.7, 97.3)]
    assert len(dominant_periods(detours(np.concatenate(trains), 10, 1e-7), most=2)) == 2


@pytest.mark.slow
def test_a_million():
    seconds = at_most(1000, 30)
    random = np.random.default_rng(7).uniform(0, seconds, 500 * seconds)
    both = np.concatenate([train(0.002, seconds), random])
    found = dominant_periods(detours(both, seconds, 1e-9))
    assert frequencies(found) == [500]
    assert found[0].share == pytest.approx(0.5, abs=0.01)


def test_power_of_random_arrivals_is_one():
    """Its mean over frequencies, and that one in 1000 exceeds log(1000) (both within 5 sigma)."""
    starts = np.sort(np.random.default_rng(8).uniform(0, 5, 20_000))
    found = periodogram(starts, 5.0)
    high = found.frequency > 50  # below, blocks of few frequencies set the continuum
    independent = high.sum() / 4
    assert found.power[high].mean() == pytest.approx(1, abs=5 / np.sqrt(independent) + 0.02)
    share = (found.power[high] > np.log(1000)).mean()
    assert share == pytest.approx(1e-3, abs=5 * np.sqrt(1e-3 / independent))


def test_bins_agree_with_the_events_themselves():
    part = detours(train(0.004, 4), 4)
    starts, length = seconds_of(part)
    found = periodogram(starts, length)
    near = np.abs(found.frequency - 250) < 2
    exact = power_at(starts, 0.0, length, found.frequency[near])
    # The window's two ends differ by a bin.
    assert np.abs(found.power[near] - exact).max() < 0.02 * exact.max()
    assert found.power[near].max() == pytest.approx(1000 * 2 / 3, rel=0.02)


def test_thresholds_are_false_alarm_probabilities():
    found = periodogram(np.sort(np.random.default_rng(9).uniform(0, 5, 1000)), 5.0)
    for alarm in (0.5, 1e-3, 1e-12):
        assert found.false_alarm(found.threshold(alarm)) == pytest.approx(alarm)
