"""Executors: worker processes that die, MPI ranks, shares of cores and GPUs."""

import importlib
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from support import hand_over, run_study, scale, sweep_cases
from support.forkserver import FORKSERVER
from support.scale import at_most, full_scale

from jitterfly import executors, resources
from jitterfly.cli import main
from jitterfly.executors import Pool, WorkerDied, WorkersBroken
from jitterfly.sweep import CellsFailed, run
from jitterfly.sweep.driver import Batch, run_batch


@pytest.fixture
def forked_workers(monkeypatch):
    """Workers are forked, but at full scale: each that is started imports all modules."""
    if not scale.FULL:
        monkeypatch.setattr(executors, "_SPAWN", FORKSERVER)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What one process makes of the study with targets."""
    path = tmp_path_factory.mktemp("whole") / "out"
    run(sweep_cases.study(), path)
    return sweep_cases.contents(path)


@pytest.fixture(scope="module")
def whole_plain(tmp_path_factory):
    """The same of the study without targets."""
    path = tmp_path_factory.mktemp("whole_plain") / "out"
    run(sweep_cases.study(sweep_cases.PLAIN), path)
    return sweep_cases.contents(path)


@pytest.mark.full_scale
def test_three_workers_and_one_process_agree(tmp_path, whole):
    run(sweep_cases.study(), tmp_path / "out", workers=3, batch_seconds=0.02)
    assert sweep_cases.contents(tmp_path / "out") == whole


def test_any_executor(tmp_path, whole):
    with ThreadPoolExecutor(3) as executor:
        run(sweep_cases.study(), tmp_path / "out", executor=executor)
        assert executor.submit(int, "3").result() == 3  # it is the caller's to shut down
    assert sweep_cases.contents(tmp_path / "out") == whole


def test_batches_do_not_matter(tmp_path, whole):
    run(sweep_cases.study(), tmp_path / "out", batch_seconds=0.02)
    assert sweep_cases.contents(tmp_path / "out") == whole


BIN = Path(sys.executable).parent
TRAP = "import sys; sys.stderr.write('from the current directory: ' + __file__); sys.exit(7)"


def test_no_module_of_the_current_directory_is_imported(tmp_path):
    """By workers, by what `multiprocessing` starts beside them, and by who counts the GPUs."""
    for name in ("pickle", "signal", "struct", "numpy"):
        (tmp_path / f"{name}.py").write_text(TRAP)
    (tmp_path / "small.toml").write_text(sweep_cases.PLAIN)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONSAFEPATH"}
    for command in ([sys.executable, "-m", "jitterfly"], [shutil.which("jitterfly", path=BIN)]):
        done = subprocess.run(
            [*command, "run", "small.toml", "--workers", "2", "-q", "--out", "out", "--force"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert (done.returncode, done.stderr) == (0, "")
        (tmp_path / "jitterfly.py").write_text(TRAP)  # which `-m` would run as what is meant
    script = (
        "from jitterfly import backends; "
        "backends.gpu_present = lambda: True; print(backends.ask_devices()[1])"
    )
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "count.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "scripts/count.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "PYTHONSAFEPATH" not in os.environ


def test_pools_that_start_workers_at_once_leave_the_environment_as_it_was(monkeypatch):
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    entered, leave = threading.Event(), threading.Event()

    def start_another():
        with executors._without_current_directory():
            entered.set()
            leave.wait(60)

    other = threading.Thread(target=start_another)
    with executors._without_current_directory():
        other.start()
        entered.wait(0.2)  # it must not: it would take what is here for the environment's own
    leave.set()
    other.join()
    assert "PYTHONSAFEPATH" not in os.environ


RANKS = 3 if scale.FULL else 2  # of which one drives the others


def mpiexec(*command):
    """So many ranks; skips the test where there is no MPI."""
    pytest.importorskip("mpi4py")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    if not shutil.which("mpiexec", path=path):
        pytest.skip("no mpiexec")
    environment = os.environ | {"PATH": path, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    whole = ["mpiexec", "-n", str(RANKS), sys.executable, *map(str, command)]
    ends = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(whole, env=environment, start_new_session=True, **ends)
    try:
        printed, err = process.communicate(timeout=300)
    finally:
        with suppress(ProcessLookupError):  # the ranks, too, where they did not end
            os.killpg(process.pid, signal.SIGKILL)
    return subprocess.CompletedProcess(whole, process.returncode, printed, err)


def forked_ranks(*arguments):
    """The same of run_study.py, with ranks that are forked: each that is started imports all."""
    pytest.importorskip("mpi4py")
    mark = uuid.uuid4().hex
    ranks = [
        FORKSERVER.Process(target=run_study.forked_rank, args=(mark, rank, *arguments), daemon=True)
        for rank in range(RANKS)
    ]
    for rank in ranks:
        rank.start()
    done = mpiexec("-IS", hand_over.__file__, mark)
    for rank in ranks:
        rank.kill()
        rank.join()
    return done


@pytest.mark.parametrize("workers", [full_scale("none"), "mpi"])
def test_ranks_of_mpi_and_one_process_agree(tmp_path, whole, workers):
    """Also where nobody says that there are ranks."""
    (tmp_path / "sweep.toml").write_text(sweep_cases.STUDY)
    options = [tmp_path / "sweep.toml", tmp_path / "out", workers, "0.02"]
    if scale.FULL or not run_study.is_mpich():
        done = mpiexec("-m", "mpi4py.futures", Path(run_study.__file__), *options)
    else:
        done = forked_ranks(*map(str, options))
    assert done.returncode == 0, done.stderr
    assert sweep_cases.contents(tmp_path / "out") == whole


@pytest.mark.full_scale
def test_command_under_mpi(tmp_path, whole):
    (tmp_path / "sweep.toml").write_text(sweep_cases.STUDY)
    options = [tmp_path / "sweep.toml", "--workers", "mpi", "--out", tmp_path / "out"]
    done = mpiexec("-m", "jitterfly", "run", *options)
    assert done.returncode == 2
    assert "`mpiexec -n N python -m mpi4py.futures -m jitterfly run STUDY.toml" in done.stderr
    assert not (tmp_path / "out").exists()
    done = mpiexec("-m", "mpi4py.futures", "-m", "jitterfly", "run", *options)
    assert done.returncode == 0, done.stderr
    assert sweep_cases.contents(tmp_path / "out") == whole


@pytest.mark.full_scale
@pytest.mark.parametrize(
    ("listed", "taken"),
    [
        # Of three ranks rank 0 takes what the others leave.
        ("4,5,6,7", {"0:4", "1:5", "2:6", "0:7"}),
        ("4,5,6", {"0:4", "1:5", "2:6"}),
        ("4,5", {"1:5", "2:4"}),
        ("MIG-a,MIG-b,MIG-c", {"0:MIG-a", "1:MIG-b", "2:MIG-c"}),
    ],
)
def test_the_gpus_of_mpi_ranks(tmp_path, whole, monkeypatch, listed, taken):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", listed)
    monkeypatch.setenv("JITTERFLY_TEST_MARKS", str(tmp_path))
    (tmp_path / "sweep.toml").write_text(sweep_cases.STUDY)
    script = Path(run_study.__file__).with_name("run_on_fake_devices.py")
    done = mpiexec("-m", "mpi4py.futures", script, tmp_path / "sweep.toml")
    assert done.returncode == 0, done.stderr
    assert set((tmp_path / "ran").read_text().split()) == taken
    assert sweep_cases.contents(tmp_path / "out") == whole


@pytest.mark.full_scale
def test_command_under_mpi_without_its_executor(tmp_path):
    """Each rank would run the whole study, all into one directory."""
    (tmp_path / "sweep.toml").write_text(sweep_cases.STUDY)
    done = mpiexec("-m", "jitterfly", "run", tmp_path / "sweep.toml", "--out", tmp_path / "out")
    assert done.returncode == 2
    assert (
        "jitterfly: error: the launcher started 3 processes, and each of them would run all of it: "
        "-m mpi4py.futures is missing, as in `mpiexec -n N python -m mpi4py.futures -m jitterfly "
        "run STUDY.toml --workers mpi`; or each runs a part of its own: --shard I/N; or a "
        "study of its own: `env -u "
    ) in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_farm_of_different_studies(tmp_path, monkeypatch, blank_pictures, capsys):
    """`srun -n 4 bash -c 'jitterfly run s$SLURM_PROCID.toml'`: what the message names is a way."""
    (tmp_path / "sweep.toml").write_text(sweep_cases.STUDY)
    command = ["run", str(tmp_path / "sweep.toml"), "--out", str(tmp_path / "out")]
    command += ["--realizations", "2"]
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "4")
    monkeypatch.setenv("PMI_SIZE", "4")
    assert main(command) == 2
    told = capsys.readouterr().err
    names = re.search(r"a study of its own: `env ((-u \w+ )+)jitterfly run", told)[1]
    for name in names.replace("-u", "").split():
        monkeypatch.delenv(name)
    assert main(command) == 0


@pytest.mark.parametrize(
    ("environment", "number"),
    [
        ({}, None),
        ({"PMI_SIZE": "4", "PMI_RANK": "0"}, 4),  # MPICH and its kin
        ({"OMPI_COMM_WORLD_SIZE": "2"}, 2),
        ({"MV2_COMM_WORLD_SIZE": "3"}, 3),  # MVAPICH
        ({"OMPI_COMM_WORLD_SIZE": "6", "SLURM_STEP_NUM_TASKS": "2"}, 6),  # mpirun over two nodes
        ({"SLURM_STEP_NUM_TASKS": "8", "SLURM_NTASKS": "8"}, 8),  # srun
        ({"SLURM_STEP_NUM_TASKS": "1", "SLURM_NTASKS": "8"}, 1),  # srun -n 1 in a larger job
        # a batch script, and a task of a job array, which srun did not start
        ({"SLURM_NTASKS": "8", "SLURM_PROCID": "0", "SLURM_LOCALID": "0"}, None),
        ({"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "16"}, None),
    ],
)
def test_how_many_processes_a_launcher_started(environment, number):
    assert resources.world_size(environment) == number


def test_a_process_that_is_not_a_copy_is_let_be(tmp_path, monkeypatch, blank_pictures, capsys):
    study = tmp_path / "sweep.toml"
    study.write_text(sweep_cases.STUDY)
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "4")
    command = ["run", str(study), "--realizations", "64", "--out", str(tmp_path / "out")]
    assert main(command) == 2
    assert main([*command, "--shard", "1/4"]) == 0  # each has a part of its own
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "1")
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "2")
    monkeypatch.setenv("SLURM_ARRAY_TASK_COUNT", "4")
    assert main(command) == 0
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["shard-1-of-4", "shard-2-of-4"]
    assert "shard 2/4, the task of a Slurm array; all cells: --shard 1/1" in capsys.readouterr().err
    assert main([*command[:-1], str(tmp_path / "all"), "--shard", "1/1"]) == 0
    assert (tmp_path / "all" / "summary.csv").is_file()


@pytest.mark.full_scale
def test_a_worker_that_is_killed_costs_its_batch(tmp_path, whole, monkeypatch):
    """One in each cell: another takes over, and the study comes to its end."""
    monkeypatch.setenv("JITTERFLY_TEST_MARKS", str(tmp_path))
    study = sweep_cases.study()
    with sweep_cases.Other(2, sweep_cases.die_once) as pool:
        run(study, tmp_path / "out", executor=pool, batch_seconds=0.01)
    assert all((tmp_path / str(cell.index)).exists() for cell in study.cells())
    assert sweep_cases.contents(tmp_path / "out") == whole


def test_a_worker_that_is_killed_from_outside(tmp_path, whole, forked_workers):
    with Pool(sweep_cases.nothing, range(2)) as pool:
        killer = threading.Timer(0, kill_one, [pool, tmp_path / "out"])
        killer.start()
        run(sweep_cases.study(), tmp_path / "out", executor=pool, batch_seconds=0.01)
        killer.join()
    assert sweep_cases.contents(tmp_path / "out") == whole


def kill_one(pool, out):
    """Once it has written something."""
    while not list(out.glob("records/*")):
        time.sleep(0.001)
    os.kill(pool.pids()[0], signal.SIGKILL)


@pytest.mark.full_scale
@pytest.mark.parametrize("how", [sweep_cases.die_at_eight, sweep_cases.refuse_eight])
def test_finish_the_others(tmp_path, whole_plain, how):
    told = {
        "die_at_eight": r"ranks=8: a worker died \(signal 9\), 3 times in a row",
        "refuse_eight": "ranks=8: no luck",
    }[how.__name__]
    study = sweep_cases.study(sweep_cases.PLAIN)
    ends = []
    with sweep_cases.Other(2, how) as pool, pytest.raises(CellsFailed, match=told) as caught:
        run(study, tmp_path / "out", executor=pool, on_error="finish", finish=ends.append)
    assert list(caught.value.failed) == ["ranks=8"]
    assert str(caught.value).startswith("1 of 4 cells failed")
    (store,) = ends
    done = [cell.name for cell in store.cells if store.complete(cell)]
    assert done == ["ranks=2", "ranks=32", "ranks=64"]
    run(study, tmp_path / "out")  # goes on with what is missing
    assert sweep_cases.contents(tmp_path / "out") == whole_plain


@pytest.mark.full_scale
@pytest.mark.parametrize("how", [sweep_cases.die_at_eight, sweep_cases.refuse_eight])
def test_stop_at_the_first(tmp_path, whole_plain, how):
    study = sweep_cases.study(sweep_cases.PLAIN)
    message = r"study: (a worker died .*|no luck) \[at ranks=8\]"
    with sweep_cases.Other(1, how) as pool, pytest.raises(ValueError, match=message):
        run(study, tmp_path / "out", executor=pool)
    run(study, tmp_path / "out")
    assert sweep_cases.contents(tmp_path / "out") == whole_plain


def test_a_pool_of_somebody_else_that_breaks(tmp_path):
    with ProcessPoolExecutor(1) as executor:
        executor.submit(os._exit, 1)
        with pytest.raises(RuntimeError, match="the executor broke"):
            run(sweep_cases.study(), tmp_path / "out", executor=executor)


def test_workers_that_can_not_start():
    """As in a script that forgets `if __name__ == "__main__":`."""
    with Pool(exit, [3]) as pool, pytest.raises(WorkersBroken, match=r"exit code 3.*__name__"):
        pool.submit(int, "3").result()


class OfANotebook:
    """As a class that stands in a cell: a worker has no such module."""

    def __reduce__(self):
        return importlib.import_module, ("a_notebook_cell",)


def test_a_class_that_workers_can_not_load():
    match = r"can not load what the study has \(No module named 'a_notebook_cell'\): a class of"
    with Pool(sweep_cases.nothing, [1]) as pool, pytest.raises(WorkersBroken, match=match):
        pool.submit(run_batch, Batch(OfANotebook(), 1, 0, 1, None)).result()


@pytest.mark.full_scale
def test_pool():
    with Pool(sweep_cases.nothing, range(2)) as pool:
        assert [f.result() for f in [pool.submit(pow, 2, i) for i in range(9)]] == [
            2**i for i in range(9)
        ]
        with pytest.raises(WorkerDied, match="exit code 5"):
            pool.submit(os._exit, 5).result()
        with pytest.raises(WorkerDied, match="signal 9"):
            pool.submit(sweep_cases.die_while_answering).result()
        with pytest.raises(ZeroDivisionError):
            pool.submit(divmod, 1, 0).result()
        with pytest.raises(Exception, match="pickle"):
            pool.submit(lambda: 1).result()
        assert pool.submit(pow, 3, 2).result() == 9
    with pytest.raises(RuntimeError, match="shut down"):
        pool.submit(pow, 3, 2)


@pytest.mark.timing
def test_killing_a_pool_is_prompt(forked_workers):
    pool = Pool(sweep_cases.nothing, range(2))
    busy = [pool.submit(time.sleep, 60) for _ in range(5)]
    while len(pool.pids()) < 2:
        time.sleep(0.01)
    started = time.monotonic()
    pool.kill()
    pool.shutdown()
    assert time.monotonic() - started < 5
    assert all(future.done() for future in busy)


def test_a_pool_that_was_killed_has_no_process_left(monkeypatch, forked_workers):
    """A process that a thread of the pool waits for, too, counts as a child until that knows."""

    def slow(pid, options, wait=os.waitpid):
        found = wait(pid, options)
        if found[0] and threading.current_thread() is not threading.main_thread():
            time.sleep(0.3)
        return found

    pool = Pool(sweep_cases.nothing, range(2))
    pool.submit(int).result()
    for _ in range(2):
        pool.submit(time.sleep, 60)
    while len(pool.pids()) < 2:
        time.sleep(0.01)
    pids = set(pool.pids())
    monkeypatch.setattr(os, "waitpid", slow)
    pool.kill()
    assert not pids & {process.pid for process in multiprocessing.active_children()}
    pool.shutdown()


def test_workers_leave_with_a_driver_that_is_killed(tmp_path):
    number = at_most(2, 1)
    script = (
        "import time, os, sys\n"
        "from support import sweep_cases\n"
        "from jitterfly.executors import Pool\n"
        "if __name__ == '__main__':\n"
        f"    pool = Pool(sweep_cases.nothing, range({number}))\n"
        "    pool.submit(int), pool.submit(int).result()\n"
        f"    [pool.submit(time.sleep, 600) for _ in range({number})]\n"
        "    print(*pool.pids(), flush=True)\n"
        "    time.sleep(600)\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as driver:
        pids = [int(word) for word in driver.stdout.readline().split()]
        driver.kill()
    assert pids
    deadline = time.monotonic() + 20
    while any(alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(alive(pid) for pid in pids)


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("workers", "backend", "message"),
    [
        ("some", "auto", "workers must be 'gpus', 'sockets', 'mpi' or a number, got 'some'"),
        (0, "auto", "workers must be an integer from 1 to 1024"),
        ("5000", "auto", "workers must be an integer from 1 to 1024"),
        (2.5, "auto", "workers must be an integer from 1 to 1024"),
        (
            "mpi",
            "auto",
            "needs N >= 2 processes started as `mpiexec -n N python -m mpi4py.futures SCRIPT.py`",
        ),
        ("sockets", "cuda", "workers 'sockets' are for the CPU; `backend` = cuda needs 'gpus'"),
        ("gpus", "cpu", "workers 'gpus' can not be used with `backend` = cpu"),
    ],
)
def test_workers_that_can_not_be_had(tmp_path, workers, backend, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        run(sweep_cases.study(), tmp_path / "out", workers=workers, backend=backend)
    assert not (tmp_path / "out").exists()


def test_the_command_says_how_it_is_started_with_mpi(tmp_path, capsys):
    (tmp_path / "sweep.toml").write_text(sweep_cases.STUDY)
    command = ["run", str(tmp_path / "sweep.toml"), "--out", str(tmp_path / "out")]
    assert main([*command, "--workers", "mpi"]) == 2
    assert capsys.readouterr().err.endswith(
        "needs N >= 2 processes started as "
        "`mpiexec -n N python -m mpi4py.futures -m jitterfly run STUDY.toml --workers mpi`\n"
    )


@pytest.mark.parametrize(("workers", "backend"), [("gpus", "auto"), (2, "cuda")])
def test_threads_are_not_for_gpus(tmp_path, workers, backend):
    with pytest.raises(ValueError, match=f"leave out `threads` with `workers` = {workers}"):
        run(sweep_cases.study(), tmp_path / "out", workers=workers, backend=backend, threads=2)


def test_processors_are_shared_out():
    own = set(os.sched_getaffinity(0))
    for number in range(1, len(own) + 3):
        groups = executors.shares(number)
        assert len(groups) == number
        assert all(group and set(group) <= own for group in groups)
        if number <= len(own):
            assert sorted(processor for group in groups for processor in group) == sorted(own)
    assert {processor for group in executors.sockets() for processor in group} == own


@pytest.mark.parametrize(
    ("limit", "workers", "threads"),
    [
        (0, 2, None),  # no limit: a thread for each processor of a worker
        (8, 2, None),  # as many as there are processors
        (4, 2, 2),
        (4, 3, 1),
        (4, 6, 1),
        (4, "sockets", 4),
    ],
)
def test_workers_divide_the_limit_of_a_control_group(monkeypatch, limit, workers, threads):
    monkeypatch.setattr(executors, "_processors", lambda: [(0, i // 2, i) for i in range(8)])
    monkeypatch.setattr(executors, "core", SimpleNamespace(control_group_threads=lambda: limit))
    assert executors.check_workers(workers, "auto", None).threads == threads
    assert executors.check_workers(workers, "auto", 3).threads == 3


@pytest.mark.parametrize(
    ("environment", "size"),
    [
        ({}, None),
        ({"MPI_LOCALNRANKS": "4"}, 4),
        ({"MV2_COMM_WORLD_LOCAL_SIZE": "2"}, 2),
        ({"SLURM_LOCALID": "0", "SLURM_STEP_TASKS_PER_NODE": "4(x2),3"}, 4),
        ({"SLURM_STEP_TASKS_PER_NODE": "4"}, None),
    ],
)
def test_neighbours(environment, size):
    assert resources.local_size(environment) == size


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("workers", "devices"), [(None, "all"), (None, "0"), (None, None), ("gpus", "all"), (2, "0")]
)
def test_the_gpu_gives_the_same_samples(tmp_path, workers, devices):
    run(sweep_cases.study(), tmp_path / "cpu", backend="cpu")
    options = {"backend": "cuda", "workers": workers, "devices": devices}
    store = run(sweep_cases.study(), tmp_path / "cuda", **options)
    assert store.meta["backend"] == ["cuda"]
    assert sweep_cases.contents(tmp_path / "cuda") == sweep_cases.contents(tmp_path / "cpu")
