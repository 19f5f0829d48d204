"""Draws that hold for a time: weather that changes, links that lose messages, speed that wanders.

Against the event-driven reference, what is the same without them, and closed forms.
"""

import random
import warnings
from dataclasses import replace

import numpy as np
import pytest
from reference.collectives import GOALS, check_ready_times, random_pair
from reference.noise import MessageDelay, RankSpeed, Weather
from reference.public_delays import random_distribution
from reference.uneven import random_shared, random_some_hosts
from support.commands import error_of
from support.grouped import parametrize_in_groups
from support.instruction_sets import AVAILABLE, check_instruction_sets
from support.scale import of_each_kind, scaled

import jitterfly as jf
from jitterfly.cli import main
from jitterfly.replay import Replay
from jitterfly.slowdown import part_in_words
from jitterfly.unseen_noise import expected_hits

KINDS = sorted(GOALS)
NETWORK = jf.LogGOPS(L="1us", o="100ns", G="0.1ns", gamma="1ns")


def random_source(rng, ranks, transit, *, speeds):
    """A source whose draws hold for a time, as it is written and as it is meant."""
    shared, width = random_shared(rng, ranks)
    written, meant = random_some_hosts(rng, jf, ranks)
    meant |= {"node_ranks": width, "holds": rng.choice([10_000, 1_234_567, 5_000_000, 10**8])}
    written |= {"shared": shared, "holds": meant["holds"] * 1e-12}
    match rng.choice(["message", "weather", "speed"] if speeds else ["message", "weather"]):
        case "message":
            delay, table = random_distribution(rng, jf, 2_000_000)
            links = rng.choice([0.5, 0.1, 0.9])
            source = jf.MessageNoise(delay, links=links, **written)
            return source, MessageDelay(table, links=int(links * 2**64), **meant)
        case "weather":
            delay, table = random_distribution(rng, jf, 2_000_000)
            return jf.NetworkWeather(delay, **written), Weather(table, **meant)
    factor, table = 0.0, None
    while not isinstance(factor, jf.Distribution) or not factor.longest_ticks():
        factor, table = random_distribution(rng, jf, 3 * 10**12)
    return jf.SpeedNoise(factor, **written), RankSpeed(table, **meant)


@pytest.mark.filterwarnings("ignore::jitterfly.LongTimeWarning")
@pytest.mark.filterwarnings("ignore::jitterfly.SmallFactorWarning")
@pytest.mark.filterwarnings("ignore::jitterfly.IneffectiveNoiseWarning")
@pytest.mark.filterwarnings("ignore:.*counts nowhere, so the collective takes no time")
@parametrize_in_groups(
    "kind, number", [(kind, number) for kind in KINDS for number in of_each_kind(12)]
)
def test_engine_equals_reference(kind, number):
    """All algorithms, on machines of several levels, beside other noise."""
    rng = random.Random(f"spells {kind} {number}")
    levels = kind != "butterfly" and rng.random() < 0.5
    case, run, (seed, realization) = random_pair(rng, jf, kind, levels=levels)
    # What is redundant can be sent by ranks of one speed only.
    speeds = kind != "butterfly"
    added = [random_source(rng, case.ranks, case.costs.transit, speeds=speeds)
             for _ in range(rng.randint(1, 3))]  # fmt: skip
    case = replace(case, noise=[*case.noise, *(written for written, _ in added)])
    for _, meant in added:
        run.sources = [*run.sources, meant]
    times = jf.ready_times(case, seed=seed, realization=realization)
    check_ready_times(times, run.execute())


SOURCES = {
    "weather": jf.NetworkWeather(jf.Exponential("5us")),
    "links": jf.MessageNoise("50us", 0.5, links=0.2),
    "speed": jf.SpeedNoise(jf.Lognormal(1, 0.3)),
}


@pytest.mark.filterwarnings("ignore:.*holds = .* is shorter than a piece of work:UserWarning")
@pytest.mark.parametrize("what", SOURCES)
def test_what_holds_longer_than_a_run_is_that_of_the_realization(what):
    """The phase is one of 10^5 s, and the run takes 1 ms: one spell, of which one draw holds.

    It may be the second one, once in 10^8 realizations. Then other times come, and other batches,
    threads and realizations change nothing.
    """
    case = jf.Case(24, algorithm="ring_allreduce", network=NETWORK, compute_time="20us",
                   message_bytes=2400, noise=[SOURCES[what]], cycles=2)  # fmt: skip
    for_ever = jf.simulate(case, 20, seed=3).ticks
    long = replace(case, noise=[replace(SOURCES[what], holds="100000s")])
    np.testing.assert_array_equal(jf.simulate(long, 20, seed=3).ticks, for_ever)
    short = replace(case, noise=[replace(SOURCES[what], holds="5us")])
    whole = jf.simulate(short, 20, seed=3).ticks
    assert (whole != for_ever).any(axis=1).mean() > 0.5
    np.testing.assert_array_equal(jf.simulate(short, 20, seed=3, threads=2).ticks, whole)
    last = jf.simulate(short, 13, seed=3, first_realization=7).ticks
    np.testing.assert_array_equal(last, whole[7:])


FAST_TAILS = {
    "weather": jf.NetworkWeather(jf.Exponential("1ms"), holds="100us"),
    "longer": jf.NetworkWeather(longer=jf.Exponential(1000), holds="100us"),
    "links": jf.MessageNoise(jf.Exponential("1ms"), links=0.9, holds="100us"),
    "speed": jf.SpeedNoise(jf.Exponential(1), holds="100us"),
}


@pytest.mark.filterwarnings("ignore::jitterfly.UnseenChangeWarning")
@pytest.mark.parametrize("what", FAST_TAILS)
def test_batches_and_single_realizations_agree_where_low_halves_decide(what, monkeypatch):
    """On every instruction set. A draw is in the tail once in 4,096, and beyond ln 4096 means.

    There the low half of its random bits changes it by some ticks, and each of 8 cycles has a draw.
    """
    case = jf.Case(2, algorithm="recursive_doubling_allreduce", cycles=8, noise=[FAST_TAILS[what]],
                   network=jf.Hockney(alpha="1us", beta=0),
                   compute_time="1ms" if what == "speed" else 0)  # fmt: skip
    count = scaled(40_000, 10_000)

    def times(case):
        return [jf.simulate(case, count, seed=5, backend="cpu", threads=1).ticks]

    check_instruction_sets(times, case, monkeypatch)
    [whole] = times(case)
    of_cycles = np.diff(whole, axis=1, prepend=0)
    tails = np.flatnonzero((of_cycles > np.log(4096) * 1e9 + 1e6).any(axis=1))
    assert len(tails) > count * 8 / 4096 / 2
    for isa in AVAILABLE:
        monkeypatch.setenv("JITTERFLY_ISA", isa)
        for number in map(int, tails[:10]):
            alone = jf.simulate(case, 1, seed=5, backend="cpu", first_realization=number)
            np.testing.assert_array_equal(alone.ticks[0], whole[number], err_msg=isa)


def test_weather_at_two_moments_is_as_correlated_as_the_time_between_them_says():
    """1 - t / holds, of two messages that leave t apart: two cycles of two ranks."""
    weather = jf.NetworkWeather("1us", probability=0.5, holds="100us")
    network = jf.LogGOPS(L="1us", o=0, G=0)
    count = scaled(40_000, 8_000)
    for work, distance in (("30us", 31.5e-6), ("80us", 81.5e-6), ("150us", None)):
        case = jf.Case(2, network=network, compute_time=work, noise=[weather], cycles=2)
        found = jf.simulate(case, count, seed=5)
        first, both = np.rint((found.samples - found.noise_free).T * 1e6)
        expected = 0.0 if distance is None else 1 - distance / 100e-6
        # The second message leaves as much later as the first one took longer: half of 1 us.
        assert np.corrcoef(first, both - first)[0, 1] == pytest.approx(expected, abs=5 / count**0.5)


def test_losses_that_stay_with_a_link_hit_fewer_runs_that_lose_more():
    """Of 4 ranks in a ring each gets 3 messages: without a lossy link, none of them is late."""
    q, p = 0.05, 0.5
    case = jf.Case(4, algorithm="ring_allgather", network=jf.Hockney(alpha="1us", beta=0))
    count = scaled(40_000, 8_000)
    hit = {}
    for what, noise in (("links", jf.MessageNoise("1ms", p, links=q)),
                        ("all", jf.MessageNoise("1ms", p * q))):  # fmt: skip
        found = jf.simulate(replace(case, noise=[noise]), count, seed=2)
        hit[what] = np.mean(found.samples[:, 0] > found.noise_free[0] + 0.5e-3)
    # A late message makes the whole ring late, whichever it is.
    exact = {"links": 1 - (1 - q + q * (1 - p) ** 3) ** 4, "all": 1 - (1 - p * q) ** 12}
    for what, share in exact.items():
        error = (share * (1 - share) / count) ** 0.5
        assert hit[what] == pytest.approx(share, abs=5 * error)


def test_a_speed_that_wanders_is_drawn_anew_for_each_piece_of_work():
    """Work of 1 ms, and spells of 10 us: the factors of 50 cycles of a rank are independent."""
    noise = jf.SpeedNoise(jf.Exponential(1), holds="10us")
    case = jf.Case(1, network=NETWORK, compute_time="1ms", noise=[noise], cycles=50)
    with pytest.warns(jf.UnseenChangeWarning, match="holds = 10 µs is shorter than a piece"):
        ticks = jf.simulate(case, scaled(400, 100), seed=4).ticks
    factors = np.diff(ticks, axis=1, prepend=0) / 1e9
    # A cycle of 50 in a row; the mean of n exponential draws is off by n^-1/2.
    assert factors.mean() == pytest.approx(1, abs=5 / factors.size**0.5)
    far = factors[:, :-1] > 0.02  # a later one begins in another spell
    pairs = np.corrcoef(factors[:, :-1][far], factors[:, 1:][far])[0, 1]
    assert abs(pairs) < 5 / far.sum() ** 0.5
    same = jf.simulate(replace(case, noise=[replace(noise, holds=None)]), 10, seed=4).ticks
    np.testing.assert_allclose(np.diff(same, axis=1), same[:, :1].repeat(49, axis=1), atol=1)


WANDERING = jf.SpeedNoise(jf.Lognormal(1, 0.3), holds="10us")
UNSEEN = (
    "noise.1 (speed): the slowest is too slow, and the true slowdown smaller: holds = 10 µs is "
    "shorter than a piece of work, which takes up to {} and keeps the factor that it begins with; "
    "on a machine its changes average out"
)
UNSEEN_WAY = (
    "noise.0 (weather): the slowest is too slow, and the true slowdown smaller: holds = 10 µs is "
    "shorter than the way of a message, which takes up to {} and keeps the weather in which it "
    "leaves; on a machine its changes average out"
)


@pytest.mark.parametrize(
    ("noise", "work", "gamma", "told"),
    [
        (WANDERING, "10.001us", 0, "10 µs"),
        (WANDERING, "10us", 0, ""),
        (WANDERING, "1us", "20ns", "20 µs"),  # combining 1,000 bytes
        (replace(WANDERING, holds=None), "1s", 0, ""),
        (replace(WANDERING, probability=0), "1s", 0, ""),
        (jf.SpeedNoise(2, holds="10us"), "1s", 0, ""),
    ],
)
@pytest.mark.filterwarnings("ignore::jitterfly.IneffectiveNoiseWarning")
def test_work_that_is_longer_than_a_draw_holds_is_told(noise, work, gamma, told):
    """Nothing that changes within a piece of work shows: it takes one factor to its end."""
    expected = [UNSEEN.format(told)] if told else []
    sources = [jf.StepNoise("1us", 0.1), noise]
    network = replace(NETWORK, gamma=gamma)
    case = jf.Case(4, network=network, noise=sources, compute_time=work, message_bytes=1000)
    assert case.doubts() == expected
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", jf.UnseenChangeWarning)
        jf.simulate(case, 2)
        notes = jf.explain(case, 2).notes()
    warned = [str(one.message) for one in seen if one.category is jf.UnseenChangeWarning]
    assert warned == 2 * expected
    assert [note for note in notes if "holds" in note and "piece" in note] == expected


@pytest.mark.parametrize(
    ("fields", "size", "told"),
    [
        ({"longer": jf.Lognormal(1.5, 0.5)}, 90_002, "10 µs"),  # 1 us, and 0.1 ns for each byte
        ({"longer": jf.Lognormal(1.5, 0.5)}, 90_001, ""),
        ({"longer": 0.5, "probability": 0.5}, 10**7, "1.001 ms"),
        ({"longer": 0.5}, 10**7, ""),
        ({"longer": jf.Lognormal(1.5, 0.5), "probability": 0}, 10**7, ""),
        ({"longer": jf.Lognormal(1.5, 0.5), "holds": None}, 10**7, ""),
        ({"delay": jf.Exponential("1us")}, 10**7, ""),  # of a message, however long its way is
    ],
)
def test_a_message_whose_way_is_longer_than_weather_holds_is_told(fields, size, told):
    noise = jf.NetworkWeather(**{"holds": "10us", **fields})
    case = jf.Case(8, algorithm="binomial_broadcast", network=NETWORK, message_bytes=size,
                   noise=[noise])  # fmt: skip
    assert case.doubts() == ([UNSEEN_WAY.format(told)] if told else [])


def test_one_draw_in_place_of_several_makes_the_slowest_slower():
    """What the note says: 100 factors of 10 us each average to little more than their median.

    The same work in pieces that are no longer than `holds` shows it: a chain of calculations.
    """
    noise = [jf.SpeedNoise(jf.Lognormal(1.1, 0.1), holds="10us")]
    means = {}
    for pieces in (1, 100):
        app = jf.ScheduleBuilder(ranks=16)
        for _ in range(pieces):
            app.calc(f"{1000 // pieces}us")
        app.collective("recursive_doubling_allreduce", 8)
        with warnings.catch_warnings():
            warnings.simplefilter("error" if pieces > 1 else "ignore", jf.UnseenChangeWarning)
            found = jf.simulate_schedule(app.build(), replace(NETWORK, gamma=0), noise=noise,
                                         realizations=200, seed=2)  # fmt: skip
        means[pieces] = found.samples.mean() / found.noise_free
        assert [note.code for note in found.notes()].count("unseen_change") == (pieces == 1)
    assert 1.08 < means[100] < 1.15
    assert means[1] > 1.25


def test_answers_say_it_before_their_numbers():
    slow = jf.SpeedNoise(jf.Lognormal(1.1, 0.1), holds="10us")
    how = {"compute_time": "1ms", "network": replace(NETWORK, gamma=0)}
    told = UNSEEN.format("1 ms").replace("noise.1", "noise.0")
    case = jf.Case(8, noise=[slow], **how)
    app = jf.ScheduleBuilder(ranks=2)
    app.calc("1ms")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jf.UnseenChangeWarning)
        answers = [
            jf.slowdown(slow, 8, realizations=100, **how),
            jf.explain(case, 10),
            jf.simulate_schedule(app.build(), how["network"], noise=[slow], realizations=10),
        ]
    for answer in answers:
        assert answer.cautions() == [told] == answer.notes()[:1]
        assert answer.report()[:2] == [told, ""]
        assert answer.subtitle()[0] == told


def test_advise_says_it_of_any_candidate():
    """Also if the way of the best one is short enough: a part of the message in each step."""
    weather = jf.NetworkWeather(longer=jf.Lognormal(1.5, 0.5), holds="10us")
    how = {"network": replace(NETWORK, gamma=0), "collective": "broadcast", "noise": [weather],
           "message_bytes": 200_000, "realizations": 64}  # fmt: skip
    short = jf.advise(16, candidates=["scatter_allgather"], **how)
    assert short.cautions() == [UNSEEN_WAY.format("11 µs") + "; another candidate may be faster"]
    both = jf.advise(16, candidates=["scatter_allgather", "binomial"], **how)
    assert len(both.cautions()) == 1
    assert both.report()[0] == both.notes()[0] == both.cautions()[0]
    assert both.cells[0].recordings == ()
    calm = jf.advise(16, **{**how, "noise": [replace(weather, holds="1ms")]})
    assert calm.cautions() == []


def test_a_calculation_that_is_longer_than_a_draw_holds_is_told():
    for work, told in (("10us", ()), ("50us", (UNSEEN.format("50 µs"),))):
        app = jf.ScheduleBuilder(ranks=2)
        app.calc(work)
        app.collective("ring_allreduce", 600)
        sources, network = [jf.StepNoise("1us", 0.1), WANDERING], replace(NETWORK, gamma=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", jf.UnseenChangeWarning)
            found = jf.simulate_schedule(app.build(), network, noise=sources, realizations=2)
        assert found.doubts == told


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (jf.MessageNoise("4ms", 0.01, links=0.001, holds="100us"),
         "message, delay = 4 ms, probability = 0.01, links = 0.1 %, holds = 100 µs"),
        (jf.NetworkWeather(longer=jf.Exponential(1), holds="10s"),
         "weather, longer = exponential, mean 1, holds = 10 s"),
        (jf.NetworkWeather(longer=jf.Lognormal(0.5, 1, longest=20)),
         "weather, longer = lognormal, median 0.5, sigma 1, longest 20"),
        (jf.NetworkWeather(longer="20%"), "weather, longer = 20 %"),
        (WANDERING, "speed, factor = lognormal, median 1, sigma 0.3, holds = 10 µs"),
        (jf.StepNoise("1us", begin="1ms", end="2ms"),
         "step, delay = 1 µs, begin = 1 ms, end = 2 ms"),
    ],
)  # fmt: skip
def test_in_words(source, words):
    """Times have their unit, shares are in percent, and what has no unit has none."""
    assert part_in_words(source) == words


@pytest.mark.filterwarnings("ignore:.*holds = .* is shorter than a piece of work:UserWarning")
def test_replay_and_explain():
    """`Replay` raises if one of its times is not the engine's."""
    weather = jf.NetworkWeather(longer=jf.Exponential(0.5), shared=2, holds="3us")
    links = jf.MessageNoise(jf.Exponential("5us"), links=0.3, holds="2us")
    noise = [jf.MessageNoise("1us", 0.1), weather, links, replace(links, holds=None)]
    case = jf.Case(16, network=NETWORK, noise=noise, cycles=2)
    for realization in range(3):
        Replay(case, 5, realization)
    speed = jf.SpeedNoise(jf.Lognormal(1, 0.3), holds="4us")
    uneven = replace(case, algorithm="ring_allreduce", compute_time="9us", noise=[*noise, speed])
    found = jf.explain(uneven, realizations=20)
    assert min(row.mean.value for row in found.rows()[1:4]) > 0


@pytest.mark.filterwarnings("ignore:.*holds = .* is shorter than a piece of work:UserWarning")
def test_schedules_have_them():
    """A run in one spell is that without one, in both orders of messages."""
    app = jf.ScheduleBuilder(ranks=6)
    app.calc("3us")
    app.collective("ring_allreduce", 600)
    schedule, network = app.build(), replace(NETWORK, gamma=0)
    for order in ("noise-free", "arrival"):
        times = [
            jf.simulate_schedule(
                schedule, network, noise=noise, realizations=5, order=order
            ).samples
            for noise in (
                [replace(source, holds=holds) for source in SOURCES.values()]
                for holds in (None, "100000s", "1us")
            )
        ]
        np.testing.assert_array_equal(times[0], times[1])
        assert (times[0] != times[2]).any()


def test_expected_hits():
    case = jf.Case(64, network=NETWORK, noise=[jf.MessageNoise("1ms", 0.01, links=0.1)])
    [found] = expected_hits(case, 1e8)
    lost = 6 * 0.01  # of a link, in six rounds
    assert found.hits.number == pytest.approx(0.1 * 64 * -np.expm1(-lost), rel=1e-6)
    assert found.hits.most == pytest.approx(0.1 * 64 * lost * 1e9, rel=1e-6)
    weather = jf.NetworkWeather("1us", probability=0.01)
    hits = [expected_hits(replace(case, noise=[one]), 1e8)[0].hits
            for one in (weather, replace(weather, holds="10us"))]  # fmt: skip
    assert hits[0].once
    assert not hits[1].once
    assert hits[1].number == pytest.approx(0.01 * (1 + 1e8 / 1e7), rel=0.01)
    assert hits[1].most == pytest.approx(hits[0].most)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: jf.NetworkWeather("1us", holds="9ns"),
         "holds must be 10 ns or longer, got '9ns' (in NetworkWeather)"),
        (lambda: jf.SpeedNoise(2, holds=0),
         "holds must be a time above 0 to 4.61e+06 s, got 0 (in SpeedNoise)"),
        (lambda: jf.MessageNoise("1us", holds="1s"),
         "holds must come with links below 1, for it says how long they stay"),
        (lambda: jf.MessageNoise("1us", links=1.5),
         "links must be from 0 to 1, such as 0.01 or 1%, got 1.5 (in MessageNoise)"),
        (lambda: jf.StepNoise("1us", holds="1s"),
         "StepNoise.__init__() got an unexpected keyword argument 'holds'"),
        (lambda: jf.simulate(jf.Case(4, network=NETWORK, noise=[
            jf.MessageNoise("1us", links=0.5)] * 9), 1), "at most 8 sources of lossy links"),
    ],
)  # fmt: skip
def test_what_is_refused(make, message):
    with pytest.raises((ValueError, TypeError)) as caught:
        make()
    assert str(caught.value) == message


def test_no_links_lose_nothing():
    case = jf.Case(8, network=NETWORK, noise=[jf.MessageNoise("1ms", links=0)])
    found = jf.simulate(case, 5)
    assert (found.samples == found.noise_free).all()


def test_records_without_them_stay_the_same():
    """What identifies a stored run has no word of what is younger than it."""
    for source in (jf.MessageNoise("1us"), jf.SpeedNoise(2), jf.NetworkWeather("1us")):
        assert not {"links", "holds"} & source.identity().keys()
        changed = replace(
            source, holds="1s", **({"links": 0.5} if source.kind == "message" else {})
        )
        assert changed.identity()["holds"] == 1.0


def test_on_the_command_line(capsys):
    options = ["--ranks=64", "--realizations=50", "-q"]
    lossy = "kind=message,delay=4ms,probability=1%,links=1%,holds=10s"
    for command in ("slowdown", "explain"):
        assert main([command, *options, "--noise", lossy]) in (0, None)
        assert "links = 1 %, holds = 10 s" in capsys.readouterr().out
    rows = set()
    for noise in (lossy, "kind=message,delay=4ms,probability=0.01%"):  # as many in the mean
        assert main(["slowdown", *options, "--noise", noise]) in (0, None)
        rows.add(next(one for one in capsys.readouterr().out.splitlines() if " 64 " in one))
    assert len(rows) == 2
    wandering = "kind=speed,factor=lognormal(median=1,sigma=0.02),holds=10ms"
    assert main(["slowdown", *options, "--compute-time=1ms", "--noise", wandering]) in (0, None)
    capsys.readouterr()
    short = "kind=weather,delay=1us,holds=1ns"
    told = error_of(capsys, "slowdown", *options, "--noise", short)
    assert "holds must be 10 ns or longer, got '1ns' (in NetworkWeather)" in told
