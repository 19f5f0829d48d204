"""Progress bar and progress lines of commands on standard error."""

import io
import sys
import types

import numpy as np
import pytest
from support.quick_pictures import quick_pictures
from support.scale import at_most

from jitterfly import progress
from jitterfly.cli import advise, main
from jitterfly.measured import Detours, Measured, noisefile
from jitterfly.progress import Phases
from jitterfly_papers.inference import watching
from jitterfly_papers.inference.hit_tables import simulate_hit_table
from jitterfly_papers.report.hsl09 import network_study


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(progress, "time", made)
    return made


@pytest.fixture
def talkative(monkeypatch):
    """Every phase is told, however quick it is."""
    monkeypatch.setattr(progress, "QUIET", 0.0)
    monkeypatch.setattr(progress, "SOON", 0.0)
    monkeypatch.setattr(progress, "EVERY_LINE", 0.0)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_lines_of_phases(clock):
    stream = io.StringIO()
    with Phases(stream) as phases:
        phases("first", 1, 4)
        clock.now += 1
        phases("first", 2, 4)
        assert stream.getvalue() == ""  # nothing is said of what is quick
        clock.now += 1
        phases("first", 3, 4)
        phases("second")  # a moment later
        clock.now += 1
        phases("second", 1, 100)
        clock.now += 5
        phases("second", 50, 100)  # a line every ten seconds
        clock.now += 5
        phases("second", 75, 100)
    assert stream.getvalue().splitlines() == [
        "first: 75 %, 1 s left",
        "second: 1 %, 1 min 39 s left",
        "second: 75 %, 4 s left",
    ]


def test_a_bar_on_a_terminal(clock):
    stream = Terminal()
    with Phases(stream) as phases:
        phases("first", 1, 4)
        assert stream.getvalue() == ""
        clock.now += 3
        phases("first", 2, 4)
        phases("second")
        clock.now += 1
        phases("second", 1, 2)
    text = stream.getvalue()
    assert " 50%|" in text
    assert "first: 50 %, 3 s left" in text
    assert "second" in text
    assert "\n" not in text.rstrip("\n")  # one line that changes, and goes


def test_without_tqdm_a_line_that_changes(clock, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    stream = Terminal()
    with Phases(stream) as phases:
        clock.now += 3
        phases("first", 1, 2)
    assert stream.getvalue() == "\r\033[Kfirst: 50 %, 0 s left\r\033[K"


def test_advise_says_something_after_two_seconds(clock, capsys):
    line = advise.AdviceProgress()
    state = types.SimpleNamespace(decided=0, cells=4, prepared=1, look=1, looks=9,
                                  realizations=32, elapsed=2.5)  # fmt: skip
    for _ in range(13):
        line(state)
        clock.now += 1
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 2  # after 2 and 12 seconds
    assert told[0].startswith("noise-free times of 1/4 cells")


# --- commands


@pytest.fixture
def noise_file(tmp_path):
    rng = np.random.default_rng(3)
    starts = np.cumsum(rng.integers(10**9, 2 * 10**9, 400))
    durations = rng.integers(10**6, 10**7, 400)
    part = Detours(starts, durations, length=int(starts[-1]) + 10**9)
    path = tmp_path / "node.noise"
    noisefile.write(Measured((part,), "csv"), path)
    return path


LIMITS = ("--latency", "60us", "--step", "3.45us", "--precision", "0.2")
BUDGET = ("--ranks", "256", *LIMITS)
FEWER = ("--ranks", f"{at_most(256, 16)}", *LIMITS)


def test_budget_of_measured_noise_says_what_it_does(noise_file, talkative, capsys):
    assert main(["budget", *BUDGET, "--noise", str(noise_file)]) == 0
    printed = capsys.readouterr()
    told = printed.err.splitlines()
    assert told[0] == f"reading {noise_file}"
    _, final = dict.fromkeys(line.split(":")[0] for line in told if "at each of" in line)
    shares = [
        int(line.split(": ")[1].split(" %")[0]) for line in told if line.startswith(f"{final}: ")
    ]
    assert len(shares) >= 5
    assert shares == sorted(shares)  # one search, whose p are parts of it
    assert "realizations at" not in printed.out


def test_quick_commands_say_nothing(noise_file, capsys):
    assert main(["budget", *FEWER, "--noise", str(noise_file)]) == 0
    assert main(["budget", *FEWER, "--delay", "14us"]) == 0
    assert capsys.readouterr().err == ""


def test_budget_of_a_delay_says_what_it_does(talkative, capsys):
    assert main(["budget", *FEWER, "--delay", "14us"]) == 0
    told = capsys.readouterr().err.splitlines()
    assert any("realizations at each of about 10 p" in line for line in told)
    assert "the curve over D" in told


def test_fit_says_what_it_does(tmp_path, talkative, monkeypatch, capsys):
    from jitterfly_papers.inference import step_noise_models

    monkeypatch.setattr(step_noise_models, "_STEPS_PER_PROBABILITY", 1e5)
    step_noise_models.simulated_mean.cache_clear()
    (tmp_path / "curve.csv").write_text("ranks,latency_us\n2,4\n4,9\n8,14\n")
    assert main(["fit", str(tmp_path / "curve.csv"), "--model", "rare-exponential"]) == 0
    step_noise_models.simulated_mean.cache_clear()
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "curve 1 of 1, curve"
    assert any(line.startswith("rare-exponential delays on 2^3 ranks: ") for line in told)
    assert any(line.endswith(" left") for line in told)


def test_a_table_is_one_phase():
    told = []
    with watching(lambda *how_far: told.append(how_far)):
        table = simulate_hit_table(4, 100, per_decade=2)
    names, done, totals = zip(*told, strict=True)
    assert set(names) == {"table of hits for 2^4 ranks"}
    assert set(totals) == {len(table.probabilities)}
    assert list(done) == sorted(done)
    assert done[-1] > totals[0] - 1


@quick_pictures
def test_advise_says_that_it_draws(tmp_path, talkative, capsys):
    assert main(["advise", "--ranks", "4,8", "--network", "L=1us,o=0.1us",
                 "--out", str(tmp_path / "out")]) == 0  # fmt: skip
    assert capsys.readouterr().err.endswith("\ndrawing the picture\n")


def test_network_commands_say_what_they_do(talkative, capsys):
    tree = ["--tree", "4,4:1,4", "--realizations", "20"]
    assert main(["network", "run", *tree]) == 0
    told = capsys.readouterr().err
    assert "with the others' traffic" in told
    assert "without it" in told
    assert main(["network", "info", *tree]) == 0
    assert "random bisections" in capsys.readouterr().err


@quick_pictures
def test_a_network_study_names_every_phase(tmp_path):
    told, phases = [], []
    network_study(tmp_path, quick=True, only=["N5"], realizations=2, tell=told.append,
                  progress=phases.append)  # fmt: skip
    assert all(line.startswith("N5 ") for line in told)
    assert "effective bisection bandwidth: 1152 hosts, routing s-mod-k" in phases
    assert phases[-1] == "pictures"


def test_theory_names_its_pictures_and_reproduce_its_theory(tmp_path, monkeypatch):
    from jitterfly_papers.report import reproduce, theory

    told = []
    for name in ("draw_ends", "draw_growth", "draw_limits"):
        monkeypatch.setattr(f"jitterfly_papers.plots.theory.{name}", lambda *_: None)
    monkeypatch.setattr(theory, "simulate_ends", lambda *_: ([], []))
    monkeypatch.setattr(theory, "simulate_growth", lambda *_: ([], []))
    monkeypatch.setattr(theory, "simulate_limits", lambda *_: None)
    monkeypatch.setattr(theory.draw, "save", lambda *_: None)
    theory._make(tmp_path, theory.QUICK, told.append)
    assert told == ["pictures"]

    def section(out, *, quick, tell):
        tell("the largest of N: exponential")

    monkeypatch.setattr(theory, "section", section)
    monkeypatch.setattr(reproduce._Progress, "_write", lambda *_: None)
    run = object.__new__(reproduce._Progress)
    run.out, run.sections = tmp_path, []
    run.tally = types.SimpleNamespace(quick=True)
    stream = io.StringIO()
    run.add_theory(stream)
    assert "the largest of N: exponential\n" in stream.getvalue()
