"""Weather of the network: one draw lengthens all messages of a realization.

Against the event-driven reference, a slower network, and the draws themselves.
"""

import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from reference.collectives import GOALS, check_ready_times, random_pair
from reference.noise import Weather
from reference.public_delays import random_distribution
from reference.uneven import random_shared, random_some_hosts
from scipy import stats
from support.commands import error_of
from support.grouped import parametrize_in_groups
from support.scale import of_each_kind, scaled

import jitterfly as jf
from jitterfly.cli import main
from jitterfly.replay import Replay
from jitterfly.unseen_noise import expected_hits

KINDS = sorted(GOALS)
NETWORK = jf.LogGOPS(L="1us", o="100ns", G="0.1ns", gamma="1ns")


def random_weather(rng, ranks, transit):
    """Weather as it is written and as it is meant; `transit`: of the messages of a butterfly."""
    shared, width = random_shared(rng, ranks)
    written, meant = random_some_hosts(rng, jf, ranks)
    if rng.random() < 0.5:
        delay, table = random_distribution(rng, jf, 2_000_000)
        weather = jf.NetworkWeather(delay, shared=shared, **written)
        return weather, Weather(table, node_ranks=width, **meant)
    longer, table = 0.0, None
    while not isinstance(longer, jf.Distribution):  # a number alone would be a part of 1
        longer, table = random_distribution(rng, jf, 3 * 10**12)
    weather = jf.NetworkWeather(longer=longer, shared=shared, **written)
    return weather, Weather(table, transit, parted=True, node_ranks=width, **meant)


@pytest.mark.filterwarnings("ignore::jitterfly.LongTimeWarning")
@pytest.mark.filterwarnings("ignore:.*counts nowhere, so the collective takes no time")
@parametrize_in_groups(
    "kind, number", [(kind, number) for kind in KINDS for number in of_each_kind(12)]
)
def test_engine_equals_reference(kind, number):
    """All algorithms, on machines of several levels, beside other noise."""
    rng = random.Random(f"weather {kind} {number}")
    levels = kind != "butterfly" and rng.random() < 0.5
    case, run, (seed, realization) = random_pair(rng, jf, kind, levels=levels)
    transit = case.costs.transit
    added = [random_weather(rng, case.ranks, transit) for _ in range(rng.randint(1, 2))]
    case = replace(case, noise=[*case.noise, *(written for written, _ in added)])
    run.sources = [*run.sources, *(meant for _, meant in added)]
    times = jf.ready_times(case, seed=seed, realization=realization)
    check_ready_times(times, run.execute())


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_weather_always_is_a_slower_network(kind):
    """Twice as long on the way is twice the latency, and a delay is more of it."""
    noise = [jf.PeriodicNoise("50us", "7us"), jf.MessageNoise(jf.Exponential("1us"))]
    ranks, network = 16 if kind == "butterfly" else 13, replace(NETWORK, G=0)
    case = jf.Case(ranks, network=network, algorithm=kind, message_bytes=1, cycles=2, noise=noise)
    slow = jf.simulate(replace(case, network=replace(network, L="2us")), 5, seed=3)
    for weather in (jf.NetworkWeather("1us"), jf.NetworkWeather(longer="100%"),
                    jf.NetworkWeather(longer=1, shared=False)):  # fmt: skip
        found = jf.simulate(replace(case, noise=[*noise, weather]), 5, seed=3)
        np.testing.assert_array_equal(found.ticks, slow.ticks)


@pytest.mark.parametrize("part", [False, True])
def test_a_realization_has_one_weather(part):
    """Each of K rounds takes as much longer as is drawn: known from the draw, and its law."""
    law = jf.Lognormal(median=1 if part else 2e-6, sigma=0.8)
    weather = jf.NetworkWeather(longer=law) if part else jf.NetworkWeather(law)
    case = jf.Case(64, network=NETWORK, noise=[weather], message_bytes=1, cycles=3)
    count = scaled(4000, 500)
    result = jf.simulate(case, count, seed=9)
    late = result.ticks - np.rint(result.noise_free * 1e12).astype(np.int64)
    table, transit = weather.table().delay(), case.costs.transit
    drawn = [int(table.draw(9, 64, 0, i, 0, 1)[0]) for i in range(count)]
    each = [round(transit * (d * -(-(2**96) // 10**12) >> 64) / 2**32) if part else d
            for d in drawn]  # fmt: skip
    np.testing.assert_array_equal(late, np.outer(each, 6 * np.arange(1, 4)))
    seconds = late[:, 0] / 6 / (transit if part else 1e12)
    exact = stats.lognorm(s=0.8, scale=1 if part else 2e-6)
    assert stats.kstest(seconds, exact.cdf).pvalue > 1e-4  # fails once in 10^4 seeds


def test_weather_is_the_same_in_whatever_batch_and_beside_whatever():
    weather = jf.NetworkWeather(jf.Exponential("5us"))
    case = jf.Case(48, network=NETWORK, algorithm="ring_allreduce", noise=[weather])
    whole = jf.simulate(case, 9, seed=7).ticks
    parts = [jf.simulate(case, b - a, seed=7, first_realization=a).ticks
             for a, b in pairwise([0, 4, 9])]  # fmt: skip
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    np.testing.assert_array_equal(jf.simulate(case, 9, seed=7, threads=2).ticks, whole)
    noise = [jf.MessageNoise("1us", 0.0), jf.NetworkJitter("1ms", 0), weather]
    beside = jf.simulate(replace(case, noise=noise), 9, seed=7).ticks
    np.testing.assert_array_equal(beside, whole)
    other = jf.simulate(replace(case, noise=[replace(weather, probability=0), weather]), 9, seed=7)
    assert (other.ticks != whole).any()  # the second source has draws of its own


def test_replay_and_explain():
    """`Replay` raises if one of its times is not the engine's; all delay is the weather's."""
    weathers = [jf.NetworkWeather(jf.Exponential("5us")), jf.NetworkWeather(longer="50%", shared=2)]
    case = jf.Case(16, network=NETWORK, noise=weathers, cycles=2)
    for realization in range(3):
        Replay(case, 5, realization)
    for algorithm in ("butterfly", "ring_allreduce"):
        found = jf.explain(replace(case, algorithm=algorithm, noise=weathers), realizations=20)
        first, second, path = (row.mean.value for row in found.rows())
        assert path == 0
        if algorithm == "butterfly":  # two cycles of four rounds
            assert second == pytest.approx(8 * 0.5 * case.costs.transit * 1e-12)
        assert first > second > 0


def test_schedules_have_weather():
    """As a network of that latency, in both orders of messages."""
    app = jf.ScheduleBuilder(ranks=6)
    for _ in range(2):
        app.calc("3us")
        app.collective("ring_allreduce", 600)
    schedule = app.build()
    network = jf.LogGOPS(L="1us", o="100ns", G="0.1ns")
    slow = replace(network, L="3us")
    for order in ("noise-free", "arrival"):
        found = jf.simulate_schedule(schedule, network, noise=[jf.NetworkWeather("2us")],
                                     realizations=3, order=order)  # fmt: skip
        expected = jf.simulate_schedule(schedule, slow, realizations=1, order=order)
        assert set(found.samples.ravel()) == {expected.noise_free}


def test_expected_hits():
    weather = jf.NetworkWeather(jf.Exponential("5us"), probability=0.01)
    case = jf.Case(64, network=NETWORK, noise=[weather], cycles=3)
    [found] = expected_hits(case, 1e8)
    assert found.hits.number == pytest.approx(0.01)
    assert found.hits.delay == pytest.approx(3 * 6 * 5e6, rel=1e-3)
    assert found.hits.once


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: jf.NetworkWeather(), "delay or longer must be given"),
        (lambda: jf.NetworkWeather("1us", longer=1), "and one of them only"),
        *[
            (lambda given=given: jf.NetworkWeather(longer=given),
             f"longer must be a part above 0, up to 10^6, such as 0.2 or 20%, got {given!r}")
            for given in (-1, 0, "-20%", "0%", "much", 2e6, "20us", True)
        ],
        (lambda: jf.NetworkWeather("much"), "delay must be"),
        (lambda: jf.NetworkWeather("1us", during="compute"), "during"),
        (lambda: jf.Case(4, network=NETWORK, noise=[jf.NetworkWeather("1us")] * 9),
         "noise must hold at most 8 of NetworkWeather"),
        (lambda: jf.Case(4, network=replace(NETWORK, L="10s"), noise=[jf.NetworkWeather(
            longer=jf.Pareto(1, 1, longest=10**6))]), "longer must leave each message less than"),
    ],
)  # fmt: skip
def test_what_is_refused(make, message):
    with pytest.raises((ValueError, TypeError)) as caught:
        make()
    assert message in str(caught.value)


def test_weather_without_a_way_is_said_to_be_without_effect():
    case = jf.Case(8, network=jf.LogGOPS(L=0, o="1us"), noise=[jf.NetworkWeather(longer=1)])
    with pytest.warns(jf.IneffectiveNoiseWarning, match="messages take no time"):
        jf.simulate(case, 2)


def test_on_the_command_line(capsys):
    weather = "kind=weather,longer=lognormal(median=0.5,sigma=1)"
    options = ["slowdown", "--ranks=64", "--realizations=50", "-q", "--json", "--noise", weather]
    assert main(options) in (0, None)
    assert '"weather"' in capsys.readouterr().out
    assert "delay or longer" in error_of(capsys, *options[:-1], "kind=weather,shared=4")


@pytest.mark.parametrize(
    ("longer", "words"),
    [
        ("20%", "20 %"),
        ("20", "2,000 %"),
        ("lognormal(median=0.5,sigma=1)", "lognormal, median 0.5, sigma 1"),
    ],
)
def test_a_part_is_shown_without_a_unit_of_time(longer, words, capsys):
    """One second stands for 1 in its distribution; for people it is no second."""
    options = ["--ranks=4", "--realizations=20", "-q", "--json"]
    for command in ("slowdown", "explain"):
        text = f"kind=weather,longer={longer}"
        assert main([command, *options, "--noise", text]) in (0, None)
        assert f"weather, longer = {words}" in capsys.readouterr().out
