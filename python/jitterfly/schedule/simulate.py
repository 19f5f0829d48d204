"""`simulate_schedule`: a schedule with LogGOPS costs under noise; run times of realizations.

Also what is warned of: recordings that are short beside its CPU time, and short receives.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import resources
from ..backends import backend_named, check_device_memory, check_run_arguments, core, reporting
from ..case import warn_of_doubts, warn_of_ineffective_sources, warn_of_ineffective_speed
from ..fields import MAX_REALIZATIONS, Int, shorten, stacklevel_of_user
from ..hierarchy import Hierarchy
from ..imbalance import Speed, check_ranks
from ..network import LogGOPS, Network, check_network
from ..noise import Congestion, Noise, SpeedNoise, StepNoise
from ..noise.source import ExpectedWork, MaxWork, check_sources, check_walks
from ..program import check_times
from ..question import (
    EFFORT,
    Anything,
    Backend,
    Choice,
    Count,
    NetworkParameter,
    NoiseParameter,
    OptionalCount,
    Parameter,
    Part,
    Progress,
    Question,
    Seed,
    Threads,
    call_of,
    question,
    required,
)
from ..syntax import read_noise_texts
from ..units import LONGEST_TICKS, TICKS_PER_SECOND, show_bytes
from ..unseen_noise import RecordedNoise, SourceHits, hits_of
from ..workload import NO_WORK, RankWork, Work, doubts_of, place_noise, unfit_nodes, unseen_changes
from .compile import CompiledSchedule, LevelCosts, compile_schedule, levels_of
from .order import (
    arrival_bytes,
    bytes_to_check,
    compare_orders,
    different_realizations,
    realizations_to_check,
    usual_checks,
    waiting_bytes,
)
from .result import ScheduleResult
from .schedule import KINDS, NO_MARK, NO_MARKS, Marks, Schedule, check_marks, read_marks

ORDERS = ("noise-free", "arrival")


class ShortReceiveWarning(UserWarning):
    """A receive of a schedule has fewer bytes than the message that it takes."""


class _ScheduleToRun(Parameter["Schedule | str | Path", Schedule]):
    """A schedule, or its file."""

    takes = "Schedule | str | Path"

    def read(self, value: Any, name: str) -> Schedule:
        return value if isinstance(value, Schedule) else Schedule.read(value)


class _ScheduleNetwork(NetworkParameter["LogGOPS | Hierarchy"]):
    def read(self, value: Any, name: str) -> LogGOPS | Hierarchy:
        return check_schedule_network(value)


class _ScheduleNoise(NoiseParameter):
    def read(self, value: Any, name: str) -> tuple[Noise, ...]:
        return check_schedule_noise(value)

    def from_text(self, text: list[str], name: str, given: Mapping[str, Any]) -> Any:
        if any(one.get("kind") == "congestion" for one in read_noise_texts(text, name)):
            raise ValueError(f"{name}: kind=congestion is not for a schedule, whose messages have "
                             "no routes")  # fmt: skip
        return super().from_text(text, name, given)


@question
class ScheduleParameters(Question):
    """A schedule, its machine and its noise, which are simulated or explained."""

    schedule: _ScheduleToRun = required(
        _ScheduleToRun("what to run, or its file (`Schedule.read`)", option=None)
    )
    network: _ScheduleNetwork = required(
        _ScheduleNetwork(
            "what a message costs: L, o, g, G, O, and S in bytes, or levels of them: '8: "
            "L=300ns,o=100ns; L=1us,o=200ns'",
            'As text: ``"L=1us,o=200ns"``. Here `S` is used: a message of more bytes is sent with '
            "rendezvous. ``gamma`` must be left out: a schedule says what is combined.",
            usual="L=1us,o=200ns,G=0.1ns",
        )
    )
    noise: _ScheduleNoise = _ScheduleNoise(
        "a noise file, or K=V,... such as period=1ms,duration=10us; several add up",
        "All but `Congestion`. `SpeedNoise` lengthens ``calc``; `StepNoise` delays each ``calc`` "
        'above 0 ns as well as messages, unless it has ``during="communication"``.',
        default=(),
    )
    realizations: Count = Count(
        "how many", "As in `simulate`.", default=1000, low=1, high=MAX_REALIZATIONS, part=EFFORT
    )
    seed: Seed = Seed("of the draws", "As in `simulate`.", default=0)
    threads: Threads = Threads()
    progress: Progress = Progress()
    first_realization: Count = Count(
        "the number of the first one",
        "As in `simulate`.",
        default=0,
        low=0,
        high=MAX_REALIZATIONS - 1,
        option=None,
    )
    _: KW_ONLY
    speed: Part[Speed] = Part(
        Speed,
        "ranks that take longer for calc: kind=slow_ranks,factor=1.2,ranks=3 17; "
        "kind=slow_nodes,...; kind=drawn,...",
        "The factor is rounded to a multiple of 2^-32. The time without noise has it, too.",
    )

    def prepare(
        self, marks: str | Path | None = None, order: str = "noise-free", backend: str = "cpu"
    ) -> Prepared:
        """Check all, and plan the schedule; errors as `simulate_schedule`."""
        schedule, network, sources, speed = self.schedule, self.network, self.noise, self.speed
        if speed is not None:
            check_ranks(schedule.ranks)
        unseen: Sequence[str] = ()
        if schedule.operations:
            work = [max_work(schedule, network, positive=needs_length(one)) for one in sources]
            warn_of_ineffective_sources(sources, work, schedule.ranks, remedies=False)
            unseen = unseen_changes(sources, work)
            if speed is not None and (why := why_speed_is_ineffective(speed, schedule)):
                warn_of_ineffective_speed(speed, why)
        count = self.realizations
        check_run_arguments(
            count, self.seed, backend, self.threads, self.progress, self.first_realization
        )
        kept = schedule.marks if marks is None else read_marks(schedule, marks)
        compiled = plan_schedule(schedule, network, sources, kept, speed, order, results=count)
        plan = compiled.plan
        check_lengths(sources, plan)
        placed = place_noise(sources, network, schedule.ranks)
        each = work_of_plan(schedule.ranks, plan)
        measured = unfit_nodes(placed, network, {"speed": speed})
        measured += doubts_of(placed, network, each)
        warn_of_doubts(measured, unseen)
        warn_of_short_receives(schedule, plan)
        recorded = RecordedNoise.of(placed, each)
        if recorded.sources:
            recorded = recorded._replace(meets=expected_work(schedule, plan))
        return Prepared(compiled, kept or NO_MARKS, (*measured, *unseen), recorded)


class Prepared(NamedTuple):
    """The plan of a schedule that is ready to run, and what is known of it."""

    compiled: CompiledSchedule
    marks: Marks
    doubts: tuple[str, ...]
    recorded: RecordedNoise


def check_lengths(sources: Sequence[Noise], plan: core.SchedulePlan) -> None:
    """Raise ValueError for sources with more intervals than can be gone through."""
    for source in sources:
        source.check_length(plan.completion)
    check_walks(sources, plan.completion, plan.completion)


def plan_schedule(
    schedule: Schedule,
    network: LogGOPS | Hierarchy,
    sources: tuple[Noise, ...],
    marks: Marks | None,
    speed: Speed | None,
    order: str = "noise-free",
    *,
    results: int = 0,
) -> CompiledSchedule:
    """Plan and program of a schedule; there must be memory for them and for `results` run times.

    Raises
    ------
    ValueError
        As `compile_schedule`; not enough memory; the schedule takes longer than 2^62 ps; marks
        stand in another order than they are reached.
    """
    what = f"the order of {schedule.operations:,} operations"
    what += f", and {results:,} results" if results else ""
    needed = _plan_bytes(schedule, network) + 24 * results
    if marks is not None:
        what += f", and {len(marks.names):,} marks"
        needed += 24 * schedule.operations + 8 * (2 * results + 32) * len(marks.names)
    resources.check_memory(needed, what, resources.available_memory())
    compiled = compile_schedule(schedule, network, sources, marks, speed, order)
    completion = compiled.plan.completion
    if completion > LONGEST_TICKS:
        raise ValueError(
            f"the schedule must take less than 2^62 ps (53 days), without noise it takes "
            f"{completion / TICKS_PER_SECOND:.3g} s"
        )
    if marks is not None:
        check_marks(marks.names, compiled.plan.reached)
    return compiled


def execute(
    schedule: Schedule,
    compiled: CompiledSchedule,
    sources: tuple[Noise, ...],
    realizations: int,
    seed: int,
    first_realization: int,
    threads: Int | None,
    order: str,
    engine: str,
    progress: Callable[[int, int], object] | None = None,
) -> npt.NDArray[np.int64]:
    """Realizations of a schedule by the engine "cpu" or "cuda".

    Returns
    -------
    int64 array, shape (realizations, 2 + marks)
        The run time in ticks, the rank that is last, and when each mark is reached.
    """
    plan, program = compiled
    available = resources.available_memory()  # of which the plan has taken some
    needed = 0  # of the machine's memory
    if engine == "cuda":
        check_device_memory(lambda: core.schedule_memory(plan, program, realizations, 0, engine))
    else:
        needed = bytes_in_flight(
            schedule, compiled, sources, realizations, int(threads or 0), order
        )
    resources.check_memory(needed + 24 * realizations, "the realizations in flight", available)
    with reporting(progress, realizations, engine) as report:
        raw = core.simulate_schedule(
            plan, program, seed, first_realization, realizations, int(threads or 0), report,
            arrival_order=order == "arrival", backend=engine,
        )  # fmt: skip
    check_times(raw[:, :1])
    for source in sources:
        source.check_length(int(raw[:, 0].max()))
    return raw


@question
class ScheduleQuestion(ScheduleParameters):
    """The question of `simulate_schedule`."""

    order: Choice[str] = Choice(
        "in which operations that compete for a CPU are executed: noise-free or arrival (slower)",
        "See Notes. Arrival executes one realization after the other on each processor, event by "
        "event.",
        default="noise-free",
        allowed=ORDERS,
    )
    order_checks: OptionalCount = OptionalCount(
        "this many realizations are executed in the order of arrival, too, to see whether that "
        "matters; 0: none",
        "On one processor: half of them are the first, the others those that take longest. There "
        "is none either where memory is short, which `ScheduleResult.notes` say.",
        low=0,
        high=MAX_REALIZATIONS,
        usual="5 to 50, by the number of operations",
    )
    marks: Anything[str | Path | None] = Anything(
        "which operations end iterations: a file of lines NAME RANK LABEL (#N: number N of the "
        "rank, from 0), or those with a tag: tag=7, tag=7,every=2,kind=recv",
        "All with the same name are one mark, reached when the last of them is done. LABEL is that "
        'of the text. Or a pattern: "tag=7": the first send or receive with tag 7 of each rank is '
        'of the first mark, the second of the second, and so on; "tag=7,every=2": two of each rank '
        'are of one mark; "tag=7,kind=recv": receives alone. Without it, those that the '
        "schedule's `ScheduleBuilder` was told of.",
        takes="str | Path | None",
        default=None,
        metavar="FILE|tag=N,...",
    )
    _: KW_ONLY
    backend: Backend = Backend(
        "On a GPU a thread executes the whole schedule for one realization, which needs thousands "
        'of realizations to be worthwhile. So "auto" is the CPU. The results are the same. The '
        "order of arrival, and the order checks, are executed on the CPU.",
    )


def _answer(asked: ScheduleQuestion) -> ScheduleResult:
    """Run an application's schedule under many realizations of noise.

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
    ScarceRecordingWarning
        A noise file is short beside the CPU time of all ranks that it can hit, or has few detours.
    ShortReceiveWarning
        Receives have fewer bytes than their messages, which count with the bytes of their sends.
    UnseenChangeWarning
        A calculation is longer than the time for which a drawn speed `holds`.

    Notes
    -----
    The rules are LogGOPSim's (Hoefler, Schneider & Lumsdaine, HPDC 2010), n being the bytes of a
    message; of one of 0 bytes, n - 1 counts as 0 (LogGOPSim charges -1 further bytes). A send takes
    its CPU for o + (n - 1) O, and the way out for g + (n - 1) G from o before its first byte has
    left, which it has after o. That byte arrives L later, and is taken when CPU and way in are
    free, posted or not: for o, and until (n - 1) O of CPU time are done and the bytes are there,
    (n - 1) G later. From when it is taken on, the way in is taken for g + (n - 1) G. A receive is
    posted at no cost. With more than S bytes, a send is done when its receive is posted and its
    message begins to be taken. A message is taken by the CPU and the interface with the numbers
    that its send names. On a `Hierarchy`, L, o, g, G, O and S of a message are those of the level
    that it crosses, for both of its ranks.

    Where several operations or messages compete for a CPU, LogGOPSim executes the one that can
    begin first; of those that can begin at one instant, the one that was queued first. This is the
    order of arrival. A message is queued when its send begins, an operation when the last of what
    it requires begins, before that is done; what requires a receive, when the message is being
    taken. Of those that are queued at once, sends come before receives before calculations, then as
    they stand in the schedule. The run without noise on ranks that are equally fast has this order.
    By default every realization keeps the order of that run, at whatever `speed`. Then many are
    executed at once; but a message that is delayed holds up what was behind it in that order, also
    where the rank could go on without it. How much that changes, `ScheduleResult.order_check` says.
    With ``order="arrival"`` each realization has its own order. Which message a receive takes is
    that of the run without noise on ranks that are equally fast in any case.

    Noise of a rank takes all its CPUs. A rank sends no messages to itself. Draws of `StepNoise`,
    `MessageNoise` and `NetworkJitter` are numbered by the operations of a rank, in their order in
    the file; of messages, by the receive. ``during="compute"`` is ``calc``, "communication" are
    sends and messages taken. Other than in LogGOPSim, noise that hits a send delays its message. A
    schedule has no cycles: `LateArrival` makes a rank begin late, once, whatever its `each` is; the
    rank is not done before that, also where it has no operations.

    Examples
    --------
    >>> import jitterfly as jf
    >>> case = jf.Case(16, network="L=1us,o=200ns", compute_time="100us", cycles=20,
    ...                algorithm=jf.RecursiveDoublingAllreduce(), message_bytes=8)
    >>> noise = jf.PeriodicNoise(period="1ms", duration="25us", start="stationary")
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from jitterfly.goal_export import goal_schedule
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "app.goal"
    ...     _ = path.write_text(goal_schedule(case).text)
    ...     found = jf.simulate_schedule(path, "L=1us,o=200ns", noise, seed=7, realizations=500)
    >>> print(f"{found.slowdown():.3f}")
    1.198 [1.197, 1.200]
    """
    requested, order = backend_named(asked.backend), asked.order
    schedule, network, sources, speed = asked.schedule, asked.network, asked.noise, asked.speed
    realizations, seed, first = asked.realizations, asked.seed, asked.first_realization
    check_order_on(requested, order)
    compiled, marks, doubts, recorded = asked.prepare(asked.marks, order, requested)
    plan = compiled.plan
    checks = asked.order_checks
    checks = usual_checks(schedule.operations) if checks is None else checks
    different = different_realizations(realizations, sources, speed)
    checks = min(checks, different) if order == "noise-free" else 0
    available = resources.available_memory()  # of which the plan has taken some
    needed = bytes_to_check(schedule, len(sources))
    unchecked = bool(checks) and available is not None and needed > available
    engine = "cuda" if requested == "cuda" else "cpu"
    raw = execute(
        schedule, compiled, sources, realizations, seed, first, asked.threads, order, engine,
        asked.progress,
    )  # fmt: skip
    chosen, fair = realizations_to_check(raw[:, 0], 0 if unchecked else checks)
    numbers = [first + one for one in chosen]
    expected = tuple(_expected_hits(schedule, network, sources, plan, float(raw[:, 0].mean())))
    return ScheduleResult(
        schedule=schedule,
        network=network,
        noise=sources,
        seed=seed,
        first_realization=first,
        ticks=np.ascontiguousarray(raw[:, 0]),
        last_rank=np.ascontiguousarray(raw[:, 1]),
        noise_free=plan.completion / TICKS_PER_SECOND,
        order=order,
        order_check=compare_orders(
            schedule, network, speed, compiled, seed, numbers, fair, raw[:, 0]
        ),
        unchecked=show_bytes(needed) if unchecked else "",
        marks=marks.names,
        mark_ticks=np.ascontiguousarray(raw[:, 2:]),
        mark_ticks_noise_free=np.array(plan.reached, dtype=np.int64),
        speed=speed,
        backend=engine,
        doubts=doubts,
        recorded=recorded,
        expected=expected,
        work_at_marks=work_until(schedule, marks if expected else None),
    )


simulate_schedule = call_of(ScheduleQuestion, _answer, "simulate_schedule")


def work_until(schedule: Schedule, marks: Marks | None) -> Work:
    """Count messages taken, and calculations, up to each mark, by the order of operations.

    Shape (marks + 1, 2); the last row has all of them. No rows without marks.
    """
    if marks is None or not marks.names:
        return NO_WORK
    count = len(marks.names)
    work = np.zeros((count + 1, 2), dtype=np.int64)
    for rank, begin in enumerate(schedule._mapped.begins[: schedule.ranks]):
        operations = schedule._mapped.operations_of(rank)
        of = marks.of[begin : begin + len(operations)]
        ends = np.flatnonzero(of != NO_MARK)
        # An operation is part of what ends with the next mark of its rank.
        part = np.append(of[ends], count)[np.searchsorted(ends, np.arange(len(of)))]
        kinds = operations[:, 0]
        calculates = (kinds == KINDS["calc"]) & (operations[:, 1] > 0)
        for i, chosen in enumerate((kinds == KINDS["recv"], calculates)):
            work[:, i] += np.bincount(part[chosen], minlength=count + 1)
    return work.cumsum(axis=0)


def _expected_hits(
    schedule: Schedule,
    network: LogGOPS | Hierarchy,
    sources: tuple[Noise, ...],
    plan: core.SchedulePlan,
    duration: float,
) -> list[SourceHits]:
    """Return what to expect of each random source that acts; none where it is alone.

    `duration`: how long a realization lasts on average, in ticks.
    """
    acting = [
        (place, source)
        for place, source in enumerate(place_noise(sources, network, schedule.ranks))
        if source.random
        for work in [max_work(schedule, network, positive=needs_length(source))]
        if source.can_delay(work, schedule.ranks)
    ]
    if len(acting) < 2:  # the sample tells how often it met it
        return []
    return hits_of(acting, expected_work(schedule, plan)._replace(duration=duration))


def bytes_in_flight(
    schedule: Schedule,
    compiled: CompiledSchedule,
    sources: tuple[Noise, ...],
    realizations: int,
    threads: int,
    order: str,
) -> int:
    """Memory of the CPU engine beside the plan; 0 threads: all processors."""
    if order == "arrival":
        threads = min(threads or core.hardware_threads(), realizations)
        return threads * arrival_bytes(schedule, len(sources))
    return core.schedule_memory(*compiled, realizations, threads)


def _plan_bytes(schedule: Schedule, network: LogGOPS | Hierarchy) -> int:
    """Memory at least that a schedule's order and its making take.

    24 bytes of an action and 4 of a match for each operation; while it is made, 12 of what each
    waits for; of a CPU, and of the ways in and out, 16; of the costs of each size of messages on
    each level 300, of which most are Python's; of a rank 32 for its place and speed.
    """
    each = schedule.ranks * (schedule.cpus + schedule.nics)
    costs = 300 * len(schedule.message_sizes) * len(levels_of(network)) + 32 * schedule.ranks
    return 28 * schedule.operations + waiting_bytes(schedule) + 16 * each + costs


def check_order_on(backend: str, order: str) -> None:
    """Raise ValueError for the order of arrival on a GPU."""
    if backend == "cuda" and order == "arrival":
        raise ValueError(
            "order must be 'noise-free' with backend 'cuda': that of arrival is found on the CPU"
        )


def check_schedule_network(network: LogGOPS | Hierarchy | str) -> LogGOPS | Hierarchy:
    """Check the network of a schedule, also as text, and return it.

    A schedule can have no network other than LogGOPS, no gamma, no distances and no shared card.
    """
    found: Network = check_network(network)
    levels = found.networks if isinstance(found, Hierarchy) else [found]
    if not all(isinstance(level, LogGOPS) for level in levels):
        raise ValueError(
            f"network must be LogGOPS(...) for a schedule, or a Hierarchy of them, or text such as "
            f"'L=1us,o=200ns', got {shorten(network)}"
        )
    if isinstance(found, Hierarchy) and found.distances is not None:
        raise ValueError("network: a schedule can not have distances; only collectives can")
    if isinstance(found, Hierarchy) and found.shared_card:
        raise ValueError(
            "network: shared_card must be left out for a schedule; steps of collectives alone say "
            "which messages are sent at once"
        )
    if any(getattr(level, "gamma", 0) for level in levels):
        raise ValueError("network: gamma must be left out for a schedule, which says itself (calc) "
                         "what is combined")  # fmt: skip
    return found  # type: ignore[return-value]


def check_schedule_noise(
    noise: str | Path | Noise | Sequence[Noise | str | Path],
) -> tuple[Noise, ...]:
    """Check the noise of a schedule, which has no routes for congestion, and return the sources."""
    sources = check_sources(noise)
    if any(isinstance(source, Congestion) for source in sources):
        raise ValueError(
            "noise must hold no Congestion for a schedule: its messages have no routes"
        )
    return sources


def why_speed_is_ineffective(speed: Speed, schedule: Schedule) -> str:
    """Say why speeds change nothing in a schedule; "" where they do."""
    uneven = np.flatnonzero(speed.of_ranks(schedule.ranks) != 1)
    if not uneven.size:
        return "the factor of every rank is 1"
    if not schedule._mapped.longest_calculation:
        return "the schedule calculates nothing"
    if any(positive_calculations(schedule, rank) for rank in uneven.tolist()):
        return ""
    return "the ranks whose factor is not 1 calculate nothing"


def positive_calculations(schedule: Schedule, rank: int) -> int:
    """Count the calculations of a rank that take longer than 0 ns."""
    operations = schedule._mapped.operations_of(rank)
    return int(np.count_nonzero((operations[:, 0] == KINDS["calc"]) & (operations[:, 1] > 0)))


def needs_length(source: Noise | None) -> bool:
    """Return whether a source hits no calculation of 0 ns; an interval of noise can delay one."""
    return isinstance(source, (SpeedNoise, StepNoise))


def max_work(schedule: Schedule, network: LogGOPS | Hierarchy, *, positive: bool) -> MaxWork:
    """Return what noise can hit in a schedule; `positive`: calculations of 0 ns do not count."""
    longest = int(schedule.message_sizes.max(initial=1))
    levels = [LevelCosts.of(one, [longest]) for one in levels_of(network)]
    cpu = max(one.o + one.cpu[0] for one in levels)
    way = max(one.way + one.wire[0] for one in levels)
    there = schedule.messages > 0
    longest_calculation = schedule._mapped.longest_calculation * 1000  # of ns
    compute = longest_calculation if positive else schedule.calculations
    return MaxWork(
        compute=compute,
        communication=cpu if there else 0,
        transit=way if there else 0,
        exchanges=schedule.messages,
    )


def work_of_plan(ranks: int, plan: core.SchedulePlan) -> RankWork:
    """Return how long a rank works, on average; all of a schedule counts as one cycle."""
    compute, communication = (ticks / ranks for ticks in plan.cpu_time)
    return RankWork(ranks, 1, compute, communication)


def expected_work(schedule: Schedule, plan: core.SchedulePlan) -> ExpectedWork:
    """Return the work that noise meets in a realization, whose duration is not known yet."""
    compute, communication = plan.cpu_time
    ranks, messages = schedule.ranks, schedule.messages / schedule.ranks
    phases = sum(positive_calculations(schedule, rank) for rank in range(ranks))
    return ExpectedWork(
        ranks=ranks,
        cycles=1,
        duration=0.0,
        compute=compute / ranks,
        work=communication / ranks,
        stretches=2 * messages,
        rounds=((ranks, messages, None),),
        phases=phases / ranks,
    )


def warn_of_short_receives(schedule: Schedule, plan: core.SchedulePlan) -> None:
    """Warn once of all receives that have fewer bytes than the messages that they take.

    Longer ones are usual: MPI's are as long as their buffers.
    """
    count, rank, number, sent = plan.short_receives
    if not count:
        return
    _, size, source, _, _, _, line = map(int, schedule._mapped.operation(rank, number))
    where = f"line {line:,}" if line else f"number {number:,}"
    several = "1 receive has" if count == 1 else f"{count:,} receives have"
    warnings.warn(
        f"{schedule.name}: {several} fewer bytes than the message to take: the first is that of "
        f"rank {rank:,}, {where}, recv {size:,}b from {source:,}, for a message of {sent:,} bytes; "
        "a message counts with the bytes of its send",
        ShortReceiveWarning,
        stacklevel=stacklevel_of_user(),
    )
