"""Progress bar and progress lines of commands, and of calls of Python, on standard error."""

import contextlib
import inspect
import io
import multiprocessing
import os
import re
import sys
import threading
import types
from pathlib import Path

import numpy as np
import pytest
from support.quick_pictures import quick_pictures
from support.scale import at_most

import jitterfly as jf
from jitterfly import backends, congestion, progress
from jitterfly.advice import Progress
from jitterfly.cli import advise, main
from jitterfly.measured import Detours, Measured, noisefile
from jitterfly.noise_limit import NoiseLimitQuestion
from jitterfly.progress import Phases, show_duration
from jitterfly.slowdown import SlowdownQuestion
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
    monkeypatch.setattr(backends, "EVERY_LINE", 0.0)


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
    state = Progress(cells=4, prepared=1, look=1, looks=9, realizations=32, elapsed=2.5)
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


def test_quick_commands_say_nothing(noise_file, clock, capsys):
    """No time passes for what tells of progress, however busy the machine is."""
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


QUESTIONS = {
    "explain": ["--noise", "period=1ms,duration=10us", "--ranks=4", "--realizations=10"],
    "slowdown": ["--noise", "period=1ms,duration=10us", "--ranks=4", "--realizations=10"],
    "advise": ["--ranks=4,8", "--network=L=1us,o=0.1us"],
}


@pytest.mark.parametrize("command", QUESTIONS)
@pytest.mark.parametrize("out", [True, False])
def test_no_picture_is_told_where_none_is_drawn(command, out, tmp_path, talkative, capsys):
    more = [f"--out={tmp_path / 'out'}"] if out else []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jitterfly.plots.draw.can_draw", lambda: False)
        assert main([command, *QUESTIONS[command], *more]) == 0
    printed = capsys.readouterr().err
    assert printed
    assert "drawing" not in printed


@quick_pictures
@pytest.mark.parametrize("option", ["--out", "--picture"])
def test_a_picture_that_is_drawn_is_told(option, tmp_path, talkative, capsys):
    for command in ("explain", "slowdown"):
        file = tmp_path / f"{command}.png"
        assert main([command, *QUESTIONS[command], f"{option}={file}"]) == 0
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


# --- calls of Python

CALLS = [
    "advise", "compare_measured", "explain", "explain_schedule", "infer_noise", "noise_limit",
    "predict", "simulate", "simulate_schedule", "slowdown", "congestion.simulate_congestion",
]  # fmt: skip
MACHINE, NOISE = "L=1us,o=200ns", "period=1ms,duration=100us,start=stationary"


def calls():
    """What each function that has a `progress` takes; without those that run a study."""
    case = jf.Case(16, network=MACHINE, noise=NOISE)
    rare = jf.RenewalNoise(gap="10ms", duration=jf.Exponential("20us"))
    hit = jf.Case(16, network=MACHINE, noise=rare)
    times = jf.simulate(hit, 2000, seed=1, progress=lambda *_: None).samples[:, -1]
    built = jf.ScheduleBuilder(2)
    built.messages([(0, 1)], 8)
    schedule = built.build()
    network = congestion.CongestionCase(congestion.FatTree([4, 4], [1, 4]), pattern="bruck")
    return {
        "advise": ([8], {"network": MACHINE, "noise": NOISE, "realizations": 64}),
        "compare_measured": (times, case, {"realizations": 100}),
        "explain": (case, {"realizations": 10}),
        "explain_schedule": (schedule, MACHINE, NOISE, {"realizations": 10}),
        "infer_noise": (times, 16, {"network": MACHINE, "realizations": 500}),
        "noise_limit": ("period=1ms,duration=max", 16, {"at_most": 1.1, "realizations": 50}),
        "predict": (times, 16, {"to": 32, "network": MACHINE, "realizations": 500}),
        "simulate": (case, {"realizations": 10}),
        "simulate_schedule": (schedule, MACHINE, NOISE, {"realizations": 10}),
        "slowdown": (NOISE, 16, {"realizations": 10}),
        "congestion.simulate_congestion": (network, {"realizations": 10}),
    }


def function(name):
    return getattr(congestion if "." in name else jf, name.rpartition(".")[2])


def call(name, **more):
    *arguments, options = calls()[name]
    return function(name)(*arguments, **options, **more)


def test_calls_are_all():
    names = {f"congestion.{name}": getattr(congestion, name) for name in congestion.__all__}
    names |= {name: getattr(jf, name) for name in jf.__all__}
    functions = {name for name, one in names.items() if inspect.isfunction(one)
                 and "progress" in inspect.signature(one).parameters}  # fmt: skip
    assert (
        functions == {*calls(), "run_study"} == {*CALLS, "run_study"}
    )  # whose line is that of `Study.run`


@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_takes_long_says_so_on_standard_error(name, talkative, capsys, monkeypatch):
    found = call(name)
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = printed.err.splitlines()
    assert lines
    assert all(line.startswith(f"jitterfly.{name}: ") for line in lines)
    assert getattr(getattr(found, "question", None), "progress", None) is None
    told = []
    call(name, progress=lambda *state: told.append(state))
    assert told
    if name != "advise":  # which tells of more than numbers
        done = [one[0] for one in told]
        assert done == sorted(done)  # one progress for all that is simulated
        assert len({one[1] for one in told}) == 1
    assert capsys.readouterr().err == ""  # who has it told says what to print


@pytest.mark.parametrize("name", ["slowdown", "noise_limit"])
def test_the_time_left_is_that_of_the_messages_of_all_ranks(name, talkative, capsys):
    """Of 4 * 2, 512 * 9 and 1,024 * 10 messages 4,616 are done with two numbers of ranks."""
    noise, _, options = calls()[name]
    function(name)(noise, [4, 512, 1024], **options)
    last = capsys.readouterr().err.splitlines()[-1]
    assert re.fullmatch(
        rf"jitterfly\.{name}: [23] of 3 numbers of ranks, \d+ % of 1,024 ranks, \d+ s left", last
    )
    kind = {"slowdown": SlowdownQuestion, "noise_limit": NoiseLimitQuestion}[name]
    asked = kind(noise, [1024, 4, 512], **options)
    for done, messages, part in ((2, 4616, 0), (2.5, 9736, 50), (3, 14856, 100)):
        said, share = asked.progress_text(100.0, done, 3, 1024)
        assert share == pytest.approx(messages / 14856)
        left = show_duration(100 * (14856 / messages - 1))
        now = f"{part} % of 1,024 ranks, {left} left"
        assert said == f"{int(done)} of 3 numbers of ranks, {now}"
    assert asked.progress_text(100.0, 0, 3, 4) == ("0 of 3 numbers of ranks, 0 % of 4 ranks", 0)


@pytest.mark.parametrize("name", CALLS)
def test_a_call_takes_no_other_progress(name):
    with pytest.raises(ValueError, match=r"^progress must be None or callable, got 3"):
        call(name, progress=3)


def test_a_quick_call_says_nothing(clock, monkeypatch, capsys):
    monkeypatch.setattr(backends, "time", clock)
    line = {}

    def progress_at(seconds):
        clock.now += seconds
        line["show"](1, 4)
        return capsys.readouterr().err

    with backends.progress_of_call("simulate", None) as line["show"]:
        assert progress_at(9.9) == ""
        assert progress_at(0.2) == "jitterfly.simulate: 1 of 4 realizations, 30 s left\n"
        assert progress_at(9.9) == ""
        assert progress_at(0.1) != ""
        list(progress.counted_progress([1], 10_000, "looking"))  # of what has its own lines
        assert capsys.readouterr().err == ""
        clock.now += 1
        list(progress.counted_progress([1], 10_000, "looking"))
        assert capsys.readouterr().err == "jitterfly.simulate: looking: 0 of 10,000\n"


class Logger:
    """What programs put in the place of standard error to keep what is printed."""

    def __init__(self):
        self.lines = []

    def write(self, text):
        self.lines.append(text)


class FlushedLogger(Logger):
    def flush(self):
        pass


class Hangup(Terminal):
    """A terminal that may go."""

    gone = False

    def write(self, text):
        if self.gone:
            raise BrokenPipeError
        return super().write(text)


@contextlib.contextmanager
def broken(kind):
    """A stream that is none of a terminal, a pipe that is read, and a file that has space."""
    if kind == "closed":
        stream = io.StringIO()
        stream.close()
        yield stream
    elif kind == "no reader":
        reader, writer = os.pipe()
        os.close(reader)
        yield (stream := os.fdopen(writer, "w"))
        with contextlib.suppress(OSError):
            stream.close()
    elif kind == "full disk":
        yield (stream := Path("/dev/full").open("w"))  # noqa: SIM115
        with contextlib.suppress(OSError):
            stream.close()
    else:
        yield {"None": type(None), "no flush": Logger}[kind]()


BROKEN = ["None", "no flush", "closed", "no reader", "full disk"]


@pytest.mark.parametrize("work", ["simulate", "slowdown", "study"])
@pytest.mark.parametrize("kind", BROKEN)
def test_a_call_outlasts_standard_error(kind, work, talkative, monkeypatch, capsys):
    """Nobody asked for its progress: a stream that fails ends the line, and not the call."""
    if kind == "full disk" and not Path("/dev/full").exists():
        pytest.skip("needs Linux's /dev/full")
    case = jf.Case(16, network=MACHINE, noise=NOISE)
    study = jf.Study("one", case=case, budget=jf.RealizationBudget(max=10))
    with broken(kind) as stream, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", stream)
        assert study.run().summary() if work == "study" else call(work)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("bar", [True, False])
@pytest.mark.parametrize("states", [1, 2])
def test_a_terminal_may_go_before_a_call_ends(bar, states, talkative, monkeypatch):
    monkeypatch.setattr(progress, "EVERY_BAR", 0.0)
    monkeypatch.setattr(sys, "stderr", stream := Hangup())
    if not bar:
        monkeypatch.setattr(progress.ProgressLine, "_begin_bar", lambda self: False)
    with backends.progress_of_call("simulate", None) as show:
        for done in range(1, states + 1):
            show(done, 4)
            stream.gone = True
    assert "1 of 4 realizations" in stream.getvalue()


def test_an_error_of_a_call_is_no_error_of_its_line(talkative):
    """Only what the stream raises is passed over."""

    def say(*_):
        raise ValueError("mine")

    line = backends.progress_of_call("simulate", None, say)
    with line as show, pytest.raises(ValueError, match="mine"):
        show(1, 4)


def test_a_logger_in_place_of_standard_error_has_the_lines(talkative, monkeypatch):
    monkeypatch.setattr(sys, "stderr", FlushedLogger())
    call("simulate")
    assert sys.stderr.lines[0].startswith("jitterfly.simulate: ")


def test_a_stream_that_was_asked_for_fails_as_it_does(tmp_path):
    stream = io.StringIO()
    stream.close()
    case = jf.Case(16, network=MACHINE, noise=NOISE)
    with pytest.raises(ValueError, match="closed file"):
        jf.Study("one", case=case, budget=jf.RealizationBudget(max=10)).run(
            tmp_path / "out", stream=stream
        )


def _simulated(queue):
    sys.stderr = stream = io.StringIO()
    progress.EVERY_LINE = backends.EVERY_LINE = 0.0
    jf.simulate(jf.Case(16, network=MACHINE, noise=NOISE), 10)
    queue.put(stream.getvalue())


def test_workers_and_commands_have_no_progress_of_calls(talkative, monkeypatch, capsys):
    thread = threading.Thread(target=call, args=("simulate",))
    thread.start()
    thread.join()
    with progress.progress_to(lambda line: None):  # as a command has it
        call("simulate")
    monkeypatch.setenv("SLURM_PROCID", "3")
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "4")
    monkeypatch.setenv("SLURM_NTASKS", "4")
    call("simulate")
    assert capsys.readouterr().err == ""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_simulated, args=(queue,))
    process.start()
    assert queue.get(timeout=60) == ""
    process.join()
