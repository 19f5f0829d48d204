"""The command `jitterfly network`."""

import pytest
from test_congestion_orcs import MAPS

import jitterfly.congestion as jc
from jitterfly.cli import main


def said(capsys, *arguments):
    assert main(["network", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def test_info_of_a_file(capsys):
    out = said(capsys, "info", MAPS / "loginoff_minhop.dot.gz", "--realizations", 50)
    assert "hosts: 145, switches: 8, directed links: 384" in out
    network = jc.NetworkMap.read(MAPS / "loginoff_minhop.dot.gz")
    assert f"{jc.bisection_bandwidth(network, 50):.4f} of a link's" in out


def test_run_on_a_tree(capsys):
    out = said(capsys, "run", "--tree", 144, "--routing", "hash", "--ratio", 0.3, "--seed", 4,
               "--realizations", 80, "--rule", "ready")  # fmt: skip
    assert "tree against rand, rule ready, routing hash" in out
    assert "z = 101 of 144 ranks, 80 realizations" in out
    case = jc.CongestionCase(jc.FatTree.of(144, routing="hash"), ratio=0.3, rule="ready")
    both = [jc.simulate_congestion(c, 80, 4) for c in (case, case.unperturbed())]
    assert f"slowdown: {jc.slowdown(*both):.1f} %" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "--tree", "145"], "hosts must be one of 144"),
        (["run", "--tree", "144", "--tables", "x"], "--tables is for a file"),
        (["info", str(MAPS / "README.md")], "neither a Graphviz digraph"),
        (["info", str(MAPS / "none.dot")], "none.dot"),
        (["info", "x", "--routing", "hash"], "--routing is for --tree"),
        (["run", "--tree", "144", "--rule", "bandwidth"], "a slowdown needs"),
        (["run", "--tree", "144", "--ratio", "2"], "ratio must be a number from 0 to 1"),
    ],
)
def test_errors_are_one_line(capsys, arguments, message):
    assert main(["network", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
