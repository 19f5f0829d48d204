"""`compare_measured`: simulated against measured distribution (KS distance)."""

import json
from dataclasses import replace

import numpy as np
import pytest
from support.paths import NOISE_SAMPLES

import jitterfly as jf
from jitterfly.cli import main

NETWORK = jf.LogGOPS(L="1us", o="200ns", G="0.1ns")
CASE = jf.Case(64, network=NETWORK, noise=[jf.StepNoise(jf.Exponential("1us"))])
OSU = NOISE_SAMPLES / "osu_allreduce.txt"
PINGPONG = "# OSU MPI Latency Test v5.6.2\n# Size          Latency (us)\n1 1.4\n2 1.5\n"


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


def test_rows_of_a_table_are_chosen():
    two = NOISE_SAMPLES / "osu_barrier.txt"  # 256 and 512 ranks
    rows = jf.compare_measured(two, CASE, ranks=512, realizations=20).rows
    assert [row.ranks for row in rows] == [512]
    with pytest.raises(ValueError, match="nothing of 64 ranks, but of 256 ranks 0 bytes, 512"):
        jf.compare_measured(two, CASE, ranks=64)
    rows = jf.compare_measured(OSU, CASE, message_bytes=8, ranks=32, realizations=20).rows
    assert {(row.ranks, row.bytes) for row in rows} == {(32, 8)}
    with pytest.raises(ValueError, match="nothing of 16 bytes, but of 4 bytes, 8 bytes"):
        jf.compare_measured(OSU, CASE, message_bytes=16)


def test_one_of_several_collectives():
    """That of the case, or as chosen."""
    both = NOISE_SAMPLES / "imb.txt"
    barrier = replace(CASE, algorithm=jf.DisseminationBarrier())
    few = {"realizations": 20}
    assert len(jf.compare_measured(both, CASE, **few).rows) == 4
    assert len(jf.compare_measured(both, CASE, message_bytes=8, **few).rows) == 2
    for case, chosen in ((barrier, None), (CASE, "barrier")):
        (row,) = jf.compare_measured(both, case, collective=chosen, **few).rows
        assert row.measured.value == pytest.approx(3.5e-6)
    ring = replace(CASE, algorithm=jf.RingAllgather())
    with pytest.raises(ValueError, match="allreduce, barrier; choose one with `collective`"):
        jf.compare_measured(both, ring)
    with pytest.raises(ValueError, match="has the collectives allreduce, barrier; got"):
        jf.compare_measured(both, ring, collective="bcast")


def test_the_command_chooses_rows(tmp_path, capsys):
    two, both = NOISE_SAMPLES / "osu_barrier.txt", NOISE_SAMPLES / "imb.txt"
    usual = ["--noise=period=1ms,duration=25us", "--realizations=20", "--json"]
    study = tmp_path / "case.toml"
    study.write_text('ranks = 8\nnoise = [{kind = "periodic", period = "1ms", duration = "9us"}]\n'
                     'network = {kind = "loggops", L = "1us", o = "1us"}\n')  # fmt: skip
    for words, points in (
        ([two, *usual], [(256, 1), (512, 1)]),
        ([two, "--ranks=512", *usual], [(512, 1)]),
        ([both, "--bytes=8", *usual], [(2, 8), (4, 8)]),
        ([both, "--collective=allreduce", "--ranks=4", "--bytes=8", *usual], [(4, 8)]),
        ([both, study, "--collective=barrier", *usual[1:]], [(4, 1)]),
        ([both, study, "--bytes=8", "--ranks=2", *usual[1:]], [(2, 8)]),
    ):
        assert main(["compare-measured", *map(str, words)]) == 0
        rows = json.loads(capsys.readouterr().out)["rows"]
        assert [(row["ranks"], row["bytes"]) for row in rows] == points
    times = tmp_path / "times.txt"
    times.write_text("1e-5\n2e-5\n")
    assert main(["compare-measured", str(times), str(study), "--bytes=16"]) == 2
    assert "--bytes must be the case's 8 for plain times" in capsys.readouterr().err


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
        ("one two\n", {}, "must hold numbers, or what a benchmark"),
        ("1 35.1\n2 36.2\n", {}, "2 columns of numbers.* one time in each line"),
        ("1\t35.1\n2\t36.2\n", {}, "2 columns of numbers"),
        (PINGPONG, {}, "of single messages by their size.*`jitterfly network parameters"),
        (OSU.read_text() + "8 x 1 1 1 1 1 1\n", {}, "line 8"),
        ([1.0, 2.0], {"ranks": 8}, "ranks must be the case's 64"),
        ([1.0, 2.0], {"message_bytes": 16}, "message_bytes must be the case's 8"),
        ([1.0, 2.0], {"collective": "barrier"}, "collective must be that of butterfly"),
        ([1.0, 2.0], {"unit": "min"}, "unit"),
        ([1.0, 2.0], {"realizations": 1}, "realizations"),
        ([1.0, 2.0], {"confidence": 1}, "confidence"),
    ],
)
def test_what_is_refused(measured, options, words, tmp_path):
    if isinstance(measured, str):
        text, measured = measured, tmp_path / "x.txt"
        measured.write_text(text)
    with pytest.raises(ValueError, match=words):
        jf.compare_measured(measured, CASE, **options)
