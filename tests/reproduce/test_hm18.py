"""HM18's studies at small sizes: claims, figures."""

import pytest
from matplotlib import pyplot as plt
from support.paths import SWEEPS
from support.quick_pictures import quick_pictures
from support.scale import at_most, full_scale, some

from jitterfly.cli import main
from jitterfly.plots import distribution, draw
from jitterfly.results import Results
from jitterfly.results.figures import check_figure
from jitterfly.studies import load_study, parse_study
from jitterfly.sweep import run
from jitterfly_papers.claims import judge
from jitterfly_papers.claims.hm18 import TABLE
from jitterfly_papers.inference import read_curves


def small(name, **changes):
    """A study with few realizations."""
    text = (SWEEPS / f"{name}.toml").read_text(encoding="utf-8")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.fixture(scope="module")
def fig4(tmp_path_factory):
    least = 11 - at_most(10, 2)
    text = small("hm18_fig4", **{"rank_rounds = 3e7": "rank_rounds = 2e6", "min = 200": "min = 50",
                                 "log2 = [1, 13]": f"log2 = [{least}, 11]"})  # fmt: skip
    return Results(run(parse_study(text), tmp_path_factory.mktemp("hm18") / "fig4"))


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    text = small(
        "hm18_table", **{"rank_rounds = 1e8": "rank_rounds = 6e6", "min = 400": "min = 100"}
    )
    return Results(run(parse_study(text), tmp_path_factory.mktemp("hm18") / "table"))


def verdicts(results):
    return {one.name: one for one in judge(results)}


def test_fig4(fig4):
    found = verdicts(fig4)
    told = [(one.where, one.part, one.verdict) for one in found["H1"].findings]
    quiet, costly = '"p = 0 is log2(N) L"', '"small p already costs much"'
    assert told == [
        ("last rank", quiet, "reproduced"),
        ("last rank", costly, "reproduced"),
        ("mean rank", quiet, "reproduced"),
        ("mean rank", costly, "cannot tell"),  # only p = 0.01 costs what counts as much
    ]
    assert "HM18 gives a number for neither" in found["H1"].findings[1].text


MOST = at_most(50_000, 20_000)


@pytest.fixture(scope="module")
def fig3(tmp_path_factory):
    text = small("hm18_fig3", **{"rank_rounds = 7.7e7": "rank_rounds = 2e7", "100_000": f"{MOST}"})
    return Results(run(parse_study(text), tmp_path_factory.mktemp("hm18") / "fig3"))


def test_two_sources_give_what_one_does_not(fig3):
    """Published: 21.16, 14.05 and 1,767 µs on 24 nodes, 671 µs on 4096."""
    found = verdicts(fig3)["H3"].findings
    two, one = "two: 14 µs, 1.75 ms", "one: 14 µs"
    told = {(part.where, part.part.split()[0]): part for part in found}
    assert len(told) == len(found) == 8
    for sources in (two, one):
        for part in ("min", "mean"):
            assert told[f"{sources}, ranks = 24", part].verdict == "reproduced"
    assert told[f"{two}, ranks = 24", "max"].verdict == "reproduced"
    assert told[f"{one}, ranks = 24", "max"].verdict == "differs"
    assert "second, rarer" in told[f"{one}, ranks = 24", "max"].reason
    assert told[f"{two}, ranks = 4096", "baseline"].verdict != "differs"
    assert told[f"{one}, ranks = 4096", "baseline"].verdict == "differs"
    (cell,) = (c for c in fig3.cells if c.ranks == 4096 and c.labels["sources"] == two)
    mean = cell.summaries["barrier"].mean
    assert mean.low < 608e-6 < mean.high  # of a simulation of messages, 608 ± 78 µs


def test_histogram_counts_realizations(fig3):
    observed = fig3.cells[0].observed("barrier")
    _, axes = plt.subplots()
    distribution._histogram_line(axes, observed, {"color": "black"}, 0.95)
    (outline,) = axes.patches
    assert outline.get_data().values.sum() == observed.realizations == MOST
    assert axes.get_xscale() == "log"
    plt.close()


def test_table(table):
    found = verdicts(table)["H2"]
    told = {(one.where, one.part): one for one in found.findings}
    assert len(told) == 12
    for rank in ("last rank", "mean rank"):
        for what, baseline in (("barrier", "671 µs"), ("16-byte allreduce", "485 µs")):
            where = f"{rank}, {what}"
            assert told[where, f"baseline {baseline}"].verdict == "differs"
            assert "209.4 µs" in told[where, f"baseline {baseline}"].text
        for what, estimate in (("barrier", "105 µs"), ("16-byte allreduce", "160 µs")):
            part = told[f"{rank}, {what}", f"estimate {estimate}"]
            assert part.verdict == "cannot tell"
            assert "p = " not in part.text  # there is no noise in it
        assert told[f"{rank}, barrier", "optimized 94 µs"].verdict == "reproduced"
    assert "p = 0.00" in told["last rank, barrier", "optimized 94 µs"].text
    assert "p = 0.05" in told["mean rank, barrier", "optimized 94 µs"].text


@pytest.mark.parametrize(
    "kind", [*map(full_scale, ("family", "curves")), "hm18_table", "histogram"]
)
@quick_pictures
def test_pictures(table, fig4, fig3, kind, tmp_path):
    results = {"family": fig4, "histogram": fig3}.get(kind, table)
    draw.draw(results, tmp_path / "a.png", kind)
    assert (tmp_path / "a.png").stat().st_size > 20_000
    if kind in some(("family", "hm18_table"), 1):
        draw.draw(results, tmp_path / "b.png", kind, "last rank")


def test_figures_say_what_they_need():
    study = load_study(SWEEPS / "hm18_fig4.toml")
    with pytest.raises(ValueError, match="figure 'hm18_table' needs one axis, 'probability'"):
        check_figure(study, "hm18_table")
    text = "name = 'x'\nrealizations = { max = 9 }\n[case]\nranks = 4\n"
    text += "network = { kind = 'hockney', alpha = '1s', beta = 0 }\n"
    with pytest.raises(ValueError, match="figure 'family' needs an axis"):
        check_figure(parse_study(text), "family")


def test_data_of_the_table_are_those_of_the_claim():
    curves = {c.name: float(c.latency[0]) for c in read_curves([SWEEPS / "data/hm18_4096.csv"])}
    claimed = {
        f"{what.replace('16-byte ', '')} {kind}": seconds
        for what, numbers in TABLE.items()
        for kind, seconds in numbers.items()
        if kind != "estimate"  # has no noise in it
    }
    assert curves == claimed


@pytest.mark.full_scale
def test_study_runs_by_its_command(tmp_path, capsys):
    path = tmp_path / "hm18_table.toml"
    path.write_text(small("hm18_table", **{"rank_rounds = 1e8": "rank_rounds = 2e6",
                                           "min = 400": "min = 40"}))  # fmt: skip
    assert main(["run", str(path), "--out", str(tmp_path / "out")]) == 0
    assert "H2 (HM18, table of 4096 nodes)" in capsys.readouterr().out
    assert (tmp_path / "out" / "hm18_table.png").exists()
