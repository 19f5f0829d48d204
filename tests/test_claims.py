"""Claims: every part gets a verdict, an interval decides it, the words are the same for all."""

import numpy as np
import pytest
from small_study import OBSERVABLES

from jitterfly.claims import CLAIMS, VERDICTS, Finding, cells, verdict
from jitterfly.claims.claim import above, below, between, every
from jitterfly.claims.hsl09 import HSL09
from jitterfly.claims.verdicts import check_claims, judge, report
from jitterfly.results import Results
from jitterfly.stats import Estimate
from jitterfly.store import Store
from jitterfly.studies import parse_study
from jitterfly.sweep import run

CASE = """
name = "some"
realizations = { max = 200 }
[case]
algorithm = { kind = "butterfly", exchanges_after = "all" }
network = { kind = "hockney", ALPHAbeta = 1e-9, gamma = 1e-10 }
noise = [{ kind = "periodic", period = "1ms"DURATION }]
"""

ALPHA = "alpha = 1e-6, "
ALONG = CASE.replace("ALPHA", ALPHA).replace("DURATION", ', duration = "30us"')
MESSAGE = (
    ALONG
    + """
[axes.message]
derived = "T_comm / D"
by = "message_bytes"
values = [0.04, 0.3, 2]
[axes.ranks]
log2 = [2, 9]
"""
    + OBSERVABLES
)
DURATION = (
    CASE.replace("ALPHA", ALPHA).replace("DURATION", "")
    + """
[axes.duration]
derived = "D / P"
by = "noise.0.duration"
values = [1e-4, 0.1]
[axes.ranks]
log2 = [6, 9]
"""
    + OBSERVABLES
)
LATENCY = (
    CASE.replace("ALPHA", "").replace("DURATION", "")
    + """
[axes.duration]
derived = "D / P"
by = "noise.0.duration"
values = [1e-4, 0.1]
[axes.alpha]
path = "network.alpha"
values = [1e-6, 1e-7]
[axes.ranks]
log2 = [6, 9]
"""
    + OBSERVABLES
)
RANKS = ALONG + '[axes.reading.points.one]\n[axes.reading.points.two]\n"noise.0.duration" = "9us"\n'
RANKS += "[axes.ranks]\nlog2 = [6, 8]\n" + OBSERVABLES

CS14 = """
name = "cs14"
realizations = { max = 100 }
[case]
cycles = 5
network = { kind = "loggops", L = "1us", o = "10ns" }
algorithm = { kind = "butterfly" }
noise = [{ kind = "periodic", period = "100us", duration = "30us" }]
[axes.ranks]
log2 = [1, 6]
[variants.noiseless]
"noise.0.during" = "compute"
[variants.conventional]
[variants.redundant]
"algorithm.copy_levels" = "all"
[observables]
overhead = { kind = "overhead", variant = "conventional", over = "noiseless", cycle = "each" }
[observables.overhead_redundant]
kind = "overhead"
variant = "redundant"
over = "noiseless"
cycle = "each"
[observables.recovery]
kind = "recovery"
cycle = "each"
"""


def make(text, claims, path):
    names = ", ".join(f'"{claim}"' for claim in claims.split())
    study = parse_study(text.replace("[case]", f"claims = [{names}]\n[case]", 1))
    check_claims(study)
    run(study, path)
    return Results(Store.open(path))


def estimate(value, half=0.0):
    return Estimate(value, value - half, value + half, 0.95, 100)


def test_an_interval_decides():
    assert [above(estimate(2, h), 1) for h in (0.5, 1, 2)] == [True, None, None]
    assert above(estimate(1), 1) is False
    assert [below(estimate(1, h), 2) for h in (0.5, 1.5)] == [True, None]
    assert below(estimate(2), 2) is False
    found = [between(estimate(v, 1), 5, 20) for v in (10, 5, 3, 22, 20)]
    assert found == [True, None, False, False, None]
    assert every([True, True]) is True
    assert every([True, None]) is every([]) is None
    assert every([None, False]) is False


def test_words():
    assert VERDICTS == ("reproduced", "differs", "cannot tell")
    for holds, word in zip((True, False, None), VERDICTS, strict=True):
        assert Finding("", holds, "").verdict == word
        assert verdict([Finding("", True, ""), Finding("", holds, "")]) == word
    assert verdict([]) == "cannot tell"


def test_order_is_judged_by_pairs_that_are_told_apart():
    low, mid, high = estimate(1, 0.1), estimate(2, 0.1), estimate(3, 0.1)
    wide = estimate(2, 5)
    both = [(low, high, low, high), (mid, high, high, mid), (low, wide, low, high)]
    assert cells.concordance(both) == (1, 1, 1)
    told = cells.ordered("", "part", [(low, high, low, mid)] * 3 + both, "alike")
    assert told.holds is True  # 4 of 5
    assert cells.ordered("", "part", both, "alike").holds is False  # 1 of 2
    assert cells.ordered("", "part", [both[2]], "alike").holds is None


@pytest.mark.parametrize(
    ("text", "claims", "count"),
    [
        (MESSAGE, "M1 M2 M3", [2, 2, 6]),
        (DURATION, "M5", [3]),
        (LATENCY, "M7", [2]),
        (RANKS, "M4 M6", [6, 6]),
        (CS14, "C1 C2 C3", [2, 4, 1]),
    ],
)
def test_every_part_of_a_claim_is_judged(tmp_path, text, claims, count):
    results = make(text, claims, tmp_path / "out")
    judged = judge(results)
    assert [one.name for one in judged] == claims.split()
    assert [len(one.findings) for one in judged] == count
    for one in judged:
        assert one.verdict == verdict(one.findings)
        for found in one.findings:
            assert found.verdict in VERDICTS
            assert found.text[0] in '"r'  # the words of the claim come first
    told = " ".join(report(results).split())
    assert all(f"{one.name} ({one.claim.source})" in told for one in judged)


def test_findings(tmp_path):
    results = make(MESSAGE, "M1 M2 M3", tmp_path / "a")
    texts = {f.text.split('"')[1]: f for one in judge(results) for f in one.findings}
    assert texts["small while T_comm > D"].holds is True
    assert texts["large below"].holds is True
    assert "at 2^9 ranks, T_comm / D = 0.04" in texts["large below"].text
    assert texts["slowdown up to about 100"].holds is False  # D / T_comm is 25 at most
    assert texts["at the short-message, many-rank corner"].holds is None  # no cell there
    results = make(DURATION, "M5", tmp_path / "b")
    found = [found.holds for found in judge(results)[0].findings]
    assert found == [True, True, True]
    results = make(LATENCY, "M7", tmp_path / "c")
    small, large = judge(results)[0].findings
    assert (small.where, small.holds) == ("D / P = 0.0001", False)  # nothing to grow from
    assert (large.where, "at 2^9 ranks" in large.text) == ("D / P = 0.1", True)


def test_intervals_of_a_region_hold_together(tmp_path):
    (block,) = cells.blocks(make(MESSAGE, "M1", tmp_path / "out"))
    alone = block.judged("slowdown", lambda ranks, ratio: ranks == 512 and ratio == 2)
    many = [cell for cell in block.judged("slowdown") if (cell.ranks, cell.ratio) == (512, 2)]
    assert alone[0].found.low > many[0].found.low
    assert alone[0].found.value == many[0].found.value


def test_a_line_through_the_cycles(tmp_path):
    """The residuals of the line and the first cycle, from whole-number weights, as from samples."""
    results = make(CS14, "C2", tmp_path / "out")
    cell = results.panels()[0].cells[-1]
    means = [float(cell.facts[f"overhead, cycle {c}"].mean.value) for c in range(1, 6)]
    slope, middle = np.polyfit(range(2, 6), means[1:], 1)
    away = np.abs(means[1:] - (slope * np.arange(2, 6) + middle)).max() / means[-1]
    linear, first = judge(results)[0].findings[:2]
    assert f"misses at most {100 * away:.1f} %" in linear.text.replace("-", "")
    share = means[0] / ((means[-1] - means[0]) / 4)
    assert f"{share:.2f} [" in first.text


def test_an_unfinished_run_decides_nothing(tmp_path):
    results = make(RANKS, "M4 M6", tmp_path / "out")
    assert any(one.verdict != "cannot tell" for one in judge(results))
    next((tmp_path / "out" / "records").iterdir()).unlink()
    results = Results(Store.open(tmp_path / "out"))
    assert {one.verdict for one in judge(results)} == {"cannot tell"}
    assert "not finished" in report(results)


def test_no_data(tmp_path):
    for number, (text, claims) in enumerate(
        [(MESSAGE, "M1 M2 M3"), (DURATION, "M5"), (LATENCY, "M7"), (RANKS, "M4 M6"),
         (CS14, "C1 C2 C3")]
    ):  # fmt: skip
        make(text, claims, tmp_path / str(number))
        for file in (tmp_path / str(number) / "records").iterdir():
            file.unlink()
        judged = judge(Results(Store.open(tmp_path / str(number))))
        assert {one.verdict for one in judged} == {"cannot tell"}


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ("M9", "claims: each must be one of"),
        ("M1", "claims: M1 needs an axis 'T_comm / D'"),
        ("M7", "claims: M7 needs an axis 'alpha'"),
        ("N1", "claims: N1 needs placements in a network, not a study"),
        ("C1", "claims: C1 needs 2 observables of kind 'overhead'"),
    ],
)
def test_claims_that_a_study_can_not_speak_to(tmp_path, claims, message):
    with pytest.raises(ValueError, match=f"^study: {message}"):
        make(RANKS, claims, tmp_path / "out")


def test_linear_needs_every_cycle(tmp_path):
    with pytest.raises(ValueError, match='C2 needs overheads with cycle = "each"'):
        make(CS14.replace(', cycle = "each"', ""), "C2", tmp_path / "out")
    with pytest.raises(ValueError, match="C2 needs cases of at least 4 cycles"):
        make(CS14.replace("cycles = 5", "cycles = 3"), "C2", tmp_path / "out")


def test_sources_are_named():
    counts = {"C": 3, "H": 3, "M": 7, "N": 5}
    assert sorted(CLAIMS) == [f"{x}{i}" for x, count in counts.items() for i in range(1, count + 1)]
    for name, claim in CLAIMS.items():
        assert claim.source.startswith(("MS12", "CS14", "HM18", "HSL09"))
        assert not claim.text.endswith(".")
        assert claim.of_study == (name[0] != "N")
    assert {name: CLAIMS[name] for name in HSL09} == HSL09
