"""`noise_limit`: largest noise allowed by a slowdown limit: longest duration or shortest period.

The question of `slowdown` the other way round: one field of a periodic noise is not known, and the
largest noise is looked for that keeps the slowdown, that of the mean or of a quantile, at a limit.
All values are tried with the same realizations (one seed), so it hardly jitters from one value to
the next, and its root is found with few of them. The interval inverts that of the slowdown: its
ends are the values at which the limit lies at an end of the interval of the same realizations.

Beside rare long noise that so few realizations hardly meet, the mean may lack what that adds
(`expected_hits`). The end of the interval towards less noise allows for it: there, the limit is
kept whatever the mean lacks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from .algorithms.library_choice import LibraryRules
from .answer import PICTURE, SECONDS, SHARE, Answer, Column, Note, notes_of, show, show_time
from .case import Case
from .collect import STOPPED, Report, collect
from .fields import (
    FieldError,
    Real,
    as_float,
    counted,
    is_number,
    naming_fields,
    parameter,
    shorten,
)
from .noise import Noise, PeriodicNoise
from .noise.source import check_sources
from .question import NoiseParameter, Parameter, Ranks, StatisticName, call_of, question, required
from .simulate import Result, simulate_checked
from .slowdown import (
    NOISE,
    QUESTION_COLUMNS,
    RANKS,
    CollectiveQuestion,
    algorithm_in_words,
    allow_for_recordings,
    caution_notes,
    library_fact,
    no_hosts_notes,
    over_noise_free,
    part_in_words,
    ranks_in_words,
    repetition,
    row_of,
    start_notes,
    steady_notes,
    unmet_notes,
    unmet_of,
)
from .stats import Estimate, quantile, realizations_needed
from .syntax import read_noise, read_noise_texts, read_number, share_of_completion
from .units import TICKS_PER_SECOND, parse_seconds, show_seconds, show_size
from .unseen_noise import RecordedNoise, SourceHits, undersampling_bound

AT_MOST, NEVER, ALWAYS = "at most", "never", "always"
UNKNOWN = {"duration": "max", "period": "min"}
"""The fields that can be looked for, and the word that stands for each."""
MAX_SHARE = 0.9  # of the CPU's time that noise takes: more is not tried
_MIN_SHARE = 1e-9
_LONGEST_PERIOD = 1e5  # seconds
_LONGEST_STEP = 3.0  # of ln p: no first step is longer
_MAX_EVALUATIONS = 100
_TOLERANCE = 1e-3  # relative, of the value that is found
_MIN_RATIO = 1e-3  # a slowdown below it is as far below any limit
_STEEP = 1.5  # times, from one end of the interval to the other, and faster than the noise
_DEFAULT_TRIES = 25  # values that it takes, about


def _value_or_words(value: Estimate | str, unit: str) -> str:
    return value if isinstance(value, str) else show_time(value, unit, digits=3)


class NoiseLimitRow(NamedTuple):
    """The noise that keeps the slowdown at the limit on this many ranks.

    `state` is "at most" (there is a `value`, seconds, with its interval), "always" (the noise may
    take `MAX_SHARE` of the CPU and more) or "never" (the limit is not kept with hardly any).
    `value` or an end of it is NaN where the realizations do not tell it. `share` is that of the
    CPU's time which the noise takes with that value. `may_lack` is how much the mean completion
    with the value, if it is the mean's, may lack, seconds, since too few hits of other noise are
    expected; the interval's end towards less noise allows for it. `exceeded` is whether that end is
    not known since the other noise alone may exceed the limit. `steep` has the slowdown at the ends
    of the interval, less noise first, where they are far apart; else None.
    """

    ranks: int
    noise_free: float
    state: str
    value: Estimate
    share: float
    may_lack: float = 0.0
    exceeded: bool = False
    steep: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False, repr=False)
class NoiseLimitTable(Answer):
    """The answer of `noise_limit`.

    Attributes
    ----------
    case : Case
        Of the most ranks. What is not known of its noise is a placeholder.
    noise : str
        The noise with what is not known, in words.
    field : str
        "duration", whose largest value was looked for, or "period", whose smallest.
    at_most : float
        The limit of the slowdown.
    rows : tuple of NoiseLimitRow
        By ascending ranks.
    realizations, seed : int
        Realizations of each value that was tried.
    confidence : float
    stopped : bool
        Whether Ctrl-C ended it: the rows are those of the numbers of ranks that were finished.
    unmet : tuple of (int, SourceHits)
        Numbers of ranks, and the sources of which too few hits are expected there for the mean.
    library : LibraryRules or None
        Whose choice the algorithm is, where it was asked for: it may differ between rows.
    statistic : str
        Of the completion, over that without noise, whose slowdown is at the limit.
    """

    case: Case
    noise: str
    field: str
    at_most: float
    rows: tuple[NoiseLimitRow, ...]
    realizations: int
    seed: int
    confidence: float
    stopped: bool = False
    unmet: tuple[tuple[int, SourceHits], ...] = ()
    library: LibraryRules | None = None
    statistic: str = "mean"

    columns = (
        Column("ranks", heading="ranks"),
        Column("noise_free", SECONDS, heading="without noise", doc="completion without noise"),
        Column("state", doc="at most, always or never"),
        Column("field", value=lambda answer, _: answer.field, doc="what was looked for"),
        Column("value", SECONDS, True, doc="the longest duration, or the shortest period"),
        Column("value_or_state", SECONDS, True, csv=False, show=_value_or_words,
               value=lambda answer, row: answer.value_or_words(row),
               heading=lambda answer: answer.column),
        Column("share", SHARE, heading="of the CPU", doc="of the CPU's time with that value"),
        Column("may_lack", csv=False),
        Column("exceeded", csv=False),
        Column("steep", csv=False),
        Column("at_most", value=lambda answer, _: answer.at_most, doc="the limit"),
        Column("realizations", value=lambda answer, _: answer.realizations),
        Column("confidence", value=lambda answer, _: answer.confidence),
        Column("seed", value=lambda answer, _: answer.seed),
        *QUESTION_COLUMNS,
        Column("statistic", value=lambda answer, _: answer.statistic, doc="whose limit it is"),
    )  # fmt: skip
    picture = "answers.draw_limits"

    def __repr__(self) -> str:
        row, count = self.rows[-1], counted(len(self.rows), "row")
        return f"NoiseLimitTable({count}; {self.cell(row)} on {row.ranks:,} ranks)"

    def title(self) -> str:
        """Return the question that was asked."""
        size, repeated = show_size(self.case.message_bytes), repetition(self.case)
        return (
            f"{algorithm_in_words(self)}, {size}{repeated}, slowed down ({self.statistic}) by "
            f"{self.at_most:g} at most, under noise: {self.noise}"
        )

    def noise_in_words(self) -> str:
        """Return the noise with what is not known."""
        return self.noise

    def facts(self) -> dict[str, Any]:
        """Return what the JSON has beside rows and notes."""
        return {"stopped": self.stopped, **library_fact(self)}

    @property
    def drawn(self) -> tuple[NoiseLimitRow, ...]:
        """The rows with a value."""
        return tuple(row for row in self.rows if math.isfinite(float(row.value.value)))

    @property
    def column(self) -> str:
        """The name of what was looked for."""
        return "duration at most" if self.field == "duration" else "period at least"

    def cell(self, row: NoiseLimitRow) -> str:
        """The value of a row in words."""
        found = self.value_or_words(row)
        return found if isinstance(found, str) else show(found, SECONDS, digits=3)

    def value_or_words(self, row: NoiseLimitRow) -> Estimate | str:
        """The value of a row, or why it has none."""
        if row.state == ALWAYS:
            return f"any, to {100 * MAX_SHARE:g} % of the CPU"
        return "none keeps it" if row.state == NEVER else row.value

    def _own_notes(self) -> list[Note]:
        """Say what the numbers are, and how sure they are."""
        case = self.case
        text = [
            *caution_notes(self),
            Note(
                "realizations",
                f"{self.realizations:,} realizations for each value that was tried, seed "
                f"{self.seed}; {100 * self.confidence:g} % intervals of the Monte Carlo error",
                PICTURE,
            ),
            *(self._steady_notes() or self._one_cycle_notes()),
            *start_notes(case.noise, case.cycles, case.compute_time),
            *notes_of("doubt", case.doubts()),
            *no_hosts_notes(case.noise, [case.ranks]),
        ]
        names = [part_in_words(noise) for noise in case.noise]
        names[0] = self.noise.split("; ", 1)[0]  # what is looked for, with its question mark
        text += unmet_notes(
            self.unmet,
            names,
            self.realizations,
            f", which the {'lower' if self.field == 'duration' else 'upper'} end of the interval "
            "allows for",
        )
        exceeded = [row.ranks for row in self.rows if row.exceeded]
        if exceeded:
            text.append(Note(
                "others_may_exceed",
                f"?: on {ranks_in_words(exceeded)} the other noise alone may exceed the limit, "
                f"with hardly any of the {self.field} that is looked for; take more "
                "realizations, or give a higher limit",
            ))  # fmt: skip
        never = [row.ranks for row in self.rows if row.state == NEVER]
        if never and len(self.case.noise) > 1:
            text.append(Note(
                "others_exceed",
                f"none keeps it: on {ranks_in_words(never)} the other noise alone exceeds the "
                "limit; give a higher limit, or less of the other noise; what this noise costs on "
                "top of it, a study with two variants tells, with this noise and without it: "
                "`jitterfly compare DIR:without DIR:with`",
            ))  # fmt: skip
        text += self._steep_notes()
        if any(row.state == AT_MOST and self._has_unknown_end(row) for row in self.rows):
            told = "?: too few realizations are delayed there to tell; take more"
            text.append(Note("few_events", told))
        if self.stopped:
            text.append(Note("stopped", "stopped: more ranks were asked for"))
        return text

    def _steep_notes(self) -> list[Note]:
        """Say where the slowdown at the ends of the interval is far below and above the limit."""
        found = [row for row in self.rows if row.steep is not None]
        if not found:
            return []
        below, above = found[0].steep or (0.0, 0.0)
        safe = "lower" if self.field == "duration" else "upper"
        text = (
            f"on {ranks_in_words([row.ranks for row in found])} {self.statistic} rises steeply "
            f"there: on {found[0].ranks:,} from {below:.3g} to {above:.3g} times within the "
            f"interval; by that its {safe} end keeps the limit; more realizations make it shorter"
        )
        return [Note("steep", text)]

    def _has_unknown_end(self, row: NoiseLimitRow) -> bool:
        """Return whether an end is unknown, but not because other noise may exceed the limit."""
        safe, unsafe = row.value.high, row.value.low
        if self.field == "period":
            safe, unsafe = unsafe, safe
        others = [] if row.exceeded else [row.value.value, unsafe]
        return any(map(np.isnan, [safe, *others]))

    def _steady_notes(self) -> list[Note]:
        """Say where the longest noise that was found is long beside what was simulated."""
        if not self.drawn:
            return []
        longest = max(self.drawn, key=lambda row: row.share)
        looked_for = next(one for one in self.case.noise if isinstance(one, PeriodicNoise))
        limit: dict[str, Any] = {self.field: f"{longest.value.value!r}s"}
        found = replace(looked_for, **limit)
        others = [one for one in self.case.noise if one is not looked_for]
        case = self.case
        return steady_notes([found, *others], case.cycles, case.compute_time, longest.noise_free)

    def _one_cycle_notes(self) -> list[Note]:
        """Say what the time of one collective is, where more than one rank takes part."""
        if self.case.cycles > 1 or not any(row.ranks > 1 for row in self.drawn):
            return []
        text = (
            "one collective, until its last rank is done: a loop may allow more, since a rank that "
            "is a little late can make up for it while it waits for messages; take more "
            f"{parameter('cycles')} to see"
        )
        return [Note("one_cycle", text)]


class LookedFor(NamedTuple):
    """A noise of which one field is not known, by the share of the CPU's time that it takes."""

    table: dict[str, Any]
    field: str
    known: float  # seconds: the other one of duration and period

    def value(self, share: float) -> float:
        """Seconds, of the field."""
        return self.known * share if self.field == "duration" else self.known / share

    def noise(self, share: float) -> Noise:
        """Return the noise that takes this share of the CPU, with the other field as given."""
        # With a unit: the user gave no number that a unit could be missing from.
        return Noise.from_dict({**self.table, self.field: f"{self.value(share)!r}s"}, "noise")

    @property
    def least_share(self) -> float:
        """Hardly any noise: no time is below some ticks, and none beyond days."""
        if self.field == "duration":
            return max(_MIN_SHARE, 4 / TICKS_PER_SECOND / self.known)
        return max(_MIN_SHARE, self.known / _LONGEST_PERIOD)

    @property
    def words(self) -> str:
        shown = f"{self.field} = {show_seconds(self.value(0.5))}"
        return part_in_words(self.noise(0.5)).replace(shown, f"{self.field} = ?")


def has_unknown(noise: Any) -> bool:
    """Return whether a noise, as text or as a table, has a field that is to be found."""
    table = read_noise(noise, "noise") if isinstance(noise, str) else noise
    return isinstance(table, dict) and any(
        table.get(field) == word for field, word in UNKNOWN.items()
    )


NoiseOrTable = str | dict[str, Any] | Noise


class NoiseOrUnknown(Parameter[NoiseOrTable | Sequence[NoiseOrTable], tuple[Any, ...]]):
    """The sources of noise, as tables or objects; a field of one is to be found."""

    takes = "str | dict | Sequence[str | dict | Noise]"
    metavar = NoiseParameter.metavar
    argument = NoiseParameter.argument

    def read(self, value: Any, name: str) -> tuple[Any, ...]:
        sources = [value] if isinstance(value, (str, dict)) else value
        if not isinstance(sources, (list, tuple)):
            raise ValueError(f"{name} must be text, or a list of sources, got {shorten(value)}")
        return tuple(read_noise(one, name) for one in sources)

    def from_text(self, text: list[str], name: str, given: Mapping[str, Any]) -> Any:
        return read_noise_texts(text, name)


class AtMost(Parameter[Real, float]):
    """A limit above 1."""

    takes = "float"
    metavar = "X"

    def read(self, value: Any, name: str) -> float:
        if not is_number(value) or not 1 < as_float(value) < math.inf:
            raise ValueError(f"{name} must be a number above 1, got {shorten(value)}")
        return float(value)

    def from_text(self, text: str, name: str, given: Mapping[str, Any]) -> float:
        limit = read_number(text, name)
        if limit <= 1:
            meant = f" ({100 * limit:g} % slower is {1 + limit:g})" if 0 < limit < 1 else ""
            raise ValueError(f"{name} must be above 1, got {limit:g}{meant}")
        return limit


@question
class NoiseLimitQuestion(CollectiveQuestion):
    """The question of `noise_limit`; its `cases` are made, and checked, when it is."""

    noise: NoiseOrUnknown = required(
        NoiseOrUnknown(
            NOISE,
            "One of them is periodic noise with ``duration=max`` (how long may it last?) or "
            '``period=min`` (how often may it come?), such as ``"period=10ms,duration=max"``. The '
            "others are there beside it.",
        )
    )
    ranks: Ranks = required(Ranks(RANKS))
    _: KW_ONLY
    at_most: AtMost = required(
        AtMost(
            "the slowdown up to which noise with duration=max or period=min is looked for",
            "Above 1: `statistic` of the completion over the time without noise. The realizations "
            "are those of each value that is tried, about 25.",
        )
    )
    statistic: StatisticName = StatisticName(
        "whose slowdown at_most limits: mean, or a quantile such as p50 or p99.9",
        "It is that of the completion of the last rank.",
        default="mean",
    )

    def __post_init__(self) -> None:
        self.take_named_algorithm(self.ranks)
        self.cases  # noqa: B018
        share = share_of_completion(self.statistic)
        least = 2 if share is None else realizations_needed(share, self.confidence)
        if self.realizations < least:
            rule = f"an integer from {least:,} here, so that the interval of {self.statistic} has"
            raise FieldError("realizations", f" must be {rule} two ends, got {self.realizations}")

    @cached_property
    def cases(self) -> list[Case]:
        """The cases by ascending ranks, with a placeholder for the noise that is looked for."""
        with naming_fields("noise"):
            sources = check_sources([self.looked_for.noise(0.5), *self.others])
        return self.cases_under(sources, self.ranks)

    @cached_property
    def looked_for(self) -> LookedFor:
        """The source of which a field is to be found."""
        with naming_fields("noise"):
            return _looked_for(self.noise)

    @cached_property
    def others(self) -> list[Noise]:
        """The sources beside it."""
        with naming_fields("noise"):
            return [one if isinstance(one, Noise) else Noise.from_dict(one, "noise")
                    for one in self.noise if not has_unknown(one)]  # fmt: skip

    def answer(self) -> NoiseLimitTable:
        """Find the largest periodic noise that keeps the slowdown of a collective at a limit.

        Returns
        -------
        NoiseLimitTable
            After Ctrl-C that of the numbers of ranks that were finished (`stopped`).

        Raises
        ------
        ValueError
            Names the argument and its range; the noise can hit nothing; one rank without work,
            which takes no time that could become longer.
        BackendError
            "cuda" can not be used, or failed; it says why. Also a `ValueError`.
        KeyboardInterrupt
            Ctrl-C before the first number of ranks is finished.

        Examples
        --------
        >>> from jitterfly import noise_limit
        >>> found = noise_limit("period=10ms,duration=max,start=stationary", 64, at_most=1.1)
        >>> row = found.rows[0]
        >>> f"{1e6 * row.value.value:.3g} us, {100 * row.share:.2g} % of the CPU"
        '10.9 us, 0.11 % of the CPU'
        """
        cases, looked_for, others = self.cases, self.looked_for, self.others
        unmet: list[tuple[int, SourceHits]] = []

        share = share_of_completion(self.statistic)

        def row_found(case: Case, report: Report) -> NoiseLimitRow:
            tried = 0

            def run(taken: float) -> Tried:
                def part(done: int, count: int) -> None:
                    report(1 - 1 / (1 + (tried + done / count) / _DEFAULT_TRIES))

                nonlocal tried
                noisy = replace(case, noise=[looked_for.noise(taken), *others])
                how = self.seed, self.engine
                result = simulate_checked(noisy.loops[-1], self.realizations, *how, part)
                tried += 1
                return Tried.of(noisy, result, self.confidence, share)

            row, sources = _limit(case, looked_for, self.at_most, run)
            unmet.extend((case.ranks, source) for source in sources)
            return row

        rows, ended = collect(cases, row_found, self.progress)
        words = "; ".join([looked_for.words, *map(part_in_words, others)])
        last, stopped = cases[len(rows) - 1], ended == STOPPED
        return NoiseLimitTable(last, words, looked_for.field, self.at_most, tuple(rows),
                               self.realizations, self.seed, self.confidence, stopped,
                               tuple(unmet), self.library, self.statistic)  # fmt: skip


noise_limit = call_of(NoiseLimitQuestion, NoiseLimitQuestion.answer, "noise_limit")


def _looked_for(tables: Sequence[Any]) -> LookedFor:
    """Return the one source that has `max` or `min` in place of a number, and its known field."""
    asked = [one for one in tables if has_unknown(one)]
    if len(asked) != 1:
        words = " or ".join(f"{field}={word}" for field, word in UNKNOWN.items())
        raise ValueError(
            f"noise must have one source with {words}, such as period=10ms,duration=max; got "
            f"{len(asked) or 'none'}"
        )
    (table,) = asked
    if table.get("kind", "periodic") != "periodic":
        raise ValueError(
            "noise must be periodic where its duration or period is looked for, got "
            f"{shorten(table['kind'])}"
        )
    fields = [field for field, word in UNKNOWN.items() if table.get(field) == word]
    if len(fields) > 1:
        raise ValueError("noise must give duration or period; the other one is looked for")
    (field,) = fields
    other = "period" if field == "duration" else "duration"
    if other not in table:
        raise ValueError(f"noise must give its {other} where its {field} is looked for")
    known = parse_seconds(table[other], f"noise: {other}", positive=True)
    return LookedFor({"kind": "periodic", **table}, field, known)


class Tried(NamedTuple):
    """A value that was tried: its case, the time without noise, and the slowdown."""

    case: Case
    noise_free: float
    slowdown: Estimate
    unmet: Callable[[], list[SourceHits]]

    @classmethod
    def of(cls, case: Case, result: Result, confidence: float, share: float | None) -> Tried:
        """Estimate the slowdown of the mean, or of a quantile, as far as recordings tell it.

        Sources that are too rare to have been met are asked for later, of few values: a mean may
        lack what they add. The interval of a quantile holds whatever comes that rarely.
        """
        row = row_of(case, result, confidence)
        if share is None:
            allowed = allow_for_recordings(row, row, case).slowdown
            return cls(case, row.noise_free, allowed, lambda: unmet_of(case, row))
        time = quantile(result.samples[:, -1], share, confidence)
        time = RecordedNoise.of_case(case).allow(time, row.noise_free, share)
        return cls(case, row.noise_free, over_noise_free(time, row.noise_free), lambda: [])


def _limit(
    case: Case,
    looked_for: LookedFor,
    at_most: float,
    run: Callable[[float], Tried],
) -> tuple[NoiseLimitRow, list[SourceHits]]:
    """The answer for one number of ranks, and the sources that its mean may know too little of."""

    @cache
    def tried(part: float) -> Tried:
        return run(part * MAX_SHARE)

    def unmet(part: float) -> list[SourceHits]:
        if len(case.noise) == 1:  # nothing hides it, and what it takes is not simulated once more
            return []
        return tried(part).unmet()

    def excess(end: str, lacks: float = 0.0) -> Callable[[float], float]:
        """Return how far the slowdown, or an end of its interval, is above the limit.

        `lacks`: what is added to it for sources that the mean may know too little of, seconds.
        """
        unknown = {"low": 0.0, "value": 1.0, "high": math.inf}[end]

        def rising(part: float) -> float:
            ratio = float(getattr(tried(part).slowdown, end))
            ratio = ratio + lacks / noise_free if math.isfinite(ratio) else unknown
            return math.log(max(ratio, _MIN_RATIO) / at_most)

        return rising

    least_part = looked_for.least_share / MAX_SHARE
    _, noise_free, slowdown, _ = tried(least_part)
    how_sure = slowdown.confidence, slowdown.realizations
    if noise_free == 0:
        raise ValueError("a slowdown needs time without noise, and one rank without work has none")
    found = Estimate(math.nan, math.nan, math.nan, *how_sure)
    if excess("low")(least_part) > 0:
        return NoiseLimitRow(case.ranks, noise_free, NEVER, found, math.nan), []
    if excess("high", undersampling_bound(unmet(1.0)))(1.0) <= 0:
        return NoiseLimitRow(case.ranks, noise_free, ALWAYS, found, math.nan), []
    # At first a guess: noise that takes as much of the CPU as the collective may lose.
    part = min(max(at_most - 1, least_part), 0.5)
    part = crossing(excess("value"), part, 1.0, least_part, _TOLERANCE)
    # With less noise the mean lacks no more than with the value. One number for all of them keeps
    # the end a root of a rising function.
    sources = unmet(part)
    lacks = undersampling_bound(sources)
    # The more the noise, the longer the mean, so its upper end reaches the limit first. Each root
    # is known within the tolerance, which the interval holds as well.
    parts = [part]
    for end, added in (("high", lacks), ("low", 0.0)):
        part = crossing(excess(end, added), part, 1.0, least_part, _TOLERANCE)
        parts.append(part)
    # Where the range that is tried ends, nothing was found.
    shares = [
        MAX_SHARE * part * widened if 1.01 * least_part < part < 0.999 else math.nan
        for part, widened in zip(parts, (1.0, 1 - _TOLERANCE, 1 + _TOLERANCE), strict=True)
    ]
    alone = excess("high", lacks)(least_part)
    exceeded = math.isnan(shares[1]) and 0 < alone < math.inf
    value, low, high = map(looked_for.value, shares)
    if looked_for.field == "period":
        low, high = high, low
    found = Estimate(value, low, high, *how_sure)
    ends = [float(tried(parts[i]).slowdown.value) for i in (1, 2) if not math.isnan(shares[i])]
    steep = None
    if len(ends) == 2 and ends[0] > 0:
        risen = math.log(max(ends[1] / ends[0], 1.0))
        if risen > max(math.log(_STEEP), _STEEP * math.log(shares[2] / shares[1])):
            steep = ends[0], ends[1]
    row = NoiseLimitRow(case.ranks, noise_free, AT_MOST, found, shares[0], lacks, exceeded, steep)
    return row, sources


def crossing(
    rising: Callable[[float], float], start: float, slope: float, low: float, tolerance: float
) -> float:
    """The p in [low, 1] where a function that can only rise with p becomes positive.

    Parameters
    ----------
    rising : callable
        Of p; with the same noise for every p, so that it does rise. It may rise in steps.
    start, slope : float
        A guess at the p, and at the rise per unit of ln p there: they decide how long it takes,
        not what is found.
    tolerance : float
        Of ln p.

    Returns
    -------
    float
        About `low` or 1 where the function crosses beyond them.

    Examples
    --------
    >>> from math import log
    >>> round(crossing(lambda p: log(p / 0.02), 0.01, 1.0, 1e-9, 1e-6), 6)
    0.02
    """
    ends = (math.log(low), 0.0)
    x = min(max(math.log(start), ends[0]), ends[1])
    value = rising(math.exp(x))
    side = 1 if value > 0 else 0  # which end of the bracket x is
    step = min(max(abs(value) / slope, 0.0) + 0.4 * tolerance, _LONGEST_STEP)
    bracket, values = [x, x], [value, value]
    while True:  # away from the guess in growing steps until the sign changes
        if x == ends[1 - side]:
            return math.exp(x)
        x = max(x - step, ends[0]) if side else min(x + step, ends[1])
        value = rising(math.exp(x))
        if (value > 0) != bool(side):
            bracket[1 - side], values[1 - side] = x, value
            break
        bracket[side], values[side] = x, value
        step *= 2
    return math.exp(_regula_falsi(rising, bracket, values, tolerance))


def _regula_falsi(
    rising: Callable[[float], float], bracket: list[float], values: list[float], tolerance: float
) -> float:
    """The straight line through both ends, and every third time the middle."""
    for turn in range(_MAX_EVALUATIONS):
        (a, b), (f, g) = bracket, values
        if b - a <= tolerance:
            break
        part = -f / (g - f) if g > f and turn % 3 < 2 else 0.5
        # Not onto an end: a little beyond the crossing, so that the other end moves as well.
        part = min(max(part, 0.4 * tolerance / (b - a)), 1 - 0.4 * tolerance / (b - a))
        x = a + part * (b - a)
        value = rising(math.exp(x))
        end = int(value > 0)
        bracket[end], values[end] = x, value
    return 0.5 * (bracket[0] + bracket[1])
