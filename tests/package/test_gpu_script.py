"""`.ci/gpu` without a GPU: its programs with the CPU in the device's place, its steps with stubs.

A machine with a GPU is not at hand for every change, and lent for minutes; a script that fails
there for a name that has changed would waste them.
"""

import os
import re
import subprocess

import pytest
from support.forkserver import run_program
from support.paths import ROOT, TESTS
from support.scale import at_most, full_scale

PROGRAMS = TESTS / "gpu"
SMALLER = {
    "scale.py": {"2**25, (2**27, 2**30)": "2**8, (2**9,)", "(256, 60)": "(8, 3)",
                 "(256, 4096, 65536), 4096": "(9, 33), 20"},
    "collectives.py": {"2**12": "2**6", "2**32": "2**14", "2**24": "2**10"},
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    (folder / "gpu").mkdir()
    for path in PROGRAMS.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        for old, new in SMALLER.get(path.name, {}).items():
            assert old in text, (path.name, old)
            text = text.replace(old, new)
        text = re.sub("""(["'])cuda\\1""", r"\1cpu\1", text)
        (folder / "gpu" / path.name).write_text(text, encoding="utf-8")
    return folder


def run(folder, name, *words, status=0):
    code, printed, errors = run_program(folder, f"gpu.{name}", *words)
    assert code == status, errors
    return printed


@pytest.mark.parametrize("few", [["few"], full_scale([])])
def test_compare(folder, few):
    largest = at_most(9, 4) if few else 2
    last = run(folder, "compare", str(largest), *few).splitlines()[-1]
    assert int(re.fullmatch(r"(\d+) cases: cuda equals cpu bit for bit", last)[1]) > 60


@pytest.mark.full_scale
def test_compare_goes_on_after_a_difference(folder, tmp_path):
    """Twenty times at most, each with its place."""
    (tmp_path / "gpu").mkdir()
    for path in (folder / "gpu").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path.name == "compare.py":
            found = 'found, expected = ticks("cpu"), ticks("cpu")'
            assert found in text
            text = text.replace(found, f"{found}\n        found = found + (found == found.max())")
        (tmp_path / "gpu" / path.name).write_text(text, encoding="utf-8")
    lines = run(tmp_path, "compare", "2", "few", status=1).splitlines()
    differ = [line for line in lines if line.startswith("DIFFERS: ")]
    assert len(differ) == 20
    assert re.fullmatch(r"DIFFERS: schedules, no noise: \d+ of \d+ values differ, the first at "
                        r"\[[\d, ]+\]: \d+, \d+ on the CPU", differ[0])  # fmt: skip
    assert re.fullmatch(r"\d+ cases: 20 differ", lines[-1])


def test_scale(folder):
    lines = run(folder, "scale").splitlines()
    assert len([line for line in lines if "rank-rounds/s" in line]) == 1
    assert len([line for line in lines if "per operation and realization" in line]) == 4


def test_collectives(folder):
    *lines, last = run(folder, "collectives").splitlines()
    assert len(lines) == 20
    assert re.fullmatch(r"at least \d+ times one core; 50 is the goal", last)


def test_instructions_per_rank_round(folder):
    """Of what the profiler writes."""
    assert run(folder, "butterfly", "16", "2") == ""
    rows = [["Kernel Name", "Metric Name", "Metric Value"],
            ["lean(int)", "smsp__inst_executed.sum", "1,000"],
            ["lean(int)", "other", "7"],
            ["lean(int)", "smsp__inst_executed.sum", "24"]]  # fmt: skip
    lines = ["==PROF== connected", *(",".join(f'"{word}"' for word in row) for row in rows)]
    (folder / "ncu.csv").write_text("\n".join(lines) + "\n")
    told = run(folder, "instructions", "ncu.csv", "16", "2").splitlines()
    assert told[-1] == f"counted 16={32 * 1024 / (16 * 4 * 2):.3f}"


def script(tmp_path, *, python="", seconds=None, steps=None):
    """Run it with stubs that print their arguments; `python`: lines of its stub before that."""
    stubs = tmp_path / "stubs"
    stubs.mkdir()
    for name, lines in {
        "python": f"{python}\necho Compiling entry: registers",
        "compute-sanitizer": 'shift 4; exec "$@"',
        "ncu": 'shift 5; exec "$@"',
        "cuobjdump": "echo ' Function f:'; echo '  REG:8 STACK:0'",
        "nvcc": "", "nvidia-smi": "echo card",
    }.items():  # fmt: skip
        stub = stubs / name
        stub.write_text(f'#!/bin/bash\n{lines}\necho "$0 $*"\n')
        stub.chmod(0o755)
    settings = {"JITTERFLY_GPU_SECONDS": seconds, "JITTERFLY_GPU_STEPS": steps}
    out = tmp_path / "out"
    done = subprocess.run(
        [ROOT / ".ci" / "gpu", out], capture_output=True, text=True, check=False,
        env={**os.environ, "PATH": f"{stubs}{os.pathsep}{os.environ['PATH']}",
             "PYTHON": str(stubs / "python"), **{k: v for k, v in settings.items() if v}},
    )  # fmt: skip
    path = out / "summary.md"
    rows = re.findall(r"^\| (\w+) \| ([^|]*) \|", path.read_text(), re.M) if path.exists() else []
    return done, dict(rows[1:]), out


STEPS = [
    "build", "compare", "tests", "memcheck", "racecheck", "synccheck", "initcheck", "rates",
    "scale", "collectives", "instructions", "bench", "resources", "code", "recursion", "sweep",
]  # fmt: skip


@pytest.mark.full_scale
def test_steps(tmp_path):
    """In the order in which they are most useful; a failed one stops no other."""
    done, rows, out = script(tmp_path, python='case "$*" in *gpu.scale*) exit 3 ;; esac')
    assert done.returncode == 1, done.stderr
    assert list(rows) == STEPS
    assert {name for name, result in rows.items() if result != "passed"} == {"scale"}
    assert rows["scale"] == "**failed (3)**"
    assert len(list(out.iterdir())) <= 8, "as many files as are taken back from a lent machine"
    assert "gpu.compare 16" in (out / "tests.log").read_text()
    assert (out / "sanitizer.log").read_text().count(" few") == 4


def test_one_step(tmp_path):
    done, rows, _ = script(tmp_path, steps="build compare")
    assert (done.returncode, rows) == (0, {"build": "passed", "compare": "passed"}), done.stderr


@pytest.mark.full_scale
@pytest.mark.slow
def test_it_ends_in_time(tmp_path):
    """A step that hangs is ended, and what does not fit is said to be left out."""
    done, rows, _ = script(
        tmp_path, python='case "$*" in *gpu.compare*) sleep 60 ;; esac', seconds="27"
    )
    assert done.returncode == 1, done.stderr
    hang = ["compare", *STEPS[3:7]]  # the sanitizers run it, too
    assert {rows.pop(step) for step in hang} == {"**not done in time**"}
    assert rows.pop("build") == rows.pop("tests") == "passed"
    assert set(rows.values()) == {"left out: no time"}
    assert list(rows) == STEPS[7:]


def test_a_build_that_fails_is_the_end(tmp_path):
    done, rows, _ = script(tmp_path, python='case "$*" in *"pip install"*) exit 4 ;; esac')
    assert (done.returncode, rows) == (1, {"build": "**failed (4)**"}), done.stderr


@pytest.mark.parametrize(("setting", "value", "words"), [
    ("steps", "build tets", "unknown step 'tets'"),
    ("seconds", "5m", "must be a number of seconds, got '5m'"),
])  # fmt: skip
def test_settings_are_checked(tmp_path, setting, value, words):
    done, _, _ = script(tmp_path, **{setting: value})
    assert done.returncode == 2
    assert words in done.stderr
