"""`slowdown`: table of mean and quantile slowdown of a collective against the number of ranks."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import stats
from .algorithms import Algorithm
from .algorithms.library_choice import LibraryChoice, LibraryRules, algorithm_for
from .answer import FIRST, PICTURE, SECONDS, Answer, Column, Note, notes_of, show_time
from .case import (
    MAX_CYCLES,
    NOISE_TOO_LATE,
    Case,
    allows_switches,
    begins_after,
    check_effective,
    warn_of_unused_costs,
)
from .collect import STOPPED, Report, collect
from .distributions import Distribution
from .distributions.distribution import Drawn
from .faster_algorithm import algorithm_cautions, faster_candidate
from .fields import (
    MAX_REALIZATIONS,
    Component,
    Converted,
    FieldError,
    counted,
    naming_fields,
    parameter,
    summary,
)
from .hierarchy import Hierarchy
from .imbalance import Arrival, Counts, Speed
from .noise import Congestion, Noise, TraceNoise
from .noise.source import NO_HOSTS, name_in_case
from .progress import time_left
from .question import (
    ARRIVAL,
    EFFORT,
    G_FACTOR,
    L_FACTOR,
    CollectiveParameters,
    Confidence,
    Count,
    EngineParameters,
    NoiseParameter,
    Part,
    ProgressCall,
    Ranks,
    Seed,
    call_of,
    question,
    required,
)
from .simulate import Result, mean_time, simulate_checked
from .stats import Estimate
from .stats.intervals import changed, in_order, normal
from .units import TICKS_PER_SECOND, show_seconds, show_size
from .unseen_noise import RecordedNoise, SourceHits, expectation, undersampling_bound, unmet_sources

DEFAULT_REALIZATIONS = 2000
NO_EVENT = (
    "no realization was delayed: a mean that rests on no event has no interval; take more "
    "realizations, unless waits absorb such delays"
)
_SHOWN = 8  # numbers in a note
MAX_RESAMPLES = 1000
_MIN_RESAMPLES = 5
_RESAMPLED = 5  # a resampled recording gets one realization for each 5 of the answer
_LONG_RUN = 10  # times the longest noise that can be under way at the start
_LARGE = 1024  # bytes: what they take on a network is no longer little


def _faster(place: int) -> Callable[[Any, Any], object]:
    """Return a column's function of a row: the name (0) or the time (1) of a faster algorithm."""

    def value(answer: Any, row: Any) -> object:
        found = faster_candidate(case_on(answer, row.ranks))
        return "" if found is None else (found.name, found.noise_free)[place]

    return value


QUESTION_COLUMNS = (
    Column(
        "algorithm", value=lambda answer, row: part_in_words(case_on(answer, row.ranks).algorithm)
    ),
    Column("message_bytes", value=lambda answer, _: answer.case.message_bytes),
    Column("cycles", value=lambda answer, _: answer.case.cycles),
    Column("compute_time", SECONDS, value=lambda answer, _: answer.case.compute_time),
    Column("network", value=lambda answer, _: part_in_words(answer.case.network)),
    Column("noise", value=lambda answer, _: answer.noise_in_words()),
    Column("faster_algorithm", value=_faster(0), doc="a much faster algorithm, if there is one"),
    Column("faster_noise_free", SECONDS, value=_faster(1), doc="its completion without noise"),
)
"""What was simulated; and where that is a bad choice, a better one (`faster_candidate`)."""


class SlowdownRow(NamedTuple):
    """The completion of the last of `ranks` ranks, in seconds, and over the noise-free one.

    `mean.events` is how many rare events the mean rests on. Where no realization was delayed, mean
    and slowdown have no ends: noise that was not seen is not known of. Beside it, `lacks` is what
    the mean may lack of noise that is too rare for so few realizations: seconds, by which the upper
    ends of mean and slowdown are higher (`mean.caveats`). `p999` is the quantile 0.999, where there
    are enough realizations for its interval; else None.
    """

    ranks: int
    noise_free: float
    mean: Estimate
    p50: Estimate
    p99: Estimate
    slowdown: Estimate
    p999: Estimate | None = None

    @property
    def lacks(self) -> float:
        """The time that the mean may lack, seconds."""
        return self.mean.lacks


def _value_alone(estimate: Estimate | None, unit: str) -> str:
    return "" if estimate is None else show_time(float(estimate.value), unit)


@dataclass(frozen=True, eq=False, repr=False)
class SlowdownTable(Answer):
    """The answer of `slowdown`.

    Attributes
    ----------
    case : Case
        The case of the most ranks; the others differ in `ranks`, and in the algorithm that a
        library chooses (`case_on`).
    rows : tuple of SlowdownRow
        By ascending ranks.
    seed : int
    stopped : bool
        Whether Ctrl-C ended it: the rows are those of the numbers of ranks that were finished.
    samples : float64 array, shape (realizations,)
        The completions of `case`, the most ranks, seconds.
    resampled : float64 array, shape (rows, resamples)
        The mean completion under each resampled recording, seconds.
    unmet : tuple of (int, SourceHits)
        Ranks, and a source of which their realizations expect too few hits for the mean.
    library : LibraryRules or None
        Whose choice the algorithm is, where it was asked for: it may differ between rows.
    """

    case: Case
    rows: tuple[SlowdownRow, ...]
    seed: int
    stopped: bool = False
    samples: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    resampled: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0)))
    unmet: tuple[tuple[int, SourceHits], ...] = ()
    library: LibraryRules | None = None

    columns = (
        Column("ranks", heading="ranks"),
        Column("noise_free", SECONDS, heading="noise-free", doc="completion without noise"),
        Column("mean", SECONDS, True, heading="mean", doc="mean completion"),
        Column("p50", SECONDS, True, heading="p50", show=_value_alone, doc="median"),
        Column("p99", SECONDS, True, heading="p99", show=_value_alone),
        Column("p99.9", SECONDS, True, show=_value_alone, csv=False,
               value=lambda _, row: row.p999,
               heading=lambda answer: (
                   "" if all(row.p999 is None for row in answer.rows) else "p99.9"
               )),
        Column("slowdown", "", True, heading="slowdown (mean)", doc="mean over that without noise"),
        Column("lacks", SECONDS, doc="what the mean may lack of noise that is too rare"),
        Column("rare_events", value=lambda _, row: row.mean.events,
               doc="on how many rare events the mean rests"),
        Column("realizations", value=lambda _, row: row.mean.realizations),
        Column("confidence", value=lambda _, row: row.mean.confidence),
        Column("seed", value=lambda answer, _: answer.seed),
        Column("resamples", value=lambda answer, _: answer.resampled.shape[1],
               doc="how many other recordings were made of a recording"),
        *QUESTION_COLUMNS,
        Column("p999", SECONDS, True, doc="quantile 0.999, of enough realizations"),
    )  # fmt: skip
    picture = "answers.draw_table"

    def __repr__(self) -> str:
        last, count = self.rows[-1], counted(len(self.rows), "row")
        return f"SlowdownTable({count}; {last.slowdown} on {last.ranks:,} ranks)"

    def title(self, where: str = "") -> str:
        """Say what was simulated, and under which noise; `where` stands between them."""
        size, repeated = show_size(self.case.message_bytes), repetition(self.case)
        what = f"{algorithm_in_words(self)}, {size}{repeated}{where}"
        return f"{what}, under noise: {self.noise_in_words()}"

    def noise_in_words(self) -> str:
        """Return the sources."""
        return "; ".join(map(part_in_words, self.case.noise))

    def facts(self) -> dict[str, Any]:
        """Return what the JSON has beside rows and notes."""
        resampled = {"resampled": self.resampled} if self.resampled.size else {}
        return {"stopped": self.stopped, **resampled, **library_fact(self)}

    def _own_notes(self) -> list[Note]:
        """Say what the numbers are, and how sure they are."""
        case, first, drawn = self.case, self.rows[0], any(self.case.random_sources)
        recorded = self._recording_notes()
        text = [
            *caution_notes(self),
            Note(
                "realizations",
                f"{first.mean.realizations:,} realizations for each number of ranks, seed "
                f"{self.seed}; {100 * first.mean.confidence:g} % intervals of mean and slowdown",
                PICTURE,
            ),
            *recorded,
        ]

        def add(code: str, told: str, ranks: list[int] | None = None) -> None:
            if ranks is None:
                text.append(Note(code, told))
            elif ranks:
                text.append(Note(code, f"on {ranks_in_words(ranks)} {told}"))

        if not drawn:
            add("nothing_drawn", "no noise that acts here is drawn: all realizations are the same")
        text += start_notes(case.noise, case.cycles, case.compute_time)
        text += steady_notes(case.noise, case.cycles, case.compute_time, self.rows[-1].noise_free)
        if any(isinstance(one, Congestion) for one in case.noise):
            add("congestion", "without noise no link is shared, not even by the ranks' own "
                "messages: what others add, a comparison with `ratio` = 0 tells")  # fmt: skip
        text += notes_of("doubt", case.doubts())
        if getattr(case.network, "G", None) == 0 and case.message_bytes >= _LARGE:
            add("bytes_are_free", "G = 0: messages of any size take as long; give G, the time of "
                "a byte")  # fmt: skip
        least = stats.realizations_needed(0.99, first.p99.confidence)
        if first.p99.realizations < least and drawn:
            add(
                "few_realizations", f"too few realizations for an interval of p99: it takes {least}"
            )
        for name, share in (("p50", 0.5), ("p99", 0.99)):
            quantiles = {row.ranks: getattr(row, name) for row in self.rows}
            open_ended = [ranks for ranks, one in quantiles.items() if math.isinf(one.high)]
            enough = stats.realizations_needed(share, first.p99.confidence)
            if first.p99.realizations >= enough and recorded:
                add("few_detours", f"{name} has no upper end: fewer than {stats.ENOUGH_EVENTS} "
                    "detours of the recording are as long", open_ended)  # fmt: skip
        late = [row.ranks for row in self.rows
                if all(begins_after(one, row.noise_free) for one in case.noise)]  # fmt: skip
        add("noise_too_late", NOISE_TOO_LATE, late)
        add("no_time", "a collective takes no time without noise, so that there is no slowdown; "
            f"give {parameter('compute_time')}",
            [row.ranks for row in self.rows if not row.noise_free])  # fmt: skip
        add("no_event", NO_EVENT,
            [row.ranks for row in self.rows
             if not row.mean.events and row.mean.too_small and row.ranks not in late
             and any(one.acts_on_any(row.ranks) for one in case.noise)])  # fmt: skip
        add("few_events", f"the mean rests on fewer than {stats.ENOUGH_EVENTS} rare events: its "
            "interval is wider for that; take more realizations",
            [row.ranks for row in self.rows if row.mean.skewed])  # fmt: skip
        text += unmet_notes(self.unmet, case.noise, first.mean.realizations,
                            ", which its interval allows for")  # fmt: skip
        text += no_hosts_notes(case.noise, [row.ranks for row in self.rows])
        text += [Note("unused", f"{noise.kind}: {unused}") for noise in case.noise
                 if noise.acts_on_any(case.ranks)
                 and (unused := noise.unused_part(case.ranks))]  # fmt: skip
        if self.stopped:
            add("stopped", "stopped: more ranks were asked for")
        return text

    def _recording_notes(self) -> list[Note]:
        """Say whether the intervals allow for what another recording would hold."""
        recorded = RecordedNoise.of_case(self.case).in_words()
        count = self.resampled.shape[1]
        if recorded and not count and any(map(can_resample, self.case.noise)):
            way = parameter("resamples", 20)
            recorded[-1] += f"; {way} simulates others, made of its stretches"
        if count:
            last, ratios = self.rows[-1], self.resampled[-1] / self.rows[-1].noise_free
            recorded.append(
                "the intervals allow for resampled recordings: under "
                f"{count} made of stretches of this one, the slowdown is {ratios.min():.4g} to "
                f"{ratios.max():.4g} on {ranks_in_words([last.ranks])}"
            )
        return notes_of("recording", recorded)


SPEED = (
    "ranks that take longer: kind=slow_ranks,factor=1.2,ranks=3 17; "
    "kind=slow_nodes,factor=1.2,node_ranks=8; kind=drawn,sigma=0.05"
)


@question
class CollectiveQuestion(CollectiveParameters, EngineParameters):
    """A collective over numbers of ranks, which `slowdown` and `noise_limit` ask about."""

    _: KW_ONLY
    arrival: Part[Arrival] = Part(Arrival, ARRIVAL)
    speed: Part[Speed] = Part(Speed, SPEED)
    L_factor: Part[Speed] = Part(Speed, L_FACTOR)
    G_factor: Part[Speed] = Part(Speed, G_FACTOR)
    realizations: Count = Count(
        "for each number of ranks",
        "From 2.",
        default=DEFAULT_REALIZATIONS,
        low=2,
        high=MAX_REALIZATIONS,
        part=EFFORT,
    )
    confidence: Confidence = Confidence("of each interval, between 0 and 1")
    seed: Seed = Seed("of the draws", "As in `simulate`.", default=0)
    progress: ProgressCall[Callable[[float, int, int], object] | None] = ProgressCall(
        "called before each number of ranks, and now and then, as ``progress(done, numbers, "
        "ranks)``; `done` holds the part of the present one",
        takes="Callable[[float, int, int], object] | None",
    )

    def progress_text(
        self, elapsed: float, done: float, numbers: int, ranks: int
    ) -> tuple[str, float]:
        """Say how many numbers of ranks are done, and how much time is left, by their messages."""
        share = self.messages_done(done)
        part = done - self.place_of(ranks)
        now = f"{100 * part:.0f} % of {ranks:,} ranks{time_left(elapsed, share)}"
        return f"{int(done)} of {counted(numbers, 'number')} of ranks, {now}", share

    def place_of(self, ranks: int) -> int:
        """Return how many numbers of ranks come before one."""
        return [case.ranks for case in self.cases].index(ranks)

    def messages_done(self, done: float) -> float:
        """Return the part of all messages that is done; `done` is that of `progress`."""
        return float(np.interp(done, np.arange(len(self._messages)), self._messages))

    @cached_property
    def _messages(self) -> npt.NDArray[np.float64]:
        """The part of all messages that each number of ranks and those before have, from 0 on."""
        sizes = [max(case.loops[-1].rank_rounds(), 1) for case in self.cases]
        return np.cumsum([0, *sizes]) / sum(sizes)

    @cached_property
    def cases(self) -> list[Case]:
        """The cases by ascending ranks."""
        raise NotImplementedError

    @property
    def library(self) -> LibraryRules | None:
        """The library whose choice the algorithm is, or None."""
        return self.algorithm if isinstance(self.algorithm, LibraryRules) else None

    def cases_under(self, noise: Sequence[Noise], ranks: Sequence[int]) -> list[Case]:
        """The cases by ascending ranks, with errors and warnings, before anything runs."""
        self.engine  # noqa: B018
        with naming_fields(*self.parameters()):
            cases = [
                Case(
                    count,
                    algorithm=algorithm_for(
                        self.algorithm, count, self.network, self.message_bytes,
                        switches=allows_switches(noise),
                    ),
                    network=self.network, noise=noise, message_bytes=self.message_bytes,
                    cycles=self.cycles, compute_time=self.compute_time, arrival=self.arrival,
                    speed=self.speed, L_factor=self.L_factor, G_factor=self.G_factor,
                )
                for count in ranks
            ]  # fmt: skip
            check_effective(cases, len(noise))
        warn_of_unused_costs(cases)
        return cases


NOISE = (
    "a file of measured noise, which each rank replays from a place of its own, or K=V,... such as "
    "kind=periodic,period=1ms,duration=10us; several add up"
)
RANKS = "numbers or ranges, such as 64..6000 (64, 128, ... 4096, 6000) or 64,1000"


@question
class SlowdownQuestion(CollectiveQuestion):
    """The question of `slowdown`; its `cases` are made, and checked, when it is."""

    noise: NoiseParameter = required(NoiseParameter(NOISE))
    ranks: Ranks = required(Ranks(RANKS))
    _: KW_ONLY
    resamples: Count = Count(
        "under a recording: also under this many others, made of stretches of it, which may make "
        "intervals wider; 20 are usual",
        "All is simulated again under each (`TraceNoise`: `resample`), with a fifth of the "
        "realizations. Where they differ by more than the recording's detours tell "
        "(docs/statistics.md), intervals are wider. From 5; 0: none.",
        default=0,
        low=0,
        high=MAX_RESAMPLES,
        part=EFFORT,
    )

    def __post_init__(self) -> None:
        if not self.noise:
            raise FieldError("noise", " must hold at least one source, got []")
        _check_resamples(self.resamples, self.noise)
        self.take_named_algorithm(self.ranks)
        self.cases  # noqa: B018

    @cached_property
    def cases(self) -> list[Case]:
        """The cases by ascending ranks."""
        return self.cases_under(self.noise, self.ranks)

    def answer(self) -> SlowdownTable:
        """Find how much a noise slows a collective down, for each number of ranks.

        Returns
        -------
        SlowdownTable
            After Ctrl-C that of the numbers of ranks that were finished (`stopped`).

        Raises
        ------
        ValueError
            Names the argument and its range; the noise can hit nothing; a file can not be read.
        BackendError
            "cuda" can not be used, or failed; it says why. Also a `ValueError`.
        KeyboardInterrupt
            Ctrl-C before the first number of ranks is finished.

        Examples
        --------
        >>> import jitterfly as jf
        >>> noise = jf.PeriodicNoise(period="1ms", duration="25us", start="stationary")
        >>> found = jf.slowdown(noise, "64..256", seed=7, realizations=500)
        >>> [row.ranks for row in found.rows], found.rows[0].noise_free
        ([64, 128, 256], 8.4042e-06)
        >>> print(f"{found.rows[2].slowdown:.2f}")
        5.17 [5.10, 5.24]
        """
        samples = np.zeros(self.realizations)  # of the last case: of all would take memory

        def simulated(
            case: Case, report: Report
        ) -> tuple[SlowdownRow, list[float], list[tuple[int, SourceHits]]]:
            row, means, unmet, samples[:] = self._simulate(case, report)
            return row, means, [(case.ranks, source) for source in unmet]

        answers, ended = collect(self.cases, simulated, self.progress)
        rows, means, unmet = zip(*answers, strict=True)
        last, stopped = self.cases[len(rows) - 1], ended == STOPPED
        return SlowdownTable(last, rows, self.seed, stopped, samples, np.array(means),
                             tuple(chain(*unmet)), self.library)  # fmt: skip

    def _simulate(
        self, case: Case, report: Report
    ) -> tuple[SlowdownRow, list[float], list[SourceHits], npt.NDArray[np.float64]]:
        """Simulate a case: its row, means of resampled recordings, unmet noise, and samples."""
        fewer = max(-(-self.realizations // _RESAMPLED), 2)
        total = self.realizations + self.resamples * fewer

        def times_of(case: Case, first: int, count: int) -> Result:
            def part(done: int, _: int) -> None:
                report((first + done) / total)

            return simulate_checked(case.loops[-1], count, self.seed, self.engine, part, first)

        result = times_of(case, 0, self.realizations)
        row = sampled = row_of(case, result, self.confidence)
        others = [
            times_of(_resampled(case, i), self.realizations + i * fewer, fewer).samples[:, -1]
            for i in range(self.resamples)
        ]
        if others:
            row = _allow_for_resampled(row, case, np.array(others))
        unmet = unmet_of(case, sampled)
        row = allow_for_recordings(row, sampled, case)
        # What the mean may lack is no error of sampling, but a bound.
        mean = row.mean.lacking(undersampling_bound(unmet))
        row = row._replace(mean=mean, slowdown=over_noise_free(mean, row.noise_free))
        return row, [float(times.mean()) for times in others], unmet, result.samples[:, -1]


slowdown = call_of(SlowdownQuestion, SlowdownQuestion.answer, "slowdown")


def can_resample(noise: Noise) -> bool:
    return isinstance(noise, TraceNoise) and noise.is_sample() and noise.resample is None


def _check_resamples(resamples: int, noise: Sequence[Noise]) -> None:
    if 0 < resamples < _MIN_RESAMPLES:
        rule = f" must be 0, or from {_MIN_RESAMPLES} to {MAX_RESAMPLES}, got {resamples}"
        raise FieldError("resamples", rule)
    if resamples and not any(map(can_resample, noise)):
        rule = " must be 0 without a recording that is replayed from places that are drawn, got "
        raise FieldError("resamples", f"{rule}{resamples}")


def _resampled(case: Case, number: int) -> Case:
    """Return the case with resampled recordings, the `number`-th time."""
    noise = [
        dataclasses.replace(one, resample=number) if can_resample(one) else one  # type: ignore[type-var]
        for one in case.noise
    ]
    return dataclasses.replace(case, noise=noise)


def _allow_for_resampled(
    row: SlowdownRow, case: Case, times: npt.NDArray[np.float64]
) -> SlowdownRow:
    """A row with intervals that allow for other recordings; `times`: (recordings, realizations)."""
    count = times.shape[1]
    bound = row.noise_free if case.noise_only_delays() else None

    def widened(name: str, replicates: npt.NDArray[np.float64], within: float) -> Estimate:
        wide = stats.with_input_uncertainty(getattr(row, name), replicates, within)
        return wide.bounded(bound)

    def quantile(name: str, q: float) -> Estimate:
        known: Estimate = getattr(row, name)
        if known.too_small:
            return known
        half = (float(known.high) - float(known.low)) / 2
        error = half / normal(known.confidence)
        within = error**2 * known.realizations / count
        return widened(name, np.quantile(times, q, axis=1), within)

    mean = widened("mean", times.mean(axis=1), float(times.var(axis=1, ddof=1).mean()) / count)
    known = _each_quantile(row, quantile)
    return row._replace(mean=mean, slowdown=over_noise_free(mean, row.noise_free), **known)


def allow_for_recordings(row: SlowdownRow, sampled: SlowdownRow, case: Case) -> SlowdownRow:
    """Widen the intervals of a row by what the detours of its recordings leave open.

    `sampled` has those of the realizations alone, `row` those that resampled recordings widened:
    both ways to tell what another recording would give, so that the wider one counts.
    """
    recorded, noise_free = RecordedNoise.of_case(case), row.noise_free

    def wider(name: str, share: float | None) -> Estimate:
        one: Estimate = getattr(row, name)
        other = recorded.allow(getattr(sampled, name), noise_free, share)
        low, high = min(one.low, other.low), max(one.high, other.high)
        for caveat in other.caveats:
            one = one.widened(low, high, caveat)
        return one.bounded(noise_free if case.noise_only_delays() else None)

    mean = wider("mean", None)
    known = _each_quantile(row, wider)
    return row._replace(mean=mean, slowdown=over_noise_free(mean, noise_free), **known)


def row_of(case: Case, result: Result, confidence: float) -> SlowdownRow:
    """The row of a case, from its realizations."""
    samples, noise_free = result.samples[:, -1], float(result.noise_free[-1])
    mean = mean_time(case, samples, noise_free, confidence)
    enough = len(samples) >= stats.realizations_needed(_QUANTILES["p999"], confidence)
    shares = [*_QUANTILES.values()][: 2 + enough]
    p50, p99, *rare = stats.quantiles(samples, shares, confidence)
    ratio = over_noise_free(mean, noise_free)
    return SlowdownRow(case.ranks, noise_free, mean, p50, p99, ratio, *rare)


_QUANTILES = {"p50": 0.5, "p99": 0.99, "p999": 0.999}


def _each_quantile(row: SlowdownRow, widened: Callable[[str, float], Estimate]) -> dict[str, Any]:
    """Return the quantiles that a row has, widened, by name."""
    there = {name: q for name, q in _QUANTILES.items() if getattr(row, name) is not None}
    return dict(zip(there, in_order(widened(name, q) for name, q in there.items()), strict=True))


def over_noise_free(mean: Estimate, noise_free: float) -> Estimate:
    """Return an estimate divided by the time without noise."""
    with np.errstate(divide="ignore", invalid="ignore"):  # one rank without work takes no time
        return changed(mean, lambda time: float(np.divide(time, noise_free)))


def unmet_of(case: Case, row: SlowdownRow) -> list[SourceHits]:
    """The sources of a case of which its realizations expect too few hits for the mean.

    `row`: as of `row_of`, with the interval of the sample.
    """
    mean, low, high = (float(end) * TICKS_PER_SECOND for end in row.mean)
    return unmet_sources(case, mean, max(high - mean, mean - low), row.mean.realizations)


def unmet_notes(
    unmet: Sequence[tuple[int, SourceHits]],
    noise: Sequence[Noise | str],
    realizations: int,
    allowed_for: str = "",
) -> list[Note]:
    """Make a note on each source that is not met often enough on some numbers of ranks.

    `noise`: the sources by their places, to be shown; `allowed_for`: where the answer allows for
    it.
    """
    lines = []
    for place in dict.fromkeys(source.place for _, source in unmet):
        own = [(ranks, source) for ranks, source in unmet if source.place == place]
        ranks, rarest = min(own, key=lambda one: one[1].hits_at_least_as_long)
        most = max(source.most for _, source in own) / TICKS_PER_SECOND
        shown = noise[place]
        text = expectation(
            rarest, realizations, shown if isinstance(shown, str) else part_in_words(shown)
        )
        others = [other for other, _ in own if other != ranks]
        where = ranks_in_words([ranks]) + (
            f", too few also on {ranks_in_words(others)}" * bool(others)
        )
        lacks = f"a mean may lack up to {show_seconds(most)}{allowed_for}; take more realizations"
        lines.append(Note("rare_noise", f"{text} on {where}: {lacks}"))
    return lines


def no_hosts_notes(sources: Sequence[Noise], ranks: Sequence[int]) -> list[Note]:
    """Make a note on each source that acts on none of some numbers of ranks."""
    lines = []
    for place, noise in enumerate(sources):
        if nobody := [one for one in ranks if not noise.acts_on_any(one)]:
            where = f"{name_in_case(place, noise.kind)} on {ranks_in_words(nobody)}"
            rest = f"{NO_HOSTS}, so that it is without effect there"
            lines.append(Note("no_hosts", f"{where}: {rest}"))
    return lines


def start_notes(noise: Sequence[Noise], cycles: int, compute_time: float) -> list[Note]:
    """Make a note of noise that can not be under way at the start of all that is simulated."""
    if cycles > 1 or compute_time or all(getattr(one, "start", "") != "fresh" for one in noise):
        return []
    text = ("no noise is under way when the collective begins (start = fresh); with "
            "start=stationary it can be, as on a machine that has been running")  # fmt: skip
    return [Note("fresh_start", text)]


def steady_notes(
    noise: Sequence[Noise], cycles: int, compute_time: float, simulated: float
) -> list[Note]:
    """Make a note where what is under way at the start weighs more than in a long run.

    `simulated` is the time of all cycles without noise, seconds.
    """
    longest = max([0.0, *(one.duration_at_start() for one in noise
                          if not begins_after(one, simulated))])  # fmt: skip
    if not simulated or longest <= simulated / _LONG_RUN:
        return []
    needed = math.ceil(_LONG_RUN * longest / (simulated / cycles))
    count = counted(cycles, "cycle")
    remedy = f"take {parameter('cycles', needed)} or more"
    if needed > MAX_CYCLES:
        which = f"{'a longer' if compute_time else 'the'} {parameter('compute_time')}"
        remedy = f"give {which} between collectives, and more cycles"
    text = (
        f"simulated: {show_seconds(simulated, 3)} of the machine's time ({count}), and noise that "
        f"lasts {show_seconds(longest, 3)} can be under way at its start, which counts for more "
        f"than in a long run; for that {remedy}"
    )
    return [Note("short_run", text)]


def repetition(case: Case) -> str:
    """Cycles and compute time in words, where there are any.

    Examples
    --------
    >>> from jitterfly.network import DEFAULT_NETWORK
    >>> repetition(Case(4, network=DEFAULT_NETWORK, cycles=20, compute_time="1ms"))
    ', 20 cycles with 1 ms of compute time before each'
    """
    before = f"{show_seconds(case.compute_time)} of compute time" if case.compute_time else ""
    if case.cycles == 1:
        return f", after {before}" if before else ""
    return f", {case.cycles:,} cycles" + (f" with {before} before each" if before else "")


def case_on(answer: Any, ranks: int) -> Case:
    """The case of an answer's row: on `ranks` ranks, with the algorithm that is run there."""
    case: Case = answer.case
    rules, switches = answer.library or case.algorithm, allows_switches(case.noise)
    algorithm = algorithm_for(rules, ranks, case.network, case.message_bytes, switches=switches)
    return dataclasses.replace(case, ranks=ranks, algorithm=algorithm)


def _choices(answer: Any) -> list[tuple[int, LibraryChoice]]:
    """The library's choice on the ranks of each row."""
    case, library = answer.case, answer.library
    how = {"switches": allows_switches(case.noise)}
    return [
        (row.ranks, library.choice(row.ranks, case.network, case.message_bytes, **how))
        for row in answer.rows
    ]


def _on_ranks(words: Sequence[tuple[int, str]]) -> list[tuple[str, str]]:
    """Texts, each once, and the ranks that have it in words."""
    texts = dict.fromkeys(text for _, text in words)
    return [(text, ranks_in_words([one for one, own in words if own == text])) for text in texts]


def algorithm_in_words(answer: Any) -> str:
    """The algorithm of an answer's rows; of a library's choice also whose it is, and where."""
    if answer.library is None:
        return part_in_words(answer.case.algorithm)
    choices = _choices(answer)
    # NCCL's logs, and NCCL_ALGO and NCCL_PROTO, have its own names: one kind has several there.
    named = answer.library.name.startswith("nccl")
    texts = ((one, part_in_words(found.algorithm), found.called) for one, found in choices)
    parts = _on_ranks([(one, f"{own} ({text})" if named else text) for one, text, own in texts])
    words = "; ".join(f"{text} on {ranks}" if parts[1:] else text for text, ranks in parts)
    return f"{answer.library.whose(found for _, found in choices)}: {words}"


def library_fact(answer: Any) -> dict[str, Any]:
    """The library whose choice the algorithm is, and that of each row, for JSON."""
    if answer.library is None:
        return {}
    chosen = [found.algorithm.to_dict() for _, found in _choices(answer)]
    return {"library": answer.library.name, "algorithms": chosen}


def caution_notes(answer: Any) -> list[Note]:
    """Say where the algorithm is a bad choice or stands in for another; network, late ranks."""
    cases = (case_on(answer, row.ranks) for row in answer.rows)
    cautions = notes_of("bad_algorithm", algorithm_cautions(cases), FIRST)
    if answer.library is not None:
        title, found = answer.library.title, _choices(answer)
        different = [(one, f"{own.called}: {own.differs}") for one, own in found if own.differs]
        cautions += [
            Note("library", f"{title} runs {text}" + f" ({ranks})" * (len(found) > 1))
            for text, ranks in _on_ranks(different)
        ]
    case = answer.case
    given = [
        Note(text.partition(" ")[0].strip(":"), text, PICTURE) for text in given_in_words(case)
    ]
    parts = {"late ranks": [case.arrival], "slow ranks": [case.speed],
             "slow links": [case.L_factor, case.G_factor]}  # fmt: skip
    if said := [name for name, own in parts.items() if any(one is not None for one in own)]:
        told = (
            f"the {' and '.join(said)} above are in the time without noise, too, and no part of "
            "what noise adds; `jitterfly explain` says what they cost"
        )
        given.append(Note("given", told))
    return [*cautions, *given]


def ranks_in_words(counts: list[int]) -> str:
    """Numbers of ranks in words."""
    if len(counts) > _SHOWN:
        return f"{counts[0]:,} to {counts[-1]:,} ranks"
    return ", ".join(f"{count:,}" for count in counts) + f" rank{'s' * (counts != [1])}"


def part_in_words(part: Component) -> str:
    """A part of a case with the fields that were given, times with units; a file by its name.

    Examples
    --------
    >>> from jitterfly.network import DEFAULT_NETWORK
    >>> part_in_words(DEFAULT_NETWORK)
    'loggops, L = 1 µs, o = 200 ns, G = 100 ps'
    """
    return ", ".join(parts_in_words(part))


def given_in_words(case: Case) -> list[str]:
    """Return a line for each part of the machine: network, arrival, speed of ranks and links."""
    given = {
        "network": case.network,
        "arrival": case.arrival,
        "speed of the ranks": case.speed,
        "factors on latency": case.L_factor,
        "factors on the time of a byte": case.G_factor,
        "before each collective": case.barrier,
    }
    return [f"{name}: {part_in_words(part)}" for name, part in given.items() if part is not None]


def parts_in_words(part: Component) -> list[str]:
    """The kind, and each field that was given, in words."""
    if isinstance(part, Hierarchy):
        levels = [
            f"{level.name or ''} {'all' if level.size is None else level.size}".strip()
            + f": {part_in_words(level.network)}"
            for level in part.levels
        ]
        placed = part.placement if isinstance(part.placement, str) else "given"
        card = ["ranks of a node share its network card"] if part.shared_card else []
        far = [] if part.distances is None else [f"distances: {part_in_words(part.distances)}"]
        return [part.kind, "; ".join([f"placement {placed}", *levels, *card, *far])]
    parts = [part.kind]
    for one in dataclasses.fields(part):
        value = getattr(part, one.name)
        if one.name == "segment_bytes":  # a long message in many segments takes far longer
            parts.append(f"{one.name} = {show_size(value)}")
            continue
        plain = isinstance(value, (str, int, float, tuple, Algorithm))  # of which one may be a copy
        usual = value is one.default or (plain and value == one.default)
        drawn = one.name == "seed" and isinstance(part, Counts)
        said = drawn or one.name in ("start", "nodes", "node_ranks")
        if one.name == "sha256" or value is None or (usual and not said):
            continue  # what is usual; but whether noise may be under way, which draw, whose nodes
        declared = inspect.getattr_static(type(part), one.name, None)
        if isinstance(value, Distribution):  # of times, factors or parts, as the field knows
            shown = declared.in_words(value) if isinstance(declared, Drawn) else value.name
        elif isinstance(value, Component):
            shown = f"({inside})" if "," in (inside := part_in_words(value)) else inside
        elif isinstance(value, np.ndarray) or (isinstance(value, tuple) and len(value) > _SHOWN):
            shown = f"{np.size(value):,} numbers from {np.min(value):g} to {np.max(value):g}"
        elif isinstance(declared, Converted):
            shown = declared.in_words(value)
        else:
            shown = value if isinstance(value, str) else summary(value)
        parts.append(f"{one.name} = {Path(value).name if one.name == 'file' else shown}")
    return parts
