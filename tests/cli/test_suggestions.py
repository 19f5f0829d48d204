"""Suggestions ("did you mean") for mistyped commands and options."""

from pathlib import Path

import pytest
from support.commands import error_of

import jitterfly as jf
import jitterfly.congestion as jc
from jitterfly import _core
from jitterfly.backends import backend_named
from jitterfly.cli import main
from jitterfly.cli.parser import _parser


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["stauts", "x"], "invalid choice: 'stauts' (did you mean 'status'?)"),
        (["noise", "recrod"], "(did you mean 'record'?)"),
        (["network", "studdy"], "(did you mean 'study'?)"),
        (["run", "x.toml", "--relizations", "5"], "(did you mean '--realizations'?)"),
        (["advise", "--rank=8"], "unrecognized arguments: --rank=8 (did you mean '--ranks'?)"),
        (["noise", "show", "x", "--thresold", "1us"], "(did you mean '--threshold'?)"),
        (["network", "run", "--tree", "144", "--ratoi=1"], "(did you mean '--ratio'?)"),
        (["run", "x.toml", "--backend", "cdua"], "(did you mean 'cuda'?)"),
        (["bench", "--second", "3"], "(did you mean '--seconds'?)"),
        (["slowdown", "--rnks", "64", "--noise", "x"], "(did you mean '--ranks'?)"),
        (["network", "--tree", "576"], "a command must stand before --tree: parameters, info, "),
        (["run", "ms12_fig13"], "(did you mean 'ms12_fig13_20'?)"),
        (["network", "run", "--tree", "144", "--real=5"], "unrecognized arguments: --real=5"),
    ],
)
def test_mistyped(capsys, arguments, hint):
    assert hint in error_of(capsys, *arguments)


def test_a_part_of_a_name_is_enough(capsys):
    """The list of all kinds would have no end: where it is, is told."""
    told = error_of(capsys, "slowdown", "--noise=period=1ms,duration=1us", "--ranks=4",
                    "--algorithm=rin")  # fmt: skip
    assert "(did you mean 'ring' or 'ring_allgather' or 'ring_allreduce'?)" in told
    assert "(docs/collectives.md)" in told
    assert len(told) < 300


def test_an_option_of_other_commands(capsys):
    """Which are told where they are few."""
    asked = ["slowdown", "--noise", "period=1ms,duration=1us", "--ranks", "4"]
    told = error_of(capsys, *asked, "--barrier", "dissemination_barrier")
    assert "(--barrier is an option of explain, compare-measured)" in told
    told = error_of(capsys, "run", "x.toml", "--noise=x", "--ranks=4", "--realizaton=5")
    assert "unrecognized arguments: --ranks=4 --realizaton=5" in told
    assert "is an option of" not in told


def test_where_a_picture_goes(capsys):
    told = error_of(capsys, "advise", "--picture", "x.png")
    assert "unrecognized arguments: --picture; the picture goes to --out DIR" in told
    for words in (["plot", "x"], ["trace"], ["noise", "show", "x"]):
        assert _parser().parse_args([*words, "--picture", "x.png"]).out == Path("x.png")


def test_what_is_like_nothing_has_no_hint(capsys):
    for arguments in (["xyzzy"], ["run", "x.toml", "--xyzzy"], ["info", "more"]):
        assert "did you mean" not in error_of(capsys, *arguments)


def test_an_error_names_the_help_of_its_command(capsys):
    assert "(see jitterfly noise show --help)" in error_of(capsys, "noise", "show", "x", "--xyzzy")


CASE = jf.Case(4, network=jf.LogGOPS(L="1us", o="0.1us"), noise=[jf.PeriodicNoise("1ms", "1us")])


def test_gpu_is_cuda(monkeypatch, capsys, tmp_path):
    """The same error where there is none, and the same engine where there is one."""
    assert backend_named("gpu") == "cuda"
    monkeypatch.setattr(_core, "cuda_status", lambda: "no device here")
    for call in (
        lambda: jf.simulate(CASE, realizations=2, backend="gpu"),
        lambda: jf.advise("4", network=CASE.network, noise=CASE.noise, backend="gpu"),
        lambda: jc.simulate_congestion(jc.CongestionCase(jc.FatTree.of(144)), 2, backend="gpu"),
        lambda: jf.run_study(
            jf.Study("x", case=CASE, axes=[], budget=jf.RealizationBudget(max=2)),
            tmp_path,
            backend="gpu",
        ),
    ):
        with pytest.raises(ValueError, match="backend 'cuda' can not be used"):
            call()
    options = ["--network", "L=1us,o=0.1us", "--noise", "period=1ms,duration=1us"]
    told = error_of(capsys, "advise", "-q", "--ranks", "4", *options, "--backend", "gpu")
    assert "backend 'cuda' can not be used" in told


@pytest.mark.parametrize(
    ("hosts", "way"),
    [("576", "24,24:1,24"), ("600", "24,25:1,24"), ("577", "16,12,24:1,8,12"), ("many", "M:W")],
)
def test_trees_of_other_sizes(capsys, hosts, way):
    told = error_of(capsys, "network", "info", "--tree", hosts, "--realizations", "2")
    assert "--tree: hosts must be one of 144, 1152" in told
    assert way in told
    if hosts.isdigit() and hosts != "577":  # what is named is such a tree
        assert main(["network", "info", "--tree", way, "--realizations", "2"]) == 0
        assert f"hosts: {hosts}," in capsys.readouterr().out
    with pytest.raises(ValueError, match=r"such as FatTree\(\[16, 12, 24\], \[1, 8, 12\]\)"):
        jc.FatTree.of(576)


@pytest.mark.parametrize("words", ["bench", "run", "network study", "noise show"])
def test_help_of_every_kind_of_command(capsys, words):
    assert main(["help", *words.split()]) == 0
    assert f"usage: jitterfly {words}" in capsys.readouterr().out


def test_help_of_what_is_no_command(capsys):
    assert "did you mean 'status'" in error_of(capsys, "help", "stauts")
