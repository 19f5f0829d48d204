"""`advise` within its budget of seconds and realizations; Ctrl-C; own candidates; units."""

import csv
import io
import json
import math
import re
import time
from dataclasses import dataclass

import numpy as np
import pytest
from support.advice_cases import ARGUMENTS, BUTTERFLIES, FILE, MACHINE, NOISE, run

import jitterfly as jf
from jitterfly.advice import Question, search
from jitterfly.advice.race import Race
from jitterfly.advice.ranking import cell_of_race
from jitterfly.algorithms.own import Shift, collective, message

TREES = ["reduce_broadcast", "recursive_doubling"]  # ranks are not alike: times by the engine


# --- noise-free times


def slow(monkeypatch, seconds, stop_at=math.inf):
    """Noise-free times that take so long; at the `stop_at`-th, Ctrl-C."""
    asked = []

    real = jf.Case.noise_free_ticks

    def quiet(case, poll=None):
        if poll is None:  # known by then
            return real(case)
        asked.append(case)
        if len(asked) == stop_at:
            raise KeyboardInterrupt
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            poll(0)
            time.sleep(0.002)
        return real(case)

    monkeypatch.setattr(jf.Case, "noise_free_ticks", quiet)
    return asked


@pytest.mark.timing
@pytest.mark.parametrize("noise", [NOISE, ()], ids=["noise", "quiet"])
def test_noise_free_times_are_within_the_seconds(monkeypatch, noise):
    asked = slow(monkeypatch, 0.2)
    found = jf.advise("5,7,11,13", network=MACHINE, noise=noise,
                      seconds=0.5, candidates=TREES)  # fmt: skip
    assert found.ended == "seconds"
    assert found.elapsed < 5
    assert len(asked) < 8
    assert found.cells[-1].outcome == "not run"
    assert found.cells[-1].noise_free == {}
    assert "raise `seconds`" in " ".join(found.report())


def test_ctrl_c_among_noise_free_times_gives_what_is_known(monkeypatch):
    slow(monkeypatch, 0.0, stop_at=4)
    told = []
    found = jf.advise("5,7,11", network=MACHINE, candidates=TREES,
                      progress=lambda state: told.append(state.prepared))  # fmt: skip
    assert found.ended == "stopped"
    assert [cell.outcome for cell in found.cells] == ["winner", "not run", "not run"]
    assert list(found.cells[1].noise_free) == TREES[:1]
    assert found.cells[2].noise_free == {}
    assert set(told) <= {0, 1}
    text = "\n".join(found.report())
    assert "stopped: this is what was known by then" in text
    assert "not run" in text
    rows = list(csv.DictReader(io.StringIO(found.to_csv())))
    (row,) = [row for row in rows if row["state"] == "not run"]
    assert (row["ranks"], row["candidate"], row["realizations"]) == ("7", TREES[0], "0")
    assert float(row["noise_free_s"]) == found.cells[1].noise_free[TREES[0]]
    cells = json.loads(found.to_json())["cells"]
    assert [len(cell["noise_free_s"]) for cell in cells] == [2, 1, 0]


def test_one_cell_that_was_stopped_shows_the_times_it_has(monkeypatch):
    slow(monkeypatch, 0.0, stop_at=2)
    found = jf.advise("7", network=MACHINE, noise=NOISE, candidates=TREES)
    text = found.report()
    assert any(line.startswith("7 ranks, 8 B: not run") for line in text)
    assert any(TREES[0] in line and line.endswith("without noise") for line in text)


@pytest.mark.timing
def test_the_engine_stops_within_a_realization():
    """Of so many ranks one realization takes seconds; 0.3 of them are given."""
    question = Question(3 * 2**23, network=MACHINE, noise=NOISE, seconds=0.3, candidates=TREES)
    started = time.monotonic()
    found = search(question)
    assert found.ended == "seconds"
    assert found.cells[0].outcome == "not run"
    whole = time.monotonic() - started
    assert whole < 5, whole


def test_seconds_count_from_the_start():
    question = Question(8, network=MACHINE, noise=NOISE, seconds=50, candidates=BUTTERFLIES[:2])
    found = search(question, started=time.monotonic() - 100)
    assert found.ended == "seconds"
    assert found.elapsed > 100


def test_what_is_kept_of_a_case_does_not_depend_on_who_asked():
    case = jf.Case(11, algorithm=jf.ReduceBroadcastAllreduce(), network=MACHINE)
    first = case.noise_free_ticks(lambda done: None)
    np.testing.assert_array_equal(first, case.noise_free_ticks())

    def stop(done):
        raise RuntimeError("computed again")

    np.testing.assert_array_equal(first, case.noise_free_ticks(stop))


# --- bounds


def test_who_was_dropped_unseen_is_slower_by_what_is_told():
    """The bound by which it was dropped stays, though those that gave it are dropped later."""
    question = Question(64, network=MACHINE, noise=NOISE, within=0.0,
                        candidates=["butterfly", "butterfly_after_1", "ring"])  # fmt: skip
    race = Race(question, 64, 8)
    race.prepare()
    a, b, late = race.candidates
    rng = np.random.default_rng(5)
    for one in (a, b):  # about 10 us; then something rare is seen, and the bounds rise
        quick, slow = 1e-7 * rng.random(32), 6e-5 * rng.random(32)
        one.samples, one.noise_free = 10e-6 + np.concatenate([quick, slow]), 9e-6
    late.noise_free = 10.5e-6
    race.look_at(0, 32, lambda _: None)
    first = race.ceiling
    assert first < late.noise_free
    assert late.dropped == 0
    race.look_at(1, 64, lambda _: None)
    assert race.statistic.upper(a.samples, race.error) > 2 * late.noise_free
    assert race.ceiling == first
    (one,) = [
        one for one in cell_of_race(race, 0.95).ranking if one.state == "slower without noise"
    ]
    assert one.name == "ring"
    assert float(one.ratio.low) == pytest.approx(10.5e-6 / first)
    assert float(one.difference.low) == pytest.approx(10.5e-6 - first)
    assert float(one.ratio.high) == math.inf


# --- words


def test_the_confidence_has_all_its_digits():
    for confidence, share in ((0.95, "95"), (0.9999999, "99.99999")):
        found = jf.advise(4, network=MACHINE, noise=NOISE, confidence=confidence, realizations=64)
        assert f"{share} % for" in found.report()[-2]


def test_the_limit_of_the_gap_is_exact():
    network = jf.LogGOPS("1us", "1.000000499ms", g="1.0000005ms")
    with pytest.raises(ValueError, match=re.escape(
        "g must be from 0 to 1.000000499 ms here, the time between two sends of a rank (waiting "
        "for the gap is not modelled), got 1.0000005 ms"
    )):  # fmt: skip
        jf.Case(8, algorithm=jf.Butterfly(copy_levels="all"), network=network)


# --- candidates


def ask(candidates, own):
    question = Question(8, network=MACHINE, noise=NOISE, candidates=candidates, own=own)
    return [one.name for one in question.chosen()]


OWN = {
    "mine": {"kind": "butterfly", "exchanges_after": 2},
    "yours": {"kind": "butterfly", "exchanges_after": 3},
}


def test_own_candidates_have_names():
    assert ask(["ring"], OWN) == ["ring", "mine", "yours"]
    assert ask(["ring", "mine"], OWN) == ["ring", "mine"]
    assert ask(["mine"], OWN) == ["mine"]
    assert ask([], OWN) == ["mine", "yours"]
    with pytest.raises(ValueError, match=r"candidates must be one of 'mine', 'yours', .*ring"):
        ask(["his"], OWN)
    with pytest.raises(ValueError, match="'mine' is given twice"):
        ask(["mine", "mine"], OWN)
    with pytest.raises(ValueError, match="allreduce has a candidate 'ring' already: give yours"):
        ask(["ring"], OWN | {"ring": {"kind": "butterfly"}})
    assert ask(["butterfly"], {"ring": {"kind": "butterfly"}}) == ["butterfly", "ring"]


@pytest.mark.parametrize(
    ("collective", "mine", "of"),
    [
        ("allreduce", jf.DisseminationBarrier(), "dissemination_barrier, says barrier"),
        ("allreduce", {"kind": "binomial_reduce"}, "binomial_reduce, says reduce"),
        ("reduce", jf.Butterfly(), "butterfly, says allreduce"),
        ("allgather", jf.BruckAlltoall(), "bruck_alltoall, says alltoall"),
    ],
)
def test_own_candidates_are_of_the_collective(collective, mine, of):
    with pytest.raises(
        ValueError, match=f"^own.mine must be an algorithm for {collective}, .*{of}"
    ):
        jf.advise(8, network=MACHINE, noise=NOISE, collective=collective, own={"mine": mine})


@dataclass(frozen=True)
class Early(jf.Algorithm, kind="test_advise_early"):
    """The first rounds of a dissemination, in which every rank is heard by some only."""

    fewer: int = 1

    def steps(self, ranks, message_bytes):
        rounds = range((ranks - 1).bit_length() - self.fewer)
        return collective(
            [message(Shift(1 << k), k, message_bytes, "sum", combine=True) for k in rounds]
        )


del jf.Algorithm._kinds["test_advise_early"]  # other tests look at all kinds


def test_an_own_algorithm_that_is_none_of_the_collective_is_named_first(monkeypatch):
    monkeypatch.setattr(jf.Algorithm, "_kinds", jf.Algorithm._kinds | {Early.kind: Early})

    def ask(**own):
        found = jf.advise("6,8", network=MACHINE, noise=NOISE, own=own, candidates=["ring", *own],
                          realizations=64)  # fmt: skip
        return [note for note in found.notes() if note.code == "own_algorithm"], found

    notes, found = ask(all=Early(0), some=Early(1), usual=jf.RingAllreduce())
    assert [note.place for note in notes] == ["first"] * 2
    assert notes[0].startswith("caution: all: Early is no allreduce on 6 ranks: rank 0 has added")
    assert notes[1].startswith("caution: some: Early is no allreduce on 6 ranks: rank 0 ends with")
    assert found.report()[0] == notes[0]
    assert ask(usual=jf.Butterfly())[0] == []
    monkeypatch.setattr("jitterfly.advice.answer._CHECKED_MESSAGES", 10)
    [note] = ask(all=Early(0))[0]
    assert "all sends too many messages on 6, 8 ranks" in note


def test_an_allreduce_may_be_a_barrier():
    question = Question(8, network=MACHINE, collective="barrier", own={"mine": jf.Butterfly()})
    assert "mine" in [one.name for one in question.chosen()]


def test_the_command_knows_own_candidates(tmp_path, capsys):
    path = tmp_path / "question.toml"
    path.write_text(FILE)
    assert run(path, "--ranks", 16, "--bytes", 8, "--candidates", "butterfly,both") == 0
    printed = capsys.readouterr().out
    assert " both " in printed
    assert "butterfly_after_1" not in printed
    assert run(path, "--candidates", "list") == 0
    lines = [re.split(r"\s{2,}", line.strip()) for line in capsys.readouterr().out.splitlines()]
    assert ["both", "own, of this file"] in lines
    assert "ring" in [line[0] for line in lines]
    assert run(path, "--candidates", "boths") == 2
    assert "(did you mean 'both'?)" in capsys.readouterr().err


def test_a_message_of_many_bytes(capsys):
    assert run(*ARGUMENTS[:2], "--bytes", "1TiB", *ARGUMENTS[4:6], "--realizations", 64) == 0
    assert "1 TiB" in capsys.readouterr().out
