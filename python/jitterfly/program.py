"""`Collective`: what a `Case` compiles to: the engine's program, its rows and columns, and runs.

Also its times without noise: the baseline of overhead and slowdown.
"""

from __future__ import annotations

import copy
import itertools
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from . import resources
from .algorithms import Algorithm
from .backends import backend_named, check_run_arguments, choose_backend, core, reporting
from .compiled_steps import (
    NEVER,
    CompiledSteps,
    HashedOnce,
    compile_steps,
    is_symmetric,
    symmetric_timeline,
)
from .fields import Component, Int, own_components, parameter, shorten
from .imbalance import Arrival, Speed, scaled
from .network import LogGOPS
from .noise import Congestion, Noise, SpeedNoise
from .noise.source import ExpectedWork, MaxWork
from .steps import (
    ASK,
    COPY,
    DRAWS_PER_CYCLE,
    ENTER,
    EXCHANGE,
    FORWARD,
    LISTED,
    MESSAGE,
    OWN,
    OWN_TIME,
    START,
    STARTS_CLOCK,
    Costs,
    Step,
    digest_of_steps,
    power_below,
)
from .units import LONGEST_SECONDS, LONGEST_TICKS, to_ticks
from .workload import CompletionRow, Poll, RankWork, Workload

OVER_RANKS = ("spread", "arrival", "own", "rounds")
"""What is observed as latest, earliest and mean over the ranks."""
STATISTICS = ("max", "min", "mean")
_KIND, _ROUND, _FLAGS, _DRAW, _ROW, _MAP, _WORK, _DELAY = range(8)
_OWN_WORK, _OWN_DELAY = 1, 2  # what ranks have of their own in a COMPUTE step
_BLOCK = 1 << 16  # realizations reduced at once
_MAX_LISTED = 2**27  # messages: 1.5 GB
_MAX_CACHED_PROGRAMS = 1024
_kept: dict[Collective, npt.NDArray[np.int64]] = {}  # the oldest first


class Collective(Workload):
    """The base of `Case`, which has its fields and their checks: all that follows from them."""

    if TYPE_CHECKING:  # fields

        @property
        def algorithm(self) -> Algorithm: ...
        @property
        def message_bytes(self) -> int: ...
        @property
        def compute_time(self) -> float: ...
        @property
        def arrival(self) -> Arrival | None: ...
        @property
        def barrier(self) -> Algorithm | None: ...
        @property
        def L_factor(self) -> Speed | None: ...
        @property
        def G_factor(self) -> Speed | None: ...

    @property
    @abstractmethod
    def loops(self) -> tuple[Collective, ...]:
        """The cases whose programs give its columns, by ascending T; often it alone."""

    @property
    def log2_ranks(self) -> int:
        """The K of the largest power of two that is not above `ranks`, rounds of a butterfly."""
        return self.ranks.bit_length() - 1

    @property
    def costs(self) -> Costs:
        """The costs of one message of `message_bytes`, in ticks of 1 ps."""
        return self.network.costs(self.message_bytes)

    def cycle_steps(self) -> list[Step]:
        """The steps of one cycle, the same for each."""
        return list(self.compiled_steps.steps)

    @property
    def compiled_steps(self) -> CompiledSteps:
        """The steps of one cycle as the engine takes them, with costs in ticks."""
        return compile_steps(self._compiled_of)

    @cached_property
    def _compiled_of(self) -> HashedOnce:
        fields = self.algorithm, self.network, self.ranks, self.message_bytes
        slow = self.speed, self.draws_speeds, self.barrier, self.L_factor, self.G_factor
        return HashedOnce(*fields, self.is_routed, *slow)

    @property
    def is_even(self) -> bool:
        """Return whether all ranks arrive at once, and they and their links are equally fast."""
        given = self.arrival, self.speed, self.L_factor, self.G_factor  # maybe not yet checked
        return all(one is None for one in given)

    def rank_delays(self) -> npt.NDArray[np.int64] | None:
        """The lateness of each rank, in ticks: shape (1 or cycles, ranks); None: none is late."""
        return None if self.arrival is None else self.arrival.delays(self.ranks, self.cycles)

    def rank_work(self) -> npt.NDArray[np.int64] | None:
        """The CPU time of each rank's compute phase, in ticks, shape (ranks,); None: all alike."""
        work = to_ticks(self.compute_time)
        if self.speed is None or not work:
            return None
        return scaled(work, self.speed.of_ranks(self.ranks))

    @property
    def is_routed(self) -> bool:
        """Return whether messages share links, so that what each costs depends on the others."""
        return any(isinstance(noise, Congestion) for noise in self.noise)

    @property
    def draws_speeds(self) -> bool:
        """Return whether ranks differ in their speed by draws."""
        return any(isinstance(noise, SpeedNoise) for noise in self.noise)

    def own_parts(self) -> list[Component]:
        return [*own_components((self.algorithm, self.barrier)), *super().own_parts()]

    def content_of_own(self) -> dict[str, dict[str, str]]:
        """Return the content of a user's classes, and of an algorithm a digest of its steps."""
        own = {one.kind for one in self.own_parts() if isinstance(one, Algorithm)}
        if not own:
            return super().content_of_own()
        found = dict.fromkeys(own, digest_of_steps(self.cycle_steps()))
        return {"own": found | super().content_of_own().get("own", {})}

    def max_work(self, noise: Noise | None = None) -> MaxWork:
        """The work of a rank in one cycle that noise, of any kind, can hit at most.

        Work on which the completion does not depend is left out: a forward after the last result
        changes nothing where no rank can be late with the result.
        """
        work = self.work_in_cycle(trailing=self.cycles > 1)
        if self.cycles == 1 and any(one.can_delay(work, self.ranks) for one in self.noise):
            return self.work_in_cycle(trailing=True)
        return work

    def work_in_cycle(self, *, trailing: bool) -> MaxWork:
        """The work of a rank in one cycle, with the CPU time of `trailing` forwards or without."""
        total = 0

        def count(start: int, work: int) -> int:
            nonlocal total
            total += work
            return start + work

        compiled = self.compiled_steps
        hypercube = [step for step in compiled.steps if step.kind != MESSAGE]
        forward = compiled.forward if trailing else 0
        symmetric_timeline(hypercube, compiled.costs, 0, forward, count, asking=compiled.asking)
        work, way, exchanges = compiled.message_work
        for step in hypercube:
            if step.kind in (EXCHANGE, FORWARD):
                way = max(way, compiled.costs.transit)
                exchanges += step.kind == EXCHANGE
        compute = to_ticks(self.compute_time)
        return MaxWork(
            compute, total + work, way, exchanges, self._remedy(), compiled.longest_combining
        )

    def _remedy(self) -> str:
        """Say what would give the collective CPU work."""
        if self.ranks == 1:
            return "more ranks"
        if isinstance(self.network, LogGOPS):
            return "network.o (CPU time of a message)"
        if self.message_bytes and any(
            step.kind == EXCHANGE or step.combine for step in self.compiled_steps.steps
        ):
            return "network.gamma (CPU time to combine a byte)"
        return "a LogGOPS network, whose messages take CPU time (o),"

    def work_per_cycle(self) -> RankWork:
        work = self.max_work()
        return RankWork(self.ranks, self.cycles, float(work.compute), float(work.communication))

    def expected_work(self) -> ExpectedWork:
        return _expected_work(self)

    def why_speed_is_ineffective(self) -> str:
        # A speed acts on compute phases, and on combining.
        if self.compiled_steps.longest_combining > 0 or to_ticks(self.compute_time) > 0:
            return ""
        return (
            f"{self.algorithm.kind} combines nothing that takes CPU time, and there is no compute "
            f"phase; give {parameter('compute_time')} or network.gamma"
        )

    def rank_rounds(self) -> int:
        """The size of one realization: its messages, ranks times rounds for the butterfly.

        Forwards count; a redundant copy belongs to the exchange that it goes with, compute phases
        do not count. A cycle counts as one message of each rank at least. Where each T is a loop of
        its own (`loops`), those of all loops.
        """
        return sum(map(_messages_of_loop, self.loops))

    def observation_names(self) -> list[str]:
        """The names of the columns of `Result.samples`.

        Returns
        -------
        list of str
            With ``observe="completion"`` and "rank 0": "completion", or "T=3", "cycle 2", "cycle 2,
            T=3" where there are several T or cycles. With "spread": "<name>: max", "<name>: min",
            "<name>: mean" for each of them. With "arrival": the same, and before those of each
            cycle for "start" or "cycle 2, start"; where there are several cycles and T, before each
            of them for "cycle 2, T=3, start". With "own": the same, and behind each of them "own",
            or "cycle 2, T=3, own". With "rounds": those of "spread" for each row of `row_labels`.

        Examples
        --------
        >>> import jitterfly as jf
        >>> butterfly = jf.Butterfly(exchanges_after=2)
        >>> jf.Case(4, network=jf.Hockney(1e-6, 1e-9), algorithm=butterfly).observation_names()
        ['T=0', 'T=1', 'T=2']
        """
        if self.observe == "rounds":
            names = row_labels(self)
        elif self.observe in ("arrival", "own"):
            own = self.observe == "own"
            rows = ((start_name(self, row), row.name, *([own_name(self, row)] if own else []))
                    for row in self.completions())  # fmt: skip
            names = list(dict.fromkeys(name for row in rows for name in row))
        else:
            names = [row.name for row in self.completions()]
        if self.observe in ("completion", "rank 0"):
            return names
        return [f"{name}: {what}" for name in names for what in STATISTICS]

    def completions(self) -> list[CompletionRow]:
        redundancies = [s.redundancy for s in self.compiled_steps.steps if s.redundancy is not None]
        if self.cycles > 1 and len(self.loops) == 1:
            redundancies = redundancies[-1:]
        rows = []
        for cycle in range(1, self.cycles + 1):
            for redundancy in redundancies:
                parts = [f"cycle {cycle}"] if self.cycles > 1 else []
                parts += [f"T={redundancy}"] if len(redundancies) > 1 else []
                rows.append(CompletionRow(", ".join(parts) or "completion", redundancy, cycle))
        return rows

    def noise_only_delays(self) -> bool:
        """Return whether no realization can be earlier than without noise, in any row.

        All noise adds to times, but for speeds that are drawn: they may be faster. What a rank
        waits for is a maximum, with redundant exchanges after the collective a minimum, of times to
        which costs are added, in an order that noise does not change: none of these falls where
        another time grows. Copies inside a collective, at given levels or on demand, are the
        exception: a rank that adopts one does not combine it, and sends none itself. A rank's own
        time is a difference, and shorter where it leaves the barrier late.
        """
        if self.observe == "own":
            return False
        copies = any(step.flags & (COPY | ASK) for step in self.compiled_steps.steps)
        return not copies and not any(noise.hastens for noise in self.noise)

    def noise_free_ticks(self, poll: Poll | None = None) -> npt.NDArray[np.int64]:
        """The noise-free time of the last rank in each row that the case observes, in ticks.

        Rank 0's where the case observes that alone. Shape (rows,). On very many ranks that are not
        alike this takes minutes: `poll` can end it.
        """
        return _noise_free(_without_noise(self), poll)[:, 0]

    def noise_free_observations(self) -> npt.NDArray[np.int64]:
        """Return noise-free times for `Result.ticks`: latest, earliest and mean where they are."""
        if self.observe in OVER_RANKS:
            return _noise_free(_without_noise(self)).ravel()
        return self.noise_free_ticks()

    def engine_memory(self, realizations: int, threads: int = 0) -> int:
        return core.memory(compile_case(self), "cpu", threads, realizations)

    def check_results(self, realizations: int) -> tuple[int, int | None]:
        """Check that there is memory for the results; return their bytes, and those available."""
        # Ticks and seconds; with spread, three of each, and the engine's four. And names.
        words = 4 + 3 + 3 if self.observe in OVER_RANKS else 2
        rows = sum(row_count(loop, every_row=self.observe == "rounds") for loop in self.loops)
        held = rows * (realizations * 8 * words + 128 * words)
        available = resources.available_memory()
        resources.check_memory(held, f"the results of {realizations} realizations", available)
        return held, available

    def realize(
        self,
        realizations: int,
        seed: int,
        first_realization: int = 0,
        backend: str = "auto",
        threads: Int | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> tuple[npt.NDArray[np.int64], str]:
        backend = backend_named(backend)
        realizations, seed, first_realization = check_run_arguments(
            realizations, seed, backend, threads, progress, first_realization
        )
        spread = self.observe in OVER_RANKS
        loops = self.loops[::-1]
        held, available = self.check_results(realizations)
        program = compile_case(loops[0])
        threads = int(threads or 0)
        chosen = choose_backend(program, backend, threads, realizations, held, available)
        statistics = "all" if spread else "max"
        what = f"{self.ranks} ranks x {realizations} realizations"
        with resources.check_allocation(what), reporting(progress, realizations, chosen) as report:

            def ticks_of(number: int, loop: Collective) -> npt.NDArray[np.int64]:
                def report_part(done: int) -> None:
                    report((number * realizations + done) // len(loops))  # type: ignore[misc]

                raw = core.simulate(
                    compile_case(loop) if number else program,
                    seed,
                    first_realization,
                    realizations,
                    statistics,
                    chosen,
                    threads,
                    None if report is None else report_part,
                )
                check_times(raw[..., 0] if spread else raw)
                return max_min_mean(raw, ranks_of_rows(loop)) if spread else raw

            return join_loops(self, itertools.starmap(ticks_of, enumerate(loops))), chosen


def compile_case(
    case: Collective, *, every_row: bool = False, links_apart: bool = False
) -> core.Program:
    """The engine's program of a case; of one with several `loops` that of all its exchanges.

    Parameters
    ----------
    case : Case
        What to simulate.
    every_row : bool
        Number the rows as `row_labels` does, whatever the case observes.
    links_apart : bool
        What slow links add to the way of messages is a delay by a source of its own, behind all
        other noise of the network; times are the same.

    Returns
    -------
    core.Program
        The steps of all cycles, costs in ticks, and the noise.
    """
    rows = rows_of_steps(case, every_row or case.observe == "rounds")
    compiled = case.compiled_steps
    table, costs = compiled.table, compiled.costs
    one, listed = _engine_steps(compiled)
    steps = np.tile(one.astype(np.int32), (case.cycles, 1, 1))
    # Messages are numbered by the engine, from their round on.
    within = np.where(one[:, _KIND] == MESSAGE, 0, one[:, _ROUND])
    steps[:, :, _DRAW] = DRAWS_PER_CYCLE * np.arange(case.cycles)[:, None] + within
    steps[:, :, _ROW] = rows
    rank_times = None if case.is_even else _put_rank_times(case, steps)
    messages = np.array(table.entries, dtype=np.int64).reshape(-1, 4)
    if links_apart:
        messages[:, 2] -= table.slower
    program = core.Program(
        log2_ranks=case.log2_ranks,
        ranks=case.ranks,
        steps=steps.reshape(-1, one.shape[1]),
        messages=messages,
        load=compiled.load,
        loads=list(table.loads),
        combines=list(table.combines),
        listed=listed,
        rank_times=rank_times,
        rows=int(rows.max()) + 1,
        work=to_ticks(case.compute_time),
        forward=compiled.forward,
        one_rank=case.observe == "rank 0",
        mirrors=compiled.mirrors,
        **compiled.asking._asdict(),
        **costs._asdict(),
    )
    for noise in case.placed_noise:
        noise.apply(program, case.ranks, costs.transit, [cost.transit for cost in table.entries])
    if links_apart:  # as weather that is always the same
        program.add_weather(delay=core.Delay.constant(0), way=1)
        for cost, slower in enumerate(table.slower):
            program.add_weather(delay=core.Delay.constant(slower), cost=cost)
    return program


def _engine_steps(
    compiled: CompiledSteps,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32] | None]:
    """The steps of a cycle as the engine takes them, and the messages that some of them list.

    A step is kind, round, flags, draw, row, and what messages need: partner map, cost entry and
    repeats. Messages that differ in their costs are listed, as are forwards on a machine of several
    levels: see `CompiledSteps.listed_messages`.
    """
    steps: list[tuple[int, ...]] = []
    lists: list[npt.NDArray[np.int32]] = []
    places: dict[Hashable, tuple[int, int]] = {}  # steps with the same messages share them
    end = 0
    for number, (step, costs) in enumerate(
        zip(compiled.steps, compiled.table.of_step, strict=True)
    ):
        head = (step.kind, step.round, step.flags, 0, 0)
        half = step.kind == MESSAGE and not (step.sends and step.receives)
        if not len(costs):
            steps.append((*head, 0, 0, 0, 0, 0, 1))
        elif len(costs) == 1 and step.partners and (code := step.partners.code()):
            partners = (*code[:3], step.place) if half else code
            steps.append((*head, *partners, costs[0], step.repeat))
        else:
            entries = costs if isinstance(costs, tuple) else costs.tobytes()
            # To switches it is the sender whose link a message has, from there the receiver.
            same = (step.partners, entries, step.switch) if step.partners else (number,)
            if same not in places:
                lists.append(compiled.listed_messages(number))
                places[same] = end, end + len(lists[-1])
                end = places[same][1]
            if end > _MAX_LISTED:
                raise ValueError(
                    f"ranks must be fewer for this algorithm on this network: of a cycle's "
                    f"messages {end} or more are in steps that list them (those of unequal sizes, "
                    f"or on several levels of a Hierarchy), at most {_MAX_LISTED} fit"
                )
            place = step.place if half else 0
            steps.append((*head, LISTED, *places[same], place, costs[0], step.repeat))
    return np.array(steps), np.concatenate(lists) if lists else None


def _put_rank_times(case: Collective, steps: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """Put the ranks' own work and lateness into steps, shape (cycles, steps, 11); return ticks."""
    compute = steps[:, 0]  # the first step of a cycle
    times: list[npt.NDArray[np.int64]] = []
    work, delays = case.rank_work(), case.rank_delays()
    if work is not None:
        compute[:, _MAP] |= _OWN_WORK
        compute[:, _WORK] = 0
        times.append(work)
    if delays is not None:
        compute[:, _MAP] |= _OWN_DELAY
        begin = case.ranks * len(times)
        own = np.arange(case.cycles) if len(delays) > 1 else 0
        compute[:, _DELAY] = begin + case.ranks * own
        times.append(delays.ravel())
    return np.concatenate(times) if times else np.empty(0, dtype=np.int64)


def rows_of_steps(case: Collective, every_row: bool) -> npt.NDArray[np.int32]:
    """The row that each step goes to, or -1; shape (cycles, steps of one cycle)."""
    steps = case.compiled_steps.steps
    taken = np.tile(np.array(_observed_rows(case, steps, every_row)), (case.cycles, 1))
    if every_row:  # later collectives start where the cycle before ended: no row of their own
        taken[1:] &= np.array([step.label != START for step in steps])
    numbers = np.cumsum(taken.ravel(), dtype=np.int32).reshape(taken.shape) - 1
    return np.where(taken, numbers, -1).astype(np.int32)


def ranks_of_rows(case: Collective) -> npt.NDArray[np.int64]:
    """The number of ranks, from 0, that each row of a case of one program holds; shape (rows,).

    Those of the butterfly's levels hold the largest power of two, other rows all ranks.
    """
    if case.observe == "rank 0":
        return np.ones(len(case.completions()), dtype=np.int64)
    power, steps = power_below(case.ranks), case.compiled_steps.steps
    of_step = [power if step.kind in (ENTER, EXCHANGE) else case.ranks for step in steps]
    rows = rows_of_steps(case, case.observe == "rounds")
    return np.tile(np.array(of_step, dtype=np.int64), (case.cycles, 1))[rows >= 0]


def row_count(case: Collective, *, every_row: bool) -> int:
    """Count the rows that the engine observes in one program, without making their names."""
    one = sum(_observed_rows(case, case.compiled_steps.steps, every_row))
    return one * case.cycles - (case.cycles - 1 if every_row else 0)


def _observed_rows(case: Collective, steps: Sequence[Step], every_row: bool) -> list[bool]:
    """Return for each step whether its row of times is kept: all labelled ones, or completions."""
    if every_row:
        return [bool(step.label) for step in steps]
    numbers = [step.redundancy for step in steps if step.redundancy is not None]
    wanted = numbers[-1:] if case.cycles > 1 else numbers  # see `Case.loops`
    complete = [step.redundancy in wanted for step in steps]
    if case.observe not in ("arrival", "own"):
        return complete
    begins = [step.label == START for step in steps]
    if case.observe == "own":  # of a completion, in the row behind it
        behind = [False, *complete]
        own = [at and step.flags == OWN_TIME for at, step in zip(behind, steps, strict=False)]
        complete = [a or b for a, b in zip(complete, own, strict=True)]
    # A collective that is complete when it starts needs two rows: the other one is its end.
    complete[-1] = any(a and b for a, b in zip(begins, complete, strict=True))
    return [a or b for a, b in zip(begins, complete, strict=True)]


def message_count(step: Step, ranks: int) -> int:
    """Count the messages that a step sends, redundant copies aside."""
    if step.kind == MESSAGE and step.partners is not None:
        return step.partners.count(ranks) * step.repeat if step.sends else 0
    if step.kind == EXCHANGE:
        return power_below(ranks)
    return ranks if step.kind == FORWARD else 0


def _messages_of_loop(case: Collective) -> int:
    messages = sum(message_count(step, case.ranks) for step in case.compiled_steps.steps)
    return case.cycles * max(messages, case.ranks)


def row_labels(case: Collective) -> list[str]:
    """The names of the rows of `ready_times`.

    Returns
    -------
    list of str
        "start" of the first collective; then for every cycle "level 1" ... "level K" of the
        butterfly, or the steps of another algorithm such as "fold in" or "round 1" (repeated steps
        have one row, after the last), "forward 1" ... "forward T", and "end". With several cycles:
        "cycle 2, level 1".

    Examples
    --------
    >>> import jitterfly as jf
    >>> butterfly = jf.Butterfly(exchanges_after=1)
    >>> row_labels(jf.Case(4, network=jf.Hockney(1e-6, 1e-9), algorithm=butterfly))
    ['start', 'level 1', 'level 2', 'forward 1', 'end']
    """
    if not isinstance(case, Collective):
        raise ValueError(f"case must be a Case, got {shorten(case)}")
    labels = [step.label for step in case.cycle_steps() if step.label]
    if case.cycles == 1:
        return labels
    return labels[:1] + [
        f"cycle {cycle}, {label}" for cycle in range(1, case.cycles + 1) for label in labels[1:]
    ]


def start_name(case: Workload, row: CompletionRow) -> str:
    """The name of the row in which ranks begin the collective that is complete in `row`."""
    return START if case.cycles == 1 else f"{row.name}, {START}"


def own_name(case: Workload, row: CompletionRow) -> str:
    """The name of the row of own times of the collective that is complete in `row`."""
    return OWN if row.name == "completion" else f"{row.name}, {OWN}"


def join_loops(case: Collective, columns: Iterable[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """Join what all loops of a case observe, as `observation_names` has it, on the last axis.

    `columns` are those of each of `Case.loops`, the last one first: it takes the most memory, so
    that this is known to be enough before the others begin.
    """
    count = len(case.loops)
    if count == 1:
        return next(iter(columns))
    joined = np.empty(0, dtype=np.int64)
    for loop, own in zip(reversed(range(count)), columns, strict=True):
        each = own.reshape(*own.shape[:-1], case.cycles, -1)
        if loop == count - 1:
            joined = np.empty((*each.shape[:-1], count, each.shape[-1]), dtype=np.int64)
        joined[..., loop, :] = each
    return joined.reshape(*joined.shape[:-3], -1)


def max_min_mean(raw: npt.NDArray[np.int64], ranks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The latest, earliest and mean ready time from the engine's max, min, hi and lo.

    The sum over the `ranks` of a row, shape (rows,), is ``hi * 2^32 + lo``; shape (realizations,
    rows, 4) becomes (realizations, 3 * rows).
    """
    count, rows, _ = raw.shape
    ticks = np.empty((count, rows, 3), dtype=np.int64)
    ticks[:, :, :2] = raw[:, :, :2]
    for i in range(0, count, _BLOCK):  # in blocks: the temporaries stay small
        part = raw[i : i + _BLOCK]
        high, rest = np.divmod(part[:, :, 2], ranks)
        # Below 2^63 for up to 2^30 ranks: rest < ranks, and lo < ranks * 2^32. Rounds to nearest.
        low = ((rest << 32) + part[:, :, 3] + ranks // 2) // ranks
        ticks[i : i + _BLOCK, :, 2] = (high << 32) + low
    return ticks.reshape(count, rows * 3)


def check_times(ticks: npt.NDArray[np.int64]) -> None:
    """Raise ValueError for times that the engine could not hold; axis 0: realizations."""
    if ticks.max(initial=0) < LONGEST_TICKS:
        return
    beyond = (ticks >= LONGEST_TICKS).reshape(len(ticks), -1).any(axis=1)
    raise ValueError(
        f"the simulated time exceeded {LONGEST_SECONDS:.3g} s (2^62 ps) in "
        f"{int(beyond.sum())} of {len(ticks)} realizations: noise has too heavy a tail, or "
        "takes too much of the CPU; cut the tail with longest, or lower compute_time and cycles"
    )


@lru_cache(maxsize=256)
def _expected_work(case: Collective) -> ExpectedWork:
    """Return what noise meets in a realization, from the costs of the messages of each step."""
    compiled, ranks, cycles = case.compiled_steps, case.ranks, case.cycles
    rounds: list[tuple[int, float, int | None]] = []
    each_work: float  # of a message
    messages, work, combining = 0, 0.0, 0.0
    table = compiled.table
    for number, (step, costs, combine) in enumerate(
        zip(compiled.steps, table.costs(), table.longest_combining(), strict=True)
    ):
        count = message_count(step, ranks)
        if step.kind == EXCHANGE:
            of_exchange = compiled.costs
            each_work = of_exchange.send + of_exchange.receive + of_exchange.combine
            combining += compiled.costs.combine
            rounds.append((count, 1, compiled.costs.transit))
        elif step.kind == MESSAGE and costs is not None:
            if step.switch is not None and step.switch.part == "combine":
                continue
            usual = costs.send + costs.receive, combine
            each_work, each_combining = table.means.get(number, usual)
            combining += each_combining * step.repeat * step.receives
            if count:  # of two halves of a step, the one that sends
                rounds.append((count // step.repeat, step.repeat, _way(compiled, number)))
        else:  # what is sent after the collective only spares time
            continue
        messages += count
        work += count * each_work
    own = case.rank_work()
    compute = to_ticks(case.compute_time) if own is None else float(own.mean())
    return ExpectedWork(
        ranks=ranks,
        cycles=cycles,
        duration=0.0,
        compute=float(cycles * compute),
        work=cycles * work / ranks,
        stretches=2 * cycles * messages / ranks,
        rounds=tuple(rounds),
        combining=float(cycles * combining),
    )


def _way(compiled: CompiledSteps, step: int) -> int | None:
    """Return how long a step's messages are on their way, in ticks; None where they differ."""
    ways = {cost.transit for cost in compiled.table.used([step])}
    return ways.pop() if len(ways) == 1 else None


@lru_cache(maxsize=256)  # of a study's case, each batch asks
def _without_noise(case: Collective) -> Collective:
    """Return the same collective without noise, for its noise-free times."""
    if not case.noise:
        return case
    # What is allowed with noise is allowed without: nothing is checked again.
    without = copy.copy(case)
    # Drawn speeds change the steps of a butterfly, and so which ranks its rows hold.
    object.__setattr__(without, "noise", (SpeedNoise(1),) if case.draws_speeds else ())
    return without


def _noise_free(case: Collective, poll: Poll | None = None) -> npt.NDArray[np.int64]:
    """Latest, earliest and mean of each row of a case without noise; shape (rows, 3). Kept."""
    found = _kept.get(case)
    if found is None:
        loops = (_of_loop(loop, poll).ravel() for loop in reversed(case.loops))
        found = join_loops(case, loops).reshape(-1, 3)
        found.setflags(write=False)
        if len(_kept) >= _MAX_CACHED_PROGRAMS:
            _kept.pop(next(iter(_kept)), None)
        _kept[case] = found
    return found


def _of_loop(case: Collective, poll: Poll | None) -> npt.NDArray[np.int64]:
    """The rows of one program; shape (rows, 3)."""
    compiled = case.compiled_steps
    alike = case.is_even and not compiled.table.differs_within_steps
    if alike and is_symmetric(compiled.steps, case.ranks, compiled.forward):
        return np.repeat(_by_one_rank(case)[:, None], 3, axis=1)
    return _by_engine(case, poll)


def _by_engine(case: Collective, poll: Poll | None) -> npt.NDArray[np.int64]:
    """Ask the engine: ranks differ, but without noise one realization is like any other."""
    with resources.check_allocation(f"one realization of {case.ranks} ranks"):
        raw = core.simulate(compile_case(case), 0, 0, 1, "all", "cpu", 0, poll)
    return max_min_mean(raw, ranks_of_rows(case)).reshape(-1, 3)


def _by_one_rank(case: Collective) -> npt.NDArray[np.int64]:
    """One rank stands for all. Cycles differ until its links are found as in the one before."""
    rows = rows_of_steps(case, case.observe == "rounds") >= 0
    compiled = case.compiled_steps
    messages = compiled.table.costs()
    costs = compiled.costs, to_ticks(case.compute_time), compiled.forward
    found: list[npt.NDArray[np.int64]] = []
    begin, links, known = 0, (0, NEVER), False
    while len(found) < case.cycles and not known:
        line = symmetric_timeline(
            compiled.steps, *costs, messages=messages, asking=compiled.asking, links=links
        )
        found.append(begin + np.array(line.ready, dtype=np.int64))
        begin += line.end
        late = max(line.sends - line.end, 0), max(line.receives - line.end, NEVER)
        known, links = late == links, late
    more = np.arange(1, case.cycles - len(found) + 1)[:, None] * line.end
    ready = np.concatenate([np.array(found), found[-1] + more])
    clocks = [step.flags == STARTS_CLOCK for step in compiled.steps]
    own = [step.flags == OWN_TIME for step in compiled.steps]
    ready[:, own] -= ready[:, clocks]  # there is one clock, or none
    return ready[rows]
