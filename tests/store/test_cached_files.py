"""Cached files of a store (`numbers.npz`, `progress.json`): never wrong, never needed; locks."""

import errno
import json
import os
import shutil
import time
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import Mock

import pytest
from support.small_store import STUDY, content, put, study, to_csv

from jitterfly import cli, progress
from jitterfly.executors import InProcess
from jitterfly.files import write_whole
from jitterfly.results.tables import status
from jitterfly.store import Store, cell_progress, export, merge, numbers
from jitterfly.store.cell_progress import ProgressWriter, run_progress
from jitterfly.store.numbers import Numbers
from jitterfly.store.run_directory import (
    UNKNOWN,
    fingerprint_of,
    holder,
    locked,
    read_cached,
    valid_content,
)
from jitterfly.store.store import keep_numbers, read_numbers
from jitterfly.studies import study as studies
from jitterfly.sweep import run

pytestmark = pytest.mark.usefixtures("blank_pictures")

TARGETED = 'targets = ["mean of completion ± 0.01 %", "p99 of gain ± 5 %"]\n' + STUDY


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(TARGETED, encoding="utf-8")
    return path


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    """As wide as what is asked for without a terminal."""
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture
def built(monkeypatch):
    """How often all cells of a study were built."""
    calls = []
    real = studies.build_cells
    monkeypatch.setattr(studies, "build_cells", lambda one: calls.append(1) or real(one))
    return calls


def jitterfly(*words):
    return cli.main([str(word) for word in words])


def computed(path):
    """What `status` says from the records alone."""
    return status(Store.open(path))


# --- without reading the records


def test_estimates_of_the_same_records_are_made_once(out, tmp_path, monkeypatch):
    pytest.importorskip("xarray")
    counted = Mock(side_effect=numbers.rows)
    monkeypatch.setattr(numbers, "rows", counted)
    with Store.create(out, study()) as store:
        for cell in store.cells:
            put(store, cell, 0, 50)
        store.to_csv(tmp_path / "a.csv")
        frame = store.to_pandas()
        store.to_xarray()
        export(store, tmp_path / "b.csv")
        assert counted.call_count == 1
        assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()
        assert len(store.to_pandas(0.99)) == len(frame)
        assert counted.call_count == 2
        put(store, store.cells[0], 50, 150)
        assert store.to_pandas(0.99).realizations.max() == 200
        assert counted.call_count == 3


def test_status_and_export_build_no_cell(file, out, built, capsys):
    assert jitterfly("run", file, "--out", out) == 0
    assert len(built) == 1
    told, table = computed(out), to_csv(Store.open(out))
    built.clear()
    capsys.readouterr()
    assert jitterfly("status", out) == 0
    assert capsys.readouterr().out == told + "\n"
    assert "p99 of gain: not met, too few realizations" in told
    assert jitterfly("export", out, out.with_suffix(".csv")) == 0
    assert built == []
    assert out.with_suffix(".csv").read_text() == table == (out / "summary.csv").read_text()


@pytest.mark.parametrize("suffix", [".nc", ".zarr", ".parquet"])
def test_what_is_exported_is_the_same_from_what_is_kept(file, out, suffix):
    xr, pandas = pytest.importorskip("xarray"), pytest.importorskip("pandas")
    for package in ("netCDF4", "zarr", "pyarrow"):
        pytest.importorskip(package)
    assert jitterfly("run", file, "--out", out) == 0
    kept, fresh = out.with_suffix(suffix), out.with_name("fresh" + suffix)
    assert Numbers.read_cached(out) is not None
    export(read_numbers(out), kept)
    export(Store.open(out), fresh)
    if suffix == ".parquet":
        pandas.testing.assert_frame_equal(pandas.read_parquet(kept), pandas.read_parquet(fresh))
        return
    engine = {".nc": "netcdf4", ".zarr": "zarr"}[suffix]
    with xr.open_dataset(kept, engine=engine) as one, xr.open_dataset(fresh, engine=engine) as two:
        xr.testing.assert_identical(one.load(), two.load())


def test_observables_keep_the_order_of_the_study(out):
    """Also where a cell has fewer of them than others."""
    text = STUDY.replace("after = 1", 'after = "all"').replace("T = 1", "T = 3")
    text += '[observables.last]\nkind = "slowdown"\nT = 0\n'
    with Store.create(out, study(text)) as store:
        for cell in store.cells:
            put(store, cell, 0, 200)
        rows = [row[2] for row in Numbers.of(store).rows() if row[5] == "mean"]
    assert rows == ["completion", "last"] * 2 + ["completion", "gain", "last"] * 2


# --- never wrong


def test_whatever_happens_to_what_is_kept(file, out, capsys):
    assert jitterfly("run", file, "--out", out) == 0
    told, table = computed(out), to_csv(Store.open(out))
    for name, kept_is_used in (
        ("progress.json", lambda: valid_content(out / "progress.json") is not None),
        ("numbers.npz", lambda: Numbers.read_cached(out) is not None),
    ):
        whole = (out / name).read_bytes()
        assert kept_is_used()
        damaged = [b"", b"\n", b"{}", b"[1]\n2", whole[:-1], whole[: len(whole) // 2], whole + b"x"]
        for at in range(0, len(whole), len(whole) // 40):
            flipped = bytearray(whole)
            flipped[at] ^= 1
            damaged.append(bytes(flipped))
        line, _, rest = whole.partition(b"\n")
        damaged.append(json.dumps(json.loads(line) | {"fingerprint": "0"}).encode() + b"\n" + rest)
        for some in damaged:
            (out / name).write_bytes(some)
            # What is flipped may be the time at which it was written, which nobody trusts.
            if kept_is_used():
                kept = read_cached(out / name)
                assert kept.content == rest
        (out / name).write_bytes(b"{}")
        assert status(run_progress(out)) == told
        assert jitterfly("export", out, out.with_suffix(".csv")) == 0
        assert out.with_suffix(".csv").read_text() == table
        (out / name).unlink()
        assert status(run_progress(out)) == told
        (out / name).write_bytes(whole)
    capsys.readouterr()


def test_what_is_kept_of_other_records_does_not_count(file, out, capsys):
    assert jitterfly("run", file, "--out", out) == 0
    kept = {name: (out / name).read_bytes() for name in ("progress.json", "numbers.npz")}
    assert valid_content(out / "progress.json")
    assert Numbers.read_cached(out)

    def check():
        for name, whole in kept.items():
            (out / name).write_bytes(whole)
        assert valid_content(out / "progress.json") is None
        assert Numbers.read_cached(out) is None
        assert status(run_progress(out)) == computed(out)

    record = sorted((out / "records").iterdir())[0]
    whole = record.read_bytes()
    record.write_bytes(whole[:-3])
    check()
    assert "0 of 4" not in computed(out)
    record.unlink()
    check()
    assert jitterfly("run", file, "--out", out, "--realizations", "300") == 0
    check()
    assert jitterfly("run", file, "--out", out, "--seed", "9", "--force") == 0
    check()
    capsys.readouterr()


def test_what_is_kept_counts_in_a_copy(file, out, built):
    """As `cp -r`, scp and archives make it: all times of change are others."""
    assert jitterfly("run", file, "--out", out) == 0
    copy = shutil.copytree(out, out.with_name("copy"), copy_function=shutil.copyfile)
    for path in copy.rglob("*"):
        os.utime(path, (10**9, 10**9))
    assert valid_content(copy / "progress.json") == valid_content(out / "progress.json") is not None
    assert Numbers.read_cached(copy) is not None
    built.clear()
    run_progress(copy)
    assert built == []


def test_a_file_of_the_study_with_other_content_voids_what_is_kept(out):
    with Store.create(out, study()) as store:
        (out / "files").mkdir()
        (out / "files" / "a.noise").write_text("one")
        ProgressWriter(store, [None] * 4).write()
    assert valid_content(out / "progress.json") is not None
    changed = (out / "files" / "a.noise").stat().st_mtime_ns + 10**9
    (out / "files" / "a.noise").write_text("two")
    os.utime(out / "files" / "a.noise", ns=(changed, changed))
    assert valid_content(out / "progress.json") is None


def test_a_store_that_was_replaced_keeps_nothing_of_before(out):
    with Store.create(out, study()) as store:
        ProgressWriter(store, [None] * 4).write()
        keep_numbers(store)
    with Store.create(out, study(old="seed = 5", new="seed = 6"), force=True):
        assert not (out / "progress.json").exists()
        assert not (out / "numbers.npz").exists()


def test_a_full_disk_only_costs_what_is_kept(out, monkeypatch):
    def full(file, content, *, sync):
        if file.name in ("progress.json", "numbers.npz"):
            raise OSError(28, "No space left on device")
        write_whole(file, content, sync=sync)

    monkeypatch.setattr("jitterfly.store.run_directory.write_whole", full)
    store = run(study(), out)
    assert all(store.complete(cell) for cell in store.cells)
    assert not (out / "progress.json").exists()


@pytest.mark.parametrize("damage", ["{", "[]"])
def test_a_damaged_store_json_ends_no_run(out, damage):
    """Nor does it take the place of what ends it: what is kept may be missing."""

    class Damaging(Interrupted):
        def submit(self, fn, /, *args, **kwargs):
            (out / "store.json").write_text(damage)
            return super().submit(fn, *args, **kwargs)

    with pytest.raises(KeyboardInterrupt, match="the same command goes on from there"):
        run(study(), out, executor=Damaging(), batch_seconds=1e-6)
    (out / "store.json").unlink()
    store = run(study(), out, finish=lambda _: (out / "store.json").write_text("{"))
    assert Numbers.of(store).arrays["realizations"].tolist() == [200] * 4
    assert keep_numbers(store).arrays["realizations"].tolist() == [200] * 4
    assert not (out / "numbers.npz").exists()


def test_numbers_that_lack_what_another_wrote_are_not_kept(out):
    """`merge` lets go of the directory, and a run writes before the numbers are made."""
    described = study(old="max = 200", new="max = 2000")
    with Store.create(out / "shard-1-of-1", described) as shard:
        for cell in shard.cells:
            put(shard, cell, 0, 100)
    merged = merge(out)
    with Store.create(out, described) as store:
        for cell in store.cells:
            put(store, cell, 100, 500)
    keep_numbers(merged)
    ProgressWriter(merged, [merged.decision(cell) for cell in merged.cells]).write()
    assert Numbers.read_cached(out) is None
    assert valid_content(out / "progress.json") is None
    again = Store.open(out)
    keep_numbers(again)
    assert Numbers.read_cached(out).arrays["realizations"].tolist() == [600] * 4


def test_merge_keeps_what_it_found_while_it_holds_the_directory(out):
    described = study()
    with Store.create(out / "shard-1-of-1", described) as shard:
        put(shard, shard.cells[0], 0, 100)
    found = []
    merge(out, finish=lambda _: found.append(holder(out)))
    assert found[0].startswith(f"pid {os.getpid()} on ")


@pytest.mark.parametrize("most", [0, 200])
def test_two_runs_where_there_are_no_locks_keep_nothing_wrong(out, monkeypatch, most):
    """In files of their own, and in files that both write into."""
    without_locks(monkeypatch)
    monkeypatch.setattr("jitterfly.store.records.MAX_OWN_FILES", most)
    with Store.create(out, study()) as one, Store.create(out, study()) as other:
        diaries = [ProgressWriter(store, [None] * 4) for store in (one, other)]
        for store, diary, cells in zip((one, other), diaries, ((0, 1), (2, 3)), strict=True):
            for i in cells:
                put(store, store.cells[i], 0, 200)
                diary._changed[i] = None
        for diary in reversed(diaries):
            diary.write()
        for i in (0, 1):  # which finds what the other wrote
            put(one, one.cells[i], 200, 50)
            diaries[0]._changed[i] = None
        diaries[0].write()
    assert valid_content(out / "progress.json") is None
    assert "4 of 4 cells finished" in status(run_progress(out))


# --- of many cells


def test_what_the_last_looks_decided_is_not_decided_again(file, out, capsys, monkeypatch):
    assert jitterfly("run", file, "--out", out) == 0
    table, store = capsys.readouterr().out, Store.open(out)
    cells = store.cells
    decided = [store.decision(cell) for cell in cells]
    monkeypatch.setattr("jitterfly.store.store.decide", None)  # nobody asks
    assert jitterfly("run", file, "--out", out) == 0
    assert capsys.readouterr().out == table
    with Store.create(out, store.study) as again:
        assert cell_progress.is_finished(again)
        for cell, known in zip(cells, decided, strict=True):
            kept = again.decision(cell)
            assert [repr(one) for one in kept.states] == [
                repr(replace(one, estimate=replace(one.estimate, events=None)))
                for one in known.states
            ]
            assert replace(kept, states=()) == replace(known, states=())


def test_what_is_finished_is_not_read_again(file, out, capsys, monkeypatch):
    assert jitterfly("run", file, "--out", out) == 0
    files = {out / name: (out / name).stat().st_mtime_ns
             for name in ("summary.csv", "numbers.npz", "progress.json")}  # fmt: skip
    table = capsys.readouterr().out
    monkeypatch.setattr("jitterfly.sweep.driver.CellRun.look", None)  # nobody asks
    assert jitterfly("run", file, "--out", out) == 0
    printed = capsys.readouterr()
    assert "4/4 cells, nothing to do" in printed.err
    assert printed.out == table
    assert {path: path.stat().st_mtime_ns for path in files} == files
    (out / "summary.csv").unlink()
    assert jitterfly("run", file, "--out", out) == 0
    assert (out / "summary.csv").read_text() == to_csv(Store.open(out))


def test_a_finished_run_makes_damaged_records_again(file, out, capsys):
    """The file of a record has the size that it had when the run wrote down that it is finished."""
    assert jitterfly("run", file, "--out", out) == 0
    whole, table = (out / "summary.csv").read_bytes(), capsys.readouterr().out
    record = min((out / "records").iterdir())
    changed = bytearray(record.read_bytes())
    changed[len(changed) // 2] ^= 1
    record.write_bytes(changed)
    assert jitterfly("run", file, "--out", out) == 0
    printed = capsys.readouterr()
    assert "it counts as missing" in printed.err
    assert "nothing to do" not in printed.err
    assert printed.out == table
    assert (out / "summary.csv").read_bytes() == whole


def test_status_of_many_cells_after_a_kill(out, built, monkeypatch):
    """As it was some seconds before; later, or of few cells, from the records, which is kept."""
    monkeypatch.setattr(cell_progress, "MANY", 4)
    with Store.create(out, study(TARGETED)) as store:
        put(store, store.cells[0], 0, 100)
        ProgressWriter(store, [None] * 4).write()
        put(store, store.cells[0], 100, 100)
    written = read_cached(out / "progress.json").time
    for record in (out / "records").iterdir():
        os.utime(record, (written + 7, written + 7))
    built.clear()
    told = status(run_progress(out))
    assert "as of 7 s before the run was stopped; no run is going on" in told
    assert "100 realizations" in told
    assert built == []
    for record in (out / "records").iterdir():
        os.utime(record, (written + 700, written + 700))
    assert status(run_progress(out)) == computed(out)
    assert "200 realizations" in computed(out)
    built.clear()
    assert status(run_progress(out)) == computed(out)
    assert len(built) == 1  # of `computed` alone


def test_a_directory_without_a_run_says_what_may_be_meant(file, out, capsys):
    assert jitterfly("run", file, "--out", out) == 0
    assert jitterfly("status", out.parent) == 2
    assert "holds no run (no store.json in it); runs below it: out" in capsys.readouterr().err
    (out.parent / "new").mkdir()
    assert jitterfly("status", out.parent / "new") == 2
    assert "one that has just begun checks its cells first" in capsys.readouterr().err


def test_status_and_compare_show_values_with_their_units(out, capsys):
    text = STUDY.replace('["1us", "10us"]', '[1e-6, "10us"]')
    run(study(text), out)
    assert jitterfly("status", out) == 0
    assert jitterfly("compare", out, out) == 0
    printed = capsys.readouterr().out
    assert "1e-06" not in printed
    assert printed.count(" 1 µs ") == printed.count(" 10 µs ") == 4


# --- while a run goes on


def test_status_of_a_run_that_goes_on(out, built):
    with Store.create(out, study(TARGETED)) as store:
        diary = ProgressWriter(store, [None] * 4)
        put(store, store.cells[0], 0, 50)
        diary.step(0, store.decision(store.cells[0]))
        kept = status(run_progress(out))
        assert f"a run is going on (pid {os.getpid()} on " in kept
        assert "50 realizations" in kept
        built.clear()
        put(store, store.cells[1], 0, 50)  # which is not written down yet
        told = status(run_progress(out))
        assert "as of 0 s ago; a run is going on (pid " in told
        assert "50 realizations" in told
        assert built == []
        diary.step(1, None)  # too soon to be written down again
        assert "as of " in status(run_progress(out))
        diary.write()
        assert "100 realizations" in status(run_progress(out))
    told = status(run_progress(out))
    assert told.endswith("no run is going on")
    assert " begun" in told  # and not that the cell runs
    assert told == computed(out)


def test_what_was_written_down_of_another_study_is_not_shown(out):
    with Store.create(out, study()) as store:
        ProgressWriter(store, [None] * 4).write()
    with Store.create(out, study(old="max = 200", new="max = 300")) as store:
        put(store, store.cells[0], 0, 50)
        told = status(run_progress(out))
        assert "as of" not in told
        assert "50 realizations" in told


def test_what_is_said_to_be_there_is_on_disk(out, monkeypatch):
    """Records are written behind the run, which may be killed."""
    real = os.write

    def slow(*words):
        time.sleep(0.05)
        return real(*words)

    with Store.create(out, study()) as store, store.writing():
        diary = ProgressWriter(store, [None] * 4)
        monkeypatch.setattr("jitterfly.files.os.write", slow)
        put(store, store.cells[0], 0, 50)
        diary._changed[0] = None
        diary.write()
        assert read_cached(out / "progress.json").fingerprint == fingerprint_of(out)
        assert "50 realizations" in status(run_progress(out))


class Interrupted(InProcess):
    """Ctrl-C in the third batch; every one before it is said to have taken a millisecond."""

    batches = 0

    def submit(self, fn, /, *args, **kwargs):
        self.batches += 1
        if self.batches == 3:
            raise KeyboardInterrupt
        future = Future()
        future.set_result(replace(fn(*args, **kwargs), seconds=1e-3))
        return future


@pytest.mark.parametrize("text", [STUDY, TARGETED])
@pytest.mark.parametrize("batch_seconds", [1.0, 1e-6])
def test_ctrl_c_writes_down_how_far_it_is(out, built, text, batch_seconds):
    """Between two cells, and before the first look at one."""
    described = study(text)
    with pytest.raises(KeyboardInterrupt):
        run(described, out, executor=Interrupted(), batch_seconds=batch_seconds)
    built.clear()
    told = status(run_progress(out))
    assert built == []
    assert told == computed(out)
    assert told.endswith("no run is going on")
    assert (" begun" in told) == (text is TARGETED or batch_seconds < 1)


def test_it_costs_a_run_little(out, monkeypatch):
    """The longer it takes, the rarer it is written."""
    now = [0.0]
    monkeypatch.setattr(cell_progress.time, "monotonic", lambda: now[0])
    written = []

    def keep(*_):
        now[0] += 1.0
        written.append(now[0])

    monkeypatch.setattr(cell_progress, "write_cached", keep)
    with Store.create(out, study()) as store:
        diary = ProgressWriter(store, [None] * 4)
        for _ in range(1000):
            now[0] += 0.5
            diary.step(0, None)
    assert len(written) <= 0.02 * now[0] + 2


# --- who holds a store


def test_who_holds_a_store(tmp_path):
    assert holder(tmp_path) is None
    with locked(tmp_path):
        who = holder(tmp_path)
        assert who.startswith(f"pid {os.getpid()} on ")
        with pytest.raises(ValueError, match=r"another run is writing into .* \(pid [0-9]+ on "):
            locked(tmp_path).__enter__()
        assert holder(tmp_path) == who  # who was refused left it as it was
    assert holder(tmp_path) is None


def without_locks(monkeypatch):
    def flock(*_):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr("fcntl.flock", flock)


def test_without_locks_it_is_not_known_whether_a_run_goes_on(out, monkeypatch, capsys):
    """A file that can not be read says as little; no file says that there is no run."""
    store = run(study(), out)
    without_locks(monkeypatch)
    with locked(out):
        assert holder(out) == UNKNOWN
        assert "whether a run is going on is not known here" in status(run_progress(out))
        assert status(store) == status(run_progress(out))
        capsys.readouterr()
        assert jitterfly("status", out, "--json") == 0
        told = json.loads(capsys.readouterr().out)
        assert (told["running"], told["running_known"]) == (None, False)
    (out / ".lock").unlink()
    assert holder(out) is None
    (out / ".lock").mkdir()
    assert holder(out) == UNKNOWN


def test_who_only_asks_does_not_stop_a_run(tmp_path, monkeypatch):
    import fcntl

    with locked(tmp_path):
        pass
    with (tmp_path / ".lock").open() as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)
        monkeypatch.setattr(
            "jitterfly.store.run_directory.time.sleep", lambda _: fcntl.flock(asking, fcntl.LOCK_UN)
        )
        with locked(tmp_path):
            pass


def test_reading_writes_nothing(file, out, capsys):
    assert jitterfly("run", file, "--out", out) == 0
    (out / "progress.json").unlink()
    before = content(out)
    assert jitterfly("status", out) == 0
    assert jitterfly("export", out, out.with_suffix(".csv")) == 0
    assert content(out) == before
    capsys.readouterr()


# --- signs of life


@contextmanager
def clock(monkeypatch, step):
    now = [0.0]

    def monotonic():
        now[0] += step
        return now[0]

    lines = []
    monkeypatch.setattr(progress.time, "monotonic", monotonic)
    with progress.progress_to(lines.append):
        yield lines


def test_what_is_quick_says_nothing(monkeypatch):
    with clock(monkeypatch, 0.001) as lines:
        assert list(progress.counted_progress("abc", 3, "reading")) == ["a", "b", "c"]
    assert lines == []


def test_what_is_slow_says_how_far_it_is(monkeypatch):
    with clock(monkeypatch, 0.5) as lines:
        list(progress.counted_progress(range(50), 50, "reading cells"))
    assert lines == [
        "reading cells: 0 of 50",
        "reading cells: 20 of 50",
        "reading cells: 40 of 50",
        "reading cells: 50 of 50 in 25.5 s",
    ]


def test_of_many_the_first_line_comes_at_once(monkeypatch):
    with clock(monkeypatch, 0.0) as lines:
        assert next(progress.counted_progress(iter(range(50_000)), 50_000, "checking cells")) == 0
    assert lines == ["checking cells: 0 of 50,000"]


def test_every_phase_of_a_run_is_told(file, out, monkeypatch, capsys):
    for name in ("FIRST", "LONG", "EVERY"):
        monkeypatch.setattr(progress, name, 0.0)
    assert jitterfly("run", file, "--out", out) == 0
    told = capsys.readouterr()
    for what in (
        "checking cells: 4 of 4",
        "looking at what is there: 4 of 4",
        "estimating cells: 4 of 4",
        f"writing {out / 'summary.csv'}",
        "making the table",
    ):
        assert f"jitterfly: {what}" in told.err
        assert what not in told.out
    (out / "progress.json").unlink()
    assert jitterfly("status", out) == 0
    assert "jitterfly: reading cells: 4 of 4" in capsys.readouterr().err
