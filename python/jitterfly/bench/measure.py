"""Contestants of `jitterfly bench`, measured in turn so that all of them see the same machine."""

from __future__ import annotations

import math
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from ..algorithms import Butterfly
from ..case import Case
from ..network import Hockney, LogGOPS
from ..noise import Bernoulli, NetworkJitter, Noise, PeriodicNoise, StepNoise
from ..program import rank_rounds
from ..simulate import simulate

Times = tuple[float, float]
"""Seconds by the clock and of CPU time."""

CPU, CUDA = "jitterfly, cpu", "jitterfly, cuda"
SEED = 7

NOISES: dict[str, list[Noise]] = {
    "no noise": [],
    "periodic": [PeriodicNoise(period=1e-3, duration=1e-5)],
    "+ jitter": [
        PeriodicNoise(period=1e-3, duration=1e-5),
        NetworkJitter(period=1e-3, duration=1e-5),
    ],
    "Bernoulli": [StepNoise(Bernoulli(0.001, "14us"))],
}
"""Matsumoto & Suda 2012, Fig. 21: fresh start, D/P = 1e-2. Horikoshi et al. 2018: 14 us."""


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


def cpu_clock() -> float:
    """CPU time of this process and of those that it started and has waited for, in seconds."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


@dataclass
class Contestant:
    """One program on one case, and its measurements.

    `run` evaluates so many realizations, drawing of the noise included. `reference` is what the
    reference took, in CPU time, just before each measurement. Where a ratio to one other contestant
    is what counts, that is `beside`: it too is timed just before and just after each measurement,
    and `beside_times` are the means of both, by the clock and in CPU time.
    """

    name: str
    program: str
    noise: str
    rank_rounds: int
    run: Callable[[int], object]
    threads: int | None = 1  # None: not a matter of threads
    case: Case | None = None  # None: another program's
    realizations: int = 1
    most: int = 2**24  # realizations at once: their results are in memory
    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    reference: list[float] = field(default_factory=list)
    beside: Contestant | None = None
    beside_times: list[Times] = field(default_factory=list)

    @property
    def label(self) -> str:
        """Name and threads, for people."""
        many = self.threads and self.threads > 1
        return f"{self.name}, {self.threads} thread{'s' * many}" if self.threads else self.name

    def time(self) -> Times:
        """Seconds that one run takes, by the clock and of all CPU cores together."""
        start, cpu = time.perf_counter(), cpu_clock()
        self.run(self.realizations)
        return time.perf_counter() - start, cpu_clock() - cpu

    def calibrate(self, seconds: float) -> None:
        """Choose how many realizations take about so long. The first runs also warm up.

        Of one thread it is the CPU time that counts: by the clock, a run that other programs
        interrupt would seem to be long enough.
        """

        def took() -> float:
            first = self.time()[self.threads == 1]
            # Others may have held it up, and fewer realizations would share what a run costs.
            return first if first < seconds / 2 else min(first, self.time()[self.threads == 1])

        while (last := took()) < seconds / 2 and self.realizations < self.most:
            factor = seconds / max(last, seconds / 16)
            wanted = math.ceil(self.realizations * min(factor, 16.0))
            self.realizations = min(wanted, self.most)

    def times(self) -> list[float]:
        """Seconds that count, one for each repeat.

        CPU time of one thread, which other programs lengthen little; else those of the clock.
        """
        return self.cpu_seconds if self.threads == 1 else self.seconds

    def times_beside(self) -> list[float]:
        """`times` of one realization over those of one of `beside`, for each repeat."""
        own = self.times()
        if self.beside is None:
            return [1.0] * len(own)
        factor = self.beside.realizations / self.realizations
        others = [time[self.threads == 1] for time in self.beside_times]
        return [factor * mine / other for mine, other in zip(own, others, strict=True)]

    def rates(self) -> list[float]:
        """Rank-rounds per second of `times`, one for each repeat."""
        return [self.rank_rounds * self.realizations / s for s in self.times()]

    def rate(self) -> float:
        """The median of `rates`."""
        return statistics.median(self.rates())


def engine(
    name: str, program: str, noise: str, case: Case, backend: str, threads: int | None
) -> Contestant:
    """The engine as a contestant, through the public `simulate`."""

    def run(realizations: int) -> object:
        return simulate(case, realizations, seed=SEED, backend=backend, threads=threads)

    return Contestant(name, program, noise, rank_rounds(case), run, threads, case)


def spread(values: Sequence[float]) -> dict[str, float]:
    """Their least, median and largest."""
    return {"min": min(values), "median": statistics.median(values), "max": max(values)}


def measure(
    contestants: Sequence[Contestant],
    repeats: int,
    what: str,
    tell: Callable[[str], object],
    reference: Contestant | None = None,
) -> None:
    """Time everyone in turn (A B C A B C ...), so that a change of the machine hits all alike.

    All must be calibrated. Neighbours in time share the machine's state even more: where there is
    a reference, it is timed before each of them. What is beside a contestant is timed before and
    after it, as a machine that others use too changes its speed between one second and the next;
    those beside the same one take their turns in a row, and share what was timed between them.
    """
    groups = list(dict.fromkeys(id(c.beside) for c in contestants))
    turns = sorted(contestants, key=lambda c: groups.index(id(c.beside)))
    for repeat in range(repeats):
        last: tuple[Contestant | None, Times] = None, (0.0, 0.0)
        for number, contestant in enumerate(turns):
            if number % 8 == 0:
                tell(f"{what}: repeat {repeat + 1} of {repeats}, {number} of {len(turns)}")
            if reference:
                contestant.reference.append(reference.time()[1])
            beside = contestant.beside
            if beside and beside is not last[0]:
                last = beside, beside.time()
            seconds, cpu = contestant.time()
            contestant.seconds.append(seconds)
            contestant.cpu_seconds.append(cpu)
            if beside:
                before, after = last[1], beside.time()
                contestant.beside_times.append(
                    ((before[0] + after[0]) / 2, (before[1] + after[1]) / 2)
                )
                last = beside, after


def calibrate(
    contestants: Sequence[Contestant], seconds: float, what: str, tell: Callable[[str], object]
) -> None:
    """Warm everyone up, and choose their numbers of realizations."""
    for number, contestant in enumerate(contestants):
        if number % 8 == 0:
            tell(f"{what}: warming up, {number} of {len(contestants)}")
        contestant.calibrate(seconds)
