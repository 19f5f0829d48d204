"""Claims of the papers: verdicts by intervals, wording, parts of each claim."""

import functools
import shutil
from pathlib import Path

import numpy as np
import pytest
from support.quick_pictures import quick_pictures
from support.scale import some
from support.small_study import OBSERVABLES

from jitterfly.cli import main
from jitterfly.results import Results
from jitterfly.simulate import simulate
from jitterfly.stats import Estimate
from jitterfly.store import Store
from jitterfly.studies import parse_study
from jitterfly.sweep import run
from jitterfly_papers.claims import (
    CLAIMS,
    OURS,
    VERDICTS,
    WHOSE,
    WORDS,
    Finding,
    cells,
    check_claims,
    count_verdicts,
    judge,
    ms12,
    report,
    show_counts,
)
from jitterfly_papers.claims.claim import OUR_LIMIT, SAMPLING, above, below, between, every
from jitterfly_papers.claims.hsl09 import HSL09

SWEEPS = Path(__file__).parents[2] / "sweeps"

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
log2 = [3, 9]
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
[axes.figure.points."Fig. 5"]
"network.alpha" = 1e-6
[axes.figure.points."Fig. 8"]
"network.alpha" = 1e-7
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


# Of each study all claims that it speaks to.
ALL = {
    "message": (MESSAGE, "M1 M2 M3 M8"),
    "duration": (DURATION, "M5 M8"),
    "latency": (LATENCY, "M7"),
    "ranks": (RANKS, "M4 M6 M8"),
    "cs14": (CS14, "C1 C2 C3"),
}


def make(text, claims, path):
    names = ", ".join(f'"{claim}"' for claim in claims.split())
    study = parse_study(text.replace("[case]", f"claims = [{names}]\n[case]", 1))
    check_claims(study)
    run(study, path)
    return Results(Store.open(path))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """What gives the results of a study of `ALL`, which is run once."""

    @functools.cache
    def results(name):
        return make(*ALL[name], tmp_path_factory.mktemp(name) / "out")

    return results


@pytest.fixture(scope="module")
def message(made):
    return made("message")


def findings_of(results, name):
    (found,) = (one.findings for one in judge(results) if one.name == name)
    return found


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
    for whose in WHOSE:
        for holds, word in zip((True, False, None), VERDICTS, strict=True):
            found = Finding("", "part", holds, "1 [0, 2]", "above 1", whose)
            decided_by_us = holds is False and whose == OURS
            assert found.verdict == ("cannot tell" if decided_by_us else word)
            assert f"Limit: above 1 ({whose})." in found.text


def test_reasons():
    """Everything that is not reproduced has one; the default says whether limit or sampling."""

    def reason(holds, whose=WORDS, why=""):
        return Finding("", "part", holds, "", "above 1", whose, why).reason

    assert reason(True) == reason(True, why="never said") == ""
    assert reason(False, why="a reading") == "a reading"
    assert reason(None) == SAMPLING
    assert reason(False, OURS) == OUR_LIMIT
    assert reason(False).startswith("unexplained")
    assert Finding("", "part", None, "no cell there").reason.startswith("not run")


def test_parts_are_counted():
    parts = [Finding("", "part", holds, "", "", WORDS) for holds in (True, True, False, None)]
    assert count_verdicts(parts) == {"reproduced": 2, "differs": 1, "cannot tell": 1}
    assert show_counts(count_verdicts(parts)) == "2 of 4 parts reproduced, 1 differs, 1 cannot tell"
    assert show_counts(count_verdicts(parts[:1])) == "1 of 1 part reproduced"
    told = show_counts({"reproduced": 5, "differs": 0, "cannot tell": 1}, by_ours=2)
    assert told == "5 of 6 parts reproduced (3 by the paper's own limits, 2 by ours), 1 cannot tell"
    two = show_counts(count_verdicts(parts[2:3] * 2))
    assert two == "0 of 2 parts reproduced, 2 differ"


def test_order_is_judged_by_pairs_that_are_told_apart():
    low, mid, high = estimate(1, 0.1), estimate(2, 0.1), estimate(3, 0.1)
    wide = estimate(2, 5)
    both = [(low, high, low, high), (mid, high, high, mid), (low, wide, low, high)]
    assert cells.concordance(both) == (1, 1, 1)
    alike, opposite = (low, high, low, mid), both[1]
    told = cells.ordered("", "part", [alike] * 3 + both, "alike")
    assert (told.holds, told.whose) == (True, OURS)  # 4 of 5
    told = cells.ordered("", "part", both, "alike")
    assert (told.holds, told.verdict, told.whose) == (False, "differs", WORDS)  # 1 of 2
    told = cells.ordered("", "part", [alike, alike, opposite], "alike")
    assert (told.verdict, told.reason) == ("cannot tell", OUR_LIMIT)  # 2 of 3, but not 3 of 4
    told = cells.ordered("", "part", [both[2]], "alike")
    assert (told.holds, told.reason) == (None, SAMPLING)


@pytest.mark.parametrize(
    ("study", "count"),
    [
        ("message", [3, 2, 7, 1]),
        ("duration", [5, 1]),
        ("latency", [4]),
        ("ranks", [8, 8, 6]),
        ("cs14", [4, 4, 1]),
    ],
)
def test_every_part_of_a_claim_is_judged(made, study, count):
    results = made(study)
    judged = judge(results)
    assert [one.name for one in judged] == ALL[study][1].split()
    assert [len(one.findings) for one in judged] == count
    for one in judged:
        assert sum(one.counts.values()) == len(one.findings)
        for found in one.findings:
            assert found.verdict in VERDICTS
            assert found.part[0] in '"s'  # the words of the claim come first
            assert found.whose in WHOSE if found.holds is not None else True
            told = "[" in found.found or "told apart" in found.found
            assert found.holds is None or told  # an interval decides
            assert bool(found.reason) == (found.verdict != "reproduced")
    told = " ".join(report(results).split())
    assert all(f"{one.name} ({one.claim.source})" in told for one in judged)


def test_findings(made):
    judged = [one for one in judge(made("message")) if one.name != "M8"]
    texts = {f.part: f for one in judged for f in one.findings}
    assert texts['"small while T_comm > D"'].holds is True
    assert texts['"large below"'].holds is True
    assert "at 2^9 ranks, T_comm / D = 0.04" in texts['"large below"'].found
    hundred = texts['"slowdown up to about 100"']  # D / T_comm is 25 at most
    assert (hundred.verdict, hundred.whose) == ("differs", "the paper's number")
    axis = texts["slowdown is on the axis of Fig. 8, which ends at 120"]
    assert (axis.verdict, axis.whose) == ("reproduced", "the paper's axis")
    assert texts['"at the short-message, many-rank corner"'].verdict == "reproduced"
    found = findings_of(made("duration"), "M5")
    clip = "the paper's clip level"
    assert [(one.holds, one.whose) for one in found] == [
        (True, clip), (True, clip), (None, "the paper's axis"), (True, WORDS), (True, OURS),
    ]  # fmt: skip
    none, small, grows, large = findings_of(made("latency"), "M7")
    assert {none.where, small.where} == {"D / P = 0.0001"}
    limit = ("5 to 20 at all sizes", OURS)
    assert (small.limit, small.whose) == (large.limit, large.whose) == limit
    assert (small.holds, small.verdict) == (False, "cannot tell")  # beyond a limit of ours
    assert (grows.where, "at 2^9 ranks" in large.found) == ("D / P = 0.1", True)


def test_intervals_of_a_region_hold_together(message):
    (block,) = cells.blocks(message)
    alone = block.judged("slowdown", lambda ranks, ratio: ranks == 512 and ratio == 2)
    many = [cell for cell in block.judged("slowdown") if (cell.ranks, cell.ratio) == (512, 2)]
    assert alone[0].found.low > many[0].found.low
    assert alone[0].found.value == many[0].found.value


def judged_cells(*estimates):
    return [cells.JudgedCell(2**k, 0.1, None, one) for k, one in enumerate(estimates, 2)]


def test_the_largest_of_all_has_its_own_interval():
    """A cell that is not known may be the largest, so nothing is below a limit then."""
    unknown = Estimate(1.0, -np.inf, np.inf, 0.95, 40)
    known = judged_cells(estimate(3, 0.5), estimate(2.9, 0.2), estimate(1, 0.1))
    top, bottom = cells.largest(known), cells.smallest(known)
    assert (top.ranks, top.found.value, top.found.high) == (4, 3, 3.5)
    assert top.found.low == pytest.approx(2.7)
    assert (bottom.ranks, bottom.found.low, bottom.found.high) == (16, 0.9, 1.1)
    assert top.in_words("D / P") == "3 at 2^2 ranks, D / P = 0.1, of all cells [2.7, 3.5]"
    assert bottom.in_words("") == "1 [0.9, 1.1] at 2^4 ranks"
    assert below(cells.largest(known).found, 5) is True
    some = [*known, *judged_cells(unknown)]
    assert below(cells.largest(some).found, 5) is None
    assert above(cells.largest(some).found, 2) is True
    assert above(cells.smallest(some).found, 0.5) is None


@pytest.mark.parametrize("few", [False, True])
def test_an_axis_needs_every_cell(message, monkeypatch, few):
    """A slowdown that is not known in one cell may be beyond the axis."""
    (block,) = cells.blocks(message)
    real = cells.Block.judged
    unknown = Estimate(1.0, -np.inf, np.inf, 0.95, 40)

    def judged(self, *arguments):
        found = real(self, *arguments)
        return [found[0]._replace(found=unknown), *found[1:]] if few else found

    monkeypatch.setattr(cells.Block, "judged", judged)
    found = ms12._axis(block, "slowdown", 120, "Fig. 8", toward=-1)
    assert found.verdict == ("cannot tell" if few else "reproduced")


def test_values_of_a_ratio_that_are_ours_decide_no_axis(message, monkeypatch):
    """At T_comm / D = 0.04 the slowdown is about 6, and at 0.3 below 2."""
    (block,) = cells.blocks(message)
    monkeypatch.setattr(ms12, "_KNOWN", 0.04)
    found = ms12._axis(block, "slowdown", 3, "Fig. 8", toward=-1)
    assert (found.verdict, found.whose) == ("differs", "the paper's axis")
    monkeypatch.setattr(ms12, "_KNOWN", 0.05)
    found = ms12._axis(block, "slowdown", 3, "Fig. 8", toward=-1)
    assert found.verdict == "cannot tell"
    assert "all are on it down to T_comm / D = 0.3" in found.found
    assert found.reason == "our range of T_comm / D: the paper does not list its values"


@pytest.mark.parametrize(
    ("at_known", "verdict"),
    [(estimate(110, 5), "cannot tell"), (estimate(130, 30), "cannot tell"),
     (Estimate(1.0, -np.inf, np.inf, 0.95, 40), "cannot tell"), (estimate(130, 5), "differs")],
)  # fmt: skip
def test_what_is_beyond_an_axis_at_a_known_ratio_differs(monkeypatch, at_known, verdict):
    """Only the slowdown at a ratio that the paper has decides; farther ratios are ours."""
    found = {0.02: estimate(50, 5), 0.01: at_known, 0.001: estimate(170, 9)}
    block = cells.Block("here", "T_comm / D", [], "ratio")
    judged = [cells.JudgedCell(2**9, ratio, None, one) for ratio, one in found.items()]
    monkeypatch.setattr(cells.Block, "judged", lambda self, name: judged)
    part = ms12._axis(block, "slowdown", 120, "Fig. 8", toward=-1)
    assert part.verdict == verdict
    to = 0.01 if at_known.high <= 120 else 0.02  # what may be beyond it is not on it
    assert f"all are on it down to T_comm / D = {to:g}" in part.found


def test_a_line_through_the_cycles(made):
    """The residuals of the line and the first cycle, from whole-number weights, as from samples."""
    results = made("cs14")
    cell = results.panels()[0].cells[-1]
    means = [float(cell.summaries[f"overhead, cycle {c}"].mean.value) for c in range(1, 6)]
    slope, middle = np.polyfit(range(2, 6), means[1:], 1)
    away = np.abs(means[1:] - (slope * np.arange(2, 6) + middle)).max() / means[-1]
    linear, first = findings_of(results, "C2")[:2]
    assert f"misses at most {away:.1%} [" in linear.text.replace("-", "")
    share = means[0] / ((means[-1] - means[0]) / 4)
    assert f"{share:.3g} [" in first.text


def test_an_unfinished_run_decides_nothing(made, tmp_path):
    results = made("ranks")
    assert any(found.holds is not None for one in judge(results) for found in one.findings)
    shutil.copytree(results.store.path, tmp_path / "out")
    next((tmp_path / "out" / "records").iterdir()).unlink()
    results = Results(Store.open(tmp_path / "out"))
    findings = [found for one in judge(results) for found in one.findings]
    assert {found.verdict for found in findings} == {"cannot tell"}
    assert {found.reason for found in findings} == {"not run: the study is not finished"}
    assert "not finished" in report(results)


def test_no_data(made, tmp_path):
    for name in ALL:
        run_of_it = tmp_path / name
        shutil.copytree(made(name).store.path, run_of_it)
        for file in (run_of_it / "records").iterdir():
            file.unlink()
        judged = judge(Results(Store.open(run_of_it)))
        assert {f.verdict for one in judged for f in one.findings} == {"cannot tell"}


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ("M9", "claims: each must be one of"),
        ("M1", "claims: M1 needs an axis 'T_comm / D'"),
        ("M7", "claims: M7 needs an axis 'figure'"),
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
    counts = {"C": 3, "H": 3, "M": 8, "N": 5}
    assert sorted(CLAIMS) == [f"{x}{i}" for x, count in counts.items() for i in range(1, count + 1)]
    for name, claim in CLAIMS.items():
        assert claim.source.startswith(("MS12", "CS14", "HM18", "HSL09"))
        assert not claim.text.endswith(".")
        assert claim.of_study == (name[0] != "N")
    assert {name: CLAIMS[name] for name in HSL09} == HSL09


# --- MS12: readings, limits of the paper, where a rise is steepest


def curves(values, spread=0.02):
    """Series over ranks, as `_steepest` takes them."""
    return [(2**k, estimate(value, spread)) for k, value in enumerate(values, 12)]


@pytest.mark.parametrize(
    ("shares", "spread", "expected"),
    [
        ((0.16, 0.43, 0.83, 0.99), 0.02, ("differs", WORDS)),  # with jitter at rate 1/P
        ((0.05, 0.17, 0.43, 0.83, 0.96), 0.02, ("reproduced", WORDS)),  # without it
        ((0.05, 0.17, 0.43, 0.83, 0.96), 0.2, ("cannot tell", WORDS)),
        ((0.05, 0.17), 0.02, ("cannot tell", "")),  # nothing above 2^14
    ],
)
def test_where_the_steepest_rise_lies(message, shares, spread, expected):
    (block,) = cells.blocks(message)
    found = ms12._steepest(block, "part", curves(shares, spread), lambda x, _: f"{x:g}")
    assert (found.verdict, found.whose) == expected


@pytest.mark.parametrize(
    ("value", "half", "reached", "expected"),
    [
        (10.9, 1, True, ("reproduced", OURS)),
        (25, 1, True, ("cannot tell", OURS)),  # not within our factor of 2, still nearest to 10
        (4, 0.5, True, ("cannot tell", OURS)),
        (1.5, 0.1, True, ("differs", "the paper's number")),
        (1.5, 0.1, False, ("reproduced", OURS)),
        (73, 3, False, ("differs", "the paper's number")),
        (31, 5, False, ("cannot tell", OURS)),
    ],
)
def test_about_a_number(value, half, reached, expected):
    holds, limit, whose, _ = ms12._about_limits(estimate(value, half), 10, reached=reached)
    found = Finding("", "part", holds, "", limit, whose)
    assert (found.verdict, found.whose) == expected


def test_the_share_of_realizations_that_are_hit(made):
    """As counted on the samples themselves."""
    results = made("ranks")
    cell = results.cells[-1]
    case, share = cell.first_case, ms12.hit_share(cell, "slowdown_redundant")
    result = simulate(case, cell.realizations, results.study.seed)
    times = result.samples[:, cell.summaries["slowdown_redundant"].T]
    late = times > result.noise_free[0] + float(case.noise[0].duration) / 2
    assert 0 < late.mean() < 1
    assert share.value == pytest.approx(late.mean())
    assert 0 <= share.low <= share.value <= share.high <= 1


def test_fig12_of_each_reading(tmp_path):
    """Shares of realizations hit at 2^13 and 2^14 ranks, with network jitter and without it."""
    text = (SWEEPS / "ms12_fig12.toml").read_text(encoding="utf-8")
    text = text.replace("log2 = [2, 18]", "log2 = [13, 14]")
    text = text.replace("rank_rounds = 2e8", "rank_rounds = 6e7").replace("min = 60", "min = 150")
    study = parse_study(text, choose={"reading": ["caption"], "jitter": ["A", "B"]})
    run(study, tmp_path / "out")
    results = Results(Store.open(tmp_path / "out"))
    expected = {("A", 13): 0.43, ("A", 14): 0.83, ("B", 13): 0.16, ("B", 14): 0.43}
    for cell in results.cells:
        share = ms12.hit_share(cell, "slowdown_redundant")
        wanted = expected[cell.labels["jitter"][0], cell.first_case.log2_ranks]
        assert share.low - 0.03 < wanted < share.high + 0.03  # 43 % were told as 43
    parts = {(f.where, f.part): f for f in judge(results)[0].findings}
    assert len({where for where, _ in parts}) == 2


# The studies of M7 and H3 as version 0.1 had them, with fewer cells.
STUDIES_0_1 = {
    "ms12_alpha": ("M7", "figure", """
name = "ms12_alpha"
figure = "curves"
claims = ["M7"]
seed = 7
[realizations]
max = 30
[case]
message_bytes = 8
algorithm = { kind = "butterfly", exchanges_after = "all" }
network = { kind = "hockney", beta = 1e-9, gamma = 1e-10 }
[[case.noise]]
kind = "periodic"
period = 1e-3
start = "fresh"
[axes.duration]
derived = "D / P"
by = ["noise.0.duration"]
values = [1e-3, 1e-2]
[axes.alpha]
path = "network.alpha"
values = [1e-6, 1e-7]
[axes.ranks]
log2 = [2, 4]
[observables]
slowdown = { kind = "slowdown", T = 0 }
slowdown_redundant = { kind = "slowdown", T = "best" }
"""),
    "hm18_fig4": ("H3", "sources", """
name = "hm18_fig4"
figure = "family"
claims = ["H1", "H3"]
seed = 18
[realizations]
max = 30
[case]
algorithm = { kind = "butterfly" }
network = { kind = "hockney", alpha = 0.0, beta = 0.0, gamma = 3.45e-6 }
[[case.noise]]
kind = "step"
delay = "14us"
during = "communication"
[axes.probability]
path = "noise.0.probability"
values = [0.0, 1e-2]
[axes.ranks]
log2 = [11, 12]
[observables]
"last rank" = { kind = "completion" }
"mean rank" = { kind = "completion", rank = "mean" }
"""),
}  # fmt: skip


@pytest.mark.parametrize("name", some(STUDIES_0_1, 1))
@quick_pictures
def test_a_run_of_version_0_1_with_claims_is_read(tmp_path, capsys, name):
    """Its picture and table are made; the claim that it was run for says what it lacks now.

    The same study of today does not go on in that directory, and one line says so.
    """
    claim, axis, text = STUDIES_0_1[name]
    out = tmp_path / name
    run(parse_study(text), out)
    assert main(["plot", str(out)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert f"cannot tell as it is worded now: the study lacks an axis '{axis}'" in told
    assert "the study is of an earlier version" in told
    assert (out / f"{name}.png").is_file()
    judged = {one.name: one.findings for one in judge(Results(Store.open(out)))}
    assert [found.verdict for found in judged[claim]] == ["cannot tell"]
    if name == "ms12_alpha":
        assert main(["run", name, "--out", str(out)]) == 2
        (error,) = [x for x in capsys.readouterr().err.splitlines() if "error" in x]
        assert "holds another run" in error
        assert "--force to replace it" in error


def test_a_run_for_an_earlier_wording_says_what_it_lacks(made, monkeypatch):
    results = made("ranks")
    monkeypatch.setitem(CLAIMS, "M4", CLAIMS["M7"])
    (found,) = findings_of(results, "M4")
    assert found.verdict == "cannot tell"
    assert found.found == "the study lacks an axis 'figure'"
