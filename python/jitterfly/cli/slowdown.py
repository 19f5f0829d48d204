"""The command `jitterfly slowdown`: how much a noise slows a collective down."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from ..fields import MOST_REALIZATIONS, MOST_SEED, MOST_THREADS
from .options import add_backend, integer, noises, pairs, size
from .output import add_json, print_json, progress_stream

EPILOG = """\
examples:
  jitterfly slowdown --noise node.noise --ranks 64..8192
  jitterfly slowdown --noise period=1ms,duration=25us --ranks 64,1000 --network L=1us,o=0.1us \\
      --out slowdown
--noise is a noise file (`jitterfly noise record`), which each rank replays from a place of its own,
or K=V,... such as kind=periodic,period=1ms,duration=10us; several add up.
"""
_QUIET = 2.0  # seconds without a word where no terminal is watched


def add_parser(commands: Any) -> None:
    """Add the command to argparse's."""
    parser = commands.add_parser(
        "slowdown",
        help="how much a noise slows a collective down, over numbers of ranks",
        description="One table: ranks, completion without noise, its mean, median and p99 with "
        "noise, and the slowdown.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--noise", metavar="FILE|K=V,...", action="append", required=True,
        help="may be given several times")  # fmt: skip
    add("--ranks", metavar="N,...", required=True, help="numbers or ranges of powers of two")
    add("--network", metavar="K=V,...", help="kind=loggops (default) or hockney, and its fields; "
        "without it L=1us,o=200ns,G=0.1ns")  # fmt: skip
    add("--algorithm", metavar="NAME", default="butterfly", help="such as ring_allreduce or "
        "dissemination_barrier (default butterfly, an allreduce)")  # fmt: skip
    add("--bytes", metavar="N", default="8", help="message size (default 8)")
    add("--cycles", metavar="N", default="1", help="collectives in a row (default 1)")
    add("--work", metavar="TIME", default="0", help="CPU time of a compute phase before each")
    add("--realizations", metavar="N", help="for each number of ranks (default 2,000)")
    add("--seed", metavar="N", default="0", help="default 0")
    add_backend(parser)
    add("--threads", metavar="N", help="of the CPU backend (default: all)")
    add("--out", type=Path, metavar="DIR", help="table (CSV) and picture go there")
    add("--picture", type=Path, metavar="FILE", help="the picture alone: .png, .pdf or .svg")
    add_json(parser)
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> None:
    from ..algorithms import Algorithm
    from ..case import MOST_CYCLES
    from ..network import Network
    from ..noise import Noise
    from ..plots import draw
    from ..slowdown import USUAL_NETWORK, USUAL_REALIZATIONS, in_words, slowdown

    network: Network = USUAL_NETWORK
    if chosen.network is not None:
        network = Network.from_dict(
            {"kind": "loggops"} | pairs(chosen.network, "network"), "--network"
        )
    if chosen.picture is not None:
        draw.check_path(chosen.picture)  # before the work, not after
    if chosen.out is not None:
        chosen.out.mkdir(parents=True, exist_ok=True)
        if not draw.can_draw():
            print(f"jitterfly: no picture will be drawn: {draw.MISSING}", file=sys.stderr)
    given = "" if chosen.network is not None else " (none was given with --network)"
    show = _Line(f"network: {in_words(network)}{given}")
    try:
        found = slowdown(
            [Noise.from_dict(one, "--noise") for one in noises(chosen.noise)],
            chosen.ranks,
            network=network,
            algorithm=Algorithm.from_dict({"kind": chosen.algorithm}, "--algorithm"),
            message_bytes=size(chosen.bytes, "bytes"),
            cycles=integer(chosen.cycles, "cycles", 1, MOST_CYCLES) or 1,
            work=chosen.work,
            realizations=integer(chosen.realizations, "realizations", 2, MOST_REALIZATIONS)
            or USUAL_REALIZATIONS,
            seed=integer(chosen.seed, "seed", 0, MOST_SEED) or 0,
            backend=chosen.backend,
            threads=integer(chosen.threads, "threads", 1, MOST_THREADS),
            progress=show,
        )
    finally:
        show.end()
    if chosen.json:
        written = _write(found, chosen)
        print_json(
            "slowdown",
            noise=[one.to_dict() for one in found.case.noise],
            network=found.case.network.to_dict(),
            algorithm=found.case.algorithm.to_dict(),
            message_bytes=found.case.message_bytes,
            cycles=found.case.cycles,
            work=found.case.work,
            seed=found.seed,
            rows=[row._asdict() for row in found.rows],
            written=written,
        )
        return
    print("\n".join([found.title(), "", *found.lines(), "", *found.notes()]), flush=True)
    written = _write(found, chosen)
    if written:
        print(f"\nwritten: {', '.join(map(str, written))}")


def _write(found: Any, chosen: argparse.Namespace) -> list[Path]:
    from ..files import write_whole
    from ..plots import draw

    written, pictures = [], [] if chosen.picture is None else [chosen.picture]
    if chosen.out is not None:
        written.append(chosen.out / "slowdown.csv")
        write_whole(written[0], found.to_csv().encode())
        pictures += [chosen.out / "slowdown.png"] if draw.can_draw() else []
    for path in pictures:
        found.plot(path)
    return written + pictures


class _Line:
    """The network, and which number of ranks is simulated: a line that changes, or one at times."""

    def __init__(self, network: str) -> None:
        self.network = network
        self.stream = progress_stream()
        self.terminal = self.stream.isatty()
        self.last = time.monotonic()

    def __call__(self, done: int, count: int, ranks: int) -> None:
        if done == 0:
            print(self.network, file=self.stream, flush=True)
        text = f"{done} of {count} done, simulating {ranks:,} ranks"
        if self.terminal:
            print(f"\r\033[K{text}", end="", file=self.stream, flush=True)
        elif time.monotonic() - self.last > _QUIET:
            self.last = time.monotonic()
            print(text, file=self.stream, flush=True)

    def end(self) -> None:
        """Take the line away."""
        if self.terminal:
            print("\r\033[K", end="", file=self.stream, flush=True)
