"""Figures of `slowdown`: histogram of one number of ranks, lines of several."""

import math
from functools import cache

import numpy as np
import pytest
from support.scale import full_scale

import jitterfly as jf
from jitterfly.stats import realizations_needed

pytest.importorskip("matplotlib")

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.patches import StepPatch

NOISE = jf.PeriodicNoise("1ms", "25us", start="stationary")
RARE = jf.StepNoise("1ms", 1e-4)
CASES = {
    "usual": (NOISE, 64, 1000),
    "logarithmic": (jf.StepNoise("1ms", 0.01), 16, 500),
    "few": (jf.StepNoise("1ms", 0.05), 4, 2),
    "never hit": (RARE, 4, 40),
    "always alike": (jf.StepNoise("1ms"), 4, 20),
    "no time without noise": (jf.LateArrival("1ms", probability=0.5), 1, 50),
    "faster": (jf.SpeedNoise(jf.Empirical([0.5, 1.5])), 8, 60),
}


@cache  # for two tests
def drawn(name):
    noise, ranks, realizations = CASES[name]
    work = "1ms" if name == "faster" else 0
    found = jf.slowdown(
        noise, ranks, realizations=realizations, compute_time=work, network="L=1us,o=200ns", seed=2
    )
    return found, found.plot()


def text_of(figure):
    return " ".join(" ".join(text.get_text() for text in figure.texts).split())


SOME = [full_scale(name) if name in ("always alike", "faster") else name for name in CASES]


@pytest.mark.parametrize("name", SOME)
def test_all_realizations_are_in_the_histogram(name):
    found, figure = drawn(name)
    marks, panel = figure.axes
    (bars,) = (patch for patch in panel.patches if isinstance(patch, StepPatch))
    values, edges, _ = bars.get_data()
    assert values.sum() == found.rows[0].mean.realizations == len(found.samples)
    assert (np.diff(edges) > 0).all()
    assert edges[0] <= found.samples.min()
    assert edges[-1] >= found.samples.max()
    left, right = panel.get_xlim()
    assert left < found.rows[0].noise_free < right
    assert left < edges[0] < edges[-1] < right
    assert marks.get_xlim() == (left, right)
    least = min(found.rows[0].noise_free, found.samples.min())
    assert (panel.get_xscale() == "log") == (least > 0 and (right / left > 8))


@pytest.mark.parametrize("name", SOME)
def test_mean_quantiles_and_noise_free_time_are_marked(name):
    found, figure = drawn(name)
    (row,) = found.rows
    marks, panel = figure.axes
    lines = {round(float(line.get_xdata()[0]), 12) for line in panel.lines}
    expected = [row.noise_free, row.mean.value, row.p50.value, row.p99.value]
    assert lines == {round(float(value), 12) for value in expected}
    assert [label.get_text() for label in marks.get_yticklabels()] == ["mean", "median", "p99"]
    left, _ = panel.get_xlim()
    bars = [bar.get_segments()[0][:, 0].tolist() for bar in marks.collections]
    for (low, high), one in zip(bars, (row.mean, row.p50, row.p99), strict=True):
        known = [end if np.isfinite(end) else one.value for end in (one.low, one.high)]
        assert low == pytest.approx(max(known[0], left), rel=1e-9, abs=1e-18)
        assert high == pytest.approx(known[1], rel=1e-9, abs=1e-18)
    ends = [end for one in (row.mean, row.p50, row.p99) for end in (one.low, one.high)]
    unknown = sum(not np.isfinite(end) for end in ends)
    assert len(marks.texts) == unknown  # an arrow for each end that is not known
    assert ("arrows: no end is known" in text_of(figure)) == bool(unknown)


def test_title_units_and_legend():
    found, figure = drawn("usual")
    told = text_of(figure)
    assert "butterfly, 8 B on 64 ranks, under noise: periodic, period = 1 ms" in told
    assert f"slowdown (mean) {found.rows[0].slowdown:.3g}" in told
    assert "bars and brackets: 95 % intervals" in told
    assert "network: loggops, L = 1 µs, o = 200 ns; 1,000 realizations" in told
    _, panel = figure.axes
    assert panel.get_xlabel() == "completion"
    assert panel.get_ylabel() == "realizations"
    figure.canvas.draw()
    ticks = [tick.get_text() for tick in panel.get_xticklabels() if tick.get_text()]
    assert len(ticks) > 1
    assert all(tick.split()[1] in ("µs", "ms") for tick in ticks)
    (legend,) = figure.legends
    words = [text.get_text() for text in legend.get_texts()]
    assert words[0] == "realizations"
    assert [word.split()[0] for word in words[1:]] == ["mean", "median", "p99", "without"]
    assert words[4] == "without noise 8.4 µs"


def test_several_numbers_of_ranks_are_lines():
    found = jf.slowdown(NOISE, [8, 64], realizations=50)
    top, bottom = found.plot().axes
    assert not top.patches
    assert (top.get_ylabel(), bottom.get_xlabel()) == ("completion", "ranks")
    assert len(found.samples) == 50  # those of the most ranks
    case = found.case
    assert case.ranks == 64
    np.testing.assert_array_equal(found.samples, jf.simulate(case, 50).samples[:, -1])


def test_long_texts_leave_the_axes_their_room():
    """Four sources, levels of a machine: two lines stand above, and nothing lies over the axes."""
    noise = [
        NOISE,
        RARE,
        jf.MessageNoise(jf.Lognormal("1us", 1.0), 0.1),
        jf.NetworkJitter("1ms", "1us"),
    ]
    found = jf.slowdown(noise, 64, network="8: L=300ns,o=100ns; 4: L=500ns,o=150ns; L=1us,o=200ns",
                        algorithm=jf.RabenseifnerAllreduce(), realizations=40)  # fmt: skip
    figure = found.plot()
    figure.canvas.draw()
    height = figure.get_size_inches()[1]
    sizes = [axes.get_position().height * height for axes in figure.axes]
    assert sizes[0] > 0.7
    assert sizes[1] > 2.2
    heading, above, below = figure.texts
    assert heading.get_text().endswith("…")
    assert heading.get_text().count("\n") + 1 == 2
    assert above.get_text() == ""
    assert found.title(" on 64 ranks") in " ".join(below.get_text().split())  # all of it
    assert heading.get_window_extent().y0 >= figure.axes[0].get_window_extent().y1
    (legend,) = figure.legends
    assert below.get_window_extent().y1 <= legend.get_window_extent().y0
    assert legend.get_window_extent().y1 <= figure.axes[1].get_tightbbox().y0
    assert below.get_window_extent().y0 >= 0


def test_a_caution_begins_above_and_is_whole_below():
    found = jf.slowdown(NOISE, [64, 256], network="L=1us,o=200ns,G=0.1ns", realizations=20,
                        message_bytes="1MiB", algorithm="butterfly")  # fmt: skip
    (caution,) = found.cautions()
    figure = found.plot()
    heading, above, below = (" ".join(text.get_text().split()) for text in figure.texts)
    assert all(text.get_text().count("\n") == 0 for text in figure.texts[:2])
    assert above.startswith("a butterfly is a bad choice for 1 MiB on 256 ranks")
    assert above.endswith("…")
    assert caution in below
    assert heading.endswith("…")
    assert found.title() in below


def test_a_caution_stands_before_the_setting_in_all_pictures():
    network = "L=1us,o=200ns,G=0.1ns"
    slow = jf.SpeedNoise(jf.Lognormal(1.1, 0.1), holds="10us")
    found = jf.slowdown(slow, 64, network=network, realizations=20, compute_time="1ms")
    advice = jf.advise(16, network=network, noise=[slow], realizations=64, compute_time="1ms")
    for answer in (found, advice):
        told = " ".join(text.get_text() for text in answer.plot().figure.texts[1:])
        assert told.startswith("noise.0 (speed): the slowest is too slow")
        assert " ".join(told.split()).count(answer.cautions()[0]) == 1


def test_every_value_is_within_its_panel_and_unknown_intervals_are_marked():
    """A p99 far above the rest, and a mean that rests on no event."""
    rare = jf.PeriodicNoise("10s", "1ms", start="stationary")
    found = jf.slowdown(rare, "4..256", compute_time="1ms", realizations=2000)
    figure = found.plot()
    top = figure.axes[0]
    low, high = top.get_ylim()
    for row in found.rows:
        assert low < min(row.noise_free, row.p50.value) <= row.p99.value < high
    assert found.rows[0].mean.too_small
    assert "no realization was delayed" in " ".join(found.notes())
    assert "no realization was delayed" not in text_of(figure)  # what to do is for the text
    (legend,) = figure.legends
    assert "no interval is known" in [text.get_text() for text in legend.get_texts()]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_quantile_whose_lower_end_is_known_is_said_to_have_one():
    """Seven detours tell how long a median is at least; a ring says that they tell no more."""
    starts = [0.3, 0.9, 1.7, 2.2, 3.1, 3.9, 4.6]
    recorded = jf.TraceNoise(starts=starts, durations=[2e-3] * 7, length=5.0)
    found = jf.slowdown(recorded, "64,128", realizations=500, network="L=1us,o=200ns",
                        compute_time="1ms")  # fmt: skip
    assert all(math.isfinite(row.p50.low) and math.isinf(row.p50.high) for row in found.rows)
    (legend,) = found.plot().legends
    words = [text.get_text() for text in legend.get_texts()]
    assert "no upper end is known" in words
    assert "no interval is known" not in words


def test_samples_say_which_ranks_are_late_or_slow_and_are_of_one_kind():
    """Of more observations than there are colours, the maxima over the ranks."""
    case = jf.Case(16, network="L=1us,o=200ns", noise=NOISE, cycles=3, compute_time="10us",
                   observe="arrival", arrival=jf.imbalance.OneLate("1ms", rank=2),
                   speed=jf.imbalance.SlowRanks(3, ranks=[1]))  # fmt: skip
    figure = jf.simulate(case, 20).plot()
    told = text_of(figure)
    assert (
        "network: loggops, L = 1 µs, o = 200 ns; arrival: one_late, delay = 1 ms, rank = 2" in told
    )
    assert "speed of the ranks: slow_ranks, factor = 3" in told
    *lines, quiet = (text.get_text() for text in figure.legends[0].get_texts())
    assert len(lines) == 6
    assert all(line.endswith(": max") for line in lines)
    assert quiet == "without noise"


def test_counts_within_a_decade_are_plain_numbers():
    found = jf.slowdown(NOISE, 64, realizations=12, network="L=1us,o=200ns")
    _, panel = found.plot().axes
    panel.figure.canvas.draw()
    texts = [
        tick.get_text() for minor in (False, True) for tick in panel.get_yticklabels(minor=minor)
    ]
    assert {"1", "2", "6"} <= set(texts)
    assert not any("10^" in text or "times" in text for text in texts)


def test_the_rarest_quantile_is_drawn_where_rows_have_it():
    """With too few realizations for an interval of p99.9 its line and its mark are left out."""
    least = realizations_needed(0.999)
    for ranks in (8, [8, 64]):
        few, enough = (
            jf.slowdown(NOISE, ranks, network="L=1us,o=200ns", realizations=count, seed=2)
            for count in (least - 1, least)
        )
        assert all(row.p999 is None for row in few.rows)
        expected = [float(row.p999.value) for row in enough.rows]
        (lines,), without = (
            [line for axes in found.plot().axes for line in axes.lines
             if str(line.get_label()).startswith("p99.9")]
            for found in (enough, few)
        )  # fmt: skip
        assert not without
        drawn = lines.get_xdata()[:1] if ranks == 8 else lines.get_ydata()
        assert drawn == pytest.approx(expected)
    top = enough.plot().axes[0]
    assert top.get_ylim()[1] > max(expected)
    marks = jf.slowdown(NOISE, 8, realizations=least).plot().axes[0]
    names = [label.get_text() for label in marks.get_yticklabels()]
    assert names == ["mean", "median", "p99", "p99.9"]


@pytest.mark.parametrize("count", [2, 12, 13, 14, 24])
def test_the_most_ranks_have_a_tick(count):
    """Of many numbers of ranks some have one, at equal distances, and the last does."""
    ranks = list(range(2, 2 + count))
    case = {"network": jf.LogGOPS(L="1us", o="200ns"), "realizations": 20}
    figure = jf.slowdown("period=1ms,duration=25us,start=stationary", ranks, **case).plot()
    shown = sorted(int(text.get_text()) for text in figure.axes[1].get_xticklabels())
    assert shown[-1] == ranks[-1]
    assert len(shown) <= 12
    assert len(set(np.diff(shown))) == 1


@pytest.mark.parametrize("words", [4, 24, 30])
def test_a_title_is_made_smaller_before_it_is_cut(words):
    from jitterfly.plots import style

    title = " ".join(["allreduce"] * words)
    figure, _ = style.new_figure([2.0], 1)
    style.finish(figure, title, [])
    heading = figure.texts[0]
    cut = heading.get_text().endswith("…")
    assert (heading.get_text().replace("\n", " ") == title) == (not cut)
    # In no more than the figure, as it is drawn.
    box = heading.get_window_extent(FigureCanvasAgg(figure).get_renderer())
    assert box.width <= figure.get_size_inches()[0] * figure.dpi
    assert (heading.get_fontsize() < 11) == (words > 12)
