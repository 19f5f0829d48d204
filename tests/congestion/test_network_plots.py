"""Figures of network congestion, and loads on links."""

import re

import numpy as np
import pytest
from support.scale import some

import jitterfly.congestion as jc
from jitterfly_papers.hsl09_settings import MEASURED, Setting, run_settings, settings
from jitterfly_papers.plots import congestion

pytest.importorskip("matplotlib")

from jitterfly.plots import draw
from jitterfly_papers.report.hsl09 import network_study


def texts(figure):
    from matplotlib.text import Text

    return [found.get_text() for found in figure.findobj(Text)]


TREES = [
    jc.FatTree((4, 4), (1, 4)),
    jc.FatTree((3, 4, 2), (1, 2, 3), routing="s-mod-k"),
    jc.FatTree((4, 3), (2, 2), (1, 2)),
]


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("pattern", ["tree", "bruck", "gather"])
def test_congestion_is_the_largest_load_on_the_route(tree, pattern):
    case = jc.CongestionCase(tree, pattern=pattern, ratio=0.5)
    for number in range(4):
        found = jc.congestion_realization(case, number, 3)
        for level, messages in enumerate(found.levels):
            both = congestion.loads(case, level, number, 3)
            assert [len(up) for up, _ in both] == tree.links()
            flat = np.concatenate([side for pair in both for side in pair])
            assert len(flat) == tree.edges
            ends = found.host_of_rank[messages.pairs]
            keys = ends[:, 0] if tree.routing == "s-mod-k" else ends[:, 1]
            routes = tree.routes(ends[:, 0], ends[:, 1], keys)
            worst = [max(flat[e] for e in route if e < tree.edges) for route in routes]
            assert worst == messages.w.tolist()
            # every message takes one link of its host up, one down
            assert both[0][0].sum() == both[0][1].sum() == len(messages.pairs)


def test_loads_refuse_what_they_can_not_show():
    with pytest.raises(ValueError, match="routing 'd-mod-k' or 's-mod-k'"):
        congestion.loads(jc.CongestionCase(jc.FatTree((4, 4), (1, 4), routing="hash")), 0)
    with pytest.raises(ValueError, match="level must be from 0 to 2, got 3"):
        congestion.loads(jc.CongestionCase(jc.FatTree((4, 4), (1, 4))), 3)
    with pytest.raises(ValueError, match="at most 64 hosts"):
        congestion.draw_loads(jc.CongestionCase(jc.FatTree.of(144)), 0)


def test_drawing_of_a_tree_numbers_shared_links():
    case = jc.CongestionCase(jc.FatTree((4, 4), (1, 2)), ratio=0.5)
    both = congestion.loads(case, 2, seed=5)
    shared = sorted(str(n) for pair in both for side in pair for n in side if n > 1)
    assert shared
    with draw.drawing():
        figure = congestion.draw_loads(case, 2, seed=5)
    found = texts(figure)
    assert sorted(t for axes in figure.axes for t in (x.get_text() for x in axes.texts)) == shared
    assert any("level 2 of tree among 8 ranks: 4 messages, 8 of rand" in text for text in found)
    assert any("routing d-mod-k" in text for text in found)
    most = max(int(n) for n in shared)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert ("3 or more" in labels) == (most >= 3)
    alone = jc.CongestionCase(jc.FatTree((4, 4), (1, 4)), perturbation="none", ratio=0.0)
    assert max(int(n) for pair in congestion.loads(alone, 0) for side in pair for n in side) < 3
    with draw.drawing():
        figure = congestion.draw_loads(alone, 0)
    assert "3 or more" not in [text.get_text() for text in figure.legends[0].get_texts()]


def test_pictures_name_rule_routing_pattern_and_z():
    points = run_settings(settings("N1", quick=True), 10)
    with draw.drawing():
        figures = [
            congestion.draw_ratio(points, "title", (100, 250)),
            congestion.draw_boxes(points, "title"),
        ]
    for figure in figures:
        found = texts(figure)
        everything = " ".join(found)
        for word in (
            "tree, reduce, recdbl against bisect_fb",
            "orcs",
            "d-mod-k",
            "10 realizations",
            "95 %",
        ):
            assert word in everything
        assert {"0.2\n394", "0.8\n98", "0.2\n166"} <= set(found)


def test_each_line_against_the_ratio_is_of_one_routing():
    """Two routings of one network are two panels."""
    chosen = [
        Setting("N3", "x", jc.CongestionCase(jc.FatTree.of(144, routing=routing), ratio=ratio))
        for routing in ("d-mod-k", "random")
        for ratio in (0.3, 0.5, 0.7)
    ]
    with draw.drawing():
        figure = congestion.draw_ratio(run_settings(chosen, 10), "title", (150, 300))
    panels = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title() for axes in panels] == ["x, d-mod-k", "x, random"]
    for axes in panels:
        lines = [line for line in axes.lines if len(line.get_xdata()) == 3]
        assert lines
        assert all(np.all(np.diff(line.get_xdata()) > 0) for line in lines)


def test_pictures_show_the_means_and_intervals():
    chosen = [
        Setting("N2", "x", jc.CongestionCase(MEASURED, perturbation="bisect_fb", ranks=ranks))
        for ranks in (40, 400)
    ]
    points = run_settings(chosen, 30)
    with draw.drawing():
        figure = congestion.draw_size(points, "title", (110, 150))
    (axes,) = figure.axes
    (bars,) = axes.containers
    assert bars[0].get_ydata().tolist() == [point.slowdown.value for point in points]
    (segments,) = (bars[2][0].get_segments(),)
    for segment, point in zip(segments, points, strict=True):
        assert segment[:, 1].tolist() == pytest.approx([point.slowdown.low, point.slowdown.high])
    assert {"40\n20", "400\n200"} <= set(texts(figure))


PICTURES = {
    "N2": ["simulated_size"], "N1": ["simulated_ratio", "boxes"], "N3": ["ratio"], "N4": ["size"],
    "N5": [],
}  # fmt: skip


def test_the_study_draws_all(tmp_path):
    chosen = some(PICTURES, 2)
    out = network_study(tmp_path, quick=True, only=chosen, realizations=3).parent
    pictures = ["loads", *(name for figure in chosen for name in PICTURES[figure])]
    assert sorted(file.stem for file in out.glob("*.png")) == sorted(pictures)
    for name in pictures:
        assert re.match(rb"\x89PNG", (out / f"{name}.png").read_bytes())
