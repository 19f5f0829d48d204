"""List of all files ("Where is what"): each has a first sentence that fits a line."""

import importlib.util
import re
import subprocess
import sys
from collections import Counter

import pytest
from support.paths import ROOT
from support.scale import some

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


def searched(*words):
    """The files of the lines that a search prints, the best first."""
    return [line.partition(": ")[0] for line in file_tree.search(words)[0]]


def test_the_file_with_all_words_in_its_line_is_the_first():
    assert searched("fieller", "Rati")[0] == "python/jitterfly/stats/paired.py"


@pytest.mark.full_scale
def test_a_word_is_found_without_its_ending():
    assert searched("parse", "unit")[0] == "python/jitterfly/units.py"  # which has "parsing"


def test_a_word_is_found_without_its_ending_and_at_the_beginning_of_words():
    assert file_tree.begins_a_word("parse").search("sizes: parsing")
    assert not file_tree.begins_a_word("mpi").search("compiled")
    assert file_tree.begins_a_word("shards").search("a_shard")


@pytest.mark.parametrize(
    ("words", "file"),
    some([
        (["gpu", "arrival"], "cuda/gpu/tile_kernel.cuh"),
        (["inverse", "survival", "draw"], "python/jitterfly/distributions/distribution.py"),
        (["threads", "AVX"], "cuda/cpu/instruction_sets.h"),
        (["detour", "threshold"], "cuda/record/detours.cpp"),
        (["slurm", "resume"], "python/jitterfly/sweep/driver.py"),
        (["default", "network"], "python/jitterfly/network.py"),
        (["how", "an", "estimate", "is", "printed"], "python/jitterfly/answer.py"),
        (["option", "of", "a", "parameter"], "python/jitterfly/cli/options.py"),
        (["record", "format", "of", "the", "store"], "python/jitterfly/store/records.py"),
        (["caveat", "interval"], "python/jitterfly/stats/intervals.py"),
        (["columns", "CSV", "answer"], "python/jitterfly/answer.py"),
        (["register", "noise", "source"], "python/jitterfly/noise/__init__.py"),
        (["Ctrl-C", "signal"], "python/jitterfly/cli/process.py"),
    ], 2),
)  # fmt: skip
def test_words_in_the_line_in_the_head_or_in_what_a_file_defines(words, file):
    assert file in searched(*words)[:3]


def test_a_word_that_no_file_has_does_not_hide_those_with_the_others():
    assert searched("xyzzy", "fieller")[0] == "python/jitterfly/stats/paired.py"


def test_the_command(capsys):
    assert file_tree.main(["Fieller's", "xyzzy", "ratio"]) == 0
    found = capsys.readouterr()
    assert found.out.startswith("python/jitterfly/stats/paired.py: ")
    assert found.err == "no head, name or first sentence has: xyzzy; try grep\n"
    assert file_tree.main(["xyzzy"]) == 1
    assert capsys.readouterr().out == ""


def test_without_words_it_prints_everything():
    found = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=True)
    assert len(found.stdout.splitlines()) == len(list(file_tree.everything()))
