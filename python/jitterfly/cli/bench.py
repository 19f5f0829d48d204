"""Command `jitterfly bench`: options and output of the benchmark."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from ..bench.benchmark import report, run, to_csv
from ..bench.measure import KINDS, PROGRAMS, DisagreementError, Plan, check_ranks
from ..fields import did_you_mean, shorten, show_bound
from ..files import is_open_already
from ..syntax import is_number, read_count, read_ranks
from .options import OnceParser

_HELP = """Speed of the engine on this machine, with noise generation included, beside vectorized
NumPy that does the same work in the same run, and beside what this machine allows: instructions
that the engine executes and bytes that it must move, against what a core was measured to do.
Progress goes to standard error."""
_EXAMPLE = """\
example:
  jitterfly bench --ranks 2^12 --programs butterfly --noise periodic --no-limit --repeats 3
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark with these options and print its report.

    Returns
    -------
    int
        The exit code: 0, or 1 if NumPy's program does not give the engine's results.

    Raises
    ------
    ValueError
        An option that is unknown or out of range; the message names it.
    """
    parser = Parser(
        prog="jitterfly bench",
        description=" ".join(_HELP.split()),
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_arguments(parser)
    args = parse(parser, arguments)
    plan = plan_of(args)
    path, table = writable(args.json, "json"), writable(args.csv, "csv")
    picture = writable(args.picture, "picture")
    if picture:
        from ..plots.bench import check_format, draw

        check_format(picture)
    try:
        result = run(plan, teller(args))
    except ValueError as error:
        raise ValueError(_in_options(str(error))) from None
    except DisagreementError as error:
        print(f"jitterfly: error: {error}", file=sys.stderr)
        return 1
    print(_in_options("\n".join(report(result))))
    if path:
        write_json(path, result)
    if table:
        table.write_text(to_csv(result), encoding="utf-8")
    if picture:
        draw(result, picture)
    return 0


def _in_options(text: str) -> str:
    """Fields of a plan as options, in what the benchmark says."""
    return text.replace("without `peers`", "with --no-peers").replace("`longest`", "--longest")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `jitterfly bench`."""
    add = parser.add_argument
    add("--ranks", help="powers of two from 2^2 to 2^30: 2^12, or 2^4,2^12,2^23, or 2^4..2^24, "
        "or every fourth exponent: 2^4..2^24/4 (default: 2^4..2^20/4,2^23)")  # fmt: skip
    add("--programs", help=f"some of {','.join(PROGRAMS)} (default: all)")
    add("--noise", help=f"some of {','.join(KINDS)} (default: all)")
    add("--repeats", type=int, help="measurements of each case (default: 9)")
    add("--seconds", type=float, help="length of a measurement (default: 0.1)")
    add("--longest", type=float, help="a case of which one realization would take longer than so "
        "many seconds is left out (default: 5)")  # fmt: skip
    add("--all-threads", action="store_true", help="measure with all CPU threads too")
    add("--no-peers", action="store_true", help="leave out NumPy")
    add(
        "--no-limit",
        action="store_true",
        help="do not count instructions (step by step: minutes on a virtual machine) nor measure "
        "what a core can do",
    )
    add("--instructions", action="append", metavar="[RANKS=]N",
        help="instructions of a thread per rank-round of the conventional butterfly under periodic "
             "noise at so many ranks (2^12) on the GPU, as counted by a profiler: gives the share "
             "of the card's limit; may be repeated")  # fmt: skip
    add("-q", "--quiet", action="store_true", help="no progress; errors still")
    add("-v", "--verbose", action="store_true", help="progress also where there is no terminal")
    add("--json", metavar="FILE", help="write all measurements to FILE")
    add("--csv", metavar="FILE", help="write the table to FILE")
    add(
        "--picture",
        metavar="FILE",
        help="a roofline and the rates: .png, .pdf or .svg (needs matplotlib)",
    )


class Parser(OnceParser):
    """Raises ValueError instead of leaving the program."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def parse(parser: Parser, arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options as given; None where an option was not."""
    found, rest = parser.parse_known_args(arguments)
    if rest:
        hint = did_you_mean(rest[0], list(parser._option_string_actions))
        parser.error(f"unrecognized arguments: {' '.join(rest)}{hint}")
    return found


def plan_of(args: argparse.Namespace) -> Plan:
    """The plan that the options describe."""
    given: dict[str, Any] = {
        name: getattr(args, name)
        for name in ("repeats", "seconds", "longest")
        if getattr(args, name) is not None
    }
    if args.ranks is not None:
        given["ranks"] = tuple(ranks_of(args.ranks))
    if args.programs is not None:
        given["programs"] = tuple(args.programs.split(","))
    if args.noise is not None:
        given["noises"] = tuple(args.noise.split(","))
    given["instructions"] = dict(map(_counted, args.instructions or ()))
    return Plan(
        peers=not args.no_peers,
        limit=not args.no_limit,
        all_threads=args.all_threads,
        **given,
    )


def ranks_of(text: str) -> list[int]:
    """`2^4..2^20/4,2^23`, as numbers."""
    found = []
    for part in text.split(","):
        numbers = read_ranks(part, "ranks") if ".." in part else [_one(part)]
        found += [check_ranks(number, show_bound(number)) for number in numbers]
    return found


def _one(text: str) -> int:
    return check_ranks(read_count(text, "") if is_number(text) else text, shorten(text))


def _counted(text: str) -> tuple[int, float]:
    ranks, equals, count = text.rpartition("=")
    try:
        return (_one(ranks) if equals else 2**12), float(count)
    except ValueError as error:
        if "ranks" in str(error):
            raise
        raise ValueError(f"instructions must be N or RANKS=N, got {shorten(text)!r}") from None


def writable(name: str | None, what: str) -> Path | None:
    """The path, if a file can be written there."""
    if name is None:
        return None
    path = Path(name)
    is_file = path.is_file() or is_open_already(path) or not path.exists()
    if not is_file or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ValueError(f"{what} must name a file that can be written, got {name!r}")
    return path


def write_json(path: Path, result: dict[str, Any]) -> None:
    """Write a result to a file."""
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def teller(args: argparse.Namespace) -> Callable[[str], object]:
    """Takes lines of progress, and shows them where somebody reads them."""
    if args.quiet or not (args.verbose or sys.stderr.isatty()):
        return lambda line: None
    return partial(print, file=sys.stderr, flush=True)
