"""`Store`: resume, extension, locks, one writer, kill at any time, damage, changed studies."""

import fcntl
import json
import os
import pickle
import random
import time
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from support import scale
from support.forkserver import FORKSERVER
from support.scale import full_scale, scaled
from support.small_store import (
    FILLED,
    PRECISE,
    STUDY,
    TARGETS,
    TWO,
    content,
    fill,
    make,
    make_slowly,
    numbers,
    put,
    study,
    ticks,
)

from jitterfly import files
from jitterfly.observables import Target
from jitterfly.store import Store
from jitterfly.store import run_directory as locks
from jitterfly.store.cell_progress import run_progress
from jitterfly.store.records import RecordSeries
from jitterfly.store.store import read_numbers
from jitterfly.studies import Study, parse_study
from jitterfly.studies.grid import digest
from jitterfly.sweep import run


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


# --- what is in it


def test_layout(out):
    store = make(out)
    names = sorted(path.name for path in out.iterdir())
    assert names == [".lock", "records", "store.json", "study.toml"]
    variant = store.cells[1].variants[0]
    assert (out / "records" / f"ranks=4_duration=10us_{variant.hash}.jfr").is_file()
    assert len(list((out / "records").iterdir())) == 4
    assert (out / "study.toml").read_text() == STUDY
    meta = json.loads((out / "store.json").read_text())
    assert (meta["format"], meta["study"], meta["seed"], meta["backend"]) == (
        2,
        "small",
        5,
        ["cpu"],
    )


def test_samples_come_back(out):
    store = make(out, study(TWO))
    for opened in (store, Store.open(out)):
        for cell in opened.cells:
            assert opened.available(cell) == 200
            found = opened.ticks(cell, 200)
            assert found.columns == cell.columns
            np.testing.assert_array_equal(found.values, ticks(cell, 0, 200).values)
            assert opened.complete(cell)
            assert opened.observed(cell, "completion").realizations == 200


def test_a_cell_by_its_place(out):
    """Values as in the study, or numbers; as few axes as tell it from the others."""
    text = STUDY.replace("[axes.duration]", '[axes."D / P"]')
    store = Store(out, parse_study(text), {})
    assert [store.cell(cell.coordinates) for cell in store.cells] == store.cells
    assert [store.cell(cell.labels) for cell in store.cells] == store.cells
    wanted = store.cells[3]
    assert wanted.labels == {"ranks": "8", "D / P": "10us"}
    for duration in ("10us", "10 us", "0.01ms", 1e-5, np.float64(10e-6)):
        assert store.cell({"D / P": duration}, ranks=8) is wanted
    sizes = STUDY + '[axes.bytes]\npath = "message_bytes"\nvalues = ["1KiB", "8KiB"]\n'
    sizes = Store(out, parse_study(sizes.replace("values = [4, 8]", "values = [4]")), {})
    for size in ("8KiB", "8K", 8192, "8192"):
        assert sizes.cell(bytes=size, duration="1us").coordinates["bytes"] == 8192
    with pytest.raises(ValueError, match=r"^2 cells are at D / P=10us: also give ranks$"):
        store.cell({"D / P": "10us"})
    with pytest.raises(ValueError, match=r"^4 cells are in the study: also give ranks, D / P$"):
        store.cell()
    with pytest.raises(ValueError, match=r"^axis must be one of 'ranks', 'D / P', got 'rank' .did"):
        store.cell(rank=8)
    with pytest.raises(ValueError, match=r"^ranks must be one of '4', '8', got '9'"):
        store.cell(ranks=9)


@pytest.fixture
def reads(monkeypatch):
    """Files whose samples are read, while the store keeps those of one cell only."""
    found = []
    read_samples = RecordSeries.pieces

    def counted(self, *arguments):
        found.append(self)
        return read_samples(self, *arguments)

    monkeypatch.setattr(RecordSeries, "pieces", counted)
    monkeypatch.setattr("jitterfly.store.store._MAX_DATA", 1)
    return found


@pytest.mark.parametrize("text", [TWO, FILLED], ids=["samples", "samples and a summary"])
def test_what_was_computed_of_samples_is_kept_when_they_are_not(out, reads, text):
    """They are read again when they are asked for."""
    make(out, study(text))
    store = Store.open(out)

    def estimates(store):
        names = ("mean", "p50", "max")
        return [repr(store.estimate(cell, "completion", name))
                for cell in store.cells for name in names]  # fmt: skip

    first, read = estimates(store), len(reads)
    assert read >= len(store.cells) > 1
    assert estimates(store) == first
    if all(store.data(cell, store.available(cell)).exact for cell in store.cells):
        assert len(reads) == read  # histograms of what is in part in a summary take samples
    known = [store.observed(cell, "completion").samples for cell in Store.open(out).cells]
    observed = [store.observed(cell, "completion") for cell in store.cells]
    (out / "records").rename(out / "moved")
    restored = pickle.loads(pickle.dumps(observed))
    for _ in range(2):
        for one, samples in zip([*observed, *restored], [*known, *known], strict=True):
            np.testing.assert_array_equal(one.samples, samples)
    assert len(store._data) == 1


def test_no_more_is_kept_than_there_shall_be(out, reads, monkeypatch):
    make(out, study(TWO))
    store = Store.open(out)
    for size in (2**26, 10_000, 0):
        monkeypatch.setattr("jitterfly.store.store._MAX_COMPUTED_BYTES", size)
        for cell in store.cells * 2:
            for name in ("mean", "p50", "max"):
                store.estimate(cell, "completion", name)
        sizes = [size for size, _ in store._computed.values()]
        assert sum(sizes) == store._computed_bytes <= size
        assert (len(sizes) == len(store.cells)) == (size == 2**26)


def test_opening_writes_nothing(out):
    make(out, study(PRECISE))
    before = content(out)
    numbers(Store.open(out))
    assert content(out) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_may_not_be_written(out):
    expected = numbers(make(out))
    (out / ".lock").unlink()
    for path in (out / "records", out):
        path.chmod(0o555)
    try:
        assert numbers(Store.open(out)) == expected
        with pytest.raises(PermissionError, match="lock"), Store.create(out, study()):
            pass
    finally:
        for path in (out, out / "records"):
            path.chmod(0o755)


def test_where_no_lock_can_be_had_the_error_says_how_to_read(out):
    make(out)
    (out / ".lock").unlink()
    (out / ".lock").mkdir()  # as of a file system that is mounted to read
    with pytest.raises(OSError, match=r"`jitterfly plot .*out` and Store.open only read"):
        make(out)


def test_appending_twice_writes_once(out):
    with Store.create(out, study()) as store:
        cell = store.cells[0]
        put(store, cell, 0, 50)
        size = content(out)
        put(store, cell, 0, 50)
        put(store, cell, 10, 20)
        assert content(out) == size
        put(store, cell, 40, 20)
        assert store.available(cell) == 60
        put(store, cell, 80, 20)
        assert store.available(cell) == 60
        assert store.missing(cell, 120) == [(60, 20), (100, 20)]
        with pytest.raises(ValueError, match="lacks realizations 60 to 79"):
            store.data(cell, 100)


def test_errors_of_reading(out):
    with Store.create(out, study()) as store:
        cell = store.cells[0]
        assert store.available(cell) == 0
        with pytest.raises(ValueError, match="ranks=4, duration=1us has no realizations yet"):
            store.observed(cell, "completion")
        put(store, cell, 0, 10)
        with pytest.raises(ValueError, match="observable must be one of 'completion', 'gain'"):
            store.observed(cell, "completed")
        with pytest.raises(ValueError, match="must have the columns of the cell"):
            store.append(cell, 10, ticks(cell, 10, 5), None, 6)


# --- summaries


@pytest.fixture(scope="module")
def exact(tmp_path_factory):
    """All samples of 3000 realizations; only read."""
    return make(tmp_path_factory.mktemp("exact"), study(old="max = 200", new="max = 3000"))


@pytest.mark.parametrize("kept", [full_scale(0), 40, full_scale(100)])
def test_beyond_what_is_kept_raw(out, exact, kept):
    """Means are the same to the last bit, quantiles to the histogram's resolution."""
    raw_bytes = kept * 8 * 2
    settings = f"max = 3000, raw_bytes = {raw_bytes}"
    small = make(out, study(old="max = 200", new=settings), size=500)
    for cell, whole in zip(small.cells, exact.cells, strict=True):
        assert cell.raw_limit == kept
        assert small.available(cell) == 3000
        data = small.data(cell, 3000)
        assert (data.count, data.exact) == (3000, False)
        assert (0 if data.ticks is None else len(data.ticks)) == kept
        for name in ("completion", "gain"):
            ours, theirs = small.observed(cell, name), exact.observed(whole, name)
            assert repr(ours.mean()) == repr(theirs.mean())
            assert ours.quantile(0.9).value == pytest.approx(theirs.quantile(0.9).value, rel=1e-3)
    assert numbers(Store.open(out)) == numbers(small)


@pytest.mark.full_scale
def test_cuts_do_not_matter(out):
    described = study(PRECISE, "max = 20000", f"max = {scaled(20000)}, raw_bytes = 4000")
    stores = [make(out / str(size), described, size=size) for size in (25, 400, 10**6)]
    assert numbers(stores[0]) == numbers(stores[1]) == numbers(stores[2])


MANY = scaled(3000, least=600)


def test_a_smaller_limit_inside_a_summary(out):
    """The way to it is filled, once."""
    smaller = MANY // 3 + 1
    many, few = (f"max = {most}, raw_bytes = 320" for most in (MANY, smaller))
    make(out, study(old="max = 200", new=many), size=500)
    again = make(out, study(old="max = 200", new=few), size=500)
    assert [again.decision(cell).realizations for cell in again.cells] == [smaller] * 4
    other = make(out.with_name("b"), study(old="max = 200", new=few))
    assert numbers(again) == numbers(other)
    assert numbers(make(out, again.study)) == numbers(again)


@pytest.mark.parametrize(
    "kept", [(320, 3200), *map(full_scale, [(3200, 320), (0, 10**6), (10**6, 0)])]
)
def test_other_raw_bytes(out, kept):
    """Samples serve where summaries are wanted; where samples are wanted they are made."""
    most = MANY // 3 - 1
    before, after = (study(old="max = 200", new=f"max = {most}, raw_bytes = {b}") for b in kept)
    make(out, before)
    assert numbers(make(out, after)) == numbers(make(out.with_name("b"), after))


# --- going on


@pytest.mark.full_scale
def test_decisions_depend_on_the_data_alone(out):
    described = study(PRECISE, "± 3 %", "± 3 %" if scale.FULL else "± 10 %")
    whole = make(out, described, size=1000)
    cell = whole.cells[0]
    decision = whole.decision(cell)
    assert decision.met
    assert 50 < decision.realizations < 20_000
    part = out.with_name("part")
    draw = random.Random(1)
    for _ in range(200):  # a run that is stopped again and again
        with Store.create(part, described) as store:
            todo = [p for p in store.cells if not store.complete(p)]
            if not todo:
                break
            p = draw.choice(todo)
            first, count = store.missing(p, store.decision(p).next)[0]
            put(store, p, first, draw.randrange(1, count + 1), draw.choice([50, 500]))
    assert numbers(Store.open(part)) == numbers(whole)


def test_intervals_of_targets_are_those_of_the_looks(out):
    store = make(out, study(PRECISE))
    cell = store.cells[0]
    state = store.decision(cell).states[0]
    assert repr(store.estimate(cell, "completion", "mean")) == repr(state.estimate)
    plain = store.observed(cell, "completion").mean()
    assert state.estimate.low < plain.low < plain.high < state.estimate.high
    share = store.decision(cell).share
    wider = store.observed(cell, "completion").quantile(0.5, 1 - 0.05 * share)
    found = store.estimate(cell, "completion", "p50")
    assert (found.low, found.high, found.confidence) == (wider.low, wider.high, 0.95)


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (STUDY, "max = 200", "max = 400"),
        full_scale(STUDY, "max = 200", "max = 60"),
        (STUDY, "values = [4, 8]", "values = [4, 8, 16]"),
        full_scale(STUDY, "values = [4, 8]", "values = [2, 4, 8]"),
        (STUDY, "values = [4, 8]", "values = [8]"),
        (STUDY, "T = 0\n\n", "T = 1\n\n"),
        full_scale(STUDY, "[observables.gain]", "[observables.win]"),
        (STUDY, 'kind = "completion"\nT = 0', 'kind = "completion"\nT = 0\nrank = "mean"'),
        full_scale(PRECISE, "p50", "p90"),
        full_scale(PRECISE, TARGETS, ""),
        full_scale(PRECISE, TARGETS, 'targets = ["mean of gain ± 0.1 %"]\n'),
    ],
)
def test_extending(out, text, old, new):
    """Another size of the same study goes on from what is there, as if it had been run at once."""
    make(out, study(text))
    records = {path.name for path in (out / "records").iterdir()}
    store = make(out, study(text, old, new))
    assert records <= {path.name for path in (out / "records").iterdir()}
    assert numbers(store) == numbers(make(out.with_name("fresh"), study(text, old, new)))
    assert numbers(Store.open(out)) == numbers(store)
    back = make(out, study(text))
    assert numbers(back) == numbers(make(out.with_name("back"), study(text)))


def test_what_was_set_for_the_run_is_kept(out):
    changed = replace(
        study(), seed=2**64 - 1, targets=(Target.parse("mean of gain ± 3 % at 90 %"),)
    )
    changed = replace(changed, budget=replace(changed.budget, min=60, max=70))
    make(out, changed)
    found = Store.open(out).study
    assert (found.seed, found.targets, found.budget) == (
        changed.seed, changed.targets, changed.budget,
    )  # fmt: skip
    assert found.text == (out / "study.toml").read_text()
    assert parse_study(found.text) == found == changed


def test_a_study_from_python(out):
    read = study()
    names = ("case", "axes", "observables", "budget", "title", "source", "seed")
    described = Study("small", **{name: getattr(read, name) for name in names})
    make(out, described)
    assert Store.open(out).study == described
    assert numbers(Store.open(out)) == numbers(make(out.with_name("b")))


# --- what is refused


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seed = 5", "seed = 6", r"holds another run \(seed 5, not 6\)"),
        ('name = "small"', 'name = "other"', "study small, not other"),
        (
            '"1us", "10us"',
            '"1us", "20us"',
            "2 stored cases that this study does not have; such as [^;]+10us[^;]*; a study may "
            "have more cases than are stored, or fewer, not both",
        ),
        (
            '"100ns"',
            '"101ns"',
            "4 stored cases that this study does not have; in all cells network.alpha was "
            "1e-07 s, is 1.01e-07 s",
        ),
    ],
)
def test_another_study(out, old, new, message):
    make(out)
    before = content(out)
    with pytest.raises(ValueError, match=message), Store.create(out, study(old=old, new=new)):
        pass
    assert {**content(out), **{k: 0 for k in before if k.name == ".lock"}} == {
        **before,
        **{k: 0 for k in before if k.name == ".lock"},
    }
    with Store.create(out, study(old=old, new=new), force=True) as store:
        assert store.available(store.cells[0]) == 0
        assert list((out / "records").iterdir()) == []


@pytest.mark.parametrize(("key", "value"), [("format", 1), ("format", 4), ("stream", 0)])
def test_another_version(out, key, value):
    make(out)
    meta = json.loads((out / "store.json").read_text())
    (out / "store.json").write_text(json.dumps(meta | {key: value}))
    for attempt, end in ((Store.open, ""), (make, "; choose another `out`, or `force` .*")):
        with pytest.raises(
            ValueError,
            match=rf"another version of jitterfly \({key} {value}, here .*\); "
            rf"jitterfly {meta['versions']['jitterfly']} can read it{end}$",
        ):
            attempt(out)
    with Store.create(out, study(), force=True):
        pass


def test_a_class_that_is_not_imported(out):
    make(out)
    text = (out / "study.toml").read_text()
    assert 'kind = "periodic"' in text
    (out / "study.toml").write_text(text.replace('kind = "periodic"', 'kind = "mine"'))
    with pytest.raises(ValueError, match=r"got 'mine'.*; a class of your own is known after its"):
        Store.open(out)


@pytest.mark.parametrize("content", ["{", "[]", "\xff", '{"format": "x"}', "[" * 100_000])
def test_damaged_meta(out, content):
    make(out)
    (out / "store.json").write_text(content, encoding="latin-1")
    for attempt in (lambda: Store.open(out), lambda: make(out)):
        with pytest.raises(ValueError, match=r"store.json is damaged; delete it and run the same"):
            attempt()
    with Store.create(out, study(), force=True) as store:
        fill(store)


def test_foreign_directories(out):
    with pytest.raises(ValueError, match=r"holds no run \(no store.json in it\)"):
        Store.open(out)
    out.write_text("")
    with pytest.raises(ValueError, match=r"`out` must be a directory, and .* is a file"):
        make(out)
    out.unlink()
    out.mkdir()
    (out / "thesis.tex").write_text("years of work")
    with pytest.raises(ValueError, match="is not empty and holds no run; choose another `out`"):
        make(out)
    with Store.create(out, study(), force=True):
        assert (out / "thesis.tex").read_text() == "years of work"


def test_a_study_that_was_changed_afterwards(out):
    make(out)
    (out / "study.toml").write_text(STUDY.replace("values = [4, 8]", "values = [4, 16]"))
    with pytest.raises(ValueError, match=r"study.toml is not what was run last; run it again"):
        Store.open(out)
    (out / "study.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="not a text file in UTF-8"):
        Store.open(out)
    assert numbers(make(out)) == numbers(make(out.with_name("b")))


# --- several at once, and what a killed run leaves


def test_one_writer(out):
    make(out)
    with (out / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        for force in (False, True):
            with (
                pytest.raises(ValueError, match=f"another run is writing into {out}"),
                Store.create(out, study(old="seed = 5", new="seed = 99"), force=force),
            ):
                pass
        assert Store.open(out).available(Store.open(out).cells[0]) == 200  # reading goes on
    make(out)


@pytest.mark.parametrize("number", locks._NO_LOCKS)
def test_file_systems_without_locks(out, monkeypatch, number):
    def flock(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(locks.fcntl, "flock", flock)
    make(out)


def test_what_a_killed_run_left_is_cleared(out, monkeypatch):
    """And nothing else: the user may have files that end in .tmp."""
    make(out)
    killed = FORKSERVER.Process(target=int)
    killed.start()
    killed.join()
    left = f".store.json.{files._HOST}.{killed.pid}.{'0' * 16}.jf-tmp"
    for name in (left, "mine.tmp", "store.json.123.tmp", "records/mine.tmp"):
        (out / name).write_text("half")
    monkeypatch.setattr(files, "_cleaned", set())  # as another process
    make(out)
    there = {path.relative_to(out).as_posix() for path in out.rglob("*tmp")}
    assert there == {"mine.tmp", "store.json.123.tmp", "records/mine.tmp"}


@pytest.mark.parametrize("name", [".lock", "records/*.jfr"])
def test_no_file_of_the_user_is_changed_through_a_link(out, name):
    make(out)
    (file,) = list(out.glob(name))[:1]
    mine = out.parent / "mine"
    mine.write_bytes(content := file.read_bytes() + b"mine")
    file.unlink()
    file.symlink_to(mine)
    with pytest.raises(OSError, match="it is a symbolic link; put a file there") as caught:
        make(out, study(old="max = 200", new="max = 250"))
    assert caught.value.filename == str(file)
    assert mine.read_bytes() == content


@pytest.mark.parametrize("name", [".lock", "records/*.jfr", "store.json", "progress.json"])
def test_no_pipe_is_waited_for(out, name):
    run(study(), out)
    (file,) = list(out.glob(name))[:1]
    file.unlink()
    os.mkfifo(file)
    process = FORKSERVER.Process(target=_use, args=(out,), daemon=True)
    process.start()
    process.join(60)
    assert process.exitcode == 0, name
    if name == "progress.json":
        return  # made anew
    with pytest.raises((OSError, ValueError), match=r"it is a pipe|is damaged"):
        make(out, study(old="max = 200", new="max = 250"))


def _use(out):
    """Read a run, and go on with it; errors are errors."""
    for call in (
        run_progress,
        read_numbers,
        lambda path: make(path, study(old="max = 200", new="max = 250")),
    ):
        with suppress(OSError, ValueError):
            call(out)


def filling(path, told=os.devnull):
    """A process that fills a store with `FILLED` in small records, and writes its errors down."""
    process = FORKSERVER.Process(target=make_slowly, args=(path, FILLED, told))
    process.start()
    return process


def test_kill_at_any_time(out):
    """SIGKILL at random instants: what is there is whole, and the end is that of one run."""
    started = time.monotonic()
    filling(undisturbed := out.with_name("undisturbed")).join()
    whole = time.monotonic() - started
    draw = random.Random(7)
    kills = 0
    for _ in range(60):
        process = filling(out)
        process.join(draw.uniform(0, 0.4 * whole))
        if process.exitcode is None:
            process.kill()
            kills += 1
        process.join()
        if process.exitcode == 0 or kills >= scaled(8, least=2):
            break
    assert kills
    assert numbers(make(out, study(FILLED))) == numbers(Store.open(undisturbed))


def test_three_at_once(out, tmp_path):
    errors = [tmp_path / str(i) for i in range(3)]
    runs = [filling(out, path) for path in errors]
    for process in runs:
        process.join(120)
    ends = [process.exitcode for process in runs]
    assert 0 in ends
    for code, path in zip(ends, errors, strict=True):
        assert code == 0 or "another run is writing into" in path.read_text().splitlines()[-1]
    store = Store.open(out)
    assert all(store.complete(cell) for cell in store.cells)


def test_damage_costs_what_is_damaged(out, capsys):
    whole = numbers(make(out))
    store = Store.open(out)
    path = store.records(store.cells[2]).samples[0].path
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    store = Store.open(out)
    assert store.missing(store.cells[2], 200) != []
    assert f"jitterfly: {path}: " in capsys.readouterr().err
    assert not store.complete(store.cells[2])
    assert store.complete(store.cells[1])
    assert numbers(make(out)) == whole


def test_summaries_are_found_under_the_key_of_earlier_versions(tmp_path):
    with Store.create(tmp_path / "out", study()) as store:
        cell = store.cells[0]
        variants = [[variant.label, variant.hash] for variant in cell.variants]
        keys = sorted(measure.key for measure in store.study.measures(cell))
        expected = digest(["place", variants, keys])
        assert store.records(cell).summaries.identity.id == expected


def test_messages_about_confidence_and_targets(out):
    store = make(out)
    for ask in (
        lambda: store.estimate(store.cells[0], "completion", "mean", 99),
        lambda: store.to_csv(out / "x.csv", confidence=99),
    ):
        with pytest.raises(ValueError, match=r"above 0 and below 1, got 99; 99 % is 0\.99"):
            ask()
    with pytest.raises(ValueError, match=r"a confidence must be in %: '2 % at 95 %'"):
        Target.parse("mean of gain ± 2 % at 95")
    with pytest.raises(ValueError, match=r"targets must be a list, got 'mean of gain"):
        store.study.run(targets="mean of gain ± 2 %")


def test_what_is_stored_beyond_the_study_is_counted(out):
    from jitterfly.results import Results, tables

    make(out)
    small = make(out, study(STUDY.replace("values = [4, 8]", "values = [4]")))
    told = " ".join(tables.table(Results(small)).split())
    assert "2 stored cases of earlier runs are not in this study: kept, and in no table" in told
    assert "earlier runs" not in tables.table(Results(make(out)))
