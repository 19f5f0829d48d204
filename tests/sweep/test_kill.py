"""Kill and resume: a run killed (SIGKILL) at any instant goes on to the same bits.

Killed at random instants, each run starts from what the one before it left, until one comes to its
end; that must be what a run that nobody disturbed left. Then it starts again from nothing. Instants
between two operations on a file are too short to be met so: a run is also killed at each line of
what writes the files.
"""

import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from support import hand_over, run_study, scale, sweep_cases
from support.forkserver import FORKSERVER
from support.scale import at_most, full_scale

from jitterfly.sweep import run

pytestmark = [
    pytest.mark.slow(minutes=5),
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc"),
]

KILLS = at_most(50, 3)
SCRIPT = Path(run_study.__file__)
_MARK = "JITTERFLY_TEST_OF_KILLING"


# Less precise than the study of sweeps, in fewer realizations.
STUDY = sweep_cases.changed(
    sweep_cases.PRECISE,
    *sweep_cases.LESS,
    ("max = 2500, raw_bytes = 16384", "max = 1000, raw_bytes = 8192"),
)
# One cell, of raw samples and of summaries.
SMALL = sweep_cases.changed(
    sweep_cases.PRECISE,
    ("min = 64, max = 2500, raw_bytes = 16384", "min = 20, max = 40, raw_bytes = 512"),
    ("values = [2, 64]", "values = [4]"),
    ('values = ["100ns", "2us"]', 'values = ["2us"]'),
)

RANKS = 3
MODES = {
    "one process": ([sys.executable], "none"),
    "shared files": ([sys.executable], "none"),
    "pool": ([sys.executable], "2"),
    "mpi": (["mpiexec", "-n", str(RANKS), sys.executable, "-m", "mpi4py.futures"], "mpi"),
}


class Run:
    """A run with all processes that it starts."""

    def __init__(self, mode, study, out, seconds):
        command, workers = MODES[mode]
        self.mark = uuid.uuid4().hex
        self.out = out
        self.before = size(out)
        most = ["0"] if mode == "shared files" else []
        self.start(command, [str(study), str(out), workers, str(seconds), *most])

    def start(self, command, arguments):
        self.begin([*command, str(SCRIPT), *arguments])

    def begin(self, command):
        environment = os.environ | {
            _MARK: self.mark,
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        }
        self.process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def ended(self, seconds=0):
        """Whether it is over, after so many seconds or before."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def result(self):
        """Wait for its end: exit status and output."""
        told, _ = self.process.communicate(timeout=100)
        return self.process.returncode, told

    def members(self):
        """Every process of this run, however it was started."""
        mark = f"{_MARK}={self.mark}".encode()
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                try:
                    if mark in (entry / "environ").read_bytes():
                        found.append(int(entry.name))
                except OSError:  # it is gone, or not ours
                    continue
        return found

    def writes(self):
        """Wait for its first record; whether there was one before it ended."""
        while size(self.out) <= self.before:
            if self.ended():
                return False
            time.sleep(0.001)
        return True

    def times(self):
        """When it began, wrote its first record, and ended."""
        started = time.monotonic()
        self.writes()
        writing = time.monotonic()
        self.finish()
        return started, writing, time.monotonic()

    def finish(self):
        """Let it come to its end."""
        status, told = self.result()
        assert status == 0, told

    def killed_after(self, seconds):
        """Whether it was still there to be killed."""
        if self.ended(seconds):
            return False
        self.kill()
        return True

    def kill(self):
        """SIGKILL to all, and wait until they are gone."""
        while members := self.members():
            for pid in members:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            time.sleep(0.001)
        self.result()


class Forked(Run):
    """A run whose processes are forked from one that has imported all modules.

    It is for kills after the first record. To start Python and import the modules takes about half
    of such a run's time, or more with workers, and it is never killed there.
    """

    def start(self, command, arguments):
        assert command == [sys.executable]
        self.told = self.out.with_name("told")
        self.workers = self.out.with_name("workers")
        shutil.rmtree(self.workers, ignore_errors=True)
        self.workers.mkdir()
        self.process = FORKSERVER.Process(
            target=run_study.forked, args=(self.told, self.workers, *arguments)
        )
        self.process.start()

    def ended(self, seconds=0):
        self.process.join(seconds)
        return self.process.exitcode is not None

    def result(self):
        assert self.ended(100)
        return self.process.exitcode, self.told.read_text() if self.told.exists() else ""

    def members(self):
        found = [] if self.ended() else [self.process.pid]
        return found + [int(file.name) for file in self.workers.iterdir() if not is_gone(file.name)]


class ForkedRanks(Run):
    """A run under MPI whose ranks are forked, in place of what mpiexec starts."""

    def start(self, command, arguments):
        self.ranks = [
            FORKSERVER.Process(
                target=run_study.forked_rank, args=(self.mark, rank, *arguments), daemon=True
            )
            for rank in range(RANKS)
        ]
        for rank in self.ranks:
            rank.start()
        starting = command[: command.index(sys.executable)]
        self.begin([*starting, sys.executable, "-IS", hand_over.__file__, self.mark])

    def members(self):
        return super().members() + [rank.pid for rank in self.ranks if rank.is_alive()]


def is_gone(pid):
    """Whether no process has this number any more; the server takes dead ones away."""
    return not Path("/proc", pid).exists()


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "sweep.toml"
    path.write_text(STUDY)
    return path


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What a run that nobody disturbed leaves: samples, and all that it says."""
    path = tmp_path_factory.mktemp("whole") / "out"
    run(sweep_cases.study(STUDY), path)
    return sweep_cases.samples(path), sweep_cases.contents(path)


@pytest.mark.parametrize("mode", ["one process", *map(full_scale, [*MODES][1:])])
def test_killed_at_any_instant(mode, study, whole, tmp_path):
    if mode == "mpi":
        pytest.importorskip("mpi4py")
        if not shutil.which("mpiexec", path=run_study.MPI_PATH):
            pytest.skip("no mpiexec")
    forked = Forked
    if mode == "mpi":
        forked = ForkedRanks if run_study.is_mpich() else Run
    draw = random.Random(f"kill {mode}")
    first = (Run if scale.FULL else forked)(mode, study, tmp_path / "undisturbed", SECONDS)
    started, writing, end = first.times()
    assert sweep_cases.contents(tmp_path / "undisturbed") == whole[1]

    out, ends, kills, states = tmp_path / "out", 0, 0, set()
    while kills < KILLS or ends == 0:
        early = draw.random() < 0.2
        # Early, the start is what is killed.
        fresh = early or (kills == KILLS and scale.FULL)
        one = (Run if fresh else forked)(mode, study, out, SECONDS)
        if kills == KILLS:  # to the end
            killed = False
        elif early:  # before it writes anything
            killed = one.killed_after(draw.uniform(0, writing - started))
        else:
            killed = one.writes() and one.killed_after(draw.uniform(0, end - writing))
        kills += killed
        if killed and (out / "store.json").exists():
            states.add(size(out))
            sweep_cases.check_prefix(out, whole[0])
        elif not killed:
            one.finish()
            assert sweep_cases.contents(out) == whole[1]
            shutil.rmtree(out)
            ends += 1
    stems = {len(path.stem) for path in (tmp_path / "undisturbed").glob("records/*")}
    assert (stems == {2}) == (mode == "shared files")
    # Many different ones were gone on from; of few kills one must have met a store.
    assert len(states) > (KILLS // 3 if scale.FULL else 0)


def size(out):
    """Bytes of all records."""
    return sum(path.stat().st_size for path in out.glob("records/*"))


SECONDS = 0.03  # of a batch: there are hundreds; in less than a batch of one takes, thousands


# --- at each line


@pytest.mark.parametrize("most", [200, full_scale(0)])
def test_killed_at_each_line_that_writes(most, tmp_path, monkeypatch):
    """In files of their own, and in files that cells share."""
    monkeypatch.setattr("jitterfly.store.records.MAX_OWN_FILES", most)
    run(sweep_cases.study(SMALL), tmp_path / "undisturbed")
    samples = sweep_cases.samples(tmp_path / "undisturbed")
    whole = sweep_cases.contents(tmp_path / "undisturbed")
    for kills in itertools.count(step=1 if scale.FULL else 20):
        out = tmp_path / str(kills)
        process = FORKSERVER.Process(
            target=sweep_cases.run_up_to_line, args=(kills, SMALL, out, most)
        )
        process.start()
        process.join()
        if process.exitcode == 0:
            break
        assert process.exitcode == -signal.SIGKILL
        if (out / "store.json").exists():
            sweep_cases.check_prefix(out, samples)
        run(sweep_cases.study(SMALL), out)
        assert sweep_cases.contents(out) == whole, kills
    assert kills > 30
