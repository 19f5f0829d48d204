"""Expected hits of each noise source, against the realizations that are late in a simulation.

The noise is rare, and a hit of any rank delays the last one where all ranks are alike, so that
realizations are late with probability 1 - exp(-hits). Seeds are fixed; each bound is five standard
deviations and 2 % of the hits wide, for what a formula says "about".
"""

import math

import numpy as np
import pytest
from support.scale import scaled

import jitterfly as jf
from jitterfly.distributions import Bernoulli, Empirical, Exponential, Gamma, Lognormal
from jitterfly.measured import Detours, Measured, noisefile
from jitterfly.noise.source import Hits
from jitterfly.unseen_noise import SourceHits, expected_hits, hidden

NETWORK = jf.LogGOPS(L="1us", o="200ns", G="0.1ns", gamma="1ns")
RARE = {"period": "20ms", "duration": "20us"}  # longer than any wait


UNEVEN = ["1us"] * 9 + ["1ms"]


def jitters(values, length="100ms", **options):
    """Detours of 20 us at these times, in ms."""
    starts = [1e-3 * value for value in values]
    durations = [2e-5] * len(starts)
    return jf.TraceNoise(starts=starts, durations=durations, length=length, **options)


SOURCES = {
    "periodic": (jf.PeriodicNoise(**RARE), {}),
    "periodic, under way": (jf.PeriodicNoise(**RARE, start="stationary"), {}),
    "periodic, short": (jf.PeriodicNoise("2ms", "50ns"), {}),
    "periodic, of nodes": (jf.PeriodicNoise("10ms", "20us", shared=4), {}),
    "periodic, of all": (jf.PeriodicNoise("1ms", "20us", shared="machine"), {}),
    "periodic, compute": (
        jf.PeriodicNoise("100ms", "20us", during="compute", start="stationary"),
        {"compute_time": "100us"},
    ),
    "periodic, communication": (
        jf.PeriodicNoise("100ms", "20us", during="communication"),
        {"compute_time": "100us"},
    ),
    "periodic, window": (jf.PeriodicNoise("5ms", "20us", begin="2us", end="5us"), {}),
    "periodic, cycles": (jf.PeriodicNoise(**RARE), {"cycles": 3, "compute_time": "30us"}),
    "renewal": (jf.RenewalNoise(gap="20ms", duration="20us"), {}),
    "renewal, under way": (
        jf.RenewalNoise(gap="100ms", duration="20us", start="stationary"),
        {"compute_time": "50us"},
    ),
    "renewal, regular": (
        jf.RenewalNoise(gap=Gamma(shape=2, scale="50us"), duration="20us", shared="machine"),
        {},
    ),
    "renewal, some last": (
        jf.RenewalNoise(gap="2ms", duration=Bernoulli(probability=0.1, duration="20us")),
        {},
    ),
    "renewal, uneven, under way": (  # most of what is met began before
        jf.RenewalNoise(gap="200ms", duration=Empirical(UNEVEN), start="stationary"),
        {"compute_time": "50us"},
    ),
    "renewal, uneven, communication": (
        jf.RenewalNoise(gap="200ms", duration=Empirical(UNEVEN), during="communication"),
        {"compute_time": "5ms"},
    ),
    "trace, uneven": (
        jf.TraceNoise(starts=np.arange(10) * 0.2, durations=[1e-6] * 9 + [1e-3], length="2s"),
        {"compute_time": "50us"},
    ),
    "trace": (jitters([1, 3, 40]), {}),
    "trace, of nodes": (jitters([1, 3, 40, 50, 60], shared=8), {}),
    "step": (jf.StepNoise("5us", probability=1e-3), {}),
    "step, send": (jf.StepNoise("5us", probability=1e-3, at="send"), {}),
    "step, of nodes": (jf.StepNoise("5us", probability=1e-3, shared=4), {"compute_time": "10us"}),
    "step, compute": (
        jf.StepNoise("5us", probability=1e-3, during="compute"),
        {"compute_time": "10us", "cycles": 4},
    ),
    "step, of a sample": (jf.StepNoise(Empirical(["0us"] * 999 + ["5us"])), {}),
    "step, ring": (jf.StepNoise("5us", probability=1e-4), {"algorithm": jf.RingAllreduce()}),
    "message": (jf.MessageNoise(Exponential("5us"), probability=1e-3), {}),
    "message, ring": (
        jf.MessageNoise("5us", probability=1e-3, shared="machine"),
        {"algorithm": jf.RingAllreduce(), "cycles": 2},
    ),
    "jitter": (jf.NetworkJitter(period="1ms", duration="5us"), {}),
    "jitter, ring": (
        jf.NetworkJitter(period="10ms", duration="5us", shared=2),
        {"algorithm": jf.RingAllreduce(), "cycles": 2},
    ),
    "arrival": (jf.LateArrival(delay="5us", probability=3e-3), {"cycles": 3}),
    "arrival, once": (
        jf.LateArrival(delay="5us", probability=3e-3, each="realization", shared=2),
        {"cycles": 3},
    ),
    "speed": (jf.SpeedNoise(1.5, probability=3e-3), {"cycles": 3, "compute_time": "10us"}),
}


def found(noise, **options):
    """The case, its samples, and what is expected at their mean."""
    case = jf.Case(16, **{"network": NETWORK, "noise": [noise], **options})
    result = jf.simulate(case, scaled(100_000), seed=17)
    late = result.ticks[:, -1] - np.rint(result.noise_free[-1] * 1e12)
    [source] = expected_hits(case, result.ticks[:, -1].mean())
    return late, source.hits


@pytest.mark.parametrize("name", SOURCES)
def test_as_many_realizations_are_late(name):
    noise, options = SOURCES[name]
    late, hits = found(noise, **options)
    met = -math.expm1(-hits.number)
    assert 0.002 < met < 0.5
    error = 5 * math.sqrt(met * (1 - met) / len(late))
    assert abs((late > 0).mean() - met) < error + 0.02 * hits.number
    # The mean is later by at most all of their delays.
    error = 5 * late.std() / math.sqrt(len(late))
    assert late.mean() < hits.most + error
    if "window" not in name:  # which cuts them
        assert late.mean() > 0.3 * hits.most - error  # and the bound is not far off


def test_parts_of_a_recording(tmp_path):
    """Ranks replay parts of their own, of which one has nothing."""
    file, length = tmp_path / "parts.noise", 10**11
    starts, duration = ([10**9, 5 * 10**9], [], [10**10]), 2 * 10**7
    parts = tuple(Detours(one, [duration] * len(one), length) for one in starts)
    noisefile.write(Measured(parts, "test"), file)
    late, hits = found(jf.TraceNoise(file=str(file), part="each", ranks_per_part=4))
    met = -math.expm1(-hits.number)
    # Of 16 ranks 8 replay two detours, 4 none and 4 one.
    assert hits.number == pytest.approx((8 * 2 + 4) * hits_time(late) / length, rel=0.02)
    assert hits.delay == 2e7
    assert abs((late > 0).mean() - met) < 5 * math.sqrt(met / len(late)) + 0.02 * hits.number


def hits_time(late):
    """The mean time in which a detour may begin: the collective, and 20 us before it."""
    quiet = jf.simulate(jf.Case(16, network=NETWORK), 1).ticks[0, -1]
    return quiet + late.mean() + 2e7


def test_where_it_can_not_be_told():
    options = {"network": NETWORK, "compute_time": "1ms"}
    for noise in (
        jf.StepNoise("5us", probability=0.1, begin="1us"),
        jf.MessageNoise("5us", probability=0.1, end="1ms"),
        jf.NetworkJitter("1ms", "5us", end="1ms"),
        jf.SpeedNoise(Lognormal(median=1, sigma=0.1)),  # some ranks are faster
    ):
        [source] = expected_hits(jf.Case(16, noise=[noise], **options), 1e9)
        assert source.hits is None
        assert not source.is_unmet(1, 0.0)


def test_what_can_not_act_or_is_not_drawn_is_no_source():
    quiet = jf.Hockney("1us", 0.0)  # no CPU time
    assert expected_hits(jf.Case(16, network=quiet, noise=[jf.PeriodicNoise(**RARE)]), 1e7) == []
    constant = jf.StepNoise("5us"), jf.PeriodicNoise("1ms", "5us", phases=np.zeros(16))
    assert expected_hits(jf.Case(16, network=NETWORK, noise=constant), 1e7) == []
    replayed = jitters([1], offset="2ms")
    assert expected_hits(jf.Case(16, network=NETWORK, noise=[replayed]), 1e7) == []


def test_trees_send_fewer_messages():
    noise = [jf.StepNoise("1us", probability=0.01), jf.MessageNoise("1us", probability=0.01)]
    tree = jf.Case(100, algorithm=jf.BinomialBroadcast(), network=NETWORK, noise=noise, cycles=2)
    for source in expected_hits(tree, 1e7):
        assert source.hits.number == pytest.approx(2 * 99 * 0.01)


def test_equally_long_hits_count_together():
    """Of two sources like one another a sample meets either; what is longer stands alone."""
    chances = [("5us", 0.01), ("5us", 0.03), ("9us", 0.002), ("1us", 0.1)]
    noise = [jf.MessageNoise(delay, probability=chance) for delay, chance in chances]
    found = expected_hits(jf.Case(16, network=NETWORK, noise=noise), 1e7)
    expected = [0.042, 0.042, 0.002, 0.142]
    assert [one.hits_at_least_as_long / 64 for one in found] == pytest.approx(expected)


def test_what_hides_a_source():
    """What is shorter and more frequent, or not known; nothing that is as long, or itself."""

    def one(noise, count, delay):
        return SourceHits(0, noise, Hits(count, delay), count)

    rare = one(jf.StepNoise("9us", probability=0.1), 0.1, 9)
    short, seldom, long = jf.StepNoise("1us"), jf.StepNoise("2us"), jf.StepNoise("50us")
    assert hidden([rare]) == []
    assert hidden([rare, one(long, 5, 50)]) == hidden([rare, one(long, 5, 9)]) == []
    assert hidden([rare, one(seldom, 0.01, 2)]) == []
    assert hidden([rare, one(short, 5, 1)]) == [rare]
    unknown = SourceHits(1, short, None, math.inf)
    assert hidden([unknown, rare]) == [rare]
    for first, second in (
        (jf.PeriodicNoise(**RARE), jf.PeriodicNoise(**RARE, during="compute")),
        (jitters([1]), jitters([1], during="communication")),
    ):
        assert hidden([one(first, 5, 1), one(second, 0.1, 9)]) == []


def test_when_too_few_hits_are_expected():
    """Thirty are enough, and what moves the mean by less than a tenth of the half width."""
    source = SourceHits(1, jf.StepNoise("1us", probability=0.1), Hits(1, 1), 1)
    assert source.name == "noise.1 (step)"
    assert source.is_unmet(29, 9.9)
    assert not source.is_unmet(30, 9.9)
    assert not source.is_unmet(29, 10.1)
