"""Noise that somebody writes down is no recording: no interval, no hint asks for a longer one."""

import warnings

import pytest

import jitterfly as jf
from jitterfly.measured import Detours, Measured, noisefile

ASKS = ("record longer", "recording", "longest detours")


@pytest.fixture
def daemon(tmp_path):
    """A table as of the guide: 2 ms on core 0 of two, every 10 s."""
    parts = Detours([0], [2 * 10**9], 10**13), Detours([], [], 10**13)
    noisefile.write(Measured(parts, "test"), tmp_path / "daemon.noise")
    return tmp_path / "daemon.noise"


def answers(noise):
    """All that is said of a noise, with warnings."""
    case = jf.Case(64, network="L=1us,o=200ns", compute_time="1ms", noise=noise)
    app = jf.ScheduleBuilder(4)
    app.calc("1ms")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        table = jf.slowdown(noise, "8,64", network="L=1us,o=200ns", realizations=50)
        text = [*table.notes(), *jf.explain(case, 5).notes()]
        text += jf.simulate_schedule(app.build(), "L=1us,o=200ns", case.noise, 5).notes()
        text += jf.advise(64, network="L=1us,o=200ns", noise=case.noise, realizations=64).notes()
    return [*text, *(str(one.message) for one in seen)]


def test_a_model_is_never_asked_to_be_recorded(daemon):
    models = [
        [jf.PeriodicNoise("10s", "2ms", start="stationary")],
        [jf.RenewalNoise("10s", "2ms", start="stationary")],
        [jf.TraceNoise(starts=[0.1], durations=[2e-3], length=10, made_up=True)],
        [jf.TraceNoise(file=str(daemon), part="each", shared=2, made_up=True)],
    ]
    for noise in models:
        assert [line for line in answers(noise) if any(word in line for word in ASKS)] == []


def test_what_is_not_said_to_be_made_up_is_asked(daemon):
    for noise in (
        [jf.TraceNoise(file=str(daemon), part="each", shared=2)],
        [jf.TraceNoise(starts=[0.1], durations=[2e-3], length=10)],
    ):
        assert any("record longer" in line for line in answers(noise))


def test_it_changes_no_time_and_no_record(daemon):
    given = {"file": str(daemon), "part": 0}
    one, other = jf.TraceNoise(**given), jf.TraceNoise(**given, made_up=True)
    assert one.identity() == other.identity()
    case = jf.Case(8, network="L=1us,o=200ns", compute_time="1ms", noise=[other])
    assert jf.Case(8, network="L=1us,o=200ns", compute_time="1ms",
                   noise=f"{daemon},part=0,made_up=true").noise == case.noise  # fmt: skip
    with pytest.raises(ValueError, match="made_up must be False with resample"):
        jf.TraceNoise(**given, made_up=True, resample=1)
    with pytest.raises(ValueError, match="resamples must be 0 without a recording"):
        jf.slowdown(other, 8, resamples=20)
