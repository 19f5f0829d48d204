"""Random schedules with random costs, under random noise: of the package and of its reference."""

import numpy as np
import pytest
from reference.public_delays import seconds
from reference.public_noise import random_sources
from reference.schedules import ArrivalOrder, Costs, as_text, random_schedule

import jitterfly as jf
from jitterfly import _core
from jitterfly.schedule.simulate import compile_schedule


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


def times_of(run, schedule):
    """Begin and end of all operations, in the order of the schedule."""
    places = [(rank, i) for rank, ops in enumerate(run.ranks) for i in range(len(ops))]
    return np.array([[run.begin[p], run.end[p]] for p in places], dtype=np.int64).reshape(-1, 2)


class Case:
    def __init__(self, rng, folder, noisy=True, **options):
        self.rng = rng
        ranks = rng.choice([1, 2, 3, 5, 8, 13])
        self.costs = random_costs(rng)
        self.ranks = random_schedule(rng, ranks, rng.randint(1, 60), **options)
        transit = self.costs.L + rng.choice([30, 3000]) * self.costs.G
        self.written, self.meant = random_sources(rng, jf, ranks, transit) if noisy else ([], ())
        path = folder / "app.goal"
        path.write_text(as_text(self.ranks))
        self.schedule = jf.Schedule.read(path)
        self.seed, self.realization = rng.getrandbits(64), rng.getrandbits(32)
        self.late = ()

    def quiet(self):
        """The run without noise, or None where the schedule can not be executed."""
        run = ArrivalOrder(self.ranks, self.costs)
        try:
            run.last = run.execute()
        except AssertionError:
            return None
        return run

    def compiled(self):
        return compile_schedule(self.schedule, network_of(self.costs), self.written)

    def times(self, compiled, **options):
        return _core.operation_times(self.schedule._mapped, *compiled, self.seed, self.realization,
                                     **options)  # fmt: skip


OPTIONS = {
    "one CPU": {},
    "no work": {"work": 0},
    "CPUs": {"cpus": 3, "nics": 2},
    "ways": {"nics": 3},
}


def check_deadlock(case):
    with pytest.raises(ValueError, match=r"^app\.goal(, line [0-9]+)?: "):
        case.compiled()
