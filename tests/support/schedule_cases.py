"""Random GOAL schedules with random costs and noise, for the package and the reference."""

import math
from dataclasses import replace

import numpy as np
import pytest
from reference.collectives import random_placement
from reference.public_delays import seconds
from reference.public_noise import random_sources
from reference.schedules import ArrivalOrder, Costs, InOrder, Machine, as_text, random_schedule
from reference.uneven import random_drawn_speed, random_speed

import jitterfly as jf
from jitterfly import _core
from jitterfly.schedule.compile import compile_schedule
from jitterfly.schedule.schedule import NO_MARK, Marks


def random_costs(rng):
    """Times of messages of a few kB about those of random_schedule's calculations."""
    return Costs(
        L=rng.choice([0, 1000, rng.randint(0, 10**6)]),
        o=rng.choice([0, 1000, rng.randint(0, 300_000)]),
        g=rng.choice([0, 0, rng.randint(0, 500_000)]),
        G=rng.choice([0, 7, rng.randint(0, 1000)]),
        O=rng.choice([0, 0, rng.randint(0, 1000)]),
        S=rng.choice([2**64, 2**64, 0, 7, 1000]) or 1,
    )


def network_of(costs):
    values = {name: seconds(getattr(costs, name)) for name in "LogGO"}
    return jf.LogGOPS(**values, S=None if costs.S == 2**64 else costs.S)


def random_levels(rng, ranks, outermost):
    """A machine as it is written and as it is meant, whose outermost level has these costs."""
    sizes = [rng.randint(1, 4) for _ in range(rng.randint(0, 3))]
    inside = [random_costs(rng) for _ in sizes]
    spans = [math.prod(sizes[: k + 1]) for k in range(len(sizes))]
    placement, slots = random_placement(rng, ranks, sizes)
    levels = [(size, network_of(one)) for size, one in zip(sizes, inside, strict=True)]
    written = jf.Hierarchy([*levels, network_of(outermost)], placement=placement)
    return written, Machine([*inside, outermost], spans, slots)


def times_of(run, schedule):
    """Begin and end of all operations, in the order of the schedule."""
    places = [(rank, i) for rank, ops in enumerate(run.ranks) for i in range(len(ops))]
    return np.array([[run.begin[p], run.end[p]] for p in places], dtype=np.int64).reshape(-1, 2)


class Case:
    """`uneven`: on a machine of several levels, whose ranks differ in their speed."""

    def __init__(self, rng, folder, noisy=True, uneven=False, **options):
        self.rng = rng
        ranks = rng.choice([1, 2, 3, 5, 8, 13])
        self.costs = random_costs(rng)
        self.network, self.machine, self.speed = network_of(self.costs), self.costs, None
        if uneven:
            self.network, self.machine = random_levels(rng, ranks, self.costs)
            self.speed, factors = random_speed(rng, jf, ranks)
            factors = [round(factor * 2**32) for factor in factors]
            self.machine = replace(self.machine, factors=factors)
        self.ranks = random_schedule(rng, ranks, rng.randint(1, 60), **options)
        levels = self.machine.levels if uneven else [self.costs]
        transit = max(one.L + rng.choice([30, 3000]) * one.G for one in levels)
        self.written, self.meant = random_sources(rng, jf, ranks, transit) if noisy else ([], ())
        if uneven and noisy:
            for _ in range(rng.choice([0, 1, 2])):
                written, meant = random_drawn_speed(rng, jf, ranks)
                self.written, self.meant = [*self.written, written], (*self.meant, meant)
        self.path = folder / "app.goal"
        self.path.write_text(as_text(self.ranks))
        self.schedule = jf.Schedule.read(self.path)
        self.seed, self.realization = rng.getrandbits(64), rng.getrandbits(32)

    def quiet(self):
        """The run without noise on ranks that are equally fast, whose order `InOrder` keeps.

        `last`: when it ends at their own speeds. None where the schedule can not be executed.
        """
        run = self.in_order_of_arrival(equally_fast=True)
        if run is not None and self.speed is not None:
            run.machine = self.machine
            run.last = InOrder(run).execute()
        return run

    def in_order_of_arrival(self, *, equally_fast=False, matched=None):
        """The run without noise, as LogGOPSim has it, whose receives may have given messages."""
        even = equally_fast and self.speed is not None
        machine = replace(self.machine, factors=None) if even else self.machine
        run = ArrivalOrder(self.ranks, machine, matched=matched)
        try:
            run.last = run.execute()
        except AssertionError:
            return None
        return run

    def compiled(self, marks=None, order="noise-free"):
        return compile_schedule(self.schedule, self.network, self.written, marks, self.speed, order)

    def times(self, compiled, **options):
        return _core.operation_times(*compiled, self.seed, self.realization, **options)


def random_marks(rng, case):
    """Marks of some operations, or of all."""
    count, share = rng.randint(1, 5), rng.choice([0.1, 0.5, 1])
    of = [rng.randrange(count) if rng.random() < share else NO_MARK
          for _ in range(case.schedule.operations)]  # fmt: skip
    return Marks(tuple(map(str, range(count))), np.array(of, dtype=np.uint32))


OPTIONS = {
    "one CPU": {},
    "no work": {"work": 0},
    "CPUs": {"cpus": 3, "nics": 2},
    "ways": {"nics": 3},
    "uneven": {"uneven": True, "cpus": 2},
}


def check_deadlock(case):
    with pytest.raises(ValueError, match=r"^app\.goal(, line [0-9]+)?: "):
        case.compiled()
