"""Script that runs the code of the pages, and writes what it prints and draws into the pages.

    python docs/refresh.py [PAGE ...]            all pages and README.md, if none is named
    python docs/refresh.py --check [PAGE ...]    changes nothing; exit code 1 if any is not current

In a page

- a block of ``sh`` or ``python`` runs. All blocks of a page run in one folder, empty at first, and
  its Python blocks share their names. The value of an expression at the end of a Python block is
  printed. In commands, `jitterfly` is forked from a process that has imported it;
- the block of ``text`` after it is what it wrote on standard output;
- a picture ``pictures/PAGE/NAME`` after it is the file NAME that it wrote;
- a block after a line that has only a name in backquotes and a colon is written to that file;
- a block of ``console`` does not run: it is meant for another machine, or takes long;
- a comment ``<!-- run python`` has code whose text the page does not show. What it prints between
  ``<!-- output -->`` and ``<!-- end of output -->`` is part of the page.

Before a block stands what is special about it, as in ``<!-- run: lines=12 | exit=2 -->``:

- ``lines``: so many lines of the output are shown, and then "...";
- ``exit``: the exit code of commands, if it is not 0;
- ``setup``: files of the repository that the block needs;
- ``varies``: a regular expression of what differs between machines or runs, and is not compared.

A picture is held by the numbers and words that it shows, not by its pixels: the file has a digest
of them, and the code must draw the same.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import dataclasses
import difflib
import functools
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
import traceback
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib

sys.path.insert(0, str(Path(__file__).parent))

import forked_commands
import picture_digest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LONGEST = 240  # seconds that a command may take
WIDTH = 96  # of the terminal that a page shows
# Width in pixels and colours of a picture: the first with which it is small.
SIZES = ((1200, 64), (1000, 64), (900, 64), (800, 64), (800, 32), (800, 16))
SMALL = 60_000  # bytes

FENCE = re.compile(r"^(`{3,})(\w*)$")
SPECIAL = re.compile(r"^<!-- run: (.*) -->$")
NAMED = re.compile(r"^`([\w./-]+)`:$")
HIDDEN = "<!-- run python"
OUTPUT, END = "<!-- output -->", "<!-- end of output -->"
PICTURE = re.compile(r"^!\[.*\]\((\S+)\)$")
OPTIONS = ("lines", "exit", "setup", "varies")


@dataclasses.dataclass
class Block:
    """A block of code of a page, and where its output stands: lines `begin` to `end`."""

    line: int
    language: str
    code: str
    file: str | None = None
    options: dict[str, str] = dataclasses.field(default_factory=dict)
    hidden: bool = False
    begin: int = 0
    end: int = 0
    output: str | None = None
    pictures: list[str] = dataclasses.field(default_factory=list)

    @property
    def runs(self) -> bool:
        """Whether the code is executed."""
        return self.file is None and self.language in ("sh", "python")


def _options(text: str, line: int) -> dict[str, str]:
    found = dict(part.strip().split("=", 1) for part in text.split(" | "))
    if unknown := found.keys() - set(OPTIONS):
        raise ValueError(f"line {line}: no option {', '.join(sorted(unknown))}")
    return found


def blocks(lines: list[str]) -> list[Block]:
    """The blocks of code of a page, in order, without those that are output."""
    found = []
    at = 0
    while at < len(lines):
        fence = FENCE.match(lines[at])
        if lines[at] == HIDDEN:
            end = lines.index("-->", at)
            block = Block(at + 1, "python", "\n".join(lines[at + 1 : end]), hidden=True)
            if special := SPECIAL.match(lines[at - 1]):
                block.options = _options(special[1], at)
        elif fence:
            end = lines.index(fence[1], at + 1)
            block = Block(at + 1, fence[2], "\n".join(lines[at + 1 : end]))
            before = at - 1
            if before >= 0 and (special := SPECIAL.match(lines[before])):
                block.options = _options(special[1], before + 1)
                before -= 1
            while before >= 0 and not lines[before]:
                before -= 1
            if before >= 0 and (named := NAMED.match(lines[before])):
                block.file = named[1]
        elif lines[at].startswith("```"):  # a directive of the pages
            at = lines.index("```", at + 1) + 1
            continue
        else:
            at += 1
            continue
        found.append(block)
        at = _find_output(lines, end + 1, block)
    return found


def _find_output(lines: list[str], at: int, block: Block) -> int:
    """Note where the output of a block stands, and its pictures; return the line after them."""
    block.begin = block.end = at
    after = _next(lines, at)
    if block.file is None and after < len(lines):
        fence = FENCE.match(lines[after])
        if fence and fence[2] == "text" and not block.hidden:
            block.end = lines.index(fence[1], after + 1) + 1
            block.output = "\n".join(lines[after + 1 : block.end - 1])
        elif block.hidden and lines[after] == OUTPUT:
            block.end = lines.index(END, after) + 1
            block.output = "\n".join(lines[after + 1 : block.end - 1]).strip("\n")
    at = block.end
    while (after := _next(lines, at)) < len(lines) and (picture := PICTURE.match(lines[after])):
        block.pictures.append(picture[1])
        at = after + 1
    return at


def _next(lines: list[str], at: int) -> int:
    while at < len(lines) and not lines[at]:
        at += 1
    return at


@functools.cache
def _forked() -> tuple[subprocess.Popen[bytes], dict[str, str]]:
    """The process that commands are forked from, while this one lives, and how they find it."""
    name = f"jitterfly-pages-{uuid.uuid4().hex}"
    server = subprocess.Popen(
        [sys.executable, forked_commands.__file__, "serve", name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert server.stdout is not None
    if not server.stdout.readline():
        raise RuntimeError("the process that commands are forked from does not start")
    return server, {
        "FORKED_NAME": name,
        "FORKED_PYTHON": sys.executable,
        "FORKED_COMMANDS": forked_commands.__file__,
    }


def _end_forked() -> None:
    if _forked.cache_info().currsize:
        with _forked()[0]:  # its input ends, and so does it
            pass
        _forked.cache_clear()


class Runner:
    """The folder in which the blocks of a page run, and the names that its Python blocks share."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "__main__"}

    def run(self, block: Block) -> str:
        """Execute a block, or write its file; return what it printed."""
        for name in block.options.get("setup", "").split():
            shutil.copy(ROOT / name, self.folder / Path(name).name)
        if block.file is not None:
            (self.folder / block.file).write_text(block.code + "\n", encoding="utf-8")
            return ""
        if block.language == "python":
            return self._python(block.code, f"line {block.line}")
        return self._sh(block.code, int(block.options.get("exit", 0)))

    def _python(self, code: str, where: str) -> str:
        tree = ast.parse(code, where)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        printed = io.StringIO()
        with (
            contextlib.redirect_stdout(printed),
            _inside(self.folder),
            warnings.catch_warnings(),
        ):
            # Those of this package; other packages warn of what will change in them.
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", UserWarning)
            warnings.simplefilter("error", RuntimeWarning)
            warnings.filterwarnings("ignore", "backend 'auto' takes the CPU", RuntimeWarning)
            # As in a file of a reader, without what this one imports from __future__.
            exec(compile(tree, where, "exec", dont_inherit=True), self.names)
            if last is not None:
                value = eval(
                    compile(ast.Expression(last.value), where, "eval", dont_inherit=True),
                    self.names,
                )
                if value is not None:
                    print(value if isinstance(value, str) else repr(value))
        return printed.getvalue()

    def _sh(self, code: str, exit_code: int) -> str:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
        settings = _forked()[1] if "jitterfly" in code else {}
        result = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", forked_commands.FUNCTION + code],
            cwd=self.folder,
            env={
                **os.environ,
                **settings,
                "PATH": path,
                "COLUMNS": str(WIDTH),
                "MPLBACKEND": "Agg",
            },
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        if result.returncode != exit_code:
            raise RuntimeError(f"exit code {result.returncode}\n{result.stdout}{result.stderr}")
        return result.stdout


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """The folder as the current one (`contextlib.chdir` needs Python 3.11)."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _shown(output: str, options: dict[str, str]) -> str:
    """What a page shows of an output."""
    lines = [part for line in output.strip("\n").splitlines() for part in _broken(line.rstrip())]
    most = int(options.get("lines", len(lines)))
    return "\n".join(lines[:most] + (["..."] if len(lines) > most else []))


def _broken(line: str) -> list[str]:
    """Break a line of words as a terminal does; rows of tables stay whole."""
    if len(line) <= WIDTH or line.startswith("|") or re.search(r"\S {2,}\S", line):
        return [line]
    return textwrap.wrap(line, WIDTH, break_long_words=False, break_on_hyphens=False)


def _same(one: str | None, other: str | None, varies: str | None) -> bool:
    """Whether two outputs are equal but for what varies."""
    if one is None or other is None or varies is None:
        return one == other
    return re.sub(varies, "", one) == re.sub(varies, "", other)


def _written(output: str, hidden: bool) -> list[str]:
    """The lines of a page that hold an output."""
    if hidden:
        return ["", OUTPUT, "", *output.splitlines(), "", END]
    ticks = "`" * max(3, *(len(run) + 1 for run in re.findall("`{3,}", output)), 0)
    return ["", f"{ticks}text", *output.splitlines(), ticks]


def _digest(picture: Path | io.BytesIO) -> str | None:
    from PIL import Image

    if isinstance(picture, Path) and not picture.exists():
        return None
    with Image.open(picture) as image:
        return image.info.get(picture_digest.DIGEST)


def _small(picture: Path, target: Path) -> None:
    """Write a picture with few colours, and with its digest."""
    from PIL import Image, PngImagePlugin

    with Image.open(picture) as image:
        info = PngImagePlugin.PngInfo()
        info.add_text(picture_digest.DIGEST, image.info[picture_digest.DIGEST])
        full = image.convert("RGB")
    target.parent.mkdir(parents=True, exist_ok=True)
    for width, colours in SIZES:
        full.thumbnail((width, full.height))
        # Median cut, the default, would take the few pixels of thin lines for grey.
        few = full.quantize(colours, method=Image.Quantize.MAXCOVERAGE, kmeans=3)
        few.save(target, optimize=True, pnginfo=info)
        if target.stat().st_size < SMALL:
            return
    raise ValueError(
        f"{target}: a picture of {target.stat().st_size} bytes is too large for a page"
    )


def refreshed(
    page: Path, check: bool, folder: Path, durations: bool = False
) -> tuple[str, str, list[str]]:
    """Run the blocks of a page; return its text, its current text, and what else is not current.

    Unless `check` is true, pictures are written. Output that is the same but for what varies stays.
    """
    text = page.read_text(encoding="utf-8")
    lines = text.splitlines()
    runner = Runner(folder)
    made: list[str] = []
    problems: list[str] = []
    at = 0
    for block in blocks(lines):
        if not (block.runs or block.file):
            continue
        begin = time.monotonic()
        try:
            output = _shown(runner.run(block), block.options) or None
        except Exception as problem:
            told = "".join(traceback.format_exception_only(problem))
            problems.append(f"line {block.line}: the block fails\n{block.code}\n{told}")
            output = block.output
        if durations and (took := time.monotonic() - begin) > 1:
            print(f"{took:6.1f} s {page.name}, line {block.line}", flush=True)
        if not _same(output, block.output, block.options.get("varies")):
            made += lines[at : block.begin]
            made += _written(output, block.hidden) if output else []
            at = block.end
        for link in block.pictures:
            _, inside, name = link.partition(f"pictures/{page.stem}/")
            if inside:
                problems += _picture(folder / name, page.parent / link, check)
    made += lines[at:]
    return text, "\n".join(made) + "\n", problems


def _picture(drawn: Path, kept: Path, check: bool) -> list[str]:
    if not drawn.exists():
        return [f"no block writes the picture {kept.name}"]
    if _digest(drawn) is None:
        raise ValueError(f"{drawn}: a picture that matplotlib did not draw")
    if _digest(drawn) == _digest(kept):
        return []
    if check:
        return [f"the picture {kept.name} shows other numbers or words than its block draws"]
    _small(drawn, kept)
    return []


def main(arguments: list[str]) -> int:
    """Refresh or check pages, and return the exit code."""
    parser = argparse.ArgumentParser(prog="refresh.py", description=__doc__.split("\n")[0])
    parser.add_argument("pages", nargs="*", type=Path, metavar="PAGE", help="all, if none is given")
    parser.add_argument("--check", action="store_true", help="change nothing; 1 if not current")
    parser.add_argument(
        "--durations", action="store_true", help="say how long pages and blocks take"
    )
    options = parser.parse_args(arguments)
    matplotlib.use("Agg")
    code = 0
    for page in [page.resolve() for page in options.pages] or PAGES:
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as folder, picture_digest.marked_pictures():
            text, current, problems = refreshed(
                page, options.check, Path(folder), options.durations
            )
        for problem in problems:
            print(f"{page}: {problem}")
        if text != current and options.check:
            difference = difflib.unified_diff(
                text.splitlines(), current.splitlines(), str(page), "current", lineterm="", n=2
            )
            print("\n".join(difference))
        elif text != current:
            page.write_text(current, encoding="utf-8")
            print(f"{page}: refreshed")
        code |= bool(problems) or (options.check and text != current)
        if options.durations:
            print(f"{time.monotonic() - begin:6.1f} s {page.name}")
    _end_forked()
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
