"""Study of HSL09's figures (`jitterfly network study`): settings, claims, files."""

import csv
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from support import fuzz_maps, scale
from support.commands import error_of
from support.congestion_cases import as_discovered
from support.paths import NETWORK_MAPS
from support.scale import full_scale

import jitterfly.congestion as jc
from jitterfly.cli import main
from jitterfly.congestion.case import SLOWED
from jitterfly.congestion.network_map import read_text
from jitterfly_papers import hsl09_settings
from jitterfly_papers.claims import CANNOT_TELL, DIFFERS, REPRODUCED, count_verdicts, show_counts
from jitterfly_papers.claims.hsl09 import HSL09, variation
from jitterfly_papers.hsl09_settings import FIGURES, HALF, SYSTEMS, FigurePoint, Setting


def test_reduction_is_the_tree_backwards():
    case = jc.CongestionCase(jc.FatTree.of(144), pattern="reduce", ratio=0, perturbation="none",
                             ranks=6)  # fmt: skip
    assert [level.tolist() for level in case.levels()] == [
        [[4, 0], [5, 1]], [[2, 0], [3, 1]], [[1, 0]],
    ]  # fmt: skip


def test_settings_are_those_of_the_paper():
    full = {name: hsl09_settings.settings(name) for name in FIGURES}
    ratios = {one.case.ratio for one in full["N1"]}
    assert sorted(ratios) == [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
    assert {one.case.ranks for one in full["N1"]} == {32, 208, 492}
    kinds = {(one.case.pattern, one.case.ranks) for one in full["N1"]}
    assert kinds == {("tree", 208), ("reduce", 492), ("recdbl", 492), ("recdbl", 32)}
    assert {one.case.pattern for one in full["N2"]} == {"tree", "recdbl"}
    assert {one.case.perturbation for one in full["N1"] + full["N2"]} == {"bisect_fb"}
    assert max(one.case.z for one in full["N2"]) == 250
    assert {one.case.ratio for one in full["N3"]} == {0.3, 0.4, 0.5, 0.6, 0.7}
    assert {one.case.ranks for one in full["N3"]} == {128, 566, 1142, 3908, 4391}
    assert {one.case.network.hosts for one in full["N3"] if one.case.ranks == 3908} == {5184}
    assert {one.case.network.hosts for one in full["N4"]} == {144, 1152, 1728, 3456, 20736}
    assert {one.case.rule for one in full["N4"]} == set(SLOWED)
    for name in FIGURES:  # both readings of the deck, also in short
        assert {one.case.rule for one in hsl09_settings.settings(name, quick=True)} >= {
            "orcs",
            "level_sync",
        }
    assert {one.case.network.routing for one in full["N4"]} == set(jc.ROUTINGS)
    for name in ("N3", "N4"):  # balanced routes, and such as chance has it, also in short
        short = {one.case.network.routing for one in hsl09_settings.settings(name, quick=True)}
        assert short == {"d-mod-k", "random"}
    assert {(one.case.pattern, one.case.z) for one in full["N5"]} == {("reduce", 246)}
    for name in FIGURES:  # --quick leaves out, and changes nothing
        assert set(hsl09_settings.settings(name, quick=True)) < set(full[name])


def test_systems_are_of_24_port_switches_and_one_has_half_bandwidth():
    for name, (tree, ranks) in SYSTEMS.items():
        assert ranks <= tree.hosts
        up = [*tree.w[1:], 0]
        assert all(down + above <= 24 for down, above in zip(tree.m, up, strict=True))
        # uplinks of all of the lowest switches
        assert tree.hosts // tree.m[0] * up[0] == tree.hosts // (2 if name == HALF else 1)


def test_points_are_paired_and_large_networks_get_a_third(monkeypatch):
    monkeypatch.setattr(hsl09_settings, "_LARGE", 500)
    chosen = [Setting("N4", "x", jc.CongestionCase(jc.FatTree.of(hosts))) for hosts in (144, 1152)]
    said = []
    points = hsl09_settings.run_settings(chosen, 30, 5, said.append)
    assert [len(point.perturbed.samples) for point in points] == [30, 10]
    case = chosen[0].case
    both = [jc.simulate_congestion(each, 30, 5) for each in (case, case.unperturbed())]
    assert f"{points[0].slowdown:.12g}" == f"{jc.slowdown_percent(*both):.12g}"
    assert points[0].realizations.mean() == pytest.approx(points[0].slowdown.value)
    assert said[0] == (
        f"N4 x: tree against rand, rule orcs, routing d-mod-k, z = 72: {points[0].slowdown:.1f} %"
    )


# --- what is said of values that are known


def point(figure, percent, spread=0.01, network="x", **options):
    """A point whose slowdown is `percent`, with an interval of about `spread` of it."""
    hosts = options.pop("hosts", 144)
    tree = replace(jc.FatTree.of(hosts), routing=options.pop("routing", "d-mod-k"))
    case = jc.CongestionCase(tree, **options)
    around = 1 + spread * math.sqrt(100) * np.tile([-1.0, 1.0], 50) / 2
    results = [
        jc.CongestionResult(each, 0, 0, "cpu", 10 * scale)
        for each, scale in ((case, percent / 100 * around), (case.unperturbed(), np.ones(100)))
    ]
    return FigurePoint(Setting(figure, network, case), *results)


def by_ours(parts):
    return sum((part.verdict, part.whose) == (REPRODUCED, "ours") for part in parts)


def verdicts(figure, points):
    return [found.verdict for found in HSL09[figure].check(points)]


def line(figure, values, ratios=(0.3, 0.5, 0.7), **options):
    return [
        point(figure, value, ratio=ratio, **options)
        for value, ratio in zip(values, ratios, strict=True)
    ]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((120, 150, 240), [REPRODUCED, REPRODUCED, CANNOT_TELL]),
        ((120, 150, 260), [DIFFERS, REPRODUCED, CANNOT_TELL]),
        ((120, 119.9, 240), [REPRODUCED, CANNOT_TELL, CANNOT_TELL]),
        ((120, 110, 249.9), [CANNOT_TELL, DIFFERS, CANNOT_TELL]),
    ],
)
def test_findings_against_ratio(values, expected):
    assert verdicts("N1", line("N1", values)) == expected
    text = HSL09["N1"].check(line("N1", values))[0].text
    assert "100–250 %, of which the lower end, no slowdown, can not fail (the paper's axis)" in text
    assert "can not fail" not in HSL09["N3"].check(line("N3", values))[0].text


def test_high_variance_is_a_number():
    """The standard deviation of `point` is 5 times its spread; ours to say what is high."""
    for spread, verdict in ((0.04, REPRODUCED), (0.01, CANNOT_TELL)):
        found = HSL09["N1"].check(line("N1", (120, 150, 240), spread=spread))[-1]
        assert found.part == "high variance at 128 samples"
        assert f"up to {500 * spread:.0f} [" in found.found
        assert (found.verdict, found.whose) == (verdict, "ours")
    samples = np.random.default_rng(1).gamma(4.0, 1.0, (200, 1000))
    estimates = [variation(row) for row in samples]
    assert np.mean([one.low <= 50 <= one.high for one in estimates]) > 0.87  # of 95 %


@pytest.mark.parametrize("rule", SLOWED)
def test_what_differs_says_under_which_rule(rule):
    points = line("N3", (120, 130, 140), rule=rule)
    (found,) = HSL09["N3"].check(points)[:1]
    assert f"rule {rule}" in found.where
    assert found.verdict == DIFFERS
    assert found.reason.startswith("our reading: ")


LARGER, SHORTER = "rule level_sync) is larger", "rule orcs) is shorter"
RANDOM, SPREAD = "routes at random are slower", "which spreads the messages, is faster"


@pytest.mark.parametrize(
    ("rule", "routing", "values", "reasons"),
    [
        ("orcs", "d-mod-k", (137, 160, 170), [LARGER, RANDOM]),
        ("orcs", "random", (137, 160, 170), [LARGER]),
        ("orcs", "random", (200, 250, 311), [SPREAD]),
        ("level_sync", "random", (200, 250, 311), [SHORTER, SPREAD]),
        ("level_sync", "d-mod-k", (200, 250, 311), [SHORTER]),
        ("level_sync", "d-mod-k", (137, 160, 170), [RANDOM]),
        ("level_sync", "d-mod-k", (137, 250, 311), []),
    ],
)
def test_reasons_move_towards_the_axis_that_was_missed(rule, routing, values, reasons):
    """Of slide 13, 150 to 300 %: nothing below it is explained by what is lower still."""
    (found,) = HSL09["N3"].check(line("N3", values, rule=rule, routing=routing))[:1]
    named = [reason for reason in (LARGER, SHORTER, RANDOM, SPREAD) if reason in found.reason]
    assert (found.verdict, named) == (DIFFERS, reasons)


def test_findings_against_size_of_the_communicator():
    points = [point("N2", value, ranks=ranks) for value, ranks in ((112, 32), (148, 100))]
    assert verdicts("N2", points) == [REPRODUCED, REPRODUCED]
    assert verdicts("N2", points[::-1]) == [REPRODUCED, DIFFERS]


@pytest.mark.parametrize(
    ("half", "expected"),
    [((200, 230, 290), REPRODUCED), ((200, 161, 290), CANNOT_TELL), ((200, 150, 290), DIFFERS)],
)
def test_half_bandwidth_is_the_worst(half, expected):
    points = line("N3", (155, 160, 180), network="full") + line("N3", half, network=HALF)
    assert verdicts("N3", points)[-1] == expected
    assert verdicts("N3", points)[0] == REPRODUCED
    assert verdicts("N3", line("N3", (140, 160, 180)))[0] == DIFFERS


@pytest.mark.parametrize(
    ("values", "spread", "expected"),
    [
        ((200, 260, 271.7, 291.7), 1e-4, REPRODUCED),  # 20 for each doubling
        ((200, 260, 271.7, 291.7), 0.05, CANNOT_TELL),
        ((200, 240, 271.7, 350), 1e-4, CANNOT_TELL),  # how straight it is to be, we say
        ((300, 240, 220, 200), 1e-4, DIFFERS),
        ((200, 199, 199, 199.5), 0.05, CANNOT_TELL),  # falls, as far as the samples tell: not
    ],
)
def test_logarithmic(values, spread, expected):
    sizes = zip(values, (144, 1152, 1728, 3456), strict=True)
    points = [point("N4", value, spread, hosts=hosts) for value, hosts in sizes]
    assert verdicts("N4", points)[1] == expected
    assert verdicts("N4", points[:2])[1] == CANNOT_TELL


def test_factor_two():
    assert verdicts("N5", [point("N5", value) for value in (200, 150, 260)]) == [
        REPRODUCED, CANNOT_TELL, DIFFERS,
    ]  # fmt: skip


def test_what_is_said_has_intervals_and_says_what_it_holds_for():
    """Figures of slowdown: all but ranges that are claimed, limits, and shares of something."""
    chosen = [one for name in FIGURES for one in hsl09_settings.settings(name, quick=True)]
    if not scale.FULL:  # networks of thousands of hosts take most of the time
        chosen = [
            one
            for one in chosen
            if one.figure != "N3" or one.case.ranks < 1000 or one.network == HALF
        ]
    points = hsl09_settings.run_settings(chosen, scale.scaled(10, least=3))
    others = r"± [\d.]+ %|\d+–\d+ %|[\d.]+ % (are allowed|of the rise)|factor 2"
    for figure, claim in HSL09.items():
        for found in claim.check([one for one in points if one.setting.figure == figure]):
            for word in (" against ", "rule ", "routing "):
                assert word in found.where
            said, intervals = re.subn(r"[\d.]+ \[-?[\d.]+, [\d.]+\] %", "", found.found)
            assert not re.search(r"\d %", re.sub(others, "", said)), found.text
            assert not intervals or "z = " in said, found.text
            assert intervals or "standard deviation" in said, found.text


# --- the command


@pytest.fixture
def no_pictures(monkeypatch):
    """At small scale, where they would take most of the time; they have tests of their own."""
    if not scale.FULL:
        monkeypatch.setattr("jitterfly_papers.report.hsl09.can_draw", lambda: False)


def study_command(capsys, out, *arguments):
    assert main(["network", "study", "--out", str(out), *map(str, arguments)]) == 0
    return capsys.readouterr()


def test_command_writes_what_it_found(tmp_path, capsys):
    file = NETWORK_MAPS / "loginoff_minhop.dot.gz"
    realizations = scale.at_most(20, 5)
    said = study_command(capsys, tmp_path / "a", "--quick", "--realizations", realizations,
                         "--only", "N5", "--only", "N2", "--seed", 3, file)  # fmt: skip
    text = (tmp_path / "a" / "findings.txt").read_text(encoding="utf-8")
    parts = re.compile(r"^  \S|^    (reproduced|differs|cannot tell) ", re.MULTILINE)
    claims, maps = text.split("\nNetworks from files, no claim:\n")
    told, rest = said.out.split("\nNetworks from files, no claim:\n")
    assert parts.search(claims)
    assert not parts.search(told)
    assert rest == f"{maps}\nwritten: {tmp_path / 'a'} (findings.txt: every part of each claim)\n"
    assert "publishes ranges of axes only" in text
    with (tmp_path / "a" / "slowdown.csv").open(newline="") as table:
        rows = list(csv.DictReader(table))
    assert {row["figure"] for row in rows} == {"N2", "N5", "maps"}
    # Phases that take long, as on a busy machine, are told there, too.
    assert len(re.findall(" %$", said.err, re.MULTILINE)) == len(rows)
    chosen = [one for name in ("N5", "N2") for one in hsl09_settings.settings(name, quick=True)]
    points = hsl09_settings.run_settings(chosen, realizations, 3)
    for row, one in zip(rows, points, strict=False):
        case, found = one.case, one.slowdown
        assert (int(row["z"]), float(row["ratio"]), row["rule"]) == (case.z, case.ratio, case.rule)
        assert (row["pattern"], row["perturbation"]) == (case.pattern, case.perturbation)
        assert (row["routing"], row["seed"]) == ("d-mod-k", "3")
        assert int(row["realizations"]) == realizations
        for name, value in (("slowdown_percent", found.value), ("low", found.low)):
            assert float(row[name]) == pytest.approx(value, rel=1e-5)
        assert float(row["q5"]) <= float(row["q50"]) <= float(row["q95"])
    for name in ("N2", "N5"):
        mine = HSL09[name].check([one for one in points if one.setting.figure == name])
        head = next(part for part in told.split("\n\n") if part.startswith(f"{name} ("))
        assert f"{show_counts(count_verdicts(mine), by_ours(mine))}." in head.replace("\n    ", " ")
    with (tmp_path / "a" / "bisection.csv").open(newline="") as table:
        widths = {(row["network"], row["routing"]): row for row in csv.DictReader(table)}
    expected = jc.bisection_bandwidth(jc.NetworkMap.read(file), realizations, 3)
    found = widths["loginoff_minhop.dot.gz", "tables"]
    assert float(found["bandwidth"]) == pytest.approx(expected.value, rel=1e-5)
    assert {routing for name, routing in widths if name == "1152 hosts"} == set(jc.ROUTINGS)


def test_command_takes_a_network_with_its_tables(tmp_path, no_pictures, capsys):
    both = as_discovered(read_text(NETWORK_MAPS / "loginoff_updn.dot.gz"))
    files = tmp_path / "topo", tmp_path / "lfts"
    for file, text in zip(files, both, strict=True):
        file.write_text(text)
    study_command(capsys, tmp_path / "a", "--quick", "--realizations", 5, "--only", "N5", "--map",
                  *files)  # fmt: skip
    with (tmp_path / "a" / "bisection.csv").open(newline="") as table:
        found = {row["network"]: row for row in csv.DictReader(table)}
    assert (found["topo"]["hosts"], found["topo"]["routing"]) == ("145", "tables")


@pytest.mark.parametrize("figure", [full_scale("N3"), "N5"])
def test_command_says_the_same_again(tmp_path, no_pictures, capsys, figure):
    for name in "ab":
        study_command(capsys, tmp_path / name, "--quick", "--realizations", 5, "--only", figure)
    for file in ("findings.txt", "slowdown.csv", "bisection.csv"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "N6"], "--only must be one of 'N1'"),
        (["--realizations", "1"], "realizations must be"),
        (["--seed", "-1"], "seed must be"),
        (["a/x.dot", "b/x.dot"], "two files are called 'x.dot'"),
        ([str(NETWORK_MAPS / "README.md")], "neither a Graphviz digraph"),
        (["--map", str(NETWORK_MAPS / "README.md"), "x"], "x"),
        (["small.dot"], "small.dot: ratio 0.2 leaves one perturbing rank"),
    ],
)
def test_errors_are_one_line(tmp_path, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.dot").write_text(fuzz_maps.DIGRAPH)
    out = tmp_path / "out"
    assert message in error_of(capsys, "network", "study", "--out", out, *arguments)
    assert not (tmp_path / "out").exists()
