"""`jitterfly bench`: how fast the engine is, beside other programs that do the same work.

Everything is measured in one run and in turn, so ratios mean more than the figures themselves.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NoReturn

from .. import _core
from ..fields import check_integer, check_power_of_two, shorten
from ..info import processors
from ..memory import available_bytes, check_memory
from . import measure as bm
from . import sources as bs
from .machine import machine
from .peers import BYTES_PER_RANK
from .summary import GOAL_RANKS, core_share, goal, gpu_limit, ratios, report

_HELP = """Speed of the engine with noise generation included, beside other programs that do the
same work in the same run: vectorized NumPy and an event-driven simulator in C++."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `jitterfly bench`."""
    add = parser.add_argument
    add("--ranks", default="2^12", help="a power of two, from 2^2 to 2^30 (default: 2^12)")
    add("--repeats", type=int, default=7, help="measurements of each program (default: 7)")
    add("--seconds", type=float, default=0.2, help="length of a measurement (default: 0.2)")
    add("--no-peers", action="store_true", help="leave out NumPy and the event-driven simulator")
    add(
        "--no-programs",
        action="store_true",
        help="conventional butterfly under periodic noise only (and no other kinds of noise)",
    )
    add("--no-sources", action="store_true", help="leave out the kinds of noise")
    add("--instructions", type=float, metavar="N",
        help="instructions of a thread per rank-round of that case on the GPU, as counted by a "
             "profiler: gives the share of the card's instruction limit")  # fmt: skip
    add("--json", metavar="FILE", help="write all measurements to FILE")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark with these options and print its report.

    Returns
    -------
    int
        The exit code: 0, or 1 if a peer does not give the engine's results.

    Raises
    ------
    ValueError
        An option that is unknown or out of range; the message names it.
    """
    parser = _Parser(prog="jitterfly bench", description=_HELP, allow_abbrev=False)
    add_arguments(parser)
    args = parser.parse_args(arguments)
    path = _writable(args.json)
    try:
        result = run(_ranks(args.ranks), args.repeats, args.seconds, peers=not args.no_peers,
                     others=not args.no_programs, instructions=args.instructions,
                     sources=not (args.no_sources or args.no_programs),
                     tell=_tell if sys.stderr.isatty() else None)  # fmt: skip
    except bm.DisagreementError as error:
        print(f"jitterfly: error: {error}", file=sys.stderr)
        return 1
    print(report(result))
    if path:
        path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def run(
    ranks: int = GOAL_RANKS,
    repeats: int = 7,
    seconds: float = 0.2,
    *,
    peers: bool = True,
    others: bool = True,
    sources: bool = True,
    instructions: float | None = None,
    tell: Callable[[str], object] | None = None,
) -> dict[str, Any]:
    """Measure, and return everything as plain values (tests/bench/README.md says what is what).

    Parameters
    ----------
    ranks : int
        A power of two, from 4 to 2^30.
    repeats : int
        Measurements of each contestant, from 1 to 10,000.
    seconds : float
        About how long one measurement takes, above 0 to 600.
    peers, others : bool
        Whether to measure the other programs, and the engine's other programs of steps.
    sources : bool
        Whether to measure what each kind of noise costs; half as long.
    instructions : float, optional
        Instructions of a GPU thread per rank-round, counted by a profiler; above 0.
    tell : callable, optional
        Called with a line of text now and then: how far it is.

    Raises
    ------
    ValueError
        An argument out of range, or not enough memory for the peers.
    DisagreementError
        A peer does not give the engine's results. A `RuntimeError`.
    """
    ranks = _check_ranks(ranks)
    check_integer(repeats, "repeats", 1, 10_000)
    if not 0 < seconds <= 600:
        raise ValueError(f"seconds must be a number above 0 to 600, got {seconds}")
    if instructions is not None and not 0 < instructions < 1e9:
        raise ValueError(f"instructions must be a number above 0 to 1e9, got {instructions}")
    case = bm.programs(ranks, bm.NOISES["periodic"])["butterfly"]
    ways: list[tuple[str, str, int | None]] = [("jitterfly, cpu", "cpu", 1)]
    ways += [("jitterfly, cpu", "cpu", processors())] if processors() > 1 else []
    ways += [("jitterfly, cuda", "cuda", None)] if bm.has_cuda() else []
    checked = 0
    if peers:
        check_memory(ranks * BYTES_PER_RANK, "the other programs (--no-peers leaves them out)",
                     available_bytes())  # fmt: skip
        checked = 8 if ranks <= 2**16 else 1
        bm.check_peers(case, checked)
    contest = [bm.engine(n, "butterfly", "periodic", case, b, t) for n, b, t in ways]
    contest += bm.peers(case) if peers else []
    bm.measure(contest, repeats, seconds, "butterfly, periodic noise", tell)
    more = [
        bm.engine(name, program, label, other, backend, threads)
        for name, backend, threads in (ways if others else [])
        if threads in (1, None)
        for label, noise in bm.NOISES.items()
        for program, other in bm.programs(ranks, noise).items()
        if (program, label) != ("butterfly", "periodic")
    ]
    bm.measure(more, repeats, seconds, "other programs and noise", tell)
    kinds = [
        contestant
        for name, backend, threads in (ways if sources else [])
        if threads in (1, None)
        for contestant in bs.contestants(ranks, name, backend, threads)
    ]
    bm.measure(kinds, repeats, seconds / 2, "kinds of noise", tell)
    rows = bs.compared(kinds)
    devices = _core.devices() if bm.has_cuda() else []
    return {
        "format": 1,
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "machine": machine(),
        "ranks": ranks,
        "repeats": repeats,
        "realizations_checked": checked,
        "rows": [contestant.row() for contestant in contest + more],
        "sources": rows,
        "source_limit": bs.limit(rows, ranks == GOAL_RANKS),
        "ratios": {c.label: ratios(contest[0], c) for c in contest[1:]},
        "core_share": core_share(contest[0]),
        "goal": goal(contest[0], ranks),
        "gpu_limit": gpu_limit(contest, devices, instructions),
    }


def _check_ranks(value: Any, shown: str | None = None) -> int:
    try:
        if check_power_of_two(value, "ranks", 2**30) >= 4:
            return int(value)
    except ValueError:
        pass
    raise ValueError(
        "ranks must be a power of two from 4 to 2^30 (4096 or 2^12) for a benchmark, "
        f"got {shown or shorten(value)}"
    )


def _ranks(text: str) -> int:
    """`4096` or `2^12`."""
    base, _, power = text.partition("^")
    value: Any = int(text) if text.isdecimal() and len(text) < 20 else text
    if base == "2" and power.isdecimal() and len(power) < 3:
        value = 2 ** int(power)
    return _check_ranks(value, shorten(text))


def _writable(name: str | None) -> Path | None:
    if name is None:
        return None
    path = Path(name)
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ValueError(f"json must name a file that can be written, got {name!r}")
    return path
