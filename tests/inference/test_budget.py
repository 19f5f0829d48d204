"""`budget`: exact answers, coverage of intervals, measured noise, command.

Statistical checks have fixed seeds and the false-alarm rate of `reference.chance`.
"""

import itertools
import json
import math
import re

import numpy as np
import pytest
from reference.chance import FALSE_ALARM
from scipy import optimize, stats
from support import scale
from support.scale import full_scale, scaled

import jitterfly as jf
from jitterfly.cli import main
from jitterfly.measured import Detours, Measured, noisefile
from jitterfly_papers.inference import BudgetQuestion, budget, over_delays
from jitterfly_papers.inference.budget import crossing, tabulated_budget
from jitterfly_papers.inference.budget_of_recording import budget_of_recording
from jitterfly_papers.inference.hit_tables import UNIT, any_hit, one_rank_tail, simulated_extra

STEP, DELAY = "3.45us", "14us"
ASKED = BudgetQuestion(8192, "120us", STEP, DELAY)


# --- questions


def test_detours_that_are_long_beside_the_collective_are_told(tmp_path):
    """It counts those that begin in the collective; on a running machine there are more."""

    def told(found):
        lines = found.report()
        return [line for line in lines if line.startswith("of collectives that begin on all")]

    (line,) = told(budget(ASKED, precision=0.2))
    assert "up to 14 µs beside its own 44.9 µs: `slowdown` has that" in line
    short = BudgetQuestion(8192, "50us", STEP, "4us", rank="mean")
    assert not told(budget(short))
    for longest, lines in ((200, 1), (1, 0)):
        starts = np.arange(100) * 10**12
        part = Detours(starts, np.full(100, longest * 10**6), 10**14)
        noisefile.write(Measured((part,), "test"), tmp_path / f"{longest}.noise")
        found = budget_of_recording(
            tmp_path / f"{longest}.noise", 64, "21.2us", STEP, precision=0.2
        )
        assert found.state == "at most"
        assert len(told(found)) == lines


def test_states():
    assert ASKED.rounds == 13
    assert ASKED.quiet == pytest.approx(44.85e-6)
    assert ASKED.saturation == pytest.approx(226.85e-6)
    assert ASKED.state == "at most"
    for limit, state in (("44us", "never"), ("44.85us", "never"), ("44.86us", "at most"),
                         ("226.84us", "at most"), ("226.85us", "always")):  # fmt: skip
        assert BudgetQuestion(8192, limit, STEP, DELAY).state == state
    # A quantile may be kept although some realizations are hit.
    assert BudgetQuestion(8192, "44.85us", STEP, DELAY, statistic="p99").state == "at most"


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        (
            {"ranks": 100},
            "from 1 to 2^20, got 100; `jitterfly slowdown --at-most` takes all numbers",
        ),
        ({"ranks": 1}, "ranks must be at least 2"),
        ({"ranks": 2**21}, "ranks must be a power of two from 1 to 2^20"),
        ({"latency": "0us"}, "latency must be a time above 0"),
        ({"delay": 0.0}, "delay must be a time above 0"),
        ({"delay": 1e-14}, "delay must be more than 0.5 ps"),
        ({"step": "-1us"}, "step must be a time"),
        ({"rank": "all"}, "rank must be one of 'last', 'mean'"),
        ({"statistic": "p42"}, "statistic must be one of"),
    ],
)
def test_bad_questions(fields, what):
    asked = {"ranks": 64, "latency": "50us", "step": STEP, "delay": DELAY} | fields
    with pytest.raises(ValueError, match=re.escape(what)):
        BudgetQuestion(**asked)


def test_bad_options():
    with pytest.raises(ValueError, match=r"precision must be from 0\.0001 to 0\.5"):
        budget(ASKED, precision=0.9)
    with pytest.raises(ValueError, match="seed must be an integer"):
        budget(ASKED, seed=-1)
    with pytest.raises(ValueError, match="confidence must be above 0"):
        budget(ASKED, confidence=1.0)


# --- the root of a rising function


@pytest.mark.parametrize("root", [2e-6, 0.01, 0.9])
@pytest.mark.parametrize(("start", "slope"), [(1e-7, 1.0), (0.5, 1e-3), (1.0, 50.0), (0.02, 1.0)])
def test_crossing(root, start, slope):
    for rising in (lambda p: math.log(p / root), lambda p: p - root, lambda p: p**7 - root**7,
                   lambda p: 1.0 if p > root else -1.0):  # fmt: skip
        found = crossing(rising, start, slope, 1e-9, 1e-4)
        assert math.log(found / root) == pytest.approx(0, abs=1e-4)


def test_crossing_beyond_the_ends():
    assert crossing(lambda p: -1.0, 0.1, 1.0, 1e-9, 1e-3) == 1.0
    assert crossing(lambda p: 1.0, 0.1, 1.0, 1e-9, 1e-3) == pytest.approx(1e-9)


# --- exact answers


@pytest.mark.parametrize("statistic", ["mean", "p50", "p99", "p99.9"])
@pytest.mark.parametrize("limit", ["46us", "60us", "120us", "200us"])
def test_mean_rank_is_exact(limit, statistic):
    question = BudgetQuestion(8192, limit, STEP, DELAY, "mean", statistic)
    found = budget(question)
    assert found.how == "exact"
    p = found.probability.value
    above = one_rank_tail(p, 13)
    if statistic == "mean":
        assert above.sum() == pytest.approx(question.room, rel=1e-8)
    else:
        share = float(statistic[1:]) / 100
        assert above[math.floor(question.room)] == pytest.approx(1 - share, rel=1e-7)
    assert found.probability.low == p == found.probability.high


def test_hits_that_do_not_meet_are_exact():
    question = BudgetQuestion(8192, "45us", STEP, DELAY)
    found = budget(question)
    assert found.how == "exact"
    assert any_hit(found.probability.value, 13) == pytest.approx(question.room, rel=1e-3)
    assert found.probability.low <= found.probability.value <= found.probability.high
    strict = budget(BudgetQuestion(8192, "50us", STEP, DELAY, statistic="p99"))
    assert strict.how == "exact"
    assert any_hit(strict.probability.value, 13) == pytest.approx(0.01, rel=1e-8)


def test_what_an_answer_rests_on():
    """With the step on the wire, the p that was found keeps the limit, and a larger one, too."""
    found = budget(BudgetQuestion(1024, "55us", STEP, DELAY))
    assert "where L is mostly time on the wire" in found.report()[-1]
    network, barrier = jf.LogGOPS(L="2.45us", o="500ns"), jf.DisseminationBarrier()
    for more in (1, 1.2):
        noise = [jf.StepNoise(jf.Bernoulli(more * found.probability.value, DELAY))]
        case = jf.Case(1024, algorithm=barrier, network=network, noise=noise)
        assert jf.simulate(case, scaled(2000, least=500), seed=2).samples[:, -1].mean() < 55e-6


def test_always_and_never():
    never = budget(BudgetQuestion(8192, "40us", STEP, DELAY))
    assert (never.state, never.probability.value) == ("never", 0.0)
    assert "impossible" in never.report()[0]
    assert "44.85 µs without any" in never.report()[0]
    always = budget(BudgetQuestion(8192, "230us", STEP, DELAY))
    assert (always.state, always.probability.value) == ("always", 1.0)
    assert "always met" in always.report()[0]
    assert "226.9 µs" in always.report()[0]


def test_no_room_and_a_tick_of_it():
    just = budget(BudgetQuestion(8192, "44.85us", STEP, DELAY))
    assert (just.state, just.probability.value) == ("never", 0.0)
    assert "only without any noise" in just.report()[0]
    for rank, steps in (("last", 12 * 2**12), ("mean", 2**12 - 1)):
        found = budget(BudgetQuestion(4096, "41.400001us", STEP, "100s", rank))
        assert found.how == "exact"
        assert found.probability.value == pytest.approx(1e-14 / steps, rel=1e-6)


# --- simulated answers


def depths(rounds, p):
    """The joint distribution of hits on the worst paths of 2^rounds ranks, exactly."""
    if rounds == 0:
        return {(0,): 1.0}
    half, found = depths(rounds - 1, p), {}
    for (one, share), (other, other_share) in itertools.product(half.items(), repeat=2):
        before = [max(pair) for pair in zip(one, other, strict=True)] * 2
        for hits in itertools.product((0, 1), repeat=2**rounds):
            after = tuple(d + h for d, h in zip(before, hits, strict=True))
            chance = p ** sum(hits) * (1 - p) ** (len(hits) - sum(hits))
            found[after] = found.get(after, 0.0) + share * other_share * chance
    return found


def four_ranks(p, m):
    """P(M > m) of the last of four ranks, exactly."""
    return sum(share for hits, share in depths(2, p).items() if max(hits) > m)


@pytest.mark.parametrize(("statistic", "limit"), [("mean", "20us"), ("p90", "21us")])
@pytest.mark.full_scale
def test_intervals_of_four_ranks_cover(statistic, limit):
    """200 answers with seeds of their own: 95 % hold the p that is exact.

    Quantiles have order statistics, which cover a little more. The number that covers is binomial;
    it fails below its quantile of FALSE_ALARM.
    """
    question = BudgetQuestion(4, limit, STEP, DELAY, statistic=statistic)
    if statistic == "mean":
        exact = optimize.brentq(
            lambda p: four_ranks(p, 0) + four_ranks(p, 1) - question.room, 1e-6, 1
        )
    else:
        exact = optimize.brentq(lambda p: four_ranks(p, 1) - 0.1, 1e-6, 1)
    covered = 0
    questions = scaled(200)
    for seed in range(questions):
        found = budget(question, precision=0.15, seed=seed)
        assert found.how in ("simulated", "exact")
        low, high = found.probability.low, found.probability.high
        # What is left of the bracket of each end is at most precision / 4.
        covered += low * 0.99 <= exact <= high * 1.01
    assert covered >= stats.binom.ppf(FALSE_ALARM, questions, 0.95)


def mean_of_eight_ranks(p):
    """E[M] of the last of eight ranks, exactly: two halves that are independent, and a round."""
    half = depths(2, p)
    mean = 0.0
    for (one, share), (other, other_share) in itertools.product(half.items(), repeat=2):
        before = [max(pair) for pair in zip(one, other, strict=True)]
        last = max(before)
        unhit = (1 - p) ** (2 * before.count(last))
        mean += share * other_share * (last + 1 - unhit)
    return mean


@pytest.mark.slow
@pytest.mark.parametrize(
    ("room", "precision"),
    [
        (0.05, 0.03),
        *itertools.starmap(full_scale, [(0.05, 0.004), (0.1, 0.02), (0.2, 0.03)]),
        (0.5, 0.03),
    ],
)
def test_intervals_cover_where_hits_hardly_meet(room, precision):
    """10 answers (100 at full scale) with a room of less than half a hit: 95 % hold the exact p.

    At 0.05 none of the realizations had two hits, and none of the intervals held it.
    """
    exact = optimize.brentq(lambda p: mean_of_eight_ranks(p) - room, 1e-6, 1, rtol=1e-9)
    question = BudgetQuestion(8, 3e-6 + room * 1e-5, "1us", "10us")
    answers, covered = scaled(100), 0
    for seed in range(answers):
        found = budget(question, precision=precision, seed=seed)
        p = found.probability
        # What is left of the bracket of each end is at most precision / 4.
        covered += p.low * (1 - precision / 4) <= exact <= p.high * (1 + precision / 4)
        assert (p.high - p.low) / 2 / p.value < 2 * precision
        if found.how == "exact":  # which no seed changes
            assert covered == 1
            return
    assert covered >= stats.binom.ppf(FALSE_ALARM, answers, 0.95)


@pytest.mark.parametrize("room", [0.02, 0.05, 0.1, 0.2, 0.5, 1.0])
def test_the_table_holds_the_exact_answer_where_hits_hardly_meet(room):
    exact = optimize.brentq(lambda p: mean_of_eight_ranks(p) - room, 1e-6, 1, rtol=1e-9)
    found = tabulated_budget(BudgetQuestion(8, 3e-6 + room * 1e-5, "1us", "10us"), 0.999)
    assert found.probability.low <= exact <= found.probability.high


def test_precision_is_reached():
    question = BudgetQuestion(256, "60us", STEP, DELAY)
    for precision in (0.1, 0.03):
        found = budget(question, precision=precision)
        p = found.probability
        assert found.how == "simulated"
        assert (p.high - p.low) / 2 / p.value < 1.3 * precision
        table = tabulated_budget(question).probability
        assert p.low < table.high
        assert table.low < p.high
        hits = simulated_extra(256, jf.Constant(UNIT), p.value, found.realizations, seed=1)
        assert hits.mean() == pytest.approx(question.room, rel=0.02)


def test_the_example():
    """The question of the documentation, from the table: between 1.7 and 1.9 %."""
    found = tabulated_budget(ASKED)
    assert found.how == "tabulated"
    assert 0.017 < found.probability.low < found.probability.value < found.probability.high < 0.019


def test_longer_delays_allow_less():
    delays = np.geomspace(1e-6, 1e-3, scaled(60, least=15))
    for rank in ("last", "mean"):
        for statistic in ("mean", "p99"):
            question = BudgetQuestion(8192, "120us", STEP, DELAY, rank, statistic)
            curve = over_delays(question, delays)
            p = np.array([one.probability.value for one in curve])
            assert curve[0].state == "always"
            assert (np.diff(p) <= 1e-12).all()
            assert p[-1] > 0
            assert all(one.probability.low <= one.probability.value <= one.probability.high
                       for one in curve)  # fmt: skip
    last, mean = (over_delays(BudgetQuestion(512, "60us", STEP, DELAY, rank), delays)
                  for rank in ("last", "mean"))  # fmt: skip
    for late, early in zip(last, mean, strict=True):
        assert late.probability.value <= early.probability.value * 1.001


# --- measured noise


def noise_file(tmp_path, durations):
    durations = np.asarray(durations, dtype=np.int64)
    ends = np.cumsum(np.maximum(durations, 10**9))  # of the time from one to the next: 1 ms or more
    part = Detours(np.append(0, ends[:-1]), durations, int(ends[-1]))
    path = tmp_path / "some.noise"
    noisefile.write(Measured((part,), "test"), path)
    return path


def test_constant_detours_are_bernoulli_noise(tmp_path):
    path = noise_file(tmp_path, [14_000_000] * 500)
    question = BudgetQuestion(64, "40us", STEP, DELAY)
    coarse = 1 if scale.FULL else 2
    known = budget(question, precision=coarse * 0.03).probability
    found = budget_of_recording(path, 64, "40us", STEP, precision=coarse * 0.05)
    assert (found.state, found.events) == ("at most", 500)
    assert found.rate == pytest.approx(1000)
    assert found.measured == pytest.approx(3.45e-3, rel=1e-2)
    assert found.probability.low < known.high
    assert known.low < found.probability.high
    assert "times as frequent" in found.report()[3]
    strict = budget_of_recording(path, 4096, "50us", STEP, precision=coarse * 0.1)
    assert strict.probability.value < strict.measured
    assert "times rarer" in strict.report()[3]


def test_rates_are_compared_not_probabilities(tmp_path):
    """A step of 3.45 us meets a detour in 99.9 % where there are 2 a us: rarer is more than p."""
    path = tmp_path / "dense.noise"
    starts = np.arange(1000, dtype=np.int64) * 500_000
    noisefile.write(Measured((Detours(starts, starts * 0 + 100_000, 5 * 10**8),), "test"), path)
    found = budget_of_recording(path, 64, "21us", STEP, precision=0.2)
    assert found.measured == pytest.approx(1 - math.exp(-6.9))
    p = found.probability.value
    assert found.rarer(p) == pytest.approx(6.9 / -math.log1p(-p))
    assert found.rarer(found.measured) == pytest.approx(1)
    assert f"{found.rarer(p):.3g} [" in found.report()[3]


def test_measured_noise_without_room(tmp_path):
    path = noise_file(tmp_path, [14_000_000] * 50)
    assert "only without any noise" in budget_of_recording(path, 64, "20.7us", STEP).report()[1]
    share = budget_of_recording(path, 64, "20.7us", STEP, statistic="p90", precision=0.2)
    exact = -math.expm1(math.log(0.9) / (6 * 64))  # no hit in nine of ten
    assert share.state == "at most"
    assert share.probability.low < exact < share.probability.high
    with pytest.raises(ValueError, match="precision must be from"):
        budget_of_recording(path, 64, "40us", STEP, precision=7.0)


@pytest.mark.parametrize(("rank", "steps"), [("last", 2048 * 11), full_scale("mean", 2047)])
def test_long_detours_too_rare_to_be_simulated_have_exact_bounds(tmp_path, rank, steps):
    """18 of 20 ms among 100,000 of 5 us carry 42 % of the noise: no seed decides the answer."""
    durations = np.array([5e6] * 100_000 + [2e10] * 18)
    path = noise_file(tmp_path, durations)
    found = budget_of_recording(path, 2048, "16.95us", "1.4us", rank)
    assert (found.realizations, found.state) == (0, "at most")
    few = math.exp(1.96 / math.sqrt(found.long_events))  # what so few long detours leave open
    low, high = few * found.probability.low, found.probability.high / few
    sum_of_hits = steps * low * durations.mean() / 1e12
    rare, any_hit = (-math.expm1(steps * math.log1p(-high * part)) for part in (18 / 100_018, 1))
    longest = any_hit * 5e-6 + rare * (2e-2 - 5e-6)
    assert (sum_of_hits, longest) == pytest.approx((1.55e-6, 1.55e-6), rel=5e-3)
    assert low < found.probability.value < high < 1.15 * low
    text = "\n".join(found.report())
    assert "exact bounds, no simulation" in text
    assert "the mean of its detours rests on about 18 long detours" in text


def test_measured_noise_always_and_never(tmp_path):
    path = noise_file(tmp_path, [1_000_000, 2_000_000, 5_000_000])
    assert budget_of_recording(path, 64, "20us", STEP).state == "never"
    assert budget_of_recording(path, 64, "1ms", STEP).state == "always"
    tail = budget_of_recording(path, 64, "30us", STEP, statistic="p90", precision=0.2)
    hits = UNIT * simulated_extra(
        64, jf.Empirical(file=str(path)), tail.probability.value, 4000, seed=77
    )
    assert (hits > 30e-6 - 6 * 3.45e-6).mean() == pytest.approx(0.1, abs=0.03)


# --- the command


def test_an_impossible_limit_is_told_once(capsys):
    """For no delay there is a p: a table of these would say it again and again."""
    options = ["--ranks", "4096", "--latency", "10us", "--step", "1.4us", "--delay", DELAY]
    assert main(["budget", *options]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("impossible: ")
    assert line.endswith("16.8 µs without any; raise the limit, or shorten the step")


def test_command(tmp_path, capsys):
    options = ["--ranks", "256", "--latency", "60us", "--step", STEP, "--delay", DELAY]
    out = tmp_path / "out"
    assert main(["budget", *options, "--precision", "0.2", "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert "to keep the mean completion of the last rank of 256 at or below 60 µs" in text
    assert re.search(r"at most p = 0\.01\d* \[0\.0\d+, 0\.01\d*\] at D = 14 µs", text)
    assert "at most p, mean rank" in text
    assert (out / "budget.png").stat().st_size > 10_000
    lines = (out / "budget.csv").read_text().splitlines()
    assert lines[0].startswith("rank,statistic,ranks,latency_s,step_s,delay_s,state,p,low,high")
    assert len(lines) > 100
    earlier = {file: file.read_bytes() for file in out.iterdir()}
    other = ["budget", *options, "--precision", "0.3", "--out", str(out), "--statistic", "p50"]
    assert main(other) == 2
    assert "(its statistic is 'mean', here it is 'p50')" in capsys.readouterr().err
    assert {file: file.read_bytes() for file in out.iterdir()} == earlier
    assert main(other[:-2]) == 0  # the same question, less exactly answered
    assert main([*other, "--force"]) == 0
    assert json.loads((out / "budget.json").read_text())["statistic"] == "p50"
    assert main([*other[:11], "--force"]) == 2
    assert "--force is for --out DIR" in capsys.readouterr().err


def test_command_of_a_noise_file(tmp_path, capsys):
    path = noise_file(tmp_path, [14_000_000] * 50)
    options = ["--ranks", "64", "--latency", "40us", "--step", STEP, "--noise", str(path)]
    assert main(["budget", *options, "--precision", "0.2"]) == 0
    assert "some.noise: 50 detours, 1000 a second" in capsys.readouterr().out
    assert main(["budget", *options, "--out", str(tmp_path)]) == 2
    assert "--out is for --delay" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["budget", *options, "--delay", DELAY])


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (["--ranks", "100"], "--ranks must be a power of two"),
        (["--precision", "x"], "--precision must be a number"),
        (["--statistic", "median"], "--statistic must be one of"),
    ],
)
def test_command_refuses(change, what, capsys):
    ranks = [] if change[0] == "--ranks" else ["--ranks", "64"]
    options = [*ranks, "--latency", "60us", "--step", STEP, "--delay", DELAY]
    assert main(["budget", *options, *change]) == 2
    assert what in capsys.readouterr().err
