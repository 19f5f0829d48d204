"""What `jitterfly bench` is asked to measure, and its options."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from ..fields import did_you_mean, shorten, show_bound
from ..files import is_open_already
from ..syntax import is_number, read_count, read_ranks
from .plan import KINDS, PROGRAMS, Plan, check_ranks

_HELP = """Speed of the engine with noise generation included, beside other programs that do the
same work in the same run (vectorized NumPy, an event-driven simulator in C++, LogGOPSim), and
beside what this machine allows: instructions that the engine executes and bytes that it must move,
against what a core was measured to do. Progress goes to standard error."""


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
    add(
        "--no-peers",
        action="store_true",
        help="leave out NumPy, the event-driven simulator and the walk of a network",
    )
    add("--no-sources", action="store_true", help="leave out the cost of each kind of noise")
    add("--no-collectives", action="store_true", help="leave out the cost of each collective")
    add(
        "--no-limit",
        action="store_true",
        help="do not count instructions (step by step: minutes on a virtual machine) nor measure "
        "what a core can do",
    )
    add("--loggopsim", metavar="PATH",
        help="the LogGOPSim binary, with txt2bin in the same directory")  # fmt: skip
    add("--instructions", action="append", metavar="[RANKS=]N",
        help="instructions of a thread per rank-round of the conventional butterfly under periodic "
             "noise at so many ranks (2^12) on the GPU, as counted by a profiler: gives the share "
             "of the card's limit; may be repeated")  # fmt: skip
    add("-q", "--quiet", action="store_true", help="no progress; errors still")
    add("-v", "--verbose", action="store_true", help="progress also where there is no terminal")
    add("--json", metavar="FILE", help="write all measurements to FILE")
    add("--picture", metavar="FILE", help="draw a roofline and the rates (needs matplotlib)")
    add("--compare", nargs="+", metavar="FILE",
        help="measure the cases of a stored result again, or take them from a second file, and "
             "report what became slower beyond noise: exit status 1 if anything did")  # fmt: skip
    add("--margin", type=float,
        help="with --compare: a change of the ratio to the reference that counts for nothing "
             "(default: 0.1)")  # fmt: skip


class Parser(argparse.ArgumentParser):
    """Raises ValueError instead of leaving the program."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options as given; None where an option was not."""
    parser = Parser(prog="jitterfly bench", description=_HELP, allow_abbrev=False)
    add_arguments(parser)
    found, rest = parser.parse_known_args(arguments)
    if rest:
        hint = did_you_mean(rest[0], list(parser._option_string_actions))
        parser.error(f"unrecognized arguments: {' '.join(rest)}{hint}")
    return found


def plan_of(args: argparse.Namespace) -> Plan:
    """The plan that the options describe."""
    given: dict[str, Any] = {
        name: getattr(args, name)
        for name in ("repeats", "seconds", "longest", "loggopsim")
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
        sources=not args.no_sources,
        collectives=not args.no_collectives,
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
