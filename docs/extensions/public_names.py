"""Sphinx directive `public`: documents every name in `__all__` of a module (API reference).

A name that two modules offer is documented once: `jitterfly.Butterfly` stands on the page of
`jitterfly.algorithms`, and that of `jitterfly` links to it.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import types
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from jitterfly.answer import Answer

# A name stands on the page of the first of these that offers it.
MODULES = [
    f"jitterfly.{name}"
    for name in (
        "distributions", "noise", "algorithms", "stats", "congestion", "theory", "measured",
    )
]  # fmt: skip


def _page(value: Any, name: str, asked: str) -> str:
    """The module on whose page a name stands; that which is asked for if no other has it."""
    for module in MODULES:
        found = importlib.import_module(module)
        if name in found.__all__ and getattr(found, name) is value:
            return module
    return asked


def _members(value: Any) -> list[str]:
    """Methods and properties of a class that have a text; fields stand under its parameters."""
    if not inspect.isclass(value):
        return []
    kinds = (types.FunctionType, classmethod, staticmethod, property, functools.cached_property)
    # What all tables of results have stands under each of them: their base has no entry.
    owners = [one for one in value.__mro__ if one is value or issubclass(one, Answer)]
    members = {
        name: None
        for owner in owners
        for name, member in vars(owner).items()
        if not name.startswith("_") and isinstance(member, kinds) and member.__doc__
    }
    return list(members)


class Public(SphinxDirective):
    """One entry for each public name."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        module = importlib.import_module(name)
        lines = [f".. currentmodule:: {name}", ""]
        for public in sorted(module.__all__):
            value = getattr(module, public)
            if isinstance(value, types.ModuleType) or public == "__version__":
                continue
            if (page := _page(value, public, name)) != name:
                lines += ["", f"``{public}``: :py:obj:`{page}.{public}`", ""]
                continue
            kind = "autodata"
            if inspect.isclass(value):
                kind = "autoexception" if issubclass(value, BaseException) else "autoclass"
            elif callable(value):
                kind = "autofunction"
            lines += ["", f".. {kind}:: {name}.{public}"]
            if members := _members(value):
                lines.append(f"   :members: {', '.join(members)}")
            lines.append("")
        source = self.get_source_info()[0]
        container = nodes.container()
        self.state.nested_parse(StringList(lines, source), self.content_offset, container)
        return container.children


def _without_type(
    app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """Keep napoleon from taking what is before a colon in a property's text for its type.

    It does so twice, as NumPy's style and as Google's; an empty type before the text prevents it.
    """
    if what == "property" and lines:
        lines[0] = f": : {lines[0]}"


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("public", Public)
    app.setup_extension("sphinx.ext.autodoc")  # whose event it is
    app.connect("autodoc-process-docstring", _without_type, priority=400)  # before napoleon
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
