"""Recordings made of stretches of one: `TraceNoise(resample=)`, and intervals that rest on it."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import stats
from support.scale import scaled

import jitterfly as jf
from jitterfly.measured import Detours, Measured, noisefile
from jitterfly.noise.trace import Recording

SECOND = 10**12
STRETCHES = 30


def detours(count, seed=0, length=SECOND):
    """Detours at random, with time between them."""
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.choice(length // 1000, 2 * count, replace=False)) * 1000
    return Detours(ends[::2], ends[1::2] - ends[::2], length)


def pairs(recording):
    """The idle time before each detour of a circle, and its duration."""
    idle = recording.starts - np.concatenate(
        [recording.ends[-1:] - recording.length, recording.ends[:-1]]
    )
    return np.stack([idle, recording.ends - recording.starts], axis=1)


@pytest.mark.parametrize("count", [1, 2, 29, 45, 100, 1000])
@pytest.mark.parametrize("number", [0, 1, 2**32 - 1])
def test_it_is_made_of_stretches_of_the_recording(count, number):
    """Detours with the idle time before them, at least count / 30 in a row, around the end."""
    whole = detours(count)
    (before,) = jf.TraceNoise(trace=whole).replayed()
    (found,) = jf.TraceNoise(trace=whole, resample=number).replayed()
    assert isinstance(found, Recording)
    assert len(found.starts) == count
    place = {tuple(pair): i for i, pair in enumerate(pairs(before).tolist())}
    at = np.array([place[tuple(pair)] for pair in pairs(found).tolist()])
    # The first idle time may be what is left of a circle: the rest is as it was drawn.
    breaks = np.flatnonzero((np.diff(at) - 1) % count) + 1
    in_a_row = max(1, round(count / STRETCHES))
    assert not (breaks % in_a_row).any()
    assert found.busy == (found.ends - found.starts).sum() < found.length
    assert found.length == pairs(found).sum()
    (again,) = jf.TraceNoise(trace=whole, resample=number).replayed()
    np.testing.assert_array_equal(again.starts, found.starts)


def test_numbers_draw_differently_and_on_average_as_the_recording():
    whole = detours(300)
    shares = [jf.TraceNoise(trace=whole, resample=i).share() for i in range(400)]
    assert len(set(shares)) == 400
    expected = jf.TraceNoise(trace=whole).share()
    error = np.std(shares) / 20
    assert abs(np.mean(shares) - expected) < 5 * error
    assert error < 0.01 * expected


def test_ticks_keep_their_period():
    """Of noise that comes every 4 ms nothing differs, wherever a stretch begins."""
    starts = np.arange(250) * 4 * 10**9 + 10**9
    ticks = Detours(starts, np.full(250, 10**7), SECOND)
    for number in range(20):
        (found,) = jf.TraceNoise(trace=ticks, resample=number).replayed()
        np.testing.assert_array_equal(np.diff(found.starts), 4 * 10**9)
        assert found.length == SECOND


@pytest.fixture
def node(tmp_path, monkeypatch):
    """A file of three CPUs, of which one was never interrupted."""
    monkeypatch.chdir(tmp_path)
    none = np.zeros(0, np.int64)
    parts = (detours(60, 1), Detours(none, none, SECOND), detours(90, 2))
    noisefile.write(Measured(parts, "node", {}), tmp_path / "node.noise")
    return "node.noise"


def test_each_part_of_a_file_is_drawn_by_itself(node):
    noise = jf.TraceNoise(node, part="each", resample=4)
    before, found = jf.TraceNoise(node, part="each").replayed(), noise.replayed()
    assert [len(one.starts) for one in found] == [60, 0, 90]
    assert found[1].length == before[1].length
    assert found[0].starts.tolist() != before[0].starts.tolist()
    assert jf.TraceNoise.from_dict(noise.to_dict()) == noise == pickle.loads(pickle.dumps(noise))
    assert noise != jf.TraceNoise(node, part="each", resample=5)
    assert "resample" not in jf.TraceNoise(node, part="each").identity()  # records are found
    case = jf.Case(6, network="L=1us,o=200ns", compute_time="1ms", noise=[noise])
    text = f"file={node},part=each,kind=trace,resample=4"
    assert jf.Case(6, network="L=1us,o=200ns", compute_time="1ms", noise=text).noise == case.noise
    assert jf.simulate(case, 5).ticks.tolist() == jf.simulate(case, 5).ticks.tolist()


def test_an_axis_of_a_study(node, tmp_path):
    study = jf.Study(
        "spread",
        case=jf.Case(8, network="L=1us,o=200ns", compute_time="1ms",
                     noise=[jf.TraceNoise(node, part=0)]),
        axes=[jf.Axis("recording", range(5), path="noise.0.resample")],
        budget=jf.RealizationBudget(max=50),
    )  # fmt: skip
    found = study.run(tmp_path / "out")
    values = [float(found.estimate(cell, "completion", "mean").value) for cell in found.cells]
    assert len(set(values)) == 5


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"resample": -1}, "resample must be an integer from 0 to 2^32 - 1, got -1"),
        ({"resample": 1.5}, "resample must be an integer"),
        ({"resample": True}, "resample must be an integer"),
        ({"resample": 1, "offset": 0.1}, "offset must be left out with resample"),
    ],
)
def test_refused(options, told):
    with pytest.raises(ValueError, match=r"(?s)resample") as caught:
        jf.TraceNoise(trace=detours(9), **options)
    assert told in str(caught.value)


def test_a_long_idle_time_is_not_drawn_until_it_is_too_long():
    """One that takes all of the longest recording there can be; and detours that do so."""
    starts = np.array([0, 10**6, 2**59])
    whole = Detours(starts, np.full(3, 10**5), 2**59 + 10**6)
    length = 2**60 - 10**6
    third = length // 3
    busy = Detours(np.array([0, length // 2, length - 10**6]), np.array([third, third, 10]), length)
    for number in range(50):
        for one in (whole, busy):
            (found,) = jf.TraceNoise(trace=one, resample=number).replayed()
            assert found.length < 2**60


# --- intervals of `slowdown`


def recorded(seed, seconds=10):
    """A recording of detours that come at random, 100 a second, lognormal around 5 us."""
    rng = np.random.default_rng(seed)
    count = int(130 * seconds) + 50
    durations = rng.lognormal(np.log(5e-6), 1.0, count)
    ends = np.cumsum(rng.exponential(0.01, count) + durations)
    there = ends < seconds
    return jf.TraceNoise(
        starts=(ends - durations)[there], durations=durations[there], length=seconds
    )


def found_of(noise, resamples=0, realizations=500, seed=1):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return jf.slowdown(noise, 64, compute_time="1ms", network="L=1us,o=200ns", seed=seed,
                           realizations=realizations, resamples=resamples, threads=1)  # fmt: skip


@pytest.mark.slow
def test_intervals_hold_what_the_machine_has_and_not_the_recording_alone():
    """Of 6 recordings (60 at full scale) of 10 s of one machine; its own value is that of 3000 s.

    Of a hundred, intervals of the realizations alone would hold it in 38; those that allow for few
    detours hold it in 93. A right program fails for one seed in a thousand.
    """
    truth = found_of(recorded(1000, 3000), realizations=20_000).rows[0]
    recordings = scaled(60)
    held = {0: 0, 20: 0}
    for seed in range(recordings):
        for resamples in held:
            row = found_of(recorded(seed), resamples, 2000).rows[0]
            held[resamples] += row.slowdown.low <= truth.slowdown.value <= row.slowdown.high
    assert min(held.values()) >= stats.binom.ppf(5e-4, recordings, 0.93)


def test_what_differs_between_recordings_is_what_widens():
    noise = recorded(4)
    (alone,), wide = found_of(noise).rows, found_of(noise, 30)
    (row,) = wide.rows
    assert wide.resampled.shape == (1, 30)
    for name in ("mean", "p50", "p99", "slowdown"):
        one, other = getattr(alone, name), getattr(row, name)
        assert other.value == one.value  # of the recording as it is
        assert other.low <= one.low < one.high <= other.high
    # Here they differ by more than the detours tell: the wider one counts.
    assert row.mean.low < alone.mean.low
    assert row.p50.low < alone.p50.low < alone.p50.high < row.p50.high
    again = found_of(noise, 30)
    assert again.resampled.tolist() == wide.resampled.tolist()
    # Each of them is what the source with that number gives.
    case = jf.Case(64, network="L=1us,o=200ns", compute_time="1ms", noise=[
        jf.TraceNoise(starts=noise.starts, durations=noise.durations, length=10, resample=7)
    ])  # fmt: skip
    times = jf.simulate(case, 100, seed=1, first_realization=500 + 7 * 100).samples[:, -1]
    assert wide.resampled[0, 7] == pytest.approx(times.mean(), rel=1e-15)
    # Ticks that come every 4 ms are the same in each.
    ticks = jf.TraceNoise(starts=np.arange(250) * 0.004, durations=np.full(250, 1e-5), length=1)
    rows = [found_of(ticks, resamples, 2000).rows[0].slowdown for resamples in (0, 20)]
    assert rows[1].high - rows[1].low < 2 * (rows[0].high - rows[0].low)


def test_notes_and_table():
    noise = recorded(3)
    told = "\n".join(found_of(noise).notes())
    assert "noise that comes less often than every 3.3 s may be missing from it" in told
    assert "`resamples` = 20 simulates others, made of its stretches" in told
    wide = found_of(noise, 5)
    assert "under 5 made of stretches of this one, the slowdown is 1.0" in "\n".join(wide.notes())
    assert not any("`resamples`" in note for note in wide.notes())
    head, row = wide.to_csv().splitlines()
    assert dict(zip(head.split(","), row.split(","), strict=False))["resamples"] == "5"
    fixed = jf.TraceNoise(starts=[0.1], durations=[1e-4], length=1, offset=0.099)
    assert not any("recording" in note for note in found_of(fixed).notes())


def test_beside_other_noise_and_other_places():
    """Other sources stay; a number of ranks after the other, with progress."""
    steps = []
    table = jf.slowdown(
        [recorded(1), jf.StepNoise("1us"), recorded(2)], [8, 4], compute_time="1ms",
        realizations=20, resamples=6, progress=lambda *now: steps.append(now),
    )  # fmt: skip
    assert table.resampled.shape == (2, 6)
    assert [one[1:] for one in (steps[0], steps[-1])] == [(2, 4), (2, 8)]
    done = [one[0] for one in steps]
    assert done == sorted(done)
    assert done[-1] == pytest.approx(2)


@pytest.mark.parametrize(
    ("noise", "resamples", "told"),
    [
        (None, 4, "resamples must be 0, or from 5 to 1000, got 4"),
        (None, -1, "resamples must be an integer from 0 to 1,?000"),
        (None, 1001, "resamples must be an integer from 0 to 1,?000"),
        (jf.PeriodicNoise("1ms", "1us"), 20, "resamples must be 0 without a recording"),
        (jf.TraceNoise(starts=[0.1], durations=[1e-4], length=1, offset=0), 20, "places that are"),
        (jf.TraceNoise(starts=[0.1], durations=[1e-4], length=1, resample=1), 20, "must be 0"),
    ],
)
def test_where_nothing_can_be_resampled(noise, resamples, told):
    with pytest.raises(ValueError, match=told):
        found_of(noise or recorded(0), resamples)
