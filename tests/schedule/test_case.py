"""`ScheduleCase`: studies of applications; the samples are those of `simulate_schedule`."""

import json
import random
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from reference.public_noise import random_sources
from reference.schedules import as_text, random_schedule
from support.paths import ROOT
from support.scale import scaled

import jitterfly as jf
from jitterfly import executors, unseen_noise
from jitterfly.case import IneffectiveSpeedWarning
from jitterfly.cli import main
from jitterfly.goal_export import goal_schedule
from jitterfly.results.figures import scale_of
from jitterfly.schedule import case as cases
from jitterfly.schedule.case import ScheduleCase
from jitterfly.store import Store, merge
from jitterfly.studies import load_study, parse_study
from jitterfly.sweep import driver, run

NETWORK = "L=1us,o=200ns,G=0.1ns"
PAIR = """num_ranks 2
rank 0 {{
a: calc {calc}
b: send {size}b to 1
c: recv 8b from 1
b requires a
c requires b
}}
rank 1 {{
a: calc {calc}
c: recv {size}b from 0
b: send 8b to 0
c requires a
b requires c
}}
"""
STUDY = """
name = "app"
seed = 7
[realizations]
max = 300
[case]
schedule = "app.goal"
network = {L = "1us", o = "200ns", G = "0.1ns", kind = "loggops"}
[[case.noise]]
kind = "periodic"
period = "1ms"
start = "stationary"
[axes.D]
path = "noise.0.duration"
values = ["10us", "100us"]
"""
DURATION = 'duration = "25us"\n'
AXIS = STUDY[STUDY.index("[axes.D]") :]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a schedule and a study of it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.goal").write_text(PAIR.format(calc=90_000, size=64))
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def changed(folder, *pairs, name="study.toml"):
    text = STUDY
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    (folder / name).write_text(text)
    return folder / name


def ticks_of(store):
    return [store.ticks(cell, store.available(cell)).values for cell in store.cells]


def alone(case, realizations, seed, first=0):
    return jf.simulate_schedule(
        case.schedule.path, case.network, case.noise, realizations, seed,
        first_realization=first, order=case.order, order_checks=0, speed=case.speed,
        marks=case.marks,
    )  # fmt: skip


def write_marks(rng, case):
    """A file of up to three marks, of an operation each, in the order in which they are reached."""
    schedule = case.read()
    reached = {}
    for _ in range(rng.randint(1, 3)):
        rank = rng.randrange(schedule.ranks)
        if count := int(np.diff(schedule._mapped.begins)[rank]):
            line = f"{rank} #{rng.randrange(count)}"
            Path("marks.txt").write_text(f"mark {line}\n")
            found = jf.simulate_schedule(
                schedule, case.network, (), 1, order_checks=0, speed=case.speed, marks="marks.txt"
            )
            reached[line] = int(found.mark_ticks_noise_free[0])
    lines = sorted(reached, key=reached.__getitem__)
    Path("marks.txt").write_text("".join(f"m{i} {line}\n" for i, line in enumerate(lines)))
    return "marks.txt" if lines else None


def executable(rng, ranks):
    """The text of a random schedule that ends: each receive has its message."""
    while True:
        text = as_text(random_schedule(rng, ranks, 20, 2, 2))
        Path("app.goal").write_text(text)
        try:
            jf.simulate_schedule("app.goal", NETWORK, realizations=1)
        except ValueError:
            continue
        return text


@pytest.mark.filterwarnings("ignore::jitterfly.schedule.ShortReceiveWarning")
@pytest.mark.filterwarnings("ignore::jitterfly.IneffectiveSpeedWarning")
@pytest.mark.parametrize("seed", range(scaled(60)))
def test_samples_are_those_of_the_schedule_alone(seed, folder):
    rng = random.Random(f"schedule cases {seed}")
    ranks = rng.randint(2, 6)
    (folder / "app.goal").write_text(executable(rng, ranks))
    noise, _ = random_sources(rng, jf, ranks, 1_300_000)
    speed = jf.imbalance.SlowRanks(1.25, ranks=[0]) if rng.random() < 0.3 else None
    case = ScheduleCase(
        folder / "app.goal", network=rng.choice([NETWORK, f"2: L=300ns,o=100ns; {NETWORK}"]),
        noise=noise, speed=speed, order=rng.choice(["noise-free", "arrival"]),
    )  # fmt: skip
    if rng.random() < 0.5:
        case = replace(case, marks=write_marks(rng, case))
    assert ScheduleCase.from_dict(case.to_dict()) == case
    budget = jf.RealizationBudget(max=rng.randint(20, 100))
    study = jf.Study("one", case=case, seed=seed, budget=budget)
    expected = alone(case, budget.max, seed)
    [values] = ticks_of(study.run(folder / "out"))
    assert np.array_equal(values, np.column_stack([expected.mark_ticks, expected.ticks]))
    [cell] = study.cells()
    quiet = study.families(cell)["completion"].members[0].noise_free
    assert quiet is None or quiet == expected.noise_free


SOURCES = [
    jf.MessageNoise(delay="20us", probability=1e-4),
    jf.MessageNoise(delay="20us", probability=1e-4, shared=4),
    jf.MessageNoise(delay="20us", probability=1e-4, shared="machine"),
    jf.StepNoise(delay="20us", probability=1e-4),
    jf.StepNoise(delay="20us", probability=1e-4, during="compute"),
    jf.StepNoise(delay="20us", probability=1e-4, during="communication"),
    jf.PeriodicNoise("1s", "20us", start="stationary"),
    jf.PeriodicNoise("1s", "20us", start="stationary", during="compute"),
    jf.PeriodicNoise("1s", "20us", start="stationary", during="communication"),
    jf.SpeedNoise(1.5, probability=0.01),
]


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: f"{source.kind} {source.shared}")
def test_as_many_hits_are_expected_as_of_the_collective(source, folder):
    """A target is not met before rare noise beside frequent noise was seen often enough."""
    collective = jf.Case(16, network=NETWORK, algorithm=jf.RecursiveDoublingAllreduce(), cycles=10,
                         compute_time="5us", noise=[source])  # fmt: skip
    (folder / "same.goal").write_text(goal_schedule(collective).text)
    schedule = ScheduleCase("same.goal", network=NETWORK, noise=[source])
    duration = float(collective.noise_free_ticks()[-1])
    assert schedule.noise_free_ticks().tolist() == [duration]
    [wanted] = unseen_noise.expected_hits(collective, duration)
    [found] = unseen_noise.expected_hits(schedule, duration)
    assert found.hits.number == pytest.approx(wanted.hits.number)
    assert found.hits.delay == pytest.approx(wanted.hits.delay)


def test_a_calculation_of_no_time_is_no_draw(folder):
    calc = "".join(f"calc {1000 * (i == 0)}\n" for i in range(100))
    (folder / "app.goal").write_text(f"num_ranks 2\nrank 0 {{\n{calc}}}\nrank 1 {{\n{calc}}}\n")
    noise = jf.StepNoise(delay="1us", probability=0.01)
    case = ScheduleCase("app.goal", network=NETWORK, noise=noise)
    [source] = unseen_noise.expected_hits(case, 1e6)
    assert source.hits.number == pytest.approx(0.02)


@pytest.fixture
def counted(monkeypatch):
    """How often schedules are read, and put in order."""
    counts = {"read": 0, "order": 0}

    def count(name, what):
        def call(*arguments, **options):
            counts[name] += 1
            return what(*arguments, **options)

        return call

    monkeypatch.setattr(cases.Schedule, "read", count("read", cases.Schedule.read))
    monkeypatch.setattr(cases, "plan_schedule", count("order", cases.plan_schedule))
    return counts


def test_variants_in_turn_are_put_in_order_once(folder, counted):
    """Their batches would shrink else, since the time for that counts as theirs."""
    variants = "".join(f'[variants.v{i}]\n"network.L" = "{i}us"\n' for i in range(1, 6))
    path = changed(folder, (AXIS, DURATION + variants), ('L = "1us", ', ""))
    run(load_study(path), folder / "out", batch_seconds=0.001)
    assert counted["order"] == 5


def test_schedules_of_an_inner_axis_are_not_read_for_each_cell(folder, counted):
    for i in range(12):
        (folder / f"app{i}.goal").write_text(PAIR.format(calc=1000 * i + 1, size=64))
    names = ", ".join(f'"app{i}.goal"' for i in range(12))
    text = f'[axes.app]\npath = "schedule"\nvalues = [{names}]\n'
    durations = ", ".join(f'"{i}us"' for i in range(1, 11))
    axis = f'[axes.D]\npath = "noise.0.duration"\nvalues = [{durations}]\n'
    path = changed(folder, ('schedule = "app.goal"\n', ""), (AXIS, axis + text))
    study = load_study(path)
    assert len(study.cells()) == 120
    assert counted["read"] <= 24
    assert counted["order"] <= 1
    run(study, folder / "out", realizations=2)
    assert counted["order"] <= 12


def test_processes_share_the_processors_also_beside_a_gpu(folder, monkeypatch):
    monkeypatch.setattr(executors, "takes_gpu", lambda *_: True)
    monkeypatch.setattr(executors, "_share", lambda: 3)
    executors.engine_of_process.cache_clear()
    given = []

    def realize(case, count, seed, first, backend, threads):
        given.append((backend, threads))
        return np.zeros((count, 1), dtype=np.int64), backend

    monkeypatch.setattr(jf.ScheduleCase, "realize", realize)
    cell = load_study("study.toml").cells()[0]
    driver.run_batch(driver.Batch(cell, 1, 0, 2, None))
    executors.engine_of_process.cache_clear()
    assert given == [("cpu", 3)]


def test_workers_of_gpus_are_asked_for_by_name(folder, monkeypatch):
    monkeypatch.setattr("jitterfly.executors.ask_devices", lambda: ("", 1))
    with pytest.raises(ValueError, match="workers 'gpus' need backend 'cuda' for schedules"):
        load_study("study.toml").run(folder / "out", workers="gpus")


def test_a_study_of_a_file(folder, capsys):
    assert main(["run", "study.toml", "--out", "out", "-q"]) == 0
    store = Store.open(folder / "out")
    for cell, values in zip(store.cells, ticks_of(store), strict=True):
        assert np.array_equal(values[:, 0], alone(cell.variants[0].case, 300, 7).ticks)
    table = store.to_pandas().set_index(["D", "observable", "statistic"]).value
    found = alone(store.cells[1].variants[0].case, 300, 7)
    assert table[1e-4, "completion", "mean"] == pytest.approx(found.mean().value, rel=1e-12)
    assert table[1e-4, "slowdown", "mean"] == pytest.approx(found.slowdown().value, rel=1e-12)
    assert (folder / "out" / "app.png").is_file()
    assert store.to_xarray().sizes["D"] == 2
    assert main(["status", "out"]) == 0
    assert "2 of 2 cells finished" in capsys.readouterr().out


def test_resume_shards_and_workers_give_the_same(folder):
    study = load_study("study.toml")
    whole = ticks_of(study.run(folder / "one"))
    for number in (1, 2):
        run(study, folder / "parts", shard=f"{number}/2")
    assert all(map(np.array_equal, ticks_of(merge(folder / "parts")), whole))
    study.run(folder / "two", realizations=70)
    assert all(map(np.array_equal, ticks_of(study.run(folder / "two")), whole))
    assert all(map(np.array_equal, ticks_of(study.run(folder / "three", workers=2)), whole))


def test_targets(folder):
    targets = ["mean of slowdown ± 1 % at 95 %"]
    study = load_study(changed(folder, ("max = 300", "min = 100\nmax = 100_000")))
    store = study.run(targets=targets)
    few, many = (store.decision(cell) for cell in store.cells)
    assert all(state.met for decision in (few, many) for state in decision.states)
    assert few.realizations < many.realizations < 100_000


def test_the_content_counts_and_not_the_name(folder):
    before = load_study("study.toml").cells()
    shutil.copy(folder / "app.goal", folder / "same.goal")
    path = changed(folder, ('"app.goal"', '"same.goal"'), name="other.toml")
    assert [one.variants[0].hash for one in load_study(path).cells()] == [
        one.variants[0].hash for one in before
    ]
    (folder / "same.goal").write_text(PAIR.format(calc=90_001, size=64))
    assert load_study(path).cells()[0].variants[0].hash != before[0].variants[0].hash


def test_a_short_recording_is_told(folder):
    """As in `simulate_schedule`; of collectives, too."""
    trace = jf.TraceNoise(file=ROOT / "sweeps" / "examples" / "vm.noise")
    (folder / "app.goal").write_text(PAIR.format(calc=60_000_000_000, size=64))
    pair = ScheduleCase("app.goal", network=NETWORK, noise=[trace])
    many = jf.Case(4096, network=NETWORK, noise=[trace], compute_time="30ms")
    told = r"its longest detours.* \[at base case\]"
    for case in (pair, many):
        both = replace(case, noise=[trace, replace(trace, during="compute")])
        study = jf.Study("app", case=both, budget=jf.RealizationBudget(max=5))
        with pytest.warns(jf.ScarceRecordingWarning, match=told) as seen:
            study.run()
        assert not any("other cells" in str(one.message) for one in seen)


def test_what_does_not_fit_the_schedule_is_refused_before_a_run(folder):
    (folder / "none.goal").write_text("rank 0 {\n}\n")
    axis = '[axes.app]\npath = "schedule"\nvalues = ["app.goal", "none.goal"]\n'
    path = changed(folder, ('schedule = "app.goal"\n', ""), (AXIS, DURATION + axis))
    with pytest.raises(ValueError, match=r"none\.goal, line 1.*\[at app=none\.goal\]"):
        load_study(path).run(folder / "out")
    for wrong in (
        {"noise": [jf.PeriodicNoise("1ms", "1us", phases=[0, 1e-4, 2e-4])]},
        {"noise": [jf.PeriodicNoise("1ms", "1us", shared="node")]},
        {"speed": jf.imbalance.SlowRanks(1.5, ranks=[2])},
    ):
        with pytest.raises(ValueError, match=r"phases|shared|ranks"):
            ScheduleCase("app.goal", network=NETWORK, **wrong)
    assert not (folder / "out").exists()


def test_numbers_that_name_points_are_numbers(folder):
    """An axis of schedules by their ranks: drawn as numbers, told as they are named."""
    (folder / "large.goal").write_text(PAIR.format(calc=45_000, size=64))
    axis = '[axes.size.points.64]\nschedule = "app.goal"\n'
    axis += '[axes.size.points.8]\nschedule = "large.goal"\n'
    path = changed(folder, ('schedule = "app.goal"\n', ""), (AXIS, DURATION + axis))
    study = load_study(path)
    assert [cell.coordinates["size"] for cell in study.cells()] == [64, 8]
    scale = scale_of(study, "size", [8, 64])
    assert (scale.positions, scale.ticks[1], scale.plain(64)) == ([3, 6], ["8", "64"], "64")
    for other in ("small", "064", "9" * 25, "nan"):
        path = changed(folder, ('schedule = "app.goal"\n', ""),
                       (AXIS, DURATION + axis.replace("points.8", f"points.{other}")))  # fmt: skip
        assert [cell.coordinates["size"] for cell in load_study(path).cells()] == ["64", other]


def test_of_one_file_of_an_axis_that_has_changed_the_error_says_so(folder):
    (folder / "other.goal").write_text(PAIR.format(calc=45_000, size=64))
    axis = '[axes.app]\npath = "schedule"\nvalues = ["app.goal", "other.goal"]\n'
    path = changed(folder, ('schedule = "app.goal"\n', ""), (AXIS, DURATION + axis))
    load_study(path).run(folder / "out")
    (folder / "other.goal").write_text(PAIR.format(calc=46_000, size=64))
    with pytest.raises(ValueError, match=r"schedule\.sha256 was .* \[at app=other\.goal\]") as told:
        load_study(path).run(folder / "out")
    assert "in all cells" not in str(told.value)


def test_the_table_has_the_time_that_slowdowns_are_divided_by(folder, capsys):
    text = '[variants]\nslow = {"network.L" = "1ms"}\nfast = {"network.L" = "1us"}\n'
    text += '[observables]\nslowdown = {kind = "slowdown", variant = "fast"}\n'
    changed(folder, ('L = "1us", ', ""), (AXIS, AXIS + text))
    assert main(["run", "study.toml", "--out", "out", "-q"]) == 0
    table = capsys.readouterr().out
    assert "92.8" in table  # microseconds: 90 to calculate, 2.8 for two messages
    assert "2.09" not in table


@pytest.mark.parametrize(
    ("field", "name", "observable"),
    [("schedule", "app.goal", "slowdown"), ("marks", "marks.txt", "cycle_slowdown")],
)
def test_a_store_keeps_its_files(field, name, observable, folder):
    if field == "marks":
        iterations()
        marked(folder)
    load_study("study.toml").run(folder / "out")
    shutil.move(folder / "out", folder / "moved")
    (folder / name).unlink()
    store = Store.open(folder / "moved")
    assert store.estimate(store.cells[0], observable, "mean").value > 1
    with pytest.raises(ValueError, match=f"{field}: {re.escape(name)} can not be read"):
        load_study("study.toml")


def test_another_schedule_does_not_go_on(folder):
    load_study("study.toml").run(folder / "out")
    (folder / "app.goal").write_text(PAIR.format(calc=80_000, size=64))
    with pytest.raises(ValueError, match=r"schedule\.sha256 was .*, is "):
        load_study("study.toml").run(folder / "out")


def test_an_axis_of_schedules(folder):
    (folder / "large.goal").write_text(PAIR.format(calc=45_000, size=64))
    axis = '[axes.app]\npath = "schedule"\nvalues = ["app.goal", "large.goal"]\n'
    path = changed(folder, ('schedule = "app.goal"\n', ""), (AXIS, DURATION + axis))
    store = load_study(path).run(folder / "out")
    longer, shorter = (store.estimate(cell, "completion", "mean").value for cell in store.cells)
    assert longer > 1.8 * shorter
    assert [cell.labels["app"] for cell in store.cells] == ["app.goal", "large.goal"]
    assert "algorithm" not in store.to_xarray().attrs["case"]
    of_files = path.read_text().replace('path = "schedule"', 'path = "schedule.file"')
    assert parse_study(of_files).cells() == load_study(path).cells()
    base = ScheduleCase("app.goal", network=NETWORK, noise="period=1ms,duration=25us")
    axes = [jf.Axis("app", [Path("app.goal"), "large.goal"], path="schedule")]
    study = jf.Study("app", case=base, axes=axes, budget=jf.RealizationBudget(max=10))
    assert len(study.cells()) == 2
    assert parse_study(study.to_toml()).cells() == study.cells()


def test_variants_see_the_same_noise(folder):
    text = '[variants]\nslow = {}\nfast = {"network.L" = "100ns"}\n[observables]\n'
    text += 'gain = {kind = "gain", of = "fast", over = "slow"}\n'
    path = changed(folder, (AXIS, DURATION + text))
    store = load_study(path).run(folder / "out")
    [cell] = store.cells
    slow, fast = (alone(one.case, 300, 7).ticks for one in cell.variants)
    gain = store.estimate(cell, "gain", "mean")
    assert gain.value == pytest.approx(slow.mean() / fast.mean())
    assert gain.low > 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"app.goal"', '"none.goal"', "schedule: none.goal can not be read (No such file"),
        ('"app.goal"', "3", "schedule: file must be the path of a file, got 3"),
        ('"app.goal"', '{name = "app.goal"}', "schedule: unknown key 'name'"),
        ('"app.goal"', '{sha256 = "0"}', "schedule: key 'file' is missing"),
        ('"app.goal"', '"study.toml"', "study.toml, line "),
        ("[case]", "[case]\nranks = 4", "unknown key 'ranks' (of a collective; a schedule says"),
        ("[case]", '[case]\nmarks = "tag=7"', "marks: no operation of app.goal has tag 7"),
        ("[case]", '[case]\nmarks = "none.txt"', "marks: none.txt can not be read (No such file"),
        ("[case]", '[case]\nmarks = {sha256 = "0"}', "marks: key 'file' is missing"),
        ("[case]", "[case]\nmarks = 7", "marks: file must be the path of a file, got 7"),
        ("[case]", '[case]\norder = "any"', "order must be one of 'noise-free', 'arrival'"),
        ('o = "200ns"', 'o = "200ns", gamma = "1ns"', "gamma must be left out for a schedule"),
        ('{L = "1us", o = "200ns", G = "0.1ns", kind = "loggops"}', '"alpha=1us,beta=1ns"',
         "network must be LogGOPS(...) for a schedule"),
        ('path = "noise.0.duration"\nvalues = ["10us", "100us"]',
         'derived = "T_comm / D"\nby = "noise.0.duration"\nvalues = [1, 2]',
         "T_comm is a time of a collective's case"),
        ('path = "noise.0.duration"', 'path = "algorithm.exchanges_after"', "unknown key 'algor"),
        ("[axes.D]", '[observables]\nmean = {kind = "completion", rank = "mean"}\n[axes.D]',
         "neither a mean over the ranks nor when they arrive"),
        ("[axes.D]", '[observables]\nx = {kind = "since_arrival"}\n[axes.D]',
         "neither a mean over the ranks nor when they arrive"),
        ("[axes.D]", '[observables]\nx = {kind = "completion", T = 3}\n[axes.D]',
         "no cell has T = 3: a schedule has T = 0 alone"),
        ("[axes.D]", '[observables]\nx = {kind = "completion", cycle = 2}\n[axes.D]',
         "no cell has cycle = 2: the schedule has 1 cycle; marks would divide its run"),
        ("[axes.D]", '[observables]\nx = {kind = "cycle_time"}\n[axes.D]',
         "no cell has it: the mean leaves out the first and the last cycle, and there is 1 cycle"),
    ],
)  # fmt: skip
def test_errors(old, new, message, folder):
    path = changed(folder, (old, new))
    with pytest.raises(ValueError, match=re.escape(message)) as found:
        load_study(path)
    assert str(found.value).startswith(str(path))


def iterations(cycles=6):
    """A schedule of so many cycles in app.goal, and marks.txt with a mark at the end of each."""
    case = jf.Case(4, network=NETWORK, algorithm=jf.RecursiveDoublingAllreduce(), cycles=cycles,
                   compute_time="90us", message_bytes=8)  # fmt: skip
    Path("app.goal").write_text(goal_schedule(case).text)
    each = 5  # a calculation, and two rounds of two operations
    lines = [f"cycle{cycle} {rank} #{each * cycle + part}\n"
             for cycle in range(cycles) for rank in range(4) for part in (3, 4)]  # fmt: skip
    Path("marks.txt").write_text("".join(lines))
    return case


def marked(folder):
    """The study, with marks.txt as its marks."""
    return changed(folder, ("[case]", '[case]\nmarks = "marks.txt"'))


def test_cycles_are_those_of_the_same_collective(folder):
    """Marks divide the schedule of a collective's cycles as its case is."""
    collective = replace(iterations(), noise="period=1ms,duration=25us")
    case = ScheduleCase("app.goal", network=NETWORK, noise=collective.noise, marks="marks.txt")
    assert (collective.cycles, case.cycles) == (6, 7)
    quiet = collective.noise_free_ticks()
    assert case.noise_free_ticks().tolist() == [*quiet, quiet[-1]]
    budget = jf.RealizationBudget(max=400)
    observables = {"each": jf.CycleTime(cycle="each"), "mean": jf.CycleSlowdown()}
    study = jf.Study("app", case=case, observables=observables, budget=budget, seed=3)
    found, (cell,) = study.run(), study.cells()
    times = alone(study.cells()[0].variants[0].case, 400, 3).iteration_ticks / 1e12
    for cycle in range(1, 7):  # the seventh takes no time
        mean = found.estimate(cell, f"each, cycle {cycle}", "mean").value
        assert mean == pytest.approx(times[:, cycle - 1].mean())
    assert "each, cycle 7" not in study.families(cell)
    slowdown = times[:, 1:].mean() / ((quiet[-1] - quiet[0]) / 5 / 1e12)
    assert found.estimate(cell, "mean", "mean").value == pytest.approx(slowdown)


def test_what_is_observed_of_marks_by_itself(folder):
    """The run time, and the time of an iteration without what comes before and after them all."""
    iterations()
    lines = (folder / "marks.txt").read_text().splitlines(keepends=True)
    (folder / "marks.txt").write_text("".join(lines[:-8]))  # none at the end of the run
    path = marked(folder)
    study = load_study(path)
    kinds = ["completion", "slowdown", "cycle_time", "cycle_slowdown"]
    assert list(study.observables) == kinds
    store = study.run(folder / "out")
    values = [alone(cell.variants[0].case, 300, 7) for cell in store.cells]
    for cell, expected in zip(store.cells, values, strict=True):
        found = {name: store.estimate(cell, name, "mean").value for name in kinds}
        assert found["completion"] == pytest.approx(expected.mean().value)
        assert found["slowdown"] == pytest.approx(expected.slowdown().value)
        assert found["cycle_time"] == pytest.approx(expected.iteration_ticks[:, 1:].mean() / 1e12)
        assert 1 < found["cycle_slowdown"] < 1.5
    assert parse_study(study.to_toml()).cells() == study.cells()


def test_other_marks_do_not_go_on(folder):
    iterations()
    path = marked(folder)
    load_study(path).run(folder / "out")
    marks = (folder / "marks.txt").read_text()
    (folder / "marks.txt").write_text(f"# the same, and another content\n{marks}")
    with pytest.raises(ValueError, match=r"marks\.sha256 was .*, is "):
        load_study(path).run(folder / "out")


def test_marks_are_of_one_schedule(folder):
    """A file of marks names operations by number; in another schedule they are others."""
    iterations()
    (folder / "large.goal").write_text((folder / "app.goal").read_text().replace("9000", "8000"))
    axis = '[axes.app.points.small]\nschedule = "app.goal"\n'
    axis += '[axes.app.points.large]\nschedule = "large.goal"\n'
    marks = 'marks = "marks.txt"\n'
    head = ('schedule = "app.goal"\n', marks)
    with pytest.raises(ValueError, match=r"axes\.app sets the schedule, .*: set marks beside each"):
        load_study(changed(folder, head, (AXIS, DURATION + axis)))
    of_axis = f'[axes.m]\npath = "marks"\nvalues = ["marks.txt", "other.txt"]\n{axis}'
    shutil.copy(folder / "marks.txt", folder / "other.txt")
    with pytest.raises(ValueError, match=r"axes\.app sets the schedule, and axes\.m has a file"):
        load_study(changed(folder, (head[0], ""), (AXIS, DURATION + of_axis)))
    both = axis.replace('.goal"\n', f'.goal"\n{marks}')
    study = load_study(changed(folder, (head[0], ""), (AXIS, DURATION + both)))
    assert [cell.variants[0].case.cycles for cell in study.cells()] == [7, 7]
    assert list(study.observables) == ["completion", "slowdown", "cycle_time", "cycle_slowdown"]


def test_a_study_runs_on_beside_its_results(folder):
    """The directory of results has all that the study names, wherever it is."""
    iterations()
    load_study(marked(folder)).run(folder / "out")
    for name in ("app.goal", "marks.txt", "study.toml"):
        (folder / name).unlink()
    shutil.move(folder / "out", folder / "moved")
    before = ticks_of(Store.open(folder / "moved"))
    store = load_study("moved/study.toml").run(folder / "moved", realizations=400)
    assert all(len(values) == 400 for values in ticks_of(store))
    for values, old in zip(ticks_of(store), before, strict=True):
        assert np.array_equal(values[:300], old)
    shutil.copy("moved/study.toml", "moved/mine.toml")  # of somebody else: no copies for it
    with pytest.raises(ValueError, match=r"schedule: app\.goal can not be read"):
        load_study("moved/mine.toml")


def test_what_is_said_of_cycles(folder):
    """Of how many there is a mean, and where noise makes marks change places."""
    calc = "num_ranks 2\nrank 0 {\n" + "a: calc 10\nb: calc 100000\nb requires a\n}\nrank 1 {\n"
    calc += "a: calc 20\nb: calc 100001\nb requires a\n}\n"
    (folder / "app.goal").write_text(calc)
    (folder / "marks.txt").write_text("A 0 a\nB 1 a\nC 0 b\nD 1 b\n")
    text = '[case]\nmarks = "marks.txt"'
    observables = '[observables]\nmean = {kind = "cycle_time"}\n'
    observables += 'each = {kind = "cycle_slowdown", cycle = "each"}\n'
    path = changed(folder, ("[case]", text), ("[axes.D]", f"{observables}[axes.D]"))
    told = load_study(path).run(folder / "out").summary()
    assert "Mean of the cycles 2 to 4 of 5: mean." in told
    assert [f"cycle {i + 1} ({name})" in told for i, name in enumerate("ABCD")] == 4 * [True]
    assert re.search(r"each, cycle \d is below 0 in many realizations at D=", told)


def test_thousands_of_cycles(folder):
    """Of all of them together beyond what is kept raw; of each, all must be kept."""
    case = replace(iterations(), cycles=300)
    budget = jf.RealizationBudget(max=400, raw_bytes=300 * 8 * 100)
    store = jf.Study("many", case=case, observables={"mean": jf.CycleTime()}, budget=budget).run()
    [cell] = store.cells
    assert cell.raw_limit < 400
    wanted = jf.simulate(case, 400).samples
    mean = (wanted[:, -2] - wanted[:, 0]).mean() / 298
    assert store.estimate(cell, "mean", "mean").value == pytest.approx(mean)
    each = {"each": jf.CycleTime(cycle="each")}
    with pytest.raises(ValueError, match=r"raw_bytes must be at least 960000, .* read 300 columns"):
        jf.Study("many", case=case, observables=each, budget=budget).run()
    study = jf.Study("many", case=case, observables=each, budget=budget)
    assert study.run(realizations=100).available(study.cells()[0]) == 100  # all of them are kept


def test_marks_in_another_order_than_they_are_reached(folder):
    iterations()
    lines = (folder / "marks.txt").read_text().splitlines(keepends=True)
    (folder / "marks.txt").write_text("".join(reversed(lines)))
    path = marked(folder)
    with pytest.raises(ValueError, match="give marks in the order in which they are reached"):
        load_study(path)


def test_noise_that_can_hit_nothing(folder):
    (folder / "app.goal").write_text("num_ranks 1\nrank 0 {\ncalc 1000\n}\n")
    noise = 'kind = "message"\ndelay = "1us"\n'
    periodic = STUDY[STUDY.index('kind = "periodic"') : STUDY.index("[axes.D]")]
    axis = '[axes.p]\npath = "noise.0.probability"\nvalues = [0.1, 0.2]\n'
    path = changed(folder, (periodic, noise), (AXIS, axis))
    with pytest.raises(ValueError, match=r"noise\.0 \(message\) can hit nothing in any cell"):
        load_study(path)


def test_speed(folder):
    slow = '[case]\nspeed = {kind = "slow_ranks", factor = 2.0, ranks = [1]}'
    store = load_study(changed(folder, ("[case]", slow))).run()
    assert store.estimate(store.cells[0], "completion", "mean").value > 180e-6
    (folder / "app.goal").write_text(
        "num_ranks 2\nrank 0 {\ncalc 9\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n"
    )
    with pytest.warns(IneffectiveSpeedWarning, match="whose factor is not 1 calculate nothing"):
        load_study("study.toml")
    changed(folder, ("[case]", slow.replace("2.0", "1.0")))
    with pytest.warns(IneffectiveSpeedWarning, match="the factor of every rank is 1"):
        load_study("study.toml")


def test_a_schedule_in_memory_must_be_written(folder):
    with pytest.raises(ValueError, match=r"write it with `Schedule\.write\(path\)` first"):
        ScheduleCase(jf.Schedule.read("app.goal"), network=NETWORK)
    case = ScheduleCase("app.goal", network=NETWORK)
    (folder / "app.goal").write_text(PAIR.format(calc=1, size=64))
    with pytest.raises(ValueError, match=r"^schedule: app\.goal has changed: its sha256 is"):
        replace(case, order="arrival")


def test_commands_that_are_for_collectives(folder, capsys):
    for command in ("trace", "export-goal"):
        assert main([command, "study.toml", "--at", "D=10us"]) == 2
        assert "its cases are schedules, not collectives" in capsys.readouterr().err
    (folder / "case.toml").write_text('[case]\nschedule = "app.goal"\nnetwork = "L=1us"\n')
    assert main(["explain", "case.toml"]) == 2
    assert "it is the case of a schedule" in capsys.readouterr().err


def test_a_cell_is_explained(folder, capsys):
    """As the schedule itself with what the cell says of it, and the study's seed."""
    words = ["--realizations", "20", "--json", "-q"]
    assert main(["explain", "study.toml", "--at", "D=100us", *words]) == 0
    found = json.loads(capsys.readouterr().out)
    noise = ["--noise", "period=1ms,start=stationary,duration=100us", "--seed", "7"]
    assert main(["explain", "app.goal", "--network", NETWORK, *noise, *words]) == 0
    alone = json.loads(capsys.readouterr().out)
    assert (found.pop("cell"), alone.pop("cell")) == ("D=100us", None)
    assert found.pop("command_line") != alone.pop("command_line")
    assert found == alone
    changed(folder, (AXIS, DURATION), ("[case]", '[case]\norder = "arrival"'))
    assert main(["explain", "study.toml", "--slowest", "10%", "--realizations", "20"]) == 0
    told = capsys.readouterr()
    assert "in the order of operations without noise, which is not the study's" in told.err
    assert "--network" not in told.err  # nothing that was not given
    assert main(["explain", "study.toml", "--network", NETWORK]) == 2
    assert "--network and FILE.toml both describe a case" in capsys.readouterr().err


def test_a_forecast(folder, capsys):
    assert main(["run", "study.toml", "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "2 cells" in told
    assert "rank-rounds (operations)\n" in told


def test_the_order_of_arrival_is_not_for_a_gpu(folder):
    path = changed(folder, ("[case]", '[case]\norder = "arrival"'))
    study = load_study(path)
    assert all(cell.variants[0].case.order == "arrival" for cell in study.cells())
    [cell, _] = study.cells()
    with pytest.raises(ValueError, match="order must be 'noise-free' with backend 'cuda'"):
        cell.variants[0].case.realize(10, 1, 0, "cuda")
