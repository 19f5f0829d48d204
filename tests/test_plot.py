"""Measures, claims, figures, and the replay of single realizations that the trace draws."""

import random

import numpy as np
import pytest

import jitterfly as jf
from jitterfly.analysis import measures, report
from jitterfly.analysis.results import CONVENTIONAL, REDUNDANT, Panel
from jitterfly.claims import CLAIMS, ms12
from jitterfly.claims.report import report as claims_report
from jitterfly.cli import main
from jitterfly.cli.study import run_study
from jitterfly.studies.store import Store
from jitterfly.studies.study import parse_study
from jitterfly.trace.replay import Replay

MS12 = """
name = "ms12"
title = "after"
figure = "slowdown"
claims = ["M4", "M6"]
realizations = { max = 60 }
[case]
algorithm = { kind = "butterfly", after = "all" }
network = { kind = "hockney", alpha = "1us", beta = 0, gamma = "1ns" }
noise = [{ kind = "periodic", period = "100us", duration = "30us" }]
[axes.reading.points.one]
[axes.reading.points.two]
"noise.0.duration" = "10us"
[axes.ranks]
log2 = [1, 8]
"""

CS14 = """
name = "cs14"
title = "within"
figure = "overhead"
claims = ["C1", "C3"]
realizations = { max = 60 }
[case]
cycles = 4
network = { kind = "loggops", L = "1us", o = "10ns" }
algorithm = { kind = "butterfly" }
noise = [{ kind = "periodic", period = "100us", duration = "30us", start = "stationary" }]
[axes.ranks]
log2 = [1, 6]
[variants.noiseless]
"noise.0.during" = "compute"
[variants.conventional]
[variants.redundant]
"algorithm.within" = "all"
"""


def make(text, path):
    return run_study(parse_study(text), path)


def test_slowdown_and_its_claims(tmp_path):
    results = make(MS12, tmp_path / "out")
    assert [panel.label for panel in results.panels] == ["one", "two"]
    place = results.panels[0].places[-1]
    case = place.record.cell.case
    samples = jf.simulate(case, realizations=60).samples / (8 * 1.008e-6)
    np.testing.assert_allclose(place.slowdown[CONVENTIONAL], samples[:, 0], rtol=1e-12)
    best = int(samples[:, 1:].mean(axis=0).argmin()) + 1
    np.testing.assert_allclose(place.slowdown[REDUNDANT], samples[:, best], rtol=1e-12)
    assert place.gain.value == pytest.approx(samples[:, 0].mean() / samples[:, best].mean())
    assert place.gain.low < place.gain.value < place.gain.high
    assert 1 <= place.redundancy.enough <= place.redundancy.best == best
    for claim in ("M4", "M6"):
        found = CLAIMS[claim].check(results)
        assert len(found) == 6
        assert {one.where for one in found} == {"one", "two"}
        assert all(one.verdict in ("holds", "DOES NOT HOLD", "cannot tell") for one in found)


@pytest.mark.parametrize("figure", ["overhead", "cycles"])
def test_overhead_and_its_claims(tmp_path, figure):
    claims = {"overhead": ["C1", "C3"], "cycles": ["C2", "C3"]}[figure]
    text = CS14.replace('"overhead"', f'"{figure}"').replace('["C1", "C3"]', str(claims))
    results = make(text, tmp_path / "out")
    assert (tmp_path / "out" / "cs14.png").stat().st_size > 10_000
    place = results.panels[0].places[-1]
    conventional, redundant, quiet = (
        place.records[name].samples for name in ("conventional", "redundant", "noiseless")
    )
    np.testing.assert_allclose(place.overhead[CONVENTIONAL], conventional - quiet, atol=1e-18)
    recovered = (conventional - redundant)[:, -1].mean() / (conventional - quiet)[:, -1].mean()
    assert place.recovery().value == pytest.approx(recovered)
    assert place.recoverable is None  # several cycles
    for claim in claims:
        assert CLAIMS[claim].check(results)


def test_recovery_stays_below_the_bound(tmp_path):
    text = CS14.replace("cycles = 4", "cycles = 1").replace("max = 60", "max = 4000")
    places = make(text.replace("claims", "# "), tmp_path / "out").panels[0].places
    for place in places[2:]:
        assert place.recoverable is not None
        assert place.recovery().low < place.recoverable < 1


def test_the_rise_is_judged_by_means_above_2_to_14(tmp_path):
    """Three verdicts from three sets of means; the steepest step is told, and decides nothing."""

    class Fake:
        def __init__(self, ranks, slowdown):
            self.ranks, self.slowdown = ranks, dict.fromkeys(("conventional", REDUNDANT), slowdown)

    def verdict(end, spread):
        noise = np.linspace(-spread, spread, 100)
        places = [Fake(2**k, level + noise) for k, level in ((13, 1), (14, 9), (15, 9), (16, end))]
        return ms12._rise(Panel("", places), "part")

    assert [verdict(*pair).holds for pair in ((90, 0.1), (12, 0.1), (37, 8))] == [True, False, None]
    assert "mean from 2^13 to 2^14, 9 times (1 -> 9)" in verdict(12, 0.1).text
    assert "mean slowdown 9 -> 12 from 2^14 to 2^16" in verdict(12, 0.1).text


def test_findings_name_their_part_and_their_size(tmp_path):
    told = claims_report(make(MS12, tmp_path / "a"))
    for part in ('"far better', '"rises steeply', '"up to about 10', '"as Fig. 12"', '"weaker"'):
        assert part in told
    table = report.table(make(MS12, tmp_path / "a"))
    assert "Every mean has its 95 % interval" in table
    assert "The best T is chosen by the samples" in table
    told = " ".join(claims_report(make(CS14, tmp_path / "b")).split())
    assert told.count("2^6 ranks (CS14: 2^23, --full)") == 3


def test_titles_are_no_formulas_and_need_no_font(tmp_path):
    text = MS12.replace('"after"', '"$\\\\frac{$ 雑音"').replace("points.one", 'points."$x^$"')
    assert make(text, tmp_path / "out").study.title == "$\\frac{$ 雑音"
    assert (tmp_path / "out" / "ms12.png").exists()


def test_measures():
    samples = np.arange(1.0, 101.0)
    assert measures.ratio(samples, 2 * samples) == pytest.approx((0.5, 0.5, 0.5))
    assert np.isnan(measures.ratio(samples, 0 * samples).value)
    assert measures.few_run_mean(samples).value == samples[:30].mean()
    few = measures.few_run_mean(samples)
    # The standard error of a 30-run mean is 28.9 / sqrt(30) = 5.3.
    assert few.low == pytest.approx(50.5 - 1.645 * 5.27, abs=1)
    assert few.high == pytest.approx(50.5 + 1.645 * 5.27, abs=1)
    assert np.isnan(measures.few_run_mean(samples[:29]).low)
    assert measures.line_fit(np.arange(5.0), 2 * np.arange(5.0) + 1)[:2] == pytest.approx((2, 1))


@pytest.mark.parametrize("realizations", [1, 2, 29])
def test_few_realizations_still_draw(tmp_path, realizations):
    run_study(parse_study(MS12), tmp_path / "a", realizations=realizations)
    assert (tmp_path / "a" / "ms12.png").exists()
    assert Store.open(tmp_path / "a").records[0].samples.shape == (realizations, 2)
    run_study(parse_study(CS14), tmp_path / "b", realizations=realizations)
    assert (tmp_path / "b" / "cs14.png").exists()


def random_case(draw):
    rounds = draw.randint(0, 4)
    network = draw.choice(
        [
            jf.Hockney(1e-7, 1e-9, 1e-10),
            jf.Hockney(0, 0),
            jf.LogGOPS(L="1us", o="20ns", G="1ns", gamma=1e-10),
            jf.LogGOPS(L=0, o="20ns"),
        ]
    )
    noise = []
    if draw.random() < 0.8:
        noise.append(
            jf.PeriodicNoise(
                draw.choice(["1us", "10us"]),
                draw.choice(["0.1us", "0.8us"]),
                start=draw.choice(["fresh", "stationary"]),
                during=draw.choice(["all", "compute", "communication"]),
            )
        )
    if draw.random() < 0.5:
        noise.append(jf.NetworkJitter("1us", draw.choice(["0.1us", "1us"])))
    some = draw.sample(range(1, rounds), draw.randint(1, rounds - 1)) if rounds > 1 else None
    after = draw.randint(0, rounds)
    algorithm = jf.Butterfly(
        after=after,
        within=draw.choice([None, "all", some]),
        forward_cost=draw.choice([0, "30ns"]) if after else 0,
    )
    cycles, work = draw.randint(1, 3), draw.choice([0, "1us"])
    return jf.Case(
        2**rounds, algorithm=algorithm, network=network, noise=noise, cycles=cycles, work=work
    )


def test_replay_is_what_the_engine_does():
    """`Replay` raises if a ready time of its messages differs from the engine's by one tick."""
    draw = random.Random(1)
    for _ in range(150):
        replay = Replay(random_case(draw), draw.getrandbits(64), draw.randint(0, 99))
        assert all(message.sent <= message.arrival for message in replay.messages)


@pytest.mark.parametrize("name", ["trace.png", "trace.pdf", "trace.svg"])
def test_trace(tmp_path, capsys, name):
    out = tmp_path / name
    assert main(["trace", "--within", "all", "--after", "2", "--work", "2us", "--cycles", "2",
                 "--jitter", "period=5us,duration=1us", "--realization", "worst",
                 "--out", str(out)]) == 0  # fmt: skip
    printed = capsys.readouterr().out
    assert "copies adopted" in printed
    assert "forwards used" in printed
    assert out.stat().st_size > 10_000


def test_trace_of_a_study(tmp_path, capsys):
    study = tmp_path / "study.toml"
    study.write_text(CS14)
    out = tmp_path / "trace.png"
    arguments = ["trace", str(study), "--at", "ranks=16", "--at", "variant=redundant"]
    assert main([*arguments, "--out", str(out)]) == 0
    assert "copies adopted" in capsys.readouterr().out
    assert main(["trace", str(study), "--out", str(out)]) == 0  # the first cell
    assert "copies" not in capsys.readouterr().out


def test_trace_by_itself_shows_adopted_copies(tmp_path, capsys):
    assert main(["trace", "--out", str(tmp_path / "trace.png")]) == 0
    adopted = capsys.readouterr().out.partition(" copies adopted")[0].split()[-3]
    assert int(adopted) > 0


@pytest.mark.parametrize("ranks", [1, 2])
def test_trace_of_the_smallest(tmp_path, ranks):
    out = tmp_path / "trace.png"
    assert main(["trace", "--ranks", str(ranks), "--noise", "none", "--out", str(out)]) == 0
