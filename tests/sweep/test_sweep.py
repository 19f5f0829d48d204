"""Driver of studies: resume, extension, Ctrl-C, batches, progress, errors."""

import io
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from support import sweep_cases
from support.scale import at_most, full_scale, some

import jitterfly as jf
from jitterfly.executors import InProcess
from jitterfly.observables import Decision
from jitterfly.stats.sequential import grid_up
from jitterfly.store import Store
from jitterfly.sweep import Stopped, run
from jitterfly.sweep.driver import BatchSizer, CellRun, RunProgressLine, show_duration, show_rate


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished store of the study with targets; only read and copied."""
    path = tmp_path_factory.mktemp("finished") / "out"
    run(sweep_cases.study(), path)
    return path


@pytest.fixture(scope="module")
def whole(finished):
    """All that it says."""
    return sweep_cases.contents(finished)


class Counting(InProcess):
    """Remembers the batches."""

    def __init__(self):
        self.batches = []

    def submit(self, fn, /, *args, **kwargs):
        self.batches.append(args[0])
        return super().submit(fn, *args, **kwargs)


def test_samples_are_those_of_the_api(tmp_path):
    study = sweep_cases.study(sweep_cases.PLAIN)
    store = run(study, tmp_path / "out", batch_seconds=0.01)
    for cell in store.cells:
        (variant,) = cell.variants
        result = jf.simulate(variant.case, realizations=3000, seed=3)
        ticks = store.ticks(cell, 3000)
        np.testing.assert_array_equal(ticks.values, result.ticks)
        assert [column.name for column in ticks.columns] == result.observations
    assert store.meta["backend"] in (["cpu"], ["cuda"])
    assert Store.open(tmp_path / "out").meta == store.meta


def test_again_runs_nothing(finished, whole):
    executor = Counting()
    run(sweep_cases.study(), finished, executor=executor)
    assert not executor.batches
    assert sweep_cases.contents(finished) == whole


@pytest.mark.parametrize("text", [full_scale(sweep_cases.PLAIN), sweep_cases.STUDY])
def test_a_larger_budget_extends(tmp_path, text):
    """It ends where a run that had it from the start ends, and makes no realization twice."""
    small, large = Counting(), Counting()
    study, enough = sweep_cases.study(text), at_most(4000, 1000)
    run(study, tmp_path / "out", realizations=500, executor=small)
    run(study, tmp_path / "out", realizations=enough, executor=large)
    made = sorted(
        (batch.cell.name, batch.first, batch.count) for batch in small.batches + large.batches
    )
    for (name, first, count), (other, after, _) in itertools.pairwise(made):
        assert name != other or first + count <= after
    run(study, tmp_path / "once", realizations=enough)
    assert sweep_cases.contents(tmp_path / "out") == sweep_cases.contents(tmp_path / "once")


def test_what_is_set_instead_of_the_study(tmp_path):
    study = sweep_cases.study()
    target = "mean of gain ± 5 % at 99 %"
    store = run(study, tmp_path / "out", realizations=300, seed=11, targets=[target])
    again = Store.open(tmp_path / "out")
    for one in (store, again):
        assert one.study.seed == 11
        assert [str(target) for target in one.study.targets] == [target]
        assert {cell.limit for cell in one.cells} == {300}
    cell = again.cells[0]
    result = jf.simulate(cell.variants[0].case, realizations=64, seed=11)
    ours = again.ticks(cell, 64).values[:, : result.ticks.shape[1]]
    np.testing.assert_array_equal(ours, result.ticks)
    with pytest.raises(ValueError, match="seed 11, not 12"):
        run(study, tmp_path / "out", realizations=300, seed=12, targets=[target])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on_error": "go on"}, "on_error must be one of 'stop', 'finish', got 'go on'"),
        (
            {"executor": InProcess(), "workers": 2},
            "workers must be None where an executor is given",
        ),
        ({"backend": "gup"}, "backend must be one of"),
        ({"executor": InProcess(), "backend": "gup"}, "backend must be one of"),
        ({"threads": 0}, "threads must be"),
        ({"executor": InProcess(), "threads": 0}, "threads must be"),
        ({"realizations": 0}, "realizations must be"),
        ({"seed": -1}, "seed must be"),
        ({"batch_seconds": -1}, "batch_seconds must be a number above 0, got -1"),
        ({"batch_seconds": "1s"}, "batch_seconds must be a number above 0, got '1s'"),
        ({"shard": (1, 2)}, r"shard must be i/n with 1 <= i <= n, such as 2/8; got \(1, 2\)"),
        ({"targets": ["mean of nothing ± 1 %"]}, "nothing"),
        ({"targets": ["exact"]}, "exact"),
    ],
)
def test_refused_before_anything_is_made(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        run(sweep_cases.study(), tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_the_end_is_still_under_the_lock(tmp_path):
    def finish(store):
        with pytest.raises(ValueError, match="another run is writing into"):
            run(study, tmp_path / "out")
        ends.append(all(store.complete(cell) for cell in store.cells))

    ends = []
    study = sweep_cases.study(sweep_cases.PLAIN)
    run(study, tmp_path / "out", finish=finish)
    assert ends == [True]


def test_a_place_that_can_not_be_run_is_named(tmp_path, monkeypatch):
    def realize(*_):
        raise ValueError("not enough memory for that")

    monkeypatch.setattr("jitterfly.Case.realize", realize)
    with pytest.raises(ValueError, match=r"study: conventional: not enough .* \[at ranks=2, dur"):
        run(sweep_cases.study(), tmp_path / "out")


def press_after(batches):
    """An executor that presses Ctrl-C in a batch."""

    class Pressing(InProcess):
        left = batches

        def submit(self, fn, /, *args, **kwargs):
            self.left -= 1
            if not self.left:
                signal.raise_signal(signal.SIGINT)
            return super().submit(fn, *args, **kwargs)

    return Pressing()


@pytest.mark.parametrize("batches", some([1, 4, 9, 30], 2))
def test_ctrl_c_keeps_what_was_run(tmp_path, whole, batches):
    study = sweep_cases.study()
    with pytest.raises(Stopped, match=r"[0-9] of 4 cells (is|are) finished.*goes on from there"):
        run(study, tmp_path / "out", executor=press_after(batches), batch_seconds=0.005)
    kept = Store.open(tmp_path / "out")
    assert sum(kept.available(cell) > 0 for cell in kept.cells) > (batches > 1) - 1
    run(study, tmp_path / "out")
    assert sweep_cases.contents(tmp_path / "out") == whole


# --- cutting


class Fake:
    """A store of one cell that wants so many realizations, and keeps no data."""

    def __init__(self, want, holes):
        self.want, self.holes = want, holes
        self.study = SimpleNamespace(measures=lambda cell: ())

    def decision(self, cell):
        return Decision(0, 0, self.want, ())

    def missing(self, cell, upto):
        return self.holes

    def append(self, *args):
        pass


def cell_of(columns=1, raw_limit=10**9, work=1000):
    return SimpleNamespace(
        index=0, name="here", columns=(None,) * columns, raw_limit=raw_limit, work=work
    )


@pytest.mark.parametrize(("seconds", "speed"), [(1.0, 1e-6), (0.01, 1e-6), (1.0, 1e-9)])
def test_batches_take_the_time_wanted(seconds, speed):
    run = CellRun(cell_of(), Fake(10**9, [(0, 10**9)]), BatchSizer(seconds))
    run.look()
    counts = []
    for _ in range(12):
        batch = run.next_batch(0, "auto", None)
        counts.append(batch.count)
        run.put(batch, SimpleNamespace(ticks=None, summary=None, seconds=batch.count * speed))
    assert counts[-1] == pytest.approx(min(seconds / speed, 2**22), rel=1e-3)
    assert all(after <= 8 * before for before, after in itertools.pairwise(counts))


def test_batches_end_with_the_samples_and_at_looks():
    run = CellRun(
        cell_of(raw_limit=100, work=1), Fake(1000, [(30, 40), (90, 910)]), BatchSizer(1e6)
    )
    run.look()
    found = []
    while batch := run.next_batch(0, "auto", None):
        found.append((batch.first, batch.first + batch.count))
        assert (batch.measures is None) == (batch.first < 100)
    assert found[:2] == [(30, 70), (90, 100)]
    assert found[2][0] == 100
    assert found[-1][1] == 1000
    for (_, end), (first, _) in itertools.pairwise(found[2:]):
        assert end == first == grid_up(first)


def test_a_lost_batch_is_next():
    run = CellRun(cell_of(), Fake(1000, [(0, 1000)]), BatchSizer(1e-6))
    run.look()
    first, second = (run.next_batch(0, "auto", None) for _ in range(2))
    run.requeue(first)
    again = run.next_batch(0, "auto", None)
    assert (again.first, again.count) == (first.first, first.count)
    assert run.next_batch(0, "auto", None).first == second.first + second.count


# --- a study as a file, and stores whose store.json is gone


def test_a_study_may_be_a_path(tmp_path):
    path = tmp_path / "plain.toml"
    path.write_text(sweep_cases.PLAIN)
    for study in (path, str(path)):
        store = jf.run_study(study, tmp_path / "out", realizations=10)
        assert store.study.where == str(path)
    assert repr(store) == f"Store('plain' in '{tmp_path / 'out'}': 4 cells)"
    with pytest.raises(ValueError, match=r"study must be a Study or the path of .*, got 3"):
        jf.run_study(3, tmp_path / "out")
    with pytest.raises(OSError, match="nowhere"):
        jf.run_study(tmp_path / "nowhere.toml", tmp_path / "out")


def without_meta(finished, tmp_path, lock=False):
    """A finished store that lost its store.json, and perhaps the lock, in a copy without dots."""
    out = shutil.copytree(finished, tmp_path / "out")
    (out / "store.json").unlink()
    if not lock:
        (out / ".lock").unlink()
    return out


@pytest.mark.parametrize("lock", [True, False])
def test_records_without_a_store_json_are_taken_up(finished, whole, tmp_path, lock):
    out = without_meta(finished, tmp_path, lock)
    executor = Counting()
    run(sweep_cases.study(), out, executor=executor)
    assert not executor.batches
    assert sweep_cases.contents(out) == whole


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seed = 7", "seed = 8", r"holds records of another run \(seed 7, not 8\)"),
        ('"100ns", b', '"101ns", b', r"another run \(cells that this study does not have\)"),
    ],
)
def test_records_without_a_store_json_are_not_of_another_study(
    finished, tmp_path, old, new, message
):
    out = without_meta(finished, tmp_path)
    assert old in sweep_cases.STUDY
    other = sweep_cases.study(sweep_cases.STUDY.replace(old, new))
    before = {path: path.read_bytes() for path in (out / "records").iterdir()}
    with pytest.raises(ValueError, match=message):
        run(other, out)
    assert {path: path.read_bytes() for path in (out / "records").iterdir()} == before
    assert not (out / "store.json").exists()
    run(other, out, force=True, realizations=64)


# --- progress


def test_nothing_to_do_is_said(tmp_path, capsys):
    for expected in ("realizations/s", "4/4 cells, nothing to do"):
        told = io.StringIO()
        run(sweep_cases.study(), tmp_path / "out", stream=told)
        assert told.getvalue().splitlines()[-1].endswith(expected)
    for _ in range(2):  # from Python a run that ends at once says nothing
        run(sweep_cases.study(), tmp_path / "other")
    assert capsys.readouterr().err == ""


def test_progress_is_told_in_cells(tmp_path, capsys):
    """Never back, and to the end, also of a run that has nothing to do; Ctrl-C works from it."""
    told = []
    for executor in (InProcess(), None):
        study = sweep_cases.study()
        study.run(tmp_path / "out", executor=executor, progress=lambda *how: told.append(how))
        dones, cells = zip(*told, strict=True)
        assert list(dones) == sorted(dones)
        assert (dones[-1], set(cells)) == (4, {4})
    assert dones[0] < 1
    for shard, times in (("1/2", 2), ("2/2", 1)):
        for _ in range(times):
            told.clear()
            run(study, tmp_path / shard[0], shard=shard, progress=lambda *how: told.append(how))
            assert told[-1] == (2, 2)
    assert capsys.readouterr().err == ""
    with pytest.raises(ValueError, match="progress must be None or callable, got 3"):
        sweep_cases.study().run(progress=3)

    def interrupt(done, cells):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"of 4 cells (are|is) finished, and what was run"):
        run(sweep_cases.study(), tmp_path / "stopped", progress=interrupt)


def test_the_bar_never_goes_back():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    expected = iter([10.0, 5.0, 500.0, 1.0])
    cell = SimpleNamespace(index=0, variants=(0,), work=1)
    one = SimpleNamespace(cell=cell, done=False, decision=None, expected=lambda: next(expected))
    shown = []
    with RunProgressLine([one], Terminal()) as progress:
        for _ in range(3):
            progress.step(one, 5)
            progress._show()
            shown.append(progress.bar.n)
        one.done = True
    assert shown == sorted(shown)
    assert shown[0] == 0.5


def test_the_time_left_counts_small_cells(monkeypatch):
    """One cell of 2^20 ranks is done in half a minute, then 999 of one rank take as long each."""
    now = 0.0
    monkeypatch.setattr(
        "jitterfly.sweep.driver.time", clock := SimpleNamespace(monotonic=lambda: now)
    )
    monkeypatch.setattr("jitterfly.progress.time", clock)

    def cell(index, work):
        cell = SimpleNamespace(index=index, variants=(0,), work=work)
        run = SimpleNamespace(cell=cell, done=False, decision=None)
        run.expected = lambda: 0.0 if run.done else 10.0
        return run

    runs = [cell(0, 2**20), *(cell(i, 1) for i in range(1, 1000))]
    with RunProgressLine(runs, io.StringIO()) as progress:
        for run in runs[:500]:
            now += 1
            run.done = True
            progress.step(run, 10)
        assert "500/1000 cells, 8 min 20 s left" in progress.text()


@pytest.mark.parametrize("sign", ["±", full_scale("+-")])
@pytest.mark.full_scale
def test_targets_in_a_locale_without_unicode(tmp_path, sign):
    path = tmp_path / "sweep.toml"
    path.write_text(sweep_cases.STUDY, encoding="utf-8")
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "jitterfly", "run", path, "--out", tmp_path / "out"]
    target = f"mean of gain {sign} 500 %"
    subprocess.run(
        [*command, "--realizations", "64", "--target", target],
        env=os.environ | plain,
        check=True,
        capture_output=True,
    )
    (found,) = Store.open(tmp_path / "out").study.targets
    assert (found.observable, found.relative) == ("gain", 5.0)


def test_a_width_is_said_once(tmp_path):
    from jitterfly.results.tables import status

    study = sweep_cases.study(sweep_cases.PRECISE)
    run(study, tmp_path / "out", realizations=200, stream=io.StringIO())
    told = status(Store.open(tmp_path / "out"))
    assert re.search(r"mean of gain: not met, ± [0-9.]+ %, 2 % wanted", told)
    assert "(±" not in told
    assert re.search(r"not met, too few realizations|: met, ± [0-9.]+ %", told)


def test_times_and_rates_for_people():
    assert [show_duration(t) for t in (0.2, 42, 185, 7800)] == [
        "0 s",
        "42 s",
        "3 min 05 s",
        "2 h 10 min",
    ]
    assert [show_rate(r) for r in (0.5, 870, 12340, 4.5e6, 2e9)] == [
        "0.5",
        "870",
        "12.3k",
        "4.5M",
        "2G",
    ]


def test_progress_says_how_far_targets_are(tmp_path):
    told = io.StringIO()
    texts = []

    class Watching(InProcess):
        def submit(self, fn, /, *args, **kwargs):
            texts.append(self.progress.text())
            return super().submit(fn, *args, **kwargs)

    watching = Watching()
    before = RunProgressLine.__enter__

    def enter(self):
        watching.progress = self
        return before(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunProgressLine, "__enter__", enter)
        run(
            sweep_cases.study(),
            tmp_path / "out",
            executor=watching,
            stream=told,
            batch_seconds=0.01,
        )
    assert texts[0].startswith("0/4 cells, ")
    assert any(" left, " in text and " realizations/s, worst error " in text for text in texts)
    assert any("% (mean of gain)" in text or "% (p95 of redundant)" in text for text in texts)
    last = told.getvalue().splitlines()[-1]
    assert last.startswith("4/4 cells, ")
    assert "worst" not in last
    assert " left" not in last


def test_nothing_is_left_out_of_the_summary_of_a_finished_run(tmp_path):
    """Also where a thread, not the main one, drives."""
    found = []
    thread = threading.Thread(
        target=lambda: found.append(
            run(sweep_cases.study(sweep_cases.PLAIN), tmp_path / "out", stream=io.StringIO())
        )
    )
    thread.start()
    thread.join()
    assert all(found[0].complete(cell) for cell in found[0].cells)
    assert json.loads((tmp_path / "out" / "store.json").read_text())["study"] == "plain"
    assert len(list((tmp_path / "out" / "records").iterdir())) == 4
