"""The commands and their options."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ..version import __version__
from . import (
    advise,
    budget,
    fit,
    goal,
    init,
    network,
    noise,
    reproduce,
    results,
    run,
    slowdown,
    theory,
    trace,
)

_EXAMPLES = """\
examples:
  jitterfly slowdown --noise period=1ms,duration=25us --ranks 64..8192
  jitterfly init mine.toml
  jitterfly run list
  jitterfly run ms12_fig12
  jitterfly run cs14_fig8 --seed 3 --out fig8 --workers gpus
  jitterfly compare results/cs14_fig8:conventional results/cs14_fig8:redundant
  jitterfly reproduce --quick
  jitterfly trace --ranks 16 --within all --out trace.png
  jitterfly advise --ranks 2^4..2^12 --bytes 8,1KiB,1MiB --network L=1us,o=0.2us --out advice
"""


class _Parser(argparse.ArgumentParser):
    """Errors of usage look like all others: one line, exit code 2."""

    def error(self, message: str) -> None:  # type: ignore[override]
        self.exit(2, f"jitterfly: error: {' '.join(message.split())} (see {self.prog} --help)\n")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line; `run` in the result is the function of the command.

    Raises:
        SystemExit: an error of usage (2), or --help and --version (0).
    """
    parser = _parser()
    chosen, rest = parser.parse_known_args(arguments)
    if rest and chosen.command != "bench":
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    chosen.rest = rest
    return chosen


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="jitterfly",
        description="Butterfly and redundant allreduce under noise, as distributions.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"jitterfly {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)
    run.add_parser(commands)
    init.add_parser(commands)
    slowdown.add_parser(commands)
    results.add_parsers(commands)
    reproduce.add_parser(commands)
    theory.add_parser(commands)
    info = commands.add_parser("info", help="devices, build, versions")
    info.set_defaults(run=_info)
    trace.add_parser(commands)
    goal.add_parser(commands)
    noise.add_parser(commands)
    network.add_parser(commands)
    fit.add_parser(commands)
    budget.add_parser(commands)
    advise.add_parser(commands)
    bench = commands.add_parser("bench", help="speed of the engine", add_help=False)
    bench.set_defaults(run=_bench)
    for command in commands.choices.values():
        command.allow_abbrev = False
    return parser


def _info(_: argparse.Namespace) -> None:
    from ..info import info_lines

    print("\n".join(info_lines()))


def _bench(chosen: argparse.Namespace) -> int | None:
    from .. import bench

    return bench.main(chosen.rest)
