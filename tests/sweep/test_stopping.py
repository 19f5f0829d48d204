"""SIGTERM (Slurm time limit, `scancel`) ends a command as Ctrl-C does, also under MPI."""

import csv
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from support import sweep_cases
from support.scale import full_scale

import jitterfly as jf
from jitterfly import executors
from jitterfly.cli import main
from jitterfly.cli.process import Stopping
from jitterfly.cli.run import run_study
from jitterfly.store import Store
from jitterfly.studies import load_study
from jitterfly.sweep import run

# Far more than a test waits for.
LONG = """
name = "long"
realizations = { max = 1000000000, raw_bytes = 65536 }

[case]
ranks = 256
network = { kind = "hockney", alpha = "100ns", beta = "1ns", gamma = "1ns" }
noise = [{ kind = "periodic", period = "100us" }]

[axes.duration]
path = "noise.0.duration"
values = ["1us", "2us", "5us"]
"""
COMMAND = [sys.executable, "-m", "jitterfly"]


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "long.toml"
    path.write_text(LONG)
    return path


_STARTED = []


@pytest.fixture(autouse=True)
def _nothing_stays():
    """A test that fails, or runs out of time, leaves no process: neither mpiexec nor its ranks."""
    yield
    while _STARTED:
        process = _STARTED.pop()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def start(*command, **settings):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, **settings}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    process = subprocess.Popen(
        [*map(str, command)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    _STARTED.append(process)
    return process


def wait_for(process, condition):
    """Until it is so, while the process runs."""
    end = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)


def has_records(out):
    """Whether some realizations are on disk."""
    return lambda: any(path.stat().st_size > 1000 for path in out.glob("records/*"))


def end(process):
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def kept(out):
    """Realizations on disk, of all cells; the store can be opened and so is whole."""
    store = Store.open(out)
    most = 10**9
    lacking = [store.missing(cell, most) for cell in store.cells]
    return sum(most - sum(count for _, count in spans) for spans in lacking)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), full_scale(signal.SIGINT, 130)]
)
@pytest.mark.parametrize("workers", [[], full_scale(["--workers", "2"])])
def test_a_run_says_what_it_kept(study, tmp_path, workers, number, code):
    out = tmp_path / "out"
    process = start(*COMMAND, "run", study, "--out", out, *workers)
    wait_for(process, has_records(out))
    process.send_signal(number)
    found, printed, err = end(process)
    assert found == code, err
    assert printed == ""
    last = err.splitlines()[-1]
    assert last.startswith("jitterfly: stopped: 0 of 3 cells are finished, and what was run of")
    assert last.endswith(f"is kept in {out}; the same command goes on from there")
    assert "Traceback" not in err
    assert kept(out) > 0


# Its looks are far apart: where it is stopped, many more realizations are there than at the last.
PRECISE = LONG.replace('name = "long"', 'name = "long"\ntargets = ["mean of completion +- 1e-5 %"]')


def stopped_by_a_signal(study, out, number):
    process = start(*COMMAND, "run", study, "--out", out, "--threads", "1")
    before = kept(out)
    wait_for(process, lambda: kept(out) > before + 2000)
    process.send_signal(number)
    code, _, err = end(process)
    assert code == 128 + number, err
    assert "\nsummary.csv has what there is: 0 of 3 cells are finished\n" in f"\n{err}"
    if (out / "long.png").exists():  # of the run before
        assert f"long.png is older than summary.csv; `jitterfly plot {out}` draws it again\n" in err


def stopped_by_a_worker(study, out, _):
    """A cell can not be run any more."""
    real = jf.Case.realize
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jf.Case, "realize", lambda case, n, seed, first, *engine:
                      real(case, n if first < 2000 else 1 / 0, seed, first, *engine))  # fmt: skip
        with pytest.raises(ZeroDivisionError):
            run_study(load_study(study), out, threads=1)


@pytest.mark.parametrize(("how", "number"), [
    (stopped_by_a_signal, signal.SIGTERM),
    full_scale(stopped_by_a_signal, signal.SIGINT),
    (stopped_by_a_worker, 0),
])  # fmt: skip
def test_the_summary_of_a_stopped_run_is_of_what_is_there(study, tmp_path, how, number, capsys):
    """As status and table have it; it was that of an earlier run, of 100 realizations."""
    study.write_text(PRECISE)
    out = tmp_path / "out"
    assert main(["run", str(study), "--out", str(out), "--realizations", "100", "-q"]) == 0
    assert rows_of(out) == {("1e-06", "100", "True"), ("2e-06", "100", "True"),
                            ("5e-06", "100", "True")}  # fmt: skip
    how(study, out, number)
    store = Store.open(out)
    there = {str(cell.coordinates["duration"]): store.available(cell) for cell in store.cells}
    assert max(there.values()) > 1000
    assert rows_of(out) == {(name, str(count), "False") for name, count in there.items()}
    assert (out / "summary.csv").read_text() == store.to_csv()
    capsys.readouterr()
    assert main(["status", str(out), "--json"]) == 0
    for row, cell in zip(json.loads(capsys.readouterr().out)["rows"], store.cells, strict=True):
        (target,) = row["targets"]
        mean = store.estimate(cell, "completion", "mean")
        assert row["realizations"] == store.available(cell)
        assert target["estimate"]["realizations"] == store.available(cell)
        assert target["estimate"]["value"] == mean.value
        assert not target["met"]
    assert "UNFINISHED: 0 of 3 cells done" in store.summary()


def rows_of(out):
    """Cell, realizations and whether it is finished, as the summary has them."""
    with (out / "summary.csv").open() as file:
        rows = csv.DictReader(file)
        return {(row["duration"], row["realizations"], row["complete"]) for row in rows}


@pytest.mark.full_scale
def test_slurm_signals_every_process_of_a_task(study, tmp_path):
    """The workers, too; none of them hides what the run says."""
    out = tmp_path / "out"
    process = start(*COMMAND, "run", study, "--out", out, "--workers", "2")
    wait_for(process, has_records(out))
    os.killpg(process.pid, signal.SIGTERM)
    code, _, err = end(process)
    assert code == 143, err
    assert err.splitlines()[-1].startswith("jitterfly: stopped: 0 of 3 cells are finished")
    assert kept(out) > 0


def ranks(mark):
    """The processes of an MPI job that have `mark` in their environment, by rank."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "environ").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:
            continue
        if f"JITTERFLY_TEST={mark}".encode() in words:
            number = next((word for word in words if word.startswith(b"PMI_RANK=")), None)
            if number is not None:
                found[int(number.partition(b"=")[2])] = int(entry.name)
    return found


def needs_mpi():
    pytest.importorskip("mpi4py")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    if not shutil.which("mpiexec", path=path):
        pytest.skip("no mpiexec")
    if not Path("/proc/self/environ").exists():
        pytest.skip("needs /proc")


@pytest.mark.full_scale
def test_a_rank_that_is_killed(tmp_path):
    """The launcher ends the job; a run in one process ends it with the table that it would have."""
    needs_mpi()
    path, out = tmp_path / "sweep.toml", tmp_path / "out"
    path.write_text(sweep_cases.STUDY)
    script = Path(sweep_cases.__file__).with_name("run_study.py")
    command = [sys.executable, "-m", "mpi4py.futures", script, path, out, "mpi", "0.001"]
    process = start("mpiexec", "-n", "3", *command, JITTERFLY_TEST=tmp_path)
    wait_for(process, lambda: any(out.glob("records/*")))
    os.kill(ranks(tmp_path)[1], signal.SIGKILL)
    code, _, _ = end(process)
    assert code != 0
    left = Store.open(out)
    assert not all(left.decision(cell).next is None for cell in left.cells)
    run(sweep_cases.study(), out)
    run(sweep_cases.study(), tmp_path / "whole")
    assert sweep_cases.contents(out) == sweep_cases.contents(tmp_path / "whole")


@pytest.mark.full_scale
@pytest.mark.parametrize("whom", ["rank 0", "all ranks"])
def test_under_mpi(study, tmp_path, whom):
    """Slurm signals all ranks of a job step; the manager alone writes and tells."""
    needs_mpi()
    out = tmp_path / "out"
    command = [sys.executable, "-m", "mpi4py.futures", "-m", "jitterfly", "run", study]
    process = start("mpiexec", "-n", "3", *command, "--out", out, JITTERFLY_TEST=tmp_path)
    wait_for(process, has_records(out))
    members = ranks(tmp_path)
    assert set(members) == {0, 1, 2}
    for rank in [0] if whom == "rank 0" else [2, 1, 0]:
        os.kill(members[rank], signal.SIGTERM)
    code, _, err = end(process)
    assert code == 143, err
    assert "jitterfly: stopped: 0 of 3 cells are finished, and what was run of the others" in err
    assert kept(out) > 0


@pytest.mark.full_scale
def test_advise_prints_what_it_knows():
    options = ["--ranks", "4096", "--network", "L=1us,o=0.1us,G=0.1ns", "--within", "0.0001"]
    noise = ["--noise", "period=1ms,duration=10us", "--statistic", "p99.9"]
    budget = ["--realizations", "100000000", "--seconds", "600"]
    process = start(*COMMAND, "advise", *options, *noise, *budget)
    # Its threads are the engine's: it has begun to simulate.
    wait_for(process, lambda: used(process.pid) > 2.5)
    process.send_signal(signal.SIGTERM)
    code, printed, err = end(process)
    assert code == 143, err
    assert "stopped" in printed
    assert "Traceback" not in err


def used(pid):
    """Seconds of CPU."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.full_scale
def test_a_command_that_keeps_nothing(tmp_path):
    process = start(*COMMAND, "network", "run", "--tree", "20736", "--realizations", "100000")
    wait_for(process, lambda: used(process.pid) > 1.5)
    process.send_signal(signal.SIGTERM)
    code, printed, err = end(process)
    assert (code, printed) == (143, "")
    assert err.splitlines()[-1] == "jitterfly: stopped: SIGTERM"  # after how far it was, if slow


# Many short sleeps: one that a signal precedes by a microsecond is not interrupted by it.
HELD = """
import signal, sys, time
from jitterfly.cli import process
def sleep(seconds):
    for _ in range(100 * seconds):
        time.sleep(0.01)
def held(_):
    try:
        print("begun", flush=True)
        sleep(60)
    except KeyboardInterrupt:
        print("asked", flush=True)
        sleep(60)
process._run = held
sys.exit(process.main([]))
"""


@pytest.mark.parametrize("first", [signal.SIGTERM, full_scale(signal.SIGINT)])
def test_the_second_signal_ends_at_once(first):
    process = start(sys.executable, "-c", HELD)
    assert process.stdout.readline() == "begun\n"
    process.send_signal(first)
    assert process.stdout.readline() == "asked\n"
    process.send_signal(signal.SIGTERM)  # passed on by a launcher: it is the same request
    time.sleep(1)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert end(process)[0] == 143


@pytest.mark.parametrize(
    ("number", "expected"), [full_scale(signal.SIGTERM, 143), (signal.SIGINT, 130)]
)
def test_while_an_import_executes_a_string(number, expected, tmp_path, monkeypatch):
    """`python -m` would otherwise end by SIGINT, whatever the command's exit code."""
    first, then = "sleep(60)\n    except", "sleep(60)\nprocess"
    executed = HELD.replace(first, "exec('sleep(60)')\n    except")
    (tmp_path / "held.py").write_text(executed.replace(then, "return 130\nprocess"))
    monkeypatch.syspath_prepend(tmp_path)
    process = start(sys.executable, "-m", "held")
    assert process.stdout.readline() == "begun\n"
    process.send_signal(number)
    assert end(process)[:2] == (expected, "asked\n")


def test_what_was_set_before_is_set_again(capsys):
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    assert main(["info"]) == 0
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_a_signal_that_is_ignored_stays_so():
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with Stopping():
            signal.raise_signal(signal.SIGTERM)
            assert signal.getsignal(signal.SIGTERM) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.timing
@pytest.mark.skipif(sys.platform != "linux", reason="recording needs Linux")
def test_a_recording_is_written(tmp_path):
    out = tmp_path / "x.noise"
    process = start(*COMMAND, "noise", "record", "--seconds", "600", "--out", out)
    wait_for(process, lambda: used(process.pid) > 2.0)
    process.send_signal(signal.SIGTERM)
    code, _, err = end(process)
    assert code == 143, err
    last = err.splitlines()[-1]
    assert last.startswith("jitterfly: stopped: by SIGTERM, after ")
    assert last.endswith(f"what there is, is in {out}")
    assert out.exists()


def stopped_pool(done):
    """Ctrl-C in a method of the future of a running call: its lock is never released."""
    pool = executors.Pool(print, ["ready"])
    try:
        with pool:
            future = pool.submit(time.sleep, 600)
            while not future.running() or not pool.pids():
                time.sleep(0.01)
            future._condition.acquire()
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        done.put(pool.pids())


def test_ctrl_c_in_a_future_does_not_hang():
    """It was seen once in a run of two workers under Slurm's signals."""
    done = queue.SimpleQueue()
    threading.Thread(target=stopped_pool, args=(done,), daemon=True).start()
    for pid in done.get(timeout=30):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
