"""Stores of many cells: shared record files, damage, format versions, speed of commands."""

import importlib
import json
import os
import re
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from support.scale import scaled
from support.small_store import STUDY, make, numbers, study

from jitterfly import cli
from jitterfly.case import Case
from jitterfly.network import Hockney
from jitterfly.observables import Observable
from jitterfly.results import figures, results, tables
from jitterfly.store import Store, merge, records
from jitterfly.store.records import MAGIC, RAW, SUMMARY, Identity, RecordFile, RecordSeries
from jitterfly.studies import grid


def many(periods, ranks="[2, 4]"):
    """A study of many small cells."""
    values = ", ".join(f'"{100 + i}us"' for i in range(periods))
    text = STUDY.replace("values = [4, 8]", f"values = {ranks}")
    axis = f'[axes.period]\npath = "noise.0.period"\nvalues = [{values}]\n\n'
    text = text.replace(', period = "100us"', "").replace(
        "[axes.duration]", f"{axis}[axes.duration]"
    )
    return text.replace("min = 50, max = 200", "max = 20")


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


@pytest.fixture
def shared(monkeypatch):
    """Even a few cells share files."""
    monkeypatch.setattr(records, "MAX_OWN_FILES", 0)


def record_names(path):
    return sorted(file.name for file in (path / "records").iterdir())


# --- files


def test_many_cells_are_in_few_files(out):
    described = study(many(scaled(150, least=60)))
    store = make(out, described)
    assert len(store.cells) == scaled(600, least=240) > records.MAX_OWN_FILES
    names = record_names(out)
    assert len(names) <= 256
    assert all(re.fullmatch(r"[0-9a-f]{2}\.jfr", name) for name in names)
    opened = Store.open(out)
    assert all(opened.complete(cell) for cell in opened.cells)
    for cell in opened.cells[::50]:
        np.testing.assert_array_equal(opened.ticks(cell, 20).values, store.ticks(cell, 20).values)


def test_shared_files_say_what_own_files_say(out, monkeypatch):
    text = STUDY.replace("max = 200", f"max = {scaled(3000)}, raw_bytes = 640")
    own = make(out / "own", study(text))
    monkeypatch.setattr(records, "MAX_OWN_FILES", 0)
    shared = make(out / "shared", study(text))
    assert numbers(shared) == numbers(Store.open(out / "shared")) == numbers(own)
    assert all(len(name) == len("3f.jfr") for name in record_names(out / "shared"))


def test_a_store_of_own_files_is_extended_in_them(out, monkeypatch):
    """Also with cells that are new, which share."""
    make(out, study())
    before = record_names(out)
    monkeypatch.setattr(records, "MAX_OWN_FILES", 0)
    larger = study(old="values = [4, 8]", new="values = [4, 8, 16]")
    larger = study(larger.text, "max = 200", "max = 300")
    store = make(out, larger)
    assert set(before) < set(record_names(out))
    assert len(record_names(out)) <= 6
    assert numbers(store) == numbers(make(out.with_name("one"), larger))


def test_a_study_that_became_small_goes_on_in_shared_files(out, shared, monkeypatch):
    make(out, study())
    before = record_names(out)
    monkeypatch.undo()
    more = study(old="max = 200", new="max = 300")
    assert numbers(make(out, more)) == numbers(make(out.with_name("one"), more))
    assert record_names(out) == before


def format_of(path):
    return json.loads((path / "store.json").read_text())["format"]


def test_programs_that_do_not_know_shared_files_refuse_them(out, monkeypatch):
    """They would find no records. A store of own files stays one that they read."""
    make(out, study())
    assert format_of(out) == 2
    make(out, study(old="max = 200", new="max = 300"))
    assert format_of(out) == 2
    own = numbers(Store.open(out))
    monkeypatch.setattr(records, "MAX_OWN_FILES", 0)
    make(out, study(old="values = [4, 8]", new="values = [4, 8, 16]"))
    assert format_of(out) == 3
    monkeypatch.undo()
    again = make(out, study(old="max = 200", new="max = 300"))
    assert format_of(out) == 3  # the files are still there
    assert numbers(again) == own
    (out / "store.json").unlink()
    make(out, study(old="max = 200", new="max = 300"))
    assert format_of(out) == 3
    merge(out.with_name("merged"), [out])
    assert format_of(out.with_name("merged")) == 2  # it has few cells, in files of their own


def test_shared_files_that_were_written_as_format_2_are_read_and_gone_on_with(out, shared):
    """As versions between two releases wrote them."""
    before = numbers(make(out, study()))
    meta = json.loads((out / "store.json").read_text())
    (out / "store.json").write_text(json.dumps(meta | {"format": 2}))
    assert numbers(Store.open(out)) == before
    assert numbers(make(out, study())) == before
    assert format_of(out) == 3


def test_a_smaller_study_goes_on_without_store_json(out, shared):
    """Also where none of its cells is the first one in a file that many share."""
    text = many(100, "[2]")
    store = make(out, study(text))
    first = {min(heads, key=lambda head: head[0])[1] for heads in heads_of(store).values()}
    axis = '[axes.period]\npath = "noise.0.period"\nvalues = '
    head, _, rest = text.partition(axis)
    later = [cell for cell in store.cells if cell.variants[0].hash not in first]
    labels = [cell.labels["period"] for cell in later]
    period = next(label for label in labels if labels.count(label) == 2)
    (out / "store.json").unlink()
    small = study(f'{head}{axis}["{period}"]{rest[rest.index("]") + 1 :]}')
    again = make(out, small)
    assert len(again.cells) == 2
    assert all(again.complete(cell) for cell in again.cells)


def heads_of(store):
    """Where records of samples begin, and of which cell, by file."""
    found = {}
    for cell in store.cells:
        series = store.records(cell).samples[0]
        found.setdefault(series.path, []).append((series.entries[0].offset, cell.variants[0].hash))
    return found


def test_another_study_does_not_go_on_without_store_json(out, shared):
    make(out, study())
    (out / "store.json").unlink()
    other = study(old='period = "100us"', new='period = "101us"')
    with pytest.raises(ValueError, match="cells that this study does not have"):
        make(out, other)


def test_shards_of_shared_and_own_files_are_one_run(out, monkeypatch):
    make(out / "shard-1-of-2", study(), (0, 3))
    monkeypatch.setattr(records, "MAX_OWN_FILES", 0)
    make(out / "shard-2-of-2", study(), (1, 2))
    merged = merge(out)
    assert numbers(merged) == numbers(make(out.with_name("one"), study()))
    monkeypatch.undo()
    again = merge(out.with_name("again"), [out])
    assert numbers(again) == numbers(merged)


def test_records_of_another_seed_are_refused(out, shared):
    make(out, study())
    (out / "store.json").unlink()
    with pytest.raises(ValueError, match=r"holds records of another run .seed 5, not 6"):
        make(out, study(old="seed = 5", new="seed = 6"))


COLUMNS = ("a", "b")
CELLS = [Identity(RAW, f"3f{i:014x}", 5, 1, COLUMNS) for i in range(3)]
SUMMARIES = Identity(SUMMARY, "3f" + "e" * 14, 5, 1, ())


def samples(cell, first, end):
    return np.arange(first, end)[:, None] * 7 + np.array([1000 * int(cell.id[-1]), 2])


def check(bundle):
    """What there is of each cell, all of which is right."""
    found = []
    for cell in CELLS:
        file = RecordSeries(bundle, cell)
        for first, end in file.covered:
            read = np.zeros((end - first, 2), np.int64)
            file.samples(read, first, end)
            np.testing.assert_array_equal(read, samples(cell, first, end))
        found.append(file.covered)
    return found


def filled(path):
    bundle = RecordFile(path, shared=True)
    for first in (0, 5):
        for cell in CELLS:
            RecordSeries(bundle, cell).append_samples(first, samples(cell, first, first + 5))
        RecordSeries(bundle, SUMMARIES).append_summary(first, 5, b"sum")
    return bundle


def test_records_of_many_cells_in_turn(tmp_path):
    bundle = filled(tmp_path / "3f.jfr")
    again = RecordFile(bundle.path, shared=True)
    assert check(bundle) == check(again) == [[(0, 10)]] * 3
    summaries = RecordSeries(again, SUMMARIES)
    assert summaries.spans == [(0, 5), (5, 10)]
    assert [summaries.payload(i) for i in range(2)] == [b"sum", b"sum"]


def test_a_file_is_looked_through_once(tmp_path, monkeypatch):
    bundle = filled(tmp_path / "3f.jfr")
    assert bundle.looks == 1
    again = RecordFile(bundle.path, shared=True)
    check(again)
    assert again.looks == 1


def test_a_shared_file_cut_at_every_byte(tmp_path, capsys):
    """A run that is killed while it writes loses that record only, whosever it is."""
    path = tmp_path / "3f.jfr"
    filled(path)
    content = path.read_bytes()
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        bundle = RecordFile(path, shared=True)
        check(bundle)
        for cell in CELLS:
            RecordSeries(bundle, cell).append_samples(0, samples(cell, 0, 10))
        assert check(bundle) == check(RecordFile(path, shared=True)) == [[(0, 10)]] * 3
        lines = set(capsys.readouterr().err.splitlines())
        assert len(lines) <= 1  # once, not for each cell
        assert all("is no whole record; it counts as missing" in line for line in lines)


def test_a_torn_record_that_looks_like_records_inside(tmp_path, capsys):
    """It goes as a whole: what is left of it would claim what is written behind it."""
    path = tmp_path / "3f.jfr"
    filled(path)
    good = path.stat().st_size
    other = Identity(SUMMARY, "3f" + "d" * 14, 5, 1, ())
    payload = b"x" * 100 + MAGIC + b"y" * 4000 + MAGIC
    RecordSeries(RecordFile(path, shared=True), other).append_summary(0, 5, payload)
    content = path.read_bytes()
    for length in (good + 300, good + 1000, len(content) - 1):
        path.write_bytes(content[:length])
        bundle = RecordFile(path, shared=True)
        for first in range(10, 400, 10):
            for cell in CELLS:
                RecordSeries(bundle, cell).append_samples(first, samples(cell, first, first + 10))
        capsys.readouterr()
        assert check(bundle) == check(RecordFile(path, shared=True)) == [[(0, 400)]] * 3
        assert capsys.readouterr().err == ""


def test_damage_in_a_shared_file_costs_one_cell(tmp_path, capsys):
    path = tmp_path / "3f.jfr"
    filled(path)
    content = path.read_bytes()
    for at in range(0, len(content), 11):
        damaged = bytearray(content)
        damaged[at] ^= 4
        path.write_bytes(damaged)
        bundle = RecordFile(path, shared=True)
        found = check(bundle)
        assert sum(spans != [(0, 10)] for spans in found) <= 1
        assert capsys.readouterr().err.count("it counts as missing") == 1
        for cell in CELLS:
            RecordSeries(bundle, cell).append_samples(0, samples(cell, 0, 10))
        assert check(bundle) == check(RecordFile(path, shared=True)) == [[(0, 10)]] * 3
        capsys.readouterr()


def test_two_writers_of_a_shared_file_where_there_are_no_locks(tmp_path):
    path = tmp_path / "3f.jfr"
    one, other = RecordFile(path, shared=True), RecordFile(path, shared=True)
    for bundle, cell in ((one, 0), (other, 1), (one, 2), (other, 0), (one, 1), (other, 2)):
        RecordSeries(bundle, CELLS[cell]).append_samples(0, samples(CELLS[cell], 0, 10))
    assert check(one) == check(other) == check(RecordFile(path, shared=True)) == [[(0, 10)]] * 3
    assert path.stat().st_size == one._size  # nothing was written twice


def test_a_full_disk_leaves_a_shared_file_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "3f.jfr"
    bundle = filled(path)
    content = path.read_bytes()

    def write(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("jitterfly.files.os.write", write)
        with pytest.raises(OSError, match="No space left on device"):
            RecordSeries(bundle, CELLS[0]).append_samples(10, samples(CELLS[0], 10, 12))
    assert path.read_bytes() == content
    assert check(bundle) == [[(0, 10)]] * 3


def test_records_of_another_seed_in_a_shared_file(tmp_path, capsys):
    path = tmp_path / "3f.jfr"
    filled(path)
    other = Identity(RAW, CELLS[1].id, 6, 1, COLUMNS)
    file = RecordSeries(RecordFile(path, shared=True), other)
    assert file.entries == []
    assert capsys.readouterr().err.count("is of seed 5, not 6; it counts as missing") == 2


# --- time


@pytest.mark.slow
@pytest.mark.timing
def test_commands_on_many_cells_answer_soon(tmp_path):
    """Processor time of commands on 2,000 cells, in times of a command that has none.

    What a command takes for a cell must leave room for 50,000 of them: 2 s of `status` and 20 s of
    `export`, where `--version` takes 0.2 s; on a slower machine as many times more.
    """
    file, out = tmp_path / "many.toml", tmp_path / "out"
    file.write_text(many(1000, "[2]"), encoding="utf-8")

    def seconds(*words):
        before = os.times()
        command = [sys.executable, "-m", "jitterfly", *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        after = os.times()
        told.append(done)
        times = after.children_user - before.children_user
        return times + after.children_system - before.children_system

    told = []
    seconds("run", file, "--out", out)
    assert "2000/2000 cells" in told[-1].stderr
    assert len(list((out / "records").iterdir())) <= 256
    assert sum(1 for _ in out.rglob("*")) < 300
    commands = ["--version"], ["status", out], ["export", out, tmp_path / "all.csv"]
    # The least of three, one after the other: what others on the machine do only adds to a time.
    rounds = [[seconds(*words) for words in commands] for _ in range(3)]
    idle, status, export = map(min, zip(*rounds, strict=True))
    cells = 2000 / 50_000
    assert status - idle < (0.5 + 2 * cells) * idle / 0.2
    assert "2,000 of 2,000 cells finished" in told[-2].stdout
    assert export - idle < (0.5 + 20 * cells) * idle / 0.2
    assert (tmp_path / "all.csv").read_text() == (out / "summary.csv").read_text()


READINGS = """[axes.reading.points]
1 = { compute_time = "1us" }
2 = { compute_time = "2us" }

"""


def test_a_finished_study_asks_each_cell_for_little(tmp_path, monkeypatch, capsys):
    """To say that it is finished takes one look at the fields of each case, and no observables."""
    file = tmp_path / "small.toml"
    text = many(9, ranks="[2, 4, 8]")
    file.write_text(text.replace("[axes.duration]", f"{READINGS}[axes.duration]"), encoding="utf-8")
    command = ["run", str(file), "--out", str(tmp_path / "out")]
    for name in ("run_directory", "cell_progress", "store"):
        monkeypatch.setattr(importlib.import_module(f"jitterfly.store.{name}"), "MANY", 10)
    monkeypatch.setattr(results, "MANY", 10)
    for name in ("MAX_ROWS_IN_ALL", "_ASKED"):
        monkeypatch.setattr(tables, name, 5)
    assert cli.main(command) == 0
    first = capsys.readouterr().out
    counts = Counter()

    def counted(owner, name):
        function = getattr(owner, name)

        def call(*args, **options):
            counts[name] += 1
            return function(*args, **options)

        monkeypatch.setattr(owner, name, call)

    counted(Case, "identity")
    counted(Observable, "resolve")
    counted(Hockney, "__init__")
    counted(figures, "axis_values")
    counted(grid, "_number_named")
    assert cli.main(command) == 0
    assert capsys.readouterr().out == first
    assert counts["identity"] == 108
    assert counts["resolve"] < 40  # of the cells that are shown; 216 are of all
    assert counts["axis_values"] < 30
    assert counts["_number_named"] < 30
    assert counts["__init__"] == 1
    # The same without what was written down.
    for name in ("numbers.npz", "progress.json"):
        (tmp_path / "out" / name).unlink()
    assert cli.main(command) == 0
    assert capsys.readouterr().out == first
