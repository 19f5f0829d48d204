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
    for word in ("NumPy", "event-driven", "goal:", "equal the engine", "times as fast as"):
        assert word in text


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
