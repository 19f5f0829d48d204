"""`ScheduleBuilder`: collectives as the exporter writes them, CPUs that overlap, groups, marks."""

import pickle

import numpy as np
import pytest

import jitterfly as jf
from jitterfly.goal_export import goal_schedule
from jitterfly.schedule.schedule import NO_MARK

NETWORK = "L=3us,o=1us,g=2us,G=0.5ns"
ALGORITHMS = [
    jf.Butterfly(), jf.RingAllreduce(), jf.RecursiveDoublingAllreduce(), jf.BinomialBroadcast(),
    jf.DoubleBinaryTreeAllreduce(), jf.RabenseifnerAllreduce(), jf.PairwiseAlltoall(),
]  # fmt: skip
NOISE = jf.PeriodicNoise("1ms", "25us", start="stationary")


def run(app, **options):
    return jf.simulate_schedule(app.build(), NETWORK, **{"realizations": 20, **options})


def noise_free(app):
    """In ns."""
    return round(run(app, realizations=1).noise_free * 1e9)


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda one: one.kind)
def test_calculations_and_collectives_are_what_the_exporter_writes(algorithm):
    network = jf.LogGOPS(L="3us", o="1us", g="2us", G="0.5ns", gamma="0.1ns")
    case = jf.Case(8, algorithm=algorithm, network=network, message_bytes=4000, cycles=3,
                   compute_time="50us")  # fmt: skip
    app = jf.ScheduleBuilder(8, gamma="0.1ns")
    for _ in range(case.cycles):
        app.calc("50us")
        app.collective(algorithm, 4000)
    assert app.text() == goal_schedule(case).text


def test_what_a_cpu_is_given_is_in_a_row_and_other_cpus_overlap():
    """Two layers of 100 us, the message of each on a second CPU: only the last one is waited for.

    A message takes o + L, and o where it is taken; the second starts when the second layer is done.
    """
    app = jf.ScheduleBuilder(2)
    for _ in range(2):
        layer = app.calc("100us")
        app.messages([(0, 1), (1, 0)], 1, after=layer, cpu=1)
    assert noise_free(app) == 200_000 + 1000 + 3000 + 1000
    blocking = jf.ScheduleBuilder(2)
    for _ in range(2):
        blocking.calc("100us")
        blocking.messages([(0, 1), (1, 0)], 1)
    assert noise_free(blocking) == 2 * (100_000 + 5000)


def test_after_waits_for_all_that_it_names_and_for_nothing_else():
    app = jf.ScheduleBuilder(1)
    parts = [app.calc(f"{(i + 1) * 10}us", cpu=i) for i in range(3)]
    app.calc("1us", cpu=3)
    app.mark("alone", app.calc("1us", cpu=3))
    app.mark("one", app.calc("1us", after=parts[1], cpu=4))
    app.mark("all", app.calc("1us", after=parts, cpu=5))
    assert run(app).mark_ticks_noise_free.tolist() == [2_000_000, 21_000_000, 31_000_000]


def test_a_group_has_the_times_of_a_machine_of_its_own():
    alone = jf.ScheduleBuilder(4)
    alone.collective("ring_allreduce", 4000)
    app = jf.ScheduleBuilder(10)
    app.collective("ring_allreduce", 4000, ranks=[7, 1, 4, 0])
    app.collective("ring_allreduce", 4000, ranks=[2, 3, 5, 6])
    app.calc("1us", ranks=[8])
    found = run(app)
    assert found.noise_free == run(alone).noise_free
    assert found.schedule.operations == 2 * alone.build().operations + 2  # a `calc 0` of rank 9


def test_a_collective_of_one_rank_waits_all_the_same():
    app = jf.ScheduleBuilder(1)
    before = app.calc("1ms")
    app.mark("sum", alone := app.collective("ring_allreduce", 1024, after=before, cpu=1))
    app.mark("end", app.calc("1ms", after=alone, cpu=2))
    assert run(app).mark_ticks_noise_free.tolist() == [10**9, 2 * 10**9]


def test_many_messages_that_wait_for_many_are_said_in_few_lines():
    app = jf.ScheduleBuilder(80)
    pairs = [(i, j) for i in range(80) for j in range(80) if i != j]
    for _ in range(2):
        app.messages(pairs, 1)
    assert len(app.text().splitlines()) < 10 * len(pairs)
    once = jf.ScheduleBuilder(80)
    once.messages(pairs, 1)
    assert noise_free(app) > 1.4 * noise_free(once)


def test_a_bandwidth_of_combining():
    texts = []
    for gamma in ("0.5ns", "2GB/s"):
        app = jf.ScheduleBuilder(2, gamma=gamma)
        app.collective("ring_allreduce", 1024)
        texts.append(app.text())
    assert texts[0] == texts[1]
    assert "calc 256\n" in texts[0]


def test_each_rank_may_have_its_own_time():
    app = jf.ScheduleBuilder(3)
    app.mark("0", app.calc(["5us", 1e-5, 0], ranks=[2, 0, 1]))
    assert app.text().count("calc 5000\n") == app.text().count("calc 10000\n") == 1
    assert run(app).mark_ticks_noise_free.tolist() == [10_000_000]
    with pytest.raises(ValueError, match="one for each of 3 ranks, got 2"):
        app.calc(["1us", "2us"])


def test_a_time_without_a_unit_is_warned_of_once():
    app = jf.ScheduleBuilder(2)
    with pytest.warns(jf.LongTimeWarning, match="time of calc") as told:
        done = app.calc([5, 6])
    assert len(told) == 1
    assert repr(done) == "Operations(of 2 ranks)"


def test_times_are_whole_nanoseconds():
    app = jf.ScheduleBuilder(1)
    app.calc("1.4ns")
    app.calc("1.6ns")
    assert [line for line in app.text().splitlines() if "calc" in line] == [
        "o0: calc 1", "o1: calc 2"]  # fmt: skip


@pytest.mark.parametrize("order", ["noise-free", "arrival"])
def test_the_files_it_writes_run_as_what_it_builds(tmp_path, order):
    app = jf.ScheduleBuilder(6, gamma="0.1ns", name="training")
    for step in range(3):
        sums = []
        for layer in range(2):
            backward = app.calc("300us", name="backward")
            sums.append(app.collective("ring_allreduce", "24kB", after=backward, cpu=1,
                                       name=f"layer{layer}"))  # fmt: skip
        app.calc("20us", after=sums)
        app.mark(f"step{step}")
    app.write(tmp_path / "app.goal", tmp_path / "app.marks")
    assert "layer1_" in (tmp_path / "app.goal").read_text()
    built = run(app, noise=NOISE, order=order)
    read = jf.simulate_schedule(
        tmp_path / "app.goal", NETWORK, NOISE, 20, order=order, marks=tmp_path / "app.marks"
    )
    assert built.marks == read.marks == ("step0", "step1", "step2")
    assert np.array_equal(built.ticks, read.ticks)
    assert np.array_equal(built.mark_ticks, read.mark_ticks)
    assert built.schedule.name == "training"
    again = pickle.loads(pickle.dumps(built.schedule))
    assert again.marks.names == built.marks
    assert np.array_equal(again.marks.of, built.schedule.marks.of)
    explained = jf.explain_schedule(built.schedule, NETWORK, NOISE, realizations=20)
    assert (explained.completion == jf.simulate_schedule(
        built.schedule, NETWORK, NOISE, 20).ticks).all()  # fmt: skip


def test_pairs_may_be_rows_of_an_array():
    texts = []
    for pairs in ([(0, 1), (2, 3)], np.array([[0, 1], [2, 3]]), [np.array([0, 1]), [2, 3]]):
        app = jf.ScheduleBuilder(4)
        app.messages(pairs, 8)
        texts.append(app.text())
    assert texts[0] == texts[1] == texts[2]


def test_a_mark_is_of_what_was_added_last_since_the_mark_before():
    app = jf.ScheduleBuilder(2)
    app.calc("1us", cpu=1)
    app.calc("2us")
    app.mark("a")
    app.calc("3us", ranks=[1])
    app.mark("b")
    marks = app.build().marks
    assert marks.names == ("a", "b")
    assert marks.of.tolist() == [0, 0, 0, 0, 1]
    with pytest.raises(ValueError, match="nothing was added since"):
        app.mark("c")
    app.calc("1us")
    assert (app.build().marks.of == NO_MARK).sum() == 2
    assert marks.of.tolist() == [0, 0, 0, 0, 1]  # an earlier schedule stays as it was


def wrong(do, text):
    with pytest.raises(ValueError, match=text):
        do(jf.ScheduleBuilder(4))


def test_errors_name_what_is_wrong():
    wrong(lambda _: jf.ScheduleBuilder(0), "ranks must be an integer from 1")
    wrong(lambda app: app.calc("-1us"), "time")
    wrong(lambda app: app.calc("1us", ranks=[4]), "ranks must be an integer from 0 to 3, got 4")
    wrong(lambda app: app.calc("1us", ranks=[]), "at least one")
    wrong(lambda app: app.calc("1us", ranks=[1, 1]), "different")
    wrong(lambda app: app.calc("1us", cpu=256), "cpu must be an integer from 0 to 255")
    wrong(lambda app: app.calc("1us", name="a b"), "a letter, then letters, digits and _")
    wrong(lambda app: app.calc("1us", name="_a"), "a letter, then letters, digits and _")
    wrong(lambda _: jf.ScheduleBuilder(4, name=5), "name must be text, got 5")
    wrong(lambda app: app.calc("1us", ranks=3), "ranks must be a list of them, got 3")
    wrong(lambda app: app.calc({1e-3}), "time")
    wrong(lambda app: app.calc(None), "time")
    wrong(lambda app: app.messages((0, 1), 8), "pair")
    wrong(lambda app: app.calc("1us", after=3), "what this builder's calls returned, got 3")
    wrong(lambda app: app.messages([(0, 0)], 1), "different")
    wrong(lambda app: app.messages([(0, 1, 2)], 1), "pair")
    wrong(lambda app: app.messages([(0, 1)], 0), "message_bytes")
    wrong(lambda app: app.messages([(0, 1)], 2**53), "message_bytes")
    wrong(lambda app: app.collective("ring_allreduce", 2**53), "message_bytes")
    wrong(lambda app: app.collective("ring", 8), "algorithm")
    wrong(lambda app: app.calc([[1, 2], [3]], ranks=[0, 1]), "time must be")
    wrong(lambda app: app.messages([([0], [1, 2])], 8), "ranks must be")
    wrong(lambda app: app.messages(np.zeros((2, 2, 2), dtype=int), 8), "pairs must be")
    wrong(lambda app: app.messages(np.array([0, 1]), 8), "pairs must be")
    wrong(lambda app: app.collective(jf.Butterfly(exchanges_after=1), 8), "redundant")
    wrong(lambda app: app.collective("ring_allreduce", 0), "message_bytes")
    wrong(lambda app: app.mark("a"), "nothing was added")
    wrong(lambda app: app.mark("two words", app.calc("1us")), "name must be a word")
    other = jf.ScheduleBuilder(4).calc("1us")
    wrong(lambda app: app.calc("1us", after=other), "this builder")
    wrong(lambda app: app.mark("a", other), "this builder")
    wrong(lambda app: app.calc("1us", after=[app.calc("1us"), other]), "this builder")
    app = jf.ScheduleBuilder(2)
    app.mark("a", done := app.calc("1us"))
    with pytest.raises(ValueError, match="has a mark already"):
        app.mark("b", done)
    with pytest.raises(ValueError, match="there is a mark a already"):
        app.mark("a")


def test_a_schedule_too_large_to_be_text_is_refused_before_it_is_made():
    app = jf.ScheduleBuilder(2**12)
    with pytest.raises(ValueError, match="at most"):
        app.collective("pairwise_alltoall", 8)
    assert app.build().messages == 0


def test_files_that_can_not_be_written(tmp_path):
    app = jf.ScheduleBuilder(2)
    app.calc("1us")
    with pytest.raises(ValueError, match="does not exist"):
        app.write(tmp_path / "no" / "app.goal")
    with pytest.raises(ValueError, match="must be a file"):
        app.write(tmp_path)
    with pytest.raises(ValueError, match="there are none to write"):
        app.write(tmp_path / "app.goal", tmp_path / "app.marks")
    app.mark("end")
    with pytest.raises(ValueError, match="another file"):
        app.write(tmp_path / "app.goal", tmp_path / "app.goal")
    assert not list(tmp_path.iterdir())
