"""Command-line parser: argparse parsers of all commands, general options, completion (Tab).

The script of `jitterfly completion`, which shtab makes of argparse's parsers, holds all commands
and options. The shell reads it once, and no Python starts when the key is pressed. (argcomplete
starts one each time, which loads NumPy to complete a word.) shtab is needed to make the script, not
to use it.
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from .. import extensions
from ..fields import did_you_mean
from ..syntax import HELP
from ..version import __version__
from . import advise, bench, case_commands, init, network, noise, output, run, slowdown, stored_runs
from .options import OnceParser

_FIRST_EXAMPLES = """\
examples:
  jitterfly slowdown --noise period=1ms,duration=25us,start=stationary --ranks 64..8192
  jitterfly init mine.toml
  jitterfly run list
  jitterfly run ms12_fig12
  jitterfly run cs14_fig8 --seed 3 --out fig8 --workers gpus
  jitterfly compare results/cs14_fig8:conventional results/cs14_fig8:redundant
  jitterfly trace --ranks 16 --copy-levels all --out trace.png
  jitterfly advise --ranks 2^4..2^12 --bytes 8,1KiB,1MiB --network L=1us,o=0.2us --out advice
How numbers, sizes, ranges and noise are written: jitterfly help syntax
"""

EXAMPLES = {
    "init": [
        "jitterfly init mine.toml --ranks 16..256 "
        "--noise period=1ms,duration=25us,start=stationary",
        "jitterfly init ring.toml --network L=1us,o=0.2us,G=0.1ns --algorithm ring_allreduce",
    ],
    "run": [
        "jitterfly run list",
        "jitterfly run redundancy --realizations 100 --out copies",
        "jitterfly run mine.toml --target 'mean of slowdown +- 5 %' --dry-run",
        "jitterfly run app.goal --noise node.noise --picture app.png",
        "jitterfly run app.goal --noise node.noise --marks tag=7 --marks-csv iterations.csv",
    ],
    "status": ["jitterfly status copies --open"],
    "plot": ["jitterfly plot copies --kind distribution --out copies.svg"],
    "report": ["jitterfly report copies --out copies.html"],
    "compare": ["jitterfly compare copies:conventional 'copies:copies inside'"],
    "merge": [
        "jitterfly run mine.toml --shard 1/2 --out parts",
        "jitterfly run mine.toml --shard 2/2 --out parts",
        "jitterfly merge parts",
    ],
    "export": ["jitterfly export copies copies.csv"],
    "info": ["jitterfly info", "jitterfly info --json"],
    "bench": ["jitterfly bench", "jitterfly bench --ranks 2^13 --seconds 0.05"],
    "trace": [
        "jitterfly trace --ranks 16 --copy-levels all --out trace.png",
        "jitterfly trace mine.toml --at ranks=16 --realization 3",
    ],
    "export-goal": ["jitterfly export-goal mine.toml --at ranks=16 --out butterfly.goal"],
    "noise import": ["jitterfly noise import selfish.out --out selfish.noise"],
    "noise infer": [
        "jitterfly noise infer times.txt --unit us --ranks 64 "
        "--algorithm recursive_doubling_allreduce --network L=1us,o=0.2us --out inferred.noise"
    ],
    "noise record": ["jitterfly noise record --seconds 1 --out here.noise"],
    "noise merge": ["jitterfly noise merge all.noise node_rank*.noise"],
    "noise show": ["jitterfly noise show node.noise --out node.png"],
    "network parameters": ["jitterfly network parameters osu_latency.txt --overhead 0.2us"],
    "network info": ["jitterfly network info --tree 144"],
    "network run": ["jitterfly network run --tree 144 --pattern bruck --ratio 0.5"],
    "slowdown": [
        "jitterfly slowdown --noise period=1ms,duration=25us,start=stationary --ranks 64,1000 "
        "--out slowdown",
        "jitterfly slowdown --noise node.noise --ranks 64..1024",
        "jitterfly slowdown --noise period=10ms,duration=max --ranks 64..4096 --at-most 1.1",
    ],
    "explain": [
        "jitterfly explain --noise node.noise --noise kind=step,delay=14us,probability=0.001 "
        "--ranks 1024 --picture causes.png",
        "jitterfly explain mine.toml --at ranks=64 --json",
        "jitterfly explain app.goal --noise node.noise --slowest 5% --path-picture path.png",
    ],
    "advise": [
        "jitterfly advise --ranks 64,1000 --bytes 8,1KiB --network L=1us,o=0.2us,G=0.1ns "
        "--noise node.noise --within 2% --seconds 5",
        "jitterfly advise --ranks 4,64 --bytes 8,1MiB --network L=1us,o=0.2us,G=0.1ns "
        "--write openmpi.rules",
        "jitterfly advise --ranks 8,64 --bytes 1KiB,16MiB --network L=5us,o=1us,G=20ps "
        "--candidates ring,nccl_tree --write nccl.csv --protocol simple",
        "jitterfly advise --candidates list",
    ],
    "compare-measured": [
        "jitterfly compare-measured times.txt --unit us --ranks 64 --noise node.noise",
        "jitterfly compare-measured osu_allreduce.txt --ranks 64 --noise node.noise",
    ],
    "predict": [
        "jitterfly predict times.txt --unit us --ranks 64 --to 1024 --base-there 12us",
        "jitterfly predict times.txt --unit us --ranks 64 --to 1024 "
        "--algorithm recursive_doubling_allreduce --out larger",
    ],
    "completion": [
        "jitterfly completion bash > ~/.local/share/bash-completion/completions/jitterfly",
        'jitterfly completion zsh > "${fpath[1]}/_jitterfly"',
        "jitterfly completion fish > ~/.config/fish/completions/jitterfly.fish",
    ],
    "help": ["jitterfly help syntax", "jitterfly help noise record"],
}
"""Of every command, at the end of its `--help`; other packages add those of theirs.

They work as they stand: `mine.toml` is what the example of `init` writes, `copies` what one of
`run` does, and other files are the reader's own. A test runs all of them.
"""

SHELLS = ("bash", "zsh", "fish")
_LINE = 96  # letters of an example
_FILES = {
    "FILE",
    "DIR",
    "FILE.toml",
    "X.noise",
    "OUT.noise",
    "QUESTION.toml",
    "CURVE",
    "TABLES",
    "TIMES",
}
_OF_COMPLETION = """\
A new shell completes commands, options, their choices and files. To try it in this one:
  source <(jitterfly completion bash)
bash needs the package bash-completion for the first way.
"""


class Formatter(argparse.HelpFormatter):
    """Text that was written in lines keeps them, other text is filled."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n" not in text:
            return super()._fill_text(text, width, indent)
        return "".join(indent + line for line in text.splitlines(keepends=True))


class _Parser(OnceParser):
    """Errors of usage look like all others: one line, exit code 2."""

    given: Sequence[str] = ()

    def format_help(self) -> str:
        """Return argparse's help, with the command's examples before what it ends with."""
        own = self.epilog
        lines = [_in_lines(example) for example in EXAMPLES.get(self.prog.partition(" ")[2], ())]
        if lines:
            title = "example" if len(lines) == 1 else "examples"
            parts = [f"{title}:\n  " + "\n  ".join(lines) + "\n", own or ""]
            self.epilog = "\n".join(part for part in parts if part)
        text = super().format_help()
        self.epilog = own
        return text

    def error(self, message: str) -> None:  # type: ignore[override]
        """Report an unknown option first: it may be why another one is missing."""
        known = self._option_string_actions
        strange = [word for word in self.given if word[:2] == "--" and len(word) > 2]
        strange = [word for word in strange if word.partition("=")[0] not in known]
        if strange and message.startswith("the following arguments are required"):
            self.given = ()
            self.unrecognized(strange[:1])
        if strange and strange[0] == self.given[0] and "invalid choice" in message:
            groups = [a for a in self._actions if isinstance(a, argparse._SubParsersAction)]
            words = ", ".join(word for group in groups for word in group.choices)
            message = f"a command must stand before {strange[0]}: {words}"
        command = self.prog.partition(" ")[2]
        if message.startswith("the following arguments are required") and command in EXAMPLES:
            message += f"; such as `{EXAMPLES[command][0]}`"
        self.exit(2, f"jitterfly: error: {' '.join(message.split())} (see {self.prog} --help)\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a word that is no choice, and name the one that was probably meant.

        argparse names it from Python 3.14 on.
        """
        if action.choices is not None and value not in action.choices:
            words = [str(choice) for choice in action.choices]
            message = f"invalid choice: {value!r}{did_you_mean(value, words)}"
            raise argparse.ArgumentError(action, f"{message}; choose from {', '.join(words)}")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse; `stranger` of the result is the parser that knew no such argument."""
        self.given = [str(word) for word in (sys.argv[1:] if args is None else args)]
        found, rest = super().parse_known_args(args, namespace)
        if rest and not hasattr(found, "stranger"):  # the innermost parser is done first
            found.stranger = self
        return found, rest

    def unrecognized(self, arguments: Sequence[str]) -> None:
        """End with an error of usage: the option that was probably meant, and what has this one."""
        word = arguments[0].partition("=")[0]
        options = list(self._option_string_actions)
        hint = did_you_mean(word, options) + _taken_by(word) if word[:1] == "-" else ""
        out = self._option_string_actions.get("--out")
        if word == "--picture" and out is not None and "picture" in (out.help or ""):
            hint = f"; the picture goes to --out {out.metavar}"
        self.error(f"unrecognized arguments: {' '.join(arguments)}{hint}")


def _in_lines(example: str) -> str:
    """A command in lines that a terminal holds, as a shell takes them; options stay whole."""
    lines = [""]
    for part in re.split(" (?=--)", example):
        if lines[-1] and len(lines[-1]) + len(part) >= _LINE:
            lines.append("    ")
        lines[-1] += part if lines[-1].isspace() or not lines[-1] else f" {part}"
    return " \\\n  ".join(lines)


def _taken_by(option: str) -> str:
    """Say which other commands have an option; "" where none has, or many have it."""
    names = [words for words, one in leaves(_parser())
             if option in one._option_string_actions]  # fmt: skip
    return f" ({option} is an option of {', '.join(names)})" if 0 < len(names) < 5 else ""


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line; `run` in the result is the function of the command.

    Raises
    ------
    SystemExit
        An error of usage (2), or --help and --version (0).
    """
    words = sys.argv[1:] if arguments is None else arguments
    parser = _parser(words[0] if words else None)
    chosen, rest = parser.parse_known_args(arguments)
    if rest:
        chosen.stranger.unrecognized(rest)
    chosen.command_line = shlex.join(["jitterfly", *words])
    return chosen


# As they are listed: questions about one collective, measurements, studies, the machine.
_COMMANDS: tuple[tuple[tuple[str, ...], Callable[[Any], None]], ...] = (
    (("slowdown",), slowdown.add_parser),
    (("explain",), case_commands.add_explain),
    (("advise",), advise.add_parser),
    (("compare-measured",), case_commands.add_compare_measured),
    (("predict",), case_commands.add_predict),
    (("trace",), case_commands.add_trace),
    (("export-goal",), case_commands.add_export_goal),
    (("noise",), noise.add_parser),
    (("network",), network.add_parser),
    (("init",), init.add_parser),
    (("run",), run.add_parser),
    (("status", "plot", "report", "compare", "merge", "export"), stored_runs.add_parsers),
    (("bench",), bench.add_parser),
)


def _parser(command: str | None = None) -> argparse.ArgumentParser:
    """Make the parser of all commands, or of the one that is given: the others take a while."""
    wanted = [add for names, add in _COMMANDS if command in names]
    if not wanted:
        added = [name for name in extensions.names(extensions.COMMANDS) if "." not in name]
        wanted = [extensions.load(extensions.COMMANDS, name) for name in added if name == command]
    parser = _Parser(
        prog="jitterfly",
        description="Butterfly and redundant allreduce under noise, as distributions.",
        epilog=_FIRST_EXAMPLES,
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"jitterfly {__version__}")
    commands = parser.add_subparsers(
        dest="command", required=True, parser_class=_Parser, title="commands", metavar="COMMAND"
    )
    if wanted:
        wanted[0](commands)
    else:
        for _, add in _COMMANDS:
            add(commands)
        extensions.add_commands(commands, added)
        _add_general(commands, parser)
    for _, one in leaves(parser):
        one.allow_abbrev = False  # no part of an option is taken for it
        options = {
            action.dest: next((name for name in names if name[:2] == "--"), names[0])
            for action in one._actions
            if (names := action.option_strings)
        }
        one.set_defaults(options=options)
        output.add_levels(one)
        one.formatter_class = Formatter
    return parser


def _add_general(commands: Any, parser: argparse.ArgumentParser) -> None:
    """Commands about the machine, the program, and all other commands."""
    info = commands.add_parser("info", help="devices, build, versions")
    output.add_json(info)
    info.set_defaults(run=_info)
    help_ = commands.add_parser(
        "help", help="of a command; `help syntax`: how numbers, sizes, ranges and noise are written"
    )
    help_.add_argument("topic", nargs="*", metavar="COMMAND|syntax")
    help_.set_defaults(run=_help, parser=parser)
    completion = commands.add_parser(
        "completion",
        help="a script that lets bash, zsh or fish complete commands and options",
        description="Print a script for a shell. It needs the package shtab: pip install shtab",
        epilog=_OF_COMPLETION,
    )
    completion.add_argument("shell", choices=SHELLS)
    completion.set_defaults(run=lambda chosen: print(script(parser, chosen.shell)))


def _help(chosen: argparse.Namespace) -> None:
    if chosen.topic == ["syntax"]:
        print(HELP, end="")
        return
    try:
        chosen.parser.parse_args([*chosen.topic, "--help"])
    except SystemExit as stop:
        if stop.code:
            raise


def _info(chosen: argparse.Namespace) -> None:
    from ..backends import info, info_lines

    if chosen.json:
        output.print_json("info", **info())
        return
    print("\n".join(info_lines()))


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
