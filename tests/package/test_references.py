"""Files and sections that comments and docstrings name are there."""

import functools
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.paths import CUDA, ROOT, TESTS

FOLDERS = [CUDA, ROOT / "bindings", ROOT / "python", TESTS]
# What a path may be relative to; else to the folder of the file that names it.
BASES = [ROOT, CUDA, ROOT / "python" / "jitterfly", TESTS]
NAMED = re.compile(r"(?<![\w./<-])(?:[\w-]+/)+[\w-]+\.(?:cpp|cuh?|h|md|pyi?)\b")
# A comment or a literal text of Python: `tokenize` finds the same in ten times the time.
PYTHON = re.compile(
    r'''#[^\n]*|[a-zA-Z]{0,2}(?:"""(?:\\[\s\S]|[^\\])*?"""|\'{3}(?:\\[\s\S]|[^\\])*?\'{3}'''
    r"""|"(?:\\[\s\S]|[^"\\\n])*"|'(?:\\[\s\S]|[^'\\\n])*')"""
)
SECTION = re.compile(r'(docs/[\w/]+\.md), "([^"]+)"')
SOURCES = [
    file
    for folder in FOLDERS
    for file in sorted(folder.rglob("*"))
    if file.suffix in (".h", ".cpp", ".cu", ".cuh", ".py", ".pyi")
]


def comments(file: Path) -> str:
    """The comments and docstrings of a file, as one line."""
    if file.suffix in (".py", ".pyi"):
        return " ".join(" ".join(python_comments(file)).split())
    lines = re.findall("//(.*)", file.read_text(encoding="utf-8"))
    return " ".join(" ".join(line for line in lines if "#include" not in line).split())


def python_comments(file: Path) -> Iterator[str]:
    for token in PYTHON.findall(file.read_text(encoding="utf-8")):
        if token.startswith("#"):
            yield token.lstrip("#")
        elif token.startswith('"""'):
            yield token[3:-3]


@functools.cache
def exists(path: Path) -> bool:
    return path.exists()


@functools.cache
def headings(page: str) -> list[str]:
    return re.findall("^#+ (.*)$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)


def dead(text: str, folder: Path) -> list[str]:
    """What a text in a file of that folder names, and what is not there."""
    names = NAMED.findall(text)
    found = [name for name in names if not any(exists(b / name) for b in [*BASES, folder])]
    for page, heading in SECTION.findall(text):
        if heading not in headings(page):
            found.append(f"{page}, {heading}")
    return found


def test_references():
    assert len(SOURCES) > 100
    found = {str(f.relative_to(ROOT)): dead(comments(f), f.parent) for f in SOURCES}
    assert {name: names for name, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "text", ["see cpu/gone.h.", "(noise/gone.py)", 'docs/model.md, "Gone", and', "`a/b.cuh`"]
)
def test_a_dead_reference_is_seen(text):
    assert dead(text, CUDA)
    assert not dead('core/steps.h: docs/model.md, "The butterfly"; <sys/mman.h>', CUDA)


@pytest.mark.full_scale
def test_comments_are_those_that_python_sees():
    for file in (file for file in SOURCES if file.suffix in (".py", ".pyi")):
        seen = []
        with file.open("rb") as source:
            for token in tokenize.tokenize(source.readline):
                if token.type == tokenize.COMMENT:
                    seen.append(token.string.lstrip("#"))
                elif token.type == tokenize.STRING and token.string.startswith('"""'):
                    seen.append(token.string[3:-3])
        assert list(python_comments(file)) == seen, file


def test_comments_are_read(tmp_path):
    for name, text in [
        ("a.h", '#include "x/y.h"\n// #include "x.h"\nint a;  // See docs/model.md, "The\n// b"\n'),
        ("a.py", '"""See docs/model.md, "The\n\nb" """\nx = "x/y.h"\n'),
        ("b.py", 'x = "# x/y.h", \'\'\'x/y.h\'\'\', f"""x/y.h"""  # See docs/model.md, "The b"\n'),
    ]:
        file = tmp_path / name
        file.write_text(text)
        assert comments(file) == 'See docs/model.md, "The b"'
