"""Collectives with counts, against textbook messages, the reference, and the regular ones."""

import json
import random
import re
from collections import Counter

import numpy as np
import pytest
from reference import textbook
from reference.collective import labels_of
from reference.collectives import IRREGULAR, random_counts, random_pair
from support.commands import error_of, run
from support.grouped import parametrize_in_groups
from support.scale import at_most

import jitterfly as jf
from jitterfly.advice.question import Question
from jitterfly.goal_export import goal_schedule
from jitterfly.program import row_labels
from jitterfly.slowdown import part_in_words
from jitterfly.steps import MESSAGE

KINDS = sorted(IRREGULAR)
NETWORK = jf.LogGOPS(L="1us", o="200ns", g="300ns", G="0.1ns", O="0.01ns", gamma="0.05ns")


def sent_by_textbook(kind, ranks, n, options):
    """(number of draws, sender, receiver, bytes, whether it is combined) of every message."""
    sends, receives = Counter(), Counter()
    for rank in range(ranks):
        for _, ops in getattr(textbook, kind)(rank, ranks, n, **options):
            for op in ops:
                if isinstance(op, textbook.Send):
                    sends[op.number, rank, op.peer, op.bytes] += 1
                else:
                    receives[op.number, op.peer, rank, op.bytes, op.combines] += 1
    return sends, receives


@pytest.mark.parametrize("kind", KINDS)
def test_steps_are_the_textbook_s(kind):
    """Who sends how many bytes to whom, and what is combined, for many numbers of ranks."""
    rng = random.Random(f"steps {kind}")
    for ranks in [*range(1, 18), 33]:
        options = random_counts(rng, kind, ranks)
        sends, receives = Counter(), Counter()
        for step in jf.Algorithm.from_dict({"kind": kind} | options).steps(ranks, 8):
            if step.kind != MESSAGE:
                continue
            pairs, sizes = step.partners.pairs(ranks), step.sizes(ranks).tolist()
            for (a, b), size in zip(pairs, sizes, strict=True):
                sends[step.round, a, b, size] += step.sends
                receives[step.round, a, b, size, step.combine] += step.receives
            assert step.bytes == max(sizes)
        assert (+sends, +receives) == sent_by_textbook(kind, ranks, 8, options)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ranks", [1, 2, 8, 9])
def test_equal_counts_are_the_regular_algorithm(kind, ranks):
    """To the bit, under noise; but for a fold, which is of neighbours here."""
    regular = kind.removesuffix("v")
    if kind == "linear_allgatherv" or (kind.startswith("recursive_halving") and ranks == 9):
        return
    counts = np.full((ranks, ranks) if "alltoall" in kind else ranks, 7)
    vector = 7 * 8 * (ranks if "reduce" in kind else 1)
    noise = [jf.PeriodicNoise(period="30us", duration="2us"), jf.NetworkJitter("1us", "100ns")]
    ticks = [
        jf.simulate(
            jf.Case(ranks, algorithm=jf.Algorithm.from_dict(table), network=NETWORK, noise=noise,
                    message_bytes=size, observe="spread"), 20, seed=3).ticks
        for table, size in (({"kind": kind, "counts": counts}, 8), ({"kind": regular}, vector))
    ]  # fmt: skip
    np.testing.assert_array_equal(*ticks)


def test_a_gather_in_front_of_a_broadcast():
    """The parts of `linear_allgatherv` take as long as both together, one after the other."""
    counts = [0, 3, 0, 5, 8]
    parts = [
        jf.Case(5, algorithm=algorithm, network=NETWORK, message_bytes=size)
        for algorithm, size in (
            (jf.LinearGatherv(counts), 8),
            (jf.BinomialBroadcast(), 16 * 8),
            (jf.LinearAllgatherv(counts), 8),
        )
    ]
    gather, broadcast, both = (case.noise_free_ticks()[0] for case in parts)
    assert both == gather + broadcast


@pytest.mark.parametrize(
    ("network", "sent"),
    [(jf.Hockney("1us", "1ns", gamma="1ns"), 1_000_000), (NETWORK, 1_400_020)],
)
def test_an_empty_message_has_an_envelope(network, sent):
    """Of a byte on LogGOPS, which knows no shorter one; nothing is combined. Or it is not sent."""
    made = {
        kind: jf.Case(
            2, algorithm=jf.Algorithm.from_dict({"kind": kind, "counts": [0, 0]}), network=network
        ).noise_free_ticks()[0]
        for kind in KINDS
        if "alltoall" not in kind
    }
    skipping = "linear_allgatherv", "linear_gatherv", "linear_scatterv"
    assert made == {kind: 0 if kind in skipping or "halving" in kind else sent for kind in made}


CASES = [
    (kind, levels, number)
    for kind in KINDS
    for levels in (False, True)
    for number in range(at_most(10, 1))
]


@pytest.mark.filterwarnings("ignore:.*counts nowhere, so the collective takes no time")
@parametrize_in_groups("kind, levels, number", CASES)
def test_engine_equals_reference(kind, levels, number):
    """Tick for tick, with any noise, on one level and several; data arrive complete and once."""
    rng = random.Random(f"{kind} {levels} {number}")
    case, reference, (seed, realization) = random_pair(rng, jf, kind, levels=levels)
    expected = np.array(reference.execute(), dtype=np.int64)
    times = jf.ready_times(case, seed=seed, realization=realization)
    np.testing.assert_array_equal(np.rint(times * 1e12).astype(np.int64), expected)
    assert row_labels(case) == labels_of(reference)


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ([1, 2, 3], "counts must have a number for each of the 4 ranks, got 3"),
        ([[1, 2], [3, 4]], "counts must have a number for each of the 4 ranks, got 2 x 2"),
        ([1, -2, 3, 4], "counts must be whole numbers from 0 to 2^62, got -2 for rank 1"),
        ([[1, 2], [-3, 4]], "got -3 for rank 1 to rank 0"),
        ([1.5, 2, 3, 4], "counts must be whole numbers from 0, one for each rank"),
        ([[1, 2], [3]], "counts must be whole numbers from 0, one for each rank"),
        ([], "counts must be whole numbers from 0, one for each rank"),
        ([2**60, 2**60, 1, 1], "counts, times the 8 bytes of an element (message_bytes), must be"),
        ("nowhere.csv", "counts: file: nowhere.csv can not be read"),
        ("lognormal(mean=64)", "counts: key 'sigma' is missing"),
        ("lognormal(mean=0,sigma=1)", "mean must be a number above 0, up to"),
        ("lognormal(mean=64,sigma=5)", "sigma must be a number from 0 to 4, got 5"),
        ("lognormal(mean=64,sigma=1,per=rank)", "per must be"),
        ("lognormal(mean=64,sigma=1,per=sender)", "counts: per must be left out where there is"),
        ("zipf(s=1)", "counts: kind must be"),
    ],
)
def test_bad_counts_are_refused(counts, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        jf.Case(4, algorithm=jf.RingAllgatherv(counts), network=NETWORK)


def test_the_work_that_noise_meets_is_the_mean_of_all_sizes():
    """Not that of the longest message of a step: here 8, 80 and 800 bytes, three steps of four."""
    network = jf.LogGOPS(L="1us", o="1us", O="1ns", gamma="1ns")
    counts = [1, 10, 100, 1]
    case = jf.Case(4, algorithm=jf.RingReduceScatterv(counts), network=network, message_bytes=8)
    work = case.expected_work()
    mean = sum(counts) * 8 / 4
    assert work.combining == pytest.approx(3 * mean * 1000)
    assert work.work == pytest.approx(3 * (2 * (10**6 + mean * 1000) + mean * 1000))


def test_counts_of_pairs_need_a_matrix():
    with pytest.raises(ValueError, match="a row for each, with a number for each, of the 3 ranks"):
        jf.Case(3, algorithm=jf.PairwiseAlltoallv([1, 2, 3]), network=NETWORK)
    algorithm = jf.PairwiseAlltoallv("lognormal(mean=4,sigma=1)")
    with pytest.raises(ValueError, match="ranks must be from 1 to 8192 for PairwiseAlltoallv"):
        jf.Case(8193, algorithm=algorithm, network=NETWORK)


def test_too_many_different_sizes_are_refused(monkeypatch):
    """Also of an algorithm of one's own, which has no counts: the message names none."""
    monkeypatch.setattr("jitterfly.compiled_steps._MAX_SIZES", 5)
    fits = jf.Case(6, algorithm=jf.RingAllgatherv([1, 2, 3, 4, 5, 5]), network=NETWORK)
    assert len(fits.compiled_steps.table.entries) == 5
    words = r"messages have 6 different sizes \(on each level of the network\), at most 5 fit"
    with pytest.raises(ValueError, match=words):
        jf.Case(6, algorithm=jf.RingAllgatherv([1, 2, 3, 4, 5, 6]), network=NETWORK)


def test_sizes_with_congestion_are_refused():
    traffic = jf.Congestion(jf.congestion.FatTree((4,), (1,)), ratio=0.5)
    with pytest.raises(ValueError, match="messages of a step of ring_allgatherv differ in size"):
        jf.Case(2, algorithm=jf.RingAllgatherv([1, 2]), network=NETWORK, noise=[traffic])


def test_counts_from_a_file_are_those_given(tmp_path):
    (tmp_path / "row.csv").write_text("# one for each rank\n3, 0,7\n")
    (tmp_path / "column.txt").write_text("3\n0  # none\n7\n")
    (tmp_path / "matrix.csv").write_text("0,1,2\n3,0,4\n5,6,0\n")
    for name in ("row.csv", "column.txt"):
        counts = jf.imbalance.read_counts(tmp_path / name)
        assert counts.of_ranks(3).tolist() == [3, 0, 7]
    assert jf.imbalance.read_counts(str(tmp_path / "matrix.csv")).of_pairs(3).tolist() == [
        [0, 1, 2], [3, 0, 4], [5, 6, 0]
    ]  # fmt: skip
    for text, words in (("1 2\n3\n", "line 2"), ("1,x\n", "whole numbers"), ("", "no numbers")):
        (tmp_path / "bad.csv").write_text(text)
        with pytest.raises(ValueError, match=rf"counts: file: .*bad\.csv.*{words}"):
            jf.RingAllgatherv(tmp_path / "bad.csv")


def test_a_run_is_identified_by_its_counts(tmp_path):
    """Drawn ones by their distribution and seed, those of a file by its content, not its name."""
    file, other = tmp_path / "counts.csv", tmp_path / "moved.csv"
    file.write_text("1,2\n")
    other.write_text("1,2\n")

    def identity(counts):
        algorithm = jf.RingAllgatherv(counts)
        return jf.Case(2, algorithm=algorithm, network=NETWORK).identity()["algorithm"]

    drawn = "lognormal(mean=64,sigma=1,seed={})".format
    assert identity(drawn(0)) != identity(drawn(1))
    assert identity(drawn(0))["counts"]["seed"] == 0
    assert identity(file) == identity(other)
    other.write_text("1,3\n")
    assert identity(file) != identity(other)
    assert identity([1, 2]) == {"kind": "ring_allgatherv",
                                "counts": {"kind": "given", "counts": [1, 2]}}  # fmt: skip
    case = jf.Case(2, algorithm=jf.RingAllgatherv(file), network=NETWORK)
    assert jf.Case.from_dict(case.to_dict()) == case


def test_drawn_counts_have_the_mean_that_is_asked():
    counts = jf.imbalance.LognormalCounts(100, 0.5, seed=2).of_pairs(300)
    assert abs(counts.mean() / 100 - 1) < 0.01  # its standard deviation is 0.0018
    of_experts = jf.imbalance.LognormalCounts(100, 0.5, "receiver").of_pairs(5)
    assert (of_experts == of_experts[0]).all()
    assert (jf.imbalance.LognormalCounts(100, 0.5, "sender").of_pairs(5) == of_experts.T).all()


SLOWDOWN = ("slowdown", "--ranks=4", "--noise=period=1ms,duration=1us", "--realizations=20")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--algorithm=ring_allgatherv"], "has a count for each rank, or pair of ranks: give --co"),
        (["--algorithm=ring", "--counts=c.csv"], "--counts must be left out for algorithm ring; "),
        (["--counts=c.csv"], "--counts needs an --algorithm with counts, such as pairwise_allto"),
        (["--algorithm=ring_allgatherv", "--counts=c.csv"], "c.csv can not be read (No such file"),
        (["--algorithm=ring_allgatherv", "--counts=lognormal(64,1)"], "must name what it gives"),
        (["--algorithm=ring_allgatherv", "--counts=empty.csv"], "--counts: file: empty.csv holds"),
        (["--algorithm=ring_allgatherv", "--counts=lognormal(mean=0,sigma=1)"], "--counts: mean"),
        (["--collective=alltoallv"], "collective alltoallv has a count for each rank, or pair of "
         "ranks: give --counts, such as 'lognormal("),
        (["--algorithm=mpich", "--collective=gatherv"], "has a count for each rank, or pair of ra"),
        (["--collective=gatherv", "--counts=c.csv"], "--counts: file: c.csv can not be read"),
        (["--collective=reduce", "--counts=c.csv"], "or a --collective with counts, such as allt"),
        (["--algorithm=ring", "--collective=alltoallv", "--counts=c.csv"], "algorithm of alltoallv "
         "must be one of 'pairwise_alltoallv', 'linear_alltoallv', got 'ring'"),
    ],
)  # fmt: skip
def test_the_command_says_what_is_wrong_with_counts(options, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.csv").write_text("# nothing\n")
    told = error_of(capsys, *SLOWDOWN, *options)
    assert words in told
    # Of draws nothing is said but where there is no such file, or no counts at all.
    drawn = "c.csv can not be read" in told or "has a count for each" in told
    assert ("lognormal(mean=64,sigma=1)" in told) == drawn


def test_collectives_with_counts_have_no_candidates(capsys):
    told = error_of(capsys, "advise", "--ranks=4", "--noise=period=1ms,duration=1us",
                    "--collective=alltoallv")  # fmt: skip
    assert told.endswith(
        "'alltoallv': advise does not compare collectives with counts by name; give them as own "
        "candidates ([own.NAME]) of --collective alltoall, or ask `slowdown --collective alltoallv "
        "--counts ...`"
    )
    asked = {"noise": "period=1ms,duration=1us", "ranks": [4], "network": NETWORK}
    with pytest.raises(ValueError, match=r"own candidates \(`own`, such as jf.PairwiseAlltoallv\("):
        Question(**asked, collective="alltoallv")
    own = {"mine": jf.PairwiseAlltoallv([[1] * 4] * 4)}
    names = [one.name for one in Question(**asked, collective="alltoall", own=own).chosen()]
    assert "mine" in names


def test_python_is_told_of_the_class_with_counts():
    with pytest.raises(ValueError, match=r"give jf.LinearAlltoallv\(counts\), with counts such as"):
        jf.slowdown("period=1ms,duration=1us", [4], algorithm="linear_alltoallv")


def test_the_command_takes_counts_and_says_them(capsys):
    options = "--algorithm=linear_alltoallv", "--counts=lognormal(mean=64,sigma=1,seed=7)", "--json"
    assert run(*SLOWDOWN, *options) == 0
    algorithm = json.loads(capsys.readouterr().out)["algorithm"]
    assert algorithm["counts"] == {
        "kind": "lognormal", "mean": 64, "sigma": 1, "per": "message", "seed": 7
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "algorithm"),
    [
        (["--collective=alltoallv"], {"kind": "linear_alltoallv", "window": 32}),
        (["--collective=alltoallv", "--algorithm=openmpi"], {"kind": "linear_alltoallv",
                                                             "window": 1024}),
        (["--collective=allgatherv", "--algorithm=ring"], {"kind": "ring_allgatherv"}),
    ],
)  # fmt: skip
def test_the_command_runs_what_a_library_runs_with_counts(options, algorithm, capsys):
    counts = "--counts=lognormal(mean=640,sigma=1,seed=7)"
    assert run(*SLOWDOWN, *options, counts, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    (own,) = found.get("algorithms", [found["algorithm"]])
    drawn = own.pop("counts")
    assert (drawn["mean"], drawn["seed"]) == (640, 7)
    assert own == algorithm
    assert run(*SLOWDOWN, *options, counts) == 0
    told = capsys.readouterr().out
    assert "counts = (lognormal, mean = 640.0, sigma = 1.0, seed = 7)" in told


def test_the_seed_of_a_draw_is_said():
    """Also where nobody gave one: other ones are other counts."""
    told = part_in_words(jf.PairwiseAlltoallv("lognormal(mean=64,sigma=1)"))
    assert told.endswith("sigma = 1.0, seed = 0)")


def test_a_schedule_for_other_simulators_has_all_sizes():
    """A message without bytes is one of a byte there, as on LogGOPS here."""
    case = jf.Case(3, algorithm=jf.RingReduceScatterv([1, 0, 5]), message_bytes=8,
                   network=jf.LogGOPS(L="1us", o="1us", gamma="1ns"))  # fmt: skip
    text = goal_schedule(case).text
    sends, work = (sorted(map(int, re.findall(rf"{what} (\d+)", text)))
                   for what in ("send", "calc"))  # fmt: skip
    assert sends == [1, 1, 8, 8, 40, 40]
    assert [ns for ns in work if ns] == [8, 8, 40, 40]
    empty = jf.Case(2, algorithm=jf.RingAllgatherv([0, 1]), network=jf.Hockney("1us", "1ns"))
    with pytest.raises(ValueError, match="counts must be at least 1 for GOAL"):
        goal_schedule(empty)
