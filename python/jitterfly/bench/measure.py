"""Contestants of `jitterfly bench`, measured in turn so that all of them see the same machine."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from .. import _core
from ..algorithms import Butterfly
from ..case import Case
from ..network import Hockney, LogGOPS
from ..noise import NetworkJitter, Noise, PeriodicNoise
from ..program import rank_rounds
from ..simulate import noise_phases, simulate
from ..units import TICKS_PER_SECOND
from . import peers as bench_peers

SEED = 7

NOISES: dict[str, list[Noise]] = {
    "no noise": [],
    "periodic": [PeriodicNoise(period=1e-3, duration=1e-5)],
    "+ jitter": [
        PeriodicNoise(period=1e-3, duration=1e-5),
        NetworkJitter(period=1e-3, duration=1e-5),
    ],
}
"""Matsumoto & Suda 2012, Fig. 21: fresh start, D/P = 1e-2."""


def programs(ranks: int, noise: Sequence[Noise]) -> dict[str, Case]:
    """The programs measured, under a noise: networks of MS12 and of CS14, each with its own."""
    ms12 = partial(Case, ranks, network=Hockney(1e-6, 1e-9, 1e-10), noise=noise)
    loggops = LogGOPS(L=1e-6, o=1e-9, G=1e-9, gamma=1e-10)
    full = Butterfly(within="all")
    cs14 = partial(Case, ranks, algorithm=full, network=loggops, noise=noise, message_bytes=1)
    return {
        "butterfly": ms12(),
        "MS12, all T": ms12(algorithm=Butterfly(after=ranks.bit_length() - 1)),
        "CS14, full set": cs14(),
        "CS14, 10 cycles": cs14(cycles=10, work="66.6667us"),
    }


class DisagreementError(RuntimeError):
    """A peer does not do the work of the engine, so comparing their speed means nothing."""


@dataclass
class Contestant:
    """One program on one case, and its measurements.

    `run` evaluates so many realizations, drawing of the noise included.
    """

    name: str
    program: str
    noise: str
    rank_rounds: int
    run: Callable[[int], object]
    threads: int | None = 1  # None: not a matter of threads
    realizations: int = 1
    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)

    @property
    def label(self) -> str:
        """Name and threads, for people."""
        many = self.threads and self.threads > 1
        return f"{self.name}, {self.threads} thread{'s' * many}" if self.threads else self.name

    def time(self) -> tuple[float, float]:
        """Seconds that one run takes, by the clock and of all CPU cores together."""
        start, cpu = time.perf_counter(), time.process_time()
        self.run(self.realizations)
        return time.perf_counter() - start, time.process_time() - cpu

    def calibrate(self, seconds: float) -> None:
        """Choose how many realizations take about so long. The first runs also warm up."""
        took, _ = self.time()
        while took < seconds / 2:
            factor = seconds / max(took, seconds / 16)
            self.realizations = math.ceil(self.realizations * min(factor, 16.0))
            took, _ = self.time()

    def rates(self) -> list[float]:
        """Rank-rounds per second, one for each repeat."""
        return [self.rank_rounds * self.realizations / s for s in self.seconds]

    def row(self) -> dict[str, Any]:
        """The measurements as plain values."""
        rates = self.rates()
        return {
            "name": self.name,
            "program": self.program,
            "noise": self.noise,
            "threads": self.threads,
            "rank_rounds_per_realization": self.rank_rounds,
            "realizations": self.realizations,
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
            "rank_rounds_per_second": {
                "min": min(rates),
                "median": statistics.median(rates),
                "max": max(rates),
            },
        }


def engine(
    name: str, program: str, noise: str, case: Case, backend: str, threads: int | None
) -> Contestant:
    """The engine as a contestant, through the public `simulate`."""

    def run(realizations: int) -> object:
        return simulate(case, realizations, seed=SEED, backend=backend, threads=threads)

    return Contestant(name, program, noise, rank_rounds(case), run, threads)


def peers(case: Case) -> list[Contestant]:
    """NumPy and the event-driven simulator, each on one core."""
    work = bench_peers.PeerWork.from_case(case)
    batch = max(1, bench_peers.BATCH_RANKS // case.ranks)

    def contestant(name: str, complete: Callable[..., object]) -> Contestant:
        generator = np.random.Generator(np.random.Philox(SEED))

        def run(realizations: int) -> None:
            for first in range(0, realizations, batch):
                complete(work, work.draw(generator, min(batch, realizations - first)))

        return Contestant(name, "butterfly", "periodic", rank_rounds(case), run)

    return [
        contestant("NumPy, vectorized", bench_peers.vectorized),
        contestant("C++, event-driven", bench_peers.event_driven),
    ]


def check_peers(case: Case, realizations: int) -> None:
    """Raise `DisagreementError` unless peers give the engine's result to the tick, same phases."""
    ours = simulate(case, realizations, seed=SEED, backend="cpu").ticks[:, 0]
    seconds = np.stack([noise_phases(case, SEED, r) for r in range(realizations)])
    phases = np.rint(seconds * TICKS_PER_SECOND).astype(np.int64)
    work = bench_peers.PeerWork.from_case(case)
    for peer in (bench_peers.vectorized, bench_peers.event_driven):
        if not np.array_equal(peer(work, phases), ours):
            raise DisagreementError(
                f"the benchmark's {peer.__name__} program does not give the engine's results at "
                f"{case.ranks} ranks: speeds can not be compared"
            )


def has_cuda() -> bool:
    """Whether there is a device to measure."""
    return not _core.cuda_status()


def measure(
    contestants: Sequence[Contestant],
    repeats: int,
    length: float,
    what: str = "",
    tell: Callable[[str], object] | None = None,
) -> None:
    """Time everyone in turn (A B C A B C ...), so that a change of the machine hits all alike."""
    tell = tell if tell and contestants else lambda line: None
    tell(f"{what}: warming up")
    for contestant in contestants:
        contestant.calibrate(length)
    for repeat in range(repeats):
        for contestant in contestants:
            seconds, cpu = contestant.time()
            contestant.seconds.append(seconds)
            contestant.cpu_seconds.append(cpu)
        tell(f"{what}: repeat {repeat + 1} of {repeats}")
