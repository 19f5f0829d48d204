"""Programs that `.ci/gpu` runs on a device, run with the CPU in its place: they fit the package.

A machine with a GPU is not at hand for every change; a script that fails there for a name that has
changed would waste it.
"""

import os
import re
import subprocess
import sys

import pytest
from support.paths import ROOT, TESTS
from support.scale import at_most

SCRIPT = (ROOT / ".ci" / "gpu").read_text()
PROGRAMS = dict(
    re.findall(r"cat >\"\$work/(\w+\.py)\" <<'PYTHON'\n(.*?\n)PYTHON", SCRIPT, re.DOTALL)
)
SMALLER = {
    "scale.py": {"2**25": "2**8", "(27, 30)": "(9,)", "(256, 60)": "(8, 3)",
                 "(256, 4096, 65536)": "(9, 33)", "4096": "20"},
    "collectives.py": {"2**12": "2**6", "2**32": "2**14", "2**24": "2**10",
                       ', {})': ', {"threads": 1})'},
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gpu")
    for name, text in PROGRAMS.items():
        for old, new in SMALLER.get(name, {}).items():
            assert old in text
            text = text.replace(old, new)
        (folder / name).write_text(re.sub("""(["'])cuda\\1""", "'cpu'", text))
    return folder


def run(folder, *words):
    found = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True,
                           check=False, env={**os.environ, "PYTHONPATH": str(TESTS)})  # fmt: skip
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_programs_of_the_script():
    assert {"compare.py", "one.py", "count.py", "scale.py", "schedules.py",
            "collectives.py"} == PROGRAMS.keys()  # fmt: skip
    assert all(
        '"cuda"' in PROGRAMS[name] for name in PROGRAMS.keys() - {"count.py", "schedules.py"}
    )


@pytest.mark.parametrize("few", [["few"], []], ids=["few", "all"])
def test_compare(folder, few):
    largest = at_most(9, 4) if few else 2
    cases = int(
        re.match(r"(\d+) cases: cuda equals cpu", run(folder, "compare.py", str(largest), *few))[1]
    )
    assert cases > 60


def test_scale(folder):
    lines = run(folder, "scale.py").splitlines()
    assert len([line for line in lines if "rank-rounds/s" in line]) == 1
    assert len([line for line in lines if "per operation and realization" in line]) == 4


def test_collectives(folder):
    *lines, last = run(folder, "collectives.py").splitlines()
    assert len(lines) == 19
    assert re.fullmatch(r"at least \d+ times one core; 50 is the goal", last)


def test_instructions_per_rank_round(folder):
    """Of what the profiler writes."""
    assert run(folder, "one.py", "16", "2") == ""
    rows = [["Kernel Name", "Metric Name", "Metric Value"],
            ["lean(int)", "smsp__inst_executed.sum", "1,000"],
            ["lean(int)", "other", "7"],
            ["lean(int)", "smsp__inst_executed.sum", "24"]]  # fmt: skip
    lines = ["==PROF== connected", *(",".join(f'"{word}"' for word in row) for row in rows)]
    (folder / "ncu.csv").write_text("\n".join(lines) + "\n")
    told = run(folder, "count.py", "ncu.csv", "16", "2").splitlines()
    assert told[-1] == f"counted 16={32 * 1024 / (16 * 4 * 2):.3f}"
