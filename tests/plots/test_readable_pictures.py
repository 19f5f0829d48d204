"""Readability of figures: units on axes, no overlapping texts, legends."""

import itertools

import numpy as np
import pytest
from support.paths import ROOT
from support.scale import full_scale, scaled, some

pytest.importorskip("matplotlib")

from matplotlib.cbook import STEP_LOOKUP_MAP
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.text import Text
from support import scale
from support.measured_parts import histogram, trace
from support.plotted_studies import MS12, drawn, make
from support.small_study import STUDY

import jitterfly as jf
from jitterfly.measured import Measured, load
from jitterfly.measured.description import describe
from jitterfly.measured.measurements import Detours
from jitterfly.plots import draw
from jitterfly.plots.curves import MAX_FAMILY
from jitterfly.plots.noise import figure_of_measured
from jitterfly.plots.style import in_unit
from jitterfly.results.figures import quantity
from jitterfly_papers.hsl09_settings import run_settings, settings
from jitterfly_papers.report.hsl09 import figures

HEAD = """
name = "readable"
title = "A study"
realizations = { max = 60 }
[case]
network = { kind = "loggops", L = "1us", o = "0.2us" }
noise = [{ kind = "periodic", period = "1ms", duration = "100us", start = "stationary" }]
"""
KINDS = (
    "butterfly",
    "ring_allreduce",
    "rabenseifner_allreduce",
    "reduce_broadcast_allreduce",
    "recursive_doubling_allreduce",
)


def variants(count, name="{}"):
    """As many algorithms, each with the time that it takes."""
    text = HEAD + "[axes.ranks]\nlog2 = [2, 5]\n"
    for kind in KINDS[:count]:
        text += f'[variants.{kind}]\n"algorithm.kind" = "{kind}"\n'
    text += "[observables]\n"
    for kind in KINDS[:count]:
        text += f'"{name.format(kind)}" = {{ kind = "completion", variant = "{kind}" }}\n'
    return text


LONG = "the time that {} takes until the last of all the ranks has the whole result"


def entries(figure):
    """Texts of all legends, those inside of axes too."""
    inside = [axes.get_legend() for axes in figure.axes if axes.get_legend()]
    return [text.get_text() for legend in [*figure.legends, *inside] for text in legend.get_texts()]


def ticks_of(axis):
    """Tick labels that are shown."""
    low, high = sorted(axis.get_view_interval())
    labels = zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=True)
    return [label for at, label in labels if label.get_text() and low <= at <= high]


def check_apart(labels):
    boxes = sorted((label.get_window_extent() for label in labels), key=lambda box: box.x0)
    for one, other in itertools.pairwise(boxes):
        assert one.x1 <= other.x0


# --- several units


@pytest.fixture(scope="module")
def units(tmp_path_factory):
    text = variants(2) + 'slow = { kind = "slowdown", variant = "butterfly" }\n'
    return make(text, tmp_path_factory.mktemp("units") / "out")


@pytest.fixture(scope="module")
def family(units):
    return drawn(units, "family")


def test_a_family_has_an_axis_for_each_unit(family):
    figure = family
    panels = {axes.get_title(): axes for axes in figure.axes if axes.get_visible()}
    assert list(panels) == ["butterfly", "ring allreduce", "slow"]
    shared = panels["butterfly"].get_shared_y_axes()
    assert shared.joined(panels["butterfly"], panels["ring allreduce"])
    assert not shared.joined(panels["butterfly"], panels["slow"])
    assert all("s" in label.get_text() for label in ticks_of(panels["butterfly"].yaxis))
    low, high = panels["slow"].get_ylim()  # a line, not a flat one at an end
    values = panels["slow"].lines[0].get_ydata()
    assert (max(values) - min(values)) / (high - low) > 0.2


def test_a_family_of_one_line_has_no_empty_entry(family):
    assert entries(family)
    assert all(text.strip() for text in entries(family))


def test_ratios_of_other_kinds_have_axes_of_their_own(tmp_path):
    """gain, from 1 to 1.2, is a line of its own beside slowdown, from 1 to 20."""
    text = STUDY.replace('figure = "slowdown"\n', "").replace('claims = ["M4"]\n', "")
    figure = drawn(make(text, tmp_path / "out"), "family")
    panels = {axes.get_title(): axes for axes in figure.axes if axes.get_visible()}
    shared = panels["slowdown"].get_shared_y_axes()
    assert shared.joined(panels["slowdown"], panels["slowdown redundant"])
    assert not shared.joined(panels["slowdown"], panels["gain"])


def test_a_family_of_a_target_says_what_is_drawn(tmp_path):
    text = STUDY.replace('figure = "slowdown"\n', 'targets = ["p90 of slowdown ± 50 %"]\n')
    results = make(text.replace('claims = ["M4"]\n', "").replace("= 40", "= 200"), tmp_path / "out")
    figure = drawn(results, "family", "p90 of slowdown")
    assert figure.axes[0].get_ylabel().replace("\n", " ") == "p90 of slowdown"
    assert not any("5–95 %" in text for text in entries(figure))


CYCLES = """
[observables]
whole = { kind = "slowdown" }
time = { kind = "cycle_time", cycle = "each" }
ready = { kind = "completion", cycle = "each" }
"""


@pytest.mark.parametrize("count", [full_scale(1), 9])
def test_cycles_have_a_line_for_each_cell(count, tmp_path):
    case = '[case]\nalgorithm = "recursive_doubling_allreduce"\ncycles = 4\ncompute_time = "9us"'
    ranks = f"[axes.ranks]\nvalues = {list(range(2, 2 + count))}\n"
    results = make(HEAD.replace("[case]", case) + ranks + CYCLES, tmp_path / "out")
    figure = drawn(results, "each_cycle")
    assert [axes.get_title() for axes in figure.axes] == ["time", "ready"]
    assert [axes.get_ylabel() for axes in figure.axes] == ["cycle time", "completion"]
    assert figure.axes[-1].get_xlabel() == "cycle"
    assert [axes.get_yscale() for axes in figure.axes] == ["linear", "linear"]
    shown = [results.cells[i] for i in ([0] if count == 1 else [0, 2, 3, 5, 6, 8])]
    for axes in figure.axes:
        lines = [one.lines[0] for one in axes.containers]
        for line, cell in zip(lines, shown, strict=True):
            assert list(line.get_xdata()) == [1, 2, 3, 4]
            means = [float(cell.summaries[f"{axes.get_title()}, cycle {cycle}"].mean.value)
                     for cycle in (1, 2, 3, 4)]  # fmt: skip
            np.testing.assert_allclose(line.get_ydata().astype(float), means)
    assert entries(figure)[0] == "ranks=2: mean, 95 % interval"
    assert any("5–95 %" in text for text in entries(figure)) == (count == 1)
    assert any("6 of 9 cells" in text.get_text() for text in figure.texts) == (count == 9)
    if scale.FULL or count == 1:
        assert len(drawn(results, "each_cycle", "ready").axes) == 1
    with pytest.raises(ValueError, match="'each_cycle' needs an observable with cycle = \"each\""):
        draw.figure(results.store, "each_cycle", "whole")


# --- many lines


@pytest.mark.parametrize(
    ("count", "name"),
    [
        (2, "{}"),
        *(full_scale(count, name) for count, name in [(3, "{}"), (5, "{}"), (2, LONG), (3, LONG)]),
        (5, LONG),
    ],
)
def test_curves_of_many_variants(tmp_path, count, name):
    results = make(variants(count, name), tmp_path / "out")
    figure = drawn(results, "curves")
    (axes,) = figure.axes
    bands = [one for one in axes.collections if isinstance(one, PolyCollection)]
    assert len(bands) == (2 if count == 2 else 0)  # more of them are one area
    (legend,) = figure.legends
    told = [" ".join(text.split()) for text in entries(figure)]
    assert all(told)
    if count > 2:
        ranges = [
            {round(float(segment[0, 0]), 9) for segment in one.get_segments()}
            for one in axes.collections
            if isinstance(one, LineCollection) and len(one.get_segments()) == 4
            and one.get_alpha() is not None
        ]  # fmt: skip
        assert len(ranges) == count
        assert all(a.isdisjoint(b) for a, b in itertools.combinations(ranges, 2))
        assert len(told) == count + 3  # what a bar means is said once
    bottom = axes.get_tightbbox().y0
    assert legend.get_window_extent().y1 <= bottom
    boxes = [text.get_window_extent() for text in legend.get_texts()]
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    assert all(box.x1 <= figure.bbox.width for box in boxes)


def test_a_variant_is_one_line_in_all_panels(tmp_path):
    """Of one colour and name; and lines side by side stay near the value that they are of."""
    text = variants(3)
    for kind in KINDS[:3]:
        text += f'"slow {kind}" = {{ kind = "slowdown", variant = "{kind}" }}\n'
    figure = drawn(
        make(text.replace("log2 = [2, 5]", "values = [4, 32]"), tmp_path / "out"), "curves"
    )
    lines = [
        [one for one in axes.get_lines() if len(one.get_xdata()) == 2 and one.get_marker() != "_"]
        for axes in figure.axes
    ]
    first, second = ([(one.get_color(), one.get_marker()) for one in of] for of in lines)
    assert first == second
    assert len(set(first)) == 3
    assert entries(figure)[:3] == list(KINDS[:3])
    for axes in figure.axes:
        places = np.concatenate([one.get_xdata() for one in axes.get_lines()])
        assert np.abs(places - np.where(places < 3.5, 2, 5)).max() < 0.15


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("p90 of butterfly ± 50 %", "mean or p90, 95 % interval"),
        full_scale("mean of butterfly ± 50 %", "mean, 95 % interval"),
        ("p90 of butterfly ± 50 % at 99 %", "mean or p90, 95 or 99 % interval"),
    ],
)
def test_marks_of_many_lines_say_their_statistics(tmp_path, target, told):
    text = variants(3).replace("[case]", f'targets = ["{target}"]\n[case]')
    text = text.replace("log2 = [2, 5]", "log2 = [2, 3]")
    figure = drawn(make(text, tmp_path / "out"), "curves")
    assert told in [" ".join(text.split()) for text in entries(figure)]


@pytest.mark.parametrize("count", [full_scale(3), 24])
def test_ticks_of_an_axis_of_texts_do_not_run_into_each_other(tmp_path, count):
    text = HEAD + "ranks = 4\n"
    for i in range(count):
        text += f'[axes.a.points."setting number {i}"]\n"network.g" = "{i}ns"\n'
    figure = drawn(make(text, tmp_path / "out"), "curves")
    labels = ticks_of(figure.axes[-1].xaxis)
    assert len(labels) == count
    slant = np.radians(labels[0].get_rotation())
    at = [label.get_transform().transform((label.get_position()[0], 0))[0] for label in labels]
    high = 9 / 72 * figure.dpi * max(label.get_text().count("\n") + 1 for label in labels)
    if slant:
        assert np.diff(at).min() * np.sin(slant) >= high
    else:
        check_apart(labels)


# --- legends


@pytest.mark.parametrize("kind", some(["tail", "distribution"], 1))
@pytest.mark.parametrize("text", [full_scale(MS12), variants(5, LONG)])
def test_legends_of_distributions_stand_below_and_are_small(tmp_path, kind, text):
    figure = drawn(make(text.replace("log2 = [1, 8]", "log2 = [3, 5]"), tmp_path / "out"), kind)
    assert not any(axes.get_legend() for axes in figure.axes)
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert box.width * box.height < 0.1 * figure.bbox.width * figure.bbox.height
    assert box.y1 <= min(axes.get_tightbbox().y0 for axes in figure.axes)
    assert all(text.startswith("ranks = 2^") for text in entries(figure))
    lines = {line.get_color() for axes in figure.axes for line in axes.lines}
    assert {line.get_color() for line in legend.get_lines()} == lines


# --- units


def test_axes_of_numbers_have_their_unit(tmp_path):
    base = HEAD.replace(', duration = "100us"', "").replace("[case]", "[case]\nranks = 8")
    axis = "[axes.duration]\npath = 'noise.0.duration'\nvalues = [1e-6, 1e-5, 9e-5, 1e-4]\n"
    results = make(base + axis, tmp_path / "a")
    figure = drawn(results, "curves")
    labels = ticks_of(figure.axes[-1].xaxis)
    assert [label.get_text() for label in labels] == ["1 µs", "10 µs", "100 µs"]
    check_apart(labels)  # 90 µs has no room
    assert entries(drawn(results, "tail"))[1] == "duration = 10 µs"
    base = HEAD.replace(', o = "0.2us"', ', o = "0.2us"').replace("[case]", "[case]\nranks = 8")
    axis = (
        "[axes.message_bytes]\nvalues = [8, 1024, 65536]\n"
        "[axes.G]\npath = 'network.G'\nvalues = [1e-10, 1e-9]\n"
    )
    results = make(base + axis, tmp_path / "b")
    assert [panel.label for panel in results.panels()] == ["G = 100 ps/B", "G = 1 ns/B"]
    figure = drawn(results, "maps")
    assert [t.get_text() for t in ticks_of(figure.axes[0].xaxis)] == ["8 B", "1 KiB", "64 KiB"]
    assert [t.get_text() for t in ticks_of(figure.axes[0].yaxis)] == ["100 ps/B", "1 ns/B"]


@pytest.mark.parametrize("kind", ["curves", *map(full_scale, ("family", "tail")), "distribution"])
def test_a_microsecond_is_written_in_one_way(units, kind):
    told = " ".join(text.get_text() for text in drawn(units, kind).findobj(Text))
    assert "µs" in told
    assert " us" not in told


# --- noise


def noise(parts, periods=True):
    measured = Measured(tuple(parts), "test")
    with draw.drawing():
        figure = figure_of_measured(measured, describe(measured, periods=periods))
        figure.draw_without_rendering()
    return figure


@pytest.mark.parametrize(
    "parts",
    [
        full_scale([trace(50_000, 100.0)]),
        [trace(900)],
        full_scale([trace(3000, cpu="0"), trace(40, 1.0), trace(900, 2.0)]),
        [histogram(counts=(5, 100, 30, 0, 1))],
        full_scale([histogram(counts=[4**8 // 4**min(i, 7) for i in range(12)])]),
        full_scale(load(ROOT / "sweeps" / "examples" / "vm.noise").parts),
    ],
)  # fmt: skip
def test_marks_of_noise_stand_off_the_curve_and_each_other(parts):
    figure = noise(parts, periods=False)
    for axes in (one for one in figure.axes if one.get_ylabel() == "events" or one.texts):
        labels = [text for text in axes.texts if "events" in text.get_text()]
        boxes = [Text.get_window_extent(label) for label in labels]
        assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
        if labels:
            curve = axes.lines[0]
            x, y = STEP_LOOKUP_MAP[curve.get_drawstyle()](*curve.get_data())
            ends = axes.transData.transform(np.stack([x, y], axis=1))
            path = np.concatenate([np.linspace(a, b, 8) for a, b in itertools.pairwise(ends)])
            for box in boxes:
                inside = (path > [box.x0, box.y0]) & (path < [box.x1, box.y1])
                assert not inside.all(axis=1).any()


@pytest.mark.full_scale
def test_ticks_of_narrow_panels_do_not_run_into_each_other():
    figure = noise([trace(scaled(3000), cpu="0"), trace(scaled(3000), 5.0), trace(40, 1.0)])
    for axes in figure.axes:
        if axes.get_xscale() == "log":
            check_apart(ticks_of(axes.xaxis))


# --- simulated


def test_what_is_simulated_says_so():
    for name in ("N1", "N2"):
        chosen = settings(name, quick=True)
        with draw.drawing():
            found = figures(name, run_settings(chosen[:3], 3))
        for stem, figure in found:
            assert "measured" not in stem
            assert figure.texts[0].get_text().startswith("Simulated: ")


@pytest.mark.parametrize("kind", ["tail", "distribution"])
def test_panels_with_one_axis_have_its_ticks(tmp_path, kind):
    """Each setting has times of one size, and both together take a logarithmic axis."""
    text = HEAD + '[observables]\ncompletion = { kind = "completion" }\n'
    text += '[axes.bytes]\npath = "message_bytes"\nvalues = [8, 67108864]\n'
    text = text.replace('o = "0.2us" }', 'o = "0.2us", G = "1GB/s" }').replace(
        "[case]", "[case]\nranks = 8"
    )
    figure = make(text, tmp_path / "out").store.plot(kind=kind)
    for axes in figure.axes:
        assert axes.get_xscale() == "log"
        low, high = axes.get_xlim()
        ticks = [tick for tick in axes.get_xticks() if low <= tick <= high]
        assert len(ticks) >= 2
        assert all(np.isclose(np.log10(tick) % 1, [0, 1]).any() for tick in ticks)


# --- what a first look must not miss

ALGORITHM = 'algorithm = "recursive_doubling_allreduce"\n'
RANKS = "[axes.ranks]\nvalues = [16, 64]\n"


def test_a_family_of_many_settings_shows_some_and_says_so(tmp_path):
    """A hundred entries of a legend would lie over the picture."""
    text = """
[axes.duration]
path = "noise.0.duration"
values = ["1us", "2us", "3us", "4us", "5us", "6us", "7us", "8us"]
[axes.bytes]
path = "message_bytes"
values = [8, 16, 32, 64]
"""
    open_head = HEAD.replace(', duration = "100us"', "")  # which the axis sets
    figure = drawn(make(open_head + ALGORITHM + RANKS + text, tmp_path / "out"), "family")
    figure.canvas.draw()
    assert len(entries(figure)) <= MAX_FAMILY + 1  # and that of the band
    told = " ".join(text.get_text() for text in figure.texts)
    assert "12 of 32 settings" in " ".join(told.split())
    assert "left out: duration = " in told
    (legend,) = figure.legends
    lowest = min(axes.get_tightbbox().y0 for axes in figure.axes)
    assert legend.get_window_extent().y1 <= lowest
    for heading in figure.texts[:2]:
        assert heading.get_window_extent().y0 >= figure.axes[0].get_window_extent().y1


def test_named_points_are_bars_that_nothing_joins(tmp_path):
    text = """
[axes.machine.points]
quiet = { "noise.0.duration" = "1us" }
loud = { "noise.0.duration" = "20us" }
rare = { "noise.0.period" = "1ms" }
"""
    results = make(HEAD + ALGORITHM + "ranks = 16\n" + text, tmp_path / "out")
    figure = drawn(results, "curves")
    for axes in figure.axes:
        assert axes.get_xlabel() in ("", "machine")
        assert {line.get_linestyle() for line in axes.lines} == {"None"}
        assert not [one for one in axes.collections if isinstance(one, PolyCollection)]  # no bands
    assert "pale bar: 5–95 % of realizations" in entries(figure)


@pytest.mark.parametrize(
    ("values", "scale"), [([48, 96, 190], "linear"), ([48, 96, 192], "log10"), ([4, 8], "log2")]
)
def test_ranks_that_span_four_times_are_on_a_logarithmic_axis(tmp_path, values, scale):
    axis = f"[axes.ranks]\nvalues = {values}\n"
    assert make(HEAD + ALGORITHM + axis, tmp_path / "out").axis_scale.scale == scale


def test_axes_say_the_quantity(tmp_path):
    """An observable of any name is a slowdown, or a completion."""
    text = """
[observables]
mine = { kind = "slowdown" }
yours = { kind = "completion" }
"""
    results = make(HEAD + ALGORITHM + RANKS + text, tmp_path / "out")
    figure = drawn(results, "tail")
    assert {axes.get_xlabel() for axes in figure.axes} == {"slowdown (mine)", "completion (yours)"}
    assert quantity(results.study, "mine") == "slowdown (mine)"
    labels = {axes.get_ylabel() for axes in drawn(results, "family").axes if axes.get_visible()}
    assert labels == {"mean slowdown", "mean completion"}


def test_thousands_are_separated():
    assert in_unit(6000, "") == "6,000"
    assert in_unit(12_500.0, "", [0, 12_500.0]) == "12,500"
    assert in_unit(0.25, "") == "0.25"


def test_no_text_lies_over_the_line_to_another_one():
    """p99 and p99.9 are close to each other, and their texts long."""
    durations = np.concatenate([np.full(2000, 2e6), np.geomspace(2e6, 8e7, 3000)]).astype(int)
    starts = np.arange(5000) * 10**9
    figure = noise([Detours(starts, np.sort(durations), 5001 * 10**9)], periods=False)
    (axes,) = (one for one in figure.axes if one.get_ylabel() == "events")
    labels = [text for text in axes.texts if "events" in text.get_text()]
    assert len(labels) == 3
    figure.canvas.draw()
    for label, other in itertools.permutations(labels, 2):
        box = Text.get_window_extent(label)
        x, top = axes.transData.transform((other.xy[0], 1))[0], Text.get_window_extent(other).y0
        assert not (box.x0 < x < box.x1 and box.y1 <= top + 1), (label, other)


def test_a_period_without_a_peak_is_marked_as_such():
    """Rare long detours at regular times are found among many short ones at random."""
    rng = np.random.default_rng(3)
    short = np.sort(rng.integers(0, 10**13, 3000))
    rare = np.arange(50, dtype=np.int64) * 2 * 10**11 + 10**9
    starts = np.concatenate([short, rare])
    durations = np.concatenate([np.full(3000, 10**5), np.full(50, 10**8)])
    order = np.argsort(starts)
    starts, durations = starts[order], durations[order]
    apart = np.concatenate([[True], starts[1:] > np.maximum.accumulate(starts + durations)[:-1]])
    part = Detours(starts[apart], durations[apart], 10**13)
    ticks = np.arange(2500, dtype=np.int64) * 4 * 10**9
    regular = Detours(ticks, np.full(2500, 10**6), 10**13)
    for one, has_peak in ((part, False), (regular, True)):
        measured = Measured((one,), "test")
        facts = describe(measured)
        assert facts["parts"][0]["periods"]
        told = entries(figure_of_measured(measured, facts))
        assert any("no peak" in text for text in told) != has_peak
        assert ("period, with its part of the detours" in told) == has_peak


def test_the_spectrum_of_quanta_ends_where_they_show_nothing():
    """A detour is put at the beginning of its quantum of 1 ms: at 1 kHz, that is the quanta."""
    ticks = np.arange(2500, dtype=np.int64) * 4 * 10**9
    part = Detours(ticks, np.full(2500, 10**6), 10**13)
    for source, end in (({"quantum": "1 ms"}, 500), ({}, 10_000)):
        measured = Measured((part,), "ftq", source)
        figure = figure_of_measured(measured, describe(measured))
        (axes,) = (one for one in figure.axes if one.get_ylabel() == "power")
        assert axes.get_xlim()[1] == pytest.approx(end, rel=0.01)
        assert max(axes.lines[0].get_xdata()) <= end
        assert ("quanta" in axes.get_xlabel()) == bool(source)


def test_names_of_quantiles_that_are_near_each_other_share_a_place():
    """Most times are those without noise, and some are much longer."""
    rng = np.random.default_rng(1)
    times = (
        1e-5 + rng.normal(0, 1e-8, 2000) + (rng.random(2000) < 0.1) * rng.exponential(1e-4, 2000)
    )
    noise = "kind=renewal,gap=1ms,duration=exponential(mean=50us)"
    case = jf.Case(64, network="L=1us,o=200ns", noise=noise)
    figure = jf.compare_measured(times, case, realizations=1000).plot()
    panel = figure.axes[0]
    boxes = [text.get_window_extent() for text in panel.texts]
    assert {word for text in panel.texts for word in text.get_text().split(", ")} >= {"p5", "p99"}
    assert len(boxes) < 6
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))
