"""Result tables in the terminal: width, what is left out."""

import csv
import itertools
import os
import re
import shutil

import numpy as np
import pytest
from support import scale
from support.scale import some

import jitterfly as jf
from jitterfly.answer import csv_text
from jitterfly.cli import main
from jitterfly.cli.output import terminal_width
from jitterfly.results import Results, tables
from jitterfly.results.tables import MAX_ROWS, MAX_ROWS_IN_ALL, aligned_table, fitting, status
from jitterfly.store import Store
from jitterfly.studies import parse_study
from jitterfly.sweep import run

KINDS = ("ring_allreduce", "rabenseifner_allreduce", "butterfly", "reduce_broadcast_allreduce")
KINDS = KINDS[: scale.at_most(4, 2)]
RANKS = ", ".join(map(str, range(4, 49)))
#: 16 observables of 3 columns each, on 45 cells, with targets; 8 at small scale.
WIDE = (
    """
name = "wide"
title = "A title of many words, which goes on and on until no line of a terminal has room for it"
targets = ["p90 of completion_3_ring_allreduce ± 5 %"]
realizations = { max = 20 }
[case]
network = { kind = "loggops", L = "1us", o = "0.2us" }
noise = [{ kind = "periodic", period = "100us", duration = "10us", start = "stationary" }]
[axes.ranks]
values = [RANKS]
""".replace("RANKS", RANKS)
    + "".join(f'[variants.{kind}]\n"algorithm.kind" = "{kind}"\n' for kind in KINDS)
    + "[observables]\n"
    + "".join(
        f'completion_{i}_{kind} = {{ kind = "completion", variant = "{kind}" }}\n'
        for i in range(4)
        for kind in KINDS
    )
)
OBSERVABLES = 4 * len(KINDS)
COLUMNS = 3 * OBSERVABLES + 4  # and the ranks, realizations, times without noise and the target


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    path = tmp_path_factory.mktemp("wide") / "out"
    run(parse_study(WIDE), path)
    return Results(Store.open(path))


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_lines_are_no_longer_than_the_terminal(wide, width):
    text = tables.table(wide, width)
    assert max(map(len, text.splitlines())) <= width
    left = re.search(rf"\.\.\. (\d+) of {COLUMNS} columns have no room", text)
    shown = len(re.findall(r"-+", next(li for li in text.splitlines() if li.startswith("--"))))
    assert shown + int(left[1]) == COLUMNS
    assert "noise-: " not in text  # a heading of two lines, in a list
    assert "summary.csv has all" in text


def test_means_stay_longer_than_a_list_of_times_without_noise(tmp_path):
    """Of variants there are several, and no name in the list."""
    text = WIDE.replace("completion_", "slowdown_").replace('"completion"', '"slowdown"')
    study = parse_study(text.replace(RANKS, "4, 8"))
    run(study, tmp_path / "out")
    results = Results(Store.open(tmp_path / "out"))
    narrow = tables.table(results, 80)
    head = narrow.partition("\n---")[0]
    assert "free" not in head
    assert "mean" in head
    assert "free" in tables.table(results, 2000)


def test_heads_of_a_map_are_numbers(tmp_path):
    """Of both axes, without the signs of a formula."""
    study = parse_study("""
name = "map"
realizations = { max = 20 }
[case]
network = { kind = "loggops", L = "1us", o = "0.2us" }
noise = [{ kind = "periodic", period = "100us", duration = "10us" }]
algorithm = { kind = "hierarchical_allreduce" }
[axes.m]
path = "algorithm.node_ranks"
values = [2, 4, 8]
[axes.ranks]
values = [16, 32]
""")
    run(study, tmp_path / "out")
    text = tables.table(Results(Store.open(tmp_path / "out")), 100)
    assert "$" not in text
    assert {"2^1", "2^2", "2^3", "2^4", "2^5"} <= set(text.split())


def test_a_target_is_the_last_to_go(wide):
    told = " ".join(tables.table(wide, 60).split())
    assert "p90 of completion" in told
    assert told.index("p90 of completion") < told.index("columns have no room")


def test_a_large_table_says_how_many_rows_there_are_more(wide):
    text = tables.table(wide, 120)
    assert f"... {45 - MAX_ROWS} more rows: summary.csv has all" in text
    assert len(text) < 10_000


def test_where_everything_is(wide, tmp_path, blank_pictures_at_small_scale, capsys):
    """`summary.csv` is what the command writes; a run from Python has none."""
    assert not (wide.store.path / "summary.csv").exists()
    told = " ".join(wide.store.summary().split())
    assert "`to_csv(FILE)` writes all" in told
    assert "summary.csv" not in told
    assert "p90 of completion" in told
    pytest.importorskip("matplotlib")
    assert main(["plot", str(wide.store.path), "--out", str(tmp_path / "x.png")]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert f"`jitterfly export {wide.store.path} FILE.csv` writes all" in told


EACH = """
name = "each"
realizations = { max = 40 }
targets = ["p90 of completion ± 50 %"]

[case]
cycles = 3
network = { kind = "loggops", L = "1us", o = "200ns" }
noise = [{ kind = "periodic", period = "100us", duration = "2us", start = "stationary" }]

[axes.ranks]
values = [4, 8, 16]

[observables]
completion = { kind = "completion" }
slowdown = { kind = "slowdown" }
every = { kind = "completion", cycle = "each" }
"""


def test_cycles_are_shown_beside_what_has_one_number_a_cell(tmp_path):
    store = run(parse_study(EACH), tmp_path / "out")
    cells, cycles = tables.tables(Results(store))
    assert [row[0] for row in cells.rows] == ["2^2", "2^3", "2^4"]
    assert not any("every" in title for title in cells.header)
    assert {"slowdown\nmean", "p90 of completion, µs\n[95 %]"} <= set(cells.header)
    assert (cycles.title, [row[0] for row in cycles.rows]) == (
        "ranks = 2^4", ["cycle 1", "cycle 2", "cycle 3"],
    )  # fmt: skip
    told = " ".join(tables.table(Results(store)).split())
    assert "more tables" not in told
    assert (
        "Each cycle or T is shown at the last value of ranks alone: `plot` of kind each_cycle or "
        "curves draws the other 2 cells, and summary.csv has all." in told
    )


def test_tables_of_one_study_have_the_same_columns():
    """A wide number in one leaves a column out in all."""
    header, spare = ["x", "a", "b"], (2,)
    narrow, wide = [["1", "2", "3"]], [["1", "2", "3" * 20]]
    alone = fitting(header, narrow, 20, spare=spare)
    assert alone.splitlines()[0].split() == header
    together = [fitting(header, one, 20, spare=spare, beside=other)
                for one, other in ((narrow, wide), (wide, narrow))]  # fmt: skip
    assert [text.splitlines()[0].split() for text in together] == [["x", "a"]] * 2


@pytest.mark.full_scale
def test_many_tables_are_shown_up_to_so_many_rows(tmp_path):
    small = WIDE.replace(RANKS, "4, 8, 16, 32").partition("[variants")[0]
    small = small.replace("targets =", "#")
    axes = "".join(f'[axes.a.points.p{i}]\n"network.g" = "{i}ns"\n' for i in range(1, 46))
    run(parse_study(small.replace("[axes.ranks]", axes + "[axes.ranks]")), tmp_path / "out")
    results = Results(Store.open(tmp_path / "out"))
    text = tables.table(results, 120)
    assert len(list(tables.tables(results))) == 45
    shown = text.count("p") and len(re.findall(r"^p\d+", text, re.MULTILINE))
    assert f"... {45 - shown} more tables: summary.csv has all" in text
    # The others are not made, which takes long.
    asked = Results(Store.open(tmp_path / "out"))
    tables.table(asked, 120)
    assert sum("summaries" in vars(cell) for cell in asked.cells) < len(asked.cells)
    assert len(text.splitlines()) < MAX_ROWS_IN_ALL + 100


def test_the_commands_print_what_fits(wide, blank_pictures_at_small_scale, capsys, monkeypatch):
    pytest.importorskip("matplotlib")
    for columns in some((80, 120), 1):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert terminal_width() == columns
        for command in ("plot", "status"):
            assert main([command, str(wide.store.path)]) == 0
            lines = capsys.readouterr().out.splitlines()
            told = [line for line in lines if str(wide.store.path) not in line]
            assert [line for line in told if len(line) > columns] == []


def test_without_a_terminal_lines_have_120_letters(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(shutil, "get_terminal_size", lambda fallback: os.terminal_size(fallback))
    assert terminal_width() == 120


def test_the_file_keeps_everything(wide, tmp_path):
    assert main(["export", str(wide.store.path), str(tmp_path / "x.csv")]) == 0
    rows = list(csv.DictReader((tmp_path / "x.csv").read_text().splitlines()))
    assert len({(row["ranks"], row["observable"]) for row in rows}) == 45 * OBSERVABLES
    assert {"mean", "p5", "p50", "p90", "p95"} <= {row["statistic"] for row in rows}


def test_status_shows_so_many_cells_and_says_so(wide, capsys):
    text = status(wide.store, width=80, most=5)
    assert len([line for line in text.splitlines() if "budget spent" in line]) == 5
    assert "... 40 more rows" in text
    assert "45 of 45 cells finished" in text
    assert main(["status", str(wide.store.path), "--all"]) == 0
    assert capsys.readouterr().out.count("budget spent") == 45


def test_values_of_an_axis_are_left_out_evenly():
    header = ["", *(str(i) for i in range(100, 200))]
    rows = [["row", *("1.5" for _ in range(100))]]
    text = fitting(header, rows, 60, alike=True)
    head = text.splitlines()[0].split()
    assert (head[0], head[-1]) == ("100", "199")
    steps = [int(b) - int(a) for a, b in itertools.pairwise(head)]
    assert max(steps) - min(steps) <= 1
    assert f"... {100 - len(head)} of 100 columns have no room: summary.csv has all" in text


def test_long_headers_are_broken_and_stand_over_their_columns():
    header = [
        "ranks",
        "a name of many words\nmedian",
        "a name of many words\nmean",
        "other words here",
    ]
    text = aligned_table(header, [["2", "1.25", "1.30 ± 0.01", "7"]])
    assert text == (
        "          a name of many    other\n"
        "              words         words\n"
        "ranks  median         mean   here\n"
        "-----  ------  -----------  -----\n"
        "    2    1.25  1.30 ± 0.01      7"
    )


def test_a_range_below_zero_has_no_two_dashes():
    noise = [jf.PeriodicNoise(period="100us", duration="10us", start="stationary")]
    study = jf.Study(
        "differences",
        case={"ranks": 16, "network": "L=1us,o=200ns", "noise": noise},
        variants={"rd": {}, "ring": {"algorithm": jf.RingAllreduce()}},
        observables={"less": jf.Overhead(variant="rd", over="ring")},
        budget=jf.RealizationBudget(max=40),
    )
    summary = study.run().summary()
    assert re.search(r" -[0-9.]+ to -[0-9.]+ ", summary)
    assert "--" not in re.sub("---+", "", summary)


def test_what_is_not_known_is_an_empty_field_of_any_type():
    unknown = [float("nan"), np.float64("nan"), np.float32("nan"), None]
    assert csv_text([unknown]) == ",,,\n"
    assert csv_text([[np.array([1, 2]), np.float32(2)]]) == "[1 2],2.0\n"
