"""Where is what: the first sentence of each file's head comment, as a tree of the repository.

    python docs/extensions/file_tree.py [WORDS...]

prints a line for each folder and file. A package's line is that of its `__init__.py`, a page's is
its title; lines of other folders are rows of tables in docs/developers. With words it prints the
lines of the files that have most to do with them, the best first: `search` says how they are found.
The directive `file-tree` shows all lines on a page.
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FOLDERS = (
    "python/jitterfly", "python/jitterfly_papers", "cuda", "bindings", "tests", "sweeps", "docs",
    "python/build_backend", ".ci", ".github/workflows",
)  # fmt: skip
FILES = ("CMakeLists.txt", "pyproject.toml", "README.md", "CONTRIBUTING.md", "CHANGELOG.md")
# What begins a comment, by the end of a file's name. Other files are data and have no line.
COMMENT = {
    **dict.fromkeys((".h", ".cpp", ".cu", ".cuh", ".in", ".c"), "//"),
    **dict.fromkeys((".toml", ".sh", ".sbatch", ".yml", ""), "#"),
}
DATA = ("tests/data/", "sweeps/data/", "docs/data/")
# Before it there may be comments. To parse whole files for it takes seconds.
DOCSTRING = re.compile(r'''(?:\s*#.*\n)*\s*([rR]?"""(?:\\[\s\S]|[^\\])*?""")''')
ROW = re.compile(r"^\| `([\w./-]+)` \| (.*?) \|$", re.MULTILINE)


@functools.cache
def head(path: Path) -> str:
    """The docstring of a Python file, the title of a page, or the first comment of another file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        title = re.search(r"^# (.*)$", text, re.MULTILINE)
        return f"{title[1]}." if title else ""
    if path.suffix in (".py", ".pyi"):
        found = DOCSTRING.match(text)
        return inspect.cleandoc(ast.literal_eval(found[1])) if found else ""
    mark = COMMENT.get(path.suffix, "#")
    text = re.sub(r"\A(#!.*|#pragma once|\s+)*", "", text)
    return re.sub(rf"(?m)^{mark} ?", "", re.match(rf"(?:{mark}.*\n)*", text)[0])  # type: ignore[index]


def first_sentence(text: str) -> str:
    paragraph = " ".join(text.split("\n\n")[0].split())
    found = re.match(r".*?\.(?=\s|$)", paragraph)
    return found[0] if found else paragraph


@functools.cache
def folder_lines() -> dict[str, str]:
    """Lines of folders without `__init__.py`, from the tables of the developers' pages."""
    pages = sorted((ROOT / "docs" / "developers").glob("*.md"))
    rows = [row for page in pages for row in ROW.findall(page.read_text(encoding="utf-8"))]
    return {name.rstrip("/"): re.sub(r"\[(.*?)\]\(.*?\)", r"\1", line) for name, line in rows}


def is_told(path: Path) -> bool:
    """Whether a path has a line of its own: a file, but no data, and no `__init__.py`."""
    known = path.suffix in {".py", ".pyi", ".md", *COMMENT} and path.name != "__init__.py"
    return path.is_file() and known and not str(path.relative_to(ROOT)).startswith(DATA)


def package_file(path: Path) -> str:
    """Where the line of a package is, which also says how to add to its registry."""
    return "__init__.py" if (path / "__init__.py").is_file() else ""


def tree(folder: Path) -> Iterator[tuple[Path, str]]:
    """A folder and all below it, each with its line; a folder stands before its files."""
    package = folder / "__init__.py"
    told = folder_lines().get(str(folder.relative_to(ROOT)), "")
    inside = [p for p in sorted(folder.iterdir()) if not p.name.startswith((".", "_build", "__py"))]
    files = [(path, first_sentence(head(path))) for path in inside if is_told(path)]
    files = [(path, line) for path, line in files if line or path.suffix != ".md"]
    line = first_sentence(head(package)) if package.exists() else told
    if line or files:  # else what something wrote there
        yield folder, line
    yield from files
    for path in filter(Path.is_dir, inside):
        name = str(path.relative_to(ROOT))
        if not name.startswith(DATA) or name in folder_lines():
            yield from tree(path)


def everything() -> Iterator[tuple[Path, str]]:
    for name in FOLDERS:
        yield from tree(ROOT / name)
    for name in FILES:
        yield ROOT / name, first_sentence(head(ROOT / name))


def setup(app: Any) -> dict[str, Any]:
    """Register the directive, which Sphinx has and the script does without."""
    from docutils import nodes
    from docutils.statemachine import StringList
    from sphinx.util.docutils import SphinxDirective

    class FileTree(SphinxDirective):
        """A section for each folder, with a table of its files."""

        def run(self) -> list[nodes.Node]:
            self.env.note_reread()  # it changes with files that Sphinx does not watch
            lines: list[str] = []
            for path, line in everything():
                name, line = str(path.relative_to(ROOT)), line.replace("|", r"\|")
                if path.is_dir():
                    line += " (`__init__.py`)" * bool(package_file(path))
                    lines += ["", f"## {name}", "", line, ""]
                else:
                    lines += [] if lines[-1] else ["| file | has |", "|---|---|"]
                    lines.append(f"| `{path.name}` | {line} |")
            part = nodes.container()
            self.state.nested_parse(StringList(lines, "file_tree.py"), 0, part, match_titles=True)
            return part.children

    app.add_directive("file-tree", FileTree)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


def one_line(path: Path, line: str) -> str:
    return f"{path.relative_to(ROOT)}{'/' * path.is_dir()}{package_file(path)}: {line}"


MAX_LINES = 12
# Of a word in a file's own name, in the line, in the rest of the head, in definitions, nowhere.
WORTH = 13, 10, 7, 3, 0
ENDINGS = re.compile(r"(?<=\w{3})(?:ations?|ings?|ers?|ed|es|s|e|n)$", re.IGNORECASE)
LONGEST_ENDING = 4
# Words of a question that are about nothing.
SMALL = re.compile(
    r"an?|and|at|by|do|does|for|how|i|in|is|it|of|on|or|the|to|wh(?:at|ere|ich)", re.I
)
TESTS = re.compile(r"tests/(?!reference/)")
NAMED = re.compile(r"//(.*)|\b(?:struct|class|enum) (\w+)|\b([a-z]\w+)\(")


def definitions(body: list[ast.stmt]) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    """Functions and classes, also those inside other statements; no expression holds one."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node
        for inner in ("body", "orelse", "finalbody"):
            yield from definitions(getattr(node, inner, []))
        for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            yield from definitions(part.body)


@functools.cache
def spaced(path: Path) -> str:
    return path.read_text(encoding="utf-8").replace("_", " ").lower()


@functools.cache
def defined_in(path: Path) -> str:
    """The names of a file's functions and classes with their docstrings, or its comments."""
    text = path.read_text(encoding="utf-8")
    if path.suffix in (".py", ".pyi"):
        told = [
            f"{node.name} {first_sentence(ast.get_docstring(node) or '')}"
            for node in definitions(ast.parse(text).body)
        ]
    elif path.suffix == ".md":
        told = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    elif COMMENT.get(path.suffix) == "//":
        told = [" ".join(groups) for groups in NAMED.findall(text)]
    else:
        told = re.findall(r"#(.*)", text)
    return "\n".join(told).replace("_", " ")


def texts_of(path: Path, words: dict[str, re.Pattern[str]]) -> Iterator[str]:
    """A file's head, and what it defines; to parse a file that has none of the words takes long."""
    yield head(path)
    text = spaced(path)
    if any(stem in text and word.search(text) for stem, word in words.items()):
        yield defined_in(path)


def stem_of(word: str) -> str:
    return ENDINGS.sub("", word)


def begins_a_word(word: str) -> re.Pattern[str]:
    """Finds a word without its ending: `parse` finds parsing, and `mpi` does not find compiled.

    The group is what follows: `band` also finds bandwidth, which is another word.
    """
    letters = re.escape(stem_of(word))
    return re.compile(rf"(?<![^\W_]){letters}([^\W_]*)", re.IGNORECASE)


def place_of(word: re.Pattern[str], texts: Sequence[str]) -> int:
    """The number of the first text that has a word; that of the last of `WORTH` if none has.

    A longer word that only begins with it counts as if it stood a text later.
    """
    nowhere = len(WORTH) - 1
    for place, text in enumerate(texts):
        ends = [len(found[1]) for found in word.finditer(text)]
        if ends:
            return min(place + (min(ends) > LONGEST_ENDING), nowhere)
    return nowhere


def search(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Lines of the files that have most to do with words, the best first; words that none has.

    A word may be in the line itself, in the rest of the head, or in what the file defines. Rare
    words count for more, and tests for less than what they test or compare with.
    """
    wanted = [begins_a_word(word) for word in words]
    by_stem = dict(zip((stem_of(word).lower() for word in words), wanted, strict=True))
    found: list[tuple[str, list[int]]] = []
    for path, line in everything():
        shown = one_line(path, line)
        file = path / package_file(path)
        texts = [path.name, shown, *(texts_of(file, by_stem) if file.is_file() else ())]
        found.append((shown, [place_of(word, texts) for word in wanted]))
    nowhere = len(WORTH) - 1
    having = [sum(places[i] < nowhere for _, places in found) for i in range(len(wanted))]
    rarity = [math.log(len(found) / (1 + count)) for count in having]

    def worth(shown: str, places: list[int]) -> float:
        total = sum(rarity[i] * WORTH[place] for i, place in enumerate(places))
        there = sum(place < nowhere for place in places)
        return math.sqrt(there) * total * (0.7 if TESTS.match(shown) else 1)

    best = sorted(found, key=lambda one: -worth(*one))
    in_line = sum(max(places) <= 1 for _, places in found)
    lines = [one[0] for one in best[: max(in_line, MAX_LINES)] if worth(*one) > 0]
    return lines, [word for word, count in zip(words, having, strict=True) if not count]


def main(arguments: Sequence[str]) -> int:
    """Print the lines of the whole tree, or those that a search for words finds; exit code."""
    words = re.findall(r"\w+", " ".join(arguments))  # `30-run` is found by `30 run`
    words = [word for word in words if not SMALL.fullmatch(word)] or words
    if not words:
        print("\n".join(one_line(path, line) for path, line in everything()))
        return 0
    found, unknown = search(words)
    if unknown:
        print(
            f"no head, name or first sentence has: {' '.join(unknown)}; try grep", file=sys.stderr
        )
    print("\n".join(found), end="\n" if found else "")
    return 0 if found else 1


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # of `| head` and the like
    sys.exit(main(sys.argv[1:]))
