"""Precision targets in tables, status and figures, with intervals."""

import csv
import re

import numpy as np
import pytest
from support import plotted_studies
from support.plotted_studies import CS14, CYCLES, MAPS, MS12, ONE_PANEL, drawn
from support.scale import full_scale, some

import jitterfly as jf
from jitterfly.answer import show
from jitterfly.cli import main
from jitterfly.results import Results, tables
from jitterfly.results.tables import status
from jitterfly.store import Store, export
from jitterfly.sweep import run

TARGETS = '["p99 of slowdown ± 5 %", "p90 of gain ± 10 %", "mean of slowdown ± 50 % at 99 %"]'
CURVES = MS12.replace('figure = "slowdown"\n', f"targets = {TARGETS}\n").replace(
    "log2 = [1, 8]", "log2 = [4, 6]"
)


def make(text, path):
    text = text.replace("min = 20, ", "").replace("max = 60", "min = 100, max = 4000")
    return plotted_studies.make(text, path)


def texts(figure):
    from matplotlib.text import Text

    return " | ".join(found.get_text().replace("\n", " ") for found in figure.findobj(Text))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return make(CURVES, tmp_path_factory.mktemp("targets") / "out")


def test_a_target_is_a_column_of_the_table_with_its_interval(results):
    (one, _) = tables.tables(results)
    heads = [" ".join(head.split()) for head in one.header]
    for row, cell in zip(one.rows, results.panels()[0].cells, strict=True):
        found = cell.estimate("slowdown", "p99")
        told = show(found)
        assert row[heads.index("p99 of slowdown [95 %]")] == told
        found = cell.estimate("slowdown", "mean", 0.99)
        told = show(found)
        assert row[heads.index("mean of slowdown at 99 % [99 %]")] == told
    printed = tables.table(results)
    assert "Other statistics that are targets have theirs in brackets" in printed
    for word in ("p99 of slowdown", "p90 of gain"):
        assert word in " ".join(printed.split())


def test_where_there_is_no_room_for_all_targets_stay(results):
    columns = results.columns
    targets = [target.column for target in results.study.targets]
    assert set(results.most_columns(3)) == set(targets)
    assert results.most_columns(4) == [c for c in columns if c in {columns[0], *targets}]
    assert results.most_columns(99) == columns


def test_exports_have_the_interval_of_a_target_with_another_confidence(results):
    table = results.store.to_pandas()
    at_99 = table[table.confidence == 0.99]
    assert {*zip(at_99.observable, at_99.statistic, strict=True)} == {("slowdown", "mean")}
    assert len(at_99) == len(results.cells)
    row, cell = next(at_99.itertuples()), results.cells[0]
    found = cell.estimate("slowdown", "mean", 0.99)
    assert (row.value, row.low, row.high) == (found.value, found.low, found.high)


def test_the_interval_of_a_target_allows_for_the_looks_at_the_data(results):
    cell = min(results.cells, key=lambda cell: cell.decision.share)
    assert cell.decision.share < 1
    (state,) = (s for s in cell.decision.states if s.target.column == "p99 of slowdown")
    mean = cell.summaries["p99 of slowdown"].mean
    assert (mean.value, mean.low, mean.high) == (
        state.estimate.value, state.estimate.low, state.estimate.high,
    )  # fmt: skip


def test_a_missed_target_is_marked_where_it_is_shown(results):
    cell = next(cell for cell in results.cells if cell.unmet)
    missed = {s.target.column for s in cell.decision.states if not s.met}
    assert set(cell.unmet) == missed
    assert "slowdown" not in missed  # its mean was no target


def test_realizations_that_are_stored_and_not_used_are_said(tmp_path):
    """A run to a finer target, or of more realizations, left them there."""
    text = CURVES.replace(TARGETS, '["mean of slowdown ± 2 %"]')
    before = tables.table(make(text, tmp_path))
    assert "stored" not in before
    study = make(text, tmp_path).study
    run(study, tmp_path, targets=["mean of slowdown ± 30 %"])
    coarse = Results(Store.open(tmp_path))
    (some,) = [line for line in tables.notes(coarse) if "stored" in line]
    cells = [cell for cell in coarse.cells if cell.stored > cell.realizations]
    most = max(cells, key=lambda cell: cell.stored)
    assert some == (
        f"{len(cells)} of {len(coarse.cells)} cells have more realizations stored than this run "
        f"asks for, and the table is of fewer: {most.realizations:,} of {most.stored:,} at "
        f"{most.name}."
    )
    assert " ".join(some.split()) in " ".join(tables.table(coarse).split())
    run(study, tmp_path)
    assert tables.table(Results(Store.open(tmp_path))) == before
    run(study, tmp_path, targets=[], realizations=100)
    assert any("100 of " in line for line in tables.notes(Results(Store.open(tmp_path))))


def test_status_shows_the_value_and_its_interval(results, capsys):
    state = results.cells[0].decision.states[0]
    told = f"{float(state.estimate.value):.4g} [{float(state.estimate.low):.4g}"
    line = next(line for line in status(results.store).splitlines() if "p99 of slowdown:" in line)
    assert told in line
    assert main(["status", str(results.store.path)]) == 0
    assert told in capsys.readouterr().out


def test_a_time_that_is_a_target_has_its_unit_in_the_status(tmp_path):
    text = CS14.replace("figure =", 'targets = ["p95 of overhead ± 5 %"]\nfigure =')
    told = status(make(text, tmp_path / "out").store)
    assert re.search(r"p95 of overhead: .*: [0-9.]+ \[[0-9.]+, [0-9.]+\] µs", told)


def test_what_has_too_few_realizations_for_an_end_says_so():
    for low, high, text in ((11.9, np.inf, "12.3 [11.9, ?]"), (-np.inf, np.inf, "12.3 [?, ?]")):
        assert show(jf.stats.Estimate(12.3, low, high, 0.95, 10)) == text


def test_the_file_has_it_too(results, tmp_path):
    export(results.store, tmp_path / "x.csv")
    rows = list(csv.DictReader((tmp_path / "x.csv").read_text().splitlines()))
    wanted = {"observable": "slowdown", "statistic": "p99", "ranks": "16", "reading": "one"}
    (row,) = (row for row in rows if wanted.items() <= row.items())
    assert float(row["high"]) == float(results.cells[0].estimate("slowdown", "p99").high)


@pytest.mark.parametrize("kind", some(["curves", "slowdown", "family"], 1))
def test_pictures_along_an_axis_draw_it(results, kind):
    pytest.importorskip("matplotlib")
    figure = drawn(results, kind)
    assert "p99 of slowdown" in texts(figure)
    assert "p90 of gain" in texts(figure)
    wanted = [float(s.estimate("slowdown", "p99").value) for s in results.panels()[0].cells]
    assert any(
        len(line.get_ydata()) == len(wanted) and np.allclose(line.get_ydata(), wanted)
        for axes in figure.axes
        for line in axes.lines
    )


FEW_MAPS = (
    MAPS.replace('targets = ["mean of gain ± 30 %"]\n', "")
    .replace("0.01, 0.1, 0.3", "0.1, 0.3")
    .replace("log2 = [1, 6]", "log2 = [4, 6]")
)


@pytest.mark.parametrize(
    ("text", "kind", "target"),
    [
        full_scale(CS14, "overhead", "p95 of overhead"),
        (CYCLES.replace("log2 = [1, 6]", "log2 = [4, 6]"), "cycles", "p95 of overhead, cycle 3"),
        (FEW_MAPS, "maps", "p99 of slowdown"),
    ],
)
def test_the_other_pictures_draw_it(tmp_path, text, kind, target):
    pytest.importorskip("matplotlib")
    title, _, rest = text.partition("realizations")
    found = make(f'{title}targets = ["{target} ± 5 %"]\nrealizations{rest}', tmp_path / "out")
    assert target in texts(drawn(found, kind))
    base, heads = target.partition(",")[0], {h for t in tables.tables(found) for h in t.header}
    titles = {t.title for t in tables.tables(found)}
    assert any(base in " ".join(text.split()) for text in heads | titles)


def test_a_map_of_a_target_prints_its_intervals_and_marks(tmp_path):
    text = MAPS.replace('"mean of gain ± 30 %"', '"p99 of slowdown ± 5 %"')
    found = make(text, tmp_path / "out")
    (one,) = (t for t in tables.tables(found) if t.title.startswith("p99 of slowdown"))
    assert all("±" in cell for row in one.rows for cell in row[1:])
    (other,) = (t for t in tables.tables(found) if t.title == "slowdown")
    assert not any("*" in cell for row in other.rows for cell in row)


def test_what_has_no_place_in_a_picture_is_named(tmp_path):
    pytest.importorskip("matplotlib")
    text = ONE_PANEL.replace("figure =", 'targets = ["win probability of gain ± 5 %"]\nfigure =')
    found = make(text.replace("log2 = [1, 8]", "log2 = [3, 5]"), tmp_path / "out")
    assert "not in this figure: win probability of gain" in texts(drawn(found, "slowdown"))
    assert "win probability of gain" in texts(drawn(found, "curves"))


def test_it_can_be_drawn_alone(results, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    out = tmp_path / "x.png"
    alone = ["--kind", "curves", "--observable", "p99 of slowdown", "--out", str(out)]
    assert main(["plot", str(results.store.path), *alone]) == 0
    assert out.stat().st_size > 10_000
    alone[1] = "tail"
    assert main(["plot", str(results.store.path), *alone]) == 2
    assert "single realizations have a value" in capsys.readouterr().err


def test_a_table_says_why_a_narrow_interval_does_not_meet_its_target():
    case = jf.Case(64, network="L=1us,o=200ns", noise=jf.StepNoise("1us", 0.008))
    store = jf.Study("few", case=case, axes=[jf.Axis("ranks", [4, 64])],
                     budget=jf.RealizationBudget(max=100), targets=["mean of completion ± 50 %"]
                     ).run()  # fmt: skip
    few, _ = (store.decision(cell).states[0] for cell in store.cells)
    assert few.narrow_enough
    assert not few.met
    told = " ".join(store.summary().split())
    why = f"The mean of completion may lack what rare noise adds: {few.why} at ranks=4"
    assert why in told
