"""Bursts: sources of intervals that are on and off by turns.

Against the event-driven reference, closed forms, an independent simulation in NumPy, and errors.
"""

import random
from dataclasses import replace

import numpy as np
import pytest
from reference.collectives import GOALS, check_ready_times, random_pair
from reference.noise import OnOff, PeriodicNoise, RenewalNoise, Stationary
from reference.public_delays import Opaque, seconds
from support.commands import error_of
from support.grouped import parametrize_in_groups
from support.scale import of_each_kind, scaled

import jitterfly as jf
from jitterfly.cli import main
from jitterfly.unseen_noise import expected_hits

KINDS = sorted(GOALS)
NETWORK = jf.LogGOPS(L="1us", o="100ns", G="0.1ns", gamma="1ns")
ON_OFF = jf.noise.OnOff(on="2ms", off="6ms")
SOURCES = [
    jf.PeriodicNoise("50us", "3us", start="stationary"),
    jf.RenewalNoise("30us", jf.Exponential("5us"), shared=4),
    jf.TraceNoise(starts=[1e-5, 4e-5], durations=[1e-6, 2e-6], length=1e-4),
]
NAMES = [source.kind for source in SOURCES]


def random_bursts(rng, ranks):
    """Bursts as they are written and as they are meant."""
    on = rng.choice([jf.Exponential, jf.Constant])(seconds(rng.randint(10**4, 10**7)))
    off = jf.Exponential(seconds(rng.randint(10**4, 10**7)))
    shared = rng.choice([False, "machine", rng.randint(1, ranks)])
    written = jf.noise.OnOff(on, off, shared=shared)
    _, _, (share, busy, idle), width = written.engine_fields(ranks)
    start = Stationary(share, Opaque(table=busy), Opaque(table=idle))
    return written, OnOff(Opaque(table=on.table()), Opaque(table=off.table()), start, width)


def random_source(rng, ranks):
    """A source in bursts as it is written and as it is meant."""
    written, meant = random_bursts(rng, ranks)
    if rng.random() < 0.5:
        period = rng.choice([10**5, 10**6, 3_333_333])
        source = jf.PeriodicNoise(seconds(period), seconds(period // 20), bursts=written)
        return source, PeriodicNoise(period, period // 20, bursts=meant)
    gap, duration = jf.Exponential("3us"), jf.Constant("0.2us")
    source = jf.RenewalNoise(gap, duration, bursts=written)
    tables = Opaque(table=gap.table()), Opaque(table=duration.table())
    return source, RenewalNoise(*tables, bursts=meant)


@pytest.mark.filterwarnings("ignore::jitterfly.IneffectiveNoiseWarning")
@pytest.mark.filterwarnings("ignore:.*counts nowhere, so the collective takes no time")
@parametrize_in_groups(
    "kind, number", [(kind, number) for kind in KINDS for number in of_each_kind(12)]
)
def test_engine_equals_reference(kind, number):
    """All algorithms, beside other noise."""
    rng = random.Random(f"bursts {kind} {number}")
    case, run, (seed, realization) = random_pair(rng, jf, kind)
    added = [random_source(rng, case.ranks) for _ in range(rng.randint(1, 2))]
    noise = [one for one in case.noise if one.kind not in ("periodic", "renewal", "trace")]
    case = replace(case, noise=[*noise, *(written for written, _ in added)])
    quiet = [one for one in run.sources if one.role not in ("periodic", "renewal", "trace")]
    run.sources = [*quiet, *(meant for _, meant in added)]
    times = jf.ready_times(case, seed=seed, realization=realization)
    check_ready_times(times, run.execute())


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_intervals_are_those_of_the_source_while_it_is_on(source):
    """Known from a source that is always busy: its bursts are the times on."""
    case = jf.Case(8, network=NETWORK, noise=[source])
    always = jf.PeriodicNoise("1s", 1 - 1e-12, start="fresh", phases=[0] * 8, bursts=ON_OFF)
    on = jf.noise_intervals(replace(case, noise=[always]), 3, "40ms", seed=5)
    whole = jf.noise_intervals(case, 3, "40ms", seed=5)
    found = jf.noise_intervals(replace(case, noise=[replace(source, bursts=ON_OFF)]), 3, "40ms",
                               seed=5)  # fmt: skip
    expected = [(max(a, c), min(b, d)) for a, b in whole for c, d in on if max(a, c) < min(b, d)]
    assert 1 < len(on) < 40
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)
    assert 0 < len(found) < len(whole)


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_a_realization_is_the_same_in_whatever_batch(source):
    noise = [replace(source, bursts=ON_OFF)]
    case = jf.Case(16, network=NETWORK, noise=noise, compute_time="1ms", cycles=3)
    whole = jf.simulate(case, 9, seed=7).ticks
    parts = [jf.simulate(case, n, seed=7, first_realization=at).ticks for at, n in ((0, 4), (4, 5))]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    np.testing.assert_array_equal(jf.simulate(case, 9, seed=7, threads=2).ticks, whole)
    assert len(np.unique(whole[:, 0])) > 2


def test_the_share_of_the_time_on():
    """Found at a random moment: on with E[on] / (E[on] + E[off]), as one long step finds it.

    A source that always is busy while on delays work of 1 ps by what is left of a time on, which
    of exponential times lasts as long as a whole one.
    """
    always = jf.PeriodicNoise("1s", 1 - 1e-12, phases=[0], bursts=ON_OFF)
    case = jf.Case(1, network=NETWORK, noise=[always], compute_time="1ps")
    count = scaled(20_000, 2000)
    late = jf.simulate(case, count, seed=3).samples[:, 0]
    on = late > 1e-9
    assert abs(on.mean() - 0.25) < 5 * (0.25 * 0.75 / count) ** 0.5  # fails once in 10^6 seeds
    left = late[on] * 1000  # ms
    assert abs(left.mean() - 2) < 5 * 2 / on.sum() ** 0.5


def test_bursts_of_the_machine_make_neighbouring_cycles_alike():
    """The correlation of on and off at two moments t apart is exp(-(1 / on + 1 / off) t).

    A cycle takes about a millisecond, and a rank is late in it where the machine is on.
    """
    noise = jf.PeriodicNoise("10us", "1us", start="stationary", during="compute",
                             bursts=jf.noise.OnOff(on="20ms", off="60ms"))  # fmt: skip
    case = jf.Case(4, network=NETWORK, noise=[noise], compute_time="1ms", cycles=2)
    count = scaled(20_000, 3000)
    ends = jf.simulate(case, count, seed=4).samples
    late = np.stack([ends[:, 0], ends[:, 1] - ends[:, 0]]) - 1e-3
    found = np.corrcoef(late)[0, 1]
    # Of the times on within two intervals of a millisecond: NumPy, step by step of 10 us.
    rng = np.random.default_rng(0)
    on = rng.random(count) < 0.25
    steps = np.empty((200, count))
    for step in range(200):
        on ^= rng.random(count) < np.where(on, 1 / 2000, 1 / 6000)
        steps[step] = on
    independent = np.corrcoef(steps[:100].sum(axis=0), steps[100:].sum(axis=0))[0, 1]
    assert abs(found - independent) < 0.03
    alone = replace(case, noise=[replace(noise, bursts=None)])
    ends = jf.simulate(alone, 500, seed=4).samples
    assert (ends[:, 0] > 1.09e-3).all()  # always on


def test_expected_hits_are_those_of_the_time_on():
    [always] = expected_hits(jf.Case(64, network=NETWORK, noise=SOURCES[:1]), 1e8)
    limited = [replace(SOURCES[0], bursts=ON_OFF)]
    [some] = expected_hits(jf.Case(64, network=NETWORK, noise=limited), 1e8)
    assert some.hits.number == pytest.approx(always.hits.number / 4)


def test_explain_tells_a_source_in_bursts_from_what_stands_behind_it():
    """Behind its intervals the engine has those of the bursts, which are no cause."""
    first = jf.PeriodicNoise("1ms", "10us", bursts=jf.noise.OnOff("1us", "1h"))
    second = jf.PeriodicNoise("100us", "30us", start="stationary")
    third = jf.StepNoise("5us", during="compute")
    case = jf.Case(16, network=NETWORK, noise=[first, second, third], compute_time="1ms")
    found = jf.explain(case, realizations=10)
    of_first, of_second, of_third, _ = (row.mean.value for row in found.rows())
    assert of_first == 0
    assert of_second > 100e-6
    assert of_third == pytest.approx(5e-6)


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_as_a_table_and_as_text(source):
    limited = replace(source, bursts=jf.noise.OnOff("1s", jf.Weibull("1s", 0.7), shared=4))
    assert jf.Noise.from_dict(limited.to_dict()) == limited
    assert "bursts" not in source.identity()  # stored runs keep their identity
    text = "period=1ms,duration=1us,bursts=onoff(on=2ms,off=6ms)"
    assert jf.Case(4, network=NETWORK, noise=text).noise[0].bursts == ON_OFF


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: jf.noise.OnOff(0, "1s"), "on must be above 0, got 0 (in OnOff)"),
        (lambda: jf.noise.OnOff("1s", "0s"), "off must be above 0, got '0s' (in OnOff)"),
        (lambda: jf.noise.OnOff(jf.Constant(0), "1s"), "on of bursts must have a finite mean"),
        (lambda: jf.noise.OnOff("1s", jf.Constant("1s")), "off of bursts must be drawn from"),
        (lambda: jf.noise.OnOff("1s", "often"), "off must be a time in seconds"),
        (lambda: jf.noise.OnOff("1s", "1s", shared="node"), "shared of bursts must be False"),
        (lambda: replace(SOURCES[0], bursts="often"), "bursts must be an OnOff such as"),
        (lambda: jf.StepNoise("1us", bursts=ON_OFF), "bursts"),
        (lambda: jf.Case(4, network=NETWORK, noise="kind=step,delay=1us,bursts=onoff(on=1s)"),
         "bursts"),
        (lambda: jf.Case(4, network=NETWORK, compute_time="1h", noise=[
            replace(SOURCES[0], bursts=jf.noise.OnOff("1us", "1us"))]), "bursts must be longer"),
    ],
)  # fmt: skip
def test_what_is_refused(make, message):
    with pytest.raises((ValueError, TypeError)) as caught:
        make()
    assert message in str(caught.value)


def test_theory_refuses_bursts():
    noise = replace(SOURCES[0], bursts=ON_OFF)
    with pytest.raises(ValueError, match="bursts must be None for this bound"):
        jf.theory.completion_bound(jf.Case(16, network=NETWORK, noise=[noise]))


def test_on_the_command_line(capsys):
    daemon = "kind=renewal,gap=1ms,duration=30us,start=stationary,bursts=onoff(on=1s,off=3s)"
    options = ["slowdown", "--ranks=64", "--realizations=50", "-q", "--json"]
    assert main([*options, "--noise", daemon]) in (0, None)
    assert '"onoff"' in capsys.readouterr().out
    none = daemon.replace("off=3s", "off=0")
    assert "off must be above 0" in error_of(capsys, *options, "--noise", none)


@pytest.mark.parametrize("shared", ["node", "level 1", 0, "each"])
def test_bursts_are_not_offered_names_of_levels(shared):
    with pytest.raises(ValueError, match=r"^shared of bursts must be False, .*, got") as caught:
        jf.noise.OnOff("1s", "1s", shared=shared)
    assert "Hierarchy" not in str(caught.value)
