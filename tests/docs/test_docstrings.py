"""Examples of docstrings (doctest) and of README print what they say; complete lists of pages."""

import ast
import doctest
import importlib
import importlib.util
import inspect
import pkgutil
import re
from pathlib import Path

import pytest
from support.paths import ROOT

import jitterfly
from jitterfly.algorithms.candidates import COLLECTIVES, LIBRARIES, known
from jitterfly.fields import Component
from jitterfly.observables import Observable
from jitterfly.syntax import HELP

MODULES = ["jitterfly"] + [
    module.name
    for module in pkgutil.walk_packages(jitterfly.__path__, "jitterfly.")
    if not module.name.endswith(("__main__", "_core"))
]
README = ROOT / "README.md"
# A first line that begins so is a clause without a main verb ("Of a case, what ...").
CLAUSE = re.compile(
    "(Of|What|Whether|How|Why|That|Where|As|Those|Which|If|Who|Whose|When|While|Until|From|In|For|On"
    r"|By|To|With|Without|Up to|At|About|Before|Between|There)\b"
)
# What acts, or is done, in place of an order to do it ("Noise acts on ...", "Blocks go down ...").
SENTENCE = re.compile(
    r"(Noise|Blocks|Halves|A message|Every rank|The (source|vector|way of all messages)) "
    r"(acts?|sends?|go(es)?|is|are|takes?)\b"
)


def has_examples(name):
    return ">>>" in Path(importlib.util.find_spec(name).origin).read_text(encoding="utf-8")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", list(filter(has_examples, MODULES)))
def test_docstrings(name):
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


def clauses(path):
    """List the docstrings of a file that begin with a clause, with their lines."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    texts = [(node.body[0].lineno, doc) for node in nodes
             if isinstance(node, kinds) and (doc := ast.get_docstring(node))]  # fmt: skip
    return [f"{path}:{at}: {doc.splitlines()[0]}" for at, doc in texts
            if CLAUSE.match(doc) or SENTENCE.match(doc)]  # fmt: skip


def test_docstrings_begin_with_a_verb_or_a_noun():
    """The verb is in the imperative, the noun has its article: who reads it need not guess."""
    files = list((ROOT / "python").rglob("*.py"))
    assert len(files) > 100
    assert [line for path in files for line in clauses(path)] == []


def functions():
    """Give each function with a docstring: its place, its node, and the first line."""
    for path in (ROOT / "python").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and (doc := ast.get_docstring(node)):
                yield f"{path}:{node.lineno}", node, doc.splitlines()[0]


def test_what_checks_says_so():
    """A check that begins with what it returns ("An int ...") reads as if it made that."""
    verbs = re.compile("(Check|Raise|Return|Refuse|Warn|Fill|Make|Simulate)\\b")
    checks = [(at, line) for at, node, line in functions() if re.match("_?check", node.name)]
    assert len(checks) > 100
    assert [check for check in checks if not verbs.match(check[1])] == []


def test_what_returns_nothing_says_what_it_does():
    """A noun ("The x axis ...") reads as if the function made or returned it."""
    nouns = re.compile(r"(A|An|The|All|Each|Every|No|Some|Its|It|Their|One)\b")
    procedures = [
        (at, line)
        for at, node, line in functions()
        if isinstance(node.returns, ast.Constant) and node.returns.value is None
    ]
    assert len(procedures) > 300
    assert [one for one in procedures if nouns.match(one[1])] == []


def public_classes():
    for place in ("jf", "jf.imbalance", "jf.congestion", "jf.measured"):
        module = eval(place, {"jf": jitterfly})
        for name in module.__all__:
            if inspect.isclass(getattr(module, name)):
                yield f"{place}.{name}", getattr(module, name)


def test_a_class_that_is_passed_to_something_says_to_what():
    classes = dict(public_classes())
    parts = {name: one for name, one in classes.items() if issubclass(one, Component)}
    assert len(parts) > 100
    for name, one in parts.items():
        text = " ".join(inspect.getdoc(one).split())
        assert "It is " in one.goes_to
        assert one.goes_to in text, name
        assert text.count(one.goes_to) == 1, name
        if hasattr(one, "kind"):
            assert f"{name}(...)" in text, name
    others = ["jf.Axis", "jf.RealizationBudget", "jf.Target", "jf.LibraryRules", "jf.Schedule",
              "jf.measured.Detours", "jf.congestion.CongestionCase"]  # fmt: skip
    texts = [inspect.getdoc(classes[name]) for name in [*parts, *others]]
    examples = [found for text in texts for found in re.findall(r"``(jf\.[^`]*\(.*?)``", text)]
    assert all(re.search(r"``jf\.", inspect.getdoc(classes[name])) for name in others)
    assert len(examples) > 100
    for example in set(examples):
        for call in ast.walk(ast.parse(example)):
            if isinstance(call, ast.Call):  # it takes what it is said to take
                taker = eval(ast.unparse(call.func), {"jf": jitterfly})
                taken = inspect.signature(taker).parameters
                assert {keyword.arg for keyword in call.keywords} <= set(taken), example


def test_there_are_docstring_examples():
    finder = doctest.DocTestFinder()
    tests = [t for name in MODULES for t in finder.find(importlib.import_module(name))]
    assert sum(len(test.examples) for test in tests) > 50


@pytest.mark.filterwarnings("error")
def test_readme_example(tmp_path, monkeypatch, capsys):
    """It prints what stands below it. The commands run in test_console_blocks."""
    monkeypatch.chdir(tmp_path)
    text = README.read_text(encoding="utf-8")
    (found,) = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    exec(found[0], {})
    assert capsys.readouterr().out == found[1]
    assert text.count("```python") == 1


def test_readme_is_short():
    assert len(README.read_text(encoding="utf-8").split()) <= 900


def test_readme_names_files_that_exist():
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", README.read_text(encoding="utf-8"))
    assert links
    for link in links:
        assert (README.parent / link).exists(), link


def test_commands_that_record_work_on_any_machine():
    """No command names a CPU beyond the first, which a small machine lacks."""
    pages = [README, *README.parent.glob("docs/**/*.md")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    commands = re.findall(r"^(?:srun .*)?jitterfly noise record.*", text, re.MULTILINE)
    assert len(commands) > 2
    for command in commands:
        assert re.search(r"--cpu[ =](?!0\b|all\b)", command) is None, command


def test_no_hint_names_a_package_that_no_index_has():
    """Who registers such a name runs code wherever the hint is followed."""
    root = README.parent
    files = [README, *root.glob("python/**/*.py"), *root.glob("sweeps/**/*.md")]
    files += root.glob("docs/**/*.md")
    hint = re.compile(r"pip install[^\n`&]*\bjitterfly\b|jitterfly\[")
    assert hint.search("pip install 'jitterfly[data]'")
    assert hint.search("pip install --user jitterfly")
    assert not [path for path in files if hint.search(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("docs/noise.md", {*jitterfly.distributions.__all__} - {"Distribution"}),
        ("docs/noise.md", {*jitterfly.noise.__all__} - {"Noise", "UntrustedNoiseWarning"}),
        ("docs/collectives.md", set(jitterfly.Algorithm.kinds())),
        ("sweeps/README.md", set(jitterfly.Distribution.kinds())),
        ("sweeps/README.md", set(jitterfly.Noise.kinds())),
        ("sweeps/README.md", set(Observable.kinds())),
    ],
)
def test_pages_name_all_of_a_kind(page, names):
    """Who adds one finds out here where readers look for it."""
    text = (ROOT / page).read_text(encoding="utf-8")
    assert {name for name in names if f"`{name}`" not in text} == set()


def test_the_help_of_the_syntax_names_all_noise():
    words = set(re.findall(r"\w+", HELP))
    assert {kind for kind in jitterfly.Noise.kinds() if kind not in words} == set()


def test_names_of_libraries():
    """The table of docs/collectives.md says what `advise` does, and has no kind that is unknown."""
    text = (ROOT / "docs" / "collectives.md").read_text(encoding="utf-8")
    text = text.partition("## What libraries call them")[2]
    row = r"^\| `(\w+)`(?:, [\w ]+)? \| (.+) \| (.+) \| (.+) \|$"
    table = {}
    for kind, *names in re.findall(row, text, re.MULTILINE):
        table.setdefault(kind, []).append([name.replace("`", "") for name in names])
    assert set(table) < set(jitterfly.Algorithm.kinds())
    candidates = [one for collective in COLLECTIVES for one in known(collective).values()]
    called = [candidate for candidate in candidates if candidate.called]
    assert len(called) == 54
    for candidate in called:
        network = jitterfly.Hockney("1us", "1ns")
        if candidate.in_network:  # some are within nodes, some between them
            node = 8 if candidate.name == "nvls" else 4
            network = jitterfly.Hierarchy([(node, network), network])
        kind = candidate.make(8, network, 8).kind
        assert [candidate.called.get(library, "-") for library in LIBRARIES] in table[kind]
