"""Picture formats PNG, PDF and SVG; other endings are refused before the work."""

import pytest
from support.commands import error_of
from support.paths import EXAMPLES
from support.scale import full_scale

from jitterfly.cli import main
from jitterfly.plots.draw import FORMATS

pytest.importorskip("matplotlib")
NOISE = ["--noise", "period=1ms,duration=25us", "--ranks", "8"]
STARTS = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml"}
COMMANDS = {
    "slowdown": (["slowdown", *NOISE], "--picture"),
    "explain": (["explain", *NOISE], "--picture"),
    "schedule": (["run", "app.goal", "--noise", "period=1ms,duration=25us"], "--picture"),
    "explain a schedule": (["explain", "app.goal"], "--path-picture"),
    "compare-measured": (["compare-measured", "times.txt", *NOISE], "--picture"),
    "trace": (["trace"], "--out"),
    "noise show": (["noise", "show", str(EXAMPLES / "vm.noise")], "--out"),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.goal").write_text("num_ranks 1\nrank 0 {\ncalc 5000\n}\n")
    (tmp_path / "times.txt").write_text("1e-5\n2e-5\n3e-5\n")
    return tmp_path


@pytest.mark.parametrize("name", ["x.jpg", "x.eps", "x.pgf", "x", "x.raw", ".png"])
@pytest.mark.parametrize("command", COMMANDS)
def test_other_endings_are_refused_before_the_work(folder, capsys, monkeypatch, command, name):
    """`simulate` and its like, and the reader of noise files, are not reached."""

    def reached(*arguments, **options):
        raise AssertionError("the work began")

    for module in ("simulate", "slowdown", "explain", "compare_measured", "schedule.result"):
        for function in ("simulate", "simulate_checked", "explain", "simulate_schedule"):
            monkeypatch.setattr(f"jitterfly.{module}.{function}", reached, raising=False)
    arguments, option = COMMANDS[command]
    assert "must end in .png, .pdf or .svg" in error_of(capsys, *arguments, option, name)
    assert sorted(path.name for path in folder.iterdir()) == ["app.goal", "times.txt"]


@pytest.mark.parametrize(
    "ending", [".pdf", ".PNG", *(full_scale(one) for one in FORMATS if one != ".pdf")]
)
def test_the_three_formats_are_written(folder, ending):
    path = folder / f"a{ending}"
    assert main(["slowdown", "-q", *NOISE, "--realizations", "20", "--picture", str(path)]) == 0
    assert path.read_bytes().startswith(STARTS[ending.lower()])


@pytest.mark.parametrize("words", [
    ["slowdown"], ["explain"], ["run"], ["compare-measured"], ["trace"], ["plot"],
    ["noise", "show"],
])  # fmt: skip
def test_help_says_the_formats(capsys, words):
    with pytest.raises(SystemExit):
        main([*words, "--help"])
    assert ".png, .pdf or .svg" in " ".join(capsys.readouterr().out.split())


def test_settings_of_the_user_do_not_count(folder):
    """With `text.usetex` a picture needs LaTeX, and names are its commands."""
    import matplotlib as mpl

    assert main(["trace", "--out", "plain.svg"]) == 0
    own = {"text.usetex": True, "font.size": 30, "axes.facecolor": "red", "savefig.bbox": "tight"}
    with mpl.rc_context(own):
        assert main(["trace", "--out", "own.svg"]) == 0
        assert {key: mpl.rcParams[key] for key in own} == own
    assert (folder / "own.svg").read_bytes() == (folder / "plain.svg").read_bytes()
