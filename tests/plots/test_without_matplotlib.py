"""Without matplotlib: all else works, and figures say what to install."""

import subprocess
import sys

BLOCKED = """
import sys


class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "matplotlib":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Blocker())
"""
IMPORTS = """
import importlib
import pkgutil

import jitterfly

for module in pkgutil.walk_packages(jitterfly.__path__, "jitterfly."):
    if not module.name.startswith("jitterfly.plots."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
"""
COMMANDS = """
from jitterfly.cli import main

for command in ("reproduce", "theory"):
    # -q: on a loaded machine it would also say how far it is
    print(main([command, "-q", "--out", sys.argv[1]]))
"""


def run(code, *words):
    return subprocess.run([sys.executable, "-c", BLOCKED + code, *map(str, words)],
                          capture_output=True, text=True, timeout=120)  # fmt: skip


def test_all_but_pictures_is_imported_and_a_report_says_what_to_install(tmp_path):
    """Before anything is simulated."""
    done = run(IMPORTS + COMMANDS, tmp_path / "out")
    assert done.stdout == "2\n2\n", done.stderr
    told = done.stderr.splitlines()
    assert len(told) == 2
    assert all("matplotlib is not installed (pip install matplotlib)" in line for line in told)
    assert not (tmp_path / "out").exists()
