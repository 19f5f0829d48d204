"""Import layers: packages import downwards only, no circles; the drawing in the guide agrees.

Every import counts, also those inside functions and those for type checkers alone.
"""

import ast
import functools
import itertools
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

import jitterfly
from jitterfly.cli.parser import _parser, leaves

ROOT = Path(jitterfly.__file__).parent
# From the lowest on; what stands later may import what stands before it. The face, `jitterfly`
# itself, is above all but the command line.
ORDER = """
interrupts_while_loading version
fields extensions units resources files progress steps syntax
backends executors
optional_packages stats answer measured imbalance network hierarchy
distributions algorithms congestion
noise compiled_steps workload program case faster_algorithm unseen_noise simulate
goal_export collect question slowdown noise_limit explain schedule compare_measured predict theory
observables studies advice store sweep results replay plots report cli __main__
"""
LAYERS = ORDER.split()


def modules() -> dict[str, Path]:
    found = {}
    for file in sorted(ROOT.rglob("*.py")):
        parts = file.relative_to(ROOT.parent).with_suffix("").parts
        if "sweeps" not in parts:
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


MODULES = modules()


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """All statements, also those inside others; no expression holds one."""
    for node in body:
        yield node
        for inner in ("body", "orelse", "finalbody"):
            yield from statements(getattr(node, inner, []))
        for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            yield from statements(part.body)


def imported(name: str) -> Iterator[str]:
    """What a module imports of this package, as full names of modules; `_core` is one."""
    file = MODULES[name]
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    for node in statements(ast.parse(file.read_text()).body):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("jitterfly"))
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) + 1 - node.level]
            parts = (base if node.level else []) + (node.module.split(".") if node.module else [])
            if parts[:1] != ["jitterfly"]:
                continue
            for alias in node.names:
                full = ".".join([*parts, alias.name])
                submodule = full in MODULES or alias.name == "_core"
                yield full if submodule else ".".join(parts)


@functools.cache
def imports() -> dict[str, set[str]]:
    """What each module imports."""
    return {name: set(imported(name)) - {name} for name in MODULES}


def layer(name: str) -> str:
    return [*name.split("."), ""][1]


def circles(graph: dict[str, set[str]]) -> set[frozenset[str]]:
    """Sets of modules that all import each other, over any number of others (Tarjan 1972)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found = set()

    def visit(name: str) -> None:
        order[name] = lowest[name] = len(order)
        stack.append(name)
        for other in graph.get(name, ()):
            if other not in order:
                visit(other)
            if other in stack:
                lowest[name] = min(lowest[name], lowest[other])
        if lowest[name] == order[name]:
            at = stack.index(name)
            if len(stack) - at > 1:
                found.add(frozenset(stack[at:]))
            del stack[at:]

    for name in graph:
        if name not in order:
            visit(name)
    return found


def test_every_layer_has_its_place():
    assert len(set(LAYERS)) == len(LAYERS)
    assert {layer(name) for name in MODULES} - {""} == set(LAYERS)


def test_no_circle():
    assert circles(imports()) == set()


def test_no_arrow_upwards():
    place = {name: number for number, name in enumerate(LAYERS)} | {"": len(LAYERS) - 2.5}
    upwards = {
        (name, other)
        for name, others in imports().items()
        for other in others
        if other != "jitterfly._core" and place[layer(name)] < place[layer(other)]
    }
    assert upwards == set()


def test_the_drawing_of_the_house_shows_these_layers():
    """Every layer stands on one floor of the drawing, and imports none of a higher one."""
    pytest.importorskip("matplotlib")
    file = Path(__file__).parents[2] / "docs" / "drawings.py"
    floors = runpy.run_path(str(file))["FLOORS"]
    shown = [name for _, names in reversed(floors) for name in names.split()]
    assert sorted(shown) == sorted(LAYERS)
    heights = [[height] * len(names.split()) for height, (_, names) in enumerate(reversed(floors))]
    floor = dict(zip(shown, itertools.chain(*heights), strict=True))
    arrows = {(layer(name), layer(other)) for name, others in imports().items() for other in others}
    known = [(below, above) for below, above in arrows if {below, above} <= set(floor)]
    assert len(known) > 100
    assert [(name, other) for name, other in known if floor[name] < floor[other]] == []


def test_the_papers_are_a_package_of_their_own():
    """It imports jitterfly, which does not know of it: entry points are the only way back."""
    papers = ROOT.parent / "jitterfly_papers"
    assert len(list(papers.rglob("*.py"))) > 20
    for file in ROOT.rglob("*.py"):
        assert "jitterfly_papers" not in file.read_text(encoding="utf-8"), file


def test_the_compiled_module_is_imported_in_one_place():
    found = [name for name, others in imports().items() if "jitterfly._core" in others]
    assert found == ["jitterfly.backends"]


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, set()),
        ({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}, {frozenset("bc")}),
        ({"a": {"b", "c"}, "b": {"a"}, "c": {"a"}}, {frozenset("abc")}),
    ],
)
def test_circles_are_found(graph, expected):
    assert circles(graph) == expected


# --- options of the command line

OPTION = re.compile(r"(?<![\\w-])--[a-z]")
#: What is no option of ours: other programs' options, and style sheets.
OTHERS = {
    "backends": "(--gpus all, --nv)",
    "measured.formats.osu": ("--tasks", "--nodes[", "--n?tasks-per-node"),
    "measured.formats.other_tools": "`sysjitter --raw`",
    "measured.formats.rtla": "(without --no-header, --no-index)",
    # Of CSS; of the commands that run a study again, and that printed an answer.
    "report": ("--width", "--out", "--json"),
}


def others(module: str) -> tuple[str, ...]:
    found = OTHERS.get(module, ())
    return (found,) if isinstance(found, str) else found


def literals(file: Path) -> Iterator[str]:
    """The texts in a module, without docstrings."""
    tree = ast.parse(file.read_text())
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.value


def test_only_the_command_line_names_its_options():
    """The library names parameters, such as `out`; the commands make options of them."""
    found = set()
    for name, file in MODULES.items():
        inside = name.removeprefix("jitterfly.")
        if layer(name) == "cli" or not OPTION.search(file.read_text()):
            continue
        for text in literals(file):
            if OPTION.search(text) and not any(option in text for option in others(inside)):
                found.add((inside, text))
    assert found == set()


def test_errors_name_parameters_that_commands_make_options_of():
    """In backticks alone, a name would be no option of the command that prints the error."""
    options = {action.dest for _, one in leaves(_parser()) for action in one._actions}
    found = set()
    for name, file in MODULES.items():
        for node in ast.walk(ast.parse(file.read_text())):
            texts = ast.walk(node) if isinstance(node, ast.Raise) else ()
            for text in texts:
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    named = set(re.findall("`([a-z_]+)`", text.value)) & options
                    found |= {(name, one) for one in named}
    assert found == set()
