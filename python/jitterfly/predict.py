"""`infer_noise` and `predict`: noise behind measured times; a larger machine from a smaller one.

`infer_noise` finds detours under which the engine gives the measured distribution of a collective's
times. `predict` simulates more ranks under them. The distribution there follows from the measured
one: if iterations have h(x) hits longer than x on average, a larger machine has r(x) h(x) of them,
and the engine says r(x). So an error of the inference, which both sides share, hardly matters, and
quantiles keep the intervals that measured order statistics have.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .algorithms.algorithm import MAX_ROUNDS
from .algorithms.library_choice import LibraryRules, algorithm_for
from .answer import FIRST, PICTURE, SECONDS, Answer, Column, Note, Table, notes_of, show_time
from .case import Case
from .compare_measured import SKIP, UNITS, messages_of, read_times, warm_up_notes
from .distributions import Empirical, Exponential
from .faster_algorithm import algorithm_cautions
from .fields import (
    MAX_REALIZATIONS,
    FieldError,
    first_few,
    grouped,
    naming_fields,
    parameter,
    shorten,
)
from .files import digests
from .measured import Histogram, Measured
from .measured.infer import (
    Base,
    DetourRates,
    Hits,
    averaged,
    corrected,
    first_guess,
    magnified,
    mean_hits,
    pooled,
    split_base,
)
from .noise import Noise, RenewalNoise
from .progress import part_of_progress
from .question import (
    EFFORT,
    Anything,
    Choice,
    CollectiveParameters,
    Confidence,
    Count,
    EngineParameters,
    Parameter,
    Progress,
    Ranks,
    Seed,
    call_of,
    question,
    required,
)
from .simulate import simulate_checked
from .slowdown import part_in_words, repetition
from .stats import Estimate
from .stats.intervals import in_order, normal, student_t
from .stats.measured_times import Series
from .syntax import read_count
from .units import (
    TICKS_PER_SECOND,
    LongTimeWarning,
    from_ticks,
    parse_seconds,
    show_seconds,
    show_size,
)

Floats = npt.NDArray[np.float64]
LEVELS = (0.5, 0.9, 0.99, 0.999)
"""Quantiles that are predicted."""
MEASURED, NETWORK = "measured", "network"
"""Where the base time is from: the times themselves, or the network without noise."""
FIT, EXCESS = "fit", "excess"
"""More of them: a line through the base times of several sizes; none, so that it is left out."""
HIGH, LOW, ALIKE, NONE = "too long", "too short", "not told apart", ""
DEFAULT_REALIZATIONS = 20_000
_MIN_REALIZATIONS = 500
_MAX_MESSAGES = 4e9  # of all realizations on the most ranks: some seconds
# Corrections, and how many of them are averaged: what each simulates is off by chance of its own.
# On a running machine hits are mostly what is left of long detours, and corrections end later.
_ROUNDS = {"fresh": (8, 6), "stationary": (20, 10)}
_NO_RATE = 1e-300  # per second
_REPEATED = (3, 2)  # times as many realizations for the ratio: on the measured and the other ranks
_SMOOTHED = (0.05, 0.3)  # of the logarithm of the number of hits: ratios are alike within
_FEW = 8  # iterations beyond, or not beyond, a time: their ratio is that of the neighbours
_MAX_POINTS = 20_000  # of a distribution
_HALF_TICK = 0.5 / TICKS_PER_SECOND
_DETERMINED = 0.5  # of all iterations are hit: of more, the times do not tell base from noise
_LONGEST = 2**53 / TICKS_PER_SECOND  # seconds: up to there doubles tell ticks apart
_OTHER_NETWORK = 1.25  # times the base time
_OTHER_UNIT = 300  # times the base time: no network is so far off, and units differ by 1000
_WIDE = 0.5  # times the base time: where its own spread is wider, it has several states
_MAX_ROWS = 8
_SHOWN = 8  # numbers of ranks in an error
NEAR = {"mean": 0.05, "p90": 0.1, "p99": 0.25}
"""Relative ends of intervals beyond which a note says how little is known."""


class BaseTime(Parameter[Any, Any]):
    """A time without noise: seconds, two of them between which it lies, or a word."""

    takes = "float | str | tuple[float | str, float | str] | None"
    metavar = "TIME"

    def __init__(self, help: str, more: str, words: tuple[str, ...], **options: Any) -> None:
        super().__init__(help, more, **options)
        self.words = words

    def read(self, value: Any, name: str) -> Any:
        if value is None or value in self.words:
            return value
        ends = value
        if isinstance(value, str):
            ends = value.split("..") if ".." in value else (value, value)
        elif not isinstance(value, (tuple, list)):
            ends = (value, value)
        if len(ends) != 2:
            words = ", ".join(self.words)
            raise ValueError(f"{name} must be a time, LOW..HIGH or {words}, got {shorten(value)}")
        low, high = (parse_seconds(end, name, positive=True) for end in ends)
        if low > high:
            raise ValueError(f"{name} must be LOW..HIGH, LOW the smaller one, got {shorten(value)}")
        return (low, high)


_Times = str | Path | Sequence[float] | npt.NDArray[np.float64]
_TAKES = "str | Path | Sequence[float] | npt.NDArray[np.float64]"


class SizedTimes(Parameter[Any, tuple[tuple[int, Any], ...]]):
    """Measured times on other numbers of ranks."""

    takes = "Mapping[int, str | Path | Sequence[float]]"
    metavar = "RANKS=FILE"
    least = 1
    argument: Mapping[str, Any] = {"action": "append"}  # type: ignore[misc]

    def read(self, value: Any, name: str) -> tuple[tuple[int, Any], ...]:
        pairs = value.items() if isinstance(value, Mapping) else value
        try:
            pairs = [(ranks, times) for ranks, times in pairs]
        except (TypeError, ValueError):
            raise ValueError(
                f"{name} must be numbers of ranks with their times, such as 128=small.txt, got "
                f"{shorten(value)}"
            ) from None
        most = 2**MAX_ROUNDS
        return tuple((read_count(n, f"{name}: ranks", self.least, most), t) for n, t in pairs)

    def from_text(self, text: list[str], name: str, given: Mapping[str, Any]) -> Any:
        return self.read([one.split("=", 1) for one in text], name)

    def plain(self, value: Any) -> Any:
        return [[ranks, str(times) if isinstance(times, Path) else times] for ranks, times in value]


class TimesThere(SizedTimes):
    """Measured times on the predicted numbers of ranks.

    They are pairs of ranks and times. Times without ranks have 0: they are of the only number.
    """

    takes = "str | Path | Sequence[float] | Mapping[int, Any] | None"
    metavar = "FILE|RANKS=FILE"
    least = 0

    def read(self, value: Any, name: str) -> tuple[tuple[int, Any], ...]:
        if value is None or (isinstance(value, tuple) and not value):
            return ()
        if isinstance(value, Mapping) and not value:
            raise ValueError(f"{name} must be times, or numbers of ranks with theirs, got {{}}")
        nested = isinstance(value, (list, tuple)) and bool(value) and not np.isscalar(value[0])
        return super().read(value if nested or isinstance(value, Mapping) else {0: value}, name)

    def from_text(self, text: list[str], name: str, given: Mapping[str, Any]) -> Any:
        pairs = [one.partition("=") for one in text]
        return tuple((int(n), file) if n.isdecimal() and equals else (0, f"{n}{equals}{file}")
                     for n, equals, file in pairs)  # fmt: skip

    def plain(self, value: Any) -> Any:
        pairs = super().plain(value)
        return pairs[0][1] if [ranks for ranks, _ in value] == [0] else pairs or None


@question
class InferNoiseQuestion(CollectiveParameters, EngineParameters):
    """The question of `infer_noise`."""

    measured: Anything[_Times] = required(
        Anything(
            "how long the collective took in each iteration, on its last rank",
            "In the order of measurement: numbers, or a file that `compare_measured` reads.",
            takes=_TAKES,
            option=None,
        )
    )
    ranks: Count = required(Count("how many ranks there were", low=2, high=2**MAX_ROUNDS))
    _: KW_ONLY
    start: Choice[str] = Choice(
        "fresh: each iteration began after a barrier, which waits for detours that are under way; "
        "stationary: they count with the time that they are still under way",
        default="fresh",
        allowed=("fresh", "stationary"),
    )
    base: BaseTime = BaseTime(
        "the time without noise: measured, that of iterations that no noise hit; network, what it "
        "takes for the messages; or a time",
        "That of the measured times has a spread, within which no noise is looked for. Where noise "
        "hits most iterations, they do not show it.",
        (MEASURED, NETWORK),
        default=MEASURED,
    )
    unit: Choice[str | None] = Choice(
        "of a text file of times: s, ms, us or ns",
        "As in `compare_measured`.",
        default=None,
        usual="s",
        allowed=tuple(UNITS),
    )
    skip: Count = SKIP
    sizes: SizedTimes = SizedTimes(
        "measured times on another number of ranks of the same machine, which share its noise, and "
        "whose base times tell that of more ranks; may be given several times",
        default=(),
        option="size",
    )
    realizations: Count = Count(
        "how many are simulated each time",
        "Fewer on so many ranks that it would take long, which a note says.",
        default=DEFAULT_REALIZATIONS,
        low=_MIN_REALIZATIONS,
        high=MAX_REALIZATIONS,
        part=EFFORT,
    )
    confidence: Confidence = Confidence("of each interval, between 0 and 1")
    seed: Seed = Seed("of the draws", "As in `simulate`.", default=0)
    progress: Progress = Progress("messages")

    def __post_init__(self) -> None:
        if isinstance(self.base, tuple) and self.base[0] < self.base[1]:
            ends = "..".join(map(show_seconds, self.base))
            raise FieldError("base", f" must be a single time, got {ends}")
        counts = [self.ranks, *(ranks for ranks, _ in self.sizes)]
        if min(counts) < 2 or len(set(counts)) < len(counts):
            raise FieldError(
                "sizes", " must be of 2 ranks or more, each number once and none that of ranks, "
                f"got {first_few([f'{n:,}' for n in counts[1:]], _SHOWN)}"
            )  # fmt: skip
        self.take_named_algorithm(counts)
        for ranks in counts:
            self.case_of(ranks)

    def case_of(self, ranks: int, noise: Sequence[Noise] = ()) -> Case:
        """Make the case of `ranks` ranks."""
        with naming_fields(*self.parameters()):
            algorithm = algorithm_for(self.algorithm, ranks, self.network, self.message_bytes)
            return Case(
                ranks,
                algorithm=algorithm, network=self.network, noise=noise,
                message_bytes=self.message_bytes, cycles=self.cycles,
                compute_time=self.compute_time,
            )  # fmt: skip

    def noise_free(self, ranks: int) -> float:
        """Return the time without noise, of the network, seconds."""
        return float(from_ticks(self.case_of(ranks).loops[-1].noise_free_observations()[-1]))

    def read(self, measured: Any, ranks: int, name: str = "measured") -> Floats:
        """Read the times of the argument `name`, measured on `ranks` ranks, seconds."""
        return read_times(measured, self.unit, self.case_of(ranks), self.skip, name)

    def files(self) -> list[Path]:
        """Return the files of the times that noise is inferred of."""
        times = [self.measured, *(times for _, times in self.sizes)]
        return [Path(one) for one in times if isinstance(one, (str, Path))]

    def hits(self) -> Hits:
        """Split the measured times into the base time and what noise added."""
        times = self.read(self.measured, self.ranks)
        if (longest := float(times.max())) > _LONGEST:
            raise ValueError(
                f"measured: an iteration took {show_seconds(longest)}, and noise is inferred from "
                f"up to {show_seconds(_LONGEST)}: check {parameter('unit')}"
            )
        known = {MEASURED: None, NETWORK: self.noise_free(self.ranks)}
        base = self.base[0] if isinstance(self.base, tuple) else known[self.base]
        if base is not None and base > np.median(times) * (1 + 1e-9):
            raise FieldError(
                "base", f" must not be above the median of the measured times, "
                f"{show_seconds(float(np.median(times)))}, got {show_seconds(base)}"
            )  # fmt: skip
        hits = Hits(times, split_base(times, base))
        if not hits.exceeding:
            raise ValueError(
                f"measured: none of {hits.count:,} iterations took longer than the base time and "
                "its spread: there is no noise to infer; give more iterations"
            )
        if hits.too_few:
            raise ValueError(
                f"measured: the iterations depend on each other over {hits.bursts.length:,.0f} of "
                f"them, so that {hits.count:,} tell nothing: measure for longer, or with pauses"
            )
        return hits

    def runs(self) -> list[Run]:
        """Read all measured times; first those whose iterations are predicted."""
        others = []
        for ranks, measured in self.sizes:
            times = self.read(measured, ranks, "sizes")
            known = self.noise_free(ranks) if self.base == NETWORK else None
            others.append(Run(ranks, Hits(times, split_base(times, known))))
        return [Run(self.ranks, self.hits()), *others]


class Run(NamedTuple):
    """Measured times on some ranks, and what the noise gives there beyond the base time."""

    ranks: int
    hits: Hits
    simulated: Floats = np.zeros(0)

    @property
    def distance(self) -> float:
        """The largest difference of the measured and simulated shares of iterations, if hit."""
        if not self.hits.exceeding:
            return float(np.mean(self.simulated > self.hits.least))
        at = self.hits.before
        measured, simulated = self.hits.number(at), mean_hits(self.simulated, at)
        return float(np.abs(np.exp(-measured) - np.exp(-simulated)).max())


class RateRow(NamedTuple):
    """Detours that last longer than some time.

    Attributes
    ----------
    longer_than : float
        Seconds.
    iterations : int
        That were delayed by more than that.
    rate : Estimate
        Per second, of each rank.
    """

    longer_than: float
    iterations: int
    rate: Estimate


@dataclass(frozen=True, eq=False, repr=False)
class InferredNoise(Answer):
    """The answer of `infer_noise`.

    Attributes
    ----------
    question : InferNoiseQuestion
    runs : tuple of Run
        The measured times on each number of ranks, with what the engine gives under this noise.
    noise : RenewalNoise
    histogram : jitterfly.measured.Histogram
        Of the durations of its detours.
    rows : tuple of RateRow
        By ascending durations; the iterations are those of all runs.
    """

    question: InferNoiseQuestion
    runs: tuple[Run, ...]
    noise: RenewalNoise
    histogram: Histogram
    rows: tuple[RateRow, ...]

    columns = (
        Column("longer_than", SECONDS, heading="detours longer than"),
        Column("iterations", heading="iterations", doc="that were delayed by more than that"),
        Column("rate", "", True, heading="per second and rank"),
    )
    picture = "answers.draw_inferred"

    def __repr__(self) -> str:
        return f"InferredNoise({part_in_words(self.noise)})"

    @property
    def hits(self) -> Hits:
        """The measured times, with their base time."""
        return self.runs[0].hits

    @property
    def simulated(self) -> Floats:
        """The times that the noise gives beyond the base time, ascending, seconds."""
        return self.runs[0].simulated

    @property
    def distance(self) -> float:
        """The largest difference of the measured and simulated shares of iterations, if hit."""
        return max(run.distance for run in self.runs)

    def title(self) -> str:
        """Say what was measured."""
        asked = self.question
        case = asked.case_of(asked.ranks)
        what = f"{part_in_words(case.algorithm)}, {show_size(case.message_bytes)}"
        repeated = repetition(case)
        return f"noise behind {what}{repeated}, on {asked.ranks:,} ranks"

    def facts(self) -> dict[str, Any]:
        """Return what the JSON has beside rows and notes."""
        hits = self.hits
        return {
            "noise": self.noise.to_dict(),
            "base_time": hits.base.time,
            "base_reach": hits.base.reach,
            "iterations": hits.count,
            "effective_iterations": hits.count / hits.bursts.length,
            "hit_iterations": hits.exceeding,
            "correlation": hits.bursts.correlation,
            "distance": self.distance,
        }

    def _own_notes(self) -> list[Note]:
        """Say what the noise explains, and what the times do not determine."""
        asked, hits, noise = self.question, self.hits, self.noise
        base = hits.base
        share = noise.share()
        text = (
            f"a detour every {show_seconds(noise.gap.expected() + noise.duration.expected(), 3)} "
            f"of each rank, {show_seconds(noise.duration.expected(), 3)} long on average: "
            f"{100 * share:.2g} % of the CPU; start = {asked.start}"
        )
        fit = (
            f"under it, the engine's share of iterations beyond any time is that of the measured "
            f"ones to within {100 * self.distance:.2g} % of all"
        )
        return [
            *caution_notes(asked, self.runs),
            *library_notes(asked, [run.ranks for run in self.runs]),
            Note("noise", text, PICTURE),
            Note("base", f"base time {show_seconds(base.time)}{_spread_in_words(base)}; "
                 f"{hits.exceeding:,} of {hits.count:,} iterations took longer", PICTURE),
            Note("distance", fit),
            *self._notes_on_runs(),
            Note("intervals", f"{100 * asked.confidence:g} % intervals; seed {asked.seed}"),
            *_undetermined(asked, hits),
            *dependence_notes(hits),
        ]  # fmt: skip

    def _notes_on_runs(self) -> list[Note]:
        """Say how far one noise explains the times on each number of ranks."""
        if len(self.runs) == 1:
            return []
        each = "; ".join(
            f"{run.ranks:,} ranks {100 * run.distance:.2g} %, {run.hits.exceeding:,} of "
            f"{run.hits.count:,} iterations hit"
            for run in self.runs
        )
        return [Note("runs", f"one noise for all numbers of ranks, off by: {each}")]

    def measured_noise(self) -> Measured:
        """Return what a noise file holds: the histogram of durations, and where it is from."""
        asked, first, files = self.question, self.notes(), self.question.files()
        source = {
            "tool": "jitterfly noise infer",
            "file": ", ".join(map(str, files)),
            "sha256": ", ".join(digests(files).values()),
            "ranks": str(asked.ranks),
            "algorithm": part_in_words(asked.case_of(asked.ranks).algorithm),
            "network": part_in_words(asked.network),
            "start": asked.start,
        }
        source = {key: value for key, value in source.items() if value}
        return Measured((self.histogram,), "jitterfly", source, tuple(map(str, first)))


def _spread_in_words(base: Base) -> str:
    return f", its spread up to {show_seconds(base.reach, 3)} more" if base.reach else ""


def library_notes(asked: InferNoiseQuestion, counts: Iterable[int]) -> list[Note]:
    """Say which algorithm a library runs on each number of ranks."""
    rules = asked.algorithm
    if not isinstance(rules, LibraryRules):
        return []
    words = {n: rules.in_words(n, asked.network, asked.message_bytes) for n in counts}
    return [Note("library", f"{ranks:,} ranks: {text}") for ranks, text in words.items()]


def caution_notes(asked: InferNoiseQuestion, runs: Sequence[Run]) -> list[Note]:
    """Say first where noise that hits iterations independently can not explain the times."""
    hits = runs[0].hits
    bursts, share = hits.bursts, hits.exceeding / hits.count
    notes = notes_of("bad_algorithm", algorithm_cautions([asked.case_of(asked.ranks)]), FIRST)
    notes += warm_up_notes(hits.series)
    if bursts.dependent:
        text = (
            f"hits come in bursts: those of neighbouring iterations have a correlation of "
            f"{bursts.correlation:.2f}, so that they are no independent samples of one noise. What "
            "follows holds for the time of this measurement alone"
        )
        notes.append(Note("bursts", text, FIRST))
    if share > _DETERMINED and asked.base == MEASURED:
        text = (
            f"{100 * share:.0f} % of the iterations took longer than the base time that the times "
            f"show: they do not tell base and noise apart. Give {parameter('base')}"
        )
        notes.append(Note("base_not_determined", text, FIRST))
    noise_free = asked.noise_free(asked.ranks)
    if noise_free and not 1 / _OTHER_UNIT < hits.base.time / noise_free < _OTHER_UNIT:
        text = (
            f"the base time is {show_seconds(hits.base.time)}, and the network takes "
            f"{show_seconds(noise_free)} without noise: check {parameter('unit')}"
        )
        notes.append(Note("other_unit", text, FIRST))
    if hits.base.reach >= _WIDE * hits.base.time:
        text = (
            f"the base time is no single time: without hits it spreads by up to "
            f"{show_seconds(hits.base.reach, 3)} around {show_seconds(hits.base.time, 3)}. Noise "
            "does not explain that spread, which may be another one on more ranks"
        )
        notes.append(Note("wide_base", text, FIRST))
    for one, other in itertools.combinations(runs, 2):
        if np.array_equal(one.hits.times, other.hits.times):
            text = (
                f"the times on {one.ranks:,} and on {other.ranks:,} ranks are the same: give each "
                "number of ranks its own"
            )
            notes.append(Note("same_times", text, FIRST))
    if hits.exceeding < 10:
        text = f"only {hits.exceeding} iterations were hit: they tell little of the noise"
        notes.append(Note("few_hits", text, FIRST))
    return notes


def same_times_notes(runs: Sequence[Run], predicted: Sequence[PredictedRanks]) -> list[Note]:
    """Say first where times are compared with a prediction that was made of them."""
    return [
        Note("same_times", f"the times measured on {one.ranks:,} ranks are those on {run.ranks:,}, "
             "of which the prediction was made: to compare them says nothing of how good it is",
             FIRST)
        for one, run in itertools.product(predicted, runs)
        if one.there is not None and np.array_equal(one.there.times, run.hits.times)
    ]  # fmt: skip


def _undetermined(asked: InferNoiseQuestion, hits: Hits) -> list[Note]:
    """Say what the times do not determine."""
    notes, base = [], hits.base
    noise_free = asked.noise_free(asked.ranks)
    if base.reach:
        text = (
            f"not determined: detours shorter than {show_seconds(base.reach, 3)}, whose delays lie "
            "within the base's own spread; this noise has none of them"
        )
        notes.append(Note("short_detours", text))
    text = (
        "not determined: whether a CPU or a message was late; this noise takes the CPU of single "
        "ranks"
    )
    notes.append(Note("cpu_or_network", text))
    if noise_free and not 1 / _OTHER_NETWORK < base.time / noise_free < _OTHER_NETWORK:
        text = (
            f"the network takes {show_seconds(noise_free)} without noise, and the base time is "
            f"{show_seconds(base.time)}: the rates are those that explain the hits with this "
            "network, and depend on the time in which its CPUs work"
        )
        notes.append(Note("other_network", text))
    return notes


def dependence_notes(hits: Hits) -> list[Note]:
    """Say how far iterations depend on their neighbours."""
    if hits.series.is_sorted:
        text = "the times are sorted, which hides whether hits come in bursts"
        return [Note("sorted", text)]
    bursts, notes = hits.bursts, []
    if bursts.length > 1:
        text = (
            f"hits depend on their neighbours (correlation {bursts.correlation:.2f}): up to "
            f"{bursts.length:,.3g} iterations count as one"
        )
        notes.append(Note("dependent", text))
    if bursts.base_length > 1:
        text = (
            f"the base time wanders: {bursts.base_length:.3g} neighbouring iterations are worth one"
        )
        notes.append(Note("base_wanders", text))
    return notes


class _Engine:
    """The simulations of a question: each with a seed of its own, and with progress.

    Progress counts messages: one realization of many ranks takes as long as many of few.
    """

    def __init__(
        self, asked: InferNoiseQuestion, runs: Sequence[Run], to: Sequence[int] = ()
    ) -> None:
        """Count the messages of all simulations to come; `to` are the ranks to predict."""
        self.asked = asked
        self.realizations = _affordable(asked, max(*to, *(run.ranks for run in runs), 0))
        self.done, self.number = 0, 0
        of_runs = [messages_of(asked.case_of(run.ranks)) for run in runs]
        mean = np.average(of_runs, weights=[run.hits.count for run in runs])
        # Of all corrections, then once of each run.
        messages = [_ROUNDS[asked.start][0] * mean, *of_runs]
        if others := [ranks for ranks in to if ranks != asked.ranks]:
            messages.append(_REPEATED[0] * messages_of(asked.case_of(asked.ranks)))
            messages += [_REPEATED[1] * messages_of(asked.case_of(ranks)) for ranks in others]
        self.total = round(self.realizations * math.fsum(messages))

    def excess(self, ranks: int, noise: Noise, repeated: float = 1) -> Floats:
        """Return what a noise adds to the time without it, ascending, seconds."""
        asked, case = self.asked, self.asked.case_of(ranks, [noise]).loops[-1]
        count, each = max(round(repeated * self.realizations), 1), messages_of(case)
        progress = part_of_progress(asked.progress, self.done, each, self.total)
        # Realizations of their own: what is corrected is not held to the draws that led to it.
        first = self.number
        self.number += count
        found = simulate_checked(case, count, asked.seed, asked.engine, progress, first)
        self.done += count * each
        return np.sort(found.samples[:, -1] - found.noise_free[-1])


def _affordable(asked: InferNoiseQuestion, ranks: int) -> int:
    """Return how many realizations of `ranks` ranks take some seconds."""
    affordable = int(_MAX_MESSAGES / messages_of(asked.case_of(ranks)))
    return max(min(asked.realizations, affordable), _MIN_REALIZATIONS)


def _renewal(histogram: Histogram, start: str) -> RenewalNoise:
    """Return the source that has the detours of a histogram at exponential gaps."""
    low, high = (ends / TICKS_PER_SECOND for ends in (histogram.low, histogram.high))
    middle = (histogram.low + histogram.high - 1) / 2
    assert histogram.observed is not None
    gap = (histogram.observed - float(histogram.counts @ middle)) / histogram.total
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LongTimeWarning)  # what was measured has its unit
        durations = Empirical(low=low.tolist(), high=high.tolist(), count=histogram.counts.tolist())
        # To the tick, so that it is written in few digits.
        return RenewalNoise(Exponential(round(gap) / TICKS_PER_SECOND), durations, start=start)  # type: ignore[arg-type]


def _infer(engine: _Engine, runs: Sequence[Run]) -> InferredNoise:
    """Find detours under which the engine's numbers of hits are the measured ones.

    Several runs are one distribution, of which each has its share of iterations.
    """
    asked, hits = engine.asked, pooled([run.hits for run in runs])
    if not hits.exceeding:
        raise ValueError(
            "sizes: beyond the widest spread of their base times no iteration was hit: leave the "
            "times with that spread out"
        )
    at = hits.before
    number = hits.number(at)
    events = max(round(float(number[0]) * hits.count), hits.exceeding)
    shares = [run.hits.count / hits.count for run in runs]
    ranks = [share * run.ranks for share, run in zip(shares, runs, strict=True)]
    noise_free = [asked.noise_free(run.ranks) or run.hits.base.time for run in runs]
    exposed = float(np.average(noise_free, weights=ranks))
    found = first_guess(hits.bins, number, math.fsum(ranks), exposed, asked.start == "stationary")
    rounds: list[DetourRates] = []
    corrections, last = _ROUNDS[asked.start]
    for _ in range(corrections):
        noise = _renewal(found.histogram(events), asked.start)
        simulated = [
            engine.excess(run.ranks, noise, share) for share, run in zip(shares, runs, strict=True)
        ]
        count = min(engine.realizations, hits.count)
        there = mean_hits(np.sort(np.concatenate(simulated)), at)
        found = corrected(found, number, there, count)
        rounds.append(found)
    found = averaged(rounds[-last:])
    histogram = found.histogram(events)
    noise = _renewal(histogram, asked.start)
    checked = tuple(run._replace(simulated=engine.excess(run.ranks, noise)) for run in runs)
    durations = _round_durations(found)
    times = np.ones((2, len(durations)))
    if asked.start == "stationary":
        times = np.array(magnified(hits, math.fsum(ranks), exposed, durations, asked.seed))
    rows = _rate_rows(asked, hits, found, rounds[-last:], durations, times)
    return InferredNoise(asked, checked, noise, histogram, rows)


def answer_inference(asked: InferNoiseQuestion) -> InferredNoise:
    """Infer the noise behind a collective's own times.

    The noise is a Poisson process of detours of each rank, with a table of durations, under which
    the engine gives the measured distribution. It is a source as any other, and `measured_noise`
    what a noise file holds.

    Returns
    -------
    InferredNoise

    Raises
    ------
    ValueError
        An argument out of range; a file that holds no times of iterations; no iteration that noise
        hit; iterations that depend on each other for so long that they tell nothing.
    OSError
        The file can not be read.

    Notes
    -----
    Intervals are for independent iterations; where hits depend on their neighbours, these count as
    fewer. Hits in bursts are said first.

    Examples
    --------
    >>> import jitterfly as jf
    >>> noise = jf.RenewalNoise(gap="50ms", duration=jf.Exponential("20us"))
    >>> case = jf.Case(64, network=jf.LogGOPS(L="1us", o="200ns"), noise=[noise])
    >>> times = jf.simulate(case, 5000, seed=1).samples[:, 0]
    >>> found = infer_noise(times, 64, network=case.network, realizations=5000)
    >>> 0.04 < found.noise.gap.expected() < 0.07
    True
    """
    runs = asked.runs()
    return _infer(_Engine(asked, runs), runs)


infer_noise = call_of(InferNoiseQuestion, answer_inference, "infer_noise")


def _round_durations(detours: DetourRates) -> Floats:
    """Return the shortest duration, and some round ones beyond it."""
    first, last = detours.low[0], detours.low[-1]
    exponents = range(math.floor(math.log10(first)), math.ceil(math.log10(max(last, first))) + 1)
    marks = [m * 10.0**e for e in exponents for m in (1, 2, 5) if first < m * 10.0**e < last]
    every = max(1, -(-len(marks) // (_MAX_ROWS - 1)))
    return np.array([float(first), *marks[::every]])


def _rate_rows(
    asked: InferNoiseQuestion, hits: Hits, detours: DetourRates, rounds: Sequence[DetourRates],
    durations: Floats, magnified: Floats,
) -> tuple[RateRow, ...]:  # fmt: skip
    """Make the rows: detours beyond some durations.

    Their intervals allow for the measured iterations, whose errors solving for the rates makes
    `magnified` times larger below and above, and for those that were simulated, by which the rates
    of the `rounds` differ whose average they are.
    """
    reach = student_t(asked.confidence, len(rounds) - 1) / math.sqrt(len(rounds))
    rows = []
    for duration, times in zip(durations.tolist(), magnified.T, strict=True):
        at = np.array([duration - _HALF_TICK])
        number = float(hits.number(at)[0])
        ends = [float(end[0]) for end in hits.number_band(at, asked.confidence)]
        rate = float(detours.beyond(duration))
        beyond = int(np.count_nonzero(hits.excess > at[0]))
        if number > 0:
            found = np.log([max(float(one.beyond(duration)), _NO_RATE) for one in rounds])
            simulated = reach * float(found.std(ddof=1))
            below, above = (
                math.hypot(factor * math.log(end / number), simulated)
                if 0 < end < math.inf
                else math.inf
                for end, factor in zip(ends, times.tolist(), strict=True)
            )
            low, high = rate * math.exp(-below), rate * math.exp(above)
            interval = Estimate(
                rate, low, high, asked.confidence, math.floor(hits.effective(duration))
            )
            rows.append(RateRow(duration, beyond, interval))
    return tuple(rows)


@question
class PredictQuestion(InferNoiseQuestion):
    """The question of `predict`."""

    _: KW_ONLY
    to: Ranks = required(
        Ranks("the numbers of ranks that are asked about, such as 1024, 1000,2000 or 64..4096")
    )
    base_there: BaseTime = BaseTime(
        "the time without noise on that many ranks: a time, or LOW..HIGH between which it lies; "
        "network, as it takes longer there; fit, a line through those of several sizes, over the "
        "logarithm of the ranks; excess, which leaves it out: what noise adds is predicted",
        "Of measured times it is the median of those that no noise hit. A time is that of one "
        "number of ranks.",
        (NETWORK, FIT, EXCESS),
        default=None,
        usual="excess; fit where sizes are given, network where the base is that of the network",
        metavar="TIME",
    )
    measured_there: TimesThere = TimesThere(
        "measured times on that many ranks, which are put beside the predicted ones; "
        "RANKS=FILE, which may be given several times, where several are predicted",
        default=None,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        most = 2**MAX_ROUNDS
        if not 2 <= self.to[0] <= self.to[-1] <= most:
            raise FieldError("to", f" must be numbers from 2 to {most:,}, got {_on(self.to)}")
        for ranks in self.to:
            self.case_of(ranks)
        if self.base_there == FIT and not self.sizes:
            raise FieldError("base_there", f" must not be {FIT} without {parameter('sizes')}")
        several, shown = len(self.to) > 1, ", ".join(f"{ranks:,}" for ranks in self.to)
        if several and isinstance(self.base_there, tuple):
            raise FieldError(
                "base_there", f" must be {NETWORK}, {FIT} or {EXCESS} where several numbers of "
                f"ranks are predicted ({shown}): a time is that of one of them"
            )  # fmt: skip
        counts = [ranks if several else ranks or self.to[0] for ranks, _ in self.measured_there]
        if several and 0 in counts:
            raise FieldError(
                "measured_there", f" must say on how many ranks, such as {self.to[0]}=FILE, where "
                f"several are predicted ({shown})"
            )  # fmt: skip
        if len(set(counts)) < len(counts) or not {*counts} <= {*self.to}:
            raise FieldError(
                "measured_there", f" must be of predicted numbers of ranks ({shown}), each once, "
                f"got {first_few([f'{n:,}' for n in counts], _SHOWN)}"
            )  # fmt: skip

    def there(self, ranks: int) -> Hits | None:
        """Read the times that were measured on a predicted number of ranks; None without any."""
        for count, measured in self.measured_there:
            if count in (0, ranks):
                times = self.read(measured, ranks, "measured_there")
                return Hits(times, split_base(times))
        return None

    @property
    def base_source(self) -> Any:
        """Return where the base time there is from."""
        if self.base_there is not None:
            return self.base_there
        if self.sizes:
            return FIT
        return NETWORK if self.base == NETWORK else EXCESS


class PredictionRow(NamedTuple):
    """One number, measured, predicted, and measured on the predicted number of ranks.

    Attributes
    ----------
    ranks : int
        The predicted number of ranks.
    what : str
        "mean", or a quantile such as "p99".
    measured : Estimate
        On the measured number of ranks, seconds.
    predicted : Estimate
        Its interval holds what sampling, the inference and the base time leave open.
    there : Estimate or None
        Measured on as many ranks as the prediction is of.
    """

    ranks: int
    what: str
    measured: Estimate
    predicted: Estimate
    there: Estimate | None = None

    @property
    def ratio(self) -> float:
        """Predicted over measured there; NaN where nothing was measured."""
        if self.there is None or not self.there.value:
            return math.nan
        return float(self.predicted.value) / float(self.there.value)

    @property
    def relative_ends(self) -> tuple[float, float] | None:
        """The distances of the predicted ends over the value; None where an end is not known."""
        value, low, high = map(float, self.predicted)
        if not math.isfinite(low + high) or value <= 0:
            return None
        return (value - low) / value, (high - value) / value

    @property
    def verdict(self) -> str:
        """The finding whether the intervals of predicted and measured leave each other out."""
        if self.there is None:
            return NONE
        if self.predicted.low > self.there.high:
            return HIGH
        return LOW if self.predicted.high < self.there.low else ALIKE


def _if_there(heading: str) -> Callable[[Any], str]:
    return lambda answer: heading if answer.question.measured_there else ""


class BaseThere(NamedTuple):
    """The base time on the predicted ranks, between two ends, seconds; 0 where it is left out."""

    time: float
    low: float
    high: float
    words: str


class PredictedRanks(NamedTuple):
    """The prediction of one number of ranks.

    Attributes
    ----------
    ranks : int
    base : BaseThere
    rows : tuple of PredictionRow
        The mean and the quantiles `LEVELS`.
    times, shares, low, high : float64 array, shape (m,)
        The predicted distribution: times, ascending, with the share of iterations that takes no
        longer, and the ends of its interval for each of them.
    there : Hits or None
        The times that were measured on as many ranks.
    """

    ranks: int
    base: BaseThere
    rows: tuple[PredictionRow, ...]
    times: Floats
    shares: Floats
    low: Floats
    high: Floats
    there: Hits | None

    def parting(self) -> str:
        """Say where predicted and measured part."""
        apart = [row for row in self.rows if row.verdict in (HIGH, LOW)]
        if not apart:
            return "predicted and measured are nowhere told apart"
        first = next((row for row in apart if row.what != "mean"), apart[0])
        return f"predicted and measured part at {first.what}: predicted is {first.verdict}"

    def wide(self) -> str:
        """Name the numbers whose intervals are wide, with their ends."""
        return "; ".join(
            f"{row.what} to -{100 * below:,.0f} and +{100 * above:,.0f} %"
            for row in self.rows
            if row.what in NEAR and (ends := row.relative_ends) is not None
            for below, above in [ends]
            if max(below, above) > NEAR[row.what]
        )

    def open_ended(self) -> str:
        """Name the numbers without an upper end."""
        return " and ".join(row.what for row in self.rows if math.isinf(row.predicted.high))


@dataclass(frozen=True, eq=False, repr=False)
class Prediction(Answer):
    """The answer of `predict`.

    Attributes
    ----------
    question : PredictQuestion
    inferred : InferredNoise
        The noise that explains the measured times.
    predicted : tuple of PredictedRanks
        By ascending ranks.
    """

    question: PredictQuestion
    inferred: InferredNoise
    predicted: tuple[PredictedRanks, ...]
    realizations: int = 0  # each time

    columns = (
        Column("ranks", heading="ranks"),
        Column("what", heading=lambda answer: answer.of_what),
        Column("measured", SECONDS, True,
               heading=lambda answer: f"measured, {answer.question.ranks:,} ranks"),
        Column("predicted", SECONDS, True,
               heading=lambda answer: f"predicted{answer.on_ranks}"),
        Column("there", SECONDS, True, heading=_if_there("measured there"),
               csv=("there_s", "there_low_s", "there_high_s"),
               show=lambda estimate, unit: "" if estimate is None else show_time(estimate, unit)),
        Column("ratio", heading=_if_there("ratio"), doc="predicted over measured there",
               show=lambda ratio: "" if math.isnan(ratio) else f"{ratio:.3g}"),
        Column("verdict", heading=_if_there("predicted is")),
    )  # fmt: skip
    picture = "answers.draw_prediction"

    def __repr__(self) -> str:
        asked, row = self.question, self.rows[0]
        return f"Prediction({row.predicted} of {row.ranks:,} ranks, from {asked.ranks:,})"

    @property
    def rows(self) -> tuple[PredictionRow, ...]:
        """All rows, by ascending ranks."""
        return tuple(row for one in self.predicted for row in one.rows)

    @property
    def on_ranks(self) -> str:
        """Return the predicted number of ranks for a heading; "" where there are several."""
        return f", {self.predicted[0].ranks:,} ranks" if len(self.predicted) == 1 else ""

    @property
    def excess_alone(self) -> bool:
        """Return whether the base time is left out."""
        return self.question.base_source == EXCESS

    @property
    def of_what(self) -> str:
        """Return what the numbers are of."""
        return "excess" if self.excess_alone else "time"

    def shown_table(self) -> Table:
        """Return the table of rows; a single number of ranks stands in the title."""
        table = self.table()
        return dataclasses.replace(table, columns=table.columns[len(self.predicted) == 1 :])

    def title(self) -> str:
        """Say what is predicted."""
        asked = self.question
        case = asked.case_of(asked.ranks)
        what = f"{part_in_words(case.algorithm)}, {show_size(case.message_bytes)}"
        repeated = repetition(case)
        beyond = ", beyond the base time" * self.excess_alone
        ends = " to ".join(f"{ranks:,}" for ranks in dict.fromkeys([asked.to[0], asked.to[-1]]))
        return f"{what}{repeated}, on {ends} ranks as {asked.ranks:,} predict it{beyond}"

    def facts(self) -> dict[str, Any]:
        """Return what the JSON has beside rows and notes."""
        bases = [{"ranks": one.ranks, **one.base._asdict()} for one in self.predicted]
        return {**self.inferred.facts(), "base_times_there": bases}

    def _own_notes(self) -> list[Note]:
        """Say what the numbers rest on, and where predicted and measured part."""
        asked, hits = self.question, self.inferred.hits
        runs = self.inferred.runs
        text = [*caution_notes(asked, runs), *same_times_notes(runs, self.predicted)]
        here = part_in_words(asked.case_of(asked.ranks).algorithm)
        for ranks in asked.to:
            if (more := part_in_words(asked.case_of(ranks).algorithm)) != here:
                told = (
                    f"{asked.ranks:,} ranks run {here}, and {ranks:,} run {more}: the measured "
                    "times tell its noise, but nothing of its messages"
                )
                text.append(Note("other_algorithm", told, FIRST))
        text += library_notes(asked, [asked.ranks, *asked.to])
        base, there = hits.base, dict.fromkeys(one.base.words for one in self.predicted)
        text.append(Note("base", f"base time {show_seconds(base.time)}"
                         f"{_spread_in_words(base)} on {asked.ranks:,} ranks; {'; '.join(there)}",
                         PICTURE))  # fmt: skip
        for one in self.predicted:
            if one.there is not None:
                parting = f"{self._of([one])}{one.parting()}"
                text.append(Note("parting", parting, PICTURE))
                on = f"of the times measured on {one.ranks:,} ranks: "
                text += [
                    Note("dependent_there", on + str(note))
                    for note in dependence_notes(one.there)
                    if note.code == "dependent"
                ]
        text.append(
            Note("intervals", f"{100 * asked.confidence:g} % intervals of each number, which allow "
                 f"for sampling, inference and base time; {self.realizations:,} realizations at a "
                 f"time, seed {asked.seed}")
        )  # fmt: skip
        for wide, ones in grouped(self.predicted, PredictedRanks.wide).items():
            told = f"the measured iterations tell {wide}: more of them tell it better"
            text += [Note("wide_intervals", f"{self._of(ones)}{told}")] if wide else []
        for names, ones in grouped(self.predicted, PredictedRanks.open_ended).items():
            told = (
                f"{names} without an upper end: the measured iterations are too "
                "few to tell how long the longest hits are; a value beyond all of them is that "
                "of the inferred noise"
            )
            text += [Note("few_iterations", f"{self._of(ones)}{told}")] if names else []
        return [*text, *_undetermined(asked, hits), *dependence_notes(hits)]

    def _of(self, ones: Sequence[PredictedRanks]) -> str:
        """Name the numbers of ranks that a note is about, where it is not about all of them."""
        if len(ones) == len(self.predicted):
            return ""
        return f"on {_on([one.ranks for one in ones])}: "


def _on(ranks: Sequence[int]) -> str:
    """Name numbers of ranks, as "64, 128 and 1,024 ranks"."""
    *others, last = (f"{one:,}" for one in ranks)
    return f"{', '.join(others)} and {last} ranks" if others else f"{last} ranks"


@dataclass(frozen=True)
class _Scaled:
    """The measured distribution of the excess, scaled to another number of ranks.

    `ratio` is how many times as many hits longer than each time there are, and `error` the standard
    error of its logarithm. Up to the base's reach, where there are no hits, it is that of the first
    of them. `simulated` are the excesses there under the inferred noise, ascending: two hits of one
    iteration, which more ranks have, are longer together than all that were measured.
    """

    hits: Hits
    ratio: Floats
    error: Floats
    confidence: float
    simulated: Floats

    @cached_property
    def points(self) -> Floats:
        """The excesses at which the distribution is known, ascending."""
        rising = np.unique(self.hits.excess)
        if len(rising) <= _MAX_POINTS:
            return rising
        chosen = np.linspace(0, len(rising) - 1, _MAX_POINTS).round().astype(int)
        return rising[np.unique(np.append(chosen, np.arange(len(rising) - 1000, len(rising))))]

    @cached_property
    def number(self) -> Floats:
        """The measured mean number of hits beyond each point."""
        return self.hits.number(self.points)

    @cached_property
    def first(self) -> float:
        """The excess up to which all is the base's spread."""
        return self.hits.least

    @cached_property
    def beyond(self) -> Floats:
        """The measured mean number of hits beyond each point, or beyond the spread."""
        return self.hits.number(np.maximum(self.points, self.first))

    def _at(self, of_bins: Floats) -> Floats:
        """Return at each point what is known before each bin, by the number of hits beyond.

        By the time it would be wrong at a time that many iterations have exactly.
        """
        least = 0.1 / self.hits.count
        at, known = (-np.log(np.maximum(one, least)) for one in (self.beyond, self.known))
        return np.asarray(np.interp(at, known, of_bins))

    @cached_property
    def known(self) -> Floats:
        """The measured mean number of hits before each bin."""
        return self.hits.number(self.hits.before)

    @cached_property
    def added(self) -> Floats:
        """The mean number of hits beyond each point that are added on the other ranks."""
        return (self._at(self.ratio) - 1) * self.beyond

    @cached_property
    def scaled(self) -> Floats:
        """The mean number of hits beyond each point on the other ranks; it never rises.

        It is at or above the measured number where there are more ranks.
        """
        number = np.maximum(self.number + self.added, 0.0)
        return np.minimum.accumulate(number)

    @cached_property
    def band(self) -> tuple[Floats, Floats]:
        """The ends of the interval of `scaled`: what sampling and the ratio leave open."""
        z = normal(self.confidence)
        low, high = self.hits.number_band(self.points, self.confidence)
        part = self._at(self.ratio) * self.beyond
        of_ratio = z * self._at(self.error) * part
        scale = np.where(self.points > self.first, self._at(self.ratio), 1.0)
        below = np.hypot(scale * (self.number - low), of_ratio)
        above = np.hypot(scale * (high - self.number), of_ratio)
        return np.maximum(self.scaled - below, 0.0), self.scaled + above

    def quantile(self, q: float) -> Estimate:
        """Return a quantile of the excess there."""
        wanted = -math.log(q) + 1e-12
        low, high = self.band

        def first_within(number: Floats) -> float:
            inside = np.flatnonzero(number <= wanted)
            return float(self.points[inside[0]]) if len(inside) else math.inf

        value = first_within(self.scaled)
        lower, upper = first_within(low), first_within(high)
        longest = float(self.points[-1])
        if value >= longest:
            value = longest
            if len(self.simulated):
                beyond = float(np.quantile(self.simulated, q, method="inverted_cdf"))
                value = max(value, beyond)
        count = math.floor(self.hits.effective(value))
        return Estimate(value, min(lower, value), max(upper, value), self.confidence, count)

    def mean(self) -> Estimate:
        """Return the mean excess there.

        It is linear in the measured distribution to first order: each iteration counts with a value
        of its own, of which the interval is that of a mean of dependent samples.
        """
        measured = self._mean(self.scaled)
        # What is longer than all that were measured, by the engine.
        longer = np.maximum(self.simulated - self.points[-1], 0.0)
        value = measured + (float(longer.mean()) if len(longer) else 0.0)
        spread = 0.5 * abs(
            self._mean(self.scaled + self._part(1.0)) - self._mean(self.scaled - self._part(1.0))
        )
        of_ratio = normal(self.confidence) * spread
        sampled = Series(self._influence()).mean(self.confidence)
        center = float(sampled.value)
        low = math.hypot(center - float(sampled.low), of_ratio)
        high = math.hypot(float(sampled.high) - center, of_ratio)
        found = dataclasses.replace(sampled, value=value, low=measured - low, high=value + high)
        return found.bounded(float(self.points[0]))

    def _part(self, times: float) -> Floats:
        """Return the number of hits added if the ratio is off by some standard errors."""
        part = self._at(self.ratio) * self.beyond
        return np.asarray(times * self._at(self.error) * part)

    def _mean(self, number: Floats) -> float:
        inside = np.exp(-np.maximum(number, 0.0))
        return float(self.points[0] + (1 - inside[:-1]) @ np.diff(self.points))

    def _influence(self) -> Floats:
        """Return the value of each iteration, in the order of measurement, seconds."""
        x, ratio = self.points, self._at(self.ratio)
        measured, there = np.exp(-self.number), np.exp(-self.scaled)
        slope = np.where(x > self.first, ratio, 1.0) * there / measured
        rising = np.concatenate([[0.0], np.cumsum(slope[:-1] * np.diff(x))])
        spread = int(np.searchsorted(x, self.first, side="right"))
        widths = np.diff(x, append=x[-1])[:spread]
        below = float(there[:spread] @ widths)
        at = float(np.exp(-self.hits.number(np.array([self.first]))[0]))
        excess = np.asarray(self.hits.times) - self.hits.base.time
        values = np.interp(excess, x, rising)
        return np.asarray(values + np.where(excess > self.first, (ratio[0] - 1) / at * below, 0.0))


def _hit_ratio(hits: Hits, few: Floats, many: Floats) -> tuple[Floats, Floats]:
    """Return how many times as many hits other ranks have, at each edge; with its error.

    `few` and `many` are the simulated excesses on the measured and on the other ranks, ascending;
    none where these are as many. Of few simulated hits the ratio is that of their neighbours, in
    the logarithm of their number.
    """
    at = hits.before
    if not len(many):
        return np.ones(len(at)), np.zeros(len(at))
    numbers, variances, known = [], [], np.ones(len(at), dtype=bool)
    for found in (few, many):
        number, count = mean_hits(found, at), len(found)
        beyond = len(found) - np.searchsorted(found, at, side="right")
        known &= (beyond >= _FEW) & (count - beyond >= _FEW)
        number = np.maximum(number, 0.5 / count)
        numbers.append(number)
        variances.append(np.expm1(np.minimum(number, 30.0)) / count / number**2)
    log_ratio, variance = np.log(numbers[1] / numbers[0]), variances[0] + variances[1]
    if not known.any():
        known = variance <= variance.min() * (1 + 1e-9)
    place = np.log(hits.number(at))
    distance = np.abs(place[:, None] - place[known])
    # Nearest first: where none is near, the nearest counts.
    distance -= distance.min(axis=1, keepdims=True)
    width = np.clip(4 * np.sqrt(variance), *_SMOOTHED)[:, None]
    weights = np.exp(-0.5 * (distance / width) ** 2) / variance[known]
    weights /= weights.sum(axis=1, keepdims=True)
    error = np.sqrt(weights @ variance[known])
    return np.exp(weights @ log_ratio[known]), error


def _base_there(asked: PredictQuestion, runs: Sequence[Run], to: int) -> BaseThere:
    """Return the base time on `to` ranks, and how far it is known."""
    if asked.base_source == EXCESS:
        return BaseThere(0.0, 0.0, 0.0, f"that on {_on(asked.to)} is left out: give "
                         f"{parameter('base_there')}")  # fmt: skip
    found = _known_base(asked, runs, to)
    if found.time <= 0:
        field = "sizes" if asked.sizes else "base_there"
        raise FieldError(field, f" must give a base time above 0: {found.words}")
    return found._replace(low=max(found.low, 0.0))


def _known_base(asked: PredictQuestion, runs: Sequence[Run], to: int) -> BaseThere:
    """Return the base time that is given, or what network or sizes make it, of any sign."""
    source, ranks = asked.base_source, f"{to:,} ranks"
    if source == NETWORK:
        here, there = asked.noise_free(asked.ranks), asked.noise_free(to)
        base, longer = runs[0].hits.base.time, there - here
        time, off = base + longer, base / here if here else 1.0
        words = f"on {ranks} {show_seconds(time)}, by what the network takes longer there"
        # A network that is off here may be off by as much there.
        if not 1 / _OTHER_NETWORK < off < _OTHER_NETWORK:
            words += (f", to {off:.3g} times that, as on {asked.ranks:,} ranks the network takes "
                      f"{show_seconds(here)}")  # fmt: skip
        low, high = sorted((time, base + off * longer))
        return BaseThere(time, low, high, words)
    if source == FIT:
        return _fitted_base(asked, runs, to)
    low, high = source
    given = show_seconds(low) if low == high else f"{show_seconds(low)} to {show_seconds(high)}"
    return BaseThere((low + high) / 2, low, high, f"on {ranks} {given}, as given")


def _fitted_base(asked: PredictQuestion, runs: Sequence[Run], to: int) -> BaseThere:
    """Return the base time on the line over the logarithm of the ranks, with its interval."""
    known = {run.ranks: run.hits.base.time for run in runs}
    x, y = np.log2(np.array(list(known), dtype=np.float64)), np.array(list(known.values()))
    slope, least = np.polyfit(x, y, 1)
    at = math.log2(to)
    time, freedom = float(slope * at + least), len(x) - 2
    sizes = ", ".join(f"{one:,}" for one in sorted(known))
    words = f"on {to:,} ranks {show_seconds(time)}, on a line through those of {sizes} ranks"
    # The prediction is a weighted sum of the base times.
    off = x - x.mean()
    weights = 1 / len(x) + (at - x.mean()) * off / (off**2).sum()
    errors = np.array([run.hits.base_error for run in runs])
    half = normal(asked.confidence) * float(np.hypot.reduce(weights * errors))
    if freedom:
        residual = math.sqrt(float(((y - slope * x - least) ** 2).sum()) / freedom)
        lever = math.sqrt(1 + float((weights**2).sum()))
        half = math.hypot(half, student_t(asked.confidence, freedom) * residual * lever)
    half = max(half, 1 / TICKS_PER_SECOND)  # measured times are rounded
    if not freedom:
        nearest = min(known, key=lambda ranks: abs(math.log2(ranks) - at))
        half = math.hypot(half, time - known[nearest])
    words += f", ± {show_seconds(half, 2)}"
    if not freedom:
        words += (f": two sizes do not tell how far it is off the line, which is taken to be as "
                  f"far as the line goes from {nearest:,} ranks on")  # fmt: skip
    return BaseThere(time, time - half, time + half, words)


def answer_prediction(asked: PredictQuestion) -> Prediction:
    """Predict a collective on more ranks from its measured times on fewer.

    `infer_noise` finds the noise; the engine tells how many times as many hits of each duration the
    other number of ranks has; and the measured distribution, scaled by that, is the predicted one.
    Beside it stands the base time there, which noise does not tell.

    Returns
    -------
    Prediction

    Raises
    ------
    ValueError
        As `infer_noise`; a base time that does not go with the sizes.
    OSError
        A file can not be read.

    Notes
    -----
    Each number has an interval of its own. It holds the sampling of the measured iterations
    (docs/statistics.md), that of the simulated ones, and the ends of the base time. Hits that are
    longer than all that were measured are not known of; the upper end of the mean allows for few
    events, and a quantile that rests on too few of them has no upper end.

    Examples
    --------
    >>> import jitterfly as jf
    >>> noise = jf.RenewalNoise(gap="20ms", duration=jf.Exponential("20us"))
    >>> small, large = (
    ...     jf.Case(ranks, network=jf.LogGOPS(L="1us", o="200ns"), noise=[noise])
    ...     for ranks in (64, 256)
    ... )
    >>> times = jf.simulate(small, 5000, seed=1).samples[:, 0]
    >>> found = predict(times, 64, to=256, network=small.network, base="network", realizations=5000)
    >>> truth = jf.simulate(large, 20_000, seed=2).samples[:, 0].mean()
    >>> bool(found.rows[0].predicted.low < truth < found.rows[0].predicted.high)
    True
    """
    runs = asked.runs()
    there = [asked.there(ranks) for ranks in asked.to]  # what can not be read shows at once
    bases = [_base_there(asked, runs, ranks) for ranks in asked.to]
    engine = _Engine(asked, runs, asked.to)
    inferred = _infer(engine, runs)
    few = np.zeros(0)
    if {*asked.to} != {asked.ranks}:
        few = engine.excess(asked.ranks, inferred.noise, _REPEATED[0])
    predicted = [
        _predicted(engine, inferred, few, *one) for one in zip(asked.to, bases, there, strict=True)
    ]
    return Prediction(asked, inferred, tuple(predicted), engine.realizations)


def _predicted(
    engine: _Engine,
    inferred: InferredNoise,
    few: Floats,
    ranks: int,
    base: BaseThere,
    there: Hits | None,
) -> PredictedRanks:
    """Predict one number of ranks; `few` are the simulated excesses on the measured ranks."""
    asked, hits, many = engine.asked, inferred.hits, np.zeros(0)
    assert isinstance(asked, PredictQuestion)
    if ranks != asked.ranks:
        many = engine.excess(ranks, inferred.noise, _REPEATED[1])
    scaled = _Scaled(hits, *_hit_ratio(hits, few, many), asked.confidence, many)

    def shifted(excess: Estimate) -> Estimate:
        ends = (excess.value + base.time, excess.low + base.low, excess.high + base.high)
        # All times are whole ticks; that of an atom is exact.
        value, low, high = (float(np.round(end, 12)) for end in ends)
        return dataclasses.replace(excess, value=value, low=low, high=high)

    def bounded(mean: Estimate, least: float | None = None) -> Estimate:
        # What noise adds is nothing at least; single times may be below the base time.
        return mean.bounded(0.0 if excess and mean.value >= 0 else least)

    def of_times(times: Hits) -> list[Estimate]:
        series = Series(np.asarray(times.times) - excess * times.base.time)
        mean = bounded(series.mean(asked.confidence), series.ascending[0])
        return [mean, *in_order(series.quantile(q, asked.confidence) for q in LEVELS)]

    excess = asked.base_source == EXCESS
    names = ["mean", *(f"p{100 * q:g}" for q in LEVELS)]
    predicted = map(shifted, [bounded(scaled.mean()), *map(scaled.quantile, LEVELS)])
    beyond = [None] * len(names) if there is None else of_times(there)
    numbers = zip(names, of_times(hits), predicted, beyond, strict=True)
    low, high = scaled.band
    return PredictedRanks(
        ranks, base, tuple(PredictionRow(ranks, *one) for one in numbers),
        scaled.points + base.time, np.exp(-scaled.scaled), np.exp(-high), np.exp(-low), there,
    )  # fmt: skip


predict = call_of(PredictQuestion, answer_prediction, "predict")
