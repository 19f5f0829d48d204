"""Schedules on the emulated CUDA kernel (tests/emulation/schedules.cpp), and on the CPU backend."""

import random
from dataclasses import dataclass

from reference.delays import core_delay
from reference.noise import RankDelay
from reference.random_noise import random_delay

from jitterfly import _core
from jitterfly.distributions import distribution
from support.emulated_kernels import ORDERS, Delay, Recorder, as_text, counted
from support.schedule_cases import OPTIONS, Case, random_marks


class ProgramRecorder(Recorder):
    """In place of `_core.Program` with the costs of a schedule: what read_program reads."""

    def __init__(self, *, log2_ranks, ranks, messages, **others):
        super().__init__()
        assert not any(map(len, (others.pop("steps"),))), others
        assert set(others.values()) == {0}
        self.log2_ranks, self.ranks, self.costs = log2_ranks, ranks, messages.ravel()

    def program_words(self):
        steps = listed = rank_times = loads = combines = counted(None)
        return [self.log2_ranks, 0, False, *[0] * 9, *counted([1]), self.ranks, *steps,
                *counted(self.costs), *listed, *rank_times, 0, *loads, *combines, self.count,
                *self.words]  # fmt: skip


class PlanRecorder:
    """In place of `_core.SchedulePlan`."""

    def __init__(self, schedule, program, *arrays, equally_fast):
        assert equally_fast
        *arrays, marks = arrays
        self.words = [word for array in arrays for word in counted(array)] + [marks]


@dataclass(frozen=True)
class ScheduleRun:
    """A case, and how it is run: realizations in a batch, order of threads."""

    case: Case
    count: int = 1
    marks: object = None
    late: tuple = ()
    batch: int = 1000
    order: int = 0
    seed: int = 0
    launch: int = 0  # actions of realizations in a launch, at most; 0: as many as on a device
    room: int = 2**30  # bytes that the device turns out to have
    stop: int = 2**62  # realizations after which the user stops the run

    def text(self, monkeypatch):
        with monkeypatch.context() as patch:
            patch.setattr(_core, "Program", ProgramRecorder)
            patch.setattr(_core, "SchedulePlan", PlanRecorder)
            # Tables in the engine are kept, and so must not be replaced: these make none.
            patch.setattr(distribution.DelayTable, "delay", table_words)
            patch.setattr(distribution.Distribution, "table", lambda one: one.integers().delay())
            plan, program = self.case.compiled(self.marks)
            self.come_late(Recorder, program)
        return as_text([str(self.case.path), *program.program_words(), self.case.seed,
                        self.case.realization, self.count, False, *plan.words, self.batch,
                        self.launch, self.order, self.seed, self.room, self.stop])  # fmt: skip

    def come_late(self, core, program):
        for one in self.late:
            program.add_rank_delay(delay=core_delay(core, one.delay), node_ranks=1, once=one.once)

    def expected(self):
        compiled = self.case.compiled(self.marks)
        self.come_late(_core, compiled.program)
        found = _core.simulate_schedule(*compiled, self.case.seed, self.case.realization,
                                        self.count)  # fmt: skip
        return [str(tick) for tick in found.ravel()]


def table_words(table):
    table_of = getattr(Delay, table.kind)
    return table_of(*table.arrays).with_last(table.last)


def same_schedule(run, found):
    return found is not None and found.split()[1:] == run.expected()


def random_schedule_runs(folder, count, seed):
    """Schedules of every kind under every noise, that can be executed."""
    runs, number = [], 0
    while len(runs) < count:
        rng = random.Random(f"schedules on kernels {seed} {number}")
        own = folder / str(number)
        own.mkdir(parents=True)
        case = Case(rng, own, **OPTIONS[list(OPTIONS)[number % len(OPTIONS)]])
        number += 1
        if case.quiet() is None:
            continue
        case.realization = min(case.realization, 2**32 - 10)
        late = tuple(RankDelay(random_delay(rng, 10**6), 1, rng.random() < 0.5)
                     for _ in range(rng.choice([0, 0, 1, 2])))  # fmt: skip
        runs.append(ScheduleRun(
            case, count=rng.randint(1, 5), marks=rng.choice([None, random_marks(rng, case)]),
            late=late, batch=rng.choice([1, 2, 1000]), order=number % ORDERS, seed=number,
            launch=rng.choice([0, 1, 30]),
        ))  # fmt: skip
    return runs
