"""`compare_measured`: simulated against measured distribution (KS distance)."""

from dataclasses import replace

import numpy as np
import pytest
from support.paths import NOISE_SAMPLES

import jitterfly as jf

NETWORK = jf.LogGOPS(L="1us", o="200ns", G="0.1ns")
CASE = jf.Case(64, network=NETWORK, noise=[jf.StepNoise(jf.Exponential("1us"))])
OSU = NOISE_SAMPLES / "osu_allreduce.txt"


def sampled(case=CASE, count=500, seed=9):
    return jf.simulate(case, count, seed=seed).samples[:, -1]


def test_the_same_distribution_is_not_told_apart():
    """In 95 % of the runs at least; of 60 more than 8 are told apart once in 10^3 then."""
    apart = 0
    for seed in range(60):
        measured = sampled(count=200, seed=1000 + seed)
        found = jf.compare_measured(measured, CASE, realizations=200, seed=seed)
        apart += any(row.verdict != "not told apart" for row in found.rows)
        assert found.distance.low <= found.distance.value <= found.distance.high
    assert apart <= 8


def test_what_is_off_is_named():
    """Twice the noise: the simulated times are too long; half of it: too short."""
    loud = replace(CASE, noise=[jf.StepNoise(jf.Exponential("2us"))])
    found = jf.compare_measured(sampled(), loud, realizations=500)
    by_name = {row.what: row for row in found.rows}
    known = [row for row in found.rows if np.isfinite(row.measured.high)]
    assert len(known) >= 6
    assert {row.verdict for row in known} == {"too long"}
    ratio = sampled(loud, seed=0).mean() / sampled().mean()
    assert by_name["mean"].ratio == pytest.approx(ratio)
    assert found.distance.low > 0.5
    assert found.distance.chance < 1e-10
    assert found.worst.ratio == max(row.ratio for row in known)
    quiet = replace(CASE, noise=[jf.StepNoise(jf.Exponential("0.5us"))])
    other = jf.compare_measured(sampled(), quiet, realizations=500)
    assert {row.verdict for row in other.rows} <= {"too short", "not told apart"}
    assert other.worst.verdict == "too short"


def test_distance_by_hand():
    """Half of what is measured is above all that is simulated."""
    free = replace(CASE, noise=[])
    time = jf.simulate(free, 1).samples[0, 0]
    measured = np.repeat([time, 2 * time], 500)
    found = jf.compare_measured(measured, free, realizations=1000)
    assert found.distance.value == pytest.approx(0.5)
    off = 2 * np.sqrt(np.log(4 / 0.05) / 2000)
    assert found.distance.low == pytest.approx(0.5 - off)


def test_a_file_of_times(tmp_path):
    file = tmp_path / "times.txt"
    samples = sampled(count=200)
    file.write_text("# us\n" + "\n".join(f"{t * 1e6!r}" for t in samples.tolist()))
    from_file = jf.compare_measured(file, CASE, unit="us", realizations=100)
    direct = jf.compare_measured(samples, CASE, realizations=100)
    assert [row.verdict for row in from_file.rows] == [row.verdict for row in direct.rows]
    np.testing.assert_allclose(from_file.measured, direct.measured, rtol=1e-12)


def test_a_table_of_a_benchmark():
    """Each row with its own ranks and bytes; only the simulated side has intervals."""
    (table,) = jf.measured.load(OSU).parts
    found = jf.compare_measured(OSU, CASE, realizations=50)
    columns = [name for name in ("mean", "p50", "p90", "p99") if getattr(table, name) is not None]
    assert len(found.rows) == len(columns) * len(table.mean)
    assert not table.ranks.any()  # which OSU does not print
    assert {row.ranks for row in found.rows} == {64}
    sizes = np.maximum(table.bytes, 1)  # a message of LogGOPS
    assert [row.bytes for row in found.rows[:: len(columns)]] == sizes.tolist()
    assert found.distance is None
    assert found.rows[0].measured.value == table.mean[0]


def test_tables_and_pictures(tmp_path):
    pytest.importorskip("matplotlib")
    for number, measured in enumerate((sampled(), OSU)):
        found = jf.compare_measured(measured, CASE, realizations=300)
        assert found.to_csv().count("\n") == 1 + len(found.rows)
        assert len(found.lines()) == 1 + len(found.rows)
        assert "<pre>" in found._repr_html_()
        picture = tmp_path / f"{number}.png"
        found.plot(picture)
        assert picture.stat().st_size > 10_000


@pytest.mark.parametrize(
    ("measured", "options", "words"),
    [
        ([1.0], {}, "must be 2 or more times"),
        ([1.0, -1.0], {}, "must be 2 or more times"),
        ([1.0, float("nan")], {}, "must be 2 or more times"),
        ([[1.0, 2.0]], {}, "must be 2 or more times"),
        ("text", {}, "must hold numbers, or what a benchmark"),
        ([1.0, 2.0], {"unit": "min"}, "unit"),
        ([1.0, 2.0], {"realizations": 1}, "realizations"),
        ([1.0, 2.0], {"confidence": 1}, "confidence"),
    ],
)
def test_what_is_refused(measured, options, words, tmp_path):
    if measured == "text":
        measured = tmp_path / "x.txt"
        measured.write_text("one two\n")
    with pytest.raises(ValueError, match=words):
        jf.compare_measured(measured, CASE, **options)
