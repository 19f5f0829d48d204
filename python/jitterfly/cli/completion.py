"""Command `jitterfly completion`: shell completion (Tab) for bash, zsh and fish, by shtab.

The script that shtab makes of argparse's parsers holds all commands and options. The shell reads it
once, and no Python starts when the key is pressed. (argcomplete starts one each time, which loads
NumPy to complete a word.) shtab is needed to make the script, not to use it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SHELLS = ("bash", "zsh", "fish")
_FILES = {"FILE", "DIR", "FILE.toml", "X.noise", "OUT.noise", "QUESTION.toml", "CURVE", "TABLES"}
_EPILOG = """\
A new shell completes commands, options, their choices and files. To try it in this one:
  source <(jitterfly completion bash)
bash needs the package bash-completion for the first way.
"""


def add_parser(commands: Any, parser: argparse.ArgumentParser) -> None:
    """Add the command to argparse's; `parser` is the one that holds all commands."""
    completion = commands.add_parser(
        "completion",
        help="a script that lets bash, zsh or fish complete commands and options",
        description="Print a script for a shell. It needs the package shtab: pip install shtab",
        epilog=_EPILOG,
    )
    completion.add_argument("shell", choices=SHELLS)
    completion.set_defaults(run=_run, parser=parser)


def _run(chosen: argparse.Namespace) -> None:
    print(script(chosen.parser, chosen.shell))


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """The completions of a parser for one shell of `SHELLS`.

    Raises
    ------
    ValueError
        shtab is not installed.
    """
    from ..optional_packages import package

    shtab = package("shtab")
    for _, leaf in leaves(parser):
        for action in leaf._actions:
            action.choices = action.choices or getattr(action, "words", None)
            names = {action.metavar} if isinstance(action.metavar, str) else set()
            if not action.choices and (action.type is Path or names & _FILES):
                action.complete = shtab.FILE  # type: ignore[attr-defined]
    return str(shtab.complete(parser, shell))


def leaves(
    parser: argparse.ArgumentParser, words: str = ""
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Each command that holds no others, by its words, such as "noise record"."""
    groups = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    if not groups:
        yield words, parser
    for group in groups:
        for name, command in group.choices.items():
            yield from leaves(command, f"{words} {name}".strip())
