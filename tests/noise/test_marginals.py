"""Every noise source draws its distribution: KS-type (Dvoretzky-Kiefer-Wolfowitz), chi-square.

See reference/chance.py for false alarms.
"""

import numpy as np
import pytest
from reference.chance import check_counts, check_distribution
from support.scale import scaled

import jitterfly as jf
from jitterfly.simulate import noise_phases

RANKS = 2**14
QUIET = jf.Hockney("1us", 0)
DELAYS = {
    "bernoulli": jf.Bernoulli(0.3, "14us"),
    "exponential": jf.Exponential("10us"),
    "pareto": jf.Pareto("1us", 2),
    "lognormal": jf.Lognormal("10us", 1),
    "gamma": jf.Gamma(shape=0.5, scale="10us"),
    "weibull": jf.Weibull("10us", 0.7),
    "samples": jf.Empirical(samples=["1us", "2us", "40us"]),
    "mixture": jf.Mixture([3, 1], [jf.Exponential("2us"), jf.Bernoulli(0.5, "20us")]),
    "histogram": jf.Empirical(low=[0, "5us"], high=["1us", "6us"], count=[3, 1]),
}


def check_delays(ticks, delay):
    """Delays in ticks have a distribution; 1e-4 for what a table adds to it."""
    assert (ticks >= 0).all()
    check_distribution(ticks, lambda t: 1 - delay.survival((np.floor(t) + 0.5) * 1e-12), grain=1e-4)


def rows(noise, ranks=RANKS, seed=1, **options):
    """Ready times in ticks, one row for each that `row_labels` names."""
    case = jf.Case(ranks, noise=[noise], **{"network": QUIET} | options)
    return np.rint(jf.ready_times(case, seed) * 1e12).astype(np.int64)


@pytest.mark.parametrize("name", DELAYS)
def test_steps_that_receive(name):
    """All messages of round 0 arrive at once; taking one costs nothing but the delay."""
    noise = jf.StepNoise(DELAYS[name], during="communication")
    check_delays(rows(noise)[1] - 10**6, DELAYS[name])


@pytest.mark.parametrize("name", ["bernoulli", "exponential"])
def test_steps_that_send(name):
    """The partner's delay, as the way takes longer than any."""
    noise = jf.StepNoise(DELAYS[name], at="send", during="communication")
    ready = rows(noise, network=jf.LogGOPS(L="1s", o="1us"), message_bytes=1)
    check_delays(ready[1] - (10**12 + 2 * 10**6), DELAYS[name])


@pytest.mark.parametrize("at", ["receive", "send"])
@pytest.mark.parametrize("name", ["pareto", "histogram"])
def test_compute_phases(at, name):
    noise = jf.StepNoise(DELAYS[name], at=at, during="compute")
    check_delays(rows(noise, compute_time="1ms")[0] - 10**9, DELAYS[name])


@pytest.mark.parametrize("name", DELAYS)
def test_messages(name):
    check_delays(rows(jf.MessageNoise(DELAYS[name]))[1] - 10**6, DELAYS[name])


def test_forwarded_messages():
    """Of two ranks: the second message is used only if it is earlier, so look at the minimum."""
    delay = DELAYS["exponential"]
    noise = jf.MessageNoise(delay)
    found = rows(noise, network=jf.Hockney(0, 0), algorithm=jf.Butterfly(exchanges_after=1))
    level, forward = found[RANKS.bit_length() - 1], found[RANKS.bit_length()]
    later = forward - level[np.arange(RANKS) ^ 1]  # where used: the delay of the forward
    used = forward < level
    assert used.sum() > 1000
    assert (later[used] >= 0).all()
    assert (forward <= level).all()


def test_delays_of_rounds_and_cycles_are_independent():
    noise = jf.StepNoise(jf.Exponential("10us"), during="compute")
    ready = rows(noise, compute_time="1ms", cycles=3, ranks=2**14, network=jf.Hockney(0, 0))
    start = np.rint(ready[0])
    other = rows(noise, compute_time="1ms", seed=2)[0]
    again = rows(noise, compute_time="1ms", seed=1)[0]
    assert np.array_equal(start, again)
    limit = 5 / np.sqrt(RANKS)  # standard errors of a correlation, 6e-7 two-sided
    assert abs(np.corrcoef(start, other)[0, 1]) < limit
    assert abs(np.corrcoef(start[1:], start[:-1])[0, 1]) < limit


@pytest.mark.parametrize("probability", [0.0, 0.25, 1.0])
def test_probability(probability):
    for noise in (jf.StepNoise("14us", probability, during="communication"),
                  jf.MessageNoise("14us", probability)):  # fmt: skip
        hit = rows(noise)[1] > 10**6
        if probability in (0, 1):
            assert hit.all() == hit.any() == bool(probability)
        else:
            check_counts(np.array([hit.sum(), (~hit).sum()]), [probability, 1 - probability])


@pytest.mark.parametrize("shared", [False, 1, 8, "machine"])
def test_scope(shared):
    """Nodes draw once; their first ranks draw what they do by themselves."""
    size = {False: 1, "machine": RANKS}.get(shared, shared)
    sources = [
        jf.StepNoise(jf.Exponential("10us"), shared=shared, during="communication"),
        jf.MessageNoise(jf.Exponential("10us"), shared=shared),
        jf.NetworkJitter("1us", "10us", shared=shared),
    ]
    for noise in sources:
        delays = rows(noise)[1].reshape(-1, size)
        assert (delays == delays[:, :1]).all()
        alone = rows(jf.Noise.from_dict(noise.to_dict() | {"shared": False}))[1]
        assert np.array_equal(delays[:, 0], alone[: RANKS // size])


# --- intervals


def case_of(noise, ranks=RANKS):
    network = jf.Hockney("1us", 0, gamma="1ns")
    return jf.Case(ranks, network=network, noise=noise if isinstance(noise, list) else [noise])


def intervals(noise, rank=0, until=1.0, ranks=RANKS, **options):
    """Begins and ends in whole ticks."""
    return intervals_of(case_of(noise, ranks), rank, until, **options)


def intervals_of(case, rank, until, **options):
    return np.rint(jf.noise_intervals(case, rank, until, **options) * 1e12).astype(np.int64)


@pytest.mark.parametrize("start", ["fresh", "stationary"])
@pytest.mark.parametrize("name", ["exponential", "pareto", "samples"])
def test_gaps_and_durations(name, start):
    gap = jf.Gamma(shape=3, scale="20us")
    found = intervals(jf.RenewalNoise(gap, DELAYS[name], start=start), until=2.0)
    assert len(found) > 20_000
    check_delays(np.diff(found, axis=1)[1:-1, 0], DELAYS[name])
    check_delays(found[1:, 0] - found[:-1, 1], gap)


def test_gaps_in_seconds_are_poisson_arrivals():
    """In equal stretches of idle time: Poisson numbers; here the mean is 2."""
    found = intervals(jf.RenewalNoise("50us", "3us"), until=1.0)
    idle = found[:, 0] - 3 * 10**6 * np.arange(len(found))  # idle time until each
    counts = np.bincount((idle // 10**8).astype(int), minlength=1000)[: idle[-1] // 10**8]
    found = np.bincount(np.minimum(counts, 9), minlength=10)
    from scipy import stats

    expected = stats.poisson(2).pmf(np.arange(10))
    check_counts(found, np.append(expected[:-1], 1 - expected[:-1].sum()))


def at_start(noise, until, ranks):
    """The first interval of each rank, and which ranks are in it at time 0."""
    case = case_of(noise)
    first = np.array([intervals_of(case, rank, until)[0] for rank in range(ranks)])
    return first, first[:, 0] <= 0


def test_fresh_start_is_idle():
    noise = jf.RenewalNoise("20us", jf.Exponential("10us"))
    first, inside = at_start(noise, until="1ms", ranks=scaled(2000))
    assert not inside.any()
    check_delays(first[:, 0], noise.gap)


def test_stationary_start():
    """Busy with the share of the durations; what is left is Cox's equilibrium distribution."""
    gap, duration = jf.Gamma(shape=2, scale="20us"), jf.Empirical(samples=["10us", "30us"])
    noise = jf.RenewalNoise(gap, duration, start="stationary")
    first, inside = at_start(noise, until="10ms", ranks=scaled(4000))
    check_counts(np.array([inside.sum(), (~inside).sum()]), [1 / 3, 2 / 3])
    # Of 10 us and 30 us, mean 20 us; and of Gamma(2): half Gamma(1), half Gamma(2).
    check_distribution(
        first[inside, 1] * 1e-12,
        lambda t: np.where(t < 1e-5, t / 2e-5, 0.5 + (t - 1e-5) / 4e-5).clip(0, 1),
        grain=1e-4,
    )
    one = jf.Gamma(shape=1, scale="20us")
    check_distribution(
        first[~inside, 0] * 1e-12,
        lambda t: 1 - (one.survival(t) + gap.survival(t)) / 2,
        grain=1e-4,
    )


def test_stationary_noise_stays_so():
    """At any later time the CPU is busy with the same probability."""
    noise = jf.RenewalNoise(
        jf.Gamma(shape=4, scale="10us"), jf.Pareto("8us", 3), start="stationary"
    )
    assert noise.share() == pytest.approx(12 / 52)
    case, ranks = case_of(noise), scaled(1500)
    for time in (10**6, 33 * 10**6, 10**9):
        busy = 0
        for rank in range(ranks):
            found = intervals_of(case, rank, until=(time + 1) * 1e-12)
            busy += bool(len(found)) and bool(found[-1, 1] > time)
        check_counts(np.array([busy, ranks - busy]), [12 / 52, 40 / 52])


TRACE = {"starts": [0.0, "20us", "50us"], "durations": ["5us", "1us", "30us"], "length": "100us"}


def trace(**options):
    seconds = {
        name: [jf.Constant(t).value for t in TRACE[name]] for name in ("starts", "durations")
    }
    return jf.TraceNoise(**seconds, length=TRACE["length"], **options)


def brute(pieces, length, offset, until):
    """Begins and ends of a trace that is repeated, tick-exact; touching ones joined."""
    found = []
    for turn in range(-1, until // length + 2):
        for begin, end in pieces:
            begin, end = (t + turn * length - offset for t in (begin, end))
            if end <= 0 or begin >= until:
                continue
            if found and found[-1][1] == begin:
                found[-1][1] = end
            else:
                found.append([begin, end])
    return np.array(found)


@pytest.mark.parametrize("offset", [0.0, "3us", "5us", "99.9us", 2e-5])
def test_traces_are_replayed(offset):
    pieces = [(0, 5 * 10**6), (20 * 10**6, 21 * 10**6), (50 * 10**6, 80 * 10**6)]
    found = intervals(trace(offset=offset), until="1ms", ranks=2)
    ticks = round(jf.Constant(offset).value * 1e12)
    expected = brute(pieces, 10**8, ticks, 10**9)
    assert np.array_equal(np.maximum(found, 0), np.maximum(expected, 0))


def test_offsets_of_ranks():
    given = np.array([0, 1e-5, 2e-5, 9.9e-5])
    for rank, offset in enumerate(given):
        found = intervals(trace(offset=given), rank, until="1ms", ranks=4)
        alone = intervals(trace(offset=offset), 0, until="1ms", ranks=4)
        assert np.array_equal(found, alone)


def test_drawn_offsets_are_uniform():
    """Busy at time 0 with the share of the trace; time to the next interval as it should be."""
    first, inside = at_start(trace(), until="1ms", ranks=scaled(3000))
    check_counts(np.array([inside.sum(), (~inside).sum()]), [0.36, 0.64])
    left = first[inside, 1] * 1e-12
    # 5, 1 and 30 us of 36 us, each uniform
    check_distribution(
        left,
        lambda t: sum(np.minimum(t, d) for d in (5e-6, 1e-6, 30e-6)) / 36e-6,
        grain=1e-6,
    )


def test_drawn_offsets_of_nodes():
    for shared, size in (("machine", 64), (8, 8)):
        case = case_of(trace(shared=shared), ranks=64)
        found = [intervals_of(case, rank, until="1ms") for rank in range(64)]
        for rank in range(64):
            assert np.array_equal(found[rank], found[rank // size * size])
        assert len({one.tobytes() for one in found}) == 64 // size


def joined(parts):
    """The union of intervals: those that touch are one."""
    found = []
    for begin, end in sorted(map(tuple, np.concatenate(parts).tolist())):
        if found and begin <= found[-1][1]:
            found[-1][1] = max(end, found[-1][1])
        else:
            found.append([begin, end])
    return np.array(found)


def test_union_of_sources():
    sources = [
        jf.PeriodicNoise("70us", "9us", start="stationary"),
        jf.RenewalNoise("50us", jf.Exponential("10us"), start="stationary"),
        trace(),
        jf.StepNoise("1us"),  # has no intervals
    ]
    for rank in (0, 1, 77):
        # What is away at 20 ms may be so by further intervals that begin after it.
        alone = joined([intervals(source, rank, until="22ms") for source in sources[:3]])
        together = intervals(sources, rank, until="20ms")
        assert np.array_equal(together, alone[alone[:, 0] < 20 * 10**9])


def test_a_second_source_of_a_kind_draws_its_own():
    one = jf.RenewalNoise("50us", "1us")
    single, twice = intervals(one, until="10ms"), intervals([one, one], until="10ms")
    assert len(twice) > 1.8 * len(single)
    assert np.array_equal(joined([single, twice]), joined([twice]))
    periodic = jf.PeriodicNoise("1ms", "1us")
    case = jf.Case(64, network=QUIET, noise=[periodic, jf.StepNoise("1us"), periodic])
    assert not np.intersect1d(noise_phases(case, source=0), noise_phases(case, source=2)).size


# --- windows


@pytest.mark.parametrize(
    "noise",
    [
        jf.PeriodicNoise("70us", "30us", begin="100us", end="500us"),
        jf.RenewalNoise("50us", "30us", begin="100us", end="500us"),
        trace(begin="100us", end="500us"),
    ],
)
def test_intervals_are_cut_to_the_window(noise):
    whole = jf.Noise.from_dict(
        {k: v for k, v in noise.to_dict().items() if k not in ("begin", "end")}
    )
    for rank in range(20):
        found = intervals(noise, rank, until="1ms")
        cut = np.clip(intervals(whole, rank, until="1ms"), 10**8, 5 * 10**8)
        assert np.array_equal(found, cut[cut[:, 1] > cut[:, 0]])


def test_steps_in_the_window():
    """Compute phases begin at 0, 1, 2, 3, 4.01, 5.02, 6.03 ms ...: three are in the window."""
    noise = jf.StepNoise("10us", begin="2.5ms", end="5.5ms")
    case = jf.Case(1, network=QUIET, noise=[noise], cycles=10, compute_time="1ms")
    assert jf.simulate(case, 1).ticks[0, -1] == 10 * 10**9 + 3 * 10**7
    edge = jf.StepNoise("10us", begin="3ms", end="4.01ms")
    case = jf.Case(1, network=QUIET, noise=[edge], cycles=10, compute_time="1ms")
    assert jf.simulate(case, 1).ticks[0, -1] == 10 * 10**9 + 10**7


@pytest.mark.parametrize(
    "noise", [jf.MessageNoise("1us", begin="1us", end="4us"),
              jf.NetworkJitter("1ns", "1us", begin="1us", end="4us")],
)  # fmt: skip
def test_messages_in_the_window(noise):
    """Late are those that left in it, and no others."""
    ready, inside = rows(noise, ranks=16), []
    for r in range(4):
        left = ready[r, np.arange(16) ^ 1 << r]
        inside.append((left >= 10**6) & (left < 4 * 10**6))
        in_time = left + 10**6
        assert (ready[r + 1] > in_time)[inside[r]].all()
        assert (ready[r + 1] == np.maximum(ready[r], in_time))[~inside[r]].all()
    assert not inside[0].any()
    assert inside[1].all()
    assert not inside[3].any()
