"""Command `jitterfly network`."""

import subprocess
import sys

import pytest
from support import fuzz_maps
from support.commands import error_of
from support.paths import NETWORK_MAPS

import jitterfly.congestion as jc
from jitterfly.answer import show
from jitterfly.cli import main


def said(capsys, *arguments):
    assert main(["network", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def test_info_of_a_file(capsys):
    out = said(capsys, "info", NETWORK_MAPS / "loginoff_minhop.dot.gz", "--realizations", 50)
    assert "hosts: 145, switches: 8, directed links: 384" in out
    network = jc.NetworkMap.read(NETWORK_MAPS / "loginoff_minhop.dot.gz")
    assert f"{jc.bisection_bandwidth(network, 50):.4f} of a link's" in out


def test_run_on_a_tree(capsys):
    out = said(capsys, "run", "--tree", 144, "--routing", "hash", "--ratio", 0.3, "--seed", 4,
               "--realizations", 80, "--rule", "ready")  # fmt: skip
    assert "tree against rand, rule ready, routing hash" in out
    assert "z = 101 of 144 ranks (ratio 0.3) on 144 hosts, 80 realizations" in out
    case = jc.CongestionCase(jc.FatTree.of(144, routing="hash"), ratio=0.3, rule="ready")
    both = [jc.simulate_congestion(c, 80, 4) for c in (case, case.unperturbed())]
    assert f"slowdown: {show(jc.slowdown_percent(*both))} %" in out


def test_run_on_a_tree_of_ones_own(capsys):
    out = said(capsys, "run", "--tree", "16,12:1,8:1,2", "--routing", "s-mod-k", "--ranks", 100,
               "--realizations", 30, "--threads", 1)  # fmt: skip
    assert "z = 50 of 100 ranks (ratio 0.5) on 192 hosts, 30 realizations" in out
    tree = jc.FatTree((16, 12), (1, 8), (1, 2), routing="s-mod-k")
    case = jc.CongestionCase(tree, ranks=100)
    both = [jc.simulate_congestion(c, 30) for c in (case, case.unperturbed())]
    assert f"slowdown: {show(jc.slowdown_percent(*both))} %" in out


def test_what_is_the_same_in_all_realizations_has_no_known_interval(capsys):
    out = said(capsys, "run", "--tree", 144, "--pattern", "gather", "--realizations", 20)
    assert "time: 71 [?, ?], unperturbed 71 [?, ?] (messages)\n" in out
    assert out.endswith("slowdown: 100 [?, ?] % (95 %)\n")


def test_the_help_has_the_defaults(capsys):
    with pytest.raises(SystemExit):
        main(["network", "run", "--help"])
    told = capsys.readouterr().out
    for default in ("tree (default)", "rand (default)", "orcs (default)", "default: 0.5",
                    "default: all hosts", "default: 1000"):  # fmt: skip
        assert default in told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "--tree", "145"], "hosts must be one of 144"),
        (["run", "--tree", "many"], "hosts must be one of 144"),
        (["run", "--tree", "12,12"], "--tree must be a number of hosts, or M:W or M:W:P"),
        (["info", "--tree", "12,x:1,12"], "--tree must be a number of hosts, or M:W or M:W:P"),
        (["info", "--tree", "12,12:1"], "w must be a list of 2 integers"),
        (["run", "--tree", "144", "--ranks", "145"], "ranks must be an integer from 1 to 144"),
        (["run", "--tree", "144", "--threads", "0"], "threads must be an integer from 1"),
        (["run", "--tree", "144", "--tables", "x"], "--tables is for a file"),
        (["info", str(NETWORK_MAPS / "README.md")], "neither a Graphviz digraph"),
        (["info", str(NETWORK_MAPS / "none.dot")], "none.dot"),
        (["info", "x", "--routing", "hash"], "--routing is for --tree"),
        (
            ["run", "--tree", "144", "--rule", "bandwidth"],
            "--rule must be one of 'orcs', 'orcs1', 'ready', 'level_sync', 'sum_max_cong', got",
        ),
        (
            ["run", "--tree", "144", "--pattern", "none"],
            "--pattern must be one of 'tree', 'reduce', 'bruck', 'recdbl', 'ring', 'gather', "
            "'scatter', got 'none'",
        ),
        (["run", "--tree", "144", "--ratio", "2"], "ratio must be a number from 0 to 1"),
        (
            ["run", "--tree", "144", "--perturbation", "none"],
            "--perturbation must be one of 'rand', 'bisect', 'bisect_fb', got 'none'",
        ),
        (["info", "--tree=144", "--realizations=0"], "realizations must be an integer from 1"),
        (["info", "--tree", "144", "--seed", "-1"], "seed must be an integer from 0"),
        ([], "required: {parameters,info,run,study}"),
    ],
)
def test_an_error_is_all_that_is_said(capsys, arguments, message):
    assert message in error_of(capsys, "network", *arguments)


def test_warnings_are_one_line(tmp_path):
    """As errors: what it says, without the place in the program."""
    (tmp_path / "loop.dot").write_text(fuzz_maps.LOOP)
    done = subprocess.run([sys.executable, "-m", "jitterfly", "network", "info",
                           str(tmp_path / "loop.dot"), "--realizations", "5"],
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0
    assert done.stderr.startswith("jitterfly: warning: ")
    assert "routes lead into a loop" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_directory_that_can_not_be_is_told_at_once(tmp_path, capsys):
    path = tmp_path / "file"
    path.write_text("keep")
    error = error_of(capsys, "network", "study", "--quick", "--only", "N5", "--out", path)
    assert error == f"{path}: File exists"
    assert path.read_text() == "keep"
