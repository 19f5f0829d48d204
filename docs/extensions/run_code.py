"""Sphinx directive `run`: code of a page runs when the page is built, its output follows.

    ```{run} python
    1 + 1
    ```

    ```{run} sh
    :picture: slowdown.png
    :caption: Slowdown against ranks.
    jitterfly slowdown --noise node.noise --ranks 64 --picture slowdown.png
    ```

    ```{run} python
    :hide-code:
    :markdown:
    print("The *output* is part of the page.")
    ```

    ```{run} toml
    :file: mine.toml
    name = "mine"
    ```

A block with `file` is written there in place of that, such as a script; so is any other language.

All blocks of a page run in one folder, which is empty at the first of them, and the Python blocks
share their names. The value of an expression at the end of a Python block is printed. A block that
fails ends the build. In commands, `jitterfly` is forked from a process that has imported it.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import os
import re
import shutil
import subprocess
import sys
import traceback
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import forked_commands
from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

LONGEST = 240  # seconds that a command may take


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


class Page:
    """The folder in which the blocks of a page run, and the names that its Python blocks share."""

    def __init__(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "__main__"}

    def python(self, code: str, where: str) -> str:
        """Run a block, and return what it printed and the value of its last expression."""
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

    def sh(self, code: str, exit_code: int) -> str:
        """Run commands, and return what they wrote on standard output."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
        _, settings = _forked()
        result = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", forked_commands.FUNCTION + code],
            cwd=self.folder,
            env={**os.environ, **settings, "PATH": path, "COLUMNS": "96"},
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


class Run(SphinxDirective):
    """A block of code that runs, then what it printed, then its picture."""

    has_content = True
    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {
        "picture": directives.unchanged,  # a file that the block writes
        "alt": directives.unchanged,
        "caption": directives.unchanged,
        "width": directives.unchanged,
        "hide-code": directives.flag,
        "hide-output": directives.flag,
        "markdown": directives.flag,  # the output is part of the page, not a block of text
        "lines": directives.positive_int,  # of the output that are shown
        "exit-code": directives.nonnegative_int,  # that commands are to end with
        "setup": directives.unchanged,  # files of the repository to copy in first
        "file": directives.unchanged,  # where a block is written that is not run
    }

    def run(self) -> list[nodes.Node]:
        language = self.arguments[0]
        code = "\n".join(self.content)
        page = self._page()
        for name in self.options.get("setup", "").split():
            source = Path(self.env.srcdir).parent / name
            shutil.copy(source, page.folder / source.name)
        where = f"{self.env.docname}:{self.lineno}"
        try:
            if "file" in self.options:
                output = ""
                (page.folder / self.options["file"]).write_text(code + "\n", encoding="utf-8")
            elif language == "python":
                output = page.python(code, where)
            elif language == "sh":
                output = page.sh(code, self.options.get("exit-code", 0))
            else:
                raise self.error(f"{language} is not run: `file` must say where it is written")
        except Exception as problem:
            told = "".join(traceback.format_exception_only(problem))
            raise ExtensionError(f"{where}: a block fails\n{code}\n{told}") from problem
        made: list[nodes.Node] = []
        if "file" in self.options and "hide-code" not in self.options:
            made.append(nodes.paragraph("", "", nodes.literal("", self.options["file"])))
        if "hide-code" not in self.options:
            made.append(nodes.literal_block(code, code, language=language))
        if "markdown" in self.options:
            part = nodes.container()
            self.state.nested_parse(StringList(output.splitlines(), where), self.lineno, part)
            made += part.children
        elif output.strip() and "hide-output" not in self.options:
            text = self._shortened(output.rstrip())
            made.append(nodes.literal_block(text, text, language="text", classes=["output"]))
        if "picture" in self.options:
            made.append(self._figure(page.folder / self.options["picture"]))
        return made

    def _page(self) -> Page:
        pages = self.env.temp_data.setdefault("run_code_pages", {})
        name = self.env.docname
        if name not in pages:
            pages[name] = Page(Path(self.env.doctreedir).parent / "run" / name)
        return pages[name]

    def _shortened(self, text: str) -> str:
        lines = [line.rstrip() for line in text.splitlines()]
        most = self.options.get("lines", len(lines))
        return "\n".join(lines[:most] + (["..."] if len(lines) > most else []))

    def _figure(self, file: Path) -> nodes.Node:
        if not file.exists():
            raise ExtensionError(f"{self.env.docname}:{self.lineno}: no picture {file.name}")
        here = Path(self.env.doc2path(self.env.docname)).parent
        caption = self.options.get("caption", "")
        image = nodes.image(uri=os.path.relpath(file, here), alt=self.options.get("alt", caption))
        if "width" in self.options:
            image["width"] = self.options["width"]
        figure = nodes.figure("", image)
        if caption:
            text = re.sub(r"`([^`]*)`", r"\1", caption)
            figure += nodes.caption(caption, text)
        return figure


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("run", Run)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}
