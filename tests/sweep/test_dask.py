"""Dask: clusters of two worker processes, of which one is killed, or can not load a class."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import types
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import pytest
from support import sweep_cases
from support.forkserver import FORKSERVER
from support.scale import full_scale

import jitterfly as jf
from jitterfly import executors
from jitterfly.executors import WorkersBroken
from jitterfly.fields import naming_options
from jitterfly.sweep import run
from jitterfly.sweep.driver import Batch, run_batch

# Small at each scale: each batch is a call of Dask.
STUDY = sweep_cases.changed(sweep_cases.PRECISE, *sweep_cases.LESS, ("max = 2500", "max = 1000"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What one process makes of the study, and its table."""
    path = tmp_path_factory.mktemp("whole") / "out"
    run(sweep_cases.study(STUDY), path)
    return sweep_cases.contents(path)


@contextmanager
def cluster(failures=3):
    """A client of two processes; of a batch so many may die before Dask gives it up."""
    distributed = pytest.importorskip("distributed")
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    # 50: it tells of each worker that is killed
    with distributed.LocalCluster(**settings, silence_logs=50) as started:
        started.scheduler.allowed_failures = failures
        with distributed.Client(started) as client:
            yield client


@contextmanager
def once_it_writes(out, call):
    """Call something in another thread as soon as a record is there."""

    def wait():
        while not stopped and not list(out.glob("records/*")):
            time.sleep(0.001)
        call()

    stopped = []
    thread = threading.Thread(target=wait)
    thread.start()
    try:
        yield
    finally:
        stopped.append(True)
        thread.join()


def run_on(executor, out, text=STUDY):
    run(sweep_cases.study(text), out, executor=executor, threads=1, batch_seconds=0.01)


def kill(pid):
    return lambda: os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("failures", [3, full_scale(0)])
def test_a_worker_of_dask_that_is_killed(tmp_path, whole, failures):
    """Dask gives its batches to others; or, where it may not, we do."""
    with cluster(failures) as client:
        executor = client.get_executor()
        assert executors.depth(executor) == 4
        pids = sorted(client.run(os.getpid).values())
        with once_it_writes(tmp_path / "out", kill(pids[0])):
            run_on(executor, tmp_path / "out")
        assert executor.submit(int, "3").result() == 3  # it is the caller's to shut down
        assert sorted(client.run(os.getpid, on_error="ignore").values()) != pids
    assert sweep_cases.contents(tmp_path / "out") == whole


class Deadly(Executor):
    """Workers that never survive a batch of 8 ranks."""

    def __init__(self, inner):
        self.inner = inner

    def submit(self, fn, /, *args, **kwargs):
        return self.inner.submit(sweep_cases.die_at_eight, *args, **kwargs)


@pytest.mark.full_scale
def test_a_batch_that_kills_each_worker_of_dask(tmp_path):
    match = r"all those workers died while running it, 3 times in a row \[at ranks=8\]"
    with cluster(failures=0) as client, pytest.raises(ValueError, match=match):
        run_on(Deadly(client.get_executor()), tmp_path / "out", sweep_cases.PLAIN)


@contextmanager
def processes_of_dask():
    with cluster() as client:
        yield client.get_executor()


@contextmanager
def processes():
    with ProcessPoolExecutor(1, mp_context=FORKSERVER) as executor:
        yield executor


@pytest.mark.parametrize("started", [processes, full_scale(processes_of_dask)])
def test_a_class_that_workers_can_not_load(tmp_path, monkeypatch, started):
    """It is in a module that only this process has."""
    module = types.ModuleType("only_here")
    monkeypatch.setitem(sys.modules, "only_here", module)
    code = "import jitterfly as jf\nclass OnlyHere(jf.Butterfly, kind='only_here'): pass"
    exec(code, module.__dict__)
    case = jf.Case(4, algorithm=module.OnlyHere(), network=jf.Hockney("1us", 0, 0))
    study = jf.Study(name="own", case=case, budget=jf.RealizationBudget(max=100))
    match = r"can not load what the study has \(No module named 'only_here'\): a class of your own"
    with started() as executor:
        with pytest.raises(WorkersBroken, match=f"{match}.*; or give `executor` a ThreadPoolExec"):
            run(study, tmp_path / "out", executor=executor)
        with (
            naming_options(lambda name, here: f"--{name}"),  # a command has no executor
            pytest.raises(WorkersBroken, match=f"{match}.* in what was typed$"),
        ):
            run(study, tmp_path / "out", executor=executor)


# What stands in `__main__` is executed there, as a cell of a notebook: workers have no such file.
NOTEBOOK = """
import sys

CELL = '''
import jitterfly as jf
from distributed import Client, LocalCluster

class Mine(jf.Butterfly, kind="mine"): pass

case = jf.Case(8, algorithm=Mine(), network=jf.Hockney("1us", 0, 0))
study = jf.Study(name="own", case=case, budget=jf.RealizationBudget(max=1000))
jf.run_study(study, "here").to_csv("here.csv")
with LocalCluster(n_workers=2, dashboard_address=":0") as cluster, Client(cluster) as client:
    jf.run_study(study, "there", executor=client.get_executor()).to_csv("there.csv")
'''
if __name__ == "__main__":
    exec(CELL, globals())
"""


@pytest.mark.full_scale
def test_dask_takes_a_class_of_a_notebook(tmp_path):
    pytest.importorskip("distributed")
    (tmp_path / "notebook.py").write_text(NOTEBOOK)
    command = [sys.executable, "notebook.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "there.csv").read_text() == (tmp_path / "here.csv").read_text()


@pytest.mark.full_scale
def test_a_client_of_dask_that_is_closed(tmp_path, whole):
    """The next run goes on from there."""
    out = tmp_path / "out"
    match = r"the executor broke.*(it cancelled|closed)"
    with (
        cluster() as client,
        once_it_writes(out, client.close),
        pytest.raises(RuntimeError, match=match),
    ):
        run_on(client.get_executor(), out)
    run(sweep_cases.study(STUDY), out)
    assert sweep_cases.contents(out) == whole


class Cancelling(Executor):
    """Cancels what it is given, as an executor does that is shut down."""

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        future.cancel()
        future.set_running_or_notify_cancel()
        return future


class Silent(Executor):
    """As that of a client of Dask that is closed while results are on their way to it."""

    def __init__(self):
        self._client = types.SimpleNamespace(status="running", nthreads=lambda: {"a": 2, "b": 1})

    def submit(self, fn, /, *args, **kwargs):
        self._client.status = "closed"
        return Future()


class Refusing(Executor):
    """Takes no call, as an executor does that was shut down."""

    def submit(self, fn, /, *args, **kwargs):
        raise ValueError("too late")


@pytest.mark.parametrize(
    ("executor", "match"),
    [
        (Cancelling(), "it cancelled a batch"),
        (Silent(), "its client is closed"),
        (Refusing(), "too late"),
    ],
)
def test_an_executor_that_breaks(tmp_path, executor, match):
    with pytest.raises(RuntimeError, match=f"the executor broke.*{match}"):
        run_on(executor, tmp_path / "out")


def test_what_travels():
    """Samples as far as they are kept; then sums, which take no more for more realizations."""
    study = sweep_cases.study()
    cell = study.cells()[-1]
    for number in (1000, 100_000):
        batch = Batch(cell, 1, 0, number, None)
        assert len(pickle.dumps(batch)) < 4000
        answer = len(pickle.dumps(run_batch(batch)))
        assert 0 < answer - 8 * number * len(cell.columns) < 2000
        batch = Batch(cell, 1, 0, number, tuple(study.measures(cell)))
        assert len(pickle.dumps(batch)) < 4000
        assert len(pickle.dumps(run_batch(batch))) < 500_000


def test_a_worker_with_another_version():
    batch = replace(pickle.loads(pickle.dumps(Batch(None, 1, 0, 1, None))), version="0.1.9")
    with pytest.raises(WorkersBroken, match=r"a worker has jitterfly .*, the run is of 0\.1\.9"):
        run_batch(batch)


def test_workers_of_dask_come_and_go():
    executor = Silent()
    assert executors.depth(executor) == 6
    executor._client.nthreads = dict
    assert executors.depth(executor) == 2 * os.cpu_count()
    executor._client.nthreads = None  # as of a client that lost its scheduler
    assert executors.depth(executor) == 2 * os.cpu_count()
