"""`python -m bench --compare`: planted regressions are found, rate of false alarms."""

import copy
import itertools
import json
import math

import numpy as np
import pytest
from scipy import stats
from support.scale import at_most, scaled

import jitterfly as jf
from bench import comparison
from bench.__main__ import main
from bench.benchmark import machine
from bench.measure import NOISES

CASES = list(itertools.product(("butterfly", "MS12, all T"), (16, 4096, 2**16)))


def made_up(generator, repeats=9, spread=0.03, slower=None):
    """A result: each case takes 1 ns per rank-round, under noise with a heavy tail.

    A machine that is slower for a while is slower for the reference too.
    """
    rows = []
    for program, ranks in CASES:
        machine_ = 1 + 0.5 * generator.random(repeats)
        jitter = spread * generator.standard_t(3, size=(2, repeats))
        own, reference = machine_ * np.exp(jitter)
        own *= (slower or {}).get((program, ranks), 1.0)
        rows.append({
            "name": "jitterfly, cpu", "threads": 1, "program": program, "noise": "periodic",
            "ranks": ranks, "rank_rounds_per_realization": 1000, "realizations": 7,
            "seconds": list(9 * own), "cpu_seconds": list(7e-6 * own),
            "reference_cpu_seconds": list(1e-3 * reference),
        })  # fmt: skip
    return {
        "format": comparison.FORMAT,
        "machine": machine(),
        "reference": {"ranks": 256, "rank_rounds_per_repeat": 2048},
        "rows": rows,
    }


def verdicts(found):
    return {(row["program"], row["ranks"]): row["verdict"] for row in found["rows"]}


def test_a_planted_regression_is_found():
    generator = np.random.default_rng(1)
    planted, better = CASES[1], CASES[4]
    slower = {planted: 1.5, better: 1 / 1.5}
    before = made_up(generator, spread=0.005)
    found = comparison.compare(before, made_up(generator, spread=0.005, slower=slower))
    assert verdicts(found) == dict.fromkeys(CASES, "same") | {
        planted: "regression",
        better: "improvement",
    }
    assert found["regressions"] == 1
    change = next(row["change"] for row in found["rows"] if row["verdict"] == "regression")
    assert 1.1 < change["low"] < 1.5 < change["high"]
    text = comparison.lines(found)
    assert text[1].startswith("regression")
    assert "1 regression, 1 improvement, 4 same" in text[-1]


def test_rate_of_false_alarms():
    """Nothing changed: at most 5 % of comparisons call anything slower or faster, margin 0.

    Of so many comparisons with a fixed seed: more alarms have a chance below 1e-3 at 5 %.
    """
    generator = np.random.default_rng(2)
    alarms, comparisons = 0, scaled(400, least=100)
    for _ in range(comparisons):
        found = comparison.compare(made_up(generator), made_up(generator), margin=0.0)
        alarms += any(row["verdict"] != "cannot tell" for row in found["rows"])
    assert 0 < alarms <= stats.binom.isf(1e-3, comparisons, 0.05)


def test_noise_beyond_the_margin_is_no_regression():
    """Where repeats differ by more than the change, nobody can tell."""
    generator = np.random.default_rng(3)
    before = made_up(generator, spread=0.5)
    after = made_up(generator, spread=0.5, slower={CASES[0]: 1.2})
    assert comparison.compare(before, after)["regressions"] == 0
    assert set(verdicts(comparison.compare(before, after)).values()) == {"cannot tell"}


def test_a_reference_of_another_length_changes_nothing():
    before = made_up(np.random.default_rng(4), spread=0.005)
    after = copy.deepcopy(before)
    after["reference"]["rank_rounds_per_repeat"] *= 4
    for row in after["rows"]:
        row["reference_cpu_seconds"] = [4 * s for s in row["reference_cpu_seconds"]]
    for row in comparison.compare(before, after)["rows"]:
        assert row["change"]["estimate"] == pytest.approx(1)
        assert row["verdict"] == "same"


@pytest.mark.parametrize(("n", "m"), [(3, 4), (5, 5), (2, 6)])
def test_order_rank_by_enumeration(n, m):
    """All ways to place n of n + m values in order."""
    statistics = [sum(p - i for i, p in enumerate(places))
                  for places in itertools.combinations(range(n + m), n)]  # fmt: skip
    for alpha in (0.01, 0.05, 0.2, 0.5):
        k = comparison.order_rank(n, m, alpha)
        below = [np.mean([u < bound for u in statistics]) for bound in (k, k + 1)]
        assert below[0] <= alpha / 2 < below[1]


def test_order_rank_of_large_samples_joins_that_of_small_ones():
    assert comparison.order_rank(25, 25, 0.05) == pytest.approx(
        comparison.order_rank(25, 26, 0.05), abs=9
    )
    assert comparison.order_rank(1000, 1000, 0.05) > 0


def test_too_few_repeats_are_told():
    generator = np.random.default_rng(5)
    before, after = made_up(generator, repeats=3), made_up(generator, repeats=3)
    found = comparison.compare(before, after)
    assert set(verdicts(found).values()) == {"cannot tell"}
    (warning,) = found["warnings"]
    enough = int(warning.split(":")[1].split()[0])
    assert not comparison.order_rank(enough - 1, enough - 1, 0.05 / len(CASES))
    assert comparison.order_rank(enough, enough, 0.05 / len(CASES))
    assert json.dumps(found, allow_nan=False)
    assert "to inf" in "\n".join(comparison.lines(found))


def test_what_can_not_be_compared():
    before = made_up(np.random.default_rng(6))
    for path, what in [(("cpu",), "processor"), (("build", "instruction_set"), "instruction set")]:
        after = copy.deepcopy(before)
        at = after["machine"]
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = "another"
        with pytest.raises(ValueError, match=f"results of one {what}, got .* and 'another'"):
            comparison.compare(before, after)
    with pytest.raises(ValueError, match="results of format 2, got 1"):
        comparison.compare(before | {"format": 1}, before)
    with pytest.raises(ValueError, match="no case in common"):
        comparison.compare(before, before | {"rows": []})
    with pytest.raises(ValueError, match="margin must be a number from 0 to 10"):
        comparison.compare(before, before, math.nan)
    after = copy.deepcopy(before)
    after["machine"]["build"]["compiler"] = "another"
    del after["rows"][0]
    found = comparison.compare(before, after)
    assert "compiler differs" in found["warnings"][0]
    assert len(found["missing"]) == 1


def test_exit_status(tmp_path, capsys):
    generator = np.random.default_rng(7)
    names = [str(tmp_path / name) for name in ("before", "after", "slower")]
    results = made_up(generator), made_up(generator), made_up(generator, slower={CASES[0]: 2.0})
    for name, result in zip(names, results, strict=True):
        (tmp_path / name).write_text(json.dumps(result))
    assert main(["--compare", *names[:2]]) == 0
    assert main(["--compare", names[0], names[2]]) == 1
    assert main(["--compare", names[0], names[2], "--margin", "2"]) == 0
    assert "regression" in capsys.readouterr().out
    (tmp_path / "text").write_text("text")
    for words, message in [
        ([str(tmp_path / "text")], "is no result of a benchmark"),
        (names, "compare takes one file, or two"),
        ([*names[:2], "--json", str(tmp_path / "c")], "nothing is measured"),
        ([names[0], "--ranks", "16"], "ranks can not be given with --compare"),
        ([names[0], "--no-limit"], "no-limit can not be given"),
        ([names[0], "--margin", "-1"], "margin must be"),
    ]:
        with pytest.raises(ValueError, match=message):
            main(["--compare", *words])


def test_the_cases_of_a_file_are_measured_again(tmp_path):
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    words = ["--ranks", "16", "--repeats", "2", "--seconds", "0.001", "--no-limit", "--no-sources",
             "--no-collectives"]  # fmt: skip
    programs = {"ms12": "MS12, all T", "cs14": "CS14, full set"}
    names = list(programs)[: at_most(2, 1)]
    assert main([*words, "--programs", ",".join(names), "--json", str(before)]) == 0
    assert main(["--compare", str(before), "--json", str(after)]) == 0  # too few repeats
    found = json.loads(after.read_text())
    cases = {(row["program"], row["noise"], row["ranks"]) for row in found["rows"]}
    assert cases == {(programs[name], noise, 16) for name in names for noise in NOISES}
    assert len(found["comparison"]["rows"]) == len(cases) * (1 + bool(jf._core.devices()))
