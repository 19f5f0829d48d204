"""Marks of a schedule: ends of iterations, files, tags, command."""

import json
import random
import re
from dataclasses import replace

import numpy as np
import pytest
from reference.schedules import ArrivalOrder, InOrder
from support.grouped import parametrize_in_groups
from support.scale import at_most
from support.schedule_cases import OPTIONS, Case, random_marks

import jitterfly as jf
from jitterfly import _core
from jitterfly.answer import SECONDS, show
from jitterfly.cli import main
from jitterfly.schedule.schedule import NO_MARK, read_marks
from jitterfly.units import show_seconds

NUMBERS = [(kind, number) for kind in OPTIONS for number in range(at_most(100, 4))]


class Completions:
    """When each operation is done, as the reference of an execution finds it."""

    def __init__(self, *words, **options):
        self.completed = {}
        super().__init__(*words, **options)

    def release(self, how, rank, i, time):
        if how == "done":
            self.completed[rank, i] = time
        return super().release(how, rank, i, time)


class Coming(Completions, ArrivalOrder):
    pass


def reached(completed, of, count, begins):
    times = np.zeros(count, dtype=np.int64)
    for (rank, i), time in completed.items():
        mark = of[begins[rank] + i]
        if mark != NO_MARK:
            times[mark] = max(times[mark], time)
    return times


def in_order(case, quiet, *draw):
    """When each operation is done in the order of `quiet`, and all of them."""
    run = InOrder(quiet, *draw)
    last = run.execute()
    numbers = ((rank, i) for rank, ops in enumerate(case.ranks) for i in range(len(ops)))
    return {one: run.when_done(*one) for one in numbers}, last


@pytest.mark.filterwarnings("ignore::jitterfly.LongTimeWarning")
@parametrize_in_groups("kind, number", NUMBERS)
def test_marks_against_the_reference(kind, number, tmp_path, monkeypatch):
    """In both orders, and without noise; and marks change no other time."""
    rng = random.Random(f"marks {kind} {number}")
    case = Case(rng, tmp_path, **OPTIONS[kind])
    quiet = case.quiet()
    if quiet is None:
        return
    marks, begins = random_marks(rng, case), case.schedule._mapped.begins
    count, of = len(marks.names), marks.of
    compiled = case.compiled(marks)
    completed, _ = in_order(case, quiet)
    assert compiled.plan.reached == reached(completed, of, count, begins).tolist()
    free = Coming(case.ranks, case.machine, matched=quiet.matched)
    free.execute()
    arriving = case.compiled(marks, "arrival").plan
    assert arriving.reached == reached(free.completed, of, count, begins).tolist()

    draw = case.meant, case.seed, case.realization
    completed, last = in_order(case, quiet, *draw)
    for isa in ("plain", ""):
        if isa:
            monkeypatch.setenv("JITTERFLY_ISA", isa)
        else:
            monkeypatch.delenv("JITTERFLY_ISA", raising=False)
        (row,) = _core.simulate_schedule(*compiled, case.seed, case.realization, 1)
        assert row[0] == last
        np.testing.assert_array_equal(row[2:], reached(completed, of, count, begins))
    alone = case.compiled()
    several = 1 + min(20, 2**32 - 1 - case.realization)
    run = case.seed, case.realization, several, 2
    found = _core.simulate_schedule(*compiled, *run)
    np.testing.assert_array_equal(found[:, :2], _core.simulate_schedule(*alone, *run))
    monkeypatch.setenv("JITTERFLY_ISA", "plain")
    np.testing.assert_array_equal(found, _core.simulate_schedule(*compiled, *run))

    free = Coming(case.ranks, case.machine, *draw, matched=quiet.matched)
    last = free.execute()
    (row,) = _core.simulate_schedule(*compiled, case.seed, case.realization, 1, arrival_order=True)
    assert row[0] == last
    np.testing.assert_array_equal(row[2:], reached(free.completed, of, count, begins))
    times = case.times(alone)
    np.testing.assert_array_equal(case.times(compiled), times)
    np.testing.assert_array_equal(case.times(compiled, arrival_order=True),
                                  case.times(alone, arrival_order=True))  # fmt: skip


RING = """/* two iterations:
rank 9 { x: calc 1 } */
num_ranks 2
rank 0 {
c: calc 1000 // x: calc 7
s1: send 8b to 1 tag 7
s1 requires c
r1: recv 8b from 1 tag 7
r1 requires s1
work: calc 5000
work requires r1
s2: send 8b to 1 tag 7
s2 requires work
r2: recv 8b from 1 tag 7
r2 requires s2
} rank 1 {
c: calc 1000
s1: send 8b to 0 tag 7
s1 requires c
r1: recv 8b from 0 tag 7
r1 requires s1
work: calc 6000
work requires r1
s2: send 8b to 0 tag 7
s2 requires work
r2: recv 8b from 0 tag 7
r2 requires s2
}
"""
FILE = """# name rank label
first 0 r1
first 1 r1
second 0 r2

second 1 #5
"""


@pytest.fixture
def ring(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ring.goal").write_text(RING)
    (tmp_path / "marks.txt").write_text(FILE)
    return jf.Schedule.read("ring.goal")


def test_a_file_and_a_tag_say_the_same(ring):
    file, tag = read_marks(ring, "marks.txt"), read_marks(ring, "tag=7,kind=recv")
    assert file.names == ("first", "second")
    assert tag.names == ("1", "2")
    np.testing.assert_array_equal(file.of, tag.of)
    assert [i for i, mark in enumerate(file.of) if mark == 0] == [2, 8]
    whole = read_marks(ring, "tag=7,every=2")
    assert whole.of.tolist() == 2 * [NO_MARK, 0, 0, NO_MARK, 1, 1]
    found = [jf.simulate_schedule(ring, "L=1us,o=0", marks=marks) for marks in
             ("marks.txt", "tag=7,kind=recv", "tag=7,every=2")]  # fmt: skip
    for one in found:
        assert one.mark_ticks.shape == (1000, 2)
        assert one.mark_ticks_noise_free.tolist() == [2_000_000, 9_000_000]
        np.testing.assert_array_equal(one.iteration_ticks[0], [2_000_000, 7_000_000])


def test_hits_of_messages_are_expected_where_messages_are():
    """By the time of a part, of 0.0096 hits 0.97 were expected where nothing is sent."""
    app = jf.ScheduleBuilder(ranks=16)
    app.calc("10ms")
    app.mark("work")
    for _ in range(50):
        app.collective("dissemination_barrier", 8)
    app.mark("messages")
    frequent = jf.PeriodicNoise("1ms", "5us", start="stationary")
    rare = jf.StepNoise("2ms", probability=3e-6, during="communication")
    found = jf.simulate_schedule(app.build(), "L=1us,o=200ns", [frequent, rare], 100, seed=1)
    assert not (found.ticks > 11 * 10**9).any()  # none was hit
    assert found.work_at_marks.tolist() == [[0, 16], [3200, 16], [3200, 16]]
    work, messages = (row.since_mean for row in found.mark_rows())
    assert work.high - work.low < 2e-6
    assert messages.high - messages.value == pytest.approx(0.0096 * 2e-3, rel=0.1)
    whole = [replace(rare, during="all"), replace(rare, during="compute")]
    for other, share in zip(whole, (16 / (3200 + 16), 1), strict=True):
        found = jf.simulate_schedule(app.build(), "L=1us,o=200ns", [frequent, other], 100, seed=1)
        hits = next(one.hits for one in found.expected if one.noise == other)
        added = found.mark_rows()[0].mean.high - work.high
        assert added == pytest.approx(share * hits.number * 2e-3, rel=0.1)


def test_a_study_expects_hits_of_messages_where_messages_are(tmp_path):
    """All messages are in 3 % of the time: by that, 3 % of their hits were expected there."""
    app = jf.ScheduleBuilder(ranks=16)
    for _ in range(50):
        app.collective("dissemination_barrier", 8)
    app.mark("messages")
    app.calc("10ms")
    app.mark("work")
    app.write(tmp_path / "app.goal", tmp_path / "marks")
    frequent = jf.PeriodicNoise("10us", "500ns", start="stationary")
    rare = jf.StepNoise("20ms", probability=3e-7, during="communication")
    case = jf.ScheduleCase(
        tmp_path / "app.goal", network="L=1us,o=200ns", noise=[frequent], marks=tmp_path / "marks"
    )
    observables = {"until": jf.Completion(cycle="each"), "time": jf.CycleTime(cycle="each")}

    def means(*noise):
        study = jf.Study("app", case=replace(case, noise=[frequent, *noise]), seed=1,
                         observables=observables, budget=jf.RealizationBudget(max=100))  # fmt: skip
        found, (cell,) = study.run(), study.cells()
        names = ("until, cycle 1", "until, cycle 2", "time, cycle 1", "time, cycle 2")
        return [found.estimate(cell, name, "mean") for name in names]

    sources = [(rare, 1, 3200), (replace(rare, during="compute"), 0, 16),
               (replace(rare, during="all"), 3200 / 3216, 3216)]  # fmt: skip
    for source, share, draws in sources:
        most = 3e-7 * draws * 20e-3
        for one, quiet, part in zip(
            means(source), means(), (share, 1, share, 1 - share), strict=True
        ):
            assert one.value == quiet.value  # none was hit
            assert one.high - quiet.high == pytest.approx(part * most, rel=1e-3, abs=1e-12)


def test_rows(ring):
    noise = jf.PeriodicNoise("20us", "2us", start="stationary")
    found = jf.simulate_schedule(ring, "L=1us,o=0", noise, 300, marks="marks.txt")
    rows = found.mark_rows()
    assert [row.mark for row in rows] == ["first", "second"]
    assert rows[0].noise_free == pytest.approx(2e-6)
    assert rows[1].since_noise_free == pytest.approx(7e-6)
    assert rows[1].mean.value == pytest.approx(found.samples.mean())
    assert rows[1].since_mean.value == pytest.approx(
        np.diff(found.mark_ticks, axis=1).mean() * 1e-12
    )
    assert (found.mark_ticks[:, 1] == found.ticks).all()
    lines = found.marks_to_csv().splitlines()
    assert lines[0].startswith("mark,noise_free_s,since_noise_free_s,mean_s,mean_low_s")
    assert len(lines) == 3
    told = dict(re.split(" {2,}", line, maxsplit=1) for line in found.lines())
    assert told["first mark (first)"].startswith(f"at {show(rows[0].mean, SECONDS)}")
    mean = f"{show(rows[1].since_mean, SECONDS)}; without noise 7 µs"
    assert told["time between marks, mean"] == mean
    assert told["time between marks, p99"] == show_seconds(rows[1].since_p99.value)
    assert "longest before mark" in told
    assert found.plot().axes[1].get_ylabel().startswith("time since")
    assert jf.simulate_schedule(ring, "L=1us,o=0").mark_rows() == []


@pytest.mark.parametrize("marks", [None, "marks.txt"])
def test_as_a_dataset_of_xarray(ring, marks, tmp_path):
    xarray = pytest.importorskip("xarray")
    noise = jf.PeriodicNoise("20us", "2us", start="stationary")
    found = jf.simulate_schedule(ring, "L=1us,o=0", noise, 30, seed=2**64 - 1, marks=marks,
                                 first_realization=7)  # fmt: skip
    data = found.to_xarray()
    assert data.realization.values.tolist() == list(range(7, 37))
    np.testing.assert_array_equal(data.run_time, found.samples)
    np.testing.assert_array_equal(data.last_rank, found.last_rank)
    assert data.noise_free == found.noise_free
    assert all(data[name].attrs["long_name"] for name in [*data.data_vars, *data.coords])
    times = {"run_time", "noise_free"}
    if marks is not None:
        times |= {"mark_time", "mark_noise_free"}
        reached = found.mark_ticks[:, 0] * 1e-12
        np.testing.assert_allclose(data.mark_time.sel(mark="first"), reached, rtol=1e-12)
        np.testing.assert_allclose(data.mark_noise_free, [2e-6, 9e-6], rtol=1e-12)
    assert {name for name in data.data_vars if data[name].attrs.get("units") == "s"} == times
    assert data.attrs["title"] == found.title()
    assert (data.attrs["seed"], data.attrs["order"]) == (str(2**64 - 1), "noise-free")
    plain = {name: json.loads(data.attrs[name]) for name in ("network", "noise", "speed")}
    assert jf.LogGOPS.from_dict(plain["network"]) == found.network
    assert jf.PeriodicNoise.from_dict(plain["noise"][0]) == noise
    assert plain["speed"] is None
    pytest.importorskip("netCDF4")
    data.to_netcdf(tmp_path / "found.nc")
    with xarray.open_dataset(tmp_path / "found.nc") as read:
        xarray.testing.assert_identical(read.load(), data)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("a 0 r1 x\n", "marks.txt, line 1: expected NAME RANK LABEL"),
        ("# a\na 2 r1\n", "marks.txt, line 2: there is no rank 2"),
        ("a 0 r9\n", "line 1: rank 0 has no operation 'r9'"),
        ("a 0 x\n", "line 1: rank 0 has no operation 'x'"),
        ("a 0 #6\n", "line 1: rank 0 has 6 operations, counted from #0"),
        ("a 0 #x\n", "rank 0 has 6 operations"),
        ("a 0 r1\nb 0 #2\n", "line 2: the operation has a mark already"),
        ("\n", "there are no marks"),
        ("a 0 \xff\n", "can not be read"),
    ],
)
def test_wrong_files(content, told, ring, tmp_path):
    (tmp_path / "marks.txt").write_bytes(content.encode("latin-1"))
    with pytest.raises(ValueError, match=r"marks") as caught:
        jf.simulate_schedule(ring, "L=1us,o=0", marks="marks.txt")
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("tag=8", "no operation of ring.goal has tag 8"),
        ("tag=x", "tag must be an integer"),
        ("tag=7,every=0", "every must be an integer of at least 1"),
        ("tag=7,every=3", "which is no multiple of every = 3"),
        ("tag=7,kind=calc", "kind must be send or recv"),
        ("every=3", "must have tag"),
        ("tag=7,last=3", "must have tag, and may have every and kind"),
        ("missing.txt", "missing.txt can not be read"),
    ],
)
def test_wrong_patterns(pattern, told, ring):
    with pytest.raises(ValueError, match=r"^marks: ") as caught:
        jf.simulate_schedule(ring, "L=1us,o=0", marks=pattern)
    assert told in str(caught.value)


def test_ranks_with_other_counts(ring, tmp_path):
    (tmp_path / "odd.goal").write_text(RING.replace("to 0 tag 7\ns2", "to 0 tag 8\ns2"))
    text = "num_ranks 2\nrank 0 {\nsend 8b to 1 tag 7\nsend 8b to 1 tag 7\n}\nrank 1 {\n"
    text += "recv 8b from 0 tag 7\nrecv 8b from 0 tag 7\nsend 8b to 0 tag 7\n}\n"
    text = text.replace("send 8b to 1 tag 7\n}", "send 8b to 1 tag 7\nrecv 8b from 1 tag 7\n"
                        "calc 1\n}").replace("recv 8b from 0 tag 7\nsend", "recv 8b from 0 tag 7\n"
                        "calc 1\nsend")  # fmt: skip
    (tmp_path / "odd.goal").write_text(text)
    with pytest.raises(ValueError, match="rank 0 has 2 operations with tag 7, rank 1 has 1"):
        jf.simulate_schedule("odd.goal", "L=1us,o=0", marks="tag=7,kind=send")


def test_a_translated_schedule_has_no_labels(ring):
    ring.write("ring.jf")
    with pytest.raises(ValueError, match=r"ring\.jf is no text and has no labels"):
        jf.simulate_schedule("ring.jf", "L=1us,o=0", marks="marks.txt")
    found = jf.simulate_schedule("ring.jf", "L=1us,o=0", marks="tag=7,every=2")
    assert found.mark_ticks_noise_free.tolist() == [2_000_000, 9_000_000]


def test_command(ring, tmp_path, capsys):
    words = ["run", "ring.goal", "--noise", "period=20us,duration=2us", "--network", "L=1us,o=0"]
    assert main([*words, "--marks", "tag=7,every=2", "--marks-csv", "marks.csv", "--picture",
                 "ring.png"]) == 0  # fmt: skip
    told = capsys.readouterr().out
    assert "time between marks, mean" in told
    assert "written: ring.png, marks.csv" in told
    assert len((tmp_path / "marks.csv").read_text().splitlines()) == 3
    assert main([*words, "--marks", "marks.txt", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["mark"] for row in found["marks"]] == ["first", "second"]
    assert main([*words, "--marks-csv", "marks.csv"]) == 2
    assert "--marks-csv needs --marks" in capsys.readouterr().err
    assert main([*words, "--marks", "missing.txt"]) == 2
    assert "missing.txt" in capsys.readouterr().err


def test_marks_in_another_order(ring, tmp_path):
    """The time from one to the next would be below 0, in every realization or in some."""
    (tmp_path / "back.txt").write_text("a 0 r2\nb 0 r1\n")
    with pytest.raises(ValueError, match=r"^marks: b is reached at 2 µs without noise, and a, "
                       "which stands before it, at 9 µs: give marks in the order"):  # fmt: skip
        jf.simulate_schedule(ring, "L=1us,o=0", marks="back.txt")
    (tmp_path / "alike.txt").write_text("one 0 c\nother 1 c\n")
    quiet = jf.simulate_schedule(ring, "L=1us,o=0", marks="alike.txt")
    assert not [note for note in quiet.notes() if "is reached before" in note]
    noise = jf.PeriodicNoise("20us", "2us", start="stationary")
    found = jf.simulate_schedule(ring, "L=1us,o=0", noise, marks="alike.txt")
    share = (found.iteration_ticks[:, 1] < 0).mean()
    assert 0.02 < share < 0.3
    assert [note for note in found.notes() if "is reached before" in note] == [
        f"mark other is reached before one, which stands before it, in {share:.1%} of "
        "realizations: the time between them is below 0 there"
    ]


@pytest.mark.parametrize("marks", [5, ["tag=7"], b"tag=7"])
def test_marks_of_another_kind(marks, ring):
    with pytest.raises(ValueError, match="marks must be a file, or text such as 'tag=7', got"):
        jf.simulate_schedule(ring, "L=1us,o=0", marks=marks)


def test_the_picture_has_the_names_of_marks(ring, tmp_path):
    def labels(marks):
        panel = jf.simulate_schedule(ring, "L=1us,o=0", marks=marks, realizations=5).plot().axes[1]
        return dict(zip(panel.get_xticks(), (text.get_text() for text in panel.get_xticklabels()),
                        strict=True))  # fmt: skip

    assert labels("marks.txt") == {1: "first", 2: "second"}
    assert set(labels("tag=7,kind=recv").values()) >= {"1", "2"}
    long = "a_name_of_more_letters_than_have_room"
    (tmp_path / "long.txt").write_text(f"{long} 0 r1\n{long}_$x$ 0 r2\n")
    assert labels("long.txt") == dict.fromkeys((1, 2), f"{long[:23]}…")
    (tmp_path / "calcs.goal").write_text(
        "num_ranks 1\nrank 0 {\nl0: calc 5\n"
        + "".join(f"l{i}: calc 5\nl{i} requires l{i - 1}\n" for i in range(1, 1000)) + "}\n"
    )  # fmt: skip
    (tmp_path / "all.txt").write_text("".join(f"iteration{i} 0 #{i}\n" for i in range(1000)))
    found = jf.simulate_schedule("calcs.goal", "L=1us,o=0", marks="all.txt", realizations=5)
    panel = found.plot().axes[1]
    shown = [text.get_text() for text in panel.get_xticklabels()]
    assert 3 < len(shown) < 12
    assert (shown[0], shown[-1]) == ("iteration0", "iteration999")


def test_few_realizations_have_no_interval_of_p99(ring):
    noise = jf.PeriodicNoise("20us", "2us", start="stationary")
    note = "too few realizations for an interval of p99: it takes 368"
    assert note in jf.simulate_schedule(ring, "L=1us,o=0", noise, 367).notes()
    assert note not in jf.simulate_schedule(ring, "L=1us,o=0", noise, 368).notes()
