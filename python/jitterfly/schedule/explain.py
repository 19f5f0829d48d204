"""Critical path of an application's schedule under noise, by operation, rank and cause.

The last rank ends when it does because of what lies on one path through the schedule: its last
operation, what that waited for, and so on. What the time along it consists of adds up to the run
time, exactly. Which operations are on the path is another in each realization.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import optional_packages, resources
from ..answer import PICTURE, SECONDS, SHARE, Column, Note, Table, csv_text, notes_of, write_if_path
from ..backends import core, reporting
from ..explain import (
    ADD_UP,
    HEAD,
    MAX_ROWS,
    OF_RANKS,
    OF_SLOW_RANKS,
    PATH,
    RANK_COLUMNS,
    SHARES,
    DelayByCause,
    causes_of,
    drawn_speed_notes,
    means_of_sums,
    names_of,
)
from ..fields import MAX_REALIZATIONS, RealOrText, check_integer, is_number, parameter, shorten
from ..hierarchy import Hierarchy
from ..imbalance import Speed
from ..network import LogGOPS
from ..noise import Noise
from ..question import EFFORT, Count, Parameter, call_of, question
from ..simulate import check_times
from ..slowdown import part_in_words
from ..stats import Estimate
from ..stats.intervals import clopper_pearson, of_largest
from ..syntax import share_of_text
from ..units import from_ticks, show_size
from ..unseen_noise import RecordedNoise
from ..workload import place_noise
from .compile import CompiledSchedule, compile_schedule
from .order import (
    OrderCheck,
    bytes_to_check,
    compare_orders,
    different_realizations,
    realizations_to_check,
    usual_checks,
)
from .result import machine_in_words, question_as_json
from .schedule import KINDS, Schedule
from .simulate import Prepared, ScheduleParameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEFAULT_EXPLAINED = 100
PATH_PARTS = ("compute", "message CPU", "latency", "bytes", "gap")
BOUND_BY = ("start", "CPU", "required", "message", "rendezvous", "way out", "way in")
"""By what an operation can be held up last, in the order of the engine's numbers."""
_MAX_SOURCES = 12  # sources
_CAUSES = len(PATH_PARTS) + _MAX_SOURCES
_STEP = 5  # words of a step before its causes
_RANK_PARTS = 6
_SHOWN = 8  # rows of a table
_MANY = 10 * _SHOWN  # operations
_WORDS = {number: word for word, number in KINDS.items()}
_GAP = PATH_PARTS.index("gap")
_OF_GAPS = (
    "gap: waits for a network interface, which a message takes for g and for its further bytes, "
    "(n - 1) G"
)
_OF_SPEEDS = "on time: without noise, with the given speeds of the ranks"
_OF_SLOWEST = (
    "another sample has other slowest realizations: the intervals of delays allow for that, those "
    "of how often a rank, an operation or a cause is on the critical path do not"
)
_OF_MANY = (
    "operations shown are those most often on the critical path, of {:,} that ever were: the most "
    "frequent of so many are so by chance, too, which their intervals do not allow for"
)

Ticks = npt.NDArray[np.int64]


class OperationRow(NamedTuple):
    """An operation, and how often it is on the critical path.

    Attributes
    ----------
    rank, number : int
        Its rank, and which operation of the rank it is: from 0, in the order of the file.
    line : int
        Of the text; 0 where the schedule was no text.
    what : str
        As GOAL says it: "calc 500", "send 8b to 1", "recv 8b from 0".
    share : Estimate
        Of the realizations in which it is on the critical path; Clopper and Pearson's interval.
    time : float
        How much of the run time it is: mean over all realizations, seconds.
    noise_free : bool
        Whether it is on the path without noise.
    """

    rank: int
    number: int
    line: int
    what: str
    share: Estimate
    time: float
    noise_free: bool


class PathRankRow(NamedTuple):
    """A rank, and how often it is on the critical path.

    `share`: of the realizations in which one of its operations is on it. `time`: how much of the
    run time that is, `noise`: how much of that is noise, and its late start; means over all
    realizations, seconds.
    """

    rank: int
    share: Estimate
    time: float
    noise: float


class SizeRow(NamedTuple):
    """Calculations, or messages of one size, on the critical path.

    `what`: "calculations", "messages of 8 B". `time`: how much of the run time that is, mean over
    all realizations, with the noise that hits it; `on_time`: without noise, on the path there.
    Seconds. The times of all rows add up to the run time.
    """

    what: str
    time: float
    on_time: float


class KindRow(NamedTuple):
    """A cause of delay, or what can bind an operation, and how often it is on the critical path.

    `kind`: one of `ScheduleExplanation.causes` but the path itself, of `path_parts`, or "bound by"
    and one of `BOUND_BY`. `share`: of the realizations in which it is on the path.
    """

    kind: str
    share: Estimate


def _place(row: OperationRow) -> str:
    """Return rank and operation, and where it stands in the schedule."""
    where = f"line {row.line:,}" if row.line else f"number {row.number:,}"
    return f"rank {row.rank:,}, {row.what}, {where}"


_PATH_RANK_COLUMNS = (
    Column("rank", heading="rank"),
    Column("share", SHARE, True, heading="on path in"),
    Column("time", SECONDS, heading="time on path"),
    Column("noise", SECONDS, heading="of it noise"),
)
_OPERATION_COLUMNS = (
    Column("rank"),
    Column("operation", value=lambda _, row: row.number),
    Column("line"),
    Column("what"),
    Column("place", heading="operation", value=lambda _, row: _place(row), csv=False),
    Column("share", SHARE, True, heading="on path in"),
    Column("time", SECONDS, heading="time on path"),
    Column("noise_free", heading="without noise", show=lambda on: "on path" if on else "-"),
)
_SIZE_COLUMNS = (
    Column("what", heading="on the critical path"),
    Column("time", SECONDS, heading="time"),
    Column("on_time", SECONDS, heading="without noise"),
    Column("delay", SECONDS, heading="delay", value=lambda _, row: row.time - row.on_time),
)
_KIND_COLUMNS = (
    Column("kind", heading="on the critical path"),
    Column("share", SHARE, True, heading="in"),
)


@dataclass(frozen=True, eq=False, repr=False)
class CriticalPath:
    """The critical path of one realization, from its begin.

    Attributes
    ----------
    realization : int or None
        None: without noise.
    completion : int
        The run time, in ticks of 1 ps.
    rank, number : int array, shape (operations,)
        The operations: their rank, and their number in it. A receive is where its message is
        taken, or where it is posted.
    begin, end : int array, shape (operations,)
        From when to when the path is on it, in ticks.
    bound_by : tuple of str
        Why each did not begin earlier, one of `BOUND_BY`: its rank's start; an operation that took
        its CPU; one that it requires; its message; a rendezvous; the way out or in.
    parts : tuple of str
    ticks : int array, shape (operations, parts)
        Of what the time since the end of the operation before it consists, in ticks. All of them
        add up to `completion`. (Only a path without operations has none: that of a rank that does
        nothing but begin late.)
    """

    schedule: Schedule
    realization: int | None
    completion: int
    rank: Ticks
    number: Ticks
    begin: Ticks
    end: Ticks
    bound_by: tuple[str, ...]
    parts: tuple[str, ...]
    ticks: Ticks

    def __len__(self) -> int:
        return len(self.rank)

    def __repr__(self) -> str:
        which = "without noise" if self.realization is None else f"realization {self.realization}"
        return f"CriticalPath({which}: {len(self):,} operations)"

    def to_csv(self, path: str | Path | None = None) -> str:
        """A line for each operation; times in seconds, parts as `path_parts` and causes.

        Also written to `path`, where it is given.
        """
        head = ("rank", "operation", "line", "what", "bound_by", "begin_s", "end_s",
                *(f"{part}_s" for part in self.parts))  # fmt: skip
        columns = zip(
            self.rank.tolist(), self.number.tolist(),
            _named(self.schedule, self.rank, self.number), self.bound_by,
            from_ticks(self.begin).tolist(), from_ticks(self.end).tolist(),
            from_ticks(self.ticks).tolist(), strict=True,
        )  # fmt: skip
        rows = (
            (rank, number, line, what, bound, begin, end, *parts)
            for rank, number, (line, what), bound, begin, end, parts in columns
        )
        return write_if_path(csv_text(chain([head], rows)), path)


@dataclass(frozen=True, eq=False, repr=False)
class ScheduleExplanation(DelayByCause):
    """The answer of `explain_schedule`.

    Attributes
    ----------
    schedule : Schedule
    network : LogGOPS or Hierarchy
    speed : Speed, optional
        Of the ranks, as given; the time without noise has it, too.
    noise : tuple of Noise
    seed : int
    explained : int array, shape (n,)
        Which realizations of the seed are explained, by their numbers.
    simulated : int
        Of how many these are the slowest, or as many as are `explained`: all.
    causes : tuple of str
        "noise.0 (periodic)" and so on; "path": the difference that the path itself makes.
    ticks : int array, shape (n, causes)
        The delay by each cause on the critical path, in ticks of 1 ps; negative where a drawn speed
        is a gain. A row sums to the run time less `on_time`.
    completion : int array, shape (n,)
        The run time in ticks.
    on_time : int
        The same without noise.
    path_ticks : int array, shape (n, 5)
        What the path's own part, the last column of `ticks`, is made of, and adds up to: more
        calculations, CPU time of messages (o and O), latency (L), waits for further bytes (G) and
        for a network interface that another message takes (gap: g and (n - 1) G) than on the path
        without noise; negative where there is less. `path_parts` has their names.
    by_rank, by_rank_on_time : float array, shape (ranks, 6)
        What each rank did with its time, on the critical path or not, in ticks: the mean over the
        realizations, and without noise. See `jitterfly.explain`; of a rank with several CPUs the
        sums of all (CPU times, which may exceed the run time), and waits for its other CPUs are
        among those for messages.
    last_rank : int array, shape (n,)
        The rank that is last; of several the first.
    longest, longest_rank, longest_cause : int array, shape (n,)
        The longest delay of one operation of the path by one source, in ticks, the rank that it
        hit, and which of the causes it is; -1 where there is none.
    bound_by : int array, shape (n, 7)
        The number of operations of the path by what held them up last: see `BOUND_BY`.
    on_path : int array, shape (operations,)
        In how many realizations each operation is on the critical path, rank by rank.
    path_time : float array, shape (operations,)
        For how much of the run time, in ticks: mean over all realizations.
    on_path_noise_free : bool array, shape (operations,)
        Which operations are on the path without noise.
    path_time_noise_free : float array, shape (operations,)
        As `path_time`, of that path.
    rank_on_path : int array, shape (ranks,)
        In how many realizations an operation of the rank is on the critical path.
    order_check : OrderCheck, optional
        Some of them once more, in the order of arrival; None where memory was too short.
    rank_path_time, rank_path_noise : float array, shape (ranks,)
        For how much of the run time, and what of that is noise, in ticks: means.
    doubts : tuple of str
        What measured noise leaves open, as of `ScheduleResult`.
    recorded : RecordedNoise
        The recordings that are replayed.
    """

    schedule: Schedule
    network: LogGOPS | Hierarchy
    noise: tuple[Noise, ...]
    explained: Ticks
    simulated: int
    bound_by: Ticks
    on_path: npt.NDArray[np.uint32]
    path_time: npt.NDArray[np.float64]
    on_path_noise_free: npt.NDArray[np.bool_]
    path_time_noise_free: npt.NDArray[np.float64]
    rank_on_path: Ticks
    rank_path_time: npt.NDArray[np.float64]
    rank_path_noise: npt.NDArray[np.float64]
    parts_on_path: npt.NDArray[np.int64] = field(repr=False)
    speed: Speed | None = None
    order_check: OrderCheck | None = None
    doubts: tuple[str, ...] = ()
    recorded: RecordedNoise = RecordedNoise()

    path_parts: ClassVar[tuple[str, ...]] = PATH_PARTS

    @cached_property
    def _compiled(self) -> CompiledSchedule:
        return compile_schedule(self.schedule, self.network, self.noise, speed=self.speed)

    def __getstate__(self) -> dict[str, Any]:
        """Return what pickle and copies take; where needed they compile the schedule again."""
        return {key: value for key, value in self.__dict__.items() if key != "_compiled"}

    def _varies(self) -> dict[str, bool]:
        """Return by cause whether its delay differs among realizations."""
        drawn = self._is_drawn()
        can = {  # what is not drawn may do nothing at all
            cause: one.random or bool(own.any())
            for cause, one, own in zip(self.causes, self.noise, self.ticks.T, strict=False)
        }
        return {cause: drawn and can.get(cause, True) for cause in self.causes}

    def _noise(self) -> tuple[Noise, ...]:
        return self.noise

    def _recorded(self, cause: str) -> RecordedNoise | None:
        placed = place_noise(self.noise, self.network, self.schedule.ranks)
        own = [one for name, one in zip(names_of(self.noise), placed, strict=True) if name == cause]
        work = self.recorded.work
        return RecordedNoise.of(own, work) if own and work is not None else None

    def _is_drawn(self) -> bool:
        """Return whether noise is drawn; else all realizations are the same."""
        return any(one.random for one in self.noise)

    def _mean(self, ticks: Ticks, confidence: float, **known: Any) -> Estimate:
        found, n = super()._mean(ticks, confidence, **known), len(self.ticks)
        if n == self.simulated:
            return found
        times = from_ticks(self.completion)
        wider = of_largest(found, from_ticks(ticks), times, n / self.simulated)
        return wider.bounded(known.get("lower_bound"))

    def _share(self, count: int, confidence: float) -> Estimate:
        """Return a share of the realizations, with its interval if they are drawn."""
        n = len(self.ticks)
        if not self._is_drawn():
            return Estimate(count / n, count / n, count / n, confidence, n)
        return _interval(int(count), n, confidence)

    def operation_rows(
        self, most: int | None = None, confidence: float = 0.95
    ) -> list[OperationRow]:
        """A row for each operation that is on any critical path; with `most`, at most that many.

        Those that are on it in most realizations come first; of equal ones those that take longest.
        """
        there = np.flatnonzero(self.on_path)
        order = np.lexsort((-self.path_time[there], -self.on_path[there].astype(np.int64)))
        chosen = there[order[:most]]
        ranks, numbers = _located(self.schedule, chosen)
        return [
            OperationRow(
                rank, number, line, what, self._share(count, confidence), time, bool(on_path)
            )
            for rank, number, (line, what), count, time, on_path in zip(
                ranks.tolist(), numbers.tolist(), _named(self.schedule, ranks, numbers),
                self.on_path[chosen].tolist(), from_ticks(self.path_time[chosen]).tolist(),
                self.on_path_noise_free[chosen].tolist(), strict=True,
            )
        ]  # fmt: skip

    def path_rank_rows(
        self, most: int | None = None, confidence: float = 0.95
    ) -> list[PathRankRow]:
        """A row for each rank; with `most`, only the ranks on which the path is longest."""
        order = np.argsort(-self.rank_path_time, kind="stable")
        ranks = np.arange(len(order)) if most is None else order[:most]
        return [
            PathRankRow(
                rank, self._share(int(self.rank_on_path[rank]), confidence),
                float(from_ticks(self.rank_path_time[rank])),
                float(from_ticks(self.rank_path_noise[rank])),
            )
            for rank in ranks.tolist()
        ]  # fmt: skip

    def size_rows(self) -> list[SizeRow]:
        """A row for all calculations and for each size of messages; the largest delay first."""
        there = np.flatnonzero((self.path_time > 0) | (self.path_time_noise_free > 0))
        ranks, numbers = _located(self.schedule, there)
        times: dict[str, Ticks] = {}
        columns = np.column_stack([self.path_time, self.path_time_noise_free])[there]
        for rank, number, own in zip(ranks.tolist(), numbers.tolist(), columns, strict=True):
            kind, size, *_ = self.schedule._mapped.operation(rank, number)
            what = "calculations" if kind == KINDS["calc"] else f"messages of {show_size(size)}"
            times[what] = times.get(what, 0.0) + own
        rows = [SizeRow(what, *from_ticks(both).tolist()) for what, both in times.items()]
        return sorted(rows, key=lambda row: row.on_time - row.time)

    def kind_rows(self, confidence: float = 0.95) -> list[KindRow]:
        """Return how often causes, parts and bounds are on the critical path."""
        noise = (self.ticks[:, :-1] != 0).sum(axis=0).tolist()  # a speed may be a gain
        parts = (self.parts_on_path > 0).sum(axis=0).tolist()
        bounds = (self.bound_by > 0).sum(axis=0).tolist()
        names = [*self.causes[:-1], *self.path_parts, *(f"bound by {name}" for name in BOUND_BY)]
        return [
            KindRow(name, self._share(count, confidence))
            for name, count in zip(names, [*noise, *parts, *bounds], strict=True)
        ]

    def critical_path(
        self, realization: int | None = None, *, noise_free: bool = False
    ) -> CriticalPath:
        """The critical path of one realization, which is executed once more.

        Parameters
        ----------
        realization : int, optional
            Its number, any of the seed. Left out: the slowest of those that are explained.
        noise_free : bool
            The path without noise instead.

        Raises
        ------
        ValueError
            The number is out of range, or one was given together with `noise_free`.
        KeyboardInterrupt
            Ctrl-C.
        """
        if realization is not None:
            if noise_free:
                raise ValueError("realization must be left out where noise_free is True")
            check_integer(realization, "realization", 0, 2**32 - 1)
        else:
            realization = int(self.explained[np.argmax(self.completion)])
        raw = core.critical_path(*self._compiled, self.seed, realization, noise_free)
        places = [*range(len(PATH_PARTS)), *causes_of(self.noise)]
        if len(raw):
            completion = int(raw[:, _STEP:].sum())
        else:
            completion = self.on_time if noise_free else self._completion_of(realization)
        return CriticalPath(
            schedule=self.schedule,
            realization=None if noise_free else realization,
            completion=completion,
            rank=raw[:, 0].copy(),
            number=raw[:, 1].copy(),
            begin=raw[:, 2].copy(),
            end=raw[:, 3].copy(),
            bound_by=tuple(BOUND_BY[i] for i in raw[:, 4].tolist()),
            parts=(*PATH_PARTS, *self.causes[:-1]),
            ticks=raw[:, _STEP:][:, places],
        )

    def _completion_of(self, realization: int) -> int:
        plan, program = self._compiled
        return int(core.simulate_schedule(plan, program, self.seed, realization, 1, 1)[0, 0])

    @property
    def waits_for_rest(self) -> str:
        """The causes of waiting other than ranks that had not sent, in words.

        A calculation on one CPU may require one on another of the same rank.
        """
        return "messages, own CPUs" if self.schedule.cpus > 1 else "messages"

    @property
    def cpus(self) -> int:
        """The number of CPUs of a rank that the times of ranks are the sum of."""
        return self.schedule.cpus

    def title(self) -> str:
        """Say what was simulated, and the delay in all."""
        return f"{self.schedule.name}: {self.schedule.summary()}: {self._delay_in_words()}"

    def more_tables(self) -> list[Table]:
        """Return the tables of ranks, and of what is on the critical path."""
        return [self.rank_table(), *self.path_tables()]

    def path_lines(self) -> list[str]:
        """The tables of ranks, operations, sizes and kinds on the critical path, as text."""
        return [line for table in self.path_tables() for line in (*table.lines(), "")][:-1]

    def path_tables(self) -> list[Table]:
        """Return the tables of ranks, operations, sizes and kinds on the critical path."""
        return [
            Table(_PATH_RANK_COLUMNS, self.path_rank_rows(_SHOWN), left=1),
            Table(_OPERATION_COLUMNS, self.operation_rows(_SHOWN), left=1),
            Table(_SIZE_COLUMNS, self.size_rows()[:_SHOWN], left=1),
            Table(_KIND_COLUMNS, [row for row in self.kind_rows() if row.share.value > 0], left=1),
        ]

    def facts(self) -> dict[str, Any]:
        """Return what the JSON has beside causes and notes."""
        return {
            **question_as_json(self),
            "simulated": self.simulated,
            **super().facts(),
            "path_ranks": self.path_rank_rows(MAX_ROWS),
            "path_operations": self.operation_rows(MAX_ROWS),
            "path_sizes": self.size_rows(),
            "path_kinds": self.kind_rows(),
        }

    def _network_and_speed(self) -> tuple[LogGOPS | Hierarchy, Speed | None]:
        return self.network, self.speed

    def _question_in_words(self) -> list[str]:
        """Machine and noise: of each source what its cause in the tables stands for."""
        noise = [f"noise.{i}: {part_in_words(one)}" for i, one in enumerate(self.noise)]
        return [*machine_in_words(self.network, self.speed), *(noise or ["noise: none"])]

    def _realizations_in_words(self) -> str:
        n = len(self.ticks)
        if n < self.simulated:
            return f"the {n:,} slowest of {self.simulated:,} realizations, seed {self.seed}"
        return f"{n:,} realizations, seed {self.seed}"

    def _own_notes(self) -> list[Note]:
        """Say which realizations, how often which rank is to blame, and what the numbers are."""
        cpus, operations = self.schedule.cpus, np.count_nonzero(self.on_path)
        of_ranks = [
            OF_RANKS,
            *([f"of ranks: times are those of all their {cpus} CPUs together, up to {cpus} times "
               "the run time"] if cpus > 1 else []),
            *([_OF_GAPS] if self.parts_on_path[:, _GAP].any() else []),
            *([_OF_SPEEDS, OF_SLOW_RANKS] if self.speed is not None else []),
            *drawn_speed_notes(self.noise),
        ]  # fmt: skip
        few = len(self.ticks) < self.simulated
        many = operations > _MANY and self._is_drawn()
        return [
            *notes_of("order_matters", self._order_warning()),
            *notes_of("question", self._question_in_words(), PICTURE),
            Note("realizations", self._realizations_in_words(), PICTURE),
            *notes_of("shares", [ADD_UP, SHARES]),
            *([Note("slowest", _OF_SLOWEST)] if few else []),
            *([Note("many_operations", _OF_MANY.format(operations))] if many else []),
            Note("culprits", self._culprits_in_words()),
            *notes_of("recording", self.recorded.in_words()),
            *notes_of("doubt", self.doubts),
            *notes_of("ranks", of_ranks),
            Note("order", "competing operations keep the order that they have without noise"),
        ]  # fmt: skip

    def _order_warning(self) -> list[str]:
        if self.order_check is None:
            return []
        advice = (
            "what is explained is the order without noise; `simulate_schedule` and `jitterfly run` "
            f"take {parameter('order')} arrival"
        )
        return self.order_check.warning(float(from_ticks(self.completion).mean()), advice)

    def operations_to_csv(self, path: str | Path | None = None) -> str:
        """A line for each operation that is on any critical path, as `operation_rows`.

        Also written to `path`, where it is given.
        """
        return write_if_path(Table(_OPERATION_COLUMNS, self.operation_rows()).csv(), path)

    def ranks_to_csv(self, path: str | Path | None = None) -> str:
        """A line for each rank: what it did with its time, and how often it is on the path.

        Also written to `path`, where it is given.
        """
        rows = [
            SimpleNamespace(
                **row._asdict(), **{f"path_{key}": one for key, one in other._asdict().items()}
            )
            for row, other in zip(self.rank_rows(), self.path_rank_rows(), strict=True)
        ]
        of_path = (replace(one, name=f"path_{one.name}") for one in _PATH_RANK_COLUMNS[1:])
        return write_if_path(Table([*RANK_COLUMNS, *of_path], rows).csv(), path)

    def plot_paths(self, path: str | Path | None = None) -> Figure:
        """Draw the share of realizations in which operations are on the path, over time and ranks.

        Time is that of the run without noise. Written to `path`, where it is given; errors as
        `plot`.
        """
        return optional_packages.picture("answers", self, function="draw_critical_path", path=path)

    def noise_free_times(self) -> Ticks:
        """Return when operations begin and end without noise, in ticks, shape (n, 2)."""
        without_noise = compile_schedule(self.schedule, self.network, (), speed=self.speed)
        return core.operation_times(*without_noise, 0, 0)


class _Slowest(Parameter[RealOrText | None, float | None]):
    takes = "float | str | None"
    metavar = "P%"

    def read(self, value: Any, name: str) -> float | None:
        share = share_of_text(value) if isinstance(value, str) else value
        if share is None or (is_number(share) and 0 < share <= 1):
            return None if share is None else float(share)
        raise ValueError(f"{name} must be a part of the realizations, such as 5% or 0.05, got "
                         f"{shorten(value)}")  # fmt: skip


@question
class ScheduleExplainQuestion(ScheduleParameters):
    """The question of `explain_schedule`; at most 12 sources of noise."""

    realizations: Count = Count(
        "how many are explained; with `slowest`, simulated",
        "They are those of `simulate_schedule`.",
        default=DEFAULT_EXPLAINED,
        low=1,
        high=MAX_REALIZATIONS,
        part=EFFORT,
    )
    _: KW_ONLY
    slowest: _Slowest = _Slowest(
        "explain this part of the realizations, the slowest ones",
        "A share above 0; at least one of them is explained.",
        default=None,
    )


def _answer(asked: ScheduleExplainQuestion) -> ScheduleExplanation:
    """Find what delays an application: the critical path of each realization, cause by cause.

    The run without noise (`on_time`) has the given speeds; that of `explain` has not.

    Returns
    -------
    ScheduleExplanation

    Raises
    ------
    ValueError
        As `simulate_schedule`; more than 12 sources; `slowest` out of range.
    KeyboardInterrupt
        Ctrl-C.

    Notes
    -----
    Operations that compete for a CPU keep the order that they have without noise (`order` of
    `simulate_schedule`). Where two reasons to wait end at the same time, the path takes one of
    them, in all realizations alike.

    A thread executes one realization at a time, and remembers about 50 bytes of each operation and
    24 of each that a source delays. There are as many threads as memory allows.

    Examples
    --------
    >>> import jitterfly as jf
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> text = '''num_ranks 2
    ... rank 0 {
    ... a: calc 500000
    ... b: send 8b to 1
    ... b requires a
    ... }
    ... rank 1 {
    ... a: calc 499000
    ... b: recv 8b from 0
    ... c: calc 100
    ... c requires b
    ... }
    ... '''
    >>> noise = jf.PeriodicNoise("1ms", "100us")
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "two.goal"
    ...     _ = path.write_text(text)
    ...     found = jf.explain_schedule(path, "L=1us,o=200ns", noise)
    >>> bool((found.ticks.sum(axis=1) == found.completion - found.on_time).all())
    True
    >>> path = found.critical_path(noise_free=True)
    >>> list(zip(path.rank.tolist(), path.number.tolist(), path.bound_by))
    [(0, 0, 'start'), (0, 1, 'required'), (1, 1, 'message'), (1, 2, 'required')]
    """
    schedule, sources, speed, slowest = asked.schedule, asked.noise, asked.speed, asked.slowest
    realizations, seed, first = asked.realizations, asked.seed, asked.first_realization
    prepared = asked.prepare()
    compiled = prepared.compiled
    if len(sources) > _MAX_SOURCES:
        raise ValueError(f"noise must hold at most {_MAX_SOURCES} sources to be explained, "
                         f"got {len(sources)}")  # fmt: skip
    count = realizations if slowest is None else max(1, math.ceil(slowest * realizations))
    simulated = realizations if slowest is not None else 0  # to see which are the slowest
    available = resources.available_memory()
    # 29 bytes of an operation are counted over all realizations, and 24 are a simulated result.
    held = 29 * schedule.operations + 24 * simulated
    held += 8 * (HEAD + _CAUSES + len(BOUND_BY)) * 2 * count
    each = core.memory_to_explain(*compiled)  # of a thread
    resources.check_memory(held + each, f"the critical path of {schedule.operations:,} operations",
                        available)  # fmt: skip
    threads = asked.threads or core.hardware_threads()
    if available is not None:
        threads = max(1, min(threads, int((available - held) // max(each, 1))))
    with reporting(asked.progress, simulated + count, "cpu") as report:

        def report_explained(done: int) -> None:
            report(simulated + done)  # type: ignore[misc]

        numbers = np.arange(first, first + count, dtype=np.uint32)
        if simulated:
            raw = core.simulate_schedule(
                *compiled, seed, first, realizations, asked.threads or 0, report
            )
            check_times(raw[:, :1])
            order = np.argsort(-raw[:, 0], kind="stable")[:count]
            numbers = (first + np.sort(order)).astype(np.uint32)
        found = core.explain_schedule(
            *compiled, seed, numbers, False, threads, None if report is None else report_explained
        )
        noise_free = core.explain_schedule(*compiled, seed, np.zeros(1, dtype=np.uint32), True, 1)
    check_times(found[0][:, :1])
    for source in sources:
        source.check_length(int(found[0][:, 0].max()))
    check = None
    different = different_realizations(count, sources, speed)
    if different and (available is None or bytes_to_check(schedule, len(sources)) <= available):
        checks = min(usual_checks(schedule.operations), different)
        chosen, fair = realizations_to_check(found[0][:, 0], checks)
        check = compare_orders(
            schedule, asked.network, speed, compiled, seed, numbers[chosen].tolist(), fair,
            raw[:, 0] if simulated else found[0][:, 0], are_longest=count < realizations,
        )  # fmt: skip
    return _explanation(asked, prepared, numbers, simulated or count, found, noise_free, check)


explain_schedule = call_of(ScheduleExplainQuestion, _answer, "explain_schedule")


def _explanation(
    asked: ScheduleExplainQuestion,
    prepared: Prepared,
    numbers: npt.NDArray[np.uint32],
    simulated: int,
    found: Any,
    noise_free: Any,
    check: OrderCheck | None,
) -> ScheduleExplanation:
    """Make the explanation of the engine's numbers, under noise and without it."""
    raw, on_path, times, ranks = found
    n, count = len(raw), len(PATH_PARTS)
    noise = asked.noise
    parts = raw[:, HEAD : HEAD + count]
    path = parts - noise_free[0][0, HEAD : HEAD + count]
    places = causes_of(noise)
    columns = [raw[:, HEAD + place] for place in places] + [path.sum(axis=1)]
    which = {place: i for i, place in enumerate(places)} | {-1: -1}
    sums = ranks[:, :-1].reshape(len(ranks), -1, 2)
    means = means_of_sums(sums, n)
    explanation = ScheduleExplanation(
        schedule=asked.schedule,
        network=asked.network,
        noise=noise,
        seed=asked.seed,
        explained=numbers.astype(np.int64),
        simulated=simulated,
        causes=(*names_of(noise), PATH),
        ticks=np.column_stack(columns),
        completion=raw[:, 0].copy(),
        on_time=int(noise_free[0][0, 0]),
        last_rank=raw[:, 1].copy(),
        longest=raw[:, 2].copy(),
        longest_rank=raw[:, 3].copy(),
        longest_cause=np.array([which[cause] for cause in raw[:, 4].tolist()], dtype=np.int64),
        path_ticks=path,
        by_rank=means[:, :_RANK_PARTS],
        by_rank_on_time=means_of_sums(noise_free[3][:, :-1].reshape(len(ranks), -1, 2), 1)[
            :, :_RANK_PARTS
        ],
        bound_by=raw[:, HEAD + _CAUSES :].copy(),
        on_path=on_path,
        path_time=means_of_sums(times, n),
        on_path_noise_free=noise_free[1] > 0,
        path_time_noise_free=means_of_sums(noise_free[2], 1),
        rank_on_path=ranks[:, -1].copy(),
        rank_path_time=means[:, _RANK_PARTS],
        rank_path_noise=means[:, _RANK_PARTS + 1],
        parts_on_path=parts.copy(),
        speed=asked.speed,
        order_check=check,
        doubts=prepared.doubts,
        recorded=prepared.recorded,
    )
    explanation.__dict__["_compiled"] = prepared.compiled
    return explanation


@lru_cache(maxsize=1024)
def _interval(count: int, n: int, confidence: float) -> Estimate:
    """Return a share with its Clopper-Pearson interval."""
    low, high = clopper_pearson(count, n, confidence)
    return Estimate(count / n, low, high, confidence, n)


def _located(schedule: Schedule, operations: Ticks) -> tuple[Ticks, Ticks]:
    """The ranks of operations of the whole schedule, and their numbers there."""
    begins = np.array(schedule._mapped.begins, dtype=np.int64)
    ranks = np.searchsorted(begins, operations, side="right") - 1
    return ranks, operations - begins[ranks]


def _named(schedule: Schedule, ranks: Ticks, numbers: Ticks) -> Iterator[tuple[int, str]]:
    """The line of each operation, and what it does."""
    for rank, number in zip(ranks.tolist(), numbers.tolist(), strict=True):
        kind, size, peer, _, _, _, line = schedule._mapped.operation(rank, number)
        text = f"{_WORDS[kind]} {size}"
        if kind != KINDS["calc"]:
            text += f"b {'to' if kind == KINDS['send'] else 'from'} {peer}"
        yield line, text
