"""`advise`: correct winners, early elimination, budget, reproducibility, errors of its question."""

import csv
import dataclasses
import io
import json
import math
import re

import numpy as np
import pytest
from reference.chance import FALSE_ALARM
from scipy import stats
from support.advice_cases import BUTTERFLIES, MACHINE, NOISE
from support.scale import full_scale, scaled

import jitterfly as jf
from jitterfly import program
from jitterfly.advice import Candidate, Question, known, register
from jitterfly.advice.race import Race, fitting_candidates, sharing_simulations, simulate_more
from jitterfly.advice.ranking import cell_of_race
from jitterfly.slowdown import part_in_words

# --- what is asked


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"ranks": 0}, "ranks must be an integer from 1 to 2^30, got 0"),
        ({"ranks": 2**31}, "ranks must be an integer from 1 to 2^30"),
        ({"message_bytes": 0}, "message_bytes must be an integer from 1 to 2^62, got 0"),
        (
            {"network": "fast"},
            "network must look like key=value,key=value, such as L=1us,o=200ns; got 'fast'",
        ),
        ({"noise": [3]}, "noise must be a list of sources"),
        ({"collective": "shuffle"}, "collective must be one of 'allreduce'"),
        ({"statistic": "max"}, "statistic must be mean or a quantile such as p50"),
        ({"within": -0.1}, "within must be a share from 0 to below 1"),
        ({"confidence": 0.3}, "confidence must be a share from 0.5 to below 1 such as 0.95 or 95%"),
        ({"confidence": 1.0}, "confidence must be a share from 0.5 to below 1"),
        ({"candidates": ["buterfly"]}, "(did you mean 'butterfly'?)"),
        ({"candidates": b"butterfly"}, "candidates must be a list of names"),
        ({"candidates": []}, "candidates must name at least one"),
        ({"candidates": ["butterfly"] * 2}, "'butterfly' is given twice"),
        (
            {"own": {"butterfly": {"kind": "butterfly"}}},
            "allreduce has a candidate 'butterfly' already",
        ),
        ({"own": {"a": {"kind": "quick"}}}, "own.a: kind must be one of"),
        ({"own": [1]}, "own must be a table"),
        ({"cycles": 0}, "cycles must be an integer from 1 to 100000"),
        ({"compute_time": "1 d"}, "compute_time must be a time"),
        ({"seed": -1}, "seed must be an integer from 0 to 2^64 - 1"),
        ({"realizations": 1}, "realizations must be an integer from 2 to 2^32"),
        ({"realizations": 100, "statistic": "p99.9"}, "realizations must be an integer from"),
        ({"seconds": 0}, "seconds must be left out, or above 0 and up to 1000000000, got"),
        ({"seconds": 2e9}, "seconds must be left out, or above 0 and up to 1000000000, got"),
        ({"seconds": "5"}, "seconds must be left out, or above 0 and up to 1000000000"),
        ({"backend": "tpu"}, "backend must be one of"),
        ({"threads": 0}, "threads must be an integer from 1 to 1024"),
        ({"progress": 3}, "progress must be None or callable"),
    ],
)
def test_bad_questions(fields, what):
    given = {"ranks": 8, "network": MACHINE, "noise": NOISE, "candidates": BUTTERFLIES} | fields
    with pytest.raises(ValueError, match=re.escape(what)):
        jf.advise(given.pop("ranks"), **given)


def test_needs_what_the_message_says():
    """The number that an error asks for is enough, and one less is not."""

    def ask(count):
        return Question(8, network=MACHINE, noise=NOISE, statistic="p99.9", realizations=count,
                        candidates=BUTTERFLIES)  # fmt: skip

    with pytest.raises(ValueError, match=r"from [0-9,]+ to") as error:
        ask(100)
    least = int(re.search("from ([0-9,]+) to", str(error.value))[1].replace(",", ""))
    with pytest.raises(ValueError, match="realizations must be"):
        ask(least - 1)
    assert ask(least).looks() == [least]


def test_looks_and_errors():
    question = Question("8,16", network=MACHINE, noise=NOISE, realizations=1000,
                        candidates=BUTTERFLIES)  # fmt: skip
    assert question.looks() == [32, 64, 128, 256, 512, 1000]
    # Both ends of an interval of each of 4 candidates, and of two intervals of each of 6 pairs, in
    # each of 2 cells, at each of 6 looks.
    assert question.error() * (2 * 4 + 4 * 6) * 2 * 6 == pytest.approx(0.05)


# --- candidates


def test_mirrors_and_patience_tell_programs_apart():
    made = jf.Butterfly
    own = {
        "1, 2": made(copy_levels="all", mirrors=[1, 2]),
        "1, 3": made(copy_levels="all", mirrors=[1, 3]),
        "soon": made(on_demand="all", patience="1us"),
        "late": made(on_demand="all", patience="2us"),
    }
    cell = jf.advise(16, network=MACHINE, noise=NOISE, candidates=["butterfly"], own=own,
                     realizations=64).cells[0]  # fmt: skip
    assert not cell.left_out
    assert {one.name for one in cell.ranking} == {"butterfly", "1, 2", "1, 3", "soon", "late"}


def test_what_does_not_fit_is_left_out():
    gap = jf.LogGOPS(L="1us", o="0.1us", g="0.15us", gamma="0.1ns")
    found = jf.advise("2,8", network=gap, noise=NOISE, candidates=BUTTERFLIES, realizations=64)
    small, cell = found.cells
    assert cell.left_out["butterfly_within_all"].startswith(
        "message_bytes = 8 occupy a link for 150 ns: what copies"
    )
    assert small.left_out["butterfly_after_all"] == "the same program as butterfly_after_1 here"
    assert any("the same program as butterfly_after_1" in line for line in found.lines())
    assert "at least 4 ranks" in small.left_out["butterfly_within_all"]
    few = jf.advise(4, network=gap, noise=NOISE, realizations=64).cells[0]
    assert few.left_out["butterfly_after_4"] == "4 ranks have 2 partners to forward to, not 4"
    assert {one.name for one in cell.ranking} == {"butterfly", "butterfly_after_1",
                                                  "butterfly_after_all"}  # fmt: skip
    small = jf.LogGOPS(L="1us", o="0.1us", S=100)
    found = jf.advise(8, network=small, message_bytes="8,1KiB", candidates=["butterfly"])
    assert [cell.outcome for cell in found.cells] == ["alone", "none fits"]
    assert (found.cells[0].best, found.cells[0].ranking[0].state) == ("butterfly", "best")
    told = "one candidate alone in 1 of 2 cells (50 %); no candidate fits in 1 of 2 cells (50 %)"
    assert found.summary() == told
    assert "8 ranks, 8 B: only butterfly" in found.report()
    assert "S must be None or at least" in found.cells[1].left_out["butterfly"]
    with pytest.raises(ValueError, match="candidates: none fits in any cell; butterfly: S must be"):
        jf.advise(8, network=small, message_bytes=200, candidates=["butterfly"])
    # What is wrong with the noise is no candidate's fault.
    elsewhere = "period=1ms,duration=25us,hosts=nodes(nodes=9,node_ranks=4)"
    with pytest.raises(ValueError, match=r"^noise: hosts: .*; there is no node 9") as caught:
        jf.advise(16, network=gap, noise=elsewhere, realizations=64)
    assert caught.value.field == "noise"


SAME = [
    ("allreduce", 2, {"ring", "rabenseifner"}),
    ("barrier", 2, {"dissemination", "recursive_doubling"}),
    ("allgather", 2, {"recursive_doubling", "bruck", "ring"}),
    ("reduce_scatter", 2, {"recursive_halving", "ring", "pairwise"}),
    ("alltoall", 2, {"bruck", "pairwise", "linear", "scattered"}),
    ("alltoall", 3, {"bruck", "pairwise"}),
    ("gather", 3, {"binomial", "linear"}),
    ("scatter", 2, {"binomial", "linear"}),
]


@pytest.mark.parametrize(("collective", "ranks", "names"), SAME)
def test_the_same_messages_are_the_same_program(collective, ranks, names):
    """However their steps are written; all of their realizations are the same."""
    question = Question(ranks, network=MACHINE, collective=collective, candidates=sorted(names),
                        noise=[jf.StepNoise(jf.Exponential("5us")), *NOISE])  # fmt: skip
    (one,), left_out = fitting_candidates(question, ranks, 8)
    assert left_out == dict.fromkeys(names - {one.name}, f"the same program as {one.name} here")
    times = [
        jf.simulate(
            dataclasses.replace(
                one.case, algorithm=known(collective)[name].make(ranks, MACHINE, 8)
            ),
            300,
        ).ticks[:, -1]
        for name in names
    ]
    assert all((other == times[0]).all() for other in times)
    assert len(fitting_candidates(question, 4, 8)[0]) > 1


def test_own_candidates_and_the_registry():
    mine = Candidate(
        "mine", lambda ranks, network, size: jf.Butterfly(exchanges_after=2), usual=False
    )
    register("allreduce", mine)
    try:
        assert known("allreduce")["mine"] is mine
        found = jf.advise(16, network=MACHINE, noise=NOISE, candidates=["butterfly", "mine"],
                          own={"three": {"kind": "butterfly", "exchanges_after": 3}, "four":
                               jf.Butterfly(exchanges_after=4)}, realizations=64)  # fmt: skip
    finally:
        from jitterfly.algorithms import candidates

        del candidates._REGISTERED["allreduce"]["mine"]
    assert {one.name for one in found.cells[0].ranking} == {"butterfly", "mine", "three", "four"}
    with pytest.raises(ValueError, match="candidates must be one of"):
        jf.advise(16, network=MACHINE, candidates=["mine"])


@pytest.mark.parametrize("cycles", [1, 3])
def test_all_see_the_same_noise(cycles):
    """Samples are those of `simulate`, candidate by candidate, whoever shares a simulation."""
    question = Question(64, network=MACHINE, noise=NOISE, seed=9, candidates=BUTTERFLIES,
                        cycles=cycles, compute_time="1us",
                        own={"two": jf.Butterfly(exchanges_after=2)})  # fmt: skip
    found, left_out = fitting_candidates(question, 64, 8)
    assert not left_out
    made = sharing_simulations(found)
    # Forwards for nothing (own) and for a message's cost differ; those without any fit both.
    assert sorted(len(group) for group in made) == ([1, 1, 3] if cycles == 1 else [1] * 5)
    for group in made:
        for one in group:
            one.find_noise_free()
        assert simulate_more(group, 20, 9) == 20
        simulate_more(group[:1], 50, 9)
        simulate_more(group, 50, 9)
        for one in group:
            alone = jf.simulate(one.case, 50, seed=9)
            np.testing.assert_array_equal(one.samples, alone.samples[:, -1])
            assert one.noise_free == pytest.approx(alone.noise_free[-1], abs=1e-15)


def test_noise_makes_no_butterfly_earlier():
    """What `never_early` says of those that send no copies inside."""
    noise = [*NOISE, jf.StepNoise(jf.Exponential("2us"), 0.2)]
    question = Question(16, network=MACHINE, noise=noise, candidates=BUTTERFLIES)
    found, _ = fitting_candidates(question, 16, 8)
    assert [one.name for one in found if not one.never_early] == ["butterfly_within_all"]
    for one in found:
        one.find_noise_free()
        simulate_more([one], 300, 1)
        assert not one.never_early or one.samples.min() >= one.noise_free - 1e-15
        assert one.samples.max() > one.noise_free


# --- quiet machines, and noise that hits nothing


def test_without_noise_it_is_exact():
    found = jf.advise(64, network=MACHINE, candidates=BUTTERFLIES, within=0.0)
    cell = found.cells[0]
    assert found.ended == "decided"
    assert found.simulated == 0
    # Forwards follow the result, so that they do not delay it; copies inside take CPU time later.
    assert cell.best == "butterfly"
    assert cell.outcome == "equal"
    twice = jf.advise(64, network=MACHINE, candidates=BUTTERFLIES[:2], cycles=2, within=0.0)
    cell = twice.cells[0]
    assert cell.outcome == "winner"
    assert float(cell.ranking[1].difference.value) == pytest.approx(0.2e-6)
    assert float(cell.ranking[1].difference.low) == pytest.approx(0.2e-6)


def test_help_against_noise_is_not_usual_on_a_quiet_machine():
    cell = jf.advise(16, network=MACHINE).cells[0]
    assert cell.left_out["butterfly_after_1"] == "there is no noise that it could help against"
    assert not any("butterfly_" in one.name for one in cell.ranking)


def test_noise_that_hits_nothing_is_refused():
    """Hockney without gamma: the CPU does nothing."""
    with pytest.raises(ValueError, match=r"^noise.0 \(periodic\) can hit nothing in any cell: "):
        jf.advise(16, network=jf.Hockney("1us", 0), noise=NOISE, candidates=BUTTERFLIES)


def test_cells_that_noise_does_not_reach_are_not_simulated():
    """One rank exchanges nothing, so that its noise-free times are all there is to know."""
    found = jf.advise("1,16", network=MACHINE, noise=NOISE, candidates=BUTTERFLIES[:1])
    assert found.cell(1, 8).ranking[0].realizations == 0


# --- races


def test_a_cell_under_noise():
    found = jf.advise(256, network=MACHINE, noise=NOISE, candidates=BUTTERFLIES, seed=3)
    cell = found.cell(256, 8)
    assert (cell.outcome, cell.best) == ("winner", "butterfly_after_all")
    assert [one.state for one in cell.ranking] == ["best", "slower", "slower", "slower"]
    for one in cell.ranking[1:]:
        samples = jf.simulate(_case(one.name), one.realizations, seed=3).samples[:, -1]
        first = jf.simulate(_case("butterfly_after_all"), one.realizations, seed=3).samples[:, -1]
        assert float(one.ratio.value) == pytest.approx(samples.mean() / first.mean())
        assert float(one.difference.value) == pytest.approx((samples - first).mean())
        wins = (samples < first).mean() + 0.5 * (samples == first).mean()
        assert float(one.faster.value) == pytest.approx(wins)
        assert one.versus == "butterfly_after_all"
        assert 1 < float(one.ratio.low) <= float(one.ratio.value) <= float(one.ratio.high)
        assert float(one.slowdown.value) == pytest.approx(samples.mean() / one.noise_free)
        assert found.question.looks()[one.look - 1] == one.told_at == one.realizations
    with pytest.raises(ValueError, match="ranks must be one of 256 and message_bytes one of 8"):
        found.cell(256, 9)


def _case(name):
    algorithm = known("allreduce")[name].make(256, MACHINE, 8)
    return jf.Case(256, algorithm=algorithm, network=MACHINE, noise=NOISE)


def test_slower_without_noise_is_not_simulated():
    """What needs a millisecond on a quiet machine can not win here, and costs nothing."""
    question = Question(64, network=MACHINE, noise=NOISE, seed=1, within=0.0,
                        candidates=["butterfly", "butterfly_within_all"])  # fmt: skip
    race = Race(question, 64, 8)
    race.prepare()
    late = next(one for one in race.candidates if one.name == "butterfly_within_all")
    late.noise_free, late.never_early = 1e-3, True
    race.look_at(0, 32, lambda _: None)
    assert not len(late.samples)
    assert late.dropped == 0
    assert race.decided
    cell = cell_of_race(race, 0.95)
    assert (cell.outcome, cell.best, cell.realizations) == ("winner", "butterfly", 32)
    last = cell.ranking[1]
    assert last.state == "slower without noise"
    assert math.isnan(float(last.value.value))
    ceiling = race.ceiling
    assert float(last.ratio.low) == pytest.approx(1e-3 / ceiling)
    assert float(last.difference.low) == pytest.approx(1e-3 - ceiling)
    assert math.isinf(float(last.ratio.high))


def test_the_same_again_and_on_another_machine():
    def ask(**more):
        found = jf.advise("16,64", network=MACHINE, noise=NOISE, candidates=BUTTERFLIES, seed=5,
                          statistic="p90", **more)  # fmt: skip
        return {**found.to_dict(), "elapsed_s": None, "notes": None}  # a note has the time

    assert ask(threads=1) == ask(threads=2)


@pytest.mark.parametrize("statistic", [full_scale("mean"), "p90"])
def test_ranking_survives_another_seed(statistic):
    """20 seeds, 4 cells, no tolerance: a winner of one is the winner of all.

    With 95 % all winners of a run are right, so more wrong runs of 20 than `binom.isf(FALSE_ALARM)`
    would refute it; and most cells do have one.
    """

    def ask(seed, realizations):
        found = jf.advise(
            "64,256",
            network=MACHINE,
            noise=NOISE,
            message_bytes="8,4KiB",
            seed=seed,
            candidates=["butterfly", "butterfly_after_1", "butterfly_within_all"],
            own={"copies": jf.Butterfly(exchanges_after=2, copy_levels=[1])},
            statistic=statistic,
            within=0.0,
            realizations=realizations,
        )
        return [cell.best for cell in found.cells]

    long = ask(99, 40_000)
    assert "" not in long
    seeds = scaled(20, least=5)
    winners = np.array([ask(seed, 4096) for seed in range(seeds)])
    wrong = ((winners != "") & (winners != long)).any(axis=1).sum()
    assert wrong <= stats.binom.isf(FALSE_ALARM, seeds, 0.05)
    assert (winners == long).mean() > 0.5


# --- budgets


def test_realizations_are_the_limit():
    found = jf.advise(64, network=MACHINE, noise=NOISE, realizations=70, within=0.0,
                      candidates=["butterfly_after_4", "butterfly_after_all"])  # fmt: skip
    assert found.ended == "realizations"
    cell = found.cells[0]
    assert (cell.outcome, cell.best, cell.realizations) == ("no winner", "", 70)
    assert found.simulated == 70  # both come out of one simulation
    assert set(cell.among) == {"butterfly_after_4", "butterfly_after_all"}
    assert found.summary() == "no winner in this cell"
    notes = found.to_dict()["notes"]  # which the JSON and a report have
    assert f"network {part_in_words(MACHINE)}" in notes
    assert f"noise {part_in_words(found.question.noise[0])}" in notes
    assert found.report()[-1].endswith(
        "the budget of 70 realizations is spent before all is decided: raise `realizations`, "
        "or let `within` count larger differences as equal"
    )


@pytest.mark.timing
def test_seconds_are_the_limit():
    """A budget that is over after the first look of the first cells."""
    found = jf.advise("2^8..2^14", network=MACHINE, noise=NOISE, seconds=0.05, within=0.0,
                      candidates=["butterfly_after_4", "butterfly_after_all"])  # fmt: skip
    assert found.ended == "seconds"
    assert found.elapsed < 5
    assert found.cells[-1].outcome in ("not run", "no winner")
    json.loads(found.to_json())
    told = "the budget of 0.05 s is spent before all is decided: raise `seconds`"
    assert found.report()[-1].endswith(told)


@pytest.mark.parametrize("after", [1, 40])
def test_ctrl_c_gives_what_is_known(after):
    calls = 0

    def press(state):
        nonlocal calls
        calls += 1
        assert state.look <= state.looks
        if calls == after:
            raise KeyboardInterrupt

    found = jf.advise("16,64,256", network=MACHINE, noise=NOISE, within=0.0, progress=press,
                      candidates=["butterfly_after_4", "butterfly_after_all"])  # fmt: skip
    assert found.ended == "stopped"
    outcomes = {cell.outcome for cell in found.cells}
    assert "not run" in outcomes if after == 1 else outcomes <= {"no winner", "winner", "alone"}


# --- what comes out


def test_json_and_csv_hold_all_of_it():
    found = jf.advise("2,64", network=MACHINE, noise=NOISE, realizations=256, seed=2,
                      candidates=BUTTERFLIES)  # fmt: skip
    table = json.loads(found.to_json())
    assert [cell["ranks"] for cell in table["cells"]] == [2, 64]
    assert table["noise"][0]["kind"] == "periodic"
    assert table["looks"][-1] == 256
    rows = list(csv.DictReader(io.StringIO(found.to_csv())))
    assert len(rows) == 8
    left_out = [row for row in rows if row["state"] == "left out"]
    assert {row["candidate"] for row in left_out} == {"butterfly_after_all", "butterfly_within_all"}
    assert all(row["reason"] for row in left_out)
    for cell, entry in zip(found.cells, table["cells"], strict=True):
        mine = [row for row in rows if int(row["ranks"]) == cell.ranks and row["place"]]
        assert [row["candidate"] for row in mine] == [one.name for one in cell.ranking]
        for row, one, told in zip(mine, cell.ranking, entry["ranking"], strict=True):
            assert float(row["ratio"]) == float(one.ratio.value) == told["ratio"]["value"]
            assert int(row["realizations"]) == one.realizations
            assert float(row["slowdown"]) == float(one.slowdown.value) == told["slowdown"]["value"]
            assert float(row["noise_free_s"]) == one.noise_free == told["noise_free_s"]
            assert row["state"] == one.state == told["state"]
            assert row["versus"] == one.versus == (told["versus"] or "")
            assert int(row["told_at"]) == one.told_at == told["told_at"]
            assert int(row["look"]) == one.look == told["look"]
            assert row["known_from"] == told["known_from"] == "simulated"


def test_bounds_are_last_and_say_so():
    """What was never simulated does not stand before what was, whatever its bound is."""
    machine = jf.LogGOPS(L="1us", o="0.2us", g="0.1us", G="0.1ns")
    found = jf.advise(1024, network=machine, noise=NOISE, within=0.0)
    ranking = found.cells[0].ranking
    known = [one.realizations > 0 for one in ranking]
    assert known == sorted(known, reverse=True)
    bounds = [one for one in ranking if not one.realizations]
    assert {one.name for one in bounds} == {"reduce_broadcast", "rabenseifner", "ring"}
    assert all(one.is_bound and one.state == "slower without noise" for one in bounds)
    # Two of them may be quicker than some that were simulated: a bound tells nothing of this.
    assert bounds[0].noise_free < max(
        float(one.value.value) for one in ranking if one not in bounds
    )
    rows = list(csv.DictReader(io.StringIO(found.to_csv())))
    assert [row["known_from"] == "bound" for row in rows] == [not there for there in known]
    told = json.loads(found.to_json())["cells"][0]
    assert [one["known_from"] == "bound" for one in told["ranking"]] == [not x for x in known]
    assert told["at_most_times_the_best"] == 1.0
    for one in bounds:
        assert one.versus
        assert one.told_at == 32
        assert math.isnan(float(one.slowdown.value))
        assert float(one.ratio.low) > 1


@pytest.mark.parametrize("cycles", [1, 12])
def test_exchanges_after_the_last_cycle_are_said_to_cost_nothing(cycles):
    found = jf.advise(64, network=MACHINE, noise=NOISE, realizations=2000, cycles=cycles,
                      candidates=["recursive_doubling", "butterfly_after_all"])  # fmt: skip
    (cell,) = found.cells
    free = [str(note) for note in found.notes() if note.code == "free_exchanges"]
    if cycles == 1:
        assert cell.best == "butterfly_after_all"
        assert free[0].startswith("butterfly_after_all: the exchanges after the butterfly cost CPU")
    else:
        assert not free


def test_late_noise_is_told_with_progress_and_within_the_time(monkeypatch):
    """On a million unlike ranks one time without noise takes 10 s; there is one of each case."""
    events, find = [], program._noise_free

    def watched(case, poll=None):
        events.append(case.ranks)
        return find(case, poll)

    monkeypatch.setattr(program, "_noise_free", watched)
    noise = jf.PeriodicNoise("1ms", "10us", begin="1s")
    with pytest.warns(jf.IneffectiveNoiseWarning, match=r"^on 8 ranks ") as told:
        jf.advise([8, 16], network="L=1us,o=200ns", noise=noise, realizations=50,
                  progress=lambda _: events.append("progress"))  # fmt: skip
    assert len(told) == 1
    assert events[0] == "progress"
    assert events.index("progress", 1) < events.index(16)
