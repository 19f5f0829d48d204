"""Compilation of a schedule to the engine's plan and program: costs, noise, speed, overflow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..backends import core
from ..distributions.distribution import LARGEST
from ..hierarchy import Hierarchy
from ..imbalance import Speed
from ..network import LogGOPS
from ..noise import (
    LateArrival,
    MessageNoise,
    NetworkWeather,
    Noise,
    PeriodicNoise,
    RenewalNoise,
    SpeedNoise,
    StepNoise,
)
from ..units import LONGEST_SECONDS, LONGEST_TICKS, TICKS_PER_SECOND, exact, to_ticks
from ..workload import place_noise
from .schedule import Marks, Schedule, in_file

_EAGER = 2**64 - 1  # bytes: all messages are sent without rendezvous
_FACTOR_BITS = 32  # fractional bits of the engine's factors on CPU time: kSpeedBits


class CompiledSchedule(NamedTuple):
    """The schedule as the engine takes it: the plan, and a program that holds costs and noise."""

    plan: core.SchedulePlan
    program: core.Program


class LevelCosts(NamedTuple):
    """Costs of a message on one level of the machine, in ticks; `wire`, `cpu`: by its size."""

    o: int
    way: int
    gap: int
    wire: list[int]
    cpu: list[int]
    largest_eager: int

    @classmethod
    def of(cls, network: LogGOPS, sizes: Sequence[int]) -> LevelCosts:
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
    order: str = "noise-free",
) -> CompiledSchedule:
    """The plan of a schedule, and the program with the costs of its messages and the noise.

    `order`: of competing operations, "noise-free" or "arrival".

    Raises
    ------
    ValueError
        As `compile_program` and `compile_plan`.
    """
    levels = costs_of_levels(schedule, network)
    program = compile_program(schedule, network, levels, noise, speed)
    plan = compile_plan(schedule, network, levels, program, marks, speed, order)
    return CompiledSchedule(plan, program)


def costs_of_levels(schedule: Schedule, network: LogGOPS | Hierarchy) -> list[LevelCosts]:
    """Return what messages of the schedule's sizes cost on each level of the network."""
    sizes = schedule.message_sizes.tolist()
    return [LevelCosts.of(one, sizes) for one in levels_of(network)]


def compile_program(
    schedule: Schedule,
    network: LogGOPS | Hierarchy,
    levels: Sequence[LevelCosts],
    noise: Sequence[Noise],
    speed: Speed | None = None,
) -> core.Program:
    """The engine's program of a schedule, with the costs of its messages and the noise.

    Raises
    ------
    ValueError
        The noise names a level that is not there. An operation can take too long.
    """
    ranks = schedule.ranks
    noise = place_noise(tuple(noise), network, ranks)
    slowest = longest_calculation(schedule, _factors(speed, ranks))
    _check_operations(schedule, noise, slowest, levels)
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
    return program


def compile_plan(
    schedule: Schedule,
    network: LogGOPS | Hierarchy,
    levels: Sequence[LevelCosts],
    program: core.Program,
    marks: Marks | None = None,
    speed: Speed | None = None,
    order: str = "noise-free",
) -> core.SchedulePlan:
    """The order of a schedule's operations without noise, and their times in it.

    Of `program` only the costs count, so that one plan serves programs with any noise. A receive
    takes the message that it takes on equally fast ranks. So is the order, but in that of arrival.

    Raises
    ------
    ValueError
        The schedule can not be executed: a message that no receive takes, or operations that wait
        for each other.
    """
    ranks = schedule.ranks
    wire, cpu = (
        np.array([getattr(level, name) for level in levels], dtype=np.int64).ravel()
        for name in ("wire", "cpu")
    )
    eager = np.array([level.largest_eager for level in levels], dtype=np.uint64)
    try:
        return core.SchedulePlan(
            schedule._mapped, program, wire, cpu, eager, *_places(network, ranks),
            _factors(speed, ranks), *_marked(marks), equally_fast=order != "arrival",
        )  # fmt: skip
    except ValueError as error:
        raise ValueError(in_file(schedule.name, error)) from None


def levels_of(network: LogGOPS | Hierarchy) -> list[LogGOPS]:
    """The network of each level, the innermost first."""
    found: list[Any] = network.networks if isinstance(network, Hierarchy) else [network]
    return found


def _places(
    network: LogGOPS | Hierarchy, ranks: int
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
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


def longest_calculation(schedule: Schedule, factors: npt.NDArray[np.uint64]) -> int:
    """Return the longest calculation in ticks, on the slowest rank."""
    longest = schedule._mapped.longest_calculation * 1000
    return -(-longest * int(factors.max(initial=0)) >> _FACTOR_BITS) if factors.size else longest


def _marked(marks: Marks | None) -> tuple[npt.NDArray[np.uint32], int]:
    """Return the mark of each operation, and how many marks there are."""
    if marks is None:
        return np.zeros(0, dtype=np.uint32), 0
    return marks.of, len(marks.names)


def _check_operations(
    schedule: Schedule, noise: Sequence[Noise], calculation: int, levels: Sequence[LevelCosts]
) -> None:
    """Refuse a schedule of which one operation can take 2^62 ps or longer.

    `calculation` is the longest one, at its rank's speed, in ticks.

    Raises
    ------
    ValueError
        Names which, and how long it can take.
    """
    # The engine keeps no time above 2^62 ps, and the caller refuses results that late. What it adds
    # to a time before it looks is what one operation takes, so that must be below 2^62 ps as well.
    o = max(level.o for level in levels)
    gap = max(level.gap for level in levels)
    way = max(level.way for level in levels)
    wire = max(max(level.wire, default=0) for level in levels)
    cpu = max(max(level.cpu, default=0) for level in levels)
    late = sum(_longest_drawn(source) for source in noise if isinstance(source, LateArrival))
    delays = sum(_message_delay(source, way + wire) for source in noise)
    for source in noise:
        calculation = source.longest_slowed(calculation, ever=True)
    if calculation >= LARGEST and any(isinstance(source, SpeedNoise) for source in noise):
        raise ValueError(
            f"a calculation must take less than {LARGEST / TICKS_PER_SECOND:.3g} s (2^60 ps) at "
            f"its drawn speed, one may take {calculation / TICKS_PER_SECOND:.3g} s: lower the "
            "times of calc or the factor of SpeedNoise, or cut the tail of its distribution with "
            "longest"
        )
    longest = {
        "a calculation": _longest_of_cpu(noise, calculation),
        "the late start of a rank": late,
    }
    if schedule.messages:
        longest["the overhead of a message"] = _longest_of_cpu(noise, o) + gap + wire
        longest["the CPU time of a message's bytes"] = _longest_of_cpu(noise, cpu)
        longest["the way of a message"] = way + delays
    name, ticks = max(longest.items(), key=lambda one: one[1])
    if ticks >= LONGEST_TICKS:
        raise ValueError(
            f"the simulated time of a schedule must stay below {LONGEST_SECONDS:.3g} s (2^62 ps), "
            f"and {name} alone may take {ticks / TICKS_PER_SECOND:.3g} s: lower the times of calc, "
            "speed, network or noise, or cut the tail of noise with longest"
        )


def _longest_of_cpu(noise: Sequence[Noise], work: int) -> int:
    """Return how far from the begin of `work` ticks the engine gets before it looks at the time."""
    work += sum(_longest_drawn(source) for source in noise if isinstance(source, StepNoise))
    # Beyond 2^62 ps the engine asks sources for no further interval: at most one ends after that.
    beyond = max(map(_longest_interval, noise), default=0)
    # Periodic noise alone it does not ask interval by interval.
    periodic = (one for one in noise if isinstance(one, PeriodicNoise) and one.end is None)
    return work + beyond + sum(source.longest_delay(work) for source in periodic)


def _longest_interval(source: Noise) -> int:
    """An interval and the time before it; of intervals that repeat, two repetitions."""
    if isinstance(source, RenewalNoise):
        return source.gap.longest_ticks() + source.duration.longest_ticks()
    return source.lookahead()


def _message_delay(source: Noise, transit: int) -> int:
    """Return the longest delay of a message by a source, in ticks."""
    if isinstance(source, MessageNoise):
        return _longest_drawn(source)
    if isinstance(source, NetworkWeather):
        return source.longest_ever(transit)
    return source.longest_message_delay(transit)


def _longest_drawn(source: StepNoise | MessageNoise | LateArrival) -> int:
    return source.delay.longest_ticks() if source.probability > 0 else 0
