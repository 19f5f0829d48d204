"""Extensions: commands, kinds of figures and judges of claims that other packages add.

A package names them in its entry points, in one of the groups below. They are looked for only where
something is asked for that jitterfly itself does not have.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

COMMANDS = "jitterfly.commands"
"""A function that adds a command to argparse's subparsers, by the words of the command, joined by a
dot: ``fit``, ``network.study``."""
FIGURES = "jitterfly.figures"
"""A `results.figures.FigureKind`, by the name that a study and `plot` give it."""
JUDGES = "jitterfly.judges"
"""A module or object that judges the claims that a study names: ``check(study, stored)`` raises
ValueError for a claim that it does not know, ``judge(results)`` returns the verdicts as plain
values, ``report(results, width)`` as text."""


class BrokenExtension(ValueError):
    """A package that adds something can not be loaded."""


@cache
def _found(group: str) -> dict[str, EntryPoint]:
    return {one.name: one for one in entry_points(group=group)}


def names(group: str) -> list[str]:
    """The names that packages added to a group, sorted."""
    return sorted(_found(group))


def load(group: str, name: str) -> Any:
    """Load what a package added to a group under a name.

    Raises
    ------
    KeyError
        Nothing was added under that name.
    BrokenExtension
        The package can not be loaded.
    """
    entry = _found(group)[name]
    try:
        return entry.load()
    except Exception as error:
        package = entry.module if entry.dist is None else entry.dist.name
        raise BrokenExtension(
            f"the package {package}, which adds {name}, can not be loaded "
            f"({type(error).__name__}: {error}); install it anew, or uninstall it"
        ) from error


def add_commands(parsers: Any, added: Iterable[str]) -> None:
    """Add commands of these names to argparse's; a broken package is a warning, and no more."""
    for name in added:
        try:
            load(COMMANDS, name)(parsers)
        except BrokenExtension as error:
            warnings.warn(str(error), stacklevel=2)


def judges() -> list[Any]:
    """The judges of claims."""
    return [load(JUDGES, name) for name in names(JUDGES)]
