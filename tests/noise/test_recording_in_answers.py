"""What few detours of a recording leave open is part of the interval, in every answer.

Three long detours decide in 20 s: a mean delay is uncertain by more than half of it, however many
realizations there are. Each answer is asked twice, with the recording and with the same noise said
to be made up, whose interval is that of the realizations alone.
"""

import csv
import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest

import jitterfly as jf
from jitterfly.cli import main
from jitterfly.measured import Detours, Measured, noisefile
from jitterfly.noise_limit import noise_limit
from jitterfly.unseen_noise import RecordedNoise
from jitterfly_papers.inference.budget_of_recording import budget_of_recording

NETWORK = "L=1us,o=200ns"
CASE = {"network": NETWORK, "compute_time": "1ms"}


@pytest.fixture(autouse=True)
def file(tmp_path, monkeypatch):
    durations = np.full(1000, 10**7)
    durations[[100, 400, 900]] = 10**10
    part = Detours(np.arange(1000) * 2 * 10**10, durations, 20 * 10**12)
    noisefile.write(Measured((part,), "test"), tmp_path / "few.noise")
    monkeypatch.chdir(tmp_path)
    return "few.noise"


@pytest.fixture
def both(file):
    return [jf.TraceNoise(file=file, made_up=made_up) for made_up in (False, True)]


def is_wider(recorded, made_up, noise_free):
    """Both have the value; the recorded one has room for half of the delay on either side."""
    delay = recorded.value - noise_free
    assert recorded.value == made_up.value
    assert recorded.low <= made_up.low
    assert recorded.high - made_up.high > 0.5 * delay or math.isinf(recorded.high)
    return True


def test_a_median_without_an_upper_end_is_named():
    """Seven detours of a recording do not say that most collectives meet none of its kind."""
    starts = [0.3, 0.9, 1.7, 2.2, 3.1, 3.9, 4.6]
    recorded = jf.TraceNoise(starts=starts, durations=[2e-3] * 7, length=5.0)
    table = jf.slowdown(recorded, "64", realizations=500, **CASE)
    assert table.rows[0].p50.high == math.inf
    assert any("on 64 ranks p50 has no upper end" in note for note in table.notes())


def test_slowdown_in_table_csv_json_and_picture(both, capsys):
    one, other = (jf.slowdown(noise, "16,64", realizations=3000, **CASE) for noise in both)
    for mine, alone in zip(one.rows, other.rows, strict=True):
        assert is_wider(mine.mean, alone.mean, mine.noise_free)
        assert is_wider(mine.slowdown, alone.slowdown, 1.0)
        assert mine.p99.high == math.inf > alone.p99.high
    assert any("16, 64 ranks p99 has no upper end" in note for note in one.notes())
    assert not any("too few realizations" in note for note in one.notes())
    assert f"[{one.rows[1].slowdown.low:.3g}, {one.rows[1].slowdown.high:.3g}]" in one.lines()[2]
    rows = list(csv.DictReader(one.to_csv().splitlines()))
    assert float(rows[1]["slowdown_high"]) == one.rows[1].slowdown.high
    asked = ["--noise", "few.noise", "--ranks", "16,64", "--realizations", "3000"]
    assert main(["slowdown", *asked, "--network", NETWORK, "--compute-time", "1ms", "--json"]) == 0
    out = capsys.readouterr().out
    assert json.loads(out)["rows"][1]["slowdown"]["high"] == one.rows[1].slowdown.high
    pytest.importorskip("matplotlib")
    bars = [segment for line in one.plot().axes[1].collections for segment in line.get_segments()]
    tops = {float(segment[:, 1].max()) for segment in bars}
    assert any(math.isclose(top, one.rows[1].slowdown.high) for top in tops)


def test_an_open_end_is_a_question_mark():
    from jitterfly.answer import show

    assert show(jf.stats.Estimate(1.5, 1.25, math.inf, 0.95, 9)) == "1.5 [1.25, ?]"


def test_schedule(both):
    app = jf.ScheduleBuilder(16)
    app.calc("1ms")
    one, other = (jf.simulate_schedule(app.build(), NETWORK, noise, 3000) for noise in both)
    assert is_wider(one.mean(), other.mean(), one.noise_free)
    assert is_wider(one.slowdown(), other.slowdown(), 1.0)
    mine, others = (found.facts() for found in (one, other))
    for name in ("p50", "p99"):
        assert mine[name].low <= others[name].low
        assert mine[name].high > others[name].high
        assert [caveat.code for caveat in mine[name].caveats] == ["recording"]
    assert any("may be missing from it" in note for note in one.notes())
    assert not any("may be missing from it" in note for note in other.notes())


def test_study_in_numbers_and_summary(both, tmp_path):
    stores = []
    for noise in both:
        study = jf.Study(
            "x", case=jf.Case(64, noise=[noise], **CASE),
            observables={"completion": jf.Completion(), "slowdown": jf.Slowdown(),
                         "overhead": jf.Overhead()},
            budget=jf.RealizationBudget(max=3000),
        )  # fmt: skip
        stores.append(study.run(tmp_path / str(noise.made_up)))
    asked = (stores[0].cells[0], "completion", "mean"), (stores[0].cells[0], "overhead", "mean")
    quiet = float(np.subtract(*(stores[0].estimate(*one).value for one in asked)))
    for name, noise_free in (("completion", quiet), ("slowdown", 1.0), ("overhead", 0.0)):
        one, other = (store.estimate(store.cells[0], name, "mean") for store in stores)
        assert is_wider(one, other, noise_free)
        rows = [row for row in csv.DictReader(stores[0].to_csv().splitlines())
                if (row["observable"], row["statistic"]) == (name, "mean")]  # fmt: skip
        assert float(rows[0]["high"]) == pytest.approx(one.high, rel=1e-12)
        assert [caveat.code for caveat in one.caveats] == ["recording"]
        assert not other.caveats
    (row,) = jf.compare(stores[0], stores[0], "completion").rows
    shown = stores[0].estimate(stores[0].cells[0], "completion", "mean")
    assert (row.mean_a.low, row.mean_a.high) == pytest.approx((shown.low, shown.high))
    assert "may be missing from it" in "\n".join(stores[0].summary().splitlines())


def test_a_target_of_another_confidence_has_an_interval_that_allows_for_it_too(file, tmp_path):
    """A row of its own in CSV and pandas, with what the table shows."""
    study = jf.Study(
        "x",
        case=jf.Case(64, noise=[jf.TraceNoise(file=file)], **CASE),
        observables={"completion": jf.Completion()},
        targets=["mean of completion ± 90 % at 99 %"],
        budget=jf.RealizationBudget(max=2000),
    )
    store = study.run(tmp_path / "run")
    cell = store.cells[0]
    rows = [
        row for row in csv.DictReader(store.to_csv().splitlines()) if row["statistic"] == "mean"
    ]
    assert [row["confidence"] for row in rows] == ["0.95", "0.99"]
    for row in rows:
        shown = store.estimate(cell, "completion", "mean", float(row["confidence"]))
        assert [caveat.code for caveat in shown.caveats] == ["recording"]
        ends = float(row["low"]), float(row["high"])
        assert ends == pytest.approx((shown.low, shown.high), rel=1e-12)


def test_a_target_does_not_wait_for_a_longer_recording(both, tmp_path):
    study = jf.Study(
        "x", case=jf.Case(64, noise=[both[0]], **CASE), observables={"slowdown": jf.Slowdown()},
        targets=["mean of slowdown ± 20 % at 95 %"], budget=jf.RealizationBudget(max=20_000),
    )  # fmt: skip
    store = study.run(tmp_path / "out")
    assert store.decision(store.cells[0]).realizations < 20_000


def test_advise_and_explain(both):
    options = {"network": jf.LogGOPS(L="1us", o="200ns"), "compute_time": "1ms",
               "candidates": ["ring"], "realizations": 2000}  # fmt: skip
    one, other = (jf.advise(64, noise=noise, **options) for noise in both)
    mine, alone = (answer.cells[0].ranking[0] for answer in (one, other))
    assert is_wider(mine.value, alone.value, mine.noise_free)
    assert is_wider(mine.slowdown, alone.slowdown, 1.0)
    assert any("record longer" in note for note in one.notes())
    mine, alone = (jf.explain(jf.Case(64, noise=[noise], **CASE), 300).rows()[0] for noise in both)
    assert is_wider(mine.mean, alone.mean, 0.0)


def test_a_cause_is_uncertain_by_its_own_recording(both):
    """Beside one of few long detours, another one of thousands is as well known as without it."""
    rng = np.random.default_rng(1)
    starts = np.arange(5000) * 1e-3 + rng.uniform(0, 5e-4, 5000)
    ample = jf.TraceNoise(starts=starts, durations=np.full(5000, 1e-5), length=5)
    app = jf.ScheduleBuilder(16)
    app.calc("1ms")

    def means_of(few):
        schedule = jf.explain_schedule(app.build(), NETWORK, [ample, few], 300)
        collective = jf.explain(jf.Case(16, noise=[ample, few], **CASE), 300)
        for found in (schedule, collective):
            rows = {row.cause.partition(" ")[0]: row.mean for row in found.rows()}
            yield rows["noise.0"], rows["noise.1"]

    for (ours, mine), (its, alone) in zip(*map(means_of, both), strict=True):
        assert is_wider(mine, alone, 0.0)
        assert (ours.low, ours.value, ours.high) == (its.low, its.value, its.high)


def test_compare_measured(both):
    measured = np.random.default_rng(1).normal(1e-3, 1e-6, 200)
    one, other = (jf.compare_measured(measured, jf.Case(64, noise=[noise], **CASE),
                                      realizations=1000) for noise in both)  # fmt: skip
    assert is_wider(one.rows[0].simulated, other.rows[0].simulated, noise_free=1.0084e-3)


def test_limit_and_budget(both, file):
    asked = "period=10ms,duration=max,start=stationary"
    one, other = (noise_limit([asked, noise], 16, at_most=1.5, realizations=300, **CASE).rows[0]
                  for noise in both)  # fmt: skip
    assert one.value.low < 0.9 * other.value.low or math.isnan(one.value.low)
    found = budget_of_recording(Path(file), 64, "12us", "1us")
    assert found.probability.high / found.probability.low > 3


def test_other_noise_is_no_part_of_it(both):
    """A recording of hardly any noise beside a model of much: the interval stays that of both."""
    model = jf.PeriodicNoise("1ms", "100us", start="stationary")
    light = jf.TraceNoise(starts=[0.1, 5.0], durations=[1e-6, 1e-6], length=10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = jf.slowdown([model, light], 64, realizations=1000, **CASE).rows[0].slowdown
        other = jf.slowdown(model, 64, realizations=1000, **CASE).rows[0].slowdown
    assert one.high - one.low < 1.1 * (other.high - other.low) + 1e-3


def test_parts_shared_offsets_and_phases():
    """Of ranks that share a place, one counts; noise of another phase than the work is none."""
    part = {"starts": np.arange(100) * 0.1, "durations": np.full(100, 1e-5), "length": 10}
    case = jf.Case(64, noise=[jf.TraceNoise(**part, shared=8)], **CASE)
    (source,) = RecordedNoise.of_case(case).sources
    assert source.independent_ranks(64) == 8
    idle = jf.Case(64, network=NETWORK, compute_time=0,
                   noise=[jf.TraceNoise(**part, during="compute")])  # fmt: skip
    assert RecordedNoise.of_case(idle).error(0.95) is None


def test_a_mean_that_rests_on_few_detours_does_not_end_at_the_longest():
    """Where all realizations meet the longest one, its rate tells nothing, and its length little.

    On 65,536 ranks of Pareto noise the intervals of recordings of 5 s were ± 2 %, and missed.
    """
    rng = np.random.default_rng(1)
    starts = np.cumsum(rng.exponential(1e-3, 3000))
    durations = 5e-6 * rng.random(3000) ** (-1 / 2.2)
    noise = jf.TraceNoise(starts=starts + np.arange(3000) * 1e-3, durations=durations, length=8.0)
    reaches = []
    for ranks in (256, 4096, 65536):
        case = jf.Case(ranks, network=NETWORK, noise=[noise])
        error = RecordedNoise.of_case(case).error(0.95)
        reaches.append(error.above / error.delay)
        assert error.events >= 30 or reaches[-1] >= 1.96 / math.sqrt(error.events)
    assert reaches == sorted(reaches)
    assert reaches[-1] > 10
    row = jf.slowdown([noise], "64,65536", network=NETWORK, realizations=64).rows
    assert [math.isinf(float(one.mean.high)) for one in row] == [False, True]


@pytest.mark.parametrize(
    ("ranks", "other"),
    [
        (64, jf.PeriodicNoise("1s", "1ns", start="stationary")),
        (4096, jf.PeriodicNoise("1s", "1ns", start="stationary")),
        (4096, jf.StepNoise(delay="1ps", probability=1.0)),
    ],
)
def test_hardly_any_other_noise_makes_no_recording_better_known(ranks, other):
    """Beside a tick of 1 ns an interval was half as wide as without it."""
    random = np.random.default_rng(1)
    starts = np.sort(random.uniform(0, 9.9, 60))
    durations = np.minimum(random.exponential(1e-4, 60), np.diff(starts, append=9.95) - 1e-6)
    noise = jf.TraceNoise(starts=starts, durations=durations, length=10)
    alone, beside = (
        jf.slowdown(sources, ranks, realizations=500).rows[0].mean
        for sources in ([noise], [noise, other])
    )
    assert (beside.low, beside.high) == pytest.approx((alone.low, alone.high), rel=1e-3)


def test_other_noise_makes_no_upper_end_smaller():
    """A daemon had the mean at most as high as without it: noise only adds."""
    random = np.random.default_rng(1)
    starts = np.sort(random.uniform(0, 9.9, 60))
    durations = np.minimum(random.exponential(1e-4, 60), np.diff(starts, append=9.95) - 1e-6)
    noise = jf.TraceNoise(starts=starts, durations=durations, length=10)
    daemons = [
        jf.PeriodicNoise(period, duration, start="stationary")
        for period, duration in (("1s", "300us"), ("100ms", "300us"), ("10ms", "1ms"))
    ]
    for ranks in (64, 4096):
        means = [
            jf.slowdown([noise, *more], ranks, realizations=300).rows[0].mean
            for more in ([], *([one] for one in daemons))
        ]
        upper = [float(one.high) for one in means]
        assert upper == sorted(upper)
        # Where the other noise is most of it, what the recording does not tell is little.
        assert upper[-1] < 1.3 * float(means[-1].value)
