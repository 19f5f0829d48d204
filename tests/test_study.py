"""Studies as TOML: what they mean, and that every mistake is one clear error."""

import re
from pathlib import Path

import pytest

import jitterfly
from jitterfly import Butterfly, Hockney, PeriodicNoise
from jitterfly.analysis.figures import check_figure
from jitterfly.cli.study import check_study
from jitterfly.program import rank_rounds
from jitterfly.studies.casetable import leaves, set_path
from jitterfly.studies.study import Budget, load_study, parse_study

SWEEPS = Path(__file__).parent.parent / "sweeps"

GOOD = """
name = "small"
title = "A small study"
figure = "slowdown"
seed = 5
realizations = { min = 10, max = 1000, rank_rounds = 640 }

[case]
algorithm = { kind = "butterfly", after = "all" }
network = { kind = "hockney", alpha = "100ns", beta = 1e-9 }
noise = [{ kind = "periodic", period = "1ms", duration = "10us" }]

[axes.ranks]
log2 = [2, 4]

[axes.reading.points.short]

[axes.reading.points.long]
"noise.0.duration" = "0.1 ms"

[full]
axes.ranks.log2 = [2, 6]
"""


def test_cells_are_the_product_of_the_axes():
    study = parse_study(GOOD)
    cells = study.cells()
    assert [(c.case.ranks, c.place["reading"]) for c in cells] == [
        (4, "short"), (4, "long"), (8, "short"), (8, "long"), (16, "short"), (16, "long"),
    ]  # fmt: skip
    assert cells[0].case.network == Hockney(1e-7, 1e-9)
    assert cells[1].case.noise == (PeriodicNoise(1e-3, 1e-4),)
    assert cells[2].case.algorithm == Butterfly(after="all")
    assert cells[2].name == "ranks=8, reading=short"
    assert len({cell.hash for cell in cells}) == len(cells)
    check_figure(study)


def test_full_is_an_overlay():
    assert [len(parse_study(GOOD, full=full).axes[0].points) for full in (False, True)] == [3, 5]
    with pytest.raises(ValueError, match=r"no \[full\] table"):
        parse_study(GOOD.partition("[full]")[0], full=True)


def test_budget_in_rank_rounds():
    budget = Budget(min=10, max=1000, rank_rounds=640)
    assert [budget.realizations(cost) for cost in (1, 8, 10**6)] == [640, 80, 10]
    # 4 ranks, 2 rounds and 2 forwards
    assert rank_rounds(parse_study(GOOD).cells()[0].case) == 16
    assert [c.realizations for c in parse_study(GOOD).cells()] == [40, 40, 13, 13, 10, 10]
    assert parse_study(GOOD).cells(7)[0].realizations == 7


def test_variants_share_their_realizations():
    text = GOOD + '[variants.none]\n"algorithm.after" = 0\n[variants.all]\n'
    counts = {(c.variant, c.case.ranks): c.realizations for c in parse_study(text).cells()}
    assert counts["none", 4] == counts["all", 4] == 40


def test_hash_knows_the_case_not_how_it_is_written():
    def hashes(text):
        return [cell.hash for cell in parse_study(text).cells()]

    other = GOOD.replace('"1ms"', "0.001").replace('"100ns"', "1e-7")
    assert hashes(GOOD) == hashes(other.replace("seed = 5", "seed = 6"))
    assert hashes(GOOD)[0] != hashes(GOOD.replace('"100ns"', '"101ns"'))[0]


def test_zip_and_values():
    text = GOOD.partition("[axes.ranks]")[0]
    text = text.replace('alpha = "100ns", ', "").replace(', duration = "10us"', "")
    text += '[axes.setting.zip]\nranks = [4, 8]\n"noise.0.duration" = ["1us", "2us"]\n'
    text += '[axes.alpha]\npath = "network.alpha"\nvalues = [1e-6, "2us"]\n'
    cells = parse_study(text).cells()
    got = [(c.case.ranks, c.case.noise[0].duration, c.case.network.alpha) for c in cells]
    assert got == [(4, 1e-6, 1e-6), (4, 1e-6, 2e-6), (8, 2e-6, 1e-6), (8, 2e-6, 2e-6)]


def test_set_path_leaves_the_table_alone():
    table = {"noise": [{"period": 1}]}
    assert set_path(table, "noise.0.period", 2) == {"noise": [{"period": 2}]}
    assert table == {"noise": [{"period": 1}]}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seed = 5", "sed = 5", r"unknown key 'sed' .did you mean 'seed'.*allowed keys: "),
        ("seed = 5", "seed = -1", "seed must be an integer from 0"),
        ("seed = 5", "seed = true", "seed must be an integer"),
        ('name = "small"', 'name = "a/b"', "name must be"),
        ('title = "A small study"', "", "lacks the key 'title'"),
        ("seed = 5", 'claims = [["M4"]]', "claims must be a list of names"),
        ("min = 10", "min = 0", "realizations needs 1 <= min"),
        ("min = 10", "mini = 10", "realizations: unknown key 'mini'.*'min'"),
        ("rank_rounds = 640", "rank_rounds = 0.5", "rank_rounds must be a number of at least 1"),
        ("seed = 5", "seed = = 5", r"not valid TOML.*line"),
        ("log2 = [2, 4]", "log2 = [4, 2]", r"axes.ranks.log2 must be"),
        ("log2 = [2, 4]", "values = []", "axes.ranks is empty"),
        ("log2 = [2, 4]", "values = [4, 4]", "twice"),
        ("log2 = [2, 4]", "", "one of log2, values, zip, points; got none"),
        ("log2 = [2, 4]", "log3 = [2, 4]", "unknown key 'log3'"),
        ("log2 = [2, 4]", "log2 = [2, 4]\nvalues = [4]", "must have one of"),
        ('"noise.0.duration" =', "ranks =", "both set the field 'ranks'"),
        ("seed = 5", f"seed = {'9' * 5000}", "not valid TOML"),
        ("seed = 5", f"seed = {'[' * 20000}", "nested too deeply"),
        ("seed = 5", f"seed = 0x{'f' * 5000}", "seed must be an integer"),
        ("rank_rounds = 640", f"rank_rounds = 0x{'f' * 4000}", "rank_rounds must be a number"),
        ("seed = 5", f"seed = '{'x' * 5000}'", r"seed must be an integer, got 'x+ \.\.\. \(str\)$"),
        ("[case]", "[case]\nranks = 12", "case: 'ranks' is set by all of axes.ranks"),
        ("[case]", "[case]\nranks = 1979-05-27", "case: 'ranks' is set by all of axes.ranks"),
        ("[full]", "[full]\nsee = 1", "full: unknown key 'see'"),
    ],
)
def test_bad_studies(old, new, message):
    assert old in GOOD
    text = GOOD if "[full]" in old else GOOD.partition("[full]")[0]
    with pytest.raises(ValueError, match=f"^study: .*{message}"):
        parse_study(text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"100ns"', '"fast"', r"alpha must be a time.*\[at ranks=4, reading=short\]"),
        ("alpha", "alfa", "unknown key 'alfa'.*'alpha'"),
        ("log2 = [2, 4]", "values = [4, 12]", "ranks must be a power of two.*got 12"),
        ('"noise.0.duration"', '"noise.1.duration"', "noise is a list of 1, no entry '1'"),
        ('"noise.0.duration"', '"noise.0.size"', "unknown key 'size'"),
        ('"noise.0.duration"', '"message_bytes.x"', "message_bytes must be an integer"),
        ('"0.1 ms"', '"2 ms"', "duration must be shorter than period"),
    ],
)
def test_bad_cells_are_named(old, new, message):
    assert old in GOOD
    study = parse_study(GOOD.partition("[full]")[0].replace(old, new, 1))
    with pytest.raises(ValueError, match=f"^study: .*{message}"):
        study.cells()


def test_a_value_that_an_axis_replaces_everywhere_is_refused():
    base = GOOD.partition("[full]")[0]
    parse_study(base)  # the duration is replaced at one point only
    text = base.replace("points.short]", 'points.short]\n"noise.0" = {kind = "jitter"}')
    with pytest.raises(ValueError, match=r"'noise.0.duration' is set by all of axes.reading"):
        parse_study(text)
    table = {"a": 1, "b": {"c": [1, 2], "d": [{"e": 2}, {}]}, "f": {}}
    assert list(leaves(table)) == ["a", "b.c", "b.d.0.e", "b.d.1", "f"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"slowdown"', '"slowdwn"', "figure must be one of .*did you mean 'slowdown'"),
        ("seed = 5", 'claims = ["M9"]', "claims: each must be one of"),
        ("seed = 5", 'claims = ["C1"]', "C1 is about figure overhead"),
    ],
)
def test_names_of_figure_and_claims(old, new, message):
    assert old in GOOD
    with pytest.raises(ValueError, match=f"^study: .*{message}"):
        check_study(parse_study(GOOD.replace(old, new, 1)))


def test_figures_check_their_cells():
    study = parse_study(GOOD.replace('after = "all"', "after = 0"))
    with pytest.raises(ValueError, match=r"'slowdown' needs .*after"):
        check_figure(study)
    with pytest.raises(ValueError, match="'overhead' needs the variants"):
        check_figure(parse_study(GOOD.replace('"slowdown"', '"overhead"')))


@pytest.mark.parametrize("path", sorted(SWEEPS.glob("*.toml")), ids=lambda path: path.stem)
@pytest.mark.parametrize("full", [False, True])
def test_shipped_studies(path, full):
    study = load_study(path, full=full)
    assert study.name == path.stem
    assert study.claims
    check_study(study)
    assert all(cell.realizations >= 10 for cell in study.cells())


def test_fig12_is_at_the_ratio_it_says():
    for cell in load_study(SWEEPS / "ms12_fig12.toml").cells():
        costs, noise = cell.case.costs, cell.case.noise
        duration = noise[0].duration * 1e12
        assert noise[1].duration == noise[0].duration
        with_combine = costs.transit + costs.combine
        assert with_combine / duration == pytest.approx(1e-2, rel=0.09)


def test_data_flows_one_way():
    """Which packages of ours each package may import."""
    allowed = {
        "studies": set(),
        "analysis": {"studies"},
        "claims": {"analysis", "studies"},
        "plots": {"analysis", "studies"},
        "trace": {"plots"},
    }
    root = Path(jitterfly.__file__).parent
    for package, below in allowed.items():
        for file in (root / package).glob("*.py"):
            found = re.findall(
                r"^\s*from \.\.(\w+)", file.read_text(encoding="utf-8"), re.MULTILINE
            )
            used = set(found) & {*allowed, "cli", "bench"}
            assert used <= below, f"{file}: {used - below}"
