"""Figures of studies: each kind, labels, unfinished runs, reproducibility; trace picture."""

import importlib
import json
import random
from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from support import scale
from support.plotted_studies import CS14, CYCLES, MAPS, MS12, ONE_PANEL, READINGS, drawn, make
from support.scale import full_scale, scaled, some
from support.small_study import OBSERVABLES

import jitterfly as jf
from jitterfly import extensions
from jitterfly.answer import show
from jitterfly.cli import main
from jitterfly.plots import distribution, draw, maps, style
from jitterfly.plots.curves import curves, draw_curves
from jitterfly.plots.distribution import steps, tail
from jitterfly.replay import Replay
from jitterfly.results import Results, figures, tables
from jitterfly.results.figures import AxisScale, shown_names
from jitterfly.results.results import Grid, GridMap, _rescale, grids_of_maps
from jitterfly.results.tables import short
from jitterfly.store import Store
from jitterfly.studies import parse_study
from jitterfly.studies.study import FIGURES
from jitterfly.sweep import run
from jitterfly_papers.cell_values import RUNS, few_run_mean, few_runs_of, last, recovery_bound
from jitterfly_papers.claims.cells import needed
from jitterfly_papers.claims.claim import of_independent
from jitterfly_papers.figures import few_runs, published_figures
from jitterfly_papers.plots import papers

ADDED = extensions.names(extensions.FIGURES)


@pytest.mark.parametrize("kind", [*FIGURES, *ADDED])
def test_every_kind_has_a_function_that_draws_it(kind):
    assert set(draw.DRAWN_IN) == set(FIGURES)
    assert {"slowdown", "overhead", "few_runs"} <= set(ADDED)
    module = importlib.import_module(draw.module_of(kind))
    assert callable(getattr(module, f"draw_{kind}"))


def picture(results, path, **options):
    draw.draw(results, path, **options)
    assert path.stat().st_size > 10_000


@pytest.fixture(scope="module")
def ms12(tmp_path_factory):
    return make(MS12, tmp_path_factory.mktemp("ms12") / "out")


def test_slowdown(ms12, tmp_path):
    results = ms12
    picture(results, tmp_path / "a.png")
    assert [panel.label for panel in results.panels()] == ["one", "two"]
    cell = results.panels()[0].cells[-1]
    samples = jf.simulate(cell.first_case, realizations=60).samples / (8 * 1.008e-6)
    facts = cell.summaries
    assert float(facts["slowdown"].mean.value) == pytest.approx(samples[:, 0].mean())
    best = int(samples[:, 1:].mean(axis=0).argmin()) + 1
    assert best == facts["slowdown_redundant"].T
    assert float(facts["slowdown_redundant"].mean.value) == pytest.approx(samples[:, best].mean())
    gain = facts["gain"].mean
    assert float(gain.value) == pytest.approx(samples[:, 0].mean() / samples[:, best].mean())
    assert gain.low < gain.value < gain.high
    assert 1 <= facts["optimal_T"].mean.value <= best
    assert few_runs_of(cell, "slowdown").value == pytest.approx(samples[:30, 0].mean())
    assert "2^8" in tables.table(results)


@pytest.mark.full_scale
def test_figures_with_the_axes_of_the_papers(tmp_path):
    times = MS12 + 'time = { kind = "completion", T = 0 }\n'
    results = make(times, tmp_path / "times")
    assert published_figures(results.study) == ["times"]
    picture(results, tmp_path / "a.png", kind="times")
    text = MAPS.replace('name = "maps"', 'name = "maps"\nclaims = ["M3"]')
    results = make(text, tmp_path / "maps")
    assert published_figures(results.study) == ["paper_maps"]
    picture(results, tmp_path / "b.png", kind="paper_maps")
    with pytest.raises(ValueError, match="'times' needs the observables: 1 of kind 'completion'"):
        draw.draw(results, tmp_path / "c.png", kind="times")
    with pytest.raises(ValueError, match="'paper_maps' needs a claim M3 or M5"):
        draw.draw(make(MAPS, tmp_path / "none"), tmp_path / "d.png", kind="paper_maps")


def test_a_ratio_of_times_is_across_as_in_the_papers(tmp_path):
    study = parse_study(MAPS)
    ratios = [axis.name for axis in study.axes if axis.rule]
    assert ratios
    assert maps.map_axes(study) == (ratios[0], "ranks")


def test_what_is_enough_is_within_five_per_cent(ms12):
    cell = ms12.panels()[0].cells[-1]
    means = jf.simulate(cell.first_case, realizations=60).samples.mean(axis=0)
    close = 1 + int(np.argmax(means[1:] <= 1.05 * means[1:].min()))
    found = needed(cell, "optimal_T")
    assert found.value == close
    assert 1 <= found.low <= found.value <= found.high <= 8


@pytest.mark.parametrize("text", [CS14, CYCLES])
def test_overhead_and_cycles(tmp_path, text):
    results = make(text, tmp_path / "out")
    # At small scale overheads are drawn in the test of their bound alone.
    if scale.FULL or text == CYCLES:
        picture(results, tmp_path / "a.png")
    if scale.FULL:
        picture(results, tmp_path / "b.png", kind="curves", observable="recovery")
    cell = results.panels()[0].cells[-1]
    quiet, conventional, redundant = (
        jf.simulate(variant.case, realizations=60).samples for variant in cell.cell.variants
    )
    over = (conventional - quiet)[:, -1]
    assert float(last(cell, "overhead").mean.value) == pytest.approx(over.mean())
    recovered = (conventional - redundant)[:, -1].mean() / over.mean()
    assert float(last(cell, "recovery").mean.value) == pytest.approx(recovered)
    if text == CS14:
        assert recovery_bound(cell, "recovery") is None  # several cycles
    assert last(cell, "recovery").quantiles is None
    lines = tables.table(results).splitlines()
    assert any("cycle 4" in line for line in lines) == (text == CYCLES)
    # An observable of each cycle is shown by its name with all of its cycles.
    lines_of = curves(results, shown_names(results.study, "recovery"), 3).rows[0][0].lines
    named = [f"recovery, cycle {cycle}" for cycle in range(1, 5)]
    assert list(lines_of) == (named if text == CYCLES else ["recovery"])


def test_recovery_stays_below_the_bound(tmp_path):
    text = CS14.replace("cycles = 4", "cycles = 1").replace("max = 60", "max = 4000")
    text += 'late = { kind = "completion", variant = "conventional" }\n'
    results = make(text, tmp_path / "out")
    picture(results, tmp_path / "a.png")
    for cell in results.panels()[0].cells[2:]:
        facts = cell.summaries["recovery"]
        bound = recovery_bound(cell, "recovery")
        assert facts.mean.low < bound < 1
        late, lost = (float(cell.summaries[name].mean.value) for name in ("late", "overhead"))
        earliest = jf.theory.completion_bound(cell.cell.cases["conventional"])
        assert bound == pytest.approx((late - earliest) / lost, rel=1e-9)
    fresh = make(text.replace("stationary", "fresh").replace("4000", "40"), tmp_path / "fresh")
    assert recovery_bound(fresh.cells[-1], "recovery") is None


def test_maps(tmp_path):
    results = make(MAPS, tmp_path / "out")
    assert figures.figure_kind(results.study) == "maps"
    for name, observable in some([("b.svg", "gain"), ("a.png", None)], 1):
        picture(results, tmp_path / name, observable=observable)
    (grid,) = grids_of_maps(results, "ranks", "duration", results.names)
    assert grid.maps["gain"].values.shape == (3, 6)
    assert grid.maps["gain"].values[0, 0] < grid.maps["gain"].values[2, 5]
    assert grid.maps["gain"].unmet.any() == any(cell.unmet for cell in results.cells)
    assert not grid.maps["slowdown"].unmet.any()
    table = tables.table(results)
    assert "D / P" in table
    assert "cells met the target" in table


@pytest.mark.parametrize(
    ("values", "kind", "ends", "told"),
    [
        ([1.0, 1.02, 1.05], "slowdown", (1, 1.05), " (colours span 5 %)"),
        ([1.04, 1.05], "slowdown", (1, 1.05), " (colours span 5 %)"),
        ([1.0, 1.0], "slowdown", (1, 1.01), " (colours span 1 %)"),
        ([1e-3, 1.1e-3], "other", (1e-3, 1.1e-3), " (colours span 10 %)"),
        ([1.0, 1.5], "slowdown", (1, 1.5), ""),
        ([-2.6, 0.4], "other", (-2.6, 0.4), ""),
        ([-3e-4, -4e-5], "other", (-3e-4, 0), ""),
        ([0.0, 0.0], "other", (0, 1), ""),
    ],
)
def test_colours_of_a_map_span_its_values(values, kind, ends, told):
    """Where these are nearly constant, the title says how little that is."""
    norm = maps._norm([np.array([values, [np.nan] * len(values)])], kind)
    assert (norm.vmin, norm.vmax) == pytest.approx(ends)
    numbers, none = np.array([values]), np.zeros((1, len(values)), dtype=bool)
    one = GridMap("it", kind, numbers, 0 * numbers, none, none)
    grid = Grid("", ["1"] * len(values), ["1"], {"a": one})
    axes = maps.Figure().add_subplot()
    maps._panel(axes, grid, "a", norm, (3.0, 2.0))
    assert axes.get_title() == f"it{told}"
    assert not np.ma.getmaskarray(norm(numbers)).any()  # every value has a colour


def test_numbers_on_what_has_no_colour_are_black():
    axes = maps.Figure().add_subplot()
    maps.draw_map(axes, [[-1.0, 1.0]], maps.LogNorm(1, 10))
    assert [text.get_color() for text in axes.texts] == ["white", "black"]


def test_differences_below_0_have_a_unit():
    """Of the largest, whatever its sign."""
    none = np.zeros((1, 2), dtype=bool)
    values = np.array([[-3.6e-4, 4e-5]])
    one = GridMap("over", "other", values, 0 * values, none, none, "s")
    _rescale([one])
    assert (one.title, list(one.values[0])) == ("over, µs", pytest.approx([-360, 40]))


def test_an_unfinished_run_is_drawn_and_says_so(tmp_path):
    run(parse_study(MAPS.replace("log2 = [1, 6]", "log2 = [2, 5]")), tmp_path / "out")
    for file in sorted((tmp_path / "out" / "records").iterdir())[:7]:
        file.unlink()
    results = Results(Store.open(tmp_path / "out"))
    for kind in some(("maps", "curves"), 1):
        picture(results, tmp_path / f"{kind}.png", kind=kind)
    (grid,) = grids_of_maps(results, "ranks", "duration", results.names)
    assert np.isnan(grid.maps["gain"].values).sum() == 7
    assert "UNFINISHED: 5 of 12 cells done" in tables.table(results)


def test_nothing_to_draw(tmp_path):
    run(parse_study(MAPS.replace("log2 = [1, 6]", "log2 = [1, 2]")), tmp_path / "out")
    for file in (tmp_path / "out" / "records").iterdir():
        file.unlink()
    results = Results(Store.open(tmp_path / "out"))
    with pytest.raises(ValueError, match="no cell has any data yet"):
        draw.draw(results, tmp_path / "a.png")
    assert "UNFINISHED" in tables.table(results)


def test_beyond_the_raw_budget(tmp_path):
    """Few samples are kept, the rest is a histogram: pictures and tables are the same kind."""
    text = MAPS.replace("max = 60", "max = 60, raw_bytes = 2000").replace("± 30 %", "± 0.1 %")
    text = text.replace("0.01, 0.1, 0.3", "0.1, 0.3").replace("[1, 6]", "[4, 6]")
    results = make(text, tmp_path / "out")
    cell = results.cells[-1]
    assert cell.cell.raw_limit < cell.realizations == 60
    assert not cell.observed("gain").exact
    for kind in some(("distribution", "curves", "tail", "maps"), 1):
        observable = None if scale.FULL else "gain"
        picture(results, tmp_path / f"{kind}.png", kind=kind, observable=observable)
    assert tables.tables(results)


@pytest.mark.parametrize("realizations", [1, full_scale(2)])
@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (ONE_PANEL, ["slowdown", "tail"]),
        full_scale(CS14, ["overhead"]),
        full_scale(CYCLES, ["cycles"]),
        full_scale(MAPS, ["maps"]),
    ],
)
def test_few_realizations_still_draw(tmp_path, realizations, text, kinds):
    results = make(text.replace("min = 20, ", ""), tmp_path / "out", realizations=realizations)
    assert {cell.realizations for cell in results.cells} == {realizations}
    for kind in some(kinds, 1):
        picture(results, tmp_path / f"{kind}.png", kind=kind)
    tables.table(results)


ANY = {
    "alone": "[case]\nranks = 8",
    "text": """[axes.ranks]
values = [8]
[axes.a.points.x]
[axes.a.points.y]
"noise.0.duration" = "10us"
""",
    "time": """[case]
ranks = 8
[axes.alpha]
path = "network.alpha"
values = ["1us", "2us", "5us"]
""",
    "many": """[axes.ranks]
log2 = [1, 2]
[axes.message_bytes]
values = [1, 2, 3, 4, 5, 6, 7, 8]
[axes.b.points.x]
[axes.b.points.y]
"network.beta" = "2ns"
""",
    "each": """[axes.ranks]
log2 = [1, 7]
[observables.slow]
kind = "slowdown"
T = "each"
""",
}


@pytest.mark.parametrize("name", ["alone", *map(full_scale, ("text", "time", "each")), "many"])
def test_studies_of_any_kind_are_drawn(tmp_path, name):
    network = 'network = { kind = "hockney", alpha = "1us", beta = "1ns", gamma = "1ns" }'
    if name == "time":
        network = network.replace('alpha = "1us", ', "")
    case = "[case]\n" + network + '\nnoise = [{ kind = "periodic", period = "100us" }]\n'
    case = case.replace('"100us"', '"100us", duration = "30us"')
    if name == "each":
        case += 'algorithm = { kind = "butterfly", exchanges_after = "all" }\n'
    rest = ANY[name]
    if rest.startswith("[case]"):
        case, rest = case + rest.splitlines()[1] + "\n", "\n".join(rest.splitlines()[2:])
    text = f'name = "any"\nrealizations = {{ max = 40 }}\n{case}{rest}'
    results = make(text, tmp_path / name)
    kinds = some([None, "distribution", "tail"], 1)
    if name == "many":  # takes long
        kinds = ["curves"] if scale.FULL else []
    for kind in kinds:
        picture(results, tmp_path / f"{name}_{kind}.png", kind=kind)
    assert tables.tables(results)
    note = curves(results, results.names, 2).note
    assert bool(note) == (name in ("many", "each"))
    if name == "many":
        (grid, _) = grids_of_maps(results, "ranks", "message_bytes", results.names)
        assert grid.maps["completion"].title == "completion, µs"
        assert 1 < grid.maps["completion"].values.min() < 2


def test_few_runs(ms12, tmp_path):
    results = make(MS12.replace("max = 60", "max = 700"), tmp_path / "out")
    picture(results, tmp_path / "a.png", kind="few_runs")
    cells = few_runs(results)
    assert [cell.observable for cell in cells] == ["slowdown"] * 3 + ["slowdown_redundant"] * 3
    for cell in cells:
        assert len(cell.means) == 23 == 700 // RUNS
        assert cell.apart == cell.means.max() / cell.means.min() >= 1
    (one,) = few_runs(results, "gain", 1)
    text = MS12.replace("max = 60", "max = 600")
    names = "".join(f'{name} = {{ kind = "slowdown" }}\n' for name in ("first", "second", "third"))
    text = text.replace(OBSERVABLES, f"[observables]\n{names}")
    several = make(text, tmp_path / "several").store.plot(kind="few_runs")
    told = " ".join(" ".join(text.get_text().split()) for text in several.texts)
    assert "2 of 3 observables (left out: third)" in told
    assert one.mean.low < one.mean.value < one.mean.high
    with pytest.raises(ValueError, match="needs cells with 600 samples"):
        draw.draw(ms12, tmp_path / "b.png", kind="few_runs")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "slowdwn"}, "^kind must be one of .*did you mean 'slowdown'"),
        ({"kind": "maps"}, "'maps' needs two axes of at least two numbers each, got ranks"),
        ({"kind": "overhead"}, "needs the observables: 2 of kind 'overhead'"),
        ({"kind": "cycles"}, "needs the observables"),
        ({"observable": "gian"}, "observable must be one of .*did you mean 'gain'"),
        ({"observable": "gain"}, "'slowdown' shows its own observables"),
        ({"kind": "tail", "observable": "optimal_T"}, "single realizations have a value"),
    ],
)
def test_figures_that_a_study_can_not_have(ms12, tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        draw.draw(ms12, tmp_path / "a.png", **options)


FEWER_RANKS = MS12 if scale.FULL else MS12.replace("log2 = [1, 8]", "log2 = [1, 3]")


def test_titles_are_no_formulas_and_need_no_font(tmp_path):
    text = FEWER_RANKS.replace('"after"', '"$\\\\frac{$ 雑音"').replace(
        "points.one", 'points."$x^$"'
    )
    results = make(text, tmp_path / "out")
    assert results.study.title == "$\\frac{$ 雑音"
    for kind in some(("slowdown", "curves"), 1):
        picture(results, tmp_path / f"{kind}.png", kind=kind)


def test_the_same_picture_is_the_same_file(tmp_path):
    text = FEWER_RANKS.replace(READINGS, "")
    results = make(text, tmp_path / "out", realizations=40)
    for name in ("a.svg", "b.svg"):
        draw.draw(results, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_tail_says_how_far_the_sample_reaches(tmp_path):
    results = make(MS12.replace("max = 60", "max = 500"), tmp_path / "out")
    observed = results.cells[-1].observed("slowdown")
    share, value, low, high = tail(observed)
    bounded = share[np.isfinite(low) & np.isfinite(high)]
    last = [name for name, named in distribution.NAMED.items() if named in bounded][-1]
    assert last == "p99"  # 368 are needed for it, 3688 for p99.9
    known = np.isfinite(high)
    assert share[known].min() >= 1 / 500
    assert (np.diff(share) < 0).all()
    assert (np.diff(value) >= 0).all()
    values, shares = steps(observed)
    samples = np.sort(observed.samples)
    for value, share in zip(values[::20], shares[::20], strict=True):
        assert np.mean(samples <= value) >= share - 1e-9


@pytest.mark.parametrize(
    ("realizations", "last"), [(1, "p50"), (200, "p99"), full_scale(20_000, "p99.99")]
)
def test_the_axis_of_a_tail_ends_where_the_sample_does(tmp_path, realizations, last):
    text = FEWER_RANKS.replace("max = 60", f"max = {realizations}")
    figure = drawn(make(text, tmp_path / "out"), "tail", "slowdown")
    for axes in figure.axes:
        low, high = axes.get_ylim()
        least = min(line.get_ydata().min() for line in axes.lines if len(line.get_ydata()))
        assert 0.5 * least < low < least
        shown = [share for share in distribution.NAMED.values() if low < share < high]
        assert min(shown) == distribution.NAMED[last]


@pytest.mark.full_scale
def test_a_large_study_has_a_picture_and_a_table_that_can_be_read(tmp_path):
    values = ", ".join(f"{0.001 * (i + 1):.3f}" for i in range(80))
    text = MAPS.replace("0.01, 0.1, 0.3", values).replace("log2 = [1, 6]", "log2 = [1, 2]")
    results = make(text, tmp_path / "out", realizations=20)
    with draw.drawing():
        figure = maps.draw_maps(results)
    assert max(figure.get_size_inches()) < 32
    assert not any(axes.texts for axes in figure.axes)  # cells are too small for numbers
    for axes in figure.axes[:4]:
        assert len(axes.get_yticks()) <= 40
    lines = tables.table(results).splitlines()
    assert len(lines) < 200
    assert sum("... 40 more rows: summary.csv has all" in line for line in lines) == 4


def test_a_study_without_title_has_its_name(tmp_path, capsys):
    text = MAPS.partition("[axes.")[0].replace('"100us"', '"100us", duration = "1us"')
    text = text.replace("[case]", "[case]\nranks = 8").replace("mean of gain", "mean of slowdown")
    results = make(text, tmp_path / "out", realizations=20)
    assert results.title == "maps"
    assert main(["status", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out.startswith("maps: ")
    assert main(["plot", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out.startswith("maps\n")


def test_ticks_have_the_digits_that_tell_them_apart():
    assert [style.in_unit(v, "s", [1.0075e-6, 1.01e-6]) for v in (1.0075e-6, 1.01e-6)] == [
        "1.0075 µs", "1.01 µs",
    ]  # fmt: skip
    assert style.in_unit(1.0, "", [1.0, 1.0000005]) == "1"
    assert style.in_unit(1.0000005, "", [1.0, 1.0000005]) == "1.0000005"
    assert style.in_unit(1e-22, "s", [0.0, 1e-6]) == "0 µs"  # a rounding of the locator
    assert len(style.bar_ticks(1.0, 9.2, 0.45)) == 2
    assert style.bar_ticks(1.0, 1.3, 0.45) == [1.0, 1.3]
    for height in (0.45, 1.0, 3.0):
        for high in (1.4, 5.0, 40.0, 1e7):
            at = np.log10(style.bar_ticks(1.0, high, height)) * height / np.log10(high)
            assert np.diff(at).min() >= 0.15


def test_long_texts_are_broken_into_lines(tmp_path):
    text = FEWER_RANKS.replace('"after"', '"' + "a long title " * 15 + '"')
    text = text.replace("points.one", 'points."' + "a long label " * 9 + '"')
    results = make(text.replace("points.two", 'points."t\\nwo"'), tmp_path / "out", realizations=9)
    with draw.drawing():
        figure = papers.draw_slowdown(results)
        figure.canvas.draw()
        boxes = [axes.title.get_window_extent() for axes in figure.axes[:2]]
        title = figure.texts[0].get_window_extent()
    assert boxes[0].x1 < boxes[1].x0
    assert title.x0 > 0
    assert title.x1 < figure.bbox.width
    assert figure.axes[1].get_title() == "t wo"
    title = style.wrapped("ratio = 0.0, recursive_doubling_allreduce", 1.6, 9)
    assert title.splitlines() == ["ratio = 0.0, recursive_", "doubling_allreduce"]


def test_one_realization_is_a_step_and_what_is_left_out_is_told(tmp_path):
    results = make(ONE_PANEL, tmp_path / "out", realizations=1)
    values, shares = steps(results.cells[-1].observed("slowdown"))
    assert values[0] == values[1]
    assert list(shares) == [0, 1]
    with draw.drawing():
        figure = distribution.draw_distribution(results)
    told = figure.texts[1].get_text().replace("\n", " ")
    assert "1 realization per cell" in told
    assert "6 of 8 cells" in told
    assert style.observables_left_out(["gain"], ["gain", "mean_T"]) == (
        "1 of 2 observables (left out: mean T)"
    )
    assert style.observables_left_out([], list("abcde")).endswith(
        "(left out: a, b, c, d and 1 more)"
    )
    assert style.observables_left_out(["gain"], ["gain"]) == ""


def test_optimal_T_has_whole_numbers_and_its_bars_a_name(tmp_path):
    with draw.drawing():
        figure = draw_curves(make(ONE_PANEL, tmp_path / "out"), "optimal_T")
        figure.canvas.draw()
    assert all(tick == int(tick) for tick in figure.axes[0].get_yticks())
    (legend,) = figure.legends
    assert all("not told from the best" in text.get_text() for text in legend.get_texts())


def test_measures():
    samples = np.arange(1.0, 101.0)
    few = few_run_mean(samples)
    assert few.value == samples[:30].mean()
    # The standard error of a 30-run mean is 28.9 / sqrt(30) = 5.3.
    assert few.low == pytest.approx(50.5 - 1.645 * 5.27, abs=1)
    assert few.high == pytest.approx(50.5 + 1.645 * 5.27, abs=1)
    assert np.isnan(few_run_mean(samples[:29]).low)
    a, b = (jf.stats.Estimate(v, v - 1, v + 1, 0.95, 9) for v in (20.0, 10.0))
    found = of_independent(a, b)
    assert found.value == 2
    assert found.high - found.value == pytest.approx(2 * np.hypot(0.05, 0.1))


def around(value, half):
    return show(jf.stats.Estimate(value, value - half, value + half, 0.95, 100))


def test_axes():
    assert AxisScale([4, 8, 16]).positions == [2, 3, 4]
    assert AxisScale([0.01, 0.1, 1.0]).scale == "log10"
    assert AxisScale([1.0, 2.0]).scale == AxisScale([-1, 5]).scale == "linear"
    assert AxisScale(["b", "a"]).positions == [0, 1]
    assert len(AxisScale([2**k for k in range(20)]).ticks[0]) <= 10
    assert [short(v) for v in (0.0, 1.0, 9.96, 123.4, 12345.0)] == ["0", "1", "10", "123", "1e4"]
    assert around(90.42, float("inf")) == "90.4 [?, ?]"
    assert around(0.00848, 0.00043) == "0.00848 [0.00805, 0.00891]"  # µs; it was 0.008 ± <0.001
    assert around(0.01005, 0.00051) == "0.01 [0.00954, 0.0106]"
    assert around(1.0, 1e-9) == "1 [0.999999999, 1.000000001]"
    assert around(1.0, 1e-16) == "1 [1, 1]"
    known = [(1.0367, 0.0015), (1.0004, 0.0003), (17.56, 0.2), (1.05, 0.0), (0.0312, 2e-4)]
    assert [short(*one) for one in known] == ["1.037", "1.000", "17.56", "1.050", ".031"]
    assert [short(*one, 3) for one in known] == ["1.04", "1.00", "17.6", "1.05", ".031"]
    assert [short(1234.5, 0.3), short(-0.5, 0.02)] == ["1234", "-.500"]


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
        exchanges_after=after,
        copy_levels=draw.choice([None, "all", some]),
        forward_cost=draw.choice([0, "30ns"]) if after else 0,
    )
    cycles, work = draw.randint(1, 3), draw.choice([0, "1us"])
    return jf.Case(
        2**rounds,
        algorithm=algorithm,
        network=network,
        noise=noise,
        cycles=cycles,
        compute_time=work,
    )


def test_replay_is_what_the_engine_does():
    """`Replay` raises if a ready time of its messages differs from the engine's by one tick."""
    draw = random.Random(1)
    for _ in range(scaled(150)):
        replay = Replay(random_case(draw), draw.getrandbits(64), draw.randint(0, 99))
        assert all(message.sent <= message.arrival for message in replay.messages)


@pytest.mark.parametrize("name", [full_scale("trace.png"), "trace.pdf", full_scale("trace.svg")])
def test_trace(tmp_path, capsys, name):
    out = tmp_path / name
    options = (
        "--copy-levels all --exchanges-after 2 --compute-time 2us --cycles 2 "
        "--noise period=200us,duration=10us --noise kind=jitter,period=5us,duration=1us --out"
    )
    assert main(["trace", *options.split(), str(out)]) == 0
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
    printed = capsys.readouterr()
    adopted = printed.out.partition(" copies adopted")[0].split()[-3]
    assert int(adopted) > 0
    # Its network and algorithm are others than those that slowdown takes by itself.
    what, network, *_ = printed.out.splitlines()
    assert what.startswith("butterfly, copy_levels = all, 16 ranks, 8 B, under noise: periodic, ")
    assert network == "network: loggops, L = 1 µs, o = 20 ns, gamma = 100 ps"
    assert "(none was given with --network)" in printed.err


@pytest.mark.parametrize("ranks", [1, full_scale(2)])
def test_trace_of_the_smallest(tmp_path, ranks):
    out = tmp_path / "trace.png"
    assert main(["trace", "--ranks", str(ranks), "--noise", "none", "--out", str(out)]) == 0


SETTINGS = """
name = "settings"
realizations = { max = 60 }
targets = ["p90 of completion ± 50 %"]
[case]
network = { kind = "loggops", L = "1us", o = "200ns" }
noise = [{ kind = "periodic", period = "100us", start = "stationary" }]
[axes.ranks]
log2 = [3, 5]
[axes.T]
path = "algorithm.exchanges_after"
values = [0, 1, 2, 3]
[axes.D]
path = "noise.0.duration"
values = ["1us", "2us", "5us", "10us", "20us"]
"""
if not scale.FULL:
    SETTINGS = SETTINGS.replace("log2 = [3, 5]", "values = [8, 32]")
    SETTINGS += '[observables]\ncompletion = { kind = "completion" }\n'
ONE_SETTING = SETTINGS.replace("[0, 1, 2, 3]", "[0]").replace(', "2us", "5us", "10us", "20us"', "")


@pytest.fixture(scope="module")
def many_settings(tmp_path_factory):
    return make(SETTINGS, tmp_path_factory.mktemp("settings") / "out").store


@pytest.fixture(scope="module")
def many_curves(many_settings):
    return many_settings.plot(kind="curves")


def test_of_many_settings_those_are_shown_that_can_be_compared(many_settings, many_curves):
    figure = many_settings.plot(kind="tail")
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles == [f"T = {T}, D = {D} µs" for T in (0, 3) for D in (1, 5, 20)]
    told = " ".join(" ".join(text.get_text().split()) for text in figure.texts)
    assert "6 of 20 settings" in told
    assert "left out: T = 1, 2; D = 2 µs, 10 µs (`where` picks others)" in told
    times = many_settings.plot(kind="times")
    assert [axes.get_title() for axes in times.axes] == titles
    assert "left out: T = 1, 2; D = 2 µs, 10 µs" in " ".join(times.texts[1].get_text().split())
    assert figure.get_figwidth() <= 13
    assert many_curves.get_figwidth() <= 13


def test_size_and_title(many_settings, tmp_path):
    figure = many_settings.plot(
        kind="family", observable="completion", figsize=(4, 6.5), title="Mine, " + "very " * 20
    )
    assert figure.get_size_inches().tolist() == [4, 6.5]
    renderer = FigureCanvasAgg(figure).get_renderer()
    title, below = (text.get_window_extent(renderer) for text in figure.texts[:2])
    assert title.x0 >= 0
    assert title.x1 <= figure.bbox.x1
    assert below.y1 <= title.y0 + 1
    assert figure.axes[0].get_tightbbox(renderer).y1 <= below.y0
    assert figure.texts[0].get_text().startswith("Mine, very")
    rule = r"`figsize` must be at least 1.8 x [0-9.]+ inches for 1 x 1 panels"
    with pytest.raises(ValueError, match=rule):
        many_settings.plot(kind="family", observable="completion", figsize=(3, 2))
    for size in ("7x4", 3, (1, 2, 3), (0, 3), (float("nan"), 3)):
        with pytest.raises(ValueError, match="`figsize` must be width and height in inches"):
            many_settings.plot(figsize=size)


@pytest.mark.parametrize(("text", "kind"), [(ONE_SETTING, "family"), full_scale(SETTINGS, "maps")])
def test_size_and_title_on_the_command_line(tmp_path, capsys, text, kind):
    run(parse_study(text), tmp_path / "out")
    command = ["plot", str(tmp_path / "out"), "--kind", kind, "--observable", "completion"]
    out = ["--out", str(tmp_path / "x.pdf"), "--title", "Mine"]
    assert main([*command, *out, "--size", "16x5"]) == 0
    content = (tmp_path / "x.pdf").read_bytes()
    assert b"/MediaBox [ 0 0 1152 360 ]" in content
    assert b"/Type3" not in content
    assert b"/CIDFontType2" in content
    for size, said in (("16", "--size must be width x height in"), ("2x2", "--size must be at le")):
        assert main([*command, *out, "--size", size]) == 2
        assert said in capsys.readouterr().err


def test_intervals_and_medians_are_not_hidden(many_curves):
    """Caps are wider than the markers, and medians above the means."""
    figure = many_curves
    (row,) = [axes for axes in figure.axes if axes.get_ylabel() == "p90 of completion"]
    caps = [line for line in row.lines if line.get_marker() == "_"]
    markers = [line.get_markersize() for line in row.lines if line.get_marker() in "os^v"]
    assert caps
    assert min(line.get_markersize() for line in caps) > max(markers)
    first = figure.axes[0]
    medians = [line.get_zorder() for line in first.lines if line.get_color() in _DARK]
    means = [line.get_zorder() for line in first.lines if line.get_marker() in "os^v"]
    assert min(medians) > max(means)


_DARK = {look.dark for look in style.SERIES}


@pytest.mark.parametrize("kind", ["curves", "family"])
def test_a_value_without_an_interval_has_a_ring_and_the_legend_says_so(kind):
    noise = jf.StepNoise("1us", 1e-6)
    study = jf.Study("rare", case=jf.Case(4, network="L=1us,o=200ns", noise=noise),
                     axes=[jf.Axis("ranks", [4, 8])],
                     budget=jf.RealizationBudget(max=20))  # fmt: skip
    figure = study.run().plot(kind=kind)
    words = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert words.count("no interval is known") == 1
    rings = [line for axes in figure.axes for line in axes.lines if line.get_fillstyle() == "none"]
    assert sum(len(line.get_xdata()) for line in rings) == 4  # completion and slowdown


ALGORITHMS = """
name = "chosen"
seed = 3
realizations = { max = 30 }
[case]
network = { kind = "loggops", L = "1us", o = "0.2us" }
noise = [{ kind = "periodic", period = "1ms", duration = "10us", start = "stationary" }]
[axes.ranks]
values = [16, 32, 64]
[axes.algorithm]
values = ["recursive_doubling_allreduce", "ring_allreduce", "rabenseifner_allreduce"]
"""


def test_only_the_cells_that_are_asked_for(tmp_path, capsys, monkeypatch):
    """`plot` draws and prints them, with the numbers that they have in the whole run."""
    monkeypatch.chdir(tmp_path)
    Path("chosen.toml").write_text(ALGORITHMS)
    assert main(["run", "chosen.toml", "--out", "out", "-q"]) == 0
    whole = capsys.readouterr().out
    before = {file.name for file in Path("out").iterdir()}
    assert main(["plot", "out", "--where", "algorithm=ring", "--where", "ranks=16,64"]) == 0
    told = capsys.readouterr().out
    rows = [line.split() for line in told.splitlines() if line.lstrip().startswith("2^")]
    assert [row[0] for row in rows] == ["2^4", "2^6"]
    assert all(row in [line.split() for line in whole.splitlines()] for row in rows)
    assert "not in this study" not in told
    named = "chosen_algorithm=ring_ranks=16,64.png"
    assert f"written: {Path('out') / named}" in told
    assert {file.name for file in Path("out").iterdir()} == {*before, named}
    store = Store.open("out")
    part = store.where(algorithm=["ring", "recursive"], ranks=[16, 64])
    assert len(part.cells) == 4
    cell = part.cell(algorithm="ring_allreduce", ranks=64)
    same = store.cell(algorithm="ring_allreduce", ranks=64)
    estimates = (one.estimate(at, "slowdown", "mean") for one, at in ((part, cell), (store, same)))
    assert len(set(map(str, estimates))) == 1
    titles = [axes.get_title() for axes in part.plot().axes]
    assert titles[:2] == ["recursive_doubling_allreduce", "ring_allreduce"]
    assert main(["plot", "out", "--where", "ranks=16,ranks=2^6,algorithm=ring", "--json"]) == 0
    cells = {tuple(row["cell"].values()) for row in json.loads(capsys.readouterr().out)["rows"]}
    assert {tuple(map(str, cell)) for cell in cells} == {
        ("16", "ring_allreduce"), ("64", "ring_allreduce")}  # fmt: skip
    assert main(["plot", "out", "--where", "algorithm=ring", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["cell"]["algorithm"] for row in rows} == {"ring_allreduce"}


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("algorithm", "--where must be AXIS=POINT[,...]"),
        ("algorithm", "AXIS one of ranks, algorithm, got 'algorithm'"),
        ("speed=3", "--where: axis must be one of"),
        ("algorithm=r", "--where: algorithm: 'r' is the beginning of several of 'recursive_"),
        ("algorithm=x", "--where: algorithm: 'x' is the beginning of none of 'recursive_"),
        ("ranks=17", "--where: ranks: '17' is none of '16', '32', '64'"),
        ("ranks=1", "--where: ranks: '1' is none of '16', '32', '64'"),
        ("ranks=16,speed=3", "--where: ranks: 'speed=3' is none of '16', '32', '64'"),
    ],
)
def test_cells_that_there_are_not(tmp_path, capsys, where, said):
    Path(tmp_path / "chosen.toml").write_text(ALGORITHMS)
    jf.load_study(tmp_path / "chosen.toml").run(tmp_path / "out", realizations=2)
    assert main(["plot", str(tmp_path / "out"), "--where", where]) == 2
    assert said in capsys.readouterr().err


def test_the_legend_says_once_what_a_best_T_is():
    """Where the legend has names the series already, and what their bars are."""
    noise = jf.PeriodicNoise("1ms", "10us", start="stationary")
    case = jf.Case(16, algorithm=jf.Butterfly("all"), network="L=1us,o=200ns", noise=noise)
    study = jf.Study(
        "sets",
        case=case,
        axes=[jf.Axis("ranks", [16, 64, 256]),
              jf.Axis("period", ["100us", "1ms", "10ms"], path="noise.0.period")],
        observables={"slowdown": jf.Slowdown(T="best"), "T": jf.OptimalT()},
        budget=jf.RealizationBudget(max=100),
    )  # fmt: skip
    figure = study.run().plot(kind="curves")
    texts = [one.get_text() for legend in figure.legends for one in legend.get_texts()]
    assert sum("not told from" in text for text in texts) == 1
    assert len(set(texts)) == len(texts)
