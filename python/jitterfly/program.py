"""Compilation of a case to the engine's program; labels and shape of the array of samples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .backends import core
from .case import AnyCase, Case, check_case
from .cycle import Cycle
from .steps import (
    DRAWS_PER_CYCLE,
    ENTER,
    EXCHANGE,
    FORWARD,
    LISTED,
    MESSAGE,
    START,
    Step,
    power_below,
)
from .units import to_ticks

OVER_RANKS = ("spread", "arrival", "rounds")
"""What is observed as latest, earliest and mean over the ranks."""
_KIND, _ROUND, _FLAGS, _DRAW, _ROW, _MAP, _WORK, _DELAY = range(8)
_OWN_WORK, _OWN_DELAY = 1, 2  # what ranks have of their own in a COMPUTE step
_BLOCK = 1 << 16  # realizations reduced at once
_MOST_LISTED = 2**27  # messages: 1.5 GB


def compile_case(case: Case, *, every_row: bool = False) -> core.Program:
    """The engine's program of a case; of one with several `loops` that of all its exchanges.

    Parameters
    ----------
    case : Case
        What to simulate.
    every_row : bool
        Number the rows as `row_labels` does, whatever the case observes.

    Returns
    -------
    core.Program
        The steps of all cycles, costs in ticks, and the noise.
    """
    rows = rows_of_steps(case, every_row or case.observe == "rounds")
    cycle = case.lowered
    table, costs = cycle.table, cycle.costs
    one, listed = _engine_steps(cycle)
    steps = np.tile(one.astype(np.int32), (case.cycles, 1, 1))
    # Messages are numbered by the engine, from their round on.
    within = np.where(one[:, _KIND] == MESSAGE, 0, one[:, _ROUND])
    steps[:, :, _DRAW] = DRAWS_PER_CYCLE * np.arange(case.cycles)[:, None] + within
    steps[:, :, _ROW] = rows
    rank_times = None if case.is_even else _put_rank_times(case, steps)
    program = core.Program(
        log2_ranks=case.log2_ranks,
        ranks=case.ranks,
        steps=steps.reshape(-1, one.shape[1]),
        messages=np.array(table.entries, dtype=np.int64).reshape(-1, 4),
        load=cycle.load,
        loads=list(table.loads),
        combines=list(table.combines),
        listed=listed,
        rank_times=rank_times,
        rows=int(rows.max()) + 1,
        work=to_ticks(case.compute_time),
        forward=cycle.forward,
        one_rank=case.observe == "rank 0",
        mirrors=cycle.mirrors,
        **cycle.asking._asdict(),
        **costs._asdict(),
    )
    for noise in case.placed_noise:
        noise.apply(program, case.ranks, costs.transit, [cost.transit for cost in table.entries])
    return program


@singledispatch
def engine_memory(case: AnyCase, realizations: int, threads: int = 0) -> int:
    """The bytes that the CPU engine takes for realizations in flight; 0 threads: all processors."""
    assert isinstance(case, Case), f"no version for {type(case).__name__}"
    return core.memory(compile_case(case), "cpu", threads, realizations)


def _engine_steps(
    cycle: Cycle,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32] | None]:
    """The steps of a cycle as the engine takes them, and the messages that some of them list.

    A step is kind, round, flags, draw, row, and what messages need: partner map, cost entry and
    repeats. Messages that differ in their costs are listed, as are forwards on a machine of several
    levels: see `Cycle.listed_messages`.
    """
    steps: list[tuple[int, ...]] = []
    lists: list[npt.NDArray[np.int32]] = []
    places: dict[tuple[Any, ...], tuple[int, int]] = {}  # steps with the same messages share them
    end = 0
    for number, (step, costs) in enumerate(zip(cycle.steps, cycle.table.of_step, strict=True)):
        head = (step.kind, step.round, step.flags, 0, 0)
        half = step.kind == MESSAGE and not (step.sends and step.receives)
        if not costs:
            steps.append((*head, 0, 0, 0, 0, 0, 1))
        elif len(costs) == 1 and step.partners and (code := step.partners.code()):
            partners = (*code[:3], step.place) if half else code
            steps.append((*head, *partners, costs[0], step.repeat))
        else:
            same = (step.partners, costs) if step.partners else (number,)
            if same not in places:
                lists.append(cycle.listed_messages(number))
                places[same] = end, end + len(lists[-1])
                end = places[same][1]
            if end > _MOST_LISTED:
                raise ValueError(
                    f"ranks must be fewer for this algorithm on this network: of a cycle's "
                    f"messages {end} or more are in steps that list them (those on several levels "
                    f"of a Hierarchy), at most {_MOST_LISTED} fit"
                )
            place = step.place if half else 0
            steps.append((*head, LISTED, *places[same], place, costs[0], step.repeat))
    return np.array(steps), np.concatenate(lists) if lists else None


def _put_rank_times(case: Case, steps: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """Tell compute phases, of steps of shape (cycles, steps, 11), what each rank has; in ticks."""
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


def rows_of_steps(case: Case, every_row: bool) -> npt.NDArray[np.int32]:
    """The row that each step goes to, or -1; shape (cycles, steps of one cycle)."""
    steps = case.lowered.steps
    taken = np.tile(np.array(_observed(case, steps, every_row)), (case.cycles, 1))
    if every_row:  # later collectives start where the cycle before ended: no row of their own
        taken[1:] &= np.array([step.label != START for step in steps])
    numbers = np.cumsum(taken.ravel(), dtype=np.int32).reshape(taken.shape) - 1
    return np.where(taken, numbers, -1).astype(np.int32)


def ranks_of_rows(case: Case) -> npt.NDArray[np.int64]:
    """The number of ranks, from 0, that each row of a case of one program holds; shape (rows,).

    Those of the butterfly's levels hold the largest power of two, other rows all ranks.
    """
    if case.observe == "rank 0":
        return np.ones(len(completions(case)), dtype=np.int64)
    of_step = [_ranks_in_row(step, case.ranks) for step in case.lowered.steps]
    rows = rows_of_steps(case, case.observe == "rounds")
    return np.tile(np.array(of_step, dtype=np.int64), (case.cycles, 1))[rows >= 0]


def _ranks_in_row(step: Step, ranks: int) -> int:
    return power_below(ranks) if step.kind in (ENTER, EXCHANGE) else ranks


def row_count(case: Case, *, every_row: bool) -> int:
    """Count the rows that the engine observes in one program, without making their names."""
    one = sum(_observed(case, case.lowered.steps, every_row))
    return one * case.cycles - (case.cycles - 1 if every_row else 0)


def _observed(case: Case, steps: Sequence[Step], every_row: bool) -> list[bool]:
    if every_row:
        return [bool(step.label) for step in steps]
    numbers = [step.redundancy for step in steps if step.redundancy is not None]
    wanted = numbers[-1:] if case.cycles > 1 else numbers  # see `Case.loops`
    complete = [step.redundancy in wanted for step in steps]
    if case.observe != "arrival":
        return complete
    begins = [step.label == START for step in steps]
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


@singledispatch
def rank_rounds(case: AnyCase) -> int:
    """The size of one realization: its messages, ranks times rounds for the butterfly.

    Forwards count; a redundant copy belongs to the exchange that it goes with, compute phases do
    not count. A cycle counts as one message of each rank at least. Where each T is a loop of its
    own (`Case.loops`), those of all loops. Of a schedule: its operations.
    """
    assert isinstance(case, Case), f"no version for {type(case).__name__}"
    return sum(map(_messages_of_loop, case.loops))


def _messages_of_loop(case: Case) -> int:
    messages = sum(message_count(step, case.ranks) for step in case.lowered.steps)
    return case.cycles * max(messages, case.ranks)


def row_labels(case: Case) -> list[str]:
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
    labels = [step.label for step in check_case(case).cycle_steps() if step.label]
    if case.cycles == 1:
        return labels
    return labels[:1] + [
        f"cycle {cycle}, {label}" for cycle in range(1, case.cycles + 1) for label in labels[1:]
    ]


@singledispatch
def observation_names(case: AnyCase) -> list[str]:
    """The names of the columns of `Result.samples`.

    Returns
    -------
    list of str
        With ``observe="completion"`` and "rank 0": "completion", or "T=3", "cycle 2", "cycle 2,
        T=3" where there are several T or cycles. With "spread": "<name>: max", "<name>: min",
        "<name>: mean" for each of them. With "arrival": the same, and before those of each cycle
        for "start" or "cycle 2, start"; where there are several cycles and T, before each of them
        for "cycle 2, T=3, start". With "rounds": the same for each row of `row_labels`.

    Examples
    --------
    >>> import jitterfly as jf
    >>> case = jf.Case(4, network=jf.Hockney(1e-6, 1e-9), algorithm=jf.Butterfly(exchanges_after=2))
    >>> observation_names(case)
    ['T=0', 'T=1', 'T=2']
    """
    assert isinstance(case, Case), f"no version for {type(case).__name__}"
    if case.observe == "rounds":
        names = row_labels(case)
    elif case.observe == "arrival":
        pairs = ((start_name(case, row), row.name) for row in completions(case))
        names = list(dict.fromkeys(name for pair in pairs for name in pair))
    else:
        names = [row.name for row in completions(case)]
    if case.observe in ("completion", "rank 0"):
        return names
    return [f"{name}: {what}" for name in names for what in _STATISTICS]


_STATISTICS = ("max", "min", "mean")


def start_name(case: AnyCase, row: CompletionRow) -> str:
    """The name of the row in which ranks begin the collective that is complete in `row`."""
    return START if case.cycles == 1 else f"{row.name}, {START}"


def observation_shape(case: Case) -> dict[str, list[int] | list[str]]:
    """The dimensions behind the columns of `Result.samples`, with their coordinates."""
    shape: dict[str, list[int] | list[str]] = {"cycle": list(range(1, case.cycles + 1))}
    if case.observe == "rounds":
        shape["step"] = [step.label for step in case.cycle_steps() if step.label]
    else:
        redundancies = list(dict.fromkeys(row.T for row in completions(case)))
        several = len(redundancies) > 1
        begins = case.observe == "arrival"
        together = begins and several and len(case.loops) == 1  # all T have one start
        shape |= {"T": redundancies} if several and not together else {}
        if begins:
            shape["step"] = [START, *([f"T={T}" for T in redundancies] if together else ["end"])]
    if case.observe in OVER_RANKS:
        shape["over_ranks"] = list(_STATISTICS)
    return shape


def arrange_observations(case: Case, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Arrange the columns of `Result.samples`, the last axis of `values`, in `observation_shape`.

    The start of a later cycle is the end of the one before, and has no column of its own: NaN.
    """
    shape = [len(coordinates) for coordinates in observation_shape(case).values()]
    outer = values.shape[:-1]
    if case.observe == "rounds" and case.cycles > 1:
        columns = values.reshape(*outer, -1, len(_STATISTICS))
        rows, steps = shape[0] * shape[1], shape[1]
        there = [row for row in range(rows) if row < steps or row % steps]
        whole = np.full((*outer, rows, len(_STATISTICS)), np.nan)
        whole[..., there, :] = columns
        values = whole
    return values.reshape(*outer, *shape)


class CompletionRow(NamedTuple):
    """A row of completions: its name, number of redundant exchanges, and cycle (from 1)."""

    name: str
    T: int
    cycle: int


@singledispatch
def completions(case: AnyCase) -> list[CompletionRow]:
    """The rows that a case observes as "completion" and "spread", in their order."""
    assert isinstance(case, Case), f"no version for {type(case).__name__}"
    redundancies = [s.redundancy for s in case.lowered.steps if s.redundancy is not None]
    if case.cycles > 1 and len(case.loops) == 1:
        redundancies = redundancies[-1:]
    rows = []
    for cycle in range(1, case.cycles + 1):
        for redundancy in redundancies:
            parts = [f"cycle {cycle}"] if case.cycles > 1 else []
            parts += [f"T={redundancy}"] if len(redundancies) > 1 else []
            rows.append(CompletionRow(", ".join(parts) or "completion", redundancy, cycle))
    return rows


def join_loops(case: Case, columns: Iterable[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
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
