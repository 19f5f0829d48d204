"""`simulate_schedule`: a schedule with LogGOPS costs under noise; run times of realizations."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import memory, notebook, stats
from ..case import place_noise, warn_of_idle_sources, warn_of_idle_speed
from ..engine import backend_named, check_device_memory, check_run, core, reporting
from ..fields import check_choice, check_integer, frozen_dataclass, shorten
from ..hierarchy import Hierarchy
from ..imbalance import Speed, check_ranks, check_speed
from ..info import processors
from ..network import LogGOPS, Network, check_network
from ..noise import Congestion, Noise, SpeedNoise
from ..noise.source import ExposedWork, check_sources
from ..progress import each
from ..result_table import ResultTable, aligned, csv_text, ends, show_time
from ..simulate import check_times
from ..slowdown import in_words
from ..stats import Estimate
from ..units import LONGEST_TICKS, TICKS_PER_SECOND, exact, from_ticks, show_seconds, to_ticks
from .longest import check_operations
from .marks import Marks, read_marks
from .schedule import Schedule, in_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

USUAL_ORDER_CHECKS = 5
ORDERS = ("noise-free", "arrival")
_EAGER = 2**64 - 1  # bytes: all messages are sent without rendezvous
_FACTOR_BITS = 32  # fractional bits of the engine's factors on CPU time: kSpeedBits
_CALCULATION = 3  # the engine's number of this kind of operation


class OrderCheck(NamedTuple):
    """Some realizations once more, in the order of arrival: the longest, and the first.

    `realizations`: how many; half of them, or one more, are the first, the others the longest.
    `same`: in how many of them every operation has the same times. `mean_difference`,
    `largest_difference`: of the run time, seconds; positive where the order of arrival ends later.
    `mean_added`: what noise adds to their run time, seconds.
    """

    realizations: int
    same: int
    mean_difference: float
    largest_difference: float
    mean_added: float


@frozen_dataclass(eq=False)
class ScheduleResult(ResultTable):
    """What `simulate_schedule` found.

    Attributes
    ----------
    schedule : Schedule
    network : LogGOPS or Hierarchy
    speed : Speed, optional
        Of the ranks, as given.
    noise : tuple of Noise
    seed, first_realization : int
        Realization ``first_realization + i`` of this seed is row i of the arrays.
    ticks : int64 array, shape (realizations,)
        Run time, when the CPU of the last rank is free, in ticks of 1 ps; exact.
    last_rank : int64 array, shape (realizations,)
        The rank that is last; of several the first.
    noise_free : float
        The run time without any noise, at the ranks' `speed`, seconds.
    order : "noise-free" or "arrival"
        In which operations that compete for a CPU were executed.
    order_check : OrderCheck, optional
        None where there was none.
    unchecked : str
        How much memory the order check would have taken, where there was not enough; else "".
    marks : tuple of str
        The names of the marks, in their order.
    mark_ticks : int64 array, shape (realizations, marks)
        When each mark was reached, in ticks.
    marks_noise_free : int64 array, shape (marks,)
        The same without noise.
    """

    schedule: Schedule
    network: LogGOPS | Hierarchy
    noise: tuple[Noise, ...]
    seed: int
    first_realization: int
    ticks: npt.NDArray[np.int64]
    last_rank: npt.NDArray[np.int64]
    noise_free: float
    order: str
    order_check: OrderCheck | None
    unchecked: str = ""
    marks: tuple[str, ...] = ()
    mark_ticks: npt.NDArray[np.int64] = dataclasses.field(
        default_factory=lambda: np.zeros((0, 0), dtype=np.int64)
    )
    marks_noise_free: npt.NDArray[np.int64] = dataclasses.field(
        default_factory=lambda: np.zeros(0, dtype=np.int64)
    )
    speed: Speed | None = None

    @cached_property
    def samples(self) -> npt.NDArray[np.float64]:
        """Run times in seconds, float64, shape (realizations,)."""
        return from_ticks(self.ticks)

    def __repr__(self) -> str:
        return (
            f"ScheduleResult({self.schedule.name!r}, realizations={len(self.ticks)}, "
            f"slowdown={self.slowdown()})"
        )

    def mean(self, confidence: float = 0.95) -> Estimate:
        """Mean run time, seconds."""
        return self._mean(self.samples, self.noise_free, confidence)

    def _mean(
        self, times: npt.NDArray[np.float64], noise_free: Any, confidence: float = 0.95
    ) -> Estimate:
        """Of times from the beginning on; below those without noise only if noise can make it so.

        Costs are added along an order of operations that is the same in all realizations, unless it
        is that of arrival: there noise may bring a better one about.
        """
        hastens = self.order == "arrival" or any(one.hastens for one in self.noise)
        noisy = any(one.random for one in self.noise)
        return stats.mean(
            times, confidence, noisy=noisy, lower_bound=0.0 if hastens else noise_free
        )

    def slowdown(self, confidence: float = 0.95) -> Estimate:
        """Mean run time over that without noise; NaN where that is 0: the schedule does nothing."""
        quiet = self.noise_free or math.nan
        return _scaled(self.mean(confidence), lambda time: time / quiet)

    def noise_share(self) -> float | None:
        """The share of CPU time that the noise takes; None where it is all, or not one number.

        It is where every source takes the CPU at all times and for all work: periodic, renewal and
        trace noise without a window.
        """
        for one in self.noise:
            everywhere = getattr(one, "during", "all") == "all"
            ever = not getattr(one, "begin", 0) and getattr(one, "end", None) is None
            if not (everywhere and ever and one.share() > 0):
                return None
        free = math.prod(1 - one.share() for one in self.noise)
        share = 1 - free
        return share if self.noise and share < 1 else None

    def amplification(self, confidence: float = 0.95) -> Estimate | None:
        """How much larger the slowdown is than that of one rank which only calculates.

        That one takes 1 / (1 - s) times as long if noise takes a share s of its CPU. Amplification
        is (slowdown - 1) / (1 / (1 - s) - 1): above 1 the application makes noise worse, below 1 it
        absorbs some of it (Ferreira, Bridges & Brightwell, SC'08). None where there is no one s
        (`noise_share`). Where no realization met any noise, its interval has no ends. In a run that
        is shorter than the time from one interval of noise to the next, a rank that only calculates
        may be slowed down otherwise; `notes` say so.
        """
        share = self.noise_share()
        if share is None:
            return None
        alone = share / (1 - share)
        return _scaled(self.slowdown(confidence), lambda ratio: (ratio - 1) / alone)

    def mark_rows(self, confidence: float = 0.95) -> list[MarkRow]:
        """A row for each mark."""
        noisy = any(one.random for one in self.noise)
        times, since = from_ticks(self.mark_ticks), from_ticks(self.iteration_ticks)
        quiet = from_ticks(self.marks_noise_free)
        steps = np.diff(quiet, prepend=0.0)
        return [
            MarkRow(
                name, float(quiet[i]), float(steps[i]),
                self._mean(times[:, i], quiet[i], confidence),
                *stats.quantiles(times[:, i], (0.5, 0.99), confidence),
                stats.mean(since[:, i], confidence, noisy=noisy),
                *stats.quantiles(since[:, i], (0.5, 0.99), confidence),
            )
            for i, name in enumerate(self.marks)
        ]  # fmt: skip

    @property
    def iteration_ticks(self) -> npt.NDArray[np.int64]:
        """The time from each mark to the next one, from 0 to the first, shape as `mark_ticks`."""
        return np.diff(self.mark_ticks, prepend=0, axis=1)

    def title(self) -> str:
        """What was simulated, under which noise."""
        noise = "; ".join(map(in_words, self.noise)) or "none"
        return f"{self.schedule.name}: {self.schedule.summary()}, under noise: {noise}"

    def lines(self) -> list[str]:
        """The answer as text."""
        p50, p99 = stats.quantiles(self.samples, (0.5, 0.99))
        rows = [
            ("run time without noise", show_seconds(self.noise_free)),
            ("run time, mean", show_time(self.mean())),
            ("run time, p50", show_time(p50)),
            ("run time, p99", show_time(p99)),
            ("slowdown (mean)", _show_ratios(self.slowdown())),
        ]
        amplified = self.amplification()
        if amplified is not None:
            rows.append(("noise amplification", self._amplification_in_words(amplified)))
        ranks, counts = np.unique(self.last_rank, return_counts=True)
        most = int(np.argmax(counts))
        rows.append(
            ("most often last", f"rank {ranks[most]}, in {counts[most] / len(self.ticks):.1%} of "
             "realizations")
        )  # fmt: skip
        rows += self._marks_in_words()
        return aligned(rows, left=2)

    def _marks_in_words(self) -> list[tuple[str, str]]:
        """Of all iterations together; the slowest on average."""
        if not self.marks:
            return []
        each = from_ticks(self.iteration_ticks).mean(axis=0)
        # Iterations of one realization depend on each other: its mean is one sample.
        marked, count = from_ticks(self.mark_ticks[:, -1]), len(self.marks)
        last = self._mean(marked, float(from_ticks(self.marks_noise_free[-1])))
        whole = _scaled(last, lambda time: time / count)
        p99 = float(np.quantile(from_ticks(self.iteration_ticks), 0.99))
        quiet = float(from_ticks(self.marks_noise_free[-1])) / count
        slowest = int(np.argmax(each))
        return [
            ("marks", f"{count:,}, the last one ({self.marks[-1]}) at {show_time(last)}"),
            ("time between marks, mean", f"{show_time(whole)}; without noise "
             f"{show_seconds(quiet)}"),
            ("time between marks, p99", show_seconds(p99)),
            ("longest before mark", f"{self.marks[slowest]}: {show_seconds(float(each[slowest]))} "
             "on average"),
        ]  # fmt: skip

    def notes(self) -> list[str]:
        """Network, realizations, and whether the order of operations could matter."""
        text = [
            *machine_in_words(self.network, self.speed),
            f"{len(self.ticks):,} realizations, seed {self.seed}; 95 % intervals",
        ]
        share = self.noise_share()
        if share is not None:
            told = (f"noise takes {share:.3%} of CPU time: it slows one rank that only calculates "
                    f"down {1 / (1 - share):.5g} times")  # fmt: skip
            rarest = self._longest_time_between()
            if rarest > self.noise_free:
                told += (
                    f" in the long run; this one takes {show_seconds(self.noise_free)}, less than "
                    f"the {show_seconds(rarest)} from one interval of noise to the next, so "
                    "amplification, which compares with that, says little"
                )
            text.append(told)
        text += self._order_in_words()
        return text

    def _amplification_in_words(self, amplified: Estimate) -> str:
        if not self.noise_free:
            return "can not be told: the schedule takes no time"
        if amplified.too_small and bool((self.samples == self.noise_free).all()):
            return "can not be told: no realization met any noise"
        return _show_ratios(amplified)

    def _longest_time_between(self) -> float:
        """Seconds from one interval of noise to the next, on average, of the rarest source."""
        day = to_ticks(86_400.0)
        return max(86_400.0 / (one.intervals_in(day) or math.inf) for one in self.noise)

    def _order_in_words(self) -> list[str]:
        check = self.order_check
        if self.order == "arrival":
            return ["order of competing operations: that of arrival"]
        if not self.noise:
            return []
        told = "order of competing operations: that without noise"
        if self.unchecked:
            return [f"{told}; whether that matters was not checked (`order_checks`), which takes "
                    f"{self.unchecked} of memory"]  # fmt: skip
        if check is None:
            return [f"{told}; whether that matters was not checked (`order_checks`)"]
        told += (
            f"; in {check.same} of {check.realizations} realizations, the longest among them, all "
            "times are the same in the order of arrival"
        )
        if check.same == check.realizations == len(self.ticks):
            return [told]
        if check.same == check.realizations:
            fair = check.realizations - check.realizations // 2
            return [f"{told}; up to {1 - 0.05 ** (1 / fair):.0%} of all may differ (95 %)"]
        added = check.mean_added
        share = f", {check.mean_difference / added:+.1%} of what noise adds" if added > 0 else ""
        return [
            f"{told}; by that the run time of these differs by {_signed(check.mean_difference)} on "
            f"average{share}, {show_seconds(check.largest_difference)} at most (`order` arrival "
            "takes it)"
        ]

    def to_csv(self) -> str:
        """A line for each realization: its number, run time in seconds, and last rank."""
        numbers = range(self.first_realization, self.first_realization + len(self.ticks))
        rows = zip(numbers, self.samples.tolist(), self.last_rank.tolist(), strict=True)
        return csv_text(chain([("realization", "run_time_s", "last_rank")], rows))

    def marks_to_csv(self) -> str:
        """A line for each mark: when it is reached, and the time since the one before, seconds."""
        names = [
            f"{what}{end}_s" for what in ("mean", "p50", "p99") for end in ("", "_low", "_high")
        ]
        head = ("mark", "noise_free_s", "since_noise_free_s", *names,
                *(f"since_{name}" for name in names))  # fmt: skip
        rows = [(name, quiet, step, *ends(*estimates))
                for name, quiet, step, *estimates in self.mark_rows()]  # fmt: skip
        return csv_text([head, *rows])

    def plot(self, path: str | Path | None = None) -> Figure:
        """The share of realizations that takes longer; written to `path`, too, where it is given.

        Raises
        ------
        ValueError
            matplotlib is not installed, or `path` does not end in .png, .pdf or .svg.
        """
        return notebook.picture("schedule", self, path=path)


class MarkRow(NamedTuple):
    """When a mark is reached, and the time since the mark before it (or since 0), in seconds.

    `noise_free`, `since_noise_free`: without noise. `mean`, `p50`, `p99`: over the realizations;
    with `since_` of the time since the mark before.
    """

    mark: str
    noise_free: float
    since_noise_free: float
    mean: Estimate
    p50: Estimate
    p99: Estimate
    since_mean: Estimate
    since_p50: Estimate
    since_p99: Estimate


class CompiledSchedule(NamedTuple):
    """What the engine takes: the plan, and a program that holds costs and noise."""

    plan: core.SchedulePlan
    program: core.Program


class _LevelCosts(NamedTuple):
    """Costs of a message on one level of the machine, in ticks; `wire`, `cpu`: by its size."""

    o: int
    way: int
    gap: int
    wire: list[int]
    cpu: list[int]
    largest_eager: int

    @classmethod
    def of(cls, network: LogGOPS, sizes: Sequence[int]) -> _LevelCosts:
        further = [max(size - 1, 0) for size in sizes]
        return cls(
            o=to_ticks(network.o, "o"),
            way=to_ticks(network.L, "L"),
            gap=to_ticks(network.g, "g"),
            wire=[to_ticks(exact(network.G) * n, "(n - 1) G") for n in further],
            cpu=[to_ticks(exact(network.O) * n, "(n - 1) O") for n in further],
            largest_eager=_EAGER if network.S is None else network.S,
        )


def compile_schedule(
    schedule: Schedule,
    network: LogGOPS | Hierarchy,
    noise: Sequence[Noise],
    marks: Marks | None = None,
    speed: Speed | None = None,
) -> CompiledSchedule:
    """The plan of a schedule, and the program with the costs of its messages and the noise.

    Raises
    ------
    ValueError
        The schedule can not be executed: a message that no receive takes, or operations that wait
        for each other. The noise names a level that is not there. An operation can take too long.
    """
    ranks = schedule.ranks
    sizes = schedule.message_sizes.tolist()
    levels = [_LevelCosts.of(one, sizes) for one in _levels_of(network)]
    factors = _factors(speed, ranks)
    noise = place_noise(tuple(noise), network, ranks)
    check_operations(
        schedule, noise, _longest_calculation(schedule, factors),
        *(max(getattr(level, name) for level in levels) for name in ("o", "gap", "way")),
        *(max((max(getattr(level, name), default=0) for level in levels), default=0)
          for name in ("wire", "cpu")),
    )  # fmt: skip
    table = [
        (level.o, level.o, level.way, level.gap + bytes_on_wire)
        for level in levels
        for bytes_on_wire in level.wire
    ]
    program = core.Program(
        log2_ranks=ranks.bit_length() - 1, ranks=ranks, rows=0,
        steps=np.zeros((0, 11), dtype=np.int32),
        messages=np.array(table, dtype=np.int64).reshape(-1, 4),
        send=0, receive=0, transit=0, combine=0, work=0, forward=0,
    )  # fmt: skip
    ways = [level.way + bytes_on_wire for level in levels for bytes_on_wire in level.wire]
    for source in noise:
        source.check(ranks, max(ways, default=0))
        source.apply(program, ranks, 0, ways)
    wire, cpu = (
        np.array([getattr(level, name) for level in levels], dtype=np.int64).ravel()
        for name in ("wire", "cpu")
    )
    eager = np.array([level.largest_eager for level in levels], dtype=np.uint64)
    try:
        plan = core.SchedulePlan(
            schedule._mapped, program, wire, cpu, eager, *_places(network, ranks), factors,
            *_marked(marks),
        )  # fmt: skip
    except ValueError as error:
        raise ValueError(in_file(schedule.name, error)) from None
    return CompiledSchedule(plan, program)


def _levels_of(network: LogGOPS | Hierarchy) -> list[LogGOPS]:
    """The network of each level, the innermost first."""
    found: list[Any] = network.networks if isinstance(network, Hierarchy) else [network]
    return found


def _places(network: LogGOPS | Hierarchy, ranks: int) -> tuple[npt.NDArray[np.uint32], ...]:
    """The slot of each rank, and how many slots each level spans; empty for one level."""
    none = np.zeros(0, dtype=np.uint32)
    if not isinstance(network, Hierarchy):
        return none, none
    slots = network.slots(ranks).astype(np.uint32)
    return slots if network.spans else none, np.array(network.spans, dtype=np.uint32)


def _factors(speed: Speed | None, ranks: int) -> npt.NDArray[np.uint64]:
    """The factor on each rank's calculations, in units of 2^-32; empty: all are alike."""
    if speed is None:
        return np.zeros(0, dtype=np.uint64)
    distinct, which = np.unique(speed.of_ranks(ranks), return_inverse=True)
    scale = 1 << _FACTOR_BITS
    rounded = [max(1, round(exact(factor) * scale)) for factor in distinct.tolist()]
    return np.array(rounded, dtype=np.uint64)[which]


def _longest_calculation(schedule: Schedule, factors: npt.NDArray[np.uint64]) -> int:
    """In ticks, on the slowest rank."""
    longest = schedule._mapped.longest_calculation * 1000
    return -(-longest * int(factors.max(initial=0)) >> _FACTOR_BITS) if factors.size else longest


class Prepared(NamedTuple):
    """A schedule that is ready to run, and its arguments, checked."""

    schedule: Schedule
    network: LogGOPS | Hierarchy
    noise: tuple[Noise, ...]
    realizations: int
    seed: int
    first_realization: int
    compiled: CompiledSchedule
    marks: tuple[str, ...]
    speed: Speed | None


def _marked(marks: Marks | None) -> tuple[npt.NDArray[np.uint32], int]:
    if marks is None:
        return np.zeros(0, dtype=np.uint32), 0
    return marks.of, len(marks.names)


def prepare(
    schedule: Schedule | str | Path,
    network: LogGOPS | Hierarchy | str,
    noise: str | Noise | Sequence[Noise | str],
    realizations: int,
    seed: int,
    threads: int | None,
    progress: Callable[[int, int], object] | None,
    first_realization: int,
    marks: str | Path | None = None,
    speed: Speed | None = None,
    backend: str = "cpu",
) -> Prepared:
    """Check the arguments of `simulate_schedule`, and plan its schedule; errors as there."""
    if not isinstance(schedule, Schedule):
        schedule = Schedule.read(schedule)
    network = _check_network(network)
    sources = check_sources([noise] if isinstance(noise, (str, Noise)) else noise)
    _check_sources(sources)
    if check_speed(speed) is not None:
        check_ranks(schedule.ranks)
    if schedule.operations:
        work = [
            _exposed_work(schedule, network, of_speeds=isinstance(source, SpeedNoise))
            for source in sources
        ]
        warn_of_idle_sources(sources, work, schedule.ranks, remedies=False)
        _warn_of_idle_speed(schedule, speed)
    realizations, seed, first_realization = check_run(
        realizations, seed, backend, threads, progress, first_realization
    )
    available = memory.available_bytes()
    memory.check_memory(
        _plan_bytes(schedule, network) + 24 * realizations,
        f"the order of {schedule.operations:,} operations, and {realizations:,} results", available,
    )  # fmt: skip
    kept = None if marks is None else read_marks(schedule, marks)
    if kept is not None:
        needed = 24 * schedule.operations + 8 * (2 * realizations + 32) * len(kept.names)
        memory.check_memory(needed, f"{len(kept.names):,} marks", available)
    compiled = compile_schedule(schedule, network, sources, kept, speed)
    plan = compiled.plan
    if plan.completion > LONGEST_TICKS:
        raise ValueError(
            f"the schedule must take less than 2^62 ps (53 days), without noise it takes "
            f"{plan.completion / TICKS_PER_SECOND:.3g} s"
        )
    for source in sources:
        source.check_length(plan.completion)
    names = () if kept is None else kept.names
    return Prepared(
        schedule, network, sources, realizations, seed, first_realization, compiled, names, speed
    )


def simulate_schedule(
    schedule: Schedule | str | Path,
    network: LogGOPS | Hierarchy | str,
    noise: str | Noise | Sequence[Noise | str] = (),
    realizations: int = 1000,
    seed: int = 0,
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    first_realization: int = 0,
    order: Literal["noise-free", "arrival"] = "noise-free",
    order_checks: int = USUAL_ORDER_CHECKS,
    marks: str | Path | None = None,
    *,
    speed: Speed | None = None,
    backend: Literal["auto", "cpu", "cuda", "gpu"] = "auto",
) -> ScheduleResult:
    """Run an application's schedule under many realizations of noise.

    Parameters
    ----------
    schedule : Schedule, str or Path
        What to run, or its file (`Schedule.read`).
    network : LogGOPS, Hierarchy or str
        What a message costs, also as text: ``"L=1us,o=200ns"``, or on a machine of several levels
        ``"8: L=300ns,o=100ns; L=1us,o=200ns"``. Here `S` is used: a message of more bytes is sent
        with rendezvous. ``gamma`` must be left out: a schedule says what is combined.
    noise : str, Noise or list of them
        A file of measured noise, text such as ``"period=1ms,duration=10us"``, or sources. All but
        `Congestion`. `SpeedNoise` lengthens ``calc``.
    realizations, seed, threads, progress, first_realization
        As in `simulate`.
    order : "noise-free" or "arrival"
        In which operations that compete for a CPU are executed; see Notes. "arrival" executes one
        realization after the other on each processor, event by event, which is slower.
    order_checks : int
        So many realizations in the order without noise are executed in the order of arrival once
        more, on one processor: half of them are the first, the others those that take longest.
        0: none. There is none either where memory is short, which `ScheduleResult.notes` say.
    marks : str or Path, optional
        Which operations end iterations: a file of lines ``NAME RANK LABEL``, where LABEL is that
        of the text, or #N for the operation with number N of its rank, from 0. All with the same
        name are one mark, reached when the last of them is done. Or a pattern: "tag=7": the first
        send or receive with tag 7 of each rank is of the first mark, the second of the second, and
        so on; "tag=7,every=2": two of each rank are of one mark; "tag=7,kind=recv": receives alone.
    speed : Speed, optional
        By which factor each rank takes longer for ``calc``: ``imbalance.SlowRanks(1.2, ranks=3)``.
        It is rounded to a multiple of 2^-32. The time without noise has it, too.
    backend : "auto", "cpu" or "cuda"
        On a GPU a thread executes the whole schedule for one realization, which needs thousands of
        realizations to be worthwhile. So "auto" is the CPU. The results are the same. The order of
        arrival, and the order checks, are executed on the CPU.

    Returns
    -------
    ScheduleResult

    Raises
    ------
    BackendError
        With "cuda": no GPU can be used here, or it has not enough memory.
    ValueError
        Names the argument and its range; the schedule can not be read or executed; not enough
        memory.
    KeyboardInterrupt
        Ctrl-C.

    Warns
    -----
    IneffectiveNoiseWarning
        A source can hit nothing, such as `MessageNoise` where there are no messages.
    IneffectiveSpeedWarning
        There is a `speed`, and nothing to calculate.

    Notes
    -----
    The rules are LogGOPSim's (Hoefler, Schneider & Lumsdaine, HPDC 2010), n being the bytes of a
    message. A send takes its CPU for o + (n - 1) O, and the way out for g + (n - 1) G from o before
    its first byte has left, which it has after o. That byte arrives L later, and is taken when CPU
    and way in are free, posted or not: for o, and until (n - 1) O of CPU time are done and the
    bytes are there, (n - 1) G later. The way in is taken for g + (n - 1) G. A receive is posted at
    no cost. With more than S bytes, a send is done when its receive is posted and its message
    begins to be taken. A message is taken by the CPU and the interface with the numbers that its
    send names. On a `Hierarchy`, L, o, g, G, O and S of a message are those of the level that it
    crosses, for both of its ranks.

    Where several operations or messages compete for a CPU, LogGOPSim executes them in the order of
    arrival; of one instant, sends before receives before calculations, then as they stand in the
    schedule. So does the run without noise. By default every realization keeps the order of that
    run. Then many are executed at once; but a message that noise delays holds up what was behind it
    in that order, also where the rank could go on without it. How much that changes,
    `ScheduleResult.order_check` says. With ``order="arrival"`` each realization has its own order.
    Which message a receive takes is that of the run without noise in any case.

    Noise of a rank takes all its CPUs. Draws of `StepNoise`, `MessageNoise` and `NetworkJitter` are
    numbered by the operations of a rank, in their order in the file; of messages, by the receive.
    ``during="compute"`` is ``calc``, "communication" are sends and messages taken. Other than in
    LogGOPSim, noise that hits a send delays its message. A schedule has no cycles: `LateArrival`
    makes a rank begin late, once, whatever its `each` is; the rank is not done before that, also
    where it has no operations.

    Examples
    --------
    >>> import jitterfly as jf
    >>> case = jf.Case(16, network="L=1us,o=200ns", compute_time="100us", cycles=20,
    ...                algorithm=jf.RecursiveDoublingAllreduce(), message_bytes=8)
    >>> noise = jf.PeriodicNoise(period="1ms", duration="25us", start="stationary")
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from jitterfly.goal import goal_schedule
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "app.goal"
    ...     _ = path.write_text(goal_schedule(case).text)
    ...     found = jf.simulate_schedule(path, "L=1us,o=200ns", noise, seed=7, realizations=500)
    >>> print(f"{found.slowdown():.3f}")
    1.198 [1.197, 1.200]
    """
    backend = backend_named(backend)
    check_choice(order, "order", ORDERS)
    check_integer(order_checks, "order_checks", 0, 10**6)
    if backend == "cuda" and order == "arrival":
        raise ValueError("order must be 'noise-free' with backend 'cuda': that of arrival is "
                         "found on the CPU")  # fmt: skip
    prepared = prepare(
        schedule, network, noise, realizations, seed, threads, progress, first_realization, marks,
        speed, backend,
    )  # fmt: skip
    schedule, network, sources, realizations, seed, first_realization, compiled, names, _ = prepared
    plan, program = compiled
    checks = min(order_checks, realizations) if sources and order == "noise-free" else 0
    available = memory.available_bytes()  # of which the plan has taken some
    engine = "cuda" if backend == "cuda" else "cpu"
    needed = 0  # of the machine's memory
    if order == "arrival":
        most = min(threads or processors(), realizations)
        needed = most * _arrival_bytes(schedule, len(sources))
    elif engine == "cuda":
        check_device_memory(lambda: core.schedule_memory(plan, program, realizations, 0, engine))
    else:
        needed = core.schedule_memory(plan, program, realizations, threads or 0)
    memory.check_memory(needed + 24 * realizations, "the realizations in flight", available)
    needed = _arrival_bytes(schedule, len(sources)) + 32 * schedule.operations
    unchecked = bool(checks) and available is not None and needed > available
    with reporting(progress, realizations, engine) as report:
        raw = core.simulate_schedule(
            plan, program, seed, first_realization, realizations, threads or 0, report,
            arrival_order=order == "arrival", backend=engine,
        )  # fmt: skip
    check_times(raw[:, :1])
    for source in sources:
        source.check_length(int(raw[:, 0].max()))
    chosen = () if unchecked else _to_check(raw[:, 0], checks)
    return ScheduleResult(
        schedule=schedule,
        network=network,
        noise=sources,
        seed=seed,
        first_realization=first_realization,
        ticks=np.ascontiguousarray(raw[:, 0]),
        last_rank=np.ascontiguousarray(raw[:, 1]),
        noise_free=plan.completion / TICKS_PER_SECOND,
        order=order,
        order_check=_check_order(schedule, compiled, seed, first_realization, chosen),
        unchecked=memory.show_bytes(needed) if unchecked else "",
        marks=names,
        mark_ticks=np.ascontiguousarray(raw[:, 2:]),
        marks_noise_free=np.array(plan.reached, dtype=np.int64),
        speed=speed,
    )


def _plan_bytes(schedule: Schedule, network: LogGOPS | Hierarchy) -> int:
    """Memory at least that a schedule's order and its making take.

    24 bytes of an action and 4 of a match for each operation; while it is made, 12 of what each
    waits for; of a CPU, and of the ways in and out, 16; of the costs of each size of messages on
    each level 300, of which most are Python's; of a rank 32 for its place and speed.
    """
    each = schedule.ranks * (schedule.cpus + schedule.nics)
    costs = 300 * len(schedule.message_sizes) * len(_levels_of(network)) + 32 * schedule.ranks
    return 28 * schedule.operations + _waiting_bytes(schedule) + 16 * each + costs


def _arrival_bytes(schedule: Schedule, sources: int) -> int:
    """Memory at least that one realization takes in the order of arrival; 32: state of a source."""
    each = schedule.ranks * (schedule.cpus + schedule.nics)
    return _waiting_bytes(schedule) + 16 * each + 32 * sources * schedule.ranks


def _waiting_bytes(schedule: Schedule) -> int:
    return 12 * schedule.operations + schedule.operations // 8


def _check_network(network: LogGOPS | Hierarchy | str) -> LogGOPS | Hierarchy:
    found: Network = check_network(network)
    levels = found.networks if isinstance(found, Hierarchy) else [found]
    if not all(isinstance(level, LogGOPS) for level in levels):
        raise ValueError(
            f"network must be LogGOPS(...) for a schedule, or a Hierarchy of them, or text such as "
            f"'L=1us,o=200ns', got {shorten(network)}"
        )
    if any(getattr(level, "gamma", 0) for level in levels):
        raise ValueError("network: gamma must be left out for a schedule, which says itself (calc) "
                         "what is combined")  # fmt: skip
    return found  # type: ignore[return-value]


def _check_sources(sources: Sequence[Noise]) -> None:
    """Raise ValueError for what needs routes, which a schedule has not."""
    if any(isinstance(source, Congestion) for source in sources):
        raise ValueError(
            "noise must hold no Congestion for a schedule: its messages have no routes"
        )


def _warn_of_idle_speed(schedule: Schedule, speed: Speed | None) -> None:
    if speed is None:
        return
    uneven = np.flatnonzero(speed.of_ranks(schedule.ranks) != 1)
    why = "the schedule calculates nothing"
    if not uneven.size:
        why = "the factor of every rank is 1"
    elif schedule._mapped.longest_calculation:
        if any(_calculates(schedule, rank) for rank in uneven.tolist()):
            return
        why = "the ranks whose factor is not 1 calculate nothing"
    warn_of_idle_speed(speed, why)


def _calculates(schedule: Schedule, rank: int) -> bool:
    operations = schedule._mapped.operations_of(rank)
    return bool(((operations[:, 0] == _CALCULATION) & (operations[:, 1] > 0)).any())


def machine_in_words(network: LogGOPS | Hierarchy, speed: Speed | None) -> list[str]:
    """The network, and how slow ranks are where they differ; a line each."""
    told = [f"network: {in_words(network)}"]
    return told if speed is None else [*told, f"speed of the ranks: {in_words(speed)}"]


def _exposed_work(
    schedule: Schedule, network: LogGOPS | Hierarchy, *, of_speeds: bool = False
) -> ExposedWork:
    """What noise can hit in a schedule; a calculation counts as work however short it is."""
    sizes = schedule.message_sizes
    longest = int(sizes.max(initial=1)) - 1
    levels = _levels_of(network)
    cpu = max(to_ticks(one.o) + to_ticks(exact(one.O) * longest) for one in levels)
    way = max(to_ticks(one.L) + to_ticks(exact(one.G) * longest) for one in levels)
    there = schedule.messages > 0
    # A factor lengthens no calculation of 0 ns, which delays of steps do hit.
    compute = schedule._mapped.longest_calculation if of_speeds else schedule.calculations
    return ExposedWork(
        compute=compute,
        communication=cpu if there else 0,
        transit=way if there else 0,
        exchanges=schedule.messages,
    )


def _to_check(ticks: npt.NDArray[np.int64], count: int) -> list[int]:
    """Which realizations are executed in two orders: the first, and then the longest of the others.

    The first are a fair sample. The longest show what rare noise does, which that sample misses.
    """
    first = count - count // 2
    longest = first + np.argsort(-ticks[first:], kind="stable")[: count // 2]
    return [*range(first), *sorted(longest.tolist())]


def _check_order(
    schedule: Schedule, compiled: CompiledSchedule, seed: int, first: int, chosen: Sequence[int]
) -> OrderCheck | None:
    """The chosen realizations in two orders."""
    if not chosen:
        return None
    same, differences, added = 0, [], []
    for number in each(chosen, len(chosen), "executing realizations in two orders"):
        fixed, free = (
            core.operation_times(schedule._mapped, *compiled, seed, first + number, arrival_order)
            for arrival_order in (False, True)
        )
        same += bool(np.array_equal(fixed, free))
        ends = [int(times[:, 1].max(initial=0)) for times in (fixed, free)]
        differences.append((ends[1] - ends[0]) / TICKS_PER_SECOND)
        added.append((ends[0] - compiled.plan.completion) / TICKS_PER_SECOND)
    largest = max(map(abs, differences))
    return OrderCheck(
        len(chosen), same, float(np.mean(differences)), largest, float(np.mean(added))
    )


def _scaled(estimate: Estimate, scale: Callable[[float], float]) -> Estimate:
    ends = {name: scale(float(getattr(estimate, name))) for name in ("value", "low", "high")}
    return dataclasses.replace(estimate, **ends)


def _signed(seconds: float) -> str:
    return f"{'-' if seconds < 0 else '+'}{show_seconds(abs(seconds))}"


def _show_ratios(estimate: Estimate) -> str:
    value, low, high = (
        f"{float(end):.5g}" if math.isfinite(end) else "?" for end in ends(estimate)
    )
    return f"{value} [{low}, {high}]"
