"""The command `jitterfly`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ..fields import check_integer
from ..info import info_lines
from ..version import __version__
from . import trace as cli_trace

_EXAMPLES = """\
examples:
  jitterfly run sweeps/ms12_fig12.toml
  jitterfly run sweeps/cs14_fig8.toml --seed 3 --out /tmp/fig8
  jitterfly trace --ranks 16 --within all --out trace.png
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code: 0, 2 after an error (one line), 130 after Ctrl-C."""
    parser = _parser()
    chosen, rest = parser.parse_known_args(arguments)
    if rest and chosen.command != "bench":
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    chosen.rest = rest
    try:
        return chosen.run(chosen) or 0
    except KeyboardInterrupt as stop:
        print(f"jitterfly: stopped{f': {stop}' if str(stop) else ''}", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader (head, less) has seen enough
        sys.stderr.close()
        return 1
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        return _fail(what)
    except MemoryError:
        return _fail("not enough memory; fewer realizations or ranks need less")
    except ValueError as error:
        return _fail(str(error))


def _fail(message: str) -> int:
    print(f"jitterfly: error: {' '.join(message.split())}", file=sys.stderr)
    return 2


class _Parser(argparse.ArgumentParser):
    """Errors of usage look like all others: one line, exit code 2."""

    def error(self, message: str) -> None:  # type: ignore[override]
        self.exit(2, f"jitterfly: error: {message} (see {self.prog} --help)\n")


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

    run = commands.add_parser("run", help="run a study: data, table, claims, picture")
    run.add_argument("study", type=Path, metavar="STUDY.toml")
    run.add_argument("--realizations", metavar="N", help="per cell, instead of the study's budget")
    run.add_argument("--seed", metavar="N", help="instead of the study's")
    run.add_argument("--backend", choices=("auto", "cpu", "cuda"), default="auto")
    run.add_argument("--threads", metavar="N", help="of the CPU backend (default: all processors)")
    run.add_argument("--out", type=Path, metavar="DIR", help="default: results/NAME")
    run.add_argument("--full", action="store_true", help="the study's sizes for a large machine")
    run.add_argument("--force", action="store_true", help="replace another run that is in DIR")
    run.set_defaults(run=_run)

    plot = commands.add_parser("plot", help="draw the picture and print the table of a run again")
    plot.add_argument("results", type=Path, metavar="DIR", help="what `run` wrote")
    plot.add_argument("--out", type=Path, metavar="FILE", help="png, pdf or svg")
    plot.set_defaults(run=_plot)

    info = commands.add_parser("info", help="devices, build, versions")
    info.set_defaults(run=_info)

    cli_trace.add_parser(commands)

    bench = commands.add_parser("bench", help="speed of the engine", add_help=False)
    bench.set_defaults(run=_bench)
    for command in commands.choices.values():
        command.allow_abbrev = False
    return parser


def _run(chosen: argparse.Namespace) -> None:
    from ..plots import draw as plot
    from ..studies.run import run
    from ..studies.study import load_study

    study = load_study(chosen.study, full=chosen.full)
    out = chosen.out or Path("results") / (f"{study.name}_full" if study.full else study.name)
    limits = {"realizations": (1, 2**32), "seed": (0, 2**64 - 1), "threads": (1, 4096)}
    numbers = {name: _integer(getattr(chosen, name), name, *ends) for name, ends in limits.items()}
    if not plot.can_draw():
        print(f"jitterfly: no picture will be drawn: {plot.MISSING}", file=sys.stderr)
    store = run(study, out, backend=chosen.backend, force=chosen.force, **numbers)
    _print_results(store)
    names = ["summary.csv", "samples/", "meta.json", "study.toml"]
    names += [f"{study.name}.png"] if plot.can_draw() else []
    print(f"\nwritten to {out}: {', '.join(names)}")


def _plot(chosen: argparse.Namespace) -> None:
    from ..plots import draw as plot
    from ..studies.store import Store

    store = Store.open(chosen.results)
    path = plot.draw(store, chosen.out)
    _print_results(store)
    print(f"\nwritten: {path}")


def _print_results(store: object) -> None:
    from ..studies import report
    from ..studies.results import Results

    results = Results.of(store)  # type: ignore[arg-type]
    print(f"{results.study.title}\n")
    print(report.table(results))
    if results.study.claims:
        print("\nClaims, and what was found (95 % intervals in brackets):")
        print(report.claims(results))


def _info(_: argparse.Namespace) -> None:
    print("\n".join(info_lines()))


def _bench(chosen: argparse.Namespace) -> int | None:
    from .. import bench

    return bench.main(chosen.rest)


def _integer(text: str | None, name: str, low: int, high: int) -> int | None:
    if text is None:
        return None
    try:
        value: object = int(text)
    except ValueError:
        value = text
    return check_integer(value, f"--{name}", low, high)
