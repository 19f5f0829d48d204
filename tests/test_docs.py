"""Examples in docstrings and in the README run, and say what happens."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import jitterfly

MODULES = ["jitterfly"] + [
    module.name
    for module in pkgutil.walk_packages(jitterfly.__path__, "jitterfly.")
    if not module.name.endswith(("__main__", "_core"))
]
README = Path(__file__).parents[1] / "README.md"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


def test_there_are_docstring_examples():
    finder = doctest.DocTestFinder()
    tests = [t for name in MODULES for t in finder.find(importlib.import_module(name))]
    assert sum(len(test.examples) for test in tests) > 50


@pytest.mark.filterwarnings("error")
def test_readme_examples(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    scope: dict = {}
    for block in blocks:
        small = block.replace("realizations=1000", "realizations=60").replace("20_000", "400")
        exec(small, scope)
    assert scope["result"].samples.shape == (60, 15)
    assert scope["result"].observations[:2] == ["T=0", "T=1"]
    assert scope["store"].to_xarray().sizes["ranks"] == 3


def test_readme_names_files_that_exist():
    links = re.findall(r"\]\(([^)#:]+)\)", README.read_text(encoding="utf-8"))
    assert links
    for link in links:
        assert (README.parent / link).exists(), link


def test_commands_that_record_work_on_any_machine():
    """No command names a CPU beyond the first, which a small machine lacks."""
    text = README.read_text(encoding="utf-8")
    commands = re.findall(r"^jitterfly noise record.*", text, re.MULTILINE)
    assert commands
    for command in commands:
        assert re.search(r"--cpu[ =](?!0\b|all\b)", command) is None, command


def test_no_hint_names_a_package_that_no_index_has():
    """Who registers such a name runs code wherever the hint is followed."""
    root = README.parent
    files = [README, *root.glob("python/**/*.py"), *root.glob("sweeps/**/*.md")]
    hint = re.compile(r"pip install[^\n`&]*\bjitterfly\b|jitterfly\[")
    assert hint.search("pip install 'jitterfly[data]'")
    assert hint.search("pip install --user jitterfly")
    assert not [path for path in files if hint.search(path.read_text(encoding="utf-8"))]
