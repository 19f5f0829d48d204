"""`ScheduleCase`: an application's schedule as the case of a study, with its network and noise.

What a study asks of a `Workload` is answered here for schedules.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from multiprocessing import parent_process
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from ..backends import backend_named, check_run_arguments, core
from ..case import read_parts
from ..fields import Converted, Int, check_choice, check_keys, check_present, frozen_dataclass
from ..files import FileField, FileName, find_file
from ..hierarchy import Hierarchy
from ..imbalance import SpeedOrText, check_ranks, check_speed
from ..network import LogGOPS
from ..noise import Noise
from ..noise.source import ExpectedWork, MaxWork
from ..workload import CompletionRow, Poll, RankWork, Work, Workload
from .compile import CompiledSchedule, LevelCosts, compile_program, costs_of_levels
from .schedule import Schedule, is_pattern, read_marks
from .simulate import (
    ORDERS,
    bytes_in_flight,
    check_lengths,
    check_order_on,
    check_schedule_network,
    check_schedule_noise,
    execute,
    expected_work,
    max_work,
    needs_length,
    plan_schedule,
    warn_of_short_receives,
    why_speed_is_ineffective,
    work_of_plan,
    work_until,
)

_COMPLETION = "completion"
_OF_COLLECTIVES = ("ranks", "algorithm", "message_bytes", "cycles", "compute_time", "arrival")


class _ScheduleNetwork(Converted[LogGOPS | Hierarchy | str, LogGOPS | Hierarchy]):
    def __init__(self) -> None:
        super().__init__("LogGOPS | Hierarchy | str")


@frozen_dataclass()
class ScheduleCase(Workload):
    r"""One situation of an application to simulate in a `Study`: its schedule, network and noise.

    `simulate_schedule` runs one alone, and says more of it; it has the rules. In a study, what is
    observed of a realization is its run time, as the completion of its last cycle. Without marks it
    has one cycle. With them a cycle ends when a mark is reached, in their order, and one more with
    the run; `CycleTime` is the time of an iteration.

    Parameters
    ----------
    schedule : str or Path
        A file that `Schedule.read` takes; in a study's file, from its folder. Of at most 1 GiB.
    network : LogGOPS, Hierarchy or str
        As in `simulate_schedule`.
    noise : list of Noise, str or Path
        All but `Congestion`.
    speed : Speed, optional
        By which factor each rank takes longer for ``calc``.
    order : "noise-free" or "arrival"
        In which operations that compete for a CPU are executed. A study has no order check: see in
        `simulate_schedule` whether the order matters.
    marks : str or Path, optional
        Which operations end iterations: a file or a pattern, as in `simulate_schedule`.
    sha256, marks_sha256 : str, optional
        Which content the files must have; None: that which they have. A store keeps copies. With
        another file in `dataclasses.replace` give it as None, too.

    Raises
    ------
    ValueError
        A file can not be read, is no schedule, or has changed; a field out of range.

    Examples
    --------
    >>> import jitterfly as jf
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> text = "num_ranks 2\nrank 0 {\ncalc 9000\n}\nrank 1 {\ncalc 5000\n}"
    >>> noise = [jf.PeriodicNoise(period="10us", duration="1us", start="stationary")]
    >>> budget = jf.RealizationBudget(max=500)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "app.goal"
    ...     _ = path.write_text(text)
    ...     case = jf.ScheduleCase(path, network="L=1us,o=200ns", noise=noise)
    ...     axis = jf.Axis("D", ["1us", "2us"], path="noise.0.duration")
    ...     found = jf.Study("app", case=case, axes=[axis], budget=budget).run()
    ...     means = found.to_pandas().query("observable == 'slowdown' and statistic == 'mean'")
    >>> [round(mean, 2) for mean in means.value]
    [1.11, 1.26]
    """

    schedule: FileField
    _: dataclasses.KW_ONLY
    network: _ScheduleNetwork
    noise: Converted[list[Noise | str | Path] | str | Path, tuple[Noise, ...]] = Converted(
        "list of Noise | str | Path", ()
    )
    speed: SpeedOrText = SpeedOrText()
    order: Literal["noise-free", "arrival"] = "noise-free"
    marks: str | Path | None = None
    sha256: str | None = None
    marks_sha256: str | None = None

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        name, digest = _find(self.schedule, self.sha256, "schedule")
        put("schedule", name)
        put("sha256", digest)
        if self.marks is None or is_pattern(self.marks):
            if self.marks_sha256 is not None:
                raise ValueError("marks_sha256 must be left out where marks is no file")
        else:
            name, digest = _find(self.marks, self.marks_sha256, "marks")
            put("marks", name)
            put("marks_sha256", digest)
        put("network", check_schedule_network(self.network))
        put("noise", check_schedule_noise(self.noise))
        check_choice(self.order, "order", ORDERS)
        ranks = self.size.ranks  # the files are read
        for noise in self.placed_noise:
            noise.check(ranks, 0)  # how long messages are on their way: `compile_program`
        put("speed", check_speed(self.speed))
        if self.speed is not None:
            check_ranks(ranks)
            self.speed.of_ranks(ranks)

    @property
    def file(self) -> FileName:
        """The schedule's file, as a store asks for those that it keeps a copy of."""
        return self.schedule

    @property
    def read_files(self) -> dict[str, Path]:
        """Files that it reads beside that, by name, where they are: that of marks."""
        return {str(self.marks): self.marks.path} if isinstance(self.marks, FileName) else {}

    @property
    def size(self) -> _Size:
        """The numbers of ranks and operations of the schedule, and its marks."""
        return _size(self._files)

    @property
    def _files(self) -> _Files:
        """The files that are read, by their content."""
        marks = self.marks.path if isinstance(self.marks, FileName) else self.marks
        return self.schedule.path, str(self.sha256), marks, self.marks_sha256

    @property
    def ranks(self) -> int:
        """The number of ranks of the schedule."""
        return self.size.ranks

    @property
    def cycles(self) -> int:
        """One for each mark and one to the end of the run, which is done once."""
        return len(self.size.marks) + 1

    @property
    def observe(self) -> str:
        """The run time, and when marks are reached."""
        return _COMPLETION

    def read(self) -> Schedule:
        """The schedule, with its marks."""
        return _read(self._files)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for TOML and JSON; `from_dict` makes the case again."""
        values: dict[str, Any] = {
            "schedule": {"file": self.schedule, "sha256": self.sha256},
            "network": self.network.to_dict(),
            "noise": [noise.to_dict() for noise in self.noise],
            "order": self.order,
        }
        if self.speed is not None:
            values["speed"] = self.speed.to_dict()
        if isinstance(self.marks, FileName):
            values["marks"] = {"file": self.marks, "sha256": self.marks_sha256}
        elif self.marks is not None:
            values["marks"] = self.marks
        return values

    def identity(self) -> dict[str, Any]:
        """Return what decides the results, as plain values: files by their content, not by name."""
        marks = {} if self.marks is None else {"marks": self.marks_sha256 or self.marks}
        return (
            self.to_dict()
            | marks
            | {
                "schedule": self.sha256,
                "network": self.network.identity(),
                "noise": [noise.identity() for noise in self.placed_noise],
                "observe": self.observe,
            }
            # Before, speeds counted in the order, and in which message a receive takes.
            | ({} if self.speed is None else {"equally_fast": True})
            | self.content_of_own()
        )

    def max_work(self, noise: Noise | None = None) -> MaxWork:
        return _max_work(_without_noise(self), needs_length(noise))

    def expected_work(self) -> ExpectedWork:
        return _expected_work(_without_noise(self))

    def work_until(self) -> Work:
        return _work_until(self._files)

    def work_per_cycle(self) -> RankWork:
        return work_of_plan(self.ranks, _plan(_without_noise(self)))

    def why_speed_is_ineffective(self) -> str:
        return _why_speed_is_ineffective(_without_noise(self))

    def rank_rounds(self) -> int:
        return max(self.size.operations, 1)

    def observation_names(self) -> list[str]:
        return [row.name for row in self.completions()]

    def completions(self) -> list[CompletionRow]:
        if (last := self.cycles) == 1:
            return [CompletionRow(_COMPLETION, 0, 1)]
        return [CompletionRow(f"cycle {cycle}", 0, cycle) for cycle in range(1, last + 1)]

    def noise_only_delays(self) -> bool:
        # Costs are added along one order of operations; in that of arrival noise may find a better.
        return self.order == "noise-free" and not any(noise.hastens for noise in self.noise)

    def noise_free_ticks(self, poll: Poll | None = None) -> npt.NDArray[np.int64]:
        return np.array(_noise_free(_without_noise(self)), dtype=np.int64)

    def engine_memory(self, realizations: int, threads: int = 0) -> int:
        compiled = _compiled(self)
        return bytes_in_flight(self.read(), compiled, self.noise, realizations, threads, self.order)

    def realize(
        self,
        realizations: int,
        seed: int,
        first_realization: int = 0,
        backend: str = "auto",
        threads: Int | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> tuple[npt.NDArray[np.int64], str]:
        engine = "cuda" if backend_named(backend) == "cuda" else "cpu"
        check_order_on(engine, self.order)
        check_run_arguments(realizations, seed, engine, threads, progress, first_realization)
        raw = execute(
            self.read(), _compiled(self), self.noise, realizations, seed, first_realization,
            threads, self.order, engine, progress,
        )  # fmt: skip
        _, _, *marks = range(raw.shape[1])  # after the run time, and the rank that is last
        return raw[:, [*marks, 0]], engine

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> ScheduleCase:
        """A case from plain values, such as the ``[case]`` table of a study.

        Raises
        ------
        ValueError
            Unknown, missing or bad keys; the message says where.
        """
        check_keys(table, KEYS, "case", _advice_on)
        check_present(table, ("schedule", "network"), "case")
        values = read_parts(table)
        for name, digest in (("schedule", "sha256"), ("marks", "marks_sha256")):
            if isinstance(file := values.get(name), Mapping):
                check_keys(file, ["file", "sha256"], name)
                check_present(file, ["file"], name)
                values |= {name: file["file"], digest: file.get("sha256")}
        return cls(**values)


def _find(file: Any, sha256: str | None, what: str) -> tuple[FileName, str]:
    """The file, and its content's SHA-256; ValueError if it can not be read or is another."""
    if isinstance(file, Schedule):
        raise ValueError(
            f"{what} must be a file: write it with `Schedule.write(path)` first, or with its marks "
            "by `ScheduleBuilder.write(path, marks=...)`"
        )
    try:
        return find_file(file, sha256)
    except ValueError as error:
        raise ValueError(f"{what}: {str(error).removeprefix('file: ')}") from None


KEYS = ("schedule", "network", "noise", "speed", "order", "marks")
"""Of the table of such a case."""


def _advice_on(key: Any) -> str:
    """Return a hint on a key that is of collectives alone."""
    if key in _OF_COLLECTIVES:
        return " (of a collective; a schedule says itself what its ranks do)"
    return ""


# A study asks again and again. What is small is kept of many cases, for tables of all cells; what
# takes some 30 bytes an operation, of few.


_Files = tuple[Path, str, str | Path | None, str | None]  # schedule and marks, with each a SHA-256


@lru_cache(maxsize=8)
def _read(files: _Files) -> Schedule:
    """The schedule in a file with this content, with marks of a pattern, or of a file."""
    path, sha256, marks, marks_sha256 = files
    _find(str(path), sha256, "schedule")  # it may have changed since
    schedule = Schedule.read(path)
    if isinstance(marks, Path):
        _find(str(marks), marks_sha256, "marks")
    if marks is not None:
        schedule.marks = read_marks(schedule, marks)
    return schedule


class _Size(NamedTuple):
    ranks: int
    operations: int
    marks: tuple[str, ...]  # their names


@lru_cache(maxsize=4096)
def _work_until(files: _Files) -> Work:
    """Return the work until each mark, and of all, of the files."""
    schedule = _read(files)
    return work_until(schedule, schedule.marks)


@lru_cache(maxsize=4096)
def _size(files: _Files) -> _Size:
    """Return the numbers of ranks and operations, and the names of marks, of the files."""
    schedule = _read(files)
    names = () if schedule.marks is None else schedule.marks.names
    return _Size(schedule.ranks, schedule.operations, names)


def _without_noise(case: ScheduleCase) -> ScheduleCase:
    """Return the case that decides the order of operations, and their times without noise.

    That is the order without noise, also where each realization has its own (``order="arrival"``).
    """
    without = copy.copy(case)  # nothing to check again
    object.__setattr__(without, "noise", ())
    if case.speed is None:  # without which the order of arrival is no other one
        object.__setattr__(without, "order", "noise-free")
    return without


_MAX_PLANNED = 2**26  # operations in all plans that are kept: 2 GB
_plans: dict[ScheduleCase, core.SchedulePlan] = {}  # of cases without noise, the oldest first


def _plan(case: ScheduleCase) -> core.SchedulePlan:
    """The order of operations of a case without noise; as variants take turns, several are kept."""
    plan = _plans.pop(case, None)
    if plan is None:
        schedule = case.read()
        compiled = plan_schedule(schedule, case.network, (), schedule.marks, case.speed, case.order)
        plan = compiled.plan
        if parent_process() is None:  # workers repeat nothing
            warn_of_short_receives(schedule, plan)
    _plans[case] = plan
    while len(_plans) > 1 and sum(one.size.operations for one in _plans) > _MAX_PLANNED:
        del _plans[next(iter(_plans))]
    return plan


@lru_cache(maxsize=16)
def _costs(case: ScheduleCase) -> list[LevelCosts]:
    """Return the costs of messages on each level of the network."""
    return costs_of_levels(case.read(), case.network)


@lru_cache(maxsize=16)
def _program(case: ScheduleCase) -> core.Program:
    """Return the engine's program of a schedule with noise."""
    levels = _costs(_without_noise(case))
    return compile_program(case.read(), case.network, levels, case.noise, case.speed)


def _compiled(case: ScheduleCase) -> CompiledSchedule:
    plan = _plan(_without_noise(case))
    check_lengths(case.noise, plan)
    return CompiledSchedule(plan, _program(case))


@lru_cache(maxsize=4096)
def _noise_free(case: ScheduleCase) -> tuple[int, ...]:
    """Return when marks and the end are reached without noise, in ticks."""
    plan = _plan(case)
    return (*plan.reached, plan.completion)


@lru_cache(maxsize=4096)
def _max_work(case: ScheduleCase, positive: bool) -> MaxWork:
    return max_work(case.read(), case.network, positive=positive)


@lru_cache(maxsize=4096)
def _why_speed_is_ineffective(case: ScheduleCase) -> str:
    return "" if case.speed is None else why_speed_is_ineffective(case.speed, case.read())


@lru_cache(maxsize=4096)
def _expected_work(case: ScheduleCase) -> ExpectedWork:
    return expected_work(case.read(), _plan(case))
