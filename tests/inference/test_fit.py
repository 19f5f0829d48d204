"""`fit`: recovery of known parameters, coverage of intervals, goodness of fit, files, command.

Statistical checks have fixed seeds and the false-alarm rate of `reference.chance`.
"""

import itertools
import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from reference.chance import FALSE_ALARM, TWO_SIDED
from scipy import optimize, stats
from support import scale
from support.paths import NOISE_SAMPLES, SWEEPS
from support.scale import full_scale, scaled, some

import jitterfly as jf
from jitterfly import theory
from jitterfly.cli import main
from jitterfly.syntax import read_noise
from jitterfly_papers.inference import Curve, fit, read_curves
from jitterfly_papers.inference.fit import Sums, best_parameters, scales_within
from jitterfly_papers.inference.hit_tables import (
    SHIPPED_ROUNDS,
    UNIT,
    any_hit,
    hit_table,
    one_rank_tail,
    pairs_of_steps,
    simulated_extra,
)
from jitterfly_papers.inference.step_noise_models import make_model

STEP, DELAY = 3.45e-6, 14e-6
HM18 = SWEEPS / "data" / "hm18_4096.csv"


def told(found):
    return "\n".join(found.report())


def model_curve(rounds, p, rank="last", step=STEP, delay=DELAY):
    rounds = np.asarray(rounds)
    return rounds * step + delay * make_model("bernoulli", rank).extra(rounds, p)[0]


# --- hits on the path that decides


def test_one_rank_is_the_recursion():
    p = np.array([1e-9, 1e-3, 0.3, 1.0])
    below = np.ones((4, 1)) * (np.arange(14) >= 0)
    for _ in range(13):
        before = np.concatenate([np.zeros((4, 1)), below[:, :-1]], axis=1)
        below = (1 - p[:, None]) * below**2 + p[:, None] * before**2
    np.testing.assert_allclose(one_rank_tail(p, 13), 1 - below, rtol=1e-9, atol=1e-12)
    assert one_rank_tail(1e-9, 13)[0] == pytest.approx((2**13 - 1) * 1e-9, rel=1e-5)


def test_one_rank_is_that_of_the_theory():
    model = theory.StepModel(12, STEP, jf.Constant(DELAY), 0.01)
    mine = 12 * STEP + DELAY * one_rank_tail(0.01, 12).sum()
    assert theory.one_rank(model).mean() == pytest.approx(mine, rel=1e-9)


def four_ranks(p):
    """P(M > m) of the last of four ranks, m = 0, 1, by all 2^8 ways to hit eight steps."""
    found = np.zeros(2)
    for hits in itertools.product((0, 1), repeat=8):
        first, second = hits[:4], hits[4:]
        # Round 0: own and partner's start are 0, so a rank's first step is its own hit alone.
        level = list(first)
        last = max(max(level[i], level[i ^ 2]) + second[i] for i in range(4))
        found += p ** sum(hits) * (1 - p) ** (8 - sum(hits)) * (last > np.arange(2))
    return found


@pytest.mark.parametrize("p", [1e-3, 0.05, 0.3, 0.8])
def test_table_of_four_ranks_is_exact(p):
    known, exact = hit_table(2), four_ranks(p)
    assert known.above(0, p) == pytest.approx(exact[0], rel=1e-12)
    n = known.realizations
    # Interpolation between the p of the table adds little to its error.
    limit = TWO_SIDED * math.sqrt(exact[1] * (1 - exact[1]) / n) + 2e-3
    assert abs(float(known.above(1, p)) - exact[1]) < limit
    assert abs(float(known.mean(p)) - exact.sum()) < limit


@pytest.mark.parametrize("rounds", [3, 7, 11])
@pytest.mark.parametrize("p", [3e-4, 0.013, 0.2])
def test_table_agrees_with_other_noise(rounds, p):
    count = 300 if rounds > 7 else 3000
    hits = simulated_extra(2**rounds, jf.Constant(UNIT), p, count, seed=99)
    more = np.maximum(hits - 1, 0)
    error = math.hypot(more.std() / math.sqrt(count), float(hit_table(rounds).error(p)))
    mean = float(any_hit(p, rounds)) + more.mean()
    # A curve through the table's p misses what lies between by up to 0.3 %.
    assert abs(mean - float(hit_table(rounds).mean(p))) < TWO_SIDED * max(error, 1e-4) + 3e-3 * mean


def test_tables_rise_and_end_at_every_step():
    p = np.exp(np.linspace(math.log(1e-9), 0, 400))
    for rounds in range(1, SHIPPED_ROUNDS + 1):
        mean = hit_table(rounds).mean(p)
        assert (np.diff(mean) > -1e-9).all()
        assert mean[-1] == pytest.approx(rounds)
        rare = 1e-4 / (rounds * 2**rounds)
        assert hit_table(rounds).mean(rare) == pytest.approx(rare * rounds * 2**rounds, rel=1e-3)
    assert hit_table(2).above(1, 1e-6) == pytest.approx(
        1e-12 * pairs_of_steps(2), rel=0.6
    )  # about 25 events


# --- least squares with two parameters from 0


def some_sums(seed):
    rng = np.random.default_rng(seed)
    k = np.arange(1.0, 7)
    m = np.cumsum(rng.random((5, 6)), axis=1)
    y = np.abs(rng.normal(3, 2, 6))
    weight = rng.random(6) + 0.1
    return Sums.of(weight, k, m, y), weight, k, m, y


@pytest.mark.parametrize("seed", range(8))
def test_best_is_that_of_scipy(seed):
    sums, weight, k, m, y = some_sums(seed)
    step, scale, misfit = best_parameters(sums, None, None)
    for i in range(5):
        root = np.sqrt(weight)
        a, rest = optimize.nnls(np.stack([root * k, root * m[i]], axis=1), root * y)
        assert misfit[i] == pytest.approx(rest**2, rel=1e-9)
        np.testing.assert_allclose([step[i], scale[i]], a, atol=1e-9)


@pytest.mark.parametrize("known", some([0.4, None], 1))
@pytest.mark.parametrize("seed", some(range(4), 1))
def test_ranges_are_those_of_a_search(seed, known):
    sums, *_ = some_sums(seed)
    _, _, misfit = best_parameters(sums, known, None)
    limit = float(misfit.min()) + 2.0
    low, high = scales_within(sums, limit, known)
    grid = np.linspace(0, 30, 30_001)
    for i in range(5):
        one = Sums(*(part[i : i + 1] for part in sums))
        least = np.array([best_parameters(one, known, d)[2][0] for d in grid[::10]])
        within = grid[::10][least <= limit]
        if len(within) == 0:
            assert misfit[i] > limit - 0.1
            continue
        assert low[i] == pytest.approx(within[0], abs=0.011)
        assert high[i] == pytest.approx(within[-1], abs=0.011)


# --- known values come back


def covered(found, p):
    truth = {"step": STEP, "delay": DELAY, "probability": p, "load": p * DELAY}
    return [getattr(found, k).low <= v <= getattr(found, k).high for k, v in truth.items()]


@pytest.mark.slow
@pytest.mark.parametrize(("rank", "p"), [("last", 0.01), ("mean", 0.05), full_scale("last", 0.2)])
def test_intervals_of_simulated_curves_cover(rank, p):
    """200 curves from the engine, each with its own noise: at least 95 % cover, all four values.

    The number that covers is binomial; it fails below its quantile of FALSE_ALARM.
    """
    curves, each = scaled(200), 60
    rounds = np.arange(1, 9)
    means, ses = np.empty((len(rounds), curves)), np.empty((len(rounds), curves))
    for i, k in enumerate(rounds):
        case = jf.Case(
            2**k,
            algorithm=jf.Butterfly(),
            network=jf.Hockney(0, 0, STEP),
            message_bytes=1,
            noise=[jf.StepNoise(DELAY, probability=p, during="communication")],
            observe="spread",
        )
        result = jf.simulate(case, curves * each, seed=1000 + i)
        column = result.samples[:, 0 if rank == "last" else 2].reshape(curves, each)
        means[i] = column.mean(axis=1)
        ses[i] = column.std(ddof=1) / math.sqrt(each)
    rng = np.random.default_rng(5)
    # What a clock adds: else the smallest sizes, where few steps are hit, have no error at all.
    noise = 0.01 * means * rng.standard_normal(means.shape)
    ses = np.hypot(ses.mean(axis=1, keepdims=True) * np.ones_like(ses), 0.01 * means)
    counts = np.zeros(4, dtype=int)
    for j in range(curves):
        y = means[:, j] + noise[:, j]
        counts += covered(fit(Curve(2**rounds, y, ses[:, j]), rank=rank), p)
    assert counts.min() >= stats.binom.ppf(FALSE_ALARM, curves, 0.95)


@pytest.mark.parametrize("rank", ["last", "mean"])
def test_intervals_of_curves_with_equal_shares_cover(rank):
    """200 curves with normal errors of 2 %, not told: 95 %, as F says."""
    rounds, p = np.arange(1, 12), 0.02
    y = model_curve(rounds, p, rank)
    rng = np.random.default_rng(6)
    counts = np.zeros(4, dtype=int)
    curves = scaled(200)
    for _ in range(curves):
        counts += covered(fit(Curve(2**rounds, y * rng.normal(1, 0.02, 11)), rank=rank), p)
    assert counts.min() >= stats.binom.ppf(FALSE_ALARM, curves, 0.95)
    if scale.FULL:
        assert (
            counts.max() < curves or counts.sum() < 4 * curves
        )  # they are no wider than they must be


def test_exact_curve_gives_its_values():
    rounds = np.arange(1, 14)
    found = fit(Curve(2**rounds, model_curve(rounds, 0.003)))
    assert found.verdict == "fit"
    assert found.step.value == pytest.approx(STEP, rel=1e-2)
    assert found.delay.value == pytest.approx(DELAY, rel=1e-2)
    assert found.probability.value == pytest.approx(0.003, rel=2e-2)
    np.testing.assert_allclose(found.latency(rounds), found.curve.latency, rtol=1e-3)


def test_exponential_model():
    rounds = np.arange(1, 9)
    y = np.array([
        k * 2e-6 + 5e-6 * simulated_extra(2**k, jf.Exponential(UNIT), 1.0, 2000, seed=3).mean()
        for k in rounds
    ])  # fmt: skip
    found = fit(Curve(2**rounds, y, 0.01 * y), "exponential")
    assert found.verdict == "fit"
    assert found.step.low < 2e-6 < found.step.high
    assert found.delay.low < 5e-6 < found.delay.high
    with pytest.raises(ValueError, match="probability must not be given"):
        fit(found.curve, "exponential", probability=0.1)


def test_known_values_narrow_the_others():
    rounds = np.arange(1, 10)
    y = model_curve(rounds, 0.01)
    curve = Curve(2**rounds, y, 0.03 * y)
    free, given = fit(curve), fit(curve, step=STEP, delay="14us")
    assert given.step.fixed
    assert given.delay == (DELAY, DELAY, DELAY, True)
    assert given.probability.low > free.probability.low
    assert given.probability.high < free.probability.high
    assert given.freedom == free.freedom + 2
    assert fit(curve, probability=0.01).probability[:3] == (0.01, 0.01, 0.01)


def test_ranks_between_powers_of_two():
    rounds = np.log2([24.0, 96, 384])
    model = make_model("bernoulli", "mean")
    low, high = model.extra([4.0], [0.1])[0, 0], model.extra([5.0], [0.1])[0, 0]
    part = math.log2(24) - 4
    assert model.extra(rounds, [0.1])[0, 0] == pytest.approx((1 - part) * low + part * high)
    found = fit(Curve([24, 96, 384, 1000], [30e-6, 45e-6, 62e-6, 70e-6]))
    assert "interpolated over log2(ranks)" in told(found)


# --- what the curve can not tell


def test_a_step_on_the_wire_makes_delays_short():
    """Which the report says; where the step is CPU time, D comes out as it is simulated."""
    ranks, found = [4, 64, 1024], {}
    noise = [jf.StepNoise(jf.Bernoulli(0.01, DELAY))]
    for wire, overhead in (("2.45us", "500ns"), ("0s", "1.725us")):
        network = jf.LogGOPS(L=wire, o=overhead)
        cases = [jf.Case(n, algorithm=jf.DisseminationBarrier(), network=network, noise=noise)
                 for n in ranks]  # fmt: skip
        means = [jf.simulate(case, 2000, seed=5).samples[:, -1].mean() for case in cases]
        found[wire] = fit(Curve(ranks, means), step="3.45us")
    assert found["0s"].delay.value == pytest.approx(DELAY, rel=0.03)
    assert found["2.45us"].delay.value < 0.9 * DELAY
    for one in found.values():
        assert "where L is mostly time on the wire" in told(one)


def test_two_points_bound_little():
    found = fit(Curve([2, 4096], [4e-6, 105e-6]))
    assert found.verdict == "not tested"
    assert found.delay.high == math.inf
    assert found.probability.low == 0
    assert not found.intervals
    assert "no upper end" in told(found)
    assert "tells the mean delay of a step alone, which is p times D" in told(found)
    assert "as many parameters as points" in told(found)


def test_noise_free():
    rounds = np.arange(1, 11)
    found = fit(Curve(2**rounds, rounds * STEP, np.full(10, 1e-8)))
    assert found.verdict == "fit"
    assert found.step.high >= STEP * 0.999
    assert found.delay.low == 0
    assert "D may be 0" in told(found)
    assert found.quiet or found.delay.value * found.probability.value < STEP
    given = fit(found.curve, delay=DELAY)
    assert given.probability.low == 0
    assert given.probability.high < 1e-4
    assert given.step.value == pytest.approx(STEP, rel=1e-2)


def test_decreasing():
    for error in (None, [1e-7] * 4):
        found = fit(Curve([2, 8, 64, 512], [10e-6, 9e-6, 8e-6, 4e-6], error))
        assert found.verdict == "no fit"
        assert "in the model it can only rise" in told(found)
        assert not found.intervals


def test_671_us():
    """HM18's baseline: no p explains it, and what could."""
    (curve,) = [c for c in read_curves([HM18]) if c.name == "barrier baseline"]
    for rank in ("last", "mean"):
        found = fit(curve, rank=rank, step=STEP, delay=DELAY)
        assert found.verdict == "no fit"
        text = told(found)
        assert "209.4 µs, with every step hit; measured: 671 µs" in text
        assert "461.6 µs remain unexplained by any p" in text
        assert "52.5 µs if it hits every step" in text
        assert "heavy tail" in text
        assert "daemons" in text
    assert found.probability.value == 1.0


def test_beyond_every_p_is_no_fit_where_errors_say_so():
    """225 us, 7 % above K (L + D) = 209.4 us, and one free parameter for one point."""
    known = {"step": STEP, "delay": DELAY}
    found = fit(Curve([4096], [225e-6], [1e-6]), **known)
    assert (found.verdict, found.freedom) == ("no fit", 0)
    assert "15.6 µs remain unexplained by any p" in told(found)
    for error in (None, [10e-6]):  # 10 % count as nothing, or are within 1.6 errors
        found = fit(Curve([4096], [225e-6], error), **known)
        assert found.verdict == "not tested"
        assert "209.4 µs, with every step hit; measured: 225 µs" in told(found)
    assert fit(Curve([4096], [150e-6], [1e-6]), **known).verdict == "not tested"


@pytest.mark.parametrize(("rank", "at_105_us", "tuned"), [("last", 0.014, 0.0068),
                                                        ("mean", 0.0811, 0.0535)])  # fmt: skip
def test_hm18_tuned(rank, at_105_us, tuned):
    curves = {c.name: c for c in read_curves([HM18])}
    assert len(curves) == 4
    for curve, p in ((Curve([4096], [105e-6]), at_105_us), (curves["barrier optimized"], tuned)):
        found = fit(curve, rank=rank, step=STEP, delay=DELAY)
        assert found.verdict == "not tested"
        assert found.probability.value == pytest.approx(p, rel=0.02)


def test_below_the_quiet_time():
    found = fit(Curve([16, 256], [10e-6, 20e-6]), step=STEP, delay=DELAY)
    assert found.verdict == "no fit"
    assert "below K L" in told(found)


def test_time_on_the_wire_is_the_likely_reason_of_no_fit():
    """A barrier with L = 1 us, o = 0.2 us under ticks of 5 us at 1 kHz."""
    ranks = [16, 64, 256, 1024, 2048]
    latency = [6.19215e-6, 10.8219e-6, 16.5668e-6, 21.6584e-6, 24.1212e-6]
    found = fit(Curve(ranks, latency, [2.357e-8, 3.74e-8, 2.378e-8, 2.179e-8, 1.964e-8]))
    assert found.verdict == "no fit"
    assert "a likely reason is that L is mostly time on the wire" in told(found)
    assert "`jitterfly slowdown` with your network" in told(found)
    assert "`model` = two-bernoulli looks for (`fit_two_sources`)" in told(found)
    assert "the mean rank (`rank` = mean), not of the last one" in told(found)
    assert "all of L is taken to follow" not in told(found)


def test_a_loop_without_barriers_is_another_model():
    """The delays of one collective overlap with the next: D comes out too short, and it is said."""
    ranks, cycles = 2 ** np.arange(2, 11, 2), 40
    case = jf.Case(4, network=jf.LogGOPS(L=0, o="1.25us"), noise=[jf.StepNoise(DELAY, 0.0025)])
    means, errors = [], []
    for n in ranks:
        loop = replace(case, ranks=int(n), cycles=cycles)
        samples = jf.simulate(loop, 100, seed=int(n)).samples[:, -1] / cycles
        means.append(samples.mean())
        errors.append(samples.std(ddof=1) / 10)
    found = fit(Curve(ranks, means, errors), step="2.5us")
    assert found.delay.high < 0.9 * DELAY
    assert "a loop without one, in which ranks run ahead, delays come out too short" in told(found)


# --- files


def write(tmp_path, text, name="curve.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_columns(tmp_path):
    text = "# a comment\nRanks; Latency (us); stderr_ns; min; max\n2; 4; 10; 3us; 5us\n"
    (curve,) = read_curves([write(tmp_path, text + "16; 17.5; 20; 15us; 30us\n")])
    assert curve.ranks.tolist() == [2, 16]
    assert curve.latency.tolist() == [4e-6, 17.5e-6]
    assert curve.error.tolist() == [1e-8, 2e-8]
    assert curve.high.tolist() == [5e-6, 3e-5]
    assert curve.name == "curve"
    for unit in ("us", "µs"):
        (plain,) = read_curves([write(tmp_path, "ranks latency\n8 3\n2 1\n")], unit=unit)
        assert plain.latency.tolist() == [1e-6, 3e-6]
    two = "ranks\tlatency_us\tseries\n2\t1\ta\n2\t2\tb\n4\t3\tb\n"
    assert [(c.name, len(c)) for c in read_curves([write(tmp_path, two)])] == [("a", 1), ("b", 2)]
    parts = [write(tmp_path, f"ranks,latency_us\n{n},{n}\n", f"{n}.csv") for n in (8, 4)]
    assert read_curves(parts)[0].ranks.tolist() == [4, 8]


BAD = [
    ("ranks,latency_us\n2,4\n4,x\n", 3, "latency must be a time"),
    ("ranks,latency_us\n2,4\n\n# c\n4,-1\n", 5, "latency must be a time from 0"),
    ("ranks,latency_us\n2,4\n4,0\n", 3, "latency must be 1 times above 0"),
    ("ranks,latency_us\n2.5,4\n", 2, "ranks must be an integer"),
    ("ranks,latency_us\n1,4\n", 2, "ranks must be from 2 to 2^20"),
    ("ranks,latency_us\n2,4\n2,5\n", 3, "ranks must differ from point to point, got 2 twice"),
    ("ranks,latency_us\n2,4,5\n", 2, "2 columns expected, got 3"),
    ("ranks,latency_us,eror\n2,4,5\n", 1, "unknown column 'eror' (did you mean 'error'?)"),
    ("ranks,latency_us,mean\n2,4,5\n", 1, "two columns are latency"),
    ("ranks,min\n2,4\n", 1, "no column latency"),
    ("ranks,latency_us,error\n2,4,0\n", 2, "error must be 1 times above 0"),
]


@pytest.mark.parametrize(("text", "line", "what"), BAD)
def test_bad_columns_name_their_line(tmp_path, text, line, what):
    with pytest.raises(ValueError, match=re.escape(f"curve.csv, line {line}: {what}")):
        read_curves([write(tmp_path, text)])


def test_bad_files(tmp_path):
    with pytest.raises(ValueError, match="no points below the header"):
        read_curves([write(tmp_path, "ranks,latency\n")])
    with pytest.raises(ValueError, match="need a header such as `ranks,latency_us`"):
        read_curves([write(tmp_path, "2 4\n4 8\n")])
    with pytest.raises(ValueError, match="unit must be one of"):
        read_curves([HM18], unit="h")
    with pytest.raises(ValueError, match=r"4096 twice|each hold one curve"):
        read_curves([HM18, HM18])
    with pytest.raises(ValueError, match=r"no scaling curve: it holds detours \(netgauge\)"):
        read_curves([SWEEPS / "examples" / "vm.noise"])


def test_a_benchmark_of_several_collectives():
    path = NOISE_SAMPLES / "imb.txt"
    with pytest.raises(ValueError, match=r"imb\.txt has several collectives: allreduce, barrier"):
        read_curves([path], message_bytes=8)
    (curve,) = read_curves([path], collective="allreduce", message_bytes=8)
    assert (curve.ranks.tolist(), curve.name) == ([2, 4], "allreduce")
    (curve,) = read_curves([path], collective="Barrier")
    assert curve.latency.tolist() == pytest.approx([3.5e-6])
    with pytest.raises(ValueError, match="has the collectives allreduce, barrier; got"):
        read_curves([path], collective="alltoall")


def test_ranks_that_a_benchmark_does_not_print(tmp_path, capsys):
    """As of OSU, unless the job printed its mpirun."""
    text = (NOISE_SAMPLES / "osu_allreduce.txt").read_text()
    paths = [tmp_path / name for name in ("a.txt", "b.txt", "odd@3")]
    for path in paths:
        path.write_text(text)
    with pytest.raises(ValueError, match=r"a\.txt: does not say .* `jitterfly fit a\.txt@64`"):
        read_curves(paths[:1])
    (curve,) = read_curves(paths[:2], ranks=[64, 128], message_bytes=8)
    assert curve.ranks.tolist() == [64, 128]
    files = [f"{path}@{ranks}" for path, ranks in zip(paths, (16, 64, 2), strict=True)]
    assert main(["fit", *files, "--bytes=8", "--collective=allreduce", "--json"]) == 0
    points = json.loads(capsys.readouterr().out)["fits"][0]["points"]
    assert [point["ranks"] for point in points] == [2, 16, 64]
    assert main(["fit", f"{paths[0]}@many"]) == 2
    assert "a.txt must be an integer from 2" in capsys.readouterr().err
    assert main(["fit", "nothere@x.txt"]) == 2  # no number of ranks: it is the file's name
    assert "nothere@x.txt: No such file" in capsys.readouterr().err
    with pytest.raises(ValueError, match="ranks must be one for each of 1 files"):
        read_curves(paths[:1], ranks=[2, 4])
    columns = tmp_path / "c.csv"
    columns.write_text("ranks,latency_us\n4,8\n")
    with pytest.raises(ValueError, match="has a column of ranks"):
        read_curves([columns], ranks=[4])


def test_curves_check_themselves():
    with pytest.raises(ValueError, match="ranks must differ from point to point, got 4 twice"):
        Curve([4, 4], [1e-6, 2e-6])
    with pytest.raises(ValueError, match="latency must be 2 times above 0"):
        Curve([4, 8], [1e-6])
    with pytest.raises(ValueError, match="ranks must be a list of integers"):
        Curve([4, 8.5], [1e-6, 1e-6])


# --- the command


def json_of(capsys, *command):
    assert main([*command]) == 0
    return json.loads(capsys.readouterr().out)


def test_command(tmp_path, capsys, blank_pictures):
    options = ["--step", "3.45us", "--delay", "14us", "--out", str(tmp_path / "out")]
    assert main(["fit", str(HM18), *options]) == 0
    text = capsys.readouterr().out
    assert text.count("no fit: ") == 2
    assert "671 µs" in text
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    series = ("1_barrier_baseline", "2_barrier_optimized")
    assert names[:4] == [f"{name}.{ending}" for name in series for ending in ("json", "png")]
    assert names[8:] == ["fit.csv", "fit.json", "points.csv"]
    lines = (tmp_path / "out" / "fit.csv").read_text().splitlines()
    assert lines[0].startswith("series,verdict,model,rank,parameter,value,low,high")
    assert len(lines) == 1 + 4 * 4
    assert len((tmp_path / "out" / "points.csv").read_text().splitlines()) == 5


def test_json_of_several_curves_has_codes_and_cautions(capsys):
    """As that of one curve; cautions stand first."""
    options = ["--step=3.45us", "--delay=14us", "--json"]
    several = json_of(capsys, "fit", str(HM18), *options)
    names = [one["series"] for one in several["fits"]]
    pages = [json_of(capsys, "fit", str(HM18), *options, f"--series={name}") for name in names]
    assert several.keys() == pages[0].keys()
    assert several["cautions"] == sum(page["cautions"] for page in pages)
    assert dict(zip(several["notes"], several["note_codes"], strict=True)) == {
        f"{name}: {note}": code
        for name, page in zip(names, pages, strict=True)
        for note, code in zip(page["notes"], page["note_codes"], strict=True)
    }


def test_command_of_a_curve(tmp_path, capsys):
    rounds = np.arange(1, 9)
    rows = [f"{2**k},{y * 1e6:.4f},0.2" for k, y in zip(rounds, model_curve(rounds, 0.02),
                                                         strict=True)]  # fmt: skip
    path = write(tmp_path, "ranks,latency_us,error_us\n" + "\n".join(rows))
    assert main(["fit", str(path), "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "fit: chi2 = " in text
    assert "95 % intervals: profile likelihood" in text
    assert (tmp_path / "curve.png").stat().st_size > 10_000


def test_the_fit_of_another_question_is_not_replaced(tmp_path, monkeypatch, capsys):
    """As those of other commands; that of the same question is, with the same times said so."""
    monkeypatch.chdir(tmp_path)
    curve = "ranks,latency_us\n2,3.9\n4,8.1\n8,12.2\n16,16.0\n32,20.1\n"
    (tmp_path / "fit.csv").write_text(curve)
    (tmp_path / "other.csv").write_text(curve.replace("20.1", "20.2"))
    given = ["fit", "fit.csv", "--model=exponential", "--step=3.9us"]
    assert main([*given, "--out=a"]) == 0
    assert {file.name for file in (tmp_path / "a").iterdir()} == {
        "fit.json", "fit.csv", "points.csv", "1_fit.json", "1_fit.png",
    }  # fmt: skip
    assert main(["report", "a", "--out=page.html"]) == 0  # of the page that has tables
    earlier = (tmp_path / "a" / "fit.csv").read_bytes()
    assert main([*given[:3], "--step=3900ns", "--out=a"]) == 0
    capsys.readouterr()
    for other, told in (
        (["fit", "other.csv", *given[2:]], "its curves[0][0] is 'fit.csv', here it is 'other.csv'"),
        ([*given[:3], "--step=3.8us"], "its step is 3.9e-06, here it is 3.8e-06"),
    ):
        assert main([*other, "--out=a"]) == 2
        assert told in capsys.readouterr().err
        assert (tmp_path / "a" / "fit.csv").read_bytes() == earlier
    (tmp_path / "fit.csv").write_text(curve.replace("20.1", "20.2"))
    assert main([*given, "--out=a"]) == 2
    assert "its sha256.fit.csv is " in capsys.readouterr().err
    assert main([*other, "--out=a", "--force"]) == 0
    assert (tmp_path / "a" / "fit.csv").read_bytes() != earlier
    assert main([*given, "--force"]) == 2
    assert "--force is for --out DIR" in capsys.readouterr().err


@pytest.mark.parametrize("model", ["bernoulli", "exponential", "rare-exponential"])
def test_printed_noise_is_the_noise_that_was_found(model, tmp_path, capsys):
    rounds = np.array([1, 2, 4, 6])
    extra = make_model(model, "last").extra(rounds, 0.02)[0]
    rows = [
        f"{2**k},{1e6 * (k * STEP + DELAY * e)},0.2" for k, e in zip(rounds, extra, strict=True)
    ]
    path = write(tmp_path, "ranks,latency_us,error_us\n" + "\n".join(rows))
    assert main(["fit", str(path), "--model", model, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["fits"]
    fitted = fit(read_curves([path])[0], model)
    assert main(["fit", str(path), "--model", model]) == 0
    told = capsys.readouterr().out
    (text,) = fitted.noise_options
    assert f"in `slowdown` and others: --noise '{text}' (L of" in told
    assert tuple(found["noise_options"]) == (text,)
    (source,) = fitted.noise
    assert jf.noise.Noise.from_dict(read_noise(text)) == source
    assert jf.noise.Noise.from_dict(found["noise"][0]) == source
    assert source.delay.expected() == pytest.approx(fitted.delay.value, rel=1e-5)
    # In a network where all of L is CPU time, it gives the curve again.
    network = re.search(r"--network (L=0,o=[^)]+)\)", told)[1]
    table = jf.slowdown(text, 64, network=network, algorithm="butterfly", realizations=20_000)
    mean, model_there = table.rows[0].mean, fitted.predicted[-1]
    half = (mean.high - mean.low) / 2
    assert abs(mean.value - model_there) < TWO_SIDED * half / 1.96 + 0.01 * model_there


def test_no_noise_is_printed_where_none_was_found(capsys):
    assert main(["fit", str(HM18), "--step", "3.45us", "--delay", "14us"]) == 0
    fits = re.split(r"(?m)^(?=\S.*: 1 point)", capsys.readouterr().out)[1:]
    assert sorted("no fit: " in one for one in fits) == [False, False, True, True]
    assert all(("--noise" in one) != ("no fit: " in one) for one in fits)
    quiet = fit(Curve([2, 4, 8, 16, 32], STEP * np.arange(1, 6)))
    assert quiet.noise == quiet.noise_options == ()
    assert "--noise" not in told(quiet)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--model", "normal"], "--model must be one of"),
        (["--rank", "first"], "--rank must be one of 'last', 'mean'"),
        (["--step", "1d"], "--step must be a time"),
        (["--probability", "2"], "--probability must be above 0 and at most 1"),
        (["--confidence", "1"], "confidence must be above 0 and below 1"),
        (["--confidence", "high"], "--confidence must be a number"),
        (["--series", "nobody"], "--series must be one of"),
    ],
)
def test_command_refuses(options, what, capsys):
    assert main(["fit", str(HM18), *options]) == 2
    assert what in capsys.readouterr().err
