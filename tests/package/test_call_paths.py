"""Number of source files that one call goes through, which is bounded."""

import subprocess
import sys
from textwrap import indent

import pytest
from support.small_study import STUDY

# What it calls is made before, so that only the call itself is counted.
COUNT = """
import os, sys, threading
from pathlib import Path
import jitterfly as jf

ROOT = Path(jf.__file__).parent
entered = set()

def enter(frame, event, _):
    if event == "call" and frame.f_code.co_filename.startswith(f"{ROOT}{os.sep}"):
        entered.add(str(Path(frame.f_code.co_filename).relative_to(ROOT)))

def count(call):
    threading.setprofile(enter)
    sys.setprofile(enter)
    call()
    sys.setprofile(None)
    print(*sorted(entered))
"""
SIMULATE = """
case = jf.Case(
    64,
    algorithm=jf.Butterfly(exchanges_after=2),
    network=jf.LogGOPS(L="1us", o="200ns", G="0.1ns"),
    noise=[jf.PeriodicNoise(period="1ms", duration="25us", start="stationary")],
)
simulate = jf.simulate  # what is loaded when it is asked for
count(lambda: simulate(case, realizations=50, seed=1))
"""
SLOWDOWN = """
noise = jf.PeriodicNoise(period="1ms", duration="25us", start="stationary")
network = jf.LogGOPS(L="1us", o="200ns", G="0.1ns")
slowdown = jf.slowdown
count(lambda: slowdown(noise, 64, network=network, realizations=50, seed=1))
"""
ADVISE = """
noise = jf.PeriodicNoise(period="1ms", duration="25us", start="stationary")
network = jf.LogGOPS(L="1us", o="200ns", G="0.1ns")
asked = dict(collective="allreduce", ranks=[16], message_bytes=[8], noise=[noise], network=network)
advise = jf.advise
count(lambda: advise(**asked, realizations=50, seed=1))
"""
RUN_STUDY = """
study = jf.load_study(sys.argv[1])
run_study = jf.run_study
count(lambda: run_study(study, sys.argv[2]))
"""
RUN_COMMAND = """
import contextlib, io
from jitterfly.cli import main

def run(out):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        assert main(["run", sys.argv[1], "--out", sys.argv[2] + out]) == 0

run("first")  # which loads what it needs
count(lambda: run("second"))
"""


# In a process of its own each, where nothing is cached; they share the import of the modules.
PROGRAM = COUNT + "".join(
    f"""
if os.fork() == 0:
{indent(call, "    ")}
    sys.stdout.flush()
    os._exit(0)
assert os.wait()[1] == 0
"""
    for call in (SIMULATE, RUN_STUDY, SLOWDOWN, ADVISE, RUN_COMMAND)
)


@pytest.fixture(scope="module")
def entered(tmp_path_factory):
    """The files that each call enters."""
    folder = tmp_path_factory.mktemp("calls")
    (folder / "small.toml").write_text(STUDY)
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM, folder / "small.toml", folder / "out"],
        capture_output=True,
        text=True,
        check=True,
    )
    return [set(line.split()) for line in told.stdout.splitlines()]


def test_simulate_goes_through_few_files(entered):
    files = entered[0]
    assert {"simulate.py", "program.py", "backends.py"} <= files
    assert not any(name.startswith("algorithms/") for name in files)  # steps are compiled once
    assert "network.py" not in files
    assert len(files) <= 12


def test_a_study_runs_through_few_files(entered):
    """Of them its noise and its four observables have a file each, `completion` what they share."""
    files = entered[1]
    assert {"program.py", "store/store.py", "sweep/driver.py"} <= files
    assert len(files) <= 24


def test_slowdown_goes_through_few_files(entered):
    files = entered[2]
    assert {"slowdown.py", "collect.py", "simulate.py"} <= files
    assert len(files) <= 24


def test_advice_on_one_cell_goes_through_few_files(entered):
    """Of them four candidates have a file each, beside what they share."""
    files = entered[3]
    assert {"advice/race.py", "collect.py", "simulate.py"} <= files
    assert len(files) <= 30


def test_the_command_that_runs_a_study_goes_through_few_files(entered):
    """From the words of the command to the table and the picture that it makes."""
    files = entered[4]
    assert {"cli/run.py", "studies/toml.py", "sweep/driver.py", "results/tables.py"} <= files
    assert len(files) <= 53
