"""Command `jitterfly advise`: output, files, TOML questions, pictures, errors."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from support.advice_cases import ARGUMENTS, BUTTERFLIES, FILE, MACHINE, NOISE, asked, run
from support.paths import EXAMPLES
from support.scale import full_scale

import jitterfly as jf
from jitterfly.advice import COLLECTIVES, Question, known, load_question, setting_in_words
from jitterfly.cli import main

# --- the command


def press(*_):
    raise KeyboardInterrupt


RARE = """-q --ranks 64 --network L=1us,o=200ns,G=0.1ns --realizations 500
  --noise period=1ms,duration=5us --noise kind=renewal,gap=10s,duration=1ms,start=stationary"""


def test_rare_noise_that_not_all_candidates_met(capsys, monkeypatch):
    """No time is below 0; a smaller mean of fewer realizations behind a larger one has a line."""
    monkeypatch.setenv("COLUMNS", "200")  # else there is no room for the column times
    line = "  mean: over different realizations, so that two of them do not compare; times does, ov"
    assert run(*RARE.split(), "--seed", "9") == 0
    shown = capsys.readouterr().out
    assert "butterfly_within_all 12.77 [0, 55.58]" in " ".join(shown.split())
    assert " 1.52 [0, 6.61] " in " ".join(shown.split())
    assert line not in shown
    assert run(*RARE.split(), "--seed", "12") == 0
    assert line in capsys.readouterr().out


def test_command(tmp_path, capsys):
    out = tmp_path / "out"
    assert run(*ARGUMENTS, "--candidates", "butterfly,butterfly_after_1", "--out", out) == 0
    printed = capsys.readouterr()
    assert f"written to {out}: advice.csv, advice.json, advice.png" in printed.out
    lines = printed.out.splitlines()
    assert lines[0].startswith("allreduce on 4 to 64 ranks, 8 B to 1 KiB")
    assert sum("KiB" in line for line in lines[3:9]) == 2
    assert any(line.startswith("95 % for all of it together") for line in lines)
    table = json.loads((out / "advice.json").read_text())
    same = jf.advise("4,64", network=MACHINE, noise=NOISE, message_bytes="8,1KiB",
                     candidates=["butterfly", "butterfly_after_1"])  # fmt: skip
    assert table["cells"] == json.loads(same.to_json())["cells"]
    assert (out / "advice.csv").read_text() == same.to_csv()
    assert (out / "advice.png").read_bytes().startswith(b"\x89PNG")
    assert same.summary() in printed.out


def test_out_is_not_overwritten_silently(tmp_path, capsys, blank_pictures):
    out = tmp_path / "out"
    given = (*ARGUMENTS, "--candidates", "butterfly,butterfly_after_1", "--out", out)
    assert run(*given) == 0
    read = capsys.readouterr().err  # network and noise as they were read
    assert "holds" not in read
    before = (out / "advice.csv").read_bytes()
    # Another question, told by what differs, before anything is simulated.
    assert run(*given, "--statistic", "p90") == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == (
        f"jitterfly: error: {out} holds the answer to another question (its statistic is 'mean', "
        "here it is 'p90'); choose another --out, or --force to replace it\n"
    )
    assert run(*given, "--noise", "period=2ms,duration=10us") == 2
    assert "another question (its noise is" in capsys.readouterr().err
    assert (out / "advice.csv").read_bytes() == before
    # The same question again, with any budget, is answered again, and says so.
    assert run(*given, "--seconds", 100) == 0
    told = (
        f"jitterfly: {out} holds an answer to the same question: it will be replaced, unless this "
        "one is cut short\n"
    )
    assert capsys.readouterr().err == told + read
    assert (out / "advice.csv").read_bytes() == before
    assert run(*given, "--statistic", "p90", "--force") == 0
    assert capsys.readouterr().err == read
    assert (out / "advice.csv").read_bytes() != before


@pytest.mark.parametrize(
    "less",
    [
        ("--seconds", "1e-9"),
        full_scale(("--realizations", 64)),
        ("stop",),
        full_scale(("--json", "--seconds", "1e-9")),
    ],
)
def test_a_finished_answer_is_not_replaced_by_less(
    tmp_path, capsys, monkeypatch, blank_pictures, less
):
    """By a small budget, Ctrl-C, SIGTERM: only --force takes what is known away."""
    given = (*ARGUMENTS, "--candidates", "butterfly,butterfly_after_1", "--out", tmp_path)
    assert run(*given) == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert json.loads(before["advice.json"])["ended"] == "decided"
    if less == ("stop",):
        monkeypatch.setattr("jitterfly.cli.advise.AdviceProgress.__call__", press)
    else:
        given += less
    assert run(*given) == (130 if less == ("stop",) else 0)
    printed = capsys.readouterr()
    assert f"jitterfly: {tmp_path} keeps its earlier answer, from " in printed.err
    assert f"written to {tmp_path}" not in printed.out.split("realizations", 1)[1][-200:]
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    run(*given, "--force")
    assert (tmp_path / "advice.json").read_bytes() != before["advice.json"]


def test_no_picture_of_another_answer_stays(tmp_path, capsys, blank_pictures):
    given = (*ARGUMENTS, "--candidates", "butterfly,butterfly_after_1", "--out", tmp_path)
    assert run(*given) == 0
    assert (tmp_path / "advice.png").exists()
    assert run(*given, "--statistic", "p90", "--seconds", "1e-9", "--force") == 0
    assert "written to" in capsys.readouterr().out
    assert json.loads((tmp_path / "advice.json").read_text())["statistic"] == "p90"
    assert not (tmp_path / "advice.png").exists()


def test_a_long_answer_is_known_again(tmp_path, capsys, blank_pictures):
    """2,000 cells with nine candidates are more than a text that people write."""
    given = (*ARGUMENTS, "--candidates", "butterfly", "--out", tmp_path)
    assert run(*given) == 0
    answer = tmp_path / "advice.json"
    answer.write_text(answer.read_text() + " " * 2**24)
    assert run(*given) == 0
    assert "holds an answer to the same question" in capsys.readouterr().err


@pytest.mark.parametrize("content", [None, "{", "[]", '{"collective": "allreduce"}'])
def test_out_that_does_not_say_what_was_asked(tmp_path, capsys, content):
    (tmp_path / "advice.csv").write_text("mine")
    if content is not None:
        (tmp_path / "advice.json").write_text(content)
    assert run(*ARGUMENTS, "--out", tmp_path) == 2
    printed = capsys.readouterr().err
    assert "does not say what was asked; choose another --out, or --force" in printed
    assert printed.count("\n") == 1
    assert (tmp_path / "advice.csv").read_text() == "mine"


def test_force_needs_out(capsys):
    assert run(*ARGUMENTS, "--force") == 2
    assert "--force is for --out DIR" in capsys.readouterr().err


def test_noise_of_another_name_is_the_same_question(tmp_path, capsys, blank_pictures):
    text = Path(EXAMPLES / "vm.noise").read_bytes()
    names = [tmp_path / "a.noise", tmp_path / "b.noise"]
    for name in names:
        name.write_bytes(text)
        assert run(*ARGUMENTS[:6], "--noise", name, "--realizations", 64, "--candidates",
                   "butterfly", "--out", tmp_path / "out") == 0  # fmt: skip
    assert "the same question: it will be replaced" in capsys.readouterr().err


def test_file_and_options(tmp_path, capsys):
    path = tmp_path / "question.toml"
    path.write_text(FILE)
    assert run(path, "--ranks", 16, "--bytes", "8", "--statistic", "p50", "--cycles", 2) == 0
    printed = capsys.readouterr().out
    assert "allreduce on 16 ranks, 8 B: which algorithm has the smallest p50" in printed
    assert " both " in printed


def test_noise_files_are_beside_the_question(tmp_path, monkeypatch, capsys):
    detours = [0.0001 * i for i in range(1, 90)]
    rows = "".join(f"{t:.6f},0.000005\n" for t in detours)
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "detours.csv").write_text("start_s,duration_s\n" + rows)
    assert main(["noise", "import", str(folder / "detours.csv"), "--out",
                 str(folder / "node.noise")]) == 0  # fmt: skip
    text = re.sub(r'kind = "periodic"(.*\n){4}', 'kind = "trace"\nfile = "node.noise"\n', FILE)
    (folder / "question.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert run("here/question.toml", "--ranks", 16, "--bytes", 8) == 0
    first = capsys.readouterr().out
    assert run("here/question.toml", "--ranks", 16, "--bytes", 8, "--noise", "here/node.noise") == 0
    assert _without_time(first.split("\n\n", 1)[1]) in _without_time(capsys.readouterr().out)


def _without_time(text):
    return re.sub(r"in [0-9.e-]+ s;", "", text[text.index("16 ranks, 8 B:") :])


def test_example():
    """The question of the README, with its recording beside it."""
    question = load_question(EXAMPLES / "advise.toml", {})
    assert question.ranks[-1] == 6000
    assert question.noise[0].kind == "trace"
    assert question.looks()[0] > 32


def columns(lines, start):
    """The rows of a printed table below its header, as lists of cells."""
    at = next(i for i, line in enumerate(lines) if line.strip().startswith(start))
    rows = []
    for line in lines[at:]:
        if not line.strip() or ": " in line.split("  ")[1]:
            break
        rows.append(re.split(r"\s{2,}", line.strip()))
    return rows


def test_equal_is_what_is_told_to_be_equal(capsys, monkeypatch):
    """On a narrow terminal. One that may be 7 % slower is not said to be equal within 1 %."""
    monkeypatch.setenv("COLUMNS", "80")
    noise = "period=1ms,duration=10us,start=stationary"
    machine = ["--network", "L=1us,o=0.2us", "--noise", noise]
    names = "butterfly_after_1,butterfly_after_4,butterfly_after_all,reduce_broadcast"
    assert run("--ranks", 64, *machine, "--statistic", "p99", "--candidates", names) == 0
    text = capsys.readouterr().out
    head = "butterfly_after_4 (equal: butterfly_after_all; not told from it: butterfly_after_1)"
    assert head in text
    assert "one at most 1 % slower than any in this cell (best: butterfly_after_4)" in text
    table, *_ = text.split("  no room here for ")
    assert max(map(len, table.splitlines()[3:])) <= 80
    assert "no room here for faster, longer by, without noise" in text


def test_a_cell_says_slowdown_and_slower_than_whom(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    machine = "L=1us,o=0.2us,g=0.1us,G=0.1ns"
    assert run("--ranks", 1024, "--network", machine, "--noise",
               "period=1ms,duration=10us,start=stationary", "--within", 0) == 0  # fmt: skip
    lines = capsys.readouterr().out.splitlines()
    header, *rows = columns(lines, "candidate")
    assert header == ["candidate", "mean, µs", "without noise, µs", "slowdown", "times",
                      "longer by, µs", "faster", "state (realizations)"]  # fmt: skip
    assert rows[0][1] == "butterfly_after_all"
    assert rows[0][-1].startswith("the best (")
    assert rows[0][3] == "14.01"
    assert re.fullmatch(r"1\.\d+ \[1\.\d+, 1\.\d+\]", rows[0][4])
    told = [row[-1] for row in rows]
    kinds = [text.split(" (")[0] for text in told]
    assert kinds == ["the best"] + ["slower than 1"] * 5 + ["bound: slower than 1"] * 3
    for row in rows[1:6]:
        assert float(re.search(r"\[([0-9.]+),", row[5])[1]) > 1  # as its state says
    for row in rows[6:]:
        assert row[2].startswith("> ")
        assert re.fullmatch(r"> 1\d*\.\d+", row[4])
    assert "  times, longer by, faster: compared with 1, butterfly_after_all" in lines


def test_a_table_says_slowdown_and_marks_bounds(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    machine = "L=1us,o=0.2us,g=0.1us,G=0.1ns,gamma=0.05ns"
    assert run("--ranks", "16,64", "--bytes", "8,1MiB", "--network", machine, "--noise",
               "period=1ms,duration=10us,start=stationary") == 0  # fmt: skip
    header, *rows = columns(capsys.readouterr().out.splitlines(), "ranks")
    assert header == ["ranks", "bytes", "best", "mean, µs", "without noise, µs", "slowdown",
                      "next slower", "times it"]  # fmt: skip
    assert len(rows) == 4
    assert all(1 < float(row[5]) < 3 for row in rows)
    assert any(row[-1].endswith(" (bound)") for row in rows)


def test_a_mean_without_an_end_says_so_in_the_table_of_many_cells(capsys):
    """It is that without noise, where none was met: it passed for a number that is known."""
    rare = asked("--noise", "period=10s,duration=100us,start=stationary")
    assert run(*rare, "--realizations", "100", "--candidates", "ring,rabenseifner") == 0
    printed = capsys.readouterr().out
    rows = [line for line in printed.splitlines() if re.match(r"  (4|64) ", line)]
    assert len(rows) == 4
    assert all("[?, ?]" in row for row in rows)
    assert "?]: no upper end is known: too few realizations met noise" in printed
    assert run(*ARGUMENTS, "--realizations", "100", "--candidates", "ring,rabenseifner") == 0
    assert "no upper end" not in capsys.readouterr().out


def test_the_tolerance_counts_compute_time(capsys):
    """1 % of 20 ms is more than the whole collective: a note says so, and what to set."""
    question = asked("--ranks", "64")
    names = ("--candidates", "recursive_doubling,rabenseifner", "--realizations", "100")
    assert run(*question, *names, "--compute-time", "20ms") == 0
    printed = capsys.readouterr().out
    note = "--within counts compute time, too: 1 % of 20.01 ms is 200.1 µs. The collective alone"
    assert note in printed
    (share,) = re.findall(r"for 1 % of that set --within to (\S+%)", printed)
    assert 2e-4 < float(share[:-1]) < 1e-3
    assert run(*question, *names, "--compute-time", "20ms", "--within", share) == 0
    assert f"within {share[:-1]} %" in capsys.readouterr().out
    assert run(*question, *names) == 0
    assert "counts compute time" not in capsys.readouterr().out


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_the_list_explains_each_candidate_in_a_line(collective, capsys):
    assert run("--candidates", "list", "--collective", collective) == 0
    lines = capsys.readouterr().out.splitlines()
    for name, one in known(collective).items():
        (line,) = [line for line in lines if line.split()[0] == name]
        assert len(one.summary) > 20
        assert one.summary in line
        assert one.usual != ("only if named" in line)


@pytest.mark.parametrize("collective", ["allgather", "broadcast", "reduce"])
def test_a_circulant_graph_is_told_in_the_order_of_its_distances(collective):
    """Up, and the other way in a reduce: the last four of a whole turn over 16 ranks."""
    words = known(collective)["circulant"].summary
    algorithm = jf.Algorithm.from_dict({"kind": f"circulant_{collective}", "segment_bytes": 1})
    pairs = [step.partners.pairs(16)[0] for step in algorithm.steps(16, 5) if step.partners]
    distances = [min((a - b) % 16, (b - a) % 16) for a, b in pairs]
    up, down = ("1, ... N/4, N/2 ranks", [1, 2, 4, 8]), ("N/2, N/4, ... 1 ranks", [8, 4, 2, 1])
    told, turn = (up, down) if up[0] in words else (down, up)
    assert told[0] in words
    found = [distances[i : i + 4] for i in range(len(distances) - 3)]
    assert told[1] in found
    assert turn[1] not in found


def test_the_list_has_the_names_of_libraries(capsys):
    """Numbers of coll_tuned_*_algorithm, values of MPIR_CVAR_*_INTRA_ALGORITHM and NCCL_ALGO."""
    assert run("--candidates", "list") == 0
    rows = [re.split(r"\s{2,}", line.strip()) for line in capsys.readouterr().out.splitlines()]
    names = {row[0]: row[2:] for row in rows if len(row) > 1}
    assert names["candidate"] == ["Open MPI", "MPICH", "NCCL"]
    assert names["ring"] == ["4 ring", "ring", "Ring"]
    assert names["recursive_doubling"] == ["3 recursive_doubling", "recursive_doubling"]
    assert names["rabenseifner"] == ["6 rabenseifner", "reduce_scatter_allgather"]
    assert names["reduce_broadcast"] == ["2 nonoverlapping"]
    assert names["butterfly_after_all"] == []  # no library has it
    assert run("--candidates", "list", "--collective", "broadcast") == 0
    printed = capsys.readouterr().out
    assert "coll_tuned_bcast_algorithm" in printed
    assert "MPIR_CVAR_BCAST_INTRA_ALGORITHM" in printed
    assert run("--candidates", "list", "--collective", "alltoall") == 0
    printed = capsys.readouterr().out
    rows = [re.split(r"\s{2,}", line.strip()) for line in printed.splitlines()]
    names = {row[0]: row[2:] for row in rows if len(row) > 1}
    assert names["bruck"] == ["3 modified_bruck", "brucks"]
    assert names["pairwise"] == ["2 pairwise"]
    assert (names["linear"], names["scattered"]) == (["1 linear"], ["scattered"])


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ((), "--ranks must be given, such as 64,1000, or a QUESTION.toml that has it"),
        (("--ranks", "8"), "--network must be given"),
        (asked("--bytes", "1k"), "--bytes must be whole numbers"),
        (asked("--ranks", "8..6"), "a range must ascend from a number above 0"),
        (asked("--network", "L=1us"), "--network: key 'o' is missing; loggops needs L, o"),
        (asked("--network", "kind=fast"), "network: kind must be one of"),
        ((*ARGUMENTS, "--noise", "nowhere.noise"), "nowhere.noise can not be read"),
        ((*ARGUMENTS, "--noise", "period=1ms"), "noise[1]: key 'duration' is missing"),
        ((*ARGUMENTS, "--statistic", "max"), "--statistic must be mean or a quantile"),
        ((*ARGUMENTS, "--within", "2"), "--within must be a share"),
        ((*ARGUMENTS, "--candidates", "ringg"), "--candidates must be one of"),
        ((*ARGUMENTS, "--seconds", "soon"), "--seconds must be a time from 0"),
        ((*ARGUMENTS, "--realizations", "many"), "realizations must be an integer"),
        ((*ARGUMENTS, "--threads", "0"), "--threads must be an integer from 1 to 1024"),
        ((*ARGUMENTS, "--collective", "shuffle"), "--collective must be one of"),
        (("nowhere.toml",), "nowhere.toml: No such file"),
        (("--rank", "8"), "unrecognized arguments: --rank"),
    ],
)
def test_errors_are_one_line(capsys, arguments, what):
    assert run(*arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("jitterfly: error: ")
    assert printed.err.count("\n") == 1
    assert what in printed.err


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("ranks = ", "not valid TOML"),
        (FILE.replace("seed", "sed"), "unknown key 'sed' (did you mean 'seed'?)"),
        (FILE.replace("[[noise]]", "[noise]"), "noise must be a list of tables"),
        (
            FILE.replace("own.both", "own.butterfly"),
            "has a candidate 'butterfly' already: give yours",
        ),
        (FILE.replace("ranks =", "rank ="), "unknown key 'rank'"),
        (FILE.replace('period = "1ms"', 'perod = "1ms"'), "noise[0]: unknown key 'perod'"),
    ],
)
def test_bad_files(tmp_path, capsys, text, what):
    path = tmp_path / "question.toml"
    path.write_text(text)
    assert run(path) == 2
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    assert what in printed.err


def test_ctrl_c_of_the_command(capsys, monkeypatch):
    monkeypatch.setattr("jitterfly.cli.advise.AdviceProgress.__call__", press)
    assert run(*ARGUMENTS, "--within", "0") == 130
    assert "stopped: this is what was known by then" in capsys.readouterr().out


# --- pictures


@pytest.mark.parametrize(
    "more",
    [
        full_scale({"ranks": 64}),
        full_scale({"ranks": 64, "statistic": "p99"}),
        full_scale({"ranks": "4,8,64"}),
        full_scale({"ranks": "1..2^12", "message_bytes": "1..1MiB/4"}),
        {"ranks": "8,16", "message_bytes": "8,1KiB", "network": jf.LogGOPS("1us", "1us", S=100)},
        full_scale({"ranks": "8,16", "realizations": 32, "within": 0.0}),
        full_scale({"ranks": "8,16", "noise": ()}),
    ],
)
def test_pictures(tmp_path, more):
    from jitterfly.plots import draw
    from jitterfly.plots.advice import draw as picture

    given = {"network": MACHINE, "noise": NOISE, "realizations": 512, "candidates": BUTTERFLIES}
    given |= more
    if given.get("statistic"):
        given["realizations"] = None
    found = jf.advise(given.pop("ranks"), **given)
    with draw.drawing():
        figure = picture(found)
        draw.save(figure, tmp_path / "a.png")
        draw.save(picture(found), tmp_path / "b.png")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    shown = {text.get_text() for text in figure.legends[0].get_texts()}
    names = {name for cell in found.cells for name in ([cell.best] if cell.best else cell.among)}
    if len(found.cells) > 1:
        listed = {text.split("  ")[1] for text in shown if "  " in text}
        assert listed == names


def drawn(found):
    from jitterfly.plots import draw
    from jitterfly.plots.advice import draw as picture

    with draw.drawing():
        return picture(found)


def is_grey(colour):
    """Whether a colour is a grey that is neither black nor white nor unseen."""
    red, green, blue, *rest = to_rgba(colour)
    visible = not rest or rest[0] > 0
    return visible and max(red, green, blue) - min(red, green, blue) < 0.05 and 0.2 < red < 0.97


def advised(ranks, sizes, **more):
    given = {"network": jf.LogGOPS(L="1us", o="0.2us", g="0.1us", G="0.1ns"), "noise": NOISE}
    return jf.advise(ranks, message_bytes=sizes, **(given | more))


def test_a_map_names_its_setting_and_has_no_grey():
    """Cells without a winner, with one, with several, and runners-up that are bounds."""
    found = advised("4,64,1024", "8,64KiB,4MiB", realizations=256)
    outcomes = {cell.outcome for cell in found.cells}
    assert {"winner", "no winner"} <= outcomes
    assert any(cell.runner_up.is_bound for cell in found.cells)
    figure = drawn(found)
    left, right, bar = figure.axes  # the last is the colour bar of the second
    assert bar.get_ylim()[0] == 1.0
    assert len(bar.get_yticks()) >= 2
    texts = " ".join(" ".join(text.get_text().split()) for text in figure.texts)
    assert "network loggops, L = 1 µs, o = 200 ns, g = 100 ns, G = 100 ps" in texts
    assert "noise periodic, period = 1 ms, duration = 10 µs, start = stationary" in texts
    assert left.get_title() == "the smallest mean"
    assert right.get_title() == "the next slower one's mean: times the smallest"
    faces = [patch.get_facecolor() for patch in left.patches if patch.get_fill()]
    assert len(faces) == 9
    assert not any(map(is_grey, faces))
    ramp = right.images[0].get_cmap()(np.linspace(0, 1, 256))
    assert not any(map(is_grey, ramp))
    labels = " ".join(text.get_text() for text in figure.legends[0].get_texts())
    assert "hatched, left: no winner among these" in labels
    assert "at least: a bound" in labels
    assert any(text.get_text().startswith("> ") for text in right.texts)


def test_a_map_explains_white_cells_and_shows_ratios_near_one():
    """The next one is a bound to another than the first; and 1.03 is not 1."""
    noise = [jf.PeriodicNoise("10s", "100us", start="stationary")]
    names = ["recursive_doubling", "ring", "rabenseifner", "butterfly_after_1"]
    network = jf.LogGOPS(L="1us", o="0.2us", G="0.1ns")
    found = advised("16,64,256", "8,64KiB", noise=noise, network=network, compute_time="20ms",
                    candidates=names, realizations=200)  # fmt: skip
    assert any(cell.runner_up.versus not in ("", cell.ranking[0].name) for cell in found.cells)
    figure = drawn(found)
    right = figure.axes[1]
    labels = " ".join(text.get_text().replace("\n", " ") for text in figure.legends[0].get_texts())
    assert "white, right: the next one is not compared with the first" in labels
    assert any(re.fullmatch(r"> 1\.0\d\d", text.get_text()) for text in right.texts)


def test_of_one_cell_grey_is_for_bounds_only():
    found = advised(1024, 8)
    figure = drawn(found)
    (axes,) = figure.axes
    rows = [line for line in axes.lines if line.get_marker() in ("D", ">", "<", "X")]
    assert len(rows) == len(found.cells[0].ranking)
    for line, one in zip(rows, found.cells[0].ranking, strict=True):
        assert is_grey(line.get_color()) == one.is_bound
        assert (line.get_marker() == ">") == one.is_bound
    texts = " ".join(" ".join(text.get_text().split()) for text in figure.texts)
    assert "network loggops" in texts
    assert "noise periodic" in texts
    assert "butterfly_after_all: mean 23.5" in texts
    assert "without noise 14.01 µs" in texts


def test_an_interval_without_end_goes_to_that_of_the_axis():
    """Of noise that comes once a second few realizations know how much longer the others take."""
    noise = [jf.PeriodicNoise("1s", "100us", start="stationary")]
    found = advised(64, "64KiB", noise=noise, realizations=600)
    (cell,) = found.cells
    assert sum(math.isinf(one.ratio.high) for one in cell.ranking) > 3
    (axes,) = drawn(found).axes
    left, right = axes.get_xlim()
    for row, one in enumerate(cell.ranking):
        lines = [line for line in axes.lines if set(line.get_ydata()) == {row}]
        ends = [x for line in lines for x in line.get_xdata()]
        endless = one.is_bound or math.isinf(one.ratio.high)
        assert max(ends) == (right if endless else pytest.approx(one.ratio.high))
        assert left < min(ends)
        assert any(line.get_marker() == "D" for line in lines) != one.is_bound


def test_settings_in_words():
    noise = [
        jf.TraceNoise(file=str(EXAMPLES / "vm.noise")),
        jf.StepNoise(jf.Exponential("2us"), 0.2),
    ]
    question = Question(8, network=MACHINE, noise=noise, cycles=3, compute_time="5us")
    assert setting_in_words(question) == [
        "network loggops, L = 1 µs, o = 100 ns, G = 1 ns, gamma = 100 ps",
        "noise trace, file = vm.noise; step, delay = exponential, mean 2 µs, probability = 0.2",
        "the last of 3 in a row",
        "5 µs of computing before each",
    ]
    assert setting_in_words(Question(8, network=MACHINE))[1] == "noise none"
