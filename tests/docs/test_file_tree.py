"""List of all files ("Where is what"): each has a first sentence that fits a line."""

import importlib.util
import re
import subprocess
import sys
from collections import Counter

import pytest
from support.paths import ROOT

SCRIPT = ROOT / "docs" / "extensions" / "file_tree.py"
SPEC = importlib.util.spec_from_file_location("file_tree", SCRIPT)
file_tree = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(file_tree)
LONGEST = 110


@pytest.fixture(scope="module")
def lines():
    """Without pages, whose titles are what they are."""
    found = ((path, line) for path, line in file_tree.everything() if path.suffix != ".md")
    return {str(path.relative_to(ROOT)): line for path, line in found}


def is_good(line):
    """One sentence that ends with a full stop, and not at an abbreviation."""
    ends = line.endswith(".") and not re.search(r"\b(Figs?|al|cf|e\.g|i\.e)\.$|\.\.$", line)
    return ends and line.count("(") == line.count(")") and 12 <= len(line) <= LONGEST


def test_every_file_has_a_line(lines):
    assert {name: line for name, line in lines.items() if not is_good(line)} == {}


def test_no_two_lines_are_the_same(lines):
    counts = Counter(lines.values())
    assert {line for line, count in counts.items() if count > 1} == set()


def test_every_source_is_listed(lines):
    kinds = {".py", ".pyi", ".h", ".cpp", ".cu", ".cuh", ".toml"}
    found = (path for name in ("python", "cuda", "bindings", "tests", "sweeps")
             for path in (ROOT / name).rglob("*") if path.suffix in kinds)  # fmt: skip
    names = {str(path.relative_to(ROOT)) for path in found if path.name != "__init__.py"}
    assert {name for name in names if not name.startswith("tests/data/")} <= set(lines)
    assert len(names) > 500


def test_first_sentences(tmp_path):
    for name, text, line in [
        ("a.py", '"""Of a file.h: one. Two."""\n', "Of a file.h: one."),
        ("b.h", "#pragma once\n\n// One,\n// two. Three.\n//\n// Four.\n", "One, two."),
        ("c.h", "#include <d>\n\n// Not this.\n", ""),
        ("e.md", "Before.\n\n# A page\n\nText.\n", "A page."),
        ("f.md", "No title.\n", ""),
        ("d.sh", "#!/bin/sh\n# One. Two.\n", "One."),
    ]:
        path = tmp_path / name
        path.write_text(text)
        assert file_tree.first_sentence(file_tree.head(path)) == line


def test_words_are_searched_for():
    command = [sys.executable, SCRIPT, "fieller", "Rati"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert any(line.startswith("python/jitterfly/stats/ratios.py: ") for line in lines)
    assert all("fieller" in line.lower() and "ratio" in line.lower() for line in lines)


def test_a_word_is_found_at_the_beginning_of_words():
    command = [sys.executable, SCRIPT, "mpi"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert any("MPI" in line for line in lines)
    assert all(re.search(r"\bmpi", line.lower().replace("_", " ")) for line in lines)


def test_words_that_no_line_has():
    found = subprocess.run([sys.executable, SCRIPT, "fieller", "nvcc"], capture_output=True,
                           text=True, check=False)  # fmt: skip
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr == "no head contains fieller and nvcc\n"


def test_words_that_a_head_has_behind_its_first_sentence():
    command = [sys.executable, SCRIPT, "nvcc", "CUDAHOSTCXX", "fatbin"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 1
    command = [sys.executable, SCRIPT, "inverse", "survival", "draw"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert found.startswith("no line contains all words")
    assert "\npython/jitterfly/distributions/distribution.py: " in found
