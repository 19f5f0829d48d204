"""Build of the documentation (Sphinx) without warnings; internal links; code blocks."""

import json
import os
import re
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from support.paths import ROOT

from jitterfly.cli.parser import parse
from jitterfly.syntax import HELP
from jitterfly_papers.claims import CLAIMS, OURS, VERDICTS
from jitterfly_papers.report.claims_table import markdown

PAGES = sorted((ROOT / "docs").rglob("*.md"))


def fences(page: Path) -> list[tuple[str, str]]:
    """What stands behind each fence, and the block; no directives."""
    found, info, lines = [], None, []
    for line in page.read_text(encoding="utf-8").splitlines():
        if not line.startswith("```"):
            lines.append(line)
        elif info is None:
            info, lines = line.removeprefix("```").strip(), []
        else:
            found.append((info, "\n".join(lines)))
            info = None
    assert info is None, page
    return [(info, text) for info, text in found if info[:1] != "{"]


def blocks():
    for page in [ROOT / "README.md", *PAGES]:
        for info, text in fences(page):
            yield pytest.param(info, text, id=f"{page.relative_to(ROOT)}: {text[:40]!r}")


class _Links(HTMLParser):
    """The targets of a page's links and pictures, and the names that a link can lead to."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: set[str] = set()
        self.names: set[str] = set()

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.names |= {values[key] for key in ("id", "name") if values.get(key)}
        self.targets |= {values[key] for key in ("href", "src") if values.get(key)}


def links(page: Path) -> _Links:
    parser = _Links()
    parser.feed(page.read_text(encoding="utf-8"))
    return parser


# sphinx-build. Python's searches for garbage among the nodes of all pages take three tenths of its
# time; with few of them it takes twice the memory, 450 MB.
BUILD = """
import gc, sys
from sphinx.cmd.build import main
gc.set_threshold(2_000_000, 50, 100)
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.full_scale
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_it_builds_and_its_links_lead_somewhere(tmp_path):
    for module in ("sphinx", "myst_parser", "furo", "matplotlib", "xarray"):
        pytest.importorskip(module)
    out = tmp_path / "build" / "html"
    result = subprocess.run(
        [sys.executable, "-c", BUILD, "-q", "-W", "--keep-going", ROOT / "docs", out],
        env={**os.environ, "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    pages = {page: links(page) for page in out.rglob("*.html")}
    assert len(pages) > 10
    lost = []
    for page, found in pages.items():
        for target in found.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc or not (parts.path or parts.fragment):
                continue
            file = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            named = pages[file].names if file in pages else set()
            if not file.exists() or (file in pages and parts.fragment not in {"", *named}):
                lost.append(f"{page.relative_to(out)}: {target}")
    assert not lost


@pytest.mark.parametrize(("info", "text"), list(blocks()))
def test_code_runs_or_cannot_run_here(info, text):
    """docs/refresh.py runs `sh` and `python`. `console` has commands for another machine."""
    assert info in {"", "console", "sh", "python", "toml", "text", "bibtex"}
    for words in commands(text) if info in {"", "console", "sh"} else ():
        parse(words)


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.name)
def test_rows_of_tables_are_whole(page):
    """A row that goes on in the next line ends its table, and the rest of it is text."""
    text = re.sub(r"(?ms)^(`{3,}).*?^\1$", "", page.read_text(encoding="utf-8"))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert not [row for row in rows if not row.endswith("|")]


def test_the_help_on_syntax_fits_a_terminal():
    assert max(map(len, HELP.splitlines())) < 80


def commands(text: str) -> list[list[str]]:
    """The arguments of each `jitterfly` in a block of commands."""
    text = re.sub(r"\\\n", " ", text)
    inner = re.compile(r"\$\(([^)]*)\)")  # $(command)
    lines = [*inner.sub("", text).splitlines(), *inner.findall(text)]
    calls = []
    for line in lines:
        words = shlex.split(line, comments=True)
        starts = [i for i, word in enumerate(words) if word == "jitterfly"]
        for start in starts:
            if start and words[start - 1] not in {"&&", "-m", "|"} and "=" not in words[start - 1]:
                continue  # a name of something else
            call = words[start + 1 :]
            ends = (i for i, word in enumerate(call) if re.match(r"&&|\||2?>", word))
            calls.append(call[: next(ends, None)])
    return calls


def test_the_parts_of_the_claims_are_those_that_were_run():
    """Every claim of all papers has its parts in the kept file, each with what decides it."""
    kept = json.loads((ROOT / "docs" / "data" / "parts.json").read_text(encoding="utf-8"))
    found = set()
    for section in kept["sections"].values():
        for (words,) in [commands(section["command"])]:
            parse(words)
        assert {"version", "date", "backend", "seed", "sizes"} <= set(section["run"])
        for claim in section["claims"]:
            found.add(claim["name"])
            for part in claim["parts"]:
                assert part["verdict"] in VERDICTS
                assert not (part["verdict"] == "differs" and part["whose"] == OURS)
                assert bool(part["why"]) == (part["verdict"] != "reproduced")
    assert found == set(CLAIMS)


def test_the_page_of_the_papers_counts_what_our_own_limits_decide():
    """Apart from what the papers' limits do: 'reproduced' rests on less there."""
    kept = json.loads((ROOT / "docs" / "data" / "parts.json").read_text(encoding="utf-8"))
    parts = [part for section in kept["sections"].values()
             for claim in section["claims"] for part in claim["parts"]]  # fmt: skip
    held = [part["whose"] for part in parts if part["verdict"] == "reproduced"]
    ours = held.count(OURS)
    assert 0 < ours < len(held)
    told = f"{len(held)} of {len(parts)} parts reproduced ({len(held) - ours} by the paper's own "
    assert markdown(kept).startswith(f"{told}limits, {ours} by ours), ")


WRITTEN = {"results/ms12_fig12/", "tests/gpu/results"}  # by commands
FOLDERS = ("", "python/jitterfly", "sweeps/slurm")


def test_files_that_the_pages_name_exist():
    """A name with a folder stands in the repository, or among the Python packages."""
    text = {page: page.read_text(encoding="utf-8") for page in [ROOT / "CONTRIBUTING.md", *PAGES]}
    top = {path.name for folder in FOLDERS for path in (ROOT / folder).iterdir() if path.is_dir()}
    named, lost = 0, []
    for page, content in text.items():
        for name in re.findall(r"`(\.?[a-z_]+/[\w./-]*)`", content):
            if name.split("/")[0] not in top or "NAME" in name or name in WRITTEN:
                continue
            named += 1
            if not any((ROOT / folder / name).exists() for folder in FOLDERS):
                lost.append(f"{page.relative_to(ROOT)}: {name}")
    assert named > 50
    assert not lost


def test_pages_of_reference_say_where_their_text_is():
    """They hold directives alone, which show nothing in a checkout."""
    for page in sorted((ROOT / "docs" / "reference").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        modules = re.findall(r"^\.\. public:: (\S+)$", text, re.MULTILINE)
        first, second = text.splitlines()[:2]
        if not modules:
            continue
        named = [ROOT / one for one in re.findall("`(python/[^`]+)`", first)]
        assert all(path.exists() for path in named), page
        known = [path.relative_to(ROOT / "python").with_suffix("") for path in named]
        assert [".".join(path.parts) for path in known] == modules, page
        assert f"`pydoc {modules[0]}.NAME`" in second


def test_lines_of_code_are_seen_whole():
    """A page shows 90 letters of a line of code; what is beyond has to be scrolled to."""
    long = [
        f"{page.relative_to(ROOT)}: {line}"
        for page in PAGES
        for info, block in fences(page)
        for line in block.splitlines()
        if len(line) > 90 and info != "text"
    ]
    assert not long
