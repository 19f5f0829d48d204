"""Whether intervals under a recording hold what the recorded machine has: simulated machines.

Each machine has noise that is known as a model. A recording of it is drawn from a generator of its
own (NumPy), replayed by `slowdown`, and compared with the model, simulated directly. The rare
daemon of the last machine comes every 10 s, so that most recordings of 5 s have none of it. Nothing
in these tells of it; the note on what may be missing is all that can be said.
"""

import itertools
from collections import Counter

import numpy as np
import pytest
from scipy import stats
from support.scale import scaled

import jitterfly as jf

NETWORK = "L=1us,o=200ns,G=0.1ns"
SECONDS = (5.0, 20.0, 60.0)
TRIALS = [(64, 0.0), (64, 1e-3), (4096, 0.0)]  # ranks, compute time


def ticks(period, duration):
    """Noise at equal times, as a recording of so many seconds and as a model."""

    def drawn(rng, seconds):
        starts = np.arange(rng.uniform(0, period), seconds - duration, period)
        return starts, np.full(len(starts), duration)

    return drawn, jf.PeriodicNoise(period, duration, start="stationary")


def arrivals(gap, duration, gaps=None, durations=None):
    """A renewal process that has gone on for long: `gaps` and `durations` draw those of a model."""
    gaps = gaps or (lambda rng, count: rng.exponential(gap, count))
    durations = durations or (lambda rng, count: np.full(count, duration))
    mean = gap if isinstance(gap, float) else float(gap.expected())

    def drawn(rng, seconds):
        before = 200 * mean
        count = int(1.5 * (seconds + before) / mean) + 100
        long = durations(rng, count)
        ends = np.cumsum(gaps(rng, count) + long) - before
        there = (ends - long > 0) & (ends < seconds)
        return (ends - long)[there], long[there]

    return drawn, jf.RenewalNoise(gap, duration, start="stationary")


def lognormal(median, sigma):
    return lambda rng, count: rng.lognormal(np.log(median), sigma, count)


def pareto(scale, shape):
    return lambda rng, count: scale * (1 - rng.random(count)) ** (-1 / shape)


def mixed(rng, count):
    return np.where(rng.random(count) < 0.02, 3e-4, 4e-6)


MACHINES = {
    "ticks": [ticks(4e-3, 1e-5)],
    "two kinds of ticks": [ticks(1e-3, 2e-6), ticks(1e-2, 25e-6)],
    "exponential": [arrivals(1e-2, jf.Exponential(2e-5), durations=lambda rng, count:
                             rng.exponential(2e-5, count))],
    "lognormal, 1": [arrivals(1e-2, jf.Lognormal(median=5e-6, sigma=1.0),
                              durations=lognormal(5e-6, 1.0))],
    "lognormal, 1.5": [arrivals(1e-2, jf.Lognormal(median=5e-6, sigma=1.5),
                                durations=lognormal(5e-6, 1.5))],
    "Pareto, 2.5": [arrivals(1e-2, jf.Pareto(scale=5e-6, shape=2.5), durations=pareto(5e-6, 2.5))],
    "mixture": [arrivals(5e-3, jf.Mixture([0.02, 0.98], [3e-4, 4e-6]), durations=mixed)],
    "bursts": [arrivals(jf.Lognormal(median=2e-3, sigma=1.5), jf.Exponential(1e-5),
                        lognormal(2e-3, 1.5), lambda rng, count: rng.exponential(1e-5, count))],
    "ticks and a daemon": [ticks(4e-3, 5e-6), arrivals(1.0, 2e-4)],
    "ticks and a rare daemon": [ticks(4e-3, 5e-6), arrivals(10.0, 2e-3)],
}  # fmt: skip
# Slowdowns of these machines, for each of TRIALS: what `row_and_warning` gives of the models, with
# seed 10^6, a million realizations of 64 ranks, and 20,000 of 4096. Simulating them took two fifths
# of the time of the test, and they stay what they are. That the models have them is tested below.
TRUTHS = {
    "ticks": [(1.229311, 1.231039), (1.011225, 1.011236), (2.029992, 2.033473)],
    "two kinds of ticks": [(1.462079, 1.465605), (1.029375, 1.029398), (3.695748, 3.704431)],
    "exponential": [(1.425461, 1.431032), (1.052300, 1.052411), (7.232799, 7.293210)],
    "lognormal, 1": [(1.118308, 1.120982), (1.023234, 1.023312), (3.478600, 3.538745)],
    "lognormal, 1.5": [(1.932666, 1.969515), (1.064808, 1.065293), (27.102932, 28.171384)],
    "Pareto, 2.5": [(1.094206, 1.097524), (1.016776, 1.016839), (2.534751, 3.289942)],
    "mixture": [(2.509336, 2.533155), (1.084712, 1.085227), (29.300800, 29.468136)],
    "bursts": [(1.217422, 1.220201), (1.033444, 1.033504), (3.862882, 3.892049)],
    "ticks and a daemon": [(1.253038, 1.259571), (1.018807, 1.018999), (6.875130, 7.052036)],
    "ticks and a rare daemon": [(2.602927, 2.664590), (1.030622, 1.031429), (53.944956, 55.749302)],
}  # fmt: skip


def recorded(machine, number, seconds):
    """The union of what all sources of a machine take, and whether it has some of each."""
    rng = np.random.default_rng([list(MACHINES).index(machine), number, int(seconds)])
    parts = [drawn(rng, seconds) for drawn, _ in MACHINES[machine]]
    starts = np.concatenate([part[0] for part in parts])
    ends = starts + np.concatenate([part[1] for part in parts])
    order = np.argsort(starts)
    starts, ends = starts[order], np.maximum.accumulate(ends[order])
    first = np.flatnonzero(np.concatenate([[True], starts[1:] > ends[:-1]]))
    ends = np.minimum(ends[np.concatenate([first[1:] - 1, [len(ends) - 1]])], seconds)
    noise = jf.TraceNoise(starts=starts[first], durations=ends - starts[first], length=seconds)
    return noise, all(len(part[0]) for part in parts)


def row_and_warning(noise, ranks, compute_time, realizations, seed, confidence=0.95):
    found = jf.slowdown(noise, ranks, network=NETWORK, compute_time=compute_time, seed=seed,
                        realizations=realizations, threads=1, confidence=confidence)  # fmt: skip
    warned = any("record longer" in note for note in found.notes())
    return found.rows[0], warned


@pytest.mark.slow(minutes=2)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_is_printed_without_a_warning_holds_the_truth():
    """At least 93 of 100 means, and 95 where the recording met each source of the machine.

    At full scale 1,800 recordings, of which 1,162 give no warning, and 36 of these met no rare
    daemon. Intervals that hold it in 93 and 95 of 100 fail for one seed in a thousand each. Three
    times as many recordings of other seeds: 3,268 of 3,506 (93.2 %), and 3,268 of 3,380 (96.7 %).
    """
    held, warned = Counter(), Counter()
    number = scaled(20)
    for machine in MACHINES:
        for seconds, i in itertools.product(SECONDS, range(number)):
            noise, met = recorded(machine, i, seconds)
            trials = zip(TRIALS, TRUTHS[machine], strict=True)
            for (ranks, compute_time), (truth_low, truth_high) in trials:
                row, warning = row_and_warning(
                    noise, ranks, compute_time, 2000 if ranks == 64 else 500, i + 1
                )
                holds = row.slowdown.low <= truth_high and truth_low <= row.slowdown.high
                warned[machine, ranks, seconds] += warning
                held[(machine, seconds, met, holds) if not warning else "warned"] += 1
    told = [(met, holds, count) for (_, _, met, holds), count in
            ((key, count) for key, count in held.items() if key != "warned")]  # fmt: skip
    every = sum(count for met, _, count in told if met)
    right = sum(count for _, holds, count in told if holds)
    print(*sorted(held.items(), key=str), sep="\n")
    seen = sum(count for met, holds, count in told if met and holds)
    assert seen >= stats.binom.ppf(1e-3, every, 0.95), (seen, every)
    without = sum(count for _, _, count in told)
    assert right >= stats.binom.ppf(1e-3, without, 0.93), (right, without)
    # A tool that always warns says nothing: nor does it where all is known after 5 s.
    assert every >= 0.5 * number * len(SECONDS) * len(MACHINES) * len(TRIALS)
    for machine in ("ticks", "two kinds of ticks"):
        assert not any(warned[machine, ranks, seconds] for ranks in (64, 4096)
                       for seconds in SECONDS)  # fmt: skip


def test_the_machines_have_these_slowdowns():
    """Intervals of a fiftieth of the realizations meet those above: at 99.99 % each for each.

    At 95 % at least 24 of the 30 do. If they were independent, each would miss once in 37 times, as
    the other one is a seventh as wide, and 7 of 30 once in 90,000 times. But with one seed machines
    share their draws, and so misses come together: with seeds 7 to 30 it was 14 of 720, of which 5
    with one seed. At 99.99 % it was none of 720. The seed here is none of those.
    """
    met = 0
    for machine, truths in TRUTHS.items():
        models = [model for _, model in MACHINES[machine]]
        for (ranks, compute_time), (low, high) in zip(TRIALS, truths, strict=True):
            count = 20_000 if ranks == 64 else 400
            usual, wide = (
                row_and_warning(models, ranks, compute_time, count, 1, share)[0].slowdown
                for share in (0.95, 0.9999)
            )
            assert wide.low <= high, (machine, ranks)
            assert low <= wide.high, (machine, ranks)
            assert usual.high / usual.low < 4
            met += usual.low <= high and low <= usual.high
    assert met >= 24
