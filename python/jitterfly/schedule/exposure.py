"""What a schedule asks of CPUs and messages: CPU time that noise can hit, receives that are short.

Both look at each operation once. Operations of many ranks are taken together, since a schedule may
have a million ranks.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .. import memory
from ..case import ScarceRecordingWarning, place_noise
from ..fields import stacklevel_of_user
from ..hierarchy import Hierarchy
from ..imbalance import Speed
from ..network import LogGOPS
from ..noise import Noise, TraceNoise
from ..units import exact, to_ticks
from .schedule import Schedule

_KIND, _SIZE, _PEER, _TAG, _LINE = 0, 1, 2, 3, 6  # columns of operations_of
_SEND, _RECEIVE, _CALCULATION = 1, 2, 3
_TOGETHER = 2**17  # operations
_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio
_BYTES_OF_OPERATION = 200  # while it is looked at
_BYTES_TO_SORT = 400  # of a message and its receive

Integers = npt.NDArray[np.int64]


class ShortReceiveWarning(UserWarning):
    """A receive of a schedule has fewer bytes than the message that it takes."""


class CpuTime(NamedTuple):
    """CPU time of all ranks together, without noise, in seconds."""

    compute: float
    communication: float


def _batches(schedule: Schedule) -> Iterator[tuple[Integers, Integers, Integers]]:
    """The operations of many ranks at a time: rank, number in it, and row (`operations_of`)."""
    mapped, begins = schedule._mapped, schedule._mapped.begins
    first = 0
    while first < schedule.ranks:
        last = first + 1
        while last < schedule.ranks and begins[last + 1] - begins[first] <= _TOGETHER:
            last += 1
        starts = np.array(begins[first : last + 1], dtype=np.int64) - begins[first]
        counts = np.diff(starts)
        each = [mapped.operations_of(rank) for rank in range(first, last)]
        rows = (each[0] if len(each) == 1 else np.concatenate(each)).view(np.int64)
        numbers = np.arange(len(rows)) - np.repeat(starts[:-1], counts)
        yield np.repeat(np.arange(first, last), counts), numbers, rows
        first = last


def _has_room(schedule: Schedule) -> bool:
    """Whether memory allows to look at the operations: those of a rank are copied at once."""
    available = memory.available_bytes()
    largest = int(np.diff(np.array(schedule._mapped.begins, dtype=np.int64)).max(initial=0))
    return available is None or _BYTES_OF_OPERATION * max(largest, _TOGETHER) <= available


def cpu_time(
    schedule: Schedule, network: LogGOPS | Hierarchy, speed: Speed | None = None
) -> CpuTime:
    """The CPU time of `calc`, at the ranks' speed, and of sends and messages taken.

    A message costs o and (n - 1) O of the level that it crosses, at both of its ends.
    """
    levels = network.networks if isinstance(network, Hierarchy) else [network]
    o = np.array([to_ticks(level.o) for level in levels], dtype=np.float64)  # type: ignore[attr-defined]
    each = np.array([float(exact(level.O)) * 1e12 for level in levels])  # type: ignore[attr-defined]
    factors = None if speed is None else speed.of_ranks(schedule.ranks)
    calculated = communicated = 0.0
    for ranks, _, rows in _batches(schedule):
        kinds = rows[:, _KIND]
        there = kinds == _CALCULATION
        ns = rows[there, _SIZE].astype(np.float64)
        calculated += float(ns.sum() if factors is None else (ns * factors[ranks[there]]).sum())
        # A message is taken for its own size, which is that of its send: so sends count twice.
        there = kinds == _SEND
        level = _levels(network, schedule.ranks, ranks[there], rows[there, _PEER])
        further = np.maximum(rows[there, _SIZE] - 1, 0)
        communicated += 2 * float((o[level] + each[level] * further).sum())
    return CpuTime(calculated * 1e-9, communicated * 1e-12)


def _levels(network: LogGOPS | Hierarchy, count: int, ranks: Integers, peers: Integers) -> Integers:
    """Which level of the machine each message crosses, the innermost is 0."""
    level = np.zeros(len(ranks), dtype=np.int64)
    if isinstance(network, Hierarchy):
        slots = network.slots(count)
        for span in network.spans:
            level += slots[ranks] // span != slots[peers] // span
    return level


def doubts(
    schedule: Schedule,
    network: LogGOPS | Hierarchy,
    noise: Sequence[Noise],
    speed: Speed | None = None,
) -> tuple[str, ...]:
    """What measured noise leaves open, in words: see `TraceNoise.doubts`."""
    placed = place_noise(tuple(noise), network, schedule.ranks)
    recorded = [one for one in placed if isinstance(one, TraceNoise) and one.file is not None]
    if not recorded or not _has_room(schedule):
        return ()
    times = cpu_time(schedule, network, speed)
    text: list[str] = []
    for one in recorded:
        met = sum(getattr(times, phase) for phase in times._fields if one.during in ("all", phase))
        text += one.doubts(schedule.ranks, met / schedule.ranks)
    return tuple(text)


def warn_of_doubts(text: Sequence[str]) -> None:
    """Warn of what the measured noise of a schedule leaves open."""
    for one in text:
        warnings.warn(one, ScarceRecordingWarning, stacklevel=stacklevel_of_user())


def warn_of_short_receives(schedule: Schedule) -> None:
    """Warn once of all receives that have fewer bytes than the messages that they take."""
    if not schedule._checked_receives:
        schedule._short_receives = short_receives(schedule)
        schedule._checked_receives = True
    if schedule._short_receives:
        warnings.warn(
            schedule._short_receives, ShortReceiveWarning, stacklevel=stacklevel_of_user()
        )


def short_receives(schedule: Schedule) -> str:
    """How many receives are too short for their messages, and where the first is; "": none.

    Longer ones are usual: MPI's are as long as their buffers. Of the messages with the same ranks
    and tag, which receive takes which is known only when the schedule is executed. But where the
    k-th smallest receive is smaller than the k-th smallest message, one is too short whoever takes
    what.
    """
    if not schedule.messages or not _has_room(schedule) or _sizes_agree(schedule):
        return ""
    available = memory.available_bytes()
    if available is not None and _BYTES_TO_SORT * schedule.messages > available:
        return ""  # it would only warn
    sent: list[Integers] = []
    taken: list[Integers] = []
    for ranks, numbers, rows in _batches(schedule):
        for kind, found in ((_SEND, sent), (_RECEIVE, taken)):
            there = rows[:, _KIND] == kind
            own, peers = ranks[there], rows[there, _PEER]
            ends = (own, peers) if kind == _SEND else (peers, own)
            columns = (*ends, rows[there, _TAG], rows[there, _SIZE], numbers[there],
                       rows[there, _LINE])  # fmt: skip
            found.append(np.column_stack(columns))
    messages, receives = (_sorted(np.concatenate(parts)) for parts in (sent, taken))
    if len(messages) != len(receives) or (messages[:, :3] != receives[:, :3]).any():
        return ""  # it can not be executed, which another error says
    short = np.flatnonzero(receives[:, 3] < messages[:, 3])
    if not len(short):
        return ""
    first = short[np.lexsort((receives[short, 4], receives[short, 1]))[0]]
    source, rank, _, size, number, line = receives[first].tolist()
    where = f"line {line:,}" if line else f"number {number:,}"
    several = "1 receive has" if len(short) == 1 else f"{len(short):,} receives have"
    return (
        f"{schedule.name}: {several} fewer bytes than the message to take: the first is that of "
        f"rank {rank:,}, {where}, recv {size:,}b from {source:,}, for a message of "
        f"{messages[first, 3]:,} bytes; a message counts with the bytes of its send"
    )


def _sizes_agree(schedule: Schedule) -> bool:
    """Whether receives are as long as messages: sums over hashes of both are equal then."""
    total = 0
    for ranks, _, rows in _batches(schedule):
        for kind in (_SEND, _RECEIVE):
            there = rows[:, _KIND] == kind
            own, peers = ranks[there], rows[there, _PEER]
            ends = (own, peers) if kind == _SEND else (peers, own)
            mixed = np.zeros(len(own), dtype=np.uint64)
            for column in (*ends, rows[there, _TAG], rows[there, _SIZE]):
                mixed = (mixed ^ column.astype(np.uint64)) * _MIX
                mixed ^= mixed >> np.uint64(29)
            own_sum = int(np.add.reduce(mixed, dtype=np.uint64))
            total += own_sum if kind == _SEND else -own_sum
    return total % 2**64 == 0


def _sorted(rows: Integers) -> Integers:
    """By sender, receiver, tag and size; then as they stand."""
    order = np.lexsort(tuple(rows[:, column] for column in (4, 3, 2, 1, 0)))
    return rows[order]
