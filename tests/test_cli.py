"""The command line: what it writes and prints, resuming, and one line for every error."""

import csv
import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from small_study import STUDY

import jitterfly as jf
from jitterfly.cli import main
from jitterfly.studies.progress import Progress, show_rate, show_time
from jitterfly.studies.store import Store


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(STUDY)
    return path


def run(*arguments):
    try:
        return main([str(argument) for argument in arguments])
    except SystemExit as stop:
        return stop.code


def check_error(capsys, *arguments):
    """The one line that an error must be."""
    assert run(*arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("jitterfly: error: ")
    assert printed.err.count("\n") == 1
    return printed.err


def test_run_writes_what_the_api_gives(study, tmp_path, capsys):
    out = tmp_path / "out"
    assert run("run", study, "--out", out) == 0
    printed = capsys.readouterr()
    assert "A small study" in printed.out
    assert "M4 (MS12 Fig. 12)" in printed.out
    assert f"written to {out}" in printed.out
    assert "3/3 cells" in printed.err
    store = Store.open(out)
    assert [record.cell.case.ranks for record in store.records] == [4, 8, 16]
    for record in store.records:
        result = jf.simulate(record.cell.case, realizations=40, seed=5)
        np.testing.assert_array_equal(record.samples, result.samples)
        assert record.observations == result.observations
        np.testing.assert_array_equal(record.noise_free, result.noise_free)
    meta = json.loads((out / "meta.json").read_text())
    assert meta["seed"] == 5
    assert meta["backend"] in ("cpu", "cuda")
    assert meta["finished"] is True
    assert meta["versions"]["jitterfly"] == jf.__version__
    assert (out / "study.toml").read_text() == STUDY
    assert (out / "small.png").read_bytes().startswith(b"\x89PNG")
    rows = list(csv.DictReader((out / "summary.csv").read_text().splitlines()))
    assert len(rows) == 3 + 4 + 5
    last = rows[-1]
    assert (last["ranks"], last["observation"], last["realizations"]) == ("16", "T=4", "40")
    assert float(last["mean_s"]) == pytest.approx(store.records[-1].samples[:, 4].mean())
    assert not list(out.rglob("*.tmp"))


def test_again_simulates_nothing(study, tmp_path, capsys, monkeypatch):
    out = tmp_path / "out"
    assert run("run", study, "--out", out) == 0
    first = capsys.readouterr().out
    monkeypatch.setattr("jitterfly.studies.run.simulate", None)
    assert run("run", study, "--out", out) == 0
    assert capsys.readouterr().out == first
    assert run("plot", out, "--out", tmp_path / "again.svg") == 0
    assert "<svg" in (tmp_path / "again.svg").read_text()


def test_another_run_is_refused_unless_forced(study, tmp_path, capsys):
    out = tmp_path / "out"
    assert run("run", study, "--out", out) == 0
    capsys.readouterr()
    assert "seed 5, not 6" in check_error(capsys, "run", study, "--out", out, "--seed", "6")
    error = check_error(capsys, "run", study, "--out", out, "--realizations", "3")
    assert "other numbers of realizations" in error
    assert Store.open(out).study.seed == 5
    assert run("run", study, "--out", out, "--seed", "6", "--force") == 0
    store = Store.open(out)
    assert store.study.seed == 6
    case = store.records[0].cell.case
    np.testing.assert_array_equal(
        store.records[0].samples, jf.simulate(case, realizations=40, seed=6).samples
    )


def test_damaged_record_is_made_again(study, tmp_path, capsys):
    out = tmp_path / "out"
    assert run("run", study, "--out", out) == 0
    record = Store.open(out).records[1]
    whole = record.samples
    record.path.write_bytes(record.path.read_bytes()[:100])
    capsys.readouterr()
    assert "damaged" in check_error(capsys, "plot", out)
    assert run("run", study, "--out", out) == 0
    np.testing.assert_array_equal(Store.open(out).records[1].samples, whole)


def test_foreign_directory_is_left_alone(study, tmp_path, capsys):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    assert "not empty" in check_error(capsys, "run", study, "--out", tmp_path / "mine")
    assert "is a file" in check_error(capsys, "run", study, "--out", study)
    assert sorted(p.name for p in (tmp_path / "mine").iterdir()) == ["notes.txt"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "missing.toml"], "missing.toml: No such file"),
        (["run", "STUDY", "--realizations", "0"], "--realizations must be an integer from 1"),
        (["run", "STUDY", "--realizations", "many"], "--realizations must be an integer from 1"),
        (["run", "STUDY", "--seed", "-1"], "seed"),
        (["run", "STUDY", "--threads", "0"], "--threads must be an integer from 1"),
        (["run", "STUDY", "--backend", "gpu"], "invalid choice: 'gpu'"),
        (["run", "STUDY", "--full"], "no [full] table"),
        (["run", "STUDY", "--ou", "x"], "unrecognized arguments: --ou"),
        (["run", "STUDY", "--out", "/proc/nowhere/x"], "/proc/nowhere"),
        (["run"], "required: STUDY.toml"),
        ([], "required: command"),
        (["plot", "nowhere"], "nowhere holds no run"),
        (["run", "STUDY", "--threads", "1025"], "--threads must be an integer from 1 to 1024"),
        (["run", "STUDY", "--threads", "2", "--backend", "cuda"], "--threads is for the CPU"),
        (["plot", ".", "--out", "x.docx"], "holds no run"),
        (["trace", "--ranks", "12"], "--ranks must be a power of two from 1 to 128, got 12"),
        (["trace", "--ranks", "1024"], "--ranks must be a power of two from 1 to 128, got 1024"),
        (["trace", "--ranks", ""], "--ranks must be a power of two"),
        (["trace", "--within", ""], "--within must be all, none, or levels"),
        (["trace", "--network", ""], "--network must look like key=value"),
        (["trace", "--noise", "period=1us,period=2us"], "has the key 'period' twice"),
        (["trace", "--noise", "period=2ps,duration=1ps"], "at most 20000 noise intervals"),
        (["trace", "--noise", "period=2ns,duration=1.999ns"], "at most 20000 noise intervals"),
        (["trace", "--cycles", "100000"], "at most 20000 messages"),
        (["trace", "STUDY", "--at", "ranks=4", "--at", "ranks=8"], "gives ranks twice"),
        (["trace", "--ranks", "4", "--within", "2"], "within levels must be from 1 to 1"),
        (["trace", "--noise", "period=1ms,len=1"], "unknown key 'len'"),
        (["trace", "--noise", "1ms"], "--noise must look like key=value"),
        (["trace", "--realization", "last"], "--realization must be an integer"),
        (["trace", "--out", "nowhere/x.png"], "directory nowhere does not exist"),
        (["trace", "--out", "x.docx"], "must end in one of"),
        (["trace", "--at", "ranks=4"], "give STUDY.toml"),
        (["trace", "STUDY", "--ranks", "4"], "--ranks and STUDY.toml both"),
        (["trace", "STUDY", "--at", "rank=4"], "AXIS one of ranks"),
        (["trace", "STUDY", "--at", "ranks=64"], "--at ranks must be one of 4, 8, 16"),
    ],
)
def test_errors_are_one_line(study, tmp_path, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    arguments = [study if argument == "STUDY" else argument for argument in arguments]
    assert message in check_error(capsys, *arguments)
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


@pytest.mark.skipif(not jf._core.cuda_status(), reason="there is a CUDA device")
def test_no_device_stops_before_anything_is_made(study, tmp_path, capsys):
    error = check_error(capsys, "run", study, "--backend", "cuda", "--out", tmp_path / "out")
    assert "backend 'cuda' can not be used here" in error
    assert not (tmp_path / "out").exists()


def test_bad_cell_stops_before_anything_runs(study, tmp_path, capsys, monkeypatch):
    study.write_text(STUDY.replace("log2 = [2, 4]", "values = [4, 12]"))
    error = check_error(capsys, "run", study, "--out", tmp_path / "out")
    assert f"{study}: ranks must be a power of two from 1 to 2^30, got 12 [at ranks=12]" in error
    assert not (tmp_path / "out").exists()


def test_full_disk(study, tmp_path, capsys, monkeypatch):
    def no_space(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numpy.savez_compressed", no_space)
    assert run("run", study, "--out", tmp_path / "out") == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert "No space left on device" in last
    assert f"{tmp_path / 'out' / 'samples'}/ranks=4_" in last
    assert not list((tmp_path / "out" / "samples").iterdir())


def test_info_and_version(capsys):
    assert run("info") == 0
    printed = capsys.readouterr().out
    assert f"jitterfly: {jf.__version__}" in printed
    assert "cuda: " in printed
    assert run("--version") == 0
    assert capsys.readouterr().out == f"jitterfly {jf.__version__}\n"


@pytest.mark.parametrize("module", ["parser", "study", "terminal"])
def test_interrupted_while_loading(monkeypatch, capsys, module):
    class Interrupt:
        def find_spec(self, name, *_):
            if name == f"jitterfly.cli.{module}":
                raise KeyboardInterrupt

    for name in ("parser", "study", "terminal"):
        monkeypatch.delitem(sys.modules, f"jitterfly.cli.{name}", raising=False)
        monkeypatch.delattr(f"jitterfly.cli.{name}", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupt(), *sys.meta_path])
    assert run("--version") == 130
    assert capsys.readouterr().err == "jitterfly: stopped\n"


def test_module_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "jitterfly", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"jitterfly {jf.__version__}\n"


def test_interrupt_keeps_finished_cells(study, tmp_path):
    long = STUDY.replace("max = 40", "min = 40, max = 40").replace("[2, 4]", "[2, 22]")
    study.write_text(long.replace("max = 40", "max = 3000", 1))
    out = tmp_path / "out"
    command = [sys.executable, "-m", "jitterfly", "run", str(study), "--out", str(out)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 60
        while len(list(out.glob("samples/*.npz"))) < 5 and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        printed, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert printed == ""
    last = errors.splitlines()[-1]
    assert last.startswith("jitterfly: stopped: ")
    assert "of 21 cells are kept" in last
    assert "Traceback" not in errors
    kept = int(last.split()[2])
    records = Store(out, Store.open(out).study, json.loads((out / "meta.json").read_text())).records
    assert [record.whole() for record in records] == [True] * kept + [False] * (21 - kept)


def test_progress_says_what_it_should(capsys):
    assert [show_time(s) for s in (3.2, 185, 7800)] == ["3 s", "3 min 05 s", "2 h 10 min"]
    assert [show_rate(r) for r in (870, 12345, 4.5e6)] == ["870", "12.3k", "4.5M"]
    with Progress(4, 100.0, sys.stderr) as progress:
        progress.skip(20.0)
        progress.step(10, 40.0)
        assert progress.text().startswith("1/4 cells, ")
        assert " left, " in progress.text()
        progress.step(10, 40.0)
        assert " left" not in progress.text()
    assert capsys.readouterr().err.count("\n") == 1
