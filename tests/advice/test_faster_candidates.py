"""Answers about a butterfly at sizes at which it is a bad choice say so in their first line.

Times are closed forms: `butterfly` = log2(N) A(n), `rabenseifner` the sum of two halvings.
"""

import csv
import json
import time
import warnings
from dataclasses import replace

import pytest

import jitterfly as jf
from jitterfly import noise_limit
from jitterfly.advice import Question
from jitterfly.advice.race import Race
from jitterfly.cli import main
from jitterfly.compare_measured import compare_measured
from jitterfly.faster_algorithm import FAR_SLOWER, algorithm_cautions, faster_candidate
from jitterfly.units import show_seconds

NETWORK = jf.LogGOPS(L="1us", o="200ns", G="0.1ns")
NOISE = "period=1ms,duration=25us,start=stationary"
MIB = 2**20
BUTTERFLY = 6 * (1.4e-6 + (MIB - 1) * 1e-10)
RABENSEIFNER = 2 * sum(1.4e-6 + (MIB / 2**k - 1) * 1e-10 for k in range(1, 7))
LINE = (
    f"a butterfly is a bad choice for 1 MiB on 64 ranks: without noise it takes "
    f"{show_seconds(BUTTERFLY, 4)}, rabenseifner_allreduce {show_seconds(RABENSEIFNER, 4)}; for "
    "that give {} rabenseifner_allreduce"
)
LEVELS = "8: L=300ns,o=100ns,G=0.05ns; L=1us,o=200ns,G=0.1ns"


def case_of(ranks=64, size=MIB, network=NETWORK, **fields):
    return jf.Case(ranks, network=network, noise=[NOISE], message_bytes=size, **fields)


def best_of_advise(case):
    """The time and the name of the best one without noise, as `advise` finds it."""
    race = Race(Question(case.ranks, network=case.network, message_bytes=case.message_bytes),
                case.ranks, case.message_bytes)  # fmt: skip
    race.prepare()
    best = min(race.candidates, key=lambda one: one.noise_free)
    return best.noise_free, best.name


def test_the_times_are_those_of_closed_forms():
    found = faster_candidate(case_of())
    assert (found.ranks, found.message_bytes, found.name) == (64, MIB, "rabenseifner_allreduce")
    assert found.butterfly == pytest.approx(BUTTERFLY, abs=1e-12)
    assert found.noise_free == pytest.approx(RABENSEIFNER, abs=1e-12)


@pytest.mark.parametrize("network", [NETWORK, LEVELS, jf.Hockney("1us", "1ns", "0.2ns")])
def test_it_is_there_where_advise_knows_one_that_is_twice_as_fast(network):
    told = 0
    for ranks in (2, 3, 16, 24, 100, 256):
        for size in (1, 1000, 30_000, MIB):
            case = case_of(ranks, size, network)
            own = float(jf.simulate(replace(case, noise=()), 1).noise_free[-1])
            best, name = best_of_advise(case)
            found = faster_candidate(case)
            if own <= FAR_SLOWER * best:
                assert found is None, (ranks, size)
                continue
            told += 1
            assert (found.butterfly, found.noise_free) == (own, best), (ranks, size)
            assert name in (found.name, found.name.removesuffix("_allreduce")), (ranks, size)
            # What the line says to give is that algorithm.
            assert main(["explain", "--ranks", str(ranks), "--bytes", str(size), "--noise", NOISE,
                         "--realizations", "2", "--algorithm", found.name, "--network",
                         LEVELS if network == LEVELS else "L=1us,o=200ns"]) == 0  # fmt: skip
    assert told > 2


def test_only_the_collective_of_a_plain_butterfly_counts():
    """Of one collective: with neither noise, lateness, speed, compute phases nor cycles."""
    alone = faster_candidate(case_of())
    more = case_of(
        cycles=3,
        compute_time="10ms",
        arrival=jf.imbalance.OneLate("1ms"),
        speed=jf.imbalance.SlowRanks(2.0, [3]),
    )
    assert faster_candidate(more) == alone
    for other in (jf.Butterfly(exchanges_after=1), jf.RecursiveDoublingAllreduce()):
        assert faster_candidate(case_of(algorithm=other)) is None
    assert faster_candidate(case_of(1)) is None
    assert algorithm_cautions([case_of(64, 8), case_of(64, 1000)]) == []


def test_a_million_ranks_take_no_time():
    for ranks in (2**20, 2**20 - 1):
        begun = time.process_time()
        found = faster_candidate(case_of(ranks))
        assert time.process_time() - begun < 10
        assert found.name == "rabenseifner_allreduce"


def test_the_slowdown_says_so_first():
    asked = {"network": NETWORK, "realizations": 5, "algorithm": "butterfly"}
    found = jf.slowdown(NOISE, "32,64", message_bytes=MIB, **asked)
    line = LINE.format("`algorithm`").replace("64 ranks:", "64 ranks (and in 1 other row):")
    assert found.report()[:3] == [line, "", found.title()]
    assert found.report().count(line) == 1
    assert found.notes()[0] == found.subtitle()[0] == line
    rows = list(csv.DictReader(found.to_csv().splitlines()))
    assert rows[1]["faster_algorithm"] == "rabenseifner_allreduce"
    assert float(rows[1]["faster_noise_free_s"]) == pytest.approx(RABENSEIFNER, abs=1e-12)
    short = jf.slowdown(NOISE, 64, **asked)
    assert short.report()[0] == short.title()
    row = next(csv.DictReader(short.to_csv().splitlines()))
    assert (row["faster_algorithm"], row["faster_noise_free_s"]) == ("", "")
    # What it says to give, in Python as well.
    better = jf.slowdown(NOISE, 64, network=NETWORK, message_bytes=MIB, realizations=5,
                         algorithm="rabenseifner_allreduce")  # fmt: skip
    assert better.rows[0].noise_free == pytest.approx(RABENSEIFNER, abs=1e-12)
    assert better.cautions() == []


def test_so_do_the_limit_the_causes_and_the_comparison():
    line = LINE.format("`algorithm`")
    limit = noise_limit("period=1ms,duration=max", 64, at_most=1.5, network=NETWORK,
                        message_bytes=MIB, realizations=20, algorithm="butterfly")  # fmt: skip
    causes = jf.explain(case_of(), 5)
    agreement = compare_measured([1e-3, 2e-3, 3e-3], case_of(), realizations=20)
    for found in (limit, causes, agreement):
        assert found.report()[:3] == [line, "", found.title()]
        assert found.notes()[0] == found.subtitle()[0] == line
    (row,) = csv.DictReader(limit.to_csv().splitlines())
    assert row["faster_algorithm"] == "rabenseifner_allreduce"


@pytest.mark.parametrize("command", ["slowdown", "explain"])
def test_the_command_names_its_option(command, capsys):
    line = LINE.format("--algorithm")
    words = [command, "--noise", NOISE, "--ranks", "64", "--bytes", "1MiB", "--realizations", "5"]
    asked = [*words, "--algorithm", "butterfly"]
    assert main(asked) == 0
    assert capsys.readouterr().out.splitlines()[0] == line
    assert main([*asked, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["notes"][0] == line
    for other in ([], ["--algorithm", "rabenseifner"]):  # without a name, a library's choice
        assert main([*words, *other]) == 0
        assert "bad choice" not in capsys.readouterr().out


def test_a_study_that_names_no_algorithm_is_warned_of(tmp_path):
    case = {"ranks": 64, "network": NETWORK.to_dict(), "message_bytes": MIB,
            "noise": [{"kind": "periodic", "period": "1ms", "duration": "25us"}]}  # fmt: skip
    budget = jf.RealizationBudget(min=2, max=2)
    with pytest.warns(UserWarning, match="a butterfly is a bad choice for 1 MiB on 64 ranks: "):
        jf.Study("usual", case=case, budget=budget).run(tmp_path / "usual")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a study of that butterfly, as of a paper
        named = case | {"algorithm": {"kind": "butterfly"}}
        jf.Study("named", case=named, budget=budget).run(tmp_path / "named")
