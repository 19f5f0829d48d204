"""`compare_measured`: simulated against measured distribution (KS distance)."""

import json
import re
import shlex
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from support.paths import NOISE_SAMPLES
from support.scale import at_most, scaled

import jitterfly as jf
from jitterfly.cli import main
from jitterfly.program import row_labels
from jitterfly.slowdown import part_in_words

NETWORK = jf.LogGOPS(L="1us", o="200ns", G="0.1ns")
CASE = jf.Case(64, network=NETWORK, noise=[jf.StepNoise(jf.Exponential("1us"))])
OSU = NOISE_SAMPLES / "osu_allreduce.txt"
PINGPONG = "# OSU MPI Latency Test v5.6.2\n# Size          Latency (us)\n1 1.4\n2 1.5\n"


def sampled(case=CASE, count=500, seed=9):
    return jf.simulate(case, count, seed=seed).samples[:, -1]


def mean_over_ranks(case, count, clock="own_mean"):
    """As OSU and IMB have it of each iteration: of ranks' own clocks, or of one for all."""
    if clock == "common":
        return sampled(replace(case, observe="spread"), count)
    return sampled(replace(case, observe="own", barrier="dissemination_barrier"), count)


def test_the_rows_of_a_table_have_one_progress():
    """It counts messages, which rows have more or fewer of: their libraries choose otherwise."""
    told = []
    rows = jf.compare_measured(
        OSU, CASE, realizations=20, library=jf.LibraryRules("openmpi"),
        progress=lambda *state: told.append(state),
    ).rows  # fmt: skip
    assert len({row.bytes for row in rows}) == 3
    done, (total, *others) = [one[0] for one in told], dict.fromkeys(one[1] for one in told)
    assert (others, done[-1]) == ([], total)
    assert done == sorted(done)
    assert len({*done}) >= 3
    steps = np.diff(sorted({0, *done}))
    assert max(steps) > min(steps)


def test_the_same_distribution_is_not_told_apart():
    """In 95 % of the runs at least; of 60 more than 8 are told apart once in 10^3 then."""
    apart = 0
    for seed in range(60):
        measured = sampled(count=200, seed=1000 + seed)
        found = jf.compare_measured(measured, CASE, realizations=200, seed=seed)
        apart += any(row.verdict != "not told apart" for row in found.rows)
        assert found.distance.low <= found.distance.value <= found.distance.high
    assert apart <= 8


def test_warm_up_is_named_and_left_out(tmp_path):
    times = sampled()
    late = np.concatenate([[3 * times.max(), 2 * times.max()], times])
    found = jf.compare_measured(late, CASE, realizations=100)
    [caution] = found.cautions()
    assert caution.code == "warm_up"
    assert caution.startswith("the first 2 iterations took up to ")
    assert "`skip` = 2 leaves them out" in caution
    page = found.page()  # of whose notes a report shows the first `cautions` above the numbers
    assert page["notes"][: page["cautions"]] == [caution]
    left = jf.compare_measured(late, CASE, realizations=100, skip=2)
    assert left.cautions() == []
    assert repr(left.rows) == repr(jf.compare_measured(times, CASE, realizations=100).rows)
    with pytest.raises(ValueError, match="skip must be below the 502 iterations, got 502"):
        jf.compare_measured(late, CASE, realizations=100, skip=502)
    with pytest.raises(ValueError, match="skip must be 0 for a table, which has means, got 1"):
        jf.compare_measured(OSU, CASE, realizations=100, skip=1)


def test_what_is_off_is_named():
    """Twice the noise: the simulated times are too long; half of it: too short."""
    loud = replace(CASE, noise=[jf.StepNoise(jf.Exponential("2us"))])
    found = jf.compare_measured(sampled(), loud, realizations=500)
    by_name = {row.what: row for row in found.rows}
    known = [row for row in found.rows if np.isfinite(row.measured.high)]
    assert len(known) >= 6
    assert {row.verdict for row in known} == {"too long"}
    ratio = sampled(loud, seed=0).mean() / sampled().mean()
    assert by_name["mean"].ratio == pytest.approx(ratio)
    assert found.distance.low > 0.5
    assert found.distance.chance < 1e-10
    notes = found.to_dict()["notes"]  # which the JSON and a report have
    assert f"network: {part_in_words(CASE.network)}" in notes
    assert "noise: step, delay = exponential, mean 2 µs" in notes
    assert found.worst.ratio == max(row.ratio for row in known)
    quiet = replace(CASE, noise=[jf.StepNoise(jf.Exponential("0.5us"))])
    other = jf.compare_measured(sampled(), quiet, realizations=500)
    assert {row.verdict for row in other.rows} <= {"too short", "not told apart"}
    assert other.worst.verdict == "too short"


def test_distance_by_hand():
    """Half of what is measured is above all that is simulated."""
    free = replace(CASE, noise=[])
    time = jf.simulate(free, 1).samples[0, 0]
    measured = np.repeat([time, 2 * time], 500)
    found = jf.compare_measured(measured, free, realizations=1000)
    assert found.distance.value == pytest.approx(0.5)
    off = 2 * np.sqrt(np.log(4 / 0.05) / 2000)
    assert found.distance.low == pytest.approx(0.5 - off)


def test_a_file_of_times(tmp_path):
    file = tmp_path / "times.txt"
    samples = sampled(count=200)
    file.write_text("# us\n" + "\n".join(f"{t * 1e6!r}" for t in samples.tolist()))
    from_file = jf.compare_measured(file, CASE, unit="us", realizations=100)
    direct = jf.compare_measured(samples, CASE, realizations=100)
    assert [row.verdict for row in from_file.rows] == [row.verdict for row in direct.rows]
    np.testing.assert_allclose(from_file.measured, direct.measured, rtol=1e-12)


def test_long_times_without_a_unit_are_warned_of(tmp_path):
    """As a study's are: most often they are microseconds."""
    file = tmp_path / "five.txt"
    file.write_text("3\n1\n2\n5\n4\n")
    words = "is 3 s, as a number without a unit is in seconds: give the unit, such as us, or s if"
    for measured, name in (([3.0, 1.0, 5.0], "measured"), (file, "five.txt")):
        with pytest.warns(jf.LongTimeWarning, match=f"^the median of .*{name} {words}"):
            jf.compare_measured(measured, CASE, realizations=20)
    for unit in ("s", "us"):
        jf.compare_measured(file, CASE, unit=unit, realizations=20)
    jf.compare_measured([1e-5, 2e-5, 3.0], CASE, realizations=20)  # one long one alone
    with pytest.warns(jf.LongTimeWarning):
        assert main(["compare-measured", str(file), "--ranks=8", "--realizations=20",
                     "--noise=period=1ms,duration=25us"]) == 0  # fmt: skip


def test_a_unit_of_a_benchmarks_file_is_refused(capsys):
    for name in ("osu_allreduce.txt", "imb.txt"):
        with pytest.raises(ValueError, match=r"^unit must be left out: the times in"):
            jf.compare_measured(NOISE_SAMPLES / name, CASE, unit="ms", realizations=20)
    assert main(["compare-measured", str(OSU), "--unit=ms", "--ranks=64",
                 "--noise=period=1ms,duration=25us"]) == 2  # fmt: skip
    assert "--unit must be left out" in capsys.readouterr().err


def test_a_table_of_a_benchmark():
    """Each row with its own ranks and bytes."""
    (table,) = jf.measured.load(OSU).parts
    found = jf.compare_measured(OSU, CASE, realizations=50)
    columns = [name for name in ("mean", "p50", "p90", "p99") if getattr(table, name) is not None]
    assert len(found.rows) == len(columns) * len(table.mean)
    assert not table.ranks.any()  # which OSU does not print
    assert {row.ranks for row in found.rows} == {64}
    sizes = np.maximum(table.bytes, 1)  # a message of LogGOPS
    assert [row.bytes for row in found.rows[:: len(columns)]] == sizes.tolist()
    assert found.distance is None
    assert found.rows[0].measured.value == table.mean[0]


def table_of(values, head="", more=()):
    """An OSU file of (bytes, mean in us, ...), with more columns by their names."""
    lines = [head, "# OSU MPI Allreduce Latency Test v7.3",
             "  ".join(("# Size", "Avg Latency(us)", *more))]  # fmt: skip
    return "\n".join([*lines, *("  ".join(f"{x:g}" for x in row) for row in values), ""])


PERIODIC = replace(CASE, noise=[jf.PeriodicNoise("1ms", "25us", start="stationary")])
SIZES = (8, 512, 32768)
POOL = at_most(50_000, 20_000)  # times from which tables are drawn


@pytest.mark.parametrize("clock", ["own_mean", "common"])
@pytest.mark.parametrize(("iterations", "realizations"), [(1000, 5000), (100, 2000)])
def test_a_table_of_the_same_distribution_is_not_told_apart(
    iterations, realizations, clock, tmp_path
):
    """In 95 % of the tables; of 10 more than 3 are told apart with a chance of 0.1 % then."""
    rng, file, apart, tables = np.random.default_rng(3), tmp_path / "osu.txt", 0, at_most(200, 10)
    pools = {
        size: 1e6 * mean_over_ranks(replace(PERIODIC, message_bytes=size), POOL, clock)
        for size in SIZES
    }
    chosen = None if clock == "own_mean" else clock
    for seed in range(tables):
        rows = []
        for size, pool in pools.items():
            drawn = np.sort(rng.choice(pool, iterations))
            tails = [drawn[round(q * iterations) - 1] for q in (0.5, 0.9, 0.99)]
            rows.append((size, round(drawn.mean(), 2), iterations, *np.round(tails, 2)))
        more = ("Iterations", *(f"P{q} Tail Lat(us)" for q in (50, 90, 99)))
        file.write_text(table_of(rows, more=more))
        found = jf.compare_measured(
            file, PERIODIC, realizations=realizations, seed=seed, clock=chosen
        )
        assert len(found.rows) == 12
        apart += any(row.apart for row in found.rows)
        known = [
            row for row in found.rows if np.isfinite([row.measured.low, row.measured.high]).all()
        ]
        assert len(known) >= 6
    assert apart <= 0.05 * tables + 4 * np.sqrt(0.05 * tables)


RARE = replace(CASE, noise=[jf.PeriodicNoise("4ms", "3us", start="stationary"),
                            jf.PeriodicNoise("1s", "200us", start="stationary")])  # fmt: skip


def test_a_table_of_100_iterations_with_rare_noise(tmp_path):
    """Of the same distribution in 95 %; of 20 more than 3 are told apart with a chance of 1.6 %.

    One iteration in 75 meets 200 us of noise. Means that no 100 iterations have are told apart.
    """
    rng, file, apart, tables = np.random.default_rng(5), tmp_path / "osu.txt", 0, at_most(400, 20)
    pools = {size: 1e6 * mean_over_ranks(replace(RARE, message_bytes=size), POOL, "common")
             for size in SIZES}  # fmt: skip
    for seed in range(tables):
        means = [rng.choice(pool, 100).mean() for pool in pools.values()]
        file.write_text(table_of(zip(SIZES, means, strict=True)))
        found = jf.compare_measured(file, RARE, iterations=100, seed=seed, clock="common")
        apart += any(row.apart for row in found.rows)
    assert apart <= 0.05 * tables + 3 * np.sqrt(0.05 * 0.95 * tables)
    off = {size: pool.mean() + 15 for size, pool in pools.items()}
    assert all(rng.choice(pools[s], (2000, 100)).mean(axis=1).max() < off[s] - 5 for s in SIZES)
    file.write_text(table_of(off.items()))
    for seed in range(at_most(10, 3)):
        found = jf.compare_measured(file, RARE, iterations=100, seed=seed, clock="common")
        assert {row.verdict for row in found.rows} == {"too short"}
        # Any of these iterations may be the first that meets what is rarer.
        assert f"`realizations` = {1000 * len(SIZES)} tell more" in " ".join(found.notes())


def test_the_interval_of_a_table_begins_at_the_time_without_noise(tmp_path):
    """A mean of few iterations has none below it; a measured mean itself may lie below.

    That holds for one clock for all. Ranks' own times may be shorter than without noise.
    """
    file = tmp_path / "osu.txt"
    least = jf.simulate(replace(RARE, noise=[]), 1).samples[0, 0]
    for factor in (0.5, 1.2):
        file.write_text(table_of([(8, 1e6 * factor * least)]))
        (row,) = jf.compare_measured(file, RARE, iterations=2, clock="common").rows
        if factor < 1:  # a machine that is quicker than the model does not keep its bound
            assert row.measured.low < row.measured.value < least
        else:
            assert row.measured.low == pytest.approx(least, rel=1e-5)
    (row,) = jf.compare_measured(file, RARE, iterations=2).rows
    assert row.measured.low < 0.99 * least


def test_a_table_tells_what_is_off(tmp_path):
    """By 20 % in 1000 iterations; not in 10, nor where their number is not known."""
    file = tmp_path / "osu.txt"
    mean = 1e6 * mean_over_ranks(PERIODIC, 20_000).mean()
    for factor, verdict in ((0.8, "too long"), (1.25, "too short")):
        file.write_text(table_of([(8, factor * mean)]))
        for iterations, expected in ((1000, verdict), (10, "not told apart"), (None, "not known")):
            found = jf.compare_measured(file, PERIODIC, iterations=iterations, realizations=5000)
            (row,) = found.rows
            assert row.verdict == expected
            assert row.apart == (iterations == 1000)
            rare = "may have met rare noise" in " ".join(found.notes())
            assert rare == (row.verdict == "too short")  # of 5000 realizations
            assert row.ratio == pytest.approx(1 / factor, rel=0.05)
            told = " ".join(found.notes())
            assert ("over how many iterations" in told) == (iterations is None)
            assert "measured and simulated are means over ranks" in told
            assert "nothing differs more" not in told  # a single row
            if iterations is None:
                assert "give `iterations`" in told
                assert (row.measured.low, row.measured.high) == (-np.inf, np.inf)
                assert f"the simulated mean is {row.ratio:.3g} times the measured one" in told
                assert "how much of it is chance is not known" in told
                assert "?" not in found.lines()[1]
    few = jf.compare_measured(file, PERIODIC, iterations=10, realizations=500).rows[0].measured
    many = jf.compare_measured(file, PERIODIC, iterations=1000, realizations=500).rows[0].measured
    assert many.high - many.low < (few.high - few.low) / 8


def test_iterations_of_a_command(tmp_path):
    file = tmp_path / "osu.txt"
    mean = 1e6 * mean_over_ranks(PERIODIC, 20_000).mean()
    file.write_text(table_of([(8, 0.8 * mean)], "mpirun -np 64 ./osu_allreduce -i 1000 -m 8:8\n"))
    found = jf.compare_measured(file, PERIODIC, realizations=2000)
    assert [row.verdict for row in found.rows] == ["too long"]


@pytest.mark.parametrize("clock", ["own_mean", "common"])
def test_the_mean_over_ranks_of_a_table_is_compared_with_that(clock, tmp_path):
    """Of the same model; the last rank takes half as long again. Wrong once in 20 at most."""
    noise = jf.MessageNoise(jf.Exponential("5us"), probability=0.01)
    case = replace(CASE, algorithm=jf.RecursiveDoublingAllreduce(), noise=[noise])
    drawn = case if clock == "common" else replace(case, barrier="dissemination_barrier")
    row_of_times = row_labels(drawn).index("end" if clock == "common" else "own")
    times = np.array([jf.ready_times(drawn, 3, i)[row_of_times] for i in range(300)])
    ranks, last = times.mean(axis=0), times.max(axis=1).mean()
    assert last > 1.5 * times.mean()
    row = [8, *(1e6 * x for x in (times.mean(), ranks.min(), ranks.max())), 300]
    file = tmp_path / "osu.txt"
    more = ("Min Latency(us)", "Max Latency(us)", "Iterations")
    for factor, verdict in ((1, "not told apart"), (0.7, "too long"), (1.4, "too short")):
        file.write_text(table_of([(row[0], *(factor * x for x in row[1:4]), row[4])], more=more))
        (found,) = jf.compare_measured(file, case, clock=clock).rows
        assert found.verdict == verdict
        assert found.ratio * factor == pytest.approx(1, rel=0.1)


def test_the_clock_is_that_of_the_file(tmp_path, capsys):
    """Times on each rank: the longest since it left a barrier; plain ones: as they are said to be.

    Told apart with the other clock, which has detours that are under way before the barrier.
    """
    noise = jf.PeriodicNoise("100ms", "1ms", start="stationary")
    case = replace(CASE, algorithm=jf.DisseminationBarrier(), noise=[noise], barrier="tree_barrier")
    label = row_labels(case).index("own")
    times = np.array([jf.ready_times(case, 3, i)[label] for i in range(400)])
    file = tmp_path / "ranks.txt"
    head = " ".join(["#MessageSize", *(f"Rank{rank}Time(ns)" for rank in range(64))])
    rows = [" ".join(["8", *(f"{1e9 * t:.3f}" for t in row)]) for row in times]
    file.write_text("\n".join([head, *rows, ""]))
    found = jf.compare_measured(file, case, realizations=1000)
    assert found.clock == "own"
    assert found.case == case
    np.testing.assert_allclose(found.measured, np.sort(times.max(axis=1)), atol=1e-12)
    assert {row.verdict for row in found.rows} == {"not told apart"}
    told = (
        "clock: each rank's own since it left the barrier, the longest of these; simulated with a "
    )
    assert f"{told}tree_barrier" in found.notes()
    plain = times.max(axis=1)
    again = jf.compare_measured(plain, case, realizations=1000, clock="own")
    assert [row.verdict for row in again.rows] == [row.verdict for row in found.rows]
    usual = jf.compare_measured(plain, replace(case, barrier=None), realizations=1000)
    assert usual.clock == "common"
    assert usual.rows[0].verdict == "too long"
    (note,) = [note for note in usual.notes() if note.startswith("clock: all ranks begin at once")]
    assert "`clock` = own" in note
    last = jf.compare_measured(plain, replace(case, cycles=3), realizations=50, clock="own_mean")
    assert any("the mean over ranks of these of the last of 3 cycles" in n for n in last.notes())
    for words in (["--clock=own"], ["--clock", "own"]):
        assert main(["compare-measured", str(OSU), "--ranks=8", "--noise=period=1ms,duration=25us",
                     *words]) == 2  # fmt: skip
        assert "--clock must be own_mean or common for a table" in capsys.readouterr().err
    assert main(["compare-measured", str(OSU), "--ranks=8", "--noise=period=1ms,duration=25us",
                 "--realizations=50", "--json"]) == 0  # fmt: skip
    found = json.loads(capsys.readouterr().out)
    assert found["clock"] == "own_mean"
    assert any("simulated with a dissemination_barrier" in note for note in found["notes"])
    assert main(["compare-measured", str(OSU), "--ranks=8", "--noise=period=1ms,duration=25us",
                 "--realizations=50", "--barrier=tree_barrier"]) == 0  # fmt: skip
    assert "simulated with a tree_barrier" in capsys.readouterr().out
    nccl = jf.compare_measured(NOISE_SAMPLES / "nccl_tests.txt", CASE, realizations=20)
    assert nccl.clock == "common"
    with pytest.raises(ValueError, match="clock must be one of 'common', 'own', 'own_mean'"):
        jf.compare_measured(plain, case, clock="mean")


def test_without_anything_random_all_is_exact(tmp_path):
    """A given arrival takes as long in each iteration, which few realizations tell as well."""
    file = tmp_path / "osu.txt"
    case = replace(CASE, noise=[], arrival=jf.imbalance.Ramp("10us"))
    mean = 1e6 * mean_over_ranks(case, 2)[0]
    for factor, verdict in ((1, "not told apart"), (0.9, "too long"), (1.1, "too short")):
        file.write_text(table_of([(8, factor * mean)]))
        found = jf.compare_measured(file, case, iterations=10, realizations=2)
        (row,) = found.rows
        assert row.verdict == verdict
        assert row.simulated.high - row.simulated.low < 1e-15
        assert row.measured.high - row.measured.low <= 1.01e-8
        assert "realizations" not in " ".join(found.notes())


def test_iterations_are_those_of_the_file(tmp_path):
    jf.compare_measured(OSU, CASE, message_bytes=8, iterations=1000, realizations=20)
    with pytest.raises(ValueError, match=r"iterations must be those in .*, 1000, 100, got 10"):
        jf.compare_measured(OSU, CASE, iterations=10)
    with pytest.raises(ValueError, match="iterations must be"):
        jf.compare_measured(OSU, CASE, iterations=0)
    with pytest.raises(ValueError, match="iterations are of a benchmark's table"):
        jf.compare_measured([1.0, 2.0], CASE, iterations=10)
    file = tmp_path / "times.txt"
    file.write_text("1e-5\n2e-5\n")
    with pytest.raises(ValueError, match=r"iterations are of a table of means, which .* is not"):
        jf.compare_measured(file, CASE, iterations=10)


def test_the_command_takes_iterations(tmp_path, capsys):
    file = tmp_path / "osu.txt"
    file.write_text(table_of([(8, 20.0), (16, 21.0)]))
    usual = ["compare-measured", str(file), "--ranks=64", "--realizations=50",
             "--noise=period=1ms,duration=25us"]  # fmt: skip
    assert main(usual) == 0
    told = capsys.readouterr().out
    assert "not known" in told
    assert "give --iterations" in told
    assert main([*usual, "--iterations=1e3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"][0]["measured"]["realizations"] == 1000
    assert not any("over how many iterations" in note for note in found["notes"])
    assert main([*usual, "--iterations=0"]) == 2
    assert "--iterations must be" in capsys.readouterr().err


def test_another_collective_is_refused(tmp_path):
    barrier = NOISE_SAMPLES / "osu_barrier.txt"
    for file, algorithm, words in (
        (barrier, jf.Butterfly(), "barrier, which .* such as dissemination_barrier, got butterfly"),
        (OSU, jf.RingAllgather(), "allreduce, which .* such as butterfly, got ring_allgather"),
    ):
        with pytest.raises(ValueError, match=f"algorithm must be one of {words}"):
            jf.compare_measured(file, replace(CASE, algorithm=algorithm), realizations=20)
    case = replace(CASE, algorithm=jf.DisseminationBarrier())
    told = " ".join(jf.compare_measured(barrier, case, realizations=20).notes())
    assert "the measured collective" not in told
    other = tmp_path / "osu.txt"  # a benchmark's counts are all equal
    other.write_text(table_of([(8, 20.0)]).replace("Allreduce", "Allgatherv"))
    found = jf.compare_measured(other, replace(CASE, algorithm=jf.RingAllgather()))
    told = " ".join(found.notes())
    assert "the measured collective is allgatherv, which ring_allgather is not" in told
    with pytest.raises(ValueError, match=r"one of allgatherv, which .* such as ring_allgatherv"):
        jf.compare_measured(other, replace(CASE, algorithm=jf.RingAllreduce()))


def test_the_title_has_the_counts(tmp_path, capsys):
    """And what else an algorithm is given, as that of `slowdown`."""
    (tmp_path / "times.txt").write_text("9\n10\n11\n")
    options = ["--ranks=4", "--algorithm=pairwise_alltoallv", "--noise=period=1ms,duration=25us",
               "--counts=lognormal(mean=64,sigma=1,seed=7)", "--realizations=20"]  # fmt: skip
    assert main(["compare-measured", str(tmp_path / "times.txt"), "--unit=us", *options]) == 0
    title = (
        "pairwise_alltoallv, counts = (lognormal, mean = 64.0, sigma = 1.0, seed = 7), simulated"
    )
    assert title in capsys.readouterr().out


def dependent(pool, rng, count, lag_one):
    """Samples of a pool, ascending, whose places in it are an autoregression's."""
    places = np.empty(count)
    last = rng.normal()
    for i, new in enumerate((rng.normal(size=count) * np.sqrt(1 - lag_one**2)).tolist()):
        places[i] = last = lag_one * last + new
    return pool[np.searchsorted(np.sort(rng.normal(size=len(pool))), places).clip(0, len(pool) - 1)]


@pytest.mark.parametrize("lag_one", [0.0, 0.9, 0.98])
def test_dependent_times_of_the_same_distribution_are_not_told_apart(lag_one):
    """In 95 %; of 20 more than 5 are with a chance of 0.03 %. As independent ones, 25 to 87 %."""
    rng, pool = np.random.default_rng(3), np.sort(sampled(PERIODIC, 20_000))
    apart, below, worth, tables = 0, 0, [], scaled(200)
    for seed in range(tables):
        measured = dependent(pool, rng, 1000, lag_one)
        found = jf.compare_measured(measured, PERIODIC, realizations=1000, seed=seed)
        apart += any(row.apart for row in found.rows)
        below += found.distance.chance is not None and found.distance.chance < 0.05
        worth.append(found.effective_samples)
        assert found.distance.low == 0
        told = "depend on their neighbours" in " ".join(found.notes())
        assert told == (found.effective_samples < 1000)
    most = 0.05 * tables + 4 * np.sqrt(0.05 * tables)
    assert apart <= most
    assert below <= most
    least, usual = {0.0: (1000, 1000), 0.9: (20, 60), 0.98: (1, 20)}[lag_one]
    assert least <= np.median(worth) <= usual


def test_dependent_times_that_differ_are_told_apart():
    rng, pool = np.random.default_rng(3), np.sort(sampled(PERIODIC, 20_000))
    loud = replace(PERIODIC, noise=[jf.PeriodicNoise("1ms", "80us", start="stationary")])
    found = jf.compare_measured(dependent(pool, rng, 2000, 0.8), loud, realizations=1000)
    assert found.effective_samples < 500
    assert found.rows[0].verdict == "too long"
    assert found.distance.low > 0
    assert found.distance.chance < 1e-6
    measured = found.rows[0].measured
    independent = jf.stats.mean(found.measured, measured.confidence)
    assert measured.high - measured.low > 2 * (independent.high - independent.low)


def test_times_that_depend_for_too_long_have_no_chance():
    slow = np.repeat(sampled(count=12), 50)
    found = jf.compare_measured(slow, CASE, realizations=500)
    assert found.distance[1:] == (0.0, 1.0, None)
    assert not any(row.apart for row in found.rows)
    told = " ".join(found.notes())
    assert "by chance with probability is not known" not in told
    assert "how probable by chance is not known" in told
    assert "for so long that not all have intervals" in told
    loud = jf.compare_measured(np.sort(slow), CASE, realizations=500)
    assert "the measured times are sorted" in " ".join(loud.notes())
    assert loud.effective_samples == 600


def test_rows_of_a_table_are_chosen():
    two = NOISE_SAMPLES / "osu_barrier.txt"  # 256 and 512 ranks
    barrier = replace(CASE, algorithm=jf.DisseminationBarrier())
    rows = jf.compare_measured(two, barrier, ranks=512, realizations=20).rows
    assert [row.ranks for row in rows] == [512]
    with pytest.raises(ValueError, match="nothing of 64 ranks, but of 256 ranks 0 bytes; 512"):
        jf.compare_measured(two, barrier, ranks=64)
    rows = jf.compare_measured(OSU, CASE, message_bytes=8, ranks=32, realizations=20).rows
    assert {(row.ranks, row.bytes) for row in rows} == {(32, 8)}
    with pytest.raises(ValueError, match="nothing of 16 bytes, but of 4, 8, 1,048,576 bytes"):
        jf.compare_measured(OSU, CASE, message_bytes=16)


def test_one_of_several_collectives():
    """That of the case, or as chosen."""
    both = NOISE_SAMPLES / "imb.txt"
    barrier = replace(CASE, algorithm=jf.DisseminationBarrier())
    few = {"realizations": 20}
    assert len(jf.compare_measured(both, CASE, **few).rows) == 2  # and two of 0 bytes
    assert len(jf.compare_measured(both, CASE, message_bytes=8, **few).rows) == 2
    for chosen in (None, "barrier"):
        (row,) = jf.compare_measured(both, barrier, collective=chosen, **few).rows
        assert row.measured.value == pytest.approx(3.5e-6)
    ring = replace(CASE, algorithm=jf.RingAllgather())
    with pytest.raises(ValueError, match="allreduce, barrier; choose one with `collective`"):
        jf.compare_measured(both, ring)
    with pytest.raises(ValueError, match="has the collectives allreduce, barrier; got"):
        jf.compare_measured(both, ring, collective="bcast")


def test_rows_of_0_bytes_are_left_out():
    """An allreduce of 0 bytes sends nothing; a barrier has no other rows."""
    imb, barrier = NOISE_SAMPLES / "imb.txt", replace(CASE, algorithm=jf.DisseminationBarrier())
    found = jf.compare_measured(imb, CASE, realizations=500)
    assert [(row.ranks, row.bytes) for row in found.rows] == [(2, 8), (4, 8)]
    assert "rows of 0 bytes are left out: without data, allreduce sends nothing" in found.notes()
    chosen = jf.compare_measured(imb, CASE, message_bytes=8, realizations=500)
    assert not any("0 bytes" in note for note in chosen.notes())
    assert chosen.rows[0].measured.confidence == found.rows[0].measured.confidence
    synchronized = jf.compare_measured(imb, barrier, realizations=20)
    assert len(synchronized.rows) == 1
    assert not any("0 bytes" in note for note in synchronized.notes())
    with pytest.raises(ValueError, match=r"is asked for 0 bytes: without data, allreduce"):
        jf.compare_measured(imb, CASE, message_bytes=0)


def test_the_command_chooses_rows(tmp_path, capsys):
    two, both = NOISE_SAMPLES / "osu_barrier.txt", NOISE_SAMPLES / "imb.txt"
    usual = ["--noise=period=1ms,duration=25us", "--realizations=20", "--json"]
    study, synchronized = tmp_path / "case.toml", tmp_path / "barrier.toml"
    study.write_text('ranks = 8\nnoise = [{kind = "periodic", period = "1ms", duration = "9us"}]\n'
                     'network = {kind = "loggops", L = "1us", o = "1us"}\n')  # fmt: skip
    synchronized.write_text('algorithm = "dissemination_barrier"\n' + study.read_text())
    for words, points in (
        ([two, "--algorithm=dissemination_barrier", *usual], [(256, 1), (512, 1)]),
        ([two, synchronized, "--ranks=512", *usual[1:]], [(512, 1)]),
        ([both, "--bytes=8", *usual], [(2, 8), (4, 8)]),
        ([both, "--collective=allreduce", "--ranks=4", "--bytes=8", *usual], [(4, 8)]),
        ([both, synchronized, "--collective=barrier", *usual[1:]], [(4, 1)]),
        ([both, study, "--bytes=8", "--ranks=2", *usual[1:]], [(2, 8)]),
    ):
        assert main(["compare-measured", *map(str, words)]) == 0
        rows = json.loads(capsys.readouterr().out)["rows"]
        assert [(row["ranks"], row["bytes"]) for row in rows] == points
    times = tmp_path / "times.txt"
    times.write_text("1e-5\n2e-5\n")
    assert main(["compare-measured", str(times), str(study), "--bytes=16"]) == 2
    assert "--bytes must be the case's 8 for plain times" in capsys.readouterr().err


def test_tables_and_pictures(tmp_path):
    pytest.importorskip("matplotlib")
    for number, measured in enumerate((sampled(), OSU)):
        found = jf.compare_measured(measured, CASE, realizations=300)
        assert found.to_csv().count("\n") == 1 + len(found.rows)
        assert len(found.lines()) == 1 + len(found.rows)
        assert found._repr_html_().count("<tr>") == 1 + len(found.rows)
        picture = tmp_path / f"{number}.png"
        found.plot(picture)
        assert picture.stat().st_size > 10_000


def test_the_picture_of_a_table_has_1_in_what_is_not_told_apart():
    """Ends of ratios that are not known are question marks, as in the table."""
    pytest.importorskip("matplotlib")
    found = jf.compare_measured(OSU, CASE, realizations=300)
    bars = [(row.ratio_low, row.ratio_high) for row in found.rows]
    assert [low > 1 or high < 1 for low, high in bars] == [row.apart for row in found.rows]
    marks = sum(text.get_text() == "?" for text in found.plot().axes[0].texts)
    assert marks == np.isinf(bars).sum() > 0
    assert "more realizations give bounds" in " ".join(found.notes())


def test_several_cycles_are_compared_together():
    told = "simulated is the time from the first start to the end of all 3 cycles"
    for cycles in (1, 3):
        found = jf.compare_measured([1e-5, 2e-5], replace(CASE, cycles=cycles), realizations=50)
        assert any(note.startswith(told) for note in found.notes()) == (cycles == 3)


def test_a_column_may_have_a_name(tmp_path):
    path = tmp_path / "times.csv"

    def compared(text, unit=None):
        path.write_text(text)
        return jf.compare_measured(path, CASE, realizations=50, unit=unit).to_csv()

    plain = compared("35e-6\n36e-6\n37e-6\n")
    for head in ("time", "time_s", "s", "time [s]"):
        assert compared(f"{head}\n35e-6\n36e-6\n37e-6\n") == plain
    for unit, head in (("us", "time_us"), (None, "time(us)"), ("us", "latency")):
        assert compared(f"{head}\n35\n36\n37\n", unit) == compared("35\n36\n37\n", "us")
    with pytest.raises(ValueError, match=r"unit must be ms, as the first line of .*, got us"):
        compared("time_ms\n35\n36\n", "us")


@pytest.mark.skipif(shutil.which("awk") is None, reason="needs awk")
@pytest.mark.parametrize("rows", ["1,35\n2,36\n", "1\t35\n2\t36\n", "  1   35\n 2 36\n"])
def test_the_way_to_take_a_column_takes_it(rows, tmp_path):
    path = tmp_path / "x.txt"
    path.write_text(rows)
    with pytest.raises(ValueError, match="2 columns of numbers") as caught:
        jf.compare_measured(path, CASE)
    command = re.search("`(awk '.*')`", str(caught.value))
    words = [*shlex.split(command[1]), path]
    assert subprocess.check_output(words, text=True).split() == ["35", "36"]


@pytest.mark.parametrize(
    ("measured", "options", "words"),
    [
        ([], {}, "measured has no times: it is empty"),
        ([1.0], {}, "must be 2 or more times"),
        ([1.0, -1.0], {}, "must be 2 or more times"),
        ([1.0, float("nan")], {}, "must be 2 or more times"),
        ([[1.0, 2.0]], {}, "must be 2 or more times"),
        ("one two\n", {}, "must hold numbers, or what a benchmark"),
        ("35.1us\n36.2\n37.3\n", {}, "must hold numbers.*; line 1 has '35.1us'$"),
        ("time\n1.0\n2.0\nx\n", {}, "must hold numbers.*; line 4 has 'x'$"),
        ("step,time\n1,35.1\n2,36.2\n", {}, "2 columns of numbers"),
        ("1 35.1\n2 36.2\n", {}, "2 columns of numbers.* one time in each line"),
        ("1\t35.1\n2\t36.2\n", {}, "2 columns of numbers"),
        (PINGPONG, {}, "of single messages by their size.*`jitterfly network parameters"),
        (OSU.read_text() + "8 x 1 1 1 1 1 1\n", {}, "line 8"),
        ([1.0, 2.0], {"ranks": 8}, "ranks must be the case's 64"),
        ([1.0, 2.0], {"message_bytes": 16}, "message_bytes must be the case's 8"),
        ([1.0, 2.0], {"collective": "barrier"}, "collective must be that of butterfly"),
        ([1.0, 2.0], {"unit": "min"}, "unit"),
        ([1.0, 2.0], {"realizations": 1}, "realizations"),
        ([1.0, 2.0], {"confidence": 1}, "confidence"),
    ],
)
def test_what_is_refused(measured, options, words, tmp_path):
    if isinstance(measured, str):
        text, measured = measured, tmp_path / "x.txt"
        measured.write_text(text)
    with pytest.raises(ValueError, match=words):
        jf.compare_measured(measured, CASE, **options)


def test_the_interval_of_the_ratio_is_in_table_csv_and_json():
    """From the least simulated over the largest measured on; 1 is outside where both differ."""
    loud = replace(CASE, noise=[jf.StepNoise(jf.Exponential("1.02us"))])
    found = jf.compare_measured(sampled(), loud, realizations=500)
    rows = found.to_dict()["rows"]
    assert found.to_csv().partition("\n")[0].endswith(",ratio,ratio_low,ratio_high,verdict")
    lines = [line.split(",") for line in found.to_csv().splitlines()[1:]]
    for row, plain, line in zip(found.rows, rows, lines, strict=True):
        if not np.isfinite(row.measured.high):  # of p99: no end is known
            assert (row.ratio_low, plain["ratio_low"]) == (-np.inf, None)
            continue
        low, high = row.simulated.low / row.measured.high, row.simulated.high / row.measured.low
        assert (row.ratio_low, row.ratio_high) == pytest.approx((low, high))
        assert (plain["ratio_low"], plain["ratio_high"]) == (row.ratio_low, row.ratio_high)
        assert tuple(map(float, line[-4:-1])) == (row.ratio, row.ratio_low, row.ratio_high)
        assert row.apart == (not low <= 1 <= high)
    mean = found.rows[0]
    assert f"{mean.ratio:.3g} [{mean.ratio_low:.3g}, {mean.ratio_high:.3g}]" in found.summary()
    assert " [?, ?] " in found.summary()


def test_the_ends_of_quantiles_ascend():
    """Those that a recording widens, one by one, and those of times that depend on each other."""
    rng = np.random.default_rng(5)
    durations = rng.lognormal(np.log(5e-6), 1, 60)
    begins = np.sort(rng.uniform(0, 0.3, 60))
    noise = jf.TraceNoise(starts=begins, durations=durations, length=0.3)
    case = jf.Case(64, network=NETWORK, noise=[noise])
    measured = np.repeat(sampled(replace(case, noise=[jf.StepNoise(jf.Exponential("3us"))])), 3)
    rows = jf.compare_measured(measured, case, realizations=500).rows[1:]
    for side in ("measured", "simulated"):
        for end in ("low", "high"):
            ends = [float(getattr(getattr(row, side), end)) for row in rows]
            assert ends == sorted(ends)
