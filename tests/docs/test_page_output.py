"""Pages show what their code prints and draws, and it is what the code prints now."""

import re
import subprocess
import sys

import pytest
from support.paths import ROOT

SCRIPT = ROOT / "docs" / "refresh.py"
sys.path.insert(0, str(SCRIPT.parent))
import refresh  # noqa: E402

sys.path.remove(str(SCRIPT.parent))

PICTURES = sorted((ROOT / "docs" / "pictures").rglob("*.*"))
TEST_COMMAND = "<!-- test command -->"  # of README, which .ci/run reads; pytest prints its own
LINKS = re.compile(r"!\[([^\]]*)\]\((\S+)\)")


def check(*pages):
    """What the script says of pages, and its exit code."""
    for module in ("matplotlib", "xarray", "distributed"):
        pytest.importorskip(module)
    done = subprocess.run(
        [sys.executable, SCRIPT, "--check", *pages], capture_output=True, text=True, check=False
    )
    assert not done.stderr, done.stderr
    return done.stdout, done.returncode


@pytest.mark.full_scale
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_pages_show_what_their_code_prints():
    assert check() == ("", 0)


PAGE = """# A page

```python
import jitterfly as jf

case = jf.Case(64, network=jf.LogGOPS("1us", "200ns"), noise=[jf.PeriodicNoise("1ms", "25us")])
result = jf.simulate(case, realizations=50)
print(f"{result.samples.mean() * 1e6:.2f} µs")
_ = result.plot("completion.png")
```

![Completion](pictures/page/completion.png)

<!-- run: varies=in [0-9.]+ s -->
```sh
echo "3 cells in 0.$RANDOM s"
```
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A page with its output, and its picture."""
    pytest.importorskip("matplotlib")
    page = tmp_path_factory.mktemp("docs") / "page.md"
    page.write_text(PAGE)
    assert refresh.main([str(page)]) == 0
    return page


@pytest.mark.slow
def test_a_page_is_refreshed_once(page, capsys):
    """What it prints stands behind the code; what varies stays as it is."""
    text = page.read_text()
    assert re.search(r'png"\)\n```\n\n```text\n\d+\.\d\d µs\n```\n\n!\[Completion', text)
    assert re.search(r's"\n```\n\n```text\n3 cells in [0-9.]+ s\n```\n$', text)
    for check in ([], ["--check"]):
        assert refresh.main([*check, str(page)]) == 0
        assert page.read_text() == text
        assert capsys.readouterr().out == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (r"\n\d(\d*\.\d\d µs)", r"\n9\1", r"-9\d*\.\d\d µs\n\+\d"),  # a number of the output
        (r"\n3 cells in", "\n4 cells in", r"-4 cells in .*\n\+3 cells in"),
        ("25us", "26us", "the picture completion.png shows other numbers"),
        (r"echo", r"false; echo", "exit code 1"),
        ("realizations=50", "realizations=x", "NameError"),
        ("completion.png\"", "other.png\"", "no block writes the picture completion.png"),
    ],
)  # fmt: skip
def test_a_change_is_seen(page, capsys, old, new, told):
    text = page.read_text()
    changed, count = re.subn(old, new, text, count=1)
    assert count == 1
    page.write_text(changed)
    try:
        assert refresh.main(["--check", str(page)]) == 1
        assert page.read_text() == changed
    finally:
        page.write_text(text)
    assert re.search(told, capsys.readouterr().out)


def test_a_changed_number_of_a_real_page_is_seen(tmp_path, capsys):
    text = (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8")
    number = re.search(r"^p99 +([\d.]+)", text, re.MULTILINE)
    page = tmp_path / "statistics.md"
    page.write_text(text, encoding="utf-8")
    assert refresh.main(["--check", str(page)]) == 0
    end = number.end(1)
    changed = text[: end - 1] + str((int(text[end - 1]) + 1) % 10) + text[end:]
    page.write_text(changed, encoding="utf-8")
    assert refresh.main(["--check", str(page)]) == 1
    assert f"+{number[0]}" in capsys.readouterr().out


@pytest.mark.parametrize("page", refresh.PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_that_are_not_run_show_an_example_or_say_why_not(page):
    lines = page.read_text(encoding="utf-8").splitlines()
    for block in refresh.blocks(lines):
        if block.language in ("", "console") and not (block.output or block.pictures):
            before = lines[block.line - 2]
            assert before.startswith("<!-- no output: ") or before == TEST_COMMAND, block.code


def test_pictures_are_small_and_seen():
    """Each is on a page, with words for who does not see it."""
    shown = set()
    for page in refresh.PAGES:
        for words, link in LINKS.findall(page.read_text(encoding="utf-8")):
            assert len(words) > 10, f"{page}: {link}"
            shown.add((page.parent / link).resolve())
    assert shown.issuperset(PICTURES)
    sizes = [path.stat().st_size for path in PICTURES]
    assert len(sizes) > 20
    assert max(sizes) < 60_000
    assert sum(sizes) < 1_500_000


def test_the_gallery_has_ten_questions():
    """Each command stands on the page that it leads to, and the picture is what it draws there."""
    index = ROOT / "docs" / "index.md"
    text = index.read_text(encoding="utf-8")
    gallery = text.partition("## Ten questions")[2].partition("\n## ")[0]
    questions = re.findall(
        r"^### (.*\?)\n\n```console\n([\s\S]*?)\n```\n\n!\[.*\]\((.*)\)\n\n.*?\]\((.*?\.md)",
        gallery, re.MULTILINE,
    )  # fmt: skip
    assert len(questions) == 10
    for question, command, picture, link in questions:
        page = index.parent / link
        found = refresh.blocks(page.read_text(encoding="utf-8").splitlines())
        drawn = {(page.parent / name).resolve(): block.code for block in found
                 for name in block.pictures}  # fmt: skip
        assert command in drawn[(index.parent / picture).resolve()], question


@pytest.mark.parametrize("name", ["install.md", "commands.md"])
def test_only_the_values_of_a_machine_vary(name):
    """The names of what `info` prints are compared, and the version."""
    lines = (ROOT / "docs" / name).read_text(encoding="utf-8").splitlines()
    (block,) = [one for one in refresh.blocks(lines) if one.code == "jitterfly info"]
    shown, varies = block.output, block.options["varies"]
    other = shown.replace("processors: 2", "processors: 64").replace("build cuda: none", "build "
        "cuda: 12.8") + "\ndevice 0: NVIDIA H200, memory 139.7 GiB"  # fmt: skip
    assert other.count("64") > shown.count("64")
    assert refresh._same(other, shown, varies)
    for old, new in [
        ("processors:", "cores:"),
        ("jitterfly: 0", "jitterfly: 9"),
        ("\nbuild cuda: none", ""),
        ("build version: 0", "build version: 9"),
    ]:
        assert old in shown
        assert not refresh._same(shown.replace(old, new), shown, varies)


def test_no_output_varies_as_a_whole():
    """What is not compared is less than half of the lines that a page shows."""
    held = []
    for page in refresh.PAGES:
        for block in refresh.blocks(page.read_text(encoding="utf-8").splitlines()):
            if block.output and "varies" in block.options:
                left = re.sub(block.options["varies"], "", block.output).split("\n")
                held.append(sum(map(bool, left)) / len(block.output.split("\n")))
    assert len(held) > 3
    assert min(held) > 0.5
