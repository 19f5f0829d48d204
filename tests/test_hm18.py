"""HM18's studies at small sizes: the claims, the pictures, and what the studies say."""

from pathlib import Path

import pytest

from jitterfly.claims.hm18 import TABLE
from jitterfly.claims.verdicts import judge, report
from jitterfly.cli import main
from jitterfly.inference import read_curves
from jitterfly.plots import draw
from jitterfly.results import Results
from jitterfly.results.figures import check_figure
from jitterfly.studies import load_study, parse_study
from jitterfly.sweep import run

SWEEPS = Path(__file__).parents[1] / "sweeps"


def small(name, **changes):
    """A study with few realizations."""
    text = (SWEEPS / f"{name}.toml").read_text(encoding="utf-8")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.fixture(scope="module")
def fig4(tmp_path_factory):
    text = small("hm18_fig4", **{"rank_rounds = 3e7": "rank_rounds = 2e6", "min = 200": "min = 50",
                                 "log2 = [1, 13]": "log2 = [1, 11]"})  # fmt: skip
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
    told = [(one.where, one.text.partition(":")[0], one.verdict) for one in found["H1"].findings]
    quiet, costly = '"p = 0 is log2(N) L"', '"small p already costs much"'
    assert told == [
        ("last rank", quiet, "reproduced"),
        ("last rank", costly, "reproduced"),
        ("mean rank", quiet, "reproduced"),
        ("mean rank", costly, "cannot tell"),  # only p = 0.01 costs what counts as much
    ]
    assert "HM18 gives a number for neither" in found["H1"].findings[1].text
    assert [one.verdict for one in found["H3"].findings] == [
        "cannot tell",
        "cannot tell",
        "differs",
    ]
    text = report(fig4)
    assert "the model takes 87.25 µs" in text
    assert "1.767 ms" in text


def test_table(table):
    found = verdicts(table)["H2"]
    told = {(one.where, one.text.partition(":")[0]): one for one in found.findings}
    assert len(told) == 12
    for rank in ("last rank", "mean rank"):
        for what, baseline in (("barrier", "671 µs"), ("16-byte allreduce", "485 µs")):
            where = f"{rank}, {what}"
            assert told[where, f"baseline {baseline}"].verdict == "differs"
            assert "209.4 µs" in told[where, f"baseline {baseline}"].text
        assert told[f"{rank}, barrier", "estimate 105 µs"].verdict == "reproduced"
        assert told[f"{rank}, 16-byte allreduce", "estimate 160 µs"].verdict == "cannot tell"
    assert "p = 0.01" in told["last rank, barrier", "estimate 105 µs"].text
    assert "p = 0.08" in told["mean rank, barrier", "estimate 105 µs"].text


@pytest.mark.parametrize("kind", ["family", "curves", "hm18_table"])
def test_pictures(table, fig4, kind, tmp_path):
    results = fig4 if kind == "family" else table
    draw.draw(results, tmp_path / "a.png", kind)
    assert (tmp_path / "a.png").stat().st_size > 20_000
    if kind != "curves":
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
    }
    assert curves == claimed


def test_study_runs_by_its_command(tmp_path, capsys):
    path = tmp_path / "hm18_table.toml"
    path.write_text(small("hm18_table", **{"rank_rounds = 1e8": "rank_rounds = 2e6",
                                           "min = 400": "min = 40"}))  # fmt: skip
    assert main(["run", str(path), "--out", str(tmp_path / "out")]) == 0
    assert "H2 (HM18, table of 4096 nodes)" in capsys.readouterr().out
    assert (tmp_path / "out" / "hm18_table.png").exists()
