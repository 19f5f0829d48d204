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
    if event == "call" and frame.f_code.co_filename.startswith(str(ROOT)):
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
RUN_STUDY = """
study = jf.load_study(sys.argv[1])
run_study = jf.run_study
count(lambda: run_study(study, sys.argv[2]))
"""


# In a process of its own each, where nothing is cached; they share the import of the modules.
PROGRAM = f"""{COUNT}
if os.fork() == 0:
{indent(SIMULATE, "    ")}
else:
    assert os.wait()[1] == 0
{indent(RUN_STUDY, "    ")}
"""


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
    assert not any(name.startswith("algorithms/") for name in files)  # a case is lowered once
    assert "network.py" not in files
    assert len(files) <= 13


def test_a_study_runs_through_few_files(entered):
    """Of them its noise and its four observables have a file each, `completion` what they share."""
    files = entered[1]
    assert {"simulate.py", "store/store.py", "sweep/driver.py"} <= files
    assert len(files) <= 39
