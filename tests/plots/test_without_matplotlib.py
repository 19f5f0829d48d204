"""Without matplotlib: everything else works, and what draws says what to install."""

import subprocess
import sys

import pytest

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
COMMAND = "from jitterfly.cli import main; sys.exit(main(sys.argv[1:]))"


def run(code, *words):
    return subprocess.run([sys.executable, "-c", BLOCKED + code, *map(str, words)],
                          capture_output=True, text=True, timeout=120)  # fmt: skip


def test_all_but_pictures_is_imported():
    done = run(IMPORTS)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", ["reproduce", "theory"])
def test_a_report_says_what_to_install(command, tmp_path):
    """Before anything is simulated."""
    # -q: on a loaded machine it would also say how far it is
    done = run(COMMAND, command, "-q", "--out", tmp_path / "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "matplotlib is not installed (pip install matplotlib)" in done.stderr
    assert not (tmp_path / "out").exists()
