"""Forecast of a study's cost (`--dry-run`): time, memory, files."""

import re
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from support import sweep_cases
from support.scale import full_scale
from support.small_store import STUDY

from jitterfly import cli
from jitterfly.sweep import Shard, run
from jitterfly.sweep import forecast as sweep_forecast
from jitterfly.sweep.forecast import _Trial, forecast

PLAIN = STUDY.replace("min = 50, max = 200", "max = 200")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(PLAIN, encoding="utf-8")
    return path


def dry(capsys, *words):
    assert cli.main(["run", *map(str, words), "--dry-run"]) == 0
    return capsys.readouterr().out


def test_nothing_is_written(file, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "elsewhere"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "elsewhere").mkdir()
    told = dry(capsys, file, "--out", tmp_path / "out")
    assert "small: 4 cells\n" in told
    assert re.search(r"^realizations  800$", told, re.M)
    assert re.search(r"^work +\S+ rank-rounds \(messages\)$", told, re.M)
    assert re.search(r"^time +(about|under) .* in one process", told, re.M)
    assert re.search(r"^disk +about .* in at most 8 files$", told, re.M)
    assert re.search(r"^memory +about .* [MG]iB$", told, re.M)
    assert told.endswith("nothing was written\n")
    assert "first look" not in told
    left = sorted(path.name for path in tmp_path.rglob("*"))
    assert left == ["elsewhere", "small.toml"]


def test_targets_give_a_range(file, capsys):
    target = "mean of completion +- 1 %"
    told = dry(capsys, file, "--realizations", "5000", "--target", target)
    assert "realizations  400 to 20,000" in told
    assert "the budget is spent" in told
    assert re.search(r"^disk +about .* to .*,", told, re.M)


def test_variants_of_a_cell_share_its_realizations():
    study = sweep_cases.study()
    assert len(study.variants) == 2
    assert forecast(study).realizations.high == sum(cell.limit for cell in study.cells())


def test_of_a_shard(file, capsys):
    assert "small, shard 1/3: 2 cells\n" in dry(capsys, file, "--shard", "1/3")


def test_an_error_of_a_run_is_one_of_a_dry_run(file, capsys):
    words = ["run", str(file), "--dry-run", "--target", "mean of nothing +- 1 %"]
    assert cli.main(words) == 2
    assert "nothing" in capsys.readouterr().err


def test_work_and_files_are_those_of_the_run(tmp_path):
    study = sweep_cases.study(sweep_cases.PLAIN)
    found = forecast(study)
    store = run(study, tmp_path / "out")
    assert found.cells == len(store.cells)
    assert found.realizations.low == found.realizations.high
    assert found.realizations.high == sum(store.available(cell) for cell in store.cells)
    assert found.work.high == sum(cell.work * cell.limit for cell in store.cells)
    files = list((tmp_path / "out" / "records").iterdir())
    assert len(files) <= found.files
    size = sum(path.stat().st_size for path in files)
    assert size / 3 < found.disk.high < 10 * size + 100_000
    shard = Shard(1, 2).of(study.cells())
    assert forecast(study, shard).cells == len(shard)


def test_the_disk_is_that_of_the_run_however_slow_the_second_try_is(monkeypatch):
    """It stores fewer realizations of a cell than there are of the first one."""
    study = sweep_cases.study(sweep_cases.PLAIN)
    expected = forecast(study).disk.high
    seconds = iter([0.001] * 2 + [100.0] * 100)
    run_seconds = sweep_forecast._run_seconds

    def slower(*args):
        run_seconds(*args)
        return next(seconds), 0.0

    monkeypatch.setattr(sweep_forecast, "_run_seconds", slower)
    assert forecast(study).disk.high < 2 * expected


def test_threads_share_several_realizations_and_not_one(monkeypatch):
    """Two take as long as one here: many take half as long each."""
    run_seconds = sweep_forecast._run_seconds

    def by_two_threads(store, cell, first, count, make):
        run_seconds(store, cell, first, count, make)
        return float(-(-count // 2)), 0.0

    monkeypatch.setattr(sweep_forecast, "_run_seconds", by_two_threads)
    study = sweep_cases.study(sweep_cases.PLAIN)
    found = forecast(study)
    count = sum(cell.limit for cell in study.cells())
    assert found.seconds.high == pytest.approx(count / 2, rel=0.01)


def test_samples_that_are_not_kept_are_summed_up(monkeypatch):
    text = sweep_cases.PLAIN.replace("max = 3000", "max = 3000, raw_bytes = 8192")
    study = sweep_cases.study(text)
    kept = sum(min(cell.raw_limit, cell.limit) for cell in study.cells())
    count = sum(cell.limit for cell in study.cells())
    assert 0 < kept < count
    for cost, expected in (("host", kept), ("summary", count - kept)):
        monkeypatch.setattr(
            sweep_forecast,
            "_run_trial",
            lambda _, cell, *__, cost=cost: replace(
                _Trial(float(cell.work), 0.0, 0.0, 0.0, 0.0, 8.0), engine=1e-9, **{cost: 1.0}
            ),
        )
        assert forecast(study).seconds.high == pytest.approx(expected)


def test_a_study_of_cells_too_large_to_be_tried(monkeypatch):
    monkeypatch.setattr("jitterfly.sweep.forecast._MAX_WORK", 1)
    monkeypatch.setattr("jitterfly.sweep.forecast._MAX_SMALLEST_WORK", 1)
    found = forecast(sweep_cases.study(sweep_cases.PLAIN))
    assert found.seconds is None
    assert found.tried == 0
    assert found.work.high > 0


def test_the_smallest_of_large_cells_is_tried_with_one_realization(monkeypatch):
    """It takes 3 s, and the others as many times longer as they have more work."""
    monkeypatch.setattr(sweep_forecast, "_MAX_WORK", 1)
    run_seconds, tried = sweep_forecast._run_seconds, []

    def slowly(store, cell, first, count, make):
        tried.append((cell.work, count))
        run_seconds(store, cell, first, count, make)
        return 3.0, 0.0

    monkeypatch.setattr(sweep_forecast, "_run_seconds", slowly)
    study = sweep_cases.study(sweep_cases.PLAIN)
    found = forecast(study)
    least = min(cell.work for cell in study.cells())
    assert tried == [(least, 1)]
    expected = 3 * sum(cell.limit * cell.work for cell in study.cells()) / least
    assert found.seconds.high == pytest.approx(expected, rel=0.01)
    assert found.tried == 1


def test_a_shard_without_cells(file, capsys):
    told = dry(capsys, file, "--shard", "9/9")
    assert told == "small, shard 9/9: no cells, there is nothing to run\nnothing was written\n"
    for how in ({}, {"backend": "cuda", "device_model": "h200"}):
        found = forecast(sweep_cases.study(sweep_cases.PLAIN), [], **how)
        assert (found.seconds.high, found.rate, found.disk.high) == (0, 0, 0)


def test_the_largest_cell_is_tried_however_slow_the_first_is(monkeypatch):
    monkeypatch.setattr("jitterfly.sweep.forecast._SECONDS", 0.0)
    study = sweep_cases.study(sweep_cases.PLAIN)
    tried = []
    monkeypatch.setattr("jitterfly.sweep.forecast._run_trial", lambda _, cell, *__: (
        tried.append(cell.work), _Trial(float(cell.work), 0.0, 1.0, 0.0, 0.0, 8.0))[1])  # fmt: skip
    found = forecast(study)
    work = [cell.work for cell in study.cells()]
    assert tried[1:] == [min(work), max(work)]
    assert (found.tried, found.rate) == (2, max(work))


STUDY_OF_MEMORY = """
name = "memory"
realizations = {{ max = {most} }}

[case]
network = {{ kind = "loggops", L = "1us", o = "200ns" }}
noise = [{{ kind = "periodic", period = "100us", duration = "5us" }}]
cycles = {cycles}
compute_time = "10us"

[axes.ranks]
values = {ranks}

[observables.x]
kind = "completion"
"""
PEAK = """
import sys
from pathlib import Path
from jitterfly.cli.run import run_study
from jitterfly.resources import peak_memory
from jitterfly.studies import load_study
from jitterfly.sweep.forecast import forecast
study = load_study(sys.argv[1])
if sys.argv[2] == "forecast":
    print(forecast(study).memory)
else:
    run_study(study, Path("out"))
    print(peak_memory())
"""


@pytest.mark.parametrize(
    ("cycles", "ranks", "most"),
    [
        (100, "[2, 3, 4, 5]", 80_000),  # 64 MB of samples in each cell
        full_scale(20, "[2, 3, 4, 5]", 400_000),
        full_scale(1, "[2]", 4_000_000),
        (1, "[4]", 1000),
    ],
)
def test_the_memory_is_that_of_the_run(tmp_path, cycles, ranks, most):
    """Within a quarter, of processes of their own."""
    text = STUDY_OF_MEMORY.format(cycles=cycles, ranks=ranks, most=most)
    (tmp_path / "memory.toml").write_text(text, encoding="utf-8")

    def peak(what):
        command = [sys.executable, "-c", PEAK, "memory.toml", what]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        return float(done.stdout.split()[-1])

    assert peak("forecast") == pytest.approx(peak("run"), rel=0.25)


@pytest.mark.timing
def test_the_time_is_near(tmp_path):
    """Within a factor of four, of a run that takes seconds."""
    text = sweep_cases.PLAIN.replace("max = 3000", "max = 300000")
    study = sweep_cases.study(text.replace("[2, 8, 32, 64]", "[512, 1024]"))
    expected = forecast(study).seconds.high
    started = time.monotonic()
    run(study, tmp_path / "out")
    took = time.monotonic() - started
    assert expected / 4 < took < 4 * expected
