"""The developers' benchmark: peers agree with the engine; reports; options.

How fast anything is, is no test.
"""

import csv
import itertools
import json
import os
import re
import sys

import numpy as np
import pytest
from reference.collectives import plain_table
from support.scale import some

import jitterfly as jf
from bench import benchmark, loggopsim, options, peers
from bench import beside as bench_beside
from bench import collectives as bench_collectives
from bench import goals as bench_goals
from bench import measure as bench_measure
from bench import sources as bench_sources
from bench.__main__ import lines as developers_lines
from bench.__main__ import main as developers_main
from bench.measure import DisagreementError, PeerWork, Plan, check_program, vectorized
from bench.sweep import main as sweep_main
from jitterfly.simulate import noise_phases

HOCKNEY = jf.Hockney(alpha="1us", beta="1ns", gamma=1e-10)
LOGGOPS = jf.LogGOPS(L="1us", o="100ns", G="1ns", gamma="5ns")
NOISES = [
    jf.PeriodicNoise(period="1ms", duration="10us"),
    jf.PeriodicNoise(period="20us", duration="1us", start="stationary"),
    jf.PeriodicNoise(period="100ns", duration="90ns"),  # many intervals in one piece of work
    jf.PeriodicNoise(period="2us", duration="0s", start="stationary"),
]


@pytest.mark.parametrize("peer", [vectorized, peers.event_driven])
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("network", [HOCKNEY, LOGGOPS])
@pytest.mark.parametrize("ranks", some([1, 2, 8, 256], 2))
def test_peers_equal_the_engine(peer, noise, network, ranks):
    case = jf.Case(ranks=ranks, network=network, noise=[noise])
    ticks = jf.simulate(case, realizations=20, seed=5, backend="cpu").ticks[:, 0]
    seconds = np.stack([noise_phases(case, seed=5, realization=r) for r in range(20)])
    phases = np.rint(seconds * 1e12).astype(np.int64)
    np.testing.assert_array_equal(peer(PeerWork.from_case(case), phases), ticks)


def test_a_program_that_is_wrong_is_found(monkeypatch, capsys):
    case = bench_measure.programs(16, bench_measure.NOISES["periodic"])["butterfly"]
    check_program(vectorized, case, 4)

    def wrong(work, phases):
        return np.zeros(len(phases), dtype=np.int64)

    monkeypatch.setitem(peers.PEERS, "C++, event-driven", wrong)
    with pytest.raises(DisagreementError, match="wrong program does not"):
        check_program(wrong, case, 4)
    assert developers_main(["--ranks", "16", "--repeats", "1", "--seconds", "0.001"]) == 1
    found = capsys.readouterr()
    assert found.out == ""
    assert found.err.count("\n") == 1
    assert "wrong program does not give the engine's results at 16 ranks" in found.err


def test_rank_rounds_count_exchanges_and_forwards():
    counts = {name: case.rank_rounds() for name, case in bench_measure.programs(16, []).items()}
    assert counts == {
        "butterfly": 16 * 4,
        "MS12, all T": 16 * 8,
        "CS14, full set": 16 * 4,
        "CS14, 10 cycles": 16 * 40,
    }
    every = jf.Case(16, network=HOCKNEY, algorithm=jf.Butterfly(exchanges_after="all"), cycles=3)
    # Each T is a loop of its own.
    assert every.rank_rounds() == 16 * (4 + 5 + 6 + 7 + 8) * 3
    assert every.loops[-1].rank_rounds() == 16 * 8 * 3
    assert jf.Case(1, network=HOCKNEY, cycles=3).rank_rounds() == 3


@pytest.mark.full_scale
def test_report_and_json(tmp_path, capsys):
    """Every program under every noise; no limit, which takes longer (test_bench_limits)."""
    file = tmp_path / "bench.json"
    words = ["--ranks", "2^4,32", "--repeats", "2", "--seconds", "0.001", "--no-limit"]
    assert developers_main([*words, "--json", str(file)]) == 0
    result = json.loads(file.read_text())
    assert result["format"] == 2
    assert result["anchor"] == 32
    assert result["machine"]["cores"] >= 1
    found = [goal["found"] for goal in result["goals"] if goal["goal"].startswith("congestion, ")]
    network = result["congestion"]
    assert found == [network["times_as_fast"], network["large_cpu_seconds"] / 2]
    assert min(found) > 0
    assert all(goal["met"] is None for goal in result["goals"][:-2])  # other sizes
    assert len(result["ratios"]) == 2
    assert result["capacity"] == {"core": None, "gpu": None, "problem": ""}
    costs = {(row["program"], row["noise"]): row for row in result["sources"]
             if row["name"] == "jitterfly, cpu"}  # fmt: skip
    kinds = set(bench_sources.programs(16, []))
    assert set(costs) == {(p, n) for p in kinds for n in bench_sources.SOURCES}
    for (_, noise), row in costs.items():
        times = row["times_periodic"]
        assert 0 < times["min"] <= times["median"] <= times["max"]
        assert (noise == "periodic") == (times["min"] == times["max"] == 1)
    shapes = [row for row in result["collectives"] if row["name"] == "jitterfly, cpu"]
    assert {(r["shape"], r["ranks"], r["cycles"]) for r in shapes} == {
        (shape, ranks, cycles)
        for shape in bench_collectives.SHAPES
        for ranks in (32, 24)
        for cycles in (1, 10)
    }
    programs = set(bench_measure.programs(16, []))
    cpu = [row for row in result["rows"] if row["name"] == "jitterfly, cpu"]
    measured = {(row["program"], row["noise"], row["ranks"]) for row in cpu}
    assert measured == {(p, n, r) for p in programs for n in bench_measure.NOISES for r in (16, 32)}
    for row in result["rows"]:
        rates = row["rank_rounds_per_second"]
        assert 0 < rates["min"] <= rates["median"] <= rates["max"]
        assert len(row["seconds"]) == len(row["reference_cpu_seconds"]) == 2
        assert row["limit"] is None or row["limit"]["rank_rounds_per_second"] is None
        assert row["share"] is None
    for row in cpu:
        case = bench_measure.programs(row["ranks"], bench_measure.NOISES[row["noise"]])
        held = jf._core.memory(jf.program.compile_case(case[row["program"]]), "cpu", 1, 1)
        assert row["bytes_per_rank"] == held / row["ranks"]
        per_realization = case[row["program"]].rank_rounds()
        assert row["rank_rounds_per_realization"] == per_realization
        assert row["realizations_per_second"] * per_realization == pytest.approx(
            row["rank_rounds_per_second"]["median"]
        )
    text = capsys.readouterr().out
    assert text == "\n".join(developers_lines(result)) + "\n"
    words = ("NumPy", "event-driven", "goals", "equal the engine", "times as fast as",
             "not measured", *bench_sources.SOURCES, *bench_collectives.SHAPES)  # fmt: skip
    for word in words:
        assert word in text


def test_the_table_as_csv(tmp_path, capsys):
    file, table = tmp_path / "bench.json", tmp_path / "bench.csv"
    words = [*QUICK, "--ranks", "16", "--json", str(file), "--csv", str(table)]
    assert developers_main(words) == 0
    result = json.loads(file.read_text())
    header, *lines = csv.reader(table.read_text().splitlines())
    assert tuple(header) == benchmark.COLUMNS
    assert len(lines) == len(result["rows"])
    for line, row in zip(lines, result["rows"], strict=True):
        assert line[0] == row["name"]
        assert float(line[6]) == row["rank_rounds_per_second"]["median"]


QUICK = ["--repeats", "2", "--seconds", "0.001", "--no-limit", "--no-peers", "--no-sources",
         "--no-collectives", "--programs", "butterfly", "--noise", "none"]  # fmt: skip


def test_long_cases_are_left_out(tmp_path):
    file = tmp_path / "b.json"
    words = [*QUICK, "--ranks", "4,2^20", "--longest", "1e-6", "--json", str(file)]
    assert developers_main(words) == 0
    result = json.loads(file.read_text())
    assert [row["ranks"] for row in result["rows"] if row["name"] == "jitterfly, cpu"] == [4]
    left = [row for row in result["left_out"] if row["name"] == "jitterfly, cpu"]
    assert [row["ranks"] for row in left] == [2**20]
    assert left[0]["seconds_expected"] > 1e-6
    assert "left out: jitterfly, cpu, butterfly, no noise, 2^20" in "\n".join(
        benchmark.report(result)
    )
    (held,) = bench_goals.sizes([], left)
    assert held["bytes_per_rank"] > 0  # known without running it


def test_all_threads(monkeypatch, tmp_path):
    monkeypatch.setattr("bench.measure.hardware_threads", lambda: 3)
    file = tmp_path / "b.json"
    assert developers_main([*QUICK, "--ranks", "16", "--all-threads", "--json", str(file)]) == 0
    rows = json.loads(file.read_text())["rows"]
    assert [row["threads"] for row in rows if row["name"] == "jitterfly, cpu"] == [1, 3]


def kinds_of(base):
    members = (getattr(jf, name) for name in dir(jf))
    members = (member for member in members if isinstance(member, type))
    return {member.kind for member in members if issubclass(member, base) and member is not base}


def test_every_kind_of_noise_is_measured():
    """And each delays someone, unless it is no noise."""
    kinds = {source.kind for noise in bench_sources.SOURCES.values() for source in noise}
    others = {"congestion"}  # is routed, and has a peer of its own: bench/congestion.py
    assert kinds.isdisjoint(others)
    assert kinds | others == kinds_of(jf.noise.Noise)
    drawn = {source.delay.kind for noise in bench_sources.SOURCES.values() for source in noise
             if isinstance(source, jf.StepNoise)}  # fmt: skip
    assert drawn == kinds_of(jf.distributions.Distribution) - {"constant"}
    quiet = bench_sources.programs(256, [])
    for name, noise in bench_sources.SOURCES.items():
        for program, case in bench_sources.programs(256, noise).items():
            delayed = jf.simulate(case, 100, backend="cpu").samples.max()
            assert (delayed > jf.simulate(quiet[program], 1).samples[0]) == (name != "none")


def measured(name, program, noise, seconds, threads=1):
    contestant = bench_beside.ComparedContestant(name, program, noise, 10, print, threads)
    contestant.realizations, contestant.cpu_seconds = 100, seconds
    contestant.seconds = [2 * s for s in seconds]
    return contestant


def put_beside(contestant, other, seconds):
    """As if `other` had taken so many seconds of CPU before each measurement."""
    contestant.beside, slower = other, other.seconds[0] / other.cpu_seconds[0]
    contestant.beside_times = [(slower * s, s) for s in seconds]
    return contestant


def test_cost_of_a_source():
    """Over the periodic one just before it; a GPU's are by the clock."""
    cpu, cuda = "jitterfly, cpu", "jitterfly, cuda"
    first = measured(cpu, "Hockney", "periodic", [1e-6, 1e-6, 1e-6])
    other = measured(cuda, "Hockney", "periodic", [1e-6, 1e-6, 1e-6], None)
    beside = [1e-6, 2e-6, 4e-6]
    contest = [
        first,
        put_beside(measured(cpu, "Hockney", "trace", [2e-6, 8.2e-6, 17e-6]), first, beside),
        put_beside(measured(cpu, "Hockney", "renewal", [1e-6, 8e-6, 4e-6]), first, beside),
        other,
        put_beside(measured(cuda, "Hockney", "trace", [9e-6, 9e-6, 9e-6], None), other, [1e-6] * 3),
    ]
    rows = bench_sources.compared(contest)
    assert [row["times_periodic"]["median"] for row in rows] == pytest.approx([1, 4.1, 1, 1, 9])
    assert rows[1]["nanoseconds_per_rank_round"]["median"] == pytest.approx(8.2)
    assert rows[4]["nanoseconds_per_rank_round"]["median"] == pytest.approx(18)  # by the clock


def collective(shape, ranks, seconds, threads=1, cycles=1):
    algorithm = bench_collectives.SHAPES[shape]
    case = jf.Case(ranks, network=HOCKNEY, algorithm=algorithm, cycles=cycles)
    name = "jitterfly, cpu" if threads else "jitterfly, cuda"
    contestant = bench_beside.ComparedContestant(name, shape, "periodic", 1, print, threads, case)
    contestant.realizations, contestant.cpu_seconds = 1, seconds
    contestant.seconds = [5 * s for s in seconds]
    return contestant


def test_cost_of_collectives():
    """Per message and repeat, over the butterfly of the larger size just before it."""
    reduce, broadcast = "binomial reduce", "binomial broadcast"
    both = "reduce + broadcast allreduce"
    butterfly = collective("butterfly", 16, [64e-9, 128e-9, 64e-9])
    contest = [
        butterfly,
        collective(both, 16, [60e-9, 120e-9, 120e-9]),
        collective(reduce, 16, [45e-9, 90e-9, 90e-9]),
        collective(broadcast, 16, [45e-9, 90e-9, 90e-9]),
        collective("butterfly", 12, [32e-9] * 3),
        collective("dissemination barrier", 12, [48e-9, 96e-9, 96e-9]),
        collective("butterfly", 16, [64e-9] * 3, None),
    ]
    for contestant in contest[1:6]:
        put_beside(contestant, butterfly, butterfly.cpu_seconds)
    rows = bench_collectives.compared(contest)
    assert [row["messages"] for row in rows] == [64, 30, 15, 15, 32, 48, 64]
    times = [row["times_butterfly"] for row in rows]
    assert [t["median"] for t in times] == pytest.approx([1, 2, 3, 3, 1, 1, 1])
    assert times[1]["max"] == pytest.approx(4)
    assert rows[6]["nanoseconds_per_message"]["median"] == pytest.approx(5)  # by the clock


def test_cost_of_collectives_in_a_row():
    """Beside as many butterflies, with a line of their own; what was stored before is of one."""
    found = bench_collectives.contestants(16, "jitterfly, cpu", "cpu", 1)
    beside = {(c.case.cycles, c.beside and (c.beside.program, c.beside.case)) for c in found}
    butterflies = [c for c in found if c.program == "butterfly" and c.case.ranks == 16]
    assert beside == {(c.case.cycles, (c.program, c.case)) for c in butterflies} | {
        (c.case.cycles, None) for c in butterflies
    }
    assert [c.case.cycles for c in butterflies] == [1, 10]
    butterfly = collective("butterfly", 16, [640e-9] * 3, cycles=10)
    reduce = collective("binomial reduce", 16, [450e-9] * 3, cycles=10)
    put_beside(reduce, butterfly, butterfly.cpu_seconds)
    rows = bench_collectives.compared([butterfly, reduce])
    assert [(row["cycles"], row["messages"]) for row in rows] == [(10, 640), (10, 150)]
    assert rows[1]["times_butterfly"]["median"] == pytest.approx(3)
    lines = bench_collectives.table(rows)
    assert [line.split("  ")[0] for line in lines[1:]] == ["butterfly", "binomial reduce"]
    assert all(" 16  10 cycles " in line for line in lines[1:])
    before = [{key: value for key, value in row.items() if key != "cycles"} for row in rows]
    assert all(" 16    1 cycle " in line for line in bench_collectives.table(before)[1:])


def patterns(algorithm):
    """What the engine does for its messages: partner maps, halves of steps, few ranks in a step."""
    steps = [step for step in algorithm.steps(100, 800) if step.partners is not None]
    found = {type(step.partners) for step in steps}
    if not all(step.sends and step.receives for step in steps):
        found.add("halves")
    if any(step.partners.count(100) < 10 for step in steps):
        found.add("few")
    return found


def test_every_algorithm_has_its_shape_measured():
    """Or others have, which together take the same partner maps."""
    measured = set().union(*map(patterns, bench_collectives.SHAPES.values()))
    kinds = kinds_of(jf.algorithms.Algorithm)
    assert {algorithm.kind for algorithm in bench_collectives.SHAPES.values()} <= kinds
    for kind in kinds - {"butterfly"}:
        assert patterns(jf.Algorithm.from_dict(plain_table(kind))) <= measured, kind


def row(program, ranks, time, name="jitterfly, cpu", threads=1, **more):
    """A made-up measurement: so many seconds per rank-round."""
    rounds = ranks * (ranks.bit_length() - 1)
    rates = {"median": 1 / time}
    return {"name": name, "program": program, "noise": "periodic", "ranks": ranks,
            "threads": threads, "rank_rounds_per_realization": rounds, "realizations": 2,
            "seconds": [3 * 2 * rounds * time] * 3 if threads else [2 * rounds * time] * 3,
            "cpu_seconds": [2 * rounds * time] * 3, "rank_rounds_per_second": rates,
            "share": None} | more  # fmt: skip


def test_goals_are_judged_by_what_was_measured():
    rows = [
        row("butterfly", 2**12, 4e-10), row("butterfly", 2**23, 9e-10),
        row("MS12, all T", 2**12, 5e-10), row("CS14, full set", 2**12, 7e-10),
        row("butterfly", 2**13, 1e-12, "jitterfly, cuda", None, share=0.5),
    ]  # fmt: skip
    sizes = [
        {"ranks": 2**20, "bytes_per_rank": 17.0, "case": "the largest"},
        {"ranks": 2**20, "bytes_per_rank": 9.0, "case": "another"},
        {"ranks": 2**10, "bytes_per_rank": 90.0, "case": "a small one"},
    ]
    network = {"times_as_fast": 49.9, "large_cpu_seconds": 200}
    judged = bench_goals.goals(rows, sizes, network)
    found = [(goal["found"], goal["met"]) for goal in judged]
    expected = [(2.5e9, True), (1 / 9e-10, True), (1.25, True), (None, None), (1.75, False),
                (None, None), (2.25, False), (17, False),
                (1e12, True), (None, None), (0.5, True), (49.9, False), (100, True)]  # fmt: skip
    for (value, met), (wanted, right) in zip(found, expected, strict=True):
        assert value == (wanted if wanted is None else pytest.approx(wanted))
        assert met is right
    text = "\n".join(bench_goals.lines(judged))
    assert text.count("NOT met") == 4
    assert text.count("not measured") == 3
    assert "the largest" in text
    assert all(goal["met"] is None for goal in bench_goals.goals([], []))


def test_progress_on_a_terminal(monkeypatch, capsys):
    words = [*QUICK, "--ranks", "4"]
    assert developers_main(words) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert developers_main(words) == 0
    lines = capsys.readouterr().err.splitlines()
    assert any("warming up" in line for line in lines)
    assert sum("repeat 2 of 2" in line for line in lines) == 1


def test_beyond_memory(monkeypatch):
    monkeypatch.setattr(benchmark, "available_memory", lambda: 2**20)
    with pytest.raises(ValueError, match=r"for the other programs \(with --no-peers"):
        developers_main(["--ranks", "2^14"])
    monkeypatch.setattr("bench.measure.available_memory", lambda: 2**30)
    with pytest.raises(ValueError, match=r"memory for butterfly, .* at 1073741824 ranks"):
        developers_main(["--ranks", "2^30", "--no-peers"])


def test_calibration_goes_by_the_time_of_the_thread():
    """A run that others interrupt is not long enough for that."""
    contestant = bench_measure.Contestant("x", "butterfly", "periodic", 1, print)
    contestant.time = lambda: (1.0, 1e-3 * contestant.realizations)
    contestant.calibrate(0.1)
    assert contestant.realizations >= 50


def taking(name, seconds, beside=None, log=None):
    """A contestant whose runs take these seconds, over and over."""
    found = bench_beside.ComparedContestant(name, "butterfly", name, 1, print)
    each = itertools.cycle(seconds)

    def time():
        if log is not None:
            log.append(name)
        return (took := next(each)), took

    found.time, found.beside = time, beside
    return found


def test_what_is_beside_is_timed_before_and_after():
    """Between two of those beside one contestant once for both; the mean counts."""
    log = []
    one, two = taking("one", [1.0, 3.0, 4.0], log=log), taking("two", [2.0], log=log)
    others = [taking(name, [6.0], b, log) for name, b in [("a", one), ("b", two), ("c", one)]]
    bench_beside.measure_beside([one, *others], 1, "", lambda line: None)
    assert log == ["one", "one", "a", "one", "c", "one", "two", "b", "two"]
    assert others[0].beside_times == [(3.5, 3.5)]
    assert others[2].beside_times == [(2.5, 2.5)]
    assert others[1].times_beside() == [3.0]
    assert [len(c.times()) for c in [one, *others]] == [1, 1, 1, 1]


def test_ratio_with_the_interval_of_its_median():
    assert bench_beside.ratios([2.0, 1.0, 3.0]) == {
        "min": 1.0, "median": 2.0, "max": 3.0, "low": None, "high": None
    }  # fmt: skip
    many = bench_beside.ratios([float(k) for k in range(1, 28)])  # ranks by tables of the sign test
    assert (many["low"], many["median"], many["high"]) == (7.0, 14.0, 21.0)


def test_calibration_does_not_believe_one_slow_run():
    contestant = bench_measure.Contestant("x", "butterfly", "periodic", 1, print)
    held_up = iter([5.0])  # the first run
    contestant.time = lambda: (1.0, next(held_up, 0.0) + 1e-3 * contestant.realizations)
    contestant.calibrate(0.1)
    assert contestant.realizations >= 50


@pytest.mark.parametrize(
    ("text", "ranks"),
    [
        ("4096", [4096]),
        ("2^2,16", [4, 16]),
        ("2^4..2^7", [16, 32, 64, 128]),
        ("2^4..2^24/10,4", [16, 2**14, 2**24, 4]),
    ],
)
def test_ranges_of_ranks(text, ranks):
    assert options.ranks_of(text) == ranks


def test_a_plan_survives_a_file():
    plan = Plan(ranks=(64, 16), programs=("cs14", "butterfly"), instructions={8192: 60.5})
    assert plan.ranks == (16, 64)
    assert plan.programs == ("butterfly", "cs14")
    again = json.loads(json.dumps(bench_measure.plan_to_json(plan)))
    assert Plan(**bench_measure.plan_from_json(again)) == plan


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--ranks", "12"], "ranks must be a power of two"),
        (["--ranks", "2^31"], r"ranks must be .* from 4 to 2\^30 .* got '2\^31'"),
        (["--ranks", "9" * 5000], "ranks must be a power of two from 4 to 2"),
        (["--ranks", "2"], "ranks must be a power of two from 4 to 2"),
        (["--ranks", "many"], "ranks must be a power of two"),
        (["--ranks", ""], "ranks must be a power of two"),
        (["--ranks", "2^9..2^4"], "ranks: a range must ascend"),
        (["--ranks", "2^4..2^9/0"], "ranks: a range must have a step from 1"),
        (["--programs", "butterfly,fft"], "programs must be some of butterfly, ms12"),
        (["--programs", "fft"], "cs14x10, got 'fft'"),
        (["--noise", ""], "noises must be some of none, periodic"),
        (["--repeats", "0"], "repeats must be an integer from 1"),
        (["--seconds", "0"], "seconds must be a number above 0"),
        (["--seconds", "nan"], "seconds must be a number above 0"),
        (["--longest", "601"], "longest must be a number above 0"),
        (["--instructions", "-1"], "instructions must be a number above 0"),
        (["--instructions", "2^12=x"], "instructions must be N or RANKS=N"),
        (["--instructions", "7=60"], "ranks must be a power of two"),
        (["--json", "no/such/folder/b.json"], "json must name a file"),
        (["--picture", "no/such/folder/b.png"], "picture must name a file"),
        (["--picture", "bench.xyz"], "picture must end in .png, .pdf or .svg"),
        (["--ranks", "2", "--ranks", "4"], "--ranks is given twice: give it once"),
        (["--csv", "no/such/folder/b.csv"], "csv must name a file"),
        (["--fast"], "unrecognized arguments: --fast"),
        (["--repeats", "many"], "repeats"),
        (["--json", "."], "json must name a file"),
    ],
)
def test_bad_options(words, message):
    with pytest.raises(ValueError, match=message):
        developers_main(words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--loggopsim", "/no/such/binary"], "loggopsim must name LogGOPSim"),
        (["--margin", "0.1"], "margin needs --compare"),
    ],
)
def test_bad_options_of_developers(words, message):
    with pytest.raises(ValueError, match=message):
        developers_main(words)


# --- LogGOPSim: a program of the user's, here one that only looks like it


FAKE = """#!{python}
import re, sys
words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
if "-i" in words:
    open(words["-o"], "w").write(open(words["-i"]).read())
    sys.exit()
text = open(words["-f"]).read()
L, o = int(words["-L"]), int(words["-o"])
ranks = int(re.match(r"num_ranks (\\d+)", text)[1])
ready = [int(t) for t in re.findall(r"c0: calc (\\d+)", text)]
rounds = ranks.bit_length() - 1
for rank in range(ranks):
    part = text.split(f"rank {{rank}} {{{{")[1].split("}}")[0]
    partners = [int(p) for p in re.findall(r"send 1b to (\\d+) tag", part)]
    assert partners == [rank ^ (1 << r) for r in range(rounds)], partners
for r in range(rounds):
    sent = [t + o for t in ready]
    ready = [max(sent[i], sent[i ^ (1 << r)] + L) + o + 1 for i in range(ranks)]
print(f"Maximum finishing time at host 0: {{max(ready) + {late}}} (x s)")
"""


BESIDE = [*QUICK, "--no-sources", "--no-collectives", "--ranks", "16", "--loggopsim"]


def fake(folder, late=0):
    for name in ("LogGOPSim", "txt2bin"):
        file = folder / name
        file.write_text(FAKE.format(python=sys.executable, late=late))
        file.chmod(0o755)
    return str(folder / "LogGOPSim")


def test_loggopsim_runs_the_same_schedule(tmp_path, capsys):
    file = tmp_path / "b.json"
    assert developers_main([*BESIDE, fake(tmp_path), "--json", str(file)]) == 0
    found = json.loads(file.read_text())["loggopsim"]
    assert [check["must_be_equal"] for check in found["checks"]] == [True, True, False]
    assert all(check["ours_ns"] == check["theirs_ns"] > 0 for check in found["checks"])
    assert found["times_as_fast"]["min"] > 0
    assert "LogGOPSim, 16 ranks" in capsys.readouterr().out


def test_loggopsim_that_disagrees_is_found(tmp_path, capsys):
    assert developers_main([*BESIDE, fake(tmp_path, late=1)]) == 1
    assert "where they must agree (16 ranks, o = 100 ns" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#!/bin/sh\necho no trace >&2; exit 3\n", r"failed \(3\): no trace"),
        ("#!/bin/sh\necho hello\n", "no finishing time in the output"),
        ("no program\n", "can not be run|failed"),
    ],
)
def test_loggopsim_that_fails(tmp_path, text, message):
    program = fake(tmp_path)
    (tmp_path / "LogGOPSim").write_text(text)
    with pytest.raises(ValueError, match=message):
        developers_main([*BESIDE, program])
    (tmp_path / "txt2bin").unlink()
    with pytest.raises(ValueError, match="with txt2bin beside it"):
        developers_main([*BESIDE, program])


@pytest.mark.skipif("LOGGOPSIM" not in os.environ, reason="LOGGOPSIM names no binary")
@pytest.mark.parametrize("ranks", [4, 64, 1024])
def test_loggopsim_itself(ranks):
    found = loggopsim.compare(os.environ["LOGGOPSIM"], ranks, 1, 0.001, lambda line: None)
    assert [check["must_be_equal"] for check in found["checks"]] == [True, True, False]


def test_the_cost_of_a_sweep(capsys):
    few = ["--realizations", "300", "--repeats", "1", "--pairs", "2"]
    assert sweep_main([*few, "--small"]) == 0
    small = r"4, 16, 64 ranks, .* engine alone: [0-9.]+, median of 2 pairs from [0-9.]+ to [0-9.]+ "
    assert re.search(small, capsys.readouterr().out.rstrip("\n"))
    assert sweep_main(few) == 0
    first, *lines = capsys.readouterr().out.splitlines()
    assert re.search(small, first)
    assert [line.split()[0] for line in lines[1:3]] == ["256", "8,192"]
    # One after the other and side by side: no less than the engine alone.
    assert all(float(n) > 1 for line in lines[-3:] for n in line.split()[-2:])
