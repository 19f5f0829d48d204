"""Critical path of a collective (`explain`): its delay by cause (detours, ...); ranks' waiting.

The last rank ends when it does because of what lies on one path through the messages: its own work,
a message that it waited for, what its sender waited for, and so on. All that delayed anything on
that path adds up to the delay of the collective, exactly.

Beside that, what each rank did with its time, on the critical path or not: how long it waited, and
what of it for ranks that had not sent yet.

The path is followed in cuda/cpu/critical_path.cpp.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from . import resources, stats
from .algorithms.library_choice import LibraryRules
from .answer import (
    FIRST,
    PICTURE,
    SECONDS,
    Answer,
    Column,
    Note,
    Table,
    notes_of,
    show_time,
    write_if_path,
)
from .backends import check_run_arguments, core, reporting
from .case import (
    Case,
    allows_switches,
    warn_of_doubts,
    warn_of_ineffective_noise,
    warn_of_unused_costs,
)
from .faster_algorithm import algorithm_cautions
from .fields import MAX_REALIZATIONS, MAX_THREADS, counted, first_few
from .hierarchy import Hierarchy
from .imbalance import Speed
from .network import Network
from .noise import (
    LateArrival,
    MessageNoise,
    NetworkJitter,
    NetworkWeather,
    Noise,
    SpeedNoise,
    StepNoise,
)
from .noise.source import IntervalNoise, name_in_case, names_level, node_ranks
from .program import check_times, compile_case
from .question import (
    EFFORT,
    CaseParameter,
    Count,
    Progress,
    Question,
    Seed,
    Threads,
    call_of,
    question,
    required,
)
from .slowdown import given_in_words, no_hosts_notes, part_in_words, parts_in_words, repetition
from .stats import Estimate
from .steps import ASK, COPY
from .units import TICKS_PER_SECOND, column_units, from_ticks, show_size
from .unseen_noise import RecordedNoise

ARRIVAL, SPEED, LINKS, PATH = "arrival", "speed", "links", "path"
"""Causes that are no noise: late ranks, slow ranks and slow links that are given, and the path."""
HEAD = 5  # time, rank, longest delay, whose, by what
_QUIET = ("arrival", "compute", "message", "way", "combine")  # as the engine numbers them
_PATH_PARTS = {"compute": 1, "message CPU": 2, "combining": 4, "on the way": 3}
_RANK_PARTS = ("late", "work", "noise", "waits_for_others", "waits_for_messages", "spared")
# Behind these the engine has the sources of noise, by role, and each in the order of the case.
_ROLES = (
    (NetworkJitter, MessageNoise, NetworkWeather),
    (LateArrival,),
    (IntervalNoise,),
    (StepNoise,),
    (SpeedNoise,),
)
_OF_BURSTS, _OF_LINKS = -1, -2  # among their places
_MAX_SOURCES = 12  # sources
# Of a rank, for each thread.
_PATH_BYTES = 8 * (3 + len(_QUIET) + _MAX_SOURCES)  # of a time that knows its causes
_PATHS = 6  # beside those of departures; one of them for messages that forward
_CURSOR_BYTES = 32  # of each source
_STANDS_OUT, _MOSTLY = 0.1, 0.5  # of the realizations
_WAITS_FOR_OTHERS = _RANK_PARTS.index("waits_for_others")
MAX_ROWS = 1024  # of ranks and operations in the JSON
_SHOWN_RANKS = 4  # of those that wait least for others, and of those that wait most

OF_RANKS = (
    "of ranks: means of how late each arrives, of noise of its CPU, and of its waits, on the "
    "critical path or not; for others: until they had sent; on time: both waits, without delays"
)

OF_DRAWN_SPEEDS = (
    "of ranks: own noise holds what drawn speeds lengthen or shorten, so that it can be below 0"
)

OF_SLOW_RANKS = (
    "of ranks: what a slow rank works longer is in none of these columns, and is no lateness; "
    "others wait for it. `rank_rows` and the CSV have it in work"
)

Ticks = npt.NDArray[np.int64]


ADD_UP = "causes along the critical path of the last rank add up to its delay in each realization"
SHARES = (
    "a share is not what it would bring to remove that cause, since another path may then be the "
    "longest: for that, simulate without it"
)


class CauseRow(NamedTuple):
    """The delay that one cause adds to the collective.

    Attributes
    ----------
    cause : str
        "noise.0 (periodic)" and so on; "arrival": given arrivals; "speed": what compute phases on
        the path take longer with given speeds; "links": what its messages are on their way longer
        over slow links (`L_factor`, `G_factor`); "path": what else the path itself takes without
        noise, less what the longest one takes on time; negative where that one is longer. What
        combining takes longer with given speeds is of the path.
    mean : Estimate
        Of the delay by it, seconds, over all realizations.
    share : float
        Its part of the mean delay; they add up to 1. NaN where there is no delay, or where
        collectives end earlier than `Explanation.on_time` on average.
    largest : float
        Share of the realizations in which it delays, and no other cause more; of equal ones the
        first counts. NaN where no realization has anything that delays.
    """

    cause: str
    mean: Estimate
    share: float
    largest: float


class RankRow(NamedTuple):
    """The parts of a rank's time up to the end of the last cycle: means in seconds.

    Attributes
    ----------
    rank : int
    late : float
        How late it arrived, in all cycles together.
    work : float
        CPU time of compute phases, of messages, and of combining.
    noise : float
        For which noise took its CPU while it worked; below 0 where a drawn speed made it faster by
        more than that.
    waits_for_others : float
        For messages that their senders had not sent yet ("late sender" of performance tools): the
        part of its wait that others caused. In a schedule also for the receives of its sends with
        rendezvous.
    waits_for_messages : float
        For messages that were on their way, or found a link taken.
    spared : float
        Redundant exchanges gave it the result sooner by this: 0 or below.
    waits_for_others_on_time, waits_for_messages_on_time : float
        The same without noise where all ranks arrive at once and are alike.
    """

    rank: int
    late: float
    work: float
    noise: float
    waits_for_others: float
    waits_for_messages: float
    spared: float
    waits_for_others_on_time: float
    waits_for_messages_on_time: float

    @property
    def end(self) -> float:
        """The time when it has the result: all of its time together."""
        return sum(self[1 : 1 + len(_RANK_PARTS)])


RANK_COLUMNS = (Column("rank"), *(Column(name, SECONDS) for name in RankRow._fields[1:]))


def show_share(share: float | None) -> str:
    """A share in percent, without a sign where it rounds to 0; NaN is `-`.

    Examples
    --------
    >>> show_share(0.9954), show_share(-0.0004), show_share(float("nan"))
    ('99.5%', '0.0%', '-')
    """
    if share is None:
        return ""
    return "-" if np.isnan(share) else f"{round(share, 3) + 0.0:.1%}"


@dataclass(frozen=True, eq=False, repr=False)
class DelayByCause(Answer):
    """The numbers and tables that explanations of a collective and of a schedule have in common.

    Attributes are those of `Explanation`.
    """

    seed: int
    causes: tuple[str, ...]
    ticks: Ticks
    completion: Ticks
    on_time: int
    last_rank: Ticks
    longest: Ticks
    longest_rank: Ticks
    longest_cause: Ticks
    path_ticks: Ticks
    by_rank: npt.NDArray[np.float64]
    by_rank_on_time: npt.NDArray[np.float64]
    path_parts: ClassVar[tuple[str, ...]]

    columns = (
        Column("cause", heading="cause"),
        Column("mean", SECONDS, True, heading="mean delay"),
        Column("share", heading="share", show=show_share, doc="its part of the mean delay"),
        Column("largest", heading="largest cause in", show=show_share,
               doc="share of the realizations in which no other cause delays more"),
    )  # fmt: skip
    picture = "answers.draw_causes"
    rows_in_json = "causes"

    def __repr__(self) -> str:
        first = max(self.rows(), key=lambda row: row.share)
        return f"{type(self).__name__}({len(self.ticks)} realizations; most by {first.cause})"

    @abstractmethod
    def _varies(self) -> dict[str, bool]:
        """Return whether the delay by each cause, or by the path, can differ between realizations.

        What is on the path, and so what a cause adds to it, depends on all noise that is drawn.
        """

    def _upper_bounds(self) -> dict[str, float]:
        """Return the longest delay by each cause that is given (arrivals, speeds), seconds."""
        return {}

    @abstractmethod
    def _noise(self) -> tuple[Noise, ...]:
        """The sources of noise."""

    @abstractmethod
    def _recorded(self, cause: str) -> RecordedNoise | None:
        """The recording that is a cause, with the work that it acts on."""

    def _delaying(self) -> set[str]:
        """The causes that make nothing shorter: all but the path, and speeds."""
        names = [cause for cause in self.causes if cause not in (ARRIVAL, SPEED, LINKS, PATH)]
        pairs = zip(names, self._noise(), strict=True)
        return set(self.causes) - {name for name, noise in pairs if noise.hastens} - {SPEED, PATH}

    @property
    def delay(self) -> Ticks:
        """The ticks by which the collective ends later than `on_time`, shape (realizations,)."""
        return self.completion - self.on_time

    def rows(self, confidence: float = 0.95) -> list[CauseRow]:
        """A row for each cause.

        A mean delay that noise can not change is certain. The interval of any other allows for
        what few or no realizations met (`stats.mean`).
        """
        varies, delaying, bounds = self._varies(), self._delaying(), self._upper_bounds()
        # These act alone on the delay that is theirs: if all realizations are alike, all met it.
        alone = set(self.causes) - {PATH} if len(self._noise()) == 1 else {ARRIVAL, SPEED, LINKS}
        means = []
        for cause, own in zip(self.causes, self.ticks.T, strict=True):
            lower_bound = 0.0 if cause in delaying else None
            mean = self._mean(
                own,
                confidence,
                noisy=varies[cause],
                lower_bound=lower_bound,
                noise_free=0.0 if cause in alone else None,
            ).bounded(None, bounds.get(cause, np.inf))
            recorded = self._recorded(cause)
            if recorded is not None:
                mean = recorded.allow(mean, 0.0).bounded(lower_bound)
            means.append(mean)
        return self._cause_rows(self.causes, self.ticks, means)

    def path_rows(self, confidence: float = 0.95) -> list[CauseRow]:
        """Return the parts of the path's row; `largest`: in how many no other part is larger."""
        varies = self._varies()[PATH]
        means = [self._mean(own, confidence, noisy=varies) for own in self.path_ticks.T]
        return self._cause_rows(self.path_parts, self.path_ticks, means)

    def _mean(self, ticks: Ticks, confidence: float, **known: Any) -> Estimate:
        """Estimate the mean of one value a realization, seconds; `known`: as of `stats.mean`."""
        return stats.mean(from_ticks(ticks), confidence, **known)

    def _cause_rows(
        self, names: Sequence[str], ticks: Ticks, means: list[Estimate]
    ) -> list[CauseRow]:
        """Make rows with share and largest cause of each name; `ticks` has a column for each."""
        total = float(self.delay.mean())
        columns = zip(names, means, ticks.T, _largest_in(ticks), strict=True)
        return [
            CauseRow(name, mean, float(own.mean()) / total if total > 0 else np.nan, float(most))
            for name, mean, own, most in columns
        ]

    def rank_rows(self, most: int | None = None) -> list[RankRow]:
        """A row for each rank; with `most`, only the ranks that wait the least for others.

        Those are the ones that others wait for; then come as many that wait the most.
        """
        ranks = np.arange(len(self.by_rank))
        if most is not None and 2 * most < len(ranks):
            order = np.argsort(self.by_rank[:, _WAITS_FOR_OTHERS], kind="stable")
            ranks = np.concatenate([order[:most], order[len(order) - most :]])
        own = from_ticks(self.by_rank[ranks])
        on_time = from_ticks(self.by_rank_on_time[ranks, _WAITS_FOR_OTHERS:][:, :2])
        rows = np.column_stack([own, on_time]).tolist()
        return [RankRow(int(rank), *row) for rank, row in zip(ranks, rows, strict=True)]

    def all_ranks(self) -> dict[str, float]:
        """The mean over all ranks of each field of `rank_rows` but the rank, seconds."""
        own, on_time = self.by_rank.mean(axis=0), self.by_rank_on_time.mean(axis=0)
        waits = on_time[_WAITS_FOR_OTHERS:][:2]
        means = from_ticks(np.concatenate([own, waits])).tolist()
        return dict(zip(RankRow._fields[1:], means, strict=True))

    def culprits(self, most: int = 5) -> list[tuple[int, float]]:
        """The ranks that the longest single delay on the path hit most often, with that share."""
        hit = self.longest_rank[self.longest_rank >= 0]
        ranks, counts = np.unique(hit, return_counts=True)
        order = np.argsort(-counts, kind="stable")[:most]
        return [(int(ranks[i]), float(counts[i] / len(self.ticks))) for i in order]

    def shown_table(self) -> Table:
        """Return the table of causes; below the path, what it is made of."""
        parts = [row._replace(cause=f"  {row.cause}", largest=None)  # type: ignore[arg-type]
                 for row in self.path_rows() if row.mean.value]  # fmt: skip
        cause, mean, *shares = self.columns
        unit = self._units()[1]
        mean = replace(mean, unit="", heading=f"mean delay, {unit}",
                       show=partial(show_time, unit=unit))  # fmt: skip
        return Table((cause, mean, *shares), [*self.rows(), *parts], self, left=1)

    def _units(self) -> list[str]:
        """Return the units of the time without noise, of delays, and of the times of ranks.

        They are one, as far as that reads (`column_units`).
        """
        times = from_ticks([self.on_time, round(float(self.delay.mean()))]).tolist()
        ranks = [time for row in self.rank_rows(_SHOWN_RANKS) for time in row[1:]]
        return column_units([*([one] for one in times), ranks])

    def more_tables(self) -> list[Table]:
        """Return the table of ranks."""
        return [self.rank_table()]

    def facts(self) -> dict[str, Any]:
        """Return what the JSON has beside causes and notes; of many ranks or operations some."""
        return {
            "on_time": self.on_time * 1e-12,
            "mean_delay": float(self.delay.mean()) * 1e-12,
            "path": self.path_rows(),
            "ranks": self.rank_rows(MAX_ROWS // 2),
            "all_ranks": self.all_ranks(),
            "culprits": [{"rank": rank, "share": share} for rank, share in self.culprits()],
        }

    @property
    def waits_for_rest(self) -> str:
        """The causes of waiting other than ranks that had not sent, in words."""
        return "messages"

    @property
    def cpus(self) -> int:
        """The number of CPUs of a rank that the times of ranks are the sum of."""
        return 1

    @property
    def time_of_ranks(self) -> str:
        """The name of the time that is shown for each rank."""
        return "mean time" if self.cpus == 1 else f"mean time,\nsum of {self.cpus} CPUs"

    def rank_lines(self) -> list[str]:
        """The table of ranks as text."""
        return self.rank_table().lines()

    def rank_table(self) -> Table:
        """Return the table of ranks: those that wait least for others, and most; then all.

        The last row has parts of the mean completion of the last rank, and of that on time.
        """
        shown, mean = self.rank_rows(_SHOWN_RANKS), self.all_ranks()
        unit = self._units()[2]
        head = ("rank", *(f"{text}, {unit}" for text in ("arrives\nlate", "own\nnoise",
                "waits for\nothers", f"for\n{self.waits_for_rest}", "on time")))  # fmt: skip
        in_unit = partial(show_time, unit=unit)
        rows = [_rank_cells(f"{row.rank:,}", row._asdict(), in_unit, in_unit) for row in shown]
        rows.append(_rank_cells("all ranks, mean", mean, in_unit, in_unit))
        whole, on_time = (self.cpus * float(from_ticks(ticks))
                          for ticks in (self.completion.mean(), self.on_time))  # fmt: skip
        if whole > 0 and on_time > 0:
            rows.append(_rank_cells("of the completion", mean, lambda time: f"{time / whole:.1%}",
                                    lambda time: f"{time / on_time:.1%}"))  # fmt: skip
        return Table.of_texts(head, rows)

    def ranks_to_csv(self, path: str | Path | None = None) -> str:
        """A line for each rank; also written to `path`, where it is given."""
        return write_if_path(Table(RANK_COLUMNS, self.rank_rows()).csv(), path)

    def _culprits_in_words(self) -> str:
        """Say which ranks single delays hit, and which ones are slow by what is given."""
        return f"{self._hits_in_words()}{self._slowest_in_words()}"

    def _slowest_in_words(self) -> str:
        speed = self._network_and_speed()[1]
        factors = np.ones(1) if speed is None else speed.of_ranks(len(self.by_rank))
        slowest = np.flatnonzero(factors == factors.max())
        if len(slowest) > len(factors) / 2:
            return ""
        which, times = _ranks_in_words(slowest), f"{factors.max():.4g}"
        return f"; the slowest by what is given: {which}, where work takes {times} times as long"

    def _hits_in_words(self) -> str:
        found = self.culprits()
        if not found:
            return "no single delay by noise or a late rank is on any critical path"
        alone = self._stands_out(found[0][1], 1)
        together = self._group_in_words()
        if together and not (alone and found[0][1] > _MOSTLY):  # many ranks, each of them rarely
            return f"the longest single delay on the path hits {together}"
        if not alone:
            return "no rank stands out as the one that the longest single delay on the path hits"
        ranks = ", ".join(f"{rank:,} ({share:.1%})" for rank, share in found)
        word = "rank" if len(found) == 1 else "ranks"
        return f"the longest single delay on the path hits {word} {ranks} most often"

    def _stands_out(self, share: float, ranks: int) -> bool:
        """Return whether `ranks` ranks are hit far more often than others, not just once."""
        part = ranks / len(self.by_rank)
        return share >= max(_STANDS_OUT, min(5 * part, (1 + part) / 2), 2 / len(self.ticks))

    def _group_in_words(self) -> str:
        """The ranks of one node, or of one speed, that are hit far more often than others."""
        for kind, of_rank in self._groups():
            hits = np.bincount(of_rank[self.longest_rank[self.longest_rank >= 0]])
            share, own = hits.max() / len(self.ticks), np.flatnonzero(of_rank == hits.argmax())
            if 1 < len(own) < len(of_rank) and self._stands_out(share, len(own)):
                return f"{_ranks_in_words(own)}, {kind}, in {share:.1%} of the realizations"
        return ""

    def _groups(self) -> Iterator[tuple[str, npt.NDArray[np.int64]]]:
        """Ranks that belong together, and the number of the group of each rank."""
        ranks = len(self.by_rank)
        network, speed = self._network_and_speed()
        if isinstance(network, Hierarchy) and network.spans:
            yield "a node", network.slots(ranks) // network.spans[0]
        shared = [getattr(one, "shared", False) for one in self._noise()]
        nodes = [node_ranks(one, ranks) for one in shared if not names_level(one)]
        for size in dict.fromkeys([getattr(speed, "node_ranks", 1), *nodes]):
            if 1 < size < ranks:
                yield "a node", np.arange(ranks) // size
        if speed is not None:
            yield "of one speed", np.unique(speed.of_ranks(ranks), return_inverse=True)[1]

    @abstractmethod
    def _network_and_speed(self) -> tuple[Network, Speed | None]:
        """Return the network and the speed: they say which ranks belong together."""

    def _delay_in_words(self) -> str:
        """Say how long it takes without noise, and the mean delay."""
        unit, of_delay, _ = self._units()
        mean = float(self.delay.mean()) / TICKS_PER_SECOND
        text = f"a mean delay of {show_time(mean, of_delay)} {of_delay}"
        if mean < 0:
            text = f"on average {show_time(-mean, of_delay)} {of_delay} less with what is given"
        return f"{show_time(float(from_ticks(self.on_time)), unit)} {unit} on time, and {text}"


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(DelayByCause):
    """The answer of `explain`.

    Attributes
    ----------
    case : Case
    seed : int
    causes : tuple of str
        See `CauseRow`.
    ticks : int array, shape (realizations, causes)
        The delay by each cause on the critical path, in ticks of 1 ps. A row sums to the completion
        less `on_time`.
    completion : int array, shape (realizations,)
        When the last rank ends, in ticks.
    on_time : int
        The same without noise where all ranks arrive at once and are alike.
    path_ticks : int array, shape (realizations, 4)
        What the path's own part, the last column of `ticks`, is made of, and adds up to: more
        compute phases, CPU time of messages, combining and time on the way than on the path without
        noise; negative where there is less. `path_parts` has their names. With given speeds,
        compute phases are the cause `speed` and 0 here.
    by_rank, by_rank_on_time : float array, shape (ranks, 6)
        What each rank did with its time up to its end, on the critical path or not, in ticks: the
        mean over the realizations, and without noise where all arrive at once and are alike. See
        `RankRow`.
    last_rank : int array, shape (realizations,)
        Which one that is; of several the first.
    longest, longest_rank, longest_cause : int array, shape (realizations,)
        The longest single delay on the path, by noise or by a late arrival, in ticks, the rank that
        it hit, and which of the causes it is; -1 where there is none. Where all ranks are delayed
        alike it is one of them.
    library : LibraryRules or None
        The library whose choice the algorithm is; `jitterfly explain` knows it.
    """

    case: Case
    library: LibraryRules | None = None

    path_parts: ClassVar[tuple[str, ...]] = tuple(_PATH_PARTS)

    def _varies(self) -> dict[str, bool]:
        drawn = any(self.case.random_sources)
        acts = {
            name: self.case.is_delayed_by(one)
            for name, one in zip(names_of(self.case.noise), self.case.noise, strict=True)
        }
        acts[SPEED] = not self.case.why_speed_is_ineffective()
        return {cause: drawn and acts.get(cause, True) for cause in self.causes}

    def _upper_bounds(self) -> dict[str, float]:
        # A path has one arrival and one compute phase of each cycle.
        case, most = self.case, {}
        if case.arrival is not None:
            longest = case.arrival.delays(case.ranks, case.cycles).max(axis=1)
            most[ARRIVAL] = float(from_ticks(longest.sum() * (case.cycles // len(longest))))
        if case.speed is not None:
            slowest = float(case.speed.of_ranks(case.ranks).max())
            most[SPEED] = case.cycles * case.compute_time * (slowest - 1)
        return most

    def _noise(self) -> tuple[Noise, ...]:
        return self.case.noise

    def _given_in_words(self) -> list[str]:
        """Say what the intervals of given delays are of, where they have any."""
        named = [cause for cause in (ARRIVAL, SPEED, LINKS) if self._varies().get(cause)]
        return [f"{' and '.join(named)}: given; the interval is of what of it is on the critical "
                "path, as noise may make another path the longest"] if named else []  # fmt: skip

    def _network_and_speed(self) -> tuple[Network, Speed | None]:
        return self.case.network, self.case.speed

    def _recorded(self, cause: str) -> RecordedNoise | None:
        named = zip(names_of(self.case.noise), self.case.placed_noise, strict=True)
        found = [noise for name, noise in named if name == cause]
        return RecordedNoise.of(found, self.case.work_per_cycle()) if found else None

    def title(self) -> str:
        """Say what was simulated, and the delay in all."""
        return f"{self.case.algorithm.kind} on {self.case.ranks:,} ranks: {self._delay_in_words()}"

    def facts(self) -> dict[str, Any]:
        """Return what the JSON has beside causes and notes."""
        own = {"seed": self.seed, "realizations": len(self.ticks), "doubts": self.case.doubts()}
        if self.library is not None:
            own["library"] = self.library.name
        return {"case": self.case.to_dict(), **own, **super().facts()}

    def _own_notes(self) -> list[Note]:
        """Say what was simulated, how often which rank is to blame, and what the numbers are."""
        case = self.case
        return [
            *notes_of("bad_algorithm", algorithm_cautions([case]), FIRST),
            *notes_of("library", self._library_in_words(), PICTURE),
            *notes_of("question", self._question_in_words(), PICTURE),
            Note("realizations", self._realizations_in_words(), PICTURE),
            *notes_of("shares", [ADD_UP, SHARES, *self._given_in_words()]),
            Note("culprits", self._culprits_in_words(), PICTURE),
            *notes_of("recording", RecordedNoise.of_case(case).in_words()),
            *notes_of("doubt", case.doubts()),
            *no_hosts_notes(case.noise, [case.ranks]),
            *notes_of("ranks", [OF_RANKS, *([OF_SLOW_RANKS] if case.speed is not None else []),
                                *drawn_speed_notes(case.noise)]),
        ]  # fmt: skip

    def _library_in_words(self) -> list[str]:
        """Say whose choice the algorithm is."""
        case = self.case
        if self.library is None:
            return []
        how = {"switches": allows_switches(case.noise)}
        return [self.library.in_words(case.ranks, case.network, case.message_bytes, **how)]

    def _question_in_words(self) -> list[str]:
        """The case: of each source what its cause in the tables stands for."""
        case = self.case
        lines = [
            f"{part_in_words(case.algorithm)}, {show_size(case.message_bytes)}{repetition(case)}",
            *given_in_words(case),
        ]
        noise = [f"noise.{i}: {part_in_words(one)}" for i, one in enumerate(case.noise)]
        return [*lines, *(noise or ["noise: none"])]

    def _realizations_in_words(self) -> str:
        return f"{counted(len(self.ticks), 'realization')}, seed {self.seed}"


def _ranks_in_words(ranks: Ticks) -> str:
    """Name ascending ranks, as "ranks 4 to 7"."""
    first, last = int(ranks[0]), int(ranks[-1])
    if len(ranks) == 1:
        return f"rank {first:,}"
    if last - first + 1 == len(ranks):
        return f"ranks {first:,} to {last:,}"
    return f"ranks {first_few([f'{rank:,}' for rank in ranks.tolist()], _SHOWN_RANKS)}"


def drawn_speed_notes(noise: Sequence[Noise]) -> list[str]:
    """A line where there is `SpeedNoise`."""
    return [OF_DRAWN_SPEEDS] if any(isinstance(one, SpeedNoise) for one in noise) else []


def names_of(noise: Sequence[Noise]) -> list[str]:
    """The sources as causes: their kinds, and of one kind what tells them apart."""
    words = [parts_in_words(one) for one in noise]
    names = []
    for i, own in enumerate(words):
        others = [other for j, other in enumerate(words) if j != i and other != own]
        count = next(n for n in range(1, 99) if own[:n] not in [other[:n] for other in others])
        names.append(name_in_case(i, ", ".join(own[:count])))
    return names


def _rank_cells(
    name: str,
    times: Mapping[str, float],
    show: Callable[[float], str],
    show_on_time: Callable[[float], str],
) -> tuple[str, ...]:
    """A line of the table of ranks, with the fields of a `RankRow` as they are to be shown."""
    waits = ("waits_for_others", "waits_for_messages")
    on_time = " + ".join(show_on_time(times[f"{wait}_on_time"]) for wait in waits)
    return (name, *(show(times[column]) for column in ("late", "noise", *waits)), on_time)


def _largest_in(ticks: Ticks) -> npt.NDArray[np.float64]:
    """Return in which share of realizations each column is the largest delay; NaN if none delays.

    Where no column is above 0 nothing delayed, and nothing is to blame.
    """
    delayed = ticks.max(axis=1) > 0
    if not delayed.any():
        return np.full(ticks.shape[1], np.nan)
    columns = np.arange(ticks.shape[1])
    blamed: npt.NDArray[np.float64] = np.mean(
        (ticks.argmax(axis=1)[:, None] == columns) & delayed[:, None], axis=0
    )
    return blamed


@question
class ExplainQuestion(Question):
    """The question of `explain`."""

    case: CaseParameter = required(
        CaseParameter(
            "Without copies inside the butterfly, and without `Congestion`. What it observes does "
            "not matter."
        )
    )
    realizations: Count = Count(
        "how many are explained",
        "As in `simulate`.",
        default=1000,
        usual="1,000; for a command fewer where messages are many, and 100 for a schedule",
        low=1,
        high=MAX_REALIZATIONS,
        part=EFFORT,
    )
    seed: Seed = Seed("of the draws", "As in `simulate`.", default=0, usual="the study's, or 0")
    _: KW_ONLY
    threads: Threads = Threads()
    progress: Progress = Progress()


def _answer(asked: ExplainQuestion) -> Explanation:
    """Find what delays a collective in each realization: its critical path, cause by cause.

    The end of the last cycle counts, with all redundant exchanges after it. The realizations are
    those of `simulate`; this runs on the CPU, and takes about 1 µs of CPU time a message.

    Returns
    -------
    Explanation

    Raises
    ------
    ValueError
        An argument out of range, too many ranks for memory, more than 12 noise sources, or a case
        as above.
    KeyboardInterrupt
        Ctrl-C, within a fraction of a second.

    Warns
    -----
    IneffectiveNoiseWarning, IneffectiveSpeedWarning, ScarceRecordingWarning
        As `simulate`.
    UnseenChangeWarning, UnusedCostWarning
        As `simulate`.

    Examples
    --------
    >>> import jitterfly as jf
    >>> noise = [jf.PeriodicNoise("1ms", "25us"), jf.LateArrival("1ms", probability=0.001)]
    >>> case = jf.Case(256, network=jf.LogGOPS(L="1us", o="200ns"), noise=noise)
    >>> found = jf.explain(case, realizations=200)
    >>> found.causes
    ('noise.0 (periodic)', 'noise.1 (arrival)', 'path')
    >>> bool((found.ticks.sum(axis=1) == found.completion - found.on_time).all())
    True
    """
    case, realizations, seed, threads = asked.case, asked.realizations, asked.seed, asked.threads
    warn_of_ineffective_noise(case)
    warn_of_unused_costs([case])
    warn_of_doubts(case.measured_doubts(), case.unseen_changes())
    check_run_arguments(realizations, seed, "cpu", threads, asked.progress, 0)
    _check_explainable(case)
    available = resources.available_memory()
    held = 2 * 8 * (HEAD + len(_QUIET) + _MAX_SOURCES) * realizations
    resources.check_memory(held, f"the results of {realizations} realizations", available)
    each = case.ranks * _bytes_of_rank(case)
    what = f"the critical paths of {case.ranks} ranks"
    resources.check_memory(held + each, what, available)
    # As many threads as there is memory for: each follows a realization of its own.
    fit = (available - held) // each if available is not None else threads or MAX_THREADS
    threads = max(1, min(int(threads or core.hardware_threads()), int(fit)))
    program = compile_case(case, links_apart=_has_slow_links(case))
    with resources.check_allocation(what):
        with reporting(asked.progress, realizations, "cpu") as report:
            combine = list(case.compiled_steps.table.combines)
            raw, sums = core.explain(program, seed, 0, realizations, combine, threads, report)
        # Without noise, and with ranks that arrive at once and are alike, as are their links.
        on_time_case = replace(case, noise=(), arrival=None, speed=None, L_factor=None,
                               G_factor=None, observe="completion")  # fmt: skip
        combine = list(on_time_case.compiled_steps.table.combines)
        on_time = core.explain(compile_case(on_time_case), 0, 0, 1, combine, 1)
    check_times(raw[:, :1])
    return _explanation(case, seed, (raw, sums), on_time)


explain = call_of(ExplainQuestion, _answer, "explain")


def _bytes_of_rank(case: Case) -> int:
    """Return a rank's bytes in each thread: it has a path for each message of a window."""
    places = (
        step.place for step in case.compiled_steps.steps if not (step.sends and step.receives)
    )
    paths = _PATHS + 1 + max(places, default=0)
    return paths * _PATH_BYTES + 3 * 8 * len(_RANK_PARTS) + len(case.noise) * _CURSOR_BYTES


def _explanation(
    case: Case, seed: int, noisy: tuple[Ticks, Ticks], without: tuple[Ticks, Ticks]
) -> Explanation:
    """Make the explanation of the engine's numbers, with all that delays and `without` it.

    Each has shape (realizations, 5 + causes), and sums over them of shape (ranks, parts, 2).
    """
    raw, sums = noisy
    on_time = int(without[0][0, 0])
    parts = list(_PATH_PARTS.values())
    path = raw[:, HEAD:][:, parts] - without[0][0, HEAD:][parts]
    by_cause = raw[:, HEAD:]
    causes, columns, place = [], [], {-1: -1}
    if case.arrival is not None:
        place[0] = 0
        causes.append(ARRIVAL)
        columns.append(by_cause[:, 0])
    if case.speed is not None:
        causes.append(SPEED)
        columns.append(path[:, 0].copy())
        path[:, 0] = 0
    links = _has_slow_links(case)
    if links:
        cause = len(_QUIET) + _causes_in_order(case.noise, links=True).index(_OF_LINKS)
        place[cause] = len(causes)
        causes.append(LINKS)
        columns.append(by_cause[:, cause])
    for name, cause in zip(names_of(case.noise), causes_of(case.noise, links=links), strict=True):
        place[cause] = len(causes)
        causes.append(name)
        columns.append(by_cause[:, cause])
    causes.append(PATH)
    columns.append(path.sum(axis=1))
    return Explanation(
        case=case,
        seed=seed,
        causes=tuple(causes),
        ticks=np.column_stack(columns),
        completion=raw[:, 0].copy(),
        on_time=on_time,
        last_rank=raw[:, 1].copy(),
        longest=raw[:, 2].copy(),
        longest_rank=raw[:, 3].copy(),
        longest_cause=np.array([place[cause] for cause in raw[:, 4].tolist()], dtype=np.int64),
        path_ticks=path,
        by_rank=means_of_sums(sums, len(raw)),
        by_rank_on_time=means_of_sums(without[1], 1),
    )


def causes_of(noise: Sequence[Noise], *, links: bool = False) -> list[int]:
    """The number that the engine gives each source as a cause; `links`: slow ones are one, too."""
    order = _causes_in_order(noise, links=links)
    return [len(_QUIET) + order.index(i) for i in range(len(noise))]


def _causes_in_order(noise: Sequence[Noise], *, links: bool) -> list[int]:
    """The places of sources in the order of the engine, with what is no source among them."""
    order: list[int] = []
    for number, role in enumerate(_ROLES):
        for i, one in enumerate(noise):
            if isinstance(one, role):
                # Behind a source that is on and off by turns stands that of these times, no cause.
                order += [i] if getattr(one, "bursts", None) is None else [i, _OF_BURSTS]
        if number == 0 and links:
            order.append(_OF_LINKS)
    return order


def _has_slow_links(case: Case) -> bool:
    return case.L_factor is not None or case.G_factor is not None


def means_of_sums(sums: Ticks, realizations: int) -> npt.NDArray[np.float64]:
    """Return the means of sums that are ``hi * 2^32 + lo``, shape (ranks, parts, 2)."""
    means: npt.NDArray[np.float64] = (sums[..., 0] * 2.0**32 + sums[..., 1]) / realizations
    return means


def _check_explainable(case: Case) -> None:
    if case.is_routed:
        raise ValueError("noise must hold no Congestion to be explained")
    if any(step.flags & (COPY | ASK) for step in case.compiled_steps.steps):
        raise ValueError("copy_levels and on_demand must be left out to be explained")
