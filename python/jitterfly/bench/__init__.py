"""`jitterfly bench`: how fast the engine is, beside other programs that do the same work.

Everything is measured in one run and in turn, so ratios mean more than the figures themselves.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from .. import _core
from ..fields import check_integer, check_power_of_two
from . import measure as bm
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
        help="conventional butterfly under periodic noise only",
    )
    add("--instructions", type=float, metavar="N",
        help="instructions of a thread per rank-round of that case on the GPU, as counted by a "
             "profiler: gives the share of the card's instruction limit")  # fmt: skip
    add("--json", metavar="FILE", help="write all measurements to FILE")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark with these options and print its report.

    Raises
    ------
    ValueError
        An option that is unknown or out of range; the message names it.
    RuntimeError
        A peer does not give the engine's results.
    """
    parser = _Parser(prog="jitterfly bench", description=_HELP, allow_abbrev=False)
    add_arguments(parser)
    args = parser.parse_args(arguments)
    path = _writable(args.json)
    result = run(_ranks(args.ranks), args.repeats, args.seconds, peers=not args.no_peers,
                 others=not args.no_programs, instructions=args.instructions)  # fmt: skip
    print(report(result))
    if path:
        path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


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
    instructions: float | None = None,
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
    instructions : float, optional
        Instructions of a GPU thread per rank-round, counted by a profiler; above 0.

    Raises
    ------
    ValueError
        An argument out of range.
    RuntimeError
        A peer does not give the engine's results.
    """
    if check_power_of_two(ranks, "ranks", 2**30) < 4:
        raise ValueError(f"ranks must be a power of two from 4 to 2^30, got {ranks}")
    check_integer(repeats, "repeats", 1, 10_000)
    if not 0 < seconds <= 600:
        raise ValueError(f"seconds must be a number above 0 to 600, got {seconds}")
    if instructions is not None and not 0 < instructions < 1e9:
        raise ValueError(f"instructions must be a number above 0 to 1e9, got {instructions}")
    case = bm.programs(ranks, bm.NOISES["periodic"])["butterfly"]
    ways: list[tuple[str, str, int | None]] = [("jitterfly, cpu", "cpu", 1)]
    ways += [("jitterfly, cpu", "cpu", bm.cores())] if bm.cores() > 1 else []
    ways += [("jitterfly, cuda", "cuda", None)] if bm.has_cuda() else []
    checked = 0
    if peers:
        checked = 8 if ranks <= 2**16 else 1
        if wrong := bm.disagreement(case, checked):
            raise RuntimeError(f"{wrong} does not give the engine's results at {ranks} ranks")
    contest = [bm.engine(n, "butterfly", "periodic", case, b, t) for n, b, t in ways]
    contest += bm.peers(case) if peers else []
    bm.measure(contest, repeats, seconds)
    more = [
        bm.engine(name, program, label, other, backend, threads)
        for name, backend, threads in (ways if others else [])
        if threads in (1, None)
        for label, noise in bm.NOISES.items()
        for program, other in bm.programs(ranks, noise).items()
        if (program, label) != ("butterfly", "periodic")
    ]
    bm.measure(more, repeats, seconds)
    devices = _core.devices() if bm.has_cuda() else []
    return {
        "format": 1,
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "machine": {
            "cpu": _processor(), "cores": bm.cores(), "system": platform.platform(),
            "python": platform.python_version(), "numpy": np.__version__,
            "build": _core.build_info(), "devices": devices,
            "cuda": _core.cuda_status() or "usable",
        },
        "ranks": ranks,
        "repeats": repeats,
        "realizations_checked": checked,
        "rows": [contestant.row() for contestant in contest + more],
        "ratios": {
            f"{c.name} ({c.threads or 'all'})": ratios(contest[0], c) for c in contest[1:]
        },
        "core_share": core_share(contest[0]),
        "goal": goal(contest[0], ranks),
        "gpu_limit": gpu_limit(contest, devices, instructions),
    }  # fmt: skip


def _ranks(text: str) -> int:
    """`4096` or `2^12`."""
    base, _, power = str(text).partition("^")
    if not (base == "2" and power.isdecimal() and int(power) < 64) and not str(text).isdecimal():
        raise ValueError(
            f"ranks must be a power of two from 4 to 2^30 (4096 or 2^12), got {text!r}"
        )
    return 2 ** int(power) if power else int(base)


def _writable(name: str | None) -> Path | None:
    if name is None:
        return None
    path = Path(name)
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ValueError(f"json must name a file that can be written, got {name!r}")
    return path


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
