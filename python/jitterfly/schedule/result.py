"""`ScheduleResult`: run times of a schedule, slowdown, noise amplification; text, CSV, xarray."""

from __future__ import annotations

import dataclasses
import json
import math
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import optional_packages, stats
from ..answer import (
    SECONDS,
    Answer,
    Column,
    Note,
    Table,
    csv_text,
    notes_of,
    show,
    show_time,
    units_of,
    write_if_path,
)
from ..case import NOISE_TOO_LATE, begins_after
from ..fields import counted, digested, frozen_dataclass, parameter, seed_in_files
from ..hierarchy import Hierarchy
from ..imbalance import Speed
from ..network import LogGOPS
from ..noise import Noise
from ..slowdown import NO_EVENT, no_hosts_notes, part_in_words, unmet_notes
from ..stats import Estimate
from ..stats.intervals import changed, in_order
from ..units import TICKS_PER_SECOND, from_ticks, show_seconds, to_ticks
from ..unseen_noise import (
    RecordedNoise,
    SourceHits,
    hidden,
    in_part,
    undersampling_bound,
    unmet_among,
)
from ..workload import NO_WORK, Work
from .order import OrderCheck
from .schedule import Schedule

if TYPE_CHECKING:
    import xarray


@frozen_dataclass(eq=False)
class ScheduleResult(Answer):
    """The answer of `simulate_schedule`.

    Attributes
    ----------
    schedule : Schedule
    network : LogGOPS or Hierarchy
    speed : Speed, optional
        Of the ranks, as given.
    noise : tuple of Noise
    seed, first_realization : int
        Realization ``first_realization + i`` of this seed is row i of the arrays.
    ticks : int64 array, shape (realizations,)
        Run time, when the CPU of the last rank is free, in ticks of 1 ps; exact.
    last_rank : int64 array, shape (realizations,)
        The rank that is last; of several the first.
    noise_free : float
        The run time without any noise, at the ranks' `speed`, seconds.
    order : "noise-free" or "arrival"
        In which operations that compete for a CPU were executed.
    order_check : OrderCheck, optional
        None where there was none.
    unchecked : str
        How much memory the order check would have taken, where there was not enough; else "".
    marks : tuple of str
        The names of the marks, in their order.
    mark_ticks : int64 array, shape (realizations, marks)
        When each mark was reached, in ticks.
    mark_ticks_noise_free : int64 array, shape (marks,)
        The same without noise, in ticks.
    backend : "cpu" or "cuda"
        That was used. Results do not depend on it.
    doubts : tuple of str
        What measured noise leaves open, such as that the recording is short beside the CPU time of
        all ranks.
    recorded : RecordedNoise
        The recordings that it replays, which intervals allow for.
    expected : tuple of SourceHits
        Where several random sources act: the hits of each in a realization. Intervals of means
        allow for those of which too few are to be expected.
    work_at_marks : int64 array, shape (marks + 1, 2)
        Messages taken, and calculations, up to each mark in the order of operations on each rank;
        in the last row all. It has no rows without `expected`.
    """

    schedule: Schedule
    network: LogGOPS | Hierarchy
    noise: tuple[Noise, ...]
    seed: int
    first_realization: int
    ticks: npt.NDArray[np.int64]
    last_rank: npt.NDArray[np.int64]
    noise_free: float
    order: str
    order_check: OrderCheck | None
    unchecked: str = ""
    marks: tuple[str, ...] = ()
    mark_ticks: npt.NDArray[np.int64] = dataclasses.field(
        default_factory=lambda: np.zeros((0, 0), dtype=np.int64)
    )
    mark_ticks_noise_free: npt.NDArray[np.int64] = dataclasses.field(
        default_factory=lambda: np.zeros(0, dtype=np.int64)
    )
    speed: Speed | None = None
    backend: str = "cpu"
    doubts: tuple[str, ...] = ()
    recorded: RecordedNoise = dataclasses.field(default=RecordedNoise(), repr=False)
    expected: tuple[SourceHits, ...] = dataclasses.field(default=(), repr=False)
    work_at_marks: Work = dataclasses.field(default_factory=lambda: NO_WORK, repr=False)

    columns = (
        Column("mark"),
        Column("noise_free", SECONDS),
        Column("since_noise_free", SECONDS),
        *(Column(f"{since}{name}", SECONDS, True)
          for since in ("", "since_") for name in ("mean", "p50", "p99")),
    )  # fmt: skip
    picture = "answers.draw_schedule"
    rows_in_json = "marks"

    @cached_property
    def samples(self) -> npt.NDArray[np.float64]:
        """Run times in seconds, float64, shape (realizations,)."""
        return from_ticks(self.ticks)

    def __repr__(self) -> str:
        return (
            f"ScheduleResult({self.schedule.name!r}, realizations={len(self.ticks)}, "
            f"slowdown={self.slowdown()}, backend={self.backend!r})"
        )

    def mean(self, confidence: float = 0.95) -> Estimate:
        """Mean run time, seconds."""
        return self._mean(self.samples, self.noise_free, confidence)

    def _mean(
        self,
        times: npt.NDArray[np.float64],
        noise_free: Any,
        confidence: float = 0.95,
        work: Work = NO_WORK,
    ) -> Estimate:
        """Estimate times from the beginning on, with all that their interval has to allow for.

        `work` is that until then, as a row of `work_at_marks`; not given for the whole run.
        """
        mean = self._sampled(times, noise_free, confidence)
        wide = self.recorded.allow(mean, float(noise_free)).bounded(self._least(noise_free))
        return wide.lacking(undersampling_bound(self._unmet(mean, work)))

    def _sampled(
        self, times: npt.NDArray[np.float64], noise_free: Any, confidence: float = 0.95
    ) -> Estimate:
        """Estimate times from the beginning on by the sample alone."""
        noisy = any(one.random for one in self.noise)
        met = noise_free if len(self.noise) == 1 and self.noise[0].random else None
        least = self._least(noise_free)
        return stats.mean(times, confidence, noisy=noisy, lower_bound=least, noise_free=met)

    def _least(self, noise_free: Any) -> Any:
        """Return what no such time is below: the noise-free one, unless noise can hasten.

        Costs are added along an order of operations that is the same in all realizations, unless it
        is that of arrival: there noise may bring a better one about.
        """
        hastens = self.order == "arrival" or any(one.hastens for one in self.noise)
        return 0.0 if hastens else noise_free

    def _mean_between(
        self,
        times: npt.NDArray[np.float64],
        noise_free: float,
        work: Work,
        confidence: float = 0.95,
        count: int = 1,
    ) -> Estimate:
        """Estimate times between marks, with the work between them, or the mean of `count` times.

        Rare noise may make them shorter, too, where it delays the first of two marks alone.
        """
        noisy = any(one.random for one in self.noise)
        mean = stats.mean(times, confidence, noisy=noisy)
        lacks = undersampling_bound(self._unmet(mean, work, count)) / count
        return self.recorded.allow(mean, noise_free).lacking(lacks, lacks)

    def _unmet(self, mean: Estimate, work: Work = NO_WORK, count: int = 1) -> list[SourceHits]:
        """List the sources of which too few hits are expected for the mean of `count` parts."""
        share = count * float(mean.value) / (float(self.samples.mean()) or math.inf)
        half = count * mean.half_width * TICKS_PER_SECOND
        if not math.isfinite(half) or share <= 0:
            return []
        hits = in_part(self.expected, share, work, self.work_at_marks)
        return unmet_among(hits, half, mean.realizations)

    def _unmet_at_marks(self) -> list[SourceHits]:
        """List the sources of which too few hits are expected for a mark, not for the whole run.

        Of each source that part in which a mean may lack most.
        """
        if not self.marks or not hidden(self.expected):
            return []
        whole = {one.place for one in self._unmet(self._sampled(self.samples, self.noise_free))}
        times, since = from_ticks(self.mark_ticks), from_ticks(self.iteration_ticks)
        noisy = any(one.random for one in self.noise)
        worst: dict[int, SourceHits] = {}
        until = self._work_until()
        for means, works in (
            (self._sampled(times, from_ticks(self.mark_ticks_noise_free)), until),
            (stats.mean(since, noisy=noisy), np.diff(until, prepend=0, axis=0)),
        ):
            for value, low, high, work in zip(*means, works, strict=True):
                mean = Estimate(value, low, high, means.confidence, means.realizations)
                for source in self._unmet(mean, work):
                    known = worst.get(source.place)
                    if known is None or known.most < source.most:
                        worst[source.place] = source
        return [source for place, source in worst.items() if place not in whole]

    def _quantiles(
        self, times: npt.NDArray[np.float64], noise_free: float, confidence: float
    ) -> list[Estimate]:
        """Median and p99; p99.9 as well, where there are enough realizations for its interval."""
        enough = len(times) >= stats.realizations_needed(0.999, confidence)
        shares = (0.5, 0.99, 0.999)[: 2 + enough]
        found = zip(stats.quantiles(times, shares, confidence), shares, strict=True)
        return in_order(self.recorded.allow(one, noise_free, share) for one, share in found)

    def slowdown(self, confidence: float = 0.95) -> Estimate:
        """Mean run time over that without noise; NaN where that is 0: the schedule does nothing."""
        noise_free = self.noise_free or math.nan
        return changed(self.mean(confidence), lambda time: time / noise_free)

    def noise_share(self) -> float | None:
        """The share of CPU time that the noise takes; None where it is all, or not one number.

        It is where every source takes the CPU at all times and for all work: periodic, renewal and
        trace noise without a window.
        """
        for one in self.noise:
            everywhere = getattr(one, "during", "all") == "all"
            ever = not getattr(one, "begin", 0) and getattr(one, "end", None) is None
            if not (everywhere and ever and one.share() > 0):
                return None
        free = math.prod(1 - one.share() for one in self.noise)
        share = 1 - free
        return share if self.noise and share < 1 else None

    def amplification(self, confidence: float = 0.95) -> Estimate | None:
        """Return how much larger the slowdown is than that of one rank which only calculates.

        That one takes 1 / (1 - s) times as long if noise takes a share s of its CPU. Amplification
        is (slowdown - 1) / (1 / (1 - s) - 1): above 1 the application makes noise worse, below 1 it
        absorbs some of it (Ferreira, Bridges & Brightwell, SC'08). None where there is no one s
        (`noise_share`). Where no realization met any noise, its interval has no ends. In a run that
        is shorter than the time from one interval of noise to the next, a rank that only calculates
        may be slowed down otherwise; `notes` say so.
        """
        share = self.noise_share()
        if share is None:
            return None
        alone = share / (1 - share)
        return changed(self.slowdown(confidence), lambda ratio: (ratio - 1) / alone)

    def mark_rows(self, confidence: float = 0.95) -> list[MarkRow]:
        """A row for each mark."""
        times, since = from_ticks(self.mark_ticks), from_ticks(self.iteration_ticks)
        noise_free = from_ticks(self.mark_ticks_noise_free)
        steps, until = np.diff(noise_free, prepend=0.0), self._work_until()
        between = np.diff(until, prepend=0, axis=0)
        rows = []
        for i, name in enumerate(self.marks):
            p50, p99, *_ = self._quantiles(times[:, i], float(noise_free[i]), confidence)
            since_p50, since_p99, *_ = self._quantiles(since[:, i], float(steps[i]), confidence)
            rows.append(MarkRow(
                name, float(noise_free[i]), float(steps[i]),
                self._mean(times[:, i], noise_free[i], confidence, until[i]), p50, p99,
                self._mean_between(since[:, i], float(steps[i]), between[i], confidence),
                since_p50, since_p99,
            ))  # fmt: skip
        return rows

    def _work_until(self) -> Work:
        """Return the work up to each mark; rows without numbers where it is not known."""
        known = len(self.work_at_marks) > 0
        return self.work_at_marks[:-1] if known else np.zeros((len(self.marks), 0), dtype=np.int64)

    @property
    def iteration_ticks(self) -> npt.NDArray[np.int64]:
        """The time from each mark to the next one, from 0 to the first, shape as `mark_ticks`."""
        return np.diff(self.mark_ticks, prepend=0, axis=1)

    def title(self) -> str:
        """Say what was simulated, under which noise."""
        noise = "; ".join(map(part_in_words, self.noise)) or "none"
        return f"{self.schedule.name}: {self.schedule.summary()}, under noise: {noise}"

    def rows(self) -> list[MarkRow]:
        """Return a row for each mark."""
        return self.mark_rows()

    def facts(self) -> dict[str, Any]:
        """Return what the JSON has beside marks and notes."""
        p50, p99, *rare = self._quantiles(self.samples, self.noise_free, 0.95)
        return {
            **question_as_json(self),
            "noise_free": self.noise_free,
            "mean": self.mean(),
            "p50": p50,
            "p99": p99,
            "p999": rare[0] if rare else None,
            "slowdown": self.slowdown(),
            "noise_share": self.noise_share(),
            "amplification": self.amplification(),
            "order": self.order,
            "order_check": self.order_check,
            "unchecked": self.unchecked,
            "samples": self.samples,
            "last_rank": self.last_rank,
        }

    def shown_table(self) -> Table:
        """Return the answer in words, a line for each number."""
        p50, p99, *rare = self._quantiles(self.samples, self.noise_free, 0.95)
        hint = " (see the note on order)" if self.order_matters else ""
        times: dict[str, Estimate | float] = {
            "run time without noise": self.noise_free,
            "run time, mean": self.mean(),
            "run time, p50": p50,
            "run time, p99": p99,
            **dict.fromkeys(("run time, p99.9",) * len(rare), *rare),
        }
        [unit] = units_of([list(times.values())])
        rows = [
            *((name, f"{show_time(time, unit)} {unit}") for name, time in times.items()),
            ("slowdown (mean)", show(self.slowdown()) + hint),
        ]
        amplified = self.amplification()
        if amplified is not None:
            rows.append(("noise amplification", self._amplification_in_words(amplified) + hint))
        rows += self._last_in_words()
        rows += self._marks_in_words()
        return Table.of_texts(("", ""), rows, left=2)

    def _last_in_words(self) -> list[tuple[str, str]]:
        """Name the rank most often last where noise delays the end: elsewhere many may tie."""
        moved = self.last_rank[self.samples != self.noise_free]
        if not len(moved):
            return []
        ranks, counts = np.unique(moved, return_counts=True)
        most, share = int(np.argmax(counts)), len(moved) / len(self.ticks)
        those = "realizations" if share == 1 else f"the {share:.1%} that noise changes"
        text = f"rank {ranks[most]} (of several the first), in {counts[most] / len(moved):.1%} of"
        return [("most often last", f"{text} {those}")]

    def _marks_in_words(self) -> list[tuple[str, str]]:
        """Describe all iterations together, and the slowest on average."""
        if not self.marks:
            return []
        reached, noise_free = from_ticks(self.mark_ticks), from_ticks(self.mark_ticks_noise_free)
        until = self._work_until()
        first, last = (
            self._mean(reached[:, i], float(noise_free[i]), work=until[i]) for i in (0, -1)
        )
        count = len(self.marks)
        rows = [("marks", f"{count:,}, the last one ({self.marks[-1]}) at {show(last, SECONDS)}")]
        if count == 1:
            return rows
        rows.append((f"first mark ({self.marks[0]})", f"at {show(first, SECONDS)}"))
        between = from_ticks(self.iteration_ticks[:, 1:])
        # Iterations of one realization depend on each other: its mean is one sample.
        alone = float(noise_free[-1] - noise_free[0]) / (count - 1)
        work = until[-1] - until[0]
        mean = self._mean_between(between.mean(axis=1), alone, work, count=count - 1)
        slowest = int(np.argmax(between.mean(axis=0)))
        longest = show_seconds(float(between[:, slowest].mean()))
        return [
            *rows,
            (
                "time between marks, mean",
                f"{show(mean, SECONDS)}; without noise {show_seconds(alone)}",
            ),
            ("time between marks, p99", show_seconds(float(np.quantile(between, 0.99)))),
            ("longest before mark", f"{self.marks[slowest + 1]}: {longest} on average"),
        ]

    def _own_notes(self) -> list[Note]:
        """Network, realizations, and whether the order of operations could matter."""
        count = counted(len(self.ticks), "realization")
        text = [
            *notes_of("order_matters", self._order_warning()),
            *notes_of("question", machine_in_words(self.network, self.speed)),
            Note("realizations", f"{count}, seed {self.seed}; 95 % intervals"),
        ]
        share = self.noise_share()
        if share is not None:
            told = (f"noise takes {share:.3%} of CPU time: it slows one rank that only calculates "
                    f"down {1 / (1 - share):.5g} times")  # fmt: skip
            rarest = self._longest_time_between()
            if rarest > self.noise_free:
                told += (
                    f" in the long run; this one takes {show_seconds(self.noise_free)}, less than "
                    f"the {show_seconds(rarest)} from one interval of noise to the next, so "
                    "amplification, which compares with that, says little"
                )
            text.append(Note("noise_share", told))
        text += notes_of("doubt", self.doubts) + self._undelayed_notes()
        text += no_hosts_notes(self.noise, [self.schedule.ranks])
        text += notes_of("recording", self.recorded.in_words())
        if stats.quantile(self.samples, 0.99).too_small:
            needed = stats.realizations_needed(0.99, 0.95)
            told = f"too few realizations for an interval of p99: it takes {needed}"
            text.append(Note("few_realizations", told))
        unmet = [
            (self.schedule.ranks, one)
            for one in self._unmet(self._sampled(self.samples, self.noise_free))
        ]
        text += unmet_notes(unmet, self.noise, len(self.ticks), ", which its interval allows for")
        text += unmet_notes(
            [(self.schedule.ranks, one) for one in self._unmet_at_marks()], self.noise,
            len(self.ticks), " at a mark or between two, which its interval allows for",
        )  # fmt: skip
        text += notes_of("swapped_marks", self._swapped_in_words())
        text += notes_of("order", self._order_in_words())
        return text

    def _undelayed_notes(self) -> list[Note]:
        """Make a note where no realization met any noise, as in `SlowdownTable.notes`."""
        if self.noise and all(begins_after(one, self.noise_free) for one in self.noise):
            return [Note("noise_too_late", NOISE_TOO_LATE)]
        if not self.noise or self._is_delayed(self.mean()):
            return []
        if not any(one.acts_on_any(self.schedule.ranks) for one in self.noise):
            return []  # `no_hosts_notes` say it
        return [Note("no_event", NO_EVENT)]

    def _is_delayed(self, estimate: Estimate) -> bool:
        """Return whether an estimate of all realizations rests on any that noise moved."""
        return not estimate.too_small or bool((self.samples != self.noise_free).any())

    def _swapped_in_words(self) -> list[str]:
        """A line where noise makes a mark be reached before the one that stands before it."""
        swapped = (self.iteration_ticks[:, 1:] < 0).mean(axis=0)
        if not swapped.any():
            return []
        most = int(np.argmax(swapped))
        return [
            f"mark {self.marks[most + 1]} is reached before {self.marks[most]}, which stands "
            f"before it, in {swapped[most]:.1%} of realizations: the time between them is below 0 "
            "there"
        ]

    def _amplification_in_words(self, amplified: Estimate) -> str:
        if not self.noise_free:
            return "can not be told: the schedule takes no time"
        if not self._is_delayed(amplified):
            return "can not be told: no realization met any noise"
        return show(amplified)

    def _longest_time_between(self) -> float:
        """Seconds from one interval of noise to the next, on average, of the rarest source."""
        day = to_ticks(86_400.0)
        return max(86_400.0 / (one.intervals_in(day) or math.inf) for one in self.noise)

    @property
    def order_matters(self) -> bool:
        """Return whether `order_check` found that the order of arrival changes the mean by much.

        False where there was no check.
        """
        check = self.order_check
        return check is not None and check.changes_mean(float(self.samples.mean()))

    def _order_warning(self) -> list[str]:
        """A line where another order of competing operations changes what noise does by much."""
        check = self.order_check
        if check is None:
            return []
        advice = (
            f"{parameter('order')} arrival simulates the order of arrival, as LogGOPSim does; a "
            "library that sends before it receives, as in a ring, keeps the order without noise"
        )
        return check.warning(float(self.samples.mean()), advice)

    def _order_in_words(self) -> list[str]:
        check = self.order_check
        if self.order == "arrival":
            return ["competing operations are executed in the order of arrival"]
        if not self.noise and self.speed is None:
            return []
        text = "competing operations keep the order that they have without noise"
        if self.unchecked or check is None:
            took = f", which takes {self.unchecked} of memory" if self.unchecked else ""
            checks = parameter("order_checks")
            return [f"{text}; whether that matters was not checked ({checks}){took}"]
        return [f"{text}; {check.in_words(len(self.ticks) if self.noise else 1)}"]

    def to_csv(self, path: str | Path | None = None) -> str:
        """A line for each realization: its number, run time in seconds, and last rank.

        Also written to `path`, where it is given.
        """
        numbers = range(self.first_realization, self.first_realization + len(self.ticks))
        rows = zip(numbers, self.samples.tolist(), self.last_rank.tolist(), strict=True)
        text = csv_text(chain([("realization", "run_time_s", "last_rank")], rows))
        return write_if_path(text, path)

    def to_xarray(self) -> xarray.Dataset:
        """The realizations, to be joined with those of other noise, machines or schedules.

        Returns
        -------
        xarray.Dataset
            Along `realization`: `run_time` in seconds and `last_rank`. `noise_free`: the run time
            without any noise. With marks, along `mark` as well, `mark_time`, and along `mark`
            `mark_noise_free`: when they are reached. Each variable and coordinate has `long_name`,
            times have `units`. Attributes say what was simulated (network, noise and speed as JSON,
            long lists as a digest), with which seed and backend.

        Raises
        ------
        ValueError
            xarray is not installed.

        Examples
        --------
        >>> import jitterfly as jf
        >>> from jitterfly.goal_export import goal_schedule
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> case = jf.Case(4, network="L=1us,o=200ns", compute_time="1ms")
        >>> noise = jf.PeriodicNoise("1ms", "10us", start="stationary")
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder) / "app.goal"
        ...     _ = path.write_text(goal_schedule(case).text)
        ...     found = jf.simulate_schedule(path, "L=1us,o=200ns", noise, realizations=100)
        >>> data = found.to_xarray()
        >>> dict(data.run_time.sizes), data.run_time.units
        ({'realization': 100}, 's')
        >>> bool((data.run_time > data.noise_free).all())
        True
        """
        xr = optional_packages.package("xarray")
        numbers = self.first_realization + np.arange(len(self.ticks))
        data: dict[str, Any] = {
            "run_time": ("realization", self.samples, _in_seconds("run time")),
            "last_rank": ("realization", self.last_rank, {"long_name": "rank that is last"}),
            "noise_free": ((), self.noise_free, _in_seconds("run time, without noise")),
        }
        coordinates = {"realization": ("realization", numbers, {"long_name": "realization"})}
        if self.marks:
            reached = "time at which a mark is reached"
            times, noise_free = from_ticks(self.mark_ticks), from_ticks(self.mark_ticks_noise_free)
            data["mark_time"] = (("realization", "mark"), times, _in_seconds(reached))
            data["mark_noise_free"] = ("mark", noise_free, _in_seconds(f"{reached}, without noise"))
            coordinates["mark"] = ("mark", np.array(self.marks), {"long_name": "mark"})
        attributes = {
            "title": self.title(),
            "network": json.dumps(digested(self.network.to_dict())),
            "noise": json.dumps([digested(one.to_dict()) for one in self.noise]),
            "speed": json.dumps(None if self.speed is None else digested(self.speed.to_dict())),
            "order": self.order,
            "seed": seed_in_files(self.seed),
            "backend": self.backend,
        }
        dataset: xarray.Dataset = xr.Dataset(data, coordinates, attributes)
        return dataset

    def marks_to_csv(self, path: str | Path | None = None) -> str:
        """A line for each mark: when it is reached, and the time since the one before, seconds.

        Also written to `path`, where it is given.
        """
        return write_if_path(self.table().csv(), path)


class MarkRow(NamedTuple):
    """The time when a mark is reached, and since the mark before it (or since 0), in seconds.

    `noise_free`, `since_noise_free`: without noise. `mean`, `p50`, `p99`: over the realizations;
    with `since_` of the time since the mark before.
    """

    mark: str
    noise_free: float
    since_noise_free: float
    mean: Estimate
    p50: Estimate
    p99: Estimate
    since_mean: Estimate
    since_p50: Estimate
    since_p99: Estimate


def machine_in_words(network: LogGOPS | Hierarchy, speed: Speed | None) -> list[str]:
    """The network, and how slow ranks are where they differ; a line each."""
    lines = [f"network: {part_in_words(network)}"]
    return lines if speed is None else [*lines, f"speed of the ranks: {part_in_words(speed)}"]


def question_as_json(answer: Any) -> dict[str, Any]:
    """Return what was simulated, for programs: the same of a run and of an explanation."""
    realizations, doubts = len(answer.ticks), list(answer.doubts)
    return {**machine_as_json(answer), "realizations": realizations, "doubts": doubts}


def machine_as_json(asked: Any) -> dict[str, Any]:
    """Return schedule, machine, noise and seed of a question or an answer, for programs."""
    schedule = asked.schedule
    return {
        "schedule": {"name": schedule.name, "ranks": schedule.ranks, "cpus": schedule.cpus,
                     "operations": schedule.operations, "messages": schedule.messages},
        "network": asked.network.to_dict(),
        "speed": None if asked.speed is None else asked.speed.to_dict(),
        "noise": [one.to_dict() for one in asked.noise],
        "seed": asked.seed,
    }  # fmt: skip


def _in_seconds(long_name: str) -> dict[str, str]:
    return {"units": "s", "long_name": long_name}
