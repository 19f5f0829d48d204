"""The benchmark: its peers compute the engine's results, and its report has what it promises.

How fast anything is, is no test.
"""

import json

import numpy as np
import pytest

import jitterfly as jf
from jitterfly import bench
from jitterfly.bench import measure as bench_measure
from jitterfly.bench import peers as bench_peers
from jitterfly.bench import sources as bench_sources
from jitterfly.bench import summary as bench_report
from jitterfly.program import rank_rounds

HOCKNEY = jf.Hockney(alpha="1us", beta="1ns", gamma=1e-10)
LOGGOPS = jf.LogGOPS(L="1us", o="100ns", G="1ns", gamma="5ns")
NOISES = [
    jf.PeriodicNoise(period="1ms", duration="10us"),
    jf.PeriodicNoise(period="20us", duration="1us", start="stationary"),
    jf.PeriodicNoise(period="100ns", duration="90ns"),  # many intervals in one piece of work
    jf.PeriodicNoise(period="2us", duration="0s", start="stationary"),
]


@pytest.mark.parametrize("peer", [bench_peers.vectorized, bench_peers.event_driven])
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("network", [HOCKNEY, LOGGOPS])
@pytest.mark.parametrize("ranks", [1, 2, 8, 256])
def test_peers_equal_the_engine(peer, noise, network, ranks):
    case = jf.Case(ranks=ranks, network=network, noise=[noise])
    ticks = jf.simulate(case, realizations=20, seed=5, backend="cpu").ticks[:, 0]
    seconds = np.stack([jf.noise_phases(case, seed=5, realization=r) for r in range(20)])
    phases = np.rint(seconds * 1e12).astype(np.int64)
    np.testing.assert_array_equal(peer(bench_peers.PeerWork.from_case(case), phases), ticks)


def test_a_peer_that_is_wrong_is_found(monkeypatch, capsys):
    case = bench_measure.programs(16, bench_measure.NOISES["periodic"])["butterfly"]
    bench_measure.check_peers(case, 4)

    def event_driven(work, phases):
        return np.zeros(len(phases), dtype=np.int64)

    monkeypatch.setattr(bench_peers, "event_driven", event_driven)
    with pytest.raises(bench_measure.DisagreementError, match="event_driven program does not"):
        bench_measure.check_peers(case, 4)
    assert bench.main(["--ranks", "16", "--repeats", "1", "--seconds", "0.001"]) == 1
    found = capsys.readouterr()
    assert found.out == ""
    assert found.err.count("\n") == 1
    assert "event_driven program does not give the engine's results at 16 ranks" in found.err


def test_rank_rounds_count_exchanges_and_forwards():
    counts = {name: rank_rounds(case) for name, case in bench_measure.programs(16, []).items()}
    assert counts == {
        "butterfly": 16 * 4,
        "MS12, all T": 16 * 8,
        "CS14, full set": 16 * 4,
        "CS14, 10 cycles": 16 * 40,
    }
    every = jf.Case(16, network=HOCKNEY, algorithm=jf.Butterfly(after="all"), cycles=3)
    assert rank_rounds(every) == 16 * 8 * 3
    assert rank_rounds(jf.Case(1, network=HOCKNEY, cycles=3)) == 3


def test_report_and_json(tmp_path, capsys):
    file = tmp_path / "bench.json"
    words = ["--ranks", "2^4", "--repeats", "2", "--seconds", "0.001", "--json", str(file)]
    assert bench.main(words) == 0
    result = json.loads(file.read_text())
    assert result["format"] == 1
    assert result["ranks"] == 16
    assert result["machine"]["cores"] >= 1
    assert result["goal"]["met"] is None  # the goal is about 2^12 ranks
    assert len(result["ratios"]) >= 2
    assert result["gpu_limit"]["share"] is None
    assert "not measured" in result["gpu_limit"]["text"]
    costs = {(row["program"], row["noise"]): row for row in result["sources"]
             if row["name"] == "jitterfly, cpu"}  # fmt: skip
    kinds = set(bench_sources.programs(16, []))
    assert set(costs) == {(p, n) for p in kinds for n in bench_sources.SOURCES}
    for (_, noise), row in costs.items():
        times = row["times_periodic"]
        assert 0 < times["min"] <= times["median"] <= times["max"]
        assert noise != "periodic" or times["min"] == times["max"] == 1
    assert result["source_limit"]["met"] is None
    programs = set(bench_measure.programs(16, []))
    cpu = [row for row in result["rows"] if row["name"] == "jitterfly, cpu"]
    measured = {(row["program"], row["noise"]) for row in cpu}
    assert measured == {(p, n) for p in programs for n in bench_measure.NOISES}
    for row in result["rows"]:
        rates = row["rank_rounds_per_second"]
        assert 0 < rates["min"] <= rates["median"] <= rates["max"]
        assert len(row["seconds"]) == 2
    text = capsys.readouterr().out
    assert text == bench_report.report(result) + "\n"
    words = ("NumPy", "event-driven", "goal:", "equal the engine", "times as fast as", "limit: 4",
             *bench_sources.SOURCES)  # fmt: skip
    for word in words:
        assert word in text


def kinds_of(base):
    members = (member for member in vars(jf).values() if isinstance(member, type))
    return {member.kind for member in members if issubclass(member, base) and member is not base}


def test_every_kind_of_noise_is_measured():
    """And each delays someone, unless it is no noise."""
    kinds = {source.kind for noise in bench_sources.SOURCES.values() for source in noise}
    assert kinds == kinds_of(jf.noise.Noise)
    drawn = {source.delay.kind for noise in bench_sources.SOURCES.values() for source in noise
             if isinstance(source, jf.StepNoise)}  # fmt: skip
    assert drawn == kinds_of(jf.noise.Distribution) - {"fixed"}
    quiet = bench_sources.programs(256, [])
    for name, noise in bench_sources.SOURCES.items():
        for program, case in bench_sources.programs(256, noise).items():
            delayed = jf.simulate(case, 100, backend="cpu").samples.max()
            assert (delayed > jf.simulate(quiet[program], 1).samples[0]) == (name != "none")


def measured(name, program, noise, seconds, threads=1):
    contestant = bench_measure.Contestant(name, program, noise, 10, print, threads)
    contestant.realizations, contestant.cpu_seconds = 100, seconds
    contestant.seconds = [2 * s for s in seconds]
    return contestant


def test_limit_of_a_source():
    """Paired with the periodic one of the same repeat; a GPU's times do not count."""
    cpu, cuda = "jitterfly, cpu", "jitterfly, cuda"
    contest = [
        measured(cpu, "Hockney", "periodic", [1e-6, 2e-6, 4e-6]),
        measured(cpu, "Hockney", "trace", [2e-6, 8.2e-6, 17e-6]),
        measured(cpu, "Hockney", "renewal", [1e-6, 8e-6, 4e-6]),
        measured(cuda, "Hockney", "periodic", [1e-6, 1e-6, 1e-6], None),
        measured(cuda, "Hockney", "trace", [9e-6, 9e-6, 9e-6], None),
    ]
    rows = bench_sources.compared(contest)
    assert [row["times_periodic"]["median"] for row in rows] == pytest.approx([1, 4.1, 1, 1, 9])
    assert rows[1]["nanoseconds_per_rank_round"]["median"] == pytest.approx(8.2)
    assert rows[4]["nanoseconds_per_rank_round"]["median"] == pytest.approx(18)  # by the clock
    found = bench_sources.limit(rows, judged=True)
    assert found["met"] is False
    assert found["exceeded"] == ["trace (Hockney): 4.10"]
    assert found["text"].endswith("not met; above it:\n  trace (Hockney): 4.10")
    found = bench_sources.limit([rows[0], rows[2]], judged=True)
    assert found["met"] is True
    assert found["exceeded"] == []
    assert "the most is\n  renewal (Hockney): 1.00" in found["text"]
    assert bench_sources.limit(rows, judged=False)["met"] is None
    assert bench_sources.limit([], judged=True)["text"].endswith("CPU: not measured")


def test_progress_on_a_terminal(monkeypatch, capsys):
    words = ["--ranks", "4", "--repeats", "2", "--seconds", "0.001", "--no-peers", "--no-programs"]
    assert bench.main(words) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert bench.main(words) == 0
    what = "butterfly, periodic noise"
    assert capsys.readouterr().err.splitlines() == [
        f"{what}: {step}" for step in ("warming up", "repeat 1 of 2", "repeat 2 of 2")
    ]


def test_peers_beyond_memory(monkeypatch):
    monkeypatch.setattr(bench, "available_bytes", lambda: 2**20)
    with pytest.raises(ValueError, match=r"not enough memory for the other programs \(--no-peers"):
        bench.main(["--ranks", "2^14"])


def test_share_of_the_instruction_limit():
    contestant = bench_measure.Contestant("jitterfly, cuda", "butterfly", "periodic", 1, print)
    contestant.realizations, contestant.seconds = 10**9, [0.01]
    device = {"multiprocessors": 100, "clock_khz": 2_000_000}
    limit = bench_report.gpu_limit([contestant], [device], 64.0)
    assert limit["limit"] == pytest.approx(100 * 128 * 2e9 / 64)
    assert limit["share"] == pytest.approx(0.25)
    assert bench_report.gpu_limit([contestant], [device], None)["share"] is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--ranks", "12"], "ranks must be a power of two"),
        (["--ranks", "2^31"], r"ranks must be .* from 4 to 2\^30 .* got '2\^31'"),
        (["--ranks", "9" * 5000], "ranks must be a power of two from 4 to 2"),
        (["--ranks", "2"], "ranks must be a power of two from 4 to 2"),
        (["--ranks", "many"], "ranks must be a power of two"),
        (["--repeats", "0"], "repeats must be an integer from 1"),
        (["--seconds", "0"], "seconds must be a number above 0"),
        (["--seconds", "nan"], "seconds must be a number above 0"),
        (["--instructions", "-1"], "instructions must be a number above 0"),
        (["--json", "no/such/folder/b.json"], "json must name a file"),
        (["--fast"], "unrecognized arguments: --fast"),
        (["--repeats", "many"], "repeats"),
        (["--json", "."], "json must name a file"),
    ],
)
def test_bad_options(words, message):
    with pytest.raises(ValueError, match=message):
        bench.main(words)
