"""`jitterfly advise`: what it prints and writes, questions as files, pictures, errors."""

import json
import re
from pathlib import Path

import pytest

import jitterfly as jf
from jitterfly.advice.reading import load_question
from jitterfly.cli import main

MACHINE = jf.LogGOPS(L="1us", o="0.1us", G="1ns", gamma="0.1ns")
NOISE = [jf.PeriodicNoise(period="1ms", duration="10us", start="stationary")]
EXAMPLES = Path(__file__).parents[1] / "sweeps" / "examples"
BUTTERFLIES = ("butterfly", "butterfly_after_1", "butterfly_after_all", "butterfly_within_all")

# --- the command

ARGUMENTS = ("--ranks", "4,64", "--bytes", "8,1KiB", "--network", "L=1us,o=0.1us,G=1ns,gamma=0.1ns",
             "--noise", "period=1ms,duration=10us,start=stationary")  # fmt: skip

FILE = """
ranks = "4,64"
message_bytes = [8, "1KiB"]
seed = 4
candidates = ["butterfly", "butterfly_after_1"]
network = { kind = "loggops", L = "1us", o = "0.1us", G = "1ns", gamma = "0.1ns" }
[[noise]]
kind = "periodic"
period = "1ms"
duration = "10us"
start = "stationary"
[own.both]
kind = "butterfly"
after = 1
within = [1]
"""


def run(*arguments):
    try:
        return main(["advise", *map(str, arguments)])
    except SystemExit as stop:
        return stop.code


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


def test_list(capsys):
    assert run("--candidates", "list") == 0
    assert "butterfly_after_all" in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ((), "--ranks must be given, or a QUESTION.toml that has it"),
        (("--ranks", "8"), "--network must be given"),
        ((*ARGUMENTS, "--bytes", "1k"), "message_bytes must be whole numbers"),
        ((*ARGUMENTS, "--ranks", "6..8"), "a range must ascend from a power of two"),
        ((*ARGUMENTS, "--network", "L=1us"), "network: key 'o' is missing"),
        ((*ARGUMENTS, "--network", "kind=fast"), "network: kind must be one of"),
        ((*ARGUMENTS, "--noise", "nowhere.noise"), "nowhere.noise can not be read"),
        ((*ARGUMENTS, "--noise", "period=1ms"), "noise[1]: key 'duration' is missing"),
        ((*ARGUMENTS, "--statistic", "max"), "statistic must be mean or a quantile"),
        ((*ARGUMENTS, "--within", "2"), "within must be a share"),
        ((*ARGUMENTS, "--candidates", "ringg"), "candidates must be one of"),
        ((*ARGUMENTS, "--seconds", "soon"), "--seconds must be a time from 0"),
        ((*ARGUMENTS, "--realizations", "many"), "realizations must be an integer"),
        ((*ARGUMENTS, "--threads", "0"), "--threads must be an integer from 1 to 1024"),
        ((*ARGUMENTS, "--collective", "alltoall"), "collective must be one of"),
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
        (FILE.replace("own.both", "own.butterfly"), "'butterfly' is given twice"),
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
    def press(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("jitterfly.cli.advise_line.Line.__call__", press)
    assert run(*ARGUMENTS, "--within", "0") == 130
    assert "stopped: this is what was known by then" in capsys.readouterr().out


# --- pictures


@pytest.mark.parametrize(
    "more",
    [
        {"ranks": 64},
        {"ranks": 64, "statistic": "p99"},
        {"ranks": "4,8,64"},
        {"ranks": "1..2^12", "message_bytes": "1..1MiB/4"},
        {"ranks": "8,16", "message_bytes": "8,1KiB", "network": jf.LogGOPS("1us", "1us", S=100)},
        {"ranks": "8,16", "realizations": 32, "within": 0.0},
        {"ranks": "8,16", "noise": ()},
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
