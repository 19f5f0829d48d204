"""Commands on schedules: files that can not be written, what options and errors say."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import last_error
from support.quick_pictures import quick_pictures
from support.scale import full_scale, some

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


@pytest.mark.parametrize(
    ("command", "option", "name"),
    [
        full_scale("run two.goal --marks tag=7", "--picture", "a.png"),
        ("run two.goal --marks tag=7", "--marks-csv", "a.csv"),
        full_scale("explain two.goal", "--picture", "a.png"),
        ("explain two.goal", "--path-picture", "a.svg"),
        ("explain two.goal", "--ranks-csv", "a.csv"),
        ("explain two.goal", "--operations-csv", "a.csv"),
        ("explain two.goal", "--path-csv", "a.csv"),
        ("explain --ranks 8", "--picture", "a.png"),
        ("explain --ranks 8", "--ranks-csv", "a.csv"),
    ],
)
@quick_pictures
def test_a_full_disk_does_not_take_the_answer(command, option, name, two, capsys, monkeypatch):
    """It comes after the work, and the answer is on standard output by then."""

    def full(source, target):
        raise OSError(28, "No space left on device", str(source))

    monkeypatch.setattr("pathlib.Path.replace", full)
    words = ["--noise", NOISE, "--realizations", "20", option, name]
    assert main([*command.split(), *words]) == 2
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

    monkeypatch.setattr("jitterfly.schedule.simulate.ScheduleParameters.prepare", stopped)
    assert main([command, "two.goal", "--noise", NOISE]) == 130
    told = "".join(f"{one}; " for one in by)
    line = f"jitterfly: stopped: {told}nothing of a schedule is kept\n"
    assert capsys.readouterr().err.endswith(line)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--order-checks", "-1"], "--order-checks must be an integer from 0 to 2^32, got -1"),
        (["--backend", "cuda", "--threads", "1"],
         "--threads is for the CPU backend, and --backend is cuda: give one"),
        (["--noise", "kind=congestion,network=map(file=net.dot)"],
         "--noise: kind=congestion is not for a schedule, whose messages have no routes"),
        (["--noise", "kind=renewal,gap=100000s,duration=1us"],
         "--noise: gap is too long for Exponential: the rarest delay (of probability 2^-64) must "
         "be below 1.153e+06 s, got 4.51e+06 s, of '100000s' (in RenewalNoise)"),
        (["--noise", "kind=renewal,gap=1e9s,duration=1us"], "times are from 0 to 4.61e+06 s"),
        (["--noise", "kind=renewal,gap=x,duration=1us"], "got 'x' (in RenewalNoise)"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_as_it_is_given(words, told, two, capsys):
    assert told in last_error(capsys, "run", "two.goal", *words)
    if words[0] == "--noise":
        assert told in last_error(capsys, "explain", "two.goal", *words)


@pytest.mark.parametrize("command", ["run", "explain", "trace"])
def test_a_noise_file_is_no_study(command, two, capsys):
    Path("a.noise").write_text('# jitterfly noise 1\n# source.tool = "x"\n5 7\n')
    told = last_error(capsys, command, "a.noise")
    assert "a.noise: this is a noise file, no study or case: --noise takes it" in told


@pytest.mark.parametrize("command", ["run", "explain"])
@quick_pictures
def test_one_realization(command, two, capsys):
    """As from Python: it has no interval."""
    pictures = ["--picture", "a.png"]
    assert main([command, "two.goal", "--noise", NOISE, "--realizations", "1", *pictures]) == 0
    assert ", seed 0" in (shown := capsys.readouterr().out)
    assert "[?, ?]" in shown
    told = last_error(capsys, command, "two.goal", "--noise", NOISE, "--realizations", "0")
    assert told == "--realizations must be an integer from 1 to 2^32, got 0"


@pytest.mark.parametrize("options", some([["--noise", NOISE], []], 1))
def test_a_schedule_from_a_pipe(options, two):
    """It is read twice: to see what it is, and to translate it."""
    done = subprocess.run([sys.executable, "-m", "jitterfly", "run", "/dev/stdin", *options],
                          input=TWO, capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 2
    assert "must be a file, as it is read twice; write what comes out of" in done.stderr


def test_sizes_of_rendezvous(two, capsys):
    """Sizes are written alike everywhere."""
    for size in ("1KiB", "1024", "1K"):
        assert main(["run", "two.goal", "--network", f"L=1us,o=0,S={size}", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["network"]["S"] == 1024
    assert "S must be an integer from 1 to 2^62, such as 8, 8K or 1KiB" in last_error(
        capsys, "run", "two.goal", "--network", "L=1us,o=0,S=x"
    )
