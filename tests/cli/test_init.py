"""Command `jitterfly init`: the study it writes runs; options, questions, errors."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.paths import EXAMPLES
from support.quick_pictures import quick_pictures
from support.scale import some

import jitterfly as jf
from jitterfly.algorithms.candidates import algorithm_named
from jitterfly.cli import main

FILE = EXAMPLES / "vm.noise"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def init(*arguments):
    return main(["init", *map(str, arguments)])


@quick_pictures
def test_what_is_proposed_runs_at_once(elsewhere, capsys):
    assert init() == 0
    printed = capsys.readouterr()
    assert printed.out.endswith("to run it: jitterfly run study.toml\n")
    assert "--network L=1us,o=200ns,G=0.1ns (none was given)" in printed.err
    assert printed.err.count("(none was given)") == 5
    assert main(["run", "study.toml", "--realizations", "20"]) == 0
    assert "butterfly under noise" in capsys.readouterr().out
    assert (elsewhere / "results" / "study" / "summary.csv").is_file()


@quick_pictures
def test_options_are_in_the_study(elsewhere, capsys):
    (elsewhere / "sub").mkdir()
    (elsewhere / "node.noise").write_bytes(FILE.read_bytes())
    assert init(
        "sub/mine.toml", "--algorithm", "ring_allreduce", "--ranks", "6,4..16", "--bytes", "1KiB",
        "--network", "kind=hockney,alpha=2us,beta=1e-9,gamma=1ns", "--noise", "node.noise",
    ) == 0  # fmt: skip
    assert "none was given" not in capsys.readouterr().err
    study = jf.load_study("sub/mine.toml")
    assert study.name == "mine"
    assert [cell.variants[0].case.ranks for cell in study.cells()] == [4, 6, 8, 16]
    case = study.cells()[0].variants[0].case
    assert case.algorithm == jf.RingAllreduce()
    assert case.network == jf.Hockney("2us", "1ns", "1ns")
    assert case.message_bytes == 1024
    assert case.noise[0].file == "../node.noise"
    assert (case.cycles, case.compute_time) == (1, 0)
    assert init("loop.toml", "--cycles", "12", "--compute-time", "80us") == 0
    loop = jf.load_study("loop.toml").cells()[0].variants[0].case
    assert (loop.cycles, loop.compute_time) == (12, 80e-6)
    assert main(["run", "sub/mine.toml", "--realizations", "10"]) == 0


def test_nodes_are_those_of_the_machine(elsewhere):
    network = "4: L=1us,o=100ns; L=3us,o=200ns"
    assert init("--algorithm", "hierarchical_allreduce", "--network", network, "--ranks", "16") == 0
    case = jf.load_study("study.toml").cells()[0].variants[0].case
    assert case.algorithm == jf.HierarchicalAllreduce(4)


@pytest.mark.parametrize(("kind", "meant"), [
    ("nccl_tree_allreduce", jf.NcclTreeAllreduce(node_ranks=4, channels=8)),
    ("double_binary_tree_allreduce", jf.DoubleBinaryTreeAllreduce(segment_bytes="512KiB")),
    ("in_network_allreduce", jf.InNetworkAllreduce(node_ranks=4)),
])  # fmt: skip
def test_a_kind_means_in_a_study_what_it_means_in_a_question(elsewhere, kind, meant):
    network = "4: L=1us,o=100ns; L=3us,o=200ns"
    assert init("--algorithm", kind, "--network", network, "--ranks", "16") == 0
    assert jf.load_study("study.toml").cells()[0].variants[0].case.algorithm == meant
    machine = jf.Case(16, network=network).network
    assert algorithm_named(kind, None, [16], machine, 8) == meant


def test_every_noise_is_in_the_study(elsewhere):
    (elsewhere / "node.noise").write_bytes(FILE.read_bytes())
    daemons = ["period=10ms,duration=50us", "node.noise", "kind=renewal,gap=1s,duration=2ms"]
    assert init("mine.toml", *[word for one in daemons for word in ("--noise", one)]) == 0
    (cell, *_) = jf.load_study("mine.toml").cells()
    sources = [jf.PeriodicNoise("10ms", "50us"), jf.RenewalNoise("1s", "2ms")]
    assert [source.kind for source in cell.variants[0].case.noise] == [
        "periodic",
        "trace",
        "renewal",
    ]
    assert cell.variants[0].case.noise[::2] == tuple(sources)


GOAL = "num_ranks 4\n" + "".join(f"rank {i} {{\ncalc {900 + i}\n}}\n" for i in range(4))


@pytest.mark.parametrize("levels", some(["2: L=300ns,o=100ns; ", ""], 1))
def test_a_schedule(elsewhere, levels):
    (elsewhere / "app.goal").write_text(GOAL)
    (elsewhere / "sub").mkdir()
    network = f"{levels}L=1us,o=200ns"
    assert init("sub/mine.toml", "--schedule", "app.goal", "--network", network) == 0
    text = Path("sub/mine.toml").read_text()
    assert levels or max(map(len, text.splitlines())) <= 100
    [cell] = jf.load_study("sub/mine.toml").cells()
    case = cell.variants[0].case
    assert case.schedule == "../app.goal"
    assert case.network == jf.ScheduleCase("app.goal", network=network).network
    assert main(["run", "sub/mine.toml", "--realizations", "10"]) == 0


def test_what_the_comments_of_a_schedule_offer_is_right(elsewhere):
    for name in ("app", "app64", "app128"):
        (elsewhere / f"{name}.goal").write_text(GOAL.replace("90", name[3:] or "90"))
    assert init("mine.toml", "--schedule", "app.goal") == 0
    text = Path("mine.toml").read_text()
    for line in ('L = "1us", ', 'duration = "25us"\n', 'schedule = "app.goal"'):
        assert text.count(line) == 1
        text = text.replace(line, "")
    axes = text[text.index("# [axes.latency]") : text.index("[observables]")]
    Path("all.toml").write_text(text.replace(axes, re.sub("^# ", "", axes, flags=re.MULTILINE)))
    assert len(jf.load_study("all.toml").cells()) == 3 * 3 * 2


def test_every_kind_of_algorithm_is_taken():
    for number, kind in enumerate(some(jf.Algorithm.kinds(), 8)):
        assert init(f"{number}.toml", "--algorithm", kind) == 0
        text = Path(f"{number}.toml").read_text()
        assert max(map(len, text.splitlines())) <= 100
        assert jf.load_study(f"{number}.toml").cells()[0].variants[0].case.algorithm.kind == kind


def test_what_the_comments_offer_is_right():
    """The lines that are there as comments are read as a study where they are no comments."""
    assert init("mine.toml", "--ranks", "8") == 0
    text = Path("mine.toml").read_text()
    more, count = re.subn(r"(?m)^# (?=cycles = |compute_time = |\[axes|values = )", "", text)
    assert count == 4
    more = more.replace("message_bytes = 8\n", "", 1)
    compared = re.sub(r"(?ms)^\[observables\]$.*", "", more)
    compared, count = re.subn(r"(?m)^# (?=\[|\"|slowdown = |gain = )", "", compared)
    assert count == 6
    Path("more.toml").write_text(more)
    Path("compared.toml").write_text(compared)
    cells = jf.load_study("more.toml").cells()
    assert len(cells) == 3
    assert (cells[0].variants[0].case.cycles, cells[0].variants[0].case.compute_time) == (10, 5e-5)
    study = jf.load_study("compared.toml")
    assert list(study.observables) == ["slowdown", "gain"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["mine"], "must end in .toml"),
        (["there.toml"], "there.toml is there already"),
        (["none/mine.toml"], "directory none does not exist"),
        (["a b.toml"], "name"),
        (["mine.toml", "--ranks", "4..3"], "--ranks: a range must ascend"),
        (["mine.toml", "--noise", "nofile"], "nofile can not be read"),
        (["mine.toml", "--network", "L=1us"], "--network: key 'o' is missing"),
        (["mine.toml", "--algorithm", "buterfly"], "did you mean 'butterfly'"),
        (["mine.toml", "--schedule", "none.goal"], "schedule: none.goal can not be read"),
        (["mine.toml", "--schedule", "a.goal", "--bytes", "8"], "--bytes is for a collective"),
    ],
)
def test_errors_write_nothing(elsewhere, capsys, arguments, words):
    (elsewhere / "there.toml").write_text("mine")
    assert init(*arguments) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("jitterfly: error: ")
    assert words in error
    assert [path.name for path in elsewhere.iterdir()] == ["there.toml"]
    assert (elsewhere / "there.toml").read_text() == "mine"


def test_without_standard_input(elsewhere, monkeypatch):
    """`jitterfly init <&-`: nobody can be asked."""
    monkeypatch.setattr("sys.stdin", None)
    assert init() == 0
    assert (elsewhere / "study.toml").is_file()


def test_a_file_of_any_name(elsewhere):
    """TOML has no pairs of surrogates, which JSON makes of letters beyond 2^16."""
    (elsewhere / "x\U0001f600é.noise").write_bytes(FILE.read_bytes())
    assert init("mine.toml", "--noise", "x\U0001f600é.noise") == 0
    (cell, *_) = jf.load_study("mine.toml").cells()
    assert cell.variants[0].case.noise[0].file == "x\U0001f600é.noise"


@pytest.mark.parametrize("name", ["é.toml", "a b.toml"])
def test_a_name_is_checked_before_the_questions(capsys, name):
    assert init(name) == 2
    printed = capsys.readouterr()
    assert "(none was given)" not in printed.err
    assert "name must be letters, digits" in printed.err


@pytest.mark.skipif(sys.platform != "linux", reason="a pseudo-terminal")
def test_it_asks_on_a_terminal(elsewhere):
    """A wrong answer is asked for again, an empty one is what is proposed."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "jitterfly", "init", "--bytes", "16"],
        stdin=theirs, stdout=theirs, stderr=theirs, cwd=elsewhere,
    )  # fmt: skip
    os.close(theirs)
    os.write(ours, b"ring\nring_allreduce\n4,8\n\n\n")
    said = b""
    while True:
        try:
            said += os.read(ours, 4096)
        except OSError:  # the child has ended
            break
    assert child.wait(60) == 0
    os.close(ours)
    text = said.decode()
    assert "got 'ring'" in text
    assert "--network [L=1us,o=200ns,G=0.1ns]: " in text
    assert "--bytes" not in text
    case = jf.load_study(elsewhere / "study.toml").cells()[1].variants[0].case
    assert (case.ranks, case.message_bytes, case.algorithm) == (8, 16, jf.RingAllreduce())
