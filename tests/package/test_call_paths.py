"""Number of source files that one call goes through, which is bounded."""

import subprocess
import sys
from pathlib import Path

import pytest
from support.small_study import STUDY

# What it calls is made before, so that only the call itself is counted.
COUNT = """
import sys, threading
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
count(lambda: jf.simulate(case, realizations=50, seed=1))
"""
RUN_STUDY = """
study = jf.load_study(sys.argv[1])
count(lambda: jf.run_study(study, sys.argv[2]))
"""


@pytest.fixture
def entered(tmp_path):
    """What gives the files that a call enters, in a process where nothing is cached."""
    file = tmp_path / "small.toml"
    file.write_text(STUDY)

    def files(call: str) -> set[str]:
        told = subprocess.run(
            [sys.executable, "-c", COUNT + call, file, tmp_path / "out"],
            capture_output=True,
            text=True,
            check=True,
        )
        return {str(Path(name)) for name in told.stdout.split()}

    return files


def test_simulate_goes_through_few_files(entered):
    files = entered(SIMULATE)
    assert {"simulate.py", "program.py", "backends.py"} <= files
    assert not any(name.startswith("algorithms/") for name in files)  # a case is lowered once
    assert "network.py" not in files
    assert len(files) <= 13


def test_a_study_runs_through_few_files(entered):
    files = entered(RUN_STUDY)
    assert {"simulate.py", "store/store.py", "sweep/driver.py"} <= files
    assert len(files) <= 39
