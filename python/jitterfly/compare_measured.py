"""`compare_measured`: simulated and measured distribution, by a two-sample KS test, with p-value.

The test is that of Kolmogorov and Smirnov, corrected for iterations that depend on each other.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import stats
from .algorithms import Algorithm, is_kind_of
from .algorithms.algorithm import COLLECTIVES, IRREGULAR
from .algorithms.library_choice import LibraryChoice, LibraryRules, algorithm_for
from .answer import FIRST, PICTURE, SECONDS, Answer, Column, Note, notes_of, show, show_time
from .case import Case, allows_switches
from .faster_algorithm import algorithm_cautions
from .fields import MAX_REALIZATIONS, FieldError, check_numbers, parameter, reads_as_number, shorten
from .files import digest_of, files_of, read_text
from .measured import CollectiveTable, FormatError, PerRankSamples, load, noisefile
from .measured.formats import PLAIN, OtherTool
from .measured.load import load_named
from .measured.measurements import MAX_TICKS, full_name, parts_of_collective
from .progress import part_of_progress
from .question import (
    EFFORT,
    ENGINE,
    Anything,
    CaseParameter,
    Choice,
    Confidence,
    Count,
    EngineParameters,
    OptionalCount,
    Progress,
    Seed,
    call_of,
    question,
    required,
)
from .simulate import simulate_checked, warn_before_simulation
from .slowdown import given_in_words, part_in_words
from .stats import Estimate, realizations_needed
from .stats.intervals import in_order
from .stats.measured_times import Series, reported_mean, reported_quantile, too_few
from .units import TICKS_PER_SECOND, from_ticks, show_seconds, show_size, warn_of_long
from .unseen_noise import RecordedNoise

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
"""Quantiles that are compared, where there are samples."""
RARE = 0.999
"""One more, where measured and simulated are enough for its interval."""
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
DEFAULT_REALIZATIONS = 2000
COMMON, OWN, OWN_MEAN = "common", "own", "own_mean"
"""Clocks: from when all begin until the last rank has the result; the longest of the ranks' own
times, each since it left a barrier; the mean of these."""
DEFAULT_BARRIER = "dissemination_barrier"
_COLUMN = {COMMON: -1, OWN: -3, OWN_MEAN: -1}  # of the samples: own times are max, min, mean
HIGH, LOW, ALIKE, UNKNOWN = "too long", "too short", "not told apart", "not known"
_MAX_SAMPLES = 10_000_000
MAX_ITERATIONS = 2**48
_NAME = re.compile(r"[A-Za-z\[(]")
_UNIT_OF_NAME = re.compile(r"(?:^|[_\[(])(s|ms|us|ns)[\])]?$")
_ENOUGH = 10  # realizations for each iteration of the table
_ROUNDED = 5e-9  # seconds: OSU and IMB print two digits of a microsecond

Floats = npt.NDArray[np.float64]


class KsDistance(NamedTuple):
    """The largest distance of two distribution functions, with its interval.

    `low` and `high` hold the distance of the true distributions with the confidence that was asked
    for, whatever they are (Dvoretzky, Kiefer, Wolfowitz; Massart 1990, once for each sample).
    `chance`: how probable a distance as large is where both are the same (the p-value of SciPy's
    `ks_2samp`).

    Both are for independent samples. Measured times that depend on each other count as the
    number of independent ones that they are worth (`Agreement.effective_samples`); None and no
    bounds where that is too small.
    """

    value: float
    low: float
    high: float
    chance: float | None


class AgreementRow(NamedTuple):
    """One number, measured and simulated, in seconds.

    Attributes
    ----------
    ranks, bytes : int
    what : str
        "mean", or a quantile such as "p50".
    measured, simulated : Estimate
        A mean or a percentile that a benchmark printed is of the mean over ranks, and so is the
        simulated one. Its interval is that of as many iterations with the distribution of the
        simulated times, from the time without noise on where noise only delays; no bounds where
        their number is not known.
    ratio, ratio_low, ratio_high : float
        Simulated over measured, and the least and the largest of their intervals: 1 is between
        these unless they differ.
    verdict : "too long", "too short", "not told apart" or "not known"
        Of the simulated one: whether the two intervals leave each other out. All rows together are
        wrong with a probability of ``1 - confidence`` at most (Bonferroni), if iterations are
        independent. Not known where the number of a benchmark's iterations is not.
    """

    ranks: int
    bytes: int
    what: str
    measured: Estimate
    simulated: Estimate
    ratio: float
    verdict: str

    @property
    def apart(self) -> bool:
        """Return whether the measured and the simulated value are found to differ."""
        return self.verdict in (HIGH, LOW)

    @property
    def ratio_low(self) -> float:
        """The least ratio of the two intervals; infinite where there is no bound."""
        high = float(self._measured_ends[1])
        return float(self.simulated.low) / high if math.isfinite(high) and high else -math.inf

    @property
    def ratio_high(self) -> float:
        """The largest ratio of the two intervals; infinite where there is no bound."""
        low = float(self._measured_ends[0])
        return float(self.simulated.high) / low if low > 0 else math.inf

    @property
    def _measured_ends(self) -> tuple[Any, Any]:
        one = self.measured  # of unknown iterations: then only the simulated one has an interval
        known = self.verdict != UNKNOWN
        return (one.low, one.high) if known else (one.value, one.value)


def _shown_ratio(row: AgreementRow) -> str:
    # As many digits as say on which side of 1 each of them is.
    ends = row.ratio, row.ratio_low, row.ratio_high
    return show(Estimate(*ends, row.simulated.confidence, row.simulated.realizations), neutral=1)


def _show(estimate: Estimate, unit: str) -> str:
    # A mean of an unknown number of iterations has no interval.
    return show_time(estimate if estimate.realizations else float(estimate.value), unit)


SKIP = Count(
    "how many of the first iterations are left out, such as 1 of warm-up",
    default=0,
    low=0,
    high=MAX_ITERATIONS,
)


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Answer):
    """The answer of `compare_measured`.

    Attributes
    ----------
    case : Case
    rows : tuple of AgreementRow
    distance : KsDistance or None
        None where only a table was measured.
    measured, simulated : float array, shape (n,), or None
        Ascending, seconds.
    confidence : float
    seed : int
    effective_samples : float or None
        How many independent samples the measured times are worth, which may depend on their
        neighbours: the least of all rows. None where only a table was measured.
    remarks : tuple of Note
        What to know of the measured side.
    clock : "common", "own" or "own_mean"
        How long a simulated collective takes: see the parameter.
    library : LibraryRules or None
        Whose choice the algorithm of each row is.
    """

    case: Case
    rows: tuple[AgreementRow, ...]
    distance: KsDistance | None
    measured: Floats | None
    simulated: Floats | None
    confidence: float
    seed: int
    effective_samples: float | None = None
    remarks: tuple[Note, ...] = ()
    clock: str = COMMON
    library: LibraryRules | None = None

    columns = (
        Column("ranks", heading="ranks"),
        Column("bytes", heading="bytes"),
        Column("what", heading="", doc="mean, or a quantile"),
        Column("measured", SECONDS, True, heading="measured", show=_show),
        Column("simulated", SECONDS, True, heading="simulated", show=_show),
        Column("ratio"),
        *(Column(end) for end in ("ratio_low", "ratio_high")),
        Column(
            "shown_ratio",
            heading="ratio",
            value=lambda _, row: _shown_ratio(row),
            csv=False,
            doc="simulated over measured; it holds 1 unless they differ",
        ),
        Column("verdict", heading="simulated is"),
    )
    picture = "answers.draw_agreement"

    def __repr__(self) -> str:
        apart = sum(row.apart for row in self.rows)
        return f"Agreement({apart} of {len(self.rows)} numbers are told apart)"

    @property
    def worst(self) -> AgreementRow:
        """The row that is off by the largest factor, of those that differ for sure if any do."""
        apart = [row for row in self.rows if row.apart] or self.rows
        return max(apart, key=lambda row: abs(math.log(row.ratio)) if row.ratio > 0 else math.inf)

    def title(self) -> str:
        """Say what is compared."""
        what = part_in_words(self.case.algorithm)
        if self.library is not None:
            what = self.library.whose([_chosen(self.library, self.case)])
        return f"{what}, simulated beside measured"

    def facts(self) -> dict[str, Any]:
        """Return what the JSON has beside rows and notes."""
        return {
            "distance": self.distance,
            "effective_samples": self.effective_samples,
            "clock": self.clock,
        }

    def _own_notes(self) -> list[Note]:
        """Say what is off the most, what the intervals are, and what to know of both sides."""
        case, sizes = self.case, dict.fromkeys((row.ranks, row.bytes) for row in self.rows)
        cases = [_case_at(case, self.library, *size) for size in sizes]
        text = notes_of("bad_algorithm", algorithm_cautions(cases), FIRST)
        text += next(filter(None, (one.unseen_changes() for one in cases)), [])
        if self.library is not None:
            text.append(Note("library", _chosen_in_words(self.library, cases)))
        if self.distance is not None:
            d = self.distance
            chance = "how probable by chance is not known"
            if d.chance is not None:
                chance = f"as large by chance with probability {d.chance:.2g} if both were the same"
            told = (
                f"Kolmogorov-Smirnov distance {d.value:.3f} [{d.low:.3f}, {d.high:.3f}]; {chance}"
            )
            text.append(Note("distance", told, PICTURE))
        worst = self.worst
        told = f"the simulated {worst.what} is {worst.ratio:.3g} times the measured one"
        if worst.verdict == UNKNOWN:
            told = f"{told}; how much of it is chance is not known"
        elif not worst.apart:
            told = "nothing is told apart"
        elif len(self.rows) > 1:
            told = f"{told}: nothing differs more"
        intervals = f"{100 * self.confidence:g} % intervals, of all rows together; seed {self.seed}"
        sources = "; ".join(map(part_in_words, case.noise))
        return [
            *text,
            *notes_of("given", given_in_words(case)),
            *notes_of("noise", [f"noise: {sources}"] if sources else []),
            Note("largest_ratio", told, PICTURE),
            Note("intervals", intervals, PICTURE),
            *notes_of("recording", RecordedNoise.of_case(case).in_words()),
            *self.remarks,
        ]


_Measured = str | Path | Sequence[float] | npt.NDArray[np.float64]


@question
class CompareMeasuredQuestion(EngineParameters):
    """The question of `compare_measured`."""

    measured: Anything[_Measured] = required(
        Anything(
            "how long the collective took each time",
            "Numbers, or a text file of them, one in each line, or all in one line (# begins a "
            "comment), in the order in which they were measured; above a column its name may "
            "stand, with a unit at its end: ``time_ms``. Or a file of a benchmark: every iteration "
            "on every rank (Netgauge), of which the latest rank counts; a table of means and "
            "percentiles of the mean over ranks (OSU, IMB), each of whose rows is simulated with "
            "its ranks and bytes.",
            takes="str | Path | Sequence[float] | npt.NDArray[np.float64]",
            option=None,
        )
    )
    case: CaseParameter = required(
        CaseParameter(
            "The time of its last collective counts, by `clock`; with a table, with the ranks "
            "and bytes of rows, as far as they have them. Where ranks have clocks of their own its "
            "`barrier` comes first; without one, a dissemination barrier."
        )
    )
    _: KW_ONLY
    library: Anything[LibraryRules | None] = Anything(
        "whose choice the algorithm of each row of a table is",
        "In place of that of the case, for the ranks and bytes of the row.",
        takes="LibraryRules | None",
        default=None,
        option=None,
        part=ENGINE,
    )
    unit: Choice[str | None] = Choice(
        "of a text file of times: s, ms, us or ns",
        "Benchmarks' files have their own. Without it they are seconds, and a median of 1 s or "
        "more gives a `LongTimeWarning`.",
        default=None,
        usual="s",
        allowed=tuple(UNITS),
    )
    skip: Count = SKIP
    clock: Choice[str | None] = Choice(
        "what a measured time is: common (from when all ranks begin at once until the last has the "
        "result), own (of each rank since it left a barrier, the longest of these) or own_mean "
        "(the mean of these over ranks)",
        "Without it that of the file: own_mean of OSU and IMB; own of times on each rank; common "
        "of plain times and of nccl-tests, which have no barrier.",
        default=None,
        usual="the file's",
        allowed=(COMMON, OWN, OWN_MEAN),
    )
    collective: Anything[str | None] = Anything(
        "which one, such as barrier, where a benchmark printed several",
        "Without it that of the case's algorithm.",
        takes="str | None",
        default=None,
        option=None,
    )
    ranks: OptionalCount = OptionalCount(
        "how many there are; of a benchmark, the rows that count",
        "OSU does not print the ranks: rows without them go with any.",
        low=0,
        high=2**62,
        option=None,
    )
    message_bytes: OptionalCount = OptionalCount(
        "the message size of a benchmark's rows that count", low=0, high=2**62, option=None
    )
    iterations: OptionalCount = OptionalCount(
        "over how many the means of a table are, where its file does not say it",
        "OSU prints it with ``-f``; it is read of ``-i`` in a command as well. Without it nothing "
        "is told apart.",
        low=1,
        high=MAX_ITERATIONS,
    )
    realizations: Count = Count(
        "how many are simulated",
        "As in `simulate`.",
        default=DEFAULT_REALIZATIONS,
        low=2,
        high=MAX_REALIZATIONS,
        part=EFFORT,
    )
    confidence: Confidence = Confidence("of all intervals together, between 0 and 1")
    seed: Seed = Seed("of the draws", "As in `simulate`.", default=0, usual="the study's, or 0")
    progress: Progress = Progress("messages")


def _answer(asked: CompareMeasuredQuestion) -> Agreement:
    """Compare a simulated collective with a measured one.

    Returns
    -------
    Agreement

    Raises
    ------
    ValueError
        An argument out of range; a file that holds no numbers, or several columns of them; ranks
        that the case has not; a choice that the file, or plain numbers of the case, have not;
        other iterations than those in the file; a unit of a benchmark's file; an algorithm of
        another collective than a table's.
    OSError
        The file can not be read.

    Notes
    -----
    Intervals are for independent times. Of times in the order of measurement, their
    autocorrelation tells how many independent ones they are worth, which is noted; times that are
    sorted do not show it. Iterations of a table are taken as independent.

    Examples
    --------
    >>> import jitterfly as jf
    >>> case = jf.Case(64, network=jf.LogGOPS(L="1us", o="200ns"),
    ...                noise=[jf.StepNoise(jf.Exponential("1us"))])
    >>> measured = jf.simulate(case, 500, seed=1).samples[:, 0]
    >>> found = compare_measured(measured, case, realizations=500)
    >>> found.distance.chance > 0.01, {row.verdict for row in found.rows}
    (True, {'not told apart'})
    """
    case, confidence, seed, collective = (
        asked.case, asked.confidence, asked.seed, asked.collective,
    )  # fmt: skip
    if collective is not None and not isinstance(collective, str):
        raise ValueError(f"collective must be a name, got {shorten(collective)}")
    chosen = _Chosen(collective, asked.ranks, asked.message_bytes, asked.iterations)
    content, left_out, usual = _read(asked.measured, asked.unit, case, chosen)
    clock = usual if asked.clock is None else asked.clock
    timed = _timed(case, clock, isinstance(content, CollectiveTable))

    def samples(cases: Sequence[Case]) -> Iterator[Floats]:
        loops, done = [one.loops[-1] for one in cases], 0
        total = asked.realizations * sum(map(messages_of, loops))
        for simulated in loops:
            warn_before_simulation(simulated)
            progress = part_of_progress(asked.progress, done, messages_of(simulated), total)
            result = simulate_checked(simulated, asked.realizations, seed, asked.engine, progress)
            done += asked.realizations * messages_of(simulated)
            yield np.sort(result.samples[:, _COLUMN[clock]])

    on_clock = [*_same_times_notes(asked.measured, case),
                *_remarks_on_clock(timed, clock, given=asked.clock is not None)]  # fmt: skip
    if isinstance(content, CollectiveTable):
        if asked.skip:
            raise FieldError("skip", f" must be 0 for a table, which has means, got {asked.skip}")
        if clock == OWN:
            raise ValueError(
                "clock must be own_mean or common for a table, which has means over ranks; got own"
            )
        rows = _rows_of_table(content, timed, asked.library, clock, samples, confidence)
        remarks = (
            *_remarks_on_table(content, case, rows), *notes_of("left_out", left_out), *on_clock,
        )  # fmt: skip
        return Agreement(case, rows, None, None, None, confidence, seed, None, remarks, clock,
                         asked.library)  # fmt: skip
    series, simulated = Series(without_first(content, asked.skip)), next(samples([timed]))
    levels: tuple[float, ...] = (*LEVELS, RARE)
    if min(series.effective(RARE), len(simulated)) < realizations_needed(
        RARE, _each(confidence, levels)
    ):
        levels = LEVELS
    each = _each(confidence, levels)
    pairs = [("mean", series.mean(each).bounded(0.0), _mean(timed, clock, simulated, each))]
    here = in_order(series.quantile(q, each) for q in levels)
    there = in_order(_quantile(timed, clock, simulated, q, each) for q in levels)
    names = [f"p{100 * q:g}" for q in levels]
    pairs += zip(names, here, there, strict=True)
    rows = tuple(_compared_row(case, *pair) for pair in pairs)
    found = series.ascending
    independent = min(map(series.effective, LEVELS))
    distance = _ks_distance(found, simulated, confidence, independent)
    effective = min(independent, series.effective())
    remarks = (*warm_up_notes(series), *_remarks_on_order(series, effective), *on_clock)
    both = found, simulated
    return Agreement(case, rows, distance, *both, confidence, seed, effective, remarks, clock)


compare_measured = call_of(CompareMeasuredQuestion, _answer, "compare_measured")


def warm_up_notes(series: Series) -> list[Note]:
    """Note, before all else, that the first iterations are unlike the others."""
    first = series.warm_up
    if not first:
        return []
    longest = float(series.samples[:first].max())
    which, them = ("iteration", "it") if first == 1 else (f"{first} iterations", "them")
    text = (
        f"the first {which} took up to {show_seconds(longest, 3)}, "
        f"{longest / np.median(series.ascending):.2g} times the median. Is that warm-up? "
        f"{parameter('skip', first)} leaves {them} out, on which mean and p99.9 can depend"
    )
    return [Note("warm_up", text, FIRST)]


def messages_of(case: Case) -> int:
    """Return how many messages a realization of the loop of all exchanges has, 1 at least."""
    return max(case.loops[-1].rank_rounds(), 1)


def _same_times_notes(measured: _Measured, case: Case) -> list[Note]:
    """Say first where noise was inferred from the file with which it is compared."""
    notes, path = [], Path(measured) if isinstance(measured, (str, Path)) else Path()
    for file, place in (pair for one in case.noise for pair in files_of(one).items()):
        with suppress(FormatError):
            origin = load_named(place, digest_of(place)).source.get("sha256")
            if origin and path.is_file() and digest_of(path) in origin.split(", "):
                text = (f"the noise of {file} is that of {path}, with which it is compared: this "
                        "says nothing of how well it predicts other times")  # fmt: skip
                notes.append(Note("same_times", text, FIRST))
    return notes


def _remarks_on_order(series: Series, effective: float) -> list[Note]:
    """Say whether times are sorted, and how far they depend on each other."""
    count = len(series.ascending)
    if series.is_sorted and series.ascending[0] < series.ascending[-1]:
        text = ("the measured times are sorted, which hides whether they depend on each other: "
                "intervals and probability are for independent ones")  # fmt: skip
        return [Note("sorted", text)]
    if effective == count:
        return []
    depend = f"the {count:,} measured times depend on their neighbours"
    if too_few(effective, count):
        text = "for so long that not all have intervals: measure for longer, or with pauses"
        return [Note("dependent", f"{depend} {text}")]
    text = f"those of fewer independent ones, {math.floor(effective):,} at the least"
    return [Note("dependent", f"{depend}: intervals and probability are {text}")]


def _timed(case: Case, clock: str, mean: bool) -> Case:
    """Return the case that observes the times of a clock; `mean`: over ranks."""
    if clock == COMMON:
        return replace(case, observe="spread") if mean else case
    return replace(case, barrier=case.barrier or DEFAULT_BARRIER, observe="own")


def _remarks_on_clock(case: Case, clock: str, *, given: bool) -> list[Note]:
    """Say which clock was taken, and how else times may be measured."""
    cycles = f"{case.cycles:,} cycles"
    if clock == COMMON and case.cycles > 1:
        text = (f"simulated is the time from the first start to the end of all {cycles}: "
                f"give measured times of that many, or {parameter('cycles', 1)}")  # fmt: skip
        return [Note("cycles", text)]
    if clock == COMMON:
        if case.observe == "spread":
            return [
                Note("clock", "clock: all ranks begin at once; the mean over ranks of their ends")
            ]
        text = "clock: all ranks begin at once, until the last one has the result"
        if not given:
            own = parameter("clock", OWN)
            text += f"; if ranks start clocks of their own behind a barrier, give {own}"
        return [Note("clock", text)]
    assert case.barrier is not None
    whose = "the longest" if clock == OWN else "the mean over ranks"
    which = "" if case.cycles == 1 else f" of the last of {cycles}"
    return [Note(
        "clock",
        f"clock: each rank's own since it left the barrier, {whose} of these{which}; simulated "
        f"with a {case.barrier.kind}",
    )]  # fmt: skip


def _remarks_on_table(
    table: CollectiveTable, case: Case, rows: tuple[AgreementRow, ...]
) -> list[Note]:
    """Say what the numbers of a table leave open: iterations, rare noise, rows left out."""
    remarks: list[Note] = []

    def add(code: str, text: str) -> None:
        remarks.append(Note(code, text))

    kind, collective = case.algorithm.kind, full_name(table.operation)
    if not is_kind_of(kind, collective):
        add("other_collective", f"the measured collective is {collective}, which {kind} is not")
    if table.iterations is None:
        add(
            "no_iterations",
            "the file does not say over how many iterations it has means, so that nothing is told "
            f"apart: give {parameter('iterations')}, or print them (-f of OSU)",
        )
    means = [row for row in rows if row.what == "mean"]
    # In each row of the table iterations may be the first to meet the noise.
    enough = _ENOUGH * sum(row.measured.realizations for row in means)
    unmet = any(row.verdict == LOW and row.simulated.realizations < enough for row in means)
    if unmet and any(case.random_sources):
        more = f"{parameter('realizations', enough)} tell more"
        if enough > MAX_REALIZATIONS:
            more = f"compare fewer rows ({parameter('message_bytes')}), and take more realizations"
        add(
            "rare_noise",
            "too short: so many iterations may have met rare noise that no realization did; "
            + more,
        )
    if any(row.verdict != UNKNOWN and row.measured.too_small for row in rows):
        add("few_realizations", "more realizations give bounds (?) of more measured numbers")
    if not _sends(table).all():
        text = f"rows of 0 bytes are left out: without data, {collective} sends nothing"
        add("no_bytes", text)
    add("means_over_ranks", "measured and simulated are means over ranks")
    return remarks


def _chosen(library: LibraryRules, case: Case) -> LibraryChoice:
    """The choice of a library for a case."""
    switches = allows_switches(case.noise)
    return library.choice(case.ranks, case.network, case.message_bytes, switches=switches)


def _chosen_in_words(library: LibraryRules, cases: Sequence[Case]) -> str:
    """Say what a library runs in which rows, and what is otherwise than there."""
    rows: dict[str, list[str]] = {}
    for one in cases:
        found = _chosen(library, one)
        differs = f" ({found.differs})" if found.differs else ""
        rows.setdefault(f"{found.algorithm.kind}{differs}", []).append(show_size(one.message_bytes))
    words = [f"{text} for {', '.join(dict.fromkeys(sizes))}" for text, sizes in rows.items()]
    return f"{library.title} runs {'; '.join(words)}"


def _case_at(case: Case, library: LibraryRules | None, ranks: int, size: int) -> Case:
    """The case with the ranks and bytes of a row; with the library's algorithm for these."""
    switches = allows_switches(case.noise)
    algorithm = algorithm_for(
        library or case.algorithm, ranks, case.network, size, switches=switches
    )
    return replace(case, ranks=ranks, message_bytes=size, algorithm=algorithm)


def _rows_of_table(
    table: CollectiveTable,
    case: Case,
    library: LibraryRules | None,
    clock: str,
    samples: Callable[[Sequence[Case]], Iterator[Floats]],
    confidence: float,
) -> tuple[AgreementRow, ...]:
    """Compare each mean and quantile of a table with the simulated one."""
    columns = [name for name in ("mean", "p50", "p90", "p99") if getattr(table, name) is not None]
    compared = np.flatnonzero(_sends(table)).tolist()
    intervals = len(columns) * len(compared) * (1 if table.iterations is None else 2)
    each = 1 - (1 - confidence) / intervals
    cases, rows = [], []
    for i in compared:
        ranks, size = int(table.ranks[i]), int(table.bytes[i])
        # OSU does not print the number of ranks: then it is the case's.
        bytes_ = max(size, case.network.smallest_message)
        cases.append(_case_at(case, library, ranks or case.ranks, bytes_))
    for i, one, simulated in zip(compared, cases, samples(cases), strict=True):
        least = _least(one)
        for name in columns:
            estimate = (
                _mean(one, clock, simulated, each)
                if name == "mean"
                else _quantile(one, clock, simulated, int(name[1:]) / 100, each)
            )
            measured = _reported(table, name, i, simulated, each, any(one.random_sources))
            # A machine that is quicker than the model does not keep its bound.
            measured = measured.bounded(least if measured.value >= least else 0.0)
            rows.append(_compared_row(one, name, measured, estimate))
    return tuple(rows)


def _sends(table: CollectiveTable) -> npt.NDArray[np.bool_]:
    """Return for each row whether the collective sends messages: of 0 bytes only a barrier does."""
    return np.asarray((table.bytes > 0) | (full_name(table.operation) == "barrier"))


def _reported(
    table: CollectiveTable, name: str, row: int, simulated: Floats, confidence: float, noisy: bool
) -> Estimate:
    """A number that a benchmark printed, with the interval that its number of iterations gives."""
    value = float(getattr(table, name)[row])
    if table.iterations is None:
        return Estimate(value, -math.inf, math.inf, confidence, 0)
    count = int(table.iterations[row])
    if count < 1:
        return Estimate(value, -math.inf, math.inf, confidence, count)
    if not noisy:  # iterations that are like the simulated ones are all the same
        found = Estimate(value, value, value, confidence, count)
    elif name == "mean":
        found = reported_mean(value, count, simulated, confidence)
    else:
        found = reported_quantile(value, count, int(name[1:]) / 100, simulated, confidence)
    return replace(found, low=found.low - _ROUNDED, high=found.high + _ROUNDED)


def _each(confidence: float, levels: Sequence[float]) -> float:
    """Return the confidence of one interval of each side of each row, so that all hold together."""
    return 1 - (1 - confidence) / (2 * (1 + len(levels)))


def _mean(case: Case, clock: str, simulated: Floats, confidence: float) -> Estimate:
    """The mean of what was simulated, which is exact where nothing is drawn."""
    noisy = any(case.random_sources)
    found = stats.mean(simulated, confidence, noisy=noisy, lower_bound=_least(case))
    return _allow_for_recordings(case, clock, found, None)


def _quantile(
    case: Case, clock: str, simulated: Floats, share: float, confidence: float
) -> Estimate:
    """Return a quantile of what was simulated."""
    return _allow_for_recordings(case, clock, stats.quantile(simulated, share, confidence), share)


def _allow_for_recordings(
    case: Case, clock: str, simulated: Estimate, share: float | None
) -> Estimate:
    """Widen a simulated number by what another recording of the noise may give."""
    noise_free = float(from_ticks(case.noise_free_observations()[_COLUMN[clock]]))
    return RecordedNoise.of_case(case).allow(simulated, noise_free, share).bounded(_least(case))


def _least(case: Case) -> float:
    """Return the time that no simulated time lies below, in seconds."""
    if not case.noise_only_delays():
        return 0.0
    return float(from_ticks(case.loops[-1].noise_free_observations()[-1]))


def _compared_row(case: Case, what: str, measured: Estimate, simulated: Estimate) -> AgreementRow:
    """Return a row with its verdict: the sides differ if their intervals do not overlap."""
    verdict = ALIKE if measured.realizations else UNKNOWN
    if simulated.low > measured.high:
        verdict = HIGH
    elif simulated.high < measured.low:
        verdict = LOW
    ratio = float(simulated.value) / float(measured.value) if measured.value else math.inf
    return AgreementRow(case.ranks, case.message_bytes, what, measured, simulated, ratio, verdict)


def _ks_distance(
    measured: Floats, simulated: Floats, confidence: float, independent: float
) -> KsDistance:
    """Return the KS distance with its p-value, as of `independent` measured times."""
    from scipy.stats import ks_2samp, kstwo  # which take longer to load than all of this package

    found = ks_2samp(measured, simulated)
    value = float(found.statistic)
    if too_few(independent, len(measured)):
        return KsDistance(value, 0.0, 1.0, None)
    counts = (independent, float(len(simulated)))
    chance = float(found.pvalue)
    if independent < len(measured):  # as `ks_2samp` of large samples
        chance = float(kstwo.sf(value, max(round(math.prod(counts) / sum(counts)), 1)))
    off = sum(math.sqrt(math.log(4 / (1 - confidence)) / (2 * count)) for count in counts)
    return KsDistance(value, max(value - off, 0.0), min(value + off, 1.0), chance)


class _Chosen(NamedTuple):
    """The part of a benchmark's file that is compared; None is all."""

    collective: str | None
    ranks: int | None
    bytes: int | None
    iterations: int | None


def without_first(times: Floats, skip: int) -> Floats:
    """Return the times without the first ones; raise ValueError if none is left."""
    if skip >= len(times):
        raise FieldError("skip", f" must be below the {len(times):,} iterations, got {skip}")
    return times[skip:]


def read_times(
    measured: _Measured, unit: str | None, case: Case, skip: int = 0, name: str = "measured"
) -> Floats:
    """Read the times of a case's collective, one for each iteration, in the order of measurement.

    `skip` of them are left out. `name` is that of the argument, for errors.

    Raises
    ------
    ValueError
        As `compare_measured`; a benchmark's table, which has no times of iterations.
    """
    chosen = _Chosen(None, case.ranks, case.message_bytes, None)
    content, _, _ = _read(measured, unit, case, chosen, name)
    if isinstance(content, CollectiveTable):
        raise ValueError(
            f"{measured} is a table of means: the time of every iteration is needed, in a text "
            "file with one in each line, or as ReproMPI or PICO write it. "
            "`jitterfly compare-measured` takes a table of means; "
            "`jitterfly fit FILE@RANKS FILE@RANKS ...` takes tables of several numbers of ranks"
        )
    return without_first(content, skip)


def largest_ranks_in(path: Path) -> int | None:
    """Return the largest number of ranks in the tables of a benchmark's file; None without any."""
    if not path.is_file():  # a pipe can be read only once
        return None
    try:
        parts = load(path).parts
    except FormatError:
        return None
    tables = [part for part in parts if isinstance(part, CollectiveTable)]
    return max((int(table.ranks.max()) for table in tables), default=0) or None


def _read(
    measured: str | Path | Sequence[float] | Floats,
    unit: str | None,
    case: Case,
    chosen: _Chosen,
    name: str = "measured",
) -> tuple[Floats | CollectiveTable, tuple[str, ...], str]:
    """Samples in seconds, or the table of a benchmark; notes on rows left out; and the clock."""
    if not isinstance(measured, (str, Path)):
        if chosen.iterations is not None:
            raise ValueError(
                "iterations are of a benchmark's table of means, but measured is times"
            )
        _check_plain(case, chosen)
        return _check_samples(measured, unit, name), (), COMMON
    path = Path(measured)
    parts: Sequence[Any] = ()
    left_out: tuple[str, ...] = ()
    problem: FormatError | None = None
    try:
        found = load(path)
        parts = found.parts
        left_out = tuple(note for note in found.notes if note.startswith("left out"))
    except OtherTool:
        raise
    except FormatError as error:
        problem = error
    tables = [part for part in parts if isinstance(part, CollectiveTable)]
    samples = [part for part in parts if isinstance(part, PerRankSamples)]
    if unit is not None and (tables or samples):
        raise ValueError(f"unit must be left out: the times in {path} have their own")
    if tables and found.format == "reprompi":
        raise ValueError(
            f"{path} has means of the slowest rank, which cannot be compared: give the times of "
            "all repetitions, which ReproMPI writes into its output file"
        )
    if tables:
        table = _part_of(tables, case, chosen, path)
        _check_collective(table.operation, case, path)
        # Those of other benchmarks follow each other without a barrier.
        clock = OWN_MEAN if found.format in ("osu", "imb") else COMMON
        return _chosen_rows(table, chosen, path), left_out, clock
    if chosen.iterations is not None:
        raise ValueError(f"iterations are of a table of means, which {path} is not: it has times")
    if samples:
        synchronized = "global" in found.source.get("clock", "")  # of ReproMPI
        usual = COMMON if synchronized else OWN
        return _chosen_samples(samples, case, chosen, path), (), usual
    if parts and not _may_be_times(path, found.format):
        raise ValueError(f"{path} has {parts[0].words}, and no times of a collective")
    numbers, text = _numbers(path, problem)
    if unit is not None and text not in (None, unit):
        raise ValueError(f"unit must be {text}, as the first line of {path} says, got {unit}")
    _check_plain(case, chosen)
    return _check_samples(numbers, unit or text, str(path)), (), COMMON


def _may_be_times(path: Path, format: str) -> bool:
    """Return whether a file that reads as a measurement of noise may be plain times as well."""
    text = read_text(path)
    return text.lstrip()[:1].isdigit() or (format in PLAIN and not noisefile.recognise(text))


def _numbers(path: Path, problem: FormatError | None) -> tuple[list[float], str | None]:
    """Read a text file with a number in each line, or all in one; and the unit of a head, if any.

    A head is a first line of names: words that begin with a letter.
    """
    text = read_text(path)
    lines = [line.partition("#")[0].replace(",", " ").split() for line in text.splitlines()]
    rows = {number: words for number, words in enumerate(lines, 1) if words}
    number, first = next(iter(rows.items()), (0, []))
    unit = None
    if len(rows) > 1 and all(_NAME.match(word) and not reads_as_number(word) for word in first):
        del rows[number]
        found = _UNIT_OF_NAME.search(first[-1])
        unit = found and found[1]
    wrong = [(number, word) for number, words in rows.items() for word in words
             if not reads_as_number(word)]  # fmt: skip
    if wrong:
        if problem is not None and problem.line is not None:
            raise problem
        number, word = wrong[0]
        raise ValueError(
            f"{path} must hold numbers, or what a benchmark of collectives printed; line {number} "
            f"has {shorten(word)}"
        )
    numbers = [float(word) for words in rows.values() for word in words]
    most = max(map(len, rows.values()), default=0)
    if len(rows) > 1 and most > 1:
        raise ValueError(
            f"{path} has {most} columns of numbers, and not all of them need be times: give a file "
            'with one time in each line (`awk \'{gsub(",", " "); print $2}\'` takes a column), '
            "or all times in one line"
        )
    return numbers, unit


def _check_plain(case: Case, chosen: _Chosen) -> None:
    """Raise ValueError for plain times of something else than the case; they do not say of what."""
    if chosen.collective is not None and not _is_of(case, chosen.collective):
        raise ValueError(
            f"collective must be that of {case.algorithm.kind} for plain times, got "
            f"{shorten(chosen.collective)}"
        )
    for name, value, own in (
        ("ranks", chosen.ranks, case.ranks),
        ("message_bytes", chosen.bytes, case.message_bytes),
    ):
        if value not in (None, own):
            raise ValueError(f"{name} must be the case's {own} for plain times, got {value}")


def _is_of(case: Case, collective: str) -> bool:
    return is_kind_of(case.algorithm.kind, full_name(collective))


def _check_collective(operation: str, case: Case, path: Path) -> None:
    """Raise ValueError where the case has an algorithm of another collective than was measured.

    A collective with counts, which benchmarks give equal ones, is also compared with the one
    without.
    """
    name = full_name(operation)
    equal = name in IRREGULAR and _is_of(case, name.removesuffix("v"))
    known = any(_is_of(case, one) for one in COLLECTIVES) and not equal
    kinds = [kind for kind in Algorithm.kinds() if is_kind_of(kind, name)]
    if known and kinds and case.algorithm.kind not in kinds:
        raise ValueError(
            f"algorithm must be one of {name}, which {path} is of, such as "
            f"{kinds[0]}, got {case.algorithm.kind}"
        )


def _part_of(
    tables: list[CollectiveTable], case: Case, chosen: _Chosen, path: Path
) -> CollectiveTable:
    """The table of the collective: as chosen, or the case's."""
    if chosen.collective is None and len(tables) > 1:
        own = [table for table in tables if _is_of(case, table.operation)]
        tables = own or tables
    return parts_of_collective(tables, chosen.collective, str(path))[0]


def _chosen_rows(table: CollectiveTable, chosen: _Chosen, path: Path) -> CollectiveTable:
    """Return the rows with the chosen ranks and bytes; ValueError if none is left."""
    keep = np.ones(len(table.mean), dtype=bool)
    if chosen.ranks is not None:
        keep &= (table.ranks == chosen.ranks) | (table.ranks == 0)
    if chosen.bytes is not None:
        keep &= table.bytes == chosen.bytes
    if not keep.any():
        rows = dict.fromkeys(zip(table.ranks.tolist(), table.bytes.tolist(), strict=True))
        raise _no_such(path, chosen, list(rows))
    if not (keep & _sends(table)).any():
        what = "has rows of 0 bytes alone" if chosen.bytes is None else "is asked for 0 bytes"
        raise ValueError(
            f"{path} {what}: without data, {full_name(table.operation)} sends nothing; choose "
            "another collective or message_bytes"
        )
    fields = ("ranks", "bytes", "mean", "p50", "p90", "p99", "iterations")
    columns: dict[str, Any] = {name: getattr(table, name) for name in fields}
    chosen_columns: dict[str, Any] = {k: None if v is None else v[keep] for k, v in columns.items()}
    if chosen.ranks is not None:
        chosen_columns["ranks"] = np.full(int(keep.sum()), chosen.ranks)
    if chosen.iterations is not None:
        own = chosen_columns["iterations"]
        if own is not None and (own != chosen.iterations).any():
            raise ValueError(
                f"iterations must be those in {path}, {', '.join(map(str, dict.fromkeys(own)))}, "
                f"got {chosen.iterations}"
            )
        chosen_columns["iterations"] = np.full(int(keep.sum()), chosen.iterations)
    return CollectiveTable(table.operation, **chosen_columns)


def _chosen_samples(
    samples: list[PerRankSamples], case: Case, chosen: _Chosen, path: Path
) -> Floats:
    """Return the time of the slowest rank in each iteration of the part that was chosen."""
    samples = parts_of_collective(samples, chosen.collective, str(path))
    there = [(part.ranks, part.bytes) for part in samples]
    samples = [
        part
        for part in samples
        if chosen.ranks in (None, part.ranks) and chosen.bytes in (None, part.bytes)
    ]
    if not samples:
        raise _no_such(path, chosen, there)
    if len(samples) > 1:
        raise ValueError(
            f"{path} has samples of {_in_words(there)}: choose with {parameter('ranks')} and "
            f"{parameter('message_bytes')}"
        )
    if samples[0].ranks != case.ranks:
        raise ValueError(f"ranks must be {samples[0].ranks}, as in {path}, got {case.ranks}")
    return np.asarray(samples[0].times.max(axis=1), dtype=np.float64)


_SHOWN_SIZES = 8  # of a file, in an error


def _no_such(path: Path, chosen: _Chosen, there: list[tuple[int, int]]) -> ValueError:
    wanted = "" if chosen.ranks is None else f" {chosen.ranks:,} ranks"
    wanted += "" if chosen.bytes is None else f" {chosen.bytes:,} bytes"
    return ValueError(f"{path} has nothing of{wanted}, but of {_in_words(there)}")


def _in_words(there: list[tuple[int, int]]) -> str:
    """Bytes for each number of ranks; 0 ranks where the file does not say them."""
    sizes: dict[int, list[str]] = {}
    for ranks, size in there[:_SHOWN_SIZES]:
        sizes.setdefault(ranks, []).append(f"{size:,}")
    words = [
        f"{f'{ranks:,} ranks ' if ranks else ''}{', '.join(own)} bytes"
        for ranks, own in sizes.items()
    ]
    return "; ".join(words) + ("; ..." if len(there) > _SHOWN_SIZES else "")


def _check_samples(values: Sequence[float] | Floats, unit: str | None, name: str) -> Floats:
    """Check 2 or more measured times in a unit, and return them in seconds."""
    rule = f"{name} must be 2 or more times from 0, in {unit or 's'}"
    raw = check_numbers(values, rule).astype(np.float64) * UNITS[unit or "s"]
    if not raw.size:
        raise ValueError(f"{name} has no times: it is empty")
    if raw.ndim != 1 or not 2 <= raw.size <= _MAX_SAMPLES:
        raise ValueError(f"{rule}, got {shorten(values)}")
    wrong = ~((raw >= 0) & (raw <= MAX_TICKS / TICKS_PER_SECOND))  # NaN is neither
    if wrong.any():
        first = int(np.argmax(wrong))
        most = f", at most {show_seconds(MAX_TICKS / TICKS_PER_SECOND)}" * (not raw[first] < 0)
        raise ValueError(f"{rule}{most}, got {values[first]:g} as time {first + 1:,}")
    if unit is None:
        way = "give the unit, such as us, or s if that is meant"
        warn_of_long(float(np.median(raw)), f"the median of {name}", way)
    return raw
