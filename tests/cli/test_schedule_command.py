"""Commands on schedules: files that can not be written, what options and errors say."""

from pathlib import Path

import pytest

from jitterfly.cli import main

TWO = """num_ranks 2
rank 0 {
a: calc 500000
b: send 8b to 1 tag 7
b requires a
}
rank 1 {
a: calc 499000
b: recv 8b from 0 tag 7
c: calc 100
c requires b
}
"""
NOISE = "period=100us,duration=20us,start=stationary"


@pytest.fixture
def two(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.goal").write_text(TWO)
    return tmp_path / "two.goal"


def refused(capsys, *words):
    assert main([*map(str, words)]) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("jitterfly: error: ") or "\njitterfly: error: " in shown.err
    return shown.err.splitlines()[-1].removeprefix("jitterfly: error: ")


@pytest.mark.parametrize(
    ("command", "option", "name"),
    [
        ("run", "--picture", "a.png"),
        ("run", "--marks-csv", "a.csv"),
        ("explain", "--picture", "a.png"),
        ("explain", "--path-picture", "a.svg"),
        ("explain", "--ranks-csv", "a.csv"),
        ("explain", "--operations-csv", "a.csv"),
        ("explain", "--path-csv", "a.csv"),
    ],
)
def test_a_full_disk_does_not_take_the_answer(command, option, name, two, capsys, monkeypatch):
    """It comes after the work, and the answer is on standard output by then."""

    def full(source, target):
        raise OSError(28, "No space left on device", str(source))

    monkeypatch.setattr("pathlib.Path.replace", full)
    words = [command, "two.goal", "--noise", NOISE, "--realizations", "20", option, name]
    if command == "run":
        words += ["--marks", "tag=7"]
    assert main(words) == 2
    shown = capsys.readouterr()
    assert shown.err.endswith(f"jitterfly: error: {name}: No space left on device\n")
    assert "20 realizations, seed 0" in shown.out
    assert "written" not in shown.out
    assert [path.name for path in Path.cwd().iterdir()] == ["two.goal"]


@pytest.mark.parametrize("command", ["run", "explain"])
@pytest.mark.parametrize("by", [(), ("SIGTERM",)])
def test_of_a_schedule_nothing_is_kept(command, by, two, capsys, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt(*by)

    monkeypatch.setattr("jitterfly.schedule.simulate.prepare", stopped)
    monkeypatch.setattr("jitterfly.schedule.explain.prepare", stopped)
    assert main([command, "two.goal", "--noise", NOISE]) == 130
    told = "".join(f"{one}; " for one in by)
    line = f"jitterfly: stopped: {told}of a schedule nothing is kept\n"
    assert capsys.readouterr().err.endswith(line)
