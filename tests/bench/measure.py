"""Timing of the engine and of a vectorized NumPy program in turn; both must agree on the results.

NumPy's program does the work of the conventional butterfly under periodic noise, all ranks starting
at time 0, phases drawn anew for each realization by NumPy's Philox generator.
"""

from __future__ import annotations

import math
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jitterfly._core import hardware_threads
from jitterfly.algorithms import Butterfly
from jitterfly.backends import core, takes_gpu
from jitterfly.case import Case
from jitterfly.distributions import Bernoulli
from jitterfly.fields import check_integer, check_power_of_two, shorten
from jitterfly.network import Hockney, LogGOPS
from jitterfly.noise import NetworkJitter, Noise, PeriodicNoise, StepNoise
from jitterfly.program import compile_case
from jitterfly.resources import available_memory, check_memory
from jitterfly.simulate import noise_phases, simulate
from jitterfly.steps import Costs
from jitterfly.units import TICKS_PER_SECOND, to_ticks

PROGRAMS = {"butterfly": "butterfly", "ms12": "MS12, all T", "cs14": "CS14, full set",
            "cs14x10": "CS14, 10 cycles"}  # fmt: skip
KINDS = {"none": "no noise", "periodic": "periodic", "jitter": "+ jitter", "bernoulli": "Bernoulli"}
Times = tuple[float, float]
"""Seconds by the clock and of CPU time."""
CPU, CUDA = "jitterfly, cpu", "jitterfly, cuda"
SEED = 7
ANCHOR_RANKS = 2**12
"""Other programs are measured at the number of ranks of the plan that is nearest to this."""
_PROBE_RANKS = 2**14  # large enough that its rate is that of larger ones
NUMPY = "NumPy, vectorized"
BATCH_RANKS = 2**15
"""Ranks of a NumPy batch, all realizations together: its arrays of 256 kB stay in the cache.
Fastest of 2^12 ... 2^18 where it was tried, by 7 % to 100 %."""
BYTES_PER_RANK = 128
"""Memory that another program takes for a realization, by far at most, when one is a batch."""
Ticks = npt.NDArray[np.int64]
Complete = Callable[["PeerWork", Ticks], Ticks]
"""A program that gives the completion of each realization, from work and phases of noise."""
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


@dataclass(frozen=True)
class Plan:
    """What to measure. `programs` and `noises` are keys of `PROGRAMS` and `KINDS`.

    Raises
    ------
    ValueError
        A field out of range; the message names it.
    """

    ranks: tuple[int, ...] = tuple(2**k for k in (4, 8, 12, 16, 20, 23))
    programs: tuple[str, ...] = tuple(PROGRAMS)
    noises: tuple[str, ...] = tuple(KINDS)
    repeats: int = 9
    seconds: float = 0.1
    longest: float = 5.0
    peers: bool = True
    limit: bool = True
    all_threads: bool = False
    instructions: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.ranks:
            raise ValueError("ranks must name at least one number of ranks")
        ranks = sorted({check_ranks(value) for value in self.ranks})
        object.__setattr__(self, "ranks", tuple(ranks))
        for name, known in (("programs", PROGRAMS), ("noises", KINDS)):
            chosen = getattr(self, name)
            if not chosen or not set(chosen) <= set(known):
                given = shorten(",".join(map(str, chosen)))
                raise ValueError(f"{name} must be some of {', '.join(known)}, got {given}")
            object.__setattr__(self, name, tuple(key for key in known if key in chosen))
        check_integer(self.repeats, "repeats", 1, 10_000)
        for name in ("seconds", "longest"):
            value = getattr(self, name)
            if not 0 < value <= 600:
                raise ValueError(f"{name} must be a number above 0 to 600, got {value}")
        for ranks_of, count in self.instructions.items():
            check_ranks(ranks_of)
            if not 0 < count < 1e9:
                raise ValueError(f"instructions must be a number above 0 to 1e9, got {count}")


def check_ranks(value: Any, shown: str | None = None) -> int:
    """A power of two from 4 to 2^30."""
    try:
        if check_power_of_two(value, "ranks", 2**30) >= 4:
            return int(value)
    except ValueError:
        pass
    raise ValueError(
        "ranks must be a power of two from 4 to 2^30 (4096 or 2^12) for a benchmark, "
        f"got {shown or shorten(value)}"
    )


def programs(ranks: int, noise: Sequence[Noise]) -> dict[str, Case]:
    """The programs measured, under a noise: networks of MS12 and of CS14, each with its own."""
    ms12 = partial(Case, ranks, network=Hockney(1e-6, 1e-9, 1e-10), noise=noise)
    loggops = LogGOPS(L=1e-6, o=1e-9, G=1e-9, gamma=1e-10)
    full = Butterfly(copy_levels="all")
    cs14 = partial(Case, ranks, algorithm=full, network=loggops, noise=noise, message_bytes=1)
    return {
        "butterfly": ms12(),
        "MS12, all T": ms12(algorithm=Butterfly(exchanges_after=ranks.bit_length() - 1)),
        "CS14, full set": cs14(),
        "CS14, 10 cycles": cs14(cycles=10, compute_time="66.6667us"),
    }


def cpu_clock() -> float:
    """CPU time of this process and of those that it started and has waited for, in seconds."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


@dataclass
class Contestant:
    """One program on one case, and its measurements.

    `run` evaluates so many realizations, drawing of the noise included. `reference` is what the
    reference took, in CPU time, just before each measurement.
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

    @property
    def label(self) -> str:
        """Name and threads, for people."""
        if not self.threads:
            return self.name
        return f"{self.name}, {self.threads} thread{'s' * (self.threads > 1)}"

    def time(self) -> Times:
        """Seconds that one run takes, by the clock and of all CPU cores together."""
        start, cpu = time.perf_counter(), cpu_clock()
        self.run(self.realizations)
        return time.perf_counter() - start, cpu_clock() - cpu

    def measure_once(self) -> None:
        """One more measurement."""
        seconds, cpu = self.time()
        self.seconds.append(seconds)
        self.cpu_seconds.append(cpu)

    def calibrate(self, seconds: float) -> None:
        """Choose how many realizations take about so long. The first runs also warm up.

        Of one thread it is the CPU time that counts: by the clock, a run that other programs
        interrupt would seem to be long enough.
        """

        def seconds_taken() -> float:
            first = self.time()[self.threads == 1]
            # Others may have held it up, and fewer realizations would share what a run costs.
            return first if first < seconds / 2 else min(first, self.time()[self.threads == 1])

        while (last := seconds_taken()) < seconds / 2 and self.realizations < self.most:
            factor = seconds / max(last, seconds / 16)
            wanted = math.ceil(self.realizations * min(factor, 16.0))
            self.realizations = min(wanted, self.most)

    def times(self) -> list[float]:
        """Seconds that count, one for each repeat.

        CPU time of one thread, which other programs lengthen little; else those of the clock.
        """
        return self.cpu_seconds if self.threads == 1 else self.seconds

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

    return Contestant(name, program, noise, case.rank_rounds(), run, threads, case)


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
    """Time all in turn (A B C A B C ...), so that a change of the machine hits all alike.

    All must be calibrated. Neighbours in time share the machine's state even more: where there is
    a reference, it is timed before each of them.
    """
    for repeat in range(repeats):
        for number, contestant in enumerate(contestants):
            if number % 8 == 0:
                tell(f"{what}: repeat {repeat + 1} of {repeats}, {number} of {len(contestants)}")
            if reference:
                contestant.reference.append(reference.time()[1])
            contestant.measure_once()


def calibrate(
    contestants: Sequence[Contestant], seconds: float, what: str, tell: Callable[[str], object]
) -> None:
    """Warm all up, and choose their numbers of realizations."""
    for number, contestant in enumerate(contestants):
        if number % 8 == 0:
            tell(f"{what}: warming up, {number} of {len(contestants)}")
        contestant.calibrate(seconds)


def backends_here(plan: Plan) -> list[tuple[str, str, int | None]]:
    """Name, backend and threads of every way to run the engine here."""
    contests: list[tuple[str, str, int | None]] = [(CPU, "cpu", 1)]
    contests += (
        [(CPU, "cpu", hardware_threads())] if plan.all_threads and hardware_threads() > 1 else []
    )
    contests += [(CUDA, "cuda", None)] if takes_gpu("auto", None) else []
    return contests


def anchor(plan: Plan) -> int:
    """The number of ranks at which other programs are measured: nearest to `ANCHOR_RANKS`."""
    return min(plan.ranks, key=lambda ranks: abs(ranks.bit_length() - ANCHOR_RANKS.bit_length()))


def backend_of(contestant: Contestant) -> str:
    """Where it runs."""
    return "cuda" if contestant.name == CUDA else "cpu"


def bytes_in_flight(case: Case, backend: str, threads: int | None) -> int:
    """The engine's account of what it holds for one realization, results aside."""
    return int(core.memory(compile_case(case), backend, threads or 0, 1))


def contestants(plan: Plan) -> list[Contestant]:
    """The engine on all cases of the plan, ascending ranks in each program and noise.

    Raises
    ------
    ValueError
        There is not enough memory for one of them; the message has the numbers.
    """
    chosen = [
        engine(name, program, noise, programs(ranks, NOISES[noise])[program], backend, threads)
        for name, backend, threads in backends_here(plan)
        for program in map(PROGRAMS.__getitem__, plan.programs)
        for noise in map(KINDS.__getitem__, plan.noises)
        for ranks in plan.ranks
    ]
    for contestant in chosen:
        assert contestant.case
        backend, ranks = backend_of(contestant), contestant.case.ranks
        what = f"{contestant.program}, {contestant.noise}, at {ranks} ranks"
        room = core.gpu_memory_available() if backend == "cuda" else available_memory()
        check_memory(bytes_in_flight(contestant.case, backend, contestant.threads), what, room,
                     "device memory" if backend == "cuda" else "memory")  # fmt: skip
    return chosen


def short_enough(
    chosen: list[Contestant], longest: float, tell: Callable[[str], object]
) -> tuple[list[Contestant], list[dict[str, Any]]]:
    """Those of which a realization takes at most so long, and the others with an estimate.

    Realizations of moderate size tell how long a large one will take (CPU time with one thread).
    """
    kept, left, rates = [], [], {}
    for contestant in chosen:
        assert contestant.case
        key = contestant.name, contestant.threads, contestant.program, contestant.noise
        ranks, expected = contestant.case.ranks, 0.0
        if ranks > _PROBE_RANKS:
            if key not in rates:
                tell(f"how long a realization takes: {', '.join(map(str, key))}")
                case = programs(_PROBE_RANKS, NOISES[contestant.noise])[contestant.program]
                probe = engine(contestant.name, contestant.program, contestant.noise, case,
                               backend_of(contestant), contestant.threads)  # fmt: skip
                probe.realizations = 4  # or starting threads would be most of it
                times = [probe.time()[contestant.threads == 1] for _ in range(2)]
                rates[key] = 4 * case.rank_rounds() / max(min(times), 1e-9)
            expected = contestant.rank_rounds / rates[key]
        if expected > longest:
            names = "name", "threads", "program", "noise", "ranks", "seconds_expected"
            left.append(dict(zip(names, (*key, ranks, expected), strict=True)))
        else:
            kept.append(contestant)
    return kept, left


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """The plan for a JSON file; `Plan(**plan_from_json(...))` is its way back."""
    return asdict(plan) | {"instructions": {str(k): v for k, v in plan.instructions.items()}}


def plan_from_json(table: dict[str, Any]) -> dict[str, Any]:
    """The fields of a plan from a JSON file."""
    lists = {name: tuple(table[name]) for name in ("ranks", "programs", "noises")}
    counts = {int(k): v for k, v in table["instructions"].items()}
    return table | lists | {"instructions": counts}


class PeerWork(NamedTuple):
    """What other programs compute, in ticks of 1 ps."""

    log2_ranks: int
    costs: Costs
    period: int
    duration: int
    stationary: bool

    @classmethod
    def from_case(cls, case: Case) -> PeerWork:
        """The work of a conventional butterfly with one independent `PeriodicNoise`."""
        (noise,) = case.noise
        assert isinstance(noise, PeriodicNoise)
        period, duration = to_ticks(noise.period), to_ticks(noise.duration)
        return cls(case.log2_ranks, case.costs, period, duration, noise.start == "stationary")

    def draw(self, generator: np.random.Generator, realizations: int) -> Ticks:
        """Phases for so many realizations, shape (realizations, ranks)."""
        shape = (realizations, 1 << self.log2_ranks)
        return generator.integers(0, self.period, size=shape, dtype=np.int64)


def vectorized(work: PeerWork, phases: Ticks) -> Ticks:
    """Completion of each realization by NumPy, a round at a time for all ranks and realizations.

    Parameters
    ----------
    work : PeerWork
        Costs and noise.
    phases : int64 array, shape (realizations, ranks)
        Ticks, each from 0 to below the period.

    Returns
    -------
    int64 array, shape (realizations,)
        Ticks.

    Notes
    -----
    Like the engine, it keeps for each rank the
    next noise interval instead of dividing, and it corrects only the ranks that an interval holds,
    which are few: three times as fast as evaluating the closed form everywhere.
    """
    ranks, transit = phases.shape[1], work.costs.transit
    clock = _Clock(work, phases)
    ready, start = np.zeros_like(phases), np.empty_like(phases)
    if work.log2_ranks:
        clock.advance(ready, work.costs.send, start)
        ready, start = start, ready
    for number in range(work.log2_ranks):
        pairs = (-1, ranks >> (number + 1), 2, 1 << number)
        np.add(ready.reshape(pairs)[:, :, ::-1], transit, out=start.reshape(pairs))
        np.maximum(start, ready, out=start)
        clock.advance(start, work.costs.receive + work.costs.combine, ready)
        if work.costs.send and number + 1 < work.log2_ranks:
            clock.advance(ready, work.costs.send, start)
            ready, start = start, ready
    completion: Ticks = ready.max(axis=1)
    return completion


class _Clock:
    """Every rank's noise; `next` is the start of its first interval that may lie ahead."""

    def __init__(self, work: PeerWork, phases: Ticks) -> None:
        self.period, self.duration = work.period, work.duration
        self.next = phases - work.period if work.stationary else phases.copy()
        self.flat = self.next.reshape(-1)
        self.late = np.empty(phases.shape, dtype=bool)

    def advance(self, start: Ticks, work: int, end: Ticks) -> None:
        """Write to `end` when `work` ticks of noise-free time have passed since `start`."""
        np.add(start, work, out=end)
        if work == 0 or self.duration == 0:
            return
        np.greater(end, self.next, out=self.late)
        held = np.flatnonzero(self.late)
        if not held.size:
            return
        t, first = start.reshape(-1)[held], self.flat[held]
        over = (t - self.duration - first) // self.period + 1  # intervals that are past
        first += np.maximum(over, 0) * self.period
        inside = t >= first
        t[inside] = first[inside] + self.duration
        first[inside] += self.period
        # Work that ends exactly where an interval begins is not held by it, hence - 1.
        hits = np.maximum((t + work - first - 1) // (self.period - self.duration) + 1, 0)
        end.reshape(-1)[held] = t + work + hits * self.duration
        self.flat[held] = first + hits * self.period


class DisagreementError(RuntimeError):
    """Another program does not do the work of the engine: comparing their speed means nothing."""


def other_program(name: str, complete: Complete, case: Case) -> Contestant:
    """Another program on a conventional butterfly under periodic noise, on one core."""
    work = PeerWork.from_case(case)
    batch = max(1, BATCH_RANKS // case.ranks)
    generator = np.random.Generator(np.random.Philox(SEED))

    def run(realizations: int) -> None:
        for first in range(0, realizations, batch):
            complete(work, work.draw(generator, min(batch, realizations - first)))

    return Contestant(name, "butterfly", "periodic", case.rank_rounds(), run, case=case)


def check_program(complete: Complete, case: Case, realizations: int) -> None:
    """Raise `DisagreementError` unless it gives the engine's result to the tick, same phases."""
    ours = simulate(case, realizations, seed=SEED, backend="cpu").ticks[:, 0]
    seconds = np.stack([noise_phases(case, SEED, r) for r in range(realizations)])
    phases = np.rint(seconds * TICKS_PER_SECOND).astype(np.int64)
    if not np.array_equal(complete(PeerWork.from_case(case), phases), ours):
        raise DisagreementError(
            f"the benchmark's {getattr(complete, '__name__', complete)} program does not give the "
            f"engine's results at {case.ranks} ranks: speeds can not be compared"
        )
