"""Command `jitterfly bench`: speed of the engine on this machine's CPU and GPU, beside an H200.

What judges the engine itself (other programs, limits, comparison of results) is the developers'
benchmark: tests/bench in the sources.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from ..answer import aligned
from ..backends import core, gpu_devices, takes_gpu
from ..case import Case
from ..measured import host
from ..network import Hockney
from ..noise import NetworkJitter, Noise, PeriodicNoise
from ..simulate import simulate
from ..sweep.device_models import DEVICE_MODELS, RANKS
from ..units import parse_seconds
from .options import value
from .output import add_json, print_json, show_phases

_PERIODIC = PeriodicNoise(period="1ms", duration="10us")
_NOISES: dict[str, list[Noise]] = {
    "periodic": [_PERIODIC],
    "+ jitter": [_PERIODIC, NetworkJitter(period="1ms", duration="10us")],
}
_REPEATS = 5
_LONGEST = 60.0
_AT_ONCE = 2**24  # realizations, whose results are in memory
# By noise and ranks.
H200 = {
    (noise, ranks): rate
    for noise, rates in DEVICE_MODELS["h200"].butterfly.items()
    for ranks, rate in zip(RANKS, rates, strict=True)
}
H200_SOURCE = "one H200, 27 November 2026, version 0.2.0"


class _Way(NamedTuple):
    """A way to run the engine here; `threads` None is a GPU."""

    name: str
    backend: str
    threads: int | None


class _Run(NamedTuple):
    """A case that is measured again and again, with as many realizations each time."""

    way: _Way
    noise: str
    case: Case
    realizations: int

    def seconds(self) -> float:
        """The time of one measurement by the clock."""
        start = time.perf_counter()
        simulate(
            self.case, self.realizations, 7, backend=self.way.backend, threads=self.way.threads
        )
        return time.perf_counter() - start

    def rate(self) -> float:
        """Rank-rounds per second of one measurement."""
        return self.case.rank_rounds() * self.realizations / self.seconds()


def add_parser(commands: Any) -> None:
    """Add the command to argparse's."""
    parser = commands.add_parser(
        "bench",
        help="speed of the engine on this machine, beside an H200",
        description="How fast this machine evaluates the butterfly under noise: one CPU thread, "
        "all of them, and the GPU, if there is one. The generation of the noise is included. A "
        "rank-round is one exchange of one rank.",
    )
    add = parser.add_argument
    add("--ranks", metavar="N,N,...", default=",".join(map(str, RANKS)),
        help="default: 2^8,2^13,2^23")  # fmt: skip
    add("--seconds", metavar="S", default="0.2", help="length of a measurement (default: 0.2)")
    add_json(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    ranks = [value(text) for text in args.ranks.split(",")]
    seconds = parse_seconds(args.seconds, "--seconds")
    if not 0 < seconds <= _LONGEST:
        raise ValueError(f"--seconds must be above 0 and at most {_LONGEST:g}, got {args.seconds}")
    network = Hockney(alpha="1us", beta="1ns", gamma="0.1ns")  # MS12's
    cases = [
        (noise, Case(count, network=network, noise=sources))
        for noise, sources in _NOISES.items()
        for count in ranks
    ]
    with show_phases() as phases:
        rows = _measured(cases, seconds, phases)
    devices = gpu_devices()
    machine = {"cpu": host.model(), "processors": core.hardware_threads(), "devices": devices}
    if args.json:
        print_json("bench", machine=machine, stored=H200_SOURCE, rows=rows)
        return
    cards = ", ".join(device.get("name", "?") for device in devices) or "no GPU"
    print(f"{machine['cpu']}, {machine['processors']} processors; {cards}\n")
    print("\n".join(_table(rows)))
    print(
        f"\nRank-rounds per second: median of {_REPEATS} measurements, and their range. "
        f"Stored: {H200_SOURCE}."
    )


def _ways() -> list[_Way]:
    """One CPU thread, all of them, and the GPU, as far as they are there."""
    ways = [_Way("CPU, one thread", "cpu", 1)]
    threads = core.hardware_threads()
    if threads > 1:
        ways.append(_Way(f"CPU, {threads} threads", "cpu", threads))
    if takes_gpu("auto", None):
        ways.append(_Way("GPU", "cuda", None))
    return ways


def _measured(
    cases: list[tuple[str, Case]], seconds: float, progress: Callable[..., object]
) -> list[dict[str, Any]]:
    """One row for each case and way. All are measured in turn, as the machine's speed changes."""
    pairs = [(way, noise, case) for way in _ways() for noise, case in cases]
    runs = []
    for number, (way, noise, case) in enumerate(pairs):
        progress("choosing how many realizations", number, len(pairs))
        runs.append(_calibrated(_Run(way, noise, case, 1), seconds))
    rates: list[list[float]] = [[] for _ in runs]
    for repeat in range(_REPEATS):
        for number, run in enumerate(runs):
            progress("measuring", repeat * len(runs) + number, _REPEATS * len(runs))
            rates[number].append(run.rate())
    return [_row(run, found) for run, found in zip(runs, rates, strict=True)]


def _calibrated(run: _Run, seconds: float) -> _Run:
    """Return the measurement with enough realizations to take about as long as asked for."""
    while run.realizations < _AT_ONCE:
        took = run.seconds()
        if took >= seconds / 2:
            break
        factor = min(seconds / max(took, seconds / 16), 16.0)
        run = run._replace(realizations=min(math.ceil(run.realizations * factor), _AT_ONCE))
    return run


def _row(run: _Run, rates: list[float]) -> dict[str, Any]:
    """The measurements of a run as plain values, with the stored rate of the same case."""
    median = statistics.median(rates)
    return {
        "where": run.way.name,
        "backend": run.way.backend,
        "threads": run.way.threads,
        "noise": run.noise,
        "ranks": run.case.ranks,
        "realizations": run.realizations,
        "rank_rounds_per_second": {"value": median, "low": min(rates), "high": max(rates)},
        "allreduces_per_second": median / run.case.rank_rounds(),
        "stored_rank_rounds_per_second": H200.get((run.noise, run.case.ranks)),
    }


def _table(rows: list[dict[str, Any]]) -> list[str]:
    """The rows as lines of text."""
    table = [("where", "noise", "ranks", "rank-rounds/s", "range", "allreduces/s", "stored")]
    for row in rows:
        rate, stored = row["rank_rounds_per_second"], row["stored_rank_rounds_per_second"]
        table.append((
            row["where"], row["noise"], f"{row['ranks']:,}", f"{rate['value']:.3g}",
            f"{rate['low']:.3g} to {rate['high']:.3g}", f"{row['allreduces_per_second']:.3g}",
            f"{stored:.3g}" if stored else "-",
        ))  # fmt: skip
    return aligned(table, left=2)
