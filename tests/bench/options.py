"""Options of the benchmark, as a plan; files that it writes, and lines of progress."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from jitterfly.cli.options import OnceParser
from jitterfly.fields import did_you_mean, shorten, show_bound
from jitterfly.files import is_open_already
from jitterfly.syntax import is_number, read_count, read_ranks

from .measure import KINDS, PROGRAMS, Plan, check_ranks


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of what is measured, and of files."""
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
    add("--no-peers", action="store_true", help="leave out NumPy and the C++ peer")
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
